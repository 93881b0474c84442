module @shapes {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<i64>, %arg2: tensor<f32>, %arg3: tensor<2xi64>) -> tensor<2x2xf32> {
    %0 = stablehlo.iota dim = 1 : tensor<3x4xi32>
    %1 = stablehlo.dynamic_iota %arg3, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.broadcast %arg0, sizes = [2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
    %5 = stablehlo.dynamic_broadcast_in_dim %arg2, %arg3, dims = [] {known_expanding_dimensions = array<i64>} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
    %6 = stablehlo.reshape %arg0 : (tensor<3x4xf32>) -> tensor<12xf32>
    %7 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %8 = stablehlo.slice %arg0 [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
    %9 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [2, 2] : (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x2xf32>
    %10 = stablehlo.dynamic_update_slice %arg0, %9, %arg1, %arg1 : (tensor<3x4xf32>, tensor<2x2xf32>, tensor<i64>, tensor<i64>) -> tensor<3x4xf32>
    %11 = stablehlo.concatenate %arg0, %10, dim = 0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    %12 = stablehlo.pad %arg0, %arg2, low = [0, 1], high = [2, -1], interior = [1, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<7x4xf32>
    %13 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<3x4xf32>
    %14 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<3x4xf32>) -> tensor<i32>
    %15 = stablehlo.set_dimension_size %arg0, %14, dim = 1 : (tensor<3x4xf32>, tensor<i32>) -> tensor<3x?xf32, #stablehlo.bounds<?, 4>>
    %16 = stablehlo.bitcast_convert %arg0 : (tensor<3x4xf32>) -> tensor<3x4x4xi8>
    %17 = "stablehlo.gather"(%arg0, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<4x2xf32>
    return %8 : tensor<2x2xf32>
  }
}
