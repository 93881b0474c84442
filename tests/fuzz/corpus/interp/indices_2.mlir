func.func @real_dynamic_slice() {
  %x = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %start = stablehlo.constant dense<1> : tensor<1xi64>
  %limit = stablehlo.constant dense<8> : tensor<1xi64>
  %stride = stablehlo.constant dense<3> : tensor<1xi64>
  %0 = "stablehlo.real_dynamic_slice"(%x, %start, %limit, %stride)
      : (tensor<8xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
  %1 = stablehlo.reshape %0 : (tensor<?xi64>) -> tensor<3xi64>
  check.expect_eq_const %1, dense<[1, 4, 7]> : tensor<3xi64>
  func.return
}
