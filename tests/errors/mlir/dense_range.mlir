%0 = stablehlo.constant dense<256> : tensor<ui8>
