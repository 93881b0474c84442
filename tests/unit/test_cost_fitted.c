/* Tasks timed by fitted kernel models: the time is the model's, the interval that of the evidence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/roofline.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12 * fabs(b))

static struct hw_database db;
static struct hw_chip chip; /* an H100 with two fits of its own, below */
static const struct hw_fit_interval around[] = {{INFINITY, 100, 0.9, 1.2}};
static const char *const names[] = {"memory_efficiency"};
static const double values[] = {0.5};
static struct hw_fit fits[2];
static const struct hw_fit *chip_fits[] = {&fits[0], &fits[1]};

static struct hw_fit fit_of(const char *class_name, const char *model, const char *format) {
  return (struct hw_fit){.device = chip.id,
                         .class_name = class_name,
                         .format = format,
                         .model = model,
                         .names = names,
                         .values = values,
                         .constant_count = 1,
                         .rows = 100,
                         .mape = 0.05,
                         .data_sheet_mape = 0.2,
                         .flops_max = 1e18,
                         .bytes_max = 1e18,
                         .intervals = around,
                         .interval_count = 1,
                         .sources = "test",
                         .chips = chip.id,
                         .chip_count = 1};
}

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&db, "hardware", &diags);
  diag_release(&diags);
  const struct hw_chip *h100 = hw_database_find(&db, "h100", NULL);
  if (status != STATUS_OK || h100 == NULL) {
    return -1;
  }
  chip = *h100;
  fits[0] = fit_of("gemm", "gemm_tiled", "bf16");
  fits[1] = fit_of("elementwise", "pass", "f32");
  chip.fits = chip_fits;
  chip.fit_count = 2;
  return 0;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

static uint32_t add_input(struct work_graph *graph, enum dtype dtype, int64_t rows, int64_t columns, bool is_input) {
  uint32_t tensor = work_tensor_add(graph, dtype, (int64_t[]){rows, columns}, 2,
                                    is_input ? WORK_TENSOR_INPUT : WORK_TENSOR_INTERMEDIATE);
  assert_true(!is_input || vec_push(&graph->inputs, tensor));
  return tensor;
}

static struct work_access touch(const struct work_graph *graph, uint32_t tensor, unsigned flags) {
  return (struct work_access){
      .tensor = tensor, .flags = (uint8_t)flags, .touched_elements = graph->tensors.data[tensor].element_count};
}

static struct work_graph *finished(struct work_graph *graph, enum work_kind kind, uint32_t result,
                                   const struct work_access *border, uint32_t count) {
  struct work_task task = {.kind = (uint8_t)kind, .read_count = (uint16_t)(count - 1)};
  work_task_add(graph, &task, border, count);
  graph->tensors.data[result].is_output = true;
  assert_true(vec_push(&graph->outputs, result));
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  return graph;
}

/* C[batch m, n] = A[batch m, k] B[batch k, n] as one task of that kind. */
static struct work_graph *product(enum work_kind kind, int64_t batch, int64_t m, int64_t n, int64_t k) {
  struct work_graph *graph = work_graph_new();
  uint32_t a = add_input(graph, DTYPE_BF16, batch * m, k, true), b = add_input(graph, DTYPE_BF16, batch * k, n, true);
  uint32_t c = add_input(graph, DTYPE_BF16, batch * m, n, false);
  const struct work_axis axes[] = {{.extent = batch, .role = WORK_AXIS_BATCH},
                                   {.extent = m, .role = WORK_AXIS_ROW},
                                   {.extent = n, .role = WORK_AXIS_COLUMN},
                                   {.extent = k, .role = WORK_AXIS_REDUCTION}};
  const struct work_op multiply_add = {WORK_ENGINE_MATRIX, DTYPE_BF16, WORK_FUNCTION_NONE, 2};
  const struct work_access border[] = {touch(graph, a, 0), touch(graph, b, 0), touch(graph, c, WORK_ACCESS_WRITE)};
  struct work_stage stage = {.kind = (uint8_t)kind, .dtype = DTYPE_BF16, .read_count = 2};
  work_stage_add(graph, &stage, axes, 4, &multiply_add, 1, border, NULL, 3);
  return finished(graph, kind, c, border, 3);
}

static struct roofline_task estimate_of(const struct work_graph *graph, struct roofline_chip *rc) {
  struct roofline_task task;
  roofline_chip_init(rc, &chip, NULL);
  roofline_task_estimate(rc, graph, &graph->tasks.data[0], &task);
  return task;
}

static double model_time(enum kernel_class class_of, enum kernel_format format, const struct kernel_shape *shape) {
  struct kernel_constants constants;
  struct kernel_time time;
  assert_true(kernel_constants_of(&chip, class_of, format, &constants));
  int host = kernel_constant_find(constants.model, "dispatch_s");
  if (class_of == KERNEL_GEMM) { /* a program has its kernels queued */
    constants.values[host] = constants.model->constants[host].lower;
  }
  constants.model->time(&chip, shape, constants.values, &time);
  return time.time_s;
}

