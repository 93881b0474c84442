/* Collectives as messages: closed forms of every algorithm on every fabric that it runs on, alone; equal results with devices
 * one by one and as classes; conservation, bounds by bandwidth, contention, order of calls, deadlock. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_fixture.h"

static const struct collective_run_options explicit_devices = {0}, collapsed = {.is_collapsed = true};

/* Bytes that all ranks, chunks and directions divide. */
static const double sizes[] = {1 << 18, 1 << 22, 1 << 26};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

/* ---- closed forms ---- */

static double form_ring(double p, double n, double a, double B) {
  return 2 * (p - 1) * (a + n / (p * B));
}
static double form_ring_half(double p, double n, double a, double B) {
  return form_ring(p, n, a, B) / 2;
}
static double form_both_ways(double p, double n, double a, double B) {
  return form_ring(p, n, a, 2 * B);
}
static double form_halving(double p, double n, double a, double B) {
  return 2 * log2(p) * a + 2 * n * (p - 1) / (p * B);
}
static double form_direct(double p, double n, double a, double B) {
  return 2 * (a + n * (p - 1) / (p * B));
}
static double form_direct_half(double p, double n, double a, double B) {
  return form_direct(p, n, a, B) / 2;
}
static double form_pairwise(double p, double n, double a, double B) {
  return (p - 1) * (a + n / (p * B));
}
static double form_one_shot(double p, double n, double a, double B) {
  return a + n * (p - 1) / B;
}
static double chunks(uint32_t depth) {
  const struct collective_schedule schedule = {0};
  const struct collective_request large = {.bytes = 1 << 30};
  return schedule_chunks(&schedule, &large, depth, 1);
}
/* the last chunk comes down after the others: 1 + 1 / chunks */
static double form_nvls(double p, double n, double a, double B) {
  return a + n * (1 + 1 / p) / B * (1 + 1 / chunks(2));
}
static double form_chain(double p, double n, double a, double B) {
  return (p - 1) * a + n / B * (1 + (p - 2) / chunks(2 * (uint32_t)p - 2));
}
/* all-to-all in a closed ring of even p: half of p / 2 parts of each rank pass each link, and the one across the middle */
static double form_ring_bisection(double p, double n, double a, double B) {
  (void)a;
  return n / p * (p * p / 8) / B;
}

struct closed_case {
  const struct hw_dimension *dimension;
  uint32_t ranks;
  const char *algorithm;
  enum work_collective_kind kind;
  double (*seconds)(double p, double n, double a, double B);
};

static const struct closed_case closed_cases[] = {
    {&fixture_switch, 8, "ring", WORK_ALL_REDUCE, form_ring},
    {&fixture_switch, 64, "ring", WORK_ALL_REDUCE, form_ring},
    {&fixture_switch, 8, "ring", WORK_ALL_GATHER, form_ring_half},
    {&fixture_switch, 8, "ring", WORK_REDUCE_SCATTER, form_ring_half},
    {&fixture_switch, 8, "ring", WORK_COLLECTIVE_BROADCAST, form_chain},
    {&fixture_switch, 8, "ring", WORK_COLLECTIVE_REDUCE, form_chain},
    {&fixture_switch, 8, "halving_doubling", WORK_ALL_REDUCE, form_halving},
    {&fixture_switch, 64, "halving_doubling", WORK_ALL_REDUCE, form_halving},
    {&fixture_switch, 8, "direct", WORK_ALL_REDUCE, form_direct},
    {&fixture_switch, 8, "direct", WORK_ALL_GATHER, form_direct_half},
    {&fixture_switch, 8, "direct", WORK_ALL_TO_ALL, form_direct_half},
    {&fixture_switch, 8, "pairwise", WORK_ALL_TO_ALL, form_pairwise},
    {&fixture_switch, 8, "one_shot", WORK_ALL_REDUCE, form_one_shot},
    {&fixture_switch, 8, "nvls", WORK_ALL_REDUCE, form_nvls},
    {&fixture_mesh, 8, "direct", WORK_ALL_REDUCE, form_direct},
    {&fixture_mesh, 8, "direct", WORK_ALL_TO_ALL, form_direct_half},
    {&fixture_mesh, 8, "one_shot", WORK_ALL_REDUCE, form_one_shot},
    {&fixture_ring, 2, "ring", WORK_ALL_REDUCE, form_both_ways},
    {&fixture_ring, 4, "ring", WORK_ALL_REDUCE, form_both_ways},
    {&fixture_ring, 16, "ring", WORK_ALL_REDUCE, form_both_ways},
    {&fixture_ring, 16, "torus", WORK_ALL_REDUCE, form_both_ways},
    {&fixture_line, 2, "ring", WORK_ALL_REDUCE, form_ring},
    {&fixture_line, 8, "ring", WORK_ALL_REDUCE, form_ring},
    {&fixture_line, 8, "ring", WORK_ALL_GATHER, form_ring_half},
    {&fixture_tree, 32, "ring", WORK_ALL_REDUCE, form_ring},
    {&fixture_tree, 32, "halving_doubling", WORK_ALL_REDUCE, form_halving},
};
enum { CLOSED_COUNT = sizeof closed_cases / sizeof *closed_cases };

