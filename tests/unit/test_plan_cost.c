/* The closed-form cost model against values worked out by hand on a chip of round numbers: a cycle, and a byte through a
 * core's port, take a nanosecond each; a barrier takes 100. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan_cost.h"
#include "plan/plan_tile.h"
#include "plan_fixture.h"

static const struct plan_features everything = {.tree_reduction = true, .overlap = true};
static const struct plan_features linear = {.tree_reduction = false, .overlap = true};

static void near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-9)) {
    fail_msg("%.12g is not %.12g", value, expected);
  }
}

/* Times are rounded up to picoseconds part by part. */
static void is_ns(int64_t ps, double ns) {
  if (!(fabs((double)ps - ns * 1000) <= 2)) {
    fail_msg("%lld ps is not %.4f ns", (long long)ps, ns);
  }
}

static void test_matrix_tile(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  /* M = 6, K = 7, N = 1; the transposed product would take 8267 */
  double cycles = 24 * 6 * 7 + 514 * 7 + 113 + 173;
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){1, 32, 10, 100, 16}), cycles);
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){1, 10, 32, 100, 16}), cycles);
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){3, 32, 10, 100, 16}), 3 * cycles);
  /* weights narrower than the activations are widened on the core */
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){1, 32, 10, 100, 4}), cycles);
  /* four bytes: 8 elements of depth per block, each block at a quarter of the rate: 48 cycles */
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){1, 32, 10, 100, 32}), 48 * 6 * 13 + 514 * 13 + 113 + 173);
  /* one element still takes one block */
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){1, 1, 1, 1, 16}), 24 + 514 + 113 + 173);
}

static void test_narrow_engine(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  chip.matrix_rate_factor[DTYPE_F8E4M3FN] = 2;
  /* one byte: 32 elements of depth per block in as many cycles */
  near(plan_tile_matrix_cycles(&chip, &(struct plan_product){1, 6, 16, 64, 8}), 24 * 2 + 514 * 2 + 113 + 173);
}

static void test_vector_tiles(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_UNARY, 1000, 1, 16), 700);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_UNARY, 1000, 3, 16), 1700);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_UNARY, 1000, 1, 32), 1200);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_UNARY, 1000, 1, 8), 700); /* lanes are 16 bits at least */
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_ELEMENTWISE, 1000, 1, 16), 1040);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_ELEMENTWISE, 12000, 1, 16), 8517);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_ELEMENTWISE, 20000, 1, 16), 10290);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_REDUCE, 40, 1, 16), 235);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_REDUCE, 300, 1, 16), 295.25);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_REDUCE, 1000, 1, 16), 425);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_COPY, 100, 1, 16), 174);
  near(plan_tile_vector_cycles(&chip, PLAN_STAGE_GATHER, 100, 1, 16), 350);
}

static struct plan_tile_cost price(const struct plan_chip *chip, const struct plan_features *features,
                                   const struct plan_program *program, const struct plan_partition *partition) {
  struct plan_tile_cost cost;
  (void)plan_cost_closed_form.tile(chip, features, program, &program->operators.data[0], partition, &cost);
  return cost;
}

/* 8 x 8 x 16 on 2 x 2 cores: local 4 x 4 x 16. */
static void test_product(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 8, 16, 16);
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){2, 2, 1}, 3);
  struct plan_tile_cost cost = price(&chip, &everything, &program, &p);
  assert_int_equal(cost.hot_bytes, 128 + 128 + 32);
  assert_int_equal(cost.cold_bytes, 128);
  is_ns(cost.compute_ps, 24 + 514 + 113 + 173 + 100); /* a barrier after A is gathered */
  is_ns(cost.shift_ps, 0);
  is_ns(cost.serial_ps, 128); /* A's tile */
  chip.sram_bytes = 287;
  assert_false(plan_cost_closed_form.tile(&chip, &everything, &program, &program.operators.data[0], &p, &cost));
  assert_int_equal(cost.hot_bytes, 288);
  plan_fixture_release(&program);
}

static void test_rotation(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 8, 16, 16);
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){2, 2, 1}, 3);
  p.temporal[0][2] = 2; /* A in two pieces along k: 4 x 8 elements */
  struct plan_tile_cost cost = price(&chip, &everything, &program, &p);
  assert_int_equal(cost.hot_bytes, 2 * 64 + 128 + 32);
  is_ns(cost.compute_ps, 2 * 824 + 100 + 100); /* two iterations, a shift, the gathering */
  is_ns(cost.shift_ps, 64);
  is_ns(cost.serial_ps, 64);
  p.temporal[1][2] = 2; /* B with it: one loop moves both */
  cost = price(&chip, &everything, &program, &p);
  assert_int_equal(cost.hot_bytes, 2 * 64 + 2 * 64 + 32);
  assert_int_equal(cost.cold_bytes, 64);
  is_ns(cost.compute_ps, 2 * 824 + 100 + 100);
  is_ns(cost.shift_ps, 128);
  plan_fixture_release(&program);
}

