// case: Map
// op: stablehlo.map
// expect: flops=10 transcendentals=10 bytes=80 operand0=40 output=40
func.func @main(%in: tensor<10xf32>) -> tensor<10xf32> {
  %0 = "stablehlo.map"(%in) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    %half = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.add %x, %half : tensor<f32>
    %2 = stablehlo.exponential %1 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<10xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
