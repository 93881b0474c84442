/* The fast path against the definitions: the same program on the same arguments with and without kernels. Arguments are small
 * integers, so that every product and sum is exact in every type and the results must agree bit for bit, whatever the order
 * of the sums; what has no exact sums is compared within the bound that docs/interpreter-fast.md states. */
#include <math.h>

#include "interp_fixture.h"

enum { MAX_ARGUMENTS = 4 };

/* Numbers between -8 and 8, another sequence for every argument. */
static void fill(struct interp_value *v, uint32_t seed, bool is_exact) {
  for (uint64_t i = 0; i < v->count; i++) {
    seed = seed * 1664525u + 1013904223u;
    int number = (int)(seed >> 16 & 15) - 8;
    double real = is_exact ? number : (double)(int32_t)seed / 0x1p30;
    float single = (float)real;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    switch ((enum dtype)v->dtype) {
    case DTYPE_F64:
      ((double *)(void *)v->data)[i] = real;
      break;
    case DTYPE_F32:
      ((float *)(void *)v->data)[i] = single;
      break;
    case DTYPE_BF16:
      ((uint16_t *)(void *)v->data)[i] = (uint16_t)(bits >> 16);
      break;
    case DTYPE_I64:
      ((int64_t *)(void *)v->data)[i] = number * ((int64_t)1 << 40);
      break;
    case DTYPE_I32:
      ((int32_t *)(void *)v->data)[i] = number * (1 << 27);
      break;
    default:
      assert_int_equal(v->size_bytes, v->count);
      v->data[i] = v->dtype == DTYPE_I1 ? number & 1 : (uint8_t)number;
    }
  }
}

struct both {
  struct ir_module *module;
  struct interp_value *fast, *plain;
};

/* Runs a function of up to four parameters and one result, both ways. */
static struct both run_both(const char *text, bool is_exact) {
  struct both both = {0};
  struct source source = {"test.mlir", text, strlen(text)};
  struct diag_list diags;
  struct interp_value *arguments[MAX_ARGUMENTS];
  diag_init(&diags);
  bool ok =
      mlir_parse(&source, NULL, &diags, &both.module) == STATUS_OK && analyze_infer(both.module, &diags) == STATUS_OK;
  assert_true(ok);
  struct ir_op entry = interp_entry(both.module);
  const struct ir_type_data *type = ir_type_get(both.module, ir_function_type(both.module, entry));
  assert_true(type->input_count <= MAX_ARGUMENTS && type->count == type->input_count + 1);
  for (uint32_t i = 0; i < type->input_count; i++) {
    struct ir_type parameter = {both.module->lists.data[type->first + i]};
    const struct ir_type_data *data = ir_type_get(both.module, parameter);
    arguments[i] = interp_tensor_new((enum dtype)data->dtype, ir_type_dims(both.module, parameter), data->rank);
    assert_non_null(arguments[i]);
    fill(arguments[i], i + 1, is_exact);
  }
  struct interp_options plain = {.plain = true};
  ok = interp_run(both.module, entry, NULL, arguments, type->input_count, &diags, &both.fast) == STATUS_OK
       && interp_run(both.module, entry, &plain, arguments, type->input_count, &diags, &both.plain) == STATUS_OK;
  for (size_t i = 0; i < diags.entries.count; i++) {
    print_error("line %u: %s\n", diags.entries.data[i].line, diags.entries.data[i].message);
  }
  assert_true(ok);
  for (uint32_t i = 0; i < type->input_count; i++) {
    struct interp_value *again =
        interp_tensor_new((enum dtype)arguments[i]->dtype, arguments[i]->dims, arguments[i]->rank);
    assert_non_null(again);
    fill(again, i + 1, is_exact);
    assert_memory_equal(again->data, arguments[i]->data, again->size_bytes); /* no kernel wrote into an argument */
    interp_release(again);
    interp_release(arguments[i]);
  }
  diag_release(&diags);
  return both;
}

static void release_both(struct both *both) {
  interp_release(both->fast);
  interp_release(both->plain);
  ir_module_free(both->module);
}

static void assert_same(const char *text, bool is_exact) {
  struct both both = run_both(text, is_exact);
  assert_int_equal(both.fast->size_bytes, both.plain->size_bytes);
  assert_true(both.fast->count > 0);
  for (uint64_t i = 0; i < both.fast->size_bytes; i++) {
    if (both.fast->data[i] != both.plain->data[i]) {
      fail_msg("byte %llu differs in\n%s", (unsigned long long)i, text);
    }
  }
  release_both(&both);
}

