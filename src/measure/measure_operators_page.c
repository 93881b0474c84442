/* The suite "operators" as one HTML file: a Vega-Lite chart of predicted beside measured times, the scores and the goals.
 * The libraries that draw the chart are inlined from a folder that './dev charts' fills; the page loads nothing. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input_file.h"
#include "measure/measure_operators.h"
#include "profile/profile_places.h"
#include "report/report.h"

enum { PAGE_POINTS = 4000, LIBRARY_LIMIT_BYTES = 16 << 20 };

/* In the order that they need each other. */
static const char *const libraries[] = {"vega.min.js", "vega-lite.min.js", "vega-embed.min.js"};

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;max-width:1180px;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem;margin:0 0 .4rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}p{margin:.3rem 0;max-width:75ch}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px}"
    "th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #e3e6ea}"
    "th{color:#57606a;font-weight:600;border-bottom-color:#8c959f}"
    "th.t,td.t{text-align:left}td.missed{color:#b3261e;font-weight:600}td.met{color:#1a7f37}"
    "#chart{margin-top:.5rem}#controls{margin-top:1rem}.vega-bind,.vega-bind "
    "select{font-size:15px}.note{color:#57606a;font-size:13px}";

/* The chart, in pieces of Vega-Lite. Arguments of its printf formats: 1 and 2 are the ends of both time axes in µs. */
/* clang-format off */
#define CHIP_FILTER "{\"filter\": \"device == 'all chips' || datum.chip == device\"}"
#define TIME_SCALE "\"scale\": {\"type\": \"log\", \"domain\": [%1$.6g, %2$.6g], \"nice\": false}"
#define TIME_AXIS                                                                                                      \
  "\"axis\": {\"labelExpr\": \"datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' s' : "                         \
  "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' ms' : format(datum.value, '~g') + ' µs'\", "               \
  "\"values\": [0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7], \"labelOverlap\": true}"
#define TIME(field, title)                                                                                             \
  "{\"field\": \"" field "\", \"type\": \"quantitative\", \"title\": " title ", " TIME_SCALE ", " TIME_AXIS "}"
/* The same colours in all charts, of which one has the legend. */
#define CLASS_COLOUR(legend)                                                                                           \
  "\"color\": {\"field\": \"class\", \"type\": \"nominal\", \"scale\": {\"scheme\": \"tableau10\"}, "                  \
  "\"legend\": " legend "}"
#define DIAGONAL                                                                                                       \
  "{\"data\": {\"values\": [{\"measured\": %1$.6g, \"predicted\": %1$.6g}, "                                           \
  "{\"measured\": %2$.6g, \"predicted\": %2$.6g}]},\n"                                                                 \
  "      \"mark\": {\"type\": \"line\", \"color\": \"#57606a\", \"strokeWidth\": 1},\n"                                \
  "      \"encoding\": {\"x\": {\"field\": \"measured\", \"type\": \"quantitative\"}, "                                \
  "\"y\": {\"field\": \"predicted\", \"type\": \"quantitative\"}}}"

static const char chart_scatter[] =
    "   {\"title\": \"predicted beside measured time; the line is predicted = measured\",\n"
    "    \"width\": 560, \"height\": 440,\n"
    "    \"layer\": [\n"
    "     " DIAGONAL ",\n"
    "     {\"params\": [\n"
    "       {\"name\": \"chosen\", \"select\": {\"type\": \"point\", \"fields\": [\"class\"]}, \"bind\": \"legend\"},\n"
    "       {\"name\": \"view\", \"select\": \"interval\", \"bind\": \"scales\"}],\n"
    "      \"transform\": [" CHIP_FILTER "],\n"
    "      \"mark\": {\"type\": \"point\", \"filled\": true, \"size\": 22, \"clip\": true},\n"
    "      \"encoding\": {\n"
    "       \"x\": " TIME("measured", "\"measured\"") ",\n"
    "       \"y\": " TIME("predicted", "\"predicted\"") ",\n"
    "       " CLASS_COLOUR("{\"orient\": \"top\", \"direction\": \"horizontal\", \"columns\": 4, \"title\": null, "
                           "\"symbolSize\": 80}") ",\n"
    "       \"opacity\": {\"condition\": {\"param\": \"chosen\", \"value\": 0.6}, \"value\": 0.04},\n"
    "       \"tooltip\": [\n"
    "        {\"field\": \"chip\"}, {\"field\": \"class\"}, {\"field\": \"format\"}, {\"field\": \"shape\"},\n"
    "        {\"field\": \"measured_text\", \"title\": \"measured\"},\n"
    "        {\"field\": \"predicted_text\", \"title\": \"predicted\"},\n"
    "        {\"field\": \"error\", \"type\": \"quantitative\", \"title\": \"error %%\", \"format\": \"+.1f\"},\n"
    "        {\"field\": \"interval\", \"title\": \"90 %% interval\"}]}}]}";

