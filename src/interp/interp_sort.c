/* sort, and top_k which is one: a stable merge sort whose comparisons go through the body for all runs of all rows at once.
 * Source: the StableHLO specification, section sort; chlo.top_k. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_custom.h"
#include "interp/interp_view.h"

/* Rows along the sorted dimension: element k of row r is first[r] + k * step of the tensor. */
struct rows {
  uint64_t count;
  int64_t length, step;
  int64_t *first;
};

/* Two sorted runs of one row that are merged: [left, middle) and [right, end), places of the permutation. */
struct merge {
  uint64_t left, middle, right, end, out;
};

struct sorter {
  struct interp_call *call;
  struct interp_body body;
  struct rows rows;
  uint32_t count; /* tensors that are sorted together */
  int64_t *order, *merged; /* elements of the operands: row after row, in sorted order so far */
  struct merge *merges; /* those that still have both runs */
  struct interp_value **arguments; /* left and right of operand 0, left and right of operand 1, … */
};

static bool rows_init(struct interp_call *call, const struct interp_value *v, int64_t axis, struct rows *rows) {
  int64_t strides[INTERP_MAX_RANK], outer[INTERP_MAX_RANK], index[INTERP_MAX_RANK] = {0};
  interp_strides(v->dims, v->rank, strides);
  *rows = (struct rows){.length = v->dims[axis], .step = strides[axis], .count = 1};
  for (uint32_t d = 0; d < v->rank; d++) {
    outer[d] = d == axis ? 1 : v->dims[d];
    rows->count *= (uint64_t)outer[d];
  }
  rows->first = calloc(rows->count + 1, sizeof *rows->first);
  if (!rows->first) {
    return interp_out_of_memory(call);
  }
  for (uint64_t r = 0; r < rows->count; r++) {
    for (uint32_t d = 0; d < v->rank; d++) {
      rows->first[r] += index[d] * strides[d];
    }
    interp_next_index(outer, v->rank, index);
  }
  return true;
}

static bool sorter_arguments(struct sorter *s, uint64_t lanes) {
  int64_t dims = (int64_t)lanes;
  for (uint32_t i = 0; i < 2 * s->count; i++) {
    interp_release(s->arguments[i]);
    s->arguments[i] = interp_scratch(s->call, (enum dtype)s->call->operands[i / 2]->dtype, &dims, 1);
    if (!s->arguments[i]) {
      return false;
    }
    s->arguments[i]->quant = s->call->operands[i / 2]->quant;
  }
  return true;
}

/* Moves one element in each of the merges: the right one when it comes before the left one, so that equals stay in order. */
static bool merge_step(struct sorter *s, uint64_t *active) {
  struct interp_value *is_before = NULL;
  uint64_t lanes = *active, kept = 0;
  if (!sorter_arguments(s, lanes)) {
    return false;
  }
  for (uint64_t i = 0; i < lanes; i++) {
    const struct merge *m = &s->merges[i];
    for (uint32_t k = 0; k < s->count; k++) {
      interp_copy_element(s->arguments[2 * k], i, s->call->operands[k], (uint64_t)s->order[m->right]);
      interp_copy_element(s->arguments[2 * k + 1], i, s->call->operands[k], (uint64_t)s->order[m->left]);
    }
  }
  if (!interp_body_apply(&s->body, s->arguments, lanes, &is_before)) {
    return false;
  }
  for (uint64_t i = 0; i < lanes; i++) {
    struct merge m = s->merges[i];
    s->merged[m.out++] = interp_int_at(is_before, i) ? s->order[m.right++] : s->order[m.left++];
    if (m.left < m.middle && m.right < m.end) {
      s->merges[kept++] = m;
      continue;
    }
    while (m.left < m.middle) {
      s->merged[m.out++] = s->order[m.left++];
    }
    while (m.right < m.end) {
      s->merged[m.out++] = s->order[m.right++];
    }
  }
  interp_release(is_before);
  *active = kept;
  return true;
}

