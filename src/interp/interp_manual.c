/* From the whole program's view of tensors to that of one device and back. Outside of manual computations every process has the
 * whole tensors, so resharding is the identity; at the entrance of one it takes its part along the manual axes, at the exit the
 * processes put their parts together. A part comes from the process whose coordinates along other axes are one's own.
 *
 * sdy.manual_computation; the custom calls of GSPMD (SPMDFullToShardShape and back) and of XLA's export of shardy
 * (xla.sdy.GlobalToLocalShape and back). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_custom.h"
#include "interp/interp_mesh.h"
#include "interp/interp_view.h"

/* One tensor that crosses the border. */
struct crossing {
  struct interp_mesh mesh;
  struct interp_sharding sharding; /* manual axes only */
  struct interp_axes manual; /* all of them */
  uint32_t place; /* of this process; 0 when nothing is cut */
};

static void crossing_release(struct crossing *c) {
  interp_mesh_release(&c->mesh);
}

static bool is_cut(const struct crossing *c) {
  return interp_axes_size(&c->manual) > 1;
}

/* Dims of a part, and where it begins in the whole. */
static bool part_of(const struct interp_call *call, const struct crossing *c, uint32_t place, const int64_t *dims,
                    uint32_t rank, int64_t *part, struct interp_view *whole) {
  if (rank != c->sharding.rank) {
    return interp_wrong(call, "a sharding of rank %u for a tensor of rank %u", c->sharding.rank, rank);
  }
  whole->base = 0;
  interp_strides(dims, rank, whole->strides);
  for (uint32_t d = 0; d < rank; d++) {
    int64_t parts = interp_axes_size(&c->sharding.dims[d]);
    if (dims[d] % parts != 0) {
      return interp_wrong(call, "%" PRId64 " elements cannot be cut into %" PRId64 " parts", dims[d], parts);
    }
    part[d] = dims[d] / parts;
    whole->base += interp_axes_coordinate(&c->mesh, &c->sharding.dims[d], place) * part[d] * whole->strides[d];
  }
  return true;
}

/* This process's part of a tensor; owned. */
static struct interp_value *take_part(struct interp_call *call, const struct crossing *c, struct interp_value *whole) {
  int64_t dims[INTERP_MAX_RANK];
  struct interp_view from = {0};
  if (whole->kind != INTERP_TENSOR || !is_cut(c)) {
    interp_retain(whole);
    return whole;
  }
  if (!part_of(call, c, c->place, whole->dims, whole->rank, dims, &from)) {
    return NULL;
  }
  struct interp_value *part = interp_scratch(call, (enum dtype)whole->dtype, dims, whole->rank);
  if (part) {
    struct interp_view to = interp_view_of(part);
    part->quant = whole->quant;
    interp_view_copy(part, &to, whole, &from, dims, whole->rank);
  }
  return part;
}

/* The processes that differ from this one along the manual axes only, in the order of those. */
static bool find_group(const struct interp_call *call, const struct crossing *c, struct interp_group *group) {
  group->count = (uint32_t)interp_axes_size(&c->manual);
  group->members = calloc(group->count, sizeof *group->members);
  group->own = (uint32_t)interp_axes_coordinate(&c->mesh, &c->manual, c->place);
  for (uint32_t i = 0; group->members && i < group->count; i++) {
    group->members[i] = (uint32_t)c->mesh.ids[interp_axes_move(&c->mesh, &c->manual, c->place, i)];
  }
  return group->members ? true : interp_out_of_memory(call);
}

/* Puts the parts of a group, in its order, together. */
static struct interp_value *join_parts(struct interp_call *call, const struct crossing *c,
                                       struct interp_value *const *parts, uint32_t count) {
  const struct interp_value *own = parts[0];
  int64_t dims[INTERP_MAX_RANK], part[INTERP_MAX_RANK];
  for (uint32_t d = 0; d < own->rank && d < c->sharding.rank; d++) {
    if (__builtin_mul_overflow(own->dims[d], interp_axes_size(&c->sharding.dims[d]), &dims[d])) {
      interp_wrong(call, "the whole tensor is too large");
      return NULL;
    }
  }
  if (own->rank != c->sharding.rank) {
    interp_wrong(call, "a sharding of rank %u for a tensor of rank %u", c->sharding.rank, own->rank);
    return NULL;
  }
  struct interp_value *whole = interp_scratch(call, (enum dtype)own->dtype, dims, own->rank);
  for (uint32_t i = 0; whole && i < count; i++) {
    struct interp_view to = {0}, from = interp_view_of(parts[i]);
    uint32_t place = interp_axes_move(&c->mesh, &c->manual, c->place, i);
    bool fits = parts[i]->kind == INTERP_TENSOR && parts[i]->dtype == own->dtype && parts[i]->count == own->count
                && part_of(call, c, place, dims, own->rank, part, &to);
    if (!fits) {
      interp_release(whole);
      return NULL;
    }
    whole->quant = own->quant;
    interp_view_copy(whole, &to, parts[i], &from, part, own->rank);
  }
  return whole;
}

