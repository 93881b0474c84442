/* Profiles as plain CSV (RFC 4180 quoting, lines end in a line feed), for spreadsheets and for people's own measurements.
 * One table of columns serves both directions and both kinds of rows. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/decimal.h"
#include "io/csv.h"
#include "profile/mapping.h"
#include "profile/measured_kernels.h"

enum { IN_OPERATOR = 1, IN_PROGRAM = 2, MAX_SOURCES = 1000, MAX_DEVICES = 1000 };

enum column {
  COLUMN_SOURCE,
  COLUMN_DEVICE,
  COLUMN_SOFTWARE,
  COLUMN_OP,
  COLUMN_PROGRAM,
  COLUMN_FORMAT,
  COLUMN_DEVICES,
  COLUMN_SHAPE,
  COLUMN_VARIANT,
  COLUMN_SPLIT,
  COLUMN_LATENCY,
  COLUMN_SPREAD,
  COLUMN_TITLE,
  COLUMN_URL,
  COLUMN_LICENCE,
  COLUMN_USE,
  COLUMN_COUNT
};

static const struct {
  const char *name;
  unsigned tables; /* it is in */
  bool is_needed; /* for import */
} columns[COLUMN_COUNT] = {
    [COLUMN_SOURCE] = {"source", IN_OPERATOR | IN_PROGRAM, true},
    [COLUMN_DEVICE] = {"device", IN_OPERATOR | IN_PROGRAM, true},
    [COLUMN_SOFTWARE] = {"software", IN_OPERATOR | IN_PROGRAM, false},
    [COLUMN_OP] = {"op", IN_OPERATOR, true},
    [COLUMN_PROGRAM] = {"program", IN_PROGRAM, true},
    [COLUMN_FORMAT] = {"format", IN_OPERATOR | IN_PROGRAM, true},
    [COLUMN_DEVICES] = {"devices", IN_PROGRAM, false},
    [COLUMN_SHAPE] = {"shape", IN_OPERATOR | IN_PROGRAM, true},
    [COLUMN_VARIANT] = {"variant", IN_OPERATOR | IN_PROGRAM, false},
    [COLUMN_SPLIT] = {"split", IN_OPERATOR | IN_PROGRAM, true},
    [COLUMN_LATENCY] = {"latency_s", IN_OPERATOR | IN_PROGRAM, true},
    [COLUMN_SPREAD] = {"spread_s", IN_OPERATOR | IN_PROGRAM, false},
    /* facts of the source, in its first row only */
    [COLUMN_TITLE] = {"title", IN_OPERATOR | IN_PROGRAM, false},
    [COLUMN_URL] = {"url", IN_OPERATOR | IN_PROGRAM, false},
    [COLUMN_LICENCE] = {"licence", IN_OPERATOR | IN_PROGRAM, false},
    [COLUMN_USE] = {"use", IN_OPERATOR | IN_PROGRAM, false},
};

static void put_cell(struct strbuf *out, const char *text) {
  if (strpbrk(text, ",\"\r\n") == NULL) {
    strbuf_puts(out, text);
    return;
  }
  strbuf_putc(out, '"');
  for (const char *c = text; *c != '\0'; c++) {
    strbuf_puts(out, *c == '"' ? "\"\"" : (char[]){*c, '\0'});
  }
  strbuf_putc(out, '"');
}

struct exporter {
  struct store *profile;
  struct strbuf *out;
  const struct store_source *source; /* of the last row */
  VEC(const struct store_source *) said; /* sources whose facts were written */
  bool out_of_memory;
};

/* The facts of a source with its first row, four empty cells later. */
static void put_source(struct exporter *e, const char *name) {
  const struct store_source *source = store_find_source(e->profile, name);
  bool is_said = source == NULL || source == e->source;
  for (size_t i = 0; i < e->said.count && !is_said; i++) {
    is_said = e->said.data[i] == source;
  }
  e->source = source;
  if (is_said) {
    strbuf_puts(e->out, ",,,,\n");
    return;
  }
  e->out_of_memory = !vec_push(&e->said, source) || e->out_of_memory;
  const char *const facts[] = {source->title, source->url, source->licence, source->may_fit ? "fit" : "score"};
  for (size_t i = 0; i < 4; i++) {
    strbuf_putc(e->out, ',');
    put_cell(e->out, facts[i]);
  }
  strbuf_putc(e->out, '\n');
}

