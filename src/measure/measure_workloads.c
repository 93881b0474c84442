/* Suite "workloads": training steps of data/workloads beside the step times measured on real systems.
 *
 * The programs are one device's share of a step that runs on several; the step's streams, collectives and exposed
 * communication come from cluster/. Programs that the folder lacks are generated from their configuration
 * (measure_workloads_generate.c). Published compute predictions of a profiling-based tool (hespas_results.csv) stand beside
 * ours where they exist. References are rounded to 10 ms: rows below 0.1 s are intervals. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"
#include "measure/measure.h"
#include "measure/measure_workloads.h"
#include "measure/score.h"
#include "profile/profile_places.h"
#include "program/program_step.h"
#include "report/report.h"

/* Which cluster a measured system is (a part of). The Llama programs of the system are gen_<workload><ending>. */
static const struct workload_system {
  const char *system, *cluster;
  unsigned devices;
  const char *llama_ending;
} systems[] = {
    {"A100_40GB_4GPU", "dgx_a100_40", 4, "_4dev.mlir"},
    {"H100_80GB_4GPU", "dgx_h100", 4, "_4dev.mlir"},
    {"H200_141GB_4GPU", "dgx_h200", 4, "_4dev.mlir"},
    {"B200_180GB_4GPU", "dgx_b200", 4, "_4dev.mlir"},
    {"8xTPUv3", "tpu_v3", 8, "_8dev.mlir"},
};

static const char *const reference_files[] = {"llama3_train.csv", "resnet_train.csv", "tpuv3_llama3.csv"};

static const double rounded_below_s = 0.1, rounding_s = 0.005;

struct workload_row {
  const char *system, *workload, *program; /* program NULL: none of that name here */
  bool is_generated; /* the program is not a file but from its configuration */
  double measured_s;
  double unfused_s, fused_s; /* computation alone */
  double step_s, exposed_s, communication_s;
  double low_s, high_s; /* 90 % interval of step_s */
  double fitted_share; /* of fused_s, in kernels measured on the chip or its family */
  double published_s; /* compute time of the published tool; NaN when none */
  uint64_t collectives, collective_bytes; /* as the compiler leaves them */
};

struct workload_suite {
  const struct hw_database *chips;
  const struct hw_clusters *clusters;
  const char *directory;
  struct diag_list *diags;
  struct arena arena;
  VEC(struct workload_row) rows;
  VEC(struct program *) programs; /* loaded once each; source.name is the path */
};

static char *join(struct arena *arena, const char *directory, const char *name) {
  struct strbuf path = {0};
  strbuf_printf(&path, "%s/%s", directory, name);
  char *copy = path.failed ? NULL : arena_strndup(arena, path.data, path.length);
  strbuf_release(&path);
  return copy;
}

static const struct workload_system *find_system(const char *name) {
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    if (strcmp(systems[i].system, name) == 0) {
      return &systems[i];
    }
  }
  return NULL;
}

static const char *program_name(struct workload_suite *suite, const struct workload_system *system,
                                const char *workload) {
  if (strcmp(workload, "resnet50") == 0) {
    return "resnet_50_train_step_4_devices_1024_batch.mlir";
  }
  struct strbuf name = {0};
  if (strncmp(workload, "resnet", 6) == 0) {
    strbuf_printf(&name, "%s_train_%u_devices.mlir", workload, system->devices);
  } else {
    strbuf_printf(&name, "gen_%s%s", workload, system->llama_ending);
  }
  char *copy = arena_strndup(&suite->arena, strbuf_text(&name), name.length);
  strbuf_release(&name);
  return copy;
}

static enum status keep_program(struct workload_suite *suite, struct program *program, struct program **found) {
  if (!vec_push(&suite->programs, program)) {
    program_free(program);
    return STATUS_MEMORY;
  }
  *found = program;
  return STATUS_OK;
}

/* The program of that name in *found: loaded, or generated from its configuration, once; NULL when there is neither. A file
 * that does not load is an error. */
static enum status find_program(struct workload_suite *suite, const struct workload_system *system,
                                const char *workload, const char *name, struct program **found) {
  char *path = join(&suite->arena, suite->directory, name);
  *found = NULL;
  if (!path) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < suite->programs.count; i++) {
    const char *known = suite->programs.data[i]->source.name;
    if (strcmp(known, path) == 0 || strcmp(known, name) == 0) {
      *found = suite->programs.data[i];
      return STATUS_OK;
    }
  }
  struct program *program = NULL;
  FILE *probe = *name ? fopen(path, "rb") : NULL;
  if (probe) {
    fclose(probe);
    STATUS_TRY(program_load(path, NULL, suite->diags, &program));
  } else if (*name) {
    STATUS_TRY(workload_generate(workload, system->devices, name, suite->diags, &program));
  }
  return program ? keep_program(suite, program, found) : STATUS_OK;
}

