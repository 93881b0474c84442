// case: ConvolutionWithFeatureGroup
// op: stablehlo.convolution
// expect: flops=311040 transcendentals=0 bytes=169440 operand0=96000 operand1=4320 output=69120
func.func @main(%lhs: tensor<1x120x10x20xf32>, %rhs: tensor<120x1x3x3xf32>) -> tensor<1x120x8x18xf32> {
  %0 = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 120 : i64} : (tensor<1x120x10x20xf32>, tensor<120x1x3x3xf32>) -> tensor<1x120x8x18xf32>
  return %0 : tensor<1x120x8x18xf32>
}
