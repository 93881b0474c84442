/* Random sound plans of small programs, as plan files, one in six for a chip without memory: operators, legal partitions,
 * preload states, loads in nearly the order of steps, and the claims that the library makes of them. Included by one test
 * file at a time, after cmocka. */
#ifndef RIDGELINE_TESTS_PLAN_FILE_RANDOM_H
#define RIDGELINE_TESTS_PLAN_FILE_RANDOM_H

#include <string.h>

#include "plan/plan_file.h"
#include "plan/plan_validate.h"
#include "plan_random.h"

enum { STEPS_MAX = 7, CORES = 64 };

/* A plan with room of its own for all that an error may be planted in. */
struct plan {
  struct plan_file file;
  struct plan_file_step steps[STEPS_MAX];
  struct plan_program program;
  struct plan_operator operators[STEPS_MAX];
  struct plan_tensor tensors[3 * STEPS_MAX];
  struct plan_stage stages[STEPS_MAX];
};

/* The chip of the issue, scaled to 64 cores on two chips. */
static struct plan_chip test_chip(void) {
  struct plan_chip chip = {.id = "test",
                           .cores = CORES,
                           .cores_per_chip = 32,
                           .sram_bytes = 624 << 10,
                           .clock_Hz = 1.325e9,
                           .link_Bps = 5.5e9,
                           .cross_chip_factor = 1.25,
                           .sync_cycles = 118,
                           .can_overlap = true,
                           .has_memory = true,
                           .memory_Bps = 1.7e11,
                           .memory_efficiency = 0.9,
                           .matrix_rows = 6,
                           .matrix_depth = 16,
                           .matrix_columns = 16,
                           .matrix_block_cycles = 24,
                           .matrix_load_cycles = 514,
                           .matrix_column_cycles = 113,
                           .matrix_call_cycles = 173};
  for (uint32_t k = 0; k < PLAN_STAGE_KIND_COUNT; k++) {
    chip.stages[k] = (struct plan_stage_rate){0.5, 200};
  }
  chip.matrix_rate_factor[dtype_parse("f16", 3)] = 1;
  plan_chip_set_topology(&chip, PLAN_ALL_TO_ALL, 0, 0);
  return chip;
}

/* ---- random operators ---- */

static uint64_t bytes_along(const struct plan_operator *op, uint16_t axes) {
  uint64_t elements = 1;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    elements *= (axes >> a & 1) != 0 ? op->extents[a] : 1;
  }
  return elements * 2;
}

/* Operators alike in a row, the last of them `last`. */
static uint32_t alike_before(const struct plan_program *program, uint32_t last) {
  const struct plan_operator *ops = program->operators.data;
  uint32_t count = 1;
  while (count <= last && ops[last - count].axis_count == ops[last].axis_count
         && memcmp(ops[last - count].extents, ops[last].extents, sizeof ops[last].extents) == 0) {
    count++;
  }
  return count;
}

/* The last operator again: the next part of what it makes. */
static void add_twin(struct plan_program *program) {
  struct plan_operator op = program->operators.data[program->operators.count - 1];
  const uint32_t tensor = op.tensor_first, stage = op.stage_first;
  op.tensor_first = (uint32_t)program->tensors.count;
  op.stage_first = (uint32_t)program->stages.count;
  for (uint32_t t = 0; t < op.tensor_count; t++) {
    struct plan_tensor copy = program->tensors.data[tensor + t];
    assert_true(vec_push(&program->tensors, copy));
  }
  struct plan_stage copy = program->stages.data[stage];
  assert_true(vec_push(&program->stages, copy));
  assert_true(vec_push(&program->operators, op));
}

static void add_operator(struct plan_random *random, struct plan_program *program, bool is_product) {
  uint32_t index = (uint32_t)program->operators.count;
  struct plan_operator op = {.axis_count = is_product ? 3 : 2,
                             .tensor_count = 3,
                             .stage_count = 1,
                             .merged = 1,
                             .layer = UINT32_MAX,
                             .tensor_first = (uint32_t)program->tensors.count,
                             .stage_first = (uint32_t)program->stages.count};
  for (uint32_t a = 0; a < op.axis_count; a++) {
    op.extents[a] = plan_random_in(random, 3, 200);
  }
  /* product: m, n, k; else rows and columns, with a vector along the columns */
  const uint16_t product[] = {5, 6, 3}, vector[] = {3, 2, 3};
  const uint16_t *axes = is_product ? product : vector;
  for (uint32_t t = 0; t < 3; t++) {
    struct plan_tensor tensor = {.axes = axes[t], .element_bits = 16, .source = PLAN_SOURCE_CHIP, .is_output = t == 2};
    if (t == 0 && index > 0) {
      tensor.producer = (uint32_t)plan_random_in(random, 1, index);
      tensor.producer_parts = (uint32_t)plan_random_in(random, 1, alike_before(program, tensor.producer - 1));
      tensor.is_view = true;
    } else if (t < 2) {
      tensor.source = PLAN_SOURCE_MEMORY;
      tensor.memory_bytes = bytes_along(&op, axes[t]);
    }
    assert_true(vec_push(&program->tensors, tensor));
  }
  struct plan_stage stage = {.kind = is_product ? PLAN_STAGE_MATRIX : PLAN_STAGE_ELEMENTWISE,
                             .axes = is_product ? 7 : 3,
                             .reduced = is_product ? 4 : 0,
                             .left = is_product ? 5 : 0,
                             .right = is_product ? 6 : 0,
                             .result_bits = 16,
                             .operations = 1};
  assert_true(vec_push(&program->stages, stage));
  assert_true(vec_push(&program->operators, op));
}

