%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>
