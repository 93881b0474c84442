/* Properties of runs (fuzz_run.h). */
#include "fuzz_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/minifloat.h"
#include "fuzz_random.h"
#include "interp/interp.h"
#include "mlir/mlir.h"

enum { PARSE_BUDGET_BYTES = 64 << 20, DEPTH = 60, DIMS_MAX = 16, ARGUMENT_ELEMENTS_MAX = 1 << 20 };

/* A module with arguments for its entry function. */
struct subject {
  struct diag_list diags;
  struct program *program; /* owned */
  const struct ir_module *module;
  struct ir_op entry;
  uint32_t argument_count, result_count;
  struct interp_value **arguments; /* owned; NULL until made */
};

static void first_message(const struct diag_list *diags, struct strbuf *out) {
  if (diags->entries.count > 0) {
    diag_format(&diags->entries.data[0], out);
  }
}

static void release_values(struct interp_value **values, uint32_t count) {
  for (uint32_t i = 0; values != NULL && i < count; i++) {
    interp_release(values[i]);
  }
  free(values);
}

static void subject_release(struct subject *s) {
  release_values(s->arguments, s->argument_count);
  program_free(s->program);
  diag_release(&s->diags);
}

/* Reads and verifies as `ridgeline run` does; false when there is nothing to run. Release in any case. */
static bool subject_read(struct subject *s, const char *text, size_t length) {
  struct program_options options = {.only_to_run = true, .memory_budget_bytes = PARSE_BUDGET_BYTES};
  *s = (struct subject){0};
  diag_init(&s->diags);
  if (program_parse("input", text, length, &options, &s->diags, &s->program) != STATUS_OK) {
    return false;
  }
  s->module = s->program->module;
  s->entry = s->program->entry;
  const struct ir_type_data *type = ir_type_get(s->module, ir_function_type(s->module, s->entry));
  s->argument_count = type->input_count;
  s->result_count = type->count - type->input_count;
  return true;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Small numbers, so that sums stay finite; now and then one at the border of the type. */
static uint64_t random_bits(struct fuzz_random *random, enum dtype part) {
  bool is_rare = fuzz_below(random, 16) == 0;
  if (dtype_is_floating(part)) {
    static const double rare[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e-40, 6e-8, 3e38, 65504};
    double uniform = (double)fuzz_below(random, 4001) / 1000 - 2;
    return minifloat_encode(part, is_rare ? rare[fuzz_below(random, sizeof rare / sizeof rare[0])] : uniform);
  }
  uint64_t value = is_rare ? fuzz_next(random) : fuzz_below(random, 10);
  unsigned bits = dtype_bits(part);
  if (bits >= 8) {
    return value;
  }
  value &= (1U << bits) - 1; /* a byte per element, sign extended */
  bool is_negative = dtype_class_of(part) == DTYPE_CLASS_SINT && (value >> (bits - 1) & 1) != 0;
  return is_negative ? value | ~(uint64_t)((1U << bits) - 1) : value;
}

static struct interp_value *random_tensor(const struct ir_module *m, struct ir_type type, struct fuzz_random *random) {
  const struct ir_type_data *data = ir_type_get(m, type);
  int64_t dims[DIMS_MAX];
  uint64_t count = 1;
  if (data->kind != IR_TYPE_TENSOR || data->rank > DIMS_MAX || data->quant != 0) {
    return NULL;
  }
  for (uint32_t d = 0; d < data->rank; d++) {
    int64_t dim = ir_type_dims(m, type)[d];
    dims[d] = dim == IR_DYNAMIC ? (int64_t)fuzz_below(random, 4) : dim;
    count = dims[d] > ARGUMENT_ELEMENTS_MAX ? UINT64_MAX : count * (uint64_t)dims[d];
    if (count > ARGUMENT_ELEMENTS_MAX) {
      return NULL;
    }
  }
  struct interp_value *value = interp_tensor_new((enum dtype)data->dtype, dims, data->rank);
  if (value == NULL || value->count == 0) {
    return value;
  }
  enum dtype part = (enum dtype)data->dtype;
  uint64_t parts = count;
  if (dtype_class_of(part) == DTYPE_CLASS_COMPLEX) {
    part = part == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
    parts *= 2;
  }
  size_t bytes = (size_t)(value->size_bytes / parts);
  for (uint64_t i = 0; i < parts; i++) {
    uint64_t bits = random_bits(random, part);
    memcpy(value->data + i * bytes, &bits, bytes); /* little-endian, as values are */
  }
  return value;
}

/* False when a parameter is of a kind that no argument is made for. */
static bool make_arguments(struct subject *s, uint64_t seed) {
  struct fuzz_random random = fuzz_random_of((unsigned)seed);
  const struct ir_type_data *type = ir_type_get(s->module, ir_function_type(s->module, s->entry));
  s->arguments = calloc((size_t)s->argument_count + 1, sizeof(struct interp_value *));
  bool is_good = s->arguments != NULL;
  for (uint32_t i = 0; is_good && i < s->argument_count; i++) {
    struct ir_type parameter = {s->module->lists.data[type->first + i]};
    s->arguments[i] = ir_type_get(s->module, parameter)->kind == IR_TYPE_TOKEN
                          ? interp_token_new()
                          : random_tensor(s->module, parameter, &random);
    is_good = s->arguments[i] != NULL;
  }
  return is_good;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* FUZZ_ACCEPTED: *results are owned. `arguments` may be another subject's: of the same types. */
static enum fuzz_outcome run(struct subject *s, struct interp_value *const *arguments,
                             const struct fuzz_run_budget *budget, bool plain, struct interp_value ***results,
                             struct strbuf *why) {
  struct interp_options options = {.memory_budget_bytes = budget->memory_bytes,
                                   .operation_budget = budget->operations,
                                   .max_depth = DEPTH,
                                   .plain = plain};
  struct diag_list diags;
  diag_init(&diags);
  *results = calloc((size_t)s->result_count + 1, sizeof(struct interp_value *));
  enum fuzz_outcome outcome = FUZZ_REFUSED;
  if (*results != NULL) {
    enum status status = interp_run(s->module, s->entry, &options, arguments, s->argument_count, &diags, *results);
    outcome = !fuzz_check_status(status, &diags, why) ? FUZZ_BROKEN
              : status == STATUS_OK                   ? FUZZ_ACCEPTED
                                                      : FUZZ_REFUSED;
  }
  if (outcome == FUZZ_REFUSED) {
    first_message(&diags, why);
  }
  if (outcome != FUZZ_ACCEPTED) {
    free(*results);
    *results = NULL;
  }
  diag_release(&diags);
  return outcome;
}

static bool has_stated_type(const struct ir_module *m, struct ir_type type, const struct interp_value *v) {
  const struct ir_type_data *data = ir_type_get(m, type);
  if (data->kind != IR_TYPE_TENSOR) {
    return v->kind != INTERP_TENSOR;
  }
  bool fits = v->kind == INTERP_TENSOR && v->dtype == data->dtype && v->rank == data->rank;
  for (uint32_t d = 0; fits && d < v->rank; d++) {
    int64_t dim = ir_type_dims(m, type)[d];
    fits = dim == v->dims[d] || (dim == IR_DYNAMIC && v->dims[d] >= 0);
  }
  return fits;
}

static bool check_types(const struct subject *s, struct interp_value *const *results, struct strbuf *why) {
  const struct ir_type_data *type = ir_type_get(s->module, ir_function_type(s->module, s->entry));
  for (uint32_t i = 0; i < s->result_count; i++) {
    struct ir_type stated = {s->module->lists.data[type->first + type->input_count + i]};
    if (!has_stated_type(s->module, stated, results[i])) {
      strbuf_printf(why, "result %u has another type than the function states", i);
      return false;
    }
  }
  return true;
}

/* Part i of two tensors of floats (a complex number has two): the same bits, or both NaN. Which operand an operation takes
 * the sign and the payload of a NaN from is left open by IEEE 754 (6.2.3, 6.3), and compilers swap operands. */
static bool same_part(const struct interp_value *a, const struct interp_value *b, enum dtype part, size_t bytes,
                      uint64_t i) {
  uint64_t x = 0, y = 0;
  memcpy(&x, a->data + i * bytes, bytes);
  memcpy(&y, b->data + i * bytes, bytes);
  return x == y || (isnan(minifloat_decode(part, x)) && isnan(minifloat_decode(part, y)));
}

static bool same_tensor(const struct interp_value *a, const struct interp_value *b) {
  enum dtype part = (enum dtype)a->dtype;
  uint64_t parts = a->count;
  if (a->size_bytes == 0 || memcmp(a->data, b->data, a->size_bytes) == 0) {
    return true;
  }
  if (dtype_class_of(part) == DTYPE_CLASS_COMPLEX) {
    part = part == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
    parts *= 2;
  }
  bool is_same = dtype_is_floating(part);
  for (uint64_t i = 0; is_same && i < parts; i++) {
    is_same = same_part(a, b, part, (size_t)(a->size_bytes / parts), i);
  }
  return is_same;
}

/* Whether two values are the same, bit for bit but for NaN. */
static bool same_value(const struct interp_value *a, const struct interp_value *b) {
  if (a->kind != b->kind || a->count != b->count || a->dtype != b->dtype || a->size_bytes != b->size_bytes) {
    return false;
  }
  bool is_same = true;
  if (a->kind == INTERP_TENSOR) {
    return same_tensor(a, b);
  }
  for (uint64_t i = 0; is_same && a->kind == INTERP_TUPLE && i < a->count; i++) {
    is_same = same_value(a->parts[i], b->parts[i]);
  }
  return is_same;
}

static bool check_same(const struct subject *s, struct interp_value *const *a, struct interp_value *const *b,
                       const char *what, struct strbuf *why) {
  for (uint32_t i = 0; i < s->result_count; i++) {
    if (!same_value(a[i], b[i])) {
      strbuf_printf(why, "result %u differs %s:\n", i, what);
      interp_print_short(a[i], 100, why);
      strbuf_puts(why, "\nand\n");
      interp_print_short(b[i], 100, why);
      return false;
    }
  }
  return true;
}

/* Sums of floats: a fast kernel may take the terms in another order. */
static bool has_float_sum(const struct ir_module *m) {
  for (uint32_t id = 1; id < m->ops.count; id++) {
    switch (ir_op_code(m, (struct ir_op){id})) {
    case IR_OP_DOT:
    case IR_OP_DOT_GENERAL:
    case IR_OP_CONVOLUTION:
    case IR_OP_DYNAMIC_CONV:
    case IR_OP_REDUCE:
    case IR_OP_REDUCE_WINDOW:
      return true;
    default:
      break;
    }
  }
  return false;
}

static bool check_plain(struct subject *s, struct interp_value *const *results, const struct fuzz_run_budget *budget,
                        struct strbuf *why) {
  struct interp_value **plain = NULL;
  enum fuzz_outcome outcome = run(s, s->arguments, budget, true, &plain, why);
  bool is_good = outcome == FUZZ_ACCEPTED;
  if (outcome == FUZZ_REFUSED) {
    strbuf_puts(why, " (plain path only)");
  }
  is_good = is_good && check_types(s, plain, why)
            && (has_float_sum(s->module) || check_same(s, results, plain, "on the plain path", why));
  release_values(plain, plain != NULL ? s->result_count : 0);
  return is_good;
}

static bool check_printed(struct subject *s, struct interp_value *const *results, const struct fuzz_run_budget *budget,
                          struct strbuf *why) {
  struct strbuf text = {0};
  struct mlir_print_options options = {.form = MLIR_PRETTY};
  mlir_print(s->module, s->module->root, &options, &text);
  struct subject again;
  struct interp_value **same = NULL;
  bool is_good = subject_read(&again, strbuf_text(&text), text.length);
  if (!is_good) {
    strbuf_puts(why, "what runs is printed and then refused: ");
    first_message(&again.diags, why);
  }
  is_good = is_good && again.argument_count == s->argument_count && again.result_count == s->result_count
            && run(&again, s->arguments, budget, false, &same, why) == FUZZ_ACCEPTED
            && check_same(s, results, same, "after printing and reading", why);
  release_values(same, same != NULL ? s->result_count : 0);
  subject_release(&again);
  strbuf_release(&text);
  return is_good;
}

enum fuzz_outcome fuzz_check_run(const char *text, size_t length, uint64_t seed, const struct fuzz_run_budget *budget,
                                 struct strbuf *why) {
  struct subject s;
  struct interp_value **results = NULL;
  enum fuzz_outcome outcome = subject_read(&s, text, length) ? FUZZ_ACCEPTED : FUZZ_REFUSED;
  if (outcome == FUZZ_REFUSED) {
    first_message(&s.diags, why);
  } else if (!make_arguments(&s, seed)) {
    outcome = FUZZ_REFUSED;
    strbuf_puts(why, "no arguments can be made");
  } else {
    outcome = run(&s, s.arguments, budget, false, &results, why);
  }
  if (outcome == FUZZ_ACCEPTED
      && !(check_types(&s, results, why) && check_plain(&s, results, budget, why)
           && check_printed(&s, results, budget, why))) {
    outcome = FUZZ_BROKEN;
  }
  release_values(results, results != NULL ? s.result_count : 0);
  subject_release(&s);
  return outcome;
}
