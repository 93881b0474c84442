// case: Broadcast(fusion)
// op: mhlo.fusion
// expect: bytes=10001 operand0=1 output=10000
func.func @main(%in: tensor<i8>) -> tensor<10000xi8> {
  %0 = "mhlo.fusion"(%in) <{fusion_kind = #mhlo<fusion_kind kLoop>}> ({
  ^bb0(%in_in: tensor<i8>):
    %c = mhlo.constant dense<0> : tensor<i8>
    %a = mhlo.add %in_in, %c : tensor<i8>
    %x = "mhlo.broadcast_in_dim"(%a) <{broadcast_dimensions = dense<> : tensor<0xi64>}> : (tensor<i8>) -> tensor<10000xi8>
    %y = "mhlo.broadcast_in_dim"(%c) <{broadcast_dimensions = dense<> : tensor<0xi64>}> : (tensor<i8>) -> tensor<10000xi8>
    %r = mhlo.add %x, %y : tensor<10000xi8>
    mhlo.return %r : tensor<10000xi8>
  }) : (tensor<i8>) -> tensor<10000xi8>
  return %0 : tensor<10000xi8>
}
