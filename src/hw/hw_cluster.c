/* Clusters: files below hardware/clusters/ through the loader of hw_load.c, found by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "hw/hw_cluster_internal.h"

static void report_missing_field(struct hw_loader *l, const struct hw_document *d, const char *dimension,
                                 const char *field, const char *why) {
  const struct hw_place *place = &d->dimensions;
  diag_at(l->diags, DIAG_E0302_FIELD, place->source, place->node->offset, "'dimension.%s.%s' is missing%s", dimension,
          field, why);
}

/* What a dimension cannot do without, and what its fabric makes of the rest. */
static bool complete_dimension(struct hw_loader *l, const struct hw_document *d, const struct hw_cluster *cluster,
                               struct hw_dimension *dimension) {
  static const char *const needs[] = {"fabric", "link_bw", "latency"};
  bool is_good = true;
  char key[128];
  for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
    (void)snprintf(key, sizeof key, "dimension.%s.%s", dimension->name, needs[i]);
    if (hw_field_find(cluster->fields, cluster->field_count, key) == NULL) {
      report_missing_field(l, d, dimension->name, needs[i], "");
      is_good = false;
    }
  }
  if (!is_good) {
    return false;
  }
  if (dimension->size == 0 && dimension->fabric != HW_FABRIC_FAT_TREE) {
    report_missing_field(l, d, dimension->name, "size", "; only a fat_tree joins any number");
    return false;
  }
  (void)snprintf(key, sizeof key, "dimension.%s.wrap", dimension->name);
  if (dimension->fabric == HW_FABRIC_RING) {
    if (hw_field_find(cluster->fields, cluster->field_count, key) == NULL) {
      report_missing_field(l, d, dimension->name, "wrap", "; a ring says when it closes");
      return false;
    }
    bool is_sized = dimension->wrap == HW_WRAP_AT_SIZE || dimension->wrap == HW_WRAP_MULTIPLES;
    if (is_sized && dimension->wrap_size == 0) {
      report_missing_field(l, d, dimension->name, "wrap_size", "; its wrap rule needs it");
      return false;
    }
  }
  if (dimension->fabric == HW_FABRIC_FAT_TREE && dimension->taper == 0) {
    dimension->taper = 1;
  }
  return true;
}

/* Facts of the cluster: those of the document without inherited ones of dimensions that it does not have. */
static bool keep_fields(struct hw_loader *l, const struct hw_document *d, struct hw_cluster *cluster,
                        struct hw_field *fields) {
  bool is_good = true;
  for (size_t i = 0; i < d->rows.count; i++) {
    const struct hw_field *field = &d->rows.data[i].field;
    const struct hw_value *value = &field->fact.value;
    bool is_foreign = hw_cluster_key_dimension(cluster, field->key) == -1;
    if (is_foreign && field->inherited_from != NULL) {
      continue;
    }
    if (is_foreign) {
      diag_file(l->diags, DIAG_E0302_FIELD, field->file, field->line, field->column,
                "'%s' is of a dimension that is not in 'dimensions'", field->key);
      is_good = false;
    }
    const struct hw_field_row *row = hw_cluster_form.find_row(field->key);
    if (row != NULL && row->unit_class == HW_UNIT_COUNT && value->number != floor(value->number)) {
      diag_file(l->diags, DIAG_E0303_VALUE, field->file, field->line, field->column,
                "'%s' is %s; it must be a whole number", field->key, value->text);
      is_good = false;
    }
    fields[cluster->field_count++] = *field;
  }
  cluster->fields = fields;
  return is_good;
}

/* Copies a list of words; NULL-terminated. */
static const char *const *keep_words(struct hw_loader *l, const struct hw_node *list, size_t *count) {
  *count = 0;
  for (const struct hw_node *n = list != NULL ? list->first : NULL; n != NULL; n = n->next) {
    ++*count;
  }
  const char **words = arena_calloc(l->arena, *count + 1, sizeof *words);
  size_t i = 0;
  for (const struct hw_node *n = list != NULL ? list->first : NULL; n != NULL && words != NULL; n = n->next) {
    words[i++] = hw_keep(l, n->text);
  }
  return words;
}

/* A chip that nobody knows cannot be predicted on. `chips` NULL: not asked. */
static bool check_chip(struct hw_loader *l, const struct hw_document *d, const struct hw_database *chips,
                       struct hw_cluster *cluster) {
  const char *name = d->chip.node->text;
  const struct hw_chip *chip = chips != NULL ? hw_database_find(chips, name, NULL) : NULL;
  cluster->chip = hw_keep(l, chip != NULL ? chip->id : name);
  if (chip != NULL || chips == NULL) {
    return true;
  }
  VEC(const char *) names = {0};
  for (size_t i = 0; i < chips->chips.count; i++) {
    (void)vec_push(&names, chips->chips.data[i].id);
  }
  diag_at(l->diags, DIAG_E0307_UNKNOWN_CHIP, d->chip.source, d->chip.node->offset, "there is no chip '%s'%s", name,
          hw_suggestion(l, name, names.data, names.count));
  vec_release(&names);
  return false;
}

