// case: BaseDilatedConvolution
// Result: input 10 x 20 dilated to 28 x 96, padded to 30 x 98; kernel dilated to 15 x 23; hence 16 x 76.
// op: stablehlo.convolution
// expect: flops=1472
func.func @main(%lhs: tensor<1x1x10x20xf32>, %rhs: tensor<1x1x3x3xf32>) -> tensor<1x1x16x76xf32> {
  %0 = stablehlo.convolution(%lhs, %rhs) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [3, 5], rhs_dilate = [7, 11]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x10x20xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x16x76xf32>
  return %0 : tensor<1x1x16x76xf32>
}
