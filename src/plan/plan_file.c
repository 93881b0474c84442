/* Plan files: from a result, and as text (plan_file.h). plan_file_read.c is the way back. */
#include "plan/plan_file.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/intern.h"
#include "plan/plan_file_int.h"

/* ---- from a result ---- */

static void fill_step(const struct plan_result *result, const struct plan_row *row, uint32_t index,
                      struct plan_file_step *step) {
  const struct plan_chain *chain = &result->sets.chain;
  const struct plan_decision *decision = &row->result.schedule.decisions[index];
  uint32_t sort = chain->steps[index].set;
  const struct plan_choice_set *choices = &chain->sets[sort];
  const struct plan_set *set = &result->sets.sets.data[sort];
  bool has_state = plan_step_loads(chain, index) || !result->chip.has_memory;
  step->execute = set->executes[decision->execute];
  step->preload = has_state ? set->preloads[decision->preload] : step->execute;
  step->cost = choices->executes[decision->execute];
  step->load = choices->preloads[decision->preload];
  step->distribute_ps = choices->distribute_ps[(size_t)decision->preload * choices->execute_count + decision->execute];
  step->live_bytes = chain->steps[index].live_bytes;
  step->load_order = PLAN_NO_LOAD;
  step->release = decision->release;
  step->priority = decision->priority;
  step->at = row->result.timeline.steps[index];
}

enum status plan_file_of(const struct plan_result *result, const struct plan_row *row,
                         const struct plan_features *features, bool contention, struct plan_file *file) {
  memset(file, 0, sizeof *file);
  arena_init(&file->arena, 0);
  if (row->status != STATUS_OK || row->policy->is_reference) {
    return STATUS_UNSUPPORTED;
  }
  file->policy = row->policy->name;
  file->program = &result->program;
  file->chip = result->chip;
  file->features = *features;
  file->features.overlap = result->sets.chain.overlaps;
  file->contention = contention;
  file->totals = row->result.timeline;
  file->totals.steps = NULL;
  file->bounds = result->bounds;
  file->resource = result->resource;
  file->step_count = result->sets.chain.step_count;
  file->load_count = row->result.schedule.load_count;
  file->steps = arena_calloc(&file->arena, file->step_count, sizeof *file->steps);
  if (file->steps == NULL) {
    return STATUS_MEMORY;
  }
  for (uint32_t i = 0; i < file->step_count; i++) {
    fill_step(result, row, i, &file->steps[i]);
  }
  for (uint32_t k = 0; k < file->load_count; k++) {
    file->steps[row->result.schedule.order[k]].load_order = k;
  }
  return STATUS_OK;
}

void plan_file_release(struct plan_file *file) {
  vec_release(&file->own.operators);
  vec_release(&file->own.tensors);
  vec_release(&file->own.stages);
  if (file->own.strings != NULL) {
    intern_release(file->own.strings);
  }
  arena_release(&file->arena);
  memset(file, 0, sizeof *file);
}

/* ---- as text ---- */

/* JSON is Unicode; what is not ASCII in a name is taken for Latin-1. */
static void put_string(struct strbuf *out, const char *text) {
  strbuf_putc(out, '"');
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      strbuf_putc(out, '\\');
      strbuf_putc(out, *text);
    } else if (c < 0x20 || c > 0x7E) {
      strbuf_printf(out, "\\u%04x", c);
    } else {
      strbuf_putc(out, *text);
    }
  }
  strbuf_putc(out, '"');
}

static uint64_t field_integer(const struct plan_file_field *field, const char *base) {
  const char *place = base + field->offset;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  switch (field->type) {
  case PLAN_FILE_U16:
    memcpy(&u16, place, sizeof u16);
    return u16;
  case PLAN_FILE_U32:
    memcpy(&u32, place, sizeof u32);
    return u32;
  case PLAN_FILE_I64: /* never negative in a plan that stands */
  case PLAN_FILE_U64:
    memcpy(&u64, place, sizeof u64);
    return u64;
  case PLAN_FILE_U8:
  case PLAN_FILE_BOOL:
  case PLAN_FILE_DOUBLE:
    break;
  }
  return *(const unsigned char *)place;
}

