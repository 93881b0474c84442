/* Programs: loading, printing, totals, inspection, explanation. */
#include <stdlib.h>
#include <string.h>

#include "api/api_context.h"
#include "mlir/bytecode.h"
#include "mlir/mlir.h"
#include "report/report.h"

static struct program_options load_options(const rdg_context *ctx, const rdg_load_options *options) {
  struct program_options result = {.memory_budget_bytes = ctx->memory_budget_bytes};
  if (options) {
    result.binds = options->binds;
    result.bind_count = options->bind_count;
    result.entry = options->entry;
    result.only_to_run = options->only_to_run;
    result.unit = options->unit;
  }
  return result;
}

rdg_status api_wrap(struct program *program, rdg_program **out) {
  *out = calloc(1, sizeof **out);
  if (!*out) {
    program_free(program);
    return RDG_ERROR_MEMORY;
  }
  (*out)->program = program;
  arena_init(&(*out)->arena, 0);
  if (!api_sign(*out)) {
    rdg_program_free(*out);
    *out = NULL;
    return RDG_ERROR_MEMORY;
  }
  return RDG_OK;
}

rdg_status rdg_program_load(rdg_context *ctx, const char *path, const rdg_load_options *options,
                            rdg_program **program) {
  api_begin(ctx);
  struct program_options o = load_options(ctx, options);
  struct program *loaded = NULL;
  enum status status = program_load(path, &o, &ctx->diags, &loaded);
  *program = NULL;
  return api_result(ctx, status == STATUS_OK ? api_wrap(loaded, program) : api_status(status));
}

rdg_status rdg_program_parse(rdg_context *ctx, const char *name, const char *text, size_t length,
                             const rdg_load_options *options, rdg_program **program) {
  api_begin(ctx);
  struct program_options o = load_options(ctx, options);
  struct program *loaded = NULL;
  enum status status = program_parse(name, text, length, &o, &ctx->diags, &loaded);
  *program = NULL;
  return api_result(ctx, status == STATUS_OK ? api_wrap(loaded, program) : api_status(status));
}

void rdg_program_free(rdg_program *program) {
  if (program) {
    program_free(program->program);
    arena_release(&program->arena);
    free(program);
  }
}

rdg_status rdg_program_units(rdg_context *ctx, const char *path, size_t *count) {
  api_begin(ctx);
  *count = 0;
  return api_result(ctx, api_status(program_count_units(path, &ctx->diags, count)));
}

bool api_has_counts(rdg_context *ctx, const rdg_program *program) {
  if (!program->program->unfused) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, program->program->source.name, 0, 0,
              "the program was loaded only to run: it has no counts");
  }
  return program->program->unfused != NULL;
}

static rdg_status print_module(rdg_context *ctx, const struct ir_module *module, rdg_form form, rdg_sink sink) {
  struct mlir_print_options options = {.form = form == RDG_FORM_GENERIC ? MLIR_GENERIC : MLIR_PRETTY};
  struct strbuf out = {0};
  mlir_print(module, module->root, &options, &out);
  return api_flush(ctx, &out, sink);
}

rdg_status rdg_program_print(rdg_context *ctx, const rdg_program *program, rdg_form form, rdg_sink sink) {
  api_begin(ctx);
  return print_module(ctx, program->program->module, form, sink);
}

rdg_status rdg_convert(rdg_context *ctx, const char *path, const rdg_load_options *options, rdg_form form,
                       rdg_sink sink) {
  api_begin(ctx);
  struct program_options o = load_options(ctx, options);
  struct program *program = NULL;
  enum status status = program_read(path, &o, &ctx->diags, &program);
  if (status != STATUS_OK) {
    return api_result(ctx, api_status(status));
  }
  rdg_status result = print_module(ctx, program->module, form, sink);
  program_free(program);
  return result;
}

/* Options of the writer; false when the target is no version. */
static bool bytecode_options(rdg_context *ctx, const rdg_artifact_options *artifact,
                             struct mlir_bytecode_options *options) {
  *options = (struct mlir_bytecode_options){.locations = artifact && artifact->locations};
  if (!artifact || !artifact->target || mlir_bytecode_parse_version(artifact->target, options->version)) {
    return true;
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0,
            "'%s' is no version of StableHLO that can be written: 0.9.0 to %s", artifact->target,
            mlir_bytecode_newest());
  return false;
}

rdg_status rdg_convert_artifact(rdg_context *ctx, const char *path, const rdg_load_options *options,
                                const rdg_artifact_options *artifact, rdg_sink sink) {
  api_begin(ctx);
  struct mlir_bytecode_options bytecode;
  if (!bytecode_options(ctx, artifact, &bytecode)) {
    return api_result(ctx, RDG_ERROR_INPUT);
  }
  struct program_options o = load_options(ctx, options);
  o.keep_locations = bytecode.locations;
  struct program *program = NULL;
  struct strbuf out = {0};
  enum status status = program_read(path, &o, &ctx->diags, &program);
  if (status == STATUS_OK) {
    status = mlir_bytecode_write(program->module, &bytecode, &ctx->diags, &out);
    program_free(program);
  }
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}

