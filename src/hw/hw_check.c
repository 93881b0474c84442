/* `chips check`: published peaks against counts x rate x clock, and numbers that cannot all be true of one chip. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "hw/hw_internal.h"

enum { MAX_FACTORS = 5 };

/* One way to recompute a peak: the product of fields. A formula applies when the chip has all of its fields; "clock" as
 * a last resort for engine clocks is written out as a row of its own below the exact one. */
static const struct formula {
  const char *key;
  const char *text;
  double constant;
  const char *factors[MAX_FACTORS];
} formulas[] = {
    {"peak.bf16",
     "cores x units/core x FMA/unit/clk x 2 x matrix clock",
     2,
     {"cores", "matrix.units_per_core", "matrix.fma_per_unit_per_clk.bf16", "@matrix_clock"}},
    {"peak.f16",
     "cores x units/core x FMA/unit/clk x 2 x matrix clock",
     2,
     {"cores", "matrix.units_per_core", "matrix.fma_per_unit_per_clk.f16", "@matrix_clock"}},
    {"peak.tf32",
     "cores x units/core x FMA/unit/clk x 2 x matrix clock",
     2,
     {"cores", "matrix.units_per_core", "matrix.fma_per_unit_per_clk.tf32", "@matrix_clock"}},
    {"peak.fp8",
     "cores x units/core x FMA/unit/clk x 2 x matrix clock",
     2,
     {"cores", "matrix.units_per_core", "matrix.fma_per_unit_per_clk.fp8", "@matrix_clock"}},
    {"peak.int8",
     "cores x units/core x FMA/unit/clk x 2 x matrix clock",
     2,
     {"cores", "matrix.units_per_core", "matrix.fma_per_unit_per_clk.int8", "@matrix_clock"}},
    {"peak.fp4",
     "cores x units/core x FMA/unit/clk x 2 x matrix clock",
     2,
     {"cores", "matrix.units_per_core", "matrix.fma_per_unit_per_clk.fp4", "@matrix_clock"}},
    {"peak.bf16",
     "units x FMA/unit/clk x 2 x matrix clock",
     2,
     {"matrix.units_total", "matrix.fma_per_unit_per_clk.bf16", "@matrix_clock"}},
    {"peak.bf16", "cores x FLOP/clk/core x clock", 1, {"cores", "flops_per_clk_per_core.bf16", "@matrix_clock"}},
    {"peak.f16", "cores x FLOP/clk/core x clock", 1, {"cores", "flops_per_clk_per_core.f16", "@matrix_clock"}},
    {"peak.fp8", "cores x FLOP/clk/core x clock", 1, {"cores", "flops_per_clk_per_core.fp8", "@matrix_clock"}},
    {"peak.bf16",
     "cores x units/core x rows x columns x 2 x matrix clock",
     2,
     {"cores", "@systolic_units_per_core", "matrix.rows", "matrix.columns", "@matrix_clock"}},
    {"peak.bf16",
     "units x rows x columns x 2 x matrix clock",
     2,
     {"@systolic_units_total", "matrix.rows", "matrix.columns", "@matrix_clock"}},
    {"peak.int8",
     "units x rows x columns x 2 x matrix clock",
     2,
     {"@systolic_units_total_int8", "matrix.rows", "matrix.columns", "@matrix_clock"}},
    {"peak.f16", "cores x FMA/core/clk x 2 x clock", 2, {"cores", "matrix.fma_per_core_per_clk.f16", "@matrix_clock"}},
    {"peak.fp8", "cores x FMA/core/clk x 2 x clock", 2, {"cores", "matrix.fma_per_core_per_clk.fp8", "@matrix_clock"}},
    {"peak.f32_vector", "cores x lanes x 2 x vector clock", 2, {"cores", "lanes_per_core", "@vector_clock"}},
    {"peak.f32_vector", "lanes x 2 x vector clock", 2, {"lanes_total", "@vector_clock"}},
    {"peak.f32_vector", "cores x FLOP/clk/core x clock", 1, {"cores", "flops_per_clk_per_core.f32", "@vector_clock"}},
    {"peak.f32_vector",
     "cores x FLOP/clk/core x clock",
     1,
     {"cores", "gpu.flops_per_clk_per_core_f32", "@vector_clock"}},
};
enum { FORMULA_COUNT = sizeof formulas / sizeof formulas[0] };

/* Rows and columns are multiply-adds per clock only where the file says so; on a GPU they are the footprint of an
 * instruction. */
