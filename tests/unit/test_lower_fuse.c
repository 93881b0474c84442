/* Target fusion on hand-made graphs: each rule by itself, then invariants on random programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/cost.h"
#include "lower/lower.h"

/* ---- building ---- */

static uint32_t label_of(struct work_graph *graph, const char *text) {
  return intern_add_cstr(graph->strings, text);
}

static uint32_t new_tensor(struct work_graph *graph, enum dtype dtype, int64_t rows, int64_t columns,
                           enum work_tensor_role role) {
  int64_t dims[] = {rows, columns};
  return work_tensor_add(graph, dtype, dims, 2, role);
}

static uint32_t new_input(struct work_graph *graph, int64_t rows, int64_t columns) {
  uint32_t tensor = new_tensor(graph, DTYPE_F32, rows, columns, WORK_TENSOR_INPUT);
  assert_true(vec_push(&graph->inputs, tensor));
  return tensor;
}

static void set_output(struct work_graph *graph, uint32_t tensor) {
  graph->tensors.data[tensor].is_output = true;
  assert_true(vec_push(&graph->outputs, tensor));
}

static int64_t dim(const struct work_graph *graph, uint32_t tensor, uint32_t i) {
  return graph->dims.data[graph->tensors.data[tensor].dims_first + i];
}

static struct work_access access_to(const struct work_graph *graph, uint32_t tensor, unsigned flags) {
  return (struct work_access){
      .tensor = tensor, .flags = (uint8_t)flags, .touched_elements = graph->tensors.data[tensor].element_count};
}

/* A task of one stage that loops over `loop` and writes `result`. */
static void add_task(struct work_graph *graph, enum work_kind kind, const char *label, uint32_t loop,
                     const struct work_op *op, const uint32_t *reads, uint32_t read_count, uint32_t result) {
  struct work_access accesses[8];
  for (uint32_t i = 0; i < read_count; i++) {
    accesses[i] = access_to(graph, reads[i], 0);
  }
  accesses[read_count] = access_to(graph, result, WORK_ACCESS_WRITE);
  struct work_axis axes[] = {{.extent = dim(graph, loop, 0), .role = WORK_AXIS_PARALLEL},
                             {.extent = dim(graph, loop, 1), .role = WORK_AXIS_PARALLEL}};
  if (kind == WORK_REDUCE) {
    axes[1].role = WORK_AXIS_REDUCTION;
  }
  struct work_stage stage = {.kind = (uint8_t)kind,
                             .dtype = graph->tensors.data[result].dtype,
                             .read_count = (uint8_t)read_count,
                             .label = label_of(graph, label)};
  work_stage_add(graph, &stage, axes, 2, op, op != NULL ? 1 : 0, accesses, NULL, read_count + 1);
  struct work_task task = {.kind = (uint8_t)kind, .read_count = (uint16_t)read_count, .label = stage.label};
  work_task_add(graph, &task, accesses, read_count + 1);
}

static const struct work_op vector_op = {WORK_ENGINE_VECTOR, DTYPE_F32, WORK_FUNCTION_NONE, 1};
static const struct work_op exp_op = {WORK_ENGINE_FUNCTION, DTYPE_F32, WORK_FUNCTION_EXP, 1};
static const struct work_op matrix_op = {WORK_ENGINE_MATRIX, DTYPE_F32, WORK_FUNCTION_NONE, 2};

static uint32_t like(struct work_graph *graph, uint32_t tensor) {
  return new_tensor(graph, DTYPE_F32, dim(graph, tensor, 0), dim(graph, tensor, 1), WORK_TENSOR_INTERMEDIATE);
}

static uint32_t add_unary(struct work_graph *graph, const char *label, uint32_t x) {
  uint32_t y = like(graph, x);
  add_task(graph, WORK_ELEMENTWISE, label, y, strcmp(label, "exponential") == 0 ? &exp_op : &vector_op, &x, 1, y);
  return y;
}

static uint32_t add_binary(struct work_graph *graph, const char *label, uint32_t a, uint32_t b) {
  uint32_t y = like(graph, a), reads[] = {a, b};
  add_task(graph, WORK_ELEMENTWISE, label, y, &vector_op, reads, a == b ? 1 : 2, y);
  return y;
}

static uint32_t add_reduce(struct work_graph *graph, uint32_t x) {
  uint32_t y = new_tensor(graph, DTYPE_F32, dim(graph, x, 0), 1, WORK_TENSOR_INTERMEDIATE);
  add_task(graph, WORK_REDUCE, "reduce", x, &vector_op, &x, 1, y);
  return y;
}

static uint32_t add_broadcast(struct work_graph *graph, uint32_t x, int64_t columns) {
  uint32_t y = new_tensor(graph, DTYPE_F32, dim(graph, x, 0), columns, WORK_TENSOR_INTERMEDIATE);
  add_task(graph, WORK_BROADCAST, "broadcast_in_dim", y, NULL, &x, 1, y);
  return y;
}

