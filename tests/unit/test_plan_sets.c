/* Pareto sets: the pruned search against going through every plan and preload state of small operators, what the options
 * promise, and operators that fit nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "plan_fixture.h"

static const struct plan_features all_features[] = {
    {true, true, true}, {false, true, true}, {true, false, true}, {false, false, true}};

static enum status build(const struct plan_program *program, const struct plan_chip *chip,
                         const struct plan_set_options *options, struct plan_sets *sets) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = plan_sets_build(program, chip, options, &diags, sets);
  assert_int_equal(diags.error_count > 0, status == STATUS_INPUT);
  diag_release(&diags);
  return status;
}

static int64_t duration_of(const struct plan_chain *chain, const struct plan_choice_set *set, uint32_t p, uint32_t e) {
  int64_t distribute = set->distribute_ps[p * set->execute_count + e];
  const struct plan_execute *x = &set->executes[e];
  int64_t body =
      chain->overlaps ? (x->compute_ps > x->shift_ps ? x->compute_ps : x->shift_ps) : x->compute_ps + x->shift_ps;
  return distribute == PLAN_UNREACHABLE ? PLAN_UNREACHABLE : body + x->serial_ps + distribute;
}

static int64_t fastest(const struct plan_chain *chain, uint32_t s) {
  int64_t best = INT64_MAX;
  for (uint32_t p = 0; p < chain->sets[s].preload_count; p++) {
    for (uint32_t e = 0; e < chain->sets[s].execute_count; e++) {
      int64_t duration = duration_of(chain, &chain->sets[s], p, e);
      best = duration < best ? duration : best;
    }
  }
  return best;
}

/* ---- every plan, the plain way ---- */

struct brute {
  const struct plan_program *program;
  const struct plan_operator *op;
  const struct plan_chip *chip;
  struct plan_features features;
  const struct plan_sets *sets;
  plan_axis_mask axes[PLAN_ROTATED_MAX]; /* of the slots' tensors */
  bool loads[PLAN_ROTATED_MAX];
  uint64_t plans, states;
};

static uint64_t length_of(const struct brute *b, const struct plan_partition *p, uint32_t a) {
  return ceil_div_u64(b->op->extents[a], p->spatial[a]);
}

static double filled(uint64_t length, uint64_t parts) {
  return (double)length / (double)(ceil_div_u64(length, parts) * parts);
}

/* Some option is as good: no larger but for a unit of 1/256 of the SRAM, no slower; or twice as fast and hardly larger. */
static void is_covered(const struct brute *b, uint64_t cold, uint64_t hot, int64_t duration) {
  const struct plan_choice_set *set = &b->sets->chain.sets[b->op->sort];
  uint64_t unit = b->chip->sram_bytes / 256 > 0 ? b->chip->sram_bytes / 256 : 1;
  for (uint32_t p = 0; p < set->preload_count; p++) {
    for (uint32_t e = 0; e < set->execute_count; e++) {
      int64_t ours = duration_of(&b->sets->chain, set, p, e);
      uint64_t room = ours <= duration / 2 ? 9 * unit : unit - 1;
      if (ours <= duration && set->preloads[p].cold_bytes <= cold + room && set->executes[e].hot_bytes <= hot + room) {
        return;
      }
    }
  }
  fail_msg("nothing stands for cold %llu hot %llu in %lld ps", (unsigned long long)cold, (unsigned long long)hot,
           (long long)duration);
}

static bool slots_legal(const struct brute *b, const struct plan_partition *p, bool loads_only) {
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    uint64_t pieces = 1, replicas = 1;
    for (uint32_t a = 0; a < b->op->axis_count; a++) {
      pieces *= p->temporal[s][a];
      replicas *= (b->axes[s] >> a & 1U) == 0 ? p->spatial[a] : 1;
    }
    if ((b->axes[s] == 0 && pieces > 1) || replicas % pieces != 0 || (loads_only && !b->loads[s] && pieces > 1)) {
      return false;
    }
  }
  return true;
}

