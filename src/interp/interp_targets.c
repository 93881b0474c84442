/* Custom calls of a few lines: assertions, halves of 64-bit numbers, pivots, and calls that stand for an operation.
 * Sources: JAX's lowerings (jax/_src) and XLA's passes of these names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_elementwise.h"

/* ---- shape_assertion --------------------------------------------------------------------------------------------------------- */

/* error_message with {0}, {1}, ... replaced by the operands after the first. */
static void put_message(const struct interp_call *call, struct strbuf *out) {
  for (const char *at = interp_attr_text(call, "error_message"); *at; at++) {
    char *end = NULL;
    unsigned long which = at[0] == '{' && at[1] >= '0' && at[1] <= '9' ? strtoul(at + 1, &end, 10) : 0;
    bool is_hole = end && *end == '}' && which < call->operand_count - 1;
    const struct interp_value *v = is_hole ? call->operands[which + 1] : NULL;
    if (v && v->count == 1 && interp_is_integral(v)) {
      strbuf_printf(out, "%" PRId64, interp_int_at(v, 0));
      at = end;
    } else {
      strbuf_printf(out, "%c", *at);
    }
  }
}

/* The first operand says whether the shapes are as the program expects; otherwise the run ends. */
bool interp_target_shape_assertion(struct interp_call *call) {
  const struct interp_value *holds = call->operands[0];
  struct strbuf text = {0};
  if (holds->count != 1 || !interp_is_integral(holds) || call->result_count > 0) {
    return interp_wrong(call, "it takes a predicate and gives nothing");
  }
  if (interp_int_at(holds, 0)) {
    return true;
  }
  put_message(call, &text);
  interp_report(call, DIAG_E0703_CHECK, "%s", strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

/* ---- 64-bit numbers in halves ------------------------------------------------------------------------------------------------- */

/* result = f(operand 0, operand 1) on integers of one shape. */
static bool by_element(struct interp_call *call, uint32_t operands, int64_t (*f)(int64_t low, int64_t high)) {
  const struct interp_value *low = call->operands[0], *high = call->operands[operands - 1];
  struct interp_value *to =
      call->operand_count == operands && call->result_count == 1 ? interp_result(call, 0, low->dims, low->rank) : NULL;
  if (!to || !interp_is_integral(to) || !interp_is_integral(low) || !interp_is_integral(high)
      || high->count != low->count) {
    return interp_wrong(call, "its operands are not %u tensors of integers of the result's shape", operands);
  }
  for (uint64_t i = 0; i < to->count; i++) {
    int64_t number = f(interp_int_at(low, i), interp_int_at(high, i));
    interp_write_int(to, i, 1, &number);
  }
  return true;
}

static int64_t combine(int64_t low, int64_t high) {
  return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)high << 32);
}

static int64_t low_half(int64_t number, int64_t same) {
  (void)same;
  return (int64_t)(uint32_t)number;
}

static int64_t high_half(int64_t number, int64_t same) {
  (void)same;
  return (int64_t)((uint64_t)number >> 32);
}

bool interp_target_x64_combine(struct interp_call *call) {
  return call->operand_count == 2 ? by_element(call, 2, combine) : interp_wrong(call, "it takes two operands");
}

bool interp_target_x64_split_low(struct interp_call *call) {
  return by_element(call, 1, low_half);
}

bool interp_target_x64_split_high(struct interp_call *call) {
  return by_element(call, 1, high_half);
}

/* ---- pivots ------------------------------------------------------------------------------------------------------------------- */

/* Pivots from 0 on (the last dimension) → the permutation of the rows that their exchanges make; pivots outside of the rows
 * exchange nothing, as on GPUs. */
bool interp_target_lu_pivots_to_permutation(struct interp_call *call) {
  const struct interp_value *pivots = call->operands[0];
  struct interp_value *to =
      call->operand_count == 1 && call->result_count == 1 ? interp_result(call, 0, NULL, 0) : NULL;
  bool fits = to && pivots->rank > 0 && to->rank == pivots->rank && interp_is_integral(to) && interp_is_integral(pivots)
              && memcmp(to->dims, pivots->dims, (pivots->rank - 1) * sizeof *to->dims) == 0;
  if (!fits) {
    return interp_wrong(call, "its operand is no batch of pivots of the result's shape");
  }
  uint64_t length = (uint64_t)pivots->dims[pivots->rank - 1], rows = (uint64_t)to->dims[to->rank - 1];
  for (uint64_t b = 0; rows > 0 && b < to->count / rows; b++) {
    for (uint64_t i = 0; i < rows; i++) {
      int64_t number = (int64_t)i;
      interp_write_int(to, b * rows + i, 1, &number);
    }
    for (uint64_t i = 0; i < length; i++) {
      uint64_t other = (uint64_t)interp_int_at(pivots, b * length + i);
      if (i >= rows || other >= rows) {
        continue;
      }
      int64_t a = interp_int_at(to, b * rows + i), c = interp_int_at(to, b * rows + other);
      interp_write_int(to, b * rows + i, 1, &c);
      interp_write_int(to, b * rows + other, 1, &a);
    }
  }
  return true;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------------------ */

/* A buffer that a kernel will write: zeros. */
bool interp_target_allocate_buffer(struct interp_call *call) {
  struct interp_value *to = call->result_count == 1 ? interp_result(call, 0, NULL, 0) : NULL;
  if (to && to->size_bytes > 0) {
    memset(to->data, 0, to->size_bytes);
  }
  return to ? true : interp_wrong(call, "it gives no buffer");
}

/* ---- calls that stand for an operation ------------------------------------------------------------------------------------------ */

bool interp_target_erf(struct interp_call *call) {
  return call->operand_count == 1 && call->result_count == 1
             ? interp_elementwise_as(call, IR_OP_CHLO_ERF)
             : interp_wrong(call, "it takes one operand and gives one result");
}
