func.func private @f(tensor<*xf32, "x">)
