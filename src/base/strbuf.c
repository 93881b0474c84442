/* Text builder of the printers and reports. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

enum { MIN_CAPACITY = 64 };

void strbuf_release(struct strbuf *buf) {
  free(buf->data);
  *buf = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *buf) {
  buf->length = 0;
  buf->failed = false;
  if (buf->data != NULL) {
    buf->data[0] = '\0';
  }
}

/* Room for `extra` more bytes and the NUL. */
static bool reserve(struct strbuf *buf, size_t extra) {
  if (buf->failed) {
    return false;
  }
  if (extra < buf->capacity - buf->length) {
    return true;
  }
  size_t needed;
  if (__builtin_add_overflow(buf->length, extra, &needed) || needed > SIZE_MAX / 2 - 1) {
    buf->failed = true;
    return false;
  }
  size_t capacity = buf->capacity + buf->capacity / 2;
  if (capacity < MIN_CAPACITY) {
    capacity = MIN_CAPACITY;
  }
  if (capacity < needed + 1) {
    capacity = needed + 1;
  }
  char *data = realloc(buf->data, capacity);
  if (data == NULL) {
    buf->failed = true;
    return false;
  }
  buf->data = data;
  buf->capacity = capacity;
  return true;
}

void strbuf_add(struct strbuf *buf, const char *text, size_t length) {
  if (length == 0 || !reserve(buf, length)) {
    return;
  }
  memcpy(buf->data + buf->length, text, length);
  buf->length += length;
  buf->data[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text) {
  strbuf_add(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c) {
  if (!reserve(buf, 1)) {
    return;
  }
  buf->data[buf->length++] = c;
  buf->data[buf->length] = '\0';
}

void strbuf_fill(struct strbuf *buf, char c, size_t count) {
  if (count == 0 || !reserve(buf, count)) {
    return;
  }
  memset(buf->data + buf->length, c, count);
  buf->length += count;
  buf->data[buf->length] = '\0';
}

void strbuf_printf(struct strbuf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  strbuf_vprintf(buf, format, args);
  va_end(args);
}

void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) {
  if (buf->failed) {
    return;
  }
  va_list again;
  struct decimal_scope scope;
  decimal_enter(&scope);
  va_copy(again, args);
  size_t room = buf->capacity - buf->length;
  int written = vsnprintf(room == 0 ? NULL : buf->data + buf->length, room, format, args);
  if (written < 0) {
    buf->failed = true;
  } else if ((size_t)written >= room && reserve(buf, (size_t)written)) {
    written = vsnprintf(buf->data + buf->length, buf->capacity - buf->length, format, again);
  }
  va_end(again);
  decimal_leave(&scope);
  if (!buf->failed) {
    buf->length += (size_t)written;
  } else if (buf->data != NULL) {
    buf->data[buf->length] = '\0';
  }
}

void strbuf_put_i64(struct strbuf *buf, int64_t value) {
  char digits[20];
  size_t first = sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    digits[--first] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) {
    digits[--first] = '-';
  }
  strbuf_add(buf, digits + first, sizeof digits - first);
}

const char *strbuf_text(const struct strbuf *buf) {
  return buf->length == 0 ? "" : buf->data;
}
