module @attributes {
  func.func public @main(%arg0: tensor<4x6x6x2xf32>, %arg1: tensor<3x3x2x5xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<5x2xi32>, %arg4: tensor<8x8xf32>, %arg5: tensor<4x8xi32>, %arg6: !stablehlo.token) -> tensor<4x8xf32> {
    %0 = stablehlo.exponential %arg2 {result_accuracy = #stablehlo.result_accuracy<atol = 1.250000e-01, ulps = 7, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    %1 = "stablehlo.send"(%arg2, %arg6) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    return %0 : tensor<4x8xf32>
  }
}
