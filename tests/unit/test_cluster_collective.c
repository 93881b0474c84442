/* Closed forms of collectives against sums done by hand, and what no algorithm may do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/collective.h"

enum { STAR, RING, LINE, TORUS, NODES, MESH, FABRIC_COUNT };

/* Links of 100 GB/s and 1 us, cards of 10 GB/s and 5 us. */
static struct hw_cluster make_cluster(int fabric, const char *library) {
  const struct hw_dimension star = {
      .name = "switch", .fabric = HW_FABRIC_SWITCH, .size = 8, .link_Bps = 100e9, .latency_s = 1e-6, .reduces = true};
  const struct hw_dimension mesh = {
      .name = "mesh", .fabric = HW_FABRIC_MESH, .size = 8, .link_Bps = 700e9, .latency_s = 1e-6};
  const struct hw_dimension ring = {
      .name = "ring", .fabric = HW_FABRIC_RING, .size = 64, .link_Bps = 100e9, .latency_s = 1e-6};
  const struct hw_dimension net = {.name = "net", .fabric = HW_FABRIC_FAT_TREE, .link_Bps = 10e9, .latency_s = 5e-6};
  struct hw_cluster cluster = {.id = "test", .library = library, .dimension_count = 1};
  cluster.dimensions[0] = fabric == STAR || fabric == NODES ? star : fabric == MESH ? mesh : ring;
  cluster.dimensions[1] = fabric == TORUS ? ring : net;
  cluster.dimension_count = fabric == TORUS || fabric == NODES ? 2 : 1;
  return cluster;
}

static struct hw_slice make_slice(const struct hw_cluster *cluster, uint32_t a, uint32_t b, bool is_closed) {
  struct hw_slice slice = {.size = {a, b, 1, 1}, .devices = (uint64_t)a * b};
  for (uint32_t d = 0; d < cluster->dimension_count; d++) {
    slice.wraps[d] = is_closed && cluster->dimensions[d].fabric == HW_FABRIC_RING;
  }
  return slice;
}

/* Nothing but links: no launch, full efficiency. */
static struct collective_constants pure(const struct hw_cluster *cluster) {
  struct collective_constants constants;
  collective_constants_of(cluster, &constants);
  constants.values[COLLECTIVE_LAUNCH] = 0;
  constants.values[COLLECTIVE_EFFICIENCY] = constants.values[COLLECTIVE_NETWORK_EFFICIENCY] = 1;
  constants.values[COLLECTIVE_TREE_EFFICIENCY] = constants.values[COLLECTIVE_NVLS_EFFICIENCY] = 1;
  return constants;
}

static double seconds(const char *algorithm, int fabric, uint32_t a, uint32_t b, bool is_closed,
                      enum work_collective_kind kind, double bytes) {
  struct hw_cluster cluster = make_cluster(fabric, "plain");
  struct hw_slice slice = make_slice(&cluster, a, b, is_closed);
  struct collective_constants constants = pure(&cluster);
  struct collective_request request = {.kind = kind, .bytes = bytes};
  struct collective_result result = {0};
  group_shape_strided(&cluster, &slice, slice.devices, 1, &request.shape);
  const struct collective_algorithm *row = collective_algorithm_find(algorithm);
  assert_non_null(row);
  assert_true(row->applies(&cluster, &slice, &request));
  row->time(&cluster, &slice, &constants, &request, &result);
  return result.time_s;
}

static void assert_s(double value, double wanted) {
  assert_true(fabs(value - wanted) <= 1e-12 + 1e-9 * wanted);
}

