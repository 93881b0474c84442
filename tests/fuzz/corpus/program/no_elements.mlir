func.func @main(%a: tensor<0x4xf32>, %b: tensor<4x0xf32>, %i: tensor<0x1xi32>, %c: tensor<1x0x4x3xf32>, %k: tensor<3x3x3x8xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<0x4xf32>, tensor<4x0xf32>) -> tensor<0x0xf32>
  %1 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<4x0xf32>, tensor<0x4xf32>) -> tensor<4x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %p = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  %4 = "stablehlo.gather"(%b, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 0>}> : (tensor<4x0xf32>, tensor<0x1xi32>) -> tensor<0x0xf32>
  %5 = stablehlo.transpose %a, dims = [1, 0] : (tensor<0x4xf32>) -> tensor<4x0xf32>
  %6 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<0x4xf32>
  %7 = stablehlo.pad %a, %z, low = [2, 0], high = [2, -4], interior = [3, 0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4x0xf32>
  %8 = stablehlo.convolution(%c, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x0x4x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x0x4x8xf32>
  %9 = stablehlo.fft %a, type = RFFT, length = [4] : (tensor<0x4xf32>) -> tensor<0x3xcomplex<f32>>
  return
}
