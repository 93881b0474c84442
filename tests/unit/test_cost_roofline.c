/* The roofline on whole graphs: bounds, loops and branches, caches, refusals, remarks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/cost.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

/* 1 TB/s, 10 TFLOP/s f32 at efficiency 1, 100 TFLOP/s bf16, launch 1 us; numbers that divide in the head. */
static struct hw_chip plain_chip(void) {
  struct hw_chip chip = {.id = "plain", .name = "plain", .kind = HW_KIND_GPU};
  chip.matrix_flops[DTYPE_BF16] = 100e12;
  chip.matrix_flops[DTYPE_TF32] = 50e12;
  chip.matrix_flops[DTYPE_F32] = 10e12;
  chip.vector_flops[DTYPE_F32] = 10e12;
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.vector_runs_as[d] = DTYPE_F32;
  }
  chip.vector_runs_as[DTYPE_F64] = DTYPE_NONE;
  chip.matrix_runs_as[DTYPE_BF16] = DTYPE_BF16;
  chip.matrix_runs_as[DTYPE_TF32] = DTYPE_TF32;
  chip.matrix_runs_as[DTYPE_F32] = DTYPE_F32;
  chip.matrix_runs_as[DTYPE_F8E4M3FN] = DTYPE_BF16;
  chip.f32_default_as = DTYPE_TF32;
  chip.f32_high_passes = 1;
  chip.f32_highest_passes = 5;
  chip.clock_Hz = 1e9;
  chip.cores = 100;
  chip.tile_m = chip.tile_n = 128;
  chip.memory_size_bytes = 16e9;
  chip.memory_Bps = 1e12;
  chip.memory_efficiency = 1;
  chip.matrix_efficiency = 1;
  chip.vector_efficiency = 1;
  chip.has_off_chip = true;
  chip.launch_s = 1e-6;
  chip.dispatch_s = 7e-6;
  return chip;
}

static uint32_t vector_of(struct work_graph *graph, enum dtype dtype, int64_t count, enum work_tensor_role role) {
  uint32_t tensor = work_tensor_add(graph, dtype, &count, 1, role);
  if (role == WORK_TENSOR_INPUT) {
    assert_true(vec_push(&graph->inputs, tensor));
  }
  return tensor;
}

static void set_output(struct work_graph *graph, uint32_t tensor) {
  graph->tensors.data[tensor].is_output = true;
  assert_true(vec_push(&graph->outputs, tensor));
}

static struct work_access touch(const struct work_graph *graph, uint32_t tensor, unsigned flags) {
  return (struct work_access){
      .tensor = tensor, .flags = (uint8_t)flags, .touched_elements = graph->tensors.data[tensor].element_count};
}

static uint32_t add_elementwise(struct work_graph *graph, uint32_t x, struct work_op op) {
  const struct work_tensor *from = &graph->tensors.data[x];
  int64_t count = (int64_t)from->element_count;
  uint32_t y = vector_of(graph, (enum dtype)from->dtype, count, WORK_TENSOR_INTERMEDIATE);
  struct work_access accesses[] = {touch(graph, x, 0), touch(graph, y, WORK_ACCESS_WRITE)};
  struct work_axis axis = {.extent = count, .role = WORK_AXIS_PARALLEL};
  struct work_stage stage = {.kind = WORK_ELEMENTWISE, .dtype = graph->tensors.data[y].dtype, .read_count = 1};
  work_stage_add(graph, &stage, &axis, 1, &op, 1, accesses, NULL, 2);
  struct work_task task = {.kind = WORK_ELEMENTWISE, .read_count = 1};
  work_task_add(graph, &task, accesses, 2);
  return y;
}

static struct work_op vector_op(enum dtype dtype, uint32_t count) {
  return (struct work_op){WORK_ENGINE_VECTOR, (uint8_t)dtype, WORK_FUNCTION_NONE, count};
}

