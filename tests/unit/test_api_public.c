/* The public interface end to end, on small programs whose work is known in closed form. */
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

/* A matrix product of 2 * 2048^3 = 17.18e9 FLOPs, then a tanh over 2048^2 elements. */
static const char matmul[] =
    "func.func public @main(%arg0: tensor<2048x2048xbf16>, %arg1: tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16> {\n"
    "  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2048x2048xbf16>, "
    "tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>\n"
    "  %1 = stablehlo.tanh %0 : tensor<2048x2048xbf16>\n"
    "  return %1 : tensor<2048x2048xbf16>\n"
    "}\n";
static const uint64_t matmul_flops = 2ull * 2048 * 2048 * 2048;

/* The tanh layer run 10 times in a while loop. */
static const char loop[] = "func.func @main(%arg0: tensor<1024xf32>) -> tensor<1024xf32> {\n"
                           "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
                           "  %0:2 = stablehlo.while(%i = %zero, %x = %arg0) : tensor<i32>, tensor<1024xf32>\n"
                           "  cond {\n"
                           "    %ten = stablehlo.constant dense<10> : tensor<i32>\n"
                           "    %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                           "    stablehlo.return %c : tensor<i1>\n"
                           "  } do {\n"
                           "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
                           "    %j = stablehlo.add %i, %one : tensor<i32>\n"
                           "    %y = stablehlo.tanh %x : tensor<1024xf32>\n"
                           "    stablehlo.return %j, %y : tensor<i32>, tensor<1024xf32>\n"
                           "  }\n"
                           "  return %0#1 : tensor<1024xf32>\n"
                           "}\n";

struct text {
  char *data;
  size_t length;
  bool refuse;
};

static bool append(void *user, const char *piece, size_t length) {
  struct text *t = user;
  char *grown = t->refuse ? NULL : realloc(t->data, t->length + length + 1);
  if (!grown) {
    return false;
  }
  memcpy(grown + t->length, piece, length);
  t->data = grown;
  t->length += length;
  t->data[t->length] = '\0';
  return true;
}

static rdg_program *parse(rdg_context *ctx, const char *text) {
  rdg_program *program = NULL;
  rdg_status status = rdg_program_parse(ctx, "test.mlir", text, strlen(text), NULL, &program);
  if (status != RDG_OK) {
    print_error("%s", rdg_diagnostics_text(ctx));
  }
  assert_int_equal(status, RDG_OK);
  return program;
}

static int make_context(void **state) {
  *state = rdg_context_new(NULL);
  return *state ? 0 : -1;
}

static int free_context(void **state) {
  rdg_context_free(*state);
  return 0;
}

static void totals_in_both_conventions(void **state) {
  rdg_context *ctx = *state;
  rdg_totals totals;
  rdg_program *program = parse(ctx, matmul);
  assert_int_equal(rdg_program_totals(ctx, program, &totals), RDG_OK);
  assert_true(totals.matrix_flops == matmul_flops);
  assert_int_equal(totals.function_results, 2048 * 2048);
  assert_true(totals.xla_flops == (int64_t)matmul_flops);
  assert_int_equal(totals.xla_transcendentals, 2048 * 2048);
  assert_int_equal(totals.argument_bytes, 2 * 2 * 2048 * 2048);
  assert_int_equal(totals.operations, 2);
  rdg_program_free(program);

  program = parse(ctx, loop);
  assert_int_equal(rdg_program_totals(ctx, program, &totals), RDG_OK);
  assert_int_equal(totals.function_results, 10 * 1024); /* `true`: multiplied out */
  assert_int_equal(totals.xla_transcendentals, 1024); /* `xla`: body once */
  rdg_program_free(program);
}

