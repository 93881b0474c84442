/* Published tables into a profile: runs mapping files. Path: mapping.h + CSV tables → rows → store/. One transaction per
 * mapping file: a profile holds all of a source or nothing of it. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw/hw_yaml.h"
#include "io/input_file.h"
#include "profile/mapping.h"
#include "profile/measured_kernels.h"

struct importer {
  struct store *profile;
  const struct mapping *mapping;
  struct diag_list *diags;
  struct strbuf shape; /* of the row at hand */
  uint64_t *added, *absent;
};

/* Why rows of one table were left out; the first cell stands for all in the message. */
struct left_out {
  uint64_t unlisted, bad_latency, bad_shape;
  const char *cell; /* first unlisted one */
  size_t offset; /* of the value that does not list it */
};

static void put_key(struct strbuf *out, const char *key) {
  strbuf_puts(out, out->length > 1 ? ",\"" : "\"");
  strbuf_puts(out, key);
  strbuf_puts(out, "\":");
}

/* The shape as canonical JSON: keys sorted, no blanks. False when a cell holds no number. */
static bool write_shape(const struct mapping_table *t, struct csv_table *csv, size_t row, struct strbuf *out) {
  strbuf_clear(out);
  strbuf_putc(out, '{');
  for (size_t i = 0; i < t->shape.count; i++) {
    const struct mapping_shape_member *member = &t->shape.data[i];
    if (member->is_function) {
      const char *unlisted, *name = mapping_text(&member->value, csv, row, &unlisted);
      if (name == NULL || (strcmp(name, "none") != 0 && measured_function_find(name) == HW_FUNCTION_COUNT)) {
        return false;
      }
      put_key(out, member->key);
      strbuf_printf(out, "\"%s\"", name);
      continue;
    }
    double number;
    if (!mapping_number(&member->value, csv, row, &number)) {
      return false;
    }
    put_key(out, member->key);
    mapping_put_number(out, number);
  }
  strbuf_putc(out, '}');
  return !out->failed;
}

/* Seconds from a cell: a time as it is, a rate through the work of the shape. 0 when it makes no sense. */
static double seconds(const struct mapping_unit *unit, double cell, const struct kernel_shape *shape) {
  double rate = cell * unit->scale;
  if (unit->kind == UNIT_TIME) {
    return rate;
  }
  bool is_pass = shape->class_of == KERNEL_ELEMENTWISE || shape->class_of == KERNEL_SOFTMAX
                 || shape->class_of == KERNEL_NORMALISATION;
  double work = unit->kind == UNIT_FLOPS ? kernel_flops(shape) : is_pass ? shape->pass.rows * shape->pass.columns : 0;
  return rate > 0 ? work / rate : 0;
}

/* A text of the row, or NULL after counting why not. */
static const char *need_text(const struct mapping_value *value, struct csv_table *csv, size_t row,
                             struct left_out *left_out) {
  const char *unlisted;
  const char *text = mapping_text(value, csv, row, &unlisted);
  if (unlisted != NULL) {
    left_out->offset = left_out->unlisted == 0 ? value->offset : left_out->offset;
    left_out->cell = left_out->unlisted == 0 ? unlisted : left_out->cell;
    left_out->unlisted++;
  }
  return text;
}

static enum status import_row(struct importer *im, const struct mapping_table *t, enum store_split split,
                              struct csv_table *csv, size_t row, struct left_out *left_out) {
  for (size_t i = 0; i < t->conditions.count; i++) {
    if (!mapping_condition_holds(&t->conditions.data[i], csv, row)) {
      return STATUS_OK;
    }
  }
  struct store_operator r = {.source = im->mapping->source.name, .split = split, .spread_s = (double)NAN};
  if ((r.device = need_text(&t->device, csv, row, left_out)) == NULL
      || (r.op = need_text(&t->op, csv, row, left_out)) == NULL
      || (r.format = need_text(&t->format, csv, row, left_out)) == NULL
      || (r.software = need_text(&t->software, csv, row, left_out)) == NULL
      || (r.variant = need_text(&t->variant, csv, row, left_out)) == NULL) {
    return STATUS_OK;
  }
  enum kernel_class class_of = kernel_class_find(r.op);
  enum kernel_format format = kernel_format_find(r.format);
  struct kernel_shape shape;
  if (class_of == KERNEL_CLASS_COUNT || format == KERNEL_FORMAT_COUNT || !write_shape(t, csv, row, &im->shape)
      || !measured_shape_parse(class_of, format, strbuf_text(&im->shape), &shape)) {
    left_out->bad_shape++;
    return STATUS_OK;
  }
  r.shape = strbuf_text(&im->shape);
  double cell;
  r.latency_s = mapping_number(&t->latency, csv, row, &cell) ? seconds(t->latency_unit, cell, &shape) : 0;
  if (!(r.latency_s > 0 && r.latency_s < 1e9) || r.device[0] == '\0') {
    left_out->bad_latency++;
    return STATUS_OK;
  }
  if (mapping_number(&t->spread, csv, row, &cell) && cell >= 0) {
    r.spread_s = seconds(t->spread_unit, cell, &shape);
  }
  ++*im->added;
  return store_add_operator(im->profile, &r, im->diags);
}

