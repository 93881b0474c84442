/* Properties of the roofline on all shipped chips: better hardware is never slower, larger products are never faster, and
 * nothing beats the peak. By data-sheet rules they hold exactly. Where kernels were measured they hold within a tenth:
 * kernels are picked as libraries do it, measured times themselves fall by more where a shape meets a better kernel, and
 * under a power limit faster lanes run at a lower clock, which the caches share. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost/roofline.h"

static struct hw_database db;
/* Every chip as shipped, and without what was fitted for it. */
static struct hw_chip chips[512];
static size_t chip_count;
static const double exact = 1e-9, fitted = 0.1;

static double slack(const struct hw_chip *chip) {
  return chip->fit_count > 0 ? fitted : exact;
}

static int load(void **state) {
  (void)state;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = hw_database_load(&db, "hardware", &diags);
  diag_release(&diags);
  for (size_t i = 0; i < db.chips.count && chip_count + 2 <= sizeof chips / sizeof chips[0]; i++) {
    chips[chip_count++] = db.chips.data[i];
    if (db.chips.data[i].fit_count > 0) {
      chips[chip_count] = db.chips.data[i];
      chips[chip_count++].fit_count = 0;
    }
  }
  return status == STATUS_OK && db.chips.count > 40 && chip_count > db.chips.count ? 0 : -1;
}

static int release(void **state) {
  (void)state;
  hw_database_release(&db);
  return 0;
}

static uint64_t random_next(uint64_t *seed) { /* splitmix64 (Steele, Lea, Flood 2014) */
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Spread evenly over the orders of magnitude from 1 to `most`. */
static uint64_t random_extent(uint64_t *seed, double most) {
  double share = (double)(random_next(seed) >> 11) / 9007199254740992.0;
  return (uint64_t)exp(share * log(most));
}

static uint32_t add_tensor(struct work_graph *graph, enum dtype dtype, uint64_t rows, uint64_t columns, bool is_input) {
  int64_t dims[] = {(int64_t)rows, (int64_t)columns};
  uint32_t tensor = work_tensor_add(graph, dtype, dims, 2, is_input ? WORK_TENSOR_INPUT : WORK_TENSOR_INTERMEDIATE);
  if (is_input) {
    assert_true(vec_push(&graph->inputs, tensor));
  }
  return tensor;
}

static struct work_access touch(const struct work_graph *graph, uint32_t tensor, unsigned flags) {
  return (struct work_access){
      .tensor = tensor, .flags = (uint8_t)flags, .touched_elements = graph->tensors.data[tensor].element_count};
}

/* How often a test asks for the same products in one kernel, and what else that kernel computes per element. */
struct shape {
  struct work_gemm gemm;
  enum dtype dtype;
  uint32_t op_count; /* of the matrix operation: 8 = complex */
  uint32_t stages;
  struct work_op epilogue;
};

/* One kernel of `stages` like products, an epilogue, and a second kernel that reads its result. */
static struct work_graph *graph_of(const struct shape *shape) {
  struct work_graph *graph = work_graph_new();
  const struct work_gemm *gemm = &shape->gemm;
  uint32_t a = add_tensor(graph, shape->dtype, gemm->batch * gemm->m, gemm->k, true);
  uint32_t b = add_tensor(graph, shape->dtype, gemm->batch * gemm->k, gemm->n, true);
  uint32_t c = add_tensor(graph, shape->dtype, gemm->batch * gemm->m, gemm->n, false);
  uint32_t d = add_tensor(graph, shape->dtype, gemm->batch * gemm->m, gemm->n, false);
  const struct work_axis axes[] = {{.extent = (int64_t)gemm->batch, .role = WORK_AXIS_BATCH},
                                   {.extent = (int64_t)gemm->m, .role = WORK_AXIS_ROW},
                                   {.extent = (int64_t)gemm->n, .role = WORK_AXIS_COLUMN},
                                   {.extent = (int64_t)gemm->k, .role = WORK_AXIS_REDUCTION}};
  const struct work_op op = {WORK_ENGINE_MATRIX, (uint8_t)shape->dtype, WORK_FUNCTION_NONE, shape->op_count};
  const struct work_access border[] = {touch(graph, a, 0), touch(graph, b, 0), touch(graph, c, WORK_ACCESS_WRITE)};
  for (uint32_t i = 0; i < shape->stages; i++) {
    struct work_stage stage = {.kind = WORK_MATMUL, .dtype = (uint8_t)shape->dtype, .read_count = 2};
    work_stage_add(graph, &stage, axes, 4, &op, 1, border, NULL, 3);
  }
  struct work_stage epilogue = {.kind = WORK_ELEMENTWISE, .dtype = (uint8_t)shape->dtype, .read_count = 1};
  const struct work_access inside[] = {border[2], touch(graph, c, WORK_ACCESS_WRITE)};
  work_stage_add(graph, &epilogue, axes, 3, &shape->epilogue, 1, inside, NULL, 2);
  struct work_task task = {.kind = WORK_MATMUL, .read_count = 2};
  work_task_add(graph, &task, border, 3);
  const struct work_access next[] = {touch(graph, c, 0), touch(graph, d, WORK_ACCESS_WRITE)};
  work_stage_add(graph, &epilogue, axes, 3, &shape->epilogue, 1, next, NULL, 2);
  task = (struct work_task){.kind = WORK_ELEMENTWISE, .read_count = 1};
  work_task_add(graph, &task, next, 2);
  graph->tensors.data[d].is_output = true;
  assert_true(vec_push(&graph->outputs, d));
  assert_int_equal(work_graph_seal(graph), STATUS_OK);
  return graph;
}

static struct shape random_shape(uint64_t *seed) {
  static const enum dtype dtypes[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F32, DTYPE_F8E4M3FN, DTYPE_I8, DTYPE_F64};
  static const enum work_engine engines[] = {WORK_ENGINE_VECTOR, WORK_ENGINE_FUNCTION, WORK_ENGINE_INTEGER};
  struct shape shape = {.dtype = dtypes[random_next(seed) % 6], .op_count = random_next(seed) % 4 == 0 ? 8 : 2};
  shape.gemm = (struct work_gemm){random_next(seed) % 3 == 0 ? random_extent(seed, 200) : 1, random_extent(seed, 9000),
                                  random_extent(seed, 9000), random_extent(seed, 9000)};
  shape.stages = random_next(seed) % 4 == 0 ? 2 : 1;
  enum work_engine engine = engines[random_next(seed) % 3];
  enum dtype dtype = engine == WORK_ENGINE_INTEGER    ? DTYPE_I32
                     : dtype_is_floating(shape.dtype) ? shape.dtype
                                                      : DTYPE_F32;
  shape.epilogue = (struct work_op){
      (uint8_t)engine, (uint8_t)dtype,
      (uint8_t)(engine == WORK_ENGINE_FUNCTION ? random_next(seed) % WORK_FUNCTION_NONE : WORK_FUNCTION_NONE),
      (uint32_t)random_extent(seed, 300)};
  return shape;
}

/* Sum of both kernels; NAN when the chip refuses a type. */
static double time_of(const struct hw_chip *chip, const struct work_graph *graph) {
  struct roofline_chip rc;
  roofline_chip_init(&rc, chip, NULL);
  double time_s = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    struct roofline_task task;
    roofline_task_estimate(&rc, graph, &graph->tasks.data[i], &task);
    time_s = task.refused != DTYPE_NONE ? (double)NAN : time_s + task.result.time_s;
  }
  return time_s;
}

