module {
  sdy.mesh @mesh = <[==2, "y"=4]>
  sdy.mesh @ordered = <["x"=9223372036854775808], device_ids=[1, 1e400]>
  func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y":(1)2}], replicated={"z"}>}) -> tensor<8x16xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
    %1 = sdy.reshard %0 <@mesh, [{}, {"y"}]> : tensor<8x16xf32>
    %2 = stablehlo.add %1, %1  : tensor<8x16xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x16xf32>) {
      %7 = stablehlo.negate %arg1 : tensor<4x16xf32>
      sdy.return %7 : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %4 = sdy.all_gather [{"x"}, {}] %3 out_sharding=<@mesh, [{}, {}]> : tensor<8x16xf32>
    %5 = sdy.all_to_all [{"x"}: 0->1] %4 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x16xf32>
    sdy.sharding_group %4 group_id=3 : tensor<8x16xf32>
    %6 = sdy.propagation_barrier %4 allowed_direction=FORWARD : tensor<8x16xf32>
    return %6 : tensor<8x16xf32>
  }
}