/* ---- random decisions ---- */

static struct plan_partition random_partition(struct plan_random *random, const struct plan_program *program,
                                              const struct plan_operator *op, uint32_t cores) {
  struct core_fault fault;
  struct plan_partition p;
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    p.spatial[a] = p.temporal[0][a] = p.temporal[1][a] = p.temporal[2][a] = 1;
  }
  do {
    for (uint32_t a = 0; a < op->axis_count; a++) {
      p.spatial[a] = (uint32_t)plan_random_in(random, 1, op->extents[a] < 8 ? op->extents[a] : 8);
    }
  } while (plan_partition_cores(&p) > cores);
  for (uint32_t tries = 0; tries < 8; tries++) {
    uint32_t s = (uint32_t)plan_random_in(random, 0, 2), a = (uint32_t)plan_random_in(random, 0, op->axis_count - 1u);
    uint16_t kept = p.temporal[s][a];
    p.temporal[s][a] = (uint16_t)(kept * plan_random_in(random, 2, 4));
    if (!plan_validate(program, op, &p, cores, NULL, &fault)) {
      p.temporal[s][a] = kept;
    }
  }
  return p;
}

static struct plan_partition random_preload(struct plan_random *random, const struct plan_program *program,
                                            const struct plan_operator *op, const struct plan_partition *hot) {
  struct core_fault fault;
  struct plan_partition cold = *hot;
  for (uint32_t tries = 0; tries < 4; tries++) {
    uint32_t s = (uint32_t)plan_random_in(random, 0, 1), a = (uint32_t)plan_random_in(random, 0, op->axis_count - 1u);
    uint16_t kept = cold.temporal[s][a];
    cold.temporal[s][a] = (uint16_t)(kept * plan_random_in(random, 2, 4));
    if (!plan_validate_preload(program, op, &cold, hot, &fault)) {
      cold.temporal[s][a] = kept;
    }
  }
  return cold;
}

static void claim_costs(struct plan *plan, uint32_t index, uint64_t live_bytes) {
  struct plan_file_step *step = &plan->steps[index];
  const struct plan_operator *op = &plan->operators[index];
  const struct plan_cost_model *model = &plan_cost_closed_form;
  struct plan_tile_cost cost;
  (void)model->tile(&plan->file.chip, &plan->file.features, &plan->program, op, &step->execute, &cost);
  step->cost = (struct plan_execute){cost.hot_bytes, cost.compute_ps, cost.shift_ps, cost.serial_ps};
  model->load(&plan->file.chip, &plan->program, op, &step->preload, &step->load);
  step->distribute_ps = model->distribute_ps(&plan->file.chip, &plan->program, op, &step->preload, &step->execute);
  step->live_bytes = live_bytes;
  if (!plan->file.chip.has_memory) {
    step->load = (struct plan_preload){0};
  }
  assert_true(step->distribute_ps >= 0);
}

/* Without a memory all tensors lie on the chip all the time, in their preload states. */
static void claim_kept(struct plan *plan) {
  uint64_t kept[STEPS_MAX], sum = 0;
  for (uint32_t i = 0; i < plan->file.step_count; i++) {
    struct plan_preload load;
    plan_cost_closed_form.load(&plan->file.chip, &plan->program, &plan->operators[i], &plan->steps[i].preload, &load);
    kept[i] = load.cold_bytes;
    sum += kept[i];
  }
  for (uint32_t i = 0; i < plan->file.step_count; i++) {
    plan->steps[i].live_bytes += sum - kept[i];
  }
}