rdg_status rdg_program_write_artifact(rdg_context *ctx, const rdg_program *program,
                                      const rdg_artifact_options *artifact, rdg_sink sink) {
  api_begin(ctx);
  struct mlir_bytecode_options options;
  struct strbuf out = {0};
  if (!bytecode_options(ctx, artifact, &options)) {
    return api_result(ctx, RDG_ERROR_INPUT);
  }
  enum status status = mlir_bytecode_write(program->program->module, &options, &ctx->diags, &out);
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}

/* A function with dynamic dimensions has no count: -1 everywhere, as XLA says "unknown". */
static rdg_status xla_cost(const struct program *program, struct ir_op function, struct analyze_xla_cost *cost) {
  enum status status = analyze_xla_function(program->module, function, NULL, cost);
  if (status == STATUS_UNSUPPORTED) {
    cost->flops = cost->transcendentals = cost->bytes_accessed = -1;
    status = STATUS_OK;
  }
  return api_status(status);
}

rdg_status rdg_program_totals(rdg_context *ctx, const rdg_program *handle, rdg_totals *totals) {
  api_begin(ctx);
  const struct program *program = handle->program;
  struct analyze_xla_cost xla;
  if (!api_has_counts(ctx, handle)) {
    return RDG_ERROR_UNSUPPORTED;
  }
  rdg_status status = xla_cost(program, program->entry, &xla);
  if (status != RDG_OK) {
    return status;
  }
  const struct work_total *t = &program->total;
  *totals = (rdg_totals){.matrix_flops = t->ops[WORK_ENGINE_MATRIX],
                         .vector_flops = t->ops[WORK_ENGINE_VECTOR],
                         .function_results = t->ops[WORK_ENGINE_FUNCTION],
                         .integer_ops = t->ops[WORK_ENGINE_INTEGER],
                         .read_bytes = t->read_bytes,
                         .write_bytes = t->write_bytes,
                         .operations = t->launches,
                         .collectives = t->collectives,
                         .collective_bytes = t->collective_bytes,
                         .opaque_operations = t->opaque_tasks,
                         .peak_memory_bytes = program->memory.peak_bytes,
                         .argument_bytes = program->memory.argument_bytes,
                         .output_bytes = program->memory.output_bytes,
                         .xla_flops = xla.flops,
                         .xla_transcendentals = xla.transcendentals,
                         .xla_bytes = xla.bytes_accessed};
  return RDG_OK;
}

/* Operations of a function's text, nested regions included. Regions nest no deeper than the parser allows. */
static uint64_t count_ops(const struct ir_module *m, struct ir_op op) {
  uint64_t count = 0;
  for (uint32_t r = 0; r < ir_op_get(m, op)->region_count; r++) {
    struct ir_block block = ir_region_entry(m, ir_op_region(m, op, r));
    for (; block.id; block = ir_block_get(m, block)->next) {
      for (struct ir_op inner = ir_block_first(m, block); inner.id; inner = ir_op_next(m, inner)) {
        count += 1 + count_ops(m, inner);
      }
    }
  }
  return count;
}

typedef VEC(struct report_function_cost) function_costs;

static rdg_status add_functions(const struct program *program, struct ir_op parent, function_costs *costs) {
  const struct ir_module *m = program->module;
  struct ir_block body = ir_function_body(m, parent);
  for (struct ir_op op = ir_block_first(m, body); op.id; op = ir_op_next(m, op)) {
    if (ir_op_code(m, op) == IR_OP_BUILTIN_MODULE) {
      rdg_status status = add_functions(program, op, costs);
      if (status != RDG_OK) {
        return status;
      }
    }
    if (ir_op_code(m, op) != IR_OP_FUNC_FUNC || !ir_function_body(m, op).id) {
      continue;
    }
    struct analyze_xla_cost xla;
    rdg_status status = xla_cost(program, op, &xla);
    struct report_function_cost row = {.name = ir_symbol_name(m, op),
                                       .ops = count_ops(m, op),
                                       .xla_flops = xla.flops,
                                       .xla_transcendentals = xla.transcendentals,
                                       .xla_bytes = xla.bytes_accessed};
    if (status != RDG_OK || !vec_push(costs, row)) {
      return status != RDG_OK ? status : RDG_ERROR_MEMORY;
    }
  }
  return RDG_OK;
}

