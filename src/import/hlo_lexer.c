/* The cursor over HLO text. See hlo_lexer.h. */
#include "import/hlo_lexer.h"

static bool starts(const struct hlo_cursor *c, const char *word) {
  size_t length = strlen(word);
  return (size_t)(c->end - c->at) >= length && memcmp(c->at, word, length) == 0;
}

static bool is_letter(char x) {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_';
}

static bool is_digit(char x) {
  return x >= '0' && x <= '9';
}

static bool is_name_byte(char x) {
  return is_letter(x) || is_digit(x) || x == '.' || x == '-';
}

static bool is_blank(char x) {
  return x == ' ' || x == '\n' || x == '\t' || x == '\r';
}

void hlo_skip_line(struct hlo_cursor *c) {
  const char *stop = c->at < c->end ? memchr(c->at, '\n', (size_t)(c->end - c->at)) : NULL;
  c->at = stop != NULL ? stop + 1 : c->end;
}

static void skip_block_comment(struct hlo_cursor *c) {
  c->at += 2;
  while (c->at < c->end && !starts(c, "*/")) {
    c->at++;
  }
  c->at = c->at < c->end ? c->at + 2 : c->end;
}

void hlo_skip(struct hlo_cursor *c) {
  for (;;) {
    while (c->at < c->end && is_blank(*c->at)) {
      c->at++;
    }
    if (starts(c, "/*")) {
      skip_block_comment(c);
    } else if (starts(c, "//")) {
      hlo_skip_line(c);
    } else {
      return;
    }
  }
}

char hlo_peek(struct hlo_cursor *c) {
  hlo_skip(c);
  return c->at < c->end ? *c->at : '\0';
}

bool hlo_try(struct hlo_cursor *c, char wanted) {
  if (c->at >= c->end || hlo_peek(c) != wanted || c->at >= c->end) {
    return false;
  }
  c->at++;
  return true;
}

bool hlo_try_word(struct hlo_cursor *c, const char *word) {
  hlo_skip(c);
  size_t length = strlen(word);
  bool is_there =
      starts(c, word) && (!is_name_byte(word[length - 1]) || c->at + length == c->end || !is_name_byte(c->at[length]));
  c->at += is_there ? length : 0;
  return is_there;
}

struct hlo_span hlo_name(struct hlo_cursor *c) {
  hlo_skip(c);
  if (c->at < c->end && *c->at == '%') {
    c->at++;
  }
  struct hlo_span span = {c->at, 0};
  while (c->at < c->end && is_name_byte(*c->at)) {
    /* "a->b": the arrow is no part of a name */
    if (*c->at == '-' && c->at + 1 < c->end && c->at[1] == '>') {
      break;
    }
    c->at++;
  }
  span.length = (size_t)(c->at - span.text);
  return span;
}

bool hlo_integer(struct hlo_cursor *c, int64_t *value) {
  hlo_skip(c);
  const char *at = c->at;
  bool is_negative = at < c->end && *at == '-';
  at += is_negative;
  uint64_t number = 0, limit = is_negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
  if (at >= c->end || !is_digit(*at)) {
    return false;
  }
  for (; at < c->end && is_digit(*at); at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (number > (limit - digit) / 10) {
      return false;
    }
    number = number * 10 + digit;
  }
  c->at = at;
  *value = is_negative ? (int64_t)(0 - number) : (int64_t)number;
  return true;
}

/* Behind the closing quote; NULL when there is none. */
static const char *string_end(const char *at, const char *end) {
  for (at++; at < end; at++) {
    if (*at == '\\') {
      at++;
    } else if (*at == '"') {
      return at + 1;
    }
  }
  return NULL;
}

/* Behind the bracket that closes the one at `at`; NULL when there is none. Kinds of brackets are not told apart. */
static const char *bracket_end(const char *at, const char *end) {
  size_t depth = 0;
  while (at < end) {
    char x = *at;
    if (x == '"') {
      at = string_end(at, end);
      if (at == NULL) {
        return NULL;
      }
      continue;
    }
    if (x == '/' && at + 1 < end && at[1] == '*') {
      struct hlo_cursor c = {at, end};
      skip_block_comment(&c);
      at = c.at;
      continue;
    }
    depth += x == '(' || x == '[' || x == '{';
    at++;
    if ((x == ')' || x == ']' || x == '}') && --depth == 0) {
      return at;
    }
  }
  return NULL;
}

struct hlo_span hlo_balanced(struct hlo_cursor *c) {
  char first = hlo_peek(c);
  struct hlo_span span = {c->at, 0};
  const char *stop = first == '"'                                   ? string_end(c->at, c->end)
                     : first == '(' || first == '[' || first == '{' ? bracket_end(c->at, c->end)
                                                                    : NULL;
  if (stop != NULL) {
    span.length = (size_t)(stop - c->at);
    c->at = stop;
  }
  return span;
}

struct hlo_span hlo_value(struct hlo_cursor *c) {
  hlo_skip(c);
  struct hlo_span span = {c->at, 0};
  const char *at = c->at;
  while (at < c->end && !is_blank(*at) && *at != ',' && *at != ')' && *at != ']' && *at != '}') {
    bool is_open = *at == '(' || *at == '[' || *at == '{';
    at = *at == '"' ? string_end(at, c->end) : is_open ? bracket_end(at, c->end) : at + 1;
    if (at == NULL) {
      return span;
    }
  }
  span.length = (size_t)(at - c->at);
  c->at = at;
  return span;
}
