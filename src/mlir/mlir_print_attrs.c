/* Attributes, strings, symbols and attribute dictionaries in MLIR's spelling. Path: printer. */
#include "mlir/mlir_print.h"

#include <string.h>

#include "base/minifloat.h"

/* ---- words ------------------------------------------------------------------------------------------------------ */

void mlir_put_escaped(struct strbuf *out, const char *text, size_t length) {
  static const char digits[] = "0123456789ABCDEF";
  strbuf_putc(out, '"');
  size_t start = 0; /* of the run of plain bytes not yet written */
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') {
      continue;
    }
    strbuf_add(out, text + start, i - start);
    start = i + 1;
    strbuf_putc(out, '\\');
    if (c == '\\') {
      strbuf_putc(out, '\\');
    } else {
      strbuf_putc(out, digits[c >> 4]);
      strbuf_putc(out, digits[c & 15]);
    }
  }
  strbuf_add(out, text + start, length - start);
  strbuf_putc(out, '"');
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_bare_identifier(const char *text, size_t length) {
  if (length == 0 || !(is_letter(text[0]) || text[0] == '_')) {
    return false;
  }
  for (size_t i = 1; i < length; i++) {
    char c = text[i];
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '$' && c != '.') {
      return false;
    }
  }
  return true;
}

void mlir_put_keyword(struct strbuf *out, const char *text, size_t length) {
  if (is_bare_identifier(text, length)) {
    strbuf_add(out, text, length);
  } else {
    mlir_put_escaped(out, text, length);
  }
}

void mlir_put_symbol(struct strbuf *out, const char *text, size_t length) {
  strbuf_putc(out, '@');
  mlir_put_keyword(out, text, length);
}

/* Parts of a nested reference are joined by "::@"; one that stands in quotes already is kept. */
static void put_symbol_reference(struct strbuf *out, const char *text, size_t length) {
  const char *end = text + length;
  for (const char *part = text;;) {
    const char *next = strstr(part, "::@");
    size_t size = (size_t)((next ? next : end) - part);
    strbuf_putc(out, '@');
    if (size >= 2 && part[0] == '"' && part[size - 1] == '"') {
      strbuf_add(out, part, size);
    } else {
      mlir_put_keyword(out, part, size);
    }
    if (!next) {
      return;
    }
    strbuf_puts(out, "::");
    part = next + 3;
  }
}

static void put_text(const struct ir_module *m, uint32_t id, struct strbuf *out) {
  strbuf_add(out, ir_text(m, id), intern_length(&m->strings, id));
}

/* sdy attributes are held without blanks but after commas. MLIR writes more of them in two kinds: in the parameters of an
 * all_to_all, [{"x"}: 0->1], and in propagation edges, {step-0 = [{"x" = operand-0 -> [result-0]}]}. */