enum { KNOB_COUNT = 2 * DTYPE_COUNT + 3 + HW_FUNCTION_COUNT };

/* Scales one number of a chip; false when it has none there. A matrix rate that is the vector engine's own is no matrix
 * unit to speed up: it follows that engine. */
static bool turn_knob(struct hw_chip *chip, unsigned knob, double factor) {
  double *const single[] = {&chip->memory_Bps, &chip->cache_Bps, &chip->cache_size_bytes};
  unsigned dtype = knob % DTYPE_COUNT, rest = knob - 2 * DTYPE_COUNT;
  bool is_lanes = chip->matrix_flops[dtype] == chip->vector_flops[dtype];
  double *value = knob < DTYPE_COUNT       ? (is_lanes ? NULL : &chip->matrix_flops[dtype])
                  : knob < 2 * DTYPE_COUNT ? &chip->vector_flops[dtype]
                  : rest < 3               ? single[rest]
                                           : &chip->function_rate[rest - 3];
  if (value == NULL || !(*value > 0)) {
    return false;
  }
  *value *= factor;
  if (knob >= DTYPE_COUNT && knob < 2 * DTYPE_COUNT) {
    chip->tdp_W *= factor; /* lanes with the power they draw: without it they clock lower, and the caches with them */
  }
  if (knob >= DTYPE_COUNT && knob < 2 * DTYPE_COUNT && is_lanes) {
    chip->matrix_flops[dtype] *= factor;
  }
  return true;
}

