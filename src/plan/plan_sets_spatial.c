/* The spatial vectors of an operator: how many parts each axis may be cut into, and the least that any plan on a vector
 * costs, by which the search goes from promising to hopeless.
 *
 * First come divisors alone, so that the front is good before the many others are looked at: those that it beats already are
 * not even listed.
 *
 * Vectors: all with at least 0.9 of the padded points in use, and all of the fewest parts for each axis's local length.
 * Operators of many axes (fused ones) have too many of them; they fall back in steps to the fewest parts alone, to divisors,
 * and to divisors that are at least doublings. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/plan_sets_int.h"

enum { MOST_VECTORS = 200000 };

enum coarseness { ALL_PARTS, FEWEST_PARTS, WELL_FILLED, DIVISORS, DOUBLINGS, COARSENESS_COUNT };

struct parts_list {
  VEC(uint32_t) parts; /* of all axes, one after the other, each ascending */
  size_t first[PLAN_AXES_MAX + 1];
};

static bool is_allowed(uint64_t extent, uint64_t parts, enum coarseness coarseness, uint64_t last) {
  bool is_fewest = parts == ceil_div_u64(extent, ceil_div_u64(extent, parts));
  switch (coarseness) {
  case ALL_PARTS:
    return is_fewest || sets_fill(extent, parts) >= SETS_LEAST_FILL;
  case FEWEST_PARTS:
    return is_fewest;
  case WELL_FILLED:
    return is_fewest && sets_fill(extent, parts) >= 0.97;
  case DIVISORS:
    return extent % parts == 0;
  default:
    return parts == 1 || (extent % parts == 0 && parts >= 2 * last);
  }
}

static bool list_parts(const struct sets_search *search, enum coarseness coarseness, struct parts_list *list) {
  vec_clear(&list->parts);
  for (uint32_t a = 0; a < search->op->axis_count; a++) {
    list->first[a] = list->parts.count;
    uint64_t extent = search->op->extents[a];
    uint64_t most = extent < search->chip->cores ? extent : search->chip->cores;
    uint64_t last = 0;
    for (uint64_t p = 1; p <= most; p++) {
      if (is_allowed(extent, p, coarseness, last)) {
        if (!vec_push(&list->parts, (uint32_t)p)) {
          return false;
        }
        last = p;
      }
    }
  }
  list->first[search->op->axis_count] = list->parts.count;
  return true;
}

/* Number of combinations with a product of at most `room`, counted no further than `limit`. */
static uint64_t count_vectors(const struct parts_list *list, uint32_t axis, uint32_t axis_count, uint64_t room,
                              uint64_t limit) {
  uint64_t count = 0;
  if (axis >= PLAN_AXES_MAX) { /* never: axis < axis_count; the compiler cannot know */
    return 1;
  }
  for (size_t i = list->first[axis]; i < list->first[axis + 1] && count <= limit; i++) {
    uint32_t parts = list->parts.data[i];
    if (parts > room) {
      break;
    }
    count += axis + 1 == axis_count ? 1 : count_vectors(list, axis + 1, axis_count, room / parts, limit - count);
  }
  return count;
}

/* Smallest sizes that any choice of temporal factors leaves: a tensor that may be cut into R pieces keeps one, two while it
 * rotates. */
static void least_sizes(const struct sets_search *search, struct sets_vector *vector) {
  const struct plan_tensor *tensors = &search->program->tensors.data[search->op->tensor_first];
  vector->least_hot_bytes = vector->least_cold_bytes = 0;
  for (uint32_t t = 0; t < search->op->tensor_count; t++) {
    uint64_t elements = 1, replicas = 1;
    for (uint32_t a = 0; a < search->op->axis_count; a++) {
      if (sets_has_axis(tensors[t].axes, a)) {
        elements = sat_mul_u64(elements, ceil_div_u64(search->op->extents[a], vector->spatial[a]));
      } else {
        replicas = sat_mul_u64(replicas, vector->spatial[a]);
      }
    }
    uint64_t whole = ceil_div_u64(sat_mul_u64(elements, tensors[t].element_bits), 8);
    bool is_cut = false;
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      is_cut = is_cut || (search->slots.tensor[s] == t && search->slot_axes[s] != 0);
    }
    uint64_t piece = is_cut ? whole / replicas : whole;
    uint64_t rotating = sat_mul_u64(piece, 2) < whole ? 2 * piece : whole;
    vector->least_hot_bytes = sat_add_u64(vector->least_hot_bytes, is_cut ? rotating : whole);
    if (!tensors[t].is_output && tensors[t].source == PLAN_SOURCE_MEMORY) {
      vector->least_cold_bytes = sat_add_u64(vector->least_cold_bytes, piece);
    }
  }
}

