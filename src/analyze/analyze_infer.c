/* Checks and infers a whole module: counts and required attributes of every op, then the row of infer_table.c. Programs
 * with dynamic dimensions are visited in rounds until no type becomes more static: types travel through calls in both
 * directions and constants of shape arithmetic travel with them. Path: after parsing and binding, before everything. */
#include <stdlib.h>
#include <string.h>

#include "analyze/spec_table.h"
#include "analyze/verify_int.h"
#include "base/strbuf.h"

/* Rounds of refinement over the functions whose inputs changed. A change crosses one call edge per round, so this
 * bounds the depth of the call chain that shapes travel through, not the size of the program. */
#define ROUNDS_MAX 512

/* ---- one op ---- */

/* Rule of a wrong number of operands, results or regions. */
static enum constraint_rule count_rule(enum diag_id id) {
  return id == DIAG_E0201_OPERAND_COUNT  ? RULE_OPERAND_COUNT
         : id == DIAG_E0202_RESULT_COUNT ? RULE_RESULT_COUNT
                                         : RULE_REGION_COUNT;
}

static void report_count(struct infer *infer, struct ir_op op, enum diag_id id, const char *what, uint32_t found,
                         int min, int max) {
  unsigned label = id == DIAG_E0203_REGION_COUNT ? spec_region_label(ir_op_code(infer->module, op), found) : 0;
  if (label != 0 && constraint_of(ir_op_code(infer->module, op), RULE_REGION_COUNT) == NULL) {
    infer_error(infer, op, id, "expected %d region%s, found %u (I%u)", min, min == 1 ? "" : "s", found, label);
  } else if (max < 0) {
    infer_error_rule(infer, op, count_rule(id), id, "expected at least %d %s%s, found %u", min, what,
                     min == 1 ? "" : "s", found);
  } else if (min == max) {
    infer_error_rule(infer, op, count_rule(id), id, "expected %d %s%s, found %u", min, what, min == 1 ? "" : "s",
                     found);
  } else {
    infer_error_rule(infer, op, count_rule(id), id, "expected %d to %d %ss, found %u", min, max, what, found);
  }
}

static bool is_in_range(uint32_t count, int min, int max) {
  return count >= (uint32_t)min && (max < 0 || count <= (uint32_t)max);
}

static bool check_counts(struct infer *infer, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(infer->module, op);
  const struct ir_op_info *info = ir_opcode_info((enum ir_opcode)data->opcode);
  if (!is_in_range(data->operand_count, info->operands_min, info->operands_max)) {
    report_count(infer, op, DIAG_E0201_OPERAND_COUNT, "operand", data->operand_count, info->operands_min,
                 info->operands_max);
    return false;
  }
  if (!is_in_range(data->result_count, info->results_min, info->results_max)) {
    report_count(infer, op, DIAG_E0202_RESULT_COUNT, "result", data->result_count, info->results_min,
                 info->results_max);
    return false;
  }
  if (!is_in_range(data->region_count, info->regions_min, info->regions_max)) {
    report_count(infer, op, DIAG_E0203_REGION_COUNT, "region", data->region_count, info->regions_min,
                 info->regions_max);
    return false;
  }
  return true;
}

static bool check_required(struct infer *infer, struct ir_op op, const char *required) {
  char name[64];
  while (required != NULL && *required != '\0') {
    size_t length = strcspn(required, " ");
    memcpy(name, required, length);
    name[length] = '\0';
    if (ir_op_attr(infer->module, op, name).id == 0) {
      unsigned label = spec_label(ir_op_code(infer->module, op), name);
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                  label != 0 ? "required attribute '%s' is missing (I%u)" : "required attribute '%s' is missing", name,
                  label);
      return false;
    }
    required += length;
    required += strspn(required, " ");
  }
  return true;
}

/* mhlo.x that is read as stablehlo.x: mhlo has forms of its own (async_start without a region, all_to_all of several
 * operands), so what does not fit is passed over instead of reported. */
