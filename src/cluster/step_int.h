/* Inside of the step: prices of collectives (step_network.c), one graph on the streams of a device (step_lane.c), micro-batches
 * over stages (step_pipeline.c), memory (step_memory.c), spans (step_spans.c); step_run.c puts them together. */
#ifndef RIDGELINE_CLUSTER_STEP_INT_H
#define RIDGELINE_CLUSTER_STEP_INT_H

#include "base/map.h"
#include "cluster/step.h"

enum { STEP_STREAMS_MAX = 8, STEP_DEPTH_MAX = 200 };

/* Seconds → picoseconds, rounded; 0 for what is not a positive number, saturating. */
sim_time_ps step_ps(double seconds);
static inline double step_seconds(sim_time_ps ps) {
  return (double)ps * 1e-12;
}

/* ---- prices ---- */

enum step_streams { STEP_STREAMS_ONE, STEP_STREAMS_DIMENSIONS };

/* One price: all collectives of the step with the same kind, bytes and groups have the same. */
struct step_price {
  struct collective_request request;
  struct collective_result result;
  sim_time_ps time_ps;
  uint8_t stream; /* 1.. where the library has several */
  uint8_t dimensions; /* bit per dimension of the cluster that it uses */
  double memory_share; /* of the device's off-chip bandwidth while it runs */
};

/* Index into step_network.prices per collective of a graph, and the same for its subgraphs. */
struct step_prices {
  const uint32_t *of;
  const struct step_prices *inside;
};

struct step_network {
  const struct hw_cluster *cluster;
  const struct hw_slice *slice;
  const struct hw_chip *device;
  const struct step_pricing *pricing; /* NULL = closed forms */
  struct collective_constants constants;
  struct step_contention contention;
  enum step_streams streams;
  struct arena *arena;
  struct diag_list *diags;
  VEC(struct step_price) prices;
  struct map by_hash; /* → index + 1 of the first price with that hash */
};
void step_network_init(struct step_network *network, const struct hw_cluster *cluster, const struct hw_slice *slice,
                       const struct hw_chip *device, const struct step_options *options, struct arena *arena,
                       struct diag_list *diags);
void step_network_release(struct step_network *network);
/* Prices of all collectives of a graph and its subgraphs. `devices`: of a stage; what groups without members stand for.
 * STATUS_INPUT with a diagnostic when groups do not fit the slice. */
enum status step_network_price(struct step_network *network, const struct work_graph *graph, uint64_t devices,
                               struct step_prices *prices);
/* Index of the price of a point-to-point message to the device `distance` numbers further on. */
enum status step_network_message(struct step_network *network, uint64_t bytes, uint64_t distance, uint32_t *price);

/* Notes in the result: axes of the slice that collectives go along and whose rings are open. */
enum status step_network_note(const struct step_network *network, struct step_result *result);

/* ---- one graph on one device ---- */

struct step_lane_row {
  uint64_t count; /* executions */
  sim_time_ps exposed_ps;
  sim_time_ps tail_ps; /* of it: after the last computation */
  uint32_t tail_of; /* number of computations before it */
};
struct step_lane {
  sim_time_ps time_ps, compute_ps, exposed_ps; /* time = compute + exposed */
  sim_time_ps exposed_by_kind_ps[STEP_COLLECTIVE_KINDS];
  sim_time_ps contention_ps; /* part of compute_ps */
  sim_time_ps busy_ps; /* streams of communication, together */
  sim_time_ps tail_ps; /* communication that outlasts the last computation; part of exposed_ps */
  uint64_t gathered_bytes; /* peak of results of gathers that are there before they are read */
  struct step_lane_row *rows; /* per price */
  size_t row_count;
  VEC(struct step_span) spans; /* of the outermost graph; times from its start */
};
struct step_lane_options {
  enum step_overlap overlap;
  bool keep_spans;
  uint64_t gather_budget_bytes; /* gathers may be this far ahead of their readers; 0 = one at a time */
};
/* `lane` is zeroed; its rows live in `arena`, its spans on the heap (step_lane_release). */
enum status step_lane_run(const struct step_network *network, const struct work_graph *graph,
                          const struct work_graph_result *times, const struct step_prices *prices,
                          const struct step_lane_options *options, struct arena *arena, struct step_lane *lane);
