/* A plan as one HTML file with inline SVG: the policies beside the bounds, SRAM over time, what cores and memory do, and one
 * layer in detail. It needs no other file and no script; names and times of the detail are tooltips.
 *
 * The whole schedule is drawn in columns of equal time, since programs have more steps than pictures have points: a column
 * shows the share of its time, and the largest SRAM need in it. */
#include <stdlib.h>

#include "report/report_plan_int.h"

enum { WIDTH = 1000, LEFT = 90, RIGHT = 20, PLOT = WIDTH - LEFT - RIGHT, COLUMNS = PLOT / 2 };
enum { SRAM_HEIGHT = 180, LANE_HEIGHT = 44, BAR_HEIGHT = 18, BAR_STEP = 26, AXIS_HEIGHT = 26 };
/* Steps of the detail when the program has no layers, and at most. */
enum { DETAIL_STEPS = 60, DETAIL_STEPS_MAX = 400 };

static const char page_head[] =
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1c2430;--soft:#667085;--line:#d0d5dd;--paper:#fff;--compute:#3b7dd8;"
    "--exchange:#e08a2e;--distribute:#a457c4;--load:#2f9e6e;--kept:#98a2b3;--limit:#c0392b}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e7ec;--soft:#98a2b3;--line:#344054;--paper:#12161d;--kept:#"
    "667085}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1040px;margin:2em auto;"
    "padding:0 1em}\n"
    "h1{font-size:1.35em}h2{font-size:1.1em;margin:1.8em 0 .3em}p{color:var(--soft);margin:.2em 0 .6em}\n"
    "svg{width:100%;height:auto;overflow:visible}text{font:12px system-ui,sans-serif;fill:var(--ink)}\n"
    ".s{fill:var(--soft)}.e{text-anchor:end}.m{text-anchor:middle}.g{stroke:var(--line)}.b{stroke:var(--limit);"
    "stroke-dasharray:4 3}\n"
    ".c{fill:var(--compute)}.x{fill:var(--exchange)}.d{fill:var(--distribute)}.l{fill:var(--load)}.k{fill:var(--kept)}"
    "\n"
    "</style>\n";

static void open_svg(struct strbuf *out, int height) {
  strbuf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, height);
}

static void rect(struct strbuf *out, const char *class_name, double x, double y, double width, double height) {
  strbuf_printf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", class_name, x, y,
                width, height);
}

static void line(struct strbuf *out, const char *class_name, double x1, double y1, double x2, double y2) {
  strbuf_printf(out, "<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n", class_name, x1, y1, x2,
                y2);
}

static void label(struct strbuf *out, const char *class_name, double x, double y, const char *text) {
  strbuf_printf(out, "<text class=\"%s\" x=\"%.2f\" y=\"%.2f\">", class_name, x, y);
  report_html(out, text);
  strbuf_puts(out, "</text>\n");
}

static void label_time(struct strbuf *out, const char *class_name, double x, double y, int64_t ps) {
  struct strbuf text = {0};
  report_time(&text, report_plan_s(ps));
  label(out, class_name, x, y, strbuf_text(&text));
  strbuf_release(&text);
}

struct key {
  const char *class_name, *text;
};

static void put_keys(struct strbuf *out, const struct key *keys, size_t count) {
  strbuf_puts(out, "<p>");
  for (size_t i = 0; i < count; i++) {
    strbuf_printf(out,
                  "<svg style=\"width:12px;height:12px\" viewBox=\"0 0 12 12\"><rect class=\"%s\" width=\"12\" "
                  "height=\"12\"/></svg> %s &ensp; ",
                  keys[i].class_name, keys[i].text);
  }
  strbuf_puts(out, "</p>\n");
}

static const struct key sram_keys[] = {{"c", "executing"}, {"k", "kept for later operators"}, {"l", "preloaded"}};
static const struct key lane_keys[] = {
    {"c", "compute"}, {"x", "rotation, gathering, reduction"}, {"d", "distribution"}, {"l", "loads"}};

/* ---- policies and bounds ---- */

static int64_t longest(const struct plan_result *result) {
  int64_t most = 1;
  for (uint32_t i = 0; i < result->row_count; i++) {
    const struct plan_row *row = &result->rows[i];
    if (row->status == STATUS_OK && row->result.timeline.makespan_ps > most) {
      most = row->result.timeline.makespan_ps;
    }
  }
  return most;
}

