/* From the caller's tensors to arguments of the entry function: checked with the parameter's name and type in the message,
 * copied, filled where they are missing, put together to tuples. Path: rdg_run → here → interp_run. */
#include "api/api_inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/minifloat.h"

/* One conversion of all inputs of a process. */
struct maker {
  rdg_context *ctx;
  const rdg_program *program;
  const rdg_run_options *options;
  const rdg_tensor *inputs; /* of this process */
  size_t count, next; /* next input */
  uint64_t left_bytes; /* of the budget */
  rdg_status status;
};

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static void *refuse(struct maker *m, rdg_status status, enum diag_id id, const char *text) {
  const struct program *program = m->program->program;
  diag_at(&m->ctx->diags, id, &program->source, ir_op_get(program->module, program->entry)->offset, "%s", text);
  m->status = status;
  return NULL;
}

/* "f32[2,?]" */
static void put_shape(struct strbuf *out, rdg_dtype dtype, uint32_t rank, const int64_t *dims) {
  strbuf_puts(out, dtype == RDG_DTYPE_NONE ? "opaque elements " : rdg_dtype_name(dtype));
  strbuf_putc(out, '[');
  for (uint32_t d = 0; d < rank && d < 16; d++) {
    strbuf_printf(out, "%s%" PRId64, d ? "," : "", dims[d]);
  }
  strbuf_puts(out, rank > 16 ? ",...]" : "]");
}

/* "input 1 ('x', tensor<2xf32>): ..." */
static void *refuse_input(struct maker *m, size_t i, enum diag_id id, const char *why) {
  const rdg_signature_entry *entry = &m->program->inputs.entries[i];
  struct strbuf text = {0};
  strbuf_printf(&text, "input %zu ('%s', %s) %s", i, entry->name, entry->type, why);
  refuse(m, id == DIAG_E0704_RUN_BUDGET ? RDG_ERROR_LIMIT : RDG_ERROR_INPUT, id, strbuf_text(&text));
  strbuf_release(&text);
  return NULL;
}

static void *refuse_given(struct maker *m, size_t i, const rdg_tensor *given) {
  struct strbuf why = {0};
  strbuf_puts(&why, "was given as ");
  put_shape(&why, given->dtype, given->rank, given->dims);
  refuse_input(m, i, DIAG_E0702_RUN_VALUE, strbuf_text(&why));
  strbuf_release(&why);
  return NULL;
}

static void *out_of_memory(struct maker *m) {
  m->status = RDG_ERROR_MEMORY;
  return NULL;
}

/* ---- elements ------------------------------------------------------------------------------------------------------- */

