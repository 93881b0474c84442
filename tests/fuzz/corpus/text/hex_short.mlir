"foo.x"() {a = dense<"0x00000000"> : tensor<4xf32>} : () -> ()
