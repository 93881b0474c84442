/* Communication with other devices and with the host. The description of a collective (kind, groups, bytes) is what cluster
 * models price; its border is the traffic with the device's own memory. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

struct groups {
  uint32_t count, size; /* size 0: all devices, number unknown */
};

/* Devices of the program as stated by the module, 0 = not stated. */
static uint32_t device_count(const struct lower *lower) {
  static const char *const names[] = {"mhlo.num_replicas", "mhlo.num_partitions"};
  uint64_t devices = 0;
  for (size_t i = 0; i < 2; i++) {
    int64_t n = lower_int_attr(lower, lower->module->root, names[i], 0);
    if (n > 0) {
      devices = sat_mul_u64(devices == 0 ? 1 : devices, (uint64_t)n);
    }
  }
  return devices < UINT32_MAX ? (uint32_t)devices : 0;
}

/* dense<[[0, 1], [2, 3]]>: rows are groups, -1 fills up short ones. */
static struct groups dense_groups(const struct lower *lower, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(lower->module, attr);
  struct lower_shape shape = lower_shape_of_type(lower, data->type);
  uint64_t rows = shape.rank == 2 ? lower_dim(&shape, 0) : 1;
  uint64_t columns = shape.rank == 2 ? lower_dim(&shape, 1) : ir_attr_length(lower->module, attr);
  struct groups groups = {0, 0};
  if (rows == 0 || columns == 0) {
    uint32_t devices = device_count(lower);
    return (struct groups){1, devices};
  }
  /* the first row tells the size of dense groups; ragged ones are looked at in full, within reason */
  for (uint64_t r = 0; r < rows && r < 65536; r++) {
    uint64_t at = r * columns, members = columns;
    while (members > 0 && lower_int_at(lower, attr, at + members - 1, 0) < 0) {
      members--;
    }
    groups.count += members > 0;
    groups.size = members > groups.size ? (uint32_t)members : groups.size;
    if (members == columns) {
      return (struct groups){rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows, (uint32_t)columns};
    }
  }
  return groups;
}

/* Size of an axis of #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, ...]>; 0 = not there. */
static uint64_t mesh_axis_size(const struct lower *lower, struct ir_attr mesh, uint32_t name, uint64_t *all) {
  const struct ir_module *module = lower->module;
  struct ir_attr axes = mesh.id != 0 ? ir_attr_field(module, mesh, "axes") : (struct ir_attr){0};
  uint64_t found = 0;
  *all = 1;
  if (axes.id == 0 || ir_attr_get(module, axes)->kind != IR_ATTR_ARRAY) {
    return 0;
  }
  const struct ir_attr_data *list = ir_attr_get(module, axes);
  for (uint32_t i = 0; i < list->list_count; i++) {
    struct ir_attr axis = {module->lists.data[list->list_first + i]};
    struct ir_attr axis_name = ir_attr_field(module, axis, "name"), size = ir_attr_field(module, axis, "size");
    int64_t n = size.id != 0 ? ir_attr_get(module, size)->integer : 0;
    *all = sat_mul_u64(*all, n > 0 ? (uint64_t)n : 1);
    if (axis_name.id != 0 && ir_attr_get(module, axis_name)->text == name) {
      found = n > 0 ? (uint64_t)n : 0;
    }
  }
  return found;
}

/* Canonical text of an sdy.mesh: <["x"=2, "y"=4]> with or without device_ids; product and one axis by name. */
static uint64_t sdy_axis_size(const char *text, const char *name, uint64_t *all) {
  uint64_t found = 0;
  *all = 1;
  const char *end = strchr(text, ']');
  for (const char *quote = strchr(text, '"'); quote != NULL && (end == NULL || quote < end);
       quote = strchr(quote, '"')) {
    const char *close = strchr(quote + 1, '"');
    if (close == NULL || close[1] != '=') {
      break;
    }
    uint64_t size = 0;
    const char *digit = close + 2;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
      size = sat_add_u64(sat_mul_u64(size, 10), (uint64_t)(*digit - '0'));
    }
    *all = sat_mul_u64(*all, size);
    size_t length = (size_t)(close - quote - 1);
    if (strlen(name) == length && memcmp(name, quote + 1, length) == 0) {
      found = size;
    }
    quote = digit;
  }
  return found;
}

