func.func @f(%a: tensor<f32>) {
  %0 = stablehlo.sort %a : tensor<f32>
  return
}
