/* Suite "operators", shared by its files only: measured kernels that no constant has seen, beside what predicts them.
 * Path: measured_kernels → operators_score (here: every row gets the time of every predictor) → goals, text, JSON, page. */
#ifndef RIDGELINE_MEASURE_MEASURE_OPERATORS_H
#define RIDGELINE_MEASURE_MEASURE_OPERATORS_H

#include "measure/measure.h"
#include "measure/score.h"
#include "profile/measured_kernels.h"

enum operator_predictor {
  OPERATOR_MODEL, /* the kernel model with the constants in use */
  OPERATOR_ROOFLINE, /* data sheet alone */
  OPERATOR_TWO_CONSTANTS, /* fitted on the rows the model's constants come from */
  OPERATOR_NEIGHBOURS, /* between measurements on either side */
  OPERATOR_OTHER_CHIPS, /* the kernel model with constants of other chips of the family */
  OPERATOR_PEER, /* a published predictor, on the rows it was published for */
  OPERATOR_PREDICTOR_COUNT
};

struct operator_row {
  const struct measured_kernel *row;
  double time_s[OPERATOR_PREDICTOR_COUNT]; /* NaN: this predictor says nothing of the row */
  double low_s, high_s; /* 90 % interval of OPERATOR_MODEL; NaN without one */
};

/* Rows of one chip, class and format. */
struct operator_group {
  const struct hw_chip *chip;
  enum kernel_class class_of;
  enum kernel_format format;
  size_t first, count; /* in measured_kernels.rows */
  size_t scored_first, scored_count; /* in operator_set.rows */
  const char *constants; /* whose constants test rows are timed with: a chip, a family, "data sheet", "no model" */
  /* false: too few rows to fit on in some fold; its rows are timed with constants of the data sheet */
  bool folds_fitted;
  const char *others; /* family whose other chips OPERATOR_OTHER_CHIPS was fitted on; NULL = none */
  enum status status; /* of scoring it */
};

/* Which rows a statistic is about. */
struct operator_filter {
  const char *chip; /* id; NULL = all */
  const char *family; /* id of what the chip has to inherit; NULL = all */
  enum kernel_class class_of; /* KERNEL_CLASS_COUNT = all */
  enum kernel_format format; /* KERNEL_FORMAT_COUNT = all */
  unsigned source; /* 1 + index of the source; 0 = all */
  bool is_of_fitted_source; /* no rows of sources that are there for scoring alone, unless they are cross-validated */
  double extent_min, extent_max; /* of a GEMM's m, n and k; 0 = no bound */
};
#define OPERATOR_ALL_ROWS ((struct operator_filter){.class_of = KERNEL_CLASS_COUNT, .format = KERNEL_FORMAT_COUNT})

struct operator_set {
  struct measured_kernels kernels; /* of all chips: those that are not scored serve others */
  struct operator_filter only; /* what is scored */
  VEC(struct operator_row) rows; /* test and cross-validated rows, in the order of `kernels` */
  VEC(struct operator_group) groups; /* those that are scored */
};

struct operator_score {
  struct score model;
  double coverage; /* share of the rows with an interval that lie in it; NaN without any */
  size_t with_interval;
  /* Of every predictor: rows it speaks of, its MAPE there and that of the model on the same rows. NaN without rows. */
  size_t count[OPERATOR_PREDICTOR_COUNT];
  double mape[OPERATOR_PREDICTOR_COUNT], model_mape[OPERATOR_PREDICTOR_COUNT];
};

/* Groups `set->kernels` (which has been loaded) and times every row that is scored, on all cores; the result does not
 * depend on their number. `data_directory` is where peers' tables are; may be NULL. */
enum status operators_score(struct operator_set *set, const char *data_directory, struct diag_list *diags);
void operator_set_release(struct operator_set *set);
/* The source after `source` (1 + index; 0 to begin) that scored rows of the group come from; 0 = no further one. */
unsigned operator_next_source(const struct operator_set *set, const struct operator_group *group, unsigned source);
/* Whose constants the group's rows of that source (0 = all) are timed with: `constants`, "5 folds" ("data sheet" when
 * nothing could be fitted), or "some folds" when there are both. */
