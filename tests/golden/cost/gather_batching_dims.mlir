// case: GatherBatchingDims
// op: stablehlo.gather
// expect: flops=0 transcendentals=0 bytes=140 operand0=60 operand1=20 output=60
func.func @main(%in: tensor<5x3x3xi32>, %indices: tensor<5xi32>) -> tensor<5x3xi32> {
  %0 = "stablehlo.gather"(%in, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<5x3x3xi32>, tensor<5xi32>) -> tensor<5x3xi32>
  return %0 : tensor<5x3xi32>
}
