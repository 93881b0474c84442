func.func @f(%a: tensor<2xf32>, %b: tensor<i32>) {
  %0 = "stablehlo.optimization_barrier"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  %1:2 = "stablehlo.optimization_barrier"(%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %2 = "sdy.propagation_barrier"(%a) <{allowed_direction = 1 : i32}> : (tensor<2xf32>) -> tensor<3xf32>
  %3 = "sdy.reshard"(%a) <{sharding = #sdy.sharding<@m, [{}]>}> : (tensor<2xf32>) -> tensor<3xf32>
  %4 = "sdy.sharding_constraint"(%a) <{sharding = #sdy.sharding<@m, [{}]>}> : (tensor<2xf32>) -> tensor<i32>
  %5 = "sdy.data_flow_edge"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  %6 = "sdy.all_gather"(%a) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"x"}]>, out_sharding = #sdy.sharding<@m, [{}]>}> : (tensor<2xf32>) -> tensor<4xf32>
  %7 = "interpreter.probe"(%a) <{probe_id = "p"}> : (tensor<2xf32>) -> tensor<3xf32>
  %8 = "stablehlo.tuple"(%a, %b) : (tensor<2xf32>, tensor<i32>) -> tuple<tensor<2xf32>>
  %9 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<3xf32>):
    "stablehlo.return"(%b) : (tensor<i32>) -> ()
  }, {
  ^bb0(%x: tensor<2xf32>):
    "stablehlo.return"(%x) : (tensor<2xf32>) -> ()
  }) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
