/* Long periodic chains like a decoder's, for the tests of planning: every layer loads its projections and caches, with short
 * steps without loads between them. The shapes are invented; sizes and times are of the order of a chip with 624 KiB per
 * core, 2.7 GB/s of memory and 5.5 GB/s of link for each. */
#ifndef RIDGELINE_TESTS_PLAN_DECODER_H
#define RIDGELINE_TESTS_PLAN_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/plan_chain.h"

enum { DECODER_PRELOADS = 12, DECODER_EXECUTES = 32 };

/* One sort of step: bytes per core from memory in its thinnest state, arithmetic, exchange in its thinnest plan. */
struct decoder_sort {
  uint64_t loaded_bytes;
  int64_t compute_ps, shift_ps;
};

static const struct decoder_sort decoder_sorts[] = {
    {28 * 1024, 6000000, 9000000}, /* query, key and value */
    {57 * 1024, 3000000, 2000000}, /* scores: the cache of keys */
    {57 * 1024, 3000000, 2000000}, /* values: their cache */
    {10 * 1024, 3000000, 5000000}, /* output */
    {48 * 1024, 10000000, 14000000}, /* gate and up */
    {25 * 1024, 6000000, 8000000}, /* down */
    {0, 300000, 100000}, /* element by element */
    {0, 500000, 900000}, /* reduction */
};

/* Steps of one layer, as sorts. */
static const uint8_t decoder_layer[] = {7, 6, 6, 0, 6, 6, 6, 6, 1, 6, 7, 6, 6, 2, 3, 6, 7, 6, 6, 4, 6, 6, 6, 5, 6};

static inline void plan_decoder_set(const struct decoder_sort *sort, struct arena *arena, struct plan_choice_set *set) {
  bool loads = sort->loaded_bytes > 0;
  set->execute_count = DECODER_EXECUTES;
  set->preload_count = loads ? DECODER_PRELOADS : 1;
  set->loss_ps = 0;
  struct plan_preload *preloads = arena_calloc(arena, set->preload_count, sizeof *preloads);
  struct plan_execute *executes = arena_calloc(arena, set->execute_count, sizeof *executes);
  int64_t *distribute_ps = arena_calloc(arena, (size_t)set->preload_count * set->execute_count, sizeof *distribute_ps);
  for (uint32_t p = 0; loads && p < set->preload_count; p++) {
    preloads[p].cold_bytes = sort->loaded_bytes * (4 + p) / 4;
    preloads[p].memory_ps = (int64_t)(sort->loaded_bytes * 370); /* 2.7 GB/s */
    preloads[p].link_ps = (int64_t)(preloads[p].cold_bytes * 182); /* 5.5 GB/s */
  }
  for (uint32_t e = 0; e < set->execute_count; e++) {
    /* more memory: less to shift, in 1 / bytes */
    executes[e].hot_bytes = sort->loaded_bytes + 12 * 1024 + (sort->loaded_bytes + 8 * 1024) * e / 4;
    executes[e].compute_ps = sort->compute_ps;
    executes[e].shift_ps = sort->shift_ps * 8 / (8 + (int64_t)e);
    executes[e].serial_ps = 90000;
    for (uint32_t p = 0; p < set->preload_count; p++) {
      uint64_t spread = sort->loaded_bytes * (4 + e) / 4; /* what the execute state holds of the loaded tensor */
      int64_t *cell = &distribute_ps[(size_t)p * set->execute_count + e];
      *cell = preloads[p].cold_bytes > executes[e].hot_bytes ? PLAN_UNREACHABLE
              : loads && spread > preloads[p].cold_bytes     ? (int64_t)((spread - preloads[p].cold_bytes) * 91)
                                                             : 0;
    }
  }
  set->preloads = preloads;
  set->executes = executes;
  set->distribute_ps = distribute_ps;
}

/* False when memory is exhausted. */
static inline bool plan_decoder_chain(uint32_t layers, uint64_t sram_bytes, struct arena *arena,
                                      struct plan_chain *chain) {
  const uint32_t length = (uint32_t)sizeof decoder_layer, sorts = sizeof decoder_sorts / sizeof decoder_sorts[0];
  struct plan_choice_set *sets = arena_calloc(arena, sorts, sizeof *sets);
  struct plan_step *steps = arena_calloc(arena, (size_t)layers * length, sizeof *steps);
  if (sets == NULL || steps == NULL) {
    return false;
  }
  for (uint32_t s = 0; s < sorts; s++) {
    plan_decoder_set(&decoder_sorts[s], arena, &sets[s]);
  }
  for (uint32_t i = 0; i < layers * length; i++) {
    steps[i] = (struct plan_step){.set = decoder_layer[i % length], .live_bytes = 4096, .layer = i / length};
  }
  *chain = (struct plan_chain){
      .step_count = layers * length, .set_count = sorts, .steps = steps, .sets = sets, .sram_bytes = sram_bytes};
  return !arena->is_exhausted;
}

#endif
