/* Attention and what belongs to it: the operator of ONNX 23 and the fused ones of com.microsoft. All become products and a
 * softmax, so that costs and numbers are those of the parts. See onnx_build.h; meanings: onnx/docs/Operators.md,
 * onnxruntime/docs/ContribOperators.md. */
#include <math.h>

#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

/* What attention is done on. */
struct attention {
  struct onnx_val q, k, v; /* [B, H, S, D], [B, Hk, T, D], [B, Hk, T, Dv]; H a multiple of Hk */
  struct onnx_val mask; /* added to scores of [B, H, S, T], broadcast; or of bool: where it is false nothing is seen */
  bool is_causal;
  int64_t window; /* how many positions back are seen; 0 = all */
  double scale; /* 0 = 1 / sqrt(D) */
  double softcap; /* 0 = none: c tanh(x / c) */
  double filter; /* what replaces scores that are not seen */
};

/* [B, S, H D] → [B, H, S, D] */
static struct onnx_val split_heads(struct onnx_builder *b, struct onnx_val x, int64_t heads) {
  if (!onnx_check(b, onnx_rank(b, x) == 3 && heads > 0 && onnx_dim(b, x, 2) % heads == 0,
                  "%lld elements are not split into %lld heads", (long long)onnx_dim(b, x, 2), (long long)heads)) {
    return (struct onnx_val){0};
  }
  int64_t dims[4] = {onnx_dim(b, x, 0), onnx_dim(b, x, 1), heads, onnx_dim(b, x, 2) / heads};
  return onnx_transpose(b, onnx_reshape(b, x, dims, 4), (int64_t[]){0, 2, 1, 3});
}

/* [B, H, S, D] → [B, S, H D] */
static struct onnx_val join_heads(struct onnx_builder *b, struct onnx_val x) {
  if (b->is_failed || !onnx_check(b, onnx_rank(b, x) == 4, "heads are missing")) {
    return (struct onnx_val){0};
  }
  x = onnx_transpose(b, x, (int64_t[]){0, 2, 1, 3});
  return onnx_reshape(b, x, (int64_t[]){onnx_dim(b, x, 0), onnx_dim(b, x, 1), onnx_dim(b, x, 2) * onnx_dim(b, x, 3)},
                      3);
}

/* Scores [B, H, S, T] with what is not seen filled: later positions, or those too far back. */
static struct onnx_val hide(struct onnx_builder *b, const struct attention *a, struct onnx_val scores) {
  enum dtype dtype = onnx_dtype(b, scores);
  struct onnx_val filter = onnx_const_float(b, dtype, a->filter);
  int64_t dims[2] = {onnx_dim(b, scores, 2), onnx_dim(b, scores, 3)}, past = dims[1] - dims[0];
  if (a->is_causal || a->window > 0) {
    struct onnx_val row = onnx_add(b, onnx_iota(b, DTYPE_I64, dims, 2, 0), onnx_const_int(b, DTYPE_I64, past));
    struct onnx_val column = onnx_iota(b, DTYPE_I64, dims, 2, 1), seen = onnx_compare(b, ONNX_LE, column, row);
    if (a->window > 0) {
      struct onnx_val near =
          onnx_compare(b, ONNX_GT, column, onnx_sub(b, row, onnx_const_int(b, DTYPE_I64, a->window)));
      seen = onnx_binary(b, IR_OP_AND, seen, near);
    }
    scores = onnx_select(b, seen, scores, filter);
  }
  if (a->mask.id == 0) {
    return scores;
  }
  if (onnx_dtype(b, a->mask) == DTYPE_I1) {
    return onnx_select(b, a->mask, scores, filter);
  }
  return onnx_add(b, scores, onnx_convert(b, a->mask, dtype));
}

/* softmax(scale q k' + mask) v as [B, H, S, Dv]. Several query heads may share a key: [B, Hk, H / Hk, S, D] against
 * [B, Hk, T, D], without copies. */
