/* Diagnostics: collects what every module has to say about the user's input; the command line prints the list. */
#include "base/diag.h"

#include <stdarg.h>
#include <string.h>

enum {
  DEFAULT_ERROR_LIMIT = 20,
  EXCERPT_BYTES = 200,
  EXCERPT_LEAD = 120, /* bytes kept before the column when the line start is cut off */
  NAME_LIMIT = 255 /* longer names get no suggestion */
};

struct diag_row {
  char code[6];
  enum diag_severity severity;
  const char *summary;
};

static const struct diag_row rows[DIAG_COUNT] = {
#define RDG_DIAG(id, severity, summary) {{#id[0], #id[1], #id[2], #id[3], #id[4], 0}, DIAG_##severity, summary},
#include "base/diag_ids.def"
#undef RDG_DIAG
};

const char *diag_code(enum diag_id id) {
  return rows[id].code;
}

const char *diag_summary(enum diag_id id) {
  return rows[id].summary;
}

void diag_init(struct diag_list *list) {
  *list = (struct diag_list){.error_limit = DEFAULT_ERROR_LIMIT};
  arena_init(&list->arena, 0);
}

void diag_release(struct diag_list *list) {
  arena_release(&list->arena);
  vec_release(&list->entries);
  list->error_count = 0;
}

bool diag_full(const struct diag_list *list) {
  return list->error_count >= list->error_limit;
}