static uint32_t add_reshape(struct work_graph *graph, uint32_t x, int64_t rows, int64_t columns) {
  uint32_t y = new_tensor(graph, DTYPE_F32, rows, columns, WORK_TENSOR_INTERMEDIATE);
  graph->tensors.data[y].alias_of = x + 1;
  add_task(graph, WORK_RESHAPE, "reshape", y, NULL, &x, 1, y);
  return y;
}

static uint32_t add_transpose(struct work_graph *graph, uint32_t x) {
  uint32_t y = new_tensor(graph, DTYPE_F32, dim(graph, x, 1), dim(graph, x, 0), WORK_TENSOR_INTERMEDIATE);
  struct work_axis axes[] = {{.extent = dim(graph, y, 0), .role = WORK_AXIS_PARALLEL},
                             {.extent = dim(graph, y, 1), .role = WORK_AXIS_PARALLEL}};
  struct work_access accesses[] = {access_to(graph, x, 0), access_to(graph, y, WORK_ACCESS_WRITE)};
  const int16_t read_map[] = {1, 0}, write_map[] = {0, 1};
  const int16_t *maps[] = {read_map, write_map};
  struct work_stage stage = {
      .kind = WORK_TRANSPOSE, .dtype = DTYPE_F32, .read_count = 1, .label = label_of(graph, "transpose")};
  work_stage_add(graph, &stage, axes, 2, NULL, 0, accesses, maps, 2);
  struct work_task task = {.kind = WORK_TRANSPOSE, .read_count = 1, .label = stage.label};
  work_task_add(graph, &task, accesses, 2);
  return y;
}

/* The first `columns` columns. */
static uint32_t add_slice(struct work_graph *graph, uint32_t x, int64_t columns) {
  uint32_t y = new_tensor(graph, DTYPE_F32, dim(graph, x, 0), columns, WORK_TENSOR_INTERMEDIATE);
  struct work_access accesses[] = {access_to(graph, x, 0), access_to(graph, y, WORK_ACCESS_WRITE)};
  accesses[0].touched_elements = accesses[1].touched_elements;
  accesses[0].flags = columns < dim(graph, x, 1) ? WORK_ACCESS_PARTIAL : 0;
  struct work_axis axes[] = {{.extent = dim(graph, y, 0), .role = WORK_AXIS_PARALLEL},
                             {.extent = columns, .role = WORK_AXIS_PARALLEL}};
  struct work_stage stage = {
      .kind = WORK_SLICE, .dtype = DTYPE_F32, .read_count = 1, .label = label_of(graph, "slice")};
  work_stage_add(graph, &stage, axes, 2, NULL, 0, accesses, NULL, 2);
  struct work_task task = {.kind = WORK_SLICE, .read_count = 1, .label = stage.label};
  work_task_add(graph, &task, accesses, 2);
  return y;
}

/* Writes `row` (1 x n) over one row of `base`, in its storage. */
static uint32_t add_update(struct work_graph *graph, uint32_t base, uint32_t row) {
  uint32_t y = like(graph, base);
  graph->tensors.data[y].alias_of = base + 1;
  struct work_access accesses[] = {access_to(graph, base, WORK_ACCESS_PARTIAL), access_to(graph, row, 0),
                                   access_to(graph, y, WORK_ACCESS_WRITE | WORK_ACCESS_IN_PLACE | WORK_ACCESS_PARTIAL)};
  accesses[0].touched_elements = 0;
  accesses[2].touched_elements = graph->tensors.data[row].element_count;
  struct work_axis axes[] = {{.extent = dim(graph, row, 1), .role = WORK_AXIS_PARALLEL}};
  struct work_stage stage = {.kind = WORK_DYNAMIC_UPDATE_SLICE,
                             .dtype = DTYPE_F32,
                             .read_count = 2,
                             .label = label_of(graph, "dynamic_update_slice")};
  work_stage_add(graph, &stage, axes, 1, NULL, 0, accesses, NULL, 3);
  struct work_task task = {.kind = WORK_DYNAMIC_UPDATE_SLICE, .read_count = 2, .label = stage.label};
  work_task_add(graph, &task, accesses, 3);
  return y;
}

static uint32_t add_matmul(struct work_graph *graph, uint32_t a, uint32_t b) {
  uint32_t y = new_tensor(graph, DTYPE_F32, dim(graph, a, 0), dim(graph, b, 1), WORK_TENSOR_INTERMEDIATE);
  struct work_axis axes[] = {{.extent = dim(graph, a, 0), .role = WORK_AXIS_ROW},
                             {.extent = dim(graph, b, 1), .role = WORK_AXIS_COLUMN},
                             {.extent = dim(graph, a, 1), .role = WORK_AXIS_REDUCTION}};
  struct work_access accesses[] = {access_to(graph, a, 0), access_to(graph, b, 0),
                                   access_to(graph, y, WORK_ACCESS_WRITE)};
  struct work_stage stage = {
      .kind = WORK_MATMUL, .dtype = DTYPE_F32, .read_count = 2, .label = label_of(graph, "dot_general")};
  work_stage_add(graph, &stage, axes, 3, &matrix_op, 1, accesses, NULL, 3);
  struct work_task task = {.kind = WORK_MATMUL, .read_count = 2, .label = stage.label};
  work_task_add(graph, &task, accesses, 3);
  return y;
}