static uint32_t add_matmul(struct work_graph *graph, enum dtype dtype, int64_t n, enum work_precision precision) {
  int64_t dims[] = {n, n};
  uint32_t a = work_tensor_add(graph, dtype, dims, 2, WORK_TENSOR_INPUT);
  uint32_t b = work_tensor_add(graph, dtype, dims, 2, WORK_TENSOR_INPUT);
  uint32_t c = work_tensor_add(graph, dtype, dims, 2, WORK_TENSOR_INTERMEDIATE);
  assert_true(vec_push(&graph->inputs, a) && vec_push(&graph->inputs, b));
  struct work_axis axes[] = {{.extent = n, .role = WORK_AXIS_ROW},
                             {.extent = n, .role = WORK_AXIS_COLUMN},
                             {.extent = n, .role = WORK_AXIS_REDUCTION}};
  struct work_op op = {WORK_ENGINE_MATRIX, (uint8_t)dtype, WORK_FUNCTION_NONE, 2};
  struct work_access accesses[] = {touch(graph, a, 0), touch(graph, b, 0), touch(graph, c, WORK_ACCESS_WRITE)};
  struct work_stage stage = {
      .kind = WORK_MATMUL, .dtype = (uint8_t)dtype, .read_count = 2, .precision = (uint8_t)precision};
  work_stage_add(graph, &stage, axes, 3, &op, 1, accesses, NULL, 3);
  struct work_task task = {.kind = WORK_MATMUL, .read_count = 2};
  work_task_add(graph, &task, accesses, 3);
  return c;
}

/* Seals, predicts; the caller releases the result. */
static void predict(struct work_graph *graph, const struct hw_chip *chip, const struct cost_options *options,
                    struct work_result *result) {
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  work_result_init(result);
  assert_int_equal(cost_roofline.estimate(graph, chip, options, result), STATUS_OK);
}

static bool has_note(const struct work_result *result, enum diag_id id, const char *part) {
  for (size_t i = 0; i < result->notes.count; i++) {
    if (result->notes.data[i].id == id && strstr(result->notes.data[i].text, part) != NULL) {
      return true;
    }
  }
  return false;
}

static void stream_is_bound_by_memory(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 125000000, WORK_TENSOR_INPUT);
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 1)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  /* 0.5 GB read and written at 1 TB/s, and a launch */
  assert_near(result.root.tasks[0].time_s * 1e6, 1001, 1e-6);
  assert_int_equal(result.root.tasks[0].bound, WORK_BOUND_MEMORY);
  assert_near(result.time_s * 1e6, 1008, 1e-6);
  assert_true(result.bytes == 1e9);
  assert_true(result.flops == 125e6);
  assert_true(result.fits);
  assert_int_equal(result.memory.peak_bytes, 1000000000);
  work_result_release(&result);
  work_graph_free(graph);
}

static void arithmetic_takes_over_at_the_ridge(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT);
  /* 8 bytes and 81 operations an element: the ridge is at 10 FLOP/B */
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 81)));
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 79)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_int_equal(result.root.tasks[0].bound, WORK_BOUND_VECTOR);
  assert_near(result.root.tasks[0].time_s * 1e6, 8.1 + 1, 1e-6);
  assert_int_equal(result.root.tasks[1].bound, WORK_BOUND_MEMORY);
  assert_near(result.root.tasks[1].time_s * 1e6, 8 + 1, 1e-6);
  work_result_release(&result);
  work_graph_free(graph);
}

static void tiny_kernels_cost_their_launch(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.memory_ramp_bytes = 2e5; /* 0.2 us to the first byte */
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 16, WORK_TENSOR_INPUT);
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 1)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_int_equal(result.root.tasks[0].bound, WORK_BOUND_LAUNCH);
  assert_near(result.root.tasks[0].time_s * 1e6, 1.2, 0.001);
  work_result_release(&result);
  work_graph_free(graph);
}

static void half_the_bandwidth_at_the_ramp(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.memory_ramp_bytes = 8e6;
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT); /* 8 MB in all */
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 1)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_near(result.root.tasks[0].resource_s[WORK_BOUND_MEMORY] * 1e6, 16, 1e-6);
  work_result_release(&result);
  work_graph_free(graph);
}

