/* Shapes, attributes and messages shared by the operation families of inference and by the counts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analyze_int.h"
#include "base/checked.h"
#include "base/strbuf.h"

/* ---- shapes ---- */

void shape_init(struct shape *shape, uint32_t rank, struct ir_type element) {
  shape->is_ranked = rank <= SHAPE_MAX_RANK;
  shape->rank = shape->is_ranked ? rank : 0;
  shape->element = element;
  for (uint32_t i = 0; i < shape->rank; i++) {
    shape->dims[i] = IR_DYNAMIC;
  }
}

bool shape_from_type(const struct ir_module *module, struct ir_type type, struct shape *out) {
  const struct ir_type_data *data = ir_type_get(module, type);
  bool is_tensor = data->kind == IR_TYPE_TENSOR && data->rank <= SHAPE_MAX_RANK;
  out->is_ranked = is_tensor;
  out->rank = is_tensor ? data->rank : 0;
  out->element = (struct ir_type){0};
  if (data->kind == IR_TYPE_TENSOR || data->kind == IR_TYPE_UNRANKED) {
    out->element = data->element;
  }
  if (out->rank > 0) {
    memcpy(out->dims, ir_type_dims(module, type), out->rank * sizeof out->dims[0]);
  }
  return is_tensor;
}

bool shape_of(const struct ir_module *module, struct ir_value value, struct shape *out) {
  return shape_from_type(module, ir_value_type(module, value), out);
}

bool shapes_agree(const struct shape *a, const struct shape *b) {
  if (!a->is_ranked || !b->is_ranked) {
    return true;
  }
  if (a->rank != b->rank) {
    return false;
  }
  for (uint32_t i = 0; i < a->rank; i++) {
    if (!dims_agree(a->dims[i], b->dims[i])) {
      return false;
    }
  }
  return true;
}

bool shape_meet(struct shape *into, const struct shape *from) {
  if (!shapes_agree(into, from)) {
    return false;
  }
  if (!from->is_ranked) {
    return true;
  }
  if (!into->is_ranked) {
    struct ir_type element = into->element;
    *into = *from;
    into->element = element.id != 0 ? element : from->element;
    return true;
  }
  for (uint32_t i = 0; i < into->rank; i++) {
    into->dims[i] = dims_meet(into->dims[i], from->dims[i]);
  }
  return true;
}

int64_t shape_elements(const struct shape *shape) {
  int64_t product = 1;
  if (!shape->is_ranked) {
    return -1;
  }
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (!dim_is_static(shape->dims[i])) {
      return -1;
    }
  }
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 0) {
      return 0;
    }
    if (!checked_mul_i64(product, shape->dims[i], &product)) {
      product = -1;
      break;
    }
  }
  for (uint32_t i = 0; product < 0 && i < shape->rank; i++) {
    if (shape->dims[i] == 0) {
      return 0;
    }
  }
  return product;
}

bool type_is_quantized(const struct ir_module *module, struct ir_type element) {
  uint8_t kind = ir_type_get(module, element)->kind;
  return kind == IR_TYPE_QUANTIZED || kind == IR_TYPE_OPAQUE;
}

bool elements_agree(const struct ir_module *module, struct ir_type a, struct ir_type b) {
  const struct ir_type_data *x = ir_type_get(module, a), *y = ir_type_get(module, b);
  if (a.id == b.id || a.id == 0 || b.id == 0 || x->kind == IR_TYPE_OPAQUE || y->kind == IR_TYPE_OPAQUE) {
    return true;
  }
  const struct ir_quant *p = x->kind == IR_TYPE_QUANTIZED ? &module->quants.data[x->quant] : NULL;
  const struct ir_quant *q = y->kind == IR_TYPE_QUANTIZED ? &module->quants.data[y->quant] : NULL;
  if (p != NULL && q != NULL) {
    bool is_plain = p->count > 0 && q->count > 0;
    return !is_plain || (p->storage == q->storage && p->expressed == q->expressed);
  }
  if (p != NULL || q != NULL) {
    const struct ir_quant *quant = p != NULL ? p : q;
    return quant->count == 0 || quant->expressed == (p != NULL ? y->dtype : x->dtype);
  }
  return false;
}

