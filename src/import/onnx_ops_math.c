/* Elementwise operators of ONNX. See onnx_build.h; meanings: onnx/docs/Operators.md. */
#include <math.h>

#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

void onnx_build_unary(struct onnx_builder *b, const struct onnx_node *n) {
  onnx_output(b, n, 0, onnx_unary(b, (enum ir_opcode)b->row->argument, onnx_input(b, n, 0)));
}

/* abs and sign of unsigned numbers are not operations of StableHLO. */
void onnx_build_magnitude(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  enum dtype dtype = onnx_dtype(b, x);
  enum ir_opcode opcode = (enum ir_opcode)b->row->argument;
  if (dtype_class_of(dtype) != DTYPE_CLASS_UINT) {
    onnx_output(b, n, 0, onnx_unary(b, opcode, x));
  } else {
    onnx_output(b, n, 0, opcode == IR_OP_ABS ? x : onnx_convert(b, onnx_convert(b, x, DTYPE_I1), dtype));
  }
}

void onnx_build_identity(struct onnx_builder *b, const struct onnx_node *n) {
  onnx_output(b, n, 0, onnx_input(b, n, 0));
}

/* At inference nothing is dropped. */
void onnx_build_dropout(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), training = onnx_optional(b, n, 2);
  int64_t is_training = 0, dims[ONNX_RANK_MAX];
  if (!onnx_check(b, training.id == 0 || (onnx_known_int(b, training, &is_training) && is_training == 0),
                  "training mode is not read")) {
    return;
  }
  onnx_output(b, n, 0, x);
  if (onnx_has_output(n, 1)) {
    uint32_t rank = onnx_dims(b, x, dims);
    onnx_output(b, n, 1, onnx_splat(b, DTYPE_I1, 1, dims, rank));
  }
}

void onnx_build_reciprocal(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  onnx_output(b, n, 0, onnx_div(b, onnx_const_float(b, onnx_dtype(b, x), 1), x));
}

void onnx_build_binary(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  onnx_output(b, n, 0, onnx_binary(b, (enum ir_opcode)b->row->argument, x, y));
}

/* Small known powers are products and roots, which is what compilers make of them. */
static struct onnx_val power(struct onnx_builder *b, struct onnx_val x, struct onnx_val y) {
  double exponent;
  int64_t number;
  bool is_known = onnx_known_float(b, y, &exponent);
  if (!is_known && onnx_known_int(b, y, &number)) {
    exponent = (double)number;
    is_known = true;
  }
  if (is_known && onnx_rank(b, y) <= onnx_rank(b, x)) {
    struct onnx_val square = exponent == 2 || exponent == 3 ? onnx_mul(b, x, x) : x;
    if (exponent == 1 || exponent == 2) {
      return square;
    }
    if (exponent == 3) {
      return onnx_mul(b, square, x);
    }
    if (exponent == 0.5 && onnx_is_float(onnx_dtype(b, x))) {
      return onnx_unary(b, IR_OP_SQRT, x);
    }
  }
  return onnx_binary(b, IR_OP_POWER, x, onnx_convert(b, y, onnx_dtype(b, x)));
}

void onnx_build_pow(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  enum dtype base = onnx_dtype(b, x);
  if (!b->is_failed && onnx_is_float(onnx_dtype(b, y)) && !onnx_is_float(base)) { /* 2 ^ 0.5 of an integer base */
    struct onnx_val wide = onnx_convert(b, x, DTYPE_F64);
    onnx_output(b, n, 0, onnx_convert(b, power(b, wide, onnx_convert(b, y, DTYPE_F64)), base));
    return;
  }
  onnx_output(b, n, 0, power(b, x, y));
}

