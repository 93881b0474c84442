/* Steps as text: the clusters side by side, then where the time, the memory and the bytes of one go, and why. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_step_int.h"

enum { EXPLAIN_AT_MOST = 3, BAR_WIDTH = 20, SLICE_TEXT = 96 };

/* ---- order ---- */

static bool is_before(const struct report_step_row *a, const struct report_step_row *b) {
  if (!a->result != !b->result) {
    return a->result != NULL;
  }
  if (a->result && a->result->time_s != b->result->time_s) {
    return a->result->time_s < b->result->time_s;
  }
  return strcmp(a->cluster->id, b->cluster->id) < 0;
}

void report_step_order(const struct report_step *step, size_t *order) {
  for (size_t i = 0; i < step->count; i++) { /* by insertion: a few clusters */
    size_t at = i;
    for (; at > 0 && is_before(&step->rows[i], &step->rows[order[at - 1]]); at--) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
}

/* ---- cells ---- */

static void cell(struct report_table *table, struct strbuf *text) {
  report_table_cell(table, strbuf_text(text));
  strbuf_clear(text);
}

static void dash(struct report_table *table, size_t count) {
  for (size_t i = 0; i < count; i++) {
    report_table_cell(table, "-");
  }
}

static void put_bytes(struct strbuf *out, double bytes) {
  report_si(out, bytes, "B");
}

static void put_interval(struct strbuf *out, const struct step_result *r) {
  if (!(r->high_s > 0) || !isfinite(r->high_s)) {
    strbuf_putc(out, '-');
    return;
  }
  report_time(out, r->low_s);
  strbuf_puts(out, " – ");
  report_time(out, r->high_s);
}

static void time_and_share(struct report_table *table, double part_s, double whole_s) {
  struct strbuf bar = {0};
  double share = whole_s > 0 ? part_s / whole_s : 0;
  report_table_cell_of(table, report_time, part_s);
  report_table_cell_of(table, report_percent, share);
  for (long i = 0; i < lround(share * BAR_WIDTH) && i < BAR_WIDTH; i++) {
    strbuf_puts(&bar, "█");
  }
  cell(table, &bar);
  strbuf_release(&bar);
}

static void section(struct strbuf *out, struct report_table *table, const char *title) {
  strbuf_printf(out, "\n  %s\n", title);
  report_table_print_indented(table, 4, out);
  report_table_free(table);
}

/* ---- clusters side by side ---- */

static void memory_cells(struct report_table *table, const struct step_memory *m) {
  struct strbuf text = {0};
  put_bytes(&text, m->total_bytes);
  strbuf_puts(&text, " / ");
  if (m->capacity_bytes > 0) {
    put_bytes(&text, m->capacity_bytes);
  } else {
    strbuf_putc(&text, '?');
  }
  cell(table, &text);
  strbuf_release(&text);
  report_table_cell(table, !(m->capacity_bytes > 0) ? "unknown" : m->fits ? "yes" : "no");
}

static void cluster_row(struct report_table *table, const struct report_step_row *row, double fastest_s) {
  const struct step_result *r = row->result;
  struct strbuf text = {0};
  report_clean(&text, row->cluster->id);
  cell(table, &text);
  if (!r) {
    dash(table, 12);
    strbuf_puts(&text, "refused: ");
    report_clean(&text, row->refusal);
    cell(table, &text);
    strbuf_release(&text);
    return;
  }
  char slice[SLICE_TEXT];
  hw_slice_text(row->slice, row->cluster, slice, sizeof slice);
  report_table_cell(table, slice);
  report_table_cell_count(table, report_integer, r->devices);
  report_table_cell_of(table, report_time, r->time_s);
  put_interval(&text, r);
  cell(table, &text);
  report_table_cell_of(table, report_ratio, fastest_s > 0 ? r->time_s / fastest_s : 1);
  report_table_cell_of(table, report_percent, r->compute_s / r->time_s);
  report_table_cell_of(table, report_percent, r->exposed_s / r->time_s);
  report_table_cell_of(table, report_percent, r->bubble_s / r->time_s);
  report_table_cell_of(table, report_percent, r->mfu);
  report_table_cell_of(table, report_percent, r->hfu);
  report_table_cell_of(table, report_count, r->tokens_per_s);
  memory_cells(table, &r->memory);
  strbuf_release(&text);
}

static void print_clusters(const struct report_step *step, const size_t *order, struct strbuf *out) {
  static const char *const headings[] = {"cluster",    "slice",    "devices",       "time",   "90 % interval",
                                         "vs fastest", "compute",  "exposed",       "bubble", "MFU",
                                         "HFU",        "tokens/s", "peak / memory", "fits"};
  static const enum report_align aligns[] = {REPORT_LEFT,  REPORT_LEFT,  REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT,
                                             REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  const struct report_step_row *first = &step->rows[order[0]];
  for (size_t i = 0; i < step->count; i++) {
    cluster_row(table, &step->rows[order[i]], first->result ? first->result->time_s : NAN);
  }
  report_table_print(table, out);
  report_table_free(table);
}

/* ---- one cluster ---- */

static void print_time(const struct step_result *r, struct strbuf *out) {
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT};
  struct report_table *table = report_table_new(NULL, aligns, sizeof aligns / sizeof *aligns);
  for (size_t i = 0; i < report_step_cause_count; i++) {
    const struct report_step_cause *cause = &report_step_causes[i];
    double part_s = cause->value_s(r);
    if (part_s != 0) {
      report_table_cell(table, cause->heading);
      time_and_share(table, part_s, r->time_s);
    }
    for (int k = 0; cause->value_s == report_step_causes[1].value_s && k < STEP_COLLECTIVE_KINDS; k++) {
      if (r->exposed_by_kind_s[k] > 0) {
        report_table_cellf(table, "  %s", work_collective_name((enum work_collective_kind)k));
        time_and_share(table, r->exposed_by_kind_s[k], r->time_s);
      }
    }
  }
  section(out, table, "time of the busiest device");
}

static void print_memory(const struct step_memory *m, struct strbuf *out) {
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT};
  struct report_table *table = report_table_new(NULL, aligns, sizeof aligns / sizeof *aligns);
  for (size_t i = 0; i < report_step_memory_part_count; i++) {
    double bytes = report_step_memory_parts[i].value(m);
    if (bytes > 0) {
      report_table_cell(table, report_step_memory_parts[i].heading);
      report_table_cell_of(table, put_bytes, bytes);
      report_table_cell_of(table, report_percent, bytes / m->total_bytes);
    }
  }
  report_table_cell(table, "total");
  report_table_cell_of(table, put_bytes, m->total_bytes);
  if (m->capacity_bytes > 0) {
    struct strbuf text = {0};
    strbuf_puts(&text, "of ");
    put_bytes(&text, m->capacity_bytes);
    cell(table, &text);
    strbuf_release(&text);
  } else {
    report_table_cell(table, "memory size not known");
  }
  section(out, table, "memory of the fullest device");
}

