func.func private @f(tensor<-1xf32>)
"foo.x"() {a = array<i64: -1, -9223372036854775808>} : () -> ()