static bool add_vector(struct sets_search *search, const uint32_t *spatial) {
  struct sets_vector vector = {.least_ps = 0};
  struct plan_partition whole;
  memcpy(vector.spatial, spatial, sizeof vector.spatial);
  memcpy(whole.spatial, spatial, sizeof whole.spatial);
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
      whole.temporal[s][a] = 1;
    }
  }
  least_sizes(search, &vector);
  for (uint64_t pieces = 0; pieces < 2 && search->model->bound != NULL; pieces++) { /* coarse, then exact */
    struct plan_bound bound;
    search->model->bound(search->chip, &search->features, search->program, search->op, &whole, PLAN_ROTATED_MAX, pieces,
                         &bound);
    vector.least_ps = bound.shared_ps;
    vector.stages_ps = bound.alone_ps;
    vector.turn_ps = bound.turn_ps;
    if (sets_is_hopeless(search, &vector)) {
      search->plans_pruned++;
      return true;
    }
  }
  return vec_push(&search->vectors, vector);
}

/* `fill` is the share of points that is not padding so far, `is_fewest`: no axis has more parts than its length needs. */
static bool add_vectors(struct sets_search *search, const struct parts_list *list, uint32_t axis, uint64_t room,
                        double fill, bool is_fewest, uint32_t *spatial) {
  if (axis >= search->op->axis_count || axis >= PLAN_AXES_MAX) {
    return fill >= SETS_LEAST_FILL || is_fewest ? add_vector(search, spatial) : true;
  }
  uint64_t extent = search->op->extents[axis];
  for (size_t i = list->first[axis]; i < list->first[axis + 1] && list->parts.data[i] <= room; i++) {
    uint32_t parts = list->parts.data[i];
    spatial[axis] = parts;
    if (!add_vectors(search, list, axis + 1, room / parts, fill * sets_fill(extent, parts),
                     is_fewest && is_allowed(extent, parts, FEWEST_PARTS, 0), spatial)) {
      return false;
    }
  }
  return true;
}

static int compare_vectors(const void *a, const void *b) {
  const struct sets_vector *x = a, *y = b;
  if (x->least_ps != y->least_ps) {
    return x->least_ps < y->least_ps ? -1 : 1;
  }
  if (x->least_hot_bytes != y->least_hot_bytes) {
    return x->least_hot_bytes < y->least_hot_bytes ? -1 : 1;
  }
  for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
    if (x->spatial[axis] != y->spatial[axis]) {
      return x->spatial[axis] < y->spatial[axis] ? -1 : 1;
    }
  }
  return 0;
}

enum status sets_list_vectors(struct sets_search *search, bool is_first) {
  struct parts_list list = {0};
  bool ok = true;
  enum coarseness coarseness = is_first ? DIVISORS : search->op->axis_count <= 4 ? ALL_PARTS : FEWEST_PARTS;
  for (;; coarseness++) {
    ok = list_parts(search, coarseness, &list);
    if (!ok || coarseness + 1 == COARSENESS_COUNT
        || count_vectors(&list, 0, search->op->axis_count, search->chip->cores, MOST_VECTORS) <= MOST_VECTORS) {
      break;
    }
  }
  uint32_t spatial[PLAN_AXES_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
  vec_clear(&search->vectors);
  ok = ok && add_vectors(search, &list, 0, search->chip->cores, 1, true, spatial);
  vec_release(&list.parts);
  if (ok && search->vectors.count > 1) {
    qsort(search->vectors.data, search->vectors.count, sizeof *search->vectors.data, compare_vectors);
  }
  return ok ? STATUS_OK : STATUS_MEMORY;
}