static bool factors_legal(const struct brute *b, const struct plan_partition *p) {
  double fill = 1;
  for (uint32_t a = 0; a < b->op->axis_count; a++) {
    uint64_t most = 1;
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      uint64_t factor = p->temporal[s][a];
      most = factor > most ? factor : most;
      for (uint32_t r = 0; r < s; r++) {
        if (factor % p->temporal[r][a] != 0 && p->temporal[r][a] % factor != 0) {
          return false;
        }
      }
    }
    if (most > length_of(b, p, a)) {
      return false;
    }
    fill *= filled(length_of(b, p, a), most);
  }
  return fill >= 0.9;
}

/* Calls `visit` for all ways to set the factors of the given slots from `index` (slot x axes) on. */
static void each_factors(struct brute *b, struct plan_partition *p, uint32_t index,
                         void (*visit)(struct brute *, struct plan_partition *)) {
  if (index == PLAN_ROTATED_MAX * b->op->axis_count) {
    visit(b, p);
    return;
  }
  uint32_t s = index / b->op->axis_count, a = index % b->op->axis_count;
  uint64_t most = (b->axes[s] >> a & 1) != 0 ? length_of(b, p, a) : 1;
  for (uint64_t factor = 1; factor <= most && factor <= b->chip->cores; factor++) {
    p->temporal[s][a] = (uint16_t)factor;
    each_factors(b, p, index + 1, visit);
  }
  p->temporal[s][a] = 1;
}

static struct plan_tile_cost hot_cost;
static struct plan_partition hot_plan;

static void visit_state(struct brute *b, struct plan_partition *cold) {
  for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
    for (uint32_t a = 0; a < b->op->axis_count; a++) {
      if (filled(length_of(b, cold, a), cold->temporal[s][a]) < 0.9) {
        return;
      }
    }
  }
  if (!slots_legal(b, cold, true)) {
    return;
  }
  int64_t distribute = plan_cost_closed_form.distribute_ps(b->chip, b->program, b->op, cold, &hot_plan);
  if (distribute < 0) {
    return;
  }
  struct plan_preload load;
  plan_cost_closed_form.load(b->chip, b->program, b->op, cold, &load);
  const struct plan_tile_cost *c = &hot_cost;
  int64_t body = c->compute_ps + c->shift_ps;
  if (b->sets->chain.overlaps) {
    body = c->compute_ps > c->shift_ps ? c->compute_ps : c->shift_ps;
  }
  b->states++;
  is_covered(b, load.cold_bytes, c->hot_bytes, body + c->serial_ps + distribute);
}

static void visit_plan(struct brute *b, struct plan_partition *p) {
  if (!slots_legal(b, p, false) || !factors_legal(b, p)
      || !plan_cost_closed_form.tile(b->chip, &b->features, b->program, b->op, p, &hot_cost)) {
    return;
  }
  b->plans++;
  hot_plan = *p;
  struct plan_partition cold = plan_fixture_partition(p->spatial, b->op->axis_count);
  each_factors(b, &cold, 0, visit_state);
}

static void each_vector(struct brute *b, struct plan_partition *p, uint32_t axis, uint64_t room) {
  if (axis >= b->op->axis_count || axis >= PLAN_AXES_MAX) {
    double fill = 1;
    for (uint32_t a = 0; a < axis; a++) {
      fill *= filled(b->op->extents[a], p->spatial[a]);
    }
    if (fill >= 0.9) {
      each_factors(b, p, 0, visit_plan);
    }
    return;
  }
  for (uint64_t parts = 1; parts <= room && parts <= b->op->extents[axis]; parts++) {
    p->spatial[axis] = (uint32_t)parts;
    each_vector(b, p, axis + 1, room / parts);
  }
  p->spatial[axis] = 1;
}

