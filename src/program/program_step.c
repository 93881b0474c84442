/* See program_step.h. */
#include "program/program_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/minifloat.h"

/* ---- the attribute ---- */

static const char *const overlap_words[STEP_OVERLAP_COUNT] = {"none", "as_written", "latency_hiding", "early_late"};
static const char *const schedule_words[] = {"gpipe", "1f1b", "interleaved"};
static const char *const place_words[STEP_PLACE_COUNT] = {"only", "first", "middle", "last"};
static const char *const role_words[STEP_ROLE_COUNT] = {"whole", "forward", "backward", "backward_last", "update"};

struct step_reader {
  const struct program *program;
  struct diag_list *diags;
  struct ir_attr dict;
  enum step_overlap overlap; /* where the attribute says nothing */
  enum status status;
};

static struct ir_attr field_of(const struct step_reader *r, const char *name) {
  return r->dict.id != 0 ? ir_attr_field(r->program->module, r->dict, name) : (struct ir_attr){0};
}

static void refuse_field(struct step_reader *r, const char *name, const char *wanted) {
  diag_file(r->diags, DIAG_E0315_STEP, r->program->source.name, 0, 0,
            "'%s' of the attribute 'ridgeline.step' is not %s", name, wanted);
  r->status = STATUS_INPUT;
}

static uint64_t read_count(struct step_reader *r, const char *name, int64_t lowest, int64_t highest, uint64_t absent) {
  struct ir_attr attr = field_of(r, name);
  if (attr.id == 0) {
    return absent;
  }
  const struct ir_attr_data *data = ir_attr_get(r->program->module, attr);
  if (data->kind != IR_ATTR_INTEGER || data->integer < lowest || data->integer > highest) {
    char wanted[80];
    snprintf(wanted, sizeof wanted, "an integer from %lld to %lld", (long long)lowest, (long long)highest);
    refuse_field(r, name, wanted);
    return absent;
  }
  return (uint64_t)data->integer;
}

/* A number that is not negative; 0 when it is absent. */
static double read_number(struct step_reader *r, const char *name) {
  struct ir_attr attr = field_of(r, name);
  if (attr.id == 0) {
    return 0;
  }
  const struct ir_module *m = r->program->module;
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  double value = (double)NAN;
  if (data->kind == IR_ATTR_INTEGER) {
    value = (double)data->integer;
  } else if (data->kind == IR_ATTR_FLOAT) {
    value = minifloat_decode((enum dtype)ir_type_get(m, data->type)->dtype, (uint64_t)data->integer);
  }
  if (!(value >= 0) || isinf(value)) {
    refuse_field(r, name, "a number of 0 or more");
    return 0;
  }
  return value;
}

static int read_word(struct step_reader *r, const char *name, const char *const *words, int count, int absent) {
  struct ir_attr attr = field_of(r, name);
  if (attr.id == 0) {
    return absent;
  }
  const struct ir_attr_data *data = ir_attr_get(r->program->module, attr);
  struct strbuf wanted = {0};
  for (int i = 0; i < count; i++) {
    if (data->kind == IR_ATTR_STRING && strcmp(ir_text(r->program->module, data->text), words[i]) == 0) {
      strbuf_release(&wanted);
      return i;
    }
    strbuf_printf(&wanted, "%s\"%s\"", i == 0 ? "one of " : ", ", words[i]);
  }
  refuse_field(r, name, strbuf_text(&wanted));
  strbuf_release(&wanted);
  return absent;
}

static bool read_flag(struct step_reader *r, const char *name) {
  struct ir_attr attr = field_of(r, name);
  if (attr.id == 0) {
    return false;
  }
  const struct ir_attr_data *data = ir_attr_get(r->program->module, attr);
  if (data->kind != IR_ATTR_BOOL) {
    refuse_field(r, name, "true or false");
    return false;
  }
  return data->integer != 0;
}

/* A count of the module's own attributes; 1 when it is absent or odd. */
static uint64_t module_count(const struct program *program, const char *name) {
  const struct ir_module *m = program->module;
  struct ir_attr attr = ir_op_attr(m, m->root, name);
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  return attr.id != 0 && data->kind == IR_ATTR_INTEGER && data->integer > 0 ? (uint64_t)data->integer : 1;
}

static uint64_t stage_devices(const struct program *program) {
  return sat_mul_u64(module_count(program, "mhlo.num_partitions"), module_count(program, "mhlo.num_replicas"));
}

enum { STEP_COUNT_MAX = 1 << 24 }; /* stages, chunks, micro-batches */