static bool is_borrowed(const struct ir_module *module, struct ir_op op, enum ir_opcode opcode) {
  return strncmp(ir_text(module, ir_op_get(module, op)->name), "mhlo.", 5) == 0
         && strncmp(ir_opcode_info(opcode)->name, "stablehlo.", 10) == 0;
}

static bool check_op(struct infer *infer, struct ir_op op, const struct infer_row *row) {
  verify_fn verify = verify_find(ir_op_code(infer->module, op));
  return check_counts(infer, op) && (!infer->has_odd_types || verify_plain_types(infer, op)) && verify_inputs(infer, op)
         && (row == NULL || check_required(infer, op, row->required))
         && (infer->module->quants.count <= 1 || verify_quantized(infer, op)) && (verify == NULL || verify(infer, op));
}

static void visit_op(struct infer *infer, struct ir_op op) {
  enum ir_opcode opcode = ir_op_code(infer->module, op);
  uint32_t regions = ir_op_get(infer->module, op)->region_count;
  const struct infer_row *row = infer_row_find(opcode);
  bool is_sound = opcode != IR_OP_UNKNOWN;
  if (is_sound && is_borrowed(infer->module, op, opcode)) {
    bool had_failed = infer->has_failed;
    infer->quiet++;
    is_sound = check_op(infer, op, row);
    infer->quiet--;
    infer->has_failed = had_failed;
  } else if (is_sound) {
    is_sound = check_op(infer, op, row);
  }
  if (!is_sound || row == NULL || !row->visits_regions) {
    for (uint32_t i = 0; i < regions; i++) {
      infer_region(infer, op, i);
    }
  }
  if (is_sound && row != NULL) {
    row->infer(infer, op);
  }
}

void infer_region(struct infer *infer, struct ir_op op, uint32_t index) {
  if (index >= ir_op_get(infer->module, op)->region_count) {
    return; /* reported by visit_op, or the root itself */
  }
  if (infer->depth >= ANALYZE_MAX_DEPTH) {
    if (infer->status == STATUS_OK) {
      infer_error(infer, op, DIAG_E0005_LIMIT, "regions nest deeper than %d", ANALYZE_MAX_DEPTH);
      infer->status = STATUS_LIMIT;
    }
    return;
  }
  infer->depth++;
  struct ir_block block = ir_region_entry(infer->module, ir_op_region(infer->module, op, index));
  for (; block.id != 0; block = ir_block_get(infer->module, block)->next) {
    for (struct ir_op inner = ir_block_first(infer->module, block); inner.id != 0;
         inner = ir_op_next(infer->module, inner)) {
      visit_op(infer, inner);
    }
  }
  infer->depth--;
}

/* ---- functions and calls ---- */

/* `format` takes a number and the texts of two types. */
__attribute__((format(printf, 4, 0))) static void report_types(struct infer *infer, struct ir_op op, enum diag_id id,
                                                               const char *format, uint32_t number, struct ir_type x,
                                                               struct ir_type y) {
  struct strbuf a = {0}, b = {0}, text = {0};
  type_text(infer->module, x, &a);
  type_text(infer->module, y, &b);
  strbuf_printf(&text, format, number, strbuf_text(&a), strbuf_text(&b));
  infer_error(infer, op, id, "%s", strbuf_text(&text));
  strbuf_release(&a);
  strbuf_release(&b);
  strbuf_release(&text);
}