static void expect_seconds(sim_time_ps actual_ps, double expected_s, double tolerance_ps) {
  if (fabs((double)actual_ps - expected_s * 1e12) > tolerance_ps) {
    print_message("expected %.0f ps, got %llu\n", expected_s * 1e12, (unsigned long long)actual_ps);
  }
  assert_true(fabs((double)actual_ps - expected_s * 1e12) <= tolerance_ps);
}

/* Every step may round up by 1 ps. */
static void test_closed_forms(void **state) {
  (void)state;
  for (int i = 0; i < CLOSED_COUNT; i++) {
    const struct closed_case *c = &closed_cases[i];
    for (int s = 0; s < SIZE_COUNT; s++) {
      struct fabric_fixture *f = calloc(1, sizeof *f);
      fixture_add(f, *c->dimension, c->ranks);
      struct collective_run_request all = fixture_all(f, c->kind, sizes[s], c->algorithm);
      struct collective_run_result one, classes;
      double expected_s = c->seconds(c->ranks, sizes[s], c->dimension->latency_s, c->dimension->link_Bps);
      sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &one);
      if (fabs((double)end_ps - expected_s * 1e12) > 2.0 * c->ranks + 600) {
        print_message("%s of %u over %s, %s: ", c->algorithm, c->ranks, c->dimension->name,
                      work_collective_name(c->kind));
      }
      expect_seconds(end_ps, expected_s,
                     2.0 * c->ranks + (c->seconds == form_nvls || c->seconds == form_chain ? 600 : 0));
      assert_true(fixture_run(f, &all, 1, &collapsed, &classes) == end_ps);
      assert_true(one.network.sent_bytes == classes.network.sent_bytes);
      assert_true(one.network.sent_bytes == one.network.received_bytes);
      assert_true(one.network.messages >= classes.simulated_messages);
      free(f);
    }
  }
}

/* a is hop latency; each of p - 1 messages k = 1 ... goes k or p - k hops. */
static void test_ring_all_to_all(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_ring, 8);
  struct collective_run_request all = fixture_all(f, WORK_ALL_TO_ALL, 1 << 26, "direct");
  struct collective_run_result result;
  double transfer_s = form_ring_bisection(8, 1 << 26, 0, fixture_ring.link_Bps);
  sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
  /* opposite ranks are both p / 2 away; all of them go one way here, which fills that way more */
  assert_true((double)end_ps >= transfer_s * 1e12);
  assert_true((double)end_ps <= transfer_s * 1e12 * (1 + 2.0 / 8) + 4e6 + 100);
  assert_true(fixture_run(f, &all, 1, &collapsed, &result) == end_ps);
  free(f);
}

/* Torus: D parts with rotated orders, both directions: 2 sum_d (p_d - 1) (a + n_d / (2 D p_d B)). The parts are in step with
 * each other only where all dimensions are alike; else the slowest part counts. */
