/* Attributes and types of the VHLO dialect in bytecode, as those of StableHLO. What depends on the operation that has an
 * attribute comes later (bytecode_vhlo_ops.c). Path: bytecode_entry.c → here.
 * Codes and fields: VhloBytecode.cpp and VhloEnums.td of StableHLO 1.20.0; codes 21 to 23 and 42 from artifacts. */
#include <stdlib.h>
#include <string.h>

#include "mlir/bytecode_int.h"
#include "mlir/mlir_parse.h"

enum {
  ATTR_ARRAY = 1,
  ATTR_BOOL,
  ATTR_COMPARISON_DIRECTION,
  ATTR_COMPARISON_TYPE,
  ATTR_API_VERSION,
  ATTR_DICTIONARY,
  ATTR_FFT_TYPE,
  ATTR_FLOAT,
  ATTR_INTEGER,
  ATTR_OUTPUT_OPERAND_ALIAS,
  ATTR_PRECISION,
  ATTR_RNG_ALGORITHM,
  ATTR_RNG_DISTRIBUTION,
  ATTR_STRING,
  ATTR_TENSOR,
  ATTR_TRANSPOSE,
  ATTR_TYPE,
  ATTR_TYPE_EXTENSIONS,
  ATTR_RESULT_ACCURACY_MODE,
  ATTR_RESULT_ACCURACY,
  ATTR_SUB_AXIS,
  ATTR_AXIS_REF,
  ATTR_REPLICA_GROUP_MESH_AXES
};

enum {
  TYPE_COMPLEX = 1,
  TYPE_FUNCTION = 8,
  TYPE_TENSOR = 20,
  TYPE_TENSOR_ENCODING = 21,
  TYPE_TOKEN = 22,
  TYPE_TUPLE = 23,
  TYPE_QUANTIZED = 24,
  TYPE_UNRANKED = 25,
  TYPE_WITNESS = 26,
  TYPE_QUANTIZED_AXIS = 30,
  TYPE_NONE = 33,
  TYPE_BUFFER = 41,
  TYPE_FUTURE = 42
};

