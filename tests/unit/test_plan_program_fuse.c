/* Fusion: what becomes one operator, what does not, and that operations and bytes stay the same. */
#include "plan_program_fixture.h"

static void assert_same_work(const struct plan_program *before, const struct plan_program *after) {
  assert_true(before->matrix_flop == after->matrix_flop);
  assert_true(before->vector_flop == after->vector_flop);
  assert_int_equal(before->memory_bytes, after->memory_bytes);
  uint32_t merged = 0;
  for (size_t i = 0; i < after->operators.count; i++) {
    merged += after->operators.data[i].merged;
  }
  assert_int_equal(merged, before->operators.count);
}

/* Twice x, softmax along the last dimension: maximum, subtract, exponential, sum, divide. */
#define SOFTMAX(x)                                                                                                     \
  "task 1 reduce \"reduce\" reads(%1, %2) writes(%3)\n"                                                                \
  "stage reduce f32 axes(" x ", reduction 128) ops(vector f32 1) reads(%1[0,1], %2) writes(%3[0])\n"                   \
  "task 2 broadcast \"broadcast_in_dim\" reads(%3) writes(%4)\n"                                                       \
  "stage broadcast f32 axes(" x ", parallel 128) ops() reads(%3[0]) writes(%4[0,1])\n"                                 \
  "task 3 elementwise \"subtract\" reads(%1, %4) writes(%5)\n"                                                         \
  "stage elementwise f32 axes(" x ", parallel 128) ops(vector f32 1) reads(%1[0,1], %4[0,1]) writes(%5[0,1])\n"        \
  "task 4 elementwise \"exponential\" reads(%5) writes(%6)\n"                                                          \
  "stage elementwise f32 axes(" x ", parallel 128) ops(function exp f32 1) reads(%5[0,1]) writes(%6[0,1])\n"           \
  "task 5 reduce \"reduce\" reads(%6, %2) writes(%7)\n"                                                                \
  "stage reduce f32 axes(" x ", reduction 128) ops(vector f32 1) reads(%6[0,1], %2) writes(%7[0])\n"                   \
  "task 6 broadcast \"broadcast_in_dim\" reads(%7) writes(%8)\n"                                                       \
  "stage broadcast f32 axes(" x ", parallel 128) ops() reads(%7[0]) writes(%8[0,1])\n"                                 \
  "task 7 elementwise \"divide\" reads(%6, %8) writes(%9)\n"                                                           \
  "stage elementwise f32 axes(" x ", parallel 128) ops(function divide f32 1) reads(%6[0,1], %8[0,1]) "                \
  "writes(%9[0,1])\n"
#define SOFTMAX_TENSORS(n)                                                                                             \
  "tensor %2 : f32[] constant\n"                                                                                       \
  "tensor %3 : f32[" n "] intermediate\n"                                                                              \
  "tensor %4 : f32[" n ",128] intermediate\n"                                                                          \
  "tensor %5 : f32[" n ",128] intermediate\n"                                                                          \
  "tensor %6 : f32[" n ",128] intermediate\n"                                                                          \
  "tensor %7 : f32[" n "] intermediate\n"                                                                              \
  "tensor %8 : f32[" n ",128] intermediate\n"                                                                          \
  "tensor %9 : f32[" n ",128] intermediate output\n"