static bool types_agree_at(const struct ir_module *module, struct ir_type a, struct ir_type b, unsigned depth) {
  if (a.id == b.id || depth > ANALYZE_MAX_DEPTH) {
    return true;
  }
  const struct ir_type_data *x = ir_type_get(module, a);
  const struct ir_type_data *y = ir_type_get(module, b);
  bool both_tensors = (x->kind == IR_TYPE_TENSOR || x->kind == IR_TYPE_UNRANKED)
                      && (y->kind == IR_TYPE_TENSOR || y->kind == IR_TYPE_UNRANKED);
  if (both_tensors) {
    struct shape s, t;
    shape_from_type(module, a, &s);
    shape_from_type(module, b, &t);
    return elements_agree(module, x->element, y->element) && shapes_agree(&s, &t);
  }
  if (x->kind != y->kind) {
    return x->kind == IR_TYPE_OPAQUE || y->kind == IR_TYPE_OPAQUE;
  }
  if (x->kind == IR_TYPE_TUPLE || x->kind == IR_TYPE_FUTURE) {
    if (x->count != y->count) {
      return false;
    }
    for (uint32_t i = 0; i < x->count; i++) {
      struct ir_type s = {module->lists.data[x->first + i]};
      struct ir_type t = {module->lists.data[y->first + i]};
      if (!types_agree_at(module, s, t, depth + 1)) {
        return false;
      }
    }
    return true;
  }
  return x->kind == IR_TYPE_TOKEN || x->kind == IR_TYPE_OPAQUE || x->kind == IR_TYPE_QUANTIZED;
}

bool types_agree(const struct ir_module *module, struct ir_type a, struct ir_type b) {
  return types_agree_at(module, a, b, 0);
}

static void type_text_at(const struct ir_module *module, struct ir_type type, struct strbuf *out, unsigned depth) {
  const struct ir_type_data *data = ir_type_get(module, type);
  if (depth > 8) {
    strbuf_puts(out, "...");
    return;
  }
  switch ((enum ir_type_kind)data->kind) {
  case IR_TYPE_SCALAR:
    strbuf_puts(out, dtype_name((enum dtype)data->dtype));
    break;
  case IR_TYPE_TENSOR:
  case IR_TYPE_MEMREF:
    strbuf_puts(out, data->kind == IR_TYPE_TENSOR ? "tensor<" : "memref<");
    for (uint32_t i = 0; i < data->rank; i++) {
      int64_t dim = module->dims.data[data->first + i];
      if (dim_is_static(dim)) {
        strbuf_put_i64(out, dim);
      } else {
        strbuf_putc(out, '?');
      }
      strbuf_putc(out, 'x');
    }
    type_text_at(module, data->element, out, depth + 1);
    strbuf_putc(out, '>');
    break;
  case IR_TYPE_UNRANKED:
    strbuf_puts(out, "tensor<*x");
    type_text_at(module, data->element, out, depth + 1);
    strbuf_putc(out, '>');
    break;
  case IR_TYPE_TUPLE:
    strbuf_puts(out, "tuple<");
    for (uint32_t i = 0; i < data->count; i++) {
      strbuf_puts(out, i > 0 ? ", " : "");
      type_text_at(module, (struct ir_type){module->lists.data[data->first + i]}, out, depth + 1);
    }
    strbuf_putc(out, '>');
    break;
  case IR_TYPE_TOKEN:
    strbuf_puts(out, "!stablehlo.token");
    break;
  case IR_TYPE_QUANTIZED:
    strbuf_puts(out, data->quant < module->quants.count ? ir_text(module, module->quants.data[data->quant].text)
                                                        : "!quant.uniform");
    break;
  case IR_TYPE_OPAQUE:
    strbuf_puts(out, ir_text(module, data->text));
    break;
  case IR_TYPE_FUNCTION:
    strbuf_puts(out, "a function type");
    break;
  case IR_TYPE_FUTURE:
    strbuf_puts(out, "!stablehlo.future");
    break;
  case IR_TYPE_NONE:
    strbuf_puts(out, "none");
    break;
  }
}

