/* Work of single operations against counts made by hand from the operation's meaning. Each case is the body of a function;
 * the operation under test is the last one before the return. */
#include "lower_fixture.h"

struct count_case {
  const char *label; /* of the task to look at */
  const char *program; /* arguments, types and body of @main */
  uint64_t matrix, vector, function, integer;
  uint64_t read_bytes, write_bytes;
};

#define ANY_BYTES UINT64_MAX

static const struct count_case cases[] = {
    /* elementwise: one operation per element, three tensors of 6 f32 */
    {"add",
     "(%a: tensor<2x3xf32>) -> tensor<2x3xf32> { %r = stablehlo.add %a, %a : tensor<2x3xf32>\n return %r : "
     "tensor<2x3xf32> }",
     0, 6, 0, 0, 24, 24},
    {"add",
     "(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> { %r = stablehlo.add %a, %b : tensor<6xi32>\n return %r "
     ": tensor<6xi32> }",
     0, 0, 0, 6, 48, 24},
    {"tanh",
     "(%a: tensor<8xbf16>) -> tensor<8xbf16> { %r = stablehlo.tanh %a : tensor<8xbf16>\n return %r : tensor<8xbf16> }",
     0, 0, 8, 0, 16, 16},
    {"divide",
     "(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> { %r = stablehlo.divide %a, %b : tensor<8xf32>\n return "
     "%r : tensor<8xf32> }",
     0, 0, 8, 0, 64, 32},
    /* (a+bi)(c+di): 4 multiplications, 2 additions */
    {"multiply",
     "(%a: tensor<5xcomplex<f32>>, %b: tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>> { %r = stablehlo.multiply %a, "
     "%b : tensor<5xcomplex<f32>>\n return %r : tensor<5xcomplex<f32>> }",
     0, 30, 0, 0, 80, 40},
    /* the compared type counts, not the i1 result */
    {"compare",
     "(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xi1> { %r = stablehlo.compare LT, %a, %b : (tensor<4xf32>, "
     "tensor<4xf32>) -> tensor<4xi1>\n return %r : tensor<4xi1> }",
     0, 4, 0, 0, 32, 4},
    {"clamp",
     "(%a: tensor<f32>, %b: tensor<4xf32>, %c: tensor<f32>) -> tensor<4xf32> { %r = stablehlo.clamp %a, %b, %c : "
     "(tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>\n return %r : tensor<4xf32> }",
     0, 8, 0, 0, 24, 16},
    {"convert",
     "(%a: tensor<4xi32>) -> tensor<4xbf16> { %r = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xbf16>\n return "
     "%r : tensor<4xbf16> }",
     0, 4, 0, 0, 16, 8},
    /* contractions: 2 x 10 x 30 x 5; with batch 2 x 5 x 10 x 5 x 30 (XLA's test cases) */
    {"dot",
     "(%a: tensor<10x5xf32>, %b: tensor<5x30xf32>) -> tensor<10x30xf32> { %r = stablehlo.dot %a, %b : "
     "(tensor<10x5xf32>, tensor<5x30xf32>) -> tensor<10x30xf32>\n return %r : tensor<10x30xf32> }",
     3000, 0, 0, 0, 800, 1200},
    {"dot_general",
     "(%a: tensor<5x10x5xf32>, %b: tensor<5x5x30xf32>) -> tensor<5x10x30xf32> { %r = stablehlo.dot_general %a, %b, "
     "batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x10x5xf32>, tensor<5x5x30xf32>) -> "
     "tensor<5x10x30xf32>\n return %r : tensor<5x10x30xf32> }",
     15000, 0, 0, 0, 4000, 6000},
    {"dot_general",
     "(%a: tensor<10x5x5xf32>, %b: tensor<5x5x30xf32>) -> tensor<10x30xf32> { %r = stablehlo.dot_general %a, %b, "
     "contracting_dims = [1, 2] x [0, 1] : (tensor<10x5x5xf32>, tensor<5x5x30xf32>) -> tensor<10x30xf32>\n return %r : "
     "tensor<10x30xf32> }",
     15000, 0, 0, 0, 4000, 1200},
    {"einsum",
     "(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> { %r = \"stablehlo.einsum\"(%a, %b) "
     "{einsum_config = \"ab,bc->ac\"} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>\n return %r : "
     "tensor<4x16xf32> }",
     2 * 4 * 8 * 16, 0, 0, 0, 640, 256},
    /* 8x18 outputs of a 3x3 kernel on 10x20, one feature: 2 x 144 x 9 */
    {"convolution",
     "(%a: tensor<1x10x20x1xf32>, %b: tensor<3x3x1x1xf32>) -> tensor<1x8x18x1xf32> { %r = stablehlo.convolution(%a, "
     "%b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, "
     "feature_group_count = 1 : i64} : (tensor<1x10x20x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x8x18x1xf32>\n return "
     "%r : tensor<1x8x18x1xf32> }",
     2592, 0, 0, 0, 836, 576},
    /* 3x3 on 3x3, padded to the same size: taps on data only, 2 x 7 x 7 */
    {"convolution",
     "(%a: tensor<1x3x3x1xf32>, %b: tensor<3x3x1x1xf32>) -> tensor<1x3x3x1xf32> { %r = stablehlo.convolution(%a, %b) "
     "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 "
     ": i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x3x3x1xf32>\n "
     "return %r : tensor<1x3x3x1xf32> }",
     98, 0, 0, 0, 72, 36},
    /* depthwise, 120 groups: XLA's case, 2 x 6 x 6 x 6 x 6 x 120 = 311040 */
    {"convolution",
     "(%a: tensor<1x11x11x120xf32>, %b: tensor<6x6x1x120xf32>) -> tensor<1x6x6x120xf32> { %r = "
     "stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
     "{batch_group_count = 1 : i64, feature_group_count = 120 : i64} : (tensor<1x11x11x120xf32>, "
     "tensor<6x6x1x120xf32>) -> tensor<1x6x6x120xf32>\n return %r : tensor<1x6x6x120xf32> }",
     2 * 6 * 6 * 6 * 6 * 120, 0, 0, 0, ANY_BYTES, ANY_BYTES},
    /* batch groups: each output feature sees its own quarter of the batch: 2 x (8/4) x 12 outputs x 3 inputs x 5 x 5 taps */
    {"convolution",
     "(%a: tensor<8x5x5x3xf32>, %b: tensor<5x5x3x12xf32>) -> tensor<2x1x1x12xf32> { %r = stablehlo.convolution(%a, %b) "
     "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 4 : i64, "
     "feature_group_count = 1 : i64} : (tensor<8x5x5x3xf32>, tensor<5x5x3x12xf32>) -> tensor<2x1x1x12xf32>\n return %r "
     ": tensor<2x1x1x12xf32> }",
     2 * 2 * 12 * 3 * 25, 0, 0, 0, ANY_BYTES, ANY_BYTES},
    /* 200 values into 10: 190 additions */
    {"reduce",
     "(%a: tensor<10x20xf32>, %z: tensor<f32>) -> tensor<10xf32> { %r = stablehlo.reduce(%a init: %z) applies "
     "stablehlo.add across dimensions = [1] : (tensor<10x20xf32>, tensor<f32>) -> tensor<10xf32>\n return %r : "
     "tensor<10xf32> }",
     0, 190, 0, 0, 804, 40},
    /* windows 2x3 at stride 1 on 4x5 give 3x3 outputs of 5 additions */
    {"reduce_window",
     "(%a: tensor<4x5xf32>, %z: tensor<f32>) -> tensor<3x3xf32> { %r = \"stablehlo.reduce_window\"(%a, %z) "
     "<{window_dimensions = array<i64: 2, 3>}> ({^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : "
     "tensor<f32>\n stablehlo.return %s : tensor<f32>}) : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x3xf32>\n return "
     "%r : tensor<3x3xf32> }",
     0, 45, 0, 0, 84, 36},
    /* a prefix sum over rows of 200, the window as long as the row and padded on one side: 2 x 199 additions per row */
    {"reduce_window",
     "(%a: tensor<3x200xf32>, %z: tensor<f32>) -> tensor<3x200xf32> { %r = \"stablehlo.reduce_window\"(%a, %z) "
     "<{window_dimensions = array<i64: 1, 200>, padding = dense<[[0, 0], [199, 0]]> : tensor<2x2xi64>}> ({^bb0(%x: "
     "tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32>}) : "
     "(tensor<3x200xf32>, tensor<f32>) -> tensor<3x200xf32>\n return %r : tensor<3x200xf32> }",
     0, 3 * 2 * 199, 0, 0, 2404, 2400},
    /* padded on both sides it is none: windows of 2, 3, 4 and 3 elements */
    {"reduce_window",
     "(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> { %r = \"stablehlo.reduce_window\"(%a, %z) "
     "<{window_dimensions = array<i64: 4>, padding = dense<[[2, 1]]> : tensor<1x2xi64>}> ({^bb0(%x: tensor<f32>, %y: "
     "tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32>}) : (tensor<4xf32>, "
     "tensor<f32>) -> tensor<4xf32>\n return %r : tensor<4xf32> }",
     0, 2 + 3 + 4 + 3 - 4, 0, 0, 20, 16},
    /* 4x5 in windows of 2x3 at stride 2x2 ... 2x2 windows of 6: 4 x 5 comparisons, 4 additions */
    {"select_and_scatter",
     "(%a: tensor<4x5xf32>, %s: tensor<2x2xf32>, %z: tensor<f32>) -> tensor<4x5xf32> { %r = "
     "\"stablehlo.select_and_scatter\"(%a, %s, %z) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: "
     "2, 2>}> ({^bb0(%x: tensor<f32>, %y: tensor<f32>): %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) "
     "-> tensor<i1>\n stablehlo.return %c : tensor<i1>}, {^bb0(%x: tensor<f32>, %y: tensor<f32>): %c = stablehlo.add "
     "%x, %y : tensor<f32>\n stablehlo.return %c : tensor<f32>}) : (tensor<4x5xf32>, tensor<2x2xf32>, tensor<f32>) -> "
     "tensor<4x5xf32>\n return %r : tensor<4x5xf32> }",
     0, 4 * 5 + 4, 0, 0, 80 + 16 + 4, 80},
    /* body of an addition and an exponential on 10 elements */
    {"map",
     "(%a: tensor<10xf32>) -> tensor<10xf32> { %r = \"stablehlo.map\"(%a) <{dimensions = array<i64: 0>}> ({^bb0(%x: "
     "tensor<f32>): %s = stablehlo.add %x, %x : tensor<f32>\n %e = stablehlo.exponential %s : tensor<f32>\n "
     "stablehlo.return %e : tensor<f32>}) : (tensor<10xf32>) -> tensor<10xf32>\n return %r : tensor<10xf32> }",
     0, 10, 10, 0, 40, 40},
    /* 3 rows of 16: 16 x 4 comparisons each */
    {"sort",
     "(%a: tensor<3x16xf32>) -> tensor<3x16xf32> { %r = \"stablehlo.sort\"(%a) <{dimension = 1 : i64}> ({^bb0(%x: "
     "tensor<f32>, %y: tensor<f32>): %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n "
     "stablehlo.return %c : tensor<i1>}) : (tensor<3x16xf32>) -> tensor<3x16xf32>\n return %r : tensor<3x16xf32> }",
     0, 3 * 16 * 4, 0, 0, 192, 192},
    {"top_k",
     "(%a: tensor<3x16xf32>) -> tensor<3x8xf32> { %v, %i = chlo.top_k(%a, k = 8) : tensor<3x16xf32> -> "
     "(tensor<3x8xf32>, tensor<3x8xi32>)\n return %v : tensor<3x8xf32> }",
     0, 3 * 16 * 3, 0, 0, 192, 192},
    /* 5 N log2 N */
    {"fft",
     "(%a: tensor<2x16xcomplex<f32>>) -> tensor<2x16xcomplex<f32>> { %r = stablehlo.fft %a, type = FFT, length = [16] "
     ": (tensor<2x16xcomplex<f32>>) -> tensor<2x16xcomplex<f32>>\n return %r : tensor<2x16xcomplex<f32>> }",
     0, 2 * 5 * 16 * 4, 0, 0, 256, 256},
    {"fft",
     "(%a: tensor<2x16xf32>) -> tensor<2x9xcomplex<f32>> { %r = stablehlo.fft %a, type = RFFT, length = [16] : "
     "(tensor<2x16xf32>) -> tensor<2x9xcomplex<f32>>\n return %r : tensor<2x9xcomplex<f32>> }",
     0, 5 * 16 * 4, 0, 0, 128, 144},
    {"cholesky",
     "(%a: tensor<2x6x6xf32>) -> tensor<2x6x6xf32> { %r = stablehlo.cholesky %a, lower = true : tensor<2x6x6xf32>\n "
     "return %r : tensor<2x6x6xf32> }",
     0, 2 * 72, 0, 0, 288, 288},
    {"triangular_solve",
     "(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> { %r = \"stablehlo.triangular_solve\"(%a, %b) "
     "<{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : "
     "(tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>\n return %r : tensor<4x3xf32> }",
     0, 4 * 4 * 3, 0, 0, 112, 48},
    /* movement */
    {"transpose",
     "(%a: tensor<4x8xf32>) -> tensor<8x4xf32> { %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x8xf32>) -> "
     "tensor<8x4xf32>\n return %r : tensor<8x4xf32> }",
     0, 0, 0, 0, 128, 128},
    {"transpose",
     "(%a: tensor<4x1x8xf32>) -> tensor<1x4x8xf32> { %r = stablehlo.transpose %a, dims = [1, 0, 2] : "
     "(tensor<4x1x8xf32>) -> tensor<1x4x8xf32>\n return %r : tensor<1x4x8xf32> }",
     0, 0, 0, 0, 0, 0}, /* only a unit dimension moves */
    {"reshape",
     "(%a: tensor<4x8xf32>) -> tensor<32xf32> { %r = stablehlo.reshape %a : (tensor<4x8xf32>) -> tensor<32xf32>\n "
     "return %r : tensor<32xf32> }",
     0, 0, 0, 0, 0, 0},
    {"bitcast_convert",
     "(%a: tensor<4xf32>) -> tensor<4xi32> { %r = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi32>\n "
     "return %r : tensor<4xi32> }",
     0, 0, 0, 0, 0, 0},
    {"broadcast_in_dim",
     "(%a: tensor<8xf32>) -> tensor<4x8xf32> { %r = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<8xf32>) -> "
     "tensor<4x8xf32>\n return %r : tensor<4x8xf32> }",
     0, 0, 0, 0, 32, 128},
    {"slice",
     "(%a: tensor<100x8xf32>) -> tensor<2x8xf32> { %r = stablehlo.slice %a [3:5, 0:8] : (tensor<100x8xf32>) -> "
     "tensor<2x8xf32>\n return %r : tensor<2x8xf32> }",
     0, 0, 0, 0, 64, 64},
    {"dynamic_slice",
     "(%a: tensor<100x8xf32>, %i: tensor<i32>) -> tensor<2x8xf32> { %r = stablehlo.dynamic_slice %a, %i, %i, sizes = "
     "[2, 8] : (tensor<100x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>\n return %r : tensor<2x8xf32> }",
     0, 0, 0, 0, 68, 64},
    {"concatenate",
     "(%a: tensor<3x8xf32>, %b: tensor<2x8xf32>) -> tensor<5x8xf32> { %r = stablehlo.concatenate %a, %b, dim = 0 : "
     "(tensor<3x8xf32>, tensor<2x8xf32>) -> tensor<5x8xf32>\n return %r : tensor<5x8xf32> }",
     0, 0, 0, 0, 160, 160},
    {"pad",
     "(%a: tensor<3xf32>, %z: tensor<f32>) -> tensor<5xf32> { %r = stablehlo.pad %a, %z, low = [1], high = [1], "
     "interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>\n return %r : tensor<5xf32> }",
     0, 0, 0, 0, 16, 20},
    {"iota", "() -> tensor<8xi32> { %r = stablehlo.iota dim = 0 : tensor<8xi32>\n return %r : tensor<8xi32> }", 0, 0, 0,
     0, 0, 32},
    /* gather: three rows of a table of 1000, twelve times from a table of four */
    {"gather",
     "(%a: tensor<1000x16xf32>, %i: tensor<3x1xi32>) -> tensor<3x16xf32> { %r = \"stablehlo.gather\"(%a, %i) "
     "<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
     "index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<1000x16xf32>, tensor<3x1xi32>) -> "
     "tensor<3x16xf32>\n return %r : tensor<3x16xf32> }",
     0, 0, 0, 0, 192 + 12, 192},
    {"gather",
     "(%a: tensor<4x16xf32>, %i: tensor<12x1xi32>) -> tensor<12x16xf32> { %r = \"stablehlo.gather\"(%a, %i) "
     "<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
     "index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<4x16xf32>, tensor<12x1xi32>) -> "
     "tensor<12x16xf32>\n return %r : tensor<12x16xf32> }",
     0, 0, 0, 0, 256 + 48, 768},
    /* custom calls */
    {"mhlo.erf",
     "(%a: tensor<8xf32>) -> tensor<8xf32> { %r = stablehlo.custom_call @mhlo.erf(%a) : (tensor<8xf32>) -> "
     "tensor<8xf32>\n return %r : tensor<8xf32> }",
     0, 0, 8, 0, 32, 32},
    {"__cublas$gemm",
     "(%a: tensor<3x10x5xf32>, %b: tensor<3x5x30xf32>) -> tensor<3x10x30xf32> { %r = stablehlo.custom_call "
     "@__cublas$gemm(%a, %b) : (tensor<3x10x5xf32>, tensor<3x5x30xf32>) -> tensor<3x10x30xf32>\n return %r : "
     "tensor<3x10x30xf32> }",
     3 * 3000, 0, 0, 0, 2400, 3600},
    /* 4 S^2 D per head for the two products, 4 vector operations and an exponential per score */
    {"tt.scaled_dot_product_attention",
     "(%q: tensor<2x3x8x4xbf16>) -> tensor<2x3x8x4xbf16> { %r = stablehlo.custom_call "
     "@tt.scaled_dot_product_attention(%q, %q, %q) : (tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, "
     "tensor<2x3x8x4xbf16>) -> tensor<2x3x8x4xbf16>\n return %r : tensor<2x3x8x4xbf16> }",
     2 * 3 * 4 * 8 * 8 * 4, 2 * 3 * 64 * 4, 2 * 3 * 64, 0, 384, 384},
    /* causal: 36 of 64 scores */
    {"tt.scaled_dot_product_attention",
     "(%q: tensor<2x3x8x4xbf16>) -> tensor<2x3x8x4xbf16> { %r = stablehlo.custom_call "
     "@tt.scaled_dot_product_attention(%q, %q, %q) {mhlo.frontend_attributes = {is_causal = \"True\"}} : "
     "(tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>, tensor<2x3x8x4xbf16>) -> tensor<2x3x8x4xbf16>\n return %r : "
     "tensor<2x3x8x4xbf16> }",
     2 * 3 * 4 * 36 * 4, 2 * 3 * 36 * 4, 2 * 3 * 36, 0, 384, 384},
    /* cuDNN says so in its configuration */
    {"__cudnn$fmhaSoftmax",
     "(%q: tensor<2x8x3x4xbf16>) -> tensor<2x8x3x4xbf16> { %r = stablehlo.custom_call @__cudnn$fmhaSoftmax(%q, %q, %q) "
     "{backend_config = \"{\\22mask_type\\22: \\22PADDING_CAUSAL\\22, \\22seed\\22: 42}\"} : (tensor<2x8x3x4xbf16>, "
     "tensor<2x8x3x4xbf16>, tensor<2x8x3x4xbf16>) -> tensor<2x8x3x4xbf16>\n return %r : tensor<2x8x3x4xbf16> }",
     2 * 3 * 4 * 36 * 4, 2 * 3 * 36 * 4, 2 * 3 * 36, 0, 384, 384},
    /* Transformer Engine: 3 heads of queries share one of keys (depth 4) and values (depth 6) */
    {"te_fused_attn_forward_ffi",
     "(%q: tensor<2x8x3x4xbf16>, %k: tensor<2x8x1x4xbf16>, %v: tensor<2x8x1x6xbf16>) -> tensor<2x8x3x6xbf16> { %r = "
     "stablehlo.custom_call @te_fused_attn_forward_ffi(%q, %k, %v) {api_version = 4 : i32, backend_config = "
     "{input_batch "
     "= 2 : i64, attn_heads = 3 : i64, q_max_seqlen = 8 : i64, kv_max_seqlen = 8 : i64, qk_head_dim = 4 : i64, "
     "v_head_dim = 6 : i64, mask_type = 0 : i64, window_size_left = -1 : i64}} : (tensor<2x8x3x4xbf16>, "
     "tensor<2x8x1x4xbf16>, tensor<2x8x1x6xbf16>) -> tensor<2x8x3x6xbf16>\n return %r : tensor<2x8x3x6xbf16> }",
     2 * 3 * 2 * 64 * (4 + 6), 2 * 3 * 64 * 4, 2 * 3 * 64, 0, 384 + 128 + 192, 576},
    /* causal, two keys back: 1 + 2 + 6 * 3 = 21 pairs; the configuration as text */
    {"te_fused_attn_forward_ffi",
     "(%q: tensor<2x8x3x4xbf16>) -> tensor<2x8x3x4xbf16> { %r = stablehlo.custom_call @te_fused_attn_forward_ffi(%q) "
     "{api_version = 4 : i32, backend_config = {}, mhlo.backend_config = \"{attn_heads = 3 : i64, input_batch = 2 : "
     "i64, "
     "kv_max_seqlen = 8 : i64, mask_type = 3 : i64, q_max_seqlen = 8 : i64, qk_head_dim = 4 : i64, v_head_dim = 4 : "
     "i64, window_size_left = 2 : i64}\"} : (tensor<2x8x3x4xbf16>) -> tensor<2x8x3x4xbf16>\n return %r : "
     "tensor<2x8x3x4xbf16> }",
     2 * 3 * 2 * 21 * (4 + 4), 2 * 3 * 21 * 4, 2 * 3 * 21, 0, 384, 384},
    /* three products over the depth of queries, two over that of values */
    {"te_fused_attn_backward_ffi",
     "(%q: tensor<2x8x3x4xbf16>) -> tensor<2x8x3x4xbf16> { %r = stablehlo.custom_call @te_fused_attn_backward_ffi(%q) "
     "{api_version = 4 : i32, backend_config = {attn_heads = 3 : i64, input_batch = 2 : i64, kv_max_seqlen = 8 : i64, "
     "q_max_seqlen = 8 : i64, qk_head_dim = 4 : i64, v_head_dim = 6 : i64}} : (tensor<2x8x3x4xbf16>) -> "
     "tensor<2x8x3x4xbf16>\n return %r : tensor<2x8x3x4xbf16> }",
     2 * 3 * 2 * 64 * (3 * 4 + 2 * 6), 2 * 3 * 64 * 4, 2 * 3 * 64, 0, 384, 384},
    /* 4 rows of 16 keys: n log2 n comparisons */
    {"__cub$DeviceRadixSort",
     "(%a: tensor<4x16xui32>) -> tensor<4x16xui32> { %r:2 = stablehlo.custom_call @__cub$DeviceRadixSort(%a) "
     "{backend_config = \"{\\22descending\\22:false}\"} : (tensor<4x16xui32>) -> (tensor<4x16xui32>, tensor<1xui8>)\n "
     "return %r#0 : tensor<4x16xui32> }",
     0, 0, 0, 4 * 16 * 4, 256, 257},
    /* with scales per block: the product alone */
    {"__op$block_scaled_dot",
     "(%a: tensor<3x10x64xf8E4M3FN>, %b: tensor<3x30x64xf8E4M3FN>, %s: tensor<3x10x2xf8E8M0FNU>, %t: "
     "tensor<3x30x2xf8E8M0FNU>) -> tensor<3x10x30xf32> { %r = stablehlo.custom_call @__op$block_scaled_dot(%a, %b, %s, "
     "%t) : (tensor<3x10x64xf8E4M3FN>, tensor<3x30x64xf8E4M3FN>, tensor<3x10x2xf8E8M0FNU>, tensor<3x30x2xf8E8M0FNU>) "
     "-> "
     "tensor<3x10x30xf32>\n return %r : tensor<3x10x30xf32> }",
     2 * 3 * 10 * 30 * 64, 0, 0, 0, 1920 + 5760 + 60 + 180, 3600},
    /* a kernel with its author's estimate */
    {"tpu_custom_call",
     "(%a: tensor<8x16xbf16>) -> tensor<8x16xbf16> { %r = stablehlo.custom_call @tpu_custom_call(%a) {backend_config = "
     "\"{\\22custom_call_config\\22: {\\22body\\22: \\22TUzv\\22, \\22cost_estimate\\22: {\\22flops\\22: 269, "
     "\\22transcendentals\\22: 26, \\22bytes_accessed\\22: 52}}}\"} : (tensor<8x16xbf16>) -> tensor<8x16xbf16>\n "
     "return "
     "%r : tensor<8x16xbf16> }",
     269, 0, 26, 0, 256, 256},
    /* LU of 3x3: 2/3 n^3 = 18 */
    {"lapack_sgetrf_ffi",
     "(%a: tensor<3x3xf32>) -> tensor<3x3xf32> { %r:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) : "
     "(tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)\n return %r#0 : tensor<3x3xf32> }",
     0, 18, 0, 0, 36, 52},
    /* QR of 6x3: 2 n^2 (m - n/3) = 90 */
    {"cusolver_geqrf_ffi",
     "(%a: tensor<6x3xf32>) -> tensor<6x3xf32> { %r:2 = stablehlo.custom_call @cusolver_geqrf_ffi(%a) : "
     "(tensor<6x3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>)\n return %r#0 : tensor<6x3xf32> }",
     0, 90, 0, 0, 72, 84},
    {"mhlo.topk",
     "(%a: tensor<512x8xf32>) -> tensor<512x2xf32> { %r:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k "
     "= 2 : i64}, mhlo.version = 1 : i64} : (tensor<512x8xf32>) -> (tensor<512x2xf32>, tensor<512x2xi32>)\n return "
     "%r#0 : tensor<512x2xf32> }",
     0, 512 * 8, 0, 0, 16384, 8192},
};

