/* Operations of VHLO: their names, and the attributes of an operation as StableHLO has them. Facts: vhlo_versions.def.
 * Path: bytecode_ir.c → here, once per combination of operation and attributes. */
#include <string.h>

#include "mlir/bytecode_int.h"
#include "mlir/op_attrs.h"

/* ---- values --------------------------------------------------------------------------------------------------------- */

bool bc_to_array(struct bc_reader *r, enum dtype element, struct ir_attr *attr) {
  struct ir_attr_data data = *ir_attr_get(r->m, *attr);
  if (data.kind != IR_ATTR_DENSE) {
    return true;
  }
  const struct ir_type_data *type = ir_type_get(r->m, data.type);
  uint64_t count = ir_attr_length(r->m, *attr);
  if (type->rank != 1 || !dtype_is_integral((enum dtype)type->dtype) || count > (1u << 20)
      || (element == DTYPE_I1 && type->dtype != DTYPE_I1)) {
    return true;
  }
  unsigned size = ir_dense_element_size(element);
  if (!vec_reserve(&r->bytes, count * size + 1)) {
    return bc_memory(r);
  }
  for (uint64_t i = 0; i < count; i++) {
    int64_t value = ir_attr_int_at(r->m, *attr, i);
    memcpy(r->bytes.data + i * size, &value, size);
  }
  *attr = ir_attr_dense_array(r->m, ir_type_scalar(r->m, element), r->bytes.data, (uint32_t)count);
  return bc_made(r, *attr);
}

static bool to_symbol(struct bc_reader *r, const uint8_t *at, struct ir_attr *attr) {
  struct ir_attr_data data = *ir_attr_get(r->m, *attr);
  if (data.kind != IR_ATTR_STRING) {
    return bc_error(r, at, "expected the name of a function");
  }
  *attr = ir_attr_text(r->m, IR_ATTR_SYMBOL, ir_text(r->m, data.text), intern_length(&r->m->strings, data.text),
                       (struct ir_type){0});
  return bc_made(r, *attr);
}

static bool to_symbols(struct bc_reader *r, const uint8_t *at, struct ir_attr *attr) {
  struct ir_attr_data data = *ir_attr_get(r->m, *attr);
  if (data.kind != IR_ATTR_ARRAY) {
    return bc_error(r, at, "expected a list of functions");
  }
  size_t first = r->items.count;
  for (uint32_t i = 0; i < data.list_count; i++) {
    struct ir_attr item = {r->m->lists.data[data.list_first + i]};
    if (!to_symbol(r, at, &item) || !bc_push(r, item.id)) {
      return false;
    }
  }
  *attr = ir_attr_array(r->m, (const struct ir_attr *)(r->items.data + first), data.list_count);
  r->items.count = first;
  return bc_made(r, *attr);
}

/* ---- defaults --------------------------------------------------------------------------------------------------------- */

/* True when the attribute is the number, or all of its elements are; no elements at all are no number. */
static bool is_number(const struct ir_module *m, struct ir_attr attr, int64_t number) {
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  if (data->kind == IR_ATTR_BOOL || data->kind == IR_ATTR_INTEGER) {
    return data->integer == number;
  }
  if (data->kind != IR_ATTR_DENSE && data->kind != IR_ATTR_DENSE_ARRAY) {
    return false;
  }
  uint64_t count = data->kind == IR_ATTR_DENSE_ARRAY
                       ? data->list_count
                       : data->data_size / ir_dense_element_size((enum dtype)ir_type_get(m, data->type)->dtype);
  for (uint64_t i = 0; i < count; i++) {
    if (ir_attr_int_at(m, attr, i) != number) {
      return false;
    }
  }
  return count != 0;
}

static bool is_enumerator(const struct ir_module *m, struct ir_attr attr, const char *name) {
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  return data->kind == IR_ATTR_ENUM && strcmp(ir_text(m, data->text2), name) == 0;
}

/* The enumerator, or a list of nothing but it. */
static bool is_all(const struct ir_module *m, struct ir_attr attr, const char *name) {
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  if (data->kind != IR_ATTR_ARRAY) {
    return is_enumerator(m, attr, name);
  }
  for (uint32_t i = 0; i < data->list_count; i++) {
    if (!is_enumerator(m, (struct ir_attr){m->lists.data[data->list_first + i]}, name)) {
      return false;
    }
  }
  return data->list_count != 0;
}