static void predictions_respect_the_data_sheet(void **state) {
  rdg_context *ctx = *state;
  rdg_program *program = parse(ctx, matmul);
  const char *chips[] = {"h100", "A100", "tpu_v5p", "nvidia_h100_sxm"};
  const double peaks[] = {989e12, 312e12, 459e12};
  rdg_prediction *prediction = NULL;
  assert_int_equal(rdg_predict(ctx, program, chips, 4, NULL, &prediction), RDG_OK);
  assert_int_equal(rdg_prediction_count(prediction), 3); /* an alias and its id are one chip */
  for (size_t i = 0; i < 3; i++) {
    rdg_estimate e;
    assert_true(rdg_prediction_get(prediction, i, &e));
    assert_false(e.refused);
    assert_true(e.time_s > (double)matmul_flops / peaks[i]);
    assert_true(e.time_s < 100 * (double)matmul_flops / peaks[i]);
    assert_true(e.unfused_time_s >= e.time_s);
    assert_true(e.matrix_utilisation > 0 && e.matrix_utilisation < 1);
    assert_true(e.fits);
  }
  rdg_prediction_free(prediction);
  rdg_program_free(program);
}

static void a_loop_costs_its_iterations(void **state) {
  rdg_context *ctx = *state;
  rdg_program *program = parse(ctx, loop);
  const char *chips[] = {"h100"};
  rdg_prediction *prediction = NULL;
  rdg_estimate e;
  assert_int_equal(rdg_predict(ctx, program, chips, 1, NULL, &prediction), RDG_OK);
  assert_true(rdg_prediction_get(prediction, 0, &e));
  assert_true(e.kernels >= 10);
  rdg_prediction_free(prediction);
  rdg_program_free(program);
}

static void f32_products_follow_the_precision_option(void **state) {
  rdg_context *ctx = *state;
  const char *text =
      "func.func @main(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {\n"
      "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, "
      "tensor<4096x4096xf32>) -> "
      "tensor<4096x4096xf32>\n"
      "  return %0 : tensor<4096x4096xf32>\n}\n";
  rdg_program *program = parse(ctx, text);
  const char *chips[] = {"a100"};
  double times[3];
  const char *types[] = {"f32", NULL, "bf16"};
  for (int i = 0; i < 3; i++) {
    rdg_predict_options options = {.f32_as = types[i]};
    rdg_prediction *prediction = NULL;
    rdg_estimate e;
    assert_int_equal(rdg_predict(ctx, program, chips, 1, &options, &prediction), RDG_OK);
    assert_true(rdg_prediction_get(prediction, 0, &e));
    times[i] = e.time_s;
    rdg_prediction_free(prediction);
  }
  /* A100: 19.5 TFLOP/s in f32, 156 in tf32 (its default), 312 in bf16 */
  assert_true(times[0] > 4 * times[1]);
  assert_true(times[1] > 1.3 * times[2]);
  rdg_predict_options wrong = {.f32_as = "f16"};
  rdg_prediction *none = NULL;
  assert_int_equal(rdg_predict(ctx, program, chips, 1, &wrong, &none), RDG_ERROR_INPUT);
  assert_null(none);
  rdg_program_free(program);
}

static void documents_are_written_whole_or_refused(void **state) {
  rdg_context *ctx = *state;
  rdg_program *program = parse(ctx, matmul);
  const char *chips[] = {"@demo"};
  rdg_prediction *prediction = NULL;
  assert_int_equal(rdg_predict(ctx, program, chips, 1, NULL, &prediction), RDG_OK);
  assert_true(rdg_prediction_count(prediction) >= 12);
  for (int format = RDG_FORMAT_TEXT; format <= RDG_FORMAT_TRACE; format++) {
    struct text text = {0}, closed = {.refuse = true};
    assert_int_equal(rdg_prediction_write(ctx, prediction, (rdg_format)format, (rdg_sink){append, &text}), RDG_OK);
    assert_non_null(strstr(text.data, format == RDG_FORMAT_TRACE ? "traceEvents" : "nvidia_h100_sxm"));
    assert_int_equal(rdg_prediction_write(ctx, prediction, (rdg_format)format, (rdg_sink){append, &closed}),
                     RDG_ERROR_IO);
    free(text.data);
  }
  rdg_prediction_free(prediction);
  rdg_program_free(program);
}

