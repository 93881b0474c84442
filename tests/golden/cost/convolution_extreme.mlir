// case: ConvolutionExtreme
// op: stablehlo.convolution
// expect: flops=1048576
func.func @main(%lhs: tensor<1x1x524288xf32>, %rhs: tensor<1x1x524288xf32>) -> tensor<1x1x524288xf32> {
  %0 = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [524287], pad = [[0, 0]], lhs_dilate = [524288], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x524288xf32>, tensor<1x1x524288xf32>) -> tensor<1x1x524288xf32>
  return %0 : tensor<1x1x524288xf32>
}
