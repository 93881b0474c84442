/* What kernel.h promises of every model: finite times above zero for every chip that predicts, whatever else its file
 * lacks, for shapes from one element to the largest that are read, and for constants at either bound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/kernel.h"

/* As measured_shape_parse allows; work graphs have 64-bit extents. */
static const double largest = 1e15, largest_in_program = 9.2e18;

static struct hw_chip whole_chip(enum hw_kind kind) {
  static const char *const no_lineage[] = {NULL};
  struct hw_chip chip = {.id = "odd",
                         .lineage = no_lineage,
                         .kind = kind,
                         .clock_Hz = 1e9,
                         .vector_clock_Hz = 1e9,
                         .cores = 100,
                         .matrix_units_per_core = 4,
                         .matrix_rows = 128,
                         .matrix_columns = 128,
                         .tile_m = kind == HW_KIND_GPU ? 128 : 0,
                         .tile_n = kind == HW_KIND_GPU ? 128 : 0,
                         .tile_k = kind == HW_KIND_GPU ? 32 : 0,
                         .memory_size_bytes = 1e10,
                         .memory_Bps = 1e12,
                         .cache_size_bytes = 1e7,
                         .cache_Bps = 3e12,
                         .has_off_chip = true,
                         .tdp_W = 300,
                         .launch_s = 2e-6,
                         .matrix_efficiency = 0.8,
                         .memory_efficiency = 0.9,
                         .memory_ramp_bytes = 1e6,
                         .vector_efficiency = 0.9};
  for (unsigned d = 0; d < DTYPE_COUNT; d++) {
    chip.matrix_flops[d] = 1e14;
    chip.vector_flops[d] = 1e13;
    chip.matrix_runs_as[d] = chip.vector_runs_as[d] = (uint8_t)d;
  }
  for (unsigned f = 0; f < HW_FUNCTION_COUNT; f++) {
    chip.function_rate[f] = 1e12;
  }
  return chip;
}

static void without_vector_rates(struct hw_chip *chip) {
  for (unsigned d = 0; d < DTYPE_COUNT; d++) {
    chip->vector_flops[d] = 0;
    chip->vector_runs_as[d] = DTYPE_NONE;
  }
}

static void without_matrix_rates(struct hw_chip *chip) {
  for (unsigned d = 0; d < DTYPE_COUNT; d++) {
    chip->matrix_flops[d] = 0;
    chip->matrix_runs_as[d] = DTYPE_NONE;
  }
}

static void without_functions(struct hw_chip *chip) {
  for (unsigned f = 0; f < HW_FUNCTION_COUNT; f++) {
    chip->function_rate[f] = 0;
  }
}

/* Every set of lacks of a file that still predicts: bit i of `lacks` takes the ith away. */
enum { LACKS = 9 };
static struct hw_chip odd_chip(enum hw_kind kind, unsigned lacks) {
  struct hw_chip chip = whole_chip(kind);
  double *const members[] = {&chip.cores, &chip.cache_Bps, &chip.tdp_W, &chip.launch_s};
  for (unsigned i = 0; i < 4; i++) {
    *members[i] = lacks & 1u << i ? 0 : *members[i];
  }
  if (lacks & 1u << 4) {
    chip.clock_Hz = chip.vector_clock_Hz = 0;
  }
  if (lacks & 1u << 5) {
    chip.cache_size_bytes = 0;
  }
  if (lacks & 1u << 6) {
    chip.matrix_efficiency = chip.memory_efficiency = chip.vector_efficiency = 0;
    chip.matrix_units_per_core = chip.memory_ramp_bytes = 0;
  }
  if (lacks & 1u << 7) {
    without_functions(&chip);
    without_vector_rates(&chip);
  }
  if (lacks & 1u << 8) {
    without_matrix_rates(&chip);
    chip.matrix_rows = chip.matrix_columns = 0;
  }
  return chip;
}

