/* Cluster files: the keys and words they may have, and the step from facts to struct hw_cluster. */
#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "hw/hw_cluster_internal.h"

enum member_kind { MEMBER_DOUBLE, MEMBER_COUNT32, MEMBER_COUNT64, MEMBER_FABRIC, MEMBER_WRAP, MEMBER_FLAG };

static const char *const fabric_words[] = {"switch", "mesh", "ring", "fat_tree"};
static const char *const wrap_words[] = {"always", "never", "at_size", "multiples"};
static const char *const flag_words[] = {"no", "yes"};

const char *hw_fabric_name(enum hw_fabric fabric) {
  return fabric_words[fabric];
}

const char *hw_wrap_name(enum hw_wrap wrap) {
  return wrap_words[wrap];
}

/* The place of `text` in a list of words; `count` when it is none of them. */
static size_t word_index(const char *text, const char *const *words, size_t count) {
  size_t i = 0;
  while (i < count && strcmp(words[i], text) != 0) {
    i++;
  }
  return i;
}

static bool check_word(const struct hw_text_context *c, const char *what, const char *const *words, size_t count) {
  if (c->node->kind == HW_NODE_SCALAR && word_index(c->node->text, words, count) < count) {
    return true;
  }
  struct strbuf all = {0};
  for (size_t i = 0; i < count; i++) {
    strbuf_printf(&all, "%s%s", i > 0 ? ", " : "", words[i]);
  }
  diag_at(c->diags, DIAG_E0303_VALUE, c->source, c->node->offset, "'%s' is not %s (%s)",
          c->node->kind == HW_NODE_SCALAR ? c->node->text : "a list", what, strbuf_text(&all));
  strbuf_release(&all);
  return false;
}

static bool check_fabric(struct hw_text_context *c) {
  return check_word(c, "a fabric", fabric_words, sizeof fabric_words / sizeof fabric_words[0]);
}

static bool check_wrap(struct hw_text_context *c) {
  return check_word(c, "a rule for when a ring closes", wrap_words, sizeof wrap_words / sizeof wrap_words[0]);
}

static bool check_flag(struct hw_text_context *c) {
  return check_word(c, "an answer", flag_words, sizeof flag_words / sizeof flag_words[0]);
}

#define READER_DOUBLE NULL
#define READER_COUNT32 NULL
#define READER_COUNT64 NULL
#define READER_FABRIC check_fabric
#define READER_WRAP check_wrap
#define READER_FLAG check_flag

struct cluster_row {
  struct hw_field_row row; /* its offset is that in struct hw_cluster or struct hw_dimension */
  enum member_kind member;
};

#define ROW(key, unit_class, kind, type, member, min, max)                                                             \
  {{key, READER_##kind, HW_UNIT_##unit_class, offsetof(struct type, member), min, max}, MEMBER_##kind},

static const struct cluster_row cluster_rows[] = {
#define RDG_CLUSTER(key, unit_class, kind, member, min, max, meaning)                                                  \
  ROW(key, unit_class, kind, hw_cluster, member, min, max)
#define RDG_DIMENSION(key, unit_class, kind, member, min, max, meaning)
#include "hw/hw_cluster_fields.def"
#undef RDG_CLUSTER
#undef RDG_DIMENSION
};
static const struct cluster_row dimension_rows[] = {
#define RDG_CLUSTER(key, unit_class, kind, member, min, max, meaning)
#define RDG_DIMENSION(key, unit_class, kind, member, min, max, meaning)                                                \
  ROW(key, unit_class, kind, hw_dimension, member, min, max)
#include "hw/hw_cluster_fields.def"
#undef RDG_CLUSTER
#undef RDG_DIMENSION
};
enum {
  CLUSTER_ROWS = sizeof cluster_rows / sizeof cluster_rows[0],
  DIMENSION_ROWS = sizeof dimension_rows / sizeof dimension_rows[0]
};

static const char dimension_prefix[] = "dimension.";
/* Facts with these first words are kept whatever follows: constants of communication libraries, which another module
 * reads by key, and what was measured or what other tools assume. */
static const char *const open_prefixes[] = {"collective.", "measured.", "model."};

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

/* The <field> of "dimension.<name>.<field>", or NULL. */
static const char *dimension_field(const char *key) {
  if (!starts_with(key, dimension_prefix)) {
    return NULL;
  }
  const char *dot = strrchr(key, '.');
  return dot > key + strlen(dimension_prefix) ? dot + 1 : NULL;
}

static const struct cluster_row *find_cluster_row(const char *key) {
  const char *field = dimension_field(key);
  const struct cluster_row *rows = field != NULL ? dimension_rows : cluster_rows;
  size_t count = field != NULL ? DIMENSION_ROWS : CLUSTER_ROWS;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(rows[i].row.key, field != NULL ? field : key) == 0) {
      return &rows[i];
    }
  }
  return NULL;
}

