/* The public functions about plans: options by name, rows, texts, refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridgeline/ridgeline.h"

static const char program_text[] =
    "func.func @main(%x: tensor<16x64xbf16>, %w: tensor<64x128xbf16>) -> tensor<16x128xbf16> {\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
    "(tensor<16x64xbf16>, tensor<64x128xbf16>) -> tensor<16x128xbf16>\n"
    "  %1 = stablehlo.tanh %0 : tensor<16x128xbf16>\n"
    "  return %1 : tensor<16x128xbf16>\n}\n";

struct text {
  char data[1 << 16];
  size_t length;
};

static bool append(void *user, const char *text, size_t length) {
  struct text *out = user;
  size_t room = sizeof out->data - 1 - out->length, taken = length < room ? length : room;
  memcpy(out->data + out->length, text, taken);
  out->length += taken;
  return true;
}

struct fixture {
  rdg_context *ctx;
  rdg_program *program;
};

static int setup(void **state) {
  static struct fixture f;
  const rdg_config config = {.hardware_directory = RDG_SOURCE_DIR "/hardware"};
  f.ctx = rdg_context_new(&config);
  *state = &f;
  return rdg_program_parse(f.ctx, "small.mlir", program_text, strlen(program_text), NULL, &f.program) == RDG_OK ? 0 : 1;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  rdg_program_free(f->program);
  rdg_context_free(f->ctx);
  return 0;
}

static void expect_error(const struct fixture *f, const char *chip, const rdg_plan_options *options, rdg_status wanted,
                         const char *code, const char *part) {
  rdg_plan *plan;
  rdg_diagnostic d;
  assert_int_equal(rdg_plan_run(f->ctx, f->program, chip, options, &plan), wanted);
  assert_null(plan);
  assert_true(rdg_diagnostic_get(f->ctx, 0, &d));
  assert_string_equal(d.code, code);
  if (!strstr(d.message, part)) {
    fail_msg("'%s' lacks '%s'", d.message, part);
  }
}

static void test_rows(void **state) {
  const struct fixture *f = *state;
  const char *policies[] = {"joint", "basic", "ideal", "joint"};
  const rdg_plan_options options = {.policies = policies, .policy_count = 4};
  rdg_plan *plan = NULL;
  rdg_plan_row row;
  rdg_plan_summary summary;
  assert_int_equal(rdg_plan_run(f->ctx, f->program, NULL, &options, &plan), RDG_OK);
  assert_int_equal(rdg_plan_row_count(plan), 3); /* each once, in the order of tables */
  assert_true(rdg_plan_row_get(plan, 0, &row));
  assert_string_equal(row.policy, "basic");
  assert_true(rdg_plan_row_get(plan, 1, &row));
  assert_true(row.reference);
  assert_true(rdg_plan_row_get(plan, 2, &row));
  assert_string_equal(row.policy, "joint");
  assert_false(row.refused);
  assert_null(row.reason);
  assert_false(rdg_plan_row_get(plan, 3, &row));
  rdg_plan_summarize(plan, &summary);
  assert_string_equal(summary.chip_id, "elk_ipu_pod4_hbm");
  assert_string_equal(summary.chosen, "joint");
  assert_int_equal(summary.cores, 5888);
  assert_true(summary.matrix_flops == 2.0 * 16 * 64 * 128);
  /* the two inputs and the result pass the memory channel */
  assert_true(summary.memory_bytes >= 2 * (16 * 64 + 64 * 128));
  assert_true(rdg_plan_row_get(plan, 2, &row));
  assert_true(row.time_s >= summary.plan_space_bound_s && row.time_s >= summary.resource_bound_s);
  assert_true(fabs(row.gap_plan_space - (row.time_s / summary.plan_space_bound_s - 1)) < 1e-9);
  assert_true(row.peak_sram_bytes > 0 && row.peak_sram_bytes <= summary.sram_bytes);
  rdg_plan_free(plan);
}

