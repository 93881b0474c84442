"builtin.module"() <{sym_name = "layers"}> ({
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>, sym_name = "scan"}> ({
  ^bb0(%arg7: tensor<2x3xf32>, %arg8: tensor<3xf32>):
    %11:2 = "chlo.scan"(%arg7, %arg8) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg9: tensor<3xf32>, %arg10: tensor<3xf32>):
      %12 = "stablehlo.add"(%arg9, %arg10) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%12, %12) : (tensor<3xf32>, tensor<3xf32>) -> ()
    }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
    "func.return"(%11#0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>, tensor<8xi32>, !mhlo.token) -> tensor<4xf32>, sym_name = "hlo"}> ({
  ^bb0(%arg4: tensor<8xf32>, %arg5: tensor<8xi32>, %arg6: !mhlo.token):
    %3:2 = "mhlo.topk"(%arg4) <{k = 4 : i64}> : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xi32>)
    %4:2 = "mhlo.topk"(%arg4) <{k = 4 : i64, largest = false}> {t.x} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xi32>)
    %5 = "mhlo.mulhi"(%arg5, %arg5) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %6 = "mhlo.bitcast"(%arg4) : (tensor<8xf32>) -> tensor<2x4xf32>
    %7 = "mhlo.add_dependency"(%arg4, %arg6) : (tensor<8xf32>, !mhlo.token) -> tensor<8xf32>
    %8 = "mhlo.xla.rng_get_and_update_state"() <{delta = 1 : i64}> : () -> tensor<2xui64>
    %9 = "mhlo.after_all"() : () -> !mhlo.token
    %10 = "mhlo.composite"(%arg4) <{decomposition = @part, name = "t.c"}> : (tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%3#0) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>) -> tensor<8xf32>, sym_name = "part", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<8xf32>):
    "func.return"(%arg3) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8xf32>) -> (), sym_name = "composites"}> ({
  ^bb0(%arg1: tensor<8xf32>):
    %2 = "stablehlo.composite"(%arg1) <{decomposition = @part, name = "t.c", version = 1 : i32}> ({
    ^bb0(%arg2: tensor<8xf32>):
      "stablehlo.return"(%arg2) : (tensor<8xf32>) -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    "stablehlo.composite"() <{decomposition = @nothing, name = "t.n"}> : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "nothing", sym_visibility = "private"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (i32) -> i32, sym_name = "indirect"}> ({
  ^bb0(%arg0: i32):
    %0 = "func.constant"() <{value = @twice}> : () -> ((i32) -> i32)
    %1 = "func.call_indirect"(%0, %arg0) {t.x} : ((i32) -> i32, i32) -> i32
    "func.return"(%1) : (i32) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (i32) -> i32, sym_name = "twice", sym_visibility = "private"}> ({
  }) : () -> ()
}) : () -> ()
