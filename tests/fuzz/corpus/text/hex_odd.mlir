"foo.x"() {a = dense<"0x123"> : tensor<2xi8>, b = dense<"0xZZ"> : tensor<1xi8>, c = dense<"0x"> : tensor<0xi8>} : () -> ()
