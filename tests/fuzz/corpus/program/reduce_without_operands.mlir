func.func @main(%a: tensor<2xf32>) {
  "stablehlo.reduce"() <{dimensions = array<i64: 0>}> ({}) : () -> ()
  %0 = "stablehlo.reduce"(%a) <{dimensions = array<i64: 0>}> ({}) : (tensor<2xf32>) -> tensor<f32>
  %1 = "stablehlo.reduce"(%a, %a) <{dimensions = array<i64: -1, 7, 7>}> ({ stablehlo.return }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  %2 = "stablehlo.sort"() ({}) : () -> tensor<f32>
  "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> ()
  return
}
