/* Core programs: what a chip with explicitly programmed cores executes. The planner emits one, a simulator times it, an
 * emulator runs it, a code writer prints it; none of them sees the planner.
 *
 * All cores run one list of instructions in step (the plans are symmetric); what differs per core follows from its place
 * in the operator's grid. `core_program_core` says what one core does in one instruction: which index ranges, which partner.
 */
#ifndef RIDGELINE_WORK_CORE_PROGRAM_H
#define RIDGELINE_WORK_CORE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define CORE_AXES_MAX 8

enum core_instruction_kind {
  CORE_PRELOAD, /* memory -> buffer, runs beside the others from its release on */
  CORE_DISTRIBUTE, /* preload state -> execute state, between cores */
  CORE_GATHER, /* an input that an earlier operator left on the chip, from where it lies to where it is needed */
  CORE_COMPUTE, /* one iteration's tile of one operator */
  CORE_ROTATE, /* pass pieces of a tensor one core on along its ring */
  CORE_REDUCE, /* partial results of the cores that share an output tile are summed */
  CORE_STORE, /* buffer -> memory */
  CORE_WAIT, /* until the preload `target` is complete */
  CORE_BARRIER,
  CORE_FREE, /* buffer ends */
  CORE_INSTRUCTION_KIND_COUNT
};

/* A tensor's place in SRAM: offset and size are equal on all cores. */
struct core_buffer {
  uint32_t op, tensor; /* operator and tensor of it */
  uint64_t offset_bytes, size_bytes;
  uint32_t spatial[CORE_AXES_MAX]; /* parts per axis of the operator's grid */
  uint32_t pieces[CORE_AXES_MAX]; /* temporal cut per axis; the buffer holds one piece (two while it rotates) */
};

struct core_instruction {
  uint8_t kind; /* enum core_instruction_kind */
  uint32_t op;
  uint32_t buffer; /* index + 1 into buffers; 0 = none */
  uint32_t source; /* DISTRIBUTE, GATHER: the buffer read, index + 1 */
  uint32_t target; /* WAIT: instruction of the preload */
  uint32_t repeat; /* COMPUTE, ROTATE in a rotation loop: iteration number */
  uint64_t bytes; /* moved per core */
};

struct core_operator {
  uint32_t name;
  uint32_t kernel; /* opaque id for interp; 0 = none */
  uint32_t axis_count;
  uint64_t extents[CORE_AXES_MAX];
  uint32_t spatial[CORE_AXES_MAX];
};

struct core_program {
  struct arena arena;
  uint32_t cores;
  uint64_t sram_bytes;
  VEC(struct core_operator) operators;
  VEC(struct core_buffer) buffers;
  VEC(struct core_instruction) instructions;
};

#endif
