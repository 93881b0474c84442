// Custom calls with a known meaning, with values by hand. What LAPACK computes is in lapack_calls.mlir.

// 64-bit numbers in halves: 0x00000002_00000001 and -1.
func.func @x64() {
  %x = stablehlo.constant dense<[8589934593, 18446744073709551615]> : tensor<2xui64>
  %low = stablehlo.custom_call @X64SplitLow(%x) : (tensor<2xui64>) -> tensor<2xui32>
  %high = stablehlo.custom_call @X64SplitHigh(%x) : (tensor<2xui64>) -> tensor<2xui32>
  check.expect_eq_const %low, dense<[1, 4294967295]> : tensor<2xui32>
  check.expect_eq_const %high, dense<[2, 4294967295]> : tensor<2xui32>
  %y = stablehlo.custom_call @X64Combine(%low, %high) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui64>
  check.expect_eq %y, %x : tensor<2xui64>
  func.return
}

// -----

// Rows 0 and 2 change places, then 1 and 2; a pivot beyond the rows exchanges nothing.
func.func @pivots() {
  %p = stablehlo.constant dense<[[2, 2], [9, 1]]> : tensor<2x2xi32>
  %0 = stablehlo.custom_call @cu_lu_pivots_to_permutation(%p) : (tensor<2x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[2, 0, 1], [0, 1, 2]]> : tensor<2x3xi32>
  func.return
}

// -----

// NaN is the largest; equal numbers keep their order; the smallest in ascending order.
func.func @top_k() {
  %x = stablehlo.constant dense<[[1.0, 0x7FC00000, 5.0, 5.0], [-1.0, -2.0, 0xFF800000, -3.0]]> : tensor<2x4xf32>
  %v, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64}
    : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %v, dense<[[0x7FC00000, 5.0, 5.0], [-1.0, -2.0, -3.0]]> : tensor<2x3xf32>
  check.expect_eq_const %i, dense<[[1, 2, 3], [0, 1, 3]]> : tensor<2x3xi32>
  %s, %j = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = false}}
    : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %s, dense<[[1.0, 5.0], [0xFF800000, -3.0]]> : tensor<2x2xf32>
  check.expect_eq_const %j, dense<[[0, 2], [2, 3]]> : tensor<2x2xi32>
  %u = stablehlo.constant dense<[3, 255, 0]> : tensor<3xui8>
  %w, %k = stablehlo.custom_call @TopK(%u) : (tensor<3xui8>) -> (tensor<2xui8>, tensor<2xi32>)
  check.expect_eq_const %w, dense<[255, 3]> : tensor<2xui8>
  check.expect_eq_const %k, dense<[1, 0]> : tensor<2xi32>
  func.return
}

// -----

// The three largest of each column with their rows; a result longer than the dimension is filled with the initial values.
module @approximate {
  func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[1.0, 8.0], [4.0, 2.0], [3.0, 5.0]]> : tensor<3x2xf32>
    %rows = stablehlo.iota dim = 0 : tensor<3x2xi32>
    %least = stablehlo.constant dense<-9.0> : tensor<f32>
    %none = stablehlo.constant dense<-1> : tensor<i32>
    %v, %i = stablehlo.custom_call @ApproxTopK(%x, %rows, %least, %none) {called_computations = [@greater],
      mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.9 : f32, reduction_dim = 0 : i64, top_k = 2 : i64}}
      : (tensor<3x2xf32>, tensor<3x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    check.expect_eq_const %v, dense<[[4.0, 8.0], [3.0, 5.0]]> : tensor<2x2xf32>
    check.expect_eq_const %i, dense<[[1, 0], [2, 2]]> : tensor<2x2xi32>
    %w, %j = stablehlo.custom_call @PartialReduce(%x, %rows, %least, %none) {called_computations = [@greater],
      mhlo.backend_config = {log2_reduction = 1 : i64, recall_target = 0.9 : f32, reduction_dim = 0 : i64, top_k = 2 : i64}}
      : (tensor<3x2xf32>, tensor<3x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    check.expect_eq_const %w, dense<[[4.0, 8.0], [3.0, 5.0], [1.0, 2.0], [-9.0, -9.0]]> : tensor<4x2xf32>
    check.expect_eq_const %j, dense<[[1, 0], [2, 2], [0, 1], [-1, -1]]> : tensor<4x2xi32>
    return
  }
}

// -----

// Windows of 2 with stride 2 over 1 2 3, padded by one in front: 0 + 1, 2 + 3. Window dilation 2 instead: 0 + 2, 1 + 3.
module @windows {
  func.func private @add(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.add %a, %b : tensor<i32>
    return %0 : tensor<i32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %pad = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
    %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %two, %two, %one, %one, %pad)
      {called_computations = [@add]} : (tensor<3xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<2xi32>
    check.expect_eq_const %0, dense<[1, 5]> : tensor<2xi32>
    %1 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %two, %one, %one, %two, %pad)
      {called_computations = [@add]} : (tensor<3xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<2xi32>
    check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi32>
    return
  }
}

// -----

// [[2, 0], [1, 4]] [1, 2] = [2, 9], and [1, 2] [[2, 0], [1, 4]] = [4, 8]. Seen transposed (row-major layouts) the other side and
// triangle are meant, so that the same numbers come out.
func.func @trsm() {
  %a = stablehlo.constant dense<[[2.0, 7.0], [1.0, 4.0]]> : tensor<2x2xf64>
  %b = stablehlo.constant dense<[[2.0], [9.0]]> : tensor<2x1xf64>
  %x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}
    : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_eq_const %x, dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %turned = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8},
    operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
    : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_eq_const %turned, dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %c = stablehlo.constant dense<[[4.0, 8.0]]> : tensor<1x2xf64>
  %y = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %c) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}
    : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<1x2xf64>
  check.expect_eq_const %y, dense<[[1.0, 2.0]]> : tensor<1x2xf64>
  func.return
}

// -----

// erf(0) = 0, erf(1) = 0.8427007929497149; casts, barriers and annotations give what they get.
func.func @plain() {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf64>) -> tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 0.8427007929497149]> : tensor<2xf64>
  %1 = stablehlo.custom_call @LayoutConstraint(%x) : (tensor<2xf64>) -> tensor<2xf64>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<2xf64> to tensor<2xf64>
  check.expect_eq %2, %x : tensor<2xf64>
  func.return
}
