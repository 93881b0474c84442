/* Custom calls: lower_custom_calls.def says which targets have a meaning; their work is here. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

enum { MATCH_EXACT, MATCH_PREFIX, MATCH_SOLVER };
enum {
  ATTENTION_BSHD = 0, /* batch, sequence, heads, depth */
  ATTENTION_BHSD = 1,
  ATTENTION_DECODE = 2, /* query 1, batch, heads, depth; keys batch, heads, sequence, depth */
  ATTENTION_CONFIG = 3, /* the configuration says all sizes */
  ATTENTION_ORDER = 3,
  ATTENTION_BACKWARD = 4
};
enum {
  SOLVER_CHOLESKY,
  SOLVER_QR,
  SOLVER_LU,
  SOLVER_EIGH,
  SOLVER_EIG,
  SOLVER_SVD,
  SOLVER_HESSENBERG,
  SOLVER_TRIDIAGONAL,
  SOLVER_TRIANGULAR,
  SOLVER_BANDED
};

struct custom_call {
  const char *target;
  int match;
  void (*function)(struct lower *lower, struct ir_op op, int parameter);
  int parameter;
};

/* Tensors of a call on lower->scratch: operands from `in`, results from `out`. */
struct call {
  size_t in, out, end;
};

static struct call call_open(struct lower *lower, struct ir_op op) {
  struct call call = {.in = lower->scratch.count};
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  call.out = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  call.end = lower->scratch.count;
  return call;
}

