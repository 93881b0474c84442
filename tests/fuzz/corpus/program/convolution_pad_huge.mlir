func.func @main(%a: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[9223372036854775807, 9223372036854775807], [-9223372036854775808, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}
