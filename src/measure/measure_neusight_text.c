/* What the suite "neusight" prints: tables for a terminal, or JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_neusight.h"

static const struct neusight_filter everything = {.class_of = NEUSIGHT_CLASS_COUNT};

static void put_percent(struct strbuf *out, const struct score *score) {
  if (score->count > 0) {
    strbuf_printf(out, " %9.1f", 100 * score->mape);
  } else {
    strbuf_puts(out, "         -");
  }
}

/* One line: a title, the number of rows that ours speaks of, and the MAPE of the predictors in `peers`. */
static enum status put_line(struct strbuf *out, const neusight_rows *rows, const struct neusight_filter *filter,
                            const char *title, const enum neusight_peer *peers, size_t peer_count) {
  struct score score;
  STATUS_TRY(neusight_score(rows, filter, NEUSIGHT_OURS, &score));
  if (score.count == 0) {
    return STATUS_OK;
  }
  strbuf_printf(out, "  %-18s %6zu", title, score.count);
  for (size_t p = 0; p < peer_count; p++) {
    STATUS_TRY(neusight_score(rows, filter, peers[p], &score));
    put_percent(out, &score);
  }
  STATUS_TRY(neusight_score(rows, filter, NEUSIGHT_OURS, &score));
  strbuf_printf(out, " %9.1f %9.1f %+9.1f\n", 100 * score.median, 100 * score.p90, 100 * score.bias);
  return STATUS_OK;
}

static void put_head(struct strbuf *out, const char *what, const enum neusight_peer *peers, size_t peer_count) {
  strbuf_printf(out, "%s\n  %-18s %6s", what, "", "rows");
  for (size_t p = 0; p < peer_count; p++) {
    strbuf_printf(out, " %9.9s", neusight_peer_names[peers[p]]);
  }
  strbuf_puts(out, "    median       p90      bias\n");
}

static const enum neusight_peer published[] = {NEUSIGHT_ROOFLINE, NEUSIGHT_HABITAT, NEUSIGHT_LI, NEUSIGHT_PUBLISHED,
                                               NEUSIGHT_OURS};
enum { PUBLISHED_COUNT = sizeof published / sizeof published[0] };
static const enum neusight_peer simple[] = {NEUSIGHT_ROOFLINE, NEUSIGHT_TWO_CONSTANTS, NEUSIGHT_OURS};
enum { SIMPLE_COUNT = sizeof simple / sizeof simple[0] };

static enum status put_nodes(const struct neusight_results *results, struct strbuf *out) {
  put_head(out, "operators of the programs, forward, 0.05 ms and longer, NVIDIA: MAPE in percent", published,
           PUBLISHED_COUNT);
  for (int seen = NEUSIGHT_SEEN; seen <= NEUSIGHT_UNSEEN; seen++) {
    for (unsigned c = 0; c < NEUSIGHT_CLASS_COUNT; c++) {
      struct neusight_filter filter = {.class_of = (enum neusight_class)c, .is_nvidia = true};
      filter.seen = seen == NEUSIGHT_SEEN ? NEUSIGHT_SEEN : NEUSIGHT_UNSEEN;
      char title[32] = "";
      strcat(strcat(title, seen == NEUSIGHT_SEEN ? "seen " : "unseen "), neusight_class_name(filter.class_of));
      STATUS_TRY(put_line(out, &results->node_rows, &filter, title, published, PUBLISHED_COUNT));
    }
  }
  return STATUS_OK;
}

static enum status put_operators(const struct neusight_results *results, struct strbuf *out) {
  put_head(out, "\noperators of the test split: MAPE in percent", simple, SIMPLE_COUNT);
  for (const struct neusight_device *device = neusight_devices; device->name; device++) {
    for (unsigned c = 0; c < NEUSIGHT_CLASS_COUNT; c++) {
      struct neusight_filter filter = {.device = device, .class_of = (enum neusight_class)c};
      char title[32] = "";
      strcat(strcat(strcat(title, device->label), device->is_seen ? " " : "* "), neusight_class_name(filter.class_of));
      STATUS_TRY(put_line(out, &results->operators, &filter, title, simple, SIMPLE_COUNT));
    }
  }
  return STATUS_OK;
}

static void put_error(struct strbuf *out, double error) {
  if (isfinite(error)) {
    strbuf_printf(out, " %+8.1f", 100 * error);
  } else {
    strbuf_puts(out, "        -");
  }
}

