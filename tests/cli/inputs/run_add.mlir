// x + y with y along the rows, and the number 7.
func.func @main(%arg0: tensor<2x3xf32> {jax.arg_info = "x"}, %arg1: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<i32>) {
  %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
  %2 = stablehlo.constant dense<7> : tensor<i32>
  return %1, %2 : tensor<2x3xf32>, tensor<i32>
}