/* Nothing in it; a list of empty dictionaries is nothing as well. */
static bool is_empty(const struct ir_module *m, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  switch (data->kind) {
  case IR_ATTR_STRING:
    return intern_length(&m->strings, data->text) == 0;
  case IR_ATTR_DICT:
  case IR_ATTR_DENSE_ARRAY:
    return data->list_count == 0;
  case IR_ATTR_DENSE:
    return data->data_size == 0;
  case IR_ATTR_ARRAY:
    for (uint32_t i = 0; i < data->list_count; i++) {
      const struct ir_attr_data *item = ir_attr_get(m, (struct ir_attr){m->lists.data[data->list_first + i]});
      if (item->kind != IR_ATTR_DICT || item->list_count != 0) {
        return false;
      }
    }
    return true;
  default:
    return false;
  }
}

bool vhlo_has_default_value(const struct ir_module *m, struct ir_attr attr, enum vhlo_default_value value) {
  switch (value) {
  case DEFAULT_ZERO:
    return is_number(m, attr, 0);
  case DEFAULT_ONE:
    return is_number(m, attr, 1);
  case DEFAULT_MINUS_ONE:
    return is_number(m, attr, -1);
  case DEFAULT_EMPTY:
    return is_empty(m, attr);
  case DEFAULT_KEPT:
    return false;
  case DEFAULT_NOTYPE:
    return is_all(m, attr, "NOTYPE");
  default:
    return is_all(m, attr, "DEFAULT");
  }
}

void bc_find_defaults(struct bc_op_name *name) {
  size_t first = 0, end;
  while (first < vhlo_default_row_count && vhlo_default_rows[first].opcode != name->opcode) {
    first++;
  }
  for (end = first; end < vhlo_default_row_count && vhlo_default_rows[end].opcode == name->opcode; end++) {
  }
  name->defaults = vhlo_default_rows + first;
  name->default_count = (uint32_t)(end - first);
}

void bc_describe_vhlo_attr(const struct bc_op_name *name, const char *attr, struct bc_op_attr *out) {
  for (size_t i = 0; i < vhlo_attr_row_count && !out->rule; i++) {
    const struct vhlo_attr_row *row = &vhlo_attr_rows[i];
    if ((row->opcode == IR_OP_UNKNOWN || row->opcode == name->opcode) && strcmp(row->name, attr) == 0) {
      out->rule = row;
    }
  }
  for (uint32_t i = 0; i < name->default_count && !out->standard; i++) {
    if (strcmp(name->defaults[i].name, attr) == 0) {
      out->standard = &name->defaults[i];
    }
  }
}

/* Attributes that StableHLO states even where they have their default are none. */
static bool is_default(struct ir_module *m, const struct bc_op_attr *known, struct ir_attr attr) {
  if (known->row && known->row->stated) {
    return false;
  }
  return known->standard ? vhlo_has_default_value(m, attr, (enum vhlo_default_value)known->standard->value)
                         : mlir_attr_is_default(m, known->row, attr, &m->out_of_memory);
}

/* ---- structs ---------------------------------------------------------------------------------------------------------- */

/* Takes the pair of that name out; attr 0 when there is none. */
static struct ir_attr take_pair(struct bc_reader *r, size_t first, const char *name, size_t length) {
  for (size_t i = first; i < r->pairs.count; i += 2) {
    uint32_t id = r->pairs.data[i];
    if (r->pairs.data[i + 1] && intern_length(&r->m->strings, id) == length
        && memcmp(ir_text(r->m, id), name, length) == 0) {
      struct ir_attr attr = {r->pairs.data[i + 1]};
      r->pairs.data[i + 1] = 0;
      return attr;
    }
  }
  return (struct ir_attr){0};
}

static bool ends_with(const char *word, size_t length, const char *end) {
  size_t n = strlen(end);
  return length >= n && memcmp(word + length - n, end, n) == 0;
}

/* One field as the text parser holds it: a list of dimensions, a number, or for algorithms whatever it is. */
static bool convert_field(struct bc_reader *r, const struct vhlo_struct_row *row, const char *word, size_t length,
                          const uint8_t *at, struct ir_attr *attr) {
  if (row->rule == FIELDS_ALGORITHM) {
    return true;
  }
  bool is_list = vhlo_is_list_field(word, length);
  if (!bc_to_array(r, DTYPE_I64, attr)) {
    return false;
  }
  return ir_attr_get(r->m, *attr)->kind == (is_list ? IR_ATTR_DENSE_ARRAY : IR_ATTR_INTEGER)
         || bc_error(r, at, "attribute '%.*s' is not %s", (int)length, word, is_list ? "a list" : "a number");
}

