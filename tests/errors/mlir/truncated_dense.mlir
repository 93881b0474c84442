%0 = stablehlo.constant dense<[1, 2, 3
