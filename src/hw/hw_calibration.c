/* Fitted constants: hardware/calibrated/<device>.yaml to struct hw_fit, and which chip uses which. Documents are read
 * through hw_yaml, every key is checked. Path: calibrate/ writes the files, kernel/ gives the names a
 * meaning. */
#include "hw/hw_calibration.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/decimal.h"
#include "base/strbuf.h"
#include "hw/hw_load.h"

/* One document while it is read. */
struct reader {
  struct hw_database *db;
  struct diag_list *diags;
  const struct source *source;
  struct arena scratch;
  const char *device, *date;
  bool is_family;
  bool is_replacing; /* fits that the database has give way to the document's; else one device, one document */
  bool is_out_of_memory;
  VEC(const struct hw_fit *) fits;
};

#define NAME_COUNT(names) (sizeof(names) / sizeof *(names))

static bool refuse(struct reader *r, enum diag_id id, size_t offset, const char *what, const char *text) {
  diag_at(r->diags, id, r->source, offset, what, text);
  return false;
}

static void *keep_array(struct reader *r, size_t count, size_t size) {
  void *kept = arena_calloc(&r->db->arena, count, size);
  r->is_out_of_memory |= kept == NULL;
  return kept;
}

static const char *keep(struct reader *r, const char *text) {
  const char *kept = arena_strndup(&r->db->arena, text, strlen(text));
  r->is_out_of_memory |= kept == NULL;
  return kept;
}