static int by_exposure(const void *left, const void *right) {
  const struct step_collective_row *a = *(const struct step_collective_row *const *)left;
  const struct step_collective_row *b = *(const struct step_collective_row *const *)right;
  if (a->exposed_s != b->exposed_s) {
    return a->exposed_s > b->exposed_s ? -1 : 1;
  }
  if (a->time_s != b->time_s) {
    return a->time_s > b->time_s ? -1 : 1;
  }
  return a < b ? -1 : a > b;
}

static void collective_row(struct report_table *table, const struct step_collective_row *row) {
  report_table_cell(table, work_collective_name(row->kind));
  report_table_cell_count(table, report_integer, row->group_size);
  report_table_cell_of(table, put_bytes, row->bytes);
  report_table_cell_count(table, report_integer, row->count);
  report_table_cell(table, row->algorithm ? row->algorithm : "-");
  report_table_cell(table, row->protocol && *row->protocol ? row->protocol : "-");
  report_table_cell_of(table, report_time, row->count ? row->time_s / (double)row->count : NAN);
  report_table_cell_of(table, report_time, row->time_s);
  report_table_cell_of(table, report_time, row->exposed_s);
}

static void print_collectives(const struct step_result *r, unsigned top, struct strbuf *out) {
  static const char *const headings[] = {"collective", "group", "buffer",   "count",  "algorithm",
                                         "protocol",   "each",  "together", "exposed"};
  static const enum report_align aligns[] = {REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT, REPORT_LEFT,
                                             REPORT_LEFT, REPORT_RIGHT, REPORT_RIGHT, REPORT_RIGHT};
  size_t count = r->collectives.count;
  const struct step_collective_row **rows = count ? malloc(count * sizeof *rows) : NULL;
  if (!rows) {
    out->failed |= count > 0;
    return;
  }
  for (size_t i = 0; i < count; i++) {
    rows[i] = &r->collectives.data[i];
  }
  qsort(rows, count, sizeof *rows, by_exposure);
  struct report_table *table = report_table_new(headings, aligns, sizeof aligns / sizeof *aligns);
  double rest_s = 0;
  for (size_t i = 0; i < count; i++) {
    if (i < top) {
      collective_row(table, rows[i]);
    } else {
      rest_s += rows[i]->time_s;
    }
  }
  section(out, table, "collectives, alike ones added up: per device and step; buffer = full buffer of a device");
  if (count > top) {
    strbuf_printf(out, "    %zu more kind%s ", count - top, count - top == 1 ? " takes" : "s take");
    report_time(out, rest_s);
    strbuf_puts(out, "; --top N lists more\n");
  }
  free(rows);
}

/* One line of pairs "name value", those that are known. */
struct line {
  struct strbuf *out;
  bool has_any;
};

