/* Tables of training runs: rows that describe one configuration become one, with one value per metric. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "measure/measure_training.h"

/* A measurement before merging. */
struct sample {
  size_t row;
  enum training_metric metric;
  uint32_t variants;
  double value;
};
typedef VEC(struct sample) sample_list;

static const char *const cell_columns[TRAINING_CELL_COUNT] = {
    [TRAINING_LAYERS] = "layers",
    [TRAINING_HIDDEN] = "hidden",
    [TRAINING_FFN] = "ffn",
    [TRAINING_HEADS] = "heads",
    [TRAINING_KV_HEADS] = "kv_heads",
    [TRAINING_SEQUENCE] = "seq",
    [TRAINING_VOCABULARY] = "vocab",
    [TRAINING_GLOBAL_BATCH] = "global_batch",
    [TRAINING_MICRO_BATCH] = "micro_batch",
    [TRAINING_TP] = "TP",
    [TRAINING_PP] = "PP",
    [TRAINING_DP] = "DP",
    [TRAINING_CP] = "CP",
    [TRAINING_EP] = "EP",
    [TRAINING_VP] = "VP",
    [TRAINING_FSDP] = "FSDP",
    [TRAINING_DEVICES] = "n_devices",
};
static const char *const vtrain_columns[TRAINING_CELL_COUNT] = {
    [TRAINING_LAYERS] = "# layers",           [TRAINING_HIDDEN] = "hidden size",
    [TRAINING_HEADS] = "attention heads",     [TRAINING_SEQUENCE] = "sequence length",
    [TRAINING_GLOBAL_BATCH] = "global batch", [TRAINING_MICRO_BATCH] = "micro batch",
    [TRAINING_TP] = "tensor parallelism",     [TRAINING_PP] = "pipeline parallelism",
    [TRAINING_DP] = "data parallelism",       [TRAINING_DEVICES] = "# GPUs",
};
/* Columns that say which configuration a row is about. */
static const char *const key_columns[] = {"model",       "params_B",  "layers",    "hidden",       "ffn",  "heads",
                                          "kv_heads",    "seq",       "vocab",     "TP",           "PP",   "DP",
                                          "CP",          "EP",        "VP",        "global_batch", "FSDP", "hardware",
                                          "micro_batch", "recompute", "precision", "n_devices"};
enum { KEY_COUNT = sizeof key_columns / sizeof key_columns[0] };

/* Metrics of e2e_training.csv. Step times derived from tokens/s, MFU and HFU are no values. */
static const struct {
  const char *name;
  enum training_metric metric;
  double unit;
  bool is_per_device;
} metrics[] = {
    {"step_time", TRAINING_STEP_TIME, 1, false},           {"iteration_time", TRAINING_STEP_TIME, 1, false},
    {"sequences_per_s", TRAINING_SEQUENCES, 1, false},     {"tokens_per_s", TRAINING_TOKENS, 1, false},
    {"tokens_per_s_per_GPU", TRAINING_TOKENS, 1, true},    {"tokens_per_s_per_chip", TRAINING_TOKENS, 1, true},
    {"tokens_per_s_per_device", TRAINING_TOKENS, 1, true}, {"model_TFLOPs_per_GPU", TRAINING_FLOPS, 1e12, true},
    {"TFLOPs_per_GPU", TRAINING_FLOPS, 1e12, true},        {"TFLOPs_per_chip", TRAINING_FLOPS, 1e12, true},
    {"TFLOPs_per_device", TRAINING_FLOPS, 1e12, true},
};

double training_cell_number(const char *text) {
  size_t length = strspn(text, "0123456789.");
  double value;
  return length > 0 && decimal_parse(text, length, &value) && isfinite(value) ? value : 0;
}

double training_rate_number(const char *text, bool *is_pair) {
  enum { MOST = 100000 }; /* tokens/s or TFLOP/s of one device: above all chips of the tables */
  size_t digits = strspn(text, "0123456789");
  double value = training_cell_number(text), first;
  if (value >= MOST && text[digits] == '\0' && digits % 2 == 0 && decimal_parse(text, digits / 2, &first)) {
    *is_pair = true;
    return first;
  }
  return value;
}

