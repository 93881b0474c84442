// Bits of rng_bit_generator, as XLA's CPU back end gives them (JAX 0.10.2, jaxlib's own compiler); the state has a key, then a
// counter that overflows its low word. Odd sizes, all widths, several dimensions.

func.func @bits_0() {
  %state = stablehlo.constant dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)
  check.expect_eq_const %next, dense<[1311768467463790320, 1]> : tensor<2xui64>
  check.expect_eq_const %bits, dense<[122, 44, 167, 202, 61]> : tensor<5xui8>
  func.return
}
