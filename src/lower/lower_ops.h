/* Inside of the lowering: the context, how a task is put together, and the functions that lower one operation each.
 *
 * A lowering function reads the shapes of its operation from the IR, opens a task with lower_begin, adds axes, operations,
 * reads and writes, and closes it with lower_end. Values of the IR map to tensors of the graph that is being built; a value
 * from outside a region becomes an input of the region's graph when it is first used there.
 */
#ifndef RIDGELINE_LOWER_LOWER_OPS_H
#define RIDGELINE_LOWER_LOWER_OPS_H

#include "analyze/analyze.h"
#include "lower/lower.h"

enum {
  LOWER_NONE = UINT32_MAX, /* no tensor: tokens, undefined values */
  LOWER_MAX_RANK = 64, /* larger ranks get E0005 */
  LOWER_MAX_NESTING = 128, /* regions inside regions, after inlining */
  LOWER_MAX_CALL_DEPTH = 64
};

/* What an IR value is in the graph of one scope. Tuples and futures are several leaves, tokens none. */
struct lower_slot {
  uint32_t scope; /* id of the scope whose graph holds the tensors; 0 = not defined */
  uint32_t count; /* leaves */
  uint32_t first; /* count 1: the tensor; else index into lower.leaves */
};

/* A result that may share the storage of an operand, decided when its graph is complete; see lower_storage.c. */
struct lower_update {
  uint32_t task;
  uint32_t operand, result; /* tensors */
  uint32_t border_read; /* LOOP: number of the operand in the task's border; else LOWER_NONE */
  bool body_overwrites; /* LOOP: the body writes into the storage that it gets */
};

/* A graph under construction. */
struct lower_scope {
  uint32_t id;
  struct lower_scope *parent;
  struct work_graph *graph;
  struct map captures; /* tensor of the parent's graph → input tensor here */
  VEC(uint32_t) captured; /* tensors of the parent's graph in the order of the inputs after the declared ones */
  VEC(struct lower_update) updates;
  struct map constants; /* constant op → its tensor: a function called twice has one copy of its constants */
  struct map groups; /* attribute and what its ids mean → groups of the graph; see lower_groups.c */
  struct map started; /* tensors that a collective under way writes */
};

struct lower_shape {
  enum dtype dtype;
  uint32_t rank;
  const int64_t *dims;
  uint64_t elements;
};

struct lower_mark {
  uint32_t read_serial, read_index; /* task serial that lists the tensor, and where in the border */
  uint32_t inner_serial; /* task serial one of whose stages wrote it */
  uint32_t hidden_serial; /* task serial that keeps it inside */
};

/* The task `task` shows the tensor `local` of one device as part of `global` or the other way round. */
struct lower_reshard {
  uint32_t task, global, local;
};

/* How much a piece of the program holds with its calls multiplied out; saturating. */
struct lower_size {
  uint64_t ops; /* everything that the lowering looks at */
  uint64_t tasks; /* at least this many tasks */
};

struct lower_opaque {
  uint32_t name; /* interned in the module */
  uint32_t offset; /* of its first use */
  uint64_t count;
};