/* E0302 for every key of `map` that is none of `names`. */
static bool check_keys(struct reader *r, const struct hw_node *map, const char *what, const char *const *names,
                       size_t count) {
  bool is_good = true;
  for (const struct hw_node *n = map->first; n != NULL; n = n->next) {
    bool is_known = false;
    for (size_t i = 0; i < count && !is_known; i++) {
      is_known = names[i][0] == n->key[0] && strcmp(names[i], n->key) == 0;
    }
    if (!is_known) {
      const char *near = nearest_name(n->key, names, count);
      diag_at(r->diags, DIAG_E0302_FIELD, r->source, n->key_offset, "'%s' is not a key of %s%s%s%s", n->key, what,
              near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
      is_good = false;
    }
  }
  return is_good;
}

/* The child of that kind; a message when it is another, or needed and absent. */
static const struct hw_node *child_of(struct reader *r, const struct hw_node *map, const char *key,
                                      enum hw_node_kind kind, bool is_required) {
  static const char *const wanted[] = {[HW_NODE_SCALAR] = "'%s' must be a word or number",
                                       [HW_NODE_LIST] = "'%s' must be a list, like [a, b]",
                                       [HW_NODE_MAP] = "'%s' must be a map, like {a: 1}"};
  const struct hw_node *node = hw_node_child(map, key);
  if (node == NULL) {
    if (is_required) {
      (void)refuse(r, DIAG_E0302_FIELD, map->offset, "'%s' is missing", key);
    }
    return NULL;
  }
  if (node->kind != kind) {
    (void)refuse(r, DIAG_E0303_VALUE, node->offset, wanted[kind], key);
    return NULL;
  }
  return node;
}

static bool number_of(struct reader *r, const struct hw_node *node, const char *name, double min, double max,
                      double *out) {
  double value = 0;
  bool is_number =
      node->kind == HW_NODE_SCALAR && node->is_plain && decimal_parse(node->text, strlen(node->text), &value);
  if (!is_number) {
    return refuse(r, DIAG_E0303_VALUE, node->offset, "'%s' must be a number", name);
  }
  if (!(value >= min && value <= max)) { /* refuses NaN as well */
    diag_at(r->diags, DIAG_E0303_VALUE, r->source, node->offset, "'%s' is %s; it must lie between %g and %g", name,
            node->text, min, max);
    return false;
  }
  *out = value;
  return true;
}

static bool number_in(struct reader *r, const struct hw_node *map, const char *key, double min, double max,
                      double *out) {
  const struct hw_node *node = child_of(r, map, key, HW_NODE_SCALAR, true);
  return node != NULL && number_of(r, node, key, min, max, out);
}

static bool count_in(struct reader *r, const struct hw_node *map, const char *key, uint64_t *out) {
  double value;
  if (!number_in(r, map, key, 1, 1e15, &value)) {
    return false;
  }
  *out = (uint64_t)value;
  return value == floor(value)
         || refuse(r, DIAG_E0303_VALUE, hw_node_child(map, key)->offset, "'%s' must be a whole number", key);
}

static bool word_in(struct reader *r, const struct hw_node *map, const char *key, const char **out) {
  const struct hw_node *node = child_of(r, map, key, HW_NODE_SCALAR, true);
  if (node == NULL) {
    return false;
  }
  if (!hw_is_identifier(node->text)) {
    return refuse(r, DIAG_E0303_VALUE, node->offset, "'%s' is written with lower-case letters, digits, '-' and '_'",
                  key);
  }
  *out = keep(r, node->text);
  return *out != NULL;
}

/* [a, b] as "a, b". */
static bool words_in(struct reader *r, const struct hw_node *map, const char *key, const char **out, unsigned *count) {
  const struct hw_node *list = child_of(r, map, key, HW_NODE_LIST, true);
  if (list == NULL) {
    return false;
  }
  struct strbuf text = {0};
  bool is_good = list->first != NULL || refuse(r, DIAG_E0303_VALUE, list->offset, "'%s' must name at least one", key);
  *count = 0;
  for (const struct hw_node *n = list->first; n != NULL && is_good; n = n->next) {
    if (n->kind != HW_NODE_SCALAR || !hw_is_identifier(n->text)) {
      is_good = refuse(r, DIAG_E0303_VALUE, n->offset,
                       "a name in '%s' is written with lower-case letters, digits, '-' and '_'", key);
      break;
    }
    strbuf_printf(&text, "%s%s", *count > 0 ? ", " : "", n->text);
    ++*count;
  }
  if (is_good) {
    *out = text.failed ? NULL : keep(r, strbuf_text(&text));
    r->is_out_of_memory |= text.failed;
    is_good = *out != NULL;
  }
  strbuf_release(&text);
  return is_good;
}

/* [low, high] of what the rows had. */
static bool range_in(struct reader *r, const struct hw_node *map, const char *key, double *low, double *high) {
  const struct hw_node *list = child_of(r, map, key, HW_NODE_LIST, true);
  if (list == NULL) {
    return false;
  }
  if (list->first == NULL || list->first->next == NULL || list->first->next->next != NULL) {
    return refuse(r, DIAG_E0303_VALUE, list->offset, "'%s' must be a range, like [1e6, 1e12]", key);
  }
  return number_of(r, list->first, key, 0, 1e30, low) && number_of(r, list->first->next, key, 0, 1e30, high)
         && (*low <= *high || refuse(r, DIAG_E0303_VALUE, list->offset, "'%s' begins above its end", key));
}

static bool read_error(struct reader *r, const struct hw_node *map, struct hw_fit *fit) {
  static const char *const names[] = {"mape", "median", "p90", "bias", "data_sheet"};
  const struct hw_node *error = child_of(r, map, "error", HW_NODE_MAP, true);
  if (error == NULL || !check_keys(r, error, "'error'", names, NAME_COUNT(names))) {
    return false;
  }
  return number_in(r, error, "mape", 0, 1e6, &fit->mape) && number_in(r, error, "median", 0, 1e6, &fit->median)
         && number_in(r, error, "p90", 0, 1e6, &fit->p90) && number_in(r, error, "bias", -1, 1e6, &fit->bias)
         && (hw_node_child(error, "data_sheet") == NULL
             || number_in(r, error, "data_sheet", 0, 1e6, &fit->data_sheet_mape));
}

static size_t child_count(const struct hw_node *node) {
  size_t count = 0;
  for (const struct hw_node *n = node->first; n != NULL; n = n->next) {
    count++;
  }
  return count;
}

/* Names of constants end in their unit, which may have capitals: "rate_Bps". */
static bool is_constant_name(const char *text) {
  for (const char *c = text; *c != '\0'; c++) {
    bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!is_letter && *c != '_' && (c == text || *c < '0' || *c > '9')) {
      return false;
    }
  }
  return text[0] != '\0';
}

