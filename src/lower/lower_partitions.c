/* Programs for several devices. Before partitioning a program holds the whole arrays and says by annotations how they are
 * to be spread; then everything that is counted is that of the whole program. A program whose body is written for one
 * device (shard_map, explicit collectives) is counted as it runs there, and its arguments are as large as their shards.
 * Path: lower_module → here, when all tasks are there and before storage is shared. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

/* ---- how many devices ---- */

/* mhlo.num_partitions or mhlo.num_replicas of the innermost module around the entry function that has it; 0 = not stated. */
static uint64_t stated(const struct lower *lower, struct ir_op entry, const char *name) {
  const struct ir_module *module = lower->module;
  for (struct ir_op op = entry; op.id != 0;) {
    int64_t count = lower_int_attr(lower, op, name, 0);
    if (count > 0) {
      return (uint64_t)count;
    }
    struct ir_block block = ir_op_get(module, op)->parent;
    op = block.id != 0 ? ir_region_get(module, ir_block_get(module, block)->parent)->parent : (struct ir_op){0};
  }
  return 0;
}

/* Product of the numbers that follow `before` in each of its places up to `end`; 0 when there is none. */
static uint64_t product_after(const char *text, const char *end, const char *before) {
  uint64_t product = 0;
  for (const char *at = strpbrk(text, before); at != NULL && at < end; at = strpbrk(at + 1, before)) {
    uint64_t number = 0;
    const char *digit = at + 1;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
      number = sat_add_u64(sat_mul_u64(number, 10), (uint64_t)(*digit - '0'));
    }
    if (digit > at + 1) {
      product = sat_mul_u64(product == 0 ? 1 : product, number);
    }
  }
  return product;
}

/* Devices of "{devices=[8,1]<=[8]}"; the last tile dimension may be one of replicas, which are devices too. */
static uint64_t sharding_devices(const struct ir_module *module, struct ir_attr attr) {
  const char *text = attr.id != 0 ? ir_text(module, ir_attr_get(module, attr)->text) : "";
  const char *list = strstr(text, "devices=[");
  const char *end = list != NULL ? strchr(list, ']') : NULL;
  return end != NULL ? product_after(list, end, "[,") : 0;
}

/* Devices of <["x"=4, "y"=2]>. */
static uint64_t mesh_devices(const struct ir_module *module, struct ir_op op) {
  struct ir_attr mesh = ir_op_attr(module, op, "mesh");
  const char *text = mesh.id != 0 ? ir_text(module, ir_attr_get(module, mesh)->text) : "";
  const char *end = strchr(text, ']');
  return end != NULL ? product_after(text, end, "=") : 0;
}

static void raise_to(uint64_t *devices, uint64_t count) {
  *devices = count > *devices ? count : *devices;
}

/* Devices that the annotations of the program name, 0 = none. */
static uint64_t annotated_devices(const struct lower *lower, struct ir_op entry) {
  const struct ir_module *module = lower->module;
  uint64_t devices = 0;
  struct ir_attr arguments = ir_op_attr(module, entry, "arg_attrs");
  const struct ir_attr_data *list = ir_attr_get(module, arguments);
  for (uint32_t i = 0; arguments.id != 0 && list->kind == IR_ATTR_ARRAY && i < list->list_count; i++) {
    struct ir_attr attrs = {module->lists.data[list->list_first + i]};
    raise_to(&devices, sharding_devices(module, ir_attr_field(module, attrs, "mhlo.sharding")));
  }
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_op op = {id};
    enum ir_opcode opcode = ir_op_code(module, op);
    if (opcode == IR_OP_SDY_MESH) {
      raise_to(&devices, mesh_devices(module, op));
    } else if (opcode == IR_OP_CUSTOM_CALL && lower->live[id]) {
      raise_to(&devices, sharding_devices(module, ir_op_attr(module, op, "mhlo.sharding")));
    }
  }
  return devices;
}

/* True when what runs is written for one device. */
static bool is_partitioned(const struct lower *lower) {
  const struct ir_module *module = lower->module;
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_op op = {id};
    enum ir_opcode opcode = ir_op_code(module, op);
    if (!lower->live[id]) {
      continue;
    }
    if (opcode == IR_OP_SDY_MANUAL_COMPUTATION || ir_opcode_has(opcode, IR_TRAIT_COLLECTIVE)) {
      return true;
    }
    struct ir_attr target = {0};
    if (opcode == IR_OP_CUSTOM_CALL) {
      target = ir_op_attr(module, op, "call_target_name");
    }
    if (target.id != 0 && strcmp(ir_text(module, ir_attr_get(module, target)->text), "SPMDFullToShardShape") == 0) {
      return true;
    }
  }
  return false;
}