static const char chart_histogram[] =
    "   {\"title\": \"errors of the predictions\", \"width\": 420, \"height\": 440,\n"
    "    \"transform\": [\n"
    "     " CHIP_FILTER ",\n"
    "     {\"filter\": {\"param\": \"chosen\"}},\n"
    "     {\"calculate\": \"clamp(datum.error, -99.9, 99.9)\", \"as\": \"shown\"}],\n"
    "    \"mark\": \"bar\",\n"
    "    \"encoding\": {\n"
    "     \"x\": {\"field\": \"shown\", \"type\": \"quantitative\", \"bin\": {\"step\": 5, \"extent\": [-100, 100]},\n"
    "      \"title\": \"(predicted - measured) / measured, %%; the last bars hold what is beyond\",\n"
    "      \"axis\": {\"values\": [-100, -75, -50, -25, 0, 25, 50, 75, 100], \"format\": \"+d\"}},\n"
    "     \"y\": {\"aggregate\": \"count\", \"title\": \"points\"},\n"
    "     \"tooltip\": [{\"field\": \"class\"}, {\"aggregate\": \"count\", \"title\": \"points\"}],\n"
    "     " CLASS_COLOUR("null") "}}";

static const char chart_facets[] =
    "  {\"title\": \"chip by chip, the same axes\",\n"
    "   \"facet\": {\"field\": \"chip\", \"type\": \"nominal\", \"title\": null}, \"columns\": 5,\n"
    "   \"spec\": {\"width\": 175, \"height\": 150, \"layer\": [\n"
    "     {\"transform\": [{\"filter\": {\"param\": \"chosen\"}}],\n"
    "      \"mark\": {\"type\": \"point\", \"filled\": true, \"size\": 7, \"opacity\": 0.6},\n"
    "      \"encoding\": {\n"
    "       \"x\": " TIME("measured", "null") ",\n"
    "       \"y\": " TIME("predicted", "null") ",\n"
    "       " CLASS_COLOUR("null") "}},\n"
    "     " DIAGONAL "]}}";

static const char chart_config[] =
    " \"config\": {\n"
    "  \"font\": \"system-ui, sans-serif\", \"view\": {\"stroke\": \"#d0d7de\"},\n"
    "  \"axis\": {\"gridColor\": \"#eef1f4\", \"labelColor\": \"#57606a\", \"titleColor\": \"#1b1f24\"},\n"
    "  \"title\": {\"anchor\": \"start\", \"fontSize\": 13},\n"
    "  \"legend\": {\"symbolOpacity\": 1, \"labelFontSize\": 12}}";
/* clang-format on */

/* ---- points ---- */

static size_t drawable(const struct operator_set *set, const struct operator_group *group, size_t *indices) {
  size_t count = 0;
  for (size_t i = 0; i < group->scored_count; i++) {
    if (!isnan(set->rows.data[group->scored_first + i].time_s[OPERATOR_MODEL])) {
      indices[count++] = group->scored_first + i;
    }
  }
  return count;
}

/* The largest number of points per group with which all groups together stay within the page's points. */
static size_t points_per_group(const size_t *counts, size_t groups) {
  size_t low = 0, high = PAGE_POINTS;
  while (low < high) {
    size_t middle = (low + high + 1) / 2, total = 0;
    for (size_t g = 0; g < groups; g++) {
      total += counts[g] < middle ? counts[g] : middle;
    }
    *(total <= PAGE_POINTS ? &low : &high) = total <= PAGE_POINTS ? middle : middle - 1;
  }
  return low;
}

struct points {
  struct strbuf json; /* array of objects */
  size_t drawn, of, per_group;
  double least_us, most_us; /* over both axes */
};

