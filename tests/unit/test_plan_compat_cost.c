/* --compat elk without data: prices calculated by hand from the formulas of elk.md sections 2.2, 2.3 and 9, lookups against
 * a scan of the table, schedules of three operators on paper. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/compat_int.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define NEAR(value, expected) assert_true(fabs((value) - (expected)) <= 1e-9 * (1.0 + fabs(expected)))

enum { M = 1, N = 2, K = 4, LEFT = 0, RIGHT = 1, OUT = 2 };

static struct plan_partition partition_of(uint32_t a, uint32_t b, uint32_t c) {
  struct plan_partition plan = {.spatial = {a, b, c, 1, 1, 1, 1, 1}};
  for (uint32_t slot = 0; slot < PLAN_ROTATED_MAX; slot++) {
    for (uint32_t axis = 0; axis < PLAN_AXES_MAX; axis++) {
      plan.temporal[slot][axis] = 1;
    }
  }
  return plan;
}

static struct compat_cost price(const struct plan_compat_operator *op, const struct plan_partition *plan) {
  struct compat_cost cost;
  assert_true(compat_price(op, plan, &cost));
  return cost;
}

/* ---- Operators without rotation ---- */

static void test_elementwise_prices(void **state) {
  (void)state;
  const struct plan_compat_operator add = {.kind = PLAN_COMPAT_ELEMENTWISE,
                                           .axis_count = 3,
                                           .tensor_count = 3,
                                           .extents = {32, 1, 5120},
                                           .tensors = {7, 7, 7}};
  struct plan_partition plan = partition_of(32, 1, 160); /* 32 elements on each core */
  struct compat_cost cost = price(&add, &plan);
  NEAR(cost.compute_cycles, 0.75 * 32 + 290);
  NEAR(cost.exchange_cycles, 1.25 * 118);
  assert_int_equal(cost.hot_bytes, 3 * 32 * 2);
  assert_int_equal(compat_cold_bytes(&add, &plan), 2 * 32 * 2);

  static const struct {
    uint64_t elements;
    double cycles;
  } rows[] = {{10969, 8516.75}, {10970, 8517.0}, {12000, 8517.0}, {16432, 8517.0}, {16433, 8516.5}, {20000, 10300.0}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct plan_compat_operator scale = {.kind = PLAN_COMPAT_ELEMENTWISE,
                                               .axis_count = 1,
                                               .tensor_count = 2,
                                               .extents = {rows[i].elements * 8},
                                               .tensors = {1, 1}};
    plan = partition_of(8, 1, 1);
    cost = price(&scale, &plan);
    NEAR(cost.compute_cycles, rows[i].cycles);
  }
}

static void test_unary_and_slice_prices(void **state) {
  (void)state;
  struct plan_compat_operator op = {
      .kind = PLAN_COMPAT_UNARY, .axis_count = 3, .tensor_count = 2, .extents = {32, 1, 5120}, .tensors = {7, 7}};
  const struct plan_partition plan = partition_of(32, 1, 160);
  struct compat_cost cost = price(&op, &plan);
  NEAR(cost.compute_cycles, 216.0); /* 0.5 x 32 + 200 */
  NEAR(cost.exchange_cycles, 147.5);

  op.kind = PLAN_COMPAT_SLICE;
  cost = price(&op, &plan);
  NEAR(cost.compute_cycles, 135.92); /* 0.56 x 32 + 118 */
  NEAR(cost.exchange_cycles, 907.4); /* 1.25 (0.56 x 32 + 6 x 118) */
  assert_int_equal(cost.hot_bytes, 128);
}

