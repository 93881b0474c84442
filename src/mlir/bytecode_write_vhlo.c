/* Attributes and types of StableHLO as those of VHLO, for bytecode that is written. Path: bytecode_write_ops.c → here →
 * entries. Codes and fields: those that bytecode_vhlo.c reads; which version has what: bytecode_tables.c.
 * What VHLO has no attribute for stays a builtin or sdy attribute; readers take those since OTHER_DIALECTS_SINCE. */
#include <stdlib.h>

#include "mlir/bytecode_write_int.h"

/* ---- types ---------------------------------------------------------------------------------------------------------- */

static struct bw_ref finish_type(struct bw_writer *w, size_t mark, const char *since) {
  return bw_finish(w, mark, BW_TYPE, BW_VHLO, vhlo_version_of(since));
}

static struct bw_ref scalar(struct bw_writer *w, enum dtype dtype) {
  size_t mark = w->stack.count;
  if (dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX) {
    struct bw_ref part = scalar(w, dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64);
    bw_varint(w, VHLO_T_COMPLEX);
    bw_reference(w, part);
    return finish_type(w, mark, vhlo_type_since(VHLO_T_COMPLEX));
  }
  for (size_t code = 0; code < vhlo_scalar_count; code++) {
    if (vhlo_scalars[code].dtype == dtype && dtype != DTYPE_NONE) {
      bw_varint(w, code);
      return finish_type(w, mark, vhlo_scalars[code].since);
    }
  }
  return bw_refused(w, "the type %s", dtype_name(dtype));
}

static struct bw_ref plain_type(struct bw_writer *w, enum bc_vhlo_type code) {
  size_t mark = w->stack.count;
  bw_varint(w, code);
  return finish_type(w, mark, vhlo_type_since(code));
}

static bool push_types(struct bw_writer *w, uint32_t first, uint32_t count) {
  bw_varint(w, count);
  for (uint32_t i = 0; i < count; i++) {
    struct bw_ref type = bw_vhlo_type(w, (struct ir_type){w->m->lists.data[first + i]});
    if (!type.id) {
      return false;
    }
    bw_reference(w, type);
  }
  return true;
}

static struct bw_ref list_type(struct bw_writer *w, const struct ir_type_data *data, enum bc_vhlo_type code) {
  size_t mark = w->stack.count;
  uint32_t inputs = code == VHLO_T_FUNCTION ? data->input_count : 0;
  bw_varint(w, code);
  if ((code == VHLO_T_FUNCTION && !push_types(w, data->first, inputs))
      || !push_types(w, data->first + inputs, data->count - inputs)) {
    return bw_drop(w, mark);
  }
  return finish_type(w, mark, vhlo_type_since(code));
}

/* #stablehlo.bounds<3, ?> */
static struct bw_ref bounds(struct bw_writer *w, struct ir_attr encoding, uint32_t rank) {
  int64_t local[16], *values = rank <= 16 ? local : arena_alloc(&w->scratch, rank * sizeof *values);
  size_t mark = w->stack.count;
  if (values == NULL) {
    w->out_of_memory = true;
    return bw_drop(w, mark);
  }
  if (rank == 0 || ir_attr_bounds(w->m, encoding, values, rank) != rank) {
    return bw_refused(w, "an encoding that is no #stablehlo.bounds");
  }
  bw_varint(w, VHLO_TYPE_EXTENSIONS);
  bw_svarints(w, values, rank);
  return bw_finish(w, mark, BW_ATTRIBUTE, BW_VHLO, vhlo_version_of(vhlo_attr_since(VHLO_TYPE_EXTENSIONS)));
}

