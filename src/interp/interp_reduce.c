/* Reductions: reduce, reduce_window, select_and_scatter, map, and the scan of chlo. All positions of the result go through
 * the body together, one step per reduced element, in the order of indices.
 * Source: the StableHLO specification, sections of these operations. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_custom.h"
#include "interp/interp_fast.h"
#include "interp/interp_view.h"

/* Arguments of a body (accumulators, then elements) and its results. */
struct fold {
  struct interp_call *call;
  struct interp_body body;
  uint32_t count; /* tensors that are reduced together */
  uint64_t lanes;
  struct interp_value **values; /* count accumulators, count elements, count results */
};

static void release_values(struct interp_value **values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    interp_release(values[i]);
    values[i] = NULL;
  }
}

/* The value repeated for every lane. */
static struct interp_value *repeat(struct interp_call *call, const struct interp_value *scalar, uint64_t lanes) {
  int64_t dims = (int64_t)lanes;
  struct interp_value *wide = interp_scratch(call, (enum dtype)scalar->dtype, &dims, 1);
  if (wide) {
    interp_fill(wide, scalar);
    wide->quant = scalar->quant;
  }
  return wide;
}

/* The body is set; operands count … 2 count - 1 are the initial values. */
static bool fold_start(struct fold *f, struct interp_call *call, uint32_t count, uint64_t lanes) {
  *f = (struct fold){.call = call, .body = f->body, .count = count, .lanes = lanes};
  f->values = calloc(3 * (size_t)count + 1, sizeof(struct interp_value *));
  if (!f->values) {
    return interp_out_of_memory(call);
  }
  if (f->body.argument_count != 2 * count || f->body.result_count != count) {
    return interp_wrong(call, "its body has %u arguments and %u results", f->body.argument_count, f->body.result_count);
  }
  for (uint32_t i = 0; i < count; i++) {
    f->values[i] = repeat(call, call->operands[count + i], lanes);
    if (!f->values[i]) {
      return false;
    }
  }
  return true;
}

static bool fold_init(struct fold *f, struct interp_call *call, uint32_t count, uint64_t lanes, uint32_t region) {
  interp_body_init(&f->body, call->frame, call->op, region);
  return fold_start(f, call, count, lanes);
}

static void fold_release(struct fold *f) {
  if (f->values) {
    release_values(f->values, 3 * f->count);
  }
  free(f->values);
}

/* Room for the elements of the next step, kept from step to step. */
static bool fold_elements(struct fold *f) {
  int64_t dims = (int64_t)f->lanes;
  for (uint32_t i = 0; i < f->count; i++) {
    struct interp_value **at = &f->values[f->count + i];
    if (*at) {
      continue;
    }
    *at = interp_scratch(f->call, (enum dtype)f->call->operands[i]->dtype, &dims, 1);
    if (!*at) {
      return false;
    }
    (*at)->quant = f->call->operands[i]->quant;
  }
  return true;
}

/* Accumulators = body(accumulators, elements). */
static bool fold_step(struct fold *f) {
  struct interp_value **out = f->values + 2 * (size_t)f->count;
  if (!interp_body_apply(&f->body, f->values, f->lanes, out)) {
    return false;
  }
  for (uint32_t i = 0; i < f->count; i++) {
    interp_release(f->values[i]);
    f->values[i] = out[i];
    out[i] = NULL;
  }
  return true;
}

/* Writes the accumulators into results of the given shape; a body may compute in a wider type. */
static bool fold_results(struct fold *f, const int64_t *dims, uint32_t rank) {
  for (uint32_t i = 0; i < f->count; i++) {
    struct interp_value *to = interp_result(f->call, i, dims, rank);
    if (!to) {
      return false;
    }
    if (to->dtype != f->values[i]->dtype || to->count != f->values[i]->count) {
      return interp_wrong(f->call, "its body gives another type than its result");
    }
    if (to->size_bytes > 0) {
      memcpy(to->data, f->values[i]->data, to->size_bytes);
    }
  }
  return true;
}

static bool same_shapes(struct interp_call *call, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const struct interp_value *a = call->operands[0], *b = call->operands[i];
    if (a->rank != b->rank || (a->rank > 0 && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)) {
      return interp_wrong(call, "operand %u has another shape than the first", i);
    }
  }
  return true;
}

