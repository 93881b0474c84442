%0 = stablehlo.constant dense<"0x0102030405"> : tensor<2xi32>
