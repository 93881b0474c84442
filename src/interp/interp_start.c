/* How a run starts and ends: its arguments are checked, what it surely needs is compared with its budgets, it runs as one
 * process or a grid of them, and its results are handed over. Path: interp_run → interp_function (interp_run.c). */
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "interp/interp_estimate.h"
#include "interp/interp_grid.h"
#include "interp/interp_int.h"

enum { DEFAULT_DEPTH = 200 };
static const uint64_t DEFAULT_MEMORY_BYTES = (uint64_t)8 << 30;
static const uint64_t DEFAULT_OPERATIONS = 10000000000000;

/* A value that leaves the run does not count against its memory any more. */
static void detach(struct interp_value *value) {
  value->account = NULL;
  for (uint64_t i = 0; value->kind != INTERP_TENSOR && i < value->count; i++) {
    detach(value->parts[i]);
  }
}

static bool fits_parameter(const struct ir_module *m, struct ir_type parameter, const struct interp_value *v) {
  const struct ir_type_data *data = ir_type_get(m, parameter);
  if (data->kind != IR_TYPE_TENSOR && data->kind != IR_TYPE_SCALAR) {
    return v->kind != INTERP_TENSOR;
  }
  bool fits = v->kind == INTERP_TENSOR && v->dtype == data->dtype && v->rank == data->rank;
  for (uint32_t d = 0; fits && d < v->rank; d++) {
    int64_t dim = ir_type_dims(m, parameter)[d];
    fits = dim == IR_DYNAMIC || dim == v->dims[d];
  }
  return fits;
}

static bool check_arguments(struct interp_run *run, struct ir_op function, struct interp_value *const *arguments,
                            uint32_t count) {
  const struct ir_module *m = run->module;
  const struct source *source = &m->source;
  uint32_t offset = ir_op_get(m, function)->offset;
  const struct ir_type_data *type = ir_type_get(m, ir_function_type(m, function));
  if (count != type->input_count) {
    diag_at(run->diags, DIAG_E0702_RUN_VALUE, source, offset, "'%s' takes %u arguments, %u were given",
            ir_symbol_name(m, function), type->input_count, count);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!fits_parameter(m, (struct ir_type){m->lists.data[type->first + i]}, arguments[i])) {
      diag_at(run->diags, DIAG_E0702_RUN_VALUE, source, offset, "argument %u of '%s' has another type or shape", i,
              ir_symbol_name(m, function));
      return false;
    }
  }
  return true;
}

/* Refuses before it starts what cannot end within the budgets. */
static bool check_budgets(struct interp_run *run, struct ir_op function, uint32_t processes) {
  const struct ir_module *m = run->module;
  struct interp_estimate e;
  if (!interp_estimate(m, &run->symbols, function, run->options.max_depth, &e)) {
    run->is_out_of_memory = true;
    return false;
  }
  if (e.largest_bytes > run->options.memory_budget_bytes) {
    diag_at(run->diags, DIAG_E0704_RUN_BUDGET, &m->source, ir_op_get(m, e.largest)->offset,
            "'%s': a value of %" PRIu64 " bytes; the memory budget is %" PRIu64 " bytes",
            ir_text(m, ir_op_get(m, e.largest)->name), e.largest_bytes, run->options.memory_budget_bytes);
    return false;
  }
  uint64_t operations = sat_mul_u64(e.operations, processes);
  if (operations > run->options.operation_budget) {
    diag_at(run->diags, DIAG_E0704_RUN_BUDGET, &m->source, ir_op_get(m, e.costliest)->offset,
            "the run needs at least %" PRIu64 " elementary operations, %" PRIu64
            " of them in this '%s'; the budget is %" PRIu64,
            operations, sat_mul_u64(e.costliest_operations, processes), ir_text(m, ir_op_get(m, e.costliest)->name),
            run->options.operation_budget);
    return false;
  }
  return true;
}

static void release_run(struct interp_run *run) {
  for (size_t i = 0; i < run->plans.count; i++) {
    interp_plan_free(run->plans.data[i]);
  }
  for (size_t i = 0; i < run->probes.count; i++) {
    interp_release(run->probes.data[i].value);
  }
  vec_release(&run->plans);
  vec_release(&run->probes);
  map_release(&run->plan_index);
  analyze_symbols_release(&run->symbols);
  pthread_mutex_destroy(&run->lock);
}

static void set_defaults(struct interp_options *o) {
  o->memory_budget_bytes = o->memory_budget_bytes ? o->memory_budget_bytes : DEFAULT_MEMORY_BYTES;
  o->operation_budget = o->operation_budget ? o->operation_budget : DEFAULT_OPERATIONS;
  o->max_depth = o->max_depth ? o->max_depth : DEFAULT_DEPTH;
  o->replicas = o->replicas ? o->replicas : 1;
  o->partitions = o->partitions ? o->partitions : 1;
}