/* ---- reduce ------------------------------------------------------------------------------------------------------------ */

/* Parts the dimensions into those that stay and those that go. */
struct reduced_dims {
  int64_t kept[INTERP_MAX_RANK], gone[INTERP_MAX_RANK];
  int64_t kept_strides[INTERP_MAX_RANK], gone_strides[INTERP_MAX_RANK];
  uint32_t kept_count, gone_count;
};

static bool part_dims(struct interp_call *call, const struct interp_value *from, struct reduced_dims *r) {
  int64_t listed[INTERP_MAX_RANK];
  bool is_gone[INTERP_MAX_RANK] = {0};
  uint32_t count = interp_attr_ints(call, "dimensions", listed, INTERP_MAX_RANK);
  struct interp_view all = interp_view_of(from);
  *r = (struct reduced_dims){0};
  for (uint32_t i = 0; i < count; i++) {
    if (listed[i] < 0 || listed[i] >= from->rank) {
      return interp_wrong(call, "dimension %" PRId64 " of rank %u", listed[i], from->rank);
    }
    is_gone[listed[i]] = true;
  }
  for (uint32_t d = 0; d < from->rank; d++) {
    if (is_gone[d]) {
      r->gone[r->gone_count] = from->dims[d];
      r->gone_strides[r->gone_count++] = all.strides[d];
    } else {
      r->kept[r->kept_count] = from->dims[d];
      r->kept_strides[r->kept_count++] = all.strides[d];
    }
  }
  return true;
}

static uint64_t product(const int64_t *dims, uint32_t count) {
  uint64_t result = 1;
  for (uint32_t i = 0; i < count; i++) {
    result *= (uint64_t)dims[i];
  }
  return result;
}

static bool fold_reduced(struct fold *f, const struct reduced_dims *r) {
  int64_t index[INTERP_MAX_RANK] = {0};
  struct interp_view from_view = {0}, to_view = {0};
  interp_strides(r->kept, r->kept_count, to_view.strides);
  memcpy(from_view.strides, r->kept_strides, sizeof from_view.strides);
  bool ok = true;
  do {
    from_view.base = 0;
    for (uint32_t i = 0; i < r->gone_count; i++) {
      from_view.base += index[i] * r->gone_strides[i];
    }
    ok = fold_elements(f);
    for (uint32_t i = 0; ok && i < f->count; i++) {
      interp_view_copy(f->values[f->count + i], &to_view, f->call->operands[i], &from_view, r->kept, r->kept_count);
    }
    ok = ok && fold_step(f);
  } while (ok && interp_next_index(r->gone, r->gone_count, index));
  return ok;
}

bool interp_op_reduce(struct interp_call *call) {
  uint32_t count = call->operand_count / 2;
  struct reduced_dims r;
  struct fold f = {0};
  if (count == 0 || call->operand_count % 2 != 0 || call->result_count != count) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  if (!same_shapes(call, count) || !part_dims(call, call->operands[0], &r)) {
    return false;
  }
  const struct interp_strided lanes = {r.kept, r.kept_strides, r.kept_count};
  const struct interp_strided steps = {r.gone, r.gone_strides, r.gone_count};
  enum interp_fast fast = interp_fast_reduce(call, &lanes, &steps);
  if (fast != INTERP_FAST_NOT_MINE) {
    return fast == INTERP_FAST_DONE;
  }
  bool ok = fold_init(&f, call, count, product(r.kept, r.kept_count), 0);
  if (ok && call->operands[0]->count > 0) {
    ok = fold_reduced(&f, &r);
  }
  ok = ok && fold_results(&f, r.kept, r.kept_count);
  fold_release(&f);
  return ok;
}

/* ---- windows ------------------------------------------------------------------------------------------------------------ */

static bool one_per_dim(const struct interp_call *call, const char *name, uint32_t rank, int64_t otherwise,
                        int64_t *out) {
  uint32_t count = interp_attr_ints(call, name, out, INTERP_MAX_RANK);
  for (uint32_t i = 0; count == 0 && i < rank; i++) {
    out[i] = otherwise;
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (out[i] <= 0) {
      return false;
    }
  }
  return count == 0 || count == rank;
}