static uint64_t compare_with_all(const struct plan_program *program, const struct plan_chip *chip) {
  uint64_t states = 0;
  for (size_t f = 0; f < sizeof all_features / sizeof all_features[0]; f++) {
    struct plan_sets sets;
    struct plan_set_options options = {.features = all_features[f], .max_executes = 1000, .max_preloads = 1000};
    assert_int_equal(build(program, chip, &options, &sets), STATUS_OK);
    for (size_t i = 0; i < program->operators.count; i++) {
      struct brute b = {.program = program, .op = &program->operators.data[i], .chip = chip, .sets = &sets};
      struct plan_slots slots = plan_slots_of(program, b.op);
      b.features = all_features[f];
      for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
        const struct plan_tensor *t = &program->tensors.data[b.op->tensor_first + slots.tensor[s]];
        b.axes[s] = slots.tensor[s] != UINT8_MAX ? t->axes : 0;
        b.loads[s] = slots.tensor[s] != UINT8_MAX && !t->is_output && t->source == PLAN_SOURCE_MEMORY;
      }
      struct plan_partition p = plan_fixture_partition((const uint32_t[]){1}, 1);
      each_vector(&b, &p, 0, chip->cores);
      assert_true(b.plans > 0 && b.states >= b.plans);
      assert_int_equal(sets.chain.sets[i].loss_ps, 0);
      states += b.states;
    }
    plan_sets_release(&sets);
  }
  return states;
}

static void test_against_all_plans(void **state) {
  (void)state;
  static const uint64_t shapes[][3] = {{4, 12, 10}, {6, 8, 8}, {1, 20, 9}, {16, 5, 4}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    struct plan_program program = {0};
    plan_fixture_add_dot(&program, shapes[i][0], shapes[i][1], shapes[i][2], i % 2 == 0 ? 16 : 4);
    for (uint64_t sram = 200; sram <= 3200; sram *= 4) { /* from scarce to plenty */
      struct plan_chip chip = plan_fixture_chip(12, sram);
      assert_true(compare_with_all(&program, &chip) > 100);
    }
    plan_fixture_release(&program);
  }
}

/* Where a barrier is cheap and links are slow, other plans win. */
static void test_against_all_plans_other_chips(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 6, 8, 12, 16);
  plan_fixture_add_norm(&program, 6, 16);
  struct plan_chip chip = plan_fixture_chip(12, 4000);
  chip.sync_cycles = 1;
  chip.link_Bps = 1e7;
  chip.matrix_load_cycles = chip.matrix_column_cycles = chip.matrix_call_cycles = 1;
  assert_true(compare_with_all(&program, &chip) > 100);
  chip.cores_per_chip = 4;
  chip.cross_chip_factor = 2;
  plan_chip_set_topology(&chip, PLAN_MESH_2D, 3, 4);
  chip.exchange_factor = 2;
  assert_true(compare_with_all(&program, &chip) > 100);
  plan_fixture_release(&program);
}

/* C[b, m, n] = A[b, m, k] B[b, n, k] + w[b, n]: four axes, and a third input that is never cut. */
static void add_batched(struct plan_program *program, const uint64_t *extents, uint8_t b_source) {
  enum { B = 1, M = 2, N = 4, K = 8 };
  const struct plan_tensor tensors[] = {
      {.axes = B | M | K, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .producer = 1},
      {.axes = B | N | K, .element_bits = 16, .source = b_source, .producer = b_source == PLAN_SOURCE_CHIP},
      {.axes = B | N, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .producer = 1},
      {.axes = B | M | N, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .is_output = true},
  };
  const struct plan_stage stages[] = {
      {.kind = PLAN_STAGE_MATRIX,
       .axes = B | M | N | K,
       .reduced = K,
       .left = B | M | K,
       .right = B | N | K,
       .result_bits = 32,
       .operations = 1},
      {.kind = PLAN_STAGE_ELEMENTWISE, .axes = B | M | N, .result_bits = 16, .operations = 1},
  };
  plan_fixture_add(program, 4, extents, 4, tensors, 2, stages);
}

