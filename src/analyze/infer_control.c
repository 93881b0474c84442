/* Inference of operations with regions: loops and branches, and bodies that are applied per element. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_int.h"
#include "base/strbuf.h"

static enum constraint_rule region_rule(uint32_t region) {
  return region == 0 ? RULE_REGION_0 : RULE_REGION_1;
}

/* The region has one block with `arguments` arguments (UINT32_MAX: any) and returns `results` values. */
static bool check_body(struct infer *infer, struct ir_op op, uint32_t region, uint32_t arguments, uint32_t results) {
  struct ir_module *module = infer->module;
  struct ir_block block = ir_region_entry(module, ir_op_region(module, op, region));
  struct ir_op last = block.id != 0 ? ir_block_terminator(module, block) : (struct ir_op){0};
  if (last.id == 0) {
    infer_error_rule(infer, op, region_rule(region), DIAG_E0211_REGION, "region %u is empty", region);
    return false;
  }
  uint32_t have = ir_block_get(module, block)->argument_count;
  if (arguments != UINT32_MAX && have != arguments) {
    infer_error_rule(infer, op, region_rule(region), DIAG_E0211_REGION, "region %u has %u arguments, expected %u",
                     region, have, arguments);
    return false;
  }
  if (!ir_opcode_has(ir_op_code(module, last), IR_TRAIT_TERMINATOR)) {
    infer_error_rule(infer, op, region_rule(region), DIAG_E0211_REGION, "region %u does not end with a return", region);
    return false;
  }
  if (ir_op_get(module, last)->operand_count != results) {
    infer_error_rule(infer, op, region_rule(region), DIAG_E0211_REGION, "region %u returns %u values, expected %u",
                     region, ir_op_get(module, last)->operand_count, results);
    return false;
  }
  return true;
}

/* The one value that region `region` returns is a predicate. */
static bool check_predicate(struct infer *infer, struct ir_op op, uint32_t region) {
  struct shape shape;
  struct ir_op last = region_terminator(infer->module, op, region);
  bool is_ranked = shape_of(infer->module, ir_op_operand(infer->module, last, 0), &shape);
  if (!is_ranked || shape.rank != 0 || shape.element.id != ir_type_scalar(infer->module, DTYPE_I1).id) {
    infer_error_rule(infer, op, region_rule(region), DIAG_E0211_REGION, "region %u does not return tensor<i1>", region);
    return false;
  }
  return true;
}

static bool operand_shape(const struct infer *infer, struct ir_op op, uint32_t i, struct shape *out) {
  return shape_of(infer->module, ir_op_operand(infer->module, op, i), out);
}

/* ---- while ---- */

static void report_carried(struct infer *infer, struct ir_op op, uint32_t region, const char *what, uint32_t index,
                           struct ir_type init, struct ir_type found) {
  struct strbuf a = {0}, b = {0};
  type_text(infer->module, init, &a);
  type_text(infer->module, found, &b);
  infer_error_rule(infer, op, region_rule(region), DIAG_E0211_REGION, "carried value %u is '%s', but %s has '%s'",
                   index, strbuf_text(&a), what, strbuf_text(&b));
  strbuf_release(&a);
  strbuf_release(&b);
}

/* Types of operands, region arguments, returned values and results; false when a carried type changes in the loop. */
static bool check_carried(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t count = ir_op_get(module, op)->operand_count;
  struct ir_op last = region_terminator(module, op, 1);
  for (uint32_t i = 0; i < count; i++) {
    struct ir_type init = ir_value_type(module, ir_op_operand(module, op, i));
    for (uint32_t r = 0; r < 2; r++) {
      struct ir_block block = ir_region_entry(module, ir_op_region(module, op, r));
      struct ir_type argument = ir_value_type(module, ir_block_argument(module, block, i));
      if (!types_agree(module, init, argument)) {
        report_carried(infer, op, r, r == 0 ? "the condition" : "the body", i, init, argument);
        return false;
      }
    }
    struct ir_type next = ir_value_type(module, ir_op_operand(module, last, i));
    if (!types_agree(module, init, next)) {
      report_carried(infer, op, 1, "the value that the body returns", i, init, next);
      return false;
    }
  }
  return true;
}

static bool check_while(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t count = ir_op_get(module, op)->operand_count;
  if (ir_op_get(module, op)->result_count != count) {
    infer_error_rule(infer, op, RULE_RESULT_COUNT, DIAG_E0202_RESULT_COUNT,
                     "expected %u results, one per carried value, found %u", count,
                     ir_op_get(module, op)->result_count);
    return false;
  }
  return check_body(infer, op, 0, count, 1) && check_body(infer, op, 1, count, count);
}