/* Cells up to the variant, then the numbers and the source. */
static bool put_row(struct exporter *e, const char *const *texts, size_t count, enum store_split split,
                    double latency_s, double spread_s, const char *source) {
  for (size_t i = 0; i < count; i++) {
    put_cell(e->out, texts[i]);
    strbuf_putc(e->out, ',');
  }
  strbuf_puts(e->out, store_split_name(split));
  strbuf_putc(e->out, ',');
  mapping_put_number(e->out, latency_s);
  strbuf_putc(e->out, ',');
  if (!isnan(spread_s)) {
    mapping_put_number(e->out, spread_s);
  }
  put_source(e, source);
  return !e->out->failed && !e->out_of_memory;
}

static bool put_operator(void *user, const struct store_operator *r) {
  const char *const texts[] = {r->source, r->device, r->software, r->op, r->format, r->shape, r->variant};
  return put_row(user, texts, sizeof texts / sizeof texts[0], r->split, r->latency_s, r->spread_s, r->source);
}

static bool put_program(void *user, const struct store_program *r) {
  char devices[16];
  (void)decimal_format(devices, sizeof devices, "%u", r->devices);
  const char *const texts[] = {r->source, r->device, r->software, r->program, r->format, devices, r->shape, r->variant};
  return put_row(user, texts, sizeof texts / sizeof texts[0], r->split, r->latency_s, r->spread_s, r->source);
}

enum status profile_export_csv(struct store *profile, bool programs, struct strbuf *out, struct diag_list *diags) {
  struct exporter e = {.profile = profile, .out = out};
  for (unsigned i = 0; i < COLUMN_COUNT; i++) {
    if (columns[i].tables & (programs ? IN_PROGRAM : IN_OPERATOR)) {
      strbuf_puts(out, i == 0 ? "" : ",");
      strbuf_puts(out, columns[i].name);
    }
  }
  strbuf_putc(out, '\n');
  enum status status = programs ? store_each_program(profile, NULL, put_program, &e, diags)
                                : store_each_operator(profile, NULL, put_operator, &e, diags);
  vec_release(&e.said);
  return status == STATUS_OK && (out->failed || e.out_of_memory) ? STATUS_MEMORY : status;
}

struct met_device {
  const char *source, *device;
};

struct csv_import {
  struct store *profile;
  const struct csv_table *csv;
  struct diag_list *diags;
  bool programs;
  int at[COLUMN_COUNT]; /* column of the file, -1 = none */
  VEC(const char *) sources; /* met so far */
  VEC(struct met_device) devices; /* likewise */
};

static const char *cell(const struct csv_import *im, size_t row, enum column column) {
  return csv_cell(im->csv, row, im->at[column]);
}

/* Errors name the line of the row, as long as no cell above it has a line break. */
static void fail_row(const struct csv_import *im, size_t row, enum column column, const char *what) {
  diag_file(im->diags, DIAG_E0603_MAPPING, im->csv->path, (uint32_t)row + 2, 0, "'%s' is '%.80s': %s",
            columns[column].name, cell(im, row, column), what);
}