static void test_ring(void **state) {
  (void)state;
  /* 8 ranks, 800 MB: 14 steps of 1 us and 100 MB / 100 GB/s */
  assert_s(seconds("ring", STAR, 8, 1, false, WORK_ALL_REDUCE, 800e6), 14 * (1e-6 + 1e-3));
  assert_s(seconds("ring", STAR, 8, 1, false, WORK_ALL_GATHER, 800e6), 7 * (1e-6 + 1e-3));
  assert_s(seconds("ring", STAR, 8, 1, false, WORK_REDUCE_SCATTER, 800e6), 7 * (1e-6 + 1e-3));
  /* neighbour links: both ways round a closed ring; along a line all goes through the link at its end */
  assert_s(seconds("ring", RING, 8, 1, true, WORK_ALL_REDUCE, 800e6), 14 * (1e-6 + 0.5e-3));
  assert_s(seconds("ring", RING, 8, 1, false, WORK_ALL_GATHER, 800e6), 7 * (1e-6 + 1e-3));
  /* a mesh of 7 links of 100 GB/s has 7 rings */
  assert_s(seconds("ring", MESH, 8, 1, false, WORK_ALL_REDUCE, 800e6), 14 * (1e-6 + 1e-3 / 7));
  /* 2 nodes of 8: 15 steps a pass, one of them between nodes; 8 cards carry 2 x 15/16 of the data */
  assert_s(seconds("ring", NODES, 8, 2, false, WORK_ALL_REDUCE, 800e6),
           2 * (14 * 1e-6 + 5e-6) + 2 * 800e6 * 15 / 16 / 80e9);
  assert_s(seconds("ring", STAR, 8, 1, false, WORK_COLLECTIVE_BROADCAST, 800e6), 7e-6 + 8e-3);
}

static void test_tree_and_halving(void **state) {
  (void)state;
  assert_s(seconds("tree", STAR, 8, 1, false, WORK_ALL_REDUCE, 800e6), 2 * 3 * 1e-6 + 2 * 8e-3);
  assert_s(seconds("tree", NODES, 8, 4, false, WORK_ALL_REDUCE, 800e6), 2 * (3e-6 + 2 * 5e-6) + 2 * 800e6 / 80e9);
  assert_s(seconds("halving_doubling", STAR, 8, 1, false, WORK_ALL_REDUCE, 800e6), 2 * (3e-6 + 7e-3));
  /* between nodes only an eighth of the data goes */
  assert_s(seconds("halving_doubling", NODES, 8, 2, false, WORK_REDUCE_SCATTER, 800e6),
           3e-6 + 7e-3 + 5e-6 + 50e6 / 10e9);
}

static void test_torus_and_hierarchical(void **state) {
  (void)state;
  /* 4 x 4, two parts of 400 MB: 3/4 of 400 MB along one dimension, then of 100 MB along the other; 200 GB/s both ways */
  double pass_s = 3e-6 + 300e6 / 200e9 + 3e-6 + 75e6 / 200e9;
  assert_s(seconds("torus", TORUS, 4, 4, true, WORK_ALL_REDUCE, 800e6), 2 * pass_s);
  assert_s(seconds("torus", TORUS, 4, 4, true, WORK_ALL_GATHER, 800e6), pass_s);
  assert_s(seconds("torus", RING, 8, 1, true, WORK_ALL_REDUCE, 800e6), 14 * (1e-6 + 0.5e-3)); /* one ring */
  /* reduce-scatter of 8, all-reduce of 100 MB over 4 cards, all-gather of 8 */
  assert_s(seconds("hierarchical", NODES, 8, 4, false, WORK_ALL_REDUCE, 800e6),
           2 * (7e-6 + 7e-3) + 2 * (3 * 5e-6 + 75e6 / 10e9));
}

static void test_direct_and_switch(void **state) {
  (void)state;
  assert_s(seconds("direct", STAR, 8, 1, false, WORK_ALL_TO_ALL, 800e6), 1e-6 + 7e-3);
  assert_s(seconds("direct", STAR, 8, 1, false, WORK_ALL_REDUCE, 800e6), 2 * (1e-6 + 7e-3));
  assert_s(seconds("direct", MESH, 8, 1, false, WORK_ALL_TO_ALL, 800e6), 1e-6 + 1e-3);
  assert_s(seconds("one_shot", STAR, 8, 1, false, WORK_ALL_REDUCE, 800e6), 1e-6 + 7 * 8e-3);
  /* rings of 8: an eighth goes to each; 2 x 8/8 x ... = 16 ways over 16 links, closed; half through the middle, open */
  assert_s(seconds("direct", RING, 8, 1, true, WORK_ALL_TO_ALL, 800e6), 4e-6 + 800e6 * 8 / 8 / 100e9);
  assert_s(seconds("direct", RING, 8, 1, false, WORK_ALL_TO_ALL, 800e6), 7e-6 + 800e6 * 8 / 4 / 100e9);
  /* half of it leaves the node: 400 MB through a card */
  assert_s(seconds("direct", NODES, 8, 2, false, WORK_ALL_TO_ALL, 800e6), 6e-6 + 400e6 / 10e9);
  struct hw_cluster star = make_cluster(STAR, "nccl");
  double latency_s = pure(&star).values[COLLECTIVE_NVLS_LATENCY];
  assert_s(seconds("nvls", STAR, 8, 1, false, WORK_ALL_REDUCE, 800e6), latency_s + 9e-3);
  assert_s(seconds("nvls", STAR, 8, 1, false, WORK_ALL_GATHER, 800e6), latency_s + 8e-3);
}