void type_text(const struct ir_module *module, struct ir_type type, struct strbuf *out) {
  type_text_at(module, type, out, 0);
}

/* ---- attributes ---- */

bool ints_from_attr(const struct ir_module *module, struct ir_attr attr, struct ints *out) {
  const uint32_t capacity = sizeof out->v / sizeof out->v[0];
  out->is_present = attr.id != 0;
  out->count = 0;
  if (attr.id == 0) {
    return false;
  }
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  if (data->kind == IR_ATTR_INTEGER || data->kind == IR_ATTR_BOOL) {
    out->count = 1;
    out->v[0] = data->integer;
    return true;
  }
  bool is_list = data->kind == IR_ATTR_ARRAY || data->kind == IR_ATTR_DENSE || data->kind == IR_ATTR_DENSE_ARRAY;
  uint64_t length = ir_attr_length(module, attr);
  if (!is_list || length > capacity) {
    return false;
  }
  for (uint32_t i = 0; i < (uint32_t)length; i++) {
    if (data->kind == IR_ATTR_ARRAY) {
      const struct ir_attr_data *item = &module->attrs.data[module->lists.data[data->list_first + i]];
      if (item->kind != IR_ATTR_INTEGER && item->kind != IR_ATTR_BOOL) {
        return false;
      }
      out->v[i] = item->integer;
    } else {
      out->v[i] = ir_attr_int_at(module, attr, i);
    }
  }
  out->count = (uint32_t)length;
  return true;
}

bool ints_of(const struct ir_module *module, struct ir_op op, const char *name, struct ints *out) {
  return ints_from_attr(module, ir_op_attr(module, op, name), out);
}

int64_t int_of(const struct ir_module *module, struct ir_op op, const char *name, int64_t fallback) {
  struct ir_attr attr = ir_op_attr(module, op, name);
  if (attr.id == 0) {
    return fallback;
  }
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  return data->kind == IR_ATTR_INTEGER || data->kind == IR_ATTR_BOOL ? data->integer : fallback;
}

const char *enum_of(const struct ir_module *module, struct ir_op op, const char *name) {
  struct ir_attr attr = ir_op_attr(module, op, name);
  if (attr.id == 0) {
    return "";
  }
  const struct ir_attr_data *data = ir_attr_get(module, attr);
  if (data->kind == IR_ATTR_ENUM) {
    return ir_text(module, data->text2);
  }
  return data->kind == IR_ATTR_STRING ? ir_text(module, data->text) : "";
}

/* A list field of a STRUCT or DICT attribute; absent means empty. */
static bool field_ints(const struct ir_module *module, struct ir_attr attr, const char *name, struct ints *out) {
  struct ir_attr field = ir_attr_field(module, attr, name);
  if (field.id == 0) {
    out->is_present = false;
    out->count = 0;
    return true;
  }
  return ints_from_attr(module, field, out);
}

static bool field_int(const struct ir_module *module, struct ir_attr attr, const char *name, int64_t *out) {
  struct ints list;
  if (!field_ints(module, attr, name, &list) || list.count > 1) {
    return false;
  }
  *out = list.count == 1 ? list.v[0] : 0;
  return true;
}

bool dot_dims_of(const struct ir_module *module, struct ir_op op, struct dot_dims *out) {
  struct ir_attr attr = ir_op_attr(module, op, "dot_dimension_numbers");
  memset(out, 0, sizeof *out);
  return attr.id != 0 && field_ints(module, attr, "lhs_batching_dimensions", &out->lhs_batch)
         && field_ints(module, attr, "rhs_batching_dimensions", &out->rhs_batch)
         && field_ints(module, attr, "lhs_contracting_dimensions", &out->lhs_contract)
         && field_ints(module, attr, "rhs_contracting_dimensions", &out->rhs_contract);
}