const char *operator_constants(const struct operator_set *set, const struct operator_group *group, unsigned source);
bool operator_filter_takes(const struct operator_filter *filter, const struct measured_kernel *row);
enum status operator_score_of(const struct operator_set *set, const struct operator_filter *filter,
                              struct operator_score *score);
/* "m 128, n 1024, k 4096": extents with another value than they usually have; appended. */
void operator_shape_text(const struct kernel_shape *shape, struct strbuf *out);

/* ---- baselines: measure_operators_baselines.c ---- */
/* Time between the nearest measurements below and above in one extent (a GEMM's m, the queries of a prefill, the context
 * of a decode step, tokens, elements), all else and the source equal; linear in the logarithms. Repetitions count as their
 * geometric mean, and a row's own shape is no neighbour. `rows` are of one chip, class and format; NaN where a side is
 * missing. */
enum status operator_neighbours(const struct measured_kernel *rows, size_t count, double *time_s);

/* A predictor that was published with a time for single rows. */
struct operator_peer {
  const char *name, *chip;
  const char *measured; /* source of the measured rows it speaks of */
  enum kernel_class class_of;
  double extent_min, extent_max; /* of m, n and k, where a table holds more than the peer speaks of */
  const char *file; /* below the data directory */
  const char *column; /* of its prediction */
  double scale; /* seconds per unit; 0 = the unit is no time: a line is fitted to the measured times of the same rows */
  double published_mape; /* as its authors or earlier comparisons state it */
  unsigned published_rows;
  const char *source;
};
extern const struct operator_peer operator_peers[]; /* ends with a row without a name */
/* Fills OPERATOR_PEER of a group's rows. A table that is absent leaves them NaN. */
enum status operator_peer_times(struct operator_set *set, const struct operator_group *group,
                                const char *data_directory, struct diag_list *diags);

/* ---- goals: measure_operators_goals.c ---- */
enum operator_goal_kind { OPERATOR_GOAL_MAPE, OPERATOR_GOAL_TWO_CONSTANTS, OPERATOR_GOAL_COVERAGE };
enum operator_goal_state { OPERATOR_GOAL_NO_DATA, OPERATOR_GOAL_MISSED, OPERATOR_GOAL_MET };
struct operator_goal {
  enum operator_goal_kind kind;
  const char *title; /* "bf16 GEMM, H100"; NULL = made of chip and class */
  struct operator_filter filter;
  double limit; /* of MAPE, a fraction */
  /* results */
  enum operator_goal_state state;
  double value, bound; /* MAPE and its limit, or MAPE and that of the two-constant roofline, or coverage and 0.9 */
  size_t count; /* rows it is about */
};
typedef VEC(struct operator_goal) operator_goal_list;
/* Chips with fewer test rows have no goal of coverage, classes with fewer none against a fitted line. */
enum { OPERATOR_COVERAGE_ROWS = 200, OPERATOR_LINE_ROWS = 30 };
/* The goals of the table and those of every chip and class that has rows, evaluated. */
enum status operator_goals(const struct operator_set *set, operator_goal_list *goals);
/* Decides one goal by the score of its rows. */
void operator_goal_judge(struct operator_goal *goal, const struct operator_score *score);
void operator_goal_title(const struct operator_goal *goal, struct strbuf *out);
const char *operator_goal_state_name(enum operator_goal_state state);

/* ---- reports ---- */
void operators_write_text(const struct operator_set *set, const operator_goal_list *goals, struct strbuf *out);
enum status operators_write_json(const struct operator_set *set, const operator_goal_list *goals, struct strbuf *out);
/* One HTML file that loads nothing: predicted beside measured times as a Vega-Lite chart, with the libraries that draw it
 * inlined from `charts_directory` (NULL = $RIDGELINE_CHARTS, the source tree's, the installed ones). */
enum status operators_write_page(const struct operator_set *set, const operator_goal_list *goals,
                                 const char *charts_directory, struct strbuf *out, struct diag_list *diags);
/* E0001 with what to run when the libraries are not there: to be asked before the work is done. */
enum status operators_check_page(const char *charts_directory, struct diag_list *diags);

#endif
