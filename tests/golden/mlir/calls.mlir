module {
  func.func @custom(%arg0: tensor<4xf32>, %arg1: tensor<2xui64>, %arg2: !stablehlo.token) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @foo(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i64}, called_computations = [@custom], operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = stablehlo.custom_call @"bar.baz-qux"(%arg0) {backend_config = "", has_side_effect = true, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
    stablehlo.custom_call @check.expect_eq(%0, %1#0) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
    %2 = stablehlo.composite "my.op" %0 {composite_attributes = {n = 1 : i64}, decomposition = @custom, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.tuple %0, %1#1 : tuple<tensor<4xf32>, tensor<i1>>
    %4 = stablehlo.get_tuple_element %3[1] : (tuple<tensor<4xf32>, tensor<i1>>) -> tensor<i1>
    %5 = stablehlo.after_all %arg2, %arg2 : !stablehlo.token
    %6 = stablehlo.create_token : !stablehlo.token
    %7:2 = stablehlo.optimization_barrier %0, %4 : tensor<4xf32>, tensor<i1>
    stablehlo.optimization_barrier()
    %output_state, %output = stablehlo.rng_bit_generator %arg1, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %8 = stablehlo.fft %0, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
    %9 = stablehlo.replica_id : tensor<ui32>
    %output_0, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%0, %0, %0) <{epsilon = 1.000000e-03 : f32, feature_index = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %10 = stablehlo.uniform_quantize %output_0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.000000e-01:-30>>
    %11 = stablehlo.add %10, %10 : tensor<4x!quant.uniform<i8:f32, 1.000000e-01:-30>>
    return %2 : tensor<4xf32>
  }
  func.func @collectives(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y", sub_axis_info = (2)4>]>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
    %2 = "stablehlo.async_start"(%0) ({
    ^bb0(%arg1: tensor<2x4xf32>):
      %3 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
      stablehlo.return %3 : tensor<2x4xf32>
    }) : (tensor<2x4xf32>) -> !stablehlo.future<tensor<2x4xf32>>
    return %0 : tensor<2x4xf32>
  }
}
