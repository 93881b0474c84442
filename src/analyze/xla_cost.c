/* Counts in XLA's convention: sums over regions, calls and functions. Rules of single operations are in xla_cost_ops.c.
 * Source of the convention: xla/service/hlo_cost_analysis.cc of openxla/xla (March 2026). */
#include <string.h>

#include "analyze/xla_cost_int.h"
#include "base/checked.h"

int64_t xla_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    return a < 0 ? INT64_MIN : INT64_MAX;
  }
  return sum;
}

int64_t xla_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  }
  return product;
}

/* ---- sizes ---- */

static void note(struct xla *xla, enum status status) {
  if (xla->status == STATUS_OK) {
    xla->status = status;
  }
}

int64_t xla_elements(struct xla *xla, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(xla->module, type);
  if (data->kind == IR_TYPE_UNRANKED) {
    note(xla, STATUS_UNSUPPORTED);
    return 0;
  }
  if (data->kind != IR_TYPE_TENSOR && data->kind != IR_TYPE_MEMREF) {
    return 0;
  }
  if (!ir_type_is_static(xla->module, type)) {
    note(xla, STATUS_UNSUPPORTED);
    return 0;
  }
  uint64_t count = ir_type_element_count(xla->module, type);
  return count > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)count;
}

static int64_t array_bytes(struct xla *xla, struct ir_type type) {
  enum dtype dtype = (enum dtype)ir_type_get(xla->module, type)->dtype;
  return xla_mul(xla_elements(xla, type), (dtype_bits(dtype) + 7) / 8);
}

int64_t xla_bytes(struct xla *xla, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(xla->module, type);
  if (data->kind == IR_TYPE_TUPLE) {
    return xla_mul(XLA_POINTER_BYTES, data->count);
  }
  return array_bytes(xla, type);
}

int64_t xla_leaf_bytes(struct xla *xla, struct ir_type type) {
  const struct ir_type_data data = *ir_type_get(xla->module, type);
  if (data.kind != IR_TYPE_TUPLE) {
    return array_bytes(xla, type);
  }
  if (xla->depth >= ANALYZE_MAX_DEPTH) {
    note(xla, STATUS_LIMIT);
    return 0;
  }
  xla->depth++;
  int64_t sum = 0;
  for (uint32_t i = 0; i < data.count; i++) {
    sum = xla_add(sum, xla_leaf_bytes(xla, (struct ir_type){xla->module->lists.data[data.first + i]}));
  }
  xla->depth--;
  return sum;
}

int64_t xla_operand_bytes(struct xla *xla, struct ir_op op, uint32_t i) {
  if (i >= ir_op_get(xla->module, op)->operand_count) {
    return 0;
  }
  return xla_bytes(xla, ir_value_type(xla->module, ir_op_operand(xla->module, op, i)));
}

int64_t xla_result_bytes(struct xla *xla, struct ir_op op) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < ir_op_get(xla->module, op)->result_count; i++) {
    sum = xla_add(sum, xla_leaf_bytes(xla, ir_value_type(xla->module, ir_op_result(xla->module, op, i))));
  }
  return sum;
}

int64_t xla_operand_elements(struct xla *xla, struct ir_op op, uint32_t i) {
  if (i >= ir_op_get(xla->module, op)->operand_count) {
    return 0;
  }
  return xla_elements(xla, ir_value_type(xla->module, ir_op_operand(xla->module, op, i)));
}

int64_t xla_result_elements(struct xla *xla, struct ir_op op, uint32_t i) {
  if (i >= ir_op_get(xla->module, op)->result_count) {
    return 0;
  }
  return xla_elements(xla, ir_value_type(xla->module, ir_op_result(xla->module, op, i)));
}

void xla_set_operand(struct xla_props *props, uint32_t i, int64_t bytes) {
  if (i < ANALYZE_XLA_OPERANDS) {
    props->cost.operand_bytes[i] = bytes;
  }
}

/* ---- one op ---- */

