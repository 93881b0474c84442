func.func @f(%a: tensor<4xi32>, %b: tensor<2xf32>) {
  %0:2 = "stablehlo.rng_bit_generator"(%a) {rng_algorithm = #stablehlo<other PHILOX>} : (tensor<4xi32>) -> (tensor<4xi32>, tensor<8xi32>)
  %1 = "stablehlo.compare"(%b, %b) {comparison_direction = #stablehlo<other EQ>, compare_type = #stablehlo<other FLOAT>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %2 = "stablehlo.dot"(%b, %b) {precision_config = [#stablehlo<other DEFAULT>, #foo<precision DEFAULT>]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}
