/* Number of window positions of one spatial dimension that touch data, in closed form. Shared by XLA's counts and by
 * the work counts of lower/.
 *
 * An output position o and a kernel position k read the dilated input at u = o*stride - pad_low + k*window_dilation;
 * the read hits data when base_dilation divides u and 0 <= u <= (input - 1) * base_dilation. For a fixed k the o
 * with the divisibility form a residue class, whose residue is linear in k; the bounds of o are floors of functions
 * linear in k. So the count is a difference of sums of floor((a*k + b) / m) over ranges of k, each of which takes a
 * Euclid-like number of steps. */
#include "analyze/analyze.h"

typedef __int128 wide; /* products of three extents below 2^40 */

#define WINDOW_EXACT_LIMIT ((int64_t)1 << 40)

static wide floor_div(wide a, wide b) {
  wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static wide modulo(wide a, wide m) {
  wide r = a % m;
  return r < 0 ? r + m : r;
}

static wide greatest_common_divisor(wide a, wide b) {
  while (b != 0) {
    wide t = a % b;
    a = b;
    b = t;
  }
  return a;
}

/* Inverse of a modulo m; a and m are coprime. */
static wide inverse(wide a, wide m) {
  wide r0 = m, r1 = modulo(a, m), t0 = 0, t1 = 1;
  while (r1 != 0) {
    wide q = r0 / r1;
    wide r2 = r0 - q * r1, t2 = t0 - q * t1;
    r0 = r1;
    r1 = r2;
    t0 = t1;
    t1 = t2;
  }
  return modulo(t0, m);
}

/* Sum over i = 0 .. n-1 of floor((a*i + b) / m), m > 0 (Graham, Knuth, Patashnik, Concrete Mathematics, section
 * 3.5). */
static wide floor_sum(wide n, wide m, wide a, wide b) {
  wide sum = 0;
  while (n > 0) {
    wide qa = floor_div(a, m), qb = floor_div(b, m);
    sum += n * (n - 1) / 2 * qa + n * qb;
    a -= qa * m;
    b -= qb * m;
    wide top = a * n + b;
    if (top < m) {
      break;
    }
    /* Counting the lattice points under the line from the other axis. */
    wide next_n = top / m;
    wide next_b = top % m;
    n = next_n;
    b = next_b;
    wide t = m;
    m = a;
    a = t;
  }
  return sum;
}

/* Sum of floor((slope*i + offset) / divisor) over i in [first, last]. */
static wide range_sum(wide first, wide last, wide divisor, wide slope, wide offset) {
  return last < first ? 0 : floor_sum(last - first + 1, divisor, slope, slope * first + offset);
}

static wide min_wide(wide a, wide b) {
  return a < b ? a : b;
}
static wide max_wide(wide a, wide b) {
  return a > b ? a : b;
}

/* The kernel positions that can hit at all are k = first + i*step, i in [0, count); with c(i) = start - i*slope the
 * condition on o is: o*stride = c(i) modulo base_dilation and c(i) <= o*stride <= c(i) + reach. */
struct hit_line {
  wide count, start, slope, reach;
  wide output, stride;
  wide period, alpha, beta; /* o = alpha - beta*i modulo period */
};

static wide count_hits(const struct hit_line *line) {
  wide last_o = line->output - 1;
  /* i for which the interval of o meets [0, last_o] */
  wide first = max_wide(0, -floor_div(last_o * line->stride - line->start, line->slope));
  wide last = min_wide(line->count - 1, floor_div(line->start + line->reach, line->slope));
  if (last < first) {
    return 0;
  }
  /* upper bound of o: last_o for i <= split, floor((c(i) + reach) / stride) behind it */
  wide split = min_wide(last, floor_div(line->start + line->reach - last_o * line->stride, line->slope));
  wide m = line->period;
  wide sum = range_sum(first, split, m, line->beta, last_o - line->alpha);
  sum += range_sum(max_wide(first, split + 1), last, m * line->stride, line->stride * line->beta - line->slope,
                   line->start + line->reach - line->stride * line->alpha);
  /* lower bound minus one: floor((c(i) - 1) / stride) for i <= split, -1 behind it */
  split = min_wide(last, floor_div(line->start - 1, line->slope));
  sum -= range_sum(first, split, m * line->stride, line->stride * line->beta - line->slope,
                   line->start - 1 - line->stride * line->alpha);
  sum -= range_sum(max_wide(first, split + 1), last, m, line->beta, -1 - line->alpha);
  return sum;
}

static uint64_t saturate(wide value) {
  return value > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t analyze_window_hits(int64_t input, int64_t kernel, int64_t output, int64_t stride, int64_t pad_low,
                             int64_t base_dilation, int64_t window_dilation) {
  if (input <= 0 || kernel <= 0 || output <= 0 || stride <= 0 || base_dilation <= 0 || window_dilation <= 0) {
    return 0;
  }
  if (input > WINDOW_EXACT_LIMIT || kernel > WINDOW_EXACT_LIMIT || output > WINDOW_EXACT_LIMIT
      || stride > WINDOW_EXACT_LIMIT || base_dilation > WINDOW_EXACT_LIMIT || window_dilation > WINDOW_EXACT_LIMIT
      || pad_low > WINDOW_EXACT_LIMIT || pad_low < -WINDOW_EXACT_LIMIT) {
    return saturate((wide)output * kernel);
  }
  wide s = stride, w = window_dilation, d = base_dilation, pad = pad_low;
  /* o*s = pad - k*w (mod d) has a solution o when g divides pad - k*w, which holds for one k in g / gcd(g, w). */
  wide g = greatest_common_divisor(s, d);
  wide h = greatest_common_divisor(g, w);
  if (modulo(pad, h) != 0) {
    return 0;
  }
  wide step = g / h;
  wide first = step == 1 ? 0 : modulo(modulo(pad / h, step) * inverse(w / h, step), step);
  if (first >= kernel) {
    return 0;
  }
  struct hit_line line = {.count = (kernel - 1 - first) / step + 1,
                          .start = pad - first * w,
                          .slope = step * w,
                          .reach = ((wide)input - 1) * d,
                          .output = output,
                          .stride = s,
                          .period = d / g};
  wide unit = line.period == 1 ? 0 : inverse(s / g, line.period);
  line.alpha = modulo(modulo(line.start / g, line.period) * unit, line.period);
  line.beta = modulo(modulo(line.slope / g, line.period) * unit, line.period);
  return saturate(count_hits(&line));
}
