/* The work graph: the narrow waist between programs and everything that predicts, plans or simulates.
 *
 * A graph is a list of tasks in a valid execution order plus the tensors they read and write. Lowering makes one task per
 * operation; fusion makes one task of several; so a task is a list of *stages* (single computations) with the tensors
 * that cross its border. A stage says what it iterates over (axes with roles), how each operand is addressed from those
 * axes, and which operations one application performs. Nothing here knows the IR: `kernel` is an opaque id.
 *
 *   work_graph ─ tasks[] ── stages[] ── axes[], ops[], accesses[] ── tensors[]
 *                  └ loop, conditional: subgraphs[]
 *
 * The demand of a task (FLOPs by engine and type, bytes, launches) follows from these by work_demand_of, and nowhere
 * else: that is the `true` count. Counts are 64-bit integers and saturate; they are never floats.
 */
#ifndef RIDGELINE_WORK_WORK_H
#define RIDGELINE_WORK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/intern.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum work_kind {
#define WORK_KIND(id, name, cls, fusible, free) WORK_##id,
#include "work/work_kinds.def"
#undef WORK_KIND
  WORK_KIND_COUNT
};

enum work_class {
  WORK_CLASS_MATRIX,
  WORK_CLASS_CONVOLUTION,
  WORK_CLASS_ELEMENTWISE,
  WORK_CLASS_REDUCTION,
  WORK_CLASS_MOVEMENT,
  WORK_CLASS_INDEXED,
  WORK_CLASS_SORT,
  WORK_CLASS_LINEAR_ALGEBRA,
  WORK_CLASS_RANDOM,
  WORK_CLASS_COLLECTIVE,
  WORK_CLASS_HOST,
  WORK_CLASS_CONTROL,
  WORK_CLASS_CUSTOM,
  WORK_CLASS_FREE,
  WORK_CLASS_COUNT
};

struct work_kind_info {
  const char *name;
  enum work_class class_of;
  bool is_fusible, is_free;
};
const struct work_kind_info *work_kind_info(enum work_kind kind);
const char *work_class_name(enum work_class class_of);

/* Which unit an operation runs on. INTEGER counts integer and logic operations, VECTOR floating ones. */
enum work_engine {
  WORK_ENGINE_MATRIX,
  WORK_ENGINE_VECTOR,
  WORK_ENGINE_FUNCTION,
  WORK_ENGINE_INTEGER,
  WORK_ENGINE_COUNT
};
const char *work_engine_name(enum work_engine engine);

/* Special functions, in the order of hw.h's enum hw_function (a static assertion in work.c ties them). */
enum work_function {
  WORK_FUNCTION_EXP,
  WORK_FUNCTION_LOG,
  WORK_FUNCTION_RSQRT,
  WORK_FUNCTION_TANH,
  WORK_FUNCTION_SIN,
  WORK_FUNCTION_DIVIDE,
  WORK_FUNCTION_POWER,
  WORK_FUNCTION_ERF,
  WORK_FUNCTION_OTHER,
  WORK_FUNCTION_NONE
};

enum work_precision { WORK_PRECISION_DEFAULT, WORK_PRECISION_HIGH, WORK_PRECISION_HIGHEST };

enum work_axis_role {
  WORK_AXIS_BATCH, /* in all operands and the result of a contraction */
  WORK_AXIS_ROW, /* free axis of the left operand (M) */
  WORK_AXIS_COLUMN, /* free axis of the right operand (N) */
  WORK_AXIS_PARALLEL, /* any other axis of the result */
  WORK_AXIS_REDUCTION, /* summed away (K, or a reduced dimension) */
  WORK_AXIS_WINDOW /* kernel position; its partner is the output axis that it slides along */
};

struct work_axis {
  int64_t extent;
  uint8_t role; /* enum work_axis_role */
  uint8_t partner; /* WINDOW: number within the stage of its output axis */
  uint64_t hits; /* WINDOW: (output, window) pairs that meet real data; replaces extent x extent(partner) */
};

/* `count` operations of one sort per application of the stage's body. */
struct work_op {
  uint8_t engine; /* enum work_engine */
  uint8_t dtype; /* enum dtype of the operands computed on */
  uint8_t function; /* enum work_function; NONE unless engine is FUNCTION */
  uint32_t count;
};

enum work_access_flag {
  WORK_ACCESS_WRITE = 1 << 0,
  WORK_ACCESS_PARTIAL = 1 << 1, /* touched_elements < the tensor's (slices, gathers, in-place updates) */
  WORK_ACCESS_IN_PLACE = 1 << 2, /* write into the storage of an operand */
  WORK_ACCESS_INDEXED = 1 << 3 /* addressed by data (gather, scatter) */
};

