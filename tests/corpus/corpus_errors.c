/* Errors that the verifier tests of StableHLO expect: each marked line of corpus/stablehlo/tests/<name>.mlir must get a
 * diagnostic, from the parser or from the checks. Path: corpus_check.c → here → corpus_report.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "corpus.h"
#include "mlir/mlir.h"

static const char tests_folder[] = "corpus/stablehlo/tests/";

/* Files whose expectations are of passes of upstream's own test tool. */
static const struct {
  const char *file, *pass, *reason;
} test_passes[] = {
#define CORPUS_TEST_PASS(file, pass, reason) {file, pass, reason},
#include "test_passes.def"
#undef CORPUS_TEST_PASS
};

enum { TEST_PASS_COUNT = sizeof test_passes / sizeof test_passes[0] };

bool corpus_expects_errors(const char *relative) {
  size_t length = sizeof tests_folder - 1;
  return strncmp(relative, tests_folder, length) == 0 && strchr(relative + length, '/') == NULL;
}

long corpus_expected_line(const char *at, const char *end, long line) {
  const char *place = at + strlen("expected-error");
  long shift = 0;
  place += end - place >= 3 && strncmp(place, "-re", 3) == 0 ? 3 : 0;
  place += strspn(place, " ");
  if (place < end && *place == '@') {
    place++;
    if (strncmp(place, "below", 5) == 0 || strncmp(place, "above", 5) == 0) {
      shift = *place == 'b' ? 1 : -1;
      place += 5;
    } else {
      char *number_end;
      shift = strtol(place, &number_end, 10);
      place = number_end;
    }
  }
  place += strspn(place, " 0123456789"); /* how often the error is expected */
  return end - place >= 2 && strncmp(place, "{{", 2) == 0 ? line + shift : 0;
}

/* Diagnostics of one piece. */
static void diagnose(const struct source *source, size_t start, size_t end, struct diag_list *diags) {
  struct ir_module *module = NULL;
  if (mlir_parse_piece(source, start, end, NULL, diags, &module) == STATUS_OK) {
    (void)analyze_infer(module, diags);
    (void)analyze_calls(module, diags);
    ir_module_free(module);
  }
}

static bool has_error_on(const struct diag_list *diags, long line) {
  for (size_t i = 0; i < diags->entries.count; i++) {
    if (diags->entries.data[i].severity == DIAG_ERROR && (long)diags->entries.data[i].line == line) {
      return true;
    }
  }
  return false;
}

static void count_line(struct corpus_result *result, const struct diag_list *diags, long line) {
  result->errors_expected++;
  if (has_error_on(diags, line)) {
    result->errors_found++;
  } else if (result->missing_count < CORPUS_MISSING_MAX) {
    result->missing_lines[result->missing_count++] = (uint32_t)line;
  }
}

static void count_piece(const struct source *source, size_t start, size_t end, struct corpus_result *result) {
  struct diag_list diags;
  uint32_t line, column;
  long last = 0; /* several expectations of one line stand together and count once */
  diag_init(&diags);
  diags.error_limit = 1000;
  diagnose(source, start, end, &diags);
  const char *stop = source->text + end;
  for (const char *at = source->text + start; (at = strstr(at, "expected-error")) != NULL && at < stop; at++) {
    source_locate(source, (size_t)(at - source->text), &line, &column);
    long wanted = corpus_expected_line(at, stop, (long)line);
    if (wanted > 0 && wanted != last) {
      count_line(result, &diags, wanted);
      last = wanted;
    }
  }
  diag_release(&diags);
}

void corpus_count_errors(const struct corpus_pieces *pieces, struct corpus_result *result) {
  for (size_t i = 0; i < pieces->count; i++) {
    count_piece(&pieces->source, pieces->starts[i], pieces->ends[i], result);
  }
}

/* Row of the table for a file, -1 when it has none. */
static int find_test_pass(const char *relative) {
  for (int i = 0; corpus_expects_errors(relative) && i < TEST_PASS_COUNT; i++) {
    if (strcmp(test_passes[i].file, relative + sizeof tests_folder - 1) == 0) {
      return i;
    }
  }
  return -1;
}

size_t corpus_report_errors(const struct corpus *corpus) {
  size_t expected = 0, found = 0, missing = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    expected += r->errors_expected;
    found += r->errors_found;
    if (find_test_pass(corpus->files[i].relative) < 0) {
      missing += r->errors_expected - r->errors_found;
      for (uint32_t j = 0; j < r->missing_count; j++) {
        printf("%s:%u: an error is expected here\n", corpus->files[i].relative, r->missing_lines[j]);
      }
    }
  }
  if (expected == 0) {
    return 0;
  }
  printf("errors: %zu of %zu\n", found, expected);
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    int row = find_test_pass(corpus->files[i].relative);
    if (row >= 0 && r->errors_expected > 0) {
      printf("  %s (run with %s): %u of %u; %s\n", test_passes[row].file, test_passes[row].pass, r->errors_found,
             r->errors_expected, test_passes[row].reason);
    }
  }
  return missing;
}
