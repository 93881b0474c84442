/* The 46 cases of XLA's HloCostAnalysis test, as programs of tests/golden/cost with their numbers in the first
 * lines, and a cross-check of those numbers against the table of facts when the shared data is present. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analyze.h"
#include "mlir/mlir.h"

#define CASE_OPERANDS 8
#define NOT_STATED INT64_MIN

struct expectation {
  char name[64]; /* row of cost_cases.csv, "-" for cases of our own */
  char op[64]; /* operation, or @function for a sum */
  int64_t flops, transcendentals, bytes, output;
  int64_t operands[CASE_OPERANDS];
  double seconds; /* < 0 = not stated */
  struct analyze_xla_options options;
};

static const char *const files[] = {"matrix_multiply",
                                    "dot_general",
                                    "dot_general_batch",
                                    "dot_general_outer",
                                    "map",
                                    "convolution",
                                    "convolution_same",
                                    "convolution_extreme",
                                    "convolution_extreme2",
                                    "convolution_feature_group",
                                    "convolution_base_dilated",
                                    "convolution_as_matmul",
                                    "reduce",
                                    "reduce_window",
                                    "reduce_window_overlap",
                                    "reduce_window_reduce_broadcast",
                                    "reduce_window_variadic",
                                    "select_and_scatter",
                                    "broadcast",
                                    "broadcast_multiple_accesses",
                                    "fully_connected_forward",
                                    "tuple",
                                    "slice",
                                    "dynamic_slice",
                                    "dynamic_update_slice",
                                    "gather",
                                    "gather_batching_dims",
                                    "scatter",
                                    "scatter_batching_dims",
                                    "scatter_two_outputs",
                                    "all_reduce_tuple",
                                    "infeed",
                                    "outfeed",
                                    "domain",
                                    "latency_bounded",
                                    "fusion_loop",
                                    "fusion_tuple_output",
                                    "fusion_no_layout",
                                    "fusion_tuple_parameter",
                                    "fusion_tuple_bytes",
                                    "fusion_unused_parameter",
                                    "fusion_broadcast",
                                    "fusion_nested_feeds_two",
                                    "fusion_nested_and_trivial_user",
                                    "fusion_dynamic_update_slice",
                                    "fusion_revisit",
                                    "fusion_large_constant"};
#define FILE_COUNT (sizeof files / sizeof files[0])

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return NULL;
  }
  char *text = malloc(1 << 20);
  assert_non_null(text);
  size_t length = fread(text, 1, (1 << 20) - 1, file);
  text[length] = '\0';
  fclose(file);
  return text;
}

/* Line behind "// key: ", copied into `out`; false when there is none. */
static bool header(const char *text, const char *key, char *out, size_t size) {
  char prefix[32];
  snprintf(prefix, sizeof prefix, "// %s: ", key);
  const char *at = strstr(text, prefix);
  if (at == NULL) {
    return false;
  }
  at += strlen(prefix);
  size_t length = strcspn(at, "\n");
  assert_true(length < size);
  memcpy(out, at, length);
  out[length] = '\0';
  return true;
}

/* Value of "key=value" in a line. */
static const char *value_of(const char *line, const char *key) {
  char prefix[64];
  snprintf(prefix, sizeof prefix, "%s=", key);
  const char *at = strstr(line, prefix);
  return at != NULL ? at + strlen(prefix) : NULL;
}

static int64_t number_of(const char *line, const char *key) {
  const char *value = value_of(line, key);
  return value != NULL ? strtoll(value, NULL, 10) : NOT_STATED;
}

static void read_expectation(const char *text, struct expectation *out) {
  char line[512];
  memset(out, 0, sizeof *out);
  assert_true(header(text, "case", out->name, sizeof out->name));
  assert_true(header(text, "op", out->op, sizeof out->op));
  assert_true(header(text, "expect", line, sizeof line));
  out->flops = number_of(line, "flops");
  out->transcendentals = number_of(line, "transcendentals");
  out->bytes = number_of(line, "bytes");
  out->output = number_of(line, "output");
  for (int i = 0; i < CASE_OPERANDS; i++) {
    char key[16];
    snprintf(key, sizeof key, "operand%d", i);
    out->operands[i] = number_of(line, key);
  }
  const char *seconds = value_of(line, "seconds");
  out->seconds = seconds != NULL ? strtod(seconds, NULL) : -1.0;
  if (header(text, "options", line, sizeof line)) {
    const char *value;
    out->options.count_multiple_input_accesses = strstr(line, "count_multiple_input_accesses") != NULL;
    out->options.flops_per_s = (value = value_of(line, "flops_per_s")) != NULL ? strtod(value, NULL) : 0.0;
    out->options.bytes_per_s = (value = value_of(line, "bytes_per_s")) != NULL ? strtod(value, NULL) : 0.0;
    out->options.min_latency_s = (value = value_of(line, "min_latency_s")) != NULL ? strtod(value, NULL) : 0.0;
  }
}

