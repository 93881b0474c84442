/* Inside plan_program_read: values, views, nodes and clusters. Private to plan_read*.c, plan_views*.c and plan_fuse*.c.
 *
 *   work graph ─► nodes (one per computing stage, axes and strides of every access) ─► clusters (fusion) ─► plan_program
 *
 * A value is a dense array that lies in memory or that a node leaves on the chip. A tensor of the work graph is a view of
 * a value: per dimension a list of atoms (extent, stride into the value; stride 0 repeats). Reshapes, broadcasts,
 * transpositions and conversions compose views and leave no node.
 */
#ifndef RIDGELINE_PLAN_PLAN_READ_H
#define RIDGELINE_PLAN_PLAN_READ_H

#include "base/map.h"
#include "plan/plan_program.h"

enum { READ_AXES_MAX = 24, READ_RANK_MAX = 64 };

enum read_place {
  READ_IMMEDIATE, /* constants of one element, iota, scalars that are computed from them: no tensor of any operator */
  READ_MEMORY,
  READ_CHIP
};

struct read_value {
  uint8_t place; /* enum read_place */
  uint16_t bits; /* of one element as made or stored */
  uint16_t read_bits; /* widest type that it is read as; a value that is only read narrower is left narrower */
  uint32_t node; /* CHIP: index + 1 of the node that makes it */
  uint32_t name; /* in the program's strings */
  uint32_t readers; /* accesses of nodes */
  uint64_t elements;
  uint64_t written_bytes; /* to memory, by the node that makes it */
};

struct read_atom {
  uint64_t extent; /* more than 1 */
  uint64_t stride; /* elements of the value; 0 = repeated */
  uint32_t dim; /* of the view */
};

enum read_view_flag {
  READ_PARTIAL = 1 << 0, /* some dimension is cut: strides and offsets along it are not known */
  READ_OPAQUE = 1 << 1, /* strides mean nothing but that they are 0 or not */
  READ_MOVED = 1 << 2 /* not the row-major order of the value */
};

struct read_view {
  uint32_t value;
  uint32_t atom_first, atom_count; /* by dimension, the outer atom of a dimension first */
  uint8_t flags; /* enum read_view_flag */
};

/* One access of a node. A stride of 0 means that the axis is not in the access's mask. */
struct read_access {
  uint32_t value, view;
  uint32_t stride_first; /* one per axis of the node, in strides[] */
  uint32_t mask; /* axes of the node */
  uint8_t flags; /* enum read_view_flag */
  uint16_t bits; /* as read */
  uint64_t memory_bytes;
};

struct read_node {
  uint32_t task, label; /* of the work graph; label in the program's strings */
  uint8_t kind; /* enum plan_stage_kind */
  uint8_t axis_count;
  uint16_t result_bits, operations;
  uint32_t reduced; /* axes */
  uint32_t extent_first; /* in extents[] */
  uint32_t access_first, access_count; /* reads, then the one write; MATRIX: left, right, write */
};

struct reader {
  struct plan_program *program;
  const struct plan_read_options *options;
  struct diag_list *diags;
  uint32_t max_operators;
  uint64_t visited; /* tasks, loops multiplied out */
  uint32_t moves_in_place; /* slices, transpositions, copies of values on the chip that left no node */
  bool out_of_memory, is_refused;
  VEC(struct read_value) values; /* [0] stands for all immediate ones */
  VEC(struct read_view) views; /* [0] likewise */
  VEC(struct read_atom) atoms;
  VEC(struct read_node) nodes;
  VEC(struct read_access) accesses;
  VEC(uint64_t) extents;
  VEC(uint64_t) strides;
};

/* A work graph while it is walked; `bound` is the view of each tensor, 0 = none yet or immediate. */
struct read_scope {
  const struct work_graph *graph;
  uint32_t *bound;
  bool *is_bound;
  uint32_t convert_label; /* in graph->strings; 0 = no conversions */
  bool is_repeated; /* an iteration after the first: messages have been given */
};

static inline struct read_value *read_value_of(const struct reader *reader, uint32_t view) {
  return &reader->values.data[reader->views.data[view].value];
}

/* ---- plan_views.c: composing views; 0 when memory is exhausted (and out_of_memory set) ---- */

uint32_t read_view_dense(struct reader *reader, uint32_t value, const int64_t *dims, uint32_t rank);
uint32_t read_view_reshape(struct reader *reader, uint32_t view, const int64_t *dims, uint32_t rank);
/* The result of a stage that only moves elements: its dimension j runs along axis write_map[j], the operand's dimension d
 * along read_map[d]. An operand dimension without axis is repeated (1 element) or cut; axes no dimension runs along repeat. */
uint32_t read_view_through(struct reader *reader, uint32_t view, const int64_t *in_dims, const int16_t *read_map,
                           uint32_t in_rank, const int64_t *out_dims, const int16_t *write_map, uint32_t out_rank);
/* Distinct elements of the value that the view reaches. */
uint64_t read_view_elements(const struct reader *reader, uint32_t view);
/* Atoms of one dimension, adjacent ones joined where their strides allow; outer first. Returns their number. */
uint32_t read_view_dim(const struct reader *reader, uint32_t view, uint32_t dim, struct read_atom *atoms,
                       uint32_t room);

/* ---- plan_read_nodes.c ---- */

uint32_t read_value_add(struct reader *reader, const struct read_value *value);
/* A node for one stage of a task, and its value bound to the tensors that the stage writes (not those of an update in
 * part: what is updated lies in memory). Operands are bound. False: refused, with E0801, or memory. */
bool read_node_add(struct reader *reader, struct read_scope *scope, uint32_t task, const struct work_stage *stage,
                   enum plan_stage_kind kind);
void read_refuse(struct reader *reader, const struct read_scope *scope, uint32_t task, const char *reason);

/* ---- plan_read_emit.c: operators from nodes ---- */

enum { CLUSTER_AXES_MAX = 32, CLUSTER_PIECES_MAX = 6 };

/* Nodes that become one operator, and the axes they share. */
struct read_member {
  uint32_t node;
  uint8_t pieces[READ_AXES_MAX][CLUSTER_PIECES_MAX]; /* per axis of the node the axes of the cluster, outer first */
  uint8_t piece_count[READ_AXES_MAX];
};
struct read_cluster {
  uint32_t axis_count;
  uint64_t extents[CLUSTER_AXES_MAX]; /* 0 = no longer used */
  uint32_t member_count;
  struct read_member members[PLAN_STAGES_MAX];
};

void read_cluster_init(const struct reader *reader, uint32_t node, struct read_cluster *cluster);
/* Axes of the cluster behind a mask of axes of one member. */
uint32_t read_cluster_mask(const struct read_member *member, uint32_t node_mask);

/* An operator under construction. */
struct read_operator {
  struct plan_operator op;
  struct plan_tensor tensors[PLAN_TENSORS_MAX];
  uint32_t values[PLAN_TENSORS_MAX]; /* of each tensor, for the producers */
  struct plan_stage stages[PLAN_STAGES_MAX];
  uint8_t members[PLAN_STAGES_MAX]; /* of each stage: of the cluster */
  uint32_t scales; /* members that scale an operand of the product and come after it instead, one bit each */
};
/* NULL, or why the cluster is no operator: too many axes or tensors, two values that leave it. */
const char *read_cluster_operator(const struct reader *reader, const struct read_cluster *cluster,
                                  struct read_operator *out);
/* All nodes to operators: one each, or one per cluster, at the place of its last member. `cluster_of` per node, or NULL. */
enum status read_emit(struct reader *reader, struct read_scope *scope, struct read_cluster *const *cluster_of);

#endif
