/* What the corpus test prints: a row per folder, foreign files, twins, the gate. See corpus.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

static const char *const group_names[GROUP_COUNT] = {[GROUP_CORPUS] = "corpus/**/*.mlir",
                                                     [GROUP_LARGE] = "corpus/models_large/**/*.mlir.gz",
                                                     [GROUP_HLO] = "HLO text",
                                                     [GROUP_WORKLOADS] = "workloads"};

static enum corpus_group group_of(const struct corpus_file *file) {
  return corpus_is_hlo(file->path)                                  ? GROUP_HLO
         : strncmp(file->relative, "workloads/", 10) == 0           ? GROUP_WORKLOADS
         : strncmp(file->relative, "corpus/models_large/", 20) == 0 ? GROUP_LARGE
                                                                    : GROUP_CORPUS;
}

/* Read and printed in some way: not refused, listed or not. */
static bool is_read(const struct corpus_result *r) {
  for (uint32_t i = 0; i < r->finding_count && i < CORPUS_FINDING_MAX; i++) {
    if (r->findings[i].kind == FINDING_REFUSED) {
      return false;
    }
  }
  return r->status == CORPUS_OK || r->status == CORPUS_UNSTABLE || r->status == CORPUS_UNEXPECTED;
}

static bool has_failed(const struct corpus_result *r) {
  return r->status != CORPUS_OK && r->status != CORPUS_FOREIGN;
}

static void add_to_row(struct corpus_row *row, const struct corpus_file *file, const struct corpus_result *r) {
  row->files++;
  row->read += is_read(r);
  row->fixed += is_read(r) && r->status != CORPUS_UNSTABLE;
  row->foreign += r->status == CORPUS_FOREIGN;
  row->listed += r->status == CORPUS_OK && corpus_is_listed(file->relative);
  row->failed += has_failed(r);
  row->twins += r->twin != TWIN_NONE;
  row->twins_equal += r->twin == TWIN_EQUAL;
  row->without_locations += !r->has_locations;
  row->as_printed += r->is_as_printed && !r->has_locations;
  row->bytes += r->bytes;
}

static void print_row(const char *name, const struct corpus_row *row) {
  char twins[32] = "-";
  if (row->twins > 0) {
    snprintf(twins, sizeof twins, "%zu/%zu", row->twins_equal, row->twins);
  }
  char printed[32];
  snprintf(printed, sizeof printed, "%zu/%zu", row->as_printed, row->without_locations);
  printf("%-32s %6zu %7zu %11zu %12s %8zu %7zu %7zu %11s %7.1f\n", name, row->files, row->read, row->fixed, twins,
         row->foreign, row->listed, row->failed, printed, (double)row->bytes / 1e6);
}

static void list_lines(const struct corpus *corpus, const struct corpus_options *options) {
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    const char *path = corpus->files[i].relative;
    if (options->list_failures && r->status == CORPUS_OK && corpus_is_listed(path)) {
      printf("%s: as listed in exceptions.def\n", path);
    }
    if (options->list_twins && r->twin == TWIN_LISTED) {
      printf("%s: twin differs as listed: %s\n", path, r->twin_reason);
    }
    if (options->list_as_printed && r->status == CORPUS_OK && !r->is_as_printed && !r->has_locations) {
      printf("%s: not as printed: %s\n", path, r->first_line);
    }
  }
}

static size_t row_of(struct corpus_row *rows, size_t *count, const char *folder) {
  for (size_t i = 0; i < *count; i++) {
    if (strcmp(rows[i].folder, folder) == 0) {
      return i;
    }
  }
  rows[*count] = (struct corpus_row){.folder = folder};
  return (*count)++;
}

static void report_folders(const struct corpus *corpus, struct corpus_row *rows, size_t *count) {
  struct corpus_row total = {0};
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_file *file = &corpus->files[i];
    add_to_row(&rows[row_of(rows, count, file->folder)], file, &corpus->results[i]);
    add_to_row(&total, file, &corpus->results[i]);
  }
  printf("%-32s %6s %7s %11s %12s %8s %7s %7s %11s %7s\n", "folder", "files", "read", "fixed point", "twins equal",
         "foreign", "listed", "failed", "as printed", "MB");
  for (size_t i = 0; i < *count; i++) {
    print_row(rows[i].folder, &rows[i]);
  }
  print_row("total", &total);
}