/* fmod = 1: the sign of the dividend, as C; else that of the divisor, as Python. */
void onnx_build_mod(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  struct onnx_val r = onnx_binary(b, IR_OP_REMAINDER, x, y);
  enum dtype dtype = onnx_dtype(b, x);
  if (b->is_failed || onnx_int(b, n, "fmod", 0) != 0 || dtype_class_of(dtype) == DTYPE_CLASS_UINT) {
    onnx_output(b, n, 0, r);
    return;
  }
  struct onnx_val zero = onnx_const_float(b, dtype, 0);
  struct onnx_val differs = onnx_compare(b, ONNX_NE, onnx_convert(b, onnx_compare(b, ONNX_LT, r, zero), DTYPE_I32),
                                         onnx_convert(b, onnx_compare(b, ONNX_LT, y, zero), DTYPE_I32));
  struct onnx_val wrong = onnx_binary(b, IR_OP_AND, differs, onnx_compare(b, ONNX_NE, r, zero));
  onnx_output(b, n, 0, onnx_select(b, wrong, onnx_add(b, r, y), r));
}

void onnx_build_bit_shift(struct onnx_builder *b, const struct onnx_node *n) {
  bool is_left = onnx_string_is(b, n, "direction", "LEFT", "");
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  onnx_output(b, n, 0, onnx_binary(b, is_left ? IR_OP_SHIFT_LEFT : IR_OP_SHIFT_RIGHT_LOGICAL, x, y));
}

/* Max, Min, Sum of any number of operands. */
static struct onnx_val fold_operands(struct onnx_builder *b, const struct onnx_node *n, enum ir_opcode opcode) {
  struct onnx_val sum = onnx_input(b, n, 0);
  for (size_t i = 1; i < n->inputs.count && !b->is_failed; i++) {
    sum = onnx_binary(b, opcode, sum, onnx_input(b, n, i));
  }
  return sum;
}

void onnx_build_variadic(struct onnx_builder *b, const struct onnx_node *n) {
  onnx_output(b, n, 0, fold_operands(b, n, (enum ir_opcode)b->row->argument));
}

void onnx_build_mean(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val sum = fold_operands(b, n, IR_OP_ADD);
  onnx_output(b, n, 0, onnx_binary_float(b, IR_OP_DIVIDE, sum, (double)n->inputs.count));
}

void onnx_build_compare(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), y = onnx_input(b, n, 1);
  onnx_output(b, n, 0, onnx_compare(b, (enum onnx_compare)b->row->argument, x, y));
}

void onnx_build_where(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val p = onnx_input(b, n, 0), x = onnx_input(b, n, 1), y = onnx_input(b, n, 2);
  onnx_output(b, n, 0, onnx_select(b, p, x, y));
}

void onnx_build_is_nan(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  onnx_output(b, n, 0, onnx_compare(b, ONNX_NE, x, x));
}

void onnx_build_is_inf(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  bool positive = onnx_int(b, n, "detect_positive", 1) != 0, negative = onnx_int(b, n, "detect_negative", 1) != 0;
  enum dtype dtype = onnx_dtype(b, x);
  struct onnx_val up = onnx_compare(b, ONNX_EQ, x, onnx_limit(b, dtype, true));
  struct onnx_val down = onnx_compare(b, ONNX_EQ, x, onnx_limit(b, dtype, false));
  if (positive && negative) {
    onnx_output(b, n, 0, onnx_binary(b, IR_OP_OR, up, down));
  } else if (positive || negative) {
    onnx_output(b, n, 0, positive ? up : down);
  } else {
    onnx_output(b, n, 0, onnx_compare(b, ONNX_LT, x, x));
  }
}

/* ---- conversions ---- */

/* Out-of-range numbers become the largest of an 8-bit float with `saturate`, which is the default. */
static struct onnx_val cast(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, enum dtype to) {
  enum dtype from = onnx_dtype(b, x);
  bool is_narrow = onnx_is_float(to) && dtype_bits(to) <= 8 && onnx_is_float(from) && dtype_bits(from) > 8;
  if (!b->is_failed && is_narrow && onnx_int(b, n, "saturate", 1) != 0) {
    /* the largest finite pattern of these formats is the largest pattern that is neither infinite nor NaN */
    double greatest = to == DTYPE_F8E4M3FN ? 448 : to == DTYPE_F8E4M3FNUZ ? 240 : to == DTYPE_F4E2M1FN ? 6 : 57344;
    if (to != DTYPE_F8E8M0FNU) {
      x = onnx_clamp(b, onnx_const_float(b, from, -greatest), x, onnx_const_float(b, from, greatest));
    }
  }
  return onnx_convert(b, x, to);
}