static void test_softmax(void **state) {
  (void)state;
  static const char text[] =
      "graph\n"
      "tensor %0 : f32[64,128] input\n"
      "tensor %1 : f32[64,128] intermediate\n" SOFTMAX_TENSORS(
          "64") "inputs %0\n"
                "outputs %9\n"
                "task 0 elementwise \"multiply\" reads(%0) writes(%1)\n"
                "stage elementwise f32 axes(parallel 64, parallel 128) ops(vector f32 1) reads(%0[0,1]) "
                "writes(%1[0,1])\n" SOFTMAX("parallel 64") "end\n";
  struct plan_program base = program_from(text, true, false), fused = program_from(text, true, true);
  assert_int_equal(base.operators.count, 6);
  assert_int_equal(fused.operators.count, 1);
  assert_same_work(&base, &fused);
  const struct plan_operator *op = op_at(&fused, 0);
  assert_string_equal(intern_text(fused.strings, op->name), "softmax");
  assert_int_equal(op->axis_count, 2);
  assert_int_equal(op->tensor_count, 2);
  assert_int_equal(op->stage_count, 6);
  uint32_t reductions = 0;
  for (uint32_t i = 0; i < op->stage_count; i++) {
    const struct plan_stage *stage = plan_stage_at(&fused, 0, i);
    reductions += stage->kind == PLAN_STAGE_REDUCE;
    assert_int_equal(points_along(op, stage->axes), 64 * 128);
    assert_int_equal(points_along(op, stage->reduced), stage->kind == PLAN_STAGE_REDUCE ? 128 : 1);
  }
  assert_int_equal(reductions, 2);
  plan_program_release(&base);
  plan_program_release(&fused);
}

/* Softmax behind a product is an operator of its own, which keeps the scores where the product leaves them. */
static void test_softmax_after_product(void **state) {
  (void)state;
  static const char text[] =
      "graph\n"
      "tensor %0 : f32[64,32] input\n"
      "tensor %1 : f32[64,128] intermediate\n" SOFTMAX_TENSORS(
          "64") "tensor %10 : f32[32,128] input\n"
                "inputs %0 %10\n"
                "outputs %9\n"
                "task 0 matmul \"dot_general\" reads(%0, %10) writes(%1)\n"
                "stage matmul f32 axes(row 64, column 128, reduction 32) ops(matrix f32 2) reads(%0[0,2], %10[2,1]) "
                "writes(%1[0,1])\n" SOFTMAX("parallel 64") "end\n";
  struct plan_program base = program_from(text, true, false), fused = program_from(text, true, true);
  assert_int_equal(fused.operators.count, 2);
  assert_same_work(&base, &fused);
  assert_int_equal(op_at(&fused, 0)->stage_count, 1);
  assert_int_equal(plan_stage_at(&fused, 0, 0)->kind, PLAN_STAGE_MATRIX);
  assert_string_equal(intern_text(fused.strings, op_at(&fused, 1)->name), "softmax");
  plan_program_release(&base);
  plan_program_release(&fused);
}

/* x + y is needed by the norm and by the sum after it: it joins neither, and nothing is computed twice. The norm's
 * product, which reads the norm for 128 columns, does not compute it on each core either. */