/* ---- products ------------------------------------------------------------------------------------------------------------- */

static void dot_case(const char *dtype, const char *result, const char *sides, const char *left, const char *right,
                     const char *product) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%sx%s>, %%b: tensor<%sx%s>) -> tensor<%sx%s> {\n"
           "  %%c = stablehlo.dot_general %%a, %%b, %s : (tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\n"
           "  return %%c : tensor<%sx%s>\n}\n",
           left, dtype, right, dtype, product, result, sides, left, dtype, right, dtype, product, result, product,
           result);
  assert_same(text, true);
}

/* Sizes around those of tiles and blocks, in every element type: exact, for |sum| < 2^10 * 600. */
static void test_dot_types(void **state) {
  static const char *const types[][2] = {{"f32", "f32"}, {"f64", "f64"}, {"bf16", "f32"},
                                         {"i8", "i32"},  {"i32", "i32"}, {"i64", "i64"},
                                         {"i8", "i8"},   {"f32", "f64"}, {"ui8", "ui32"}};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    dot_case(types[i][0], types[i][1], "contracting_dims = [1] x [0]", "61x300", "300x67", "61x67");
    dot_case(types[i][0], types[i][1], "contracting_dims = [0] x [1]", "300x13", "97x300", "13x97");
    dot_case(types[i][0], types[i][1], "contracting_dims = [1] x [0]", "1x300", "300x97", "1x97");
    dot_case(types[i][0], types[i][1], "contracting_dims = [1] x [1]", "1x300", "97x300", "1x97");
    dot_case(types[i][0], types[i][1], "contracting_dims = [1] x [0]", "97x300", "300x1", "97x1");
  }
}

static void test_dot_shapes(void **state) {
  (void)state;
  dot_case("f32", "f32", "contracting_dims = [1] x [0]", "12x256", "256x512", "12x512");
  dot_case("f32", "f32", "contracting_dims = [1] x [0]", "193x257", "257x1025", "193x1025");
  dot_case("f32", "f32", "batching_dims = [0] x [2], contracting_dims = [2] x [0]", "9x17x33", "33x19x9", "9x17x19");
  dot_case("f32", "f32", "batching_dims = [1] x [1], contracting_dims = [2] x [2]", "20x12x64", "30x12x64", "12x20x30");
  dot_case("f32", "f32", "contracting_dims = [0, 2] x [2, 0]", "6x70x5", "5x40x6", "70x40");
  dot_case("f32", "f32", "batching_dims = [0] x [0]", "40x11", "40x13", "40x11x13");
  dot_case("f64", "f64", "contracting_dims = [0] x [0]", "5000", "5000x1", "1");
}

/* The product reads the source of the transpose; a second reader of the transpose keeps it. */
static void test_dot_of_transposes(void **state) {
  (void)state;
  assert_same("func.func @main(%a: tensor<7x30x40xf32>, %b: tensor<50x40xf32>) -> tensor<30x7x50xf32> {\n"
              "  %t = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<7x30x40xf32>) -> tensor<30x7x40xf32>\n"
              "  %u = stablehlo.transpose %b, dims = [1, 0] : (tensor<50x40xf32>) -> tensor<40x50xf32>\n"
              "  %c = stablehlo.dot_general %t, %u, contracting_dims = [2] x [0] : (tensor<30x7x40xf32>, "
              "tensor<40x50xf32>) -> tensor<30x7x50xf32>\n"
              "  return %c : tensor<30x7x50xf32>\n}\n",
              true);
  assert_same("func.func @main(%a: tensor<30x30xf32>) -> tensor<30x30xf32> {\n"
              "  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<30x30xf32>) -> tensor<30x30xf32>\n"
              "  %c = stablehlo.dot %t, %t : (tensor<30x30xf32>, tensor<30x30xf32>) -> tensor<30x30xf32>\n"
              "  %d = stablehlo.add %c, %t : tensor<30x30xf32>\n"
              "  return %d : tensor<30x30xf32>\n}\n",
              true);
}

static void convolution_case(const char *dtype, const char *input, const char *kernel, const char *result,
                             const char *numbers, const char *window, int features, int batches) {
  char text[2048];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%sx%s>, %%b: tensor<%sx%s>) -> tensor<%sx%s> {\n"
           "  %%c = stablehlo.convolution(%%a, %%b) dim_numbers = %s, window = {%s} {batch_group_count = %d : i64, "
           "feature_group_count = %d : i64} : (tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\n"
           "  return %%c : tensor<%sx%s>\n}\n",
           input, dtype, kernel, dtype, result, dtype, numbers, window, batches, features, input, dtype, kernel, dtype,
           result, dtype, result, dtype);
  assert_same(text, true);
}

