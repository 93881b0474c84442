/* CSV tables: one pass over the text, cells copied unquoted. */
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "io/input_file.h"

struct csv_reader {
  const char *at, *end;
  unsigned line;
};

/* Copies a quoted cell; doubled quotes stand for one. The reader stops behind the closing quote. */
static const char *read_quoted(struct csv_table *table, struct csv_reader *r) {
  const char *start = ++r->at;
  while (r->at < r->end && (*r->at != '"' || (r->at + 1 < r->end && r->at[1] == '"'))) {
    r->at += *r->at == '"' ? 2 : 1;
  }
  char *cell = arena_strndup(&table->arena, start, (size_t)(r->at - start));
  if (!cell) {
    return NULL;
  }
  char *to = cell;
  for (const char *from = cell; *from; from++) {
    *to++ = *from;
    from += *from == '"' ? 1 : 0;
    r->line += *from == '\n';
  }
  *to = '\0';
  r->at += r->at < r->end;
  return cell;
}

static const char *read_cell(struct csv_table *table, struct csv_reader *r) {
  if (r->at < r->end && *r->at == '"') {
    return read_quoted(table, r);
  }
  const char *start = r->at;
  while (r->at < r->end && *r->at != ',' && *r->at != '\n' && *r->at != '\r') {
    r->at++;
  }
  return arena_strndup(&table->arena, start, (size_t)(r->at - start));
}

static bool is_at_line_end(const struct csv_reader *r) {
  return r->at >= r->end || *r->at == '\n' || *r->at == '\r';
}

/* Reads one line of cells, or up to what follows a closing quote without a comma; false when memory is exhausted. */
static bool read_row(struct csv_table *table, struct csv_reader *r, size_t *cells) {
  for (*cells = 0;;) {
    const char *cell = read_cell(table, r);
    if (!cell || !vec_push(&table->cells, cell)) {
      return false;
    }
    (*cells)++;
    if (r->at >= r->end || *r->at != ',') {
      break;
    }
    r->at++;
  }
  return true;
}

static enum status read_rows(struct csv_table *table, const struct input_file *file, struct diag_list *diags) {
  struct csv_reader reader = {file->text, file->text + file->length, 1};
  if (file->length >= 3 && memcmp(file->text, "\xEF\xBB\xBF", 3) == 0) { /* byte order mark of UTF-8 */
    reader.at += 3;
  }
  while (reader.at < reader.end) {
    unsigned line = reader.line++;
    if (*reader.at == '\n') {
      reader.at++;
      continue;
    }
    size_t cells;
    if (!read_row(table, &reader, &cells)) {
      return STATUS_MEMORY;
    }
    if (!is_at_line_end(&reader)) {
      diag_file(diags, DIAG_E0003_FORMAT, table->path, line, 0,
                "cell %zu of this row goes on behind its closing quote; a quote inside a cell is written twice", cells);
      return STATUS_INPUT;
    }
    reader.at += reader.at < reader.end && *reader.at == '\r';
    reader.at += reader.at < reader.end && *reader.at == '\n';
    table->columns = table->columns ? table->columns : cells;
    if (cells != table->columns) {
      diag_file(diags, DIAG_E0003_FORMAT, table->path, line, 1, "this row has %zu cells, the heading has %zu", cells,
                table->columns);
      return STATUS_INPUT;
    }
  }
  return STATUS_OK;
}

enum status csv_read(struct csv_table *table, const char *path, struct diag_list *diags) {
  *table = (struct csv_table){0};
  arena_init(&table->arena, 0);
  struct input_file file;
  enum status status = input_file_read(&file, path, 0, diags);
  if (status != STATUS_OK) {
    return status;
  }
  table->path = arena_strndup(&table->arena, path, strlen(path));
  status = table->path ? read_rows(table, &file, diags) : STATUS_MEMORY;
  input_file_release(&file);
  return status;
}

void csv_release(struct csv_table *table) {
  vec_release(&table->cells);
  arena_release(&table->arena);
}

int csv_column(const struct csv_table *table, const char *heading) {
  for (size_t i = 0; i < table->columns; i++) {
    if (strcmp(table->cells.data[i], heading) == 0) {
      return (int)i;
    }
  }
  return -1;
}

const char *csv_cell(const struct csv_table *table, size_t row, int column) {
  return column < 0 ? "" : table->cells.data[(row + 1) * table->columns + (size_t)column];
}

bool csv_number(const struct csv_table *table, size_t row, int column, double *value) {
  const char *text = csv_cell(table, row, column);
  return decimal_parse(text, strlen(text), value) && isfinite(*value);
}
