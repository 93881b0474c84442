func.func @f(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a : tensor<f32>
  %1 = stablehlo.abs %0 : tensor<f32>
  %2 = stablehlo.nothing %1 : tensor<f32>
  %3 = stablehlo.add %1, %lost : tensor<f32>
  return %2 : tensor<f32>
}