static void printing_inspecting_explaining(void **state) {
  rdg_context *ctx = *state;
  rdg_program *program = parse(ctx, loop);
  struct text pretty = {0}, generic = {0}, inspected = {0}, graph = {0}, fused = {0}, task = {0};
  assert_int_equal(rdg_program_print(ctx, program, RDG_FORM_PRETTY, (rdg_sink){append, &pretty}), RDG_OK);
  assert_int_equal(rdg_program_print(ctx, program, RDG_FORM_GENERIC, (rdg_sink){append, &generic}), RDG_OK);
  assert_non_null(strstr(pretty.data, "stablehlo.while("));
  assert_non_null(strstr(generic.data, "\"stablehlo.while\"("));
  assert_int_equal(rdg_inspect(ctx, program, RDG_FORMAT_TEXT, (rdg_sink){append, &inspected}), RDG_OK);
  assert_non_null(strstr(inspected.data, "tanh"));
  assert_int_equal(rdg_explain(ctx, program, NULL, NULL, RDG_FORMAT_TEXT, (rdg_sink){append, &graph}), RDG_OK);
  assert_non_null(strstr(graph.data, "tanh"));
  assert_int_equal(rdg_explain(ctx, program, "h100", NULL, RDG_FORMAT_TEXT, (rdg_sink){append, &fused}), RDG_OK);
  assert_int_equal(rdg_explain(ctx, program, "h100", "0", RDG_FORMAT_TEXT, (rdg_sink){append, &task}), RDG_OK);
  assert_int_equal(rdg_explain(ctx, program, "h100", "12345", RDG_FORMAT_TEXT, (rdg_sink){append, &task}),
                   RDG_ERROR_INPUT);
  assert_int_equal(rdg_explain(ctx, program, NULL, "0", RDG_FORMAT_TEXT, (rdg_sink){append, &task}), RDG_ERROR_INPUT);
  struct text *const all[] = {&pretty, &generic, &inspected, &graph, &fused, &task};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    free(all[i]->data);
  }
  rdg_program_free(program);
}

/* Tasks inside a loop have addresses; the loop's explanation lists them. */
static void tasks_are_addressed_inside_loops(void **state) {
  rdg_context *ctx = *state;
  rdg_program *program = parse(ctx, loop);
  struct text all = {0};
  assert_int_equal(rdg_explain(ctx, program, "h100", NULL, RDG_FORMAT_JSON, (rdg_sink){append, &all}), RDG_OK);
  char *at = strstr(all.data, "\"kind\": \"loop\"");
  assert_non_null(at);
  assert_non_null(strstr(at, "\"trips\": 10"));
  char *inside = strstr(at, "\"operation\": \"tanh\""); /* its address stands on the line before */
  assert_non_null(inside);
  while (strncmp(inside, "\"task\": \"", 9) != 0) {
    inside--;
  }
  char address[32], owner[32];
  assert_int_equal(sscanf(inside, "\"task\": \"%31[0-9.]", address), 1);
  assert_int_equal(strcspn(address, "."), strlen(address) - 4); /* "1.0.1": three numbers of one digit */
  strcpy(owner, address);
  owner[strcspn(owner, ".")] = '\0';
  struct text outer = {0}, inner = {0}, json = {0};
  assert_int_equal(rdg_explain(ctx, program, "h100", owner, RDG_FORMAT_TEXT, (rdg_sink){append, &outer}), RDG_OK);
  assert_non_null(strstr(outer.data, address));
  assert_non_null(strstr(outer.data, "per iteration"));
  assert_int_equal(rdg_explain(ctx, program, "h100", address, RDG_FORMAT_TEXT, (rdg_sink){append, &inner}), RDG_OK);
  char first[96];
  snprintf(first, sizeof first, "task %s elementwise on nvidia_h100_sxm\n", address);
  assert_memory_equal(inner.data, first, strlen(first));
  assert_int_equal(rdg_explain(ctx, program, "h100", address, RDG_FORMAT_JSON, (rdg_sink){append, &json}), RDG_OK);
  assert_non_null(strstr(json.data, "\"format\": \"ridgeline-graph\""));
  assert_null(strstr(json.data, "\"kind\": \"loop\""));
  static const char *const wrong[] = {"",       "x",     "1.",   "99", "1.0",       "1.9.0",
                                      "1.0.99", "0.0.0", "1..0", "-1", "1.0.1.0.0", "99999999999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(rdg_explain(ctx, program, "h100", wrong[i], RDG_FORMAT_TEXT, (rdg_sink){append, &outer}),
                     RDG_ERROR_INPUT);
    assert_int_equal(rdg_diagnostic_count(ctx), 1);
  }
  free(all.data);
  free(outer.data);
  free(inner.data);
  free(json.data);
  rdg_program_free(program);
}

