func.func private @f(tensor<2xmemref<2xf32>>)
