module {
  func.func @dots(%arg0: tensor<2x8x4xf32>, %arg1: tensor<2x4x16xf32>, %arg2: tensor<4x4xi8>) -> tensor<2x8x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x4xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
    %1 = stablehlo.dot_general %arg2, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi32>
    %2 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8x4xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
    %3 = stablehlo.dot_general %arg2, %arg2, contracting_dims = [] x [] : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4x4x4xi32>
    %4 = stablehlo.dot %arg2, %arg2, precision = [HIGH, HIGH] : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi32>
    %5 = stablehlo.einsum %arg2, %arg2, config = "ab,bc->ac" : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi8>
    return %0 : tensor<2x8x16xf32>
  }
  func.func @convolutions(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32>
    %1 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
    return %0 : tensor<1x8x8x16xf32>
  }
}
