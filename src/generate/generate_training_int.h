/* Training steps under construction; used by generate_training*.c only.
 *
 * A chunk of the pipeline is first a list of *nodes* (blocks of a layer: a norm, a linear layer, an exchange) over *slots*
 * (activations of one device). The same list is then walked forward, and backward for the gradients, into one function or
 * several. Which slots the backward pass reads is a fact of each kind of node; a slot that it reads is an argument of the
 * backward function, or is made again there when its node belongs to a region that is recomputed.
 *
 * Path: generate_training (checks, functions of the step) → _nodes (the list) → _walk (forward, backward, recomputation)
 * → _blocks, _attention, _experts, _loss (what each kind of node emits) → _kernels (composites) → _ops (operations);
 * _update: exchange of gradients and the optimizer.
 *
 * Rows of activations are tokens, position by position and then by sequence of the micro-batch, so that a cut of the rows is
 * a cut of the sequence. */
#ifndef RIDGELINE_GENERATE_GENERATE_TRAINING_INT_H
#define RIDGELINE_GENERATE_GENERATE_TRAINING_INT_H

#include "generate/generate_build.h"
#include "generate/generate_training.h"

/* Devices that exchange something. The order of axes is that of the mesh. */
enum training_group {
  TRAINING_TENSOR,
  TRAINING_CONTEXT,
  TRAINING_EXPERT, /* that have the experts of one copy of a layer between them */
  TRAINING_DATA, /* that have the same weights */
  TRAINING_SHARD, /* of those, that have one copy of sharded state between them */
  TRAINING_REPLICA, /* that have the same shard */
  TRAINING_EXPERT_DATA, /* the same three of weights of experts */
  TRAINING_EXPERT_SHARD,
  TRAINING_EXPERT_REPLICA,
  TRAINING_ALL, /* devices of a stage */
  TRAINING_GROUP_COUNT
};

enum training_place { TRAINING_ONLY, TRAINING_FIRST, TRAINING_MIDDLE, TRAINING_LAST };
enum training_role { TRAINING_WHOLE, TRAINING_FORWARD, TRAINING_BACKWARD, TRAINING_BACKWARD_LAST, TRAINING_UPDATE };

enum { TRAINING_NO_ARGUMENT = UINT32_MAX };

struct training_weight {
  char name[48]; /* without a prefix */
  struct generate_shape shape; /* on this device, before sharding over data ranks */
  uint32_t unit; /* what is gathered together: 0 = before the layers, then the layers, then the end */
  bool is_expert; /* other data ranks have other experts */
  bool is_cut; /* other tensor ranks have other parts */
  bool sums_over_tensor; /* each tensor rank has a part of the gradient's sum */
  bool is_product; /* quantised when products are */
  int32_t shard_axis; /* that is cut over the shard group; -1 = not cut */
  /* of the function under construction */
  uint32_t argument, scale_argument, gradient_argument, state_arguments[3];
  struct ir_value value; /* whole, in the compute type */
  struct ir_value quantised, scale;
  struct ir_value gradient; /* of this function so far, whole unless is_reduced */
  struct ir_value pending; /* future of the exchange */
  bool is_reduced;
};

struct training_slot {
  struct generate_shape shape;
  enum dtype dtype;
  uint32_t producer; /* node + 1; 0 = an input of the chunk */
  const char *input; /* name of an input argument (tokens, targets, positions, boundary) */
  bool is_saved;
  /* of the function under construction */
  uint32_t argument;
  struct ir_value value, gradient;
};

enum training_kind {
#define TRAINING_NODE(id, forward, backward, reads, writes, kept) TRAINING_NODE_##id,
#include "generate/generate_training_nodes.def"
#undef TRAINING_NODE
  TRAINING_KIND_COUNT
};

/* Weights that are gathered together are cut along one of three axes, and are of experts or not. */
enum { TRAINING_BUNDLES = 6 };
enum { TRAINING_INPUTS = 4, TRAINING_OUTPUTS = 3, TRAINING_WEIGHTS = 2 };

struct training_node {
  uint8_t kind; /* enum training_kind */
  uint32_t inputs[TRAINING_INPUTS], outputs[TRAINING_OUTPUTS]; /* slots */
  uint32_t input_count, output_count;
  uint32_t weights[TRAINING_WEIGHTS]; /* number + 1; 0 = none */
  uint32_t unit; /* as of weights */
  uint32_t region; /* recomputed as a whole before its backward pass; 0 = not */
  bool is_transposed; /* linear: the weight is [out, in] (the head that shares the embedding) */
};

struct training_region {
  bool is_gather; /* rows that are gathered again for those that read them, and no more */
  bool is_done; /* in the backward pass under construction */
};

