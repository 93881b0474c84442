"t.x"() {a = #stablehlo.mesh<axes=[<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 3>], device_ids=dense<[1, 0]> : tensor<2xi64>>, b = #stablehlo.mesh<axes = 1>, c = #stablehlo.mesh<device_ids = 2>} : () -> ()
"sdy.propagation_barrier"(%0) <{allowed_direction = 4 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
%0 = "t.y"() : () -> tensor<2xf32>
