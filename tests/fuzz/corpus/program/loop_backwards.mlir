func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<-2147483648> : tensor<i32>
  %e = stablehlo.constant dense<2147483647> : tensor<i32>
  %0 = stablehlo.while(%i = %e) : tensor<i32> cond {
    %p = stablehlo.compare GT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.subtract %i, %e : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  return %0 : tensor<i32>
}
