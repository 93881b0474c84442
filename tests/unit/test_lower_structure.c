/* What becomes of control flow, calls, storage and messages. */
#include "lower_fixture.h"

static const struct work_task *find(const struct lowered *lowered, const char *label) {
  const struct work_graph *inside;
  return task_find(lowered->graph, label, &inside);
}

static uint64_t count_tasks(const struct work_graph *graph, const char *label) {
  uint64_t count = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    count += strcmp(intern_text(graph->strings, graph->tasks.data[i].label), label) == 0;
  }
  return count;
}

static uint32_t warnings_of(const struct lowered *lowered, enum diag_id id) {
  uint32_t count = 0;
  for (size_t i = 0; i < lowered->diags.entries.count; i++) {
    count += lowered->diags.entries.data[i].id == id;
  }
  return count;
}

/* ---- calls ---- */

/* @twice calls @once two times: the same values of the IR become different tensors. */
static void test_calls_are_inlined(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered, "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                         " %0 = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                         " %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>\n return %1 : tensor<4xf32> }\n"
                         "func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                         " %0 = call @once(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                         " %1 = call @once(%0) : (tensor<4xf32>) -> tensor<4xf32>\n return %1 : tensor<4xf32> }\n"
                         "func.func private @once(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                         " %0 = stablehlo.add %a, %a : tensor<4xf32>\n return %0 : tensor<4xf32> }");
  assert_int_equal(lowered.graph->tasks.count, 4);
  for (uint32_t i = 1; i < 4; i++) {
    const struct work_task *task = &lowered.graph->tasks.data[i];
    assert_int_equal(task->dependency_count, 1);
    assert_int_equal(lowered.graph->dependencies.data[task->dependency_first], i - 1);
  }
  lowered_release(&lowered);
}

static void test_call_depth_is_bounded(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text,
              "func.func @main(%a: tensor<f32>) -> tensor<f32> { %0 = call @f0(%a) : (tensor<f32>) -> tensor<f32>\n "
              "return %0 : tensor<f32> }\n");
  for (int i = 0; i < 100; i++) {
    strbuf_printf(&text,
                  "func.func private @f%d(%%a: tensor<f32>) -> tensor<f32> { %%0 = call @f%d(%%a) : (tensor<f32>) -> "
                  "tensor<f32>\n return %%0 : tensor<f32> }\n",
                  i, i + 1);
  }
  strbuf_puts(&text, "func.func private @f100(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }\n");
  struct lowered lowered;
  assert_int_equal(lowered_try(&lowered, strbuf_text(&text), text.length), STATUS_LIMIT);
  assert_int_equal(warnings_of(&lowered, DIAG_E0005_LIMIT), 1);
  lowered_release(&lowered);
  strbuf_release(&text);
}

/* 2^40 calls: the budget ends it, not the night. */
static void test_call_explosion_is_bounded(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text,
              "func.func @main(%a: tensor<f32>) -> tensor<f32> { %0 = call @f0(%a) : (tensor<f32>) -> tensor<f32>\n "
              "return %0 : tensor<f32> }\n");
  for (int i = 0; i < 40; i++) {
    strbuf_printf(&text,
                  "func.func private @f%d(%%a: tensor<f32>) -> tensor<f32> { %%0 = call @f%d(%%a) : (tensor<f32>) -> "
                  "tensor<f32>\n %%1 = call @f%d(%%0) : (tensor<f32>) -> tensor<f32>\n return %%1 : tensor<f32> }\n",
                  i, i + 1, i + 1);
  }
  strbuf_puts(&text, "func.func private @f40(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }\n");
  struct lowered lowered;
  memset(&lowered, 0, sizeof lowered);
  lowered.source = (struct source){"test.mlir", strbuf_text(&text), text.length};
  diag_init(&lowered.diags);
  struct mlir_parse_options options = {0};
  assert_int_equal(mlir_parse(&lowered.source, &options, &lowered.diags, &lowered.module), STATUS_OK);
  struct lower_options limits = {.max_tasks = 10000};
  assert_int_equal(lower_module(lowered.module, &limits, &lowered.diags, &lowered.graph), STATUS_LIMIT);
  assert_null(lowered.graph);
  lowered_release(&lowered);
  strbuf_release(&text);
}