static const struct hw_field_row *find_row(const char *key) {
  const struct cluster_row *row = find_cluster_row(key);
  return row != NULL ? &row->row : NULL;
}

static bool check_key(struct hw_loader *l, const struct hw_document *d, const struct hw_node *fact) {
  if (find_row(fact->key) != NULL) {
    return true;
  }
  for (size_t i = 0; i < sizeof open_prefixes / sizeof open_prefixes[0]; i++) {
    if (starts_with(fact->key, open_prefixes[i]) && fact->key[strlen(open_prefixes[i])] != '\0') {
      return true;
    }
  }
  const char *names[CLUSTER_ROWS + DIMENSION_ROWS];
  const char *field = dimension_field(fact->key);
  size_t count = 0;
  for (size_t i = 0; i < (field != NULL ? DIMENSION_ROWS : CLUSTER_ROWS); i++) {
    names[count++] = field != NULL ? dimension_rows[i].row.key : cluster_rows[i].row.key;
  }
  if (field != NULL) {
    diag_at(l->diags, DIAG_E0302_FIELD, &d->source, fact->key_offset, "'%s' is not a field of a dimension%s", field,
            hw_suggestion(l, field, names, count));
  } else {
    diag_at(l->diags, DIAG_E0302_FIELD, &d->source, fact->key_offset,
            "'%s' is not a field of a cluster (facts beside them start with 'collective.', 'measured.' or 'model.')%s",
            fact->key, hw_suggestion(l, fact->key, names, count));
  }
  return false;
}

/* ---- the head ---- */

static bool is_dimension_name(const char *text) {
  for (const char *c = text; *c != '\0'; c++) {
    if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '_' && *c != '.') {
      return false;
    }
  }
  return text[0] != '\0' && text[0] != '.' && text[strlen(text) - 1] != '.';
}

static bool is_shape(const char *text) {
  uint32_t size[HW_DIMENSIONS_MAX], count;
  return hw_shape_parse(text, size, &count);
}

/* A list of words below `key`, each of which `is_good_word` takes and none of which is there twice. */
static bool read_list(struct hw_loader *l, const struct hw_document *d, const char *key, size_t maximum,
                      bool (*is_good_word)(const char *text), const char *what, struct hw_place *place) {
  const struct hw_node *list = hw_node_child(d->root, key);
  if (list == NULL) {
    return true;
  }
  *place = (struct hw_place){list, &d->source};
  if (list->kind != HW_NODE_LIST || list->first == NULL) {
    diag_at(l->diags, DIAG_E0303_VALUE, &d->source, list->offset, "'%s' must be a list of %s", key, what);
    return false;
  }
  size_t count = 0;
  for (const struct hw_node *n = list->first; n != NULL; n = n->next) {
    if (n->kind != HW_NODE_SCALAR || !is_good_word(n->text)) {
      diag_at(l->diags, DIAG_E0303_VALUE, &d->source, n->offset, "'%s' is not one of %s",
              n->kind == HW_NODE_SCALAR ? n->text : "a list", what);
      return false;
    }
    if (++count > maximum) {
      diag_at(l->diags, DIAG_E0303_VALUE, &d->source, n->offset, "'%s' has more than %zu entries", key, maximum);
      return false;
    }
    for (const struct hw_node *o = list->first; o != n; o = o->next) {
      if (strcmp(o->text, n->text) == 0) {
        diag_at(l->diags, DIAG_E0302_FIELD, &d->source, n->offset, "'%s' is there twice", n->text);
        return false;
      }
    }
  }
  return true;
}

enum { MAX_SHAPES = 256 };

