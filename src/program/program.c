/* The pipeline from a file to predictions, in order. */
#include "program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "mlir/bytecode.h"
#include "mlir/mlir.h"
#include "program/external_data.h"

static const struct program_options default_options = {0};

static enum status report_memory(struct diag_list *diags, const char *name) {
  diag_file(diags, DIAG_E0007_MEMORY, name, 0, 0, "out of memory while reading '%s'", name);
  return STATUS_MEMORY;
}

/* Unit `unit`, from 1, of a text in several. */
static enum status parse_unit(struct program *program, size_t unit, const struct mlir_parse_options *options,
                              struct diag_list *diags) {
  size_t count = mlir_split(&program->source, NULL, NULL, 0);
  size_t *bounds = unit <= count ? malloc(2 * unit * sizeof *bounds) : NULL;
  if (unit > count) {
    diag_file(diags, DIAG_E0601_USAGE, program->source.name, 0, 0, "'%s' has %zu units, there is no unit %zu",
              program->source.name, count, unit);
    return STATUS_INPUT;
  }
  if (!bounds) {
    return report_memory(diags, program->source.name);
  }
  mlir_split(&program->source, bounds, bounds + unit, unit);
  enum status status =
      mlir_parse_piece(&program->source, bounds[unit - 1], bounds[2 * unit - 1], options, diags, &program->module);
  free(bounds);
  return status;
}

/* An ONNX model → module. Dimensions are bound on the way, weights in other files are read where they will be computed with. */
static enum status parse_onnx(struct program *program, const struct program_options *options, struct diag_list *diags) {
  struct import_options import_options = {.memory_budget_bytes = options->memory_budget_bytes,
                                          .keep_locations = options->keep_locations,
                                          .binds = options->binds,
                                          .bind_count = options->bind_count,
                                          .read_external = options->only_to_run ? external_data_read : NULL,
                                          .external_user = program->file.name};
  STATUS_TRY(import_onnx(&program->source, &import_options, diags, &program->module));
  program->source = program->module->source; /* bytes have no lines */
  return STATUS_OK;
}

/* Text, bytecode or another compiler's format → module with bound dimensions. */
static enum status parse(struct program *program, const struct program_options *options, struct diag_list *diags) {
  program->source = (struct source){program->file.name, program->file.text, program->file.length};
  struct mlir_parse_options parse_options = {.memory_budget_bytes = options->memory_budget_bytes,
                                             .keep_locations = options->keep_locations};
  struct import_options import_options = {.memory_budget_bytes = options->memory_budget_bytes};
  if (import_is_onnx(program->source.text, program->source.length)) {
    return parse_onnx(program, options, diags);
  }
  if (import_is_hlo_text(program->source.text, program->source.length)) {
    STATUS_TRY(import_hlo_text(&program->source, &import_options, diags, &program->module));
  } else if (mlir_is_bytecode(program->source.text, program->source.length)) {
    STATUS_TRY(mlir_bytecode_read(&program->source, &parse_options, diags, &program->module));
    program->source = program->module->source; /* bytes have no lines */
  } else if (options->unit > 0) {
    STATUS_TRY(parse_unit(program, options->unit, &parse_options, diags));
  } else {
    STATUS_TRY(mlir_parse(&program->source, &parse_options, diags, &program->module));
  }
  for (size_t i = 0; i < options->bind_count; i++) {
    STATUS_TRY(mlir_bind(program->module, options->binds[i], diags));
  }
  return STATUS_OK;
}

/* True when some function is of the dialect: portable artifacts hold vhlo functions. */
static bool holds_function_of(const struct ir_module *m, const char *name) {
  for (uint32_t id = 1; id < m->ops.count; id++) {
    if (strcmp(ir_text(m, m->ops.data[id].name), name) == 0) {
      return true;
    }
  }
  return false;
}