static void put_pair(struct line *line, const char *name, void (*put)(struct strbuf *, double), double value,
                     const char *unit) {
  if (!isfinite(value) || value <= 0) {
    return;
  }
  strbuf_puts(line->out, line->has_any ? ", " : "");
  strbuf_printf(line->out, "%s%s", name, *name ? " " : "");
  put(line->out, value);
  strbuf_puts(line->out, unit);
  line->has_any = true;
}

static void put_joule(struct strbuf *out, double energy_J) {
  report_si(out, energy_J, "J");
}

static void put_usd(struct strbuf *out, double usd) {
  strbuf_printf(out, usd >= 0.01 ? "%.2f" : "%.3g", usd);
}

static double per_million_tokens(const struct step_result *r) {
  return r->tokens_per_s > 0 ? r->price_usd / (r->tokens_per_s * r->time_s) * 1e6 : (double)NAN;
}

/* A line of its own, when there is anything to say. */
static void print_line(struct strbuf *out, const char *title, const struct line *line, const char *end) {
  if (line->has_any) {
    strbuf_printf(out, "  %s%s%s\n", title, strbuf_text(line->out), end);
  }
  out->failed |= line->out->failed;
}

static void print_rates(const struct step_result *r, struct strbuf *out) {
  struct strbuf text = {0};
  struct line line = {&text, false};
  strbuf_putc(out, '\n');
  put_pair(&line, "", report_count, r->tokens_per_s, " tokens/s");
  put_pair(&line, "", report_count, r->samples_per_s, " samples/s");
  put_pair(&line, "MFU", report_percent, r->mfu, "");
  put_pair(&line, "HFU", report_percent, r->hfu, "");
  print_line(out, "rates     ", &line, "");
  strbuf_clear(&text);
  line.has_any = false;
  put_pair(&line, "", put_joule, r->energy_J, "");
  put_pair(&line, "", put_usd, r->price_usd, " USD");
  put_pair(&line, "", put_usd, per_million_tokens(r), " USD per million tokens");
  print_line(out, "per step  ", &line, ", all devices together");
  strbuf_release(&text);
}

static void add_note(void *user, const char *code, const char *text, uint64_t count) {
  struct strbuf *out = user;
  strbuf_puts(out, "  ");
  report_clean(out, text);
  if (*code) {
    strbuf_printf(out, " [%s]", code);
  }
  if (count > 1) {
    strbuf_printf(out, " (%" PRIu64 " times)", count);
  }
  strbuf_putc(out, '\n');
}

static void print_row(const struct report_step_row *row, unsigned top, struct strbuf *out) {
  const struct step_program *program = row->program;
  char slice[SLICE_TEXT];
  hw_slice_text(row->slice, row->cluster, slice, sizeof slice);
  strbuf_putc(out, '\n');
  report_clean(out, row->cluster->name);
  strbuf_printf(out, " (%s), slice %s of ", row->cluster->id, slice);
  report_clean(out, row->chip->name);
  strbuf_puts(out, ": ");
  report_time(out, row->result->time_s);
  strbuf_printf(out, "\n  overlap %s", report_step_overlap_name(program->overlap));
  if (program->stages > 1) {
    strbuf_printf(out, ", %u pipeline stages of %" PRIu64 " devices", program->stages, program->devices_per_stage);
  }
  if (program->chunks > 1) {
    strbuf_printf(out, ", %u chunks each", program->chunks);
  }
  if (program->stages > 1 || program->microbatches > 1) {
    strbuf_printf(out, ", %u micro-batches, %s schedule", program->microbatches,
                  report_step_schedule_name(program->schedule));
  }
  strbuf_putc(out, '\n');
  print_time(row->result, out);
  print_rates(row->result, out);
  print_memory(&row->result->memory, out);
  print_collectives(row->result, top, out);
  strbuf_putc(out, '\n');
  report_step_notes(row, add_note, out);
}

void report_step_text(const struct report_step *step, struct strbuf *out) {
  size_t *order = malloc((step->count ? step->count : 1) * sizeof *order);
  if (!order || step->count == 0) {
    out->failed |= !order;
    free(order);
    return;
  }
  report_step_order(step, order);
  strbuf_puts(out, "program   ");
  report_clean(out, step->program);
  strbuf_printf(out, "\nfidelity  %s, network %s (Ridgeline %s)\n\n", step->fidelity, step->network, step->version);
  print_clusters(step, order, out);
  size_t predicted = 0;
  while (predicted < step->count && step->rows[order[predicted]].result) {
    predicted++;
  }
  size_t shown = predicted <= EXPLAIN_AT_MOST ? predicted : 1;
  for (size_t i = 0; i < shown; i++) {
    print_row(&step->rows[order[i]], step->top, out);
  }
  if (shown < predicted) {
    strbuf_puts(out, "\nthe fastest is explained; name one cluster for its own explanation\n");
  }
  free(order);
}
