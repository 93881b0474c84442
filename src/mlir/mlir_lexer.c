/* Scanning of MLIR text: blanks, names, numbers, strings, balanced text. See mlir_lexer.h. */
#include "mlir/mlir_lexer.h"

#include <math.h>
#include <stdlib.h>

#include "base/decimal.h"

enum {
  LETTER = LEX_START | LEX_WORD | LEX_SUFFIX,
  HEX_LETTER = LETTER | LEX_HEX,
  DIGIT = LEX_WORD | LEX_SUFFIX | LEX_DIGIT | LEX_HEX
};

const uint8_t lex_classes[256] = {[' '] = LEX_SPACE,
                                  ['\t'] = LEX_SPACE,
                                  ['\r'] = LEX_SPACE,
                                  ['\n'] = LEX_SPACE,
                                  ['\v'] = LEX_SPACE,
                                  ['\f'] = LEX_SPACE,
                                  ['0'] = DIGIT,
                                  ['1'] = DIGIT,
                                  ['2'] = DIGIT,
                                  ['3'] = DIGIT,
                                  ['4'] = DIGIT,
                                  ['5'] = DIGIT,
                                  ['6'] = DIGIT,
                                  ['7'] = DIGIT,
                                  ['8'] = DIGIT,
                                  ['9'] = DIGIT,
                                  ['_'] = LETTER,
                                  ['$'] = LEX_WORD | LEX_SUFFIX,
                                  ['.'] = LEX_WORD | LEX_SUFFIX,
                                  ['-'] = LEX_SUFFIX,
                                  ['a'] = HEX_LETTER,
                                  ['b'] = HEX_LETTER,
                                  ['c'] = HEX_LETTER,
                                  ['d'] = HEX_LETTER,
                                  ['e'] = HEX_LETTER,
                                  ['f'] = HEX_LETTER,
                                  ['g'] = LETTER,
                                  ['h'] = LETTER,
                                  ['i'] = LETTER,
                                  ['j'] = LETTER,
                                  ['k'] = LETTER,
                                  ['l'] = LETTER,
                                  ['m'] = LETTER,
                                  ['n'] = LETTER,
                                  ['o'] = LETTER,
                                  ['p'] = LETTER,
                                  ['q'] = LETTER,
                                  ['r'] = LETTER,
                                  ['s'] = LETTER,
                                  ['t'] = LETTER,
                                  ['u'] = LETTER,
                                  ['v'] = LETTER,
                                  ['w'] = LETTER,
                                  ['x'] = LETTER,
                                  ['y'] = LETTER,
                                  ['z'] = LETTER,
                                  ['A'] = HEX_LETTER,
                                  ['B'] = HEX_LETTER,
                                  ['C'] = HEX_LETTER,
                                  ['D'] = HEX_LETTER,
                                  ['E'] = HEX_LETTER,
                                  ['F'] = HEX_LETTER,
                                  ['G'] = LETTER,
                                  ['H'] = LETTER,
                                  ['I'] = LETTER,
                                  ['J'] = LETTER,
                                  ['K'] = LETTER,
                                  ['L'] = LETTER,
                                  ['M'] = LETTER,
                                  ['N'] = LETTER,
                                  ['O'] = LETTER,
                                  ['P'] = LETTER,
                                  ['Q'] = LETTER,
                                  ['R'] = LETTER,
                                  ['S'] = LETTER,
                                  ['T'] = LETTER,
                                  ['U'] = LETTER,
                                  ['V'] = LETTER,
                                  ['W'] = LETTER,
                                  ['X'] = LETTER,
                                  ['Y'] = LETTER,
                                  ['Z'] = LETTER};

void lex_skip_slow(struct lexer *lx) {
  const char *p = lx->cursor;
  for (;;) {
    while (lex_is(*p, LEX_SPACE)) {
      p++;
    }
    if (*p != '/' || p >= lx->end || p[1] != '/') {
      break;
    }
    const char *newline = memchr(p, '\n', (size_t)(lx->end - p));
    p = newline ? newline + 1 : lx->end;
  }
  lx->cursor = p < lx->end ? p : lx->end;
}

struct lex_span lex_word(struct lexer *lx) {
  lex_skip(lx);
  const char *p = lx->cursor;
  if (!lex_is(*p, LEX_START)) {
    return (struct lex_span){p, 0};
  }
  do {
    p++;
  } while (lex_is(*p, LEX_WORD));
  struct lex_span span = {lx->cursor, (size_t)(p - lx->cursor)};
  lx->cursor = p;
  return span;
}

struct lex_span lex_suffix(struct lexer *lx) {
  const char *p = lx->cursor;
  if (lex_is(*p, LEX_DIGIT)) {
    while (lex_is(*p, LEX_DIGIT)) {
      p++;
    }
  } else {
    while (lex_is(*p, LEX_SUFFIX) && !(p[0] == '-' && p[1] == '>')) {
      p++;
    }
  }
  struct lex_span span = {lx->cursor, (size_t)(p - lx->cursor)};
  lx->cursor = p;
  return span;
}

