%0 = stablehlo.constant dense<"0x0102030G"> : tensor<i32>
