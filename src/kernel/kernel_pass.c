/* Kernels that pass over rows once: element-wise arithmetic, softmax, normalisation.
 *
 * They take what their slowest resource takes: bytes from off-chip memory and from the last cache, special functions,
 * vector arithmetic, or the start and end of each row where rows are reduced. docs/kernels-memory.md derives the formula
 * and states its errors. Chips with vector registers of a fixed shape (TPUs and the like) have kernel_pass_lanes.c.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/kernel_arithmetic.h"
#include "kernel/kernel_board.h"

enum {
  MEMORY_EFFICIENCY,
  CACHE_RATE,
  CACHE_FRACTION,
  OVERLAP,
  LAUNCH,
  DISPATCH,
  FUNCTION_EFFICIENCY,
  ROW_CYCLES,
  REREADS,
  CONSTANT_COUNT
};

static const struct kernel_constant constants[CONSTANT_COUNT] = {
    [MEMORY_EFFICIENCY] = {"memory_efficiency", "fraction", 0.02, 1, "of the off-chip bandwidth"},
    [CACHE_RATE] = {"cache_bytes_per_clock", "B", 4, 8192, "per clock that one core gets from the last cache"},
    [CACHE_FRACTION] = {"cache_fraction", "fraction", 0.02, 1,
                        "of the last cache that a repeated pass finds filled; twice as much data finds nothing"},
    [OVERLAP] = {"overlap", "-", 1.3, 8, "exponent that joins the resources; large = the slowest alone"},
    [LAUNCH] = {"launch_s", "s", 1e-8, 6e-5, "of a benchmark: from the first event to the start of work"},
    [DISPATCH] = {"dispatch_s", "s", 1e-8, 1.2e-4, "of a benchmark: what the host takes for one call"},
    [FUNCTION_EFFICIENCY] = {"function_efficiency", "fraction", 0.05, 1, "of the chip's rate of special functions"},
    [ROW_CYCLES] =
        {"row_cycles", "-", 5, 30000,
         "clocks that starting, reducing and ending a row takes, divided by the rows a core works on at once"},
    [REREADS] = {"rereads", "-", 0.05, 4, "more reads of a row from the last cache when it is too long for registers"},
};

/* The longest row that a group of lanes keeps in registers (softmax of PyTorch); longer ones are read again. */
static const double register_columns = 1024;

static bool is_row_class(enum kernel_class class_of) {
  return class_of == KERNEL_SOFTMAX || class_of == KERNEL_NORMALISATION;
}

static bool applies(enum kernel_class class_of, enum kernel_format format, const struct hw_chip *chip) {
  (void)format;
  return (class_of == KERNEL_ELEMENTWISE || is_row_class(class_of)) && chip->memory_Bps > 0;
}

/* Clocks of all cores per second; 0 when not known. */
static double core_clocks(const struct hw_chip *chip) {
  return chip->cores * kernel_vector_clock_Hz(chip);
}

/* Fits of the A100 (PCIe, 40 GB) and of the MI210: what a GPU without rows of its own starts from. */
static const struct pooled {
  const char *family;
  double values[3][CONSTANT_COUNT]; /* element-wise, softmax, normalisation */
} pooled[] = {
    {"amd_instinct",
     {{0.86, 18.9, 0.198, 8, 1.41e-05, 1.63e-05, 1, 5, 0.05},
      {0.731, 10, 0.412, 8, 1.97e-05, 6.12e-06, 1, 195, 4},
      {0.5, 10.1, 0.1, 4.65, 2e-05, 5.07e-06, 0.6, 1.13e+03, 0.05}}},
    {NULL,
     {{0.896, 17.4, 0.444, 8, 1.85e-05, 3.02e-05, 0.607, 5, 0.05},
      {1, 14.6, 0.19, 7.19, 2.88e-05, 3.35e-05, 1, 7.05, 1.6},
      {0.726, 20.4, 0.347, 2.84, 4.29e-05, 4.67e-05, 0.6, 640, 0.474}}},
};

/* Chips whose last cache is two halves that both keep what both sides read (A100 and H100 white papers): about half of it
 * counts. Undivided ones of V100, T4 and P4 keep 0.93, 0.73 and 0.80. */
static const char *const halved_caches[] = {"nvidia_a100", "nvidia_hopper", "nvidia_blackwell"};
static const double whole_cache_fraction = 0.8;

static bool has_halved_cache(const struct hw_chip *chip) {
  bool is_halved = false;
  for (unsigned i = 0; i < sizeof halved_caches / sizeof halved_caches[0]; i++) {
    is_halved |= hw_chip_is_a(chip, halved_caches[i]);
  }
  return is_halved;
}

