/* HLO text as parsed: computations of instructions whose attributes are still text. Path: hlo_parse.c → here → hlo_build*.c. */
#ifndef RIDGELINE_IMPORT_HLO_H
#define RIDGELINE_IMPORT_HLO_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"
#include "base/vec.h"
#include "import/hlo_lexer.h"
#include "import/import.h"

enum hlo_shape_kind { HLO_SHAPE_ARRAY, HLO_SHAPE_TUPLE, HLO_SHAPE_TOKEN, HLO_SHAPE_OPAQUE };

/* A leaf is an array, a token or an opaque value; the leaves of a tuple are numbered from left to right. */
struct hlo_shape {
  uint8_t kind; /* enum hlo_shape_kind */
  uint8_t dtype;
  uint64_t bounded; /* bit i: dimension i is any size up to dims[i] */
  uint32_t rank;
  const int64_t *dims; /* IR_DYNAMIC = unknown */
  const int64_t *layout; /* dimensions, the fastest first; NULL = row-major */
  uint32_t count; /* parts of a tuple */
  const struct hlo_shape *const *parts;
  const uint32_t *first_leaf; /* of each part */
  uint32_t leaf_count;
  struct hlo_span text;
};

struct hlo_attr {
  struct hlo_span name, value;
};

struct hlo_instruction {
  uint32_t name; /* interned */
  struct hlo_span opcode;
  const struct hlo_shape *shape;
  uint32_t operand_first, operand_count; /* in hlo_module.operands: indices of instructions of the same computation */
  uint32_t attr_first, attr_count;
  struct hlo_span inside; /* text between the parentheses, for constants and parameters */
  uint32_t offset; /* in the source */
};

struct hlo_computation {
  uint32_t name;
  uint32_t first, count; /* instructions */
  uint32_t root; /* index within the computation */
  uint32_t parameter_first, parameter_count; /* in hlo_module.parameters, by number: indices within the computation */
  uint32_t offset;
  bool is_entry;
  bool is_inline; /* stands where it is used */
  bool is_broken; /* an error was found in it: not built */
};

/* A computation that stands in an attribute's place, read after the one around it. */
struct hlo_inline {
  uint32_t name;
  struct hlo_span text; /* { instructions } */
  unsigned depth;
};

struct hlo_module {
  struct arena arena;
  struct intern strings;
  struct hlo_span name;
  uint32_t attr_first, attr_count;
  VEC(struct hlo_computation) computations;
  VEC(struct hlo_instruction) instructions;
  VEC(struct hlo_attr) attrs;
  VEC(uint32_t) operands;
  VEC(uint32_t) parameters;
  VEC(struct hlo_inline) inlines; /* still to be read */
  uint32_t inline_count; /* so far: they have no names */
  unsigned inline_depth; /* of the computation that is being read */
  struct map computation_index; /* name → index */
  const struct source *source;
  struct diag_list *diags;
  unsigned max_depth;
  size_t offset; /* of the instruction that is being built */
  bool is_failed; /* a diagnostic says why */
  bool is_out_of_memory;
};

#define HLO_NONE UINT32_MAX

/* Records an error at a place of the text, or of the instruction that is being built when `at` is elsewhere; always false. */
bool hlo_error(struct hlo_module *hlo, enum diag_id id, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool hlo_memory(struct hlo_module *hlo);

/* Reads the whole text; `hlo` is zeroed but for source, diags and max_depth. Errors are in hlo->is_failed. */
void hlo_parse(struct hlo_module *hlo, size_t budget_bytes);
void hlo_release(struct hlo_module *hlo);
/* hlo_parse_attrs.c: ", name=value" as often as it stands there. Computations in place of names go onto hlo->inlines, and
 * the values become the names that they get. */
bool hlo_parse_attrs(struct hlo_module *hlo, struct hlo_cursor *c, uint32_t *first, uint32_t *count);
/* hlo_parse_shape.c */
const struct hlo_shape *hlo_parse_shape(struct hlo_module *hlo, struct hlo_cursor *c);

/* Attribute by name; {NULL, 0} when absent. */
struct hlo_span hlo_attr_find(const struct hlo_module *hlo, const struct hlo_instruction *instruction,
                              const char *name);
struct hlo_span hlo_attr_in(const struct hlo_module *hlo, uint32_t first, uint32_t count, const char *name);

#endif
