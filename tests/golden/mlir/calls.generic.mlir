"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<2xui64>, !stablehlo.token) -> tensor<4xf32>, sym_name = "custom"}> ({
  ^bb0(%arg4: tensor<4xf32>, %arg5: tensor<2xui64>, %arg6: !stablehlo.token):
    %5 = "stablehlo.custom_call"(%arg4) <{api_version = 4 : i32, backend_config = {a = 1 : i64}, call_target_name = "foo", called_computations = [@custom], operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]}> : (tensor<4xf32>) -> tensor<4xf32>
    %6:2 = "stablehlo.custom_call"(%arg4) <{backend_config = "", call_target_name = "bar.baz-qux", has_side_effect = true, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
    "stablehlo.custom_call"(%5, %6#0) <{call_target_name = "check.expect_eq", has_side_effect = true}> : (tensor<4xf32>, tensor<4xf32>) -> ()
    %7 = "stablehlo.composite"(%5) <{composite_attributes = {n = 1 : i64}, decomposition = @custom, name = "my.op", version = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
    %8 = "stablehlo.tuple"(%5, %6#1) : (tensor<4xf32>, tensor<i1>) -> tuple<tensor<4xf32>, tensor<i1>>
    %9 = "stablehlo.get_tuple_element"(%8) <{index = 1 : i32}> : (tuple<tensor<4xf32>, tensor<i1>>) -> tensor<i1>
    %10 = "stablehlo.after_all"(%arg6, %arg6) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %11 = "stablehlo.create_token"() : () -> !stablehlo.token
    %12:2 = "stablehlo.optimization_barrier"(%5, %9) : (tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<i1>)
    "stablehlo.optimization_barrier"() : () -> ()
    %13:2 = "stablehlo.rng_bit_generator"(%arg5) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %14 = "stablehlo.fft"(%5) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
    %15 = "stablehlo.replica_id"() : () -> tensor<ui32>
    %16:3 = "stablehlo.batch_norm_training"(%5, %5, %5) <{epsilon = 1.000000e-03 : f32, feature_index = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %17 = "stablehlo.uniform_quantize"(%16#0) : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.000000e-01:-30>>
    %18 = "stablehlo.add"(%17, %17) : (tensor<4x!quant.uniform<i8:f32, 1.000000e-01:-30>>, tensor<4x!quant.uniform<i8:f32, 1.000000e-01:-30>>) -> tensor<4x!quant.uniform<i8:f32, 1.000000e-01:-30>>
    "func.return"(%7) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4xf32>) -> tensor<2x4xf32>, sym_name = "collectives"}> ({
  ^bb0(%arg0: tensor<2x4xf32>):
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y", sub_axis_info = (2)4>]>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
    %2 = "stablehlo.async_start"(%0) ({
    ^bb0(%arg1: tensor<2x4xf32>):
      %3 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
      "stablehlo.return"(%3) : (tensor<2x4xf32>) -> ()
    }) : (tensor<2x4xf32>) -> !stablehlo.future<tensor<2x4xf32>>
    "func.return"(%0) : (tensor<2x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