static void test_composite(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
               " %0 = stablehlo.composite \"my.gelu\" %a {decomposition = @body} : (tensor<4xf32>) -> tensor<4xf32>\n"
               " return %0 : tensor<4xf32> }\n"
               "func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
               " %0 = stablehlo.tanh %a : tensor<4xf32>\n return %0 : tensor<4xf32> }");
  assert_int_equal(lowered.total.ops[WORK_ENGINE_FUNCTION], 4);
  lowered_release(&lowered);
}

/* The body of a reduction calls a function: max and a product per application, 7 applications. */
static void test_body_calls(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "func.func @main(%a: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {\n"
               " %r = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: "
               "tensor<f32>): %s = func.call @body(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n "
               "stablehlo.return %s : tensor<f32> }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n return %r : "
               "tensor<f32> }\n"
               "func.func private @body(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {\n"
               " %0 = stablehlo.maximum %x, %y : tensor<f32>\n %1 = stablehlo.multiply %0, %0 : tensor<f32>\n"
               " return %1 : tensor<f32> }");
  assert_int_equal(lowered.total.ops[WORK_ENGINE_VECTOR], 14);
  lowered_release(&lowered);
}

/* ---- loops ---- */

#define LOOP_HEAD                                                                                                      \
  " %c = stablehlo.constant dense<0> : tensor<i32>\n %n = stablehlo.constant dense<8> : tensor<i32>\n"                 \
  " %one = stablehlo.constant dense<1> : tensor<i32>\n"
#define LOOP_CONDITION                                                                                                 \
  " cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"                             \
  "  stablehlo.return %p : tensor<i1> }"

/* s += w w^T over 8 iterations: w invariant, n captured, the counter and s carried. */
static void test_while(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(
      &lowered,
      "func.func @main(%w: tensor<4x4xf32>, %s0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {\n" LOOP_HEAD
      " %r:3 = stablehlo.while(%i = %c, %s = %s0, %v = %w) : tensor<i32>, tensor<4x4xf32>, "
      "tensor<4x4xf32>\n" LOOP_CONDITION
      " do { %d = stablehlo.dot_general %v, %v, contracting_dims = [1] x [1] : (tensor<4x4xf32>, "
      "tensor<4x4xf32>) -> tensor<4x4xf32>\n  %t = stablehlo.add %s, %d : tensor<4x4xf32>\n"
      "  %j = stablehlo.add %i, %one : tensor<i32>\n"
      "  stablehlo.return %j, %t, %v : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32> }\n"
      " return %r#1, %r#2 : tensor<4x4xf32>, tensor<4x4xf32> }");
  const struct work_task *loop = find(&lowered, "while");
  assert_int_equal(loop->trip_count, 8);
  assert_int_equal(loop->flags, 0);
  assert_int_equal(lowered.total.ops[WORK_ENGINE_MATRIX], 8 * 2 * 64);
  assert_int_equal(lowered.total.ops[WORK_ENGINE_VECTOR], 8 * 16);
  assert_int_equal(lowered.total.ops[WORK_ENGINE_INTEGER], 8 * 2); /* compare and count */
  const struct work_graph *body = lowered.graph->subgraphs.data[0];
  assert_int_equal(body->carried.count, 2); /* not the invariant */
  assert_int_equal(loop->read_count, 5); /* counter, s, w, then the captured bound and step */
  assert_int_equal(loop->access_count - loop->read_count, 2);
  /* the invariant result is the argument itself, of which the output is a copy */
  const struct work_task *copy = find(&lowered, "copy");
  const struct work_access *border = lowered.graph->accesses.data + copy->access_first;
  assert_int_equal(border[0].tensor, lowered.graph->inputs.data[0]);
  assert_int_equal(border[1].tensor, lowered.graph->outputs.data[1]);
  lowered_release(&lowered);
}

static void test_unknown_trip_count(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "func.func @main(%n: tensor<i32>) -> tensor<i32> {\n"
               " %c = stablehlo.constant dense<0> : tensor<i32>\n %one = stablehlo.constant dense<1> : tensor<i32>\n"
               " %r = stablehlo.while(%i = %c) : tensor<i32>\n" LOOP_CONDITION
               " do { %j = stablehlo.add %i, %one : tensor<i32>\n stablehlo.return %j : tensor<i32> }\n"
               " return %r : tensor<i32> }");
  const struct work_task *loop = find(&lowered, "while");
  assert_int_equal(loop->trip_count, 1);
  assert_true((loop->flags & WORK_TASK_TRIP_UNKNOWN) != 0);
  assert_int_equal(lowered.total.unknown_trip_loops, 1);
  assert_int_equal(warnings_of(&lowered, DIAG_W0403_TRIP_COUNT), 1);
  lowered_release(&lowered);
}

