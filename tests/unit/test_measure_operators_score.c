/* Who may learn from which rows: on measurements made by a model itself, which a fit has to find again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate/fit.h"
#include "kernel/kernel_fit.h"
#include "measure/measure_operators.h"

struct fixture {
  struct hw_database chips;
  struct diag_list diags;
  struct operator_set set;
};

static int set_up(void **state) {
  static struct fixture f;
  f = (struct fixture){.set = {.only = OPERATOR_ALL_ROWS}};
  diag_init(&f.diags);
  assert_int_equal(hw_database_load(&f.chips, RDG_SOURCE_DIR "/hardware", &f.diags), STATUS_OK);
  arena_init(&f.set.kernels.arena, 0);
  assert_true(vec_push(&f.set.kernels.sources, "made"));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  operator_set_release(&f->set);
  hw_database_release(&f->chips);
  diag_release(&f->diags);
  return 0;
}

/* Constants that no data sheet gives: a quarter of the way from the defaults to the lower bounds. */
static void made_constants(const struct kernel_model *model, const struct hw_chip *chip, double *values) {
  model->defaults(chip, KERNEL_GEMM, KERNEL_FORMAT_BF16, values);
  for (unsigned i = 0; i < model->constant_count; i++) {
    values[i] += 0.25 * (model->constants[i].lower - values[i]);
  }
}

/* 100 products of a chip, timed by its model with those constants; `factor` falsifies the times. */
static void add_products(struct fixture *f, const char *chip_name, enum store_split split, bool may_fit,
                         double factor) {
  const struct hw_chip *chip = hw_database_find(&f->chips, chip_name, NULL);
  assert_non_null(chip);
  const struct kernel_model *model = kernel_model_for(KERNEL_GEMM, KERNEL_FORMAT_BF16, chip);
  assert_non_null(model);
  double values[KERNEL_CONSTANT_MAX];
  made_constants(model, chip, values);
  for (unsigned i = 0; i < 100; i++) {
    struct measured_kernel row = {.chip = chip, .split = (uint8_t)split, .fold = (uint8_t)(i % 5), .may_fit = may_fit};
    struct kernel_time time;
    row.shape.class_of = KERNEL_GEMM;
    row.shape.format = KERNEL_FORMAT_BF16;
    row.shape.flags = KERNEL_WARM;
    row.shape.gemm = (struct kernel_gemm){1, 64 << (i % 7), 512 + 640 * (i % 6), 384 + 512 * (i % 11)};
    model->time(chip, &row.shape, values, &time);
    row.latency_s = factor * time.time_s;
    assert_true(vec_push(&f->set.kernels.rows, row));
  }
}

static struct operator_score score(const struct fixture *f, const char *chip) {
  struct operator_score s;
  struct operator_filter filter = OPERATOR_ALL_ROWS;
  filter.chip = chip;
  assert_int_equal(operator_score_of(&f->set, &filter, &s), STATUS_OK);
  return s;
}

/* Nothing but the other folds can have told the constants; the two-constant roofline cannot follow tiles. Both TPUs were
 * timed with like constants, so those of the one are good for the other as well. */
static void folds_find_the_constants_that_made_the_rows(void **state) {
  struct fixture *f = *state;
  add_products(f, "google_tpu_v4", STORE_FOLDS, false, 1);
  add_products(f, "google_tpu_v6e", STORE_FOLDS, false, 1);
  assert_int_equal(operators_score(&f->set, NULL, &f->diags), STATUS_OK);
  assert_int_equal(f->set.groups.count, 2);
  assert_string_equal(operator_constants(&f->set, &f->set.groups.data[0], 0), "5 folds");
  for (int i = 0; i < 2; i++) {
    struct operator_score s = score(f, f->set.groups.data[i].chip->id);
    assert_int_equal(s.model.count, 100);
    assert_int_equal(s.with_interval, 100);
    assert_int_equal(s.count[OPERATOR_ROOFLINE], 100);
    assert_int_equal(s.count[OPERATOR_TWO_CONSTANTS], 100);
    assert_int_equal(s.count[OPERATOR_OTHER_CHIPS], 100);
    assert_true(s.model.mape < 0.02);
    assert_true(s.model.mape < s.mape[OPERATOR_TWO_CONSTANTS]);
    assert_true(s.mape[OPERATOR_OTHER_CHIPS] < s.mape[OPERATOR_ROOFLINE]);
    assert_string_equal(f->set.groups.data[i].others, "google_tpu");
  }
}

