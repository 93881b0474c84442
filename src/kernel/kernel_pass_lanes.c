/* Kernels that pass over rows on chips whose compiler manages the memory: TPUs and other arrays with vector lanes.
 *
 * Path: kernel_models.c → here; GPUs and CPUs have kernel_pass.c. Blocks stream from off-chip memory through the vector
 * unit, which converts narrow types to its own and back; operands that stay on chip leave the vector unit as the limit. What
 * is moved and computed is whole tiles of registers in the layout with the least padding. docs/kernels-memory.md derives the
 * formula and states its errors.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"
#include "kernel/kernel_board.h"

enum {
  LAUNCH,
  MEMORY_LATENCY,
  MEMORY_EFFICIENCY,
  WRITE_WEIGHT,
  VECTOR_EFFICIENCY,
  FUNCTION_EFFICIENCY,
  BLOCK_FRACTION,
  ROW_CYCLES,
  CONSTANT_COUNT
};

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [LAUNCH] = {"launch_s", "s", 1e-8, 1e-4, "from one kernel's end to the start of the next one's work"},
    [MEMORY_LATENCY] = {"memory_latency_s", "s", 1e-9, 1e-5, "of the first block from off-chip memory"},
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.02, 1, "of the off-chip bandwidth that reads reach"},
    [WRITE_WEIGHT] = {"write_weight", "-", 1, 3, "bytes read in the time of one written: turning the memory around"},
    [VECTOR_EFFICIENCY] = {"vector_efficiency", "fraction", 0.02, 1, "of the vector unit's rate"},
    [FUNCTION_EFFICIENCY] = {"function_efficiency", "fraction", 0.02, 1, "of the rate of special functions"},
    [BLOCK_FRACTION] = {"block_fraction", "fraction", 1e-4, 1,
                        "of the on-chip memory that one step moves; in the first step nothing overlaps"},
    [ROW_CYCLES] = {"row_cycles", "-", 0.01, 1000, "clocks of reducing a row, where rows are reduced"},
};

/* A register of a TPU holds 8 x 128 elements, and layouts are tiled by it; fewer rows than 8 take a tile of 1, 2 or 4. */
static const double sublanes = 8, lanes = 128;

static bool is_row_class(enum kernel_class class_of) {
  return class_of == KERNEL_SOFTMAX || class_of == KERNEL_NORMALISATION;
}

static bool applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  (void)format;
  bool is_managed = chip->kind == HW_KIND_TPU || chip->kind == HW_KIND_NPU || chip->kind == HW_KIND_ICCA
                    || chip->kind == HW_KIND_DATAFLOW;
  return is_managed && (class_of == KERNEL_ELEMENTWISE || is_row_class(class_of)) && chip->memory_Bps > 0;
}

static void defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     double *values) {
  (void)class_of;
  (void)format;
  const double from_data_sheet[CONSTANT_COUNT] = {
      [LAUNCH] = chip->launch_s,
      [MEMORY_LATENCY] = chip->memory_ramp_bytes / chip->memory_Bps,
      [MEMORY_EFFICIENCY] = chip->memory_efficiency,
      [WRITE_WEIGHT] = 1, /* the efficiency of the data sheet is that of copies */
      [VECTOR_EFFICIENCY] = chip->vector_efficiency > 0 ? chip->vector_efficiency : 1,
      [FUNCTION_EFFICIENCY] = 1,
      [BLOCK_FRACTION] = 1.0 / 16, /* assumed: a kernel gets a quarter, for two buffers of operands and of results */
      /* assumed: two reductions; each folds 128 lanes in 7 rotations, 8 rows at a time */
      [ROW_CYCLES] = 2 * 7.0 / 8,
  };
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = kernel_clamp(from_data_sheet[i], constants[i].lower, constants[i].upper);
  }
}

/* Extent of the second innermost dimension in whole tiles. */
static double tiled_sublanes(double extent) {
  return extent > 4 ? ceil(extent / sublanes) * sublanes : extent > 2 ? 4 : ceil(extent);
}

/* Elements with the padding of a layout's tiles. Any dimension may lie on lanes and any other on sublanes: XLA gives the
 * arrays of a program the order that pads least. */
