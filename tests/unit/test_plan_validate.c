/* The index-set validator against brute force: all cores, all iterations, all elements of small operators; and its
 * refusals, each of a kind of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_validate.h"
#include "plan_random.h"

enum { POINTS_MAX = 1 << 14, CASES = 4000 };

struct operator_fixture {
  struct plan_operator op;
  struct plan_tensor tensors[4];
  struct plan_stage stage;
  struct plan_program program;
};

/* Axes given as masks, the output last; what the output lacks is summed. */
static void fixture_set(struct operator_fixture *f, uint32_t axes, const uint64_t *extents, uint32_t tensors,
                        const uint16_t *masks) {
  memset(f, 0, sizeof *f);
  f->op = (struct plan_operator){
      .axis_count = (uint8_t)axes, .tensor_count = (uint8_t)tensors, .stage_count = 1, .merged = 1};
  for (uint32_t a = 0; a < axes; a++) {
    f->op.extents[a] = extents[a];
  }
  for (uint32_t t = 0; t < tensors; t++) {
    f->tensors[t] = (struct plan_tensor){.axes = masks[t], .element_bits = 16, .is_output = t + 1 == tensors};
  }
  uint16_t all = (uint16_t)((1u << axes) - 1);
  f->stage = (struct plan_stage){.axes = all, .reduced = (uint16_t)(all & ~masks[tensors - 1])};
  f->program.tensors.data = f->tensors;
  f->program.tensors.count = tensors;
  f->program.stages.data = &f->stage;
  f->program.stages.count = 1;
}

/* [m k] x [k n] -> [m n] with axes m, n, k. */
static void fixture_product(struct operator_fixture *f, uint64_t m, uint64_t n, uint64_t k) {
  fixture_set(f, 3, (uint64_t[]){m, n, k}, 3, (uint16_t[]){5, 6, 3});
}

static struct plan_partition uncut(void) {
  struct plan_partition p;
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    p.spatial[a] = p.temporal[0][a] = p.temporal[1][a] = p.temporal[2][a] = 1;
  }
  return p;
}

static bool check(struct operator_fixture *f, const struct plan_partition *p, uint32_t cores,
                  struct core_fault *fault) {
  return plan_validate(&f->program, &f->op, p, cores, NULL, fault);
}

/* ---- brute force ---- */

struct machine {
  struct core_grid grid;
  struct core_rings rings;
  uint32_t cores;
  uint8_t computed[POINTS_MAX]; /* times each point of the operator was computed */
};

static uint32_t points_of(const struct core_grid *grid) {
  uint64_t points = 1;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    points *= grid->extents[a];
  }
  return (uint32_t)points;
}

/* Marks the box of one core in one iteration. */
static void compute(struct machine *m, const uint64_t *low, const uint64_t *high) {
  uint32_t points = points_of(&m->grid);
  for (uint32_t p = 0; p < points; p++) {
    bool is_inside = true;
    uint32_t rest = p;
    for (uint32_t a = m->grid.axis_count; a-- > 0;) {
      uint64_t index = rest % m->grid.extents[a];
      rest /= (uint32_t)m->grid.extents[a];
      is_inside &= index >= low[a] && index < high[a];
    }
    m->computed[p] = (uint8_t)(m->computed[p] + is_inside);
  }
}

/* What a core holds of a tensor: the parts of the loops that move it, as one number. */
static uint32_t piece_held(const struct machine *m, const uint32_t *coordinates, const uint32_t *counts,
                           uint32_t tensor) {
  uint32_t piece = 0;
  for (uint32_t l = 0; l < m->rings.loop_count; l++) {
    const struct core_loop *loop = &m->rings.loops[l];
    if ((loop->moved >> tensor & 1) != 0) {
      piece = piece * loop->radix + (core_rings_offset(&m->rings, l, coordinates) + counts[l]) % loop->radix;
    }
  }
  return piece;
}

static bool same_tile(const struct core_grid *grid, uint32_t tensor, const uint32_t *a, const uint32_t *b) {
  for (uint32_t x = 0; x < grid->axis_count; x++) {
    if ((grid->tensors[tensor].axes >> x & 1) != 0 && a[x] != b[x]) {
      return false;
    }
  }
  return true;
}

