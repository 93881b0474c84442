/* The tables of the suite "operators": groups with their baselines, classes, published peers, goals. */
#include <math.h>

#include "measure/measure_operators.h"
#include "report/report.h"

struct column {
  const char *heading;
  enum report_align align;
};

static struct report_table *new_table(const struct column *columns, size_t count) {
  enum { COLUMN_MAX = 24 };
  const char *headings[COLUMN_MAX];
  enum report_align aligns[COLUMN_MAX];
  for (size_t i = 0; i < count; i++) {
    headings[i] = columns[i].heading;
    aligns[i] = columns[i].align;
  }
  return report_table_new(headings, aligns, count);
}

static void print_table(struct report_table *table, struct strbuf *out) {
  if (table) {
    report_table_print(table, out);
  } else {
    out->failed = true;
  }
  report_table_free(table);
}

static void add_percent(struct report_table *table, double fraction) {
  if (isnan(fraction)) {
    report_table_cell(table, "-");
  } else {
    report_table_cellf(table, "%.1f", 100 * fraction);
  }
}

static const struct column score_columns[] = {
    {"chip", REPORT_LEFT},      {"class", REPORT_LEFT},       {"format", REPORT_LEFT},   {"source", REPORT_LEFT},
    {"constants", REPORT_LEFT}, {"rows", REPORT_RIGHT},       {"MAPE", REPORT_RIGHT},    {"median", REPORT_RIGHT},
    {"p90", REPORT_RIGHT},      {"bias", REPORT_RIGHT},       {"tau", REPORT_RIGHT},     {"in 90 %", REPORT_RIGHT},
    {"roofline", REPORT_RIGHT}, {"2 const.", REPORT_RIGHT},   {"between", REPORT_RIGHT}, {"of rows", REPORT_RIGHT},
    {"ours", REPORT_RIGHT},     {"other chips", REPORT_RIGHT}};

static void add_score_cells(struct report_table *table, const struct operator_score *s) {
  report_table_cellf(table, "%zu", s->model.count);
  add_percent(table, s->model.count ? s->model.mape : (double)NAN);
  add_percent(table, s->model.count ? s->model.median : (double)NAN);
  add_percent(table, s->model.count ? s->model.p90 : (double)NAN);
  if (s->model.count) {
    report_table_cellf(table, "%+.1f", 100 * s->model.bias);
  } else {
    report_table_cell(table, "-");
  }
  if (isnan(s->model.kendall)) {
    report_table_cell(table, "-");
  } else {
    report_table_cellf(table, "%.2f", s->model.kendall);
  }
  add_percent(table, s->coverage);
  add_percent(table, s->mape[OPERATOR_ROOFLINE]);
  add_percent(table, s->mape[OPERATOR_TWO_CONSTANTS]);
  add_percent(table, s->mape[OPERATOR_NEIGHBOURS]);
  report_table_cellf(table, "%zu", s->count[OPERATOR_NEIGHBOURS]);
  add_percent(table, s->model_mape[OPERATOR_NEIGHBOURS]);
  add_percent(table, s->mape[OPERATOR_OTHER_CHIPS]);
}

static void add_score_row(const struct operator_set *set, const struct operator_filter *filter, const char *constants,
                          struct report_table *table, struct strbuf *out) {
  struct operator_score score;
  if (operator_score_of(set, filter, &score) != STATUS_OK) {
    out->failed = true;
    return;
  }
  report_table_cell(table, filter->chip ? filter->chip : "all chips");
  report_table_cell(table, kernel_class_name(filter->class_of));
  report_table_cell(table, filter->format == KERNEL_FORMAT_COUNT ? "all" : kernel_format_info(filter->format)->name);
  report_table_cell(table, filter->source ? set->kernels.sources.data[filter->source - 1] : "all");
  report_table_cell(table, constants);
  add_score_cells(table, &score);
}

/* A row per source where there are several, and one of all rows of the group. */
static void add_group_rows(const struct operator_set *set, const struct operator_group *group,
                           struct report_table *table, struct strbuf *out) {
  struct operator_filter filter = OPERATOR_ALL_ROWS;
  unsigned first = operator_next_source(set, group, 0);
  filter.chip = group->chip->id;
  filter.class_of = group->class_of;
  filter.format = group->format;
  filter.source = first;
  add_score_row(set, &filter, operator_constants(set, group, filter.source), table, out);
  while ((filter.source = operator_next_source(set, group, filter.source)) != 0) {
    add_score_row(set, &filter, operator_constants(set, group, filter.source), table, out);
  }
  if (operator_next_source(set, group, first) != 0) {
    add_score_row(set, &filter, operator_constants(set, group, filter.source), table, out);
  }
}

/* Groups, and a row of all formats where a chip and class has several. */
static void print_groups(const struct operator_set *set, struct strbuf *out) {
  struct report_table *table = new_table(score_columns, sizeof score_columns / sizeof score_columns[0]);
  size_t formats = 0;
  for (size_t i = 0; i < set->groups.count; i++) {
    const struct operator_group *group = &set->groups.data[i];
    bool is_last = i + 1 == set->groups.count || group[1].chip != group->chip || group[1].class_of != group->class_of;
    add_group_rows(set, group, table, out);
    if (++formats > 1 && is_last) {
      struct operator_filter filter = OPERATOR_ALL_ROWS;
      filter.chip = group->chip->id;
      filter.class_of = group->class_of;
      add_score_row(set, &filter, "", table, out);
    }
    formats = is_last ? 0 : formats;
  }
  print_table(table, out);
}

