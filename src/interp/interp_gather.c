/* gather, scatter and their relatives: windows of a tensor at indices that are themselves in a tensor.
 * Source: the StableHLO specification, sections gather and scatter; names as there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_view.h"

/* Dimension numbers of a gather or scatter: which dimensions of the windows are offsets, which of the operand are indexed. */
struct windows {
  int64_t offset_dims[INTERP_MAX_RANK]; /* of the gathered result or the updates: window dimensions, in order */
  int64_t
      skipped_dims[INTERP_MAX_RANK]; /* of the operand: without a window dimension (collapsed or batching), any order */
  int64_t operand_batching[INTERP_MAX_RANK], indices_batching[INTERP_MAX_RANK];
  int64_t index_map[INTERP_MAX_RANK]; /* operand dimension of each component of an index vector */
  uint32_t offset_count, skipped_count, batching_count, map_count;
  int64_t vector_dim; /* dimension of the indices that holds the components; their rank when there is one component */
};

/* Names of the fields that hold the numbers. */
struct window_fields {
  const char *attr, *offset, *skipped, *operand_batching, *indices_batching, *map;
};
static const struct window_fields gather_fields = {"dimension_numbers",           "offset_dims",
                                                   "collapsed_slice_dims",        "operand_batching_dims",
                                                   "start_indices_batching_dims", "start_index_map"};
static const struct window_fields scatter_fields = {"scatter_dimension_numbers",     "update_window_dims",
                                                    "inserted_window_dims",          "input_batching_dims",
                                                    "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};

static bool all_below(const int64_t *dims, uint32_t count, int64_t rank) {
  for (uint32_t i = 0; i < count; i++) {
    if (dims[i] < 0 || dims[i] >= rank) {
      return false;
    }
  }
  return true;
}

/* Reads and checks the numbers, so that everything below may index with them. `window_rank` is that of the result of a
 * gather, the updates of a scatter (UINT32_MAX: not known yet). */
static bool read_windows(struct interp_call *call, const struct window_fields *fields,
                         const struct interp_value *operand, const struct interp_value *indices, uint32_t window_rank,
                         struct windows *w) {
  struct ir_attr numbers = ir_op_attr(call->module, call->op, fields->attr);
  *w = (struct windows){0};
  if (!numbers.id) {
    return interp_wrong(call, "it has no attribute '%s'", fields->attr);
  }
  w->offset_count = interp_field_ints(call, numbers, fields->offset, w->offset_dims);
  w->skipped_count = interp_field_ints(call, numbers, fields->skipped, w->skipped_dims);
  w->batching_count = interp_field_ints(call, numbers, fields->operand_batching, w->operand_batching);
  uint32_t batching = interp_field_ints(call, numbers, fields->indices_batching, w->indices_batching);
  w->map_count = interp_field_ints(call, numbers, fields->map, w->index_map);
  w->vector_dim = interp_field_int(call, numbers, "index_vector_dim", 0);
  bool ok = batching == w->batching_count && w->skipped_count + w->batching_count <= INTERP_MAX_RANK
            && w->vector_dim >= 0 && w->vector_dim <= indices->rank
            && all_below(w->offset_dims, w->offset_count, window_rank)
            && all_below(w->operand_batching, w->batching_count, operand->rank)
            && all_below(w->indices_batching, batching, indices->rank)
            && all_below(w->index_map, w->map_count, operand->rank);
  for (uint32_t i = 0; ok && i < w->batching_count; i++) {
    ok = w->indices_batching[i] != w->vector_dim;
    w->skipped_dims[w->skipped_count++] = w->operand_batching[i];
  }
  int64_t components = w->vector_dim < indices->rank ? indices->dims[w->vector_dim] : 1;
  ok = ok && all_below(w->skipped_dims, w->skipped_count, operand->rank) && components == w->map_count
       && w->offset_count + w->skipped_count == operand->rank;
  return ok || interp_wrong(call, "its dimension numbers do not fit its operands");
}

static bool contains(const int64_t *list, uint32_t count, int64_t value) {
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] == value) {
      return true;
    }
  }
  return false;
}

