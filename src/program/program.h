/* A loaded program with everything that is derived from it once: module, unfused work graph, and one fused graph per
 * set of fusion rules. What api/ and measure/ share; the pipeline from file to prediction reads top-down in program.c.
 * Path: io/ → mlir/ → analyze/ → lower/ → (fused graphs) → cost/. */
#ifndef RIDGELINE_PROGRAM_PROGRAM_H
#define RIDGELINE_PROGRAM_PROGRAM_H

#include "analyze/analyze.h"
#include "base/diag.h"
#include "base/status.h"
#include "cost/cost.h"
#include "hw/hw.h"
#include "io/input_file.h"
#include "ir/ir.h"
#include "lower/lower.h"
#include "work/work.h"
#include "work/work_result.h"

struct program_options {
  const char *const *binds; /* see mlir_bind */
  size_t bind_count;
  const char *entry; /* NULL = ir_function_entry */
  size_t memory_budget_bytes;
  bool keep_locations; /* of MLIR */
  bool only_to_run; /* checked, not counted: dynamic dimensions stay */
  size_t unit; /* of a text in several units (mlir_split), from 1; 0 = the whole text */
};

struct program_fused {
  struct work_graph *graph; /* for all chips with lower_fusion_same(&report, chip) */
  struct lower_fusion_report report;
};

struct program {
  struct input_file file; /* owns the text */
  struct source source;
  struct ir_module *module;
  struct ir_op entry;
  bool has_bounds_applied; /* types are those of the largest case (analyze_bounds) */
  struct work_graph *unfused; /* NULL when only to run */
  struct work_total total;
  struct work_memory memory;
  VEC(struct program_fused) fused;
};

/* Reads a file, parses, binds, checks, lowers. On failure *program is NULL and `diags` says why. */
enum status program_load(const char *path, const struct program_options *options, struct diag_list *diags,
                         struct program **program);
/* The same from a text, which is copied. */
enum status program_parse(const char *name, const char *text, size_t length, const struct program_options *options,
                          struct diag_list *diags, struct program **program);
/* Number of units of a text file (mlir_split). */
enum status program_count_units(const char *path, struct diag_list *diags, size_t *count);
/* A module that was built, not read: checked, lowered and counted likewise. The module is the program's from here on, also
 * on failure. `name` stands for the file in diagnostics. */
enum status program_adopt(const char *name, struct ir_module *module, struct diag_list *diags,
                          struct program **program);
/* Parsing and binding only: `unfused` stays NULL. */
enum status program_read(const char *path, const struct program_options *options, struct diag_list *diags,
                         struct program **program);
void program_free(struct program *program);

/* The graph as the chip's compiler would fuse it, kept for other chips that fuse it alike. Owned by the program. */
enum status program_fuse(struct program *program, const struct hw_chip *chip, const struct program_fused **fused);

/* One chip's prediction. */
struct program_estimate {
  const struct hw_chip *chip;
  const struct work_graph *graph; /* what `result` is about */
  const struct program_fused *fused; /* NULL without fusion */
  struct work_result result; /* valid when `refusal` is NULL */
  double unfused_time_s; /* of the same model on the unfused graph */
  const char *refusal; /* why the model cannot predict this chip; NULL otherwise */
};
/* Initialises and fills `estimate`; release it in any case. */
enum status program_estimate(struct program *program, const struct hw_chip *chip, const struct cost_model *model,
                             const struct cost_options *options, bool without_fusion,
                             struct program_estimate *estimate);
void program_estimate_release(struct program_estimate *estimate);

#endif