struct work_access {
  uint32_t tensor;
  uint32_t map_first; /* per tensor dimension the axis of the stage that runs along it, -1 = not one axis; in maps[] */
  uint8_t map_count; /* the tensor's rank, or 0 when the map is not known (task borders) */
  uint8_t flags; /* enum work_access_flag */
  uint64_t touched_elements; /* distinct elements */
  uint64_t
      reuse_bytes; /* task borders, after sealing: bytes that other accesses touched since this tensor's storage was
                                last touched as a whole; UINT64_MAX = not before */
};

struct work_stage {
  uint8_t kind; /* enum work_kind */
  uint8_t dtype; /* of the result (first one) */
  uint8_t precision; /* enum work_precision, contractions */
  uint16_t read_count; /* leading accesses that read; the rest write */
  uint32_t axis_first, axis_count;
  uint32_t op_first, op_count;
  uint32_t access_first, access_count;
  uint64_t applications; /* how often the body runs; 0 = derive from the axes (work_stage_applications) */
  uint32_t kernel; /* opaque id of the computation for interp; 0 = none */
  uint32_t label; /* interned name of the operation ("dot_general"; custom call target) */
  uint32_t source_offset;
};

enum work_collective_kind {
  WORK_ALL_REDUCE,
  WORK_ALL_GATHER,
  WORK_REDUCE_SCATTER,
  WORK_ALL_TO_ALL,
  WORK_PERMUTE,
  WORK_COLLECTIVE_BROADCAST,
  WORK_COLLECTIVE_REDUCE,
  WORK_SEND_RECV
};
const char *work_collective_name(enum work_collective_kind kind);

/* Which devices exchange data, by device number (the program's flattened ids: replica x partitions + partition).
 * `members` of the graph from member_first on holds `count` groups of `size` each, short ones filled up with UINT32_MAX;
 * for PERMUTE and SEND_RECV `count` pairs of source and target (size 2). Equal lists are stored once (work_groups_add). */
struct work_groups {
  uint32_t count;
  uint32_t size; /* ranks per group (largest); 0 = all devices, number unknown; then there are no members */
  uint32_t member_first, member_count;
};

/* How all_reduce, reduce_scatter and collective_reduce join elements; OTHER also for bodies of several operations. */
enum work_reduction {
  WORK_REDUCTION_NONE,
  WORK_REDUCTION_ADD,
  WORK_REDUCTION_MULTIPLY,
  WORK_REDUCTION_MAXIMUM,
  WORK_REDUCTION_MINIMUM,
  WORK_REDUCTION_AND,
  WORK_REDUCTION_OR,
  WORK_REDUCTION_OTHER
};

enum work_collective_flag {
  /* The task starts the exchange and a later WORK_COLLECTIVE_DONE task waits for it, as the program is written */
  WORK_COLLECTIVE_ASYNC = 1 << 0,
  WORK_COLLECTIVE_SENDS = 1 << 1, /* SEND_RECV: this side sends; else it receives */
};

struct work_collective {
  uint8_t kind; /* enum work_collective_kind */
  uint8_t flags; /* enum work_collective_flag */
  uint8_t reduction; /* enum work_reduction */
  uint32_t group_count;
  uint32_t group_size; /* ranks per group (largest); 0 = all devices, number unknown */
  uint32_t groups; /* index + 1 into the graph's groups[]; 0 = not known beyond count and size */
  uint64_t bytes_per_rank; /* full buffer of one rank: the larger of input and output */
  uint64_t input_bytes, output_bytes; /* of one rank */
  uint64_t channel; /* the program's channel id; 0 = none */
};

enum work_task_flag {
  WORK_TASK_PREFUSED = 1 << 0, /* came fused in the input; not to be fused further or split */
  WORK_TASK_TRIP_UNKNOWN = 1 << 1, /* loop: one iteration assumed */
  WORK_TASK_OPAQUE = 1 << 2 /* work unknown: not in any sum, listed */
};

