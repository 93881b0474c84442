// With a batch dimension every row has indices of its own.
func.func @torch_index_select_batch() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 1 : i64}
      : (tensor<2x3xi64>, tensor<2x1xi32>) -> tensor<2x1xi64>
  check.expect_eq_const %0, dense<[[3], [4]]> : tensor<2x1xi64>
  func.return
}