static bool is_utf8_continuation(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

/* Byte of the line where its excerpt starts. The same for recording and printing, so that the caret finds its place
 * without another field. */
static size_t excerpt_start(uint32_t column) {
  return column <= EXCERPT_BYTES ? 0 : column - 1 - EXCERPT_LEAD;
}

/* The part of a line around `column`: whole characters, "..." in place of the bytes that are cut off. */
static const char *make_excerpt(struct arena *arena, const char *line, size_t length, uint32_t column) {
  size_t start = excerpt_start(column);
  size_t end = length - start > EXCERPT_BYTES ? start + EXCERPT_BYTES : length;
  bool is_cut = end < length;
  if (is_cut) {
    end -= 3;
    while (end > start && is_utf8_continuation(line[end])) {
      end--;
    }
  }
  size_t size = end - start;
  char *excerpt = arena_alloc(arena, size + 4);
  if (excerpt == NULL) {
    return NULL;
  }
  memcpy(excerpt, line + start, size);
  if (start > 0) {
    for (size_t i = 0; i < size && (i < 3 || is_utf8_continuation(excerpt[i])); i++) {
      excerpt[i] = '.';
    }
  }
  for (size_t i = 0; i < size; i++) {
    if (excerpt[i] == '\0') {
      excerpt[i] = '?';
    }
  }
  memcpy(excerpt + size, "...", 4);
  excerpt[size + (is_cut ? 3 : 0)] = '\0';
  return excerpt;
}

/* Counts the message; true when it is to be kept. */
static bool admit(struct diag_list *list, enum diag_id id) {
  if (rows[id].severity != DIAG_ERROR) {
    return true;
  }
  bool was_full = diag_full(list);
  list->error_count++;
  return !was_full;
}

static void record(struct diag_list *list, struct diag *diag, const char *format, va_list args) {
  struct strbuf message = {0};
  strbuf_vprintf(&message, format, args);
  diag->severity = rows[diag->id].severity;
  diag->message = arena_strndup(&list->arena, strbuf_text(&message), message.length);
  strbuf_release(&message);
  if (diag->message == NULL) {
    diag->message = rows[diag->id].summary;
  }
  (void)vec_push(&list->entries, *diag);
}

void diag_at(struct diag_list *list, enum diag_id id, const struct source *source, size_t offset, const char *format,
             ...) {
  if (!admit(list, id)) {
    return;
  }
  struct diag diag = {.id = id};
  if (source != NULL) {
    diag.file = arena_strndup(&list->arena, source->name, strlen(source->name));
    source_locate(source, offset, &diag.line, &diag.column);
    size_t at = offset < source->length ? offset : source->length;
    const char *line = source->text + (at - (diag.column - 1));
    size_t left = source->length - (size_t)(line - source->text);
    const char *newline = memchr(line, '\n', left);
    size_t length = newline == NULL ? left : (size_t)(newline - line);
    if (length > 0 && line[length - 1] == '\r') {
      length--;
    }
    diag.excerpt = make_excerpt(&list->arena, line, length, diag.column);
  }
  va_list args;
  va_start(args, format);
  record(list, &diag, format, args);
  va_end(args);
}

void diag_file(struct diag_list *list, enum diag_id id, const char *file, uint32_t line, uint32_t column,
               const char *format, ...) {
  if (!admit(list, id)) {
    return;
  }
  struct diag diag = {.id = id, .line = line, .column = column};
  if (file != NULL) {
    diag.file = arena_strndup(&list->arena, file, strlen(file));
  }
  va_list args;
  va_start(args, format);
  record(list, &diag, format, args);
  va_end(args);
}

static void format_excerpt(const struct diag *diag, struct strbuf *out) {
  strbuf_puts(out, diag->excerpt);
  strbuf_putc(out, '\n');
  if (diag->column == 0) {
    return;
  }
  size_t caret = diag->column - 1 - excerpt_start(diag->column);
  for (size_t i = 0; i < caret && diag->excerpt[i] != '\0'; i++) {
    char c = diag->excerpt[i];
    if (!is_utf8_continuation(c)) {
      strbuf_putc(out, c == '\t' ? '\t' : ' ');
    }
  }
  strbuf_puts(out, "^\n");
}

void diag_format(const struct diag *diag, struct strbuf *out) {
  static const char *const severities[] = {"error", "warning", "note"};
  if (diag->file != NULL) {
    strbuf_puts(out, diag->file);
    strbuf_putc(out, ':');
    if (diag->line > 0) {
      strbuf_put_i64(out, diag->line);
      strbuf_putc(out, ':');
      if (diag->column > 0) {
        strbuf_put_i64(out, diag->column);
        strbuf_putc(out, ':');
      }
    }
    strbuf_putc(out, ' ');
  }
  strbuf_printf(out, "%s: %s [%s]\n", severities[diag->severity], diag->message, diag_code(diag->id));
  if (diag->excerpt != NULL && diag->excerpt[0] != '\0') {
    format_excerpt(diag, out);
  }
}

void source_locate(const struct source *source, size_t offset, uint32_t *line, uint32_t *column) {
  const char *at = source->text + (offset < source->length ? offset : source->length);
  const char *line_start = source->text;
  uint32_t lines = 1;
  while (line_start < at) {
    const char *newline = memchr(line_start, '\n', (size_t)(at - line_start));
    if (newline == NULL) {
      break;
    }
    line_start = newline + 1;
    lines++;
  }
  *line = lines;
  *column = (uint32_t)(at - line_start) + 1;
}

static size_t min3(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* Levenshtein distance of strings of at most NAME_LIMIT bytes, or `limit` + 1 when it is more than that. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, size_t limit) {
  if ((a_length > b_length ? a_length - b_length : b_length - a_length) > limit) {
    return limit + 1;
  }
  size_t row[NAME_LIMIT + 1];
  for (size_t j = 0; j <= b_length; j++) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a_length; i++) {
    size_t diagonal = row[0];
    size_t least = row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      size_t above = row[j];
      row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
      least = row[j] < least ? row[j] : least;
    }
    if (least > limit) {
      return limit + 1;
    }
  }
  return row[b_length] > limit ? limit + 1 : row[b_length];
}

const char *nearest_name(const char *text, const char *const *names, size_t name_count) {
  size_t length = strlen(text);
  size_t limit = length / 3 > 2 ? length / 3 : 2;
  const char *nearest = NULL;
  for (size_t i = 0; i < name_count && length <= NAME_LIMIT; i++) {
    size_t name_length = strlen(names[i]);
    size_t distance = name_length > NAME_LIMIT ? limit + 1 : edit_distance(text, length, names[i], name_length, limit);
    if (distance <= limit) {
      nearest = names[i];
      if (distance == 0) {
        break;
      }
      limit = distance - 1;
    }
  }
  return nearest;
}
