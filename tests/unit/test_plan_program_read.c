/* plan_program_read without fusion: axes, masks, bytes and sources, each derived by hand from the graph in the test. */
#include "plan_program_fixture.h"

/* 32 tokens of 64 numbers through a 64 x 128 matrix, plus a bias along the columns. */
static const char linear[] =
    "graph\n"
    "tensor %0 : bf16[32,1,64] input \"x\"\n"
    "tensor %1 : bf16[64,128] input \"w\"\n"
    "tensor %2 : bf16[128] input \"b\"\n"
    "tensor %3 : bf16[32,1,128] intermediate\n"
    "tensor %4 : bf16[32,1,128] intermediate\n"
    "tensor %5 : bf16[32,1,128] intermediate output\n"
    "inputs %0 %1 %2\n"
    "outputs %5\n"
    "task 0 matmul \"dot_general\" reads(%0, %1) writes(%3)\n"
    "stage matmul bf16 axes(row 32, row 1, column 128, reduction 64) ops(matrix bf16 2) reads(%0[0,1,3], %1[3,2]) "
    "writes(%3[0,1,2])\n"
    "task 1 broadcast \"broadcast_in_dim\" reads(%2) writes(%4)\n"
    "stage broadcast bf16 axes(parallel 32, parallel 1, parallel 128) ops() reads(%2[2]) writes(%4[0,1,2])\n"
    "task 2 elementwise \"add\" reads(%3, %4) writes(%5)\n"
    "stage elementwise bf16 axes(parallel 32, parallel 1, parallel 128) ops(vector bf16 1) reads(%3[0,1,2], "
    "%4[0,1,2]) writes(%5[0,1,2])\n"
    "end\n";

static void test_product_and_broadcast(void **state) {
  (void)state;
  struct plan_program program = program_from(linear, false, false);
  assert_int_equal(program.operators.count, 2);
  const struct plan_operator *dot = op_at(&program, 0), *add = op_at(&program, 1);
  assert_int_equal(dot->axis_count, 3); /* the unit axis is gone */
  assert_int_equal(dot->extents[0], 32);
  assert_int_equal(dot->extents[1], 128);
  assert_int_equal(dot->extents[2], 64);
  assert_int_equal(tensor_at(&program, 0, 0)->axes, 1 << 0 | 1 << 2);
  assert_int_equal(tensor_at(&program, 0, 1)->axes, 1 << 1 | 1 << 2);
  assert_int_equal(output_of(&program, 0)->axes, 1 << 0 | 1 << 1);
  assert_int_equal(tensor_at(&program, 0, 1)->memory_bytes, 64 * 128 * 2);
  const struct plan_stage *stage = plan_stage_at(&program, 0, 0);
  assert_int_equal(stage->kind, PLAN_STAGE_MATRIX);
  assert_int_equal(stage->reduced, 1 << 2);
  assert_int_equal(stage->left, 1 << 0 | 1 << 2);
  assert_int_equal(stage->right, 1 << 1 | 1 << 2);
  /* the bias lacks the tokens; the sum is the program's result */
  assert_int_equal(add->axis_count, 2);
  assert_int_equal(tensor_at(&program, 1, 0)->producer, 1);
  assert_false(tensor_at(&program, 1, 0)->is_view);
  assert_int_equal(points_along(add, tensor_at(&program, 1, 1)->axes), 128);
  assert_int_equal(tensor_at(&program, 1, 1)->source, PLAN_SOURCE_MEMORY);
  assert_int_equal(output_of(&program, 1)->memory_bytes, 32 * 128 * 2);
  assert_true(program.matrix_flop == 2.0 * 32 * 128 * 64);
  assert_true(program.vector_flop == 32.0 * 128);
  assert_int_equal(program.memory_bytes, 32 * 64 * 2 + 64 * 128 * 2 + 128 * 2 + 32 * 128 * 2);
  plan_program_release(&program);
}

/* 2 sequences, 8 query heads on 2 heads of a cache of 64 entries of 16 numbers: the cache is broadcast to 2 x 2 x 4 heads and
 * reshaped to 8. The product needs an axis of 4 that the cache lacks. */
