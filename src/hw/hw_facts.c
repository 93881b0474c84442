/* One fact of a chip or cluster file: value, unit, kind, source, and the values other sources give. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/strbuf.h"
#include "hw/hw_load.h"

/* What the value of a fact is checked against. */
struct fact_context {
  struct hw_loader *l;
  struct hw_document *d;
  const char *key;
  const struct hw_unit *unit;
  const struct hw_field_row *typed; /* NULL: not a typed field */
};

static bool check_sources(struct hw_loader *l, const struct hw_document *d) {
  static const char *const keys[] = {"title", "url", "rank"};
  static const char *const ranks[] = {"vendor", "benchmark", "tool", "compilation", "secondary"};
  const struct hw_node *sources = hw_node_child(d->root, "sources");
  if (sources == NULL) {
    return true;
  }
  if (sources->kind != HW_NODE_MAP) {
    diag_at(l->diags, DIAG_E0304_SOURCE, &d->source, sources->offset, "'sources' must be a map");
    return false;
  }
  bool is_good = true;
  for (const struct hw_node *s = sources->first; s != NULL; s = s->next) {
    if (s->kind != HW_NODE_MAP) {
      diag_at(l->diags, DIAG_E0304_SOURCE, &d->source, s->offset, "source '%s' must give title and url", s->key);
      is_good = false;
      continue;
    }
    is_good = hw_known_keys(l, d, s, "a source", keys, 3) && is_good;
    for (size_t i = 0; i < 2; i++) {
      const struct hw_node *n = hw_node_child(s, keys[i]);
      if (n == NULL || n->kind != HW_NODE_SCALAR || n->text[0] == '\0') {
        diag_at(l->diags, DIAG_E0304_SOURCE, &d->source, s->key_offset, "source '%s' has no %s", s->key, keys[i]);
        is_good = false;
      }
    }
    const struct hw_node *rank = hw_node_child(s, "rank");
    bool is_rank = rank == NULL;
    for (size_t i = 0; i < 5 && !is_rank; i++) {
      is_rank = rank->kind == HW_NODE_SCALAR && strcmp(rank->text, ranks[i]) == 0;
    }
    if (!is_rank) {
      diag_at(l->diags, DIAG_E0304_SOURCE, &d->source, rank->offset,
              "'rank' is one of vendor, benchmark, tool, compilation, secondary");
      is_good = false;
    }
  }
  return is_good;
}

/* Title and url of the source a fact cites. */
static bool read_source(struct fact_context *c, const struct hw_node *map, struct hw_fact *fact) {
  const struct hw_node *node = hw_node_child(map, "source");
  if (node == NULL || node->kind != HW_NODE_SCALAR || node->text[0] == '\0') {
    diag_at(c->l->diags, DIAG_E0304_SOURCE, &c->d->source, node != NULL ? node->offset : map->offset,
            "'%s' has no source", c->key);
    return false;
  }
  if (strcmp(node->text, "derived") == 0) {
    fact->source_title = "arithmetic on other fields";
    fact->source_url = "derived";
    return true;
  }
  const struct hw_node *sources = hw_node_child(c->d->root, "sources");
  const struct hw_node *source =
      sources != NULL && sources->kind == HW_NODE_MAP ? hw_node_child(sources, node->text) : NULL;
  if (source == NULL) {
    VEC(const char *) names = {0};
    for (const struct hw_node *s = sources != NULL ? sources->first : NULL; s != NULL; s = s->next) {
      (void)vec_push(&names, s->key);
    }
    diag_at(c->l->diags, DIAG_E0304_SOURCE, &c->d->source, node->offset, "'%s' cites '%s', which is not in 'sources'%s",
            c->key, node->text, hw_suggestion(c->l, node->text, names.data, names.count));
    vec_release(&names);
    return false;
  }
  const struct hw_node *title = source->kind == HW_NODE_MAP ? hw_node_child(source, "title") : NULL;
  const struct hw_node *url = source->kind == HW_NODE_MAP ? hw_node_child(source, "url") : NULL;
  fact->source_title = hw_keep(c->l, title != NULL && title->kind == HW_NODE_SCALAR ? title->text : "");
  fact->source_url = hw_keep(c->l, url != NULL && url->kind == HW_NODE_SCALAR ? url->text : "");
  return true;
}

/* A plain scalar that is a number as a whole. Infinities and NaN are numbers here: the caller refuses them. */
static bool parse_number(const struct hw_node *node, double *out) {
  if (!node->is_plain || node->text[0] == '\0') {
    return false;
  }
  const char *text = node->text;
  if (strcmp(text, ".nan") == 0 || strcmp(text, ".NaN") == 0 || strcmp(text, ".NAN") == 0) {
    *out = (double)NAN;
    return true;
  }
  const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
  if (strcmp(digits, ".inf") == 0 || strcmp(digits, ".Inf") == 0 || strcmp(digits, ".INF") == 0) {
    *out = text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    return true;
  }
  if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    return false;
  }
  return decimal_parse(text, strlen(text), out);
}

