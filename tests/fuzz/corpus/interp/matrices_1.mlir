// Only the upper triangle is read; the result is L^T.
func.func @cholesky_upper() {
  %a = stablehlo.constant dense<[[4.0, 12.0, -16.0], [99.0, 37.0, -43.0], [99.0, 99.0, 98.0]]> : tensor<3x3xf64>
  %u = stablehlo.cholesky %a, lower = false : tensor<3x3xf64>
  check.expect_almost_eq_const %u, dense<[[2.0, 6.0, -8.0], [0.0, 1.0, 5.0], [0.0, 0.0, 3.0]]> : tensor<3x3xf64>
  func.return
}