static uint32_t add_iota(struct work_graph *graph, int64_t rows, int64_t columns) {
  uint32_t y = new_tensor(graph, DTYPE_F32, rows, columns, WORK_TENSOR_INTERMEDIATE);
  add_task(graph, WORK_IOTA, "iota", y, NULL, NULL, 0, y);
  return y;
}

/* ---- chips that only fusion and a few rates matter for ---- */

static struct hw_chip chip_of(enum hw_fusion fusion) {
  struct hw_chip chip = {.id = "test", .name = "test", .vendor = "test"};
  chip.kind = fusion == HW_FUSION_TPU ? HW_KIND_TPU : HW_KIND_GPU;
  chip.fusion = fusion;
  for (unsigned d = 1; d < DTYPE_COUNT; d++) {
    chip.matrix_flops[d] = 3e14;
    chip.vector_flops[d] = 2e13;
    chip.matrix_runs_as[d] = chip.vector_runs_as[d] = (uint8_t)d;
  }
  chip.f32_default_as = DTYPE_F32;
  chip.f32_high_passes = chip.f32_highest_passes = 1;
  chip.clock_Hz = 1.4e9;
  chip.cores = fusion == HW_FUSION_TPU ? 1 : 108;
  chip.matrix_units_per_core = 4;
  chip.matrix_rows = chip.matrix_columns = 128;
  chip.tile_m = chip.tile_n = fusion == HW_FUSION_TPU ? 0 : 128;
  chip.memory_size_bytes = 8e10;
  chip.memory_Bps = 2e12;
  chip.cache_size_bytes = fusion == HW_FUSION_TPU ? 128 * 1048576.0 : 4e7;
  chip.cache_Bps = 5e12;
  chip.has_off_chip = true;
  chip.launch_s = 1.3e-6;
  chip.matrix_efficiency = chip.memory_efficiency = 0.9;
  chip.vector_efficiency = 0.5;
  chip.memory_ramp_bytes = 1e6;
  return chip;
}

static void check_valid(const struct work_graph *graph) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = work_graph_verify(graph, &diags);
  for (size_t i = 0; i < diags.entries.count; i++) {
    print_message("%s\n", diags.entries.data[i].message);
  }
  assert_int_equal(status, STATUS_OK);
  diag_release(&diags);
}

static struct work_graph *fuse(struct work_graph *graph, enum hw_fusion fusion, struct lower_fusion_report *report) {
  struct hw_chip chip = chip_of(fusion);
  struct work_graph *fused = NULL;
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  check_valid(graph);
  assert_int_equal(lower_fuse(graph, &chip, report, &fused), STATUS_OK);
  check_valid(fused);
  return fused;
}

static uint32_t count_kind(const struct work_graph *graph, enum work_kind kind) {
  uint32_t count = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    count += graph->tasks.data[i].kind == kind;
  }
  return count;
}

static uint32_t count_launches(const struct work_graph *graph) {
  struct work_total total;
  work_graph_total(graph, &total);
  return (uint32_t)total.launches;
}

/* ---- rules ---- */

static void chain_becomes_one_kernel(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024);
  set_output(graph, add_unary(graph, "tanh", add_unary(graph, "negate", add_unary(graph, "exponential", x))));
  struct lower_fusion_report report;
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, &report);
  assert_int_equal(fused->tasks.count, 1);
  assert_int_equal(fused->tasks.data[0].stage_count, 3);
  assert_int_equal(report.tasks_before, 3);
  assert_int_equal(report.tasks_after, 1);
  /* 3 reads and 3 writes of 4 MiB become one of each */
  assert_int_equal(report.bytes_before, 6 * 4194304);
  assert_int_equal(report.bytes_after, 2 * 4194304);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void reduction_takes_producers_and_ends_the_kernel(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024);
  uint32_t sum = add_reduce(graph, add_binary(graph, "multiply", x, x));
  set_output(graph, add_unary(graph, "rsqrt", sum));
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  assert_int_equal(fused->tasks.count, 2);
  assert_int_equal(fused->tasks.data[0].kind, WORK_REDUCE);
  assert_int_equal(fused->tasks.data[0].stage_count, 2);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void cheap_producer_is_repeated_in_each_reader(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 2048, 1024);
  uint32_t p = add_unary(graph, "negate", x);
  set_output(graph, add_reduce(graph, p));
  set_output(graph, add_slice(graph, p, 512));
  struct work_total before, after;
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  work_graph_total(graph, &before);
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  work_graph_total(fused, &after);
  assert_int_equal(fused->tasks.count, 2);
  assert_int_equal(fused->tasks.data[0].stage_count, 2);
  assert_int_equal(fused->tasks.data[1].stage_count, 2);
  /* once for the sum, and for the half that the slice wants */
  assert_int_equal(after.ops[WORK_ENGINE_VECTOR] - before.ops[WORK_ENGINE_VECTOR], 2048 * 512);
  /* 8 MiB read for the sum, half of it for the slice, 8 KiB and 4 MiB written */
  assert_int_equal(after.read_bytes, 8388608 + 4194304);
  assert_int_equal(after.write_bytes, 2048 * 4 + 4194304);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void readers_of_one_tensor_share_a_pass(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 2048, 1024);
  set_output(graph, add_reduce(graph, x));
  set_output(graph, add_unary(graph, "exponential", x));
  struct lower_fusion_report report;
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, &report);
  assert_int_equal(fused->tasks.count, 1);
  assert_int_equal(report.bytes_before - report.bytes_after, 8388608); /* one read of x */
  work_graph_free(fused);
  work_graph_free(graph);
}

