/* Trip counts from induction patterns: the condition compares a carried value that moves by a constant step with a
 * constant. The carried value and its step are followed through conversions, tuples and calls (JAX outlines loop bodies
 * into functions). Exact: the last value of the induction variable must fit its type, else the count is unknown. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_int.h"

/* Operations visited per question, and nesting of operands. */
#define LOOP_BUDGET 4096
#define LOOP_MAX_DEPTH 100

typedef __int128 wide; /* values and differences of 64-bit integers */

/* A scalar as a function of the loop's carried values: a constant, or carried value `position` plus `offset`. */
struct affine {
  bool is_carried;
  uint32_t position;
  int64_t element; /* of a tuple that is carried whole; -1 = the value itself */
  wide offset;
};

struct loop_scan {
  const struct ir_module *module;
  struct ir_op loop;
  struct fold fold; /* constants outside of the induction; shares its budget */
};

static bool affine_at(struct loop_scan *scan, struct ir_value value, const struct fold_frame *frame, int64_t element,
                      unsigned depth, struct affine *out);

/* Integer constant reaching a value. The argument constants of the enclosing function are looked up by its call
 * sites. */
static bool constant_at(struct loop_scan *scan, struct ir_value value, const struct fold_frame *frame, int64_t *out) {
  struct fold_const constant;
  if (!fold_value(&scan->fold, value, frame, &constant) || constant.count == 0) {
    return false;
  }
  for (uint32_t i = 1; i < constant.count; i++) {
    if (constant.v[i] != constant.v[0]) {
      return false;
    }
  }
  *out = constant.v[0];
  return true;
}

static bool affine_sum(struct loop_scan *scan, struct ir_op op, const struct fold_frame *frame, unsigned depth,
                       struct affine *out) {
  struct affine b;
  bool is_difference = ir_op_code(scan->module, op) == IR_OP_SUBTRACT;
  if (!affine_at(scan, ir_op_operand(scan->module, op, 0), frame, -1, depth, out)
      || !affine_at(scan, ir_op_operand(scan->module, op, 1), frame, -1, depth, &b)) {
    return false;
  }
  if (b.is_carried && (out->is_carried || is_difference)) {
    return false;
  }
  wide sum = is_difference ? out->offset - b.offset : out->offset + b.offset;
  if (b.is_carried) {
    *out = b;
  }
  out->offset = sum;
  return sum >= INT64_MIN && sum <= UINT64_MAX;
}

static bool affine_call(struct loop_scan *scan, struct ir_op op, uint32_t index, const struct fold_frame *frame,
                        int64_t element, unsigned depth, struct affine *out) {
  const struct ir_module *module = scan->module;
  struct ir_op callee = callee_of(module, scan->fold.symbols, op);
  struct ir_block body = callee.id != 0 ? ir_function_body(module, callee) : (struct ir_block){0};
  struct ir_op last = body.id != 0 ? ir_block_terminator(module, body) : (struct ir_op){0};
  if (last.id == 0 || index >= ir_op_get(module, last)->operand_count) {
    return false;
  }
  struct fold_frame inner = {frame, op};
  return affine_at(scan, ir_op_operand(module, last, index), &inner, element, depth, out);
}

static bool affine_argument(struct loop_scan *scan, struct ir_value value, const struct fold_frame *frame,
                            int64_t element, unsigned depth, struct affine *out) {
  const struct ir_module *module = scan->module;
  struct ir_op owner = argument_owner(module, value);
  uint32_t index = ir_value_get(module, value)->index;
  if (owner.id == scan->loop.id) {
    *out = (struct affine){.is_carried = true, .position = index, .element = element};
    return true;
  }
  bool is_parameter = owner.id != 0 && ir_op_code(module, owner) == IR_OP_FUNC_FUNC && frame != NULL;
  return is_parameter && index < ir_op_get(module, frame->call)->operand_count
         && affine_at(scan, ir_op_operand(module, frame->call, index), frame->parent, element, depth, out);
}