/* Positions of the window, from its other numbers and the padding (low and high per dimension). */
static bool place_window(struct interp_call *call, struct interp_window *w, const int64_t *padding) {
  const struct interp_value *from = call->operands[0];
  for (uint32_t d = 0; d < from->rank; d++) {
    int64_t dilated, padded, span;
    bool is_wrong = __builtin_mul_overflow(from->dims[d] - 1, w->base_dilation[d], &dilated)
                    || __builtin_add_overflow(from->dims[d] == 0 ? 0 : dilated + 1, padding[2 * d], &padded)
                    || __builtin_add_overflow(padded, padding[2 * d + 1], &padded)
                    || __builtin_mul_overflow(w->size[d] - 1, w->dilation[d], &span) || span == INT64_MAX;
    if (is_wrong) {
      return interp_wrong(call, "its window is too large");
    }
    span++;
    w->low[d] = padding[2 * d];
    w->positions[d] = padded < span ? 0 : (padded - span) / w->stride[d] + 1;
  }
  return true;
}

static bool read_window(struct interp_call *call, struct interp_window *w) {
  const struct interp_value *from = call->operands[0];
  int64_t padding[2 * INTERP_MAX_RANK] = {0};
  *w = (struct interp_window){.rank = from->rank};
  uint32_t pads = interp_attr_ints(call, "padding", padding, 2 * INTERP_MAX_RANK);
  bool ok = one_per_dim(call, "window_dimensions", from->rank, 1, w->size)
            && one_per_dim(call, "window_strides", from->rank, 1, w->stride)
            && one_per_dim(call, "base_dilations", from->rank, 1, w->base_dilation)
            && one_per_dim(call, "window_dilations", from->rank, 1, w->dilation)
            && (pads == 0 || pads == 2 * from->rank);
  return ok ? place_window(call, w, padding) : interp_wrong(call, "its window does not fit the operand");
}

/* Element of the operand that step `offset` of the window at `position` reads; -1 for padding and holes. */
static int64_t window_element(const struct interp_window *w, const struct interp_value *from, const int64_t *strides,
                              const int64_t *position, const int64_t *offset) {
  int64_t at = 0;
  for (uint32_t d = 0; d < w->rank; d++) {
    int64_t i = position[d] * w->stride[d] + offset[d] * w->dilation[d] - w->low[d];
    if (i < 0 || i % w->base_dilation[d] != 0 || i / w->base_dilation[d] >= from->dims[d]) {
      return -1;
    }
    at += i / w->base_dilation[d] * strides[d];
  }
  return at;
}

/* One step of the window at every position: elements of the operands, initial values in the padding. */
static void read_window_step(struct fold *f, const struct interp_window *w, const int64_t *offset) {
  int64_t position[INTERP_MAX_RANK] = {0}, strides[INTERP_MAX_RANK];
  const struct interp_value *first = f->call->operands[0];
  interp_strides(first->dims, first->rank, strides);
  for (uint64_t lane = 0; lane < f->lanes; lane++) {
    int64_t at = window_element(w, first, strides, position, offset);
    for (uint32_t i = 0; i < f->count; i++) {
      const struct interp_value *from = at < 0 ? f->call->operands[f->count + i] : f->call->operands[i];
      interp_copy_element(f->values[f->count + i], lane, from, at < 0 ? 0 : (uint64_t)at);
    }
    interp_next_index(w->positions, w->rank, position);
  }
}

/* f->body is set. */
static bool reduce_window(struct fold *f, struct interp_call *call, uint32_t count, const struct interp_window *w) {
  int64_t offset[INTERP_MAX_RANK] = {0};
  bool ok = fold_start(f, call, count, product(w->positions, w->rank));
  if (ok && f->lanes > 0) {
    do {
      ok = fold_elements(f);
      if (ok) {
        read_window_step(f, w, offset);
        ok = fold_step(f);
      }
    } while (ok && interp_next_index(w->size, w->rank, offset));
  }
  ok = ok && fold_results(f, w->positions, w->rank);
  fold_release(f);
  return ok;
}