static void test_counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct count_case *c = &cases[i];
    char text[4096];
    snprintf(text, sizeof text, "func.func @main%s", c->program);
    struct lowered lowered;
    lowered_from(&lowered, text);
    const struct work_graph *inside = NULL;
    const struct work_task *task = task_find(lowered.graph, c->label, &inside);
    if (task == NULL) {
      fail_msg("case %zu: no task '%s'", i, c->label);
      return;
    }
    const uint64_t ops[] = {c->matrix, c->vector, c->function, c->integer};
    for (int engine = 0; engine < WORK_ENGINE_COUNT; engine++) {
      uint64_t counted = task_ops(inside, task, (enum work_engine)engine);
      if (counted != ops[engine]) {
        fail_msg("case %zu (%s): %llu %s operations, not %llu", i, c->label, (unsigned long long)counted,
                 work_engine_name((enum work_engine)engine), (unsigned long long)ops[engine]);
      }
    }
    if (c->read_bytes != ANY_BYTES && (task->read_bytes != c->read_bytes || task->write_bytes != c->write_bytes)) {
      fail_msg("case %zu (%s): %llu + %llu bytes", i, c->label, (unsigned long long)task->read_bytes,
               (unsigned long long)task->write_bytes);
    }
    lowered_release(&lowered);
  }
}