static void call_reads(struct lower *lower, struct call call) {
  for (size_t i = call.in; i < call.out; i++) {
    lower_read(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
}

static void call_close(struct lower *lower, struct call call) {
  for (size_t i = call.out; i < call.end && i < lower->scratch.count; i++) {
    lower_write(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = call.in;
  lower_end(lower);
}

/* Shape of a tensor of the current graph. */
static struct lower_shape tensor_shape(const struct lower *lower, uint32_t tensor) {
  struct lower_shape shape = {DTYPE_NONE, 0, NULL, 0};
  if (tensor != LOWER_NONE && tensor < lower->graph->tensors.count) {
    const struct work_tensor *info = &lower->graph->tensors.data[tensor];
    shape = (struct lower_shape){(enum dtype)info->dtype, info->rank, lower->graph->dims.data + info->dims_first,
                                 info->element_count};
  }
  return shape;
}

static struct lower_shape call_shape(const struct lower *lower, struct call call, size_t i, bool is_result) {
  size_t at = is_result ? call.out + i : call.in + i, end = is_result ? call.end : call.out;
  return at < end ? tensor_shape(lower, lower->scratch.data[at]) : (struct lower_shape){DTYPE_NONE, 0, NULL, 0};
}

/* ---- no work ---- */

enum { RENAMES, RENAMES_TO_SHARD, RENAMES_FROM_SHARD };

static void call_renames(struct lower *lower, struct ir_op op, int parameter) {
  if (lower_in_count(lower, op) == 0 || lower_out_count(lower, op) == 0) {
    lower_nothing(lower, op);
    return;
  }
  bool is_same = lower_out_count(lower, op) == lower_in_count(lower, op);
  for (uint32_t i = 0; i < lower_out_count(lower, op) && is_same; i++) {
    is_same = ir_value_type(lower->module, lower_in(lower, op, i)).id
              == ir_value_type(lower->module, lower_out(lower, op, i)).id;
  }
  if (is_same) {
    lower_forward(lower, op);
  } else {
    lower_alias(lower, op, WORK_FREE);
    const struct lower_slot *out = &lower->slots[lower_out(lower, op, 0).id];
    if (parameter != RENAMES && lower_in_count(lower, op) == 1 && out->count == 1) {
      uint32_t in = lower_operand(lower, op, 0);
      bool is_to_shard = parameter == RENAMES_TO_SHARD;
      lower_note_reshard(lower, is_to_shard ? in : out->first, is_to_shard ? out->first : in);
    }
  }
}

static void call_nothing(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  lower_nothing(lower, op);
}

static void call_host(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  lower_host(lower, op);
}

static void call_ragged_all_to_all(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  lower_ragged_all_to_all(lower, op);
}

/* ---- elementwise and selection ---- */

static void call_elementwise(struct lower *lower, struct ir_op op, int parameter) {
  struct call call = call_open(lower, op);
  struct lower_shape out = call_shape(lower, call, 0, true);
  lower_begin(lower, op, WORK_ELEMENTWISE);
  lower_axes_of(lower, &out);
  lower_elementwise_work_as(lower, op, (enum ir_opcode)parameter);
  for (size_t i = call.in; i < call.out; i++) {
    lower_read_all(lower, lower->scratch.data[i], out.rank);
  }
  call_close(lower, call);
}

/* 115 integer operations for a pair of words; see lower_ops_numeric.c. */
static void call_threefry(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  struct call call = call_open(lower, op);
  struct lower_shape out = call_shape(lower, call, 0, true);
  lower_begin(lower, op, WORK_RNG);
  lower_axes_of(lower, &out);
  lower_work(lower, WORK_ENGINE_INTEGER, DTYPE_UI32, 115);
  call_reads(lower, call);
  call_close(lower, call);
}

/* k is the extent of the dimension that shrinks. n ceil(log2 k) comparisons, at least one per element. */
static void call_top_k(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  struct call call = call_open(lower, op);
  struct lower_shape in = call_shape(lower, call, 0, false), out = call_shape(lower, call, 0, true);
  uint64_t k = 2;
  for (uint32_t d = 0; d < in.rank && d < out.rank; d++) {
    if (lower_dim(&in, d) != lower_dim(&out, d)) {
      k = lower_dim(&out, d);
    }
  }
  uint32_t steps = k > 2 ? 64 - (uint32_t)__builtin_clzll(k - 1) : 1;
  lower_begin(lower, op, WORK_TOP_K);
  lower_axes_of(lower, &in);
  lower_work(lower, dtype_is_floating(in.dtype) ? WORK_ENGINE_VECTOR : WORK_ENGINE_INTEGER, in.dtype, steps);
  call_reads(lower, call);
  call_close(lower, call);
}

/* Keys along the last dimension, counted like a sort: n ceil(log2 n) comparisons. */
static void call_sort(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  struct call call = call_open(lower, op);
  struct lower_shape in = call_shape(lower, call, 0, false);
  lower_begin(lower, op, WORK_SORT);
  for (uint32_t d = 0; d < in.rank && d < LOWER_MAX_RANK; d++) {
    lower_axis(lower, d + 1 == in.rank ? WORK_AXIS_REDUCTION : WORK_AXIS_PARALLEL, lower_dim(&in, d));
  }
  lower_work(lower, dtype_is_floating(in.dtype) ? WORK_ENGINE_VECTOR : WORK_ENGINE_INTEGER, in.dtype, 1);
  call_reads(lower, call);
  call_close(lower, call);
}

/* ---- contractions ---- */

static uint64_t integer_sqrt(uint64_t x) {
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= x) {
      root += bit;
    }
  }
  return root;
}

/* A product of matrices whatever its layout: with B batches, |lhs| |rhs| / |result| = B K^2, so the shapes tell K without
 * reading the library's configuration. */
static void call_gemm(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  struct call call = call_open(lower, op);
  struct lower_shape a = call_shape(lower, call, 0, false), b = call_shape(lower, call, 1, false);
  struct lower_shape out = call_shape(lower, call, 0, true);
  uint64_t batch = 1;
  for (uint32_t d = 0; d + 2 < out.rank; d++) {
    batch = sat_mul_u64(batch, lower_dim(&out, d));
  }
  uint64_t k = 0;
  if (out.elements > 0 && batch > 0) {
    __extension__ typedef unsigned __int128 wide;
    wide square = (wide)a.elements * b.elements / out.elements / batch;
    k = integer_sqrt(square > UINT64_MAX ? UINT64_MAX : (uint64_t)square);
  }
  uint64_t rows = k > 0 ? a.elements / batch / k : 0, columns = k > 0 ? b.elements / batch / k : 0;
  lower_begin(lower, op, WORK_MATMUL);
  lower_axis(lower, WORK_AXIS_BATCH, batch);
  lower_axis(lower, WORK_AXIS_ROW, rows);
  lower_axis(lower, WORK_AXIS_COLUMN, columns);
  lower_axis(lower, WORK_AXIS_REDUCTION, k);
  lower_work(lower, WORK_ENGINE_MATRIX, lower_real_type(a.dtype), 2 * lower_per_flop(a.dtype));
  call_reads(lower, call);
  call_close(lower, call);
}

/* Every output element needs the kernel elements of its feature: 2 |output| |kernel| / features. The feature dimension is the
 * last one of the output (NHWC) when the kernel has an equal extent, else the second (NCHW). */
static void call_convolution(struct lower *lower, struct ir_op op, int output_operand) {
  struct call call = call_open(lower, op);
  struct lower_shape output =
      call_shape(lower, call, output_operand == 2 ? 0 : (size_t)output_operand, output_operand == 2);
  struct lower_shape kernel = call_shape(lower, call, output_operand == 1 ? 0 : 1, output_operand == 1);
  uint64_t features = output.rank > 1 ? lower_dim(&output, 1) : 1;
  for (uint32_t d = 0; d < kernel.rank && output.rank > 0; d++) {
    if (lower_dim(&kernel, d) == lower_dim(&output, output.rank - 1)) {
      features = lower_dim(&output, output.rank - 1);
    }
  }
  uint64_t pixels = features > 0 ? output.elements / features : 0;
  uint64_t window = features > 0 ? kernel.elements / features : 0;
  lower_begin(lower, op, WORK_CONVOLUTION);
  lower_axis(lower, WORK_AXIS_ROW, pixels);
  lower_axis(lower, WORK_AXIS_COLUMN, features);
  lower_axis(lower, WORK_AXIS_REDUCTION, window);
  lower_work(lower, WORK_ENGINE_MATRIX, lower_real_type(output.dtype), 2);
  call_reads(lower, call);
  call_close(lower, call);
}

/* ---- attention ---- */

/* Behind `name` and its '=' or ':' in a configuration that is text, MLIR's (a = 1 : i64) or JSON ("a": 1); NULL when it is
 * not there. */
static const char *config_text(const struct lower *lower, struct ir_op op, const char *name) {
  static const char *const attributes[] = {"mhlo.backend_config", "backend_config"};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    struct ir_attr attr = ir_op_attr(lower->module, op, attributes[i]);
    bool is_text = attr.id != 0 && ir_attr_get(lower->module, attr)->kind == IR_ATTR_STRING;
    const char *text = is_text ? ir_text(lower->module, ir_attr_get(lower->module, attr)->text) : "";
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
      const char *after = at + strlen(name);
      bool is_whole = at == text || strchr(" ,{\"", at[-1]) != NULL;
      after += strspn(after, "\" ");
      if (is_whole && (*after == '=' || *after == ':')) {
        return after + 1 + strspn(after + 1, " \"");
      }
    }
  }
  return NULL;
}