/* The operand's dimension of each window dimension, in order. */
static void window_places(const struct windows *w, uint32_t operand_rank, uint32_t *places) {
  uint32_t next = 0;
  for (uint32_t d = 0; d < operand_rank; d++) {
    if (!contains(w->skipped_dims, w->skipped_count, d)) {
      places[next++] = d;
    }
  }
}

/* Dimensions of the indices but the one of components, in order: one position of them per window. */
static uint32_t batch_dims(const struct windows *w, const struct interp_value *indices, int64_t *dims,
                           uint32_t *places) {
  uint32_t count = 0;
  for (uint32_t d = 0; d < indices->rank; d++) {
    if (d != w->vector_dim) {
      dims[count] = indices->dims[d];
      places[count++] = d;
    }
  }
  return count;
}

/* Where the window of one position of the indices starts in the operand (full_start_index + full_batching_index). Unsigned
 * indices that are too large for int64 saturate. */
static void window_start(const struct windows *w, const struct interp_value *indices, const int64_t *position,
                         const uint32_t *places, uint32_t batch_count, int64_t *start, uint32_t operand_rank) {
  int64_t strides[INTERP_MAX_RANK], at = 0, place_of[INTERP_MAX_RANK] = {0};
  interp_strides(indices->dims, indices->rank, strides);
  for (uint32_t i = 0; i < batch_count; i++) {
    at += position[i] * strides[places[i]];
    place_of[places[i]] = position[i];
  }
  memset(start, 0, operand_rank * sizeof *start);
  bool is_unsigned = dtype_class_of((enum dtype)indices->dtype) == DTYPE_CLASS_UINT;
  for (uint32_t k = 0; k < w->map_count; k++) {
    int64_t step = w->vector_dim < indices->rank ? strides[w->vector_dim] : 0;
    int64_t value = interp_int_at(indices, (uint64_t)(at + k * step));
    start[w->index_map[k]] = is_unsigned && value < 0 ? INT64_MAX : value;
  }
  for (uint32_t k = 0; k < w->batching_count; k++) {
    start[w->operand_batching[k]] = place_of[w->indices_batching[k]];
  }
}

/* ---- gather ------------------------------------------------------------------------------------------------------------ */

/* Dimensions of the result: those of the indices and of the window, interleaved as offset_dims says. */
static bool gather_dims(struct interp_call *call, const struct windows *w, const int64_t *batch, uint32_t batch_count,
                        const int64_t *window, int64_t *dims, uint32_t *rank) {
  uint32_t next_window = 0, next_batch = 0;
  *rank = batch_count + w->offset_count;
  if (*rank > INTERP_MAX_RANK || !all_below(w->offset_dims, w->offset_count, *rank)) {
    return interp_wrong(call, "its dimension numbers do not fit its result");
  }
  for (uint32_t d = 0; d < *rank; d++) {
    bool is_window = contains(w->offset_dims, w->offset_count, d);
    if (is_window ? next_window == w->offset_count : next_batch == batch_count) {
      return interp_wrong(call, "offset_dims are not different from each other");
    }
    dims[d] = is_window ? window[next_window++] : batch[next_batch++];
  }
  return true;
}

/* Copies one window per position of the indices. */
static void gather_windows(struct interp_value *to, const struct interp_value *from, const struct interp_value *indices,
                           const struct windows *w, const int64_t *sizes, const int64_t *window,
                           const uint32_t *operand_places) {
  int64_t batch[INTERP_MAX_RANK], position[INTERP_MAX_RANK] = {0}, start[INTERP_MAX_RANK];
  uint32_t places[INTERP_MAX_RANK], batch_count = batch_dims(w, indices, batch, places);
  struct interp_view to_all = interp_view_of(to), from_all = interp_view_of(from), to_view = {0}, from_view = {0};
  int64_t batch_strides[INTERP_MAX_RANK];
  uint32_t next = 0;
  for (uint32_t d = 0; d < to->rank; d++) {
    if (!contains(w->offset_dims, w->offset_count, d)) {
      batch_strides[next++] = to_all.strides[d];
    }
  }
  for (uint32_t k = 0; k < w->offset_count; k++) {
    to_view.strides[k] = to_all.strides[w->offset_dims[k]];
    from_view.strides[k] = from_all.strides[operand_places[k]];
  }
  do {
    window_start(w, indices, position, places, batch_count, start, from->rank);
    from_view.base = to_view.base = 0;
    for (uint32_t d = 0; d < from->rank; d++) {
      int64_t most = from->dims[d] - sizes[d];
      from_view.base += (start[d] < 0 ? 0 : start[d] > most ? most : start[d]) * from_all.strides[d];
    }
    for (uint32_t i = 0; i < batch_count; i++) {
      to_view.base += position[i] * batch_strides[i];
    }
    interp_view_copy(to, &to_view, from, &from_view, window, w->offset_count);
  } while (interp_next_index(batch, batch_count, position));
}

