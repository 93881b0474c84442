/* Lower bounds of what a run needs: one walk over the functions that it surely calls. See interp_estimate.h. */
#include "interp/interp_estimate.h"

#include "base/checked.h"

struct walk {
  const struct ir_module *m;
  const struct analyze_symbols *symbols;
  struct analyze_trips trips;
  struct map seen; /* function op → index into functions */
  VEC(struct interp_estimate) functions;
  unsigned max_depth;
  bool is_out_of_memory;
};

static struct interp_estimate estimate_region(struct walk *w, struct ir_op op, uint32_t region, unsigned depth);

static uint64_t element_count(const struct ir_module *m, struct ir_value value) {
  struct ir_type type = ir_value_type(m, value);
  uint64_t count = 1;
  if (!ir_type_is_static(m, type)) {
    return 0;
  }
  for (uint32_t i = 0; i < ir_type_get(m, type)->rank; i++) {
    int64_t dim = ir_type_dims(m, type)[i];
    if (dim <= 0) {
      return 0;
    }
    count = sat_mul_u64(count, (uint64_t)dim);
  }
  return count;
}

/* Size of a value as the interpreter holds it. */
static uint64_t value_bytes(const struct ir_module *m, struct ir_value value) {
  return sat_mul_u64(element_count(m, value),
                     ir_dense_element_size((enum dtype)ir_type_get(m, ir_value_type(m, value))->dtype));
}

/* Elementary operations of one operation without what its regions and callees do: those that interp_spend counts. */
static uint64_t own_operations(const struct ir_module *m, struct ir_op op) {
  struct analyze_xla_cost cost;
  const struct ir_op_data *data = ir_op_get(m, op);
  enum ir_opcode opcode = ir_op_code(m, op);
  switch (opcode) {
  case IR_OP_DOT:
  case IR_OP_DOT_GENERAL:
  case IR_OP_CONVOLUTION: /* products; XLA counts two per product, and none for padding */
    return analyze_xla_op(m, op, NULL, &cost) == STATUS_OK && cost.flops > 0 ? (uint64_t)cost.flops / 2 : 0;
  case IR_OP_REDUCE: {
    uint64_t in = data->operand_count ? element_count(m, ir_op_operand(m, op, 0)) : 0;
    uint64_t out = data->result_count ? element_count(m, ir_op_result(m, op, 0)) : 0;
    return in > out ? in - out : 0;
  }
  default:
    return ir_opcode_has(opcode, IR_TRAIT_ELEMENTWISE) && data->result_count > 0
               ? element_count(m, ir_op_result(m, op, 0))
               : 0;
  }
}

/* Adds `count` executions of `part`. */
static void add(struct interp_estimate *sum, const struct interp_estimate *part, uint64_t count) {
  if (count == 0) {
    return;
  }
  uint64_t most = sat_mul_u64(part->costliest_operations, count);
  sum->operations = sat_add_u64(sum->operations, sat_mul_u64(part->operations, count));
  if (most > sum->costliest_operations) {
    sum->costliest_operations = most;
    sum->costliest = part->costliest;
  }
  if (part->largest_bytes > sum->largest_bytes) {
    sum->largest_bytes = part->largest_bytes;
    sum->largest = part->largest;
  }
}

static struct interp_estimate estimate_function(struct walk *w, struct ir_op function, unsigned depth) {
  struct interp_estimate nothing = {0};
  uint32_t index;
  if (map_get(&w->seen, function.id, &index)) {
    return w->functions.data[index];
  }
  /* nothing until it is known: a function that calls itself is refused by the run */
  index = (uint32_t)w->functions.count;
  if (!vec_push(&w->functions, nothing) || !map_set(&w->seen, function.id, index)) {
    w->is_out_of_memory = true;
    return nothing;
  }
  struct interp_estimate e = estimate_region(w, function, 0, depth);
  w->functions.data[index] = e;
  return e;
}