static enum status predict_step(struct workload_suite *suite, const struct workload_system *system,
                                const struct hw_cluster *cluster, const struct hw_chip *device, struct program *program,
                                struct workload_row *row) {
  struct program_step *step = NULL;
  struct hw_slice slice;
  struct step_result result;
  STATUS_TRY(hw_slice_of(cluster, system->devices, NULL, suite->diags, &slice));
  STATUS_TRY(program_step_read(program, device, NULL, suite->diags, &step));
  step_result_init(&result);
  enum status status =
      step->refusal ? STATUS_OK : step_run(&step->step, cluster, &slice, device, NULL, suite->diags, &result);
  if (status == STATUS_OK && !step->refusal) {
    row->step_s = result.time_s;
    row->exposed_s = result.exposed_s;
    row->communication_s = result.communication_s;
    row->low_s = result.low_s;
    row->high_s = result.high_s;
    for (size_t k = 0; k < LOWER_COLLECTIVE_KINDS; k++) {
      row->collectives += step->collectives.after.count[k];
      row->collective_bytes += step->collectives.after.bytes[k];
    }
  }
  step_result_release(&result);
  program_step_free(step);
  return status;
}

static enum status predict_row(struct workload_suite *suite, const struct workload_system *system,
                               struct program *program, struct workload_row *row) {
  const struct hw_cluster *cluster = hw_clusters_find(suite->clusters, system->cluster, suite->diags);
  const struct hw_chip *chip = cluster ? hw_database_find(suite->chips, cluster->chip, suite->diags) : NULL;
  if (!chip) {
    return STATUS_INPUT;
  }
  struct hw_chip device;
  step_device_of(cluster, chip, &device);
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct program_estimate estimate;
  enum status status = program_estimate(program, &device, &cost_roofline, &options, false, &estimate);
  if (status == STATUS_OK && !estimate.refusal) {
    row->fused_s = estimate.result.time_s;
    row->fitted_share = estimate.result.fitted_share + estimate.result.inherited_share;
    row->unfused_s = estimate.unfused_time_s;
  }
  program_estimate_release(&estimate);
  return status == STATUS_OK ? predict_step(suite, system, cluster, &device, program, row) : status;
}

static enum status add_row(struct workload_suite *suite, const struct csv_table *table, size_t i) {
  const char *system_name = csv_cell(table, i, csv_column(table, "system"));
  const char *workload = csv_cell(table, i, csv_column(table, "workload"));
  const struct workload_system *system = find_system(system_name);
  struct workload_row row = {.system = arena_strndup(&suite->arena, system_name, strlen(system_name)),
                             .workload = arena_strndup(&suite->arena, workload, strlen(workload)),
                             .unfused_s = (double)NAN,
                             .fused_s = (double)NAN,
                             .step_s = (double)NAN,
                             .exposed_s = (double)NAN,
                             .communication_s = (double)NAN,
                             .low_s = (double)NAN,
                             .high_s = (double)NAN,
                             .published_s = (double)NAN};
  if (!csv_number(table, i, csv_column(table, "runtime_s"), &row.measured_s)) {
    diag_file(suite->diags, DIAG_E0003_FORMAT, table->path, (uint32_t)i + 2, 0, "'%s' is not a number of seconds",
              csv_cell(table, i, csv_column(table, "runtime_s")));
    return STATUS_INPUT;
  }
  const char *name = system ? program_name(suite, system, workload) : "";
  if (!row.system || !row.workload || !name) {
    return STATUS_MEMORY;
  }
  struct program *program = NULL;
  if (system) {
    STATUS_TRY(find_program(suite, system, workload, name, &program));
  }
  if (program) {
    const char *slash = strrchr(program->source.name, '/');
    row.program = slash ? slash + 1 : program->source.name;
    row.is_generated = slash == NULL;
    STATUS_TRY(predict_row(suite, system, program, &row));
  }
  return vec_push(&suite->rows, row) ? STATUS_OK : STATUS_MEMORY;
}

