/* Attribute values and operand forms of single operations. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyze/verify_int.h"
#include "base/strbuf.h"

/* Offset of the word `name` in the text of an op, the op's own when it is not there. */
static size_t attribute_offset(const struct infer *infer, struct ir_op op, const char *name) {
  const struct ir_op_data *data = ir_op_get(infer->module, op);
  const struct source *source = &infer->module->source;
  size_t length = strlen(name);
  uint32_t next = data->next.id != 0 ? ir_op_get(infer->module, data->next)->offset : 0;
  size_t end = next > data->offset ? next : data->offset + 4096;
  end = end < source->length ? end : source->length;
  for (size_t i = data->offset; source->text != NULL && i + length <= end; i++) {
    if (memcmp(source->text + i, name, length) == 0) {
      return i;
    }
  }
  return data->offset;
}

static void error_at(struct infer *infer, struct ir_op op, size_t offset, enum diag_id id, const char *text) {
  infer->has_failed = true;
  bool is_silent = infer->quiet > 0 || (op.id < infer->reported_count && infer->is_reported[op.id] != 0);
  if (!is_silent) {
    if (op.id < infer->reported_count) {
      infer->is_reported[op.id] = 1;
    }
    diag_at(infer->diags, id, &infer->module->source, offset, "'%s': %s",
            ir_text(infer->module, ir_op_get(infer->module, op)->name), text);
  }
}

void infer_error_at_attribute(struct infer *infer, struct ir_op op, const char *name, enum diag_id id,
                              const char *text) {
  error_at(infer, op, attribute_offset(infer, op, name), id, text);
}

void infer_error_at_braces(struct infer *infer, struct ir_op op, const char *name, enum diag_id id, const char *text) {
  size_t begin = ir_op_get(infer->module, op)->offset, found = attribute_offset(infer, op, name), at = found;
  while (at > begin && infer->module->source.text[at] != '{') {
    at--;
  }
  error_at(infer, op, at > begin ? at : found, id, text);
}

static bool fail_value(struct infer *infer, struct ir_op op, const char *text) {
  infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "%s", text);
  return false;
}

static bool fail_operand(struct infer *infer, struct ir_op op, const char *text) {
  infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "%s", text);
  return false;
}

static bool is_kind(const struct ir_module *module, struct ir_type type, enum ir_type_kind kind) {
  return ir_type_get(module, type)->kind == (uint8_t)kind;
}

/* Integer field of a STRUCT attribute of an op. */
static bool struct_int(const struct ir_module *module, struct ir_attr attr, const char *name, int64_t *out) {
  struct ints list;
  struct ir_attr field = ir_attr_field(module, attr, name);
  bool ok = ints_from_attr(module, field, &list) && list.count == 1;
  *out = ok ? list.v[0] : 0;
  return ok;
}

/* ---- results with a stated accuracy ---- */

bool verify_result_accuracy(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr attr = ir_op_attr(module, op, "result_accuracy");
  struct ir_attr mode = attr.id != 0 ? ir_attr_field(module, attr, "mode") : (struct ir_attr){0};
  if (mode.id == 0) {
    return true;
  }
  const struct ir_attr_data *data = ir_attr_get(module, mode);
  const char *word = ir_text(module, data->kind == IR_ATTR_ENUM ? data->text2 : data->text);
  bool is_free = strcmp(word, "TOLERANCE") == 0;
  static const char *const names[] = {"atol", "rtol", "ulps"};
  for (size_t i = 0; !is_free && i < 3; i++) {
    struct ir_attr value = ir_attr_field(module, attr, names[i]);
    if (value.id != 0 && ir_attr_get(module, value)->integer != 0) { /* float bits: zero is all zeros */
      return fail_value(infer, op, "tolerances of 'result_accuracy' must be zero unless its mode is TOLERANCE");
    }
  }
  return true;
}

/* ---- composite ---- */

/* "namespace.op": identifiers joined by dots. */
static bool is_qualified(const char *name) {
  unsigned parts = 0;
  while (true) {
    if (!isalpha((unsigned char)*name) && *name != '_' && *name != '$') {
      return false;
    }
    while (isalnum((unsigned char)*name) || *name == '_' || *name == '-' || *name == '$') {
      name++;
    }
    parts++;
    if (*name == '\0') {
      return parts >= 2;
    }
    if (*name++ != '.') {
      return false;
    }
  }
}

