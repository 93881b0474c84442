func.func @main() -> tensor<i32> {
  %limit = stablehlo.constant dense<-2147483648> : tensor<i32>
  %one = stablehlo.constant dense<-1> : tensor<i32>
  %0 = stablehlo.while(%i = %one) : tensor<i32> cond {
    %p = stablehlo.compare GT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.subtract %i, %one : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  return %0 : tensor<i32>
}
