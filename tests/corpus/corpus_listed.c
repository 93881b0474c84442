/* The exceptions of the corpus: rows of exceptions.def and twin_differences.def beside what was found. Path:
 * corpus_check.c, corpus_twin.c → here. A row says exactly what must be found, so one that no longer holds is a failure. */
#include <string.h>

#include "corpus.h"

static const struct {
  uint8_t kind; /* enum corpus_finding_kind */
  const char *path;
  uint32_t line, column;
  const char *code, *reason;
} exceptions[] = {
#define CORPUS_EXCEPTION(kind, path, line, column, code, reason) {FINDING_##kind, path, line, column, code, reason},
#include "exceptions.def"
#undef CORPUS_EXCEPTION
};

static const struct {
  const char *path, *difference, *reason;
} twin_differences[] = {
#define CORPUS_TWIN_DIFFERENCE(path, difference, reason) {path, difference, reason},
#include "twin_differences.def"
#undef CORPUS_TWIN_DIFFERENCE
};

enum {
  EXCEPTION_COUNT = sizeof exceptions / sizeof exceptions[0],
  TWIN_DIFFERENCE_COUNT = sizeof twin_differences / sizeof twin_differences[0]
};

void corpus_add_finding(struct corpus_result *result, enum corpus_finding_kind kind, const struct diag *diag) {
  if (result->finding_count < CORPUS_FINDING_MAX) {
    result->findings[result->finding_count] = (struct corpus_finding){
        .kind = (uint8_t)kind, .id = (uint16_t)diag->id, .line = diag->line, .column = diag->column};
  }
  result->finding_count++;
}

static bool is_row(const char *relative, int row, const struct corpus_finding *finding) {
  return exceptions[row].kind == finding->kind && exceptions[row].line == finding->line
         && exceptions[row].column == finding->column
         && strcmp(exceptions[row].code, diag_code((enum diag_id)finding->id)) == 0
         && strcmp(exceptions[row].path, relative) == 0;
}

static bool has_row(const char *relative, const struct corpus_finding *finding) {
  for (int i = 0; i < EXCEPTION_COUNT; i++) {
    if (is_row(relative, i, finding)) {
      return true;
    }
  }
  return false;
}

static bool was_found(const char *relative, int row, const struct corpus_result *result) {
  for (uint32_t i = 0; i < result->finding_count && i < CORPUS_FINDING_MAX; i++) {
    if (is_row(relative, row, &result->findings[i])) {
      return true;
    }
  }
  return false;
}

bool corpus_findings_listed(const char *relative, const struct corpus_result *result, char *reason,
                            size_t reason_size) {
  static const char *const kinds[] = {"refused", "fails a check", "an error on a line that is not marked"};
  for (uint32_t i = 0; i < result->finding_count && i < CORPUS_FINDING_MAX; i++) {
    const struct corpus_finding *f = &result->findings[i];
    if (!has_row(relative, f)) {
      snprintf(reason, reason_size, "%s: %u:%u: %s: %s", kinds[f->kind], f->line, f->column,
               diag_code((enum diag_id)f->id), diag_summary((enum diag_id)f->id));
      return false;
    }
  }
  if (result->finding_count > CORPUS_FINDING_MAX) {
    snprintf(reason, reason_size, "%u errors that are not expected", result->finding_count);
    return false;
  }
  for (int i = 0; i < EXCEPTION_COUNT; i++) {
    if (strcmp(exceptions[i].path, relative) == 0 && !was_found(relative, i, result)) {
      snprintf(reason, reason_size, "listed in exceptions.def but not found: %u:%u: %s", exceptions[i].line,
               exceptions[i].column, exceptions[i].code);
      return false;
    }
  }
  return true;
}

bool corpus_is_listed(const char *relative) {
  for (int i = 0; i < EXCEPTION_COUNT; i++) {
    if (strcmp(exceptions[i].path, relative) == 0) {
      return true;
    }
  }
  return false;
}

static int twin_row(const char *relative) {
  for (int i = 0; i < TWIN_DIFFERENCE_COUNT; i++) {
    if (strcmp(twin_differences[i].path, relative) == 0) {
      return i;
    }
  }
  return -1;
}

bool corpus_twin_has_row(const char *relative) {
  return twin_row(relative) >= 0;
}

bool corpus_twin_listed(const char *relative, const char *difference) {
  int row = twin_row(relative);
  return row >= 0 && strcmp(twin_differences[row].difference, difference) == 0;
}

static bool is_in_run(const struct corpus *corpus, const char *relative) {
  for (size_t i = 0; i < corpus->count; i++) {
    if (strcmp(corpus->files[i].relative, relative) == 0) {
      return true;
    }
  }
  return false;
}

/* Programs that exporters wrote: nothing in them is excused. */
static bool is_strict(const char *path) {
  static const char *const folders[] = {"corpus/stablehlo/testdata/", "corpus/jax_export/", "workloads/"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
      return true;
    }
  }
  return false;
}

size_t corpus_report_stale(const struct corpus *corpus) {
  size_t stale = 0;
  for (int i = 0; corpus->is_whole && i < EXCEPTION_COUNT; i++) {
    if (is_strict(exceptions[i].path) || !is_in_run(corpus, exceptions[i].path)) {
      printf("exceptions.def: %s: %s\n", is_strict(exceptions[i].path) ? "may not be listed" : "no such file",
             exceptions[i].path);
      stale++;
    }
  }
  for (int i = 0; corpus->is_whole && i < TWIN_DIFFERENCE_COUNT; i++) {
    if (!is_in_run(corpus, twin_differences[i].path)) {
      printf("twin_differences.def: no such file: %s\n", twin_differences[i].path);
      stale++;
    }
  }
  return stale;
}