bool interp_op_reduce_window(struct interp_call *call) {
  uint32_t count = call->operand_count / 2;
  struct interp_window w;
  struct fold f = {0};
  if (count == 0 || call->operand_count % 2 != 0 || call->result_count != count) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  if (!same_shapes(call, count) || !read_window(call, &w)) {
    return false;
  }
  enum interp_fast fast = interp_fast_reduce_window(call, &w);
  if (fast != INTERP_FAST_NOT_MINE) {
    return fast == INTERP_FAST_DONE;
  }
  interp_body_init(&f.body, call->frame, call->op, 0);
  return reduce_window(&f, call, count, &w);
}

/* One number per dimension of the first operand, all above 0. */
static bool window_operand(struct interp_call *call, uint32_t operand, int64_t *out) {
  uint32_t count = 0;
  if (!interp_operand_ints(call, operand, out, &count)) {
    return false;
  }
  bool ok = count == call->operands[0]->rank;
  for (uint32_t d = 0; ok && d < count; d++) {
    ok = out[d] > 0;
  }
  return ok || interp_wrong(call, "operand %u does not fit the first", operand);
}

/* Operands: tensors, initial values, then window dimensions, strides, base and window dilations, and padding (rank x 2). */
bool interp_target_dynamic_reduce_window(struct interp_call *call) {
  enum { NUMBERS = 5 };
  uint32_t count = call->operand_count > NUMBERS ? (call->operand_count - NUMBERS) / 2 : 0, at = 2 * count;
  const struct interp_value *first = count > 0 ? call->operands[0] : NULL;
  struct fold f = {0};
  if (count == 0 || call->operand_count != at + NUMBERS || call->result_count != count
      || 2 * first->rank > INTERP_MAX_RANK) {
    return interp_wrong(call, "it has %u operands", call->operand_count);
  }
  struct interp_window w = {.rank = first->rank};
  int64_t padding[INTERP_MAX_RANK];
  uint32_t pads = 0;
  if (!same_shapes(call, count) || !window_operand(call, at, w.size) || !window_operand(call, at + 1, w.stride)
      || !window_operand(call, at + 2, w.base_dilation) || !window_operand(call, at + 3, w.dilation)
      || !interp_operand_ints(call, at + 4, padding, &pads)) {
    return false;
  }
  if (pads != 2 * first->rank || !place_window(call, &w, padding)) {
    return pads != 2 * first->rank ? interp_wrong(call, "its padding does not fit the first operand") : false;
  }
  struct ir_op function = interp_called_function(call);
  struct interp_frame frame = {0};
  bool ok = function.id != 0 && interp_takes_elements(call, function, count, false)
            && interp_frame_open(call->frame->process, call, function, &frame);
  if (ok) {
    interp_body_init(&f.body, &frame, function, 0);
    ok = reduce_window(&f, call, count, &w);
  }
  interp_frame_close(&frame);
  return ok;
}

/* ---- select_and_scatter -------------------------------------------------------------------------------------------------- */

/* chosen[lane]: element of the operand that the select body prefers in the window of every position; -1 for windows of
 * padding alone. A window keeps its element while body(element, next) is true. */
static bool choose(struct interp_call *call, const struct interp_window *w, uint64_t lanes, int64_t *chosen) {
  const struct interp_value *from = call->operands[0];
  int64_t offset[INTERP_MAX_RANK] = {0}, position[INTERP_MAX_RANK], strides[INTERP_MAX_RANK], dims = (int64_t)lanes;
  struct interp_body body;
  interp_body_init(&body, call->frame, call->op, 0);
  if (body.argument_count != 2 || body.result_count != 1) {
    return interp_wrong(call, "its select body has %u arguments", body.argument_count);
  }
  interp_strides(from->dims, from->rank, strides);
  int64_t *next = malloc(lanes * sizeof *next);
  struct interp_value *pair[2] = {interp_scratch(call, (enum dtype)from->dtype, &dims, 1),
                                  interp_scratch(call, (enum dtype)from->dtype, &dims, 1)};
  bool ok = next ? pair[0] && pair[1] : interp_out_of_memory(call);
  for (uint64_t i = 0; i < lanes; i++) {
    chosen[i] = -1;
  }
  do {
    memset(position, 0, sizeof position);
    for (uint64_t i = 0; ok && i < lanes; i++) {
      next[i] = window_element(w, from, strides, position, offset);
      interp_copy_element(pair[0], i, from, chosen[i] < 0 ? 0 : (uint64_t)chosen[i]);
      interp_copy_element(pair[1], i, from, next[i] < 0 ? 0 : (uint64_t)next[i]);
      interp_next_index(w->positions, w->rank, position);
    }
    struct interp_value *keeps = NULL;
    ok = ok && interp_body_apply(&body, pair, lanes, &keeps);
    for (uint64_t i = 0; ok && i < lanes; i++) {
      bool takes = next[i] >= 0 && (chosen[i] < 0 || interp_int_at(keeps, i) == 0);
      chosen[i] = takes ? next[i] : chosen[i];
    }
    interp_release(keeps);
  } while (ok && interp_next_index(w->size, w->rank, offset));
  interp_release(pair[0]);
  interp_release(pair[1]);
  free(next);
  return ok;
}

