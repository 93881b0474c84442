%0 = stablehlo.constant dense<1> : tensor<?xi32>
