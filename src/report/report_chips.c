/* Chips as text: the list, one chip with every source, several side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "hw/hw_calibration.h"
#include "report/report_int.h"

static void cell_si(struct report_table *table, double value, const char *unit) {
  struct strbuf text = {0};
  report_si(&text, value, unit);
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

/* A row of report_chip_rows; seconds by their own function. */
static void put_figure(struct strbuf *out, const struct report_chip_row *row, double value) {
  if (strcmp(row->unit, "s") == 0) {
    report_time(out, value);
  } else {
    report_si(out, value, row->unit);
  }
}

/* ---- list ---- */

void report_chips_text(const struct hw_database *db, struct strbuf *out) {
  static const char *const headings[] = {"id",         "name",   "vendor",    "kind",  "year",  "bf16 FLOP/s",
                                         "f32 FLOP/s", "memory", "bandwidth", "power", "status"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT,  REPORT_LEFT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  size_t predicting = 0;
  for (size_t i = 0; i < db->chips.count; i++) {
    const struct hw_chip *chip = &db->chips.data[i];
    double year = report_chip_year(chip);
    report_table_cell(table, chip->id);
    report_table_cell(table, chip->name);
    report_table_cell(table, chip->vendor);
    report_table_cell(table, hw_kind_name(chip->kind));
    if (isfinite(year)) {
      report_table_cellf(table, "%.0f", year);
    } else {
      report_table_cell(table, "-");
    }
    cell_si(table, report_chip_bf16(chip), "");
    cell_si(table, report_chip_f32(chip), "");
    cell_si(table, chip->memory_size_bytes > 0 ? chip->memory_size_bytes : NAN, "B");
    cell_si(table, chip->memory_Bps > 0 ? chip->memory_Bps : NAN, "B/s");
    cell_si(table, chip->tdp_W > 0 ? chip->tdp_W : NAN, "W");
    report_table_cellf(table, "%s%s", chip->missing ? "lacks " : "predicts", chip->missing ? chip->missing : "");
    predicting += !chip->missing;
  }
  report_table_print(table, out);
  report_table_free(table);
  strbuf_printf(out, "\n%zu chip%s, %zu predict%s\n", db->chips.count, db->chips.count == 1 ? "" : "s", predicting,
                predicting == 1 ? "s" : "");
}

/* ---- one chip ---- */

/* The types that rate tables are indexed by. */
static const enum dtype engine_types[] = {DTYPE_F64,      DTYPE_F32,      DTYPE_TF32,     DTYPE_F16, DTYPE_BF16,
                                          DTYPE_F8E4M3FN, DTYPE_F6E2M3FN, DTYPE_F4E2M1FN, DTYPE_I8,  DTYPE_I4};
enum { ENGINE_TYPES = sizeof engine_types / sizeof *engine_types };

/* "f64 → f32, i4 refused" for types without a rate of their own; "" when all have one. */
static void put_runs_as(const struct hw_chip *chip, struct strbuf *out) {
  for (size_t i = 0; i < ENGINE_TYPES; i++) {
    enum dtype type = engine_types[i], as = (enum dtype)chip->matrix_runs_as[type];
    if (as == type) {
      continue;
    }
    strbuf_printf(out, "%s%s", out->length ? ", " : "", dtype_name(type));
    if (as == DTYPE_NONE) {
      strbuf_puts(out, " refused");
    } else {
      strbuf_printf(out, " → %s", dtype_name(as));
    }
  }
}

static void put_names(const char *const *names, size_t count, struct strbuf *out) {
  for (size_t i = 0; i < count; i++) {
    strbuf_puts(out, i ? ", " : "");
    report_clean(out, names[i]);
  }
}

static void text_row(struct report_table *table, const char *name, struct strbuf *text) {
  if (text->length) {
    report_table_cell(table, name);
    report_table_cell(table, strbuf_text(text));
  }
  strbuf_clear(text);
}

static void print_summary(const struct hw_chip *chip, struct strbuf *out) {
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_LEFT};
  static const char *const fusion_names[] = {"none", "GPU compiler's", "TPU compiler's"};
  struct report_table *table = report_table_new(NULL, aligns, 2);
  struct strbuf text = {0};
  put_names(chip->aliases, chip->alias_count, &text);
  text_row(table, "short names", &text);
  size_t generations = 0, defaults = 0;
  while (chip->lineage && chip->lineage[generations]) {
    generations++;
  }
  put_names(chip->lineage, generations, &text);
  text_row(table, "inherits", &text);
  for (size_t i = 0; i < chip->field_count; i++) {
    defaults += hw_field_is_default(chip, &chip->fields[i]);
  }
  if (defaults > 0) {
    strbuf_printf(&text, "%zu field%s of %s, marked below", defaults, defaults == 1 ? "" : "s", chip->defaults);
  }
  text_row(table, "defaults", &text);
  for (size_t i = 0; i < report_chip_row_count; i++) {
    double value = report_chip_rows[i].value(chip);
    if (isfinite(value)) {
      put_figure(&text, &report_chip_rows[i], value);
      text_row(table, report_chip_rows[i].heading, &text);
    }
  }
  put_runs_as(chip, &text);
  text_row(table, "products computed as", &text);
  strbuf_puts(&text, fusion_names[chip->fusion]);
  text_row(table, "fusion rules", &text);
  strbuf_printf(&text, "%s%s", chip->missing ? "no: lacks " : "yes", chip->missing ? chip->missing : "");
  text_row(table, "predicts", &text);
  strbuf_release(&text);
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

/* True when three significant digits are not all of the number. */
static bool is_rounded(double number) {
  char text[32];
  double rounded;
  int length = decimal_format(text, sizeof text, "%.2e", number);
  return !decimal_parse(text, (size_t)length, &rounded) || rounded != number;
}

/* The figure with the number as its source writes it where the figure is rounded. */
static void put_fact(const struct hw_fact *fact, const char *unit, struct strbuf *out) {
  struct strbuf value = {0};
  report_fact_value(&fact->value, unit, &value);
  strbuf_puts(out, strbuf_text(&value));
  const char *written = fact->value.text;
  if (fact->value.kind == HW_VALUE_NUMBER && written && is_rounded(fact->value.number)
      && strncmp(strbuf_text(&value), written, strlen(written)) != 0) {
    strbuf_puts(out, " = ");
    report_clean(out, written);
  }
  strbuf_puts(out, ", ");
  strbuf_puts(out, hw_fact_kind_name(fact->kind));
  strbuf_release(&value);
}

static void put_line(struct strbuf *out, const char *label, const char *text) {
  if (text && *text) {
    strbuf_printf(out, "      %s", label);
    report_clean(out, text);
    strbuf_putc(out, '\n');
  }
}

static void put_source(struct strbuf *out, const struct hw_fact *fact) {
  put_line(out, "", fact->source_title);
  if (!fact->source_url || strcmp(fact->source_url, "derived") != 0) {
    put_line(out, "", fact->source_url);
  }
}

void report_field_text(const struct hw_field *field, bool is_default, struct strbuf *out) {
  strbuf_puts(out, "  ");
  report_clean(out, field->key);
  strbuf_puts(out, "  ");
  put_fact(&field->fact, field->unit, out);
  if (field->inherited_from) {
    strbuf_puts(out, is_default ? ", default of " : ", from ");
    report_clean(out, field->inherited_from);
  }
  strbuf_putc(out, '\n');
  put_source(out, &field->fact);
  put_line(out, "note: ", field->fact.note);
  for (size_t i = 0; i < field->disputed_count; i++) {
    const struct hw_fact *other = &field->disputed[i];
    strbuf_puts(out, "      also said: ");
    put_fact(other, field->unit, out);
    strbuf_puts(out, ", ");
    report_clean(out, other->source_title);
    if (other->note) {
      strbuf_puts(out, " (");
      report_clean(out, other->note);
      strbuf_putc(out, ')');
    }
    strbuf_putc(out, '\n');
  }
  put_line(out, "chosen because: ", field->chosen);
}

/* What was fitted for the chip or a family of it: the nearest fit of each class and format. */
static void print_fits(const struct hw_chip *chip, struct strbuf *out) {
  static const char *const headings[] = {"kernels",    "operands",    "rows",   "MAPE",
                                         "data sheet", "measured on", "source", "used"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_LEFT, REPORT_LEFT,  REPORT_LEFT};
  if (chip->fit_count == 0) {
    strbuf_puts(out, "\nnothing was fitted for this chip or its family: constants are those of the data sheet\n");
    return;
  }
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof *headings);
  for (size_t i = 0; i < chip->fit_count; i++) {
    const struct hw_fit *fit = chip->fits[i];
    if (hw_chip_fit(chip, fit->class_name, fit->format) != fit) {
      continue; /* a nearer one is used */
    }
    report_table_cell(table, fit->class_name);
    report_table_cell(table, fit->format);
    report_table_cellf(table, "%llu", (unsigned long long)fit->rows);
    report_table_cellf(table, "%.1f %%", fit->mape * 100);
    if (isfinite(fit->data_sheet_mape)) {
      report_table_cellf(table, "%.1f %%", fit->data_sheet_mape * 100);
    } else {
      report_table_cell(table, "-");
    }
    report_table_cell(table, fit->device);
    report_table_cell(table, fit->sources);
    report_table_cell(table, hw_fit_is_useful(fit) ? "yes" : "no: the data sheet is as good");
  }
  strbuf_puts(out, "\nfitted constants (error on rows held out; docs/calibration.md)\n");
  report_table_print_indented(table, 2, out);
  report_table_free(table);
}

