/* One graph on the streams of a device: schedules drawn by hand, sums, order of policies, errors. */
#include "cluster_step_fixture.h"

static void check(const struct toy *toy, enum step_overlap overlap, double time_us, double exposed_us) {
  struct toy_system system;
  struct step_result r;
  toy_system_init(&system, 4);
  toy_run(toy, overlap, &system, &r);
  assert_us(r.time_s, time_us);
  assert_us(r.exposed_s, exposed_us);
  assert_us(r.compute_s, time_us - exposed_us);
  step_result_release(&r);
}

/* a(10) -> b(10) -> d(1); a gather(5) of the input that d reads. */
static void a_gather_hides_beside_what_does_not_need_it(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  uint32_t x = toy_input(toy);
  uint32_t a = TOY_COMPUTE(toy, 10, x);
  uint32_t gathered = toy_collective(toy, WORK_ALL_GATHER, 5, 0, 0, x);
  uint32_t b = TOY_COMPUTE(toy, 10, a);
  toy_output(toy, TOY_COMPUTE(toy, 1, b, gathered));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 21, 0);
  check(toy, STEP_OVERLAP_NONE, 26, 5);
  check(toy, STEP_OVERLAP_AS_WRITTEN, 26, 5); /* the program does not start it apart */
  check(toy, STEP_OVERLAP_EARLY_LATE, 26, 5); /* gathers block there */
  toy_free(toy);
}

/* The same with an all-reduce, which starts early there; it is waited for where it is read. */
static void an_all_reduce_starts_early_and_is_awaited_late(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  uint32_t x = toy_input(toy);
  uint32_t a = TOY_COMPUTE(toy, 10, x);
  uint32_t sum = toy_collective(toy, WORK_ALL_REDUCE, 25, 0, 0, x);
  uint32_t b = TOY_COMPUTE(toy, 10, a);
  toy_output(toy, TOY_COMPUTE(toy, 1, b, sum));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_EARLY_LATE, 26, 5);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 26, 5);
  check(toy, STEP_OVERLAP_NONE, 46, 25);
  toy_free(toy);
}

static void a_chain_hides_nothing(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  uint32_t x = TOY_COMPUTE(toy, 3, toy_input(toy));
  for (int i = 0; i < 3; i++) {
    x = TOY_COMPUTE(toy, 2, toy_collective(toy, WORK_ALL_REDUCE, 7, 0, 0, x));
  }
  toy_output(toy, x);
  toy_seal(toy);
  for (int overlap = 0; overlap < STEP_OVERLAP_COUNT; overlap++) {
    check(toy, (enum step_overlap)overlap, 3 + 3 * 9, 21);
  }
  toy_free(toy);
}

/* The scheduler runs v and w while u's operand is on its way; in the order of the program u stands before them. */
static void only_the_scheduler_reorders_compute(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  uint32_t x = toy_input(toy);
  uint32_t u = TOY_COMPUTE(toy, 5, toy_collective(toy, WORK_ALL_REDUCE, 20, 0, 0, x));
  uint32_t v = TOY_COMPUTE(toy, 10, x);
  uint32_t w = TOY_COMPUTE(toy, 10, x);
  toy_output(toy, TOY_COMPUTE(toy, 1, u, v, w));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 26, 0);
  check(toy, STEP_OVERLAP_EARLY_LATE, 46, 20);
  toy_free(toy);
}

/* EARLY_LATE has the order of XLA's memory scheduler. In the program's own order a, b and the sum are there at once; list
 * scheduling lets go of the sum before it makes b, and so waits for all of the exchange (own order: 36 us, 10 exposed). */
static void the_order_that_needs_less_memory(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  uint32_t x = toy_input(toy);
  uint32_t a = TOY_COMPUTE(toy, 1, x), b = TOY_COMPUTE(toy, 10, x);
  uint32_t sum = toy_collective(toy, WORK_ALL_REDUCE, 20, 0, 0, a);
  toy_output(toy, TOY_COMPUTE(toy, 5, sum));
  toy_output(toy, TOY_COMPUTE(toy, 10, b));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_EARLY_LATE, 46, 20);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 26, 0);
  toy_free(toy);
}

