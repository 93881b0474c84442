/* Composites "kernel.*" are one kernel each: the work of the decomposition, the traffic of operands and results. Attention has
 * its sizes from the decomposition, whatever the layout of its operands. */
#include "lower_fixture.h"

static const struct work_task *only_task(const struct lowered *lowered) {
  const struct work_task *found = NULL;
  for (size_t i = 0; i < lowered->graph->tasks.count; i++) {
    const struct work_task *task = &lowered->graph->tasks.data[i];
    if (!work_kind_info((enum work_kind)task->kind)->is_free) {
      assert_null(found);
      found = task;
    }
  }
  assert_non_null(found);
  return found;
}

static void test_one_kernel(void **state) {
  (void)state;
  struct lowered l;
  lowered_from(
      &l, "func.func private @norm(%x: tensor<64x32xf32>, %w: tensor<32xf32>) -> tensor<64x32xf32> {\n"
          " %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
          " %q = stablehlo.multiply %x, %x : tensor<64x32xf32>\n"
          " %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x32xf32>, "
          "tensor<f32>) -> tensor<64xf32>\n"
          " %r = stablehlo.rsqrt %s : tensor<64xf32>\n"
          " %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<64xf32>) -> tensor<64x32xf32>\n"
          " %v = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>\n"
          " %n = stablehlo.multiply %x, %b : tensor<64x32xf32>\n %y = stablehlo.multiply %n, %v : tensor<64x32xf32>\n"
          " return %y : tensor<64x32xf32> }\n"
          "func.func @main(%x: tensor<64x32xf32>, %w: tensor<32xf32>) -> tensor<64x32xf32> {\n"
          " %y = stablehlo.composite \"kernel.rms_norm\" %x, %w {decomposition = @norm} : (tensor<64x32xf32>, "
          "tensor<32xf32>) -> tensor<64x32xf32>\n return %y : tensor<64x32xf32> }");
  const struct work_task *task = only_task(&l);
  assert_string_equal(intern_text(l.graph->strings, task->label), "kernel.rms_norm");
  assert_int_equal(task->flags, WORK_TASK_PREFUSED);
  assert_int_equal(task->read_bytes, 64 * 32 * 4 + 32 * 4 + 4); /* x once, the weights, the initial value */
  assert_int_equal(task->write_bytes, 64 * 32 * 4);
  assert_int_equal(l.total.ops[WORK_ENGINE_VECTOR], 3 * 64 * 32 + 64 * 31);
  assert_int_equal(l.total.ops[WORK_ENGINE_FUNCTION], 64);
  lowered_release(&l);
}

/* What is no kernel is lowered operation by operation, as ever. */
static void test_other_composites(void **state) {
  (void)state;
  struct lowered l;
  lowered_from(
      &l, "func.func private @two(%x: tensor<8xf32>) -> tensor<8xf32> {\n %a = stablehlo.tanh %x : tensor<8xf32>\n"
          " %b = stablehlo.tanh %a : tensor<8xf32>\n return %b : tensor<8xf32> }\n"
          "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
          " %y = stablehlo.composite \"library.two\" %x {decomposition = @two} : (tensor<8xf32>) -> tensor<8xf32>\n"
          " return %y : tensor<8xf32> }");
  assert_int_equal(l.graph->tasks.count, 2);
  lowered_release(&l);
}

/* The query heads of two key heads, packed in rows [positions x sequences, heads x depth] as a linear layer makes them:
 * 3 sequences, 2 key heads of 4 query heads each, 16 positions, depth 8. */
#define PACKED                                                                                                         \
  "func.func private @f(%x: tensor<48x64xbf16>, %k: tensor<48x16xbf16>, %v: tensor<48x16xbf16>) -> "                   \
  "tensor<48x64xbf16> {\n"                                                                                             \
  " %q0 = stablehlo.reshape %x : (tensor<48x64xbf16>) -> tensor<16x3x2x4x8xbf16>\n"                                    \
  " %q = stablehlo.transpose %q0, dims = [1, 2, 3, 0, 4] : (tensor<16x3x2x4x8xbf16>) -> tensor<3x2x4x16x8xbf16>\n"     \
  " %k0 = stablehlo.reshape %k : (tensor<48x16xbf16>) -> tensor<16x3x2x8xbf16>\n"                                      \
  " %k1 = stablehlo.transpose %k0, dims = [1, 2, 0, 3] : (tensor<16x3x2x8xbf16>) -> tensor<3x2x16x8xbf16>\n"           \
  " %v0 = stablehlo.reshape %v : (tensor<48x16xbf16>) -> tensor<16x3x2x8xbf16>\n"                                      \
  " %v1 = stablehlo.transpose %v0, dims = [1, 2, 0, 3] : (tensor<16x3x2x8xbf16>) -> tensor<3x2x16x8xbf16>\n"           \
  " %s = stablehlo.dot_general %q, %k1, batching_dims = [0, 1] x [0, 1], contracting_dims = [4] x [3] : "              \
  "(tensor<3x2x4x16x8xbf16>, tensor<3x2x16x8xbf16>) -> tensor<3x2x4x16x16xf32>\n"                                      \
  " %e = stablehlo.exponential %s : tensor<3x2x4x16x16xf32>\n"                                                         \
  " %c = stablehlo.convert %e : (tensor<3x2x4x16x16xf32>) -> tensor<3x2x4x16x16xbf16>\n"                               \
  " %o = stablehlo.dot_general %c, %v1, batching_dims = [0, 1] x [0, 1], contracting_dims = [4] x [2] : "              \
  "(tensor<3x2x4x16x16xbf16>, tensor<3x2x16x8xbf16>) -> tensor<3x2x4x16x8xbf16>\n"                                     \
  " %t = stablehlo.transpose %o, dims = [3, 0, 1, 2, 4] : (tensor<3x2x4x16x8xbf16>) -> tensor<16x3x2x4x8xbf16>\n"      \
  " %y = stablehlo.reshape %t : (tensor<16x3x2x4x8xbf16>) -> tensor<48x64xbf16>\n return %y : tensor<48x64xbf16> }\n"  \
  "func.func @main(%x: tensor<48x64xbf16>, %k: tensor<48x16xbf16>, %v: tensor<48x16xbf16>) -> tensor<48x64xbf16> {\n"
