func.func @main(%a: tensor<4294967296x2147483647xf32>) -> tensor<4294967296x4294967296xf32> {
  %0 = stablehlo.exponential %a : tensor<4294967296x2147483647xf32>
  %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [1] : (tensor<4294967296x2147483647xf32>, tensor<4294967296x2147483647xf32>) -> tensor<4294967296x4294967296xf32>
  return %1 : tensor<4294967296x4294967296xf32>
}
