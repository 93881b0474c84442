// case: InfeedOutfeed infeed
// op: stablehlo.infeed
// expect: flops=0 transcendentals=0 bytes=24 operand0=0 output=24
func.func @main(%token: !stablehlo.token) -> (tuple<tensor<2x3xf32>>, !stablehlo.token) {
  %0:2 = "stablehlo.infeed"(%token) <{infeed_config = ""}> : (!stablehlo.token) -> (tuple<tensor<2x3xf32>>, !stablehlo.token)
  return %0#0, %0#1 : tuple<tensor<2x3xf32>>, !stablehlo.token
}
