func.func @main() {
  %a = stablehlo.constant dense<1.5> : tensor<4096x4096xf32>
  %r = stablehlo.bitcast_convert %a : (tensor<4096x4096xf32>) -> tensor<4096x4096xi32>
  func.return
}
