/* Reads and writes decimals independently of the locale. Used by every module that has numbers in text. */
#include "base/decimal.h"

#include <langinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SHORT_TEXT = 128,
  /* The midpoint of two doubles has at most 767 significant digits; one more digit than zero says "above it". */
  KEPT_DIGITS = 768
};

/* An exponent beyond this is an infinity or a zero whatever the digits are, and adding to it cannot overflow. */
static const int64_t exponent_limit = INT64_MAX / 4;

void decimal_enter(struct decimal_scope *scope) {
  *scope = (struct decimal_scope){0};
  if (strcmp(nl_langinfo(RADIXCHAR), ".") == 0) {
    return;
  }
  scope->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (scope->plain != (locale_t)0) {
    scope->previous = uselocale(scope->plain);
  }
}

void decimal_leave(struct decimal_scope *scope) {
  if (scope->previous != (locale_t)0) {
    uselocale(scope->previous);
    freelocale(scope->plain);
  }
}

static bool parse_short(const char *text, double *out) {
  struct decimal_scope scope;
  char *end = NULL;
  decimal_enter(&scope);
  *out = strtod(text, &end);
  decimal_leave(&scope);
  bool is_number = end != text && *end == '\0';
  *out = is_number ? *out : 0;
  return is_number;
}

/* Exponent after 'e'; clamped. False when text[at .. length) is none. */
static bool parse_exponent(const char *text, size_t at, size_t length, int64_t *out) {
  bool is_negative = at < length && text[at] == '-';
  at += at < length && (text[at] == '-' || text[at] == '+');
  bool has_digits = at < length;
  int64_t value = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
    value = value < exponent_limit / 16 ? value * 10 + (text[at] - '0') : exponent_limit;
  }
  *out = is_negative ? -value : value;
  return has_digits && at == length;
}

/* A decimal of any length, shortened to the digits that decide how it rounds. */
static bool parse_long(const char *text, size_t length, double *out) {
  char local[KEPT_DIGITS + 32];
  size_t used = 0, kept = 0, at = 0;
  int64_t exponent = 0, written = 0;
  bool has_point = false, has_digits = false, has_rest = false;
  if (text[at] == '-' || text[at] == '+') {
    local[used++] = text[at++];
  }
  for (; at < length && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9')); at++) {
    if (text[at] == '.') {
      if (has_point) {
        return false;
      }
      has_point = true;
      continue;
    }
    has_digits = true;
    exponent -= has_point;
    if (kept == 0 && text[at] == '0') {
      continue;
    }
    if (kept < KEPT_DIGITS) {
      local[used++] = text[at];
      kept++;
    } else {
      has_rest |= text[at] != '0';
      exponent++;
    }
  }
  if (!has_digits
      || (at < length && ((text[at] != 'e' && text[at] != 'E') || !parse_exponent(text, at + 1, length, &written)))) {
    return false;
  }
  local[used++] = kept == 0 ? '0' : has_rest ? '1' : '0';
  exponent += written - (kept == 0 ? 0 : 1);
  exponent = kept == 0 ? 0 : exponent > 99999 ? 99999 : exponent < -99999 ? -99999 : exponent;
  snprintf(local + used, sizeof local - used, "e%d", (int)exponent);
  return parse_short(local, out);
}

bool decimal_parse(const char *text, size_t length, double *out) {
  char local[SHORT_TEXT];
  *out = 0;
  if (length == 0) {
    return false;
  }
  if (length >= sizeof local) {
    return parse_long(text, length, out);
  }
  memcpy(local, text, length);
  local[length] = '\0';
  return strlen(local) == length && parse_short(local, out);
}

int decimal_format(char *buffer, size_t size, const char *format, ...) {
  struct decimal_scope scope;
  va_list args;
  va_start(args, format);
  decimal_enter(&scope);
  int length = vsnprintf(buffer, size, format, args);
  decimal_leave(&scope);
  va_end(args);
  return length;
}
