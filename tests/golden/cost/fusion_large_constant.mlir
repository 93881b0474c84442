// case: -
// Not in the table: the body of IgnoreUnusedParameterShape as in hlo_cost_analysis_test.cc. A constant of more than one
// element is read: 16 (pointers) + 3 + 3 (constant) + 3 (result).
// op: mhlo.fusion
// expect: flops=6 bytes=25 operand0=19 output=3
func.func @main(%in: tuple<tensor<3xi8>, tensor<100xi8>>) -> tensor<3xi8> {
  %0 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tuple<tensor<3xi8>, tensor<100xi8>>):
    %x = "mhlo.get_tuple_element"(%in_in) <{index = 0 : i32}> : (tuple<tensor<3xi8>, tensor<100xi8>>) -> tensor<3xi8>
    %c = mhlo.constant dense<[0, 1, 2]> : tensor<3xi8>
    %a = mhlo.add %x, %c : tensor<3xi8>
    %r = mhlo.add %a, %c : tensor<3xi8>
    mhlo.return %r : tensor<3xi8>
  }) : (tuple<tensor<3xi8>, tensor<100xi8>>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}