static void test_against_all_plans_four_axes(void **state) {
  (void)state;
  static const uint64_t extents[][4] = {{2, 4, 6, 4}, {3, 2, 5, 4}};
  uint64_t states = 0;
  for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
    struct plan_program program = {0};
    add_batched(&program, extents[i], i == 0 ? PLAN_SOURCE_MEMORY : PLAN_SOURCE_CHIP);
    for (uint64_t sram = 150; sram <= 2400; sram *= 4) {
      struct plan_chip chip = plan_fixture_chip(8, sram);
      states += compare_with_all(&program, &chip);
    }
    plan_fixture_release(&program);
  }
  assert_true(states > 1000);
}

/* ---- the published rules ---- */

static uint64_t fewest_cores(const struct plan_sets *sets, uint32_t s) {
  uint64_t fewest = UINT64_MAX;
  for (uint32_t e = 0; e < sets->chain.sets[s].execute_count; e++) {
    uint64_t cores = plan_partition_cores(&sets->sets.data[s].executes[e]);
    fewest = cores < fewest ? cores : fewest;
  }
  return fewest;
}

static double rules_least(const struct plan_operator *op, const struct plan_chip *chip) {
  struct plan_space space = {.axis_count = op->axis_count, .cores = chip->cores};
  double cores, fill;
  memcpy(space.extents, op->extents, sizeof space.extents);
  plan_rules_least(&space, &plan_rules_legal, &cores, &fill);
  return cores;
}

/* Without idle cores every option uses what the rules ask for; barriers are dear, so that with them few cores win. */
static void test_rules(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 4, 8, 640, 16); /* 32 cores without sums */
  plan_fixture_add_norm(&program, 16, 200);
  struct plan_chip chip = plan_fixture_chip(64, 64 << 10);
  chip.sync_cycles = 20000;
  struct plan_sets sets[2];
  for (uint32_t k = 0; k < 2; k++) {
    struct plan_set_options options = {.features = {true, true, k == 0}};
    assert_int_equal(build(&program, &chip, &options, &sets[k]), STATUS_OK);
  }
  for (uint32_t s = 0; s < 2; s++) {
    double least = rules_least(&program.operators.data[s], &chip);
    assert_true(least > 20);
    assert_true((double)fewest_cores(&sets[0], s) < least);
    assert_true((double)fewest_cores(&sets[1], s) >= least);
  }
  plan_sets_release(&sets[0]);
  plan_sets_release(&sets[1]);
  plan_fixture_release(&program);
}

/* A model on which only plans of at most four cores fit, and that knows no bounds. */
static bool price_few_cores(const void *opened, const struct plan_partition *partition, struct plan_tile_cost *cost) {
  return plan_cost_closed_form.price(opened, partition, cost) && plan_partition_cores(partition) <= 4;
}

static void test_rules_fall_back(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 12, 16, 16);
  struct plan_chip chip = plan_fixture_chip(16, 64 << 10);
  struct plan_cost_model model = plan_cost_closed_form;
  model.price = price_few_cores;
  model.bound_vector = NULL;
  model.bound_pieces = NULL;
  model.bound_turns = NULL;
  model.bound_between = NULL;
  int64_t fastest_ps[2];
  assert_true(rules_least(&program.operators.data[0], &chip) > 1);
  for (uint32_t k = 0; k < 2; k++) {
    struct plan_sets sets;
    struct plan_set_options options = {.features = {true, true, k == 0}, .model = &model};
    assert_int_equal(build(&program, &chip, &options, &sets), STATUS_OK);
    fastest_ps[k] = fastest(&sets.chain, 0);
    for (uint32_t e = 0; e < sets.chain.sets[0].execute_count; e++) {
      assert_true(plan_partition_cores(&sets.sets.data[0].executes[e]) <= 4);
    }
    plan_sets_release(&sets);
  }
  assert_true(fastest_ps[0] == fastest_ps[1]); /* all plans again, not those of the rules */
  plan_fixture_release(&program);
}

/* ---- promises of the options ---- */

