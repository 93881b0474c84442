func.func @f(%a: tensor<2xf32>, %p: tensor<i1>) {
  %0 = stablehlo.reduce(%a init: ) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.slice %a [0:, :1] : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.compare , %a, %a
  %3 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0, 0, q]x[]->[], window = {stride = [x]} {}: ()
  %4 = stablehlo.while(%i = %a) : cond { } do { }
  %5 = stablehlo.custom_call @(%a) {} : 
  %6 = stablehlo.dot_general %a, %a, contracting_dims = [0] x : (tensor<2xf32>)
  %7 = stablehlo.get_tuple_element %a[-1] : (tensor<2xf32>) -> i1
  %8 = stablehlo.composite "x" {decomposition = @} : () -> ()
  return
}
