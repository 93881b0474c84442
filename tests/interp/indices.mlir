// Operations on indices and shapes that the reference evaluator refuses, with values derived by hand.

func.func @torch_index_select() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64}
      : (tensor<2x3xi64>, tensor<2xi32>) -> tensor<2x2xi64>
  check.expect_eq_const %0, dense<[[3, 1], [6, 4]]> : tensor<2x2xi64>
  func.return
}

// -----

// With a batch dimension every row has indices of its own.
func.func @torch_index_select_batch() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 1 : i64}
      : (tensor<2x3xi64>, tensor<2x1xi32>) -> tensor<2x1xi64>
  check.expect_eq_const %0, dense<[[3], [4]]> : tensor<2x1xi64>
  func.return
}

// -----

func.func @real_dynamic_slice() {
  %x = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %start = stablehlo.constant dense<1> : tensor<1xi64>
  %limit = stablehlo.constant dense<8> : tensor<1xi64>
  %stride = stablehlo.constant dense<3> : tensor<1xi64>
  %0 = "stablehlo.real_dynamic_slice"(%x, %start, %limit, %stride)
      : (tensor<8xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
  %1 = stablehlo.reshape %0 : (tensor<?xi64>) -> tensor<3xi64>
  check.expect_eq_const %1, dense<[1, 4, 7]> : tensor<3xi64>
  func.return
}

// -----

// New dimensions come in front.
func.func @broadcast() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0 = stablehlo.broadcast %x, sizes = [3] : (tensor<2xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %0, dense<[[1, 2], [1, 2], [1, 2]]> : tensor<3x2xi64>
  func.return
}

// -----

// The size that was set is the size that is read, and what reductions see.
func.func @set_dimension_size() {
  %x = stablehlo.constant dense<[1, 2, 4, 8]> : tensor<4xi64>
  %size = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.set_dimension_size %x, %size, dim = 0
      : (tensor<4xi64>, tensor<i32>) -> tensor<?xi64, #stablehlo.bounds<4>>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?xi64, #stablehlo.bounds<4>>) -> tensor<i32>
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?xi64, #stablehlo.bounds<4>>, tensor<i64>) -> tensor<i64>
  check.expect_eq_const %1, dense<3> : tensor<i32>
  check.expect_eq_const %2, dense<7> : tensor<i64>
  func.return
}

// -----

// Windows of 2 with stride 2 over 3 1 | 4 5 | 2 6: the largest of each takes the source; equal ones keep the first.
func.func @select_and_scatter() {
  %x = stablehlo.constant dense<[3, 1, 4, 4, 2, 6]> : tensor<6xi64>
  %source = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi64>
  %init = stablehlo.constant dense<1> : tensor<i64>
  %0 = "stablehlo.select_and_scatter"(%x, %source, %init) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %p = stablehlo.compare GE, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}
      : (tensor<6xi64>, tensor<3xi64>, tensor<i64>) -> tensor<6xi64>
  check.expect_eq_const %0, dense<[11, 1, 21, 1, 1, 31]> : tensor<6xi64>
  func.return
}

// -----

// Overlapping windows (size 3, stride 1): the 9 is the largest of both and takes both sources, 0 + 1 + 2.
func.func @select_and_scatter_overlap() {
  %x = stablehlo.constant dense<[1, 9, 2, 3]> : tensor<4xi64>
  %source = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %init = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.select_and_scatter"(%x, %source, %init) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %p = stablehlo.compare GT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {window_dimensions = array<i64: 3>} : (tensor<4xi64>, tensor<2xi64>, tensor<i64>) -> tensor<4xi64>
  check.expect_eq_const %0, dense<[0, 3, 0, 0]> : tensor<4xi64>
  func.return
}

// -----

// Equal keys keep their order: the second tensor says where each came from.
func.func @sort_is_stable() {
  %keys = stablehlo.constant dense<[2, 1, 2, 1, 2]> : tensor<5xi64>
  %places = stablehlo.iota dim = 0 : tensor<5xi64>
  %0:2 = "stablehlo.sort"(%keys, %places) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>, %d: tensor<i64>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi64>, tensor<5xi64>) -> (tensor<5xi64>, tensor<5xi64>)
  check.expect_eq_const %0#0, dense<[1, 1, 2, 2, 2]> : tensor<5xi64>
  check.expect_eq_const %0#1, dense<[1, 3, 0, 2, 4]> : tensor<5xi64>
  func.return
}

// -----

// A body that is not elementwise (it calls a function) gives what an elementwise one does: 1 + 2 + 3 + 4.
func.func private @sum(%a: tensor<i64>, %b: tensor<i64>) -> tensor<i64> {
  %0 = stablehlo.add %a, %b : tensor<i64>
  return %0 : tensor<i64>
}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.reduce"(%x, %zero) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = func.call @sum(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  check.expect_eq_const %0, dense<10> : tensor<i64>
  func.return
}

// -----

// A bitcast keeps the bytes: [[0, 1, 2], [3, 4, 5]] with the first dimension fastest lies as 0 3 1 4 2 5. Layouts list the fastest
// dimension first.
func.func @bitcast() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %0 = mhlo.bitcast %x {result_layout = dense<[1, 0]> : tensor<2xindex>, source_layout = dense<[0, 1]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %0, dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]> : tensor<3x2xf32>
  // 0 1 2 3 4 5 fills the columns
  %1 = mhlo.bitcast %x {result_layout = dense<[0, 1]> : tensor<2xindex>, source_layout = dense<[1, 0]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %1, dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]> : tensor<3x2xf32>
  // 0 3 1 4 2 5 fills columns of two rows, and of three
  %2 = mhlo.bitcast %x {result_layout = dense<[0, 1]> : tensor<2xindex>, source_layout = dense<[0, 1]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  check.expect_eq %2, %x : tensor<2x3xf32>
  %3 = mhlo.bitcast %x {result_layout = dense<[0, 1]> : tensor<2xindex>, source_layout = dense<[0, 1]> : tensor<2xindex>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %3, dense<[[0.0, 4.0], [3.0, 2.0], [1.0, 5.0]]> : tensor<3x2xf32>
  // of three dimensions: the middle one fastest, then the first: memory [c][a][b] is the result's [a][b][c] turned
  %y = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi8>
  %4 = mhlo.bitcast %y {result_layout = dense<[1, 0, 2]> : tensor<3xindex>} : (tensor<8xi8>) -> tensor<2x2x2xi8>
  check.expect_eq_const %4, dense<[[[0, 4], [1, 5]], [[2, 6], [3, 7]]]> : tensor<2x2x2xi8>
  // without layouts: row-major; the bytes of other types: 0x0201 = 513, low byte first
  %5 = mhlo.bitcast %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %5, dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> : tensor<3x2xf32>
  %z = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %6 = mhlo.bitcast %z : (tensor<2xi8>) -> tensor<1xi16>
  check.expect_eq_const %6, dense<513> : tensor<1xi16>
  func.return
}
