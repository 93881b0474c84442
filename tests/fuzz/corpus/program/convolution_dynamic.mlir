func.func @main(%a: tensor<?x?x8x3xf32>, %k: tensor<3x3x3x8xf32>) -> tensor<?x?x6x8xf32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x?x8x3xf32>, tensor<3x3x3x8xf32>) -> tensor<?x?x6x8xf32>
  return %0 : tensor<?x?x6x8xf32>
}
