/* A pipeline of two stages of two devices, two micro-batches, 1F1B, by hand: small enough to know every node and slice.
 * Shared by the tests of step reports and traces. */
#ifndef RIDGELINE_TESTS_STEP_FIXTURE_H
#define RIDGELINE_TESTS_STEP_FIXTURE_H

#include "cluster/step.h"
#include "report/report_step.h"
#include "report_fixture.h"

enum { STEP_SHARD = 256, STEP_BUFFER = 512, STEP_BOUNDARY = 4096 };

struct step_fixture {
  struct work_graph *forward, *backward, *update;
  struct work_result times[3];
  struct step_program program;
  struct step_result result;
  struct hw_cluster cluster;
  struct hw_slice slice;
  struct hw_chip chip;
  struct report_step_row row;
  struct report_step report;
};

static inline uint32_t step_tensor(struct work_graph *g, int64_t elements, enum work_tensor_role role) {
  return work_tensor_add(g, DTYPE_F32, &elements, 1, role);
}

/* One operand, one result. */
static inline void step_task(struct work_graph *g, enum work_kind kind, const char *label, uint32_t in, uint32_t out,
                             uint32_t collective) {
  struct work_axis axis = {.extent = 64, .role = WORK_AXIS_PARALLEL};
  struct work_op add = {WORK_ENGINE_VECTOR, DTYPE_F32, WORK_FUNCTION_NONE, 1};
  struct work_access accesses[] = {fixture_access(in, 0, g->tensors.data[in].element_count),
                                   fixture_access(out, WORK_ACCESS_WRITE, g->tensors.data[out].element_count)};
  struct work_stage stage = {
      .kind = (uint8_t)kind, .dtype = DTYPE_F32, .read_count = 1, .label = fixture_label(g, label)};
  work_stage_add(g, &stage, &axis, 1, &add, collective ? 0 : 1, accesses, NULL, 2);
  struct work_task task = {
      .kind = (uint8_t)kind, .read_count = 1, .collective = collective, .label = fixture_label(g, label)};
  work_task_add(g, &task, accesses, 2);
}

static inline uint32_t step_collective(struct work_graph *g, enum work_collective_kind kind, uint32_t groups,
                                       uint64_t input, uint64_t output) {
  struct work_collective c = {.kind = (uint8_t)kind,
                              .group_count = g->groups.data[groups - 1].count,
                              .group_size = 2,
                              .groups = groups,
                              .bytes_per_rank = input > output ? input : output,
                              .input_bytes = input,
                              .output_bytes = output};
  vec_push(&g->collectives, c);
  return (uint32_t)g->collectives.count;
}

static inline void step_seal(struct work_graph *g, uint32_t in, uint32_t out) {
  vec_push(&g->inputs, in);
  vec_push(&g->outputs, out);
  g->tensors.data[out].is_output = true;
  if (work_graph_seal(g) != STATUS_OK) {
    abort();
  }
}

/* y = f(x); z = all_gather(y); r = g(z). */
static inline struct work_graph *step_forward(void) {
  struct work_graph *g = work_graph_new();
  uint32_t x = step_tensor(g, 64, WORK_TENSOR_INPUT), y = step_tensor(g, 64, WORK_TENSOR_INTERMEDIATE);
  uint32_t z = step_tensor(g, 128, WORK_TENSOR_INTERMEDIATE), r = step_tensor(g, 128, WORK_TENSOR_INTERMEDIATE);
  uint32_t groups = work_groups_add(g, 1, 2, (const uint32_t[]){0, 1}, 2);
  step_task(g, WORK_ELEMENTWISE, "exponential", x, y, 0);
  step_task(g, WORK_COLLECTIVE, "all_gather", y, z,
            step_collective(g, WORK_ALL_GATHER, groups, STEP_SHARD, STEP_BUFFER));
  step_task(g, WORK_ELEMENTWISE, "add", z, r, 0);
  step_seal(g, x, r);
  return g;
}

