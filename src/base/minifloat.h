/* Conversion between double and every float format of dtype.def (f4 … f64), and MLIR's way of printing floats. */
#ifndef RIDGELINE_BASE_MINIFLOAT_H
#define RIDGELINE_BASE_MINIFLOAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/strbuf.h"

/* Rounds to nearest even into the format; overflow gives infinity, or NaN where the format has none (FN, FNUZ: NaN;
 * f4/f6: the largest finite value). Formats without signed zero map -0 to +0. Only FLOAT-class dtypes. */
uint64_t minifloat_encode(enum dtype dtype, double value);
/* Exact value of the bit pattern. */
double minifloat_decode(enum dtype dtype, uint64_t bits);
/* Appends the value as MLIR prints a float attribute: 6 digits after the point in scientific notation when that reads
 * back exactly ("1.000000e+00"), else the shortest form with enough digits ("0.333333343", "1.17549435E-38"), else, for
 * NaN and infinities, the bit pattern in hexadecimal ("0x7F800000"). */
void minifloat_print(enum dtype dtype, uint64_t bits, struct strbuf *out);

#endif
