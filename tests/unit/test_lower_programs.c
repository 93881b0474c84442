/* Whole programs: what is used, what is returned, how far calls may multiply, and programs for several devices. */
#include "lower_fixture.h"

static uint64_t count_tasks(const struct work_graph *graph, const char *label) {
  uint64_t count = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    count += strcmp(intern_text(graph->strings, graph->tasks.data[i].label), label) == 0;
  }
  return count;
}

static const char *message_of(const struct lowered *lowered, enum diag_id id) {
  for (size_t i = 0; i < lowered->diags.entries.count; i++) {
    if (lowered->diags.entries.data[i].id == id) {
      return lowered->diags.entries.data[i].message;
    }
  }
  return "";
}

/* ---- how far calls may multiply ---- */

/* Forty functions call the next one twice: the last one, one addition, runs 2^40 = 1099511627776 times. */
static void test_explosion_is_refused_at_once(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                     " %0 = call @f0(%a) : (tensor<4xf32>) -> tensor<4xf32>\n return %0 : tensor<4xf32> }\n");
  for (int i = 0; i < 40; i++) {
    strbuf_printf(&text,
                  "func.func private @f%d(%%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                  " %%0 = call @f%d(%%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                  " %%1 = call @f%d(%%0) : (tensor<4xf32>) -> tensor<4xf32>\n return %%1 : tensor<4xf32> }\n",
                  i, i + 1, i + 1);
  }
  strbuf_puts(&text, "func.func private @f40(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                     " %0 = stablehlo.add %a, %a : tensor<4xf32>\n return %0 : tensor<4xf32> }\n");
  struct lowered lowered;
  assert_int_equal(lowered_try(&lowered, strbuf_text(&text), text.length), STATUS_LIMIT);
  assert_non_null(
      strstr(message_of(&lowered, DIAG_E0005_LIMIT), "1099511627776 operations once its calls are inlined"));
  assert_null(lowered.graph);
  lowered_release(&lowered);
  strbuf_release(&text);
}

/* The same tree below a result that no one uses is no work at all. */
static void test_unused_explosion_is_nothing(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                     " %0 = call @f0(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                     " %1 = stablehlo.add %a, %a : tensor<4xf32>\n return %1 : tensor<4xf32> }\n");
  for (int i = 0; i < 40; i++) {
    strbuf_printf(&text,
                  "func.func private @f%d(%%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                  " %%0 = call @f%d(%%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                  " %%1 = call @f%d(%%0) : (tensor<4xf32>) -> tensor<4xf32>\n return %%1 : tensor<4xf32> }\n",
                  i, i + 1, i + 1);
  }
  strbuf_puts(&text, "func.func private @f40(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }\n");
  struct lowered lowered;
  lowered_from(&lowered, strbuf_text(&text));
  assert_int_equal(lowered.graph->tasks.count, 1);
  lowered_release(&lowered);
  strbuf_release(&text);
}

/* ---- what is used ---- */

static void test_unused_operations_leave_nothing(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
               " %0 = stablehlo.exponential %a : tensor<8xf32>\n" /* read by the next only */
               " %1 = stablehlo.tanh %0 : tensor<8xf32>\n"
               " %2:2 = call @two(%a, %1) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)\n"
               " stablehlo.custom_call @debug(%2#0) {has_side_effect = true} : (tensor<8xf32>) -> ()\n"
               " %3 = stablehlo.custom_call @unused(%a) : (tensor<8xf32>) -> tensor<8xf32>\n"
               " return %2#0 : tensor<8xf32> }\n"
               "func.func private @two(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {\n"
               " %0 = stablehlo.add %a, %a : tensor<8xf32>\n"
               " %1 = stablehlo.sine %b : tensor<8xf32>\n" /* the caller drops it, so %b is not used either */
               " return %0, %1 : tensor<8xf32>, tensor<8xf32> }");
  assert_int_equal(lowered.graph->tasks.count, 2);
  assert_int_equal(count_tasks(lowered.graph, "add"), 1);
  assert_int_equal(count_tasks(lowered.graph, "debug"), 1);
  lowered_release(&lowered);
}

