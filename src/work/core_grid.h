/* One operator on a grid of cores: which part of each tensor a core holds, and how cores that share a tile pass its pieces
 * on. Pure index arithmetic; core programs, the validator of plans and an emulator agree through it.
 *
 * Axis a of the operator is cut into spatial[a] parts of L = ceil(extent / spatial) indices, one per core along that axis of
 * a grid. Cores whose coordinates differ only along axes that a tensor lacks share a tile of it: its replicas. A tile may
 * be cut into pieces, a number of them per axis; pieces divide replicas, and each *ring* of as many replicas as there are
 * pieces holds every piece once.
 *
 * Factors of one axis form a chain: each divides the next. Pieces are nested, ceil(ceil(L/x)/y) = ceil(L/(xy)), so that the
 * finest pieces of an axis lie in one piece of every tensor. The chain's ratios, cut into primes, are the *loops*: a loop of
 * radix g visits g parts of what the loops before it on its axis left, in g - 1 rotations, and moves the tensors that are
 * cut at least so finely. At count s of a loop, a core works on part (o + s) mod g of it. Its offset o must be such that
 * the cores of a ring differ: over the replicas of a tensor, the offsets of the loops that move it take each combination
 * equally often. Offsets are linear in the prime digits of the core's coordinates, per prime; the condition is then that a
 * matrix has full row rank over that prime field.
 */
#ifndef RIDGELINE_WORK_CORE_GRID_H
#define RIDGELINE_WORK_CORE_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define CORE_AXES_MAX 8
#define CORE_TENSORS_MAX 16
#define CORE_LOOPS_MAX 40 /* prime factors of all factors of an operator; rings of 2^13 cores in three tensors */
#define CORE_DIGITS_MAX 40 /* prime factors of the grid */

struct core_cut {
  uint16_t axes; /* of the operator that the tensor runs along */
  uint16_t pieces[CORE_AXES_MAX]; /* 1 along all others */
};

struct core_grid {
  uint8_t axis_count, tensor_count;
  uint64_t extents[CORE_AXES_MAX];
  uint32_t spatial[CORE_AXES_MAX];
  struct core_cut tensors[CORE_TENSORS_MAX];
};

struct core_loop {
  uint8_t axis;
  uint16_t radix; /* prime */
  uint16_t moved; /* tensors that it passes on */
};

/* A prime digit of the coordinate along an axis: coordinate / stride % radix. */
struct core_digit {
  uint8_t axis;
  uint32_t radix, stride;
};

struct core_rings {
  uint8_t loop_count, digit_count;
  struct core_loop loops[CORE_LOOPS_MAX]; /* those of one axis in the order of nesting, coarse first */
  struct core_digit digits[CORE_DIGITS_MAX];
  uint16_t weights[CORE_LOOPS_MAX][CORE_DIGITS_MAX]; /* offset of a loop = sum of weight x digit, modulo its radix */
};

enum core_fault_kind {
#define CORE_FAULT(id, text) CORE_FAULT_##id,
#include "work/core_faults.def"
#undef CORE_FAULT
  CORE_FAULT_COUNT
};

/* The first thing that is wrong; which fields are meant is a matter of the kind. */
struct core_fault {
  uint8_t kind; /* enum core_fault_kind */
  uint8_t tensor, axis;
  uint64_t have, want;
};
void core_fault_print(const struct core_fault *fault, struct strbuf *out);

/* Cores of the grid, saturating. */
uint64_t core_grid_cores(const struct core_grid *grid);
/* Cores that share a tile of a tensor, and pieces that each tile is cut into. */
uint64_t core_grid_replicas(const struct core_grid *grid, uint32_t tensor);
uint64_t core_grid_pieces(const struct core_grid *grid, uint32_t tensor);
/* Most elements of one piece on any core: the product of ceil(L / pieces). */
uint64_t core_grid_piece_elements(const struct core_grid *grid, uint32_t tensor);
/* Finest pieces along an axis: its largest factor. */
uint32_t core_grid_finest(const struct core_grid *grid, uint32_t axis);

/* Checks the rules above and finds loops and offsets. False with the fault. */
bool core_rings_build(const struct core_grid *grid, struct core_rings *rings, struct core_fault *fault);
bool core_rings_equal(const struct core_rings *a, const struct core_rings *b);

/* Coordinates of a core of the grid (first axis slowest), and back. */
void core_grid_coordinates(const struct core_grid *grid, uint64_t core, uint32_t *coordinates);
uint64_t core_grid_core(const struct core_grid *grid, const uint32_t *coordinates);
/* Offset of a loop on the core at these coordinates. */
uint32_t core_rings_offset(const struct core_rings *rings, uint32_t loop, const uint32_t *coordinates);
/* Half-open range of indices along an axis that a core works on, cut as finely as `tensor` is (CORE_TENSORS_MAX: as
 * finely as any), when the loops stand at `counts`. Empty where the axis ends before. */
void core_rings_range(const struct core_grid *grid, const struct core_rings *rings, const uint32_t *coordinates,
                      const uint32_t *counts, uint32_t tensor, uint32_t axis, uint64_t *low, uint64_t *high);
/* Coordinates of the core whose piece of `tensor` this one gets when `loop` rotates. False where it does not move. */
bool core_rings_source(const struct core_grid *grid, const struct core_rings *rings, uint32_t tensor, uint32_t loop,
                       const uint32_t *coordinates, uint32_t *source);

#endif
