/* Attributes and types of the VHLO dialect in bytecode, as those of StableHLO. What depends on the operation that has an
 * attribute comes later (bytecode_vhlo_ops.c). Path: bytecode_entry.c → here.
 * Codes and fields: VhloBytecode.cpp and VhloEnums.td of StableHLO 1.20.0; codes 21 to 25 and 42 from artifacts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir/bytecode_int.h"
#include "mlir/mlir_parse.h"

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

struct named {
  uint32_t name, attr;
  const char *text;
};

static int compare_named(const void *a, const void *b) {
  return strcmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

/* Names are string attributes; their order is the writer's. */
static bool dictionary(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint32_t count;
  if (!bc_count(r, c, &count, "attributes")) {
    return false;
  }
  struct named *entries = malloc((count + 1) * sizeof *entries);
  bool ok = entries != NULL || bc_memory(r);
  for (uint32_t i = 0; ok && i < count; i++) {
    struct ir_attr name, value;
    ok = bc_attr_kind(r, c, IR_ATTR_STRING, "a name", &name) && bc_attr(r, c, &value);
    if (ok) {
      entries[i] = (struct named){ir_attr_get(r->m, name)->text, value.id, NULL};
    }
  }
  size_t first = r->pairs.count;
  if (ok) {
    for (uint32_t i = 0; i < count; i++) {
      entries[i].text = ir_text(r->m, entries[i].name);
    }
    qsort(entries, count, sizeof *entries, compare_named);
  }
  for (uint32_t i = 0; ok && i < count; i++) {
    ok = (entries[i].name != 0 || bc_error(r, at, "an attribute without a name"))
         && (i == 0 || entries[i].name != entries[i - 1].name || bc_error(r, at, "a name stands twice in a dictionary"))
         && bc_push_pair(r, entries[i].name, (struct ir_attr){entries[i].attr});
  }
  free(entries);
  if (ok) {
    *attr = ir_attr_dict(r->m, r->pairs.data + first, count);
  }
  r->pairs.count = first;
  return ok && bc_made(r, *attr);
}

static const char *enumerator(const char *mnemonic, uint64_t value) {
  for (size_t i = 0; i < vhlo_enum_count; i++) {
    const struct vhlo_enum_row *row = &vhlo_enums[i];
    if (strcmp(row->mnemonic, mnemonic) == 0) {
      return value < sizeof row->values / sizeof *row->values ? row->values[value] : NULL;
    }
  }
  return NULL;
}

bool bc_enum(struct bc_reader *r, struct bc_cursor *c, const char *dialect, const char *mnemonic,
             struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t value;
  char name[64];
  int length = snprintf(name, sizeof name, "%s.%s", dialect, mnemonic);
  if (!bc_varint(r, c, &value)) {
    return false;
  }
  const char *text = enumerator(mnemonic, value);
  if (text == NULL) {
    return bc_unknown(r, at, "value %llu of %s", (unsigned long long)value, name);
  }
  *attr = ir_attr_enum(r->m, name, (size_t)length, text, strlen(text));
  return bc_made(r, *attr);
}

/* 0 or 1 as BOOL, or the number of an interface as i32. */
static bool small_number(struct bc_reader *r, struct bc_cursor *c, bool is_bool, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t value;
  if (!bc_varint(r, c, &value)) {
    return false;
  }
  if (value > (is_bool ? 1 : 4)) {
    return bc_unknown(r, at, "%s %llu", is_bool ? "truth value" : "api_version", (unsigned long long)value);
  }
  *attr =
      is_bool ? ir_attr_bool(r->m, value != 0) : ir_attr_integer(r->m, (int64_t)value, ir_type_scalar(r->m, DTYPE_I32));
  return bc_made(r, *attr);
}

static bool string(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const struct bc_string *text;
  if (!bc_string(r, c, &text)) {
    return false;
  }
  *attr = ir_attr_string(r->m, text->text, text->length, (struct ir_type){0});
  return bc_made(r, *attr);
}

static bool tensor(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  struct bc_cursor blob;
  return bc_type(r, c, &type) && bc_blob(r, c, &blob) && bc_dense(r, type, blob, attr);
}

