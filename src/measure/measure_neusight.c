/* Suite "neusight": single-precision operators and whole programs of eager PyTorch on eleven GPUs, three NVIDIA ones and an
 * AMD one of which no model saw a row, beside four published predictors.
 * Path: tables of measured/neusight → rows with every predictor's time → measure_neusight_text.c. */
#include "measure/measure_neusight.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_places.h"

enum { DEVICE_MAX = 16, GRAPH_MAX = 128 };

const char *const neusight_peer_names[NEUSIGHT_PEER_COUNT] = {
    [NEUSIGHT_OURS] = "ours",    [NEUSIGHT_ROOFLINE] = "roofline",  [NEUSIGHT_HABITAT] = "Habitat",
    [NEUSIGHT_LI] = "Li et al.", [NEUSIGHT_PUBLISHED] = "NeuSight", [NEUSIGHT_TWO_CONSTANTS] = "two constants",
};
/* As `predictor` in e2e_predictions.csv and as start of the columns of node_measured_vs_predicted.csv. */
static const char *const peer_columns[NEUSIGHT_PEER_COUNT] = {
    [NEUSIGHT_ROOFLINE] = "roofline",
    [NEUSIGHT_HABITAT] = "habitat",
    [NEUSIGHT_LI] = "micro",
    [NEUSIGHT_PUBLISHED] = "neusight",
};

static const struct {
  const char *op;
  enum neusight_class class_of;
} ops[] = {
    {"Linear", NEUSIGHT_FC},
    {"linear", NEUSIGHT_FC},
    {"BMM", NEUSIGHT_BMM},
    {"bmm", NEUSIGHT_BMM},
    {"VECln", NEUSIGHT_LN},
    {"ln", NEUSIGHT_LN},
    {"VECsoftmax", NEUSIGHT_SOFTMAX},
    {"softmax", NEUSIGHT_SOFTMAX},
    {"add", NEUSIGHT_EW},
    {"addu", NEUSIGHT_EW},
    {"mul", NEUSIGHT_EW},
    {"mulu", NEUSIGHT_EW},
    {"div", NEUSIGHT_EW},
    {"divu", NEUSIGHT_EW},
    {"pow", NEUSIGHT_EW},
    {"powu", NEUSIGHT_EW},
    {"relu", NEUSIGHT_EW},
    {"gelu", NEUSIGHT_EW},
    {"tanh", NEUSIGHT_EW},
};

/* Operators of one array more, and functions, of the vector tables. */
static const struct {
  const char *op;
  double reads;
  enum hw_function function;
} vectors[] = {
    {"add", 2, HW_FUNCTION_COUNT},   {"mul", 2, HW_FUNCTION_COUNT}, {"div", 2, HW_FUNCTION_DIVIDE},
    {"pow", 2, HW_FUNCTION_POWER},   {"tanh", 1, HW_FUNCTION_TANH}, {"gelu", 1, HW_FUNCTION_ERF},
    {"softmax", 1, HW_FUNCTION_EXP},
};

/* t = overhead + roofline / efficiency, fitted to the training rows of all seen NVIDIA chips together. */
static const struct {
  double efficiency, overhead_s;
} two_constants[NEUSIGHT_CLASS_COUNT] = {
    [NEUSIGHT_FC] = {0.65, 50e-6},       [NEUSIGHT_BMM] = {0.55, 30e-6}, [NEUSIGHT_EW] = {0.95, 30e-6},
    [NEUSIGHT_SOFTMAX] = {0.675, 30e-6}, [NEUSIGHT_LN] = {0.6, 50e-6},
};

static const char *const operator_files[] = {"op_test_nvidia_bmm.csv", "op_test_nvidia_linear.csv",
                                             "op_test_nvidia_vec.csv"};

struct suite {
  const struct hw_database *chips;
  const char *directory;
  struct diag_list *diags;
  struct neusight_timer timers[DEVICE_MAX]; /* as neusight_devices */
  bool has_timer[DEVICE_MAX];
  struct cached_graph {
    const char *program; /* owned by a table of the results */
    struct neusight_graph graph;
    bool is_there;
  } graphs[GRAPH_MAX];
  size_t graph_count;
  struct neusight_results results;
};

const char *neusight_class_name(enum neusight_class class_of) {
  static const char *const names[NEUSIGHT_CLASS_COUNT] = {"FC", "BMM", "EW", "softmax", "LN"};
  return names[class_of];
}

enum neusight_class neusight_class_find(const char *op) {
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (strcmp(ops[i].op, op) == 0) {
      return ops[i].class_of;
    }
  }
  return strncmp(op, "VEC", 3) == 0 ? NEUSIGHT_EW : NEUSIGHT_CLASS_COUNT;
}

