// case: DomainCost
// op: mhlo.domain
// expect: flops=0 transcendentals=0 bytes=0
func.func @main(%in: tuple<tensor<123xf32>, tensor<42xf32>>) -> tuple<tensor<123xf32>, tensor<42xf32>> {
  %0 = "mhlo.domain"(%in) {kind = #mhlo<kind sharding>, entry_metadata = "", exit_metadata = ""} : (tuple<tensor<123xf32>, tensor<42xf32>>) -> tuple<tensor<123xf32>, tensor<42xf32>>
  return %0 : tuple<tensor<123xf32>, tensor<42xf32>>
}