bool bc_bounds(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  if (!bc_svarints(r, c)) {
    return false;
  }
  struct strbuf text = {0};
  strbuf_puts(&text, "#stablehlo.bounds<");
  for (size_t i = 0; i < r->dims.count; i++) {
    strbuf_puts(&text, i ? ", " : "");
    if (r->dims.data[i] == IR_DYNAMIC) {
      strbuf_putc(&text, '?');
    } else {
      strbuf_put_i64(&text, r->dims.data[i]);
    }
  }
  strbuf_putc(&text, '>');
  bool ok = bc_text_attr(r, at, IR_ATTR_OPAQUE, &text, attr);
  strbuf_release(&text);
  return ok;
}

/* ---- attributes with fields ------------------------------------------------------------------------------------------- */

bool bc_finish_struct(struct bc_reader *r, const char *mnemonic, size_t first, struct ir_attr *attr) {
  *attr = ir_attr_struct(r->m, mnemonic, r->pairs.data + first, (uint32_t)((r->pairs.count - first) / 2));
  r->pairs.count = first;
  return bc_made(r, *attr);
}

bool bc_field(struct bc_reader *r, const char *name, struct ir_attr attr) {
  uint32_t id;
  return bc_made(r, attr) && bc_intern(r, name, strlen(name), &id) && bc_push_pair(r, id, attr);
}

bool bc_number_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  int64_t value;
  return bc_svarint(r, c, &value) && bc_field(r, name, ir_attr_integer(r->m, value, ir_type_scalar(r->m, DTYPE_I64)));
}

bool bc_dims_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  return bc_svarints(r, c) && bc_field(r, name, ir_attr_i64s(r->m, r->dims.data, (uint32_t)r->dims.count));
}

bool bc_real_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  int64_t bits;
  return bc_bits(r, c, 64, false, &bits)
         && bc_field(r, name, ir_attr_float(r->m, (uint64_t)bits, ir_type_scalar(r->m, DTYPE_F64)));
}

static bool output_operand_alias(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  return bc_dims_field(r, c, "output_tuple_indices") && bc_number_field(r, c, "operand_index")
         && bc_dims_field(r, c, "operand_tuple_indices")
         && bc_finish_struct(r, "stablehlo.output_operand_alias", first, attr);
}

static bool result_accuracy(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr mode;
  return bc_real_field(r, c, "atol") && bc_real_field(r, c, "rtol") && bc_number_field(r, c, "ulps")
         && bc_attr_kind(r, c, IR_ATTR_ENUM, "a mode of accuracy", &mode) && bc_field(r, "mode", mode)
         && bc_finish_struct(r, "stablehlo.result_accuracy", first, attr);
}

/* By itself it is #stablehlo.sub_axis_info<(1)2>; as a field of an axis "(1)2". */
static const char sub_axis_prefix[] = "#stablehlo.sub_axis_info<";

bool bc_sub_axis(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  int64_t before, size;
  if (!bc_svarint(r, c, &before) || !bc_svarint(r, c, &size)) {
    return false;
  }
  struct strbuf text = {0};
  strbuf_printf(&text, "%s(%lld)%lld>", sub_axis_prefix, (long long)before, (long long)size);
  bool ok = bc_text_attr(r, at, IR_ATTR_OPAQUE, &text, attr);
  strbuf_release(&text);
  return ok;
}

bool bc_sub_axis_field(struct bc_reader *r, struct bc_cursor *c) {
  const uint8_t *at = c->at;
  const size_t prefix = sizeof sub_axis_prefix - 1;
  struct ir_attr sub;
  if (!bc_attr_kind(r, c, IR_ATTR_OPAQUE, "a sub-axis", &sub)) {
    return false;
  }
  const char *text = ir_text(r->m, ir_attr_get(r->m, sub)->text);
  if (strncmp(text, sub_axis_prefix, prefix) != 0) {
    return bc_error(r, at, "expected a sub-axis");
  }
  struct strbuf inside = {0};
  strbuf_add(&inside, text + prefix, strlen(text) - prefix - 1);
  bool ok = bc_text_attr(r, at, IR_ATTR_OPAQUE, &inside, &sub);
  strbuf_release(&inside);
  return ok && bc_field(r, "sub_axis_info", sub);
}