static bool is_left_out(struct bc_reader *r, const struct vhlo_struct_row *row, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(r->m, attr);
  return attr.id == 0
         || (row->rule == FIELDS_OMIT
             && (data->kind == IR_ATTR_DENSE_ARRAY ? data->list_count == 0 : data->integer == 0));
}

/* Replaces the fields of a row by one attribute; pairs behind the operation's own ones hold the fields meanwhile. */
static bool make_struct(struct bc_reader *r, const struct vhlo_struct_row *row, size_t first, const uint8_t *at) {
  size_t fields = r->pairs.count, length;
  bool any = false, is_absent = false;
  const char *list = row->fields, *word;
  struct ir_attr zero = ir_attr_integer(r->m, 0, ir_type_scalar(r->m, DTYPE_I64));
  while ((word = vhlo_next_word(&list, &length)) != NULL) {
    struct ir_attr attr = take_pair(r, first, word, length);
    uint32_t id;
    if (attr.id && !convert_field(r, row, word, length, at, &attr)) {
      return false;
    }
    if (row->rule == FIELDS_HANDLE) {
      any |= attr.id && attr.id != zero.id;
      attr = attr.id ? attr : zero;
      word = ends_with(word, length, "_type") ? "type" : "handle";
      length = strlen(word);
    } else if (row->rule == FIELDS_ALGORITHM && fields == r->pairs.count) {
      const struct ir_attr_data *data = ir_attr_get(r->m, attr);
      is_absent = attr.id == 0 || (data->kind == IR_ATTR_TYPE && ir_type_get(r->m, data->type)->kind == IR_TYPE_NONE);
    }
    any |= row->rule != FIELDS_HANDLE && attr.id != 0;
    if (!is_left_out(r, row, attr) && (!bc_intern(r, word, length, &id) || !bc_push_pair(r, id, attr))) {
      return false;
    }
  }
  struct ir_attr made =
      ir_attr_struct(r->m, row->mnemonic, r->pairs.data + fields, (uint32_t)((r->pairs.count - fields) / 2));
  r->pairs.count = fields;
  uint32_t name;
  if (!any || is_absent) {
    return true;
  }
  return bc_made(r, made) && bc_intern(r, row->name, strlen(row->name), &name) && bc_push_pair(r, name, made);
}

/* ---- the attributes of an operation ------------------------------------------------------------------------------------- */

/* Converts one attribute; 0 when it is left out. */
static bool convert(struct bc_reader *r, const struct bc_op_attr *known, const uint8_t *at, struct ir_attr *attr) {
  if (known->rule) {
    switch ((enum vhlo_attr_rule)known->rule->rule) {
    case RULE_SYMBOL:
      return to_symbol(r, at, attr);
    case RULE_SYMBOLS:
      if (!to_symbols(r, at, attr)) {
        return false;
      }
      break;
    case RULE_UNIT:
      if (ir_attr_get(r->m, *attr)->kind == IR_ATTR_BOOL) {
        attr->id = ir_attr_get(r->m, *attr)->integer ? r->m->unit_attr.id : 0;
      }
      return true;
    case RULE_DROP:
      attr->id = 0;
      return true;
    }
  }
  if (known->row && known->row->form != MLIR_FORM_ANY
      && !bc_to_array(r, known->row->form == MLIR_FORM_I64_ARRAY ? DTYPE_I64 : DTYPE_I1, attr)) {
    return false;
  }
  if (is_default(r->m, known, *attr)) {
    attr->id = 0;
  }
  return true;
}

/* Both lists of layouts, or none. */
static void drop_layouts(struct bc_reader *r, size_t first) {
  size_t found[2] = {0}, n = 0;
  for (size_t i = first; i < r->pairs.count; i += 2) {
    const char *name = ir_text(r->m, r->pairs.data[i]);
    if (r->pairs.data[i + 1] && n < 2 && (strcmp(name, "operand_layouts") == 0 || strcmp(name, "result_layouts") == 0)
        && is_empty(r->m, (struct ir_attr){r->pairs.data[i + 1]})) {
      found[n++] = i;
    }
  }
  if (n == 2) {
    r->pairs.data[found[0] + 1] = r->pairs.data[found[1] + 1] = 0;
  }
}

static bool has_pair(const struct bc_reader *r, size_t first, uint32_t id) {
  for (size_t i = first; i < r->pairs.count; i += 2) {
    if (r->pairs.data[i] == id) {
      return true;
    }
  }
  return false;
}

