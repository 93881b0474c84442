/* --bind: fixing dynamic dimensions of an argument of the entry function. Path: after mlir_parse, before analyze_infer, which
 * carries the shapes through the body. */
#include <stdlib.h>
#include <string.h>

#include "mlir/mlir.h"

enum { BIND_RANK_MAX = 64 };

static enum status bind_error(struct diag_list *diags, const char *spec, const char *what) {
  diag_at(diags, DIAG_E0112_BIND, NULL, 0, "cannot bind '%.200s': %s", spec, what);
  return STATUS_INPUT;
}

/* Index of `name` when it is argN or %argN, or -1. */
static int64_t argument_number(const char *name, size_t length) {
  if (length && *name == '%') {
    name++;
    length--;
  }
  if (length < 4 || length > 12 || memcmp(name, "arg", 3) != 0) {
    return -1;
  }
  int64_t index = 0;
  for (size_t i = 3; i < length; i++) {
    if (name[i] < '0' || name[i] > '9') {
      return -1;
    }
    index = index * 10 + (name[i] - '0');
  }
  return index;
}

/* Frameworks name arguments in attributes: jax.arg_info = "x", ttir.name = "x" and the like. */
static bool is_named(const struct ir_module *m, struct ir_attr attributes, const char *name, size_t length) {
  const struct ir_attr_data *dict = ir_attr_get(m, attributes);
  for (uint32_t i = 0; dict->kind == IR_ATTR_DICT && i < dict->list_count; i++) { /* nothing has checked it */
    const char *key = ir_text(m, m->lists.data[dict->list_first + 2 * i]);
    const struct ir_attr_data *value = ir_attr_get(m, (struct ir_attr){m->lists.data[dict->list_first + 2 * i + 1]});
    const char *dot = strrchr(key, '.');
    if (value->kind == IR_ATTR_STRING && dot && (strcmp(dot, ".arg_info") == 0 || strcmp(dot, ".name") == 0)
        && intern_length(&m->strings, value->text) == length && memcmp(ir_text(m, value->text), name, length) == 0) {
      return true;
    }
  }
  return false;
}

static int64_t find_argument(const struct ir_module *m, struct ir_op function, const char *name, size_t length) {
  int64_t index = argument_number(name, length);
  struct ir_attr all = ir_op_attr(m, function, "arg_attrs");
  if (index >= 0 || !all.id) {
    return index;
  }
  const struct ir_attr_data *list = ir_attr_get(m, all);
  for (uint32_t i = 0; list->kind == IR_ATTR_ARRAY && i < list->list_count; i++) {
    if (is_named(m, (struct ir_attr){m->lists.data[list->list_first + i]}, name, length)) {
      return i;
    }
  }
  return -1;
}

/* "32x?x8" → dims; the number of dimensions, or -1. "scalar" and "" have none. */
static int read_shape(const char *text, int64_t dims[BIND_RANK_MAX]) {
  int rank = 0;
  if (*text == '\0') {
    return 0;
  }
  for (;;) {
    int64_t dim = 0;
    if (rank == BIND_RANK_MAX) {
      return -1;
    }
    if (*text == '?') {
      dim = IR_DYNAMIC;
      text++;
    } else if (*text >= '0' && *text <= '9') {
      for (; *text >= '0' && *text <= '9'; text++) {
        if (dim > (INT64_MAX - 9) / 10) {
          return -1;
        }
        dim = dim * 10 + (*text - '0');
      }
    } else {
      return -1;
    }
    dims[rank++] = dim;
    if (*text == '\0') {
      return rank;
    }
    if (*text++ != 'x') {
      return -1;
    }
  }
}

