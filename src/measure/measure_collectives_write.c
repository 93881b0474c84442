/* Fitted constants as families of clusters, and as a table. */
#include <string.h>

#include "base/decimal.h"
#include "io/output_file.h"
#include "measure/measure_collectives.h"

static const struct {
  const char *key, *unit;
} names[COLLECTIVE_CONSTANT_COUNT] = {
#define COLLECTIVE_CONSTANT(id, key, unit, value, lower, upper, meaning) {key, unit},
#include "cluster/collective_constants.def"
#undef COLLECTIVE_CONSTANT
};

static void put_value(struct strbuf *out, double value) {
  char text[40];
  strbuf_add(out, text, (size_t)decimal_format(text, sizeof text, "%.3g", value));
}

static const struct collective_family_fit *fit_of(const struct collective_fit *fit, const char *family) {
  for (size_t i = 0; i < fit->count; i++) {
    if (strcmp(fit->families[i].name, family) == 0) {
      return &fit->families[i];
    }
  }
  return NULL;
}

/* Whether rows of a table went into a family's fit. */
static bool has_table(const struct measured_collectives *all, const char *family, enum collective_table table) {
  bool is_pooled = strcmp(family, "nvlink") == 0;
  for (size_t i = 0; i < all->rows.count; i++) {
    const struct collective_machine *machine = &collective_machines[all->rows.data[i].machine];
    bool is_of = is_pooled ? collective_is_nvlink_machine(machine) : strcmp(machine->family, family) == 0;
    if (is_of && machine->table == table && all->rows.data[i].may_fit) {
      return true;
    }
  }
  return false;
}

static void put_tables(const struct measured_collectives *all, const char *family, struct strbuf *out) {
  const char *before = "", *last = "";
  for (int table = 0; table < COLLECTIVE_TABLE_COUNT; table++) {
    const char *file = collective_table_info((enum collective_table)table)->file;
    if (strcmp(file, last) != 0 && has_table(all, family, (enum collective_table)table)) {
      strbuf_printf(out, "%s%s", before, file);
      before = ", ";
      last = file;
    }
  }
}

static void put_family(const struct collective_family *family, const struct collective_family_fit *fit,
                       const struct measured_collectives *all, struct strbuf *out) {
  strbuf_printf(out,
                "# Written by `ridgeline calibrate --class collectives`; docs/collectives.md explains it.\nid: %s\n",
                family->file);
  if (family->inherits[0] != '\0') {
    strbuf_printf(out, "inherit: %s\n", family->inherits);
  }
  strbuf_printf(out, "sources:\n  fit: {title: \"Ridgeline, fitted to %zu train rows of ", fit->rows);
  put_tables(all, family->name, out);
  strbuf_puts(out, "\", url: derived, rank: tool}\nfields:\n");
  for (int i = 0; i < COLLECTIVE_CONSTANT_COUNT; i++) {
    if (fit->is_fitted[i] && fit->constants.values[i] > 0) { /* 0 is what an absent one means */
      strbuf_printf(out, "  %s: {value: ", names[i].key);
      put_value(out, fit->constants.values[i]);
      strbuf_printf(out, ", unit: %s, kind: inferred, source: fit, note: \"%s\"}\n", names[i].unit,
                    i == COLLECTIVE_TREE_UNIT ? "ranks of a host" : "fitted to measured times");
    }
  }
}

enum status collective_fit_write(const struct collective_fit *fit, const struct measured_collectives *all,
                                 const char *directory, struct diag_list *diags) {
  STATUS_TRY(output_directory_make(directory, diags));
  enum status status = STATUS_OK;
  for (size_t i = 0; i < collective_family_count && status == STATUS_OK; i++) {
    const struct collective_family *family = &collective_families[i];
    const struct collective_family_fit *of = fit_of(fit, family->name);
    struct strbuf path = {0}, text = {0};
    if (of != NULL && of->rows > 0) {
      strbuf_printf(&path, "%s/%s.yaml", directory, family->file);
      put_family(family, of, all, &text);
      bool is_whole = !path.failed && !text.failed;
      status = is_whole ? output_file_write(strbuf_text(&path), strbuf_text(&text), text.length, diags) : STATUS_MEMORY;
    }
    strbuf_release(&path);
    strbuf_release(&text);
  }
  return status;
}

void collective_fit_print(const struct collective_fit *fit, struct strbuf *out) {
  strbuf_printf(out, "%-38s %-8s", "constant", "unit");
  for (size_t f = 0; f < fit->count; f++) {
    strbuf_printf(out, " %10s", fit->families[f].name);
  }
  strbuf_printf(out, "\n%-38s %-8s", "rows", "");
  for (size_t f = 0; f < fit->count; f++) {
    strbuf_printf(out, " %10zu", fit->families[f].rows);
  }
  for (int i = 0; i < COLLECTIVE_CONSTANT_COUNT; i++) {
    bool is_used = false;
    for (size_t f = 0; f < fit->count; f++) {
      is_used = is_used || fit->families[f].is_fitted[i];
    }
    if (!is_used) {
      continue;
    }
    strbuf_printf(out, "\n%-38s %-8s", names[i].key, names[i].unit);
    for (size_t f = 0; f < fit->count; f++) {
      char text[40] = "-";
      if (fit->families[f].is_fitted[i]) {
        decimal_format(text, sizeof text, "%.3g", fit->families[f].constants.values[i]);
      }
      strbuf_printf(out, " %10s", text);
    }
  }
  strbuf_putc(out, '\n');
}