/* Loads in nearly the order of steps, released at random. */
static void random_loads(struct plan_random *random, struct plan *plan, uint32_t *order) {
  uint32_t count = 0, release = 0;
  for (uint32_t i = 0; i < plan->file.step_count; i++) {
    plan->steps[i].load_order = PLAN_NO_LOAD;
    plan->steps[i].release = i;
    plan->steps[i].priority = plan_random_in(random, 0, 1) == 0 ? PLAN_EXCHANGE_FIRST : PLAN_PRELOAD_FIRST;
    if (plan->steps[i].load.memory_ps > 0) {
      order[count++] = i;
    }
  }
  for (uint32_t k = 1; k < count; k++) {
    if (plan_random_in(random, 0, 4) == 0) {
      uint32_t step = order[k];
      order[k] = order[k - 1];
      order[k - 1] = step;
    }
  }
  for (uint32_t k = 0; k < count; k++) {
    uint32_t latest = order[k];
    for (uint32_t j = k; j < count; j++) {
      latest = order[j] < latest ? order[j] : latest;
    }
    release = (uint32_t)plan_random_in(random, release, latest);
    plan->steps[order[k]].load_order = k;
    plan->steps[order[k]].release = release;
  }
  plan->file.load_count = count;
}

/* What the library's own chain, check, timeline and bounds say about the decisions becomes the claim. */
static void claim_times(struct plan *plan, uint32_t *order) {
  struct plan_step steps[STEPS_MAX];
  struct plan_choice_set sets[STEPS_MAX];
  struct plan_decision decisions[STEPS_MAX];
  struct plan_interval intervals[STEPS_MAX];
  const char *reason = NULL;
  uint32_t count = plan->file.step_count;
  for (uint32_t i = 0; i < count; i++) {
    struct plan_file_step *step = &plan->steps[i];
    steps[i] = (struct plan_step){i, step->live_bytes, UINT32_MAX};
    sets[i] = (struct plan_choice_set){1, 1, &step->cost, &step->load, &step->distribute_ps, 0};
    decisions[i] = (struct plan_decision){0, 0, step->release, step->priority};
  }
  struct plan_chain chain = {count, count, steps, sets, UINT32_MAX, plan->file.features.overlap};
  struct plan_schedule schedule = {decisions, order, plan->file.load_count};
  plan->file.totals.steps = intervals;
  assert_int_equal(plan_schedule_check(&chain, &schedule, &reason), UINT32_MAX);
  plan_timeline_run(&chain, &schedule, plan->file.contention, &plan->file.totals);
  for (uint32_t i = 0; i < count; i++) {
    plan->steps[i].at = intervals[i];
  }
  plan->file.totals.steps = NULL;
  plan->file.chip.sram_bytes = chain.sram_bytes = plan->file.totals.peak_bytes + 3;
  plan_bounds_of(&chain, &plan->file.bounds);
  plan_resource_bound_of(&plan->program, &plan->file.chip, &plan->file.resource);
}

/* Own arrays instead of the vectors', so that a plan is copied with its structure. */
static void repoint(struct plan *plan) {
  plan->program.operators.data = plan->operators;
  plan->program.tensors.data = plan->tensors;
  plan->program.stages.data = plan->stages;
  plan->file.program = &plan->program;
  plan->file.steps = plan->steps;
}

static void random_plan(struct plan_random *random, struct plan *plan, struct plan_program *made) {
  memset(plan, 0, sizeof *plan);
  plan_program_init(made);
  uint32_t count = (uint32_t)plan_random_in(random, 2, STEPS_MAX);
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0 && plan_random_in(random, 0, 2) == 0) {
      add_twin(made);
    } else {
      add_operator(random, made, plan_random_in(random, 0, 2) > 0);
    }
  }
  assert_int_equal(plan_program_seal(made), STATUS_OK);
  plan->program = *made;
  memcpy(plan->operators, made->operators.data, count * sizeof plan->operators[0]);
  memcpy(plan->tensors, made->tensors.data, made->tensors.count * sizeof plan->tensors[0]);
  memcpy(plan->stages, made->stages.data, count * sizeof plan->stages[0]);
  repoint(plan);
  plan->file.policy = "random";
  plan->file.chip = test_chip();
  plan->file.chip.has_memory = plan_random_in(random, 0, 5) > 0;
  plan->file.step_count = count;
  plan->file.contention = plan_random_in(random, 0, 3) > 0;
  plan->file.features.overlap = plan_random_in(random, 0, 1) == 0;
  plan->file.features.tree_reduction = plan_random_in(random, 0, 1) == 0;
  uint32_t order[STEPS_MAX];
  uint64_t live[STEPS_MAX];
  assert_int_equal(plan_program_live(&plan->program, CORES, live), STATUS_OK);
  for (uint32_t i = 0; i < count; i++) {
    struct plan_file_step *step = &plan->steps[i];
    step->execute = random_partition(random, &plan->program, &plan->operators[i], CORES);
    step->preload = random_preload(random, &plan->program, &plan->operators[i], &step->execute);
    claim_costs(plan, i, live[i]);
  }
  if (!plan->file.chip.has_memory) {
    claim_kept(plan);
  }
  random_loads(random, plan, order);
  claim_times(plan, order);
}

#endif