/* All extents `e`, or that with ones where a shape is thin. */
static struct kernel_shape shape_of(enum kernel_class class_of, enum kernel_format format, double e, double thin) {
  struct kernel_shape shape = {.class_of = class_of, .format = format};
  switch (class_of) {
  case KERNEL_GEMM:
    shape.gemm = (struct kernel_gemm){thin, e, thin, e};
    break;
  case KERNEL_ATTENTION_PREFILL:
  case KERNEL_ATTENTION_DECODE:
    shape.attention = (struct kernel_attention){thin, thin, e, e, thin, e, thin, true};
    break;
  case KERNEL_GROUPED_GEMM:
    shape.grouped = (struct kernel_grouped){e, e, e, thin, e, thin, thin, e > 1 ? 1.2 : 0, false};
    break;
  default:
    shape.pass = (struct kernel_pass){e, thin, 1, 1, e, HW_FUNCTION_EXP};
  }
  return shape;
}

static void check(const struct kernel_model *model, const struct hw_chip *chip, const struct kernel_shape *shape,
                  const double *values, unsigned lacks) {
  struct kernel_time time;
  model->time(chip, shape, values, &time);
  const double parts[] = {time.matrix_s, time.vector_s, time.memory_s,       time.cache_s, time.launch_s,
                          time.tile_m,   time.tile_n,   time.off_chip_bytes, time.split,   time.waves};
  bool is_good = isfinite(time.time_s) && time.time_s > 0;
  for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    is_good = is_good && isfinite(parts[i]) && parts[i] >= 0;
  }
  if (!is_good) {
    fail_msg("%s, %s, %s, kind %d, lacks %x, flags %u: %g s; %g %g %g %g %g, %g B", model->name,
             kernel_class_name(shape->class_of), kernel_format_info(shape->format)->name, (int)chip->kind, lacks,
             shape->flags, time.time_s, parts[0], parts[1], parts[2], parts[3], parts[4], parts[7]);
  }
}

static void check_shapes(const struct kernel_model *model, const struct hw_chip *chip, enum kernel_class class_of,
                         enum kernel_format format, const double *values, unsigned lacks) {
  static const uint32_t flags[] = {0, KERNEL_WARM, KERNEL_WARM | KERNEL_QUANTISES | KERNEL_BIAS};
  const double extents[] = {1, 1000, largest, largest_in_program};
  for (unsigned i = 0; i < 8; i++) {
    struct kernel_shape shape = shape_of(class_of, format, extents[i / 2], i % 2 ? extents[i / 2] : 1);
    for (unsigned f = 0; f < 3; f++) {
      shape.flags = flags[f];
      check(model, chip, &shape, values, lacks);
    }
    shape.flags = 0;
    shape.cached_bytes = kernel_bytes(&shape);
    check(model, chip, &shape, values, lacks);
  }
}

/* Constants of the data sheet lie in their bounds; times are finite with them and with each at a bound. */
static void check_chip(const struct hw_chip *chip, unsigned lacks, size_t *models) {
  for (unsigned i = 0; i < KERNEL_CLASS_COUNT * KERNEL_FORMAT_COUNT; i++) {
    enum kernel_class class_of = (enum kernel_class)(i / KERNEL_FORMAT_COUNT);
    enum kernel_format format = (enum kernel_format)(i % KERNEL_FORMAT_COUNT);
    const struct kernel_model *model = kernel_model_for(class_of, format, chip);
    double values[3][KERNEL_CONSTANT_MAX];
    if (model == NULL || (format != KERNEL_FORMAT_F32 && format != KERNEL_FORMAT_FP8_BLOCK)) {
      continue;
    }
    model->defaults(chip, class_of, format, values[0]);
    for (unsigned k = 0; k < model->constant_count; k++) {
      const struct kernel_constant *c = &model->constants[k];
      if (!(values[0][k] >= c->lower && values[0][k] <= c->upper)) {
        fail_msg("%s: %s is %g, lacks %x", model->name, c->name, values[0][k], lacks);
      }
      values[1][k] = c->lower;
      values[2][k] = c->upper;
    }
    for (unsigned v = 0; v < 3; v++) {
      check_shapes(model, chip, class_of, format, values[v], lacks);
    }
    ++*models;
  }
}

static void times_are_finite_on_odd_chips(void **state) {
  (void)state;
  static const enum hw_kind kinds[] = {HW_KIND_GPU, HW_KIND_TPU, HW_KIND_CPU};
  size_t models = 0;
  for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    for (unsigned lacks = 0; lacks < 1u << LACKS; lacks++) {
      struct hw_chip chip = odd_chip(kinds[k], lacks);
      check_chip(&chip, lacks, &models);
    }
  }
  assert_true(models > 3 * (1u << LACKS)); /* the loop does run models */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_finite_on_odd_chips)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