struct lower {
  const struct ir_module *module;
  struct diag_list *diags;
  struct analyze_symbols symbols;
  struct analyze_trips trips; /* of the loops, by op: inlined copies ask again */
  struct lower_scope *scope; /* innermost */
  struct work_graph *graph; /* of that scope */
  struct lower_slot *slots; /* per IR value */
  uint8_t *live; /* per op: it has a use or an effect; the others leave no task */
  VEC(uint32_t) leaves;
  VEC(uint32_t) scratch; /* stack of operand leaves; users restore its count */
  uint32_t labels[IR_OP_COUNT]; /* interned in the graph; 0 = not yet */
  uint32_t last_scope;
  unsigned call_depth, max_call_depth, nesting;
  uint64_t task_count, max_tasks;
  uint64_t op_count; /* ops looked at and tuple elements in them, calls multiplied out; bounded by 4 x max_tasks */
  bool is_fusing; /* inside mhlo.fusion: stages are added, the task comes at its end */
  bool is_starting; /* inside an async_start */
  bool has_errors; /* a diagnostic was recorded; go on to find more */
  uint32_t silent_dynamic; /* first op that got no message because its operands are dynamic too; 0 = none */
  enum status status; /* not OK: stop */
  /* the task under construction */
  uint32_t serial;
  struct work_stage stage;
  struct ir_op op;
  VEC(struct work_axis) axes;
  VEC(struct work_op) ops;
  VEC(struct work_access) accesses; /* map_first: index into `maps`, valid when map_count > 0 */
  VEC(int16_t) maps;
  VEC(const int16_t *) map_pointers;
  VEC(struct work_access) border;
  VEC(struct lower_mark) marks; /* per tensor of any graph: serials tell graphs apart */
  VEC(uint32_t) hidden; /* tensors that stay inside the task */
  VEC(struct lower_reshard) reshards; /* of the outermost graph */
  struct map opaque_index, warned_loops;
  VEC(struct lower_opaque) opaques;
};

typedef void (*lower_function)(struct lower *lower, struct ir_op op);

/* Complex arithmetic: 4 real multiply-adds for one. */
static inline uint32_t lower_per_flop(enum dtype dtype) {
  return dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX ? 4 : 1;
}

/* ---- status ---- */
/* Records E0005 and stops. */
void lower_limit(struct lower *lower, struct ir_op op, const char *what);
void lower_memory(struct lower *lower);
static inline bool lower_stopped(const struct lower *lower) {
  return lower->status != STATUS_OK;
}

/* ---- attributes and shapes ---- */
static inline struct ir_value lower_in(const struct lower *lower, struct ir_op op, uint32_t i) {
  return ir_op_operand(lower->module, op, i);
}
static inline struct ir_value lower_out(const struct lower *lower, struct ir_op op, uint32_t i) {
  return ir_op_result(lower->module, op, i);
}
static inline uint32_t lower_in_count(const struct lower *lower, struct ir_op op) {
  return ir_op_get(lower->module, op)->operand_count;
}
static inline uint32_t lower_out_count(const struct lower *lower, struct ir_op op) {
  return ir_op_get(lower->module, op)->result_count;
}
/* Shape of a tensor or scalar; rank 0 and dtype NONE for anything else. */
struct lower_shape lower_shape_of(const struct lower *lower, struct ir_value value);
struct lower_shape lower_shape_of_type(const struct lower *lower, struct ir_type type);
/* Extent of dimension i, never negative; 1 outside the rank. */
uint64_t lower_dim(const struct lower_shape *shape, uint64_t i);
/* Integers of an attribute; `fallback` where it is absent or shorter. */
int64_t lower_int_at(const struct lower *lower, struct ir_attr attr, uint64_t i, int64_t fallback);
/* Value of an integer or bool attribute of the op. */
int64_t lower_int_attr(const struct lower *lower, struct ir_op op, const char *name, int64_t fallback);
/* True when the list attribute holds `value`. */
bool lower_list_has(const struct lower *lower, struct ir_attr list, int64_t value);
/* The type that a complex number consists of; other types unchanged. */
enum dtype lower_real_type(enum dtype dtype);