static struct bw_ref shaped_type(struct bw_writer *w, const struct ir_type_data *data) {
  size_t mark = w->stack.count;
  bool is_tensor = data->kind == IR_TYPE_TENSOR;
  struct bw_ref element = bw_vhlo_type(w, data->element), encoding = {0};
  if (!element.id) {
    return element;
  }
  if (data->encoding.id) {
    encoding = is_tensor ? bounds(w, data->encoding, data->rank) : bw_refused(w, "a memref with a layout");
    if (!encoding.id) {
      return encoding;
    }
  }
  enum bc_vhlo_type code = encoding.id ? VHLO_T_TENSOR_ENCODING : is_tensor ? VHLO_T_TENSOR : VHLO_T_BUFFER;
  bw_varint(w, code);
  if (encoding.id) {
    bw_reference(w, encoding);
  }
  bw_svarints(w, w->m->dims.data + data->first, data->rank);
  bw_reference(w, element);
  return finish_type(w, mark, vhlo_type_since(code));
}

static void push_scales(struct bw_writer *w, const struct ir_quant *quant) {
  for (uint32_t i = 0; i < quant->count; i++) {
    int64_t bits;
    memcpy(&bits, &quant->scales[i], sizeof bits);
    bw_svarint(w, bits);
  }
}

/* The storage type has the width only. */
static struct bw_ref quantized_type(struct bw_writer *w, const struct ir_quant *quant) {
  static const uint8_t signed_of[DTYPE_COUNT] = {
      [DTYPE_UI2] = DTYPE_I2,   [DTYPE_UI4] = DTYPE_I4,   [DTYPE_UI8] = DTYPE_I8,
      [DTYPE_UI16] = DTYPE_I16, [DTYPE_UI32] = DTYPE_I32, [DTYPE_UI64] = DTYPE_I64};
  size_t mark = w->stack.count;
  if (quant->count == 0 || quant->scales == NULL || (quant->axis < 0 && quant->count != 1)) {
    return bw_refused(w, "the quantized type %.80s", ir_text(w->m, quant->text));
  }
  bool is_signed = signed_of[quant->storage] == DTYPE_NONE, is_axis = quant->axis >= 0;
  struct bw_ref storage = scalar(w, (enum dtype)(is_signed ? quant->storage : signed_of[quant->storage]));
  struct bw_ref expressed = scalar(w, (enum dtype)quant->expressed);
  if (!storage.id || !expressed.id) {
    return bw_drop(w, mark);
  }
  enum bc_vhlo_type code = is_axis ? VHLO_T_QUANTIZED_AXIS : VHLO_T_QUANTIZED;
  bw_varint(w, code);
  bw_varint(w, is_signed ? VHLO_QUANTIZED_SIGNED : 0);
  bw_reference(w, storage);
  bw_reference(w, expressed);
  if (is_axis) {
    bw_varint(w, (uint64_t)quant->axis);
  } else {
    push_scales(w, quant);
    bw_svarint(w, quant->zero_points[0]);
  }
  bw_svarint(w, quant->storage_min);
  bw_svarint(w, quant->storage_max);
  if (is_axis) {
    bw_varint(w, quant->count);
    push_scales(w, quant);
    bw_svarints(w, quant->zero_points, quant->count);
  }
  return finish_type(w, mark, vhlo_type_since(code));
}

static struct bw_ref unranked_type(struct bw_writer *w, const struct ir_type_data *data) {
  size_t mark = w->stack.count;
  struct bw_ref element = bw_vhlo_type(w, data->element);
  if (!element.id) {
    return element;
  }
  bw_varint(w, VHLO_T_UNRANKED);
  bw_reference(w, element);
  return finish_type(w, mark, vhlo_type_since(VHLO_T_UNRANKED));
}

static struct bw_ref make_type(struct bw_writer *w, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(w->m, type);
  const char *text = ir_text(w->m, data->text);
  switch ((enum ir_type_kind)data->kind) {
  case IR_TYPE_NONE:
    return plain_type(w, VHLO_T_NONE);
  case IR_TYPE_SCALAR:
    return scalar(w, (enum dtype)data->dtype);
  case IR_TYPE_TENSOR:
  case IR_TYPE_MEMREF:
    return shaped_type(w, data);
  case IR_TYPE_UNRANKED:
    return unranked_type(w, data);
  case IR_TYPE_TUPLE:
    return list_type(w, data, VHLO_T_TUPLE);
  case IR_TYPE_FUNCTION:
    return list_type(w, data, VHLO_T_FUNCTION);
  case IR_TYPE_FUTURE:
    return list_type(w, data, VHLO_T_FUTURE);
  case IR_TYPE_TOKEN:
    if (data->text && strcmp(text, "!stablehlo.token") != 0) {
      return bw_refused(w, "the type %.80s", text);
    }
    return plain_type(w, VHLO_T_TOKEN);
  case IR_TYPE_QUANTIZED:
    return quantized_type(w, &w->m->quants.data[data->quant]);
  default:
    return strcmp(text, "!shape.witness") == 0 ? plain_type(w, VHLO_T_WITNESS) : bw_refused(w, "the type %.80s", text);
  }
}

