// case: BroadcastCountMultipleInputAccesses
// options: count_multiple_input_accesses
// op: stablehlo.broadcast
// expect: flops=0 transcendentals=0 bytes=284 operand0=280 output=280
func.func @main(%in: tensor<f32>) -> tensor<10x7xf32> {
  %0 = stablehlo.broadcast %in, sizes = [10, 7] : (tensor<f32>) -> tensor<10x7xf32>
  return %0 : tensor<10x7xf32>
}