/* `word` is in lower case. */
static bool has_word(const char *text, const char *word) {
  for (size_t i = 0, k; text[i] != '\0'; i++) {
    for (k = 0; word[k] != '\0' && tolower((unsigned char)text[i + k]) == word[k]; k++) {
    }
    if (word[k] == '\0') {
      return true;
    }
  }
  return false;
}

static uint32_t variants_of(const struct training_source *source, const char *note) {
  uint32_t bits = 0;
  for (uint32_t v = 0; source && v < TRAINING_VARIANT_MAX && source->variants[v].word; v++) {
    bits |= has_word(note, source->variants[v].word) ? UINT32_C(1) << v : 0;
  }
  return bits;
}

void training_rows_init(struct training_rows *rows) {
  *rows = (struct training_rows){0};
  arena_init(&rows->arena, 0);
}

void training_rows_release(struct training_rows *rows) {
  for (size_t t = 0; t < sizeof rows->tables / sizeof rows->tables[0]; t++) {
    csv_release(&rows->tables[t]);
  }
  vec_release(&rows->list);
  arena_release(&rows->arena);
}

static struct training_row blank_row(enum training_table table) {
  struct training_row row = {.table = table,
                             .model = "",
                             .system = "",
                             .precision = "",
                             .recompute = "",
                             .sharding = "",
                             .source_text = "",
                             .metric = TRAINING_METRIC_COUNT,
                             .measured_s = (double)NAN,
                             .model_flops = (double)NAN,
                             .implied_mfu = (double)NAN,
                             .predicted_s = (double)NAN,
                             .compute_s = (double)NAN,
                             .exposed_s = (double)NAN,
                             .bubble_s = (double)NAN,
                             .other_s = (double)NAN};
  for (int m = 0; m < TRAINING_METRIC_COUNT; m++) {
    row.values[m] = (double)NAN;
  }
  return row;
}

static void read_cells(const struct csv_table *table, size_t i, const char *const *columns, struct training_row *row) {
  for (int c = 0; c < TRAINING_CELL_COUNT; c++) {
    row->cells[c] = columns[c] ? training_cell_number(csv_cell(table, i, csv_column(table, columns[c]))) : 0;
  }
}

/* Index of the row of the same configuration, which is at or after `first`; the end when there is none. */
static size_t find_row(const struct training_rows *rows, const struct csv_table *table, const int *keys, size_t first,
                       size_t i) {
  size_t found = first;
  for (; found < rows->list.count; found++) {
    size_t other = rows->list.data[found].line - 2, k = 0;
    while (k < KEY_COUNT && strcmp(csv_cell(table, other, keys[k]), csv_cell(table, i, keys[k])) == 0) {
      k++;
    }
    if (k == KEY_COUNT) {
      break;
    }
  }
  return found;
}

static enum status add_row(struct training_rows *rows, const struct csv_table *table, size_t i) {
  const char *source = csv_cell(table, i, csv_column(table, "source"));
  struct training_row row = blank_row(TRAINING_PUBLISHED);
  row.model = csv_cell(table, i, csv_column(table, "model"));
  row.system = csv_cell(table, i, csv_column(table, "hardware"));
  row.precision = csv_cell(table, i, csv_column(table, "precision"));
  row.recompute = csv_cell(table, i, csv_column(table, "recompute"));
  row.sharding = csv_cell(table, i, csv_column(table, "FSDP"));
  row.source_text = source;
  row.source = training_source_find(source);
  row.table = row.source == training_sources ? TRAINING_MEGATRON : TRAINING_PUBLISHED;
  row.line = (uint32_t)i + 2;
  read_cells(table, i, cell_columns, &row);
  return vec_push(&rows->list, row) ? STATUS_OK : STATUS_MEMORY;
}

