// case: DotGeneral
// op: stablehlo.dot_general
// expect: flops=15000 transcendentals=0 bytes=5200 operand0=1000 operand1=3000 output=1200
func.func @main(%lhs: tensor<10x5x5xf32>, %rhs: tensor<5x5x30xf32>) -> tensor<10x30xf32> {
  %0 = stablehlo.dot_general %lhs, %rhs, contracting_dims = [1, 2] x [0, 1] : (tensor<10x5x5xf32>, tensor<5x5x30xf32>) -> tensor<10x30xf32>
  return %0 : tensor<10x30xf32>
}
