// Names of meshes stand in quotes when they are no identifiers; what follows a name may hold what parts names.
sdy.mesh @"a mesh" = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@"a mesh", [{"x"}]>, x.y = "::@"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