static double padded_elements(const struct hw_chip *chip, const struct kernel_shape *shape) {
  const struct kernel_pass *pass = &shape->pass;
  double planes = kernel_clamp(shape->planes, 1, pass->rows);
  const double extents[3] = {planes, pass->rows / planes, pass->columns};
  double least = INFINITY;
  if (chip->kind != HW_KIND_TPU) {
    return pass->rows * pass->columns;
  }
  for (unsigned lane = 0; lane < 3; lane++) {
    for (unsigned step = 1; step < 3; step++) {
      unsigned sublane = (lane + step) % 3, outer = 3 - lane - sublane;
      bool is_flat = extents[sublane] == 1 && extents[outer] > 1; /* an array of two dimensions has both on the tile */
      double on_lanes = ceil(extents[lane] / lanes) * lanes;
      double padded = on_lanes * tiled_sublanes(extents[sublane]) * extents[outer];
      least = is_flat ? least : fmin(least, padded);
    }
  }
  return least;
}

/* Seconds of the vector unit: arithmetic with conversions, or special functions beside it. */
static double compute_time(const struct hw_chip *chip, const struct kernel_shape *shape, double elements,
                           const double *v) {
  const struct kernel_pass *pass = &shape->pass;
  enum dtype stored = kernel_format_info(shape->format)->dtype, runs_as = DTYPE_NONE;
  double rate = 0, time_s = 0;
  if (hw_chip_vector_rate(chip, stored, &rate, &runs_as) && rate > 0) {
    /* A type without a rate of its own is converted once per element read and rounded once per element written. */
    double conversions = runs_as == hw_engine_type(stored) ? 0 : pass->reads + pass->writes;
    time_s = elements * (pass->vector_flops + conversions) / (rate * v[VECTOR_EFFICIENCY]);
  }
  if (pass->function < HW_FUNCTION_COUNT && chip->function_rate[pass->function] > 0) {
    time_s = fmax(time_s, elements / (chip->function_rate[pass->function] * v[FUNCTION_EFFICIENCY]));
  }
  return time_s;
}

static double row_time(const struct hw_chip *chip, const struct kernel_shape *shape, const double *v) {
  double clocks = kernel_vector_clock_Hz(chip) * fmax(1, chip->cores);
  return is_row_class(shape->class_of) && clocks > 0 ? shape->pass.rows * v[ROW_CYCLES] / clocks : 0;
}

static void time_pass(const struct hw_chip *chip, const struct kernel_shape *shape, const double *v,
                      struct kernel_time *out) {
  const struct kernel_format_info *format = kernel_format_info(shape->format);
  double elements = padded_elements(chip, shape);
  double read_bytes = elements * shape->pass.reads * format->a_bytes;
  double written_bytes = elements * shape->pass.writes * format->c_bytes;
  double bytes = read_bytes + written_bytes;
  double room = chip->cache_size_bytes, cached = kernel_clamp(shape->cached_bytes, 0, bytes);
  if (shape->flags & KERNEL_WARM) {
    /* The compiler keeps what fits; of twice as much nothing is found. */
    cached = room > 0 ? bytes * kernel_clamp(2 - bytes / room, 0, 1) : 0;
  }
  double off_chip = bytes - cached + shape->extra_bytes;
  /* What is cached is so in equal parts of operands and result. */
  double weighted = bytes > 0 ? (read_bytes + v[WRITE_WEIGHT] * written_bytes) * (1 - cached / bytes) : 0;
  double memory_s = (weighted + shape->extra_bytes) / (chip->memory_Bps * v[MEMORY_EFFICIENCY]);
  double cache_s = chip->cache_Bps > 0 ? bytes / chip->cache_Bps : 0;
  double compute_s = compute_time(chip, shape, elements, v), row_s = row_time(chip, shape, v);
  /* The first block is fetched before anything is computed, the last one computed when all is fetched; what stays on chip is
   * computed as it is read. */
  double block_bytes = v[BLOCK_FRACTION] * chip->cache_size_bytes;
  double first = off_chip > block_bytes ? block_bytes / off_chip : 1;
  double start_s = v[LAUNCH] + (off_chip > 0 ? v[MEMORY_LATENCY] : 0);
  *out = (struct kernel_time){.time_s = start_s + fmax(fmax(memory_s, cache_s), compute_s)
                                        + first * fmin(memory_s, compute_s) + row_s,
                              .vector_s = compute_s + row_s,
                              .memory_s = memory_s,
                              .cache_s = cache_s,
                              .launch_s = start_s,
                              .off_chip_bytes = off_chip};
}

const struct kernel_model kernel_pass_lanes = {
    .name = "pass_lanes",
    .summary = "element-wise, softmax, normalisation on vector lanes: blocks through memory, conversions, padding",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = applies,
    .defaults = defaults,
    .time = time_pass,
};
