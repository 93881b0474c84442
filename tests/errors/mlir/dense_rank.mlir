%0 = stablehlo.constant dense<[1, 2]> : tensor<2x1xi32>
