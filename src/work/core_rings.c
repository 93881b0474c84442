/* Rings of an operator's grid (core_grid.h): the rules, the loops, and offsets that let every ring hold every piece.
 *
 * Per prime q, the digits of coordinates in base q are variables over the field of q elements, and the offsets of the loops
 * of radix q are linear forms in them. Tensor v needs: restricted to the digits along axes that v lacks, the forms of the
 * loops that move v are independent. Then, as the replicas of a tile run over all values of those digits, the offsets take
 * each combination equally often. Where the tensors lack disjoint axes one digit per loop and tensor does; else forms are
 * added one by one as the rank needs, and, should that fail, drawn at random from a fixed seed.
 */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "work/core_grid.h"

enum { EXTENT_BITS = 48, RANDOM_TRIES = 256 };

static bool fault_set(struct core_fault *fault, enum core_fault_kind kind, uint32_t tensor, uint32_t axis,
                      uint64_t have, uint64_t want) {
  *fault = (struct core_fault){
      .kind = (uint8_t)kind, .tensor = (uint8_t)tensor, .axis = (uint8_t)axis, .have = have, .want = want};
  return false;
}

static bool has_axis(const struct core_cut *cut, uint32_t axis) {
  return (cut->axes >> axis & 1) != 0;
}

static bool is_moved(const struct core_loop *loop, uint32_t tensor) {
  return (loop->moved >> tensor & 1) != 0;
}

/* ---- rules ---- */

static bool check_axis(const struct core_grid *grid, uint32_t axis, struct core_fault *fault) {
  uint64_t extent = grid->extents[axis];
  if (extent == 0) {
    return fault_set(fault, CORE_FAULT_EMPTY, 0, axis, 0, 1);
  }
  if (extent >> EXTENT_BITS != 0) {
    return fault_set(fault, CORE_FAULT_HUGE, 0, axis, extent, (uint64_t)1 << EXTENT_BITS);
  }
  if (grid->spatial[axis] == 0) {
    return fault_set(fault, CORE_FAULT_ZERO, 0, axis, 0, 1);
  }
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    uint32_t pieces = grid->tensors[t].pieces[axis];
    if (pieces == 0) {
      return fault_set(fault, CORE_FAULT_ZERO, t, axis, 0, 1);
    }
    if (pieces > 1 && !has_axis(&grid->tensors[t], axis)) {
      return fault_set(fault, CORE_FAULT_FOREIGN, t, axis, pieces, 1);
    }
    for (uint32_t u = 0; u < t; u++) {
      uint32_t other = grid->tensors[u].pieces[axis];
      if (pieces % other != 0 && other % pieces != 0) {
        return fault_set(fault, CORE_FAULT_CHAIN, t, axis, other, pieces);
      }
    }
  }
  return true;
}

static bool check_rules(const struct core_grid *grid, struct core_fault *fault) {
  if (grid->axis_count > CORE_AXES_MAX || grid->tensor_count > CORE_TENSORS_MAX) {
    bool axes = grid->axis_count > CORE_AXES_MAX;
    return fault_set(fault, CORE_FAULT_COUNTS, 0, 0, axes ? grid->axis_count : grid->tensor_count,
                     axes ? CORE_AXES_MAX : CORE_TENSORS_MAX);
  }
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    if (!check_axis(grid, a, fault)) {
      return false;
    }
  }
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    uint64_t pieces = core_grid_pieces(grid, t), replicas = core_grid_replicas(grid, t);
    if (replicas % pieces != 0) {
      return fault_set(fault, CORE_FAULT_PIECES, t, 0, pieces, replicas);
    }
  }
  return true;
}

/* ---- loops and digits ---- */

static uint32_t smallest_prime_factor(uint32_t n) {
  for (uint32_t p = 2; p <= n / p; p++) {
    if (n % p == 0) {
      return p;
    }
  }
  return n;
}

/* Smallest factor of any tensor on the axis that is larger than `above`; 0 when there is none. */
static uint32_t next_factor(const struct core_grid *grid, uint32_t axis, uint32_t above) {
  uint32_t next = 0;
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    uint32_t pieces = grid->tensors[t].pieces[axis];
    next = pieces > above && (next == 0 || pieces < next) ? pieces : next;
  }
  return next;
}

static bool add_loops(const struct core_grid *grid, uint32_t axis, struct core_rings *rings) {
  uint32_t reached = 1;
  for (uint32_t next; (next = next_factor(grid, axis, reached)) != 0; reached = next) {
    uint16_t moved = 0;
    for (uint32_t t = 0; t < grid->tensor_count; t++) {
      moved |= (uint16_t)(grid->tensors[t].pieces[axis] >= next ? 1u << t : 0);
    }
    for (uint32_t rest = next / reached; rest > 1;) {
      uint32_t prime = smallest_prime_factor(rest);
      if (rings->loop_count == CORE_LOOPS_MAX) {
        return false;
      }
      rings->loops[rings->loop_count++] =
          (struct core_loop){.axis = (uint8_t)axis, .radix = (uint16_t)prime, .moved = moved};
      rest /= prime;
    }
  }
  return true;
}