/* One composite's function, for those who need the same again. */
struct training_decomposition {
  uint32_t kernel, type; /* enum training_kernel, id of the function type */
  int64_t numbers[4];
  uint32_t symbol; /* interned */
  struct ir_op function;
};

/* A product whose turn comes later: it fills the time of an exchange. */
struct training_deferred {
  uint32_t weight; /* number */
  struct ir_value x, y;
};

struct training {
  struct generate_builder b; /* the function under construction */
  struct generate_model model;
  struct generate_training p; /* no degree is 0 */
  enum training_place place;
  enum training_role role;
  bool has_roles; /* several functions, else one with the whole step */
  uint32_t layers; /* of the chunk */
  int64_t tokens; /* per micro-batch and context rank */
  int64_t rows; /* of those, on one tensor rank between the parallel parts */
  int64_t sent_rows; /* of those, that a tensor rank sends to the next stage */
  int64_t positions; /* tokens / micro-batch */
  struct training_axis {
    const char *name;
    uint32_t size, groups; /* bit g: of group g */
  } axes[5]; /* of the mesh, slowest first; those of size 1 are not in it */
  uint32_t axis_count;
  uint32_t group_size[TRAINING_GROUP_COUNT];
  struct ir_attr group_attr[TRAINING_GROUP_COUNT];
  VEC(struct training_weight) weights;
  VEC(struct training_slot) slots;
  VEC(struct training_node) nodes;
  VEC(struct training_decomposition) decompositions;
  VEC(struct training_deferred) deferred;
  uint32_t tokens_slot, targets_slot, positions_slot, key_positions_slot, seed_slot; /* number + 1 */
  uint32_t boundary_in, boundary_out, loss; /* slot + 1; 0 = none */
  uint32_t tied; /* the embedding's weight + 1 when the head shares it */
  VEC(struct training_region) regions; /* by number; 0 = what is not recomputed */
  uint32_t channel, step_argument;
  bool has_reduced; /* the update gets gradients that are exchanged already */
  uint32_t unit_ready, unit_coming; /* unit + 1 whose weights are gathered, and that is on its way */
  struct ir_value coming[TRAINING_BUNDLES];
  /* In the backward pass of a function that has the forward pass too: a gradient that has come so far. What is gathered or
   * computed once more waits for it, so that no compiler takes it for the same as before. */
  struct ir_value anchor;
  struct ir_value dvalues; /* of the attention whose backward pass is under way */
};

/* ---- operations (generate_training_ops.c) ---- */

struct training_exchange {
  enum ir_opcode opcode; /* ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL */
  enum training_group group;
  uint32_t axis; /* gathered, scattered, or cut by ALL_TO_ALL */
  uint32_t concatenated; /* ALL_TO_ALL */
  enum ir_opcode sum; /* ADD or MAXIMUM */
};
enum { TRAINING_EXCHANGED = 64 }; /* values in one exchange */

/* All values in one collective; results[i] = values[i] when the group is one device. */
void training_exchange(struct training *t, const struct training_exchange *e, const struct ir_value *values,
                       uint32_t count, struct ir_value *results);
/* Its start; the future, for training_wait. The group has at least two devices. */
struct ir_value training_exchange_start(struct training *t, const struct training_exchange *e,
                                        const struct ir_value *values, uint32_t count);
void training_exchange_done(struct training *t, struct ir_value future, uint32_t count, struct ir_value *results);
struct ir_value training_all_reduce(struct training *t, enum training_group group, struct ir_value x,
                                    enum ir_opcode sum);
struct ir_value training_all_gather(struct training *t, enum training_group group, struct ir_value x, uint32_t axis);
struct ir_value training_reduce_scatter(struct training *t, enum training_group group, struct ir_value x,
                                        uint32_t axis);
/* Number of this device in its group, i32. */
struct ir_value training_group_rank(struct training *t, enum training_group group);
/* x, which is there only when the anchor is; x when there is none. */
struct ir_value training_anchored(struct training *t, struct ir_value x);
/* values[0], which is there only when all are. */
struct ir_value training_after(struct training *t, const struct ir_value *values, uint32_t count);
/* Sum of the rows of y by their index in [0, rows), in y's type. */
struct ir_value training_scatter_add(struct generate_builder *b, struct ir_value indices, struct ir_value y,
                                     int64_t rows);
/* `count` of one axis from `start` on. */
struct ir_value training_dynamic_slice(struct generate_builder *b, struct ir_value x, struct ir_value start,
                                       uint32_t axis, int64_t count);
struct ir_value training_zeros(struct generate_builder *b, enum dtype dtype, struct generate_shape shape);
struct ir_value training_reduce_rows(struct generate_builder *b, struct ir_value x, enum dtype dtype);
struct ir_value training_select(struct generate_builder *b, struct ir_value predicate, struct ir_value x,
                                struct ir_value y);
struct generate_shape training_leading_axes(const struct generate_builder *b, struct ir_value x);

