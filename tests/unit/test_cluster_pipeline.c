/* Micro-batches over pipeline stages against the closed forms of the papers. */
#include "cluster_step_fixture.h"

#include "cluster/step_int.h"

static struct step_pipeline_input input_of(uint32_t stages, uint32_t chunks, uint32_t microbatches,
                                           enum step_schedule schedule, sim_time_ps forward, sim_time_ps backward) {
  struct step_pipeline_input input = {
      .stages = stages, .chunks = chunks, .microbatches = microbatches, .schedule = schedule, .has_backward = true};
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    input.time_ps[place][STEP_FORWARD] = forward;
    input.time_ps[place][STEP_BACKWARD] = input.time_ps[place][STEP_BACKWARD_LAST] = backward;
  }
  return input;
}

static enum status run(const struct step_pipeline_input *input, struct arena *arena, struct step_pipeline *out) {
  struct diag_list diags;
  diag_init(&diags);
  arena_init(arena, 0);
  enum status status = step_pipeline_run(input, arena, &diags, out);
  assert_int_equal(status != STATUS_OK, diags.error_count > 0);
  diag_release(&diags);
  for (uint32_t s = 0; status == STATUS_OK && s < input->stages; s++) {
    const struct step_pipeline_stage *stage = &out->stages[s];
    assert_int_equal(stage->work_ps + stage->sends_ps + stage->bubble_ps, out->end_ps);
  }
  return status;
}

static sim_time_ps end_of(const struct step_pipeline_input *input) {
  struct arena arena;
  struct step_pipeline out;
  assert_int_equal(run(input, &arena, &out), STATUS_OK);
  sim_time_ps end_ps = out.end_ps;
  arena_release(&arena);
  return end_ps;
}

/* (m + p - 1)(f + b), GPipe and 1F1B alike. */
static void plain_schedules_have_their_closed_form(void **state) {
  (void)state;
  for (uint32_t p = 1; p <= 9; p++) {
    for (uint32_t m = 1; m <= 20; m++) {
      for (int schedule = STEP_GPIPE; schedule <= STEP_1F1B; schedule++) {
        struct step_pipeline_input input = input_of(p, 1, m, (enum step_schedule)schedule, 100, 230);
        assert_int_equal(end_of(&input), (m + p - 1) * 330);
      }
    }
  }
}

/* Ideal m v (f + b) plus (p - 1)(f + b): a bubble of (p - 1) / (v m). */
static void interleaving_divides_the_bubble(void **state) {
  (void)state;
  for (uint32_t p = 2; p <= 8; p *= 2) {
    for (uint32_t v = 1; v <= 4; v++) {
      for (uint32_t groups = 1; groups <= 4; groups++) {
        uint32_t m = p * groups;
        struct step_pipeline_input input = input_of(p, v, m, STEP_INTERLEAVED, 100, 200);
        assert_int_equal(end_of(&input), (m * v + p - 1) * 300);
      }
    }
  }
}

static void activations_in_flight(void **state) {
  (void)state;
  struct arena arena;
  struct step_pipeline out;
  struct step_pipeline_input input = input_of(4, 1, 6, STEP_1F1B, 100, 200);
  assert_int_equal(run(&input, &arena, &out), STATUS_OK);
  for (uint32_t s = 0; s < 4; s++) {
    assert_int_equal(out.stages[s].in_flight, 4 - s);
  }
  arena_release(&arena);
  input.schedule = STEP_GPIPE;
  assert_int_equal(run(&input, &arena, &out), STATUS_OK);
  assert_int_equal(out.stages[0].in_flight, 6);
  arena_release(&arena);
}

/* The slowest stage sets the pace: m passes of it, and one of the first stage there and back. */
static void unequal_stages_wait_for_the_slowest(void **state) {
  (void)state;
  struct step_pipeline_input input = input_of(3, 1, 10, STEP_1F1B, 100, 200);
  input.time_ps[STEP_MIDDLE][STEP_FORWARD] = 300;
  input.time_ps[STEP_MIDDLE][STEP_BACKWARD] = input.time_ps[STEP_MIDDLE][STEP_BACKWARD_LAST] = 500;
  assert_int_equal(end_of(&input), 100 + 10 * 800 + 200); /* the middle is never idle from its first pass on */
}

/* A message delays the first micro-batch on its way there and the last on its way back, p - 1 times each. */
static void messages_beside_compute_cost_fill_and_drain(void **state) {
  (void)state;
  struct step_pipeline_input input = input_of(4, 1, 8, STEP_GPIPE, 100, 200);
  input.next_ps = 7;
  assert_int_equal(end_of(&input), 11 * 300 + 2 * 3 * 7);
}

