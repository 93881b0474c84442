/* From byte offsets of a program's text to lines, many times: the starts of all lines are found once. */
#include <stdint.h>
#include <string.h>

#include "report/report_int.h"

void report_lines_init(struct report_lines *lines, const struct source *source) {
  *lines = (struct report_lines){.source = source};
  if (!source) {
    return;
  }
  bool fits = vec_push(&lines->starts, 0);
  const char *end = source->text + source->length;
  for (const char *at = source->text; fits && at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (!newline) {
      break;
    }
    at = newline + 1;
    fits = vec_push(&lines->starts, (size_t)(at - source->text));
  }
  if (!fits) {
    report_lines_release(lines);
  }
}

void report_lines_release(struct report_lines *lines) {
  vec_release(&lines->starts);
  lines->source = NULL;
}

size_t report_line(const struct report_lines *lines, uint32_t offset) {
  if (!lines->source || offset == 0 || offset >= lines->source->length) {
    return 0;
  }
  size_t low = 0, high = lines->starts.count; /* starts[low] <= offset < starts[high] */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (lines->starts.data[middle] <= offset) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low + 1;
}

/* The source of a program read from bytecode has a name but no text; its offsets are those of the file. */
static bool is_byte(const struct report_lines *lines, uint32_t offset) {
  return lines->source && lines->source->length == 0 && offset != 0;
}

bool report_has_place(const struct report_lines *lines, uint32_t offset) {
  return is_byte(lines, offset) || report_line(lines, offset) != 0;
}

void report_place(const struct report_lines *lines, uint32_t offset, struct strbuf *out) {
  if (!report_has_place(lines, offset)) {
    strbuf_putc(out, '-');
    return;
  }
  report_clean(out, lines->source->name);
  if (is_byte(lines, offset)) {
    strbuf_printf(out, ":byte %u", offset);
  } else {
    strbuf_printf(out, ":%zu", report_line(lines, offset));
  }
}
