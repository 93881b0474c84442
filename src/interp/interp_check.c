/* The check and interpreter dialects, and their custom calls: a program that holds its own expectations. A failed check is
 * a diagnostic (E0703) with the first element that differs; the run goes on.
 *
 * What equal means is the reference's: expect_eq bitwise; expect_almost_eq |a - b| <= tolerance, NaN equal to NaN and
 * infinities to those of their sign; expect_close the distance in units of the last place. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/minifloat.h"
#include "interp/interp_int.h"

enum compare_kind { COMPARE_BITS, COMPARE_TOLERANCE, COMPARE_ULP };

struct expectation {
  enum compare_kind kind;
  double tolerance;
  uint64_t min_ulp, max_ulp;
};

/* Tolerances that the reference fixes where the program states none. */
static const struct expectation expect_bits = {.kind = COMPARE_BITS};
static const struct expectation dialect_almost = {.kind = COMPARE_TOLERANCE, .tolerance = 1e-4};
static const struct expectation target_almost = {.kind = COMPARE_TOLERANCE, .tolerance = 1e-3};
static const struct expectation three_ulp = {.kind = COMPARE_ULP, .max_ulp = 3};

/* ---- elements ------------------------------------------------------------------------------------------------------- */

static bool is_near(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) {
    return isnan(a) && isnan(b);
  }
  return a == b || fabs(a - b) <= tolerance;
}

/* Distance of two floats of one format in units of the last place. */
static uint64_t ulp_distance(enum dtype dtype, uint64_t a, uint64_t b) {
  double x = minifloat_decode(dtype, a), y = minifloat_decode(dtype, b);
  if (isnan(x) || isnan(y)) {
    return isnan(x) && isnan(y) ? 0 : UINT64_MAX;
  }
  if (isinf(x) || isinf(y)) {
    return x == y ? 0 : UINT64_MAX;
  }
  uint64_t sign = (uint64_t)1 << (dtype_bits(dtype) - 1);
  uint64_t magnitude_a = a & (sign - 1), magnitude_b = b & (sign - 1);
  if ((a & sign) != (b & sign)) {
    return magnitude_a + magnitude_b;
  }
  return magnitude_a > magnitude_b ? magnitude_a - magnitude_b : magnitude_b - magnitude_a;
}

/* Parts of one number: the element, or real and imaginary part. */
static bool is_equal_at(const struct interp_value *a, const struct interp_value *b, uint64_t i,
                        const struct expectation *e) {
  unsigned bytes = interp_element_bytes(a);
  const uint8_t *left = a->data + i * bytes, *right = b->data + i * bytes;
  if (e->kind == COMPARE_BITS || interp_is_integral(a)) {
    return interp_is_integral(a) ? interp_int_at(a, i) == interp_int_at(b, i) : memcmp(left, right, bytes) == 0;
  }
  if (e->kind == COMPARE_TOLERANCE) {
    double x[2], y[2];
    interp_read_complex(a, i, 1, x);
    interp_read_complex(b, i, 1, y);
    return is_near(x[0], y[0], e->tolerance) && is_near(x[1], y[1], e->tolerance);
  }
  unsigned parts = interp_is_complex(a) ? 2 : 1;
  enum dtype dtype = a->dtype == DTYPE_C64 ? DTYPE_F32 : a->dtype == DTYPE_C128 ? DTYPE_F64 : (enum dtype)a->dtype;
  uint64_t distance = 0;
  for (unsigned part = 0; part < parts; part++) {
    uint64_t x = 0, y = 0, d;
    memcpy(&x, left + part * (bytes / parts), bytes / parts);
    memcpy(&y, right + part * (bytes / parts), bytes / parts);
    d = ulp_distance(dtype, x, y);
    distance = d > distance ? d : distance;
  }
  return distance >= e->min_ulp && distance <= e->max_ulp;
}