void report_chip_text(const struct hw_chip *chip, struct strbuf *out) {
  report_clean(out, chip->name);
  strbuf_puts(out, " (");
  report_clean(out, chip->id);
  strbuf_puts(out, "), ");
  report_clean(out, chip->vendor);
  strbuf_printf(out, " %s\n\n", hw_kind_name(chip->kind));
  print_summary(chip, out);
  print_fits(chip, out);
  strbuf_puts(out, "\nfields\n");
  for (size_t i = 0; i < chip->field_count; i++) {
    report_field_text(&chip->fields[i], hw_field_is_default(chip, &chip->fields[i]), out);
  }
}

/* ---- side by side ---- */

/* Columns: the figure, then per chip its value and, from the second on, the ratio to the first. */
static struct report_table *compare_table(const struct hw_chip *const *chips, size_t count, const char *first) {
  size_t columns = 2 * count;
  const char **headings = calloc(columns, sizeof *headings);
  enum report_align *aligns = calloc(columns, sizeof *aligns);
  struct report_table *table = NULL;
  if (headings && aligns) {
    headings[0] = first;
    aligns[0] = REPORT_LEFT;
    for (size_t i = 0, c = 1; i < count; i++) {
      headings[c] = chips[i]->id;
      aligns[c++] = REPORT_RIGHT;
      if (i > 0) {
        headings[c] = "";
        aligns[c++] = REPORT_RIGHT;
      }
    }
    table = report_table_new(headings, aligns, columns);
  }
  free(headings);
  free(aligns);
  return table;
}

