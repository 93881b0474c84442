%0:2 = chlo.scan(%a) inits (%b) dimension=0  attributes {is_reverse = true, operandSegmentSizes = array<i32: 9, -8>} {
^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
  stablehlo.return %x, %y : tensor<3xf32>, tensor<3xf32>
} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
"chlo.scan"() <{dimension = 0 : i64, operandSegmentSizes = array<i32: -1, 1>, resultSegmentSizes = array<i32: 2147483647, 1>}> ({}) : () -> ()