static bool has_same_shape(const struct interp_value *a, const struct interp_value *b) {
  return a->kind == INTERP_TENSOR && b->kind == INTERP_TENSOR && a->dtype == b->dtype && a->rank == b->rank
         && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* First element that differs; count when there is none. */
static uint64_t find_difference(const struct interp_value *a, const struct interp_value *b,
                                const struct expectation *e) {
  uint64_t i = 0;
  while (i < a->count && is_equal_at(a, b, i, e)) {
    i++;
  }
  return i;
}

/* ---- checks --------------------------------------------------------------------------------------------------------- */

static void put_element(const struct interp_value *v, uint64_t i, struct strbuf *out) {
  double parts[2];
  if (interp_is_integral(v)) {
    strbuf_printf(out, "%" PRId64, interp_int_at(v, i));
    return;
  }
  interp_read_complex(v, i, 1, parts);
  strbuf_printf(out, interp_is_complex(v) ? "(%.17g, %.17g)" : "%.17g", parts[0], parts[1]);
}

static void put_index(const struct interp_value *v, uint64_t i, struct strbuf *out) {
  int64_t strides[INTERP_MAX_RANK];
  interp_strides(v->dims, v->rank, strides);
  for (uint32_t d = 0; d < v->rank; d++) {
    strbuf_printf(out, "%s%" PRIu64, d ? ", " : "", i / (uint64_t)strides[d] % (uint64_t)v->dims[d]);
  }
}

static void check(struct interp_call *call, const struct interp_value *actual, const struct interp_value *expected,
                  const struct expectation *e) {
  struct interp_run *run = call->frame->process->run;
  if (!has_same_shape(actual, expected)) {
    interp_report(call, DIAG_E0703_CHECK, "the values have different types or shapes");
    atomic_fetch_add(&run->check_failures, 1);
    return;
  }
  uint64_t at = find_difference(actual, expected, e);
  if (at == actual->count) {
    return;
  }
  struct strbuf text = {0};
  strbuf_puts(&text, "element [");
  put_index(actual, at, &text);
  strbuf_puts(&text, "] is ");
  put_element(actual, at, &text);
  strbuf_puts(&text, ", expected ");
  put_element(expected, at, &text);
  interp_report(call, DIAG_E0703_CHECK, "%s", strbuf_text(&text));
  strbuf_release(&text);
  atomic_fetch_add(&run->check_failures, 1);
}

/* Second operand, or the attribute `value` of the _const forms. */
static bool check_call(struct interp_call *call, const struct expectation *e) {
  if (call->operand_count == 2) {
    check(call, call->operands[0], call->operands[1], e);
    return true;
  }
  struct ir_attr attr = ir_op_attr(call->module, call->op, "value");
  struct interp_value *expected = attr.id ? interp_from_attr(call->module, attr) : NULL;
  if (!expected) {
    return interp_unsupported(call, "the expected value is no dense tensor of numbers");
  }
  check(call, call->operands[0], expected, e);
  interp_release(expected);
  return true;
}

bool interp_op_expect_eq(struct interp_call *call) {
  return check_call(call, &expect_bits);
}

bool interp_op_expect_almost_eq(struct interp_call *call) {
  struct expectation e = dialect_almost;
  struct ir_attr tolerance = ir_op_attr(call->module, call->op, "tolerance");
  if (tolerance.id) {
    const struct ir_attr_data *data = ir_attr_get(call->module, tolerance);
    e.tolerance = minifloat_decode((enum dtype)ir_type_get(call->module, data->type)->dtype, (uint64_t)data->integer);
  }
  return check_call(call, &e);
}

bool interp_op_expect_close(struct interp_call *call) {
  struct expectation e = three_ulp;
  e.min_ulp = (uint64_t)interp_attr_int(call, "min_ulp_difference", (int64_t)e.min_ulp);
  e.max_ulp = (uint64_t)interp_attr_int(call, "max_ulp_difference", (int64_t)e.max_ulp);
  return check_call(call, &e);
}

bool interp_target_expect_almost_eq(struct interp_call *call) {
  return check_call(call, &target_almost);
}

bool interp_target_expect_close(struct interp_call *call) {
  return check_call(call, &three_ulp);
}

/* Quantized values as their storage, floats within 1e-4; the result is a tensor of predicates. */
bool interp_target_eq(struct interp_call *call) {
  const struct interp_value *a = call->operand_count == 2 ? call->operands[0] : NULL;
  const struct interp_value *b = call->operand_count == 2 ? call->operands[1] : NULL;
  struct interp_value *out = a ? interp_result(call, 0, NULL, 0) : NULL;
  if (!out) {
    return !a ? interp_wrong(call, "takes two operands") : false;
  }
  check(call, a, b, &dialect_almost);
  bool is_equal = has_same_shape(a, b);
  for (uint64_t i = 0; i < out->count; i++) {
    out->data[i] = is_equal && i < a->count && is_equal_at(a, b, i, &dialect_almost);
  }
  return true;
}

/* ---- probes and prints ------------------------------------------------------------------------------------------------ */

/* A probe keeps every value that passes, so that expect_serialized_eq can ask for the value of an iteration. */
bool interp_op_probe(struct interp_call *call) {
  struct interp_run *run = call->frame->process->run;
  struct ir_attr id = ir_op_attr(call->module, call->op, "probe_id");
  struct interp_probe probe = {id.id ? ir_attr_get(call->module, id)->text : 0, call->operands[0]};
  interp_retain(probe.value);
  pthread_mutex_lock(&run->lock);
  bool ok = vec_push(&run->probes, probe);
  pthread_mutex_unlock(&run->lock);
  if (!ok) {
    interp_release(probe.value);
    return interp_out_of_memory(call);
  }
  interp_result_is(call, 0, call->operands[0]);
  return true;
}

bool interp_op_expect_serialized_eq(struct interp_call *call) {
  struct interp_run *run = call->frame->process->run;
  struct ir_attr attr = ir_op_attr(call->module, call->op, "probe_id");
  uint32_t id = attr.id ? ir_attr_get(call->module, attr)->text : 0;
  int64_t iteration = interp_attr_int(call, "iter", 0);
  struct interp_value *found = NULL;
  pthread_mutex_lock(&run->lock);
  for (size_t i = 0; !found && i < run->probes.count; i++) {
    if (run->probes.data[i].id == id && iteration-- == 0) {
      found = run->probes.data[i].value;
    }
  }
  pthread_mutex_unlock(&run->lock);
  if (!found) {
    interp_report(call, DIAG_E0703_CHECK, "no probe '%s' has that iteration", ir_text(call->module, id));
    return true;
  }
  check(call, call->operands[0], found, &expect_bits);
  return true;
}

bool interp_op_print(struct interp_call *call) {
  struct interp_run *run = call->frame->process->run;
  if (run->options.print) {
    struct strbuf text = {0};
    interp_print(call->operands[0], &text);
    strbuf_puts(&text, "\n");
    pthread_mutex_lock(&run->lock);
    run->options.print(run->options.user, strbuf_text(&text), text.length);
    pthread_mutex_unlock(&run->lock);
    strbuf_release(&text);
  }
  return true;
}