static void test_convolution(void **state) {
  static const char *const nhwc = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  static const char *const nchw = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";
  (void)state;
  convolution_case("f32", "2x14x14x8", "3x3x8x20", "2x7x7x20", nhwc, "stride = [2, 2], pad = [[1, 1], [1, 1]]", 1, 1);
  convolution_case("f32", "2x8x14x15", "20x8x3x3", "2x20x12x13", nchw, "stride = [1, 1]", 1, 1);
  convolution_case("f64", "1x9x9x4", "1x1x4x33", "1x9x9x33", nhwc, "stride = [1, 1]", 1, 1);
  convolution_case("i32", "2x10x10x6", "3x3x6x12", "2x8x8x12", nhwc, "stride = [1, 1]", 1, 1);
  /* depthwise; grouped features; grouped batch */
  convolution_case("f32", "1x16x16x24", "3x3x1x24", "1x16x16x24", nhwc, "stride = [1, 1], pad = [[1, 1], [1, 1]]", 24,
                   1);
  convolution_case("f32", "3x12x9x9", "16x3x2x2", "3x16x8x8", nchw, "stride = [1, 1]", 4, 1);
  convolution_case("f32", "4x9x9x5", "2x2x5x16", "2x8x8x16", nhwc, "stride = [1, 1]", 1, 2);
  /* dilations, reversal, negative padding: what backward passes are made of */
  convolution_case("f32", "2x7x7x8", "3x3x8x10", "2x15x15x10", nhwc,
                   "stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2], reverse = [true, true]", 1, 1);
  convolution_case("f32", "2x17x17x8", "3x3x8x10", "2x13x13x10", nhwc, "stride = [1, 1], rhs_dilate = [2, 2]", 1, 1);
  convolution_case("f32", "2x17x17x8", "3x3x8x10", "2x12x14x10", nhwc, "stride = [1, 1], pad = [[-1, -2], [3, -4]]", 1,
                   1);
  convolution_case("f32", "2x9x9x8", "3x3x8x10", "2x11x12x10", nhwc,
                   "stride = [1, 1], pad = [[-3, -1], [-2, -1]], lhs_dilate = [2, 2]", 1, 1);
}

/* A random sum: the two orders differ by less than k rounding errors of the sum of magnitudes (k u sum |a b|; here k = 600,
 * u = 2^-24, magnitudes at most 4, so 600 * 2400 * 2^-24 = 0.086 at the worst; in practice far less). */
static void test_dot_rounding(void **state) {
  (void)state;
  struct both both =
      run_both("func.func @main(%a: tensor<30x600xf32>, %b: tensor<600x40xf32>) -> tensor<30x40xf32> {\n"
               "  %c = stablehlo.dot %a, %b : (tensor<30x600xf32>, tensor<600x40xf32>) -> tensor<30x40xf32>\n"
               "  return %c : tensor<30x40xf32>\n}\n",
               false);
  const float *fast = (const float *)(const void *)both.fast->data,
              *plain = (const float *)(const void *)both.plain->data;
  for (uint64_t i = 0; i < both.fast->count; i++) {
    assert_true(fabsf(fast[i] - plain[i]) <= 600 * 2400 * 0x1p-24f);
  }
  release_both(&both);
}

/* ---- groups --------------------------------------------------------------------------------------------------------------- */