static enum status path_of(const struct suite *suite, const char *name, struct strbuf *path) {
  strbuf_clear(path);
  strbuf_printf(path, "%s/measured/neusight/%s", suite->directory, name);
  return path->failed ? STATUS_MEMORY : STATUS_OK;
}

static enum status read_table(const struct suite *suite, const char *name, struct csv_table *table) {
  struct strbuf path = {0};
  enum status status = path_of(suite, name, &path);
  if (status == STATUS_OK) {
    status = csv_read(table, strbuf_text(&path), suite->diags);
  }
  strbuf_release(&path);
  return status;
}

/* The timer of a device; NULL when the device or its chip is unknown. */
static const struct neusight_timer *timer_of(const struct suite *suite, const char *device) {
  const struct neusight_device *found = neusight_device_find(device);
  size_t index = found ? (size_t)(found - neusight_devices) : 0;
  return found && suite->has_timer[index] ? &suite->timers[index] : NULL;
}

static bool is_file(const char *path) {
  FILE *file = fopen(path, "rb");
  return file && fclose(file) == 0;
}

/* The graph of a program, read once; NULL when there is no file (*status OK) or it is not readable. */
static const struct neusight_graph *graph_of(struct suite *suite, const char *program, enum status *status) {
  for (size_t i = 0; i < suite->graph_count; i++) {
    if (strcmp(suite->graphs[i].program, program) == 0) {
      return suite->graphs[i].is_there ? &suite->graphs[i].graph : NULL;
    }
  }
  if (suite->graph_count == GRAPH_MAX) {
    return NULL;
  }
  struct cached_graph *cached = &suite->graphs[suite->graph_count++];
  struct strbuf name = {0}, path = {0};
  cached->program = program;
  strbuf_printf(&name, "opgraph/%s.csv", program);
  *status = path_of(suite, strbuf_text(&name), &path);
  if (*status == STATUS_OK && is_file(strbuf_text(&path))) {
    *status = neusight_graph_read(&cached->graph, strbuf_text(&path), suite->diags);
    cached->is_there = *status == STATUS_OK;
  }
  strbuf_release(&name);
  strbuf_release(&path);
  return cached->is_there ? &cached->graph : NULL;
}

static struct neusight_row new_row(const struct neusight_device *device, double measured_s) {
  struct neusight_row row = {.device = device,
                             .class_of = NEUSIGHT_CLASS_COUNT,
                             .measured_s = measured_s,
                             .clock = NAN,
                             .forward_error = NAN,
                             .backward_error = NAN};
  for (int p = 0; p < NEUSIGHT_PEER_COUNT; p++) {
    row.time_s[p] = NAN;
  }
  return row;
}

/* ---- programs ---- */

static void add_published(const struct suite *suite, const char *device, struct neusight_row *row) {
  const struct csv_table *t = &suite->results.published;
  int device_column = csv_column(t, "device"), predictor = csv_column(t, "predictor"), program = csv_column(t, "desc"),
      total = csv_column(t, "e2e_ms");
  for (size_t i = 0; i < csv_rows(t); i++) {
    for (int p = NEUSIGHT_ROOFLINE; p <= NEUSIGHT_PUBLISHED; p++) {
      double ms;
      if (strcmp(csv_cell(t, i, program), row->program) == 0 && strcmp(csv_cell(t, i, device_column), device) == 0
          && strcmp(csv_cell(t, i, predictor), peer_columns[p]) == 0 && csv_number(t, i, total, &ms) && ms > 0) {
        row->time_s[p] = ms * 1e-3;
      }
    }
  }
}

static double error_of(double predicted_s, double measured_ms) {
  return measured_ms > 0 && predicted_s > 0 ? predicted_s / (measured_ms * 1e-3) - 1 : (double)NAN;
}

static enum status add_program(struct suite *suite, size_t i) {
  const struct csv_table *t = &suite->results.labels;
  const char *device = csv_cell(t, i, csv_column(t, "device")), *option = csv_cell(t, i, csv_column(t, "option"));
  const char *program = csv_cell(t, i, csv_column(t, "desc"));
  double total_ms, forward_ms = 0, backward_ms = 0, layers = 0;
  if (option[0] != '\0') {
    *(strcmp(option, "fusion") == 0 ? &suite->results.fused : &suite->results.distributed) += 1;
    return STATUS_OK;
  }
  const struct neusight_timer *timer = timer_of(suite, device);
  enum status status = STATUS_OK;
  const struct neusight_graph *graph = graph_of(suite, program, &status);
  if (!graph || !timer || !csv_number(t, i, csv_column(t, "e2e_ms"), &total_ms) || !(total_ms > 0)
      || !csv_number(t, i, csv_column(t, "num_layer"), &layers) || !(layers >= 1)) {
    suite->results.without_graph++;
    return status;
  }
  csv_number(t, i, csv_column(t, "fw_ms"), &forward_ms);
  csv_number(t, i, csv_column(t, "bw_ms"), &backward_ms);
  bool is_training = strcmp(csv_cell(t, i, csv_column(t, "mode")), "train") == 0;
  struct neusight_program_time time = neusight_program(timer, graph, layers, is_training);
  struct neusight_row row = new_row(timer->device, total_ms * 1e-3);
  row.program = program;
  row.time_s[NEUSIGHT_OURS] = time.forward_s + time.backward_s;
  row.clock = time.clock;
  row.forward_error = error_of(time.forward_s, forward_ms);
  row.backward_error = error_of(time.backward_s, backward_ms);
  add_published(suite, device, &row);
  return vec_push(&suite->results.programs, row) ? STATUS_OK : STATUS_MEMORY;
}