/* Among the cores of each tile every piece is there replicas / pieces times. */
static void check_rings(const struct machine *m, const uint32_t *counts, uint32_t tensor) {
  uint64_t pieces = core_grid_pieces(&m->grid, tensor), replicas = core_grid_replicas(&m->grid, tensor);
  static uint32_t places[128][CORE_AXES_MAX], held[128];
  assert_true(m->cores <= 128);
  for (uint32_t c = 0; c < m->cores; c++) {
    core_grid_coordinates(&m->grid, c, places[c]);
    held[c] = piece_held(m, places[c], counts, tensor);
  }
  for (uint32_t c = 0; c < m->cores; c++) {
    uint32_t same = 0, tile = 0;
    for (uint32_t d = 0; d < m->cores; d++) {
      bool shares = same_tile(&m->grid, tensor, places[c], places[d]);
      tile += shares;
      same += shares && held[c] == held[d];
    }
    assert_int_equal(tile, replicas);
    assert_int_equal(same, replicas / pieces);
  }
}

/* One core's iteration: it holds what it computes, and what rotates in next comes from a core that has it now. */
static void check_core(struct machine *m, uint32_t core, const uint32_t *counts) {
  uint32_t coordinates[CORE_AXES_MAX], source[CORE_AXES_MAX], next[CORE_LOOPS_MAX];
  uint64_t low[CORE_AXES_MAX], high[CORE_AXES_MAX], from, to;
  core_grid_coordinates(&m->grid, core, coordinates);
  assert_int_equal(core_grid_core(&m->grid, coordinates), core);
  for (uint32_t a = 0; a < m->grid.axis_count; a++) {
    core_rings_range(&m->grid, &m->rings, coordinates, counts, CORE_TENSORS_MAX, a, &low[a], &high[a]);
    for (uint32_t t = 0; t < m->grid.tensor_count && low[a] < high[a]; t++) {
      if ((m->grid.tensors[t].axes >> a & 1) != 0) {
        core_rings_range(&m->grid, &m->rings, coordinates, counts, t, a, &from, &to);
        assert_true(from <= low[a] && high[a] <= to);
      }
    }
  }
  compute(m, low, high);
  for (uint32_t l = 0; l < m->rings.loop_count; l++) {
    memcpy(next, counts, sizeof next);
    next[l]++;
    for (uint32_t t = 0; t < m->grid.tensor_count; t++) {
      if (core_rings_source(&m->grid, &m->rings, t, l, coordinates, source)) {
        assert_true(same_tile(&m->grid, t, coordinates, source));
        assert_int_equal(piece_held(m, source, counts, t), piece_held(m, coordinates, next, t));
      }
    }
  }
}

static void run_machine(struct machine *m) {
  uint32_t counts[CORE_LOOPS_MAX] = {0};
  memset(m->computed, 0, sizeof m->computed);
  for (bool more = true; more;) {
    for (uint32_t c = 0; c < m->cores; c++) {
      check_core(m, c, counts);
    }
    for (uint32_t t = 0; t < m->grid.tensor_count; t++) {
      check_rings(m, counts, t);
    }
    more = false;
    for (uint32_t l = 0; l < m->rings.loop_count && !more; l++) {
      more = ++counts[l] < m->rings.loops[l].radix;
      counts[l] = more ? counts[l] : 0;
    }
  }
  for (uint32_t p = 0; p < points_of(&m->grid); p++) {
    assert_int_equal(m->computed[p], 1);
  }
}

/* The rules of plan_partition.h, written once more. */
static bool is_legal(const struct operator_fixture *f, const struct plan_partition *p, uint32_t cores) {
  uint64_t used = 1;
  for (uint32_t a = 0; a < f->op.axis_count; a++) {
    used *= p->spatial[a];
  }
  const uint32_t slots[2][3] = {{2, 0, 0}, {0, 1, 2}}; /* [1]: three tensors; [0]: the output alone */
  bool is_good = used <= cores;
  for (uint32_t t = 0; t < f->op.tensor_count; t++) {
    uint32_t pieces = 1, replicas = 1;
    const uint16_t *factors = p->temporal[slots[f->op.tensor_count == 3][t]];
    for (uint32_t a = 0; a < f->op.axis_count; a++) {
      bool has = (f->tensors[t].axes >> a & 1) != 0;
      pieces *= factors[a];
      replicas *= has ? 1 : p->spatial[a];
      is_good &= has || factors[a] == 1;
      for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
        is_good &= p->temporal[s][a] % factors[a] == 0 || factors[a] % p->temporal[s][a] == 0;
      }
    }
    is_good &= replicas % pieces == 0;
  }
  return is_good;
}