/* A chain over broadcasts along each dimension, with a value that is read twice and one that is needed afterwards. */
static void test_group_chain(void **state) {
  (void)state;
  assert_same("func.func @main(%x: tensor<37x5x129xf32>, %row: tensor<129xf32>, %column: tensor<37xf32>, "
              "%s: tensor<f32>) -> tensor<37x645xf32> {\n"
              "  %r = stablehlo.broadcast_in_dim %row, dims = [2] : (tensor<129xf32>) -> tensor<37x5x129xf32>\n"
              "  %c = stablehlo.broadcast_in_dim %column, dims = [0] : (tensor<37xf32>) -> tensor<37x5x129xf32>\n"
              "  %e = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<37x5x129xf32>\n"
              "  %half = stablehlo.constant dense<0.5> : tensor<37x5x129xf32>\n"
              "  %0 = stablehlo.subtract %x, %r : tensor<37x5x129xf32>\n"
              "  %1 = stablehlo.multiply %0, %c : tensor<37x5x129xf32>\n"
              "  %2 = stablehlo.multiply %1, %1 : tensor<37x5x129xf32>\n"
              "  %3 = stablehlo.add %2, %half : tensor<37x5x129xf32>\n"
              "  %4 = stablehlo.tanh %3 : tensor<37x5x129xf32>\n"
              "  %5 = stablehlo.divide %1, %3 : tensor<37x5x129xf32>\n"
              "  %6 = stablehlo.maximum %4, %5 : tensor<37x5x129xf32>\n"
              "  %p = stablehlo.compare LT, %6, %e : (tensor<37x5x129xf32>, tensor<37x5x129xf32>) -> "
              "tensor<37x5x129xi1>\n"
              "  %7 = stablehlo.select %p, %6, %0 : tensor<37x5x129xi1>, tensor<37x5x129xf32>\n"
              "  %8 = stablehlo.reshape %7 : (tensor<37x5x129xf32>) -> tensor<37x645xf32>\n"
              "  %9 = stablehlo.exponential %8 : tensor<37x645xf32>\n"
              "  return %9 : tensor<37x645xf32>\n}\n",
              false);
}

/* Results in the place of operands that die: first a value read in two ways, then one that lives on, then an argument. */
static void test_group_in_place(void **state) {
  (void)state;
  assert_same("func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {\n"
              "  %0 = stablehlo.reverse %x, dims = [0] : tensor<64x64xf32>\n"
              "  %r = stablehlo.slice %0 [0:1, 0:64] : (tensor<64x64xf32>) -> tensor<1x64xf32>\n"
              "  %b = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<64x64xf32>\n"
              "  %1 = stablehlo.exponential %0 : tensor<64x64xf32>\n"
              "  %2 = stablehlo.reverse %1, dims = [1] : tensor<64x64xf32>\n"
              "  %3 = stablehlo.add %2, %b : tensor<64x64xf32>\n"
              "  %4 = stablehlo.logistic %2 : tensor<64x64xf32>\n"
              "  %5 = stablehlo.reverse %4, dims = [1] : tensor<64x64xf32>\n"
              "  %6 = stablehlo.multiply %5, %3 : tensor<64x64xf32>\n"
              "  %7 = stablehlo.subtract %6, %x : tensor<64x64xf32>\n"
              "  return %7 : tensor<64x64xf32>\n}\n",
              false);
  assert_same("func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {\n"
              "  %0 = stablehlo.reverse %x, dims = [0] : tensor<16x16xf32>\n"
              "  %1 = stablehlo.reshape %0 : (tensor<16x16xf32>) -> tensor<256xf32>\n"
              "  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<256xf32>) -> tensor<256xf32>\n"
              "  %3 = stablehlo.reshape %2 : (tensor<256xf32>) -> tensor<16x16xf32>\n"
              "  %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
              "  %5 = stablehlo.add %4, %0 : tensor<16x16xf32>\n"
              "  return %5 : tensor<16x16xf32>\n}\n",
              false);
}

static void unary_case(const char *op, const char *from, const char *to, bool is_exact) {
  char text[512];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<1031x%s>) -> tensor<1031x%s> {\n"
           "  %%y = stablehlo.%s %%x : (tensor<1031x%s>) -> tensor<1031x%s>\n  return %%y : tensor<1031x%s>\n}\n",
           from, to, op, from, to, to);
  assert_same(text, is_exact);
}

static void binary_case(const char *op, const char *dtype) {
  char text[512];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<1031x%s>, %%y: tensor<1031x%s>) -> tensor<1031x%s> {\n"
           "  %%z = stablehlo.%s %%x, %%y : tensor<1031x%s>\n  return %%z : tensor<1031x%s>\n}\n",
           dtype, dtype, dtype, op, dtype, dtype);
  assert_same(text, false);
}