/* ---- values and tensors ---- */
/* The only tensor of operand i, brought into the current graph; LOWER_NONE when there is none. */
uint32_t lower_operand(struct lower *lower, struct ir_op op, uint32_t i);
/* Pushes all leaves of a value on lower->scratch; returns how many. */
uint32_t lower_push_leaves(struct lower *lower, struct ir_value value);
/* Defines a value as the given tensors of the current graph. */
void lower_define(struct lower *lower, struct ir_value value, const uint32_t *tensors, uint32_t count);
/* Defines every result of `op` as the same tensors as its operands, in order. */
void lower_forward(struct lower *lower, struct ir_op op);
/* New tensor of a value's type, defined as the value; of values with several leaves the first one. */
uint32_t lower_result(struct lower *lower, struct ir_op op, uint32_t i);
/* New tensors for all leaves of a value, which is defined as them; pushes them on lower->scratch; returns how many. */
uint32_t lower_new_leaves(struct lower *lower, struct ir_value value, enum work_tensor_role role);
/* New intermediate tensor of any shape, defined as nothing. */
uint32_t lower_tensor(struct lower *lower, enum dtype dtype, const int64_t *dims, uint32_t rank);
/* Number of tensors that a type consists of. */
uint32_t lower_leaf_count(const struct lower *lower, struct ir_type type);
/* Brings a tensor of the scope `home` into the current graph. */
uint32_t lower_capture(struct lower *lower, uint32_t home, uint32_t tensor);

/* ---- one task ---- */
void lower_begin(struct lower *lower, struct ir_op op, enum work_kind kind);
/* Returns the number of the axis. */
uint32_t lower_axis(struct lower *lower, enum work_axis_role role, uint64_t extent);
void lower_window(struct lower *lower, uint64_t extent, uint32_t partner, uint64_t hits);
/* One PARALLEL axis per dimension. */
void lower_axes_of(struct lower *lower, const struct lower_shape *shape);
/* `count` operations per application; equal sorts are added up. */
void lower_work(struct lower *lower, enum work_engine engine, enum dtype dtype, uint32_t count);
void lower_work_function(struct lower *lower, enum work_function function, enum dtype dtype, uint32_t count);
/* `axes`: axis per dimension of the tensor, or NULL. `touched` is cut to the tensor's size. All reads come before all writes.
 * LOWER_NONE is passed over. */
void lower_read(struct lower *lower, uint32_t tensor, const int16_t *axes, uint64_t touched, unsigned flags);
void lower_write(struct lower *lower, uint32_t tensor, const int16_t *axes, uint64_t touched, unsigned flags);
/* Whole tensor, dimension i on axis i when it has as many dimensions as `rank` (identity), else no map. */
void lower_read_all(struct lower *lower, uint32_t tensor, uint32_t rank);
void lower_write_all(struct lower *lower, uint32_t tensor, uint32_t rank);
/* axes[i] = i */
extern const int16_t lower_identity[LOWER_MAX_RANK];
/* Closes the stage; another one of the same task may follow. */
void lower_end_stage(struct lower *lower);
/* Closes the stage and the task (inside a fusion only the stage). Returns the task's index. */
uint32_t lower_end(struct lower *lower);
/* The same with the task's fields of control flow and collectives filled in. */
uint32_t lower_end_as(struct lower *lower, struct work_task *task);
/* A task of the stages that are already closed. */
uint32_t lower_end_stages(struct lower *lower, struct work_task *task);
/* A tensor written by a stage of this task that no one outside reads. */
void lower_hide(struct lower *lower, uint32_t tensor);
/* A loop or conditional: its border is what lower_read and lower_write named, duplicates kept. */
uint32_t lower_end_control(struct lower *lower, struct work_task *task);
/* The last task updates `operand`, in part or by permuting it; `result` may take its storage. */
void lower_note_update(struct lower *lower, uint32_t operand, uint32_t result);
/* A free task: result i shares the storage of operand i. */
void lower_alias(struct lower *lower, struct ir_op op, enum work_kind kind);
/* Appends the operations that one run of a region's block performs to the open stage. */
void lower_body_work(struct lower *lower, struct ir_region region);
/* Operations per element of an elementwise op; false when it is none. */
bool lower_elementwise_work(struct lower *lower, struct ir_op op);
/* The same by the row of another operation, for calls that stand for it. */
void lower_elementwise_work_as(struct lower *lower, struct ir_op op, enum ir_opcode row);