static struct ir_module *parse(const char *name, const char *text) {
  struct diag_list diags;
  struct ir_module *module = NULL;
  struct source source = {name, text, strlen(text)};
  struct mlir_parse_options options = {0};
  diag_init(&diags);
  enum status status = mlir_parse(&source, &options, &diags, &module);
  if (status == STATUS_OK) {
    status = analyze_infer(module, &diags);
  }
  if (status != STATUS_OK) {
    struct strbuf message = {0};
    for (size_t i = 0; i < diags.entries.count; i++) {
      diag_format(&diags.entries.data[i], &message);
    }
    print_error("%s", strbuf_text(&message));
    strbuf_release(&message);
  }
  diag_release(&diags);
  assert_int_equal(status, STATUS_OK);
  return module;
}

/* Last op of that name directly in @main. */
static struct ir_op find_op(const struct ir_module *module, const char *name) {
  struct ir_op found = {0};
  struct ir_block body = ir_function_body(module, ir_function_entry(module));
  for (struct ir_op op = ir_block_first(module, body); op.id != 0; op = ir_op_next(module, op)) {
    if (strcmp(ir_text(module, ir_op_get(module, op)->name), name) == 0) {
      found = op;
    }
  }
  return found;
}

static int64_t stated_or(int64_t expected, int64_t found) {
  return expected == NOT_STATED ? found : expected;
}

static void check_file(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/golden/cost/%s.mlir", RDG_SOURCE_DIR, name);
  char *text = read_file(path);
  assert_non_null(text);
  struct expectation expected;
  struct analyze_xla_cost cost;
  read_expectation(text, &expected);
  struct ir_module *module = parse(path, text);
  if (expected.op[0] == '@') {
    struct ir_op function = ir_function_find(module, expected.op + 1);
    assert_int_equal(analyze_xla_function(module, function, &expected.options, &cost), STATUS_OK);
  } else {
    struct ir_op op = find_op(module, expected.op);
    assert_int_not_equal(op.id, 0);
    assert_int_equal(analyze_xla_op(module, op, &expected.options, &cost), STATUS_OK);
  }
  int64_t wanted[4] = {stated_or(expected.flops, cost.flops), stated_or(expected.transcendentals, cost.transcendentals),
                       stated_or(expected.bytes, cost.bytes_accessed), stated_or(expected.output, cost.output_bytes)};
  if (cost.flops != wanted[0] || cost.transcendentals != wanted[1] || cost.bytes_accessed != wanted[2]
      || cost.output_bytes != wanted[3]) {
    fail_msg("%s: flops %lld transcendentals %lld bytes %lld output %lld", name, (long long)cost.flops,
             (long long)cost.transcendentals, (long long)cost.bytes_accessed, (long long)cost.output_bytes);
  }
  for (uint32_t i = 0; i < CASE_OPERANDS; i++) {
    if (expected.operands[i] != NOT_STATED && cost.operand_bytes[i] != expected.operands[i]) {
      fail_msg("%s: operand %u has %lld bytes, expected %lld", name, i, (long long)cost.operand_bytes[i],
               (long long)expected.operands[i]);
    }
  }
  if (expected.seconds >= 0.0) {
    assert_true(cost.optimal_seconds == expected.seconds);
  }
  ir_module_free(module);
  free(text);
}

static void test_all_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    check_file(files[i]);
  }
}

/* The fusion of LoopFusion at four sets of rates: 16 flops, 4 transcendentals and 64 bytes take one second each at the
 * base rates; one of them slowed by 2, 4 and 8 makes it the bottleneck (FusionCostAnalysis.LoopFusion). */
