// case: Gather
// op: stablehlo.gather
// expect: flops=0 transcendentals=0 bytes=56 operand0=24 operand1=8 output=24
func.func @main(%in: tensor<3x3xi32>, %indices: tensor<2xi32>) -> tensor<2x3xi32> {
  %0 = "stablehlo.gather"(%in, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<3x3xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
