/* Reductions: operations that apply a body over and over. The body's operations are counted from its region. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

static struct ir_region region_of(const struct lower *lower, struct ir_op op, uint32_t i) {
  return i < ir_op_get(lower->module, op)->region_count ? ir_op_region(lower->module, op, i) : (struct ir_region){0};
}

static void body_work(struct lower *lower, struct ir_op op, uint32_t region) {
  struct ir_region body = region_of(lower, op, region);
  if (body.id != 0) {
    lower_body_work(lower, body);
  }
}

/* Reads of all operands; those before `mapped` have the given axes. */
static void read_operands(struct lower *lower, size_t base, uint32_t count, uint32_t mapped, const int16_t *axes) {
  for (uint32_t i = 0; i < count && base + i < lower->scratch.count; i++) {
    lower_read(lower, lower->scratch.data[base + i], i < mapped ? axes : NULL, UINT64_MAX, 0);
  }
}

static size_t push_operands(struct lower *lower, struct ir_op op) {
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    size_t before = lower->scratch.count;
    lower_push_leaves(lower, lower_in(lower, op, i));
    if (lower->scratch.count == before && !vec_push(&lower->scratch, (uint32_t)LOWER_NONE)) {
      lower_memory(lower);
    }
  }
  return base;
}

/* Results in order; a result that is a tuple gives several. */
static void new_results(struct lower *lower, struct ir_op op) {
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
}

static void write_from(struct lower *lower, size_t first, uint32_t rank) {
  for (size_t i = first; i < lower->scratch.count && !lower_stopped(lower); i++) {
    lower_write_all(lower, lower->scratch.data[i], rank);
  }
}

void lower_reduce(struct lower *lower, struct ir_op op) {
  struct ir_attr dims = ir_op_attr(lower->module, op, "dimensions");
  const uint32_t operands = lower_in_count(lower, op);
  struct lower_shape in = operands > 0 ? lower_shape_of(lower, lower_in(lower, op, 0)) : (struct lower_shape){0};
  size_t base = push_operands(lower, op), results = lower->scratch.count;
  new_results(lower, op);
  lower_begin(lower, op, WORK_REDUCE);
  int16_t axes[LOWER_MAX_RANK];
  uint32_t kept = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t d = 0; d < in.rank && d < LOWER_MAX_RANK; d++) {
      if (lower_list_has(lower, dims, d) == (pass == 1)) {
        axes[d] = (int16_t)lower_axis(lower, pass == 0 ? WORK_AXIS_PARALLEL : WORK_AXIS_REDUCTION, lower_dim(&in, d));
        kept += pass == 0;
      }
    }
  }
  body_work(lower, op, 0);
  read_operands(lower, base, operands, operands / 2, axes);
  write_from(lower, results, kept);
  lower->scratch.count = base;
  lower_end(lower);
}

/* Output axes, then for every dimension with a window its position in it. */
static void window_axes(struct lower *lower, struct ir_op op, const struct lower_shape *in,
                        const struct lower_shape *out, int16_t *axes) {
  struct ir_attr sizes = ir_op_attr(lower->module, op, "window_dimensions");
  struct ir_attr strides = ir_op_attr(lower->module, op, "window_strides");
  struct ir_attr padding = ir_op_attr(lower->module, op, "padding");
  struct ir_attr base_dilations = ir_op_attr(lower->module, op, "base_dilations");
  struct ir_attr window_dilations = ir_op_attr(lower->module, op, "window_dilations");
  lower_axes_of(lower, out);
  for (uint32_t d = 0; d < in->rank && d < LOWER_MAX_RANK; d++) {
    int64_t size = lower_int_at(lower, sizes, d, 1);
    bool is_trivial = size == 1 && lower_dim(in, d) == lower_dim(out, d);
    axes[d] = is_trivial ? (int16_t)d : -1;
    if (is_trivial || d >= out->rank) {
      continue;
    }
    uint64_t hits =
        analyze_window_hits((int64_t)lower_dim(in, d), size, (int64_t)lower_dim(out, d),
                            lower_int_at(lower, strides, d, 1), lower_int_at(lower, padding, 2 * (uint64_t)d, 0),
                            lower_int_at(lower, base_dilations, d, 1), lower_int_at(lower, window_dilations, d, 1));
    lower_window(lower, size > 0 ? (uint64_t)size : 0, d, hits);
  }
}

/* A prefix sum written as a window that reaches from every element back to the first (or on to the last): one window of
 * the length of its dimension, moved by one, padded on one side. Compilers do not add up n windows (XLA's
 * ReduceWindowRewriter makes a tree of segments of 128): about two applications per element. 0: it is no scan, or so short
 * that the windows take less. */
static uint64_t scan_applications(struct lower *lower, struct ir_op op, const struct lower_shape *in,
                                  const struct lower_shape *out) {
  struct ir_attr sizes = ir_op_attr(lower->module, op, "window_dimensions");
  struct ir_attr padding = ir_op_attr(lower->module, op, "padding");
  static const char *const units[] = {"window_strides", "base_dilations", "window_dilations"};
  uint64_t length = 0, rows = 1;
  for (uint32_t d = 0; d < in->rank; d++) {
    uint64_t n = lower_dim(in, d);
    int64_t size = lower_int_at(lower, sizes, d, 1);
    int64_t low = lower_int_at(lower, padding, 2 * (uint64_t)d, 0);
    int64_t high = lower_int_at(lower, padding, 2 * (uint64_t)d + 1, 0);
    bool is_plain = n == lower_dim(out, d);
    for (unsigned u = 0; u < sizeof units / sizeof units[0]; u++) {
      is_plain &= lower_int_at(lower, ir_op_attr(lower->module, op, units[u]), d, 1) == 1;
    }
    if (is_plain && size == 1) {
      rows = sat_mul_u64(rows, n);
    } else if (is_plain && length == 0 && size > 1 && (uint64_t)size == n
               && ((low == size - 1 && high == 0) || (low == 0 && high == size - 1))) {
      length = n;
    } else {
      return 0;
    }
  }
  return length > 4 ? sat_mul_u64(rows, 2 * (length - 1)) : 0;
}

