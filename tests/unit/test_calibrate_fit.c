/* Fits recover the constants that rows were made from: a model of three constants defined here, pseudo-random shapes, noise
 * of 5 % and outliers, so that every expected value is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/fit.h"
#include "calibrate/fit_solver.h"

enum { CONSTANTS = 3, ROWS = 600 };

static const struct kernel_constant constants[CONSTANTS] = {
    {"matrix_efficiency", "fraction", 0.05, 1, "part of the peak"},
    {"memory_efficiency", "fraction", 0.05, 1, "part of the bandwidth"},
    {"launch", "s", 1e-7, 1e-4, "of one kernel"},
};

static bool applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  (void)class_of;
  (void)format;
  (void)chip;
  return true;
}

static void defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     double *values) {
  (void)chip;
  (void)class_of;
  (void)format;
  memcpy(values, (const double[]){0.9, 0.9, 5e-6}, CONSTANTS * sizeof *values);
}

/* A menu of two kernels, the faster of which runs: one on whole tiles of 128, one on tiles of 32 at 0.6 of the rate. */
static void time_of(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                    struct kernel_time *out) {
  const struct kernel_gemm *g = &shape->gemm;
  double memory_s = kernel_bytes(shape) / (values[1] * chip->memory_Bps), matrix_s = INFINITY;
  for (int i = 0; i < 2; i++) {
    double tile = i == 0 ? 128 : 32, rate = i == 0 ? 1 : 0.6;
    double work = 2 * ceil(g->m / tile) * tile * ceil(g->n / tile) * tile * g->k;
    matrix_s = fmin(matrix_s, work / (rate * values[0] * chip->matrix_flops[DTYPE_BF16]));
  }
  *out = (struct kernel_time){.time_s = values[2] + fmax(matrix_s, memory_s)};
}

static const struct kernel_model model = {"test", "menu of two tiles", constants, CONSTANTS, applies, defaults,
                                          time_of};

static struct hw_chip make_chip(const char *id) {
  struct hw_chip chip = {.id = id, .memory_Bps = 1e12, .cores = 100};
  chip.matrix_flops[DTYPE_BF16] = 1e14;
  chip.matrix_runs_as[DTYPE_BF16] = DTYPE_BF16;
  return chip;
}

/* Numbers that only look random: splitmix64 of the index, in [0, 1). */
static double noise(uint64_t index) {
  uint64_t x = (index + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static double extent(uint64_t index, double low, double high) {
  return floor(low * pow(high / low, noise(index)));
}

static struct kernel_shape make_shape(uint64_t i) {
  return (struct kernel_shape){
      .class_of = KERNEL_GEMM,
      .format = KERNEL_FORMAT_BF16,
      .gemm = {1, extent(4 * i, 1, 8192), extent(4 * i + 1, 128, 8192), extent(4 * i + 2, 128, 8192)}};
}

struct sample {
  struct measured_kernel rows[ROWS];
  const struct measured_kernel *pointers[ROWS];
};

/* Every 33rd row takes three times as long: 3 % of outliers. */
static struct sample *make_sample(const struct hw_chip *chip, const double *truth, double scatter) {
  struct sample *s = calloc(1, sizeof *s);
  for (size_t i = 0; i < ROWS; i++) {
    struct kernel_time time;
    s->rows[i] = (struct measured_kernel){.chip = chip, .shape = make_shape(i), .may_fit = true};
    time_of(chip, &s->rows[i].shape, truth, &time);
    double factor = 1 + scatter * (2 * noise(1000000 + i) - 1);
    s->rows[i].latency_s = time.time_s * factor * (scatter > 0 && i % 33 == 0 ? 3 : 1);
    s->pointers[i] = &s->rows[i];
  }
  return s;
}

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
    fail_msg("%.9g is not within %g of %.9g", value, tolerance, expected);
  }
}

/* Noise is uniform in ±5 %: its mean over hundreds of rows is 0 within 0.05 / sqrt(3 x 200) = 0.2 %. A Huber estimate has a
 * little more; 1.5 % is several times that. */