static void put_policies(const struct plan_result *result, struct strbuf *out) {
  int height = BAR_STEP * (int)result->row_count + 40;
  double scale = (PLOT - 80) / (double)longest(result);
  strbuf_puts(out,
              "<h2>Policies</h2>\n<p>Dashed: what no plan of the plan space, and no plan whatever, can beat.</p>\n");
  open_svg(out, height);
  for (uint32_t i = 0; i < result->row_count; i++) {
    const struct plan_row *row = &result->rows[i];
    double y = BAR_STEP * (double)i + 24;
    label(out, "e", LEFT - 8, y + 13, row->policy->name);
    if (row->status != STATUS_OK) {
      label(out, "s", LEFT + 4, y + 13, report_plan_refusal(row));
      continue;
    }
    double width = (double)row->result.timeline.makespan_ps * scale;
    rect(out, row->policy->is_reference ? "k" : "c", LEFT, y, width, BAR_HEIGHT);
    label_time(out, "", LEFT + width + 6, y + 13, row->result.timeline.makespan_ps);
  }
  double any = LEFT + (double)result->resource.bound_ps * scale, space = LEFT + (double)result->bounds.chain_ps * scale;
  line(out, "b", any, 18, any, height - 8);
  line(out, "b", space, 18, space, height - 8);
  label(out, "s e", any - 2, 12, "resources");
  label(out, "s", space + 2, 12, "plans");
  strbuf_puts(out, "</svg>\n");
}

/* ---- a window of time ---- */

struct window {
  const struct plan_result *result;
  const struct plan_row *row;
  int64_t begin_ps, end_ps;
  uint32_t first, last; /* steps in it, `last` not included */
};

static double x_of(const struct window *w, int64_t ps) {
  double share = (double)(ps - w->begin_ps) / (double)(w->end_ps - w->begin_ps);
  return LEFT + PLOT * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void put_axis(const struct window *w, double y, struct strbuf *out) {
  enum { TICKS = 5 };
  line(out, "g", LEFT, y, WIDTH - RIGHT, y);
  for (int i = 0; i <= TICKS; i++) {
    int64_t ps = w->begin_ps + (w->end_ps - w->begin_ps) / TICKS * i;
    double x = LEFT + (double)PLOT * i / TICKS;
    line(out, "g", x, y, x, y + 4);
    label_time(out, "s m", x, y + 18, ps - w->begin_ps);
  }
}

/* The largest level of each column. A column in which nothing begins has that of the one before. */
static void sample_levels(const struct window *w, const struct report_plan_level *levels, size_t count,
                          struct report_plan_level columns[COLUMNS]) {
  size_t at = 0;
  for (int c = 0; c < COLUMNS; c++) {
    int64_t span = w->end_ps - w->begin_ps;
    int64_t end = w->begin_ps + (int64_t)((double)span * (c + 1) / COLUMNS);
    while (at + 1 < count && levels[at + 1].time_ps <= w->begin_ps + (int64_t)((double)span * c / COLUMNS)) {
      at++;
    }
    columns[c] = levels[at];
    for (size_t i = at; i < count && levels[i].time_ps < end; i++) {
      if (report_plan_level_bytes(&levels[i]) > report_plan_level_bytes(&columns[c])) {
        columns[c] = levels[i];
      }
    }
  }
}

static void put_area(struct strbuf *out, const char *class_name, const double *low, const double *high) {
  strbuf_printf(out, "<path class=\"%s\" d=\"M", class_name);
  for (int c = 0; c < COLUMNS; c++) {
    double x = LEFT + (double)PLOT * c / COLUMNS;
    strbuf_printf(out, "%.1f,%.1f H%.1f ", x, high[c], LEFT + (double)PLOT * (c + 1) / COLUMNS);
    strbuf_puts(out, c + 1 < COLUMNS ? "L" : "");
  }
  for (int c = COLUMNS - 1; c >= 0; c--) {
    strbuf_printf(out, "L%.1f,%.1f H%.1f ", LEFT + (double)PLOT * (c + 1) / COLUMNS, low[c],
                  LEFT + (double)PLOT * c / COLUMNS);
  }
  strbuf_puts(out, "Z\"/>\n");
}

/* Stacked from below: executing, kept, preloaded. */
static void put_sram(const struct window *w, const struct report_plan_level *levels, size_t count, double top,
                     struct strbuf *out) {
  struct report_plan_level *columns = calloc(COLUMNS, sizeof *columns);
  double *edges = calloc((size_t)COLUMNS * 4, sizeof *edges);
  double limit = (double)w->result->chip.sram_bytes, scale = (SRAM_HEIGHT - 20) / (limit > 0 ? limit : 1);
  if (!columns || !edges) {
    out->failed = true;
  } else {
    sample_levels(w, levels, count, columns);
    for (int c = 0; c < COLUMNS; c++) {
      double base = top + SRAM_HEIGHT;
      edges[c] = base;
      edges[COLUMNS + c] = edges[c] - (double)columns[c].hot_bytes * scale;
      edges[2 * COLUMNS + c] = edges[COLUMNS + c] - (double)columns[c].live_bytes * scale;
      edges[3 * COLUMNS + c] = edges[2 * COLUMNS + c] - (double)columns[c].cold_bytes * scale;
    }
    put_area(out, "c", edges, edges + COLUMNS);
    put_area(out, "k", edges + COLUMNS, edges + 2 * COLUMNS);
    put_area(out, "l", edges + 2 * COLUMNS, edges + 3 * COLUMNS);
    line(out, "b", LEFT, top + 20, WIDTH - RIGHT, top + 20);
    struct strbuf text = {0};
    report_plan_kib(w->result->chip.sram_bytes, &text);
    label(out, "s e", LEFT - 8, top + 24, strbuf_text(&text));
    strbuf_release(&text);
    label(out, "e", LEFT - 8, top + SRAM_HEIGHT / 2.0 + 14, "SRAM");
  }
  free(columns);
  free(edges);
}

/* ---- lanes ---- */

enum lane { LANE_COMPUTE, LANE_EXCHANGE, LANE_DISTRIBUTE, LANE_LOAD, LANE_COUNT };
static const char *const lane_classes[LANE_COUNT] = {"c", "x", "d", "l"};

/* One stretch of time of a step: what it is for. Shown as tooltip in the detail. */
typedef void stretch_sink(void *user, enum lane lane, uint32_t step, int64_t begin_ps, int64_t end_ps);

/* Phases of a step, longer in proportion where links made it wait; overlapped rotation is part of the compute. */
static void each_stretch(const struct window *w, uint32_t step, stretch_sink *sink, void *user) {
  const struct plan_interval *at = &w->row->result.timeline.steps[step];
  struct report_plan_phases p = report_plan_phases_of(w->result, w->row, step);
  int64_t compute = p.main_ps - p.shift_ps;
  if (w->result->sets.chain.overlaps) {
    compute = p.compute_ps;
  }
  const struct {
    enum lane lane;
    int64_t ps;
  } parts[] = {
      {LANE_DISTRIBUTE, p.distribute_ps}, {LANE_EXCHANGE, p.serial_ps + p.main_ps - compute}, {LANE_COMPUTE, compute}};
  int64_t alone = p.distribute_ps + p.serial_ps + p.main_ps, done = 0, begin = at->start_ps;
  double stretch = alone > 0 ? (double)(at->end_ps - at->start_ps) / (double)alone : 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    done += parts[i].ps;
    int64_t end = at->start_ps + (int64_t)((double)done * stretch);
    if (end > begin) {
      sink(user, parts[i].lane, step, begin, end);
    }
    begin = end;
  }
  if (at->load_end_ps > at->load_start_ps) {
    sink(user, LANE_LOAD, step, at->load_start_ps, at->load_end_ps);
  }
}

