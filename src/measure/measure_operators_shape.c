/* Shapes of kernels in words, for tables, charts and JSON. */

#include "measure/measure_operators.h"

struct extent {
  const char *name;
  double value;
  double usual; /* not said when the value is that */
};

static void put_extents(const struct extent *extents, size_t count, struct strbuf *out) {
  bool is_first = true;
  for (size_t i = 0; i < count; i++) {
    if (extents[i].value != extents[i].usual) {
      strbuf_printf(out, "%s%s %.10g", is_first ? "" : ", ", extents[i].name, extents[i].value);
      is_first = false;
    }
  }
}

static void put_gemm(const struct kernel_shape *s, struct strbuf *out) {
  const struct kernel_gemm *g = &s->gemm;
  const struct extent extents[] = {{"batch", g->batch, 1}, {"m", g->m, 0}, {"n", g->n, 0}, {"k", g->k, 0}};
  put_extents(extents, sizeof extents / sizeof extents[0], out);
}

static void put_attention(const struct kernel_shape *s, struct strbuf *out) {
  const struct kernel_attention *a = &s->attention;
  const struct extent extents[] = {{"batch", a->batch, 1},  {"queries", a->queries, 0},   {"context", a->context, 0},
                                   {"heads", a->heads, 0},  {"kv heads", a->kv_heads, 0}, {"head dim", a->head_dim, 0},
                                   {"window", a->window, 0}};
  put_extents(extents, sizeof extents / sizeof extents[0], out);
}

static void put_grouped(const struct kernel_shape *s, struct strbuf *out) {
  const struct kernel_grouped *g = &s->grouped;
  const struct extent extents[] = {
      {"tokens", g->tokens, 0},      {"hidden", g->hidden, 0}, {"inter", g->inter, 0},
      {"top k", g->top_k, 0},        {"of", g->experts, 0},    {"TP", g->tensor_parallel, 1},
      {"EP", g->expert_parallel, 1}, {"skew", g->skew, 0},     {"plain", g->is_plain, 0}};
  put_extents(extents, sizeof extents / sizeof extents[0], out);
}

static void put_pass(const struct kernel_shape *s, struct strbuf *out) {
  const struct kernel_pass *p = &s->pass;
  const struct extent extents[] = {{"rows", p->rows, 1},
                                   {"columns", p->columns, 0},
                                   {"reads", p->reads, 0},
                                   {"writes", p->writes, 0},
                                   {"flops each", p->vector_flops, 0}};
  put_extents(extents, sizeof extents / sizeof extents[0], out);
}

static void (*const writers[KERNEL_CLASS_COUNT])(const struct kernel_shape *s, struct strbuf *out) = {
    [KERNEL_GEMM] = put_gemm,
    [KERNEL_ATTENTION_PREFILL] = put_attention,
    [KERNEL_ATTENTION_DECODE] = put_attention,
    [KERNEL_GROUPED_GEMM] = put_grouped,
    [KERNEL_ELEMENTWISE] = put_pass,
    [KERNEL_SOFTMAX] = put_pass,
    [KERNEL_NORMALISATION] = put_pass,
};

void operator_shape_text(const struct kernel_shape *shape, struct strbuf *out) {
  writers[shape->class_of](shape, out);
}
