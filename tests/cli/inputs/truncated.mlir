module @matmul {
  func.func public @main(%arg0: tensor<1024x512xbf16>, %arg1: tensor<512x256xbf16>) -> tensor<1024x256xbf16> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<1024x512xbf16>, tensor<512x256xbf16>) -> tensor<1024x256xbf16>
    %1 = stablehlo.tanh %0 : tensor<1024x256xbf16>
    