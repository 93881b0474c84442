/* Attributes and types of the StableHLO and CHLO dialects in bytecode that is not a portable artifact, as MLIR writes it for
 * modules in memory and JAX for its caches. Nobody promises that it stays readable; the codes have not changed so far.
 * Path: bytecode_entry.c → here. What a dialect has no code for is text there, which the text parser reads.
 * Codes and fields: StablehloBytecode.cpp of StableHLO 1.20, ChloBytecode.cpp. */
#include <string.h>

#include "mlir/bytecode_int.h"

enum field_kind { FIELD_END, FIELD_NUMBER, FIELD_DIMS, FIELD_REAL, FIELD_TYPE, FIELD_BYTE, FIELD_ENUM };
enum struct_rule { STRUCT_KEEP, STRUCT_OMIT /* empty lists and the number 0 are left out, as in attr_structs.def */ };
enum { FIELDS_MAX = 9 };

struct field {
  const char *name;
  uint8_t kind; /* enum field_kind */
};

/* Attributes that are nothing but fields, in the order of their encoding. */
static const struct struct_row {
  uint8_t code;
  uint8_t rule; /* enum struct_rule */
  const char *mnemonic;
  struct field fields[FIELDS_MAX + 1];
} struct_rows[] = {
    {1, STRUCT_KEEP, "stablehlo.channel_handle", {{"handle", FIELD_NUMBER}, {"type", FIELD_NUMBER}}},
    {4,
     STRUCT_KEEP,
     "stablehlo.conv",
     {{"input_batch_dimension", FIELD_NUMBER},
      {"input_feature_dimension", FIELD_NUMBER},
      {"input_spatial_dimensions", FIELD_DIMS},
      {"kernel_input_feature_dimension", FIELD_NUMBER},
      {"kernel_output_feature_dimension", FIELD_NUMBER},
      {"kernel_spatial_dimensions", FIELD_DIMS},
      {"output_batch_dimension", FIELD_NUMBER},
      {"output_feature_dimension", FIELD_NUMBER},
      {"output_spatial_dimensions", FIELD_DIMS}}},
    {5,
     STRUCT_OMIT,
     "stablehlo.dot",
     {{"lhs_batching_dimensions", FIELD_DIMS},
      {"rhs_batching_dimensions", FIELD_DIMS},
      {"lhs_contracting_dimensions", FIELD_DIMS},
      {"rhs_contracting_dimensions", FIELD_DIMS}}},
    {7,
     STRUCT_OMIT,
     "stablehlo.gather",
     {{"offset_dims", FIELD_DIMS},
      {"collapsed_slice_dims", FIELD_DIMS},
      {"operand_batching_dims", FIELD_DIMS},
      {"start_indices_batching_dims", FIELD_DIMS},
      {"start_index_map", FIELD_DIMS},
      {"index_vector_dim", FIELD_NUMBER}}},
    {11,
     STRUCT_OMIT,
     "stablehlo.scatter",
     {{"update_window_dims", FIELD_DIMS},
      {"inserted_window_dims", FIELD_DIMS},
      {"input_batching_dims", FIELD_DIMS},
      {"scatter_indices_batching_dims", FIELD_DIMS},
      {"scatter_dims_to_operand_dims", FIELD_DIMS},
      {"index_vector_dim", FIELD_NUMBER}}},
    {14,
     STRUCT_KEEP,
     "stablehlo.output_operand_alias",
     {{"output_tuple_indices", FIELD_DIMS}, {"operand_index", FIELD_NUMBER}, {"operand_tuple_indices", FIELD_DIMS}}},
    {15,
     STRUCT_KEEP,
     "stablehlo.dot_algorithm",
     {{"lhs_precision_type", FIELD_TYPE},
      {"rhs_precision_type", FIELD_TYPE},
      {"accumulation_type", FIELD_TYPE},
      {"lhs_component_count", FIELD_NUMBER},
      {"rhs_component_count", FIELD_NUMBER},
      {"num_primitive_operations", FIELD_NUMBER},
      {"allow_imprecise_accumulation", FIELD_BYTE}}},
    {17,
     STRUCT_KEEP,
     "stablehlo.result_accuracy",
     {{"atol", FIELD_REAL}, {"rtol", FIELD_REAL}, {"ulps", FIELD_NUMBER}, {"mode", FIELD_ENUM}}}};

