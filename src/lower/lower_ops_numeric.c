/* Sorting, transforms, factorisations and random numbers: work by textbook formulas, in whole operations. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

static enum work_engine engine_of(enum dtype dtype) {
  return dtype_is_floating(dtype) ? WORK_ENGINE_VECTOR : WORK_ENGINE_INTEGER;
}

/* The comparator runs n ceil(log2 n) times per row. */
void lower_sort(struct lower *lower, struct ir_op op) {
  const uint32_t n = lower_in_count(lower, op);
  if (n == 0 || lower_out_count(lower, op) != n || ir_op_get(lower->module, op)->region_count == 0) {
    lower_opaque_op(lower, op);
    return;
  }
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  int64_t dimension = lower_int_attr(lower, op, "dimension", -1);
  dimension = dimension < 0 ? dimension + (int64_t)in.rank : dimension;
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < n; i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  size_t results = lower->scratch.count;
  for (uint32_t i = 0; i < n; i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  lower_begin(lower, op, WORK_SORT);
  for (uint32_t d = 0; d < in.rank && d < LOWER_MAX_RANK; d++) {
    lower_axis(lower, (int64_t)d == dimension ? WORK_AXIS_REDUCTION : WORK_AXIS_PARALLEL, lower_dim(&in, d));
  }
  lower_body_work(lower, ir_op_region(lower->module, op, 0));
  for (size_t i = base; i < results; i++) {
    lower_read_all(lower, lower->scratch.data[i], in.rank);
  }
  for (size_t i = results; i < lower->scratch.count; i++) {
    lower_write_all(lower, lower->scratch.data[i], in.rank);
  }
  const uint32_t sorted = (uint32_t)(results - base), made = (uint32_t)(lower->scratch.count - results);
  lower->scratch.count = base;
  lower_end(lower);
  for (uint32_t i = 0; i < sorted && i < made && !lower_stopped(lower); i++) { /* sorts where the data lie if it may */
    lower_note_update(lower, lower->scratch.data[base + i], lower->scratch.data[results + i]);
  }
}

/* Selecting k of n with a heap: n ceil(log2 k) comparisons per row, at least one per element. */
void lower_top_k(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  uint64_t k = lower_dim(&out, out.rank > 0 ? out.rank - 1 : 0), steps = ceil_log2_u64(k);
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_out_count(lower, op); i++) {
    lower_new_leaves(lower, lower_out(lower, op, i), WORK_TENSOR_INTERMEDIATE);
  }
  lower_begin(lower, op, WORK_TOP_K);
  lower_axes_of(lower, &in);
  lower_work(lower, engine_of(in.dtype), in.dtype, steps > 0 ? (uint32_t)steps : 1);
  lower_read_all(lower, operand, in.rank);
  for (size_t i = base; i < lower->scratch.count; i++) {
    lower_write(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  lower_end(lower);
}

/* 5 N log2 N real operations for a complex transform of N points (Cooley and Tukey, radix 2), half of it for real input or
 * output; several dimensions: N is the product, the logarithms add up. Uneven lengths count as the next power of two in
 * the logarithm. */
void lower_fft(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  struct ir_attr length = ir_op_attr(lower->module, op, "fft_length");
  uint64_t logs = 0, rank = length.id != 0 ? ir_attr_length(lower->module, length) : 0;
  bool is_real = dtype_class_of(in.dtype) != dtype_class_of(out.dtype);
  uint64_t points = dtype_class_of(in.dtype) == DTYPE_CLASS_COMPLEX ? out.elements : in.elements;
  for (uint64_t i = 0; i < rank && i < LOWER_MAX_RANK; i++) {
    int64_t n = lower_int_at(lower, length, i, 1);
    logs += ceil_log2_u64(n > 0 ? (uint64_t)n : 0);
  }
  lower_begin(lower, op, WORK_FFT);
  lower_axis(lower, WORK_AXIS_PARALLEL, points);
  lower->stage.applications = sat_mul_u64(is_real ? ceil_div_u64(points, 2) : points, logs);
  lower_work(lower, WORK_ENGINE_VECTOR, lower_real_type(in.dtype), lower->stage.applications > 0 ? 5 : 0);
  lower_read(lower, operand, NULL, UINT64_MAX, 0);
  lower_write(lower, result, NULL, UINT64_MAX, 0);
  lower_end(lower);
}

static uint64_t batch_of(const struct lower_shape *shape) {
  uint64_t batch = 1;
  for (uint32_t d = 0; d + 2 < shape->rank; d++) {
    batch = sat_mul_u64(batch, lower_dim(shape, d));
  }
  return batch;
}

/* n^3 / 3 operations per matrix. */
void lower_cholesky(struct lower *lower, struct ir_op op) {
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  struct lower_shape in = lower_shape_of(lower, lower_in(lower, op, 0));
  uint64_t n = lower_dim(&in, in.rank > 0 ? in.rank - 1 : 0);
  lower_begin(lower, op, WORK_CHOLESKY);
  lower_axes_of(lower, &in);
  uint64_t cube = sat_mul_u64(n, sat_mul_u64(n, n));
  lower->stage.applications = sat_mul_u64(batch_of(&in), cube < UINT64_MAX ? ceil_div_u64(cube, 3) : cube);
  lower_work(lower, WORK_ENGINE_VECTOR, lower_real_type(in.dtype),
             lower->stage.applications > 0 ? lower_per_flop(in.dtype) : 0);
  lower_read_all(lower, operand, in.rank);
  lower_write_all(lower, result, in.rank);
  lower_end(lower);
}

/* n^2 m operations per matrix: n values of the unknown for each of m right-hand sides, n multiply-adds each, half of which
 * fall away. */
void lower_triangular_solve(struct lower *lower, struct ir_op op) {
  uint32_t a = lower_operand(lower, op, 0), b = lower_operand(lower, op, 1), result = lower_result(lower, op, 0);
  struct lower_shape shape_a = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape shape_b = lower_shape_of(lower, lower_in(lower, op, 1));
  uint64_t n = lower_dim(&shape_a, shape_a.rank > 0 ? shape_a.rank - 1 : 0);
  lower_begin(lower, op, WORK_TRIANGULAR_SOLVE);
  lower_axes_of(lower, &shape_b);
  lower->stage.applications = sat_mul_u64(shape_b.elements, n);
  lower_work(lower, WORK_ENGINE_VECTOR, lower_real_type(shape_a.dtype),
             lower->stage.applications > 0 ? lower_per_flop(shape_a.dtype) : 0);
  lower_read(lower, a, NULL, UINT64_MAX, 0);
  lower_read_all(lower, b, shape_b.rank);
  lower_write_all(lower, result, shape_b.rank);
  lower_end(lower);
}

/* Philox 4x32-10: ten rounds of 2 wide multiplications (2 halves each), 4 xor and 2 key additions give 4 words: 25 integer
 * operations per 32-bit word (Salmon et al., SC 2011). Threefry 2x32-20: twenty rounds of add, rotate (3) and xor, and five
 * key injections of 3 additions, give 2 words: 58 per word. */
enum { PHILOX_OPS_PER_WORD = 25, THREEFRY_OPS_PER_WORD = 58 };

static uint32_t words_of(enum dtype dtype) {
  return dtype_storage_bits(dtype) > 32 ? 2 : 1;
}

void lower_rng_bit_generator(struct lower *lower, struct ir_op op) {
  uint32_t state = lower_operand(lower, op, 0), new_state = lower_result(lower, op, 0),
           bits = lower_result(lower, op, 1);
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 1));
  struct ir_attr algorithm = ir_op_attr(lower->module, op, "rng_algorithm");
  const char *word = algorithm.id != 0 ? ir_text(lower->module, ir_attr_get(lower->module, algorithm)->text2) : "";
  uint32_t per_word = strcmp(word, "PHILOX") == 0 ? PHILOX_OPS_PER_WORD : THREEFRY_OPS_PER_WORD;
  lower_begin(lower, op, WORK_RNG);
  lower->stage.dtype = (uint8_t)out.dtype;
  lower_axes_of(lower, &out);
  lower_work(lower, WORK_ENGINE_INTEGER, DTYPE_UI32, per_word * words_of(out.dtype));
  lower_read(lower, state, NULL, UINT64_MAX, 0);
  lower_write(lower, new_state, NULL, UINT64_MAX, 0);
  lower_write_all(lower, bits, out.rank);
  lower_end(lower);
}