/* Sums of [32, 1, 5120] along the last axis, more and more cores per sum. */
static void test_reduce_prices(void **state) {
  (void)state;
  static const struct {
    uint32_t spatial[3];
    double compute, shuffle;
  } rows[] = {
      /* 32 sums of 5120 terms, aligned to 48: 0.25 x 48 x 5120 + 175 */
      {{1, 1, 1}, 61615.0, 725.92},
      /* two cores: 236 + 0.56 x 16 to gather, 0.75 x 16 + 290 to add */
      {{1, 1, 2}, 30895.0, 725.92 + 546.96},
      /* four: 4 x 118 + 0.56 x 32 to gather, 8 outputs of 4 terms: 1.5 x 32 + 175 */
      {{1, 1, 4}, 15535.0, 725.92 + 712.92},
      /* more cores than outputs: 64 x 118 + 17.92, then 1.5 x 32 + 175 */
      {{1, 1, 64}, 1135.0, 725.92 + 7569.92 + 223.0},
      /* one sum per core, 28 terms: 1.5 x 28 + 175 */
      {{32, 1, 184}, 217.0, 708.56 + 21712.56 + 176.5},
  };
  const struct plan_compat_operator op = {
      .kind = PLAN_COMPAT_REDUCE, .axis_count = 3, .tensor_count = 2, .extents = {32, 1, 5120}, .tensors = {7, 3}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct plan_partition plan = partition_of(rows[i].spatial[0], rows[i].spatial[1], rows[i].spatial[2]);
    const struct compat_cost cost = price(&op, &plan);
    NEAR(cost.compute_cycles, rows[i].compute);
    NEAR(cost.exchange_cycles, 1.25 * rows[i].shuffle);
  }
}

/* ---- Products ---- */

static const struct plan_compat_operator qkv = {.kind = PLAN_COMPAT_MATMUL,
                                                .axis_count = 3,
                                                .tensor_count = 3,
                                                .extents = {32, 15360, 5120},
                                                .tensors = {M | K, N | K, M | N},
                                                .resident = {true, false}};
static const struct plan_compat_operator cube = {.kind = PLAN_COMPAT_MATMUL,
                                                 .axis_count = 3,
                                                 .tensor_count = 3,
                                                 .extents = {64, 64, 64},
                                                 .tensors = {M | K, N | K, M | N},
                                                 .resident = {true, false}};

static void test_matmul_price(void **state) {
  (void)state;
  /* 32 x 84 x 160 per core: 14 x 2 blocks of 6 x 16, ten deep. 32 cores add 2,688 partial sums, 84 each, aligned to 96. */
  const struct plan_partition plan = partition_of(1, 184, 32);
  const struct compat_cost cost = price(&qkv, &plan);
  NEAR(cost.compute_cycles, 24.0 * 14 * 10 * 2 + 514.0 * 10 * 2 + 113.0 * 2 + 173.0);
  NEAR(cost.exchange_cycles, 1.25 * (1505.28 + 708.0 + 3776.0 + 1505.28 + 0.25 * 96 * 32 + 175.0));
  assert_int_equal(cost.hot_bytes, 2 * (32 * 160 + 160 * 84 + 32 * 84));
  assert_int_equal(compat_cold_bytes(&qkv, &plan), 2 * 160 * 84); /* the left operand is on the chip */
}

static void test_batched_matmul_price(void **state) {
  (void)state;
  /* [2,4,16,16]: both batch axes count; 2 x 4 products of 16 x 16 x 8 on one core */
  const struct plan_compat_operator op = {.kind = PLAN_COMPAT_MATMUL,
                                          .axis_count = 5,
                                          .tensor_count = 3,
                                          .extents = {2, 4, 16, 16, 8},
                                          .tensors = {1 | 2 | 4 | 16, 1 | 2 | 8 | 16, 1 | 2 | 4 | 8}};
  const struct plan_partition plan = partition_of(1, 1, 1);
  const struct compat_cost cost = price(&op, &plan);
  NEAR(cost.compute_cycles, 8.0 * (24.0 * 3 + 514.0 + 113.0 + 173.0));
}

/* 16 x 16 x 16 per core; along K the left operand is in two pieces and the right one in four. Both turn together once, the
 * right one alone again in each half: 192 + 2 x 64 elements, 2 + 2 x 1 shifts. */
static void test_rotation_price(void **state) {
  (void)state;
  struct plan_partition plan = partition_of(4, 4, 4);
  plan.temporal[LEFT][2] = 2;
  plan.temporal[RIGHT][2] = 4;
  const struct compat_cost cost = price(&cube, &plan);
  NEAR(cost.compute_cycles, 4 * 872.0);
  const double shift = 2 * 118.0 * 4 + 0.56 * 320;
  const double combine = 118.0 * 4 + 0.56 * 256 + 295.25; /* 64 outputs, aligned to 96, of 4 terms */
  NEAR(cost.exchange_cycles, 1.25 * (shift + 0.56 * 256 + 708.0 + combine));
  assert_int_equal(cost.hot_bytes, 2 * (2 * 128 + 2 * 64 + 256)); /* what turns is held twice */
  assert_int_equal(compat_cold_bytes(&cube, &plan), 2 * 64);
}

