/* Text that comes from programs and chip files may hold anything; what reports print is well-formed UTF-8 without control
 * characters, so that neither a terminal nor a JSON reader meets a surprise. */
#include <string.h>

#include "report/report_int.h"

/* Well-formed sequences by their first byte (Unicode 15, table 3-7): the second byte lies in [low, high], any further
 * one in [0x80, 0xBF]. */
static const struct {
  unsigned char first, last, length, low, high;
} sequences[] = {
    {0x00, 0x7F, 1, 0, 0},       {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

size_t report_utf8_length(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  if (length == 0) {
    return 0;
  }
  for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
    if (bytes[0] < sequences[i].first || bytes[0] > sequences[i].last) {
      continue;
    }
    size_t needed = sequences[i].length;
    if (needed > length || (needed > 1 && (bytes[1] < sequences[i].low || bytes[1] > sequences[i].high))) {
      return 0;
    }
    for (size_t k = 2; k < needed; k++) {
      if (bytes[k] < 0x80 || bytes[k] > 0xBF) {
        return 0;
      }
    }
    return needed;
  }
  return 0;
}

/* Appends one code point and returns how many bytes of `text` it was. */
static size_t clean_one(struct strbuf *out, const char *text, size_t length) {
  size_t size = report_utf8_length(text, length);
  if (size == 0) {
    strbuf_puts(out, "\xEF\xBF\xBD");
    return 1;
  }
  unsigned char first = (unsigned char)text[0];
  bool is_c1 = size == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0;
  if (first < 0x20 || first == 0x7F || is_c1) {
    strbuf_putc(out, '?');
  } else {
    strbuf_add(out, text, size);
  }
  return size;
}

void report_clean(struct strbuf *out, const char *text) {
  report_cut(out, text, SIZE_MAX);
}

void report_html(struct strbuf *out, const char *text) {
  struct strbuf clean = {0};
  report_clean(&clean, text);
  out->failed |= clean.failed;
  for (const char *at = strbuf_text(&clean); *at; at++) {
    switch (*at) {
    case '<':
      strbuf_puts(out, "&lt;");
      break;
    case '>':
      strbuf_puts(out, "&gt;");
      break;
    case '&':
      strbuf_puts(out, "&amp;");
      break;
    case '"':
      strbuf_puts(out, "&quot;");
      break;
    default:
      strbuf_putc(out, *at);
    }
  }
  strbuf_release(&clean);
}

/* Code points that cleaning gives. */
static size_t clean_width(const char *text, size_t length) {
  size_t width = 0;
  for (size_t i = 0; i < length; width++) {
    size_t size = report_utf8_length(text + i, length - i);
    i += size ? size : 1;
  }
  return width;
}

void report_cut(struct strbuf *out, const char *text, size_t width) {
  if (!text) {
    strbuf_putc(out, '-');
    return;
  }
  size_t length = strlen(text);
  bool is_cut = width != SIZE_MAX && clean_width(text, length) > width;
  size_t kept = is_cut ? width - 1 : SIZE_MAX;
  for (size_t i = 0; i < length && kept > 0; kept--) {
    i += clean_one(out, text + i, length - i);
  }
  if (is_cut) {
    strbuf_puts(out, "…");
  }
}

size_t report_width(const char *text) {
  size_t width = 0;
  for (; *text; text++) {
    width += ((unsigned char)*text & 0xC0) != 0x80;
  }
  return width;
}