static void check_set(const struct plan_chain *chain, uint32_t s, const struct plan_set *set) {
  const struct plan_choice_set *c = &chain->sets[s];
  assert_true(c->execute_count > 0 && c->preload_count > 0);
  for (uint32_t e = 0; e < c->execute_count; e++) {
    assert_true(e == 0 || c->executes[e - 1].hot_bytes <= c->executes[e].hot_bytes);
    assert_true(c->executes[e].hot_bytes <= chain->sram_bytes);
  }
  for (uint32_t p = 0; p < c->preload_count; p++) {
    bool reaches = false;
    assert_true(p == 0 || c->preloads[p - 1].cold_bytes <= c->preloads[p].cold_bytes);
    for (uint32_t e = 0; e < c->execute_count; e++) {
      bool is_reached = c->distribute_ps[p * c->execute_count + e] != PLAN_UNREACHABLE;
      reaches = reaches || is_reached;
      assert_true(!is_reached || c->executes[e].hot_bytes >= c->preloads[p].cold_bytes);
      bool is_same_grid =
          memcmp(set->preloads[p].spatial, set->executes[e].spatial, sizeof set->executes->spatial) == 0;
      assert_true(!is_reached || is_same_grid || c->preloads[p].cold_bytes == 0);
    }
    assert_true(reaches);
  }
}

static void test_promises(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 32, 512, 320, 16);
  plan_fixture_add_norm(&program, 32, 512);
  plan_fixture_add_dot(&program, 32, 320, 512, 8);
  struct plan_chip chip = plan_fixture_chip(64, 64 << 10);
  for (uint32_t limit = 2; limit <= 32; limit *= 4) {
    struct plan_sets sets, parallel;
    struct plan_set_options options = {.features = all_features[0], .max_executes = limit, .max_preloads = limit};
    assert_int_equal(build(&program, &chip, &options, &sets), STATUS_OK);
    assert_int_equal(sets.chain.step_count, 3);
    options.threads = 2;
    assert_int_equal(build(&program, &chip, &options, &parallel), STATUS_OK);
    for (uint32_t s = 0; s < sets.chain.set_count; s++) {
      const struct plan_choice_set *a = &sets.chain.sets[s], *b = &parallel.chain.sets[s];
      check_set(&sets.chain, s, &sets.sets.data[s]);
      assert_true(a->execute_count <= limit && a->preload_count <= limit);
      assert_int_equal(a->execute_count, b->execute_count);
      assert_memory_equal(a->executes, b->executes, a->execute_count * sizeof *a->executes);
      assert_memory_equal(sets.sets.data[s].executes, parallel.sets.data[s].executes,
                          a->execute_count * sizeof *sets.sets.data[s].executes);
    }
    plan_sets_release(&sets);
    plan_sets_release(&parallel);
  }
  plan_fixture_release(&program);
}

/* More SRAM, more cores of the same sort, tree reductions and overlap never make the best plan slower. */
static void test_monotone(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 16, 256, 192, 16);
  plan_fixture_add_norm(&program, 16, 256);
  int64_t last[2] = {INT64_MAX, INT64_MAX};
  for (uint64_t sram = 3000; sram < 200000; sram = sram * 3 / 2) {
    int64_t with[4][2];
    for (size_t f = 0; f < 4; f++) {
      struct plan_chip chip = plan_fixture_chip(48, sram);
      struct plan_sets sets;
      assert_int_equal(build(&program, &chip, &(struct plan_set_options){.features = all_features[f]}, &sets),
                       STATUS_OK);
      with[f][0] = fastest(&sets.chain, 0);
      with[f][1] = fastest(&sets.chain, 1);
      plan_sets_release(&sets);
    }
    for (uint32_t s = 0; s < 2; s++) {
      assert_true(with[0][s] <= with[1][s] && with[2][s] <= with[3][s]); /* tree */
      assert_true(with[0][s] <= with[2][s] && with[1][s] <= with[3][s]); /* overlap */
      assert_true(with[0][s] <= last[s]);
      last[s] = with[0][s];
    }
  }
  plan_fixture_release(&program);
}

