/* Nodes, scopes, functions, failures. See onnx_build.h. Path: onnx_proto.c → here → onnx_ops_*.c. */
#include "import/onnx_build.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

enum {
  NODES_MAX = 1 << 20, /* with those of functions at each call */
  VERSION_MAX = 26, /* of the standard operator set, whose meanings the rows know */
  SHOWN_MAX = 120 /* bytes of a name in messages */
};

static const struct onnx_op_row rows[] = {
#define ONNX_OP(domain, name, first_version, build, argument)                                                          \
  {domain, name, first_version, onnx_build_##build, argument},
#include "import/onnx_ops.def"
#undef ONNX_OP
};

/* ---- failures ---- */

static int shown(struct onnx_span span) {
  return (int)(span.length < SHOWN_MAX ? span.length : SHOWN_MAX);
}

static const char *text_of(struct onnx_span span) {
  return span.length > 0 ? span.text : "";
}

void onnx_fail(struct onnx_builder *b, enum diag_id id, const char *format, ...) {
  if (b->is_failed) {
    return;
  }
  struct strbuf text = {0};
  va_list args;
  b->is_failed = true;
  b->status = id == DIAG_E0005_LIMIT ? STATUS_LIMIT : id == DIAG_E0001_OPEN ? STATUS_IO : STATUS_INPUT;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  const struct onnx_node *n = b->node;
  if (n == NULL) {
    diag_file(b->diags, id, b->source->name, 0, 0, "%s", strbuf_text(&text));
  } else {
    struct onnx_span name = n->name.length > 0 || n->outputs.count == 0 ? n->name : n->outputs.items[0];
    diag_file(b->diags, id, b->source->name, 0, 0, "node '%.*s' (%.*s): %s", shown(name), text_of(name), shown(n->type),
              text_of(n->type), strbuf_text(&text));
  }
  strbuf_release(&text);
}

void onnx_fail_memory(struct onnx_builder *b) {
  if (b->is_failed) {
    return;
  }
  onnx_fail(b, DIAG_E0005_LIMIT, "the model needs more memory than its budget of %zu bytes", b->arena.budget_bytes);
  b->status = STATUS_MEMORY;
}

bool onnx_check(struct onnx_builder *b, bool ok, const char *format, ...) {
  if (b->is_failed || ok) {
    return !b->is_failed;
  }
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  onnx_fail(b, DIAG_E0206_ATTRIBUTE_VALUE, "%s", strbuf_text(&text));
  strbuf_release(&text);
  return false;
}

/* ---- names ---- */

static bool name_key(struct onnx_builder *b, uint32_t scope, struct onnx_span name, uint64_t *key) {
  uint32_t id = intern_add(&b->strings, text_of(name), name.length);
  if (id == UINT32_MAX) {
    onnx_fail_memory(b);
    return false;
  }
  *key = (uint64_t)scope << 32 | id;
  return true;
}

void onnx_bind_name(struct onnx_builder *b, struct onnx_span name, struct onnx_val value) {
  uint64_t key;
  if (b->is_failed || name.length == 0 || value.id == 0 || !name_key(b, b->scope->id, name, &key)) {
    return;
  }
  if (!map_set(&b->names, key, value.id)) {
    onnx_fail_memory(b);
  }
}

struct onnx_val onnx_lookup(const struct onnx_builder *b, struct onnx_span name) {
  struct onnx_val v = {0};
  uint32_t id = intern_find(&b->strings, text_of(name), name.length);
  for (const struct onnx_scope *s = b->scope; s != NULL && id != 0; s = s->outer) {
    if (map_get(&b->names, (uint64_t)s->id << 32 | id, &v.id)) {
      return v;
    }
  }
  return (struct onnx_val){0};
}

bool onnx_has_input(const struct onnx_node *n, size_t i) {
  return i < n->inputs.count && n->inputs.items[i].length > 0;
}

bool onnx_has_output(const struct onnx_node *n, size_t i) {
  return i < n->outputs.count && n->outputs.items[i].length > 0;
}

struct onnx_val onnx_optional(struct onnx_builder *b, const struct onnx_node *n, size_t i) {
  struct onnx_val v = {0};
  if (!b->is_failed && onnx_has_input(n, i)) {
    struct onnx_span name = n->inputs.items[i];
    v = onnx_lookup(b, name);
    if (v.id == 0) {
      onnx_fail(b, DIAG_E0106_UNDEFINED, "input '%.*s' is not defined before it is used", shown(name), text_of(name));
    }
  }
  return v;
}

struct onnx_val onnx_input(struct onnx_builder *b, const struct onnx_node *n, size_t i) {
  if (!b->is_failed && !onnx_has_input(n, i)) {
    onnx_fail(b, DIAG_E0201_OPERAND_COUNT, "input %zu is missing", i);
  }
  return onnx_optional(b, n, i);
}

void onnx_output(struct onnx_builder *b, const struct onnx_node *n, size_t i, struct onnx_val value) {
  if (!b->is_failed && onnx_has_output(n, i)) {
    onnx_bind_name(b, n->outputs.items[i], value);
  }
}

/* ---- attributes ---- */

static const struct onnx_attribute *find(const struct onnx_attribute *items, size_t count, struct onnx_span name) {
  for (size_t i = 0; i < count; i++) {
    if (items[i].name.length == name.length && memcmp(text_of(items[i].name), text_of(name), name.length) == 0) {
      return &items[i];
    }
  }
  return NULL;
}

const struct onnx_attribute *onnx_attribute(const struct onnx_builder *b, const struct onnx_node *n, const char *name) {
  const struct onnx_attribute *a =
      find(n->attributes.items, n->attributes.count, (struct onnx_span){name, strlen(name)});
  for (const struct onnx_scope *s = b->scope; a != NULL && a->reference.length > 0;) {
    if (s == NULL || s->function == NULL) {
      return NULL;
    }
    const struct onnx_attribute *given = find(s->call->attributes.items, s->call->attributes.count, a->reference);
    if (given == NULL) {
      return find(s->function->defaults.items, s->function->defaults.count, a->reference);
    }
    a = given;
    s = s->caller;
  }
  return a;
}

int64_t onnx_int(const struct onnx_builder *b, const struct onnx_node *n, const char *name, int64_t otherwise) {
  const struct onnx_attribute *a = onnx_attribute(b, n, name);
  return a != NULL && ONNX_HAS(a, ONNX_ATTRIBUTE_I) ? a->i : otherwise;
}

double onnx_float(const struct onnx_builder *b, const struct onnx_node *n, const char *name, double otherwise) {
  const struct onnx_attribute *a = onnx_attribute(b, n, name);
  return a != NULL && ONNX_HAS(a, ONNX_ATTRIBUTE_F) ? (double)a->f : otherwise;
}

bool onnx_string_is(const struct onnx_builder *b, const struct onnx_node *n, const char *name, const char *text,
                    const char *otherwise) {
  const struct onnx_attribute *a = onnx_attribute(b, n, name);
  return a != NULL && ONNX_HAS(a, ONNX_ATTRIBUTE_S) ? onnx_span_is(a->s, text) : strcmp(text, otherwise) == 0;
}

uint32_t onnx_ints(struct onnx_builder *b, const struct onnx_node *n, const char *name, int64_t *values) {
  const struct onnx_attribute *a = onnx_attribute(b, n, name);
  size_t count = a != NULL ? a->ints.count : 0;
  if (!onnx_check(b, count <= 2 * (size_t)ONNX_RANK_MAX, "attribute '%s' has %zu numbers", name, count)) {
    return 0;
  }
  for (size_t i = 0; i < count; i++) {
    values[i] = a->ints.items[i];
  }
  return (uint32_t)count;
}

bool onnx_ints_of(struct onnx_builder *b, const struct onnx_node *n, size_t i, const char *name, int64_t *values,
                  uint32_t *count) {
  *count = 0;
  struct onnx_val v = onnx_optional(b, n, i);
  if (b->is_failed) {
    return false;
  }
  if (v.id == 0) {
    *count = onnx_ints(b, n, name, values);
    return onnx_attribute(b, n, name) != NULL;
  }
  const struct onnx_value *value = onnx_get(b, v);
  if (!onnx_check(b, value->cells != NULL && dtype_is_integral(value->dtype),
                  "input %zu ('%s') must be known when the model is read: it may follow from shapes and constants only",
                  i, name)
      || !onnx_check(b, value->count <= 2 * ONNX_RANK_MAX, "input %zu ('%s') has too many numbers", i, name)) {
    return false;
  }
  for (int64_t k = 0; k < value->count; k++) {
    values[k] = onnx_cell(value, k).i;
  }
  *count = (uint32_t)value->count;
  return true;
}

bool onnx_known_int(const struct onnx_builder *b, struct onnx_val v, int64_t *value) {
  const struct onnx_value *data = onnx_get(b, v);
  if (data->cells == NULL || data->count != 1 || !dtype_is_integral(data->dtype)) {
    return false;
  }
  *value = data->cells[0].i;
  return true;
}

bool onnx_known_float(const struct onnx_builder *b, struct onnx_val v, double *value) {
  const struct onnx_value *data = onnx_get(b, v);
  if (data->cells == NULL || data->count != 1 || !onnx_is_float(data->dtype)) {
    return false;
  }
  *value = data->cells[0].f;
  return true;
}

uint32_t onnx_axis(struct onnx_builder *b, int64_t axis, uint32_t rank) {
  if (!onnx_check(b, axis >= -(int64_t)rank && axis < (int64_t)rank, "axis %lld of a tensor of %u dimensions",
                  (long long)axis, rank)) {
    return 0;
  }
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

/* ---- operator sets ---- */

static bool same_domain(struct onnx_span a, struct onnx_span b) {
  a = onnx_span_is(a, "ai.onnx") ? (struct onnx_span){NULL, 0} : a;
  b = onnx_span_is(b, "ai.onnx") ? (struct onnx_span){NULL, 0} : b;
  return a.length == b.length && memcmp(text_of(a), text_of(b), a.length) == 0;
}

static bool same_text(struct onnx_span a, struct onnx_span b) {
  return a.length == b.length && memcmp(text_of(a), text_of(b), a.length) == 0;
}

static int version_in(const struct onnx_opset *opsets, size_t count, struct onnx_span domain) {
  for (size_t i = 0; i < count; i++) {
    if (same_domain(opsets[i].domain, domain) && opsets[i].version > 0 && opsets[i].version < INT32_MAX) {
      return (int)opsets[i].version;
    }
  }
  return 0;
}

int onnx_version(const struct onnx_builder *b, const struct onnx_node *n) {
  const struct onnx_function *f = b->scope->function;
  int version = f != NULL ? version_in(f->opsets.items, f->opsets.count, n->domain) : 0;
  return version != 0 ? version : version_in(b->model->opsets.items, b->model->opsets.count, n->domain);
}

static const struct onnx_op_row *find_row(const struct onnx_node *n) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (onnx_span_is(n->type, rows[i].name)
        && same_domain(n->domain, (struct onnx_span){rows[i].domain, strlen(rows[i].domain)})) {
      return &rows[i];
    }
  }
  return NULL;
}