static void test_messages(void **state) {
  (void)state;
  struct hw_cluster cluster = make_cluster(RING, "plain");
  struct hw_slice slice = make_slice(&cluster, 8, 1, true);
  struct collective_constants constants = pure(&cluster);
  struct collective_request request = {.kind = WORK_PERMUTE, .bytes = 100e6, .hops = {3}, .sharing = {2}};
  struct collective_result result;
  group_shape_strided(&cluster, &slice, 2, 1, &request.shape);
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_s(result.time_s, 3e-6 + 2 * 1e-3); /* three hops, two pairs on a link */
  assert_string_equal(result.algorithm, "permute");
  request.hops[0] = request.sharing[0] = 0; /* not stated: to the neighbour */
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_s(result.time_s, 1e-6 + 1e-3);
}

static void test_strides_and_tapers(void **state) {
  (void)state;
  struct hw_cluster cluster = make_cluster(RING, "plain");
  struct hw_slice slice = make_slice(&cluster, 8, 1, true);
  struct collective_constants constants = pure(&cluster);
  struct collective_request request = {.kind = WORK_ALL_GATHER, .bytes = 400e6};
  struct collective_result result;
  group_shape_strided(&cluster, &slice, 4, 2, &request.shape); /* every other: two groups share every link */
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_s(result.time_s, 3 * 2e-6 + 300e6 / (2 * 50e9));
  cluster = make_cluster(NODES, "plain");
  cluster.dimensions[1].taper = 0.5;
  cluster.dimensions[1].leaf_units = 2;
  slice = make_slice(&cluster, 8, 4, false);
  group_shape_strided(&cluster, &slice, 4, 8, &request.shape); /* through nodes in order: one hop in two leaves */
  collective_time(&cluster, &slice, &constants, &request, &result);
  double near_s = result.time_s;
  group_shape_strided(&cluster, &slice, 2, 16, &request.shape); /* every hop leaves */
  request.bytes = 100e6;
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_true(near_s > 300e6 / 10e9 && near_s < 300e6 / 10e9 * 1.01);
  assert_s(result.time_s, 5e-6 + 50e6 / 5e9);
}

/* Every library, kind and size: nothing for one rank, finite, positive, rising with bytes, falling with bandwidth, and never
 * below the bytes that must go over a rank's links. */
static void test_bounds(void **state) {
  (void)state;
  static const char *const libraries[] = {"nccl", "rccl", "oneccl", "xla_tpu", "neuron", "gcl", "hccl", "unheard"};
  static const uint32_t sizes[][2] = {{1, 1}, {2, 1}, {3, 1}, {5, 2}, {7, 3}, {8, 1}, {8, 5}};
  for (size_t l = 0; l < sizeof libraries / sizeof libraries[0]; l++) {
    for (int fabric = STAR; fabric < FABRIC_COUNT; fabric++) {
      for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct hw_cluster cluster = make_cluster(fabric, libraries[l]);
        struct hw_slice slice =
            make_slice(&cluster, sizes[s][0], cluster.dimension_count > 1 ? sizes[s][1] : 1, fabric != LINE);
        struct collective_constants constants;
        collective_constants_of(&cluster, &constants);
        struct hw_cluster faster = cluster;
        faster.dimensions[0].link_Bps *= 2;
        faster.dimensions[1].link_Bps *= 2;
        for (int kind = WORK_ALL_REDUCE; kind <= WORK_SEND_RECV; kind++) {
          double last_s = 0, p = (double)slice.devices;
          for (double bytes = 0; bytes < 1e10; bytes = bytes * 7 + 1) {
            struct collective_request request = {.kind = (enum work_collective_kind)kind, .bytes = bytes};
            struct collective_result result, fast;
            group_shape_strided(&cluster, &slice, slice.devices, 1, &request.shape);
            collective_time(&cluster, &slice, &constants, &request, &result);
            collective_time(&faster, &slice, &constants, &request, &fast);
            assert_true(isfinite(result.time_s) && result.time_s >= last_s);
            assert_true(fast.time_s <= result.time_s);
            assert_true(fabs(result.launch_s + result.latency_s + result.transfer_s - result.time_s)
                        <= 1e-9 * result.time_s);
            assert_true((result.time_s > 0) == (p > 1));
            /* all links of a rank together, both ways round two rings at most */
            double links_Bps =
                cluster.dimensions[0].link_Bps * (cluster.dimensions[0].fabric == HW_FABRIC_RING ? 4 : 1);
            double least = kind == WORK_PERMUTE || kind == WORK_SEND_RECV ? 1 : (p - 1) / p;
            assert_true(p < 2 || result.time_s >= bytes * least / links_Bps);
            last_s = result.time_s;
          }
        }
      }
    }
  }
}

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; collective_algorithms[i] != NULL; i++) {
    const struct collective_algorithm *row = collective_algorithms[i];
    assert_ptr_equal(collective_algorithm_find(row->name), row);
    assert_true(row->summary[0] != '\0' && row->applies != NULL && row->time != NULL);
  }
  assert_null(collective_algorithm_find("carrier pigeon"));
}