rdg_status rdg_inspect(rdg_context *ctx, const rdg_program *handle, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  const struct program *program = handle->program;
  function_costs costs = {0};
  if (!api_has_counts(ctx, handle)) {
    return RDG_ERROR_UNSUPPORTED;
  }
  rdg_status status = add_functions(program, program->module->root, &costs);
  struct strbuf out = {0};
  if (status == RDG_OK) {
    struct report_inspection inspection = {.program = program->source.name,
                                           .version = rdg_version(),
                                           .source = &program->source,
                                           .graph = program->unfused,
                                           .total = &program->total,
                                           .memory = &program->memory,
                                           .functions = costs.data,
                                           .function_count = costs.count};
    if (format == RDG_FORMAT_JSON) {
      status = api_status(report_inspection_json(&inspection, &out));
    } else {
      report_inspection_text(&inspection, &out);
    }
  }
  vec_release(&costs);
  if (status != RDG_OK) {
    strbuf_release(&out);
    return status;
  }
  return api_flush(ctx, &out, sink);
}

/* Text of one task; the model numbers tasks within their graph, the user sees the address. */
static void explain_task(const struct report_place_in_graph *place, const char *address, const struct hw_chip *chip,
                         struct strbuf *out) {
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct strbuf text = {0};
  cost_roofline.explain(place->graph, place->task, chip, &options, &text);
  const char *rest = strbuf_text(&text);
  if (strncmp(rest, "task ", 5) == 0) {
    rest += 5 + strspn(rest + 5, "0123456789");
    strbuf_printf(out, "task %s", address);
  }
  strbuf_puts(out, rest);
  strbuf_release(&text);
  report_inside_text(place, address, out);
}

/* What explanations are about: the graph, and with a chip its fused form and times. */
struct explained {
  const struct work_graph *graph;
  const struct hw_chip *chip;
  struct work_result result; /* empty without a chip */
};

static rdg_status explained_init(struct explained *e, rdg_context *ctx, struct program *program,
                                 const char *chip_name) {
  *e = (struct explained){.graph = program->unfused};
  work_result_init(&e->result);
  if (!chip_name) {
    return RDG_OK;
  }
  const struct program_fused *fused = NULL;
  struct cost_options options = {.f32_as = DTYPE_NONE};
  rdg_status status = api_find_chip(ctx, chip_name, &e->chip);
  if (status != RDG_OK) {
    return status;
  }
  const char *refusal = cost_roofline.supports(e->chip);
  if (refusal) {
    diag_file(&ctx->diags, DIAG_E0308_MISSING_FIELD, NULL, 0, 0, "%s cannot be predicted: it lacks %s", e->chip->id,
              refusal);
    return RDG_ERROR_UNSUPPORTED;
  }
  status = api_status(program_fuse(program, e->chip, &fused));
  if (status != RDG_OK) {
    return status;
  }
  e->graph = fused ? fused->graph : e->graph;
  return api_status(cost_roofline.estimate(e->graph, e->chip, &options, &e->result));
}

static rdg_status explain(rdg_context *ctx, const struct program *program, const struct explained *e,
                          const char *address, rdg_format format, struct strbuf *out) {
  struct report_place_in_graph place;
  const struct work_graph_result *times = e->chip ? &e->result.root : NULL;
  if (address) {
    struct strbuf why = {0};
    bool found = report_task_find(e->graph, times, address, &place, &why);
    if (!found) {
      diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "%s", strbuf_text(&why));
    }
    strbuf_release(&why);
    if (!found) {
      return RDG_ERROR_INPUT;
    }
  }
  if (format == RDG_FORMAT_JSON) {
    struct report_graph report = {.program = program->source.name,
                                  .version = rdg_version(),
                                  .source = &program->source,
                                  .graph = e->graph,
                                  .chip = e->chip,
                                  .result = e->chip ? &e->result : NULL,
                                  .place = address ? &place : NULL,
                                  .address = address};
    return api_status(report_graph_json(&report, out));
  }
  if (!address) {
    work_graph_print(e->graph, out);
  } else if (e->chip) {
    explain_task(&place, address, e->chip, out);
  } else {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "--task needs --on CHIP: times depend on the chip");
    return RDG_ERROR_INPUT;
  }
  return RDG_OK;
}

rdg_status rdg_explain(rdg_context *ctx, rdg_program *handle, const char *chip, const char *task, rdg_format format,
                       rdg_sink sink) {
  api_begin(ctx);
  struct explained e;
  struct strbuf out = {0};
  if (!api_has_counts(ctx, handle)) {
    return RDG_ERROR_UNSUPPORTED;
  }
  rdg_status status = explained_init(&e, ctx, handle->program, chip);
  if (status == RDG_OK) {
    status = explain(ctx, handle->program, &e, task, format, &out);
  }
  work_result_release(&e.result);
  if (status != RDG_OK) {
    strbuf_release(&out);
    return status;
  }
  return api_flush(ctx, &out, sink);
}
