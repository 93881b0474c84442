// case: ReduceWindowSingleDimReduceBroadcast
// op: stablehlo.reduce_window
// expect: flops=7167 operand0=25165824 operand1=4 output=25165824
func.func @main(%in: tensor<2x3x1024x1024xf32>, %init: tensor<f32>) -> tensor<2x3x1024x1024xf32> {
  %0 = "stablehlo.reduce_window"(%in, %init) <{window_dimensions = array<i64: 1, 1, 1, 2047>, padding = dense<[[0, 0], [0, 0], [0, 0], [1023, 1023]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<2x3x1024x1024xf32>, tensor<f32>) -> tensor<2x3x1024x1024xf32>
  return %0 : tensor<2x3x1024x1024xf32>
}