/* The sdy.mesh op of that symbol among the module's top-level ops; 0 = none. */
static struct ir_op mesh_find(const struct lower *lower, uint32_t symbol) {
  const struct ir_module *module = lower->module;
  struct ir_block body = ir_region_entry(module, ir_op_region(module, module->root, 0));
  for (struct ir_op op = ir_block_first(module, body); op.id != 0; op = ir_op_next(module, op)) {
    struct ir_attr name = {0};
    if (ir_op_code(module, op) == IR_OP_SDY_MESH) {
      name = ir_op_attr(module, op, "sym_name");
    }
    if (name.id != 0 && ir_attr_get(module, name)->text == symbol) {
      return op;
    }
  }
  return (struct ir_op){0};
}

static const char *mesh_text(const struct lower *lower, uint32_t symbol) {
  struct ir_op mesh = mesh_find(lower, symbol);
  struct ir_attr attr = mesh.id != 0 ? ir_op_attr(lower->module, mesh, "mesh") : (struct ir_attr){0};
  return attr.id != 0 ? ir_text(lower->module, ir_attr_get(lower->module, attr)->text) : NULL;
}

/* Part of an axis: sub_axis_info = (pre-size)size. */
static uint64_t sub_axis(const struct lower *lower, struct ir_attr ref, uint64_t size) {
  struct ir_attr info = ir_attr_field(lower->module, ref, "sub_axis_info");
  if (info.id == 0) {
    return size;
  }
  const struct ir_attr_data *data = ir_attr_get(lower->module, info);
  const char *text = strchr(ir_text(lower->module, data->text), ')');
  uint64_t part = 0;
  for (const char *digit = text != NULL ? text + 1 : ""; *digit >= '0' && *digit <= '9'; digit++) {
    part = sat_add_u64(sat_mul_u64(part, 10), (uint64_t)(*digit - '0'));
  }
  return part > 0 ? part : size;
}

/* #stablehlo.replica_group_mesh_axes<mesh = @mesh or inline, axes = [#stablehlo.axis_ref<name = "x">, ...]> */
static struct groups mesh_groups(const struct lower *lower, struct ir_attr attr) {
  const struct ir_module *module = lower->module;
  struct ir_attr mesh = ir_attr_field(module, attr, "mesh"), axes = ir_attr_field(module, attr, "axes");
  struct groups unknown = {1, 0};
  if (mesh.id == 0 || axes.id == 0 || ir_attr_get(module, axes)->kind != IR_ATTR_ARRAY) {
    return unknown;
  }
  const bool is_symbol = ir_attr_get(module, mesh)->kind == IR_ATTR_SYMBOL;
  const char *text = is_symbol ? mesh_text(lower, ir_attr_get(module, mesh)->text) : NULL;
  const struct ir_attr_data *list = ir_attr_get(module, axes);
  uint64_t size = 1, all = 1;
  for (uint32_t i = 0; i < list->list_count; i++) {
    struct ir_attr ref = {module->lists.data[list->list_first + i]};
    struct ir_attr name = ir_attr_field(module, ref, "name");
    uint32_t id = name.id != 0 ? ir_attr_get(module, name)->text : 0;
    uint64_t n = text != NULL ? sdy_axis_size(text, ir_text(module, id), &all)
                 : is_symbol  ? 0
                              : mesh_axis_size(lower, mesh, id, &all);
    if (n == 0) {
      return unknown;
    }
    size = sat_mul_u64(size, sub_axis(lower, ref, n));
  }
  if (list->list_count == 0 || size == 0 || size > UINT32_MAX) {
    return unknown;
  }
  uint64_t count = all / size > 0 ? all / size : 1;
  return (struct groups){count > UINT32_MAX ? UINT32_MAX : (uint32_t)count, (uint32_t)size};
}

