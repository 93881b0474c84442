func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %e = stablehlo.constant dense<10> : tensor<i32>
  %0 = stablehlo.while(%i = %c) : tensor<i32> cond {
    %p = stablehlo.compare LT, %i, %e, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %c : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  return %0 : tensor<i32>
}