struct work_task {
  uint8_t kind; /* enum work_kind of the hero stage */
  uint8_t flags; /* enum work_task_flag */
  uint16_t read_count; /* leading border accesses that read */
  uint32_t stage_first, stage_count; /* 0 stages for loops and conditionals */
  uint32_t access_first, access_count; /* border: tensors in off-chip memory that it reads, then writes */
  uint32_t dependency_first, dependency_count; /* earlier tasks, ascending; in dependencies[] (sealing fills) */
  /* LOOP: body (condition included); CONDITIONAL: branches. Border read i is input i of every subgraph, border write i is
   * output i (so the borders of these two kinds may name a tensor twice); a conditional's read 0 is its selector. */
  uint32_t subgraph_first, subgraph_count;
  uint64_t trip_count; /* LOOP */
  uint32_t collective; /* index + 1 into collectives[]; 0 = none */
  uint32_t demand_first, demand_count; /* entries in demands[] (sealing fills) */
  uint64_t read_bytes, write_bytes; /* sealing fills */
  uint32_t alike; /* number of the task's sort, see WORK_ALIKE_FAR_BYTES; sealing fills */
  uint32_t label;
  uint32_t source_offset;
};

enum work_tensor_role { WORK_TENSOR_INPUT, WORK_TENSOR_CONSTANT, WORK_TENSOR_INTERMEDIATE };

struct work_tensor {
  uint8_t dtype;
  uint8_t rank;
  uint8_t role; /* enum work_tensor_role */
  bool is_output; /* leaves the graph */
  bool is_donated; /* INPUT whose storage may be reused */
  bool is_materialised; /* lives in off-chip memory (sealing fills: some task border has it) */
  uint32_t dims_first;
  uint64_t element_count;
  uint64_t size_bytes;
  uint32_t alias_of; /* tensor + 1 whose storage this one shares (reshape, in-place update, tuple element); 0 = own */
  uint32_t producer; /* task + 1; 0 = input or constant */
  uint32_t name; /* interned: "arg0", "%12" */
};

/* One line of a task's demand: operations of one sort. */
struct work_demand_entry {
  uint8_t engine, dtype, function, precision;
  uint64_t ops; /* FLOPs (multiply-add = 2), results of special functions, or integer operations */
};

/* A pair of tensors of a loop body: what iteration i leaves in `out` is `in` of iteration i + 1. */
struct work_carried {
  uint32_t in, out;
};

/* Peak of live bytes in execution order: inputs and constants all along (a donated input until its last use or shared with
 * the output that takes its storage), each materialised intermediate from its task to its last use, outputs to the end;
 * a loop or branch adds the peak of its own intermediates. */
struct work_memory {
  uint64_t peak_bytes;
  uint64_t argument_bytes, output_bytes, constant_bytes, temporary_peak_bytes;
  uint32_t peak_task; /* at which task of the outermost graph */
};

/* Tasks of one graph with the same `alike` look the same to a cost model: equal kind, flags, demand and border (types,
 * sizes, bytes, reuse distances), and for those with matrix operations equal axes and operations of these stages. Layers
 * repeat, so most tasks need not be estimated. Reuse distances from here on count as equal: a model of a chip that keeps
 * more than this on chip has to look at every task. Sorts are numbered from 0 in the order of their first task. */
#define WORK_ALIKE_FAR_BYTES ((uint64_t)1 << 30)

struct work_graph {
  struct arena *arena; /* shared by all subgraphs; owned by the outermost graph */
  struct intern *strings; /* likewise */
  bool is_outermost;
  bool out_of_memory;
  uint32_t stages_in_tasks; /* building: stages before this one belong to tasks */
  VEC(struct work_task) tasks;
  VEC(struct work_stage) stages;
  VEC(struct work_axis) axes;
  VEC(struct work_op) ops;
  VEC(struct work_access) accesses;
  VEC(int16_t) maps;
  VEC(struct work_tensor) tensors;
  VEC(int64_t) dims;
  VEC(uint32_t) dependencies;
  VEC(struct work_demand_entry) demands;
  VEC(struct work_collective) collectives;
  VEC(struct work_groups) groups;
  VEC(uint32_t) members;
  VEC(struct work_graph *) subgraphs; /* owned */
  VEC(uint32_t) inputs; /* tensors, in the order of the program's arguments */
  VEC(uint32_t) outputs;
  VEC(struct work_carried) carried; /* loop bodies */
  uint32_t partitions; /* devices that the program is written for; 0 = one, or not stated */
  bool is_partitioned; /* what is here is the part of one of them; else the whole program */
  uint32_t alike_count; /* sorts of tasks; 0 = not sealed; sealing fills */
  struct work_memory memory; /* outermost graph: what work_graph_memory says; sealing fills */
};

struct work_graph *work_graph_new(void); /* outermost */
struct work_graph *work_graph_new_inside(struct work_graph *parent); /* shares arena and strings; not yet attached */
void work_graph_free(struct work_graph *graph);

