/* Rooflines that stand beside the kernel models in every table: from the data sheet, and with two fitted constants. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit.h"

static const double lowest_efficiency = 0.01, highest_efficiency = 2;
/* Relative errors beyond this weigh less. */
static const double robust_from = 0.1;
enum { REWEIGHTINGS = 50 };

/* Passes over memory have no products. */
static bool has_products(enum kernel_class class_of) {
  return class_of == KERNEL_GEMM || class_of == KERNEL_ATTENTION_PREFILL || class_of == KERNEL_ATTENTION_DECODE
         || class_of == KERNEL_GROUPED_GEMM;
}

double plain_roofline_time(const struct hw_chip *chip, const struct kernel_shape *shape) {
  double memory_s = kernel_bytes(shape) / chip->memory_Bps;
  if (!has_products(shape->class_of)) {
    return memory_s;
  }
  enum dtype dtype = kernel_format_info(shape->format)->dtype, runs_as;
  double peak_flops;
  bool has_peak = (hw_chip_matrix_rate(chip, dtype, &peak_flops, &runs_as) && peak_flops > 0)
                  || (hw_chip_vector_rate(chip, dtype, &peak_flops, &runs_as) && peak_flops > 0);
  return has_peak ? fmax(kernel_flops(shape) / peak_flops, memory_s) : memory_s;
}

double two_constants_time(const struct measured_kernel *row, const struct two_constants *constants) {
  return constants->overhead_s + plain_roofline_time(row->chip, &row->shape) / constants->efficiency;
}

/* Sums of a weighted least squares of (overhead + slope * p) / y = 1, with u = 1 / y and v = p / y. */
struct sums {
  double uu, uv, vv, u, v, one;
};

static double objective(const struct sums *s, double overhead, double slope) {
  return overhead * overhead * s->uu + 2 * overhead * slope * s->uv + slope * slope * s->vv - 2 * overhead * s->u
         - 2 * slope * s->v + s->one;
}

static double clamp_slope(double slope) {
  return fmin(1 / lowest_efficiency, fmax(1 / highest_efficiency, slope));
}

/* Minimum inside the bounds: the free one, or the best along one of the edges. */
static void solve_bounded(const struct sums *s, double *overhead, double *slope) {
  double determinant = s->uu * s->vv - s->uv * s->uv;
  if (determinant > 1e-12 * s->uu * s->vv) {
    double o = (s->u * s->vv - s->v * s->uv) / determinant, k = (s->v * s->uu - s->u * s->uv) / determinant;
    if (o >= 0 && k >= 1 / highest_efficiency && k <= 1 / lowest_efficiency) {
      *overhead = o;
      *slope = k;
      return;
    }
  }
  double slopes[] = {clamp_slope(s->vv > 0 ? s->v / s->vv : 1), 1 / highest_efficiency, 1 / lowest_efficiency};
  double best = INFINITY;
  for (int i = 0; i < 3; i++) {
    double o = i == 0 ? 0 : fmax(0, (s->u - slopes[i] * s->uv) / s->uu);
    double value = objective(s, o, slopes[i]);
    if (value < best) {
      best = value;
      *overhead = o;
      *slope = slopes[i];
    }
  }
}

enum status fit_two_constants(const struct measured_kernel *const *rows, size_t count, struct two_constants *result) {
  *result = (struct two_constants){.efficiency = 1};
  if (count < 2) {
    return STATUS_INPUT;
  }
  double *plain_s = calloc(count, sizeof *plain_s);
  if (!plain_s) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    plain_s[i] = plain_roofline_time(rows[i]->chip, &rows[i]->shape);
  }
  double overhead = 0, slope = 1;
  for (int round = 0; round < REWEIGHTINGS; round++) {
    struct sums s = {0};
    for (size_t i = 0; i < count; i++) {
      double u = 1 / rows[i]->latency_s, v = plain_s[i] / rows[i]->latency_s;
      double error = fabs(overhead * u + slope * v - 1);
      double w = round == 0 || error <= robust_from ? 1 : robust_from / error;
      s.uu += w * u * u;
      s.uv += w * u * v;
      s.vv += w * v * v;
      s.u += w * u;
      s.v += w * v;
      s.one += w;
    }
    double before_overhead = overhead, before_slope = slope;
    solve_bounded(&s, &overhead, &slope);
    if (fabs(overhead - before_overhead) <= 1e-9 * overhead && fabs(slope - before_slope) <= 1e-9 * slope) {
      break;
    }
  }
  free(plain_s);
  *result = (struct two_constants){.efficiency = 1 / slope, .overhead_s = overhead};
  return STATUS_OK;
}
