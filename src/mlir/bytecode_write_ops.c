/* Names and attributes of operations for bytecode that is written: which version of VHLO's operation the target has, what
 * its properties are, and what it cannot say. Facts: vhlo_versions.def. Path: bytecode_write_ir.c → here, once per
 * combination of operation and attributes → bytecode_write_vhlo.c, bytecode_write_builtin.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mlir/bytecode_write_int.h"
#include "mlir/op_attrs.h"

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static const char *op_name(const struct bw_writer *w, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  return data->name ? ir_text(w->m, data->name) : ir_opcode_info((enum ir_opcode)data->opcode)->name;
}

static void record(struct bw_writer *w, struct ir_op op, enum diag_id id, const char *message) {
  uint32_t offset = ir_op_get(w->m, op)->offset;
  const struct source *source = &w->m->source;
  if (source->text && source->length) {
    diag_at(w->diags, id, source, offset, "%s", message);
  } else { /* read from bytecode: offsets are those of its bytes */
    diag_file(w->diags, id, source->name, 0, 0, "byte %u: %s", offset, message);
  }
}

void bw_report(struct bw_writer *w, struct ir_op op, enum diag_id id, const char *format, ...) {
  char message[500];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  record(w, op, id, message);
}

bool bw_require(struct bw_writer *w, struct ir_op op, uint32_t since, const char *format, ...) {
  if (since <= w->target) {
    return true;
  }
  char what[400], message[500];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  snprintf(message, sizeof message, "%s needs StableHLO %u.%u.%u or newer; the target is %u.%u.%u", what, since >> 20,
           since >> 10 & 0x3FF, since & 0x3FF, w->version[0], w->version[1], w->version[2]);
  record(w, op, DIAG_E0115_NEEDS_VERSION, message);
  return false;
}

/* Reports the refusal that is under way, about an attribute of an operation. */
static bool report_attr(struct bw_writer *w, struct ir_op op, const char *name, size_t length) {
  if (w->why.length && !w->out_of_memory) {
    bw_report(w, op, w->limit ? DIAG_E0005_LIMIT : DIAG_E0114_NOT_PORTABLE,
              "attribute '%.*s' of '%s' cannot be in a portable artifact: %s", (int)length, name, op_name(w, op),
              strbuf_text(&w->why));
  }
  strbuf_clear(&w->why);
  return false;
}

/* ---- which operation of VHLO ---------------------------------------------------------------------------------------- */

bool bw_is_vhlo(const struct bw_writer *w, struct ir_op op) {
  enum ir_opcode code = ir_op_code(w->m, op);
  return code == IR_OP_FUNC_FUNC || code == IR_OP_FUNC_CALL || code == IR_OP_FUNC_RETURN
         || (code != IR_OP_UNKNOWN && code <= IR_OP_XOR && strncmp(op_name(w, op), "stablehlo.", 10) == 0);
}

static uint16_t vhlo_opcode(const struct bw_writer *w, struct ir_op op) {
  enum ir_opcode code = ir_op_code(w->m, op);
  return (uint16_t)(code == IR_OP_FUNC_RETURN ? IR_OP_RETURN : code);
}

/* The versions of an operation are rows that follow each other, the oldest first. */
struct op_versions {
  const struct vhlo_op_row *first, *newest, *chosen; /* chosen: the newest that the target has; NULL when it has none */
};

static struct op_versions versions_of(const struct bw_writer *w, uint16_t opcode) {
  struct op_versions v = {NULL, NULL, NULL};
  for (size_t i = 0; i < vhlo_op_row_count; i++) {
    const struct vhlo_op_row *row = &vhlo_op_rows[i];
    if (row->opcode == opcode) {
      v.first = v.first ? v.first : row;
      v.newest = row;
      v.chosen = vhlo_version_of(row->since) <= w->target ? row : v.chosen;
    }
  }
  return v;
}