struct bw_ref bw_vhlo_type(struct bw_writer *w, struct ir_type type) {
  struct bw_ref *memo = &w->vhlo_types[type.id];
  if (memo->id || !bw_deeper(w)) {
    return *memo;
  }
  struct bw_ref made = make_type(w, type);
  w->depth--;
  w->vhlo_types[type.id] = made;
  return made;
}

/* ---- attributes that defaults need ---------------------------------------------------------------------------------- */

static struct bw_ref finish(struct bw_writer *w, size_t mark, enum bc_vhlo_attr code) {
  return bw_finish(w, mark, BW_ATTRIBUTE, BW_VHLO, vhlo_version_of(vhlo_attr_since(code)));
}

struct bw_ref bw_vhlo_string(struct bw_writer *w, const char *text, size_t length) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_STRING);
  bw_string(w, text, length);
  return finish(w, mark, VHLO_STRING);
}

struct bw_ref bw_vhlo_bool(struct bw_writer *w, bool value) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_BOOL);
  bw_varint(w, value);
  return finish(w, mark, VHLO_BOOL);
}

static struct bw_ref number(struct bw_writer *w, enum bc_vhlo_attr code, struct bw_ref type, uint64_t bits,
                            unsigned width) {
  size_t mark = w->stack.count;
  if (!type.id) {
    return type;
  }
  bw_varint(w, code);
  bw_reference(w, type);
  bw_bits(w, bits, width);
  return finish(w, mark, code);
}

struct bw_ref bw_vhlo_number(struct bw_writer *w, int64_t value) {
  return number(w, VHLO_INTEGER, scalar(w, DTYPE_I64), (uint64_t)value, 64);
}

struct bw_ref bw_vhlo_list(struct bw_writer *w, const struct bw_ref *items, size_t count) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_ARRAY);
  bw_varint(w, count);
  for (size_t i = 0; i < count; i++) {
    bw_reference(w, items[i]);
  }
  return finish(w, mark, VHLO_ARRAY);
}

struct bw_ref bw_vhlo_dictionary(struct bw_writer *w) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_DICTIONARY);
  bw_varint(w, 0);
  return finish(w, mark, VHLO_DICTIONARY);
}

struct bw_ref bw_vhlo_api(struct bw_writer *w, int64_t version) {
  size_t mark = w->stack.count;
  if (version < 0 || version > VHLO_API_VERSION_LAST) {
    return bw_refused(w, "api_version %lld", (long long)version);
  }
  bw_varint(w, VHLO_API_VERSION);
  bw_varint(w, (uint64_t)version);
  return finish(w, mark, VHLO_API_VERSION);
}

struct bw_ref bw_vhlo_enum(struct bw_writer *w, enum bc_vhlo_attr code, const char *value) {
  const struct vhlo_enum_row *row = vhlo_enum_find(code);
  for (size_t i = 0; i < sizeof row->values / sizeof *row->values; i++) {
    if (row->values[i] && strcmp(row->values[i], value) == 0) {
      size_t mark = w->stack.count;
      bw_varint(w, code);
      bw_varint(w, i);
      return bw_finish(w, mark, BW_ATTRIBUTE, BW_VHLO, vhlo_version_of(row->since));
    }
  }
  return bw_refused(w, "the value %.60s of %s", value, row->mnemonic);
}

