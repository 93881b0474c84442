/* The corpus test: every program of the data folder is read, printed in both forms, read again, compared and checked.
 *
 *   corpus_main.c      options, list of files, two processes
 *   corpus_pieces.c    a file cut at `// -----`
 *   corpus_check.c     one file: the fixed point of both forms, checks, foreign dialects
 *   corpus_errors.c    diagnostics against "expected-error" comments
 *   corpus_hlo.c       pieces that are HLO text
 *   corpus_bytecode.c  artifacts (.bc) against the text beside them
 *   corpus_twin.c      files of generic_form against the pretty files that they were printed from
 *   corpus_listed.c    what exceptions.def and twin_differences.def say of a file
 *   corpus_report.c    tables, gate; corpus_json.c the same as JSON
 *
 * What must hold, and what may be listed: docs/corpus.md. */
#ifndef RIDGELINE_TESTS_CORPUS_H
#define RIDGELINE_TESTS_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "io/input_file.h"
#include "ir/ir.h"

enum corpus_status {
  CORPUS_NOT_RUN, /* the process that had the file ended before it was done */
  CORPUS_OK, /* every piece is as it must be; findings are those of exceptions.def */
  CORPUS_FOREIGN, /* the same, but some pieces have pretty forms of dialects that are not supported */
  CORPUS_UNREAD, /* a piece was not read */
  CORPUS_UNSTABLE, /* read, but printing and reading again gives something else */
  CORPUS_UNEXPECTED /* read and stable, but with an error where none is expected, or without one that is listed */
};

enum corpus_twin { TWIN_NONE, TWIN_EQUAL, TWIN_LISTED, TWIN_DIFFERENT };

/* Where the list of programs has a file. */
enum corpus_group { GROUP_CORPUS, GROUP_LARGE, GROUP_HLO, GROUP_WORKLOADS, GROUP_COUNT };

enum { CORPUS_MISSING_MAX = 16, CORPUS_FINDING_MAX = 16 };

/* Kinds of findings, the first column of exceptions.def. */
enum corpus_finding_kind {
  FINDING_REFUSED, /* first error of a piece that is not read */
  FINDING_CHECK, /* error of the checks in a piece that marks no errors */
  FINDING_EXTRA /* error on a line without a mark, in a piece that marks other lines */
};

struct corpus_finding {
  uint8_t kind; /* enum corpus_finding_kind */
  uint16_t id; /* enum diag_id */
  uint32_t line, column;
};

/* Result of one file. Lives in memory shared by the processes: no pointers. */
struct corpus_result {
  uint8_t status; /* enum corpus_status */
  uint8_t twin; /* enum corpus_twin */
  bool is_hlo; /* some piece is HLO text */
  bool is_as_printed; /* the text is what the printer writes, apart from comments and trailing blanks */
  bool has_locations; /* the text has loc(...), so it cannot be as printed */
  uint32_t pieces, pieces_read;
  uint32_t errors_expected, errors_found; /* lines of a verifier test that must have and have a diagnostic */
  uint32_t missing_count, missing_lines[CORPUS_MISSING_MAX]; /* the first that have none */
  uint32_t finding_count; /* all; the first are in findings */
  struct corpus_finding findings[CORPUS_FINDING_MAX];
  uint64_t bytes;
  char foreign[96]; /* dialects of the foreign pieces, parted by blanks */
  char reason[240]; /* of the first failure */
  char twin_reason[240];
  char first_line[120]; /* first line that is not as printed */
};

struct corpus_file {
  char *path; /* full path, owned */
  const char *relative; /* below the data folder */
  char folder[96]; /* row of the table */
};

struct corpus {
  const char *data; /* data folder */
  bool is_whole; /* all folders are listed */
  struct corpus_file *files;
  size_t count, capacity;
  struct corpus_result *results; /* shared, one per file */
};

void corpus_check_file(const struct corpus *corpus, const struct corpus_file *file, struct corpus_result *result);

