func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %arg0 : tensor<4xf32>
  %1 = stablehlo.tanh %arg0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
