/* One chip, cluster or family file while it is read; shared by hw_load.c (files), hw_inherit.c (what they inherit),
 * hw_facts.c (single facts) and hw_cluster.c (cluster files). */
#ifndef RIDGELINE_HW_HW_LOAD_H
#define RIDGELINE_HW_HW_LOAD_H

#include "hw/hw_internal.h"

/* A node and the file it stands in: own or inherited. */
struct hw_place {
  const struct hw_node *node; /* NULL: absent */
  const struct source *source;
};

struct hw_document {
  const char *path; /* what identifies the document */
  struct source source;
  const struct hw_node *root, *fields;
  bool is_family;
  bool is_open; /* being read: inheriting from it now is a cycle */
  bool is_good;
  const char *id, *name, *vendor; /* a family has no vendor and need not have a name */
  const char *inherit; /* as written; NULL when none */
  struct hw_document *parent; /* what is inherited: named, or the defaults of the kind */
  const char *defaults; /* id of the generic family in the lineage that nobody named; NULL when none */
  enum hw_kind kind;
  bool has_kind;
  VEC(const struct hw_node *) aliases;
  /* clusters: own or inherited; NULL when absent */
  struct hw_place chip, library; /* words */
  struct hw_place dimensions, shapes; /* lists of words */
  VEC(struct hw_fact_row) rows; /* after loading: own and inherited, sorted by key */
};

struct hw_loader;

/* What differs between the forms of files: chips and clusters. */
struct hw_form {
  const char *noun; /* "chip" */
  const char *const *keys; /* of the head */
  size_t key_count;
  /* Reads what the form has beyond id, name, vendor, inherit, aliases and fields. */
  bool (*read_head)(struct hw_loader *loader, struct hw_document *document);
  /* Takes over from the parent what the head leaves open, and reports what is missing then. */
  enum status (*complete_head)(struct hw_loader *loader, struct hw_document *document);
  const struct hw_field_row *(*find_row)(const char *key); /* NULL: not a typed field */
  /* Reports a key that may not stand here; NULL: any key may. */
  bool (*check_key)(struct hw_loader *loader, const struct hw_document *document, const struct hw_node *fact);
};

struct hw_loader {
  const struct hw_form *form;
  struct arena *arena; /* of the results */
  struct hw_database *db; /* the chips so far; NULL while clusters are read */
  const char *directory; /* hardware/ or hardware/clusters */
  struct diag_list *diags;
  struct arena scratch; /* texts and nodes of all documents; released after loading */
  VEC(struct hw_document *) documents;
  VEC(char *) paths; /* files below `directory`, sorted; filled by hw_list_files */
  unsigned depth; /* parents being read */
};

void hw_loader_init(struct hw_loader *loader, const struct hw_form *form, struct arena *arena, const char *directory,
                    struct diag_list *diags);
void hw_loader_release(struct hw_loader *loader);
/* Copies into the arena of the results; NULL for NULL. */
char *hw_keep(struct hw_loader *loader, const char *text);
const char *hw_suggestion(struct hw_loader *loader, const char *text, const char *const *names, size_t count);
/* Reports keys of `map` that are not in `names` (E0302). */
bool hw_known_keys(struct hw_loader *loader, const struct hw_document *document, const struct hw_node *map,
                   const char *what, const char *const *names, size_t count);
bool hw_is_identifier(const char *text);
/* The scalar below `key`, or NULL; a message and *is_good = false when it is there but not a word, or required and absent. */
const struct hw_node *hw_scalar(struct hw_loader *loader, const struct hw_document *document, const char *key,
                                bool is_required, bool *is_good);

/* Reads a file, or `text` under the name `path` when it is not NULL, and all it inherits. */
enum status hw_load_document(struct hw_loader *loader, const char *path, bool is_family, const struct source *text,
                             struct hw_document **out);
/* The document read from `path` so far, or NULL. */
struct hw_document *hw_document_of(const struct hw_loader *loader, const char *path);
/* Finds all files of the form; once. Families are not among them. */
enum status hw_list_files(struct hw_loader *loader);
/* Reads what the document inherits, completes its head from that, and merges the facts. */
enum status hw_inherit(struct hw_loader *loader, struct hw_document *document);
/* Reads 'sources' and 'fields' into document->rows. Goes on after an error. */
enum status hw_read_facts(struct hw_loader *loader, struct hw_document *document);

#endif
