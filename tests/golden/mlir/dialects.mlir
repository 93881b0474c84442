module {
  func.func @arithmetic(%arg0: tensor<2xf32>, %arg1: tensor<2xi32>, %arg2: index, %arg3: tensor<?xf32>) {
    %cst = arith.constant dense<1.000000e+00> : tensor<2xf32>
    %0 = arith.index_cast %arg2 : index to i64
    %1 = arith.extsi %arg1 : tensor<2xi32> to tensor<2xi64>
    %2 = arith.sitofp %arg1 : tensor<2xi32> to tensor<2xf32>
    %cast = tensor.cast %arg3 : tensor<?xf32> to tensor<2xf32>
    %cast_0 = tensor.cast %cast : tensor<2xf32> to tensor<?xf32>
    %3 = shape.shape_of %arg3 : tensor<?xf32> -> tensor<1xindex>
    %4 = shape.num_elements %3 : tensor<1xindex> -> index
    %5 = shape.broadcast %3, %3 : tensor<1xindex>, tensor<1xindex> -> tensor<1xindex>
    %6 = arith.andi %arg1, %arg1 : tensor<2xi32>
    return
  }
}
