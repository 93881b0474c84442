// Batch normalization by hand: two features (columns), three rows.

// Column 0: 1 2 3, mean 2, variance 2/3; column 1: 2 4 6, mean 4, variance 8/3. epsilon 1/3 and 4/3 are not one number, so
// epsilon = 1/3: column 0 has spread 1, column 1 spread 3.
func.func @training() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]> : tensor<3x2xf64>
  %scale = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[10.0, 0.0]> : tensor<2xf64>
  %y, %mean, %variance = "stablehlo.batch_norm_training"(%x, %scale, %offset) {
    epsilon = 0.333333343 : f32, feature_index = 1 : i64
  } : (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<3x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %mean, dense<[2.0, 4.0]> : tensor<2xf64>
  check.expect_almost_eq_const %variance, dense<[0.66666666, 2.66666666]> : tensor<2xf64>
  // column 1: (x - 4) / sqrt(3): -2, 0, 2 times 0.57735
  check.expect_almost_eq_const %y, dense<[[8.0, -1.154700], [10.0, 0.0], [12.0, 1.154700]]> : tensor<3x2xf64>
  func.return
}

// -----

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

// -----

// The gradient of the sum over y_i g_i of y = (x - mean) / s * scale + offset, with mean and s those of x = 0 2 4:
// mean 2, variance 8/3, epsilon 4/3, s = 2, scale 3, g = 1 0 0.
//   grad_offset = sum g = 1; grad_scale = sum g (x - mean) / s = -1
//   grad_operand = scale / s / 3 * (3 g - sum g - (x - mean) / 4 * sum g (x - mean))
//                = 1/2 * (3 - 1 - (-2/4)(-2), 0 - 1 - 0, 0 - 1 - (2/4)(-2)) = 1/2 * (1, -1, 0)
func.func @gradient() {
  %x = stablehlo.constant dense<[[0.0], [2.0], [4.0]]> : tensor<3x1xf64>
  %scale = stablehlo.constant dense<3.0> : tensor<1xf64>
  %mean = stablehlo.constant dense<2.0> : tensor<1xf64>
  %variance = stablehlo.constant dense<2.66666666666666666> : tensor<1xf64>
  %grad = stablehlo.constant dense<[[1.0], [0.0], [0.0]]> : tensor<3x1xf64>
  %operand, %gscale, %goffset = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %grad) {
    epsilon = 1.33333337 : f32, feature_index = 1 : i64
  } : (tensor<3x1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<3x1xf64>)
      -> (tensor<3x1xf64>, tensor<1xf64>, tensor<1xf64>)
  check.expect_almost_eq_const %operand, dense<[[0.5], [-0.5], [0.0]]> : tensor<3x1xf64>
  check.expect_almost_eq_const %gscale, dense<-1.0> : tensor<1xf64>
  check.expect_almost_eq_const %goffset, dense<1.0> : tensor<1xf64>
  func.return
}
