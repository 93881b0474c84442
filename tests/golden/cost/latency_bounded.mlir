// case: LatencyBoundedOptimalTime
// options: flops_per_s=1024 bytes_per_s=1024 min_latency_s=10
// op: stablehlo.add
// expect: flops=1 transcendentals=0 bytes=12 seconds=10
func.func @main(%x: tensor<1x1xf32>, %y: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %0 = stablehlo.add %x, %y : tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