static void recently_written_data_is_read_on_chip(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.cache_size_bytes = 20e6;
  chip.cache_Bps = 4e12;
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT);
  uint32_t y = add_elementwise(graph, x, vector_op(DTYPE_F32, 1));
  set_output(graph, add_elementwise(graph, y, vector_op(DTYPE_F32, 1)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  /* x in, y out; then y from the cache, result out: three of four streams of 4 MB reach memory */
  assert_true(result.bytes == 12e6);
  assert_near(result.root.tasks[1].resource_s[WORK_BOUND_MEMORY] * 1e6, 4, 1e-6);
  assert_near(result.root.tasks[1].resource_s[WORK_BOUND_CACHE] * 1e6, 2, 1e-6);
  work_result_release(&result);
  chip.cache_size_bytes = 4e6; /* too small for what lies between */
  work_result_init(&result);
  assert_int_equal(cost_roofline.estimate(graph, &chip, NULL, &result), STATUS_OK);
  assert_true(result.bytes == 16e6);
  work_result_release(&result);
  work_graph_free(graph);
}

static void single_elements_by_index_cost_whole_sectors(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  uint32_t table = vector_of(graph, DTYPE_F32, 100000000, WORK_TENSOR_INPUT);
  uint32_t y = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INTERMEDIATE);
  struct work_access accesses[] = {touch(graph, table, WORK_ACCESS_INDEXED | WORK_ACCESS_PARTIAL),
                                   touch(graph, y, WORK_ACCESS_WRITE)};
  accesses[0].touched_elements = 1000000;
  struct work_stage stage = {.kind = WORK_GATHER, .dtype = DTYPE_F32, .read_count = 1};
  work_stage_add(graph, &stage, NULL, 0, NULL, 0, accesses, NULL, 2);
  struct work_task task = {.kind = WORK_GATHER, .read_count = 1};
  work_task_add(graph, &task, accesses, 2);
  set_output(graph, y);
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_true(result.bytes == 32e6 + 4e6); /* a 32-byte sector for each of a million */
  work_result_release(&result);
  work_graph_free(graph);
}

static void precision_chooses_the_type_of_f32_products(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  double times[3];
  for (unsigned p = 0; p < 3; p++) {
    struct work_graph *graph = work_graph_new();
    set_output(graph, add_matmul(graph, DTYPE_F32, 4096, (enum work_precision)p));
    struct work_result result;
    predict(graph, &chip, NULL, &result);
    times[p] = result.root.tasks[0].resource_s[WORK_BOUND_MATRIX];
    assert_true(times[p] >= 2.0 * 4096 * 4096 * 4096 / 50e12);
    /* HIGHEST is f32 itself on a chip that multiplies f32, and nothing to remark */
    static const char *const notes[] = {"f32 matrix products run as tf32",
                                        "f32 matrix products at HIGH precision run as tf32", "f32 matrix products"};
    assert_int_equal(result.root.tasks[0].runs_as, p < 2 ? DTYPE_TF32 : DTYPE_NONE);
    assert_int_equal(has_note(&result, DIAG_W0502_DTYPE_AS, notes[p]), p < 2);
    work_result_release(&result);
    work_graph_free(graph);
  }
  assert_near(times[1] / times[0], 1, 1e-9);
  assert_near(times[2] / times[0], 5, 0.01); /* 50 and 10 TFLOP/s, one pipeline fill */
  struct work_graph *graph = work_graph_new();
  set_output(graph, add_matmul(graph, DTYPE_F32, 4096, WORK_PRECISION_DEFAULT));
  struct cost_options options = {.f32_as = DTYPE_BF16};
  struct work_result result;
  predict(graph, &chip, &options, &result);
  assert_near(result.root.tasks[0].resource_s[WORK_BOUND_MATRIX] / times[0], 0.5, 0.01);
  assert_int_equal(result.root.tasks[0].runs_as, DTYPE_BF16);
  work_result_release(&result);
  work_graph_free(graph);
}