static bool add_digits(const struct core_grid *grid, uint32_t axis, struct core_rings *rings) {
  uint32_t stride = 1;
  for (uint32_t rest = grid->spatial[axis]; rest > 1;) {
    uint32_t prime = smallest_prime_factor(rest);
    if (rings->digit_count == CORE_DIGITS_MAX) {
      return false;
    }
    rings->digits[rings->digit_count++] = (struct core_digit){.axis = (uint8_t)axis, .radix = prime, .stride = stride};
    stride *= prime;
    rest /= prime;
  }
  return true;
}

/* ---- elimination over a prime field ---- */

/* Rows are linear forms; column `width` is a right-hand side. */
struct system {
  uint32_t rows, width;
  uint32_t loops[CORE_LOOPS_MAX]; /* of each row */
  uint32_t digits[CORE_DIGITS_MAX]; /* of each column */
  uint32_t pivots[CORE_LOOPS_MAX]; /* column of each row's pivot, after elimination */
  uint32_t cells[CORE_LOOPS_MAX][CORE_DIGITS_MAX + 1];
};

static uint32_t inverse(uint32_t value, uint32_t prime) {
  uint64_t power = value, result = 1;
  for (uint32_t exponent = prime - 2; exponent > 0; exponent >>= 1) {
    result = (exponent & 1) != 0 ? result * power % prime : result;
    power = power * power % prime;
  }
  return (uint32_t)(result % prime);
}

/* The forms of the loops of one radix that move the tensor, on the digits that it lacks. */
static void system_of(const struct core_grid *grid, const struct core_rings *rings, uint32_t tensor, uint32_t radix,
                      struct system *system) {
  system->rows = system->width = 0;
  for (uint32_t d = 0; d < rings->digit_count; d++) {
    if (rings->digits[d].radix == radix && !has_axis(&grid->tensors[tensor], rings->digits[d].axis)) {
      system->digits[system->width++] = d;
    }
  }
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    if (rings->loops[l].radix == radix && is_moved(&rings->loops[l], tensor)) {
      for (uint32_t c = 0; c < system->width; c++) {
        system->cells[system->rows][c] = rings->weights[l][system->digits[c]];
      }
      system->cells[system->rows][system->width] = 0;
      system->loops[system->rows++] = l;
    }
  }
}

static void swap_rows(struct system *system, uint32_t a, uint32_t b) {
  for (uint32_t c = 0; c <= system->width && a != b; c++) {
    uint32_t cell = system->cells[a][c];
    system->cells[a][c] = system->cells[b][c];
    system->cells[b][c] = cell;
  }
}

/* Gauss-Jordan; returns the rank. */
static uint32_t eliminate(struct system *system, uint32_t prime) {
  uint32_t rank = 0;
  for (uint32_t c = 0; c < system->width && rank < system->rows; c++) {
    uint32_t found = rank;
    while (found < system->rows && system->cells[found][c] == 0) {
      found++;
    }
    if (found == system->rows) {
      continue;
    }
    swap_rows(system, rank, found);
    uint64_t scale = inverse(system->cells[rank][c], prime);
    for (uint32_t k = 0; k <= system->width; k++) {
      system->cells[rank][k] = (uint32_t)(system->cells[rank][k] * scale % prime);
    }
    for (uint32_t r = 0; r < system->rows; r++) {
      uint64_t factor = r == rank ? 0 : system->cells[r][c];
      for (uint32_t k = 0; k <= system->width && factor != 0; k++) {
        system->cells[r][k] = (uint32_t)((system->cells[r][k] + (prime - factor) * system->cells[rank][k]) % prime);
      }
    }
    system->pivots[rank++] = c;
  }
  return rank;
}

/* Rows that are still dependent. */
static uint32_t missing(const struct core_grid *grid, const struct core_rings *rings, uint32_t tensor, uint32_t radix,
                        struct system *scratch) {
  system_of(grid, rings, tensor, radix, scratch);
  uint32_t rows = scratch->rows;
  return rows - eliminate(scratch, radix);
}

static uint32_t missing_all(const struct core_grid *grid, const struct core_rings *rings, uint32_t tensors,
                            uint32_t radix, struct system *scratch) {
  uint32_t sum = 0;
  for (uint32_t t = 0; t < tensors; t++) {
    sum += missing(grid, rings, t, radix, scratch);
  }
  return sum;
}

