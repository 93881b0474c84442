/* What the files of the bytecode writer share: the table of entries, tokens of which they consist, and the functions of each
 * dialect. Path: see bytecode_write.c. Used by bytecode_write*.c only.
 *
 * Attributes, types and properties become entries: lists of tokens that refer to other entries. Equal entries are one. What
 * number an entry gets is known when all are there, so that often used ones get small numbers; only then are they bytes.
 *
 * Functions that make an entry return id 0 after they have recorded why (bw_refuse), or when memory is exhausted. */
#ifndef RIDGELINE_MLIR_BYTECODE_WRITE_INT_H
#define RIDGELINE_MLIR_BYTECODE_WRITE_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "mlir/bytecode.h"
#include "mlir/bytecode_tables.h"

enum bw_dialect { BW_BUILTIN, BW_VHLO, BW_SDY, BW_STABLEHLO, BW_DIALECT_COUNT };

enum bw_kind { BW_ATTRIBUTE, BW_TYPE, BW_PROPERTIES, BW_KIND_COUNT };

/* An entry, and the first version of StableHLO that can read it (vhlo_version). */
struct bw_ref {
  uint32_t id; /* index into entries; 0 = none */
  uint32_t since;
};

enum bw_token_kind {
  BW_VARINT,
  BW_SVARINT,
  BW_BYTE,
  BW_REF, /* number of an entry */
  BW_FLAGGED_REF, /* the same with a bit that says it is there */
  BW_STRING, /* id in `strings` */
  BW_BLOB, /* index into blobs: size, then bytes */
  BW_TEXT /* index into blobs: bytes and a 0 */
};

struct bw_token {
  uint64_t value;
  uint32_t kind; /* enum bw_token_kind */
  uint32_t since; /* of a reference */
};

struct bw_blob {
  const void *data;
  uint64_t size;
};

struct bw_entry {
  uint32_t first, count; /* tokens */
  uint32_t uses;
  uint32_t number; /* among entries of its kind */
  uint32_t next; /* entry with the same hash */
  uint8_t kind; /* enum bw_kind */
  uint8_t dialect; /* enum bw_dialect */
  bool is_text; /* what the dialect has no encoding for */
};

/* The name of an operation. */
struct bw_name {
  const char *text; /* without the dialect */
  uint32_t uses, number;
  uint8_t dialect; /* enum bw_dialect */
};

/* Name and attributes that operations have in common. */
struct bw_form {
  uint32_t name; /* index into names */
  struct bw_ref dictionary, properties; /* id 0 = none */
  struct ir_op op; /* the first with them */
  uint32_t next; /* form with the same hash */
};

struct bw_writer {
  const struct ir_module *m;
  struct diag_list *diags;
  unsigned version[3]; /* of StableHLO that is to read it */
  uint32_t target; /* the same by vhlo_version */
  unsigned container; /* version of the container */
  bool locations;
  bool out_of_memory, limit;
  unsigned depth; /* of attributes, types, or regions that are open */
  struct strbuf why; /* of the refusal that is under way */

  struct arena scratch;
  struct intern strings;
  VEC(uint32_t) string_numbers; /* by id; 0 = not written yet, else the number plus 1 */
  VEC(uint32_t) string_order; /* ids in order of their numbers */

  VEC(struct bw_token) stack; /* tokens of entries that are being made */
  VEC(struct bw_token) tokens;
  VEC(struct bw_blob) blobs;
  VEC(struct bw_entry) entries; /* [0] unused */
  struct map entry_index; /* hash → newest entry with it */
  VEC(uint32_t) order[BW_KIND_COUNT]; /* entries by number */
  uint32_t dialect_numbers[BW_DIALECT_COUNT]; /* number plus 1; 0 = not used */

  /* entries of what the module has, by handle */
  struct bw_ref *vhlo_attrs, *builtin_attrs, *vhlo_types, *builtin_types;
  struct bw_ref unknown_location;
  struct map resource_attrs; /* name of a resource → the attribute with its data */
  struct map resource_numbers; /* name → number of its handle */
  VEC(uint32_t) resources; /* names by that number */