bool verify_composite(struct infer *infer, struct ir_op op) {
  return is_qualified(enum_of(infer->module, op, "name"))
         || fail_value(infer, op, "'name' is not of the form \"namespace.op\" (C1)");
}

/* ---- custom_call ---- */

/* Element i of an ARRAY attribute, 0 when it has none. */
static struct ir_attr item_of(const struct ir_module *module, struct ir_attr array, uint32_t i) {
  const struct ir_attr_data *data = ir_attr_get(module, array);
  bool has_item = data->kind == IR_ATTR_ARRAY && i < data->list_count;
  return has_item ? (struct ir_attr){module->lists.data[data->list_first + i]} : (struct ir_attr){0};
}

/* A layout is a permutation of the tensor's dimensions, and empty for anything else. */
static bool check_layout(struct infer *infer, struct ir_op op, struct ir_attr layout, struct ir_type type) {
  struct shape shape;
  struct ints order;
  if (!ints_from_attr(infer->module, layout, &order)) {
    return true;
  }
  if (is_kind(infer->module, type, IR_TYPE_TUPLE)) {
    return fail_operand(infer, op, "tuples with layouts are not supported");
  }
  bool is_tensor = shape_from_type(infer->module, type, &shape);
  if (!is_tensor) {
    return order.count == 0 || fail_value(infer, op, "only tensors have a layout");
  }
  bool is_seen[SHAPE_MAX_RANK] = {false};
  bool is_valid = order.count == shape.rank;
  for (uint32_t i = 0; is_valid && i < order.count; i++) {
    is_valid = order.v[i] >= 0 && order.v[i] < (int64_t)shape.rank && !is_seen[order.v[i]];
    if (is_valid) {
      is_seen[order.v[i]] = true;
    }
  }
  return is_valid || fail_value(infer, op, "a layout is not a permutation of the dimensions");
}

static bool check_layouts(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr operands = ir_op_attr(module, op, "operand_layouts"),
                 results = ir_op_attr(module, op, "result_layouts");
  if (operands.id == 0 && results.id == 0) {
    return true;
  }
  if (operands.id == 0 || results.id == 0) {
    return fail_value(infer, op, "layouts must be given for operands and results or for neither");
  }
  uint32_t operand_count = ir_op_get(module, op)->operand_count, result_count = ir_op_get(module, op)->result_count;
  const struct ir_type_data *tuple = NULL;
  if (result_count == 1) {
    const struct ir_type_data *data = ir_type_get(module, ir_value_type(module, ir_op_result(module, op, 0)));
    tuple = data->kind == IR_TYPE_TUPLE ? data : NULL;
  }
  uint32_t wanted = tuple != NULL ? tuple->count : result_count;
  if (ir_attr_length(module, operands) != operand_count || ir_attr_length(module, results) != wanted) {
    return fail_value(infer, op, "the number of layouts is not that of operands and results");
  }
  for (uint32_t i = 0; i < operand_count; i++) {
    if (!check_layout(infer, op, item_of(module, operands, i), ir_value_type(module, ir_op_operand(module, op, i)))) {
      return false;
    }
  }
  for (uint32_t i = 0; i < wanted; i++) {
    struct ir_type type = tuple != NULL ? (struct ir_type){module->lists.data[tuple->first + i]}
                                        : ir_value_type(module, ir_op_result(module, op, i));
    if (!check_layout(infer, op, item_of(module, results, i), type)) {
      return false;
    }
  }
  return true;
}

/* Type inside of tuples by a list of indices; 0 when one is out of bounds. */
static struct ir_type type_at(const struct ir_module *module, struct ir_type type, const struct ints *path,
                              uint32_t from) {
  for (uint32_t i = from; i < path->count; i++) {
    const struct ir_type_data *data = ir_type_get(module, type);
    if (data->kind != IR_TYPE_TUPLE || path->v[i] < 0 || path->v[i] >= (int64_t)data->count) {
      return (struct ir_type){0};
    }
    type.id = module->lists.data[data->first + (uint32_t)path->v[i]];
  }
  return type;
}

