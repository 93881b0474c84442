/* Steps through the public interface: what they hold, what refuses, files of execution traces. */
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

#include "ridgeline/ridgeline.h"

static const char text[] =
    "module @two attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {\n"
    "    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> "
    "tensor<64x64xf32>\n"
    "    %1 = \"stablehlo.all_reduce\"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = "
    "#stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({\n"
    "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
    "      %s = stablehlo.add %x, %y : tensor<f32>\n"
    "      stablehlo.return %s : tensor<f32>\n"
    "    }) : (tensor<64x64xf32>) -> tensor<64x64xf32>\n"
    "    return %1 : tensor<64x64xf32>\n"
    "  }\n"
    "}\n";

struct session {
  rdg_context *ctx;
  rdg_program *program;
};

static int setup(void **state) {
  static struct session session;
  session.ctx = rdg_context_new(NULL);
  session.program = NULL;
  rdg_status status = rdg_program_parse(session.ctx, "two.mlir", text, sizeof text - 1, NULL, &session.program);
  *state = &session;
  return status == RDG_OK ? 0 : -1;
}

static int teardown(void **state) {
  struct session *session = *state;
  rdg_program_free(session->program);
  rdg_context_free(session->ctx);
  return 0;
}

static rdg_step *predict(struct session *s, const char *cluster, const rdg_step_options *options) {
  rdg_step *step = NULL;
  const char *names[] = {cluster};
  if (rdg_step_predict(s->ctx, s->program, names, 1, options, &step) != RDG_OK) {
    fail_msg("%s", rdg_diagnostics_text(s->ctx));
  }
  return step;
}

static void test_parts_add_up(void **state) {
  struct session *s = *state;
  rdg_step *step = predict(s, "dgx_h100", NULL);
  rdg_step_estimate e;
  assert_int_equal(rdg_step_count(step), 1);
  assert_true(rdg_step_get(step, 0, &e));
  assert_false(rdg_step_get(step, 1, &e));
  assert_string_equal(e.cluster_id, "dgx_h100");
  assert_int_equal(e.devices, 2);
  double sum = e.compute_s + e.exposed_s + e.bubble_s + e.straggler_s + e.dispatch_s;
  assert_true(e.time_s > 0 && fabs(sum / e.time_s - 1) < 1e-6);
  assert_true(e.exposed_s > 0 && !e.refused && e.fits);
  assert_true(isnan(e.tokens_per_s)); /* the program does not say how many tokens it is about */
  rdg_step_free(step);
}

/* What nothing hides takes at least what something may hide. */
static void test_overlap_never_hurts(void **state) {
  struct session *s = *state;
  rdg_step *none = predict(s, "dgx_h100", &(rdg_step_options){.overlap = "none"});
  rdg_step *hidden = predict(s, "dgx_h100", &(rdg_step_options){.overlap = "latency-hiding"});
  rdg_step_estimate a, b;
  assert_true(rdg_step_get(none, 0, &a) && rdg_step_get(hidden, 0, &b));
  assert_true(b.time_s <= a.time_s * (1 + 1e-9));
  rdg_step_free(none);
  rdg_step_free(hidden);
}

/* A spread of speeds makes the slowest of two devices later than the mean one. */
static void test_stragglers_cost_time(void **state) {
  struct session *s = *state;
  rdg_step *even = predict(s, "dgx_h100", NULL);
  rdg_step *uneven = predict(s, "dgx_h100", &(rdg_step_options){.straggler = 0.2});
  rdg_step_estimate a, b;
  assert_true(rdg_step_get(even, 0, &a) && rdg_step_get(uneven, 0, &b));
  assert_true(a.straggler_s == 0 && b.straggler_s > 0 && b.time_s > a.time_s);
  rdg_step_free(even);
  rdg_step_free(uneven);
}

static bool swallow(void *user, const char *piece, size_t length) {
  (void)piece;
  *(size_t *)user += length;
  return true;
}

static void test_trace_needs_the_timeline(void **state) {
  struct session *s = *state;
  size_t length = 0;
  rdg_sink sink = {swallow, &length};
  rdg_step *step = predict(s, "dgx_h100", NULL);
  assert_int_equal(rdg_step_write(s->ctx, step, RDG_FORMAT_TRACE, sink), RDG_ERROR_INPUT);
  assert_int_equal(length, 0);
  assert_int_equal(rdg_step_write(s->ctx, step, RDG_FORMAT_TEXT, sink), RDG_OK);
  assert_true(length > 0);
  rdg_step_free(step);
  step = predict(s, "dgx_h100", &(rdg_step_options){.timeline = true});
  assert_int_equal(rdg_step_write(s->ctx, step, RDG_FORMAT_TRACE, sink), RDG_OK);
  rdg_step_free(step);
}

static void count_file(void *user, uint64_t done, uint64_t total) {
  *(uint64_t *)user = done * 100 + total;
}

