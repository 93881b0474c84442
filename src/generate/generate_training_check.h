/* What can be asked for, and the mesh; see generate_training_check.c. */
#ifndef RIDGELINE_GENERATE_GENERATE_TRAINING_CHECK_H
#define RIDGELINE_GENERATE_GENERATE_TRAINING_CHECK_H

#include "generate/generate_training_int.h"

/* Absent degrees are 1, absent types bf16 and f32. */
void training_normalise(struct generate_training *p);
/* E0805 for what does not divide or is not there. */
bool training_check(const struct generate_model *model, const struct generate_training *p, struct diag_list *diags);
/* Layers of the first, middle and last chunk: as many in each or, when that does not divide, fewer in the first and the
 * last, which have the embedding and the head too. False when one would have none. */
bool training_chunk_layers(uint32_t layers, uint32_t chunks, uint32_t counts[3]);
void training_set_axes(struct training *t);

#endif
