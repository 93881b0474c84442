/* A program of three operations and invented predictions of it, small enough to check every printed figure by hand.
 * Shared by the tests of report/. */
#ifndef RIDGELINE_TESTS_REPORT_FIXTURE_H
#define RIDGELINE_TESTS_REPORT_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* Lines 2, 3 and 4 hold the operations, at these offsets. */
static const char fixture_text[] = "module {\n  dot_general\n  add\n  reduce\n}\n";
enum { FIXTURE_DOT = 11, FIXTURE_ADD = 25, FIXTURE_REDUCE = 31 };
static const struct source fixture_source = {"tiny.mlir", fixture_text, sizeof fixture_text - 1};

static inline struct work_access fixture_access(uint32_t tensor, uint8_t flags, uint64_t elements) {
  return (struct work_access){.tensor = tensor, .flags = flags, .touched_elements = elements};
}

static inline uint32_t fixture_label(struct work_graph *graph, const char *text) {
  return intern_add_cstr(graph->strings, text);
}

/* One stage that is the whole task; `reads` of the accesses read, one writes. */
static inline void fixture_task(struct work_graph *graph, enum work_kind kind, enum dtype dtype, const char *label,
                                uint32_t offset, const struct work_axis *axes, uint32_t axis_count, struct work_op op,
                                const struct work_access *accesses, uint8_t reads) {
  uint32_t name = fixture_label(graph, label);
  struct work_stage stage = {
      .kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .read_count = reads, .label = name, .source_offset = offset};
  work_stage_add(graph, &stage, axes, axis_count, &op, 1, accesses, NULL, reads + 1u);
  struct work_task task = {.kind = (uint8_t)kind, .read_count = reads, .label = name, .source_offset = offset};
  work_task_add(graph, &task, accesses, reads + 1u);
}

/* c = a · b (bf16 128×256 by 256×64, f32 result): 2·128·64·256 = 4,194,304 FLOP, 65,536 + 32,768 + 32,768 bytes.
 * d = c + c: 8,192 FLOP, 2·32,768 bytes.
 * e = sum of d along the second dimension: 8,192 - 128 FLOP, 32,768 + 512 bytes. */
static inline struct work_graph *fixture_graph(void) {
  struct work_graph *g = work_graph_new();
  uint32_t a = work_tensor_add(g, DTYPE_BF16, (int64_t[]){128, 256}, 2, WORK_TENSOR_INPUT);
  uint32_t b = work_tensor_add(g, DTYPE_BF16, (int64_t[]){256, 64}, 2, WORK_TENSOR_INPUT);
  uint32_t c = work_tensor_add(g, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INTERMEDIATE);
  uint32_t d = work_tensor_add(g, DTYPE_F32, (int64_t[]){128, 64}, 2, WORK_TENSOR_INTERMEDIATE);
  uint32_t e = work_tensor_add(g, DTYPE_F32, (int64_t[]){128}, 1, WORK_TENSOR_INTERMEDIATE);
  g->tensors.data[e].is_output = true;
  struct work_axis dot_axes[] = {{.extent = 128, .role = WORK_AXIS_ROW},
                                 {.extent = 64, .role = WORK_AXIS_COLUMN},
                                 {.extent = 256, .role = WORK_AXIS_REDUCTION}};
  struct work_axis add_axes[] = {{.extent = 128, .role = WORK_AXIS_PARALLEL},
                                 {.extent = 64, .role = WORK_AXIS_PARALLEL}};
  struct work_axis sum_axes[] = {{.extent = 128, .role = WORK_AXIS_PARALLEL},
                                 {.extent = 64, .role = WORK_AXIS_REDUCTION}};
  struct work_op multiply_add = {WORK_ENGINE_MATRIX, DTYPE_BF16, WORK_FUNCTION_NONE, 2};
  struct work_op add = {WORK_ENGINE_VECTOR, DTYPE_F32, WORK_FUNCTION_NONE, 1};
  struct work_access dot_accesses[] = {fixture_access(a, 0, 32768), fixture_access(b, 0, 16384),
                                       fixture_access(c, WORK_ACCESS_WRITE, 8192)};
  struct work_access add_accesses[] = {fixture_access(c, 0, 8192), fixture_access(d, WORK_ACCESS_WRITE, 8192)};
  struct work_access sum_accesses[] = {fixture_access(d, 0, 8192), fixture_access(e, WORK_ACCESS_WRITE, 128)};
  fixture_task(g, WORK_MATMUL, DTYPE_F32, "dot_general", FIXTURE_DOT, dot_axes, 3, multiply_add, dot_accesses, 2);
  fixture_task(g, WORK_ELEMENTWISE, DTYPE_F32, "add", FIXTURE_ADD, add_axes, 2, add, add_accesses, 1);
  fixture_task(g, WORK_REDUCE, DTYPE_F32, "reduce", FIXTURE_REDUCE, sum_axes, 2, add, sum_accesses, 1);
  vec_push(&g->inputs, a);
  vec_push(&g->inputs, b);
  vec_push(&g->outputs, e);
  if (work_graph_seal(g) != STATUS_OK) {
    abort();
  }
  return g;
}

