/* Enumeration of partition plans: the published counts, and small spaces against a search that prunes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_partition.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { M = 1, N = 2, K = 4 }; /* axes of a product */

static const plan_axis_mask product[PLAN_ROTATED_MAX] = {M | K, N | K, M | N};

static bool count_plan(void *context, const struct plan_partition *partition) {
  (void)partition;
  ++*(uint64_t *)context;
  return true;
}

static uint64_t count_plans(const struct plan_space *space, const struct plan_rules *rules) {
  uint64_t count = 0;
  const struct plan_visitor visitor = {.plan = count_plan, .context = &count};
  assert_int_equal(plan_partition_enumerate(space, rules, &visitor), STATUS_OK);
  return count;
}

/* The products of Llama-2-13B's decode step, batch 32, on 4 x 1472 cores. Counts: elk.md sections 3 and 9, items 3 and 4. */
static void test_published_counts(void **state) {
  (void)state;
  enum { B = 1, H = 2, Q = 4, S = 8, D = 16 }; /* axes of the attention products; D is summed */
  static const struct {
    const char *name;
    struct plan_space space;
    uint64_t published, legal;
  } rows[] = {
      {"qkv", {3, {32, 15360, 5120}, 3, {M | K, N | K, M | N}, 5888}, 618935, 1129147},
      {"qk", {5, {32, 40, 1, 2048, 128}, 3, {B | H | Q | D, B | H | S | D, B | H | Q | S}, 5888}, 98561, 500462},
      {"av", {5, {32, 40, 1, 128, 2048}, 3, {B | H | Q | D, B | H | S | D, B | H | Q | S}, 5888}, 93575, 500462},
      {"o", {3, {32, 5120, 5120}, 3, {M | K, N | K, M | N}, 5888}, 548267, 988397},
      {"gate+up", {3, {32, 27648, 5120}, 3, {M | K, N | K, M | N}, 5888}, 639225, 1171926},
      {"down", {3, {32, 5120, 13824}, 3, {M | K, N | K, M | N}, 5888}, 594093, 1063336},
      {"head", {3, {32, 32000, 5120}, 3, {M | K, N | K, M | N}, 5888}, 652860, 1197703},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    print_message("%s\n", rows[i].name);
    assert_int_equal(count_plans(&rows[i].space, &plan_rules_published), rows[i].published);
    assert_int_equal(count_plans(&rows[i].space, &plan_rules_legal), rows[i].legal);
  }
}

struct plan_list {
  struct plan_partition *plans;
  size_t count, capacity;
};

static bool keep_plan(void *context, const struct plan_partition *partition) {
  struct plan_list *list = context;
  if (list->count == list->capacity) {
    list->capacity = list->capacity * 2 + 1024;
    list->plans = realloc(list->plans, list->capacity * sizeof *list->plans);
    assert_non_null(list->plans);
  }
  list->plans[list->count++] = *partition;
  return true;
}

/* Ascending spatial vectors, then ascending factors: axis by axis, of the output first. */
static int compare_plans(const void *left, const void *right) {
  const struct plan_partition *a = left;
  const struct plan_partition *b = right;
  for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
    if (a->spatial[axis] != b->spatial[axis]) {
      return a->spatial[axis] < b->spatial[axis] ? -1 : 1;
    }
  }
  for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
    static const uint8_t slots[PLAN_ROTATED_MAX] = {2, 0, 1};
    for (uint32_t i = 0; i < PLAN_ROTATED_MAX; i++) {
      const int difference = (int)a->temporal[slots[i]][axis] - (int)b->temporal[slots[i]][axis];
      if (difference != 0) {
        return difference;
      }
    }
  }
  return 0;
}

/* The definitions, one after the other, for spaces so small that everything can be tried. */
struct brute {
  const struct plan_space *space;
  const struct plan_rules *rules;
  double min_cores, min_fill;
  plan_axis_mask masks[PLAN_ROTATED_MAX];
  uint32_t lengths[PLAN_AXES_MAX], replicas[PLAN_ROTATED_MAX];
  uint16_t triples[PLAN_AXES_MAX][4096][PLAN_ROTATED_MAX];
  uint32_t counts[PLAN_AXES_MAX], source[PLAN_AXES_MAX];
  struct plan_partition partition;
  struct plan_list found;
};

static double fill_of(double extent, uint32_t parts) {
  double length = (double)(((uint32_t)extent + parts - 1) / parts);
  return extent / (length * parts);
}

static double smaller(double a, double b) {
  return a < b ? a : b;
}

static uint16_t max3(const uint16_t *t) {
  uint16_t m = t[0] > t[1] ? t[0] : t[1];
  return m > t[2] ? m : t[2];
}

static bool chained(uint16_t a, uint16_t b) {
  return a % b == 0 || b % a == 0;
}

