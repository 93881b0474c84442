/* The inputs of operations as the specification of StableHLO lists them: the rows of spec.def that checks need. */
#ifndef RIDGELINE_ANALYZE_SPEC_TABLE_H
#define RIDGELINE_ANALYZE_SPEC_TABLE_H

#include <stdint.h>

#include "ir/ir.h"

enum spec_what {
  SPEC_TENSOR, /* operands: tensors with elements of `classes` */
  SPEC_KIND, /* operands: values whose kind is one of `classes` (enum spec_kind) */
  SPEC_ATTRIBUTE, /* attribute of kind `classes` (enum spec_attribute) */
  SPEC_FUNCTION, /* region `first` */
  SPEC_PART, /* part of an attribute: its syntax is its check */
  SPEC_RESULT /* results: tensors with elements of `classes` */
};

/* Which operands a row is about. */
enum spec_place {
  PLACE_NONE,
  PLACE_AT, /* operand `first` */
  PLACE_REST, /* `first` and all behind it */
  PLACE_BUT_LAST,
  PLACE_LAST,
  PLACE_FIRST_HALF,
  PLACE_SECOND_HALF,
  PLACE_SCATTER_INPUTS, /* n inputs, indices, n updates */
  PLACE_SCATTER_INDICES,
  PLACE_SCATTER_UPDATES
};

enum spec_kind { KIND_TOKEN = 1 << 0, KIND_TUPLE = 1 << 1, KIND_FUTURE = 1 << 2, KIND_ANY = 1 << 3 };

enum spec_attribute {
  SPEC_S64,
  SPEC_S32,
  SPEC_F32,
  SPEC_BOOLEAN,
  SPEC_FLAG, /* bool, or there without a value */
  SPEC_STRING,
  SPEC_SYMBOL,
  SPEC_ARRAY,
  SPEC_DICTIONARY,
  SPEC_CONFIG, /* string or dictionary */
  SPEC_ELEMENTS, /* a constant tensor */
  SPEC_ENUM, /* one of the words of spec_enum_words */
  SPEC_S64_LIST, /* one dimension; array<i64: ...> or dense */
  SPEC_BOOLEAN_LIST,
  SPEC_S64_TABLE, /* two dimensions */
  SPEC_GROUPS /* a table, or axes of a mesh */
};

enum {
  SPEC_ANY_RANK = 255,
  SPEC_INDEX_RANK = 254, /* 0, or one vector of all indices */
  SPEC_STATIC = 253, /* any rank, all sizes known */
  SPEC_STATIC_VECTOR = 252 /* rank 1, of known length */
};

struct spec_input {
  uint8_t label; /* n of (In); 0: the specification has no number */
  uint8_t what; /* enum spec_what */
  uint8_t place, first;
  uint8_t rank;
  uint16_t classes;
  const char *name;
};

/* Rows of an opcode; NULL and 0 for operations of other dialects. */
const struct spec_input *spec_inputs(enum ir_opcode opcode, uint32_t *count);
/* Number of the input with that name, or of the function that region `region` is; 0 when there is none. */
unsigned spec_label(enum ir_opcode opcode, const char *name);
unsigned spec_region_label(enum ir_opcode opcode, uint32_t region);
/* Values of an enumeration, separated by spaces; NULL for an unknown attribute name. */
const char *spec_enum_words(const char *attribute);

#endif
