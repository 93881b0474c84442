// bind:arg0=2x?
func.func @main(%arg0: tensor<?x?xf32>, %arg1: tensor<?xi32>) -> tensor<?x?xf32> {
  return %arg0 : tensor<?x?xf32>
}
