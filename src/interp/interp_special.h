/* Special functions in double precision. Sources: DLMF (dlmf.nist.gov) and Abramowitz & Stegun, by section; values where a
 * function has a pole are those of chlo's definitions, which are named. */
#ifndef RIDGELINE_INTERP_INTERP_SPECIAL_H
#define RIDGELINE_INTERP_INTERP_SPECIAL_H

/* ln |Gamma(x)|; infinite at the poles. */
double special_lgamma(double x);
/* psi(x) = Gamma'(x) / Gamma(x); NaN at 0, -1, -2, ... */
double special_digamma(double x);
/* Inverse of erf on [-1, 1]; NaN outside. */
double special_erf_inv(double x);
/* exp(-|x|) I1(x), the modified Bessel function of the first kind. */
double special_bessel_i1e(double x);
/* Hurwitz zeta, sum over k >= 0 of (q + k)^-s: infinite for s = 1, NaN for s < 1; at q = 0, -1, ... infinite for even s, else
 * NaN; for other q < 0 only for integers s. */
double special_zeta(double s, double q);
/* Derivative of order n of digamma; NaN for negative or fractional n. */
double special_polygamma(double n, double x);

#endif