static const struct vhlo_struct_row *struct_with_field(uint16_t opcode, const char *word, size_t length) {
  for (size_t i = 0; i < vhlo_struct_row_count; i++) {
    if (vhlo_struct_rows[i].opcode == opcode && vhlo_has_word(vhlo_struct_rows[i].fields, word, length)) {
      return &vhlo_struct_rows[i];
    }
  }
  return NULL;
}

static bool is_word(const char *name, const char *word, size_t length) {
  return strncmp(name, word, length) == 0 && name[length] == 0;
}

static const struct vhlo_default_row *default_of(uint16_t opcode, const char *word, size_t length) {
  for (size_t i = 0; i < vhlo_default_row_count; i++) {
    const struct vhlo_default_row *row = &vhlo_default_rows[i];
    if ((row->opcode == opcode || row->opcode == IR_OP_UNKNOWN) && is_word(row->name, word, length)) {
      return row;
    }
  }
  return NULL;
}

/* Rule of an attribute; -1 = none. */
static int rule_of(uint16_t opcode, const char *word, size_t length) {
  for (size_t i = 0; i < vhlo_attr_row_count; i++) {
    const struct vhlo_attr_row *row = &vhlo_attr_rows[i];
    if ((row->opcode == opcode || row->opcode == IR_OP_UNKNOWN) && is_word(row->name, word, length)) {
      return row->rule;
    }
  }
  return -1;
}

/* False when the rule asks for the name of a function, or a list of them, and the attribute is another one. */
static bool fits_rule(const struct ir_module *m, int rule, const struct ir_attr_data *attr) {
  if (rule != RULE_SYMBOLS) {
    return rule != RULE_SYMBOL || attr->kind == IR_ATTR_SYMBOL;
  }
  bool fits = attr->kind == IR_ATTR_ARRAY;
  for (uint32_t i = 0; fits && i < attr->list_count; i++) {
    fits = ir_attr_get(m, (struct ir_attr){m->lists.data[attr->list_first + i]})->kind == IR_ATTR_SYMBOL;
  }
  return fits;
}

/* False when the operation's table says that the attribute is a list of numbers, and it is something else. */
static bool fits_form(const struct bw_writer *w, struct ir_op op, const char *word, size_t length,
                      const struct ir_attr_data *attr) {
  size_t count;
  const struct mlir_op_attr *rows = mlir_op_attrs((enum ir_opcode)ir_op_get(w->m, op)->opcode, &count);
  for (size_t i = 0; i < count; i++) {
    if (is_word(rows[i].name, word, length)) {
      return rows[i].form == MLIR_FORM_ANY || attr->kind == IR_ATTR_DENSE_ARRAY || attr->kind == IR_ATTR_DENSE;
    }
  }
  return true;
}

static struct ir_attr attr_of(const struct bw_writer *w, struct ir_op op, const char *word, size_t length) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  for (uint32_t i = 0; i < data->attr_count; i++) {
    const uint32_t *pair = w->m->lists.data + data->attr_first + 2 * i;
    if (intern_length(&w->m->strings, pair[0]) == length && memcmp(ir_text(w->m, pair[0]), word, length) == 0) {
      return (struct ir_attr){pair[1]};
    }
  }
  return (struct ir_attr){0};
}

/* ---- defaults ------------------------------------------------------------------------------------------------------- */

/* Dimensions that the operation has a number for each of: spatial ones, or those of a window. */
static uint64_t window_rank(const struct bw_writer *w, struct ir_op op) {
  struct ir_attr numbers = ir_op_attr(w->m, op, "dimension_numbers");
  struct ir_attr window = ir_op_attr(w->m, op, "window_dimensions");
  if (numbers.id) {
    window = ir_attr_field(w->m, numbers, "input_spatial_dimensions");
  }
  if (window.id) {
    return ir_attr_length(w->m, window);
  }
  return ir_op_get(w->m, op)->operand_count ? ir_type_get(w->m, ir_value_type(w->m, ir_op_operand(w->m, op, 0)))->rank
                                            : 0;
}