static const char *const field_names[] = {"schedule", "stages",          "chunks", "microbatches", "boundary_bytes",
                                          "overlap",  "waits_for_sends", "tokens", "samples",      "model_flops"};

/* A misspelt field would silently leave its default. */
static void check_fields(struct step_reader *r) {
  const struct ir_module *m = r->program->module;
  const struct ir_attr_data *dict = ir_attr_get(m, r->dict);
  if (r->dict.id != 0 && dict->kind != IR_ATTR_DICT) {
    diag_file(r->diags, DIAG_E0315_STEP, r->program->source.name, 0, 0,
              "the attribute 'ridgeline.step' is not a dictionary");
    r->status = STATUS_INPUT;
    return;
  }
  for (uint32_t i = 0; r->dict.id != 0 && i < dict->list_count; i++) {
    const char *name = ir_text(m, m->lists.data[dict->list_first + 2 * i]);
    size_t k = 0;
    while (k < sizeof field_names / sizeof field_names[0] && strcmp(field_names[k], name) != 0) {
      k++;
    }
    if (k == sizeof field_names / sizeof field_names[0]) {
      diag_file(r->diags, DIAG_E0315_STEP, r->program->source.name, 0, 0,
                "the attribute 'ridgeline.step' has no field '%s'", name);
      r->status = STATUS_INPUT;
    }
  }
}

static enum status read_attribute(struct step_reader *r, struct step_program *step) {
  check_fields(r);
  enum { SCHEDULES = sizeof schedule_words / sizeof schedule_words[0] };
  step->overlap = (enum step_overlap)read_word(r, "overlap", overlap_words, STEP_OVERLAP_COUNT, (int)r->overlap);
  step->schedule = (enum step_schedule)read_word(r, "schedule", schedule_words, SCHEDULES, STEP_1F1B);
  step->stages = (uint32_t)read_count(r, "stages", 1, STEP_COUNT_MAX, 1);
  step->chunks = (uint32_t)read_count(r, "chunks", 1, STEP_COUNT_MAX, 1);
  step->microbatches = (uint32_t)read_count(r, "microbatches", 1, STEP_COUNT_MAX, 1);
  step->boundary_bytes = read_count(r, "boundary_bytes", 0, INT64_MAX, 0);
  step->waits_for_sends = read_flag(r, "waits_for_sends");
  step->tokens = read_number(r, "tokens");
  step->samples = read_number(r, "samples");
  step->model_flops = read_number(r, "model_flops");
  step->devices_per_stage = stage_devices(r->program);
  return r->status;
}

uint64_t program_step_devices(const struct program *program) {
  struct diag_list ignored;
  struct step_program step = {0};
  struct step_reader reader = {.program = program, .diags = &ignored};
  diag_init(&ignored);
  reader.dict = ir_op_attr(program->module, program->module->root, "ridgeline.step");
  (void)read_attribute(&reader, &step);
  diag_release(&ignored);
  return sat_mul_u64(step.stages, step.devices_per_stage);
}

/* ---- the parts ---- */

struct part_builder {
  struct program *program;
  const struct hw_chip *device;
  const struct program_step_options *options;
  const struct cost_model *model;
  struct diag_list *diags;
  struct program_step *out;
};

static void add_counts(struct lower_collective_count *into, const struct lower_collective_count *from) {
  for (size_t k = 0; k < LOWER_COLLECTIVE_KINDS; k++) {
    into->count[k] = sat_add_u64(into->count[k], from->count[k]);
    into->bytes[k] = sat_add_u64(into->bytes[k], from->bytes[k]);
  }
}

/* The pass before fusion says what there was, the one after it what there is. */
static void add_report(struct lower_collective_report *into, const struct lower_collective_report *single,
                       const struct lower_collective_report *combine) {
  add_counts(&into->before, &single->before);
  add_counts(&into->after, &combine->after);
  into->reduce_scatters += single->reduce_scatters;
  into->duplicates += single->duplicates;
  into->combined += combine->combined;
  into->combinations += combine->combinations;
  into->is_as_written = into->is_as_written || single->is_as_written;
}

/* The program says itself when collectives run: `overlap = "as_written"` in ridgeline.step, or starts and dones. Nobody
 * rewrites its collectives then. Any other one is a program for XLA, which does. `--overlap` is about the schedule alone. */
static bool is_as_written(const struct part_builder *b, const struct work_graph *unfused) {
  return b->out->step.overlap == STEP_OVERLAP_AS_WRITTEN || lower_starts_collectives(unfused);
}

