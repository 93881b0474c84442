/* What the files of the interpreter share. A run has processes (one, or a grid of replicas and partitions, each a thread);
 * a process calls functions, each with a frame of values; an operation is evaluated by the function of its row in
 * interp_ops.def.
 *
 *   interp_run.c      runs, frames, regions, dispatch            interp_value.c     values: made, counted, printed
 *   interp_body.c     region bodies on many elements at once     interp_elements.c  elements as numbers and back
 *   interp_custom.c   custom calls by target                     interp_named.c     operations known by name only
 *   interp_lapack.c   those that LAPACKE computes                interp_random.c    random bits
 *   interp_mesh.c     devices in meshes                          interp_manual.c    whole tensors and parts of them
 *
 * Functions that return bool return false after they have recorded a diagnostic; everything then unwinds. */
#ifndef RIDGELINE_INTERP_INTERP_INT_H
#define RIDGELINE_INTERP_INTERP_INT_H

#include <assert.h>
#include <pthread.h>

#include "analyze/analyze.h"
#include "base/map.h"
#include "base/vec.h"
#include "interp/interp.h"

struct interp_grid; /* devices that run in parallel: interp_parallel.c */

/* Where the values of a function live, computed once per function (interp_plan.c). */
struct interp_plan {
  struct ir_op function;
  uint32_t first_value, value_count; /* range of values below the function */
  uint32_t first_op, op_count; /* range of operations below it */
  uint32_t *dead_first; /* per operation: first of the values that nothing uses after it, 0 = none */
  uint32_t *dead_next; /* per value: the next one of that list */
  const struct interp_group **groups; /* per operation: what evaluates it together with others, or NULL; NULL = plain */
};

/* A value that passed interpreter.probe. */
struct interp_probe {
  uint32_t id; /* interned probe_id */
  struct interp_value *value; /* owned */
};

/* NULL when memory is exhausted. */
struct interp_plan *interp_plan_new(const struct ir_module *m, struct ir_op function, bool is_plain);
void interp_plan_free(struct interp_plan *plan);

/* One call of interp_run. Shared by the processes; what changes is atomic or below the lock. */
struct interp_run {
  const struct ir_module *module;
  struct interp_options options;
  struct diag_list *diags;
  struct analyze_symbols symbols;
  struct map plan_index; /* function op → index into plans */
  VEC(struct interp_plan *) plans;
  pthread_mutex_t lock; /* diags, plans, probes, print */
  atomic_ullong live_bytes, operations;
  atomic_bool is_out_of_memory;
  atomic_bool has_failed; /* a process has stopped: the others stop at their next operation */
  atomic_uint check_failures;
  VEC(struct interp_probe) probes; /* in the order in which they were reached */
};

struct interp_process {
  struct interp_run *run;
  struct interp_grid *grid; /* NULL: alone */
  uint32_t replica, partition;
  unsigned depth;
  uint64_t random_draws; /* numbers that rng has given */
  uint64_t random_state[2]; /* of mhlo.xla.rng_get_and_update_state; low word first */
};

/* Values of one call of a function. A region inside runs in the frame of its function. */
struct interp_frame {
  struct interp_process *process;
  const struct interp_plan *plan;
  struct interp_value **values; /* by value handle minus plan->first_value; owned */
  uint64_t lanes; /* inside of a body that runs on many elements at once: how many; 0 = not so (interp_body.c) */
};

/* An operation that is evaluated. Operands are borrowed; results are to be filled with owned values. */
struct interp_call {
  struct interp_frame *frame;
  const struct ir_module *module;
  struct ir_op op;
  struct interp_value **operands;
  struct interp_value **results;
  uint32_t operand_count, result_count;
  bool is_expressed; /* quantized results are made with their expressed type: the values are quantized afterwards */
};
typedef bool interp_op_function(struct interp_call *call);

