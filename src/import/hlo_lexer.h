/* A cursor over HLO text and the pieces it consists of. Values of attributes and literals are taken as balanced spans
 * first and read when they are needed. Path: source text → here → hlo_parse.c. */
#ifndef RIDGELINE_IMPORT_HLO_LEXER_H
#define RIDGELINE_IMPORT_HLO_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hlo_span {
  const char *text;
  size_t length;
};

struct hlo_cursor {
  const char *at, *end;
};

static inline bool hlo_span_is(struct hlo_span span, const char *word) {
  return span.length == strlen(word) && memcmp(span.text, word, span.length) == 0;
}
static inline struct hlo_cursor hlo_cursor_of(struct hlo_span span) {
  return (struct hlo_cursor){span.text, span.text + span.length};
}

/* Skips blanks, line ends and comments. */
void hlo_skip(struct hlo_cursor *c);
/* Next byte after blanks, 0 at the end. */
char hlo_peek(struct hlo_cursor *c);
/* Consumes the byte or word after blanks when it stands there. */
bool hlo_try(struct hlo_cursor *c, char wanted);
bool hlo_try_word(struct hlo_cursor *c, const char *word);
/* A name: letters, digits, '_', '.', '-'; a leading '%' is dropped. Length 0 when there is none. */
struct hlo_span hlo_name(struct hlo_cursor *c);
/* A decimal integer with sign; false when there is none or it exceeds 64 bits. */
bool hlo_integer(struct hlo_cursor *c, int64_t *value);
/* A construct that begins with a bracket or quote, including it, with what is nested in it. Length 0: it never ends. */
struct hlo_span hlo_balanced(struct hlo_cursor *c);
/* The value of an attribute: everything up to a blank, comma or closing bracket outside of brackets and quotes. Length 0 when
 * there is none or it never ends. */
struct hlo_span hlo_value(struct hlo_cursor *c);
/* Behind the end of the current line. */
void hlo_skip_line(struct hlo_cursor *c);

#endif
