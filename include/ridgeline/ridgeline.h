/* Ridgeline: one machine-learning program, every chip.
 *
 * This is the whole public interface: opaque handles, C17, usable from C++17. The command line is written against it alone.
 *
 *     rdg_context *ctx = rdg_context_new(NULL);
 *     rdg_program *program = NULL;
 *     if (rdg_program_load(ctx, "model.mlir", NULL, &program) == RDG_OK) {
 *       const char *names[] = {"h100", "mi300x", "tpu-v5p"};
 *       rdg_prediction *prediction = NULL;
 *       if (rdg_predict(ctx, program, names, 3, NULL, &prediction) == RDG_OK) {
 *         for (size_t i = 0; i < rdg_prediction_count(prediction); i++) {
 *           rdg_estimate e;
 *           rdg_prediction_get(prediction, i, &e);
 *           printf("%s %.3f ms, bound by %s\n", e.chip_id, e.time_s * 1e3, e.bound_by);
 *         }
 *       }
 *       rdg_prediction_free(prediction);
 *     }
 *     fputs(rdg_diagnostics_text(ctx), stderr);
 *     rdg_program_free(program);
 *     rdg_context_free(ctx);
 *
 * Contract of all functions: nothing is printed, nothing exits, there is no global state. A failing call returns a status
 * and leaves the reason as diagnostics on the context. A context and what hangs on it belong to one thread at a time;
 * several contexts may be used in parallel. Texts returned as `const char *` live as long as the object they come from
 * (diagnostics: until the next call that clears them). Free order: predictions, programs, context.
 */
#ifndef RIDGELINE_RIDGELINE_H
#define RIDGELINE_RIDGELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and diagnostics ------------------------------------------------------------------------------------- */

typedef enum rdg_status {
  RDG_OK = 0,
  RDG_ERROR_INPUT = 1, /* the program, chip file or argument is wrong; see the diagnostics */
  RDG_ERROR_MEMORY = 2, /* out of memory, or over a memory budget */
  RDG_ERROR_LIMIT = 3, /* another budget was reached */
  RDG_ERROR_IO = 4, /* a file could not be read or written */
  RDG_ERROR_UNSUPPORTED = 5 /* not possible with this chip, dtype or fidelity */
} rdg_status;

typedef enum rdg_severity { RDG_SEVERITY_ERROR, RDG_SEVERITY_WARNING, RDG_SEVERITY_NOTE } rdg_severity;

typedef struct rdg_diagnostic {
  rdg_severity severity;
  const char *code; /* stable, e.g. "E0201" */
  const char *file; /* NULL when the message has no place */
  unsigned line; /* 1-based; 0 = unknown */
  unsigned column; /* 1-based, in bytes */
  const char *message;
} rdg_diagnostic;

/* Version of the library, "0.1.0". */
const char *rdg_version(void);

/* ---- context ---------------------------------------------------------------------------------------------------- */

typedef struct rdg_context rdg_context;
typedef struct rdg_program rdg_program;
typedef struct rdg_prediction rdg_prediction;

typedef struct rdg_config {
  const char *hardware_directory; /* chip files; NULL = $RIDGELINE_HARDWARE, the source tree's, or the installed ones */
  size_t memory_budget_bytes; /* per program; 0 = from the input's size */
  unsigned error_limit; /* diagnostics kept per call; 0 = 20 */
} rdg_config;

/* `config` may be NULL. NULL only when memory is exhausted. */
rdg_context *rdg_context_new(const rdg_config *config);
void rdg_context_free(rdg_context *ctx);
size_t rdg_diagnostic_count(const rdg_context *ctx);
/* False when `i` is out of range. */
bool rdg_diagnostic_get(const rdg_context *ctx, size_t i, rdg_diagnostic *diagnostic);
/* All diagnostics as compilers print them: "file:line:column: error: message [E0201]", the line, a caret. */
const char *rdg_diagnostics_text(rdg_context *ctx);
void rdg_diagnostics_clear(rdg_context *ctx);

/* ---- output ----------------------------------------------------------------------------------------------------- */

/* Receives output in pieces; returns false to stop (the call then fails with RDG_ERROR_IO). */
typedef struct rdg_sink {
  bool (*write)(void *user, const char *text, size_t length);
  void *user;
} rdg_sink;

typedef enum rdg_format {
  RDG_FORMAT_TEXT, /* aligned tables for a terminal */
  RDG_FORMAT_JSON, /* docs/json.md is the schema */
  RDG_FORMAT_TRACE /* Chrome trace JSON (chrome://tracing, ui.perfetto.dev); predictions only */
} rdg_format;

/* ---- programs --------------------------------------------------------------------------------------------------- */

typedef struct rdg_load_options {
  const char *const *binds; /* dynamic dimensions: "arg0=32x?" (see --bind) */
  size_t bind_count;
  const char *entry; /* function to start in; NULL = main, else the only public one, else the first */
} rdg_load_options;

