/* Rows of a profile: prepared statements in, callbacks out. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "store/store_internal.h"

const struct store_source_row *store_source_of_id(struct store *store, sqlite3_int64 id) {
  size_t last = store->last_source;
  if (last < store->sources.count && store->sources.data[last].id == id) {
    return &store->sources.data[last];
  }
  for (size_t i = 0; i < store->sources.count; i++) {
    if (store->sources.data[i].id == id) {
      store->last_source = i;
      return &store->sources.data[i];
    }
  }
  return NULL;
}

const struct store_source_row *store_source_of_name(struct store *store, const char *name) {
  size_t last = store->last_source;
  if (last < store->sources.count && strcmp(store->sources.data[last].source.name, name) == 0) {
    return &store->sources.data[last];
  }
  for (size_t i = 0; i < store->sources.count; i++) {
    if (strcmp(store->sources.data[i].source.name, name) == 0) {
      store->last_source = i;
      return &store->sources.data[i];
    }
  }
  return NULL;
}

/* The text of a column, "" for NULL. */
static const char *column_text(sqlite3_stmt *statement, int column) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  return text != NULL ? (const char *)text : "";
}

static const char *keep_column(struct store *store, sqlite3_stmt *statement, int column) {
  const char *text = column_text(statement, column);
  return arena_strndup(&store->arena, text, strlen(text));
}

enum status store_read_sources(struct store *store, struct diag_list *diags) {
  sqlite3_stmt *statement = NULL;
  STATUS_TRY(
      store_prepare(store, "SELECT id, name, title, url, licence, may_fit FROM source ORDER BY id", diags, &statement));
  vec_clear(&store->sources);
  store->last_source = 0;
  int code = SQLITE_DONE;
  bool has_memory = true;
  while (has_memory && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    struct store_source_row row = {.id = sqlite3_column_int64(statement, 0),
                                   .source = {.name = keep_column(store, statement, 1),
                                              .title = keep_column(store, statement, 2),
                                              .url = keep_column(store, statement, 3),
                                              .licence = keep_column(store, statement, 4),
                                              .may_fit = sqlite3_column_int(statement, 5) != 0}};
    has_memory = row.source.name != NULL && row.source.title != NULL && row.source.url != NULL
                 && row.source.licence != NULL && vec_push(&store->sources, row);
  }
  enum status status = !has_memory           ? STATUS_MEMORY
                       : code == SQLITE_DONE ? STATUS_OK
                                             : store_failure(store, code, "reading", diags);
  sqlite3_finalize(statement);
  return status;
}