  VEC(struct bw_name) names;
  VEC(uint32_t) name_order;
  VEC(struct bw_form) forms; /* [0] unused */
  struct map form_index;

  /* by handle, while operations are numbered and written */
  uint32_t *op_forms;
  uint8_t *is_isolated; /* by operation */
  uint32_t *levels; /* by region: how deep it is */
  uint8_t *value_flags; /* enum bw_value_flag */
  uint32_t *numbers; /* by value */
  uint32_t *cast_numbers; /* by value: of its cast to VHLO */
};

enum bw_value_flag {
  BW_PLAIN_TYPE = 1 << 0, /* defined by an operation that is not VHLO: its type is a builtin one */
  BW_NEEDS_CAST = 1 << 1, /* such a value that VHLO uses */
  BW_DEFINED = 1 << 2,
  BW_REFUSED = 1 << 3 /* defined by an operation that was refused: its users have nothing to add */
};

/* ---- bytes (bytecode_write_container.c) ----------------------------------------------------------------------------- */
void bw_put_varint(struct strbuf *out, uint64_t value);
/* Begins a section; its length is known at bw_section_end, which takes what was returned. */
size_t bw_section_begin(struct strbuf *out, enum bc_section id);
void bw_section_end(struct strbuf *out, size_t begin);

/* ---- entries (bytecode_write_entry.c) ------------------------------------------------------------------------------- */
bool bw_refuse(struct bw_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same as a reference: none. */
#define bw_refused(...) ((struct bw_ref){bw_refuse(__VA_ARGS__), 0})
bool bw_deeper(struct bw_writer *w);

/* Push one token of the entry that is being made. */
void bw_varint(struct bw_writer *w, uint64_t value);
void bw_svarint(struct bw_writer *w, int64_t value);
void bw_byte(struct bw_writer *w, uint8_t value);
void bw_reference(struct bw_writer *w, struct bw_ref ref);
void bw_flagged(struct bw_writer *w, struct bw_ref ref); /* id 0 = not there */
void bw_string(struct bw_writer *w, const char *text, size_t length);
void bw_blob(struct bw_writer *w, const void *data, uint64_t size); /* the bytes must outlive the writer */
/* Sets the number of a token on the stack that was pushed before it was known. */
static inline void bw_set(struct bw_writer *w, size_t at, uint64_t value) {
  if (at < w->stack.count) { /* else memory is exhausted */
    w->stack.data[at].value = value;
  }
}
/* Count and numbers. */
void bw_svarints(struct bw_writer *w, const int64_t *values, size_t count);
/* Integer of `width` bits: one byte up to 8, else a signed varint. */
void bw_bits(struct bw_writer *w, uint64_t bits, unsigned width);
/* Makes an entry of the tokens since `mark` (a former stack.count). `since`: of what the entry is by itself. */
struct bw_ref bw_finish(struct bw_writer *w, size_t mark, enum bw_kind kind, enum bw_dialect dialect, uint32_t since);
/* An entry of the dialect's text. */
struct bw_ref bw_text_entry(struct bw_writer *w, enum bw_kind kind, enum bw_dialect dialect, const char *text,
                            size_t length);
/* Drops the tokens since `mark`: nothing was made. */
static inline struct bw_ref bw_drop(struct bw_writer *w, size_t mark) {
  w->stack.count = mark;
  return (struct bw_ref){0};
}
/* The bytes of DENSE data as MLIR holds them: truth values packed, narrow numbers without stray bits. */
bool bw_elements(struct bw_writer *w, const struct ir_attr_data *data, enum dtype dtype);
/* Gives all entries and names their numbers. */
bool bw_number_entries(struct bw_writer *w);

/* ---- texts (bytecode_write_text.c) ---------------------------------------------------------------------------------- */
struct bw_text {
  const char *at, *end;
  bool has_unreduced; /* a sharding that was read has unreduced axes */
};
/* Skips a word; false when something else comes, which bw_expect refuses. */
bool bw_skip(struct bw_text *t, const char *word);
bool bw_expect(struct bw_writer *w, struct bw_text *t, const char *word);
bool bw_integer(struct bw_writer *w, struct bw_text *t, int64_t *value);
/* "text", with \22 and the like; what it means is in the scratch arena. */
bool bw_quoted(struct bw_writer *w, struct bw_text *t, const char **text, size_t *length);

/* ---- dialects ------------------------------------------------------------------------------------------------------- */
struct bw_ref bw_builtin_attr(struct bw_writer *w, struct ir_attr attr);
struct bw_ref bw_builtin_type(struct bw_writer *w, struct ir_type type);
struct bw_ref bw_builtin_string(struct bw_writer *w, const char *text, size_t length);
struct bw_ref bw_builtin_number(struct bw_writer *w, int64_t value); /* i32 */
struct bw_ref bw_builtin_symbol(struct bw_writer *w, const char *text, size_t length);
/* A location of the module, or the unknown one, where there is none or none are to be written (bytecode_write_location.c). */
struct bw_ref bw_location(struct bw_writer *w, struct ir_attr location);
struct bw_ref bw_location_attr(struct bw_writer *w, const char *text, size_t length);
bool bw_make_unknown_location(struct bw_writer *w);

struct bw_ref bw_vhlo_attr(struct bw_writer *w, struct ir_attr attr);
struct bw_ref bw_vhlo_type(struct bw_writer *w, struct ir_type type);
struct bw_ref bw_vhlo_string(struct bw_writer *w, const char *text, size_t length);
struct bw_ref bw_vhlo_bool(struct bw_writer *w, bool value);
struct bw_ref bw_vhlo_number(struct bw_writer *w, int64_t value); /* i64 */
struct bw_ref bw_vhlo_list(struct bw_writer *w, const struct bw_ref *items, size_t count);
struct bw_ref bw_vhlo_dictionary(struct bw_writer *w); /* an empty one */
struct bw_ref bw_vhlo_api(struct bw_writer *w, int64_t version);
struct bw_ref bw_vhlo_enum(struct bw_writer *w, enum bc_vhlo_attr code, const char *value);
struct bw_ref bw_vhlo_none(struct bw_writer *w); /* the type none */
struct bw_ref bw_vhlo_accuracy(struct bw_writer *w); /* the default */
/* A tensor of i64, or of i1, of which all elements have one value; rows of two when `is_pairs`. */
struct bw_ref bw_vhlo_fill(struct bw_writer *w, enum dtype dtype, int64_t value, uint64_t count, bool is_pairs);

/* `text` is what the text parser keeps of an sdy attribute. */
struct bw_ref bw_sdy_attr(struct bw_writer *w, const char *text, size_t length);

/* ---- operations ----------------------------------------------------------------------------------------------------- */
void bw_report(struct bw_writer *w, struct ir_op op, enum diag_id id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports when StableHLO of the target lacks something; `what` as in "'stablehlo.dot_general' with an algorithm". */
bool bw_require(struct bw_writer *w, struct ir_op op, uint32_t since, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* True for operations whose operands and results have VHLO's types. */
bool bw_is_vhlo(const struct bw_writer *w, struct ir_op op);
/* Name and attributes of an operation, and whether the target has it; false after a report. */
bool bw_op_form(struct bw_writer *w, struct ir_op op);
/* Index of a name, counted as used. */
bool bw_name(struct bw_writer *w, enum bw_dialect dialect, const char *text, uint32_t *index);

/* Gives every operation its form, and counts what they use; false when something was reported. */
bool bw_ir_scan(struct bw_writer *w);
/* Appends the body of the IR section. */
void bw_ir_write(struct bw_writer *w, struct strbuf *out);
/* Appends the whole artifact. */
void bw_container_write(struct bw_writer *w, struct strbuf *out);

#endif
