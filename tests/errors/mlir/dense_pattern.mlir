%0 = stablehlo.constant dense<0x12345> : tensor<f16>