static struct plan_partition random_partition(struct plan_random *random, const struct operator_fixture *f) {
  static const uint16_t likely[] = {1, 2, 2, 3, 4, 4, 6};
  struct plan_partition p = uncut();
  for (uint32_t a = 0; a < f->op.axis_count; a++) {
    p.spatial[a] = plan_random_in(random, 0, 9) == 0 ? 5 : likely[plan_random_in(random, 0, 6)];
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      bool is_owned = (f->tensors[s].axes >> a & 1) != 0 || plan_random_in(random, 0, 19) == 0;
      p.temporal[s][a] = is_owned && plan_random_in(random, 0, 1) == 0 ? likely[plan_random_in(random, 0, 6)] : 1;
    }
  }
  return p;
}

static void test_brute_force(void **state) {
  (void)state;
  static struct machine machine;
  struct plan_random random = plan_random_of(1);
  uint32_t accepted = 0, unaligned = 0, rotating = 0;
  for (uint32_t i = 0; i < CASES; i++) {
    struct operator_fixture f;
    struct core_fault fault;
    uint32_t cores = (uint32_t)plan_random_in(&random, 20, 90);
    if (i % 3 == 0) { /* any masks: tensors may lack the same axes */
      uint16_t masks[3];
      for (uint32_t t = 0; t < 3; t++) {
        masks[t] = (uint16_t)plan_random_in(&random, 1, 6);
      }
      fixture_set(&f, 3, (uint64_t[]){7, 5, 6}, 3, masks);
    } else {
      fixture_product(&f, plan_random_in(&random, 1, 9), plan_random_in(&random, 1, 9), plan_random_in(&random, 1, 13));
    }
    struct plan_partition p = random_partition(&random, &f);
    bool is_accepted = plan_validate(&f.program, &f.op, &p, cores, &machine.rings, &fault);
    if (!is_accepted && fault.kind == CORE_FAULT_ALIGNED) {
      assert_int_equal(i % 3, 0);
      unaligned++;
      continue;
    }
    assert_int_equal(is_accepted, is_legal(&f, &p, cores));
    if (is_accepted) {
      plan_partition_grid(&f.program, &f.op, &p, &machine.grid);
      machine.cores = (uint32_t)core_grid_cores(&machine.grid);
      accepted++;
      rotating += machine.rings.loop_count > 0;
      run_machine(&machine);
    }
  }
  print_message("%u of %u random partitions are legal, %u of them rotate; %u legal ones found no arrangement\n",
                accepted, CASES, rotating, unaligned);
  assert_true(accepted > CASES / 10 && rotating > CASES / 20);
  assert_true(unaligned <= CASES / 1000);
}

/* ---- refusals ---- */

static void expect_fault(struct operator_fixture *f, const struct plan_partition *p, uint32_t cores,
                         enum core_fault_kind kind) {
  struct core_fault fault;
  struct strbuf text = {0};
  assert_false(check(f, p, cores, &fault));
  core_fault_print(&fault, &text);
  if (fault.kind != kind) {
    print_error("%s\n", strbuf_text(&text));
  }
  assert_int_equal(fault.kind, kind);
  assert_null(strchr(strbuf_text(&text), '%'));
  strbuf_release(&text);
}

