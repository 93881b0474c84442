/* Attributes, locations and types of the builtin dialect for bytecode that is written: those of modules, of operations of
 * other dialects, and what VHLO has no attribute for. Path: bytecode_write_ops.c → here → entries.
 * Codes and fields: BuiltinDialectBytecode.td. */
#include "mlir/bytecode_write_int.h"

/* ---- types ---------------------------------------------------------------------------------------------------------- */

static struct bw_ref finish_type(struct bw_writer *w, size_t mark) {
  return bw_finish(w, mark, BW_TYPE, BW_BUILTIN, 0);
}

/* Width, and in the low bits whether it is unsigned; floats that have no code are text. */
static struct bw_ref scalar(struct bw_writer *w, enum dtype dtype) {
  static const uint8_t codes[DTYPE_COUNT] = {[DTYPE_INDEX] = BUILTIN_T_INDEX,
                                             [DTYPE_BF16] = BUILTIN_T_BF16,
                                             [DTYPE_F16] = BUILTIN_T_F16,
                                             [DTYPE_F32] = BUILTIN_T_F32,
                                             [DTYPE_F64] = BUILTIN_T_F64};
  enum { SIGNLESS = 0, UNSIGNED = 2 };
  size_t mark = w->stack.count;
  if (codes[dtype]) {
    bw_varint(w, codes[dtype]);
  } else if (dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    struct bw_ref element = scalar(w, dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64);
    bw_varint(w, BUILTIN_T_COMPLEX);
    bw_reference(w, element);
  } else if (dtype_is_integral(dtype)) {
    bw_varint(w, BUILTIN_T_INTEGER);
    bw_varint(w, dtype_bits(dtype) << 2 | (dtype_class_of(dtype) == DTYPE_CLASS_UINT ? UNSIGNED : SIGNLESS));
  } else {
    return bw_text_entry(w, BW_TYPE, BW_BUILTIN, dtype_name(dtype), strlen(dtype_name(dtype)));
  }
  return finish_type(w, mark);
}

/* A type or attribute of StableHLO that an operation outside of it has, as its text. */
static struct bw_ref stablehlo_text(struct bw_writer *w, enum bw_kind kind, uint32_t id) {
  struct strbuf text = {0};
  if (kind == BW_TYPE) {
    mlir_print_type(w->m, (struct ir_type){id}, &text);
  } else {
    mlir_print_attr(w->m, (struct ir_attr){id}, &text);
  }
  w->out_of_memory |= text.failed;
  bool is_stablehlo = text.length > 10 && strncmp(strbuf_text(&text) + 1, "stablehlo", 9) == 0;
  struct bw_ref ref = is_stablehlo
                          ? bw_text_entry(w, kind, BW_STABLEHLO, strbuf_text(&text), text.length)
                          : bw_refused(w, "the %s %.60s", kind == BW_TYPE ? "type" : "attribute", strbuf_text(&text));
  strbuf_release(&text);
  return ref;
}

/* Pushes `count` types of a list of the module. */
static bool push_types(struct bw_writer *w, uint32_t first, uint32_t count) {
  bw_varint(w, count);
  for (uint32_t i = 0; i < count; i++) {
    struct bw_ref type = bw_builtin_type(w, (struct ir_type){w->m->lists.data[first + i]});
    if (!type.id) {
      return false;
    }
    bw_reference(w, type);
  }
  return true;
}