static bool check_alias(struct infer *infer, struct ir_op op, struct ir_attr alias) {
  struct ir_module *module = infer->module;
  struct ints output = {0}, inside = {0};
  int64_t operand;
  uint32_t operands = ir_op_get(module, op)->operand_count, results = ir_op_get(module, op)->result_count;
  if (alias.id == 0 || !struct_int(module, alias, "operand_index", &operand)) {
    return true;
  }
  ints_from_attr(module, ir_attr_field(module, alias, "output_tuple_indices"), &output);
  ints_from_attr(module, ir_attr_field(module, alias, "operand_tuple_indices"), &inside);
  if (operand < 0 || operand >= (int64_t)operands) {
    return fail_value(infer, op, "'operand_index' of an alias is out of range");
  }
  struct ir_type from =
      type_at(module, ir_value_type(module, ir_op_operand(module, op, (uint32_t)operand)), &inside, 0);
  struct ir_type to = {0};
  if (results == 1) {
    to = type_at(module, ir_value_type(module, ir_op_result(module, op, 0)), &output, 0);
  } else if (output.count > 0 && output.v[0] >= 0 && output.v[0] < (int64_t)results) {
    to = type_at(module, ir_value_type(module, ir_op_result(module, op, (uint32_t)output.v[0])), &output, 1);
  }
  if (from.id == 0 || to.id == 0) {
    return fail_value(infer, op, "tuple indices of an alias are out of bounds");
  }
  return types_agree(module, from, to) || fail_value(infer, op, "the two sides of an alias have different types");
}

bool verify_custom_call(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr aliases = ir_op_attr(module, op, "output_operand_aliases");
  struct ir_attr config = ir_op_attr(module, op, "backend_config");
  int64_t version = int_of(module, op, "api_version", 1);
  if (!check_layouts(infer, op)) {
    return false;
  }
  for (uint32_t i = 0; aliases.id != 0 && i < ir_attr_length(module, aliases); i++) {
    if (!check_alias(infer, op, item_of(module, aliases, i))) {
      return false;
    }
  }
  if (version < 0 || version > 4) {
    return fail_value(infer, op, "'api_version' is not in [0, 4] (I5)");
  }
  struct ir_attr called = ir_op_attr(module, op, "called_computations");
  for (uint32_t i = 0; called.id != 0 && i < ir_attr_length(module, called); i++) {
    if (ir_attr_get(module, item_of(module, called, i))->kind != IR_ATTR_SYMBOL) {
      return fail_value(infer, op, "an entry of 'called_computations' is no name of a function (I6)");
    }
  }
  if (config.id != 0) {
    uint8_t kind = ir_attr_get(module, config)->kind;
    if (version == 4 && kind != IR_ATTR_DICT) {
      return fail_value(infer, op, "'backend_config' of a call with api_version 4 must be a dictionary");
    }
    if (version < 4 && kind == IR_ATTR_DICT) {
      return fail_value(infer, op, "'backend_config' of a call with this api_version must be a string");
    }
  }
  return verify_buffers(infer, op);
}

/* ---- infeed, send, recv ---- */

/* All results but the last are tensors, the last is a token. */
static bool check_stream_results(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t results = ir_op_get(module, op)->result_count;
  for (uint32_t i = 0; i < results; i++) {
    struct ir_type type = ir_value_type(module, ir_op_result(module, op, i));
    bool is_token = is_kind(module, type, IR_TYPE_TOKEN) || is_kind(module, type, IR_TYPE_OPAQUE);
    bool is_data = (is_kind(module, type, IR_TYPE_TENSOR) && ir_type_is_static(module, type))
                   || is_kind(module, type, IR_TYPE_TUPLE) || is_kind(module, type, IR_TYPE_OPAQUE);
    if (i + 1 < results ? !is_data : !is_token) {
      infer_error_rule(infer, op, i + 1 < results ? RULE_STREAM_DATA : RULE_STREAM_TOKEN, DIAG_E0205_RESULT_TYPE,
                       "results must be tensors of known size and a token at the end, result %u is not", i);
      return false;
    }
  }
  return true;
}

