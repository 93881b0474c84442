func.func @main(%x: tensor<i32>) { %0 = "stablehlo.case"(%x) : (tensor<i32>) -> tensor<i32> %1 = "stablehlo.case"(%x) ({}) : (tensor<i32>) -> tensor<i32> return }
