// case: ScatterBatchingDims
// op: stablehlo.scatter
// expect: flops=15 transcendentals=0 bytes=200 operand0=60 operand1=20 operand2=60 output=60
func.func @main(%in: tensor<5x3x3xf32>, %indices: tensor<5xi32>, %updates: tensor<5x3xf32>) -> tensor<5x3x3xf32> {
  %0 = "stablehlo.scatter"(%in, %indices, %updates) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<5x3x3xf32>, tensor<5xi32>, tensor<5x3xf32>) -> tensor<5x3x3xf32>
  return %0 : tensor<5x3x3xf32>
}
