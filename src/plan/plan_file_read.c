/* Reader of plan files (plan_file.h): text to structures, every value in range or refused with its path. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "plan/plan_file_int.h"

enum { TEXT_MAX = 256 << 20, STEPS_MAX = 1 << 20, PATH_MAX_BYTES = 160 };

struct reader {
  const char *name; /* of the file */
  struct diag_list *diags;
  struct plan_file *file;
  char path[PATH_MAX_BYTES]; /* of the value at hand: "steps[12].load" */
  size_t path_length;
};

/* ---- paths and messages ---- */

static bool fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct reader *r, const char *format, ...) {
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  diag_file(r->diags, DIAG_E0806_PLAN_FILE, r->name, 0, 0, "%s%s%s", r->path, r->path_length > 0 ? ": " : "",
            strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

static size_t push(struct reader *r, const char *key) {
  size_t before = r->path_length;
  int added = snprintf(r->path + before, sizeof r->path - before, "%s%s", before > 0 ? "." : "", key);
  r->path_length = before + (size_t)added < sizeof r->path ? before + (size_t)added : sizeof r->path - 1;
  return before;
}

static size_t push_index(struct reader *r, size_t index) {
  size_t before = r->path_length;
  int added = snprintf(r->path + before, sizeof r->path - before, "[%zu]", index);
  r->path_length = before + (size_t)added < sizeof r->path ? before + (size_t)added : sizeof r->path - 1;
  return before;
}

static void pop(struct reader *r, size_t before) {
  r->path_length = before;
  r->path[before] = '\0';
}

/* ---- values ---- */

/* A member of the type, or NULL after a message. `what`: "an object", "a text". */
static json_t *member(struct reader *r, const json_t *object, const char *key, json_type type, const char *what) {
  json_t *value = json_object_get(object, key);
  if (value == NULL || json_typeof(value) != type) {
    size_t before = push(r, key);
    (void)fail(r, value == NULL ? "missing, %s expected" : "%s expected", what);
    pop(r, before);
    return NULL;
  }
  return value;
}

static bool whole(struct reader *r, const json_t *value, double low, double high, uint64_t *out) {
  if (!json_is_integer(value)) {
    return fail(r, "a whole number expected");
  }
  json_int_t number = json_integer_value(value);
  if ((double)number < low || (double)number > high) {
    return fail(r, "%" JSON_INTEGER_FORMAT " is not from %.0f to %.0f", number, low, high);
  }
  *out = (uint64_t)number;
  return true;
}

static bool flag(struct reader *r, const json_t *value, bool *out) {
  *out = json_is_true(value);
  return json_is_boolean(value) || fail(r, "true or false expected");
}

static bool real(struct reader *r, const json_t *value, double low, double high, double *out) {
  *out = json_number_value(value);
  if (!json_is_number(value)) {
    return fail(r, "a number expected");
  }
  return (*out >= low && *out <= high) || fail(r, "%g is not from %g to %g", *out, low, high);
}

static void store(enum plan_file_type type, uint64_t value, char *place) {
  uint8_t u8 = (uint8_t)value;
  uint16_t u16 = (uint16_t)value;
  uint32_t u32 = (uint32_t)value;
  switch (type) {
  case PLAN_FILE_U8:
    memcpy(place, &u8, sizeof u8);
    break;
  case PLAN_FILE_U16:
    memcpy(place, &u16, sizeof u16);
    break;
  case PLAN_FILE_U32:
    memcpy(place, &u32, sizeof u32);
    break;
  case PLAN_FILE_I64:
  case PLAN_FILE_U64:
    memcpy(place, &value, sizeof value);
    break;
  case PLAN_FILE_BOOL:
  case PLAN_FILE_DOUBLE:
    break;
  }
}

static bool read_field(struct reader *r, const json_t *value, const struct plan_file_field *field, char *base) {
  char *place = base + field->offset;
  if (field->type == PLAN_FILE_BOOL) {
    bool is_set = false;
    if (!flag(r, value, &is_set)) {
      return false;
    }
    memcpy(place, &is_set, sizeof is_set);
    return true;
  }
  if (field->type == PLAN_FILE_DOUBLE) {
    double number = 0;
    if (!real(r, value, field->low, field->high, &number)) {
      return false;
    }
    memcpy(place, &number, sizeof number);
    return true;
  }
  uint64_t number = 0;
  if (!whole(r, value, field->low, field->high, &number)) {
    return false;
  }
  store(field->type, number, place);
  return true;
}

static bool read_fields(struct reader *r, const json_t *object, const struct plan_file_fields *fields, void *base) {
  for (size_t i = 0; i < fields->count; i++) {
    const struct plan_file_field *field = &fields->rows[i];
    const json_t *value = json_object_get(object, field->key);
    size_t before = push(r, field->key);
    bool is_good = value != NULL ? read_field(r, value, field, base) : fail(r, "missing");
    pop(r, before);
    if (!is_good) {
      return false;
    }
  }
  return true;
}

static bool read_object(struct reader *r, const json_t *parent, const char *key, const struct plan_file_fields *fields,
                        void *base) {
  const json_t *object = member(r, parent, key, JSON_OBJECT, "an object");
  size_t before = push(r, key);
  bool is_good = object != NULL && read_fields(r, object, fields, base);
  pop(r, before);
  return is_good;
}

/* Interned. A name that is not there is none. */
static bool read_name(struct reader *r, const json_t *object, const char *key, uint32_t *out) {
  const json_t *value = json_object_get(object, key);
  const char *text = value != NULL ? json_string_value(value) : "";
  if (text == NULL) {
    return fail(r, "\"%s\" is no text", key);
  }
  *out = intern_add_cstr(r->file->own.strings, text);
  return *out != UINT32_MAX || fail(r, "out of memory");
}

static bool read_word(struct reader *r, const json_t *object, const char *key, const char *const *words, uint32_t count,
                      uint32_t *out) {
  const json_t *value = member(r, object, key, JSON_STRING, "a word");
  for (uint32_t i = 0; value != NULL && i < count; i++) {
    if (strcmp(json_string_value(value), words[i]) == 0) {
      *out = i;
      return true;
    }
  }
  return value != NULL && fail(r, "\"%s\" is unknown as \"%s\"", json_string_value(value), key);
}

/* ---- the chip ---- */

static bool read_rates(struct reader *r, const json_t *object, struct plan_chip *chip) {
  const json_t *stages = member(r, object, "stages", JSON_OBJECT, "an object");
  size_t before = push(r, "stages");
  bool is_good = stages != NULL;
  for (uint32_t k = 0; is_good && k < PLAN_STAGE_KIND_COUNT; k++) {
    is_good = k == PLAN_STAGE_MATRIX
              || read_object(r, stages, plan_stage_kind_name((enum plan_stage_kind)k), &plan_file_rate_fields,
                             &chip->stages[k]);
  }
  pop(r, before);
  return is_good;
}

static bool read_types(struct reader *r, const json_t *object, struct plan_chip *chip) {
  json_t *factors = member(r, object, "matrix_rate_factor", JSON_OBJECT, "an object");
  const char *key;
  json_t *value;
  if (factors == NULL) {
    return false;
  }
  size_t outer = push(r, "matrix_rate_factor");
  json_object_foreach(factors, key, value) {
    enum dtype type = dtype_parse(key, strlen(key));
    size_t before = push(r, key);
    if (type == DTYPE_NONE || type >= DTYPE_COUNT) {
      return fail(r, "no type has this name");
    }
    if (!real(r, value, 0, 1e6, &chip->matrix_rate_factor[type])) {
      return false;
    }
    pop(r, before);
  }
  pop(r, outer);
  return true;
}

static bool read_chip(struct reader *r, const json_t *root) {
  struct plan_chip *chip = &r->file->chip;
  const json_t *object = member(r, root, "chip", JSON_OBJECT, "an object");
  const char *topologies[PLAN_TOPOLOGY_COUNT];
  uint32_t id = 0, topology = 0;
  for (uint32_t t = 0; t < PLAN_TOPOLOGY_COUNT; t++) {
    topologies[t] = plan_topology_name((enum plan_topology)t);
  }
  size_t before = push(r, "chip");
  bool is_good = object != NULL && read_name(r, object, "id", &id)
                 && read_word(r, object, "topology", topologies, PLAN_TOPOLOGY_COUNT, &topology)
                 && read_fields(r, object, &plan_file_chip_fields, chip) && read_rates(r, object, chip)
                 && read_types(r, object, chip);
  if (is_good && chip->has_memory && !(chip->memory_Bps >= 1e8 && chip->memory_efficiency >= 0.05)) {
    is_good = fail(r, "a memory slower than 100 MB/s, or with less than 5 %% of it"); /* times stay within 64 bits */
  }
  chip->topology = (uint8_t)topology;
  chip->id = intern_text(r->file->own.strings, id);
  pop(r, before);
  return is_good;
}

/* ---- operators ---- */

static bool read_axes(struct reader *r, const json_t *object, const char *key, uint32_t axis_count,
                      plan_axis_mask *mask) {
  const json_t *array = member(r, object, key, JSON_ARRAY, "a list of axes");
  size_t before = push(r, key);
  bool is_good = array != NULL;
  *mask = 0;
  for (size_t i = 0; is_good && i < json_array_size(array); i++) {
    uint64_t axis = 0;
    is_good = whole(r, json_array_get(array, i), 0, axis_count - 1.0, &axis);
    is_good = is_good && ((*mask >> axis & 1) == 0 || fail(r, "axis %u is there twice", (unsigned)axis));
    *mask |= (plan_axis_mask)(is_good ? 1u << axis : 0);
  }
  pop(r, before);
  return is_good;
}

/* Whether the producer comes earlier is a matter of plan_check. */
static bool read_tensor(struct reader *r, const json_t *object, const struct plan_operator *op,
                        struct plan_tensor *tensor) {
  uint32_t source = 0;
  if (!json_is_object(object)) {
    return fail(r, "an object expected");
  }
  if (!read_name(r, object, "name", &tensor->name) || !read_axes(r, object, "axes", op->axis_count, &tensor->axes)
      || !read_word(r, object, "source", plan_file_sources, 2, &source)
      || !read_fields(r, object, &plan_file_tensor_fields, tensor)) {
    return false;
  }
  tensor->source = (uint8_t)source;
  const json_t *producer = json_object_get(object, "producer"), *parts = json_object_get(object, "producer_parts");
  uint64_t made_by = 0, part_count = 1;
  if (producer != NULL && !whole(r, producer, 0, STEPS_MAX, &made_by)) {
    return false;
  }
  tensor->producer = producer != NULL ? (uint32_t)made_by + 1 : 0;
  if (parts != NULL && !whole(r, parts, 1, tensor->producer > 0 ? tensor->producer : 1, &part_count)) {
    return false;
  }
  tensor->producer_parts = tensor->producer > 0 ? (uint32_t)part_count : 0;
  return true;
}

static bool read_stage(struct reader *r, const json_t *object, const struct plan_operator *op,
                       struct plan_stage *stage) {
  const char *kinds[PLAN_STAGE_KIND_COUNT];
  uint32_t kind = 0;
  for (uint32_t k = 0; k < PLAN_STAGE_KIND_COUNT; k++) {
    kinds[k] = plan_stage_kind_name((enum plan_stage_kind)k);
  }
  if (!json_is_object(object)) {
    return fail(r, "an object expected");
  }
  if (!read_word(r, object, "kind", kinds, PLAN_STAGE_KIND_COUNT, &kind)
      || !read_axes(r, object, "axes", op->axis_count, &stage->axes)
      || !read_axes(r, object, "reduced", op->axis_count, &stage->reduced)
      || !read_fields(r, object, &plan_file_stage_fields, stage)) {
    return false;
  }
  stage->kind = (uint8_t)kind;
  if ((stage->reduced & ~stage->axes) != 0) {
    return fail(r, "sums over an axis that it does not run along");
  }
  return kind != PLAN_STAGE_MATRIX
         || (read_axes(r, object, "left", op->axis_count, &stage->left)
             && read_axes(r, object, "right", op->axis_count, &stage->right));
}

static const json_t *list(struct reader *r, const json_t *object, const char *key, size_t least, size_t most) {
  const json_t *array = member(r, object, key, JSON_ARRAY, "a list");
  if (array != NULL && (json_array_size(array) < least || json_array_size(array) > most)) {
    size_t before = push(r, key);
    (void)fail(r, "%zu entries, %zu to %zu expected", json_array_size(array), least, most);
    pop(r, before);
    return NULL;
  }
  return array;
}

static bool read_parts(struct reader *r, const json_t *object, struct plan_operator *op) {
  struct plan_program *program = &r->file->own;
  const json_t *tensors = list(r, object, "tensors", 1, PLAN_TENSORS_MAX);
  const json_t *stages = tensors != NULL ? list(r, object, "stages", 0, PLAN_STAGES_MAX) : NULL;
  bool is_good = stages != NULL;
  for (size_t t = 0; is_good && t < json_array_size(tensors); t++) {
    struct plan_tensor tensor = {.is_output = t + 1 == json_array_size(tensors)};
    size_t outer = push(r, "tensors"), inner = push_index(r, t);
    is_good = read_tensor(r, json_array_get(tensors, t), op, &tensor);
    pop(r, inner);
    pop(r, outer);
    program->memory_bytes = sat_add_u64(program->memory_bytes, tensor.memory_bytes);
    is_good = is_good && (vec_push(&program->tensors, tensor) || fail(r, "out of memory"));
  }
  for (size_t s = 0; is_good && s < json_array_size(stages); s++) {
    struct plan_stage stage = {0};
    size_t outer = push(r, "stages"), inner = push_index(r, s);
    is_good = read_stage(r, json_array_get(stages, s), op, &stage);
    pop(r, inner);
    pop(r, outer);
    is_good = is_good && (vec_push(&program->stages, stage) || fail(r, "out of memory"));
  }
  op->tensor_count = is_good ? (uint8_t)json_array_size(tensors) : 0;
  op->stage_count = is_good ? (uint8_t)json_array_size(stages) : 0;
  return is_good;
}

static bool read_operator(struct reader *r, const json_t *object) {
  struct plan_program *program = &r->file->own;
  struct plan_operator op = {.layer = UINT32_MAX,
                             .tensor_first = (uint32_t)program->tensors.count,
                             .stage_first = (uint32_t)program->stages.count};
  if (!json_is_object(object)) {
    return fail(r, "an object expected");
  }
  const json_t *extents = list(r, object, "extents", 0, PLAN_AXES_MAX);
  const json_t *layer = json_object_get(object, "layer");
  uint64_t number = UINT32_MAX;
  if (extents == NULL || !read_name(r, object, "name", &op.name)
      || !read_fields(r, object, &plan_file_operator_fields, &op)
      || (layer != NULL && !whole(r, layer, 0, STEPS_MAX, &number))) {
    return false;
  }
  op.layer = (uint32_t)number;
  op.axis_count = (uint8_t)json_array_size(extents);
  for (uint32_t a = 0; a < op.axis_count; a++) {
    if (!whole(r, json_array_get(extents, a), 1, 1099511627776.0, &op.extents[a])) { /* 2^40 */
      return false;
    }
  }
  return read_parts(r, object, &op) && (vec_push(&program->operators, op) || fail(r, "out of memory"));
}

/* ---- steps ---- */

static bool read_factors(struct reader *r, const json_t *array, uint32_t axis_count, uint32_t most, uint32_t *factors) {
  if (!json_is_array(array) || json_array_size(array) != axis_count) {
    return fail(r, "a list of %u numbers expected, one per axis", axis_count);
  }
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    uint64_t factor = 1;
    if (a < axis_count && !whole(r, json_array_get(array, a), 1, most, &factor)) {
      return false;
    }
    factors[a] = (uint32_t)factor;
  }
  return true;
}

static bool read_temporal(struct reader *r, const json_t *object, uint32_t axis_count,
                          struct plan_partition *partition) {
  const json_t *slots = list(r, object, "temporal", PLAN_ROTATED_MAX, PLAN_ROTATED_MAX);
  for (uint32_t s = 0; slots != NULL && s < PLAN_ROTATED_MAX; s++) {
    uint32_t factors[PLAN_AXES_MAX] = {0};
    size_t outer = push(r, "temporal"), inner = push_index(r, s);
    bool is_good = read_factors(r, json_array_get(slots, s), axis_count, UINT16_MAX, factors);
    pop(r, inner);
    pop(r, outer);
    if (!is_good) {
      return false;
    }
    for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
      partition->temporal[s][a] = (uint16_t)factors[a];
    }
  }
  return slots != NULL;
}

