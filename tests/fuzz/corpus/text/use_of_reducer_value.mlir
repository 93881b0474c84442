func.func @f(%a: tensor<4xf32>, %z: tensor<f32>) {
  "foo.y"(%v) : (tensor<f32>) -> ()
  %r = stablehlo.reduce(%a init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %v = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %v : tensor<f32>
  }
  return
}
