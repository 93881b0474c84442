/* Characters of MLIR text. There is no token stream: the parser asks for what it expects at the cursor, and the functions
 * here skip blanks and comments, scan names, numbers and strings, and copy balanced text. Path: source text → here →
 * mlir_parse*.c.
 *
 * The text ends at `end`, where a NUL or a '/' stands (mlir_parse_piece sees to that); neither can begin or continue a
 * token, so scanning loops need no bounds check. */
#ifndef RIDGELINE_MLIR_MLIR_LEXER_H
#define RIDGELINE_MLIR_MLIR_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"

struct lexer {
  const char *cursor; /* next unread byte */
  const char *begin; /* offset 0 of the source */
  const char *end; /* first byte that does not belong to the text */
};

enum lex_class {
  LEX_SPACE = 1 << 0, /* blank, tab, CR, LF */
  LEX_START = 1 << 1, /* may begin a bare name: letters and '_' */
  LEX_WORD = 1 << 2, /* may continue a bare name: letters, digits, _ $ . */
  LEX_SUFFIX = 1 << 3, /* may stand in a name after % ^ # ! @: LEX_WORD and '-' */
  LEX_DIGIT = 1 << 4,
  LEX_HEX = 1 << 5
};
extern const uint8_t lex_classes[256];

static inline bool lex_is(char c, unsigned classes) {
  return (lex_classes[(uint8_t)c] & classes) != 0;
}

/* The rest of lex_skip: blanks and comments from a place that has one. */
void lex_skip_slow(struct lexer *lx);

/* Moves to the next token. */
static inline void lex_skip(struct lexer *lx) {
  if (*lx->cursor == ' ') {
    lx->cursor++;
  }
  if (lex_is(*lx->cursor, LEX_SPACE) || *lx->cursor == '/') {
    lex_skip_slow(lx);
  }
}

/* The next token's first character, not consumed. */
static inline char lex_peek(struct lexer *lx) {
  lex_skip(lx);
  return lx->cursor < lx->end ? *lx->cursor : '\0';
}

/* Consumes `c` when it comes next. */
static inline bool lex_try(struct lexer *lx, char c) {
  lex_skip(lx);
  if (*lx->cursor != c || lx->cursor >= lx->end) {
    return false;
  }
  lx->cursor++;
  return true;
}

/* Consumes "->" when it comes next. */
static inline bool lex_try_arrow(struct lexer *lx) {
  lex_skip(lx);
  if (lx->cursor[0] != '-' || lx->cursor[1] != '>') {
    return false;
  }
  lx->cursor += 2;
  return true;
}

/* Consumes the bare word `word` (of `length` bytes) when it comes next as a whole word. */
static inline bool lex_try_word(struct lexer *lx, const char *word, size_t length) {
  lex_skip(lx);
  if ((size_t)(lx->end - lx->cursor) < length || memcmp(lx->cursor, word, length) != 0
      || lex_is(lx->cursor[length], LEX_WORD)) {
    return false;
  }
  lx->cursor += length;
  return true;
}
#define LEX_TRY_WORD(lx, literal) lex_try_word((lx), "" literal, sizeof(literal) - 1)

/* A piece of the source. */
struct lex_span {
  const char *text;
  size_t length;
};

static inline bool lex_span_is(struct lex_span span, const char *text) {
  return strlen(text) == span.length && memcmp(text, span.text, span.length) == 0;
}

/* A bare name ([A-Za-z_][A-Za-z0-9_$.]*); length 0 when none comes next. */
struct lex_span lex_word(struct lexer *lx);
/* The name after a sigil that was just consumed; no blanks are skipped. Length 0 when there is none. */
struct lex_span lex_suffix(struct lexer *lx);
/* A string literal at the cursor ('"' comes next): the span without quotes, escapes not resolved. False when it does not
 * end in this line; the cursor then stands at its begin. */
bool lex_string(struct lexer *lx, struct lex_span *raw);
/* Appends the bytes that a raw string stands for (\n, \t, \", \\, two hex digits). False at a bad escape. */
bool lex_unescape(struct lex_span raw, struct strbuf *out);

/* A number as written: [-] digits, hex digits, or digits with a point. */
struct lex_number {
  const char *text; /* first byte, the sign included */
  size_t length;
  bool is_negative;
  bool is_hex; /* 0x... */
  bool is_float; /* has a decimal point */
  bool is_wide; /* an integer that does not fit 64 bits: `value` is not valid */
  uint64_t value; /* magnitude of an integer */
};
/* Reads a number at the cursor (blanks skipped); false when none comes next. */
bool lex_number_read(struct lexer *lx, struct lex_number *out);
/* The double nearest to a number; a decimal integer counts as a whole number. Not for hex. */
double lex_number_double(const struct lex_number *number);

/* What lex_balanced met. */
enum lex_balance { LEX_BALANCED, LEX_UNBALANCED, LEX_TOO_DEEP, LEX_NO_MEMORY };

/* Called for a name with sigil ('#' or '!') inside balanced text that could be an alias; returns true when it appended
 * the text that the alias stands for. */
typedef bool lex_alias_fn(void *context, struct lex_span name, struct strbuf *out);

/* Copies text from an opening bracket ( [ { < at the cursor up to its closing one, with canonical blanks: none inside
 * brackets' edges and before commas, one after a comma, runs become one. Strings are copied as they are, comments
 * dropped; "->", and "<=" and ">=" inside parentheses, are no brackets. `out` may be NULL (skip only). */
enum lex_balance lex_balanced(struct lexer *lx, unsigned max_depth, struct strbuf *out, lex_alias_fn *alias,
                              void *context);

#endif
