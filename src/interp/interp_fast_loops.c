/* Loops over pieces for groups: in the element type where interp_fast_loops.def has a row, else through the loops of the
 * definitions on numbers. Path: interp_groups_new chooses, interp_group_run calls. */
#include <math.h>

#include "interp/interp_elementwise.h"
#include "interp/interp_fast_groups.h"
#include "interp/interp_fast_math.h"

/* Versions of a loop for wider vectors, chosen when the program is loaded; sanitizers run before that, and clang 14 has no
 * such choice for static functions. The arithmetic is the same, but that fused operations round polynomials once less. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

/* Every loop: x, y, z are the operands' elements. An operation of one operand has itself as y. */
#define LOOP(name, from, to, expression)                                                                               \
  VECTORS static void name(const struct group_node *node, const void *const *in, void *out, uint64_t count) {          \
    const from *restrict xs = in[0], *restrict ys = in[node->input_count > 1];                                         \
    to *restrict zs = out;                                                                                             \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      from x = xs[i], y = ys[i];                                                                                       \
      (void)x, (void)y;                                                                                                \
      zs[i] = expression;                                                                                              \
    }                                                                                                                  \
  }

/* ---- floats -------------------------------------------------------------------------------------------------------------- */

/* As real_maximum and real_minimum: NaN if either is, +0 above -0. Of equal numbers only zeros differ, in the sign. */
#define FLOAT_EXTREMUM(T, B, suffix)                                                                                   \
  static inline T maximum_##suffix(T x, T y) {                                                                         \
    B a, b, both;                                                                                                      \
    memcpy(&a, &x, sizeof a);                                                                                          \
    memcpy(&b, &y, sizeof b);                                                                                          \
    both = a & b;                                                                                                      \
    T zero, larger = x > y ? x : y;                                                                                    \
    memcpy(&zero, &both, sizeof zero);                                                                                 \
    larger = x == y ? zero : larger;                                                                                   \
    return x != x ? x : larger;                                                                                        \
  }                                                                                                                    \
  static inline T minimum_##suffix(T x, T y) {                                                                         \
    B a, b, both;                                                                                                      \
    memcpy(&a, &x, sizeof a);                                                                                          \
    memcpy(&b, &y, sizeof b);                                                                                          \
    both = a | b;                                                                                                      \
    T zero, smaller = x < y ? x : y;                                                                                   \
    memcpy(&zero, &both, sizeof zero);                                                                                 \
    smaller = x == y ? zero : smaller;                                                                                 \
    return x != x ? x : smaller;                                                                                       \
  }
FLOAT_EXTREMUM(float, uint32_t, f32)
FLOAT_EXTREMUM(double, uint64_t, f64)

#define INT(opcode, expression)
#define BOOL(opcode, expression)
#define SINGLE(opcode, expression)

#define FLOAT_ABS(x) __builtin_fabsf(x)
#define FLOAT_SQRT(x) __builtin_sqrtf(x)
#define FLOAT_MAXIMUM(x, y) maximum_f32(x, y)
#define FLOAT_MINIMUM(x, y) minimum_f32(x, y)
#define FLOAT(opcode, expression) LOOP(opcode##_f32, float, float, expression)
#include "interp/interp_fast_loops.def"
#undef FLOAT
#undef FLOAT_ABS
#undef FLOAT_SQRT
#undef FLOAT_MAXIMUM
#undef FLOAT_MINIMUM

static inline float from_bf16(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float y;
  memcpy(&y, &bits, sizeof y);
  return y;
}

/* To nearest even; a NaN keeps its sign and becomes quiet, as minifloat_encode makes it. */
static inline uint16_t to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return (uint16_t)(x != x ? (bits >> 16 & 0x8000) | 0x7FC0 : rounded);
}