/* Every replica runs the program as it stands, so one of several is a part; partitions may be yet to come. */
void lower_partitions(struct lower *lower, struct ir_op entry) {
  uint64_t partitions = stated(lower, entry, "mhlo.num_partitions");
  uint64_t replicas = stated(lower, entry, "mhlo.num_replicas");
  partitions = partitions == 0 ? annotated_devices(lower, entry) : partitions;
  uint64_t devices = sat_mul_u64(partitions > 1 ? partitions : 1, replicas > 1 ? replicas : 1);
  if (devices <= 1) {
    return;
  }
  struct work_graph *graph = lower->graph;
  graph->partitions = devices < UINT32_MAX ? (uint32_t)devices : UINT32_MAX;
  /* the functions of a stated step are those of one device, though not all exchange something */
  bool is_step = ir_op_attr(lower->module, lower->module->root, "ridgeline.step").id != 0;
  graph->is_partitioned = partitions <= 1 || is_step || is_partitioned(lower);
  if (graph->is_partitioned && lower->reshards.count == 0) {
    return; /* its text has no sizes but those of one device; the prediction remarks it */
  }
  diag_at(lower->diags, DIAG_W0406_PARTITIONS, &lower->module->source, ir_op_get(lower->module, entry)->offset,
          graph->is_partitioned
              ? "written for %u partitions: times, memory and FLOPs are those of one device of them"
              : "written for %u partitions and not yet partitioned: times, memory and FLOPs are those "
                "of the whole program on one device",
          graph->partitions);
}

/* ---- sizes of what is sharded ---- */

void lower_note_reshard(struct lower *lower, uint32_t global, uint32_t local) {
  const bool is_noted = lower->scope->parent == NULL && !lower->is_fusing && !lower_stopped(lower);
  if (!is_noted || global == LOWER_NONE || local == LOWER_NONE || lower->graph->tasks.count == 0) {
    return;
  }
  struct lower_reshard reshard = {(uint32_t)lower->graph->tasks.count - 1, global, local};
  if (!vec_push(&lower->reshards, reshard)) {
    lower_memory(lower);
  }
}

static void shrink(struct work_graph *graph, uint32_t global, uint32_t local) {
  const struct work_tensor *from = &graph->tensors.data[local];
  struct work_tensor *to = &graph->tensors.data[global];
  to->rank = from->rank;
  to->dims_first = from->dims_first;
  to->element_count = from->element_count;
  to->size_bytes = from->size_bytes;
}

void lower_local_sizes(struct lower *lower) {
  struct work_graph *graph = lower->graph;
  if (lower->reshards.count == 0 || lower_stopped(lower)) {
    return;
  }
  /* accesses of each tensor that are no change between its global and its local form */
  uint32_t *others = calloc(graph->tensors.count, sizeof *others);
  bool *is_small = calloc(graph->tensors.count, sizeof *is_small);
  if (others == NULL || is_small == NULL) {
    free(others);
    free(is_small);
    lower_memory(lower);
    return;
  }
  for (size_t t = 0; t < graph->tasks.count; t++) {
    const struct work_task *task = &graph->tasks.data[t];
    for (uint32_t i = 0; i < task->access_count; i++) {
      others[graph->accesses.data[task->access_first + i].tensor]++;
    }
  }
  for (size_t i = 0; i < lower->reshards.count; i++) {
    others[lower->reshards.data[i].global]--;
  }
  for (size_t i = 0; i < lower->reshards.count; i++) {
    const struct lower_reshard *reshard = &lower->reshards.data[i];
    bool is_larger = graph->tensors.data[reshard->local].size_bytes > graph->tensors.data[reshard->global].size_bytes;
    if (others[reshard->global] == 0 && (!is_small[reshard->global] || is_larger)) {
      is_small[reshard->global] = true;
      shrink(graph, reshard->global, reshard->local);
    }
  }
  for (size_t i = 0; i < lower->reshards.count; i++) {
    const struct work_task *task = &graph->tasks.data[lower->reshards.data[i].task];
    const struct work_stage *stage = &graph->stages.data[task->stage_first];
    for (uint32_t k = 0; k < stage->access_count && task->stage_count == 1; k++) {
      struct work_access *access = &graph->accesses.data[stage->access_first + k];
      access->touched_elements = graph->tensors.data[access->tensor].element_count;
    }
  }
  free(others);
  free(is_small);
}
