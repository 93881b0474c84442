func.func @main(%a: tensor<4x4xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [9], collapsed_slice_dims = [-1], start_index_map = [7, 7, 7], index_vector_dim = 5>, slice_sizes = array<i64: 99, -1, 3>}> : (tensor<4x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  %1 = "stablehlo.gather"(%a, %i) <{slice_sizes = array<i64>}> : (tensor<4x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  %2 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 1], inserted_window_dims = [9], scatter_dims_to_operand_dims = [-3], index_vector_dim = -1>}> ({}) : (tensor<4x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return
}
