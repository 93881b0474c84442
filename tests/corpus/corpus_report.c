/* What the corpus test prints: a row per folder, the gate, failures on request, JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

/* A run over the gate folders passes with this share of files. */
#define GATE_SHARE 0.97

static const char *const gate_folders[] = {"corpus/stablehlo/testdata/", "corpus/generic_form/", "corpus/models/",
                                           "workloads/"};
/* StableHLO files here must be read, whatever the share. */
static const char *const must_read[] = {"workloads/", "corpus/models/mlir_tensorrt/", "corpus/models/tt_mlir/",
                                        "corpus/models/tt_xla/"};

struct row {
  const char *folder;
  size_t files, read, fixed, twins, twins_equal, foreign, failed, as_printed, without_locations;
  uint64_t bytes;
};

static bool starts_with_any(const char *path, const char *const *prefixes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_read(const struct corpus_result *r) {
  return r->status == CORPUS_OK || r->status == CORPUS_UNSTABLE;
}

static void add_to_row(struct row *row, const struct corpus_result *r) {
  row->files++;
  row->read += is_read(r);
  row->fixed += r->status == CORPUS_OK;
  row->foreign += r->status == CORPUS_FOREIGN;
  row->failed += r->status != CORPUS_OK && r->status != CORPUS_FOREIGN;
  row->twins += r->twin != TWIN_NONE;
  row->twins_equal += r->twin == TWIN_EQUAL;
  row->without_locations += !r->has_locations;
  row->as_printed += r->is_as_printed && !r->has_locations;
  row->bytes += r->bytes;
}

static void print_row(const char *name, const struct row *row) {
  char twins[32] = "-";
  if (row->twins > 0) {
    snprintf(twins, sizeof twins, "%zu/%zu", row->twins_equal, row->twins);
  }
  char printed[32];
  snprintf(printed, sizeof printed, "%zu/%zu", row->as_printed, row->without_locations);
  printf("%-32s %6zu %7zu %11zu %12s %8zu %7zu %11s %7.1f\n", name, row->files, row->read, row->fixed, twins,
         row->foreign, row->failed, printed, (double)row->bytes / 1e6);
}

static void print_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      fprintf(out, "\\%c", c);
    } else if (c < 0x20 || c >= 0x7F) {
      fprintf(out, "\\u%04x", c);
    } else {
      fputc(c, out);
    }
  }
  fputc('"', out);
}

static void write_json_rows(FILE *out, const struct row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    fprintf(out, "%s\n    {\"folder\": ", i ? "," : "");
    print_text(out, rows[i].folder);
    fprintf(out,
            ", \"files\": %zu, \"read\": %zu, \"fixed_point\": %zu, \"twins\": %zu, \"twins_equal\": %zu, "
            "\"foreign\": %zu, \"failed\": %zu, \"as_printed\": %zu, \"without_locations\": %zu}",
            rows[i].files, rows[i].read, rows[i].fixed, rows[i].twins, rows[i].twins_equal, rows[i].foreign,
            rows[i].failed, rows[i].as_printed, rows[i].without_locations);
  }
}

static bool write_json(const struct corpus *corpus, const char *path, const struct row *rows, size_t count,
                       size_t passed, size_t total, double seconds) {
  FILE *out = fopen(path, "w");
  if (!out) {
    return false;
  }
  fprintf(out, "{\n  \"gate\": {\"passed\": %zu, \"of\": %zu},\n  \"seconds\": %.2f,\n  \"folders\": [", passed, total,
          seconds);
  write_json_rows(out, rows, count);
  fprintf(out, "\n  ],\n  \"failures\": [");
  const char *separator = "";
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    if (r->status == CORPUS_OK) {
      continue;
    }
    fprintf(out, "%s\n    {\"path\": ", separator);
    separator = ",";
    print_text(out, corpus->files[i].relative);
    fprintf(out, ", \"is_foreign\": %s, \"reason\": ", r->status == CORPUS_FOREIGN ? "true" : "false");
    print_text(out, r->reason);
    fputc('}', out);
  }
  fprintf(out, "\n  ]\n}\n");
  return fclose(out) == 0;
}

static void list_lines(const struct corpus *corpus, const struct corpus_options *options) {
  static const char *const labels[] = {"crashed", "ok", "foreign", "not read", "not stable"};
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    const char *path = corpus->files[i].relative;
    if (options->list_failures && r->status != CORPUS_OK) {
      printf("%s: %s: %s\n", path, labels[r->status], r->reason);
    }
    if (options->list_twins && r->twin == TWIN_DIFFERENT) {
      printf("%s: twin differs: %s\n", path, r->twin_reason);
    }
    if (options->list_as_printed && r->status == CORPUS_OK && !r->is_as_printed && !r->has_locations) {
      printf("%s: not as printed: %s\n", path, r->first_line);
    }
  }
}

static size_t row_of(struct row *rows, size_t *count, const char *folder) {
  for (size_t i = 0; i < *count; i++) {
    if (strcmp(rows[i].folder, folder) == 0) {
      return i;
    }
  }
  rows[*count] = (struct row){.folder = folder};
  return (*count)++;
}

/* Files that must be read but were not. Their number. */
static size_t report_required(const struct corpus *corpus) {
  size_t missing = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    const char *path = corpus->files[i].relative;
    bool is_required =
        starts_with_any(path, must_read, sizeof must_read / sizeof must_read[0]) && !strstr(path, ".vhlo.");
    if (is_required && !is_read(&corpus->results[i])) {
      printf("required file not read: %s: %s\n", path, corpus->results[i].reason);
      missing++;
    }
  }
  return missing;
}

int corpus_report(const struct corpus *corpus, const struct corpus_options *options, double seconds) {
  struct row *rows = calloc(corpus->count + 1, sizeof *rows);
  struct row total = {0};
  size_t count = 0, passed = 0, gate = 0;
  if (!rows) {
    return 1;
  }
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    add_to_row(&rows[row_of(rows, &count, corpus->files[i].folder)], r);
    add_to_row(&total, r);
    if (starts_with_any(corpus->files[i].relative, gate_folders, sizeof gate_folders / sizeof gate_folders[0])) {
      gate++;
      passed += r->status == CORPUS_OK;
    }
  }
  list_lines(corpus, options);
  printf("%-32s %6s %7s %11s %12s %8s %7s %11s %7s\n", "folder", "files", "read", "fixed point", "twins equal",
         "foreign", "failed", "as printed", "MB");
  for (size_t i = 0; i < count; i++) {
    print_row(rows[i].folder, &rows[i]);
  }
  print_row("total", &total);
  printf("%.1f s\n", seconds);
  size_t hlo_failed = corpus_report_hlo(corpus);
  size_t bytecode_failed = corpus_report_bytecode(corpus);
  bool ok = report_required(corpus) == 0 && corpus_report_errors(corpus) == 0 && hlo_failed == 0 && bytecode_failed == 0
            && (gate == 0 || (double)passed >= GATE_SHARE * (double)gate);
  if (options->json_path && !write_json(corpus, options->json_path, rows, count, passed, gate, seconds)) {
    printf("cannot write %s\n", options->json_path);
    ok = false;
  }
  printf("corpus: %zu of %zu\n", passed, gate);
  free(rows);
  return ok ? 0 : 1;
}