static void output_that_is_read_stays_and_is_read_inside(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024), g = new_input(graph, 1024, 1024);
  uint32_t moment = add_binary(graph, "add", x, g);
  set_output(graph, moment);
  set_output(graph, add_binary(graph, "multiply", moment, g));
  struct lower_fusion_report report;
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, &report);
  assert_int_equal(fused->tasks.count, 1);
  assert_int_equal(report.bytes_after, 4 * 4194304); /* x, g in; both results out */
  work_graph_free(fused);
  work_graph_free(graph);
}

static void no_cycle_from_joining(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024);
  uint32_t a = add_unary(graph, "negate", x);
  set_output(graph, a);
  uint32_t w = new_input(graph, 1024, 1024);
  uint32_t product = add_matmul(graph, a, w);
  set_output(graph, add_binary(graph, "multiply", a, product));
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL); /* verified inside */
  assert_int_equal(count_kind(fused, WORK_MATMUL), 1);
  assert_int_equal(fused->tasks.count, 3);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void product_takes_bias_and_rectifier_on_gpu(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t a = new_input(graph, 512, 512), b = new_input(graph, 512, 512), bias = new_input(graph, 512, 1);
  uint32_t zero = add_iota(graph, 512, 512);
  uint32_t y = add_binary(graph, "add", add_matmul(graph, a, b), add_broadcast(graph, bias, 512));
  y = add_binary(graph, "maximum", y, zero);
  set_output(graph, add_unary(graph, "exponential", y));
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  /* product + add + maximum (with the broadcast bias and the iota), then the exponential by itself */
  assert_int_equal(count_kind(fused, WORK_MATMUL), 1);
  struct work_graph *tpu = fuse(graph, HW_FUSION_TPU, NULL);
  assert_int_equal(count_launches(tpu), 1);
  assert_int_equal(tpu->tasks.data[tpu->tasks.count - 1].kind, WORK_MATMUL);
  bool has_separate_exponential = false;
  for (size_t i = 0; i < fused->tasks.count; i++) {
    const struct work_task *task = &fused->tasks.data[i];
    has_separate_exponential |= task->kind == WORK_ELEMENTWISE && task->stage_count == 1;
  }
  assert_true(has_separate_exponential);
  work_graph_free(tpu);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void transposed_operand_is_a_flag_of_the_product(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t a = new_input(graph, 256, 512), b = new_input(graph, 256, 512);
  set_output(graph, add_matmul(graph, a, add_transpose(graph, b)));
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  assert_int_equal(fused->tasks.count, 1);
  assert_int_equal(fused->tasks.data[0].kind, WORK_MATMUL);
  work_graph_free(fused);
  work_graph_free(graph);
}

/* The row of x that holds one of the matrices stacked there. */
static uint32_t add_row(struct work_graph *graph, uint32_t x) {
  uint32_t y = new_tensor(graph, DTYPE_F32, 1, dim(graph, x, 1), WORK_TENSOR_INTERMEDIATE);
  struct work_access accesses[] = {access_to(graph, x, WORK_ACCESS_PARTIAL), access_to(graph, y, WORK_ACCESS_WRITE)};
  accesses[0].touched_elements = accesses[1].touched_elements;
  struct work_axis axes[] = {{.extent = 1, .role = WORK_AXIS_PARALLEL},
                             {.extent = dim(graph, y, 1), .role = WORK_AXIS_PARALLEL}};
  struct work_stage stage = {
      .kind = WORK_SLICE, .dtype = DTYPE_F32, .read_count = 1, .label = label_of(graph, "slice")};
  work_stage_add(graph, &stage, axes, 2, NULL, 0, accesses, NULL, 2);
  struct work_task task = {.kind = WORK_SLICE, .read_count = 1, .label = stage.label};
  work_task_add(graph, &task, accesses, 2);
  return y;
}

/* Two layers of weights stacked in one tensor: each product takes its slice by the address, and moves as much as if the
 * weights were apart. Columns of a matrix are no such slice. */
static void products_take_stacked_slices_by_address_on_gpu(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 16, 512), stack = new_input(graph, 8, 512 * 512);
  for (unsigned layer = 0; layer < 2; layer++) {
    x = add_matmul(graph, x, add_reshape(graph, add_row(graph, stack), 512, 512));
  }
  set_output(graph, x);
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  assert_int_equal(count_launches(fused), 2);
  struct work_total total;
  work_graph_total(fused, &total);
  assert_int_equal(total.read_bytes + total.write_bytes, 2 * (2 * 16 * 512 + 512 * 512) * 4);
  work_graph_free(fused);
  work_graph_free(graph);

  graph = work_graph_new();
  uint32_t a = new_input(graph, 16, 512), b = new_input(graph, 512, 1024);
  set_output(graph, add_matmul(graph, a, add_slice(graph, b, 512)));
  fused = fuse(graph, HW_FUSION_GPU, NULL);
  assert_int_equal(count_launches(fused), 2);
  work_graph_free(fused);
  work_graph_free(graph);
}

