/* Files to facts: documents are read through hw_yaml, checked field by field, merged with what they inherit (hw_inherit.c),
 * and become chips here and clusters in hw_cluster.c. Everything a message may point at keeps its place; memory of the
 * results is the loader's arena. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "hw/hw_calibration.h"
#include "hw/hw_load.h"

char *hw_keep(struct hw_loader *l, const char *text) {
  return text != NULL ? arena_strndup(l->arena, text, strlen(text)) : NULL;
}

/* "; did you mean 'x'?" or "". */
const char *hw_suggestion(struct hw_loader *l, const char *text, const char *const *names, size_t count) {
  const char *near = nearest_name(text, names, count);
  if (near == NULL) {
    return "";
  }
  struct strbuf out = {0};
  strbuf_printf(&out, "; did you mean '%s'?", near);
  const char *kept = arena_strndup(&l->scratch, strbuf_text(&out), out.length);
  strbuf_release(&out);
  return kept != NULL ? kept : "";
}

static enum status read_text(struct hw_loader *l, const char *path, struct source *source) {
  FILE *file = fopen(path, "rb");
  struct stat info;
  if (file == NULL || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
    const char *why = file == NULL ? strerror(errno) : "not a regular file";
    diag_file(l->diags, DIAG_E0001_OPEN, path, 0, 0, "cannot open '%s': %s", path, why);
    if (file != NULL) {
      (void)fclose(file);
    }
    return STATUS_IO;
  }
  /* one byte more than the limit, so that hw_yaml_read sees that it is exceeded */
  size_t size = info.st_size > HW_YAML_MAX_BYTES ? HW_YAML_MAX_BYTES + 1 : (size_t)info.st_size;
  char *text = arena_alloc(&l->scratch, size + 1);
  char *name = arena_strndup(l->arena, path, strlen(path));
  size_t length = text != NULL ? fread(text, 1, size, file) : 0;
  (void)fclose(file);
  if (text == NULL || name == NULL) {
    return STATUS_MEMORY;
  }
  text[length] = '\0';
  *source = (struct source){.name = name, .text = text, .length = length};
  return STATUS_OK;
}

const struct hw_node *hw_scalar(struct hw_loader *l, const struct hw_document *d, const char *key, bool is_required,
                                bool *is_good) {
  const struct hw_node *node = hw_node_child(d->root, key);
  if (node == NULL) {
    if (is_required) {
      diag_at(l->diags, DIAG_E0302_FIELD, &d->source, d->root->offset, "'%s' is missing", key);
      *is_good = false;
    }
    return NULL;
  }
  if (node->kind != HW_NODE_SCALAR || node->text[0] == '\0') {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, node->offset, "'%s' must be a word or text", key);
    *is_good = false;
    return NULL;
  }
  return node;
}

/* The text of hw_scalar, or NULL. */
static const char *scalar(struct hw_loader *l, const struct hw_document *d, const char *key, bool is_required,
                          bool *is_good) {
  const struct hw_node *node = hw_scalar(l, d, key, is_required, is_good);
  return node != NULL ? node->text : NULL;
}

bool hw_known_keys(struct hw_loader *l, const struct hw_document *d, const struct hw_node *map, const char *what,
                   const char *const *names, size_t count) {
  bool is_good = true;
  for (const struct hw_node *n = map->first; n != NULL; n = n->next) {
    bool is_known = false;
    for (size_t i = 0; i < count && !is_known; i++) {
      is_known = strcmp(names[i], n->key) == 0;
    }
    if (!is_known) {
      diag_at(l->diags, DIAG_E0302_FIELD, &d->source, n->key_offset, "'%s' is not a key of %s%s", n->key, what,
              hw_suggestion(l, n->key, names, count));
      is_good = false;
    }
  }
  return is_good;
}

