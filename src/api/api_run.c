/* Running a program on tensors: arguments in, interp_run, results out. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_inputs.h"
#include "mlir/mlir.h"
#include "report/report.h"

static const uint64_t default_memory_bytes = (uint64_t)8 << 30; /* as the interpreter's */

struct rdg_run_result {
  struct interp_value **owned; /* what the function returned, of all processes */
  size_t owned_count;
  const struct interp_value **leaves; /* tensors in them: processes * per_process */
  const char **types; /* of the leaves of one process, as the program spells them */
  const char **quantized; /* element types of the same, where they are quantized; else NULL */
  size_t processes, per_process;
  unsigned replicas, partitions;
  char *program; /* name */
  struct arena arena; /* leaves, types */
  double time_s;
};

/* ---- results --------------------------------------------------------------------------------------------------------- */

/* Appends the tensors below a value; false when there is something that is none. */
static bool add_leaves(const struct interp_value *value, const struct interp_value **leaves, size_t capacity,
                       size_t *count) {
  if (value->kind == INTERP_TENSOR && *count < capacity) {
    leaves[(*count)++] = value;
    return true;
  }
  bool ok = value->kind == INTERP_TUPLE || value->kind == INTERP_TOKEN;
  for (uint64_t i = 0; ok && value->kind == INTERP_TUPLE && i < value->count; i++) {
    ok = add_leaves(value->parts[i], leaves, capacity, count);
  }
  return ok;
}

/* The quantized element type of a result as MLIR spells it; NULL in *text when the type has none. */
static bool quantized_text(const struct ir_module *m, struct ir_type type, struct arena *arena, const char **text) {
  const struct ir_type_data *data = ir_type_get(m, type);
  *text = NULL;
  if (data->element.id == 0 || ir_type_get(m, data->element)->kind != IR_TYPE_QUANTIZED) {
    return true;
  }
  struct strbuf out = {0};
  mlir_print_type(m, data->element, &out);
  *text = out.failed ? NULL : arena_strndup(arena, strbuf_text(&out), out.length);
  strbuf_release(&out);
  return *text != NULL;
}

