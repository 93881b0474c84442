/* Axes of a mesh as rows of device ids: see lower_groups.h. Meshes come from sdy.mesh operations (their own attribute or
 * #stablehlo.mesh), from XLA's exported text of them, and stand inline in attributes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "lower/lower_groups.h"

/* A part of an axis: an axis of size n is pre x size x the rest, in this order. */
struct part {
  int64_t extent; /* `size` */
  int64_t step; /* between places whose coordinates along it differ by one */
};
struct parts {
  uint32_t count;
  struct part list[SHARDING_MAX_AXES];
  int64_t extent; /* product */
};

static const char *text_of(const struct lower *lower, struct ir_attr attr) {
  return attr.id != 0 ? ir_text(lower->module, ir_attr_get(lower->module, attr)->text) : "";
}

static struct sharding_name name_of(const struct lower *lower, struct ir_attr attr) {
  const char *text = text_of(lower, attr);
  return (struct sharding_name){text, (uint32_t)strlen(text)};
}

/* ---- meshes ---- */

static bool count_places(struct lower_mesh *mesh) {
  uint64_t places = 1;
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    places = mesh->sizes[i] > 0 ? sat_mul_u64(places, (uint64_t)mesh->sizes[i]) : 0;
  }
  mesh->place_count = places <= LOWER_MAX_DEVICES ? (uint32_t)places : 0;
  return mesh->place_count > 0;
}

/* Ids parted by commas up to something else. */
static bool read_ids(struct lower *lower, const char *at, struct lower_mesh *mesh) {
  while (mesh->ids.count < mesh->place_count) {
    char *end;
    int64_t id = strtoll(at, &end, 10);
    if (end == at) {
      return false;
    }
    if (!vec_push(&mesh->ids, id)) {
      lower_memory(lower);
      return false;
    }
    at = end + strspn(end, ", ");
  }
  return true;
}

/* <["x"=2, "y"=4], device_ids=[...]> */
static bool mesh_of_text(struct lower *lower, const char *text, struct lower_mesh *mesh) {
  struct sharding_mesh read;
  const char *open = strchr(text, '<');
  if (open == NULL || sharding_read_mesh(open, &read) == NULL) {
    return false;
  }
  mesh->axis_count = read.count;
  memcpy(mesh->sizes, read.sizes, sizeof mesh->sizes);
  memcpy(mesh->names, read.names, sizeof mesh->names);
  const char *ids = read.has_ids ? strstr(open, "device_ids=[") : NULL;
  return count_places(mesh) && (ids == NULL || read_ids(lower, ids + strlen("device_ids=["), mesh));
}

/* #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, ...], device_ids = dense<...>> */
static bool mesh_of_struct(struct lower *lower, struct ir_attr attr, struct lower_mesh *mesh) {
  const struct ir_module *module = lower->module;
  struct ir_attr axes = ir_attr_field(module, attr, "axes"), ids = ir_attr_field(module, attr, "device_ids");
  const struct ir_attr_data *list = axes.id != 0 ? ir_attr_get(module, axes) : NULL;
  if (list == NULL || list->kind != IR_ATTR_ARRAY || list->list_count > SHARDING_MAX_AXES) {
    return false;
  }
  mesh->axis_count = list->list_count;
  for (uint32_t i = 0; i < list->list_count; i++) {
    struct ir_attr axis = {module->lists.data[list->list_first + i]};
    struct ir_attr size = ir_attr_field(module, axis, "size");
    mesh->names[i] = name_of(lower, ir_attr_field(module, axis, "name"));
    mesh->sizes[i] = size.id != 0 ? ir_attr_get(module, size)->integer : 0;
  }
  if (!count_places(mesh) || (ids.id != 0 && ir_attr_length(module, ids) != mesh->place_count)) {
    return false;
  }
  for (uint32_t i = 0; ids.id != 0 && i < mesh->place_count; i++) {
    if (!vec_push(&mesh->ids, ir_attr_int_at(module, ids, i))) {
      lower_memory(lower);
      return false;
    }
  }
  return true;
}

/* XLA's export keeps meshes as a text of the module: {mesh = #sdy.mesh<[...]>, ...}. */
static const char *exported_mesh(const struct lower *lower, struct sharding_name name) {
  struct ir_attr attributes = ir_op_attr(lower->module, lower->module->root, "mhlo.frontend_attributes");
  struct ir_attr meshes =
      attributes.id != 0 ? ir_attr_field(lower->module, attributes, "xla.sdy.meshes") : (struct ir_attr){0};
  const char *text = text_of(lower, meshes);
  for (const char *at = strstr(text, " = #sdy.mesh"); at != NULL; at = strstr(at + 1, " = #sdy.mesh")) {
    bool is_long = (size_t)(at - text) >= name.length;
    const char *start = is_long ? at - name.length : at;
    bool is_whole = start == text || (!isalnum((unsigned char)start[-1]) && start[-1] != '_');
    if (is_long && is_whole && memcmp(start, name.text, name.length) == 0) {
      return at;
    }
  }
  return NULL;
}