static void test_residual_and_norm(void **state) {
  (void)state;
  static const char text[] =
      "graph\n"
      "tensor %0 : f32[32,256] input\n"
      "tensor %1 : f32[32,256] input\n"
      "tensor %2 : f32[32,256] intermediate\n" /* x + y */
      "tensor %3 : f32[32,256] intermediate\n" /* squares */
      "tensor %4 : f32[] constant\n"
      "tensor %5 : f32[32] intermediate\n" /* sums */
      "tensor %6 : f32[32] intermediate\n" /* rsqrt */
      "tensor %7 : f32[32,256] intermediate\n"
      "tensor %8 : f32[32,256] intermediate\n" /* norm */
      "tensor %9 : f32[256,256] input\n"
      "tensor %10 : f32[32,256] intermediate\n"
      "tensor %11 : f32[32,256] intermediate output\n"
      "inputs %0 %1 %9\n"
      "outputs %11\n"
      "task 0 elementwise \"add\" reads(%0, %1) writes(%2)\n"
      "stage elementwise f32 axes(parallel 32, parallel 256) ops(vector f32 1) reads(%0[0,1], %1[0,1]) "
      "writes(%2[0,1])\n"
      "task 1 elementwise \"multiply\" reads(%2) writes(%3)\n"
      "stage elementwise f32 axes(parallel 32, parallel 256) ops(vector f32 1) reads(%2[0,1], %2[0,1]) "
      "writes(%3[0,1])\n"
      "task 2 reduce \"reduce\" reads(%3, %4) writes(%5)\n"
      "stage reduce f32 axes(parallel 32, reduction 256) ops(vector f32 1) reads(%3[0,1], %4) writes(%5[0])\n"
      "task 3 elementwise \"rsqrt\" reads(%5) writes(%6)\n"
      "stage elementwise f32 \"rsqrt\" axes(parallel 32) ops(function rsqrt f32 1) reads(%5[0]) writes(%6[0])\n"
      "task 4 broadcast \"broadcast_in_dim\" reads(%6) writes(%7)\n"
      "stage broadcast f32 axes(parallel 32, parallel 256) ops() reads(%6[0]) writes(%7[0,1])\n"
      "task 5 elementwise \"multiply\" reads(%2, %7) writes(%8)\n"
      "stage elementwise f32 axes(parallel 32, parallel 256) ops(vector f32 1) reads(%2[0,1], %7[0,1]) "
      "writes(%8[0,1])\n"
      "task 6 matmul \"dot_general\" reads(%8, %9) writes(%10)\n"
      "stage matmul f32 axes(row 32, column 256, reduction 256) ops(matrix f32 2) reads(%8[0,2], %9[2,1]) "
      "writes(%10[0,1])\n"
      "task 7 elementwise \"add\" reads(%2, %10) writes(%11)\n"
      "stage elementwise f32 axes(parallel 32, parallel 256) ops(vector f32 1) reads(%2[0,1], %10[0,1]) "
      "writes(%11[0,1])\n"
      "end\n";
  struct plan_program base = program_from(text, true, false), fused = program_from(text, true, true);
  assert_int_equal(base.operators.count, 7);
  assert_int_equal(fused.operators.count, 3); /* add; norm; product and add */
  assert_same_work(&base, &fused);
  assert_string_equal(intern_text(fused.strings, op_at(&fused, 1)->name), "norm");
  assert_int_equal(op_at(&fused, 1)->merged, 4);
  assert_int_equal(op_at(&fused, 1)->axis_count, 2); /* both readings of x + y run along the same two axes */
  assert_int_equal(op_at(&fused, 2)->merged, 2);
  assert_int_equal(op_at(&fused, 2)->tensor_count, 4);
  /* x + y lies on the cores while the norm runs, which reads it, and while the product runs, which does too */
  uint64_t live[7];
  assert_int_equal(plan_program_live(&fused, 1, live), STATUS_OK);
  assert_int_equal(live[1], 2 * 32 * 256 * 4); /* and the result of the norm */
  assert_int_equal(live[2], 2 * 32 * 256 * 4);
  plan_program_release(&base);
  plan_program_release(&fused);
}

/* int8 weights of 64 x 256 that are converted and scaled, by one factor per column and `groups` groups of rows, before the
 * product with so many rows. */
static struct plan_program scaled_weights(uint32_t rows, uint32_t groups, bool fuse) {
  char text[2048];
  snprintf(text, sizeof text,
           "graph\n"
           "tensor %%0 : bf16[%u,64] input\n"
           "tensor %%1 : i8[64,256] input\n"
           "tensor %%2 : bf16[64,256] intermediate\n"
           "tensor %%3 : bf16[%u,256] input\n"
           "tensor %%4 : bf16[%u,%u,256] intermediate\n"
           "tensor %%5 : bf16[64,256] intermediate alias %%4\n"
           "tensor %%6 : bf16[64,256] intermediate\n"
           "tensor %%7 : bf16[%u,256] intermediate output\n"
           "inputs %%0 %%1 %%3\n"
           "outputs %%7\n"
           "task 0 elementwise \"convert\" reads(%%1) writes(%%2)\n"
           "stage elementwise bf16 \"convert\" axes(parallel 64, parallel 256) ops(vector bf16 1) reads(%%1[0,1]) "
           "writes(%%2[0,1])\n"
           "task 1 broadcast \"broadcast_in_dim\" reads(%%3) writes(%%4)\n"
           "stage broadcast bf16 axes(parallel %u, parallel %u, parallel 256) ops() reads(%%3[0,2]) "
           "writes(%%4[0,1,2])\n"
           "task 2 reshape \"reshape\" reads(%%4=0) writes(%%5=0)\n"
           "stage reshape bf16 axes(parallel 64, parallel 256) ops() reads(%%4) writes(%%5[0,1])\n"
           "task 3 elementwise \"multiply\" reads(%%2, %%5) writes(%%6)\n"
           "stage elementwise bf16 \"multiply\" axes(parallel 64, parallel 256) ops(vector bf16 1) reads(%%2[0,1], "
           "%%5[0,1]) writes(%%6[0,1])\n"
           "task 4 matmul \"dot_general\" reads(%%0, %%6) writes(%%7)\n"
           "stage matmul bf16 axes(row %u, column 256, reduction 64) ops(matrix bf16 2) reads(%%0[0,2], %%6[2,1]) "
           "writes(%%7[0,1])\n"
           "end\n",
           rows, groups, groups, 64 / groups, rows, groups, 64 / groups, rows);
  return program_from(text, true, fuse);
}

