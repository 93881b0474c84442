/* Sizes of attention on one device; see generate_training_heads.c. */
#ifndef RIDGELINE_GENERATE_GENERATE_TRAINING_HEADS_H
#define RIDGELINE_GENERATE_GENERATE_TRAINING_HEADS_H

#include "generate/generate_training_int.h"

struct training_heads {
  int64_t sequences, group, kv, size, value_size;
  int64_t queries, keys, values; /* columns */
};
struct training_heads training_heads_of(const struct training *t);

#endif
