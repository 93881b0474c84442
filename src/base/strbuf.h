/* Growable text. A failed growth sets `failed` and drops further text; check once at the end. */
#ifndef RIDGELINE_BASE_STRBUF_H
#define RIDGELINE_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf {
  char *data; /* NUL-terminated when length > 0; may be NULL when empty */
  size_t length;
  size_t capacity;
  bool failed;
};

void strbuf_release(struct strbuf *buf);
void strbuf_clear(struct strbuf *buf);
void strbuf_add(struct strbuf *buf, const char *text, size_t length);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
void strbuf_fill(struct strbuf *buf, char c, size_t count);
/* Numbers have '.' as their decimal point whatever the locale. */
void strbuf_printf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args);
void strbuf_put_i64(struct strbuf *buf, int64_t value); /* decimal, fast */
/* The text so far, "" when empty. */
const char *strbuf_text(const struct strbuf *buf);

#endif
