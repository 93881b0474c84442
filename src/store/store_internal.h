/* What the files of store/ share: the connection, its prepared statements and the names of the sources. */
#ifndef RIDGELINE_STORE_STORE_INTERNAL_H
#define RIDGELINE_STORE_STORE_INTERNAL_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/vec.h"
#include "store/store.h"

enum { STORE_APPLICATION_ID = 0x52444750 /* "RDGP" */, STORE_VERSION = 1, STORE_TEXT_MAX_BYTES = 1 << 20 };

struct store_source_row {
  sqlite3_int64 id;
  struct store_source source; /* texts in the store's arena */
};

struct store {
  sqlite3 *db;
  char *path;
  bool is_read_only, is_memory;
  struct arena arena;
  VEC(struct store_source_row) sources; /* in the order of insertion; a copy of the table */
  size_t last_source; /* of `sources`: rows of one source come together */
  sqlite3_stmt *add_operator, *add_program; /* prepared on first use */
};

/* The three CREATE TABLE statements, in the order they are run; `name` is the table's. */
struct store_table {
  const char *name, *sql;
};
extern const struct store_table store_tables[];
extern const unsigned store_table_count;

/* Records what SQLite has to say about the last call (E0602 and, when memory ran out, E0007). */
enum status store_failure(const struct store *store, int code, const char *doing, struct diag_list *diags);
enum status store_run(struct store *store, const char *sql, const char *doing, struct diag_list *diags);
enum status store_prepare(struct store *store, const char *sql, struct diag_list *diags, sqlite3_stmt **statement);
/* Fills `sources` from the table. */
enum status store_read_sources(struct store *store, struct diag_list *diags);
/* NULL when there is none of that id or name. */
const struct store_source_row *store_source_of_id(struct store *store, sqlite3_int64 id);
const struct store_source_row *store_source_of_name(struct store *store, const char *name);

#endif