/* Times that are wrong by a factor of 3 are learnt by a fit that may see them: here none may. */
static void rows_that_may_not_be_learnt_change_nothing(void **state) {
  struct fixture *f = *state;
  add_products(f, "google_tpu_v6e", STORE_TRAIN, false, 3);
  add_products(f, "google_tpu_v6e", STORE_TEST, true, 1);
  assert_int_equal(operators_score(&f->set, NULL, &f->diags), STATUS_OK);
  assert_int_equal(f->set.groups.count, 1);
  const struct operator_group *group = &f->set.groups.data[0];
  struct operator_score s = score(f, group->chip->id);
  assert_int_equal(s.model.count, 100); /* train rows are not scored */
  assert_int_equal(s.count[OPERATOR_TWO_CONSTANTS], 0); /* nothing to fit them on */
  assert_null(group->others);
  struct kernel_constants constants;
  assert_true(kernel_constants_of(group->chip, KERNEL_GEMM, KERNEL_FORMAT_BF16, &constants));
  assert_string_equal(group->constants, constants.fit ? constants.fit->device : "data sheet");
  for (size_t i = 0; i < f->set.rows.count; i++) {
    const struct operator_row *row = &f->set.rows.data[i];
    struct kernel_time time;
    constants.model->time(row->row->chip, &row->row->shape, constants.values, &time);
    assert_true(row->time_s[OPERATOR_MODEL] == time.time_s);
    assert_true(row->low_s <= time.time_s && time.time_s <= row->high_s);
  }
}

/* With train rows the two constants have something to be fitted on; other chips' test rows stay unseen. */
static void train_rows_are_learnt_and_test_rows_of_others_are_not(void **state) {
  struct fixture *f = *state;
  add_products(f, "google_tpu_v4", STORE_TEST, true, 3);
  add_products(f, "google_tpu_v6e", STORE_TRAIN, true, 1);
  add_products(f, "google_tpu_v6e", STORE_TEST, true, 1);
  f->set.only.chip = "google_tpu_v6e";
  assert_int_equal(operators_score(&f->set, NULL, &f->diags), STATUS_OK);
  assert_int_equal(f->set.groups.count, 1); /* the filter */
  struct operator_score s = score(f, NULL);
  assert_int_equal(s.model.count, 100);
  assert_int_equal(s.count[OPERATOR_TWO_CONSTANTS], 100);
  assert_true(s.mape[OPERATOR_TWO_CONSTANTS] < s.mape[OPERATOR_ROOFLINE]);
  assert_int_equal(s.count[OPERATOR_OTHER_CHIPS], 0);
  assert_null(f->set.groups.data[0].others);
}

/* Prefill kernels of two chips whose back ends launch different tiles, with constants that are the same for both. Constants
 * of the other chip are then as good as the chip's own, as long as each keeps its own tiles: which kernel is launched is no
 * constant of a fit. */
static void other_chips_give_constants_and_not_kernels(void **state) {
  struct fixture *f = *state;
  static const char *const names[] = {"nvidia_a100_sxm_80", "nvidia_l40s"};
  const struct hw_chip *first = hw_database_find(&f->chips, names[0], NULL);
  const struct kernel_model *model = kernel_model_for(KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16, first);
  assert_non_null(model);
  double shared[KERNEL_CONSTANT_MAX];
  model->defaults(first, KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16, shared);
  for (size_t c = 0; c < 2; c++) {
    const struct hw_chip *chip = hw_database_find(&f->chips, names[c], NULL);
    double values[KERNEL_CONSTANT_MAX];
    assert_non_null(chip);
    fit_constants_for(model, chip, KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16, shared, values);
    for (unsigned i = 0; i < 100; i++) {
      struct measured_kernel row = {.chip = chip, .split = STORE_FOLDS, .fold = (uint8_t)(i % 5)};
      double queries = 512 + 700 * (i % 9);
      struct kernel_time time;
      row.shape.class_of = KERNEL_ATTENTION_PREFILL;
      row.shape.format = KERNEL_FORMAT_BF16;
      row.shape.attention = (struct kernel_attention){1 + i % 3, queries, queries, 8 << (i % 4), 8, 128, 0, true};
      model->time(chip, &row.shape, values, &time);
      row.latency_s = time.time_s;
      assert_true(vec_push(&f->set.kernels.rows, row));
    }
  }
  assert_int_equal(operators_score(&f->set, NULL, &f->diags), STATUS_OK);
  assert_int_equal(f->set.groups.count, 2);
  /* the first chip's fit starts from the very constants, which the second one's rows then confirm */
  struct operator_score s = score(f, names[1]);
  assert_int_equal(s.count[OPERATOR_OTHER_CHIPS], 100);
  assert_true(s.mape[OPERATOR_OTHER_CHIPS] < 1e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(folds_find_the_constants_that_made_the_rows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(rows_that_may_not_be_learnt_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(other_chips_give_constants_and_not_kernels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(train_rows_are_learnt_and_test_rows_of_others_are_not, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("measure operators, score", tests, NULL, NULL);
}
