/* What the planner plans: a chain of operators on iteration axes, read from a work graph (plan_program_read) or built by
 * hand in tests.
 *
 *   work/ graph ─► plan_program ─► plan_sets (partition plans per operator) ─► plan_chain ─► policies ─► plan_result
 *
 * An operator is one or more *stages* over one space of axes. Unfused, it is one stage: a product, an element-wise
 * operation, a reduction. Fused, the hero and what was merged into it share the axes, and the cores keep the values
 * between stages. A tensor names the axes it runs along as a mask; everything the planner needs (tile sizes, replicas,
 * who holds what) follows from masks, extents and the partition. The last tensor of an operator is its output.
 *
 * Sizes are those of the whole chip (or pod), times are in plan_chain.h, sizes per core in plan_partition.h.
 */
#ifndef RIDGELINE_PLAN_PLAN_PROGRAM_H
#define RIDGELINE_PLAN_PLAN_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/vec.h"
#include "work/work.h"

/* Masks of axes are 16 bits wide; real operators have up to 6 axes, fused ones up to 8. */
#define PLAN_AXES_MAX 8
#define PLAN_TENSORS_MAX 16
#define PLAN_STAGES_MAX 24

typedef uint16_t plan_axis_mask;

enum plan_stage_kind {
#define PLAN_STAGE_KIND(id, name, summary) PLAN_STAGE_##id,
#include "plan/plan_stage_kinds.def"
#undef PLAN_STAGE_KIND
  PLAN_STAGE_KIND_COUNT
};
const char *plan_stage_kind_name(enum plan_stage_kind kind);

/* One computation of an operator, in the order of execution. Per application (a point of `axes`) it does `operations`
 * primitive operations; COPY and GATHER move elements and count in no sum of FLOPs; a REDUCE counts one application less
 * per result (n numbers take n - 1 additions). `axes` may be empty: one number for the whole operator. */
struct plan_stage {
  uint8_t kind; /* enum plan_stage_kind */
  plan_axis_mask axes; /* it runs once per point of these */
  plan_axis_mask reduced; /* subset of axes that it sums (or maximises) away; the rest of `axes` index its result */
  /* MATRIX: axes of its two operands, tensors of the operator or values that an earlier stage left on the cores; batch, row,
   * column and contraction axes follow from these and `reduced`. Other kinds: 0 */
  plan_axis_mask left, right;
  uint16_t result_bits; /* of one element of its result */
  uint16_t operations; /* MATRIX: multiply-adds, 1 unless complex or split into parts */
};

enum plan_source {
  PLAN_SOURCE_MEMORY, /* in HBM before the operator: weights, caches, program inputs, tables */
  PLAN_SOURCE_CHIP /* in SRAM: an earlier operator of the chain made it */
};

struct plan_tensor {
  plan_axis_mask axes; /* of the operator that it runs along; an axis it lacks is one it is replicated over */
  uint16_t element_bits; /* as stored and moved: 4 for int4 weights */
  uint8_t source; /* enum plan_source; outputs: CHIP */
  bool is_output;
  /* Inputs from the chip: the tensor lies as its producer's output partition left it. A VIEW is read through slices,
   * reshapes or transpositions, so that its elements change cores in any case. */
  bool is_view;
  uint32_t producer; /* operator + 1 that made it; 0 = from memory */
  /* Operators in a row that made equal parts of it, of which `producer` is the last; 0 and 1: that one made it whole.
   * What comes in parts is a view. */
  uint32_t producer_parts;
  /* Bytes that HBM moves for it: the whole tensor once, only the touched rows of a gathered table; outputs: what is written
   * back (results of the program, appended cache rows), else 0. A tensor from memory that several operators read is loaded
   * by each (the planner does not keep it) unless `producer` says an earlier operator left it on the chip. */
  uint64_t memory_bytes;
  uint32_t name; /* interned in plan_program.strings; 0 = none */
};

/* The first of the operators that made it; the tensor has a producer. */
static inline uint32_t plan_first_producer(const struct plan_tensor *tensor) {
  return tensor->producer - (tensor->producer_parts > 1 ? tensor->producer_parts : 1);
}
/* Whether it is a value on the chip that `step` made, or a part of. */
static inline bool plan_is_made_by(const struct plan_tensor *tensor, uint32_t step) {
  return tensor->source == PLAN_SOURCE_CHIP && tensor->producer > step && plan_first_producer(tensor) <= step;
}

