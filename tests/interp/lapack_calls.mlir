// Custom calls that LAPACKE computes, with values by hand. The layouts say what a kernel sees: [0, 1] is column-major.

// [[4, 2], [2, 5]] = l l^T with l = [[2, 0], [1, 2]]; the other triangle stays as it was. A row-major layout turns the matrix.
func.func @potrf() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_eq_const %l#0, dense<[[2.0, 2.0], [1.0, 2.0]]> : tensor<2x2xf32>
  check.expect_eq_const %l#1, dense<0> : tensor<i32>
  %u:2 = stablehlo.custom_call @cusolver_potrf_ffi(%a) {mhlo.backend_config = {lower = false},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_eq_const %u#0, dense<[[2.0, 1.0], [2.0, 2.0]]> : tensor<2x2xf32>
  %t:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8},
    operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_eq_const %t#0, dense<[[2.0, 1.0], [2.0, 2.0]]> : tensor<2x2xf32>
  // -1 is not positive definite: info is the order of the minor that is not
  %m = stablehlo.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]]> : tensor<2x2x2xf64>
  %n:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%m) {mhlo.backend_config = {uplo = 76 : ui8},
    operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]}
    : (tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xi32>)
  check.expect_eq_const %n#1, dense<[0, 2]> : tensor<2xi32>
  func.return
}

// -----

// Rows 0 and 1 change places: l u = [[1, 0], [0, 1]] [[2, 3, 4], [0, 1, 5]]. LAPACK counts pivots from 1, the TPU from 0.
func.func @getrf() {
  %a = stablehlo.constant dense<[[0.0, 1.0, 5.0], [2.0, 3.0, 4.0]]> : tensor<2x3xf32>
  %0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi32>, tensor<i32>)
  check.expect_eq_const %0#0, dense<[[2.0, 3.0, 4.0], [0.0, 1.0, 5.0]]> : tensor<2x3xf32>
  check.expect_eq_const %0#1, dense<[2, 2]> : tensor<2xi32>
  %1 = stablehlo.custom_call @LuDecomposition(%a) : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>>
  %p = stablehlo.get_tuple_element %1[1] : (tuple<tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
  %q = stablehlo.get_tuple_element %1[2] : (tuple<tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
  check.expect_eq_const %p, dense<[1, 1]> : tensor<2xi32>
  check.expect_eq_const %q, dense<[1, 0]> : tensor<2xi32>
  // a zero matrix: u is singular from its first row on
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<2x2xcomplex<f64>>
  %2:3 = stablehlo.custom_call @hipsolver_getrf_ffi(%z) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xcomplex<f64>>) -> (tensor<2x2xcomplex<f64>>, tensor<2xi32>, tensor<i32>)
  check.expect_eq_const %2#2, dense<1> : tensor<i32>
  func.return
}

// -----

// (3, 4) is reflected to (-5, 0): tau = (3 + 5) / 5, v = (1, 4 / (3 + 5)). q's first column is (-0.6, -0.8), q^T (3, 4) = (-5, 0).
func.func @reflections() {
  %a = stablehlo.constant dense<[[3.0], [4.0]]> : tensor<2x1xf64>
  %0:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x1xf64>) -> (tensor<2x1xf64>, tensor<1xf64>)
  check.expect_almost_eq_const %0#0, dense<[[-5.0], [0.5]]> : tensor<2x1xf64>
  check.expect_almost_eq_const %0#1, dense<1.6> : tensor<1xf64>
  %1 = stablehlo.custom_call @lapack_dorgqr_ffi(%0#0, %0#1) {mhlo.backend_config = {},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}
    : (tensor<2x1xf64>, tensor<1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %1, dense<[[-0.6], [-0.8]]> : tensor<2x1xf64>
  %2 = stablehlo.custom_call @lapack_dormqr_ffi(%0#0, %0#1, %a) {mhlo.backend_config = {left = true, transpose = true},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x1xf64>, tensor<1xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %2, dense<[[-5.0], [0.0]]> : tensor<2x1xf64>
  %3 = stablehlo.custom_call @Qr(%a) : (tensor<2x1xf64>) -> tuple<tensor<2x1xf64>, tensor<1xf64>>
  %4 = stablehlo.get_tuple_element %3[1] : (tuple<tensor<2x1xf64>, tensor<1xf64>>) -> tensor<1xf64>
  check.expect_almost_eq_const %4, dense<1.6> : tensor<1xf64>
  func.return
}

// -----

// [[2, 1], [1, 2]] has eigenvalues 1 and 3; with 9 above the diagonal, which only the upper triangle reads, -7 and 11. The last
// call is of the form before typed calls: its descriptor says 121, upper, and its last result is workspace.
func.func @eigenvalues() {
  %a = stablehlo.constant dense<[[2.0, 9.0], [1.0, 2.0]]> : tensor<2x2xf64>
  %0:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<i32>)
  check.expect_almost_eq_const %0#1, dense<[1.0, 3.0]> : tensor<2xf64>
  %1:4 = stablehlo.custom_call @hipsolver_syevd(%a) {api_version = 2 : i32, backend_config = "\01\00\00\00y\00\00\00\01\00\00\00\02\00\00\00\08\00\00\00",
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>, dense<0> : tensor<1xindex>]}
    : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<i32>, tensor<8xf64>)
  check.expect_almost_eq_const %1#1, dense<[-7.0, 11.0]> : tensor<2xf64>
  %2 = stablehlo.custom_call @Eigh(%a) {backend_config = "1,1,15,0.000010"} : (tensor<2x2xf64>) -> tuple<tensor<2x2xf64>, tensor<2xf64>>
  %3 = stablehlo.get_tuple_element %2[1] : (tuple<tensor<2x2xf64>, tensor<2xf64>>) -> tensor<2xf64>
  check.expect_almost_eq_const %3, dense<[1.0, 3.0]> : tensor<2xf64>
  func.return
}