/* Copies more static initial types onto the arguments of both regions; true when one changed. */
static bool refine_arguments(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t count = ir_op_get(module, op)->operand_count;
  bool before = infer->has_changed;
  infer->has_changed = false;
  for (uint32_t r = 0; r < 2; r++) {
    struct ir_block block = ir_region_entry(module, ir_op_region(module, op, r));
    for (uint32_t i = 0; i < count; i++) {
      struct ir_type init = ir_value_type(module, ir_op_operand(module, op, i));
      struct ir_value argument = ir_block_argument(module, block, i);
      if (types_agree(module, init, ir_value_type(module, argument))) {
        infer_refine_value(infer, argument, init);
      }
    }
  }
  bool has_changed = infer->has_changed;
  infer->has_changed |= before;
  return has_changed;
}

struct saved_type {
  struct ir_value value;
  struct ir_type type;
};

struct saved_types {
  VEC(struct saved_type) entries; /* a value may be there twice; its first entry is the oldest */
  bool out_of_memory;
};

static void save_type(const struct ir_module *module, struct saved_types *saved, struct ir_value value) {
  struct saved_type entry = {value, ir_value_type(module, value)};
  saved->out_of_memory |= !vec_push(&saved->entries, entry);
}

/* Values of the regions of an op: all that visiting them can change. Regions below the limit of depth are not visited. */
static void save_regions(const struct ir_module *module, struct saved_types *saved, struct ir_op op, unsigned depth) {
  for (uint32_t r = 0; r < ir_op_get(module, op)->region_count && depth <= ANALYZE_MAX_DEPTH; r++) {
    struct ir_block block = ir_region_entry(module, ir_op_region(module, op, r));
    for (; block.id != 0; block = ir_block_get(module, block)->next) {
      for (uint32_t i = 0; i < ir_block_get(module, block)->argument_count; i++) {
        save_type(module, saved, ir_block_argument(module, block, i));
      }
      for (struct ir_op inner = ir_block_first(module, block); inner.id != 0; inner = ir_op_next(module, inner)) {
        for (uint32_t i = 0; i < ir_op_get(module, inner)->result_count; i++) {
          save_type(module, saved, ir_op_result(module, inner, i));
        }
        save_regions(module, saved, inner, depth + 1);
      }
    }
  }
}

static void restore_types(struct ir_module *module, const struct saved_types *saved) {
  for (size_t i = saved->entries.count; i > 0; i--) {
    ir_value_get(module, saved->entries.data[i - 1].value)->type = saved->entries.data[i - 1].type;
  }
}

static bool visit_quietly(struct infer *infer, struct ir_op op) {
  bool had_failed = infer->has_failed;
  infer->quiet++;
  infer_region(infer, op, 0);
  infer_region(infer, op, 1);
  bool is_sound = check_while(infer, op) && check_carried(infer, op);
  infer->quiet--;
  infer->has_failed = had_failed;
  return is_sound;
}

/* Tries the loop with the types of its initial values; takes everything back when the body returns other ones (a value
 * that grows in the loop stays dynamic). */
static void try_refining(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct saved_types saved = {0};
  uint32_t unused;
  if (map_get(&infer->fixed_loops, op.id, &unused)) {
    return;
  }
  for (uint32_t r = 0; r < 2; r++) {
    struct ir_block block = ir_region_entry(module, ir_op_region(module, op, r));
    for (uint32_t i = 0; i < ir_block_get(module, block)->argument_count; i++) {
      save_type(module, &saved, ir_block_argument(module, block, i));
    }
  }
  if (!saved.out_of_memory && refine_arguments(infer, op)) {
    save_regions(module, &saved, op, infer->depth);
    if (saved.out_of_memory || !visit_quietly(infer, op)) {
      restore_types(module, &saved);
      saved.out_of_memory |= !map_set(&infer->fixed_loops, op.id, 1);
    }
  }
  if (saved.out_of_memory) {
    infer->status = STATUS_MEMORY;
  }
  vec_release(&saved.entries);
}

void infer_op_while(struct infer *infer, struct ir_op op) {
  bool is_formed = check_while(infer, op);
  if (is_formed && infer->has_dynamic) {
    try_refining(infer, op);
  }
  infer_region(infer, op, 0);
  infer_region(infer, op, 1);
  if (!is_formed || !check_predicate(infer, op, 0) || !check_carried(infer, op)) {
    return;
  }
  struct ir_module *module = infer->module;
  struct ir_block body = ir_region_entry(module, ir_op_region(module, op, 1));
  for (uint32_t i = 0; i < ir_op_get(module, op)->result_count; i++) {
    infer_result_type(infer, op, i, ir_value_type(module, ir_block_argument(module, body, i)));
  }
}

