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
  list->error_count = list->warning_count = list->note_count = 0;
  list->place = (struct diag_place){0};
}

bool diag_full(const struct diag_list *list) {
  return list->error_count >= list->error_limit;
}

static bool is_utf8_continuation(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

/* Length of the well-formed UTF-8 character at text[0..length) that a terminal shows; 0 for control characters (C0 but
 * the tab, DEL, C1), which may move the cursor or change its state, and for bytes that are no character. */
static size_t shown_length(const char *text, size_t length) {
  const unsigned char *b = (const unsigned char *)text;
  if (b[0] < 0x80) {
    return (b[0] >= 0x20 && b[0] != 0x7F) || b[0] == '\t';
  }
  size_t count = b[0] >= 0xC2 && b[0] <= 0xDF ? 2 : (b[0] & 0xF0) == 0xE0 ? 3 : b[0] >= 0xF0 && b[0] <= 0xF4 ? 4 : 0;
  if (count == 0 || count > length) {
    return 0;
  }
  for (size_t i = 1; i < count; i++) {
    if (!is_utf8_continuation(text[i])) {
      return 0;
    }
  }
  bool is_control = b[0] == 0xC2 && b[1] < 0xA0;
  bool is_overlong = (b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xF0 && b[1] < 0x90);
  bool is_no_character = (b[0] == 0xED && b[1] >= 0xA0) || (b[0] == 0xF4 && b[1] >= 0x90);
  return is_control || is_overlong || is_no_character ? 0 : count;
}

/* Puts '?' in place of every byte that must not reach a terminal; columns stay where they are. Line breaks of messages
 * are kept when `keeps_lines`. */
static void make_printable(char *text, size_t length, bool keeps_lines) {
  for (size_t i = 0; i < length;) {
    size_t shown = keeps_lines && text[i] == '\n' ? 1 : shown_length(text + i, length - i);
    if (shown == 0) {
      text[i] = '?';
      shown = 1;
    }
    i += shown;
  }
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
  make_printable(excerpt, size, false);
  memcpy(excerpt + size, "...", 4);
  excerpt[size + (is_cut ? 3 : 0)] = '\0';
  return excerpt;
}

/* Counts the message; true when it is to be kept. */
static bool admit(struct diag_list *list, enum diag_id id) {
  size_t *const counts[] = {
      [DIAG_ERROR] = &list->error_count, [DIAG_WARNING] = &list->warning_count, [DIAG_NOTE] = &list->note_count};
  return (*counts[rows[id].severity])++ < list->error_limit;
}

static void record(struct diag_list *list, struct diag *diag, const char *format, va_list args) {
  struct strbuf message = {0};
  strbuf_vprintf(&message, format, args);
  diag->severity = rows[diag->id].severity;
  char *text = arena_strndup(&list->arena, strbuf_text(&message), message.length);
  if (text != NULL) {
    make_printable(text, strlen(text), true);
  }
  diag->message = text;
  strbuf_release(&message);
  if (diag->message == NULL) {
    diag->message = rows[diag->id].summary;
  }
  (void)vec_push(&list->entries, *diag);
}

/* Line and start of the line of `offset`, counted from a line start before it. */
static uint32_t count_lines(const char *text, size_t offset, size_t *line_start, uint32_t line) {
  size_t start = *line_start;
  while (start < offset) {
    const char *newline = memchr(text + start, '\n', offset - start);
    if (newline == NULL) {
      break;
    }
    start = (size_t)(newline - text) + 1;
    line++;
  }
  *line_start = start;
  return line;
}

void source_locate(const struct source *source, size_t offset, uint32_t *line, uint32_t *column) {
  size_t at = offset < source->length ? offset : source->length, start = 0;
  *line = count_lines(source->text, at, &start, 1);
  *column = (uint32_t)(at - start) + 1;
}

/* The bytes around a line start that a diag_place remembers; returns their number. */
static size_t place_near(const struct source *source, size_t line_start, const char **near) {
  size_t before = line_start < DIAG_NEAR_BYTES / 2 ? line_start : DIAG_NEAR_BYTES / 2;
  size_t left = source->length - line_start + before;
  *near = source->text + line_start - before;
  return left < DIAG_NEAR_BYTES ? left : DIAG_NEAR_BYTES;
}

/* source_locate that starts at the place of the last message: messages come mostly in the order of the text. */
static void locate(struct diag_place *place, const struct source *source, size_t offset, uint32_t *line,
                   uint32_t *column) {
  size_t at = offset < source->length ? offset : source->length, start = 0;
  const char *near;
  bool is_same = place->text == source->text && place->length == source->length
                 && place_near(source, place->line_start, &near) == place->near_count
                 && memcmp(near, place->near, place->near_count) == 0;
  *line = 1;
  if (is_same && at >= place->line_start) {
    start = place->line_start;
    *line = place->line;
  } else if (is_same && at > place->line_start / 2) {
    *line = place->line;
    for (start = place->line_start; start > at || (start > 0 && source->text[start - 1] != '\n'); start--) {
      *line -= source->text[start - 1] == '\n';
    }
  }
  *line = count_lines(source->text, at, &start, *line);
  *column = (uint32_t)(at - start) + 1;
  *place = (struct diag_place){.text = source->text, .length = source->length, .line_start = start, .line = *line};
  place->near_count = place_near(source, start, &near);
  memcpy(place->near, near, place->near_count);
}

void diag_at(struct diag_list *list, enum diag_id id, const struct source *source, size_t offset, const char *format,
             ...) {
  if (!admit(list, id)) {
    return;
  }
  struct diag diag = {.id = id};
  if (source != NULL && source->text != NULL) { /* a module that was built has no text */
    diag.file = arena_strndup(&list->arena, source->name, strlen(source->name));
    locate(&list->place, source, offset, &diag.line, &diag.column);
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
    size_t start = out->length;
    strbuf_puts(out, diag->file);
    if (!out->failed) {
      make_printable(out->data + start, out->length - start, false);
    }
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