static uint64_t function_hash(struct onnx_span domain, struct onnx_span name, struct onnx_span overload) {
  domain = onnx_span_is(domain, "ai.onnx") ? (struct onnx_span){NULL, 0} : domain;
  uint64_t hash = hash_mix(hash_bytes(text_of(domain), domain.length), hash_bytes(text_of(name), name.length));
  return hash_mix(hash, hash_bytes(text_of(overload), overload.length));
}

bool onnx_index_functions(struct onnx_builder *b) {
  bool ok = true;
  for (size_t i = 0; i < b->model->functions.count && ok; i++) {
    const struct onnx_function *f = &b->model->functions.items[i];
    ok = map_set(&b->functions, function_hash(f->domain, f->name, f->overload), (uint32_t)i);
  }
  if (!ok) {
    onnx_fail_memory(b);
  }
  return ok;
}

static const struct onnx_function *find_function(const struct onnx_builder *b, const struct onnx_node *n) {
  uint32_t i;
  if (!map_get(&b->functions, function_hash(n->domain, n->type, n->overload), &i)) {
    return NULL;
  }
  const struct onnx_function *f = &b->model->functions.items[i];
  bool is_it = same_text(f->name, n->type) && same_domain(f->domain, n->domain) && same_text(f->overload, n->overload);
  return is_it ? f : NULL;
}

