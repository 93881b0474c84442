/* Batches, layouts and configuration of LAPACK-style calls: see interp_lapack.h. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "interp/interp_lapack.h"

enum { MAX_RESULTS = 2 * INTERP_LAPACK_RESULTS };

/* ---- configuration ------------------------------------------------------------------------------------------------------- */

/* The descriptor of the GPU calls before the typed interface: int32 type, int32 uplo, ... cuSOLVER's uplo is 0 lower, 1 upper,
 * rocBLAS's 122 lower, 121 upper. */
static char triangle_of_descriptor(const struct interp_call *call, struct ir_attr config) {
  uint32_t text = ir_attr_get(call->module, config)->text;
  int32_t uplo = 0;
  if (intern_length(&call->module->strings, text) >= 2 * sizeof uplo) {
    memcpy(&uplo, ir_text(call->module, text) + sizeof uplo, sizeof uplo);
  }
  return uplo == 1 || uplo == 121 ? 'U' : 'L';
}

char interp_lapack_triangle(const struct interp_call *call) {
  struct ir_attr config = interp_config(call);
  if (config.id && ir_attr_get(call->module, config)->kind == IR_ATTR_STRING) {
    return triangle_of_descriptor(call, config);
  }
  bool is_lower = interp_config_int(call, "lower", 1) != 0;
  return interp_config_int(call, "uplo", is_lower ? 'L' : 'U') == 'U' ? 'U' : 'L'; /* LAPACK stops at other letters */
}

/* ---- arrays ---------------------------------------------------------------------------------------------------------------- */

/* Shape of one matrix of the batch; false when the batch is another one or a dimension is out of LAPACK's range. */
static bool set_shape(struct interp_lapack_array *a, uint32_t batch_rank, const int64_t *batch) {
  const struct interp_value *v = a->value;
  if (v->rank < batch_rank || v->rank > batch_rank + 2) {
    return false;
  }
  a->rank = (int)(v->rank - batch_rank);
  bool fits = batch_rank == 0 || memcmp(v->dims, batch, batch_rank * sizeof *batch) == 0;
  int64_t rows = a->rank > 0 ? v->dims[batch_rank] : 1, columns = a->rank > 1 ? v->dims[batch_rank + 1] : 1;
  fits &= rows <= INT_MAX / 2 && columns <= INT_MAX / 2;
  a->is_turned &= a->rank == 2;
  a->rows = fits ? (int)(a->is_turned ? columns : rows) : 0;
  a->columns = fits ? (int)(a->is_turned ? rows : columns) : 0;
  a->leading = a->rows > 0 ? a->rows : 1;
  return fits;
}

static bool make_scratch(struct interp_call *call, struct interp_lapack_array *a) {
  enum dtype wide = interp_is_integral(a->value) ? DTYPE_I32 : interp_is_complex(a->value) ? DTYPE_C128 : DTYPE_F64;
  int64_t count = (int64_t)a->rows * a->columns;
  a->scratch = interp_scratch(call, wide, &count, 1);
  a->any = a->scratch ? a->scratch->data : NULL;
  return a->scratch != NULL;
}

/* Row-major place in the value, from `first` on, of the element that the kernel has at (row, column). */
static uint64_t place_of(const struct interp_lapack_array *a, int row, int column) {
  return a->is_turned ? (uint64_t)column * (uint64_t)a->rows + (uint64_t)row
                      : (uint64_t)row * (uint64_t)a->columns + (uint64_t)column;
}

static void load(struct interp_lapack_array *a, uint64_t batch) {
  uint64_t first = batch * a->scratch->count, to = 0;
  for (int column = 0; column < a->columns; column++) {
    for (int row = 0; row < a->rows; row++, to++) {
      uint64_t from = first + place_of(a, row, column);
      if (interp_is_integral(a->value)) {
        a->integers[to] = (int32_t)interp_int_at(a->value, from);
      } else if (interp_is_complex(a->value)) {
        interp_read_complex(a->value, from, 1, (double *)&a->complexes[to]);
      } else {
        interp_read_real(a->value, from, 1, &a->reals[to]);
      }
    }
  }
}

static void store(struct interp_lapack_array *a, uint64_t batch) {
  uint64_t first = batch * a->scratch->count, from = 0;
  for (int column = 0; column < a->columns; column++) {
    for (int row = 0; row < a->rows; row++, from++) {
      uint64_t to = first + place_of(a, row, column);
      if (interp_is_integral(a->value)) {
        int64_t number = a->integers[from];
        interp_write_int(a->value, to, 1, &number);
      } else if (interp_is_complex(a->value)) {
        interp_write_complex(a->value, to, 1, (const double *)&a->complexes[from]);
      } else {
        interp_write_real(a->value, to, 1, &a->reals[from]);
      }
    }
  }
}

static void fill_nan(struct interp_lapack_array *a) {
  if (!interp_is_integral(a->value)) {
    uint64_t count = a->scratch->count * (interp_is_complex(a->value) ? 2 : 1);
    for (uint64_t i = 0; i < count; i++) {
      a->reals[i] = (double)NAN;
    }
  }
}