static void check_arguments(struct infer *infer, struct ir_op op, struct ir_type type, struct ir_block body) {
  const struct ir_module *module = infer->module;
  const struct ir_type_data *data = ir_type_get(module, type);
  uint32_t count = ir_block_get(module, body)->argument_count;
  if (data->input_count != count) {
    infer_error(infer, op, DIAG_E0211_REGION, "the type has %u inputs but the body has %u arguments", data->input_count,
                count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct ir_type expected = {module->lists.data[data->first + i]};
    struct ir_type found = ir_value_type(module, ir_block_argument(module, body, i));
    if (!types_agree(module, expected, found)) {
      report_types(infer, op, DIAG_E0211_REGION, "input %u of the type is '%s', but the body takes '%s'", i, expected,
                   found);
      return;
    }
  }
}

/* Every block of a function ends with a return, or with an operation that may be one. */
static void check_ends(struct infer *infer, struct ir_op op, struct ir_block block) {
  struct ir_module *module = infer->module;
  for (; block.id != 0; block = ir_block_get(module, block)->next) {
    struct ir_op last = ir_block_terminator(module, block);
    enum ir_opcode code = last.id != 0 ? ir_op_code(module, last) : IR_OP_UNKNOWN;
    if (last.id == 0 || (code != IR_OP_UNKNOWN && !ir_opcode_has(code, IR_TRAIT_TERMINATOR))) {
      infer_error(infer, last.id != 0 ? last : op, DIAG_E0211_REGION,
                  "a block of the function does not end with a return");
      return;
    }
  }
}

void infer_op_function(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_type type = ir_function_type(module, op);
  struct ir_block body = ir_function_body(module, op);
  if (type.id == 0 || ir_type_get(module, type)->kind != IR_TYPE_FUNCTION) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'function_type' is not a function type");
    return;
  }
  if (body.id != 0) {
    check_arguments(infer, op, type, body);
    check_ends(infer, op, body);
  }
  if (module->quants.count > 1) {
    verify_quantized_arguments(infer, op);
  }
  verify_function_shardings(infer, op);
  infer_region(infer, op, 0);
}

