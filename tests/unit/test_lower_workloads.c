/* Whole programs: totals against numbers that were computed from the models' configurations or by other tools. Skipped
 * where the data is not there. */
#include "lower_fixture.h"

/* 158 convolutions of the training step of ResNet-50, batch 256 per device: 6.002e12 operations, computed from the shapes
 * with padding taps left out (the shared data's README). */
static void test_resnet(void **state) {
  (void)state;
  char path[1024];
  if (!data_path(path, sizeof path, "workloads/resnet_50_train_step_4_devices_1024_batch.mlir")) {
    skip();
  }
  struct input_file file;
  struct lowered lowered;
  assert_true(lowered_file(&lowered, &file, path));
  assert_int_equal(lowered.total.class_tasks[WORK_CLASS_CONVOLUTION], 158);
  uint64_t flops = lowered.total.class_ops[WORK_CLASS_CONVOLUTION];
  assert_in_range(flops, 6001500000000, 6002499999999);
  assert_int_equal(lowered.total.opaque_tasks, 0);
  lowered_release(&lowered);
  input_file_release(&file);
}

/* Value of "name": number after `from`. */
static uint64_t json_number(const char *from, const char *name) {
  char key[128];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char *at = strstr(from, key);
  assert_non_null(at);
  return strtoull(at + strlen(key), NULL, 10);
}

/* workloads.json states dot FLOPs, collectives and their bytes per device and step for each configuration. */
static void test_llama_configurations(void **state) {
  (void)state;
  char path[1024];
  if (!data_path(path, sizeof path, "workloads/workloads.json")) {
    skip();
  }
  struct input_file facts;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(input_file_read(&facts, path, 0, &diags), STATUS_OK);
  diag_release(&diags);
  static const char *const sizes[] = {"100m", "200m", "500m", "1b", "2b", "3b"};
  int checked = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char name[128], key[32];
    snprintf(key, sizeof key, "\"%s\":", sizes[i]);
    const char *from = strstr(facts.text, key);
    snprintf(name, sizeof name, "workloads/gen_llama3-%s_4dev.mlir", sizes[i]);
    if (from == NULL || !data_path(path, sizeof path, name)) {
      continue;
    }
    struct input_file file;
    struct lowered lowered;
    assert_true(lowered_file(&lowered, &file, path));
    assert_int_equal(lowered.total.ops[WORK_ENGINE_MATRIX], json_number(from, "dot_flops_per_device_step"));
    assert_int_equal(lowered.total.collectives, json_number(from, "all_gather") + json_number(from, "all_reduce"));
    assert_int_equal(lowered.total.collective_bytes,
                     json_number(from, "all_gather_output_bytes") + json_number(from, "all_reduce_bytes"));
    lowered_release(&lowered);
    input_file_release(&file);
    checked++;
  }
  input_file_release(&facts);
  assert_true(checked > 0); /* the configurations are there, so their programs are to be, too */
}

/* The same training step with its layers unrolled and as two scans: the matrix products are the same ones, and what a scan
 * adds (slicing, counters, a few additions) is below 0.1 % of the floating operations. */
static void test_scan_equals_unrolled(void **state) {
  (void)state;
  static const char *const names[] = {"llama3_8b_train_unrolled", "llama3_8b_train_scan"};
  struct work_total totals[2];
  for (int i = 0; i < 2; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/examples/%s.mlir.zst", RDG_SOURCE_DIR, names[i]);
    struct input_file input;
    struct lowered lowered;
    assert_true(lowered_file(&lowered, &input, path));
    totals[i] = lowered.total;
    lowered_release(&lowered);
    input_file_release(&input);
  }
  assert_int_equal(totals[0].ops[WORK_ENGINE_MATRIX], totals[1].ops[WORK_ENGINE_MATRIX]);
  assert_int_equal(totals[0].unknown_trip_loops + totals[1].unknown_trip_loops, 0);
  assert_int_equal(totals[1].class_tasks[WORK_CLASS_CONTROL], 2);
  double floating[2];
  for (int i = 0; i < 2; i++) {
    floating[i] = (double)totals[i].ops[WORK_ENGINE_MATRIX] + (double)totals[i].ops[WORK_ENGINE_VECTOR]
                  + (double)totals[i].ops[WORK_ENGINE_FUNCTION];
  }
  double difference = floating[0] / floating[1] - 1;
  assert_true(difference < 1e-3 && difference > -1e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_resnet), cmocka_unit_test(test_llama_configurations),
                                     cmocka_unit_test(test_scan_equals_unrolled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
