func.func @f() {
  %0:3 = "a.b"() : () -> (i32, i32)
  return
}
