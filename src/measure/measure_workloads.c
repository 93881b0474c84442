/* Suite "workloads": training steps of data/workloads beside the step times measured on real systems.
 *
 * The programs are one device's share of a step that ran on several devices; communication is in the measurement and not
 * in the prediction, which is therefore a lower estimate by design. Published compute predictions of a profiling-based tool
 * (hespas_results.csv) stand beside ours where they exist. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"
#include "measure/measure.h"
#include "measure/score.h"
#include "profile/profile_places.h"
#include "program/program.h"
#include "report/report.h"

/* Which chip a measured system is made of, and how much of it one device of the program is: a TPU v3 device is one of the
 * two TensorCores of a chip. The Llama programs of the system are gen_<workload><ending>. */
static const struct workload_system {
  const char *system, *chip;
  unsigned devices;
  double chip_share;
  const char *llama_ending;
} systems[] = {
    {"A100_40GB_4GPU", "nvidia_a100_sxm_40", 4, 1.0, "_4dev.mlir"},
    {"H100_80GB_4GPU", "nvidia_h100_sxm", 4, 1.0, "_4dev.mlir"},
    {"H200_141GB_4GPU", "nvidia_h200_sxm", 4, 1.0, "_4dev.mlir"},
    {"B200_180GB_4GPU", "nvidia_b200_sxm", 4, 1.0, "_4dev.mlir"},
    {"8xTPUv3", "google_tpu_v3", 8, 0.5, "_8dev.mlir"},
};

static const char *const reference_files[] = {"llama3_train.csv", "resnet_train.csv", "tpuv3_llama3.csv"};

struct workload_row {
  const char *system, *workload, *program; /* program NULL: none of that name here */
  double measured_s, unfused_s, fused_s;
  double low_s, high_s; /* 90 % interval of fused_s */
  double fitted_share; /* of fused_s, in kernels measured on the chip or its family */
  double published_s; /* compute time of the published tool; NaN when none */
  uint64_t collectives, collective_bytes;
};

struct workload_suite {
  const struct hw_database *chips;
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
  if (strncmp(workload, "llama3-", 7) != 0) {
    return "";
  }
  struct strbuf name = {0};
  strbuf_printf(&name, "gen_%s%s", workload, system->llama_ending);
  char *copy = arena_strndup(&suite->arena, strbuf_text(&name), name.length);
  strbuf_release(&name);
  return copy;
}

/* The loaded program of that name in *found: NULL when there is no such file. A file that does not load is an error. */
static enum status find_program(struct workload_suite *suite, const char *name, struct program **found) {
  char *path = join(&suite->arena, suite->directory, name);
  *found = NULL;
  if (!path) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < suite->programs.count; i++) {
    if (strcmp(suite->programs.data[i]->source.name, path) == 0) {
      *found = suite->programs.data[i];
      return STATUS_OK;
    }
  }
  FILE *probe = *name ? fopen(path, "rb") : NULL;
  if (!probe) {
    return STATUS_OK;
  }
  fclose(probe);
  struct program *program = NULL;
  STATUS_TRY(program_load(path, NULL, suite->diags, &program));
  if (!vec_push(&suite->programs, program)) {
    program_free(program);
    return STATUS_MEMORY;
  }
  *found = program;
  return STATUS_OK;
}

/* A part of a chip: its rates and memories scaled, its latencies and shapes kept. */
static struct hw_chip chip_part(const struct hw_chip *chip, double share) {
  struct hw_chip part = *chip;
  for (int d = 0; d < DTYPE_COUNT; d++) {
    part.matrix_flops[d] *= share;
    part.vector_flops[d] *= share;
  }
  for (int f = 0; f < HW_FUNCTION_COUNT; f++) {
    part.function_rate[f] *= share;
  }
  double *const scaled[] = {&part.cores,     &part.memory_size_bytes, &part.memory_Bps,         &part.cache_size_bytes,
                            &part.cache_Bps, &part.scratch_Bps,       &part.scratch_size_bytes, &part.link_Bps};
  for (size_t i = 0; i < sizeof scaled / sizeof scaled[0]; i++) {
    *scaled[i] *= share;
  }
  return part;
}

static enum status predict_row(struct workload_suite *suite, const struct workload_system *system,
                               struct program *program, struct workload_row *row) {
  const struct hw_chip *chip = hw_database_find(suite->chips, system->chip, suite->diags);
  if (!chip) {
    return STATUS_INPUT;
  }
  struct hw_chip part = chip_part(chip, system->chip_share);
  struct cost_options options = {.f32_as = DTYPE_NONE};
  struct program_estimate estimate;
  enum status status = program_estimate(program, &part, &cost_roofline, &options, false, &estimate);
  if (status == STATUS_OK && !estimate.refusal) {
    row->fused_s = estimate.result.time_s;
    row->low_s = estimate.result.low_s;
    row->high_s = estimate.result.high_s;
    row->fitted_share = estimate.result.fitted_share + estimate.result.inherited_share;
    row->unfused_s = estimate.unfused_time_s;
    row->collectives = estimate.result.collectives;
    row->collective_bytes = estimate.result.collective_bytes;
  }
  program_estimate_release(&estimate);
  return status;
}

