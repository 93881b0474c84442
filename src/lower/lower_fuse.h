/* What the files of target fusion share: the nodes that fusion works on, and the rules of a target.
 *
 * Path: unfused sealed graph → one level per (sub)graph (fuse_level.c) → producers into consumers, best first
 * (fuse_priority.c) → kernels of equal shape joined (fuse_multi.c) → new graph (fuse_emit.c). lower_fuse.c runs it.
 *
 * A node is a kernel to be: a set of tasks of the unfused graph. Tasks that only rename storage (reshape and the like) have
 * no node: tensors are known by their *canonical* tensor, the one behind such aliases, so that fusion looks through them.
 * A producer that joins several consumers is a member of each, so node sets overlap; inside one node a task occurs once.
 */
#ifndef RIDGELINE_LOWER_LOWER_FUSE_H
#define RIDGELINE_LOWER_LOWER_FUSE_H

#include "base/arena.h"
#include "base/vec.h"
#include "work/work.h"

enum { FUSE_NONE = UINT32_MAX };

/* What a node is to the rules: nothing that fuses, a loop over its outputs, or the hero that shapes the kernel. */
enum fuse_role {
  FUSE_OPAQUE,
  FUSE_LOOP,
  FUSE_REDUCE,
  FUSE_TRANSPOSE,
  FUSE_SCATTER,
  FUSE_UPDATE, /* dynamic_update_slice */
  FUSE_MATRIX /* dot, convolution */
};

/* A canonical tensor on the border of a node. */
struct fuse_use {
  uint32_t tensor;
  double bytes; /* touched, at most the tensor's size */
};

struct fuse_node {
  struct fuse_use *reads, *writes; /* ascending tensors */
  uint32_t read_count, write_count;
  uint32_t *members; /* tasks, ascending */
  uint32_t member_count;
  uint32_t stamp; /* of its valid entry in the heap */
  uint32_t position; /* in fuse_level.order, once that exists */
  double work_s; /* arithmetic at the representative rates of the rules */
  double read_bytes, write_bytes;
  double loop_elements; /* size of the loop: outputs; of a reduction its inputs */
  double output_elements;
  uint8_t role; /* enum fuse_role */
  bool is_alive;
  bool is_pinned; /* never a producer to fuse: a storage it touches is written in place later, or it writes so */
  bool is_trivial; /* made from next to nothing (iota, broadcast scalar): copied into whoever can take it */
  bool is_expensive; /* not to be computed twice */
  bool writes_in_place;
};

struct fuse_user {
  uint32_t node;
  uint32_t next; /* index + 1 in fuse_level.users */
};

struct fuse_tensor {
  uint32_t canonical;
  uint32_t owner; /* node that leaves it in memory; FUSE_NONE: input, constant */
  uint32_t first_user; /* index + 1 in users: nodes that read this canonical tensor; entries may be stale */
  bool is_output; /* canonical: it or an alias of it leaves the graph */
};

struct fuse_rules;

/* One graph on its way: the outermost or the body of a loop or branch. */
struct fuse_level {
  const struct work_graph *graph;
  const struct fuse_rules *rules;
  struct arena arena; /* nodes' arrays */
  struct fuse_node *nodes; /* per task */
  struct fuse_tensor *tensors; /* per tensor */
  bool *is_alias_task; /* per task: renames one storage; has no node */
  uint32_t *order; /* live nodes in a valid execution order (fuse_multi) */
  uint32_t order_count;
  VEC(struct fuse_user) users;
  uint32_t label_convert, label_add, label_maximum;
  bool out_of_memory;
};

/* A target's rules. Rates are those of a representative chip of the family, so that all chips with one lower_fusion_key
 * fuse alike; only ratios matter: what a launch costs in bytes, what arithmetic costs in bytes. */
struct fuse_rules {
  const char *name;
  uint8_t roles[WORK_KIND_COUNT]; /* enum fuse_role */
  double launch_s, memory_Bps;
  double vector_ops, function_adds_ops, integer_ops; /* per second */
  uint32_t max_operands; /* operands + outputs of one kernel */
  bool repeats_broadcasts; /* a producer read through a broadcast is computed again for every element */
  /* May `producer` be computed inside `consumer`? */
  bool (*can_fuse)(const struct fuse_level *level, const struct fuse_node *producer, const struct fuse_node *consumer,
                   uint32_t user_count);
  /* May the two be one kernel with the outputs of both? */
  bool (*can_join)(const struct fuse_node *a, const struct fuse_node *b);
  /* What the library calls take in, before anything else is fused; NULL = nothing. */
  void (*library_calls)(struct fuse_level *level);
};
extern const struct fuse_rules fuse_rules_gpu;
/* TPU rules with room for `max_operands` streams in VMEM. */
extern const struct fuse_rules fuse_rules_tpu;

/* True when the result of a task took over the storage of an operand although it is written whole (donated arguments,
 * carried tensors): fusion goes before such sharing, which is given up where the new order breaks it. */
bool fuse_is_loose_alias(const struct work_task *task, const struct work_access *write);

enum status fuse_level_init(struct fuse_level *level, const struct work_graph *graph, const struct fuse_rules *rules);
void fuse_level_release(struct fuse_level *level);

static inline struct fuse_node *fuse_level_node(const struct fuse_level *level, uint32_t node) {
  return &level->nodes[node];
}
const struct work_task *fuse_node_task(const struct fuse_level *level, const struct fuse_node *node);
/* The use of `tensor` in an ascending list, or NULL. */
const struct fuse_use *fuse_use_find(const struct fuse_use *uses, uint32_t count, uint32_t tensor);
/* Calls `visit` for every live node that reads one of the node's outputs, once each, until it returns false. Returns how
 * many were visited; `limit` + 1 when there are more than `limit`. Writes their numbers to `found`. */
uint32_t fuse_node_users(struct fuse_level *level, const struct fuse_node *node, uint32_t *found, uint32_t limit);
/* True when an output of the node has to exist in memory whoever fuses. */
bool fuse_node_is_needed(const struct fuse_level *level, const struct fuse_node *node);
/* Makes the members of `producer` members of `consumer`. The producer stays alive. */
void fuse_into(struct fuse_level *level, uint32_t producer, uint32_t consumer);
/* Takes a producer that nobody reads any more out. */
void fuse_retire(struct fuse_level *level, uint32_t producer);
/* Makes `other` part of `node`, keeping the outputs of both that are needed outside. */
void fuse_join(struct fuse_level *level, uint32_t node, uint32_t other);

void fuse_by_priority(struct fuse_level *level);
void fuse_multi_output(struct fuse_level *level);
/* Appends the fused tasks to `out`, whose strings hold those of the outermost graph under the same numbers. */
enum status fuse_emit(struct fuse_level *level, struct work_graph *out);

#endif