/* Building. Each returns the index of the new entry; failure sets out_of_memory. A task takes the stages and accesses
 * added since the last work_task_add. */
uint32_t work_tensor_add(struct work_graph *graph, enum dtype dtype, const int64_t *dims, uint32_t rank,
                         enum work_tensor_role role);
uint32_t work_stage_add(struct work_graph *graph, const struct work_stage *stage, const struct work_axis *axes,
                        uint32_t axis_count, const struct work_op *ops, uint32_t op_count,
                        const struct work_access *accesses, const int16_t *const *maps, uint32_t access_count);
uint32_t work_task_add(struct work_graph *graph, const struct work_task *task, const struct work_access *border,
                       uint32_t border_count);
/* Groups of devices, stored once if an equal list is there; the members are copied. Returns the index + 1 for
 * work_collective.groups, 0 when memory is exhausted. */
uint32_t work_groups_add(struct work_graph *graph, uint32_t count, uint32_t size, const uint32_t *members,
                         uint32_t member_count);
/* The graph owns the subgraph from here on (on failure it is freed). */
uint32_t work_subgraph_attach(struct work_graph *graph, struct work_graph *subgraph);

/* Derives producers, dependencies, demands, byte counts, reuse distances, materialised tensors, sorts of tasks, memory;
 * recursive. Call once, after building. */
enum status work_graph_seal(struct work_graph *graph);

/* The one place where work is derived from structure: appends the demand entries of a task, and sets its demand range and
 * byte counts. Sealing calls it for every task. LOOP and CONDITIONAL tasks have no demand and no bytes of their own: theirs
 * are those of their subgraphs. Free kinds move no bytes, opaque tasks have bytes but no operations. False when memory is
 * exhausted. */
bool work_demand_of(struct work_graph *graph, uint32_t task);

/* How often the body of a stage runs, from its axes and kind:
 *   contractions: product of extents, WINDOW axes with their partner as `hits`; reduce: inputs - outputs; reduce_window:
 *   (hits - outputs); sort: rows x n x ceil(log2 n); others: product of extents. Saturates. */
uint64_t work_stage_applications(const struct work_graph *graph, const struct work_stage *stage);
/* A contraction as a batch of GEMMs. A convolution is im2col: m = batch x output positions, n = output features per group,
 * k = input features per group x window; batch = groups. False when the stage is no contraction. */
struct work_gemm {
  uint64_t batch, m, n, k;
};
bool work_stage_gemm(const struct work_graph *graph, const struct work_stage *stage, struct work_gemm *gemm);

/* Storage root of a tensor through alias_of. */
uint32_t work_tensor_root(const struct work_graph *graph, uint32_t tensor);

/* Sums over a sealed graph with loops multiplied out and the costliest branch (by FLOPs, then bytes) of conditionals. */
struct work_total {
  uint64_t ops[WORK_ENGINE_COUNT];
  uint64_t ops_by_dtype[WORK_ENGINE_COUNT][DTYPE_COUNT];
  uint64_t class_ops[WORK_CLASS_COUNT]; /* matrix + vector + function FLOPs by class of the task's hero */
  uint64_t class_bytes[WORK_CLASS_COUNT];
  uint64_t class_tasks[WORK_CLASS_COUNT];
  uint64_t read_bytes, write_bytes;
  uint64_t launches; /* tasks that are not free */
  uint64_t collectives, collective_bytes;
  uint64_t opaque_tasks;
  uint64_t unknown_trip_loops;
};
void work_graph_total(const struct work_graph *graph, struct work_total *total);

/* Peak memory of a sealed graph, derived anew; graph->memory has it. */
enum status work_graph_memory(const struct work_graph *graph, struct work_memory *memory);

/* Checks every invariant stated here: index ranges, order (operands produced before use), borders equal to what stages
 * read from or leave to others, maps within rank, sizes equal to dims x dtype, trip counts of loops. E0405 each. */
enum status work_graph_verify(const struct work_graph *graph, struct diag_list *diags);
/* Text form, one line per tensor, task and stage; stable, made to be diffed. docs/work-graph.md is its grammar. */
void work_graph_print(const struct work_graph *graph, struct strbuf *out);
/* Inverse of print; diagnostics with line and column. The graph comes back unsealed. */
enum status work_graph_parse(const struct source *source, struct diag_list *diags, struct work_graph **graph);
/* A new graph in which loops of up to `max_trip_count` iterations stand unrolled. */
enum status work_unroll(const struct work_graph *graph, uint64_t max_trip_count, struct work_graph **unrolled);

#endif