static bool axis_ref(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr name;
  uint64_t has_sub;
  if (!bc_attr_kind(r, c, IR_ATTR_STRING, "the name of an axis", &name) || !bc_field(r, "name", name)
      || !bc_varint(r, c, &has_sub)) {
    return false;
  }
  if (has_sub && !bc_sub_axis_field(r, c)) {
    return false;
  }
  return bc_finish_struct(r, "stablehlo.axis_ref", first, attr);
}

/* The name of a mesh, or a mesh. */
static bool mesh_field(struct bc_reader *r, struct bc_cursor *c) {
  struct ir_attr mesh;
  const uint8_t *at = c->at;
  if (!bc_attr(r, c, &mesh)) {
    return false;
  }
  const struct ir_attr_data *data = ir_attr_get(r->m, mesh);
  if (data->kind == IR_ATTR_STRING) {
    uint32_t text = data->text;
    mesh = ir_attr_text(r->m, IR_ATTR_SYMBOL, ir_text(r->m, text), intern_length(&r->m->strings, text),
                        (struct ir_type){0});
  } else if (data->kind != IR_ATTR_STRUCT) {
    return bc_error(r, at, "expected a mesh or its name, found another attribute");
  }
  return bc_field(r, "mesh", mesh);
}

static bool replica_group_mesh_axes(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr axes;
  return mesh_field(r, c) && bc_attr_kind(r, c, IR_ATTR_ARRAY, "a list of axes", &axes) && bc_field(r, "axes", axes)
         && bc_finish_struct(r, "stablehlo.replica_group_mesh_axes", first, attr);
}

static bool mesh_axis(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr name;
  return bc_attr_kind(r, c, IR_ATTR_STRING, "the name of an axis", &name) && bc_field(r, "name", name)
         && bc_number_field(r, c, "size") && bc_finish_struct(r, "stablehlo.mesh_axis", first, attr);
}

static bool mesh(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr axes, devices = {0};
  return bc_attr_kind(r, c, IR_ATTR_ARRAY, "a list of axes", &axes) && bc_field(r, "axes", axes)
         && bc_optional_attr(r, c, &devices) && (!devices.id || bc_field(r, "device_ids", devices))
         && bc_finish_struct(r, "stablehlo.mesh", first, attr);
}

bool bc_vhlo_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  switch (code) {
  case VHLO_ARRAY:
    return bc_array_attr(r, c, attr);
  case VHLO_BOOL:
  case VHLO_API_VERSION:
    return small_number(r, c, code == VHLO_BOOL, attr);
  case VHLO_DICTIONARY:
    return dictionary(r, c, attr);
  case VHLO_FLOAT:
  case VHLO_INTEGER:
    return bc_number_attr(r, c, attr);
  case VHLO_OUTPUT_OPERAND_ALIAS:
    return output_operand_alias(r, c, attr);
  case VHLO_STRING:
    return string(r, c, attr);
  case VHLO_TENSOR:
    return tensor(r, c, attr);
  case VHLO_TYPE:
    return bc_type_attr(r, c, attr);
  case VHLO_TYPE_EXTENSIONS:
    return bc_bounds(r, c, attr);
  case VHLO_RESULT_ACCURACY:
    return result_accuracy(r, c, attr);
  case VHLO_SUB_AXIS:
    return bc_sub_axis(r, c, attr);
  case VHLO_AXIS_REF:
    return axis_ref(r, c, attr);
  case VHLO_REPLICA_GROUP_MESH_AXES:
    return replica_group_mesh_axes(r, c, attr);
  case VHLO_MESH_AXIS:
    return mesh_axis(r, c, attr);
  case VHLO_MESH:
    return mesh(r, c, attr);
  case VHLO_COMPARISON_DIRECTION:
  case VHLO_COMPARISON_TYPE:
  case VHLO_FFT_TYPE:
  case VHLO_PRECISION:
  case VHLO_RNG_ALGORITHM:
  case VHLO_RNG_DISTRIBUTION:
  case VHLO_TRANSPOSE:
  case VHLO_RESULT_ACCURACY_MODE:
    return bc_enum(r, c, "stablehlo", vhlo_enum_find(code)->mnemonic, attr);
  default:
    return bc_unknown(r, at, "vhlo attribute %llu", (unsigned long long)code);
  }
}