static void test_torus(void **state) {
  (void)state;
  static const uint32_t shapes[][3] = {{4, 4, 1}, {4, 4, 4}, {8, 8, 1}};
  for (size_t i = 0; i < 3; i++) {
    struct fabric_fixture *f = calloc(1, sizeof *f);
    uint32_t dimensions = shapes[i][2] > 1 ? 3 : 2, p = shapes[i][0];
    for (uint32_t d = 0; d < dimensions; d++) {
      fixture_add(f, fixture_ring, p);
    }
    double n = 3 << 24, expected_s = 0, held = n / (2.0 * dimensions);
    for (uint32_t d = 0; d < dimensions; d++) {
      expected_s += 2 * (p - 1) * (fixture_ring.latency_s + held / (p * fixture_ring.link_Bps));
      held /= p;
    }
    struct collective_run_request all = fixture_all(f, WORK_ALL_REDUCE, n, "torus");
    struct collective_run_result result;
    sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
    expect_seconds(end_ps, expected_s, 100);
    assert_true(fixture_run(f, &all, 1, &collapsed, &result) == end_ps);
    assert_int_equal(result.classes, 1);
    free(f);
  }
}

static void test_hierarchical(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 8);
  fixture_add(f, fixture_tree, 16);
  double n = 1 << 26;
  double inside_s = 2 * 7 * (fixture_switch.latency_s + n / 8 / fixture_switch.link_Bps);
  double across_s = 2 * 15 * (fixture_tree.latency_s + n / 8 / 16 / fixture_tree.link_Bps);
  struct collective_run_request all = fixture_all(f, WORK_ALL_REDUCE, n, "hierarchical");
  struct collective_run_result result;
  sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
  expect_seconds(end_ps, inside_s + across_s, 100);
  /* what every rank must send: (p - 1) / p of the buffer twice, whatever the way */
  assert_true(result.network.sent_bytes == (uint64_t)(2 * n * 127 / 128) * 128);
  assert_true(fixture_run(f, &all, 1, &collapsed, &result) == end_ps);
  assert_int_equal(result.classes, 1);
  free(f);
}

/* Rings over nodes: each of the 8 rings leaves a node over another device's cards, so all cards carry 2 (p - 1) / p n / 8. */
static void test_ring_over_nodes(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 8);
  fixture_add(f, fixture_tree, 4);
  double n = 1 << 28, p = 32;
  struct collective_run_request all = fixture_all(f, WORK_ALL_REDUCE, n, "ring");
  struct collective_run_result result;
  double cards_s = 2 * (p - 1) / p * n / 8 / fixture_tree.link_Bps,
         ports_s = 2 * (p - 1) / p * n * 7 / 8 / fixture_switch.link_Bps;
  double latency_s = 2 * (p - 1) * fixture_tree.latency_s;
  sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
  double bound_s = cards_s > ports_s ? cards_s : ports_s;
  assert_true((double)end_ps >= bound_s * 1e12);
  assert_true((double)end_ps <= (bound_s + latency_s + 0.35 * bound_s) * 1e12);
  assert_true(fixture_run(f, &all, 1, &collapsed, &result) == end_ps);
  free(f);
}

/* Double binary tree: about 2 n / B once the pipeline is full, which takes a chunk for each of 2 log2 p levels, and the busiest
 * link carries two trees; messages are 2 n for each of p - 1 edges. */
static void test_tree(void **state) {
  (void)state;
  for (uint32_t p = 4; p <= 128; p *= 2) {
    struct fabric_fixture *f = calloc(1, sizeof *f);
    fixture_add(f, fixture_switch, p);
    double n = 1 << 28, B = fixture_switch.link_Bps, a = fixture_switch.latency_s;
    struct collective_run_request all = fixture_all(f, WORK_ALL_REDUCE, n, "tree");
    struct collective_run_result result;
    sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
    assert_true(result.network.sent_bytes == (uint64_t)(2 * n) * (p - 1));
    double latency_s = 2 * log2(p) * a;
    double chunk_s = n / 2 / chunks((uint32_t)log2(p)) / B;
    assert_true((double)end_ps >= (2 * n / B * (1 - 1.0 / p) + latency_s / 2) * 1e12);
    assert_true((double)end_ps <= (2 * n / B + latency_s + 2 * log2(p) * 2 * chunk_s) * 1e12);
    struct collective_run_result classes;
    assert_true(fixture_run(f, &all, 1, &collapsed, &classes) == end_ps);
    free(f);
  }
}

/* ---- bounds ---- */

static uint32_t random_next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
  return *state >> 8;
}

/* Bytes that each rank must send at least, for `n` of the full buffer. */
static double least_sent(enum work_collective_kind kind, double n, double p) {
  return kind == WORK_ALL_REDUCE ? 2 * n * (p - 1) / p : n * (p - 1) / p;
}

