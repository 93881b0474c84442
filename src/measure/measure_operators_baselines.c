/* What a kernel model has to beat: interpolation between measurements, and predictors that were published with a time for
 * every row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "io/csv.h"
#include "measure/measure_operators.h"

/* ---- neighbours ---- */

enum { KEY_MAX = 9 };

struct neighbour_entry {
  double key[KEY_MAX]; /* what has to be equal */
  double along; /* the extent that is interpolated in */
  double log_latency;
  size_t row;
};

static void key_gemm(const struct kernel_shape *s, struct neighbour_entry *e) {
  e->along = s->gemm.m;
  e->key[0] = s->gemm.batch;
  e->key[1] = s->gemm.n;
  e->key[2] = s->gemm.k;
}

static void key_attention(const struct kernel_shape *s, struct neighbour_entry *e) {
  const struct kernel_attention *a = &s->attention;
  bool is_prefill = s->class_of == KERNEL_ATTENTION_PREFILL;
  e->along = is_prefill ? a->queries : a->context;
  e->key[0] = is_prefill ? a->context - a->queries : a->queries;
  e->key[1] = a->batch;
  e->key[2] = a->heads;
  e->key[3] = a->kv_heads;
  e->key[4] = a->head_dim;
  e->key[5] = a->window;
  e->key[6] = a->is_causal ? 1 : 0;
}

static void key_grouped(const struct kernel_shape *s, struct neighbour_entry *e) {
  const struct kernel_grouped *g = &s->grouped;
  const double key[] = {g->hidden,          g->inter,           g->top_k, g->experts,
                        g->tensor_parallel, g->expert_parallel, g->skew,  g->is_plain ? 1 : 0};
  e->along = g->tokens;
  memcpy(e->key, key, sizeof key);
}

static void key_pass(const struct kernel_shape *s, struct neighbour_entry *e) {
  const struct kernel_pass *p = &s->pass;
  bool is_flat = s->class_of == KERNEL_ELEMENTWISE;
  e->along = is_flat ? p->rows * p->columns : p->rows;
  e->key[0] = is_flat ? 0 : p->columns;
  e->key[1] = p->reads;
  e->key[2] = p->writes;
  e->key[3] = p->vector_flops;
  e->key[4] = p->function;
}

static void (*const keys[KERNEL_CLASS_COUNT])(const struct kernel_shape *s, struct neighbour_entry *e) = {
    [KERNEL_GEMM] = key_gemm,
    [KERNEL_ATTENTION_PREFILL] = key_attention,
    [KERNEL_ATTENTION_DECODE] = key_attention,
    [KERNEL_GROUPED_GEMM] = key_grouped,
    [KERNEL_ELEMENTWISE] = key_pass,
    [KERNEL_SOFTMAX] = key_pass,
    [KERNEL_NORMALISATION] = key_pass,
};

static int compare_keys(const struct neighbour_entry *a, const struct neighbour_entry *b) {
  for (int i = 0; i < KEY_MAX; i++) {
    if (a->key[i] != b->key[i]) {
      return a->key[i] < b->key[i] ? -1 : 1;
    }
  }
  return 0;
}

static int compare_entries(const void *x, const void *y) {
  const struct neighbour_entry *a = x, *b = y;
  int by_key = compare_keys(a, b);
  if (by_key != 0 || a->along == b->along) {
    return by_key != 0 ? by_key : (a->row > b->row) - (a->row < b->row);
  }
  return a->along < b->along ? -1 : 1;
}

/* Entries of one value of the extent: [first, end), with the mean of their logarithms. */
struct step {
  size_t first, end;
  double along, log_latency;
  bool is_there;
};

static struct step step_at(const struct neighbour_entry *entries, size_t first, size_t count) {
  struct step s = {.first = first, .end = first, .is_there = first < count};
  if (s.is_there) {
    s.along = entries[first].along;
  }
  while (s.end < count && entries[s.end].along == s.along && compare_keys(&entries[first], &entries[s.end]) == 0) {
    s.log_latency += entries[s.end++].log_latency;
  }
  s.log_latency /= s.is_there ? (double)(s.end - s.first) : 1;
  return s;
}

