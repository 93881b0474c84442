// case: Scatter
// op: stablehlo.scatter
// expect: flops=6 transcendentals=0 bytes=80 operand0=24 operand1=8 operand2=24 output=24
func.func @main(%in: tensor<3x3xf32>, %indices: tensor<2xi32>, %updates: tensor<2x3xf32>) -> tensor<3x3xf32> {
  %0 = "stablehlo.scatter"(%in, %indices, %updates) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<3x3xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