/* The whole tensor of which this process has a part; owned. */
static struct interp_value *give_part(struct interp_call *call, const struct crossing *c, struct interp_value *part,
                                      int64_t channel) {
  struct interp_group group = {0};
  struct interp_value *whole = NULL;
  if (part->kind != INTERP_TENSOR || !is_cut(c)) {
    interp_retain(part);
    return part;
  }
  if (!find_group(call, c, &group)) {
    return NULL;
  }
  struct interp_value **parts = calloc(group.count, sizeof *parts);
  bool ok = parts ? interp_meet(call, &group, channel, &part, 1, parts) : interp_out_of_memory(call);
  if (ok) {
    whole = join_parts(call, c, parts, group.count);
  }
  for (uint32_t i = 0; parts && i < group.count; i++) {
    interp_release(parts[i]);
  }
  free(parts);
  free(group.members);
  return whole;
}

/* ---- shardings of the sdy dialect --------------------------------------------------------------------------------------------- */

/* Texts of shardings and manual axes, one after the other. */
struct reader {
  const struct interp_call *call;
  const char *at; /* behind "[" of a list of shardings */
  struct sharding_axis manual[SHARDING_MAX_AXES];
  uint32_t manual_count;
};

static const char *after(const char *text, const char *prefix) {
  size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static bool reader_init(struct reader *r, const struct interp_call *call, const char *shardings, const char *axes) {
  struct sharding_list list;
  *r = (struct reader){.call = call, .at = after(shardings, "#sdy.sharding_per_value<[")};
  axes = after(axes, "#sdy<manual_axes");
  return (r->at && axes && sharding_read_names(axes, &list, r->manual, &r->manual_count))
         || interp_unsupported(call, "shardings of this form");
}

static bool is_manual(const struct reader *r, struct sharding_name name) {
  for (uint32_t i = 0; i < r->manual_count; i++) {
    if (sharding_name_is(r->manual[i].name, name)) {
      return true;
    }
  }
  return false;
}

/* The axes of a dimension that are manual; free ones stand behind them (checked by the verifier). */
static bool read_dim(const struct reader *r, const struct sharding *text, const struct sharding_list *list,
                     const struct interp_mesh *mesh, struct interp_axes *out) {
  for (uint32_t i = 0; i < list->count; i++) {
    const struct sharding_axis *axis = &text->axes[list->first + i];
    if (!is_manual(r, axis->name)) {
      continue;
    }
    if (!interp_mesh_axis(r->call, mesh, axis->name, axis->pre, axis->is_part ? axis->size : 0,
                          &out->axes[out->count++])) {
      return false;
    }
  }
  return true;
}

/* The next sharding of the list. */
static bool next_crossing(struct reader *r, struct crossing *c) {
  struct sharding *text = malloc(sizeof *text);
  *c = (struct crossing){0};
  if (!text) {
    return interp_out_of_memory(r->call);
  }
  r->at = sharding_read(r->at, text);
  bool ok = r->at && text->mesh.length > 0 && text->unreduced.count == 0
                ? interp_mesh_of_symbol(r->call, text->mesh, &c->mesh)
                : interp_unsupported(r->call, "a sharding of this form");
  for (uint32_t i = 0; ok && i < r->manual_count; i++) {
    ok = interp_mesh_axis(r->call, &c->mesh, r->manual[i].name, 1, 0, &c->manual.axes[c->manual.count++]);
  }
  c->sharding.rank = text->dim_count;
  for (uint32_t d = 0; ok && d < text->dim_count; d++) {
    ok = read_dim(r, text, &text->dims[d], &c->mesh, &c->sharding.dims[d]);
  }
  free(text);
  r->at = r->at ? r->at + strspn(r->at, ", ") : NULL;
  if (ok && interp_axes_size(&c->manual) > c->mesh.device_count) {
    ok = interp_wrong(r->call, "its manual axes overlap");
  }
  return ok && (!is_cut(c) || interp_mesh_own_place(r->call, &c->mesh, &c->place));
}

/* parts[i] or wholes[i] = what becomes of values[i]; owned. */
static bool cross(struct interp_call *call, struct reader *r, struct interp_value *const *values, uint32_t count,
                  bool is_in, struct interp_value **out) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < count; i++) {
    struct crossing c;
    ok = next_crossing(r, &c);
    if (ok) {
      int64_t channel = -((int64_t)call->op.id << 8) - (int64_t)(i & 255) - 1; /* below those of programs */
      out[i] = is_in ? take_part(call, &c, values[i]) : give_part(call, &c, values[i], channel);
      ok = out[i] != NULL;
    }
    crossing_release(&c);
  }
  return ok;
}

static void release_values(struct interp_value **values, uint32_t count) {
  for (uint32_t i = 0; values && i < count; i++) {
    interp_release(values[i]);
  }
  free(values);
}

static const char *opaque_text(const struct interp_call *call, const char *name) {
  struct ir_attr attr = ir_op_attr(call->module, call->op, name);
  return attr.id && ir_attr_get(call->module, attr)->kind == IR_ATTR_OPAQUE
             ? ir_text(call->module, ir_attr_get(call->module, attr)->text)
             : "";
}

