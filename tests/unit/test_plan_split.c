/* Splitting of operators that load much: programs built by hand, results known in closed form. */
#include "plan/plan_result.h"
#include "plan_program_fixture.h"

enum { M = 1 << 0, N = 1 << 1, K = 1 << 2, B = 1 << 3 };
#define UNLIMITED UINT32_MAX

static struct plan_tensor from_memory(plan_axis_mask axes, uint64_t bytes) {
  return (struct plan_tensor){.axes = axes, .element_bits = 16, .source = PLAN_SOURCE_MEMORY, .memory_bytes = bytes};
}
static struct plan_tensor from_chip(plan_axis_mask axes, uint32_t producer) {
  return (struct plan_tensor){.axes = axes, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .producer = producer};
}
static struct plan_tensor output(plan_axis_mask axes) {
  return (struct plan_tensor){.axes = axes, .element_bits = 16, .source = PLAN_SOURCE_CHIP, .is_output = true};
}

static void add(struct plan_program *program, const uint64_t *extents, uint8_t axis_count, struct plan_tensor left,
                struct plan_tensor right, struct plan_tensor result, const struct plan_stage *stages, uint8_t count) {
  struct plan_operator op = {.axis_count = axis_count,
                             .tensor_count = 3,
                             .stage_count = count,
                             .merged = 1,
                             .layer = UINT32_MAX,
                             .tensor_first = (uint32_t)program->tensors.count,
                             .stage_first = (uint32_t)program->stages.count};
  memcpy(op.extents, extents, axis_count * sizeof extents[0]);
  assert_true(vec_push(&program->tensors, left));
  assert_true(vec_push(&program->tensors, right));
  assert_true(vec_push(&program->tensors, result));
  for (uint32_t s = 0; s < count; s++) {
    assert_true(vec_push(&program->stages, stages[s]));
  }
  assert_true(vec_push(&program->operators, op));
}

/* A product over m, n, k and, with 4 axes, a batch. */
static void add_product(struct plan_program *program, const uint64_t *extents, uint8_t axis_count,
                        struct plan_tensor left, struct plan_tensor right) {
  plan_axis_mask batch = axis_count > 3 ? B : 0;
  struct plan_stage stage = {.kind = PLAN_STAGE_MATRIX,
                             .axes = M | N | K | batch,
                             .reduced = K,
                             .left = M | K | batch,
                             .right = K | N | batch,
                             .result_bits = 16,
                             .operations = 1};
  add(program, extents, axis_count, left, right, output(M | N | batch), &stage, 1);
}

/* An element-wise operator over m and n that reads two values. */
static void add_sum(struct plan_program *program, uint64_t m, uint64_t n, struct plan_tensor left,
                    struct plan_tensor right) {
  struct plan_stage stage = {.kind = PLAN_STAGE_ELEMENTWISE, .axes = M | N, .result_bits = 16, .operations = 1};
  add(program, (uint64_t[]){m, n}, 2, left, right, output(M | N), &stage, 1);
}

struct sums {
  double matrix_flop, vector_flop;
  uint64_t memory_bytes;
};

/* Splits and seals; what the program loads, stores and computes is the same before and after. */
static void split(struct plan_program *program, uint64_t split_bytes, uint32_t max_operators) {
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(plan_program_seal(program), STATUS_OK);
  struct sums before = {program->matrix_flop, program->vector_flop, program->memory_bytes};
  size_t count = program->operators.count;
  assert_int_equal(plan_program_split(program, split_bytes, max_operators), STATUS_OK);
  assert_int_equal(plan_program_seal(program), STATUS_OK);
  assert_int_equal(plan_program_check(program, &diags), STATUS_OK);
  assert_true(program->matrix_flop == before.matrix_flop && program->vector_flop == before.vector_flop);
  assert_int_equal(program->memory_bytes, before.memory_bytes);
  struct plan_step_share row = program->shares.data[program->shares.count - 1];
  assert_string_equal(row.step, "splits");
  assert_int_equal(row.operators_before, count);
  assert_int_equal(row.operators_after, program->operators.count);
  diag_release(&diags);
}

/* 8 x 64 by 64 x 100 with weights of 12,800 bytes: columns alone can be cut. The reader of its result has 3 axes. */
static void add_pair(struct plan_program *program) {
  add_sum(program, 8, 64, from_memory(M | N, 1024), from_memory(N, 128));
  add_product(program, (uint64_t[]){8, 100, 64}, 3, from_chip(M | K, 1), from_memory(K | N, 12800));
  add_sum(program, 8, 100, from_chip(M | N, 2), from_chip(M | N, 2));
}

