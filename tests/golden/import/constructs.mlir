module @ops attributes {mhlo.is_dynamic = false, mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}, %arg1: tensor<4x8xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst_0 = stablehlo.constant dense_resource<__elided__> : tensor<4x8xf32>
    %c_1 = stablehlo.constant dense<[-8, 7, -1, 0]> : tensor<4xi4>
    %c_2 = stablehlo.constant dense<[18446744073709551615, 3]> : tensor<2xui64>
    %cst_3 = stablehlo.constant dense<[(1.000000e+00,-2.500000e+00), (0x7FC00000,0x7F800000)]> : tensor<2xcomplex<f32>>
    %c_4 = stablehlo.constant dense<[[false, true], [false, true]]> : tensor<2x2xi1>
    %cst_5 = stablehlo.constant dense<[1.500000e+00, 0xFFC0, 0.000000e+00]> : tensor<3xbf16>
    %cst_6 = stablehlo.constant dense<[4.480000e+02, 0x7F]> : tensor<2xf8E4M3FN>
    %0 = mhlo.copy %arg0 {xla_shape = "f32[4,8]{0,1}"} : tensor<4x8xf32>
    %1 = mhlo.bitcast %0 {result_layout = dense<[1, 0]> : tensor<2xindex>, source_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[8,4]{1,0}"} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.dot_general %arg0, %1, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.dot_general %arg0, %1, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %4 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg2: tensor<4x8xf32>):
      %65 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %66 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %66 : tensor<f32>
      }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %65 : tensor<4x8xf32>
    }) : (tensor<4x8xf32>) -> !stablehlo.future<tensor<4x8xf32>>
    %7 = "stablehlo.async_done"(%6) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>
    %8 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg2: tensor<4x8xf32>):
      %65 = "stablehlo.all_gather"(%arg2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<32x8xf32>
      stablehlo.return %65 : tensor<32x8xf32>
    }) : (tensor<4x8xf32>) -> !stablehlo.future<tensor<32x8xf32>>
    %9 = "stablehlo.async_done"(%8) : (!stablehlo.future<tensor<32x8xf32>>) -> tensor<32x8xf32>
    %10 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg2: tensor<4x8xf32>):
      %65 = "stablehlo.all_gather"(%arg2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<32x8xf32>
      stablehlo.return %65 : tensor<32x8xf32>
    }) : (tensor<4x8xf32>) -> !stablehlo.future<tensor<32x8xf32>>
    %11 = "stablehlo.async_done"(%10) : (!stablehlo.future<tensor<32x8xf32>>) -> tensor<32x8xf32>
    %12 = call @agf(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %13 = "stablehlo.reduce_scatter"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %14 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg2: tensor<4x8xf32>):
      %65 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %65 : tensor<4x8xf32>
    }) : (tensor<4x8xf32>) -> !stablehlo.future<tensor<4x8xf32>>
    %15 = "stablehlo.async_done"(%14) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>
    %16 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %17:2 = stablehlo.custom_call @all_to_all(%arg0, %arg1) {api_version = 4 : i32, backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %18 = mhlo.copy %arg0 : tensor<4x8xf32>
    %19:2 = stablehlo.while(%iterArg = %c, %iterArg_18 = %18) : tensor<i32>, tensor<4x8xf32> attributes {mhlo.known_trip_count = 7 : i64}
    cond {
      %c_19 = stablehlo.constant dense<7> : tensor<i32>
      %65 = stablehlo.compare LT, %iterArg, %c_19 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %65 : tensor<i1>
    } do {
      %65:2 = "mhlo.fusion"(%iterArg_18, %iterArg_18) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
      ^bb0(%arg2: tensor<4x8xf32>, %arg3: tensor<4x8xf32>):
        %67 = stablehlo.multiply %arg2, %arg3 : tensor<4x8xf32>
        %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %68 = stablehlo.reduce(%67 init: %cst_20) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
        mhlo.return %67, %68 : tensor<4x8xf32>, tensor<4xf32>
      }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
      %c_19 = stablehlo.constant dense<1> : tensor<i32>
      %66 = stablehlo.add %iterArg, %c_19 : tensor<i32>
      stablehlo.return %66, %65#0 : tensor<i32>, tensor<4x8xf32>
    }
    %20 = stablehlo.compare EQ, %c, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %21 = "stablehlo.if"(%20) ({
      %65 = stablehlo.negate %19#1 : tensor<4x8xf32>
      stablehlo.return %65 : tensor<4x8xf32>
    }, {
      stablehlo.return %arg0 : tensor<4x8xf32>
    }) : (tensor<i1>) -> tensor<4x8xf32>
    %22 = "stablehlo.case"(%c) ({
      %65 = stablehlo.negate %19#1 : tensor<4x8xf32>
      stablehlo.return %65 : tensor<4x8xf32>
    }, {
      stablehlo.return %arg0 : tensor<4x8xf32>
    }, {
      %65 = stablehlo.negate %arg1 : tensor<4x8xf32>
      stablehlo.return %65 : tensor<4x8xf32>
    }) : (tensor<i32>) -> tensor<4x8xf32>
    %23 = call @neg(%22) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %24 = stablehlo.iota dim = 1 : tensor<4x8xi32>
    %25:2 = "stablehlo.sort"(%23, %24) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %65 = stablehlo.compare LT, %arg2, %arg3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %65 : tensor<i1>
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %26 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x8x8x3xf32>
    %27 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3x3x16xf32>
    %28 = stablehlo.convolution(%26, %27) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x4x4x16xf32>
    %29 = "stablehlo.reduce_window"(%28, %cst) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<1x4x4x16xf32>, tensor<f32>) -> tensor<1x2x2x16xf32>
    %30 = "stablehlo.select_and_scatter"(%28, %29, %cst) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %65 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<1x4x4x16xf32>, tensor<1x2x2x16xf32>, tensor<f32>) -> tensor<1x4x4x16xf32>
    %31 = stablehlo.dynamic_slice %arg0, %c, %c, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %32 = stablehlo.dynamic_update_slice %arg0, %31, %c, %c : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %c_7 = stablehlo.constant dense<[[0], [1], [2], [3], [0]]> : tensor<5x1xi32>
    %33 = "stablehlo.gather"(%arg0, %c_7) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
    %34 = "stablehlo.scatter"(%arg0, %c_7, %33) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    %c_8 = stablehlo.constant dense<[4, 8]> : tensor<2xi64>
    %35 = stablehlo.rng %cst, %cst, %c_8, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %c_9 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %output_state, %output = stablehlo.rng_bit_generator %c_9, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x8xui32>)
    %36 = mhlo.xla.rng_get_and_update_state {delta = 32 : i64}
    %values, %indices = mhlo.topk(%arg0, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %37 = stablehlo.slice %arg0 [0:2, 0:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>
    %38 = stablehlo.pad %arg0, %cst, low = [0, 1], high = [1, 1], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x17xf32>
    %39 = "stablehlo.map"(%arg0, %arg1) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %cst_11 = stablehlo.constant dense<[[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]]> : tensor<2x4xf32>
    %output_12, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%cst_11, %cst_10, %cst_10) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %40 = "stablehlo.batch_norm_inference"(%cst_11, %cst_10, %cst_10, %cst_10, %cst_10) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%cst_11, %cst_10, %cst_10, %cst_10, %cst_11) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %41:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>
    %42 = stablehlo.fft %arg0, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
    %43 = stablehlo.cholesky %2, lower = true : tensor<4x4xf32>
    %44 = "stablehlo.triangular_solve"(%2, %2) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %45 = stablehlo.after_all  : !stablehlo.token
    %46 = "stablehlo.send"(%arg0, %45) <{channel_handle = #stablehlo.channel_handle<handle = 9, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    %47:2 = "stablehlo.recv"(%46) <{channel_handle = #stablehlo.channel_handle<handle = 10, type = 1>, is_host_transfer = false}> : (!stablehlo.token) -> (tensor<4x8xf32>, !stablehlo.token)
    %48:3 = "stablehlo.infeed"(%45) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<4x8xf32>, tensor<i32>, !stablehlo.token)
    %49 = "stablehlo.outfeed"(%arg0, %45) <{outfeed_config = ""}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    %50:2 = stablehlo.custom_call @__cublas$gemm(%arg0, %arg1) {backend_config = "{\22gemm_backend_config\22:{\22alpha_real\22:1}}"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<100xi8>)
    %51 = stablehlo.custom_call @foo(%arg0) {api_version = 4 : i32, backend_config = {}, has_side_effect = true, mhlo.backend_config = "{x = 1 : i32}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %52 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<4x8xf32>
    %53 = mhlo.erf %arg0 : tensor<4x8xf32>
    %54 = stablehlo.tan %arg0 : tensor<4x8xf32>
    %55 = "mhlo.stochastic_convert"(%arg0, %output) : (tensor<4x8xf32>, tensor<4x8xui32>) -> tensor<4x8xi8>
    %56 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %57 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1, 4, 5], [2, 3, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %65 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %65 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %cst_13 = stablehlo.constant dense<[1.000000e+00, 0x7F800007]> : tensor<2xf32>
    %c_14 = stablehlo.constant dense<3> : tensor<i32>
    %cst_15 = stablehlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<1xcomplex<f32>>
    %58 = "mhlo.fusion"(%57) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
    ^bb0(%arg2: tensor<4x8xf32>):
      %65 = stablehlo.negate %arg2 : tensor<4x8xf32>
      mhlo.return %65 : tensor<4x8xf32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %c_16 = stablehlo.constant dense<8> : tensor<i32>
    %c_17 = stablehlo.constant dense<4> : tensor<i32>
    %59 = stablehlo.reshape %c_16 : (tensor<i32>) -> tensor<1xi32>
    %60 = stablehlo.reshape %c_17 : (tensor<i32>) -> tensor<1xi32>
    %61 = stablehlo.concatenate %59, %60, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %62 = stablehlo.dynamic_reshape %58, %61 : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<8x4xf32>
    %63 = stablehlo.custom_call @typed(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = 2.500000e+00 : f64, c = true, d = "e"}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %64 = stablehlo.add %23, %21 : tensor<4x8xf32>
    return %64 : tensor<4x8xf32>
  }
  func.func private @agf(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4x8xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
  func.func private @neg(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