static void a_product_takes_what_the_model_says(void **state) {
  (void)state;
  struct work_graph *graph = product(WORK_MATMUL, 1, 64, 8192, 8192);
  struct roofline_chip rc;
  struct roofline_task task = estimate_of(graph, &rc);
  /* cold: all operands and the result once, nothing else */
  const struct kernel_shape shape = {
      .class_of = KERNEL_GEMM, .format = KERNEL_FORMAT_BF16, .gemm = {1, 64, 8192, 8192}};
  assert_near(task.result.time_s, model_time(KERNEL_GEMM, KERNEL_FORMAT_BF16, &shape));
  /* the weights alone at half the bandwidth, which the fit states */
  assert_true(task.result.time_s > 8192.0 * 8192 * 2 / (chip.memory_Bps * 0.5));
  assert_true(task.is_fitted && !task.is_inherited);
  assert_near(task.interval.low, 0.9);
  assert_near(task.interval.high, 1.2);
  work_graph_free(graph);
}

static void a_batch_is_less_sure(void **state) {
  (void)state;
  struct work_graph *graph = product(WORK_MATMUL, 16, 256, 256, 256);
  struct roofline_chip rc;
  struct roofline_task task = estimate_of(graph, &rc);
  assert_true(task.is_inherited && !task.is_fitted);
  assert_near(task.interval.low, pow(0.9, 1.5));
  assert_near(task.interval.high, pow(1.2, 1.5));
  work_graph_free(graph);
}

static void a_convolution_borrows_no_confidence(void **state) {
  (void)state;
  struct work_graph *graph = product(WORK_CONVOLUTION, 1, 4096, 64, 576);
  struct roofline_chip rc;
  struct roofline_task task = estimate_of(graph, &rc);
  assert_true(task.is_timed_by_model && !task.is_fitted && !task.is_inherited);
  assert_near(task.interval.low, 0.6); /* docs/calibration.md: what nothing was fitted for */
  assert_near(task.interval.high, 1.8);
  work_graph_free(graph);
}

static void nothing_is_faster_than_the_peak(void **state) {
  (void)state;
  struct work_graph *graph = product(WORK_MATMUL, 1, 65536, 65536, 65536);
  struct roofline_chip rc;
  struct roofline_task task = estimate_of(graph, &rc);
  assert_true(task.result.time_s >= 2.0 * 65536 * 65536 * 65536 / chip.matrix_flops[DTYPE_BF16] * (1 - 1e-12));
  work_graph_free(graph);
}

static void an_addition_streams_at_the_fitted_rate(void **state) {
  (void)state;
  enum { ROWS = 1 << 14, COLUMNS = 1 << 14 };
  struct work_graph *graph = work_graph_new();
  uint32_t a = add_input(graph, DTYPE_F32, ROWS, COLUMNS, true), b = add_input(graph, DTYPE_F32, ROWS, COLUMNS, true);
  uint32_t c = add_input(graph, DTYPE_F32, ROWS, COLUMNS, false);
  const struct work_axis axes[] = {{.extent = ROWS, .role = WORK_AXIS_PARALLEL},
                                   {.extent = COLUMNS, .role = WORK_AXIS_PARALLEL}};
  const struct work_op add = {WORK_ENGINE_VECTOR, DTYPE_F32, WORK_FUNCTION_NONE, 1};
  const struct work_access border[] = {touch(graph, a, 0), touch(graph, b, 0), touch(graph, c, WORK_ACCESS_WRITE)};
  struct work_stage stage = {.kind = WORK_ELEMENTWISE, .dtype = DTYPE_F32, .read_count = 2};
  work_stage_add(graph, &stage, axes, 2, &add, 1, border, NULL, 3);
  finished(graph, WORK_ELEMENTWISE, c, border, 3);
  struct roofline_chip rc;
  struct roofline_task task = estimate_of(graph, &rc);
  double bytes = 3.0 * ROWS * COLUMNS * 4;
  /* 3.2 GB: the launch is below a part in a thousand */
  assert_true(fabs(task.result.time_s / (bytes / (chip.memory_Bps * 0.5)) - 1) < 2e-3);
  assert_true(task.is_fitted && task.pass == &rc.pass[0]);
  work_graph_free(graph);
}

static void useless_fits_are_left_aside(void **state) {
  (void)state;
  struct work_graph *graph = product(WORK_MATMUL, 1, 64, 8192, 8192);
  struct roofline_chip rc;
  fits[0].data_sheet_mape = fits[0].mape;
  struct roofline_task task = estimate_of(graph, &rc);
  fits[0].data_sheet_mape = 0.2;
  assert_true(!task.is_timed_by_model);
  assert_near(task.interval.high, 1.8);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_takes_what_the_model_says),    cmocka_unit_test(a_batch_is_less_sure),
      cmocka_unit_test(a_convolution_borrows_no_confidence),    cmocka_unit_test(nothing_is_faster_than_the_peak),
      cmocka_unit_test(an_addition_streams_at_the_fitted_rate), cmocka_unit_test(useless_fits_are_left_aside),
  };
  return cmocka_run_group_tests(tests, load, release);
}
