func.func @f(%a: tensor<f32>) -> tensor<i32> {
  %0 = stablehlo.abs %a : tensor<i32>
  return %0 : tensor<i32>
}