static bool affine_op(struct loop_scan *scan, struct ir_op op, uint32_t index, const struct fold_frame *frame,
                      int64_t element, unsigned depth, struct affine *out) {
  const struct ir_module *module = scan->module;
  switch ((int)ir_op_code(module, op)) {
  case IR_OP_CONVERT:
  case IR_OP_RESHAPE:
  case IR_OP_OPTIMIZATION_BARRIER:
    return affine_at(scan, ir_op_operand(module, op, index), frame, element, depth, out);
  case IR_OP_ADD:
  case IR_OP_SUBTRACT:
    return affine_sum(scan, op, frame, depth, out);
  case IR_OP_FUNC_CALL:
  case IR_OP_COMPOSITE:
    return affine_call(scan, op, index, frame, element, depth, out);
  case IR_OP_GET_TUPLE_ELEMENT:
    return element == -1
           && affine_at(scan, ir_op_operand(module, op, 0), frame, int_of(module, op, "index", 0), depth, out);
  case IR_OP_TUPLE:
    return element >= 0 && element < (int64_t)ir_op_get(module, op)->operand_count
           && affine_at(scan, ir_op_operand(module, op, (uint32_t)element), frame, -1, depth, out);
  default:
    return false;
  }
}

static bool affine_at(struct loop_scan *scan, struct ir_value value, const struct fold_frame *frame, int64_t element,
                      unsigned depth, struct affine *out) {
  int64_t constant;
  if (scan->fold.budget == 0 || depth >= LOOP_MAX_DEPTH) {
    return false;
  }
  scan->fold.budget--;
  const struct ir_value_data *data = ir_value_get(scan->module, value);
  if (data->op.id == 0) {
    return affine_argument(scan, value, frame, element, depth + 1, out);
  }
  if (affine_op(scan, data->op, data->index, frame, element, depth + 1, out)) {
    return true;
  }
  if (element == -1 && constant_at(scan, value, frame, &constant)) {
    *out = (struct affine){.offset = constant, .element = -1};
    return true;
  }
  return false;
}

/* ---- the pattern ---- */

/* Value (or tuple element) that enters the loop at a carried position. */
static bool initial_value(struct loop_scan *scan, const struct affine *at, int64_t *out) {
  const struct ir_module *module = scan->module;
  if (at->position >= ir_op_get(module, scan->loop)->operand_count) {
    return false;
  }
  struct ir_value value = ir_op_operand(module, scan->loop, at->position);
  if (at->element >= 0) {
    struct ir_op tuple = ir_value_get(module, value)->op;
    if (tuple.id == 0 || ir_op_code(module, tuple) != IR_OP_TUPLE
        || at->element >= (int64_t)ir_op_get(module, tuple)->operand_count) {
      return false;
    }
    value = ir_op_operand(module, tuple, (uint32_t)at->element);
  }
  return constant_at(scan, value, NULL, out);
}

/* What one iteration adds to a carried position; false when it is not a constant. */
static bool step_of(struct loop_scan *scan, const struct affine *at, wide *step) {
  struct affine next;
  struct ir_op last = region_terminator(scan->module, scan->loop, 1);
  if (last.id == 0 || at->position >= ir_op_get(scan->module, last)->operand_count
      || !affine_at(scan, ir_op_operand(scan->module, last, at->position), NULL, at->element, 0, &next)) {
    return false;
  }
  *step = next.offset;
  return next.is_carried && next.position == at->position && next.element == at->element;
}

/* Constant value of a side that does not move: a constant, or an invariant carried value plus a constant. */
static bool fixed_value(struct loop_scan *scan, const struct affine *side, wide *out) {
  wide step;
  int64_t initial;
  if (!side->is_carried) {
    *out = side->offset;
    return true;
  }
  if (!step_of(scan, side, &step) || step != 0 || !initial_value(scan, side, &initial)) {
    return false;
  }
  *out = side->offset + initial;
  return true;
}

enum relation { REL_LT, REL_LE, REL_GT, REL_GE, REL_EQ, REL_NE, REL_COUNT };

static enum relation relation_of(const char *name) {
  static const char *const names[REL_COUNT] = {"LT", "LE", "GT", "GE", "EQ", "NE"};
  for (unsigned i = 0; i < REL_COUNT; i++) {
    if (strcmp(name, names[i]) == 0) {
      return (enum relation)i;
    }
  }
  return REL_COUNT;
}