bool conv_dims_of(const struct ir_module *module, struct ir_op op, struct conv_dims *out) {
  struct ir_attr attr = ir_op_attr(module, op, "dimension_numbers");
  return attr.id != 0 && field_int(module, attr, "input_batch_dimension", &out->input_batch)
         && field_int(module, attr, "input_feature_dimension", &out->input_feature)
         && field_ints(module, attr, "input_spatial_dimensions", &out->input_spatial)
         && field_int(module, attr, "kernel_input_feature_dimension", &out->kernel_input)
         && field_int(module, attr, "kernel_output_feature_dimension", &out->kernel_output)
         && field_ints(module, attr, "kernel_spatial_dimensions", &out->kernel_spatial)
         && field_int(module, attr, "output_batch_dimension", &out->output_batch)
         && field_int(module, attr, "output_feature_dimension", &out->output_feature)
         && field_ints(module, attr, "output_spatial_dimensions", &out->output_spatial);
}

/* ---- windows ---- */

const struct window_names window_names_reduce = {"window_dimensions", "window_strides", "padding", "base_dilations",
                                                 "window_dilations"};
const struct window_names window_names_conv = {NULL, "window_strides", "padding", "lhs_dilation", "rhs_dilation"};

/* A window attribute of `count` integers; false when it has another length. JAX writes one stride too many into 1-D
 * dynamic_conv (conv_general_dilated_1d_stride_2_*_dynamic of StableHLO's testdata), where the rest is ignored. */
static bool window_list(const struct ir_module *module, struct ir_op op, const char *name, uint32_t count,
                        struct ints *list) {
  bool is_valid = ints_of(module, op, name, list);
  bool may_be_empty = strcmp(name, "window_dimensions") != 0;
  if (list->is_present && is_valid && list->count == 0 && may_be_empty) {
    list->is_present = false; /* written but empty: the default */
  }
  if (!list->is_present) {
    return true;
  }
  bool may_be_longer = ir_op_code(module, op) == IR_OP_DYNAMIC_CONV;
  return is_valid && (list->count == count || (may_be_longer && list->count > count));
}

bool windows_of(const struct ir_module *module, struct ir_op op, const struct window_names *names, uint32_t rank,
                struct window_dim *windows) {
  struct ints sizes = {0}, strides, padding, base, window;
  if (rank > SHAPE_MAX_RANK || (names->size != NULL && !window_list(module, op, names->size, rank, &sizes))
      || !window_list(module, op, names->strides, rank, &strides)
      || !window_list(module, op, names->padding, 2 * rank, &padding)
      || !window_list(module, op, names->base_dilations, rank, &base)
      || !window_list(module, op, names->window_dilations, rank, &window)) {
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (names->size != NULL) {
      windows[i].size = sizes.is_present ? sizes.v[i] : 1;
    }
    windows[i].stride = strides.is_present ? strides.v[i] : 1;
    windows[i].pad_low = padding.is_present ? padding.v[2 * i] : 0;
    windows[i].pad_high = padding.is_present ? padding.v[2 * i + 1] : 0;
    windows[i].base_dilation = base.is_present ? base.v[i] : 1;
    windows[i].window_dilation = window.is_present ? window.v[i] : 1;
  }
  return true;
}

/* Names the list of a window that does not have one entry (the padding: two) per dimension. */
static void report_window_list(struct infer *infer, struct ir_op op, const struct window_names *names, uint32_t rank) {
  const struct {
    const char *name;
    uint32_t count;
    enum constraint_rule rule;
  } lists[] = {{names->size, rank, RULE_WINDOW_COUNT},
               {names->strides, rank, RULE_STRIDE_COUNT},
               {names->base_dilations, rank, RULE_BASE_COUNT},
               {names->window_dilations, rank, RULE_DILATION_COUNT},
               {names->padding, 2 * rank, RULE_PADDING}};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    struct ints list;
    if (lists[i].name != NULL && !window_list(infer->module, op, lists[i].name, lists[i].count, &list)) {
      infer_error_rule(infer, op, lists[i].rule, DIAG_E0206_ATTRIBUTE_VALUE,
                       "'%s' does not have %u entries, for %u dimensions", lists[i].name, lists[i].count, rank);
      return;
    }
  }
}