static void test_nested_rotations(void **state) {
  (void)state;
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){2, 6, 1}, 3);
  p.temporal[0][0] = 6; /* A along m in 6, B along n in 2, output along m in 2 */
  p.temporal[1][1] = 2;
  p.temporal[2][0] = 2;
  struct plan_rotation loops[PLAN_ROTATIONS_MAX];
  uint32_t count = plan_rotations_of(&p, 3, (const uint64_t[]){100, 250, 50}, loops);
  assert_int_equal(count, 3);
  assert_int_equal(loops[0].bytes, 250); /* outermost: the largest */
  assert_int_equal(loops[0].axis_factor, 2);
  assert_int_equal(loops[0].moved, 2);
  assert_int_equal(loops[1].bytes, 150); /* the common 2 of A and output along m */
  assert_int_equal(loops[1].axis_factor, 2);
  assert_int_equal(loops[1].moved, 1 | 4);
  assert_int_equal(loops[2].bytes, 100); /* what is left of A's 6 */
  assert_int_equal(loops[2].axis_factor, 3);
}

static void test_reductions(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(64, 1 << 20);
  /* 4 cores, 100 elements: each gets 3 parts of 25; 845 against 986 by halves */
  struct plan_reduction few = plan_reduction_of(&chip, 4, 100, 16, false, true, 1);
  assert_int_equal(few.barriers, 4);
  assert_int_equal(few.link_bytes, 150);
  near(few.add_cycles, 295.25);
  /* 64 cores, 640 elements: halves of 320, 160, ... 10 in six rounds; linear would take 64 barriers */
  struct plan_reduction many = plan_reduction_of(&chip, 64, 640, 16, false, true, 1);
  assert_int_equal(many.barriers, 6);
  assert_int_equal(many.link_bytes, 1260);
  near(many.add_cycles, 0.75 * 630 + 6 * 290);
  assert_int_equal(many.buffer_bytes, 640);
  struct plan_reduction slow = plan_reduction_of(&chip, 64, 640, 16, false, false, 1);
  assert_int_equal(slow.barriers, 64);
  assert_int_equal(slow.link_bytes, 1260);
  near(slow.add_cycles, 175 + 0.25 * 640);
  /* everywhere: halves there and back */
  struct plan_reduction all = plan_reduction_of(&chip, 64, 640, 16, true, true, 1);
  assert_int_equal(all.barriers, 12);
  assert_int_equal(all.link_bytes, 1260 + 1260);
  /* few elements everywhere: whole values in six rounds */
  all = plan_reduction_of(&chip, 64, 4, 32, true, true, 1);
  assert_int_equal(all.barriers, 6);
  assert_int_equal(all.link_bytes, 6 * 16);
  assert_int_equal(plan_reduction_of(&chip, 1, 640, 16, false, true, 1).barriers, 0);
}

/* k over 4 cores: out 8 x 8 on each is reduced; each keeps 16 elements. */
static void test_split_contraction(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 8, 64, 16);
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){1, 1, 4}, 3);
  struct plan_tile_cost cost = price(&chip, &linear, &program, &p);
  double product = 24 * 2 + 514 + 113 + 173, adds = 175 + 1.5 * 64; /* 64 terms: a short sum */
  is_ns(cost.compute_ps, product + 100 + 4 * 100 + adds);
  is_ns(cost.serial_ps, 8 * 16 * 2 + 48 * 2);
  assert_int_equal(cost.hot_bytes, 256 + 256 + 128 + 96);
  /* the ring of output pieces adds up half of it: pieces of 4 x 8, two iterations, r = 2 */
  p.temporal[2][0] = 2;
  cost = price(&chip, &linear, &program, &p);
  is_ns(cost.compute_ps, 2 * (24 + 514 + 113 + 173) + 100 + 100 + 2 * 100 + 175 + fmax(8, fmin(48, 120.25)));
  is_ns(cost.shift_ps, 64);
  is_ns(cost.serial_ps, 256 + 16 * 2);
  plan_fixture_release(&program);
}

static void test_fused_norm(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_norm(&program, 4, 64);
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){1, 4}, 2);
  struct plan_tile_cost cost = price(&chip, &everything, &program, &p);
  /* unary 64; sum of 64 f32; 2 rounds on 4 f32 sums; two operations on 64; barriers: gathering, 2 rounds */
  double doubling = 2 * (0.75 * 8 + 290);
  is_ns(cost.compute_ps, 232 + 295.25 + doubling + 386 + 3 * 100);
  is_ns(cost.serial_ps, 128 + 2 * 16);
  assert_int_equal(cost.cold_bytes, 32);
  assert_int_equal(cost.hot_bytes, 128 + 32 + 128 + 16 + 128 + 16);
  plan_fixture_release(&program);
}