/* Bits as from Philox, then a multiply and an add into the interval; a normal number needs the inverse error function. */
void lower_rng(struct lower *lower, struct ir_op op) {
  uint32_t a = lower_operand(lower, op, 0), b = lower_operand(lower, op, 1), result = lower_result(lower, op, 0);
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  struct ir_attr distribution = ir_op_attr(lower->module, op, "rng_distribution");
  const char *word =
      distribution.id != 0 ? ir_text(lower->module, ir_attr_get(lower->module, distribution)->text2) : "";
  lower_begin(lower, op, WORK_RNG);
  lower_axes_of(lower, &out);
  lower_work(lower, WORK_ENGINE_INTEGER, DTYPE_UI32, PHILOX_OPS_PER_WORD * words_of(out.dtype));
  if (dtype_is_floating(out.dtype)) {
    lower_work(lower, WORK_ENGINE_VECTOR, lower_real_type(out.dtype), 2);
    if (strcmp(word, "NORMAL") == 0) {
      lower_work_function(lower, WORK_FUNCTION_OTHER, lower_real_type(out.dtype), 1);
    }
  }
  lower_read(lower, a, NULL, UINT64_MAX, 0);
  lower_read(lower, b, NULL, UINT64_MAX, 0);
  lower_write_all(lower, result, out.rank);
  lower_end(lower);
}