static bool read_constants(struct reader *r, const struct hw_node *map, struct hw_fit *fit) {
  const struct hw_node *constants = child_of(r, map, "constants", HW_NODE_MAP, true);
  if (constants == NULL) {
    return false;
  }
  size_t count = child_count(constants);
  if (count == 0 || count > HW_FIT_CONSTANT_MAX) {
    return refuse(r, DIAG_E0303_VALUE, constants->offset, "'%s' must name from 1 to 64 constants", "constants");
  }
  const char **names = keep_array(r, count, sizeof *names);
  double *values = keep_array(r, count, sizeof *values);
  if (names == NULL || values == NULL) {
    return false;
  }
  size_t i = 0;
  for (const struct hw_node *n = constants->first; n != NULL; n = n->next, i++) {
    if (!is_constant_name(n->key)) {
      return refuse(r, DIAG_E0303_VALUE, n->key_offset, "'%s': a constant is named with letters, digits and '_'",
                    n->key);
    }
    names[i] = keep(r, n->key);
    if (names[i] == NULL || !number_of(r, n, n->key, -1e30, 1e30, &values[i])) {
      return false;
    }
  }
  fit->names = names;
  fit->values = values;
  fit->constant_count = (unsigned)count;
  return true;
}

static bool read_interval(struct reader *r, const struct hw_node *node, double below_before,
                          struct hw_fit_interval *out) {
  static const char *const names[] = {"below", "rows", "low", "high"};
  bool is_last = node->next == NULL;
  if (node->kind != HW_NODE_MAP) {
    return refuse(r, DIAG_E0303_VALUE, node->offset, "an interval is a map, like %s",
                  "{below: 1e-5, rows: 300, low: 0.9, high: 1.1}");
  }
  if (!check_keys(r, node, "an interval", names, NAME_COUNT(names)) || !count_in(r, node, "rows", &out->rows)
      || !number_in(r, node, "low", 1e-6, 1e6, &out->low) || !number_in(r, node, "high", 1e-6, 1e6, &out->high)) {
    return false;
  }
  if (!(out->low < out->high)) {
    return refuse(r, DIAG_E0303_VALUE, hw_node_child(node, "high")->offset, "'%s' must be above 'low'", "high");
  }
  const struct hw_node *below = hw_node_child(node, "below");
  if (is_last) {
    out->below_s = INFINITY;
    return below == NULL
           || refuse(r, DIAG_E0303_VALUE, below->offset,
                     "the last interval holds for all that is longer and has no '%s'", "below");
  }
  if (!number_in(r, node, "below", 1e-12, 1e6, &out->below_s)) {
    return false;
  }
  return out->below_s > below_before
         || refuse(r, DIAG_E0303_VALUE, below->offset, "'%s' must ascend from interval to interval", "below");
}

static bool read_intervals(struct reader *r, const struct hw_node *map, struct hw_fit *fit) {
  const struct hw_node *list = child_of(r, map, "intervals", HW_NODE_LIST, true);
  if (list == NULL) {
    return false;
  }
  size_t count = child_count(list);
  if (count == 0 || count > HW_FIT_INTERVAL_MAX) {
    return refuse(r, DIAG_E0303_VALUE, list->offset, "'%s' must hold from 1 to 16 intervals", "intervals");
  }
  struct hw_fit_interval *intervals = keep_array(r, count, sizeof *intervals);
  if (intervals == NULL) {
    return false;
  }
  double below = 0;
  size_t i = 0;
  for (const struct hw_node *n = list->first; n != NULL; n = n->next, i++) {
    if (!read_interval(r, n, below, &intervals[i])) {
      return false;
    }
    below = intervals[i].below_s;
  }
  fit->intervals = intervals;
  fit->interval_count = (unsigned)count;
  return true;
}

static bool is_same_key(const struct hw_fit *a, const struct hw_fit *b) {
  return strcmp(a->device, b->device) == 0 && strcmp(a->class_name, b->class_name) == 0
         && strcmp(a->format, b->format) == 0;
}

