/* Attributes of HLO text: names and the places of their values. Values stay text, except that computations written in
 * place of their names (XLA's canonical form) are set aside and get names. Path: hlo_parse.c asks → here. See hlo.h. */
#include <stdio.h>

#include "base/strbuf.h"
#include "import/hlo.h"

/* Attributes that name computations, one or a list of them. */
static bool names_computations(struct hlo_span name) {
  static const char *const names[] = {"to_apply",
                                      "calls",
                                      "condition",
                                      "body",
                                      "true_computation",
                                      "select",
                                      "branch_computations",
                                      "scatter",
                                      "false_computation",
                                      "called_computations"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (hlo_span_is(name, names[i])) {
      return true;
    }
  }
  return false;
}

/* '{' and an instruction: `[ROOT] name =`. */
static bool is_computation(struct hlo_cursor c) {
  if (!hlo_try(&c, '{')) {
    return false;
  }
  (void)hlo_try_word(&c, "ROOT");
  return hlo_name(&c).length > 0 && hlo_peek(&c) == '=';
}

/* Sets aside the computation at the cursor; the name that it gets is appended to `names`. */
static bool set_aside(struct hlo_module *hlo, struct hlo_cursor *c, struct strbuf *names) {
  struct hlo_inline item = {.depth = hlo->inline_depth + 1};
  char name[32];
  if (item.depth > hlo->max_depth) {
    return hlo_error(hlo, DIAG_E0005_LIMIT, c->at, "computations are nested deeper than %u", hlo->max_depth);
  }
  item.text = hlo_balanced(c);
  if (item.text.length == 0) {
    return hlo_error(hlo, DIAG_E0103_EOF, c->at, "this computation never ends");
  }
  snprintf(name, sizeof name, "inline..%u", hlo->inline_count++);
  strbuf_puts(names, name);
  item.name = intern_add_cstr(&hlo->strings, name);
  return (item.name != UINT32_MAX && !names->failed && vec_push(&hlo->inlines, item)) || hlo_memory(hlo);
}

/* A computation, or a list of them, in which names may stand too. The value becomes the names. */
static bool read_computations(struct hlo_module *hlo, struct hlo_cursor *c, struct hlo_span *value) {
  struct strbuf names = {0};
  bool is_list = !is_computation(*c), ok = true;
  if (is_list) {
    (void)hlo_try(c, '{');
    strbuf_putc(&names, '{');
  }
  do {
    hlo_skip(c);
    struct hlo_cursor before = *c;
    if (is_list && hlo_peek(c) == '}') {
      break;
    }
    if (is_computation(before)) {
      ok = set_aside(hlo, c, &names);
    } else {
      struct hlo_span name = hlo_name(c);
      strbuf_add(&names, name.text, name.length);
      ok = name.length > 0 || hlo_error(hlo, DIAG_E0102_EXPECTED, c->at, "expected a computation");
    }
    strbuf_puts(&names, is_list ? "," : "");
  } while (ok && is_list && hlo_try(c, ','));
  if (ok && is_list) {
    strbuf_putc(&names, '}');
    ok = hlo_try(c, '}') || hlo_error(hlo, DIAG_E0102_EXPECTED, c->at, "expected ',' or '}' after a computation");
  }
  uint32_t id = ok ? intern_add(&hlo->strings, strbuf_text(&names), names.length) : 0;
  ok = ok && ((!names.failed && id != UINT32_MAX) || hlo_memory(hlo));
  if (ok) {
    *value = (struct hlo_span){intern_text(&hlo->strings, id), names.length};
  }
  strbuf_release(&names);
  return ok;
}

/* '{' and somewhere in the list a computation. */
static bool has_inline(struct hlo_cursor c) {
  if (is_computation(c)) {
    return true;
  }
  bool is_list = hlo_try(&c, '{');
  while (is_list) {
    hlo_skip(&c);
    if (is_computation(c)) {
      return true;
    }
    is_list = hlo_name(&c).length > 0 && hlo_try(&c, ',');
  }
  return false;
}

/* mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y':(1)2}: one value in spite of comma and blank. */
static struct hlo_span mesh_value(struct hlo_cursor *c) {
  hlo_skip(c);
  struct hlo_span span = {c->at, 0};
  struct hlo_cursor at = *c, probe;
  bool ok = hlo_try_word(&at, "mesh") && hlo_balanced(&at).length > 0;
  probe = at;
  if (ok && hlo_try(&probe, ',') && hlo_try_word(&probe, "device_ids") && hlo_try(&probe, '=')) {
    at = probe;
    ok = hlo_balanced(&at).length > 0;
  }
  ok = ok && hlo_peek(&at) == '{' && hlo_balanced(&at).length > 0;
  if (ok) {
    span.length = (size_t)(at.at - span.text);
    *c = at;
  }
  return span;
}

static bool is_mesh(struct hlo_cursor c) {
  return hlo_try_word(&c, "mesh") && hlo_peek(&c) == '[';
}

/* literal=f32[2] {1,2}: shape and elements. */
static struct hlo_span literal_value(struct hlo_cursor *c) {
  struct hlo_span span = hlo_value(c);
  char next = hlo_peek(c);
  if (span.length > 0 && next != ',' && next != '\0') {
    struct hlo_cursor after = *c;
    struct hlo_span elements = hlo_value(&after);
    if (elements.length > 0) {
      *c = after;
      span.length = (size_t)(after.at - span.text);
    }
  }
  return span;
}

static bool read_value(struct hlo_module *hlo, struct hlo_cursor *c, struct hlo_attr *attr) {
  if (names_computations(attr->name) && has_inline(*c)) {
    return read_computations(hlo, c, &attr->value);
  }
  attr->value = is_mesh(*c) ? mesh_value(c) : hlo_span_is(attr->name, "literal") ? literal_value(c) : hlo_value(c);
  return attr->value.length > 0
         || hlo_error(hlo, DIAG_E0105_ATTRIBUTE, attr->value.text,
                      "attribute '%.*s' has no value or one that never ends",
                      (int)(attr->name.length < 64 ? attr->name.length : 64), attr->name.text);
}

bool hlo_parse_attrs(struct hlo_module *hlo, struct hlo_cursor *c, uint32_t *first, uint32_t *count) {
  *first = (uint32_t)hlo->attrs.count;
  while (hlo_try(c, ',')) {
    hlo_skip(c);
    struct hlo_attr attr = {.name = hlo_name(c)};
    if (attr.name.length == 0 || !hlo_try(c, '=')) {
      return hlo_error(hlo, DIAG_E0102_EXPECTED, c->at, "expected an attribute, name=value");
    }
    if (!read_value(hlo, c, &attr)) {
      return false;
    }
    if (!vec_push(&hlo->attrs, attr)) {
      return hlo_memory(hlo);
    }
  }
  *count = (uint32_t)hlo->attrs.count - *first;
  return true;
}
