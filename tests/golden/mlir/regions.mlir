module {
  func.func @reduce(%arg0: tensor<3x4xi32>, %arg1: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>
    %1:2 = stablehlo.reduce(%arg0 init: %arg1), (%arg0 init: %arg1) across dimensions = [1] : (tensor<3x4xi32>, tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> (tensor<3xi32>, tensor<3xi32>)
     reducer(%arg2: tensor<i32>, %arg4: tensor<i32>) (%arg3: tensor<i32>, %arg5: tensor<i32>)  {
      %3 = stablehlo.add %arg2, %arg4 : tensor<i32>
      %4 = stablehlo.maximum %arg3, %arg5 : tensor<i32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<i32>
    }
    %2 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [1] : (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>
     reducer(%arg2: tensor<i32>, %arg3: tensor<i32>)  {
      %3 = stablehlo.add %arg3, %arg2 : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }
    return %1#0 : tensor<3xi32>
  }
  func.func @loop(%arg0: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<10> : tensor<i64>
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %c) : tensor<i64>, tensor<i64>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %iterArg_0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i64>
      %1 = stablehlo.add %iterArg, %c_1 : tensor<i64>
      stablehlo.return %1, %iterArg_0 : tensor<i64>, tensor<i64>
    }
    return %0#0 : tensor<i64>
  }
  func.func @branch(%arg0: tensor<i1>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.if"(%arg0) ({
      stablehlo.return %arg1 : tensor<f32>
    }, {
      %2 = func.call @branch(%arg0, %arg1) : (tensor<i1>, tensor<f32>) -> tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %1 = "stablehlo.map"(%0) <{dimensions = array<i64>}> ({
    ^bb0(%arg2: tensor<f32>):
      %2 = stablehlo.negate %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