static void bind_text(sqlite3_stmt *statement, int column, const char *text) {
  sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

/* Runs a bound statement that yields no row and makes it ready for the next one. */
static enum status step_done(struct store *store, sqlite3_stmt *statement, struct diag_list *diags) {
  int code = sqlite3_step(statement);
  enum status status = code == SQLITE_DONE ? STATUS_OK : store_failure(store, code, "writing", diags);
  sqlite3_reset(statement);
  return status;
}

/* Takes an added source over into the copy of the table; changed texts replace those of the same name. */
static enum status keep_source(struct store *store, const struct store_source *source) {
  const char *const texts[] = {source->name, source->title, source->url, source->licence};
  const char *kept[4];
  for (size_t i = 0; i < 4; i++) {
    kept[i] = arena_strndup(&store->arena, texts[i], strlen(texts[i]));
    if (kept[i] == NULL) {
      return STATUS_MEMORY;
    }
  }
  struct store_source_row row = {
      .id = sqlite3_last_insert_rowid(store->db),
      .source = {.name = kept[0], .title = kept[1], .url = kept[2], .licence = kept[3], .may_fit = source->may_fit}};
  if (store_source_of_name(store, source->name) != NULL) {
    store->sources.data[store->last_source].source = row.source;
    return STATUS_OK;
  }
  return vec_push(&store->sources, row) ? STATUS_OK : STATUS_MEMORY;
}

enum status store_add_source(struct store *store, const struct store_source *source, struct diag_list *diags) {
  sqlite3_stmt *statement = NULL;
  STATUS_TRY(store_prepare(store,
                           "INSERT INTO source (name, title, url, licence, may_fit) VALUES (?1, ?2, ?3, ?4, ?5)"
                           " ON CONFLICT (name) DO UPDATE SET title = ?2, url = ?3, licence = ?4, may_fit = ?5",
                           diags, &statement));
  bind_text(statement, 1, source->name);
  bind_text(statement, 2, source->title);
  bind_text(statement, 3, source->url);
  bind_text(statement, 4, source->licence);
  sqlite3_bind_int(statement, 5, source->may_fit);
  enum status status = step_done(store, statement, diags);
  sqlite3_finalize(statement);
  return status == STATUS_OK ? keep_source(store, source) : status;
}

const struct store_source *store_find_source(struct store *store, const char *name) {
  const struct store_source_row *row = store_source_of_name(store, name);
  return row != NULL ? &row->source : NULL;
}

enum status store_drop_rows(struct store *store, const char *source, const char *device, bool programs,
                            struct diag_list *diags) {
  const struct store_source_row *row = store_source_of_name(store, source);
  assert(row != NULL);
  sqlite3_stmt *statement = NULL;
  STATUS_TRY(store_prepare(store,
                           programs ? "DELETE FROM program WHERE source = ?1 AND (?2 IS NULL OR device = ?2)"
                                    : "DELETE FROM operator WHERE source = ?1 AND (?2 IS NULL OR device = ?2)",
                           diags, &statement));
  sqlite3_bind_int64(statement, 1, row->id);
  if (device != NULL) {
    sqlite3_bind_text(statement, 2, device, -1, SQLITE_STATIC);
  }
  enum status status = step_done(store, statement, diags);
  sqlite3_finalize(statement);
  return status;
}

static void bind_spread(sqlite3_stmt *statement, int column, double spread_s) {
  if (isnan(spread_s)) {
    sqlite3_bind_null(statement, column);
  } else {
    sqlite3_bind_double(statement, column, spread_s);
  }
}

enum status store_add_operator(struct store *store, const struct store_operator *row, struct diag_list *diags) {
  if (store->add_operator == NULL) {
    STATUS_TRY(store_prepare(store,
                             "INSERT INTO operator (source, device, software, op, format, shape, variant, split,"
                             " latency_s, spread_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                             diags, &store->add_operator));
  }
  const struct store_source_row *source = store_source_of_name(store, row->source);
  assert(source != NULL);
  sqlite3_stmt *s = store->add_operator;
  sqlite3_bind_int64(s, 1, source->id);
  bind_text(s, 2, row->device);
  bind_text(s, 3, row->software);
  bind_text(s, 4, row->op);
  bind_text(s, 5, row->format);
  bind_text(s, 6, row->shape);
  bind_text(s, 7, row->variant);
  bind_text(s, 8, store_split_name(row->split));
  sqlite3_bind_double(s, 9, row->latency_s);
  bind_spread(s, 10, row->spread_s);
  return step_done(store, s, diags);
}

enum status store_add_program(struct store *store, const struct store_program *row, struct diag_list *diags) {
  if (store->add_program == NULL) {
    STATUS_TRY(store_prepare(store,
                             "INSERT INTO program (source, device, software, program, format, shape, variant, devices,"
                             " split, latency_s, spread_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                             diags, &store->add_program));
  }
  const struct store_source_row *source = store_source_of_name(store, row->source);
  assert(source != NULL);
  sqlite3_stmt *s = store->add_program;
  sqlite3_bind_int64(s, 1, source->id);
  bind_text(s, 2, row->device);
  bind_text(s, 3, row->software);
  bind_text(s, 4, row->program);
  bind_text(s, 5, row->format);
  bind_text(s, 6, row->shape);
  bind_text(s, 7, row->variant);
  sqlite3_bind_int64(s, 8, row->devices);
  bind_text(s, 9, store_split_name(row->split));
  sqlite3_bind_double(s, 10, row->latency_s);
  bind_spread(s, 11, row->spread_s);
  return step_done(store, s, diags);
}

enum status store_each_source(struct store *store, bool (*visit)(void *user, const struct store_source *row),
                              void *user, struct diag_list *diags) {
  (void)diags;
  for (size_t i = 0; i < store->sources.count; i++) {
    if (!visit(user, &store->sources.data[i].source)) {
      break;
    }
  }
  return STATUS_OK;
}

/* The CHECK of the table leaves only the three names; in a damaged file anything else is not to be fitted. */
static enum store_split split_of(const char *name) {
  enum store_split split = STORE_TEST;
  (void)store_split_find(name, &split);
  return split;
}

static double column_spread(sqlite3_stmt *statement, int column) {
  return sqlite3_column_type(statement, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(statement, column);
}

/* One of the two callbacks; false from it stops. */
struct visitor {
  bool (*operator_row)(void *user, const struct store_operator *row);
  bool (*program_row)(void *user, const struct store_program *row);
  void *user;
};

static bool visit_operator(const struct visitor *visitor, sqlite3_stmt *s, const char *source) {
  struct store_operator row = {.source = source,
                               .device = column_text(s, 1),
                               .software = column_text(s, 2),
                               .op = column_text(s, 3),
                               .format = column_text(s, 4),
                               .shape = column_text(s, 5),
                               .variant = column_text(s, 6),
                               .split = split_of(column_text(s, 7)),
                               .latency_s = sqlite3_column_double(s, 8),
                               .spread_s = column_spread(s, 9)};
  return visitor->operator_row(visitor->user, &row);
}

static bool visit_program(const struct visitor *visitor, sqlite3_stmt *s, const char *source) {
  struct store_program row = {.source = source,
                              .device = column_text(s, 1),
                              .software = column_text(s, 2),
                              .program = column_text(s, 3),
                              .format = column_text(s, 4),
                              .shape = column_text(s, 5),
                              .variant = column_text(s, 6),
                              .split = split_of(column_text(s, 7)),
                              .latency_s = sqlite3_column_double(s, 8),
                              .spread_s = column_spread(s, 9),
                              .devices = (uint32_t)sqlite3_column_int64(s, 10)};
  return visitor->program_row(visitor->user, &row);
}

static void bind_optional(sqlite3_stmt *statement, int column, const char *text) {
  if (text != NULL) {
    bind_text(statement, column, text);
  }
}

#define ROW_FILTER                                                                                                     \
  " WHERE (?1 IS NULL OR source IN (SELECT id FROM source WHERE name = ?1)) AND (?2 IS NULL OR device = ?2)"           \
  " AND (?4 IS NULL OR format = ?4) AND (?5 IS NULL OR split = ?5)"                                                    \
  " AND (?6 = 0 OR source IN (SELECT id FROM source WHERE may_fit = 1))"

static enum status each_row(struct store *store, const char *sql, const struct store_filter *filter,
                            const struct visitor *visitor, struct diag_list *diags) {
  static const struct store_filter all = {0};
  const struct store_filter *f = filter != NULL ? filter : &all;
  sqlite3_stmt *statement = NULL;
  STATUS_TRY(store_prepare(store, sql, diags, &statement));
  bind_optional(statement, 1, f->source);
  bind_optional(statement, 2, f->device);
  bind_optional(statement, 3, f->op);
  bind_optional(statement, 4, f->format);
  bind_optional(statement, 5, f->split != NULL ? store_split_name(*f->split) : NULL);
  sqlite3_bind_int(statement, 6, f->may_fit_only);
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    const struct store_source_row *source = store_source_of_id(store, sqlite3_column_int64(statement, 0));
    const char *name = source != NULL ? source->source.name : "";
    bool goes_on = visitor->operator_row != NULL ? visit_operator(visitor, statement, name)
                                                 : visit_program(visitor, statement, name);
    if (!goes_on) {
      code = SQLITE_DONE;
      break;
    }
  }
  enum status status = code == SQLITE_DONE ? STATUS_OK : store_failure(store, code, "reading", diags);
  sqlite3_finalize(statement);
  return status;
}

enum status store_each_operator(struct store *store, const struct store_filter *filter,
                                bool (*visit)(void *user, const struct store_operator *row), void *user,
                                struct diag_list *diags) {
  struct visitor visitor = {.operator_row = visit, .user = user};
  return each_row(store,
                  "SELECT source, device, software, op, format, shape, variant, split, latency_s, spread_s"
                  " FROM operator" ROW_FILTER " AND (?3 IS NULL OR op = ?3) ORDER BY id",
                  filter, &visitor, diags);
}

enum status store_each_program(struct store *store, const struct store_filter *filter,
                               bool (*visit)(void *user, const struct store_program *row), void *user,
                               struct diag_list *diags) {
  struct visitor visitor = {.program_row = visit, .user = user};
  return each_row(store,
                  "SELECT source, device, software, program, format, shape, variant, split, latency_s, spread_s,"
                  " devices FROM program" ROW_FILTER " AND (?3 IS NULL OR program = ?3) ORDER BY id",
                  filter, &visitor, diags);
}

enum status store_each_count(struct store *store, bool programs,
                             bool (*visit)(void *user, const struct store_count *row), void *user,
                             struct diag_list *diags) {
  sqlite3_stmt *s = NULL;
  STATUS_TRY(store_prepare(store,
                           programs ? "SELECT source, device, program, format, split, count(*), min(latency_s),"
                                      " max(latency_s) FROM program GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"
                                    : "SELECT source, device, op, format, split, count(*), min(latency_s),"
                                      " max(latency_s) FROM operator GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
                           diags, &s));
  int code;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    const struct store_source_row *source = store_source_of_id(store, sqlite3_column_int64(s, 0));
    if (source == NULL) {
      continue; /* only in a damaged file */
    }
    struct store_count row = {.source = &source->source,
                              .device = column_text(s, 1),
                              .op = column_text(s, 2),
                              .format = column_text(s, 3),
                              .split = split_of(column_text(s, 4)),
                              .rows = (uint64_t)sqlite3_column_int64(s, 5),
                              .latency_min_s = sqlite3_column_double(s, 6),
                              .latency_max_s = sqlite3_column_double(s, 7)};
    if (!visit(user, &row)) {
      code = SQLITE_DONE;
      break;
    }
  }
  enum status status = code == SQLITE_DONE ? STATUS_OK : store_failure(store, code, "reading", diags);
  sqlite3_finalize(s);
  return status;
}