/* start(8), a(5), done, b(1): three microseconds are left to wait for. */
static void start_and_done_say_how_far(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  uint32_t x = toy_input(toy);
  uint32_t started = toy_collective(toy, WORK_ALL_GATHER, 8, WORK_COLLECTIVE_ASYNC, 0, x);
  uint32_t a = TOY_COMPUTE(toy, 5, x);
  uint32_t done = toy_done(toy, started);
  uint32_t c = TOY_COMPUTE(toy, 4, a); /* after the wait, though it does not read the result */
  toy_output(toy, TOY_COMPUTE(toy, 1, c, done));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_AS_WRITTEN, 13, 3);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 10, 0);
  toy_free(toy);
}

/* Two communicators at once share the link: both end at 20; one communicator takes turns, and the first ends at 10. */
static void collectives_share_a_dimension(void **state) {
  (void)state;
  for (uint32_t second = 1; second <= 2; second++) {
    struct toy *toy = toy_new(NULL);
    uint32_t x = toy_input(toy);
    uint32_t first = toy_collective(toy, WORK_ALL_REDUCE, 10, WORK_COLLECTIVE_ASYNC, 1, x);
    uint32_t other = toy_collective(toy, WORK_ALL_REDUCE, 10, WORK_COLLECTIVE_ASYNC, second, x);
    uint32_t a = TOY_COMPUTE(toy, 4, toy_done(toy, first));
    toy_output(toy, TOY_COMPUTE(toy, 1, toy_done(toy, other), a));
    toy_seal(toy);
    check(toy, STEP_OVERLAP_AS_WRITTEN, second == 1 ? 21 : 25, second == 1 ? 16 : 20);
    toy_free(toy);
  }
}

static void gathers_are_not_further_ahead_than_memory_allows(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  struct toy_system system;
  struct step_result r;
  uint32_t x = toy_input(toy);
  uint32_t first = toy_collective(toy, WORK_ALL_GATHER, 5, 0, 0, x);
  uint32_t second = toy_collective(toy, WORK_ALL_GATHER, 5, 0, 0, x);
  uint32_t a = TOY_COMPUTE(toy, 10, first);
  toy_output(toy, TOY_COMPUTE(toy, 10, second, a));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 25, 5);
  toy_system_init(&system, 4);
  system.device.memory_size_bytes = 1; /* nothing is left: one at a time */
  toy_run(toy, STEP_OVERLAP_LATENCY_HIDING, &system, &r);
  assert_us(r.time_s, 30);
  assert_false(r.memory.fits);
  step_result_release(&r);
  toy_free(toy);
}

/* 16 of 100 cores: 10 us of products beside 5 us of communication. 5 us do 4.2 us of work, the other 5.8 run alone. */
static void communication_slows_compute(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  struct toy_system system;
  struct step_result r;
  uint32_t x = toy_input(toy);
  uint32_t gathered = toy_collective(toy, WORK_ALL_GATHER, 5, 0, 0, x);
  uint32_t a = TOY_COMPUTE(toy, 10, x);
  toy_output(toy, TOY_COMPUTE(toy, 1, a, gathered));
  toy_seal(toy);
  toy_system_init(&system, 4);
  system.cluster.library = "nccl";
  toy_run(toy, STEP_OVERLAP_LATENCY_HIDING, &system, &r);
  assert_us(r.time_s, 11.8);
  assert_us(r.contention_s, 0.8);
  assert_us(r.exposed_s, 0);
  step_result_release(&r);
  /* bound by memory: 2.5 bytes of traffic per byte sent, 5 bytes in 5 us of 5 MB/s: half of the bandwidth is taken */
  toy->tasks[1].resource_s[WORK_BOUND_MATRIX] = 0;
  toy->tasks[1].resource_s[WORK_BOUND_MEMORY] = toy->tasks[1].time_s;
  system.device.memory_Bps = 5e6;
  system.device.has_off_chip = true;
  toy_run(toy, STEP_OVERLAP_LATENCY_HIDING, &system, &r);
  assert_us(r.contention_s, 2.5);
  assert_us(r.time_s, 13.5);
  step_result_release(&r);
  toy_free(toy);
}