static void constants_are_recovered(void **state) {
  (void)state;
  static const double truths[][CONSTANTS] = {{0.6, 0.75, 8e-6}, {0.31, 0.42, 2.5e-5}, {0.95, 0.2, 1e-6}};
  struct hw_chip chip = make_chip("a");
  for (size_t t = 0; t < sizeof truths / sizeof *truths; t++) {
    struct sample *s = make_sample(&chip, truths[t], 0.05);
    struct fit_result r;
    assert_int_equal(fit_kernel(&model, s->pointers, ROWS, NULL, &r), STATUS_OK);
    for (int i = 0; i < CONSTANTS; i++) {
      assert_near(r.values[i], truths[t][i], i == 2 ? 0.03 : 0.015);
    }
    assert_int_equal(r.rows_used, ROWS);
    /* mean of |uniform ±5 %| is 2.5 %; 19 of 600 outliers are 67 % low: 0.97 x 2.5 + 0.032 x 66.7 = 4.5 % */
    assert_true(r.mape > 0.035 && r.mape < 0.055);
    free(s);
  }
}

static void rows_without_noise_give_the_constants_exactly(void **state) {
  (void)state;
  const double truth[CONSTANTS] = {0.5, 0.7, 3e-6};
  struct hw_chip chip = make_chip("a");
  struct sample *s = make_sample(&chip, truth, 0);
  struct fit_result r;
  assert_int_equal(fit_kernel(&model, s->pointers, ROWS, NULL, &r), STATUS_OK);
  for (int i = 0; i < CONSTANTS; i++) {
    assert_near(r.values[i], truth[i], 1e-4);
  }
  assert_true(r.mape < 1e-4);
  free(s);
}

static void same_rows_give_the_same_bits(void **state) {
  (void)state;
  const double truth[CONSTANTS] = {0.6, 0.75, 8e-6};
  struct hw_chip chip = make_chip("a");
  struct sample *s = make_sample(&chip, truth, 0.05), *again = make_sample(&chip, truth, 0.05);
  struct fit_options options = {.max_rows = 200};
  struct fit_result a, b;
  assert_int_equal(fit_kernel(&model, s->pointers, ROWS, &options, &a), STATUS_OK);
  assert_int_equal(fit_kernel(&model, again->pointers, ROWS, &options, &b), STATUS_OK);
  assert_memory_equal(a.values, b.values, sizeof a.values);
  assert_true(a.loss <= b.loss && b.loss <= a.loss);
  assert_int_equal(a.evaluations, b.evaluations);
  assert_int_equal(a.rows_used, 200);
  free(s);
  free(again);
}

/* Rows faster than the peak allows: the efficiency is held at its bound, and stays inside it to the last bit. */
static void bounds_hold(void **state) {
  (void)state;
  const double truth[CONSTANTS] = {1.7, 0.01, 3e-4};
  struct hw_chip chip = make_chip("a");
  struct sample *s = make_sample(&chip, truth, 0.05);
  struct fit_result r;
  assert_int_equal(fit_kernel(&model, s->pointers, ROWS, NULL, &r), STATUS_OK);
  for (int i = 0; i < CONSTANTS; i++) {
    assert_true(r.values[i] >= constants[i].lower && r.values[i] <= constants[i].upper);
  }
  assert_near(r.values[1], constants[1].lower, 1e-3); /* memory five times slower than the bound is all that is seen */
  free(s);
}

static void too_few_rows_leave_the_defaults(void **state) {
  (void)state;
  const double truth[CONSTANTS] = {0.6, 0.75, 8e-6}, expected[CONSTANTS] = {0.9, 0.9, 5e-6};
  struct hw_chip chip = make_chip("a");
  struct sample *s = make_sample(&chip, truth, 0.05);
  struct fit_result r;
  assert_int_equal(fit_kernel(&model, s->pointers, 3 * CONSTANTS - 1, NULL, &r), STATUS_INPUT);
  assert_memory_equal(r.values, expected, sizeof expected);
  assert_int_equal(fit_kernel(&model, s->pointers, 3 * CONSTANTS, NULL, &r), STATUS_OK);
  assert_int_equal(fit_kernel(&model, s->pointers, 0, NULL, &r), STATUS_INPUT);
  free(s);
}

/* Chips of a family have equal weight: with 580 rows of one and 20 of the other, whose launch is nine times as long, the
 * fit lies between the two and not at the first one's. Both see the launch only. */
