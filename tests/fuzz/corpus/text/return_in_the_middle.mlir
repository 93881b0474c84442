"return"() : () -> ()
"t"() : () -> tensor<i1>
