/* chlo.scan: a body that is applied to one slice after the other along a dimension, with values carried from each to the next.
 * Operands: inputs, then initial carries. The body takes a slice of every input and the carries, and gives a slice of every
 * output and the next carries. Results: outputs, then the last carries. Source: documentation of chlo.scan. */
#include <stdlib.h>
#include <string.h>

#include "interp/interp_view.h"

struct scan {
  struct interp_call *call;
  uint32_t inputs, carries, outputs;
  int64_t dim, length;
  bool is_reverse;
  struct interp_value **arguments; /* input slices, carries */
  struct interp_value **given; /* output slices, next carries */
};

/* Slice `at` of an input, without the scanned dimension. */
static struct interp_value *slice_of(const struct scan *s, const struct interp_value *v, int64_t at) {
  struct interp_view all = interp_view_of(v), part = {.base = at * all.strides[s->dim]};
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < v->rank; d++) {
    if (d != s->dim) {
      dims[rank] = v->dims[d];
      part.strides[rank++] = all.strides[d];
    }
  }
  struct interp_value *to = interp_scratch(s->call, (enum dtype)v->dtype, dims, rank);
  if (to) {
    struct interp_view whole = interp_view_of(to);
    to->quant = v->quant;
    interp_view_copy(to, &whole, v, &part, dims, rank);
  }
  return to;
}

/* Puts the slice into its place of output i, which is made when the first one comes. */
static bool put_slice(struct scan *s, uint32_t i, const struct interp_value *slice, int64_t at) {
  int64_t dims[INTERP_MAX_RANK];
  struct interp_view place = {0}, whole = interp_view_of(slice);
  uint32_t next = 0;
  if (slice->rank + 1u > INTERP_MAX_RANK || s->dim > slice->rank) {
    return interp_wrong(s->call, "output %u has no dimension %lld", i, (long long)s->dim);
  }
  for (uint32_t d = 0; d <= slice->rank; d++) {
    dims[d] = d == s->dim ? s->length : slice->dims[next++];
  }
  struct interp_value *to =
      s->call->results[i] ? s->call->results[i] : interp_result(s->call, i, dims, slice->rank + 1u);
  if (!to) {
    return false;
  }
  struct interp_view all = interp_view_of(to);
  next = 0;
  for (uint32_t d = 0; d < to->rank; d++) {
    if (d != s->dim) {
      place.strides[next++] = all.strides[d];
    }
  }
  place.base = at * all.strides[s->dim];
  interp_view_copy(to, &place, slice, &whole, slice->dims, slice->rank);
  return true;
}

static bool step(struct scan *s, int64_t at) {
  uint32_t count = s->inputs + s->carries;
  bool ok = true;
  for (uint32_t i = 0; ok && i < s->inputs; i++) {
    s->arguments[i] = slice_of(s, s->call->operands[i], at);
    ok = s->arguments[i] != NULL;
  }
  ok = ok && interp_region(s->call->frame, s->call->op, 0, s->arguments, count, s->given, s->outputs + s->carries);
  for (uint32_t i = 0; i < s->inputs; i++) {
    interp_release(s->arguments[i]);
    s->arguments[i] = NULL;
  }
  if (!ok) {
    return false;
  }
  for (uint32_t i = 0; i < s->outputs; i++) {
    ok = ok && put_slice(s, i, s->given[i], at);
    interp_release(s->given[i]);
  }
  for (uint32_t i = 0; i < s->carries; i++) {
    interp_release(s->arguments[s->inputs + i]);
    s->arguments[s->inputs + i] = s->given[s->outputs + i];
  }
  return ok;
}

static bool read_scan(struct interp_call *call, struct scan *s) {
  struct ir_attr segments = ir_op_attr(call->module, call->op, "operandSegmentSizes");
  s->call = call;
  s->dim = interp_attr_int(call, "dimension", 0);
  s->is_reverse = interp_attr_bool(call, "is_reverse", false);
  s->inputs = segments.id ? (uint32_t)ir_attr_int_at(call->module, segments, 0) : call->operand_count;
  bool ok = s->inputs >= 1 && s->inputs <= call->operand_count && s->dim >= 0 && s->dim < call->operands[0]->rank;
  s->carries = ok ? call->operand_count - s->inputs : 0;
  ok = ok && s->carries <= call->result_count;
  s->outputs = ok ? call->result_count - s->carries : 0;
  s->length = ok ? call->operands[0]->dims[s->dim] : 0;
  for (uint32_t i = 0; ok && i < s->inputs; i++) {
    ok = s->dim < call->operands[i]->rank && call->operands[i]->dims[s->dim] == s->length;
  }
  return ok || interp_wrong(call, "its inputs do not have the same length along its dimension");
}

bool interp_op_scan(struct interp_call *call) {
  struct scan s = {0};
  if (!read_scan(call, &s)) {
    return false;
  }
  s.arguments = calloc((size_t)call->operand_count + call->result_count + 1, sizeof(struct interp_value *));
  if (!s.arguments) {
    return interp_out_of_memory(call);
  }
  s.given = s.arguments + call->operand_count;
  for (uint32_t i = 0; i < s.carries; i++) {
    s.arguments[s.inputs + i] = call->operands[s.inputs + i];
    interp_retain(s.arguments[s.inputs + i]);
  }
  bool ok = true;
  for (int64_t i = 0; ok && i < s.length; i++) {
    ok = step(&s, s.is_reverse ? s.length - 1 - i : i);
  }
  for (uint32_t i = 0; i < s.carries; i++) {
    if (ok) {
      call->results[s.outputs + i] = s.arguments[s.inputs + i];
    } else {
      interp_release(s.arguments[s.inputs + i]);
    }
  }
  for (uint32_t i = 0; ok && i < s.outputs; i++) { /* nothing was scanned */
    ok = call->results[i] || interp_result(call, i, NULL, 0);
  }
  free(s.arguments);
  return ok;
}
