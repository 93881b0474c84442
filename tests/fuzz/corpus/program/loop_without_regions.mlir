func.func @main(%x: tensor<i32>) { %0 = "stablehlo.while"(%x) ({}, {}) : (tensor<i32>) -> tensor<i32> %1 = "stablehlo.while"(%x) : (tensor<i32>) -> tensor<i32> return }