static enum status fuse(const struct part_builder *b, const struct work_graph *unfused, struct work_graph **fused) {
  STATUS_TRY(lower_fuse(unfused, b->device, NULL, fused));
  (*fused)->partitions = unfused->partitions;
  (*fused)->is_partitioned = unfused->is_partitioned;
  return STATUS_OK;
}

static enum status compile_as_written(const struct part_builder *b, const struct work_graph *unfused,
                                      struct work_graph **compiled) {
  struct lower_collective_report report = {.is_as_written = true};
  STATUS_TRY(fuse(b, unfused, compiled));
  lower_collective_counts(unfused, &report.before);
  lower_collective_counts(*compiled, &report.after);
  add_report(&b->out->collectives, &report, &report);
  return STATUS_OK;
}

/* Unfused graph → as XLA would run it. */
static enum status compile(const struct part_builder *b, const struct work_graph *unfused,
                           struct work_graph **compiled) {
  const struct program_step_options *o = b->options;
  const struct lower_collective_options single = {.creates_reduce_scatters = true, .removes_duplicates = true};
  const struct lower_collective_options combine = {.combines = true,
                                                   .all_reduce_bytes = o->all_reduce_bytes,
                                                   .all_gather_bytes = o->all_gather_bytes,
                                                   .reduce_scatter_bytes = o->reduce_scatter_bytes};
  struct lower_collective_report first = {0}, second = {0};
  struct work_graph *rewritten = NULL, *fused = NULL;
  STATUS_TRY(lower_collectives(unfused, &single, &first, &rewritten));
  enum status status = fuse(b, rewritten, &fused);
  work_graph_free(rewritten);
  if (status == STATUS_OK) {
    status = lower_collectives(fused, &combine, &second, compiled);
    work_graph_free(fused);
  }
  add_report(&b->out->collectives, &first, &second);
  return status;
}

/* ---- what arguments are ---- */

/* Words in the names that frameworks give to arguments (jax.arg_info); the first that occurs counts. */
static const struct {
  const char *word;
  enum step_argument is;
} argument_words[] = {
    {"boundary", STEP_DATA}, /* "boundary_gradient" comes with a micro-batch */
    {"optimizer", STEP_OPTIMIZER}, {"opt_state", STEP_OPTIMIZER}, {"moment", STEP_OPTIMIZER},
    {"master", STEP_OPTIMIZER},    {"gradient", STEP_GRADIENT},   {"grads", STEP_GRADIENT},
    {"weight", STEP_PARAMETER},    {"param", STEP_PARAMETER},     {"scales.", STEP_PARAMETER},
};

static enum step_argument argument_of(const char *name) {
  for (size_t i = 0; i < sizeof argument_words / sizeof argument_words[0]; i++) {
    if (strstr(name, argument_words[i].word) != NULL) {
      return argument_words[i].is;
    }
  }
  return STEP_DATA;
}

/* From the names of the function's arguments, where each is one input of the graph and some name says what it is. */
static enum status name_arguments(const struct ir_module *m, struct ir_op function, struct program_step_part *part) {
  const struct ir_attr all = ir_op_attr(m, function, "arg_attrs");
  const size_t count = part->graph->inputs.count;
  bool is_named = false;
  if (all.id == 0 || ir_attr_get(m, all)->kind != IR_ATTR_ARRAY || ir_attr_get(m, all)->list_count != count) {
    return STATUS_OK;
  }
  part->arguments = calloc(count + 1, sizeof *part->arguments);
  if (part->arguments == NULL) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    struct ir_attr attrs = {m->lists.data[ir_attr_get(m, all)->list_first + i]};
    struct ir_attr name = ir_attr_field(m, attrs, "jax.arg_info");
    if (name.id != 0 && ir_attr_get(m, name)->kind == IR_ATTR_STRING) {
      part->arguments[i] = (uint8_t)argument_of(ir_text(m, ir_attr_get(m, name)->text));
      is_named = is_named || part->arguments[i] != STEP_DATA;
    }
  }
  if (!is_named) {
    free(part->arguments);
    part->arguments = NULL;
  }
  return STATUS_OK;
}