/* A custom call by the interface whose configuration is a dictionary. */
static bool is_typed_call(const struct bw_writer *w, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(w->m, op, "api_version");
  return attr.id && ir_attr_get(w->m, attr)->integer == VHLO_API_VERSION_LAST;
}

static struct bw_ref make_default(struct bw_writer *w, struct ir_op op, const struct vhlo_default_row *row) {
  int64_t value = row->value == DEFAULT_ONE ? 1 : row->value == DEFAULT_MINUS_ONE ? -1 : 0;
  struct bw_ref precisions[2];
  switch ((enum vhlo_default_form)row->form) {
  case FORM_BOOL:
    return bw_vhlo_bool(w, value != 0);
  case FORM_I64:
    return bw_vhlo_number(w, value);
  case FORM_STRING:
    return bw_vhlo_string(w, "", 0);
  case FORM_LIST:
    return bw_vhlo_list(w, NULL, 0);
  case FORM_DICTIONARY:
    return bw_vhlo_dictionary(w);
  case FORM_NO_DIMS:
    return bw_vhlo_fill(w, DTYPE_I64, 0, 0, false);
  case FORM_DIMS:
    return bw_vhlo_fill(w, DTYPE_I64, value, window_rank(w, op), false);
  case FORM_BOOLS:
    return bw_vhlo_fill(w, DTYPE_I1, value, window_rank(w, op), false);
  case FORM_PADDING:
    return bw_vhlo_fill(w, DTYPE_I64, 0, window_rank(w, op), true);
  case FORM_COMPARISON:
    return bw_vhlo_enum(w, VHLO_COMPARISON_TYPE, "NOTYPE");
  case FORM_PRECISIONS:
    precisions[0] = precisions[1] = bw_vhlo_enum(w, VHLO_PRECISION, "DEFAULT");
    return bw_vhlo_list(w, precisions, 2);
  case FORM_API:
    return bw_vhlo_api(w, 1);
  case FORM_CONFIG:
    return is_typed_call(w, op) ? bw_vhlo_dictionary(w) : bw_vhlo_string(w, "", 0);
  default:
    return bw_vhlo_accuracy(w);
  }
}

/* ---- one property --------------------------------------------------------------------------------------------------- */

static const char *field_name(const struct vhlo_struct_row *row, const char *word, size_t length, char name[64]) {
  if (row->rule == FIELDS_HANDLE) {
    return length > 5 && memcmp(word + length - 5, "_type", 5) == 0 ? "type" : "handle";
  }
  snprintf(name, 64, "%.*s", (int)length, word);
  return name;
}

/* A field that StableHLO has within an attribute. */
static struct bw_ref make_field(struct bw_writer *w, struct ir_op op, const struct vhlo_struct_row *row,
                                const char *word, size_t length) {
  char buffer[64];
  struct ir_attr attr = ir_op_attr(w->m, op, row->name), field = {0};
  if (attr.id && ir_attr_get(w->m, attr)->kind != IR_ATTR_STRUCT) {
    return bw_refused(w, "'%s' is not #%s<...>", row->name, row->mnemonic);
  }
  if (attr.id) {
    field = ir_attr_field(w->m, attr, field_name(row, word, length, buffer));
  }
  if (field.id) {
    return bw_vhlo_attr(w, field);
  }
  if (row->rule == FIELDS_HANDLE) {
    return bw_vhlo_number(w, 0);
  }
  if (row->rule == FIELDS_ALGORITHM && !attr.id) {
    return bw_vhlo_none(w);
  }
  if (row->rule != FIELDS_OMIT || !attr.id) {
    return bw_refused(w, "the operation lacks it");
  }
  return vhlo_is_list_field(word, length) ? bw_vhlo_fill(w, DTYPE_I64, 0, 0, false) : bw_vhlo_number(w, 0);
}