/* A loop that writes rows of a buffer; `init` says what the buffer starts as. */
static void loop_of_updates(struct lowered *lowered, const char *arguments, const char *init) {
  static char text[4096]; /* the module keeps pointing into it */
  const char *const parts[] = {
      "func.func @main(", arguments, ") -> tensor<8x64xf32> {\n" LOOP_HEAD, init,
      " %r:2 = stablehlo.while(%i = %c, %s = %s0) : tensor<i32>, tensor<8x64xf32>\n" LOOP_CONDITION
      " do { %d = stablehlo.dynamic_update_slice %s, %row, %i, %c : (tensor<8x64xf32>, tensor<1x64xf32>, tensor<i32>, "
      "tensor<i32>) -> tensor<8x64xf32>\n %j = stablehlo.add %i, %one : tensor<i32>\n"
      "  stablehlo.return %j, %d : tensor<i32>, tensor<8x64xf32> }\n return %r#1 : tensor<8x64xf32> }"};
  text[0] = '\0';
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    assert_true(strlen(text) + strlen(parts[i]) < sizeof text);
    strcat(text, parts[i]);
  }
  lowered_from(lowered, text);
}

static void test_loop_updates_its_buffer_in_place(void **state) {
  (void)state;
  struct lowered lowered;
  loop_of_updates(&lowered, "%row: tensor<1x64xf32>", "%s0 = stablehlo.constant dense<0.0> : tensor<8x64xf32>\n");
  const struct work_graph *body = lowered.graph->subgraphs.data[0];
  const struct work_graph *inside;
  const struct work_task *update = task_find(body, "dynamic_update_slice", &inside);
  assert_int_equal(update->write_bytes, 64 * 4);
  assert_int_equal(update->read_bytes, 64 * 4 + 8);
  assert_int_equal(count_tasks(lowered.graph, "copy"), 0); /* the zeros die in the loop */
  assert_int_equal(work_tensor_root(body, body->outputs.data[1]), body->inputs.data[1]);
  struct work_memory memory;
  assert_int_equal(work_graph_memory(lowered.graph, &memory), STATUS_OK);
  /* one buffer of 2048 bytes in all, the row, and some scalars */
  assert_in_range(memory.peak_bytes, 2048 + 256, 2048 + 256 + 64);
  lowered_release(&lowered);
}

/* The argument must survive: one copy in front of the loop, none inside. */
static void test_loop_copies_what_it_may_not_overwrite(void **state) {
  (void)state;
  struct lowered lowered;
  loop_of_updates(&lowered, "%row: tensor<1x64xf32>, %s0: tensor<8x64xf32>", "");
  assert_int_equal(count_tasks(lowered.graph, "copy"), 1);
  const struct work_task *copy = find(&lowered, "copy"), *loop = find(&lowered, "while");
  assert_true(copy < loop);
  assert_int_equal(copy->read_bytes, 2048);
  lowered_release(&lowered);
}

/* ---- conditionals ---- */

static void test_if(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(
      &lowered,
      "func.func @main(%p: tensor<i1>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {\n"
      " %r = \"stablehlo.if\"(%p) ({ %0 = stablehlo.tanh %a : tensor<8xf32>\n stablehlo.return %0 : tensor<8xf32> },\n"
      " { %0 = stablehlo.add %a, %b : tensor<8xf32>\n %1 = stablehlo.add %0, %b : tensor<8xf32>\n"
      "   stablehlo.return %1 : tensor<8xf32> }) : (tensor<i1>) -> tensor<8xf32>\n return %r : tensor<8xf32> }");
  const struct work_task *task = find(&lowered, "if");
  assert_int_equal(task->subgraph_count, 2);
  assert_int_equal(task->read_count, 3); /* selector, a, b: both branches take all */
  assert_int_equal(lowered.graph->subgraphs.data[0]->inputs.count, 3);
  assert_int_equal(lowered.total.ops[WORK_ENGINE_VECTOR], 16); /* the second branch has more */
  assert_int_equal(lowered.total.ops[WORK_ENGINE_FUNCTION], 0);
  lowered_release(&lowered);
}

/* ---- fusions that come with the program ---- */