/* Reads StableHLO text (plain, .gz or .zst; "-" is standard input), checks it and counts its work. Several errors are
 * reported per run. On success *program is owned by the caller. */
rdg_status rdg_program_load(rdg_context *ctx, const char *path, const rdg_load_options *options, rdg_program **program);
/* The same from memory; the text is copied. `name` stands for the file in diagnostics. */
rdg_status rdg_program_parse(rdg_context *ctx, const char *name, const char *text, size_t length,
                             const rdg_load_options *options, rdg_program **program);
void rdg_program_free(rdg_program *program);

typedef enum rdg_form { RDG_FORM_PRETTY, RDG_FORM_GENERIC } rdg_form;
/* Canonical text of the program. */
rdg_status rdg_program_print(rdg_context *ctx, const rdg_program *program, rdg_form form, rdg_sink sink);
/* Parses and prints without checking or counting: for programs that are only to be re-written. */
rdg_status rdg_convert(rdg_context *ctx, const char *path, const rdg_load_options *options, rdg_form form,
                       rdg_sink sink);

typedef struct rdg_totals {
  uint64_t matrix_flops, vector_flops, function_results, integer_ops; /* `true` convention, loops multiplied out */
  uint64_t read_bytes, write_bytes; /* unfused: every operation reads and writes memory */
  uint64_t operations; /* executed, loops multiplied out */
  uint64_t collectives, collective_bytes;
  uint64_t opaque_operations; /* of unknown cost, not in the sums */
  uint64_t peak_memory_bytes, argument_bytes, output_bytes;
  int64_t xla_flops, xla_transcendentals, xla_bytes; /* `xla` convention (HloCostAnalysis); -1 = unknown */
} rdg_totals;
rdg_status rdg_program_totals(rdg_context *ctx, const rdg_program *program, rdg_totals *totals);

/* ops, FLOPs, bytes, intensity, peak memory, collectives; per function and per operation kind. */
rdg_status rdg_inspect(rdg_context *ctx, const rdg_program *program, rdg_format format, rdg_sink sink);
/* The work graph: unfused when `chip` is NULL, else as that chip's compiler would fuse it. With `task` not NULL, one task
 * with every factor of its predicted time; needs a chip in text form. `task` is an address, the way from the outermost
 * graph: "3", or "1.0.3" for task 3 in subgraph 0 of task 1, a loop or conditional, whose explanation lists the tasks in
 * it. `format` is text or JSON. */
rdg_status rdg_explain(rdg_context *ctx, rdg_program *program, const char *chip, const char *task, rdg_format format,
                       rdg_sink sink);

/* ---- chips ------------------------------------------------------------------------------------------------------ */

rdg_status rdg_chips_list(rdg_context *ctx, rdg_format format, rdg_sink sink);
/* Every field with unit, source and kind. `chip`: id, alias or the path of a YAML file, here and below. */
rdg_status rdg_chip_show(rdg_context *ctx, const char *chip, rdg_format format, rdg_sink sink);
/* Recomputes peaks from counts x rate x clock and bounds all numbers; NULL = all chips. One chip is also checked for what
 * prediction needs and for keys that look misspelt. Findings are diagnostics, and in JSON part of the document. */
rdg_status rdg_chip_check(rdg_context *ctx, const char *chip, rdg_format format, rdg_sink sink);
rdg_status rdg_chips_compare(rdg_context *ctx, const char *const *chips, size_t count, rdg_format format,
                             rdg_sink sink);

/* ---- prediction ------------------------------------------------------------------------------------------------- */

typedef struct rdg_predict_options {
  const char *fidelity; /* "roofline"; NULL = "roofline" */
  const char *f32_as; /* what DEFAULT-precision f32 contractions run as: "f32", "tf32", "bf16"; NULL = the chip's own */
  bool without_fusion; /* predict the program operation by operation */
  unsigned top; /* operations listed per chip in the text; 0 = 5 */
} rdg_predict_options;

/* Predicts one execution on each chip; `chips` are ids, aliases, YAML paths or groups ("@gpu", "@demo"). A chip that
 * refuses the program is in the result with its reason. Loading a program once and predicting many times is the fast way:
 * fused graphs are kept with the program. */
rdg_status rdg_predict(rdg_context *ctx, rdg_program *program, const char *const *chips, size_t count,
                       const rdg_predict_options *options, rdg_prediction **prediction);
void rdg_prediction_free(rdg_prediction *prediction);

