/* Collective operations on a slice: which algorithm the library takes, how long it takes, and its messages.
 *
 * Path: work graph (kind, groups, bytes per rank) → group_shape_of (how a group lies in the slice) → collective_time (closed
 * forms, analytic) or collective_schedule → sim/ (event-driven). An algorithm is one row of collective_algorithms and one
 * file collective_<name>.c, which states its closed form with its source; the library's choice by size and topology is
 * collective_choose.c. Constants are rows of collective_constants.def: fields of the cluster's file, else defaults with a
 * source, fitted ones from measured tables (docs/collectives.md).
 *
 * `bytes` everywhere is the *full buffer* of one rank: all-reduce, permute, broadcast: what each rank holds; all-gather: the
 * result; reduce-scatter: the operand; all-to-all: the operand (as large as the result).
 */
#ifndef RIDGELINE_CLUSTER_COLLECTIVE_H
#define RIDGELINE_CLUSTER_COLLECTIVE_H

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cluster/collective_schedule.h"
#include "hw/hw_cluster.h"
#include "work/work.h"

/* ---- groups in a slice ---- */

/* How the groups of one collective lie in a slice. All groups run at the same time. */
struct group_shape {
  uint32_t size; /* members of the largest group */
  uint32_t count; /* groups */
  bool is_regular; /* each group is a box of the slice: the product of extents is `size` */
  /* per dimension of the cluster, for the largest group */
  uint32_t extent[HW_DIMENSIONS_MAX]; /* members along it: different coordinates that occur */
  uint32_t
      stride[HW_DIMENSIONS_MAX]; /* distance of neighbouring members along it; 1 = adjacent; rings of stride > 1 share
                                         links with their siblings */
  bool is_closed[HW_DIMENSIONS_MAX]; /* RING: the members go round a closed ring */
  uint32_t
      siblings[HW_DIMENSIONS_MAX]; /* other members of the same group on the inner dimensions below one position, which
                                           share or add up links into this dimension (rails): product of inner extents */
  /* groups of two, as pairs of source and target: pairs whose messages meet on the busiest link, on shortest ways */
  uint32_t sharing[HW_DIMENSIONS_MAX];
};
/* From explicit members, in time and memory linear in members and devices. STATUS_INPUT with a diagnostic when a member is
 * beyond the slice, occurs twice, or the groups leave out a device below the highest one. Groups of two may also be the pairs
 * of a permute: there a device may be a source and a target, and others neither. `label` names the operation in messages. */
enum status group_shape_of(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct work_groups *groups, const uint32_t *members, const char *label,
                           struct diag_list *diags, struct group_shape *shape);
/* A box without an explicit list: `size` consecutive devices with the given stride in device numbers (1 = innermost first),
 * repeated over the slice. What generators and closed-form tests use. */
void group_shape_strided(const struct hw_cluster *cluster, const struct hw_slice *slice, uint64_t size, uint64_t stride,
                         struct group_shape *shape);
/* True when the group goes along a dimension whose rings the slice is too small to close: there is no link from the last device
 * to the first, and what would go round runs as on a line. Two members have no use for it. */
static inline bool group_shape_is_open(const struct hw_cluster *cluster, const struct hw_slice *slice,
                                       const struct group_shape *shape, uint32_t d) {
  return cluster->dimensions[d].fabric == HW_FABRIC_RING && !slice->wraps[d] && shape->extent[d] > 2;
}

/* ---- constants ---- */

enum collective_constant {
#define COLLECTIVE_CONSTANT(id, key, unit, value, lower, upper, meaning) COLLECTIVE_##id,
#include "cluster/collective_constants.def"
#undef COLLECTIVE_CONSTANT
  COLLECTIVE_CONSTANT_COUNT
};
struct collective_constants {
  double values[COLLECTIVE_CONSTANT_COUNT];
};
/* From the cluster's fields, else the defaults of the table. */
void collective_constants_of(const struct hw_cluster *cluster, struct collective_constants *constants);

/* ---- time, analytic ---- */

struct collective_request {
  enum work_collective_kind kind;
  double bytes; /* full buffer of one rank, see above */
  struct group_shape shape;
  bool no_switch_sums; /* the operator or type is none that a switch adds (8-bit integers, products) */
  /* PERMUTE, SEND_RECV: the longest way of any pair, per dimension, in hops; and pairs that share its busiest link */
  uint32_t hops[HW_DIMENSIONS_MAX];
  uint32_t sharing[HW_DIMENSIONS_MAX];
};

struct collective_result {
  double time_s;
  const char *algorithm; /* "ring", "nvls", "tree", ...; static */
  const char *protocol; /* "simple", "ll", "ll128" or "" */
  double launch_s, latency_s, transfer_s; /* parts of time_s: kernel start, steps x hops, bytes */
  double sent_bytes[HW_DIMENSIONS_MAX]; /* by one rank into each dimension */
  uint32_t steps;
};

struct collective_algorithm {
  const char *name;
  const char *summary; /* with the source of the closed form */
  bool (*applies)(const struct hw_cluster *cluster, const struct hw_slice *slice,
                  const struct collective_request *request);
  void (*time)(const struct hw_cluster *cluster, const struct hw_slice *slice,
               const struct collective_constants *constants, const struct collective_request *request,
               struct collective_result *result);
  /* Its messages for one group, for the event-driven fidelity; NULL = has none. See collective_schedule.h. */
  enum status (*schedule)(const struct hw_cluster *cluster, const struct hw_slice *slice,
                          const struct collective_request *request, struct collective_schedule *schedule);
};
/* NULL-terminated. */
extern const struct collective_algorithm *const collective_algorithms[];
const struct collective_algorithm *collective_algorithm_find(const char *name);

/* The library's choice: of the algorithms that apply and that the library has, the one it takes at that size. Groups of one
 * rank take no time. Always finite. Pure; does not allocate. */
void collective_time(const struct hw_cluster *cluster, const struct hw_slice *slice,
                     const struct collective_constants *constants, const struct collective_request *request,
                     struct collective_result *result);
/* The request of a task of a work graph; `shape` was made of its groups. */
void collective_request_of(const struct work_collective *collective, const struct group_shape *shape,
                           struct collective_request *request);

#endif