/* A whole number of the configuration, a dictionary or a text; `fallback` when it has none of that name. */
static int64_t config_number(const struct lower *lower, struct ir_op op, const char *name, int64_t fallback) {
  struct ir_attr config = ir_op_attr(lower->module, op, "backend_config"), field = {0};
  if (config.id != 0) {
    field = ir_attr_field(lower->module, config, name);
  }
  if (field.id != 0 && ir_attr_get(lower->module, field)->kind == IR_ATTR_INTEGER) {
    return ir_attr_get(lower->module, field)->integer;
  }
  const char *text = config_text(lower, op, name);
  bool is_negative = text != NULL && *text == '-';
  uint64_t number = 0;
  text = text != NULL ? text + is_negative : "";
  if (*text < '0' || *text > '9') {
    return fallback;
  }
  for (; *text >= '0' && *text <= '9'; text++) {
    number = sat_add_u64(sat_mul_u64(number, 10), (uint64_t)(*text - '0'));
  }
  int64_t value = number > INT64_MAX ? INT64_MAX : (int64_t)number;
  return is_negative ? -value : value;
}

static bool is_frontend_causal(const struct lower *lower, struct ir_op op) {
  struct ir_attr frontend = ir_op_attr(lower->module, op, "mhlo.frontend_attributes");
  struct ir_attr causal = frontend.id != 0 ? ir_attr_field(lower->module, frontend, "is_causal") : (struct ir_attr){0};
  if (causal.id == 0) {
    return false;
  }
  const char *text = ir_text(lower->module, ir_attr_get(lower->module, causal)->text);
  return strcmp(text, "True") == 0 || strcmp(text, "true") == 0;
}