/* VHLO leaves nothing out. */
static bool check_complete(struct bc_reader *r, const struct bc_op_name *name, size_t first, const uint8_t *at) {
  for (uint32_t i = 0; i < name->property_count; i++) {
    uint32_t id = name->known[i].id;
    size_t place = first + 2 * i; /* where it stands unless the artifact has a dictionary */
    if (!(place < r->pairs.count && r->pairs.data[place] == id) && !has_pair(r, first, id)) {
      return bc_error(r, at, "operation 'vhlo.%s' lacks the attribute '%s'", name->vhlo->name, ir_text(r->m, id));
    }
  }
  return true;
}

bool bc_vhlo_op_attrs(struct bc_reader *r, const struct bc_op_name *name, size_t first, const uint8_t *at) {
  if (!check_complete(r, name, first, at)) {
    return false;
  }
  bool has_structs = name->known_count > name->property_count;
  for (size_t i = 0; i < vhlo_struct_row_count && has_structs; i++) {
    if (vhlo_struct_rows[i].opcode == name->opcode && !make_struct(r, &vhlo_struct_rows[i], first, at)) {
      return false;
    }
  }
  if (name->opcode == IR_OP_CUSTOM_CALL) {
    drop_layouts(r, first);
  }
  size_t kept = first;
  for (size_t i = first; i < r->pairs.count; i += 2) {
    uint32_t id = r->pairs.data[i];
    struct ir_attr attr = {r->pairs.data[i + 1]};
    struct bc_op_attr other;
    if (attr.id && !convert(r, bc_known_attr(r, name, id, (i - first) / 2, &other), at, &attr)) {
      return false;
    }
    if (attr.id) {
      r->pairs.data[kept] = id;
      r->pairs.data[kept + 1] = attr.id;
      kept += 2;
    }
  }
  r->pairs.count = kept;
  return true;
}

/* channel_handle of a collective: VHLO keeps the handle only, and none is handle 0. Send and receive keep both numbers. */
static bool plain_channel(struct ir_module *m, struct ir_op op) {
  struct ir_attr attr = ir_op_attr(m, op, "channel_handle");
  struct ir_attr handle = attr.id ? ir_attr_field(m, attr, "handle") : attr, type;
  if (!handle.id || ir_attr_get(m, attr)->kind != IR_ATTR_STRUCT
      || !ir_opcode_has(ir_op_code(m, op), IR_TRAIT_COLLECTIVE)) {
    return true;
  }
  if (ir_attr_get(m, handle)->integer == 0) {
    return ir_op_set_attr(m, op, "channel_handle", (struct ir_attr){0});
  }
  type = ir_attr_integer(m, 0, ir_type_scalar(m, DTYPE_I64));
  uint32_t pairs[] = {intern_add_cstr(&m->strings, "handle"), handle.id, intern_add_cstr(&m->strings, "type"), type.id};
  attr = ir_attr_struct(m, "stablehlo.channel_handle", pairs, 2);
  return !m->out_of_memory && ir_op_set_attr(m, op, "channel_handle", attr);
}

static bool plain_op(struct ir_module *m, struct ir_op op) {
  for (size_t i = 0; i < vhlo_default_row_count; i++) {
    if (vhlo_default_rows[i].opcode != ir_op_get(m, op)->opcode) {
      continue;
    }
    struct ir_attr attr = ir_op_attr(m, op, vhlo_default_rows[i].name);
    struct bc_op_attr known = {.row = mlir_op_attr_find(ir_op_code(m, op), vhlo_default_rows[i].name),
                               .standard = &vhlo_default_rows[i]};
    if (attr.id && is_default(m, &known, attr)
        && !ir_op_set_attr(m, op, vhlo_default_rows[i].name, (struct ir_attr){0})) {
      return false;
    }
  }
  if (ir_op_code(m, op) == IR_OP_CUSTOM_CALL) {
    struct ir_attr operands = ir_op_attr(m, op, "operand_layouts"), results = ir_op_attr(m, op, "result_layouts");
    if (operands.id && results.id && is_empty(m, operands) && is_empty(m, results)) {
      return ir_op_set_attr(m, op, "operand_layouts", (struct ir_attr){0})
             && ir_op_set_attr(m, op, "result_layouts", (struct ir_attr){0});
    }
  }
  return plain_channel(m, op);
}

bool mlir_bytecode_drop_defaults(struct ir_module *m) {
  for (uint32_t id = 1; id < m->ops.count; id++) {
    if (!plain_op(m, (struct ir_op){id})) {
      return false;
    }
  }
  return true;
}
