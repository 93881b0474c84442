func.func @f(%a: tensor<8xi32>) {
  %0 = "stablehlo.slice"(%a) {start_indices = array<i32: 4>, limit_indices = array<i64: 8>, strides = array<i64: 1>} : (tensor<8xi32>) -> tensor<4xi32>
  %1 = "stablehlo.transpose"(%a) {permutation = array<i32: 0>} : (tensor<8xi32>) -> tensor<8xi32>
  return
}