void onnx_build_cast(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  enum dtype to = onnx_dtype_of(b, onnx_int(b, n, "to", 0));
  onnx_output(b, n, 0, cast(b, n, x, to));
}

void onnx_build_cast_like(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), like = onnx_input(b, n, 1);
  onnx_output(b, n, 0, cast(b, n, x, onnx_dtype(b, like)));
}

/* ---- activations ---- */

static struct onnx_val number(struct onnx_builder *b, struct onnx_val x, double value) {
  return onnx_const_float(b, onnx_dtype(b, x), value);
}

static struct onnx_val relu(struct onnx_builder *b, struct onnx_val x) {
  return onnx_binary(b, IR_OP_MAXIMUM, x, number(b, x, 0));
}

/* tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); else 0.5 x (1 + erf(x / sqrt(2))) */
struct onnx_val onnx_gelu(struct onnx_builder *b, struct onnx_val x, bool is_tanh) {
  struct onnx_val inside;
  if (is_tanh) {
    struct onnx_val cube = onnx_mul(b, onnx_mul(b, x, x), x);
    struct onnx_val sum = onnx_add(b, x, onnx_binary_float(b, IR_OP_MULTIPLY, cube, 0.044715));
    inside = onnx_unary(b, IR_OP_TANH, onnx_binary_float(b, IR_OP_MULTIPLY, sum, 0.79788456080286535588));
  } else {
    inside = onnx_unary(b, IR_OP_CHLO_ERF, onnx_binary_float(b, IR_OP_MULTIPLY, x, 0.70710678118654752440));
  }
  struct onnx_val half = onnx_binary_float(b, IR_OP_MULTIPLY, x, 0.5);
  return onnx_mul(b, half, onnx_binary_float(b, IR_OP_ADD, inside, 1));
}

/* scale * (x > 0 ? x : alpha * (exp(x / width) - 1)) */
static struct onnx_val elu(struct onnx_builder *b, struct onnx_val x, double alpha, double width, double scale) {
  struct onnx_val positive = onnx_compare(b, ONNX_GT, x, number(b, x, 0));
  struct onnx_val inner = width == 1 ? x : onnx_binary_float(b, IR_OP_DIVIDE, x, width);
  struct onnx_val down = onnx_unary(b, IR_OP_EXPONENTIAL_MINUS_ONE, inner);
  down = alpha == 1 ? down : onnx_binary_float(b, IR_OP_MULTIPLY, down, alpha);
  struct onnx_val y = onnx_select(b, positive, x, down);
  return scale == 1 ? y : onnx_binary_float(b, IR_OP_MULTIPLY, y, scale);
}

static struct onnx_val hard_sigmoid(struct onnx_builder *b, struct onnx_val x, double alpha, double beta) {
  struct onnx_val y = onnx_binary_float(b, IR_OP_ADD, onnx_binary_float(b, IR_OP_MULTIPLY, x, alpha), beta);
  return onnx_clamp(b, number(b, x, 0), y, number(b, x, 1));
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)) */
static struct onnx_val softplus(struct onnx_builder *b, struct onnx_val x) {
  struct onnx_val tail = onnx_unary(b, IR_OP_EXPONENTIAL, onnx_unary(b, IR_OP_NEGATE, onnx_unary(b, IR_OP_ABS, x)));
  return onnx_add(b, relu(b, x), onnx_unary(b, IR_OP_LOG_PLUS_ONE, tail));
}

static struct onnx_val scaled_if(struct onnx_builder *b, struct onnx_val x, double alpha) {
  struct onnx_val is_negative = onnx_compare(b, ONNX_LT, x, number(b, x, 0));
  return onnx_select(b, is_negative, onnx_binary_float(b, IR_OP_MULTIPLY, x, alpha), x);
}

static struct onnx_val sigmoid_times(struct onnx_builder *b, struct onnx_val x, double alpha) {
  struct onnx_val inner = alpha == 1 ? x : onnx_binary_float(b, IR_OP_MULTIPLY, x, alpha);
  return onnx_mul(b, x, onnx_unary(b, IR_OP_LOGISTIC, inner));
}