static struct bw_ref make_property(struct bw_writer *w, struct ir_op op, uint16_t opcode, const char *word,
                                   size_t length) {
  const struct vhlo_struct_row *fields = struct_with_field(opcode, word, length);
  if (fields) {
    return make_field(w, op, fields, word, length);
  }
  struct ir_attr attr = attr_of(w, op, word, length);
  const struct ir_attr_data *data = ir_attr_get(w->m, attr);
  int rule = rule_of(opcode, word, length);
  if (rule == RULE_UNIT) {
    return bw_vhlo_bool(w, attr.id && (data->kind != IR_ATTR_BOOL || data->integer));
  }
  if (attr.id && !fits_rule(w->m, rule, data)) {
    return bw_refused(w, "it does not name a function");
  }
  const struct vhlo_default_row *row = default_of(opcode, word, length);
  if (!attr.id) {
    return row ? make_default(w, op, row) : bw_refused(w, "the operation lacks it");
  }
  if (!fits_form(w, op, word, length, data)) {
    return bw_refused(w, "it is no list of numbers");
  }
  return row && row->form == FORM_API && data->kind == IR_ATTR_INTEGER ? bw_vhlo_api(w, data->integer)
                                                                       : bw_vhlo_attr(w, attr);
}

/* ---- what the target lacks ------------------------------------------------------------------------------------------ */

static bool is_plain_accuracy(const struct bw_writer *w, struct ir_attr attr) {
  static const char *const numbers[] = {"atol", "rtol", "ulps"};
  bool is_plain = true;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct ir_attr field = ir_attr_field(w->m, attr, numbers[i]);
    is_plain &= !field.id || ir_attr_get(w->m, field)->integer == 0;
  }
  struct ir_attr mode = ir_attr_field(w->m, attr, "mode");
  return is_plain && mode.id && strcmp(ir_text(w->m, ir_attr_get(w->m, mode)->text2), "DEFAULT") == 0;
}

/* The attribute of an operation that says something about a property: more than its default. NULL when none does. */
static const char *stated(const struct bw_writer *w, struct ir_op op, uint16_t opcode, const char *word, size_t length,
                          char name[64]) {
  const struct vhlo_struct_row *fields = struct_with_field(opcode, word, length);
  if (fields) {
    struct ir_attr attr = ir_op_attr(w->m, op, fields->name);
    struct ir_attr field = attr.id ? ir_attr_field(w->m, attr, field_name(fields, word, length, name)) : attr;
    const struct ir_attr_data *data = ir_attr_get(w->m, field);
    bool is_empty = data->kind == IR_ATTR_DENSE_ARRAY ? data->list_count == 0 : data->integer == 0;
    bool is_stated = fields->rule == FIELDS_ALGORITHM ? attr.id != 0 : field.id != 0 && !is_empty;
    return !is_stated ? NULL : fields->rule == FIELDS_ALGORITHM ? fields->name : name;
  }
  struct ir_attr attr = attr_of(w, op, word, length);
  const struct vhlo_default_row *row = default_of(opcode, word, length);
  if (!attr.id
      || (row && row->form == FORM_ACCURACY ? is_plain_accuracy(w, attr)
                                            : row && vhlo_has_default_value(w->m, attr, row->value))) {
    return NULL;
  }
  snprintf(name, 64, "%.*s", (int)length, word);
  return name;
}

/* Properties of newer versions must have the value that old versions mean. */
static bool check_lost(struct bw_writer *w, struct ir_op op, const struct op_versions *v) {
  const char *list = v->newest->attrs, *word;
  size_t length;
  char name[64] = "";
  while ((word = vhlo_next_word(&list, &length)) != NULL) {
    if (vhlo_has_word(v->chosen->attrs, word, length)) {
      continue;
    }
    const struct vhlo_op_row *row = v->chosen;
    const char *attr = stated(w, op, row->opcode, word, length, name);
    while (attr && !vhlo_has_word(row->attrs, word, length)) {
      row++;
    }
    if (attr && !bw_require(w, op, vhlo_version_of(row->since), "'%s' with %s", op_name(w, op), attr)) {
      return false;
    }
  }
  return true;
}