/* Two stages, one micro-batch, blocking: f, send, f, b, send, b. */
static void blocking_messages_are_part_of_both_streams(void **state) {
  (void)state;
  struct arena arena;
  struct step_pipeline out;
  struct step_pipeline_input input = input_of(2, 1, 1, STEP_1F1B, 100, 200);
  input.next_ps = 7;
  input.waits_for_sends = true;
  assert_int_equal(run(&input, &arena, &out), STATUS_OK);
  assert_int_equal(out.end_ps, 600 + 14);
  assert_int_equal(out.stages[0].sends_ps, 14); /* it sends, and waits for what comes back */
  assert_int_equal(out.stages[1].sends_ps, 14);
  arena_release(&arena);
  /* never less than beside compute */
  for (uint32_t m = 1; m < 12; m++) {
    input = input_of(4, 1, m, STEP_1F1B, 100, 200);
    input.next_ps = 7;
    sim_time_ps beside = end_of(&input);
    input.waits_for_sends = true;
    assert_true(end_of(&input) >= beside);
  }
}

/* The last micro-batch's backward pass takes longer by the exchange of gradients that it does not hide; the update follows. */
static void gradients_and_update_come_at_the_end(void **state) {
  (void)state;
  struct step_pipeline_input input = input_of(1, 1, 5, STEP_1F1B, 100, 200);
  input.time_ps[STEP_ONLY][STEP_BACKWARD_LAST] = 260;
  input.time_ps[STEP_ONLY][STEP_UPDATE] = 40;
  assert_int_equal(end_of(&input), 5 * 300 + 60 + 40);
}

/* The exchange of one chunk goes on while the other chunk is still at its backward pass; the update waits for both. Two
 * stages, two chunks, two micro-batches: every stage ends with the backward passes of chunk 1, then those of chunk 0. */
static void an_exchange_hides_beside_the_next_chunk(void **state) {
  (void)state;
  struct arena arena;
  struct step_pipeline out;
  struct step_pipeline_input input = input_of(2, 2, 2, STEP_INTERLEAVED, 100, 200);
  const sim_time_ps plain = end_of(&input);
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    input.tail_ps[place] = 150;
    input.time_ps[place][STEP_BACKWARD_LAST] = 200 + 150;
  }
  assert_int_equal(run(&input, &arena, &out), STATUS_OK);
  assert_int_equal(out.end_ps, plain + 150); /* of two, one is hidden: 400 of passes follow it */
  assert_int_equal(out.stages[0].hidden_ps, 150);
  assert_int_equal(out.stages[0].work_ps, 4 * 300 + 150);
  arena_release(&arena);
  for (int place = 0; place < STEP_PLACE_COUNT; place++) { /* longer than the passes that follow */
    input.tail_ps[place] = 1000;
    input.time_ps[place][STEP_BACKWARD_LAST] = 200 + 1000;
  }
  assert_int_equal(run(&input, &arena, &out), STATUS_OK);
  assert_int_equal(out.stages[0].hidden_ps, 400);
  assert_int_equal(out.end_ps, plain - 400 + 2000);
  arena_release(&arena);
}

static void forward_alone(void **state) {
  (void)state;
  struct step_pipeline_input input = input_of(4, 1, 8, STEP_1F1B, 100, 0);
  input.has_backward = false;
  assert_int_equal(end_of(&input), (8 + 3) * 100);
}

/* Any number of micro-batches either runs or is refused; it never hangs, and no schedule beats its busiest stage. */
static void no_schedule_hangs(void **state) {
  (void)state;
  unsigned refused = 0;
  for (uint32_t p = 1; p <= 5; p++) {
    for (uint32_t v = 1; v <= 3; v++) {
      for (uint32_t m = 1; m <= 13; m++) {
        struct arena arena;
        struct step_pipeline out;
        struct step_pipeline_input input = input_of(p, v, m, STEP_INTERLEAVED, 100, 200);
        enum status status = run(&input, &arena, &out);
        refused += status != STATUS_OK;
        assert_true(status == STATUS_OK || m % p != 0);
        assert_true(status != STATUS_OK || out.end_ps >= (sim_time_ps)m * v * 300);
        arena_release(&arena);
      }
    }
  }
  assert_true(refused < 5 * 3 * 13 / 2);
}

static void too_many_passes_are_refused(void **state) {
  (void)state;
  struct arena arena;
  struct step_pipeline out;
  struct step_pipeline_input input = input_of(1 << 20, 1, 1 << 20, STEP_1F1B, 1, 1);
  assert_int_equal(run(&input, &arena, &out), STATUS_LIMIT);
  arena_release(&arena);
}

/* Parts of a step for `stages` stages of `per_stage` devices: forward 10 us, backward 20 us, an all-reduce of 4 us that the
 * last backward pass cannot hide, an update of 3 us. */