static uint64_t product_of_sizes(const struct hw_cluster *cluster) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    product = sat_mul_u64(product, cluster->dimensions[i].size); /* 0, any number, stays 0 */
  }
  return product;
}

static enum status make_cluster(struct hw_loader *l, const struct hw_document *d, const struct hw_database *chips,
                                struct hw_cluster *cluster) {
  size_t dimension_count, shape_count;
  const char *const *dimensions = keep_words(l, d->dimensions.node, &dimension_count);
  struct hw_field *fields = arena_calloc(l->arena, d->rows.count, sizeof *fields);
  const char **aliases = arena_calloc(l->arena, d->aliases.count, sizeof *aliases);
  *cluster = (struct hw_cluster){.id = d->id,
                                 .name = d->name,
                                 .vendor = d->vendor,
                                 .library = hw_keep(l, d->library.node->text),
                                 .file = d->source.name,
                                 .dimension_count = (uint32_t)dimension_count,
                                 .shapes = keep_words(l, d->shapes.node, &shape_count),
                                 .aliases = aliases,
                                 .alias_count = d->aliases.count};
  if (dimensions == NULL || fields == NULL || aliases == NULL || cluster->shapes == NULL) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < d->aliases.count; i++) {
    aliases[i] = hw_keep(l, d->aliases.data[i]->text);
  }
  for (size_t i = 0; i < dimension_count; i++) {
    cluster->dimensions[i].name = dimensions[i];
  }
  bool is_good = check_chip(l, d, chips, cluster);
  is_good = keep_fields(l, d, cluster, fields) && is_good;
  if (l->arena->is_exhausted || l->scratch.is_exhausted) {
    return STATUS_MEMORY;
  }
  cluster->chip_share = 1;
  hw_cluster_fill(cluster);
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    is_good = complete_dimension(l, d, cluster, &cluster->dimensions[i]) && is_good;
  }
  if (cluster->max_devices == 0) {
    cluster->max_devices = product_of_sizes(cluster);
  }
  return is_good ? STATUS_OK : STATUS_INPUT;
}

/* ---- all files ---- */

/* "<directory>/clusters" in the arena of the results; NULL when memory is exhausted. */
static const char *clusters_directory(struct arena *arena, const char *directory) {
  struct strbuf text = {0};
  strbuf_printf(&text, "%s/clusters", directory);
  const char *path = text.failed ? NULL : arena_strndup(arena, strbuf_text(&text), text.length);
  strbuf_release(&text);
  return path;
}

static const struct hw_cluster *find(const struct hw_clusters *clusters, const char *name) {
  for (size_t i = 0; i < clusters->list.count; i++) {
    const struct hw_cluster *cluster = &clusters->list.data[i];
    bool is_it = hw_name_equal(cluster->id, name);
    for (size_t k = 0; k < cluster->alias_count && !is_it; k++) {
      is_it = hw_name_equal(cluster->aliases[k], name);
    }
    if (is_it) {
      return cluster;
    }
  }
  return NULL;
}

/* Two clusters may not answer to one name. */
static bool name_is_free(struct hw_loader *l, const struct hw_clusters *clusters, const struct hw_document *d,
                         const char *name, size_t offset) {
  const struct hw_cluster *other = find(clusters, name);
  if (other != NULL) {
    diag_at(l->diags, DIAG_E0302_FIELD, &d->source, offset, "'%s' already names the cluster of %s", name, other->file);
  }
  return other == NULL;
}

static enum status load_one(struct hw_loader *l, struct hw_clusters *clusters, const struct hw_database *chips,
                            const char *path) {
  struct hw_document *d = hw_document_of(l, path); /* read already when another cluster inherits it */
  if (d == NULL) {
    STATUS_TRY(hw_load_document(l, path, false, NULL, &d));
  }
  if (!d->is_good) {
    return STATUS_INPUT;
  }
  bool is_free = name_is_free(l, clusters, d, d->id, hw_node_child(d->root, "id")->offset);
  for (size_t i = 0; i < d->aliases.count; i++) {
    is_free = name_is_free(l, clusters, d, d->aliases.data[i]->text, d->aliases.data[i]->offset) && is_free;
  }
  struct hw_cluster cluster;
  STATUS_TRY(is_free ? STATUS_OK : STATUS_INPUT);
  STATUS_TRY(make_cluster(l, d, chips, &cluster));
  return vec_push(&clusters->list, cluster) ? STATUS_OK : STATUS_MEMORY;
}

static int compare_clusters(const void *a, const void *b) {
  return strcmp(((const struct hw_cluster *)a)->id, ((const struct hw_cluster *)b)->id);
}

