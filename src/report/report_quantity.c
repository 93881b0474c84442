/* Numbers as people read them: three significant digits and a unit. Rounding is decimal (printf's), then the unit is
 * chosen, so that 999.6 becomes "1.00 k" and not "1000".
 * Path: used by every text report. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "report/report.h"

/* A value rounded to three significant digits: digits x 10^(exponent - 2). */
struct rounded {
  int digits; /* 100 ... 999; 0 for zero */
  int exponent; /* of the first digit */
};

static struct rounded round_three(double value) {
  char text[32];
  if (value == 0) {
    return (struct rounded){0, 0};
  }
  decimal_format(text, sizeof text, "%.2e", fabs(value)); /* "d.dde±xx" */
  int digits = (text[0] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0');
  return (struct rounded){digits, (int)strtol(text + 5, NULL, 10)};
}

/* Floor of exponent / 3. */
static int group_of(int exponent) {
  return exponent >= 0 ? exponent / 3 : -((2 - exponent) / 3);
}

/* Three digits with the decimal point after 1 + (exponent modulo 3) of them. */
static void put_digits(struct strbuf *out, struct rounded r, bool is_negative) {
  static const int units[] = {100, 10, 1};
  int place = r.exponent - 3 * group_of(r.exponent);
  int decimals = 2 - place;
  int unit = units[place];
  strbuf_printf(out, "%s%d", is_negative ? "-" : "", r.digits / unit);
  if (decimals > 0) {
    strbuf_printf(out, ".%0*d", decimals, r.digits % unit);
  }
}

/* The shortest form of numbers outside all prefixes. */
static void put_scientific(struct strbuf *out, double value, const char *unit) {
  strbuf_printf(out, "%.2e%s%s", value, *unit ? " " : "", unit);
}

static const char *const large_prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
static const char *const small_prefixes[] = {"", "m", "µ", "n", "p"};
enum {
  LARGE_COUNT = sizeof large_prefixes / sizeof *large_prefixes,
  SMALL_COUNT = sizeof small_prefixes / sizeof *small_prefixes
};

static const char *prefix_of(int group) {
  if (group >= 0) {
    return group < LARGE_COUNT ? large_prefixes[group] : NULL;
  }
  return -group < SMALL_COUNT ? small_prefixes[-group] : NULL;
}

void report_si(struct strbuf *out, double value, const char *unit) {
  if (!isfinite(value)) {
    strbuf_putc(out, '-');
    return;
  }
  if (fabs(value) < 1000 && value == floor(value)) {
    strbuf_printf(out, "%.0f%s%s", value == 0 ? 0.0 : value, *unit ? " " : "", unit);
    return;
  }
  struct rounded r = round_three(value);
  const char *prefix = prefix_of(group_of(r.exponent));
  if (!prefix) {
    put_scientific(out, value, unit);
    return;
  }
  put_digits(out, r, value < 0);
  strbuf_printf(out, "%s%s%s", *prefix || *unit ? " " : "", prefix, unit);
}

/* Units of time above the second; a row applies from `from_s` on. */
static const struct {
  double from_s, unit_s;
  const char *name;
} long_times[] = {{2 * 86400.0, 86400, "d"}, {2 * 3600.0, 3600, "h"}, {600, 60, "min"}};

void report_time(struct strbuf *out, double seconds) {
  if (!isfinite(seconds)) {
    strbuf_putc(out, '-');
    return;
  }
  for (size_t i = 0; i < sizeof long_times / sizeof *long_times; i++) {
    if (fabs(seconds) < long_times[i].from_s) {
      continue;
    }
    double value = seconds / long_times[i].unit_s;
    struct rounded r = round_three(value);
    if (r.exponent > 2) {
      put_scientific(out, value, long_times[i].name);
    } else {
      put_digits(out, r, seconds < 0);
      strbuf_printf(out, " %s", long_times[i].name);
    }
    return;
  }
  if (seconds == 0) {
    strbuf_puts(out, "0 s");
    return;
  }
  struct rounded r = round_three(seconds);
  const char *prefix = prefix_of(group_of(r.exponent));
  if (!prefix) {
    put_scientific(out, seconds, "s");
    return;
  }
  put_digits(out, r, seconds < 0);
  strbuf_printf(out, " %ss", prefix);
}

void report_bytes(struct strbuf *out, uint64_t bytes) {
  report_si(out, (double)bytes, "B");
}

void report_count(struct strbuf *out, double count) {
  report_si(out, count, "");
}

void report_percent(struct strbuf *out, double fraction) {
  double percent = fraction * 100;
  if (!isfinite(percent)) {
    strbuf_putc(out, '-');
  } else if (percent == 0) {
    strbuf_puts(out, "0 %");
  } else if (percent > 0 && percent < 0.05) {
    strbuf_puts(out, "<0.1 %");
  } else {
    strbuf_printf(out, fabs(percent) < 9.95 ? "%.1f %%" : "%.0f %%", percent);
  }
}

void report_ratio(struct strbuf *out, double ratio) {
  if (!isfinite(ratio)) {
    strbuf_putc(out, '-');
    return;
  }
  struct rounded r = round_three(ratio);
  if (ratio < 0 || r.exponent > 5 || (ratio != 0 && r.exponent < -2)) {
    strbuf_printf(out, "%.1e×", ratio);
  } else {
    strbuf_printf(out, "%.*f×", r.exponent < 1 ? 2 : r.exponent < 2 ? 1 : 0, ratio);
  }
}

void report_integer(struct strbuf *out, uint64_t count) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) {
      strbuf_putc(out, ',');
    }
    strbuf_putc(out, digits[i]);
  }
}