/* One factor per column follows the product: so many multiplications as results, whatever the rows. */
static void test_scales(void **state) {
  (void)state;
  static const uint32_t rows[] = {32, 512};
  for (int i = 0; i < 2; i++) {
    struct plan_program base = scaled_weights(rows[i], 1, false), fused = scaled_weights(rows[i], 1, true);
    assert_int_equal(base.operators.count, 2);
    assert_int_equal(fused.operators.count, 1);
    assert_true(base.vector_flop == 64 * 256);
    assert_true(fused.vector_flop == rows[i] * 256.0);
    assert_true(base.matrix_flop == fused.matrix_flop);
    assert_int_equal(base.memory_bytes, fused.memory_bytes);
    assert_int_equal(plan_stage_at(&fused, 0, 0)->kind, PLAN_STAGE_MATRIX);
    assert_int_equal(op_at(&fused, 0)->extents[0], rows[i]); /* the product's order of axes */
    assert_int_equal(points_along(op_at(&fused, 0), plan_stage_at(&fused, 0, 1)->axes), rows[i] * 256);
    plan_program_release(&base);
    plan_program_release(&fused);
  }
}

/* Factors per group of rows must come before: on every core that holds a tile, as often as the rows are split. */
static void test_dequantisation(void **state) {
  (void)state;
  struct plan_program base = scaled_weights(32, 4, false);
  struct plan_program few = scaled_weights(32, 4, true), many = scaled_weights(512, 4, true);
  assert_int_equal(base.operators.count, 2);
  assert_int_equal(few.operators.count, 1);
  assert_same_work(&base, &few);
  assert_int_equal(plan_stage_at(&few, 0, 0)->kind, PLAN_STAGE_ELEMENTWISE);
  assert_int_equal(op_at(&few, 0)->axis_count, 4); /* rows, columns, groups, rows of a group */
  assert_int_equal(many.operators.count, 2);
  plan_program_release(&base);
  plan_program_release(&few);
  plan_program_release(&many);
}

