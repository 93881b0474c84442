// case: SelectAndScatter
// op: stablehlo.select_and_scatter
// expect: flops=160 transcendentals=0 bytes=1636 operand0=800 operand1=32 operand2=4 output=800
func.func @main(%in: tensor<10x20xf32>, %source: tensor<2x4xf32>, %init: tensor<f32>) -> tensor<10x20xf32> {
  %0 = "stablehlo.select_and_scatter"(%in, %source, %init) <{window_dimensions = array<i64: 4, 5>, window_strides = array<i64: 4, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x20xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<10x20xf32>
  return %0 : tensor<10x20xf32>
}
