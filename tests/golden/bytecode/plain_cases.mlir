// case attributes
// Every attribute that StableHLO has a code for in bytecode, with values that differ by field.
module @attributes {
  func.func public @main(%a: tensor<4x6x6x2xf32>, %b: tensor<3x3x2x5xf32>, %m: tensor<4x8xf32>, %i: tensor<5x2xi32>,
                         %c: tensor<8x8xf32>, %j: tensor<4x8xi32>, %t: !stablehlo.token) -> tensor<4x8xf32> {
    %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGHEST>]} : (tensor<4x6x6x2xf32>, tensor<3x3x2x5xf32>) -> tensor<4x5x3x4xf32>
    %1 = stablehlo.dot_general %m, %c, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.dot_general %m, %m, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
    %3 = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>}> : (tensor<4x8xf32>, tensor<5x2xi32>) -> tensor<5x3xf32>
    %4 = "stablehlo.gather"(%m, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
    %5 = stablehlo.compare LT, %m, %1, TOTALORDER : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %6 = stablehlo.fft %m, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
    %7 = "stablehlo.triangular_solve"(%c, %c) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %8 = stablehlo.exponential %m {result_accuracy = #stablehlo.result_accuracy<atol = 1.250000e-01, rtol = 0.000000e+00, ulps = 7, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    %9 = "stablehlo.send"(%m, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4x8xf32>, !stablehlo.token) -> !stablehlo.token
    %10 = stablehlo.custom_call @target(%m, %c) {api_version = 4 : i32, backend_config = {name = "x", value = 3 : i32}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %seed = stablehlo.constant dense<[7, 18446744073709551615]> : tensor<2xui64>
    %state, %bits = stablehlo.rng_bit_generator %seed, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    return %8 : tensor<4x8xf32>
  }
}
// -----
// case regions
// Operations with regions, optional attributes that are there and that are not, sizes of groups.
// and version 5 of the container, which holds sizes of groups as attributes
// plain only: VHLO has no chlo.
module @regions attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %z: tensor<f32>, %w: tensor<2x16x4xf32>, %g: tensor<2xi32>, %i: tensor<3x1xi32>, %u: tensor<3x16xf32>, %u0: tensor<16xf32>) -> (tensor<8x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%a, %z) <{padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %2 = "stablehlo.scatter"(%a, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %y : tensor<f32>
    }) : (tensor<8x16xf32>, tensor<3x1xi32>, tensor<3x16xf32>) -> tensor<8x16xf32>
    %3:2 = "stablehlo.sort"(%a, %a) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %4 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %5 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %6 = "chlo.ragged_dot"(%a, %w, %g) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<2x16x4xf32>, tensor<2xi32>) -> tensor<8x4xf32>
    %values, %indices = chlo.top_k(%a, k = 3) : tensor<8x16xf32> -> (tensor<8x3xf32>, tensor<8x3xi32>)
    %7 = chlo.broadcast_compare %a, %a {comparison_direction = #chlo<comparison_direction NE>, compare_type = #chlo<comparison_type FLOAT>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
    %ys, %carry = "chlo.scan"(%a, %u0) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>):
      %s = stablehlo.add %x, %y : tensor<16xf32>
      stablehlo.return %s, %s : tensor<16xf32>, tensor<16xf32>
    }) : (tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
    %8 = call @inner(%4) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %8 : tensor<8x16xf32>
  }
  func.func private @inner(%a: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {no_inline} {
    %0 = stablehlo.composite "test.scale" %a {composite_attributes = {scale = 2.0 : f32}, decomposition = @scale, version = 1 : i32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
  func.func private @scale(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
    return %a : tensor<8x16xf32>
  }
}
// -----
// case types
// Types of arguments and constants of small elements.
// plain only: sizes that are not known and buffers are not of this VHLO.
module @types {
  func.func public @main(%a: tensor<2xf8E4M3FN>, %b: tensor<2xf8E5M2>, %c: tensor<2xf8E4M3>, %d: tensor<2xf8E5M2FNUZ>, %e: tensor<2xf8E4M3FNUZ>, %f: tensor<2xf8E4M3B11FNUZ>, %g: tensor<2xf8E3M4>, %h: tensor<2xf4E2M1FN>, %i: tensor<2xf6E2M3FN>, %j: tensor<2xf6E3M2FN>, %k: tensor<2xf8E8M0FNU>, %l: tensor<2xcomplex<f64>>, %m: tensor<2xui2>, %n: tensor<2xi4>, %o: memref<2x3xf32>, %p: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %q: tuple<tensor<i1>, tensor<bf16>>, %r: !stablehlo.token, %s: !stablehlo.future<tensor<f32>, tensor<i8>>, %t: tensor<*xf16>, %u: index) {
    %0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %1 = stablehlo.constant dense<[[-8, 7], [1, -1]]> : tensor<2x2xi4>
    %2 = stablehlo.constant dense<[1.500000e+00, -4.480000e+02]> : tensor<2xf8E4M3FN>
    %3 = stablehlo.constant dense<(1.000000e+00,-0.000000e+00)> : tensor<4xcomplex<f32>>
    %4 = stablehlo.constant dense<0x7FC00000> : tensor<2xf32>
    %5 = stablehlo.constant dense<> : tensor<0x2xi64>
    return
  }
}
// -----
// case mesh
// Groups of devices by the axes of a mesh that stands within the attribute, with a part of an axis.
module @mesh {
  func.func @main(%a: tensor<2xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 4>, #stablehlo.mesh_axis<name = "y", size = 1>], device_ids = dense<[3, 2, 1, 0]> : tensor<4xi64>>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>, #stablehlo.axis_ref<name = "y">]>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// -----
// case sharding
// Shardy beside StableHLO, as JAX writes it.
module @sharding {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}, {}]> : tensor<8x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x4xf32>) {
      %2 = stablehlo.negate %b : tensor<2x4xf32>
      sdy.return %2 : tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<8x4xf32>
    return %3 : tensor<8x4xf32>
  }
}
