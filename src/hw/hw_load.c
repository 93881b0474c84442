/* Chip files to facts: documents are read through hw_yaml, checked field by field, merged with the family they inherit,
 * and become chips. Everything a message may point at keeps its place; memory of the results is the database's arena. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "hw/hw_load.h"

char *hw_keep(struct hw_loader *l, const char *text) {
  return text != NULL ? arena_strndup(&l->db->arena, text, strlen(text)) : NULL;
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
  char *name = arena_strndup(&l->db->arena, path, strlen(path));
  size_t length = text != NULL ? fread(text, 1, size, file) : 0;
  (void)fclose(file);
  if (text == NULL || name == NULL) {
    return STATUS_MEMORY;
  }
  text[length] = '\0';
  *source = (struct source){.name = name, .text = text, .length = length};
  return STATUS_OK;
}

/* The scalar below `key`, or NULL; a message when it is there but not a word, or required and absent. */
static const char *scalar(struct hw_loader *l, const struct hw_document *d, const struct hw_node *map, const char *key,
                          bool is_required, bool *is_good) {
  const struct hw_node *node = hw_node_child(map, key);
  if (node == NULL) {
    if (is_required) {
      diag_at(l->diags, DIAG_E0302_FIELD, &d->source, map->offset, "'%s' is missing", key);
      *is_good = false;
    }
    return NULL;
  }
  if (node->kind != HW_NODE_SCALAR || node->text[0] == '\0') {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, node->offset, "'%s' must be a word or text", key);
    *is_good = false;
    return NULL;
  }
  return node->text;
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
  const char *text = scalar(l, d, d->root, "kind", d->family_name == NULL, &is_good);
  if (text == NULL) {
    return is_good;
  }
  const char *names[HW_KIND_COUNT];
  for (int i = 0; i < HW_KIND_COUNT; i++) {
    names[i] = hw_kind_name((enum hw_kind)i);
    if (strcmp(names[i], text) == 0) {
      d->kind = (enum hw_kind)i;
      return true;
    }
  }
  diag_at(l->diags, DIAG_E0303_VALUE, &d->source, hw_node_child(d->root, "kind")->offset,
          "'%s' is not a kind of chip (gpu, tpu, npu, icca, dataflow, cpu, soc)%s", text,
          hw_suggestion(l, text, names, HW_KIND_COUNT));
  return false;
}

static bool is_identifier(const char *text) {
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
    if (n->kind != HW_NODE_SCALAR || !is_identifier(n->text)) {
      diag_at(l->diags, DIAG_E0303_VALUE, &d->source, n->offset,
              "an alias is written with lower-case letters, digits, '-' and '_'");
      return false;
    }
    is_good = vec_push(&d->aliases, n);
  }
  if (!is_good) {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, list->offset, "'aliases' must be a list, like [h100]");
  }
  return is_good;
}

static bool read_head(struct hw_loader *l, struct hw_document *d) {
  static const char *const keys[] = {"id", "name", "vendor", "kind", "inherit", "aliases", "sources", "fields"};
  if (d->root->kind != HW_NODE_MAP) {
    diag_at(l->diags, DIAG_E0301_YAML, &d->source, d->root->offset,
            "a chip file is a map with 'id', 'name', 'fields', ...");
    return false;
  }
  bool is_good = hw_known_keys(l, d, d->root, "a chip file", keys, sizeof keys / sizeof keys[0]);
  d->id = hw_keep(l, scalar(l, d, d->root, "id", true, &is_good));
  d->name = hw_keep(l, scalar(l, d, d->root, "name", d->family_name == NULL, &is_good));
  d->vendor = hw_keep(l, scalar(l, d, d->root, "vendor", d->family_name == NULL, &is_good));
  d->inherit = scalar(l, d, d->root, "inherit", false, &is_good);
  if (d->id != NULL && !is_identifier(d->id)) {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, hw_node_child(d->root, "id")->offset,
            "'id' is written with lower-case letters, digits, '-' and '_'");
    is_good = false;
  }
  is_good = read_kind(l, d) && is_good;
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

static int compare_rows(const void *a, const void *b) {
  return strcmp(((const struct hw_fact_row *)a)->field.key, ((const struct hw_fact_row *)b)->field.key);
}

