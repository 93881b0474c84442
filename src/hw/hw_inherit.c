/* What a chip, cluster or family file inherits: finding the parent's file, reading it once, and putting its facts below the
 * document's own. A chip inherits a family, another chip, or, when it names nothing, the defaults of its kind. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "hw/hw_load.h"

/* Parents above one file; bounds the recursion over files that a user's folder may hold. */
enum { MAX_LEVELS = 16 };

/* The family below hardware/families/ that fills what a chip without `inherit` leaves open. */
static const char *const default_parents[HW_KIND_COUNT] = {
    [HW_KIND_GPU] = "generic_gpu",  [HW_KIND_TPU] = "generic_tpu",      [HW_KIND_NPU] = "generic_npu",
    [HW_KIND_ICCA] = "generic_npu", [HW_KIND_DATAFLOW] = "generic_npu", [HW_KIND_CPU] = "generic_cpu",
    [HW_KIND_SOC] = "generic_gpu",
};

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folders beside those of the vendors that hold no chips, and the one beside clusters. */
static bool is_reserved(const char *folder) {
  return strcmp(folder, "families") == 0 || strcmp(folder, "calibrated") == 0 || strcmp(folder, "clusters") == 0;
}

/* Appends the .yaml files below `directory` without the reserved folders. */
static enum status list_files(struct hw_loader *l, const char *directory, unsigned depth) {
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
    char *path = text.failed ? NULL : arena_strndup(l->arena, strbuf_text(&text), text.length);
    strbuf_release(&text);
    struct stat info;
    if (path == NULL) {
      status = STATUS_MEMORY;
    } else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
      if (depth < 3 && !(depth == 0 && is_reserved(e->d_name))) {
        status = list_files(l, path, depth + 1);
      }
    } else if (ends_with(path, ".yaml") && !vec_push(&l->paths, path)) {
      status = STATUS_MEMORY;
    }
  }
  (void)closedir(dir);
  return status;
}

enum status hw_list_files(struct hw_loader *l) {
  if (l->paths.count > 0) {
    return STATUS_OK;
  }
  enum status status = list_files(l, l->directory, 0);
  if (l->paths.count > 0) {
    qsort(l->paths.data, l->paths.count, sizeof l->paths.data[0], compare_paths);
  }
  return status;
}

struct hw_document *hw_document_of(const struct hw_loader *l, const char *path) {
  for (size_t i = 0; i < l->documents.count; i++) {
    if (strcmp(l->documents.data[i]->path, path) == 0) {
      return l->documents.data[i];
    }
  }
  return NULL;
}

/* "nvidia_h100_sxm" of "hardware/nvidia/nvidia_h100_sxm.yaml". */
static const char *name_of(struct hw_loader *l, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  return arena_strndup(&l->scratch, base, strlen(base) - strlen(".yaml"));
}

/* "<directory>/families/<name>.yaml"; NULL when memory is exhausted. */
static char *family_path(struct hw_loader *l, const char *name) {
  struct strbuf text = {0};
  strbuf_printf(&text, "%s/families/%s.yaml", l->directory, name);
  char *path = text.failed ? NULL : arena_strndup(l->arena, strbuf_text(&text), text.length);
  strbuf_release(&text);
  return path;
}

static bool exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

/* The path of the chip or cluster `name`, NULL when there is none: a file is named after its id. */
static const char *path_of(struct hw_loader *l, const char *name) {
  for (size_t i = 0; i < l->paths.count; i++) {
    const char *found = name_of(l, l->paths.data[i]);
    if (found != NULL && strcmp(found, name) == 0) {
      return l->paths.data[i];
    }
  }
  return NULL;
}

static void report_unknown(struct hw_loader *l, const struct hw_document *child, size_t offset) {
  const struct hw_chip *alias = l->db != NULL ? hw_database_find(l->db, child->inherit, NULL) : NULL;
  if (alias != NULL) {
    diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset,
            "'%s' is a short name; what is inherited goes by its id, '%s'", child->inherit, alias->id);
    return;
  }
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/families", l->directory);
  VEC(const char *) names = {0};
  DIR *dir = opendir(strbuf_text(&path));
  for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
    const char *name = ends_with(e->d_name, ".yaml") ? name_of(l, e->d_name) : NULL;
    if (name != NULL) {
      (void)vec_push(&names, name);
    }
  }
  if (dir != NULL) {
    (void)closedir(dir);
  }
  for (size_t i = 0; i < l->paths.count; i++) {
    const char *name = name_of(l, l->paths.data[i]);
    if (name != NULL) {
      (void)vec_push(&names, name);
    }
  }
  diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "there is no family or %s '%s' in %s%s", l->form->noun,
          child->inherit, l->directory, hw_suggestion(l, child->inherit, names.data, names.count));
  vec_release(&names);
  strbuf_release(&path);
}

/* The file of what `child` inherits; a message when there is none. */
static enum status find_parent(struct hw_loader *l, const struct hw_document *child, size_t offset, bool *is_family,
                               const char **path) {
  if (!hw_is_identifier(child->inherit)) {
    diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "'%s' is not the name of a family or %s",
            child->inherit, l->form->noun);
    return STATUS_INPUT;
  }
  *path = family_path(l, child->inherit);
  if (*path == NULL) {
    return STATUS_MEMORY;
  }
  *is_family = exists(*path);
  if (*is_family) {
    return STATUS_OK;
  }
  /* a chip's facts would be those of one chip only: families stay above chips */
  enum status listed = child->is_family ? STATUS_INPUT : hw_list_files(l);
  if (listed == STATUS_MEMORY) {
    return listed;
  }
  *path = listed == STATUS_OK ? path_of(l, child->inherit) : NULL;
  if (*path == NULL) {
    report_unknown(l, child, offset);
    return STATUS_INPUT;
  }
  return STATUS_OK;
}

