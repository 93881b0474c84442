// case: TupleCost
// op: stablehlo.tuple
// expect: flops=0 transcendentals=0 bytes=16 operand0=0 operand1=0 output=16
func.func @main(%x: tensor<123xf32>, %y: tensor<42xf32>) -> tuple<tensor<123xf32>, tensor<42xf32>> {
  %0 = stablehlo.tuple %x, %y : tuple<tensor<123xf32>, tensor<42xf32>>
  return %0 : tuple<tensor<123xf32>, tensor<42xf32>>
}