static void test_group_operations(void **state) {
  static const char *const singles[] = {"exponential", "log",  "tanh", "logistic", "rsqrt",
                                        "sqrt",        "sine", "abs",  "negate",   "floor"};
  static const char *const binaries[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  static const char *const types[] = {"f32", "f64", "bf16", "i8", "ui8", "i32", "i64"};
  static const char *const converts[][2] = {{"f32", "bf16"}, {"bf16", "f32"}, {"f32", "f64"}, {"f64", "f32"},
                                            {"i32", "f32"},  {"i1", "f32"},   {"i1", "i32"},  {"i32", "i64"},
                                            {"i64", "i32"},  {"i8", "bf16"},  {"f32", "i32"}, {"i8", "i1"},
                                            {"i64", "f32"},  {"ui8", "i64"},  {"f64", "bf16"}};
  (void)state;
  for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
    unary_case(singles[i], "f32", "f32", false);
    unary_case(singles[i], "f64", "f64", false);
    unary_case(singles[i], "bf16", "bf16", false);
  }
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
      binary_case(binaries[i], types[t]);
    }
  }
  for (size_t i = 0; i < sizeof converts / sizeof *converts; i++) {
    unary_case("convert", converts[i][0], converts[i][1], false);
  }
}

/* ---- reductions ----------------------------------------------------------------------------------------------------------- */

static void reduce_case(const char *body, const char *dtype, const char *initial, const char *dims,
                        const char *result) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "func.func @main(%%x: tensor<21x34x19x%s>) -> tensor<%s%s> {\n"
      "  %%i = stablehlo.constant dense<%s> : tensor<%s>\n"
      "  %%y = stablehlo.reduce(%%x init: %%i) applies stablehlo.%s across dimensions = %s : (tensor<21x34x19x%s>, "
      "tensor<%s>) -> tensor<%s%s>\n  return %%y : tensor<%s%s>\n}\n",
      dtype, result, dtype, initial, dtype, body, dims, dtype, dtype, result, dtype, result, dtype);
  assert_same(text, false); /* kernels keep the order of indices, so inexact sums agree, too */
}

static void test_reduce(void **state) {
  static const char *const dims[][2] = {{"[0]", "34x19x"}, {"[1]", "21x19x"}, {"[2]", "21x34x"},  {"[0, 2]", "34x"},
                                        {"[1, 2]", "21x"}, {"[0, 1, 2]", ""}, {"[]", "21x34x19x"}};
  (void)state;
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    reduce_case("add", "f32", "0.25", dims[i][0], dims[i][1]);
    reduce_case("add", "bf16", "0.0", dims[i][0], dims[i][1]);
    reduce_case("maximum", "f64", "-1.0", dims[i][0], dims[i][1]);
    reduce_case("multiply", "i32", "1", dims[i][0], dims[i][1]);
    reduce_case("minimum", "i8", "5", dims[i][0], dims[i][1]);
    reduce_case("or", "i1", "false", dims[i][0], dims[i][1]);
  }
}

static void window_case(const char *body, const char *initial, const char *attributes, const char *result) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<2x13x14x5xf32>) -> tensor<%sxf32> {\n"
           "  %%i = stablehlo.constant dense<%s> : tensor<f32>\n"
           "  %%y = \"stablehlo.reduce_window\"(%%x, %%i) <{%s}> ({\n"
           "  ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
           "    %%c = stablehlo.%s %%a, %%b : tensor<f32>\n    stablehlo.return %%c : tensor<f32>\n"
           "  }) : (tensor<2x13x14x5xf32>, tensor<f32>) -> tensor<%sxf32>\n  return %%y : tensor<%sxf32>\n}\n",
           result, initial, attributes, body, result, result);
  assert_same(text, false);
}

static void test_reduce_window(void **state) {
  (void)state;
  window_case("maximum", "0xFF800000",
              "window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = "
              "dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>",
              "2x7x7x5");
  window_case("add", "1.5",
              "window_dimensions = array<i64: 2, 2, 3, 2>, base_dilations = array<i64: 1, 2, 1, 1>, window_dilations = "
              "array<i64: 1, 3, 2, 1>, padding = dense<[[0, 1], [2, 0], [0, 3], [1, 1]]> : tensor<4x2xi64>",
              "2x24x13x6");
  window_case("add", "0.0",
              "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 3, 1, 1>, padding = "
              "dense<[[0, 0], [-1, 0], [0, -2], [0, 0]]> : tensor<4x2xi64>",
              "2x4x11x5");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dot_types),
      cmocka_unit_test(test_dot_shapes),
      cmocka_unit_test(test_dot_of_transposes),
      cmocka_unit_test(test_convolution),
      cmocka_unit_test(test_dot_rounding),
      cmocka_unit_test(test_group_chain),
      cmocka_unit_test(test_group_in_place),
      cmocka_unit_test(test_group_operations),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_reduce_window),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