static enum status find_columns(struct csv_import *im) {
  const char *names[COLUMN_COUNT];
  enum status status = STATUS_OK;
  bool has_op = csv_column(im->csv, "op") >= 0;
  im->programs = !has_op && csv_column(im->csv, "program") >= 0;
  unsigned table = im->programs ? IN_PROGRAM : IN_OPERATOR, count = 0;
  for (unsigned i = 0; i < COLUMN_COUNT; i++) {
    bool is_here = (columns[i].tables & table) != 0;
    im->at[i] = is_here ? csv_column(im->csv, columns[i].name) : -1;
    if (is_here) {
      names[count++] = columns[i].name;
    }
    if (is_here && columns[i].is_needed && im->at[i] < 0) {
      diag_file(im->diags, DIAG_E0603_MAPPING, im->csv->path, 1, 0, "the heading lacks '%s'", columns[i].name);
      status = STATUS_INPUT;
    }
  }
  for (size_t c = 0; c < im->csv->columns; c++) {
    const char *heading = im->csv->cells.data[c];
    bool is_known = false;
    for (unsigned i = 0; i < count && !is_known; i++) {
      is_known = strcmp(names[i], heading) == 0;
    }
    if (!is_known) {
      const char *near = nearest_name(heading, names, count);
      diag_file(im->diags, DIAG_E0603_MAPPING, im->csv->path, 1, 0, "'%s' is not a column of a profile%s%s%s", heading,
                near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
      status = STATUS_INPUT;
    }
  }
  return status;
}

/* The first row of a source in the file: its facts, and what the profile has of it goes. A source that nobody says may be
 * fitted is for scoring. */
static enum status meet_source(struct csv_import *im, size_t row) {
  const char *name = cell(im, row, COLUMN_SOURCE);
  for (size_t i = im->sources.count; i-- > 0;) {
    if (strcmp(im->sources.data[i], name) == 0) {
      return STATUS_OK;
    }
  }
  if (im->sources.count == MAX_SOURCES) {
    diag_file(im->diags, DIAG_E0005_LIMIT, im->csv->path, (uint32_t)row + 2, 0, "a table may have %d sources",
              MAX_SOURCES);
    return STATUS_LIMIT;
  }
  const char *use = cell(im, row, COLUMN_USE);
  if (name[0] == '\0' || (use[0] != '\0' && strcmp(use, "fit") != 0 && strcmp(use, "score") != 0)) {
    fail_row(im, row, name[0] == '\0' ? COLUMN_SOURCE : COLUMN_USE,
             name[0] == '\0' ? "every row needs a source" : "it must be fit or score");
    return STATUS_INPUT;
  }
  const struct store_source *known = store_find_source(im->profile, name);
  const char *title = cell(im, row, COLUMN_TITLE), *url = cell(im, row, COLUMN_URL),
             *licence = cell(im, row, COLUMN_LICENCE);
  struct store_source source = {.name = name,
                                .title = title[0] != '\0' || known == NULL ? title : known->title,
                                .url = url[0] != '\0' || known == NULL ? url : known->url,
                                .licence = licence[0] != '\0' || known == NULL ? licence : known->licence,
                                .may_fit = use[0] != '\0' ? strcmp(use, "fit") == 0 : known != NULL && known->may_fit};
  STATUS_TRY(store_add_source(im->profile, &source, im->diags));
  return vec_push(&im->sources, name) ? STATUS_OK : STATUS_MEMORY;
}

/* The first row of a device in the file: what the profile has of it from the same source goes. Other devices stay, so that
 * a source may come in several files. */
static enum status meet_device(struct csv_import *im, size_t row) {
  const char *source = cell(im, row, COLUMN_SOURCE), *device = cell(im, row, COLUMN_DEVICE);
  for (size_t i = im->devices.count; i-- > 0;) {
    if (strcmp(im->devices.data[i].device, device) == 0 && strcmp(im->devices.data[i].source, source) == 0) {
      return STATUS_OK;
    }
  }
  if (im->devices.count == MAX_DEVICES) {
    diag_file(im->diags, DIAG_E0005_LIMIT, im->csv->path, (uint32_t)row + 2, 0, "a table may have %d devices",
              MAX_DEVICES);
    return STATUS_LIMIT;
  }
  STATUS_TRY(store_drop_rows(im->profile, source, device, im->programs, im->diags));
  return vec_push(&im->devices, ((struct met_device){source, device})) ? STATUS_OK : STATUS_MEMORY;
}

static bool shape_is_good(const struct csv_import *im, size_t row) {
  enum kernel_class class_of = kernel_class_find(cell(im, row, COLUMN_OP));
  enum kernel_format format = kernel_format_find(cell(im, row, COLUMN_FORMAT));
  const char *text = cell(im, row, COLUMN_SHAPE);
  struct kernel_shape shape;
  if (im->programs || class_of == KERNEL_CLASS_COUNT || format == KERNEL_FORMAT_COUNT) {
    return text[0] == '{'; /* for others than this program: the database checks that it is JSON */
  }
  return measured_shape_parse(class_of, format, text, &shape);
}

/* The numbers and names of a row; false after saying what is wrong. */
static bool check_row(const struct csv_import *im, size_t row, enum store_split *split, double *latency_s,
                      double *spread_s, double *devices) {
  static const enum column filled[] = {COLUMN_DEVICE, COLUMN_OP, COLUMN_PROGRAM};
  for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++) {
    if (im->at[filled[i]] >= 0 && cell(im, row, filled[i])[0] == '\0') {
      fail_row(im, row, filled[i], "it must not be empty");
      return false;
    }
  }
  if (!store_split_find(cell(im, row, COLUMN_SPLIT), split)) {
    fail_row(im, row, COLUMN_SPLIT, "it must be train, test or folds");
    return false;
  }
  if (!csv_number(im->csv, row, im->at[COLUMN_LATENCY], latency_s) || !(*latency_s > 0 && *latency_s < 1e9)) {
    fail_row(im, row, COLUMN_LATENCY, "it must be a positive number of seconds");
    return false;
  }
  const char *spread = cell(im, row, COLUMN_SPREAD), *count = cell(im, row, COLUMN_DEVICES);
  *spread_s = (double)NAN;
  if (spread[0] != '\0' && (!csv_number(im->csv, row, im->at[COLUMN_SPREAD], spread_s) || !(*spread_s >= 0))) {
    fail_row(im, row, COLUMN_SPREAD, "it must be empty or a number of seconds");
    return false;
  }
  *devices = 1;
  if (count[0] != '\0'
      && (!csv_number(im->csv, row, im->at[COLUMN_DEVICES], devices) || !(*devices >= 1 && *devices <= UINT32_MAX)
          || *devices != floor(*devices))) {
    fail_row(im, row, COLUMN_DEVICES, "it must be a whole number from 1");
    return false;
  }
  if (!shape_is_good(im, row)) {
    fail_row(im, row, COLUMN_SHAPE,
             "it must be a JSON object with the extents of the kernel, like {\"k\":1,\"m\":1,\"n\":1}");
    return false;
  }
  return true;
}

