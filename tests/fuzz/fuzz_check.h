/* Properties that hold for every input, however strange: shared by the fuzz targets, the generated programs and the
 * hostile inputs. A check says what it found out; `why` receives the violation on FUZZ_BROKEN and the first diagnostic on
 * FUZZ_REFUSED. */
#ifndef RIDGELINE_TESTS_FUZZ_FUZZ_CHECK_H
#define RIDGELINE_TESTS_FUZZ_FUZZ_CHECK_H

#include "hw/hw.h"
#include "program/program.h"

enum fuzz_outcome {
  FUZZ_ACCEPTED,
  FUZZ_REFUSED, /* with a diagnostic */
  FUZZ_BROKEN /* a property is violated */
};

/* One chip per set of fusion rules, from hardware/ of the source tree. */
struct fuzz_chips {
  struct hw_database database;
  const struct hw_chip *gpu, *tpu;
};
/* False when the chips cannot be loaded. Release in any case. */
bool fuzz_chips_load(struct fuzz_chips *chips);
void fuzz_chips_release(struct fuzz_chips *chips);

/* Text → module → text in both forms; each form reads back as an equal module and prints as the same text again. */
enum fuzz_outcome fuzz_check_text(const char *text, size_t length, bool keep_locations, struct strbuf *why);

/* A sealed graph that verifies: the planner refuses it with a reason, or reads it with and without views and fusion as sound
 * programs of the same operations. */
bool fuzz_check_plan(const struct work_graph *graph, struct strbuf *why);
/* A sealed graph: verifies, its text reads back and prints the same, and fuzz_check_plan. */
enum fuzz_outcome fuzz_check_graph(const struct work_graph *graph, struct strbuf *why);

/* Sums over a sealed graph that fusion may not change or increase: loops multiplied out, all branches of conditionals
 * added (work_graph_total takes the costliest branch, which need not be the same one after fusion). Saturating. */
struct fuzz_sums {
  uint64_t matrix_flops;
  uint64_t border_bytes;
  uint64_t launches;
};
struct fuzz_sums fuzz_sum(const struct work_graph *graph);

/* Text → module → graph → fused for both chips → estimates: nothing is NaN, negative or infinite unless refused, fusion
 * keeps matrix FLOPs and never adds launches or border traffic. `matrix_flops` receives what the program has. */
enum fuzz_outcome fuzz_check_program(const struct fuzz_chips *chips, const char *text, size_t length,
                                     uint64_t *matrix_flops, struct strbuf *why);

/* Bytecode → module → text in both forms; the generic one reads back and prints the same, when it is read. */
enum fuzz_outcome fuzz_check_bytecode(const char *data, size_t size, bool keep_locations, struct strbuf *why);

/* A file with these bytes, unpacked if it is compressed, within the limit; then fuzz_check_program. */
enum fuzz_outcome fuzz_check_file(const struct fuzz_chips *chips, const char *data, size_t size, size_t limit_bytes,
                                  struct strbuf *why);

/* Failures carry at least one error, success none. */
bool fuzz_check_status(enum status status, const struct diag_list *diags, struct strbuf *why);
/* Prints `why` and aborts when the outcome is FUZZ_BROKEN. */
void fuzz_require(enum fuzz_outcome outcome, struct strbuf *why);

#endif
