/* Closed forms and messages beside each other: each algorithm on each fabric that it is for, at several sizes, alone, with the
 * constants of the library: within 2 %. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fabric_fixture.h"

struct agreement_case {
  const char *library;
  const struct hw_dimension *dimensions[3];
  uint32_t sizes[3];
  const char *algorithm;
  enum work_collective_kind kind;
};

/* Twice as fast as the cards of its devices, which then bound a ring over nodes. */
static const struct hw_dimension fast_mesh = {
    .name = "xgmi", .fabric = HW_FABRIC_MESH, .link_Bps = 800e9, .latency_s = 1e-6};

static const struct agreement_case cases[] = {
    {"nccl", {&fixture_switch}, {8}, "ring", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch}, {8}, "ring", WORK_ALL_GATHER},
    {"nccl", {&fixture_switch}, {64}, "ring", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch}, {8}, "ring", WORK_COLLECTIVE_BROADCAST},
    {"nccl", {&fixture_switch}, {8}, "tree", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch}, {8}, "nvls", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch}, {8}, "nvls", WORK_ALL_GATHER},
    {"nccl", {&fixture_switch}, {8}, "nvls", WORK_REDUCE_SCATTER},
    {"nccl", {&fixture_switch}, {8}, "direct", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch}, {8}, "direct", WORK_ALL_TO_ALL},
    {"nccl", {&fixture_switch}, {8}, "one_shot", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch}, {8}, "halving_doubling", WORK_ALL_REDUCE},
    {"nccl", {&fixture_tree}, {32}, "ring", WORK_ALL_REDUCE},
    {"nccl", {&fixture_tree}, {32}, "tree", WORK_ALL_REDUCE},
    {"nccl", {&fixture_tree}, {32}, "direct", WORK_ALL_TO_ALL},
    {"nccl", {&fixture_switch, &fixture_tree}, {8, 16}, "ring", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch, &fixture_tree}, {8, 16}, "ring", WORK_ALL_GATHER},
    {"nccl", {&fixture_switch, &fixture_tree}, {8, 2}, "ring", WORK_COLLECTIVE_BROADCAST},
    {"nccl", {&fixture_switch, &fixture_tree}, {8, 8}, "tree", WORK_ALL_REDUCE},
    {"nccl", {&fixture_mesh}, {8}, "ring", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch, &fixture_tree}, {8, 16}, "hierarchical", WORK_ALL_REDUCE},
    {"nccl", {&fixture_switch, &fixture_tree}, {8, 16}, "direct", WORK_ALL_TO_ALL},
    {"rccl", {&fixture_mesh}, {8}, "direct", WORK_ALL_REDUCE},
    {"rccl", {&fixture_mesh}, {8}, "direct", WORK_ALL_TO_ALL},
    {"rccl", {&fixture_mesh}, {8}, "ring", WORK_COLLECTIVE_BROADCAST},
    {"xla_tpu", {&fixture_ring}, {8}, "ring", WORK_COLLECTIVE_BROADCAST},
    {"rccl", {&fast_mesh, &fixture_tree}, {8, 8}, "ring", WORK_ALL_REDUCE},
    {"rccl", {&fixture_mesh, &fixture_tree}, {8, 4}, "hierarchical", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_ring}, {16}, "ring", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_line}, {8}, "ring", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_ring}, {16}, "direct", WORK_ALL_TO_ALL},
    {"xla_tpu", {&fixture_line}, {8}, "direct", WORK_ALL_TO_ALL},
    {"xla_tpu", {&fixture_ring, &fixture_ring}, {8, 8}, "torus", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_ring, &fixture_ring}, {8, 8}, "torus", WORK_ALL_GATHER},
    {"xla_tpu", {&fixture_ring, &fixture_ring, &fixture_ring}, {4, 4, 4}, "torus", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_ring, &fixture_ring, &fixture_ring}, {4, 4, 8}, "torus", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_line, &fixture_line}, {4, 4}, "torus", WORK_ALL_REDUCE},
    {"xla_tpu", {&fixture_line, &fixture_line}, {4, 8}, "torus", WORK_ALL_GATHER},
    {"xla_tpu", {&fixture_line, &fixture_line, &fixture_line}, {2, 2, 4}, "torus", WORK_ALL_GATHER},
    {"xla_tpu", {&fixture_line, &fixture_line, &fixture_line}, {2, 2, 4}, "torus", WORK_REDUCE_SCATTER},
    {"xla_tpu", {&fixture_ring, &fixture_ring}, {8, 8}, "direct", WORK_ALL_TO_ALL},
    {"xla_tpu", {&fixture_switch, &fixture_ring, &fixture_ring}, {2, 4, 4}, "hierarchical", WORK_ALL_REDUCE},
    {"neuron", {&fixture_ring, &fixture_ring}, {4, 4}, "halving_doubling", WORK_ALL_REDUCE},
    {"", {&fixture_switch}, {16}, "halving_doubling", WORK_REDUCE_SCATTER},
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

static const double sizes[] = {1 << 12, 1 << 18, 1 << 23, 1 << 28};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

