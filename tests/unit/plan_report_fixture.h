/* A plan of three steps whose every figure is checked by hand; shared by the tests of reports of plans.
 *
 *   step  operator     layer  load                       on the cores            hot    live  cold while it runs
 *   0     dot_general  0      0..10 µs                   10..20 µs               40 KiB 0     20 KiB (step 2's)
 *   1     add          0      none                       20..23 µs               8 KiB  4 KiB 20 KiB
 *   2     dot_general  1      10..20 µs, release 0       23..33 µs               40 KiB 0     0
 *
 * A dot_general takes 1 µs of distribution, 1 µs of reduction, 6 µs of compute and 2 µs of rotation in turns. */
#ifndef RIDGELINE_TESTS_PLAN_REPORT_FIXTURE_H
#define RIDGELINE_TESTS_PLAN_REPORT_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "report/report_plan.h"

enum { FIXTURE_STEPS = 3, FIXTURE_US = 1000000 }; /* ps in a microsecond */

static const struct plan_execute fixture_dot_executes[] = {
    {.hot_bytes = 40960, .compute_ps = 6 * FIXTURE_US, .shift_ps = 2 * FIXTURE_US, .serial_ps = FIXTURE_US}};
static const struct plan_execute fixture_add_executes[] = {{.hot_bytes = 8192, .compute_ps = 3 * FIXTURE_US}};
static const struct plan_preload fixture_dot_preloads[] = {
    {.cold_bytes = 20480, .memory_ps = 10 * FIXTURE_US, .link_ps = 5 * FIXTURE_US}};
static const struct plan_preload fixture_add_preloads[] = {{0}};
static const int64_t fixture_dot_distribute[] = {FIXTURE_US};
static const int64_t fixture_add_distribute[] = {0};
static const struct plan_choice_set fixture_choices[] = {
    {1, 1, fixture_dot_executes, fixture_dot_preloads, fixture_dot_distribute, 0},
    {1, 1, fixture_add_executes, fixture_add_preloads, fixture_add_distribute, 0}};
static const struct plan_step fixture_steps[] = {{0, 0, 0}, {1, 4096, 0}, {0, 0, 1}};
static const struct plan_partition fixture_partitions[] = {{.spatial = {1, 4, 1, 1, 1, 1, 1, 1}}};
static struct plan_set fixture_sets[] = {{.executes = fixture_partitions, .plans_seen = 1200, .plans_pruned = 34},
                                         {.plans_seen = 5}};
static struct plan_decision fixture_decisions[] = {{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}};
static uint32_t fixture_order[] = {0, 2};
static struct plan_interval fixture_intervals[] = {
    {0, 10 * FIXTURE_US, 10 * FIXTURE_US, 20 * FIXTURE_US, 61440},
    {20 * FIXTURE_US, 20 * FIXTURE_US, 20 * FIXTURE_US, 23 * FIXTURE_US, 32768},
    {10 * FIXTURE_US, 20 * FIXTURE_US, 23 * FIXTURE_US, 33 * FIXTURE_US, 40960}};
static const struct plan_policy fixture_joint = {.name = "joint"}, fixture_static = {.name = "static"},
                                fixture_exact = {.name = "exact"},
                                fixture_ideal = {.name = "ideal", .is_reference = true};

static inline void fixture_operator(struct plan_program *program, const char *name, uint32_t layer, uint32_t sort) {
  struct plan_operator op = {.name = intern_add_cstr(program->strings, name),
                             .layer = layer,
                             .sort = sort,
                             .axis_count = 3,
                             .merged = 1,
                             .extents = {32, 64, 128}};
  (void)vec_push(&program->operators, op);
}

/* Rows: static (36 µs, all else as joint's), ideal (30 µs), joint, exact (too large). */
static inline struct plan_row *fixture_rows(void) {
  struct plan_row *rows = calloc(4, sizeof *rows);
  struct plan_row row = {.policy = &fixture_joint,
                         .gap_space = 0.1,
                         .gap_resource = 0.65,
                         .memory_utilisation = 20.0 / 33,
                         .link_utilisation = 0.5,
                         .compute_utilisation = 0.25,
                         .search_s = 0.125,
                         .result = {.schedule = {fixture_decisions, fixture_order, 2},
                                    .timeline = {.steps = fixture_intervals,
                                                 .makespan_ps = 33 * FIXTURE_US,
                                                 .memory_busy_ps = 20 * FIXTURE_US,
                                                 .compute_ps = 15 * FIXTURE_US,
                                                 .stall_load_ps = 10 * FIXTURE_US,
                                                 .peak_bytes = 61440},
                                    .stats = {.labels = 7, .schedules = 2, .complete = true}}};
  rows[0] = rows[1] = rows[2] = row;
  rows[0].policy = &fixture_static;
  rows[0].result.timeline.makespan_ps = 36 * FIXTURE_US;
  rows[1].policy = &fixture_ideal;
  rows[1].result.timeline.makespan_ps = 30 * FIXTURE_US;
  rows[3] = (struct plan_row){.policy = &fixture_exact, .status = STATUS_LIMIT};
  return rows;
}

static inline struct plan_result *fixture_result(void) {
  static const struct plan_step_share share = {"norms", 5, 3};
  struct plan_result *result = calloc(1, sizeof *result);
  struct plan_program *program = &result->program;
  arena_init(&program->arena, 0);
  program->strings = arena_calloc(&program->arena, 1, sizeof *program->strings);
  intern_init(program->strings, &program->arena);
  fixture_operator(program, "dot_general", 0, 0);
  fixture_operator(program, "add", 0, 1);
  fixture_operator(program, "dot_general", 1, 0);
  (void)vec_push(&program->shares, share);
  program->sort_count = 2;
  program->layer_count = 2;
  program->matrix_flop = 2e9;
  program->vector_flop = 3e6;
  program->memory_bytes = 200000;
  result->chip = (struct plan_chip){.id = "tiny",
                                    .cores = 4,
                                    .cores_per_chip = 4,
                                    .sram_bytes = 102400,
                                    .link_Bps = 1e9,
                                    .has_memory = true,
                                    .memory_Bps = 1e10};
  for (size_t i = 0; i < 2; i++) {
    (void)vec_push(&result->sets.sets, fixture_sets[i]);
  }
  result->sets.chain = (struct plan_chain){.step_count = FIXTURE_STEPS,
                                           .set_count = 2,
                                           .steps = fixture_steps,
                                           .sets = fixture_choices,
                                           .sram_bytes = 102400};
  result->bounds = (struct plan_bounds){30 * FIXTURE_US, 14 * FIXTURE_US, 30 * FIXTURE_US};
  result->resource = (struct plan_resource_bound){.memory_ps = 20 * FIXTURE_US, .bound_ps = 20 * FIXTURE_US};
  result->rows = fixture_rows();
  result->row_count = 4;
  result->read_s = 0.25;
  result->sets_s = 0.5;
  result->total_s = 1;
  return result;
}

static inline void fixture_free(struct plan_result *result) {
  struct plan_program *program = &result->program;
  intern_release(program->strings);
  vec_release(&program->operators);
  vec_release(&program->shares);
  arena_release(&program->arena);
  vec_release(&result->sets.sets);
  free(result->rows);
  free(result);
}

#endif