static void gpu_defaults(const struct hw_chip *chip, enum kernel_class class_of, double *values) {
  const struct pooled *row = pooled;
  while (row->family && !hw_chip_is_a(chip, row->family)) {
    row++;
  }
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = row->values[class_of - KERNEL_ELEMENTWISE][i];
  }
  if (row->family == NULL && !has_halved_cache(chip)) {
    values[CACHE_FRACTION] = whole_cache_fraction;
  }
  /* The boards with GDDR correct errors in the same memory: P4 and T4 reach 0.75 of the bandwidth, HBM boards 0.9. */
  if (kernel_has_graphics_memory(chip)) {
    values[MEMORY_EFFICIENCY] = fmin(values[MEMORY_EFFICIENCY], 0.75);
  }
}

static void defaults(const struct hw_chip *chip, enum kernel_class class_of, enum kernel_format format,
                     double *values) {
  (void)format;
  if (chip->kind == HW_KIND_GPU) {
    gpu_defaults(chip, class_of, values);
    return;
  }
  double clocks = core_clocks(chip);
  const double from_data_sheet[CONSTANT_COUNT] = {
      [MEMORY_EFFICIENCY] = chip->memory_efficiency,
      [CACHE_RATE] = clocks > 0 ? chip->cache_Bps / clocks : 0,
      [CACHE_FRACTION] = 0.5, /* assumed: operands beside the result */
      [OVERLAP] = 4, /* assumed: copies run ahead, the first and the last block are seen */
      [LAUNCH] = chip->launch_s,
      [DISPATCH] = chip->launch_s,
      [FUNCTION_EFFICIENCY] = 1,
      [ROW_CYCLES] = 0, /* rows are vectorised over */
      [REREADS] = 0, /* a block of rows stays on chip */
  };
  for (unsigned i = 0; i < CONSTANT_COUNT; i++) {
    values[i] = kernel_clamp(from_data_sheet[i], constants[i].lower, constants[i].upper);
  }
}

/* Seconds of arithmetic: special functions, and the rest at the vector rate. */
static double vector_time(const struct hw_chip *chip, const struct kernel_shape *shape, double elements,
                          const double *v) {
  const struct kernel_pass *pass = &shape->pass;
  double flops = 0, time_s = 0;
  enum dtype runs_as = DTYPE_NONE;
  if (hw_chip_vector_rate(chip, kernel_format_info(shape->format)->dtype, &flops, &runs_as) && flops > 0) {
    double efficiency = chip->vector_efficiency > 0 ? chip->vector_efficiency : 1;
    time_s = elements * pass->vector_flops / (flops * efficiency);
  }
  if (pass->function < HW_FUNCTION_COUNT && chip->function_rate[pass->function] > 0) {
    time_s = fmax(time_s, elements / (chip->function_rate[pass->function] * v[FUNCTION_EFFICIENCY]));
  }
  return time_s;
}

static void time_pass(const struct hw_chip *chip, const struct kernel_shape *shape, const double *v,
                      struct kernel_time *out) {
  const struct kernel_format_info *format = kernel_format_info(shape->format);
  const struct kernel_pass *pass = &shape->pass;
  bool is_benchmark = shape->flags & KERNEL_WARM, is_row = is_row_class(shape->class_of);
  double elements = pass->rows * pass->columns, clocks = core_clocks(chip);
  double bytes = elements * (pass->reads * format->a_bytes + pass->writes * format->c_bytes);
  double resident = chip->cache_size_bytes * v[CACHE_FRACTION];
  double repeated = resident > 0 ? bytes * kernel_clamp(2 - bytes / resident, 0, 1) : 0;
  double cached = is_benchmark ? repeated : kernel_clamp(shape->cached_bytes, 0, bytes);
  double reread = is_row && pass->columns > register_columns ? v[REREADS] * elements * format->a_bytes : 0;
  double off_chip = bytes - cached + shape->extra_bytes;
  double memory_s = off_chip / (chip->memory_Bps * v[MEMORY_EFFICIENCY]);
  double cache_s = (cached + reread) / (clocks > 0 ? clocks * v[CACHE_RATE] : fmax(chip->cache_Bps, chip->memory_Bps));
  double vector_s = vector_time(chip, shape, elements, v);
  double row_s = is_row && clocks > 0 ? pass->rows * v[ROW_CYCLES] / clocks : 0;
  double launch_s = is_benchmark ? v[LAUNCH] : chip->launch_s;
  /* One element at the full rate keeps the sum above zero for a pass that moves nothing. */
  double least_s = format->a_bytes / chip->memory_Bps;
  double time_s = kernel_join(fmax(memory_s + cache_s, least_s), vector_s, row_s, v[OVERLAP]) + launch_s;
  *out = (struct kernel_time){.time_s = is_benchmark ? fmax(time_s, v[DISPATCH]) : time_s,
                              .vector_s = fmax(vector_s, row_s),
                              .memory_s = memory_s,
                              .cache_s = cache_s,
                              .launch_s = launch_s,
                              .off_chip_bytes = off_chip};
}

const struct kernel_model kernel_pass = {
    .name = "pass",
    .summary = "element-wise, softmax, normalisation: bytes, caches, functions, rows",
    .constants = constants,
    .constant_count = CONSTANT_COUNT,
    .applies = applies,
    .defaults = defaults,
    .time = time_pass,
};