enum status hw_clusters_load(struct hw_clusters *clusters, const char *directory, const struct hw_database *chips,
                             struct diag_list *diags) {
  *clusters = (struct hw_clusters){0};
  arena_init(&clusters->arena, 0);
  const char *path = clusters_directory(&clusters->arena, directory);
  struct stat info;
  if (path != NULL && stat(path, &info) != 0) {
    return STATUS_OK; /* a folder of chips alone */
  }
  struct hw_loader l;
  hw_loader_init(&l, &hw_cluster_form, &clusters->arena, path, diags);
  enum status result = path != NULL ? hw_list_files(&l) : STATUS_MEMORY;
  for (size_t i = 0; i < l.paths.count && result != STATUS_MEMORY; i++) {
    enum status status = load_one(&l, clusters, chips, l.paths.data[i]);
    if (status != STATUS_OK) {
      result = status == STATUS_MEMORY ? STATUS_MEMORY : STATUS_INPUT;
    }
  }
  if (clusters->list.count > 0) {
    qsort(clusters->list.data, clusters->list.count, sizeof clusters->list.data[0], compare_clusters);
  }
  if (result == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading the clusters of '%s'", directory);
  }
  hw_loader_release(&l);
  return result;
}

void hw_clusters_release(struct hw_clusters *clusters) {
  vec_release(&clusters->list);
  arena_release(&clusters->arena);
}

/* ---- one file ---- */

static enum status load_single(struct hw_clusters *clusters, const char *path, const struct source *text,
                               const char *directory, const struct hw_database *chips, struct diag_list *diags,
                               const struct hw_cluster **cluster) {
  *cluster = NULL;
  struct hw_loader l;
  const char *folder = clusters_directory(&clusters->arena, directory);
  hw_loader_init(&l, &hw_cluster_form, &clusters->arena, folder, diags);
  struct hw_document *d = NULL;
  struct hw_cluster *made = arena_calloc(&clusters->arena, 1, sizeof *made);
  enum status status = made != NULL && folder != NULL ? STATUS_OK : STATUS_MEMORY;
  status = status == STATUS_OK ? hw_load_document(&l, path, false, text, &d) : status;
  status = status == STATUS_OK ? make_cluster(&l, d, chips, made) : status;
  if (status == STATUS_MEMORY) {
    diag_at(diags, DIAG_E0007_MEMORY, NULL, 0, "out of memory while reading '%s'", path);
  }
  hw_loader_release(&l);
  *cluster = status == STATUS_OK ? made : NULL;
  return status;
}

enum status hw_cluster_load(struct hw_clusters *clusters, const char *path, const char *directory,
                            const struct hw_database *chips, struct diag_list *diags,
                            const struct hw_cluster **cluster) {
  return load_single(clusters, path, NULL, directory, chips, diags, cluster);
}

enum status hw_cluster_parse(struct hw_clusters *clusters, const struct source *source, const char *directory,
                             const struct hw_database *chips, struct diag_list *diags,
                             const struct hw_cluster **cluster) {
  *cluster = NULL;
  const char *name = arena_strndup(&clusters->arena, source->name, strlen(source->name));
  return name != NULL ? load_single(clusters, name, source, directory, chips, diags, cluster) : STATUS_MEMORY;
}

/* ---- look-up ---- */

static void report_unknown(const struct hw_clusters *clusters, const char *name, struct diag_list *diags) {
  VEC(const char *) names = {0};
  for (size_t i = 0; i < clusters->list.count; i++) {
    const struct hw_cluster *cluster = &clusters->list.data[i];
    (void)vec_push(&names, cluster->id);
    for (size_t k = 0; k < cluster->alias_count; k++) {
      (void)vec_push(&names, cluster->aliases[k]);
    }
  }
  struct strbuf near = {0};
  hw_put_near_names(&near, name, names.data, names.count);
  diag_at(diags, DIAG_E0313_UNKNOWN_CLUSTER, NULL, 0, "there is no cluster '%s'%s%s%s", name,
          near.length > 0 ? "; did you mean " : "", strbuf_text(&near), near.length > 0 ? "?" : "");
  strbuf_release(&near);
  vec_release(&names);
}

const struct hw_cluster *hw_clusters_find(const struct hw_clusters *clusters, const char *name,
                                          struct diag_list *diags) {
  const struct hw_cluster *cluster = find(clusters, name);
  if (cluster == NULL && diags != NULL) {
    report_unknown(clusters, name, diags);
  }
  return cluster;
}

const struct hw_field *hw_cluster_field(const struct hw_cluster *cluster, const char *key) {
  return hw_field_find(cluster->fields, cluster->field_count, key);
}

bool hw_cluster_number(const struct hw_cluster *cluster, const char *key, double *value) {
  const struct hw_field *field = hw_cluster_field(cluster, key);
  if (field == NULL || field->fact.value.kind != HW_VALUE_NUMBER) {
    return false;
  }
  *value = field->fact.value.number;
  return true;
}