/* What one call site uses is computed at all of them, but what none uses is not; loops keep what they carry. */
static void test_effects_inside_stay(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "func.func @main(%p: tensor<i1>, %a: tensor<8xf32>) -> tensor<8xf32> {\n"
               " %0 = call @talks(%a) : (tensor<8xf32>) -> tensor<8xf32>\n"
               " %1 = \"stablehlo.if\"(%p) ({\n"
               "  stablehlo.custom_call @debug(%a) {has_side_effect = true} : (tensor<8xf32>) -> ()\n"
               "  stablehlo.return %a : tensor<8xf32>\n }, {\n  stablehlo.return %a : tensor<8xf32>\n"
               " }) : (tensor<i1>) -> tensor<8xf32>\n"
               " %2 = \"stablehlo.if\"(%p) ({\n  stablehlo.return %a : tensor<8xf32>\n }, {\n"
               "  stablehlo.return %a : tensor<8xf32>\n }) : (tensor<i1>) -> tensor<8xf32>\n"
               " %3 = stablehlo.negate %a : tensor<8xf32>\n return %3 : tensor<8xf32> }\n"
               "func.func private @talks(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
               " %0 = \"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n"
               " ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %s = stablehlo.add %x, %y : tensor<f32>\n"
               "  stablehlo.return %s : tensor<f32>\n }) : (tensor<8xf32>) -> tensor<8xf32>\n"
               " %1 = stablehlo.sine %0 : tensor<8xf32>\n return %1 : tensor<8xf32> }");
  assert_int_equal(count_tasks(lowered.graph, "all_reduce"), 1);
  assert_int_equal(count_tasks(lowered.graph, "if"), 1);
  assert_int_equal(count_tasks(lowered.graph, "sine"), 0);
  lowered_release(&lowered);
}

