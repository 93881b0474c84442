/* The inside of the builder: instructions of HLO → operations. hlo_build.c walks computations; hlo_attributes.c and
 * hlo_groups.c read texts of attributes, hlo_literal.c constants, hlo_arguments.c what the head says of arguments;
 * hlo_build_ops.c, hlo_build_control.c and hlo_build_collective.c hold the operations that need more than a row of
 * hlo_ops.def. */
#ifndef RIDGELINE_IMPORT_HLO_BUILD_H
#define RIDGELINE_IMPORT_HLO_BUILD_H

#include "base/strbuf.h"
#include "import/hlo.h"
#include "ir/ir.h"

enum hlo_slot_state {
  HLO_SLOT_VALUES,
  HLO_SLOT_FUTURE, /* what a -start gives: a leaf that is a future, or one per operand */
  HLO_SLOT_STARTED /* leaves of what the -done will give */
};

/* What an instruction gave: a range of leaves. */
struct hlo_slot {
  uint32_t first, count;
  uint8_t state; /* enum hlo_slot_state */
};

enum hlo_attr_kind { HLO_I64S, HLO_FIRST, HLO_I64, HLO_I32, HLO_BOOL, HLO_F32, HLO_ENUM, HLO_WORD, HLO_TEXT, HLO_OMIT };

struct hlo_attr_row {
  uint8_t kind;
  const char *from, *to; /* from NULL: end of the list */
  const char *mnemonic; /* of an enum, with its dialect */
  const char *fallback;
};

struct hlo_builder;
/* A computation that is being built into a block. */
struct hlo_frame {
  uint32_t computation;
  uint32_t slot_base;
  struct ir_block block;
  unsigned depth;
};

typedef bool hlo_build_fn(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in);

struct hlo_op_row {
  const char *name;
  enum ir_opcode opcode;
  hlo_build_fn *build;
  int operands_min, operands_max;
  const struct hlo_attr_row *attrs;
};

struct hlo_builder {
  struct hlo_module *hlo;
  struct ir_module *m;
  size_t budget_bytes;
  const struct hlo_op_row *row; /* of the instruction that is being built */
  const struct hlo_shape *result_shape; /* instead of the instruction's own */
  uint32_t only; /* the operand that counts, HLO_NONE = all */
  bool is_async; /* the next operation goes into an async_start */
  VEC(struct hlo_slot) slots;
  VEC(struct ir_value) leaves;
  /* parts of the operation that is being made; cut back by hlo_emit */
  VEC(uint32_t) pairs;
  VEC(struct ir_value) operands;
  VEC(struct ir_type) types;
  VEC(int64_t) ints;
  VEC(uint8_t) bytes;
  struct strbuf text;
  VEC(uint32_t) functions; /* computations that become functions, in the order of their first call */
  uint8_t *marks; /* per computation */
  int64_t devices; /* in an empty list of replica groups; 0 = unknown */
};

enum { HLO_MARK_FUNCTION = 1, HLO_MARK_OPEN = 2, HLO_MARK_BUILT = 4 };

