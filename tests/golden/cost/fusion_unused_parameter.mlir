// case: IgnoreUnusedParameterShape
// The table gives 22 bytes: 19 read, 3 written. XLA's own body adds a constant of three elements twice and so reads
// 3 bytes more (25, see fusion_large_constant); this body has no constant.
// op: mhlo.fusion
// expect: bytes=22 operand0=19 output=3
func.func @main(%in: tuple<tensor<3xi8>, tensor<100xi8>>) -> tensor<3xi8> {
  %0 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tuple<tensor<3xi8>, tensor<100xi8>>):
    %x = "mhlo.get_tuple_element"(%in_in) <{index = 0 : i32}> : (tuple<tensor<3xi8>, tensor<100xi8>>) -> tensor<3xi8>
    %a = mhlo.add %x, %x : tensor<3xi8>
    %r = mhlo.add %a, %a : tensor<3xi8>
    mhlo.return %r : tensor<3xi8>
  }) : (tuple<tensor<3xi8>, tensor<100xi8>>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}
