// case: ReduceWindow
// op: stablehlo.reduce_window
// expect: flops=152 transcendentals=0 bytes=836 operand0=800 operand1=4 output=32
func.func @main(%in: tensor<10x20xf32>, %init: tensor<f32>) -> tensor<2x4xf32> {
  %0 = "stablehlo.reduce_window"(%in, %init) <{window_dimensions = array<i64: 4, 5>, window_strides = array<i64: 4, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<10x20xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
