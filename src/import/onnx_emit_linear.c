/* Products, windows and reductions. See onnx_emit.h. */
#include <string.h>

#include "base/checked.h"
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"

static const struct onnx_val none = {0};

/* ---- attributes that are structs ---- */

struct struct_fields {
  uint32_t pairs[2 * 12];
  uint32_t count;
};

static void add_field(struct onnx_builder *b, struct struct_fields *fields, const char *name, struct ir_attr attr) {
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  if (id == UINT32_MAX || attr.id == 0) {
    onnx_fail_memory(b);
    return;
  }
  fields->pairs[2 * fields->count] = id;
  fields->pairs[2 * fields->count++ + 1] = attr.id;
}

static void add_list(struct onnx_builder *b, struct struct_fields *fields, const char *name, const int64_t *values,
                     uint32_t count) {
  if (count > 0) { /* empty lists are left out */
    add_field(b, fields, name, ir_attr_i64s(b->m, values, count));
  }
}

static void add_number(struct onnx_builder *b, struct struct_fields *fields, const char *name, int64_t value) {
  add_field(b, fields, name, ir_attr_integer(b->m, value, ir_type_scalar(b->m, DTYPE_I64)));
}

/* ---- dot_general ---- */

static bool is_listed(const int64_t *list, uint32_t count, uint32_t d) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] == d) {
      return true;
    }
  }
  return false;
}

/* Appends the free dimensions of an operand. */
static uint32_t add_free(const struct onnx_builder *b, struct onnx_val x, const int64_t *batch, const int64_t *contract,
                         const struct onnx_dot *dims, int64_t *result, uint32_t rank) {
  for (uint32_t i = 0; i < onnx_rank(b, x) && rank < ONNX_RANK_MAX; i++) {
    if (!is_listed(batch, dims->batch_count, i) && !is_listed(contract, dims->contract_count, i)) {
      result[rank++] = onnx_dim(b, x, i);
    }
  }
  return rank;
}

struct onnx_val onnx_dot_general(struct onnx_builder *b, struct onnx_val x, struct onnx_val y,
                                 const struct onnx_dot *dims, enum dtype result) {
  int64_t shape[ONNX_RANK_MAX];
  uint32_t rank = 0;
  struct struct_fields fields = {.count = 0};
  if (b->is_failed
      || !onnx_check(b, onnx_rank(b, x) + onnx_rank(b, y) <= ONNX_RANK_MAX, "a product has too many dimensions")
      || !onnx_check(b, result != DTYPE_NONE || onnx_dtype(b, x) == onnx_dtype(b, y),
                     "factors are of the types %s and %s", dtype_name(onnx_dtype(b, x)),
                     dtype_name(onnx_dtype(b, y)))) {
    return none;
  }
  for (uint32_t i = 0; i < dims->batch_count + dims->contract_count; i++) {
    bool is_batch = i < dims->batch_count;
    uint32_t k = is_batch ? i : i - dims->batch_count;
    int64_t p = is_batch ? dims->lhs_batch[k] : dims->lhs_contract[k];
    int64_t q = is_batch ? dims->rhs_batch[k] : dims->rhs_contract[k];
    int64_t size_x = onnx_dim(b, x, (uint32_t)p), size_y = onnx_dim(b, y, (uint32_t)q);
    if (!onnx_check(b, p < onnx_rank(b, x) && q < onnx_rank(b, y) && size_x == size_y,
                    "sizes %lld and %lld of a product's dimension differ", (long long)size_x, (long long)size_y)) {
      return none;
    }
    if (is_batch) {
      shape[rank++] = size_x;
    }
  }
  rank = add_free(b, x, dims->lhs_batch, dims->lhs_contract, dims, shape, rank);
  rank = add_free(b, y, dims->rhs_batch, dims->rhs_contract, dims, shape, rank);
  add_list(b, &fields, "lhs_batching_dimensions", dims->lhs_batch, dims->batch_count);
  add_list(b, &fields, "rhs_batching_dimensions", dims->rhs_batch, dims->batch_count);
  add_list(b, &fields, "lhs_contracting_dimensions", dims->lhs_contract, dims->contract_count);
  add_list(b, &fields, "rhs_contracting_dimensions", dims->rhs_contract, dims->contract_count);
  struct onnx_val v = onnx_new_value(b, result == DTYPE_NONE ? onnx_dtype(b, x) : result, shape, rank);
  (void)onnx_push_attr(b, "dot_dimension_numbers", ir_attr_struct(b->m, "stablehlo.dot", fields.pairs, fields.count));
  return onnx_emit(b, IR_OP_DOT_GENERAL, (struct onnx_val[]){x, y}, 2, NULL, v);
}