/* ---- hlo_build.c ---- */
bool hlo_fail(struct hlo_builder *b, enum diag_id id, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool hlo_ok(struct hlo_builder *b, bool ok); /* `ok`, or a note that memory is exhausted and false */
const struct hlo_op_row *hlo_op_find(struct hlo_span name);
const struct hlo_instruction *hlo_operand(const struct hlo_builder *b, const struct hlo_frame *f,
                                          const struct hlo_instruction *in, uint32_t i);
struct hlo_slot hlo_slot_of(const struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                            uint32_t i);
bool hlo_set_slot(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                  struct hlo_slot slot);
/* What it gave is that of its -done, unless it is a future. */
bool hlo_mark_started(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in);
/* Types of the leaves of a shape onto b->types. */
bool hlo_push_types(struct hlo_builder *b, const struct hlo_shape *shape);
struct ir_type hlo_type_of(struct hlo_builder *b, const struct hlo_shape *leaf);
bool hlo_push_attr(struct hlo_builder *b, const char *name, struct ir_attr attr);
/* Leaves of all operands onto b->operands. */
bool hlo_push_operands(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in);
/* Attributes of b->row onto b->pairs. */
bool hlo_push_row_attrs(struct hlo_builder *b, const struct hlo_instruction *in);
/* Sharding and frontend attributes of the instruction onto b->pairs. */
bool hlo_push_annotations(struct hlo_builder *b, const struct hlo_instruction *in);
/* Makes the operation from b->operands and b->pairs; its results become the instruction's slot. */
bool hlo_emit(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in, enum ir_opcode opcode,
              const struct ir_region *regions, uint32_t region_count);
/* An opaque custom call in place of the instruction. */
bool hlo_emit_opaque(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in, const char *target,
                     size_t length);
/* The same with a warning that the opcode is not known. */
bool hlo_emit_unknown(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in);
/* The computation that an attribute names; HLO_NONE after an error. */
uint32_t hlo_computation_of(struct hlo_builder *b, const struct hlo_instruction *in, const char *attr);
uint32_t hlo_computation_named(struct hlo_builder *b, struct hlo_span name);
/* The computation as a region with its parameters as arguments. With `captured`, parameters are the values
 * b->leaves[captured->first ...] instead and the region has no arguments. */
bool hlo_region(struct hlo_builder *b, struct hlo_frame *f, uint32_t computation, const struct hlo_slot *captured,
                const char *terminator, struct ir_region *region);
/* Its name as a function, which is built later. */
struct ir_attr hlo_function(struct hlo_builder *b, uint32_t computation);
enum status hlo_build(struct hlo_module *hlo, size_t budget_bytes, struct ir_module **module);

/* ---- hlo_arguments.c ---- */
/* The arg_attrs array of @main: shardings, and the outputs that take the storage of arguments. 0 when no argument has any, or
 * after an error. */
struct ir_attr hlo_argument_attrs(struct hlo_builder *b, uint32_t computation);

/* ---- hlo_attributes.c: they report errors at the place of the text ---- */
/* {0,1} or 0x1x2 onto b->ints, which is cleared before. */
bool hlo_ints(struct hlo_builder *b, struct hlo_span text);
struct ir_attr hlo_i64s(struct hlo_builder *b); /* b->ints as array<i64> */
struct ir_attr hlo_i64(struct hlo_builder *b, int64_t value);
/* b->ints as dense<...> : tensor<rows x columns x i64>. */
struct ir_attr hlo_i64_table(struct hlo_builder *b, int64_t rows, int64_t columns);
/* The bytes of "..." without quotes and escapes, other text as it is, in b->text. */
bool hlo_unquote(struct hlo_builder *b, struct hlo_span text);
struct ir_attr hlo_string(struct hlo_builder *b, struct hlo_span text);
struct ir_attr hlo_dictionary(struct hlo_builder *b, struct hlo_span text); /* {key="value",...}; 0 after an error */
/* {a = 1 : i64, b = "x"} of a typed call as a dictionary; 0 without a message when it holds anything but strings, truth
 * values and numbers. */
struct ir_attr hlo_typed_config(struct hlo_builder *b, struct hlo_span text);
bool hlo_attr_value(struct hlo_builder *b, const struct hlo_attr_row *row, struct hlo_span text, struct ir_attr *attr);
bool hlo_enum(struct hlo_builder *b, const char *mnemonic, struct hlo_span text, bool is_upper, struct ir_attr *attr);
bool hlo_is_true(const struct hlo_module *hlo, const struct hlo_instruction *in, const char *name);

enum { HLO_WINDOW_MAX = 64 };
struct hlo_window {
  uint32_t rank;
  int64_t size[HLO_WINDOW_MAX], stride[HLO_WINDOW_MAX], low[HLO_WINDOW_MAX], high[HLO_WINDOW_MAX];
  int64_t lhs_dilate[HLO_WINDOW_MAX], rhs_dilate[HLO_WINDOW_MAX], reversal[HLO_WINDOW_MAX];
};
/* {size=1x3 stride=... pad=0_0x1_1 ...}; what is not stated is 1, or 0 for padding and reversal. */
bool hlo_read_window(struct hlo_builder *b, struct hlo_span text, struct hlo_window *window);

/* ---- hlo_groups.c ---- */
/* {{0,1},{2,3}}, {}, [2,4]<=[4,2]T(1,0) or mesh['x'=2,'y'=4] {'y'} into b->ints, row by row; short rows are filled with
 * -1. */
bool hlo_read_groups(struct hlo_builder *b, struct hlo_span text, int64_t *rows, int64_t *columns);

/* ---- hlo_literal.c ---- */
bool hlo_literal(struct hlo_builder *b, const struct hlo_shape *shape, struct hlo_span text, struct ir_attr *attr);
/* {...} */
bool hlo_literal_is_elided(struct hlo_span text);
/* The text of the next literal of a leaf in a tuple's literal. */
struct hlo_span hlo_literal_span(struct hlo_cursor *c, const struct hlo_shape *shape);

/* ---- builders of rows ---- */
/* hlo_build_ops.c */
hlo_build_fn build_plain, build_parameter, build_tuple, build_get_tuple_element, build_forward, build_constant,
    build_relayout, build_transpose, build_dot, build_ragged_dot, build_convolution, build_gather, build_scatter,
    build_slice, build_pad, build_rng, build_stream, build_custom_call, build_dynamic_reshape, build_scaled_dot;
/* hlo_build_control.c */
hlo_build_fn build_body, build_reduce_window, build_select_and_scatter, build_map, build_while, build_conditional,
    build_call, build_fusion, build_scan;
/* hlo_build_collective.c */
hlo_build_fn build_collective, build_reduce_scatter, build_all_to_all, build_collective_permute,
    build_ragged_all_to_all, build_async_start, build_start, build_update, build_done;

#endif