struct columns {
  const struct window *window;
  double share[LANE_COUNT][COLUMNS];
};

static void add_to_columns(void *user, enum lane lane, uint32_t step, int64_t begin_ps, int64_t end_ps) {
  struct columns *columns = user;
  (void)step;
  double first = (x_of(columns->window, begin_ps) - LEFT) / PLOT * COLUMNS;
  double last = (x_of(columns->window, end_ps) - LEFT) / PLOT * COLUMNS;
  for (int c = (int)first; c < COLUMNS && c < last; c++) {
    double low = first > c ? first : c, high = last < c + 1 ? last : c + 1;
    columns->share[lane][c] += high > low ? high - low : 0;
  }
}

static void put_columns(const struct window *w, double top, struct strbuf *out) {
  struct columns *columns = calloc(1, sizeof *columns);
  if (!columns) {
    out->failed = true;
    return;
  }
  columns->window = w;
  for (uint32_t i = w->first; i < w->last; i++) {
    each_stretch(w, i, add_to_columns, columns);
  }
  for (int lane = 0; lane < LANE_COUNT; lane++) {
    double *low = calloc((size_t)COLUMNS * 2, sizeof *low);
    if (!low) {
      out->failed = true;
      break;
    }
    double base = top + (lane == LANE_LOAD ? 2 * LANE_HEIGHT + 10 : LANE_HEIGHT);
    for (int c = 0; c < COLUMNS; c++) {
      double below = 0;
      for (int k = 0; k < lane && lane != LANE_LOAD; k++) {
        below += columns->share[k][c];
      }
      low[c] = base - LANE_HEIGHT * below;
      low[COLUMNS + c] = low[c] - LANE_HEIGHT * columns->share[lane][c];
    }
    put_area(out, lane_classes[lane], low, low + COLUMNS);
    free(low);
  }
  free(columns);
}

struct rects {
  const struct window *window;
  double top;
  struct strbuf *out;
};

