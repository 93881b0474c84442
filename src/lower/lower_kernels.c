/* Composites whose name begins with "kernel.": what a framework runs as one kernel. The decomposition says what it computes;
 * only operands and results are in memory. "kernel.flash_attention" and "kernel.flash_attention_backward" are attention
 * tasks whose sizes come from the products of the decomposition; all others are tasks of the decomposition's stages. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

/* A product of the decomposition as [batching..., free...] x [batching..., free...]. */
struct product {
  uint64_t batch, inner_batch; /* product of the batching dimensions; the last of them, 1 when there is one only */
  uint64_t rows, last_rows; /* product of the left free dimensions; the last of them */
  uint64_t columns, depth;
  enum dtype dtype;
};

/* ---- sizes of an attention ---- */

static struct ir_attr list_of(const struct lower *lower, struct ir_op op, const char *name) {
  struct ir_attr numbers = ir_op_attr(lower->module, op, "dot_dimension_numbers");
  return numbers.id != 0 ? ir_attr_field(lower->module, numbers, name) : (struct ir_attr){0};
}

static uint64_t list_length(const struct lower *lower, struct ir_attr list) {
  return list.id != 0 ? ir_attr_length(lower->module, list) : 0;
}

static bool read_product(const struct lower *lower, struct ir_op op, struct product *out) {
  if (ir_op_code(lower->module, op) != IR_OP_DOT_GENERAL) {
    return false;
  }
  struct lower_shape lhs = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape rhs = lower_shape_of(lower, lower_in(lower, op, 1));
  struct ir_attr batching = list_of(lower, op, "lhs_batching_dimensions");
  struct ir_attr contracted = list_of(lower, op, "lhs_contracting_dimensions");
  *out = (struct product){1, 1, 1, 1, 1, 1, lhs.dtype};
  for (uint64_t i = 0; i < list_length(lower, batching); i++) {
    uint64_t extent = lower_dim(&lhs, (uint64_t)lower_int_at(lower, batching, i, 0));
    out->batch = sat_mul_u64(out->batch, extent);
    out->inner_batch = i > 0 ? extent : 1;
  }
  for (uint64_t i = 0; i < list_length(lower, contracted); i++) {
    out->depth = sat_mul_u64(out->depth, lower_dim(&lhs, (uint64_t)lower_int_at(lower, contracted, i, 0)));
  }
  for (uint32_t d = 0; d < lhs.rank; d++) {
    if (!lower_list_has(lower, batching, d) && !lower_list_has(lower, contracted, d)) {
      out->last_rows = lower_dim(&lhs, d);
      out->rows = sat_mul_u64(out->rows, out->last_rows);
    }
  }
  uint64_t shared = sat_mul_u64(out->batch, out->depth);
  out->columns = shared > 0 ? rhs.elements / shared : 0;
  return true;
}

/* 1 where it stands without a value, 0 where it does not stand. */
static int64_t attribute_number(const struct lower *lower, struct ir_op op, const char *name) {
  struct ir_attr attributes = ir_op_attr(lower->module, op, "composite_attributes");
  struct ir_attr field = attributes.id != 0 ? ir_attr_field(lower->module, attributes, name) : (struct ir_attr){0};
  const struct ir_attr_data *data = field.id != 0 ? ir_attr_get(lower->module, field) : NULL;
  return data == NULL ? 0 : data->kind == IR_ATTR_UNIT ? 1 : data->integer;
}

/* Positions come as integers: then the rows are any part of the sequence, as the ranks of context parallelism have it. */
static bool has_positions(const struct lower *lower, struct ir_op op) {
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    enum dtype_class class_of = dtype_class_of(lower_shape_of(lower, lower_in(lower, op, i)).dtype);
    if (class_of == DTYPE_CLASS_SINT || class_of == DTYPE_CLASS_UINT) {
      return true;
    }
  }
  return false;
}

/* Pairs that a kernel computes which leaves the masked half out: query i of n, the last n of k keys, sees k - n + i + 1.
 * Ranks that hold parts of a sequence, chosen so that all have the same to do, see half on average. */
static uint64_t causal_pairs(uint64_t queries, uint64_t keys, bool is_spread) {
  if (is_spread || queries > keys) {
    return sat_mul_u64(queries, sat_add_u64(keys, 1)) / 2;
  }
  uint64_t triangle = sat_mul_u64(queries, sat_add_u64(queries, 1)) / 2;
  return sat_add_u64(triangle, sat_mul_u64(queries, keys - queries));
}

/* The first product makes the scores; the depth of values is the free side of a later product that sums over the keys. */
static bool read_attention(const struct lower *lower, struct ir_op op, struct ir_block body, struct lower_attention *a,
                           enum dtype *dtype) {
  struct product scores = {0}, next;
  bool has_scores = false;
  for (struct ir_op inner = ir_block_first(lower->module, body); inner.id != 0;
       inner = ir_op_next(lower->module, inner)) {
    if (!read_product(lower, inner, &next)) {
      continue;
    }
    if (!has_scores) {
      scores = next;
      has_scores = true;
      *a = (struct lower_attention){.kv_heads = next.inner_batch,
                                    .queries = next.last_rows,
                                    .keys = next.columns,
                                    .depth = next.depth,
                                    .value_depth = next.depth};
    } else if (next.batch == scores.batch && next.rows == scores.rows && next.depth == scores.columns) {
      a->value_depth = next.columns;
      break;
    }
  }
  if (!has_scores || scores.batch == 0 || scores.rows == 0 || scores.depth == 0 || a->keys == 0) {
    return false;
  }
  a->batch = scores.batch / a->kv_heads;
  a->heads = a->kv_heads * (scores.rows / scores.last_rows);
  bool is_causal = attribute_number(lower, op, "causal") != 0 || attribute_number(lower, op, "causal_half") != 0;
  a->pairs = is_causal ? causal_pairs(a->queries, a->keys, has_positions(lower, op)) : sat_mul_u64(a->queries, a->keys);
  /* keys that a query sees, its own included; 0 = all before it */
  int64_t window = attribute_number(lower, op, "window");
  if (is_causal && window > 0 && (uint64_t)window < a->queries && a->queries == a->keys && !has_positions(lower, op)) {
    a->pairs -= causal_pairs(a->queries - (uint64_t)window, a->queries - (uint64_t)window, false);
  }
  *dtype = scores.dtype;
  return true;
}

/* ---- the task ---- */

bool lower_kernel(struct lower *lower, struct ir_op op, struct ir_op decomposition) {
  static const char flash[] = "kernel.flash_attention", backward[] = "kernel.flash_attention_backward";
  struct ir_attr attr = ir_op_attr(lower->module, op, "name");
  const char *name = attr.id != 0 ? ir_text(lower->module, ir_attr_get(lower->module, attr)->text) : "";
  struct ir_block body = ir_function_body(lower->module, decomposition);
  if (strncmp(name, "kernel.", strlen("kernel.")) != 0 || lower->is_fusing || lower->is_starting
      || !lower_fusion_is_simple(lower, body)) {
    return false;
  }
  struct lower_attention a;
  enum dtype dtype;
  if (strncmp(name, flash, strlen(flash)) == 0 && read_attention(lower, op, body, &a, &dtype)) {
    lower_attention(lower, op, &a, dtype, strncmp(name, backward, strlen(backward)) == 0);
    return true;
  }
  lower->is_fusing = true;
  lower_call(lower, op, decomposition);
  lower->is_fusing = false;
  lower_close_fusion(lower, op);
  return true;
}