/* "key": value pairs, separated and ended by commas where more follows. */
static void put_fields(struct strbuf *out, const struct plan_file_fields *fields, const void *base, bool more) {
  for (size_t i = 0; i < fields->count; i++) {
    const struct plan_file_field *field = &fields->rows[i];
    strbuf_printf(out, "\"%s\":", field->key);
    if (field->type == PLAN_FILE_DOUBLE) {
      double value;
      memcpy(&value, (const char *)base + field->offset, sizeof value);
      strbuf_printf(out, "%.17g", value);
    } else if (field->type == PLAN_FILE_BOOL) {
      strbuf_puts(out, field_integer(field, base) != 0 ? "true" : "false");
    } else {
      strbuf_printf(out, "%" PRIu64, field_integer(field, base));
    }
    if (more || i + 1 < fields->count) {
      strbuf_putc(out, ',');
    }
  }
}

static void put_axes(struct strbuf *out, const char *key, plan_axis_mask mask) {
  strbuf_printf(out, "\"%s\":[", key);
  const char *comma = "";
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    if ((mask >> a & 1) != 0) {
      strbuf_printf(out, "%s%u", comma, a);
      comma = ",";
    }
  }
  strbuf_putc(out, ']');
}

static void put_chip(struct strbuf *out, const struct plan_chip *chip) {
  strbuf_puts(out, "\"chip\":{\"id\":");
  put_string(out, chip->id != NULL ? chip->id : "");
  strbuf_puts(out, ",\"topology\":");
  put_string(out, plan_topology_name((enum plan_topology)chip->topology));
  strbuf_puts(out, ",\n ");
  put_fields(out, &plan_file_chip_fields, chip, true);
  strbuf_puts(out, "\n \"stages\":{");
  const char *comma = "";
  for (uint32_t k = 0; k < PLAN_STAGE_KIND_COUNT; k++) {
    if (k != PLAN_STAGE_MATRIX) {
      strbuf_printf(out, "%s\"%s\":{", comma, plan_stage_kind_name((enum plan_stage_kind)k));
      put_fields(out, &plan_file_rate_fields, &chip->stages[k], false);
      strbuf_putc(out, '}');
      comma = ",";
    }
  }
  strbuf_puts(out, "},\n \"matrix_rate_factor\":{");
  comma = "";
  for (uint32_t t = 0; t < DTYPE_COUNT; t++) {
    if (chip->matrix_rate_factor[t] > 0) {
      strbuf_printf(out, "%s\"%s\":%.17g", comma, dtype_name((enum dtype)t), chip->matrix_rate_factor[t]);
      comma = ",";
    }
  }
  strbuf_puts(out, "}},\n");
}

static void put_tensor(struct strbuf *out, const struct plan_program *program, const struct plan_tensor *tensor) {
  strbuf_puts(out, "{\"name\":");
  put_string(out, intern_text(program->strings, tensor->name));
  strbuf_putc(out, ',');
  put_axes(out, "axes", tensor->axes);
  strbuf_printf(out, ",\"source\":\"%s\",", plan_file_sources[tensor->source != PLAN_SOURCE_MEMORY]);
  if (tensor->producer > 0) {
    strbuf_printf(out, "\"producer\":%u,", tensor->producer - 1);
  }
  if (tensor->producer > 0 && tensor->producer_parts > 1) {
    strbuf_printf(out, "\"producer_parts\":%u,", tensor->producer_parts);
  }
  put_fields(out, &plan_file_tensor_fields, tensor, false);
  strbuf_putc(out, '}');
}

static void put_stage(struct strbuf *out, const struct plan_stage *stage) {
  strbuf_printf(out, "{\"kind\":\"%s\",", plan_stage_kind_name((enum plan_stage_kind)stage->kind));
  put_axes(out, "axes", stage->axes);
  strbuf_putc(out, ',');
  put_axes(out, "reduced", stage->reduced);
  strbuf_putc(out, ',');
  if (stage->kind == PLAN_STAGE_MATRIX) {
    put_axes(out, "left", stage->left);
    strbuf_putc(out, ',');
    put_axes(out, "right", stage->right);
    strbuf_putc(out, ',');
  }
  put_fields(out, &plan_file_stage_fields, stage, false);
  strbuf_putc(out, '}');
}

