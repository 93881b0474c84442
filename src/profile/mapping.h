/* A mapping file in memory: how the tables of one source become rows of a profile. mapping_load.c reads it from YAML,
 * mapping_values.c takes values out of table rows, profile_mapping.c runs it. docs/profiles.md explains the file. */
#ifndef RIDGELINE_PROFILE_MAPPING_H
#define RIDGELINE_PROFILE_MAPPING_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
#include "io/csv.h"
#include "store/store.h"

enum mapping_value_kind {
  MAPPING_ABSENT,
  MAPPING_CONSTANT,
  MAPPING_COLUMN,
  MAPPING_SUM,
  MAPPING_PRODUCT,
  MAPPING_QUOTIENT /* the first part divided by the others */
};

struct mapping_entry {
  const char *from, *to; /* to: NULL = rows with it are left out on purpose */
  double number; /* of `to`, in values that are numbers */
};

struct mapping_value {
  enum mapping_value_kind kind;
  const char *text; /* CONSTANT: the text; COLUMN: the heading */
  double number; /* CONSTANT in values that are numbers */
  unsigned nth; /* COLUMN: the nth number in the cell; 0 = the whole cell */
  const struct mapping_entry *entries; /* COLUMN: NULL = the cell as it is */
  unsigned entry_count;
  const struct mapping_entry *otherwise; /* for cells without an entry; NULL = such rows are left out */
  struct mapping_value *parts;
  unsigned part_count;
  size_t offset; /* in the mapping file */
  int column; /* set by mapping_bind */
};

struct mapping_condition {
  struct mapping_value value; /* COLUMN */
  enum { CONDITION_IS, CONDITION_IS_NOT, CONDITION_AT_LEAST, CONDITION_AT_MOST } kind;
  const char **texts;
  unsigned text_count;
  double bound;
};

/* What a latency column is in: a time, or a rate by which the row's work is divided. */
struct mapping_unit {
  const char *name;
  double scale; /* to s, FLOP/s or elements/s */
  enum { UNIT_TIME, UNIT_FLOPS, UNIT_ELEMENTS } kind;
};

struct mapping_shape_member {
  const char *key;
  struct mapping_value value; /* "function": a text; else a number */
  bool is_function;
};

struct mapping_file {
  const char *name;
  enum store_split split;
  size_t offset;
};

struct mapping_table {
  VEC(struct mapping_file) files;
  struct mapping_value op, device, format, software, variant, latency, spread;
  const struct mapping_unit *latency_unit, *spread_unit;
  VEC(struct mapping_shape_member) shape; /* sorted by key */
  VEC(struct mapping_condition) conditions;
  const char **headings; /* of a file that has no heading line; NULL = the first line */
  unsigned heading_count;
  size_t offset;
};

struct mapping {
  struct arena arena;
  const struct source *text; /* borrowed */
  struct store_source source;
  const char *folder; /* below the data directory */
  size_t folder_offset;
  VEC(struct mapping_table) tables;
};

/* Reads and checks; every error has its place. `text` must outlive the mapping. Release after a failure as well. */
enum status mapping_load(struct mapping *mapping, const struct source *text, struct diag_list *diags);
void mapping_release(struct mapping *mapping);

/* Finds the columns of a value among the headings of a table; E0603 at the value's place when one is absent. */
bool mapping_bind(const struct mapping *mapping, struct mapping_value *value, const char *const *headings, size_t count,
                  const char *path, struct diag_list *diags);
/* Rows as csv_cell counts them: of a table without a heading line the first one is (size_t)-1.
 *
 * The text of a value in a row; NULL when the row is to be left out: *unlisted is the cell without an entry then, or NULL
 * when the mapping says so. "" for ABSENT. */
const char *mapping_text(const struct mapping_value *value, struct csv_table *table, size_t row, const char **unlisted);
/* False when the cell holds no such number or is to be left out. */
bool mapping_number(const struct mapping_value *value, struct csv_table *table, size_t row, double *number);
/* Appends a number in as many digits as are needed to read the same one back; whole numbers without a point. */
void mapping_put_number(struct strbuf *out, double value);
bool mapping_condition_holds(const struct mapping_condition *condition, struct csv_table *table, size_t row);

#endif