static bool read_head(struct hw_loader *l, struct hw_document *d) {
  bool is_good = true;
  d->chip = (struct hw_place){hw_scalar(l, d, "chip", false, &is_good), &d->source};
  d->library = (struct hw_place){hw_scalar(l, d, "library", false, &is_good), &d->source};
  is_good = read_list(l, d, "dimensions", HW_DIMENSIONS_MAX, is_dimension_name,
                      "names of dimensions, innermost first, like [nvlink, infiniband]", &d->dimensions)
            && is_good;
  is_good =
      read_list(l, d, "shapes", MAX_SHAPES, is_shape, "shapes of slices, like [2x2x1, 4x4x4]", &d->shapes) && is_good;
  return is_good;
}

static void inherit_place(struct hw_place *own, const struct hw_place *parent) {
  if (own->node == NULL) {
    *own = *parent;
  }
}

static enum status complete_head(struct hw_loader *l, struct hw_document *d) {
  if (d->parent != NULL) {
    d->vendor = d->vendor != NULL ? d->vendor : d->parent->vendor;
    inherit_place(&d->chip, &d->parent->chip);
    inherit_place(&d->library, &d->parent->library);
    inherit_place(&d->dimensions, &d->parent->dimensions);
    inherit_place(&d->shapes, &d->parent->shapes);
  }
  const struct {
    const char *key;
    bool is_there;
  } needs[] = {{"vendor", d->vendor != NULL},
               {"chip", d->chip.node != NULL},
               {"library", d->library.node != NULL},
               {"dimensions", d->dimensions.node != NULL}};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < sizeof needs / sizeof needs[0] && !d->is_family; i++) {
    if (!needs[i].is_there) {
      diag_at(l->diags, DIAG_E0302_FIELD, &d->source, d->root->offset, "'%s' is missing", needs[i].key);
      status = STATUS_INPUT;
    }
  }
  return status;
}

static const char *const head_keys[] = {"id",      "name",       "vendor", "chip",    "library", "inherit",
                                        "aliases", "dimensions", "shapes", "sources", "fields"};
const struct hw_form hw_cluster_form = {.noun = "cluster",
                                        .keys = head_keys,
                                        .key_count = sizeof head_keys / sizeof head_keys[0],
                                        .read_head = read_head,
                                        .complete_head = complete_head,
                                        .find_row = find_row,
                                        .check_key = check_key};

/* ---- facts to values ---- */

int hw_cluster_key_dimension(const struct hw_cluster *cluster, const char *key) {
  const char *field = dimension_field(key);
  if (field == NULL) {
    return -2;
  }
  const char *name = key + strlen(dimension_prefix);
  size_t length = (size_t)(field - 1 - name);
  for (uint32_t i = 0; i < cluster->dimension_count; i++) {
    const char *other = cluster->dimensions[i].name;
    if (strlen(other) == length && strncmp(other, name, length) == 0) {
      return (int)i;
    }
  }
  return -1;
}

/* Values have passed the checks of their rows. */
static void set_member(void *base, const struct cluster_row *row, const struct hw_value *value) {
  char *at = (char *)base + row->row.offset;
  switch (row->member) {
  case MEMBER_DOUBLE:
    *(double *)(void *)at = value->number;
    break;
  case MEMBER_COUNT32:
    *(uint32_t *)(void *)at = (uint32_t)value->number;
    break;
  case MEMBER_COUNT64:
    *(uint64_t *)(void *)at = (uint64_t)value->number;
    break;
  case MEMBER_FABRIC:
    *(enum hw_fabric *)(void *)at = (enum hw_fabric)word_index(value->text, fabric_words, HW_FABRIC_FAT_TREE);
    break;
  case MEMBER_WRAP:
    *(enum hw_wrap *)(void *)at = (enum hw_wrap)word_index(value->text, wrap_words, HW_WRAP_MULTIPLES);
    break;
  case MEMBER_FLAG:
    *(bool *)(void *)at = strcmp(value->text, "yes") == 0;
    break;
  }
}

void hw_cluster_fill(struct hw_cluster *cluster) {
  for (size_t i = 0; i < cluster->field_count; i++) {
    const struct hw_field *field = &cluster->fields[i];
    const struct cluster_row *row = find_cluster_row(field->key);
    int dimension = hw_cluster_key_dimension(cluster, field->key);
    if (row != NULL && dimension != -1) {
      set_member(dimension >= 0 ? (void *)&cluster->dimensions[dimension] : (void *)cluster, row, &field->fact.value);
    }
  }
}