/* ---- kernels (generate_training_kernels.c) ---- */

enum training_kernel {
#define TRAINING_KERNEL(id, name, function, eager) TRAINING_KERNEL_##id,
#include "generate/generate_training_kernels.def"
#undef TRAINING_KERNEL
  TRAINING_KERNEL_COUNT
};
/* What a kernel computes, into `results`. `t` gives the model and sizes; operations go to b. */
typedef void (*training_kernel_function)(const struct training *t, struct generate_builder *b, const int64_t *numbers,
                                         const struct ir_value *operands, uint32_t count, struct ir_value *results);
/* One kernel of the framework: a composite, or its operations one by one. `numbers`: up to four that are part of its kind;
 * NULL = zeros. */
void training_kernel(struct training *t, enum training_kernel kernel, const int64_t *numbers,
                     const struct ir_value *operands, uint32_t count, struct ir_value *results, uint32_t result_count);
/* x, read and written `times` times over where plain PyTorch does so; x itself in other frameworks. */
struct ir_value training_eager_copy(struct training *t, struct ir_value x, uint32_t times);
#define TRAINING_KERNEL(id, name, function, eager)                                                                     \
  void function(const struct training *t, struct generate_builder *b, const int64_t *numbers,                          \
                const struct ir_value *operands, uint32_t count, struct ir_value *results);
#include "generate/generate_training_kernels.def"
#undef TRAINING_KERNEL

/* ---- nodes ---- */

struct training_kind_info {
  void (*forward)(struct training *t, const struct training_node *node);
  void (*backward)(struct training *t, const struct training_node *node); /* NULL: no gradient passes */
  uint32_t reads, writes; /* bit i: the backward pass reads input i, output i */
  bool is_kept; /* GENERATE_RECOMPUTE_CONTRACTIONS keeps its outputs */
};
const struct training_kind_info *training_kind_info(enum training_kind kind);
#define TRAINING_NODE(id, forward, backward, reads, writes, kept)                                                      \
  void forward(struct training *t, const struct training_node *node);                                                  \
  void backward(struct training *t, const struct training_node *node);
#include "generate/generate_training_nodes.def"
#undef TRAINING_NODE

/* The list of nodes, slots and weights of the chunk at t->place (generate_training_nodes.c). */
void training_list_nodes(struct training *t);

/* Values of slots for the code of nodes (generate_training_walk.c). */
struct ir_value training_input(const struct training *t, const struct training_node *node, uint32_t i);
struct ir_value training_output(const struct training *t, const struct training_node *node, uint32_t i);
void training_set(struct training *t, const struct training_node *node, uint32_t i, struct ir_value value);
/* Gradient of an output; id 0 = none arrived. */
struct ir_value training_gradient(const struct training *t, const struct training_node *node, uint32_t i);
/* Adds to the gradient of an input. */
void training_add_gradient(struct training *t, const struct training_node *node, uint32_t i, struct ir_value gradient);
/* The whole function: forward, backward, or both, by t->role. */
void training_walk(struct training *t);

/* Weights (generate_training_weights.c). `i`: of the node's weights. */
struct ir_value training_weight(struct training *t, const struct training_node *node, uint32_t i);
bool training_has_weight(const struct training_node *node, uint32_t i);
void training_quantised_weight(struct training *t, uint32_t weight, struct ir_value *value, struct ir_value *scale);
/* Adds to the gradient of a weight. */
void training_weight_gradient(struct training *t, uint32_t weight, struct ir_value gradient);
/* The product x^T y over rows, now or when an exchange can hide it. */
void training_weight_product(struct training *t, uint32_t weight, struct ir_value x, struct ir_value y);
void training_flush(struct training *t);
/* Makes the weights arguments, and forgets what they were in the function before. */
void training_declare_weights(struct training *t, bool with_values, bool with_gradients);
void training_enter_unit(struct training *t, uint32_t unit, int direction);
/* Starts (or does) the exchange of the unit's gradients, and waits for all. */
void training_reduce_unit(struct training *t, uint32_t unit);
void training_reduce_done(struct training *t);
bool training_is_reduced_each_pass(const struct training *t);
struct generate_shape training_shard_shape(const struct training *t, const struct training_weight *weight);
enum training_group training_weight_group(const struct training_weight *weight, enum training_group group);
/* This rank's part of a whole weight. */
struct ir_value training_own_shard(struct training *t, const struct training_weight *weight, struct ir_value whole);
/* The new weight, as functions take it, becomes a result. */
void training_return_weight(struct training *t, uint32_t weight, struct ir_value value);
bool training_is_sharded(const struct training *t, const struct training_weight *weight);

/* Optimizer (generate_training_update.c). */
void training_declare_optimizer(struct training *t);
void training_update(struct training *t);

#endif
