module @two_layers {
  func.func public @main(%x: tensor<16x64xbf16>, %w1: tensor<64x128xbf16>, %w2: tensor<128x64xbf16>) -> tensor<16x64xbf16> {
    %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x64xbf16>, tensor<64x128xbf16>) -> tensor<16x128xbf16>
    %1 = stablehlo.tanh %0 : tensor<16x128xbf16>
    %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x64xbf16>) -> tensor<16x64xbf16>
    %3 = stablehlo.add %2, %x : tensor<16x64xbf16>
    return %3 : tensor<16x64xbf16>
  }
}