static void test_grouped_heads(void **state) {
  (void)state;
  struct plan_program program = program_from(
      "graph\n"
      "tensor %0 : bf16[2,8,1,16] input \"q\"\n"
      "tensor %1 : bf16[2,2,64,16] input \"k\"\n"
      "tensor %2 : bf16[2,2,4,64,16] intermediate\n"
      "tensor %3 : bf16[2,8,64,16] intermediate alias %2\n"
      "tensor %4 : bf16[2,8,1,64] intermediate output\n"
      "inputs %0 %1\n"
      "outputs %4\n"
      "task 0 broadcast \"broadcast_in_dim\" reads(%1) writes(%2)\n"
      "stage broadcast bf16 axes(parallel 2, parallel 2, parallel 4, parallel 64, parallel 16) ops() "
      "reads(%1[0,1,3,4]) writes(%2[0,1,2,3,4])\n"
      "task 1 reshape \"reshape\" reads(%2=0) writes(%3=0)\n"
      "stage reshape bf16 axes(parallel 2, parallel 8, parallel 64, parallel 16) ops() reads(%2) writes(%3[0,1,2,3])\n"
      "task 2 matmul \"dot_general\" reads(%0, %3) writes(%4)\n"
      "stage matmul bf16 axes(batch 2, batch 8, row 1, column 64, reduction 16) ops(matrix bf16 2) "
      "reads(%0[0,1,2,4], %3[0,1,3,4]) writes(%4[0,1,2,3])\n"
      "end\n",
      false, false);
  assert_int_equal(program.operators.count, 1);
  const struct plan_operator *dot = op_at(&program, 0);
  assert_int_equal(dot->axis_count, 4); /* sequences x cache heads, queries per head, entries, numbers */
  assert_int_equal(points_along(dot, tensor_at(&program, 0, 0)->axes), 2 * 8 * 16);
  assert_int_equal(points_along(dot, tensor_at(&program, 0, 1)->axes), 2 * 2 * 64 * 16);
  assert_int_equal(points_along(dot, output_of(&program, 0)->axes), 2 * 8 * 64);
  assert_int_equal(tensor_at(&program, 0, 1)->memory_bytes, 2 * 2 * 64 * 16 * 2);
  assert_true(program.matrix_flop == 2.0 * 2 * 8 * 64 * 16);
  plan_program_release(&program);
}

/* A row is stored into a cache in memory; what reads the cache afterwards loads all of it from there. */
static void test_append(void **state) {
  (void)state;
  struct plan_program program = program_from(
      "graph\n"
      "tensor %0 : bf16[4,64,16] input donated \"cache\"\n"
      "tensor %1 : bf16[4,1,16] input \"x\"\n"
      "tensor %2 : bf16[4,1,16] intermediate\n"
      "tensor %3 : i32[] input \"position\"\n"
      "tensor %4 : bf16[4,64,16] intermediate output alias %0\n"
      "tensor %5 : bf16[4,64] intermediate output\n"
      "tensor %6 : bf16[] constant\n"
      "inputs %0 %1 %3\n"
      "outputs %4 %5\n"
      "task 0 elementwise \"negate\" reads(%1) writes(%2)\n"
      "stage elementwise bf16 axes(parallel 4, parallel 1, parallel 16) ops(vector bf16 1) reads(%1[0,1,2]) "
      "writes(%2[0,1,2])\n"
      "task 1 dynamic_update_slice \"dynamic_update_slice\" reads(%0=0, %2, %3) writes(%4=64!in_place)\n"
      "stage dynamic_update_slice bf16 axes(parallel 4, parallel 1, parallel 16) ops() reads(%0[0,-,2]=0, %2[0,1,2], "
      "%3) writes(%4[0,-,2]=64!in_place)\n"
      "task 2 reduce \"reduce\" reads(%4, %6) writes(%5)\n"
      "stage reduce bf16 axes(parallel 4, parallel 64, reduction 16) ops(vector bf16 1) reads(%4[0,1,2], %6) "
      "writes(%5[0,1])\n"
      "end\n",
      false, false);
  assert_int_equal(program.operators.count, 3);
  assert_int_equal(plan_stage_at(&program, 1, 0)->kind, PLAN_STAGE_GATHER);
  assert_int_equal(op_at(&program, 1)->tensor_count, 2); /* the rows, read and stored; the position is no tensor */
  assert_int_equal(output_of(&program, 1)->memory_bytes, 4 * 16 * 2);
  assert_int_equal(tensor_at(&program, 2, 0)->source, PLAN_SOURCE_MEMORY);
  assert_int_equal(tensor_at(&program, 2, 0)->memory_bytes, 4 * 64 * 16 * 2);
  assert_true(program.vector_flop == 4 * 16 + (4.0 * 64 * 16 - 4 * 64)); /* n numbers take n - 1 additions */
  plan_program_release(&program);
}