#define CALL(name, attributes)                                                                                         \
  " %y = stablehlo.composite \"" name "\" %x, %k, %v {" attributes "decomposition = @f} : (tensor<48x64xbf16>, "       \
  "tensor<48x16xbf16>, tensor<48x16xbf16>) -> tensor<48x64xbf16>\n return %y : tensor<48x64xbf16> }"
#define CAUSAL "composite_attributes = {causal = true}, "

enum { SEQUENCES = 3, HEADS = 8, POSITIONS = 16, DEPTH = 8 };

static void check_attention(const char *text, uint64_t pairs, uint64_t products) {
  struct lowered l;
  lowered_from(&l, text);
  const struct work_task *task = only_task(&l);
  assert_int_equal(task->kind, WORK_ATTENTION);
  /* queries, keys, values and the result: no scores */
  assert_int_equal(task->read_bytes, (48 * 64 + 2 * 48 * 16) * 2);
  assert_int_equal(task->write_bytes, 48 * 64 * 2);
  assert_int_equal(task_ops(l.graph, task, WORK_ENGINE_MATRIX), 2 * products * SEQUENCES * HEADS * pairs * DEPTH);
  assert_int_equal(task_ops(l.graph, task, WORK_ENGINE_FUNCTION), SEQUENCES * HEADS * pairs);
  static const int64_t extents[] = {SEQUENCES, 2, 4, POSITIONS, POSITIONS, DEPTH};
  const struct work_stage *scores = &l.graph->stages.data[task->stage_first];
  assert_int_equal(scores->axis_count, 6);
  for (uint32_t i = 0; i < 6; i++) {
    assert_int_equal(l.graph->axes.data[scores->axis_first + i].extent, extents[i]);
  }
  lowered_release(&l);
}

static void test_flash_attention(void **state) {
  (void)state;
  const uint64_t all = POSITIONS * POSITIONS, half = POSITIONS * (POSITIONS + 1) / 2;
  check_attention(PACKED CALL("kernel.flash_attention", ""), all, 2);
  check_attention(PACKED CALL("kernel.flash_attention", CAUSAL), half, 2);
  check_attention(PACKED CALL("kernel.flash_attention", "composite_attributes = {causal = false}, "), all, 2);
  check_attention(PACKED CALL("kernel.flash_attention_backward", CAUSAL), half, 5);
}

/* The last 4 of 16 positions see the ones before them; parts of a sequence at given positions see half on average. */
static void test_fewer_queries(void **state) {
  (void)state;
#define PART(sites, types)                                                                                             \
  "func.func private @f(%q: tensor<2x4x8xf16>, %k: tensor<2x16x8xf16>" sites ") -> tensor<2x4x8xf16> {\n"              \
  " %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : "                     \
  "(tensor<2x4x8xf16>, tensor<2x16x8xf16>) -> tensor<2x4x16xf16>\n"                                                    \
  " %o = stablehlo.dot_general %s, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "                     \
  "(tensor<2x4x16xf16>, tensor<2x16x8xf16>) -> tensor<2x4x8xf16>\n return %o : tensor<2x4x8xf16> }\n"                  \
  "func.func @main(%q: tensor<2x4x8xf16>, %k: tensor<2x16x8xf16>" sites ") -> tensor<2x4x8xf16> {\n"                   \
  " %y = stablehlo.composite \"kernel.flash_attention\" %q, %k" types
  struct lowered l;
  lowered_from(&l, PART("", " {" CAUSAL "decomposition = @f} : (tensor<2x4x8xf16>, tensor<2x16x8xf16>) -> "
                            "tensor<2x4x8xf16>\n return %y : tensor<2x4x8xf16> }"));
  assert_int_equal(l.total.ops[WORK_ENGINE_MATRIX], 2 * 2 * 2 * (13 + 14 + 15 + 16) * 8);
  lowered_release(&l);
  lowered_from(&l, PART(", %p: tensor<4xi32>", ", %p {" CAUSAL "decomposition = @f} : (tensor<2x4x8xf16>, "
                                               "tensor<2x16x8xf16>, tensor<4xi32>) -> tensor<2x4x8xf16>\n"
                                               " return %y : tensor<2x4x8xf16> }"));
  assert_int_equal(l.total.ops[WORK_ENGINE_MATRIX], 2 * 2 * 2 * (4 * 17 / 2) * 8);
  lowered_release(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_kernel),
      cmocka_unit_test(test_other_composites),
      cmocka_unit_test(test_flash_attention),
      cmocka_unit_test(test_fewer_queries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
