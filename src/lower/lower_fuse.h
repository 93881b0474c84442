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
  uint64_t read_mask; /* bit (tensor % 64) is set for every read: most questions "does it read that?" end there */
  uint32_t *members; /* tasks, ascending */
  uint32_t member_count;
  uint32_t member_capacity; /* 0: `members` is the node's entry of fuse_level.numbers and may not be written */
  uint32_t stamp; /* of its valid entry in the heap */
  uint32_t position; /* in fuse_level.order, once that exists */
  double work_s; /* arithmetic at the representative rates of the rules */
  double read_bytes, write_bytes;
  double time_s; /* of its kernel at those rates, launch included */
  double loop_elements; /* size of the loop: outputs; of a reduction its inputs */
  double output_elements;
  double reduced_elements; /* results of its reductions; 0 = it has none */
  uint8_t role; /* enum fuse_role */
  bool is_needed; /* an output of it has to exist in memory whoever fuses */
  bool is_pinned; /* never a producer to fuse: a storage it touches is written in place later, or it writes so */
  bool is_trivial; /* made from next to nothing (iota, broadcast scalar): copied into whoever can take it */
  bool is_expensive; /* not to be computed twice */
  bool writes_in_place;
};

/* A node that reads a tensor, in a list per tensor. Fusion adds entries and leaves old ones behind: an entry counts when
 * its node is alive. The only live node that stops reading a tensor somebody else still reads is one that took in a trivial
 * producer (fuse_priority.c); its entry is struck out. */
struct fuse_user {
  uint32_t node; /* FUSE_NONE: struck out */
  uint32_t next; /* index + 1 in fuse_level.users */
};

struct fuse_tensor {
  double size_bytes; /* of the graph's tensor, kept here because the rules ask all the time */
  uint32_t canonical;
  uint32_t owner; /* node that leaves it in memory; FUSE_NONE: input, constant */
  uint32_t first_user; /* index + 1 in users: nodes that read this canonical tensor */
  bool is_output; /* canonical: it or an alias of it leaves the graph */
};

struct fuse_rules;

/* What the limit on the operands of a kernel was asked: any other limit in this range would have got the same answers, and
 * so the same graph. */
struct fuse_operand_range {
  uint32_t most_accepted, least_refused;
};

/* One graph on its way: the outermost or the body of a loop or branch. */
struct fuse_level {
  const struct work_graph *graph;
  const struct fuse_rules *rules;
  struct fuse_operand_range *operand_range; /* of all levels */
  struct arena arena; /* nodes' arrays */
  struct fuse_node *nodes; /* per task */
  bool *is_alive; /* per task: is a node; beside them because lists of users ask nothing else */
  uint32_t *numbers; /* 0, 1, 2, ...: the members of nodes that have one */
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
  double max_row_elements; /* a row that stays on the core between two passes over it */
  bool repeats_broadcasts; /* a producer read through a broadcast is computed again for every element */
  /* May `producer` be computed inside `consumer`? That heroes and expensive producers are not repeated, and nothing fuses
   * with opaque nodes, is settled before. */
  bool (*can_fuse)(const struct fuse_level *level, const struct fuse_node *producer, const struct fuse_node *consumer);
  /* May the two be one kernel with the outputs of both? */
  bool (*can_join)(const struct fuse_node *a, const struct fuse_node *b);
  /* What the library calls take in, before anything else is fused; NULL = nothing. */
  void (*library_calls)(struct fuse_level *level);
};
/* The part of a tensor that is wanted when so many of its bytes are: an empty one is wanted as a whole. */
static inline double fuse_share(double wanted_bytes, double size_bytes) {
  return wanted_bytes < size_bytes ? wanted_bytes / size_bytes : 1;
}
/* Time of a kernel that moves so many bytes and computes so long. */
static inline double fuse_kernel_s(const struct fuse_rules *rules, double bytes, double work_s) {
  double memory_s = bytes / rules->memory_Bps;
  return rules->launch_s + (memory_s > work_s ? memory_s : work_s);
}
extern const struct fuse_rules fuse_rules_gpu;
/* TPU rules with room for `max_operands` streams in VMEM. */
extern const struct fuse_rules fuse_rules_tpu;