/* Times of the three tasks and of the dispatch; the first is bound by the matrix unit, the others by memory. */
static inline void fixture_result(struct work_result *result, const double times_s[3], double dispatch_s) {
  work_result_init(result);
  static const enum work_bound bounds[] = {WORK_BOUND_MATRIX, WORK_BOUND_MEMORY, WORK_BOUND_MEMORY};
  static const enum work_class classes[] = {WORK_CLASS_MATRIX, WORK_CLASS_ELEMENTWISE, WORK_CLASS_REDUCTION};
  result->root.tasks = arena_calloc(&result->arena, 3, sizeof *result->root.tasks);
  for (int i = 0; i < 3; i++) {
    result->root.tasks[i] = (struct work_task_result){.time_s = times_s[i], .bound = (uint8_t)bounds[i]};
    result->root.time_s += times_s[i];
    result->bound_s[bounds[i]] += times_s[i];
    result->class_s[classes[i]] = times_s[i];
    result->class_count[classes[i]] = 1;
  }
  result->dispatch_s = dispatch_s;
  result->time_s = result->root.time_s + dispatch_s;
  result->flops = 4210560;
  result->bytes = 229888;
  result->memory = (struct work_memory){.peak_bytes = 200000,
                                        .argument_bytes = 98304,
                                        .output_bytes = 512,
                                        .temporary_peak_bytes = 65536,
                                        .peak_task = 1};
}

/* Three chips: fits; slower and too small; refuses. */
struct fixture {
  struct hw_chip chips[3];
  struct work_graph *graph;
  struct work_result results[3];
  struct report_estimate estimates[3];
  struct report_prediction prediction;
};

static inline void fixture_init(struct fixture *f) {
  memset(f, 0, sizeof *f);
  f->chips[0] = (struct hw_chip){.id = "gamma", .name = "Gamma 3", .vendor = "Acme"};
  f->chips[1] = (struct hw_chip){.id = "beta", .name = "Beta 2", .vendor = "Bolt"};
  f->chips[2] = (struct hw_chip){.id = "alpha", .name = "Alpha 1", .vendor = "Acme"};
  f->graph = fixture_graph();
  /* alpha: 4 + 3 + 2 + 1 ms */
  fixture_result(&f->results[2], (double[]){4e-3, 3e-3, 2e-3}, 1e-3);
  f->results[2].low_s = 8e-3;
  f->results[2].high_s = 13e-3;
  f->results[2].fitted_share = 0.25;
  f->results[2].inherited_share = 0.1;
  f->results[2].matrix_utilisation = 0.42;
  f->results[2].capacity_bytes = 16000000000;
  f->results[2].fits = true;
  f->results[2].collectives = 2;
  f->results[2].collective_bytes = 1500000;
  work_result_note(&f->results[2], DIAG_W0502_DTYPE_AS, 1, "bf16 matrix products run as f32 on alpha");
  work_result_note(&f->results[2], DIAG_W0503_NOT_TIMED, 1, "2 collectives, 1500000 bytes, not timed");
  /* beta: 12 + 4 + 2 + 2 ms, and less memory than the program needs */
  fixture_result(&f->results[1], (double[]){12e-3, 4e-3, 2e-3}, 2e-3);
  f->results[1].root.tasks[0].runs_as = DTYPE_F32;
  f->results[1].matrix_utilisation = 0.05;
  f->results[1].capacity_bytes = 100000;
  f->results[1].collectives = 2;
  f->results[1].collective_bytes = 1500000;
  work_result_note(&f->results[1], DIAG_W0502_DTYPE_AS, 1, "bf16 matrix products run as f32 on beta");
  /* gamma: refused */
  fixture_result(&f->results[0], (double[]){1, 1, 1}, 0);
  f->results[0].is_refused = true;
  f->results[0].time_s = NAN;
  work_result_note(&f->results[0], DIAG_E0501_DTYPE, 1, "gamma cannot run bf16");
  for (int i = 0; i < 3; i++) {
    f->estimates[i] = (struct report_estimate){.chip = &f->chips[i],
                                               .graph = f->graph,
                                               .result = &f->results[i],
                                               .unfused_time_s = i == 2 ? 25e-3 : 30e-3,
                                               .tasks_before = 5,
                                               .tasks_after = 3,
                                               .bytes_before = 460000,
                                               .bytes_after = 229888};
  }
  f->prediction = (struct report_prediction){.program = "tiny.mlir",
                                             .fidelity = "roofline",
                                             .version = "0.1.0",
                                             .source = &fixture_source,
                                             .unfused = f->graph,
                                             .estimates = f->estimates,
                                             .count = 3,
                                             .top = 2};
}

static inline void fixture_release(struct fixture *f) {
  for (int i = 0; i < 3; i++) {
    work_result_release(&f->results[i]);
  }
  work_graph_free(f->graph);
}

/* A file of tests/golden/report; "" when it is not there. To be freed. */
static inline char *fixture_golden(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/golden/report/%s", RDG_SOURCE_DIR, name);
  char *text = calloc(1, 65536);
  FILE *file = fopen(path, "rb");
  if (file && text) {
    size_t length = fread(text, 1, 65535, file);
    text[length] = '\0';
  }
  if (file) {
    fclose(file);
  }
  return text;
}

#endif
