func.func @main() {
  %a = stablehlo.constant dense<1.5> : tensor<4096x4096xf32>
  %r = stablehlo.uniform_quantize %a : (tensor<4096x4096xf32>) -> tensor<4096x4096x!quant.uniform<i8:f32, 0.5>>
  func.return
}