static rdg_status take_leaves(const rdg_program *program, rdg_run_result *result) {
  size_t per_process = program->outputs.count, count = 0;
  size_t values = result->owned_count / result->processes;
  arena_init(&result->arena, 0);
  result->per_process = per_process;
  result->leaves = arena_calloc(&result->arena, result->processes * per_process + 1, sizeof *result->leaves);
  result->types = arena_calloc(&result->arena, per_process + 1, sizeof *result->types);
  result->quantized = arena_calloc(&result->arena, per_process + 1, sizeof *result->quantized);
  for (size_t i = 0; result->types && result->quantized && i < per_process; i++) {
    const char *type = program->outputs.entries[i].type;
    result->types[i] = arena_strndup(&result->arena, type, strlen(type));
    if (!result->types[i]
        || !quantized_text(program->program->module, program->outputs.types[i], &result->arena,
                           &result->quantized[i])) {
      return RDG_ERROR_MEMORY;
    }
  }
  if (!result->leaves || !result->types || !result->quantized) {
    return RDG_ERROR_MEMORY;
  }
  bool ok = true;
  for (size_t p = 0; ok && p < result->processes; p++) {
    count = p * per_process;
    for (size_t i = 0; ok && i < values; i++) {
      ok = add_leaves(result->owned[p * values + i], result->leaves, (p + 1) * per_process, &count);
    }
    ok = ok && count == (p + 1) * per_process;
  }
  return ok ? RDG_OK : RDG_ERROR_UNSUPPORTED;
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

/* What the program prints on its way to the caller's sink. */
struct printer {
  const rdg_sink *sink;
  bool is_refused;
};

static void print(void *user, const char *text, size_t length) {
  struct printer *p = user;
  p->is_refused = p->is_refused || !p->sink->write(p->sink->user, text, length);
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What the first error says about a run that failed. */
static rdg_status status_of_failure(const rdg_context *ctx, enum status status) {
  for (size_t i = 0; status == STATUS_INPUT && i < ctx->diags.entries.count; i++) {
    const struct diag *d = &ctx->diags.entries.data[i];
    if (d->severity == DIAG_ERROR) {
      return d->id == DIAG_E0704_RUN_BUDGET       ? RDG_ERROR_LIMIT
             : d->id == DIAG_E0701_NOT_EXECUTABLE ? RDG_ERROR_UNSUPPORTED
                                                  : RDG_ERROR_INPUT;
    }
  }
  return api_status(status);
}

static struct interp_options interp_options_of(const rdg_run_options *o, struct printer *printer) {
  return (struct interp_options){.memory_budget_bytes = o->memory_budget_bytes,
                                 .operation_budget = o->operation_budget,
                                 .max_depth = o->max_depth,
                                 .replicas = o->replicas,
                                 .partitions = o->partitions,
                                 .plain = o->plain,
                                 .print = o->print ? print : NULL,
                                 .user = printer};
}

static rdg_status run(rdg_context *ctx, const rdg_program *program, const rdg_run_options *o,
                      const struct api_arguments *arguments, rdg_run_result *result) {
  const struct ir_module *m = program->program->module;
  const struct ir_type_data *type = ir_type_get(m, ir_function_type(m, program->program->entry));
  struct printer printer = {.sink = o->print};
  struct interp_options options = interp_options_of(o, &printer);
  size_t per_process = type->count - type->input_count;
  struct interp_value **values = calloc(arguments->processes * per_process + 1, sizeof *values);
  if (!values) {
    return RDG_ERROR_MEMORY;
  }
  double start_s = now_s();
  enum status status =
      interp_run(m, program->program->entry, &options, arguments->values, arguments->per_process, &ctx->diags, values);
  result->time_s = now_s() - start_s;
  if (status != STATUS_OK) {
    free(values);
    return status_of_failure(ctx, status);
  }
  result->owned = values;
  result->owned_count = arguments->processes * per_process;
  result->processes = arguments->processes;
  if (printer.is_refused) {
    diag_file(&ctx->diags, DIAG_E0006_WRITE, NULL, 0, 0,
              "the output was not taken: the receiver of it refused a piece");
    return RDG_ERROR_IO;
  }
  return take_leaves(program, result);
}

/* Programs that cannot be run as they were loaded, or not within the budgets whatever the inputs are. */
static rdg_status check_program(rdg_context *ctx, const rdg_program *handle, const rdg_run_options *o) {
  const struct program *program = handle->program;
  const char *why = NULL;
  if (program->has_bounds_applied) {
    why = "the program was loaded to be counted, with bounded dimensions at their bounds: load it with only_to_run";
  } else if (!handle->inputs.types || !handle->outputs.types) {
    why = "the entry function has more than 65536 inputs or results";
  } else if (!ir_function_body(program->module, program->entry).id) {
    why = "the entry function has no body";
  }
  for (size_t i = 0; !why && i < handle->outputs.count; i++) {
    uint8_t kind = ir_type_get(program->module, handle->outputs.types[i])->kind;
    if (kind != IR_TYPE_TENSOR && kind != IR_TYPE_UNRANKED) {
      why = "a result is no tensor, tuple of tensors or token";
    }
  }
  if (why) {
    diag_at(&ctx->diags, DIAG_E0701_NOT_EXECUTABLE, &program->source,
            ir_op_get(program->module, program->entry)->offset, "%s", why);
  }
  if (why) {
    return RDG_ERROR_UNSUPPORTED;
  }
  struct interp_options options = interp_options_of(o, NULL);
  return status_of_failure(ctx, interp_check(program->module, program->entry, &options, &ctx->diags));
}

rdg_status rdg_run(rdg_context *ctx, const rdg_program *program, const rdg_run_options *options,
                   const rdg_tensor *inputs, size_t count, rdg_run_result **out) {
  static const rdg_run_options defaults = {0};
  const rdg_run_options *o = options ? options : &defaults;
  api_begin(ctx);
  *out = NULL;
  rdg_status status = check_program(ctx, program, o);
  if (status != RDG_OK) {
    return status;
  }
  rdg_run_result *result = calloc(1, sizeof *result);
  struct api_arguments arguments = {0};
  uint64_t budget = o->memory_budget_bytes ? o->memory_budget_bytes : default_memory_bytes;
  status = result ? api_arguments_make(ctx, program, o, budget, inputs, count, &arguments) : RDG_ERROR_MEMORY;
  if (status == RDG_OK) {
    result->replicas = o->replicas ? o->replicas : 1;
    result->partitions = o->partitions ? o->partitions : 1;
    result->program = strdup(program->program->source.name);
    status = result->program ? run(ctx, program, o, &arguments, result) : RDG_ERROR_MEMORY;
  }
  api_arguments_release(&arguments);
  if (status == RDG_OK) {
    *out = result;
  } else {
    rdg_run_result_free(result);
  }
  return api_result(ctx, status);
}

void rdg_run_result_free(rdg_run_result *result) {
  if (!result) {
    return;
  }
  for (size_t i = 0; i < result->owned_count; i++) {
    interp_release(result->owned[i]);
  }
  free(result->owned);
  free(result->program);
  arena_release(&result->arena);
  free(result);
}

/* ---- for callers ---------------------------------------------------------------------------------------------------- */

size_t rdg_run_process_count(const rdg_run_result *result) {
  return result->processes;
}

size_t rdg_run_result_count(const rdg_run_result *result) {
  return result->per_process;
}

double rdg_run_time_s(const rdg_run_result *result) {
  return result->time_s;
}

bool rdg_run_result_get(const rdg_run_result *result, size_t process, size_t i, rdg_tensor *tensor) {
  if (process >= result->processes || i >= result->per_process) {
    return false;
  }
  const struct interp_value *v = result->leaves[process * result->per_process + i];
  *tensor = (rdg_tensor){(rdg_dtype)v->dtype, v->rank, v->dims, v->data, (size_t)v->size_bytes};
  return true;
}

/* One after the other, each on lines of its own. */
static rdg_status write_text(rdg_context *ctx, const rdg_run_result *result, uint64_t limit, rdg_sink sink) {
  rdg_status status = RDG_OK;
  for (size_t i = 0; status == RDG_OK && i < result->processes * result->per_process; i++) {
    struct strbuf out = {0};
    size_t process = i / result->per_process;
    if (result->processes > 1 && i % result->per_process == 0) {
      strbuf_printf(&out, "replica %zu, partition %zu:\n", process / result->partitions, process % result->partitions);
    }
    interp_print_as(result->leaves[i], result->quantized[i % result->per_process], limit, &out);
    strbuf_putc(&out, '\n');
    status = api_flush(ctx, &out, sink);
  }
  return status;
}

static rdg_status write_json(rdg_context *ctx, const rdg_run_result *result, uint64_t limit, rdg_sink sink) {
  size_t count = result->processes * result->per_process;
  struct report_tensor *tensors = calloc(count + 1, sizeof *tensors);
  struct strbuf out = {0};
  if (!tensors) {
    return api_result(ctx, RDG_ERROR_MEMORY);
  }
  for (size_t i = 0; i < count; i++) {
    const struct interp_value *v = result->leaves[i];
    tensors[i] = (struct report_tensor){.type = result->types[i % result->per_process],
                                        .dtype = (enum dtype)v->dtype,
                                        .element_bytes = ir_dense_element_size((enum dtype)v->dtype),
                                        .rank = v->rank,
                                        .dims = v->dims,
                                        .count = v->count,
                                        .data = v->data};
  }
  struct report_run report = {.program = result->program,
                              .version = rdg_version(),
                              .replicas = result->replicas,
                              .partitions = result->partitions,
                              .per_process = result->per_process,
                              .tensors = tensors,
                              .limit = limit};
  report_run_json(&report, &out);
  free(tensors);
  return api_flush(ctx, &out, sink);
}

rdg_status rdg_run_result_write(rdg_context *ctx, const rdg_run_result *result, uint64_t limit, rdg_format format,
                                rdg_sink sink) {
  api_begin(ctx);
  return format == RDG_FORMAT_JSON ? write_json(ctx, result, limit, sink) : write_text(ctx, result, limit, sink);
}