/* Halves that rotate against each other: (a c - b s, b c + a s), one operator with an axis of two halves. */
static void test_rotation(void **state) {
  (void)state;
  static const char text[] =
      "graph\n"
      "tensor %0 : f32[64,128] input\n"
      "tensor %1 : f32[64,128] intermediate\n"
      "tensor %2 : f32[64,64] intermediate\n"
      "tensor %3 : f32[64,64] intermediate\n"
      "tensor %4 : f32[64,64] input\n"
      "tensor %5 : f32[64,64] intermediate\n"
      "tensor %6 : f32[64,64] intermediate\n"
      "tensor %7 : f32[64,128] intermediate output\n"
      "inputs %0 %4\n"
      "outputs %7\n"
      "task 0 elementwise \"tanh\" reads(%0) writes(%1)\n"
      "stage elementwise f32 axes(parallel 64, parallel 128) ops(function tanh f32 1) reads(%0[0,1]) "
      "writes(%1[0,1])\n"
      "task 1 slice \"slice\" reads(%1=4096) writes(%2)\n"
      "stage slice f32 axes(parallel 64, parallel 64) ops() reads(%1[0,-]=4096) writes(%2[0,1])\n"
      "task 2 slice \"slice\" reads(%1=4096) writes(%3)\n"
      "stage slice f32 axes(parallel 64, parallel 64) ops() reads(%1[0,-]=4096) writes(%3[0,1])\n"
      "task 3 elementwise \"multiply\" reads(%2, %4) writes(%5)\n"
      "stage elementwise f32 axes(parallel 64, parallel 64) ops(vector f32 1) reads(%2[0,1], %4[0,1]) "
      "writes(%5[0,1])\n"
      "task 4 elementwise \"subtract\" reads(%3, %4) writes(%6)\n"
      "stage elementwise f32 axes(parallel 64, parallel 64) ops(vector f32 1) reads(%3[0,1], %4[0,1]) "
      "writes(%6[0,1])\n"
      "task 5 concatenate \"concatenate\" reads(%5, %6) writes(%7)\n"
      "stage concatenate f32 \"concatenate\" axes(parallel 64, parallel 128) ops() reads(%5[0,-], %6[0,-]) "
      "writes(%7[0,1])\n"
      "end\n";
  struct plan_program base = program_from(text, false, false), fused = program_from(text, true, true);
  assert_int_equal(base.operators.count, 6);
  assert_int_equal(fused.operators.count, 2); /* the cut value stays one of its own: cuts change cores */
  assert_true(base.vector_flop == fused.vector_flop);
  const struct plan_operator *op = op_at(&fused, 1);
  assert_int_equal(op->merged, 3);
  assert_int_equal(points_along(op, output_of(&fused, 1)->axes), 64 * 128);
  assert_int_equal(op->tensor_count, 4); /* two halves of one value, the factors, the result */
  assert_int_equal(points_along(op, tensor_at(&fused, 1, 0)->axes), 64 * 64);
  assert_true(tensor_at(&fused, 1, 0)->is_view);
  assert_int_equal(points_along(op, plan_stage_at(&fused, 1, 0)->axes), 64 * 64);
  plan_program_release(&base);
  plan_program_release(&fused);
}

/* A sum over the batches of a product makes its result smaller: the cores that summed along k would have to agree first. */
static void test_sum_of_batches(void **state) {
  (void)state;
  struct plan_program fused = program_from(
      "graph\n"
      "tensor %0 : f32[4,8,32] input\n"
      "tensor %1 : f32[4,32,16] input\n"
      "tensor %2 : f32[4,8,16] intermediate\n"
      "tensor %3 : f32[] constant\n"
      "tensor %4 : f32[8,16] intermediate output\n"
      "inputs %0 %1\n"
      "outputs %4\n"
      "task 0 matmul \"dot_general\" reads(%0, %1) writes(%2)\n"
      "stage matmul f32 axes(batch 4, row 8, column 16, reduction 32) ops(matrix f32 2) reads(%0[0,1,3], %1[0,3,2]) "
      "writes(%2[0,1,2])\n"
      "task 1 reduce \"reduce\" reads(%2, %3) writes(%4)\n"
      "stage reduce f32 axes(parallel 8, parallel 16, reduction 4) ops(vector f32 1) reads(%2[2,0,1], %3) "
      "writes(%4[0,1])\n"
      "end\n",
      true, true);
  assert_int_equal(fused.operators.count, 2);
  assert_int_equal(op_at(&fused, 0)->axis_count, 4);
  plan_program_release(&fused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_softmax),           cmocka_unit_test(test_softmax_after_product),
      cmocka_unit_test(test_residual_and_norm), cmocka_unit_test(test_scales),
      cmocka_unit_test(test_dequantisation),    cmocka_unit_test(test_rotation),
      cmocka_unit_test(test_sum_of_batches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
