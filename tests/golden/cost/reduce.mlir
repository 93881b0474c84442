// case: Reduce
// op: stablehlo.reduce
// expect: flops=190 transcendentals=0 bytes=844 operand0=800 operand1=4 output=40
func.func @main(%in: tensor<10x20xf32>, %init: tensor<f32>) -> tensor<10xf32> {
  %0 = stablehlo.reduce(%in init: %init) applies stablehlo.add across dimensions = [1] : (tensor<10x20xf32>, tensor<f32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