/* Keys up to the query's own place, of these `window` (0 = all). A causal mask between different lengths, and windows without
 * one, are taken as no mask. */
static uint64_t attention_pairs(const struct lower_attention *a, bool is_causal, int64_t window) {
  uint64_t n = a->queries;
  if (!is_causal || n != a->keys) {
    return sat_mul_u64(a->queries, a->keys);
  }
  uint64_t w = window > 0 && (uint64_t)window < n ? (uint64_t)window : n;
  return sat_add_u64(sat_mul_u64(w, sat_add_u64(w, 1)) / 2, sat_mul_u64(n - w, w));
}

static uint64_t config_size(const struct lower *lower, struct ir_op op, const char *name) {
  int64_t value = config_number(lower, op, name, 0);
  return value > 0 ? (uint64_t)value : 0;
}

/* Transformer Engine's calls: mask types 2 to 5 are causal, with or without padding (NVTE_Mask_Type of fused_attn.h); a
 * window of -1 is none, else it is the number of earlier keys. All 0 when a size is missing. */
static struct lower_attention attention_config(const struct lower *lower, struct ir_op op) {
  struct lower_attention a = {.batch = config_size(lower, op, "input_batch"),
                              .heads = config_size(lower, op, "attn_heads"),
                              .queries = config_size(lower, op, "q_max_seqlen"),
                              .keys = config_size(lower, op, "kv_max_seqlen"),
                              .depth = config_size(lower, op, "qk_head_dim")};
  a.kv_heads = config_size(lower, op, "num_gqa_groups");
  a.value_depth = config_size(lower, op, "v_head_dim");
  if (a.depth == 0) { /* before the depths of keys and values had names of their own */
    a.depth = a.value_depth = config_size(lower, op, "head_dim");
  }
  if (a.batch == 0 || a.heads == 0 || a.queries == 0 || a.keys == 0 || a.depth == 0 || a.value_depth == 0) {
    return (struct lower_attention){.batch = 0};
  }
  int64_t mask = config_number(lower, op, "mask_type", 0), left = config_number(lower, op, "window_size_left", -1);
  a.pairs = attention_pairs(&a, mask >= 2 && mask <= 5, left < 0 || left == INT64_MAX ? 0 : left + 1);
  return a;
}

/* "mask_type": "CAUSAL" or "PADDING_CAUSAL" of cudnn_fmha_backend_config. */
static bool is_config_causal(const struct lower *lower, struct ir_op op) {
  const char *mask = config_text(lower, op, "mask_type");
  const char *end = mask != NULL ? strchr(mask, '"') : NULL;
  const char *word = mask != NULL ? strstr(mask, "CAUSAL") : NULL;
  return word != NULL && end != NULL && word < end;
}

static struct lower_attention attention_shape(const struct lower *lower, struct ir_op op, struct call call, int order) {
  struct lower_shape q = call_shape(lower, call, 0, false), k = call_shape(lower, call, 1, false);
  struct lower_shape v = call_shape(lower, call, 2, false);
  struct lower_attention shape = {.batch = 1};
  uint32_t n = q.rank, kn = k.rank;
  if (order == ATTENTION_CONFIG) {
    return attention_config(lower, op);
  }
  if (n < 3 || kn != n || v.rank != n) {
    return (struct lower_attention){.batch = 0};
  }
  uint32_t sequence = order == ATTENTION_BSHD && n >= 4 ? n - 3 : n - 2;
  uint32_t head = order == ATTENTION_BSHD && n >= 4 ? n - 2 : n - 3;
  shape.queries = order == ATTENTION_DECODE ? 1 : lower_dim(&q, sequence);
  shape.heads = order == ATTENTION_DECODE ? lower_dim(&q, n - 2) : lower_dim(&q, head);
  shape.kv_heads = order == ATTENTION_DECODE ? lower_dim(&k, n - 3) : lower_dim(&k, head);
  shape.keys = lower_dim(&k, sequence);
  shape.depth = lower_dim(&q, n - 1);
  shape.value_depth = lower_dim(&v, n - 1);
  for (uint32_t d = 0; d + 3 < n; d++) {
    shape.batch = sat_mul_u64(shape.batch, lower_dim(&k, d));
  }
  bool is_causal = is_frontend_causal(lower, op) || is_config_causal(lower, op);
  shape.pairs = attention_pairs(&shape, is_causal, config_number(lower, op, "sliding_window_length", 0));
  return shape;
}