static bool read_step(struct reader *r, const json_t *object, uint32_t index) {
  struct plan_file_step *step = &r->file->steps[index];
  uint32_t axes = r->file->own.operators.data[index].axis_count, priority = 0;
  if (!json_is_object(object)) {
    return fail(r, "an object expected");
  }
  const json_t *load = json_object_get(object, "load");
  size_t before = push(r, "spatial");
  if (!read_factors(r, json_object_get(object, "spatial"), axes, 1 << 24, step->execute.spatial)) {
    return false;
  }
  pop(r, before);
  if (!read_temporal(r, object, axes, &step->execute)
      || !read_word(r, object, "priority", plan_file_priorities, 2, &priority)
      || !read_fields(r, object, &plan_file_step_fields, step)) {
    return false;
  }
  step->priority = priority == 0 ? PLAN_EXCHANGE_FIRST : PLAN_PRELOAD_FIRST;
  step->preload = step->execute;
  step->load_order = PLAN_NO_LOAD;
  step->release = index;
  step->at.load_start_ps = step->at.load_end_ps = step->at.start_ps;
  if (load == NULL && !r->file->chip.has_memory) {
    const json_t *kept = member(r, object, "kept", JSON_OBJECT, "an object");
    before = push(r, "kept");
    bool is_read = kept != NULL && read_temporal(r, kept, axes, &step->preload);
    pop(r, before);
    return is_read;
  }
  if (load == NULL) {
    return true;
  }
  before = push(r, "load");
  bool is_good = json_is_object(load) ? read_temporal(r, load, axes, &step->preload)
                                            && read_fields(r, load, &plan_file_load_fields, step)
                                      : fail(r, "an object expected");
  r->file->load_count += is_good;
  pop(r, before);
  return is_good;
}

