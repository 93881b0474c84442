// Values whose type is that of a function go through operations on tensors.
func.func @main() -> tensor<8xf32> {
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> ((tensor<8xf32>) -> tensor<8xf32>)
  %1 = "stablehlo.reshape"(%0) : ((tensor<8xf32>) -> tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
