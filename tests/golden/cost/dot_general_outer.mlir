// case: DotGeneral3
// op: stablehlo.dot_general
// expect: flops=15000 transcendentals=0 bytes=30800 operand0=200 operand1=600 output=30000
func.func @main(%lhs: tensor<10x5xf32>, %rhs: tensor<5x30xf32>) -> tensor<10x5x5x30xf32> {
  %0 = "stablehlo.dot_general"(%lhs, %rhs) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<10x5xf32>, tensor<5x30xf32>) -> tensor<10x5x5x30xf32>
  return %0 : tensor<10x5x5x30xf32>
}