static bool mesh_of_op(struct lower *lower, struct ir_op op, struct lower_mesh *mesh) {
  const struct ir_module *module = lower->module;
  struct ir_attr text = ir_op_attr(module, op, "mesh"), other = ir_op_attr(module, op, "stablehlo.mesh");
  return text.id != 0 ? mesh_of_text(lower, text_of(lower, text), mesh)
                      : other.id != 0 && mesh_of_struct(lower, other, mesh);
}

uint32_t lower_mesh_only_size(struct lower *lower) {
  const struct ir_module *module = lower->module;
  struct ir_block body = ir_region_entry(module, ir_op_region(module, module->root, 0));
  uint32_t size = 0;
  for (struct ir_op op = ir_block_first(module, body); op.id != 0; op = ir_op_next(module, op)) {
    struct lower_mesh mesh = {0};
    bool is_mesh = ir_op_code(module, op) == IR_OP_SDY_MESH && mesh_of_op(lower, op, &mesh) && mesh.place_count > 1;
    vec_release(&mesh.ids);
    if (is_mesh && size != 0) {
      return 0;
    }
    size = is_mesh ? mesh.place_count : size;
  }
  return size;
}

static bool mesh_of_symbol(struct lower *lower, struct sharding_name name, struct lower_mesh *mesh) {
  const struct ir_module *module = lower->module;
  struct ir_block body = ir_region_entry(module, ir_op_region(module, module->root, 0));
  for (struct ir_op op = ir_block_first(module, body); op.id != 0; op = ir_op_next(module, op)) {
    const char *symbol = ir_op_code(module, op) == IR_OP_SDY_MESH ? ir_symbol_name(module, op) : "";
    if (name.length > 0 && strlen(symbol) == name.length && memcmp(symbol, name.text, name.length) == 0) {
      return mesh_of_op(lower, op, mesh);
    }
  }
  const char *text = name.length > 0 ? exported_mesh(lower, name) : NULL;
  return text != NULL && mesh_of_text(lower, text, mesh);
}

/* ---- axes ---- */

/* `size` 0: the whole axis. */
static bool add_part(const struct lower_mesh *mesh, struct sharding_name name, int64_t pre, int64_t size,
                     struct parts *parts) {
  uint32_t axis = 0;
  while (axis < mesh->axis_count && !sharding_name_is(mesh->names[axis], name)) {
    axis++;
  }
  if (axis == mesh->axis_count || parts->count == SHARDING_MAX_AXES) {
    return false;
  }
  int64_t whole = mesh->sizes[axis];
  pre = size == 0 ? 1 : pre;
  size = size == 0 ? whole : size;
  if (pre <= 0 || size <= 0 || pre > whole || size > whole || whole % (pre * size) != 0) {
    return false;
  }
  int64_t step = whole / (pre * size);
  for (uint32_t i = axis + 1; i < mesh->axis_count; i++) {
    step *= mesh->sizes[i];
  }
  if (parts->extent > LOWER_MAX_DEVICES / size) {
    return false; /* axes named more than once */
  }
  parts->extent *= size;
  parts->list[parts->count++] = (struct part){size, step};
  return true;
}

/* "(2)4": the text of sub_axis_info, pre-size and size. */
static bool read_part(const char *text, int64_t *pre, int64_t *size) {
  const char *open = strchr(text, '(');
  char *end;
  if (open == NULL) {
    return false;
  }
  *pre = strtoll(open + 1, &end, 10);
  if (end == open + 1 || *end != ')') {
    return false;
  }
  *size = strtoll(end + 1, NULL, 10);
  return *size > 0;
}