static void test_writing(void **state) {
  static const struct {
    rdg_format format;
    const char *begin, *part;
  } cases[] = {{RDG_FORMAT_TEXT, "small.mlir on ", "no plan whatever"},
               {RDG_FORMAT_JSON, "{", "\"format\": \"ridgeline-plan\""},
               {RDG_FORMAT_TRACE, "{\"displayTimeUnit\"", "\"policy\":\"joint\""},
               {RDG_FORMAT_PLAN, "{\"format\":\"ridgeline-plan/1\"", "\"steps\""},
               {RDG_FORMAT_CHART, "<!doctype html>", "<svg"},
               {RDG_FORMAT_CORES, "", "compute"}};
  const struct fixture *f = *state;
  rdg_plan *plan = NULL;
  assert_int_equal(rdg_plan_run(f->ctx, f->program, "ipu", NULL, &plan), RDG_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static struct text out;
    out = (struct text){.length = 0};
    assert_int_equal(rdg_plan_write(f->ctx, plan, cases[i].format, (rdg_sink){append, &out}), RDG_OK);
    assert_memory_equal(out.data, cases[i].begin, strlen(cases[i].begin));
    assert_non_null(strstr(out.data, cases[i].part));
  }
  rdg_plan_free(plan);
}

/* A plan file of ours is sound; with one time changed it is not, and the message names the step. */
static void test_checking(void **state) {
  const struct fixture *f = *state;
  char path[] = "/tmp/rdg_plan_XXXXXX";
  static struct text out, found;
  rdg_plan *plan = NULL;
  out = found = (struct text){.length = 0};
  assert_int_equal(rdg_plan_run(f->ctx, f->program, "ipu", NULL, &plan), RDG_OK);
  assert_int_equal(rdg_plan_write(f->ctx, plan, RDG_FORMAT_PLAN, (rdg_sink){append, &out}), RDG_OK);
  rdg_plan_free(plan);
  FILE *file = fdopen(mkstemp(path), "w");
  assert_non_null(file);
  fwrite(out.data, 1, out.length, file);
  fclose(file);
  assert_int_equal(rdg_plan_check_file(f->ctx, path, (rdg_sink){append, &found}), RDG_OK);
  assert_non_null(strstr(found.data, "sound. joint, 1 operators"));
  char *makespan = strstr(out.data, "\"makespan_ps\":");
  assert_non_null(makespan);
  makespan[strlen("\"makespan_ps\":")] = '9'; /* the leading digit */
  file = fopen(path, "w");
  fwrite(out.data, 1, out.length, file);
  fclose(file);
  rdg_diagnostic d;
  assert_int_equal(rdg_plan_check_file(f->ctx, path, (rdg_sink){append, &found}), RDG_ERROR_INPUT);
  assert_true(rdg_diagnostic_get(f->ctx, 0, &d));
  assert_string_equal(d.code, "E0806");
  remove(path);
  assert_int_equal(rdg_plan_check_file(f->ctx, path, (rdg_sink){append, &found}), RDG_ERROR_IO);
}

static void test_errors(void **state) {
  const struct fixture *f = *state;
  const char *best[] = {"best"}, *speed[] = {"split", "speed"}, *ideal[] = {"ideal"};
  expect_error(f, "h100", NULL, RDG_ERROR_INPUT, "E0803", "nvidia_h100_sxm");
  expect_error(f, "no-such-chip", NULL, RDG_ERROR_INPUT, "E0307", "no-such-chip");
  expect_error(f, NULL, &(rdg_plan_options){.policies = best, .policy_count = 1}, RDG_ERROR_INPUT, "E0601",
               "no policy 'best'");
  expect_error(f, NULL, &(rdg_plan_options){.without = speed, .without_count = 2}, RDG_ERROR_INPUT, "E0601",
               "no ingredient 'speed'");
  expect_error(f, NULL, &(rdg_plan_options){.what_if_s = -1}, RDG_ERROR_INPUT, "E0601", "--what-if");
  expect_error(f, NULL, &(rdg_plan_options){.what_if_s = (double)NAN}, RDG_ERROR_INPUT, "E0601", "--what-if");
  rdg_plan *plan = NULL;
  static struct text out;
  const rdg_plan_options reference = {.policies = ideal, .policy_count = 1};
  assert_int_equal(rdg_plan_run(f->ctx, f->program, NULL, &reference, &plan), RDG_OK);
  assert_int_equal(rdg_plan_write(f->ctx, plan, RDG_FORMAT_PLAN, (rdg_sink){append, &out}), RDG_ERROR_UNSUPPORTED);
  rdg_plan_free(plan);
}

static void test_policies_have_names(void **state) {
  const char *name, *summary;
  size_t count = 0;
  (void)state;
  for (; rdg_plan_policy(count, &name, &summary); count++) {
    assert_true(*name && *summary);
  }
  assert_int_equal(count, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_writing),
                                     cmocka_unit_test(test_checking), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_policies_have_names)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
