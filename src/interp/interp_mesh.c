/* Meshes, their axes and coordinates: see interp_mesh.h. */
#include "interp/interp_mesh.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

/* Counts the places and makes room for their devices: 0, 1, 2, ... until they are set. */
static bool make_ids(const struct interp_call *call, struct interp_mesh *mesh) {
  int64_t count = 1;
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    if (mesh->sizes[i] < 1 || __builtin_mul_overflow(count, mesh->sizes[i], &count) || count > INTERP_MAX_PROCESSES) {
      return interp_unsupported(call, "its mesh has an axis of size %" PRId64 " or more than %d devices",
                                mesh->sizes[i], INTERP_MAX_PROCESSES);
    }
  }
  mesh->ids = calloc((size_t)count + 1, sizeof *mesh->ids);
  mesh->device_count = (uint32_t)count;
  for (uint32_t i = 0; mesh->ids && i < mesh->device_count; i++) {
    mesh->ids[i] = i;
  }
  return mesh->ids ? true : interp_out_of_memory(call);
}

void interp_mesh_release(struct interp_mesh *mesh) {
  free(mesh->ids);
  mesh->ids = NULL;
}

/* Numbers parted by commas, up to something else; false when there are not device_count of them. */
static bool read_ids(const struct interp_call *call, struct interp_mesh *mesh, const char *at) {
  uint32_t count = 0;
  while (count < mesh->device_count) {
    char *end;
    mesh->ids[count] = strtoll(at, &end, 10);
    if (end == at) {
      break;
    }
    count++;
    at = end + strspn(end, ", ");
  }
  return count == mesh->device_count
         || interp_wrong(call, "its mesh of %u devices names %u", mesh->device_count, count);
}

/* ---- meshes of the sdy dialect --------------------------------------------------------------------------------------------- */

/* "<["x"=2, "y"=4], device_ids=[...]>" */
static bool mesh_of_text(const struct interp_call *call, const char *text, struct interp_mesh *mesh) {
  struct sharding_mesh read;
  if (!text || !sharding_read_mesh(text, &read)) {
    return interp_unsupported(call, "a mesh of this form");
  }
  mesh->axis_count = read.count;
  memcpy(mesh->sizes, read.sizes, sizeof mesh->sizes);
  memcpy(mesh->names, read.names, sizeof mesh->names);
  const char *ids = read.has_ids ? strstr(text, "device_ids=[") : NULL;
  return make_ids(call, mesh) && (!ids || read_ids(call, mesh, ids + strlen("device_ids=[")));
}