static void ratio_cell(struct report_table *table, double value, double base) {
  struct strbuf text = {0};
  if (isfinite(value) && isfinite(base) && base != 0) {
    report_ratio(&text, value / base);
  }
  report_table_cell(table, strbuf_text(&text));
  strbuf_release(&text);
}

static void print_figures(const struct hw_chip *const *chips, size_t count, struct strbuf *out) {
  struct report_table *table = compare_table(chips, count, "figure");
  for (size_t r = 0; r < report_chip_row_count; r++) {
    const struct report_chip_row *row = &report_chip_rows[r];
    bool is_known = false;
    for (size_t i = 0; i < count; i++) {
      is_known |= isfinite(row->value(chips[i])) != 0;
    }
    if (!is_known) {
      continue;
    }
    report_table_cell(table, row->heading);
    for (size_t i = 0; i < count; i++) {
      struct strbuf text = {0};
      put_figure(&text, row, row->value(chips[i]));
      report_table_cell(table, strbuf_text(&text));
      strbuf_release(&text);
      if (i > 0) {
        ratio_cell(table, row->value(chips[i]), row->value(chips[0]));
      }
    }
  }
  report_table_print(table, out);
  report_table_free(table);
}

static double number_of(const struct hw_chip *chip, const char *key) {
  double value;
  return hw_chip_number(chip, key, &value) ? value : NAN;
}

static void print_facts(const struct hw_chip *const *chips, size_t count, struct strbuf *out) {
  enum { VALUE_WIDTH = 28 };
  size_t key_count;
  const char **keys = report_chip_keys(chips, count, &key_count);
  struct report_table *table = compare_table(chips, count, "field");
  for (size_t k = 0; k < key_count; k++) {
    report_table_cell(table, keys[k]);
    for (size_t i = 0; i < count; i++) {
      const struct hw_field *field = hw_chip_field(chips[i], keys[k]);
      struct strbuf text = {0}, cut = {0};
      if (field) {
        report_fact_value(&field->fact.value, field->unit, &text);
      }
      report_cut(&cut, field ? strbuf_text(&text) : "-", VALUE_WIDTH);
      report_table_cell(table, strbuf_text(&cut));
      strbuf_release(&text);
      strbuf_release(&cut);
      if (i > 0) {
        ratio_cell(table, number_of(chips[i], keys[k]), number_of(chips[0], keys[k]));
      }
    }
  }
  strbuf_putc(out, '\n');
  report_table_print(table, out);
  report_table_free(table);
  free(keys);
}

void report_compare_text(const struct hw_chip *const *chips, size_t count, struct strbuf *out) {
  if (count == 0) {
    return;
  }
  print_figures(chips, count, out);
  print_facts(chips, count, out);
}