/* Messages over closed form of a case at a size. */
static double ratio_of(const struct agreement_case *c, double bytes) {
  struct fabric_fixture *f = calloc(1, sizeof *f);
  f->cluster.library = c->library;
  for (int d = 0; d < 3 && c->dimensions[d] != NULL; d++) {
    fixture_add(f, *c->dimensions[d], c->sizes[d]);
  }
  struct collective_constants constants;
  collective_constants_of(&f->cluster, &constants);
  const struct collective_algorithm *algorithm = collective_algorithm_find(c->algorithm);
  assert_non_null(algorithm);
  struct collective_run_request all = fixture_all(f, c->kind, bytes, c->algorithm);
  struct collective_result closed = {.algorithm = c->algorithm, .protocol = ""};
  algorithm->time(&f->cluster, &f->slice, &constants, &all.request, &closed);
  struct collective_run_options options = {.is_collapsed = true};
  collective_run_prepare(&f->cluster, &f->slice, &constants, &all, 1, &options);
  struct collective_run_result result;
  double time_s = (double)fixture_run(f, &all, 1, &options, &result) * 1e-12;
  free(f);
  return time_s / closed.time_s;
}

static void test_agreement(void **state) {
  (void)state;
  int apart = 0;
  for (int i = 0; i < CASE_COUNT; i++) {
    double ratio[SIZE_COUNT], most = 0;
    for (int s = 0; s < SIZE_COUNT; s++) {
      ratio[s] = ratio_of(&cases[i], sizes[s]);
      most = fmax(most, fabs(ratio[s] - 1));
    }
    if (most > 0.02) {
      print_message("%s %ux%ux%u %s %s: %+.2f %+.2f %+.2f %+.2f %%\n", cases[i].library, cases[i].sizes[0],
                    cases[i].sizes[1], cases[i].sizes[2], cases[i].algorithm, work_collective_name(cases[i].kind),
                    100 * (ratio[0] - 1), 100 * (ratio[1] - 1), 100 * (ratio[2] - 1), 100 * (ratio[3] - 1));
      apart++;
    }
  }
  assert_int_equal(apart, 0);
}

/* Constants of a library with ideal links: efficiencies 1, all else as it is. Rings over part of a mesh and own copies are
 * at their defaults, which are none. */
static void make_ideal(struct collective_constants *constants) {
  static const struct {
    const char *unit;
    double value, upper;
  } rows[COLLECTIVE_CONSTANT_COUNT] = {
#define COLLECTIVE_CONSTANT(id, key, unit, value, lower, upper, meaning) {unit, value, upper},
#include "cluster/collective_constants.def"
#undef COLLECTIVE_CONSTANT
  };
  for (int i = 0; i < COLLECTIVE_CONSTANT_COUNT; i++) {
    bool is_efficiency = strcmp(rows[i].unit, "fraction") == 0 && rows[i].value > 0 && rows[i].upper == 1;
    constants->values[i] = is_efficiency ? 1 : constants->values[i];
  }
}

/* The structure by itself: with ideal efficiencies the closed form's transfer is that of the messages on bare links, so that
 * their quotient, which loads the links in a run, is 1. */
static void test_transfer(void **state) {
  (void)state;
  int apart = 0;
  for (int i = 0; i < CASE_COUNT; i++) {
    const struct agreement_case *c = &cases[i];
    struct fabric_fixture *f = calloc(1, sizeof *f);
    f->cluster.library = c->library;
    for (int d = 0; d < 3 && c->dimensions[d] != NULL; d++) {
      fixture_add(f, *c->dimensions[d], c->sizes[d]);
    }
    struct collective_constants constants;
    collective_constants_of(&f->cluster, &constants);
    make_ideal(&constants);
    struct collective_run_request all = fixture_all(f, c->kind, 3 << 26, c->algorithm);
    struct collective_run_options options = {.is_collapsed = true};
    collective_run_prepare(&f->cluster, &f->slice, &constants, &all, 1, &options);
    if (fabs(all.costs.wire_factor[0] - 1) > 0.02) {
      print_message("%s %ux%ux%u %s %s: transfer of the closed form / of the messages %.4f\n", c->library, c->sizes[0],
                    c->sizes[1], c->sizes[2], c->algorithm, work_collective_name(c->kind), all.costs.wire_factor[0]);
      apart++;
    }
    free(f);
  }
  assert_int_equal(apart, 0);
}

/* Without an algorithm the library's choice is taken, and lasts as long as collective_time says. */
static void test_choice(void **state) {
  (void)state;
  struct fabric_fixture *f = calloc(1, sizeof *f);
  f->cluster.library = "nccl";
  fixture_add(f, fixture_switch, 8);
  struct collective_constants constants;
  collective_constants_of(&f->cluster, &constants);
  struct collective_run_request requests[2] = {fixture_all(f, WORK_ALL_REDUCE, 1 << 26, NULL),
                                               fixture_all(f, WORK_ALL_TO_ALL, 1 << 26, NULL)};
  for (int i = 0; i < 2; i++) {
    struct collective_run_options options = {.is_collapsed = true};
    struct collective_result chosen;
    struct collective_run_result result;
    collective_time(&f->cluster, &f->slice, &constants, &requests[i].request, &chosen);
    collective_run_prepare(&f->cluster, &f->slice, &constants, &requests[i], 1, &options);
    assert_string_equal(requests[i].algorithm, chosen.algorithm);
    double time_s = (double)fixture_run(f, &requests[i], 1, &options, &result) * 1e-12;
    assert_true(fabs(time_s / chosen.time_s - 1) < 0.02);
  }
  free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_agreement), cmocka_unit_test(test_transfer),
                                     cmocka_unit_test(test_choice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