static bool is_chip(const struct hw_database *db, const char *id) {
  for (size_t i = 0; i < db->chips.count; i++) {
    if (strcmp(db->chips.data[i].id, id) == 0) {
      return true;
    }
  }
  return false;
}

/* Two fits of one document may not be for the same kernels. */
static bool check_unique(struct reader *r, const struct hw_node *node, const struct hw_fit *fit) {
  for (size_t i = 0; i < r->fits.count; i++) {
    if (is_same_key(r->fits.data[i], fit)) {
      diag_at(r->diags, DIAG_E0302_FIELD, r->source, node->offset, "'%s' has a fit for %s in %s already", fit->device,
              fit->class_name, fit->format);
      return false;
    }
  }
  return true;
}

static bool read_fit(struct reader *r, const struct hw_node *node) {
  static const char *const names[] = {"class", "format", "model", "sources",   "chips",    "rows",
                                      "error", "flops",  "bytes", "constants", "intervals"};
  if (node->kind != HW_NODE_MAP) {
    return refuse(r, DIAG_E0303_VALUE, node->offset, "a fit is a map with %s",
                  "'class', 'format', 'model', 'constants', ...");
  }
  struct hw_fit *fit = keep_array(r, 1, sizeof *fit);
  if (fit == NULL || !check_keys(r, node, "a fit", names, NAME_COUNT(names))) {
    return false;
  }
  *fit = (struct hw_fit){.device = r->device,
                         .is_family = r->is_family,
                         .date = r->date,
                         .chips = r->device,
                         .chip_count = 1,
                         .data_sheet_mape = INFINITY};
  unsigned source_count;
  bool has_chips = hw_node_child(node, "chips") != NULL;
  bool is_good = word_in(r, node, "class", &fit->class_name) && word_in(r, node, "format", &fit->format)
                 && word_in(r, node, "model", &fit->model) && words_in(r, node, "sources", &fit->sources, &source_count)
                 && (!has_chips || words_in(r, node, "chips", &fit->chips, &fit->chip_count))
                 && count_in(r, node, "rows", &fit->rows) && read_error(r, node, fit)
                 && range_in(r, node, "flops", &fit->flops_min, &fit->flops_max)
                 && range_in(r, node, "bytes", &fit->bytes_min, &fit->bytes_max) && read_constants(r, node, fit)
                 && read_intervals(r, node, fit) && check_unique(r, node, fit);
  if (is_good && !vec_push(&r->fits, fit)) {
    r->is_out_of_memory = true;
  }
  return is_good && !r->is_out_of_memory;
}

bool hw_calibration_is_date(const char *text) {
  static const char form[] = "0000-00-00";
  bool is_good = strlen(text) == sizeof form - 1;
  for (size_t i = 0; i < sizeof form - 1 && is_good; i++) {
    is_good = form[i] == '-' ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  }
  return is_good;
}

/* Whether the device may have (another) document. */
static bool check_device_free(struct reader *r, const struct hw_node *root) {
  for (size_t i = 0; i < r->db->fits.count && !r->is_replacing; i++) {
    if (strcmp(r->db->fits.data[i]->device, r->device) == 0) {
      return refuse(r, DIAG_E0302_FIELD, hw_node_child(root, "device")->offset, "another file has fits of '%s'",
                    r->device);
    }
  }
  return true;
}

/* Goes on after a bad fit, so that all are told of. */
static bool read_document(struct reader *r, const struct hw_node *root) {
  static const char *const names[] = {"device", "date", "fits"};
  if (root->kind != HW_NODE_MAP) {
    return refuse(r, DIAG_E0301_YAML, root->offset, "a calibration file is a map with %s",
                  "'device', 'date' and 'fits'");
  }
  bool is_good = check_keys(r, root, "a calibration file", names, NAME_COUNT(names));
  is_good = word_in(r, root, "device", &r->device) && is_good;
  const struct hw_node *date = child_of(r, root, "date", HW_NODE_SCALAR, true);
  if (date != NULL && !hw_calibration_is_date(date->text)) {
    (void)refuse(r, DIAG_E0303_VALUE, date->offset, "'%s' is written like 2026-11-30", "date");
    date = NULL;
  }
  const struct hw_node *fits = child_of(r, root, "fits", HW_NODE_LIST, true);
  r->date = date != NULL ? keep(r, date->text) : NULL;
  if (!is_good || r->date == NULL || fits == NULL || !check_device_free(r, root)) {
    return false;
  }
  r->is_family = !is_chip(r->db, r->device);
  for (const struct hw_node *n = fits->first; n != NULL && !r->is_out_of_memory; n = n->next) {
    is_good = read_fit(r, n) && is_good;
  }
  return is_good && !r->is_out_of_memory;
}