/* All processes run the same function, each on its arguments. `results` has their parts one after the other. */
static bool run_grid(struct interp_process *process, struct ir_op function, struct interp_value *const *arguments,
                     uint32_t argument_count, struct interp_value **results, uint32_t result_count) {
  struct interp_run *run = process->run;
  uint32_t count = run->options.replicas * run->options.partitions;
  struct interp_frame frame = {.process = process};
  struct interp_call call = {.frame = &frame, .module = run->module, .op = function};
  struct ir_op *functions = malloc(count * sizeof *functions);
  struct interp_value *const **all_arguments = malloc(count * sizeof *all_arguments);
  struct interp_value ***all_results = malloc(count * sizeof *all_results);
  uint32_t *counts = malloc(2 * (size_t)count * sizeof *counts);
  bool ok = (functions && all_arguments && all_results && counts) || interp_out_of_memory(&call);
  for (uint32_t i = 0; ok && i < count; i++) {
    functions[i] = function;
    all_arguments[i] = arguments + (size_t)i * argument_count;
    all_results[i] = results + (size_t)i * result_count;
    counts[i] = argument_count;
    counts[count + i] = result_count;
  }
  struct interp_programs programs = {.replicas = run->options.replicas,
                                     .partitions = run->options.partitions,
                                     .functions = functions,
                                     .arguments = all_arguments,
                                     .argument_counts = counts,
                                     .results = all_results,
                                     .result_counts = counts ? counts + count : NULL};
  ok = ok && interp_grid_run(&call, &programs);
  free(functions);
  free(all_arguments);
  free(all_results);
  free(counts);
  return ok;
}

static bool check_processes(struct interp_run *run, struct ir_op function, uint64_t *processes) {
  *processes = (uint64_t)run->options.replicas * run->options.partitions;
  if (*processes <= INTERP_MAX_PROCESSES) {
    return true;
  }
  diag_at(run->diags, DIAG_E0704_RUN_BUDGET, &run->module->source, ir_op_get(run->module, function)->offset,
          "%u replicas of %u partitions are %" PRIu64 " processes; at most %d run", run->options.replicas,
          run->options.partitions, *processes, INTERP_MAX_PROCESSES);
  return false;
}

static uint64_t bytes_of(const struct interp_value *value) {
  uint64_t bytes = value->size_bytes;
  for (uint64_t i = 0; value->kind == INTERP_TUPLE && i < value->count; i++) {
    bytes = sat_add_u64(bytes, bytes_of(value->parts[i]));
  }
  return bytes;
}

/* Arguments are in memory from the start to the end. Those that a process shares with the first one count once. */
static void count_arguments(struct interp_run *run, struct interp_value *const *arguments, uint64_t processes,
                            uint32_t per_process) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < processes * per_process; i++) {
    bool is_shared = i >= per_process && arguments[i] == arguments[i % per_process];
    bytes = sat_add_u64(bytes, is_shared ? 0 : bytes_of(arguments[i]));
  }
  atomic_init(&run->live_bytes, bytes);
}

/* Runs what has been set up. */
static bool start(struct interp_run *run, struct ir_op function, struct interp_value *const *arguments,
                  uint32_t argument_count, struct interp_value **results, uint32_t result_count) {
  uint64_t processes;
  bool ok = check_processes(run, function, &processes);
  for (uint64_t i = 0; ok && i < processes; i++) {
    ok = check_arguments(run, function, arguments ? arguments + i * argument_count : NULL, argument_count);
  }
  if (!ok || !check_budgets(run, function, (uint32_t)processes)) {
    return false;
  }
  count_arguments(run, arguments, processes, argument_count);
  size_t errors = run->diags->error_count;
  struct interp_process process = {.run = run};
  ok = processes == 1 ? interp_function(&process, NULL, function, arguments, argument_count, results, result_count)
                      : run_grid(&process, function, arguments, argument_count, results, result_count);
  uint64_t total = ok ? processes * result_count : 0;
  for (uint64_t i = 0; i < total; i++) {
    detach(results[i]);
  }
  if (ok && run->diags->error_count > errors) { /* checks of the program failed */
    for (uint64_t i = 0; i < total; i++) {
      interp_release(results[i]);
    }
    ok = false;
  }
  return ok;
}

static bool begin_run(struct interp_run *run, const struct ir_module *module, const struct interp_options *options,
                      struct diag_list *diags) {
  *run = (struct interp_run){.module = module, .diags = diags};
  run->options = options ? *options : (struct interp_options){0};
  set_defaults(&run->options);
  if (!analyze_symbols_init(&run->symbols, module)) {
    return false;
  }
  pthread_mutex_init(&run->lock, NULL);
  return true;
}

static enum status end_run(struct interp_run *run, bool ok) {
  bool is_out_of_memory = run->is_out_of_memory;
  release_run(run);
  return ok ? STATUS_OK : is_out_of_memory ? STATUS_MEMORY : STATUS_INPUT;
}

enum status interp_check(const struct ir_module *module, struct ir_op function, const struct interp_options *options,
                         struct diag_list *diags) {
  struct interp_run run;
  uint64_t processes;
  if (!begin_run(&run, module, options, diags)) {
    return STATUS_MEMORY;
  }
  bool ok = check_processes(&run, function, &processes) && check_budgets(&run, function, (uint32_t)processes);
  return end_run(&run, ok);
}

enum status interp_run(const struct ir_module *module, struct ir_op function, const struct interp_options *options,
                       struct interp_value *const *arguments, uint32_t argument_count, struct diag_list *diags,
                       struct interp_value **results) {
  struct interp_run run;
  if (!begin_run(&run, module, options, diags)) {
    return STATUS_MEMORY;
  }
  const struct ir_type_data *type = ir_type_get(module, ir_function_type(module, function));
  return end_run(&run, start(&run, function, arguments, argument_count, results, type->count - type->input_count));
}
