func.func @bits_2() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
  check.expect_eq_const %next, dense<[1311768467463790320, 18446744073709551615]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<1010520186> : tensor<ui32>
  func.return
}
