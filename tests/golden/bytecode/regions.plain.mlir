module @regions attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<f32>, %arg2: tensor<2x16x4xf32>, %arg3: tensor<2xi32>, %arg4: tensor<3x1xi32>, %arg5: tensor<3x16xf32>, %arg6: tensor<16xf32>) -> (tensor<8x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %arg1) <{padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %10 = stablehlo.maximum %arg7, %arg8 : tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %2 = "stablehlo.scatter"(%arg0, %arg4, %arg5) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      stablehlo.return %arg8 : tensor<f32>
    }) : (tensor<8x16xf32>, tensor<3x1xi32>, tensor<3x16xf32>) -> tensor<8x16xf32>
    %3:2 = "stablehlo.sort"(%arg0, %arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<f32>, %arg10: tensor<f32>):
      %10 = stablehlo.compare GT, %arg7, %arg8 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %4 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %10 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %5 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %6 = "chlo.ragged_dot"(%arg0, %arg2, %arg3) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<2x16x4xf32>, tensor<2xi32>) -> tensor<8x4xf32>
    %values, %indices = chlo.top_k(%arg0, k = 3) : tensor<8x16xf32> -> (tensor<8x3xf32>, tensor<8x3xi32>)
    %7 = chlo.broadcast_compare %arg0, %arg0 {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction NE>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %8:2 = chlo.scan(%arg0) inits (%arg6) dimension=0  attributes {is_reverse = true} {
    ^bb0(%input: tensor<16xf32>, %carry: tensor<16xf32>):
      %10 = stablehlo.add %input, %carry : tensor<16xf32>
      stablehlo.return %10, %10 : tensor<16xf32>, tensor<16xf32>
    } : (tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
    %9 = call @inner(%4) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %9 : tensor<8x16xf32>
  }
  func.func private @inner(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {no_inline} {
    %0 = stablehlo.composite "test.scale" %arg0 {composite_attributes = {scale = 2.000000e+00 : f32}, decomposition = @scale, version = 1 : i32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
  func.func private @scale(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    return %arg0 : tensor<8x16xf32>
  }
}
