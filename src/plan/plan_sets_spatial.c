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

enum { MOST_VECTORS = 100000 }; /* twice as many: 4 % faster plans of DiT-XL/2 at batch 32, a third more time */

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

static bool uses_enough(const struct sets_search *search, const uint32_t *spatial, double fill) {
  double cores = 1;
  for (uint32_t a = 0; a < search->op->axis_count && a < PLAN_AXES_MAX; a++) {
    cores *= spatial[a];
  }
  return cores >= search->least_cores && fill >= search->least_fill;
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
  for (int is_exact = 0; is_exact < 2 && search->model->bound_vector != NULL; is_exact++) {
    struct plan_bound bound;
    search->model->bound_vector(search->opened, &whole, is_exact != 0, search->bounds, &bound);
    vector.least_ps = bound.shared_ps > bound.exchange_ps ? bound.shared_ps : bound.exchange_ps;
    vector.shared_ps = bound.shared_ps;
    vector.exchange_ps = bound.exchange_ps;
    vector.stages_ps = bound.alone_ps;
    vector.turn_ps = bound.turn_ps;
    if (sets_is_hopeless(search, &vector)) {
      search->plans_pruned++;
      return true;
    }
  }
  return vec_push(&search->vectors, vector);
}

/* The axes before `axis` have their parts; `fill` is the share of points that is not padding so far, `is_fewest`: none has
 * more parts than its length needs. */
struct prefix {
  uint32_t axis;
  uint64_t room; /* cores for the axes that are left */
  double fill;
  bool is_fewest;
};

/* True when no vector that goes on with one of these parts can be new to the front. */
static bool are_hopeless(const struct sets_search *search, const struct prefix *prefix, const uint32_t *spatial,
                         uint32_t fewest_parts, uint32_t most_parts) {
  struct sets_vector most = {.least_ps = 0};
  uint32_t fewest[PLAN_AXES_MAX];
  double reach = (double)search->chip->cores / (double)prefix->room * most_parts; /* cores at most */
  if (search->model->bound_between == NULL) {
    return false;
  }
  memcpy(most.spatial, spatial, sizeof most.spatial);
  memcpy(fewest, spatial, sizeof fewest);
  most.spatial[prefix->axis] = most_parts;
  fewest[prefix->axis] = fewest_parts;
  for (uint32_t a = prefix->axis + 1; a < search->op->axis_count && a < PLAN_AXES_MAX; a++) {
    uint64_t room = prefix->room / fewest_parts, extent = search->op->extents[a];
    most.spatial[a] = (uint32_t)(extent < room ? extent : room);
    fewest[a] = 1;
    reach *= most.spatial[a];
  }
  if (reach < search->least_cores) {
    return true;
  }
  least_sizes(search, &most);
  most.least_ps = search->model->bound_between(search->opened, fewest, most.spatial);
  return sets_is_hopeless(search, &most);
}

static bool add_vectors(struct sets_search *search, const struct parts_list *list, struct prefix prefix,
                        uint32_t *spatial);

/* The parts from `first` to before `end` of the prefix's axis, by halves: whole ranges are hopeless. */
static bool add_range(struct sets_search *search, const struct parts_list *list, const struct prefix *prefix,
                      size_t first, size_t end, uint32_t *spatial) {
  bool is_vector = first + 1 == end && prefix->axis + 1 == search->op->axis_count; /* add_vector looks at it */
  if (!is_vector && are_hopeless(search, prefix, spatial, list->parts.data[first], list->parts.data[end - 1])) {
    search->plans_pruned++;
    return true;
  }
  if (first + 1 < end) {
    size_t middle = first + (end - first) / 2;
    return add_range(search, list, prefix, first, middle, spatial)
           && add_range(search, list, prefix, middle, end, spatial);
  }
  uint64_t extent = search->op->extents[prefix->axis];
  uint32_t parts = list->parts.data[first];
  spatial[prefix->axis] = parts;
  struct prefix longer = {prefix->axis + 1, prefix->room / parts, prefix->fill * sets_fill(extent, parts),
                          prefix->is_fewest && is_allowed(extent, parts, FEWEST_PARTS, 0)};
  bool ok = add_vectors(search, list, longer, spatial);
  spatial[prefix->axis] = 1;
  return ok;
}

static bool add_vectors(struct sets_search *search, const struct parts_list *list, struct prefix prefix,
                        uint32_t *spatial) {
  if (prefix.fill < SETS_LEAST_FILL && !prefix.is_fewest) {
    return true; /* both only get worse */
  }
  if (prefix.axis >= search->op->axis_count || prefix.axis >= PLAN_AXES_MAX) {
    return uses_enough(search, spatial, prefix.fill) ? add_vector(search, spatial) : true;
  }
  size_t first = list->first[prefix.axis], end = first;
  while (end < list->first[prefix.axis + 1] && list->parts.data[end] <= prefix.room) {
    end++;
  }
  return first < end ? add_range(search, list, &prefix, first, end, spatial) : true;
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
  struct prefix none = {.axis = 0, .room = search->chip->cores, .fill = 1, .is_fewest = true};
  ok = ok && add_vectors(search, &list, none, spatial);
  vec_release(&list.parts);
  if (ok && search->vectors.count > 1) {
    qsort(search->vectors.data, search->vectors.count, sizeof *search->vectors.data, compare_vectors);
  }
  return ok ? STATUS_OK : STATUS_MEMORY;
}
