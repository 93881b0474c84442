/* The tables of kernel classes, formats and models, and what a plain roofline needs to know of a shape. */
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

static const char *const class_names[KERNEL_CLASS_COUNT] = {
    [KERNEL_GEMM] = "gemm",
    [KERNEL_ATTENTION_PREFILL] = "attention_prefill",
    [KERNEL_ATTENTION_DECODE] = "attention_decode",
    [KERNEL_GROUPED_GEMM] = "grouped_gemm",
    [KERNEL_ELEMENTWISE] = "elementwise",
    [KERNEL_SOFTMAX] = "softmax",
    [KERNEL_NORMALISATION] = "normalisation",
};

static const struct kernel_format_info formats[KERNEL_FORMAT_COUNT] = {
#define KERNEL_FORMAT(id, name, dtype, a_bytes, b_bytes, c_bytes, summary)                                             \
  [KERNEL_FORMAT_##id] = {name, dtype, a_bytes, b_bytes, c_bytes, summary},
#include "kernel/kernel_formats.def"
#undef KERNEL_FORMAT
};

const struct kernel_model *const kernel_models[] = {
    &kernel_gemm_lanes,   &kernel_gemm_tiled, &kernel_gemm_systolic, &kernel_attention,
    &kernel_grouped_gemm, &kernel_pass_lanes, &kernel_pass,          NULL,
};

const char *kernel_class_name(enum kernel_class class_of) {
  return class_names[class_of];
}

enum kernel_class kernel_class_find(const char *name) {
  unsigned i = 0;
  while (i < KERNEL_CLASS_COUNT && strcmp(class_names[i], name) != 0) {
    i++;
  }
  return (enum kernel_class)i;
}

const struct kernel_format_info *kernel_format_info(enum kernel_format format) {
  return &formats[format];
}

enum kernel_format kernel_format_find(const char *name) {
  unsigned i = 0;
  while (i < KERNEL_FORMAT_COUNT && strcmp(formats[i].name, name) != 0) {
    i++;
  }
  return (enum kernel_format)i;
}

const struct kernel_model *kernel_model_for(enum kernel_class class_of, enum kernel_format format,
                                            const struct hw_chip *chip) {
  for (const struct kernel_model *const *model = kernel_models; *model != NULL; model++) {
    if ((*model)->applies(class_of, format, chip)) {
      return *model;
    }
  }
  return NULL;
}

int kernel_constant_find(const struct kernel_model *model, const char *name) {
  for (unsigned i = 0; i < model->constant_count; i++) {
    if (strcmp(model->constants[i].name, name) == 0) {
      return (int)i;
    }
  }
  return -1;
}

/* (query, key) pairs that one head computes: causal queries see the context before them, a window bounds how far back. */
static double attended_pairs(const struct kernel_attention *a) {
  double queries = a->queries, past = fmax(0, a->context - queries);
  double window = a->window > 0 ? a->window : INFINITY;
  if (!a->is_causal) {
    return queries * fmin(a->context, window);
  }
  /* query i (from 1) sees min(past + i, window) keys */
  double growing = fmin(queries, fmax(0, window - past)); /* queries that see all there is */
  double capped = queries - growing;
  return growing * past + growing * (growing + 1) / 2 + (capped > 0 ? capped * window : 0);
}

static double gemm_flops(const struct kernel_shape *s) {
  return 2 * s->gemm.batch * s->gemm.m * s->gemm.n * s->gemm.k;
}

static double gemm_bytes(const struct kernel_shape *s) {
  const struct kernel_format_info *f = &formats[s->format];
  const struct kernel_gemm *g = &s->gemm;
  return g->batch * (g->m * g->k * f->a_bytes + g->k * g->n * f->b_bytes + g->m * g->n * f->c_bytes);
}

static double attention_flops(const struct kernel_shape *s) {
  const struct kernel_attention *a = &s->attention;
  return 4 * a->batch * a->heads * a->head_dim * attended_pairs(a);
}

static double attention_bytes(const struct kernel_shape *s) {
  const struct kernel_format_info *f = &formats[s->format];
  const struct kernel_attention *a = &s->attention;
  double keys = a->window > 0 ? fmin(a->context, a->window + a->queries - 1) : a->context;
  double queries_and_result = a->queries * a->heads * a->head_dim * (f->a_bytes + f->c_bytes);
  return a->batch * (queries_and_result + 2 * keys * a->kv_heads * a->head_dim * f->b_bytes);
}

/* Rows and experts of one device: experts are divided, and with them the rows. */
static double grouped_rows(const struct kernel_grouped *g) {
  return fmax(1, g->tokens * g->top_k / fmax(1, g->expert_parallel));
}

/* Up and down, and a gate beside up unless the experts are plain. */
static double grouped_matrices(const struct kernel_grouped *g) {
  return g->is_plain ? 2 : 3;
}

static double grouped_flops(const struct kernel_shape *s) {
  const struct kernel_grouped *g = &s->grouped;
  return 2 * grouped_matrices(g) * grouped_rows(g) * g->hidden * g->inter / fmax(1, g->tensor_parallel);
}

static double grouped_bytes(const struct kernel_shape *s) {
  const struct kernel_format_info *f = &formats[s->format];
  const struct kernel_grouped *g = &s->grouped;
  double experts = fmin(fmax(1, g->experts / fmax(1, g->expert_parallel)), grouped_rows(g));
  double weights = experts * grouped_matrices(g) * g->hidden * g->inter / fmax(1, g->tensor_parallel) * f->b_bytes;
  return weights + grouped_rows(g) * g->hidden * (f->a_bytes + f->c_bytes);
}

static double pass_flops(const struct kernel_shape *s) {
  return s->pass.rows * s->pass.columns * s->pass.vector_flops;
}

static double pass_bytes(const struct kernel_shape *s) {
  const struct kernel_format_info *f = &formats[s->format];
  return s->pass.rows * s->pass.columns * (s->pass.reads * f->a_bytes + s->pass.writes * f->c_bytes);
}

static const struct {
  double (*flops)(const struct kernel_shape *shape);
  double (*bytes)(const struct kernel_shape *shape);
} demands[KERNEL_CLASS_COUNT] = {
    [KERNEL_GEMM] = {gemm_flops, gemm_bytes},
    [KERNEL_ATTENTION_PREFILL] = {attention_flops, attention_bytes},
    [KERNEL_ATTENTION_DECODE] = {attention_flops, attention_bytes},
    [KERNEL_GROUPED_GEMM] = {grouped_flops, grouped_bytes},
    [KERNEL_ELEMENTWISE] = {pass_flops, pass_bytes},
    [KERNEL_SOFTMAX] = {pass_flops, pass_bytes},
    [KERNEL_NORMALISATION] = {pass_flops, pass_bytes},
};

double kernel_flops(const struct kernel_shape *shape) {
  return demands[shape->class_of].flops(shape);
}

double kernel_bytes(const struct kernel_shape *shape) {
  return demands[shape->class_of].bytes(shape) + shape->extra_bytes;
}
