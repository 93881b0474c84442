func.func @f(%a: tensor<f32>) {
  %0 = stablehlo.cosin %a : tensor<f32>
  return
}