/* A factor with `batch` as its leading dimensions. */
static struct onnx_val with_batch(struct onnx_builder *b, struct onnx_val x, const int64_t *batch,
                                  uint32_t batch_rank) {
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank = onnx_rank(b, x);
  if (!onnx_check(b, batch_rank + 2 <= ONNX_RANK_MAX, "a product has too many dimensions")) {
    return none;
  }
  memcpy(dims, batch, batch_rank * sizeof *dims);
  dims[batch_rank] = onnx_dim(b, x, rank - 2);
  dims[batch_rank + 1] = onnx_dim(b, x, rank - 1);
  return onnx_broadcast(b, x, dims, batch_rank + 2);
}

/* Both of rank 2 or more. A matrix as the second factor has no batch: all dimensions of the first but the last are rows. */
static struct onnx_val matmul_matrices(struct onnx_builder *b, struct onnx_val x, struct onnx_val y,
                                       enum dtype result) {
  struct onnx_dot dot = {.contract_count = 1};
  int64_t batch[ONNX_RANK_MAX];
  uint32_t p = onnx_rank(b, x), q = onnx_rank(b, y), batch_rank = 0;
  if (q > 2) {
    uint32_t rank = (p > q ? p : q) - 2;
    for (uint32_t i = 0; i < rank; i++) {
      int64_t size_x = i + p - 2 < rank ? 1 : onnx_dim(b, x, i + p - 2 - rank);
      int64_t size_y = i + q - 2 < rank ? 1 : onnx_dim(b, y, i + q - 2 - rank);
      if (!onnx_check(b, size_x == size_y || size_x == 1 || size_y == 1,
                      "batches of %lld and %lld matrices do not go together", (long long)size_x, (long long)size_y)) {
        return none;
      }
      batch[batch_rank++] = size_x == 1 ? size_y : size_x;
    }
    x = with_batch(b, x, batch, batch_rank);
    y = with_batch(b, y, batch, batch_rank);
    if (b->is_failed) {
      return none;
    }
    p = q = batch_rank + 2;
  }
  dot.batch_count = batch_rank;
  for (uint32_t i = 0; i < batch_rank; i++) {
    dot.lhs_batch[i] = dot.rhs_batch[i] = i;
  }
  dot.lhs_contract[0] = p - 1;
  dot.rhs_contract[0] = q - 2;
  return onnx_dot_general(b, x, y, &dot, result);
}

struct onnx_val onnx_matmul(struct onnx_builder *b, struct onnx_val x, struct onnx_val y, enum dtype result) {
  int64_t dims[ONNX_RANK_MAX];
  if (b->is_failed || !onnx_check(b, onnx_rank(b, x) > 0 && onnx_rank(b, y) > 0, "a factor has no dimensions")) {
    return none;
  }
  bool is_row = onnx_rank(b, x) == 1, is_column = onnx_rank(b, y) == 1;
  if (is_row) {
    x = onnx_reshape(b, x, (int64_t[]){1, onnx_dim(b, x, 0)}, 2);
  }
  if (is_column) {
    y = onnx_reshape(b, y, (int64_t[]){onnx_dim(b, y, 0), 1}, 2);
  }
  struct onnx_val v = b->is_failed ? none : matmul_matrices(b, x, y, result);
  uint32_t rank = onnx_dims(b, v, dims);
  if (b->is_failed || (!is_row && !is_column)) {
    return v;
  }
  uint32_t kept = rank - 2;
  dims[kept] = dims[rank - 2];
  kept += !is_row;
  dims[kept] = dims[rank - 1];
  kept += !is_column;
  return onnx_reshape(b, v, dims, kept);
}

/* ---- windows ---- */

/* dense<[[low, high], ...]> of `skip` dimensions without padding and those of the window. */
static struct ir_attr padding_attr(struct onnx_builder *b, const struct onnx_window *w, uint32_t skip) {
  int64_t table[2 * ONNX_RANK_MAX] = {0}, dims[2] = {skip + w->rank, 2};
  for (uint32_t i = 0; i < w->rank; i++) {
    table[2 * (skip + i)] = w->low[i];
    table[2 * (skip + i) + 1] = w->high[i];
  }
  struct ir_type type = ir_type_tensor(b->m, ir_type_scalar(b->m, DTYPE_I64), dims, 2, (struct ir_attr){0});
  return type.id != 0 ? ir_attr_dense(b->m, type, table, 16 * (uint64_t)dims[0], false) : (struct ir_attr){0};
}