static void chips_weigh_the_same(void **state) {
  (void)state;
  struct hw_chip a = make_chip("a"), b = make_chip("b");
  struct sample *s = calloc(1, sizeof *s);
  for (size_t i = 0; i < ROWS; i++) {
    s->rows[i] = (struct measured_kernel){.chip = i < 580 ? &a : &b, .shape = make_shape(i)};
    s->rows[i].shape.gemm = (struct kernel_gemm){1, 1, 128, 128};
    s->rows[i].latency_s = i < 580 ? 1e-6 : 9e-6;
    s->pointers[i] = &s->rows[i];
  }
  struct fit_result r;
  assert_int_equal(fit_kernel(&model, s->pointers, ROWS, NULL, &r), STATUS_OK);
  struct kernel_time time;
  time_of(&a, &s->rows[0].shape, r.values, &time);
  assert_true(time.time_s > 1.5e-6 && time.time_s < 8.5e-6);
  free(s);
}

/* A fourth constant of the unit "choice" multiplies the time: 2 on chip a, 3 on chip b, by the defaults. Fits leave it
 * alone and give each row that of its chip, so that rows of both chips without noise have one answer. */
static void choice_defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                            double *values) {
  defaults(chip, class_of, format, values);
  values[CONSTANTS] = chip->id[0] == 'a' ? 2 : 3;
}

static void choice_time(const struct hw_chip *chip, const struct kernel_shape *shape, const double *values,
                        struct kernel_time *out) {
  time_of(chip, shape, values, out);
  out->time_s *= floor(values[CONSTANTS] + 0.5);
}

static void choices_are_the_chips_own(void **state) {
  (void)state;
  static const struct kernel_constant with_choice[] = {
      {"matrix_efficiency", "fraction", 0.05, 1, ""},
      {"memory_efficiency", "fraction", 0.05, 1, ""},
      {"launch", "s", 1e-7, 1e-4, ""},
      {"kernel", "choice", 1, 8, ""},
  };
  static const struct kernel_model choosing = {"choosing", "", with_choice, 4, applies, choice_defaults, choice_time};
  const double truth[CONSTANTS] = {0.6, 0.75, 8e-6};
  struct hw_chip a = make_chip("a"), b = make_chip("b");
  struct sample *s = make_sample(&a, truth, 0);
  for (size_t i = 0; i < ROWS; i++) {
    s->rows[i].chip = i % 2 ? &b : &a;
    s->rows[i].latency_s *= i % 2 ? 3 : 2;
  }
  struct fit_result r;
  double values[4];
  assert_int_equal(fit_kernel(&choosing, s->pointers, ROWS, NULL, &r), STATUS_OK);
  for (int i = 0; i < CONSTANTS; i++) {
    assert_near(r.values[i], truth[i], 1e-3);
  }
  assert_true(r.values[CONSTANTS] >= 2 && r.values[CONSTANTS] <= 2); /* the first row's chip */
  fit_constants_for(&choosing, &b, KERNEL_GEMM, KERNEL_FORMAT_BF16, r.values, values);
  assert_true(values[CONSTANTS] >= 3 && values[CONSTANTS] <= 3);
  assert_memory_equal(values, r.values, CONSTANTS * sizeof *values);
  free(s);
}

static void a_selection_is_equal_by_chip_and_stable(void **state) {
  (void)state;
  const double truth[CONSTANTS] = {0.6, 0.75, 8e-6};
  struct hw_chip a = make_chip("a"), b = make_chip("b");
  struct sample *s = make_sample(&a, truth, 0.05);
  for (size_t i = 500; i < ROWS; i++) {
    s->rows[i].chip = &b;
  }
  const struct measured_kernel *all[ROWS], *fewer[ROWS];
  assert_int_equal(fit_select_rows(s->pointers, ROWS, 0, all), ROWS);
  assert_int_equal(fit_select_rows(s->pointers, ROWS, 300, all), 300);
  size_t of_b = 0;
  for (size_t i = 0; i < 300; i++) {
    of_b += all[i]->chip == &b;
    assert_true(i == 0 || all[i] > all[i - 1]); /* in the order of the rows */
  }
  assert_int_equal(of_b, 100); /* all there are; an equal part would be 150 */
  assert_int_equal(fit_select_rows(s->pointers, ROWS, 100, fewer), 100);
  for (size_t i = 0, at = 0; i < 100; i++) { /* fewer rows are a part of more rows */
    while (at < 300 && all[at] != fewer[i]) {
      at++;
    }
    assert_true(at < 300);
  }
  free(s);
}

