// erf(0) = 0, erf(1) = 0.8427007929497149; casts, barriers and annotations give what they get.
func.func @plain() {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf64>) -> tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 0.8427007929497149]> : tensor<2xf64>
  %1 = stablehlo.custom_call @LayoutConstraint(%x) : (tensor<2xf64>) -> tensor<2xf64>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<2xf64> to tensor<2xf64>
  check.expect_eq %2, %x : tensor<2xf64>
  func.return
}
