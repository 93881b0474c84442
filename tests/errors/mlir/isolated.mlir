func.func @f(%a: tensor<f32>) {
  func.func @g() {
    "a.b"(%a) : (tensor<f32>) -> ()
    return
  }
  return
}