/* Enumerators: a number each (bc_enum has their names). */
static const struct enum_row {
  uint8_t dialect; /* enum bc_dialect_kind */
  uint8_t code;
  const char *mnemonic;
} enum_rows[] = {{BC_STABLEHLO, 2, "comparison_direction"},
                 {BC_STABLEHLO, 3, "comparison_type"},
                 {BC_STABLEHLO, 6, "fft_type"},
                 {BC_STABLEHLO, 8, "precision"},
                 {BC_STABLEHLO, 9, "rng_algorithm"},
                 {BC_STABLEHLO, 10, "rng_distribution"},
                 {BC_STABLEHLO, 12, "transpose"},
                 {BC_STABLEHLO, 16, "result_accuracy_mode"},
                 {BC_CHLO, 0, "comparison_direction"},
                 {BC_CHLO, 1, "comparison_type"}};

/* Attributes of another build. */
enum { BOUNDS = 13, REPLICA_GROUP_MESH_AXES = 18, SUB_AXIS = 19, AXIS_REF = 20, MESH_AXIS = 21, MESH = 22 };

enum { TYPE_TOKEN, TYPE_FUTURE };

/* ---- fields --------------------------------------------------------------------------------------------------------- */

static bool type_field(struct bc_reader *r, struct bc_cursor *c, const char *name) {
  struct ir_type type;
  return bc_type(r, c, &type) && bc_field(r, name, ir_attr_type(r->m, type));
}

static bool read_bool(struct bc_reader *r, struct bc_cursor *c, bool *value) {
  const uint8_t *at = c->at;
  uint8_t byte;
  if (!bc_byte(r, c, &byte)) {
    return false;
  }
  *value = byte == 1;
  return byte <= 1 || bc_error(r, at, "truth value %u", byte);
}

static bool read_field(struct bc_reader *r, struct bc_cursor *c, const struct field *field) {
  struct ir_attr attr;
  bool is_true;
  switch ((enum field_kind)field->kind) {
  case FIELD_NUMBER:
    return bc_number_field(r, c, field->name);
  case FIELD_DIMS:
    return bc_dims_field(r, c, field->name);
  case FIELD_REAL:
    return bc_real_field(r, c, field->name);
  case FIELD_TYPE:
    return type_field(r, c, field->name);
  case FIELD_BYTE:
    return read_bool(r, c, &is_true) && bc_field(r, field->name, ir_attr_bool(r->m, is_true));
  case FIELD_ENUM:
    return bc_attr_kind(r, c, IR_ATTR_ENUM, "an enumerator", &attr) && bc_field(r, field->name, attr);
  case FIELD_END:
    break;
  }
  return false;
}

/* True for an empty list and for 0. */
static bool is_nothing(const struct ir_module *m, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  return data->kind == IR_ATTR_DENSE_ARRAY ? data->list_count == 0 : data->integer == 0;
}

static bool read_struct(struct bc_reader *r, struct bc_cursor *c, const struct struct_row *row, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  for (const struct field *field = row->fields; field->kind != FIELD_END; field++) {
    if (!read_field(r, c, field)) {
      return false;
    }
    if (row->rule == STRUCT_OMIT && is_nothing(r->m, (struct ir_attr){r->pairs.data[r->pairs.count - 1]})) {
      r->pairs.count -= 2;
    }
  }
  return bc_finish_struct(r, row->mnemonic, first, attr);
}

/* ---- meshes --------------------------------------------------------------------------------------------------------- */

static bool name_field(struct bc_reader *r, struct bc_cursor *c) {
  const struct bc_string *text;
  return bc_string(r, c, &text)
         && bc_field(r, "name", ir_attr_string(r->m, text->text, text->length, (struct ir_type){0}));
}

static bool axis_ref(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  bool has_sub;
  if (!name_field(r, c) || !read_bool(r, c, &has_sub)) {
    return false;
  }
  if (has_sub && !bc_sub_axis_field(r, c)) {
    return false;
  }
  return bc_finish_struct(r, "stablehlo.axis_ref", first, attr);
}

