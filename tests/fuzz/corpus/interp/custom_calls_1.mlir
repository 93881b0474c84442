// Rows 0 and 2 change places, then 1 and 2; a pivot beyond the rows exchanges nothing.
func.func @pivots() {
  %p = stablehlo.constant dense<[[2, 2], [9, 1]]> : tensor<2x2xi32>
  %0 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%p) : (tensor<2x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[2, 0, 1], [0, 1, 2]]> : tensor<2x3xi32>
  func.return
}
