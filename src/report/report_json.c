/* What all JSON documents share: failure kept in one place, numbers that JSON has, text that JSON takes. */
#include <math.h>
#include <string.h>

#include "report/report_int.h"

/* Decimal numbers of up to 15 digits come back as they were written. */
enum { REAL_DIGITS = 15, FORMAT_VERSION = 1 };

void report_json_set(struct report_json *json, json_t *object, const char *key, json_t *value) {
  json->failed |= json_object_set_new(object, key, value) != 0;
}

void report_json_append(struct report_json *json, json_t *array, json_t *value) {
  json->failed |= json_array_append_new(array, value) != 0;
}

json_t *report_json_real(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

json_t *report_json_uint(uint64_t value) {
  return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *report_json_text(const char *text) {
  if (!text) {
    return json_null();
  }
  struct strbuf clean = {0};
  report_clean(&clean, text);
  json_t *value = clean.failed ? NULL : json_stringn(strbuf_text(&clean), clean.length);
  strbuf_release(&clean);
  return value;
}

json_t *report_json_place(const struct report_lines *lines, uint32_t offset) {
  struct strbuf place = {0};
  if (!report_has_place(lines, offset)) {
    return json_null();
  }
  report_place(lines, offset, &place);
  json_t *value = report_json_text(strbuf_text(&place));
  strbuf_release(&place);
  return value;
}

json_t *report_json_document(struct report_json *json, const char *format, const char *version) {
  json_t *root = json_object();
  report_json_set(json, root, "format", json_string(format));
  report_json_set(json, root, "format_version", json_integer(FORMAT_VERSION));
  if (version) {
    report_json_set(json, root, "ridgeline_version", report_json_text(version));
  }
  return root;
}

static int append(const char *text, size_t length, void *out) {
  strbuf_add(out, text, length);
  return ((struct strbuf *)out)->failed ? -1 : 0;
}

enum status report_json_finish(struct report_json *json, json_t *root, struct strbuf *out) {
  if (!root || json->failed) {
    json_decref(root);
    return STATUS_MEMORY;
  }
  int result = json_dump_callback(root, append, out, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
  json_decref(root);
  strbuf_putc(out, '\n');
  return result == 0 && !out->failed ? STATUS_OK : STATUS_MEMORY;
}

void report_json_quote(struct strbuf *out, const char *text) {
  struct strbuf clean = {0};
  report_clean(&clean, text ? text : "");
  out->failed |= clean.failed;
  strbuf_putc(out, '"');
  for (const char *at = strbuf_text(&clean); *at; at++) {
    if (*at == '"' || *at == '\\') {
      strbuf_putc(out, '\\');
    }
    strbuf_putc(out, *at);
  }
  strbuf_putc(out, '"');
  strbuf_release(&clean);
}
