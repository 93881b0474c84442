"builtin.module"() ({
  "func.func"() <{function_type = (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>, sym_name = "reduce"}> ({
  ^bb0(%arg8: tensor<3x4xi32>, %arg9: tensor<i32>):
    %9 = "stablehlo.reduce"(%arg8, %arg9) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg16: tensor<i32>, %arg17: tensor<i32>):
      %15 = "stablehlo.add"(%arg16, %arg17) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%15) : (tensor<i32>) -> ()
    }) : (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>
    %10:2 = "stablehlo.reduce"(%arg8, %arg8, %arg9, %arg9) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg12: tensor<i32>, %arg13: tensor<i32>, %arg14: tensor<i32>, %arg15: tensor<i32>):
      %13 = "stablehlo.add"(%arg12, %arg14) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %14 = "stablehlo.maximum"(%arg13, %arg15) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%13, %14) : (tensor<i32>, tensor<i32>) -> ()
    }) : (tensor<3x4xi32>, tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> (tensor<3xi32>, tensor<3xi32>)
    %11 = "stablehlo.reduce"(%arg8, %arg9) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg10: tensor<i32>, %arg11: tensor<i32>):
      %12 = "stablehlo.add"(%arg11, %arg10) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%12) : (tensor<i32>) -> ()
    }) : (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>
    "func.return"(%10#0) : (tensor<3xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i64>) -> tensor<i64>, sym_name = "loop"}> ({
  ^bb0(%arg3: tensor<i64>):
    %4 = "stablehlo.constant"() <{value = dense<10> : tensor<i64>}> : () -> tensor<i64>
    %5:2 = "stablehlo.while"(%arg3, %4) ({
    ^bb0(%arg6: tensor<i64>, %arg7: tensor<i64>):
      %8 = "stablehlo.compare"(%arg6, %arg7) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%8) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg4: tensor<i64>, %arg5: tensor<i64>):
      %6 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %7 = "stablehlo.add"(%arg4, %6) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%7, %arg5) : (tensor<i64>, tensor<i64>) -> ()
    }) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    "func.return"(%5#0) : (tensor<i64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<f32>) -> tensor<f32>, sym_name = "branch"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<f32>):
    %0 = "stablehlo.if"(%arg0) ({
      "stablehlo.return"(%arg1) : (tensor<f32>) -> ()
    }, {
      %3 = "func.call"(%arg0, %arg1) <{callee = @branch}> : (tensor<i1>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    %1 = "stablehlo.map"(%0) <{dimensions = array<i64>}> ({
    ^bb0(%arg2: tensor<f32>):
      %2 = "stablehlo.negate"(%arg2) : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    "func.return"(%1) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()
