/* Core programs: what a chip with explicitly programmed cores executes. The planner emits one, a simulator times it, an
 * emulator runs it, a code writer prints it; none of them sees the planner.
 *
 * All cores run one list of instructions in step (the plans are symmetric); what differs per core follows from its place
 * in the operator's grid (core_grid.h). `core_program_core` says what one core does in one instruction: which index
 * ranges, which partner.
 *
 * A value that later operators read is kept in *shares*: its elements in row-major order of its axes, cut evenly over all
 * cores of the chip, ceil(elements / cores) on each.
 */
#ifndef RIDGELINE_WORK_CORE_PROGRAM_H
#define RIDGELINE_WORK_CORE_PROGRAM_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "work/core_grid.h"

enum core_instruction_kind {
#define CORE_INSTRUCTION(id, name, needs, summary) CORE_##id,
#include "work/core_instructions.def"
#undef CORE_INSTRUCTION
  CORE_INSTRUCTION_KIND_COUNT
};

enum core_buffer_kind {
  CORE_BUFFER_EXECUTE, /* one piece of a tensor while its operator runs; two where it rotates */
  CORE_BUFFER_PRELOAD, /* one piece of a tensor from memory, cut as `pieces` says */
  CORE_BUFFER_SHARE, /* this core's share of a value that is kept */
  CORE_BUFFER_SCRATCH /* results between stages, partial results that arrive */
};

/* Part of a buffer's place in SRAM. */
struct core_segment {
  uint64_t offset_bytes, size_bytes;
};

/* A place in SRAM from its ALLOCATE to its FREE, the same on all cores: its bytes in order fill its segments in order, mostly
 * one. An execute state that grows from its preload state begins with the segments of that. */
struct core_buffer {
  uint8_t kind; /* enum core_buffer_kind */
  uint32_t op, tensor; /* operator and tensor of it; SHARE: the operator that made it and its output */
  uint64_t size_bytes;
  uint32_t segment_first, segment_count; /* together at least size_bytes */
  uint16_t pieces[CORE_AXES_MAX]; /* temporal cut per axis; 1s for SHARE and SCRATCH */
};

struct core_instruction {
  uint8_t kind; /* enum core_instruction_kind */
  uint8_t loop; /* ROTATE: which loop of the operator's rings moves on */
  uint32_t op;
  uint32_t buffer; /* index + 1 into buffers; 0 = none */
  uint32_t source; /* DISTRIBUTE, GATHER, REDUCE: the buffer read, index + 1; of a value in parts a GATHER reads one */
  uint32_t target; /* WAIT: instruction of the preload */
  uint32_t repeat; /* COMPUTE: iteration, from 0; ROTATE: of the iteration that has ended */
  uint32_t parts; /* REDUCE: partial results per element */
  uint64_t bytes; /* that each core receives; COMPUTE 0; STORE: sends; REDUCE: of its partial results */
  uint64_t memory_bytes; /* PRELOAD, STORE: that memory moves for all cores together */
};

/* An iteration of an operator is a count per loop. The nest goes through all combinations; a loop that comes round again
 * goes on from where it stands, so that it makes radix - 1 rotations each time. */
struct core_operator {
  uint32_t name; /* index into names */
  uint32_t kernel; /* opaque id for an interpreter; 0 = none */
  struct core_grid grid; /* the output is the last tensor */
  uint16_t element_bits[CORE_TENSORS_MAX];
  uint32_t rings; /* index into rings: equal grids share them */
  uint8_t nest[CORE_LOOPS_MAX]; /* loops, outermost first */
};

struct core_program {
  struct arena arena; /* names */
  uint32_t cores;
  uint64_t sram_bytes;
  VEC(const char *) names;
  VEC(struct core_operator) operators;
  VEC(struct core_rings) rings;
  VEC(struct core_buffer) buffers;
  VEC(struct core_segment) segments;
  VEC(struct core_instruction) instructions;
};

void core_program_init(struct core_program *program);
void core_program_release(struct core_program *program);

const char *core_instruction_name(enum core_instruction_kind kind);
/* Iterations of an operator: the product of the radices of its loops. */
uint64_t core_operator_iterations(const struct core_program *program, uint32_t op);
/* Rotations that each loop has made before iteration `repeat`; counts[loop_count]. */
void core_operator_counts(const struct core_program *program, uint32_t op, uint64_t repeat, uint32_t *counts);

/* Every invariant: indices; buffers within the SRAM and apart while both exist, but for a state that grows; used between
 * ALLOCATE and FREE only, and what is preloaded only after the WAIT; all freed; every operator computes each of its
 * iterations once, in order, with all its tensors there. E0809 each. */
enum status core_program_verify(const struct core_program *program, struct diag_list *diags);

/* One line per operator, buffer and instruction. */
void core_program_print(const struct core_program *program, struct strbuf *out);

/* What one core does in one instruction. */
struct core_action {
  bool is_active; /* false: this core is outside the operator's grid, or its part is padding */
  bool has_ranges; /* low, high are set */
  bool has_share; /* first, last are set */
  bool has_partner;
  /* Half-open ranges along the operator's axes: COMPUTE what it computes; ROTATE, DISTRIBUTE, GATHER, PRELOAD what the
   * buffer holds afterwards (whole axes of the grid's part where the tensor lacks the axis). */
  uint64_t low[CORE_AXES_MAX], high[CORE_AXES_MAX];
  uint64_t first, last; /* half-open range of elements of a share: STORE, and GATHER or REDUCE into shares */
  uint64_t partner; /* ROTATE: the core it receives from */
};
void core_program_core(const struct core_program *program, uint64_t core, uint32_t instruction,
                       struct core_action *action);

/* Sums over the instructions; bytes per core but for memory_bytes. */
struct core_totals {
  uint64_t preload_bytes, distribute_bytes, gather_bytes, rotate_bytes;
  uint64_t memory_bytes; /* of the chip: loads and stores */
  uint64_t peak_bytes; /* largest sum of sizes of the buffers that exist while an operator computes */
  uint64_t split_buffers; /* that lie in several segments */
  uint64_t iterations;
};
void core_program_sum(const struct core_program *program, struct core_totals *totals);

#endif