/* ---- calls ----------------------------------------------------------------------------------------------------------------- */

/* Type of result i: the operation's, or a part of its only result when that is a tuple. */
static struct ir_type result_type(const struct interp_call *call, uint32_t i, bool *is_tuple, uint32_t *count) {
  const struct ir_module *m = call->module;
  struct ir_type type = call->result_count > 0 ? ir_value_type(m, ir_op_result(m, call->op, 0)) : (struct ir_type){0};
  const struct ir_type_data *data = ir_type_get(m, type);
  *is_tuple = call->result_count == 1 && data->kind == IR_TYPE_TUPLE;
  *count = *is_tuple ? data->count : call->result_count;
  if (i >= *count) {
    return (struct ir_type){0};
  }
  return *is_tuple ? (struct ir_type){m->lists.data[data->first + i]} : ir_value_type(m, ir_op_result(m, call->op, i));
}

/* A tensor of zeros of that type. */
static struct interp_value *make_result(struct interp_call *call, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(call->module, type);
  if (data->kind != IR_TYPE_TENSOR || !ir_type_is_static(call->module, type)) {
    interp_unsupported(call, "a result is no tensor of a static shape");
    return NULL;
  }
  struct interp_value *value =
      interp_scratch(call, (enum dtype)data->dtype, ir_type_dims(call->module, type), data->rank);
  if (value && value->size_bytes > 0) {
    memset(value->data, 0, value->size_bytes);
  }
  return value;
}

static bool prepare_operands(struct interp_lapack_job *job, const struct interp_lapack_form *form,
                             uint32_t batch_rank) {
  struct interp_call *call = job->call;
  for (uint32_t i = 0; i < job->in_count; i++) {
    struct interp_lapack_array *a = &job->in[i];
    a->value = call->operands[i];
    if (a->value->kind != INTERP_TENSOR || a->value->quant) {
      return interp_unsupported(call, "operand %u is no tensor of numbers", i);
    }
    a->is_turned = !form->is_logical && interp_is_row_major(call, "operand_layouts", i, a->value->rank);
    if (!set_shape(a, batch_rank, call->operands[0]->dims)) {
      return interp_wrong(call, "operand %u does not fit the first", i);
    }
    if (!make_scratch(call, a)) {
      return false;
    }
  }
  return true;
}

