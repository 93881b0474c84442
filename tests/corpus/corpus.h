/* The corpus test: every .mlir file and HLO text of the data folder is read, printed in both forms, read again and compared.
 *
 *   corpus_main.c    options, list of files, two processes
 *   corpus_check.c   one file: pieces, fixed point of both forms, expected errors, foreign dialects
 *   corpus_errors.c  the lines of the verifier tests that must get a diagnostic
 *   corpus_hlo.c     HLO text: imported, then as above
 *   corpus_bytecode.c  artifacts (.bc) against the text beside them
 *   corpus_twin.c    files of generic_form against the pretty files that they were printed from
 *   corpus_report.c  table per folder, gate, JSON
 */
#ifndef RIDGELINE_TESTS_CORPUS_H
#define RIDGELINE_TESTS_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "io/input_file.h"
#include "ir/ir.h"

enum corpus_status {
  CORPUS_NOT_RUN, /* the process that had the file ended before it was done */
  CORPUS_OK, /* every piece read and at a fixed point in both forms */
  CORPUS_FOREIGN, /* all pieces that were not read use pretty forms of dialects that are not supported */
  CORPUS_UNREAD, /* a piece was not read */
  CORPUS_UNSTABLE /* read, but printing and reading again gives something else */
};

enum corpus_twin { TWIN_NONE, TWIN_EQUAL, TWIN_DIFFERENT };

enum { CORPUS_MISSING_MAX = 16 };

/* Result of one file. Lives in memory shared by the processes: no pointers. */
struct corpus_result {
  uint8_t status; /* enum corpus_status */
  uint8_t twin; /* enum corpus_twin */
  bool is_as_printed; /* the text is what the printer writes, apart from comments and trailing blanks */
  bool has_locations; /* the text has loc(...), so it cannot be as printed */
  uint32_t pieces, pieces_read;
  uint32_t errors_expected, errors_found; /* lines of a verifier test that must have and have a diagnostic */
  uint32_t missing_count, missing_lines[CORPUS_MISSING_MAX]; /* the first that have none */
  uint64_t bytes;
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
  struct corpus_file *files;
  size_t count, capacity;
  struct corpus_result *results; /* shared, one per file */
};

void corpus_check_file(const struct corpus *corpus, const struct corpus_file *file, struct corpus_result *result);

/* A file cut at its `// -----` lines, blank pieces left out. */
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

/* A verifier test of StableHLO, whose expected errors are counted. */
bool corpus_expects_errors(const char *relative);
void corpus_count_errors(const struct corpus_pieces *pieces, struct corpus_result *result);
/* Line that an "expected-error" comment at `at` (itself on `line`) speaks of; 0 when it is none. */
long corpus_expected_line(const char *at, const char *end, long line);
/* Prints `errors: P of N` and the files that may lack some; number of lines that lack a diagnostic but must not. */
size_t corpus_report_errors(const struct corpus *corpus);

/* Fixed point of a module in both forms; its texts are left in `pretty` and `generic`. */
bool corpus_check_module(const struct ir_module *module, struct strbuf *pretty, struct strbuf *generic, char *reason,
                         size_t reason_size);

bool corpus_is_hlo(const char *path);
void corpus_check_hlo(const struct corpus_file *file, struct corpus_result *result);
/* Prints `hlo: P of N`; the number of files that failed. */
size_t corpus_report_hlo(const struct corpus *corpus);

/* Prints `bytecode: N of M` for the artifacts in the folders of the listed files, and those that fail; their number. */
size_t corpus_report_bytecode(const struct corpus *corpus);

struct corpus_options {
  const char *json_path; /* NULL = none */
  bool list_failures, list_twins, list_as_printed;
};
/* Prints the table and the gate; returns the exit code. */
int corpus_report(const struct corpus *corpus, const struct corpus_options *options, double seconds);

#endif
