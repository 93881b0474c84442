// case: DynamicUpdateSlice
// op: stablehlo.dynamic_update_slice
// expect: flops=0 transcendentals=0 bytes=12 operand0=0 operand1=4 operand2=4 output=4
func.func @main(%in: tensor<2xf32>, %update: tensor<1xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %0 = stablehlo.dynamic_update_slice %in, %update, %i : (tensor<2xf32>, tensor<1xf32>, tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