static void test_refusals(void **state) {
  (void)state;
  struct operator_fixture f;
  struct core_fault fault;
  fixture_product(&f, 64, 64, 64);
  struct plan_partition good = uncut();
  good.spatial[0] = 4, good.spatial[1] = 8, good.spatial[2] = 2;
  good.temporal[0][2] = 8; /* [m k] is shared by 8 cores along n */
  good.temporal[1][2] = 4; /* [k n] by 4 along m */
  good.temporal[2][0] = 2; /* [m n] by 2 along k */
  assert_true(check(&f, &good, 64, &fault));
  expect_fault(&f, &good, 63, CORE_FAULT_CORES);
  struct plan_partition bad = good;
  bad.temporal[1][0] = 2; /* the published defect: [k n] cut along m */
  expect_fault(&f, &bad, 64, CORE_FAULT_FOREIGN);
  bad = good, bad.temporal[2][0] = 1,
  bad.temporal[2][2] = 2; /* the output cut along k, as in the fastest published plans */
  expect_fault(&f, &bad, 64, CORE_FAULT_FOREIGN);
  bad = good, bad.temporal[0][2] = 16;
  expect_fault(&f, &bad, 64, CORE_FAULT_PIECES);
  bad = good, bad.spatial[0] = 3, bad.temporal[1][2] = 3;
  expect_fault(&f, &bad, 64, CORE_FAULT_CHAIN);
  bad = good, bad.spatial[1] = 0;
  expect_fault(&f, &bad, 64, CORE_FAULT_ZERO);
  bad = good, bad.temporal[1][1] = 0;
  expect_fault(&f, &bad, 64, CORE_FAULT_ZERO);
  bad = good, bad.spatial[5] = 2;
  expect_fault(&f, &bad, 64, CORE_FAULT_BEYOND);
  bad = good, bad.temporal[0][6] = 2;
  expect_fault(&f, &bad, 64, CORE_FAULT_NOT_CUT);
  f.stage.reduced = 0; /* nobody sums over k */
  expect_fault(&f, &good, 64, CORE_FAULT_TWICE);
}

/* Copies of the same row cut alike share one offset; cut as differently as three tensors can be, digits are combined. */
static void test_shared_replicas(void **state) {
  (void)state;
  struct operator_fixture f;
  struct core_fault fault;
  static struct machine machine;
  fixture_set(&f, 3, (uint64_t[]){8, 8, 8}, 3, (uint16_t[]){6, 6, 6}); /* all lack axis 0, which is summed */
  struct plan_partition p = uncut();
  p.spatial[0] = 4;
  p.temporal[0][1] = 2, p.temporal[0][2] = 2;
  p.temporal[1][1] = 4;
  p.temporal[2][2] = 4;
  assert_true(plan_validate(&f.program, &f.op, &p, 4, &machine.rings, &fault));
  plan_partition_grid(&f.program, &f.op, &p, &machine.grid);
  machine.cores = 4;
  run_machine(&machine);
}

static void test_preload(void **state) {
  (void)state;
  struct operator_fixture f;
  struct core_fault fault;
  fixture_product(&f, 64, 64, 60);
  struct plan_partition hot = uncut(), cold;
  hot.spatial[0] = 12, hot.spatial[1] = 4;
  hot.temporal[1][2] = 3;
  cold = hot, cold.temporal[1][2] = 6, cold.temporal[1][1] = 2, cold.temporal[0][0] = 4;
  assert_true(plan_validate_preload(&f.program, &f.op, &cold, &hot, &fault));
  struct plan_partition bad = cold;
  bad.temporal[1][2] = 4;
  assert_false(plan_validate_preload(&f.program, &f.op, &bad, &hot, &fault));
  assert_int_equal(fault.kind, CORE_FAULT_COARSE);
  bad = cold, bad.temporal[1][1] = 4; /* 24 pieces for 12 replicas */
  assert_false(plan_validate_preload(&f.program, &f.op, &bad, &hot, &fault));
  assert_int_equal(fault.kind, CORE_FAULT_PIECES);
  bad = cold, bad.temporal[1][0] = 2;
  assert_false(plan_validate_preload(&f.program, &f.op, &bad, &hot, &fault));
  assert_int_equal(fault.kind, CORE_FAULT_FOREIGN);
  bad = cold, bad.spatial[1] = 2;
  assert_false(plan_validate_preload(&f.program, &f.op, &bad, &hot, &fault));
  assert_int_equal(fault.kind, CORE_FAULT_GRID);
}

/* A plan that rotates all three tensors, on all cores of a pod. */
static void test_pod(void **state) {
  (void)state;
  struct operator_fixture f;
  struct core_fault fault;
  fixture_product(&f, 32, 15360, 5120);
  struct plan_partition p = uncut();
  p.spatial[0] = 2, p.spatial[1] = 184, p.spatial[2] = 16;
  p.temporal[0][2] = 46, p.temporal[1][2] = 2, p.temporal[2][1] = 8, p.temporal[2][0] = 2;
  assert_true(check(&f, &p, 5888, &fault));
  assert_false(check(&f, &p, 5887, &fault));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_brute_force), cmocka_unit_test(test_refusals), cmocka_unit_test(test_shared_replicas),
      cmocka_unit_test(test_preload),     cmocka_unit_test(test_pod),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
