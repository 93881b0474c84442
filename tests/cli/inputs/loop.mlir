func.func @main(%arg0: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %arg0) : tensor<i32>, tensor<1024xf32>
  cond {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.tanh %x : tensor<1024xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<1024xf32>
  }
  return %0#1 : tensor<1024xf32>
}