/* The published search may cut the output along K: no smaller tile, but two buffers and half the partial sums. */
static void test_illegal_factor_price(void **state) {
  (void)state;
  struct plan_partition plan = partition_of(4, 4, 4);
  plan.temporal[OUT][2] = 2;
  const struct compat_cost cost = price(&cube, &plan);
  NEAR(cost.compute_cycles, 2 * 872.0);
  const double shift = 2 * 118.0 + 0.56 * 256;
  const double combine = 236.0 + 0.56 * 128 + 0.75 * 128 + 290.0;
  NEAR(cost.exchange_cycles, 1.25 * (shift + 0.56 * 256 + 708.0 + combine));
  assert_int_equal(cost.hot_bytes, 2 * (256 + 256 + 2 * 256));
}

static void test_warm_up(void **state) {
  (void)state;
  const struct plan_partition hot = partition_of(4, 4, 4);
  struct plan_partition cold = hot;
  NEAR(compat_warm_up_cycles(&cube, &cold, &hot), 0.0);
  cold.temporal[RIGHT][2] = 4; /* 64 elements held, 4 pieces merged, all 4 charged */
  NEAR(compat_warm_up_cycles(&cube, &cold, &hot), 4 * (0.56 * 64 + 118.0));
  cold.temporal[LEFT][2] = 2; /* on the chip, charged as well */
  NEAR(compat_warm_up_cycles(&cube, &cold, &hot), 4 * (0.56 * 64 + 118.0) + 2 * (0.56 * 128 + 118.0));
  assert_true(compat_warm_up_cycles(&cube, &hot, &cold) < 0.0);
}

/* ---- Tables ---- */

static double half_link_ms(uint64_t bytes) {
  return (double)bytes / (5.5 * 1073741824.0 / 1.325e9) / 2.0 / 1.325e6;
}

/* The rules as they are written down, by scanning all choices. */
static void scan(const struct compat_table *table, double room, const struct compat_choice *found[3]) {
  const struct compat_choice *choices = table->choices.data;
  memset(found, 0, 3 * sizeof *found);
  double least = INFINITY;
  for (size_t i = 0; i < table->choices.count; i++) {
    const struct compat_choice *c = &choices[i];
    if ((double)c->hot_bytes > room) {
      continue;
    }
    if (c->cold_bytes == choices[0].cold_bytes) {
      found[0] = c;
    }
    found[1] = c; /* ascending cold, then hot: the last that fits */
    const double priced = c->time_ms + half_link_ms(c->cold_bytes);
    if ((double)c->cold_bytes <= room && priced < least) {
      least = priced;
      found[2] = c;
    }
  }
}

static void test_lookups(void **state) {
  (void)state;
  for (int legal = 0; legal < 2; legal++) {
    struct compat_table table = {0};
    uint64_t plans = 0;
    assert_int_equal(compat_table_build(&qkv, legal != 0, &table, &plans), STATUS_OK);
    assert_int_equal(plans, legal != 0 ? 1129147 : 618935);
    for (size_t i = 1; i < table.choices.count; i++) {
      const struct compat_choice *a = &table.choices.data[i - 1];
      assert_true(a->cold_bytes < a[1].cold_bytes
                  || (a->cold_bytes == a[1].cold_bytes && a->hot_bytes < a[1].hot_bytes));
    }
    for (double room = 0.0; room <= 640e3; room += 777.0) {
      const struct compat_choice *found[3];
      scan(&table, room, found);
      assert_ptr_equal(compat_table_lookup(&table, table.smallest.data, table.smallest.count, room), found[0]);
      assert_ptr_equal(compat_table_lookup(&table, table.largest.data, table.largest.count, room), found[1]);
      const struct compat_choice *priced = compat_table_lookup(&table, table.priced.data, table.priced.count, room);
      assert_int_equal(priced == NULL, found[2] == NULL);
      if (priced != NULL) {
        NEAR(priced->time_ms + half_link_ms(priced->cold_bytes),
             found[2]->time_ms + half_link_ms(found[2]->cold_bytes));
      }
    }
    compat_table_release(&table);
  }
}