/* ---- types ---------------------------------------------------------------------------------------------------------------- */

static bool list_type(struct bc_reader *r, struct bc_cursor *c, enum ir_type_kind kind, struct ir_type *type) {
  size_t first = r->items.count, inputs = 0;
  if (kind == IR_TYPE_FUNCTION) {
    if (!bc_type_list(r, c)) {
      return false;
    }
    inputs = r->items.count - first;
  }
  if (!bc_type_list(r, c)) {
    return false;
  }
  *type = ir_type_list(r->m, kind, (const struct ir_type *)(r->items.data + first), (uint32_t)(r->items.count - first),
                       (uint32_t)inputs);
  r->items.count = first;
  return bc_made_type(r, *type);
}

static bool shaped_type(struct bc_reader *r, struct bc_cursor *c, uint64_t code, struct ir_type *type) {
  const uint8_t *at = c->at;
  struct ir_attr encoding = {0};
  struct ir_type element;
  if (code == VHLO_T_TENSOR_ENCODING && !bc_attr(r, c, &encoding)) {
    return false;
  }
  /* decoding the element may use dims: the shape is read again behind it */
  struct bc_cursor shape = *c;
  return bc_svarints(r, c) && bc_type(r, c, &element) && bc_svarints(r, &shape)
         && bc_shaped(r, at, code == VHLO_T_BUFFER, element, encoding, type);
}

static bool complex_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_type element;
  const uint8_t *at = c->at;
  if (!bc_type(r, c, &element)) {
    return false;
  }
  const struct ir_type_data *data = ir_type_get(r->m, element);
  if (data->kind != IR_TYPE_SCALAR || (data->dtype != DTYPE_F32 && data->dtype != DTYPE_F64)) {
    return bc_error(r, at, "a complex type whose parts are neither f32 nor f64");
  }
  *type = ir_type_scalar(r->m, data->dtype == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128);
  return true;
}

/* ---- quantized types ---------------------------------------------------------------------------------------------------- */

/* Flags, storage and expressed type. The flag says whether the storage is signed, its type has the width only. */
static bool quantized_head(struct bc_reader *r, struct bc_cursor *c, struct ir_quant *quant) {
  static const uint8_t unsigned_of[DTYPE_COUNT] = {
      [DTYPE_I2] = DTYPE_UI2,   [DTYPE_I4] = DTYPE_UI4,   [DTYPE_I8] = DTYPE_UI8,
      [DTYPE_I16] = DTYPE_UI16, [DTYPE_I32] = DTYPE_UI32, [DTYPE_I64] = DTYPE_UI64};
  const uint8_t *at = c->at;
  uint64_t flags;
  struct ir_type storage, expressed;
  if (!bc_varint(r, c, &flags) || !bc_type(r, c, &storage) || !bc_type(r, c, &expressed)) {
    return false;
  }
  const struct ir_type_data *s = ir_type_get(r->m, storage), *e = ir_type_get(r->m, expressed);
  quant->storage = (flags & VHLO_QUANTIZED_SIGNED) || !unsigned_of[s->dtype] ? s->dtype : unsigned_of[s->dtype];
  quant->expressed = e->dtype;
  if (s->kind != IR_TYPE_SCALAR || e->kind != IR_TYPE_SCALAR || !dtype_is_integral((enum dtype)s->dtype)
      || !dtype_is_floating((enum dtype)e->dtype)) {
    return bc_error(r, at, "a quantized type whose storage is no integer or whose values are no floats");
  }
  return true;
}

static bool read_scale(struct bc_reader *r, struct bc_cursor *c, double *scale) {
  int64_t bits;
  if (!bc_bits(r, c, 64, false, &bits)) {
    return false;
  }
  memcpy(scale, &bits, sizeof *scale);
  return true;
}