static bool holds(enum relation relation, wide a, wide b) {
  switch (relation) {
  case REL_LT:
    return a < b;
  case REL_LE:
    return a <= b;
  case REL_GT:
    return a > b;
  case REL_GE:
    return a >= b;
  case REL_EQ:
    return a == b;
  case REL_NE:
    return a != b;
  case REL_COUNT:
    break;
  }
  return false;
}

/* Number of k >= 0 in a row, from 0 on, for which `start + k*step REL bound` holds; false when it never ends. */
static bool iterations(enum relation relation, wide start, wide step, wide bound, wide *count) {
  *count = 0;
  if (!holds(relation, start, bound)) {
    return true;
  }
  wide gap = bound - start;
  switch (relation) {
  case REL_LT:
    *count = step > 0 ? (gap + step - 1) / step : -1;
    break;
  case REL_LE:
    *count = step > 0 ? gap / step + 1 : -1;
    break;
  case REL_GT:
    *count = step < 0 ? (gap + step + 1) / step : -1;
    break;
  case REL_GE:
    *count = step < 0 ? gap / step + 1 : -1;
    break;
  case REL_EQ:
    *count = step != 0 ? 1 : -1;
    break;
  case REL_NE:
    *count = step != 0 && gap % step == 0 ? gap / step : -1;
    break;
  case REL_COUNT:
    return false;
  }
  return *count > 0;
}

/* True when every value from start to start + count*step can be held by the type. */
static bool fits(enum dtype dtype, wide first, wide last) {
  unsigned bits = dtype_bits(dtype);
  bool is_unsigned = dtype_class_of(dtype) == DTYPE_CLASS_UINT;
  if (!dtype_is_integral(dtype) || bits == 0 || bits > 64) {
    return false;
  }
  wide low = is_unsigned ? 0 : -((wide)1 << (bits - 1));
  wide high = ((wide)1 << (is_unsigned ? bits : bits - 1)) - 1;
  return first >= low && first <= high && last >= low && last <= high;
}

static enum dtype element_dtype(const struct ir_module *module, struct ir_value value) {
  struct shape shape;
  if (!shape_of(module, value, &shape)) {
    return DTYPE_NONE;
  }
  const struct ir_type_data *element = ir_type_get(module, shape.element);
  return element->kind == IR_TYPE_SCALAR ? (enum dtype)element->dtype : DTYPE_NONE;
}

/* Swaps the sides of a relation. */
static enum relation mirrored(enum relation relation) {
  static const enum relation swapped[REL_COUNT] = {REL_GT, REL_GE, REL_LT, REL_LE, REL_EQ, REL_NE};
  return relation < REL_COUNT ? swapped[relation] : REL_COUNT;
}

static bool count_with(struct loop_scan *scan, enum relation relation, const struct affine *moving,
                       const struct affine *fixed, enum dtype dtype, uint64_t *out) {
  wide step, bound, count;
  int64_t initial;
  if (!moving->is_carried || !fixed_value(scan, fixed, &bound) || !step_of(scan, moving, &step)
      || !initial_value(scan, moving, &initial)) {
    return false;
  }
  wide start = (wide)initial + moving->offset;
  if (!iterations(relation, start, step, bound, &count) || count > UINT64_MAX) {
    return false;
  }
  /* The carried value itself and the compared one must not wrap before the loop ends. */
  enum dtype carried = moving->element < 0
                           ? element_dtype(scan->module, ir_op_operand(scan->module, scan->loop, moving->position))
                           : dtype;
  if (!fits(carried, initial, initial + count * step) || !fits(dtype, start, start + count * step)) {
    return false;
  }
  *out = (uint64_t)count;
  return true;
}

static enum relation negated(enum relation relation) {
  static const enum relation opposite[REL_COUNT] = {REL_GE, REL_GT, REL_LE, REL_LT, REL_NE, REL_EQ};
  return relation < REL_COUNT ? opposite[relation] : REL_COUNT;
}

static struct analyze_trip_count condition_count(struct loop_scan *scan, struct ir_value value,
                                                 const struct fold_frame *frame, bool is_negated, unsigned depth);