/* Puts the family's rows below the document's own: a key the document states replaces the family's row whole. */
static enum status merge(struct hw_document *d, const struct hw_document *family) {
  if (d->rows.count > 0) {
    qsort(d->rows.data, d->rows.count, sizeof d->rows.data[0], compare_rows);
  }
  if (family == NULL) {
    return STATUS_OK;
  }
  size_t own_count = d->rows.count;
  for (size_t i = 0, own = 0; i < family->rows.count; i++) {
    struct hw_fact_row row = family->rows.data[i];
    while (own < own_count && strcmp(d->rows.data[own].field.key, row.field.key) < 0) {
      own++;
    }
    if (own < own_count && strcmp(d->rows.data[own].field.key, row.field.key) == 0) {
      continue;
    }
    row.field.inherited_from = row.field.inherited_from != NULL ? row.field.inherited_from : family->id;
    if (!vec_push(&d->rows, row)) {
      return STATUS_MEMORY;
    }
  }
  if (d->rows.count > 0) {
    qsort(d->rows.data, d->rows.count, sizeof d->rows.data[0], compare_rows);
  }
  return STATUS_OK;
}

static enum status load_family(struct hw_loader *l, const struct hw_document *child, struct hw_document **family);

static enum status read_document(struct hw_loader *l, struct hw_document *d) {
  if (d->source.text == NULL) {
    STATUS_TRY(read_text(l, d->path, &d->source));
  }
  STATUS_TRY(hw_yaml_read(&l->scratch, &d->source, l->diags, &d->root));
  if (!read_head(l, d)) {
    return STATUS_INPUT;
  }
  enum status status = hw_read_facts(l, d);
  if (d->inherit != NULL && status != STATUS_MEMORY) {
    enum status family_status = load_family(l, d, &d->family);
    status = status == STATUS_OK ? family_status : status;
  }
  return status == STATUS_OK ? merge(d, d->family) : status;
}

/* `family` is the name by which the file is inherited, NULL for a chip. `text` replaces the file's content when it is not
 * NULL. */
static enum status load_document_from(struct hw_loader *l, const char *path, const char *family,
                                      const struct source *text, struct hw_document **out) {
  struct hw_document *d = arena_calloc(&l->scratch, 1, sizeof *d);
  if (d == NULL || !vec_push(&l->documents, d)) {
    return STATUS_MEMORY;
  }
  d->path = path;
  if (text != NULL) {
    d->source = (struct source){.name = path, .text = text->text, .length = text->length};
  }
  d->family_name = family;
  d->is_open = true;
  enum status status = read_document(l, d);
  d->is_open = false;
  d->is_good = status == STATUS_OK;
  *out = d;
  return status;
}

static enum status load_document(struct hw_loader *l, const char *path, const char *family, struct hw_document **out) {
  return load_document_from(l, path, family, NULL, out);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static void unknown_family(struct hw_loader *l, const struct hw_document *child, size_t offset) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/families", l->directory);
  VEC(const char *) names = {0};
  DIR *dir = opendir(strbuf_text(&path));
  for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
    if (ends_with(e->d_name, ".yaml")) {
      const char *name = arena_strndup(&l->scratch, e->d_name, strlen(e->d_name) - 5);
      if (name != NULL) {
        (void)vec_push(&names, name);
      }
    }
  }
  if (dir != NULL) {
    (void)closedir(dir);
  }
  diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "there is no family '%s' in %s%s", child->inherit,
          strbuf_text(&path), hw_suggestion(l, child->inherit, names.data, names.count));
  vec_release(&names);
  strbuf_release(&path);
}

static enum status load_family(struct hw_loader *l, const struct hw_document *child, struct hw_document **family) {
  size_t offset = hw_node_child(child->root, "inherit")->offset;
  for (size_t i = 0; i < l->documents.count; i++) {
    struct hw_document *d = l->documents.data[i];
    if (d->family_name == NULL || strcmp(d->family_name, child->inherit) != 0) {
      continue;
    }
    if (d->is_open) {
      diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "'%s' inherits from itself", child->inherit);
      return STATUS_INPUT;
    }
    *family = d;
    if (!d->is_good) {
      diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "'%s' inherits from '%s', which has errors",
              child->id != NULL ? child->id : child->path, child->inherit);
    }
    return d->is_good ? STATUS_OK : STATUS_INPUT;
  }
  if (!is_identifier(child->inherit)) {
    diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "'%s' is not the name of a family", child->inherit);
    return STATUS_INPUT;
  }
  struct strbuf text = {0};
  strbuf_printf(&text, "%s/families/%s.yaml", l->directory, child->inherit);
  char *path = arena_strndup(&l->db->arena, strbuf_text(&text), text.length);
  strbuf_release(&text);
  struct stat info;
  if (path == NULL) {
    return STATUS_MEMORY;
  }
  if (stat(path, &info) != 0) {
    unknown_family(l, child, offset);
    return STATUS_INPUT;
  }
  STATUS_TRY(load_document(l, path, child->inherit, family));
  if (strcmp((*family)->id, child->inherit) != 0) {
    diag_at(l->diags, DIAG_E0306_INHERIT, &(*family)->source, hw_node_child((*family)->root, "id")->offset,
            "the family in '%s' calls itself '%s'", path, (*family)->id);
    (*family)->is_good = false;
    return STATUS_INPUT;
  }
  return STATUS_OK;
}

