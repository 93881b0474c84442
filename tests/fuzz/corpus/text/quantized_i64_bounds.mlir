func.func @f(%a: tensor<2x!quant.uniform<i64:f32, 0.5>>, %b: tensor<2x!quant.uniform<u64:f32, 0.5>>) { return }
