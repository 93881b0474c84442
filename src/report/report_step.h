/* Steps of distributed programs as text, JSON, a trace and Chakra execution traces. Nothing here predicts: every number is in
 * step_result or follows from the program's graphs.
 * Path: cluster/ results in, bytes for the user out. */
#ifndef RIDGELINE_REPORT_REPORT_STEP_H
#define RIDGELINE_REPORT_REPORT_STEP_H

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "cluster/step.h"
#include "hw/hw_cluster.h"

/* One cluster's part of a report; all borrowed. */
struct report_step_row {
  const struct hw_cluster *cluster;
  const struct hw_slice *slice; /* valid unless refused */
  const struct hw_chip *chip;
  const struct step_program *program; /* what `result` is about */
  const struct step_result *result; /* NULL when refused */
  const char *refusal; /* why */
};
struct report_step {
  const char *program; /* name as given */
  const char *version;
  const char *fidelity, *network; /* "roofline"; "analytic" or "event" */
  const struct source *source; /* for file:line of operations; may be NULL */
  const struct report_step_row *rows;
  size_t count;
  unsigned top; /* collectives listed per cluster in the text */
};

/* Order of reports: fastest first, then the refused ones, by id where equal. `order` has room for step->count. */
void report_step_order(const struct report_step *step, size_t *order);

/* Table of clusters; then, of up to three or else of the fastest one, where the time goes, memory, collectives, remarks. */
void report_step_text(const struct report_step *step, struct strbuf *out);
/* docs/json.md, "step". */
enum status report_step_json(const struct report_step *step, struct strbuf *out);
/* Chrome trace of the first row that is not refused: a process per pipeline stage, a track per stream. Needs spans. At most
 * REPORT_STEP_TRACE_EVENTS slices; otherData.truncated says whether some are left out. */
enum { REPORT_STEP_TRACE_EVENTS = 1000000 };
enum status report_step_trace(const struct report_step *step, struct strbuf *out);

/* ---- Chakra execution traces (docs/traces.md) ---- */

/* What one rank does, in the schema of MLCommons Chakra. The order of a pipeline's work is that of the spans. */
struct report_chakra_options {
  const char *program, *version;
  uint64_t devices; /* ranks there are */
};
struct report_chakra; /* opaque */
/* STATUS_INPUT with a diagnostic when the order of a pipeline is not known: a result without spans. All arguments are
 * borrowed until the release. */
enum status report_chakra_new(const struct report_chakra_options *options, const struct step_program *program,
                              const struct step_result *result, struct diag_list *diags, struct report_chakra **chakra);
void report_chakra_free(struct report_chakra *chakra);
/* The file of a rank: GlobalMetadata and Nodes, each behind its length. STATUS_LIMIT with a diagnostic when it would have
 * more than REPORT_CHAKRA_NODES nodes. */
enum { REPORT_CHAKRA_NODES = 1 << 22 };
enum status report_chakra_rank(struct report_chakra *chakra, uint64_t rank, struct diag_list *diags,
                               struct strbuf *out);
/* {"1": [0, 1], ...}: members of the groups that nodes name as pg_name. */
void report_chakra_groups(const struct report_chakra *chakra, struct strbuf *out);

#endif