bool verify_infeed(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr layout = ir_op_attr(module, op, "layout");
  if (!check_stream_results(infer, op)) {
    return false;
  }
  if (layout.id == 0) {
    return true;
  }
  uint32_t wanted = ir_op_get(module, op)->result_count - 1;
  if (ir_attr_get(module, layout)->kind != IR_ATTR_ARRAY || ir_attr_length(module, layout) != wanted) {
    return fail_value(infer, op, "'layout' does not have one entry per data result");
  }
  for (uint32_t i = 0; i < wanted; i++) {
    struct ir_attr item = item_of(module, layout, i);
    struct ints order;
    bool is_list = ir_attr_get(module, item)->kind == IR_ATTR_ARRAY && ints_from_attr(module, item, &order);
    if (!is_list) {
      return fail_value(infer, op, "an entry of 'layout' is not a list of integers");
    }
  }
  return true;
}

/* Kind of the channel: 1 between devices, 2 to the host, 3 from the host. */
static bool check_channel_type(struct infer *infer, struct ir_op op, int64_t host_type) {
  int64_t type;
  struct ir_attr channel = ir_op_attr(infer->module, op, "channel_handle");
  bool is_host = int_of(infer->module, op, "is_host_transfer", 0) != 0;
  if (channel.id == 0 || !struct_int(infer->module, channel, "type", &type)) {
    return true;
  }
  return type == (is_host ? host_type : 1)
         || fail_value(infer, op, "the type of the channel does not fit 'is_host_transfer' (C1)");
}

bool verify_send(struct infer *infer, struct ir_op op) {
  return check_channel_type(infer, op, 2);
}

bool verify_recv(struct infer *infer, struct ir_op op) {
  return check_channel_type(infer, op, 3) && check_stream_results(infer, op);
}

/* ---- operands of fixed form ---- */

static bool check_length(struct infer *infer, struct ir_op op, uint32_t operand) {
  struct shape shape;
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, operand), &shape)) {
    return true;
  }
  return shape.rank != 1 || shape_elements(&shape) >= 0
         || fail_operand(infer, op, "the shape operand has an unknown number of elements");
}

bool verify_rng(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct shape a, b;
  shape_of(module, ir_op_operand(module, op, 0), &a);
  shape_of(module, ir_op_operand(module, op, 1), &b);
  if (!elements_agree(module, a.element, b.element)) {
    infer_error_rule(infer, op, RULE_OPERANDS_ELEMENT, DIAG_E0204_OPERAND_TYPE,
                     "'a' and 'b' have different element types");
    return false;
  }
  const struct ir_type_data *element = ir_type_get(module, a.element);
  bool is_normal = strcmp(enum_of(module, op, "rng_distribution"), "NORMAL") == 0 && element->kind == IR_TYPE_SCALAR;
  if (is_normal && dtype_class_of((enum dtype)element->dtype) != DTYPE_CLASS_FLOAT) {
    return fail_operand(infer, op, "a normal distribution needs floating-point elements (C2)");
  }
  return check_length(infer, op, 2);
}

/* The shape operand of dynamic_broadcast_in_dim and dynamic_reshape has a known length. */
bool verify_static_shape(struct infer *infer, struct ir_op op) {
  return check_length(infer, op, 1) && verify_same_quantization(infer, op);
}

/* Hints name operand dimensions, each at most once. */
bool verify_dynamic_broadcast(struct infer *infer, struct ir_op op) {
  struct shape operand;
  struct ints hints, more;
  if (!verify_static_shape(infer, op) || !shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand)) {
    return false;
  }
  ints_of(infer->module, op, "known_expanding_dimensions", &hints);
  ints_of(infer->module, op, "known_nonexpanding_dimensions", &more);
  if (!infer_check_dims_rule(infer, op, "known_expanding_dimensions", &hints, operand.rank, RULE_EXPANDING_RANGE,
                             RULE_HINT_UNIQUE)
      || !infer_check_dims_rule(infer, op, "known_nonexpanding_dimensions", &more, operand.rank,
                                RULE_NONEXPANDING_RANGE, RULE_HINT_UNIQUE)) {
    return false;
  }
  for (uint32_t i = 0; i < more.count && hints.count < 2 * SHAPE_MAX_RANK; i++) {
    hints.v[hints.count++] = more.v[i];
  }
  return infer_check_dims_rule(infer, op, "known expanding and nonexpanding dimensions", &hints, operand.rank,
                               RULE_EXPANDING_RANGE, RULE_HINT_UNIQUE);
}

