// case: ConvolutionSame
// op: stablehlo.convolution
// expect: flops=98 transcendentals=0 bytes=108 operand0=36 operand1=36 output=36
func.func @main(%lhs: tensor<1x1x3x3xf32>, %rhs: tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32> {
  %0 = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32>
  return %0 : tensor<1x1x3x3xf32>
}
