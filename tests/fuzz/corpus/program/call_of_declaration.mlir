func.func private @f(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { %0 = call @f(%a) : (tensor<2xf32>) -> tensor<2xf32> return %0 : tensor<2xf32> }
