func.func @bits_1() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui16>)
  check.expect_eq_const %next, dense<[1311768467463790320, 4]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[[20602, 31655, 32829], [59180, 43722, 33017], [57084, 22406, 360]]> : tensor<3x3xui16>
  func.return
}
