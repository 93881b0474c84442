// case: MatmulAndConvolutionCanBeTheSameComputation
// op: stablehlo.convolution
// expect: flops=524288
func.func @main(%lhs: tensor<64x64x1x1xf32>, %rhs: tensor<64x64x1x1xf32>) -> tensor<64x64x1x1xf32> {
  %0 = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x64x1x1xf32>, tensor<64x64x1x1xf32>) -> tensor<64x64x1x1xf32>
  return %0 : tensor<64x64x1x1xf32>
}
