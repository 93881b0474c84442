// bind:arg0=3x4
func.func @main(%arg0: tensor<?x?xf32, #stablehlo.bounds<8, 4>>) -> tensor<?x?xf32, #stablehlo.bounds<8, 4>> {
  return %arg0 : tensor<?x?xf32, #stablehlo.bounds<8, 4>>
}