/* Merges runs of `width` in all rows. */
static bool merge_level(struct sorter *s, int64_t width) {
  uint64_t active = 0, length = (uint64_t)s->rows.length, w = (uint64_t)width;
  memcpy(s->merged, s->order, s->rows.count * length * sizeof *s->order);
  for (uint64_t r = 0; r < s->rows.count; r++) {
    for (uint64_t at = 0; at + w < length; at += 2 * w) {
      uint64_t base = r * length, end = at + 2 * w < length ? at + 2 * w : length;
      s->merges[active++] = (struct merge){base + at, base + at + w, base + at + w, base + end, base + at};
    }
  }
  bool ok = true;
  while (ok && active > 0) {
    ok = merge_step(s, &active);
  }
  int64_t *swap = s->order;
  s->order = s->merged;
  s->merged = swap;
  return ok;
}

/* order[r * length + k] = element of the operands that is k-th in row r. */
static bool sort_rows(struct sorter *s) {
  uint64_t length = (uint64_t)s->rows.length, total = s->rows.count * length;
  s->order = malloc((total + 1) * sizeof *s->order);
  s->merged = malloc((total + 1) * sizeof *s->merged);
  s->merges = malloc((total + 1) * sizeof *s->merges);
  s->arguments = calloc(2 * (size_t)s->count, sizeof(struct interp_value *));
  if (!s->order || !s->merged || !s->merges || !s->arguments) {
    return interp_out_of_memory(s->call);
  }
  for (uint64_t i = 0; i < total; i++) {
    s->order[i] = s->rows.first[i / length] + (int64_t)(i % length) * s->rows.step;
  }
  bool ok = true;
  for (int64_t width = 1; ok && width < s->rows.length; width *= 2) {
    ok = merge_level(s, width);
  }
  return ok;
}

static void sorter_release(struct sorter *s) {
  for (uint32_t i = 0; s->arguments && i < 2 * s->count; i++) {
    interp_release(s->arguments[i]);
  }
  free(s->arguments);
  free(s->order);
  free(s->merged);
  free(s->merges);
  free(s->rows.first);
}

static bool write_sorted(struct sorter *s) {
  for (uint32_t k = 0; k < s->count; k++) {
    const struct interp_value *from = s->call->operands[k];
    struct interp_value *to = interp_result(s->call, k, from->dims, from->rank);
    if (!to) {
      return false;
    }
    for (uint64_t r = 0; r < s->rows.count; r++) {
      for (int64_t i = 0; i < s->rows.length; i++) {
        interp_copy_element(to, (uint64_t)(s->rows.first[r] + i * s->rows.step), from,
                            (uint64_t)s->order[r * (uint64_t)s->rows.length + (uint64_t)i]);
      }
    }
  }
  return true;
}

bool interp_op_sort(struct interp_call *call) {
  struct sorter s = {.call = call, .count = call->operand_count};
  const struct interp_value *first = call->operand_count > 0 ? call->operands[0] : NULL;
  int64_t axis = interp_attr_int(call, "dimension", -1);
  if (!first || call->result_count != call->operand_count) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  axis += axis < 0 ? first->rank : 0;
  for (uint32_t i = 0; i < call->operand_count; i++) {
    const struct interp_value *v = call->operands[i];
    if (v->rank != first->rank || (v->rank > 0 && memcmp(v->dims, first->dims, v->rank * sizeof *v->dims) != 0)) {
      return interp_wrong(call, "operand %u has another shape than the first", i);
    }
  }
  if (first->rank == 0) {
    return interp_op_identity(call);
  }
  if (axis < 0 || axis >= first->rank) {
    return interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, first->rank);
  }
  interp_body_init(&s.body, call->frame, call->op, 0);
  if (s.body.argument_count != 2 * s.count || s.body.result_count != 1) {
    return interp_wrong(call, "its comparator has %u arguments", s.body.argument_count);
  }
  bool ok = rows_init(call, first, axis, &s.rows) && sort_rows(&s) && write_sorted(&s);
  sorter_release(&s);
  return ok;
}

/* ---- top_k --------------------------------------------------------------------------------------------------------------- */

/* An element of a row. NaN counts as larger than everything (as in XLA's total order). Numbers are negated when the smallest
 * are wanted. */
struct ranked {
  double real;
  int64_t integer;
  int64_t place;
};

