func.func @main(%arg0: tensor<?x1024xf32>, %arg1: tensor<1024x1024xf32>) -> tensor<?x1024xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<?x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x1024xf32>
  return %0 : tensor<?x1024xf32>
}