static enum status add_programs(struct suite *suite) {
  STATUS_TRY(read_table(suite, "e2e_labels.csv", &suite->results.labels));
  STATUS_TRY(read_table(suite, "e2e_predictions.csv", &suite->results.published));
  for (size_t i = 0; i < csv_rows(&suite->results.labels); i++) {
    STATUS_TRY(add_program(suite, i));
  }
  return STATUS_OK;
}

/* ---- nodes of programs ---- */

static enum status add_node(struct suite *suite, size_t i) {
  static const double shortest_ms = 0.05; /* shorter ones are the launch */
  const struct csv_table *t = &suite->results.nodes;
  const struct neusight_timer *timer = timer_of(suite, csv_cell(t, i, csv_column(t, "device")));
  enum neusight_class class_of = neusight_class_find(csv_cell(t, i, csv_column(t, "OpName")));
  double ms;
  if (!timer || class_of == NEUSIGHT_CLASS_COUNT || !csv_number(t, i, csv_column(t, "meas_fw_ms"), &ms)
      || ms < shortest_ms) {
    return STATUS_OK;
  }
  enum status status = STATUS_OK;
  const struct neusight_graph *graph = graph_of(suite, csv_cell(t, i, csv_column(t, "desc")), &status);
  if (!graph) {
    return status;
  }
  struct neusight_row row = new_row(timer->device, ms * 1e-3);
  row.class_of = class_of;
  row.time_s[NEUSIGHT_OURS] = neusight_node_time(timer, graph, csv_cell(t, i, csv_column(t, "Name")));
  for (int p = NEUSIGHT_ROOFLINE; p <= NEUSIGHT_PUBLISHED; p++) {
    char column[32] = "";
    strcat(strcat(column, peer_columns[p]), "_fw_ms");
    if (csv_number(t, i, csv_column(t, column), &ms) && ms > 0) {
      row.time_s[p] = ms * 1e-3;
    }
  }
  return vec_push(&suite->results.node_rows, row) ? STATUS_OK : STATUS_MEMORY;
}

static enum status add_nodes(struct suite *suite) {
  STATUS_TRY(read_table(suite, "node_measured_vs_predicted.csv", &suite->results.nodes));
  for (size_t i = 0; i < csv_rows(&suite->results.nodes); i++) {
    STATUS_TRY(add_node(suite, i));
  }
  return STATUS_OK;
}

/* ---- operators of the test split ---- */

static bool operator_shape(const struct csv_table *t, size_t i, const char *op, enum neusight_class class_of,
                           struct kernel_shape *shape) {
  static const enum kernel_class classes[NEUSIGHT_CLASS_COUNT] = {KERNEL_GEMM, KERNEL_GEMM, KERNEL_ELEMENTWISE,
                                                                  KERNEL_SOFTMAX, KERNEL_NORMALISATION};
  *shape = (struct kernel_shape){.class_of = classes[class_of], .format = KERNEL_FORMAT_F32};
  double b, m, n, k;
  if (!csv_number(t, i, csv_column(t, "B"), &b) || b < 1) {
    return false;
  }
  if (classes[class_of] != KERNEL_GEMM) {
    shape->pass = (struct kernel_pass){.rows = b, .reads = 1, .writes = 1, .function = HW_FUNCTION_COUNT};
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
      if (strcmp(vectors[v].op, op) == 0) {
        shape->pass.reads = vectors[v].reads;
        shape->pass.function = (uint8_t)vectors[v].function;
      }
    }
    return csv_number(t, i, csv_column(t, "H"), &shape->pass.columns) && shape->pass.columns >= 1;
  }
  if (!csv_number(t, i, csv_column(t, "M"), &m) || !csv_number(t, i, csv_column(t, "N"), &n)
      || !csv_number(t, i, csv_column(t, "K"), &k) || m < 1 || n < 1 || k < 1) {
    return false;
  }
  /* [B, M, N] x [B, N, K]; a linear layer has one weight for all of B */
  bool is_linear = class_of == NEUSIGHT_FC;
  shape->gemm = (struct kernel_gemm){is_linear ? 1 : b, is_linear ? b * m : m, k, n};
  shape->flags = is_linear ? KERNEL_BIAS : 0;
  return true;
}

