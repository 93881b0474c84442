func.func @main(%a: tuple<tensor<2xf32>, tuple<tensor<f32>, !stablehlo.token>>) -> tuple<tensor<2xf32>> {
  %0 = stablehlo.get_tuple_element %a[0] : (tuple<tensor<2xf32>, tuple<tensor<f32>, !stablehlo.token>>) -> tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  %2 = stablehlo.tuple %1 : tuple<tensor<2xf32>>
  return %2 : tuple<tensor<2xf32>>
}