static void report_failures(const struct corpus *corpus) {
  static const char *const labels[] = {"crashed", "ok", "foreign", "not read", "not stable", "unexpected error"};
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    if (has_failed(r)) {
      printf("%s: %s: %s\n", corpus->files[i].relative, labels[r->status], r->reason);
    }
  }
}

/* Prints `foreign: N` and the dialects of each file. */
static void report_foreign(const struct corpus *corpus) {
  size_t count = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    count += corpus->results[i].status == CORPUS_FOREIGN;
  }
  if (count > 0) {
    printf("foreign: %zu, with their dialects\n", count);
  }
  for (size_t i = 0; i < corpus->count; i++) {
    if (corpus->results[i].status == CORPUS_FOREIGN) {
      printf("  %s: %s\n", corpus->files[i].relative, corpus->results[i].foreign);
    }
  }
}

/* Prints `twins: P of N` and `generic without twin: P of N`; the number of pairs that differ otherwise than listed. */
static size_t report_twins(const struct corpus *corpus) {
  size_t twins[TWIN_DIFFERENT + 1] = {0}, alone = 0, alone_good = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    bool is_generic = strncmp(corpus->files[i].relative, "corpus/generic_form/", 20) == 0;
    twins[r->twin]++;
    alone += is_generic && r->twin == TWIN_NONE;
    alone_good += is_generic && r->twin == TWIN_NONE && r->status == CORPUS_OK;
    if (r->twin == TWIN_DIFFERENT) {
      printf("%s: twin differs: %s\n", corpus->files[i].relative, r->twin_reason);
    }
  }
  size_t good = twins[TWIN_EQUAL] + twins[TWIN_LISTED];
  if (good + twins[TWIN_DIFFERENT] > 0) {
    printf("twins: %zu of %zu (%zu equal, %zu listed)\n", good, good + twins[TWIN_DIFFERENT], twins[TWIN_EQUAL],
           twins[TWIN_LISTED]);
  }
  if (alone > 0) {
    printf("generic without twin: %zu of %zu\n", alone_good, alone);
  }
  return twins[TWIN_DIFFERENT];
}

/* What the gate counts: all files but foreign ones. */
static void report_groups(const struct corpus *corpus, size_t *passed, size_t *total) {
  size_t good[GROUP_COUNT] = {0}, all[GROUP_COUNT] = {0}, listed = 0;
  *passed = *total = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    enum corpus_group group = group_of(&corpus->files[i]);
    all[group] += r->status != CORPUS_FOREIGN;
    good[group] += r->status == CORPUS_OK;
    listed += r->status == CORPUS_OK && corpus_is_listed(corpus->files[i].relative);
  }
  for (int i = 0; i < GROUP_COUNT; i++) {
    if (all[i] > 0) {
      printf("%s: %zu of %zu\n", group_names[i], good[i], all[i]);
    }
    *passed += good[i];
    *total += all[i];
  }
  printf("listed in exceptions.def: %zu\n", listed);
}

int corpus_report(const struct corpus *corpus, const struct corpus_options *options, double seconds) {
  struct corpus_row *rows = calloc(corpus->count + 1, sizeof *rows);
  size_t count = 0, passed, total;
  if (!rows) {
    return 1;
  }
  list_lines(corpus, options);
  report_folders(corpus, rows, &count);
  printf("%.1f s\n", seconds);
  report_failures(corpus);
  report_foreign(corpus);
  size_t bad = corpus_report_stale(corpus) + corpus_report_bytecode(corpus) + corpus_report_written(corpus)
               + corpus_report_errors(corpus) + report_twins(corpus);
  report_groups(corpus, &passed, &total);
  if (options->json_path && !corpus_write_json(corpus, options->json_path, rows, count, passed, total, seconds)) {
    printf("cannot write %s\n", options->json_path);
    bad++;
  }
  printf("corpus: %zu of %zu\n", passed, total);
  free(rows);
  return bad == 0 && passed == total ? 0 : 1;
}