static bool admissible(const struct brute *b, uint32_t axis, const uint16_t *t) {
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    const bool owns = (b->masks[slot] >> axis & 1) != 0;
    if (b->replicas[slot] % t[slot] != 0 || (!owns && t[slot] != 1)) {
      return false;
    }
  }
  return chained(t[0], t[1]) && chained(t[0], t[2]) && chained(t[1], t[2]) && max3(t) <= b->lengths[axis]
         && fill_of(b->lengths[axis], max3(t)) >= b->min_fill;
}

static void list_triples(struct brute *b, uint32_t axis) {
  b->counts[axis] = 0;
  const uint16_t most = (uint16_t)b->space->cores;
  for (uint16_t o = 1; o <= most; o++) {
    for (uint16_t a = 1; a <= most; a++) {
      for (uint16_t c = 1; c <= most; c++) {
        const uint16_t t[PLAN_ROTATED_MAX] = {a, c, o};
        if (admissible(b, axis, t)) {
          assert_true(b->counts[axis] < 4096);
          memcpy(b->triples[axis][b->counts[axis]++], t, sizeof t);
        }
      }
    }
  }
}

/* True when the list of axis x sorts before that of y. */
static bool list_before(const struct brute *b, uint32_t x, uint32_t y) {
  for (uint32_t i = 0; i < b->counts[x] && i < b->counts[y]; i++) {
    const uint16_t *s = b->triples[x][i];
    const uint16_t *t = b->triples[y][i];
    const uint16_t left[] = {s[2], s[0], s[1]};
    const uint16_t right[] = {t[2], t[0], t[1]};
    for (uint32_t k = 0; k < 3; k++) {
      if (left[k] != right[k]) {
        return left[k] < right[k];
      }
    }
  }
  return b->counts[x] < b->counts[y];
}

static void choose_triples(struct brute *b, uint32_t axis) {
  if (axis < b->space->axis_count) {
    const uint32_t from = b->source[axis];
    for (uint32_t i = 0; i < b->counts[from]; i++) {
      for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
        b->partition.temporal[slot][axis] = b->triples[from][i][slot];
      }
      choose_triples(b, axis + 1);
    }
    return;
  }
  double fill = 1.0;
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    uint32_t pieces = 1;
    for (uint32_t a = 0; a < b->space->axis_count; a++) {
      pieces *= b->partition.temporal[slot][a];
    }
    if (b->replicas[slot] % pieces != 0) {
      return;
    }
  }
  for (uint32_t a = 0; a < b->space->axis_count; a++) {
    const uint16_t t[] = {b->partition.temporal[0][a], b->partition.temporal[1][a], b->partition.temporal[2][a]};
    fill *= fill_of(b->lengths[a], max3(t));
  }
  if (fill >= b->min_fill) {
    keep_plan(&b->found, &b->partition);
  }
}

static void rotate_all(struct brute *b) {
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    b->replicas[slot] = 1;
    for (uint32_t axis = 0; axis < b->space->axis_count; axis++) {
      const bool lacks = b->masks[slot] != 0 && (b->masks[slot] >> axis & 1) == 0;
      b->replicas[slot] *= lacks ? b->partition.spatial[axis] : 1;
    }
  }
  const uint32_t axes = b->space->axis_count;
  for (uint32_t axis = 0; axis < axes; axis++) {
    list_triples(b, axis);
    b->source[axis] = axis;
  }
  for (uint32_t i = 0; i < axes && b->rules->published_axes; i++) {
    for (uint32_t j = 0; j + 1 < axes; j++) {
      if (list_before(b, b->source[j + 1], b->source[j])) {
        const uint32_t other = b->source[j];
        b->source[j] = b->source[j + 1];
        b->source[j + 1] = other;
      }
    }
  }
  choose_triples(b, 0);
}

static void split_all(struct brute *b, uint32_t axis) {
  if (axis < b->space->axis_count) {
    for (uint32_t parts = 1; parts <= b->space->extents[axis]; parts++) {
      b->partition.spatial[axis] = parts;
      split_all(b, axis + 1);
    }
    return;
  }
  double fill = 1.0;
  uint32_t cores = 1;
  for (uint32_t a = 0; a < b->space->axis_count; a++) {
    cores *= b->partition.spatial[a];
    fill *= fill_of((double)b->space->extents[a], b->partition.spatial[a]);
    b->lengths[a] = ((uint32_t)b->space->extents[a] + b->partition.spatial[a] - 1) / b->partition.spatial[a];
  }
  if (cores <= b->space->cores && cores >= b->min_cores && fill >= b->min_fill) {
    rotate_all(b);
  }
}

