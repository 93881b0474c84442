/* Diagnostics of the MLIR parser: one per op, with a place, and one about a text that ends too early. Path: called by all of
 * mlir_parse*.c. */
#include <stdio.h>

#include "mlir/mlir_parse.h"

/* Names the innermost construct that was open when the text ended, and where it began. */
static void report_end(struct parser *p, const char *expected) {
  p->stopped = true;
  size_t end = (size_t)(p->lx.end - p->lx.begin);
  if (p->open.count == 0) {
    diag_at(p->diags, DIAG_E0103_EOF, p->source, end, "the text ends%s%s", expected ? " where this was expected: " : "",
            expected ? expected : "");
    return;
  }
  const struct open_mark *mark = &p->open.data[p->open.count - 1];
  uint32_t line = 0, column = 0;
  source_locate(p->source, (size_t)(mark->at - p->lx.begin), &line, &column);
  if (mark->name) {
    diag_at(p->diags, DIAG_E0103_EOF, p->source, end, "the text ends inside the %s of '%s' opened at %u:%u", mark->what,
            ir_text(p->m, mark->name), line, column);
  } else {
    diag_at(p->diags, DIAG_E0103_EOF, p->source, end, "the text ends inside the %s opened at %u:%u", mark->what, line,
            column);
  }
}

bool parse_error(struct parser *p, enum diag_id id, const char *at, const char *format, ...) {
  p->failed = true;
  if (p->quiet || p->stopped) {
    return false;
  }
  p->quiet = true;
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (at >= p->lx.end && (id == DIAG_E0102_EXPECTED || id == DIAG_E0104_TYPE || id == DIAG_E0105_ATTRIBUTE)) {
    report_end(p, NULL);
    return false;
  }
  diag_at(p->diags, id, p->source, (size_t)(at - p->lx.begin), "%s", message);
  if (id == DIAG_E0005_LIMIT) {
    p->limit = p->stopped = true;
  }
  if (id == DIAG_E0103_EOF || diag_full(p->diags)) {
    p->stopped = true;
  }
  return false;
}

/* The token at the cursor for a message: a word, a string's begin, or one character. */
static struct lex_span found_token(struct parser *p) {
  const char *text = p->lx.cursor;
  size_t n = 1;
  if (text >= p->lx.end) {
    return (struct lex_span){"end of text", 11};
  }
  if (lex_is(*text, LEX_SUFFIX) || *text == '%' || *text == '@' || *text == '#' || *text == '!' || *text == '^') {
    while (n < 40 && lex_is(text[n], LEX_SUFFIX)) {
      n++;
    }
  } else if ((uint8_t)*text >= 0x80) {
    while (n < 4 && ((uint8_t)text[n] & 0xC0) == 0x80) {
      n++;
    }
  }
  return (struct lex_span){text, n};
}

const char *parse_missing_place(struct parser *p) {
  lex_skip(&p->lx);
  const char *at = p->lx.cursor;
  bool is_behind = false; /* a line ended between */
  while (at > p->start && lex_is(at[-1], LEX_SPACE)) {
    is_behind |= *--at == '\n';
    if (!is_behind || at == p->start || lex_is(at[-1], LEX_SPACE)) {
      continue;
    }
    /* a comment at the end of that line is not what something is missing behind */
    const char *line = at;
    while (line > p->start && line[-1] != '\n') {
      line--;
    }
    for (const char *c = line; c + 1 < at; c++) {
      if (c[0] == '/' && c[1] == '/') {
        at = c;
      }
    }
  }
  return is_behind && at > p->start ? at : p->lx.cursor;
}

bool parse_expected(struct parser *p, const char *what) {
  lex_skip(&p->lx);
  if ((uint8_t)*p->lx.cursor < ' ' && p->lx.cursor < p->lx.end) {
    return parse_error(p, DIAG_E0101_TOKEN, p->lx.cursor, "byte 0x%02x is not MLIR text; expected %s",
                       (unsigned)(uint8_t)*p->lx.cursor, what);
  }
  struct lex_span found = found_token(p);
  const char *at = p->lx.cursor < p->lx.end ? parse_missing_place(p) : p->lx.cursor;
  return parse_error(p, DIAG_E0102_EXPECTED, at, "expected %s, found '%.*s'", what, SPAN_ARGS(found));
}

bool parse_memory(struct parser *p) {
  p->m->out_of_memory = true;
  p->failed = p->stopped = true;
  return false;
}

bool parse_intern(struct parser *p, const char *text, size_t length, uint32_t *id) {
  *id = intern_add(&p->m->strings, text, length);
  if (*id == UINT32_MAX) {
    *id = 0;
    return parse_memory(p);
  }
  return true;
}

bool parse_deeper(struct parser *p) {
  if (p->depth >= p->max_depth) {
    return parse_error(p, DIAG_E0005_LIMIT, p->lx.cursor, "nested deeper than the limit of %u levels", p->max_depth);
  }
  p->depth++;
  p->deepest = p->depth > p->deepest ? p->depth : p->deepest;
  return true;
}
