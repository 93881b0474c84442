/* Diagnostics: messages with a stable id and a place. Every message is a row of diag_ids.def; the list hangs on the
 * caller's context and is printed by whoever owns a terminal, never by the library. */
#ifndef RIDGELINE_BASE_DIAG_H
#define RIDGELINE_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A text that diagnostics and operations point into. `text` is NUL-terminated at text[length]; both are borrowed. */
struct source {
  const char *name; /* file name as the user gave it */
  const char *text;
  size_t length;
};

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

enum diag_id {
#define RDG_DIAG(id, severity, summary) DIAG_##id,
#include "base/diag_ids.def"
#undef RDG_DIAG
  DIAG_COUNT
};

struct diag {
  enum diag_id id;
  enum diag_severity severity;
  const char *file; /* NULL when the message has no place */
  uint32_t line; /* 1-based; 0 = unknown */
  uint32_t column; /* 1-based, in bytes */
  const char *message; /* lower case, no full stop, subject quoted; lives in the list's arena */
  const char *excerpt; /* the source line, cut to 200 bytes, or NULL */
};

enum { DIAG_NEAR_BYTES = 32 };

/* Where the last message was, so that the next one counts lines from there. Valid for the same text at the same
 * address; `near` are the bytes around line_start, since a buffer may be freed and its address used again. */
struct diag_place {
  const char *text;
  size_t length;
  size_t line_start; /* offset of a first byte of a line */
  uint32_t line; /* its number */
  char near[DIAG_NEAR_BYTES];
  size_t near_count;
};

struct diag_list {
  struct arena arena;
  VEC(struct diag) entries;
  size_t error_count, warning_count, note_count; /* all that came, kept or not */
  size_t error_limit; /* of each severity so many are kept and further ones only counted; default 20. After so many
                         errors diag_full() is true */
  struct diag_place place;
};

void diag_init(struct diag_list *list);
void diag_release(struct diag_list *list);
/* Records a message at byte `offset` of `source` (NULL source: no place). */
void diag_at(struct diag_list *list, enum diag_id id, const struct source *source, size_t offset, const char *format,
             ...) __attribute__((format(printf, 5, 6)));
/* Records a message with an explicit line and column (0 = unknown), for inputs that are not a `source`. */
void diag_file(struct diag_list *list, enum diag_id id, const char *file, uint32_t line, uint32_t column,
               const char *format, ...) __attribute__((format(printf, 6, 7)));
bool diag_full(const struct diag_list *list);
/* "E0123": stable code of an id, static storage. */
const char *diag_code(enum diag_id id);
/* One-line explanation of the id (the summary column). */
const char *diag_summary(enum diag_id id);
/* Appends "file:line:column: error: message [E0123]\n" plus the excerpt with a caret when there is one. */
void diag_format(const struct diag *diag, struct strbuf *out);
/* 1-based line and column (bytes) of an offset. */
void source_locate(const struct source *source, size_t offset, uint32_t *line, uint32_t *column);

/* The name in `names` nearest to `text` (Levenshtein distance ≤ max(2, length/3)), or NULL: for "did you mean". */
const char *nearest_name(const char *text, const char *const *names, size_t name_count);

#endif
