"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>, tensor<2xf64>) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2xf32>, %arg1: tensor<2xf64>):
    %0 = "chlo.lgamma"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "chlo.broadcast_add"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf64>
    %2 = "chlo.broadcast_compare"(%arg0, %arg0) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %3:2 = "chlo.top_k"(%arg0) <{k = 1 : i64}> : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xi32>)
    "check.expect_eq_const"(%arg0) <{value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}> : (tensor<2xf32>) -> ()
    "check.expect_close"(%arg0, %0) <{max_ulp_difference = 3 : ui64}> : (tensor<2xf32>, tensor<2xf32>) -> ()
    "check.expect_eq"(%arg0, %0) : (tensor<2xf32>, tensor<2xf32>) -> ()
    %4 = "interpreter.probe"(%0) <{probe_id = "p"}> : (tensor<2xf32>) -> tensor<2xf32>
    %5 = "builtin.unrealized_conversion_cast"(%4) : (tensor<2xf32>) -> tensor<?xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
