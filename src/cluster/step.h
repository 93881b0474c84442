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
  STEP_OVERLAP_LATENCY_HIDING, /* the compiler's scheduler moves starts up and waits down as far as dependencies allow */
  /* XLA on GPUs unless its latency-hiding scheduler is asked for (gpu_hlo_schedule.cc): compute in the order that needs
   * least memory (step_lane_order.c); all collectives but all-gathers start as early and are awaited as late as that order allows, all-gathers block */
  STEP_OVERLAP_EARLY_LATE,
  STEP_OVERLAP_COUNT
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

/* What an argument of a function is, for the memory it takes. */
enum step_argument { STEP_DATA, STEP_PARAMETER, STEP_GRADIENT, STEP_OPTIMIZER, STEP_ARGUMENT_COUNT };

struct step_part {
  const struct work_graph *graph; /* of one device, sealed; NULL = not there */
  const struct work_graph_result *times; /* parallel to it */
  const uint8_t *arguments; /* per input of the graph: enum step_argument; NULL = not known */
  double low, high; /* ends of the 90 % interval of its time as factors; 0 = not known, taken as 1 */
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

/* Who prices collectives. */
struct step_pricing {
  void (*time)(void *context, const struct collective_request *request, struct collective_result *result);
  void *context;
};

struct step_options {
  const struct step_pricing *pricing; /* NULL = collective_time, the closed forms */
  /* Spread of the devices' speeds: standard deviation of a device's compute time as a fraction; the slowest of the slice sets
   * the pace (expected maximum of n normals). 0 = all alike. */
  double straggler_sigma;
  bool keep_spans; /* for traces */
};

/* ---- the result ---- */

struct step_span {
  sim_time_ps start_ps, end_ps;
  uint32_t task; /* of the part's outermost graph, a loop as a whole; UINT32_MAX = waiting */
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

/* What communication beside compute costs, from the cluster's and chip's fields (step_contention.def has the defaults). A
 * task that runs beside collectives takes max(its arithmetic / (1 - core_share), its off-chip time / (1 - their traffic as a
 * share of the bandwidth)), at least its own time. */
struct step_contention {
  double core_share; /* of the chip's cores that the kernels of a collective hold while it is in flight */
  double memory_bytes; /* off-chip traffic of a collective per byte that a device sends */
};
void step_contention_of(const struct hw_cluster *cluster, const struct hw_chip *device,
                        struct step_contention *contention);

/* A device of the cluster as a chip: rates and memories scaled by chip_share, latencies and shapes kept. */
void step_device_of(const struct hw_cluster *cluster, const struct hw_chip *chip, struct hw_chip *device);

/* Expected maximum of n normals in standard deviations (Blom 1958: quantile of (n - 0.375) / (n + 0.25)); 0 for n < 2. */
double step_slowest_of(uint64_t n);

/* Runs the step. `chip` is one device (step_device_of) and what the parts' times are of. Groups of the parts' collectives are
 * device numbers within a stage. Errors in the user's terms: groups that
 * do not cover the mesh, a slice that is too small, devices that stages do not divide. */
enum status step_run(const struct step_program *program, const struct hw_cluster *cluster, const struct hw_slice *slice,
                     const struct hw_chip *chip, const struct step_options *options, struct diag_list *diags,
                     struct step_result *result);

#endif