bool lex_string(struct lexer *lx, struct lex_span *raw) {
  const char *start = lx->cursor + 1;
  const char *p = start;
  for (;;) {
    const char *quote = memchr(p, '"', (size_t)(lx->end - p));
    if (quote == NULL) {
      return false;
    }
    const char *slash = quote;
    while (slash > start && slash[-1] == '\\') {
      slash--;
    }
    if ((quote - slash) % 2 == 0) {
      if (memchr(start, '\n', (size_t)(quote - start)) != NULL) {
        return false;
      }
      *raw = (struct lex_span){start, (size_t)(quote - start)};
      lx->cursor = quote + 1;
      return true;
    }
    p = quote + 1;
  }
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool lex_unescape(struct lex_span raw, struct strbuf *out) {
  const char *p = raw.text;
  const char *end = raw.text + raw.length;
  while (p < end) {
    const char *slash = memchr(p, '\\', (size_t)(end - p));
    if (slash == NULL) {
      strbuf_add(out, p, (size_t)(end - p));
      return true;
    }
    strbuf_add(out, p, (size_t)(slash - p));
    if (end - slash < 2) {
      return false;
    }
    char c = slash[1];
    if (c == '"' || c == '\\') {
      strbuf_putc(out, c);
      p = slash + 2;
    } else if (c == 'n' || c == 't') {
      strbuf_putc(out, c == 'n' ? '\n' : '\t');
      p = slash + 2;
    } else if (end - slash >= 3 && hex_value(c) >= 0 && hex_value(slash[2]) >= 0) {
      strbuf_putc(out, (char)(hex_value(c) * 16 + hex_value(slash[2])));
      p = slash + 3;
    } else {
      return false;
    }
  }
  return true;
}

static const char *read_hex(const char *p, struct lex_number *n) {
  n->is_hex = true;
  const char *first = p;
  while (lex_is(*p, LEX_HEX)) {
    n->is_wide |= (n->value >> 60) != 0;
    n->value = n->value << 4 | (uint64_t)hex_value(*p);
    p++;
  }
  return p == first ? NULL : p;
}

/* Digits after the decimal point and the exponent, as far as they belong to the number. */
static const char *read_fraction(const char *p) {
  while (lex_is(*p, LEX_DIGIT)) {
    p++;
  }
  if (*p == 'e' || *p == 'E') {
    const char *q = p + 1;
    q += *q == '+' || *q == '-';
    if (lex_is(*q, LEX_DIGIT)) {
      while (lex_is(*q, LEX_DIGIT)) {
        q++;
      }
      p = q;
    }
  }
  return p;
}

bool lex_number_read(struct lexer *lx, struct lex_number *out) {
  lex_skip(lx);
  const char *p = lx->cursor;
  struct lex_number n = {.text = p};
  n.is_negative = *p == '-';
  p += n.is_negative;
  if (!lex_is(*p, LEX_DIGIT)) {
    return false;
  }
  const char *hex_end;
  if (p[0] == '0' && p[1] == 'x' && lex_is(p[2], LEX_HEX) && (hex_end = read_hex(p + 2, &n)) != NULL) {
    p = hex_end;
  } else {
    while (lex_is(*p, LEX_DIGIT)) {
      uint64_t digit = (uint64_t)(*p - '0');
      if (n.value > (UINT64_MAX - digit) / 10) {
        n.is_wide = true;
      } else {
        n.value = n.value * 10 + digit;
      }
      p++;
    }
    if (*p == '.') {
      n.is_float = true;
      p = read_fraction(p + 1);
    }
  }
  n.length = (size_t)(p - n.text);
  lx->cursor = p;
  *out = n;
  return true;
}

/* Decimal digits (at most 19 significant) and power of ten of a float literal; false when there are more digits. */
static bool decimal_parts(const struct lex_number *n, uint64_t *digits, int *power) {
  const char *p = n->text + n->is_negative;
  const char *end = n->text + n->length;
  uint64_t value = 0;
  int significant = 0, scale = 0;
  bool after_point = false;
  for (; p < end && *p != 'e' && *p != 'E'; p++) {
    if (*p == '.') {
      after_point = true;
      continue;
    }
    if (value != 0 || *p != '0') {
      if (++significant > 19) {
        return false;
      }
    }
    value = value * 10 + (uint64_t)(*p - '0');
    scale -= after_point;
  }
  if (p < end) {
    p++;
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    int exponent = 0;
    for (; p < end; p++) {
      if (exponent > 9999) {
        return false;
      }
      exponent = exponent * 10 + (*p - '0');
    }
    scale += negative ? -exponent : exponent;
  }
  *digits = value;
  *power = scale;
  return true;
}

/* Whole numbers below 2^53 and powers of ten up to 1e22 are exact doubles, so one operation rounds once (Clinger 1990). */
double lex_number_double(const struct lex_number *n) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  uint64_t digits;
  int power;
  if (decimal_parts(n, &digits, &power) && digits < (1ull << 53) && power >= -22 && power <= 22) {
    double value = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    return n->is_negative ? -value : value;
  }
  double value;
  (void)decimal_parse(n->text, n->length, &value); /* the lexer took a number: it cannot fail */
  return value;
}