static void put_programs(const struct neusight_results *results, struct strbuf *out) {
  strbuf_printf(out, "\nwhole programs, one GPU: error in percent\n  %-8s %-26s %9s %9s %8s %8s %8s %8s %6s\n", "GPU",
                "program", "measured", "ours", "error", "forward", "backward", "NeuSight", "clock");
  for (size_t i = 0; i < results->programs.count; i++) {
    const struct neusight_row *row = &results->programs.data[i];
    double ours = row->time_s[NEUSIGHT_OURS], theirs = row->time_s[NEUSIGHT_PUBLISHED];
    strbuf_printf(out, "  %-7s%s %-26s %6.0f ms %6.0f ms", row->device->label, row->device->is_seen ? " " : "*",
                  row->program, 1e3 * row->measured_s, 1e3 * ours);
    put_error(out, ours / row->measured_s - 1);
    put_error(out, row->forward_error);
    put_error(out, row->backward_error);
    put_error(out, theirs / row->measured_s - 1);
    strbuf_printf(out, " %6.2f\n", row->clock);
  }
}

static enum status put_program_scores(const struct neusight_results *results, struct strbuf *out) {
  static const struct {
    const char *title;
    struct neusight_filter filter;
  } pools[] = {
      {"NVIDIA seen", {.class_of = NEUSIGHT_CLASS_COUNT, .seen = NEUSIGHT_SEEN, .is_nvidia = true}},
      {"NVIDIA unseen", {.class_of = NEUSIGHT_CLASS_COUNT, .seen = NEUSIGHT_UNSEEN, .is_nvidia = true}},
      {"all seen", {.class_of = NEUSIGHT_CLASS_COUNT, .seen = NEUSIGHT_SEEN}},
      {"all unseen", {.class_of = NEUSIGHT_CLASS_COUNT, .seen = NEUSIGHT_UNSEEN}},
  };
  put_head(out, "\nwhole programs: MAPE in percent", published, PUBLISHED_COUNT);
  for (const struct neusight_device *device = neusight_devices; device->name; device++) {
    struct neusight_filter filter = {.device = device, .class_of = NEUSIGHT_CLASS_COUNT};
    char title[32] = "";
    strcat(strcat(title, device->label), device->is_seen ? "" : "*");
    STATUS_TRY(put_line(out, &results->programs, &filter, title, published, PUBLISHED_COUNT));
  }
  for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
    STATUS_TRY(put_line(out, &results->programs, &pools[i].filter, pools[i].title, published, PUBLISHED_COUNT));
  }
  return STATUS_OK;
}

/* Mean over GPUs of Kendall's tau between measured and predicted programs. */
static enum status ranking(const struct neusight_results *results, enum neusight_peer peer, double *tau) {
  double sum = 0;
  unsigned count = 0;
  for (const struct neusight_device *device = neusight_devices; device->name; device++) {
    struct neusight_filter filter = {.device = device, .class_of = NEUSIGHT_CLASS_COUNT};
    struct score score;
    STATUS_TRY(neusight_score(&results->programs, &filter, peer, &score));
    if (score.count >= 2 && isfinite(score.kendall)) {
      sum += score.kendall;
      count++;
    }
  }
  *tau = count ? sum / count : (double)NAN;
  return STATUS_OK;
}

static enum status goal_of(const struct neusight_results *results, struct score *score) {
  struct neusight_filter filter = {.class_of = NEUSIGHT_CLASS_COUNT, .seen = NEUSIGHT_UNSEEN, .is_nvidia = true};
  return neusight_score(&results->programs, &filter, NEUSIGHT_OURS, score);
}

enum status neusight_write_text(const struct neusight_results *results, struct strbuf *out) {
  double ours, theirs;
  struct score goal;
  strbuf_puts(out, "NeuSight tables: eager PyTorch, f32. * = no row of this GPU was used for any constant.\n\n");
  STATUS_TRY(put_nodes(results, out));
  STATUS_TRY(put_operators(results, out));
  put_programs(results, out);
  STATUS_TRY(put_program_scores(results, out));
  STATUS_TRY(ranking(results, NEUSIGHT_OURS, &ours));
  STATUS_TRY(ranking(results, NEUSIGHT_PUBLISHED, &theirs));
  STATUS_TRY(goal_of(results, &goal));
  strbuf_printf(out, "\nranking of programs on one GPU, Kendall tau: ours %.3f, NeuSight %.3f\n", ours, theirs);
  strbuf_printf(out, "not predicted: %zu rows without an operator graph, %zu of torch.compile, %zu of several GPUs\n",
                results->without_graph, results->fused, results->distributed);
  strbuf_printf(out, "goal: end to end, unseen GPUs <= %d %%: %.1f %% (%s)\n", NEUSIGHT_GOAL_PERCENT, 100 * goal.mape,
                goal.count > 0 && 100 * goal.mape <= NEUSIGHT_GOAL_PERCENT ? "met" : "missed");
  return out->failed ? STATUS_MEMORY : STATUS_OK;
}