static const char *after(const char *text, const char *prefix) {
  size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static bool mesh_of_op(const struct interp_call *call, struct ir_op op, struct interp_mesh *mesh) {
  struct ir_attr text = ir_op_attr(call->module, op, "mesh"), other = ir_op_attr(call->module, op, "stablehlo.mesh");
  if (text.id && ir_attr_get(call->module, text)->kind == IR_ATTR_OPAQUE) {
    return mesh_of_text(call, after(ir_text(call->module, ir_attr_get(call->module, text)->text), "#sdy.mesh"), mesh);
  }
  return other.id ? interp_mesh_of_attr(call, other, mesh) : interp_unsupported(call, "a mesh of this form");
}

/* XLA's export keeps meshes as a text of the module: {mesh = #sdy.mesh<[...]>, ...}. */
static const char *exported_mesh(const struct ir_module *m, struct sharding_name name) {
  struct ir_attr attributes = ir_op_attr(m, m->root, "mhlo.frontend_attributes");
  struct ir_attr meshes = attributes.id ? ir_attr_field(m, attributes, "xla.sdy.meshes") : attributes;
  const char *text = meshes.id ? ir_text(m, ir_attr_get(m, meshes)->text) : "";
  for (const char *at = strstr(text, " = #sdy.mesh"); at; at = strstr(at + 1, " = #sdy.mesh")) {
    bool is_long = (size_t)(at - text) >= name.length;
    const char *start = is_long ? at - name.length : at;
    if (is_long && memcmp(start, name.text, name.length) == 0
        && (start == text || (!isalnum((unsigned char)start[-1]) && start[-1] != '_'))) {
      return at + strlen(" = #sdy.mesh");
    }
  }
  return NULL;
}

bool interp_mesh_of_symbol(const struct interp_call *call, struct sharding_name name, struct interp_mesh *mesh) {
  const struct ir_module *m = call->module;
  *mesh = (struct interp_mesh){0};
  struct ir_block body = ir_region_entry(m, ir_op_region(m, m->root, 0));
  for (struct ir_op op = ir_block_first(m, body); op.id; op = ir_op_next(m, op)) {
    const char *symbol = ir_op_code(m, op) == IR_OP_SDY_MESH ? ir_symbol_name(m, op) : "";
    if (strlen(symbol) == name.length && memcmp(symbol, name.text, name.length) == 0 && name.length > 0) {
      return mesh_of_op(call, op, mesh);
    }
  }
  const char *text = exported_mesh(m, name);
  return text ? mesh_of_text(call, text, mesh)
              : interp_wrong(call, "no mesh named '@%.*s'", (int)name.length, name.text);
}

/* ---- meshes of the stablehlo dialect ----------------------------------------------------------------------------------------- */

static struct sharding_name name_of(const struct ir_module *m, struct ir_attr attr) {
  const char *text = attr.id ? ir_text(m, ir_attr_get(m, attr)->text) : "";
  return (struct sharding_name){text, (uint32_t)strlen(text)};
}

/* axes (an array of name and size) and device_ids, a struct or a dictionary. */
bool interp_mesh_of_attr(const struct interp_call *call, struct ir_attr attr, struct interp_mesh *mesh) {
  const struct ir_module *m = call->module;
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  *mesh = (struct interp_mesh){0};
  if (data->kind == IR_ATTR_SYMBOL) {
    return interp_mesh_of_symbol(call, name_of(m, attr), mesh);
  }
  bool has_fields = data->kind == IR_ATTR_STRUCT || data->kind == IR_ATTR_DICT;
  struct ir_attr axes = has_fields ? ir_attr_field(m, attr, "axes") : (struct ir_attr){0};
  const struct ir_attr_data *list = axes.id ? ir_attr_get(m, axes) : NULL;
  if (!list || list->kind != IR_ATTR_ARRAY || list->list_count > SHARDING_MAX_AXES) {
    return interp_unsupported(call, "a mesh of this form");
  }
  for (uint32_t i = 0; i < list->list_count; i++) {
    struct ir_attr axis = {m->lists.data[list->list_first + i]};
    mesh->names[i] = name_of(m, ir_attr_field(m, axis, "name"));
    mesh->sizes[i] = interp_field_int(call, axis, "size", 0);
  }
  mesh->axis_count = list->list_count;
  struct ir_attr ids = ir_attr_field(m, attr, "device_ids");
  bool ok = make_ids(call, mesh);
  if (ok && ids.id && ir_attr_length(m, ids) != mesh->device_count) {
    ok = interp_wrong(call, "its mesh of %u devices names %" PRIu64, mesh->device_count, ir_attr_length(m, ids));
  }
  for (uint32_t i = 0; ok && ids.id && i < mesh->device_count; i++) {
    mesh->ids[i] = ir_attr_int_at(m, ids, i);
  }
  return ok;
}

/* ---- tile assignments of GSPMD ------------------------------------------------------------------------------------------------ */

/* "[a,b,...]" or "(a,b,...)": numbers; behind it, NULL when there is none. */
static const char *read_list(const char *at, int64_t *out, uint32_t *count) {
  char end = *at == '[' ? ']' : *at == '(' ? ')' : '\0';
  *count = 0;
  for (at++; end && *at && *at != end;) {
    char *next;
    if (*count == SHARDING_MAX_DIMS) {
      return NULL;
    }
    out[(*count)++] = strtoll(at, &next, 10);
    if (next == at) {
      return NULL;
    }
    at = next + (*next == ',');
  }
  return end && *at == end ? at + 1 : NULL;
}

/* "<=[4,8]" or "<=[4,8]T(1,0)": 0, 1, ... of that shape with its dimensions in that order. */
static bool read_iota(const struct interp_call *call, struct interp_mesh *mesh, const char *at) {
  int64_t dims[SHARDING_MAX_DIMS], order[SHARDING_MAX_DIMS], strides[SHARDING_MAX_DIMS], index[SHARDING_MAX_DIMS] = {0};
  int64_t turned[SHARDING_MAX_DIMS];
  uint32_t rank, count, total = 1;
  at = read_list(at, dims, &rank);
  for (uint32_t d = 0; d < rank; d++) {
    order[d] = d;
  }
  if (at && *at == 'T') {
    at = read_list(at + 1, order, &count);
    at = count == rank ? at : NULL;
  }
  bool ok = at != NULL && rank > 0;
  for (uint32_t d = 0; ok && d < rank; d++) {
    ok = dims[d] > 0 && dims[d] <= INTERP_MAX_PROCESSES && order[d] >= 0 && order[d] < rank
         && (total *= (uint32_t)dims[d]) <= INTERP_MAX_PROCESSES;
  }
  if (!ok || total != mesh->device_count) {
    return interp_wrong(call, "a tile assignment that does not fit its tiles");
  }
  interp_strides(dims, rank, strides);
  for (uint32_t d = 0; d < rank; d++) {
    turned[d] = dims[order[d]];
  }
  for (uint32_t i = 0; i < total; i++) {
    mesh->ids[i] = 0;
    for (uint32_t d = 0; d < rank; d++) {
      mesh->ids[i] += index[d] * strides[order[d]];
    }
    interp_next_index(turned, rank, index);
  }
  return true;
}

bool interp_mesh_of_tiles(const struct interp_call *call, const char *text, struct interp_mesh *mesh) {
  *mesh = (struct interp_mesh){0};
  const char *at = strncmp(text, "{devices=", 9) == 0 ? text + 9 : NULL;
  if (!at) {
    return true;
  }
  at = read_list(at, mesh->sizes, &mesh->axis_count);
  if (!at || !make_ids(call, mesh)) {
    return at ? false : interp_unsupported(call, "the sharding '%s'", text);
  }
  return strncmp(at, "<=", 2) == 0 ? read_iota(call, mesh, at + 2) : read_ids(call, mesh, at);
}

/* ---- axes ------------------------------------------------------------------------------------------------------------------- */

bool interp_mesh_axis(const struct interp_call *call, const struct interp_mesh *mesh, struct sharding_name name,
                      int64_t pre, int64_t size, struct interp_axis *axis) {
  uint32_t i = 0;
  while (i < mesh->axis_count && !sharding_name_is(mesh->names[i], name)) {
    i++;
  }
  if (i == mesh->axis_count) {
    return interp_wrong(call, "the mesh has no axis '%.*s'", (int)name.length, name.text);
  }
  *axis = size == 0 ? (struct interp_axis){i, 1, mesh->sizes[i]} : (struct interp_axis){i, pre, size};
  bool fits = axis->pre > 0 && axis->size > 0 && axis->pre <= mesh->sizes[i] && axis->size <= mesh->sizes[i]
              && mesh->sizes[i] % (axis->pre * axis->size) == 0;
  return fits
         || interp_wrong(call, "the axis '%.*s' has no part (%" PRId64 ")%" PRId64, (int)name.length, name.text, pre,
                         size);
}

int64_t interp_axes_size(const struct interp_axes *axes) {
  int64_t size = 1;
  for (uint32_t i = 0; i < axes->count; i++) {
    if (__builtin_mul_overflow(size, axes->axes[i].size, &size)) {
      return INT64_MAX; /* axes are named more than once */
    }
  }
  return size;
}

/* Distance of places whose coordinates along that part differ by one. */
static uint32_t axis_step(const struct interp_mesh *mesh, const struct interp_axis *axis) {
  int64_t step = mesh->sizes[axis->axis] / (axis->pre * axis->size);
  for (uint32_t i = axis->axis + 1; i < mesh->axis_count; i++) {
    step *= mesh->sizes[i];
  }
  return (uint32_t)step;
}

int64_t interp_axes_coordinate(const struct interp_mesh *mesh, const struct interp_axes *axes, uint32_t place) {
  int64_t coordinate = 0;
  for (uint32_t i = 0; i < axes->count; i++) {
    int64_t own = place / axis_step(mesh, &axes->axes[i]) % axes->axes[i].size;
    coordinate = coordinate * axes->axes[i].size + own;
  }
  return coordinate;
}

uint32_t interp_axes_move(const struct interp_mesh *mesh, const struct interp_axes *axes, uint32_t place,
                          int64_t coordinate) {
  for (uint32_t i = axes->count; i-- > 0;) {
    const struct interp_axis *axis = &axes->axes[i];
    uint32_t step = axis_step(mesh, axis);
    uint32_t own = (uint32_t)(place / step % axis->size), other = (uint32_t)(coordinate % axis->size);
    place = place - own * step + other * step;
    coordinate /= axis->size;
  }
  return place;
}

bool interp_mesh_own_place(const struct interp_call *call, const struct interp_mesh *mesh, uint32_t *place) {
  const struct interp_process *self = call->frame->process;
  uint32_t processes = interp_replicas(self) * interp_partitions(self);
  uint32_t own = self->replica * interp_partitions(self) + self->partition;
  if (mesh->device_count != processes) {
    return interp_unsupported(call, "its mesh has %u devices, the run has %u processes (replicas times partitions)",
                              mesh->device_count, processes);
  }
  for (*place = 0; *place < mesh->device_count; ++*place) {
    if (mesh->ids[*place] == own) {
      return true;
    }
  }
  return interp_wrong(call, "its mesh does not have device %u", own);
}