static bool read_lists(struct reader *r, const json_t *root) {
  struct plan_file *file = r->file;
  const json_t *operators = list(r, root, "operators", 1, STEPS_MAX);
  const json_t *steps = operators != NULL ? list(r, root, "steps", 1, STEPS_MAX) : NULL;
  bool is_good = steps != NULL;
  for (size_t i = 0; is_good && i < json_array_size(operators); i++) {
    size_t outer = push(r, "operators"), inner = push_index(r, i);
    is_good = read_operator(r, json_array_get(operators, i));
    pop(r, inner);
    pop(r, outer);
  }
  if (!is_good) {
    return false;
  }
  if (json_array_size(steps) != file->own.operators.count) {
    return fail(r, "%zu steps for %zu operators", json_array_size(steps), file->own.operators.count);
  }
  file->step_count = (uint32_t)json_array_size(steps);
  file->steps = arena_calloc(&file->arena, file->step_count, sizeof *file->steps);
  if (file->steps == NULL) {
    return fail(r, "out of memory");
  }
  for (uint32_t i = 0; is_good && i < file->step_count; i++) {
    size_t outer = push(r, "steps"), inner = push_index(r, i);
    is_good = read_step(r, json_array_get(steps, i), i);
    pop(r, inner);
    pop(r, outer);
  }
  return is_good;
}