static void test_fusion_is_one_task(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered, "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {\n"
                         " %r = \"mhlo.fusion\"(%a, %b) ({ ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):\n"
                         "  %0 = mhlo.multiply %x, %y : tensor<8xf32>\n  %1 = mhlo.add %0, %x : tensor<8xf32>\n"
                         "  \"mhlo.return\"(%1) : (tensor<8xf32>) -> () }) {fusion_kind = #mhlo<fusion_kind kLoop>} : "
                         "(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>\n return %r : tensor<8xf32> }");
  assert_int_equal(lowered.graph->tasks.count, 1);
  const struct work_task *task = &lowered.graph->tasks.data[0];
  assert_int_equal(task->stage_count, 2);
  assert_true((task->flags & WORK_TASK_PREFUSED) != 0);
  assert_int_equal(task->read_bytes, 64); /* each argument once; the product stays inside */
  assert_int_equal(task->write_bytes, 32);
  assert_int_equal(lowered.total.ops[WORK_ENGINE_VECTOR], 16);
  lowered_release(&lowered);
}

/* ---- storage ---- */

#define UPDATE                                                                                                         \
  " %z = stablehlo.constant dense<0> : tensor<i32>\n"                                                                  \
  " %r = stablehlo.dynamic_update_slice %a, %u, %z : (tensor<100xf32>, tensor<2xf32>, tensor<i32>) -> "                \
  "tensor<100xf32>\n"

static uint64_t update_written(const char *argument, const char *before) {
  struct strbuf text = {0};
  strbuf_puts(&text, "func.func @main(");
  strbuf_puts(&text, argument);
  strbuf_puts(&text, ", %u: tensor<2xf32>) -> tensor<100xf32> {\n");
  strbuf_puts(&text, before);
  strbuf_puts(&text, UPDATE " return %r : tensor<100xf32> }");
  struct lowered lowered;
  lowered_from(&lowered, strbuf_text(&text));
  uint64_t written = find(&lowered, "dynamic_update_slice")->write_bytes;
  lowered_release(&lowered);
  strbuf_release(&text);
  return written;
}

static void test_update_of_intermediate(void **state) {
  (void)state;
  assert_int_equal(update_written("%x: tensor<100xf32>", "%a = stablehlo.add %x, %x : tensor<100xf32>\n"), 8);
}

static void test_update_of_argument(void **state) {
  (void)state;
  /* must stay as it is: a copy of the whole */
  assert_int_equal(update_written("%a: tensor<100xf32>", ""), 400);
  /* unless it is given away */
  assert_int_equal(update_written("%a: tensor<100xf32> {tf.aliasing_output = 0 : i32}", ""), 8);
  assert_int_equal(update_written("%a: tensor<100xf32> {jax.buffer_donor = true}", ""), 8);
}

static void test_update_with_later_reader(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered,
               "func.func @main(%x: tensor<100xf32>, %u: tensor<2xf32>) -> (tensor<100xf32>, tensor<100xf32>) {\n"
               " %a = stablehlo.add %x, %x : tensor<100xf32>\n" UPDATE
               " %s = stablehlo.tanh %a : tensor<100xf32>\n return %r, %s : tensor<100xf32>, tensor<100xf32> }");
  assert_int_equal(find(&lowered, "dynamic_update_slice")->write_bytes, 400);
  lowered_release(&lowered);
}

static void test_scatter(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<100x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<100x4xf32> {\n"
      " %a = stablehlo.tanh %x : tensor<100x4xf32>\n"
      " %r = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = "
      "[1], "
      "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%p: "
      "tensor<f32>, %q: "
      "tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32>\n stablehlo.return %s : tensor<f32> }) : "
      "(tensor<100x4xf32>, "
      "tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<100x4xf32>\n return %r : tensor<100x4xf32> }";
  struct lowered lowered;
  lowered_from(&lowered, text);
  const struct work_task *task = find(&lowered, "scatter");
  assert_int_equal(task_ops(lowered.graph, task, WORK_ENGINE_VECTOR), 12);
  assert_int_equal(task->write_bytes, 48);
  assert_int_equal(task->read_bytes, 48 + 12 + 48); /* the rows that are added to, indices, updates */
  lowered_release(&lowered);
}

/* p' = p - g takes the storage of p: three tensors of 400 bytes in all, no fourth. */
static void test_donation(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered, "func.func @main(%p: tensor<100xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<100xf32>) -> "
                         "tensor<100xf32> {\n %h = stablehlo.tanh %g : tensor<100xf32>\n"
                         " %r = stablehlo.subtract %p, %h : tensor<100xf32>\n return %r : tensor<100xf32> }");
  assert_int_equal(work_tensor_root(lowered.graph, lowered.graph->outputs.data[0]), lowered.graph->inputs.data[0]);
  struct work_memory memory;
  assert_int_equal(work_graph_memory(lowered.graph, &memory), STATUS_OK);
  assert_int_equal(memory.peak_bytes, 1200);
  lowered_release(&lowered);
}

