/* Operations that move elements: reshape, transpose, slices, broadcasts, pad, concatenate, iota and their dynamic forms,
 * whose shapes come from operands. Each says which element of the operand is where in the result (interp_view.h).
 * Source: the StableHLO specification, section of each operation. */
#include <inttypes.h>
#include <string.h>

#include "interp/interp_view.h"

/* Integers of a rank-1 operand; false after a message when there are more than a tensor may have dimensions. */
bool interp_operand_ints(struct interp_call *call, uint32_t operand, int64_t *out, uint32_t *count) {
  const struct interp_value *v = call->operands[operand];
  *count = 0;
  if (v->kind != INTERP_TENSOR || !interp_is_integral(v)) {
    return interp_wrong(call, "operand %u is no list of integers", operand);
  }
  if (v->count > INTERP_MAX_RANK) {
    return interp_unsupported(call, "operand %u gives %" PRIu64 " dimensions", operand, v->count);
  }
  *count = (uint32_t)v->count;
  interp_read_int(v, 0, v->count, out);
  return true;
}

/* ---- reshape --------------------------------------------------------------------------------------------------------- */

static bool reshape(struct interp_call *call, const int64_t *dims, uint32_t rank) {
  const struct interp_value *from = call->operands[0];
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (!to) {
    return false;
  }
  if (to->count != from->count) {
    return interp_wrong(call, "%" PRIu64 " elements cannot have a shape of %" PRIu64, from->count, to->count);
  }
  if (to->size_bytes > 0) {
    memcpy(to->data, from->data, to->size_bytes);
  }
  return true;
}

bool interp_op_reshape(struct interp_call *call) {
  return reshape(call, NULL, 0);
}

bool interp_op_dynamic_reshape(struct interp_call *call) {
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  return interp_operand_ints(call, 1, dims, &rank) && reshape(call, dims, rank);
}

/* ---- bitcast --------------------------------------------------------------------------------------------------------- */

/* The elements of `v` as they lie in memory, the slowest dimension first. The attribute lists dimensions, the fastest first;
 * without it they lie row-major. */
static bool physical_view(const struct interp_call *call, const char *layout, const struct interp_value *v,
                          int64_t *dims, struct interp_view *view) {
  int64_t order[INTERP_MAX_RANK];
  bool is_seen[INTERP_MAX_RANK] = {false};
  struct interp_view all = interp_view_of(v);
  bool is_stated = ir_op_attr(call->module, call->op, layout).id != 0;
  uint32_t count = interp_attr_ints(call, layout, order, INTERP_MAX_RANK);
  *view = (struct interp_view){0};
  for (uint32_t i = 0; i < v->rank; i++) {
    int64_t dim = !is_stated ? i : count == v->rank ? order[count - 1 - i] : -1;
    if (dim < 0 || dim >= v->rank || is_seen[dim]) {
      return interp_wrong(call, "'%s' does not name each dimension once", layout);
    }
    is_seen[dim] = true;
    dims[i] = v->dims[dim];
    view->strides[i] = all.strides[dim];
  }
  return true;
}

/* Keeps the bytes as they lie; the type and layout of the result say what they are now. Elements of less than a byte are not
 * packed here, so that they stay what they are. Source: XLA's operation semantics. */
bool interp_op_bitcast(struct interp_call *call) {
  const struct interp_value *from = call->operands[0];
  int64_t from_dims[INTERP_MAX_RANK], to_dims[INTERP_MAX_RANK];
  struct interp_view from_view, to_view;
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (!to) {
    return false;
  }
  if (from->kind != INTERP_TENSOR || to->size_bytes != from->size_bytes) {
    return interp_wrong(call, "the result has another number of bytes than the operand");
  }
  if (from->dtype != to->dtype && (dtype_bits((enum dtype)from->dtype) < 8 || dtype_bits((enum dtype)to->dtype) < 8)) {
    return interp_unsupported(call, "elements of less than a byte become others");
  }
  if (!physical_view(call, "source_layout", from, from_dims, &from_view)
      || !physical_view(call, "result_layout", to, to_dims, &to_view)) {
    return false;
  }
  struct interp_value *memory = interp_scratch(call, (enum dtype)from->dtype, from_dims, from->rank);
  if (!memory) {
    return false;
  }
  struct interp_view memory_view = interp_view_of(memory);
  interp_view_copy(memory, &memory_view, from, &from_view, from_dims, from->rank);
  interp_strides(to_dims, to->rank, memory_view.strides);
  interp_view_copy(to, &to_view, memory, &memory_view, to_dims, to->rank);
  interp_release(memory);
  return true;
}

