/* Figures of a chip by name: what lists, summaries and comparisons begin with, and how a fact is written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "report/report_int.h"

static double known(double value) {
  return value > 0 ? value : NAN;
}

/* Chip files state the year as text, having no unit for it. */
double report_chip_year(const struct hw_chip *chip) {
  const struct hw_field *field = hw_chip_field(chip, "year");
  if (!field || !field->fact.value.text) {
    return NAN;
  }
  double year;
  const char *text = field->fact.value.text;
  return decimal_parse(text, strlen(text), &year) && year >= 1900 && year < 10000 ? year : NAN;
}
double report_chip_bf16(const struct hw_chip *chip) {
  return known(chip->matrix_flops[DTYPE_BF16]);
}
double report_chip_f32(const struct hw_chip *chip) {
  return known(chip->matrix_flops[DTYPE_F32] > 0 ? chip->matrix_flops[DTYPE_F32] : chip->vector_flops[DTYPE_F32]);
}
static double matrix_f16(const struct hw_chip *chip) {
  return known(chip->matrix_flops[DTYPE_F16]);
}
static double matrix_f8(const struct hw_chip *chip) {
  return known(chip->matrix_flops[DTYPE_F8E4M3FN]);
}
static double matrix_i8(const struct hw_chip *chip) {
  return known(chip->matrix_flops[DTYPE_I8]);
}
static double matrix_f64(const struct hw_chip *chip) {
  return known(chip->matrix_flops[DTYPE_F64]);
}
static double vector_f32(const struct hw_chip *chip) {
  return known(chip->vector_flops[DTYPE_F32]);
}
static double memory_size(const struct hw_chip *chip) {
  return known(chip->memory_size_bytes);
}
static double memory_rate(const struct hw_chip *chip) {
  return known(chip->memory_Bps);
}
static double ridge(const struct hw_chip *chip) {
  return report_chip_bf16(chip) / memory_rate(chip);
}
static double cache_size(const struct hw_chip *chip) {
  return known(chip->cache_size_bytes);
}
static double cache_rate(const struct hw_chip *chip) {
  return known(chip->cache_Bps);
}
static double scratch_size(const struct hw_chip *chip) {
  return known(chip->scratch_size_bytes);
}
static double cores(const struct hw_chip *chip) {
  return known(chip->cores);
}
static double clock_rate(const struct hw_chip *chip) {
  return known(chip->clock_Hz);
}
static double link_rate(const struct hw_chip *chip) {
  return known(chip->link_Bps);
}
static double power(const struct hw_chip *chip) {
  return known(chip->tdp_W);
}
static double bf16_per_watt(const struct hw_chip *chip) {
  return report_chip_bf16(chip) / power(chip);
}
static double launch(const struct hw_chip *chip) {
  return known(chip->launch_s);
}
static double dispatch(const struct hw_chip *chip) {
  return known(chip->dispatch_s);
}

const struct report_chip_row report_chip_rows[] = {
    {"matrix_bf16", "matrix products bf16", "FLOP/s", report_chip_bf16},
    {"matrix_f16", "matrix products f16", "FLOP/s", matrix_f16},
    {"matrix_f8", "matrix products 8-bit floats", "FLOP/s", matrix_f8},
    {"matrix_i8", "matrix products i8", "OP/s", matrix_i8},
    {"matrix_or_vector_f32", "f32", "FLOP/s", report_chip_f32},
    {"matrix_f64", "matrix products f64", "FLOP/s", matrix_f64},
    {"vector_f32", "element-wise f32", "FLOP/s", vector_f32},
    {"memory_bytes", "memory", "B", memory_size},
    {"memory_rate", "memory bandwidth", "B/s", memory_rate},
    {"ridge_bf16", "ridge point bf16", "FLOP/B", ridge},
    {"cache_bytes", "shared cache", "B", cache_size},
    {"cache_rate", "shared cache bandwidth", "B/s", cache_rate},
    {"scratch_bytes", "SRAM in the cores", "B", scratch_size},
    {"cores", "cores", "", cores},
    {"clock", "clock", "Hz", clock_rate},
    {"link_rate", "links, per direction", "B/s", link_rate},
    {"power", "power limit", "W", power},
    {"bf16_per_watt", "bf16 per watt", "FLOP/J", bf16_per_watt},
    {"launch", "launch of a kernel", "s", launch},
    {"dispatch", "start of a program", "s", dispatch},
};
const size_t report_chip_row_count = sizeof report_chip_rows / sizeof *report_chip_rows;

void report_fact_value(const struct hw_value *value, const char *unit, struct strbuf *out) {
  bool has_unit = unit && *unit && strcmp(unit, "-") != 0;
  if (value->kind != HW_VALUE_NUMBER) {
    report_clean(out, value->text);
    if (has_unit) {
      strbuf_putc(out, ' ');
      report_clean(out, unit);
    }
    return;
  }
  /* plain counts ("year", "SM", "clk") read better in full than as 2.02 k */
  static const char *const scaled[] = {"FLOP/s", "OP/s", "op/s", "B/s", "bit/s", "B", "Hz", "W"};
  if (has_unit && strcmp(unit, "s") == 0) {
    report_time(out, value->number);
    return;
  }
  for (size_t i = 0; has_unit && i < sizeof scaled / sizeof *scaled; i++) {
    if (strcmp(unit, scaled[i]) == 0) {
      report_si(out, value->number, unit);
      return;
    }
  }
  if (value->text) {
    report_clean(out, value->text);
  } else {
    strbuf_printf(out, "%.15g", value->number);
  }
  if (has_unit) {
    strbuf_putc(out, ' ');
    report_clean(out, unit);
  }
}

static int compare_keys(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char **report_chip_keys(const struct hw_chip *const *chips, size_t count, size_t *key_count) {
  size_t all = 0, kept = 0;
  for (size_t i = 0; i < count; i++) {
    all += chips[i]->field_count;
  }
  *key_count = 0;
  const char **keys = all ? calloc(all, sizeof *keys) : NULL;
  if (!keys) {
    return NULL;
  }
  for (size_t i = 0, at = 0; i < count; i++) {
    for (size_t f = 0; f < chips[i]->field_count; f++) {
      keys[at++] = chips[i]->fields[f].key;
    }
  }
  qsort(keys, all, sizeof *keys, compare_keys);
  for (size_t i = 0; i < all; i++) {
    if (kept == 0 || strcmp(keys[kept - 1], keys[i]) != 0) {
      keys[kept++] = keys[i];
    }
  }
  *key_count = kept;
  return keys;
}