/* Nothing of this program has a known cost: the time is the start of the program and is not called anything else. */
static void a_program_of_unknown_operations_says_so(void **state) {
  rdg_context *ctx = *state;
  rdg_program *program = parse(ctx, "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
                                    "  %0 = stablehlo.custom_call @mystery(%a) : (tensor<8xf32>) -> tensor<8xf32>\n"
                                    "  return %0 : tensor<8xf32>\n}\n");
  const char *chips[] = {"h100"};
  rdg_prediction *prediction = NULL;
  rdg_estimate e;
  struct text text = {0};
  assert_int_equal(rdg_predict(ctx, program, chips, 1, NULL, &prediction), RDG_OK);
  assert_true(rdg_prediction_get(prediction, 0, &e));
  assert_string_equal(e.bound_by, "none");
  assert_true(e.bound_share == 0);
  assert_int_equal(rdg_prediction_write(ctx, prediction, RDG_FORMAT_TEXT, (rdg_sink){append, &text}), RDG_OK);
  char *table = strstr(text.data, "\nchip ");
  char *reason = strstr(text.data, "1 operation of unknown cost (mystery)");
  assert_true(table != NULL && reason != NULL && reason < table);
  assert_non_null(strstr(table, "nothing timed"));
  free(text.data);
  rdg_prediction_free(prediction);
  rdg_program_free(program);
}

/* typo.yaml with its key mended states no memory size: no verdict, in the API as in text and JSON. */
static void an_unknown_memory_size_is_no_verdict(void **state) {
  rdg_context *ctx = *state;
  static const char chip[] =
      "id: sizeless\nname: x\nvendor: V\nkind: gpu\nfields:\n"
      "  peak.bf16: {value: 1e14, unit: FLOP/s, kind: inferred, source: derived, note: n}\n"
      "  peak.f32_vector: {value: 1e13, unit: FLOP/s, kind: inferred, source: derived, note: n}\n"
      "  mem.bw: {value: 1e12, unit: B/s, kind: inferred, source: derived, note: n}\n";
  char path[] = "/tmp/rdg_api_XXXXXX.yaml";
  int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, chip, sizeof chip - 1), sizeof chip - 1);
  (void)close(fd);
  rdg_program *program = parse(ctx, matmul);
  const char *chips[] = {path, "h100"};
  rdg_prediction *prediction = NULL;
  rdg_estimate unknown, known;
  struct text text = {0}, json = {0};
  assert_int_equal(rdg_predict(ctx, program, chips, 2, NULL, &prediction), RDG_OK);
  assert_true(rdg_prediction_get(prediction, 0, &unknown) && rdg_prediction_get(prediction, 1, &known));
  assert_false(unknown.capacity_known || unknown.fits || unknown.refused);
  assert_int_equal(unknown.capacity_bytes, 0);
  assert_true(known.capacity_known && known.fits);
  assert_int_equal(rdg_prediction_write(ctx, prediction, RDG_FORMAT_TEXT, (rdg_sink){append, &text}), RDG_OK);
  assert_int_equal(rdg_prediction_write(ctx, prediction, RDG_FORMAT_JSON, (rdg_sink){append, &json}), RDG_OK);
  assert_non_null(strstr(text.data, "unknown"));
  assert_non_null(strstr(json.data, "\"fits\": null"));
  unlink(path);
  free(text.data);
  free(json.data);
  rdg_prediction_free(prediction);
  rdg_program_free(program);
}