bool verify_dynamic_gather(struct infer *infer, struct ir_op op) {
  struct shape operand, sizes;
  bool is_known = shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand)
                  && shape_of(infer->module, ir_op_operand(infer->module, op, 2), &sizes) && sizes.rank == 1;
  return !is_known || dims_agree(sizes.dims[0], operand.rank)
         || fail_operand(infer, op, "the slice sizes do not have one entry per operand dimension (C20)");
}

bool verify_batch_norm_grad(struct infer *infer, struct ir_op op) {
  struct shape operand, gradient;
  shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand);
  shape_of(infer->module, ir_op_operand(infer->module, op, 4), &gradient);
  return shapes_agree(&operand, &gradient)
         || fail_operand(infer, op, "operand and 'grad_output' have different shapes (C3)");
}

bool verify_dynamic_pad(struct infer *infer, struct ir_op op) {
  struct shape operand, amounts;
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand)) {
    return true;
  }
  struct shape value;
  shape_of(infer->module, ir_op_operand(infer->module, op, 1), &value);
  if (!elements_agree(infer->module, value.element, operand.element)) {
    return fail_operand(infer, op, "the padding value has another element type than the operand (C1)");
  }
  for (uint32_t i = 2; i < 5; i++) {
    bool is_known = shape_of(infer->module, ir_op_operand(infer->module, op, i), &amounts) && amounts.rank == 1;
    if (is_known && !dims_agree(amounts.dims[0], operand.rank)) {
      return fail_operand(infer, op, "padding does not have one entry per dimension (C2)");
    }
  }
  struct fold_const interior;
  if (infer_constant(infer, ir_op_operand(infer->module, op, 4), &interior)) {
    for (uint32_t i = 0; i < interior.count; i++) {
      if (interior.v[i] < 0) {
        return fail_operand(infer, op, "interior padding is negative (C3)");
      }
    }
  }
  return true;
}

bool verify_start_indices(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  uint32_t first = ir_op_code(module, op) == IR_OP_DYNAMIC_SLICE ? 1 : 2;
  for (uint32_t i = first + 1; i < ir_op_get(module, op)->operand_count; i++) {
    struct shape a, b;
    shape_of(module, ir_op_operand(module, op, first), &a);
    shape_of(module, ir_op_operand(module, op, i), &b);
    if (a.element.id != b.element.id) {
      return fail_operand(infer, op,
                          first == 1 ? "start indices have different element types (C3)"
                                     : "start indices have different element types (C5)");
    }
  }
  return true;
}

/* ---- attribute values ---- */

bool verify_reduce_precision(struct infer *infer, struct ir_op op) {
  if (int_of(infer->module, op, "exponent_bits", 1) < 1) {
    return fail_value(infer, op, "'exponent_bits' is not positive (C2)");
  }
  return int_of(infer->module, op, "mantissa_bits", 0) >= 0
         || fail_value(infer, op, "'mantissa_bits' is negative (C3)");
}

bool verify_fft(struct infer *infer, struct ir_op op) {
  struct shape from, to;
  struct ir_module *module = infer->module;
  const char *type = enum_of(module, op, "fft_type");
  bool is_real = strcmp(type, "RFFT") == 0, is_inverse_real = strcmp(type, "IRFFT") == 0;
  if (!shape_of(module, ir_op_operand(module, op, 0), &from) || !shape_of(module, ir_op_result(module, op, 0), &to)) {
    return true;
  }
  enum dtype in = (enum dtype)ir_type_get(module, from.element)->dtype;
  enum dtype out = (enum dtype)ir_type_get(module, to.element)->dtype;
  if (is_real && in != DTYPE_F32 && in != DTYPE_F64) {
    return fail_operand(infer, op, "a real transform takes f32 or f64 (C2)");
  }
  if (!is_real && dtype_class_of(in) != DTYPE_CLASS_COMPLEX) {
    return fail_operand(infer, op, "a complex transform takes complex elements (C2)");
  }
  bool is_single = in == DTYPE_F32 || in == DTYPE_C64;
  enum dtype wanted = is_inverse_real ? (is_single ? DTYPE_F32 : DTYPE_F64) : (is_single ? DTYPE_C64 : DTYPE_C128);
  if (out != wanted) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "the result must have elements of type %s (C2)", dtype_name(wanted));
    return false;
  }
  return true;
}