/* Says which function was taken where the program leaves a choice. */
static void note_entry(const struct program *program, struct diag_list *diags) {
  const struct ir_module *m = program->module;
  if (ir_op_attr(m, m->root, "ridgeline.step").id != 0) {
    return; /* all its functions are taken (program_step.h) */
  }
  const char *name = ir_symbol_name(m, program->entry);
  size_t bodies = 0, publics = 0, namesakes = 0;
  for (uint32_t id = 1; id < m->ops.count; id++) {
    struct ir_op op = {id};
    if (ir_op_code(m, op) != IR_OP_FUNC_FUNC || (m->ops.data[id].flags & IR_OP_ERASED) != 0
        || !ir_function_body(m, op).id) {
      continue;
    }
    struct ir_attr visibility = ir_op_attr(m, op, "sym_visibility");
    bodies++;
    publics += !visibility.id || strcmp(ir_text(m, ir_attr_get(m, visibility)->text), "private") != 0;
    namesakes += strcmp(ir_symbol_name(m, op), name) == 0;
  }
  const size_t offset = ir_op_get(m, program->entry)->offset;
  if (namesakes > 1) {
    diag_at(diags, DIAG_W0212_ENTRY, &program->source, offset,
            "entry is '@%s' of the first of %zu modules that have one", name, namesakes);
  } else if (bodies > 1 && publics != 1 && strcmp(name, "main") != 0) {
    diag_at(diags, DIAG_W0212_ENTRY, &program->source, offset,
            "entry is '@%s', the first of %zu functions; --entry NAME chooses", name, bodies);
  }
}

/* The first forward pass of a program whose functions are passes of a step (program_step.h): what stands for the program where
 * one function has to. */
static struct ir_op find_pass(const struct ir_module *m) {
  struct ir_op pass = {0};
  if (ir_op_attr(m, m->root, "ridgeline.step").id != 0) {
    pass = ir_function_find(m, "only_forward");
    pass = pass.id ? pass : ir_function_find(m, "first_forward");
  }
  return pass;
}

static enum status find_entry(struct program *program, const struct program_options *options, struct diag_list *diags) {
  struct ir_op pass = options->entry ? (struct ir_op){0} : find_pass(program->module);
  program->entry = pass.id          ? pass
                   : options->entry ? ir_function_find(program->module, options->entry)
                                    : ir_function_entry(program->module);
  if (program->entry.id) {
    if (!options->entry && !pass.id) {
      note_entry(program, diags);
    }
    return STATUS_OK;
  }
  if (options->entry) {
    diag_file(diags, DIAG_E0210_NO_ENTRY, program->source.name, 0, 0, "there is no function '@%s'", options->entry);
  } else if (holds_function_of(program->module, "vhlo.func_v1")) {
    diag_file(diags, DIAG_E0210_NO_ENTRY, program->source.name, 0, 0,
              "this is VHLO, the text of a portable artifact, which is read and printed but not counted yet; "
              "export StableHLO text (as_text() in JAX) instead");
  } else {
    diag_file(diags, DIAG_E0210_NO_ENTRY, program->source.name, 0, 0, "the program has no function");
  }
  return STATUS_INPUT;
}

/* Module → checked module → what is wanted of it: only its entry, or, sizes at their bounds, the unfused work graph with its
 * totals. */
static enum status derive(struct program *program, const struct program_options *options, struct diag_list *diags) {
  STATUS_TRY(analyze_infer(program->module, diags));
  STATUS_TRY(analyze_calls(program->module, diags));
  if (options->only_to_run) {
    return find_entry(program, options, diags);
  }
  size_t warnings = diags->warning_count;
  STATUS_TRY(analyze_bounds(program->module, diags));
  program->has_bounds_applied = diags->warning_count > warnings;
  STATUS_TRY(find_entry(program, options, diags));
  bool is_pass = !options->entry && find_pass(program->module).id != 0;
  struct lower_options lower_options = {.entry =
                                            is_pass ? ir_symbol_name(program->module, program->entry) : options->entry};
  STATUS_TRY(lower_module(program->module, &lower_options, diags, &program->unfused));
  work_graph_total(program->unfused, &program->total);
  program->memory = program->unfused->memory;
  return STATUS_OK;
}

static enum status finish(struct program *program, enum status status, struct program **out) {
  if (status == STATUS_OK) {
    *out = program;
  } else {
    program_free(program);
  }
  return status;
}

enum status program_read(const char *path, const struct program_options *options, struct diag_list *diags,
                         struct program **out) {
  *out = NULL;
  struct program *program = calloc(1, sizeof *program);
  if (!program) {
    return report_memory(diags, path);
  }
  enum status status = input_file_read(&program->file, path, 0, diags);
  if (status == STATUS_OK) {
    status = parse(program, options ? options : &default_options, diags);
  }
  return finish(program, status, out);
}

enum status program_load(const char *path, const struct program_options *options, struct diag_list *diags,
                         struct program **out) {
  options = options ? options : &default_options;
  struct program *program = NULL;
  *out = NULL;
  STATUS_TRY(program_read(path, options, diags, &program));
  return finish(program, derive(program, options, diags), out);
}

