/* One step of a distributed program on a slice of a cluster: compute and communication streams of a device, pipelines of
 * devices, and what the step costs.
 *
 * Path: work graphs of one device, timed by cost/ → step_graph_run (one graph on its streams; symmetric devices are one) →
 * step_run (micro-batches over pipeline stages) → step_result → report/, traces. Times inside are integer picoseconds.
 *
 * Model of a device: one compute stream in the order of the schedule, and communication streams on which collectives run one
 * after the other per stream. A collective starts when its operands are there and its stream is free; whoever reads its
 * result waits. Communication that runs beside compute slows both down as stated in step_contention. What a device does
 * while its compute stream waits is *exposed* communication, by kind; waiting for another stage is *bubble*.
 */
#ifndef RIDGELINE_CLUSTER_STEP_H
#define RIDGELINE_CLUSTER_STEP_H

#include "cluster/collective.h"
#include "sim/sim_events.h"
#include "work/work.h"
#include "work/work_result.h"

/* ---- the program ---- */

enum step_overlap {
  STEP_OVERLAP_NONE, /* collectives in the order of the program, compute waits */
  STEP_OVERLAP_AS_WRITTEN, /* only what start and done tasks of the program allow */
  STEP_OVERLAP_LATENCY_HIDING /* the compiler's scheduler moves starts up and waits down as far as dependencies allow */
};

/* What a function of the program is in the step. */
enum step_role {
  STEP_WHOLE, /* the whole step: a program with one function */
  STEP_FORWARD, /* one micro-batch */
  STEP_BACKWARD, /* one micro-batch, gradients added up */
  STEP_BACKWARD_LAST, /* the last micro-batch, with the exchange of gradients; absent: as BACKWARD */
  STEP_UPDATE, /* optimizer, with the gathering of parameters */
  STEP_ROLE_COUNT
};
enum step_place { STEP_ONLY, STEP_FIRST, STEP_MIDDLE, STEP_LAST, STEP_PLACE_COUNT }; /* of a chunk in the pipeline */

enum step_schedule { STEP_GPIPE, STEP_1F1B, STEP_INTERLEAVED };

struct step_part {
  const struct work_graph *graph; /* of one device, sealed; NULL = not there */
  const struct work_graph_result *times; /* parallel to it */
};

struct step_program {
  struct step_part parts[STEP_PLACE_COUNT][STEP_ROLE_COUNT];
  enum step_overlap overlap;
  enum step_schedule schedule;
  uint32_t stages; /* pipeline stages; 1 = none. Stage s has chunks s, s + stages, ... of stages x chunks */
  uint32_t chunks; /* per stage; 1 unless INTERLEAVED */
  uint32_t microbatches;
  uint64_t boundary_bytes; /* sent to the next chunk per micro-batch, and back as a gradient */
  bool waits_for_sends; /* point-to-point messages are part of the compute stream (no overlap) */
  /* devices of one stage are consecutive; stage s begins at s x devices_per_stage */
  uint64_t devices_per_stage;
  double tokens, samples; /* per step, all devices; 0 = not known */
  double model_flops; /* useful FLOPs of the step, all devices (6 N D and attention, no recomputation); 0 = unknown */
};

struct step_options {
  /* Spread of the devices' speeds: standard deviation of a device's compute time as a fraction; the slowest of the slice sets
   * the pace (expected maximum of n normals). 0 = all alike. */
  double straggler_sigma;
  bool keep_spans; /* for traces */
  double combine_all_reduce_bytes, combine_all_gather_bytes, combine_reduce_scatter_bytes; /* 0 = the target's */
};

/* ---- the result ---- */

struct step_span {
  sim_time_ps start_ps, end_ps;
  uint32_t task; /* of the part's graph; UINT32_MAX = waiting */
  uint32_t microbatch;
  uint16_t stage, chunk;
  uint8_t role, place; /* enum step_role, step_place */
  uint8_t stream; /* 0 = compute, 1.. = communication */
};

enum { STEP_COLLECTIVE_KINDS = WORK_SEND_RECV + 1 };

/* One line per different collective of the step: kind, size, groups. */
struct step_collective_row {
  enum work_collective_kind kind;
  uint32_t group_size;
  double bytes; /* full buffer, one execution */
  uint64_t count; /* executions per device and step */
  double time_s, exposed_s; /* of all of them */
  const char *algorithm, *protocol;
};

struct step_result {
  struct arena arena; /* owns all below */
  double time_s; /* of the step */
  double low_s, high_s; /* 90 % interval */
  /* of the busiest device (the stage that is longest at work); they add up to time_s */
  double compute_s, exposed_s, bubble_s, dispatch_s, straggler_s;
  double exposed_by_kind_s[STEP_COLLECTIVE_KINDS];
  double contention_s; /* part of compute_s and exposed_s: slowing down of one by the other */
  double communication_s; /* busy time of the communication streams, hidden or not */
  double sent_bytes[HW_DIMENSIONS_MAX]; /* per device */
  double hardware_flops; /* per device, recomputation included */
  double mfu, hfu; /* of the peak of the type that has most matrix FLOPs; NaN = unknown */
  double tokens_per_s, samples_per_s; /* all devices; NaN = unknown */
  double energy_J, price_usd; /* of the step, all devices; NaN = the cluster's file says nothing */
  /* memory of the fullest device */
  struct step_memory {
    double parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes, temporary_bytes, buffer_bytes,
        reserve_bytes;
    double total_bytes, capacity_bytes;
    bool fits;
  } memory;
  uint64_t devices;
  VEC(struct step_collective_row) collectives;
  VEC(struct step_span) spans; /* with keep_spans: one device of every stage */
  VEC(struct work_note) notes;
};
void step_result_init(struct step_result *result);
void step_result_release(struct step_result *result);

/* What communication beside compute costs, from the cluster's and chip's fields. */
struct step_contention {
  double
      compute_slowdown; /* compute runs at 1 / (1 + this) while a collective is in flight (cores taken by its kernels) */
  double memory_share; /* off-chip traffic of a collective per byte sent, for the sharing of bandwidth */
};

/* Runs the step. Groups of the parts' collectives are device numbers within a stage. Errors in the user's terms: groups that
 * do not cover the mesh, a slice that is too small, devices that stages do not divide. */
enum status step_run(const struct step_program *program, const struct hw_cluster *cluster, const struct hw_slice *slice,
                     const struct hw_chip *chip, const struct step_options *options, struct diag_list *diags,
                     struct step_result *result);

#endif