static bool fill_rows(struct lower *lower, const struct lower_mesh *mesh, const struct parts *parts,
                      struct lower_rows *rows) {
  rows->size = (uint64_t)parts->extent;
  rows->count = 0;
  if (!vec_reserve(&rows->ids, mesh->place_count)) {
    lower_memory(lower);
    return false;
  }
  for (int64_t place = 0; place < (int64_t)mesh->place_count; place++) {
    bool is_first = true;
    for (uint32_t i = 0; i < parts->count && is_first; i++) {
      is_first = place / parts->list[i].step % parts->list[i].extent == 0;
    }
    if (!is_first) {
      continue; /* in the row of the place with coordinate 0 */
    }
    if ((rows->count + 1) * rows->size > mesh->place_count) {
      return false; /* axes that overlap */
    }
    for (int64_t member = 0; member < parts->extent; member++) {
      int64_t other = place, left = member;
      for (uint32_t i = parts->count; i-- > 0;) {
        other += left % parts->list[i].extent * parts->list[i].step;
        left /= parts->list[i].extent;
      }
      rows->ids.data[rows->ids.count++] = mesh->ids.count > 0 ? mesh->ids.data[other] : other;
    }
    rows->count++;
  }
  return rows->ids.count == mesh->place_count;
}

static bool rows_of_refs(struct lower *lower, const struct ir_attr_data *refs, const struct lower_mesh *mesh,
                         struct lower_rows *rows) {
  const struct ir_module *module = lower->module;
  struct parts parts = {.extent = 1};
  for (uint32_t i = 0; i < refs->list_count; i++) {
    struct ir_attr ref = {module->lists.data[refs->list_first + i]};
    if (ir_attr_get(module, ref)->kind != IR_ATTR_STRUCT) {
      return false;
    }
    struct ir_attr info = ir_attr_field(module, ref, "sub_axis_info");
    int64_t pre = 1, size = 0;
    if (info.id != 0 && !read_part(text_of(lower, info), &pre, &size)) {
      return false;
    }
    if (!add_part(mesh, name_of(lower, ir_attr_field(module, ref, "name")), pre, size, &parts)) {
      return false;
    }
  }
  return fill_rows(lower, mesh, &parts, rows);
}

bool lower_mesh_rows_of_attr(struct lower *lower, struct ir_attr attr, struct lower_rows *rows) {
  const struct ir_module *module = lower->module;
  struct ir_attr where = ir_attr_field(module, attr, "mesh"), axes = ir_attr_field(module, attr, "axes");
  if (where.id == 0 || axes.id == 0 || ir_attr_get(module, axes)->kind != IR_ATTR_ARRAY) {
    return false;
  }
  struct lower_mesh mesh = {0};
  bool is_symbol = ir_attr_get(module, where)->kind == IR_ATTR_SYMBOL;
  bool ok = is_symbol ? mesh_of_symbol(lower, name_of(lower, where), &mesh) : mesh_of_struct(lower, where, &mesh);
  ok = ok && rows_of_refs(lower, ir_attr_get(module, axes), &mesh, rows);
  vec_release(&mesh.ids);
  return ok;
}

/* The attribute of an sdy collective that names its axes. */
static struct ir_attr sdy_axes(const struct lower *lower, struct ir_op op) {
  static const char *const names[] = {"gathering_axes", "reduction_axes", "reduce_scatter_axes", "params"};
  struct ir_attr axes = {0};
  for (size_t i = 0; i < sizeof names / sizeof *names && axes.id == 0; i++) {
    axes = ir_op_attr(lower->module, op, names[i]);
  }
  return axes;
}

/* Each quoted name of the text, with its part: {"x", "y":(1)2}. */
static bool parts_of_text(const struct lower_mesh *mesh, const char *text, struct parts *parts) {
  for (const char *quote = strchr(text, '"'); quote != NULL; quote = strchr(quote, '"')) {
    const char *close = strchr(quote + 1, '"');
    int64_t pre = 1, size = 0;
    if (close == NULL || (close[1] == ':' && close[2] == '(' && !read_part(close + 2, &pre, &size))
        || !add_part(mesh, (struct sharding_name){quote + 1, (uint32_t)(close - quote - 1)}, pre, size, parts)) {
      return false;
    }
    quote = close + 1;
  }
  return parts->count > 0;
}

bool lower_mesh_rows_of_sdy(struct lower *lower, struct ir_op op, struct lower_rows *rows) {
  struct ir_attr axes = sdy_axes(lower, op), out = ir_op_attr(lower->module, op, "out_sharding");
  const char *text = strchr(text_of(lower, out), '<');
  struct sharding *sharding = axes.id != 0 && text != NULL ? malloc(sizeof *sharding) : NULL;
  struct lower_mesh mesh = {0};
  struct parts parts = {.extent = 1};
  bool ok = sharding != NULL && sharding_read(text, sharding) != NULL && mesh_of_symbol(lower, sharding->mesh, &mesh)
            && parts_of_text(&mesh, text_of(lower, axes), &parts) && fill_rows(lower, &mesh, &parts, rows);
  free(sharding);
  vec_release(&mesh.ids);
  return ok;
}
