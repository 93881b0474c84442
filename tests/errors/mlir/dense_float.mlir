%0 = stablehlo.constant dense<1.5> : tensor<i32>
