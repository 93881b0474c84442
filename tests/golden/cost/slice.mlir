// case: Slice
// op: stablehlo.slice
// expect: flops=0 transcendentals=0 bytes=8 operand0=4 output=4
func.func @main(%in: tensor<2xf32>) -> tensor<1xf32> {
  %0 = stablehlo.slice %in [0:1] : (tensor<2xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
