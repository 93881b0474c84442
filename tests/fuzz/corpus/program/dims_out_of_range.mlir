func.func @main(%a: tensor<2x3xf32>) {
  %0 = stablehlo.transpose %a, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  %1 = stablehlo.transpose %a, dims = [-1, 9223372036854775807] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = stablehlo.broadcast_in_dim %a, dims = [5, -2] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  %3 = stablehlo.concatenate %a, %a, dim = 9 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %4 = stablehlo.iota dim = -1 : tensor<4xf32>
  %5 = stablehlo.reverse %a, dims = [0, 0, 0, 2] : tensor<2x3xf32>
  %6 = stablehlo.slice %a [9:1:0, -5:9223372036854775807] : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %7 = stablehlo.dot_general %a, %a, batching_dims = [0, 0] x [1], contracting_dims = [-1] x [99] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %8 = stablehlo.dynamic_slice %a, %a, sizes = [-1, 99] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<1x1xf32>
  %9 = stablehlo.pad %a, %a, low = [-9223372036854775808, 1], high = [9223372036854775807, 1], interior = [9223372036854775807, -1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<1x1xf32>
  %10 = stablehlo.get_tuple_element %a[4294967295] : (tensor<2x3xf32>) -> tensor<f32>
  %11 = stablehlo.fft %a, type = IRFFT, length = [-1, 0, 3, 9223372036854775807] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
