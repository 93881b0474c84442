func.func @f(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %missing : tensor<f32>
  return %0 : tensor<f32>
}