void xla_default(struct xla *xla, struct ir_op op, struct xla_props *props) {
  uint32_t operands = ir_op_get(xla->module, op)->operand_count;
  memset(props, 0, sizeof *props);
  props->is_timed = true;
  props->cost.operand_count = operands;
  props->cost.output_bytes = xla_result_bytes(xla, op);
  props->cost.bytes_accessed = props->cost.output_bytes;
  for (uint32_t i = 0; i < operands; i++) {
    int64_t bytes = xla_operand_bytes(xla, op, i);
    xla_set_operand(props, i, bytes);
    props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, bytes);
  }
}

void xla_nothing(struct xla *xla, struct ir_op op, struct xla_props *props) {
  memset(props, 0, sizeof *props);
  props->cost.operand_count = ir_op_get(xla->module, op)->operand_count;
}

static double slower(double seconds, int64_t value, double rate, double min_latency_s) {
  if (rate == 0.0) {
    return seconds;
  }
  double time = (double)value / rate;
  time = time > min_latency_s ? time : min_latency_s;
  return time > seconds ? time : seconds;
}

double xla_seconds(const struct xla *xla, const struct analyze_xla_cost *cost) {
  const struct analyze_xla_options *options = &xla->options;
  double seconds = slower(0.0, cost->flops, options->flops_per_s, options->min_latency_s);
  seconds = slower(seconds, cost->transcendentals, options->transcendentals_per_s, options->min_latency_s);
  return slower(seconds, cost->bytes_accessed, options->bytes_per_s, options->min_latency_s);
}

/* The op has what its rule looks at; analyze_infer reports ops that do not. async_start of mhlo has no region. */
static bool is_formed(const struct ir_module *module, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(module, op);
  const struct ir_op_info *info = ir_opcode_info((enum ir_opcode)data->opcode);
  if (data->opcode == IR_OP_UNKNOWN) {
    return true;
  }
  return data->operand_count >= (uint32_t)info->operands_min && data->result_count >= (uint32_t)info->results_min
         && (data->region_count >= (uint32_t)info->regions_min || data->opcode == IR_OP_ASYNC_START);
}

void xla_op(struct xla *xla, struct ir_op op, struct analyze_xla_cost *cost) {
  struct xla_props props;
  xla_rule rule = is_formed(xla->module, op) ? xla_rule_find(ir_op_code(xla->module, op)) : xla_nothing;
  if (xla->depth >= ANALYZE_MAX_DEPTH) {
    note(xla, STATUS_LIMIT);
    memset(cost, 0, sizeof *cost);
    return;
  }
  xla->depth++;
  if (rule != xla_nothing && xla_is_dropped(xla, op)) {
    xla_nothing(xla, op, &props);
  } else if (rule != xla_nothing && xla_expand(xla, op, &props)) {
    /* counted */
  } else if (rule != NULL) {
    rule(xla, op, &props);
  } else {
    xla_default(xla, op, &props);
  }
  xla->depth--;
  if (props.is_timed) {
    props.cost.optimal_seconds = xla_seconds(xla, &props.cost);
  }
  *cost = props.cost;
}

/* ---- sums ---- */

void xla_accumulate(struct analyze_xla_cost *sum, const struct analyze_xla_cost *cost) {
  sum->flops = xla_add(sum->flops, cost->flops);
  sum->transcendentals = xla_add(sum->transcendentals, cost->transcendentals);
  sum->bytes_accessed = xla_add(sum->bytes_accessed, cost->bytes_accessed);
  sum->optimal_seconds += cost->optimal_seconds;
}

void xla_add_tuple(struct xla *xla, uint32_t count, struct analyze_xla_cost *sum) {
  struct analyze_xla_cost tuple = {.bytes_accessed = xla_mul(XLA_POINTER_BYTES, count)};
  tuple.optimal_seconds = xla_seconds(xla, &tuple);
  xla_accumulate(sum, &tuple);
}

/* The operands are the results of one op: in optimised HLO that op is the root, without a tuple. */
static bool is_whole_result(const struct ir_module *module, struct ir_op op) {
  uint32_t count = ir_op_get(module, op)->operand_count;
  struct ir_op source = ir_value_get(module, ir_op_operand(module, op, 0))->op;
  bool is_whole = source.id != 0 && ir_op_get(module, source)->result_count == count;
  for (uint32_t i = 0; i < count && is_whole; i++) {
    is_whole = ir_op_operand(module, op, i).id == ir_op_result(module, source, i).id;
  }
  return is_whole;
}