/* ---- if, case ---- */

void infer_op_branches(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t regions = ir_op_get(module, op)->region_count, results = ir_op_get(module, op)->result_count;
  struct shape index;
  enum dtype wanted = ir_op_code(module, op) == IR_OP_IF ? DTYPE_I1 : DTYPE_I32;
  if (operand_shape(infer, op, 0, &index)) {
    bool is_scalar = index.rank == 0 || (index.rank == 1 && dims_agree(index.dims[0], 1));
    if (!is_scalar || index.element.id != ir_type_scalar(module, wanted).id) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the operand is not tensor<%s> (I1)", dtype_name(wanted));
      return;
    }
  }
  for (uint32_t r = 0; r < regions; r++) {
    struct ir_op first = region_terminator(module, op, 0), last = region_terminator(module, op, r);
    uint32_t count = last.id != 0 ? ir_op_get(module, last)->operand_count : results;
    if (!check_body(infer, op, r, 0, count)) {
      return;
    }
    if (count != ir_op_get(module, first)->operand_count) {
      infer_error_rule(infer, op, RULE_REGION_RESULTS, DIAG_E0211_REGION, "regions 0 and %u return %u and %u values", r,
                       ir_op_get(module, first)->operand_count, count);
      return;
    }
    if (count != results) {
      infer_error_rule(infer, op, RULE_RESULT_SHAPE, DIAG_E0202_RESULT_COUNT,
                       "the regions return %u values, there are %u results", count, results);
      return;
    }
  }
  for (uint32_t i = 0; i < results; i++) {
    struct ir_type first = ir_value_type(module, ir_op_operand(module, region_terminator(module, op, 0), i));
    bool is_uniform = true;
    for (uint32_t r = 0; r < regions; r++) {
      struct ir_type type = ir_value_type(module, ir_op_operand(module, region_terminator(module, op, r), i));
      is_uniform &= type.id == first.id;
      if (!types_agree(module, type, first)) {
        infer_error_rule(infer, op, RULE_REGION_RESULTS, DIAG_E0211_REGION,
                         "regions 0 and %u return different types at %u", r, i);
        return;
      }
      if (!types_agree(module, type, ir_value_type(module, ir_op_result(module, op, i)))) {
        infer_result_type(infer, op, i, type);
        return;
      }
    }
    if (is_uniform) {
      infer_result_type(infer, op, i, first);
    }
  }
}

/* ---- bodies ---- */

/* n inputs and n scalars of n results; false after a message. */
static bool check_variadic(struct infer *infer, struct ir_op op, uint32_t *count) {
  uint32_t operands = ir_op_get(infer->module, op)->operand_count, results = ir_op_get(infer->module, op)->result_count;
  *count = operands / 2;
  if (operands == 0 || operands % 2 != 0) {
    infer_error_rule(infer, op, RULE_OPERAND_COUNT, DIAG_E0201_OPERAND_COUNT,
                     "expected as many initial values as inputs, found %u operands", operands);
    return false;
  }
  if (results != *count) {
    infer_error_rule(infer, op, RULE_RESULT_COUNT, DIAG_E0202_RESULT_COUNT, "expected %u results, found %u", *count,
                     results);
    return false;
  }
  if (!check_body(infer, op, 0, 2 * *count, *count)) {
    return false;
  }
  /* A body may work on whole slices; then the initial values are slices too. */
  struct ir_block block = ir_region_entry(infer->module, ir_op_region(infer->module, op, 0));
  for (uint32_t i = 0; i < *count; i++) {
    struct shape init, argument;
    operand_shape(infer, op, *count + i, &init);
    shape_of(infer->module, ir_block_argument(infer->module, block, i), &argument);
    if (!shapes_agree(&init, &argument)) {
      infer_error_rule(infer, op, RULE_BODY, DIAG_E0211_REGION,
                       "the body takes another shape at %u than the initial value has", i);
      return false;
    }
  }
  return true;
}

/* Shape that all of the first `count` operands have; false after a message or when one is unranked. */
static bool common_shape(struct infer *infer, struct ir_op op, uint32_t count, struct shape *out) {
  if (!operand_shape(infer, op, 0, out)) {
    return false;
  }
  for (uint32_t i = 1; i < count; i++) {
    struct shape shape;
    if (operand_shape(infer, op, i, &shape) && !shape_meet(out, &shape)) {
      infer_error_rule(infer, op, RULE_OPERANDS_SHAPE, DIAG_E0204_OPERAND_TYPE, "inputs 0 and %u have different shapes",
                       i);
      return false;
    }
  }
  return true;
}