static bool is_masked(const struct lower_attention *a) {
  return a->pairs != sat_mul_u64(a->queries, a->keys);
}

/* One product of the attention: scores (queries x keys over depth) or values (queries x depth over keys), of the pairs that
 * the mask leaves. */
static void attention_product(struct lower *lower, struct ir_op op, const struct lower_attention *a, enum dtype dtype,
                              uint64_t depth, bool is_scores, uint32_t passes) {
  lower_begin(lower, op, WORK_ATTENTION);
  /* sequences, heads of keys, and the query heads that share one of these */
  bool is_grouped = a->kv_heads > 0 && a->heads % a->kv_heads == 0;
  lower_axis(lower, WORK_AXIS_BATCH, a->batch);
  lower_axis(lower, WORK_AXIS_BATCH, is_grouped ? a->kv_heads : a->heads);
  lower_axis(lower, WORK_AXIS_BATCH, is_grouped ? a->heads / a->kv_heads : 1);
  lower_axis(lower, WORK_AXIS_ROW, a->queries);
  lower_axis(lower, WORK_AXIS_COLUMN, is_scores ? a->keys : depth);
  lower_axis(lower, WORK_AXIS_REDUCTION, is_scores ? depth : a->keys);
  if (is_masked(a)) {
    lower->stage.applications = sat_mul_u64(sat_mul_u64(a->batch, a->heads), sat_mul_u64(a->pairs, depth));
  }
  lower->stage.dtype = (uint8_t)dtype;
  lower_work(lower, WORK_ENGINE_MATRIX, dtype, 2 * passes);
}

/* Forward: two products; per score a scale, a maximum, a subtraction, an exponential and a sum. Backward: the scores again
 * and four products for the three gradients and the probabilities' own: five in all, three over the query-key depth and two
 * over the value depth, and per score the exponential, two multiplications, a subtraction and a sum. */
static void attention_task(struct lower *lower, struct ir_op op, struct call call, const struct lower_attention *a,
                           enum dtype dtype, bool is_backward) {
  int64_t dims[3] = {(int64_t)(a->batch * a->heads), (int64_t)a->queries, (int64_t)a->keys};
  uint32_t scores = lower_tensor(lower, DTYPE_F32, dims, 3), weights = lower_tensor(lower, DTYPE_F32, dims, 3);
  lower_hide(lower, scores);
  lower_hide(lower, weights);
  attention_product(lower, op, a, dtype, a->depth, true, is_backward ? 3 : 1);
  call_reads(lower, call);
  lower_write(lower, scores, NULL, UINT64_MAX, 0);
  lower_end_stage(lower);
  lower_begin(lower, op, WORK_ELEMENTWISE);
  struct lower_shape shape = tensor_shape(lower, scores);
  lower_axes_of(lower, &shape);
  if (is_masked(a)) {
    lower->stage.applications = sat_mul_u64(sat_mul_u64(a->batch, a->heads), a->pairs);
  }
  lower_work(lower, WORK_ENGINE_VECTOR, DTYPE_F32, 4);
  lower_work_function(lower, WORK_FUNCTION_EXP, DTYPE_F32, 1);
  lower_read_all(lower, scores, 3);
  lower_write_all(lower, weights, 3);
  lower_end_stage(lower);
  attention_product(lower, op, a, dtype, a->value_depth, false, is_backward ? 2 : 1);
  lower_read(lower, weights, NULL, UINT64_MAX, 0);
  call_close(lower, call);
}

void lower_attention(struct lower *lower, struct ir_op op, const struct lower_attention *a, enum dtype dtype,
                     bool is_backward) {
  attention_task(lower, op, call_open(lower, op), a, dtype, is_backward);
}

