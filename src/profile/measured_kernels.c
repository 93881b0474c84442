/* Rows of a profile as kernel shapes of chips: names become pointers and numbers once, rows that mean nothing here are
 * counted and said, and all are sorted so that what is fitted together lies together. */
#include "profile/measured_kernels.h"

#include <stdlib.h>
#include <string.h>

/* A text of the profile and what it means; profiles have a few dozen. */
struct known_name {
  const char *text;
  const void *chip; /* devices */
  unsigned number; /* classes and formats */
  const char *problem; /* NULL: known */
  uint64_t left_out; /* rows without it */
};

struct name_table {
  const char *what;
  VEC(struct known_name) names;
  size_t last;
};

struct loading {
  struct measured_kernels *kernels;
  const struct hw_database *chips;
  struct name_table devices, classes, formats;
  VEC(bool) may_fit; /* by source */
  size_t source; /* of the last row */
  uint64_t bad_rows;
  bool out_of_memory;
};

static void resolve_device(const struct loading *l, struct known_name *name) {
  const struct hw_chip *chip = hw_database_find(l->chips, name->text, NULL);
  name->chip = chip;
  name->problem = chip == NULL            ? "no chip has that name"
                  : chip->missing != NULL ? "the chip's file lacks what prediction needs"
                                          : NULL;
}

static void resolve_class(const struct loading *l, struct known_name *name) {
  (void)l;
  name->number = kernel_class_find(name->text);
  name->problem = name->number == KERNEL_CLASS_COUNT ? "no kind of kernel has that name" : NULL;
}

static void resolve_format(const struct loading *l, struct known_name *name) {
  (void)l;
  name->number = kernel_format_find(name->text);
  name->problem = name->number == KERNEL_FORMAT_COUNT ? "no format has that name" : NULL;
}

/* The entry of `text`, resolved when it is new; NULL when memory is exhausted. */
static struct known_name *look_up(struct loading *l, struct name_table *table, const char *text,
                                  void (*resolve)(const struct loading *l, struct known_name *name)) {
  if (table->last < table->names.count && strcmp(table->names.data[table->last].text, text) == 0) {
    return &table->names.data[table->last];
  }
  for (size_t i = 0; i < table->names.count; i++) {
    if (strcmp(table->names.data[i].text, text) == 0) {
      table->last = i;
      return &table->names.data[i];
    }
  }
  struct known_name name = {.text = arena_strndup(&l->kernels->arena, text, strlen(text))};
  if (name.text == NULL) {
    return NULL;
  }
  resolve(l, &name);
  table->last = table->names.count;
  return vec_push(&table->names, name) ? &table->names.data[table->last] : NULL;
}

static bool add_source(void *user, const struct store_source *row) {
  struct loading *l = user;
  const char *name = arena_strndup(&l->kernels->arena, row->name, strlen(row->name));
  l->out_of_memory = name == NULL || l->kernels->sources.count == UINT16_MAX || !vec_push(&l->kernels->sources, name)
                     || !vec_push(&l->may_fit, row->may_fit);
  return !l->out_of_memory;
}

static bool find_source(struct loading *l, const char *name) {
  const struct measured_kernels *kernels = l->kernels;
  if (l->source < kernels->sources.count && strcmp(kernels->sources.data[l->source], name) == 0) {
    return true;
  }
  for (l->source = 0; l->source < kernels->sources.count; l->source++) {
    if (strcmp(kernels->sources.data[l->source], name) == 0) {
      return true;
    }
  }
  return false;
}

static bool add_row(void *user, const struct store_operator *row) {
  struct loading *l = user;
  struct known_name *device = look_up(l, &l->devices, row->device, resolve_device);
  struct known_name *class_of = look_up(l, &l->classes, row->op, resolve_class);
  struct known_name *format = look_up(l, &l->formats, row->format, resolve_format);
  l->out_of_memory = device == NULL || class_of == NULL || format == NULL;
  if (l->out_of_memory) {
    return false;
  }
  struct known_name *unknown = device->problem     ? device
                               : class_of->problem ? class_of
                               : format->problem   ? format
                                                   : NULL;
  struct measured_kernel kernel = {.chip = device->chip,
                                   .latency_s = row->latency_s,
                                   .spread_s = row->spread_s,
                                   .split = (uint8_t)row->split,
                                   .fold = (uint8_t)store_fold(row->shape)};
  if (unknown != NULL) {
    unknown->left_out++;
    l->kernels->skipped++;
    return true;
  }
  /* a profile's CHECKs refuse such times, but another program may have written them without asking */
  bool has_time = row->latency_s > 0 && row->latency_s < 1e9;
  if (!has_time || !find_source(l, row->source)
      || !measured_shape_parse((enum kernel_class)class_of->number, (enum kernel_format)format->number, row->shape,
                               &kernel.shape)) {
    l->bad_rows++;
    l->kernels->skipped++;
    return true;
  }
  kernel.source = (uint16_t)l->source;
  kernel.may_fit = l->may_fit.data[l->source];
  l->out_of_memory = !vec_push(&l->kernels->rows, kernel);
  return !l->out_of_memory;
}