static struct ir_type element_type(const struct bw_writer *w, struct ir_value value) {
  struct ir_type type = ir_value_type(w->m, value);
  const struct ir_type_data *data = ir_type_get(w->m, type);
  return data->element.id ? data->element : type;
}

static bool has_same_elements(const struct bw_writer *w, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  for (uint32_t i = 0; i < data->result_count && i < data->operand_count; i++) {
    if (element_type(w, ir_op_operand(w->m, op, i)).id != element_type(w, ir_op_result(w->m, op, i)).id) {
      return false;
    }
  }
  return true;
}

static bool has_future(const struct bw_writer *w, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  bool found = false;
  for (uint32_t i = 0; i < data->operand_count + data->result_count; i++) {
    struct ir_value value =
        i < data->operand_count ? ir_op_operand(w->m, op, i) : ir_op_result(w->m, op, i - data->operand_count);
    found |= ir_type_get(w->m, ir_value_type(w->m, value))->kind == IR_TYPE_FUTURE;
  }
  return found;
}

static bool holds(const struct bw_writer *w, struct ir_op op, enum vhlo_limit_check check) {
  struct ir_attr attr;
  switch (check) {
  case LIMIT_ONE_OPERAND:
    return ir_op_get(w->m, op)->operand_count == 1;
  case LIMIT_NO_REGIONS:
    return ir_op_get(w->m, op)->region_count == 0;
  case LIMIT_SAME_ELEMENTS:
    return has_same_elements(w, op);
  case LIMIT_NO_FUTURE:
    return !has_future(w, op);
  default:
    attr = ir_op_attr(w->m, op, "backend_config");
    return !is_typed_call(w, op) && !(attr.id && ir_attr_get(w->m, attr)->kind == IR_ATTR_DICT);
  }
}

static bool check_limits(struct bw_writer *w, struct ir_op op, uint16_t opcode) {
  for (size_t i = 0; i < vhlo_limit_row_count; i++) {
    const struct vhlo_limit_row *row = &vhlo_limit_rows[i];
    if (row->opcode == opcode && vhlo_version_of(row->since) > w->target
        && !holds(w, op, (enum vhlo_limit_check)row->check)) {
      return bw_require(w, op, vhlo_version_of(row->since), "'%s' with %s", op_name(w, op), row->what);
    }
  }
  return true;
}

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

struct named_ref {
  const char *name;
  size_t length;
  struct bw_ref ref;
  bool is_property, is_optional;
};
typedef VEC(struct named_ref) named_refs;

/* The part of a function's or tuple's type that is too new. */
static struct ir_type newest_part(const struct bw_writer *w, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(w->m, type);
  for (uint32_t i = 0; data->kind == IR_TYPE_FUNCTION && i < data->count; i++) {
    struct ir_type part = {w->m->lists.data[data->first + i]};
    if (w->vhlo_types[part.id].since > w->target) {
      return part;
    }
  }
  return type;
}

static bool require_attr(struct bw_writer *w, struct ir_op op, const struct named_ref *item) {
  struct ir_attr attr = attr_of(w, op, item->name, item->length);
  if (item->ref.since <= w->target) {
    return true;
  }
  if (!attr.id || ir_attr_get(w->m, attr)->kind != IR_ATTR_TYPE) {
    return bw_require(w, op, item->ref.since, "attribute '%.*s' of '%s'", (int)item->length, item->name,
                      op_name(w, op));
  }
  struct strbuf text = {0};
  mlir_print_type(w->m, newest_part(w, ir_attr_get(w->m, attr)->type), &text);
  bool ok = bw_require(w, op, item->ref.since, "type '%.200s' in attribute '%.*s' of '%s'", strbuf_text(&text),
                       (int)item->length, item->name, op_name(w, op));
  strbuf_release(&text);
  return ok;
}