struct bw_ref bw_vhlo_none(struct bw_writer *w) {
  size_t mark = w->stack.count;
  struct bw_ref none = plain_type(w, VHLO_T_NONE);
  bw_varint(w, VHLO_TYPE);
  bw_reference(w, none);
  return finish(w, mark, VHLO_TYPE);
}

static struct bw_ref accuracy(struct bw_writer *w, uint64_t atol, uint64_t rtol, int64_t ulps, const char *mode_name) {
  size_t mark = w->stack.count;
  struct bw_ref mode = bw_vhlo_enum(w, VHLO_RESULT_ACCURACY_MODE, mode_name);
  if (!mode.id) {
    return mode;
  }
  bw_varint(w, VHLO_RESULT_ACCURACY);
  bw_bits(w, atol, 64);
  bw_bits(w, rtol, 64);
  bw_svarint(w, ulps);
  bw_reference(w, mode);
  return finish(w, mark, VHLO_RESULT_ACCURACY);
}

struct bw_ref bw_vhlo_accuracy(struct bw_writer *w) {
  return accuracy(w, 0, 0, 0, "DEFAULT");
}

/* Tensor type of `count` elements, or of `count` rows of two. */
static struct bw_ref tensor_type(struct bw_writer *w, enum dtype dtype, uint64_t count, bool is_pairs) {
  size_t mark = w->stack.count;
  struct bw_ref element = scalar(w, dtype);
  const int64_t dims[] = {(int64_t)count, 2};
  bw_varint(w, VHLO_T_TENSOR);
  bw_svarints(w, dims, is_pairs ? 2 : 1);
  bw_reference(w, element);
  return finish_type(w, mark, vhlo_type_since(VHLO_T_TENSOR));
}

/* One element stands for all when they are equal, as MLIR holds them. */
static struct bw_ref tensor(struct bw_writer *w, enum dtype dtype, const void *data, uint64_t size, uint64_t count,
                            bool is_pairs) {
  size_t mark = w->stack.count, element = ir_dense_element_size(dtype);
  const uint8_t *bytes = data;
  bool is_splat = size > element && memcmp(bytes, bytes + element, (size_t)size - element) == 0;
  uint64_t elements = count << is_pairs;
  struct ir_attr_data dense = {.data = bytes, .data_size = is_splat ? element : size};
  dense.is_splat = elements > 1 && dense.data_size == element;
  bw_varint(w, VHLO_TENSOR);
  bw_reference(w, tensor_type(w, dtype, count, is_pairs));
  return bw_elements(w, &dense, dtype) ? finish(w, mark, VHLO_TENSOR) : bw_drop(w, mark);
}

struct bw_ref bw_vhlo_fill(struct bw_writer *w, enum dtype dtype, int64_t value, uint64_t count, bool is_pairs) {
  size_t element = ir_dense_element_size(dtype);
  int64_t *kept = arena_alloc(&w->scratch, sizeof *kept);
  if (kept == NULL) {
    w->out_of_memory = true;
    return (struct bw_ref){0};
  }
  *kept = value; /* little-endian: its first bytes are the narrower number */
  return tensor(w, dtype, kept, count ? element : 0, count, is_pairs);
}

/* ---- attributes of the module --------------------------------------------------------------------------------------- */

static struct bw_ref list(struct bw_writer *w, const struct ir_attr_data *data) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_ARRAY);
  bw_varint(w, data->list_count);
  for (uint32_t i = 0; i < data->list_count; i++) {
    struct bw_ref item = bw_vhlo_attr(w, (struct ir_attr){w->m->lists.data[data->list_first + i]});
    if (!item.id) {
      return bw_drop(w, mark);
    }
    bw_reference(w, item);
  }
  return finish(w, mark, VHLO_ARRAY);
}

