// case: NoLayout
// op: mhlo.fusion
// expect: flops=120 transcendentals=0 bytes=972 operand0=480 operand1=12 output=480
func.func @main(%c1: tensor<2x3x4x5xf32>, %c2: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = "mhlo.fusion"(%c1, %c2) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%c1_in: tensor<2x3x4x5xf32>, %c2_in: tensor<3xf32>):
    %wide = "mhlo.broadcast_in_dim"(%c2_in) <{broadcast_dimensions = dense<1> : tensor<1xi64>}> : (tensor<3xf32>) -> tensor<2x3x4x5xf32>
    %add = mhlo.add %c1_in, %wide : tensor<2x3x4x5xf32>
    mhlo.return %add : tensor<2x3x4x5xf32>
  }) : (tensor<2x3x4x5xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  return %0 : tensor<2x3x4x5xf32>
}
