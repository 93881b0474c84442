// case: RevisitModifiedFusion
// op: mhlo.fusion
// expect: flops=12 transcendentals=0 bytes=32 operand0=16 output=16
func.func @main(%in: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tensor<2x2xf32>):
    %add = mhlo.add %in_in, %in_in : tensor<2x2xf32>
    %mul = mhlo.multiply %add, %add : tensor<2x2xf32>
    %neg = mhlo.negate %mul : tensor<2x2xf32>
    mhlo.return %neg : tensor<2x2xf32>
  }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
