/* Every allocation of a calibration fails once, alone or with all after it: the status says so, and nothing is leaked. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "allocation_fixture.h"
#include "calibrate/calibrate.h"

enum { ROWS = 70 };

/* One chip, 70 element-wise kernels of 1,000 to 60 million elements at 80 % of the bandwidth behind 10 us. */
static void make_rows(struct measured_kernels *kernels, const struct hw_chip *chip) {
  assert_true(vec_push(&kernels->sources, "made_up"));
  for (unsigned i = 0; i < ROWS; i++) {
    struct measured_kernel row = {
        .chip = chip,
        .shape = {.class_of = KERNEL_ELEMENTWISE,
                  .format = KERNEL_FORMAT_F32,
                  .pass = {1, floor(1000 * pow(1.17, i)), 1, 1, 0, HW_FUNCTION_COUNT}},
        .may_fit = true,
        .fold = (uint8_t)(i % 5),
    };
    row.latency_s = 1e-5 + kernel_bytes(&row.shape) / (0.8 * chip->memory_Bps);
    assert_true(vec_push(&kernels->rows, row));
  }
}

static enum status run(const struct measured_kernels *kernels, const struct hw_database *chips, struct diag_list *diags,
                       struct strbuf *text) {
  const struct calibrate_options options = {.device = "nvidia_a100_sxm_80", .threads = 1, .max_rows = 65};
  struct calibration result;
  enum status status = calibrate_kernels(kernels, chips, &options, diags, &result);
  if (status == STATUS_OK) {
    calibration_write_table(&result, text);
    calibration_write_yaml(&result, options.device, text);
    status = text->failed ? STATUS_MEMORY : STATUS_OK;
  }
  calibration_release(&result);
  return status;
}

static void each_allocation_fails(void **state) {
  (void)state;
  struct diag_list diags;
  struct hw_database chips;
  struct measured_kernels kernels = {0};
  struct strbuf expected = {0};
  diag_init(&diags);
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &diags), STATUS_OK);
  make_rows(&kernels, hw_database_find(&chips, "nvidia_a100_sxm_80", &diags));
  assert_int_equal(run(&kernels, &chips, &diags, &expected), STATUS_OK);
  assert_non_null(strstr(strbuf_text(&expected), "class: elementwise"));
  diag_release(&diags);
  unsigned long n = 0;
  for (bool has_failed = true; has_failed; n++) {
    struct strbuf text = {0};
    long live = allocation.live;
    diag_init(&diags);
    allocation_arm(n, n % 2 == 1);
    enum status status = run(&kernels, &chips, &diags, &text);
    has_failed = allocation_disarm();
    if (status == STATUS_OK) {
      assert_string_equal(strbuf_text(&text), strbuf_text(&expected));
    } else if (status != STATUS_MEMORY) {
      fail_msg("allocation %lu: status %d", n, (int)status);
    }
    assert_true(has_failed || status == STATUS_OK);
    strbuf_release(&text);
    diag_release(&diags);
    assert_true(allocation.live == live);
  }
  assert_true(n > 50);
  strbuf_release(&expected);
  vec_release(&kernels.rows);
  vec_release(&kernels.sources);
  hw_database_release(&chips);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