/* ---- what is used ---- */
/* Fills lower->live for everything that a run of `entry` reaches; false when memory is exhausted. */
bool lower_live_mark(struct lower *lower, struct ir_block entry);
/* Size of the used part of the inlined call tree; false when memory is exhausted. */
bool lower_live_size(struct lower *lower, struct ir_block entry, struct lower_size *size);
/* True when every operation of this kind becomes a task. */
bool lower_makes_task(enum ir_opcode opcode);

/* ---- programs for several devices ---- */
/* Says in the graph for how many devices the program is written, and as W0406 where its text has sizes of the whole. */
void lower_partitions(struct lower *lower, struct ir_op entry);
/* The last task shows `local` as part of `global`, or the other way round. */
void lower_note_reshard(struct lower *lower, uint32_t global, uint32_t local);
/* Tensors that are only seen through their shards get the size of a shard. */
void lower_local_sizes(struct lower *lower);

/* ---- kernels that come as one ---- */

/* Softmax attention without scores in memory. */
struct lower_attention {
  uint64_t batch, heads, kv_heads, queries, keys, depth, value_depth; /* kv_heads 0: as many as heads */
  uint64_t pairs; /* of a query and a key that it sees, of one head */
};
/* A task of two products and a softmax that reads the operands of `op` and writes its results; `dtype`: of the products. */
void lower_attention(struct lower *lower, struct ir_op op, const struct lower_attention *a, enum dtype dtype,
                     bool is_backward);
/* The task of the stages since the last one, whatever they are: only operands and results of `op` are in memory. */
void lower_close_fusion(struct lower *lower, struct ir_op op);
/* What a fused kernel may hold. */
bool lower_fusion_is_simple(const struct lower *lower, struct ir_block block);
/* Composites "kernel.*": one kernel each. False when the composite is none or cannot be one. */
bool lower_kernel(struct lower *lower, struct ir_op op, struct ir_op decomposition);

/* ---- scopes and regions ---- */
bool lower_scope_enter(struct lower *lower, struct lower_scope *scope);
/* Leaves and releases the scope's bookkeeping; its graph is the caller's. */
void lower_scope_leave(struct lower *lower, struct lower_scope *scope);
/* Lowers the ops of a block up to its terminator. */
void lower_block(struct lower *lower, struct ir_block block);
/* Lowers a region inline: block arguments are the leaves on scratch from `base` on, results of `op` become what the
 * terminator returns. */
void lower_inline(struct lower *lower, struct ir_op op, struct ir_block block, uint32_t first_operand);
void lower_call(struct lower *lower, struct ir_op op, struct ir_op callee);

/* ---- storage, when a graph is complete ---- */
/* `overwritten`: per input of the graph, set when the graph writes into its storage; may be NULL. `reusable`: per input,
 * whether it may; NULL: donated inputs. */
void lower_storage_updates(struct lower *lower, struct lower_scope *scope, const bool *reusable, bool *overwritten);
/* A task at the end of the graph that copies a tensor; returns the copy. */
uint32_t lower_storage_copy(struct lower *lower, struct work_graph *graph, uint32_t tensor);
/* Lets the tensors of `pairs` (input, output) share storage where the lifetime of the input allows it. */
void lower_storage_pairs(struct lower *lower, struct work_graph *graph, const struct work_carried *pairs, size_t count,
                         uint64_t min_bytes, bool *overwritten);

/* ---- lowering functions, by family; lower_rules.def says which operation takes which ---- */
void lower_elementwise(struct lower *lower, struct ir_op op);
void lower_opaque_op(struct lower *lower, struct ir_op op);
void lower_opaque_as(struct lower *lower, struct ir_op op, uint32_t module_name);
void lower_ragged_all_to_all(struct lower *lower, struct ir_op op);
#define LOWER_RULE(id, function) void function(struct lower *lower, struct ir_op op);
#include "lower/lower_rules.def"
#undef LOWER_RULE

#endif
