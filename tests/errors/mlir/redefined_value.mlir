func.func @f(%a: tensor<f32>) {
  %a = stablehlo.constant dense<1.0> : tensor<f32>
  return
}
