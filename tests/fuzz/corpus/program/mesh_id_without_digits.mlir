sdy.mesh @m = <["x"=2], device_ids=[->, 1]>
sdy.mesh @n = <["x"=->]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x":(->)2}, {}]>}) -> tensor<8x16xf32> {
  return %a : tensor<8x16xf32>
}