static void test_gemm_of_convolution(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(
      &lowered,
      "func.func @main(%a: tensor<4x8x8x16xbf16>, %b: tensor<3x3x16x32xbf16>) -> tensor<4x8x8x32xbf16> {\n"
      "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad "
      "= [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = "
      "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<4x8x8x16xbf16>, "
      "tensor<3x3x16x32xbf16>) -> tensor<4x8x8x32xbf16>\n return %r : tensor<4x8x8x32xbf16> }");
  struct work_gemm gemm;
  const struct work_stage *stage = &lowered.graph->stages.data[0];
  assert_true(work_stage_gemm(lowered.graph, stage, &gemm));
  assert_int_equal(gemm.m, 4 * 8 * 8);
  assert_int_equal(gemm.n, 32);
  assert_int_equal(gemm.k, 16 * 9);
  assert_int_equal(gemm.batch, 1);
  assert_int_equal(stage->precision, WORK_PRECISION_HIGHEST);
  assert_int_equal(lowered.graph->ops.data[0].dtype, DTYPE_BF16);
  lowered_release(&lowered);
}

/* An algorithm takes the place of a precision: f32 is f32 itself, and an algorithm of three bf16 products performs three
 * times 2 x 4 x 16 x 8 operations of that type. */
static void test_dot_algorithms(void **state) {
  (void)state;
  static const struct {
    const char *type;
    int products;
    enum dtype dtype;
    enum work_precision precision;
    uint64_t ops;
  } rows[] = {{"f32", 1, DTYPE_F32, WORK_PRECISION_HIGHEST, 1024},
              {"tf32", 1, DTYPE_TF32, WORK_PRECISION_DEFAULT, 1024},
              {"bf16", 3, DTYPE_BF16, WORK_PRECISION_DEFAULT, 3072}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[2048];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<4x8xf32>, %%b: tensor<8x16xf32>) -> tensor<4x16xf32> {\n"
        "%%r = stablehlo.dot_general %%a, %%b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = %s, "
        "rhs_precision_type = %s, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
        "num_primitive_operations = %d, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, "
        "tensor<8x16xf32>) -> tensor<4x16xf32>\n return %%r : tensor<4x16xf32> }",
        rows[i].type, rows[i].type, rows[i].products);
    struct lowered lowered;
    lowered_from(&lowered, text);
    const struct work_task *task = &lowered.graph->tasks.data[0];
    assert_int_equal(task->demand_count, 1);
    const struct work_demand_entry *entry = &lowered.graph->demands.data[task->demand_first];
    assert_int_equal(entry->dtype, rows[i].dtype);
    assert_int_equal(entry->precision, rows[i].precision);
    assert_int_equal(entry->ops, rows[i].ops);
    lowered_release(&lowered);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_gemm_of_convolution),
                                     cmocka_unit_test(test_dot_algorithms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