/* Range of an integer type that has a byte per element and fewer bits. */
static void narrow_range(enum dtype dtype, int *low, int *high) {
  unsigned bits = dtype_bits(dtype);
  bool is_signed = dtype_class_of(dtype) == DTYPE_CLASS_SINT;
  *low = is_signed ? -(1 << (bits - 1)) : 0;
  *high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

static bool is_narrow(enum dtype dtype) {
  return dtype_bits(dtype) < 8;
}

/* Brings the bytes of types narrower than a byte into their form. `is_opaque`: what stands above the bits has no meaning.
 * False when a value is out of range. */
static bool normalise(struct interp_value *v, bool is_opaque) {
  enum dtype dtype = (enum dtype)v->dtype;
  int low, high;
  if (!is_narrow(dtype)) {
    return true;
  }
  uint8_t mask = (uint8_t)((1U << dtype_bits(dtype)) - 1);
  enum dtype_class class = dtype_class_of(dtype);
  narrow_range(dtype, &low, &high);
  for (uint64_t i = 0; i < v->count; i++) {
    uint8_t *byte = &v->data[i];
    int value = class == DTYPE_CLASS_SINT ? (int8_t)*byte : *byte;
    if (class == DTYPE_CLASS_BOOL) {
      *byte = *byte != 0;
    } else if (class == DTYPE_CLASS_FLOAT || (is_opaque && class == DTYPE_CLASS_UINT)) {
      *byte &= mask;
    } else if (is_opaque) {
      value = *byte & mask;
      *byte = (uint8_t)(value > high ? value - 2 * (high + 1) : value);
    } else if (value < low || value > high) {
      return false;
    }
  }
  return true;
}

/* splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/* Every input has its own sequence, so that another one that is given does not change it. */
static void fill_random(struct interp_value *v, uint64_t seed, size_t input) {
  enum { MOST = 9 };
  uint64_t state = seed;
  state = next_random(&state) ^ (uint64_t)input * 0x9e3779b97f4a7c15;
  enum dtype dtype = (enum dtype)v->dtype, part = dtype;
  uint64_t parts = v->count;
  if (dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    part = dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
    parts *= 2;
  }
  bool is_float = dtype_is_floating(part);
  int low = 0, high = MOST;
  if (is_narrow(dtype) && !is_float) {
    narrow_range(dtype, &low, &high);
    high = dtype == DTYPE_I1 ? 1 : high < MOST ? high : MOST;
  }
  size_t bytes = v->count ? (size_t)(v->size_bytes / parts) : 0;
  for (uint64_t i = 0; i < parts; i++) {
    uint64_t random = next_random(&state);
    double uniform = (double)(random >> 11) * 0x1p-52 - 1; /* 53 bits over [0, 2) */
    uniform = part == DTYPE_F8E8M0FNU ? fabs(uniform) : uniform; /* has no sign */
    uint64_t bits = is_float ? minifloat_encode(part, uniform) : random % (uint64_t)(high + 1);
    memcpy(v->data + i * bytes, &bits, bytes); /* little-endian, as values are */
  }
}

/* ---- one input ------------------------------------------------------------------------------------------------------- */

static bool fits_dims(const rdg_signature_entry *entry, uint32_t rank, const int64_t *dims) {
  bool fits = entry->rank == rank;
  for (uint32_t d = 0; fits && d < rank; d++) {
    fits = entry->dims[d] == dims[d] || (entry->dims[d] < 0 && dims[d] >= 0);
  }
  return fits;
}

/* Bytes of a tensor, UINT64_MAX when they overflow; dimensions that are not known count as none. */
static bool count_bytes(const int64_t *dims, uint32_t rank, size_t element, uint64_t *bytes) {
  bool is_empty = false, overflows = false;
  *bytes = element;
  for (uint32_t d = 0; d < rank; d++) {
    is_empty |= dims[d] <= 0;
  }
  for (uint32_t d = 0; d < rank && !is_empty; d++) {
    overflows |= __builtin_mul_overflow(*bytes, (uint64_t)dims[d], bytes);
  }
  *bytes = is_empty ? 0 : overflows ? UINT64_MAX : *bytes;
  return !overflows;
}

/* A value of the parameter's type with these dims, elements not set. */
static struct interp_value *new_value(struct maker *m, size_t i, const int64_t *dims, uint32_t rank) {
  const struct ir_module *module = m->program->program->module;
  const rdg_signature_entry *entry = &m->program->inputs.entries[i];
  uint64_t bytes;
  if (!count_bytes(dims, rank, rdg_dtype_size(entry->dtype), &bytes) || bytes > m->left_bytes) {
    struct strbuf why = {0};
    strbuf_printf(&why, "takes %" PRIu64 " bytes; %" PRIu64 " are left of the memory budget", bytes, m->left_bytes);
    refuse_input(m, i, DIAG_E0704_RUN_BUDGET, strbuf_text(&why));
    strbuf_release(&why);
    return NULL;
  }
  struct interp_value *value = interp_tensor_new((enum dtype)entry->dtype, dims, rank);
  if (!value) {
    return out_of_memory(m);
  }
  m->left_bytes -= bytes;
  struct ir_type element = ir_type_get(module, m->program->inputs.types[i])->element;
  const struct ir_type_data *data = ir_type_get(module, element);
  value->quant = data->kind == IR_TYPE_QUANTIZED ? data->quant + 1 : 0;
  return value;
}

static struct interp_value *fill_input(struct maker *m, size_t i, const rdg_tensor *given) {
  const rdg_signature_entry *entry = &m->program->inputs.entries[i];
  uint32_t rank = given && given->dims ? given->rank : entry->rank;
  const int64_t *dims = given && given->dims ? given->dims : entry->dims;
  if (m->options->fill == RDG_FILL_NONE) {
    return refuse_input(m, i, DIAG_E0702_RUN_VALUE, "has no value");
  }
  if (!fits_dims(entry, rank, dims)) {
    return refuse_given(m, i, given);
  }
  for (uint32_t d = 0; d < rank; d++) {
    if (dims[d] < 0) {
      return refuse_input(m, i, DIAG_E0702_RUN_VALUE, "has a dynamic shape: a value must be given");
    }
  }
  struct interp_value *value = new_value(m, i, dims, rank);
  if (value && m->options->fill == RDG_FILL_RANDOM) {
    fill_random(value, m->options->seed, i);
  } else if (value && value->size_bytes > 0) {
    memset(value->data, 0, (size_t)value->size_bytes);
  }
  return value;
}

/* True when elements of the given type may stand for those of the parameter; see rdg_run. */
static bool fits_dtype(rdg_dtype given, enum dtype wanted) {
  enum dtype_class class = dtype_class_of(wanted);
  return given == RDG_DTYPE_NONE || (enum dtype)given == wanted
         || (is_narrow(wanted) && given == RDG_DTYPE_I8 && class == DTYPE_CLASS_SINT)
         || (is_narrow(wanted) && given == RDG_DTYPE_UI8 && class == DTYPE_CLASS_UINT);
}

static struct interp_value *copy_input(struct maker *m, size_t i, const rdg_tensor *given) {
  const rdg_signature_entry *entry = &m->program->inputs.entries[i];
  uint64_t bytes;
  if (!fits_dtype(given->dtype, (enum dtype)entry->dtype) || !fits_dims(entry, given->rank, given->dims)) {
    return refuse_given(m, i, given);
  }
  (void)count_bytes(given->dims, given->rank, rdg_dtype_size(entry->dtype), &bytes);
  if (given->size_bytes != bytes) {
    struct strbuf why = {0};
    strbuf_printf(&why, "takes %" PRIu64 " bytes, %zu were given", bytes, given->size_bytes);
    refuse_input(m, i, DIAG_E0702_RUN_VALUE, strbuf_text(&why));
    strbuf_release(&why);
    return NULL;
  }
  struct interp_value *value = new_value(m, i, given->dims, given->rank);
  if (!value) {
    return NULL;
  }
  if (value->size_bytes > 0) {
    memcpy(value->data, given->data, given->size_bytes);
  }
  if (!normalise(value, given->dtype == RDG_DTYPE_NONE)) {
    interp_release(value);
    return refuse_input(m, i, DIAG_E0702_RUN_VALUE, "has a value outside of its range");
  }
  return value;
}

static struct interp_value *make_leaf(struct maker *m) {
  size_t i = m->next++;
  const rdg_tensor *given = i < m->count ? &m->inputs[i] : NULL;
  if (m->program->inputs.entries[i].dtype == RDG_DTYPE_NONE) {
    return refuse_input(m, i, DIAG_E0701_NOT_EXECUTABLE, "cannot be given: it is no ranked tensor of numbers");
  }
  bool is_missing = !given || !given->data;
  uint64_t bytes = 1;
  if (given && is_missing && given->dims) { /* of a tensor without elements there is nothing to give */
    (void)count_bytes(given->dims, given->rank, 1, &bytes);
  }
  return is_missing && bytes > 0 ? fill_input(m, i, given) : copy_input(m, i, given);
}

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

static struct interp_value *make_argument(struct maker *m, struct ir_type type) {
  const struct ir_module *module = m->program->program->module;
  const struct ir_type_data *data = ir_type_get(module, type);
  if (data->kind == IR_TYPE_TOKEN) {
    struct interp_value *token = interp_token_new();
    return token ? token : out_of_memory(m);
  }
  if (data->kind != IR_TYPE_TUPLE) {
    return make_leaf(m);
  }
  struct interp_value **parts = calloc((size_t)data->count + 1, sizeof *parts);
  struct interp_value *tuple = NULL;
  uint32_t made = 0;
  for (bool ok = parts != NULL; ok && made < data->count; made += ok) {
    parts[made] = make_argument(m, (struct ir_type){module->lists.data[data->first + made]});
    ok = parts[made] != NULL;
  }
  if (parts && made == data->count) {
    tuple = interp_tuple_new(INTERP_TUPLE, parts, made); /* keeps them */
  }
  for (uint32_t i = 0; parts && i < made; i++) {
    interp_release(parts[i]);
  }
  free(parts);
  return tuple || m->status != RDG_OK ? tuple : out_of_memory(m);
}

static bool check_count(struct maker *m, size_t given, size_t processes) {
  const struct program *program = m->program->program;
  size_t wanted = m->program->inputs.count;
  size_t all = m->options->inputs_per_process ? wanted * processes : wanted;
  bool may_lack = m->options->fill != RDG_FILL_NONE && !m->options->inputs_per_process;
  if (given == all || (may_lack && given < all)) {
    return true;
  }
  struct strbuf text = {0};
  strbuf_printf(&text, "'@%s' takes %zu inputs", ir_symbol_name(program->module, program->entry), wanted);
  if (all != wanted) {
    strbuf_printf(&text, ", %zu for %zu processes", all, processes);
  }
  strbuf_printf(&text, "; %zu were given", given);
  if (given < all && wanted > 0) {
    const rdg_signature_entry *entry = &m->program->inputs.entries[given % wanted];
    strbuf_printf(&text, ", the next one is '%s', %s", entry->name, entry->type);
  }
  refuse(m, RDG_ERROR_INPUT, DIAG_E0702_RUN_VALUE, strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

/* Refuses inputs that go over the budget before the first one is made. */
static bool check_size(struct maker *m, const rdg_tensor *inputs, size_t given, size_t processes) {
  size_t wanted = m->program->inputs.count, all = m->options->inputs_per_process ? wanted * processes : wanted;
  uint64_t sum = 0, most = 0;
  const rdg_signature_entry *largest = NULL;
  for (size_t i = 0; i < all; i++) {
    const rdg_signature_entry *entry = &m->program->inputs.entries[i % wanted];
    bool has_dims = i < given && inputs[i].dims;
    uint64_t bytes;
    (void)count_bytes(has_dims ? inputs[i].dims : entry->dims, has_dims ? inputs[i].rank : entry->rank,
                      rdg_dtype_size(entry->dtype), &bytes);
    sum = sat_add_u64(sum, bytes);
    largest = bytes > most ? entry : largest;
    most = bytes > most ? bytes : most;
  }
  if (sum <= m->left_bytes) {
    return true;
  }
  struct strbuf text = {0};
  strbuf_printf(&text, "the inputs take %" PRIu64 " bytes, %" PRIu64 " of them '%s', %s; the memory budget is %" PRIu64,
                sum, most, largest->name, largest->type, m->left_bytes);
  refuse(m, RDG_ERROR_LIMIT, DIAG_E0704_RUN_BUDGET, strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

/* Process 0's arguments, or those of each. */
static void make_process(struct maker *m, struct api_arguments *arguments, uint32_t process) {
  const struct ir_module *module = m->program->program->module;
  const struct ir_type_data *type = ir_type_get(module, ir_function_type(module, m->program->program->entry));
  size_t first = (size_t)process * arguments->per_process;
  m->next = 0;
  for (uint32_t i = 0; m->status == RDG_OK && i < arguments->per_process; i++) {
    if (process > 0 && !m->options->inputs_per_process) {
      arguments->values[first + i] = arguments->values[i];
      interp_retain(arguments->values[i]);
    } else {
      arguments->values[first + i] = make_argument(m, (struct ir_type){module->lists.data[type->first + i]});
    }
  }
}

rdg_status api_arguments_make(rdg_context *ctx, const rdg_program *program, const rdg_run_options *options,
                              uint64_t budget_bytes, const rdg_tensor *inputs, size_t count,
                              struct api_arguments *arguments) {
  const struct ir_module *module = program->program->module;
  const struct ir_type_data *type = ir_type_get(module, ir_function_type(module, program->program->entry));
  uint32_t replicas = options->replicas ? options->replicas : 1, partitions = options->partitions;
  struct maker m = {.ctx = ctx, .program = program, .options = options, .left_bytes = budget_bytes, .status = RDG_OK};
  enum { MAX_PROCESSES = 1024 };
  uint64_t processes = (uint64_t)replicas * (partitions ? partitions : 1);
  *arguments = (struct api_arguments){.per_process = type->input_count};
  if (processes > MAX_PROCESSES) {
    refuse(&m, RDG_ERROR_LIMIT, DIAG_E0704_RUN_BUDGET, "a grid of more than 1024 processes");
    return m.status;
  }
  if (!check_count(&m, count, (size_t)processes) || !check_size(&m, inputs, count, (size_t)processes)) {
    return m.status;
  }
  arguments->values = calloc((size_t)processes * type->input_count + 1, sizeof *arguments->values);
  if (!arguments->values) {
    return RDG_ERROR_MEMORY;
  }
  arguments->processes = (uint32_t)processes;
  for (uint32_t p = 0; m.status == RDG_OK && p < arguments->processes; p++) {
    size_t first = options->inputs_per_process ? p * program->inputs.count : 0;
    m.inputs = inputs ? inputs + first : NULL;
    m.count = options->inputs_per_process ? program->inputs.count : count;
    make_process(&m, arguments, p);
  }
  return m.status;
}

void api_arguments_release(struct api_arguments *arguments) {
  for (size_t i = 0; arguments->values && i < (size_t)arguments->processes * arguments->per_process; i++) {
    interp_release(arguments->values[i]);
  }
  free(arguments->values);
}
