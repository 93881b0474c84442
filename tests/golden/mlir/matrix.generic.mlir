"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x8x4xf32>, tensor<2x4x16xf32>, tensor<4x4xi8>) -> tensor<2x8x16xf32>, sym_name = "dots"}> ({
  ^bb0(%arg2: tensor<2x8x4xf32>, %arg3: tensor<2x4x16xf32>, %arg4: tensor<4x4xi8>):
    %2 = "stablehlo.dot_general"(%arg2, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x8x4xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
    %3 = "stablehlo.dot_general"(%arg4, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi32>
    %4 = "stablehlo.dot_general"(%arg2, %arg3) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = []}> : (tensor<2x8x4xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
    %5 = "stablehlo.dot_general"(%arg4, %arg4) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4x4x4xi32>
    %6 = "stablehlo.dot"(%arg4, %arg4) <{precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi32>
    %7 = "stablehlo.einsum"(%arg4, %arg4) <{einsum_config = "ab,bc->ac"}> : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi8>
    "func.return"(%2) : (tensor<2x8x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32>, sym_name = "convolutions"}> ({
  ^bb0(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x16xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<1> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, window_strides = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32>
    %1 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
    "func.return"(%0) : (tensor<1x8x8x16xf32>) -> ()
  }) : () -> ()
}) : () -> ()