static void say_left_out(const struct importer *im, const struct mapping_file *file, const struct mapping_table *t,
                         const struct left_out *left_out) {
  const struct source *text = im->mapping->text;
  if (left_out->unlisted > 0) {
    diag_at(im->diags, DIAG_W0603_ROWS_LEFT_OUT, text, left_out->offset,
            "%llu rows of '%s' are left out: '%s' is not in the map ('~' would say that it is not wanted)",
            (unsigned long long)left_out->unlisted, file->name, left_out->cell);
  }
  if (left_out->bad_shape > 0) {
    diag_at(im->diags, DIAG_W0603_ROWS_LEFT_OUT, text, t->offset,
            "%llu rows of '%s' are left out: their shape has no number or an impossible one somewhere",
            (unsigned long long)left_out->bad_shape, file->name);
  }
  if (left_out->bad_latency > 0) {
    diag_at(im->diags, DIAG_W0603_ROWS_LEFT_OUT, text, t->latency.offset,
            "%llu rows of '%s' are left out: no positive time or rate in them, or no device",
            (unsigned long long)left_out->bad_latency, file->name);
  }
}

static bool bind_all(const struct importer *im, struct mapping_table *t, const struct csv_table *csv) {
  struct mapping_value *const values[] = {&t->op,      &t->device,  &t->format, &t->software,
                                          &t->variant, &t->latency, &t->spread};
  const char *const *headings = t->headings != NULL ? t->headings : csv->cells.data;
  size_t count = csv->columns;
  if (t->headings != NULL && t->heading_count != count) {
    diag_at(im->diags, DIAG_E0603_MAPPING, im->mapping->text, t->offset, "'%s' has %zu columns, 'headings' names %u",
            csv->path, count, t->heading_count);
    return false;
  }
  bool is_good = true;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    is_good = mapping_bind(im->mapping, values[i], headings, count, csv->path, im->diags) && is_good;
  }
  for (size_t i = 0; i < t->shape.count; i++) {
    is_good = mapping_bind(im->mapping, &t->shape.data[i].value, headings, count, csv->path, im->diags) && is_good;
  }
  for (size_t i = 0; i < t->conditions.count; i++) {
    is_good = mapping_bind(im->mapping, &t->conditions.data[i].value, headings, count, csv->path, im->diags) && is_good;
  }
  return is_good;
}

static enum status import_csv(struct importer *im, struct mapping_table *t, const struct mapping_file *file,
                              const char *path) {
  struct csv_table csv;
  enum status status = csv_read(&csv, path, im->diags);
  if (status == STATUS_OK && csv.columns == 0) {
    diag_file(im->diags, DIAG_E0002_EMPTY, path, 0, 0, "'%s' is empty", path);
    status = STATUS_INPUT;
  }
  if (status == STATUS_OK && !bind_all(im, t, &csv)) {
    status = STATUS_INPUT;
  }
  struct left_out left_out = {0};
  /* without a heading line the first row is the one before row 0 */
  size_t first = t->headings != NULL ? (size_t)-1 : 0;
  for (size_t row = first; status == STATUS_OK && row + 1 <= csv_rows(&csv); row++) {
    status = import_row(im, t, file->split, &csv, row, &left_out);
  }
  if (status == STATUS_OK) {
    say_left_out(im, file, t, &left_out);
  }
  csv_release(&csv);
  return status;
}