/* y = f(x); z = reduce_scatter(y); r = permute(z), a ring of the two. */
static inline struct work_graph *step_backward(void) {
  struct work_graph *g = work_graph_new();
  uint32_t x = step_tensor(g, 128, WORK_TENSOR_INPUT), y = step_tensor(g, 128, WORK_TENSOR_INTERMEDIATE);
  uint32_t z = step_tensor(g, 64, WORK_TENSOR_INTERMEDIATE), r = step_tensor(g, 64, WORK_TENSOR_INTERMEDIATE);
  uint32_t groups = work_groups_add(g, 1, 2, (const uint32_t[]){0, 1}, 2);
  uint32_t pairs = work_groups_add(g, 2, 2, (const uint32_t[]){0, 1, 1, 0}, 4);
  step_task(g, WORK_ELEMENTWISE, "multiply", x, y, 0);
  step_task(g, WORK_COLLECTIVE, "reduce_scatter", y, z,
            step_collective(g, WORK_REDUCE_SCATTER, groups, STEP_BUFFER, STEP_SHARD));
  step_task(g, WORK_COLLECTIVE, "collective_permute", z, r,
            step_collective(g, WORK_PERMUTE, pairs, STEP_SHARD, STEP_SHARD));
  step_seal(g, x, r);
  return g;
}

static inline struct work_graph *step_update(void) {
  struct work_graph *g = work_graph_new();
  uint32_t x = step_tensor(g, 64, WORK_TENSOR_INPUT), y = step_tensor(g, 64, WORK_TENSOR_INTERMEDIATE);
  uint32_t groups = work_groups_add(g, 1, 2, (const uint32_t[]){0, 1}, 2);
  uint32_t r = step_tensor(g, 64, WORK_TENSOR_INTERMEDIATE);
  step_task(g, WORK_COLLECTIVE, "all_reduce", x, y,
            step_collective(g, WORK_ALL_REDUCE, groups, STEP_SHARD, STEP_SHARD));
  step_task(g, WORK_ELEMENTWISE, "subtract", y, r, 0);
  step_seal(g, x, r);
  return g;
}

/* 0.3 us per operation: less than a whole microsecond, so that sums show whether rounding loses it. */
static const double step_operation_s = 0.3e-6;

static inline void step_times(struct work_result *result, const struct work_graph *g) {
  work_result_init(result);
  result->root.tasks = arena_calloc(&result->arena, g->tasks.count, sizeof *result->root.tasks);
  for (size_t i = 0; i < g->tasks.count; i++) {
    result->root.tasks[i].time_s = g->tasks.data[i].collective ? 0 : step_operation_s;
    result->root.time_s += result->root.tasks[i].time_s;
  }
}

static inline void step_span_add(struct step_fixture *f, uint16_t stage, enum step_role role, uint32_t microbatch,
                                 uint32_t task, uint8_t stream, sim_time_ps start_ps, sim_time_ps end_ps) {
  struct step_span span = {.start_ps = start_ps,
                           .end_ps = end_ps,
                           .task = task,
                           .microbatch = microbatch,
                           .stage = stage,
                           .role = (uint8_t)role,
                           .place = stage == 0 ? STEP_FIRST : STEP_LAST,
                           .stream = stream};
  vec_push(&f->result.spans, span);
}

/* Order of the passes of 1F1B: the first stage warms up with one forward pass more than the last. */
static inline void step_spans(struct step_fixture *f) {
  static const struct {
    uint8_t role, microbatch;
  } order[2][5] = {{{STEP_FORWARD, 0}, {STEP_FORWARD, 1}, {STEP_BACKWARD, 0}, {STEP_BACKWARD, 1}, {STEP_UPDATE, 0}},
                   {{STEP_FORWARD, 0}, {STEP_BACKWARD, 0}, {STEP_FORWARD, 1}, {STEP_BACKWARD, 1}, {STEP_UPDATE, 0}}};
  for (uint16_t stage = 2; stage-- > 0;) { /* not in the order of stages: whoever reads them sorts */
    for (uint32_t i = 0; i < 5; i++) {
      sim_time_ps start = 1000000u * (i + stage);
      step_span_add(f, stage, (enum step_role)order[stage][i].role, order[stage][i].microbatch,
                    order[stage][i].role == STEP_UPDATE ? 1 : 0, 0, start, start + 400000);
      step_span_add(f, stage, (enum step_role)order[stage][i].role, order[stage][i].microbatch,
                    order[stage][i].role == STEP_UPDATE ? 0 : 1, 1, start + 400000, start + 900000);
    }
  }
  step_span_add(f, 1, STEP_FORWARD, 0, UINT32_MAX, 0, 0, 1000000);
}