/* At most one entry per operand, each of them a precision. */
static bool check_precision(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct ir_attr attr = ir_op_attr(module, op, "precision_config");
  if (attr.id == 0) {
    return true;
  }
  if (ir_attr_length(module, attr) > 2) {
    infer_error_rule(infer, op, RULE_PRECISION, DIAG_E0206_ATTRIBUTE_VALUE,
                     "'precision_config' has more than one entry per operand");
    return false;
  }
  for (uint32_t i = 0; i < ir_attr_length(module, attr); i++) {
    struct ir_attr item = item_of(module, attr, i);
    uint8_t kind = item.id != 0 ? ir_attr_get(module, item)->kind : (uint8_t)IR_ATTR_ENUM;
    const char *word = kind == IR_ATTR_ENUM && item.id != 0 ? ir_text(module, ir_attr_get(module, item)->text2) : "";
    bool is_word =
        item.id == 0 || strcmp(word, "DEFAULT") == 0 || strcmp(word, "HIGH") == 0 || strcmp(word, "HIGHEST") == 0;
    if (!is_word && kind != IR_ATTR_OPAQUE) {
      return fail_value(infer, op, "an entry of 'precision_config' is not DEFAULT, HIGH or HIGHEST");
    }
  }
  return true;
}

bool verify_precision(struct infer *infer, struct ir_op op) {
  return check_precision(infer, op);
}

/* Combinations that some hardware has (the presets of DotAlgorithm in the specification). */
static bool is_supported_algorithm(enum dtype lhs, enum dtype rhs, enum dtype sum, const int64_t *counts,
                                   bool is_imprecise) {
  static const struct {
    uint8_t lhs, sum;
    int8_t lhs_parts, rhs_parts, products;
    bool is_imprecise;
  } known[] = {
      {DTYPE_F16, DTYPE_F16, 1, 1, 1, false},   {DTYPE_F16, DTYPE_F32, 1, 1, 1, false},
      {DTYPE_BF16, DTYPE_BF16, 1, 1, 1, false}, {DTYPE_BF16, DTYPE_F32, 1, 1, 1, false},
      {DTYPE_BF16, DTYPE_F32, 1, 1, 3, false},  {DTYPE_BF16, DTYPE_F32, 1, 1, 6, false},
      {DTYPE_BF16, DTYPE_F32, 1, 1, 9, false},  {DTYPE_TF32, DTYPE_F32, 1, 1, 1, false},
      {DTYPE_TF32, DTYPE_F32, 1, 1, 3, false},  {DTYPE_F32, DTYPE_F32, 1, 1, 1, false},
      {DTYPE_F64, DTYPE_F64, 1, 1, 1, false},   {DTYPE_BF16, DTYPE_F32, 3, 3, 6, false},
  };
  bool is_f8 = dtype_bits(lhs) == 8 && dtype_bits(rhs) == 8 && dtype_is_floating(lhs) && dtype_is_floating(rhs);
  if (is_f8) {
    return sum == DTYPE_F32 && counts[0] == 1 && counts[1] == 1 && counts[2] == 1;
  }
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (known[i].lhs == lhs && lhs == rhs && known[i].sum == sum && known[i].lhs_parts == counts[0]
        && known[i].rhs_parts == counts[1] && known[i].products == counts[2] && known[i].is_imprecise == is_imprecise) {
      return true;
    }
  }
  return false;
}

static enum dtype type_field(const struct ir_module *module, struct ir_attr attr, const char *name) {
  struct ir_attr field = ir_attr_field(module, attr, name);
  if (field.id == 0 || ir_attr_get(module, field)->kind != IR_ATTR_TYPE) {
    return DTYPE_NONE;
  }
  return (enum dtype)ir_type_get(module, ir_attr_get(module, field)->type)->dtype;
}