void lower_reduce_window(struct lower *lower, struct ir_op op) {
  const uint32_t operands = lower_in_count(lower, op);
  if (operands == 0 || lower_out_count(lower, op) == 0) {
    lower_opaque_op(lower, op);
    return;
  }
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  size_t base = push_operands(lower, op), results = lower->scratch.count;
  new_results(lower, op);
  lower_begin(lower, op, WORK_REDUCE_WINDOW);
  int16_t axes[LOWER_MAX_RANK];
  memset(axes, 0xFF, sizeof axes);
  window_axes(lower, op, &in, &out, axes);
  lower->stage.applications = scan_applications(lower, op, &in, &out);
  body_work(lower, op, 0);
  read_operands(lower, base, operands, operands / 2, axes);
  write_from(lower, results, out.rank);
  lower->scratch.count = base;
  lower_end(lower);
}

/* Two stages of one task: choosing an element of every window (no result in memory: the choice is used at once), then
 * adding the source there. */
void lower_select_and_scatter(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), source = lower_operand(lower, op, 1),
           init = lower_operand(lower, op, 2);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape from = lower_shape_of(lower, lower_in(lower, op, 1));
  uint32_t result = lower_result(lower, op, 0);
  lower_begin(lower, op, WORK_SELECT_AND_SCATTER);
  lower->stage.dtype = (uint8_t)in.dtype;
  int16_t axes[LOWER_MAX_RANK];
  memset(axes, 0xFF, sizeof axes);
  window_axes(lower, op, &in, &from, axes);
  body_work(lower, op, 0);
  lower_read(lower, operand, axes, UINT64_MAX, 0);
  lower_end_stage(lower);
  lower_begin(lower, op, WORK_SELECT_AND_SCATTER);
  lower_axes_of(lower, &from);
  body_work(lower, op, 1);
  lower_read_all(lower, source, from.rank);
  lower_read(lower, init, NULL, UINT64_MAX, 0);
  lower_write(lower, result, NULL, UINT64_MAX, 0);
  lower_end(lower);
}

void lower_map(struct lower *lower, struct ir_op op) {
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  size_t base = push_operands(lower, op);
  uint32_t operands = (uint32_t)(lower->scratch.count - base);
  uint32_t result = lower_result(lower, op, 0);
  lower_begin(lower, op, WORK_ELEMENTWISE);
  lower_axes_of(lower, &out);
  body_work(lower, op, 0);
  for (uint32_t i = 0; i < operands; i++) {
    lower_read_all(lower, lower->scratch.data[base + i], out.rank);
  }
  lower->scratch.count = base;
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}

/* Per element, from the decompositions of the StableHLO specification:
 *   inference  subtract mean, multiply by (scale x rsqrt), add offset, and the product folded per feature: 4
 *   training   mean: 1 addition; variance: subtract, multiply, add; then as inference: 8
 *   grad       centre 1, two sums 3, operand gradient 6: 10
 * and one reciprocal square root per feature in a stage of its own. */
void lower_batch_norm(struct lower *lower, struct ir_op op) {
  static const struct {
    enum ir_opcode opcode;
    uint32_t vector_ops;
  } counts[] = {{IR_OP_BATCH_NORM_INFERENCE, 4}, {IR_OP_BATCH_NORM_TRAINING, 8}, {IR_OP_BATCH_NORM_GRAD, 10}};
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  int64_t feature = lower_int_attr(lower, op, "feature_index", 0);
  size_t base = push_operands(lower, op), results = lower->scratch.count;
  new_results(lower, op);
  enum dtype dtype = lower_real_type(in.dtype);
  int64_t features = (int64_t)lower_dim(&in, (uint64_t)feature);
  uint32_t reciprocal = lower_tensor(lower, dtype, &features, 1);
  lower_hide(lower, reciprocal);
  lower_begin(lower, op, WORK_BATCH_NORM);
  lower_axis(lower, WORK_AXIS_PARALLEL, (uint64_t)features);
  lower_work_function(lower, WORK_FUNCTION_RSQRT, dtype, 1);
  lower_write_all(lower, reciprocal, 1);
  lower_end_stage(lower);
  lower_begin(lower, op, WORK_BATCH_NORM);
  lower_axes_of(lower, &in);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    if (counts[i].opcode == ir_op_code(lower->module, op)) {
      lower_work(lower, WORK_ENGINE_VECTOR, dtype, counts[i].vector_ops);
    }
  }
  for (size_t i = base; i < results; i++) {
    lower_read_all(lower, lower->scratch.data[i], in.rank);
  }
  lower_read(lower, reciprocal, NULL, UINT64_MAX, 0);
  write_from(lower, results, in.rank);
  lower->scratch.count = base;
  lower_end(lower);
}
