// case: Convolution
// op: stablehlo.convolution
// expect: flops=2592 transcendentals=0 bytes=1412 operand0=800 operand1=36 output=576
func.func @main(%lhs: tensor<1x1x10x20xf32>, %rhs: tensor<1x1x3x3xf32>) -> tensor<1x1x8x18xf32> {
  %0 = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x10x20xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x8x18xf32>
  return %0 : tensor<1x1x8x18xf32>
}