/* A body of gather(3) and compute(2), four times; communication does not cross iterations. */
static void loops_multiply_their_body(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  struct toy *body = toy_new(work_graph_new_inside(toy->graph));
  uint32_t in = toy_input(body);
  toy_output(body, TOY_COMPUTE(body, 2, toy_collective(body, WORK_ALL_GATHER, 3, 0, 0, in)));
  uint32_t sub = work_subgraph_attach(toy->graph, body->graph);
  uint32_t x = toy_input(toy);
  uint32_t side = toy_collective(toy, WORK_ALL_REDUCE, 6, 0, 0, x); /* over before the loop begins */
  uint32_t looped =
      toy_add(toy, (struct work_task){.kind = WORK_LOOP, .subgraph_first = sub, .subgraph_count = 1, .trip_count = 4},
              8, &x, 1);
  toy->inside[sub] = body->result;
  toy_output(toy, TOY_COMPUTE(toy, 1, looped, side));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_NONE, 6 + 20 + 1, 6 + 12);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 6 + 20 + 1, 6 + 12);
  struct toy_system system;
  struct step_result r;
  toy_system_init(&system, 4);
  toy_run(toy, STEP_OVERLAP_NONE, &system, &r);
  assert_int_equal(r.collectives.count, 2);
  for (size_t i = 0; i < r.collectives.count; i++) {
    bool is_inner = r.collectives.data[i].kind == WORK_ALL_GATHER;
    assert_int_equal(r.collectives.data[i].count, is_inner ? 4 : 1);
    assert_us(r.collectives.data[i].exposed_s, is_inner ? 12 : 6);
  }
  step_result_release(&r);
  free(body);
  toy_free(toy);
}

static void the_costliest_branch_counts(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  struct toy *branches[2];
  uint32_t first = 0;
  for (unsigned b = 0; b < 2; b++) {
    branches[b] = toy_new(work_graph_new_inside(toy->graph));
    uint32_t in = toy_input(branches[b]);
    toy_output(branches[b], TOY_COMPUTE(branches[b], b == 0 ? 3 : 9, in));
    uint32_t sub = work_subgraph_attach(toy->graph, branches[b]->graph);
    first = b == 0 ? sub : first;
    toy->inside[sub] = branches[b]->result;
  }
  uint32_t reads[2] = {toy_input(toy), toy_input(toy)};
  toy_output(toy,
             toy_add(toy, (struct work_task){.kind = WORK_CONDITIONAL, .subgraph_first = first, .subgraph_count = 2}, 9,
                     reads, 2));
  toy_seal(toy);
  check(toy, STEP_OVERLAP_LATENCY_HIDING, 9, 0);
  free(branches[0]);
  free(branches[1]);
  toy_free(toy);
}

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static struct toy *random_toy(uint32_t seed) {
  struct toy *toy = toy_new(NULL);
  uint32_t tensors[64] = {toy_input(toy)};
  for (uint32_t i = 1; i < 60; i++) {
    uint32_t from = tensors[next_random(&seed) % i], also = tensors[next_random(&seed) % i];
    uint32_t us = 1 + next_random(&seed) % 20, kind = next_random(&seed) % 5;
    if (kind < 3 || from == also) {
      tensors[i] = from == also ? TOY_COMPUTE(toy, us, from) : TOY_COMPUTE(toy, us, from, also);
    } else {
      tensors[i] = toy_collective(toy, kind == 3 ? WORK_ALL_GATHER : WORK_REDUCE_SCATTER, us,
                                  next_random(&seed) % 2 ? WORK_COLLECTIVE_ASYNC : 0, 1 + next_random(&seed) % 2, from);
    }
  }
  toy_output(toy, tensors[59]);
  toy_seal(toy);
  return toy;
}