/* result[chosen] = body(result[chosen], source), source after source. */
static bool scatter_sources(struct interp_call *call, const int64_t *chosen) {
  const struct interp_value *source = call->operands[1];
  struct interp_value *to = call->results[0];
  struct interp_body body;
  interp_body_init(&body, call->frame, call->op, 1);
  if (body.argument_count != 2 || body.result_count != 1) {
    return interp_wrong(call, "its scatter body has %u arguments", body.argument_count);
  }
  struct interp_value *pair[2] = {interp_scratch(call, (enum dtype)to->dtype, NULL, 0),
                                  interp_scratch(call, (enum dtype)to->dtype, NULL, 0)};
  bool ok = pair[0] && pair[1];
  for (uint64_t i = 0; ok && i < source->count; i++) {
    struct interp_value *sum = NULL;
    if (chosen[i] < 0) {
      continue;
    }
    interp_copy_element(pair[0], 0, to, (uint64_t)chosen[i]);
    interp_copy_element(pair[1], 0, source, i);
    ok = interp_body_apply(&body, pair, 1, &sum);
    if (ok) {
      interp_copy_element(to, (uint64_t)chosen[i], sum, 0);
    }
    interp_release(sum);
  }
  interp_release(pair[0]);
  interp_release(pair[1]);
  return ok;
}

bool interp_op_select_and_scatter(struct interp_call *call) {
  const struct interp_value *from = call->operands[0], *source = call->operands[1];
  struct interp_window w;
  if (!read_window(call, &w)) {
    return false;
  }
  if (source->rank != w.rank || (w.rank > 0 && memcmp(source->dims, w.positions, w.rank * sizeof *w.positions) != 0)) {
    return interp_wrong(call, "the source does not have one element per window");
  }
  struct interp_value *to = interp_result(call, 0, from->dims, from->rank);
  if (!to) {
    return false;
  }
  interp_fill(to, call->operands[2]);
  if (source->count == 0 || from->count == 0) {
    return true;
  }
  int64_t *chosen = malloc(source->count * sizeof *chosen);
  bool ok =
      chosen ? choose(call, &w, source->count, chosen) && scatter_sources(call, chosen) : interp_out_of_memory(call);
  free(chosen);
  return ok;
}

/* ---- map ----------------------------------------------------------------------------------------------------------------- */

bool interp_op_map(struct interp_call *call) {
  struct interp_body body;
  const struct interp_value *first = call->operands[0];
  if (!same_shapes(call, call->operand_count)) {
    return false;
  }
  interp_body_init(&body, call->frame, call->op, 0);
  if (body.argument_count != call->operand_count || body.result_count != 1) {
    return interp_wrong(call, "its body has %u arguments", body.argument_count);
  }
  struct interp_value *to = interp_result(call, 0, first->dims, first->rank), *flat = NULL;
  if (!to || to->count == 0) {
    return to != NULL;
  }
  if (!interp_body_apply(&body, call->operands, to->count, &flat)) {
    return false;
  }
  bool fits = flat->dtype == to->dtype;
  if (fits) {
    memcpy(to->data, flat->data, to->size_bytes);
  }
  interp_release(flat);
  return fits || interp_wrong(call, "its body gives another type than its result");
}
