/* Policy static: the SRAM is split once for the whole program, one part for the step that runs and its live values, the rest
 * for preloads. Best of a sweep over the split and over how steps pick their preload states. */
#include "plan/policy_build.h"

#include <stdlib.h>

/* Splits tried. Chains with more useful ones get this many, evenly spaced in rank; then the neighbours of the best. */
#define SPLITS_MAX 64u

struct splits {
  uint64_t *bytes; /* execution space; ascending, distinct */
  uint32_t count;
};

static int compare_bytes(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* Spaces at which some step's choice changes: hot bytes of options with the live bytes around them, from the largest of the
 * smallest needs on. Live bytes are taken at their largest per set, which leaves at most sets x options splits. */
static bool find_splits(struct policy_build *build, struct splits *splits) {
  const struct plan_chain *chain = build->chain;
  size_t options = 1;
  for (uint32_t s = 0; s < chain->set_count; s++) {
    options += chain->sets[s].execute_count;
  }
  splits->bytes = arena_calloc(&build->scratch, options, sizeof *splits->bytes);
  uint64_t *live = arena_calloc(&build->scratch, chain->set_count, sizeof *live);
  if (splits->bytes == NULL || live == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < chain->step_count; i++) {
    uint64_t *most = &live[chain->steps[i].set];
    *most = chain->steps[i].live_bytes > *most ? chain->steps[i].live_bytes : *most;
  }
  uint32_t step;
  uint64_t least_bytes = plan_chain_smallest_sram(chain, &step);
  uint32_t count = 0;
  splits->bytes[count++] = least_bytes;
  for (uint32_t s = 0; s < chain->set_count; s++) {
    for (uint32_t e = 0; e < chain->sets[s].execute_count; e++) {
      uint64_t bytes = chain->sets[s].executes[e].hot_bytes + live[s];
      if (bytes > least_bytes && bytes <= chain->sram_bytes) {
        splits->bytes[count++] = bytes;
      }
    }
  }
  qsort(splits->bytes, count, sizeof *splits->bytes, compare_bytes);
  splits->count = 0;
  for (uint32_t k = 0; k < count; k++) {
    if (splits->count == 0 || splits->bytes[splits->count - 1] != splits->bytes[k]) {
      splits->bytes[splits->count++] = splits->bytes[k];
    }
  }
  return true;
}

static bool try_split(struct policy_build *build, uint64_t execution_bytes) {
  const struct plan_chain *chain = build->chain;
  bool better = false;
  for (int taste = 0; taste < POLICY_TASTE_COUNT; taste++) {
    for (uint32_t i = 0; i < chain->step_count; i++) {
      struct plan_decision *decision = &build->draft.decisions[i];
      struct policy_option option =
          policy_pick(chain, i, (enum policy_taste)taste, execution_bytes - chain->steps[i].live_bytes);
      decision->preload = (uint16_t)option.preload;
      decision->execute = (uint16_t)option.execute;
      build->room[i] = chain->sram_bytes - execution_bytes;
    }
    policy_release_early(build);
    better |= policy_offer(build);
  }
  return better;
}

static void sweep(struct policy_build *build, const struct splits *splits) {
  uint32_t tried = splits->count < SPLITS_MAX ? splits->count : SPLITS_MAX;
  uint32_t best = 0;
  for (uint32_t k = 0; k < tried; k++) {
    uint32_t at = tried == 1 ? 0 : (uint32_t)((uint64_t)k * (splits->count - 1) / (tried - 1));
    best = try_split(build, splits->bytes[at]) ? at : best;
  }
  if (tried == splits->count) {
    build->result->stats.complete = true;
    return;
  }
  uint32_t gap = splits->count / tried + 1;
  uint32_t first = best > gap ? best - gap : 0;
  uint32_t last = best + gap < splits->count ? best + gap : splits->count - 1;
  for (uint32_t at = first; at <= last; at++) {
    try_split(build, splits->bytes[at]);
  }
}

static enum status run(const struct plan_chain *chain, const struct plan_policy_options *options, struct arena *arena,
                       struct plan_policy_result *result, uint32_t *step) {
  struct policy_build build;
  enum status status = policy_build_init(&build, chain, options, arena, result, step);
  if (status == STATUS_OK) {
    struct splits splits;
    if (find_splits(&build, &splits)) {
      sweep(&build, &splits);
    } else {
      status = STATUS_MEMORY;
    }
  }
  policy_build_release(&build);
  return status;
}

const struct plan_policy plan_policy_static = {
    .name = "static",
    .summary = "one fixed split of the SRAM into execution and preload space, best of a sweep",
    .run = run,
};