/* Positions of the window along dimension i of `size`; -1 when none of it makes sense. */
static int64_t window_positions(const struct onnx_window *w, uint32_t i, int64_t size) {
  int64_t padded, reach;
  bool ok = size >= 0 && w->size[i] > 0 && w->stride[i] > 0 && w->dilation[i] > 0 && w->base_dilation[i] > 0
            && checked_mul_i64(size > 0 ? size - 1 : 0, w->base_dilation[i], &padded)
            && checked_add_i64(padded, size > 0, &padded) && checked_add_i64(padded, w->low[i], &padded)
            && checked_add_i64(padded, w->high[i], &padded) && checked_mul_i64(w->size[i] - 1, w->dilation[i], &reach)
            && checked_add_i64(reach, 1, &reach);
  if (!ok || padded < 0) {
    return -1;
  }
  return padded < reach ? 0 : (padded - reach) / w->stride[i] + 1;
}

static bool window_shape(struct onnx_builder *b, struct onnx_val x, const struct onnx_window *w, int64_t *dims) {
  for (uint32_t i = 0; i < w->rank; i++) {
    dims[i + 2] = window_positions(w, i, onnx_dim(b, x, i + 2));
    if (!onnx_check(b, dims[i + 2] >= 0, "the window does not fit dimension %u of the input", i + 2)) {
      return false;
    }
  }
  return true;
}