static enum status add_part(struct part_builder *b, struct ir_op function, const struct work_graph *unfused, int place,
                            int role) {
  struct program_step_part *part = &b->out->parts[b->out->part_count++];
  work_result_init(&part->result);
  if (b->options->without_fusion || b->device->fusion == HW_FUSION_NONE) {
    STATUS_TRY(lower_fuse(unfused, &(struct hw_chip){.fusion = HW_FUSION_NONE}, NULL, &part->graph));
  } else {
    STATUS_TRY((is_as_written(b, unfused) ? compile_as_written : compile)(b, unfused, &part->graph));
  }
  STATUS_TRY(name_arguments(b->program->module, function, part));
  STATUS_TRY(b->model->estimate(part->graph, b->device, &b->options->cost, &part->result));
  if (part->result.is_refused && b->out->refusal == NULL) {
    b->out->refusal = part->result.notes.count > 0 ? part->result.notes.data[0].text : "refused";
  }
  const double graph_s = part->result.root.time_s, all_s = part->result.time_s;
  b->out->step.parts[place][role] =
      (struct step_part){.graph = part->graph,
                         .times = &part->result.root,
                         .arguments = part->arguments,
                         .low = all_s > 0 && graph_s > 0 ? part->result.low_s / all_s : 1,
                         .high = all_s > 0 && graph_s > 0 ? part->result.high_s / all_s : 1};
  return STATUS_OK;
}

static enum status add_function(struct part_builder *b, int place, int role) {
  char name[40];
  snprintf(name, sizeof name, "%s_%s", place_words[place], role_words[role]);
  const struct ir_op function = ir_function_find(b->program->module, name);
  if (function.id == 0) {
    return STATUS_OK;
  }
  struct work_graph *unfused = NULL;
  const struct lower_options options = {.entry = name};
  STATUS_TRY(lower_module(b->program->module, &options, b->diags, &unfused));
  enum status status = add_part(b, function, unfused, place, role);
  work_graph_free(unfused);
  return status;
}

/* Whether the functions of the module are parts of a step. */
static bool has_roles(const struct program *program) {
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    char name[40];
    snprintf(name, sizeof name, "%s_%s", place_words[place], role_words[STEP_FORWARD]);
    if (ir_function_find(program->module, name).id != 0) {
      return true;
    }
  }
  return false;
}

static enum status add_parts(struct part_builder *b, bool is_stated) {
  struct step_program *step = &b->out->step;
  if (!is_stated || !has_roles(b->program)) {
    STATUS_TRY(add_part(b, b->program->entry, b->program->unfused, STEP_ONLY, STEP_WHOLE));
    if (!is_stated && b->out->collectives.is_as_written) {
      step->overlap = STEP_OVERLAP_AS_WRITTEN;
    }
    return STATUS_OK;
  }
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = STEP_FORWARD; role < STEP_ROLE_COUNT; role++) {
      STATUS_TRY(add_function(b, place, role));
    }
  }
  return STATUS_OK;
}

static enum status read_step(struct part_builder *b) {
  struct step_program *step = &b->out->step;
  const struct ir_module *m = b->program->module;
  struct step_reader reader = {.program = b->program,
                               .diags = b->diags,
                               .dict = ir_op_attr(m, m->root, "ridgeline.step"),
                               .overlap = b->device->kind == HW_KIND_GPU ? STEP_OVERLAP_EARLY_LATE
                                                                         : STEP_OVERLAP_LATENCY_HIDING};
  STATUS_TRY(read_attribute(&reader, step));
  if (b->options->devices > 0) {
    if (b->options->devices % step->stages != 0) {
      diag_file(b->diags, DIAG_E0315_STEP, b->program->source.name, 0, 0,
                "%u pipeline stages do not divide %llu devices", step->stages, (unsigned long long)b->options->devices);
      return STATUS_INPUT;
    }
    step->devices_per_stage = b->options->devices / step->stages;
  }
  b->out->devices = sat_mul_u64(step->stages, step->devices_per_stage);
  b->out->refusal = b->model->supports(b->device);
  return b->out->refusal != NULL ? STATUS_OK : add_parts(b, reader.dict.id != 0);
}

enum status program_step_read(struct program *program, const struct hw_chip *device,
                              const struct program_step_options *options, struct diag_list *diags,
                              struct program_step **out) {
  static const struct program_step_options none = {0};
  *out = NULL;
  struct part_builder builder = {.program = program,
                                 .device = device,
                                 .options = options != NULL ? options : &none,
                                 .diags = diags,
                                 .out = calloc(1, sizeof *builder.out)};
  if (builder.out == NULL) {
    return STATUS_MEMORY;
  }
  builder.model = builder.options->model != NULL ? builder.options->model : &cost_roofline;
  enum status status = read_step(&builder);
  if (status == STATUS_OK) {
    *out = builder.out;
  } else {
    program_step_free(builder.out);
  }
  return status;
}

void program_step_free(struct program_step *step) {
  for (size_t i = 0; step != NULL && i < step->part_count; i++) {
    work_graph_free(step->parts[i].graph);
    work_result_release(&step->parts[i].result);
    free(step->parts[i].arguments);
  }
  free(step);
}