static char closing_of(char open) {
  switch (open) {
  case '(':
    return ')';
  case '[':
    return ']';
  case '{':
    return '}';
  case '<':
    return '>';
  default:
    return '\0';
  }
}

static bool is_closing(char c) {
  return c == ')' || c == ']' || c == '}' || c == '>';
}

/* State of lex_balanced: the closing brackets that are due, innermost last, and whether a blank is due. */
struct balance {
  struct strbuf due;
  struct strbuf *out;
  bool blank;
  char last; /* last character that was written */
};

static void balance_put(struct balance *b, const char *text, size_t length) {
  if (b->out && length) {
    /* none behind an opening bracket, unless "<" and "=" would become a comparison */
    bool joins = b->last == '<' && *text == '=';
    if (b->blank && (closing_of(b->last) == '\0' || joins) && b->last != ' ') {
      strbuf_putc(b->out, ' ');
    }
    strbuf_add(b->out, text, length);
  }
  b->blank = false;
  if (length) {
    b->last = text[length - 1];
  }
}

/* A name with sigil that may be an alias: returns its length, 0 when it is none. */
static size_t alias_length(const char *p) {
  size_t n = 1;
  if (!lex_is(p[1], LEX_START)) {
    return 0;
  }
  while (lex_is(p[n], LEX_SUFFIX) && p[n] != '.' && !(p[n] == '-' && p[n + 1] == '>')) {
    n++;
  }
  return p[n] == '.' || p[n] == '<' ? 0 : n;
}

enum lex_balance lex_balanced(struct lexer *lx, unsigned max_depth, struct strbuf *out, lex_alias_fn *alias,
                              void *context) {
  struct balance b = {.out = out};
  enum lex_balance result = LEX_UNBALANCED;
  struct lexer at = *lx;
  while (at.cursor < at.end) {
    char c = *at.cursor;
    if (lex_is(c, LEX_SPACE) || (c == '/' && at.cursor[1] == '/')) {
      lex_skip_slow(&at);
      b.blank = true;
    } else if (c == '"') {
      const char *start = at.cursor;
      struct lex_span raw;
      if (!lex_string(&at, &raw)) {
        break;
      }
      balance_put(&b, start, (size_t)(at.cursor - start));
    } else if (c == '-' && at.cursor[1] == '>') {
      balance_put(&b, "->", 2);
      b.last = '-';
      at.cursor += 2;
    } else if ((c == '<' || c == '>') && at.cursor[1] == '=' && b.due.length && b.due.data[b.due.length - 1] == ')') {
      balance_put(&b, at.cursor, 2); /* a comparison of an affine set */
      at.cursor += 2;
    } else if (closing_of(c)) {
      balance_put(&b, &c, 1);
      char due = closing_of(c);
      strbuf_add(&b.due, &due, 1);
      at.cursor++;
      if (b.due.failed || b.due.length > max_depth) {
        result = b.due.failed ? LEX_NO_MEMORY : LEX_TOO_DEEP;
        break;
      }
    } else if (is_closing(c)) {
      if (b.due.data[b.due.length - 1] != c) {
        break;
      }
      b.blank = b.blank && b.last == '-' && c == '>'; /* else "- >" would become an arrow */
      balance_put(&b, &c, 1);
      b.due.length--;
      at.cursor++;
      if (b.due.length == 0) {
        result = LEX_BALANCED;
        break;
      }
    } else if (c == ',') {
      b.blank = false;
      balance_put(&b, ",", 1);
      b.blank = true;
      at.cursor++;
    } else {
      size_t n = (c == '#' || c == '!') && alias ? alias_length(at.cursor) : 0;
      if (n && out) {
        struct strbuf text = {0};
        if (alias(context, (struct lex_span){at.cursor, n}, &text)) {
          balance_put(&b, strbuf_text(&text), text.length);
          out->failed |= text.failed;
        } else {
          balance_put(&b, at.cursor, n);
        }
        strbuf_release(&text);
        at.cursor += n;
        continue;
      }
      n = 1;
      while (lex_is(at.cursor[n], LEX_WORD)) {
        n++;
      }
      balance_put(&b, at.cursor, n);
      at.cursor += n;
    }
  }
  strbuf_release(&b.due);
  lx->cursor = at.cursor < at.end ? at.cursor : at.end;
  return result;
}
