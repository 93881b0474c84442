func.func @f(%a: tensor<2xtensor<f32>>) {
  return
}
