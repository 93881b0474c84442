// case: NonTupleWithTupleParamBytesAccessed
// op: mhlo.fusion
// expect: flops=6 transcendentals=0 bytes=72 operand0=48 output=24
func.func @main(%in: tuple<tensor<3x2xf32>, tensor<3x2xf32>>) -> tensor<3x2xf32> {
  %0 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tuple<tensor<3x2xf32>, tensor<3x2xf32>>):
    %x = "mhlo.get_tuple_element"(%in_in) <{index = 0 : i32}> : (tuple<tensor<3x2xf32>, tensor<3x2xf32>>) -> tensor<3x2xf32>
    %y = "mhlo.get_tuple_element"(%in_in) <{index = 1 : i32}> : (tuple<tensor<3x2xf32>, tensor<3x2xf32>>) -> tensor<3x2xf32>
    %add = mhlo.add %x, %y : tensor<3x2xf32>
    mhlo.return %add : tensor<3x2xf32>
  }) : (tuple<tensor<3x2xf32>, tensor<3x2xf32>>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
