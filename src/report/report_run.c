/* Results of a run as JSON (docs/json.md, "run"): streamed as text, because values are exact where jansson's documents have
 * 15 digits, and may be many. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "base/minifloat.h"
#include "report/report_int.h"

/* Digits that give back every number of a format: 1 + ceil(bits of the significand * log10(2)), Goldberg 1991. */
enum { DIGITS_F32 = 9, DIGITS_F64 = 17 };

/* JSON has no numbers that are not finite: they are texts. */
static void put_real(struct strbuf *out, double value, int digits) {
  if (isfinite(value)) {
    strbuf_printf(out, "%.*g", digits, value);
  } else {
    strbuf_puts(out, isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"");
  }
}

static uint64_t load(const uint8_t *data, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, data, bytes);
  return bits;
}

static void put_element(struct strbuf *out, const struct report_tensor *t, uint64_t i) {
  size_t bytes = t->element_bytes;
  const uint8_t *data = t->data + i * bytes;
  switch (dtype_class_of(t->dtype)) {
  case DTYPE_CLASS_BOOL:
    strbuf_puts(out, *data ? "true" : "false");
    break;
  case DTYPE_CLASS_UINT:
    strbuf_printf(out, "%" PRIu64, load(data, bytes));
    break;
  case DTYPE_CLASS_SINT:
  case DTYPE_CLASS_INDEX: {
    unsigned shift = 64 - 8 * (unsigned)bytes;
    strbuf_printf(out, "%" PRId64, (int64_t)(load(data, bytes) << shift) >> shift);
    break;
  }
  case DTYPE_CLASS_COMPLEX: {
    enum dtype part = t->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
    int digits = part == DTYPE_F32 ? DIGITS_F32 : DIGITS_F64;
    strbuf_putc(out, '[');
    put_real(out, minifloat_decode(part, load(data, bytes / 2)), digits);
    strbuf_puts(out, ", ");
    put_real(out, minifloat_decode(part, load(data + bytes / 2, bytes / 2)), digits);
    strbuf_putc(out, ']');
    break;
  }
  default:
    put_real(out, minifloat_decode(t->dtype, load(data, bytes)), t->dtype == DTYPE_F64 ? DIGITS_F64 : DIGITS_F32);
  }
}

static void put_tensor(struct strbuf *out, const struct report_tensor *t, uint64_t limit) {
  strbuf_puts(out, "{\"type\": ");
  report_json_quote(out, t->type);
  strbuf_puts(out, ", \"dtype\": ");
  report_json_quote(out, dtype_name(t->dtype));
  strbuf_puts(out, ", \"shape\": [");
  for (uint32_t d = 0; d < t->rank; d++) {
    strbuf_printf(out, "%s%" PRId64, d ? ", " : "", t->dims[d]);
  }
  if (limit > 0 && t->count > limit) {
    strbuf_puts(out, "], \"values\": null}");
    return;
  }
  strbuf_puts(out, "], \"values\": [");
  for (uint64_t i = 0; i < t->count && !out->failed; i++) {
    strbuf_puts(out, i ? ", " : "");
    put_element(out, t, i);
  }
  strbuf_puts(out, "]}");
}

void report_run_json(const struct report_run *run, struct strbuf *out) {
  struct decimal_scope scope;
  decimal_enter(&scope);
  strbuf_puts(out, "{\n  \"format\": \"ridgeline-run\",\n  \"format_version\": 1,\n  \"ridgeline_version\": ");
  report_json_quote(out, run->version);
  strbuf_puts(out, ",\n  \"program\": ");
  report_json_quote(out, run->program);
  strbuf_printf(out, ",\n  \"replicas\": %u,\n  \"partitions\": %u,\n  \"processes\": [", run->replicas,
                run->partitions);
  for (size_t p = 0; p < (size_t)run->replicas * run->partitions; p++) {
    strbuf_printf(out, "%s\n    {\"replica\": %zu, \"partition\": %zu, \"results\": [", p ? "," : "",
                  p / run->partitions, p % run->partitions);
    for (size_t i = 0; i < run->per_process; i++) {
      strbuf_puts(out, i ? ",\n      " : "\n      ");
      put_tensor(out, &run->tensors[p * run->per_process + i], run->limit);
    }
    strbuf_puts(out, run->per_process ? "\n    ]}" : "]}");
  }
  strbuf_puts(out, "\n  ]\n}\n");
  decimal_leave(&scope);
}