/* A norm over a long row: its axis goes over cores, and the tree makes that pay. */
static void test_norm_splits_row(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_norm(&program, 4, 65536);
  struct plan_chip chip = plan_fixture_chip(1024, 1 << 20);
  struct plan_sets tree, linear;
  assert_int_equal(build(&program, &chip, &(struct plan_set_options){.features = all_features[0]}, &tree), STATUS_OK);
  assert_int_equal(build(&program, &chip, &(struct plan_set_options){.features = all_features[1]}, &linear), STATUS_OK);
  assert_true(fastest(&tree.chain, 0) < fastest(&linear.chain, 0));
  const struct plan_set *set = &tree.sets.data[0];
  bool splits = false;
  for (uint32_t e = 0; e < tree.chain.sets[0].execute_count; e++) {
    splits = splits || set->executes[e].spatial[1] >= 16;
  }
  assert_true(splits);
  plan_sets_release(&tree);
  plan_sets_release(&linear);
  plan_fixture_release(&program);
}

static void test_too_large(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 4, 64, 64, 16);
  plan_fixture_add_dot(&program, 4, 1024, 1024, 16);
  struct plan_chip chip = plan_fixture_chip(16, 4096);
  struct plan_sets sets;
  struct diag_list diags;
  diag_init(&diags);
  struct plan_set_options options = {.features = all_features[0]};
  assert_int_equal(plan_sets_build(&program, &chip, &options, &diags, &sets), STATUS_INPUT);
  assert_int_equal(diags.entries.count, 1);
  assert_string_equal(diag_code(diags.entries.data[0].id), "E0804");
  assert_non_null(strstr(diags.entries.data[0].message, "operator 1 "));
  plan_sets_release(&sets);
  diag_release(&diags);
  /* what it says would do does, and a byte less does not */
  const char *text = "";
  diag_init(&diags);
  (void)plan_sets_build(&program, &chip, &options, &diags, &sets);
  text = strstr(diags.entries.data[0].message, "would do is ");
  assert_non_null(text);
  uint64_t smallest = strtoull(text + strlen("would do is "), NULL, 10);
  plan_sets_release(&sets);
  diag_release(&diags);
  chip.sram_bytes = smallest;
  assert_int_equal(build(&program, &chip, &options, &sets), STATUS_OK);
  plan_sets_release(&sets);
  chip.sram_bytes = smallest - 1;
  assert_int_equal(build(&program, &chip, &options, &sets), STATUS_INPUT);
  plan_sets_release(&sets);
  plan_fixture_release(&program);
}

/* Without off-chip memory all tensors are resident and nothing is loaded. */
static void test_resident(void **state) {
  (void)state;
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 4, 64, 64, 16);
  plan_fixture_add_dot(&program, 4, 32, 64, 16);
  struct plan_chip chip = plan_fixture_chip(16, 4096);
  chip.has_memory = false;
  struct plan_sets sets;
  struct plan_set_options options = {.features = all_features[0]};
  assert_int_equal(build(&program, &chip, &options, &sets), STATUS_OK);
  for (uint32_t s = 0; s < 2; s++) {
    assert_int_equal(sets.chain.sets[s].preload_count, 1);
    assert_int_equal(sets.chain.sets[s].preloads[0].memory_ps, 0);
    assert_int_equal(sets.chain.sets[s].preloads[0].cold_bytes, 0);
  }
  /* beside the second operator lie the first one's 8 KiB over 16 cores, and the other way round; and the first one's result
   * of 4 x 64 numbers of 2 bytes, which the second reads */
  assert_int_equal(sets.chain.steps[1].live_bytes, 512 + 32);
  assert_int_equal(sets.chain.steps[0].live_bytes, 256 + 32);
  plan_sets_release(&sets);
  chip.sram_bytes = 760; /* less than both need */
  assert_int_equal(build(&program, &chip, &options, &sets), STATUS_INPUT);
  plan_sets_release(&sets);
  plan_fixture_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_all_plans),
      cmocka_unit_test(test_against_all_plans_other_chips),
      cmocka_unit_test(test_against_all_plans_four_axes),
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_rules_fall_back),
      cmocka_unit_test(test_promises),
      cmocka_unit_test(test_monotone),
      cmocka_unit_test(test_norm_splits_row),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_resident),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
