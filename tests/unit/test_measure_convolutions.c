/* The constants of kernel_convolution.c against the measured table they come from: DeepBench's f16 training sheets of V100
 * and T4. Shapes are split in two by a hash; the medians of one half have to be the constants, the other half is scored. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw.h"
#include "io/csv.h"
#include "kernel/kernel_convolution.h"
#include "kernel/kernel_fit.h"

enum pass { FORWARD, DATA_GRADIENT, WEIGHT_GRADIENT, PASS_COUNT };
enum kind { DATA, WEIGHT, POINTWISE, FEW_FEATURES, KIND_COUNT };
static const char *const kind_names[] = {"windows, forward and data gradient", "weight gradient", "1 x 1",
                                         "fewer than 8 input features"};
static const char *const pass_columns[] = {"fwd_ms", "bwd_inputs_ms", "bwd_params_ms"};
static const struct { const char *name, *chip; } devices[] = {{"NV_V100", "nvidia_v100_sxm2"}, {"NV_T4", "nvidia_t4"}};
enum { DEVICE_COUNT = sizeof devices / sizeof devices[0], ROWS_MAX = 1024 };

enum { WIDTH, HEIGHT, INPUTS, IMAGES, OUTPUTS, WINDOW_W, WINDOW_H, PAD_W, PAD_H, STRIDE_W, STRIDE_H, FIELD_COUNT };
static const char *const field_columns[FIELD_COUNT] = {"W", "H",     "C",     "N",        "K",       "S",
                                                       "R", "pad_w", "pad_h", "stride_w", "stride_h"};

struct row {
  size_t device;
  enum kind kind;
  bool is_held_out;
  double measured_s, launch_s, plain_s, predicted_s; /* plain: as the product of its extents, nothing added */
};
static struct row rows[ROWS_MAX];
static size_t row_count;
static struct hw_database db;

/* FNV-1a, so that the split can be repeated anywhere; of all devices and passes alike. */
static bool held_out(const double *f) {
  char text[128];
  int length = snprintf(text, sizeof text, "%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f", f[WIDTH], f[HEIGHT], f[INPUTS],
                        f[IMAGES], f[OUTPUTS], f[WINDOW_W], f[WINDOW_H]);
  uint32_t hash = 2166136261u;
  for (int i = 0; i < length; i++) {
    hash = (hash ^ (uint8_t)text[i]) * 16777619u;
  }
  return (hash >> 8) % 2 == 1;
}

static struct kernel_convolution convolution_of(const double *f, enum pass pass, double *bytes) {
  double out_w = floor((f[WIDTH] + 2 * f[PAD_W] - f[WINDOW_W]) / f[STRIDE_W]) + 1;
  double out_h = floor((f[HEIGHT] + 2 * f[PAD_H] - f[WINDOW_H]) / f[STRIDE_H]) + 1;
  double in = f[WIDTH] * f[HEIGHT], out = out_w * out_h, window = f[WINDOW_W] * f[WINDOW_H];
  *bytes = 2 * (f[IMAGES] * f[INPUTS] * in + f[IMAGES] * f[OUTPUTS] * out + f[INPUTS] * f[OUTPUTS] * window);
  struct kernel_convolution convolution = {
      .groups = 1, .batch = f[IMAGES], .columns = f[OUTPUTS], .reduced = f[INPUTS], .outputs = out, .window = window};
  convolution.dilation = 1;
  if (pass == DATA_GRADIENT) {
    convolution.columns = f[INPUTS], convolution.reduced = f[OUTPUTS], convolution.outputs = in;
    convolution.dilation = fmin(window, f[STRIDE_W] * f[STRIDE_H]);
  } else if (pass == WEIGHT_GRADIENT) {
    convolution.is_weight_gradient = true;
    convolution.batch = f[INPUTS], convolution.reduced = f[IMAGES];
    convolution.outputs = window, convolution.window = out;
  }
  return convolution;
}

/* Operands and results as they are in memory; repetitions find in the cache what fits. */
static void set_traffic(struct kernel_shape *shape, const struct hw_chip *chip, double bytes) {
  double own = kernel_bytes(shape), off_chip = bytes <= chip->cache_size_bytes ? 0 : bytes;
  shape->extra_bytes = fmax(0, bytes - own);
  shape->cached_bytes = fmax(0, own + shape->extra_bytes - off_chip);
}