/* What an inherited file must be like for `child`; a message when it is not. */
static enum status check_parent(struct hw_loader *l, const struct hw_document *child, struct hw_document *parent,
                                size_t offset, bool is_new) {
  if (parent->is_open) {
    diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "'%s' inherits from itself", child->inherit);
    return STATUS_INPUT;
  }
  if (is_new && parent->is_good && strcmp(parent->id, child->inherit) != 0) {
    diag_at(l->diags, DIAG_E0306_INHERIT, &parent->source, hw_node_child(parent->root, "id")->offset,
            "the %s in '%s' calls itself '%s'", parent->is_family ? "family" : l->form->noun, parent->path, parent->id);
    parent->is_good = false;
    return STATUS_INPUT;
  }
  if (!parent->is_good) {
    if (!is_new) { /* its errors are told at their places, once */
      diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, offset, "'%s' inherits from '%s', which has errors",
              child->id != NULL ? child->id : child->path, child->inherit);
    }
    return STATUS_INPUT;
  }
  for (const struct hw_document *p = parent; p != NULL; p = p->parent) {
    if (child->id != NULL && strcmp(p->id, child->id) == 0) {
      diag_at(l->diags, DIAG_E0306_INHERIT, &child->source, hw_node_child(child->root, "id")->offset,
              "'%s' is the id of what is inherited; a %s needs an id of its own", child->id, l->form->noun);
      return STATUS_INPUT;
    }
  }
  return STATUS_OK;
}

static enum status load_parent(struct hw_loader *l, struct hw_document *child) {
  size_t offset = hw_node_child(child->root, "inherit")->offset;
  bool is_family = false;
  const char *path = NULL;
  STATUS_TRY(find_parent(l, child, offset, &is_family, &path));
  if (l->depth >= MAX_LEVELS) {
    diag_at(l->diags, DIAG_E0005_LIMIT, &child->source, offset, "more than %d files inherit from each other",
            MAX_LEVELS);
    return STATUS_LIMIT;
  }
  struct hw_document *parent = hw_document_of(l, path);
  bool is_new = parent == NULL;
  if (is_new) {
    l->depth++;
    enum status status = hw_load_document(l, path, is_family, NULL, &parent);
    l->depth--;
    if (status == STATUS_MEMORY) {
      return status;
    }
  }
  STATUS_TRY(check_parent(l, child, parent, offset, is_new));
  child->parent = parent;
  return STATUS_OK;
}

/* Defaults of the kind. A folder of chips without generic families has none. */
static enum status load_defaults(struct hw_loader *l, struct hw_document *child) {
  char *path = family_path(l, default_parents[child->kind]);
  if (path == NULL) {
    return STATUS_MEMORY;
  }
  struct hw_document *parent = hw_document_of(l, path);
  if (parent == NULL && exists(path)) {
    enum status status = hw_load_document(l, path, true, NULL, &parent);
    if (status == STATUS_MEMORY) {
      return status;
    }
  }
  if (parent != NULL && parent->is_good) {
    child->parent = parent;
    child->defaults = parent->id;
  }
  return STATUS_OK;
}

static int compare_rows(const void *a, const void *b) {
  return strcmp(((const struct hw_fact_row *)a)->field.key, ((const struct hw_fact_row *)b)->field.key);
}

/* Puts the parent's rows below the document's own: a key the document states replaces the parent's row whole. */
static enum status merge(struct hw_document *d, const struct hw_document *parent) {
  if (d->rows.count > 0) {
    qsort(d->rows.data, d->rows.count, sizeof d->rows.data[0], compare_rows);
  }
  if (parent == NULL) {
    return STATUS_OK;
  }
  size_t own_count = d->rows.count;
  for (size_t i = 0, own = 0; i < parent->rows.count; i++) {
    struct hw_fact_row row = parent->rows.data[i];
    while (own < own_count && strcmp(d->rows.data[own].field.key, row.field.key) < 0) {
      own++;
    }
    if (own < own_count && strcmp(d->rows.data[own].field.key, row.field.key) == 0) {
      continue;
    }
    row.field.inherited_from = row.field.inherited_from != NULL ? row.field.inherited_from : parent->id;
    row.distance++;
    if (!vec_push(&d->rows, row)) {
      return STATUS_MEMORY;
    }
  }
  if (d->rows.count > 0) {
    qsort(d->rows.data, d->rows.count, sizeof d->rows.data[0], compare_rows);
  }
  return STATUS_OK;
}

enum status hw_inherit(struct hw_loader *l, struct hw_document *d) {
  enum status status = STATUS_OK;
  if (d->inherit != NULL) {
    status = load_parent(l, d);
    d->defaults = d->parent != NULL ? d->parent->defaults : NULL;
  } else if (!d->is_family && d->has_kind) {
    status = load_defaults(l, d);
  }
  if (status == STATUS_OK) {
    status = l->form->complete_head(l, d);
  }
  return status == STATUS_OK ? merge(d, d->parent) : status;
}