static void put_operator(struct strbuf *out, const struct plan_program *program, const struct plan_operator *op) {
  strbuf_puts(out, "{\"name\":");
  put_string(out, intern_text(program->strings, op->name));
  strbuf_putc(out, ',');
  if (op->layer != UINT32_MAX) {
    strbuf_printf(out, "\"layer\":%u,", op->layer);
  }
  put_fields(out, &plan_file_operator_fields, op, true);
  strbuf_puts(out, "\"extents\":[");
  for (uint32_t a = 0; a < op->axis_count; a++) {
    strbuf_printf(out, "%s%" PRIu64, a > 0 ? "," : "", op->extents[a]);
  }
  strbuf_puts(out, "],\n  \"tensors\":[");
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    strbuf_puts(out, t > 0 ? ",\n   " : "");
    put_tensor(out, program, &program->tensors.data[op->tensor_first + t]);
  }
  strbuf_puts(out, "],\n  \"stages\":[");
  for (uint32_t s = 0; s < op->stage_count; s++) {
    strbuf_puts(out, s > 0 ? ",\n   " : "");
    put_stage(out, &program->stages.data[op->stage_first + s]);
  }
  strbuf_puts(out, "]}");
}

static void put_temporal(struct strbuf *out, const char *key, const struct plan_partition *partition, uint32_t axes) {
  strbuf_printf(out, "\"%s\":[", key);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    strbuf_puts(out, s > 0 ? ",[" : "[");
    for (uint32_t a = 0; a < axes; a++) {
      strbuf_printf(out, "%s%u", a > 0 ? "," : "", partition->temporal[s][a]);
    }
    strbuf_putc(out, ']');
  }
  strbuf_putc(out, ']');
}

static void put_step(struct strbuf *out, const struct plan_file *file, uint32_t index) {
  const struct plan_file_step *step = &file->steps[index];
  uint32_t axes = file->program->operators.data[index].axis_count;
  strbuf_puts(out, "{\"spatial\":[");
  for (uint32_t a = 0; a < axes; a++) {
    strbuf_printf(out, "%s%u", a > 0 ? "," : "", step->execute.spatial[a]);
  }
  strbuf_puts(out, "],");
  put_temporal(out, "temporal", &step->execute, axes);
  strbuf_printf(out, ",\"priority\":\"%s\",\n  ", plan_file_priorities[step->priority == PLAN_PRELOAD_FIRST]);
  if (step->load_order != PLAN_NO_LOAD) {
    strbuf_puts(out, "\"load\":{");
    put_temporal(out, "temporal", &step->preload, axes);
    strbuf_putc(out, ',');
    put_fields(out, &plan_file_load_fields, step, false);
    strbuf_puts(out, "},\n  ");
  } else if (!file->chip.has_memory) {
    strbuf_puts(out, "\"kept\":{");
    put_temporal(out, "temporal", &step->preload, axes);
    strbuf_puts(out, "},\n  ");
  }
  put_fields(out, &plan_file_step_fields, step, false);
  strbuf_putc(out, '}');
}

static void put_object(struct strbuf *out, const char *key, const struct plan_file_fields *fields, const void *base,
                       const char *end) {
  strbuf_printf(out, "\"%s\":{", key);
  put_fields(out, fields, base, false);
  strbuf_printf(out, "}%s", end);
}

enum status plan_file_write(const struct plan_file *file, struct strbuf *out) {
  assert(file->step_count == file->program->operators.count);
  strbuf_puts(out, "{\"format\":\"" PLAN_FILE_FORMAT "\",\n\"policy\":");
  put_string(out, file->policy);
  strbuf_printf(out, ",\n\"contention\":%s,\n", file->contention ? "true" : "false");
  put_object(out, "features", &plan_file_features_fields, &file->features, ",\n");
  put_chip(out, &file->chip);
  put_object(out, "totals", &plan_file_total_fields, &file->totals, ",\n");
  put_object(out, "bounds", &plan_file_bounds_fields, &file->bounds, ",\n");
  put_object(out, "resource_bound", &plan_file_resource_fields, &file->resource, ",\n");
  strbuf_puts(out, "\"operators\":[\n ");
  for (uint32_t i = 0; i < file->step_count; i++) {
    strbuf_puts(out, i > 0 ? ",\n " : "");
    put_operator(out, file->program, &file->program->operators.data[i]);
  }
  strbuf_puts(out, "],\n\"steps\":[\n ");
  for (uint32_t i = 0; i < file->step_count; i++) {
    strbuf_puts(out, i > 0 ? ",\n " : "");
    put_step(out, file, i);
  }
  strbuf_puts(out, "]}\n");
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