static void call_attention(struct lower *lower, struct ir_op op, int parameter) {
  struct call call = call_open(lower, op);
  struct lower_attention a = attention_shape(lower, op, call, parameter & ATTENTION_ORDER);
  if (a.batch == 0) {
    lower->scratch.count = call.in;
    lower_opaque_op(lower, op);
    return;
  }
  enum dtype dtype = call_shape(lower, call, 0, false).dtype;
  attention_task(lower, op, call, &a, dtype, (parameter & ATTENTION_BACKWARD) != 0);
}

/* ---- kernels of their own ---- */

/* A Pallas kernel for TPUs whose author said what it costs (pl.CostEstimate): "cost_estimate": {"flops": n,
 * "transcendentals": n, "bytes_accessed": n} in its configuration. Such kernels are written around products of matrices, so
 * the operations are taken as theirs; the bytes are those of operands and results. Without an estimate it is opaque. */
static void call_estimate(struct lower *lower, struct ir_op op, int parameter) {
  (void)parameter;
  int64_t flops = config_number(lower, op, "flops", -1), functions = config_number(lower, op, "transcendentals", 0);
  struct call call = call_open(lower, op);
  enum dtype dtype = DTYPE_F32;
  for (size_t i = call.in; i < call.out; i++) {
    enum dtype other = call_shape(lower, call, i - call.in, false).dtype;
    if (dtype_is_floating(other)) {
      dtype = other;
      break;
    }
  }
  if (flops < 0) {
    lower->scratch.count = call.in;
    lower_opaque_op(lower, op);
    return;
  }
  int64_t one = 1;
  uint32_t link = functions > 0 ? lower_tensor(lower, DTYPE_F32, &one, 1) : LOWER_NONE;
  lower_begin(lower, op, WORK_CUSTOM);
  lower_axis(lower, WORK_AXIS_PARALLEL, call_shape(lower, call, 0, true).elements);
  lower->stage.applications = (uint64_t)flops;
  lower_work(lower, WORK_ENGINE_MATRIX, dtype, flops > 0);
  call_reads(lower, call);
  if (functions > 0) {
    lower_hide(lower, link);
    lower_write(lower, link, NULL, UINT64_MAX, 0);
    lower_end_stage(lower);
    lower_begin(lower, op, WORK_CUSTOM);
    lower_axis(lower, WORK_AXIS_PARALLEL, (uint64_t)functions);
    lower_work_function(lower, WORK_FUNCTION_EXP, DTYPE_F32, 1);
    lower_read(lower, link, NULL, UINT64_MAX, 0);
  }
  call_close(lower, call);
}

/* ---- factorisations ---- */

/* Operations for one m x n matrix, n right-hand sides for solvers (Golub and Van Loan, Matrix Computations: LU 3.2, Cholesky
 * 4.2, QR 5.2, Hessenberg and real Schur 7.4-7.5 (10/3 n^3, 25 n^3), tridiagonal and symmetric QR 8.3 (4/3 n^3, 9 n^3 with
 * vectors), SVD 8.6 (14 m n^2 + 8 n^3 with thin vectors)). Saturating. */
static uint64_t solver_flops(int formula, uint64_t m, uint64_t n) {
  uint64_t small = m < n ? m : n, large = m < n ? n : m;
  uint64_t square = sat_mul_u64(small, small), cube = sat_mul_u64(square, small);
  uint64_t tall = sat_mul_u64(square, sat_mul_u64(3, large) - small) / 3; /* k^2 (l - k/3) */
  switch (formula) {
  case SOLVER_CHOLESKY:
    return cube / 3 + (cube % 3 != 0);
  case SOLVER_QR:
    return sat_mul_u64(2, tall);
  case SOLVER_LU:
    return tall;
  case SOLVER_EIGH:
    return sat_mul_u64(9, cube);
  case SOLVER_EIG:
    return sat_mul_u64(25, cube);
  case SOLVER_SVD:
    return sat_add_u64(sat_mul_u64(14, sat_mul_u64(square, large)), sat_mul_u64(8, cube));
  case SOLVER_HESSENBERG:
    return sat_mul_u64(10, cube) / 3;
  case SOLVER_TRIDIAGONAL:
    return sat_mul_u64(4, cube) / 3;
  case SOLVER_TRIANGULAR:
    return sat_mul_u64(sat_mul_u64(m, m), n);
  case SOLVER_BANDED:
    return sat_mul_u64(8, sat_mul_u64(m, n)); /* 3 for the elimination and 5 per unknown and right-hand side */
  default:
    return 0;
  }
}

