"foo.x"() {a = dense<"0x0000000000"> : tensor<1xf32>} : () -> ()
