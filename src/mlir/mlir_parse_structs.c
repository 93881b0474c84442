/* #stablehlo.x<field = value, ...>: the attributes of attr_structs.def, and those with a syntax of their own (conv, bounds).
 * Both spellings of an attribute give the same one. Path: mlir_parse_attrs.c and pretty forms → here → ir_attr_struct. */
#include "mlir/mlir_parse.h"

enum field_kind { FIELD_DIMS, FIELD_INT, FIELD_REAL, FIELD_ANY, FIELD_SUB, FIELD_AXES };
enum field_rule { FIELD_KEEP, FIELD_OMIT, FIELD_FILL };

struct field_row {
  const char *name;
  uint8_t kind;
  uint8_t rule;
};

#define FIELD(name, kind, rule) {#name, FIELD_##kind, FIELD_##rule},
#define RDG_STRUCT(mnemonic, fields) static const struct field_row fields_##mnemonic[] = {fields};
#include "mlir/attr_structs.def"
#undef RDG_STRUCT

static const struct {
  const char *mnemonic;
  const struct field_row *fields;
  unsigned count;
} structs[] = {
#define RDG_STRUCT(mnemonic, fields)                                                                                   \
  {#mnemonic, fields_##mnemonic, sizeof fields_##mnemonic / sizeof(struct field_row)},
#include "mlir/attr_structs.def"
#undef RDG_STRUCT
};
#undef FIELD

enum { FIELDS_MAX = 9 };

static struct ir_attr make_struct(struct parser *p, struct lex_span dialect, const char *mnemonic,
                                  const uint32_t *pairs, uint32_t count) {
  char text[96];
  size_t n = dialect.length < 32 ? dialect.length : 32;
  memcpy(text, dialect.text, n);
  text[n] = '.';
  strcpy(text + n + 1, mnemonic);
  return ir_attr_struct(p->m, text, pairs, count);
}

static struct ir_attr integer_attr(struct parser *p, int64_t value) {
  return ir_attr_integer(p->m, value, ir_type_scalar(p->m, DTYPE_I64));
}

/* A double; hexadecimal digits are its bits, which is how infinities and NaN are written. */
static bool real_field(struct parser *p, struct ir_attr *attr) {
  struct lex_number n;
  if (!lex_number_read(&p->lx, &n) || (n.is_hex && (n.is_wide || n.is_negative))) {
    return parse_expected(p, "a number");
  }
  uint64_t bits = n.value;
  if (!n.is_hex) {
    double value = lex_number_double(&n);
    memcpy(&bits, &value, sizeof bits);
  }
  *attr = ir_attr_float(p->m, bits, ir_type_scalar(p->m, DTYPE_F64));
  return parse_made(p, *attr);
}

/* `[<name = "x", size = 2>, ...]` of a mesh; a full spelling or an alias is taken for each, too. */
static bool axes_field(struct parser *p, struct lex_span dialect, struct ir_attr *attr) {
  static const struct lex_span mnemonic = {"mesh_axis", 9};
  size_t first = p->items.count;
  if (!parse_char(p, '[', "'[' and the axes of the mesh")) {
    return false;
  }
  if (!lex_try(&p->lx, ']')) {
    do {
      struct ir_attr axis;
      bool known;
      if (lex_peek(&p->lx) == '<' ? !parse_struct(p, dialect, mnemonic, &known, &axis) : !parse_attr(p, &axis)) {
        return false;
      }
      if (!vec_push(&p->items, axis.id)) {
        return parse_memory(p);
      }
    } while (lex_try(&p->lx, ','));
    if (!parse_char(p, ']', "',' or ']' after an axis")) {
      return false;
    }
  }
  *attr = ir_attr_array(p->m, (const struct ir_attr *)(p->items.data + first), (uint32_t)(p->items.count - first));
  p->items.count = first;
  return parse_made(p, *attr);
}

static bool field_value(struct parser *p, struct lex_span dialect, enum field_kind kind, struct ir_attr *attr) {
  int64_t value;
  switch (kind) {
  case FIELD_DIMS:
    return parse_i64_list(p, attr);
  case FIELD_AXES:
    return axes_field(p, dialect, attr);
  case FIELD_INT:
    if (!parse_integer(p, &value)) {
      return false;
    }
    *attr = integer_attr(p, value);
    return parse_made(p, *attr);
  case FIELD_REAL:
    return real_field(p, attr);
  case FIELD_SUB: {
    int64_t before, size;
    if (!parse_char(p, '(', "'(' and the sizes of a sub-axis") || !parse_integer(p, &before)
        || !parse_char(p, ')', "')' after the first size") || !parse_integer(p, &size)) {
      return false;
    }
    strbuf_clear(&p->text);
    strbuf_printf(&p->text, "(%lld)%lld", (long long)before, (long long)size);
    *attr = parse_text_attr(p, IR_ATTR_OPAQUE, &p->text, (struct ir_type){0});
    return parse_made(p, *attr);
  }
  default:
    return parse_attr(p, attr);
  }
}

static bool is_omitted(struct parser *p, const struct field_row *row, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(p->m, attr);
  return attr.id == 0
         || (row->rule == FIELD_OMIT && (row->kind == FIELD_DIMS ? data->list_count == 0 : data->integer == 0));
}

/* The fields in their order, without those that are left out. */
static bool collect(struct parser *p, const struct field_row *rows, unsigned count, const struct ir_attr *values,
                    struct lex_span dialect, const char *mnemonic, struct ir_attr *attr) {
  uint32_t pairs[2 * FIELDS_MAX];
  uint32_t n = 0;
  for (unsigned i = 0; i < count; i++) {
    struct ir_attr value = values[i];
    if (!value.id && rows[i].rule == FIELD_FILL) {
      value = rows[i].kind == FIELD_REAL ? ir_attr_float(p->m, 0, ir_type_scalar(p->m, DTYPE_F64)) : integer_attr(p, 0);
    }
    if (!is_omitted(p, &rows[i], value)) {
      if (!parse_intern(p, rows[i].name, strlen(rows[i].name), &pairs[n])) {
        return false;
      }
      pairs[n + 1] = value.id;
      n += 2;
    }
  }
  *attr = make_struct(p, dialect, mnemonic, pairs, n / 2);
  return parse_made(p, *attr);
}

/* After a field, when the name of another follows: says that a ',' is missing and goes on, for every place. */
static bool is_comma_missing(struct parser *p, bool *is_sound) {
  if (!lex_is(lex_peek(&p->lx), LEX_START)) {
    return false;
  }
  *is_sound = parse_expected(p, "',' or '>' after a field");
  p->quiet = false;
  return !p->stopped;
}

/* `field = value, ...>` */
static bool read_fields(struct parser *p, struct lex_span dialect, const struct field_row *rows, unsigned count,
                        struct ir_attr *values) {
  if (lex_try(&p->lx, '>')) {
    return true;
  }
  bool is_sound = true;
  do {
    if (lex_try(&p->lx, '>')) {
      return is_sound; /* a comma may stand behind the last field */
    }
    struct lex_span name = lex_word(&p->lx);
    unsigned i = 0;
    while (i < count && !lex_span_is(name, rows[i].name)) {
      i++;
    }
    if (i == count) {
      return name.length ? parse_error(p, DIAG_E0105_ATTRIBUTE, name.text, "this attribute has no field '%.*s'",
                                       SPAN_ARGS(name))
                         : parse_expected(p, "the name of a field");
    }
    if (values[i].id) {
      return parse_error(p, DIAG_E0105_ATTRIBUTE, name.text, "field '%.*s' stands twice", SPAN_ARGS(name));
    }
    if (!parse_char(p, '=', "'=' after the name of a field") || !field_value(p, dialect, rows[i].kind, &values[i])) {
      return false;
    }
  } while (lex_try(&p->lx, ',') || is_comma_missing(p, &is_sound));
  return parse_char(p, '>', "',' or '>' after a field") && is_sound;
}

/* ---- conv ----------------------------------------------------------------------------------------------------------- */

/* Fields of the raw spelling: three for each of input, kernel and output. */
static const struct field_row conv_fields[FIELDS_MAX] = {{"input_batch_dimension", FIELD_INT, FIELD_FILL},
                                                         {"input_feature_dimension", FIELD_INT, FIELD_FILL},
                                                         {"input_spatial_dimensions", FIELD_DIMS, FIELD_KEEP},
                                                         {"kernel_input_feature_dimension", FIELD_INT, FIELD_FILL},
                                                         {"kernel_output_feature_dimension", FIELD_INT, FIELD_FILL},
                                                         {"kernel_spatial_dimensions", FIELD_DIMS, FIELD_KEEP},
                                                         {"output_batch_dimension", FIELD_INT, FIELD_FILL},
                                                         {"output_feature_dimension", FIELD_INT, FIELD_FILL},
                                                         {"output_spatial_dimensions", FIELD_DIMS, FIELD_KEEP}};

enum { CONV_RANK_MAX = 64 };

/* `[b, 0, 1, f]`: letters[0] and letters[1] name the two special dimensions; the numbers say which spatial dimension
 * stands there, '?' a dimension that is none of them. */
static bool conv_group(struct parser *p, const char *letters, struct ir_attr *values) {
  int64_t special[2] = {-1, -1}, spatial[CONV_RANK_MAX];
  int64_t spatial_count = 0, position = 0;
  memset(spatial, 0xFF, sizeof spatial);
  if (!parse_char(p, '[', "'[' and dimension names")) {
    return false;
  }
  do {
    const char *at = p->lx.cursor;
    char c = lex_peek(&p->lx);
    if (c == letters[0] || c == letters[1]) {
      int64_t *slot = &special[c == letters[1]];
      p->lx.cursor++;
      if (*slot >= 0) {
        return parse_error(p, DIAG_E0105_ATTRIBUTE, at, "dimension '%c' stands twice", c);
      }
      *slot = position;
    } else if (c == '?') {
      p->lx.cursor++;
    } else {
      int64_t number;
      if (!lex_is(c, LEX_DIGIT) || !parse_integer(p, &number) || number >= CONV_RANK_MAX || spatial[number] >= 0) {
        return parse_error(p, DIAG_E0105_ATTRIBUTE, at, "expected '%c', '%c' or the next spatial dimension", letters[0],
                           letters[1]);
      }
      spatial[number] = position;
      spatial_count++;
    }
    position++;
  } while (lex_try(&p->lx, ','));
  if (!parse_char(p, ']', "',' or ']' after a dimension")) {
    return false;
  }
  if (special[0] < 0 || special[1] < 0) {
    return parse_error(p, DIAG_E0105_ATTRIBUTE, p->lx.cursor, "dimension '%c' is missing", letters[special[0] >= 0]);
  }
  for (int64_t i = 0; i < spatial_count; i++) {
    if (spatial[i] < 0) {
      return parse_error(p, DIAG_E0105_ATTRIBUTE, p->lx.cursor, "spatial dimension %lld is missing", (long long)i);
    }
  }
  values[0] = integer_attr(p, special[0]);
  values[1] = integer_attr(p, special[1]);
  values[2] = ir_attr_i64s(p->m, spatial, (uint32_t)spatial_count);
  return parse_made(p, values[2]);
}

bool parse_conv_dimensions(struct parser *p, struct lex_span dialect, struct ir_attr *attr) {
  struct ir_attr values[FIELDS_MAX] = {{0}};
  if (!conv_group(p, "bf", values) || !parse_char(p, 'x', "'x' and the kernel dimensions")
      || !conv_group(p, "io", values + 3)) {
    return false;
  }
  if (!lex_try_arrow(&p->lx)) {
    return parse_expected(p, "'->' and the output dimensions");
  }
  return conv_group(p, "bf", values + 6) && collect(p, conv_fields, FIELDS_MAX, values, dialect, "conv", attr);
}

/* Behind `conv<`. */
static bool parse_conv(struct parser *p, struct lex_span dialect, struct ir_attr *attr) {
  if (!LEX_TRY_WORD(&p->lx, "raw")) {
    return parse_conv_dimensions(p, dialect, attr) && parse_char(p, '>', "'>' after the dimensions");
  }
  struct ir_attr values[FIELDS_MAX] = {{0}};
  if (!read_fields(p, dialect, conv_fields, FIELDS_MAX, values)) {
    return false;
  }
  for (int i = 2; i < FIELDS_MAX; i += 3) {
    values[i] = values[i].id ? values[i] : ir_attr_i64s(p->m, NULL, 0);
  }
  return collect(p, conv_fields, FIELDS_MAX, values, dialect, "conv", attr);
}

/* ---- bounds --------------------------------------------------------------------------------------------------------- */

/* `<3, ?>` or `<bounds = [3, ?]>`: text, because the printer of types needs nothing else. */
static bool parse_bounds(struct parser *p, struct lex_span dialect, bool named, struct ir_attr *attr) {
  bool is_mhlo = dialect.length == 4;
  struct strbuf text = {0};
  strbuf_puts(&text, is_mhlo ? "#mhlo.type_extensions<bounds = [" : "#stablehlo.bounds<");
  bool ok = !named
            || ((LEX_TRY_WORD(&p->lx, "bounds") || parse_expected(p, "'bounds'")) && parse_char(p, '=', "'='")
                && parse_char(p, '[', "'[' and the bounds"));
  char close = named ? ']' : '>';
  bool first = true;
  while (ok && !(first && lex_try(&p->lx, close))) {
    int64_t value;
    strbuf_puts(&text, first ? "" : ", ");
    first = false;
    if (lex_try(&p->lx, '?')) {
      strbuf_putc(&text, '?');
    } else if ((ok = parse_integer(p, &value))) {
      strbuf_put_i64(&text, value);
    }
    if (ok && !lex_try(&p->lx, ',')) {
      ok = parse_char(p, close, "',' or the end of the bounds");
      break;
    }
  }
  ok = ok && (!named || parse_char(p, '>', "'>' after the bounds"));
  strbuf_puts(&text, is_mhlo ? "]>" : ">");
  if (ok) {
    *attr = parse_text_attr(p, IR_ATTR_OPAQUE, &text, (struct ir_type){0});
  }
  strbuf_release(&text);
  return ok && parse_made(p, *attr);
}

bool parse_struct(struct parser *p, struct lex_span dialect, struct lex_span mnemonic, bool *known,
                  struct ir_attr *attr) {
  *known = true;
  if (lex_span_is(mnemonic, "conv") || lex_span_is(mnemonic, "bounds") || lex_span_is(mnemonic, "type_extensions")) {
    p->lx.cursor++;
    return mnemonic.text[0] == 'c' ? parse_conv(p, dialect, attr)
                                   : parse_bounds(p, dialect, mnemonic.text[0] == 't', attr);
  }
  for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
    if (lex_span_is(mnemonic, structs[i].mnemonic)) {
      struct ir_attr values[FIELDS_MAX] = {{0}};
      p->lx.cursor++;
      return read_fields(p, dialect, structs[i].fields, structs[i].count, values)
             && collect(p, structs[i].fields, structs[i].count, values, dialect, structs[i].mnemonic, attr);
    }
  }
  *known = false;
  return true;
}
