// case: MultioutputScatter
// op: stablehlo.scatter
// expect: flops=12 transcendentals=0 bytes=152 operand0=24 operand1=24 operand2=8 operand3=24 operand4=24 output=48
func.func @main(%x: tensor<3x3xf32>, %y: tensor<3x3xi32>, %indices: tensor<2xi32>, %u: tensor<2x3xf32>, %v: tensor<2x3xi32>) -> (tensor<3x3xf32>, tensor<3x3xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %indices, %u, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %1 = stablehlo.add %a, %c : tensor<f32>
    %2 = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }) : (tensor<3x3xf32>, tensor<3x3xi32>, tensor<2xi32>, tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<3x3xf32>, tensor<3x3xi32>)
  return %0#0, %0#1 : tensor<3x3xf32>, tensor<3x3xi32>
}