static bool gather(struct interp_call *call, const int64_t *sizes, uint32_t size_count) {
  const struct interp_value *from = call->operands[0], *indices = call->operands[1];
  struct windows w;
  int64_t batch[INTERP_MAX_RANK], window[INTERP_MAX_RANK], dims[INTERP_MAX_RANK];
  uint32_t places[INTERP_MAX_RANK], operand_places[INTERP_MAX_RANK], rank = 0;
  if (!read_windows(call, &gather_fields, from, indices, UINT32_MAX, &w)) {
    return false;
  }
  bool fits = size_count == from->rank;
  for (uint32_t d = 0; fits && d < from->rank; d++) {
    fits =
        sizes[d] >= 0 && sizes[d] <= from->dims[d] && (sizes[d] <= 1 || !contains(w.skipped_dims, w.skipped_count, d));
  }
  if (!fits) {
    return interp_wrong(call, "slice_sizes do not fit the operand");
  }
  window_places(&w, from->rank, operand_places);
  for (uint32_t k = 0; k < w.offset_count; k++) {
    window[k] = sizes[operand_places[k]];
  }
  uint32_t batch_count = batch_dims(&w, indices, batch, places);
  if (!gather_dims(call, &w, batch, batch_count, window, dims, &rank)) {
    return false;
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (to && to->count > 0) {
    gather_windows(to, from, indices, &w, sizes, window, operand_places);
  }
  return to != NULL;
}

bool interp_op_gather(struct interp_call *call) {
  int64_t sizes[INTERP_MAX_RANK];
  uint32_t count = interp_attr_ints(call, "slice_sizes", sizes, INTERP_MAX_RANK);
  return gather(call, sizes, count);
}

bool interp_op_dynamic_gather(struct interp_call *call) {
  int64_t sizes[INTERP_MAX_RANK];
  if (call->operands[2]->count > INTERP_MAX_RANK) {
    return interp_wrong(call, "%" PRIu64 " slice sizes", call->operands[2]->count);
  }
  interp_read_int(call->operands[2], 0, call->operands[2]->count, sizes);
  return gather(call, sizes, (uint32_t)call->operands[2]->count);
}

/* result[batch, index position, rest] = operand[batch, index, rest]; an index outside is moved inside. */
bool interp_op_torch_index_select(struct interp_call *call) {
  const struct interp_value *from = call->operands[0], *index = call->operands[1];
  int64_t axis = interp_attr_int(call, "dim", 0), batch = interp_attr_int(call, "batch_dims", 0);
  int64_t dims[INTERP_MAX_RANK], position[INTERP_MAX_RANK] = {0}, index_strides[INTERP_MAX_RANK];
  uint32_t rank = 0;
  if (axis < 0 || axis >= from->rank || batch < 0 || batch > axis || batch > index->rank
      || from->rank + index->rank > INTERP_MAX_RANK) {
    return interp_wrong(call, "dim = %" PRId64 ", batch_dims = %" PRId64 " do not fit its operands", axis, batch);
  }
  for (uint32_t d = 0; d < axis; d++) {
    dims[rank++] = from->dims[d];
  }
  for (uint32_t d = (uint32_t)batch; d < index->rank; d++) {
    dims[rank++] = index->dims[d];
  }
  for (uint32_t d = (uint32_t)axis + 1; d < from->rank; d++) {
    dims[rank++] = from->dims[d];
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (!to || to->count == 0 || from->count == 0) {
    return to != NULL;
  }
  struct interp_view from_all = interp_view_of(from);
  uint32_t added = index->rank - (uint32_t)batch;
  interp_strides(index->dims, index->rank, index_strides);
  uint64_t at = 0;
  do {
    int64_t from_at = 0, index_at = 0;
    for (uint32_t d = 0; d < rank; d++) {
      bool is_index = d >= axis && d < axis + added;
      index_at += d < batch ? position[d] * index_strides[d] : 0;
      index_at += is_index ? position[d] * index_strides[d - axis + batch] : 0;
      from_at += is_index ? 0 : position[d] * from_all.strides[d < axis ? d : d - added + 1];
    }
    int64_t i = interp_int_at(index, (uint64_t)index_at), most = from->dims[axis] - 1;
    from_at += (i < 0 ? 0 : i > most ? most : i) * from_all.strides[axis];
    interp_copy_element(to, at++, from, (uint64_t)from_at);
  } while (interp_next_index(dims, rank, position));
  return true;
}

/* ---- scatter ----------------------------------------------------------------------------------------------------------- */

/* What is needed while the windows of a scatter are applied one after the other. */
struct scatter {
  struct interp_call *call;
  struct windows w;
  struct interp_body body;
  uint32_t input_count;
  int64_t window[INTERP_MAX_RANK]; /* of the updates */
  uint32_t operand_places[INTERP_MAX_RANK];
  int64_t *targets, *sources; /* elements of inputs and updates that meet in the current window */
  struct interp_value **values; /* arguments of the body, then its results */
};

/* Elements of one window that lie inside of the inputs; their number. */
static uint64_t list_window(struct scatter *s, const int64_t *start, int64_t update_base) {
  const struct interp_value *to = s->call->results[0], *update = s->call->operands[s->input_count + 1];
  struct interp_view to_all = interp_view_of(to), update_all = interp_view_of(update);
  int64_t index[INTERP_MAX_RANK] = {0}, full[INTERP_MAX_RANK];
  uint64_t count = 0;
  do {
    memcpy(full, start, to->rank * sizeof *full);
    int64_t source = update_base, target = 0;
    bool is_inside = true;
    for (uint32_t k = 0; k < s->w.offset_count; k++) {
      is_inside &= !__builtin_add_overflow(full[s->operand_places[k]], index[k], &full[s->operand_places[k]]);
      source += index[k] * update_all.strides[s->w.offset_dims[k]];
    }
    for (uint32_t d = 0; d < to->rank; d++) {
      is_inside &= full[d] >= 0 && full[d] < to->dims[d];
      target += is_inside ? full[d] * to_all.strides[d] : 0;
    }
    if (is_inside) {
      s->targets[count] = target;
      s->sources[count++] = source;
    }
  } while (interp_next_index(s->window, s->w.offset_count, index));
  return count;
}

/* The listed elements of a tensor as a tensor of rank 1. */
static struct interp_value *pick(struct interp_call *call, const struct interp_value *from, const int64_t *places,
                                 uint64_t count) {
  int64_t dims = (int64_t)count;
  struct interp_value *to = interp_scratch(call, (enum dtype)from->dtype, &dims, 1);
  for (uint64_t i = 0; to && i < count; i++) {
    interp_copy_element(to, i, from, (uint64_t)places[i]);
  }
  if (to) {
    to->quant = from->quant;
  }
  return to;
}

/* Applies the body to the inputs and updates of a window and writes what it gives. */
static bool apply_window(struct scatter *s, uint64_t count) {
  struct interp_call *call = s->call;
  uint32_t n = s->input_count;
  memset(s->values, 0, 3 * (size_t)n * sizeof *s->values);
  bool ok = true;
  for (uint32_t i = 0; ok && i < n; i++) {
    s->values[i] = pick(call, call->results[i], s->targets, count);
    s->values[n + i] = pick(call, call->operands[n + 1 + i], s->sources, count);
    ok = s->values[i] && s->values[n + i];
  }
  ok = ok && interp_body_apply(&s->body, s->values, count, s->values + 2 * (size_t)n);
  for (uint32_t i = 0; ok && i < n; i++) {
    for (uint64_t k = 0; k < count; k++) {
      interp_copy_element(call->results[i], (uint64_t)s->targets[k], s->values[2 * n + i], k);
    }
  }
  for (uint32_t i = 0; i < 3 * n; i++) {
    interp_release(s->values[i]);
  }
  return ok;
}

static bool scatter_windows(struct scatter *s) {
  const struct interp_value *indices = s->call->operands[s->input_count];
  const struct interp_value *update = s->call->operands[s->input_count + 1];
  int64_t batch[INTERP_MAX_RANK], position[INTERP_MAX_RANK] = {0}, start[INTERP_MAX_RANK];
  int64_t batch_strides[INTERP_MAX_RANK];
  uint32_t places[INTERP_MAX_RANK], batch_count = batch_dims(&s->w, indices, batch, places), next = 0;
  struct interp_view update_all = interp_view_of(update);
  for (uint32_t d = 0; d < update->rank; d++) {
    if (!contains(s->w.offset_dims, s->w.offset_count, d)) {
      if (next == batch_count || update->dims[d] != batch[next]) {
        return interp_wrong(s->call, "the updates do not fit the indices");
      }
      batch_strides[next++] = update_all.strides[d];
    }
  }
  if (next != batch_count) {
    return interp_wrong(s->call, "the updates do not fit the indices");
  }
  bool ok = true;
  do {
    int64_t base = 0;
    for (uint32_t i = 0; i < batch_count; i++) {
      base += position[i] * batch_strides[i];
    }
    window_start(&s->w, indices, position, places, batch_count, start, s->call->results[0]->rank);
    uint64_t count = list_window(s, start, base);
    ok = count == 0 || apply_window(s, count);
  } while (ok && interp_next_index(batch, batch_count, position));
  return ok;
}

static bool same_dims(const struct interp_value *a, const struct interp_value *b) {
  return a->rank == b->rank && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Results start as the inputs. */
static bool start_results(struct interp_call *call, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (!same_dims(call->operands[i], call->operands[0])
        || !same_dims(call->operands[n + 1 + i], call->operands[n + 1])) {
      return interp_wrong(call, "inputs or updates have different shapes");
    }
    struct interp_value *to = interp_result(call, i, call->operands[i]->dims, call->operands[i]->rank);
    if (!to) {
      return false;
    }
    if (to->size_bytes > 0) {
      memcpy(to->data, call->operands[i]->data, to->size_bytes);
    }
  }
  return true;
}

bool interp_op_scatter(struct interp_call *call) {
  struct scatter s = {.call = call, .input_count = (call->operand_count - 1) / 2};
  uint32_t n = s.input_count;
  if (n == 0 || call->operand_count != 2 * n + 1 || call->result_count != n) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  const struct interp_value *update = call->operands[n + 1];
  if (!read_windows(call, &scatter_fields, call->operands[0], call->operands[n], update->rank, &s.w)
      || !start_results(call, n)) {
    return false;
  }
  window_places(&s.w, call->operands[0]->rank, s.operand_places);
  uint64_t elements = 1;
  for (uint32_t k = 0; k < s.w.offset_count; k++) {
    s.window[k] = update->dims[s.w.offset_dims[k]];
    elements *= (uint64_t)s.window[k];
  }
  interp_body_init(&s.body, call->frame, call->op, 0);
  if (update->count == 0) {
    return true;
  }
  s.targets = malloc(elements * 2 * sizeof *s.targets);
  s.values = calloc(3 * (size_t)n, sizeof(struct interp_value *));
  s.sources = s.targets ? s.targets + elements : NULL;
  bool ok = s.body.argument_count == 2 * n && s.body.result_count == n;
  ok = !ok                       ? interp_wrong(call, "its body has %u arguments", s.body.argument_count)
       : !s.targets || !s.values ? interp_out_of_memory(call)
                                 : scatter_windows(&s);
  free(s.targets);
  free(s.values);
  return ok;
}