static void add_point(const struct operator_row *row, struct points *points) {
  double measured = 1e6 * row->row->latency_s, predicted = 1e6 * row->time_s[OPERATOR_MODEL];
  struct strbuf shape = {0}, interval = {0}, measured_text = {0}, predicted_text = {0};
  operator_shape_text(&row->row->shape, &shape);
  report_time(&measured_text, row->row->latency_s);
  report_time(&predicted_text, row->time_s[OPERATOR_MODEL]);
  report_time(&interval, row->low_s);
  strbuf_puts(&interval, " to ");
  report_time(&interval, row->high_s);
  json_t *point =
      json_pack("{s:s,s:s,s:s,s:s,s:f,s:f,s:f,s:s,s:s,s:s}", "chip", row->row->chip->id, "class",
                kernel_class_name(row->row->shape.class_of), "format", kernel_format_info(row->row->shape.format)->name,
                "shape", strbuf_text(&shape), "measured", measured, "predicted", predicted, "error",
                100 * (predicted - measured) / measured, "measured_text", strbuf_text(&measured_text), "predicted_text",
                strbuf_text(&predicted_text), "interval", strbuf_text(&interval));
  char *text = point ? json_dumps(point, JSON_COMPACT | JSON_ESCAPE_SLASH | JSON_REAL_PRECISION(5)) : NULL;
  points->json.failed |= text == NULL;
  strbuf_printf(&points->json, "%s%s", points->drawn ? ",\n" : "", text ? text : "");
  free(text);
  json_decref(point);
  strbuf_release(&shape);
  strbuf_release(&interval);
  strbuf_release(&measured_text);
  strbuf_release(&predicted_text);
  points->least_us = fmin(points->drawn ? points->least_us : INFINITY, fmin(measured, predicted));
  points->most_us = fmax(points->drawn ? points->most_us : 0, fmax(measured, predicted));
  points->drawn++;
}

/* Every group keeps as many points as the others or all it has; which ones depends on their number alone. */
static enum status collect_points(const struct operator_set *set, struct points *points) {
  size_t *counts = calloc(set->groups.count + 1, sizeof *counts);
  size_t *indices = calloc(set->rows.count + 1, sizeof *indices);
  if (!counts || !indices) {
    free(counts);
    free(indices);
    return STATUS_MEMORY;
  }
  for (size_t g = 0; g < set->groups.count; g++) {
    counts[g] = drawable(set, &set->groups.data[g], indices);
    points->of += counts[g];
  }
  points->per_group = points_per_group(counts, set->groups.count);
  strbuf_puts(&points->json, "[");
  for (size_t g = 0; g < set->groups.count; g++) {
    size_t count = drawable(set, &set->groups.data[g], indices);
    size_t kept = count < points->per_group ? count : points->per_group;
    for (size_t i = 0; i < kept; i++) {
      add_point(&set->rows.data[indices[i * count / kept]], points);
    }
  }
  strbuf_puts(&points->json, "]");
  free(counts);
  free(indices);
  return points->json.failed ? STATUS_MEMORY : STATUS_OK;
}

/* ---- the specification ---- */

static void put_chips(const struct operator_set *set, struct strbuf *out) {
  strbuf_puts(out, "\"all chips\"");
  for (size_t g = 0; g < set->groups.count; g++) {
    const struct operator_group *group = &set->groups.data[g];
    if (g == 0 || group[-1].chip != group->chip) {
      json_t *name = json_string(group->chip->id);
      char *text = name ? json_dumps(name, JSON_ENCODE_ANY | JSON_ESCAPE_SLASH) : NULL;
      out->failed |= text == NULL;
      strbuf_printf(out, ", %s", text ? text : "null");
      free(text);
      json_decref(name);
    }
  }
}

static void put_specification(const struct operator_set *set, const struct points *points, struct strbuf *out) {
  double least = points->drawn ? points->least_us / 1.3 : 1, most = points->drawn ? points->most_us * 1.3 : 10;
  strbuf_puts(out, "{\"data\": {\"name\": \"points\", \"values\": ");
  strbuf_add(out, strbuf_text(&points->json), points->json.length);
  strbuf_puts(out, "},\n \"params\": [{\"name\": \"device\", \"value\": \"all chips\",\n  \"bind\": {\"input\": "
                   "\"select\", \"name\": \"chip: \", \"options\": [");
  put_chips(set, out);
  strbuf_puts(out, "]}}],\n \"vconcat\": [\n  {\"hconcat\": [\n");
  strbuf_printf(out, chart_scatter, least, most);
  strbuf_puts(out, ",\n");
  strbuf_printf(out, chart_histogram);
  strbuf_puts(out, "]},\n");
  strbuf_printf(out, chart_facets, least, most);
  strbuf_puts(out, "],\n");
  strbuf_puts(out, chart_config);
  strbuf_puts(out, "}\n");
}