enum status program_count_units(const char *path, struct diag_list *diags, size_t *count) {
  struct input_file file;
  STATUS_TRY(input_file_read(&file, path, 0, diags));
  struct source source = {file.name, file.text, file.length};
  bool is_text = !mlir_is_bytecode(file.text, file.length) && !import_is_hlo_text(file.text, file.length)
                 && !import_is_onnx(file.text, file.length);
  *count = is_text ? mlir_split(&source, NULL, NULL, 0) : 1;
  input_file_release(&file);
  return STATUS_OK;
}

static char *copy_text(const char *text, size_t length) {
  char *copy = malloc(length + 1);
  if (copy) {
    memcpy(copy, text, length);
    copy[length] = '\0';
  }
  return copy;
}

enum status program_parse(const char *name, const char *text, size_t length, const struct program_options *options,
                          struct diag_list *diags, struct program **out) {
  options = options ? options : &default_options;
  *out = NULL;
  struct program *program = calloc(1, sizeof *program);
  if (!program) {
    return report_memory(diags, name);
  }
  program->file.name = copy_text(name, strlen(name));
  program->file.text = copy_text(text, length);
  program->file.length = length;
  enum status status =
      program->file.name && program->file.text ? parse(program, options, diags) : report_memory(diags, name);
  if (status == STATUS_OK) {
    status = derive(program, options, diags);
  }
  return finish(program, status, out);
}

enum status program_adopt(const char *name, struct ir_module *module, struct diag_list *diags, struct program **out) {
  *out = NULL;
  struct program *program = calloc(1, sizeof *program);
  if (!program) {
    ir_module_free(module);
    return report_memory(diags, name);
  }
  program->module = module;
  program->file.name = copy_text(name, strlen(name));
  program->source.name = program->file.name;
  enum status status = program->file.name ? derive(program, &default_options, diags) : report_memory(diags, name);
  return finish(program, status, out);
}

void program_free(struct program *program) {
  if (!program) {
    return;
  }
  for (size_t i = 0; i < program->fused.count; i++) {
    work_graph_free(program->fused.data[i].graph);
  }
  vec_release(&program->fused);
  work_graph_free(program->unfused);
  ir_module_free(program->module);
  input_file_release(&program->file);
  free(program);
}

enum status program_fuse(struct program *program, const struct hw_chip *chip, const struct program_fused **fused) {
  for (size_t i = 0; i < program->fused.count; i++) {
    if (lower_fusion_same(&program->fused.data[i].report, chip)) {
      *fused = &program->fused.data[i];
      return STATUS_OK;
    }
  }
  /* graphs are handed out by pointer: the array must not move once the first estimate holds one */
  enum { FUSION_KEYS_MAX = 64 };
  if (program->fused.count == FUSION_KEYS_MAX || !vec_reserve(&program->fused, FUSION_KEYS_MAX)) {
    return STATUS_MEMORY;
  }
  struct program_fused entry = {0};
  STATUS_TRY(lower_fuse(program->unfused, chip, &entry.report, &entry.graph));
  entry.graph->partitions = program->unfused->partitions;
  entry.graph->is_partitioned = program->unfused->is_partitioned;
  program->fused.data[program->fused.count] = entry;
  *fused = &program->fused.data[program->fused.count++];
  return STATUS_OK;
}

/* What the lowering said as W0406. */
static void note_partitions(const struct work_graph *graph, struct work_result *result) {
  if (graph->partitions > 1) {
    work_result_note(result, DIAG_W0406_PARTITIONS, 1,
                     graph->is_partitioned ? "one device of %u" : "whole program on one device, though written for %u",
                     graph->partitions);
  }
}

enum status program_estimate(struct program *program, const struct hw_chip *chip, const struct cost_model *model,
                             const struct cost_options *options, bool without_fusion,
                             struct program_estimate *estimate) {
  memset(estimate, 0, sizeof *estimate);
  work_result_init(&estimate->result);
  estimate->chip = chip;
  estimate->graph = program->unfused;
  estimate->unfused_time_s = (double)NAN;
  estimate->refusal = model->supports(chip);
  if (estimate->refusal) {
    return STATUS_OK;
  }
  if (!without_fusion) {
    STATUS_TRY(program_fuse(program, chip, &estimate->fused));
    estimate->graph = estimate->fused->graph;
    STATUS_TRY(model->program_time(program->unfused, chip, options, &estimate->unfused_time_s));
  }
  STATUS_TRY(model->estimate(estimate->graph, chip, options, &estimate->result));
  note_partitions(program->unfused, &estimate->result);
  if (without_fusion) {
    estimate->unfused_time_s = estimate->result.time_s;
  }
  return STATUS_OK;
}

void program_estimate_release(struct program_estimate *estimate) {
  work_result_release(&estimate->result);
}