/* What a rank sends in all is what the algorithm says, whatever it is called on. */
static void test_sent_bytes(void **state) {
  (void)state;
  struct hw_cluster cluster = make_cluster(NODES, "plain");
  struct hw_slice slice = make_slice(&cluster, 8, 4, false);
  struct collective_constants constants = pure(&cluster);
  struct collective_request request = {.kind = WORK_ALL_REDUCE, .bytes = 32e6};
  struct collective_result result = {0};
  group_shape_strided(&cluster, &slice, 32, 1, &request.shape);
  collective_algorithm_find("ring")->time(&cluster, &slice, &constants, &request, &result);
  assert_s(result.sent_bytes[0] + result.sent_bytes[1], 2 * 31e6); /* 2 n (p - 1) / p */
  result = (struct collective_result){0};
  collective_algorithm_find("hierarchical")->time(&cluster, &slice, &constants, &request, &result);
  assert_s(result.sent_bytes[0], 2 * 28e6); /* 7/8 of 32 MB */
  assert_s(result.sent_bytes[1], 2 * 3e6); /* 3/4 of 4 MB */
}

/* Small sums go with flags, large ones in chunks or through the switch, as NCCL's constants say. */
static void test_choice(void **state) {
  (void)state;
  struct hw_cluster cluster = make_cluster(STAR, "nccl");
  struct hw_slice slice = make_slice(&cluster, 8, 1, false);
  struct collective_constants constants;
  struct collective_request request = {.kind = WORK_ALL_REDUCE, .bytes = 1024};
  struct collective_result result;
  collective_constants_of(&cluster, &constants);
  group_shape_strided(&cluster, &slice, 8, 1, &request.shape);
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_string_equal(result.algorithm, "ring");
  assert_string_equal(result.protocol, "ll");
  request.bytes = 1e9;
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_string_equal(result.algorithm, "nvls");
  request.no_switch_sums = true;
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_string_equal(result.algorithm, "ring");
  assert_string_equal(result.protocol, "simple");
  constants.values[COLLECTIVE_ONE_SHOT_MAX] = 262144;
  constants.values[COLLECTIVE_TWO_SHOT_MAX] = 4194304;
  request.bytes = 262144;
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_string_equal(result.algorithm, "one_shot");
  request.bytes = 4194304;
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_string_equal(result.algorithm, "direct");
  cluster = make_cluster(TORUS, "xla_tpu");
  slice = make_slice(&cluster, 4, 4, true);
  request.bytes = 1e8;
  group_shape_strided(&cluster, &slice, 16, 1, &request.shape);
  collective_time(&cluster, &slice, &constants, &request, &result);
  assert_string_equal(result.algorithm, "torus");
}

/* Constants: fields of the cluster, within bounds, else defaults. */
static void test_constants(void **state) {
  (void)state;
  const struct hw_cluster none = make_cluster(STAR, "nccl");
  struct collective_constants constants;
  collective_constants_of(&none, &constants);
  assert_s(constants.values[COLLECTIVE_LL_STEP], 0.6e-6); /* NCCL's, over NVLink */
  assert_s(constants.values[COLLECTIVE_SIMPLE_NETWORK_STEP], 14e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_tree_and_halving),
      cmocka_unit_test(test_torus_and_hierarchical),
      cmocka_unit_test(test_direct_and_switch),
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_strides_and_tapers),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_sent_bytes),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_constants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