static void fail_unknown(struct onnx_builder *b, const struct onnx_node *n) {
  const char *names[sizeof rows / sizeof rows[0]];
  size_t count = 0;
  char text[64];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    names[count++] = rows[i].name;
  }
  snprintf(text, sizeof text, "%.*s", (int)(n->type.length < 60 ? n->type.length : 60), text_of(n->type));
  const char *near = nearest_name(text, names, count);
  bool is_standard = same_domain(n->domain, (struct onnx_span){NULL, 0});
  onnx_fail(b, DIAG_E0109_UNKNOWN_OP,
            "no operator '%s' is known in the domain '%.*s', and the model has no function of that name%s%s%s", text,
            is_standard ? 7 : shown(n->domain), is_standard ? "ai.onnx" : text_of(n->domain),
            near != NULL && strcmp(near, text) != 0 ? "; did you mean '" : "",
            near != NULL && strcmp(near, text) != 0 ? near : "", near != NULL && strcmp(near, text) != 0 ? "'?" : "");
}

/* ---- nodes ---- */

static bool enter(struct onnx_builder *b) {
  if (b->is_failed || b->depth >= b->max_depth) {
    onnx_fail(b, DIAG_E0005_LIMIT, "subgraphs and functions nest deeper than %u", b->max_depth);
    return false;
  }
  b->depth++;
  return true;
}