/* Adds one digit to a loop so that the tensor misses one row less and no tensor before it misses any. */
static bool improve(const struct core_grid *grid, struct core_rings *rings, uint32_t tensor, uint32_t loop,
                    struct system *scratch) {
  uint32_t radix = rings->loops[loop].radix;
  uint32_t now = missing(grid, rings, tensor, radix, scratch);
  for (uint32_t d = 0; d < rings->digit_count && now > 0; d++) {
    if (rings->digits[d].radix != radix || has_axis(&grid->tensors[tensor], rings->digits[d].axis)) {
      continue;
    }
    uint16_t kept = rings->weights[loop][d];
    rings->weights[loop][d] = (uint16_t)((kept + 1) % radix);
    if (missing(grid, rings, tensor, radix, scratch) < now && missing_all(grid, rings, tensor, radix, scratch) == 0) {
      return true;
    }
    rings->weights[loop][d] = kept;
  }
  return false;
}

static bool arrange_at_random(const struct core_grid *grid, struct core_rings *rings, uint32_t radix,
                              struct system *scratch) {
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (uint32_t attempt = 0; attempt < RANDOM_TRIES; attempt++) {
    for (uint32_t l = 0; l < rings->loop_count; l++) {
      for (uint32_t d = 0; d < rings->digit_count && rings->loops[l].radix == radix; d++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        rings->weights[l][d] = (uint16_t)(rings->digits[d].radix == radix ? (state >> 33) % radix : 0);
      }
    }
    if (missing_all(grid, rings, grid->tensor_count, radix, scratch) == 0) {
      return true;
    }
  }
  return false;
}

static bool arrange(const struct core_grid *grid, struct core_rings *rings, uint32_t radix, struct system *scratch,
                    uint32_t *tensor) {
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    for (uint32_t l = 0; l < rings->loop_count; l++) {
      if (rings->loops[l].radix == radix && is_moved(&rings->loops[l], t)) {
        (void)improve(grid, rings, t, l, scratch);
      }
    }
    if (missing(grid, rings, t, radix, scratch) > 0) {
      *tensor = t;
      return arrange_at_random(grid, rings, radix, scratch);
    }
  }
  return true;
}

bool core_rings_build(const struct core_grid *grid, struct core_rings *rings, struct core_fault *fault) {
  memset(rings, 0, sizeof *rings);
  if (!check_rules(grid, fault)) {
    return false;
  }
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    if (!add_loops(grid, a, rings) || !add_digits(grid, a, rings)) {
      return fault_set(fault, CORE_FAULT_LOOPS, 0, a, 0, CORE_LOOPS_MAX);
    }
  }
  struct system scratch;
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    bool is_new = true;
    for (uint32_t before = 0; before < l; before++) {
      is_new &= rings->loops[before].radix != rings->loops[l].radix;
    }
    uint32_t tensor = 0;
    if (is_new && !arrange(grid, rings, rings->loops[l].radix, &scratch, &tensor)) {
      return fault_set(fault, CORE_FAULT_ALIGNED, tensor, rings->loops[l].axis, 0, 0);
    }
  }
  return true;
}

bool core_rings_equal(const struct core_rings *a, const struct core_rings *b) {
  bool is_equal = a->loop_count == b->loop_count && a->digit_count == b->digit_count
                  && memcmp(a->weights, b->weights, sizeof a->weights) == 0;
  for (uint32_t l = 0; is_equal && l < a->loop_count; l++) {
    is_equal = a->loops[l].axis == b->loops[l].axis && a->loops[l].radix == b->loops[l].radix
               && a->loops[l].moved == b->loops[l].moved;
  }
  for (uint32_t d = 0; is_equal && d < a->digit_count; d++) {
    is_equal = a->digits[d].axis == b->digits[d].axis && a->digits[d].radix == b->digits[d].radix
               && a->digits[d].stride == b->digits[d].stride;
  }
  return is_equal;
}

bool core_rings_source(const struct core_grid *grid, const struct core_rings *rings, uint32_t tensor, uint32_t loop,
                       const uint32_t *coordinates, uint32_t *source) {
  memcpy(source, coordinates, grid->axis_count * sizeof *source);
  if (!is_moved(&rings->loops[loop], tensor)) {
    return false;
  }
  /* the smallest change of digits that raises this loop's offset by one and no other's */
  struct system system;
  uint32_t radix = rings->loops[loop].radix;
  system_of(grid, rings, tensor, radix, &system);
  for (uint32_t r = 0; r < system.rows; r++) {
    system.cells[r][system.width] = system.loops[r] == loop;
  }
  uint32_t rank = eliminate(&system, radix);
  assert(rank == system.rows);
  for (uint32_t r = 0; r < rank; r++) {
    const struct core_digit *digit = &rings->digits[system.digits[system.pivots[r]]];
    uint32_t value = coordinates[digit->axis] / digit->stride % radix;
    uint32_t moved = (value + system.cells[r][system.width]) % radix;
    source[digit->axis] = source[digit->axis] - value * digit->stride + moved * digit->stride;
  }
  return true;
}
