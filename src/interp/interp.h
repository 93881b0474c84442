/* What a program computes: the reference interpreter. Every operation of the StableHLO specification and of chlo, evaluated
 * as the specification defines it, one operation at a time; the meaning against which rewrites, partitions and schedules
 * are proved. Correctness first, then speed.
 *
 * Path: checked module (analyze_infer) → interp_run → values. One call runs one function on given values.
 *
 * Numbers: integers wrap to their width; floats are computed in double precision and rounded once to their format (exact
 * for + - * / and sqrt of all formats up to f32, since 53 >= 2 * 24 + 2; f64 is computed in f64); quantized operations
 * dequantize, compute and quantize, as the specification's dequantize_op_quantize. Reductions fold in the order of indices.
 *
 * Values are immutable and counted: whoever keeps one retains it. A value may be released from any thread. */
#ifndef RIDGELINE_INTERP_INTERP_H
#define RIDGELINE_INTERP_INTERP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "ir/ir.h"

enum interp_kind { INTERP_TENSOR, INTERP_TUPLE, INTERP_TOKEN, INTERP_FUTURE };

struct interp_value {
  atomic_uint references;
  uint8_t kind; /* enum interp_kind */
  uint8_t dtype; /* TENSOR: of the elements; the storage type when quantized */
  uint16_t rank;
  uint32_t quant; /* TENSOR: index into module->quants plus 1; 0 = not quantized */
  uint64_t count; /* TENSOR: elements; TUPLE, FUTURE: parts */
  uint64_t size_bytes; /* of the elements, as held here */
  const int64_t *dims; /* TENSOR: rank of them */
  atomic_ullong *account; /* what the bytes count against; NULL = nothing */
  union {
    uint8_t *data; /* TENSOR: little-endian, row-major; sub-byte types and i1 take a byte each, as in IR_ATTR_DENSE */
    struct interp_value **parts; /* TUPLE, FUTURE */
  };
};

void interp_retain(struct interp_value *value);
/* NULL is allowed. */
void interp_release(struct interp_value *value);

/* Tensor of `dims`, elements not set; NULL when memory is exhausted or the size overflows. */
struct interp_value *interp_tensor_new(enum dtype dtype, const int64_t *dims, uint32_t rank);
/* TUPLE or FUTURE of parts, which it retains; the token. NULL when memory is exhausted. */
struct interp_value *interp_tuple_new(enum interp_kind kind, struct interp_value *const *parts, uint32_t count);
struct interp_value *interp_token_new(void);
/* The value of a DENSE attribute with a static type; NULL when memory is exhausted or `attr` is another. */
struct interp_value *interp_from_attr(const struct ir_module *module, struct ir_attr attr);
/* Appends the value as the reference prints it: "tensor<2xi32> {\n  [1, 2]\n}", "tensor<ui8> {1}". Floats as
 * %.6e, complex numbers as [real, imaginary]. */
void interp_print(const struct interp_value *value, struct strbuf *out);
/* The same, but of a tensor with more than `limit` elements (0 = no limit) only the first and last INTERP_EDGE along each
 * dimension, "..." for what is between. */
enum { INTERP_EDGE = 3 };
void interp_print_short(const struct interp_value *value, uint64_t limit, struct strbuf *out);
/* The same with another spelling of a tensor's element type, for stored integers of a quantized one; NULL = none. */
void interp_print_as(const struct interp_value *value, const char *element, uint64_t limit, struct strbuf *out);

struct interp_options {
  uint64_t memory_budget_bytes; /* of live values, the arguments among them; 0 = 8 GiB */
  uint64_t operation_budget; /* elementary operations in all; 0 = 10^13 */
  unsigned max_depth; /* of calls and regions; 0 = 200 */
  unsigned replicas, partitions; /* of a grid of processes that all run the function; 0 = 1 */
  bool plain; /* only the definitions: no fast kernels */
  /* Receives what interpreter.print and probes of custom calls print; NULL = dropped. Called by one thread at a time. */
  void (*print)(void *user, const char *text, size_t length);
  void *user;
};

/* Runs `function` (a func.func with a body, of the module) on `arguments`, one per parameter; they are borrowed. On
 * STATUS_OK `results` has one owned value per result of the function. A grid takes arguments for each process, those of
 * process 0 first (number replica * partitions + partition), and gives results likewise. Otherwise it is untouched and `diags` says why, with
 * the place of the operation: E0701 an operation is not supported, E0702 a value is not allowed (shapes that do not
 * fit, division of integers by zero is none), E0703 a check of the program failed (one per failed check, the run goes on),
 * E0704 over a budget, with the number that would be needed (before it starts where the program shows it), E0705 processes wait for each other for ever. */
enum status interp_run(const struct ir_module *module, struct ir_op function, const struct interp_options *options,
                       struct interp_value *const *arguments, uint32_t argument_count, struct diag_list *diags,
                       struct interp_value **results);

/* What interp_run would refuse before it starts, whatever the arguments: budgets that the program surely goes over (E0704). */
enum status interp_check(const struct ir_module *module, struct ir_op function, const struct interp_options *options,
                         struct diag_list *diags);

/* The function that a run starts in, as the reference finds it: "main", or the only function; 0 when there is none. */
struct ir_op interp_entry(const struct ir_module *module);

#endif
