// case: LoopFusion
// Body: add = c1 + c2, clamp(c2, add, add), exp(add), mul = exp * c3, sub = mul - clamp.
// op: mhlo.fusion
// expect: flops=16 transcendentals=4 bytes=64 operand0=16 operand1=16 operand2=16 output=16
func.func @main(%c1: tensor<2x2xf32>, %c2: tensor<2x2xf32>, %c3: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "mhlo.fusion"(%c1, %c2, %c3) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%c1_in: tensor<2x2xf32>, %c2_in: tensor<2x2xf32>, %c3_in: tensor<2x2xf32>):
    %add = mhlo.add %c1_in, %c2_in : tensor<2x2xf32>
    %clamp = mhlo.clamp %c2_in, %add, %add : tensor<2x2xf32>
    %exp = mhlo.exponential %add : tensor<2x2xf32>
    %mul = mhlo.multiply %exp, %c3_in : tensor<2x2xf32>
    %sub = mhlo.subtract %mul, %clamp : tensor<2x2xf32>
    mhlo.return %sub : tensor<2x2xf32>
  }) : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
