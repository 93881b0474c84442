/* Communication with other devices and with the host. The description of a collective (kind, groups, bytes) is what cluster
 * models price; its border is the traffic with the device's own memory. Who takes part is read by lower_groups.c.
 *
 * A collective inside an async_start is a task that starts the exchange (WORK_COLLECTIVE_ASYNC); the async_done becomes a
 * free COLLECTIVE_DONE task at its place in the program, whose results are the same storage: whoever reads them waits there. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_groups.h"

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
    if (collective != NULL && lower->is_starting && !map_set(&lower->scope->started, lower->scratch.data[i], 1)) {
      lower_memory(lower);
    }
  }
  lower->scratch.count = base;
  struct work_task task = {.kind = (uint8_t)kind};
  if (collective != NULL && !lower_stopped(lower)) {
    struct work_collective described = *collective;
    described.input_bytes = bytes[0];
    described.output_bytes = bytes[1];
    described.bytes_per_rank = bytes[0] > bytes[1] ? bytes[0] : bytes[1];
    described.flags |= lower->is_starting ? WORK_COLLECTIVE_ASYNC : 0;
    if (!vec_push(&lower->graph->collectives, described)) {
      lower_memory(lower);
      return;
    }
    task.collective = (uint32_t)lower->graph->collectives.count;
  }
  lower_end_as(lower, &task);
}

/* What the body does when it is one operation; operations without a body add up. */
static enum work_reduction reduction_of(const struct lower *lower, struct ir_op op) {
  static const struct {
    uint16_t opcode; /* enum ir_opcode */
    uint8_t reduction; /* enum work_reduction */
  } rows[] = {{IR_OP_ADD, WORK_REDUCTION_ADD},         {IR_OP_MULTIPLY, WORK_REDUCTION_MULTIPLY},
              {IR_OP_MAXIMUM, WORK_REDUCTION_MAXIMUM}, {IR_OP_MINIMUM, WORK_REDUCTION_MINIMUM},
              {IR_OP_AND, WORK_REDUCTION_AND},         {IR_OP_OR, WORK_REDUCTION_OR}};
  const struct ir_module *module = lower->module;
  if (ir_op_get(module, op)->region_count == 0) {
    return WORK_REDUCTION_ADD;
  }
  struct ir_block body = ir_region_entry(module, ir_op_region(module, op, 0));
  struct ir_op first = ir_block_first(module, body), last = ir_block_terminator(module, body);
  bool is_single = first.id != 0 && ir_op_next(module, first).id == last.id;
  for (size_t i = 0; i < sizeof rows / sizeof *rows && is_single; i++) {
    if (ir_op_code(module, first) == (enum ir_opcode)rows[i].opcode) {
      return (enum work_reduction)rows[i].reduction;
    }
  }
  return WORK_REDUCTION_OTHER;
}

static void collective(struct lower *lower, struct ir_op op, enum work_collective_kind kind) {
  struct work_collective description = {.kind = (uint8_t)kind};
  if (kind == WORK_ALL_REDUCE || kind == WORK_REDUCE_SCATTER || kind == WORK_COLLECTIVE_REDUCE) {
    description.reduction = (uint8_t)reduction_of(lower, op);
  }
  lower_groups_of(lower, op, &description);
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

void lower_collective_permute(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_PERMUTE);
}

/* From one device to another, or (is_host_transfer = true) with the host. */
void lower_send_recv(struct lower *lower, struct ir_op op) {
  struct ir_attr host = ir_op_attr(lower->module, op, "is_host_transfer");
  if (host.id != 0 && ir_attr_get(lower->module, host)->integer != 0) {
    exchange(lower, op, WORK_HOST, NULL);
    return;
  }
  bool is_send = ir_op_code(lower->module, op) == IR_OP_SEND;
  struct work_collective description = {.kind = WORK_SEND_RECV, .flags = is_send ? WORK_COLLECTIVE_SENDS : 0};
  lower_groups_of(lower, op, &description);
  exchange(lower, op, WORK_COLLECTIVE, &description);
}

void lower_ragged_all_to_all(struct lower *lower, struct ir_op op) {
  collective(lower, op, WORK_ALL_TO_ALL);
}

void lower_host(struct lower *lower, struct ir_op op) {
  exchange(lower, op, WORK_HOST, NULL);
}

/* ---- started and awaited ---- */

void lower_async_start(struct lower *lower, struct ir_op op) {
  const bool was_starting = lower->is_starting;
  lower->is_starting = true;
  lower_region_inline(lower, op);
  lower->is_starting = was_starting;
}

/* Anything but a collective is done where it started. */
void lower_async_done(struct lower *lower, struct ir_op op) {
  size_t base = lower->scratch.count;
  bool is_collective = false;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  for (size_t i = base; i < lower->scratch.count; i++) {
    uint32_t seen;
    is_collective |=
        lower->scratch.data[i] != LOWER_NONE && map_get(&lower->scope->started, lower->scratch.data[i], &seen);
  }
  lower->scratch.count = base;
  if (is_collective && !lower->is_fusing) {
    lower_alias(lower, op, WORK_COLLECTIVE_DONE);
  } else {
    lower_forward(lower, op);
  }
}