static void run_program(uint32_t stages, uint32_t per_stage, double *time_s) {
  struct toy *toys[4];
  for (int i = 0; i < 4; i++) {
    static const double us[] = {10, 20, 20, 3};
    toys[i] = toy_new(NULL);
    uint32_t y = TOY_COMPUTE(toys[i], us[i], toy_input(toys[i]));
    toy_output(toys[i], i == 2 ? toy_collective(toys[i], WORK_ALL_REDUCE, 4, 0, 0, y) : y);
    toy_seal(toys[i]);
  }
  struct toy_system system;
  struct step_result r;
  struct diag_list diags;
  struct step_program program = {.overlap = STEP_OVERLAP_LATENCY_HIDING,
                                 .schedule = STEP_1F1B,
                                 .stages = stages,
                                 .chunks = 1,
                                 .microbatches = 6,
                                 .devices_per_stage = per_stage};
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int i = 0; i < 4; i++) {
      program.parts[place][STEP_FORWARD + i] = (struct step_part){.graph = toys[i]->graph, .times = &toys[i]->result};
    }
  }
  toy_system_init(&system, stages * per_stage);
  diag_init(&diags);
  step_result_init(&r);
  system.options.keep_spans = true;
  assert_int_equal(step_run(&program, &system.cluster, &system.slice, &system.device, &system.options, &diags, &r),
                   STATUS_OK);
  assert_us(r.time_s, (6.0 + stages - 1) * 30 + 4 + 3);
  assert_us(r.bubble_s, (stages - 1) * 30.0);
  assert_us(r.exposed_by_kind_s[WORK_ALL_REDUCE], 4);
  assert_int_equal(r.devices, stages * per_stage);
  uint64_t end_ps = 0;
  for (size_t i = 0; i < r.spans.count; i++) {
    end_ps = r.spans.data[i].end_ps > end_ps ? r.spans.data[i].end_ps : end_ps;
  }
  assert_us((double)end_ps * 1e-12, r.time_s * 1e6);
  *time_s = r.time_s;
  step_result_release(&r);
  diag_release(&diags);
  for (int i = 0; i < 4; i++) {
    toy_free(toys[i]);
  }
}

static void devices_of_a_stage_are_one(void **state) {
  (void)state;
  for (uint32_t stages = 1; stages <= 4; stages *= 2) {
    double few_s = 0, many_s = 0;
    run_program(stages, 2, &few_s);
    run_program(stages, 16384 / stages, &many_s);
    assert_near(few_s, many_s, 1e-15);
  }
}

/* Tensors of 16 bytes. Forward: a weight and data in, one result. 1F1B on two stages: the first holds two micro-batches. */
static void memory_follows_arguments_and_schedule(void **state) {
  (void)state;
  static const uint8_t forward[] = {STEP_PARAMETER, STEP_DATA},
                       update[] = {STEP_PARAMETER, STEP_GRADIENT, STEP_OPTIMIZER};
  struct toy *toys[2] = {toy_new(NULL), toy_new(NULL)};
  uint32_t weight = toy_input(toys[0]), data = toy_input(toys[0]);
  toy_output(toys[0], TOY_COMPUTE(toys[0], 10, weight, data));
  uint32_t state_of[3] = {toy_input(toys[1]), toy_input(toys[1]), toy_input(toys[1])};
  toy_output(toys[1], TOY_COMPUTE(toys[1], 5, state_of[0], state_of[1], state_of[2]));
  struct toy_system system;
  struct step_result r;
  struct diag_list diags;
  struct step_program program = {
      .schedule = STEP_1F1B, .stages = 2, .chunks = 1, .microbatches = 4, .devices_per_stage = 1};
  for (int i = 0; i < 2; i++) {
    toy_seal(toys[i]);
  }
  for (int place = STEP_FIRST; place < STEP_PLACE_COUNT; place++) {
    struct step_part part = {.graph = toys[0]->graph, .times = &toys[0]->result, .arguments = forward};
    program.parts[place][STEP_FORWARD] = program.parts[place][STEP_BACKWARD] = part;
    program.parts[place][STEP_UPDATE] =
        (struct step_part){.graph = toys[1]->graph, .times = &toys[1]->result, .arguments = update};
  }
  toy_system_init(&system, 2);
  system.device.memory_size_bytes = 1e9;
  system.device.kind = HW_KIND_TPU;
  diag_init(&diags);
  step_result_init(&r);
  assert_int_equal(step_run(&program, &system.cluster, &system.slice, &system.device, &system.options, &diags, &r),
                   STATUS_OK);
  assert_near(r.memory.parameter_bytes, 16, 0);
  assert_near(r.memory.gradient_bytes, 16, 0);
  assert_near(r.memory.optimizer_bytes, 16, 0);
  assert_near(r.memory.activation_bytes, 2 * 16, 0);
  assert_near(r.memory.total_bytes, 5 * 16 + r.memory.temporary_bytes + r.memory.reserve_bytes, 1e-6);
  assert_true(r.memory.fits);
  step_result_release(&r);
  diag_release(&diags);
  toy_free(toys[0]);
  toy_free(toys[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_schedules_have_their_closed_form),
      cmocka_unit_test(interleaving_divides_the_bubble),
      cmocka_unit_test(activations_in_flight),
      cmocka_unit_test(unequal_stages_wait_for_the_slowest),
      cmocka_unit_test(messages_beside_compute_cost_fill_and_drain),
      cmocka_unit_test(blocking_messages_are_part_of_both_streams),
      cmocka_unit_test(gradients_and_update_come_at_the_end),
      cmocka_unit_test(an_exchange_hides_beside_the_next_chunk),
      cmocka_unit_test(forward_alone),
      cmocka_unit_test(no_schedule_hangs),
      cmocka_unit_test(too_many_passes_are_refused),
      cmocka_unit_test(devices_of_a_stage_are_one),
      cmocka_unit_test(memory_follows_arguments_and_schedule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