static void test_columns(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_pair(&program);
  split(&program, 4000, UNLIMITED); /* 12,800 / 4000 > 3, and 4 divides 100 */
  assert_int_equal(program.operators.count, 6);
  for (uint32_t p = 1; p <= 4; p++) {
    assert_int_equal(op_at(&program, p)->extents[1], 25);
    assert_int_equal(op_at(&program, p)->sort, op_at(&program, 1)->sort);
    assert_int_equal(tensor_at(&program, p, 0)->producer, 1); /* each reads all rows, */
    assert_false(tensor_at(&program, p, 0)->is_view); /* which lack the axis */
    assert_int_equal(tensor_at(&program, p, 1)->memory_bytes, 3200);
  }
  const struct plan_tensor *read = tensor_at(&program, 5, 0);
  assert_int_equal(read->producer, 5);
  assert_int_equal(read->producer_parts, 4);
  assert_true(read->is_view);
  for (uint32_t i = 0; i < 6; i++) {
    assert_int_equal(plan_is_made_by(read, i), i >= 1 && i <= 4);
  }
  plan_program_release(&program);
}

/* The parts of the result, 8 x 25 of 2 bytes each, are live until they are read. */
static void test_live(void **state) {
  (void)state;
  struct plan_program program;
  uint64_t live[6];
  plan_program_init(&program);
  add_pair(&program);
  split(&program, 4000, UNLIMITED);
  assert_int_equal(plan_program_live(&program, 1, live), STATUS_OK);
  assert_int_equal(live[0], 1024);
  assert_int_equal(live[1], 1024 + 400);
  assert_int_equal(live[3], 1024 + 3 * 400);
  assert_int_equal(live[4], 1024 + 3 * 400); /* at its begin; the first value ends with it */
  assert_int_equal(live[5], 4 * 400);
  plan_program_release(&program);
}

/* The smallest limit that needs no cut, and the largest that does. */
static void test_limit(void **state) {
  (void)state;
  static const struct {
    uint64_t split_bytes;
    uint32_t parts;
  } cases[] = {{12800, 1}, {12799, 2}, {6400, 2}, {6399, 4}, {3200, 4}, {3199, 5}, {2560, 5}, {1280, 10}, {1279, 20}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct plan_program program;
    plan_program_init(&program);
    add_pair(&program);
    split(&program, cases[i].split_bytes, UNLIMITED);
    assert_int_equal(program.operators.count, 2 + cases[i].parts);
    assert_int_equal(op_at(&program, 1)->extents[1], 100 / cases[i].parts);
    plan_program_release(&program);
  }
}

/* Two caches from memory: the batch is cut, although columns come first; inputs from the chip become views. */
static void test_batch_first(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_sum(&program, 4, 96, from_memory(M | N, 768), from_memory(M | N, 768));
  add_product(&program, (uint64_t[]){4, 32, 16, 6}, 4, from_chip(M | K | B, 1), from_memory(K | N | B, 6144));
  split(&program, 2048, UNLIMITED);
  assert_int_equal(program.operators.count, 4);
  for (uint32_t p = 1; p <= 3; p++) {
    assert_int_equal(op_at(&program, p)->extents[3], 2);
    assert_int_equal(op_at(&program, p)->extents[1], 32);
    assert_true(tensor_at(&program, p, 0)->is_view);
    assert_int_equal(tensor_at(&program, p, 0)->producer, 1);
  }
  plan_program_release(&program);
}

/* A stage behind the product that sums the columns, as softmax does: the batch is left, and without one nothing is. */
static void test_fused(void **state) {
  (void)state;
  const struct plan_stage stages[] = {
      {PLAN_STAGE_MATRIX, M | N | K | B, K, M | K | B, K | N | B, 16, 1},
      {PLAN_STAGE_REDUCE, M | N | B, N, 0, 0, 16, 1},
      {PLAN_STAGE_ELEMENTWISE, M | N | B, 0, 0, 0, 16, 1},
  };
  for (uint64_t batch = 1; batch <= 5; batch += 4) {
    struct plan_program program;
    plan_program_init(&program);
    add_sum(&program, 4, 80, from_memory(M | N, 640), from_memory(M | N, 640));
    add(&program, (uint64_t[]){4, 32, 16, batch}, 4, from_chip(M | K | B, 1), from_memory(K | N | B, 1000 * batch),
        output(M | N | B), stages, 3);
    split(&program, 999, UNLIMITED); /* 5 parts are the most there can be */
    assert_int_equal(program.operators.count, 2 + batch); /* the sum before it loads 1280: halves */
    plan_program_release(&program);
  }
}

/* What a part would load again, what it would compute again, and what does not divide stays whole. */
static void test_not_split(void **state) {
  (void)state;
  const struct plan_stage twice[] = {
      {PLAN_STAGE_ELEMENTWISE, N, 0, 0, 0, 16, 1}, /* each part along m would do it again */
      {PLAN_STAGE_ELEMENTWISE, M | N, 0, 0, 0, 16, 1},
  };
  struct plan_program program;
  plan_program_init(&program);
  add_product(&program, (uint64_t[]){64, 64, 64}, 3, from_memory(M | K, 8192), from_memory(K | N, 8192));
  add(&program, (uint64_t[]){64, 1}, 2, from_memory(M | N, 128), from_memory(M | N, 128), output(M | N), twice, 2);
  add_sum(&program, 67, 71, from_memory(M | N, 9514), from_memory(M | N, 9514)); /* primes above 64 */
  split(&program, 100, UNLIMITED);
  assert_int_equal(program.operators.count, 3);
  plan_program_release(&program);
}