bool interp_op_manual_computation(struct interp_call *call) {
  struct reader *in = malloc(2 * sizeof *in), *out = in ? in + 1 : NULL;
  uint32_t operands = call->operand_count, results = call->result_count;
  struct interp_value **values = calloc((size_t)operands + 2 * (size_t)results + 1, sizeof *values);
  bool ok = in && values ? true : interp_out_of_memory(call);
  ok = ok && reader_init(in, call, opaque_text(call, "in_shardings"), opaque_text(call, "manual_axes"))
       && reader_init(out, call, opaque_text(call, "out_shardings"), opaque_text(call, "manual_axes"))
       && cross(call, in, call->operands, operands, true, values)
       && interp_region(call->frame, call->op, 0, values, operands, values + operands, results)
       && cross(call, out, values + operands, results, false, values + operands + results);
  for (uint32_t i = 0; ok && i < results; i++) {
    struct interp_value *v = values[operands + results + i];
    ok = v->kind != INTERP_TENSOR || interp_fits_result(call, i, v->dims, v->rank);
    if (ok) {
      interp_result_is(call, i, v);
    }
  }
  release_values(values, operands + 2 * results);
  free(in);
  return ok;
}

/* ---- custom calls --------------------------------------------------------------------------------------------------------------- */

static bool cross_call(struct interp_call *call, const char *shardings, bool is_in) {
  struct ir_attr attributes = ir_op_attr(call->module, call->op, "mhlo.frontend_attributes");
  struct ir_attr list = attributes.id ? ir_attr_field(call->module, attributes, shardings) : attributes;
  struct ir_attr axes = attributes.id ? ir_attr_field(call->module, attributes, "xla.sdy.manual_axes") : attributes;
  struct reader *r = malloc(sizeof *r);
  bool ok = list.id && axes.id && call->result_count == call->operand_count
                ? true
                : interp_unsupported(call, "it does not say how its operands are cut");
  ok = ok && (r ? true : interp_out_of_memory(call));
  ok = ok
       && reader_init(r, call, ir_text(call->module, ir_attr_get(call->module, list)->text),
                      ir_text(call->module, ir_attr_get(call->module, axes)->text))
       && cross(call, r, call->operands, call->operand_count, is_in, call->results);
  for (uint32_t i = 0; ok && i < call->result_count; i++) {
    ok = interp_is_of_result(call, i, call->results[i]);
  }
  free(r);
  return ok;
}

bool interp_target_global_to_local(struct interp_call *call) {
  return cross_call(call, "xla.sdy.in_shardings", true);
}

bool interp_target_local_to_global(struct interp_call *call) {
  return cross_call(call, "xla.sdy.out_shardings", false);
}

/* The sharding of GSPMD as text: the operation's. */
static const char *tiles_of(const struct interp_call *call, struct ir_op op) {
  struct ir_attr attr = op.id ? ir_op_attr(call->module, op, "mhlo.sharding") : (struct ir_attr){0};
  return attr.id ? ir_text(call->module, ir_attr_get(call->module, attr)->text) : "";
}

/* Dimensions of the assignment cut those of the tensor; what it has more is replicated. */
static bool crossing_of_tiles(struct interp_call *call, const char *text, uint32_t rank, struct crossing *c) {
  *c = (struct crossing){0};
  if (!interp_mesh_of_tiles(call, text, &c->mesh)) {
    return false;
  }
  c->sharding.rank = rank;
  for (uint32_t d = 0; d < rank && d < c->mesh.axis_count && d < SHARDING_MAX_DIMS; d++) {
    struct interp_axis axis = {d, 1, c->mesh.sizes[d]};
    c->sharding.dims[d] = (struct interp_axes){1, {axis}};
    c->manual.axes[c->manual.count++] = axis;
  }
  return !is_cut(c) || interp_mesh_own_place(call, &c->mesh, &c->place);
}

static bool cross_tiles(struct interp_call *call, const char *text, bool is_in) {
  struct crossing c;
  struct interp_value *v = call->operands[0];
  if (call->operand_count != 1 || call->result_count != 1 || v->rank > SHARDING_MAX_DIMS) {
    return interp_wrong(call, "it takes one tensor");
  }
  bool ok = crossing_of_tiles(call, text, v->rank, &c);
  if (ok) {
    int64_t channel = -((int64_t)call->op.id << 8) - 1;
    call->results[0] = is_in ? take_part(call, &c, v) : give_part(call, &c, v, channel);
    ok = call->results[0] && interp_is_of_result(call, 0, call->results[0]);
  }
  crossing_release(&c);
  return ok;
}

/* The operand comes from a custom call @Sharding that says how it is cut. */
bool interp_target_full_to_shard(struct interp_call *call) {
  struct ir_op source = ir_value_get(call->module, ir_op_operand(call->module, call->op, 0))->op;
  return cross_tiles(call, tiles_of(call, source), true);
}

bool interp_target_shard_to_full(struct interp_call *call) {
  return cross_tiles(call, tiles_of(call, call->op), false);
}
