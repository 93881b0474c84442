/* Operations that touch part of a tensor, addressed by data: gathers, scatters, slices at run-time positions. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

/* The rows that are asked for, at most the whole operand. */
void lower_gather(struct lower *lower, struct ir_op op) {
  size_t base = lower->scratch.count;
  uint32_t operand = lower_operand(lower, op, 0);
  for (uint32_t i = 1; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  uint32_t result = lower_result(lower, op, 0);
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  lower_begin(lower, op, WORK_GATHER);
  lower_axes_of(lower, &out);
  lower_read(lower, operand, NULL, out.elements, WORK_ACCESS_INDEXED);
  for (size_t i = base; i < lower->scratch.count; i++) {
    lower_read(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}

/* True when the body uses one of its first `count` arguments, which are the elements that are there. */
static bool body_uses(const struct lower *lower, struct ir_region region, uint32_t count) {
  const struct ir_module *module = lower->module;
  struct ir_block block = ir_region_entry(module, region);
  if (block.id == 0) {
    return true;
  }
  const uint32_t first = ir_block_get(module, block)->argument_first;
  for (struct ir_op op = ir_block_first(module, block); op.id != 0; op = ir_op_next(module, op)) {
    const struct ir_op_data *data = ir_op_get(module, op);
    for (uint32_t i = 0; i < data->operand_count; i++) {
      uint32_t value = module->lists.data[data->operand_first + i];
      if (value >= first && value - first < count) {
        return true;
      }
    }
  }
  return false;
}

/* Operands: n tensors, the indices, n tensors of updates. The rows that are hit are rewritten in place; where a tensor must
 * stay as it was, lower_storage.c turns the write into a copy of the whole. */
void lower_scatter(struct lower *lower, struct ir_op op) {
  const uint32_t n = lower_in_count(lower, op) / 2;
  if (n == 0 || lower_in_count(lower, op) != 2 * n + 1 || lower_out_count(lower, op) != n
      || ir_op_get(lower->module, op)->region_count == 0) {
    lower_opaque_op(lower, op);
    return;
  }
  struct ir_region body = ir_op_region(lower->module, op, 0);
  bool reads_old = body_uses(lower, body, n);
  struct lower_shape updates = lower_shape_of(lower, lower_in(lower, op, n + 1));
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < 2 * n + 1; i++) {
    if (!vec_push(&lower->scratch, lower_operand(lower, op, i))) {
      lower_memory(lower);
      return;
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!vec_push(&lower->scratch, lower_result(lower, op, i))) {
      lower_memory(lower);
      return;
    }
  }
  lower_begin(lower, op, WORK_SCATTER);
  lower_axes_of(lower, &updates);
  lower_body_work(lower, body);
  for (uint32_t i = 0; i < n; i++) {
    lower_read(lower, lower->scratch.data[base + i], NULL, reads_old ? updates.elements : 0, WORK_ACCESS_INDEXED);
  }
  lower_read(lower, lower->scratch.data[base + n], NULL, UINT64_MAX, 0);
  for (uint32_t i = 0; i < n; i++) {
    lower_read_all(lower, lower->scratch.data[base + n + 1 + i], updates.rank);
  }
  for (uint32_t i = 0; i < n; i++) {
    lower_write(lower, lower->scratch.data[base + 2 * n + 1 + i], NULL, updates.elements, WORK_ACCESS_INDEXED);
  }
  lower_end(lower);
  for (uint32_t i = 0; i < n && !lower_stopped(lower); i++) {
    lower_note_update(lower, lower->scratch.data[base + i], lower->scratch.data[base + 2 * n + 1 + i]);
  }
  lower->scratch.count = base;
}

static void read_positions(struct lower *lower, struct ir_op op, uint32_t first) {
  for (uint32_t i = first; i < lower_in_count(lower, op); i++) {
    lower_read(lower, lower_operand(lower, op, i), NULL, UINT64_MAX, 0);
  }
}

static void update_axes(const struct lower_shape *whole, const struct lower_shape *part, int16_t *axes) {
  for (uint32_t d = 0; d < LOWER_MAX_RANK; d++) {
    bool is_whole = d < whole->rank && whole->rank == part->rank && lower_dim(whole, d) == lower_dim(part, d);
    axes[d] = is_whole ? (int16_t)d : -1;
  }
}

void lower_dynamic_slice(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  int16_t axes[LOWER_MAX_RANK];
  update_axes(&in, &out, axes);
  lower_begin(lower, op, WORK_DYNAMIC_SLICE);
  lower_axes_of(lower, &out);
  lower_read(lower, operand, axes, out.elements, 0);
  read_positions(lower, op, 1);
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}

void lower_dynamic_update_slice(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), update = lower_operand(lower, op, 1);
  uint32_t result = lower_result(lower, op, 0);
  struct lower_shape whole = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape part = lower_shape_of(lower, lower_in(lower, op, 1));
  int16_t axes[LOWER_MAX_RANK];
  update_axes(&whole, &part, axes);
  lower_begin(lower, op, WORK_DYNAMIC_UPDATE_SLICE);
  lower_axes_of(lower, &part);
  lower_read(lower, operand, axes, 0, 0);
  lower_read_all(lower, update, part.rank);
  read_positions(lower, op, 2);
  lower_write(lower, result, axes, part.elements, 0);
  lower_end(lower);
  lower_note_update(lower, operand, result);
}
