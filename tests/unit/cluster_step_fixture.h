/* Small work graphs with times that are given, and collectives that take one microsecond per byte: schedules that can be
 * drawn by hand. */
#ifndef RIDGELINE_TESTS_CLUSTER_STEP_FIXTURE_H
#define RIDGELINE_TESTS_CLUSTER_STEP_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/step.h"

enum { TOY_TASKS = 256, TOY_READS = 8 };

struct toy {
  struct work_graph *graph;
  struct work_task_result tasks[TOY_TASKS];
  struct work_graph_result inside[4];
  struct work_graph_result result;
};

static inline struct toy *toy_new(struct work_graph *graph) {
  struct toy *toy = calloc(1, sizeof *toy);
  assert_non_null(toy);
  toy->graph = graph ? graph : work_graph_new();
  toy->result = (struct work_graph_result){.tasks = toy->tasks, .subgraphs = toy->inside};
  return toy;
}

static inline uint32_t toy_tensor(struct toy *toy, enum work_tensor_role role) {
  return work_tensor_add(toy->graph, DTYPE_F32, (const int64_t[]){4}, 1, role);
}
static inline uint32_t toy_input(struct toy *toy) {
  uint32_t tensor = toy_tensor(toy, WORK_TENSOR_INPUT);
  assert_true(vec_push(&toy->graph->inputs, tensor));
  return tensor;
}

/* One stage over the tensors, one result. */
static inline uint32_t toy_add(struct toy *toy, struct work_task task, double us, const uint32_t *reads, unsigned n) {
  struct work_access accesses[TOY_READS + 1] = {{0}};
  struct work_axis axis = {.extent = 4, .role = WORK_AXIS_PARALLEL};
  struct work_stage stage = {.kind = task.kind, .dtype = DTYPE_F32, .read_count = (uint16_t)n};
  uint32_t result = toy_tensor(toy, WORK_TENSOR_INTERMEDIATE);
  for (unsigned i = 0; i < n; i++) {
    accesses[i] = (struct work_access){.tensor = reads[i], .touched_elements = 4};
  }
  accesses[n] = (struct work_access){.tensor = result, .flags = WORK_ACCESS_WRITE, .touched_elements = 4};
  if (task.kind != WORK_LOOP && task.kind != WORK_CONDITIONAL) {
    work_stage_add(toy->graph, &stage, &axis, 1, NULL, 0, accesses, NULL, n + 1);
  }
  task.read_count = (uint16_t)n;
  task.label = intern_add_cstr(toy->graph->strings, "toy");
  uint32_t index = work_task_add(toy->graph, &task, accesses, n + 1);
  assert_true(index < TOY_TASKS);
  toy->tasks[index].time_s = us * 1e-6;
  toy->tasks[index].resource_s[WORK_BOUND_MATRIX] = us * 1e-6;
  return result;
}

#define TOY_COMPUTE(toy, us, ...)                                                                                      \
  toy_add(toy, (struct work_task){.kind = WORK_ELEMENTWISE}, us, (const uint32_t[]){__VA_ARGS__},                      \
          sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t))

/* `groups`: 0, or a number of a list of groups of all four devices in another order. */
static inline uint32_t toy_collective(struct toy *toy, enum work_collective_kind kind, uint64_t us, uint8_t flags,
                                      uint32_t groups, uint32_t read) {
  const uint32_t members[2][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}};
  struct work_collective collective = {.kind = (uint8_t)kind,
                                       .flags = flags,
                                       .group_count = 1,
                                       .group_size = 4,
                                       .groups =
                                           groups > 0 ? work_groups_add(toy->graph, 1, 4, members[groups - 1], 4) : 0,
                                       .bytes_per_rank = us,
                                       .input_bytes = us,
                                       .output_bytes = us};
  assert_true(vec_push(&toy->graph->collectives, collective));
  return toy_add(toy,
                 (struct work_task){.kind = WORK_COLLECTIVE, .collective = (uint32_t)toy->graph->collectives.count}, 0,
                 &read, 1);
}
static inline uint32_t toy_done(struct toy *toy, uint32_t read) {
  return toy_add(toy, (struct work_task){.kind = WORK_COLLECTIVE_DONE}, 0, &read, 1);
}

static inline void toy_output(struct toy *toy, uint32_t tensor) {
  toy->graph->tensors.data[tensor].is_output = true;
  assert_true(vec_push(&toy->graph->outputs, tensor));
}
static inline void toy_seal(struct toy *toy) {
  assert_int_equal(work_graph_seal(toy->graph), STATUS_OK);
}
static inline void toy_free(struct toy *toy) {
  work_graph_free(toy->graph);
  free(toy);
}

/* One microsecond per byte, times *context; all on the first dimension. */
static inline void toy_time(void *context, const struct collective_request *request, struct collective_result *result) {
  const double *factor = context;
  memset(result, 0, sizeof *result);
  result->time_s = request->bytes * 1e-6 * (factor != NULL ? *factor : 1);
  result->algorithm = "toy";
  result->protocol = "";
  result->sent_bytes[0] = request->bytes;
}

struct toy_system {
  struct hw_cluster cluster;
  struct hw_slice slice;
  struct hw_chip device;
  struct step_pricing pricing;
  struct step_options options;
};
/* `devices` on one switch; collectives take nothing from compute unless the library says so. */
static inline void toy_system_init(struct toy_system *system, uint32_t devices) {
  memset(system, 0, sizeof *system);
  system->cluster = (struct hw_cluster){.id = "toy", .chip_share = 1, .library = "", .dimension_count = 1};
  system->cluster.dimensions[0] = (struct hw_dimension){
      .name = "link", .fabric = HW_FABRIC_SWITCH, .size = devices, .link_Bps = 1e9, .latency_s = 1e-6, .taper = 1};
  system->slice = (struct hw_slice){.size = {devices, 1, 1, 1}, .devices = devices};
  system->device = (struct hw_chip){.kind = HW_KIND_GPU, .cores = 100, .memory_size_bytes = 80e9};
  system->pricing.time = toy_time;
  system->options.pricing = &system->pricing;
}

/* The graph as a whole step on four devices. */
static inline struct step_program toy_program(const struct toy *toy, enum step_overlap overlap) {
  struct step_program program = {
      .overlap = overlap, .stages = 1, .chunks = 1, .microbatches = 1, .devices_per_stage = 4};
  program.parts[STEP_ONLY][STEP_WHOLE] = (struct step_part){.graph = toy->graph, .times = &toy->result};
  return program;
}

static inline void toy_run(const struct toy *toy, enum step_overlap overlap, const struct toy_system *system,
                           struct step_result *result) {
  struct diag_list diags;
  struct step_program program = toy_program(toy, overlap);
  diag_init(&diags);
  step_result_init(result);
  assert_int_equal(
      step_run(&program, &system->cluster, &system->slice, &system->device, &system->options, &diags, result),
      STATUS_OK);
  diag_release(&diags);
}

/* cmocka compares floats only. */
#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))
#define assert_us(seconds, us) assert_near((seconds)*1e6, us, 1e-6)

#endif