/* Larger ones first, equal ones in the order of their places. */
static int compare_ranked(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  if (x->real != y->real) {
    return x->real > y->real ? -1 : 1;
  }
  if (x->integer != y->integer) {
    return x->integer > y->integer ? -1 : 1;
  }
  return x->place < y->place ? -1 : 1;
}

static void rank_row(const struct interp_value *from, uint64_t row, bool is_largest, struct ranked *ranked) {
  int64_t length = from->dims[from->rank - 1];
  bool is_unsigned = dtype_class_of((enum dtype)from->dtype) == DTYPE_CLASS_UINT;
  for (int64_t i = 0; i < length; i++) {
    uint64_t at = row * (uint64_t)length + (uint64_t)i;
    ranked[i] = (struct ranked){.place = i};
    if (interp_is_integral(from)) {
      int64_t value = interp_int_at(from, at);
      value = is_unsigned ? (int64_t)((uint64_t)value ^ ((uint64_t)1 << 63)) : value;
      ranked[i].integer = is_largest ? value : ~value;
      continue;
    }
    double value;
    interp_read_real(from, at, 1, &value);
    ranked[i].integer = isnan(value); /* after infinity */
    ranked[i].real = isnan(value) ? (double)INFINITY : value;
    if (!is_largest) {
      ranked[i].real = -ranked[i].real;
      ranked[i].integer = -ranked[i].integer;
    }
  }
  qsort(ranked, (size_t)length, sizeof *ranked, compare_ranked);
}

/* The k largest (smallest) elements of every row, in order, and their places. */
static bool top_k(struct interp_call *call, int64_t k, bool is_largest) {
  const struct interp_value *from = call->operands[0];
  int64_t dims[INTERP_MAX_RANK];
  if (from->rank == 0 || k < 0 || k > from->dims[from->rank - 1] || call->result_count != 2
      || interp_is_complex(from)) {
    return interp_wrong(call, "k = %" PRId64 " does not fit its operand", k);
  }
  memcpy(dims, from->dims, from->rank * sizeof *dims);
  int64_t length = dims[from->rank - 1];
  dims[from->rank - 1] = k;
  struct interp_value *values = interp_result(call, 0, dims, from->rank);
  struct interp_value *places = values ? interp_result(call, 1, dims, from->rank) : NULL;
  struct ranked *ranked = malloc(((size_t)length + 1) * sizeof *ranked);
  if (!places || !ranked) {
    free(ranked);
    return places ? interp_out_of_memory(call) : false;
  }
  if (values->dtype != from->dtype || !interp_is_integral(places)) {
    free(ranked);
    return interp_wrong(call, "its results are not of the types of its operand and of places");
  }
  for (uint64_t row = 0; length > 0 && row < from->count / (uint64_t)length; row++) {
    rank_row(from, row, is_largest, ranked);
    for (int64_t i = 0; i < k; i++) {
      uint64_t to = row * (uint64_t)k + (uint64_t)i;
      interp_copy_element(values, to, from, row * (uint64_t)length + (uint64_t)ranked[i].place);
      interp_write_int(places, to, 1, &ranked[i].place);
    }
  }
  free(ranked);
  return true;
}

bool interp_op_top_k(struct interp_call *call) {
  return top_k(call, interp_attr_int(call, "k", 0), interp_attr_bool(call, "largest", true));
}

/* The custom calls of it: k is an attribute, or what the result has. */
bool interp_target_top_k(struct interp_call *call) {
  struct ir_type type = call->result_count > 0 ? ir_value_type(call->module, ir_op_result(call->module, call->op, 0))
                                               : (struct ir_type){0};
  const struct ir_type_data *data = ir_type_get(call->module, type);
  int64_t k = data->kind == IR_TYPE_TENSOR && data->rank > 0 ? ir_type_dims(call->module, type)[data->rank - 1] : -1;
  return top_k(call, interp_config_int(call, "k", k), interp_config_int(call, "largest", 1) != 0);
}

/* k is the second operand. */
bool interp_target_dynamic_top_k(struct interp_call *call) {
  bool has_k = call->operand_count == 2 && call->operands[1]->count == 1 && interp_is_integral(call->operands[1]);
  return has_k ? top_k(call, interp_int_at(call->operands[1], 0), true) : interp_wrong(call, "its operands name no k");
}

