module {
  func.func @constants() {
    %c = stablehlo.constant dense<5> : tensor<i32>
    %c_0 = stablehlo.constant dense<[[1, 2, 3], [-4, 5, 6]]> : tensor<2x3xi64>
    %c_1 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %c_2 = stablehlo.constant dense<18446744073709551615> : tensor<3xui64>
    %c_3 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %c_4 = stablehlo.constant dense<[3, 0]> : tensor<2xui2>
    %cst = stablehlo.constant dense<[1.000000e+00, -0.000000e+00, 0.333333343]> : tensor<3xf32>
    %cst_5 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
    %cst_6 = stablehlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<2xcomplex<f32>>
    %cst_7 = stablehlo.constant dense<[(0.000000e+00,1.000000e+00), (2.000000e+00,3.000000e+00)]> : tensor<2xcomplex<f64>>
    %cst_8 = stablehlo.constant dense<> : tensor<0x3xf32>
    %cst_9 = stablehlo.constant dense<[[[1.500000e+00], [2.500000e+00]]]> : tensor<1x2x1xbf16>
    %cst_10 = stablehlo.constant {mhlo.note} dense<4.480000e+02> : tensor<2xf8E4M3FN>
    %cst_11 = stablehlo.constant dense_resource<__elided__> : tensor<8x8xf32>
    %cst_12 = stablehlo.constant dense<[1, 2]> : tensor<2xindex>
    return
  }
}