typedef struct rdg_estimate {
  const char *chip_id, *chip_name, *vendor;
  double time_s; /* NaN when refused */
  double low_s, high_s; /* 90 % interval of time_s, see docs/calibration.md; NaN when refused */
  double fitted_share, inherited_share; /* of time_s: kernels measured on this chip, on others of its family */
  double unfused_time_s; /* without the target's fusion */
  const char *bound_by; /* what most of the time is bound by; "none" when nothing in the program is timed */
  double bound_share; /* of the time */
  double matrix_utilisation;
  uint64_t peak_memory_bytes, capacity_bytes;
  bool
      capacity_known; /* false: no memory size is published; capacity_bytes is 0 and `fits` false without being a verdict */
  bool fits, refused;
  uint64_t kernels; /* launches, loops multiplied out */
  uint64_t collectives, collective_bytes; /* not in the time */
  const char *reason; /* why it was refused; NULL otherwise */
} rdg_estimate;
size_t rdg_prediction_count(const rdg_prediction *prediction);
bool rdg_prediction_get(const rdg_prediction *prediction, size_t i, rdg_estimate *estimate);
/* Table with explanation, JSON, or the predicted timeline (RDG_FORMAT_TRACE). */
rdg_status rdg_prediction_write(rdg_context *ctx, const rdg_prediction *prediction, rdg_format format, rdg_sink sink);

/* ---- validation ------------------------------------------------------------------------------------------------- */

typedef struct rdg_validate_options {
  const char *data_directory; /* measured tables; NULL = $RIDGELINE_DATA or ../shared/data */
  rdg_format format; /* text or JSON */
  const char *chip; /* only this chip, id or alias; NULL = all. Suites that take no filter refuse it */
  const char *class_name; /* only this class of kernels ("gemm"); NULL = all. Likewise */
  const rdg_sink *page; /* also receives an HTML page with charts, of suites that have one; may be NULL */
} rdg_validate_options;

/* Scores predictions against measurements and writes a report. `options` may be NULL. Absent data gives RDG_ERROR_IO and a
 * diagnostic that says "no data". The libraries inside the page are read from $RIDGELINE_CHARTS, the source tree's
 * share/charts or the installed one; where they are missing the call fails before it measures anything. */
rdg_status rdg_validate(rdg_context *ctx, const char *suite, const rdg_validate_options *options, rdg_sink sink);
/* Name and one-line summary of suite `i`, static storage; false past the last one. */
bool rdg_validate_suite(size_t i, const char **name, const char **summary);

/* ---- calibration ------------------------------------------------------------------------------------------------ */

typedef struct rdg_calibrate_options {
  const char *profile; /* measured profile (SQLite); NULL = the published tables that the mapping files name */
  const char *data_directory; /* of those tables; NULL = $RIDGELINE_DATA or ../shared/data */
  const char *mapping_directory; /* NULL = $RIDGELINE_MEASUREMENTS, the source tree's, or the installed ones */
  const char *output_directory; /* one YAML file per chip and family is written here; NULL = none */
  const char *device; /* only this chip or family; NULL = all that have rows, here and below */
  const char *class_name; /* "gemm" */
  const char *format; /* "bf16" */
  const char *date; /* "2026-11-30", written into the files; NULL = today */
  size_t max_rows; /* per fit; 0 = 3000 */
  unsigned threads; /* 0 = one per core; results do not depend on it */
  rdg_format report; /* text or JSON */
  /* Called after every fit, from one thread at a time; may be NULL. */
  void (*progress)(void *user, const char *what, size_t done, size_t total);
  void *user;
} rdg_calibrate_options;

/* Fits the constants of kernel models to measured rows that may be fitted and writes what chips below `output_directory`
 * are then predicted with, and a report to `sink`. `options` may be NULL. A file that is there keeps the fits of classes and
 * formats that were not asked for. */
rdg_status rdg_calibrate(rdg_context *ctx, const rdg_calibrate_options *options, rdg_sink sink);
/* The folder that chips of this context take their constants from: where to write so that they are used. Valid as long as
 * the context. */
const char *rdg_calibration_directory(rdg_context *ctx);

/* ---- measured profiles -------------------------------------------------------------------------------------------- */

typedef struct rdg_profile_import_options {
  const char *const
      *files; /* mapping files (.yaml) and CSV files in the columns of an export; none = all mapping files */
  size_t file_count;
  const char *mapping_directory; /* NULL = $RIDGELINE_MEASUREMENTS, the source tree's, or the installed ones */
  const char *data_directory; /* of the tables that mapping files name; NULL = $RIDGELINE_DATA or ../shared/data */
} rdg_profile_import_options;

typedef struct rdg_profile_import_result {
  uint64_t rows; /* added */
  uint64_t absent_tables; /* named in a mapping file, but not there: a warning each */
} rdg_profile_import_result;

/* Puts measured rows into the profile `path`, an SQLite file (docs/profiles.md), and creates it when there is none. What it
 * has of the same source (of a CSV: and device) is replaced; a file that fails leaves it as it was. `options` and `result` may be NULL. */
rdg_status rdg_profile_import(rdg_context *ctx, const char *path, const rdg_profile_import_options *options,
                              rdg_profile_import_result *result);
/* All operators, or all programs, as CSV. */
rdg_status rdg_profile_export(rdg_context *ctx, const char *path, bool programs, rdg_sink sink);
/* Rows per source, device, operator, format and split, with licence and use; text or JSON. */
rdg_status rdg_profile_show(rdg_context *ctx, const char *path, rdg_format format, rdg_sink sink);

#ifdef __cplusplus
}
#endif

#endif
