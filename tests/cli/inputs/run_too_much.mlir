// A loop of 10^15 rounds, and a value of 10 TB.
func.func @main() -> tensor<i64> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %n = stablehlo.constant dense<1000000000000000> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r = stablehlo.while(%i = %z) : tensor<i64>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %a = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }
  return %r : tensor<i64>
}
func.func @large() -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<10000000000x250xf32>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<10000000000x250xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