static struct bw_ref make_type(struct bw_writer *w, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(w->m, type);
  size_t mark = w->stack.count;
  struct bw_ref element, encoding;
  switch ((enum ir_type_kind)data->kind) {
  case IR_TYPE_NONE:
    bw_varint(w, BUILTIN_T_NONE);
    return finish_type(w, mark);
  case IR_TYPE_SCALAR:
    return scalar(w, (enum dtype)data->dtype);
  case IR_TYPE_TENSOR:
  case IR_TYPE_UNRANKED:
    element = bw_builtin_type(w, data->element);
    if (!element.id) {
      return element;
    }
    if (data->encoding.id) {
      encoding = bw_builtin_attr(w, data->encoding);
      if (!encoding.id) {
        return encoding;
      }
      bw_varint(w, BUILTIN_T_TENSOR_ENCODING);
      bw_reference(w, encoding);
    } else {
      bw_varint(w, data->kind == IR_TYPE_TENSOR ? BUILTIN_T_TENSOR : BUILTIN_T_UNRANKED_TENSOR);
    }
    if (data->kind == IR_TYPE_TENSOR) {
      bw_svarints(w, w->m->dims.data + data->first, data->rank);
    }
    bw_reference(w, element);
    return finish_type(w, mark);
  case IR_TYPE_TUPLE:
  case IR_TYPE_FUNCTION: {
    bool is_function = data->kind == IR_TYPE_FUNCTION;
    bw_varint(w, is_function ? BUILTIN_T_FUNCTION : BUILTIN_T_TUPLE);
    uint32_t inputs = is_function ? data->input_count : 0;
    bool ok = (!is_function || push_types(w, data->first, inputs))
              && push_types(w, data->first + inputs, data->count - inputs);
    return ok ? finish_type(w, mark) : bw_drop(w, mark);
  }
  case IR_TYPE_TOKEN:
    return stablehlo_text(w, BW_TYPE, type.id);
  default:
    return bw_refused(w, "a type of another dialect than builtin that an operation outside of StableHLO uses");
  }
}

struct bw_ref bw_builtin_type(struct bw_writer *w, struct ir_type type) {
  struct bw_ref *memo = &w->builtin_types[type.id];
  if (memo->id || !bw_deeper(w)) {
    return *memo;
  }
  struct bw_ref made = make_type(w, type);
  w->depth--;
  w->builtin_types[type.id] = made;
  return made;
}

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

static struct bw_ref finish(struct bw_writer *w, size_t mark) {
  return bw_finish(w, mark, BW_ATTRIBUTE, BW_BUILTIN, 0);
}

struct bw_ref bw_builtin_string(struct bw_writer *w, const char *text, size_t length) {
  size_t mark = w->stack.count;
  bw_varint(w, BUILTIN_STRING);
  bw_string(w, text, length);
  return finish(w, mark);
}

struct bw_ref bw_builtin_number(struct bw_writer *w, int64_t value) {
  size_t mark = w->stack.count;
  struct bw_ref type = scalar(w, DTYPE_I32);
  bw_varint(w, BUILTIN_INTEGER);
  bw_reference(w, type);
  bw_bits(w, (uint64_t)value, dtype_bits(DTYPE_I32));
  return finish(w, mark);
}

static struct bw_ref flat_symbol(struct bw_writer *w, const char *text, size_t length) {
  size_t mark = w->stack.count;
  struct bw_ref name = bw_builtin_string(w, text, length);
  bw_varint(w, BUILTIN_FLAT_SYMBOL);
  bw_reference(w, name);
  return finish(w, mark);
}

/* "::@" between two names; NULL when there is none before the end. The text need not end with a 0, and may hold some. */
static const char *find_separator(const char *at, const char *end) {
  for (; end - at >= 3; at++) {
    if (memcmp(at, "::@", 3) == 0) {
      return at;
    }
  }
  return NULL;
}

/* One name, or a root and the names below it. */
struct bw_ref bw_builtin_symbol(struct bw_writer *w, const char *text, size_t length) {
  const char *end = text + length, *next = find_separator(text, end);
  if (next == NULL) {
    return flat_symbol(w, text, length);
  }
  size_t mark = w->stack.count;
  uint64_t count = 0;
  for (const char *at = next; at; at = find_separator(at + 3, end)) {
    count++;
  }
  bw_varint(w, BUILTIN_SYMBOL);
  bw_reference(w, bw_builtin_string(w, text, (size_t)(next - text)));
  bw_varint(w, count);
  while (next) {
    const char *name = next + 3;
    next = find_separator(name, end);
    bw_reference(w, flat_symbol(w, name, (size_t)((next ? next : end) - name)));
  }
  return finish(w, mark);
}

