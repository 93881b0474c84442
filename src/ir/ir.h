/* The program as data. Read this first.
 *
 * A module is a tree: op → regions → blocks → ops. The root is a builtin.module op; functions are func.func ops with one
 * region. Ops produce values; blocks have arguments, which are values too. Everything is addressed by 32-bit typed
 * handles into arrays of the module (0 = none), so handles stay valid while arrays grow; never keep a pointer into an
 * array across a call that creates something.
 *
 *   struct ir_module ── types[]   interned: equal types have equal handles
 *                    ├─ attrs[]   interned: equal attributes have equal handles
 *                    ├─ ops[]     operands, results, attributes, regions: ranges of pools
 *                    ├─ values[]  type and definition
 *                    ├─ blocks[], regions[]
 *                    └─ strings   interned texts (names, symbols)
 *
 * Path: made by mlir/, checked by analyze/, read by lower/.
 * Ownership: the module owns all; ir_module_free releases all. Failure of any creating function (memory or budget) gives
 * handle 0 and sets module->out_of_memory, so a caller may check once at the end.
 */
#ifndef RIDGELINE_IR_IR_H
#define RIDGELINE_IR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct ir_type {
  uint32_t id;
};
struct ir_attr {
  uint32_t id;
};
struct ir_op {
  uint32_t id;
};
struct ir_value {
  uint32_t id;
};
struct ir_block {
  uint32_t id;
};
struct ir_region {
  uint32_t id;
};

enum ir_opcode {
  IR_OP_UNKNOWN, /* an operation of an unknown dialect, kept with its name */
#define RDG_OP(id, name, omin, omax, rmin, rmax, gmin, gmax, traits) IR_OP_##id,
#include "ir/ops.def"
#undef RDG_OP
  IR_OP_COUNT
};
_Static_assert(IR_OP_XOR == 118, "the first 118 rows of ops.def are the operations of StableHLO");

enum ir_trait {
  IR_TRAIT_ELEMENTWISE = 1 << 0,
  IR_TRAIT_SAME_TYPE = 1 << 1,
  IR_TRAIT_COMMUTATIVE = 1 << 2,
  IR_TRAIT_CONSTANT = 1 << 3,
  IR_TRAIT_TERMINATOR = 1 << 4,
  IR_TRAIT_CALL = 1 << 5,
  IR_TRAIT_COLLECTIVE = 1 << 6,
  IR_TRAIT_CONTROL = 1 << 7,
  IR_TRAIT_BODY = 1 << 8,
  IR_TRAIT_EFFECT = 1 << 9,
  IR_TRAIT_SYMBOL = 1 << 10,
  IR_TRAIT_ISOLATED = 1 << 11
};

/* One row of ops.def. A maximum of -1 means any number. */
struct ir_op_info {
  const char *name;
  int16_t operands_min, operands_max, results_min, results_max, regions_min, regions_max;
  uint32_t traits;
};
const struct ir_op_info *ir_opcode_info(enum ir_opcode opcode);
/* Opcode of "dialect.name" (mhlo.x falls back to stablehlo.x); IR_OP_UNKNOWN when there is none. A scan over
 * all rows: callers cache it by interned name. */