static struct groups groups_of(const struct lower *lower, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(lower->module, op, "replica_groups");
  if (attr.id == 0) { /* of a custom call that stands for a collective */
    struct ir_attr config = ir_op_attr(lower->module, op, "backend_config");
    attr = config.id != 0 ? ir_attr_field(lower->module, config, "replica_groups") : attr;
  }
  if (attr.id == 0) {
    return (struct groups){1, device_count(lower)};
  }
  switch (ir_attr_get(lower->module, attr)->kind) {
  case IR_ATTR_DENSE:
  case IR_ATTR_DENSE_ARRAY:
    return dense_groups(lower, attr);
  case IR_ATTR_STRUCT:
    return mesh_groups(lower, attr);
  default:
    return (struct groups){1, 0};
  }
}

/* Operands in, results out; bytes of one rank: the larger side. */
static void exchange(struct lower *lower, struct ir_op op, enum work_kind kind,
                     const struct work_collective *collective) {
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  size_t results = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  uint64_t bytes[2] = {0, 0};
  for (size_t i = base; i < lower->scratch.count && !lower_stopped(lower); i++) {
    uint64_t *side = &bytes[i >= results];
    uint32_t tensor = lower->scratch.data[i];
    *side = sat_add_u64(*side, tensor != LOWER_NONE ? lower->graph->tensors.data[tensor].size_bytes : 0);
  }
  lower_begin(lower, op, kind);
  for (size_t i = base; i < results; i++) {
    lower_read(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  for (size_t i = results; i < lower->scratch.count; i++) {
    lower_write(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  struct work_task task = {.kind = (uint8_t)kind};
  if (collective != NULL && !lower_stopped(lower)) {
    struct work_collective described = *collective;
    described.bytes_per_rank = bytes[0] > bytes[1] ? bytes[0] : bytes[1];
    if (!vec_push(&lower->graph->collectives, described)) {
      lower_memory(lower);
      return;
    }
    task.collective = (uint32_t)lower->graph->collectives.count;
  }
  lower_end_as(lower, &task);
}

static void collective(struct lower *lower, struct ir_op op, enum work_collective_kind kind) {
  struct groups groups = groups_of(lower, op);
  struct work_collective description = {.kind = (uint8_t)kind, .group_count = groups.count, .group_size = groups.size};
  exchange(lower, op, WORK_COLLECTIVE, &description);
}

void lower_all_reduce(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_ALL_REDUCE);
}
void lower_all_gather(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_ALL_GATHER);
}
void lower_reduce_scatter(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_REDUCE_SCATTER);
}
void lower_all_to_all(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_ALL_TO_ALL);
}
void lower_collective_broadcast(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_COLLECTIVE_BROADCAST);
}
void lower_collective_reduce(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_COLLECTIVE_REDUCE);
}

/* One group of as many devices as there are pairs of source and target. */
void lower_collective_permute(struct lower *lower, struct ir_op op) {
  struct ir_attr pairs = ir_op_attr(lower->module, op, "source_target_pairs");
  uint64_t count = pairs.id != 0 ? ir_attr_length(lower->module, pairs) / 2 : 0;
  struct work_collective description = {
      .kind = WORK_PERMUTE, .group_count = 1, .group_size = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count};
  exchange(lower, op, WORK_COLLECTIVE, &description);
}

/* From one device to another, or (is_host_transfer = true) with the host. */
void lower_send_recv(struct lower *lower, struct ir_op op) {
  struct ir_attr host = ir_op_attr(lower->module, op, "is_host_transfer");
  if (host.id != 0 && ir_attr_get(lower->module, host)->integer != 0) {
    exchange(lower, op, WORK_HOST, NULL);
    return;
  }
  struct work_collective description = {.kind = WORK_SEND_RECV, .group_count = 1, .group_size = 2};
  exchange(lower, op, WORK_COLLECTIVE, &description);
}

void lower_ragged_all_to_all(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_ALL_TO_ALL);
}

void lower_host(struct lower *lower, struct ir_op op) {
  exchange(lower, op, WORK_HOST, NULL);
}