static enum status read_references(struct workload_suite *suite) {
  enum status status = STATUS_OK;
  for (size_t f = 0; f < sizeof reference_files / sizeof reference_files[0] && status == STATUS_OK; f++) {
    struct strbuf name = {0};
    strbuf_printf(&name, "reference/%s", reference_files[f]);
    char *path = join(&suite->arena, suite->directory, strbuf_text(&name));
    strbuf_release(&name);
    struct csv_table table;
    status = csv_read(&table, path, suite->diags);
    for (size_t i = 0; i < csv_rows(&table) && status == STATUS_OK; i++) {
      status = add_row(suite, &table, i);
    }
    csv_release(&table);
  }
  return status;
}

/* Compute-only times of the published tool: same workload, system named without the memory size ("A100_4GPU"). */
static enum status read_published(struct workload_suite *suite) {
  struct csv_table table;
  enum status status = csv_read(&table, join(&suite->arena, suite->directory, "hespas_results.csv"), suite->diags);
  for (size_t i = 0; i < csv_rows(&table) && status == STATUS_OK; i++) {
    const char *system = csv_cell(&table, i, csv_column(&table, "system"));
    size_t prefix = strcspn(system, "_");
    bool is_profile = strcmp(csv_cell(&table, i, csv_column(&table, "method")), "hespas_xla_profile") == 0;
    for (size_t r = 0; r < suite->rows.count && is_profile; r++) {
      struct workload_row *row = &suite->rows.data[r];
      if (strncmp(row->system, system, prefix) == 0 && row->system[prefix] == '_'
          && strcmp(row->workload, csv_cell(&table, i, csv_column(&table, "workload"))) == 0) {
        csv_number(&table, i, csv_column(&table, "compute_s"), &row->published_s);
      }
    }
  }
  csv_release(&table);
  return status;
}

static double error_of(double predicted, double measured) {
  return (predicted - measured) / measured;
}

/* The reference as measured: a value, or an interval where it is rounded coarsely. */
static void measured_interval(const struct workload_row *row, double *low_s, double *high_s) {
  double half_s = row->measured_s < rounded_below_s ? rounding_s : 0;
  *low_s = row->measured_s - half_s;
  *high_s = row->measured_s + half_s;
}

static bool is_inside(const struct workload_row *row) {
  double low_s, high_s;
  measured_interval(row, &low_s, &high_s);
  return row->low_s <= high_s && low_s <= row->high_s;
}

static void add_measured_cell(struct report_table *table, const struct workload_row *row) {
  if (row->measured_s < rounded_below_s) {
    report_table_cellf(table, "%.3f-%.3f", row->measured_s - rounding_s, row->measured_s + rounding_s);
  } else {
    report_table_cellf(table, "%.2f", row->measured_s);
  }
}

/* Against the nearest point of a rounding interval. */
static void add_error_cell(struct report_table *table, double predicted, const struct workload_row *row) {
  double low_s, high_s;
  measured_interval(row, &low_s, &high_s);
  if (isnan(predicted)) {
    report_table_cell(table, "-");
  } else if (low_s <= predicted && predicted <= high_s && low_s < high_s) {
    report_table_cell(table, "inside");
  } else {
    report_table_cellf(table, "%+.1f %%", 100 * error_of(predicted, predicted < low_s ? low_s : high_s));
  }
}

static void add_seconds_cell(struct report_table *table, double seconds) {
  if (isnan(seconds)) {
    report_table_cell(table, "-");
  } else {
    report_table_cellf(table, "%.4f", seconds);
  }
}

/* The interval, with a mark where the measurement is outside, and the share of the computation it rests on. */
static void add_interval_cells(struct report_table *table, const struct workload_row *row) {
  if (isnan(row->high_s)) {
    report_table_cell(table, "-");
    report_table_cell(table, "-");
    return;
  }
  report_table_cellf(table, "%s%.4f - %.4f", is_inside(row) ? "" : "* ", row->low_s, row->high_s);
  report_table_cellf(table, "%.0f %%", 100 * row->fitted_share);
}

