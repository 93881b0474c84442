/* Where the values of a function live and where they are used for the last time, so that a run keeps only what it still
 * needs. Computed once per function and run. Path: interp_run.c, before the first call of a function. */
#include <stdlib.h>

#include "interp/interp_fast_groups.h"

/* Ranges of the handles of all operations and values below a function. */
struct ranges {
  uint32_t first_value, last_value, first_op, last_op;
};

static void widen(uint32_t *first, uint32_t *last, uint32_t id) {
  *first = id < *first ? id : *first;
  *last = id > *last ? id : *last;
}

/* The next operation in pre-order below `root`, or 0; `depth_first` false skips what is below `op`. */
static struct ir_op next_op(const struct ir_module *m, struct ir_op root, struct ir_op op, bool depth_first) {
  if (depth_first) {
    for (uint32_t r = 0; r < ir_op_get(m, op)->region_count; r++) {
      for (struct ir_block b = ir_region_entry(m, ir_op_region(m, op, r)); b.id; b = ir_block_get(m, b)->next) {
        if (ir_block_first(m, b).id) {
          return ir_block_first(m, b);
        }
      }
    }
  }
  while (op.id != root.id) {
    struct ir_op next = ir_op_next(m, op);
    struct ir_block block = ir_op_get(m, op)->parent;
    for (struct ir_block b = ir_block_get(m, block)->next; !next.id && b.id; b = ir_block_get(m, b)->next) {
      next = ir_block_first(m, b);
    }
    struct ir_region region = ir_block_get(m, block)->parent;
    struct ir_op parent = ir_region_get(m, region)->parent;
    bool is_found = false;
    for (uint32_t r = 0; !next.id && r < ir_op_get(m, parent)->region_count; r++) {
      struct ir_region other = ir_op_region(m, parent, r);
      for (struct ir_block b = ir_region_entry(m, other); is_found && !next.id && b.id; b = ir_block_get(m, b)->next) {
        next = ir_block_first(m, b);
      }
      is_found |= other.id == region.id;
    }
    if (next.id) {
      return next;
    }
    op = parent;
  }
  return (struct ir_op){0};
}

static void widen_by_op(const struct ir_module *m, struct ir_op op, struct ranges *r) {
  const struct ir_op_data *data = ir_op_get(m, op);
  widen(&r->first_op, &r->last_op, op.id);
  for (uint32_t i = 0; i < data->result_count; i++) {
    widen(&r->first_value, &r->last_value, data->result_first + i);
  }
  for (uint32_t i = 0; i < data->region_count; i++) {
    for (struct ir_block b = ir_region_entry(m, ir_op_region(m, op, i)); b.id; b = ir_block_get(m, b)->next) {
      const struct ir_block_data *block = ir_block_get(m, b);
      for (uint32_t a = 0; a < block->argument_count; a++) {
        widen(&r->first_value, &r->last_value, block->argument_first + a);
      }
    }
  }
}

static struct ir_block block_of_value(const struct ir_module *m, struct ir_value value) {
  const struct ir_value_data *data = ir_value_get(m, value);
  return data->op.id ? ir_op_get(m, data->op)->parent : data->block;
}

/* The operation around `op` (or itself) that lies in `block`; 0 when there is none below the function. */
static struct ir_op ancestor_in(const struct ir_module *m, struct ir_op op, struct ir_block block) {
  while (op.id && ir_op_get(m, op)->parent.id != block.id) {
    struct ir_block parent = ir_op_get(m, op)->parent;
    op = parent.id ? ir_region_get(m, ir_block_get(m, parent)->parent)->parent : (struct ir_op){0};
  }
  return op;
}

/* A group reads its leaves when its root is evaluated. */
static void note_leaves(const struct ir_module *m, const struct interp_group *group, uint32_t first_value,
                        uint32_t *last_use) {
  for (uint32_t i = 0; i < group->leaf_count; i++) {
    struct ir_value value = group->leaves[i].value;
    struct ir_op user = value.id ? ancestor_in(m, group->root, block_of_value(m, value)) : (struct ir_op){0};
    if (user.id) {
      last_use[value.id - first_value] = user.id;
    }
  }
}

static void note_uses(const struct ir_module *m, struct ir_op op, const struct interp_plan *plan, uint32_t *last_use) {
  const struct ir_op_data *data = ir_op_get(m, op);
  const struct interp_group *group = plan->groups ? plan->groups[op.id - plan->first_op] : NULL;
  uint32_t first_value = plan->first_value;
  if (group && group->root.id != op.id) {
    return;
  }
  if (group) {
    last_use[data->result_first - first_value] = op.id;
    note_leaves(m, group, first_value, last_use);
    return;
  }
  for (uint32_t i = 0; i < data->result_count; i++) { /* unless something uses it later, it is dead at once */
    last_use[data->result_first + i - first_value] = op.id;
  }
  for (uint32_t i = 0; i < data->operand_count; i++) {
    struct ir_value value = ir_op_operand(m, op, i);
    struct ir_op user = ancestor_in(m, op, block_of_value(m, value));
    if (user.id) {
      last_use[value.id - first_value] = user.id; /* operations come in order: the last one stays */
    }
  }
}

/* Forms the groups of the fast path; false when memory is exhausted. */
static bool make_groups(const struct ir_module *m, struct interp_plan *plan) {
  struct ir_op *ops = malloc(plan->op_count * sizeof *ops);
  uint32_t count = 0;
  for (struct ir_op op = plan->function; ops && op.id; op = next_op(m, plan->function, op, true)) {
    ops[count++] = op;
  }
  bool ok = ops && interp_groups_new(m, plan, ops, count);
  free(ops);
  return ok;
}

struct interp_plan *interp_plan_new(const struct ir_module *m, struct ir_op function, bool is_plain) {
  struct ranges r = {UINT32_MAX, 0, UINT32_MAX, 0};
  for (struct ir_op op = function; op.id; op = next_op(m, function, op, true)) {
    widen_by_op(m, op, &r);
  }
  struct interp_plan *plan = calloc(1, sizeof *plan);
  if (!plan) {
    return NULL;
  }
  bool has_values = r.first_value <= r.last_value;
  plan->function = function;
  plan->first_value = has_values ? r.first_value : 1;
  plan->value_count = has_values ? r.last_value - r.first_value + 1 : 0;
  plan->first_op = r.first_op;
  plan->op_count = r.last_op - r.first_op + 1;
  plan->dead_first = calloc(plan->op_count, sizeof *plan->dead_first);
  plan->dead_next = calloc((size_t)plan->value_count + 1, sizeof *plan->dead_next);
  uint32_t *last_use = calloc((size_t)plan->value_count + 1, sizeof *last_use);
  if (!plan->dead_first || !plan->dead_next || !last_use || (!is_plain && !make_groups(m, plan))) {
    free(last_use);
    interp_plan_free(plan);
    return NULL;
  }
  for (struct ir_op op = function; op.id; op = next_op(m, function, op, true)) {
    note_uses(m, op, plan, last_use);
  }
  for (uint32_t i = 0; i < plan->value_count; i++) {
    if (last_use[i]) {
      uint32_t *first = &plan->dead_first[last_use[i] - plan->first_op];
      plan->dead_next[i] = *first;
      *first = plan->first_value + i;
    }
  }
  free(last_use);
  return plan;
}

void interp_plan_free(struct interp_plan *plan) {
  if (plan) {
    interp_groups_free(plan);
    free(plan->dead_first);
    free(plan->dead_next);
    free(plan);
  }
}