static enum status import_row(struct csv_import *im, size_t row) {
  enum store_split split = STORE_TEST;
  double latency_s, spread_s, devices;
  STATUS_TRY(meet_source(im, row));
  STATUS_TRY(meet_device(im, row));
  if (!check_row(im, row, &split, &latency_s, &spread_s, &devices)) {
    return STATUS_INPUT;
  }
  const char *source = cell(im, row, COLUMN_SOURCE), *device = cell(im, row, COLUMN_DEVICE),
             *software = cell(im, row, COLUMN_SOFTWARE), *format = cell(im, row, COLUMN_FORMAT),
             *shape = cell(im, row, COLUMN_SHAPE), *variant = cell(im, row, COLUMN_VARIANT);
  enum status status;
  if (im->programs) {
    struct store_program r = {source, device,    software, cell(im, row, COLUMN_PROGRAM),
                              format, shape,     variant,  (uint32_t)devices,
                              split,  latency_s, spread_s};
    status = store_add_program(im->profile, &r, im->diags);
  } else {
    struct store_operator r = {source, device,    software, cell(im, row, COLUMN_OP), format, shape, variant,
                               split,  latency_s, spread_s};
    status = store_add_operator(im->profile, &r, im->diags);
  }
  if (status == STATUS_INPUT) {
    fail_row(im, row, COLUMN_SHAPE, "the profile refuses the row");
  }
  return status;
}

enum status profile_import_csv(struct store *profile, const char *path, uint64_t *added, struct diag_list *diags) {
  struct csv_table csv;
  struct csv_import im = {.profile = profile, .csv = &csv, .diags = diags};
  enum status status = csv_read(&csv, path, diags);
  if (status == STATUS_OK && csv.columns == 0) {
    diag_file(diags, DIAG_E0002_EMPTY, path, 0, 0, "'%s' is empty", path);
    status = STATUS_INPUT;
  }
  if (status == STATUS_OK && (status = find_columns(&im)) == STATUS_OK
      && (status = store_begin(profile, diags)) == STATUS_OK) {
    for (size_t row = 0; row < csv_rows(&csv) && status != STATUS_MEMORY && status != STATUS_IO && !diag_full(diags);
         row++) {
      enum status row_status = import_row(&im, row);
      status = row_status != STATUS_OK ? row_status : status; /* go on: many bad rows are said in one run */
    }
    status = status == STATUS_OK ? store_commit(profile, diags) : status;
    if (status != STATUS_OK) {
      store_rollback(profile);
    }
  }
  *added += status == STATUS_OK ? csv_rows(&csv) : 0;
  vec_release(&im.sources);
  vec_release(&im.devices);
  csv_release(&csv);
  return status;
}
