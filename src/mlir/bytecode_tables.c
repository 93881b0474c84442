/* The tables of bytecode_tables.h. Path: see there. */
#include "mlir/bytecode_tables.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* ---- versions ------------------------------------------------------------------------------------------------------- */

uint32_t vhlo_version_of(const char *text) {
  unsigned parts[3] = {0};
  for (int i = 0; i < 3; i++) {
    char *end;
    parts[i] = (unsigned)strtoul(text, &end, 10);
    text = *end ? end + 1 : end;
  }
  return vhlo_version(parts[0], parts[1], parts[2]);
}

unsigned vhlo_container_version(uint32_t version) {
  static const struct {
    const char *below;
    unsigned container;
  } rows[] = {{"0.10.0", 0}, {"0.12.0", 1}, {"0.14.0", 3}, {"0.15.0", 4}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    if (version < vhlo_version_of(rows[i].below)) {
      return rows[i].container;
    }
  }
  return BC_VERSION_LAST;
}

/* ---- codes of VHLO -------------------------------------------------------------------------------------------------- */

static const char oldest[] = "0.9.0";

const struct vhlo_enum_row vhlo_enums[] = {
    {VHLO_COMPARISON_DIRECTION, oldest, "comparison_direction", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {VHLO_COMPARISON_TYPE, oldest, "comparison_type", {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {VHLO_FFT_TYPE, oldest, "fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {VHLO_PRECISION, oldest, "precision", {"DEFAULT", "HIGH", "HIGHEST"}},
    {VHLO_RNG_ALGORITHM, oldest, "rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {VHLO_RNG_DISTRIBUTION, oldest, "rng_distribution", {NULL, "UNIFORM", "NORMAL"}},
    {VHLO_TRANSPOSE, oldest, "transpose", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {VHLO_RESULT_ACCURACY_MODE, "1.9.0", "result_accuracy_mode", {"DEFAULT", "HIGHEST", "TOLERANCE"}}};
const size_t vhlo_enum_count = COUNT(vhlo_enums);

const struct vhlo_enum_row *vhlo_enum_find(uint64_t code) {
  for (size_t i = 0; i < COUNT(vhlo_enums); i++) {
    if (vhlo_enums[i].code == code) {
      return &vhlo_enums[i];
    }
  }
  return NULL;
}

const struct vhlo_scalar_row vhlo_scalars[] = {[0] = {DTYPE_I1, oldest},
                                               [2] = {DTYPE_BF16, oldest},
                                               [3] = {DTYPE_F16, oldest},
                                               [4] = {DTYPE_F32, oldest},
                                               [5] = {DTYPE_F64, oldest},
                                               [6] = {DTYPE_F8E4M3FN, oldest},
                                               [7] = {DTYPE_F8E5M2, oldest},
                                               [9] = {DTYPE_INDEX, oldest},
                                               [10] = {DTYPE_I4, oldest},
                                               [11] = {DTYPE_I8, oldest},
                                               [12] = {DTYPE_I16, oldest},
                                               [13] = {DTYPE_I32, oldest},
                                               [14] = {DTYPE_I64, oldest},
                                               [15] = {DTYPE_UI4, oldest},
                                               [16] = {DTYPE_UI8, oldest},
                                               [17] = {DTYPE_UI16, oldest},
                                               [18] = {DTYPE_UI32, oldest},
                                               [19] = {DTYPE_UI64, oldest},
                                               [27] = {DTYPE_F8E4M3FNUZ, "0.10.0"},
                                               [28] = {DTYPE_F8E5M2FNUZ, "0.10.0"},
                                               [29] = {DTYPE_F8E4M3B11FNUZ, "0.11.0"},
                                               [31] = {DTYPE_I2, "1.2.0"},
                                               [32] = {DTYPE_UI2, "1.2.0"},
                                               [34] = {DTYPE_TF32, "1.6.0"},
                                               [35] = {DTYPE_F8E4M3, "1.7.0"},
                                               [36] = {DTYPE_F8E3M4, "1.7.0"},
                                               [37] = {DTYPE_F4E2M1FN, "1.8.0"},
                                               [38] = {DTYPE_F6E2M3FN, "1.8.0"},
                                               [39] = {DTYPE_F6E3M2FN, "1.8.0"},
                                               [40] = {DTYPE_F8E8M0FNU, "1.8.0"}};
const size_t vhlo_scalar_count = COUNT(vhlo_scalars);

const char *vhlo_type_since(enum bc_vhlo_type code) {
  static const char *const since[] = {[VHLO_T_QUANTIZED_AXIS] = "0.18.0",
                                      [VHLO_T_NONE] = "1.6.0",
                                      [VHLO_T_BUFFER] = "1.13.0",
                                      [VHLO_T_FUTURE] = "1.15.0"};
  return since[code] ? since[code] : oldest;
}

const char *vhlo_attr_since(enum bc_vhlo_attr code) {
  static const char *const since[] = {[VHLO_RESULT_ACCURACY_MODE] = "1.9.0",
                                      [VHLO_RESULT_ACCURACY] = "1.9.0",
                                      [VHLO_SUB_AXIS] = "1.16.0",
                                      [VHLO_AXIS_REF] = "1.16.0",
                                      [VHLO_REPLICA_GROUP_MESH_AXES] = "1.16.0",
                                      [VHLO_MESH_AXIS] = "1.16.0",
                                      [VHLO_MESH] = "1.16.0"};
  return since[code] ? since[code] : oldest;
}

/* ---- operations of VHLO --------------------------------------------------------------------------------------------- */

#define VHLO_OP(opcode, name, since, attrs)
#define VHLO_STRUCT(opcode, name, mnemonic, rule, fields)
#define VHLO_ATTR(opcode, name, rule)
#define VHLO_DEFAULT(opcode, name, value, form)
#define VHLO_LIMIT(opcode, check, since, what)

#undef VHLO_OP
#define VHLO_OP(opcode, name, since, attrs) {name, sizeof(name) - 1, IR_OP_##opcode, since, attrs},
const struct vhlo_op_row vhlo_op_rows[] = {
#include "mlir/vhlo_versions.def"
};
const size_t vhlo_op_row_count = COUNT(vhlo_op_rows);
#undef VHLO_OP
#define VHLO_OP(opcode, name, since, attrs)

#undef VHLO_STRUCT
#define VHLO_STRUCT(opcode, name, mnemonic, rule, fields) {IR_OP_##opcode, FIELDS_##rule, name, mnemonic, fields},
const struct vhlo_struct_row vhlo_struct_rows[] = {
#include "mlir/vhlo_versions.def"
};
const size_t vhlo_struct_row_count = COUNT(vhlo_struct_rows);
#undef VHLO_STRUCT
#define VHLO_STRUCT(opcode, name, mnemonic, rule, fields)

#undef VHLO_ATTR
#define VHLO_ATTR(opcode, name, rule) {IR_OP_##opcode, RULE_##rule, name},
const struct vhlo_attr_row vhlo_attr_rows[] = {
#include "mlir/vhlo_versions.def"
};
const size_t vhlo_attr_row_count = COUNT(vhlo_attr_rows);
#undef VHLO_ATTR
#define VHLO_ATTR(opcode, name, rule)

#undef VHLO_DEFAULT
#define VHLO_DEFAULT(opcode, name, value, form) {IR_OP_##opcode, DEFAULT_##value, FORM_##form, name},
const struct vhlo_default_row vhlo_default_rows[] = {
#include "mlir/vhlo_versions.def"
};
const size_t vhlo_default_row_count = COUNT(vhlo_default_rows);
#undef VHLO_DEFAULT
#define VHLO_DEFAULT(opcode, name, value, form)

#undef VHLO_LIMIT
#define VHLO_LIMIT(opcode, check, since, what) {IR_OP_##opcode, LIMIT_##check, since, what},
const struct vhlo_limit_row vhlo_limit_rows[] = {
#include "mlir/vhlo_versions.def"
};
const size_t vhlo_limit_row_count = COUNT(vhlo_limit_rows);

const struct vhlo_op_row *vhlo_op_find(const char *name, size_t length) {
  for (size_t i = 0; length && i < COUNT(vhlo_op_rows); i++) {
    const char *row = vhlo_op_rows[i].name;
    if (vhlo_op_rows[i].name_length == length && row[0] == name[0] && memcmp(row, name, length) == 0) {
      return &vhlo_op_rows[i];
    }
  }
  return NULL;
}

const char *vhlo_next_word(const char **list, size_t *length) {
  const char *word = *list;
  while (*word == ' ') {
    word++;
  }
  const char *end = strchr(word, ' ');
  *list = end ? end : word + strlen(word);
  *length = (size_t)(*list - word);
  return *length ? word : NULL;
}

bool vhlo_has_word(const char *list, const char *word, size_t length) {
  const char *item;
  size_t n;
  while ((item = vhlo_next_word(&list, &n)) != NULL) {
    if (n == length && memcmp(item, word, n) == 0) {
      return true;
    }
  }
  return false;
}

static bool ends_with(const char *word, size_t length, const char *end) {
  size_t n = strlen(end);
  return length >= n && memcmp(word + length - n, end, n) == 0;
}

bool vhlo_is_list_field(const char *word, size_t length) {
  return ends_with(word, length, "_dims") || ends_with(word, length, "_dimensions") || ends_with(word, length, "_map");
}

/* ---- other dialects ------------------------------------------------------------------------------------------------- */

const char *bc_known_properties(const char *op_name) {
  static const struct {
    const char *name, *attrs;
  } rows[] = {
#define BC_PROPERTIES(name, attrs) {name, attrs},
#include "mlir/bytecode_properties.def"
#undef BC_PROPERTIES
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    if (strcmp(op_name, rows[i].name) == 0) {
      return rows[i].attrs;
    }
  }
  return NULL;
}

const struct sdy_frame bc_sdy_frames[SDY_CODE_COUNT] = {
    [SDY_MANUAL_AXES] = {"#sdy<manual_axes", ">"},
    [SDY_MESH_AXIS] = {"#sdy<mesh_axis(", ")>"},
    [SDY_MESH] = {"#sdy.mesh", ""},
    [SDY_SUB_AXIS] = {"#sdy<sub_axis_info", ">"},
    [SDY_AXIS_REF] = {"#sdy<axis_ref(", ")>"},
    [SDY_DIMENSION] = {"#sdy<dimension_sharding(", ")>"},
    [SDY_SHARDING] = {"#sdy.sharding", ""},
    [SDY_SHARDING_PER_VALUE] = {"#sdy.sharding_per_value<", ">"},
    [SDY_DIM_MAPPING] = {"#sdy<dim_mapping(", ")>"},
    [SDY_TENSOR_MAPPING] = {"#sdy<tensor_mapping", ">"},
    [SDY_RULE] = {"#sdy.op_sharding_rule<", ">"},
    [SDY_AXIS_REF_LIST] = {"#sdy<axis_ref_list", ">"},
    [SDY_AXIS_REF_LISTS] = {"#sdy<list_of_axis_ref_lists", ">"},
    [SDY_ALL_TO_ALL] = {"#sdy<all_to_all_param(", ")>"},
    [SDY_ALL_TO_ALL_LIST] = {"#sdy<all_to_all_param_list", ">"},
    [SDY_SHARDING_UNREDUCED] = {"#sdy.sharding", ""},
    [SDY_SHARDING_PER_VALUE_UNREDUCED] = {"#sdy.sharding_per_value<", ">"},
    [SDY_SHARDING_REDUCTION] = {"#sdy.sharding", ""}};
