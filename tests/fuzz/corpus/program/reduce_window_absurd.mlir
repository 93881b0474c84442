func.func @main(%a: tensor<4x4xf32>, %z: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 9223372036854775807, 0>, window_strides = array<i64: 0, -1>, base_dilations = array<i64: 9223372036854775807, 1>, window_dilations = array<i64: 2>, padding = dense<9223372036854775807> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %1 = "stablehlo.select_and_scatter"(%a, %a, %z) <{window_dimensions = array<i64: 1>, padding = dense<> : tensor<0x2xi64>}> ({}, {}) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}