static void test_distribution(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 8, 16, 16);
  const struct plan_operator *op = &program.operators.data[0];
  struct plan_partition hot = plan_fixture_partition((const uint32_t[]){4, 1, 1}, 3), cold = hot;
  is_ns(plan_cost_closed_form.distribute_ps(&chip, &program, op, &cold, &hot), 0);
  cold.temporal[1][2] = 4; /* B, 256 bytes, in 4 pieces: three more are missing */
  is_ns(plan_cost_closed_form.distribute_ps(&chip, &program, op, &cold, &hot), 3 * 64 + 100);
  hot.temporal[1][2] = 2;
  is_ns(plan_cost_closed_form.distribute_ps(&chip, &program, op, &cold, &hot), 64 + 100);
  hot.temporal[1][2] = 1;
  hot.temporal[1][1] = 2; /* cut otherwise */
  assert_int_equal(plan_cost_closed_form.distribute_ps(&chip, &program, op, &cold, &hot), -1);
  hot = cold;
  hot.spatial[1] = 2;
  assert_int_equal(plan_cost_closed_form.distribute_ps(&chip, &program, op, &cold, &hot), -1);
  plan_fixture_release(&program);
}

static void test_loads(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 7, 16, 16);
  plan_fixture_add_dot(&program, 8, 7, 16, 4);
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){2, 2, 1}, 3);
  struct plan_preload load;
  plan_cost_closed_form.load(&chip, &program, &program.operators.data[0], &p, &load);
  is_ns(load.memory_ps, 7 * 16 * 2 / 4.0); /* without the padding of the tiles, which hold 4 columns */
  assert_int_equal(load.cold_bytes, 4 * 16 * 2);
  is_ns(load.link_ps, 128);
  plan_cost_closed_form.load(&chip, &program, &program.operators.data[1], &p, &load);
  is_ns(load.memory_ps, 7 * 16 / 2 / 4.0);
  assert_int_equal(load.cold_bytes, 4 * 16 / 2);
  program.tensors.data[2].memory_bytes = 1000; /* the result goes to memory as well */
  plan_cost_closed_form.load(&chip, &program, &program.operators.data[0], &p, &load);
  is_ns(load.memory_ps, (7 * 16 * 2 + 1000) / 4.0);
  chip.has_memory = false;
  plan_cost_closed_form.load(&chip, &program, &program.operators.data[0], &p, &load);
  is_ns(load.memory_ps, 0);
  plan_fixture_release(&program);
}

/* Exchange that may leave the chip, and traffic over several hops. */
static void test_network(void **state) {
  (void)state;
  struct plan_chip chip = plan_fixture_chip(4, 1 << 20);
  struct plan_program program = {0};
  plan_fixture_add_dot(&program, 8, 8, 16, 16);
  struct plan_partition p = plan_fixture_partition((const uint32_t[]){2, 2, 1}, 3);
  p.temporal[0][2] = 2;
  chip.cores_per_chip = 2;
  chip.cross_chip_factor = 1.5;
  struct plan_tile_cost cost = price(&chip, &everything, &program, &p);
  is_ns(cost.shift_ps, 64 * 1.5);
  is_ns(cost.serial_ps, 64 * 1.5);
  chip.cores_per_chip = 4; /* four cores stay on one chip */
  chip.exchange_factor = 3;
  chip.preload_factor = 2;
  cost = price(&chip, &everything, &program, &p);
  is_ns(cost.shift_ps, 64); /* neighbours */
  is_ns(cost.serial_ps, 64 * 3);
  struct plan_preload load;
  plan_cost_closed_form.load(&chip, &program, &program.operators.data[0], &p, &load);
  is_ns(load.link_ps, 128 * 2);
  plan_fixture_release(&program);
}

static void test_slots(void **state) {
  (void)state;
  struct plan_program program = {0};
  const struct plan_tensor tensors[] = {
      {.axes = 1, .element_bits = 16, .source = PLAN_SOURCE_MEMORY}, /* a small scale */
      {.axes = 7, .element_bits = 16, .source = PLAN_SOURCE_CHIP}, /* has all axes: never shared */
      {.axes = 3, .element_bits = 16, .source = PLAN_SOURCE_CHIP},
      {.axes = 6, .element_bits = 16, .source = PLAN_SOURCE_MEMORY},
      {.axes = 3, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .is_output = true},
  };
  plan_fixture_add(&program, 3, (const uint64_t[]){4, 8, 16}, 5, tensors, 0, NULL);
  struct plan_slots slots = plan_slots_of(&program, &program.operators.data[0]);
  assert_int_equal(slots.tensor[0], 2);
  assert_int_equal(slots.tensor[1], 3);
  assert_int_equal(slots.tensor[2], 4);
  plan_fixture_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matrix_tile),  cmocka_unit_test(test_narrow_engine),
      cmocka_unit_test(test_vector_tiles), cmocka_unit_test(test_product),
      cmocka_unit_test(test_rotation),     cmocka_unit_test(test_nested_rotations),
      cmocka_unit_test(test_reductions),   cmocka_unit_test(test_split_contraction),
      cmocka_unit_test(test_fused_norm),   cmocka_unit_test(test_distribution),
      cmocka_unit_test(test_loads),        cmocka_unit_test(test_network),
      cmocka_unit_test(test_slots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