static bool read_kind(struct hw_loader *l, struct hw_document *d) {
  bool is_good = true;
  const char *text = scalar(l, d, "kind", false, &is_good);
  if (text == NULL) {
    return is_good;
  }
  const char *names[HW_KIND_COUNT];
  for (int i = 0; i < HW_KIND_COUNT; i++) {
    names[i] = hw_kind_name((enum hw_kind)i);
    if (strcmp(names[i], text) == 0) {
      d->kind = (enum hw_kind)i;
      d->has_kind = true;
      return true;
    }
  }
  diag_at(l->diags, DIAG_E0303_VALUE, &d->source, hw_node_child(d->root, "kind")->offset,
          "'%s' is not a kind of chip (gpu, tpu, npu, icca, dataflow, cpu, soc)%s", text,
          hw_suggestion(l, text, names, HW_KIND_COUNT));
  return false;
}

bool hw_is_identifier(const char *text) {
  for (const char *c = text; *c != '\0'; c++) {
    if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '_' && *c != '-') {
      return false;
    }
  }
  return text[0] != '\0';
}

static bool read_aliases(struct hw_loader *l, struct hw_document *d) {
  const struct hw_node *list = hw_node_child(d->root, "aliases");
  if (list == NULL) {
    return true;
  }
  bool is_good = list->kind == HW_NODE_LIST;
  for (const struct hw_node *n = list->first; n != NULL && is_good; n = n->next) {
    if (n->kind != HW_NODE_SCALAR || !hw_is_identifier(n->text)) {
      diag_at(l->diags, DIAG_E0303_VALUE, &d->source, n->offset,
              "an alias is written with lower-case letters, digits, '-' and '_'");
      return false;
    }
    if (!vec_push(&d->aliases, n)) {
      l->scratch.is_exhausted = true;
      return false;
    }
  }
  if (!is_good) {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, list->offset, "'aliases' must be a list, like [h100]");
  }
  return is_good;
}

static bool read_head(struct hw_loader *l, struct hw_document *d) {
  char what[32];
  (void)snprintf(what, sizeof what, "a %s file", l->form->noun);
  if (d->root->kind != HW_NODE_MAP) {
    diag_at(l->diags, DIAG_E0301_YAML, &d->source, d->root->offset, "%s is a map with 'id', 'name', 'fields', ...",
            what);
    return false;
  }
  bool is_good = hw_known_keys(l, d, d->root, what, l->form->keys, l->form->key_count);
  d->id = hw_keep(l, scalar(l, d, "id", true, &is_good));
  d->name = hw_keep(l, scalar(l, d, "name", !d->is_family, &is_good));
  d->vendor = hw_keep(l, scalar(l, d, "vendor", false, &is_good));
  d->inherit = scalar(l, d, "inherit", false, &is_good);
  if (d->id != NULL && !hw_is_identifier(d->id)) {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, hw_node_child(d->root, "id")->offset,
            "'id' is written with lower-case letters, digits, '-' and '_'");
    is_good = false;
  }
  is_good = l->form->read_head(l, d) && is_good;
  is_good = read_aliases(l, d) && is_good;
  const struct hw_node *fields = hw_node_child(d->root, "fields");
  if (fields == NULL || fields->kind != HW_NODE_MAP) {
    diag_at(l->diags, DIAG_E0302_FIELD, &d->source, fields != NULL ? fields->offset : d->root->offset,
            "'fields' must be a map of facts");
    return false;
  }
  d->fields = fields;
  return is_good;
}

static enum status read_document(struct hw_loader *l, struct hw_document *d) {
  if (d->source.text == NULL) {
    STATUS_TRY(read_text(l, d->path, &d->source));
  }
  STATUS_TRY(hw_yaml_read(&l->scratch, &d->source, l->diags, &d->root));
  if (!read_head(l, d)) {
    return STATUS_INPUT;
  }
  enum status status = hw_read_facts(l, d);
  enum status inherited = status != STATUS_MEMORY ? hw_inherit(l, d) : STATUS_OK;
  return status == STATUS_OK ? inherited : status;
}

enum status hw_load_document(struct hw_loader *l, const char *path, bool is_family, const struct source *text,
                             struct hw_document **out) {
  struct hw_document *d = arena_calloc(&l->scratch, 1, sizeof *d);
  if (d == NULL || !vec_push(&l->documents, d)) {
    return STATUS_MEMORY;
  }
  d->path = path;
  if (text != NULL) {
    d->source = (struct source){.name = path, .text = text->text, .length = text->length};
  }
  d->is_family = is_family;
  d->is_open = true;
  enum status status = read_document(l, d);
  if (l->arena->is_exhausted || l->scratch.is_exhausted) {
    status = STATUS_MEMORY; /* what could not be kept counts as wrong in between */
  }
  d->is_open = false;
  d->is_good = status == STATUS_OK;
  *out = d;
  return status;
}

