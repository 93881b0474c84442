"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y":(1)2}], replicated={"z"}>}], function_type = (tensor<8x16xf32>) -> tensor<8x16xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<8x16xf32>):
    %0 = "sdy.sharding_constraint"(%arg0) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = "sdy.reshard"(%0) <{sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %2 = "stablehlo.add"(%1, %1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %3 = "sdy.manual_computation"(%2) <{in_shardings= #sdy.sharding_per_value<@mesh, [{}, {"y"}]>, manual_axes = #sdy<manual_axes{"=============================================ÿÿÿÿÿÿÿ2===x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}> ({
    ^bb0(%arg1: tensor<4x16xf32>):
      %7 = "stablehlo.negate"(%arg1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    }) : (tensor<8x16xf32>)-> tensor<8x16xf32>
    %4 = "sdy.all_gather"(%3) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %5 = "sdy.all_to_all"(%4) <{out_sharding = #sdy.sharding<@mesh, [{}, {"%"}]>, params = #sdy<all_to_all_param_list[{"x"}: 0->1]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "sdy.sharding_group"(%4) <{group_id = 3 : i64}> : (tensor<8x16xf32>) -> ()
    %6 = "sdy.propagation_barrier"(%4) <{allowed_direction = 1 : i32}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "func.return"(%6) : (tensor<8x16xf32>) -> ()
  }) : () -> ()
}) : () -> ()