static int compare_fits(const void *a, const void *b) {
  const struct hw_fit *x = *(const struct hw_fit *const *)a, *y = *(const struct hw_fit *const *)b;
  int order = strcmp(x->device, y->device);
  order = order != 0 ? order : strcmp(x->class_name, y->class_name);
  return order != 0 ? order : strcmp(x->format, y->format);
}

static void sort_fits(struct hw_database *db) {
  if (db->fits.count > 0) {
    qsort(db->fits.data, db->fits.count, sizeof *db->fits.data, compare_fits);
  }
}

/* Fits of the document join those of the database, in place of older ones. */
static enum status add_fits(struct reader *r) {
  struct hw_database *db = r->db;
  size_t kept = 0;
  for (size_t i = 0; i < db->fits.count; i++) {
    bool is_replaced = false;
    for (size_t k = 0; r->is_replacing && k < r->fits.count && !is_replaced; k++) {
      is_replaced = is_same_key(db->fits.data[i], r->fits.data[k]);
    }
    if (!is_replaced) {
      db->fits.data[kept++] = db->fits.data[i];
    }
  }
  db->fits.count = kept;
  for (size_t k = 0; k < r->fits.count; k++) {
    if (!vec_push(&db->fits, r->fits.data[k])) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

/* W0312 when no chip is, or inherits, the device. */
static void check_device(struct reader *r, const struct hw_node *root) {
  VEC(const char *) names = {0};
  bool is_known = r->db->chips.count == 0; /* chips from single files only: their families are not all known */
  for (size_t i = 0; i < r->db->chips.count && !is_known; i++) {
    const struct hw_chip *chip = &r->db->chips.data[i];
    is_known = strcmp(chip->id, r->device) == 0 || hw_chip_is_a(chip, r->device) || !vec_push(&names, chip->id);
    for (const char *const *line = chip->lineage; *line != NULL && !is_known; line++) {
      is_known = !vec_push(&names, *line);
    }
  }
  if (!is_known) {
    const char *near = nearest_name(r->device, names.data, names.count);
    diag_at(r->diags, DIAG_W0312_CALIBRATION, r->source, hw_node_child(root, "device")->offset,
            "no chip is or inherits '%s'%s%s%s: its fits are not used", r->device,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
  }
  vec_release(&names);
}

static enum status parse(struct hw_database *db, const struct source *source, bool is_replacing,
                         struct diag_list *diags) {
  struct reader r = {.db = db, .diags = diags, .source = source, .is_replacing = is_replacing};
  const struct hw_node *root;
  arena_init(&r.scratch, 0);
  enum status status = hw_yaml_read(&r.scratch, source, diags, &root);
  if (status == STATUS_OK && !read_document(&r, root)) {
    status = r.is_out_of_memory ? STATUS_MEMORY : STATUS_INPUT;
  }
  if (status == STATUS_OK) {
    check_device(&r, root);
    status = add_fits(&r);
  }
  vec_release(&r.fits);
  arena_release(&r.scratch);
  return status;
}

/* First fit of the device, or where it would be. */
static size_t first_of(const struct hw_database *db, const char *device) {
  size_t low = 0, high = db->fits.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(db->fits.data[middle]->device, device) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Fits of the device, appended to `out` when it is not NULL. */
static size_t fits_of(const struct hw_database *db, const char *device, const struct hw_fit **out) {
  size_t count = 0;
  for (size_t i = first_of(db, device); i < db->fits.count && strcmp(db->fits.data[i]->device, device) == 0; i++) {
    if (out != NULL) {
      out[count] = db->fits.data[i];
    }
    count++;
  }
  return count;
}

enum status hw_calibration_attach(struct hw_database *db, struct hw_chip *chip) {
  size_t count = fits_of(db, chip->id, NULL);
  for (const char *const *line = chip->lineage; line != NULL && *line != NULL; line++) {
    count += fits_of(db, *line, NULL);
  }
  chip->fits = NULL;
  chip->fit_count = 0;
  if (count == 0) {
    return STATUS_OK;
  }
  const struct hw_fit **fits = arena_calloc(&db->arena, count, sizeof *fits);
  if (fits == NULL) {
    return STATUS_MEMORY;
  }
  size_t at = fits_of(db, chip->id, fits);
  for (const char *const *line = chip->lineage; line != NULL && *line != NULL; line++) {
    at += fits_of(db, *line, fits + at);
  }
  chip->fits = fits;
  chip->fit_count = count;
  return STATUS_OK;
}

static enum status attach_all(struct hw_database *db) {
  sort_fits(db);
  for (size_t i = 0; i < db->chips.count; i++) {
    STATUS_TRY(hw_calibration_attach(db, &db->chips.data[i]));
  }
  return STATUS_OK;
}

enum status hw_calibration_parse(struct hw_database *db, const struct source *source, struct diag_list *diags) {
  STATUS_TRY(parse(db, source, true, diags));
  return attach_all(db);
}

static enum status load_file(struct hw_database *db, const char *path, struct diag_list *diags) {
  FILE *file = fopen(path, "rb");
  struct stat info;
  if (file == NULL || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
    diag_file(diags, DIAG_E0001_OPEN, path, 0, 0, "cannot open '%s': %s", path,
              file == NULL ? strerror(errno) : "not a regular file");
    if (file != NULL) {
      (void)fclose(file);
    }
    return STATUS_IO;
  }
  /* one byte more than the limit, so that hw_yaml_read sees that it is exceeded */
  size_t size = info.st_size > HW_YAML_MAX_BYTES ? HW_YAML_MAX_BYTES + 1 : (size_t)info.st_size;
  char *text = malloc(size + 1);
  size_t length = text != NULL ? fread(text, 1, size, file) : 0;
  (void)fclose(file);
  if (text == NULL) {
    return STATUS_MEMORY;
  }
  text[length] = '\0';
  enum status status = parse(db, &(struct source){.name = path, .text = text, .length = length}, false, diags);
  free(text);
  return status;
}

static int is_yaml(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name); /* alphasort follows the locale */
}

enum status hw_calibration_load(struct hw_database *db, const char *directory, struct diag_list *diags) {
  struct strbuf path = {0};
  struct dirent **entries = NULL;
  strbuf_printf(&path, "%s/calibrated", directory);
  size_t base_length = path.length;
  int count = path.failed ? 0 : scandir(strbuf_text(&path), &entries, is_yaml, by_name);
  enum status result = path.failed ? STATUS_MEMORY : STATUS_OK;
  for (int i = 0; i < count; i++) {
    if (result != STATUS_MEMORY) {
      path.length = base_length;
      strbuf_printf(&path, "/%s", entries[i]->d_name);
      enum status status = path.failed ? STATUS_MEMORY : load_file(db, strbuf_text(&path), diags);
      result = status == STATUS_OK ? result : status == STATUS_MEMORY ? STATUS_MEMORY : STATUS_INPUT;
    }
    free(entries[i]);
  }
  free(entries);
  strbuf_release(&path);
  enum status attached = result != STATUS_MEMORY ? attach_all(db) : STATUS_MEMORY;
  return attached == STATUS_OK ? result : attached;
}

bool hw_fit_is_useful(const struct hw_fit *fit) {
  return fit->mape < fit->data_sheet_mape;
}

const struct hw_fit *hw_chip_fit(const struct hw_chip *chip, const char *class_name, const char *format) {
  for (size_t i = 0; i < chip->fit_count; i++) {
    const struct hw_fit *fit = chip->fits[i];
    if (strcmp(fit->class_name, class_name) == 0 && strcmp(fit->format, format) == 0) {
      return fit;
    }
  }
  return NULL;
}