static void put_rect(void *user, enum lane lane, uint32_t step, int64_t begin_ps, int64_t end_ps) {
  static const char *const names[LANE_COUNT] = {"compute", "exchange", "distribution", "load"};
  struct rects *rects = user;
  struct strbuf *out = rects->out;
  double x = x_of(rects->window, begin_ps), width = x_of(rects->window, end_ps) - x;
  if (width <= 0) {
    return;
  }
  strbuf_printf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%d\"><title>",
                lane_classes[lane], x, rects->top + (lane == LANE_LOAD ? LANE_HEIGHT + 10 : 0), width, LANE_HEIGHT);
  report_html(out, report_plan_operator_name(rects->window->result, step));
  strbuf_putc(out, ' ');
  report_plan_extents(rects->window->result, step, out);
  strbuf_printf(out, ", %s ", names[lane]);
  report_time(out, report_plan_s(end_ps - begin_ps));
  strbuf_puts(out, "</title></rect>\n");
}

static void put_window(const struct window *w, const struct report_plan_level *levels, size_t count, bool in_detail,
                       struct strbuf *out) {
  enum { LANES = 2 * LANE_HEIGHT + 10 };
  double top = SRAM_HEIGHT + 16;
  put_keys(out, sram_keys, sizeof sram_keys / sizeof *sram_keys);
  open_svg(out, SRAM_HEIGHT + 16 + LANES + 8 + AXIS_HEIGHT);
  put_sram(w, levels, count, 0, out);
  label(out, "e", LEFT - 8, top + LANE_HEIGHT / 2.0 + 4, "cores");
  label(out, "e", LEFT - 8, top + 10 + LANE_HEIGHT * 1.5 + 4, "memory");
  if (in_detail) {
    struct rects rects = {w, top, out};
    for (uint32_t i = 0; i < w->result->sets.chain.step_count; i++) {
      each_stretch(w, i, put_rect, &rects);
    }
  } else {
    put_columns(w, top, out);
  }
  put_axis(w, top + LANES + 4, out);
  strbuf_puts(out, "</svg>\n");
  put_keys(out, lane_keys, sizeof lane_keys / sizeof *lane_keys);
}

/* The layer in the middle of the program; without layers its first steps. */
static struct window detail_of(const struct window *whole) {
  const struct plan_program *program = &whole->result->program;
  struct window w = *whole;
  uint32_t wanted = program->layer_count / 2;
  while (w.first < w.last && program->operators.data[w.first].layer != wanted) {
    w.first++;
  }
  uint32_t end = w.first;
  while (end < w.last && program->operators.data[end].layer == wanted && end - w.first < DETAIL_STEPS_MAX) {
    end++;
  }
  if (program->layer_count < 2 || end == w.first) {
    w.first = 0;
    end = whole->last < DETAIL_STEPS ? whole->last : DETAIL_STEPS;
  }
  const struct plan_interval *steps = whole->row->result.timeline.steps;
  w.last = end;
  w.begin_ps = w.first ? steps[w.first - 1].end_ps : 0;
  w.end_ps = steps[end - 1].end_ps;
  return w;
}

static void put_schedule(const struct report_plan *plan, const struct plan_row *row, struct strbuf *out) {
  struct report_plan_level *levels;
  size_t count;
  struct window whole = {.result = plan->result,
                         .row = row,
                         .end_ps = row->result.timeline.makespan_ps,
                         .last = plan->result->sets.chain.step_count};
  if (whole.last == 0 || whole.end_ps <= 0) {
    return;
  }
  if (report_plan_levels(plan->result, row, &levels, &count) != STATUS_OK) {
    out->failed = true;
    return;
  }
  strbuf_printf(out, "<h2>The whole schedule (%s)</h2>\n", row->policy->name);
  put_window(&whole, levels, count, false, out);
  struct window detail = detail_of(&whole);
  if (detail.end_ps > detail.begin_ps) {
    strbuf_printf(out, "<h2>Steps %u to %u in detail</h2>\n<p>From ", detail.first, detail.last - 1);
    report_time(out, report_plan_s(detail.begin_ps));
    strbuf_puts(out, " on.</p>\n");
    put_window(&detail, levels, count, true, out);
  }
  free(levels);
}

enum status report_plan_chart(const struct report_plan *plan, struct strbuf *out) {
  const struct plan_row *row = report_plan_chosen(plan->result);
  strbuf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
  report_html(out, plan->program);
  strbuf_puts(out, "</title>\n");
  strbuf_puts(out, page_head);
  strbuf_puts(out, "<h1>");
  report_html(out, plan->program);
  strbuf_puts(out, " on ");
  report_html(out, plan->result->chip.id);
  strbuf_puts(out, "</h1>\n");
  put_policies(plan->result, out);
  if (row) {
    put_schedule(plan, row, out);
  }
  strbuf_puts(out, "<p>Ridgeline ");
  report_html(out, plan->version);
  strbuf_puts(out, "</p>\n</html>\n");
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}
