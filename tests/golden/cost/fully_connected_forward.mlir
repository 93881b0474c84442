// case: FullyConnectedForward
// Sum over the function: dot 2000, bias 200, sigmoid 3 per element and one exponential.
// op: @main
// expect: flops=2800 transcendentals=200
func.func @main(%in: tensor<10x5xf32>, %weight: tensor<5x20xf32>, %bias: tensor<20xf32>) -> tensor<10x20xf32> {
  %0 = stablehlo.dot %in, %weight : (tensor<10x5xf32>, tensor<5x20xf32>) -> tensor<10x20xf32>
  %1 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<20xf32>) -> tensor<10x20xf32>
  %2 = stablehlo.add %0, %1 : tensor<10x20xf32>
  %3 = "stablehlo.map"(%2) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>):
    %one = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.negate %x : tensor<f32>
    %5 = stablehlo.exponential %4 : tensor<f32>
    %6 = stablehlo.add %one, %5 : tensor<f32>
    %7 = stablehlo.divide %one, %6 : tensor<f32>
    stablehlo.return %7 : tensor<f32>
  }) : (tensor<10x20xf32>) -> tensor<10x20xf32>
  return %3 : tensor<10x20xf32>
}