/* The sum of each row, with the map that says so. */
static uint32_t add_row_sum(struct work_graph *graph, uint32_t x) {
  uint32_t y = new_tensor(graph, DTYPE_F32, dim(graph, x, 0), 1, WORK_TENSOR_INTERMEDIATE);
  const struct work_axis axes[] = {{.extent = dim(graph, x, 0), .role = WORK_AXIS_PARALLEL},
                                   {.extent = dim(graph, x, 1), .role = WORK_AXIS_REDUCTION}};
  const struct work_access accesses[] = {access_to(graph, x, 0), access_to(graph, y, WORK_ACCESS_WRITE)};
  const int16_t read_map[] = {0, 1}, write_map[] = {0, -1};
  const int16_t *maps[] = {read_map, write_map};
  struct work_stage stage = {
      .kind = WORK_REDUCE, .dtype = DTYPE_F32, .read_count = 1, .label = label_of(graph, "reduce")};
  work_stage_add(graph, &stage, axes, 2, &vector_op, 1, accesses, maps, 2);
  struct work_task task = {.kind = WORK_REDUCE, .read_count = 1, .label = stage.label};
  work_task_add(graph, &task, accesses, 2);
  return y;
}

/* Softmax over rows is one pass on a TPU, whether its numerators are cheap enough to be computed twice on the way there or
 * not: then the first kernel has the row's maximum and the numerators, and the second sums them. */
static void softmax_is_one_pass_on_tpu(void **state) {
  (void)state;
  for (int exponentials = 1; exponentials <= 4; exponentials += 3) {
    struct work_graph *graph = work_graph_new();
    uint32_t x = new_input(graph, 8192, 8192);
    uint32_t numerators = add_binary(graph, "subtract", x, add_broadcast(graph, add_row_sum(graph, x), 8192));
    for (int i = 0; i < exponentials; i++) {
      numerators = add_unary(graph, "exponential", numerators);
    }
    uint32_t sum = add_row_sum(graph, numerators);
    set_output(graph, add_binary(graph, "divide", numerators, add_broadcast(graph, sum, 8192)));
    struct work_graph *fused = fuse(graph, HW_FUSION_TPU, NULL);
    assert_int_equal(count_launches(fused), 1);
    work_graph_free(fused);
    work_graph_free(graph);
  }
}

/* What is read to fill an empty tensor is read again by each reader that takes the filling in. */
static void empty_tensors_do_not_hide_traffic(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 128, 128);
  uint32_t empty = new_tensor(graph, DTYPE_F32, 128, 0, WORK_TENSOR_INTERMEDIATE);
  add_task(graph, WORK_BROADCAST, "broadcast_in_dim", empty, NULL, &x, 1, empty);
  set_output(graph, add_unary(graph, "negate", empty));
  set_output(graph, add_unary(graph, "tanh", empty));
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  struct work_total total;
  work_graph_total(fused, &total);
  assert_int_equal(total.read_bytes, 128 * 128 * 4);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void fusion_looks_through_reshapes(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024);
  uint32_t flat = add_reshape(graph, add_unary(graph, "negate", x), 512, 2048);
  set_output(graph, add_unary(graph, "tanh", flat));
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  assert_int_equal(fused->tasks.count, 1);
  assert_int_equal(fused->tasks.data[0].stage_count, 3);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void read_before_in_place_update_stays_before(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024), row = new_input(graph, 1, 1024);
  uint32_t base = add_unary(graph, "negate", x);
  uint32_t old = add_unary(graph, "exponential", base);
  uint32_t updated = add_update(graph, base, row);
  set_output(graph, add_binary(graph, "add", old, updated)); /* must not pull `old` behind the update */
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  uint32_t reader = UINT32_MAX, writer = UINT32_MAX;
  for (uint32_t i = 0; i < fused->tasks.count; i++) {
    const struct work_task *task = &fused->tasks.data[i];
    for (uint32_t k = 0; k < task->access_count; k++) {
      uint32_t tensor = fused->accesses.data[task->access_first + k].tensor;
      reader = k >= task->read_count && tensor == old ? i : reader;
      writer = k >= task->read_count && tensor == updated ? i : writer;
    }
  }
  assert_true(reader != UINT32_MAX && writer != UINT32_MAX && reader < writer);
  work_graph_free(fused);
  work_graph_free(graph);
}