static inline void step_numbers(struct step_result *r) {
  r->time_s = 10e-3;
  r->low_s = 9e-3;
  r->high_s = 12e-3;
  r->compute_s = 6e-3;
  r->exposed_s = 2e-3;
  r->bubble_s = 1.5e-3;
  r->dispatch_s = 0.3e-3;
  r->straggler_s = 0.2e-3;
  r->exposed_by_kind_s[WORK_ALL_GATHER] = 1.5e-3;
  r->exposed_by_kind_s[WORK_SEND_RECV] = 0.5e-3;
  r->communication_s = 3e-3;
  r->contention_s = 0.5e-3;
  r->hardware_flops = 1e12;
  r->mfu = 0.4;
  r->hfu = 0.5;
  r->tokens_per_s = 1e6;
  r->samples_per_s = 500;
  r->energy_J = 28;
  r->price_usd = 0.00005;
  r->memory = (struct step_memory){.parameter_bytes = 20e9,
                                   .gradient_bytes = 10e9,
                                   .optimizer_bytes = 40e9,
                                   .activation_bytes = 25e9,
                                   .buffer_bytes = 1e9,
                                   .reserve_bytes = 4e9,
                                   .total_bytes = 100e9,
                                   .capacity_bytes = 80e9,
                                   .fits = false};
  r->devices = 4;
  struct step_collective_row gather = {.kind = WORK_ALL_GATHER,
                                       .group_size = 2,
                                       .bytes = STEP_BUFFER,
                                       .count = 2,
                                       .time_s = 2e-3,
                                       .exposed_s = 1.5e-3,
                                       .algorithm = "ring",
                                       .protocol = "simple"};
  struct step_collective_row send = {.kind = WORK_SEND_RECV,
                                     .group_size = 2,
                                     .bytes = STEP_BOUNDARY,
                                     .count = 2,
                                     .time_s = 1e-3,
                                     .exposed_s = 0.5e-3,
                                     .algorithm = "direct"};
  vec_push(&r->collectives, send);
  vec_push(&r->collectives, gather);
}

static inline void step_fixture_init(struct step_fixture *f) {
  memset(f, 0, sizeof *f);
  struct work_graph *graphs[] = {f->forward = step_forward(), f->backward = step_backward(), f->update = step_update()};
  static const enum step_role roles[] = {STEP_FORWARD, STEP_BACKWARD, STEP_UPDATE};
  for (int i = 0; i < 3; i++) {
    step_times(&f->times[i], graphs[i]);
    struct step_part part = {.graph = graphs[i], .times = &f->times[i].root};
    f->program.parts[STEP_FIRST][roles[i]] = f->program.parts[STEP_LAST][roles[i]] = part;
  }
  f->program.overlap = STEP_OVERLAP_NONE;
  f->program.schedule = STEP_1F1B;
  f->program.stages = 2;
  f->program.chunks = 1;
  f->program.microbatches = 2;
  f->program.devices_per_stage = 2;
  f->program.boundary_bytes = STEP_BOUNDARY;
  step_result_init(&f->result);
  step_numbers(&f->result);
  step_spans(f);
  f->cluster = (struct hw_cluster){.id = "acme_pod",
                                   .name = "Acme pod",
                                   .vendor = "Acme",
                                   .chip = "alpha",
                                   .chip_share = 1,
                                   .dimension_count = 1,
                                   .dimensions = {{.name = "mesh", .fabric = HW_FABRIC_SWITCH, .size = 8}}};
  f->slice = (struct hw_slice){.size = {4, 1, 1, 1}, .devices = 4};
  f->chip = (struct hw_chip){.id = "alpha", .name = "Alpha 1", .vendor = "Acme"};
  f->row = (struct report_step_row){
      .cluster = &f->cluster, .slice = &f->slice, .chip = &f->chip, .program = &f->program, .result = &f->result};
  f->report = (struct report_step){.program = "tiny.mlir",
                                   .version = "0.1.0",
                                   .fidelity = "roofline",
                                   .network = "analytic",
                                   .rows = &f->row,
                                   .count = 1,
                                   .top = 5};
}

static inline void step_fixture_release(struct step_fixture *f) {
  for (int i = 0; i < 3; i++) {
    work_result_release(&f->times[i]);
  }
  work_graph_free(f->forward);
  work_graph_free(f->backward);
  work_graph_free(f->update);
  step_result_release(&f->result);
}

#endif
