"builtin.module"() <{sym_name = "jit-step"}> ({
  "func.func"() <{arg_attrs = [{mhlo.sharding = "{devices=[2]<=[2]}", tf.aliasing_output = 0 : i32}, {}], function_type = (tensor<8xf32>, tensor<i1>) -> (tensor<8xf32>, tensor<i1>), res_attrs = [{jax.result_info = "x[\22a\22]\0A"}, {}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8xf32>, %arg1: tensor<i1>):
    %0:2 = "func.call"(%arg0, %arg1) <{callee = @helper}> : (tensor<8xf32>, tensor<i1>) -> (tensor<8xf32>, tensor<i1>)
    %1 = "func.constant"() <{value = @"odd name"}> : () -> (() -> ())
    "func.call"() <{callee = @"odd name"}> {note = @a::@"b c"} : () -> ()
    "func.return"(%0#0, %0#1) : (tensor<8xf32>, tensor<i1>) -> ()
  }) {execution_thread = "main"} : () -> ()
  "func.func"() <{arg_attrs = [{}, {jax.global_constant}], function_type = (tensor<8xf32>, tensor<i1>) -> (tensor<8xf32>, tensor<i1>), sym_name = "helper", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "odd name", sym_visibility = "nested"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = ((tensor<f32>) -> tensor<f32>) -> ((tensor<f32>) -> tensor<f32>), sym_name = "higher_order", sym_visibility = "private"}> ({
  }) : () -> ()
  "builtin.module"() <{sym_name = "inner"}> ({
    "func.func"() <{function_type = () -> (), sym_name = "attributes"}> ({
      "func.return"() : () -> ()
    }) {array = [1, 2 : i32, 5.000000e-01, 5.000000e-01 : f32, "s", @sym, [unit]], dict = {"1" = true, a = 1 : i8, "b c"}, empty = [], i1s = array<i1: true, false>, i64s = array<i64: 1, -2>, index = 3 : index, none = array<i32>, type = tensor<*xf32>} : () -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