static enum status add_operators(struct suite *suite, const char *file) {
  struct csv_table t = {0};
  STATUS_TRY(read_table(suite, file, &t));
  int op = csv_column(&t, "op"), device = csv_column(&t, "device"), latency = csv_column(&t, "latency_ms");
  bool failed = false;
  for (size_t i = 0; i < csv_rows(&t) && !failed; i++) {
    const char *name = csv_cell(&t, i, op);
    enum neusight_class class_of = neusight_class_find(name);
    const struct neusight_timer *timer = timer_of(suite, csv_cell(&t, i, device));
    struct kernel_shape shape;
    double ms;
    if (!timer || class_of == NEUSIGHT_CLASS_COUNT || !csv_number(&t, i, latency, &ms) || !(ms > 0)
        || !operator_shape(&t, i, name, class_of, &shape)) {
      continue;
    }
    struct neusight_row row = new_row(timer->device, ms * 1e-3);
    row.class_of = class_of;
    row.time_s[NEUSIGHT_OURS] = neusight_benchmark(timer, shape);
    row.time_s[NEUSIGHT_ROOFLINE] = neusight_roofline(timer, &shape);
    row.time_s[NEUSIGHT_TWO_CONSTANTS] =
        two_constants[class_of].overhead_s + row.time_s[NEUSIGHT_ROOFLINE] / two_constants[class_of].efficiency;
    failed = !vec_push(&suite->results.operators, row);
  }
  csv_release(&t);
  return failed ? STATUS_MEMORY : STATUS_OK;
}

/* ---- scores ---- */

static bool takes(const struct neusight_filter *filter, const struct neusight_row *row) {
  bool fits_seen = filter->seen == NEUSIGHT_ANY || (filter->seen == NEUSIGHT_SEEN) == row->device->is_seen;
  return (!filter->device || filter->device == row->device) && fits_seen
         && (filter->class_of == NEUSIGHT_CLASS_COUNT || filter->class_of == row->class_of)
         && (!filter->is_nvidia || strncmp(row->device->chip_id, "nvidia_", 7) == 0);
}

enum status neusight_score(const neusight_rows *rows, const struct neusight_filter *filter, enum neusight_peer peer,
                           struct score *score) {
  double *measured = malloc((rows->count + 1) * 2 * sizeof *measured);
  if (!measured) {
    return STATUS_MEMORY;
  }
  double *predicted = measured + rows->count + 1;
  size_t count = 0;
  for (size_t i = 0; i < rows->count; i++) {
    const struct neusight_row *row = &rows->data[i];
    if (takes(filter, row) && isfinite(row->time_s[peer])) {
      measured[count] = row->measured_s;
      predicted[count++] = row->time_s[peer];
    }
  }
  *score = score_rows(measured, predicted, count);
  free(measured);
  return STATUS_OK;
}

static void release(struct suite *suite) {
  for (size_t i = 0; i < suite->graph_count; i++) {
    if (suite->graphs[i].is_there) {
      neusight_graph_release(&suite->graphs[i].graph);
    }
  }
  csv_release(&suite->results.labels);
  csv_release(&suite->results.published);
  csv_release(&suite->results.nodes);
  vec_release(&suite->results.programs);
  vec_release(&suite->results.node_rows);
  vec_release(&suite->results.operators);
  free(suite);
}

enum status measure_neusight(const struct hw_database *chips, const struct measure_options *options,
                             struct diag_list *diags, struct strbuf *out) {
  const char *data = profile_data_directory(options->data_directory);
  if (!profile_need_folder(data, "measured/neusight", diags)) {
    return STATUS_IO;
  }
  struct suite *suite = calloc(1, sizeof *suite);
  if (!suite) {
    return STATUS_MEMORY;
  }
  suite->chips = chips;
  suite->directory = data;
  suite->diags = diags;
  for (size_t i = 0; neusight_devices[i].name && i < DEVICE_MAX; i++) {
    suite->has_timer[i] = neusight_timer_init(&suite->timers[i], chips, &neusight_devices[i]);
  }
  enum status status = add_programs(suite);
  if (status == STATUS_OK) {
    status = add_nodes(suite);
  }
  for (size_t i = 0; i < sizeof operator_files / sizeof operator_files[0] && status == STATUS_OK; i++) {
    status = add_operators(suite, operator_files[i]);
  }
  if (status == STATUS_OK) {
    status = options->as_json ? neusight_write_json(&suite->results, out) : neusight_write_text(&suite->results, out);
  }
  release(suite);
  return status;
}