static bool check_number(struct fact_context *c, const struct hw_node *node, double number) {
  double min = c->unit->min, max = c->unit->max;
  if (c->typed != NULL && c->typed->reader == NULL) {
    min = c->typed->min > min ? c->typed->min : min;
    max = c->typed->max < max ? c->typed->max : max;
  }
  if (!(number >= min && number <= max)) {
    diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, node->offset, "'%s' is %s %s; it must lie between %g and %g",
            c->key, node->text, c->unit->name, min, max);
    return false;
  }
  return true;
}

/* Words that would break a flow text when they are printed bare. */
static bool needs_quotes(const char *text) {
  return text[0] == '\0' || strpbrk(text, ",:{}[]#&*!|>'\"%@`") != NULL || text[0] == ' '
         || text[strlen(text) - 1] == ' ';
}

static void put_flow_text(struct strbuf *out, const char *text) {
  if (!needs_quotes(text)) {
    strbuf_puts(out, text);
    return;
  }
  strbuf_putc(out, '"');
  for (const char *t = text; *t != '\0'; t++) {
    if (*t == '"' || *t == '\\') {
      strbuf_putc(out, '\\');
    }
    strbuf_putc(out, *t);
  }
  strbuf_putc(out, '"');
}

/* Checks the numbers in a list or map and writes it in flow form. */
static bool put_flow(struct fact_context *c, const struct hw_node *node, struct strbuf *out) {
  if (node->kind == HW_NODE_SCALAR) {
    double number;
    put_flow_text(out, node->text);
    return c->unit->unit_class == HW_UNIT_TEXT || !parse_number(node, &number) || check_number(c, node, number);
  }
  bool is_good = true;
  strbuf_putc(out, node->kind == HW_NODE_LIST ? '[' : '{');
  for (const struct hw_node *n = node->first; n != NULL; n = n->next) {
    if (n->key != NULL) {
      put_flow_text(out, n->key);
      strbuf_puts(out, ": ");
    }
    is_good = put_flow(c, n, out) && is_good;
    strbuf_puts(out, n->next != NULL ? ", " : "");
  }
  strbuf_putc(out, node->kind == HW_NODE_LIST ? ']' : '}');
  return is_good;
}

static bool read_value(struct fact_context *c, const struct hw_node *map, struct hw_value *value) {
  const struct hw_node *node = hw_node_child(map, "value");
  if (node == NULL) {
    diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, map->offset, "'%s' has no value", c->key);
    return false;
  }
  if (node->kind == HW_NODE_SCALAR) {
    bool is_text = c->unit->unit_class == HW_UNIT_TEXT;
    value->kind = is_text ? HW_VALUE_TEXT : HW_VALUE_NUMBER;
    value->text = hw_keep(c->l, node->text);
    if (is_text) {
      return true;
    }
    if (!parse_number(node, &value->number)) {
      diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, node->offset, "'%s' is '%s', which is not a number", c->key,
              node->text);
      return false;
    }
    return check_number(c, node, value->number);
  }
  if (c->typed != NULL && c->typed->reader == NULL) {
    diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, node->offset, "'%s' must be one number", c->key);
    return false;
  }
  struct strbuf text = {0};
  bool is_good = put_flow(c, node, &text);
  value->kind = node->kind == HW_NODE_LIST ? HW_VALUE_LIST : HW_VALUE_MAP;
  value->text = text.failed ? NULL : hw_keep(c->l, strbuf_text(&text));
  c->l->scratch.is_exhausted |= text.failed;
  strbuf_release(&text);
  return is_good;
}

static bool read_fact_kind(struct fact_context *c, const struct hw_node *map, struct hw_fact *fact) {
  static const char *const names[] = {"datasheet", "measured", "inferred"};
  const struct hw_node *node = hw_node_child(map, "kind");
  if (node == NULL || node->kind != HW_NODE_SCALAR) {
    diag_at(c->l->diags, DIAG_E0304_SOURCE, &c->d->source, node != NULL ? node->offset : map->offset,
            "'%s' has no kind (datasheet, measured or inferred)", c->key);
    return false;
  }
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(names[i], node->text) == 0) {
      fact->kind = (enum hw_fact_kind)i;
      return true;
    }
  }
  diag_at(c->l->diags, DIAG_E0304_SOURCE, &c->d->source, node->offset,
          "'%s' is not a kind of fact (datasheet, measured or inferred)%s", node->text,
          hw_suggestion(c->l, node->text, names, 3));
  return false;
}

/* An optional text below `key`. */
static bool read_text(struct fact_context *c, const struct hw_node *map, const char *key, const char **out) {
  const struct hw_node *node = hw_node_child(map, key);
  if (node == NULL) {
    return true;
  }
  if (node->kind != HW_NODE_SCALAR) {
    diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, node->offset, "'%s' must be text", key);
    return false;
  }
  *out = hw_keep(c->l, node->text);
  return *out != NULL;
}