/* ---- Schedules ---- */

/* Three operators of one choice each: `first` exchanges, the second has a load of 4 ms that takes the links half of that,
 * the third only runs. */
struct paper {
  struct compat_table tables[3];
  struct plan_compat_program program;
  struct compat_schedule schedule;
};

static void add_choice(struct compat_table *table, double time_ms, double compute_ms, double exchange_ms,
                       uint64_t cold_bytes) {
  const struct compat_choice choice = {cold_bytes, 1000, time_ms, compute_ms, exchange_ms};
  const struct compat_step step = {1000, 0};
  assert_true(vec_push(&table->choices, choice));
  assert_true(vec_push(&table->priced, step) && vec_push(&table->smallest, step) && vec_push(&table->largest, step));
  table->smallest_hot = 1000;
  table->smallest_cold = cold_bytes;
  table->load_ms = cold_bytes > 0 ? 4.0 : 0.0;
}

static void paper_init(struct paper *paper) {
  memset(paper, 0, sizeof *paper);
  add_choice(&paper->tables[0], 2.0, 0.5, 1.5, 0);
  add_choice(&paper->tables[1], 3.0, 3.0, 0.0, 500);
  add_choice(&paper->tables[2], 1.0, 1.0, 0.0, 0);
  for (uint32_t id = 0; id < 3; id++) {
    assert_true(vec_push(&paper->program.sequence, id));
  }
  assert_int_equal(compat_schedule_init(&paper->schedule, &paper->program, paper->tables, 1), STATUS_OK);
}

static void paper_release(struct paper *paper) {
  compat_schedule_release(&paper->schedule);
  plan_compat_program_release(&paper->program);
  for (uint32_t id = 0; id < 3; id++) {
    compat_table_release(&paper->tables[id]);
  }
}

/* Backwards: third -1..0, second -4..-1, its load -8..-4; the first ends at -4 under that load.
 *   True   its exchange of 1.5 ms gets half of the links: from -7. All begins with the load, at -8.
 *   False  it starts at -6; half of 2 ms of load does not fit in 0.5 ms of compute: 1 ms of the load stays, it moves to -9.
 *   Ideal  from -6, nothing moves. */
static void test_schedules_on_paper(void **state) {
  (void)state;
  static const struct {
    struct compat_rules rules;
    double latency_ms, busy_ms;
  } rows[] = {
      {{.design = PLAN_COMPAT_DYN, .link_GBps = 32000.0 / 5888, .threshold = 0.99}, 8.0, 7.0},
      {{.design = PLAN_COMPAT_DYN, .moves_loads = true, .link_GBps = 32000.0 / 5888, .threshold = 0.99}, 9.0, 6.0},
      {{.design = PLAN_COMPAT_IDEAL, .link_GBps = 32000.0 / 5888}, 8.0, 6.0},
      /* threshold 0.4: the load lasts 2 / 0.4 = 5 ms and leaves 3/5 of the links; the first needs 2.5 ms */
      {{.design = PLAN_COMPAT_FULL, .link_GBps = 32000.0 / 5888, .threshold = 0.4}, 9.0, 6.5},
      /* no room beside it: the first ends where the load begins */
      {{.design = PLAN_COMPAT_STATIC, .link_GBps = 32000.0 / 5888, .threshold = 0.99, .execution_bytes = 638900},
       10.0,
       6.0},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    struct paper paper;
    paper_init(&paper);
    double latency_ms = 0.0;
    double busy_ms = 0.0;
    assert_true(compat_schedule_run(&paper.schedule, &rows[i].rules, &latency_ms, &busy_ms));
    NEAR(latency_ms, rows[i].latency_ms);
    NEAR(busy_ms, rows[i].busy_ms);
    paper_release(&paper);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elementwise_prices),
      cmocka_unit_test(test_unary_and_slice_prices),
      cmocka_unit_test(test_reduce_prices),
      cmocka_unit_test(test_matmul_price),
      cmocka_unit_test(test_batched_matmul_price),
      cmocka_unit_test(test_rotation_price),
      cmocka_unit_test(test_illegal_factor_price),
      cmocka_unit_test(test_warm_up),
      cmocka_unit_test(test_lookups),
      cmocka_unit_test(test_schedules_on_paper),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
