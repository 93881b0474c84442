/* Measured profiles in one SQLite file: operators and programs with device, software, type, shape, latency and spread. The
 * only module that includes sqlite3.h. docs/profiles.md documents the schema; it is made to be queried by hand as well. */
#ifndef RIDGELINE_STORE_STORE_H
#define RIDGELINE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/status.h"

struct store;

/* Where rows come from. */
struct store_source {
  const char *name; /* "aiconfigurator" */
  const char *title, *url, *licence;
  bool may_fit; /* false: for scoring only (no licence, share-alike) */
};

/* Which rows constants may see. */
enum store_split {
  STORE_TRAIN,
  STORE_TEST, /* never fitted */
  STORE_FOLDS /* cross-validated: fold = hash of the shape mod 5, see store_fold */
};

/* One measured operator. Texts belong to the caller (adding) or to the store until the next row (reading). */
struct store_operator {
  const char *source; /* name of a store_source added before */
  const char *device; /* chip id */
  const char *software; /* framework and version, may be "" */
  const char *op; /* kernel class: "gemm" */
  const char *format; /* "bf16" */
  const char *shape; /* JSON object of numbers, keys sorted: {"k":128,"m":1,"n":1024}; "function" is a name */
  const char *variant; /* what the source tells apart beyond that; may be "" */
  enum store_split split;
  double latency_s;
  double spread_s; /* standard deviation or half range; NaN = not stated */
};

/* One measured program. */
struct store_program {
  const char *source, *device, *software, *program, *format, *shape, *variant; /* program: its name or path */
  uint32_t devices;
  enum store_split split;
  double latency_s, spread_s;
};

/* Opens or creates a file; ":memory:" keeps it in memory. Files of another application or a newer schema are refused with
 * E0602 and their version. */
enum status store_open(const char *path, bool read_only, struct diag_list *diags, struct store **store);
void store_close(struct store *store); /* NULL is allowed */

/* Adding, best between begin and commit. A row equal in all but latency and spread is a repetition and is kept. */
enum status store_begin(struct store *store, struct diag_list *diags);
enum status store_commit(struct store *store, struct diag_list *diags);
void store_rollback(struct store *store); /* forgets what was added since store_begin */
enum status store_add_source(struct store *store, const struct store_source *source, struct diag_list *diags);
/* Removes the operators (or programs) of a source, or only those of one device of it (NULL = all), so that reading its
 * tables again does not double them. */
enum status store_drop_rows(struct store *store, const char *source, const char *device, bool programs,
                            struct diag_list *diags);
/* NULL when no source of that name was added. */
const struct store_source *store_find_source(struct store *store, const char *name);
enum status store_add_operator(struct store *store, const struct store_operator *row, struct diag_list *diags);
enum status store_add_program(struct store *store, const struct store_program *row, struct diag_list *diags);

/* Reading, in the order of insertion. NULL members of the filter match all. The callback returns false to stop. */
struct store_filter {
  const char *source, *device, *op, *format;
  const enum store_split *split;
  bool may_fit_only;
};
enum status store_each_source(struct store *store, bool (*visit)(void *user, const struct store_source *row),
                              void *user, struct diag_list *diags);
enum status store_each_operator(struct store *store, const struct store_filter *filter,
                                bool (*visit)(void *user, const struct store_operator *row), void *user,
                                struct diag_list *diags);
enum status store_each_program(struct store *store, const struct store_filter *filter,
                               bool (*visit)(void *user, const struct store_program *row), void *user,
                               struct diag_list *diags);

/* Rows that agree in source, device, op (programs: name), format and split; in this order, sources as they were added. */
struct store_count {
  const struct store_source *source;
  const char *device, *op, *format;
  enum store_split split;
  uint64_t rows;
  double latency_min_s, latency_max_s;
};
enum status store_each_count(struct store *store, bool programs,
                             bool (*visit)(void *user, const struct store_count *row), void *user,
                             struct diag_list *diags);

const char *store_split_name(enum store_split split); /* "train", "test", "folds" */
bool store_split_find(const char *name, enum store_split *split); /* false for a name that is none */
/* Fold 0..4 of a shape: 64-bit FNV-1a over the text, modulo 5. */
unsigned store_fold(const char *text);

#endif