/* A comparison of predicates with a constant one is the predicate or its negation. */
static struct analyze_trip_count predicate_count(struct loop_scan *scan, struct ir_op op,
                                                 const struct fold_frame *frame, bool is_negated, unsigned depth) {
  int64_t constant;
  enum relation relation = relation_of(enum_of(scan->module, op, "comparison_direction"));
  for (uint32_t i = 0; i < 2 && (relation == REL_EQ || relation == REL_NE); i++) {
    if (constant_at(scan, ir_op_operand(scan->module, op, i), frame, &constant)) {
      bool is_flipped = (relation == REL_EQ) != (constant != 0);
      return condition_count(scan, ir_op_operand(scan->module, op, 1 - i), frame, is_negated != is_flipped, depth);
    }
  }
  return (struct analyze_trip_count){0};
}

static struct analyze_trip_count compare_count(struct loop_scan *scan, struct ir_op op, const struct fold_frame *frame,
                                               bool is_negated, unsigned depth) {
  struct analyze_trip_count result = {0};
  struct affine lhs, rhs;
  enum dtype dtype = element_dtype(scan->module, ir_op_operand(scan->module, op, 0));
  if (dtype == DTYPE_I1) {
    return predicate_count(scan, op, frame, is_negated, depth);
  }
  if (!affine_at(scan, ir_op_operand(scan->module, op, 0), frame, -1, 0, &lhs)
      || !affine_at(scan, ir_op_operand(scan->module, op, 1), frame, -1, 0, &rhs)) {
    return result;
  }
  enum relation relation = relation_of(enum_of(scan->module, op, "comparison_direction"));
  relation = is_negated ? negated(relation) : relation;
  result.is_known = count_with(scan, relation, &lhs, &rhs, dtype, &result.count)
                    || count_with(scan, mirrored(relation), &rhs, &lhs, dtype, &result.count);
  return result;
}

/* Both conditions must hold: the first one that fails ends the loop. */
static struct analyze_trip_count both(struct analyze_trip_count a, struct analyze_trip_count b) {
  bool has_a = a.is_known || a.is_upper_bound, has_b = b.is_known || b.is_upper_bound;
  struct analyze_trip_count result = {.is_known = a.is_known && b.is_known};
  result.is_upper_bound = !result.is_known && (has_a || has_b);
  result.count = has_a && (!has_b || a.count < b.count) ? a.count : has_b ? b.count : 0;
  return result;
}

static struct analyze_trip_count condition_count(struct loop_scan *scan, struct ir_value value,
                                                 const struct fold_frame *frame, bool is_negated, unsigned depth) {
  const struct ir_module *module = scan->module;
  struct analyze_trip_count unknown = {0};
  struct ir_op op = ir_value_get(module, value)->op;
  if (op.id == 0 || depth >= LOOP_MAX_DEPTH || scan->fold.budget == 0) {
    return unknown;
  }
  scan->fold.budget--;
  switch ((int)ir_op_code(module, op)) {
  case IR_OP_COMPARE:
    return compare_count(scan, op, frame, is_negated, depth + 1);
  case IR_OP_NOT:
    return condition_count(scan, ir_op_operand(module, op, 0), frame, !is_negated, depth + 1);
  case IR_OP_RESHAPE:
  case IR_OP_CONVERT:
    return condition_count(scan, ir_op_operand(module, op, 0), frame, is_negated, depth + 1);
  case IR_OP_AND:
  case IR_OP_OR:
    if ((ir_op_code(module, op) == IR_OP_AND) == is_negated) {
      return unknown; /* goes on while either holds */
    }
    return both(condition_count(scan, ir_op_operand(module, op, 0), frame, is_negated, depth + 1),
                condition_count(scan, ir_op_operand(module, op, 1), frame, is_negated, depth + 1));
  case IR_OP_FUNC_CALL: {
    struct ir_op callee = callee_of(module, scan->fold.symbols, op);
    struct ir_block body = callee.id != 0 ? ir_function_body(module, callee) : (struct ir_block){0};
    struct ir_op last = body.id != 0 ? ir_block_terminator(module, body) : (struct ir_op){0};
    uint32_t index = ir_value_get(module, value)->index;
    struct fold_frame inner = {frame, op};
    bool has_value = last.id != 0 && index < ir_op_get(module, last)->operand_count;
    return has_value ? condition_count(scan, ir_op_operand(module, last, index), &inner, is_negated, depth + 1)
                     : unknown;
  }
  default:
    return unknown;
  }
}