static void test_bottleneck(void **state) {
  (void)state;
  char path[512];
  snprintf(path, sizeof path, "%s/tests/golden/cost/fusion_loop.mlir", RDG_SOURCE_DIR);
  char *text = read_file(path);
  assert_non_null(text);
  struct ir_module *module = parse(path, text);
  struct ir_op op = find_op(module, "mhlo.fusion");
  for (int i = 0; i < 4; i++) {
    struct analyze_xla_options options = {.flops_per_s = i == 1 ? 8.0 : 16.0,
                                          .transcendentals_per_s = i == 2 ? 1.0 : 4.0,
                                          .bytes_per_s = i == 3 ? 8.0 : 64.0};
    struct analyze_xla_cost cost;
    assert_int_equal(analyze_xla_op(module, op, &options, &cost), STATUS_OK);
    assert_true(cost.optimal_seconds == (double)(1 << i));
  }
  ir_module_free(module);
  free(text);
}

/* ---- the table of facts ---- */

/* Splits a CSV line in place into at most `capacity` fields. */
static int split_csv(char *line, char **fields, int capacity) {
  int count = 0;
  while (count < capacity) {
    char *out = line;
    fields[count++] = out;
    bool is_quoted = false;
    for (; *line != '\0' && (*line != ',' || is_quoted); line++) {
      if (*line == '"') {
        is_quoted = !is_quoted;
      } else {
        *out++ = *line;
      }
    }
    bool is_end = *line == '\0';
    *out = '\0';
    if (is_end) {
      break;
    }
    line++;
  }
  return count;
}

static bool starts_with_digit(const char *text) {
  return text[0] >= '0' && text[0] <= '9';
}

/* Our expectation says what the row says, in every cell that is a number. */
static void compare_row(char **fields, int count, const struct expectation *mine) {
  const int64_t values[3] = {mine->flops, mine->transcendentals, mine->bytes};
  for (int i = 0; i < 3; i++) {
    if (starts_with_digit(fields[5 + i]) && strtoll(fields[5 + i], NULL, 10) != values[i]) {
      fail_msg("%s: column %d is '%s' in the table, %lld here", fields[0], 5 + i, fields[5 + i], (long long)values[i]);
    }
  }
  for (const char *at = fields[8]; *at != '\0'; at++) {
    bool is_entry = starts_with_digit(at) && at[1] == ':' && starts_with_digit(at + 2);
    if (is_entry && mine->operands[*at - '0'] != strtoll(at + 2, NULL, 10)) {
      fail_msg("%s: operand %c differs from '%s'", fields[0], *at, fields[8]);
    }
    at += is_entry ? 2 : 0;
  }
  if (count > 9 && starts_with_digit(fields[9]) && strtoll(fields[9], NULL, 10) != mine->output) {
    fail_msg("%s: output is '%s' in the table, %lld here", fields[0], fields[9], (long long)mine->output);
  }
}

static void test_table_of_facts(void **state) {
  (void)state;
  char path[512];
  const char *root = getenv("RIDGELINE_DATA");
  snprintf(path, sizeof path, "%s/corpus/facts/cost_cases.csv", root != NULL ? root : RDG_SOURCE_DIR "/../shared/data");
  char *table = read_file(path);
  if (table == NULL) {
    print_message("skipped: no data\n");
    skip();
  }
  int found = 0, rows = 0;
  for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char *fields[12];
    int count = split_csv(line, fields, 12);
    if (count < 9 || strcmp(fields[0], "test") == 0) {
      continue;
    }
    rows++;
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", fields[0], strcmp(fields[0], "InfeedOutfeed") == 0 ? " " : "",
             strcmp(fields[0], "InfeedOutfeed") == 0 ? fields[1] : "");
    for (size_t i = 0; i < FILE_COUNT; i++) {
      char file[512];
      struct expectation mine;
      snprintf(file, sizeof file, "%s/tests/golden/cost/%s.mlir", RDG_SOURCE_DIR, files[i]);
      char *text = read_file(file);
      assert_non_null(text);
      read_expectation(text, &mine);
      free(text);
      if (strcmp(mine.name, name) == 0) {
        compare_row(fields, count, &mine);
        found++;
        break;
      }
    }
  }
  free(table);
  assert_int_equal(rows, 46);
  assert_int_equal(found, rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_cases), cmocka_unit_test(test_bottleneck),
                                     cmocka_unit_test(test_table_of_facts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
