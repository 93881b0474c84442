/* Inside of the step reports: what text and JSON both say. */
#ifndef RIDGELINE_REPORT_REPORT_STEP_INT_H
#define RIDGELINE_REPORT_REPORT_STEP_INT_H

#include "report/report_int.h"
#include "report/report_step.h"

/* Parts of the time of a step; they add up to it. */
struct report_step_cause {
  const char *key; /* of JSON, without its unit */
  const char *heading; /* of text */
  double (*value_s)(const struct step_result *result);
};
extern const struct report_step_cause report_step_causes[];
extern const size_t report_step_cause_count;

/* Parts of the memory of a device; they add up to the total. */
struct report_step_memory_part {
  const char *key, *heading;
  double (*value)(const struct step_memory *memory);
  const char *remedy; /* what makes it smaller; NULL = nothing that a user chooses */
};
extern const struct report_step_memory_part report_step_memory_parts[];
extern const size_t report_step_memory_part_count;

const char *report_step_overlap_name(enum step_overlap overlap);
const char *report_step_role_name(enum step_role role);
/* What runs in a pass: the last backward pass is as the others where the program says nothing else. */
const struct step_part *report_step_part(const struct step_program *program, unsigned place, unsigned role);
const char *report_step_schedule_name(enum step_schedule schedule);

/* Remarks of a row: the result's, then what follows from its numbers: whether the network matters and why, what bounds the
 * step, what would make it fit. `code` is "" for those. */
void report_step_notes(const struct report_step_row *row, report_note_sink *sink, void *user);

#endif
