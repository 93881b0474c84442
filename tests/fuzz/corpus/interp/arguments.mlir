func.func @main(%x: tensor<2x3xf32>, %y: tensor<?x3xi4>, %z: tensor<2xcomplex<f32>>, %p: tensor<i1>)
    -> (tensor<2x3xf32>, tensor<?x3xi8>, tensor<2xcomplex<f32>>) {
  %0 = stablehlo.exponential %x : tensor<2x3xf32>
  %1 = stablehlo.convert %y : (tensor<?x3xi4>) -> tensor<?x3xi8>
  %2 = stablehlo.add %1, %1 : tensor<?x3xi8>
  %3 = "stablehlo.if"(%p) ({
    %4 = stablehlo.multiply %z, %z : tensor<2xcomplex<f32>>
    stablehlo.return %4 : tensor<2xcomplex<f32>>
  }, {
    stablehlo.return %z : tensor<2xcomplex<f32>>
  }) : (tensor<i1>) -> tensor<2xcomplex<f32>>
  return %0, %2, %3 : tensor<2x3xf32>, tensor<?x3xi8>, tensor<2xcomplex<f32>>
}