// -----

// A rotation by a right angle has the eigenvalues i and -i, with the vectors (1, -i) and (1, i) over the root of 2 (up to a
// factor): v_1 = -i v_0 for the first, i v_0 for the second.
func.func @rotation() {
  %a = stablehlo.constant dense<[[0.0, -1.0], [1.0, 0.0]]> : tensor<2x2xf64>
  %0:5 = stablehlo.custom_call @lapack_dgeev_ffi(%a) {mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>, tensor<i32>)
  check.expect_almost_eq_const %0#0, dense<0.0> : tensor<2xf64>
  check.expect_almost_eq_const %0#1, dense<[1.0, -1.0]> : tensor<2xf64>
  check.expect_eq_const %0#2, dense<(0.0, 0.0)> : tensor<2x2xcomplex<f64>>
  %first = stablehlo.slice %0#3 [0:1, 0:2] : (tensor<2x2xcomplex<f64>>) -> tensor<1x2xcomplex<f64>>
  %second = stablehlo.slice %0#3 [1:2, 0:2] : (tensor<2x2xcomplex<f64>>) -> tensor<1x2xcomplex<f64>>
  %factors = stablehlo.constant dense<[[(0.0, -1.0), (0.0, 1.0)]]> : tensor<1x2xcomplex<f64>>
  %expected = stablehlo.multiply %factors, %first : tensor<1x2xcomplex<f64>>
  check.expect_almost_eq %second, %expected : tensor<1x2xcomplex<f64>>
  func.return
}

// -----

// Singular values of [[3, 0, 0], [0, 4, 0]] are 4 and 3. Without vectors; and as GPUs give it, with v instead of its adjoint:
// u s v^T is the matrix.
func.func @singular_values() {
  %a = stablehlo.constant dense<[[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]> : tensor<2x3xf64>
  %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%a) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<3x3xf64>, tensor<i32>)
  check.expect_almost_eq_const %0#1, dense<[4.0, 3.0]> : tensor<2xf64>
  %1:5 = stablehlo.custom_call @cusolver_gesvdj_ffi(%a) {mhlo.backend_config = {compute_uv = true, full_matrices = false}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<3x2xf64>, tensor<i32>)
  %s = stablehlo.broadcast_in_dim %1#1, dims = [1] : (tensor<2xf64>) -> tensor<2x2xf64>
  %us = stablehlo.multiply %1#2, %s : tensor<2x2xf64>
  %usv = stablehlo.dot_general %us, %1#3, contracting_dims = [1] x [1] : (tensor<2x2xf64>, tensor<3x2xf64>) -> tensor<2x3xf64>
  check.expect_almost_eq %usv, %a : tensor<2x3xf64>
  // seen transposed (row-major): u and v change places
  %2:5 = stablehlo.custom_call @cusolver_gesvd_ffi(%a) {mhlo.backend_config = {compute_uv = true, full_matrices = false, transposed = true}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>],
    result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>, tensor<2x2xf64>, tensor<i32>)
  %us2 = stablehlo.multiply %2#3, %s : tensor<2x2xf64>
  %usv2 = stablehlo.dot_general %us2, %2#2, contracting_dims = [1] x [0] : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_almost_eq %usv2, %a : tensor<2x3xf64>
  func.return
}

// -----

// 2 x 2 matrices are of Hessenberg and tridiagonal form already; a triangular one is its own Schur form (up to signs: its
// diagonal is not).
func.func @forms() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [2.0, 3.0]]> : tensor<2x2xf64>
  %h:3 = stablehlo.custom_call @lapack_dgehrd_ffi(%a) {mhlo.backend_config = {high = 2 : i32, low = 1 : i32}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<1xf64>, tensor<i32>)
  check.expect_almost_eq %h#0, %a : tensor<2x2xf64>
  check.expect_eq_const %h#1, dense<0.0> : tensor<1xf64>
  %t:5 = stablehlo.custom_call @lapack_dsytrd_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<1xf64>, tensor<1xf64>, tensor<i32>)
  check.expect_eq_const %t#1, dense<[1.0, 3.0]> : tensor<2xf64>
  check.expect_eq_const %t#2, dense<2.0> : tensor<1xf64>
  %u = stablehlo.constant dense<[[5.0, 1.0], [0.0, 2.0]]> : tensor<2x2xf64>
  %s:6 = stablehlo.custom_call @lapack_dgees_ffi(%u) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>, dense<> : tensor<0xindex>]}
    : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<i32>, tensor<i32>)
  check.expect_almost_eq_const %s#2, dense<[5.0, 2.0]> : tensor<2xf64>
  check.expect_almost_eq_const %s#3, dense<0.0> : tensor<2xf64>
  func.return
}

// -----

// [[2, 1], [1, 2]] (1, 1) = (3, 3); the 9s are not read.
func.func @tridiagonal() {
  %lower = stablehlo.constant dense<[9.0, 1.0]> : tensor<2xf32>
  %diagonal = stablehlo.constant dense<2.0> : tensor<2xf32>
  %upper = stablehlo.constant dense<[1.0, 9.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<3.0> : tensor<2x1xf32>
  %x = stablehlo.custom_call @cusparse_gtsv2_ffi(%lower, %diagonal, %upper, %b) {mhlo.backend_config = {},
    operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_almost_eq_const %x, dense<1.0> : tensor<2x1xf32>
  func.return
}