/* Every number of a window that must be positive is; false after a message. */
static bool check_window_numbers(struct infer *infer, struct ir_op op, const struct window_names *names,
                                 const struct window_dim *window, uint32_t dimension) {
  const struct {
    const char *name;
    int64_t value;
    enum constraint_rule rule;
  } numbers[] = {{names->size, names->size != NULL ? window->size : 1, RULE_WINDOW},
                 {names->strides, window->stride, RULE_STRIDE},
                 {names->base_dilations, window->base_dilation, RULE_BASE},
                 {names->window_dilations, window->window_dilation, RULE_DILATION}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (numbers[i].value <= 0) {
      infer_error_rule(infer, op, numbers[i].rule, DIAG_E0206_ATTRIBUTE_VALUE,
                       "'%s' must be positive, but is %lld in dimension %u", numbers[i].name,
                       (long long)numbers[i].value, dimension);
      return false;
    }
  }
  return true;
}

bool infer_windows(struct infer *infer, struct ir_op op, const struct window_names *names, uint32_t rank,
                   struct window_dim *windows) {
  struct ir_attr padding = ir_op_attr(infer->module, op, names->padding);
  struct shape table;
  bool is_table = padding.id != 0 && ir_attr_get(infer->module, padding)->kind == IR_ATTR_DENSE
                  && shape_from_type(infer->module, ir_attr_get(infer->module, padding)->type, &table);
  bool is_empty = is_table && table.rank > 0 && table.dims[0] == 0; /* no dimension, so no pair */
  if (is_table && !is_empty && (table.rank != 2 || table.dims[1] != 2)) {
    infer_error_rule(infer, op, RULE_PADDING, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' is not a pair per dimension",
                     names->padding);
    return false;
  }
  if (rank > SHAPE_MAX_RANK) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "a window has more than %d dimensions", SHAPE_MAX_RANK);
    return false;
  }
  if (!windows_of(infer->module, op, names, rank, windows)) {
    report_window_list(infer, op, names, rank);
    return false;
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (!check_window_numbers(infer, op, names, &windows[i], i)) {
      return false;
    }
  }
  return true;
}

int64_t window_output(int64_t input, const struct window_dim *w) {
  if (!dim_is_static(input) || !dim_is_static(w->size)) {
    return IR_DYNAMIC;
  }
  __int128 dilated_input = input == 0 ? 0 : ((__int128)input - 1) * w->base_dilation + 1;
  __int128 padded = dilated_input + w->pad_low + w->pad_high;
  __int128 dilated_window = w->size == 0 ? 0 : ((__int128)w->size - 1) * w->window_dilation + 1;
  if (padded <= 0 || dilated_window > padded) {
    return 0;
  }
  __int128 output = (padded - dilated_window) / w->stride + 1;
  return output > INT64_MAX ? IR_DYNAMIC : (int64_t)output;
}

struct ir_type returned_element(const struct ir_module *module, struct ir_op op, uint32_t region, uint32_t index) {
  struct shape shape;
  struct ir_op last = region_terminator(module, op, region);
  if (last.id == 0 || index >= ir_op_get(module, last)->operand_count) {
    return (struct ir_type){0};
  }
  shape_of(module, ir_op_operand(module, last, index), &shape);
  return shape.element;
}

/* ---- messages and results ---- */

