/* Sorts, layers, live values and invariants of programs built by hand. */
#include "plan_program_fixture.h"

/* An operator of one element-wise stage over `extent` numbers of 4 bytes that reads the outputs of others (0 = none). */
static void add_operator(struct plan_program *program, uint64_t extent, const uint32_t *producers, uint32_t count) {
  struct plan_operator op = {.axis_count = 1,
                             .tensor_count = (uint8_t)(count + 1),
                             .stage_count = 1,
                             .merged = 1,
                             .layer = UINT32_MAX,
                             .tensor_first = (uint32_t)program->tensors.count,
                             .stage_first = (uint32_t)program->stages.count};
  op.extents[0] = extent;
  for (uint32_t i = 0; i <= count; i++) {
    struct plan_tensor tensor = {.axes = 1, .element_bits = 32, .source = PLAN_SOURCE_CHIP, .is_output = i == count};
    tensor.producer = i < count ? producers[i] : 0;
    if (i < count && producers[i] == 0) {
      tensor.source = PLAN_SOURCE_MEMORY;
      tensor.memory_bytes = extent * 4;
    }
    assert_true(vec_push(&program->tensors, tensor));
  }
  struct plan_stage stage = {.kind = PLAN_STAGE_ELEMENTWISE, .axes = 1, .result_bits = 32, .operations = 2};
  assert_true(vec_push(&program->stages, stage));
  assert_true(vec_push(&program->operators, op));
}

#define READS(...) ((const uint32_t[]){__VA_ARGS__}), sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static void test_live(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_operator(&program, 10, READS(0)); /* 40 bytes, read by the third and the fifth */
  add_operator(&program, 20, READS(0)); /* 80 bytes, read by the fourth */
  add_operator(&program, 10, READS(1, 1));
  add_operator(&program, 20, READS(2));
  add_operator(&program, 10, READS(1, 3));
  assert_int_equal(plan_program_seal(&program), STATUS_OK);
  uint64_t live[5];
  assert_int_equal(plan_program_live(&program, 1, live), STATUS_OK);
  assert_int_equal(live[0], 40); /* its result */
  assert_int_equal(live[1], 40 + 80);
  assert_int_equal(live[2], 40 + 80 + 40); /* the first, which it reads and the fifth needs; the second; its result */
  assert_int_equal(live[3], 40 + 80 + 40); /* the first, the third, and at its begin the second */
  assert_int_equal(live[4], 40 + 40); /* until it has read them; its own result is nobody's */
  assert_int_equal(plan_program_live(&program, 3, live), STATUS_OK); /* shares of 4 and 7 elements */
  assert_int_equal(live[2], 16 + 28 + 16);
  assert_true(program.vector_flop == 2 * (10 + 20 + 10 + 20 + 10));
  assert_int_equal(program.memory_bytes, 40 + 80);
  plan_program_release(&program);
}

/* A head, four layers of three, a tail. */
static void test_layers(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  add_operator(&program, 99, READS(0));
  for (uint32_t i = 0; i < 12; i++) {
    add_operator(&program, i % 3 == 0 ? 50 : 60, READS(i + 1));
  }
  add_operator(&program, 7, READS(13));
  assert_int_equal(plan_program_seal(&program), STATUS_OK);
  assert_int_equal(program.sort_count, 4);
  assert_int_equal(program.layer_count, 4);
  assert_int_equal(op_at(&program, 0)->layer, UINT32_MAX);
  for (uint32_t i = 0; i < 12; i++) {
    assert_int_equal(op_at(&program, i + 1)->layer, i / 3);
    assert_int_equal(op_at(&program, i + 1)->sort, i % 3 == 0 ? 1 : 2);
  }
  assert_int_equal(op_at(&program, 13)->layer, UINT32_MAX);
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(plan_program_check(&program, &diags), STATUS_OK);

  /* each of these breaks one rule */
  struct plan_tensor *input = &program.tensors.data[op_at(&program, 5)->tensor_first];
  struct plan_tensor saved = *input;
  input->producer = 6; /* itself */
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  *input = saved;
  input->axes = 2;
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  *input = saved;
  input->is_output = true;
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  *input = saved;
  program.stages.data[3].reduced = 2;
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  program.stages.data[3].reduced = 0;
  program.operators.data[2].extents[0] = 0;
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  program.operators.data[2].extents[0] = 60;
  program.operators.data[2].tensor_first = 1000;
  assert_int_equal(plan_program_check(&program, &diags), STATUS_INPUT);
  for (size_t i = 0; i < diags.entries.count; i++) {
    assert_int_equal(diags.entries.data[i].id, DIAG_E0802_PLAN_PROGRAM);
  }
  diag_release(&diags);
  plan_program_release(&program);
}

static void test_empty(void **state) {
  (void)state;
  struct plan_program program;
  plan_program_init(&program);
  assert_int_equal(plan_program_seal(&program), STATUS_OK);
  assert_int_equal(program.layer_count, 1);
  assert_int_equal(program.sort_count, 0);
  plan_program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_live),
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
