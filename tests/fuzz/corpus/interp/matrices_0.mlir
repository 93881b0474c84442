// Matrix operations that the reference evaluator refuses, with values derived by hand.

// L = [[2, 0, 0], [6, 1, 0], [-8, 5, 3]]; A = L L^T (the classic example of Cholesky's method).
func.func @cholesky_lower() {
  %a = stablehlo.constant dense<[[4.0, 12.0, -16.0], [12.0, 37.0, -43.0], [-16.0, -43.0, 98.0]]> : tensor<3x3xf64>
  %l = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>
  check.expect_almost_eq_const %l, dense<[[2.0, 0.0, 0.0], [6.0, 1.0, 0.0], [-8.0, 5.0, 3.0]]> : tensor<3x3xf64>
  func.return
}
