/* Temporal factors on one spatial vector: candidates per axis, then their product over the axes, pruned by prefix. */
#include "plan/plan_partition_temporal.h"

#include <assert.h>
#include <string.h>

enum { OUTPUT = PLAN_ROTATED_MAX - 1 };
static_assert(PLAN_ROTATED_MAX == 3, "candidates are triples: output, first input, second input");

void plan_temporal_release(struct plan_temporal *temporal) {
  vec_release(&temporal->candidates);
  vec_release(&temporal->divisors);
}

/* Ascending: the small ones up to the root, then their partners downwards. Factors are 16 bits wide, so larger ones are left
 * out: a tile in more than 65,535 pieces. */
static bool list_divisors(struct plan_temporal *temporal, uint32_t slot) {
  const uint64_t number = temporal->replicas[slot];
  struct plan_temporal_list *list = &temporal->divisors_of[slot];
  list->first = temporal->divisors.count;
  uint64_t root = 0;
  for (uint64_t d = 1; d * d <= number && d <= UINT16_MAX; d++) {
    if (number % d == 0 && !vec_push(&temporal->divisors, (uint16_t)d)) {
      return false;
    }
    root = d;
  }
  for (uint64_t d = root; d >= 1; d--) {
    if (number % d == 0 && d * d != number && number / d <= UINT16_MAX
        && !vec_push(&temporal->divisors, (uint16_t)(number / d))) {
      return false;
    }
  }
  list->count = temporal->divisors.count - list->first;
  return true;
}

static bool divides_one_way(uint32_t a, uint32_t b) {
  return a >= b ? a % b == 0 : b % a == 0;
}

/* Number of divisors of a slot that may cut the axis: not longer than it, and 1 alone where the tensor lacks it. */
static size_t usable_divisors(const struct plan_temporal *temporal, uint32_t slot, uint32_t axis) {
  if ((temporal->tensors[slot] >> axis & 1) == 0) {
    return 1;
  }
  const struct plan_temporal_list list = temporal->divisors_of[slot];
  size_t count = 0;
  while (count < list.count && temporal->divisors.data[list.first + count] <= temporal->lengths[axis]) {
    count++;
  }
  return count;
}

static uint16_t largest(const uint16_t *factors) {
  uint16_t most = factors[0] > factors[1] ? factors[0] : factors[1];
  return most > factors[2] ? most : factors[2];
}

/* Backwards: candidates that share factors are neighbours. */
static void set_skips(struct plan_temporal_candidate *candidates, size_t count) {
  for (size_t i = count; i-- > 0;) {
    candidates[i].skip_output = candidates[i].skip_first = 1;
    if (i + 1 < count && candidates[i + 1].factors[OUTPUT] == candidates[i].factors[OUTPUT]) {
      candidates[i].skip_output += candidates[i + 1].skip_output;
      candidates[i].skip_first +=
          candidates[i + 1].factors[0] == candidates[i].factors[0] ? candidates[i + 1].skip_first : 0;
    }
  }
}

/* All triples of one axis in ascending order, the output's factor outermost. */
static bool list_candidates(struct plan_temporal *temporal, uint32_t axis) {
  struct plan_temporal_list *list = &temporal->lists[axis];
  list->first = temporal->candidates.count;
  size_t counts[PLAN_ROTATED_MAX];
  const uint16_t *divisors[PLAN_ROTATED_MAX];
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    counts[slot] = usable_divisors(temporal, slot, axis);
    divisors[slot] = temporal->divisors.data + temporal->divisors_of[slot].first;
  }
  for (size_t o = 0; o < counts[OUTPUT]; o++) {
    for (size_t a = 0; a < counts[0]; a++) {
      if (!divides_one_way(divisors[OUTPUT][o], divisors[0][a])) {
        continue;
      }
      for (size_t b = 0; b < counts[1]; b++) {
        struct plan_temporal_candidate candidate = {.factors = {divisors[0][a], divisors[1][b], divisors[OUTPUT][o]}};
        if (!divides_one_way(divisors[OUTPUT][o], divisors[1][b]) || !divides_one_way(divisors[0][a], divisors[1][b])) {
          continue;
        }
        candidate.fill = plan_fill(temporal->lengths[axis], largest(candidate.factors));
        if (candidate.fill >= temporal->min_fill && !vec_push(&temporal->candidates, candidate)) {
          return false;
        }
      }
    }
  }
  list->count = temporal->candidates.count - list->first;
  set_skips(temporal->candidates.data + list->first, list->count);
  return true;
}

/* The order in which candidates were listed. */
static int compare_candidates(const struct plan_temporal_candidate *a, const struct plan_temporal_candidate *b) {
  static const uint8_t significance[PLAN_ROTATED_MAX] = {OUTPUT, 0, 1};
  for (uint32_t i = 0; i < PLAN_ROTATED_MAX; i++) {
    int difference = (int)a->factors[significance[i]] - (int)b->factors[significance[i]];
    if (difference != 0) {
      return difference;
    }
  }
  return 0;
}