struct plan_operator {
  uint32_t name; /* interned: "dot_general", "softmax"; with the layer it is what tables print */
  uint32_t layer; /* repetition it belongs to, from 0; UINT32_MAX = none (head, tail) */
  uint32_t task; /* task + 1 of the work graph it came from (hero's); 0 = none */
  uint32_t sort; /* operators with equal sort are alike in everything but their names, producers and live bytes */
  uint8_t axis_count, tensor_count, stage_count;
  uint8_t merged; /* operators of the unfused graph that it stands for; 1 = itself */
  uint64_t extents[PLAN_AXES_MAX];
  uint32_t tensor_first, stage_first; /* in plan_program.tensors and .stages */
};

/* What simplification and fusion did, one row per step, for the ablation and the report. */
struct plan_step_share {
  const char *step; /* "views", "chains", "norms and softmax", ... ; static text */
  uint32_t operators_before, operators_after;
};

struct plan_program {
  struct arena arena;
  struct intern *strings;
  VEC(struct plan_operator) operators; /* in execution order */
  VEC(struct plan_tensor) tensors;
  VEC(struct plan_stage) stages;
  uint32_t sort_count;
  uint32_t layer_count; /* repetitions found; at least 1 */
  VEC(struct plan_step_share) shares;
  double matrix_flop, vector_flop; /* of the whole program, 2 per multiply-add */
  uint64_t memory_bytes; /* sum over tensors */
};

/* How much of the graph is simplified; each ingredient is one flag, so that the ablation can leave it out. */
struct plan_read_options {
  bool views; /* slices, concatenations and transpositions are read in place instead of copied */
  bool fuse; /* element-wise chains, norms, softmax, epilogues join their producer or consumer */
  uint64_t split_bytes; /* most that one operator may load, of the whole chip (plan_program_split); 0 = any */
  uint32_t max_operators; /* budget after unrolling loops; 0 = 200,000 */
  const struct source *source; /* the program's text, for places in messages; may be NULL */
};

/* Reads an unfused work graph (lower_module without lower_fuse). Loops are unrolled, calls are inlined already; of a
 * conditional the costliest branch is planned. Reshape, broadcast, convert and bitcasts are views always. E0801 with the
 * task and its place for everything the planner has no meaning for (sort, collectives, FFT, host transfers, opaque calls),
 * E0808 past the budget. Of loops of unknown trip count one iteration is planned (lowering has said W0403). The caller
 * releases the program, also after a failure. docs/plan-program.md has the rules. */
enum status plan_program_read(const struct work_graph *graph, const struct plan_read_options *options,
                              struct diag_list *diags, struct plan_program *program);
void plan_program_init(struct plan_program *program);
void plan_program_release(struct plan_program *program);
/* Fills sorts, layers and sums from operators, tensors and stages; plan_program_read calls it, builders of
 * programs in tests call it themselves. */
enum status plan_program_seal(struct plan_program *program);
/* Cuts each operator that loads more than `split_bytes` into equal parts along one axis: the published planner does so by
 * halves where an operator is too big for the SRAM. The parts run in a row, are of one sort, and together load, store and
 * compute what the operator did, so that one part can be loaded while another computes. Operators without an axis that
 * allows this stay whole, and those beyond `max_operators` in the result. The caller seals the program afterwards. */
enum status plan_program_split(struct plan_program *program, uint64_t split_bytes, uint32_t max_operators);
/* Bytes per core of values that lie on the chip while each operator runs, beside its own tensors; live[operators]. A value is
 * kept in shares, ceil(elements / cores) of it on each core, from its operator to its last reader. An operator reads a
 * share into a buffer of its own, and writes its result into shares from one, so that at its begin it has the values
 * made before it whoever reads them, at its end those that are read later and its own result: the larger counts.
 * STATUS_MEMORY. */
enum status plan_program_live(const struct plan_program *program, uint32_t cores, uint64_t *live);

/* What lies in SRAM takes whole words of this many bytes. */
#define PLAN_WORD_BYTES 4u

static inline uint64_t plan_word_bytes(uint64_t bytes) {
  uint64_t over = bytes % PLAN_WORD_BYTES;
  return over == 0 || bytes > UINT64_MAX - PLAN_WORD_BYTES ? bytes : bytes + PLAN_WORD_BYTES - over;
}

/* Every invariant above; E0802 each. */
enum status plan_program_check(const struct plan_program *program, struct diag_list *diags);

#endif