static bool same_line(const struct neighbour_entry *entries, const struct step *a, const struct step *b) {
  return a->is_there && b->is_there && compare_keys(&entries[a->first], &entries[b->first]) == 0;
}

static void interpolate(const struct neighbour_entry *entries, size_t count, double *time_s) {
  struct step below = {0}, at = step_at(entries, 0, count);
  while (at.is_there) {
    struct step above = step_at(entries, at.end, count);
    if (same_line(entries, &below, &at) && same_line(entries, &at, &above)) {
      double part = log(at.along / below.along) / log(above.along / below.along);
      double between = exp(below.log_latency + part * (above.log_latency - below.log_latency));
      for (size_t i = at.first; i < at.end; i++) {
        time_s[entries[i].row] = between;
      }
    }
    below = at;
    at = above;
  }
}

enum status operator_neighbours(const struct measured_kernel *rows, size_t count, double *time_s) {
  struct neighbour_entry *entries = calloc(count ? count : 1, sizeof *entries);
  if (!entries) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    keys[rows[i].shape.class_of](&rows[i].shape, &entries[i]);
    entries[i].key[KEY_MAX - 1] = rows[i].source * 256.0 + rows[i].shape.flags;
    entries[i].log_latency = log(rows[i].latency_s);
    entries[i].row = i;
    time_s[i] = (double)NAN;
  }
  qsort(entries, count, sizeof *entries, compare_entries);
  interpolate(entries, count, time_s);
  free(entries);
  return STATUS_OK;
}

/* ---- published peers ---- */

const struct operator_peer operator_peers[] = {
    {"COCOSSim", "google_tpu_v6e", "cocossim_tpuv6e", KERNEL_GEMM, 0, 0, "measured/cocossim_tpuv6e/gemm_bf16.csv",
     "cocossim_sim_us", 1e-6, 0.116, 78,
     "its author's fork, default settings (polarbearsrock/cocossim, tier1 scorecard)"},
    {"SCALE-Sim + line", "google_tpu_v4", "tpu_v4_scalesim", KERNEL_GEMM, 1, 128,
     "measured/tpu_v4_scalesim/data_matmul2__kernel_report_updated.csv", "total_cycles", 0, 0.027, 343,
     "cycles of arXiv 2603.22535; line fitted on the rows it is scored on"},
    {"SCALE-Sim + line", "google_tpu_v4", "tpu_v4_scalesim", KERNEL_GEMM, 128, 1024,
     "measured/tpu_v4_scalesim/data_matmul6__kernel_report_updated6_mnk.csv", "total_cycles", 0, 0.174, 512,
     "cycles of arXiv 2603.22535; line fitted on the rows it is scored on"},
    {0},
};

struct peer_value {
  double m, n, k, value;
};
typedef VEC(struct peer_value) peer_values;

/* A heading that may be padded with blanks. */
static int padded_column(const struct csv_table *table, const char *heading) {
  size_t length = strlen(heading);
  for (size_t i = 0; i < table->columns; i++) {
    const char *cell = table->cells.data[i];
    cell += strspn(cell, " ");
    if (strncmp(cell, heading, length) == 0 && cell[length + strspn(cell + length, " ")] == '\0') {
      return (int)i;
    }
  }
  return -1;
}

static bool padded_number(const char *cell, double *value) {
  cell += strspn(cell, " ");
  return decimal_parse(cell, strcspn(cell, " "), value) && isfinite(*value);
}

/* From columns M, N, K, or from a name like "matmul_128x256x512". */
static bool peer_extents(const struct csv_table *table, size_t row, struct peer_value *v) {
  int m = padded_column(table, "M"), n = padded_column(table, "N"), k = padded_column(table, "K");
  if (m >= 0 && n >= 0 && k >= 0) {
    return padded_number(csv_cell(table, row, m), &v->m) && padded_number(csv_cell(table, row, n), &v->n)
           && padded_number(csv_cell(table, row, k), &v->k);
  }
  unsigned extents[3];
  if (sscanf(csv_cell(table, row, padded_column(table, "kernel_name")), " matmul_%5ux%5ux%5u", &extents[0], &extents[1],
             &extents[2])
      != 3) {
    return false;
  }
  v->m = extents[0];
  v->n = extents[1];
  v->k = extents[2];
  return true;
}