/* Rows that are stored are shared out as well; bytes that do not divide allow no such parts. */
static void test_stored(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  struct plan_stage stage = {.kind = PLAN_STAGE_ELEMENTWISE, .axes = M | N, .result_bits = 16, .operations = 1};
  struct plan_tensor result = output(M | N);
  result.memory_bytes = 90;
  add(&program, (uint64_t[]){12, 10}, 2, from_memory(M | N, 240), from_memory(M | N, 240), result, &stage, 1);
  split(&program, 120, UNLIMITED); /* 4 parts of 12 rows would do, but 90 has no quarter: 6 of 80 */
  assert_int_equal(program.operators.count, 6);
  assert_int_equal(output_of(&program, 3)->memory_bytes, 15);
  assert_int_equal(op_at(&program, 3)->extents[0], 2);
  plan_program_release(&program);
}

static void test_budget(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_pair(&program);
  add_product(&program, (uint64_t[]){8, 100, 64}, 3, from_chip(M | K, 1), from_memory(K | N, 12800));
  split(&program, 4000, 8); /* the second product has no room for its 4 parts */
  assert_int_equal(program.operators.count, 7);
  plan_program_release(&program);
}

/* Parts are split further: readers count the parts of all parts. */
static void test_again(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_pair(&program);
  split(&program, 6400, UNLIMITED);
  split(&program, 1280, UNLIMITED);
  assert_int_equal(program.operators.count, 12);
  assert_int_equal(tensor_at(&program, 11, 0)->producer, 11);
  assert_int_equal(tensor_at(&program, 11, 0)->producer_parts, 10);
  plan_program_release(&program);
}

/* Operators of other sorts are no parts of one value, and parts are a view. */
static void test_checked(void **state) {
  (void)state;
  struct plan_program program;
  struct diag_list diags;
  diag_init(&diags);
  plan_program_init(&program);
  add_pair(&program);
  split(&program, 4000, UNLIMITED);
  struct plan_tensor *read = &program.tensors.data[op_at(&program, 5)->tensor_first];
  for (uint32_t parts = 1; parts <= 7; parts++) {
    read->producer_parts = parts;
    assert_int_equal(plan_program_check(&program, &diags), parts <= 4 ? STATUS_OK : STATUS_INPUT);
  }
  read->producer_parts = 4;
  read->is_view = false;
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  diag_release(&diags);
  plan_program_release(&program);
}

/* Two layers of a big product and a sum: the parts belong to their layer. */
static void test_layers(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_sum(&program, 8, 100, from_memory(M | N, 1600), from_memory(N, 200));
  for (uint32_t layer = 0; layer < 3; layer++) {
    add_product(&program, (uint64_t[]){8, 100, 100}, 3, from_chip(M | K, 2 * layer + 1), from_memory(K | N, 20000));
    add_sum(&program, 8, 100, from_chip(M | N, 2 * layer + 2), from_chip(M | N, 2 * layer + 2));
  }
  split(&program, 5000, UNLIMITED);
  assert_int_equal(program.operators.count, 1 + 3 * 5);
  assert_int_equal(program.layer_count, 3);
  for (uint32_t i = 0; i < 15; i++) {
    assert_int_equal(op_at(&program, i + 1)->layer, i / 5);
  }
  plan_program_release(&program);
}

/* A third of the SRAM of all cores; 0 is no limit. */
static void test_limit_of_chip(void **state) {
  (void)state;
  struct plan_chip chip = {.cores = 60, .sram_bytes = 1000, .has_memory = true};
  struct plan_options options = plan_options_best;
  assert_int_equal(plan_read_options_for(&options, &chip).split_bytes, 20000);
  assert_int_equal(plan_read_options_for(&plan_options_published, &chip).split_bytes, 20000);
  options.split = false;
  assert_int_equal(plan_read_options_for(&options, &chip).split_bytes, 0);
  chip.has_memory = false;
  assert_int_equal(plan_read_options_for(&plan_options_best, &chip).split_bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_columns),     cmocka_unit_test(test_live),   cmocka_unit_test(test_limit),
      cmocka_unit_test(test_batch_first), cmocka_unit_test(test_fused),  cmocka_unit_test(test_not_split),
      cmocka_unit_test(test_stored),      cmocka_unit_test(test_budget), cmocka_unit_test(test_again),
      cmocka_unit_test(test_checked),     cmocka_unit_test(test_layers), cmocka_unit_test(test_limit_of_chip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