static struct onnx_val attend(struct onnx_builder *b, const struct attention *a) {
  if (!onnx_check(b, onnx_rank(b, a->q) == 4 && onnx_rank(b, a->k) == 4 && onnx_rank(b, a->v) == 4,
                  "queries, keys and values must have four dimensions")) {
    return (struct onnx_val){0};
  }
  int64_t batch = onnx_dim(b, a->q, 0), heads = onnx_dim(b, a->q, 1), rows = onnx_dim(b, a->q, 2),
          depth = onnx_dim(b, a->q, 3);
  int64_t kv_heads = onnx_dim(b, a->k, 1), columns = onnx_dim(b, a->k, 2), group = kv_heads > 0 ? heads / kv_heads : 0;
  if (!onnx_check(b, group > 0 && heads % kv_heads == 0 && onnx_dim(b, a->v, 1) == kv_heads && depth > 0,
                  "%lld query heads for %lld key heads", (long long)heads, (long long)kv_heads)) {
    return (struct onnx_val){0};
  }
  double scale = a->scale != 0 ? a->scale : 1 / sqrt((double)depth);
  struct onnx_val q = onnx_binary_float(b, IR_OP_MULTIPLY, a->q, scale);
  bool is_grouped = group > 1;
  struct onnx_dot dot = {.batch_count = 2,
                         .contract_count = 1,
                         .lhs_batch = {0, 1},
                         .rhs_batch = {0, 1},
                         .lhs_contract = {is_grouped ? 4 : 3},
                         .rhs_contract = {3}};
  q = is_grouped ? onnx_reshape(b, q, (int64_t[]){batch, kv_heads, group, rows, depth}, 5) : q;
  struct onnx_val scores = onnx_dot_general(b, q, a->k, &dot, DTYPE_NONE);
  scores = onnx_reshape(b, scores, (int64_t[]){batch, heads, rows, columns}, 4);
  if (a->softcap != 0) {
    scores = onnx_unary(b, IR_OP_TANH, onnx_binary_float(b, IR_OP_DIVIDE, scores, a->softcap));
    scores = onnx_binary_float(b, IR_OP_MULTIPLY, scores, a->softcap);
  }
  struct onnx_val p = onnx_softmax_last(b, hide(b, a, scores), false);
  p = is_grouped ? onnx_reshape(b, p, (int64_t[]){batch, kv_heads, group, rows, columns}, 5) : p;
  dot.rhs_contract[0] = 2;
  struct onnx_val v = onnx_dot_general(b, p, a->v, &dot, DTYPE_NONE);
  return onnx_reshape(b, v, (int64_t[]){batch, heads, rows, onnx_dim(b, a->v, 3)}, 4);
}

/* The past in front of what is new, along the positions. */
static struct onnx_val after_past(struct onnx_builder *b, struct onnx_val past, struct onnx_val x) {
  return past.id == 0 ? x : onnx_concat(b, (struct onnx_val[]){past, x}, 2, 2);
}

static double lowest(void) {
  return -(double)INFINITY;
}

/* Attention (23): Q, K, V of three or four dimensions, attn_mask, past_key, past_value. */
void onnx_build_attention(struct onnx_builder *b, const struct onnx_node *n) {
  struct attention a = {
      .q = onnx_input(b, n, 0), .k = onnx_input(b, n, 1), .v = onnx_input(b, n, 2), .mask = onnx_optional(b, n, 3)};
  struct onnx_val past_k = onnx_optional(b, n, 4), past_v = onnx_optional(b, n, 5);
  bool is_flat = onnx_rank(b, a.q) == 3;
  if (!onnx_check(b, !onnx_has_output(n, 3) && !onnx_has_input(n, 6),
                  "scores as an output, and lengths as an input, are not read")) {
    return;
  }
  if (is_flat) {
    int64_t heads = onnx_int(b, n, "q_num_heads", 0), kv_heads = onnx_int(b, n, "kv_num_heads", 0);
    a.q = split_heads(b, a.q, heads);
    a.k = split_heads(b, a.k, kv_heads);
    a.v = split_heads(b, a.v, kv_heads);
  }
  a.k = after_past(b, past_k, a.k);
  a.v = after_past(b, past_v, a.v);
  a.is_causal = onnx_int(b, n, "is_causal", 0) != 0;
  a.scale = onnx_float(b, n, "scale", 0);
  a.softcap = onnx_float(b, n, "softcap", 0);
  a.filter = lowest();
  if (!onnx_check(b, !a.is_causal || past_k.id != 0 || onnx_dim(b, a.q, 2) == onnx_dim(b, a.k, 2),
                  "causal attention to another length is not read")) {
    return;
  }
  struct onnx_val y = attend(b, &a);
  onnx_output(b, n, 0, is_flat ? join_heads(b, y) : y);
  onnx_output(b, n, 1, a.k);
  onnx_output(b, n, 2, a.v);
}