static struct bw_ref list(struct bw_writer *w, const struct ir_attr_data *data) {
  size_t mark = w->stack.count;
  bw_varint(w, BUILTIN_ARRAY);
  bw_varint(w, data->list_count);
  for (uint32_t i = 0; i < data->list_count; i++) {
    struct bw_ref item = bw_builtin_attr(w, (struct ir_attr){w->m->lists.data[data->list_first + i]});
    if (!item.id) {
      return bw_drop(w, mark);
    }
    bw_reference(w, item);
  }
  return finish(w, mark);
}

static struct bw_ref dictionary(struct bw_writer *w, const struct ir_attr_data *data) {
  size_t mark = w->stack.count;
  bw_varint(w, BUILTIN_DICTIONARY);
  bw_varint(w, data->list_count);
  for (uint32_t i = 0; i < data->list_count; i++) {
    const uint32_t *pair = w->m->lists.data + data->list_first + 2 * i;
    struct bw_ref value = bw_builtin_attr(w, (struct ir_attr){pair[1]});
    if (!value.id) {
      return bw_drop(w, mark);
    }
    bw_reference(w, bw_builtin_string(w, ir_text(w->m, pair[0]), intern_length(&w->m->strings, pair[0])));
    bw_reference(w, value);
  }
  return finish(w, mark);
}

/* Type, then what it is the type of. */
static struct bw_ref typed(struct bw_writer *w, const struct ir_attr_data *data) {
  size_t mark = w->stack.count;
  struct ir_type ir_type = data->kind == IR_ATTR_BOOL ? ir_type_scalar(w->m, DTYPE_I1) : data->type;
  struct bw_ref type = bw_builtin_type(w, ir_type);
  enum dtype dtype = (enum dtype)ir_type_get(w->m, ir_type)->dtype;
  struct ir_attr_data elements = *data;
  if (!type.id) {
    return type;
  }
  switch ((enum ir_attr_kind)data->kind) {
  case IR_ATTR_TYPE:
    bw_varint(w, BUILTIN_TYPE);
    bw_reference(w, type);
    return finish(w, mark);
  case IR_ATTR_BOOL:
  case IR_ATTR_INTEGER:
  case IR_ATTR_FLOAT:
    if (data->kind == IR_ATTR_INTEGER && data->text) {
      return bw_refused(w, "an integer of more than 64 bits");
    }
    bw_varint(w, data->kind == IR_ATTR_FLOAT ? BUILTIN_FLOAT : BUILTIN_INTEGER);
    bw_reference(w, type);
    bw_bits(w, (uint64_t)data->integer, dtype_bits(dtype));
    return finish(w, mark);
  case IR_ATTR_DENSE_ARRAY:
    bw_varint(w, BUILTIN_DENSE_ARRAY);
    bw_reference(w, type);
    bw_varint(w, data->list_count);
    bw_blob(w, data->data, data->data_size);
    return finish(w, mark);
  default:
    elements.is_splat = data->is_splat && ir_type_element_count(w->m, ir_type) > 1;
    bw_varint(w, BUILTIN_DENSE);
    bw_reference(w, type);
    return bw_elements(w, &elements, dtype) ? finish(w, mark) : bw_drop(w, mark);
  }
}

/* The number of a resource, given when it is first used. */
static uint32_t resource_number(struct bw_writer *w, uint32_t name) {
  uint32_t number = (uint32_t)w->resources.count;
  if (!map_get(&w->resource_numbers, name, &number)
      && (!vec_push(&w->resources, name) || !map_set(&w->resource_numbers, name, number))) {
    w->out_of_memory = true;
  }
  return number;
}