/* `splats`: constants of equal elements that the computation has already. */
static void sum_block(struct xla *xla, struct ir_block block, struct map *splats, struct analyze_xla_cost *sum) {
  for (struct ir_op op = ir_block_first(xla->module, block); op.id != 0; op = ir_op_next(xla->module, op)) {
    struct analyze_xla_cost cost;
    if (xla_is_splat(xla, op) || xla_is_dropped(xla, op)) {
      continue;
    }
    xla_add_splats(xla, op, splats, sum);
    if (ir_opcode_has(ir_op_code(xla->module, op), IR_TRAIT_TERMINATOR)) {
      uint32_t count = ir_op_get(xla->module, op)->operand_count;
      if (count > 1 && !(xla->is_scheduled && is_whole_result(xla->module, op))) {
        xla_add_tuple(xla, count, sum);
      }
      continue;
    }
    xla_op(xla, op, &cost);
    xla_accumulate(sum, &cost);
  }
}

void xla_region(struct xla *xla, struct ir_op op, uint32_t region, struct analyze_xla_cost *sum) {
  memset(sum, 0, sizeof *sum);
  if (region >= ir_op_get(xla->module, op)->region_count) {
    return;
  }
  struct ir_block block = ir_region_entry(xla->module, ir_op_region(xla->module, op, region));
  struct map splats = {0};
  for (; block.id != 0; block = ir_block_get(xla->module, block)->next) {
    sum_block(xla, block, &splats, sum);
  }
  map_release(&splats);
}

void xla_function(struct xla *xla, struct ir_op function, struct analyze_xla_cost *sum) {
  uint32_t index;
  if (map_get(&xla->function_index, function.id, &index)) {
    *sum = xla->functions.data[index];
    return;
  }
  /* A recursive call (refused by analyze_calls) meets the empty sum that stands here meanwhile. */
  memset(sum, 0, sizeof *sum);
  index = (uint32_t)xla->functions.count;
  if (!vec_push(&xla->functions, *sum) || !map_set(&xla->function_index, function.id, index)) {
    note(xla, STATUS_MEMORY);
    return;
  }
  xla_region(xla, function, 0, sum);
  xla->functions.data[index] = *sum;
}

static void xla_init(struct xla *xla, const struct ir_module *module, const struct analyze_xla_options *options) {
  memset(xla, 0, sizeof *xla);
  xla->module = module;
  /* XLA and the importer of HLO text leave it on what they made from HLO */
  xla->is_hlo = module->root.id != 0 && ir_op_attr(module, module->root, "mhlo.is_dynamic").id != 0;
  xla->is_scheduled = xla->is_hlo && ir_op_attr(module, module->root, "mhlo.is_scheduled").id != 0;
  if (options != NULL) {
    xla->options = *options;
  }
}

static void xla_release(struct xla *xla) {
  map_release(&xla->function_index);
  vec_release(&xla->functions);
}

enum status analyze_xla_op(const struct ir_module *module, struct ir_op op, const struct analyze_xla_options *options,
                           struct analyze_xla_cost *cost) {
  struct xla xla;
  xla_init(&xla, module, options);
  xla_op(&xla, op, cost);
  xla_release(&xla);
  return xla.status;
}

enum status analyze_xla_function(const struct ir_module *module, struct ir_op function,
                                 const struct analyze_xla_options *options, struct analyze_xla_cost *cost) {
  struct xla xla;
  struct analyze_symbols symbols;
  memset(cost, 0, sizeof *cost);
  if (!analyze_symbols_init(&symbols, module)) {
    return STATUS_MEMORY;
  }
  xla_init(&xla, module, options);
  xla.symbols = &symbols;
  xla_function(&xla, function, cost);
  xla_release(&xla);
  analyze_symbols_release(&symbols);
  return xla.status;
}
