/* Power of arithmetic against the limit of the board; kind of memory. */
#include "kernel/kernel_board.h"

#include <math.h>
#include <string.h>

/* Voltage at frequency 0 as a fraction of that at the reference clock: between that of a slow and of a fast part of the
 * same process the energy per operation falls by about half, as published voltage curves do. */
static const double voltage_floor = 0.5, reference_clock_Hz = 1.5e9;
/* Energy per operation over feature sizes; from the sustained rates of a 16, two 12 and a 7 nm part. */
static const double process_exponent = 0.25, reference_process_nm = 7;
static const double smallest_fraction = 0.02;

/* First number in the text of the fact "process": "TSMC 4N, 80e9 transistors" is 4. 0 when there is none. */
static double process_nm(const struct hw_chip *chip) {
  const struct hw_field *field = hw_chip_field(chip, "process");
  const char *at = field && field->fact.value.text ? field->fact.value.text : "";
  while (*at != '\0' && (*at < '0' || *at > '9')) {
    at++;
  }
  double size = 0;
  for (; *at >= '0' && *at <= '9' && size < 1000; at++) {
    size = size * 10 + (*at - '0');
  }
  return size;
}

double kernel_vector_clock_Hz(const struct hw_chip *chip) {
  return chip->vector_clock_Hz > 0 ? chip->vector_clock_Hz : chip->clock_Hz;
}

struct power {
  double scale_W, slope; /* P = scale · x · (voltage_floor + slope · x)² */
};

static bool power_of(const struct hw_chip *chip, double energy_J, struct power *power) {
  double flops, size = process_nm(chip), clock = kernel_vector_clock_Hz(chip);
  enum dtype runs_as;
  if (!(size > 0 && clock > 0 && chip->tdp_W > 0) || !hw_chip_matrix_rate(chip, DTYPE_F32, &flops, &runs_as)) {
    return false;
  }
  power->scale_W = energy_J * pow(size / reference_process_nm, process_exponent) * flops;
  power->slope = (1 - voltage_floor) * clock / reference_clock_Hz;
  return true;
}

static double watts(const struct power *p, double x) {
  double voltage = voltage_floor + p->slope * x;
  return p->scale_W * x * voltage * voltage;
}

double kernel_power_W(const struct hw_chip *chip, double energy_J, double x) {
  struct power p;
  return power_of(chip, energy_J, &p) ? watts(&p, x) : 0;
}

double kernel_sustained_clock(const struct hw_chip *chip, double energy_J) {
  struct power p;
  if (!power_of(chip, energy_J, &p) || watts(&p, 1) <= chip->tdp_W) {
    return 1;
  }
  double x = 1;
  /* Newton from above on a convex function: converges from that side. */
  for (int i = 0; i < 10; i++) {
    double voltage = voltage_floor + p.slope * x;
    double growth = p.scale_W * voltage * (voltage + 2 * p.slope * x);
    x -= (watts(&p, x) - chip->tdp_W) / growth;
  }
  return fmin(1, fmax(smallest_fraction, x));
}

bool kernel_has_graphics_memory(const struct hw_chip *chip) {
  const struct hw_field *field = hw_chip_field(chip, "mem.type");
  return field && field->fact.value.text && strncmp(field->fact.value.text, "GDDR", 4) == 0;
}
