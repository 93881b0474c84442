module @layers {
  func.func @scan(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2x3xf32> {
    %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=0  attributes {is_reverse = true} {
    ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
      %1 = stablehlo.add %input, %carry : tensor<3xf32>
      stablehlo.return %1, %1 : tensor<3xf32>, tensor<3xf32>
    } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
    return %0#0 : tensor<2x3xf32>
  }
  func.func @hlo(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>, %arg2: !mhlo.token) -> tensor<4xf32> {
    %values, %indices = mhlo.topk(%arg0, k = 4) : tensor<8xf32> -> (tensor<4xf32>, tensor<4xi32>)
    %values_0, %indices_1 = mhlo.topk(%arg0, k = 4, largest = false) {t.x} : tensor<8xf32> -> (tensor<4xf32>, tensor<4xi32>)
    %0 = mhlo.mulhi %arg1, %arg1 : tensor<8xi32>
    %1 = mhlo.bitcast %arg0 : (tensor<8xf32>) -> tensor<2x4xf32>
    %2 = mhlo.add_dependency %arg0, %arg2 : (tensor<8xf32>, !mhlo.token) -> tensor<8xf32>
    %3 = mhlo.xla.rng_get_and_update_state {delta = 1 : i64}
    %4 = mhlo.after_all  : !mhlo.token
    %5 = mhlo.composite "t.c" %arg0 {decomposition = @part} : (tensor<8xf32>) -> tensor<8xf32>
    return %values : tensor<4xf32>
  }
  func.func private @part(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
  func.func @composites(%arg0: tensor<8xf32>) {
    %0 = stablehlo.composite "t.c" %arg0 ({
    ^bb0(%arg1: tensor<8xf32>):
      stablehlo.return %arg1 : tensor<8xf32>
    }) {decomposition = @part, version = 1 : i32} : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.composite "t.n"  {decomposition = @nothing} : () -> ()
    return
  }
  func.func private @nothing() {
    return
  }
  func.func @indirect(%arg0: i32) -> i32 {
    %f = constant @twice : (i32) -> i32
    %0 = call_indirect %f(%arg0) {t.x} : (i32) -> i32
    return %0 : i32
  }
  func.func private @twice(i32) -> i32
}