/* x is donated and `fresh` takes its storage, written whole by the task just added. */
static void share_whole(struct work_graph *graph, uint32_t x, uint32_t fresh) {
  graph->tensors.data[x].is_donated = true;
  graph->tensors.data[fresh].alias_of = x + 1;
  const struct work_task *task = &graph->tasks.data[graph->tasks.count - 1];
  const struct work_stage *stage = &graph->stages.data[task->stage_first];
  graph->accesses.data[task->access_first + task->access_count - 1].flags |= WORK_ACCESS_IN_PLACE;
  graph->accesses.data[stage->access_first + stage->access_count - 1].flags |= WORK_ACCESS_IN_PLACE;
}

static void donated_storage_is_shared_while_the_order_allows(void **state) {
  (void)state;
  for (unsigned late = 0; late < 2; late++) {
    struct work_graph *graph = work_graph_new();
    uint32_t x = new_input(graph, 1024, 1024), w = new_input(graph, 1024, 1024);
    uint32_t old = add_unary(graph, "exponential", x);
    uint32_t fresh = add_unary(graph, "negate", x);
    share_whole(graph, x, fresh);
    set_output(graph, fresh);
    /* late: the exponential moves into a kernel behind the product of `fresh`, so x is read after `fresh` is written */
    uint32_t product = add_matmul(graph, fresh, w);
    set_output(graph, late ? add_binary(graph, "multiply", old, product) : old);
    if (!late) {
      set_output(graph, product);
    }
    struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
    assert_int_equal(fused->tensors.data[fresh].alias_of, late ? 0 : x + 1);
    work_graph_free(fused);
    work_graph_free(graph);
  }
}

static void prefused_tasks_stay(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 1024, 1024);
  set_output(graph, add_unary(graph, "tanh", add_unary(graph, "negate", x)));
  graph->tasks.data[0].flags |= WORK_TASK_PREFUSED;
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, NULL);
  assert_int_equal(fused->tasks.count, 2);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void none_is_a_copy(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 64, 64);
  set_output(graph, add_reshape(graph, add_unary(graph, "tanh", add_unary(graph, "negate", x)), 32, 128));
  struct work_graph *fused = fuse(graph, HW_FUSION_NONE, NULL);
  struct strbuf a = {0}, b = {0};
  work_graph_print(graph, &a);
  work_graph_print(fused, &b);
  assert_string_equal(strbuf_text(&a), strbuf_text(&b));
  strbuf_release(&a);
  strbuf_release(&b);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void loop_bodies_fuse(void **state) {
  (void)state;
  struct work_graph *graph = work_graph_new();
  uint32_t x = new_input(graph, 256, 256);
  struct work_graph *body = work_graph_new_inside(graph);
  uint32_t in = new_input(body, 256, 256);
  uint32_t out = add_unary(body, "tanh", add_unary(body, "negate", in));
  set_output(body, out);
  assert_true(vec_push(&body->carried, ((struct work_carried){in, out})));
  uint32_t y = like(graph, x);
  struct work_access border[] = {access_to(graph, x, 0), access_to(graph, y, WORK_ACCESS_WRITE)};
  struct work_task loop = {.kind = WORK_LOOP, .read_count = 1, .subgraph_count = 1, .trip_count = 10};
  loop.subgraph_first = work_subgraph_attach(graph, body);
  work_task_add(graph, &loop, border, 2);
  set_output(graph, y);
  struct lower_fusion_report report;
  struct work_graph *fused = fuse(graph, HW_FUSION_GPU, &report);
  assert_int_equal(report.tasks_before, 20);
  assert_int_equal(report.tasks_after, 10);
  work_graph_free(fused);
  work_graph_free(graph);
}

static void keys_name_what_decides(void **state) {
  (void)state;
  struct hw_chip gpu = chip_of(HW_FUSION_GPU), tpu = chip_of(HW_FUSION_TPU), none = chip_of(HW_FUSION_NONE);
  assert_string_equal(lower_fusion_key(&gpu), "gpu");
  assert_string_equal(lower_fusion_key(&tpu), "tpu/128MiB");
  assert_string_equal(lower_fusion_key(&none), "none");
  tpu.cache_size_bytes = 16 * 1048576.0;
  assert_string_equal(lower_fusion_key(&tpu), "tpu/16MiB");
}

/* ---- invariants on random programs ---- */