/* Random algorithms on random fabrics: what is sent arrives; each rank has sent what the collective requires; no faster than
 * the bytes over all links of a rank; and no slower on links twice as fast. */
static void test_random_bounds(void **state) {
  (void)state;
  static const char *const algorithms[] = {"ring", "direct", "halving_doubling", "hierarchical", "torus"};
  static const enum work_collective_kind kinds[] = {WORK_ALL_REDUCE, WORK_ALL_GATHER, WORK_REDUCE_SCATTER};
  const struct hw_dimension *fabrics[] = {&fixture_switch, &fixture_mesh, &fixture_ring, &fixture_line, &fixture_tree};
  uint32_t seed = 11;
  for (int run = 0; run < 200; run++) {
    struct fabric_fixture *f = calloc(1, sizeof *f);
    uint32_t inner = 1u << (random_next(&seed) % 3 + 1), outer = 1u << random_next(&seed) % 3;
    fixture_add(f, *fabrics[random_next(&seed) % 4], inner);
    if (outer > 1) {
      fixture_add(f, *fabrics[2 + random_next(&seed) % 3], outer);
    }
    double n = 1 << 22, p = inner * outer;
    enum work_collective_kind kind = kinds[random_next(&seed) % 3];
    struct collective_run_request all = fixture_all(f, kind, n, algorithms[random_next(&seed) % 5]);
    struct collective_run_result result, classes, fast;
    sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
    assert_true(result.network.sent_bytes == result.network.received_bytes);
    double sent = (double)result.network.sent_bytes / p; /* parts are rounded up: torus cuts by 6 */
    assert_true(sent >= least_sent(kind, n, p) && sent <= least_sent(kind, n, p) + 64 * p);
    double links_Bps = 0;
    for (uint32_t d = 0; d < f->cluster.dimension_count; d++) {
      links_Bps += f->cluster.dimensions[d].link_Bps * (f->cluster.dimensions[d].fabric == HW_FABRIC_RING ? 2 : 1);
    }
    assert_true((double)end_ps * 1e-12 >= least_sent(kind, n, p) / links_Bps);
    assert_true(fixture_run(f, &all, 1, &collapsed, &classes) == end_ps);
    assert_true(classes.network.sent_bytes == result.network.sent_bytes);
    for (uint32_t d = 0; d < f->cluster.dimension_count; d++) {
      f->cluster.dimensions[d].link_Bps *= 2;
    }
    assert_true(fixture_run(f, &all, 1, &explicit_devices, &fast) <= end_ps);
    free(f);
  }
}

/* All-to-all moves half of all bytes across any half: on a closed ring over 2 links each way. */
static void test_bisection(void **state) {
  (void)state;
  for (uint32_t p = 4; p <= 16; p *= 2) {
    struct fabric_fixture *f = calloc(1, sizeof *f);
    fixture_add(f, fixture_ring, p);
    double n = 1 << 20;
    struct collective_run_request all = fixture_all(f, WORK_ALL_TO_ALL, n, "direct");
    struct collective_run_result result;
    double across = n / p * (p / 2.0) * (p / 2.0), bisection_Bps = 2 * fixture_ring.link_Bps;
    assert_true((double)fixture_run(f, &all, 1, &explicit_devices, &result) * 1e-12 >= across / bisection_Bps);
    free(f);
  }
}

/* Above a taper of 1/4, groups across nodes get a quarter of what their cards would give, and groups below one leaf all. */
static void test_taper(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  struct hw_dimension tree = fixture_tree;
  tree.taper = 0.25;
  tree.leaf_units = 4;
  fixture_add(f, tree, 16);
  double n = 1 << 26, pair_s = n / tree.link_Bps;
  struct collective_run_request all = fixture_all(f, WORK_PERMUTE, n, "permute");
  uint32_t near_pairs[16], far_pairs[16];
  for (uint32_t i = 0; i < 8; i++) { /* both ways between 8 pairs of neighbours, or of nodes 8 apart */
    near_pairs[2 * i] = 2 * i;
    near_pairs[2 * i + 1] = 2 * i + 1;
    far_pairs[2 * i] = i;
    far_pairs[2 * i + 1] = i + 8;
  }
  all.group_size = 2;
  all.group_count = 8;
  struct collective_run_result result;
  all.members = near_pairs;
  expect_seconds(fixture_run(f, &all, 1, &explicit_devices, &result), pair_s + tree.latency_s, 4);
  all.members = far_pairs; /* 4 senders of a leaf share the 1 link's worth that goes up */
  sim_time_ps end_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
  expect_seconds(end_ps, 4 * pair_s + tree.latency_s, 4);
  assert_true(fixture_run(f, &all, 1, &collapsed, &result) == end_ps);
  assert_int_equal(result.classes, 2); /* senders and receivers */
  free(f);
}

