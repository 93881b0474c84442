func.func @f(%a: tensor<4xflot32>) {
  return
}
