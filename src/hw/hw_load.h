/* One chip or family file while it is read; shared by hw_load.c (files, inheritance) and hw_facts.c (single facts). */
#ifndef RIDGELINE_HW_HW_LOAD_H
#define RIDGELINE_HW_HW_LOAD_H

#include "hw/hw_internal.h"

struct hw_document {
  const char *path;
  struct source source;
  const struct hw_node *root, *fields;
  const char *family_name; /* as inherited; NULL for a chip */
  bool is_open; /* being read: inheriting from it now is a cycle */
  bool is_good;
  const char *id, *name, *vendor;
  const char *inherit; /* NULL when none */
  struct hw_document *family;
  enum hw_kind kind;
  VEC(const struct hw_node *) aliases;
  VEC(struct hw_fact_row) rows; /* after loading: own and inherited, sorted by key */
};

struct hw_loader {
  struct hw_database *db;
  const char *directory; /* hardware/ */
  struct diag_list *diags;
  struct arena scratch; /* texts and nodes of all documents; released after loading */
  VEC(struct hw_document *) documents;
};

/* Copies into the database's arena; NULL for NULL. */
char *hw_keep(struct hw_loader *loader, const char *text);
const char *hw_suggestion(struct hw_loader *loader, const char *text, const char *const *names, size_t count);
/* Reports keys of `map` that are not in `names` (E0302). */
bool hw_known_keys(struct hw_loader *loader, const struct hw_document *document, const struct hw_node *map,
                   const char *what, const char *const *names, size_t count);
/* Reads 'sources' and 'fields' into document->rows. Goes on after an error. */
enum status hw_read_facts(struct hw_loader *loader, struct hw_document *document);

#endif
