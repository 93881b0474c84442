/* The verifier tests of StableHLO (stablehlo/tests of the shared corpus): every line with an expected-error must get a
 * diagnostic, from the parser or from here, except in the one file whose errors are of an operation of upstream's test
 * tool. The corpus tool prints the same count for all files. */
#include "analyze_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_LINES 20000
#define MAX_PIECES 1024

/* Files of stablehlo/tests with expected errors. */
static const char *const files[] = {"future_type",
                                    "infer_chlo",
                                    "infer_stablehlo",
                                    "ops_broadcasting",
                                    "ops_chlo",
                                    "ops_dot_general_algorithms",
                                    "ops_interpreter",
                                    "ops_stablehlo",
                                    "ops_stablehlo_bounded_dynamism",
                                    "ops_stablehlo_quantized",
                                    "print_types_invalid",
                                    "verify_async_ops",
                                    "verify_bounds",
                                    "verify_convolution",
                                    "verify_dynamic_conv",
                                    "verify_reduce",
                                    "verify_reduce_window",
                                    "verify_replica_groups_mesh_axes",
                                    "verify_scatter",
                                    "verify_select_and_scatter",
                                    "verify_while"};
/* Lines with an expected error in those files (866 by the census of the corpus), and those of the file below. */
#define EXPECTED_LINES 866
#define FOREIGN_LINES 4
static const char foreign_file[] = "ops_broadcasting"; /* run with --hlo-test-broadcast */

struct lines {
  uint8_t is_expected[MAX_LINES];
  uint8_t is_reported[MAX_LINES];
};

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return NULL;
  }
  char *text = malloc(2 << 20);
  assert_non_null(text);
  *length = fread(text, 1, (2 << 20) - 1, file);
  text[*length] = '\0';
  fclose(file);
  return text;
}

/* Line that an "expected-error@+2 {{", "@below" or plain "expected-error {{" means; 0 when the comment is another. */
static uint32_t target_line(const char *at, uint32_t line) {
  at += strlen("expected-error");
  at += strncmp(at, "-re", 3) == 0 ? 3 : 0;
  at += strspn(at, " ");
  long shift = 0;
  if (*at == '@') {
    at++;
    if (strncmp(at, "below", 5) == 0 || strncmp(at, "above", 5) == 0) {
      shift = *at == 'b' ? 1 : -1;
      at += 5;
    } else {
      char *end;
      shift = strtol(at, &end, 10);
      at = end;
    }
  }
  at += strspn(at, " 0123456789");
  return strncmp(at, "{{", 2) == 0 ? (uint32_t)((long)line + shift) : 0;
}

static void read_expectations(const char *text, struct lines *lines) {
  uint32_t line = 1;
  for (const char *at = text; *at != '\0'; at++) {
    if (*at == '\n') {
      line++;
    } else if (strncmp(at, "expected-error", 14) == 0) {
      uint32_t target = target_line(at, line);
      if (target > 0 && target < MAX_LINES) {
        lines->is_expected[target] = 1;
      }
    }
  }
}

static void check_piece(const struct source *source, size_t start, size_t end, struct lines *lines) {
  struct diag_list diags;
  struct ir_module *module = NULL;
  struct mlir_parse_options options = {0};
  diag_init(&diags);
  diags.error_limit = 1000;
  if (mlir_parse_piece(source, start, end, &options, &diags, &module) == STATUS_OK) {
    analyze_infer(module, &diags);
    analyze_calls(module, &diags);
    ir_module_free(module);
  }
  for (size_t i = 0; i < diags.entries.count; i++) {
    const struct diag *diag = &diags.entries.data[i];
    if (diag->severity == DIAG_ERROR && diag->line < MAX_LINES) {
      lines->is_reported[diag->line] = 1;
    }
  }
  diag_release(&diags);
}

static void test_expected_errors(void **state) {
  (void)state;
  static size_t starts[MAX_PIECES], ends[MAX_PIECES];
  const char *root = getenv("RIDGELINE_DATA");
  unsigned expected = 0, found = 0;
  for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
    char path[512];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/corpus/stablehlo/tests/%s.mlir",
             root != NULL ? root : RDG_SOURCE_DIR "/../shared/data", files[f]);
    char *text = read_file(path, &length);
    if (text == NULL) {
      print_message("skipped: no data\n");
      skip();
    }
    struct lines *lines = calloc(1, sizeof *lines);
    assert_non_null(lines);
    struct source source = {path, text, length};
    size_t pieces = mlir_split(&source, starts, ends, MAX_PIECES);
    assert_true(pieces <= MAX_PIECES);
    read_expectations(text, lines);
    for (size_t i = 0; i < pieces; i++) {
      check_piece(&source, starts[i], ends[i], lines);
    }
    for (uint32_t line = 1; line < MAX_LINES; line++) {
      expected += lines->is_expected[line];
      found += lines->is_expected[line] & lines->is_reported[line];
      if (lines->is_expected[line] && !lines->is_reported[line] && strcmp(files[f], foreign_file) != 0) {
        print_error("%s:%u: an error is expected here\n", path, line);
      }
    }
    free(lines);
    free(text);
  }
  print_message("%u of %u expected errors\n", found, expected);
  assert_int_equal(expected, EXPECTED_LINES);
  assert_true(found >= EXPECTED_LINES - FOREIGN_LINES);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_expected_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