/* A slice of memory loads only its bytes; a slice and a transposition of a value on the chip are copies, or views. */
static const char moving[] =
    "graph\n"
    "tensor %0 : f32[8,32,16] input \"weights\"\n"
    "tensor %1 : f32[1,32,16] intermediate\n"
    "tensor %2 : f32[32,16] intermediate alias %1\n"
    "tensor %3 : f32[32,16] intermediate\n"
    "tensor %4 : f32[16,16] intermediate\n"
    "tensor %5 : f32[16,16] intermediate\n"
    "tensor %6 : f32[16,16] intermediate output\n"
    "inputs %0\n"
    "outputs %6\n"
    "task 0 slice \"slice\" reads(%0=512) writes(%1)\n"
    "stage slice f32 axes(parallel 1, parallel 32, parallel 16) ops() reads(%0[-,1,2]=512) writes(%1[0,1,2])\n"
    "task 1 reshape \"reshape\" reads(%1=0) writes(%2=0)\n"
    "stage reshape f32 axes(parallel 32, parallel 16) ops() reads(%1) writes(%2[0,1])\n"
    "task 2 elementwise \"exponential\" reads(%2) writes(%3)\n"
    "stage elementwise f32 axes(parallel 32, parallel 16) ops(function exp f32 1) reads(%2[0,1]) writes(%3[0,1])\n"
    "task 3 slice \"slice\" reads(%3=256) writes(%4)\n"
    "stage slice f32 axes(parallel 16, parallel 16) ops() reads(%3[-,1]=256) writes(%4[0,1])\n"
    "task 4 transpose \"transpose\" reads(%4) writes(%5)\n"
    "stage transpose f32 axes(parallel 16, parallel 16) ops() reads(%4[1,0]) writes(%5[0,1])\n"
    "task 5 elementwise \"negate\" reads(%5) writes(%6)\n"
    "stage elementwise f32 axes(parallel 16, parallel 16) ops(vector f32 1) reads(%5[0,1]) writes(%6[0,1])\n"
    "end\n";

static void test_views(void **state) {
  (void)state;
  struct plan_program copies = program_from(moving, false, false), views = program_from(moving, true, false);
  assert_int_equal(copies.operators.count, 4);
  assert_int_equal(tensor_at(&copies, 0, 0)->memory_bytes, 512 * 4);
  assert_int_equal(plan_stage_at(&copies, 1, 0)->kind, PLAN_STAGE_COPY);
  assert_int_equal(plan_stage_at(&copies, 2, 0)->kind, PLAN_STAGE_COPY);
  assert_int_equal(views.operators.count, 2);
  assert_true(tensor_at(&views, 1, 0)->is_view);
  assert_int_equal(tensor_at(&views, 1, 0)->producer, 1);
  assert_int_equal(views.shares.count, 1);
  assert_int_equal(views.shares.data[0].operators_before, 4);
  assert_int_equal(views.shares.data[0].operators_after, 2);
  assert_true(copies.vector_flop == 32 * 16 + 16 * 16); /* copies compute nothing */
  assert_true(views.vector_flop == copies.vector_flop);
  assert_int_equal(views.memory_bytes, copies.memory_bytes);
  plan_program_release(&copies);
  plan_program_release(&views);
}

/* int4 weights stay 4 bits wide until they are used: the conversion is none of the operators. */
static void test_conversions(void **state) {
  (void)state;
  struct plan_program program = program_from(
      "graph\n"
      "tensor %0 : bf16[32,64] input \"x\"\n"
      "tensor %1 : i4[64,128] input \"w\"\n"
      "tensor %2 : bf16[64,128] intermediate\n"
      "tensor %3 : f32[32,128] intermediate\n"
      "tensor %4 : bf16[32,128] intermediate\n"
      "tensor %5 : bf16[32,128] intermediate output\n"
      "inputs %0 %1\n"
      "outputs %5\n"
      "task 0 elementwise \"convert\" reads(%1) writes(%2)\n"
      "stage elementwise bf16 \"convert\" axes(parallel 64, parallel 128) ops(vector bf16 1) reads(%1[0,1]) "
      "writes(%2[0,1])\n"
      "task 1 matmul \"dot_general\" reads(%0, %2) writes(%3)\n"
      "stage matmul f32 axes(row 32, column 128, reduction 64) ops(matrix bf16 2) reads(%0[0,2], %2[2,1]) "
      "writes(%3[0,1])\n"
      "task 2 elementwise \"convert\" reads(%3) writes(%4)\n"
      "stage elementwise bf16 \"convert\" axes(parallel 32, parallel 128) ops(vector f32 1) reads(%3[0,1]) "
      "writes(%4[0,1])\n"
      "task 3 elementwise \"negate\" reads(%4) writes(%5)\n"
      "stage elementwise bf16 axes(parallel 32, parallel 128) ops(vector bf16 1) reads(%4[0,1]) writes(%5[0,1])\n"
      "end\n",
      false, false);
  assert_int_equal(program.operators.count, 2);
  assert_int_equal(tensor_at(&program, 0, 1)->element_bits, 4);
  assert_int_equal(tensor_at(&program, 0, 1)->memory_bytes, 64 * 128 / 2);
  assert_int_equal(output_of(&program, 0)->element_bits, 16); /* only read as bf16, so left as bf16 */
  assert_int_equal(plan_stage_at(&program, 0, 0)->result_bits, 32);
  plan_program_release(&program);
}