static struct analyze_trip_count trip_count(const struct analyze_trips *trips, const struct map *constants_by_argument,
                                            struct ir_op op) {
  struct ir_op last = region_terminator(trips->module, op, 0);
  if (last.id == 0 || ir_op_get(trips->module, last)->operand_count != 1) {
    return (struct analyze_trip_count){0};
  }
  struct loop_scan scan = {.module = trips->module,
                           .loop = op,
                           .fold = {.module = trips->module,
                                    .symbols = trips->symbols,
                                    .argument_constants = constants_by_argument,
                                    .constants = trips->constants.data,
                                    .budget = LOOP_BUDGET}};
  return condition_count(&scan, ir_op_operand(trips->module, last, 0), NULL, false, 0);
}

/* ---- constants of function arguments ---- */

static int by_function(const void *a, const void *b) {
  const struct analyze_call_site *x = a, *y = b;
  if (x->function != y->function) {
    return x->function < y->function ? -1 : 1;
  }
  return x->call < y->call ? -1 : x->call > y->call;
}

bool analyze_trips_init(struct analyze_trips *trips, const struct ir_module *module,
                        const struct analyze_symbols *symbols) {
  *trips = (struct analyze_trips){.module = module, .symbols = symbols};
  bool ok = true;
  for (uint32_t id = 1; ok && id < module->ops.count; id++) {
    const struct ir_op_data *data = &module->ops.data[id];
    if (data->opcode == IR_OP_FUNC_CALL && (data->flags & IR_OP_ERASED) == 0) {
      struct ir_op callee = callee_of(module, symbols, (struct ir_op){id});
      ok = callee.id == 0 || vec_push(&trips->sites, ((struct analyze_call_site){callee.id, id}));
    }
  }
  if (trips->sites.count > 0) {
    qsort(trips->sites.data, trips->sites.count, sizeof trips->sites.data[0], by_function);
  }
  for (size_t i = 0; ok && i < trips->sites.count; i++) {
    bool is_first = i == 0 || trips->sites.data[i].function != trips->sites.data[i - 1].function;
    ok = !is_first || map_set(&trips->first_site, trips->sites.data[i].function, (uint32_t)i);
  }
  if (!ok) {
    analyze_trips_release(trips);
  }
  return ok;
}

void analyze_trips_release(struct analyze_trips *trips) {
  vec_release(&trips->sites);
  vec_release(&trips->counts);
  vec_release(&trips->constants);
  map_release(&trips->first_site);
  map_release(&trips->loop_index);
  map_release(&trips->argument_index);
}

/* The constant that every call passes for argument `index` of a function; one level of callers. */
static bool site_constant(const struct analyze_trips *trips, struct ir_op function, uint32_t index,
                          struct fold_const *out) {
  uint32_t first;
  if (!map_get(&trips->first_site, function.id, &first)) {
    return false;
  }
  for (size_t i = first; i < trips->sites.count && trips->sites.data[i].function == function.id; i++) {
    struct ir_op call = {trips->sites.data[i].call};
    struct fold fold = {.module = trips->module, .symbols = trips->symbols, .budget = LOOP_BUDGET};
    struct fold_const here;
    if (index >= ir_op_get(trips->module, call)->operand_count
        || !fold_value(&fold, ir_op_operand(trips->module, call, index), NULL, &here)) {
      return false;
    }
    if (i > first && (here.count != out->count || memcmp(here.v, out->v, here.count * sizeof here.v[0]) != 0)) {
      return false;
    }
    *out = here;
  }
  return true;
}