/* ---- several at once ---- */

/* Two groups over disjoint links are as fast as one; two over the same links share them: no faster, and twice the time where
 * bytes count. */
static void test_contention(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 8);
  double n = 1 << 28;
  struct collective_run_request both[2] = {fixture_all(f, WORK_ALL_REDUCE, n, "ring"),
                                           fixture_all(f, WORK_ALL_REDUCE, n, "ring")};
  struct collective_run_result result;
  sim_time_ps alone_ps = fixture_run(f, both, 1, &explicit_devices, &result);
  sim_time_ps shared_ps = fixture_run(f, both, 2, &explicit_devices, &result);
  assert_true(shared_ps > alone_ps && shared_ps <= 2 * alone_ps);
  assert_true((double)shared_ps >= 1.95 * (double)alone_ps);
  assert_true(fixture_run(f, both, 2, &collapsed, &result) == shared_ps);
  struct collective_run_request halves = both[0]; /* 0-3 and 4-7 */
  halves.group_size = halves.request.shape.extent[0] = halves.request.shape.size = 4;
  sim_time_ps half_ps = fixture_run(f, &halves, 1, &explicit_devices, &result);
  halves.group_count = 2;
  assert_true(fixture_run(f, &halves, 1, &explicit_devices, &result) == half_ps);
  assert_true(fixture_run(f, &halves, 1, &collapsed, &result) == half_ps);
  assert_int_equal(result.classes, 1);
  free(f);
}

/* Random collectives over random subsets at the same time: none ends before it does alone. Direct ones start all they have
 * at once, so that a late start cannot help. */
static void test_never_faster_together(void **state) {
  (void)state;
  uint32_t seed = 5;
  for (int run = 0; run < 30; run++) {
    struct fabric_fixture *f = calloc(1, sizeof *f);
    fixture_add(f, run % 2 == 0 ? fixture_switch : fixture_ring, 8);
    struct collective_run_request requests[3];
    uint32_t members[3][8];
    sim_time_ps together_ps[3], alone_ps;
    struct collective_run_result result;
    struct diag_list diags;
    diag_init(&diags);
    for (uint32_t i = 0; i < 3; i++) {
      requests[i] = fixture_all(f, WORK_ALL_GATHER, 4096.0 * (random_next(&seed) % 100 + 1), "direct");
      uint32_t size = random_next(&seed) % 7 + 2, first = random_next(&seed) % 8, step = random_next(&seed) % 4 * 2 + 1;
      for (uint32_t k = 0; k < size; k++) {
        members[i][k] = (first + k * step) % 8;
      }
      requests[i].members = members[i];
      requests[i].group_size = size;
    }
    assert_int_equal(
        collective_run(&f->cluster, &f->slice, requests, 3, &explicit_devices, &diags, together_ps, &result),
        STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) {
      assert_int_equal(
          collective_run(&f->cluster, &f->slice, &requests[i], 1, &explicit_devices, &diags, &alone_ps, &result),
          STATUS_OK);
      assert_true(together_ps[i] + 16 >= alone_ps);
    }
    diag_release(&diags);
    free(f);
  }
}

/* ---- order of calls ---- */

static struct collective_run_request group_of(const struct fabric_fixture *f, const uint32_t *members, uint32_t size,
                                              const char *label) {
  struct collective_run_request request = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "ring");
  request.members = members;
  request.group_size = request.request.shape.size = request.request.shape.extent[0] = size;
  request.label = label;
  return request;
}

/* Groups {0,1}, {1,2}, {2,3} of four devices. Whatever the order of calls on a device, it ends as long as there is no circle;
 * a device waits for its own calls only. */