static struct bw_ref dictionary(struct bw_writer *w, const struct ir_attr_data *data) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_DICTIONARY);
  bw_varint(w, data->list_count);
  for (uint32_t i = 0; i < data->list_count; i++) {
    const uint32_t *pair = w->m->lists.data + data->list_first + 2 * i;
    struct bw_ref value = bw_vhlo_attr(w, (struct ir_attr){pair[1]});
    if (!value.id) {
      return bw_drop(w, mark);
    }
    bw_reference(w, bw_vhlo_string(w, ir_text(w->m, pair[0]), intern_length(&w->m->strings, pair[0])));
    bw_reference(w, value);
  }
  return finish(w, mark, VHLO_DICTIONARY);
}

static struct bw_ref dense(struct bw_writer *w, const struct ir_attr_data *data) {
  enum dtype dtype = (enum dtype)ir_type_get(w->m, data->type)->dtype;
  if (dtype == DTYPE_NONE || ir_type_get(w->m, data->type)->kind != IR_TYPE_TENSOR) {
    return bw_refused(w, "elements that are no numbers");
  }
  size_t mark = w->stack.count;
  struct bw_ref type = bw_vhlo_type(w, data->type);
  if (!type.id) {
    return type;
  }
  struct ir_attr_data elements = *data;
  elements.is_splat = data->is_splat && ir_type_element_count(w->m, data->type) > 1;
  bw_varint(w, VHLO_TENSOR);
  bw_reference(w, type);
  return bw_elements(w, &elements, dtype) ? finish(w, mark, VHLO_TENSOR) : bw_drop(w, mark);
}

static struct bw_ref enumerator(struct bw_writer *w, const struct ir_attr_data *data) {
  static const char dialect[] = "stablehlo.";
  const char *name = ir_text(w->m, data->text);
  for (size_t i = 0; i < vhlo_enum_count && strncmp(name, dialect, sizeof dialect - 1) == 0; i++) {
    if (strcmp(vhlo_enums[i].mnemonic, name + sizeof dialect - 1) == 0) {
      return bw_vhlo_enum(w, (enum bc_vhlo_attr)vhlo_enums[i].code, ir_text(w->m, data->text2));
    }
  }
  return bw_refused(w, "the attribute #%s", name);
}

/* What a type of VHLO is the type of. */
static struct bw_ref typed_number(struct bw_writer *w, const struct ir_attr_data *data) {
  const struct ir_type_data *type = ir_type_get(w->m, data->type);
  if (type->kind != IR_TYPE_SCALAR || data->text) {
    return bw_refused(w, "a number of more than 64 bits or of another type than StableHLO has");
  }
  return number(w, data->kind == IR_ATTR_FLOAT ? VHLO_FLOAT : VHLO_INTEGER, bw_vhlo_type(w, data->type),
                (uint64_t)data->integer, dtype_bits((enum dtype)type->dtype));
}

static struct bw_ref type_attr(struct bw_writer *w, const struct ir_attr_data *data) {
  size_t mark = w->stack.count;
  struct bw_ref type = bw_vhlo_type(w, data->type);
  if (!type.id) {
    return type;
  }
  bw_varint(w, VHLO_TYPE);
  bw_reference(w, type);
  return finish(w, mark, VHLO_TYPE);
}

/* An attribute that VHLO does not have, as it is. */
static struct bw_ref other(struct bw_writer *w, struct ir_attr attr) {
  struct bw_ref ref = bw_builtin_attr(w, attr);
  uint32_t since = vhlo_version_of(OTHER_DIALECTS_SINCE);
  ref.since = ref.since > since ? ref.since : since;
  return ref;
}

/* ---- attributes with fields ----------------------------------------------------------------------------------------- */

static int64_t integer_field(struct bw_writer *w, struct ir_attr attr, const char *name) {
  struct ir_attr field = ir_attr_field(w->m, attr, name);
  return field.id ? ir_attr_get(w->m, field)->integer : 0;
}

static void push_dims_field(struct bw_writer *w, struct ir_attr attr, const char *name) {
  struct ir_attr field = ir_attr_field(w->m, attr, name);
  uint64_t count = field.id ? ir_attr_length(w->m, field) : 0;
  bw_varint(w, count);
  for (uint64_t i = 0; i < count; i++) {
    bw_svarint(w, ir_attr_int_at(w->m, field, i));
  }
}