/* A function in place of its call. */
static void build_call(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_function *f) {
  const struct onnx_scope *outer = b->scope;
  struct onnx_scope scope = {.id = ++b->scope_count, .function = f, .call = n, .caller = outer};
  if (!onnx_check(b, n->inputs.count <= f->inputs.count && n->outputs.count <= f->outputs.count,
                  "the function takes %zu inputs and gives %zu outputs", f->inputs.count, f->outputs.count)
      || !enter(b)) {
    return;
  }
  for (size_t i = 0; i < n->inputs.count; i++) {
    struct onnx_val v = onnx_optional(b, n, i);
    b->scope = &scope;
    if (v.id != 0) {
      onnx_bind_name(b, f->inputs.items[i], v);
    }
    b->scope = outer;
  }
  b->scope = &scope;
  onnx_build_nodes(b, f->nodes.items, f->nodes.count);
  b->node = n;
  for (size_t i = 0; i < n->outputs.count && !b->is_failed; i++) {
    b->scope = &scope;
    struct onnx_val v = onnx_lookup(b, f->outputs.items[i]);
    b->scope = outer;
    if (v.id == 0) {
      onnx_fail(b, DIAG_E0106_UNDEFINED, "output %zu of the function is not defined in it", i);
    }
    onnx_output(b, n, i, v);
  }
  b->scope = outer;
  b->depth--;
}

/* loc("name"), of names that need no escapes. */
static struct ir_attr location_of(struct onnx_builder *b, const struct onnx_node *n) {
  char text[SHOWN_MAX + 2];
  size_t length = n->name.length;
  if (!b->options->keep_locations || length == 0 || length > SHOWN_MAX) {
    return (struct ir_attr){0};
  }
  for (size_t i = 0; i < length; i++) {
    char c = n->name.text[i];
    if (c < ' ' || c > '~' || c == '"' || c == '\\') {
      return (struct ir_attr){0};
    }
  }
  text[0] = text[length + 1] = '"';
  memcpy(text + 1, n->name.text, length);
  return ir_attr_text(b->m, IR_ATTR_LOCATION, text, length + 2, (struct ir_type){0});
}

static void build_node(struct onnx_builder *b, const struct onnx_node *n) {
  b->node = n;
  if (++b->node_count > NODES_MAX) {
    onnx_fail(b, DIAG_E0005_LIMIT, "more than %d nodes, functions counted at each call", NODES_MAX);
    return;
  }
  const struct onnx_function *f = find_function(b, n);
  if (f != NULL) {
    build_call(b, n, f);
    return;
  }
  const struct onnx_op_row *row = find_row(n);
  if (row == NULL) {
    fail_unknown(b, n);
    return;
  }
  int version = onnx_version(b, n);
  bool is_standard = row->domain[0] == '\0';
  if (is_standard && (version < row->first_version || version > VERSION_MAX)) {
    onnx_fail(b, DIAG_E0109_UNKNOWN_OP,
              version == 0 ? "the model imports no operator set of this domain (%d: known are %d to %d)"
                           : "of operator set %d; known here are its meanings from %d to %d",
              version, row->first_version, VERSION_MAX);
    return;
  }
  b->row = row;
  b->location = location_of(b, n);
  row->build(b, n);
  b->pairs.count = 0;
}

void onnx_build_nodes(struct onnx_builder *b, const struct onnx_node *nodes, size_t count) {
  for (size_t i = 0; i < count && !b->is_failed; i++) {
    build_node(b, &nodes[i]);
  }
}

bool onnx_subgraph(struct onnx_builder *b, const struct onnx_graph *graph, const struct onnx_val *inputs,
                   size_t input_count, struct onnx_val *outputs) {
  const struct onnx_scope *outer = b->scope;
  const struct onnx_node *node = b->node;
  const struct onnx_op_row *row = b->row;
  struct onnx_scope scope = {.outer = outer,
                             .id = ++b->scope_count,
                             .function = outer->function,
                             .call = outer->call,
                             .caller = outer->caller};
  if (!onnx_check(b, graph->inputs.count == input_count, "a subgraph has %zu inputs instead of %zu",
                  graph->inputs.count, input_count)
      || !enter(b)) {
    return false;
  }
  b->scope = &scope;
  for (size_t i = 0; i < input_count; i++) {
    onnx_bind_name(b, graph->inputs.items[i].name, inputs[i]);
  }
  onnx_build_initializers(b, graph);
  onnx_build_nodes(b, graph->nodes.items, graph->nodes.count);
  b->node = node;
  b->row = row;
  for (size_t i = 0; i < graph->outputs.count && !b->is_failed; i++) {
    outputs[i] = onnx_lookup(b, graph->outputs.items[i].name);
    if (outputs[i].id == 0) {
      onnx_fail(b, DIAG_E0106_UNDEFINED, "output %zu of a subgraph is not defined", i);
    }
  }
  b->scope = outer;
  b->depth--;
  return !b->is_failed;
}