/* Index into constants of what every call passes for a function argument; false when there is no such constant. */
static bool argument_constant(struct analyze_trips *trips, struct ir_value value, uint32_t *out) {
  struct fold_const constant;
  struct ir_op function = argument_owner(trips->module, value);
  if (function.id == 0 || ir_op_code(trips->module, function) != IR_OP_FUNC_FUNC) {
    return false;
  }
  if (!map_get(&trips->argument_index, value.id, out)) {
    bool is_constant = site_constant(trips, function, ir_value_get(trips->module, value)->index, &constant);
    *out = is_constant && vec_push(&trips->constants, constant) ? (uint32_t)trips->constants.count - 1 : UINT32_MAX;
    (void)map_set(&trips->argument_index, value.id, *out); /* else it is found out again */
  }
  return *out != UINT32_MAX;
}

bool analyze_constant_int(const struct ir_module *module, struct ir_value value, int64_t *out) {
  struct loop_scan scan = {.module = module, .fold = {.module = module, .budget = LOOP_BUDGET}};
  if (constant_at(&scan, value, NULL, out)) {
    return true;
  }
  struct analyze_symbols symbols;
  struct analyze_trips trips;
  uint32_t index;
  if (ir_value_get(module, value)->op.id != 0 || !analyze_symbols_init(&symbols, module)) {
    return false;
  }
  bool is_known = analyze_trips_init(&trips, module, &symbols);
  if (is_known) {
    is_known = argument_constant(&trips, value, &index) && trips.constants.data[index].count == 1;
    *out = is_known ? trips.constants.data[index].v[0] : *out;
    analyze_trips_release(&trips);
  }
  analyze_symbols_release(&symbols);
  return is_known;
}

/* What the compiler that wrote the program found out: mhlo.known_trip_count of imported HLO. */
static struct analyze_trip_count stated_count(const struct ir_module *module, struct ir_op op,
                                              struct analyze_trip_count found) {
  int64_t stated = found.is_known ? -1 : int_of(module, op, "mhlo.known_trip_count", -1);
  return stated >= 0 ? (struct analyze_trip_count){.is_known = true, .count = (uint64_t)stated} : found;
}

/* Function arguments that enter the loop may be constant at every call. */
static struct analyze_trip_count count_loop(struct analyze_trips *trips, struct ir_op op) {
  const struct ir_module *module = trips->module;
  struct analyze_trip_count result = trip_count(trips, NULL, op);
  if (result.is_known) {
    return result;
  }
  struct map by_argument = {0};
  uint32_t operands = ir_op_get(module, op)->operand_count;
  for (uint32_t i = 0; i < operands; i++) {
    uint32_t index;
    struct ir_value value = ir_op_operand(module, op, i);
    bool is_scalar = element_dtype(module, value) != DTYPE_NONE && ir_value_get(module, value)->op.id == 0
                     && ir_type_get(module, ir_value_type(module, value))->rank == 0;
    if (is_scalar && argument_constant(trips, value, &index) && !map_set(&by_argument, value.id, index)) {
      break;
    }
  }
  if (by_argument.count > 0) {
    result = trip_count(trips, &by_argument, op);
  }
  map_release(&by_argument);
  return result;
}

struct analyze_trip_count analyze_trips_count(struct analyze_trips *trips, struct ir_op op) {
  uint32_t index;
  if (ir_op_code(trips->module, op) != IR_OP_WHILE || ir_op_get(trips->module, op)->region_count != 2) {
    return (struct analyze_trip_count){0};
  }
  if (map_get(&trips->loop_index, op.id, &index)) {
    return trips->counts.data[index];
  }
  struct analyze_trip_count result = stated_count(trips->module, op, count_loop(trips, op));
  if (vec_push(&trips->counts, result)) {
    (void)map_set(&trips->loop_index, op.id, (uint32_t)trips->counts.count - 1); /* else it is counted again */
  }
  return result;
}

struct analyze_trip_count analyze_while_trip_count(const struct ir_module *module, struct ir_op op) {
  struct analyze_symbols symbols;
  struct analyze_trips trips;
  struct analyze_trip_count result = {0};
  if (!analyze_symbols_init(&symbols, module)) {
    return result;
  }
  if (analyze_trips_init(&trips, module, &symbols)) {
    result = analyze_trips_count(&trips, op);
    analyze_trips_release(&trips);
  }
  analyze_symbols_release(&symbols);
  return result;
}