/* ---- rotary positions ---- */

/* x [B, H, S, D], cos and sin that broadcast to [B, H, S, R / 2]: the first R elements are turned in pairs (i, i + R / 2), or
 * (2 i, 2 i + 1) when interleaved. */
static struct onnx_val rotate(struct onnx_builder *b, struct onnx_val x, struct onnx_val cosine, struct onnx_val sine,
                              int64_t width, bool is_interleaved) {
  int64_t dims[5];
  uint32_t rank = onnx_rank(b, x);
  if (!onnx_check(b, rank == 4 && width > 0 && width % 2 == 0 && width <= onnx_dim(b, x, 3),
                  "%lld elements are not turned in pairs", (long long)width)) {
    return (struct onnx_val){0};
  }
  int64_t depth = onnx_dim(b, x, 3);
  struct onnx_val turned = onnx_slice_axis(b, x, 3, 0, width), rest = onnx_slice_axis(b, x, 3, width, depth), parts[2],
                  first, second;
  (void)onnx_dims(b, turned, dims);
  dims[3] = width / 2;
  if (is_interleaved) {
    int64_t pairs[5] = {dims[0], dims[1], dims[2], width / 2, 2};
    struct onnx_val paired = onnx_reshape(b, turned, pairs, 5);
    first = onnx_reshape(b, onnx_slice_axis(b, paired, 4, 0, 1), dims, 4);
    second = onnx_reshape(b, onnx_slice_axis(b, paired, 4, 1, 2), dims, 4);
  } else {
    first = onnx_slice_axis(b, turned, 3, 0, width / 2);
    second = onnx_slice_axis(b, turned, 3, width / 2, width);
  }
  parts[0] = onnx_sub(b, onnx_mul(b, first, cosine), onnx_mul(b, second, sine));
  parts[1] = onnx_add(b, onnx_mul(b, second, cosine), onnx_mul(b, first, sine));
  if (is_interleaved) {
    dims[4] = 1;
    parts[0] = onnx_reshape(b, parts[0], dims, 5);
    parts[1] = onnx_reshape(b, parts[1], dims, 5);
  }
  struct onnx_val joined = onnx_concat(b, parts, 2, is_interleaved ? 4 : 3);
  dims[3] = width;
  joined = is_interleaved ? onnx_reshape(b, joined, dims, 4) : joined;
  return width == depth ? joined : onnx_concat(b, (struct onnx_val[]){joined, rest}, 2, 3);
}

/* Rows of a cache [P, R / 2] at positions [B, S] (or [1]: the first of consecutive ones; or none: a cache of [B, S, R / 2]) as
 * [B, 1, S, R / 2]. */
static struct onnx_val cache_rows(struct onnx_builder *b, struct onnx_val cache, struct onnx_val positions,
                                  int64_t rows) {
  if (positions.id != 0 && onnx_get(b, positions)->count == 1 && rows != 1) {
    struct onnx_val start = onnx_reshape(b, positions, NULL, 0);
    positions = onnx_add(b, onnx_iota(b, onnx_dtype(b, positions), (int64_t[]){1, rows}, 2, 1), start);
  } else if (positions.id != 0 && onnx_get(b, positions)->count == 1) {
    positions = onnx_reshape(b, positions, (int64_t[]){1, 1}, 2);
  }
  struct onnx_val taken = positions.id != 0 ? onnx_take(b, cache, positions, 0) : cache;
  if (!onnx_check(b, onnx_rank(b, taken) == 3 && onnx_dim(b, taken, 1) == rows,
                  "the cache does not fit the positions")) {
    return taken;
  }
  return onnx_reshape(b, taken, (int64_t[]){onnx_dim(b, taken, 0), 1, rows, onnx_dim(b, taken, 2)}, 4);
}

