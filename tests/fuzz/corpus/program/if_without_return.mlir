func.func @main(%p: tensor<i1>) -> tensor<2xi64> {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.constant dense<0> : tensor<2xi64>
  }, {
    %2 = stablehlo.constant dense<1> : tensor<2xi64>
    stablehlo.return %2, %2 : tensor<2xi64>, tensor<2xi64>
  }) : (tensor<i1>) -> (tensor<2xi64>, tensor<2xi64>)
  return %0#0 : tensor<2xi64>
}