/* A = L Lᵀ with L = [[2, 0], [1, 3]]: A = [[4, 2], [2, 10]]; A [1, 2] = [8, 22]. */
static void cholesky_solves_a_known_system(void **state) {
  (void)state;
  double matrix[] = {4, 2, 2, 10}, x[] = {8, 22};
  assert_true(fit_solve_cholesky(matrix, x, 2));
  assert_near(x[0], 1, 1e-14);
  assert_near(x[1], 2, 1e-14);
  double indefinite[] = {1, 2, 2, 1}, y[] = {1, 1}; /* eigenvalues 3 and -1 */
  assert_false(fit_solve_cholesky(indefinite, y, 2));
}

/* Delta 0.05: 0.03 counts 0.03² / 2 = 0.00045, 0.25 counts 0.05 x (0.25 - 0.025) = 0.01125; weights 3 and 1. */
static void huber_loss_of_two_rows(void **state) {
  (void)state;
  const double residuals[] = {0.03, -0.25}, weights[] = {3, 1};
  assert_near(fit_huber_loss(residuals, weights, 2), (3 * 0.00045 + 0.01125) / 4, 1e-12);
}

/* 1024³ in bf16: 2 x 1024³ / 1e14 = 21.47 us of products, 3 x 1024² x 2 / 1e12 = 6.29 us of bytes. */
static void the_plain_roofline_by_hand(void **state) {
  (void)state;
  struct hw_chip chip = make_chip("a");
  struct kernel_shape gemm = make_shape(0);
  gemm.gemm = (struct kernel_gemm){1, 1024, 1024, 1024};
  assert_near(plain_roofline_time(&chip, &gemm), 2.0 * 1024 * 1024 * 1024 / 1e14, 1e-12);
  gemm.gemm.m = 1;
  assert_near(plain_roofline_time(&chip, &gemm), (1024.0 + 1024 * 1024 + 1024) * 2 / 1e12, 1e-12);
  struct kernel_shape pass = {.class_of = KERNEL_SOFTMAX,
                              .format = KERNEL_FORMAT_BF16,
                              .pass = {.rows = 1000, .columns = 1000, .reads = 1, .writes = 1, .vector_flops = 1e9}};
  assert_near(plain_roofline_time(&chip, &pass), 4e6 / 1e12, 1e-12); /* no products: bytes alone */
}

static void two_constants_are_recovered(void **state) {
  (void)state;
  const double truth[CONSTANTS] = {0.6, 0.75, 8e-6};
  struct hw_chip chip = make_chip("a");
  struct sample *s = make_sample(&chip, truth, 0.05);
  for (size_t i = 0; i < ROWS; i++) {
    double factor = (1 + 0.05 * (2 * noise(2000000 + i) - 1)) * (i % 33 == 0 ? 3 : 1);
    s->rows[i].latency_s = (7e-6 + plain_roofline_time(&chip, &s->rows[i].shape) / 0.55) * factor;
  }
  struct two_constants c;
  assert_int_equal(fit_two_constants(s->pointers, ROWS, &c), STATUS_OK);
  assert_near(c.efficiency, 0.55, 0.015);
  assert_near(c.overhead_s, 7e-6, 0.015);
  assert_near(two_constants_time(&s->rows[0], &c),
              c.overhead_s + plain_roofline_time(&chip, &s->rows[0].shape) / c.efficiency, 1e-12);
  assert_int_equal(fit_two_constants(s->pointers, 1, &c), STATUS_INPUT);
  for (size_t i = 0; i < ROWS; i++) { /* ten times as fast as any chip: at the bounds */
    s->rows[i].latency_s = plain_roofline_time(&chip, &s->rows[i].shape) / 10;
  }
  assert_int_equal(fit_two_constants(s->pointers, ROWS, &c), STATUS_OK);
  assert_near(c.efficiency, 2, 1e-9);
  assert_true(c.overhead_s >= 0 && c.overhead_s < 1e-12);
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_are_recovered),
      cmocka_unit_test(rows_without_noise_give_the_constants_exactly),
      cmocka_unit_test(same_rows_give_the_same_bits),
      cmocka_unit_test(bounds_hold),
      cmocka_unit_test(too_few_rows_leave_the_defaults),
      cmocka_unit_test(chips_weigh_the_same),
      cmocka_unit_test(choices_are_the_chips_own),
      cmocka_unit_test(a_selection_is_equal_by_chip_and_stable),
      cmocka_unit_test(cholesky_solves_a_known_system),
      cmocka_unit_test(huber_loss_of_two_rows),
      cmocka_unit_test(the_plain_roofline_by_hand),
      cmocka_unit_test(two_constants_are_recovered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