/* ---- tables ---- */

static void put_percent_cell(struct strbuf *out, double fraction) {
  if (isnan(fraction)) {
    strbuf_puts(out, "<td>–</td>");
  } else {
    strbuf_printf(out, "<td>%.1f</td>", 100 * fraction);
  }
}

static enum status put_score_table(const struct operator_set *set, struct strbuf *out) {
  strbuf_puts(out, "<h2>Errors, % of the measured time</h2>\n<table><tr><th class=\"t\">chip</th><th class=\"t\">class"
                   "</th><th>rows</th><th>MAPE</th><th>median</th><th>p90</th><th>bias</th><th>inside 90 %</th>"
                   "<th>roofline</th><th>two constants</th><th>other chips</th></tr>\n");
  for (size_t g = 0; g < set->groups.count; g++) {
    const struct operator_group *group = &set->groups.data[g];
    struct operator_filter filter = OPERATOR_ALL_ROWS;
    struct operator_score s;
    if (g > 0 && group[-1].chip == group->chip && group[-1].class_of == group->class_of) {
      continue;
    }
    filter.chip = group->chip->id;
    filter.class_of = group->class_of;
    STATUS_TRY(operator_score_of(set, &filter, &s));
    if (s.model.count == 0) {
      continue;
    }
    strbuf_puts(out, "<tr><td class=\"t\">");
    report_html(out, group->chip->id);
    strbuf_printf(out, "</td><td class=\"t\">%s</td><td>%zu</td>", kernel_class_name(group->class_of), s.model.count);
    const double cells[] = {s.model.mape,
                            s.model.median,
                            s.model.p90,
                            s.model.bias,
                            s.coverage,
                            s.mape[OPERATOR_ROOFLINE],
                            s.mape[OPERATOR_TWO_CONSTANTS],
                            s.mape[OPERATOR_OTHER_CHIPS]};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
      put_percent_cell(out, cells[i]);
    }
    strbuf_puts(out, "</tr>\n");
  }
  strbuf_puts(out, "</table>\n");
  return STATUS_OK;
}

static void put_goal_table(const operator_goal_list *goals, struct strbuf *out) {
  static const char *const styles[] = {
      [OPERATOR_GOAL_NO_DATA] = "", [OPERATOR_GOAL_MISSED] = "missed", [OPERATOR_GOAL_MET] = "met"};
  strbuf_puts(out,
              "<h2>Goals</h2>\n<table><tr><th class=\"t\">goal</th><th>rows</th><th>value, %</th><th>wanted, %</th>"
              "<th class=\"t\"></th></tr>\n");
  for (size_t i = 0; i < goals->count; i++) {
    const struct operator_goal *goal = &goals->data[i];
    struct strbuf title = {0};
    operator_goal_title(goal, &title);
    strbuf_puts(out, "<tr><td class=\"t\">");
    report_html(out, strbuf_text(&title));
    strbuf_release(&title);
    strbuf_printf(out, "</td><td>%zu</td>", goal->count);
    put_percent_cell(out, goal->state == OPERATOR_GOAL_NO_DATA ? (double)NAN : goal->value);
    if (goal->kind == OPERATOR_GOAL_COVERAGE) {
      strbuf_puts(out, "<td>85 to 95</td>");
    } else {
      strbuf_printf(out, "<td>%s %.1f</td>", goal->kind == OPERATOR_GOAL_MAPE ? "≤" : "&lt;", 100 * goal->bound);
    }
    strbuf_printf(out, "<td class=\"t %s\">%s</td></tr>\n", styles[goal->state], operator_goal_state_name(goal->state));
  }
  strbuf_puts(out, "</table>\n");
}

/* ---- the page ---- */

static bool library_path(const char *directory, const char *name, struct strbuf *path) {
  strbuf_clear(path);
  strbuf_printf(path, "%s/%s", directory, name);
  FILE *probe = path->failed ? NULL : fopen(strbuf_text(path), "rb");
  if (probe) {
    fclose(probe);
  }
  return probe != NULL;
}