static bool add(struct bw_writer *w, struct ir_op op, named_refs *refs, struct named_ref item) {
  if (!item.ref.id && !item.is_optional) {
    return report_attr(w, op, item.name, item.length);
  }
  if (!require_attr(w, op, &item)) {
    return false;
  }
  w->out_of_memory |= !vec_push(refs, item);
  return !w->out_of_memory;
}

static bool add_vhlo_attrs(struct bw_writer *w, struct ir_op op, const struct op_versions *v, named_refs *refs) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  uint16_t opcode = v->chosen->opcode;
  const char *list = v->chosen->attrs, *word;
  size_t length;
  while ((word = vhlo_next_word(&list, &length)) != NULL) {
    struct named_ref item = {word, length, make_property(w, op, opcode, word, length), true, false};
    if (!add(w, op, refs, item)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < data->attr_count; i++) {
    const uint32_t *pair = w->m->lists.data + data->attr_first + 2 * i;
    struct named_ref item = {ir_text(w->m, pair[0]), intern_length(&w->m->strings, pair[0]), {0}, false, false};
    bool is_taken = vhlo_has_word(v->chosen->attrs, item.name, item.length)
                    || vhlo_has_word(v->newest->attrs, item.name, item.length)
                    || rule_of(opcode, item.name, item.length) == RULE_DROP;
    for (size_t k = 0; k < vhlo_struct_row_count; k++) {
      is_taken |= vhlo_struct_rows[k].opcode == opcode && strcmp(vhlo_struct_rows[k].name, item.name) == 0;
    }
    if (is_taken) {
      continue;
    }
    item.ref = bw_vhlo_attr(w, (struct ir_attr){pair[1]});
    if (!add(w, op, refs, item)) {
      return false;
    }
  }
  return true;
}

/* Next of the properties of an operation that is not VHLO: a word of bytecode_properties.def, or a row of op_attrs.def. */
static const char *next_property(struct bw_writer *w, struct ir_op op, const char **known, size_t *row,
                                 size_t *length) {
  if (*known) {
    return vhlo_next_word(known, length);
  }
  size_t count;
  const struct mlir_op_attr *rows = mlir_op_attrs(ir_op_code(w->m, op), &count);
  if (*row == count) {
    return NULL;
  }
  *length = strlen(rows[*row].name);
  return rows[(*row)++].name;
}

/* An enumerator that MLIR holds as its number is one. */
static struct bw_ref plain_attr(struct bw_writer *w, struct ir_op op, const struct named_ref *item,
                                struct ir_attr attr) {
  size_t count;
  const struct mlir_op_attr *rows = mlir_op_attrs(ir_op_code(w->m, op), &count);
  for (size_t i = 0; i < count; i++) {
    int number = is_word(rows[i].name, item->name, item->length) ? mlir_attr_number(w->m, &rows[i], attr) : -1;
    if (number >= 0) {
      return bw_builtin_number(w, number);
    }
  }
  return bw_builtin_attr(w, attr);
}

static bool add_plain_attrs(struct bw_writer *w, struct ir_op op, named_refs *refs) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  const char *known = bc_known_properties(op_name(w, op)), *word;
  size_t row = 0, length;
  while ((word = next_property(w, op, &known, &row, &length)) != NULL) {
    bool is_optional = *word == '?';
    struct named_ref item = {word + is_optional, length - is_optional, {0}, true, is_optional};
    struct ir_attr attr = attr_of(w, op, item.name, item.length);
    if (attr.id) {
      item.ref = plain_attr(w, op, &item, attr);
      item.is_optional = item.ref.id != 0 && is_optional;
    } else if (!is_optional) {
      bw_refuse(w, "the operation lacks it");
    }
    if (!add(w, op, refs, item)) {
      return false;
    }
  }
  size_t properties = refs->count;
  for (uint32_t i = 0; i < data->attr_count; i++) {
    const uint32_t *pair = w->m->lists.data + data->attr_first + 2 * i;
    struct named_ref item = {ir_text(w->m, pair[0]), intern_length(&w->m->strings, pair[0]), {0}, false, false};
    bool is_taken = false;
    for (size_t k = 0; k < properties; k++) {
      is_taken |= is_word(item.name, refs->data[k].name, refs->data[k].length);
    }
    if (is_taken) {
      continue;
    }
    item.ref = bw_builtin_attr(w, (struct ir_attr){pair[1]});
    if (!add(w, op, refs, item)) {
      return false;
    }
  }
  return true;
}

