// case: MatrixMultiply
// op: stablehlo.dot
// expect: flops=3000 transcendentals=0 bytes=2000 operand0=200 operand1=600 output=1200
func.func @main(%lhs: tensor<10x5xf32>, %rhs: tensor<5x30xf32>) -> tensor<10x30xf32> {
  %0 = stablehlo.dot %lhs, %rhs : (tensor<10x5xf32>, tensor<5x30xf32>) -> tensor<10x30xf32>
  return %0 : tensor<10x30xf32>
}
