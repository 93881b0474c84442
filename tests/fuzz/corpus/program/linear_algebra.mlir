func.func @main(%a: tensor<3x8x8xf32>) -> tensor<3x8x8xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<3x8x8xf32>
  %1 = "stablehlo.triangular_solve"(%0, %a) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %2 = stablehlo.fft %1, type = RFFT, length = [8] : (tensor<3x8x8xf32>) -> tensor<3x8x5xcomplex<f32>>
  %s = stablehlo.constant dense<1.0> : tensor<8xf32>
  %3 = "stablehlo.batch_norm_inference"(%1, %s, %s, %s, %s) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<3x8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<3x8x8xf32>
  return %3 : tensor<3x8x8xf32>
}