static enum status add_row(struct workload_suite *suite, const struct csv_table *table, size_t i) {
  const char *system_name = csv_cell(table, i, csv_column(table, "system"));
  const char *workload = csv_cell(table, i, csv_column(table, "workload"));
  const struct workload_system *system = find_system(system_name);
  struct workload_row row = {.system = arena_strndup(&suite->arena, system_name, strlen(system_name)),
                             .workload = arena_strndup(&suite->arena, workload, strlen(workload)),
                             .unfused_s = (double)NAN,
                             .fused_s = (double)NAN,
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
  STATUS_TRY(find_program(suite, name, &program));
  if (program) {
    row.program = strrchr(program->source.name, '/') + 1;
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

static bool is_inside(const struct workload_row *row) {
  return row->low_s <= row->measured_s && row->measured_s <= row->high_s;
}

static void add_error_cell(struct report_table *table, double predicted, double measured) {
  if (isnan(predicted)) {
    report_table_cell(table, "-");
  } else {
    report_table_cellf(table, "%+.1f %%", 100 * error_of(predicted, measured));
  }
}

static void add_seconds_cell(struct report_table *table, double seconds) {
  if (isnan(seconds)) {
    report_table_cell(table, "-");
  } else {
    report_table_cellf(table, "%.4f", seconds);
  }
}

/* The interval, with a mark where the measurement is outside, and the share of the time it rests on. */
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
  static const char *const headings[] = {"system",  "workload",  "measured s",    "unfused s", "error",
                                         "fused s", "error",     "90 % interval", "fitted",    "published",
                                         "error",   "not timed", "bytes",         "program"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
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
    report_table_cellf(table, "%.2f", row->measured_s);
    add_seconds_cell(table, row->unfused_s);
    add_error_cell(table, row->unfused_s, row->measured_s);
    add_seconds_cell(table, row->fused_s);
    add_error_cell(table, row->fused_s, row->measured_s);
    add_interval_cells(table, row);
    add_seconds_cell(table, row->published_s);
    add_error_cell(table, row->published_s, row->measured_s);
    report_table_cellf(table, "%llu coll.", (unsigned long long)row->collectives);
    report_table_cell(table, strbuf_text(&bytes));
    report_table_cell(table, row->program ? row->program : "(no program)");
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
      const double predictions[] = {row->unfused_s, row->fused_s, row->published_s};
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

static const char *const predictor_names[] = {"unfused roofline", "fused roofline", "published tool, compute"};

static void print_scores(const struct workload_suite *suite, struct strbuf *out) {
  for (int long_rows = 0; long_rows < 2; long_rows++) {
    strbuf_printf(out, "\n%s\n",
                  long_rows ? "rows of at least 0.1 s (shorter ones are rounded to 10 ms):"
                            : "all rows with a program:");
    for (size_t p = 0; p < sizeof predictor_names / sizeof predictor_names[0]; p++) {
      struct score s = score_suite(suite, p, long_rows ? 0.1 : 0);
      strbuf_printf(
          out, "  %-24s rows %2zu  MAPE %5.1f %%  median %5.1f %%  p90 %5.1f %%  bias %+6.1f %%  Kendall tau %.2f\n",
          predictor_names[p], s.count, 100 * s.mape, 100 * s.median, 100 * s.p90, 100 * s.bias, s.kendall);
    }
  }
  size_t inside = 0, with_interval = 0;
  for (size_t i = 0; i < suite->rows.count; i++) {
    with_interval += isnan(suite->rows.data[i].high_s) ? 0 : 1;
    inside += is_inside(&suite->rows.data[i]) ? 1 : 0;
  }
  strbuf_printf(out, "\nmeasured inside the 90 %% interval (no communication in it): %zu of %zu; * marks the others\n",
                inside, with_interval);
  strbuf_puts(out, "\nOne device of several is predicted; collectives are counted, not timed, so errors below zero are "
                   "expected where\n"
                   "communication is exposed. The published tool's compute times are profiled on the device itself.\n");
}

static json_t *json_number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_json(const struct workload_row *row) {
  return json_pack(
      "{s:s,s:s,s:s?,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I}", "system", row->system, "workload", row->workload, "program",
      row->program, "measured_s", json_number(row->measured_s), "unfused_s", json_number(row->unfused_s), "fused_s",
      json_number(row->fused_s), "low_s", json_number(row->low_s), "high_s", json_number(row->high_s), "fitted_share",
      json_number(row->program ? row->fitted_share : (double)NAN), "published_compute_s", json_number(row->published_s),
      "collectives_not_timed", (json_int_t)row->collectives, "collective_bytes", (json_int_t)row->collective_bytes);
}

static json_t *score_json(const struct score *s) {
  return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o}", "rows", (json_int_t)s->count, "mape", json_number(s->mape), "median",
                   json_number(s->median), "p90", json_number(s->p90), "bias", json_number(s->bias), "kendall_tau",
                   json_number(s->kendall));
}

/* Per predictor, of the rows measured for at least `minimum_s`. */
static json_t *scores_json(const struct workload_suite *suite, double minimum_s) {
  static const char *const keys[] = {"unfused", "fused", "published_compute"};
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

enum status measure_workloads(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out) {
  struct workload_suite suite = {.chips = chips, .diags = diags};
  const char *data = profile_data_directory(options->data_directory);
  arena_init(&suite.arena, 0);
  suite.directory = join(&suite.arena, data, "workloads");
  if (suite.directory == NULL || !profile_need_folder(data, "workloads", diags)) {
    arena_release(&suite.arena);
    return suite.directory == NULL ? STATUS_MEMORY : STATUS_IO;
  }
  enum status status = read_references(&suite);
  if (status == STATUS_OK) {
    status = read_published(&suite);
  }
  if (status == STATUS_OK && options->as_json) {
    status = print_json(&suite, out);
  } else if (status == STATUS_OK) {
    print_rows(&suite, out);
    print_scores(&suite, out);
  }
  for (size_t i = 0; i < suite.programs.count; i++) {
    program_free(suite.programs.data[i]);
  }
  vec_release(&suite.programs);
  vec_release(&suite.rows);
  arena_release(&suite.arena);
  return status;
}
