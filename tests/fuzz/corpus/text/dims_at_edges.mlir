func.func private @f(tensor<9223372036854775807x2xf32>, tensor<0x0x0xf32>, tensor<18446744073709551616xf32>, tensor<-1xf32>, tensor<0x10xf32>, tensor<?x?xf32>)