static enum status add_sample(const struct csv_table *table, size_t i, size_t at, struct training_row *row,
                              sample_list *samples) {
  const char *name = csv_cell(table, i, csv_column(table, "metric"));
  const char *value = csv_cell(table, i, csv_column(table, "value"));
  for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
    if (strcmp(metrics[m].name, name) != 0) {
      continue;
    }
    double number = metrics[m].is_per_device ? training_rate_number(value, &row->is_pair) * row->cells[TRAINING_DEVICES]
                                             : training_cell_number(value);
    struct sample sample = {at, metrics[m].metric,
                            variants_of(row->source, csv_cell(table, i, csv_column(table, "note"))),
                            number * metrics[m].unit};
    return !(number > 0) || vec_push(samples, sample) ? STATUS_OK : STATUS_MEMORY;
  }
  return STATUS_OK;
}

static int compare_samples(const void *left, const void *right) {
  const struct sample *a = left, *b = right;
  if (a->row != b->row) {
    return a->row < b->row ? -1 : 1;
  }
  if (a->metric != b->metric) {
    return a->metric < b->metric ? -1 : 1;
  }
  if (a->variants != b->variants) {
    return a->variants > b->variants ? -1 : 1; /* later words weigh more */
  }
  return (a->value > b->value) - (a->value < b->value);
}

/* The median of each row and metric, of the most wanted variant. */
static void merge_samples(struct training_rows *rows, sample_list *samples) {
  if (samples->count > 0) {
    qsort(samples->data, samples->count, sizeof *samples->data, compare_samples);
  }
  for (size_t i = 0; i < samples->count;) {
    const struct sample *first = &samples->data[i];
    size_t same = 0, all = 0;
    while (i + all < samples->count && first[all].row == first->row && first[all].metric == first->metric) {
      same += first[all].variants == first->variants ? 1 : 0;
      all++;
    }
    struct training_row *row = &rows->list.data[first->row];
    row->values[first->metric] = (first[(same - 1) / 2].value + first[same / 2].value) / 2;
    row->variants |= first->variants;
    row->measurements = row->measurements > same ? row->measurements : (uint32_t)same;
    i += all;
  }
}

enum status training_read_tables(struct training_rows *rows, const char *path, struct diag_list *diags) {
  struct csv_table *table = &rows->tables[0];
  sample_list samples = {0};
  size_t first = rows->list.count;
  int keys[KEY_COUNT];
  enum status status = csv_read(table, path, diags);
  for (size_t k = 0; k < KEY_COUNT; k++) {
    keys[k] = csv_column(table, key_columns[k]);
  }
  for (size_t i = 0; i < csv_rows(table) && status == STATUS_OK; i++) {
    size_t at = find_row(rows, table, keys, first, i);
    if (at == rows->list.count) {
      status = add_row(rows, table, i);
    }
    if (status == STATUS_OK) {
      status = add_sample(table, i, at, &rows->list.data[at], &samples);
    }
  }
  rows->records = csv_rows(table);
  merge_samples(rows, &samples);
  vec_release(&samples);
  return status;
}

enum status training_read_vtrain(struct training_rows *rows, const char *path, enum training_table which,
                                 struct diag_list *diags) {
  struct csv_table *table = &rows->tables[which == TRAINING_VTRAIN_SINGLE ? 1 : 2];
  enum status status = csv_read(table, path, diags);
  for (size_t i = 0; i < csv_rows(table) && status == STATUS_OK; i++) {
    struct training_row row = blank_row(which);
    row.model = "vtrain";
    row.system = "A100-SXM-80GB (vTrain)";
    row.precision = "fp16";
    row.source_text = "vtrain";
    row.source = training_source_find(row.source_text);
    row.line = (uint32_t)i + 2;
    row.measurements = 1;
    read_cells(table, i, vtrain_columns, &row);
    double ms = training_cell_number(csv_cell(table, i, csv_column(table, "iteration time (ms)")));
    row.values[TRAINING_STEP_TIME] = ms > 0 ? ms * 1e-3 : (double)NAN;
    status = vec_push(&rows->list, row) ? STATUS_OK : STATUS_MEMORY;
  }
  return status;
}
