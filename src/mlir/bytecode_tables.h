/* Facts about bytecode that reading and writing share: codes of attributes and types, operations and their versions,
 * defaults, what stands around a part of a sharding. Path: consulted by the files bytecode_*.c only.
 * Sources: see bytecode.h; the rows of VHLO's operations are in vhlo_versions.def. */
#ifndef RIDGELINE_MLIR_BYTECODE_TABLES_H
#define RIDGELINE_MLIR_BYTECODE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/ir.h"

/* Versions of the container in which something changed. */
enum {
  BC_VERSION_DIALECT_VERSIONS = 1,
  BC_VERSION_LAZY_REGIONS = 2,
  BC_VERSION_USE_LISTS = 3,
  BC_VERSION_KNOWN_LOCATIONS = 4,
  BC_VERSION_PROPERTIES = 5,
  BC_VERSION_GROUP_SIZES = 6,
  BC_VERSION_LAST = 6
};

enum bc_section {
  BC_STRINGS,
  BC_DIALECTS,
  BC_ENTRIES,
  BC_ENTRY_OFFSETS,
  BC_IR,
  BC_RESOURCES,
  BC_RESOURCE_OFFSETS,
  BC_DIALECT_VERSIONS,
  BC_PROPERTIES,
  BC_SECTION_COUNT
};

/* Fields that an operation has, a byte in front of them. */
enum bc_op_mask {
  BC_HAS_ATTRS = 1 << 0,
  BC_HAS_RESULTS = 1 << 1,
  BC_HAS_OPERANDS = 1 << 2,
  BC_HAS_SUCCESSORS = 1 << 3,
  BC_HAS_REGIONS = 1 << 4,
  BC_HAS_USE_LISTS = 1 << 5,
  BC_HAS_PROPERTIES = 1 << 6
};

enum { BC_SECTION_ALIGNED = 0x80, BC_PADDING = 0xCB, BC_RESOURCE_BLOB = 0 };

/* ---- codes ---------------------------------------------------------------------------------------------------------- */

enum bc_builtin_attr {
  BUILTIN_ARRAY,
  BUILTIN_DICTIONARY,
  BUILTIN_STRING,
  BUILTIN_STRING_TYPED,
  BUILTIN_FLAT_SYMBOL,
  BUILTIN_SYMBOL,
  BUILTIN_TYPE,
  BUILTIN_UNIT,
  BUILTIN_INTEGER,
  BUILTIN_FLOAT,
  BUILTIN_LOC_CALL_SITE,
  BUILTIN_LOC_FILE,
  BUILTIN_LOC_FUSED,
  BUILTIN_LOC_FUSED_METADATA,
  BUILTIN_LOC_NAME,
  BUILTIN_LOC_UNKNOWN,
  BUILTIN_RESOURCE,
  BUILTIN_DENSE_ARRAY,
  BUILTIN_DENSE,
  BUILTIN_DENSE_STRING,
  BUILTIN_SPARSE,
  BUILTIN_DISTINCT,
  BUILTIN_LOC_FILE_RANGE
};

enum bc_builtin_type {
  BUILTIN_T_INTEGER,
  BUILTIN_T_INDEX,
  BUILTIN_T_FUNCTION,
  BUILTIN_T_BF16,
  BUILTIN_T_F16,
  BUILTIN_T_F32,
  BUILTIN_T_F64,
  BUILTIN_T_F80,
  BUILTIN_T_F128,
  BUILTIN_T_COMPLEX,
  BUILTIN_T_MEMREF,
  BUILTIN_T_MEMREF_SPACE,
  BUILTIN_T_NONE,
  BUILTIN_T_TENSOR,
  BUILTIN_T_TENSOR_ENCODING,
  BUILTIN_T_TUPLE,
  BUILTIN_T_UNRANKED_MEMREF,
  BUILTIN_T_UNRANKED_MEMREF_SPACE,
  BUILTIN_T_UNRANKED_TENSOR,
  BUILTIN_T_VECTOR,
  BUILTIN_T_VECTOR_SCALABLE
};

