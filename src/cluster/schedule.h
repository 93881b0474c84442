/* Message schedules of the collective algorithms, one file each (schedule_*.c), and what they are built with.
 *
 * The `schedule` column of struct collective_algorithm. Sizes that the ranks do not divide are rounded up per part, as
 * libraries pad them. Closed forms: docs/network-simulation.md. */
#ifndef RIDGELINE_CLUSTER_SCHEDULE_H
#define RIDGELINE_CLUSTER_SCHEDULE_H

#include "cluster/collective.h"
#include "cluster/collective_schedule.h"

typedef enum status collective_schedule_function(const struct hw_cluster *cluster, const struct hw_slice *slice,
                                                 const struct collective_request *request,
                                                 struct collective_schedule *schedule);

/* In the order of ranks; both ways round at once where the group is a closed ring of one dimension. */
collective_schedule_function schedule_ring;
/* Pipelined double binary tree (Sanders, Speck and Träff, Parallel Computing 35, 2009), all-reduce; broadcast and reduce. */
collective_schedule_function schedule_tree;
/* Recursive halving and doubling (Thakur, Rabenseifner and Gropp, IJHPCA 19, 2005); a power of two ranks. */
collective_schedule_function schedule_halving_doubling;
/* Everyone to everyone at once: reduce-scatter and all-gather (two-shot), all-to-all. */
collective_schedule_function schedule_direct;
/* Everyone sends all that it has to everyone: all-reduce in one step. */
collective_schedule_function schedule_one_shot;
/* In-network reduction: up to the switch, which adds, and down to everyone, in chunks. */
collective_schedule_function schedule_nvls;
/* Rings along the dimensions, one part per dimension with rotated order. */
collective_schedule_function schedule_torus;
/* Reduce-scatter from the innermost dimension out, all-gather back in. */
collective_schedule_function schedule_hierarchical;
/* All-to-all with one partner after the other. */
collective_schedule_function schedule_pairwise;
/* One message from each member of a pair to its other; a group of two. */
collective_schedule_function schedule_permute;

/* Of a row of collective_algorithms by name, or "pairwise". NULL when the algorithm is unknown or has no messages. */
collective_schedule_function *schedule_find(const char *name);

/* ---- building ---- */

/* Filling and draining a pipeline of depth d costs about d / chunks of its transfer time. */
enum {
  SCHEDULE_CHUNKS_MIN = 128,
  SCHEDULE_CHUNKS_PER_LEVEL = 32,
  SCHEDULE_CHUNKS_MAX = 4096,
  SCHEDULE_CHUNK_BYTES = 32 /* least of a chunk */
};

/* A new step at the end; messages are added to the last one. Never NULL: failure sets out_of_memory. */
struct collective_step *schedule_step(struct collective_schedule *schedule, enum collective_pattern pattern,
                                      uint32_t waits, uint32_t delivers);
void schedule_message(struct collective_schedule *schedule, uint32_t from, uint32_t to, uint64_t bytes);
/* The steps from `first` on `times` times in all, one after the other. */
void schedule_repeat(struct collective_schedule *schedule, size_t first, uint32_t times);
/* STATUS_MEMORY when something could not be added. */
enum status schedule_end(const struct collective_schedule *schedule);

/* Whether a collective adds (reduce-scatter, first half of all-reduce) and whether it spreads (all-gather, second half). */
bool schedule_reduces(enum work_collective_kind kind);
bool schedule_gathers(enum work_collective_kind kind);
/* A part of the request's bytes, rounded up. */
uint64_t schedule_part(const struct collective_request *request, uint64_t parts);
/* What the caller set, else 32 per level, a power of two within [128, 4096]; fewer where a chunk of one of `parts` parallel
 * parts would be below 32 bytes. */
uint32_t schedule_chunks(const struct collective_schedule *schedule, const struct collective_request *request,
                         uint32_t depth, uint32_t parts);

/* Dimensions that a group extends along, innermost first; ranks count through them in this order. */
struct schedule_axis {
  uint32_t dimension, block, stride; /* rank's coordinate: (rank / stride) mod block */
  bool is_ring; /* of neighbour links */
  bool is_closed;
  bool is_mesh; /* a link to everyone: one step in place of block - 1 */
};
uint32_t schedule_axes(const struct hw_cluster *cluster, const struct collective_request *request,
                       struct schedule_axis axes[HW_DIMENSIONS_MAX]);

/* Half an all-reduce along an axis: block - 1 steps, each with 1 / block of `bytes` to the next rank. Closed rings turn up on
 * even lanes and down on odd ones; on an open ring of neighbour links the parts travel both ways from where they are. In a mesh
 * everyone sends to everyone at once. */
struct schedule_phase {
  struct schedule_axis axis;
  uint32_t lane;
  uint32_t after, after_count; /* lanes that the first step waits for, at all ranks; 0 = its own */
  uint64_t bytes;
  bool is_reduce_scatter; /* else all-gather */
};
void schedule_ring_phase(struct collective_schedule *schedule, const struct schedule_phase *phase);

#endif