static void say_unknown(const struct name_table *table, struct diag_list *diags) {
  for (size_t i = 0; i < table->names.count; i++) {
    const struct known_name *name = &table->names.data[i];
    if (name->problem != NULL) {
      diag_file(diags, DIAG_W0603_ROWS_LEFT_OUT, NULL, 0, 0, "%llu measured rows of %s '%s' are left out: %s",
                (unsigned long long)name->left_out, table->what, name->text, name->problem);
    }
  }
}

/* Rows in groups by chip, class and format: a counting sort, which keeps the order inside a group. The chips of a database
 * are sorted by id. */
static bool sort_rows(struct measured_kernels *kernels, const struct hw_database *chips) {
  enum { GROUPS = KERNEL_CLASS_COUNT * KERNEL_FORMAT_COUNT };
  size_t count = kernels->rows.count, group_count = chips->chips.count * GROUPS;
  if (count == 0) {
    return true;
  }
  bool is_done = false;
  size_t *starts = calloc(group_count + 1, sizeof *starts);
  struct measured_kernel *sorted = malloc(count * sizeof *sorted);
  if (starts != NULL && sorted != NULL) {
    for (int pass = 0; pass < 2; pass++) {
      for (size_t i = 0; i < count; i++) {
        const struct measured_kernel *row = &kernels->rows.data[i];
        size_t group = (size_t)(row->chip - chips->chips.data) * GROUPS + row->shape.class_of * KERNEL_FORMAT_COUNT
                       + row->shape.format;
        if (pass == 0) {
          starts[group + 1]++;
        } else {
          sorted[starts[group]++] = *row;
        }
      }
      for (size_t g = 0; pass == 0 && g < group_count; g++) {
        starts[g + 1] += starts[g];
      }
    }
    free(kernels->rows.data);
    kernels->rows.data = sorted;
    kernels->rows.capacity = count;
    sorted = NULL;
    is_done = true;
  }
  free(starts);
  free(sorted);
  return is_done;
}

enum status measured_kernels_load(struct measured_kernels *kernels, struct store *profile,
                                  const struct hw_database *chips, struct diag_list *diags) {
  *kernels = (struct measured_kernels){0};
  arena_init(&kernels->arena, 0);
  struct loading l = {.kernels = kernels,
                      .chips = chips,
                      .devices.what = "device",
                      .classes.what = "operator",
                      .formats.what = "format"};
  enum status status = store_each_source(profile, add_source, &l, diags);
  if (status == STATUS_OK && !l.out_of_memory) {
    status = store_each_operator(profile, NULL, add_row, &l, diags);
  }
  if (status == STATUS_OK && (l.out_of_memory || !sort_rows(kernels, chips))) {
    status = STATUS_MEMORY;
  }
  if (status == STATUS_OK) {
    say_unknown(&l.devices, diags);
    say_unknown(&l.classes, diags);
    say_unknown(&l.formats, diags);
    if (l.bad_rows > 0) {
      diag_file(diags, DIAG_W0603_ROWS_LEFT_OUT, NULL, 0, 0,
                "%llu measured rows are left out: their shape lacks an extent or has an unknown or impossible one, or "
                "their time is none",
                (unsigned long long)l.bad_rows);
    }
  } else {
    measured_kernels_release(kernels);
  }
  vec_release(&l.devices.names);
  vec_release(&l.classes.names);
  vec_release(&l.formats.names);
  vec_release(&l.may_fit);
  return status;
}

void measured_kernels_release(struct measured_kernels *kernels) {
  vec_release(&kernels->rows);
  vec_release(&kernels->sources);
  arena_release(&kernels->arena);
}
