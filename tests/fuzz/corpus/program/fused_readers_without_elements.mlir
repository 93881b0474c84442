func.func @main(%a: tensor<128x128xf32>) -> (tensor<128x128x0xbf16>, tensor<128x128x0x8xf32>) {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<128x128xf32>) -> tensor<128x128x0xf32>
  %1 = stablehlo.convert %0 : (tensor<128x128x0xf32>) -> tensor<128x128x0xbf16>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<128x128x0xf32>) -> tensor<128x128x0x8xf32>
  return %1, %2 : tensor<128x128x0xbf16>, tensor<128x128x0x8xf32>
}
