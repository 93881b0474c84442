func.func @main(%a: tensor<2xf32>) { call @nowhere(%a) : (tensor<2xf32>) -> () call @main(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32> return }