static bool finish_quantized(struct bc_reader *r, struct ir_quant *quant, struct ir_type *type) {
  int64_t low, high;
  parse_quant_bounds((enum dtype)quant->storage, &low, &high);
  quant->has_storage_bounds = quant->storage_min != low || quant->storage_max != high;
  struct strbuf text = {0};
  parse_quant_text(quant, &text);
  bool ok = (!text.failed || bc_memory(r)) && bc_intern(r, strbuf_text(&text), text.length, &quant->text);
  strbuf_release(&text);
  if (ok) {
    *type = ir_type_quantized(r->m, quant);
  }
  return ok && bc_made_type(r, *type);
}

static bool quantized_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_quant quant = {.axis = -1, .count = 1};
  double scale;
  int64_t zero_point;
  if (!quantized_head(r, c, &quant) || !read_scale(r, c, &scale) || !bc_svarint(r, c, &zero_point)
      || !bc_svarint(r, c, &quant.storage_min) || !bc_svarint(r, c, &quant.storage_max)) {
    return false;
  }
  quant.scales = &scale;
  quant.zero_points = &zero_point;
  return finish_quantized(r, &quant, type);
}

static bool quantized_axis_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_quant quant = {0};
  const uint8_t *at = c->at;
  uint64_t axis;
  if (!quantized_head(r, c, &quant) || !bc_varint(r, c, &axis) || !bc_svarint(r, c, &quant.storage_min)
      || !bc_svarint(r, c, &quant.storage_max) || !bc_count(r, c, &quant.count, "scales")) {
    return false;
  }
  if (axis > INT32_MAX) {
    return bc_error(r, at, "a quantized dimension of %llu", (unsigned long long)axis);
  }
  quant.axis = (int32_t)axis;
  double *scales = malloc((quant.count + 1) * sizeof *scales);
  bool ok = scales != NULL || bc_memory(r);
  for (uint32_t i = 0; ok && i < quant.count; i++) {
    ok = read_scale(r, c, &scales[i]);
  }
  ok =
      ok && bc_svarints(r, c)
      && (r->dims.count == quant.count || bc_error(r, at, "%u scales but %zu zero points", quant.count, r->dims.count));
  if (ok) {
    quant.scales = scales;
    quant.zero_points = r->dims.data;
    ok = finish_quantized(r, &quant, type);
  }
  free(scales);
  return ok;
}

bool bc_vhlo_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  if (code < vhlo_scalar_count && vhlo_scalars[code].dtype != DTYPE_NONE) {
    *type = ir_type_scalar(r->m, (enum dtype)vhlo_scalars[code].dtype);
    return true;
  }
  switch (code) {
  case VHLO_T_COMPLEX:
    return complex_type(r, c, type);
  case VHLO_T_FUNCTION:
    return list_type(r, c, IR_TYPE_FUNCTION, type);
  case VHLO_T_TENSOR:
  case VHLO_T_TENSOR_ENCODING:
  case VHLO_T_BUFFER:
    return shaped_type(r, c, code, type);
  case VHLO_T_TOKEN:
    *type = r->m->token_type;
    return true;
  case VHLO_T_TUPLE:
    return list_type(r, c, IR_TYPE_TUPLE, type);
  case VHLO_T_FUTURE:
    return list_type(r, c, IR_TYPE_FUTURE, type);
  case VHLO_T_QUANTIZED:
    return quantized_type(r, c, type);
  case VHLO_T_QUANTIZED_AXIS:
    return quantized_axis_type(r, c, type);
  case VHLO_T_UNRANKED:
    return bc_unranked_type(r, c, type);
  case VHLO_T_WITNESS:
    *type = ir_type_opaque(r->m, "!shape.witness", strlen("!shape.witness"));
    return bc_made_type(r, *type);
  case VHLO_T_NONE:
    *type = r->m->none_type;
    return true;
  default:
    return bc_unknown(r, at, "vhlo type %llu", (unsigned long long)code);
  }
}