static void test_order_of_calls(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 4);
  static const uint32_t ab[] = {0, 1}, bc[] = {1, 2}, cd[] = {2, 3};
  const struct collective_run_request requests[] = {group_of(f, ab, 2, "ab"), group_of(f, bc, 2, "bc"),
                                                    group_of(f, cd, 2, "cd")};
  sim_time_ps end_ps[3];
  struct collective_run_result result;
  struct diag_list diags;
  diag_init(&diags);
  sim_time_ps one_ps = fixture_run(f, requests, 1, &explicit_devices, &result);
  /* device 1: ab, bc; device 2: bc, cd: one after the other */
  static const struct collective_call chain[] = {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}, {3, 2}};
  struct collective_run_options options = {.calls = chain, .call_count = 6};
  assert_int_equal(collective_run(&f->cluster, &f->slice, requests, 3, &options, &diags, end_ps, &result), STATUS_OK);
  assert_true(end_ps[0] == one_ps && end_ps[1] == 2 * one_ps && end_ps[2] == 3 * one_ps);
  /* device 2 calls cd first: ab and cd together, then bc */
  static const struct collective_call crossed[] = {{0, 0}, {1, 0}, {1, 1}, {2, 2}, {2, 1}, {3, 2}};
  options.calls = crossed;
  assert_int_equal(collective_run(&f->cluster, &f->slice, requests, 3, &options, &diags, end_ps, &result), STATUS_OK);
  assert_true(end_ps[0] == one_ps && end_ps[1] == 2 * one_ps && end_ps[2] == one_ps);
  diag_release(&diags);
  free(f);
}

/* Groups {0,1}, {1,2}, {2,0}, each device calling the other one first: reported with the names, not a hang. */
static void test_circle_of_calls(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 4);
  static const uint32_t ab[] = {0, 1}, bc[] = {1, 2}, ca[] = {2, 0};
  const struct collective_run_request requests[] = {group_of(f, ab, 2, "tensor"), group_of(f, bc, 2, "data"),
                                                    group_of(f, ca, 2, "expert")};
  static const struct collective_call circle[] = {{0, 0}, {0, 2}, {1, 1}, {1, 0}, {2, 2}, {2, 1}};
  const struct collective_run_options options = {.calls = circle, .call_count = 6};
  struct collective_run_result result;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(collective_run(&f->cluster, &f->slice, requests, 3, &options, &diags, NULL, &result), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0901_NETWORK_DEADLOCK);
  assert_non_null(strstr(diags.entries.data[0].message, "'tensor'"));
  assert_non_null(strstr(diags.entries.data[0].message, "'data'"));
  assert_non_null(strstr(diags.entries.data[0].message, "'expert'"));
  diag_release(&diags);
  free(f);
}

/* One late device delays a ring by as much: everyone waits for its first part. */
static void test_straggler(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 8);
  struct collective_run_request all = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "ring");
  struct collective_run_result result;
  sim_time_ps even_ps = fixture_run(f, &all, 1, &explicit_devices, &result);
  double delay_s[8] = {0, 0, 0, 1e-3, 0, 0, 0, 0};
  struct collective_run_options options = {.device_delay_s = delay_s};
  assert_true(fixture_run(f, &all, 1, &options, &result) == even_ps + 1000000000);
  options.is_collapsed = true; /* nobody is like another one: run one by one */
  assert_true(fixture_run(f, &all, 1, &options, &result) == even_ps + 1000000000);
  assert_int_equal(result.classes, 8);
  for (int i = 0; i < 8; i++) { /* all late by the same: one class again */
    delay_s[i] = 1e-3;
  }
  assert_true(fixture_run(f, &all, 1, &options, &result) == even_ps + 1000000000);
  assert_int_equal(result.classes, 1);
  free(f);
}

/* ---- what is refused ---- */

static void expect_refusal(const struct fabric_fixture *f, const struct collective_run_request *request,
                           const struct collective_run_options *options, enum status expected, const char *part) {
  struct collective_run_result result;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(collective_run(&f->cluster, &f->slice, request, 1, options, &diags, NULL, &result), expected);
  assert_int_equal(diags.error_count, 1);
  if (strstr(diags.entries.data[0].message, part) == NULL) {
    print_message("%s\n", diags.entries.data[0].message);
  }
  assert_non_null(strstr(diags.entries.data[0].message, part));
  diag_release(&diags);
}