static bool check_algorithm(struct infer *infer, struct ir_op op) {
  static const char *const names[3] = {"lhs_component_count", "rhs_component_count", "num_primitive_operations"};
  struct ir_module *module = infer->module;
  struct ir_attr attr = ir_op_attr(module, op, "algorithm");
  struct ir_attr precision = ir_op_attr(module, op, "precision_config");
  int64_t counts[3], imprecise = 0;
  if (attr.id == 0 || ir_attr_get(module, attr)->kind != IR_ATTR_STRUCT) {
    return true;
  }
  for (uint32_t i = 0; precision.id != 0 && i < ir_attr_length(module, precision); i++) {
    struct ir_attr item = item_of(module, precision, i);
    if (item.id != 0 && strcmp(ir_text(module, ir_attr_get(module, item)->text2), "DEFAULT") != 0) {
      return fail_value(infer, op, "'precision_config' must be DEFAULT when an algorithm is given (C21)");
    }
  }
  static const char *const types[3] = {"lhs_precision_type", "rhs_precision_type", "accumulation_type"};
  for (uint32_t i = 0; i < 3; i++) {
    enum dtype dtype = type_field(module, attr, types[i]);
    if (dtype != DTYPE_NONE && dtype != DTYPE_TF32 && dtype_class_of(dtype) != DTYPE_CLASS_FLOAT) {
      char text[96];
      snprintf(text, sizeof text, "'%s' of 'algorithm' is no floating-point type (I%u)", types[i], 8 + i);
      infer_error_at_attribute(infer, op, "algorithm", DIAG_E0206_ATTRIBUTE_VALUE, text);
      return false;
    }
  }
  for (uint32_t i = 0; i < 3; i++) {
    if (!struct_int(module, attr, names[i], &counts[i])) {
      return true;
    }
    if (counts[i] < 1) {
      static const char *const troubles[3] = {"'lhs_component_count' must be positive (C22)",
                                              "'rhs_component_count' must be positive (C23)",
                                              "'num_primitive_operations' must be positive (C24)"};
      infer_error_at_attribute(infer, op, "algorithm", DIAG_E0206_ATTRIBUTE_VALUE, troubles[i]);
      return false;
    }
  }
  struct_int(module, attr, "allow_imprecise_accumulation", &imprecise);
  if (!is_supported_algorithm(type_field(module, attr, "lhs_precision_type"),
                              type_field(module, attr, "rhs_precision_type"),
                              type_field(module, attr, "accumulation_type"), counts, imprecise != 0)) {
    infer_error_at_attribute(infer, op, "algorithm", DIAG_E0206_ATTRIBUTE_VALUE,
                             "this combination of types and counts is not an algorithm of any known hardware");
    return false;
  }
  return true;
}

bool verify_dot_general(struct infer *infer, struct ir_op op) {
  struct dot_dims dims;
  return check_precision(infer, op) && check_algorithm(infer, op)
         && (!dot_dims_of(infer->module, op, &dims) || verify_quantized_product(infer, op, -1, -1, &dims.rhs_contract));
}

bool verify_convolution(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct conv_dims dims;
  struct shape lhs, rhs;
  struct ints reversal;
  if (!check_precision(infer, op)) {
    return false;
  }
  if (!conv_dims_of(module, op, &dims)) {
    return true;
  }
  shape_of(module, ir_op_operand(module, op, 0), &lhs);
  shape_of(module, ir_op_operand(module, op, 1), &rhs);
  uint32_t spatial = lhs.rank >= 2 ? lhs.rank - 2 : 0;
  bool has_rank = lhs.is_ranked && lhs.rank >= 2 && rhs.is_ranked && rhs.rank == lhs.rank;
  if (has_rank && ints_of(module, op, "window_reversal", &reversal) && reversal.count != 0
      && reversal.count != spatial) {
    return fail_value(infer, op, "'window_reversal' does not have one entry per spatial dimension (C9)");
  }
  bool is_mixed = lhs.element.id != rhs.element.id && !type_is_quantized(module, lhs.element)
                  && !type_is_quantized(module, rhs.element);
  if (is_mixed && lhs.element.id != 0 && rhs.element.id != 0) {
    return fail_operand(infer, op, "the operands have different element types (C27)");
  }
  if (ir_op_code(module, op) == IR_OP_DYNAMIC_CONV) {
    struct shape padding;
    bool is_table = shape_of(module, ir_op_operand(module, op, 2), &padding);
    if (is_table
        && (padding.rank != 2 || (has_rank && !dims_agree(padding.dims[0], spatial))
            || !dims_agree(padding.dims[1], 2))) {
      return fail_operand(infer, op, "the padding is not a pair per spatial dimension (C4)");
    }
  }
  return verify_quantized_product(infer, op, dims.kernel_output, dims.output_feature, NULL);
}