static uint64_t random_next(uint64_t *seed) { /* splitmix64 (Steele, Lea, Flood 2014) */
  uint64_t z = (*seed += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static uint32_t pick(const struct work_graph *graph, uint64_t *seed) {
  /* mostly recent tensors, so that chains form */
  uint64_t count = graph->tensors.count, window = random_next(seed) % 4 == 0 || count < 12 ? count : 12;
  return (uint32_t)(count - 1 - random_next(seed) % window);
}

static void random_step(struct work_graph *graph, uint64_t *seed) {
  static const char *const names[] = {"negate", "exponential", "convert", "tanh"};
  static const char *const pairs[] = {"add", "multiply", "maximum"};
  uint32_t x = pick(graph, seed), y = pick(graph, seed);
  int64_t rows = dim(graph, x, 0), columns = dim(graph, x, 1);
  switch (random_next(seed) % 12) {
  case 0:
    add_reduce(graph, x);
    break;
  case 1:
    add_broadcast(graph, add_reduce(graph, x), 256);
    break;
  case 2:
    add_transpose(graph, x);
    break;
  case 3:
    add_slice(graph, x, columns > 1 ? columns / 2 : 1);
    break;
  case 4:
    add_reshape(graph, x, columns, rows);
    break;
  case 5:
    if (columns == dim(graph, y, 0) && x != y) {
      add_matmul(graph, x, y);
    }
    break;
  case 6:
    add_iota(graph, rows, columns);
    break;
  case 7:
    if (graph->tensors.data[x].role == WORK_TENSOR_INTERMEDIATE && x + 1 == graph->tensors.count && rows > 1) {
      add_update(graph, x, add_iota(graph, 1, columns)); /* the newest tensor: nobody reads the old value later */
    }
    break;
  case 8:
  case 9:
    if (rows == dim(graph, y, 0) && columns == dim(graph, y, 1)) {
      add_binary(graph, pairs[random_next(seed) % 3], x, y);
    }
    break;
  default:
    add_unary(graph, names[random_next(seed) % 4], x);
    break;
  }
}

/* Tensors whose storage was updated in place must not be read any more. */
static bool is_overwritten(const struct work_graph *graph, uint32_t tensor) {
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    bool is_update = false;
    for (size_t i = 0; i < graph->tasks.count && graph->tensors.data[t].alias_of == tensor + 1; i++) {
      const struct work_task *task = &graph->tasks.data[i];
      is_update |= task->kind == WORK_DYNAMIC_UPDATE_SLICE && graph->accesses.data[task->access_first + 2].tensor == t;
    }
    if (is_update) {
      return true;
    }
  }
  return false;
}

static struct work_graph *random_program(uint64_t seed, uint32_t steps) {
  struct work_graph *graph = work_graph_new();
  for (uint32_t i = 0; i < 3; i++) {
    new_input(graph, 256, 256);
  }
  for (uint32_t i = 0; i < steps; i++) {
    random_step(graph, &seed);
  }
  for (uint32_t t = 3; t < graph->tensors.count; t++) {
    bool is_read = false;
    for (size_t i = 0; i < graph->tasks.count && !is_read; i++) {
      const struct work_task *task = &graph->tasks.data[i];
      for (uint32_t k = 0; k < task->read_count; k++) {
        is_read |= graph->accesses.data[task->access_first + k].tensor == t;
      }
    }
    if ((!is_read || random_next(&seed) % 16 == 0) && !is_overwritten(graph, t)) {
      set_output(graph, t);
    }
  }
  return graph;
}

static double time_of(const struct work_graph *graph, enum hw_fusion fusion) {
  struct hw_chip chip = chip_of(fusion);
  struct work_result result;
  work_result_init(&result);
  assert_int_equal(cost_roofline.estimate(graph, &chip, NULL, &result), STATUS_OK);
  double time_s = result.time_s;
  work_result_release(&result);
  return time_s;
}

/* Every computation of the unfused graph occurs: counted by label. */
static void check_stages(const struct work_graph *graph, const struct work_graph *fused) {
  uint32_t before[32] = {0}, after[32] = {0};
  for (size_t i = 0; i < graph->stages.count; i++) {
    assert_true(graph->stages.data[i].label < 32);
    before[graph->stages.data[i].label]++;
  }
  for (size_t i = 0; i < fused->stages.count; i++) {
    after[fused->stages.data[i].label]++;
  }
  for (uint32_t i = 0; i < 32; i++) {
    assert_true(after[i] >= before[i]);
  }
}

static void check_invariants(struct work_graph *graph, enum hw_fusion fusion) {
  struct lower_fusion_report report;
  struct work_graph *fused = fuse(graph, fusion, &report);
  struct work_total before, after;
  work_graph_total(graph, &before);
  work_graph_total(fused, &after);
  assert_int_equal(before.ops[WORK_ENGINE_MATRIX], after.ops[WORK_ENGINE_MATRIX]);
  assert_true(after.launches <= before.launches);
  /* each fusion may add traffic below a kilobyte (docs/fusion.md) */
  assert_true(report.bytes_after <= report.bytes_before + 1024 * (before.launches - after.launches));
  assert_int_equal(graph->outputs.count, fused->outputs.count);
  for (size_t i = 0; i < graph->outputs.count; i++) {
    assert_int_equal(graph->outputs.data[i], fused->outputs.data[i]);
  }
  check_stages(graph, fused);
  assert_true(time_of(fused, fusion) <= time_of(graph, fusion) * (1 + 1e-9));
  work_graph_free(fused);
}

static void invariants_hold_on_random_programs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    struct work_graph *graph = random_program(seed, 20 + (uint32_t)(seed % 7) * 20);
    check_invariants(graph, HW_FUSION_GPU);
    check_invariants(graph, HW_FUSION_TPU);
    check_invariants(graph, HW_FUSION_NONE);
    work_graph_free(graph);
  }
}