/* ---- names for the same data, constants ---- */

static void test_tuples_and_barriers(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(
      &lowered,
      "func.func @main(%a: tensor<4xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {\n"
      " %t = stablehlo.tuple %a, %b : tuple<tensor<4xf32>, tensor<8xf32>>\n"
      " %u = stablehlo.tuple %a, %t : tuple<tensor<4xf32>, tuple<tensor<4xf32>, tensor<8xf32>>>\n"
      " %v = stablehlo.get_tuple_element %u[1] : (tuple<tensor<4xf32>, tuple<tensor<4xf32>, tensor<8xf32>>>) -> "
      "tuple<tensor<4xf32>, tensor<8xf32>>\n"
      " %w = stablehlo.get_tuple_element %v[1] : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<8xf32>\n"
      " %x = stablehlo.optimization_barrier %w : tensor<8xf32>\n"
      " %r = stablehlo.tanh %x : tensor<8xf32>\n return %r : tensor<8xf32> }");
  assert_int_equal(lowered.total.launches, 1);
  const struct work_task *task = find(&lowered, "tanh");
  uint32_t read = lowered.graph->accesses.data[task->access_first].tensor;
  assert_int_equal(work_tensor_root(lowered.graph, read), lowered.graph->inputs.data[1]);
  lowered_release(&lowered);
}

/* JAX converts weak types to the type they have: no task, no operation; the add is 4 operations on 3 arrays, of
 * which two are the same: 16 bytes read, 16 written. */
static void test_conversion_to_the_same_type(void **state) {
  (void)state;
  struct lowered l;
  lowered_from(&l, "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                   "  %0 = stablehlo.convert %x : tensor<4xf32>\n"
                   "  %1 = stablehlo.add %0, %x : tensor<4xf32>\n"
                   "  return %1 : tensor<4xf32>\n}\n");
  assert_int_equal(l.total.launches, 1);
  assert_int_equal(l.total.ops[WORK_ENGINE_VECTOR], 4);
  assert_int_equal(l.total.read_bytes + l.total.write_bytes, 32);
  lowered_release(&l);
}

static void test_constants(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered, "func.func @main() -> tensor<4xf32> {\n %a = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
                         " %b = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
                         " %r = stablehlo.add %a, %b : tensor<4xf32>\n return %r : tensor<4xf32> }");
  struct work_memory memory;
  assert_int_equal(work_graph_memory(lowered.graph, &memory), STATUS_OK);
  assert_int_equal(memory.constant_bytes, 16 + 4); /* the splat is a scalar and a broadcast */
  assert_int_equal(lowered.graph->tasks.count, 2);
  lowered_release(&lowered);
}

/* ---- other devices ---- */

static struct work_collective collective_of(const char *result, const char *op) {
  char text[2048];
  snprintf(text, sizeof text,
           "module attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 2 : i32} {\n"
           "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n"
           "func.func @main(%%a: tensor<8xf32>) -> %s { %s\n return %%r : %s } }",
           result, op, result);
  struct lowered lowered;
  lowered_from(&lowered, text);
  struct work_collective collective = lowered.graph->collectives.data[0];
  assert_int_equal(lowered.total.collectives, 1);
  lowered_release(&lowered);
  return collective;
}

#define ALL_REDUCE(groups)                                                                                             \
  "%r = \"stablehlo.all_reduce\"(%a) <{replica_groups = " groups "}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"     \
  " %s = stablehlo.add %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32> }) : (tensor<8xf32>) -> "              \
  "tensor<8xf32>"

