func.func private @f(tensor<2xf32, 1, 2>)
