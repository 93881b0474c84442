%0 = stablehlo.constant dense<-1> : tensor<ui8>
