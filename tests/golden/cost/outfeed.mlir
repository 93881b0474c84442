// case: InfeedOutfeed outfeed
// op: stablehlo.outfeed
// expect: flops=0 transcendentals=0 bytes=24 operand0=24 output=0
func.func @main(%in: tuple<tensor<2x3xf32>>, %token: !stablehlo.token) -> !stablehlo.token {
  %0 = "stablehlo.outfeed"(%in, %token) <{outfeed_config = ""}> : (tuple<tensor<2x3xf32>>, !stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}