static void print_rows(const struct workload_suite *suite, struct strbuf *out) {
  static const char *const headings[] = {"system", "workload",  "measured s", "compute s",   "error", "step s",
                                         "error",  "exposed",   "commun.",    "collectives", "bytes", "90 % interval",
                                         "fitted", "published", "error",      "program"};
  static const enum report_align aligns[] = {
      REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
      REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof headings / sizeof headings[0]);
  if (!table) {
    out->failed = true;
    return;
  }
  for (size_t i = 0; i < suite->rows.count; i++) {
    const struct workload_row *row = &suite->rows.data[i];
    struct strbuf bytes = {0};
    report_bytes(&bytes, row->collective_bytes);
    report_table_cell(table, row->system);
    report_table_cell(table, row->workload);
    add_measured_cell(table, row);
    add_seconds_cell(table, row->fused_s);
    add_error_cell(table, row->fused_s, row);
    add_seconds_cell(table, row->step_s);
    add_error_cell(table, row->step_s, row);
    add_seconds_cell(table, row->exposed_s);
    add_seconds_cell(table, row->communication_s);
    report_table_cellf(table, "%llu", (unsigned long long)row->collectives);
    report_table_cell(table, strbuf_text(&bytes));
    add_interval_cells(table, row);
    add_seconds_cell(table, row->published_s);
    add_error_cell(table, row->published_s, row);
    report_table_cellf(table, "%s%s", row->program ? row->program : "(no program)",
                       row->is_generated ? " (generated)" : "");
    strbuf_release(&bytes);
  }
  report_table_print(table, out);
  report_table_free(table);
}

/* Statistics of one predictor over the rows that have a program and were measured for at least `minimum_s`. */
static struct score score_suite(const struct workload_suite *suite, size_t predictor, double minimum_s) {
  size_t n = suite->rows.count, used = 0;
  double *values = calloc(2 * n + 1, sizeof *values);
  struct score score = {.kendall = (double)NAN};
  if (values) {
    for (size_t i = 0; i < n; i++) {
      const struct workload_row *row = &suite->rows.data[i];
      const double predictions[] = {row->unfused_s, row->fused_s, row->step_s, row->published_s};
      if (row->program && row->measured_s >= minimum_s) {
        values[used] = row->measured_s;
        values[n + used++] = predictions[predictor];
      }
    }
    score = score_rows(values, values + n, used);
  }
  free(values);
  return score;
}

enum { PREDICTOR_STEP = 2 };
static const char *const predictor_names[] = {"unfused roofline", "computation alone", "step",
                                              "published tool, compute"};

static void find_goals(const struct workload_suite *suite, struct workload_goals *goals) {
  struct score is_long = score_suite(suite, PREDICTOR_STEP, rounded_below_s);
  struct score all = score_suite(suite, PREDICTOR_STEP, 0);
  *goals = (struct workload_goals){
      .mape = is_long.mape, .long_rows = is_long.count, .kendall = all.kendall, .all_rows = all.count};
}

static void print_goals(const struct workload_suite *suite, struct strbuf *out) {
  struct workload_goals g;
  find_goals(suite, &g);
  bool is_near = g.mape <= WORKLOAD_MAPE_GOAL, is_ordered = g.kendall >= WORKLOAD_KENDALL_GOAL;
  strbuf_printf(out, "\n%-7s MAPE of the step over %zu rows of at least 0.1 s: %.1f %% (at most %.0f %%)\n",
                is_near ? "met" : "missed", g.long_rows, 100 * g.mape, 100 * WORKLOAD_MAPE_GOAL);
  strbuf_printf(out, "%-7s Kendall tau over all %zu rows: %.3f (at least %.2f)\n", is_ordered ? "met" : "missed",
                g.all_rows, g.kendall, WORKLOAD_KENDALL_GOAL);
  strbuf_printf(out, "goals: %d of 2 met\n", is_near + is_ordered);
}

static void print_scores(const struct workload_suite *suite, struct strbuf *out) {
  for (int long_rows = 0; long_rows < 2; long_rows++) {
    strbuf_printf(out, "\n%s\n",
                  long_rows ? "rows of at least 0.1 s (shorter ones are rounded to 10 ms):"
                            : "all rows with a program:");
    for (size_t p = 0; p < sizeof predictor_names / sizeof predictor_names[0]; p++) {
      struct score s = score_suite(suite, p, long_rows ? rounded_below_s : 0);
      strbuf_printf(
          out, "  %-24s rows %2zu  MAPE %5.1f %%  median %5.1f %%  p90 %5.1f %%  bias %+6.1f %%  Kendall tau %.3f\n",
          predictor_names[p], s.count, 100 * s.mape, 100 * s.median, 100 * s.p90, 100 * s.bias, s.kendall);
    }
  }
  size_t inside = 0, with_interval = 0, without_program = 0;
  for (size_t i = 0; i < suite->rows.count; i++) {
    with_interval += isnan(suite->rows.data[i].high_s) ? 0 : 1;
    inside += is_inside(&suite->rows.data[i]) ? 1 : 0;
    without_program += suite->rows.data[i].program == NULL;
  }
  strbuf_printf(out, "\nmeasured inside the 90 %% interval: %zu of %zu; * marks the others\n", inside, with_interval);
  strbuf_printf(out, "rows without a program: %zu\n", without_program);
  strbuf_puts(
      out, "\nOne device of several is predicted; no constant was fitted on these rows. References below 0.1 s are\n"
           "shown as what rounding leaves of them. The published tool's compute times are profiled on the device.\n");
  print_goals(suite, out);
}

