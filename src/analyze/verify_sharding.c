/* Shardings of the sdy dialect: meshes, axes, ranks, and the local shapes of manual computations. What is checked is what
 * Shardy's verifier demands of one attribute or operation; how collectives of sdy change shardings is not.
 * Path: checks of an op in analyze_infer.c, and of functions for their arguments and results. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/sharding_text.h"
#include "analyze/verify_int.h"

/* Text of an sdy attribute behind its prefix, NULL for others. */
static const char *body_of(const struct ir_module *module, struct ir_attr attr, const char *prefix) {
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  const char *text = attr.id != 0 && data->kind == IR_ATTR_OPAQUE ? ir_text(module, data->text) : "";
  size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* ---- meshes ---- */

static void list_meshes(struct infer *infer) {
  infer->has_meshes = true;
  for (uint32_t id = 1; id < infer->module->ops.count; id++) {
    const struct ir_op_data *data = ir_op_get(infer->module, (struct ir_op){id});
    bool is_mesh = data->opcode == IR_OP_SDY_MESH && (data->flags & IR_OP_ERASED) == 0;
    if (is_mesh && !vec_push(&infer->meshes, ((struct ir_op){id}))) {
      infer->status = STATUS_MEMORY;
    }
  }
}

/* False when no mesh has that name. A mesh whose text is of another form has no axes and `is_known` is false. */
static bool find_mesh(struct infer *infer, struct sharding_name name, struct sharding_mesh *mesh, bool *is_known) {
  if (!infer->has_meshes) {
    list_meshes(infer);
  }
  for (size_t i = 0; i < infer->meshes.count; i++) {
    struct ir_attr symbol = ir_op_attr(infer->module, infer->meshes.data[i], "sym_name");
    const char *text = symbol.id != 0 ? ir_text(infer->module, ir_attr_get(infer->module, symbol)->text) : "";
    if (strlen(text) == name.length && memcmp(text, name.text, name.length) == 0) {
      const char *body = body_of(infer->module, ir_op_attr(infer->module, infer->meshes.data[i], "mesh"), "#sdy.mesh");
      *is_known = body != NULL && sharding_read_mesh(body, mesh) != NULL;
      return true;
    }
  }
  return false;
}

static int64_t axis_index(const struct sharding_mesh *mesh, struct sharding_name name) {
  for (uint32_t i = 0; i < mesh->count; i++) {
    if (sharding_name_is(mesh->names[i], name)) {
      return i;
    }
  }
  return -1;
}

bool verify_mesh(struct infer *infer, struct ir_op op) {
  struct sharding_mesh mesh;
  const char *body = body_of(infer->module, ir_op_attr(infer->module, op, "mesh"), "#sdy.mesh");
  if (body == NULL || sharding_read_mesh(body, &mesh) == NULL) {
    return true;
  }
  for (uint32_t i = 0; i < mesh.count; i++) {
    if (axis_index(&mesh, mesh.names[i]) != i) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "the mesh has two axes \"%.*s\"", (int)mesh.names[i].length,
                  mesh.names[i].text);
      return false;
    }
    if (mesh.sizes[i] < 1) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "axis \"%.*s\" has size %lld", (int)mesh.names[i].length,
                  mesh.names[i].text, (long long)mesh.sizes[i]);
      return false;
    }
  }
  if (mesh.has_ids && mesh.count > 0 && !mesh.is_iota) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'device_ids' are not 0 to the number of devices in some order");
    return false;
  }
  return true;
}

/* ---- one sharding ---- */

/* Where a sharding stands, for messages. */
struct place {
  struct infer *infer;
  struct ir_op op;
  const char *what;
  uint32_t index;
};

__attribute__((format(printf, 2, 3))) static bool fail(const struct place *place, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  infer_error(place->infer, place->op, DIAG_E0206_ATTRIBUTE_VALUE, "sharding of %s %u: %s", place->what, place->index,
              text);
  return false;
}

static bool check_axis(const struct place *place, const struct sharding_mesh *mesh, const struct sharding_axis *axis) {
  int64_t index = axis_index(mesh, axis->name);
  if (index < 0) {
    return fail(place, "the mesh has no axis \"%.*s\"", (int)axis->name.length, axis->name.text);
  }
  int64_t size = mesh->sizes[index];
  bool is_part = axis->pre >= 1 && axis->size >= 2 && axis->pre <= size && axis->size < size && size % axis->pre == 0
                 && (size / axis->pre) % axis->size == 0;
  return !axis->is_part || is_part
         || fail(place, "\"%.*s\":(%lld)%lld is no part of an axis of size %lld", (int)axis->name.length,
                 axis->name.text, (long long)axis->pre, (long long)axis->size, (long long)size);
}