/* A chip that inherits a chip need not repeat its kind and vendor. */
static enum status complete_chip_head(struct hw_loader *l, struct hw_document *d) {
  const struct hw_document *parent = d->parent;
  if (!d->has_kind && parent != NULL && parent->has_kind) {
    d->kind = parent->kind;
    d->has_kind = true;
  }
  if (d->vendor == NULL && parent != NULL) {
    d->vendor = parent->vendor;
  }
  if (d->is_family || (d->has_kind && d->vendor != NULL)) {
    return STATUS_OK;
  }
  diag_at(l->diags, DIAG_E0302_FIELD, &d->source, d->root->offset, "'%s' is missing", d->has_kind ? "vendor" : "kind");
  return STATUS_INPUT;
}

static const char *const chip_keys[] = {"id", "name", "vendor", "kind", "inherit", "aliases", "sources", "fields"};
static const struct hw_form chip_form = {.noun = "chip",
                                         .keys = chip_keys,
                                         .key_count = sizeof chip_keys / sizeof chip_keys[0],
                                         .read_head = read_kind,
                                         .complete_head = complete_chip_head,
                                         .find_row = hw_field_row_find};

static enum status make_chip(struct hw_loader *l, struct hw_document *d, struct hw_chip *chip) {
  struct arena *arena = l->arena;
  size_t parent_count = 0;
  for (const struct hw_document *p = d->parent; p != NULL; p = p->parent) {
    parent_count++;
  }
  struct hw_field *fields = arena_calloc(arena, d->rows.count, sizeof *fields);
  const char **aliases = arena_calloc(arena, d->aliases.count, sizeof *aliases);
  const char **lineage = arena_calloc(arena, parent_count + 1, sizeof *lineage);
  if (fields == NULL || aliases == NULL || lineage == NULL) {
    return STATUS_MEMORY;
  }
  *chip = (struct hw_chip){.id = d->id,
                           .name = d->name,
                           .vendor = d->vendor,
                           .kind = d->kind,
                           .file = d->source.name,
                           .fields = fields,
                           .field_count = d->rows.count,
                           .aliases = aliases,
                           .alias_count = d->aliases.count,
                           .lineage = lineage};
  parent_count = 0;
  for (const struct hw_document *p = d->parent; p != NULL; p = p->parent) {
    lineage[parent_count++] = p->id;
  }
  chip->family = lineage[0];
  chip->defaults = d->defaults;
  for (size_t i = 0; i < d->rows.count; i++) {
    fields[i] = d->rows.data[i].field;
  }
  for (size_t i = 0; i < d->aliases.count; i++) {
    aliases[i] = hw_keep(l, d->aliases.data[i]->text);
    if (aliases[i] == NULL) {
      return STATUS_MEMORY;
    }
  }
  hw_chip_fill(chip, d->rows.data, d->rows.count);
  return hw_chip_find_missing(chip, arena) ? STATUS_OK : STATUS_MEMORY;
}

void hw_loader_init(struct hw_loader *l, const struct hw_form *form, struct arena *arena, const char *directory,
                    struct diag_list *diags) {
  *l = (struct hw_loader){.form = form, .arena = arena, .directory = directory, .diags = diags};
  arena_init(&l->scratch, 0);
}

void hw_loader_release(struct hw_loader *l) {
  for (size_t i = 0; i < l->documents.count; i++) {
    vec_release(&l->documents.data[i]->rows);
    vec_release(&l->documents.data[i]->aliases);
  }
  vec_release(&l->documents);
  vec_release(&l->paths);
  arena_release(&l->scratch);
}

static int compare_chips(const void *a, const void *b) {
  return strcmp(((const struct hw_chip *)a)->id, ((const struct hw_chip *)b)->id);
}