/* The result types are known, so the arithmetic that leads to them has no use. */
static void test_shape_arithmetic_is_no_work(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(
      &lowered,
      "func.func @main(%a: tensor<8x4xf32>, %r: tensor<8xf32>) -> tensor<8x4xf32> {\n"
      " %four = stablehlo.constant dense<4> : tensor<1xi32>\n"
      " %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<8x4xf32>) -> tensor<i32>\n"
      " %ok = stablehlo.compare GE, %n, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      " stablehlo.custom_call @shape_assertion(%ok, %n) {has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()\n"
      " %1 = call @inner(%n, %a, %r) : (tensor<i32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<8x4xf32>\n"
      " return %1 : tensor<8x4xf32> }\n"
      "func.func private @inner(%n: tensor<i32>, %a: tensor<8x4xf32>, %r: tensor<8xf32>) -> tensor<8x4xf32> {\n"
      " %four = stablehlo.constant dense<4> : tensor<1xi32>\n"
      " %0 = stablehlo.add %n, %n : tensor<i32>\n %1 = stablehlo.subtract %0, %n : tensor<i32>\n"
      " %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>\n"
      " %3 = stablehlo.concatenate %2, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
      " %4 = stablehlo.dynamic_broadcast_in_dim %r, %3, dims = [0] : (tensor<8xf32>, tensor<2xi32>) -> "
      "tensor<8x4xf32>\n"
      " %5 = stablehlo.add %a, %4 : tensor<8x4xf32>\n return %5 : tensor<8x4xf32> }");
  assert_int_equal(lowered.graph->tasks.count, 2);
  assert_int_equal(lowered.total.ops[WORK_ENGINE_INTEGER], 0);
  lowered_release(&lowered);
}

/* ---- what is returned ---- */

static void check_memory(const char *text, uint64_t arguments, uint64_t outputs, uint64_t peak, uint64_t copies) {
  struct lowered lowered;
  lowered_from(&lowered, text);
  assert_int_equal(lowered.graph->memory.argument_bytes, arguments);
  assert_int_equal(lowered.graph->memory.output_bytes, outputs);
  assert_int_equal(lowered.graph->memory.peak_bytes, peak);
  assert_int_equal(count_tasks(lowered.graph, "copy"), copies);
  lowered_release(&lowered);
}

/* 256 floats are 1024 bytes. */
static void test_outputs_are_buffers_of_their_own(void **state) {
  (void)state;
  check_memory("func.func @main(%a: tensor<256xf32>) -> tensor<256xf32> { return %a : tensor<256xf32> }", 1024, 1024,
               2048, 1);
  check_memory("func.func @main(%a: tensor<256xf32>) -> tensor<16x16xf32> {\n"
               " %0 = stablehlo.reshape %a : (tensor<256xf32>) -> tensor<16x16xf32>\n return %0 : tensor<16x16xf32> }",
               1024, 1024, 2048, 1);
  check_memory("func.func @main(%a: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {\n"
               " %0 = stablehlo.negate %a : tensor<256xf32>\n return %0, %0 : tensor<256xf32>, tensor<256xf32> }",
               1024, 2048, 3072, 1);
  check_memory("func.func @main(%a: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {\n"
               " %0 = stablehlo.negate %a : tensor<256xf32>\n return %a, %0 : tensor<256xf32>, tensor<256xf32> }",
               1024, 2048, 3072, 1);
  /* a donated argument is its output; returned a second time it is copied */
  check_memory("func.func @main(%a: tensor<256xf32> {tf.aliasing_output = 0 : i32}) -> tensor<256xf32> {\n"
               " return %a : tensor<256xf32> }",
               1024, 1024, 1024, 0);
  check_memory(
      "func.func @main(%a: tensor<256xf32> {jax.buffer_donor = true}) -> (tensor<256xf32>, tensor<256xf32>) {\n"
      " return %a, %a : tensor<256xf32>, tensor<256xf32> }",
      1024, 2048, 2048, 1);
  /* donated to the other output */
  check_memory(
      "func.func @main(%a: tensor<256xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<256xf32>, tensor<256xf32>) "
      "{\n %0 = stablehlo.negate %a : tensor<256xf32>\n return %a, %0 : tensor<256xf32>, tensor<256xf32> }",
      1024, 2048, 3072, 1);
}

/* A chain of sorts needs the argument and one buffer; a branch writes its result where the conditional has it. */
static void test_storage_of_sorts_and_branches(void **state) {
  (void)state;
#define SORT(to, from)                                                                                                 \
  " " to " = \"stablehlo.sort\"(" from ") <{dimension = 0 : i64}> ({\n ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"      \
  "  %l = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"                                   \
  "  stablehlo.return %l : tensor<i1>\n }) : (tensor<256xf32>) -> tensor<256xf32>\n"
  check_memory("func.func @main(%a: tensor<256xf32>) -> tensor<256xf32> {\n" SORT("%0", "%a") SORT("%1", "%0")
                   SORT("%2", "%1") " return %2 : tensor<256xf32> }",
               1024, 1024, 2048, 0);
  check_memory("func.func @main(%p: tensor<1xi8>, %a: tensor<256xf32>) -> tensor<256xf32> {\n"
               " %c = stablehlo.constant dense<0> : tensor<1xi8>\n"
               " %0 = stablehlo.compare EQ, %p, %c : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi1>\n"
               " %1 = stablehlo.reshape %0 : (tensor<1xi1>) -> tensor<i1>\n"
               " %2 = \"stablehlo.if\"(%1) ({\n  %3 = stablehlo.negate %a : tensor<256xf32>\n"
               "  stablehlo.return %3 : tensor<256xf32>\n }, {\n  %3 = stablehlo.sine %a : tensor<256xf32>\n"
               "  stablehlo.return %3 : tensor<256xf32>\n }) : (tensor<i1>) -> tensor<256xf32>\n"
               " return %2 : tensor<256xf32> }",
               1025, 1024, 1025 + 1024 + 1 + 1, 0); /* and the constant and the predicate, a byte each */
}

/* ---- programs for several devices ---- */

static void check_partitions(const char *text, uint32_t partitions, bool is_partitioned) {
  struct lowered lowered;
  lowered_from(&lowered, text);
  assert_int_equal(lowered.graph->partitions, partitions);
  assert_int_equal(lowered.graph->is_partitioned, is_partitioned);
  const char *message = message_of(&lowered, DIAG_W0406_PARTITIONS);
  assert_int_equal(*message != '\0', partitions > 1);
  assert_int_equal(strstr(message, "not yet partitioned") != NULL, partitions > 1 && !is_partitioned);
  lowered_release(&lowered);
}

#define ADD_ITSELF(attributes)                                                                                         \
  "func.func @main(%a: tensor<8xf32>" attributes ") -> tensor<8xf32> {\n"                                              \
  " %0 = stablehlo.add %a, %a : tensor<8xf32>\n return %0 : tensor<8xf32> }\n"

static void test_unpartitioned_programs_are_told(void **state) {
  (void)state;
  check_partitions("module attributes {mhlo.num_partitions = 8 : i32} {\n" ADD_ITSELF("") "}", 8, false);
  check_partitions("module attributes {mhlo.num_partitions = 1 : i32} {\n" ADD_ITSELF("") "}", 0, false);
  check_partitions(ADD_ITSELF(""), 0, false);
  check_partitions(ADD_ITSELF(" {mhlo.sharding = \"{devices=[4,2]<=[8]}\"}"), 8, false);
  check_partitions(ADD_ITSELF(" {mhlo.sharding = \"{replicated}\"}"), 0, false);
  check_partitions("module {\n sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n" ADD_ITSELF(
                       " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}") "}",
                   8, false);
}

/* 64 x 32 floats over 8 devices along the second dimension: 64 x 4 x 4 B = 1024 B each; the result is whole, 64 x 64. */
#define SHARD_MAP                                                                                                      \
  "module attributes {mhlo.num_partitions = 8 : i32} {\n sdy.mesh @mesh = <[\"x\"=8]>\n"                               \
  "func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>) -> tensor<64x64xf32> {\n"                             \
  " %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{}, {\"x\"}]>, <@mesh, [{\"x\"}, {}]>] "                \
  "out_shardings=[<@mesh, [{}, {}]>] manual_axes={\"x\"} (%c: tensor<64x4xf32>, %d: tensor<4x64xf32>) {\n"             \
  "  %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<64x4xf32>, tensor<4x64xf32>) -> "       \
  "tensor<64x64xf32>\n  sdy.return %1 : tensor<64x64xf32>\n"                                                           \
  " } : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>\n return %0 : tensor<64x64xf32> }\n}"

static void test_shards_are_what_lies_in_memory(void **state) {
  (void)state;
  check_partitions(SHARD_MAP, 8, true);
  check_memory(SHARD_MAP, 2 * 1024, 64 * 64 * 4, 2 * 1024 + 64 * 64 * 4, 0);
  /* the older form; the result is sharded too: 8 of 64 floats */
  static const char gspmd[] =
      "module attributes {mhlo.num_partitions = 8 : i32} {\n"
      "func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {\n"
      " %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = \"{devices=[8]<=[8]}\"} : (tensor<64xf32>) -> "
      "tensor<64xf32>\n"
      " %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = \"{manual}\"} : (tensor<64xf32>) -> "
      "tensor<8xf32>\n"
      " %2 = call @body(%1) : (tensor<8xf32>) -> tensor<8xf32>\n"
      " %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = \"{devices=[8]<=[8]}\"} : "
      "(tensor<8xf32>) "
      "-> tensor<64xf32>\n return %3 : tensor<64xf32> }\n"
      "func.func private @body(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
      " %0 = stablehlo.negate %a : tensor<8xf32>\n return %0 : tensor<8xf32> }\n}";
  check_partitions(gspmd, 8, true);
  check_memory(gspmd, 32, 32, 64, 0);
}

/* An argument that something else reads whole stays whole. */
static void test_mixed_use_stays_global(void **state) {
  (void)state;
  check_memory("func.func @main(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<8xf32>) {\n"
               " %0 = stablehlo.negate %a : tensor<64xf32>\n"
               " %1 = stablehlo.custom_call @SPMDFullToShardShape(%a) : (tensor<64xf32>) -> tensor<8xf32>\n"
               " %2 = stablehlo.negate %1 : tensor<8xf32>\n return %0, %2 : tensor<64xf32>, tensor<8xf32> }",
               256, 256 + 32, 2 * 256 + 32, 0);
}

/* Explicit communication: the text is that of one device, nothing in it could be taken for the whole. */
static void test_partitioned_programs_are_not_warned(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "module attributes {mhlo.num_partitions = 4 : i32} {\n"
               "func.func @main(%a: tensor<8xf32>) -> tensor<32xf32> {\n"
               " %0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> "
               ": tensor<1x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>\n return %0 : tensor<32xf32> }\n}");
  assert_int_equal(lowered.graph->partitions, 4);
  assert_true(lowered.graph->is_partitioned);
  assert_string_equal(message_of(&lowered, DIAG_W0406_PARTITIONS), "");
  lowered_release(&lowered);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_explosion_is_refused_at_once),
      cmocka_unit_test(test_unused_explosion_is_nothing),
      cmocka_unit_test(test_unused_operations_leave_nothing),
      cmocka_unit_test(test_effects_inside_stay),
      cmocka_unit_test(test_shape_arithmetic_is_no_work),
      cmocka_unit_test(test_outputs_are_buffers_of_their_own),
      cmocka_unit_test(test_unpartitioned_programs_are_told),
      cmocka_unit_test(test_shards_are_what_lies_in_memory),
      cmocka_unit_test(test_mixed_use_stays_global),
      cmocka_unit_test(test_storage_of_sorts_and_branches),
      cmocka_unit_test(test_partitioned_programs_are_not_warned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