static enum status peer_read(const struct operator_peer *peer, const char *data_directory, struct diag_list *diags,
                             peer_values *values) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/%s", data_directory, peer->file);
  FILE *probe = path.failed ? NULL : fopen(strbuf_text(&path), "rb");
  struct csv_table table;
  enum status status = STATUS_OK;
  if (probe) {
    fclose(probe);
    status = csv_read(&table, strbuf_text(&path), diags);
    int column = status == STATUS_OK ? padded_column(&table, peer->column) : -1;
    for (size_t i = 0; status == STATUS_OK && i < csv_rows(&table); i++) {
      struct peer_value v;
      if (padded_number(csv_cell(&table, i, column), &v.value) && peer_extents(&table, i, &v) && !vec_push(values, v)) {
        status = STATUS_MEMORY;
      }
    }
    csv_release(&table);
  }
  strbuf_release(&path);
  return status;
}

/* Least squares of the measured times over the values; with fewer than three rows nothing is said. */
static void fit_line(struct operator_row *const *rows, const double *values, size_t count) {
  double x = 0, y = 0, xx = 0, xy = 0, n = (double)count;
  for (size_t i = 0; i < count; i++) {
    x += values[i] / n;
    y += rows[i]->row->latency_s / n;
  }
  for (size_t i = 0; i < count; i++) {
    xx += (values[i] - x) * (values[i] - x);
    xy += (values[i] - x) * (rows[i]->row->latency_s - y);
  }
  for (size_t i = 0; i < count && count >= 3 && xx > 0; i++) {
    rows[i]->time_s[OPERATOR_PEER] = y + xy / xx * (values[i] - x);
  }
}

static const struct peer_value *peer_find(const peer_values *values, const struct kernel_gemm *g) {
  for (size_t i = 0; i < values->count; i++) {
    const struct peer_value *v = &values->data[i];
    if (v->m == g->m && v->n == g->n && v->k == g->k && g->batch == 1) {
      return v;
    }
  }
  return NULL;
}

static enum status peer_apply(struct operator_set *set, const struct operator_group *group,
                              const struct operator_peer *peer, const peer_values *values) {
  struct operator_row **matched = malloc((group->scored_count + 1) * sizeof *matched);
  double *value_of = malloc((group->scored_count + 1) * sizeof *value_of);
  struct operator_filter filter = OPERATOR_ALL_ROWS;
  size_t count = 0;
  filter.extent_min = peer->extent_min;
  filter.extent_max = peer->extent_max;
  for (size_t i = 0; matched && value_of && i < group->scored_count; i++) {
    struct operator_row *row = &set->rows.data[group->scored_first + i];
    bool is_theirs = strcmp(set->kernels.sources.data[row->row->source], peer->measured) == 0
                     && operator_filter_takes(&filter, row->row);
    const struct peer_value *v = is_theirs ? peer_find(values, &row->row->shape.gemm) : NULL;
    if (v) {
      value_of[count] = v->value;
      matched[count++] = row;
    }
  }
  enum status status = matched && value_of ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK && peer->scale == 0) {
    fit_line(matched, value_of, count);
  } else {
    for (size_t i = 0; i < count; i++) {
      matched[i]->time_s[OPERATOR_PEER] = value_of[i] * peer->scale;
    }
  }
  free(matched);
  free(value_of);
  return status;
}

enum status operator_peer_times(struct operator_set *set, const struct operator_group *group,
                                const char *data_directory, struct diag_list *diags) {
  enum status status = STATUS_OK;
  for (const struct operator_peer *peer = operator_peers; peer->name && data_directory && status == STATUS_OK; peer++) {
    if (peer->class_of != group->class_of || strcmp(peer->chip, group->chip->id) != 0) {
      continue;
    }
    peer_values values = {0};
    status = peer_read(peer, data_directory, diags, &values);
    if (status == STATUS_OK) {
      status = peer_apply(set, group, peer, &values);
    }
    vec_release(&values);
  }
  return status;
}