static void parts_add_up_and_nothing_beats_its_bounds(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 60; seed++) {
    struct toy *toy = random_toy(seed);
    struct toy_system system;
    toy_system_init(&system, 4);
    system.device.dispatch_s = 1e-6;
    system.options.straggler_sigma = 0.01;
    double none_s = 0, compute_s = 0;
    for (uint32_t t = 0; t < toy->graph->tasks.count; t++) {
      compute_s += toy->tasks[t].time_s;
    }
    for (int overlap = 0; overlap < STEP_OVERLAP_COUNT; overlap++) {
      struct step_result r;
      double by_kind_s = 0, by_row_s = 0;
      toy_run(toy, (enum step_overlap)overlap, &system, &r);
      assert_near(r.time_s, r.compute_s + r.exposed_s + r.bubble_s + r.dispatch_s + r.straggler_s, 1e-15);
      assert_us(r.compute_s, compute_s * 1e6);
      for (int k = 0; k < STEP_COLLECTIVE_KINDS; k++) {
        by_kind_s += r.exposed_by_kind_s[k];
      }
      for (size_t i = 0; i < r.collectives.count; i++) {
        by_row_s += r.collectives.data[i].exposed_s;
      }
      assert_near(by_kind_s, r.exposed_s, 1e-15);
      assert_near(by_row_s, r.exposed_s, 1e-15);
      assert_true(r.exposed_s <= r.communication_s + 1e-15);
      none_s = overlap == STEP_OVERLAP_NONE ? r.time_s : none_s;
      assert_true(r.time_s <= none_s + 1e-12);
      step_result_release(&r);
    }
    toy_free(toy);
  }
}

/* Where compute keeps its order a faster network is never slower; reordered compute may meet Graham's anomalies. */
static void a_faster_network_is_never_slower(void **state) {
  (void)state;
  static const enum step_overlap in_order[] = {STEP_OVERLAP_NONE, STEP_OVERLAP_AS_WRITTEN};
  for (uint32_t seed = 1; seed <= 60; seed++) {
    struct toy *toy = random_toy(seed);
    for (size_t o = 0; o < 2; o++) {
      double before_s = 0;
      for (double factor = 0.25; factor < 5; factor *= 2) {
        struct toy_system system;
        struct step_result r;
        toy_system_init(&system, 4);
        system.pricing.context = &factor;
        toy_run(toy, in_order[o], &system, &r);
        assert_true(r.time_s >= before_s - 1e-12);
        before_s = r.time_s;
        step_result_release(&r);
      }
    }
    toy_free(toy);
  }
}

static void expected_message(const struct step_program *program, uint32_t devices, const char *words) {
  struct toy_system system;
  struct step_result r;
  struct diag_list diags;
  toy_system_init(&system, devices);
  diag_init(&diags);
  step_result_init(&r);
  assert_int_equal(step_run(program, &system.cluster, &system.slice, &system.device, &system.options, &diags, &r),
                   STATUS_INPUT);
  assert_true(diags.entries.count > 0 && strstr(diags.entries.data[0].message, words) != NULL);
  step_result_release(&r);
  diag_release(&diags);
}

static void errors_are_in_the_users_terms(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  toy_output(toy, TOY_COMPUTE(toy, 1, toy_input(toy)));
  toy_seal(toy);
  struct step_program program = toy_program(toy, STEP_OVERLAP_NONE);
  program.devices_per_stage = 8;
  expected_message(&program, 4, "the program runs on 8 devices");
  program.devices_per_stage = 4;
  program.stages = 3;
  expected_message(&program, 16, "3 pipeline stages do not divide 16 devices");
  program.stages = 2;
  expected_message(&program, 8, "it is one whole step");
  program.parts[STEP_ONLY][STEP_WHOLE].graph = NULL;
  expected_message(&program, 8, "no forward function of the first chunk");
  struct toy *other = toy_new(NULL);
  toy_output(other, TOY_COMPUTE(other, 1, toy_input(other)));
  toy_seal(other);
  const struct step_part part = {.graph = other->graph, .times = &other->result};
  program.parts[STEP_FIRST][STEP_FORWARD] = program.parts[STEP_FIRST][STEP_BACKWARD] = part;
  expected_message(&program, 8, "no forward function of the last chunk");
  program.parts[STEP_LAST][STEP_FORWARD] = part;
  expected_message(&program, 8, "no backward function of the last chunk");
  program.parts[STEP_LAST][STEP_BACKWARD_LAST] = part; /* enough for one micro-batch */
  program.microbatches = 2;
  expected_message(&program, 8, "no backward function of the last chunk");
  program.chunks = 2;
  expected_message(&program, 8, "no interleaved schedule");
  program.chunks = 0;
  expected_message(&program, 8, "at least 1");
  toy_free(other);
  toy_free(toy);
}

