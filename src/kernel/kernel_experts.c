/* Loads of experts: order statistics of a bounded power law, and the busiest device by a gamma approximation. Path: routing
 * statistics → here → kernel_grouped.c. */
#include "kernel/kernel_experts.h"

#include <math.h>

/* Largest over smallest expected load: this share of the tokens, or the constant while there are fewer rows than experts.
 * That is how the measured power-law rows were drawn. */
static const double spread_of_tokens = 0.8, spread_of_few = 200, spread_min = 1.25;
/* The expected maximum of n equal draws lies near the quantile 1 - 0.56 / n (Gumbel: exp(-Euler's constant)). */
static const double maximum_quantile = 0.56;
static const double skew_max = 4, singular_margin = 1e-3, variance_min = 1e-6;

/* Density x^-skew on [1, spread]; shares are relative to the smallest. */
struct power_law {
  double exponent; /* 1 - skew */
  double range; /* spread^exponent - 1 */
  double spread;
};

static struct power_law power_law_of(double skew, double spread) {
  double s = fmin(skew, skew_max);
  /* The integrals below divide by 1 - s, 2 - s and 3 - s. */
  for (double singular = 1; singular <= 3; singular++) {
    s = fabs(s - singular) < singular_margin ? singular + singular_margin : s;
  }
  return (struct power_law){.exponent = 1 - s, .range = pow(spread, 1 - s) - 1, .spread = spread};
}

/* Share at quantile `u` (0 the smallest). */
static double share_at(const struct power_law *law, double u) {
  return fmin(exp(log(1 + law->range * u) / law->exponent), law->spread);
}

/* Integral of share^power over quantiles whose share is at most `limit`. */
static double moment(const struct power_law *law, double power, double limit) {
  double g = law->exponent;
  return g / (power + g) * (pow(limit, power + g) - 1) / law->range;
}

/* Upper quantile of the normal distribution: x with P(X > x) = p. Abramowitz and Stegun 26.2.23, error below 5e-4. */
static double normal_upper(double p) {
  double tail = fmin(p, 1 - p), t = sqrt(-2 * log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return p > 0.5 ? -x : x;
}

/* Rows of the busiest of `devices`: the sum over `local` of the experts' loads is close to a gamma variable (Wilson and
 * Hilferty's cube), whose variance shrinks because all devices together get all rows. */
static double busiest_rows(const struct power_law *law, double total, double local, double devices) {
  double mean = moment(law, 1, law->spread);
  double variance = fmax(moment(law, 2, law->spread) / (mean * mean) - 1, variance_min);
  double form = local / (variance * (1 - 1 / devices));
  double cube = 1 - 1 / (9 * form) + normal_upper(maximum_quantile / devices) / (3 * sqrt(form));
  return total / devices * pow(fmax(0, cube), 3);
}

static void add_group(struct expert_loads *out, double experts, double rows) {
  /* A load below one row: so often the expert gets one. */
  double active = experts * fmin(1, rows), rows_each = fmax(1, rows);
  out->experts[out->group_count] = active;
  out->rows[out->group_count++] = rows_each;
  out->active += active;
  out->rows_here += active * rows_each;
}

/* The experts below the top one, in groups of equal size at the middle of their quantiles, together `rows` rows. */
static void add_rest(const struct power_law *law, double local, double experts, double rows, double rows_max,
                     struct expert_loads *out) {
  double shares[EXPERT_GROUP_MAX], sum = 0;
  unsigned count = (unsigned)fmin(EXPERT_GROUP_MAX - 1, ceil(local - 1));
  double group = (local - 1) / count, left = rows / group;
  for (unsigned i = 0; i < count; i++) {
    shares[i] = share_at(law, 1 - (1 + (i + 0.5) * (experts - 1) / count) / experts);
    sum += shares[i];
  }
  for (unsigned i = 0; i < count; i++) {
    double load = fmin(shares[i] * left / sum, rows_max);
    add_group(out, group, load);
    left = fmax(0, left - load);
    sum = fmax(sum - shares[i], shares[count - 1]);
  }
}

void kernel_expert_loads(double tokens, double top_k, double experts, double expert_parallel, double skew,
                         struct expert_loads *out) {
  *out = (struct expert_loads){0};
  double chosen = fmin(top_k, experts), total = tokens * chosen, local = fmax(1, experts / expert_parallel);
  if (!(skew > 0)) {
    double rows = total / experts;
    add_group(out, rows < 1 ? fmax(1, local * rows) : local, fmax(1, rows));
    return;
  }
  double spread = total > experts ? fmax(spread_of_tokens * tokens, spread_min) : spread_of_few;
  struct power_law law = power_law_of(skew, spread);
  double top_share = share_at(&law, 1 - 0.5 / experts);
  double rest_share = experts * moment(&law, 1, share_at(&law, 1 - 1 / experts));
  double top = fmin(tokens, total * top_share / (top_share + rest_share)), here = top;
  if (local > 1) {
    double busiest = expert_parallel > 1 ? busiest_rows(&law, total, local, expert_parallel) : total;
    here = fmin(fmin(fmax(busiest, top), tokens * fmin(local, chosen)), total);
  }
  add_group(out, 1, top);
  if (local > 1) {
    add_rest(&law, local, experts, here - top, tokens, out);
  }
}

double kernel_expert_tiles(const struct expert_loads *loads, double tile_rows) {
  double tiles = 0;
  for (unsigned i = 0; i < loads->group_count; i++) {
    tiles += loads->experts[i] * ceil(loads->rows[i] / tile_rows);
  }
  return tiles;
}
