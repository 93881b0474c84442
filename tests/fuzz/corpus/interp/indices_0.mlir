// Operations on indices and shapes that the reference evaluator refuses, with values derived by hand.

func.func @torch_index_select() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64}
      : (tensor<2x3xi64>, tensor<2xi32>) -> tensor<2x2xi64>
  check.expect_eq_const %0, dense<[[3, 1], [6, 4]]> : tensor<2x2xi64>
  func.return
}