/* argument: 0 = ONNX 23 (X, cos_cache, sin_cache, position_ids), 1 = com.microsoft (input, position_ids, cos, sin) */
void onnx_build_rotary(struct onnx_builder *b, const struct onnx_node *n) {
  bool is_contrib = b->row->argument == 1;
  struct onnx_val x = onnx_input(b, n, 0), positions = is_contrib ? onnx_input(b, n, 1) : onnx_optional(b, n, 3);
  struct onnx_val cosine = onnx_input(b, n, is_contrib ? 2 : 1), sine = onnx_input(b, n, is_contrib ? 3 : 2);
  bool is_flat = onnx_rank(b, x) == 3;
  int64_t heads = onnx_int(b, n, "num_heads", 0), width = onnx_int(b, n, "rotary_embedding_dim", 0);
  int64_t half = onnx_rank(b, cosine) > 0 ? onnx_dim(b, cosine, onnx_rank(b, cosine) - 1) : 0;
  if (!onnx_check(b, onnx_int(b, n, "is_packed_batching", 0) == 0 && half > 0 && half < INT32_MAX,
                  "packed batches are not read")) {
    return;
  }
  if (is_flat && heads == 0) {
    heads = width > 0 ? 0 : onnx_dim(b, x, 2) / (2 * half);
  }
  x = is_flat ? split_heads(b, x, heads) : x;
  if (b->is_failed || !onnx_check(b, onnx_rank(b, x) == 4, "the input must have three or four dimensions")) {
    return;
  }
  width = width > 0 ? width : 2 * half < onnx_dim(b, x, 3) ? 2 * half : onnx_dim(b, x, 3);
  cosine = cache_rows(b, cosine, positions, onnx_dim(b, x, 2));
  sine = cache_rows(b, sine, positions, onnx_dim(b, x, 2));
  struct onnx_val y = rotate(b, x, cosine, sine, width, onnx_int(b, n, "interleaved", 0) != 0);
  onnx_output(b, n, 0, is_flat ? join_heads(b, y) : y);
}

/* ---- com.microsoft ---- */

/* 1 where a key is seen, [B, T] → a condition of [B, 1, 1, T]. */
static struct onnx_val key_mask(struct onnx_builder *b, struct onnx_val mask, int64_t columns) {
  if (mask.id == 0
      || !onnx_check(b, onnx_rank(b, mask) == 2 && onnx_dim(b, mask, 1) == columns,
                     "only masks of [batch, keys] are read")) {
    return (struct onnx_val){0};
  }
  mask = onnx_convert(b, mask, DTYPE_I1);
  return onnx_reshape(b, mask, (int64_t[]){onnx_dim(b, mask, 0), 1, 1, columns}, 4);
}

/* A mask of keys and a bias of the scores as one thing to add. */
static struct onnx_val combined_mask(struct onnx_builder *b, struct onnx_val seen, struct onnx_val bias,
                                     enum dtype dtype, double filter) {
  if (seen.id == 0 || bias.id == 0) {
    return seen.id != 0 ? seen : bias;
  }
  struct onnx_val hidden = onnx_select(b, seen, onnx_const_float(b, dtype, 0), onnx_const_float(b, dtype, filter));
  return onnx_add(b, hidden, onnx_convert(b, bias, dtype));
}

static struct onnx_val part_of_bias(struct onnx_builder *b, struct onnx_val x, struct onnx_val bias, int64_t start) {
  return bias.id == 0 ? x : onnx_add(b, x, onnx_slice_axis(b, bias, 0, start, start + onnx_dim(b, x, 2)));
}