/* A loop that goes round several times is the place that a message names, and not the operations in it. */
static struct interp_estimate estimate_loop(struct walk *w, struct ir_op op, unsigned depth) {
  struct interp_estimate sum = {0};
  struct interp_estimate condition = estimate_region(w, op, 0, depth), body = estimate_region(w, op, 1, depth);
  struct analyze_trip_count trips = analyze_trips_count(&w->trips, op);
  uint64_t count = trips.is_known ? trips.count : 0, tests = sat_add_u64(count, 1);
  add(&sum, &condition, tests);
  add(&sum, &body, count);
  sum.operations = sat_add_u64(sum.operations, tests); /* the run spends one on each test of the condition */
  if (count > 1 || sum.costliest_operations == 0) {
    sum.costliest = op;
    sum.costliest_operations = sum.operations;
  }
  return sum;
}

/* Of the branches the least of each. */
static struct interp_estimate estimate_branches(struct walk *w, struct ir_op op, unsigned depth) {
  struct interp_estimate least = {0};
  for (uint32_t r = 0; r < ir_op_get(w->m, op)->region_count; r++) {
    struct interp_estimate branch = estimate_region(w, op, r, depth);
    if (r == 0 || branch.operations < least.operations) {
      least.operations = branch.operations;
      least.costliest = branch.costliest;
      least.costliest_operations = branch.costliest_operations;
    }
    if (r == 0 || branch.largest_bytes < least.largest_bytes) {
      least.largest_bytes = branch.largest_bytes;
      least.largest = branch.largest;
    }
  }
  return least;
}

static struct interp_estimate estimate_op(struct walk *w, struct ir_op op, unsigned depth) {
  struct interp_estimate e = {.operations = own_operations(w->m, op), .costliest = op};
  e.costliest_operations = e.operations;
  for (uint32_t i = 0; i < ir_op_get(w->m, op)->result_count; i++) {
    uint64_t bytes = value_bytes(w->m, ir_op_result(w->m, op, i));
    if (bytes > e.largest_bytes) {
      e.largest_bytes = bytes;
      e.largest = op;
    }
  }
  struct interp_estimate inside = {0};
  struct ir_op callee = analyze_symbols_callee(w->symbols, w->m, op);
  switch (ir_op_code(w->m, op)) {
  case IR_OP_WHILE:
    inside = estimate_loop(w, op, depth);
    break;
  case IR_OP_CASE:
  case IR_OP_IF:
    inside = estimate_branches(w, op, depth);
    break;
  case IR_OP_FUNC_CALL:
  case IR_OP_COMPOSITE:
    if (callee.id) {
      inside = estimate_function(w, callee, depth);
    }
    break;
  default:
    break;
  }
  add(&e, &inside, 1);
  return e;
}

static struct interp_estimate estimate_region(struct walk *w, struct ir_op op, uint32_t region, unsigned depth) {
  struct interp_estimate sum = {0};
  if (depth >= w->max_depth || region >= ir_op_get(w->m, op)->region_count) {
    return sum;
  }
  struct ir_block block = ir_region_entry(w->m, ir_op_region(w->m, op, region));
  if (!block.id) {
    return sum;
  }
  for (struct ir_op inner = ir_block_first(w->m, block); inner.id; inner = ir_op_next(w->m, inner)) {
    struct interp_estimate e = estimate_op(w, inner, depth + 1);
    add(&sum, &e, 1);
  }
  return sum;
}

bool interp_estimate(const struct ir_module *m, const struct analyze_symbols *symbols, struct ir_op function,
                     unsigned max_depth, struct interp_estimate *estimate) {
  struct walk w = {.m = m, .symbols = symbols, .max_depth = max_depth};
  if (!analyze_trips_init(&w.trips, m, symbols)) {
    return false;
  }
  *estimate = estimate_function(&w, function, 0);
  analyze_trips_release(&w.trips);
  map_release(&w.seen);
  vec_release(&w.functions);
  return !w.is_out_of_memory;
}