static int compare_lists(const struct plan_temporal *temporal, struct plan_temporal_list a,
                         struct plan_temporal_list b) {
  for (size_t i = 0; i < a.count && i < b.count; i++) {
    int order = compare_candidates(&temporal->candidates.data[a.first + i], &temporal->candidates.data[b.first + i]);
    if (order != 0) {
      return order;
    }
  }
  return a.count < b.count ? -1 : a.count > b.count;
}

/* The published search sorts the lists of the axes and then takes the k-th for axis k, so that an axis may get another's
 * factors; only the padding is tested again, with the length of the axis where they landed. */
static void mix_axes(struct plan_temporal *temporal) {
  for (uint32_t i = 1; i < temporal->axis_count; i++) {
    struct plan_temporal_list list = temporal->lists[i];
    uint32_t at = i;
    for (; at > 0 && compare_lists(temporal, list, temporal->lists[at - 1]) < 0; at--) {
      temporal->lists[at] = temporal->lists[at - 1];
    }
    temporal->lists[at] = list;
  }
  for (uint32_t axis = 0; axis < temporal->axis_count; axis++) {
    struct plan_temporal_candidate *candidates = temporal->candidates.data + temporal->lists[axis].first;
    for (size_t i = 0; i < temporal->lists[axis].count; i++) {
      candidates[i].fill = plan_fill(temporal->lengths[axis], largest(candidates[i].factors));
    }
  }
}

struct descent {
  const struct plan_temporal *temporal;
  const struct plan_visitor *visitor;
  struct plan_partition *partition;
};

/* Candidates to go on by: 0 when the candidate divides what is open, which is then in `rest`. */
static size_t take(const struct plan_temporal_candidate *candidate, const uint32_t *open, uint32_t *rest) {
  const size_t skips[PLAN_ROTATED_MAX] = {candidate->skip_first, 1, candidate->skip_output};
  static const uint8_t order[PLAN_ROTATED_MAX] = {OUTPUT, 0, 1};
  for (uint32_t i = 0; i < PLAN_ROTATED_MAX; i++) {
    const uint32_t slot = order[i];
    const uint32_t factor = candidate->factors[slot];
    rest[slot] = factor == 1 ? open[slot] : open[slot] / factor;
    if (rest[slot] * factor != open[slot]) {
      return skips[slot];
    }
  }
  return 0;
}

/* Fills the axes from `axis` on. `open` are the replicas of each tensor not used up by the axes before, `fill` their share.
 * Both only fall, so a prefix that fails cannot be completed. At most PLAN_AXES_MAX deep. */
static bool descend(const struct descent *descent, uint32_t axis, const uint32_t *open, double fill) {
  const struct plan_temporal *temporal = descent->temporal;
  if (axis == temporal->axis_count) {
    return descent->visitor->plan(descent->visitor->context, descent->partition);
  }
  const struct plan_temporal_list list = temporal->lists[axis];
  for (size_t i = 0; i < list.count;) {
    const struct plan_temporal_candidate *candidate = &temporal->candidates.data[list.first + i];
    uint32_t rest[PLAN_ROTATED_MAX] = {0};
    const size_t skip = take(candidate, open, rest);
    const double filled = fill * candidate->fill;
    if (skip == 0 && filled >= temporal->min_fill) {
      for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
        descent->partition->temporal[slot][axis] = candidate->factors[slot];
      }
      if (!descend(descent, axis + 1, rest, filled)) {
        return false;
      }
    }
    i += skip > 0 ? skip : 1;
  }
  return true;
}

enum status plan_temporal_enumerate(struct plan_temporal *temporal, const uint64_t *extents,
                                    const struct plan_visitor *visitor, struct plan_partition *partition, bool *go_on) {
  uint32_t open[PLAN_ROTATED_MAX];
  vec_clear(&temporal->candidates);
  vec_clear(&temporal->divisors);
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    temporal->replicas[slot] = 1;
    for (uint32_t axis = 0; axis < temporal->axis_count; axis++) {
      if (temporal->tensors[slot] != 0 && (temporal->tensors[slot] >> axis & 1) == 0) {
        temporal->replicas[slot] *= partition->spatial[axis];
      }
    }
    open[slot] = (uint32_t)temporal->replicas[slot];
    if (!list_divisors(temporal, slot)) {
      return STATUS_MEMORY;
    }
  }
  for (uint32_t axis = 0; axis < temporal->axis_count; axis++) {
    const uint64_t parts = partition->spatial[axis];
    temporal->lengths[axis] = extents[axis] / parts + (extents[axis] % parts != 0);
  }
  for (uint32_t axis = 0; axis < temporal->axis_count; axis++) {
    if (!list_candidates(temporal, axis)) {
      return STATUS_MEMORY;
    }
  }
  if (temporal->published_axes) {
    mix_axes(temporal);
  }
  const struct descent descent = {.temporal = temporal, .visitor = visitor, .partition = partition};
  *go_on = descend(&descent, 0, open, 1.0);
  return STATUS_OK;
}
