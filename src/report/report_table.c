/* Aligned tables for a terminal. Cells are kept one after the other; widths are known when the table is printed. */
#include <stdlib.h>
#include <string.h>

#include "report/report_int.h"

struct report_table {
  size_t columns;
  bool has_headings;
  bool failed;
  enum report_align *aligns;
  VEC(char *) cells; /* headings first when there are any; row-major; owned */
};

static void push(struct report_table *table, const char *text, size_t length) {
  char *copy = malloc(length + 1);
  if (copy) {
    memcpy(copy, text, length);
    copy[length] = '\0';
  }
  if (!copy || !vec_push(&table->cells, copy)) {
    free(copy);
    table->failed = true;
  }
}

struct report_table *report_table_new(const char *const *headings, const enum report_align *aligns, size_t columns) {
  struct report_table *table = calloc(1, sizeof *table);
  if (!table) {
    return NULL;
  }
  table->columns = columns;
  table->has_headings = headings != NULL;
  table->aligns = calloc(columns ? columns : 1, sizeof *table->aligns);
  if (!table->aligns) {
    report_table_free(table);
    return NULL;
  }
  memcpy(table->aligns, aligns, columns * sizeof *aligns);
  for (size_t i = 0; headings && i < columns; i++) {
    report_table_cell(table, headings[i]);
  }
  return table;
}

void report_table_free(struct report_table *table) {
  if (!table) {
    return;
  }
  for (size_t i = 0; i < table->cells.count; i++) {
    free(table->cells.data[i]);
  }
  vec_release(&table->cells);
  free(table->aligns);
  free(table);
}

void report_table_cell(struct report_table *table, const char *text) {
  if (!table) {
    return;
  }
  struct strbuf clean = {0};
  report_clean(&clean, text);
  table->failed |= clean.failed;
  push(table, strbuf_text(&clean), clean.length);
  strbuf_release(&clean);
}

void report_table_cell_of(struct report_table *table, void (*put)(struct strbuf *out, double value), double value) {
  struct strbuf text = {0};
  put(&text, value);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

void report_table_cell_count(struct report_table *table, void (*put)(struct strbuf *out, uint64_t value),
                             uint64_t value) {
  struct strbuf text = {0};
  put(&text, value);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

void report_table_cellf(struct report_table *table, const char *format, ...) {
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  if (table) {
    table->failed |= text.failed;
  }
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static void print_row(const struct report_table *table, size_t first, size_t count, const size_t *widths, size_t indent,
                      struct strbuf *out) {
  size_t pending = indent; /* blanks that are printed only when something follows */
  for (size_t c = 0; c < count; c++) {
    const char *text = table->cells.data[first + c];
    size_t space = widths[c] - report_width(text);
    pending += table->aligns[c] == REPORT_RIGHT ? space : 0;
    if (*text) {
      strbuf_fill(out, ' ', pending);
      strbuf_puts(out, text);
      pending = 0;
    }
    pending += (table->aligns[c] == REPORT_LEFT ? space : 0) + 2;
  }
  strbuf_putc(out, '\n');
}

void report_table_print_indented(const struct report_table *table, size_t indent, struct strbuf *out) {
  size_t *widths = table && !table->failed ? calloc(table->columns ? table->columns : 1, sizeof *widths) : NULL;
  if (!widths) {
    out->failed = true;
    return;
  }
  for (size_t i = 0; table->columns && i < table->cells.count; i++) {
    size_t width = report_width(table->cells.data[i]);
    size_t c = i % table->columns;
    widths[c] = width > widths[c] ? width : widths[c];
  }
  for (size_t first = 0; table->columns && first < table->cells.count; first += table->columns) {
    size_t left = table->cells.count - first;
    print_row(table, first, left < table->columns ? left : table->columns, widths, indent, out);
    if (first == 0 && table->has_headings) {
      strbuf_fill(out, ' ', indent);
      for (size_t c = 0; c < table->columns; c++) {
        strbuf_fill(out, ' ', c ? 2 : 0);
        strbuf_fill(out, '-', widths[c]);
      }
      strbuf_putc(out, '\n');
    }
  }
  free(widths);
}

void report_table_print(const struct report_table *table, struct strbuf *out) {
  report_table_print_indented(table, 0, out);
}
