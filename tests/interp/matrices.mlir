// Matrix operations that the reference evaluator refuses, with values derived by hand.

// L = [[2, 0, 0], [6, 1, 0], [-8, 5, 3]]; A = L L^T (the classic example of Cholesky's method).
func.func @cholesky_lower() {
  %a = stablehlo.constant dense<[[4.0, 12.0, -16.0], [12.0, 37.0, -43.0], [-16.0, -43.0, 98.0]]> : tensor<3x3xf64>
  %l = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>
  check.expect_almost_eq_const %l, dense<[[2.0, 0.0, 0.0], [6.0, 1.0, 0.0], [-8.0, 5.0, 3.0]]> : tensor<3x3xf64>
  func.return
}

// -----

// Only the upper triangle is read; the result is L^T.
func.func @cholesky_upper() {
  %a = stablehlo.constant dense<[[4.0, 12.0, -16.0], [99.0, 37.0, -43.0], [99.0, 99.0, 98.0]]> : tensor<3x3xf64>
  %u = stablehlo.cholesky %a, lower = false : tensor<3x3xf64>
  check.expect_almost_eq_const %u, dense<[[2.0, 6.0, -8.0], [0.0, 1.0, 5.0], [0.0, 0.0, 3.0]]> : tensor<3x3xf64>
  func.return
}

// -----

// L = [[1, 0], [i, 2]]: A = L L^* = [[1, -i], [i, 5]]. Two matrices in a batch.
func.func @cholesky_complex() {
  %a = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, -1.0)], [(0.0, 1.0), (5.0, 0.0)]],
                                 [[(9.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (4.0, 0.0)]]]> : tensor<2x2x2xcomplex<f64>>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2x2xcomplex<f64>>
  check.expect_almost_eq_const %l, dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 1.0), (2.0, 0.0)]],
                                          [[(3.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (2.0, 0.0)]]]> : tensor<2x2x2xcomplex<f64>>
  func.return
}

// -----

func.func @dot_vectors() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi32>
  %0 = stablehlo.dot %a, %b : (tensor<3xi32>, tensor<3xi32>) -> tensor<i32>
  check.expect_eq_const %0, dense<32> : tensor<i32>
  func.return
}

// -----

func.func @dot_matrix_vector() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  %b = stablehlo.constant dense<[10, 20]> : tensor<2xi8>
  %0 = stablehlo.dot %a, %b : (tensor<3x2xi8>, tensor<2xi8>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[50, 110, 170]> : tensor<3xi32>
  func.return
}

// -----

// sum over b and the letters that the output lacks: out[c, a] = sum_b x[a, b] y[b, c]
func.func @einsum_transposed_product() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %y = stablehlo.constant dense<[[1, 0, 2], [0, 1, 1]]> : tensor<2x3xi64>
  %0 = stablehlo.einsum %x, %y, config = "ab,bc->ca" : (tensor<2x2xi64>, tensor<2x3xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %0, dense<[[1, 3], [2, 4], [4, 10]]> : tensor<3x2xi64>
  func.return
}

// -----

// The diagonal of the second operand, weighted: 1 * 5 + 2 * 8.
func.func @einsum_repeated_letter() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %y = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
  %0 = stablehlo.einsum %x, %y, config = "a,aa->" : (tensor<2xi64>, tensor<2x2xi64>) -> tensor<i64>
  check.expect_eq_const %0, dense<21> : tensor<i64>
  func.return
}

// -----

func.func @unary_einsum_column_sums() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = "stablehlo.unary_einsum"(%x) {einsum_config = "ab->b"} : (tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[4.0, 6.0]> : tensor<2xf32>
  func.return
}

// -----

// F of a unit impulse at 1 is exp(-2 pi i k / 3): a length that is no power of two.
func.func @fft_of_length_three() {
  %x = stablehlo.constant dense<[(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)]> : tensor<3xcomplex<f64>>
  %0 = stablehlo.fft %x, type = FFT, length = [3] : (tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %0, dense<[(1.0, 0.0), (-0.5, -0.86602540378443865), (-0.5, 0.86602540378443865)]> : tensor<3xcomplex<f64>>
  func.return
}

// -----

// There and back over two dimensions of 2 x 3.
func.func @rfft_there_and_back() {
  %x = stablehlo.constant dense<[[1.0, -2.0, 3.5], [0.25, 8.0, -1.0]]> : tensor<2x3xf64>
  %f = stablehlo.fft %x, type = RFFT, length = [2, 3] : (tensor<2x3xf64>) -> tensor<2x2xcomplex<f64>>
  %0 = stablehlo.fft %f, type = IRFFT, length = [2, 3] : (tensor<2x2xcomplex<f64>>) -> tensor<2x3xf64>
  check.expect_almost_eq_const %0, dense<[[1.0, -2.0, 3.5], [0.25, 8.0, -1.0]]> : tensor<2x3xf64>
  func.return
}