static struct onnx_val activation(struct onnx_builder *b, const struct onnx_node *n, enum onnx_activation kind,
                                  struct onnx_val x) {
  switch (kind) {
  case ONNX_RELU:
    return relu(b, x);
  case ONNX_LEAKY_RELU:
    return scaled_if(b, x, onnx_float(b, n, "alpha", 0.01f));
  case ONNX_ELU:
    return elu(b, x, onnx_float(b, n, "alpha", 1), 1, 1);
  case ONNX_SELU:
    return elu(b, x, onnx_float(b, n, "alpha", 1.67326319217681884765625), 1,
               onnx_float(b, n, "gamma", 1.05070102214813232421875));
  case ONNX_CELU:
    return elu(b, x, onnx_float(b, n, "alpha", 1), onnx_float(b, n, "alpha", 1), 1);
  case ONNX_HARD_SIGMOID:
    return hard_sigmoid(b, x, onnx_float(b, n, "alpha", 0.2f), onnx_float(b, n, "beta", 0.5));
  case ONNX_HARD_SWISH:
    return onnx_mul(b, x, hard_sigmoid(b, x, 1.0 / 6, 0.5));
  case ONNX_SOFTPLUS:
    return softplus(b, x);
  case ONNX_SOFTSIGN:
    return onnx_div(b, x, onnx_binary_float(b, IR_OP_ADD, onnx_unary(b, IR_OP_ABS, x), 1));
  case ONNX_THRESHOLDED_RELU:
    return onnx_select(b, onnx_compare(b, ONNX_GT, x, number(b, x, onnx_float(b, n, "alpha", 1))), x, number(b, x, 0));
  case ONNX_GELU:
    return onnx_gelu(b, x, onnx_string_is(b, n, "approximate", "tanh", "none"));
  case ONNX_FAST_GELU:
    return onnx_gelu(b, onnx_has_input(n, 1) ? onnx_add(b, x, onnx_input(b, n, 1)) : x, true);
  case ONNX_BIAS_GELU:
    return onnx_gelu(b, onnx_add(b, x, onnx_input(b, n, 1)), false);
  case ONNX_QUICK_GELU:
    return sigmoid_times(b, x, onnx_float(b, n, "alpha", 1.702f));
  case ONNX_MISH:
    return onnx_mul(b, x, onnx_unary(b, IR_OP_TANH, softplus(b, x)));
  case ONNX_SWISH:
    return sigmoid_times(b, x, onnx_float(b, n, "alpha", 1));
  }
  return x;
}

void onnx_build_activation(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0);
  enum onnx_activation kind = (enum onnx_activation)b->row->argument;
  if (onnx_check(b, kind == ONNX_RELU || onnx_is_float(onnx_dtype(b, x)), "the operand must be of a float type")) {
    onnx_output(b, n, 0, activation(b, n, kind, x));
  }
}

void onnx_build_prelu(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), slope = onnx_input(b, n, 1);
  struct onnx_val is_negative = onnx_compare(b, ONNX_LT, x, number(b, x, 0));
  onnx_output(b, n, 0, onnx_select(b, is_negative, onnx_mul(b, x, slope), x));
}

/* Limits are inputs since version 11, attributes before. */
void onnx_build_clip(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), low = onnx_optional(b, n, 1), high = onnx_optional(b, n, 2);
  if (low.id == 0 && onnx_attribute(b, n, "min") != NULL) {
    low = number(b, x, onnx_float(b, n, "min", 0));
  }
  if (high.id == 0 && onnx_attribute(b, n, "max") != NULL) {
    high = number(b, x, onnx_float(b, n, "max", 0));
  }
  if (low.id != 0) {
    x = onnx_binary(b, IR_OP_MAXIMUM, x, onnx_reshape(b, low, NULL, 0));
  }
  if (high.id != 0) {
    x = onnx_binary(b, IR_OP_MINIMUM, x, onnx_reshape(b, high, NULL, 0));
  }
  onnx_output(b, n, 0, x);
}
