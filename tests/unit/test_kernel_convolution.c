/* Convolutions as products: what is padded, what is computed though it is zero, and which are plain products. Expected
 * shapes are worked out by hand from the rules that the head of kernel_convolution.c names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/kernel_convolution.h"

static void assert_gemm(struct kernel_gemm got, double batch, double m, double n, double k) {
  assert_true(got.batch == batch);
  assert_true(got.m == m);
  assert_true(got.n == n);
  assert_true(got.k == k);
}

/* First layer of a residual network, 2 images: 224 x 224 x 3 to 112 x 112 x 64, window 7 x 7. */
static struct kernel_convolution stem(void) {
  return (struct kernel_convolution){
      .groups = 1, .batch = 2, .columns = 64, .reduced = 3, .outputs = 112.0 * 112, .window = 49, .dilation = 1};
}

static struct kernel_convolution stem_gradient(void) {
  return (struct kernel_convolution){.is_weight_gradient = true,
                                     .groups = 1,
                                     .batch = 3,
                                     .columns = 64,
                                     .reduced = 2,
                                     .outputs = 49,
                                     .window = 112.0 * 112,
                                     .dilation = 1};
}

static void features_fill_vectors(void **state) {
  (void)state;
  struct kernel_convolution first = stem(), gradient = stem_gradient();
  /* 16 bytes: 8 elements of bf16, 4 of tf32; f16 images have kernels of 4 features */
  assert_gemm(kernel_convolution_gemm(&first, KERNEL_FORMAT_BF16), 1, 25088, 64, 392);
  assert_gemm(kernel_convolution_gemm(&first, KERNEL_FORMAT_F16), 1, 25088, 64, 196);
  assert_gemm(kernel_convolution_gemm(&first, KERNEL_FORMAT_TF32), 1, 25088, 64, 196);
  /* images are not padded, input features are rows of a weight gradient */
  assert_gemm(kernel_convolution_gemm(&gradient, KERNEL_FORMAT_BF16), 1, 392, 64, 25088);
  assert_gemm(kernel_convolution_gemm(&gradient, KERNEL_FORMAT_F16), 1, 196, 64, 25088);
  first.columns = 48; /* none of the special kernels */
  assert_gemm(kernel_convolution_gemm(&first, KERNEL_FORMAT_F16), 1, 25088, 48, 392);
  first.columns = 61;
  assert_gemm(kernel_convolution_gemm(&first, KERNEL_FORMAT_BF16), 1, 25088, 64, 392);
}

static void groups_keep_their_features(void **state) {
  (void)state;
  struct kernel_convolution depthwise = {
      .groups = 96, .batch = 4, .columns = 1, .reduced = 1, .outputs = 196, .window = 9, .dilation = 1};
  assert_gemm(kernel_convolution_gemm(&depthwise, KERNEL_FORMAT_BF16), 96, 784, 1, 9);
}

static void holes_of_dilation_are_skipped(void **state) {
  (void)state;
  struct kernel_convolution gradient = {
      .groups = 1, .batch = 4, .columns = 64, .reduced = 128, .outputs = 56.0 * 56, .window = 9, .dilation = 4};
  assert_gemm(kernel_convolution_gemm(&gradient, KERNEL_FORMAT_F16), 1, 12544, 64, 288);
  gradient.reduced = 1, gradient.window = 1, gradient.groups = 2; /* never less than one product */
  assert_gemm(kernel_convolution_gemm(&gradient, KERNEL_FORMAT_F16), 2, 12544, 64, 1);
}

static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_GPU, .cores = 8, .clock_Hz = 1e9};
  chip.tile_m = 128, chip.tile_n = 256, chip.tile_k = 32;
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.matrix_runs_as[d] = DTYPE_BF16;
  }
  chip.matrix_flops[DTYPE_BF16] = 1.6e13;
  chip.memory_Bps = 1e12;
  chip.cache_Bps = 4e12;
  chip.cache_size_bytes = 4e7;
  chip.memory_efficiency = chip.matrix_efficiency = 0.8;
  chip.launch_s = 1e-6;
  return chip;
}

static struct kernel_time time_of(const struct kernel_convolution *convolution, const double *values) {
  struct hw_chip chip = plain_chip();
  struct kernel_shape shape = {.class_of = KERNEL_GEMM,
                               .format = KERNEL_FORMAT_BF16,
                               .gemm = kernel_convolution_gemm(convolution, KERNEL_FORMAT_BF16)};
  struct kernel_time time;
  kernel_convolution_time(&chip, convolution, &shape, values, &time);
  return time;
}

static struct kernel_time product_time(const struct kernel_convolution *convolution, const double *values) {
  struct hw_chip chip = plain_chip();
  struct kernel_shape shape = {.class_of = KERNEL_GEMM,
                               .format = KERNEL_FORMAT_BF16,
                               .gemm = kernel_convolution_gemm(convolution, KERNEL_FORMAT_BF16)};
  struct kernel_time time;
  kernel_gemm_tiled.time(&chip, &shape, values, &time);
  return time;
}

static void windows_cost_more_than_products(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double values[KERNEL_CONSTANT_MAX];
  kernel_gemm_tiled.defaults(&chip, KERNEL_GEMM, KERNEL_FORMAT_BF16, values);
  struct kernel_convolution pointwise = {
      .groups = 1, .batch = 8, .columns = 256, .reduced = 64, .outputs = 3136, .window = 1, .dilation = 1};
  assert_true(kernel_convolution_is_pointwise(&pointwise));
  assert_true(time_of(&pointwise, values).time_s == product_time(&pointwise, values).time_s);
  struct kernel_convolution square = pointwise;
  square.window = 9;
  struct kernel_time time = time_of(&square, values), product = product_time(&square, values);
  double ratio = (time.time_s - time.launch_s) / (product.time_s - product.launch_s);
  assert_true(ratio > 1 && ratio < 1.5);
  struct kernel_convolution weights = stem_gradient(), forward = stem();
  time = time_of(&weights, values), product = product_time(&weights, values);
  assert_true((time.time_s - time.launch_s) / (product.time_s - product.launch_s) > ratio);
  /* what a campaign without split products left at the bound of the fit does not reach weight gradients */
  values[kernel_constant_find(&kernel_gemm_tiled, "split_s")] = 1e-4;
  assert_true(time_of(&weights, values).time_s == time.time_s);
  assert_true(time_of(&forward, values).time_s > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(features_fill_vectors),
      cmocka_unit_test(groups_keep_their_features),
      cmocka_unit_test(holes_of_dilation_are_skipped),
      cmocka_unit_test(windows_cost_more_than_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