void infer_op_reduce(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ints dims;
  uint32_t count;
  if (!check_variadic(infer, op, &count) || !common_shape(infer, op, count, &from)) {
    return;
  }
  if (!ints_of(infer->module, op, "dimensions", &dims)
      || !infer_check_dims(infer, op, "dimensions", &dims, from.rank)) {
    return;
  }
  bool is_reduced[SHAPE_MAX_RANK] = {false};
  for (uint32_t i = 0; i < dims.count; i++) {
    is_reduced[dims.v[i]] = true;
  }
  shape_init(&to, 0, (struct ir_type){0});
  for (uint32_t i = 0; i < from.rank; i++) {
    if (!is_reduced[i]) {
      to.dims[to.rank++] = from.dims[i];
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    to.element = returned_element(infer->module, op, 0, i);
    infer_result(infer, op, i, &to);
  }
}

void infer_op_reduce_window(struct infer *infer, struct ir_op op) {
  struct shape shape;
  struct window_dim windows[SHAPE_MAX_RANK];
  uint32_t count;
  if (!check_variadic(infer, op, &count) || !common_shape(infer, op, count, &shape)
      || !infer_windows(infer, op, &window_names_reduce, shape.rank, windows)) {
    return;
  }
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.dims[i] = window_output(shape.dims[i], &windows[i]);
  }
  for (uint32_t i = 0; i < count; i++) {
    shape.element = returned_element(infer->module, op, 0, i);
    infer_result(infer, op, i, &shape);
  }
}

void infer_op_select_and_scatter(struct infer *infer, struct ir_op op) {
  struct shape shape, source;
  struct window_dim windows[SHAPE_MAX_RANK];
  if (!check_body(infer, op, 0, 2, 1) || !check_predicate(infer, op, 0) || !check_body(infer, op, 1, 2, 1)
      || !operand_shape(infer, op, 0, &shape) || !infer_windows(infer, op, &window_names_reduce, shape.rank, windows)) {
    return;
  }
  if (operand_shape(infer, op, 1, &source)) {
    struct shape expected = shape;
    for (uint32_t i = 0; i < shape.rank; i++) {
      expected.dims[i] = window_output(shape.dims[i], &windows[i]);
    }
    if (!shapes_agree(&expected, &source)) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE,
                  "the source does not have the shape of the windowed operand (C2)");
      return;
    }
  }
  shape.element = returned_element(infer->module, op, 1, 0);
  infer_result(infer, op, 0, &shape);
}

void infer_op_map(struct infer *infer, struct ir_op op) {
  struct shape shape;
  uint32_t count = ir_op_get(infer->module, op)->operand_count;
  struct ints dims;
  if (!check_body(infer, op, 0, count, 1) || !common_shape(infer, op, count, &shape)) {
    return;
  }
  if (ints_of(infer->module, op, "dimensions", &dims)) {
    for (uint32_t i = 0; i < dims.count; i++) {
      if (dims.v[i] != i || dims.count != shape.rank) {
        infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'dimensions' does not name all dimensions in order (C3)");
        return;
      }
    }
  }
  shape.element = returned_element(infer->module, op, 0, 0);
  infer_result(infer, op, 0, &shape);
}

void infer_op_sort(struct infer *infer, struct ir_op op) {
  struct shape shape;
  uint32_t operands = ir_op_get(infer->module, op)->operand_count, results = ir_op_get(infer->module, op)->result_count;
  if (operands != results) {
    infer_error_rule(infer, op, RULE_RESULT_COUNT, DIAG_E0202_RESULT_COUNT,
                     "expected %u results, one per operand, found %u", operands, results);
    return;
  }
  if (!common_shape(infer, op, operands, &shape) || !check_body(infer, op, 0, 2 * operands, 1)
      || !check_predicate(infer, op, 0)) {
    return;
  }
  int64_t dimension = int_of(infer->module, op, "dimension", -1);
  int64_t rank = shape.rank;
  if (rank > 0 && (dimension < -rank || dimension >= rank)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'dimension' is %lld, but the rank is %u (C4)",
                (long long)dimension, shape.rank);
    return;
  }
  for (uint32_t i = 0; i < operands; i++) {
    infer_result_type(infer, op, i, ir_value_type(infer->module, ir_op_operand(infer->module, op, i)));
  }
}