static void chips_are_listed_and_compared(void **state) {
  rdg_context *ctx = *state;
  const char *pair[] = {"h100", "mi300x"};
  for (int format = RDG_FORMAT_TEXT; format <= RDG_FORMAT_JSON; format++) {
    struct text list = {0}, show = {0}, compare = {0};
    assert_int_equal(rdg_chips_list(ctx, (rdg_format)format, (rdg_sink){append, &list}), RDG_OK);
    assert_int_equal(rdg_chip_show(ctx, "h100", (rdg_format)format, (rdg_sink){append, &show}), RDG_OK);
    assert_int_equal(rdg_chips_compare(ctx, pair, 2, (rdg_format)format, (rdg_sink){append, &compare}), RDG_OK);
    assert_non_null(strstr(list.data, "google_tpu_v5p"));
    assert_non_null(strstr(show.data, "mem.bw"));
    assert_non_null(strstr(compare.data, "amd_mi300x"));
    free(list.data);
    free(show.data);
    free(compare.data);
  }
  struct text checked = {0};
  assert_int_equal(rdg_chip_check(ctx, NULL, RDG_FORMAT_TEXT, (rdg_sink){append, &checked}), RDG_OK);
  assert_non_null(strstr(checked.data, "69 chips checked: 0 errors"));
  free(checked.data);
  assert_int_equal(rdg_chip_show(ctx, "h1000", RDG_FORMAT_TEXT, (rdg_sink){append, &checked}), RDG_ERROR_INPUT);
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(ctx, 0, &d));
  assert_string_equal(d.code, "E0307");
  assert_false(rdg_diagnostic_get(ctx, rdg_diagnostic_count(ctx), &d));
}

static void clusters_are_listed_and_shown(void **state) {
  rdg_context *ctx = *state;
  for (int format = RDG_FORMAT_TEXT; format <= RDG_FORMAT_JSON; format++) {
    struct text list = {0}, show = {0}, check = {0};
    assert_int_equal(rdg_clusters_list(ctx, (rdg_format)format, (rdg_sink){append, &list}), RDG_OK);
    assert_int_equal(rdg_cluster_show(ctx, "dgx-h100", (rdg_format)format, (rdg_sink){append, &show}), RDG_OK);
    assert_int_equal(rdg_cluster_check(ctx, NULL, (rdg_format)format, (rdg_sink){append, &check}), RDG_OK);
    assert_non_null(strstr(list.data, "tpu_v5p"));
    assert_non_null(strstr(show.data, "dimension.nvlink.link_bw"));
    assert_non_null(strstr(check.data, format == RDG_FORMAT_TEXT ? " 0 errors, 0 warnings" : "\"errors\": 0"));
    free(list.data);
    free(show.data);
    free(check.data);
  }
  struct text nothing = {0};
  assert_int_equal(rdg_cluster_show(ctx, "dgx_h1000", RDG_FORMAT_TEXT, (rdg_sink){append, &nothing}), RDG_ERROR_INPUT);
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(ctx, 0, &d));
  assert_string_equal(d.code, "E0313");
  assert_int_equal(rdg_cluster_show(ctx, "none/there.yaml", RDG_FORMAT_TEXT, (rdg_sink){append, &nothing}),
                   RDG_ERROR_IO);
  assert_null(nothing.data);
}

static void errors_carry_their_place(void **state) {
  rdg_context *ctx = *state;
  const char *text = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                     "  %0 = \"stablehlo.add\"(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                     "  return %0 : tensor<4xf32>\n}\n";
  rdg_program *program = NULL;
  assert_int_equal(rdg_program_parse(ctx, "wrong.mlir", text, strlen(text), NULL, &program), RDG_ERROR_INPUT);
  assert_null(program);
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(ctx, 0, &d));
  assert_int_equal(d.severity, RDG_SEVERITY_ERROR);
  assert_string_equal(d.code, "E0201");
  assert_string_equal(d.file, "wrong.mlir");
  assert_int_equal(d.line, 2);
  assert_non_null(strstr(rdg_diagnostics_text(ctx), "wrong.mlir:2:"));
  rdg_diagnostics_clear(ctx);
  assert_int_equal(rdg_diagnostic_count(ctx), 0);
}

