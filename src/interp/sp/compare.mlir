func.func @main() {
  %a = stablehlo.constant dense<1.5> : tensor<4096x4096xf32>
  %r = stablehlo.compare LT, %a, %a : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xi1>
  func.return
}