enum ir_opcode ir_opcode_find(const char *name, size_t length);
static inline bool ir_opcode_has(enum ir_opcode opcode, enum ir_trait trait) {
  return (ir_opcode_info(opcode)->traits & (uint32_t)trait) != 0;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum ir_type_kind {
  IR_TYPE_NONE, /* builtin none, or no type */
  IR_TYPE_SCALAR, /* dtype: integers, floats, complex, index (tf32 included) */
  IR_TYPE_TENSOR, /* ranked: element, dims (IR_DYNAMIC = ?), encoding */
  IR_TYPE_UNRANKED, /* tensor<*xE>: element */
  IR_TYPE_TUPLE, /* list */
  IR_TYPE_FUNCTION, /* list: inputs, then results; input_count says where they part */
  IR_TYPE_TOKEN, /* !stablehlo.token; `text` keeps the spelling when it is another dialect's token */
  IR_TYPE_FUTURE, /* !stablehlo.future<...>: list */
  IR_TYPE_QUANTIZED, /* !quant.uniform<...>: quant index */
  IR_TYPE_MEMREF, /* like TENSOR */
  IR_TYPE_OPAQUE /* another dialect's type, kept as balanced text in `text` (with its leading '!') */
};

#define IR_DYNAMIC INT64_MIN

struct ir_type_data {
  uint8_t kind; /* enum ir_type_kind */
  uint8_t dtype; /* SCALAR: itself; TENSOR, UNRANKED, MEMREF: of the element (QUANTIZED: its storage type); else NONE */
  uint16_t rank;
  uint32_t first; /* TENSOR, MEMREF: dims in module->dims; TUPLE, FUNCTION, FUTURE: types in module->lists */
  uint32_t count; /* length of that list */
  uint32_t input_count; /* FUNCTION */
  struct ir_type element; /* TENSOR, UNRANKED, MEMREF */
  struct ir_attr encoding; /* TENSOR: e.g. #stablehlo.bounds<...>; 0 = none */
  uint32_t text; /* OPAQUE, TOKEN: interned text */
  uint32_t quant; /* QUANTIZED: index into module->quants */
  /* TUPLE, FUTURE: sums over the parts, saturating. Kept because parts may be shared: types that are small as handles can
   * have millions of leaves. */
  uint32_t leaf_count;
  uint64_t size_bytes;
};

/* !quant.uniform<storage:expressed[:axis], {scale:zero_point, ...}> */
struct ir_quant {
  uint8_t storage, expressed; /* enum dtype */
  bool has_storage_bounds;
  int64_t storage_min, storage_max;
  int32_t axis; /* -1 = per tensor */
  uint32_t count; /* number of scales */
  const double *scales;
  const int64_t *zero_points;
  uint32_t text; /* interned canonical text, with '!' (also distinguishes sub-channel forms, which only have text) */
};

/* ---- attributes ------------------------------------------------------------------------------------------------- */

enum ir_attr_kind {
  IR_ATTR_NONE,
  IR_ATTR_UNIT,
  IR_ATTR_BOOL, /* integer: 0 or 1 */
  IR_ATTR_INTEGER, /* integer, type (i64 when unstated). Wider than 64 bits: text */
  IR_ATTR_FLOAT, /* bits in the type's format (integer field), type */
  IR_ATTR_STRING, /* text (unescaped bytes); `type` when the string carries one */
  IR_ATTR_SYMBOL, /* text without '@'; nested parts joined by "::@" in canonical spelling */
  IR_ATTR_TYPE, /* type */
  IR_ATTR_ARRAY, /* list of attributes */
  IR_ATTR_DICT, /* list of (name, attribute) pairs, sorted by name text */
  IR_ATTR_DENSE, /* dense<...> : type; data */
  IR_ATTR_DENSE_ARRAY, /* array<T: ...>: type = element type; data; count in `list_count` */
  IR_ATTR_RESOURCE, /* dense_resource<name> : type; text = name */
  IR_ATTR_ENUM, /* #dialect<mnemonic VALUE>: text = "dialect.mnemonic", text2 = "VALUE" */
  IR_ATTR_STRUCT, /* #dialect.mnemonic<field = value, ...>: text = "dialect.mnemonic", list = (name, attr) in order */
  IR_ATTR_LOCATION, /* loc(...): canonical text of the inside */
  IR_ATTR_OPAQUE /* anything else: balanced canonical text, with its leading '#' when it has one; `type` if stated */
};

struct ir_attr_data {
  uint8_t kind; /* enum ir_attr_kind */
  bool is_splat; /* DENSE: data holds one element */
  struct ir_type type;
  int64_t integer;
  uint32_t text, text2;
  uint32_t list_first,
      list_count; /* ARRAY: attrs in module->lists; DICT, STRUCT: 2 * count entries (name id, attr id) */
  const uint8_t *data; /* DENSE, DENSE_ARRAY: little-endian elements; sub-byte types and i1 take one byte each */
  uint64_t data_size; /* bytes; strings in DENSE: data holds uint32 interned ids */
};

/* ---- ops, values, blocks, regions ------------------------------------------------------------------------------- */

struct ir_op_data {
  uint16_t opcode; /* enum ir_opcode */
  uint16_t flags; /* enum ir_op_flag */
  uint32_t name; /* interned full name as written ("mhlo.add", "foo.bar") */
  uint32_t operand_first, operand_count; /* values in module->lists */
  uint32_t result_first, result_count; /* consecutive values: result i is value result_first + i */
  uint32_t attr_first, attr_count; /* (name id, attr id) pairs in module->lists, sorted by name text */
  uint32_t region_first, region_count; /* regions in module->lists */
  uint32_t successor_first, successor_count; /* blocks in module->lists (unknown dialects only) */
  struct ir_block parent;
  struct ir_op previous, next; /* within the block */
  uint32_t offset; /* byte offset in the source text */
  struct ir_attr location; /* LOCATION attribute or 0 */
};

enum ir_op_flag {
  IR_OP_ERASED = 1 << 0,
  IR_OP_USER = 1 << 1, /* free for the pass that runs */
  IR_OP_PROPERTIES = 1 << 2 /* an unknown op whose attributes without a dialect in their name stood in <{ }> */
};

struct ir_value_data {
  struct ir_type type;
  struct ir_op op; /* defining op, 0 for block arguments */
  struct ir_block block; /* for block arguments */
  uint32_t index; /* result or argument number */
};

struct ir_block_data {
  uint32_t argument_first, argument_count; /* consecutive values */
  struct ir_op first, last;
  struct ir_region parent;
  struct ir_block next; /* within the region */
};

struct ir_region_data {
  struct ir_block first, last;
  struct ir_op parent;
};

struct ir_module {
  struct arena arena;
  struct intern strings;
  struct source source; /* text that offsets refer to; borrowed, may be NULL text */
  struct ir_op root; /* builtin.module */
  bool out_of_memory;
  VEC(struct ir_type_data) types;
  VEC(struct ir_attr_data) attrs;
  VEC(struct ir_op_data) ops;
  VEC(struct ir_value_data) values;
  VEC(struct ir_block_data) blocks;
  VEC(struct ir_region_data) regions;
  VEC(struct ir_quant) quants;
  VEC(uint32_t) lists;
  VEC(int64_t) dims;
  struct map type_index, attr_index; /* content hash → newest handle with it; chained through type_chain, attr_chain */
  VEC(uint32_t) type_chain;
  VEC(uint32_t) attr_chain;
  /* handles that everyone needs, interned at creation */
  struct ir_type scalar_types[DTYPE_COUNT];
  struct ir_type none_type, token_type;
  struct ir_attr unit_attr;
  /* resource blobs of a trailing {-# #-} section: name id → OPAQUE attr with the text */
  VEC(uint32_t) resources;
};

/* `budget_bytes` bounds the arena (0 = unlimited). NULL when memory is exhausted. */
struct ir_module *ir_module_new(size_t budget_bytes);
void ir_module_free(struct ir_module *module);

/* accessors: array lookups, valid until the next creation */
static inline struct ir_type_data *ir_type_get(struct ir_module const *m, struct ir_type t) {
  return &m->types.data[t.id];
}
static inline struct ir_attr_data *ir_attr_get(struct ir_module const *m, struct ir_attr a) {
  return &m->attrs.data[a.id];
}
static inline struct ir_op_data *ir_op_get(struct ir_module const *m, struct ir_op o) {
  return &m->ops.data[o.id];
}
static inline struct ir_value_data *ir_value_get(struct ir_module const *m, struct ir_value v) {
  return &m->values.data[v.id];
}
static inline struct ir_block_data *ir_block_get(struct ir_module const *m, struct ir_block b) {
  return &m->blocks.data[b.id];
}
static inline struct ir_region_data *ir_region_get(struct ir_module const *m, struct ir_region r) {
  return &m->regions.data[r.id];
}
static inline const char *ir_text(struct ir_module const *m, uint32_t id) {
  return intern_text(&m->strings, id);
}

static inline enum ir_opcode ir_op_code(struct ir_module const *m, struct ir_op o) {
  return (enum ir_opcode)ir_op_get(m, o)->opcode;
}
static inline struct ir_value ir_op_operand(struct ir_module const *m, struct ir_op o, uint32_t i) {
  return (struct ir_value){m->lists.data[ir_op_get(m, o)->operand_first + i]};
}
static inline struct ir_value ir_op_result(struct ir_module const *m, struct ir_op o, uint32_t i) {
  return (struct ir_value){ir_op_get(m, o)->result_first + i};
}
static inline struct ir_region ir_op_region(struct ir_module const *m, struct ir_op o, uint32_t i) {
  return (struct ir_region){m->lists.data[ir_op_get(m, o)->region_first + i]};
}
static inline struct ir_type ir_value_type(struct ir_module const *m, struct ir_value v) {
  return ir_value_get(m, v)->type;
}
static inline struct ir_value ir_block_argument(struct ir_module const *m, struct ir_block b, uint32_t i) {
  return (struct ir_value){ir_block_get(m, b)->argument_first + i};
}
static inline const int64_t *ir_type_dims(struct ir_module const *m, struct ir_type t) {
  return m->dims.data + ir_type_get(m, t)->first;
}
/* Attribute of an op by name text; handle 0 when absent. */
struct ir_attr ir_op_attr(const struct ir_module *m, struct ir_op op, const char *name);
/* Field of a DICT or STRUCT attribute; handle 0 when absent. */
struct ir_attr ir_attr_field(const struct ir_module *m, struct ir_attr attr, const char *name);
/* Integer i of a DENSE (integer elements, splat expanded) or DENSE_ARRAY attribute. */
int64_t ir_attr_int_at(const struct ir_module *m, struct ir_attr attr, uint64_t i);
/* Number of elements of ARRAY, DENSE (from its type), DENSE_ARRAY; 0 otherwise. */
uint64_t ir_attr_length(const struct ir_module *m, struct ir_attr attr);

/* iteration: for (struct ir_op op = ir_block_first(m, b); op.id; op = ir_op_next(m, op)) */
static inline struct ir_op ir_block_first(struct ir_module const *m, struct ir_block b) {
  return ir_block_get(m, b)->first;
}
static inline struct ir_op ir_op_next(struct ir_module const *m, struct ir_op o) {
  return ir_op_get(m, o)->next;
}
static inline struct ir_block ir_region_entry(struct ir_module const *m, struct ir_region r) {
  return ir_region_get(m, r)->first;
}
/* Op that ends a block, or 0 when it is empty. */
static inline struct ir_op ir_block_terminator(struct ir_module const *m, struct ir_block b) {
  return ir_block_get(m, b)->last;
}

/* types */
struct ir_type ir_type_scalar(const struct ir_module *m, enum dtype dtype);
struct ir_type ir_type_tensor(struct ir_module *m, struct ir_type element, const int64_t *dims, uint32_t rank,
                              struct ir_attr encoding);
struct ir_type ir_type_memref(struct ir_module *m, struct ir_type element, const int64_t *dims, uint32_t rank,
                              struct ir_attr encoding);
struct ir_type ir_type_unranked(struct ir_module *m, struct ir_type element);
struct ir_type ir_type_list(struct ir_module *m, enum ir_type_kind kind, const struct ir_type *types, uint32_t count,
                            uint32_t input_count); /* TUPLE, FUNCTION, FUTURE */
struct ir_type ir_type_opaque(struct ir_module *m, const char *text, size_t length);
struct ir_type ir_type_token(struct ir_module *m, const char *text, size_t length);
/* Copies scales and zero points into the module. */
struct ir_type ir_type_quantized(struct ir_module *m, const struct ir_quant *quant);
static inline bool ir_type_is_tensor(struct ir_module const *m, struct ir_type t) {
  return ir_type_get(m, t)->kind == IR_TYPE_TENSOR;
}
bool ir_type_is_static(const struct ir_module *m, struct ir_type t); /* a ranked tensor or memref without '?' */
/* Number of elements of a static tensor (1 for rank 0); saturates at UINT64_MAX; 0 for anything else or dynamic. */
uint64_t ir_type_element_count(const struct ir_module *m, struct ir_type t);
/* Bytes in device memory: packed elements of tensors, sum over tuples, 0 for tokens; saturates. */
uint64_t ir_type_size_bytes(const struct ir_module *m, struct ir_type t);
/* Number of tensors and scalars in a type: 1 for one of them, the sum over the parts of TUPLE and FUTURE (saturating), 0
 * for others. */
uint32_t ir_type_leaf_count(const struct ir_module *m, struct ir_type t);

/* attributes; equal content gives the equal handle */
struct ir_attr ir_attr_bool(struct ir_module *m, bool value);
struct ir_attr ir_attr_integer(struct ir_module *m, int64_t value, struct ir_type type);
struct ir_attr ir_attr_float(struct ir_module *m, uint64_t bits, struct ir_type type);
struct ir_attr ir_attr_string(struct ir_module *m, const char *text, size_t length, struct ir_type type);
/* Bounds of a tensor's dynamic dimensions by its encoding (#stablehlo.bounds, #mhlo.type_extensions): one number per entry,
 * IR_DYNAMIC where it says '?'. Number of entries, of which the first `capacity` are written; 0 when it holds no bounds. */
uint32_t ir_attr_bounds(const struct ir_module *m, struct ir_attr encoding, int64_t *bounds, uint32_t capacity);
struct ir_attr ir_attr_text(struct ir_module *m, enum ir_attr_kind kind, const char *text, size_t length,
                            struct ir_type type); /* SYMBOL, RESOURCE, OPAQUE, LOCATION */
struct ir_attr ir_attr_type(struct ir_module *m, struct ir_type type);
struct ir_attr ir_attr_array(struct ir_module *m, const struct ir_attr *items, uint32_t count);
/* pairs: name id, attr id, ...; DICT sorts a copy by name text and keeps the last of equal names; STRUCT keeps order. */
struct ir_attr ir_attr_dict(struct ir_module *m, const uint32_t *pairs, uint32_t count);
struct ir_attr ir_attr_struct(struct ir_module *m, const char *mnemonic, const uint32_t *pairs, uint32_t count);
struct ir_attr ir_attr_enum(struct ir_module *m, const char *mnemonic, size_t mnemonic_length, const char *value,
                            size_t value_length);
/* Copies data. A list of equal elements becomes a splat, so equal contents compare equal. */
struct ir_attr ir_attr_dense(struct ir_module *m, struct ir_type type, const void *data, uint64_t size, bool is_splat);
struct ir_attr ir_attr_dense_array(struct ir_module *m, struct ir_type element, const void *data, uint32_t count);
/* array<i64: ...> */
struct ir_attr ir_attr_i64s(struct ir_module *m, const int64_t *values, uint32_t count);
/* Bytes that one element of `dtype` takes in DENSE and DENSE_ARRAY data (1 for sub-byte types and i1). */
unsigned ir_dense_element_size(enum dtype dtype);

/* structure */
struct ir_region ir_region_create(struct ir_module *m);
struct ir_block ir_block_create(struct ir_module *m, struct ir_region region); /* appended; region 0 = detached */
void ir_block_append(struct ir_module *m, struct ir_region region, struct ir_block block);
/* Sets the arguments of a block once. Returns false when memory is exhausted. */
bool ir_block_set_arguments(struct ir_module *m, struct ir_block block, const struct ir_type *types, uint32_t count);

/* What ir_op_create needs; arrays are copied. attrs: (name id, attr id) pairs in any order. */
struct ir_op_spec {
  enum ir_opcode opcode;
  uint32_t name; /* interned; 0 = the name of the opcode's row */
  const struct ir_value *operands;
  uint32_t operand_count;
  const struct ir_type *result_types;
  uint32_t result_count;
  const uint32_t *attrs;
  uint32_t attr_count;
  const struct ir_region *regions;
  uint32_t region_count;
  const struct ir_block *successors;
  uint32_t successor_count;
  uint32_t offset;
  struct ir_attr location;
};
/* Appends to `block` (0 = detached, for the root). */
struct ir_op ir_op_create(struct ir_module *m, struct ir_block block, const struct ir_op_spec *spec);
void ir_op_set_operand(struct ir_module *m, struct ir_op op, uint32_t i, struct ir_value value);
/* Adds, replaces, or (attr 0) removes. */
bool ir_op_set_attr(struct ir_module *m, struct ir_op op, const char *name, struct ir_attr attr);
/* Unlinks from its block; handles to its results must not be used any more. */
void ir_op_erase(struct ir_module *m, struct ir_op op);

/* The func.func of that name anywhere below the root (first in order), or 0. Linear; build a map for many look-ups. */
struct ir_op ir_function_find(const struct ir_module *m, const char *name);
/* The function that a run starts in: "main", else the only public function, else the first; 0 when there is none. */
struct ir_op ir_function_entry(const struct ir_module *m);
/* Symbol name of a func.func or module ("" when none), entry block of a func.func (0 for a declaration). */
const char *ir_symbol_name(const struct ir_module *m, struct ir_op op);
struct ir_block ir_function_body(const struct ir_module *m, struct ir_op function);
struct ir_type ir_function_type(const struct ir_module *m, struct ir_op function);

/* Structural equality of two ops with all below them: opcode, names, attributes, types, operand wiring. Locations and
 * source offsets do not count. On a difference, up to `size` bytes of `where` describe the first one. */
bool ir_equal(const struct ir_module *a, struct ir_op op_a, const struct ir_module *b, struct ir_op op_b, char *where,
              size_t size);

#endif
