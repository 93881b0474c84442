"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xcomplex<f32>>) -> tensor<4xf32>, sym_name = "unary"}> ({
  ^bb0(%arg3: tensor<4xf32>, %arg4: tensor<4xcomplex<f32>>):
    %8 = "stablehlo.abs"(%arg3) : (tensor<4xf32>) -> tensor<4xf32>
    %9 = "stablehlo.abs"(%arg4) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %10 = "stablehlo.real"(%arg4) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %11 = "stablehlo.imag"(%arg4) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %12 = "stablehlo.complex"(%10, %11) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %13 = "stablehlo.convert"(%8) : (tensor<4xf32>) -> tensor<4xbf16>
    %14 = "stablehlo.is_finite"(%8) : (tensor<4xf32>) -> tensor<4xi1>
    %15 = "stablehlo.exponential"(%8) <{result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4xf32>) -> tensor<4xf32>
    %16 = "stablehlo.reduce_precision"(%15) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%16) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?xi32>, tensor<4xi32>, tensor<i1>) -> tensor<4xi32>, sym_name = "binary"}> ({
  ^bb0(%arg0: tensor<?xi32>, %arg1: tensor<4xi32>, %arg2: tensor<i1>):
    %0 = "stablehlo.add"(%arg1, %arg1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %1 = "stablehlo.add"(%arg0, %arg1) : (tensor<?xi32>, tensor<4xi32>) -> tensor<4xi32>
    %2 = "stablehlo.subtract"(%0, %1) {mhlo.note = "kept", unit} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %3 = "stablehlo.compare"(%0, %2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %4 = "stablehlo.compare"(%0, %2) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %5 = "stablehlo.select"(%3, %0, %2) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %6 = "stablehlo.select"(%arg2, %arg0, %5) : (tensor<i1>, tensor<?xi32>, tensor<4xi32>) -> tensor<4xi32>
    %7 = "stablehlo.clamp"(%0, %5, %6) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    "func.return"(%7) : (tensor<4xi32>) -> ()
  }) : () -> ()
}) : () -> ()