/* The data of a resource is in a section of its own (bytecode_write_container.c). */
static struct bw_ref resource(struct bw_writer *w, const struct ir_attr_data *data) {
  uint32_t attr;
  if (!map_get(&w->resource_attrs, data->text, &attr)) {
    return bw_refused(w, "the resource '%s', whose data the program does not have", ir_text(w->m, data->text));
  }
  size_t mark = w->stack.count;
  struct bw_ref type = bw_builtin_type(w, data->type);
  if (!type.id) {
    return type;
  }
  bw_varint(w, BUILTIN_RESOURCE);
  bw_reference(w, type);
  bw_varint(w, resource_number(w, data->text));
  return finish(w, mark);
}

/* Attributes that are kept as text: those of sdy have codes, others of the builtin dialect (affine maps) none. */
static struct bw_ref opaque(struct bw_writer *w, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(w->m, attr);
  const char *text = ir_text(w->m, data->text);
  size_t length = intern_length(&w->m->strings, data->text);
  if (data->type.id) {
    return bw_refused(w, "the value %.60s of a type that StableHLO does not have", text);
  }
  if (text[0] == '#' && strncmp(text, "#sdy", 4) != 0) {
    return stablehlo_text(w, BW_ATTRIBUTE, attr.id);
  }
  return text[0] == '#' ? bw_sdy_attr(w, text, length) : bw_text_entry(w, BW_ATTRIBUTE, BW_BUILTIN, text, length);
}

/* An enumerator of sdy as its text, #sdy<mnemonic VALUE>: it has no code. */
static struct bw_ref enumerator(struct bw_writer *w, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(w->m, attr);
  const char *name = ir_text(w->m, data->text);
  if (strncmp(name, "sdy.", 4) != 0) {
    return stablehlo_text(w, BW_ATTRIBUTE, attr.id);
  }
  struct strbuf text = {0};
  strbuf_printf(&text, "#sdy<%s %s>", name + 4, ir_text(w->m, data->text2));
  w->out_of_memory |= text.failed;
  struct bw_ref ref = bw_text_entry(w, BW_ATTRIBUTE, BW_SDY, strbuf_text(&text), text.length);
  strbuf_release(&text);
  return ref;
}

static struct bw_ref make_attr(struct bw_writer *w, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(w->m, attr);
  const char *text = ir_text(w->m, data->text);
  size_t mark = w->stack.count, length = intern_length(&w->m->strings, data->text);
  switch ((enum ir_attr_kind)data->kind) {
  case IR_ATTR_UNIT:
    bw_varint(w, BUILTIN_UNIT);
    return finish(w, mark);
  case IR_ATTR_STRING:
    return data->type.id ? bw_refused(w, "a string with a type") : bw_builtin_string(w, text, length);
  case IR_ATTR_SYMBOL:
    return bw_builtin_symbol(w, text, length);
  case IR_ATTR_ARRAY:
    return list(w, data);
  case IR_ATTR_DICT:
    return dictionary(w, data);
  case IR_ATTR_DENSE:
    if (ir_type_get(w->m, data->type)->dtype == DTYPE_NONE) {
      return bw_refused(w, "elements that are strings");
    }
    return typed(w, data);
  case IR_ATTR_BOOL:
  case IR_ATTR_INTEGER:
  case IR_ATTR_FLOAT:
  case IR_ATTR_TYPE:
  case IR_ATTR_DENSE_ARRAY:
    return typed(w, data);
  case IR_ATTR_RESOURCE:
    return resource(w, data);
  case IR_ATTR_ENUM:
    return enumerator(w, attr);
  case IR_ATTR_LOCATION:
    return bw_location_attr(w, text, length);
  case IR_ATTR_OPAQUE:
    return opaque(w, attr);
  case IR_ATTR_STRUCT:
    return stablehlo_text(w, BW_ATTRIBUTE, attr.id);
  default:
    return bw_refused(w, "an attribute %s", text);
  }
}

struct bw_ref bw_builtin_attr(struct bw_writer *w, struct ir_attr attr) {
  struct bw_ref *memo = &w->builtin_attrs[attr.id];
  if (memo->id || !bw_deeper(w)) {
    return *memo;
  }
  struct bw_ref made = make_attr(w, attr);
  w->depth--;
  w->builtin_attrs[attr.id] = made;
  return made;
}