static void better_hardware_is_never_slower(void **state) {
  (void)state;
  enum { SHAPES = 120 };
  uint64_t seed = 1;
  for (unsigned s = 0; s < SHAPES; s++) {
    struct shape shape = random_shape(&seed);
    struct work_graph *graph = graph_of(&shape);
    for (size_t c = 0; c < chip_count; c++) {
      const struct hw_chip *chip = &chips[c];
      double before = chip->missing == NULL ? time_of(chip, graph) : (double)NAN;
      for (unsigned knob = 0; knob < KNOB_COUNT && !isnan(before); knob++) {
        static const double factors[] = {1.3, 4};
        for (unsigned f = 0; f < 2; f++) {
          struct hw_chip better = *chip;
          if (!turn_knob(&better, knob, factors[f])) {
            break;
          }
          double after = time_of(&better, graph);
          if (!(after <= before * (1 + slack(chip)))) {
            fail_msg("%s knob %u x %g: %.9g -> %.9g s (batch %d m %d n %d k %d %s, %u stages)", chip->id, knob,
                     factors[f], before, after, (int)shape.gemm.batch, (int)shape.gemm.m, (int)shape.gemm.n,
                     (int)shape.gemm.k, dtype_name(shape.dtype), shape.stages);
          }
        }
      }
    }
    work_graph_free(graph);
  }
}

/* How far rows of so many elements are from being aligned. */
static unsigned misalignment(uint64_t extent, enum dtype dtype) {
  uint64_t bits = extent * dtype_storage_bits(dtype);
  return bits % 128 == 0 ? 0 : bits % 32 == 0 ? 1 : 2;
}

/* Products of unaligned rows cost more than slightly larger ones of aligned rows. */
static bool is_better_aligned(const struct shape *larger, const struct shape *shape) {
  return misalignment(larger->gemm.k, larger->dtype) < misalignment(shape->gemm.k, shape->dtype)
         || misalignment(larger->gemm.n, larger->dtype) < misalignment(shape->gemm.n, shape->dtype);
}

static uint64_t *side_of(struct work_gemm *gemm, unsigned side) {
  uint64_t *const sides[] = {&gemm->batch, &gemm->m, &gemm->n, &gemm->k};
  return sides[side];
}

/* What a kernel's products execute in its time, against the published peak. */
static void nothing_beats_the_peak(void **state) {
  (void)state;
  enum { SHAPES = 500 };
  uint64_t seed = 3;
  for (unsigned s = 0; s < SHAPES; s++) {
    struct shape shape = random_shape(&seed);
    struct work_graph *graph = graph_of(&shape);
    for (size_t c = 0; c < chip_count; c++) {
      const struct hw_chip *chip = &chips[c];
      struct roofline_chip rc;
      struct roofline_task task = {.matrix_flops = 0};
      if (chip->missing == NULL) {
        roofline_chip_init(&rc, chip, NULL);
        roofline_task_estimate(&rc, graph, &graph->tasks.data[0], &task);
      }
      double peak = chip->matrix_flops[task.matrix_dtype];
      if (task.matrix_flops > 0 && !(task.matrix_flops <= task.result.time_s * peak * (1 + 1e-9))) {
        fail_msg("%s: %g FLOP in %g s above the peak of %s, %g", chip->id, task.matrix_flops, task.result.time_s,
                 dtype_name((enum dtype)task.matrix_dtype), peak);
      }
    }
    work_graph_free(graph);
  }
}

static void larger_products_are_never_faster(void **state) {
  (void)state;
  enum { SHAPES = 250 };
  uint64_t seed = 2;
  for (unsigned s = 0; s < SHAPES; s++) {
    struct shape shape = random_shape(&seed);
    struct work_graph *graph = graph_of(&shape);
    for (unsigned side = 0; side < 4; side++) {
      for (unsigned step = 0; step < 2; step++) {
        struct shape larger = shape;
        uint64_t *extent = side_of(&larger.gemm, side);
        *extent = step == 0 ? *extent + 1 : *extent * 2;
        if (is_better_aligned(&larger, &shape)) {
          continue;
        }
        struct work_graph *more = graph_of(&larger);
        for (size_t c = 0; c < chip_count; c++) {
          const struct hw_chip *chip = &chips[c];
          double before = chip->missing == NULL ? time_of(chip, graph) : (double)NAN;
          double after = isnan(before) ? 0 : time_of(chip, more);
          if (!isnan(before) && !(after >= before * (1 - slack(chip)))) {
            fail_msg("%s: %.9g -> %.9g s from batch %d m %d n %d k %d %s, side %u to %d", chip->id, before, after,
                     (int)shape.gemm.batch, (int)shape.gemm.m, (int)shape.gemm.n, (int)shape.gemm.k,
                     dtype_name(shape.dtype), side, (int)*extent);
          }
        }
        work_graph_free(more);
      }
    }
    work_graph_free(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(better_hardware_is_never_slower),
      cmocka_unit_test(nothing_beats_the_peak),
      cmocka_unit_test(larger_products_are_never_faster),
  };
  return cmocka_run_group_tests(tests, load, release);
}