enum bc_vhlo_attr {
  VHLO_ARRAY = 1,
  VHLO_BOOL,
  VHLO_COMPARISON_DIRECTION,
  VHLO_COMPARISON_TYPE,
  VHLO_API_VERSION,
  VHLO_DICTIONARY,
  VHLO_FFT_TYPE,
  VHLO_FLOAT,
  VHLO_INTEGER,
  VHLO_OUTPUT_OPERAND_ALIAS,
  VHLO_PRECISION,
  VHLO_RNG_ALGORITHM,
  VHLO_RNG_DISTRIBUTION,
  VHLO_STRING,
  VHLO_TENSOR,
  VHLO_TRANSPOSE,
  VHLO_TYPE,
  VHLO_TYPE_EXTENSIONS,
  VHLO_RESULT_ACCURACY_MODE,
  VHLO_RESULT_ACCURACY,
  VHLO_SUB_AXIS,
  VHLO_AXIS_REF,
  VHLO_REPLICA_GROUP_MESH_AXES,
  VHLO_MESH_AXIS,
  VHLO_MESH
};

enum bc_vhlo_type {
  VHLO_T_COMPLEX = 1,
  VHLO_T_FUNCTION = 8,
  VHLO_T_TENSOR = 20,
  VHLO_T_TENSOR_ENCODING = 21,
  VHLO_T_TOKEN = 22,
  VHLO_T_TUPLE = 23,
  VHLO_T_QUANTIZED = 24,
  VHLO_T_UNRANKED = 25,
  VHLO_T_WITNESS = 26,
  VHLO_T_QUANTIZED_AXIS = 30,
  VHLO_T_NONE = 33,
  VHLO_T_BUFFER = 41,
  VHLO_T_FUTURE = 42
};
/* Bit of a quantized type: its storage, of which the type says the width only, is signed. */
enum { VHLO_QUANTIZED_SIGNED = 1 };
/* The newest interface of custom calls, whose configuration is a dictionary. */
enum { VHLO_API_VERSION_LAST = 4 };

enum bc_sdy_attr {
  SDY_MANUAL_AXES,
  SDY_MESH_AXIS,
  SDY_MESH,
  SDY_SUB_AXIS,
  SDY_AXIS_REF,
  SDY_DIMENSION,
  SDY_SHARDING,
  SDY_SHARDING_PER_VALUE,
  SDY_DIM_MAPPING,
  SDY_TENSOR_MAPPING,
  SDY_RULE,
  SDY_AXIS_REF_LIST,
  SDY_AXIS_REF_LISTS,
  SDY_ALL_TO_ALL,
  SDY_ALL_TO_ALL_LIST,
  SDY_SHARDING_UNREDUCED,
  SDY_SHARDING_PER_VALUE_UNREDUCED,
  SDY_SHARDING_REDUCTION,
  SDY_CODE_COUNT
};

/* What an attribute that stands alone has in front of and behind its text within another one. */
struct sdy_frame {
  const char *prefix, *suffix;
};
extern const struct sdy_frame bc_sdy_frames[SDY_CODE_COUNT];

/* ---- versions ------------------------------------------------------------------------------------------------------- */

/* The oldest and newest StableHLO whose operations are known here (vhlo_versions.def). */
enum { VHLO_OLDEST_MINOR = 9, VHLO_MAJOR = 1, VHLO_MINOR = 20, VHLO_PATCH = 0 };
#define VHLO_NEWEST "1.20.0"
/* Operations and attributes of other dialects: the oldest artifacts with them are of this version. */
#define OTHER_DIALECTS_SINCE "1.10.9"

/* A version as one number that compares as versions do. */
static inline uint32_t vhlo_version(unsigned major, unsigned minor, unsigned patch) {
  return major << 20 | minor << 10 | patch;
}
/* The same of "1.2.3". */
uint32_t vhlo_version_of(const char *text);
/* Version of the container in which StableHLO of a version is written. */
unsigned vhlo_container_version(uint32_t version);

/* ---- tables of VHLO ------------------------------------------------------------------------------------------------- */

/* Enumerations: the value is an index into the names. */
struct vhlo_enum_row {
  uint8_t code; /* enum bc_vhlo_attr */
  const char *since;
  const char *mnemonic; /* without the dialect */
  const char *values[6];
};
extern const struct vhlo_enum_row vhlo_enums[];
extern const size_t vhlo_enum_count;
/* NULL when there is none. */
const struct vhlo_enum_row *vhlo_enum_find(uint64_t code);