/* Two uses of axes have a device in common: the same axis, or parts of it that overlap. */
static bool is_overlap(const struct sharding_axis *a, const struct sharding_axis *b) {
  if (!sharding_name_is(a->name, b->name)) {
    return false;
  }
  bool is_apart =
      a->is_part && b->is_part
      && ((a->pre < b->pre && a->pre * a->size <= b->pre) || (b->pre < a->pre && b->pre * b->size <= a->pre));
  return !is_apart;
}

static bool check_axes(const struct place *place, const struct sharding_mesh *mesh, const struct sharding *sharding) {
  for (uint32_t i = 0; i < sharding->axis_count; i++) {
    if (!check_axis(place, mesh, &sharding->axes[i])) {
      return false;
    }
    for (uint32_t j = 0; j < i; j++) {
      if (is_overlap(&sharding->axes[i], &sharding->axes[j])) {
        return fail(place, "axis \"%.*s\" is used twice", (int)sharding->axes[i].name.length,
                    sharding->axes[i].name.text);
      }
    }
  }
  return true;
}

/* Neighbours that are one part of an axis must be written as one. */
static bool check_merged(const struct place *place, const struct sharding *sharding, const struct sharding_list *list) {
  for (uint32_t i = 1; i < list->count; i++) {
    const struct sharding_axis *a = &sharding->axes[list->first + i - 1], *b = a + 1;
    if (a->is_part && b->is_part && sharding_name_is(a->name, b->name) && b->pre == a->pre * a->size) {
      return fail(place, "two parts of axis \"%.*s\" that follow each other are one", (int)a->name.length,
                  a->name.text);
    }
  }
  return true;
}

/* Replicated and unreduced axes stand in the order of the mesh. */
static bool check_order(const struct place *place, const struct sharding_mesh *mesh, const struct sharding *sharding,
                        const struct sharding_list *list) {
  for (uint32_t i = 1; i < list->count; i++) {
    const struct sharding_axis *a = &sharding->axes[list->first + i - 1], *b = a + 1;
    int64_t x = axis_index(mesh, a->name), y = axis_index(mesh, b->name);
    if (x > y || (x == y && a->pre > b->pre)) {
      return fail(place, "replicated or unreduced axes are not in the order of the mesh");
    }
  }
  return check_merged(place, sharding, list);
}

/* Mesh of a sharding; `is_known` is false when its axes cannot be told. */
static bool mesh_of(const struct place *place, const struct sharding *sharding, struct sharding_mesh *mesh,
                    bool *is_known) {
  if (sharding->mesh.length == 0) {
    *mesh = sharding->inlined;
    *is_known = true;
    return true;
  }
  if (!find_mesh(place->infer, sharding->mesh, mesh, is_known)) {
    infer_error(place->infer, place->op, DIAG_E0207_UNRESOLVED_CALL, "no mesh named '@%.*s'",
                (int)sharding->mesh.length, sharding->mesh.text);
    return false;
  }
  return true;
}

static bool check_sharding(const struct place *place, const struct sharding *sharding, struct ir_type type) {
  struct sharding_mesh mesh;
  struct shape shape;
  bool is_known;
  if (!mesh_of(place, sharding, &mesh, &is_known)) {
    return false;
  }
  bool is_maximal = is_known && mesh.count == 0 && sharding->dim_count == 0; /* one device: no dimensions are written */
  if (!is_maximal && shape_from_type(place->infer->module, type, &shape) && shape.rank != sharding->dim_count) {
    return fail(place, "it has %u dimensions, the tensor has rank %u", sharding->dim_count, shape.rank);
  }
  if (!is_known) {
    return true;
  }
  for (uint32_t i = 0; i < sharding->dim_count; i++) {
    const struct sharding_list *dim = &sharding->dims[i];
    if (dim->has_priority && dim->count == 0 && !dim->is_open) {
      return fail(place, "dimension %u is empty and closed but has a priority", i);
    }
    if (!check_merged(place, sharding, dim)) {
      return false;
    }
  }
  return check_axes(place, &mesh, sharding) && check_order(place, &mesh, sharding, &sharding->replicated)
         && check_order(place, &mesh, sharding, &sharding->unreduced);
}

/* ---- shardings of values ---- */

/* One type per sharding of a list: types of results, of operands, or one. */
typedef struct ir_type (*type_of_fn)(const struct ir_module *module, struct ir_op op, uint32_t i);

static struct ir_type result_type(const struct ir_module *module, struct ir_op op, uint32_t i) {
  return ir_value_type(module, ir_op_result(module, op, i));
}

static struct ir_type operand_type(const struct ir_module *module, struct ir_op op, uint32_t i) {
  return ir_value_type(module, ir_op_operand(module, op, i));
}