static void add_row(const double *f, size_t device, enum pass pass, double measured_s) {
  assert_true(row_count < ROWS_MAX);
  const struct hw_chip *chip = hw_database_find(&db, devices[device].chip, NULL);
  assert_non_null(chip);
  struct kernel_constants constants;
  assert_true(kernel_constants_of(chip, KERNEL_GEMM, KERNEL_FORMAT_F16, &constants));
  int dispatch = kernel_constant_find(constants.model, "dispatch_s");
  constants.values[dispatch] = constants.model->constants[dispatch].lower;
  double bytes;
  struct kernel_convolution convolution = convolution_of(f, pass, &bytes);
  struct kernel_shape shape = {.class_of = KERNEL_GEMM,
                               .format = KERNEL_FORMAT_F16,
                               .gemm = kernel_convolution_gemm(&convolution, KERNEL_FORMAT_F16)};
  struct kernel_shape plain = shape;
  plain.gemm = (struct kernel_gemm){1, convolution.batch * convolution.outputs, convolution.columns,
                                    convolution.reduced * convolution.window / convolution.dilation};
  set_traffic(&shape, chip, bytes);
  set_traffic(&plain, chip, bytes);
  struct kernel_time time, plain_time;
  kernel_convolution_time(chip, &convolution, &shape, constants.values, &time);
  constants.model->time(chip, &plain, constants.values, &plain_time);
  enum kind kind = f[INPUTS] < 8                                   ? FEW_FEATURES
                   : pass == WEIGHT_GRADIENT                       ? WEIGHT
                   : kernel_convolution_is_pointwise(&convolution) ? POINTWISE
                                                                   : DATA;
  rows[row_count++] =
      (struct row){device, kind, held_out(f), measured_s, time.launch_s, plain_time.time_s, time.time_s};
}

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  const char *root = getenv("RIDGELINE_DATA");
  char path[1024];
  snprintf(path, sizeof path, "%s/measured/deepbench/conv.csv", root ? root : RDG_SOURCE_DIR "/../shared/data");
  struct csv_table table;
  enum status status = csv_read(&table, path, &diags);
  bool is_loaded = status == STATUS_OK && hw_database_load(&db, "hardware", &diags) == STATUS_OK;
  for (size_t r = 0; is_loaded && r < csv_rows(&table); r++) {
    size_t device = 0;
    while (device < DEVICE_COUNT
           && strcmp(csv_cell(&table, r, csv_column(&table, "device")), devices[device].name) != 0) {
      device++;
    }
    bool is_f16 = strstr(csv_cell(&table, r, csv_column(&table, "sheet_precision")), "FP16") != NULL;
    double f[FIELD_COUNT], measured_ms;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
      is_f16 = is_f16 && csv_number(&table, r, csv_column(&table, field_columns[i]), &f[i]);
    }
    for (int pass = 0; is_f16 && device < DEVICE_COUNT && pass < PASS_COUNT; pass++) {
      if (csv_number(&table, r, csv_column(&table, pass_columns[pass]), &measured_ms) && measured_ms > 0) {
        add_row(f, device, (enum pass)pass, measured_ms * 1e-3);
      }
    }
  }
  csv_release(&table);
  diag_release(&diags);
  if (row_count == 0) {
    print_message("skipped: no data (%s)\n", path);
  }
  return 0;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *values, size_t count) {
  assert_true(count > 0);
  qsort(values, count, sizeof *values, compare);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* What the training half still asks for beyond the constants: factors near 1. Launches that last as long as the kernel say
 * nothing about it. */
static void constants_are_medians(void **state) {
  (void)state;
  for (int kind = DATA; row_count > 0 && kind <= WEIGHT; kind++) {
    double ratios[ROWS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++) {
      const struct row *row = &rows[i];
      if (row->kind == (enum kind)kind && !row->is_held_out && row->measured_s > 2 * row->launch_s) {
        ratios[count++] = (row->measured_s - row->launch_s) / (row->predicted_s - row->launch_s);
      }
    }
    double left = median(ratios, count);
    print_message("%s: %zu training rows, %.3f times the constant\n", kind_names[kind], count, left);
    assert_true(left > 0.93 && left < 1.07);
  }
}

/* Mean and median absolute error, %, of the held-out rows of a kind on a device. */
static void score(size_t device, enum kind kind, bool is_plain, double *mean, double *middle) {
  double errors[ROWS_MAX], sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < row_count; i++) {
    const struct row *row = &rows[i];
    if (row->kind == kind && row->device == device && row->is_held_out) {
      double predicted_s = is_plain ? row->plain_s : row->predicted_s;
      errors[count] = 100 * fabs(predicted_s / row->measured_s - 1);
      sum += errors[count++];
    }
  }
  *middle = median(errors, count);
  *mean = sum / (double)count;
}

static void held_out_rows_are_nearer(void **state) {
  (void)state;
  for (int kind = 0; row_count > 0 && kind < KIND_COUNT; kind++) {
    double before = 0, after = 0;
    for (size_t device = 0; device < DEVICE_COUNT; device++) {
      double plain_mean, plain_middle, mean, middle;
      score(device, (enum kind)kind, true, &plain_mean, &plain_middle);
      score(device, (enum kind)kind, false, &mean, &middle);
      print_message("%s, %s: mean %.1f %% (product %.1f), median %.1f %% (%.1f)\n", kind_names[kind],
                    devices[device].name, mean, plain_mean, middle, plain_middle);
      before += plain_middle, after += middle;
    }
    if (kind == DATA || kind == WEIGHT) {
      assert_true(after < before);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_are_medians),
      cmocka_unit_test(held_out_rows_are_nearer),
  };
  return cmocka_run_group_tests(tests, load, release);
}
