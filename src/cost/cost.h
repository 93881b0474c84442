/* Cost models behind one vtable. A model sees a sealed work graph and a chip, never the IR; a new one is one file and one
 * row in cost_models.c. */
#ifndef RIDGELINE_COST_COST_H
#define RIDGELINE_COST_COST_H

#include "base/status.h"
#include "hw/hw.h"
#include "work/work.h"
#include "work/work_result.h"

struct cost_options {
  /* Overrides what DEFAULT-precision f32 contractions run as on every chip: NONE = the chip's own default. */
  enum dtype f32_as;
};

struct cost_model {
  const char *name; /* the word after --fidelity */
  const char *summary;
  /* NULL when the chip can be predicted, else why not (static or chip-owned text). */
  const char *(*supports)(const struct hw_chip *chip);
  /* Fills `result` (initialised by the caller). STATUS_OK also for refused programs: see result->is_refused. */
  enum status (*estimate)(const struct work_graph *graph, const struct hw_chip *chip,
                          const struct cost_options *options, struct work_result *result);
  /* Appends why one task takes its time: resources, efficiency factors, constants used. */
  void (*explain)(const struct work_graph *graph, uint32_t task, const struct hw_chip *chip,
                  const struct cost_options *options, struct strbuf *out);
  /* The time of `estimate` alone, without building a result; NAN for refused programs. */
  enum status (*program_time)(const struct work_graph *graph, const struct hw_chip *chip,
                              const struct cost_options *options, double *time_s);
};

extern const struct cost_model cost_roofline;
/* All models, NULL-terminated. */
extern const struct cost_model *const cost_models[];
const struct cost_model *cost_model_find(const char *name);

#endif
