/* What the files of the bytecode reader share: the reader's tables, cursors over bytes, and the functions of each dialect.
 * Path: see bytecode.h. Used by bytecode_*.c only.
 *
 * Every function that returns bool returns false after it has recorded one diagnostic (or noted lack of memory in the
 * module), and the caller then returns false as well. */
#ifndef RIDGELINE_MLIR_BYTECODE_INT_H
#define RIDGELINE_MLIR_BYTECODE_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "mlir/bytecode.h"
#include "mlir/bytecode_tables.h"

/* Bytes that are left to read. */
struct bc_cursor {
  const uint8_t *at, *end;
};

enum bc_dialect_kind { BC_BUILTIN, BC_VHLO, BC_SDY, BC_STABLEHLO, BC_CHLO, BC_OTHER };

struct bc_dialect {
  uint32_t name; /* string index */
  uint8_t kind; /* enum bc_dialect_kind */
};

struct bc_string {
  const char *text;
  uint32_t length;
  uint32_t id; /* interned in the module; 0 = not yet, or the empty string */
};

enum bc_state { BC_UNREAD, BC_READING, BC_READ };

/* An attribute or a type. */
struct bc_entry {
  const uint8_t *data;
  uint32_t size;
  uint16_t dialect;
  uint8_t is_custom; /* encoded by the dialect; else text */
  uint8_t state; /* enum bc_state */
  uint32_t id; /* handle when read */
  uint64_t weight; /* attributes and types that it stands for when written out, saturating */
};

struct bc_blob {
  const uint8_t *data;
  uint32_t size;
};

/* How a property is encoded, by the mark of its word in bc_op_name.attrs. */
enum bc_presence {
  BC_ALWAYS,
  BC_OPTIONAL, /* '?' */
  BC_NEWER, /* '+': optional, and not there in older releases */
  BC_GROUP_SIZES /* '#' */
};

/* What is known of an attribute of an operation. */
struct bc_op_attr {
  uint32_t id; /* interned name */
  uint8_t presence; /* enum bc_presence, of a property */
  uint8_t group_count; /* of BC_GROUP_SIZES */
  const struct mlir_op_attr *row; /* its form and default in text; NULL = none */
  const struct vhlo_attr_row *rule; /* of VHLO: how it becomes StableHLO's; NULL = as it is */
  const struct vhlo_default_row *standard; /* of VHLO: the value that StableHLO leaves out; NULL = none */
};

struct bc_op_name {
  uint32_t dialect;
  uint32_t name; /* string index */
  bool is_registered; /* as the writer knew it; decides how properties are encoded */
  bool is_resolved;
  uint16_t opcode; /* enum ir_opcode */
  uint32_t id; /* interned full name in StableHLO's spelling */
  uint32_t in_function_id; /* a return directly below a function */
  const struct vhlo_op_row *vhlo; /* NULL for other dialects */
  const char *attrs; /* as in vhlo_op_row, or with the marks of bytecode_properties.def; NULL = not known */
  struct bc_op_attr *known; /* the words of attrs in their order, then what structs of VHLO become */
  uint32_t property_count, known_count; /* the words; all */
  const struct vhlo_default_row *defaults; /* of VHLO: the rows of the operation, which stand together */
  uint32_t default_count;
};

/* An operand that uses a value before its definition. */
struct bc_use {
  uint32_t value; /* index into values */
  struct ir_op op;
  uint32_t operand;
};

/* The attributes of operations with one name, dictionary and properties: (name id, attr id) pairs in set_words. */
struct bc_attr_set {
  uint32_t first, count;
  uint64_t weight;
};

struct bc_reader {
  struct source source;
  struct diag_list *diags;
  struct ir_module *m;
  const uint8_t *begin;
  unsigned version;
  const char *producer;
  unsigned artifact[3]; /* version in the producer "StableHLO_v1.2.3" */
  bool has_artifact_version;
  bool keep_locations;
  bool failed, limit;
  unsigned depth, max_depth;
  uint64_t weight, weight_max; /* of what is being read; bounds what shared parts stand for */
  uint64_t text_left; /* characters that may be made from attributes that refer to each other */
  struct bc_cursor sections[BC_SECTION_COUNT]; /* at == NULL: absent */
  struct arena scratch;