/* Two chips may not answer to one name. */
static bool name_is_free(struct hw_loader *l, const struct hw_document *d, const char *name, size_t offset) {
  for (size_t i = 0; i < l->db->chips.count; i++) {
    const struct hw_chip *other = &l->db->chips.data[i];
    bool is_taken = hw_name_equal(other->id, name);
    for (size_t k = 0; k < other->alias_count && !is_taken; k++) {
      is_taken = hw_name_equal(other->aliases[k], name);
    }
    if (is_taken) {
      diag_at(l->diags, DIAG_E0302_FIELD, &d->source, offset, "'%s' already names the chip of %s", name, other->file);
      return false;
    }
  }
  return true;
}

static enum status load_chip(struct hw_loader *l, const char *path) {
  struct hw_document *d = hw_document_of(l, path); /* read already when another chip inherits it */
  if (d == NULL) {
    STATUS_TRY(hw_load_document(l, path, false, NULL, &d));
  }
  if (!d->is_good) {
    return STATUS_INPUT;
  }
  bool is_free = name_is_free(l, d, d->id, hw_node_child(d->root, "id")->offset);
  for (size_t i = 0; i < d->aliases.count; i++) {
    is_free = name_is_free(l, d, d->aliases.data[i]->text, d->aliases.data[i]->offset) && is_free;
  }
  if (!is_free) {
    return STATUS_INPUT;
  }
  struct hw_chip chip;
  STATUS_TRY(make_chip(l, d, &chip));
  return vec_push(&l->db->chips, chip) ? STATUS_OK : STATUS_MEMORY;
}

enum status hw_database_load(struct hw_database *db, const char *directory, struct diag_list *diags) {
  *db = (struct hw_database){0};
  arena_init(&db->arena, 0);
  struct hw_loader l;
  hw_loader_init(&l, &chip_form, &db->arena, directory, diags);
  l.db = db;
  enum status result = hw_list_files(&l);
  for (size_t i = 0; i < l.paths.count && result != STATUS_MEMORY; i++) {
    enum status status = load_chip(&l, l.paths.data[i]);
    if (status != STATUS_OK) {
      result = status == STATUS_MEMORY ? STATUS_MEMORY : STATUS_INPUT;
    }
  }
  if (db->chips.count > 0) {
    qsort(db->chips.data, db->chips.count, sizeof db->chips.data[0], compare_chips);
  }
  if (result != STATUS_MEMORY) {
    enum status status = hw_calibration_load(db, directory, diags);
    result = status == STATUS_OK ? result : status;
  }
  if (result == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", directory);
  }
  hw_loader_release(&l);
  return result;
}

void hw_database_release(struct hw_database *db) {
  vec_release(&db->chips);
  vec_release(&db->fits);
  arena_release(&db->arena);
}

/* One chip from a file, or from `text` under the name `path`. */
static enum status load_single(struct hw_database *db, const char *path, const struct source *text,
                               const char *directory, struct diag_list *diags, const struct hw_chip **chip) {
  *chip = NULL;
  struct hw_loader l;
  hw_loader_init(&l, &chip_form, &db->arena, directory, diags);
  l.db = db;
  struct hw_document *d = NULL;
  struct hw_chip *made = NULL;
  enum status status = hw_load_document(&l, path, false, text, &d);
  if (status == STATUS_OK) {
    made = arena_calloc(&db->arena, 1, sizeof *made);
    status = made != NULL ? make_chip(&l, d, made) : STATUS_MEMORY;
    status = status == STATUS_OK ? hw_calibration_attach(db, made) : status;
  }
  if (status == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", path);
  }
  hw_loader_release(&l);
  *chip = status == STATUS_OK ? made : NULL;
  return status;
}

enum status hw_chip_load(struct hw_database *db, const char *path, const char *directory, struct diag_list *diags,
                         const struct hw_chip **chip) {
  return load_single(db, path, NULL, directory, diags, chip);
}

enum status hw_chip_parse(struct hw_database *db, const struct source *source, const char *directory,
                          struct diag_list *diags, const struct hw_chip **chip) {
  *chip = NULL;
  const char *name = arena_strndup(&db->arena, source->name, strlen(source->name));
  return name != NULL ? load_single(db, name, source, directory, diags, chip) : STATUS_MEMORY;
}