static int compare_names(const void *a, const void *b) {
  const struct named_ref *x = a, *y = b;
  int order = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* A dictionary of those that are there and, where the container has properties, are none. */
static struct bw_ref make_dictionary(struct bw_writer *w, named_refs *refs) {
  size_t mark = w->stack.count;
  uint64_t count = 0;
  bool has_properties = w->container >= BC_VERSION_PROPERTIES;
  bw_varint(w, BUILTIN_DICTIONARY);
  bw_varint(w, 0);
  if (refs->count) {
    qsort(refs->data, refs->count, sizeof *refs->data, compare_names);
  }
  for (size_t i = 0; i < refs->count; i++) {
    const struct named_ref *item = &refs->data[i];
    if (item->ref.id && !(has_properties && item->is_property)) {
      bw_reference(w, bw_builtin_string(w, item->name, item->length));
      bw_reference(w, item->ref);
      count++;
    }
  }
  if (count == 0 || w->out_of_memory) {
    return bw_drop(w, mark);
  }
  bw_set(w, mark + 1, count);
  return bw_finish(w, mark, BW_ATTRIBUTE, BW_BUILTIN, 0);
}

static struct bw_ref make_properties(struct bw_writer *w, const named_refs *refs) {
  size_t mark = w->stack.count;
  for (size_t i = 0; i < refs->count; i++) {
    const struct named_ref *item = &refs->data[i];
    if (item->is_property && item->is_optional) {
      bw_flagged(w, item->ref);
    } else if (item->is_property) {
      bw_reference(w, item->ref);
    }
  }
  return w->stack.count == mark ? (struct bw_ref){0} : bw_finish(w, mark, BW_PROPERTIES, BW_BUILTIN, 0);
}

static bool finish_form(struct bw_writer *w, named_refs *refs, struct bw_form *form) {
  if (w->container >= BC_VERSION_PROPERTIES) {
    form->properties = make_properties(w, refs);
  }
  form->dictionary = make_dictionary(w, refs);
  return !w->out_of_memory;
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

bool bw_name(struct bw_writer *w, enum bw_dialect dialect, const char *text, uint32_t *index) {
  for (*index = 0; *index < w->names.count; ++*index) {
    if (w->names.data[*index].dialect == dialect && strcmp(w->names.data[*index].text, text) == 0) {
      return true;
    }
  }
  struct bw_name name = {.text = text, .dialect = (uint8_t)dialect};
  w->out_of_memory |= !vec_push(&w->names, name);
  return !w->out_of_memory;
}

static bool vhlo_form(struct bw_writer *w, struct ir_op op, struct bw_form *form, named_refs *refs) {
  struct op_versions v = versions_of(w, vhlo_opcode(w, op));
  if (v.chosen == NULL) {
    return v.first
               ? bw_require(w, op, vhlo_version_of(v.first->since), "'%s'", op_name(w, op))
               : (bw_report(w, op, DIAG_E0114_NOT_PORTABLE, "'%s' cannot be in a portable artifact", op_name(w, op)),
                  false);
  }
  return check_lost(w, op, &v) && bw_name(w, BW_VHLO, v.chosen->name, &form->name) && add_vhlo_attrs(w, op, &v, refs);
}

static bool other_form(struct bw_writer *w, struct ir_op op, struct bw_form *form, named_refs *refs) {
  static const char builtin[] = "builtin.", sdy[] = "sdy.";
  const char *name = op_name(w, op);
  enum ir_opcode code = ir_op_code(w->m, op);
  if (code == IR_OP_BUILTIN_MODULE) {
    return bw_name(w, BW_BUILTIN, name + sizeof builtin - 1, &form->name) && add_plain_attrs(w, op, refs);
  }
  if (code != IR_OP_UNKNOWN && strncmp(name, sdy, sizeof sdy - 1) == 0) {
    return bw_require(w, op, vhlo_version_of(OTHER_DIALECTS_SINCE), "'%s'", name)
           && bw_name(w, BW_SDY, name + sizeof sdy - 1, &form->name) && add_plain_attrs(w, op, refs);
  }
  bw_report(
      w, op, DIAG_E0114_NOT_PORTABLE,
      "'%s' cannot be in a portable artifact, which holds operations of stablehlo, func and sdy only: lower it to "
      "StableHLO first",
      name);
  return false;
}

/* ---- forms ---------------------------------------------------------------------------------------------------------- */

/* What decides the form of an operation besides its name and attributes: defaults may depend on the rank of an operand. */
static uint64_t shape_of(const struct bw_writer *w, struct ir_op op) {
  return ir_op_code(w->m, op) == IR_OP_SELECT_AND_SCATTER ? window_rank(w, op) : 0;
}

static const uint32_t *attr_words(const struct bw_writer *w, struct ir_op op) {
  return w->m->lists.data + ir_op_get(w->m, op)->attr_first;
}

static bool has_same_form(const struct bw_writer *w, struct ir_op a, struct ir_op b) {
  const struct ir_op_data *x = ir_op_get(w->m, a), *y = ir_op_get(w->m, b);
  return x->opcode == y->opcode && x->name == y->name && x->attr_count == y->attr_count
         && (x->attr_count == 0
             || memcmp(attr_words(w, a), attr_words(w, b), x->attr_count * 2 * sizeof(uint32_t)) == 0)
         && shape_of(w, a) == shape_of(w, b);
}

static bool make_form(struct bw_writer *w, struct ir_op op, struct bw_form *form) {
  named_refs refs = {0};
  bool ok = bw_is_vhlo(w, op) ? vhlo_form(w, op, form, &refs) : other_form(w, op, form, &refs);
  ok = ok && finish_form(w, &refs, form);
  vec_release(&refs);
  return ok;
}

/* The form of an operation: that of an earlier one with the same name and attributes, or a new one; 0 after a report. */
static uint32_t find_form(struct bw_writer *w, struct ir_op op) {
  const struct ir_op_data *data = ir_op_get(w->m, op);
  uint64_t hash = data->attr_count ? hash_bytes(attr_words(w, op), data->attr_count * 2 * sizeof(uint32_t)) : 0;
  hash = hash_mix(hash_mix(hash, (uint64_t)data->opcode << 32 | data->name), shape_of(w, op));
  uint32_t newest = 0;
  if (map_get(&w->form_index, hash, &newest)) {
    for (uint32_t form = newest; form; form = w->forms.data[form].next) {
      if (has_same_form(w, w->forms.data[form].op, op)) {
        return form;
      }
    }
  }
  struct bw_form form = {.op = op, .next = newest};
  if (!make_form(w, op, &form)) {
    return 0;
  }
  if (!vec_push(&w->forms, form) || !map_set(&w->form_index, hash, (uint32_t)w->forms.count - 1)) {
    w->out_of_memory = true;
    return 0;
  }
  return (uint32_t)w->forms.count - 1;
}

bool bw_op_form(struct bw_writer *w, struct ir_op op) {
  uint32_t index = find_form(w, op);
  if (index == 0 || (bw_is_vhlo(w, op) && !check_limits(w, op, vhlo_opcode(w, op)))) {
    return false;
  }
  const struct bw_form *form = &w->forms.data[index];
  w->op_forms[op.id] = index;
  w->names.data[form->name].uses++;
  w->entries.data[form->dictionary.id].uses++; /* [0] takes what is absent */
  return true;
}