static void error_with(struct infer *infer, struct ir_op op, const char *numbers, enum diag_id id, const char *format,
                       va_list args) {
  infer->has_failed = true;
  if (infer->quiet > 0) {
    return;
  }
  if (op.id < infer->reported_count) {
    if (infer->is_reported[op.id] != 0) {
      return;
    }
    infer->is_reported[op.id] = 1;
  }
  const struct ir_op_data *data = ir_op_get(infer->module, op);
  struct strbuf text = {0};
  strbuf_printf(&text, "'%s': ", ir_text(infer->module, data->name));
  strbuf_vprintf(&text, format, args);
  if (numbers != NULL) {
    strbuf_printf(&text, " (%s)", numbers);
  }
  diag_at(infer->diags, id, &infer->module->source, data->offset, "%s", strbuf_text(&text));
  strbuf_release(&text);
}

void infer_error(struct infer *infer, struct ir_op op, enum diag_id id, const char *format, ...) {
  va_list args;
  va_start(args, format);
  error_with(infer, op, NULL, id, format, args);
  va_end(args);
}

void infer_error_rule(struct infer *infer, struct ir_op op, enum constraint_rule rule, enum diag_id id,
                      const char *format, ...) {
  va_list args;
  va_start(args, format);
  error_with(infer, op, constraint_of(ir_op_code(infer->module, op), rule), id, format, args);
  va_end(args);
}

/* A result whose shape differs has that mistake; else its element type, or the kind of its type. */
static enum constraint_rule result_rule(const struct ir_module *module, uint32_t index, struct ir_type stated,
                                        struct ir_type inferred) {
  struct shape a, b;
  bool is_shape = shape_from_type(module, stated, &a) && shape_from_type(module, inferred, &b) && !shapes_agree(&a, &b);
  return !is_shape    ? RULE_RESULT_ELEMENT
         : index == 1 ? RULE_RESULT_1_SHAPE
         : index == 2 ? RULE_RESULT_2_SHAPE
                      : RULE_RESULT_SHAPE;
}

static void report_result(struct infer *infer, struct ir_op op, uint32_t index, struct ir_type inferred) {
  struct ir_type type = ir_value_type(infer->module, ir_op_result(infer->module, op, index));
  struct strbuf stated = {0}, computed = {0};
  type_text(infer->module, type, &stated);
  type_text(infer->module, inferred, &computed);
  infer_error_rule(infer, op, result_rule(infer->module, index, type, inferred), DIAG_E0205_RESULT_TYPE,
                   "result %u is stated as '%s' but inferred as '%s'", index, strbuf_text(&stated),
                   strbuf_text(&computed));
  strbuf_release(&stated);
  strbuf_release(&computed);
}

void infer_refine_value(struct infer *infer, struct ir_value value, struct ir_type from) {
  struct ir_module *module = infer->module;
  struct shape stated, other;
  struct ir_type type = ir_value_type(module, value);
  if (!infer->has_dynamic || type.id == from.id || !shape_from_type(module, type, &stated)
      || !shape_from_type(module, from, &other) || stated.rank != other.rank) {
    return;
  }
  bool has_news = false;
  bool is_static = true;
  for (uint32_t i = 0; i < stated.rank; i++) {
    has_news |= !dim_is_static(stated.dims[i]) && dim_is_static(other.dims[i]);
    stated.dims[i] = dims_meet(stated.dims[i], other.dims[i]);
    is_static &= dim_is_static(stated.dims[i]);
  }
  if (!has_news) {
    return;
  }
  struct ir_attr encoding = is_static ? (struct ir_attr){0} : ir_type_get(module, type)->encoding;
  struct ir_type refined = ir_type_tensor(module, stated.element, stated.dims, stated.rank, encoding);
  if (refined.id != 0) {
    ir_value_get(module, value)->type = refined;
    infer->has_changed = true;
  }
}

