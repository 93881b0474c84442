// L = [[1, 0], [i, 2]]: A = L L^* = [[1, -i], [i, 5]]. Two matrices in a batch.
func.func @cholesky_complex() {
  %a = stablehlo.constant dense<[[[(1.0, 0.0), (0.0, -1.0)], [(0.0, 1.0), (5.0, 0.0)]],
                                 [[(9.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (4.0, 0.0)]]]> : tensor<2x2x2xcomplex<f64>>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2x2xcomplex<f64>>
  check.expect_almost_eq_const %l, dense<[[[(1.0, 0.0), (0.0, 0.0)], [(0.0, 1.0), (2.0, 0.0)]],
                                          [[(3.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (2.0, 0.0)]]]> : tensor<2x2x2xcomplex<f64>>
  func.return
}