/* A list of shardings: calls `visit` for each; false after a message. */
typedef bool (*sharding_fn)(const struct place *place, const struct sharding *sharding, struct ir_type type,
                            const void *context);

static bool each_sharding(struct infer *infer, struct ir_op op, const char *body, const char *what, uint32_t count,
                          type_of_fn type_of, sharding_fn visit, const void *context) {
  struct place place = {infer, op, what, 0};
  struct sharding sharding;
  uint32_t found = 0;
  const char *at = body;
  for (; at != NULL && *at == '<'; found++) {
    at = sharding_read(at, &sharding);
    place.index = found;
    if (at != NULL && found < count) {
      struct ir_type type = type_of(infer->module, op, found);
      if (!check_sharding(&place, &sharding, type) || (visit != NULL && !visit(&place, &sharding, type, context))) {
        return false;
      }
    }
    at = at != NULL && *at == ',' ? at + 1 + (at[1] == ' ') : at;
  }
  if (at != NULL && *at == ']' && found != count) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "%u shardings for %u %ss", found, count, what);
    return false;
  }
  return true;
}

bool verify_value_sharding(struct infer *infer, struct ir_op op, struct ir_attr attr) {
  const char *list = body_of(infer->module, attr, "#sdy.sharding_per_value<[");
  const char *one = body_of(infer->module, attr, "#sdy.sharding<");
  uint32_t results = ir_op_get(infer->module, op)->result_count;
  if (list != NULL && results > 0) {
    return each_sharding(infer, op, list, "result", results, result_type, NULL, NULL);
  }
  struct sharding sharding;
  struct place place = {infer, op, "result", 0};
  bool is_one = one != NULL && results == 1 && sharding_read(one - 1, &sharding) != NULL;
  return !is_one || check_sharding(&place, &sharding, result_type(infer->module, op, 0));
}

bool verify_sharded(struct infer *infer, struct ir_op op) {
  static const char *const names[] = {"sharding", "out_sharding"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!verify_value_sharding(infer, op, ir_op_attr(infer->module, op, names[i]))) {
      return false;
    }
  }
  return true;
}

/* One dictionary of attributes per argument or result of a function. */
static bool check_dictionaries(struct infer *infer, struct ir_op op, const char *name, const char *what, uint32_t first,
                               uint32_t count) {
  struct ir_module *module = infer->module;
  struct ir_attr list = ir_op_attr(module, op, name);
  const struct ir_attr_data *data = ir_attr_get(module, list);
  const struct ir_type_data *type = ir_type_get(module, ir_function_type(module, op));
  for (uint32_t i = 0; list.id != 0 && data->kind == IR_ATTR_ARRAY && i < data->list_count && i < count; i++) {
    struct ir_attr attr =
        ir_attr_field(module, (struct ir_attr){module->lists.data[data->list_first + i]}, "sdy.sharding");
    const char *body = body_of(module, attr, "#sdy.sharding<");
    struct sharding sharding;
    struct place place = {infer, op, what, i};
    if (body != NULL && sharding_read(body - 1, &sharding) != NULL
        && !check_sharding(&place, &sharding, (struct ir_type){module->lists.data[type->first + first + i]})) {
      return false;
    }
  }
  return true;
}

bool verify_function_shardings(struct infer *infer, struct ir_op function) {
  const struct ir_type_data *type = ir_type_get(infer->module, ir_function_type(infer->module, function));
  return check_dictionaries(infer, function, "arg_attrs", "argument", 0, type->input_count)
         && check_dictionaries(infer, function, "res_attrs", "result", type->input_count,
                               type->count - type->input_count);
}

/* ---- computations ---- */

static bool fail_region(struct infer *infer, struct ir_op op, const char *what, uint32_t have, uint32_t want) {
  infer_error(infer, op, DIAG_E0211_REGION, "the region has %u %s, expected %u", have, what, want);
  return false;
}

/* Arguments of the region for operands, returned values for results. */
static bool check_region(struct infer *infer, struct ir_op op, struct ir_block *block, struct ir_op *last) {
  struct ir_module *module = infer->module;
  *block = ir_region_entry(module, ir_op_region(module, op, 0));
  *last = region_terminator(module, op, 0);
  if (last->id == 0 || !ir_opcode_has(ir_op_code(module, *last), IR_TRAIT_TERMINATOR)) {
    infer_error(infer, op, DIAG_E0211_REGION, "the region does not end with a return");
    return false;
  }
  uint32_t arguments = ir_block_get(module, *block)->argument_count, operands = ir_op_get(module, op)->operand_count;
  uint32_t returned = ir_op_get(module, *last)->operand_count, results = ir_op_get(module, op)->result_count;
  return (arguments == operands || fail_region(infer, op, "arguments", arguments, operands))
         && (returned == results || fail_region(infer, op, "returned values", returned, results));
}