/* query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value */
void onnx_build_multi_head_attention(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val q = onnx_input(b, n, 0), k = onnx_input(b, n, 1), v = onnx_input(b, n, 2),
                  bias = onnx_optional(b, n, 3);
  int64_t heads = onnx_int(b, n, "num_heads", 0), width = onnx_dim(b, q, 2);
  if (!onnx_check(b, onnx_rank(b, q) == 3, "packed queries are not read")) {
    return;
  }
  struct attention a = {.scale = onnx_float(b, n, "scale", 0), .filter = onnx_float(b, n, "mask_filter_value", -10000)};
  a.q = split_heads(b, part_of_bias(b, q, bias, 0), heads);
  a.k = onnx_rank(b, k) == 4 ? k : split_heads(b, part_of_bias(b, k, bias, width), heads);
  a.v = onnx_rank(b, v) == 4 ? v : split_heads(b, part_of_bias(b, v, bias, 2 * width), heads);
  a.k = after_past(b, onnx_optional(b, n, 6), a.k);
  a.v = after_past(b, onnx_optional(b, n, 7), a.v);
  if (b->is_failed) {
    return;
  }
  struct onnx_val seen = key_mask(b, onnx_optional(b, n, 4), onnx_dim(b, a.k, 2));
  a.mask = combined_mask(b, seen, onnx_optional(b, n, 5), onnx_dtype(b, q), a.filter);
  a.is_causal = onnx_int(b, n, "unidirectional", 0) != 0;
  onnx_output(b, n, 0, join_heads(b, attend(b, &a)));
  onnx_output(b, n, 1, a.k);
  onnx_output(b, n, 2, a.v);
}

/* input, weights, bias, mask_index, past, attention_bias: projections to queries, keys and values in one product */
void onnx_build_contrib_attention(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), all = onnx_matmul(b, x, onnx_input(b, n, 1), DTYPE_NONE),
                  bias = onnx_optional(b, n, 2);
  int64_t heads = onnx_int(b, n, "num_heads", 0), sizes[ONNX_INTS_MAX];
  all = bias.id != 0 ? onnx_add(b, all, bias) : all;
  if (!onnx_check(b,
                  onnx_rank(b, all) == 3 && onnx_int(b, n, "do_rotary", 0) == 0 && !onnx_has_input(n, 4)
                      && !onnx_has_output(n, 1),
                  "rotary positions and a past are not read here")) {
    return;
  }
  uint32_t count = onnx_ints(b, n, "qkv_hidden_sizes", sizes);
  for (uint32_t i = 0; count != 3 && i < 3; i++) {
    sizes[i] = onnx_dim(b, all, 2) / 3;
  }
  struct attention a = {.scale = onnx_float(b, n, "scale", 0), .filter = onnx_float(b, n, "mask_filter_value", -10000)};
  if (!onnx_check(b, sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0 && sizes[0] < INT32_MAX && sizes[1] < INT32_MAX,
                  "sizes of projections must be positive")) {
    return;
  }
  a.q = split_heads(b, onnx_slice_axis(b, all, 2, 0, sizes[0]), heads);
  a.k = split_heads(b, onnx_slice_axis(b, all, 2, sizes[0], sizes[0] + sizes[1]), heads);
  a.v = split_heads(b, onnx_slice_axis(b, all, 2, sizes[0] + sizes[1], onnx_dim(b, all, 2)), heads);
  struct onnx_val mask = onnx_optional(b, n, 3), seen = {0};
  if (mask.id != 0 && !b->is_failed) {
    seen = key_mask(b, mask, onnx_dim(b, a.k, 2));
  }
  a.mask = b->is_failed ? seen : combined_mask(b, seen, onnx_optional(b, n, 5), onnx_dtype(b, x), a.filter);
  a.is_causal = onnx_int(b, n, "unidirectional", 0) != 0;
  onnx_output(b, n, 0, join_heads(b, attend(b, &a)));
}

/* query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache. Lengths are taken from the
 * shapes: every sequence has the whole past and all new positions. */
