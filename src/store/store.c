/* Opening and closing a profile, transactions, and what SQLite says when something fails. Path: mapping files and CSV →
 * profile/ → store/ → profile/ reads the rows back as kernels and programs. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "store/store_internal.h"

static const char *const split_names[] = {"train", "test", "folds"};

const char *store_split_name(enum store_split split) {
  return split_names[split];
}

bool store_split_find(const char *name, enum store_split *split) {
  for (unsigned i = 0; i < sizeof split_names / sizeof split_names[0]; i++) {
    if (strcmp(split_names[i], name) == 0) {
      *split = (enum store_split)i;
      return true;
    }
  }
  return false;
}

unsigned store_fold(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *c = text; *c != '\0'; c++) {
    hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
  }
  return (unsigned)(hash % 5);
}

enum status store_failure(const struct store *store, int code, const char *doing, struct diag_list *diags) {
  if (code == SQLITE_NOMEM) {
    diag_file(diags, DIAG_E0007_MEMORY, store->path, 0, 0, "out of memory while %s the profile", doing);
    return STATUS_MEMORY;
  }
  enum diag_id id = code == SQLITE_CANTOPEN ? DIAG_E0001_OPEN : DIAG_E0602_PROFILE;
  const char *text = store->db != NULL ? sqlite3_errmsg(store->db) : sqlite3_errstr(code);
  diag_file(diags, id, store->path, 0, 0, "%s the profile failed: %s", doing, text);
  return code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_READONLY
             ? STATUS_IO
             : STATUS_INPUT;
}

enum status store_run(struct store *store, const char *sql, const char *doing, struct diag_list *diags) {
  int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? STATUS_OK : store_failure(store, code, doing, diags);
}

enum status store_prepare(struct store *store, const char *sql, struct diag_list *diags, sqlite3_stmt **statement) {
  int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
  return code == SQLITE_OK ? STATUS_OK : store_failure(store, code, "reading", diags);
}

/* The single integer that `sql` yields. */
static enum status read_integer(struct store *store, const char *sql, struct diag_list *diags, sqlite3_int64 *value) {
  sqlite3_stmt *statement = NULL;
  STATUS_TRY(store_prepare(store, sql, diags, &statement));
  int code = sqlite3_step(statement);
  *value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  enum status status = code == SQLITE_ROW ? STATUS_OK : store_failure(store, code, "reading", diags);
  sqlite3_finalize(statement);
  return status;
}

static enum status refuse(const struct store *store, struct diag_list *diags, const char *what) {
  diag_file(diags, DIAG_E0602_PROFILE, store->path, 0, 0, "'%s' is not a measured profile: %s", store->path, what);
  return STATUS_INPUT;
}

/* True when table `table` was made by the very statement that makes it here. */
static enum status table_is_ours(struct store *store, const struct store_table *table, struct diag_list *diags,
                                 bool *is_ours) {
  sqlite3_stmt *statement = NULL;
  STATUS_TRY(
      store_prepare(store, "SELECT sql = ?2 FROM sqlite_schema WHERE type = 'table' AND name = ?1", diags, &statement));
  sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, table->sql, -1, SQLITE_STATIC);
  int code = sqlite3_step(statement);
  *is_ours = code == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1;
  enum status status =
      code == SQLITE_ROW || code == SQLITE_DONE ? STATUS_OK : store_failure(store, code, "reading", diags);
  sqlite3_finalize(statement);
  return status;
}

/* An empty database gets the tables; of any other the application, version and tables must be right. */
static enum status check_schema(struct store *store, struct diag_list *diags) {
  sqlite3_int64 application, version, objects;
  STATUS_TRY(read_integer(store, "PRAGMA application_id", diags, &application));
  STATUS_TRY(read_integer(store, "PRAGMA user_version", diags, &version));
  STATUS_TRY(read_integer(store, "SELECT count(*) FROM sqlite_schema", diags, &objects));
  if (application == 0 && objects == 0 && !store->is_read_only) {
    STATUS_TRY(store_run(store, "BEGIN IMMEDIATE", "creating", diags));
    for (unsigned i = 0; i < store_table_count; i++) {
      STATUS_TRY(store_run(store, store_tables[i].sql, "creating", diags));
    }
    char pragmas[96];
    sqlite3_snprintf(sizeof pragmas, pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                     STORE_APPLICATION_ID, STORE_VERSION);
    return store_run(store, pragmas, "creating", diags);
  }
  if (application != STORE_APPLICATION_ID) {
    return refuse(store, diags, "the database belongs to another application");
  }
  if (version != STORE_VERSION) {
    diag_file(diags, DIAG_E0602_PROFILE, store->path, 0, 0,
              "'%s' is a profile of version %lld; this program reads version %d", store->path, (long long)version,
              STORE_VERSION);
    return STATUS_INPUT;
  }
  for (unsigned i = 0; i < store_table_count; i++) {
    bool is_ours;
    STATUS_TRY(table_is_ours(store, &store_tables[i], diags, &is_ours));
    if (!is_ours) {
      return refuse(store, diags, "its tables are not those of this version");
    }
  }
  return STATUS_OK;
}

/* Foreign files cannot change the database's own pages and have bounded texts. */
static enum status configure(struct store *store, struct diag_list *diags) {
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, STORE_TEXT_MAX_BYTES);
  sqlite3_busy_timeout(store->db, 5000);
  STATUS_TRY(check_schema(store, diags));
  if (!store->is_read_only && !store->is_memory) {
    /* safe in WAL mode: a crash may lose the last transaction, never the file */
    STATUS_TRY(store_run(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", "writing", diags));
  }
  return STATUS_OK;
}

enum status store_open(const char *path, bool read_only, struct diag_list *diags, struct store **out) {
  *out = NULL;
  struct store *store = calloc(1, sizeof *store);
  if (store == NULL) {
    return STATUS_MEMORY;
  }
  arena_init(&store->arena, 0);
  store->is_memory = strcmp(path, ":memory:") == 0;
  store->is_read_only = read_only && !store->is_memory;
  store->path = arena_strndup(&store->arena, path, strlen(path));
  if (store->path == NULL) {
    store_close(store);
    return STATUS_MEMORY;
  }
  int flags = store->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int code = sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
  enum status status = code == SQLITE_OK ? configure(store, diags) : store_failure(store, code, "opening", diags);
  if (status == STATUS_OK) {
    status = store_read_sources(store, diags);
  }
  if (status != STATUS_OK) {
    store_close(store);
    return status;
  }
  *out = store;
  return STATUS_OK;
}

void store_close(struct store *store) {
  if (store == NULL) {
    return;
  }
  sqlite3_finalize(store->add_operator);
  sqlite3_finalize(store->add_program);
  if (store->db != NULL && !store->is_read_only && !store->is_memory) {
    /* at rest a profile is one file, readable where nothing can be written */
    (void)sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
  }
  sqlite3_close(store->db);
  vec_release(&store->sources);
  arena_release(&store->arena);
  free(store);
}

enum status store_begin(struct store *store, struct diag_list *diags) {
  return store_run(store, "BEGIN IMMEDIATE", "writing", diags);
}

enum status store_commit(struct store *store, struct diag_list *diags) {
  return store_run(store, "COMMIT", "writing", diags);
}

void store_rollback(struct store *store) {
  (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  /* sources added since then are gone as well */
  struct diag_list ignored;
  diag_init(&ignored);
  (void)store_read_sources(store, &ignored);
  diag_release(&ignored);
}
