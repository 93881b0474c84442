/* Kernels of an operator graph in eager PyTorch 2.1. Path: opgraph CSV → here → measure_neusight_time.c.
 *
 * A node names an operator and its shapes as Python literals. What runs for it is a fact about PyTorch, not about a chip:
 * softmax backward multiplies gradient and result before it reduces, dropout backward converts its mask, an addition has no
 * backward kernel, gradients of a value used several times are added up, a permuted operand of a batched product is copied.
 */
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "measure/measure_neusight.h"

enum { RANK_MAX = 4, BACKWARD_MAX = 3 };

struct pass {
  enum kernel_class class_of;
  double arrays; /* read and written; 0 = as many as the node's operands and result fill; -1 = as forward */
  enum hw_function function;
};

struct rule {
  const char *op;
  struct pass forward, backward[BACKWARD_MAX]; /* class KERNEL_CLASS_COUNT or arrays 0 ends `backward` */
};

#define EW(arrays)                                                                                                     \
  { KERNEL_ELEMENTWISE, arrays, HW_FUNCTION_COUNT }
#define EWF(arrays, function)                                                                                          \
  { KERNEL_ELEMENTWISE, arrays, HW_FUNCTION_##function }

static const struct rule rules[] = {
    {"VECadd", EW(0), {EW(0)}},
    {"VECaddu", EW(2), {EW(0)}},
    {"VECmul", EW(0), {EW(3), EW(3)}},
    {"VECmulu", EW(2), {EW(2)}},
    {"VECdiv", EWF(0, DIVIDE), {EWF(-1, DIVIDE)}},
    {"VECdivu", EW(2), {EW(2)}},
    {"VECpowu", EW(2), {EW(2), EW(2), EW(3)}},
    {"VECtanh", EWF(2, TANH), {EW(3)}},
    {"VECrelu", EW(2), {EW(3)}},
    {"VECgelu", EWF(2, ERF), {EWF(3, ERF)}},
    {"VECsoftmax", {KERNEL_SOFTMAX, 2, HW_FUNCTION_EXP}, {EW(3), {KERNEL_SOFTMAX, 3, HW_FUNCTION_COUNT}}},
    {"VECln", {KERNEL_NORMALISATION, 2, HW_FUNCTION_COUNT}, {{KERNEL_NORMALISATION, 3, HW_FUNCTION_COUNT}, EW(2)}},
    /* a mask of one byte per element beside two arrays of four */
    {"dropout", EW(2.25), {EW(1.25), EW(2), EW(3)}},
    {"where", EW(2), {EW(2)}},
    {"contiguous", EW(2), {EW(0)}},
    {"cumsum", EW(2), {EW(0)}},
    /* nodes that the graph has without operators, by name: a maximum with a constant, a copy of a transposed result */
    {"max", EW(2), {EW(1.25), EW(2.25)}},
    {"reshape", EW(2), {EW(0)}},
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

/* Nodes that read a shape, not the values. */
static const char *const shape_readers[] = {"size", "getattr", "dim", "finfo", "ne", "eq", "gt", "sub", "lt"};

struct dims {
  double extent[RANK_MAX], elements, least; /* least: smallest extent */
  unsigned rank;
};

struct columns {
  int name, op, forward, backward, previous, next, inputs, output;
};

struct reader {
  struct neusight_graph *graph;
  struct columns columns;
  size_t row;
  bool is_repeated, failed;
};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Behind the number that begins at `p`: digits, a fraction, an exponent. */
static const char *number_end(const char *p) {
  static const char digits[] = "0123456789";
  p += strspn(p, digits);
  if (*p == '.') {
    p++;
    p += strspn(p, digits);
  }
  if (*p == 'e' || *p == 'E') {
    const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
    size_t length = strspn(exponent, digits);
    p = length > 0 ? exponent + length : p;
  }
  return p;
}

/* The next tuple or list of numbers of a Python literal: "(4, 20, 64)". Numbers in texts do not count. */
static bool next_dims(const char **at, struct dims *dims) {
  *dims = (struct dims){.elements = 1, .least = INFINITY};
  const char *p = *at;
  for (; *p != '\0'; p++) {
    if (*p == '\'') {
      const char *end = strchr(p + 1, '\'');
      p = end ? end : p + strlen(p) - 1;
    } else if (is_digit(*p)) {
      const char *end = number_end(p);
      double value = 0;
      (void)decimal_parse(p, (size_t)(end - p), &value);
      dims->extent[dims->rank < RANK_MAX ? dims->rank++ : RANK_MAX - 1] = value;
      dims->elements *= value;
      dims->least = fmin(dims->least, value);
      p = end - 1;
    } else if (strchr("()[]", *p)) {
      if (dims->rank > 0) {
        *at = p;
        return dims->least >= 1 && isfinite(dims->elements);
      }
      *dims = (struct dims){.elements = 1, .least = INFINITY};
    }
  }
  *at = p;
  return false;
}

/* The name without a final "_<number>" has this length. */
static size_t base_length(const char *name, size_t length) {
  size_t end = length;
  while (end > 0 && is_digit(name[end - 1])) {
    end--;
  }
  return end < length && end > 1 && name[end - 1] == '_' ? end - 1 : length;
}

static bool base_is(const char *name, size_t length, const char *base) {
  return base_length(name, length) == strlen(base) && strncmp(name, base, strlen(base)) == 0;
}

/* The next name in the text of a set: "{'view', 'size_1'}". */
static bool next_name(const char **at, const char **name, size_t *length) {
  const char *start = strchr(*at, '\'');
  const char *end = start ? strchr(start + 1, '\'') : NULL;
  if (!end) {
    return false;
  }
  *name = start + 1;
  *length = (size_t)(end - start - 1);
  *at = end + 1;
  return true;
}

static const char *cell(const struct reader *r, int column) {
  return csv_cell(&r->graph->table, r->row, column);
}

static void add(struct reader *r, struct kernel_shape shape, bool is_backward) {
  struct neusight_kernel kernel = {
      .shape = shape, .node = (uint32_t)r->row, .is_backward = is_backward, .is_repeated = r->is_repeated};
  kernel.shape.format = KERNEL_FORMAT_F32;
  r->failed |= !vec_push(&r->graph->kernels, kernel);
}

/* All but one of the arrays are read; of one that is not whole the rest is written. */
static void add_pass(struct reader *r, const struct pass *pass, double rows, double columns, double arrays,
                     bool is_backward) {
  double writes = arrays > 1 ? 1 : arrays;
  add(r,
      (struct kernel_shape){.class_of = pass->class_of,
                            .pass = {.rows = rows,
                                     .columns = columns,
                                     .reads = arrays - writes,
                                     .writes = writes,
                                     .function = (uint8_t)pass->function}},
      is_backward);
}

static void add_elements(struct reader *r, double elements, double arrays, bool is_backward) {
  static const struct pass plain = EW(0);
  add_pass(r, &plain, 1, elements, arrays, is_backward);
}

static void add_product(struct reader *r, double batch, double m, double n, double k, bool is_backward,
                        uint32_t flags) {
  add(r, (struct kernel_shape){.class_of = KERNEL_GEMM, .flags = flags, .gemm = {batch, m, n, k}}, is_backward);
}

static double elements_of(const char *text) {
  struct dims dims;
  return next_dims(&text, &dims) ? dims.elements : 1;
}

/* Arrays of the result's size that operands and result fill: an operand that is broadcast counts as little as it is. */
static double arrays_by_shape(const struct reader *r, double elements) {
  const char *at = cell(r, r->columns.inputs);
  struct dims dims;
  double sum = elements_of(cell(r, r->columns.output));
  unsigned inputs = 0;
  while (next_dims(&at, &dims)) {
    sum += dims.elements;
    inputs++;
  }
  return inputs == 1 ? 2 : inputs == 0 ? 3 : fmin(3, fmax(2, sum / elements));
}

static const struct rule *rule_of(const char *op) {
  for (unsigned i = 0; i < RULE_COUNT; i++) {
    if (strcmp(rules[i].op, op) == 0) {
      return &rules[i];
    }
  }
  return NULL;
}

static void add_rule(struct reader *r, const struct rule *rule, double rows, double columns) {
  double arrays = rule->forward.arrays > 0 ? rule->forward.arrays : arrays_by_shape(r, rows * columns);
  add_pass(r, &rule->forward, rows, columns, arrays, false);
  for (unsigned i = 0; i < BACKWARD_MAX && rule->backward[i].arrays != 0; i++) {
    double taken = rule->backward[i].arrays > 0 ? rule->backward[i].arrays : round(arrays);
    add_pass(r, &rule->backward[i], rows, columns, taken, true);
  }
}

static void add_linear(struct reader *r, const struct dims *d) {
  double m = d->extent[0], k = d->extent[1], n = d->extent[2];
  add_product(r, 1, m, n, k, false, KERNEL_BIAS);
  add_product(r, 1, m, k, n, true, 0);
  add_product(r, 1, n, k, m, true, 0);
  add_elements(r, m * n, 1, true); /* gradient of the bias: one read */
}

static size_t find_node(const struct neusight_graph *graph, const char *name, size_t length) {
  size_t i = 0;
  while (i < graph->nodes.count
         && (strlen(graph->nodes.data[i]) != length || memcmp(graph->nodes.data[i], name, length) != 0)) {
    i++;
  }
  return i;
}

static void add_batched(struct reader *r, const struct dims *d) {
  double b = d->extent[0], m = d->extent[1], k = d->extent[2], n = d->extent[3];
  const char *node = cell(r, r->columns.name), *at = cell(r, r->columns.previous), *name;
  size_t length;
  add_product(r, b, m, n, k, false, 0);
  add_product(r, b, m, k, n, true, 0);
  add_product(r, b, k, n, m, true, 0);
  while (base_is(node, strlen(node), "matmul") && next_name(&at, &name, &length)) {
    size_t previous = find_node(r->graph, name, length);
    if ((base_is(name, length, "permute") || base_is(name, length, "transpose")) && previous < r->graph->nodes.count) {
      add_elements(r, elements_of(csv_cell(&r->graph->table, previous, r->columns.output)), 2, false);
    }
  }
}

static void add_embedding(struct reader *r) {
  const char *at = cell(r, r->columns.backward);
  double elements = elements_of(cell(r, r->columns.output));
  struct dims table;
  add_elements(r, elements, 2, false);
  if (next_dims(&at, &table)) {
    add_elements(r, table.elements, 1, true); /* a gradient of the whole table is zeroed first */
  }
  add_elements(r, elements, 2, true);
}

/* Of a value that several nodes read the gradients are added, one kernel for each after the first. */
static void add_accumulation(struct reader *r) {
  const char *at = cell(r, r->columns.next), *name;
  double elements = elements_of(cell(r, r->columns.output));
  size_t length, readers = 0;
  while (next_name(&at, &name, &length)) {
    bool reads_shape = false;
    for (size_t i = 0; i < sizeof shape_readers / sizeof shape_readers[0]; i++) {
      reads_shape |= base_is(name, length, shape_readers[i]);
    }
    readers += !reads_shape;
  }
  for (size_t i = 1; i < readers; i++) {
    add_elements(r, elements, 3, true);
  }
}

static bool follows_transpose(const struct reader *r) {
  const char *at = cell(r, r->columns.previous), *name;
  size_t length;
  while (next_name(&at, &name, &length)) {
    if (base_is(name, length, "transpose")) {
      return true;
    }
  }
  return false;
}

static void add_nameless(struct reader *r) {
  const char *name = cell(r, r->columns.name);
  double elements = elements_of(cell(r, r->columns.output));
  if (base_is(name, strlen(name), "max") && elements > 1) {
    add_rule(r, rule_of("max"), 1, elements);
  } else if (base_is(name, strlen(name), "reshape") && follows_transpose(r)) {
    add_rule(r, rule_of("reshape"), 1, elements);
  }
}

/* "[['ALLREDUCE', (5242880,)]]" in the column of its pass. */
static void add_exchanges(struct reader *r) {
  const char *const cells[] = {cell(r, r->columns.forward), cell(r, r->columns.backward)};
  for (unsigned pass = 0; pass < 2; pass++) {
    const char *at = cells[pass];
    struct dims d;
    if (next_dims(&at, &d)) {
      struct neusight_exchange exchange = {
          .elements = d.elements,
          .kind = strstr(cells[pass], "SENDRECV") ? NEUSIGHT_SEND : NEUSIGHT_ALL_REDUCE,
          .is_async = strstr(cells[pass], "_ASYNC") != NULL,
          .is_backward = pass == 1,
          .is_repeated = r->is_repeated,
      };
      r->failed |= !vec_push(&r->graph->exchanges, exchange);
    }
  }
}

static void add_node(struct reader *r) {
  const char *op = cell(r, r->columns.op), *at = cell(r, r->columns.forward);
  const struct rule *rule = rule_of(op);
  struct dims d;
  bool has_shape = next_dims(&at, &d);
  if (strcmp(op, "misc") == 0) {
    add_nameless(r);
    return;
  }
  if (strcmp(op, "allreduce") == 0 || strcmp(op, "sendrecv") == 0) {
    add_exchanges(r);
    return;
  }
  if (strcmp(op, "Linear") == 0 && has_shape && d.rank == 3) {
    add_linear(r, &d);
  } else if (strcmp(op, "BMM") == 0 && has_shape && d.rank == 4) {
    add_batched(r, &d);
  } else if (strcmp(op, "EMBEDDING") == 0) {
    add_embedding(r);
  } else if (rule && strncmp(op, "VEC", 3) == 0 && has_shape && d.rank == 2) {
    add_rule(r, rule, d.extent[0], d.extent[1]);
  } else if (rule && strncmp(op, "VEC", 3) != 0) {
    add_rule(r, rule, 1, elements_of(cell(r, r->columns.output)));
  } else {
    return;
  }
  add_accumulation(r);
}

static bool is_layer_name(const char *name) {
  return strstr(name, "_h_0_") || strstr(name, "_layer_0_") || strstr(name, "_layers_0_");
}

/* The first layer stands for all: from its first named node to its last, and the residual addition behind it. */
static void find_layer(const struct reader *r, size_t *first, size_t *last) {
  const struct csv_table *table = &r->graph->table;
  size_t rows = csv_rows(table);
  *first = rows;
  *last = 0;
  for (size_t i = 0; i < rows; i++) {
    if (is_layer_name(csv_cell(table, i, r->columns.name))) {
      *first = *first == rows ? i : *first;
      *last = i;
    }
  }
  size_t next = *last + 1;
  while (next < rows
         && (strcmp(csv_cell(table, next, r->columns.op), "misc") == 0
             || strcmp(csv_cell(table, next, r->columns.op), "getitem") == 0)) {
    next++;
  }
  if (next < rows && strcmp(csv_cell(table, next, r->columns.op), "VECadd") == 0) {
    *last = next;
  }
}

enum status neusight_graph_read(struct neusight_graph *graph, const char *path, struct diag_list *diags) {
  *graph = (struct neusight_graph){0};
  enum status status = csv_read(&graph->table, path, diags);
  if (status != STATUS_OK) {
    csv_release(&graph->table);
    return status;
  }
  const struct csv_table *t = &graph->table;
  struct reader r = {.graph = graph,
                     .columns = {csv_column(t, "Name"), csv_column(t, "OpName"), csv_column(t, "FwOps"),
                                 csv_column(t, "BwOps"), csv_column(t, "Prev"), csv_column(t, "Next"),
                                 csv_column(t, "InputShapes"), csv_column(t, "OutputShape")}};
  for (size_t i = 0; i < csv_rows(t); i++) {
    r.failed |= !vec_push(&graph->nodes, csv_cell(t, i, r.columns.name));
  }
  size_t first, last;
  find_layer(&r, &first, &last);
  for (r.row = 0; r.row < csv_rows(t) && !r.failed; r.row++) {
    r.is_repeated = r.row >= first && r.row <= last;
    add_node(&r);
  }
  if (r.failed) {
    neusight_graph_release(graph);
    return STATUS_MEMORY;
  }
  return STATUS_OK;
}

void neusight_graph_release(struct neusight_graph *graph) {
  vec_release(&graph->nodes);
  vec_release(&graph->kernels);
  vec_release(&graph->exchanges);
  csv_release(&graph->table);
}