static void test_execution_traces(void **state) {
  struct session *s = *state;
  char folder[] = "/tmp/rdg_chakra_XXXXXX", path[128];
  assert_non_null(mkdtemp(folder));
  rdg_step *step = predict(s, "dgx_h100", &(rdg_step_options){.timeline = true});
  uint64_t progress = 0;
  rdg_chakra_options options = {.name = "mine", .progress = count_file, .user = &progress};
  assert_int_equal(rdg_step_write_chakra(s->ctx, step, folder, &options), RDG_OK);
  assert_int_equal(progress, 202); /* two of two */
  static const char *const names[] = {"mine.0.et", "mine.1.et", "comm_group.json"};
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_int_equal(remove(path), 0);
  }
  assert_int_equal(rmdir(folder), 0); /* nothing else was left */
  assert_int_equal(rdg_step_write_chakra(s->ctx, step, "/dev/null/x", NULL), RDG_ERROR_IO);
  rdg_step_free(step);
}

static void assert_refused(struct session *s, const char *cluster, const rdg_step_options *options, const char *why) {
  rdg_step *step = NULL;
  const char *names[] = {cluster};
  assert_int_not_equal(rdg_step_predict(s->ctx, s->program, names, 1, options, &step), RDG_OK);
  assert_null(step);
  if (!strstr(rdg_diagnostics_text(s->ctx), why)) {
    fail_msg("lacks \"%s\": %s", why, rdg_diagnostics_text(s->ctx));
  }
}

static void test_refusals(void **state) {
  struct session *s = *state;
  assert_refused(s, "no_such_cluster", NULL, "no_such_cluster");
  assert_refused(s, "dgx_h100", &(rdg_step_options){.devices = 4},
                 "written for 2 devices, the slice of dgx_h100 has 4");
  assert_refused(s, "dgx_h100", &(rdg_step_options){.overlap = "some"}, "there is no overlap 'some'");
  assert_refused(s, "dgx_h100", &(rdg_step_options){.network = "pigeon"}, "there is no network 'pigeon'");
  assert_refused(s, "dgx_h100", &(rdg_step_options){.fidelity = "psychic"}, "there is no fidelity 'psychic'");
  assert_refused(s, "dgx_h100", &(rdg_step_options){.straggler = NAN}, "fraction from 0 to 1");
  assert_refused(s, "dgx_h100", &(rdg_step_options){.shape = "9x9x9x9x9"}, "9x9x9x9x9");
  rdg_step *step = NULL;
  assert_int_equal(rdg_step_predict(s->ctx, s->program, NULL, 0, NULL, &step), RDG_ERROR_INPUT);
}

/* A cluster that cannot is in the result beside one that can; a cluster named twice is there once. */
static void test_refused_beside_predicted(void **state) {
  struct session *s = *state;
  rdg_step *step = NULL;
  const char *names[] = {"dgx_h100", "tpu_v4", "dgx_h100"};
  const rdg_step_options options = {.shape = "2x1x1"};
  assert_int_equal(rdg_step_predict(s->ctx, s->program, names, 3, &options, &step), RDG_OK);
  assert_int_equal(rdg_step_count(step), 2);
  rdg_step_estimate a, b;
  assert_true(rdg_step_get(step, 0, &a) && rdg_step_get(step, 1, &b));
  assert_true(a.refused && isnan(a.time_s) && a.reason && !b.refused && b.time_s > 0);
  rdg_step_free(step);
}

static void test_collectives(void **state) {
  struct session *s = *state;
  size_t length = 0;
  rdg_sink sink = {swallow, &length};
  const char *kinds[] = {"all_gather"};
  const uint64_t sizes[] = {1 << 20};
  rdg_collectives_options options = {.kinds = kinds,
                                     .kind_count = 1,
                                     .sizes = sizes,
                                     .size_count = 1,
                                     .devices = 16,
                                     .ranks = 2,
                                     .stride = 8,
                                     .events = true};
  assert_int_equal(rdg_collectives(s->ctx, "dgx_h100", &options, RDG_FORMAT_JSON, sink), RDG_OK);
  assert_true(length > 0);
  options.ranks = 5;
  assert_int_equal(rdg_collectives(s->ctx, "dgx_h100", &options, RDG_FORMAT_JSON, sink), RDG_ERROR_INPUT);
  options.kinds = (const char *[]){"gossip"};
  options.ranks = 2;
  assert_int_equal(rdg_collectives(s->ctx, "dgx_h100", &options, RDG_FORMAT_JSON, sink), RDG_ERROR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_add_up),
      cmocka_unit_test(test_overlap_never_hurts),
      cmocka_unit_test(test_stragglers_cost_time),
      cmocka_unit_test(test_trace_needs_the_timeline),
      cmocka_unit_test(test_execution_traces),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_refused_beside_predicted),
      cmocka_unit_test(test_collectives),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
