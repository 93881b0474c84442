/* Small plan programs and chips made by hand, for the tests of chips, costs and sets. */
#ifndef RIDGELINE_TESTS_PLAN_FIXTURE_H
#define RIDGELINE_TESTS_PLAN_FIXTURE_H

#include <string.h>

#include "plan/plan_sets.h"

/* Round numbers: 1 GHz, 1 GB/s per port, so that a byte and a cycle take a nanosecond each. */
static inline struct plan_chip plan_fixture_chip(uint32_t cores, uint64_t sram_bytes) {
  struct plan_chip chip = {.id = "round", .cores = cores, .cores_per_chip = cores, .sram_bytes = sram_bytes};
  chip.clock_Hz = 1e9;
  chip.link_Bps = 1e9;
  chip.cross_chip_factor = 1;
  chip.sync_cycles = 100;
  chip.can_overlap = true;
  chip.has_memory = true;
  chip.memory_Bps = 4e9;
  chip.memory_efficiency = 1;
  chip.matrix_rows = 6;
  chip.matrix_depth = chip.matrix_columns = 16;
  chip.matrix_block_cycles = 24;
  chip.matrix_load_cycles = 514;
  chip.matrix_column_cycles = 113;
  chip.matrix_call_cycles = 173;
  chip.stages[PLAN_STAGE_ELEMENTWISE] = (struct plan_stage_rate){0.75, 290};
  chip.stages[PLAN_STAGE_UNARY] = (struct plan_stage_rate){0.5, 200};
  chip.stages[PLAN_STAGE_REDUCE] = (struct plan_stage_rate){0.25, 175};
  chip.stages[PLAN_STAGE_COPY] = (struct plan_stage_rate){0.56, 118};
  chip.stages[PLAN_STAGE_GATHER] = (struct plan_stage_rate){0.5, 300};
  chip.reduce_short_cycles = 1.5;
  chip.reduce_short_limit_cycles = 120.25;
  chip.elementwise_long_cycles = 0.5;
  chip.elementwise_long_floor_cycles = 8517;
  chip.matrix_rate_factor[DTYPE_F16] = 1;
  chip.matrix_rate_factor[DTYPE_F32] = 0.25;
  plan_chip_set_topology(&chip, PLAN_ALL_TO_ALL, 0, 0);
  return chip;
}

static inline void plan_fixture_add(struct plan_program *program, uint32_t axis_count, const uint64_t *extents,
                                    uint32_t tensor_count, const struct plan_tensor *tensors, uint32_t stage_count,
                                    const struct plan_stage *stages) {
  struct plan_operator op = {.layer = UINT32_MAX,
                             .sort = program->sort_count++,
                             .axis_count = (uint8_t)axis_count,
                             .tensor_count = (uint8_t)tensor_count,
                             .stage_count = (uint8_t)stage_count,
                             .merged = 1,
                             .tensor_first = (uint32_t)program->tensors.count,
                             .stage_first = (uint32_t)program->stages.count};
  memcpy(op.extents, extents, axis_count * sizeof *extents);
  for (uint32_t t = 0; t < tensor_count; t++) {
    struct plan_tensor tensor = tensors[t];
    if (tensor.source == PLAN_SOURCE_MEMORY && !tensor.is_output) {
      tensor.memory_bytes = tensor.element_bits;
      for (uint32_t a = 0; a < axis_count; a++) {
        tensor.memory_bytes *= (tensor.axes >> a & 1) != 0 ? extents[a] : 1;
      }
      tensor.memory_bytes = (tensor.memory_bytes + 7) / 8;
    }
    (void)vec_push(&program->tensors, tensor);
  }
  for (uint32_t s = 0; s < stage_count; s++) {
    (void)vec_push(&program->stages, stages[s]);
  }
  (void)vec_push(&program->operators, op);
}

/* C[m, n] = A[m, k] B[k, n]; axes in the order m, n, k; A lies on the chip, B in memory. */
enum { PLAN_M = 1, PLAN_N = 2, PLAN_K = 4 };
static inline void plan_fixture_add_dot(struct plan_program *program, uint64_t m, uint64_t n, uint64_t k,
                                        uint16_t weight_bits) {
  const struct plan_tensor tensors[] = {
      {.axes = PLAN_M | PLAN_K, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .producer = 1},
      {.axes = PLAN_N | PLAN_K, .element_bits = weight_bits, .source = PLAN_SOURCE_MEMORY},
      {.axes = PLAN_M | PLAN_N, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .is_output = true},
  };
  const struct plan_stage stage = {.kind = PLAN_STAGE_MATRIX,
                                   .axes = PLAN_M | PLAN_N | PLAN_K,
                                   .reduced = PLAN_K,
                                   .left = PLAN_M | PLAN_K,
                                   .right = PLAN_N | PLAN_K,
                                   .result_bits = 16,
                                   .operations = 1};
  plan_fixture_add(program, 3, (const uint64_t[]){m, n, k}, 3, tensors, 1, &stage);
}

/* y[m, h] = x[m, h] / norm of x over h * w[h], fused: axes m, h. */
static inline void plan_fixture_add_norm(struct plan_program *program, uint64_t m, uint64_t h) {
  const struct plan_tensor tensors[] = {
      {.axes = 3, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .producer = 1},
      {.axes = 2, .element_bits = 16, .source = PLAN_SOURCE_MEMORY},
      {.axes = 3, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .is_output = true},
  };
  const struct plan_stage stages[] = {
      {.kind = PLAN_STAGE_UNARY, .axes = 3, .result_bits = 16, .operations = 1},
      {.kind = PLAN_STAGE_REDUCE, .axes = 3, .reduced = 2, .result_bits = 32, .operations = 1},
      {.kind = PLAN_STAGE_ELEMENTWISE, .axes = 3, .result_bits = 16, .operations = 2},
  };
  plan_fixture_add(program, 2, (const uint64_t[]){m, h}, 3, tensors, 3, stages);
}

static inline void plan_fixture_release(struct plan_program *program) {
  vec_release(&program->operators);
  vec_release(&program->tensors);
  vec_release(&program->stages);
}

static inline struct plan_partition plan_fixture_partition(const uint32_t *spatial, uint32_t axis_count) {
  struct plan_partition partition;
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    partition.spatial[a] = a < axis_count ? spatial[a] : 1;
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      partition.temporal[s][a] = 1;
    }
  }
  return partition;
}

#endif