/* True when the result of a task took over the storage of an operand although it is written whole (donated arguments,
 * carried tensors): fusion goes before such sharing, which is given up where the new order breaks it. */
bool fuse_is_loose_alias(const struct work_task *task, const struct work_access *write);

enum status fuse_level_init(struct fuse_level *level, const struct work_graph *graph, const struct fuse_rules *rules,
                            struct fuse_operand_range *operand_range);
void fuse_level_release(struct fuse_level *level);

static inline struct fuse_node *fuse_level_node(const struct fuse_level *level, uint32_t node) {
  return &level->nodes[node];
}
const struct work_task *fuse_node_task(const struct fuse_level *level, const struct fuse_node *node);
static inline bool fuse_user_is_live(const struct fuse_level *level, const struct fuse_user *user) {
  return user->node != FUSE_NONE && level->is_alive[user->node];
}
/* The use of `tensor` in an ascending list, or NULL. */
static inline const struct fuse_use *fuse_use_find(const struct fuse_use *uses, uint32_t count, uint32_t tensor) {
  uint32_t low = 0;
  while (count > 1) {
    uint32_t half = count / 2;
    low = uses[low + half].tensor <= tensor ? low + half : low;
    count -= half;
  }
  return count == 1 && uses[low].tensor == tensor ? &uses[low] : NULL;
}
static inline const struct fuse_use *fuse_node_read(const struct fuse_node *node, uint32_t tensor) {
  bool may_read = (node->read_mask >> (tensor % 64) & 1) != 0;
  return may_read ? fuse_use_find(node->reads, node->read_count, tensor) : NULL;
}
static inline bool fuse_node_writes(const struct fuse_node *node, uint32_t tensor) {
  return node->write_count == 1 ? node->writes[0].tensor == tensor
                                : fuse_use_find(node->writes, node->write_count, tensor) != NULL;
}
/* May a kernel have so many operands and outputs? All questions about max_operands go through here. */
static inline bool fuse_has_room(const struct fuse_level *level, uint32_t operands) {
  struct fuse_operand_range *range = level->operand_range;
  if (operands > level->rules->max_operands) {
    range->least_refused = operands < range->least_refused ? operands : range->least_refused;
    return false;
  }
  range->most_accepted = operands > range->most_accepted ? operands : range->most_accepted;
  return true;
}
/* Writes the numbers of the live nodes that read one of the node's outputs to `found`, once each. Returns how many they
 * are; `limit` + 1 when there are more than `limit`. */
uint32_t fuse_node_users(struct fuse_level *level, const struct fuse_node *node, uint32_t *found, uint32_t limit);
/* Makes the members of `producer` members of `consumer`. The producer stays alive. */
void fuse_into(struct fuse_level *level, uint32_t producer, uint32_t consumer);
/* Takes a producer that nobody reads any more out. */
void fuse_retire(struct fuse_level *level, uint32_t producer);
/* Makes `other` part of `node`, keeping the outputs of both that are needed outside. */
void fuse_join(struct fuse_level *level, uint32_t node, uint32_t other);

void fuse_by_priority(struct fuse_level *level);
void fuse_multi_output(struct fuse_level *level);
/* For graphs that are made of the parts of another one. The same strings under the same numbers, so that labels and names
 * carry over; and all but tasks, stages and subgraphs, with tensors as they are before sealing. False: no memory. */
bool fuse_copy_strings(const struct intern *from, struct intern *to);
bool fuse_copy_arrays(const struct work_graph *from, struct work_graph *to);
/* Appends the fused tasks to `out`, whose strings hold those of the outermost graph under the same numbers. */
enum status fuse_emit(struct fuse_level *level, struct work_graph *out);

#endif
