"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "constants"}> ({
    %0 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<[[1, 2, 3], [-4, 5, 6]]> : tensor<2x3xi64>}> : () -> tensor<2x3xi64>
    %2 = "stablehlo.constant"() <{value = dense<[true, false]> : tensor<2xi1>}> : () -> tensor<2xi1>
    %3 = "stablehlo.constant"() <{value = dense<18446744073709551615> : tensor<3xui64>}> : () -> tensor<3xui64>
    %4 = "stablehlo.constant"() <{value = dense<[-8, 7]> : tensor<2xi4>}> : () -> tensor<2xi4>
    %5 = "stablehlo.constant"() <{value = dense<[3, 0]> : tensor<2xui2>}> : () -> tensor<2xui2>
    %6 = "stablehlo.constant"() <{value = dense<[1.000000e+00, -0.000000e+00, 0.333333343]> : tensor<3xf32>}> : () -> tensor<3xf32>
    %7 = "stablehlo.constant"() <{value = dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>}> : () -> tensor<3xf32>
    %8 = "stablehlo.constant"() <{value = dense<(1.000000e+00,-2.000000e+00)> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    %9 = "stablehlo.constant"() <{value = dense<[(0.000000e+00,1.000000e+00), (2.000000e+00,3.000000e+00)]> : tensor<2xcomplex<f64>>}> : () -> tensor<2xcomplex<f64>>
    %10 = "stablehlo.constant"() <{value = dense<> : tensor<0x3xf32>}> : () -> tensor<0x3xf32>
    %11 = "stablehlo.constant"() <{value = dense<[[[1.500000e+00], [2.500000e+00]]]> : tensor<1x2x1xbf16>}> : () -> tensor<1x2x1xbf16>
    %12 = "stablehlo.constant"() <{value = dense<4.480000e+02> : tensor<2xf8E4M3FN>}> {mhlo.note} : () -> tensor<2xf8E4M3FN>
    %13 = "stablehlo.constant"() <{value = dense_resource<__elided__> : tensor<8x8xf32>}> : () -> tensor<8x8xf32>
    %14 = "stablehlo.constant"() <{value = dense<[1, 2]> : tensor<2xindex>}> : () -> tensor<2xindex>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