static void call_solver(struct lower *lower, struct ir_op op, int formula) {
  struct call call = call_open(lower, op);
  /* the first operand that is a matrix; older calls pass sizes before it. Solvers: the right-hand sides. */
  size_t count = call.out - call.in, at = 0;
  while (at + 1 < count && call_shape(lower, call, at, false).rank < 2) {
    at++;
  }
  if (formula == SOLVER_TRIANGULAR && at + 1 < count) {
    at++;
  }
  struct lower_shape matrix = call_shape(lower, call, at, false);
  if (matrix.rank < 2) {
    lower->scratch.count = call.in;
    lower_opaque_op(lower, op);
    return;
  }
  uint64_t m = lower_dim(&matrix, matrix.rank - 2), n = lower_dim(&matrix, matrix.rank - 1), batch = 1;
  for (uint32_t d = 0; d + 2 < matrix.rank; d++) {
    batch = sat_mul_u64(batch, lower_dim(&matrix, d));
  }
  uint64_t flops = sat_mul_u64(batch, solver_flops(formula, m, n));
  enum work_kind kind = formula == SOLVER_CHOLESKY     ? WORK_CHOLESKY
                        : formula == SOLVER_TRIANGULAR ? WORK_TRIANGULAR_SOLVE
                                                       : WORK_CUSTOM;
  lower_begin(lower, op, kind);
  lower_axis(lower, WORK_AXIS_PARALLEL, matrix.elements);
  lower->stage.applications = flops;
  lower_work(lower, WORK_ENGINE_VECTOR, lower_real_type(matrix.dtype), flops > 0 ? lower_per_flop(matrix.dtype) : 0);
  call_reads(lower, call);
  call_close(lower, call);
}

/* ---- the table ---- */

static const struct custom_call calls[] = {
#define LOWER_CUSTOM_CALL(target, match, function, parameter) {target, MATCH_##match, function, parameter},
#include "lower/lower_custom_calls.def"
#undef LOWER_CUSTOM_CALL
};

/* "cusolver_geqrf_ffi" → "geqrf", "lapack_sgeqrf_ffi" → "geqrf"; length 0 when it is no such name. */
static const char *solver_stem(const char *target, size_t *length) {
  static const struct {
    const char *prefix;
    size_t type_letters;
  } prefixes[] = {{"lapack_", 1},   {"blas_", 1},      {"cusolver_", 0}, {"hipsolver_", 0}, {"magma_", 0},
                  {"cusparse_", 0}, {"hipsparse_", 0}, {"cublas_", 0},   {"hipblas_", 0}};
  *length = 0;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t n = strlen(prefixes[i].prefix);
    if (strncmp(target, prefixes[i].prefix, n) == 0 && strlen(target) > n + prefixes[i].type_letters) {
      const char *stem = target + n + prefixes[i].type_letters;
      size_t end = strcspn(stem, "_");
      *length = end;
      return stem;
    }
  }
  return target;
}

void lower_custom_call(struct lower *lower, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(lower->module, op, "call_target_name");
  uint32_t name = attr.id != 0 ? ir_attr_get(lower->module, attr)->text : 0;
  const char *target = ir_text(lower->module, name);
  size_t stem_length;
  const char *stem = solver_stem(target, &stem_length);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    const struct custom_call *call = &calls[i];
    size_t length = strlen(call->target);
    bool is_match = call->match == MATCH_EXACT    ? strcmp(call->target, target) == 0
                    : call->match == MATCH_PREFIX ? strncmp(call->target, target, length) == 0
                                                  : stem_length == length && memcmp(stem, call->target, length) == 0;
    if (is_match) {
      call->function(lower, op, call->parameter);
      return;
    }
  }
  lower_opaque_as(lower, op, name != 0 ? name : ir_op_get(lower->module, op)->name);
}
