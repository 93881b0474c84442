sdy.mesh @mesh = <["a"=0]>
func.func @main(%x: tensor<2x4xi16> {sdy.sharding = #sdy.sharding}) -> tensor<2x4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<2x4xi16> to tensor<2x4xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<1x4xf32>) {
    %2 = stablehlo.add %y, %y : tensor<1x4xf32>
    sdy.return %2 : tensor<1x4xf32>
  } : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