bool verify_passed_region(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_block block;
  struct ir_op last;
  if (!check_region(infer, op, &block, &last)) {
    return false;
  }
  for (uint32_t i = 0; i < ir_op_get(module, op)->operand_count; i++) {
    if (!types_agree(module, operand_type(module, op, i), ir_value_type(module, ir_block_argument(module, block, i)))) {
      infer_error(infer, op, DIAG_E0211_REGION, "argument %u of the region has another type than operand %u", i, i);
      return false;
    }
  }
  for (uint32_t i = 0; i < ir_op_get(module, op)->result_count; i++) {
    if (!types_agree(module, result_type(module, op, i), operand_type(module, last, i))) {
      infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "result %u has another type than the region returns", i);
      return false;
    }
  }
  return true;
}

struct manual {
  struct sharding_axis axes[SHARDING_MAX_AXES]; /* manual ones */
  uint32_t count;
  struct ir_block block;
  struct ir_op last;
  bool is_result;
};

static bool is_manual(const struct manual *manual, const struct sharding_axis *axis) {
  for (uint32_t i = 0; i < manual->count; i++) {
    if (sharding_name_is(manual->axes[i].name, axis->name)) {
      return true;
    }
  }
  return false;
}

/* Size that the manual axes divide a dimension by; false when a free axis stands before a manual one. */
static bool manual_size(const struct sharding_mesh *mesh, const struct sharding *sharding,
                        const struct sharding_list *dim, const struct manual *manual, int64_t *out) {
  bool has_free = false;
  *out = 1;
  for (uint32_t i = 0; i < dim->count; i++) {
    const struct sharding_axis *axis = &sharding->axes[dim->first + i];
    bool is_here = is_manual(manual, axis);
    if (is_here && has_free) {
      return false;
    }
    has_free |= !is_here;
    int64_t index = axis_index(mesh, axis->name);
    int64_t size = axis->is_part || index < 0 ? axis->size : mesh->sizes[index];
    bool is_counted = is_here && size >= 1; /* an axis without devices has its message already */
    if (is_counted && __builtin_mul_overflow(*out, size, out)) {
      *out = INT64_MAX;
    }
  }
  return true;
}

/* The value inside is the part of the value outside that one device of the manual axes has. */
static bool check_local(const struct place *place, const struct sharding *sharding, struct ir_type type,
                        const void *context) {
  const struct manual *manual = context;
  struct ir_module *module = place->infer->module;
  struct ir_value value = manual->is_result ? ir_op_operand(module, manual->last, place->index)
                                            : ir_block_argument(module, manual->block, place->index);
  struct sharding_mesh mesh;
  struct shape outside, inside;
  bool is_known;
  if (!mesh_of(place, sharding, &mesh, &is_known)) {
    return false;
  }
  if (!is_known || !shape_from_type(module, type, &outside) || !shape_of(module, value, &inside)) {
    return true;
  }
  for (uint32_t i = 0; i < outside.rank && i < sharding->dim_count; i++) {
    int64_t parts;
    if (!manual_size(&mesh, sharding, &sharding->dims[i], manual, &parts)) {
      return fail(place, "a free axis stands before a manual one in dimension %u", i);
    }
    if (dim_is_static(outside.dims[i]) && outside.dims[i] % parts != 0) {
      return fail(place, "dimension %u of size %lld does not divide by the manual axes of size %lld", i,
                  (long long)outside.dims[i], (long long)parts);
    }
    outside.dims[i] = dim_is_static(outside.dims[i]) ? outside.dims[i] / parts : outside.dims[i];
  }
  if (outside.element.id != inside.element.id || !shapes_agree(&outside, &inside)) {
    return fail(place, "the local type in the region does not fit it");
  }
  return true;
}

bool verify_manual_computation(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct manual manual = {.count = 0};
  struct sharding_list list;
  const char *axes = body_of(module, ir_op_attr(module, op, "manual_axes"), "#sdy<manual_axes");
  const char *in = body_of(module, ir_op_attr(module, op, "in_shardings"), "#sdy.sharding_per_value<[");
  const char *out = body_of(module, ir_op_attr(module, op, "out_shardings"), "#sdy.sharding_per_value<[");
  if (!check_region(infer, op, &manual.block, &manual.last)) {
    return false;
  }
  if (axes == NULL || in == NULL || out == NULL
      || sharding_read_names(axes, &list, manual.axes, &manual.count) == NULL) {
    return true;
  }
  if (!each_sharding(infer, op, in, "operand", ir_op_get(module, op)->operand_count, operand_type, check_local,
                     &manual)) {
    return false;
  }
  manual.is_result = true;
  return each_sharding(infer, op, out, "result", ir_op_get(module, op)->result_count, result_type, check_local,
                       &manual);
}