/* In f32, whose 24 bits are enough for sums, products, quotients and roots of 8 bits to be rounded twice without harm. */
#define FLOAT(opcode, expression)                                                                                      \
  static inline float bf16_##opcode(float x, float y) {                                                                \
    (void)y;                                                                                                           \
    return expression;                                                                                                 \
  }                                                                                                                    \
  LOOP(opcode##_bf16, uint16_t, uint16_t, to_bf16(bf16_##opcode(from_bf16(x), from_bf16(y))))
#define FLOAT_ABS(x) __builtin_fabsf(x)
#define FLOAT_SQRT(x) __builtin_sqrtf(x)
#define FLOAT_MAXIMUM(x, y) maximum_f32(x, y)
#define FLOAT_MINIMUM(x, y) minimum_f32(x, y)
#include "interp/interp_fast_loops.def"
#undef FLOAT
#undef FLOAT_ABS
#undef FLOAT_SQRT
#undef FLOAT_MAXIMUM
#undef FLOAT_MINIMUM

#define FLOAT_ABS(x) __builtin_fabs(x)
#define FLOAT_SQRT(x) __builtin_sqrt(x)
#define FLOAT_MAXIMUM(x, y) maximum_f64(x, y)
#define FLOAT_MINIMUM(x, y) minimum_f64(x, y)
#define FLOAT(opcode, expression) LOOP(opcode##_f64, double, double, expression)
#include "interp/interp_fast_loops.def"
#undef FLOAT
#undef SINGLE
#define FLOAT(opcode, expression)

static void by_reals(const struct group_node *node, const void *const *in, void *out, uint64_t count);

/* True when numbers within 1e-13 of x need not round to the same f32: x is near the middle of two, or its f32 is denormal. Of
 * a NaN the sign is unsure. */
static inline uint64_t is_unsure(double x) {
  enum { REACH = 1024 }; /* units of the last place of a double: 1e-13 and more */
  const uint64_t below = ((uint64_t)1 << 29) - 1, middle = (uint64_t)1 << 28; /* bits that f32 does not have */
  uint64_t bits = fast_to_bits(x), size = bits & (UINT64_MAX >> 1);
  uint64_t is_near = ((bits - middle + REACH) & below) < 2 * REACH;
  uint64_t is_tiny = size - 1 < 0x380fffffffffffff; /* below 2^-126, and not 0 */
  uint64_t is_nan = size > 0x7ff0000000000000;
  return is_near | is_tiny | is_nan;
}

/* Where a result is unsure, its block is computed as the definition computes it: so all results are the same. */
#define SINGLE(opcode, expression)                                                                                     \
  VECTORS static uint64_t opcode##_block(const float *restrict xs, float *restrict zs, uint64_t count) {               \
    uint64_t unsure = 0;                                                                                               \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      double x = (double)xs[i], y = expression;                                                                        \
      unsure |= is_unsure(y);                                                                                          \
      zs[i] = (float)y;                                                                                                \
    }                                                                                                                  \
    return unsure;                                                                                                     \
  }                                                                                                                    \
  static void opcode##_single(const struct group_node *node, const void *const *in, void *out, uint64_t count) {       \
    const float *xs = in[0];                                                                                           \
    float *zs = out;                                                                                                   \
    for (uint64_t first = 0; first < count; first += SURE_BLOCK) {                                                     \
      uint64_t n = count - first < SURE_BLOCK ? count - first : SURE_BLOCK;                                            \
      float sure[SURE_BLOCK]; /* zs may be xs */                                                                       \
      if (opcode##_block(xs + first, sure, n)) {                                                                       \
        const void *block[GROUP_INPUTS] = {xs + first, xs + first, xs + first};                                        \
        by_reals(node, block, zs + first, n);                                                                          \
      } else {                                                                                                         \
        memcpy(zs + first, sure, n * sizeof *sure);                                                                    \
      }                                                                                                                \
    }                                                                                                                  \
  }
enum { SURE_BLOCK = 64 };
#include "interp/interp_fast_loops.def"
#undef SINGLE
#undef INT
#define SINGLE(opcode, expression)

/* ---- integers ------------------------------------------------------------------------------------------------------------ */

