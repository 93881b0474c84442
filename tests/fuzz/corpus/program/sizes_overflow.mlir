func.func @main(%a: tensor<4294967296x4294967296xf32>, %b: tensor<9223372036854775807xf64>) {
  %0 = stablehlo.add %a, %a : tensor<4294967296x4294967296xf32>
  %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4294967296x4294967296xf32>, tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32>
  %2 = stablehlo.concatenate %b, %b, dim = 0 : (tensor<9223372036854775807xf64>, tensor<9223372036854775807xf64>) -> tensor<18446744073709551614xf64>
  %3 = stablehlo.reshape %a : (tensor<4294967296x4294967296xf32>) -> tensor<0xf32>
  return
}
