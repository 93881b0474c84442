/* Inside of the collective rewrites: one graph at a time becomes a new one, subgraphs first. See lower.h. */
#ifndef RIDGELINE_LOWER_LOWER_COLLECTIVES_H
#define RIDGELINE_LOWER_LOWER_COLLECTIVES_H

#include "lower/lower.h"

/* What follows from constants and from where the device is. */
enum lower_origin { LOWER_FROM_CONSTANTS, LOWER_FROM_PLACE, LOWER_FROM_DATA };

/* A graph being rewritten. `to` begins as a copy of the arrays of `from`, without tasks and stages. */
struct lower_rewrite {
  const struct work_graph *from;
  struct work_graph *to;
  const struct lower_collective_options *options;
  struct lower_collective_report *report;
  const uint8_t *inputs; /* per input of `from`: enum lower_origin; NULL = all data */
};

/* True when the task is a collective that rewrites may touch: one operand, one result, not started apart. */
bool lower_collective_is_plain(const struct work_graph *graph, const struct work_task *task);
/* Appends a task of `from` to `to` with its stages; accesses are where they are. */
void lower_rewrite_task(struct lower_rewrite *rewrite, uint32_t task);
/* Origins of all tensors of `from`; `origins` has room for them. */
void lower_origins(const struct lower_rewrite *rewrite, uint8_t *origins);

/* First pass: duplicates and reduce-scatters. Second: combinations. Both fill to's tasks. */
enum status lower_rewrite_single(struct lower_rewrite *rewrite);
enum status lower_rewrite_combine(struct lower_rewrite *rewrite);

#endif
