// case: ReduceWindowWithOverlaps
// op: stablehlo.reduce_window
// expect: flops=228 transcendentals=0 bytes=308 operand0=256 operand1=4 output=48
func.func @main(%in: tensor<8x8xf32>, %init: tensor<f32>) -> tensor<3x4xf32> {
  %0 = "stablehlo.reduce_window"(%in, %init) <{window_dimensions = array<i64: 4, 5>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<8x8xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