static void brute_force(struct brute *b, const struct plan_space *space, const struct plan_rules *rules) {
  memset(b, 0, sizeof *b);
  b->space = space;
  b->rules = rules;
  double points = 1.0;
  double longest = 0.0;
  for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
    b->partition.spatial[axis] = 1;
    for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
      b->partition.temporal[slot][axis] = 1;
    }
    if (axis < space->axis_count) {
      points *= (double)space->extents[axis];
      longest = (double)space->extents[axis] > longest ? (double)space->extents[axis] : longest;
    }
  }
  const double by_extent = longest * space->axis_count / 220.0;
  b->min_cores = space->cores * rules->utilisation * smaller(points / (points + 2.0 * space->cores), by_extent);
  b->min_fill = rules->padding * smaller(points / (points + space->cores), by_extent);
  for (uint32_t tensor = 0; tensor < space->tensor_count; tensor++) {
    b->masks[tensor + 1 == space->tensor_count ? 2 : tensor] = space->tensors[tensor];
  }
  split_all(b, 0);
}

static const struct plan_space small_spaces[] = {
    {3, {4, 6, 5}, 3, {M | K, N | K, M | N}, 12},
    {3, {7, 12, 12}, 3, {M | K, N | K, M | N}, 16},
    {3, {2, 90, 3}, 3, {M | K, N | K, M | N}, 18}, /* an extent that makes the thresholds bite */
    {4, {3, 4, 2, 6}, 3, {1 | 2 | 8, 1 | 4 | 8, 1 | 2 | 4}, 12}, /* a batch of products */
    {2, {9, 8}, 2, {M | N, M}, 12}, /* a reduction: two tensors */
    {3, {6, 1, 8}, 3, {7, 4, 7}, 16}, /* a broadcast operand */
    {2, {5, 4}, 3, {0, 3, 3}, 8}, /* a scalar operand */
    {1, {10}, 1, {1}, 8},
};
static const struct plan_rules all_rules[] = {{0.9, 0.9, true}, {0.9, 0.9, false}, {0.0, 0.0, false}, {0.0, 0.0, true}};

static void test_brute_force(void **state) {
  (void)state;
  struct brute *brute = malloc(sizeof *brute);
  assert_non_null(brute);
  size_t compared = 0;
  for (size_t i = 0; i < COUNT(small_spaces); i++) {
    for (size_t r = 0; r < COUNT(all_rules); r++) {
      brute_force(brute, &small_spaces[i], &all_rules[r]);
      struct plan_list list = {0};
      const struct plan_visitor visitor = {.plan = keep_plan, .context = &list};
      assert_int_equal(plan_partition_enumerate(&small_spaces[i], &all_rules[r], &visitor), STATUS_OK);
      assert_int_equal(list.count, brute->found.count);
      for (size_t k = 0; k < list.count; k++) {
        assert_int_equal(compare_plans(&list.plans[k], &brute->found.plans[k]), 0);
      }
      compared += list.count;
      free(list.plans);
      free(brute->found.plans);
    }
  }
  assert_true(compared > 2000);
  print_message("%zu plans compared\n", compared);
  free(brute);
}

/* Strictly ascending order: no plan comes twice. Legal plans cut a tensor along its own axes only. */
static void test_ascending_and_legal(void **state) {
  (void)state;
  const struct plan_space space = {3, {32, 640, 320}, 3, {M | K, N | K, M | N}, 368};
  struct plan_list list = {0};
  const struct plan_visitor visitor = {.plan = keep_plan, .context = &list};
  assert_int_equal(plan_partition_enumerate(&space, &plan_rules_legal, &visitor), STATUS_OK);
  assert_true(list.count > 1000);
  for (size_t i = 0; i < list.count; i++) {
    assert_true(i == 0 || compare_plans(&list.plans[i - 1], &list.plans[i]) < 0);
    assert_true(plan_partition_cores(&list.plans[i]) <= space.cores);
    for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
      for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
        const bool owns = (product[slot] >> axis & 1) != 0;
        assert_true(owns || list.plans[i].temporal[slot][axis] == 1);
      }
    }
  }
  free(list.plans);
}

struct stopped {
  uint64_t vectors, plans;
};

static bool skip_vectors(void *context, const uint32_t *spatial) {
  ((struct stopped *)context)->vectors++;
  return spatial[0] == 4;
}

static bool take_on_four(void *context, const struct plan_partition *partition) {
  assert_int_equal(partition->spatial[0], 4);
  return ++((struct stopped *)context)->plans < 50;
}

static void test_visitor_prunes_and_ends(void **state) {
  (void)state;
  const struct plan_space space = {3, {32, 640, 320}, 3, {M | K, N | K, M | N}, 368};
  struct stopped stopped = {0};
  const struct plan_visitor visitor = {.spatial = skip_vectors, .plan = take_on_four, .context = &stopped};
  assert_int_equal(plan_partition_enumerate(&space, &plan_rules_legal, &visitor), STATUS_OK);
  assert_int_equal(stopped.plans, 50);
  assert_true(stopped.vectors > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published_counts),
      cmocka_unit_test(test_brute_force),
      cmocka_unit_test(test_ascending_and_legal),
      cmocka_unit_test(test_visitor_prunes_and_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