static bool read_fact(struct fact_context *c, const struct hw_node *map, struct hw_fact *fact) {
  bool is_good = read_value(c, map, &fact->value);
  is_good = read_fact_kind(c, map, fact) && is_good;
  is_good = read_source(c, map, fact) && is_good;
  is_good = read_text(c, map, "note", &fact->note) && is_good;
  if (is_good && fact->kind == HW_FACT_INFERRED && fact->note == NULL) {
    diag_at(c->l->diags, DIAG_E0304_SOURCE, &c->d->source, map->offset,
            "'%s' is inferred; its reasoning belongs into 'note'", c->key);
    return false;
  }
  return is_good;
}

static bool read_unit(struct fact_context *c, const struct hw_node *map) {
  const struct hw_node *node = hw_node_child(map, "unit");
  if (node == NULL || node->kind != HW_NODE_SCALAR) {
    diag_at(c->l->diags, DIAG_E0305_UNIT, &c->d->source, node != NULL ? node->offset : map->offset,
            "'%s' has no unit ('-' for text)", c->key);
    return false;
  }
  c->unit = hw_unit_find(node->text);
  if (c->unit == NULL) {
    size_t count;
    const char *const *names = hw_unit_names(&count);
    diag_at(c->l->diags, DIAG_E0305_UNIT, &c->d->source, node->offset, "'%s' is not a unit%s", node->text,
            hw_suggestion(c->l, node->text, names, count));
    return false;
  }
  if (c->typed != NULL && c->typed->unit_class != c->unit->unit_class) {
    diag_at(c->l->diags, DIAG_E0305_UNIT, &c->d->source, node->offset, "'%s' is given in '%s'; its unit is '%s'%s",
            c->key, c->unit->name, hw_unit_class_example(c->typed->unit_class),
            c->typed->unit_class == HW_UNIT_COUNT ? " or another count" : "");
    return false;
  }
  return true;
}

static bool read_disputed(struct fact_context *c, const struct hw_node *map, struct hw_field *field) {
  static const char *const keys[] = {"value", "kind", "source", "note"};
  const struct hw_node *list = hw_node_child(map, "disputed");
  if (list == NULL) {
    return true;
  }
  if (list->kind != HW_NODE_LIST) {
    diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, list->offset, "'disputed' must be a list of facts");
    return false;
  }
  size_t count = 0;
  for (const struct hw_node *n = list->first; n != NULL; n = n->next) {
    count++;
  }
  struct hw_fact *facts = arena_calloc(c->l->arena, count, sizeof *facts);
  if (facts == NULL) {
    return false;
  }
  bool is_good = true;
  count = 0;
  for (const struct hw_node *n = list->first; n != NULL; n = n->next) {
    if (n->kind != HW_NODE_MAP) {
      diag_at(c->l->diags, DIAG_E0303_VALUE, &c->d->source, n->offset, "a disputed value is a map");
      is_good = false;
      continue;
    }
    is_good = hw_known_keys(c->l, c->d, n, "a disputed value", keys, 4) && is_good;
    is_good = read_fact(c, n, &facts[count++]) && is_good;
  }
  field->disputed = facts;
  field->disputed_count = count;
  return is_good;
}

static bool read_field(struct hw_loader *l, struct hw_document *d, const struct hw_node *node,
                       struct hw_fact_row *row) {
  static const char *const keys[] = {"value", "unit", "kind", "source", "note", "chosen", "disputed"};
  struct fact_context c = {.l = l, .d = d, .key = node->key, .typed = l->form->find_row(node->key)};
  if (node->kind != HW_NODE_MAP) {
    diag_at(l->diags, DIAG_E0304_SOURCE, &d->source, node->offset, "'%s' must give value, unit, kind and source",
            node->key);
    return false;
  }
  if (l->form->check_key != NULL && !l->form->check_key(l, d, node)) {
    return false;
  }
  struct hw_field *field = &row->field;
  bool is_good = hw_known_keys(l, d, node, "a fact", keys, sizeof keys / sizeof keys[0]);
  if (!read_unit(&c, node)) {
    return false;
  }
  is_good = read_fact(&c, node, &field->fact) && is_good;
  is_good = read_text(&c, node, "chosen", &field->chosen) && is_good;
  is_good = read_disputed(&c, node, field) && is_good;
  field->key = hw_keep(l, node->key);
  field->unit = c.unit->name;
  field->file = d->source.name;
  source_locate(&d->source, node->key_offset, &field->line, &field->column);
  row->value = hw_node_child(node, "value");
  row->source = &d->source;
  if (is_good && c.typed != NULL && c.typed->reader != NULL) {
    struct hw_text_context context = {.node = row->value, .source = &d->source, .diags = l->diags};
    is_good = c.typed->reader(&context);
  }
  return is_good && field->key != NULL;
}

enum status hw_read_facts(struct hw_loader *l, struct hw_document *d) {
  bool is_good = check_sources(l, d);
  for (const struct hw_node *n = d->fields->first; n != NULL; n = n->next) {
    struct hw_fact_row row = {0};
    if (!read_field(l, d, n, &row)) {
      is_good = false;
    } else if (!vec_push(&d->rows, row)) {
      return STATUS_MEMORY;
    }
  }
  return is_good ? STATUS_OK : STATUS_INPUT;
}
