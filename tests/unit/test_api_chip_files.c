/* Chip files of users, end to end: the examples of docs/chips.md as they stand there, and what a misspelt key gets. */
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

/* 4096^3 multiply-adds: 2 * 4096^3 = 137.4e9 FLOPs over 3 * 32 MiB. */
static const char product[] =
    "func.func @main(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, "
    "tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>\n"
    "  return %0 : tensor<4096x4096xbf16>\n}\n";

/* Three element-wise operations over 2^27 numbers: one kernel where chains are fused, three where not. */
static const char chain[] = "func.func @main(%a: tensor<134217728xf32>) -> tensor<134217728xf32> {\n"
                            "  %0 = stablehlo.add %a, %a : tensor<134217728xf32>\n"
                            "  %1 = stablehlo.multiply %0, %a : tensor<134217728xf32>\n"
                            "  %2 = stablehlo.add %1, %a : tensor<134217728xf32>\n"
                            "  return %2 : tensor<134217728xf32>\n}\n";

struct text {
  char data[1 << 16];
  size_t length;
};

static bool append(void *user, const char *piece, size_t length) {
  struct text *t = user;
  assert_true(t->length + length < sizeof t->data);
  memcpy(t->data + t->length, piece, length);
  t->length += length;
  t->data[t->length] = '\0';
  return true;
}

/* Writes the YAML block of docs/chips.md that begins with "id: <id>" to a file; the caller unlinks it. */
static void write_example(const char *id, char path[static 32]) {
  static char text[1 << 16];
  FILE *file = fopen(RDG_SOURCE_DIR "/docs/chips.md", "rb");
  assert_non_null(file);
  size_t length = fread(text, 1, sizeof text - 1, file);
  (void)fclose(file);
  text[length] = '\0';
  char start[64];
  snprintf(start, sizeof start, "```yaml\nid: %s\n", id);
  char *block = strstr(text, start);
  assert_non_null(block);
  block += strlen("```yaml\n");
  char *end = strstr(block, "```");
  assert_non_null(end);
  strcpy(path, "/tmp/rdg_doc_XXXXXX.yaml");
  int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, block, (size_t)(end - block)), end - block);
  (void)close(fd);
}

static rdg_estimate predict(rdg_context *ctx, const char *program_text, const char *chip) {
  rdg_program *program = NULL;
  rdg_prediction *prediction = NULL;
  rdg_estimate estimate;
  if (rdg_program_parse(ctx, "test.mlir", program_text, strlen(program_text), NULL, &program) != RDG_OK
      || rdg_predict(ctx, program, &chip, 1, NULL, &prediction) != RDG_OK) {
    fail_msg("%s", rdg_diagnostics_text(ctx));
  }
  assert_true(rdg_prediction_get(prediction, 0, &estimate));
  estimate.bound_by = strcmp(estimate.bound_by, "memory") == 0 ? "memory" : "other"; /* outlives the prediction */
  rdg_prediction_free(prediction);
  rdg_program_free(program);
  return estimate;
}

/* The time of a stream is bytes / bandwidth, so 1.5 times the bandwidth is close to 1.5 times as fast. */
static void the_what_if_example_works(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  char path[32];
  write_example("h100_fast_memory", path);
  double plain = predict(ctx, chain, "h100").time_s, fast = predict(ctx, chain, path).time_s;
  assert_true(plain / fast > 1.45 && plain / fast < 1.51);
  struct text shown = {.length = 0};
  assert_int_equal(rdg_chip_show(ctx, path, RDG_FORMAT_TEXT, (rdg_sink){append, &shown}), RDG_OK);
  assert_non_null(strstr(shown.data, "5.03 TB/s"));
  assert_non_null(strstr(shown.data, "from nvidia_h100_sxm"));
  assert_null(strstr(shown.data, "h100-sxm,")); /* aliases stay with the chip that has them */
  unlink(path);
  rdg_context_free(ctx);
}

/* At the 0.8 of its peak that the defaults state, the product takes 137.4e9 / (0.8 * 400e12) = 0.43 ms; without a cache
 * its operands would be read again from memory, three times as long. The chain is one kernel: 2 * 0.54 GB / 1.8 TB/s. */
static void the_smallest_chip_predicts_well(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  char path[32];
  write_example("smallest", path);
  double ideal_s = 2 * 4096.0 * 4096 * 4096 / (0.8 * 400e12);
  rdg_estimate e = predict(ctx, product, path);
  assert_true(e.time_s > ideal_s && e.time_s < 1.5 * ideal_s);
  assert_true(e.capacity_known && e.fits);
  e = predict(ctx, chain, path);
  double stream_s = 2 * 4 * 134217728.0 / (0.9 * 2e12);
  assert_int_equal(e.kernels, 1);
  assert_true(e.time_s > stream_s && e.time_s < 1.1 * stream_s);
  struct text checked = {.length = 0};
  assert_int_equal(rdg_chip_check(ctx, path, RDG_FORMAT_TEXT, (rdg_sink){append, &checked}), RDG_OK);
  assert_int_equal(rdg_diagnostic_count(ctx), 0);
  assert_non_null(strstr(checked.data, "generic_gpu"));
  assert_non_null(strstr(checked.data, "model.fusion"));
  assert_non_null(strstr(checked.data, "l2.size"));
  unlink(path);
  rdg_context_free(ctx);
}

static void a_misspelt_key_is_pointed_at(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  static const char path[] = RDG_SOURCE_DIR "/tests/cli/inputs/typo.yaml";
  struct text json = {.length = 0};
  assert_int_equal(rdg_chip_check(ctx, path, RDG_FORMAT_JSON, (rdg_sink){append, &json}), RDG_OK);
  rdg_diagnostic d;
  assert_true(rdg_diagnostic_get(ctx, 0, &d));
  assert_string_equal(d.code, "W0310");
  assert_non_null(strstr(d.message, "mem.bw"));
  assert_true(rdg_diagnostic_get(ctx, 1, &d));
  assert_string_equal(d.code, "W0311");
  assert_non_null(strstr(d.message, "did you mean 'mem.bw'?"));
  assert_int_equal(d.line, 11);
  assert_non_null(strstr(json.data, "\"format\": \"ridgeline-chip-check\""));
  assert_non_null(strstr(json.data, "\"warnings\": 2"));
  assert_non_null(strstr(json.data, "\"defaults_from\": \"generic_gpu\""));
  rdg_context_free(ctx);
}

/* JSON comes for a file with errors as well, and the call fails. */
static void errors_are_in_the_document(void **state) {
  (void)state;
  rdg_context *ctx = rdg_context_new(NULL);
  static const char path[] = RDG_SOURCE_DIR "/tests/cli/inputs/negative_bandwidth.yaml";
  struct text json = {.length = 0};
  assert_int_equal(rdg_chip_check(ctx, path, RDG_FORMAT_JSON, (rdg_sink){append, &json}), RDG_ERROR_INPUT);
  assert_non_null(strstr(json.data, "\"checked\": 0"));
  assert_non_null(strstr(json.data, "\"code\": \"E0303\""));
  rdg_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_what_if_example_works),
      cmocka_unit_test(the_smallest_chip_predicts_well),
      cmocka_unit_test(a_misspelt_key_is_pointed_at),
      cmocka_unit_test(errors_are_in_the_document),
  };
  return cmocka_run_group_tests_name("chip files", tests, NULL, NULL);
}
