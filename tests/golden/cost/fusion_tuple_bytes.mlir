// case: TupleBytesAccessed
// op: mhlo.fusion
// expect: flops=8 transcendentals=0 bytes=64 operand0=32 output=32
func.func @main(%in: tuple<tensor<2x2xf32>, tensor<2x2xf32>>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0:2 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tuple<tensor<2x2xf32>, tensor<2x2xf32>>):
    %x = "mhlo.get_tuple_element"(%in_in) <{index = 0 : i32}> : (tuple<tensor<2x2xf32>, tensor<2x2xf32>>) -> tensor<2x2xf32>
    %y = "mhlo.get_tuple_element"(%in_in) <{index = 1 : i32}> : (tuple<tensor<2x2xf32>, tensor<2x2xf32>>) -> tensor<2x2xf32>
    %add = mhlo.add %x, %y : tensor<2x2xf32>
    %mul = mhlo.multiply %x, %y : tensor<2x2xf32>
    mhlo.return %add, %mul : tensor<2x2xf32>, tensor<2x2xf32>
  }) : (tuple<tensor<2x2xf32>, tensor<2x2xf32>>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xf32>
}
