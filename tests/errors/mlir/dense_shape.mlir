%0 = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>
