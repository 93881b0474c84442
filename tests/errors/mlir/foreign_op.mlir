func.func @f(%a: tensor<f32>) {
  %0 = scf.execute %a : tensor<f32>
  return
}