  struct bc_string *strings;
  uint32_t string_count;
  struct bc_dialect *dialects;
  uint32_t dialect_count;
  VEC(struct bc_op_name) names;
  struct bc_entry *attrs, *types;
  uint32_t attr_count, type_count;
  struct bc_blob *properties;
  uint32_t property_count;
  VEC(uint32_t) resources; /* interned name of each resource handle */

  /* while reading operations */
  VEC(uint32_t) values; /* handles of the values that may be used; 0 = not defined yet */
  size_t scope; /* first value of the isolated operation around */
  uint64_t values_left; /* values that regions may still announce */
  VEC(uint32_t) words; /* stack: types, operands, blocks, regions of the operations that are open */
  VEC(struct bc_use) uses;
  struct map set_index; /* (name, dictionary, properties) → index into sets */
  VEC(struct bc_attr_set) sets;
  VEC(uint32_t) set_words;
  VEC(uint32_t) pairs; /* stack while attributes are built: (name id, attr id) */
  VEC(uint32_t) items; /* stack of handles */
  VEC(int64_t) dims;
  VEC(uint8_t) bytes;
};

/* ---- bytes (bytecode_container.c) --------------------------------------------------------------------------------- */
/* Records the message with the offset of `at`; nothing after the first one. */
void bc_report(struct bc_reader *r, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
void bc_report_limit(struct bc_reader *r, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* Something is not known here: says so with the version of the artifact. */
void bc_report_unknown(struct bc_reader *r, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* The same as values: false, visibly so for the compiler. */
#define bc_error(...) (bc_report(__VA_ARGS__), false)
#define bc_limit(...) (bc_report_limit(__VA_ARGS__), false)
#define bc_unknown(...) (bc_report_unknown(__VA_ARGS__), false)
static inline bool bc_memory(struct bc_reader *r) {
  r->m->out_of_memory = true;
  r->failed = true;
  return false;
}
static inline bool bc_truncated(struct bc_reader *r, const struct bc_cursor *c) {
  return bc_error(r, c->end, "the bytecode ends inside of a value");
}
bool bc_varint_slow(struct bc_reader *r, struct bc_cursor *c, uint64_t *value);
static inline bool bc_varint(struct bc_reader *r, struct bc_cursor *c, uint64_t *value) {
  if (c->at < c->end && (*c->at & 1)) {
    *value = *c->at++ >> 1;
    return true;
  }
  return bc_varint_slow(r, c, value);
}
bool bc_svarint(struct bc_reader *r, struct bc_cursor *c, int64_t *value);
bool bc_byte(struct bc_reader *r, struct bc_cursor *c, uint8_t *value);
/* A number of things of which each takes a byte or more, so that more than there are bytes is a lie. */
static inline bool bc_count(struct bc_reader *r, struct bc_cursor *c, uint32_t *count, const char *what) {
  const uint8_t *at = c->at;
  uint64_t n;
  if (!bc_varint(r, c, &n)) {
    return false;
  }
  if (n > (uint64_t)(c->end - c->at)) {
    return bc_error(r, at, "%llu %s do not fit into the %zu bytes that are left", (unsigned long long)n, what,
                    (size_t)(c->end - c->at));
  }
  *count = (uint32_t)n;
  return true;
}
/* The next `size` bytes as a cursor. */
bool bc_take(struct bc_reader *r, struct bc_cursor *c, uint64_t size, struct bc_cursor *part);
/* Length and bytes. */
bool bc_blob(struct bc_reader *r, struct bc_cursor *c, struct bc_cursor *blob);
bool bc_section(struct bc_reader *r, struct bc_cursor *c, unsigned *id, struct bc_cursor *body);
/* Varint that must be below `limit`. */
static inline bool bc_index(struct bc_reader *r, struct bc_cursor *c, uint32_t limit, const char *what,
                            uint32_t *index) {
  const uint8_t *at = c->at;
  uint64_t value;
  if (!bc_varint(r, c, &value)) {
    return false;
  }
  if (value >= limit) {
    return bc_error(r, at, "%s %llu of %u", what, (unsigned long long)value, limit);
  }
  *index = (uint32_t)value;
  return true;
}
/* Interned id of a string by its index. */
bool bc_string_id(struct bc_reader *r, uint32_t index, uint32_t *id);
/* Varint: index of a string. */
bool bc_string(struct bc_reader *r, struct bc_cursor *c, const struct bc_string **string);
bool bc_intern(struct bc_reader *r, const char *text, size_t length, uint32_t *id);
bool bc_deeper(struct bc_reader *r, const uint8_t *at);
/* Adds to the weight; E0005 when it is too large. */
bool bc_weigh(struct bc_reader *r, uint64_t weight, const uint8_t *at);
bool bc_push(struct bc_reader *r, uint32_t item); /* on items */
bool bc_push_pair(struct bc_reader *r, uint32_t name, struct ir_attr attr);
static inline bool bc_made(struct bc_reader *r, struct ir_attr attr) {
  return attr.id != 0 || bc_memory(r);
}
static inline bool bc_made_type(struct bc_reader *r, struct ir_type type) {
  return type.id != 0 || bc_memory(r);
}
bool bc_container_read(struct bc_reader *r);

/* ---- attributes and types (bytecode_entry.c) ------------------------------------------------------------------------- */
bool bc_attr_at(struct bc_reader *r, uint32_t index, const uint8_t *at, struct ir_attr *attr);
bool bc_type_at(struct bc_reader *r, uint32_t index, const uint8_t *at, struct ir_type *type);
/* Varint: index. */
bool bc_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
bool bc_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type);
/* An attribute of one kind; E0003 when it is another. `what` for the message. */
bool bc_attr_kind(struct bc_reader *r, struct bc_cursor *c, enum ir_attr_kind kind, const char *what,
                  struct ir_attr *attr);
/* Index with a bit that says whether the attribute is there; 0 when not. */
bool bc_optional_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
/* Count and attributes, or types, pushed on items. */
bool bc_attr_list(struct bc_reader *r, struct bc_cursor *c);
bool bc_type_list(struct bc_reader *r, struct bc_cursor *c);
/* Count and signed varints, into dims (which is cleared first). */
bool bc_svarints(struct bc_reader *r, struct bc_cursor *c);
/* An integer or the bits of a float of `bits` width (at most 64); signed ones are extended. */
bool bc_bits(struct bc_reader *r, struct bc_cursor *c, unsigned bits, bool is_signed, int64_t *value);
/* INTEGER, BOOL or FLOAT of a type that was read. */
bool bc_number(struct bc_reader *r, struct bc_cursor *c, struct ir_type type, struct ir_attr *attr);
/* Attributes that VHLO encodes as MLIR does: ARRAY; TYPE; a number behind its type. */
bool bc_array_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
bool bc_type_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
bool bc_number_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
/* DENSE of raw bytes as MLIR holds them. */
bool bc_dense(struct bc_reader *r, struct ir_type type, struct bc_cursor blob, struct ir_attr *attr);
/* Tensor without a rank; reads its element. */
bool bc_unranked_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type);
/* Tensor or memref of dims; checks them and the element. */
bool bc_shaped(struct bc_reader *r, const uint8_t *at, bool is_memref, struct ir_type element, struct ir_attr encoding,
               struct ir_type *type);
/* Attribute of a text that was built; counts against text_left. */
bool bc_text_attr(struct bc_reader *r, const uint8_t *at, enum ir_attr_kind kind, const struct strbuf *text,
                  struct ir_attr *attr);
/* Appends the text of an attribute that is held as text, within the same allowance. */
bool bc_put_attr_text(struct bc_reader *r, const uint8_t *at, struct ir_attr attr, struct strbuf *out);

/* The text in quotes, as MLIR writes strings. */
void bc_put_quoted(const char *text, size_t length, struct strbuf *out);
bool bc_builtin_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
bool bc_builtin_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type);
bool bc_vhlo_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
bool bc_vhlo_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type);
bool bc_sdy_attr(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
/* `kind`: BC_STABLEHLO or BC_CHLO. */
bool bc_stablehlo_attr(struct bc_reader *r, struct bc_cursor *c, enum bc_dialect_kind kind, struct ir_attr *attr);
bool bc_stablehlo_type(struct bc_reader *r, struct bc_cursor *c, struct ir_type *type);

/* What VHLO and StableHLO share (bytecode_vhlo.c). Enumerator #dialect<mnemonic X> from its number. */
bool bc_enum(struct bc_reader *r, struct bc_cursor *c, const char *dialect, const char *mnemonic, struct ir_attr *attr);
/* #stablehlo.bounds<3, ?> and (1)2. */
bool bc_bounds(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
bool bc_sub_axis(struct bc_reader *r, struct bc_cursor *c, struct ir_attr *attr);
/* The same as the field sub_axis_info of an axis. */
bool bc_sub_axis_field(struct bc_reader *r, struct bc_cursor *c);
/* A field of a STRUCT, pushed on pairs: `attr`, or what comes next as i64, array<i64> or f64. */
bool bc_field(struct bc_reader *r, const char *name, struct ir_attr attr);
bool bc_number_field(struct bc_reader *r, struct bc_cursor *c, const char *name);
bool bc_dims_field(struct bc_reader *r, struct bc_cursor *c, const char *name);
bool bc_real_field(struct bc_reader *r, struct bc_cursor *c, const char *name);
/* STRUCT of the fields that were pushed on pairs since `first`. */
bool bc_finish_struct(struct bc_reader *r, const char *mnemonic, size_t first, struct ir_attr *attr);

/* ---- operations -------------------------------------------------------------------------------------------------------- */
/* Fills `known` of a name that is otherwise complete (bytecode_properties.c). */
bool bc_know_attrs(struct bc_reader *r, struct bc_op_name *name);
/* The same for one attribute of a name; `out` has its id. Rows of VHLO: bytecode_vhlo_ops.c. */
void bc_describe_attr(const struct bc_reader *r, const struct bc_op_name *name, struct bc_op_attr *out);
void bc_describe_vhlo_attr(const struct bc_op_name *name, const char *attr, struct bc_op_attr *out);
void bc_find_defaults(struct bc_op_name *name);
/* What is known of the attribute that stands at `place` among those of an operation; *other is used where the table has
 * none. */
const struct bc_op_attr *bc_known_attr(const struct bc_reader *r, const struct bc_op_name *name, uint32_t id,
                                       size_t place, struct bc_op_attr *other);
/* Turns the VHLO attributes pushed on pairs since `first` into those of StableHLO (bytecode_vhlo_ops.c). */
bool bc_vhlo_op_attrs(struct bc_reader *r, const struct bc_op_name *name, size_t first, const uint8_t *at);
/* array<i64: ...> or array<i1: ...> of a tensor of one dimension; other attributes as they are (bytecode_vhlo_ops.c). */
bool bc_to_array(struct bc_reader *r, enum dtype element, struct ir_attr *attr);
/* Names of the properties of an operation that is not VHLO, as in bc_op_name.attrs; NULL: not known
 * (bytecode_properties.c). */
const char *bc_properties_of(struct bc_reader *r, const char *name, enum ir_opcode opcode);
/* Pushes the attributes of a dictionary, of properties, on pairs. */
bool bc_push_dictionary(struct bc_reader *r, uint32_t index, const uint8_t *at);
bool bc_push_properties(struct bc_reader *r, const struct bc_op_name *name, uint32_t index, const uint8_t *at);
/* Brings the attributes pushed on pairs since `first` into the form that the text parser gives them. */
bool bc_plain_op_attrs(struct bc_reader *r, const struct bc_op_name *name, size_t first);
/* Reads the IR section into the module (bytecode_ir.c). */
bool bc_ir_read(struct bc_reader *r);

#endif