static bool read_root(struct reader *r, const json_t *root) {
  struct plan_file *file = r->file;
  const char *const formats[] = {PLAN_FILE_FORMAT};
  uint32_t format = 0, policy = 0;
  const json_t *contention;
  if (!json_is_object(root)) {
    return fail(r, "an object expected");
  }
  if (!read_word(r, root, "format", formats, 1, &format) || !read_name(r, root, "policy", &policy)) {
    return false;
  }
  file->policy = intern_text(file->own.strings, policy);
  contention = json_object_get(root, "contention");
  size_t before = push(r, "contention");
  if (!flag(r, contention, &file->contention)) {
    return false;
  }
  pop(r, before);
  return read_object(r, root, "features", &plan_file_features_fields, &file->features) && read_chip(r, root)
         && read_object(r, root, "totals", &plan_file_total_fields, &file->totals)
         && read_object(r, root, "bounds", &plan_file_bounds_fields, &file->bounds)
         && read_object(r, root, "resource_bound", &plan_file_resource_fields, &file->resource) && read_lists(r, root);
}

enum status plan_file_read(const char *name, const char *text, size_t length, struct diag_list *diags,
                           struct plan_file *file) {
  struct reader r = {.name = name, .diags = diags, .file = file};
  memset(file, 0, sizeof *file);
  arena_init(&file->arena, 0);
  file->program = &file->own;
  if (length > TEXT_MAX) {
    (void)fail(&r, "%zu bytes, at most %d are read", length, TEXT_MAX);
    return STATUS_LIMIT;
  }
  struct intern *strings = arena_calloc(&file->arena, 1, sizeof *strings);
  if (strings == NULL || !intern_init(strings, &file->arena)) {
    return STATUS_MEMORY;
  }
  file->own.strings = strings;
  json_error_t error;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (root == NULL) {
    diag_file(diags, DIAG_E0806_PLAN_FILE, name, error.line > 0 ? (uint32_t)error.line : 0,
              error.column > 0 ? (uint32_t)error.column : 0, "%s", error.text);
    return STATUS_INPUT;
  }
  bool is_good = read_root(&r, root);
  json_decref(root);
  return is_good ? STATUS_OK : STATUS_INPUT;
}