/* ---- messages ------------------------------------------------------------------------------------------------------- */
/* All return false. */
bool interp_unsupported(const struct interp_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
bool interp_wrong(const struct interp_call *call, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
bool interp_report(const struct interp_call *call, enum diag_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
bool interp_out_of_memory(const struct interp_call *call);
/* Counts elementary operations before they are done; false (E0704) when the budget would be exceeded. */
bool interp_spend(const struct interp_call *call, uint64_t operations);

/* ---- results -------------------------------------------------------------------------------------------------------- */
/* Makes results[i]: a tensor of the operation's result type, elements not set. `dims` NULL: those of the type (which must be
 * static; inside of lanes, a scalar has the lanes as its only dimension). NULL after a message. Large ones cost the memory
 * budget before they are allocated. */
struct interp_value *interp_result(struct interp_call *call, uint32_t i, const int64_t *dims, uint32_t rank);
/* True when the type of result i allows these dims, or inside of lanes; else a message. interp_result asks it too. */
bool interp_fits_result(const struct interp_call *call, uint32_t i, const int64_t *dims, uint32_t rank);
/* A tensor that is no result. */
struct interp_value *interp_scratch(struct interp_call *call, enum dtype dtype, const int64_t *dims, uint32_t rank);
/* A value with the elements of another one and other dims (reshape): shares nothing, copies. */
struct interp_value *interp_copy(struct interp_call *call, const struct interp_value *value, const int64_t *dims,
                                 uint32_t rank);
/* results[i] = the value, retained. */
void interp_result_is(struct interp_call *call, uint32_t i, struct interp_value *value);

/* ---- elements ------------------------------------------------------------------------------------------------------- */
/* `count` elements from `first` on, as doubles (floats: exact; integers: converted), as 64-bit integers (integral types;
 * unsigned ones as their bits, i1 as 0 or 1), or as pairs of doubles (any type; imaginary part 0). */
void interp_read_real(const struct interp_value *v, uint64_t first, uint64_t count, double *out);
void interp_read_int(const struct interp_value *v, uint64_t first, uint64_t count, int64_t *out);
void interp_read_complex(const struct interp_value *v, uint64_t first, uint64_t count, double *out);
/* The inverse: rounded to nearest even, wrapped to the width; reals into integers are a programmer's error. */
void interp_write_real(struct interp_value *v, uint64_t first, uint64_t count, const double *in);
void interp_write_int(struct interp_value *v, uint64_t first, uint64_t count, const int64_t *in);
void interp_write_complex(struct interp_value *v, uint64_t first, uint64_t count, const double *in);
/* Elements are handled in pieces of this many by loops over whole tensors. */
enum { INTERP_CHUNK = 512 };
static inline unsigned interp_element_bytes(const struct interp_value *v) {
  return ir_dense_element_size((enum dtype)v->dtype);
}
static inline bool interp_is_integral(const struct interp_value *v) {
  return dtype_is_integral((enum dtype)v->dtype);
}
static inline bool interp_is_complex(const struct interp_value *v) {
  return dtype_class_of((enum dtype)v->dtype) == DTYPE_CLASS_COMPLEX;
}
/* Element i of an integral tensor. */
int64_t interp_int_at(const struct interp_value *v, uint64_t i);
/* to[to_index] = from[from_index]; same element type. */
static inline void interp_copy_element(struct interp_value *to, uint64_t to_index, const struct interp_value *from,
                                       uint64_t from_index) {
  unsigned bytes = interp_element_bytes(to);
  __builtin_memcpy(to->data + to_index * bytes, from->data + from_index * bytes, bytes);
}

/* ---- indices -------------------------------------------------------------------------------------------------------- */
enum { INTERP_MAX_RANK = 64 };
/* Row-major strides in elements. */
void interp_strides(const int64_t *dims, uint32_t rank, int64_t *strides);
/* Goes to the next index in row-major order; false after the last one. */
bool interp_next_index(const int64_t *dims, uint32_t rank, int64_t *index);
/* Integer list attribute of the operation (DENSE or DENSE_ARRAY), up to `capacity`; its length, 0 when absent. */
uint32_t interp_attr_ints(const struct interp_call *call, const char *name, int64_t *out, uint32_t capacity);
/* The integers of an operand (a scalar or a list, such as a shape), up to INTERP_MAX_RANK; else a message. */
bool interp_operand_ints(struct interp_call *call, uint32_t operand, int64_t *out, uint32_t *count);
int64_t interp_attr_int(const struct interp_call *call, const char *name, int64_t otherwise);
bool interp_attr_bool(const struct interp_call *call, const char *name, bool otherwise);
/* The same of a field of a struct attribute, up to INTERP_MAX_RANK. */
uint32_t interp_field_ints(const struct interp_call *call, struct ir_attr numbers, const char *name, int64_t *out);
int64_t interp_field_int(const struct interp_call *call, struct ir_attr numbers, const char *name, int64_t otherwise);
/* Text of an enumeration or string attribute, "" when absent. */
const char *interp_attr_text(const struct interp_call *call, const char *name);

/* ---- regions and functions (interp_run.c) ------------------------------------------------------------------------------ */
/* Runs the region of the operation on arguments (borrowed). results: one owned value per operand of its terminator, which
 * must be `result_count` many. */
bool interp_region(struct interp_frame *frame, struct ir_op op, uint32_t region, struct interp_value *const *arguments,
                   uint32_t argument_count, struct interp_value **results, uint32_t result_count);
/* Calls a function in a frame of its own; `call` is the operation that calls, for messages. */
bool interp_function(struct interp_process *process, const struct interp_call *call, struct ir_op function,
                     struct interp_value *const *arguments, uint32_t argument_count, struct interp_value **results,
                     uint32_t result_count);
/* A frame for a function whose body is applied by other means (interp_body_init on the frame and the function). Close it
 * whatever open says. */
bool interp_frame_open(struct interp_process *process, const struct interp_call *call, struct ir_op function,
                       struct interp_frame *frame);
void interp_frame_close(struct interp_frame *frame);
/* The first function of the operation's called_computations; 0 after a message. */
struct ir_op interp_called_function(const struct interp_call *call);
/* Evaluates another operation's row on operands and a result type of one's own: for operations that are defined by others
 * (dynamic_x, quantized operations). The call has the attributes of the operation it stands for. */
interp_op_function *interp_function_of(enum ir_opcode opcode);
/* Evaluates the operation of the call: by its row, quantized or not. */
bool interp_evaluate(struct interp_call *call);

/* ---- bodies: a region of scalars applied to many elements (interp_body.c) ----------------------------------------------- */
/* Region of reduce, scatter, map, sort and their like. Elementwise bodies run on many elements at once, others element by
 * element; the results are the same. */
struct interp_body {
  struct interp_frame *frame;
  struct ir_op op;
  uint32_t region;
  uint32_t argument_count, result_count;
  bool is_elementwise;
  enum ir_opcode opcode; /* one binary operation on both arguments in order: its opcode, else IR_OP_UNKNOWN */
};
void interp_body_init(struct interp_body *body, struct interp_frame *frame, struct ir_op op, uint32_t region);
/* arguments: tensors with `lanes` elements each, or one, which then stands for all; borrowed, of any shape. results: owned,
 * of rank 1 with `lanes` elements. */
bool interp_body_apply(struct interp_body *body, struct interp_value *const *arguments, uint64_t lanes,
                       struct interp_value **results);

/* ---- quantization (interp_quantized.c) ---------------------------------------------------------------------------------- */
/* The expressed values of a quantized tensor, and back: round half to even, clamp to the storage range (spec, quantize). */
struct interp_value *interp_dequantize(struct interp_call *call, const struct interp_value *value);
struct interp_value *interp_quantize(struct interp_call *call, const struct interp_value *value, uint32_t quant);
/* Dequantizes the operands, evaluates, and quantizes the results to their types (spec, dequantize_op_quantize). */
bool interp_evaluate_quantized(struct interp_call *call, interp_op_function *evaluate);

/* Custom calls with a known meaning: rows of interp_targets.def and interp_lapack.def (interp_custom.c). */
#define INTERP_TARGET(name, function, operands) interp_op_function function;
#include "interp/interp_lapack.def"
#include "interp/interp_targets.def"
#undef INTERP_TARGET

/* What an operation does with quantized operands. */
enum interp_quantized {
  INTERP_STORAGE, /* moves elements without looking at them */
  INTERP_EXPRESSED, /* is applied to the expressed values: dequantize, evaluate, quantize */
  INTERP_OWN /* its own definition */
};

/* Rows of interp_ops.def. */
#define INTERP_OP(opcode, function, quantized) interp_op_function function;
#include "interp/interp_ops.def"
#undef INTERP_OP

#endif
