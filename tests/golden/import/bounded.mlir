module @dyn attributes {mhlo.is_dynamic = false} {
  func.func public @main(%arg0: tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>> {
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<i32>
    %1 = stablehlo.add %arg0, %arg0 : tensor<?x3xf32, #stablehlo.bounds<5, ?>>
    %2 = stablehlo.set_dimension_size %1, %0, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>>
    return %2 : tensor<?x3xf32, #stablehlo.bounds<5, ?>>
  }
}
