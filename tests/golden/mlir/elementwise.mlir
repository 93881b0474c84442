module {
  func.func @unary(%arg0: tensor<4xf32>, %arg1: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
    %0 = stablehlo.abs %arg0 : tensor<4xf32>
    %1 = stablehlo.abs %arg1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %2 = stablehlo.real %arg1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %3 = stablehlo.imag %arg1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %4 = stablehlo.complex %2, %3 : tensor<4xcomplex<f32>>
    %5 = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>
    %6 = stablehlo.is_finite %0 : (tensor<4xf32>) -> tensor<4xi1>
    %7 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    %8 = stablehlo.reduce_precision %7, format = e5m10 : tensor<4xf32>
    return %8 : tensor<4xf32>
  }
  func.func @binary(%arg0: tensor<?xi32>, %arg1: tensor<4xi32>, %arg2: tensor<i1>) -> tensor<4xi32> {
    %0 = stablehlo.add %arg1, %arg1 : tensor<4xi32>
    %1 = stablehlo.add %arg0, %arg1 : (tensor<?xi32>, tensor<4xi32>) -> tensor<4xi32>
    %2 = stablehlo.subtract %0, %1 {mhlo.note = "kept", unit} : tensor<4xi32>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %4 = stablehlo.compare EQ, %0, %2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %5 = stablehlo.select %3, %0, %2 : tensor<4xi1>, tensor<4xi32>
    %6 = stablehlo.select %arg2, %arg0, %5 : (tensor<i1>, tensor<?xi32>, tensor<4xi32>) -> tensor<4xi32>
    %7 = stablehlo.clamp %0, %5, %6 : tensor<4xi32>
    return %7 : tensor<4xi32>
  }
}