void onnx_build_group_query_attention(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val q = onnx_input(b, n, 0), k = onnx_input(b, n, 1), v = onnx_input(b, n, 2),
                  past_k = onnx_optional(b, n, 3);
  int64_t heads = onnx_int(b, n, "num_heads", 0), kv_heads = onnx_int(b, n, "kv_num_heads", 0),
          window = onnx_int(b, n, "local_window_size", -1);
  struct attention a = {.scale = onnx_float(b, n, "scale", 0),
                        .softcap = onnx_float(b, n, "softcap", 0),
                        .filter = lowest(),
                        .is_causal = true};
  a.window = window > 0 ? window : 0;
  a.q = split_heads(b, q, heads);
  a.k = split_heads(b, k, kv_heads);
  a.v = split_heads(b, v, kv_heads);
  if (b->is_failed || !onnx_check(b, !onnx_has_input(n, 9), "given positions are not read here")) {
    return;
  }
  int64_t past = past_k.id != 0 ? onnx_dim(b, past_k, 2) : 0, rows = onnx_dim(b, a.q, 2);
  if (onnx_int(b, n, "do_rotary", 0) != 0) {
    struct onnx_val start = onnx_const_int(b, DTYPE_I64, past);
    struct onnx_val cosine = cache_rows(b, onnx_input(b, n, 7), start, rows),
                    sine = cache_rows(b, onnx_input(b, n, 8), start, rows);
    int64_t width = 2 * onnx_dim(b, cosine, 3);
    bool is_interleaved = onnx_int(b, n, "rotary_interleaved", 0) != 0;
    a.q = rotate(b, a.q, cosine, sine, width, is_interleaved);
    a.k = rotate(b, a.k, cosine, sine, width, is_interleaved);
  }
  a.k = after_past(b, past_k, a.k);
  a.v = after_past(b, onnx_optional(b, n, 4), a.v);
  onnx_output(b, n, 0, join_heads(b, attend(b, &a)));
  onnx_output(b, n, 1, a.k);
  onnx_output(b, n, 2, a.v);
}

/* input_ids, segment_ids, word, position and segment embeddings, gamma, beta, mask, position_ids */
void onnx_build_embed_layer_normalization(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val ids = onnx_input(b, n, 0), segments = onnx_optional(b, n, 1), mask = onnx_optional(b, n, 7),
                  positions = onnx_optional(b, n, 8);
  bool axes[ONNX_RANK_MAX] = {false, false, true};
  if (!onnx_check(b, onnx_rank(b, ids) == 2, "ids must be [batch, positions]")) {
    return;
  }
  if (positions.id == 0) {
    positions = onnx_iota(b, DTYPE_I64, (int64_t[]){1, onnx_dim(b, ids, 1)}, 2, 1);
  }
  struct onnx_val x =
      onnx_add(b, onnx_take(b, onnx_input(b, n, 2), ids, 0), onnx_take(b, onnx_input(b, n, 3), positions, 0));
  if (segments.id != 0) {
    x = onnx_add(b, x, onnx_take(b, onnx_input(b, n, 4), segments, 0));
  }
  if (!onnx_check(b, onnx_rank(b, x) == 3, "embeddings must be matrices")) {
    return;
  }
  struct onnx_val v = onnx_normalize(b, x, axes, onnx_float(b, n, "epsilon", 1e-12f), true, NULL, NULL);
  onnx_output(b, n, 0, onnx_add(b, onnx_mul(b, v, onnx_input(b, n, 5)), onnx_input(b, n, 6)));
  if (mask.id != 0) {
    bool columns[ONNX_RANK_MAX] = {false, true};
    onnx_output(b, n, 1, onnx_reduce(b, IR_OP_ADD, mask, columns, false));
  } else if (onnx_has_output(n, 1)) {
    int64_t batch = onnx_dim(b, ids, 0);
    onnx_output(b, n, 1, onnx_splat(b, DTYPE_I32, 0, &batch, 1));
  }
  onnx_output(b, n, 2, x);
}
