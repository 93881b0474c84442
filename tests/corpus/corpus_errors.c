/* Diagnostics beside the "expected-error" comments of a piece. In the verifier tests of StableHLO
 * (corpus/stablehlo/tests/<name>.mlir) each marked line must get a diagnostic, from the parser or from the checks; elsewhere
 * the marks speak of passes, and only a piece that is not read needs them. Path: corpus_check.c → here → corpus_report.c. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "corpus.h"

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

/* Lines that a piece marks, each once. */
typedef VEC(long) line_list;

static bool has_line(const line_list *lines, long line) {
  for (size_t i = 0; i < lines->count; i++) {
    if (lines->data[i] == line) {
      return true;
    }
  }
  return false;
}

static void find_marks(const struct source *source, size_t start, size_t end, line_list *lines) {
  uint32_t line, column;
  const char *stop = source->text + end;
  for (const char *at = source->text + start; (at = strstr(at, "expected-error")) != NULL && at < stop; at++) {
    source_locate(source, (size_t)(at - source->text), &line, &column);
    long wanted = corpus_expected_line(at, stop, (long)line);
    if (wanted > 0 && !has_line(lines, wanted)) {
      (void)vec_push(lines, wanted);
    }
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

static void count_line(struct corpus_result *result, bool is_found, long line) {
  result->errors_expected++;
  result->errors_found += is_found;
  if (!is_found && result->missing_count < CORPUS_MISSING_MAX) {
    result->missing_lines[result->missing_count++] = (uint32_t)line;
  }
}

bool corpus_judge_errors(const struct corpus_pieces *pieces, size_t index, const struct diag_list *diags, bool is_read,
                         bool is_verifier_test, struct corpus_result *result) {
  line_list marks = {0};
  find_marks(&pieces->source, pieces->starts[index], pieces->ends[index], &marks);
  bool has_all = marks.count > 0;
  for (size_t i = 0; i < marks.count; i++) {
    bool is_found = has_error_on(diags, marks.data[i]);
    has_all = has_all && is_found;
    if (is_verifier_test) {
      count_line(result, is_found, marks.data[i]);
    }
  }
  for (size_t i = 0; i < diags->entries.count && (is_read || has_all); i++) {
    const struct diag *diag = &diags->entries.data[i];
    if (diag->severity == DIAG_ERROR && !has_line(&marks, (long)diag->line)) {
      corpus_add_finding(result, marks.count > 0 ? FINDING_EXTRA : FINDING_CHECK, diag);
    }
  }
  vec_release(&marks);
  return has_all;
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