/* ---- approximate top-k --------------------------------------------------------------------------------------------------- */

/* The first `length` elements of every sorted row, then initial values (operands count … 2 count - 1). */
static bool write_first(struct sorter *s, int64_t axis, int64_t length) {
  int64_t dims[INTERP_MAX_RANK];
  const struct interp_value *first = s->call->operands[0];
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  dims[axis] = length;
  for (uint32_t k = 0; k < s->count; k++) {
    struct rows rows = {0};
    struct interp_value *to = interp_result(s->call, k, dims, first->rank);
    const struct interp_value *from = s->call->operands[k], *otherwise = s->call->operands[s->count + k];
    if (!to || to->dtype != from->dtype || otherwise->dtype != from->dtype || otherwise->count != 1) {
      return to ? interp_wrong(s->call, "its operands and results have different element types") : false;
    }
    if (!rows_init(s->call, to, axis, &rows)) {
      return false;
    }
    for (uint64_t r = 0; r < rows.count; r++) {
      for (int64_t i = 0; i < length; i++) {
        bool is_there = i < s->rows.length;
        interp_copy_element(to, (uint64_t)(rows.first[r] + i * rows.step), is_there ? from : otherwise,
                            is_there ? (uint64_t)s->order[r * (uint64_t)s->rows.length + (uint64_t)i] : 0);
      }
    }
    free(rows.first);
  }
  return true;
}

/* Length of the result along the axis: its type's, or, where that is dynamic, what a shape operand says. */
static int64_t approximate_length(const struct interp_call *call, uint32_t count, int64_t axis) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  const struct ir_type_data *data = ir_type_get(call->module, type);
  if (data->kind == IR_TYPE_TENSOR && axis < data->rank && ir_type_dims(call->module, type)[axis] != IR_DYNAMIC) {
    return ir_type_dims(call->module, type)[axis];
  }
  const struct interp_value *shape = call->operand_count > 2 * count + 1 ? call->operands[2 * count + 1] : NULL;
  return shape && interp_is_integral(shape) && (uint64_t)axis < shape->count ? interp_int_at(shape, (uint64_t)axis)
                                                                             : -1;
}

/* Operands: tensors, their initial values, and what else the form has; the comparator is a function. The exact answer is one
 * of those that are allowed. */
static bool approx_top_k(struct interp_call *call, uint32_t others) {
  struct sorter s = {.call = call, .count = call->operand_count > others ? (call->operand_count - others) / 2 : 0};
  const struct interp_value *first = call->operands[0];
  int64_t axis = interp_config_int(call, "reduction_dim", -1);
  bool fits = s.count > 0 && call->operand_count == 2 * s.count + others && call->result_count == s.count && axis >= 0
              && axis < first->rank;
  for (uint32_t i = 1; fits && i < s.count; i++) {
    const struct interp_value *v = call->operands[i];
    fits = v->rank == first->rank && memcmp(v->dims, first->dims, v->rank * sizeof *v->dims) == 0;
  }
  int64_t length = fits ? approximate_length(call, s.count, axis) : -1;
  struct ir_op function = length >= 0 ? interp_called_function(call) : (struct ir_op){0};
  struct interp_frame frame = {0};
  if (!function.id) {
    return length >= 0 ? false : interp_wrong(call, "its operands and results do not fit its configuration");
  }
  bool ok = interp_takes_elements(call, function, s.count, true)
            && interp_frame_open(call->frame->process, call, function, &frame);
  if (ok) {
    interp_body_init(&s.body, &frame, function, 0);
    ok = s.body.argument_count == 2 * s.count && s.body.result_count == 1
             ? rows_init(call, first, axis, &s.rows) && sort_rows(&s) && write_first(&s, axis, length)
             : interp_wrong(call, "its comparator has %u arguments", s.body.argument_count);
  }
  sorter_release(&s);
  interp_frame_close(&frame);
  return ok;
}

bool interp_target_approx_top_k(struct interp_call *call) {
  return approx_top_k(call, 0);
}

/* Then k, and the shapes of the results that indices_of_shape_operands names. */
bool interp_target_dynamic_approx_top_k(struct interp_call *call) {
  return approx_top_k(call, 1 + call->result_count);
}
