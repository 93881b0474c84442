// case: DynamicSlice
// op: stablehlo.dynamic_slice
// expect: flops=0 transcendentals=0 bytes=12 operand0=4 operand1=4 output=4
func.func @main(%in: tensor<2xf32>, %i: tensor<i32>) -> tensor<1xf32> {
  %0 = stablehlo.dynamic_slice %in, %i, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