static void missing_types_run_as_others_or_are_refused(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  set_output(graph, add_matmul(graph, DTYPE_F8E4M3FN, 1024, WORK_PRECISION_DEFAULT));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_false(result.is_refused);
  assert_true(has_note(&result, DIAG_W0502_DTYPE_AS, "f8E4M3FN matrix products run as bf16"));
  work_result_release(&result);
  work_graph_free(graph);

  graph = work_graph_new();
  set_output(graph, add_matmul(graph, DTYPE_F64, 1024, WORK_PRECISION_DEFAULT));
  predict(graph, &chip, NULL, &result);
  assert_true(result.is_refused);
  assert_true(isnan(result.time_s));
  assert_true(has_note(&result, DIAG_E0501_DTYPE, "f64"));
  work_result_release(&result);
  work_graph_free(graph);
}

/* Remarks about the vector engine: another type where its time matters, or a rate far below that of f32. */
static void element_wise_types_are_remarked(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.vector_runs_as[DTYPE_F64] = DTYPE_F64;
  chip.vector_flops[DTYPE_F64] = 0.5e12; /* 1/20 */
  static const struct {
    enum dtype dtype;
    uint32_t ops;
    const char *note; /* NULL: none */
  } rows[] = {{DTYPE_BF16, 100, "bf16 element-wise arithmetic runs as f32 on plain"},
              {DTYPE_BF16, 0, NULL},
              {DTYPE_F32, 100, NULL},
              {DTYPE_F64, 100, "f64 element-wise arithmetic runs at 1/20 of the f32 rate on plain"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct work_graph *graph = work_graph_new();
    uint32_t x = vector_of(graph, rows[i].dtype, 10000000, WORK_TENSOR_INPUT);
    set_output(graph, add_elementwise(graph, x, vector_op(rows[i].dtype, rows[i].ops)));
    struct work_result result;
    predict(graph, &chip, NULL, &result);
    assert_int_equal(result.notes.count, rows[i].note != NULL);
    assert_true(rows[i].note == NULL || has_note(&result, DIAG_W0502_DTYPE_AS, rows[i].note));
    work_result_release(&result);
    work_graph_free(graph);
  }
}

/* 8-bit floats share the rate of one engine type, but f8E4M3FNUZ is not f8E4M3FN; nor is i2 an i4. Unsigned numbers are
 * as good as signed ones. */
static void near_types_of_products_are_remarked(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  static const struct {
    enum dtype wanted, as;
    bool is_noted;
  } rows[] = {{DTYPE_F8E4M3FNUZ, DTYPE_F8E4M3FN, true},
              {DTYPE_F8E5M2, DTYPE_F8E4M3FN, false},
              {DTYPE_I2, DTYPE_I4, true},
              {DTYPE_UI8, DTYPE_I8, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    chip.matrix_runs_as[rows[i].wanted] = (uint8_t)rows[i].as;
    chip.matrix_flops[rows[i].as] = 200e12;
    struct work_graph *graph = work_graph_new();
    set_output(graph, add_matmul(graph, rows[i].wanted, 1024, WORK_PRECISION_DEFAULT));
    struct work_result result;
    predict(graph, &chip, NULL, &result);
    assert_int_equal(has_note(&result, DIAG_W0502_DTYPE_AS, "matrix products run as"), rows[i].is_noted);
    work_result_release(&result);
    work_graph_free(graph);
  }
}

/* 64-bit products on 32-bit lanes are four of half the width. */
static void wide_integers_take_four_products(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.matrix_runs_as[DTYPE_I32] = chip.matrix_runs_as[DTYPE_I64] = DTYPE_I32;
  chip.matrix_flops[DTYPE_I32] = 10e12;
  double time_s[2];
  for (unsigned i = 0; i < 2; i++) {
    struct work_graph *graph = work_graph_new();
    set_output(graph, add_matmul(graph, i == 0 ? DTYPE_I32 : DTYPE_I64, 4096, WORK_PRECISION_DEFAULT));
    struct work_result result;
    predict(graph, &chip, NULL, &result);
    time_s[i] = result.root.tasks[0].resource_s[WORK_BOUND_MATRIX];
    assert_true(result.matrix_utilisation <= 1);
    work_result_release(&result);
    work_graph_free(graph);
  }
  assert_near(time_s[1] / time_s[0], 4, 0.01); /* but for the pipeline fill */
}

/* The first byte takes as long however well a long stream does. */
static void ramp_does_not_depend_on_efficiency(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.memory_ramp_bytes = 8e6;
  chip.memory_efficiency = 0.5;
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT); /* 8 MB in all: 16 us at half the rate, 8 us */
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 1)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_near(result.root.tasks[0].resource_s[WORK_BOUND_MEMORY] * 1e6, 24, 1e-6);
  work_result_release(&result);
  work_graph_free(graph);
}