/* Everything without meaning is told, not the first thing only. */
static void test_refusals(void **state) {
  (void)state;
  struct work_graph *graph = sealed_from(
      "graph\n"
      "tensor %0 : f32[64] input\n"
      "tensor %1 : f32[64] intermediate\n"
      "tensor %2 : f32[64] intermediate\n"
      "tensor %3 : f32[64] intermediate output\n"
      "inputs %0\n"
      "outputs %3\n"
      "task 0 sort \"sort\" at 5 reads(%0) writes(%1)\n"
      "stage sort f32 axes(reduction 64) ops(vector f32 1) reads(%0[0]) writes(%1[0])\n"
      "task 1 custom \"mystery\" opaque at 7 reads(%1) writes(%2)\n"
      "stage custom f32 axes() ops() reads(%1) writes(%2)\n"
      "task 2 collective \"all_reduce\" collective all_reduce groups 1 of 4 bytes 256 at 9 reads(%2) writes(%3)\n"
      "stage collective f32 axes() ops() reads(%2) writes(%3)\n"
      "end\n");
  const char text[] = "line\nsort\nx\ny";
  struct source source = {"program.mlir", text, sizeof text - 1};
  struct plan_read_options options = {.source = &source};
  struct plan_program program;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(plan_program_read(graph, &options, &diags, &program), STATUS_INPUT);
  assert_int_equal(diags.entries.count, 3);
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(diags.entries.data[i].id, DIAG_E0801_NOT_PLANNED);
    assert_non_null(diags.entries.data[i].file);
  }
  assert_non_null(strstr(diags.entries.data[0].message, "task 0 'sort'"));
  assert_int_equal(diags.entries.data[0].line, 2);
  assert_non_null(strstr(diags.entries.data[1].message, "mystery"));
  plan_program_release(&program);
  diag_release(&diags);
  work_graph_free(graph);
}

/* Three iterations on slices of a stack of weights: three products that load 1/3 of the stack each. */
static void test_loop(void **state) {
  (void)state;
  static const char text[] =
      "graph\n"
      "tensor %0 : f32[3,16,16] input \"stack\"\n"
      "tensor %1 : f32[4,16] input \"x\"\n"
      "tensor %2 : i32[] constant\n"
      "tensor %3 : f32[4,16] intermediate output\n"
      "tensor %4 : i32[] intermediate\n"
      "tensor %5 : f32[3,16,16] intermediate\n"
      "inputs %0 %1\n"
      "outputs %3\n"
      "task 0 loop \"while\" trips 3 reads(%2, %1, %0) writes(%4, %3, %5)\n"
      "graph\n"
      "tensor %0 : i32[] input\n"
      "tensor %1 : f32[4,16] input\n"
      "tensor %2 : f32[3,16,16] input output\n"
      "tensor %3 : f32[1,16,16] intermediate\n"
      "tensor %4 : f32[16,16] intermediate alias %3\n"
      "tensor %5 : f32[4,16] intermediate\n"
      "tensor %6 : f32[4,16] intermediate output\n"
      "tensor %7 : i32[] intermediate output\n"
      "inputs %0 %1 %2\n"
      "outputs %7 %6 %2\n"
      "carried %0 -> %7\n"
      "carried %1 -> %6\n"
      "carried %2 -> %2\n"
      "task 0 dynamic_slice \"dynamic_slice\" reads(%2=256, %0) writes(%3)\n"
      "stage dynamic_slice f32 axes(parallel 1, parallel 16, parallel 16) ops() reads(%2[-,1,2]=256, %0) "
      "writes(%3[0,1,2])\n"
      "task 1 reshape \"reshape\" reads(%3=0) writes(%4=0)\n"
      "stage reshape f32 axes(parallel 16, parallel 16) ops() reads(%3) writes(%4[0,1])\n"
      "task 2 matmul \"dot_general\" reads(%1, %4) writes(%5)\n"
      "stage matmul f32 axes(row 4, column 16, reduction 16) ops(matrix f32 2) reads(%1[0,2], %4[2,1]) "
      "writes(%5[0,1])\n"
      "task 3 elementwise \"tanh\" reads(%5) writes(%6)\n"
      "stage elementwise f32 axes(parallel 4, parallel 16) ops(function tanh f32 1) reads(%5[0,1]) writes(%6[0,1])\n"
      "task 4 elementwise \"add\" reads(%0) writes(%7)\n"
      "stage elementwise i32 axes() ops(integer i32 1) reads(%0) writes(%7)\n"
      "end\n"
      "end\n";
  struct plan_program program = program_from(text, false, false);
  assert_int_equal(program.operators.count, 6);
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(tensor_at(&program, 2 * i, 1)->memory_bytes, 16 * 16 * 4);
    assert_int_equal(tensor_at(&program, 2 * i, 0)->producer, 2 * i);
  }
  assert_int_equal(program.memory_bytes, 4 * 16 * 4 + 3 * 16 * 16 * 4 + 4 * 16 * 4);
  plan_program_release(&program);

  struct work_graph *graph = sealed_from(text);
  struct plan_read_options options = {.max_operators = 3};
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(plan_program_read(graph, &options, &diags, &program), STATUS_LIMIT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0808_PLAN_LIMIT);
  plan_program_release(&program);
  diag_release(&diags);
  work_graph_free(graph);
}

