// case: ReduceWindowVariadic
// op: stablehlo.reduce_window
// expect: flops=304 bytes=1672 operand0=800 operand1=800
func.func @main(%x: tensor<10x20xf32>, %y: tensor<10x20xf32>, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = "stablehlo.reduce_window"(%x, %y, %a, %b) <{window_dimensions = array<i64: 4, 5>, window_strides = array<i64: 4, 5>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %y0: tensor<f32>, %y1: tensor<f32>):
    %1 = stablehlo.minimum %x0, %y0 : tensor<f32>
    %2 = stablehlo.minimum %x1, %y1 : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }) : (tensor<10x20xf32>, tensor<10x20xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
}
