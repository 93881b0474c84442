// A function that is called ends without a return, so the call has no values.
func.func @main(%a: tensor<i64>, %x: tensor<3xi32>) -> (tensor<i64>, tensor<3xi32>) {
  %w:2 = "stablehlo.while"(%a, %x) ({
  ^bb0(%i: tensor<i64>, %y: tensor<3xi32>):
    %n = "stablehlo.constant"() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i64>, %y: tensor<3xi32>):
    %r:2 = func.call @f(%i, %y) : (tensor<i64>, tensor<3xi32>) -> (tensor<i64>, tensor<3xi32>)
    "stablehlo.return"(%r#0, %r#1) : (tensor<i64>, tensor<3xi32>) -> ()
  }) : (tensor<i64>, tensor<3xi32>) -> (tensor<i64>, tensor<3xi32>)
  return %w#0, %w#1 : tensor<i64>, tensor<3xi32>
}
func.func private @f(%i: tensor<i64>, %y: tensor<3xi32>) -> (tensor<i64>, tensor<3xi32>) {
  %0 = stablehlo.add %i, %i : tensor<i64>
}
