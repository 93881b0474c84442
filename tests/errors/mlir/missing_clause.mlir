func.func @f(%a: tensor<f32>) {
  %0 = stablehlo.broadcast_in_dim %a : (tensor<f32>) -> tensor<2xf32>
  return
}