/* Expected maxima of standard normals (Harter 1961): 2: 0.5642, 10: 1.5388, 100: 2.5076, 1000: 3.2414. */
static void the_slowest_of_many(void **state) {
  (void)state;
  static const struct {
    uint64_t n;
    double expected;
  } known[] = {{2, 0.5642}, {10, 1.5388}, {100, 2.5076}, {1000, 3.2414}};
  assert_near(step_slowest_of(1), 0, 0);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    assert_near(step_slowest_of(known[i].n) / known[i].expected, 1, 0.05);
  }
}

/* mfu = model FLOPs / (devices x time x peak); price and energy of all devices. */
static void rates_follow_from_the_time(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  struct toy_system system;
  struct step_result r;
  struct diag_list diags;
  toy_output(toy, TOY_COMPUTE(toy, 3600, toy_input(toy)));
  toy_seal(toy);
  toy_system_init(&system, 4);
  system.cluster.device_power_W = 500;
  system.cluster.device_price_usd_h = 2;
  struct step_program program = toy_program(toy, STEP_OVERLAP_NONE);
  program.tokens = 36;
  diag_init(&diags);
  step_result_init(&r);
  assert_int_equal(step_run(&program, &system.cluster, &system.slice, &system.device, &system.options, &diags, &r),
                   STATUS_OK);
  assert_near(r.tokens_per_s, 1e4, 1e-6);
  assert_true(isnan(r.samples_per_s) && isnan(r.mfu));
  assert_near(r.energy_J, 500 * 4 * 3600e-6, 1e-9);
  assert_near(r.price_usd, 4 * 2 * 1e-6, 1e-15);
  assert_int_equal(r.devices, 4);
  step_result_release(&r);
  diag_release(&diags);
  toy_free(toy);
}

static void spans_tell_the_schedule(void **state) {
  (void)state;
  struct toy *toy = toy_new(NULL);
  struct toy_system system;
  struct step_result r;
  uint32_t x = toy_input(toy);
  uint32_t sum = toy_collective(toy, WORK_ALL_REDUCE, 5, 0, 0, x);
  toy_output(toy, TOY_COMPUTE(toy, 10, sum));
  toy_seal(toy);
  toy_system_init(&system, 4);
  system.options.keep_spans = true;
  toy_run(toy, STEP_OVERLAP_LATENCY_HIDING, &system, &r);
  assert_int_equal(r.spans.count, 2);
  assert_int_equal(r.spans.data[0].task, 0);
  assert_int_equal(r.spans.data[0].stream, 1);
  assert_int_equal(r.spans.data[0].end_ps, 5000000);
  assert_int_equal(r.spans.data[1].stream, 0);
  assert_int_equal(r.spans.data[1].start_ps, 5000000);
  assert_int_equal(r.spans.data[1].end_ps, 15000000);
  step_result_release(&r);
  toy_free(toy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gather_hides_beside_what_does_not_need_it),
      cmocka_unit_test(an_all_reduce_starts_early_and_is_awaited_late),
      cmocka_unit_test(a_chain_hides_nothing),
      cmocka_unit_test(only_the_scheduler_reorders_compute),
      cmocka_unit_test(the_order_that_needs_less_memory),
      cmocka_unit_test(start_and_done_say_how_far),
      cmocka_unit_test(collectives_share_a_dimension),
      cmocka_unit_test(gathers_are_not_further_ahead_than_memory_allows),
      cmocka_unit_test(communication_slows_compute),
      cmocka_unit_test(loops_multiply_their_body),
      cmocka_unit_test(the_costliest_branch_counts),
      cmocka_unit_test(parts_add_up_and_nothing_beats_its_bounds),
      cmocka_unit_test(a_faster_network_is_never_slower),
      cmocka_unit_test(errors_are_in_the_users_terms),
      cmocka_unit_test(the_slowest_of_many),
      cmocka_unit_test(rates_follow_from_the_time),
      cmocka_unit_test(spans_tell_the_schedule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