static json_t *json_number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_json(const struct workload_row *row) {
  return json_pack(
      "{s:s,s:s,s:s?,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I}", "system", row->system, "workload",
      row->workload, "program", row->program, "measured_s", json_number(row->measured_s), "unfused_s",
      json_number(row->unfused_s), "fused_s", json_number(row->fused_s), "step_s", json_number(row->step_s),
      "exposed_s", json_number(row->exposed_s), "communication_s", json_number(row->communication_s), "low_s",
      json_number(row->low_s), "high_s", json_number(row->high_s), "fitted_share",
      json_number(row->program ? row->fitted_share : (double)NAN), "published_compute_s", json_number(row->published_s),
      "collectives", (json_int_t)row->collectives, "collective_bytes", (json_int_t)row->collective_bytes);
}

static json_t *score_json(const struct score *s) {
  return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o}", "rows", (json_int_t)s->count, "mape", json_number(s->mape), "median",
                   json_number(s->median), "p90", json_number(s->p90), "bias", json_number(s->bias), "kendall_tau",
                   json_number(s->kendall));
}

/* Per predictor, of the rows measured for at least `minimum_s`. */
static json_t *scores_json(const struct workload_suite *suite, double minimum_s) {
  static const char *const keys[] = {"unfused", "fused", "step", "published_compute"};
  json_t *scores = json_object();
  for (size_t p = 0; p < sizeof keys / sizeof keys[0]; p++) {
    struct score s = score_suite(suite, p, minimum_s);
    json_object_set_new(scores, keys[p], score_json(&s));
  }
  return scores;
}

/* docs/json.md, "validation". */
static enum status print_json(const struct workload_suite *suite, struct strbuf *out) {
  json_t *rows = json_array();
  for (size_t i = 0; i < suite->rows.count; i++) {
    json_array_append_new(rows, row_json(&suite->rows.data[i]));
  }
  json_t *document = json_pack("{s:s,s:i,s:s,s:s,s:o,s:o,s:o}", "format", "ridgeline-validation", "format_version", 1,
                               "ridgeline_version", RDG_VERSION, "suite", "workloads", "rows", rows, "scores",
                               scores_json(suite, 0), "scores_from_100_ms", scores_json(suite, 0.1));
  char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
  enum status status = text ? STATUS_OK : STATUS_MEMORY;
  if (text) {
    strbuf_printf(out, "%s\n", text);
  }
  free(text);
  json_decref(document);
  return status;
}

static enum status open_suite(struct workload_suite *suite, const char *data) {
  arena_init(&suite->arena, 0);
  suite->directory = join(&suite->arena, data, "workloads");
  if (suite->directory == NULL) {
    return STATUS_MEMORY;
  }
  if (!profile_need_folder(data, "workloads", suite->diags)) {
    return STATUS_IO;
  }
  STATUS_TRY(read_references(suite));
  return read_published(suite);
}

static void close_suite(struct workload_suite *suite) {
  for (size_t i = 0; i < suite->programs.count; i++) {
    program_free(suite->programs.data[i]);
  }
  vec_release(&suite->programs);
  vec_release(&suite->rows);
  arena_release(&suite->arena);
}

enum status measure_workloads(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out) {
  struct hw_clusters clusters = {0};
  struct workload_suite suite = {.chips = chips, .clusters = &clusters, .diags = diags};
  enum status status = hw_clusters_load(&clusters, options->hardware_directory, chips, diags);
  if (status == STATUS_OK) {
    status = open_suite(&suite, profile_data_directory(options->data_directory));
  }
  if (status == STATUS_OK && options->as_json) {
    status = print_json(&suite, out);
  } else if (status == STATUS_OK) {
    print_rows(&suite, out);
    print_scores(&suite, out);
  }
  close_suite(&suite);
  hw_clusters_release(&clusters);
  return status;
}

enum status measure_workload_goals(const struct hw_database *chips, const struct hw_clusters *clusters,
                                   const char *data_directory, struct diag_list *diags, struct workload_goals *goals) {
  struct workload_suite suite = {.chips = chips, .clusters = clusters, .diags = diags};
  enum status status = open_suite(&suite, profile_data_directory(data_directory));
  if (status == STATUS_OK) {
    find_goals(&suite, goals);
  }
  close_suite(&suite);
  return status;
}
