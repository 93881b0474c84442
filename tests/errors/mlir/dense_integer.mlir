%0 = stablehlo.constant dense<1> : tensor<f32>