void step_lane_release(struct step_lane *lane);
/* into += from, `times` times; not the spans. */
void step_lane_add(struct step_lane *into, const struct step_lane *from, uint64_t times);

/* ---- pipelines ---- */

/* One pass of a micro-batch through a chunk. */
struct step_pass {
  uint8_t role; /* enum step_role */
  uint32_t microbatch;
  uint32_t chunk; /* of the stage */
  sim_time_ps start_ps, end_ps; /* of the compute */
};

struct step_pipeline_input {
  uint32_t stages, chunks, microbatches;
  enum step_schedule schedule;
  bool has_backward, waits_for_sends;
  sim_time_ps time_ps[STEP_PLACE_COUNT][STEP_ROLE_COUNT]; /* BACKWARD_LAST resolved */
  /* Of BACKWARD_LAST: exchange of gradients after its last computation. Neither the stage before nor later passes wait for
   * it, but the update */
  sim_time_ps tail_ps[STEP_PLACE_COUNT];
  sim_time_ps next_ps, wrap_ps; /* a message to the next stage; from the last to the first (chunks) */
};
struct step_pipeline_stage {
  sim_time_ps work_ps, sends_ps, bubble_ps; /* exposed sends; they and the bubble add up with the work to the end */
  sim_time_ps hidden_ps; /* of the tails, which are not in work_ps where hidden */
  sim_time_ps exchanged_ps; /* end of the last tail */
  uint64_t passes[STEP_PLACE_COUNT][STEP_ROLE_COUNT];
  uint64_t sends;
  uint32_t in_flight; /* most micro-batches (times chunks) whose activations are held */
};
struct step_pipeline {
  sim_time_ps end_ps;
  struct step_pipeline_stage *stages; /* in the arena */
  struct step_pass *passes; /* stage after stage in their order; per stage `passes_per_stage` */
  uint64_t passes_per_stage;
};
/* Place of chunk `chunk` of stage `stage`. */
enum step_place step_place_of(const struct step_pipeline_input *input, uint32_t stage, uint32_t chunk);
/* STATUS_LIMIT beyond STEP_PASSES_MAX passes, STATUS_INPUT when the schedule would wait for itself; each with a
 * diagnostic. */
enum { STEP_PASSES_MAX = 1 << 22 };
enum status step_pipeline_run(const struct step_pipeline_input *input, struct arena *arena, struct diag_list *diags,
                              struct step_pipeline *pipeline);

/* ---- the run ---- */

struct step_runner {
  const struct step_program *program;
  const struct hw_slice *slice;
  const struct step_options *options;
  struct diag_list *diags;
  struct arena scratch;
  struct step_network network;
  struct step_lane lanes[STEP_PLACE_COUNT][STEP_ROLE_COUNT];
  uint32_t next_price, wrap_price; /* messages between stages; UINT32_MAX = none */
  struct step_pipeline pipeline;
  sim_time_ps hidden_ps; /* of the tails of the busiest stage's last backward passes */
  uint64_t passes[STEP_PLACE_COUNT][STEP_ROLE_COUNT]; /* of the busiest stage */
  double low_s, high_s; /* of its compute */
  struct step_result *result;
};

/* STATUS_INPUT (or LIMIT) with a diagnostic when the program cannot run on the slice. */
enum status step_check(const struct step_program *program, const struct hw_slice *slice, struct diag_list *diags);
/* The role whose function runs in a pass: without one for the last backward pass that of the others. */
static inline int step_stands_for(const struct step_program *program, int place, int role) {
  bool is_absent = role == STEP_BACKWARD_LAST && program->parts[place][role].graph == NULL;
  return is_absent ? STEP_BACKWARD : role;
}
/* Fills the result's spans. */
enum status step_put_spans(struct step_runner *runner);

/* ---- memory ---- */

void step_memory_of(const struct step_program *program, const struct step_network *network,
                    const struct step_pipeline *pipeline, uint64_t gathered_bytes, struct step_memory *memory);

#endif
