/* Writing portable artifacts. Path: struct ir_module → here → bytecode_write_ir.c (looks at every operation)
 * → bytecode_write_ops.c (names, attributes, versions) → bytecode_write_vhlo.c, bytecode_write_builtin.c,
 * bytecode_write_sdy.c (attributes and types) → bytecode_write_entry.c (equal ones, numbers)
 * → bytecode_write_container.c (bytes). */
#include <stdio.h>
#include <stdlib.h>

#include "mlir/bytecode_write_int.h"

bool mlir_bytecode_parse_version(const char *text, unsigned version[3]) {
  for (int i = 0; i < 3; i++) {
    char *end;
    if (*text < '0' || *text > '9') {
      return false;
    }
    unsigned long number = strtoul(text, &end, 10);
    if (number > 1023 || *end != (i < 2 ? '.' : '\0')) {
      return false;
    }
    version[i] = (unsigned)number;
    text = end + 1;
  }
  uint32_t packed = vhlo_version(version[0], version[1], version[2]);
  return version[0] <= VHLO_MAJOR && version[1] <= VHLO_MINOR && packed >= vhlo_version(0, VHLO_OLDEST_MINOR, 0)
         && packed <= vhlo_version(VHLO_MAJOR, VHLO_MINOR, VHLO_PATCH);
}

const char *mlir_bytecode_newest(void) {
  return VHLO_NEWEST;
}

static bool set_version(struct bw_writer *w, const unsigned version[3]) {
  static const unsigned newest[3] = {VHLO_MAJOR, VHLO_MINOR, VHLO_PATCH};
  bool is_stated = version[0] || version[1] || version[2];
  memcpy(w->version, is_stated ? version : newest, sizeof w->version);
  char text[40];
  unsigned known[3];
  snprintf(text, sizeof text, "%u.%u.%u", w->version[0], w->version[1], w->version[2]);
  if (!mlir_bytecode_parse_version(text, known)) {
    diag_file(w->diags, DIAG_E0601_USAGE, NULL, 0, 0,
              "StableHLO %s is no version of artifacts that can be written: they are 0.%d.0 to %d.%d.%d", text,
              VHLO_OLDEST_MINOR, VHLO_MAJOR, VHLO_MINOR, VHLO_PATCH);
    return false;
  }
  w->target = vhlo_version(w->version[0], w->version[1], w->version[2]);
  w->container = vhlo_container_version(w->target);
  return true;
}

/* An array by handle, zeroed. */
static void *by_handle(struct bw_writer *w, size_t count, size_t size) {
  void *array = arena_calloc(&w->scratch, count ? count : 1, size);
  w->out_of_memory |= array == NULL;
  return array;
}

static bool writer_init(struct bw_writer *w) {
  const struct ir_module *m = w->m;
  const struct bw_entry no_entry = {0};
  const struct bw_form no_form = {0};
  arena_init(&w->scratch, 0);
  w->out_of_memory =
      !intern_init(&w->strings, &w->scratch) || !vec_push(&w->entries, no_entry) || !vec_push(&w->forms, no_form);
  w->vhlo_attrs = by_handle(w, m->attrs.count, sizeof *w->vhlo_attrs);
  w->builtin_attrs = by_handle(w, m->attrs.count, sizeof *w->builtin_attrs);
  w->vhlo_types = by_handle(w, m->types.count, sizeof *w->vhlo_types);
  w->builtin_types = by_handle(w, m->types.count, sizeof *w->builtin_types);
  w->op_forms = by_handle(w, m->ops.count, sizeof *w->op_forms);
  w->is_isolated = by_handle(w, m->ops.count, sizeof *w->is_isolated);
  w->levels = by_handle(w, m->regions.count, sizeof *w->levels);
  w->value_flags = by_handle(w, m->values.count, sizeof *w->value_flags);
  w->numbers = by_handle(w, m->values.count, sizeof *w->numbers);
  w->cast_numbers = by_handle(w, m->values.count, sizeof *w->cast_numbers);
  for (size_t i = 0; i + 1 < m->resources.count; i += 2) {
    w->out_of_memory |= !map_set(&w->resource_attrs, m->resources.data[i], m->resources.data[i + 1]);
  }
  return !w->out_of_memory && bw_make_unknown_location(w);
}

static void writer_release(struct bw_writer *w) {
  arena_release(&w->scratch);
  intern_release(&w->strings);
  strbuf_release(&w->why);
  vec_release(&w->string_numbers);
  vec_release(&w->string_order);
  vec_release(&w->stack);
  vec_release(&w->tokens);
  vec_release(&w->blobs);
  vec_release(&w->entries);
  map_release(&w->entry_index);
  for (int kind = 0; kind < BW_KIND_COUNT; kind++) {
    vec_release(&w->order[kind]);
  }
  vec_release(&w->resources);
  map_release(&w->resource_attrs);
  map_release(&w->resource_numbers);
  vec_release(&w->names);
  vec_release(&w->name_order);
  vec_release(&w->forms);
  map_release(&w->form_index);
}

enum status mlir_bytecode_write(const struct ir_module *module, const struct mlir_bytecode_options *options,
                                struct diag_list *diags, struct strbuf *out) {
  static const struct mlir_bytecode_options defaults = {0};
  options = options ? options : &defaults;
  struct bw_writer w = {.m = module, .diags = diags, .locations = options->locations};
  if (!set_version(&w, options->version)) {
    return STATUS_INPUT;
  }
  size_t start = out->length;
  bool ok = writer_init(&w) && bw_ir_scan(&w);
  if (ok) {
    bw_container_write(&w, out);
  }
  bool is_exhausted = w.out_of_memory || out->failed || w.why.failed;
  enum status status = is_exhausted ? STATUS_MEMORY : ok ? STATUS_OK : w.limit ? STATUS_LIMIT : STATUS_INPUT;
  if (is_exhausted) {
    diag_file(diags, DIAG_E0007_MEMORY, module->source.name, 0, 0, "out of memory while bytecode is written");
  }
  if (status != STATUS_OK && out->length > start) {
    out->length = start;
  }
  writer_release(&w);
  return status;
}