static void sram_chips_refuse_what_does_not_fit(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  chip.has_off_chip = false;
  chip.memory_size_bytes = 1e6;
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT);
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_F32, 1)));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_true(result.is_refused && !result.fits && isnan(result.time_s));
  assert_true(has_note(&result, DIAG_E0504_DOES_NOT_FIT, "8000000"));
  work_result_release(&result);
  chip.memory_size_bytes = 0; /* not known */
  predict(graph, &chip, NULL, &result);
  assert_true(result.fits && !result.is_refused);
  work_result_release(&result);
  work_graph_free(graph);
}

static uint32_t attach_body(struct work_graph *graph, uint32_t ops) {
  struct work_graph *body = work_graph_new_inside(graph);
  uint32_t in = vector_of(body, DTYPE_F32, 1000000, WORK_TENSOR_INPUT);
  set_output(body, add_elementwise(body, in, vector_op(DTYPE_F32, ops)));
  return work_subgraph_attach(graph, body);
}

static struct work_graph *control_graph(enum work_kind kind, uint32_t branches, uint64_t trips) {
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT);
  struct work_task task = {.kind = (uint8_t)kind, .read_count = 1, .subgraph_count = branches, .trip_count = trips};
  for (uint32_t i = 0; i < branches; i++) {
    attach_body(graph, i == 1 ? 200 : 100);
  }
  uint32_t y = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INTERMEDIATE);
  struct work_access border[] = {touch(graph, x, 0), touch(graph, y, WORK_ACCESS_WRITE)};
  work_task_add(graph, &task, border, 2);
  set_output(graph, y);
  return graph;
}

static void loops_multiply_and_branches_take_the_costliest(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_result result;
  struct work_graph *graph = control_graph(WORK_LOOP, 1, 50);
  predict(graph, &chip, NULL, &result);
  /* 100 operations on a million elements: 10 us, and a launch */
  assert_near(result.root.subgraphs[0].time_s * 1e6, 11, 1e-6);
  assert_near(result.root.tasks[0].time_s * 1e6, 550, 1e-6);
  assert_near(result.bound_s[WORK_BOUND_VECTOR] * 1e6, 550, 1e-6);
  assert_near(result.class_s[WORK_CLASS_ELEMENTWISE] * 1e6, 550, 1e-6);
  assert_int_equal(result.class_count[WORK_CLASS_ELEMENTWISE], 50);
  assert_true(result.flops == 50 * 100e6);
  work_result_release(&result);
  work_graph_free(graph);

  graph = control_graph(WORK_CONDITIONAL, 3, 0);
  predict(graph, &chip, NULL, &result);
  assert_near(result.root.tasks[0].time_s * 1e6, 21, 1e-6);
  assert_int_equal(result.class_count[WORK_CLASS_ELEMENTWISE], 1);
  assert_true(result.flops == 200e6);
  work_result_release(&result);
  work_graph_free(graph);
}

