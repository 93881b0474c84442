module @types {
  func.func public @main(%arg0: tensor<2xf8E4M3FN>, %arg1: tensor<2xf8E5M2>, %arg2: tensor<2xf8E4M3>, %arg3: tensor<2xf8E5M2FNUZ>, %arg4: tensor<2xf8E4M3FNUZ>, %arg5: tensor<2xf8E4M3B11FNUZ>, %arg6: tensor<2xf8E3M4>, %arg7: tensor<2xf4E2M1FN>, %arg8: tensor<2xf6E2M3FN>, %arg9: tensor<2xf6E3M2FN>, %arg10: tensor<2xf8E8M0FNU>, %arg11: tensor<2xcomplex<f64>>, %arg12: tensor<2xui2>, %arg13: tensor<2xi4>, %arg14: memref<2x3xf32>, %arg15: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %arg16: tuple<tensor<i1>, tensor<bf16>>, %arg17: !stablehlo.token, %arg18: !stablehlo.future<tensor<f32>, tensor<i8>>, %arg19: tensor<*xf16>, %arg20: index) {
    %c = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %c_0 = stablehlo.constant dense<[[-8, 7], [1, -1]]> : tensor<2x2xi4>
    %cst = stablehlo.constant dense<[1.500000e+00, -4.480000e+02]> : tensor<2xf8E4M3FN>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,-0.000000e+00)> : tensor<4xcomplex<f32>>
    %cst_2 = stablehlo.constant dense<0x7FC00000> : tensor<2xf32>
    %c_3 = stablehlo.constant dense<> : tensor<0x2xi64>
    return
  }
}
