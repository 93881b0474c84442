/* Names with a scope: SSA values (%x), block labels (^bb0), aliases (#x, !t). One table each; a name is a piece of the
 * source and is found by its bytes and the number of its scope. Entries form a stack: leaving a scope removes the newest
 * ones. Path: used by mlir_parse*.c only. */
#ifndef RIDGELINE_MLIR_MLIR_NAMES_H
#define RIDGELINE_MLIR_MLIR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "mlir/mlir_lexer.h"

struct name_key {
  const char *text; /* without sigil */
  uint32_t length;
  uint64_t packed; /* the bytes themselves when length <= 8, else a hash of them */
};

struct name_entry {
  struct name_key key;
  uint32_t scope;
  uint32_t first; /* value, block or index, by the table's use */
  uint32_t count; /* number of values (%x:2) */
  uint32_t flags; /* by the table's use */
};

struct name_table {
  VEC(struct name_entry) entries;
  uint32_t *slots; /* entry index + 1, 0 = free */
  uint32_t slot_count; /* power of two, or 0 */
};

void name_table_release(struct name_table *table);
/* The key of the name at the cursor, after its sigil; consumes it. Length 0 when there is none. */
struct name_key name_scan(struct lexer *lx);
struct name_key name_key_of(struct lex_span span);
/* Entry of a name in a scope, or NULL; valid until the next name_add. */
struct name_entry *name_find(const struct name_table *table, const struct name_key *key, uint32_t scope);
/* Adds an entry (the caller has made sure that it is new); NULL when memory is exhausted. */
struct name_entry *name_add(struct name_table *table, const struct name_key *key, uint32_t scope);
/* Removes the newest entries until `count` are left. */
void name_table_cut(struct name_table *table, size_t count);

#endif
