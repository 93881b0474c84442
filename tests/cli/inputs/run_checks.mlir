// Three units: one whose check fails, one whose check holds, one without a function.
func.func @main() {
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %c, dense<[1, 3]> : tensor<2xi32>
  return
}
// -----
func.func @main() {
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %c, dense<[1, 2]> : tensor<2xi32>
  return
}
// -----