static enum status make_chip(struct hw_loader *l, struct hw_document *d, struct hw_chip *chip) {
  struct arena *arena = &l->db->arena;
  size_t family_count = 0;
  for (const struct hw_document *f = d->family; f != NULL; f = f->family) {
    family_count++;
  }
  struct hw_field *fields = arena_calloc(arena, d->rows.count, sizeof *fields);
  const char **aliases = arena_calloc(arena, d->aliases.count, sizeof *aliases);
  const char **lineage = arena_calloc(arena, family_count + 1, sizeof *lineage);
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
  family_count = 0;
  for (const struct hw_document *f = d->family; f != NULL; f = f->family) {
    lineage[family_count++] = f->id;
  }
  chip->family = lineage[0];
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

static void loader_init(struct hw_loader *l, struct hw_database *db, const char *directory, struct diag_list *diags) {
  *l = (struct hw_loader){.db = db, .directory = directory, .diags = diags};
  arena_init(&l->scratch, 0);
}

static void loader_release(struct hw_loader *l) {
  for (size_t i = 0; i < l->documents.count; i++) {
    vec_release(&l->documents.data[i]->rows);
    vec_release(&l->documents.data[i]->aliases);
  }
  vec_release(&l->documents);
  arena_release(&l->scratch);
}

typedef VEC(char *) path_list;

static int compare_paths(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the .yaml files below `directory`, families left out. */
static enum status list_files(struct hw_loader *l, const char *directory, unsigned depth, path_list *paths) {
  DIR *dir = opendir(directory);
  if (dir == NULL) {
    diag_file(l->diags, DIAG_E0001_OPEN, directory, 0, 0, "cannot open the folder '%s': %s", directory,
              strerror(errno));
    return STATUS_IO;
  }
  enum status status = STATUS_OK;
  for (struct dirent *e = readdir(dir); e != NULL && status == STATUS_OK; e = readdir(dir)) {
    if (e->d_name[0] == '.') {
      continue;
    }
    struct strbuf text = {0};
    strbuf_printf(&text, "%s/%s", directory, e->d_name);
    char *path = arena_strndup(&l->db->arena, strbuf_text(&text), text.length);
    strbuf_release(&text);
    struct stat info;
    if (path == NULL) {
      status = STATUS_MEMORY;
    } else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
      if (depth < 3 && !(depth == 0 && strcmp(e->d_name, "families") == 0)) {
        status = list_files(l, path, depth + 1, paths);
      }
    } else if (ends_with(path, ".yaml") && !vec_push(paths, path)) {
      status = STATUS_MEMORY;
    }
  }
  (void)closedir(dir);
  return status;
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
  struct hw_document *d = NULL;
  STATUS_TRY(load_document(l, path, NULL, &d));
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
  loader_init(&l, db, directory, diags);
  path_list paths = {0};
  enum status result = list_files(&l, directory, 0, &paths);
  if (paths.count > 0) {
    qsort(paths.data, paths.count, sizeof paths.data[0], compare_paths);
  }
  for (size_t i = 0; i < paths.count && result != STATUS_MEMORY; i++) {
    enum status status = load_chip(&l, paths.data[i]);
    if (status != STATUS_OK) {
      result = status == STATUS_MEMORY ? STATUS_MEMORY : STATUS_INPUT;
    }
  }
  if (db->chips.count > 0) {
    qsort(db->chips.data, db->chips.count, sizeof db->chips.data[0], compare_chips);
  }
  if (result == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", directory);
  }
  vec_release(&paths);
  loader_release(&l);
  return result;
}

void hw_database_release(struct hw_database *db) {
  vec_release(&db->chips);
  arena_release(&db->arena);
}

/* One chip from a file, or from `text` under the name `path`. */
static enum status load_single(struct hw_database *db, const char *path, const struct source *text,
                               const char *directory, struct diag_list *diags, const struct hw_chip **chip) {
  *chip = NULL;
  struct hw_loader l;
  loader_init(&l, db, directory, diags);
  struct hw_document *d = NULL;
  struct hw_chip *made = NULL;
  enum status status = load_document_from(&l, path, NULL, text, &d);
  if (status == STATUS_OK) {
    made = arena_calloc(&db->arena, 1, sizeof *made);
    status = made != NULL ? make_chip(&l, d, made) : STATUS_MEMORY;
  }
  if (status == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", path);
  }
  loader_release(&l);
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