enum status operators_check_page(const char *charts_directory, struct diag_list *diags) {
  const char *directory = profile_charts_directory(charts_directory);
  struct strbuf path = {0};
  bool is_there = true;
  for (size_t i = 0; is_there && i < sizeof libraries / sizeof libraries[0]; i++) {
    is_there = library_path(directory, libraries[i], &path);
    if (!is_there) {
      diag_file(diags, DIAG_E0001_OPEN, strbuf_text(&path), 0, 0,
                "the library that draws the charts is not there; run './dev charts' in the source tree, or say where "
                "%s is with $RIDGELINE_CHARTS",
                libraries[i]);
    }
  }
  strbuf_release(&path);
  return is_there ? STATUS_OK : STATUS_IO;
}

/* A script that ends where it should: "</script" inside it becomes "<\/script", which means the same in JavaScript. */
static void put_script(const struct input_file *file, struct strbuf *out) {
  const char *at = file->text, *end = file->text + file->length, *close;
  strbuf_puts(out, "<script>");
  while ((close = strstr(at, "</script")) != NULL) {
    strbuf_add(out, at, (size_t)(close - at));
    strbuf_puts(out, "<\\/script");
    at = close + strlen("</script");
  }
  strbuf_add(out, at, (size_t)(end - at));
  strbuf_puts(out, "</script>\n");
}

static enum status put_libraries(const char *directory, struct strbuf *out, struct diag_list *diags) {
  struct strbuf path = {0};
  enum status status = STATUS_OK;
  strbuf_puts(out,
              "<!-- Vega, Vega-Lite and Vega-Embed: BSD 3-Clause, University of Washington Interactive Data Lab and "
              "contributors -->\n");
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && status == STATUS_OK; i++) {
    struct input_file file;
    library_path(directory, libraries[i], &path);
    status = input_file_read(&file, strbuf_text(&path), LIBRARY_LIMIT_BYTES, diags);
    if (status == STATUS_OK) {
      put_script(&file, out);
      input_file_release(&file);
    }
  }
  strbuf_release(&path);
  return status;
}

static void put_head(const struct operator_set *set, const struct points *points, struct strbuf *out) {
  strbuf_printf(out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<title>Ridgeline: predicted and measured operators</title>\n<style>%s</style>\n</head>\n<body>\n"
                "<h1>Predicted and measured operators</h1>\n"
                "<p>Ridgeline %s, suite “operators”: %zu measured kernels on rows that no constant has seen, of %zu "
                "measured.</p>\n",
                style, RDG_VERSION, set->rows.count, set->kernels.rows.count);
  if (points->drawn < points->of) {
    strbuf_printf(out,
                  "<p class=\"note\">%zu of %zu points are drawn: at most %zu of each chip, class and format, evenly "
                  "spaced in the order of the tables. The numbers below are of all rows.</p>\n",
                  points->drawn, points->of, points->per_group);
  } else {
    strbuf_printf(out, "<p class=\"note\">All %zu points are drawn.</p>\n", points->drawn);
  }
  strbuf_puts(out,
              "<p class=\"note\">Hover over a point for its shape; drag and scroll move the large chart; a click on "
              "a class in the legend shows it alone.</p>\n<div id=\"controls\"></div>\n<div id=\"chart\"></div>\n");
}

static enum status put_page(const struct operator_set *set, const operator_goal_list *goals, const char *directory,
                            const struct points *points, struct strbuf *out, struct diag_list *diags) {
  put_head(set, points, out);
  put_goal_table(goals, out);
  STATUS_TRY(put_score_table(set, out));
  strbuf_puts(out, "<script type=\"application/json\" id=\"specification\">\n");
  put_specification(set, points, out);
  strbuf_puts(out, "</script>\n");
  STATUS_TRY(put_libraries(directory, out, diags));
  strbuf_puts(out, "<script>vegaEmbed('#chart', JSON.parse(document.getElementById('specification').textContent), "
                   "{mode: 'vega-lite', bind: '#controls', actions: {export: true, source: false, compiled: false, "
                   "editor: false}});</script>\n"
                   "</body>\n</html>\n");
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}

enum status operators_write_page(const struct operator_set *set, const operator_goal_list *goals,
                                 const char *charts_directory, struct strbuf *out, struct diag_list *diags) {
  struct points points = {0};
  STATUS_TRY(operators_check_page(charts_directory, diags));
  enum status status = collect_points(set, &points);
  if (status == STATUS_OK) {
    status = put_page(set, goals, profile_charts_directory(charts_directory), &points, out, diags);
  }
  strbuf_release(&points.json);
  return status;
}