static void validation_without_data_says_so(void **state) {
  rdg_context *ctx = *state;
  struct text text = {0};
  rdg_sink sink = {append, &text};
  const rdg_validate_options elsewhere = {.data_directory = "/nonexistent"};
  const char *name, *summary;
  size_t suites = 0;
  for (; rdg_validate_suite(suites, &name, &summary); suites++) {
    assert_int_equal(rdg_validate(ctx, name, &elsewhere, sink), RDG_ERROR_IO);
    assert_non_null(strstr(rdg_diagnostics_text(ctx), "no data"));
    assert_true(strlen(summary) > 0);
  }
  assert_true(suites >= 2);
  assert_int_equal(rdg_validate(ctx, "nothing", NULL, sink), RDG_ERROR_INPUT);
  assert_non_null(strstr(rdg_diagnostics_text(ctx), "workloads"));
  const rdg_validate_options filtered = {.chip = "h100"}, charted = {.page = &sink};
  assert_int_equal(rdg_validate(ctx, "workloads", &filtered, sink), RDG_ERROR_INPUT);
  assert_int_equal(rdg_validate(ctx, "workloads", &charted, sink), RDG_ERROR_INPUT);
  const rdg_validate_options unknown = {.class_name = "convolution"};
  assert_int_equal(rdg_validate(ctx, "operators", &unknown, sink), RDG_ERROR_INPUT);
  assert_non_null(strstr(rdg_diagnostics_text(ctx), "attention_prefill"));
  assert_null(text.data);
}

static void a_bad_hardware_directory_is_reported_every_time(void **state) {
  (void)state;
  rdg_config config = {.hardware_directory = "/nonexistent"};
  rdg_context *ctx = rdg_context_new(&config);
  struct text text = {0};
  for (int call = 0; call < 2; call++) {
    assert_int_not_equal(rdg_chips_list(ctx, RDG_FORMAT_TEXT, (rdg_sink){append, &text}), RDG_OK);
    assert_true(rdg_diagnostic_count(ctx) > 0);
  }
  assert_null(text.data);
  rdg_context_free(ctx);
}

static void a_receiver_that_refuses_is_a_reason(void **state) {
  rdg_context *ctx = *state;
  struct text closed = {.refuse = true};
  assert_int_equal(rdg_chips_list(ctx, RDG_FORMAT_TEXT, (rdg_sink){append, &closed}), RDG_ERROR_IO);
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(ctx, 0, &d));
  assert_string_equal(d.code, "E0006");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(totals_in_both_conventions, make_context, free_context),
      cmocka_unit_test_setup_teardown(predictions_respect_the_data_sheet, make_context, free_context),
      cmocka_unit_test_setup_teardown(a_loop_costs_its_iterations, make_context, free_context),
      cmocka_unit_test_setup_teardown(f32_products_follow_the_precision_option, make_context, free_context),
      cmocka_unit_test_setup_teardown(documents_are_written_whole_or_refused, make_context, free_context),
      cmocka_unit_test_setup_teardown(printing_inspecting_explaining, make_context, free_context),
      cmocka_unit_test_setup_teardown(tasks_are_addressed_inside_loops, make_context, free_context),
      cmocka_unit_test_setup_teardown(a_program_of_unknown_operations_says_so, make_context, free_context),
      cmocka_unit_test_setup_teardown(an_unknown_memory_size_is_no_verdict, make_context, free_context),
      cmocka_unit_test_setup_teardown(chips_are_listed_and_compared, make_context, free_context),
      cmocka_unit_test_setup_teardown(clusters_are_listed_and_shown, make_context, free_context),
      cmocka_unit_test_setup_teardown(errors_carry_their_place, make_context, free_context),
      cmocka_unit_test_setup_teardown(validation_without_data_says_so, make_context, free_context),
      cmocka_unit_test_setup_teardown(a_receiver_that_refuses_is_a_reason, make_context, free_context),
      cmocka_unit_test(a_bad_hardware_directory_is_reported_every_time),
  };
  return cmocka_run_group_tests_name("public interface", tests, NULL, NULL);
}