/* ---- JSON ---- */

static json_t *real(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *scores_json(const neusight_rows *rows, const struct neusight_filter *filter) {
  json_t *scores = json_object();
  for (int p = 0; p < NEUSIGHT_PEER_COUNT; p++) {
    struct score s;
    if (neusight_score(rows, filter, (enum neusight_peer)p, &s) == STATUS_OK && s.count > 0) {
      json_object_set_new(scores, neusight_peer_names[p],
                          json_pack("{s:I,s:o,s:o,s:o,s:o}", "rows", (json_int_t)s.count, "mape", real(s.mape),
                                    "median", real(s.median), "p90", real(s.p90), "bias", real(s.bias)));
    }
  }
  return scores;
}

static json_t *classes_json(const neusight_rows *rows) {
  json_t *groups = json_array();
  for (const struct neusight_device *device = neusight_devices; device->name; device++) {
    for (unsigned c = 0; c < NEUSIGHT_CLASS_COUNT; c++) {
      struct neusight_filter filter = {.device = device, .class_of = (enum neusight_class)c};
      json_t *scores = scores_json(rows, &filter);
      if (json_object_size(scores) > 0) {
        json_array_append_new(groups, json_pack("{s:s,s:s,s:b,s:o}", "chip", device->chip_id, "class",
                                                neusight_class_name(filter.class_of), "seen", device->is_seen, "scores",
                                                scores));
      } else {
        json_decref(scores);
      }
    }
  }
  return groups;
}

static json_t *programs_json(const struct neusight_results *results) {
  json_t *rows = json_array();
  for (size_t i = 0; i < results->programs.count; i++) {
    const struct neusight_row *row = &results->programs.data[i];
    json_t *times = json_object();
    for (int p = 0; p <= NEUSIGHT_PUBLISHED; p++) {
      json_object_set_new(times, neusight_peer_names[p], real(row->time_s[p]));
    }
    json_array_append_new(rows, json_pack("{s:s,s:s,s:b,s:f,s:o,s:o,s:o,s:o}", "chip", row->device->chip_id, "program",
                                          row->program, "seen", row->device->is_seen, "measured_s", row->measured_s,
                                          "predicted_s", times, "clock", real(row->clock), "forward_error",
                                          real(row->forward_error), "backward_error", real(row->backward_error)));
  }
  return rows;
}

enum status neusight_write_json(const struct neusight_results *results, struct strbuf *out) {
  struct neusight_filter seen = everything, unseen = everything;
  double ours, theirs;
  struct score goal;
  seen.seen = NEUSIGHT_SEEN;
  unseen.seen = NEUSIGHT_UNSEEN;
  seen.is_nvidia = unseen.is_nvidia = true;
  STATUS_TRY(ranking(results, NEUSIGHT_OURS, &ours));
  STATUS_TRY(ranking(results, NEUSIGHT_PUBLISHED, &theirs));
  STATUS_TRY(goal_of(results, &goal));
  json_t *root = json_pack(
      "{s:s,s:o,s:o,s:o,s:{s:o,s:o},s:{s:o,s:o},s:{s:I,s:I,s:I},s:{s:i,s:o,s:b}}", "suite", "neusight", "nodes",
      classes_json(&results->node_rows), "operators", classes_json(&results->operators), "programs",
      programs_json(results), "pools", "seen", scores_json(&results->programs, &seen), "unseen",
      scores_json(&results->programs, &unseen), "kendall_tau", "ours", real(ours), "NeuSight", real(theirs),
      "not_predicted", "without_graph", (json_int_t)results->without_graph, "fused", (json_int_t)results->fused,
      "distributed", (json_int_t)results->distributed, "goal", "percent", NEUSIGHT_GOAL_PERCENT, "mape",
      real(goal.count ? goal.mape : (double)NAN), "met", goal.count > 0 && 100 * goal.mape <= NEUSIGHT_GOAL_PERCENT);
  char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
  if (text) {
    strbuf_puts(out, text);
    strbuf_putc(out, '\n');
  }
  free(text);
  json_decref(root);
  return text && !out->failed ? STATUS_OK : STATUS_MEMORY;
}