static void test_collectives(void **state) {
  (void)state;
  struct work_collective c = collective_of("tensor<8xf32>", ALL_REDUCE("dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"));
  assert_int_equal(c.kind, WORK_ALL_REDUCE);
  assert_int_equal(c.group_count, 4); /* two groups of replicas in each of two partitions */
  assert_int_equal(c.group_size, 2);
  assert_int_equal(c.bytes_per_rank, 32);
  c = collective_of("tensor<8xf32>",
                    ALL_REDUCE("dense<[[0, -1, -1], [2, 3, 1]]> : tensor<2x3xi64>")); /* ragged, filled up with -1 */
  assert_int_equal(c.group_size, 3);
  c = collective_of("tensor<8xf32>", ALL_REDUCE("dense<> : tensor<0x0xi64>")); /* all replicas, in each partition */
  assert_int_equal(c.group_count, 2);
  assert_int_equal(c.group_size, 4);
  c = collective_of("tensor<8xf32>",
                    ALL_REDUCE("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "
                               "\"y\">]>"));
  assert_int_equal(c.group_size, 4);
  assert_int_equal(c.group_count, 2);
  c = collective_of(
      "tensor<32xf32>",
      "%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : "
      "tensor<1x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>");
  assert_int_equal(c.kind, WORK_ALL_GATHER);
  assert_int_equal(c.bytes_per_rank, 128); /* the larger side */
  c = collective_of(
      "tensor<8xf32>",
      "%r = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : "
      "tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>");
  assert_int_equal(c.kind, WORK_PERMUTE);
  assert_int_equal(c.group_count, 6); /* pairs, in each of two partitions */
  assert_int_equal(c.group_size, 2);
}

/* ---- messages ---- */

static void test_opaque_calls_are_listed_once(void **state) {
  (void)state;
  struct lowered lowered;
  lowered_from(&lowered, "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                         " %0 = stablehlo.custom_call @mystery(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                         " %1 = stablehlo.custom_call @mystery(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
                         " return %1 : tensor<4xf32> }");
  assert_int_equal(warnings_of(&lowered, DIAG_W0402_OPAQUE), 1);
  assert_non_null(strstr(lowered.diags.entries.data[0].message, "'mystery'"));
  assert_non_null(strstr(lowered.diags.entries.data[0].message, "2 occurrences"));
  assert_int_equal(lowered.diags.entries.data[0].line, 2);
  assert_int_equal(lowered.total.opaque_tasks, 2);
  assert_int_equal(lowered.total.read_bytes, 0); /* in no sum */
  assert_int_equal(find(&lowered, "mystery")->read_bytes, 16);
  lowered_release(&lowered);
}

static void test_dynamic_dimensions_are_refused(void **state) {
  (void)state;
  static const char text[] = "func.func @main(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
                             " %0 = stablehlo.tanh %a : tensor<?x4xf32>\n %1 = stablehlo.tanh %0 : tensor<?x4xf32>\n"
                             " return %1 : tensor<?x4xf32> }";
  struct lowered lowered;
  assert_int_equal(lowered_try(&lowered, text, strlen(text)), STATUS_INPUT);
  assert_int_equal(warnings_of(&lowered, DIAG_E0401_DYNAMIC), 1); /* where it begins, not what follows */
  assert_non_null(strstr(lowered.diags.entries.data[0].message, "argument 0"));
  assert_null(lowered.graph);
  lowered_release(&lowered);
}

static void test_huge_tensors_are_refused(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%a: tensor<9000000000000000000x9000000000000000000xf32>) -> () { return }";
  struct lowered lowered;
  assert_int_equal(lowered_try(&lowered, text, strlen(text)), STATUS_INPUT);
  assert_int_equal(warnings_of(&lowered, DIAG_E0404_OVERFLOW), 1);
  lowered_release(&lowered);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calls_are_inlined),
      cmocka_unit_test(test_call_depth_is_bounded),
      cmocka_unit_test(test_call_explosion_is_bounded),
      cmocka_unit_test(test_composite),
      cmocka_unit_test(test_body_calls),
      cmocka_unit_test(test_while),
      cmocka_unit_test(test_unknown_trip_count),
      cmocka_unit_test(test_loop_updates_its_buffer_in_place),
      cmocka_unit_test(test_loop_copies_what_it_may_not_overwrite),
      cmocka_unit_test(test_if),
      cmocka_unit_test(test_fusion_is_one_task),
      cmocka_unit_test(test_update_of_intermediate),
      cmocka_unit_test(test_update_of_argument),
      cmocka_unit_test(test_update_with_later_reader),
      cmocka_unit_test(test_scatter),
      cmocka_unit_test(test_donation),
      cmocka_unit_test(test_tuples_and_barriers),
      cmocka_unit_test(test_conversion_to_the_same_type),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_collectives),
      cmocka_unit_test(test_opaque_calls_are_listed_once),
      cmocka_unit_test(test_dynamic_dimensions_are_refused),
      cmocka_unit_test(test_huge_tensors_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
