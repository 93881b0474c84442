/* Element-by-element operations: one expression per operation and class of numbers (rows of interp_elementwise.def), made
 * into loops over pieces of tensors.
 *
 *   interp_elementwise.c          operands to pieces and back; select, clamp, compare; broadcasting
 *   interp_elementwise_real.c     loops on doubles          interp_special.c   special functions in double
 *   interp_elementwise_int.c      loops on integers         interp_convert.c   between types; bit patterns
 *   interp_elementwise_complex.c  loops on complex numbers */
#ifndef RIDGELINE_INTERP_INTERP_ELEMENTWISE_H
#define RIDGELINE_INTERP_INTERP_ELEMENTWISE_H

#include "interp/interp_int.h"

/* What integer functions must know of their type; values are as interp_read_int gives them. */
struct interp_int_format {
  unsigned bits;
  bool is_signed, is_bool;
};
struct interp_int_format interp_int_format(enum dtype dtype);

/* out[i] = f(x[i]) or f(x[i], y[i]); functions of one operand get x as y. Complex ones: pairs. */
typedef void interp_real_loop(const double *x, const double *y, double *out, uint64_t count);
typedef void interp_int_loop(const int64_t *x, const int64_t *y, int64_t *out, uint64_t count,
                             struct interp_int_format format);
typedef void interp_complex_loop(const double *x, const double *y, double *out, uint64_t count);

/* The operation whose function this one is: without broadcasting, of the dialect that defines it. */
enum ir_opcode interp_elementwise_opcode(enum ir_opcode opcode);
/* NULL where the operation has no meaning for the class. */
interp_real_loop *interp_real_loop_of(enum ir_opcode opcode, enum dtype dtype);
interp_int_loop *interp_int_loop_of(enum ir_opcode opcode);
interp_complex_loop *interp_complex_loop_of(enum ir_opcode opcode);

/* ---- operands and results of element-by-element operations -------------------------------------------------------------- */

/* The operand whose shape the result has; NULL after a message when the shapes do not fit. Operands with one element stand
 * for all inside of lanes, and those of rank 0 whose bit is set in `scalars` everywhere. */
const struct interp_value *interp_common_shape(struct interp_call *call, uint32_t scalars);
/* results[0], with that shape; the operations are counted. */
struct interp_value *interp_elementwise_result(struct interp_call *call, uint32_t scalars);
/* Evaluates the call as if it were that operation, with as many operands as it has. */
bool interp_elementwise_as(struct interp_call *call, enum ir_opcode opcode);
/* As interp_read_...; an operand with one element gives it `count` times. */
void interp_spread_real(const struct interp_value *v, uint64_t first, uint64_t count, double *out);
void interp_spread_int(const struct interp_value *v, uint64_t first, uint64_t count, int64_t *out);
void interp_spread_complex(const struct interp_value *v, uint64_t first, uint64_t count, double *out);
/* Bit patterns of `count` elements of at most 64 bits. */
void interp_read_codes(const struct interp_value *v, uint64_t first, uint64_t count, uint64_t *out);

/* Elements in the piece that begins at `first`. */
static inline uint64_t interp_piece(const struct interp_value *v, uint64_t first) {
  return v->count - first < INTERP_CHUNK ? v->count - first : INTERP_CHUNK;
}

#endif