/* Enumerations: the value is an index into the names. */
static const struct {
  uint8_t code;
  const char *mnemonic;
  const char *values[6];
} enums[] = {
    {ATTR_COMPARISON_DIRECTION, "stablehlo.comparison_direction", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {ATTR_COMPARISON_TYPE, "stablehlo.comparison_type", {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {ATTR_FFT_TYPE, "stablehlo.fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {ATTR_PRECISION, "stablehlo.precision", {"DEFAULT", "HIGH", "HIGHEST"}},
    {ATTR_RNG_ALGORITHM, "stablehlo.rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {ATTR_RNG_DISTRIBUTION, "stablehlo.rng_distribution", {NULL, "UNIFORM", "NORMAL"}},
    {ATTR_TRANSPOSE, "stablehlo.transpose", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {ATTR_RESULT_ACCURACY_MODE, "stablehlo.result_accuracy_mode", {"DEFAULT", "HIGHEST", "TOLERANCE"}}};

/* Scalar types by code. */
static const uint8_t scalars[] = {[0] = DTYPE_I1,          [2] = DTYPE_BF16,        [3] = DTYPE_F16,
                                  [4] = DTYPE_F32,         [5] = DTYPE_F64,         [6] = DTYPE_F8E4M3FN,
                                  [7] = DTYPE_F8E5M2,      [9] = DTYPE_INDEX,       [10] = DTYPE_I4,
                                  [11] = DTYPE_I8,         [12] = DTYPE_I16,        [13] = DTYPE_I32,
                                  [14] = DTYPE_I64,        [15] = DTYPE_UI4,        [16] = DTYPE_UI8,
                                  [17] = DTYPE_UI16,       [18] = DTYPE_UI32,       [19] = DTYPE_UI64,
                                  [27] = DTYPE_F8E4M3FNUZ, [28] = DTYPE_F8E5M2FNUZ, [29] = DTYPE_F8E4M3B11FNUZ,
                                  [31] = DTYPE_I2,         [32] = DTYPE_UI2,        [34] = DTYPE_TF32,
                                  [35] = DTYPE_F8E4M3,     [36] = DTYPE_F8E3M4,     [37] = DTYPE_F4E2M1FN,
                                  [38] = DTYPE_F6E2M3FN,   [39] = DTYPE_F6E3M2FN,   [40] = DTYPE_F8E8M0FNU};

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

static bool array(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->items.count;
  if (!bc_attr_list(r, c)) {
    return false;
  }
  *attr = ir_attr_array(r->m, (const struct ir_attr *)(r->items.data + first), (uint32_t)(r->items.count - first));
  r->items.count = first;
  return bc_made(r, *attr);
}

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

static bool enumeration(struct bc_reader *r, struct bc_cursor *c, uint64_t code, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t value;
  if (!bc_varint(r, c, &value)) {
    return false;
  }
  for (size_t i = 0; i < sizeof enums / sizeof *enums; i++) {
    if (enums[i].code != code) {
      continue;
    }
    const char *name = value < sizeof enums[i].values / sizeof *enums[i].values ? enums[i].values[value] : NULL;
    if (name == NULL) {
      return bc_unknown(r, at, "value %llu of %s", (unsigned long long)value, enums[i].mnemonic);
    }
    *attr = ir_attr_enum(r->m, enums[i].mnemonic, strlen(enums[i].mnemonic), name, strlen(name));
    return bc_made(r, *attr);
  }
  return bc_unknown(r, at, "vhlo attribute %llu", (unsigned long long)code);
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

static bool number(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  return bc_type(r, c, &type) && bc_number(r, c, type, attr);
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

static bool type_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  struct ir_type type;
  if (!bc_type(r, c, &type)) {
    return false;
  }
  *attr = ir_attr_type(r->m, type);
  return bc_made(r, *attr);
}

/* #stablehlo.bounds<3, ?> */
static bool bounds(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
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

/* STRUCT of the fields that were pushed on pairs since `first`. */
static bool finish_struct(struct bc_reader *r, const char *mnemonic, size_t first, struct ir_attr *attr) {
  *attr = ir_attr_struct(r->m, mnemonic, r->pairs.data + first, (uint32_t)((r->pairs.count - first) / 2));
  r->pairs.count = first;
  return bc_made(r, *attr);
}

static bool field(struct bc_reader *r, const char *name, struct ir_attr attr) {
  uint32_t id;
  return bc_made(r, attr) && bc_intern(r, name, strlen(name), &id) && bc_push_pair(r, id, attr);
}

static bool number_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  int64_t value;
  return bc_svarint(r, c, &value) && field(r, name, ir_attr_integer(r->m, value, ir_type_scalar(r->m, DTYPE_I64)));
}

static bool dims_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  return bc_svarints(r, c) && field(r, name, ir_attr_i64s(r->m, r->dims.data, (uint32_t)r->dims.count));
}

static bool real_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  int64_t bits;
  return bc_bits(r, c, 64, false, &bits)
         && field(r, name, ir_attr_float(r->m, (uint64_t)bits, ir_type_scalar(r->m, DTYPE_F64)));
}

static bool output_operand_alias(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  return dims_field(r, c, "output_tuple_indices") && number_field(r, c, "operand_index")
         && dims_field(r, c, "operand_tuple_indices")
         && finish_struct(r, "stablehlo.output_operand_alias", first, attr);
}

static bool result_accuracy(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr mode;
  return real_field(r, c, "atol") && real_field(r, c, "rtol") && number_field(r, c, "ulps")
         && bc_attr_kind(r, c, IR_ATTR_ENUM, "a mode of accuracy", &mode) && field(r, "mode", mode)
         && finish_struct(r, "stablehlo.result_accuracy", first, attr);
}

/* (1)2 */
static bool sub_axis(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  int64_t before, size;
  if (!bc_svarint(r, c, &before) || !bc_svarint(r, c, &size)) {
    return false;
  }
  struct strbuf text = {0};
  strbuf_printf(&text, "(%lld)%lld", (long long)before, (long long)size);
  bool ok = bc_text_attr(r, at, IR_ATTR_OPAQUE, &text, attr);
  strbuf_release(&text);
  return ok;
}

static bool axis_ref(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr name, sub;
  uint64_t has_sub;
  if (!bc_attr_kind(r, c, IR_ATTR_STRING, "the name of an axis", &name) || !field(r, "name", name)
      || !bc_varint(r, c, &has_sub)) {
    return false;
  }
  if (has_sub && (!bc_attr_kind(r, c, IR_ATTR_OPAQUE, "a sub-axis", &sub) || !field(r, "sub_axis_info", sub))) {
    return false;
  }
  return finish_struct(r, "stablehlo.axis_ref", first, attr);
}

static bool replica_group_mesh_axes(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr mesh, axes;
  if (!bc_attr_kind(r, c, IR_ATTR_STRING, "the name of a mesh", &mesh)
      || !bc_attr_kind(r, c, IR_ATTR_ARRAY, "a list of axes", &axes)) {
    return false;
  }
  uint32_t text = ir_attr_get(r->m, mesh)->text;
  mesh =
      ir_attr_text(r->m, IR_ATTR_SYMBOL, ir_text(r->m, text), intern_length(&r->m->strings, text), (struct ir_type){0});
  return field(r, "mesh", mesh) && field(r, "axes", axes)
         && finish_struct(r, "stablehlo.replica_group_mesh_axes", first, attr);
}

bool bc_vhlo_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  switch (code) {
  case ATTR_ARRAY:
    return array(r, c, attr);
  case ATTR_BOOL:
  case ATTR_API_VERSION:
    return small_number(r, c, code == ATTR_BOOL, attr);
  case ATTR_DICTIONARY:
    return dictionary(r, c, attr);
  case ATTR_FLOAT:
  case ATTR_INTEGER:
    return number(r, c, attr);
  case ATTR_OUTPUT_OPERAND_ALIAS:
    return output_operand_alias(r, c, attr);
  case ATTR_STRING:
    return string(r, c, attr);
  case ATTR_TENSOR:
    return tensor(r, c, attr);
  case ATTR_TYPE:
    return type_attr(r, c, attr);
  case ATTR_TYPE_EXTENSIONS:
    return bounds(r, c, attr);
  case ATTR_RESULT_ACCURACY:
    return result_accuracy(r, c, attr);
  case ATTR_SUB_AXIS:
    return sub_axis(r, c, attr);
  case ATTR_AXIS_REF:
    return axis_ref(r, c, attr);
  case ATTR_REPLICA_GROUP_MESH_AXES:
    return replica_group_mesh_axes(r, c, attr);
  case ATTR_COMPARISON_DIRECTION:
  case ATTR_COMPARISON_TYPE:
  case ATTR_FFT_TYPE:
  case ATTR_PRECISION:
  case ATTR_RNG_ALGORITHM:
  case ATTR_RNG_DISTRIBUTION:
  case ATTR_TRANSPOSE:
  case ATTR_RESULT_ACCURACY_MODE:
    return enumeration(r, c, code, attr);
  default: /* 24 and 25, a mesh within replica groups, are in no artifact that was seen */
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
  if (code == TYPE_TENSOR_ENCODING && !bc_attr(r, c, &encoding)) {
    return false;
  }
  /* decoding the element may use dims: the shape is read again behind it */
  struct bc_cursor shape = *c;
  return bc_svarints(r, c) && bc_type(r, c, &element) && bc_svarints(r, &shape)
         && bc_shaped(r, at, code == TYPE_BUFFER, element, encoding, type);
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

static bool unranked_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  struct ir_type element;
  const uint8_t *at = c->at;
  if (!bc_type(r, c, &element)) {
    return false;
  }
  uint8_t kind = ir_type_get(r->m, element)->kind;
  if (kind != IR_TYPE_SCALAR && kind != IR_TYPE_QUANTIZED) {
    return bc_error(r, at, "a tensor cannot have elements of this type");
  }
  *type = ir_type_unranked(r->m, element);
  return bc_made_type(r, *type);
}

/* ---- quantized types ---------------------------------------------------------------------------------------------------- */

enum { FLAG_SIGNED = 1 };

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
  quant->storage = (flags & FLAG_SIGNED) || !unsigned_of[s->dtype] ? s->dtype : unsigned_of[s->dtype];
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
  if (code < sizeof scalars && scalars[code] != DTYPE_NONE) {
    *type = ir_type_scalar(r->m, (enum dtype)scalars[code]);
    return true;
  }
  switch (code) {
  case TYPE_COMPLEX:
    return complex_type(r, c, type);
  case TYPE_FUNCTION:
    return list_type(r, c, IR_TYPE_FUNCTION, type);
  case TYPE_TENSOR:
  case TYPE_TENSOR_ENCODING:
  case TYPE_BUFFER:
    return shaped_type(r, c, code, type);
  case TYPE_TOKEN:
    *type = r->m->token_type;
    return true;
  case TYPE_TUPLE:
    return list_type(r, c, IR_TYPE_TUPLE, type);
  case TYPE_FUTURE:
    return list_type(r, c, IR_TYPE_FUTURE, type);
  case TYPE_QUANTIZED:
    return quantized_type(r, c, type);
  case TYPE_QUANTIZED_AXIS:
    return quantized_axis_type(r, c, type);
  case TYPE_UNRANKED:
    return unranked_type(r, c, type);
  case TYPE_WITNESS:
    *type = ir_type_opaque(r->m, "!shape.witness", strlen("!shape.witness"));
    return bc_made_type(r, *type);
  case TYPE_NONE:
    *type = r->m->none_type;
    return true;
  default:
    return bc_unknown(r, at, "vhlo type %llu", (unsigned long long)code);
  }
}
