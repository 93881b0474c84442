/* Chips as JSON documents; docs/json.md is the schema. */
#include <math.h>
#include <stdlib.h>

#include "hw/hw_calibration.h"
#include "report/report_int.h"

static json_t *figures_of(struct report_json *json, const struct hw_chip *chip) {
  json_t *figures = json_object();
  for (size_t i = 0; i < report_chip_row_count; i++) {
    report_json_set(json, figures, report_chip_rows[i].key, report_json_real(report_chip_rows[i].value(chip)));
  }
  return figures;
}

/* What identifies a chip and whether it predicts. */
static json_t *head_of(struct report_json *json, const struct hw_chip *chip) {
  json_t *row = json_object();
  double year = report_chip_year(chip);
  report_json_set(json, row, "id", report_json_text(chip->id));
  report_json_set(json, row, "name", report_json_text(chip->name));
  report_json_set(json, row, "vendor", report_json_text(chip->vendor));
  report_json_set(json, row, "kind", json_string(hw_kind_name(chip->kind)));
  report_json_set(json, row, "family", report_json_text(chip->family));
  report_json_set(json, row, "year", isfinite(year) ? json_integer((json_int_t)year) : json_null());
  json_t *aliases = json_array();
  for (size_t i = 0; i < chip->alias_count; i++) {
    report_json_append(json, aliases, report_json_text(chip->aliases[i]));
  }
  report_json_set(json, row, "aliases", aliases);
  report_json_set(json, row, "predicts", json_boolean(!chip->missing));
  report_json_set(json, row, "missing", report_json_text(chip->missing));
  report_json_set(json, row, "defaults_from", report_json_text(chip->defaults));
  report_json_set(json, row, "figures", figures_of(json, chip));
  return row;
}

/* Numbers as numbers; everything else as the text of the chip file. */
static json_t *value_of(const struct hw_value *value) {
  return value->kind == HW_VALUE_NUMBER ? report_json_real(value->number) : report_json_text(value->text);
}

static void set_fact(struct report_json *json, json_t *row, const struct hw_fact *fact) {
  report_json_set(json, row, "value", value_of(&fact->value));
  report_json_set(json, row, "kind", json_string(hw_fact_kind_name(fact->kind)));
  report_json_set(json, row, "source", report_json_text(fact->source_title));
  report_json_set(json, row, "url", report_json_text(fact->source_url));
  report_json_set(json, row, "note", report_json_text(fact->note));
}

json_t *report_json_field(struct report_json *json, const struct hw_field *field) {
  json_t *row = json_object();
  report_json_set(json, row, "key", report_json_text(field->key));
  report_json_set(json, row, "unit", report_json_text(field->unit));
  set_fact(json, row, &field->fact);
  report_json_set(json, row, "inherited_from", report_json_text(field->inherited_from));
  report_json_set(json, row, "chosen", report_json_text(field->chosen));
  json_t *disputed = json_array();
  for (size_t i = 0; i < field->disputed_count; i++) {
    json_t *other = json_object();
    set_fact(json, other, &field->disputed[i]);
    report_json_append(json, disputed, other);
  }
  report_json_set(json, row, "disputed", disputed);
  return row;
}

enum status report_chips_json(const struct hw_database *db, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-chips", NULL);
  json_t *rows = json_array();
  for (size_t i = 0; i < db->chips.count; i++) {
    report_json_append(&json, rows, head_of(&json, &db->chips.data[i]));
  }
  report_json_set(&json, root, "chips", rows);
  return report_json_finish(&json, root, out);
}

/* The nearest fit of each class and format, as `chips show` lists them. */
static json_t *fits_of(struct report_json *json, const struct hw_chip *chip) {
  json_t *rows = json_array();
  for (size_t i = 0; i < chip->fit_count; i++) {
    const struct hw_fit *fit = chip->fits[i];
    if (hw_chip_fit(chip, fit->class_name, fit->format) != fit) {
      continue;
    }
    json_t *row = json_object();
    report_json_set(json, row, "class", report_json_text(fit->class_name));
    report_json_set(json, row, "format", report_json_text(fit->format));
    report_json_set(json, row, "model", report_json_text(fit->model));
    report_json_set(json, row, "device", report_json_text(fit->device));
    report_json_set(json, row, "sources", report_json_text(fit->sources));
    report_json_set(json, row, "rows", report_json_uint(fit->rows));
    report_json_set(json, row, "mape", report_json_real(fit->mape));
    report_json_set(json, row, "data_sheet_mape", report_json_real(fit->data_sheet_mape));
    report_json_set(json, row, "used", json_boolean(hw_fit_is_useful(fit)));
    json_t *constants = json_object();
    for (unsigned k = 0; k < fit->constant_count; k++) {
      report_json_set(json, constants, fit->names[k], report_json_real(fit->values[k]));
    }
    report_json_set(json, row, "constants", constants);
    report_json_append(json, rows, row);
  }
  return rows;
}

enum status report_chip_json(const struct hw_chip *chip, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-chip", NULL);
  report_json_set(&json, root, "chip", head_of(&json, chip));
  json_t *fields = json_array();
  for (size_t i = 0; i < chip->field_count; i++) {
    report_json_append(&json, fields, report_json_field(&json, &chip->fields[i]));
  }
  report_json_set(&json, root, "fits", fits_of(&json, chip));
  report_json_set(&json, root, "fields", fields);
  return report_json_finish(&json, root, out);
}

static double number_of(const struct hw_chip *chip, const char *key) {
  double value;
  return hw_chip_number(chip, key, &value) ? value : NAN;
}

/* One field on every chip, in the order of the chips; null where a chip lacks it. */
static json_t *compared_field(struct report_json *json, const char *key, const struct hw_chip *const *chips,
                              size_t count) {
  json_t *row = json_object(), *values = json_array(), *ratios = json_array();
  const char *unit = NULL;
  for (size_t i = 0; i < count; i++) {
    const struct hw_field *field = hw_chip_field(chips[i], key);
    unit = field && !unit ? field->unit : unit;
    report_json_append(json, values, field ? value_of(&field->fact.value) : json_null());
    report_json_append(json, ratios, report_json_real(number_of(chips[i], key) / number_of(chips[0], key)));
  }
  report_json_set(json, row, "key", report_json_text(key));
  report_json_set(json, row, "unit", report_json_text(unit));
  report_json_set(json, row, "values", values);
  report_json_set(json, row, "ratios", ratios);
  return row;
}

enum status report_compare_json(const struct hw_chip *const *chips, size_t count, struct strbuf *out) {
  struct report_json json = {0};
  json_t *root = report_json_document(&json, "ridgeline-compare", NULL);
  json_t *heads = json_array(), *fields = json_array();
  for (size_t i = 0; i < count; i++) {
    report_json_append(&json, heads, head_of(&json, chips[i]));
  }
  size_t key_count;
  const char **keys = report_chip_keys(chips, count, &key_count);
  for (size_t k = 0; k < key_count; k++) {
    report_json_append(&json, fields, compared_field(&json, keys[k], chips, count));
  }
  free(keys);
  report_json_set(&json, root, "chips", heads);
  report_json_set(&json, root, "fields", fields);
  return report_json_finish(&json, root, out);
}