static void test_refusals(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_ring, 4);
  static const uint32_t beyond[] = {0, 4}, twice[] = {0, 0};
  static const struct collective_call far_call[] = {{9, 0}};
  struct collective_run_request request = group_of(f, beyond, 2, "outside");
  expect_refusal(f, &request, &explicit_devices, STATUS_INPUT, "'outside' names device 4; the slice has 4");
  request = group_of(f, twice, 2, "double");
  expect_refusal(f, &request, &explicit_devices, STATUS_INPUT, "device 0 twice");
  request = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "nvls");
  expect_refusal(f, &request, &explicit_devices, STATUS_INPUT, "'nvls' needs a way");
  request = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "magic");
  expect_refusal(f, &request, &explicit_devices, STATUS_INPUT, "'magic' has no messages");
  request = fixture_all(f, WORK_ALL_TO_ALL, 1 << 20, "halving_doubling");
  expect_refusal(f, &request, &explicit_devices, STATUS_INPUT, "does not do all_to_all");
  request = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "ring");
  const struct collective_run_options few = {.max_messages = 5}, far = {.calls = far_call, .call_count = 1},
                                      short_run = {.limits = {.max_events = 3}};
  expect_refusal(f, &request, &few, STATUS_LIMIT, "more than 5 messages");
  expect_refusal(f, &request, &far, STATUS_INPUT, "on device 9");
  expect_refusal(f, &request, &short_run, STATUS_LIMIT, "after 3 events");
  free(f);
}

/* One rank, no bytes. */
static void test_degenerate(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  fixture_add(f, fixture_switch, 4);
  struct collective_run_request alone = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "ring");
  alone.group_size = 1;
  alone.group_count = 4;
  struct collective_run_result result;
  assert_int_equal(fixture_run(f, &alone, 1, &explicit_devices, &result), 0);
  struct collective_run_request empty = fixture_all(f, WORK_ALL_REDUCE, 0, "ring");
  assert_true(fixture_run(f, &empty, 1, &explicit_devices, &result) == 6 * 1000000); /* 2 (p - 1) a */
  assert_int_equal(fixture_run(f, NULL, 0, &explicit_devices, &result), 0);
  free(f);
}

/* A published simulator's own numbers for rings of 1 MiB at 100 GB/s and 1 us: 22,165 ns (p = 4), 147,169 (64), 2,066,461
 * (1,024), which stand beside 2 (p - 1) (a + n / (p B)) = 21,729, 146,644, 2,066,951 (it adds an endpoint delay per collective
 * and rounds parts down). */
static void test_published_rings(void **state) {
  (void)state;
  static const uint32_t ranks[] = {4, 64, 1024};
  static const double closed_ns[] = {21729, 146644, 2066951}, published_ns[] = {22165, 147169, 2066461};
  for (int i = 0; i < 3; i++) {
    struct fabric_fixture *f = calloc(1, sizeof *f);
    struct hw_dimension dimension = fixture_switch;
    dimension.link_Bps = 100e9;
    fixture_add(f, dimension, ranks[i]);
    struct collective_run_request all = fixture_all(f, WORK_ALL_REDUCE, 1 << 20, "ring");
    struct collective_run_result result;
    double end_ns = (double)fixture_run(f, &all, 1, &collapsed, &result) * 1e-3;
    assert_true(fabs(end_ns - closed_ns[i]) <= 0.6); /* they are rounded to 1 ns */
    assert_true(fabs(end_ns / published_ns[i] - 1) < 0.02);
    free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_forms),
      cmocka_unit_test(test_ring_all_to_all),
      cmocka_unit_test(test_torus),
      cmocka_unit_test(test_hierarchical),
      cmocka_unit_test(test_ring_over_nodes),
      cmocka_unit_test(test_tree),
      cmocka_unit_test(test_random_bounds),
      cmocka_unit_test(test_bisection),
      cmocka_unit_test(test_taper),
      cmocka_unit_test(test_contention),
      cmocka_unit_test(test_never_faster_together),
      cmocka_unit_test(test_order_of_calls),
      cmocka_unit_test(test_circle_of_calls),
      cmocka_unit_test(test_straggler),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_published_rings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