/* ---- broadcasts ------------------------------------------------------------------------------------------------------ */

/* Operand dimension i is dimension places[i] of the result, or repeats along it when it is 1. */
static bool broadcast(struct interp_call *call, const int64_t *places, uint32_t count, const int64_t *dims,
                      uint32_t rank) {
  const struct interp_value *from = call->operands[0];
  struct interp_view all = interp_view_of(from), spread = {0};
  if (count != from->rank) {
    return interp_wrong(call, "%u dimensions are named for an operand of rank %u", count, from->rank);
  }
  for (uint32_t i = 0; i < count; i++) {
    int64_t place = places[i];
    if (place < 0 || place >= rank || (from->dims[i] != 1 && from->dims[i] != dims[place])) {
      return interp_wrong(call, "dimension %u of the operand does not fit the result", i);
    }
    spread.strides[place] = from->dims[i] == 1 ? 0 : all.strides[i];
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (!to) {
    return false;
  }
  struct interp_view whole = interp_view_of(to);
  interp_view_copy(to, &whole, from, &spread, dims, rank);
  return true;
}

/* Dimensions of the result's type, which must be static. */
static bool result_dims(struct interp_call *call, int64_t *dims, uint32_t *rank) {
  struct ir_type type = ir_value_type(call->module, ir_op_result(call->module, call->op, 0));
  const struct ir_type_data *data = ir_type_get(call->module, type);
  *rank = 0;
  if (!ir_type_is_static(call->module, type) || data->rank > INTERP_MAX_RANK) {
    return interp_unsupported(call, "the shape of its result is not known");
  }
  *rank = data->rank;
  if (data->rank > 0) {
    memcpy(dims, ir_type_dims(call->module, type), data->rank * sizeof *dims);
  }
  return true;
}

bool interp_op_broadcast_in_dim(struct interp_call *call) {
  int64_t places[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  uint32_t count = interp_attr_ints(call, "broadcast_dimensions", places, INTERP_MAX_RANK), rank = 0;
  return result_dims(call, dims, &rank) && broadcast(call, places, count, dims, rank);
}

bool interp_op_dynamic_broadcast_in_dim(struct interp_call *call) {
  int64_t places[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  uint32_t count = interp_attr_ints(call, "broadcast_dimensions", places, INTERP_MAX_RANK), rank = 0;
  return interp_operand_ints(call, 1, dims, &rank) && broadcast(call, places, count, dims, rank);
}

/* New dimensions in front. */
bool interp_op_broadcast(struct interp_call *call) {
  int64_t places[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  uint32_t added = interp_attr_ints(call, "broadcast_sizes", dims, INTERP_MAX_RANK);
  const struct interp_value *from = call->operands[0];
  if (added + from->rank > INTERP_MAX_RANK) {
    return interp_unsupported(call, "a result of more than %d dimensions", INTERP_MAX_RANK);
  }
  for (uint32_t i = 0; i < from->rank; i++) {
    places[i] = added + i;
    dims[added + i] = from->dims[i];
  }
  return broadcast(call, places, from->rank, dims, added + from->rank);
}

/* ---- transpose, reverse ------------------------------------------------------------------------------------------------ */

bool interp_op_transpose(struct interp_call *call) {
  int64_t order[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  const struct interp_value *from = call->operands[0];
  uint32_t rank = interp_attr_ints(call, "permutation", order, INTERP_MAX_RANK);
  struct interp_view all = interp_view_of(from), turned = {0};
  if (rank != from->rank) {
    return interp_wrong(call, "a permutation of %u for rank %u", rank, from->rank);
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (order[i] < 0 || order[i] >= rank) {
      return interp_wrong(call, "dimension %" PRId64 " does not exist", order[i]);
    }
    dims[i] = from->dims[order[i]];
    turned.strides[i] = all.strides[order[i]];
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (!to) {
    return false;
  }
  struct interp_view whole = interp_view_of(to);
  interp_view_copy(to, &whole, from, &turned, dims, rank);
  return true;
}

bool interp_op_reverse(struct interp_call *call) {
  int64_t turned[INTERP_MAX_RANK];
  const struct interp_value *from = call->operands[0];
  uint32_t count = interp_attr_ints(call, "dimensions", turned, INTERP_MAX_RANK);
  struct interp_value *to = interp_result(call, 0, from->dims, from->rank);
  if (!to || to->count == 0) {
    return to != NULL;
  }
  struct interp_view whole = interp_view_of(to), backwards = whole;
  for (uint32_t i = 0; i < count; i++) {
    if (turned[i] < 0 || turned[i] >= from->rank) {
      return interp_wrong(call, "dimension %" PRId64 " does not exist", turned[i]);
    }
    backwards.base += (from->dims[turned[i]] - 1) * whole.strides[turned[i]];
    backwards.strides[turned[i]] = -whole.strides[turned[i]];
  }
  interp_view_copy(to, &whole, from, &backwards, to->dims, to->rank);
  return true;
}

/* ---- slices ------------------------------------------------------------------------------------------------------------ */

/* Elements start, start + stride, … below limit, of every dimension. */
static bool slice(struct interp_call *call, const int64_t *start, const int64_t *limit, const int64_t *stride) {
  int64_t dims[INTERP_MAX_RANK];
  const struct interp_value *from = call->operands[0];
  struct interp_view part = interp_view_of(from);
  for (uint32_t i = 0; i < from->rank; i++) {
    if (start[i] < 0 || limit[i] < start[i] || limit[i] > from->dims[i] || stride[i] <= 0) {
      return interp_wrong(call, "[%" PRId64 ":%" PRId64 ":%" PRId64 "] of a dimension of %" PRId64, start[i], limit[i],
                          stride[i], from->dims[i]);
    }
    int64_t length = limit[i] - start[i];
    dims[i] = length / stride[i] + (length % stride[i] != 0);
    part.base += start[i] * part.strides[i];
    part.strides[i] = dims[i] > 1 ? part.strides[i] * stride[i] : 0;
  }
  struct interp_value *to = interp_result(call, 0, dims, from->rank);
  if (!to) {
    return false;
  }
  struct interp_view whole = interp_view_of(to);
  interp_view_copy(to, &whole, from, &part, dims, from->rank);
  return true;
}

static bool has_one_per_dimension(struct interp_call *call, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t rank = call->operands[0]->rank;
  return (a == rank && b == rank && c == rank)
         || interp_wrong(call, "the operand has rank %u, which the numbers do not fit", rank);
}

bool interp_op_slice(struct interp_call *call) {
  int64_t start[INTERP_MAX_RANK], limit[INTERP_MAX_RANK], stride[INTERP_MAX_RANK];
  uint32_t a = interp_attr_ints(call, "start_indices", start, INTERP_MAX_RANK);
  uint32_t b = interp_attr_ints(call, "limit_indices", limit, INTERP_MAX_RANK);
  uint32_t c = interp_attr_ints(call, "strides", stride, INTERP_MAX_RANK);
  return has_one_per_dimension(call, a, b, c) && slice(call, start, limit, stride);
}

bool interp_op_real_dynamic_slice(struct interp_call *call) {
  int64_t start[INTERP_MAX_RANK], limit[INTERP_MAX_RANK], stride[INTERP_MAX_RANK];
  uint32_t a = 0, b = 0, c = 0;
  return interp_operand_ints(call, 1, start, &a) && interp_operand_ints(call, 2, limit, &b)
         && interp_operand_ints(call, 3, stride, &c) && has_one_per_dimension(call, a, b, c)
         && slice(call, start, limit, stride);
}

/* Start indices in scalar operands from `first` on, moved so that a window of `sizes` lies inside (spec, adjusted_start). */
static bool clamped_starts(struct interp_call *call, uint32_t first, const int64_t *sizes, int64_t *start) {
  const struct interp_value *from = call->operands[0];
  if (call->operand_count - first != from->rank) {
    return interp_wrong(call, "%u start indices for rank %u", call->operand_count - first, from->rank);
  }
  for (uint32_t i = 0; i < from->rank; i++) {
    const struct interp_value *index = call->operands[first + i];
    int64_t value = interp_int_at(index, 0), most = from->dims[i] - sizes[i];
    bool is_huge = value < 0 && dtype_class_of((enum dtype)index->dtype) == DTYPE_CLASS_UINT;
    if (sizes[i] < 0 || most < 0) {
      return interp_wrong(call, "a window of %" PRId64 " in a dimension of %" PRId64, sizes[i], from->dims[i]);
    }
    start[i] = is_huge || value > most ? most : value < 0 ? 0 : value;
  }
  return true;
}

bool interp_op_dynamic_slice(struct interp_call *call) {
  int64_t start[INTERP_MAX_RANK], sizes[INTERP_MAX_RANK], limit[INTERP_MAX_RANK], stride[INTERP_MAX_RANK];
  uint32_t count = interp_attr_ints(call, "slice_sizes", sizes, INTERP_MAX_RANK);
  if (count != call->operands[0]->rank || !clamped_starts(call, 1, sizes, start)) {
    return count == call->operands[0]->rank ? false : interp_wrong(call, "%u sizes", count);
  }
  for (uint32_t i = 0; i < count; i++) {
    limit[i] = start[i] + sizes[i];
    stride[i] = 1;
  }
  return slice(call, start, limit, stride);
}

bool interp_op_dynamic_update_slice(struct interp_call *call) {
  int64_t start[INTERP_MAX_RANK];
  const struct interp_value *from = call->operands[0], *update = call->operands[1];
  if (update->rank != from->rank) {
    return interp_wrong(call, "an update of rank %u for rank %u", update->rank, from->rank);
  }
  if (!clamped_starts(call, 2, update->dims, start)) {
    return false;
  }
  struct interp_value *to = interp_result(call, 0, from->dims, from->rank);
  if (!to) {
    return false;
  }
  if (to->size_bytes > 0) {
    memcpy(to->data, from->data, to->size_bytes);
  }
  struct interp_view window = interp_view_of(to), whole = interp_view_of(update);
  for (uint32_t i = 0; i < from->rank; i++) {
    window.base += start[i] * window.strides[i];
  }
  interp_view_copy(to, &window, update, &whole, update->dims, update->rank);
  return true;
}

/* ---- pad ---------------------------------------------------------------------------------------------------------------- */

/* Element i of a dimension goes to low + i * (interior + 1); what falls outside is dropped. */
static bool pad(struct interp_call *call, const int64_t *low, const int64_t *high, const int64_t *interior) {
  const struct interp_value *from = call->operands[0];
  int64_t dims[INTERP_MAX_RANK], kept[INTERP_MAX_RANK];
  struct interp_view part = interp_view_of(from), window;
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t holes = from->dims[i] > 0 ? from->dims[i] - 1 : 0, length;
    if (interior[i] < 0 || __builtin_mul_overflow(holes, interior[i], &length)
        || __builtin_add_overflow(length, from->dims[i], &length) || __builtin_add_overflow(length, low[i], &length)
        || __builtin_add_overflow(length, high[i], &length) || length < 0) {
      return interp_wrong(call, "the padding of dimension %u has no result", i);
    }
    dims[i] = length;
  }
  struct interp_value *to = interp_result(call, 0, dims, from->rank);
  if (!to) {
    return false;
  }
  interp_fill(to, call->operands[1]);
  window = interp_view_of(to);
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t step = interior[i] + 1;
    int64_t first = low[i] < 0 ? (-low[i] + step - 1) / step : 0; /* first element that is inside */
    int64_t end = dims[i] - low[i] <= 0 ? 0 : (dims[i] - low[i] + step - 1) / step; /* after the last one */
    end = end > from->dims[i] ? from->dims[i] : end;
    kept[i] = end > first ? end - first : 0;
    part.base += first * part.strides[i];
    window.base += (low[i] + first * step) * window.strides[i];
    window.strides[i] = kept[i] > 1 ? window.strides[i] * step : 0;
  }
  interp_view_copy(to, &window, from, &part, kept, from->rank);
  return true;
}

bool interp_op_pad(struct interp_call *call) {
  int64_t low[INTERP_MAX_RANK], high[INTERP_MAX_RANK], interior[INTERP_MAX_RANK];
  uint32_t a = interp_attr_ints(call, "edge_padding_low", low, INTERP_MAX_RANK);
  uint32_t b = interp_attr_ints(call, "edge_padding_high", high, INTERP_MAX_RANK);
  uint32_t c = interp_attr_ints(call, "interior_padding", interior, INTERP_MAX_RANK);
  return has_one_per_dimension(call, a, b, c) && pad(call, low, high, interior);
}

bool interp_op_dynamic_pad(struct interp_call *call) {
  int64_t low[INTERP_MAX_RANK], high[INTERP_MAX_RANK], interior[INTERP_MAX_RANK];
  uint32_t a = 0, b = 0, c = 0;
  return interp_operand_ints(call, 2, low, &a) && interp_operand_ints(call, 3, high, &b)
         && interp_operand_ints(call, 4, interior, &c) && has_one_per_dimension(call, a, b, c)
         && pad(call, low, high, interior);
}

/* ---- concatenate ------------------------------------------------------------------------------------------------------- */

bool interp_op_concatenate(struct interp_call *call) {
  const struct interp_value *first = call->operands[0];
  int64_t axis = interp_attr_int(call, "dimension", 0), dims[INTERP_MAX_RANK] = {0};
  if (axis < 0 || axis >= first->rank) {
    return interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, first->rank);
  }
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  dims[axis] = 0;
  for (uint32_t i = 0; i < call->operand_count; i++) {
    const struct interp_value *part = call->operands[i];
    bool fits = part->rank == first->rank;
    for (uint32_t d = 0; fits && d < first->rank; d++) {
      fits = d == axis || part->dims[d] == first->dims[d];
    }
    if (!fits || __builtin_add_overflow(dims[axis], part->dims[axis], &dims[axis])) {
      return interp_wrong(call, "operand %u has a shape that does not fit the others", i);
    }
  }
  struct interp_value *to = interp_result(call, 0, dims, first->rank);
  if (!to) {
    return false;
  }
  struct interp_view window = interp_view_of(to);
  for (uint32_t i = 0; i < call->operand_count; i++) {
    const struct interp_value *part = call->operands[i];
    struct interp_view whole = interp_view_of(part);
    interp_view_copy(to, &window, part, &whole, part->dims, part->rank);
    window.base += part->dims[axis] * window.strides[axis];
  }
  return true;
}

/* ---- iota, sizes ------------------------------------------------------------------------------------------------------- */

static bool iota(struct interp_call *call, const int64_t *dims, uint32_t rank) {
  int64_t axis = interp_attr_int(call, "iota_dimension", 0), stride = 1;
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (!to) {
    return false;
  }
  if (axis < 0 || axis >= to->rank) {
    return interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, to->rank);
  }
  for (uint32_t i = to->rank; i-- > (uint32_t)axis + 1;) {
    stride *= to->dims[i];
  }
  for (uint64_t i = 0; i < to->count; i++) {
    int64_t value = (int64_t)(i / (uint64_t)stride) % to->dims[axis];
    double real[2] = {(double)value, 0};
    if (interp_is_integral(to)) {
      interp_write_int(to, i, 1, &value);
    } else if (interp_is_complex(to)) {
      interp_write_complex(to, i, 1, real);
    } else {
      interp_write_real(to, i, 1, real);
    }
  }
  return true;
}

bool interp_op_iota(struct interp_call *call) {
  return iota(call, NULL, 0);
}

bool interp_op_dynamic_iota(struct interp_call *call) {
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  return interp_operand_ints(call, 0, dims, &rank) && iota(call, dims, rank);
}

bool interp_op_get_dimension_size(struct interp_call *call) {
  int64_t axis = interp_attr_int(call, "dimension", 0);
  if (axis < 0 || axis >= call->operands[0]->rank) {
    return interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, call->operands[0]->rank);
  }
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (to) {
    interp_write_int(to, 0, 1, &call->operands[0]->dims[axis]);
  }
  return to != NULL;
}

/* What is past the size has no meaning any more, so the tensor becomes as small. */
bool interp_op_set_dimension_size(struct interp_call *call) {
  const struct interp_value *from = call->operands[0];
  int64_t axis = interp_attr_int(call, "dimension", 0), size = interp_int_at(call->operands[1], 0);
  int64_t start[INTERP_MAX_RANK] = {0}, limit[INTERP_MAX_RANK], stride[INTERP_MAX_RANK];
  if (axis < 0 || axis >= from->rank) {
    return interp_wrong(call, "dimension %" PRId64 " of rank %u", axis, from->rank);
  }
  for (uint32_t i = 0; i < from->rank; i++) {
    limit[i] = i == axis ? size : from->dims[i];
    stride[i] = 1;
  }
  return slice(call, start, limit, stride);
}