static void collectives_are_counted_not_timed(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000, WORK_TENSOR_INPUT);
  uint32_t y = vector_of(graph, DTYPE_F32, 1000, WORK_TENSOR_INTERMEDIATE);
  struct work_collective collective = {
      .kind = WORK_ALL_REDUCE, .group_count = 1, .group_size = 8, .bytes_per_rank = 4000};
  assert_true(vec_push(&graph->collectives, collective));
  struct work_access accesses[] = {touch(graph, x, 0), touch(graph, y, WORK_ACCESS_WRITE)};
  struct work_stage stage = {.kind = WORK_COLLECTIVE, .dtype = DTYPE_F32, .read_count = 1};
  work_stage_add(graph, &stage, NULL, 0, NULL, 0, accesses, NULL, 2);
  struct work_task task = {.kind = WORK_COLLECTIVE, .read_count = 1, .collective = 1};
  work_task_add(graph, &task, accesses, 2);
  set_output(graph, y);
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_true(result.root.time_s == 0);
  assert_int_equal(result.collectives, 1);
  assert_int_equal(result.collective_bytes, 4000);
  assert_true(has_note(&result, DIAG_W0503_NOT_TIMED, "1 collectives, 4000 bytes, not timed"));
  work_result_release(&result);
  work_graph_free(graph);
}

static void sums_add_up_and_resources_bound(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  set_output(graph, add_matmul(graph, DTYPE_BF16, 2048, WORK_PRECISION_DEFAULT));
  uint32_t x = vector_of(graph, DTYPE_F32, 3000000, WORK_TENSOR_INPUT);
  const struct work_op ops[] = {{WORK_ENGINE_FUNCTION, DTYPE_F32, WORK_FUNCTION_EXP, 30},
                                {WORK_ENGINE_INTEGER, DTYPE_I32, WORK_FUNCTION_NONE, 30}};
  set_output(graph, add_elementwise(graph, x, ops[0]));
  set_output(graph, add_elementwise(graph, x, ops[1]));
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  double by_bound = 0, by_class = 0, by_task = 0;
  for (unsigned b = 0; b < WORK_BOUND_COUNT; b++) {
    by_bound += result.bound_s[b];
  }
  for (unsigned c = 0; c < WORK_CLASS_COUNT; c++) {
    by_class += result.class_s[c];
  }
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task_result *task = &result.root.tasks[i];
    by_task += task->time_s;
    for (unsigned r = 0; r < WORK_BOUND_LAUNCH; r++) {
      assert_true(task->time_s >= task->resource_s[r] + chip.launch_s * (1 - 1e-9));
    }
  }
  assert_near(by_bound, result.root.time_s, 1e-12);
  assert_near(by_class, result.root.time_s, 1e-12);
  assert_near(by_task, result.root.time_s, 1e-12);
  assert_int_equal(result.root.tasks[1].bound, WORK_BOUND_FUNCTION);
  assert_true(result.matrix_utilisation > 0 && result.matrix_utilisation < 1);
  double flops = 2.0 * 2048 * 2048 * 2048;
  assert_near(result.matrix_utilisation, flops / (result.time_s * 100e12), 1e-9);
  work_result_release(&result);
  work_graph_free(graph);
}

/* Tasks that sealing found alike are estimated once; a chip that keeps more on chip than the distances that sealing tells
 * apart looks at each. Of one type, size and operation: 2, 3 and 4 read what the task before wrote, 1 reads an input. */
static void like_tasks_get_the_same_time(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = vector_of(graph, DTYPE_F32, 1000000, WORK_TENSOR_INPUT);
  for (unsigned i = 0; i < 4; i++) {
    x = add_elementwise(graph, x, vector_op(DTYPE_F32, 1));
  }
  x = add_elementwise(graph, x, vector_op(DTYPE_F32, 2));
  set_output(graph, x);
  struct hw_chip chip = plain_chip();
  struct work_result result;
  predict(graph, &chip, NULL, &result);
  assert_int_equal(graph->alike_count, 3);
  for (size_t i = 1; i < 4; i++) {
    assert_int_equal(graph->tasks.data[i].alike, graph->tasks.data[1].alike);
    assert_memory_equal(&result.root.tasks[i], &result.root.tasks[1], sizeof result.root.tasks[1]);
  }
  assert_near(result.time_s, 7e-6 + 5 * (8e-6 + 1e-6), 1e-12); /* 8 MB at 1 TB/s and a launch each */
  double time_s = 0;
  assert_int_equal(cost_roofline.program_time(graph, &chip, NULL, &time_s), STATUS_OK);
  assert_true(time_s == result.time_s);
  work_result_release(&result);
  chip.cache_size_bytes = 4e9;
  chip.cache_Bps = 10e12;
  work_result_init(&result);
  assert_int_equal(cost_roofline.estimate(graph, &chip, NULL, &result), STATUS_OK);
  /* all but the first find their operand on chip: 8 MB, then 4 MB off chip each */
  assert_near(result.time_s, 7e-6 + 8e-6 + 4 * 4e-6 + 5e-6, 1e-12);
  assert_int_equal(cost_roofline.program_time(graph, &chip, NULL, &time_s), STATUS_OK);
  assert_true(time_s == result.time_s);
  work_result_release(&result);
  work_graph_free(graph);
}