static enum status import_file(struct importer *im, struct mapping_table *t, const struct mapping_file *file,
                               const char *data_directory) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/%s/%s", data_directory, im->mapping->folder, file->name);
  enum status status = path.failed ? STATUS_MEMORY : STATUS_OK;
  if (status == STATUS_OK && access(strbuf_text(&path), F_OK) != 0) {
    diag_at(im->diags, DIAG_W0604_NO_TABLE, im->mapping->text, file->offset, "no data: '%s' does not exist",
            strbuf_text(&path));
    ++*im->absent;
  } else if (status == STATUS_OK) {
    status = import_csv(im, t, file, strbuf_text(&path));
  }
  strbuf_release(&path);
  return status;
}

/* False when the whole folder of the source is absent: that is said once, and all its files count. */
static bool folder_is_there(struct importer *im, const char *data_directory) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/%s", data_directory, im->mapping->folder);
  bool is_there = path.failed || access(strbuf_text(&path), F_OK) == 0;
  if (!is_there) {
    diag_at(im->diags, DIAG_W0604_NO_TABLE, im->mapping->text, im->mapping->folder_offset,
            "no data: '%s' does not exist", strbuf_text(&path));
    for (size_t i = 0; i < im->mapping->tables.count; i++) {
      *im->absent += im->mapping->tables.data[i].files.count;
    }
  }
  strbuf_release(&path);
  return is_there;
}

static enum status import_tables(struct importer *im, struct mapping *mapping, const char *data_directory) {
  if (!folder_is_there(im, data_directory)) {
    return STATUS_OK; /* what the profile has of the source stays */
  }
  bool is_known = store_find_source(im->profile, mapping->source.name) != NULL;
  STATUS_TRY(store_add_source(im->profile, &mapping->source, im->diags));
  if (is_known) {
    STATUS_TRY(store_drop_rows(im->profile, mapping->source.name, NULL, false, im->diags));
  }
  for (size_t i = 0; i < mapping->tables.count; i++) {
    struct mapping_table *t = &mapping->tables.data[i];
    for (size_t k = 0; k < t->files.count; k++) {
      STATUS_TRY(import_file(im, t, &t->files.data[k], data_directory));
    }
  }
  return STATUS_OK;
}

enum status profile_import_mapping(struct store *profile, const char *mapping_path, const char *data_directory,
                                   uint64_t *added, uint64_t *absent, struct diag_list *diags) {
  struct input_file file;
  STATUS_TRY(input_file_read(&file, mapping_path, HW_YAML_MAX_BYTES, diags));
  struct source text = {.name = mapping_path, .text = file.text, .length = file.length};
  struct mapping mapping;
  enum status status = mapping_load(&mapping, &text, diags);
  uint64_t rows = 0;
  struct importer im = {.profile = profile, .mapping = &mapping, .diags = diags, .added = &rows, .absent = absent};
  if (status == STATUS_OK && (status = store_begin(profile, diags)) == STATUS_OK) {
    status = import_tables(&im, &mapping, data_directory);
    status = status == STATUS_OK ? store_commit(profile, diags) : status;
    if (status != STATUS_OK) {
      store_rollback(profile);
    }
  }
  *added += status == STATUS_OK ? rows : 0;
  strbuf_release(&im.shape);
  mapping_release(&mapping);
  input_file_release(&file);
  return status;
}

static int is_mapping(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name); /* alphasort would follow the locale */
}

enum status profile_import_all(struct store *profile, const char *mapping_directory, const char *data_directory,
                               uint64_t *added, uint64_t *absent, struct diag_list *diags) {
  struct dirent **entries = NULL;
  int count = scandir(mapping_directory, &entries, is_mapping, by_name);
  if (count <= 0) {
    diag_file(diags, DIAG_E0001_OPEN, mapping_directory, 0, 0, "no mapping files in '%s': %s", mapping_directory,
              count < 0 ? strerror(errno) : "no file ends in .yaml");
    free(entries);
    return STATUS_IO;
  }
  enum status result = STATUS_OK;
  for (int i = 0; i < count; i++) {
    struct strbuf path = {0};
    strbuf_printf(&path, "%s/%s", mapping_directory, entries[i]->d_name);
    enum status status =
        path.failed ? STATUS_MEMORY
                    : profile_import_mapping(profile, strbuf_text(&path), data_directory, added, absent, diags);
    result = result == STATUS_OK ? status : result; /* go on: a bad file does not take the good ones with it */
    strbuf_release(&path);
    free(entries[i]);
  }
  free(entries);
  return result;
}
