func.func private @f(tensor<!quant.uniform<u4:f32, 1.0>>, tensor<!quant.uniform<!a = i8:f32, 0x415C8C4000000000:3>>, tensor<!quant.uniform<i8:f32, 0x7FF8000000000000>>, tensor<!quant.uniform<i8:f32, 1.0e400>>)
func.func private @f(tensor<!quant.uniform<u4:f32, 65535>>, tensor<!quant.uniform>, tensor<!quant.uniform>, tensor<!quant.uniform<i8:f32, 1.0e400>>)
