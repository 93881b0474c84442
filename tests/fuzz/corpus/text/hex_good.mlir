"foo.x"() {a = dense<"0x0000803F00000040"> : tensor<2xf32>, b = dense<"0x0001"> : tensor<2xi8>, c = dense<"0x05"> : tensor<3xi1>, d = dense<"0x2143"> : tensor<4xi4>} : () -> ()