static struct bw_ref output_operand_alias(struct bw_writer *w, struct ir_attr attr) {
  size_t mark = w->stack.count;
  bw_varint(w, VHLO_OUTPUT_OPERAND_ALIAS);
  push_dims_field(w, attr, "output_tuple_indices");
  bw_svarint(w, integer_field(w, attr, "operand_index"));
  push_dims_field(w, attr, "operand_tuple_indices");
  return finish(w, mark, VHLO_OUTPUT_OPERAND_ALIAS);
}

static struct bw_ref result_accuracy(struct bw_writer *w, struct ir_attr attr) {
  struct ir_attr mode = ir_attr_field(w->m, attr, "mode");
  if (!mode.id || ir_attr_get(w->m, mode)->kind != IR_ATTR_ENUM) {
    return bw_refused(w, "a result_accuracy without a mode");
  }
  return accuracy(w, (uint64_t)integer_field(w, attr, "atol"), (uint64_t)integer_field(w, attr, "rtol"),
                  integer_field(w, attr, "ulps"), ir_text(w->m, ir_attr_get(w->m, mode)->text2));
}

/* (1)2 */
static struct bw_ref sub_axis(struct bw_writer *w, struct ir_attr attr) {
  size_t mark = w->stack.count;
  const char *text = ir_text(w->m, ir_attr_get(w->m, attr)->text);
  char *end = NULL;
  long long before = text[0] == '(' ? strtoll(text + 1, &end, 10) : 0;
  if (end == NULL || *end != ')') {
    return bw_refused(w, "the sub-axis %.60s", text);
  }
  bw_varint(w, VHLO_SUB_AXIS);
  bw_svarint(w, before);
  bw_svarint(w, strtoll(end + 1, NULL, 10));
  return finish(w, mark, VHLO_SUB_AXIS);
}

/* A field by itself; 0 and a refusal when it is missing or of another kind. */
static struct bw_ref field(struct bw_writer *w, struct ir_attr attr, const char *name, enum ir_attr_kind kind) {
  struct ir_attr value = ir_attr_field(w->m, attr, name);
  if (!value.id || ir_attr_get(w->m, value)->kind != kind) {
    return bw_refused(w, "an attribute whose field '%s' is missing or of another kind", name);
  }
  return bw_vhlo_attr(w, value);
}

static struct bw_ref axis_ref(struct bw_writer *w, struct ir_attr attr) {
  size_t mark = w->stack.count;
  struct bw_ref name = field(w, attr, "name", IR_ATTR_STRING), sub = {0};
  struct ir_attr info = ir_attr_field(w->m, attr, "sub_axis_info");
  if (!name.id || (info.id && !(sub = sub_axis(w, info)).id)) {
    return bw_drop(w, mark);
  }
  bw_varint(w, VHLO_AXIS_REF);
  bw_reference(w, name);
  bw_varint(w, sub.id != 0);
  if (sub.id) {
    bw_reference(w, sub);
  }
  return finish(w, mark, VHLO_AXIS_REF);
}

static struct bw_ref mesh_axis(struct bw_writer *w, struct ir_attr attr) {
  size_t mark = w->stack.count;
  struct bw_ref name = field(w, attr, "name", IR_ATTR_STRING);
  if (!name.id) {
    return name;
  }
  bw_varint(w, VHLO_MESH_AXIS);
  bw_reference(w, name);
  bw_svarint(w, integer_field(w, attr, "size"));
  return finish(w, mark, VHLO_MESH_AXIS);
}

static struct bw_ref mesh(struct bw_writer *w, struct ir_attr attr) {
  size_t mark = w->stack.count;
  struct bw_ref axes = field(w, attr, "axes", IR_ATTR_ARRAY), devices = {0};
  struct ir_attr ids = ir_attr_field(w->m, attr, "device_ids");
  if (!axes.id || (ids.id && !(devices = bw_vhlo_attr(w, ids)).id)) {
    return bw_drop(w, mark);
  }
  bw_varint(w, VHLO_MESH);
  bw_reference(w, axes);
  bw_flagged(w, devices);
  return finish(w, mark, VHLO_MESH);
}

