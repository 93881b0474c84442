/* Clocks of the lanes, and what the board allows its chip: clocks under the power limit, kind of memory. Path: data sheet →
 * here → gemm_lanes, pass, pass_lanes, measure_neusight.
 *
 * A chip whose limit is below what its lanes draw at full clock runs them slower. The power of arithmetic is
 *   P(x) = energy · (process / 7 nm)^0.25 · peak · x · (v0 + (1 - v0) · x · clock / 1.5 GHz)²
 * with x the fraction of the clock: energy per operation grows with the square of the voltage, and the voltage linearly
 * with the frequency. docs/kernels-memory.md says what the numbers rest on.
 */
#ifndef RIDGELINE_KERNEL_KERNEL_BOARD_H
#define RIDGELINE_KERNEL_KERNEL_BOARD_H

#include "hw/hw.h"

/* Of the vector lanes; 0 when it is not known. */
double kernel_vector_clock_Hz(const struct hw_chip *chip);
/* Watts of the lanes at fraction `x` of the clock, all busy with f32 multiply-adds; `energy_J` per operation at 7 nm and
 * 1.5 GHz. 0 when process, limit, clock or rate are not known. */
double kernel_power_W(const struct hw_chip *chip, double energy_J, double x);
/* Largest fraction of the clock that keeps the limit; 1 when nothing limits or the power is not known. In (0, 1]. */
double kernel_sustained_clock(const struct hw_chip *chip, double energy_J);
/* GDDR by the fact "mem.type". Such boards keep their error correction in the same memory and reach less of its
 * bandwidth. */
bool kernel_has_graphics_memory(const struct hw_chip *chip);

#endif