static bool is_systolic(const struct hw_chip *chip) {
  const struct hw_field *field = hw_chip_field(chip, "matrix.kind");
  return field != NULL && strcmp(field->fact.value.text, "systolic") == 0;
}

static bool factor_value(const struct hw_chip *chip, const char *factor, double *value) {
  if (strcmp(factor, "@matrix_clock") == 0) {
    *value = chip->matrix_clock_Hz;
  } else if (strcmp(factor, "@vector_clock") == 0) {
    *value = chip->vector_clock_Hz;
  } else if (strcmp(factor, "@systolic_units_per_core") == 0) {
    return is_systolic(chip) && hw_chip_number(chip, "matrix.units_per_core", value);
  } else if (strcmp(factor, "@systolic_units_total") == 0) {
    return is_systolic(chip) && hw_chip_number(chip, "matrix.units_total", value);
  } else if (strcmp(factor, "@systolic_units_total_int8") == 0) {
    return is_systolic(chip) && chip->matrix_flops[DTYPE_BF16] <= 0
           && hw_chip_number(chip, "matrix.units_total", value);
  } else {
    return hw_chip_number(chip, factor, value);
  }
  return *value > 0;
}

size_t hw_chip_peaks(const struct hw_chip *chip, struct hw_check *checks, size_t capacity) {
  size_t count = 0;
  for (size_t i = 0; i < FORMULA_COUNT; i++) {
    double published;
    double computed = formulas[i].constant;
    bool applies = hw_chip_number(chip, formulas[i].key, &published);
    for (size_t k = 0; k < MAX_FACTORS && formulas[i].factors[k] != NULL && applies; k++) {
      double value;
      applies = factor_value(chip, formulas[i].factors[k], &value);
      computed *= applies ? value : 1;
    }
    if (!applies) {
      continue;
    }
    if (count < capacity) {
      checks[count] = (struct hw_check){formulas[i].key, formulas[i].text, published, computed};
    }
    count++;
  }
  return count;
}

/* Pairs of members of which the first may not exceed the second times `factor`. */
static const struct bound {
  const char *low_name, *high_name;
  size_t low, high;
  double factor;
} bounds[] = {
    {"mem.bw", "the bandwidth of the shared cache", offsetof(struct hw_chip, memory_Bps),
     offsetof(struct hw_chip, cache_Bps), 1},
    {"the shared cache", "mem.size", offsetof(struct hw_chip, cache_size_bytes),
     offsetof(struct hw_chip, memory_size_bytes), 1},
    {"peak.f32_vector", "peak.bf16", offsetof(struct hw_chip, vector_flops[DTYPE_F32]),
     offsetof(struct hw_chip, matrix_flops[DTYPE_BF16]), 1},
    {"peak.bf16", "peak.fp8", offsetof(struct hw_chip, matrix_flops[DTYPE_BF16]),
     offsetof(struct hw_chip, matrix_flops[DTYPE_F8E4M3FN]), 1.001},
    {"peak.fp8", "peak.fp4", offsetof(struct hw_chip, matrix_flops[DTYPE_F8E4M3FN]),
     offsetof(struct hw_chip, matrix_flops[DTYPE_F4E2M1FN]), 1.001},
};

static double member(const struct hw_chip *chip, size_t offset) {
  return *(const double *)((const char *)chip + offset);
}

static const double TOLERANCE = 0.03;

enum status hw_chip_check(const struct hw_chip *chip, struct diag_list *diags) {
  enum status status = STATUS_OK;
  struct hw_check checks[FORMULA_COUNT];
  size_t count = hw_chip_peaks(chip, checks, FORMULA_COUNT);
  for (size_t i = 0; i < count; i++) {
    double difference = checks[i].computed / checks[i].published - 1;
    if (fabs(difference) > TOLERANCE) {
      const struct hw_field *field = hw_chip_field(chip, checks[i].key);
      diag_file(diags, DIAG_W0309_INCONSISTENT, field->file, field->line, field->column,
                "'%s' of %s is %.4g, but %s gives %.4g (%+.1f %%)", checks[i].key, chip->id, checks[i].published,
                checks[i].formula, checks[i].computed, 100 * difference);
    }
  }
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
    double low = member(chip, bounds[i].low), high = member(chip, bounds[i].high);
    if (low > 0 && high > 0 && low > high * bounds[i].factor) {
      diag_file(diags, DIAG_E0303_VALUE, chip->file, 0, 0, "%s of %s (%.4g) exceeds %s (%.4g)", bounds[i].low_name,
                chip->id, low, bounds[i].high_name, high);
      status = STATUS_INPUT;
    }
  }
  return status;
}