/* Scalar types by code. */
struct vhlo_scalar_row {
  uint8_t dtype; /* enum dtype; DTYPE_NONE where the code is no scalar */
  const char *since;
};
extern const struct vhlo_scalar_row vhlo_scalars[];
extern const size_t vhlo_scalar_count;
/* First version that has types with the code. */
const char *vhlo_type_since(enum bc_vhlo_type code);
/* First version that has attributes with the code. */
const char *vhlo_attr_since(enum bc_vhlo_attr code);

/* Rows of vhlo_versions.def; that file says what they mean. */
struct vhlo_op_row {
  const char *name; /* without "vhlo." */
  uint16_t name_length;
  uint16_t opcode; /* enum ir_opcode */
  const char *since; /* first version that has it */
  const char *attrs; /* names of the properties in the order of their encoding, parted by blanks */
};
extern const struct vhlo_op_row vhlo_op_rows[];
extern const size_t vhlo_op_row_count;

enum vhlo_struct_rule { FIELDS_OMIT, FIELDS_KEEP, FIELDS_HANDLE, FIELDS_ALGORITHM };
struct vhlo_struct_row {
  uint16_t opcode;
  uint8_t rule; /* enum vhlo_struct_rule */
  const char *name, *mnemonic, *fields;
};
extern const struct vhlo_struct_row vhlo_struct_rows[];
extern const size_t vhlo_struct_row_count;

enum vhlo_attr_rule { RULE_SYMBOL, RULE_SYMBOLS, RULE_UNIT, RULE_DROP };
struct vhlo_attr_row {
  uint16_t opcode;
  uint8_t rule; /* enum vhlo_attr_rule */
  const char *name;
};
extern const struct vhlo_attr_row vhlo_attr_rows[];
extern const size_t vhlo_attr_row_count;

enum vhlo_default_value {
  DEFAULT_ZERO,
  DEFAULT_ONE,
  DEFAULT_MINUS_ONE,
  DEFAULT_EMPTY,
  DEFAULT_KEPT,
  DEFAULT_NOTYPE, /* the enumerators from here on */
  DEFAULT_DEFAULT
};
enum vhlo_default_form {
  FORM_BOOL,
  FORM_I64,
  FORM_STRING,
  FORM_LIST,
  FORM_DICTIONARY,
  FORM_NO_DIMS,
  FORM_DIMS,
  FORM_BOOLS,
  FORM_PADDING,
  FORM_COMPARISON,
  FORM_PRECISIONS,
  FORM_API,
  FORM_CONFIG,
  FORM_ACCURACY
};
struct vhlo_default_row {
  uint16_t opcode;
  uint8_t value; /* enum vhlo_default_value */
  uint8_t form; /* enum vhlo_default_form */
  const char *name;
};
extern const struct vhlo_default_row vhlo_default_rows[];
extern const size_t vhlo_default_row_count;

enum vhlo_limit_check {
  LIMIT_ONE_OPERAND,
  LIMIT_NO_REGIONS,
  LIMIT_SAME_ELEMENTS,
  LIMIT_NO_TYPED_CALL,
  LIMIT_NO_FUTURE
};
struct vhlo_limit_row {
  uint16_t opcode;
  uint8_t check; /* enum vhlo_limit_check */
  const char *since;
  const char *what;
};
extern const struct vhlo_limit_row vhlo_limit_rows[];
extern const size_t vhlo_limit_row_count;

/* Row of a VHLO operation by its name, or NULL. */
const struct vhlo_op_row *vhlo_op_find(const char *name, size_t length);
/* Next word of a list parted by blanks; NULL at the end. */
const char *vhlo_next_word(const char **list, size_t *length);
/* True when the list has the word. */
bool vhlo_has_word(const char *list, const char *word, size_t length);
/* True when a field of an attribute holds a list of numbers; others hold a number. */
bool vhlo_is_list_field(const char *word, size_t length);
/* True when the attribute has the value of the row (bytecode_vhlo_ops.c). */
bool vhlo_has_default_value(const struct ir_module *m, struct ir_attr attr, enum vhlo_default_value value);

/* Properties of operations that are not of VHLO, in the order of their encoding; a leading '?' marks an optional one. NULL
 * when they are not known. sdy operations without a row here have those of op_attrs.def. */
const char *bc_known_properties(const char *op_name);

#endif