static void fusing_twice_gives_the_same(void **state) {
  (void)state;
  struct work_graph *graph = random_program(7, 200);
  struct work_graph *first = fuse(graph, HW_FUSION_GPU, NULL);
  struct work_graph *second = fuse(graph, HW_FUSION_GPU, NULL);
  struct strbuf a = {0}, b = {0};
  work_graph_print(first, &a);
  work_graph_print(second, &b);
  assert_string_equal(strbuf_text(&a), strbuf_text(&b));
  strbuf_release(&a);
  strbuf_release(&b);
  work_graph_free(first);
  work_graph_free(second);
  work_graph_free(graph);
}

static struct work_graph *fuse_tpu(const struct work_graph *graph, double scratch_bytes, struct hw_chip *chip,
                                   struct lower_fusion_report *report, struct strbuf *text) {
  struct work_graph *fused = NULL;
  *chip = chip_of(HW_FUSION_TPU);
  chip->cache_size_bytes = scratch_bytes;
  assert_int_equal(lower_fuse(graph, chip, report, &fused), STATUS_OK);
  work_graph_print(fused, text);
  return fused;
}

/* Chips whose limits a program does not tell apart share its graph: it must be the one that each would get. */
static void shared_graphs_are_those_of_each_chip(void **state) {
  (void)state;
  uint32_t shared = 0, apart = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct work_graph *graph = random_program(seed, 20 + (uint32_t)(seed % 7) * 60);
    assert_int_equal(work_graph_seal(graph), STATUS_OK);
    struct hw_chip large_chip, small_chip;
    struct lower_fusion_report large_report, small_report;
    struct strbuf large_text = {0}, small_text = {0};
    struct work_graph *large = fuse_tpu(graph, 128.0 * 1048576, &large_chip, &large_report, &large_text);
    struct work_graph *small = fuse_tpu(graph, 16.0 * 1048576, &small_chip, &small_report, &small_text);
    assert_true(lower_fusion_same(&large_report, &large_chip));
    assert_true(lower_fusion_same(&small_report, &small_chip));
    assert_int_equal(lower_fusion_same(&large_report, &small_chip), lower_fusion_same(&small_report, &large_chip));
    if (lower_fusion_same(&large_report, &small_chip)) {
      assert_string_equal(strbuf_text(&large_text), strbuf_text(&small_text));
      shared++;
    } else {
      apart++;
    }
    large_chip.fusion = HW_FUSION_GPU;
    assert_false(lower_fusion_same(&large_report, &large_chip));
    strbuf_release(&large_text);
    strbuf_release(&small_text);
    work_graph_free(large);
    work_graph_free(small);
    work_graph_free(graph);
  }
  assert_true(shared > 0 && apart > 0); /* else the test says nothing */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chain_becomes_one_kernel),
      cmocka_unit_test(reduction_takes_producers_and_ends_the_kernel),
      cmocka_unit_test(cheap_producer_is_repeated_in_each_reader),
      cmocka_unit_test(readers_of_one_tensor_share_a_pass),
      cmocka_unit_test(output_that_is_read_stays_and_is_read_inside),
      cmocka_unit_test(no_cycle_from_joining),
      cmocka_unit_test(product_takes_bias_and_rectifier_on_gpu),
      cmocka_unit_test(transposed_operand_is_a_flag_of_the_product),
      cmocka_unit_test(products_take_stacked_slices_by_address_on_gpu),
      cmocka_unit_test(softmax_is_one_pass_on_tpu),
      cmocka_unit_test(empty_tensors_do_not_hide_traffic),
      cmocka_unit_test(fusion_looks_through_reshapes),
      cmocka_unit_test(read_before_in_place_update_stays_before),
      cmocka_unit_test(donated_storage_is_shared_while_the_order_allows),
      cmocka_unit_test(prefused_tasks_stay),
      cmocka_unit_test(none_is_a_copy),
      cmocka_unit_test(loop_bodies_fuse),
      cmocka_unit_test(keys_name_what_decides),
      cmocka_unit_test(invariants_hold_on_random_programs),
      cmocka_unit_test(fusing_twice_gives_the_same),
      cmocka_unit_test(shared_graphs_are_those_of_each_chip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
