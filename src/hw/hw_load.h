/* One chip or family file while it is read; shared by hw_load.c (files), hw_inherit.c (what they inherit) and hw_facts.c
 * (single facts). */
#ifndef RIDGELINE_HW_HW_LOAD_H
#define RIDGELINE_HW_HW_LOAD_H

#include "hw/hw_internal.h"

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
  VEC(struct hw_fact_row) rows; /* after loading: own and inherited, sorted by key */
};

struct hw_loader {
  struct hw_database *db;
  const char *directory; /* hardware/ */
  struct diag_list *diags;
  struct arena scratch; /* texts and nodes of all documents; released after loading */
  VEC(struct hw_document *) documents;
  VEC(char *) chip_paths; /* files below `directory`, sorted; filled by hw_list_chips */
  unsigned depth; /* parents being read */
};

/* Copies into the database's arena; NULL for NULL. */
char *hw_keep(struct hw_loader *loader, const char *text);
const char *hw_suggestion(struct hw_loader *loader, const char *text, const char *const *names, size_t count);
/* Reports keys of `map` that are not in `names` (E0302). */
bool hw_known_keys(struct hw_loader *loader, const struct hw_document *document, const struct hw_node *map,
                   const char *what, const char *const *names, size_t count);
bool hw_is_identifier(const char *text);

/* Reads a file, or `text` under the name `path` when it is not NULL, and all it inherits. */
enum status hw_load_document(struct hw_loader *loader, const char *path, bool is_family, const struct source *text,
                             struct hw_document **out);
/* The document read from `path` so far, or NULL. */
struct hw_document *hw_document_of(const struct hw_loader *loader, const char *path);
/* Finds all chip files; once. */
enum status hw_list_chips(struct hw_loader *loader);
/* Reads what the document inherits, completes its head from that, and merges the facts. */
enum status hw_inherit(struct hw_loader *loader, struct hw_document *document);
/* Reads 'sources' and 'fields' into document->rows. Goes on after an error. */
enum status hw_read_facts(struct hw_loader *loader, struct hw_document *document);

#endif
