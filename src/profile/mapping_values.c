/* Values of table rows as a mapping describes them: cells, numbers inside cells, renamed texts, sums and products. */
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "profile/mapping.h"

/* The cell without the blanks around it; some published tables are padded. */
static const char *trimmed(const struct csv_table *table, size_t row, int column, size_t *length) {
  const char *text = csv_cell(table, row, column);
  while (*text == ' ' || *text == '\t') {
    text++;
  }
  *length = strlen(text);
  while (*length > 0 && (text[*length - 1] == ' ' || text[*length - 1] == '\t')) {
    (*length)--;
  }
  return text;
}

static bool same(const char *name, const char *text, size_t length) {
  return strncmp(name, text, length) == 0 && name[length] == '\0';
}

static int find_column(const char *const *headings, size_t count, const char *heading) {
  for (size_t i = 0; i < count; i++) {
    const char *text = headings[i];
    size_t length = strlen(text);
    for (; *text == ' '; text++, length--) {
    }
    while (length > 0 && text[length - 1] == ' ') {
      length--;
    }
    if (same(heading, text, length)) {
      return (int)i;
    }
  }
  return -1;
}

bool mapping_bind(const struct mapping *mapping, struct mapping_value *value, const char *const *headings, size_t count,
                  const char *path, struct diag_list *diags) {
  bool is_good = true;
  for (unsigned i = 0; i < value->part_count; i++) {
    is_good = mapping_bind(mapping, &value->parts[i], headings, count, path, diags) && is_good;
  }
  if (value->kind != MAPPING_COLUMN) {
    return is_good;
  }
  value->column = find_column(headings, count, value->text);
  if (value->column >= 0) {
    return true;
  }
  const char *near = nearest_name(value->text, headings, count);
  diag_at(diags, DIAG_E0603_MAPPING, mapping->text, value->offset, "'%s' has no column '%s'%s%s%s", path, value->text,
          near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
  return false;
}

/* The nth run of digits (with at most one point) in a text. */
static bool number_inside(const char *text, size_t length, unsigned nth, double *number) {
  size_t at = 0;
  while (at < length) {
    if (text[at] < '0' || text[at] > '9') {
      at++;
      continue;
    }
    size_t start = at;
    bool has_point = false;
    while (at < length && ((text[at] >= '0' && text[at] <= '9') || (text[at] == '.' && !has_point))) {
      has_point = has_point || text[at] == '.';
      at++;
    }
    if (--nth == 0) {
      return decimal_parse(text + start, at - start, number) && isfinite(*number);
    }
  }
  return false;
}

/* The entry of a cell; NULL when there is none. */
static const struct mapping_entry *find_entry(const struct mapping_value *value, const char *text, size_t length) {
  for (unsigned i = 0; i < value->entry_count; i++) {
    if (same(value->entries[i].from, text, length)) {
      return &value->entries[i];
    }
  }
  return value->otherwise;
}

const char *mapping_text(const struct mapping_value *value, struct csv_table *table, size_t row,
                         const char **unlisted) {
  *unlisted = NULL;
  if (value->kind != MAPPING_COLUMN) {
    return value->kind == MAPPING_CONSTANT ? value->text : "";
  }
  size_t length;
  const char *text = trimmed(table, row, value->column, &length);
  if (value->entries != NULL) {
    const struct mapping_entry *entry = find_entry(value, text, length);
    *unlisted = entry == NULL ? text : NULL;
    return entry != NULL ? entry->to : NULL;
  }
  return text[length] == '\0' ? text : arena_strndup(&table->arena, text, length);
}

static bool combine(const struct mapping_value *value, struct csv_table *table, size_t row, double *number) {
  *number = value->kind == MAPPING_SUM ? 0 : 1;
  for (unsigned i = 0; i < value->part_count; i++) {
    double part;
    if (!mapping_number(&value->parts[i], table, row, &part)) {
      return false;
    }
    if (value->kind == MAPPING_SUM) {
      *number += part;
    } else if (value->kind == MAPPING_QUOTIENT && i > 0) {
      *number /= part;
    } else {
      *number *= part;
    }
  }
  return isfinite(*number);
}

bool mapping_number(const struct mapping_value *value, struct csv_table *table, size_t row, double *number) {
  *number = value->number;
  if (value->kind == MAPPING_ABSENT || value->kind == MAPPING_CONSTANT) {
    return value->kind == MAPPING_CONSTANT;
  }
  if (value->kind != MAPPING_COLUMN) {
    return combine(value, table, row, number);
  }
  size_t length;
  const char *text = trimmed(table, row, value->column, &length);
  if (value->entries != NULL) {
    const struct mapping_entry *entry = find_entry(value, text, length);
    *number = entry != NULL ? entry->number : 0;
    return entry != NULL && entry->to != NULL;
  }
  return value->nth > 0 ? number_inside(text, length, value->nth, number)
                        : decimal_parse(text, length, number) && isfinite(*number);
}

bool mapping_condition_holds(const struct mapping_condition *condition, struct csv_table *table, size_t row) {
  if (condition->kind == CONDITION_AT_LEAST || condition->kind == CONDITION_AT_MOST) {
    double number;
    return mapping_number(&condition->value, table, row, &number)
           && (condition->kind == CONDITION_AT_LEAST ? number >= condition->bound : number <= condition->bound);
  }
  size_t length;
  const char *text = trimmed(table, row, condition->value.column, &length);
  bool is_listed = false;
  for (unsigned i = 0; i < condition->text_count && !is_listed; i++) {
    is_listed = same(condition->texts[i], text, length);
  }
  return is_listed == (condition->kind == CONDITION_IS);
}

void mapping_put_number(struct strbuf *out, double value) {
  if (value == floor(value) && fabs(value) < 1e15) {
    strbuf_put_i64(out, (int64_t)value);
    return;
  }
  char text[40];
  double back;
  int length = decimal_format(text, sizeof text, "%.15g", value);
  if (!decimal_parse(text, (size_t)length, &back) || back != value) {
    length = decimal_format(text, sizeof text, "%.17g", value);
  }
  strbuf_add(out, text, (size_t)length);
}