static bool has_class(const struct operator_set *set, enum kernel_class class_of) {
  for (size_t i = 0; i < set->groups.count; i++) {
    if (set->groups.data[i].class_of == class_of) {
      return true;
    }
  }
  return false;
}

static void print_classes(const struct operator_set *set, struct strbuf *out) {
  struct report_table *table = new_table(score_columns, sizeof score_columns / sizeof score_columns[0]);
  for (unsigned c = 0; c < KERNEL_CLASS_COUNT; c++) {
    struct operator_filter filter = OPERATOR_ALL_ROWS;
    filter.class_of = (enum kernel_class)c;
    if (has_class(set, filter.class_of)) {
      add_score_row(set, &filter, "", table, out);
    }
  }
  print_table(table, out);
}

static void print_peers(const struct operator_set *set, struct strbuf *out) {
  static const struct column columns[] = {
      {"peer", REPORT_LEFT},      {"chip", REPORT_LEFT},  {"class", REPORT_LEFT}, {"published MAPE", REPORT_RIGHT},
      {"rows", REPORT_RIGHT},     {"here", REPORT_RIGHT}, {"ours", REPORT_RIGHT}, {"rows", REPORT_RIGHT},
      {"what it is", REPORT_LEFT}};
  struct report_table *table = new_table(columns, sizeof columns / sizeof columns[0]);
  for (const struct operator_peer *peer = operator_peers; peer->name; peer++) {
    struct operator_filter filter = OPERATOR_ALL_ROWS;
    struct operator_score score;
    filter.chip = peer->chip;
    filter.class_of = peer->class_of;
    filter.extent_min = peer->extent_min;
    filter.extent_max = peer->extent_max;
    if (operator_score_of(set, &filter, &score) != STATUS_OK) {
      out->failed = true;
      break;
    }
    report_table_cell(table, peer->name);
    report_table_cell(table, peer->chip);
    report_table_cell(table, kernel_class_name(peer->class_of));
    add_percent(table, peer->published_mape);
    report_table_cellf(table, "%u", peer->published_rows);
    add_percent(table, score.mape[OPERATOR_PEER]);
    add_percent(table, score.model_mape[OPERATOR_PEER]);
    report_table_cellf(table, "%zu", score.count[OPERATOR_PEER]);
    report_table_cell(table, peer->source);
  }
  print_table(table, out);
}

static void print_goals(const operator_goal_list *goals, struct strbuf *out) {
  static const struct column columns[] = {{"goal", REPORT_LEFT},
                                          {"rows", REPORT_RIGHT},
                                          {"value", REPORT_RIGHT},
                                          {"wanted", REPORT_RIGHT},
                                          {"", REPORT_LEFT}};
  struct report_table *table = new_table(columns, sizeof columns / sizeof columns[0]);
  size_t met = 0, decided = 0;
  for (size_t i = 0; i < goals->count; i++) {
    const struct operator_goal *goal = &goals->data[i];
    struct strbuf title = {0};
    operator_goal_title(goal, &title);
    report_table_cell(table, strbuf_text(&title));
    strbuf_release(&title);
    report_table_cellf(table, "%zu", goal->count);
    if (goal->state == OPERATOR_GOAL_NO_DATA) {
      report_table_cell(table, "-");
    } else {
      report_table_cellf(table, "%.1f %%", 100 * goal->value);
    }
    if (goal->kind == OPERATOR_GOAL_COVERAGE) {
      report_table_cell(table, "85 to 95 %");
    } else {
      report_table_cellf(table, goal->kind == OPERATOR_GOAL_MAPE ? "<= %.1f %%" : "< %.1f %%", 100 * goal->bound);
    }
    report_table_cell(table, operator_goal_state_name(goal->state));
    met += goal->state == OPERATOR_GOAL_MET ? 1 : 0;
    decided += goal->state != OPERATOR_GOAL_NO_DATA ? 1 : 0;
  }
  print_table(table, out);
  strbuf_printf(out, "\ngoals: %zu of %zu met\n", met, decided);
}

void operators_write_text(const struct operator_set *set, const operator_goal_list *goals, struct strbuf *out) {
  struct strbuf scored = {0}, measured = {0};
  report_integer(&scored, set->rows.count);
  report_integer(&measured, set->kernels.rows.count);
  strbuf_printf(out, "%s test rows of %s measured operators. Errors in %% of the measured time.\n\n",
                strbuf_text(&scored), strbuf_text(&measured));
  strbuf_release(&scored);
  strbuf_release(&measured);
  print_groups(set, out);
  strbuf_puts(out, "\nby class:\n");
  print_classes(set, out);
  strbuf_puts(
      out,
      "\n"
      "constants    whose the model's constants are: the chip's own, a family's, those of the data sheet; \"5 "
      "folds\":\n"
      "             fitted on four fifths of the rows, five times, and scored on the other fifth\n"
      "bias         mean of (predicted - measured) / measured\n"
      "in 90 %      measurements inside the predicted 90 % interval\n"
      "roofline     max(flops / peak, bytes / bandwidth) of the data sheet\n"
      "2 const.     the same / efficiency + overhead, both fitted on the rows that the model's constants come from\n"
      "between      interpolated between the measured neighbours below and above in m, queries, context, tokens or\n"
      "             elements; only `of rows` rows have both, and `ours` is the model's error on those\n"
      "other chips  the model with constants of the other chips of the nearest family that has any\n"
      "\npublished peers, on the rows that they have a prediction for:\n");
  print_peers(set, out);
  strbuf_puts(out, "\n");
  print_goals(goals, out);
}
