/* Scores of measured collectives: cells of one machine and operation, means over cells, goals. */
#ifndef RIDGELINE_MEASURE_MEASURE_COLLECTIVES_SCORE_H
#define RIDGELINE_MEASURE_MEASURE_COLLECTIVES_SCORE_H

#include "measure/measure_collectives.h"

struct collective_error {
  double sum; /* of |predicted - measured| / measured */
  size_t count;
};
double collective_error_mean(const struct collective_error *error); /* NaN for no rows */

enum collective_band {
  COLLECTIVE_BAND_SMALL, /* below 64 KB */
  COLLECTIVE_BAND_MIDDLE, /* to 1 MB */
  COLLECTIVE_BAND_LARGE, /* to 64 MB */
  COLLECTIVE_BAND_HUGE,
  COLLECTIVE_BAND_COUNT
};

/* Test rows of one machine and operation; of tables that nothing is fitted to, all rows. */
struct collective_cell {
  uint16_t machine;
  enum work_collective_kind kind;
  struct collective_error bands[COLLECTIVE_BAND_COUNT], all, large, line_all, line_large, unseen_all;
};
struct collective_scores {
  VEC(struct collective_cell) cells;
};
enum status collectives_score(const struct measured_collectives *all, struct collective_scores *scores);

/* Means in which every cell counts the same, and (rows_) over rows: tables have from 7 to 5,000 rows per cell. */
struct collective_means {
  size_t cells, rows;
  double all, large, line_all, line_large, unseen, rows_all, rows_large;
};
struct collective_means collective_means_of(const struct collective_scores *scores, int kind); /* -1 = all */

/* Sets two_constants_s: alpha + beta x bytes moved, per machine and operation, on the train rows. */
void collectives_fit_lines(struct measured_collectives *all);

/* Reports. */
enum { COLLECTIVE_GOAL_COUNT = 3 };
struct collective_goal {
  const char *text;
  double value, most;
};
void collective_goals_of(const struct collective_scores *scores, struct collective_goal goals[COLLECTIVE_GOAL_COUNT]);
void collectives_write_text(const struct measured_collectives *all, const struct collective_scores *scores,
                            const struct collective_harness *harness, struct strbuf *out);
enum status collectives_write_json(const struct measured_collectives *all, const struct collective_scores *scores,
                                   const struct collective_harness *harness, struct strbuf *out);

#endif