static struct ir_attr convolution_numbers(struct onnx_builder *b, uint32_t rank) {
  struct struct_fields fields = {.count = 0};
  int64_t spatial[ONNX_RANK_MAX];
  for (uint32_t i = 0; i < rank; i++) {
    spatial[i] = i + 2;
  }
  static const char *const names[3][3] = {
      {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
      {"kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions"},
      {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
  for (int part = 0; part < 3; part++) {
    bool is_kernel = part == 1; /* [o, i, 0, 1], but input features are named first */
    add_number(b, &fields, names[part][is_kernel], is_kernel);
    add_number(b, &fields, names[part][!is_kernel], !is_kernel);
    add_field(b, &fields, names[part][2], ir_attr_i64s(b->m, spatial, rank));
  }
  return ir_attr_struct(b->m, "stablehlo.conv", fields.pairs, fields.count);
}

struct onnx_val onnx_convolution(struct onnx_builder *b, struct onnx_val x, struct onnx_val kernel,
                                 const struct onnx_window *w, int64_t groups, enum dtype result) {
  int64_t dims[ONNX_RANK_MAX];
  if (b->is_failed
      || !onnx_check(b, w->rank + 2 == onnx_rank(b, x) && onnx_rank(b, kernel) == w->rank + 2,
                     "input and kernel have %u and %u dimensions", onnx_rank(b, x), onnx_rank(b, kernel))
      || !onnx_check(b, result != DTYPE_NONE || onnx_dtype(b, x) == onnx_dtype(b, kernel),
                     "input and kernel are of different types")
      || !onnx_check(b,
                     groups > 0 && onnx_dim(b, kernel, 0) % groups == 0 && onnx_dim(b, x, 1) % groups == 0
                         && onnx_dim(b, x, 1) / groups == onnx_dim(b, kernel, 1),
                     "%lld channels in %lld groups do not fit a kernel of %lld", (long long)onnx_dim(b, x, 1),
                     (long long)groups, (long long)onnx_dim(b, kernel, 1))) {
    return none;
  }
  dims[0] = onnx_dim(b, x, 0);
  dims[1] = onnx_dim(b, kernel, 0);
  if (!window_shape(b, x, w, dims)) {
    return none;
  }
  struct onnx_val v = onnx_new_value(b, result == DTYPE_NONE ? onnx_dtype(b, x) : result, dims, w->rank + 2);
  (void)onnx_push_attr(b, "dimension_numbers", convolution_numbers(b, w->rank));
  (void)onnx_push_attr(b, "padding", padding_attr(b, w, 0));
  (void)onnx_push_i64s(b, "window_strides", w->stride, w->rank);
  (void)onnx_push_i64s(b, "lhs_dilation", w->base_dilation, w->rank);
  (void)onnx_push_i64s(b, "rhs_dilation", w->dilation, w->rank);
  (void)onnx_push_i64(b, "feature_group_count", groups);
  (void)onnx_push_i64(b, "batch_group_count", 1);
  return onnx_emit(b, IR_OP_CONVOLUTION, (struct onnx_val[]){x, kernel}, 2, NULL, v);
}

struct ir_region onnx_scalar_body(struct onnx_builder *b, enum dtype dtype, enum ir_opcode body) {
  struct ir_region region = ir_region_create(b->m);
  struct ir_block block = ir_block_create(b->m, region);
  struct ir_type scalar = ir_type_tensor(b->m, ir_type_scalar(b->m, dtype), NULL, 0, (struct ir_attr){0});
  struct ir_type types[2] = {scalar, scalar};
  if (block.id == 0 || scalar.id == 0 || !ir_block_set_arguments(b->m, block, types, 2)) {
    onnx_fail_memory(b);
    return region;
  }
  struct ir_value operands[2] = {ir_block_argument(b->m, block, 0), ir_block_argument(b->m, block, 1)};
  struct ir_value value = operands[1];
  if (body != IR_OP_UNKNOWN) {
    struct ir_op_spec spec = {
        .opcode = body, .operands = operands, .operand_count = 2, .result_types = &scalar, .result_count = 1};
    struct ir_op op = ir_op_create(b->m, block, &spec);
    value = op.id != 0 ? ir_op_result(b->m, op, 0) : value;
  }
  struct ir_op_spec end = {.opcode = IR_OP_RETURN, .operands = &value, .operand_count = 1};
  if (ir_op_create(b->m, block, &end).id == 0) {
    onnx_fail_memory(b);
  }
  return region;
}

struct onnx_val onnx_reduce_window(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x, struct onnx_val init,
                                   const struct onnx_window *w) {
  int64_t dims[ONNX_RANK_MAX], lists[4][ONNX_RANK_MAX];
  if (b->is_failed || !onnx_check(b, w->rank + 2 == onnx_rank(b, x), "the input has %u dimensions", onnx_rank(b, x))) {
    return none;
  }
  dims[0] = onnx_dim(b, x, 0);
  dims[1] = onnx_dim(b, x, 1);
  if (!window_shape(b, x, w, dims)) {
    return none;
  }
  for (uint32_t i = 0; i < w->rank + 2; i++) {
    lists[0][i] = i < 2 ? 1 : w->size[i - 2];
    lists[1][i] = i < 2 ? 1 : w->stride[i - 2];
    lists[2][i] = i < 2 ? 1 : w->base_dilation[i - 2];
    lists[3][i] = i < 2 ? 1 : w->dilation[i - 2];
  }
  static const char *const names[] = {"window_dimensions", "window_strides", "base_dilations", "window_dilations"};
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, w->rank + 2);
  for (int i = 0; i < 4; i++) {
    (void)onnx_push_i64s(b, names[i], lists[i], w->rank + 2);
  }
  (void)onnx_push_attr(b, "padding", padding_attr(b, w, 2));
  struct ir_region region = onnx_scalar_body(b, onnx_dtype(b, x), body);
  return onnx_emit(b, IR_OP_REDUCE_WINDOW, (struct onnx_val[]){x, init}, 2, &region, v);
}

/* ---- reductions ---- */

/* What a reduction starts from. */
static struct onnx_val neutral(struct onnx_builder *b, enum ir_opcode body, enum dtype dtype) {
  switch ((int)body) {
  case IR_OP_MAXIMUM:
    return onnx_limit(b, dtype, false);
  case IR_OP_MINIMUM:
    return onnx_limit(b, dtype, true);
  default:
    return onnx_const_float(b, dtype, body == IR_OP_MULTIPLY || body == IR_OP_AND);
  }
}

struct onnx_val onnx_reduce(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x, const bool *axes,
                            bool keep) {
  int64_t kept[ONNX_RANK_MAX], left[ONNX_RANK_MAX], reduced[ONNX_RANK_MAX];
  uint32_t left_rank = 0, count = 0, rank = b->is_failed ? 0 : onnx_rank(b, x);
  for (uint32_t i = 0; i < rank; i++) {
    kept[i] = axes[i] ? 1 : onnx_dim(b, x, i);
    if (axes[i]) {
      reduced[count++] = i;
    } else {
      left[left_rank++] = kept[i];
    }
  }
  if (b->is_failed || count == 0) {
    return b->is_failed ? none : x;
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), left, left_rank);
  if (v.id == 0) {
    return none;
  }
  if (!onnx_fold_reduce(b, body, x, v)) {
    struct onnx_val init = neutral(b, body, onnx_dtype(b, x));
    struct ir_region region = onnx_scalar_body(b, onnx_dtype(b, x), body);
    (void)onnx_push_i64s(b, "dimensions", reduced, count);
    v = onnx_emit(b, IR_OP_REDUCE, (struct onnx_val[]){x, init}, 2, &region, v);
  }
  return keep ? onnx_reshape(b, v, kept, rank) : v;
}

struct onnx_val onnx_reduce_last(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x) {
  bool axes[ONNX_RANK_MAX] = {false};
  if (b->is_failed || !onnx_check(b, onnx_rank(b, x) > 0, "the input has no dimensions")) {
    return none;
  }
  axes[onnx_rank(b, x) - 1] = true;
  return onnx_reduce(b, body, x, axes, true);
}