void infer_op_return(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_block block = ir_op_get(module, op)->parent;
  struct ir_op function = ir_region_get(module, ir_block_get(module, block)->parent)->parent;
  if (function.id == 0 || ir_op_code(module, function) != IR_OP_FUNC_FUNC) {
    return;
  }
  struct ir_type type = ir_function_type(module, function);
  if (type.id == 0 || ir_type_get(module, type)->kind != IR_TYPE_FUNCTION) {
    return;
  }
  const struct ir_type_data data = *ir_type_get(module, type);
  uint32_t results = data.count - data.input_count;
  uint32_t count = ir_op_get(module, op)->operand_count;
  if (count != results) {
    infer_error(infer, op, DIAG_E0201_OPERAND_COUNT, "the function has %u results, %u values are returned", results,
                count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct ir_type expected = {module->lists.data[data.first + data.input_count + i]};
    struct ir_type found = ir_value_type(module, ir_op_operand(module, op, i));
    if (!types_agree(module, expected, found)) {
      report_types(infer, op, DIAG_E0205_RESULT_TYPE, "result %u of the function is '%s', but '%s' is returned", i,
                   expected, found);
      return;
    }
  }
}

/* Types of a call's results become those of the callee; mismatches are reported by analyze_calls. */
void infer_op_call(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  if (!infer->has_dynamic) {
    return;
  }
  struct ir_op callee = callee_of(module, infer->symbols, op);
  struct ir_type type = callee.id != 0 ? ir_function_type(module, callee) : (struct ir_type){0};
  if (type.id == 0 || ir_type_get(module, type)->kind != IR_TYPE_FUNCTION) {
    return;
  }
  const struct ir_type_data data = *ir_type_get(module, type);
  uint32_t count = ir_op_get(module, op)->result_count;
  for (uint32_t i = 0; i < count && data.input_count + i < data.count; i++) {
    infer_refine_value(infer, ir_op_result(module, op, i),
                       (struct ir_type){module->lists.data[data.first + data.input_count + i]});
  }
}

/* ---- rounds ---- */

/* A function and its call sites: call ops in round.sites. */
struct function_sites {
  struct ir_op function;
  uint32_t first, count;
  bool is_stale; /* to be visited in this round */
};

struct round {
  VEC(struct function_sites) functions;
  VEC(struct ir_op) sites;
  struct map index_of; /* function op → index into functions */
};

static void round_release(struct round *round) {
  vec_release(&round->functions);
  vec_release(&round->sites);
  map_release(&round->index_of);
}

static int by_function(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  if (x[0] != y[0]) {
    return x[0] < y[0] ? -1 : 1;
  }
  return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Lists the functions in order and, per function, the calls that reach it. */
static bool round_collect(struct infer *infer, struct round *round) {
  struct ir_module *module = infer->module;
  VEC(uint32_t) pairs = {0}; /* function, call */
  bool ok = true;
  for (uint32_t id = 1; ok && id < module->ops.count; id++) {
    struct ir_op op = {id};
    const struct ir_op_data *data = ir_op_get(module, op);
    if ((data->flags & IR_OP_ERASED) != 0) {
      continue;
    }
    if (data->opcode == IR_OP_FUNC_FUNC) {
      struct function_sites entry = {.function = op, .is_stale = true};
      ok = map_set(&round->index_of, id, (uint32_t)round->functions.count) && vec_push(&round->functions, entry);
    } else if (ir_opcode_has((enum ir_opcode)data->opcode, IR_TRAIT_CALL)) {
      struct ir_op callee = callee_of(module, infer->symbols, op);
      if (callee.id != 0) {
        ok = vec_push(&pairs, callee.id) && vec_push(&pairs, id);
      }
    }
  }
  if (ok && pairs.count > 0) {
    qsort(pairs.data, pairs.count / 2, 2 * sizeof pairs.data[0], by_function);
  }
  for (size_t i = 0; ok && i < pairs.count; i += 2) {
    uint32_t index;
    if (map_get(&round->index_of, pairs.data[i], &index)) {
      struct function_sites *entry = &round->functions.data[index];
      entry->first = entry->count == 0 ? (uint32_t)round->sites.count : entry->first;
      entry->count++;
      ok = vec_push(&round->sites, ((struct ir_op){pairs.data[i + 1]}));
    }
  }
  vec_release(&pairs);
  return ok;
}

/* Function that an op is in, as an index; false outside of functions. */
static bool enclosing_function(const struct ir_module *module, const struct round *round, struct ir_op op,
                               uint32_t *index) {
  while (op.id != 0 && ir_op_code(module, op) != IR_OP_FUNC_FUNC) {
    struct ir_block block = ir_op_get(module, op)->parent;
    if (block.id == 0) {
      return false;
    }
    op = ir_region_get(module, ir_block_get(module, block)->parent)->parent;
  }
  return op.id != 0 && map_get(&round->index_of, op.id, index);
}

/* What all call sites pass for argument `index`; kind NONE (id of none_type) when they differ. */
static struct ir_type site_type(const struct ir_module *module, const struct round *round,
                                const struct function_sites *group, uint32_t index) {
  struct ir_type type = {0};
  for (uint32_t i = 0; i < group->count; i++) {
    struct ir_op call = round->sites.data[group->first + i];
    if (index >= ir_op_get(module, call)->operand_count) {
      return module->none_type;
    }
    struct ir_type here = ir_value_type(module, ir_op_operand(module, call, index));
    if (type.id != 0 && type.id != here.id) {
      return module->none_type;
    }
    type = here;
  }
  return type.id != 0 ? type : module->none_type;
}

/* The constant that all call sites pass for argument `index`. */
static bool site_constant(struct infer *infer, const struct round *round, const struct function_sites *group,
                          uint32_t index, struct fold_const *out) {
  for (uint32_t i = 0; i < group->count; i++) {
    struct fold_const here;
    struct ir_op call = round->sites.data[group->first + i];
    if (index >= ir_op_get(infer->module, call)->operand_count
        || !infer_constant(infer, ir_op_operand(infer->module, call, index), &here)) {
      return false;
    }
    if (i > 0 && (here.count != out->count || memcmp(here.v, out->v, here.count * sizeof here.v[0]) != 0)) {
      return false;
    }
    *out = here;
  }
  return group->count > 0;
}

/* True when an argument of this type may carry shape arithmetic. */
static bool may_be_shape(const struct ir_module *module, struct ir_type type) {
  struct shape shape;
  if (!shape_from_type(module, type, &shape)) {
    return false;
  }
  int64_t elements = shape_elements(&shape);
  const struct ir_type_data *element = ir_type_get(module, shape.element);
  return elements >= 0 && elements <= FOLD_MAX_COUNT && element->kind == IR_TYPE_SCALAR
         && dtype_is_integral((enum dtype)element->dtype);
}

static void pass_arguments(struct infer *infer, struct round *round, const struct function_sites *group) {
  struct ir_module *module = infer->module;
  struct ir_block body = ir_function_body(module, group->function);
  if (body.id == 0) {
    return;
  }
  uint32_t count = ir_block_get(module, body)->argument_count;
  for (uint32_t i = 0; i < count; i++) {
    struct ir_value argument = ir_block_argument(module, body, i);
    struct ir_type type = site_type(module, round, group, i);
    if (types_agree(module, type, ir_value_type(module, argument))) {
      infer_refine_value(infer, argument, type);
    }
    uint32_t known;
    struct fold_const constant;
    if (may_be_shape(module, ir_value_type(module, argument))
        && !map_get(&infer->argument_constants, argument.id, &known)
        && site_constant(infer, round, group, i, &constant)) {
      if (!vec_push(&infer->constants, constant)
          || !map_set(&infer->argument_constants, argument.id, (uint32_t)infer->constants.count - 1)) {
        infer->status = STATUS_MEMORY;
        return;
      }
      infer->has_changed = true;
    }
  }
}

/* Rewrites function_type after the types of arguments and returned values. */
static void refresh_signature(struct infer *infer, struct ir_op function) {
  struct ir_module *module = infer->module;
  struct ir_type type = ir_function_type(module, function);
  struct ir_block body = ir_function_body(module, function);
  if (type.id == 0 || body.id == 0 || ir_type_get(module, type)->kind != IR_TYPE_FUNCTION) {
    return;
  }
  const struct ir_type_data data = *ir_type_get(module, type);
  struct ir_op last = ir_block_terminator(module, body);
  uint32_t results = data.count - data.input_count;
  if (last.id == 0 || ir_op_code(module, last) != IR_OP_FUNC_RETURN || ir_op_get(module, last)->operand_count != results
      || ir_block_get(module, body)->argument_count != data.input_count) {
    return;
  }
  struct ir_type *types = malloc((data.count + 1) * sizeof *types);
  if (types == NULL) {
    infer->status = STATUS_MEMORY;
    return;
  }
  bool is_same = true;
  for (uint32_t i = 0; i < data.count; i++) {
    struct ir_type stated = {module->lists.data[data.first + i]};
    struct ir_value value =
        i < data.input_count ? ir_block_argument(module, body, i) : ir_op_operand(module, last, i - data.input_count);
    types[i] = ir_value_type(module, value);
    struct shape before, after;
    bool is_more_static = shape_from_type(module, stated, &before) && shape_from_type(module, types[i], &after)
                          && shape_elements(&before) < 0 && shapes_agree(&before, &after);
    if (!is_more_static) {
      types[i] = stated;
    }
    is_same &= types[i].id == stated.id;
  }
  if (!is_same) {
    struct ir_type refined = ir_type_list(module, IR_TYPE_FUNCTION, types, data.count, data.input_count);
    struct ir_attr attr = refined.id != 0 ? ir_attr_type(module, refined) : (struct ir_attr){0};
    if (attr.id != 0 && ir_op_set_attr(module, function, "function_type", attr) && refined.id != type.id) {
      infer->has_changed = true;
    }
  }
  free(types);
}

/* Visits a function; when its signature became more static, its callers are stale. */
static void refine_function(struct infer *infer, struct round *round, struct function_sites *entry) {
  entry->is_stale = false;
  infer->has_changed = false;
  infer_region(infer, entry->function, 0);
  if (infer->has_changed) {
    entry->is_stale = true; /* a loop or an earlier op may profit */
  }
  infer->has_changed = false;
  refresh_signature(infer, entry->function);
  for (uint32_t i = 0; infer->has_changed && i < entry->count; i++) {
    uint32_t caller;
    if (enclosing_function(infer->module, round, round->sites.data[entry->first + i], &caller)) {
      round->functions.data[caller].is_stale = true;
    }
  }
}

static void refine_in_rounds(struct infer *infer) {
  struct round round = {0};
  if (!round_collect(infer, &round)) {
    infer->status = STATUS_MEMORY;
    round_release(&round);
    return;
  }
  bool is_stale = true;
  infer->quiet++;
  for (unsigned i = 0; i < ROUNDS_MAX && is_stale && infer->status == STATUS_OK && !infer->module->out_of_memory; i++) {
    for (size_t f = 0; f < round.functions.count; f++) {
      if (round.functions.data[f].is_stale) {
        refine_function(infer, &round, &round.functions.data[f]);
      }
    }
    is_stale = false;
    for (size_t f = 0; f < round.functions.count; f++) {
      struct function_sites *entry = &round.functions.data[f];
      infer->has_changed = false;
      if (entry->count > 0) {
        pass_arguments(infer, &round, entry);
      }
      entry->is_stale |= infer->has_changed;
      is_stale |= entry->is_stale;
    }
  }
  infer->quiet--;
  round_release(&round);
}

static bool module_has_odd_types(const struct ir_module *module) {
  for (size_t i = 1; i < module->types.count; i++) {
    uint8_t kind = module->types.data[i].kind;
    if (kind == IR_TYPE_MEMREF || kind == IR_TYPE_OPAQUE) {
      return true;
    }
  }
  return false;
}

static bool module_is_dynamic(const struct ir_module *module) {
  for (size_t i = 1; i < module->types.count; i++) {
    const struct ir_type_data *type = &module->types.data[i];
    for (uint32_t d = 0; type->kind == IR_TYPE_TENSOR && d < type->rank; d++) {
      if (!dim_is_static(module->dims.data[type->first + d])) {
        return true;
      }
    }
  }
  return false;
}

enum status analyze_infer(struct ir_module *module, struct diag_list *diags) {
  struct analyze_symbols symbols;
  if (!analyze_symbols_init(&symbols, module)) {
    return STATUS_MEMORY;
  }
  struct infer infer = {.module = module, .diags = diags, .symbols = &symbols};
  infer.reported_count = module->ops.count;
  infer.is_reported = calloc(module->ops.count + 1, 1);
  if (infer.is_reported == NULL) {
    analyze_symbols_release(&symbols);
    return STATUS_MEMORY;
  }
  infer.has_odd_types = module_has_odd_types(module);
  infer.has_dynamic = module_is_dynamic(module);
  if (infer.has_dynamic) {
    verify_bounds(&infer);
    bool has_failed = infer.has_failed;
    refine_in_rounds(&infer);
    infer.has_failed = has_failed;
  }
  if (infer.status == STATUS_OK || infer.status == STATUS_LIMIT) {
    infer.status = STATUS_OK; /* once more with messages */
    infer_region(&infer, module->root, 0);
  }
  free(infer.is_reported);
  map_release(&infer.argument_constants);
  map_release(&infer.fixed_loops);
  vec_release(&infer.meshes);
  vec_release(&infer.constants);
  analyze_symbols_release(&symbols);
  if (infer.status != STATUS_OK) {
    return infer.status;
  }
  if (module->out_of_memory) {
    return STATUS_MEMORY;
  }
  return infer.has_failed ? STATUS_INPUT : STATUS_OK;
}