void infer_result(struct infer *infer, struct ir_op op, uint32_t index, const struct shape *shape) {
  struct ir_module *module = infer->module;
  if (index >= ir_op_get(module, op)->result_count) {
    return;
  }
  struct ir_value result = ir_op_result(module, op, index);
  struct ir_type type = ir_value_type(module, result);
  struct shape stated;
  shape_from_type(module, type, &stated);
  uint8_t kind = ir_type_get(module, type)->kind;
  bool is_tensor = kind == IR_TYPE_TENSOR || kind == IR_TYPE_UNRANKED;
  if (kind == IR_TYPE_MEMREF || kind == IR_TYPE_OPAQUE || !(shape->is_ranked || shape->element.id != 0)
      || (kind == IR_TYPE_TENSOR && !stated.is_ranked)) {
    return;
  }
  if (is_tensor && shapes_agree(&stated, shape) && elements_agree(module, stated.element, shape->element)) {
    if (infer->has_dynamic && shape->is_ranked) {
      infer_refine_value(infer, result,
                         ir_type_tensor(module, stated.element, shape->dims, shape->rank, (struct ir_attr){0}));
    }
    return;
  }
  struct ir_type element = shape->element.id != 0 ? shape->element : stated.element;
  if (element.id == 0) {
    element = module->none_type;
  }
  report_result(infer, op, index,
                shape->is_ranked ? ir_type_tensor(module, element, shape->dims, shape->rank, (struct ir_attr){0})
                                 : ir_type_unranked(module, element));
}

void infer_result_type(struct infer *infer, struct ir_op op, uint32_t index, struct ir_type type) {
  struct ir_module *module = infer->module;
  if (index >= ir_op_get(module, op)->result_count) {
    return;
  }
  struct ir_value result = ir_op_result(module, op, index);
  struct ir_type stated = ir_value_type(module, result);
  if (!types_agree(module, stated, type)) {
    report_result(infer, op, index, type);
    return;
  }
  infer_refine_value(infer, result, type);
}

bool infer_check_count(struct infer *infer, struct ir_op op, const char *what, const struct ints *list,
                       uint32_t count) {
  if (list->count != count) {
    infer_error_rule(infer, op, RULE_LIST_COUNT, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' has %u entries, expected %u", what,
                     list->count, count);
    return false;
  }
  return true;
}

bool infer_check_dims(struct infer *infer, struct ir_op op, const char *what, const struct ints *dims, uint32_t rank) {
  return infer_check_dims_rule(infer, op, what, dims, rank, RULE_DIMS_RANGE, RULE_DIMS_UNIQUE);
}

bool infer_check_dims_rule(struct infer *infer, struct ir_op op, const char *what, const struct ints *dims,
                           uint32_t rank, enum constraint_rule range, enum constraint_rule unique) {
  bool is_used[SHAPE_MAX_RANK] = {false};
  for (uint32_t i = 0; i < dims->count; i++) {
    if (dims->v[i] < 0 || dims->v[i] >= rank) {
      infer_error_rule(infer, op, range, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' names dimension %lld, but the rank is %u",
                       what, (long long)dims->v[i], rank);
      return false;
    }
    if (is_used[dims->v[i]]) {
      infer_error_rule(infer, op, unique, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' names dimension %lld twice", what,
                       (long long)dims->v[i]);
      return false;
    }
    is_used[dims->v[i]] = true;
  }
  return true;
}

bool infer_constant(struct infer *infer, struct ir_value value, struct fold_const *out) {
  struct fold fold = {.module = infer->module,
                      .symbols = infer->symbols,
                      .argument_constants = &infer->argument_constants,
                      .constants = infer->constants.data,
                      .budget = 4096};
  bool is_known = fold_value(&fold, value, NULL, out);
  infer->fold_overflow = is_known ? 0 : fold.overflow;
  return is_known;
}

bool infer_constant_dims(struct infer *infer, struct ir_value value, uint32_t count, int64_t *out) {
  struct fold_const constant;
  if (!infer_constant(infer, value, &constant) || constant.count > SHAPE_MAX_RANK
      || (count != UINT32_MAX && constant.count != count)) {
    return false;
  }
  memcpy(out, constant.v, constant.count * sizeof out[0]);
  return true;
}