#define T int8_t
#define U uint8_t
#define INT(opcode, expression) LOOP(opcode##_i8, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T uint8_t
#define U uint8_t
#define INT(opcode, expression) LOOP(opcode##_ui8, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T int16_t
#define U uint16_t
#define INT(opcode, expression) LOOP(opcode##_i16, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T uint16_t
#define U uint16_t
#define INT(opcode, expression) LOOP(opcode##_ui16, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T int32_t
#define U uint32_t
#define INT(opcode, expression) LOOP(opcode##_i32, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T uint32_t
#define U uint32_t
#define INT(opcode, expression) LOOP(opcode##_ui32, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T int64_t
#define U uint64_t
#define INT(opcode, expression) LOOP(opcode##_i64, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#define T uint64_t
#define U uint64_t
#define INT(opcode, expression) LOOP(opcode##_ui64, U, U, expression)
#include "interp/interp_fast_loops.def"
#undef T
#undef U
#undef INT
#undef BOOL
#define INT(opcode, expression)
#define BOOL(opcode, expression) LOOP(opcode##_i1, uint8_t, uint8_t, (uint8_t)(expression))
#include "interp/interp_fast_loops.def"
#undef BOOL
#undef FLOAT
#undef SINGLE
#undef INT

/* Native loops by operation and element type. */
#define BOOL(opcode, expression) [IR_OP_##opcode][DTYPE_I1] = opcode##_i1,
#define SINGLE(opcode, expression) [IR_OP_##opcode][DTYPE_F32] = opcode##_single,
#define FLOAT(opcode, expression)                                                                                      \
  [IR_OP_##opcode][DTYPE_F32] = opcode##_f32, [IR_OP_##opcode][DTYPE_F64] = opcode##_f64,                              \
  [IR_OP_##opcode][DTYPE_BF16] = opcode##_bf16,
#define INT(opcode, expression)                                                                                        \
  [IR_OP_##opcode][DTYPE_I8] = opcode##_i8, [IR_OP_##opcode][DTYPE_UI8] = opcode##_ui8,                                \
  [IR_OP_##opcode][DTYPE_I16] = opcode##_i16, [IR_OP_##opcode][DTYPE_UI16] = opcode##_ui16,                            \
  [IR_OP_##opcode][DTYPE_I32] = opcode##_i32, [IR_OP_##opcode][DTYPE_UI32] = opcode##_ui32,                            \
  [IR_OP_##opcode][DTYPE_I64] = opcode##_i64, [IR_OP_##opcode][DTYPE_UI64] = opcode##_ui64,
static group_loop *const native[IR_OP_COUNT][DTYPE_INDEX + 1] = {
#include "interp/interp_fast_loops.def"
};

/* ---- compare, select, clamp ----------------------------------------------------------------------------------------------- */

#define COMPARE(name, type)                                                                                            \
  LOOP(name##_eq, type, uint8_t, x == y)                                                                               \
  LOOP(name##_ne, type, uint8_t, x != y)                                                                               \
  LOOP(name##_ge, type, uint8_t, x >= y)                                                                               \
  LOOP(name##_gt, type, uint8_t, x > y)                                                                                \
  LOOP(name##_le, type, uint8_t, x <= y)                                                                               \
  LOOP(name##_lt, type, uint8_t, x < y)
COMPARE(compare_f32, float)
COMPARE(compare_f64, double)
COMPARE(compare_i8, int8_t)
COMPARE(compare_ui8, uint8_t)
COMPARE(compare_i16, int16_t)
COMPARE(compare_ui16, uint16_t)
COMPARE(compare_i32, int32_t)
COMPARE(compare_ui32, uint32_t)
COMPARE(compare_i64, int64_t)
COMPARE(compare_ui64, uint64_t)

#define DIRECTIONS(name)                                                                                               \
  { name##_eq, name##_ne, name##_ge, name##_gt, name##_le, name##_lt }
static group_loop *const compares[DTYPE_INDEX + 1][GROUP_LT + 1] = {
    [DTYPE_F32] = DIRECTIONS(compare_f32),   [DTYPE_F64] = DIRECTIONS(compare_f64),
    [DTYPE_I1] = DIRECTIONS(compare_ui8),    [DTYPE_I8] = DIRECTIONS(compare_i8),
    [DTYPE_UI8] = DIRECTIONS(compare_ui8),   [DTYPE_I16] = DIRECTIONS(compare_i16),
    [DTYPE_UI16] = DIRECTIONS(compare_ui16), [DTYPE_I32] = DIRECTIONS(compare_i32),
    [DTYPE_UI32] = DIRECTIONS(compare_ui32), [DTYPE_I64] = DIRECTIONS(compare_i64),
    [DTYPE_UI64] = DIRECTIONS(compare_ui64), [DTYPE_INDEX] = DIRECTIONS(compare_i64),
};

#define SELECT(name, type)                                                                                             \
  VECTORS static void name(const struct group_node *node, const void *const *in, void *out, uint64_t count) {          \
    const uint8_t *restrict chosen = in[0];                                                                            \
    const type *restrict yes = in[1], *restrict no = in[2];                                                            \
    type *restrict zs = out;                                                                                           \
    (void)node;                                                                                                        \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      type x = yes[i], y = no[i];                                                                                      \
      zs[i] = chosen[i] ? x : y;                                                                                       \
    }                                                                                                                  \
  }
SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)

#define CLAMP(name, type, suffix)                                                                                      \
  VECTORS static void name(const struct group_node *node, const void *const *in, void *out, uint64_t count) {          \
    const type *restrict low = in[0], *restrict xs = in[1], *restrict high = in[2];                                    \
    type *restrict zs = out;                                                                                           \
    (void)node;                                                                                                        \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      zs[i] = minimum_##suffix(maximum_##suffix(low[i], xs[i]), high[i]);                                              \
    }                                                                                                                  \
  }
CLAMP(clamp_f32, float, f32)
CLAMP(clamp_f64, double, f64)

/* ---- convert -------------------------------------------------------------------------------------------------------------- */

LOOP(bf16_to_f32, uint16_t, float, from_bf16(x))
LOOP(f32_to_bf16, float, uint16_t, to_bf16(x))
LOOP(f32_to_f64, float, double, (double)x)
LOOP(f64_to_f32, double, float, (float)x)
LOOP(i32_to_f32, int32_t, float, (float)x)
LOOP(i1_to_f32, uint8_t, float, (float)x)
LOOP(i1_to_i32, uint8_t, uint32_t, x)
LOOP(i32_to_i64, int32_t, int64_t, x)
LOOP(i64_to_i32, uint64_t, uint32_t, (uint32_t)x)

static const struct {
  enum dtype from, to;
  group_loop *loop;
} converts[] = {
    {DTYPE_BF16, DTYPE_F32, bf16_to_f32}, {DTYPE_F32, DTYPE_BF16, f32_to_bf16}, {DTYPE_F32, DTYPE_F64, f32_to_f64},
    {DTYPE_F64, DTYPE_F32, f64_to_f32},   {DTYPE_I32, DTYPE_F32, i32_to_f32},   {DTYPE_I1, DTYPE_F32, i1_to_f32},
    {DTYPE_I1, DTYPE_I32, i1_to_i32},     {DTYPE_I32, DTYPE_I64, i32_to_i64},   {DTYPE_I64, DTYPE_I32, i64_to_i32},
};

/* ---- through the definitions' loops ------------------------------------------------------------------------------------- */

/* A piece as a value whose elements the definitions can read and write. */
static struct interp_value piece_of(uint8_t dtype, const void *data, uint64_t count) {
  return (struct interp_value){.dtype = dtype, .count = count, .data = (uint8_t *)(uintptr_t)data};
}

static void by_reals(const struct group_node *node, const void *const *in, void *out, uint64_t count) {
  double x[INTERP_CHUNK], y[INTERP_CHUNK], z[INTERP_CHUNK];
  int64_t predicates[INTERP_CHUNK];
  interp_real_loop *loop = interp_real_loop_of((enum ir_opcode)node->opcode, (enum dtype)node->input_dtype);
  struct interp_value a = piece_of(node->input_dtype, in[0], count);
  struct interp_value b = piece_of(node->input_dtype, in[node->input_count > 1], count);
  struct interp_value to = piece_of(node->dtype, out, count);
  for (uint64_t first = 0; first < count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(&to, first);
    interp_read_real(&a, first, n, x);
    interp_read_real(&b, first, n, y);
    loop(x, y, z, n);
    if (!interp_is_integral(&to)) {
      interp_write_real(&to, first, n, z);
      continue;
    }
    for (uint64_t i = 0; i < n; i++) {
      predicates[i] = z[i] != 0;
    }
    interp_write_int(&to, first, n, predicates);
  }
}

static void by_ints(const struct group_node *node, const void *const *in, void *out, uint64_t count) {
  int64_t x[INTERP_CHUNK], y[INTERP_CHUNK], z[INTERP_CHUNK];
  interp_int_loop *loop = interp_int_loop_of((enum ir_opcode)node->opcode);
  struct interp_value a = piece_of(node->input_dtype, in[0], count);
  struct interp_value b = piece_of(node->input_dtype, in[node->input_count > 1], count);
  struct interp_value to = piece_of(node->dtype, out, count);
  struct interp_int_format format = interp_int_format((enum dtype)node->input_dtype);
  for (uint64_t first = 0; first < count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(&to, first);
    interp_read_int(&a, first, n, x);
    interp_read_int(&b, first, n, y);
    loop(x, y, z, n, format);
    interp_write_int(&to, first, n, z);
  }
}

/* Between floats, and from integers that a double holds. */
static void convert_reals(const struct group_node *node, const void *const *in, void *out, uint64_t count) {
  double x[INTERP_CHUNK];
  struct interp_value a = piece_of(node->input_dtype, in[0], count), to = piece_of(node->dtype, out, count);
  for (uint64_t first = 0; first < count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(&to, first);
    interp_read_real(&a, first, n, x);
    interp_write_real(&to, first, n, x);
  }
}

static void convert_ints(const struct group_node *node, const void *const *in, void *out, uint64_t count) {
  int64_t x[INTERP_CHUNK];
  struct interp_value a = piece_of(node->input_dtype, in[0], count), to = piece_of(node->dtype, out, count);
  for (uint64_t first = 0; first < count; first += INTERP_CHUNK) {
    uint64_t n = interp_piece(&to, first);
    interp_read_int(&a, first, n, x);
    interp_write_int(&to, first, n, x);
  }
}

/* ---- choice --------------------------------------------------------------------------------------------------------------- */

static group_loop *convert_loop(enum dtype from, enum dtype to) {
  for (size_t i = 0; i < sizeof converts / sizeof *converts; i++) {
    if (converts[i].from == from && converts[i].to == to) {
      return converts[i].loop;
    }
  }
  bool from_real = dtype_is_floating(from), to_real = dtype_is_floating(to);
  bool from_int = dtype_is_integral(from), to_int = dtype_is_integral(to) && to != DTYPE_I1;
  if (to_real && (from_real || (from_int && dtype_bits(from) <= 32))) {
    return convert_reals;
  }
  return from_int && to_int ? convert_ints : NULL;
}

static group_loop *select_loop(enum dtype dtype) {
  static group_loop *const by_size[] = {[1] = select_1, [2] = select_2, [4] = select_4, [8] = select_8};
  unsigned bytes = ir_dense_element_size(dtype);
  return bytes < sizeof by_size / sizeof *by_size ? by_size[bytes] : NULL;
}

group_loop *interp_fast_loop(const struct group_node *node) {
  enum ir_opcode opcode = (enum ir_opcode)node->opcode;
  enum dtype from = (enum dtype)node->input_dtype, to = (enum dtype)node->dtype;
  switch (opcode) {
  case IR_OP_COMPARE:
    return to == DTYPE_I1 ? compares[from][node->direction] : NULL;
  case IR_OP_SELECT:
    return select_loop(to);
  case IR_OP_CLAMP:
    return to == DTYPE_F32 ? clamp_f32 : to == DTYPE_F64 ? clamp_f64 : NULL;
  case IR_OP_CONVERT:
    return convert_loop(from, to);
  default:
    break;
  }
  if (from == to && native[opcode][to]) {
    return native[opcode][to];
  }
  if (dtype_is_floating(from) && interp_real_loop_of(opcode, from)) {
    return dtype_is_floating(to) || to == DTYPE_I1 ? by_reals : NULL;
  }
  return dtype_is_integral(from) && dtype_is_integral(to) && interp_int_loop_of(opcode) ? by_ints : NULL;
}
