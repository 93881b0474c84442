/* What `chips check` says besides its findings: how many there are, what keeps a chip from predicting, and which of its
 * fields are defaults of its kind. */
#include <stdlib.h>

#include "report/report_int.h"

static void count_text(struct strbuf *out, size_t count, const char *word) {
  strbuf_printf(out, "%zu %s%s", count, word, count == 1 ? "" : "s");
}

static void print_defaults(const struct hw_chip *chip, struct strbuf *out) {
  size_t count = 0;
  struct strbuf keys = {0};
  for (size_t i = 0; i < chip->field_count; i++) {
    if (hw_field_is_default(chip, &chip->fields[i])) {
      strbuf_puts(&keys, count++ ? ", " : "");
      report_clean(&keys, chip->fields[i].key);
    }
  }
  if (count > 0) {
    report_clean(out, chip->id);
    strbuf_puts(out, " inherits nothing by name; ");
    count_text(out, count, "field");
    strbuf_printf(out, " of %s %s: %s\n", chip->defaults, count == 1 ? "is its default" : "are its defaults",
                  strbuf_text(&keys));
  }
  strbuf_release(&keys);
}

void report_chip_check_text(const struct report_chip_check *check, struct strbuf *out) {
  size_t idle = 0;
  for (size_t i = 0; i < check->count; i++) {
    idle += check->chips[i].missing != NULL;
  }
  if (check->count == 1) {
    print_defaults(&check->chips[0], out);
  }
  count_text(out, check->count, "chip");
  strbuf_puts(out, " checked: ");
  count_text(out, check->diags->error_count, "error");
  strbuf_puts(out, ", ");
  count_text(out, check->diags->warning_count, "warning");
  if (check->count > 1 && idle > 0) {
    strbuf_printf(out, "; %zu cannot be predicted ('chips list' says what they lack)", idle);
  }
  strbuf_putc(out, '\n');
}

static json_t *chip_of(struct report_json *json, const struct hw_chip *chip) {
  json_t *row = json_object();
  report_json_set(json, row, "chip", report_json_text(chip->id));
  report_json_set(json, row, "predicts", json_boolean(!chip->missing));
  report_json_set(json, row, "missing", report_json_text(chip->missing));
  report_json_set(json, row, "defaults_from", report_json_text(chip->defaults));
  json_t *defaults = json_array();
  for (size_t i = 0; i < chip->field_count; i++) {
    if (hw_field_is_default(chip, &chip->fields[i])) {
      report_json_append(json, defaults, report_json_text(chip->fields[i].key));
    }
  }
  report_json_set(json, row, "defaults", defaults);
  return row;
}

static json_t *finding_of(struct report_json *json, const struct diag *diag) {
  static const char *const severities[] = {"error", "warning", "note"};
  json_t *row = json_object();
  report_json_set(json, row, "severity", json_string(severities[diag->severity]));
  report_json_set(json, row, "code", json_string(diag_code(diag->id)));
  report_json_set(json, row, "file", report_json_text(diag->file));
  report_json_set(json, row, "line", diag->line > 0 ? json_integer(diag->line) : json_null());
  report_json_set(json, row, "column", diag->column > 0 ? json_integer(diag->column) : json_null());
  report_json_set(json, row, "message", report_json_text(diag->message));
  return row;
}

json_t *report_json_findings(struct report_json *json, const struct diag_list *diags) {
  json_t *findings = json_array();
  for (size_t i = 0; i < diags->entries.count; i++) {
    report_json_append(json, findings, finding_of(json, &diags->entries.data[i]));
  }
  return findings;
}

enum status report_chip_check_json(const struct report_chip_check *check, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-chip-check", check->version);
  report_json_set(&json, root, "checked", report_json_uint(check->count));
  report_json_set(&json, root, "errors", report_json_uint(check->diags->error_count));
  report_json_set(&json, root, "warnings", report_json_uint(check->diags->warning_count));
  report_json_set(&json, root, "findings", report_json_findings(&json, check->diags));
  json_t *chips = json_array();
  for (size_t i = 0; i < check->count; i++) {
    report_json_append(&json, chips, chip_of(&json, &check->chips[i]));
  }
  report_json_set(&json, root, "chips", chips);
  return report_json_finish(&json, root, out);
}