static void explanations_name_the_bound(void **state) {
  (void)state;
  struct hw_chip chip = plain_chip();
  struct work_graph *graph = work_graph_new();
  set_output(graph, add_matmul(graph, DTYPE_F32, 2048, WORK_PRECISION_DEFAULT));
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  struct strbuf text = {0};
  cost_roofline.explain(graph, 0, &chip, NULL, &text);
  assert_non_null(strstr(strbuf_text(&text), "bound by matrix"));
  assert_non_null(strstr(strbuf_text(&text), "run as tf32"));
  assert_non_null(strstr(strbuf_text(&text), "m 2048 n 2048 k 2048"));
  work_graph_free(graph);
  graph = work_graph_new();
  chip.matrix_runs_as[DTYPE_F32] = DTYPE_TF32; /* no f32 products: HIGHEST is five passes */
  uint32_t c = add_matmul(graph, DTYPE_F32, 2048, WORK_PRECISION_HIGHEST);
  set_output(graph, c);
  uint32_t x = vector_of(graph, DTYPE_BF16, 1000, WORK_TENSOR_INPUT);
  set_output(graph, add_elementwise(graph, x, vector_op(DTYPE_BF16, 1)));
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  cost_roofline.explain(graph, 0, &chip, NULL, &text);
  assert_non_null(strstr(strbuf_text(&text), "f32 at HIGHEST precision run as tf32 in 5 passes"));
  strbuf_clear(&text);
  cost_roofline.explain(graph, 1, &chip, NULL, &text);
  assert_non_null(strstr(strbuf_text(&text), "vector    bf16 run as f32"));
  strbuf_clear(&text);
  cost_roofline.explain(graph, 99, &chip, NULL, &text);
  assert_int_equal(text.length, 0);
  strbuf_release(&text);
  work_graph_free(graph);
}

static void models_are_found_by_name(void **state) {
  (void)state;
  assert_ptr_equal(cost_model_find("roofline"), &cost_roofline);
  assert_null(cost_model_find("oracle"));
  struct hw_chip chip = plain_chip();
  assert_null(cost_roofline.supports(&chip));
  chip.missing = "mem.bw";
  assert_string_equal(cost_roofline.supports(&chip), "mem.bw");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stream_is_bound_by_memory),
      cmocka_unit_test(arithmetic_takes_over_at_the_ridge),
      cmocka_unit_test(tiny_kernels_cost_their_launch),
      cmocka_unit_test(half_the_bandwidth_at_the_ramp),
      cmocka_unit_test(recently_written_data_is_read_on_chip),
      cmocka_unit_test(single_elements_by_index_cost_whole_sectors),
      cmocka_unit_test(precision_chooses_the_type_of_f32_products),
      cmocka_unit_test(missing_types_run_as_others_or_are_refused),
      cmocka_unit_test(element_wise_types_are_remarked),
      cmocka_unit_test(near_types_of_products_are_remarked),
      cmocka_unit_test(wide_integers_take_four_products),
      cmocka_unit_test(ramp_does_not_depend_on_efficiency),
      cmocka_unit_test(sram_chips_refuse_what_does_not_fit),
      cmocka_unit_test(loops_multiply_and_branches_take_the_costliest),
      cmocka_unit_test(collectives_are_counted_not_timed),
      cmocka_unit_test(sums_add_up_and_resources_bound),
      cmocka_unit_test(like_tasks_get_the_same_time),
      cmocka_unit_test(explanations_name_the_bound),
      cmocka_unit_test(models_are_found_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
