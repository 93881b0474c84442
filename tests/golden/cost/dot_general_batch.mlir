// case: DotGeneral2
// op: stablehlo.dot_general
// expect: flops=15000 transcendentals=0 bytes=10000 operand0=1000 operand1=3000 output=6000
func.func @main(%lhs: tensor<10x5x5xf32>, %rhs: tensor<5x5x30xf32>) -> tensor<5x10x30xf32> {
  %0 = stablehlo.dot_general %lhs, %rhs, batching_dims = [2] x [1], contracting_dims = [1] x [0] : (tensor<10x5x5xf32>, tensor<5x5x30xf32>) -> tensor<5x10x30xf32>
  return %0 : tensor<5x10x30xf32>
}