/* The encoding without the bounds of dimensions that are fixed now; none when no bound is left. False when memory is exhausted. */
static bool keep_bounds(struct ir_module *m, const int64_t *dims, int rank, struct ir_attr *encoding) {
  int64_t bounds[BIND_RANK_MAX];
  if (ir_attr_bounds(m, *encoding, bounds, BIND_RANK_MAX) != (uint32_t)rank) {
    return true;
  }
  bool is_mhlo = strncmp(ir_text(m, ir_attr_get(m, *encoding)->text), "#mhlo.", 6) == 0, is_left = false;
  struct strbuf text = {0};
  strbuf_puts(&text, is_mhlo ? "#mhlo.type_extensions<bounds = [" : "#stablehlo.bounds<");
  for (int i = 0; i < rank; i++) {
    bool is_kept = dims[i] == IR_DYNAMIC && bounds[i] != IR_DYNAMIC;
    is_left |= is_kept;
    strbuf_puts(&text, i ? ", " : "");
    if (is_kept) {
      strbuf_put_i64(&text, bounds[i]);
    } else {
      strbuf_putc(&text, '?');
    }
  }
  strbuf_puts(&text, is_mhlo ? "]>" : ">");
  encoding->id = 0;
  if (is_left && !text.failed) {
    *encoding = ir_attr_text(m, IR_ATTR_OPAQUE, strbuf_text(&text), text.length, (struct ir_type){0});
  }
  bool ok = !text.failed && (!is_left || encoding->id != 0);
  strbuf_release(&text);
  return ok;
}

/* The shape of `type` with the dimensions of the specification filled in; NULL in *what when it fits. */
static struct ir_type bound_type(struct ir_module *m, struct ir_type type, int64_t dims[BIND_RANK_MAX], int rank,
                                 const char **what) {
  const struct ir_type_data *data = ir_type_get(m, type);
  *what = NULL;
  if (data->kind != IR_TYPE_TENSOR) {
    *what = "the argument is not a ranked tensor";
    return type;
  }
  if (data->rank != rank) {
    *what = "the number of dimensions differs from that of the argument";
    return type;
  }
  struct ir_attr encoding = data->encoding;
  struct ir_type element = data->element;
  for (int i = 0; i < rank; i++) {
    int64_t old = m->dims.data[data->first + (uint32_t)i];
    if (dims[i] == IR_DYNAMIC) {
      dims[i] = old;
    } else if (old != IR_DYNAMIC && old != dims[i]) {
      *what = "a dimension that is already fixed has another size";
      return type;
    }
  }
  return keep_bounds(m, dims, rank, &encoding) ? ir_type_tensor(m, element, dims, (uint32_t)rank, encoding)
                                               : (struct ir_type){0};
}

/* Writes `type` as input `index` of the function's type. */
static bool set_input(struct ir_module *m, struct ir_op function, uint32_t index, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(m, ir_function_type(m, function));
  uint32_t count = data->count, inputs = data->input_count, first = data->first;
  struct ir_type *types = calloc(count + 1, sizeof *types);
  if (!types) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    types[i].id = i == index ? type.id : m->lists.data[first + i];
  }
  struct ir_type changed = ir_type_list(m, IR_TYPE_FUNCTION, types, count, inputs);
  free(types);
  struct ir_attr attr = ir_attr_type(m, changed);
  return changed.id && attr.id && ir_op_set_attr(m, function, "function_type", attr);
}

enum status mlir_bind(struct ir_module *module, const char *spec, struct diag_list *diags) {
  const char *equal = strchr(spec, '=');
  int64_t dims[BIND_RANK_MAX];
  int rank = equal ? read_shape(equal + 1, dims) : -1;
  if (rank < 0) {
    return bind_error(diags, spec, "expected argument=dimensions, such as arg0=32x?");
  }
  struct ir_op function = ir_function_entry(module);
  struct ir_block body = function.id ? ir_function_body(module, function) : (struct ir_block){0};
  if (!body.id) {
    return bind_error(diags, spec, "the program has no entry function with a body");
  }
  int64_t index = find_argument(module, function, spec, (size_t)(equal - spec));
  if (index < 0 || index >= ir_block_get(module, body)->argument_count) {
    return bind_error(diags, spec, "the entry function has no such argument");
  }
  struct ir_value argument = ir_block_argument(module, body, (uint32_t)index);
  const char *what;
  struct ir_type type = bound_type(module, ir_value_type(module, argument), dims, rank, &what);
  if (what) {
    return bind_error(diags, spec, what);
  }
  if (!type.id || !set_input(module, function, (uint32_t)index, type)) {
    return STATUS_MEMORY;
  }
  ir_value_get(module, argument)->type = type;
  return STATUS_OK;
}
