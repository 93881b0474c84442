// Twice the input, whatever its length.
func.func @main(%x: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<i32>) {
  %0 = stablehlo.add %x, %x : tensor<?x2xf32>
  %1 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  return %0, %1 : tensor<?x2xf32>, tensor<i32>
}
