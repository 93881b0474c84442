// (x - 1) / sqrt(3 + 1) * 4 + 5 = 2 x + 3
func.func @inference() {
  %x = stablehlo.constant dense<[[1.0], [2.0], [-1.0]]> : tensor<3x1xf32>
  %scale = stablehlo.constant dense<4.0> : tensor<1xf32>
  %offset = stablehlo.constant dense<5.0> : tensor<1xf32>
  %mean = stablehlo.constant dense<1.0> : tensor<1xf32>
  %variance = stablehlo.constant dense<3.0> : tensor<1xf32>
  %y = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) {
    epsilon = 1.0 : f32, feature_index = 1 : i64
  } : (tensor<3x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x1xf32>
  check.expect_eq_const %y, dense<[[5.0], [7.0], [1.0]]> : tensor<3x1xf32>
  func.return
}