void mlir_put_sdy_text(struct strbuf *out, const char *text, size_t length) {
  static const char edges[] = "propagation_edges<";
  bool spaces_equals = strncmp(text, "#sdy.", 5) == 0 && strncmp(text + 5, edges, sizeof edges - 1) == 0;
  size_t start = 0;
  bool in_string = false;
  for (size_t i = 1; i + 1 < length; i++) {
    in_string ^= text[i] == '"';
    bool is_colon = text[i] == ':' && text[i - 1] == '}' && text[i + 1] != ' ';
    bool is_equals = spaces_equals && !in_string && text[i] == '=';
    if (is_colon || is_equals) {
      strbuf_add(out, text + start, i - start);
      strbuf_puts(out, is_colon ? ": " : " = ");
      start = i + 1;
    }
  }
  strbuf_add(out, text + start, length - start);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static void put_type_suffix(const struct ir_module *m, struct ir_type type, struct strbuf *out) {
  if (type.id && ir_type_get(m, type)->kind != IR_TYPE_NONE) {
    strbuf_puts(out, " : ");
    mlir_put_type(m, type, out);
  }
}

static void put_integer(const struct ir_module *m, const struct ir_attr_data *a, enum type_elision elision,
                        struct strbuf *out) {
  const struct ir_type_data *t = ir_type_get(m, a->type);
  enum dtype dtype = t->kind == IR_TYPE_SCALAR ? (enum dtype)t->dtype : DTYPE_NONE;
  if (a->text) {
    put_text(m, a->text, out);
  } else if (dtype_class_of(dtype) == DTYPE_CLASS_UINT && a->integer < 0) {
    strbuf_printf(out, "%llu", (unsigned long long)a->integer);
  } else {
    strbuf_put_i64(out, a->integer);
  }
  if (elision == TYPE_ALWAYS || (elision == TYPE_UNLESS_DEFAULT && dtype != DTYPE_I64)) {
    put_type_suffix(m, a->type, out);
  }
}

static void put_float(const struct ir_module *m, const struct ir_attr_data *a, enum type_elision elision,
                      struct strbuf *out) {
  enum dtype dtype = (enum dtype)ir_type_get(m, a->type)->dtype;
  size_t start = out->length;
  if (dtype_class_of(dtype) == DTYPE_CLASS_FLOAT) {
    minifloat_print(dtype, (uint64_t)a->integer, out);
  } else {
    put_text(m, a->text, out); /* a format that the IR does not know */
  }
  /* infinities and NaN are bits, "0x7FF0000000000000", which without a type would read as an integer */
  bool is_bits = strncmp(strbuf_text(out) + start, "0x", 2) == 0;
  if (elision == TYPE_ALWAYS || (elision == TYPE_UNLESS_DEFAULT && (dtype != DTYPE_F64 || is_bits))) {
    put_type_suffix(m, a->type, out);
  }
}

/* ---- dialect attributes ----------------------------------------------------------------------------------------- */

/* Enumerations that print as #dialect.mnemonic<VALUE>; all others print as #dialect<mnemonic VALUE>. */
static const char *const dotted_enums[] = {"stablehlo.result_accuracy_mode", "mhlo.result_accuracy_mode",
                                           "mhlo.rng_algorithm", "mhlo.rng_distribution"};

static void put_enum(const struct ir_module *m, const struct ir_attr_data *a, struct strbuf *out) {
  const char *name = ir_text(m, a->text);
  const char *dot = strchr(name, '.');
  bool is_dotted = dot == NULL;
  for (size_t i = 0; i < sizeof dotted_enums / sizeof dotted_enums[0]; i++) {
    is_dotted |= strcmp(name, dotted_enums[i]) == 0;
  }
  strbuf_putc(out, '#');
  if (is_dotted) {
    strbuf_puts(out, name);
    strbuf_putc(out, '<');
  } else {
    strbuf_add(out, name, (size_t)(dot - name));
    strbuf_putc(out, '<');
    strbuf_puts(out, dot + 1);
    strbuf_putc(out, ' ');
  }
  put_text(m, a->text2, out);
  strbuf_putc(out, '>');
}

/* Structs whose printers leave out empty lists and zero numbers. */
static const char *const sparse_structs[] = {"gather", "scatter", "dot", "result_accuracy"};

static bool is_sparse_struct(const char *name) {
  const char *dot = strchr(name, '.');
  for (size_t i = 0; dot && i < sizeof sparse_structs / sizeof sparse_structs[0]; i++) {
    if (strcmp(dot + 1, sparse_structs[i]) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_empty_field(const struct ir_attr_data *value) {
  bool is_list = value->kind == IR_ATTR_DENSE_ARRAY || value->kind == IR_ATTR_ARRAY;
  bool is_number = value->kind == IR_ATTR_INTEGER || value->kind == IR_ATTR_FLOAT;
  return is_list ? value->list_count == 0 : is_number && value->integer == 0;
}

static void put_field_value(const struct ir_module *m, struct ir_attr attr, struct strbuf *out) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  if (a->kind == IR_ATTR_DENSE_ARRAY) {
    strbuf_putc(out, '[');
    mlir_put_dense_array_items(m, a, out);
    strbuf_putc(out, ']');
    return;
  }
  bool is_plain = a->kind == IR_ATTR_INTEGER || a->kind == IR_ATTR_FLOAT || a->kind == IR_ATTR_STRING;
  mlir_put_attr(m, attr, is_plain ? TYPE_NEVER : TYPE_ALWAYS, out);
}

static void put_struct_fields(const struct ir_module *m, const struct ir_attr_data *a, bool is_sparse,
                              struct strbuf *out) {
  const uint32_t *pairs = m->lists.data + a->list_first;
  const char *separator = "";
  for (uint32_t i = 0; i < a->list_count; i++) {
    struct ir_attr value = {pairs[2 * i + 1]};
    if (is_sparse && is_empty_field(ir_attr_get(m, value))) {
      continue;
    }
    strbuf_puts(out, separator);
    separator = ", ";
    put_text(m, pairs[2 * i], out);
    strbuf_puts(out, " = ");
    put_field_value(m, value, out);
  }
}

void mlir_put_struct_fields(const struct ir_module *m, struct ir_attr attr, struct strbuf *out) {
  put_struct_fields(m, ir_attr_get(m, attr), false, out);
}

/* The fields of a mesh, "axes=[<name = "x", size = 2>], device_ids=dense<...>"; false when its axes have another form. */
static bool put_mesh_fields(const struct ir_module *m, const struct ir_attr_data *a, struct strbuf *out) {
  const uint32_t *pairs = m->lists.data + a->list_first;
  const struct ir_attr_data *axes = a->list_count > 0 ? ir_attr_get(m, (struct ir_attr){pairs[1]}) : NULL;
  if (!axes || axes->kind != IR_ATTR_ARRAY || strcmp(ir_text(m, pairs[0]), "axes") != 0) {
    return false;
  }
  for (uint32_t i = 0; i < axes->list_count; i++) {
    if (ir_attr_get(m, (struct ir_attr){m->lists.data[axes->list_first + i]})->kind != IR_ATTR_STRUCT) {
      return false;
    }
  }
  strbuf_puts(out, "axes=[");
  for (uint32_t i = 0; i < axes->list_count; i++) {
    strbuf_puts(out, i > 0 ? ", <" : "<");
    mlir_put_struct_fields(m, (struct ir_attr){m->lists.data[axes->list_first + i]}, out);
    strbuf_putc(out, '>');
  }
  strbuf_putc(out, ']');
  for (uint32_t i = 1; i < a->list_count; i++) {
    strbuf_puts(out, ", ");
    put_text(m, pairs[2 * i], out);
    strbuf_putc(out, '=');
    put_field_value(m, (struct ir_attr){pairs[2 * i + 1]}, out);
  }
  return true;
}

static void put_struct(const struct ir_module *m, struct ir_attr attr, struct strbuf *out) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  const char *name = ir_text(m, a->text);
  const char *dot = strchr(name, '.');
  strbuf_putc(out, '#');
  strbuf_puts(out, name);
  strbuf_putc(out, '<');
  if (dot && strcmp(dot + 1, "conv") == 0) {
    if (!mlir_put_conv_dimensions(m, attr, out)) {
      strbuf_puts(out, "raw ");
      put_struct_fields(m, a, false, out);
    }
  } else if (!dot || strcmp(dot + 1, "mesh") != 0 || !put_mesh_fields(m, a, out)) {
    put_struct_fields(m, a, is_sparse_struct(name), out);
  }
  strbuf_putc(out, '>');
}

/* ---- convolution dimensions ------------------------------------------------------------------------------------- */

enum { CONV_MAX_RANK = 64, CONV_UNKNOWN = -1, CONV_FIRST = -2, CONV_SECOND = -3 };

/* Labels of one operand by position: a spatial number, or one of the two named dimensions. */
static bool conv_labels(const struct ir_module *m, struct ir_attr attr, const char *const fields[3],
                        int64_t labels[CONV_MAX_RANK], int64_t *rank) {
  struct ir_attr first = ir_attr_field(m, attr, fields[0]), second = ir_attr_field(m, attr, fields[1]);
  struct ir_attr spatial = ir_attr_field(m, attr, fields[2]);
  if (!first.id || !second.id || !spatial.id) {
    return false;
  }
  for (int i = 0; i < CONV_MAX_RANK; i++) {
    labels[i] = CONV_UNKNOWN;
  }
  uint64_t count = ir_attr_length(m, spatial);
  *rank = 0;
  for (uint64_t i = 0; i < count + 2; i++) {
    int64_t at = i < count ? ir_attr_int_at(m, spatial, i) : ir_attr_get(m, i == count ? first : second)->integer;
    if (at < 0 || at >= CONV_MAX_RANK || labels[at] != CONV_UNKNOWN) {
      return false;
    }
    labels[at] = i < count ? (int64_t)i : (i == count ? CONV_FIRST : CONV_SECOND);
    *rank = at + 1 > *rank ? at + 1 : *rank;
  }
  return true;
}

static void put_conv_labels(const int64_t *labels, int64_t rank, const char *letters, struct strbuf *out) {
  strbuf_putc(out, '[');
  for (int64_t i = 0; i < rank; i++) {
    if (i > 0) {
      strbuf_puts(out, ", ");
    }
    if (labels[i] >= 0) {
      strbuf_put_i64(out, labels[i]);
    } else {
      strbuf_putc(out, labels[i] == CONV_UNKNOWN ? '?' : letters[labels[i] == CONV_SECOND]);
    }
  }
  strbuf_putc(out, ']');
}

bool mlir_put_conv_dimensions(const struct ir_module *m, struct ir_attr attr, struct strbuf *out) {
  static const char *const fields[3][3] = {
      {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
      {"kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"},
      {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
  static const char *const letters[3] = {"bf", "io", "bf"};
  static const char *const before[3] = {"", "x", "->"};
  int64_t labels[3][CONV_MAX_RANK], rank[3];
  for (int i = 0; i < 3; i++) {
    if (!conv_labels(m, attr, fields[i], labels[i], &rank[i])) {
      return false;
    }
  }
  for (int i = 0; i < 3; i++) {
    strbuf_puts(out, before[i]);
    put_conv_labels(labels[i], rank[i], letters[i], out);
  }
  return true;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static void put_array(const struct ir_module *m, const struct ir_attr_data *a, struct strbuf *out) {
  strbuf_putc(out, '[');
  for (uint32_t i = 0; i < a->list_count; i++) {
    if (i > 0) {
      strbuf_puts(out, ", ");
    }
    mlir_put_attr(m, (struct ir_attr){m->lists.data[a->list_first + i]}, TYPE_UNLESS_DEFAULT, out);
  }
  strbuf_putc(out, ']');
}

static void put_dense_array(const struct ir_module *m, const struct ir_attr_data *a, struct strbuf *out) {
  strbuf_puts(out, "array<");
  mlir_put_type(m, a->type, out);
  if (a->list_count > 0) {
    strbuf_puts(out, ": ");
    mlir_put_dense_array_items(m, a, out);
  }
  strbuf_putc(out, '>');
}

void mlir_put_named_attr(const struct ir_module *m, uint32_t name, struct ir_attr attr, struct strbuf *out) {
  mlir_put_keyword(out, ir_text(m, name), intern_length(&m->strings, name));
  if (ir_attr_get(m, attr)->kind != IR_ATTR_UNIT) {
    strbuf_puts(out, " = ");
    mlir_put_attr(m, attr, TYPE_ALWAYS, out);
  }
}

static void put_dict(const struct ir_module *m, const struct ir_attr_data *a, struct strbuf *out) {
  const uint32_t *pairs = m->lists.data + a->list_first;
  strbuf_putc(out, '{');
  for (uint32_t i = 0; i < a->list_count; i++) {
    if (i > 0) {
      strbuf_puts(out, ", ");
    }
    mlir_put_named_attr(m, pairs[2 * i], (struct ir_attr){pairs[2 * i + 1]}, out);
  }
  strbuf_putc(out, '}');
}

void mlir_put_optional_dict(const struct ir_module *m, struct ir_attr dict, struct strbuf *out) {
  const struct ir_attr_data *a = ir_attr_get(m, dict);
  if (a->kind == IR_ATTR_DICT && a->list_count > 0) {
    strbuf_putc(out, ' ');
    put_dict(m, a, out);
  }
}

static void put_opaque(const struct ir_module *m, uint32_t id, struct strbuf *out) {
  const char *text = ir_text(m, id);
  if (strncmp(text, "#sdy", 4) == 0) {
    mlir_put_sdy_text(out, text, intern_length(&m->strings, id));
  } else {
    put_text(m, id, out);
  }
}

void mlir_put_attr(const struct ir_module *m, struct ir_attr attr, enum type_elision elision, struct strbuf *out) {
  const struct ir_attr_data *a = ir_attr_get(m, attr);
  bool has_type_suffix = false;
  switch ((enum ir_attr_kind)a->kind) {
  case IR_ATTR_NONE:
  case IR_ATTR_UNIT:
    strbuf_puts(out, "unit");
    break;
  case IR_ATTR_BOOL:
    strbuf_puts(out, a->integer ? "true" : "false");
    break;
  case IR_ATTR_INTEGER:
    put_integer(m, a, elision, out);
    break;
  case IR_ATTR_FLOAT:
    put_float(m, a, elision, out);
    break;
  case IR_ATTR_STRING:
    mlir_put_escaped(out, ir_text(m, a->text), intern_length(&m->strings, a->text));
    has_type_suffix = true;
    break;
  case IR_ATTR_SYMBOL:
    put_symbol_reference(out, ir_text(m, a->text), intern_length(&m->strings, a->text));
    break;
  case IR_ATTR_TYPE:
    mlir_put_type(m, a->type, out);
    break;
  case IR_ATTR_ARRAY:
    put_array(m, a, out);
    break;
  case IR_ATTR_DICT:
    put_dict(m, a, out);
    break;
  case IR_ATTR_DENSE:
    mlir_put_dense(m, a, out);
    has_type_suffix = true;
    break;
  case IR_ATTR_DENSE_ARRAY:
    put_dense_array(m, a, out);
    break;
  case IR_ATTR_RESOURCE:
    strbuf_puts(out, "dense_resource<");
    mlir_put_keyword(out, ir_text(m, a->text), intern_length(&m->strings, a->text));
    strbuf_putc(out, '>');
    has_type_suffix = true;
    break;
  case IR_ATTR_ENUM:
    put_enum(m, a, out);
    break;
  case IR_ATTR_STRUCT:
    put_struct(m, attr, out);
    break;
  case IR_ATTR_LOCATION:
    strbuf_puts(out, "loc(");
    put_text(m, a->text, out);
    strbuf_putc(out, ')');
    break;
  case IR_ATTR_OPAQUE:
    put_opaque(m, a->text, out);
    has_type_suffix = true;
    break;
  }
  if (has_type_suffix && elision != TYPE_NEVER) {
    put_type_suffix(m, a->type, out);
  }
}

void mlir_print_attr(const struct ir_module *module, struct ir_attr attr, struct strbuf *out) {
  mlir_put_attr(module, attr, TYPE_ALWAYS, out);
}
