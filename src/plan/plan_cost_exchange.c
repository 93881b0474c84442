/* What moves between cores: rotation loops and reductions. Path: plan_cost.c prices a partition with these. */
#include <assert.h>
#include <math.h>

#include "base/checked.h"
#include "plan/plan_cost.h"
#include "plan/plan_tile.h"

static int64_t ceil_ps(double seconds) {
  double ps = ceil(seconds * 1e12);
  return ps < 9e18 ? (int64_t)ps : INT64_MAX / 4;
}

int64_t plan_cycles_ps(const struct plan_chip *chip, double cycles) {
  return ceil_ps(cycles / chip->clock_Hz);
}

int64_t plan_link_ps(const struct plan_chip *chip, double bytes) {
  return ceil_ps(bytes / chip->link_Bps);
}

/* Loops of one axis: the common divisor of the factors that are left, as often as there is any. */
static uint32_t peel_axis(const struct plan_partition *partition, uint32_t axis,
                          const uint64_t slot_bytes[PLAN_ROTATED_MAX], struct plan_rotation *rotations,
                          uint32_t capacity) {
  uint64_t left[PLAN_ROTATED_MAX];
  uint32_t count = 0;
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    left[s] = partition->temporal[s][axis];
  }
  while (count < capacity) {
    struct plan_rotation loop = {.axis = axis};
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      if (left[s] > 1) {
        loop.axis_factor = gcd_u64(left[s], loop.axis_factor);
        loop.bytes = sat_add_u64(loop.bytes, slot_bytes[s]);
        loop.moved |= (uint8_t)(1U << s);
      }
    }
    if (loop.axis_factor <= 1) { /* none left, or factors that do not divide each other: no legal partition */
      break;
    }
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      left[s] /= left[s] > 1 ? loop.axis_factor : 1;
    }
    rotations[count++] = loop;
  }
  return count;
}

uint32_t plan_rotations_of(const struct plan_partition *partition, uint32_t axis_count,
                           const uint64_t slot_bytes[PLAN_ROTATED_MAX],
                           struct plan_rotation rotations[PLAN_ROTATIONS_MAX]) {
  uint32_t count = 0;
  for (uint32_t axis = 0; axis < axis_count; axis++) {
    count += peel_axis(partition, axis, slot_bytes, rotations + count, PLAN_ROTATIONS_MAX - count);
  }
  for (uint32_t i = 1; i < count; i++) { /* few loops: insertion, stable */
    struct plan_rotation loop = rotations[i];
    uint32_t k = i;
    for (; k > 0 && rotations[k - 1].bytes < loop.bytes; k--) {
      rotations[k] = rotations[k - 1];
    }
    rotations[k] = loop;
  }
  return count;
}

static uint64_t bytes_of(uint64_t elements, uint32_t bits) {
  return ceil_div_u64(sat_mul_u64(elements, bits), 8);
}

/* Each core keeps 1/r and gets the parts for it of all others, one after the other. */
static struct plan_reduction linear_scatter(const struct plan_chip *chip, uint64_t r, uint64_t elements,
                                            uint32_t bits) {
  uint64_t share = ceil_div_u64(elements, r);
  uint64_t others = share * (r - 1) < elements ? share * (r - 1) : elements;
  return (struct plan_reduction){
      .link_bytes = bytes_of(others, bits),
      .barriers = r,
      .add_cycles = plan_tile_vector_cycles(chip, PLAN_STAGE_REDUCE, (double)share * (double)r, 1, bits),
      .buffer_bytes = bytes_of(others, bits),
  };
}

/* Halves are exchanged with a partner, then quarters, ... : ceil(log2 r) rounds. */
static struct plan_reduction halving(const struct plan_chip *chip, uint64_t r, uint64_t elements, uint32_t bits) {
  struct plan_reduction out = {.barriers = ceil_log2_u64(r)};
  uint64_t held = elements;
  for (uint64_t round = 0; round < out.barriers; round++) {
    uint64_t half = ceil_div_u64(held, 2);
    out.link_bytes += bytes_of(half, bits);
    out.add_cycles += plan_tile_vector_cycles(chip, PLAN_STAGE_ELEMENTWISE, (double)half, 1, bits);
    held = half;
  }
  out.buffer_bytes = bytes_of(ceil_div_u64(elements, 2), bits);
  return out;
}

/* Everything is exchanged with a partner in each round; all have the result in the end. */
static struct plan_reduction doubling(const struct plan_chip *chip, uint64_t r, uint64_t elements, uint32_t bits) {
  uint64_t rounds = ceil_log2_u64(r);
  double add = plan_tile_vector_cycles(chip, PLAN_STAGE_ELEMENTWISE, (double)elements, 1, bits);
  return (struct plan_reduction){.link_bytes = sat_mul_u64(rounds, bytes_of(elements, bits)),
                                 .barriers = rounds,
                                 .add_cycles = (double)rounds * add,
                                 .buffer_bytes = bytes_of(elements, bits)};
}

/* The shares go back to everybody, in as many barriers as the way there. */
static struct plan_reduction with_return(struct plan_reduction there, uint64_t r, uint64_t elements, uint32_t bits) {
  there.link_bytes = sat_add_u64(there.link_bytes, bytes_of(elements - elements / r, bits));
  there.barriers *= 2;
  return there;
}

struct plan_reduction plan_reduction_of(const struct plan_chip *chip, uint64_t cores, uint64_t elements, uint32_t bits,
                                        bool everywhere, bool tree, double link_factor) {
  if (cores <= 1) {
    return (struct plan_reduction){0};
  }
  struct plan_reduction ways[3];
  uint32_t count = 0;
  ways[count] = linear_scatter(chip, cores, elements, bits);
  ways[count] = everywhere ? with_return(ways[count], cores, elements, bits) : ways[count];
  count++;
  if (tree) {
    ways[count] = halving(chip, cores, elements, bits);
    ways[count] = everywhere ? with_return(ways[count], cores, elements, bits) : ways[count];
    count++;
  }
  if (tree && everywhere) {
    ways[count++] = doubling(chip, cores, elements, bits);
  }
  uint32_t best = 0;
  double best_s = INFINITY;
  for (uint32_t i = 0; i < count; i++) {
    double cycles = ways[i].add_cycles + (double)ways[i].barriers * chip->sync_cycles;
    double seconds = cycles / chip->clock_Hz + (double)ways[i].link_bytes * link_factor / chip->link_Bps;
    if (seconds < best_s) {
      best_s = seconds;
      best = i;
    }
  }
  return ways[best];
}