static struct bw_ref replica_group_mesh_axes(struct bw_writer *w, struct ir_attr attr) {
  size_t mark = w->stack.count;
  struct ir_attr mesh_attr = ir_attr_field(w->m, attr, "mesh");
  bool is_name = mesh_attr.id && ir_attr_get(w->m, mesh_attr)->kind == IR_ATTR_SYMBOL;
  struct bw_ref name = field(w, attr, "mesh", is_name ? IR_ATTR_SYMBOL : IR_ATTR_STRUCT);
  struct bw_ref axes = field(w, attr, "axes", IR_ATTR_ARRAY);
  if (!name.id || !axes.id) {
    return bw_drop(w, mark);
  }
  bw_varint(w, VHLO_REPLICA_GROUP_MESH_AXES);
  bw_reference(w, name);
  bw_reference(w, axes);
  return finish(w, mark, VHLO_REPLICA_GROUP_MESH_AXES);
}

static struct bw_ref structure(struct bw_writer *w, struct ir_attr attr) {
  static const struct {
    const char *name;
    struct bw_ref (*make)(struct bw_writer *w, struct ir_attr attr);
  } rows[] = {{"stablehlo.output_operand_alias", output_operand_alias},
              {"stablehlo.result_accuracy", result_accuracy},
              {"stablehlo.replica_group_mesh_axes", replica_group_mesh_axes},
              {"stablehlo.axis_ref", axis_ref},
              {"stablehlo.mesh_axis", mesh_axis},
              {"stablehlo.mesh", mesh}};
  const char *name = ir_text(w->m, ir_attr_get(w->m, attr)->text);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].name, name) == 0) {
      return rows[i].make(w, attr);
    }
  }
  return bw_refused(w, "the attribute #%s at this place", name);
}

static struct bw_ref make_attr(struct bw_writer *w, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(w->m, attr);
  const char *text = ir_text(w->m, data->text);
  size_t length = intern_length(&w->m->strings, data->text);
  switch ((enum ir_attr_kind)data->kind) {
  case IR_ATTR_BOOL:
    return bw_vhlo_bool(w, data->integer != 0);
  case IR_ATTR_INTEGER:
  case IR_ATTR_FLOAT:
    return typed_number(w, data);
  case IR_ATTR_STRING:
    return data->type.id ? bw_refused(w, "a string with a type") : bw_vhlo_string(w, text, length);
  case IR_ATTR_SYMBOL:
    return strstr(text, "::@") ? other(w, attr) : bw_vhlo_string(w, text, length);
  case IR_ATTR_TYPE:
    return type_attr(w, data);
  case IR_ATTR_ARRAY:
    return list(w, data);
  case IR_ATTR_DICT:
    return dictionary(w, data);
  case IR_ATTR_DENSE:
    return dense(w, data);
  case IR_ATTR_DENSE_ARRAY: {
    enum dtype dtype = (enum dtype)ir_type_get(w->m, data->type)->dtype;
    return dtype == DTYPE_I64 || dtype == DTYPE_I1
               ? tensor(w, dtype, data->data, data->data_size, data->list_count, false)
               : other(w, attr);
  }
  case IR_ATTR_ENUM:
    return strncmp(text, "sdy.", 4) == 0 ? other(w, attr) : enumerator(w, data);
  case IR_ATTR_STRUCT:
    return structure(w, attr);
  case IR_ATTR_OPAQUE:
    return strncmp(text, "#stablehlo", 10) == 0 ? bw_refused(w, "the attribute %.60s at this place", text)
                                                : other(w, attr);
  default:
    return other(w, attr);
  }
}

struct bw_ref bw_vhlo_attr(struct bw_writer *w, struct ir_attr attr) {
  struct bw_ref *memo = &w->vhlo_attrs[attr.id];
  if (memo->id || !bw_deeper(w)) {
    return *memo;
  }
  struct bw_ref made = make_attr(w, attr);
  w->depth--;
  w->vhlo_attrs[attr.id] = made;
  return made;
}
