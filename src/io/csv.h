/* Comma-separated tables with a heading line (RFC 4180 quoting), whole in memory. */
#ifndef RIDGELINE_IO_CSV_H
#define RIDGELINE_IO_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/vec.h"

struct csv_table {
  struct arena arena; /* owns the texts */
  const char *path;
  size_t columns;
  VEC(const char *) cells; /* row by row; the heading is row 0 */
};

/* Reads a file (also .gz, .zst). Rows with another number of cells than the heading are E0003 with their line. Release in
 * any case. */
enum status csv_read(struct csv_table *table, const char *path, struct diag_list *diags);
void csv_release(struct csv_table *table);
static inline size_t csv_rows(const struct csv_table *table) {
  return table->columns ? table->cells.count / table->columns - 1 : 0;
}
/* Column number of a heading, or -1. */
int csv_column(const struct csv_table *table, const char *heading);
/* Cell of data row `row` (0-based); "" when `column` is -1. */
const char *csv_cell(const struct csv_table *table, size_t row, int column);
/* Number in a cell; false when empty or no number. */
bool csv_number(const struct csv_table *table, size_t row, int column, double *value);

#endif
