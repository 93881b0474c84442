/* Calibration on rows made by a kernel model with known constants, for two chips of one family: what is fitted, that nine
 * of ten fresh rows lie in the intervals, and that files give back what was fitted. No measurement is read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "calibrate/calibrate_run.h"
#include "kernel/kernel_fit.h"

enum { ROWS_PER_CHIP = 900 };
static const char *const chip_ids[] = {"nvidia_a100_pcie_40", "nvidia_a100_sxm_80"};
static const char family[] = "nvidia_a100";

struct fixture {
  struct hw_database db;
  struct diag_list diags;
  struct measured_kernels kernels;
};

/* splitmix64 of the index, in (0, 1) */
static double noise(uint64_t index) {
  uint64_t x = (index + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return ((double)((x ^ (x >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* Constants of the truth: a little off the data sheet's, inside the bounds. */
static void true_constants(const struct kernel_model *model, const struct hw_chip *chip, double *values) {
  model->defaults(chip, KERNEL_ELEMENTWISE, KERNEL_FORMAT_F32, values);
  for (unsigned i = 0; i < model->constant_count; i++) {
    const struct kernel_constant *c = &model->constants[i];
    values[i] = fmin(c->upper, fmax(c->lower, values[i] * (i % 2 == 0 ? 0.8 : 1.25)));
  }
}

/* Element-wise kernels of 2^10 to 2^27 elements with normal scatter of 8 % (Box-Muller). */
static struct measured_kernel make_row(const struct hw_chip *chip, uint64_t index) {
  const struct kernel_model *model = kernel_model_for(KERNEL_ELEMENTWISE, KERNEL_FORMAT_F32, chip);
  assert_non_null(model);
  struct measured_kernel row = {.chip = chip,
                                .shape = {.class_of = KERNEL_ELEMENTWISE,
                                          .format = KERNEL_FORMAT_F32,
                                          .pass = {.rows = 1,
                                                   .columns = floor(exp2(10 + 17 * noise(4 * index))),
                                                   .reads = noise(4 * index + 1) < 0.5 ? 1 : 2,
                                                   .writes = 1,
                                                   .vector_flops = 1,
                                                   .function = HW_FUNCTION_COUNT}},
                                .may_fit = true,
                                .fold = (uint8_t)(index % 5)};
  double values[KERNEL_CONSTANT_MAX];
  struct kernel_time time;
  true_constants(model, chip, values);
  model->time(chip, &row.shape, values, &time);
  double normal = sqrt(-2 * log(noise(4 * index + 2))) * cos(6.283185307179586 * noise(4 * index + 3));
  row.latency_s = time.time_s * exp(0.08 * normal);
  return row;
}

static int setup(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  diag_init(&f->diags);
  (void)hw_database_load(&f->db, RDG_SOURCE_DIR "/hardware", &f->diags);
  assert_true(vec_push(&f->kernels.sources, "Made up"));
  for (size_t c = 0; c < 2; c++) {
    const struct hw_chip *chip = hw_database_find(&f->db, chip_ids[c], NULL);
    assert_non_null(chip);
    assert_true(hw_chip_is_a(chip, family));
    for (size_t i = 0; i < ROWS_PER_CHIP; i++) {
      assert_true(vec_push(&f->kernels.rows, make_row(chip, c * ROWS_PER_CHIP + i)));
    }
  }
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  vec_release(&f->kernels.rows);
  vec_release(&f->kernels.sources);
  hw_database_release(&f->db);
  diag_release(&f->diags);
  free(f);
  return 0;
}

static const struct hw_fit *find_fit(const struct calibration *result, const char *device) {
  for (size_t i = 0; i < result->fits.count; i++) {
    if (strcmp(result->fits.data[i].device, device) == 0) {
      return &result->fits.data[i];
    }
  }
  return NULL;
}

static void calibrate(struct fixture *f, const struct calibrate_options *options, struct calibration *result) {
  assert_int_equal(calibrate_kernels(&f->kernels, &f->db, options, &f->diags, result), STATUS_OK);
}

/* Chips, their family and what that inherits; normal scatter of 8 % has a mean size of 0.08 x sqrt(2 / pi) = 6.4 %, a median
 * of 0.0540 and 5 % and 95 % quantiles at exp(-+1.645 x 0.08) = 0.877 and 1.141. */
static void chips_and_families_are_fitted(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  calibrate(f, &(struct calibrate_options){.date = "2026-11-30"}, &result);
  assert_int_equal(result.fits.count, 5); /* two chips, nvidia_a100, nvidia_ampere, nvidia_gpu; not generic_gpu */
  assert_null(find_fit(&result, "generic_gpu"));
  assert_non_null(find_fit(&result, "nvidia_gpu"));
  for (size_t c = 0; c < 2; c++) {
    const struct hw_fit *fit = find_fit(&result, chip_ids[c]);
    assert_non_null(fit);
    assert_false(fit->is_family);
    assert_int_equal(fit->rows, ROWS_PER_CHIP);
    assert_int_equal(fit->chip_count, 1);
    assert_string_equal(fit->chips, chip_ids[c]);
    assert_string_equal(fit->sources, "made_up"); /* as names are written in files */
    assert_string_equal(fit->date, "2026-11-30");
    assert_true(fit->mape > 0.058 && fit->mape < 0.072);
    assert_true(fit->median > 0.046 && fit->median < 0.063);
    assert_int_equal(fit->interval_count, 4);
    uint64_t rows = 0;
    for (unsigned i = 0; i < 4; i++) { /* of 225 rows each: the quantiles scatter by about 1.5 % */
      assert_true(fabs(fit->intervals[i].low - 0.877) < 0.05 && fabs(fit->intervals[i].high - 1.141) < 0.06);
      rows += fit->intervals[i].rows;
    }
    assert_int_equal(rows, ROWS_PER_CHIP);
  }
  const struct hw_fit *pooled = find_fit(&result, family);
  assert_non_null(pooled);
  assert_true(pooled->is_family);
  assert_int_equal(pooled->chip_count, 2);
  assert_int_equal(pooled->rows, 2 * ROWS_PER_CHIP);
  assert_true(pooled->mape > 0.055 && pooled->mape < 0.12); /* each chip by constants of the other */
  calibration_release(&result);
}

/* 2,000 fresh rows of the same generator: coverage is 0.9 with a standard deviation below 0.01, that of the quantiles
 * included. */
static void intervals_cover_fresh_rows(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  calibrate(f, NULL, &result);
  assert_int_equal(calibration_apply(&result, &f->db), STATUS_OK);
  for (size_t c = 0; c < 2; c++) {
    const struct hw_chip *chip = hw_database_find(&f->db, chip_ids[c], NULL);
    struct kernel_constants constants;
    assert_true(kernel_constants_of(chip, KERNEL_ELEMENTWISE, KERNEL_FORMAT_F32, &constants));
    assert_non_null(constants.fit);
    assert_string_equal(constants.fit->device, chip->id);
    assert_false(constants.is_inherited);
    size_t covered = 0;
    for (uint64_t i = 0; i < 2000; i++) {
      struct measured_kernel row = make_row(chip, 1000000 + i);
      struct kernel_time time;
      struct kernel_interval interval;
      constants.model->time(chip, &row.shape, constants.values, &time);
      kernel_interval_of(&constants, &row.shape, time.time_s, &interval);
      assert_true(interval.low <= 1 && interval.high >= 1);
      covered += row.latency_s >= time.time_s * interval.low && row.latency_s <= time.time_s * interval.high;
    }
    assert_in_range(covered, 1700, 1900);
  }
  calibration_release(&result);
}

/* A fit of several chips is used as it is, one of a single other chip with 1.5 times the logarithmic width; beyond twice
 * the range of the rows the interval grows by a tenth of the logarithm of the rest; without a fit it is 0.6 to 1.8. */
static void intervals_widen_as_documented(void **state) {
  struct fixture *f = *state;
  const struct hw_chip *chip = hw_database_find(&f->db, chip_ids[0], NULL);
  struct measured_kernel row = make_row(chip, 0);
  row.shape.pass = (struct kernel_pass){1, 1000, 1, 1, 1, HW_FUNCTION_COUNT}; /* 1000 flop, 8000 bytes */
  const struct hw_fit_interval intervals[] = {{1e-5, 100, 0.8, 1.25}, {INFINITY, 100, 0.9, 1.1}};
  struct hw_fit fit = {.device = family,
                       .intervals = intervals,
                       .interval_count = 2,
                       .chip_count = 2,
                       .flops_min = 1,
                       .flops_max = 1e12,
                       .bytes_min = 1,
                       .bytes_max = 1e12};
  struct kernel_constants constants = {.fit = &fit, .is_inherited = true};
  struct kernel_interval out;
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(fabs(out.low - 0.8) < 1e-12 && fabs(out.high - 1.25) < 1e-12 && !out.is_outside);
  kernel_interval_of(&constants, &row.shape, 1e-5, &out); /* not below the first bound */
  assert_true(fabs(out.low - 0.9) < 1e-12 && fabs(out.high - 1.1) < 1e-12);
  fit.chip_count = 1;
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(fabs(out.high - 1.8) < 1e-12 && fabs(out.low - 0.6) < 1e-12); /* how chips differ is not known */
  const struct hw_fit_interval wide[] = {{INFINITY, 100, 0.5, 1.2}};
  struct hw_fit across = {.device = "nvidia_gpu", .intervals = wide, .interval_count = 1, .chip_count = 5};
  constants.across = &across; /* the wider of the two on either side */
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(fabs(out.high - pow(1.25, 1.5)) < 1e-12 && fabs(out.low - 0.5) < 1e-12);
  constants.is_inherited = false;
  fit.bytes_max = 4000; /* 8000 bytes: exactly the margin */
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(!out.is_outside && fabs(out.high - 1.25) < 1e-12);
  fit.bytes_max = 400; /* ten times the margin: exp(0.1 x ln 10) more on either side */
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(out.is_outside && fabs(out.high - 1.25 * pow(10, 0.1)) < 1e-9
              && fabs(out.low - 0.8 / pow(10, 0.1)) < 1e-9);
  fit.bytes_max = 8e-9; /* far beyond: a factor of 2 and no more */
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(fabs(out.high - 2.5) < 1e-9);
  constants.fit = NULL; /* data-sheet constants */
  constants.across = NULL;
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(out.low == 0.6 && out.high == 1.8 && !out.is_outside);
  const struct hw_fit_interval apart = {.below_s = INFINITY, .rows = 100, .low = 0.7, .high = 2.5};
  const struct hw_fit useless = {.chip_count = 2, .intervals = &apart, .interval_count = 1};
  constants.across = &useless; /* chips of the family differ by more than the assumption says */
  kernel_interval_of(&constants, &row.shape, 5e-6, &out);
  assert_true(out.low == 0.6 && fabs(out.high - 2.5) < 1e-12);
}

/* A chip without rows takes the constants of the nearest family, here made of one chip's rows, and learns from the next
 * family with several how far chips differ. */
static void one_chips_fit_is_widened_by_a_family_of_several(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  for (size_t i = 0; i < ROWS_PER_CHIP; i++) {
    f->kernels.rows.data[ROWS_PER_CHIP + i].chip = hw_database_find(&f->db, "nvidia_v100_pcie", NULL);
  }
  calibrate(f, NULL, &result);
  assert_int_equal(calibration_apply(&result, &f->db), STATUS_OK);
  struct kernel_constants constants;
  const struct hw_chip *chip = hw_database_find(&f->db, "nvidia_a100_sxm_80", NULL);
  assert_true(kernel_constants_of(chip, KERNEL_ELEMENTWISE, KERNEL_FORMAT_F32, &constants));
  assert_true(constants.is_inherited);
  assert_string_equal(constants.fit->device, family);
  assert_int_equal(constants.fit->chip_count, 1);
  assert_non_null(constants.across);
  assert_int_equal(constants.across->chip_count, 2);
  assert_string_equal(constants.across->device, "nvidia_gpu"); /* Volta and Ampere meet there */
  calibration_release(&result);
}

static void assert_same_fit(const struct hw_fit *a, const struct hw_fit *b) {
  assert_string_equal(a->device, b->device);
  assert_string_equal(a->class_name, b->class_name);
  assert_string_equal(a->format, b->format);
  assert_string_equal(a->model, b->model);
  assert_string_equal(a->sources, b->sources);
  assert_string_equal(a->chips, b->chips);
  assert_string_equal(a->date, b->date);
  assert_int_equal(a->is_family, b->is_family);
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->chip_count, b->chip_count);
  const double x[] = {a->mape, a->median, a->p90, a->bias, a->flops_min, a->flops_max, a->bytes_min, a->bytes_max};
  const double y[] = {b->mape, b->median, b->p90, b->bias, b->flops_min, b->flops_max, b->bytes_min, b->bytes_max};
  assert_memory_equal(x, y, sizeof x);
  assert_int_equal(a->constant_count, b->constant_count);
  assert_memory_equal(a->values, b->values, a->constant_count * sizeof *a->values);
  for (unsigned i = 0; i < a->constant_count; i++) {
    assert_string_equal(a->names[i], b->names[i]);
  }
  assert_int_equal(a->interval_count, b->interval_count);
  for (unsigned i = 0; i < a->interval_count; i++) {
    const double p[] = {a->intervals[i].below_s, a->intervals[i].low, a->intervals[i].high};
    const double q[] = {b->intervals[i].below_s, b->intervals[i].low, b->intervals[i].high};
    assert_memory_equal(p, q, sizeof p);
    assert_int_equal(a->intervals[i].rows, b->intervals[i].rows);
  }
}

static void files_give_back_what_was_fitted(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  calibrate(f, &(struct calibrate_options){.date = "2026-11-30"}, &result);
  for (size_t i = 0; i < result.fits.count; i++) {
    const struct hw_fit *fit = &result.fits.data[i];
    struct strbuf text = {0};
    calibration_write_yaml(&result, fit->device, &text);
    struct source source = {.name = "fits.yaml", .text = strbuf_text(&text), .length = text.length};
    size_t messages = f->diags.entries.count;
    assert_int_equal(hw_calibration_parse(&f->db, &source, &f->diags), STATUS_OK);
    assert_int_equal(f->diags.entries.count, messages);
    strbuf_release(&text);
    bool is_found = false;
    for (size_t k = 0; k < f->db.fits.count; k++) {
      const struct hw_fit *read = f->db.fits.data[k];
      if (strcmp(read->device, fit->device) == 0 && strcmp(read->class_name, fit->class_name) == 0
          && strcmp(read->format, fit->format) == 0) {
        assert_same_fit(fit, read);
        is_found = true;
      }
    }
    assert_true(is_found);
  }
  calibration_release(&result);
}

static void text_of(struct fixture *f, unsigned threads, struct strbuf *out) {
  struct calibration result;
  calibrate(f, &(struct calibrate_options){.threads = threads, .date = "2026-11-30", .max_rows = 400}, &result);
  for (size_t i = 0; i < result.fits.count; i++) {
    calibration_write_yaml(&result, result.fits.data[i].device, out);
  }
  calibration_write_table(&result, out);
  assert_false(out->failed);
  calibration_release(&result);
}

static void the_number_of_threads_changes_nothing(void **state) {
  struct fixture *f = *state;
  struct strbuf one = {0}, four = {0};
  text_of(f, 1, &one);
  text_of(f, 4, &four);
  assert_string_equal(strbuf_text(&one), strbuf_text(&four));
  assert_non_null(strstr(strbuf_text(&one), "device: nvidia_a100\n"));
  strbuf_release(&one);
  strbuf_release(&four);
}

/* Rows that may not be seen: the test split, sources for scoring only. What is left of the second chip, 59, is too few. */
static void only_rows_that_may_be_fitted_count(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  for (size_t i = 59; i < ROWS_PER_CHIP; i++) {
    struct measured_kernel *row = &f->kernels.rows.data[ROWS_PER_CHIP + i];
    row->split = i % 2 ? STORE_TEST : STORE_TRAIN;
    row->may_fit = i % 2 != 0;
    row->latency_s *= 100; /* would be seen in any fit */
  }
  calibrate(f, NULL, &result);
  assert_non_null(find_fit(&result, chip_ids[0]));
  assert_null(find_fit(&result, chip_ids[1]));
  assert_int_equal(find_fit(&result, family)->rows, ROWS_PER_CHIP + 59);
  assert_true(find_fit(&result, family)->mape < 0.12);
  calibration_release(&result);
}

/* Twenty rows of the second chip are too few to fit nine constants to. What is said of the first chip then has to come from
 * constants that saw none of its rows, which are those of the data sheet, and not from the fit of its 900 rows, whose error
 * is 6 %. */
static void rows_are_never_scored_by_constants_that_saw_them(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  f->kernels.rows.count = ROWS_PER_CHIP + 20;
  calibrate(f, &(struct calibrate_options){.device = family}, &result);
  assert_int_equal(result.fits.count, 1);
  const struct hw_fit *fit = &result.fits.data[0];
  assert_int_equal(fit->chip_count, 2);
  assert_true(fit->data_sheet_mape > 0.1);
  assert_true(fit->mape > 0.95 * fit->data_sheet_mape);
  calibration_release(&result);
}

/* Measurements of nothing: the data sheet is off by more than files may state, and is stated as that much. */
static void absurd_times_still_give_files_that_can_be_read(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  for (size_t i = 0; i < f->kernels.rows.count; i++) {
    f->kernels.rows.data[i].shape.pass.columns = 1e13; /* tens of seconds */
    f->kernels.rows.data[i].latency_s = 1e-9;
  }
  calibrate(f, NULL, &result);
  assert_int_equal(calibration_apply(&result, &f->db), STATUS_OK);
  calibration_release(&result);
}

static void files_keep_the_fits_that_were_left_out(void **state) {
  struct fixture *f = *state;
  const struct calibrate_options all = {.date = "2026-11-30"},
                                 softmax = {.date = "2026-12-01", .class_name = "softmax"};
  char directory[] = "/tmp/rdg_calibrated_XXXXXX", path[128];
  assert_non_null(mkdtemp(directory));
  struct calibration result;
  calibrate(f, &all, &result);
  assert_int_equal(calibration_write_files(&result, &all, directory, &f->diags), STATUS_OK);
  calibration_release(&result);
  for (size_t i = 0; i < f->kernels.rows.count; i++) {
    f->kernels.rows.data[i].shape.class_of = KERNEL_SOFTMAX;
  }
  calibrate(f, &softmax, &result);
  assert_int_equal(calibration_write_files(&result, &softmax, directory, &f->diags), STATUS_OK);
  snprintf(path, sizeof path, "%s/%s.yaml", directory, chip_ids[0]);
  char text[8192] = "";
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_non_null(strstr(text, "date: 2026-12-01\n"));
  assert_non_null(strstr(text, "class: elementwise\n"));
  assert_non_null(strstr(text, "class: softmax\n"));
  for (size_t i = 0; i < result.fits.count; i++) {
    snprintf(path, sizeof path, "%s/%s.yaml", directory, result.fits.data[i].device);
    assert_int_equal(remove(path), 0); /* nothing else is left behind */
  }
  assert_int_equal(rmdir(directory), 0);
  size_t errors = f->diags.error_count;
  assert_int_equal(calibration_write_files(&result, &all, "", &f->diags), STATUS_IO); /* a directory without a name */
  assert_int_equal(f->diags.error_count, errors + 1);
  calibration_release(&result);
}

static void options_choose_and_are_checked(void **state) {
  struct fixture *f = *state;
  struct calibration result;
  calibrate(f, &(struct calibrate_options){.device = family}, &result);
  assert_int_equal(result.fits.count, 1);
  assert_string_equal(result.fits.data[0].device, family);
  calibration_release(&result);
  static const struct {
    struct calibrate_options options;
    enum diag_id id;
    const char *part;
  } bad[] = {
      {{.device = "nvidia_a1000"}, DIAG_E0307_UNKNOWN_CHIP, "nvidia_a1000"},
      {{.class_name = "gem"}, DIAG_E0601_USAGE, "did you mean 'gemm'?"},
      {{.format = "bf61"}, DIAG_E0601_USAGE, "did you mean 'bf16'?"},
      {{.class_name = "gemm"}, DIAG_E0605_NOTHING_TO_FIT, "nothing to calibrate"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct diag_list diags;
    diag_init(&diags);
    assert_int_equal(calibrate_kernels(&f->kernels, &f->db, &bad[i].options, &diags, &result), STATUS_INPUT);
    assert_int_equal(diags.entries.data[0].id, bad[i].id);
    assert_non_null(strstr(diags.entries.data[0].message, bad[i].part));
    calibration_release(&result);
    diag_release(&diags);
  }
}

/* 19 residuals -9 ... 9 times 0.01: rank ceil(20 x 0.95) = 19 of 19, on both sides the extreme. With 39, -19 ... 19:
 * rank 38 of 39, 0.18. */
static void quantiles_by_hand(void **state) {
  (void)state;
  double predicted[400], residuals[400];
  struct hw_fit_interval intervals[4];
  for (int n = 19; n <= 39; n += 20) {
    for (int i = 0; i < n; i++) {
      predicted[i] = 1e-6 * (1 + i);
      residuals[i] = 0.01 * (i - n / 2);
    }
    assert_int_equal(calibrate_intervals(predicted, residuals, (size_t)n, intervals, 4), 1);
    double expected = n == 19 ? 0.09 : 0.18;
    assert_true(isinf(intervals[0].below_s) && intervals[0].rows == (uint64_t)n);
    assert_true(fabs(log(intervals[0].high) - expected) < 1e-5 && fabs(log(intervals[0].low) + expected) < 1e-5);
  }
  /* 400 rows, four bins of 100; the scatter grows with the prediction */
  for (int i = 0; i < 400; i++) {
    predicted[i] = 1e-6 * (1 + (i * 7) % 400); /* in no order */
    residuals[i] = (i % 2 ? 1 : -1) * (predicted[i] < 1.005e-4 ? 0.1 : 0.3);
  }
  assert_int_equal(calibrate_intervals(predicted, residuals, 400, intervals, 4), 4);
  assert_true(fabs(intervals[0].below_s - 1.01e-4) < 1e-12 && fabs(intervals[2].below_s - 3.01e-4) < 1e-12);
  assert_true(fabs(log(intervals[0].high) - 0.1) < 1e-5 && fabs(log(intervals[1].low) + 0.3) < 1e-5);
  /* equal predictions cannot be parted */
  for (int i = 0; i < 400; i++) {
    predicted[i] = 1e-6;
  }
  assert_int_equal(calibrate_intervals(predicted, residuals, 400, intervals, 4), 1);
  assert_int_equal(intervals[0].rows, 400);
  /* quarters that differ beyond the six digits of a bound, 1.23457e-6: two bounds would be the same */
  for (int i = 0; i < 400; i++) {
    predicted[i] = i < 100 ? 1e-6 : 1.2345670e-6 + 1e-15 * i;
  }
  unsigned used = calibrate_intervals(predicted, residuals, 400, intervals, 4);
  uint64_t all = 0;
  for (unsigned i = 0; i < used; i++) {
    assert_true(i == 0 || intervals[i].below_s > intervals[i - 1].below_s);
    all += intervals[i].rows;
  }
  assert_int_equal(used, 2);
  assert_int_equal(all, 400);
  assert_int_equal(calibrate_intervals(predicted, residuals, 0, intervals, 4), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(chips_and_families_are_fitted, setup, teardown),
      cmocka_unit_test_setup_teardown(intervals_cover_fresh_rows, setup, teardown),
      cmocka_unit_test_setup_teardown(intervals_widen_as_documented, setup, teardown),
      cmocka_unit_test_setup_teardown(one_chips_fit_is_widened_by_a_family_of_several, setup, teardown),
      cmocka_unit_test_setup_teardown(files_give_back_what_was_fitted, setup, teardown),
      cmocka_unit_test_setup_teardown(the_number_of_threads_changes_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(only_rows_that_may_be_fitted_count, setup, teardown),
      cmocka_unit_test_setup_teardown(rows_are_never_scored_by_constants_that_saw_them, setup, teardown),
      cmocka_unit_test_setup_teardown(absurd_times_still_give_files_that_can_be_read, setup, teardown),
      cmocka_unit_test_setup_teardown(files_keep_the_fits_that_were_left_out, setup, teardown),
      cmocka_unit_test_setup_teardown(options_choose_and_are_checked, setup, teardown),
      cmocka_unit_test(quantiles_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
