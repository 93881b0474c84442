// case: LoopFusionTupleOutput
// The body of fusion_loop; the root is a tuple of sub, sub, mul and a pair that is a parameter of the fusion.
// The pair is read as two leaves of 16 bytes each (its pointers, once per leaf), written as two arrays.
// op: mhlo.fusion
// expect: flops=16 transcendentals=4 bytes=160 operand0=32 operand1=16 operand2=16 operand3=16 output=80
func.func @main(%pair: tuple<tensor<2x2xf32>, tensor<2x2xf32>>, %c1: tensor<2x2xf32>, %c2: tensor<2x2xf32>, %c3: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tuple<tensor<2x2xf32>, tensor<2x2xf32>>) {
  %0:4 = "mhlo.fusion"(%pair, %c1, %c2, %c3) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%pair_in: tuple<tensor<2x2xf32>, tensor<2x2xf32>>, %c1_in: tensor<2x2xf32>, %c2_in: tensor<2x2xf32>, %c3_in: tensor<2x2xf32>):
    %add = mhlo.add %c1_in, %c2_in : tensor<2x2xf32>
    %clamp = mhlo.clamp %c2_in, %add, %add : tensor<2x2xf32>
    %exp = mhlo.exponential %add : tensor<2x2xf32>
    %mul = mhlo.multiply %exp, %c3_in : tensor<2x2xf32>
    %sub = mhlo.subtract %mul, %clamp : tensor<2x2xf32>
    mhlo.return %sub, %sub, %mul, %pair_in : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tuple<tensor<2x2xf32>, tensor<2x2xf32>>
  }) : (tuple<tensor<2x2xf32>, tensor<2x2xf32>>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tuple<tensor<2x2xf32>, tensor<2x2xf32>>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tuple<tensor<2x2xf32>, tensor<2x2xf32>>
}