/* A file cut at its `// -----` lines, blank pieces left out; whole when its RUN line does not ask for that. */
struct corpus_pieces {
  struct input_file file;
  struct source source;
  size_t *starts, *ends;
  size_t count;
};
bool corpus_pieces_read(struct corpus_pieces *pieces, const char *path, char *reason, size_t reason_size);
void corpus_pieces_release(struct corpus_pieces *pieces);

/* Compares a file of generic_form with its twin; TWIN_NONE when there is none. */
enum corpus_twin corpus_check_twin(const struct corpus *corpus, const struct corpus_file *file, char *reason,
                                   size_t reason_size);

/* ---- expected errors ---- */

/* A verifier test of StableHLO, whose expected errors are counted. */
bool corpus_expects_errors(const char *relative);
/* Line that an "expected-error" comment at `at` (itself on `line`) speaks of; 0 when it is none. */
long corpus_expected_line(const char *at, const char *end, long line);
/* Compares the diagnostics of piece `index` with its marks. What is not marked becomes findings; marked lines are counted
 * in verifier tests. True when a piece that was not read (`is_read` false) is refused as it must be: all marked lines, at
 * least one, have an error. */
bool corpus_judge_errors(const struct corpus_pieces *pieces, size_t index, const struct diag_list *diags, bool is_read,
                         bool is_verifier_test, struct corpus_result *result);
/* Prints `errors: P of N` and the files that may lack some; number of lines that lack a diagnostic but must not. */
size_t corpus_report_errors(const struct corpus *corpus);

/* ---- exceptions.def, twin_differences.def ---- */

void corpus_add_finding(struct corpus_result *result, enum corpus_finding_kind kind, const struct diag *diag);
/* The findings of a file are those that are listed for it, all of them and no more; else `reason` says which. */
bool corpus_findings_listed(const char *relative, const struct corpus_result *result, char *reason, size_t reason_size);
bool corpus_is_listed(const char *relative);
/* `difference` is what twin_differences.def has for the file. */
bool corpus_twin_listed(const char *relative, const char *difference);
bool corpus_twin_has_row(const char *relative);
/* In a run over all folders, prints the rows of both tables whose file is not there or may not be listed; their number. */
size_t corpus_report_stale(const struct corpus *corpus);

/* ---- modules ---- */

/* Fixed point of a module in both forms; its texts are left in `pretty` and `generic`. */
bool corpus_check_module(const struct ir_module *module, struct strbuf *pretty, struct strbuf *generic, char *reason,
                         size_t reason_size);

/* A file that is counted as HLO text: by its folder and ending. */
bool corpus_is_hlo(const char *path);
/* Imports HLO text [start, end) of the pieces' source and checks it as above. */
enum corpus_status corpus_check_hlo(const struct corpus_pieces *pieces, size_t start, size_t end, char *reason,
                                    size_t reason_size);

/* Prints `bytecode: N of M` for the artifacts in the folders of the listed files, and those that fail; their number. */
size_t corpus_report_bytecode(const struct corpus *corpus);
/* Prints `written artifacts: N of M` for the texts beside which an artifact lies (corpus_written.c); those that fail. */
size_t corpus_report_written(const struct corpus *corpus);

/* ---- report ---- */

struct corpus_options {
  const char *json_path; /* NULL = none */
  bool list_failures, list_twins, list_as_printed;
};

/* Row of the table of folders. */
struct corpus_row {
  const char *folder;
  size_t files, read, fixed, twins, twins_equal, foreign, listed, failed, as_printed, without_locations;
  uint64_t bytes;
};

/* Prints the tables and the gate; returns the exit code. */
int corpus_report(const struct corpus *corpus, const struct corpus_options *options, double seconds);
bool corpus_write_json(const struct corpus *corpus, const char *path, const struct corpus_row *rows, size_t count,
                       size_t passed, size_t total, double seconds);

#endif
