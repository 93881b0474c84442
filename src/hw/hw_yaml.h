/* YAML text to a tree of nodes with their places. Reads the subset chip files need: maps, lists and scalars of one
 * document. Anchors, aliases and tags are refused, so that a small file cannot grow when it is read. */
#ifndef RIDGELINE_HW_HW_YAML_H
#define RIDGELINE_HW_HW_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"

enum { HW_YAML_MAX_DEPTH = 12, HW_YAML_MAX_NODES = 50000, HW_YAML_MAX_BYTES = 1 << 20 };

enum hw_node_kind { HW_NODE_SCALAR, HW_NODE_LIST, HW_NODE_MAP };

struct hw_node {
  enum hw_node_kind kind;
  bool is_plain; /* SCALAR: written without quotes */
  const char *text; /* SCALAR */
  size_t offset; /* byte offset of the node in its source */
  const char *key; /* in a MAP: the key; else NULL */
  size_t key_offset;
  struct hw_node *first; /* LIST, MAP: children in the order of the file */
  struct hw_node *next; /* sibling */
};

/* Parses `source` into `arena`. *root is NULL after a failure and for an empty document (E0002, E0301, E0302, E0005). */
enum status hw_yaml_read(struct arena *arena, const struct source *source, struct diag_list *diags,
                         const struct hw_node **root);
/* The two readers behind it: the fast one, false when the text is beyond the forms it knows, and the general one. */
bool hw_yaml_read_plain(struct arena *arena, const struct source *source, const struct hw_node **root);
enum status hw_yaml_read_general(struct arena *arena, const struct source *source, struct diag_list *diags,
                                 const struct hw_node **root);
/* The child of a map, or NULL. */
const struct hw_node *hw_node_child(const struct hw_node *map, const char *key);

#endif