static bool mesh_axis(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  return name_field(r, c) && bc_number_field(r, c, "size") && bc_finish_struct(r, "stablehlo.mesh_axis", first, attr);
}

static bool mesh(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count;
  struct ir_attr axes, devices;
  bool has_devices;
  if (!bc_attr_kind(r, c, IR_ATTR_ARRAY, "a list of axes", &axes) || !bc_field(r, "axes", axes)
      || !read_bool(r, c, &has_devices)) {
    return false;
  }
  if (has_devices
      && (!bc_attr_kind(r, c, IR_ATTR_DENSE, "a list of devices", &devices) || !bc_field(r, "device_ids", devices))) {
    return false;
  }
  return bc_finish_struct(r, "stablehlo.mesh", first, attr);
}

/* A mesh or its symbol, then the axes without a list of their own. */
static bool replica_group_mesh_axes(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr) {
  size_t first = r->pairs.count, items = r->items.count;
  struct ir_attr mesh_attr;
  const uint8_t *at = c->at;
  if (!bc_attr(r, c, &mesh_attr)) {
    return false;
  }
  uint8_t kind = ir_attr_get(r->m, mesh_attr)->kind;
  if (kind != IR_ATTR_SYMBOL && kind != IR_ATTR_STRUCT) {
    return bc_error(r, at, "expected a mesh or its name, found another attribute");
  }
  if (!bc_field(r, "mesh", mesh_attr) || !bc_attr_list(r, c)) {
    return false;
  }
  struct ir_attr axes =
      ir_attr_array(r->m, (const struct ir_attr *)(r->items.data + items), (uint32_t)(r->items.count - items));
  r->items.count = items;
  return bc_field(r, "axes", axes) && bc_finish_struct(r, "stablehlo.replica_group_mesh_axes", first, attr);
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

bool bc_stablehlo_attr(struct bc_reader *r, struct bc_cursor *c, enum bc_dialect_kind kind, struct ir_attr *attr) {
  const uint8_t *at = c->at;
  const char *dialect = kind == BC_CHLO ? "chlo" : "stablehlo";
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  for (size_t i = 0; i < sizeof enum_rows / sizeof *enum_rows; i++) {
    if (enum_rows[i].dialect == kind && enum_rows[i].code == code) {
      return bc_enum(r, c, dialect, enum_rows[i].mnemonic, attr);
    }
  }
  for (size_t i = 0; kind == BC_STABLEHLO && i < sizeof struct_rows / sizeof *struct_rows; i++) {
    if (struct_rows[i].code == code) {
      return read_struct(r, c, &struct_rows[i], attr);
    }
  }
  switch (kind == BC_STABLEHLO ? code : UINT64_MAX) {
  case BOUNDS:
    return bc_bounds(r, c, attr);
  case REPLICA_GROUP_MESH_AXES:
    return replica_group_mesh_axes(r, c, attr);
  case SUB_AXIS:
    return bc_sub_axis(r, c, attr);
  case AXIS_REF:
    return axis_ref(r, c, attr);
  case MESH_AXIS:
    return mesh_axis(r, c, attr);
  case MESH:
    return mesh(r, c, attr);
  default:
    return bc_unknown(r, at, "%s attribute %llu", dialect, (unsigned long long)code);
  }
}

bool bc_stablehlo_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type) {
  const uint8_t *at = c->at;
  size_t first = r->items.count;
  uint64_t code;
  if (!bc_varint(r, c, &code)) {
    return false;
  }
  switch (code) {
  case TYPE_TOKEN:
    *type = r->m->token_type;
    return true;
  case TYPE_FUTURE:
    if (!bc_type_list(r, c)) {
      return false;
    }
    *type = ir_type_list(r->m, IR_TYPE_FUTURE, (const struct ir_type *)(r->items.data + first),
                         (uint32_t)(r->items.count - first), 0);
    r->items.count = first;
    return bc_made_type(r, *type);
  default:
    return bc_unknown(r, at, "stablehlo type %llu", (unsigned long long)code);
  }
}