/* The two largest of 8 scores of each of 32 tokens: two maxima over 8. */
static void test_top_k(void **state) {
  (void)state;
  struct plan_program program =
      program_from("graph\n"
                   "tensor %0 : f32[32,8] input\n"
                   "tensor %1 : f32[32,2] intermediate output\n"
                   "tensor %2 : i32[32,2] intermediate output\n"
                   "inputs %0\n"
                   "outputs %1 %2\n"
                   "task 0 top_k \"top_k\" reads(%0) writes(%1, %2)\n"
                   "stage top_k f32 axes(parallel 32, parallel 8) ops(vector f32 1) reads(%0[0,1]) writes(%1, %2)\n"
                   "end\n",
                   false, false);
  assert_int_equal(program.operators.count, 1);
  assert_int_equal(points_along(op_at(&program, 0), tensor_at(&program, 0, 0)->axes), 32 * 8);
  assert_int_equal(points_along(op_at(&program, 0), output_of(&program, 0)->axes), 32 * 2);
  assert_int_equal(output_of(&program, 0)->element_bits, 64); /* a value and its place */
  assert_int_equal(output_of(&program, 0)->memory_bytes, 32 * 2 * 8);
  plan_program_release(&program);
}

/* Of two branches the one with more operations is planned. */
static void test_conditional(void **state) {
  (void)state;
  struct plan_program program =
      program_from("graph\n"
                   "tensor %0 : i1[] input\n"
                   "tensor %1 : f32[64] input\n"
                   "tensor %2 : f32[64] intermediate output\n"
                   "inputs %0 %1\n"
                   "outputs %2\n"
                   "task 0 conditional \"case\" reads(%0, %1) writes(%2)\n"
                   "graph\n"
                   "tensor %0 : i1[] input\n"
                   "tensor %1 : f32[64] input\n"
                   "tensor %2 : f32[64] intermediate output\n"
                   "inputs %0 %1\n"
                   "outputs %2\n"
                   "task 0 elementwise \"negate\" reads(%1) writes(%2)\n"
                   "stage elementwise f32 \"negate\" axes(parallel 64) ops(vector f32 1) reads(%1[0]) writes(%2[0])\n"
                   "end\n"
                   "graph\n"
                   "tensor %0 : i1[] input\n"
                   "tensor %1 : f32[64] input\n"
                   "tensor %2 : f32[64] intermediate output\n"
                   "inputs %0 %1\n"
                   "outputs %2\n"
                   "task 0 elementwise \"logistic\" reads(%1) writes(%2)\n"
                   "stage elementwise f32 \"logistic\" axes(parallel 64) ops(vector f32 3) reads(%1[0]) writes(%2[0])\n"
                   "end\n"
                   "end\n",
                   false, false);
  assert_int_equal(program.operators.count, 1);
  assert_int_equal(plan_stage_at(&program, 0, 0)->operations, 3);
  assert_string_equal(intern_text(program.strings, op_at(&program, 0)->name), "logistic");
  plan_program_release(&program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_product_and_broadcast),
      cmocka_unit_test(test_grouped_heads),
      cmocka_unit_test(test_append),
      cmocka_unit_test(test_views),
      cmocka_unit_test(test_conversions),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_top_k),
      cmocka_unit_test(test_conditional),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