/* Results that the routine gives have arrays; `values` has all of them, owned. */
static bool prepare_results(struct interp_lapack_job *job, const struct interp_lapack_form *form, uint32_t batch_rank,
                            struct interp_value **values, uint32_t count) {
  bool is_tuple, ok = true;
  for (uint32_t i = 0; ok && i < count; i++) {
    values[i] = make_result(job->call, result_type(job->call, i, &is_tuple, &count));
    ok = values[i] != NULL;
    if (ok && i < job->out_count && values[i]->rank >= batch_rank) { /* what is not asked for may have rank 0 */
      struct interp_lapack_array *a = &job->out[i];
      a->value = values[i];
      a->is_turned = !form->is_logical && interp_is_row_major(job->call, "result_layouts", i, a->value->rank);
      ok = set_shape(a, batch_rank, job->call->operands[0]->dims)
               ? make_scratch(job->call, a)
               : interp_wrong(job->call, "result %u does not fit the operands", i);
    }
  }
  return ok;
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------------- */

enum { UNBOUND = -1, LETTERS = 26 };

/* The number that a letter stands for. */
static int bound(const int *letters, char letter) {
  int m = letters['m' - 'a'], n = letters['n' - 'a'];
  return letter == 'k' ? (m < n ? m : n) : letter == 'e' ? (n > 1 ? n - 1 : 0) : letters[letter - 'a'];
}

static bool has_type(const struct interp_lapack_job *job, const struct interp_lapack_array *a, char type) {
  bool is_integral = interp_is_integral(a->value), is_complex = interp_is_complex(a->value);
  switch (type) {
  case 'I':
    return is_integral;
  case 'A':
    return !is_integral && is_complex == job->is_complex;
  default:
    return !is_integral && is_complex == (type == 'C');
  }
}

/* One array against its part of the text, which is left behind it. */
static bool fits_shape(const struct interp_lapack_job *job, const struct interp_lapack_array *a, const char **text,
                       int *letters) {
  char type = *(*text)++;
  if (type == '*') {
    return true;
  }
  int sizes[2] = {a->rows, a->columns}, rank = 0;
  bool fits = a->value && has_type(job, a, type);
  for (; **text >= 'a' && **text <= 'z'; (*text)++, rank++) {
    int at = **text - 'a';
    if (letters[at] == UNBOUND && **text != 'k' && **text != 'e') {
      letters[at] = sizes[rank];
    }
    fits &= rank < a->rank && sizes[rank] == bound(letters, **text);
  }
  return fits && rank == a->rank;
}

static bool check_shapes(struct interp_lapack_job *job, const char *shapes) {
  int letters[LETTERS];
  memset(letters, UNBOUND, sizeof letters);
  for (uint32_t i = 0; i < job->in_count; i++, shapes++) {
    if (!fits_shape(job, &job->in[i], &shapes, letters)) {
      return interp_wrong(job->call, "operand %u has another shape or element type than the kernel takes", i);
    }
  }
  for (uint32_t i = 0; i < job->out_count; i++, shapes++) {
    if (!fits_shape(job, &job->out[i], &shapes, letters)) {
      return interp_wrong(job->call, "result %u has another shape or element type than the kernel gives", i);
    }
  }
  return true;
}

/* Arrays that the text names before and after the '>', and the rank of the first. */
static void count_arrays(const char *shapes, struct interp_lapack_job *job, uint32_t *first_rank) {
  *first_rank = (uint32_t)strspn(shapes + 1, "abcdefghijklmnopqrstuvwxyz");
  uint32_t *count = &job->in_count;
  job->in_count = job->out_count = 1;
  for (; *shapes; shapes++) {
    count = *shapes == '>' ? &job->out_count : count;
    *count += *shapes == ' ';
  }
}

/* ---- runs ------------------------------------------------------------------------------------------------------------------ */

static bool run_batch(struct interp_lapack_job *job, const struct interp_lapack_form *form) {
  for (uint64_t b = 0; b < job->batch_count; b++) {
    for (uint32_t i = 0; i < job->in_count; i++) {
      load(&job->in[i], b);
    }
    for (uint32_t i = 0; i < job->out_count; i++) {
      if (job->out[i].value && job->out[i].scratch->size_bytes > 0) {
        memset(job->out[i].any, 0, job->out[i].scratch->size_bytes);
      }
    }
    int info = form->routine(job);
    if (atomic_load(&job->call->frame->process->run->is_out_of_memory)) {
      return false;
    }
    for (uint32_t i = 0; i < job->out_count; i++) {
      if (!job->out[i].value) {
        continue;
      }
      if (info < 0) {
        fill_nan(&job->out[i]);
      }
      if (form->info == (int)i) {
        job->out[i].integers[0] = info;
      }
      store(&job->out[i], b);
    }
  }
  return true;
}

/* The routines are of the order of n^3; their constants are below this. */
static bool spend(struct interp_lapack_job *job) {
  uint64_t largest = 1;
  for (uint32_t i = 0; i < job->in_count; i++) {
    largest = largest > (uint64_t)job->in[i].rows ? largest : (uint64_t)job->in[i].rows;
    largest = largest > (uint64_t)job->in[i].columns ? largest : (uint64_t)job->in[i].columns;
  }
  uint64_t cube = sat_mul_u64(sat_mul_u64(largest, largest), largest);
  return interp_spend(job->call, sat_mul_u64(sat_mul_u64(cube, 25), job->batch_count));
}

static bool check_counts(struct interp_lapack_job *job, uint32_t first_rank, uint32_t result_count) {
  struct interp_call *call = job->call;
  const struct interp_value *first = call->operand_count > 0 ? call->operands[0] : NULL;
  if (call->operand_count != job->in_count || result_count < job->out_count || result_count > MAX_RESULTS
      || first->kind != INTERP_TENSOR || first->rank < first_rank) {
    return interp_wrong(call, "it has %u operands and %u results; the kernel takes %u and gives %u",
                        call->operand_count, result_count, job->in_count, job->out_count);
  }
  return true;
}

/* Hands the results over: as they are, or as the parts of the tuple. */
static bool give_results(struct interp_call *call, struct interp_value **values, uint32_t count, bool is_tuple) {
  for (uint32_t i = 0; i < count && !is_tuple; i++) {
    interp_result_is(call, i, values[i]);
  }
  if (is_tuple) {
    call->results[0] = interp_tuple_new(INTERP_TUPLE, values, count);
  }
  return !is_tuple || call->results[0] ? true : interp_out_of_memory(call);
}

static void release_job(struct interp_lapack_job *job) {
  for (uint32_t i = 0; i < job->in_count; i++) {
    interp_release(job->in[i].scratch);
  }
  for (uint32_t i = 0; i < job->out_count; i++) {
    interp_release(job->out[i].scratch);
  }
}

bool interp_lapack_run(struct interp_call *call, const struct interp_lapack_form *form) {
  struct interp_value *values[MAX_RESULTS] = {NULL};
  struct interp_lapack_job job = {.call = call, .batch_count = 1};
  uint32_t count, first_rank;
  bool is_tuple;
  (void)result_type(call, 0, &is_tuple, &count);
  count_arrays(form->shapes, &job, &first_rank);
  if (!check_counts(&job, first_rank, count)) {
    return false;
  }
  uint32_t batch_rank = call->operands[0]->rank - first_rank;
  job.is_complex = interp_is_complex(call->operands[0]);
  for (uint32_t d = 0; d < batch_rank; d++) {
    job.batch_count = sat_mul_u64(job.batch_count, (uint64_t)call->operands[0]->dims[d]);
  }
  bool ok = prepare_operands(&job, form, batch_rank) && prepare_results(&job, form, batch_rank, values, count)
            && check_shapes(&job, form->shapes) && spend(&job) && run_batch(&job, form)
            && give_results(call, values, count, is_tuple);
  release_job(&job);
  for (uint32_t i = 0; i < count; i++) {
    interp_release(values[i]);
  }
  return ok;
}
