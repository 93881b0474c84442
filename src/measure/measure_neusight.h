/* Suite "neusight", shared by its files only: operators and whole programs in eager single precision on eleven GPUs.
 * Path: tables of measured/neusight → graph (kernels of a program) → time → scores → text, JSON. */
#ifndef RIDGELINE_MEASURE_MEASURE_NEUSIGHT_H
#define RIDGELINE_MEASURE_MEASURE_NEUSIGHT_H

#include "io/csv.h"
#include "kernel/kernel_fit.h"
#include "measure/measure.h"
#include "measure/score.h"

/* Classes of the published operator table. */
enum neusight_class { NEUSIGHT_FC, NEUSIGHT_BMM, NEUSIGHT_EW, NEUSIGHT_SOFTMAX, NEUSIGHT_LN, NEUSIGHT_CLASS_COUNT };
const char *neusight_class_name(enum neusight_class class_of);
/* From an operator's name ("VECadd", "linear", "softmax"); NEUSIGHT_CLASS_COUNT for one of no class. */
enum neusight_class neusight_class_find(const char *op);

/* ---- programs: measure_neusight_graph.c ---- */
struct neusight_kernel {
  struct kernel_shape shape;
  uint32_t node; /* index of its node */
  bool is_backward, is_repeated; /* repeated: once per layer */
};
/* Communication that a node of a program on several GPUs starts, of f32 elements. */
struct neusight_exchange {
  double elements;
  enum { NEUSIGHT_ALL_REDUCE, NEUSIGHT_SEND } kind;
  bool is_async; /* nothing waits for it before the step ends: gradients */
  bool is_backward, is_repeated;
};
struct neusight_graph {
  struct csv_table table; /* owns the names */
  VEC(const char *) nodes; /* names, in the order of the file */
  VEC(struct neusight_kernel) kernels; /* sorted by node */
  VEC(struct neusight_exchange) exchanges; /* in the order of the file */
};
/* Kernels that eager PyTorch starts for a graph file: what a node runs forward and what autograd runs for it. After a failure
 * there is nothing to release. */
enum status neusight_graph_read(struct neusight_graph *graph, const char *path, struct diag_list *diags);
void neusight_graph_release(struct neusight_graph *graph);

/* ---- times: measure_neusight_time.c ---- */
struct neusight_device {
  const char *name, *label; /* as in the tables (spaces or '_'), short */
  const char *chip_id;
  double share; /* of the chip that a process sees: 0.5 = one of two dies */
  bool is_seen;
};
extern const struct neusight_device neusight_devices[]; /* terminated by a row without a name */
/* Whether a table means this device: underscores equal spaces. */
bool neusight_device_is(const struct neusight_device *device, const char *name);
/* NULL for a device that is none of them. */
const struct neusight_device *neusight_device_find(const char *name);

struct neusight_timer {
  const struct neusight_device *device;
  struct hw_chip chip;
  struct kernel_constants constants[KERNEL_CLASS_COUNT];
};
/* False when the database lacks the chip or a model for one of the classes. */
bool neusight_timer_init(struct neusight_timer *timer, const struct hw_database *chips,
                         const struct neusight_device *device);
/* One call between two events, repeated on the same buffers. */
double neusight_benchmark(const struct neusight_timer *timer, struct kernel_shape shape);
/* Forward kernels of one node as one benchmark; NaN when it has none. */
double neusight_node_time(const struct neusight_timer *timer, const struct neusight_graph *graph, const char *node);
struct neusight_program_time {
  double forward_s, backward_s, clock; /* clock: fraction that the power limit leaves to products */
};
struct neusight_program_time neusight_program(const struct neusight_timer *timer, const struct neusight_graph *graph,
                                              double layers, bool is_training);
/* Work / peak or bytes / bandwidth, whichever is longer. */
double neusight_roofline(const struct neusight_timer *timer, const struct kernel_shape *shape);

/* ---- results ---- */
enum neusight_peer {
  NEUSIGHT_OURS,
  NEUSIGHT_ROOFLINE,
  NEUSIGHT_HABITAT,
  NEUSIGHT_LI,
  NEUSIGHT_PUBLISHED,
  NEUSIGHT_TWO_CONSTANTS,
  NEUSIGHT_PEER_COUNT
};
extern const char *const neusight_peer_names[NEUSIGHT_PEER_COUNT];

struct neusight_row {
  const struct neusight_device *device;
  enum neusight_class class_of; /* of operators */
  const char *program; /* of programs; NULL else */
  double measured_s, time_s[NEUSIGHT_PEER_COUNT]; /* NaN: says nothing */
  double clock, forward_error, backward_error; /* of programs; NaN = none */
};
typedef VEC(struct neusight_row) neusight_rows;

struct neusight_results {
  struct csv_table labels, published, nodes; /* own the texts of rows */
  neusight_rows programs, node_rows, operators;
  size_t without_graph, fused, distributed; /* labelled rows that are not predicted */
};

struct neusight_filter {
  const struct neusight_device *device; /* NULL = all */
  enum neusight_class class_of; /* NEUSIGHT_CLASS_COUNT = all */
  enum { NEUSIGHT_ANY, NEUSIGHT_SEEN, NEUSIGHT_UNSEEN } seen;
  bool is_nvidia; /* only rows that all peers speak of */
};
/* Error of one predictor over the rows that the filter takes and that it speaks of. */
enum status neusight_score(const neusight_rows *rows, const struct neusight_filter *filter, enum neusight_peer peer,
                           struct score *score);

enum { NEUSIGHT_GOAL_PERCENT = 12 };
enum status neusight_write_text(const struct neusight_results *results, struct strbuf *out);
enum status neusight_write_json(const struct neusight_results *results, struct strbuf *out);

#endif
