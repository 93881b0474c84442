/* Device numbers of collectives: every mode of the StableHLO specification (sections cross_replica to flattened_ids), axes of
 * meshes, pairs, sizes, and messages about groups that cannot be. Expected groups are the specification's definitions
 * worked out by hand; a device is replica x partitions + partition. */
#include "lower_fixture.h"

#define GRID(replicas, partitions)                                                                                     \
  "module attributes {mhlo.num_replicas = " #replicas " : i32, mhlo.num_partitions = " #partitions " : i32} {\n"       \
  "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\nsdy.mesh @turned = <[\"x\"=2, \"y\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, "   \
  "0]>\n"                                                                                                              \
  "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
#define END "\n return %r : tensor<8xf32> }\n}"
#define REDUCE(attributes)                                                                                             \
  "%r = \"stablehlo.all_reduce\"(%a) <{" attributes "}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"                  \
  " %s = stablehlo.add %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32> }) : (tensor<8xf32>) -> tensor<8xf32>"
#define CHANNEL ", channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>"

enum { HOLE = -1 };

static void check_groups(const char *text, uint32_t count, uint32_t size, const int32_t *members) {
  struct lowered l;
  lowered_from(&l, text);
  assert_int_equal(l.total.collectives, 1);
  const struct work_collective *c = &l.graph->collectives.data[0];
  assert_int_equal(c->group_count, count);
  assert_int_equal(c->group_size, size);
  assert_int_not_equal(c->groups, 0);
  const struct work_groups *groups = &l.graph->groups.data[c->groups - 1];
  assert_int_equal(groups->count, count);
  assert_int_equal(groups->size, size);
  assert_int_equal(groups->member_count, count * size);
  for (uint32_t i = 0; i < count * size; i++) {
    assert_int_equal(l.graph->members.data[groups->member_first + i], (uint32_t)members[i]);
  }
  lowered_release(&l);
}

/* Replicas of a group exchange within each partition. */
static void test_cross_replica(void **state) {
  (void)state;
  static const int32_t expected[] = {0, 2, 1, 3, 4, 6, 5, 7};
  check_groups(GRID(4, 2) REDUCE("replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>") END, 4, 2, expected);
  static const int32_t ragged[] = {0, HOLE, HOLE, 1, HOLE, HOLE, 4, 6, 2, 5, 7, 3};
  check_groups(GRID(4, 2) REDUCE("replica_groups = dense<[[0, -1, -1], [2, 3, 1]]> : tensor<2x3xi64>") END, 4, 3,
               ragged);
  static const int32_t all[] = {0, 2, 4, 6, 1, 3, 5, 7};
  check_groups(GRID(4, 2) REDUCE("replica_groups = dense<> : tensor<0x0xi64>") END, 2, 4, all);
}

/* all_reduce with a channel: every partition of the replicas of a row, partition by partition. */
static void test_cross_replica_and_partition(void **state) {
  (void)state;
  static const int32_t expected[] = {0, 2, 1, 3, 4, 6, 5, 7};
  check_groups(GRID(4, 2) REDUCE("replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>" CHANNEL) END, 2, 4,
               expected);
}

static void test_flattened_ids(void **state) {
  (void)state;
  static const int32_t expected[] = {0, 5, 2, 7, 4, 1, 6, 3};
  check_groups(GRID(4, 2) REDUCE("replica_groups = dense<[[0, 5, 2, 7], [4, 1, 6, 3]]> : tensor<2x4xi64>" CHANNEL
                                 ", use_global_device_ids") END,
               2, 4, expected);
}

/* all_to_all with a channel: partitions of a row exchange within each replica. */
static void test_cross_partition(void **state) {
  (void)state;
  static const int32_t expected[] = {0, 3, 4, 7, 1, 2, 5, 6};
  check_groups(
      GRID(2, 4) "%r = \"stablehlo.all_to_all\"(%a) <{concat_dimension = 0 : i64, split_count = 2 : i64, "
                 "split_dimension = 0 : i64, replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>" CHANNEL
                 "}> : (tensor<8xf32>) -> tensor<8xf32>" END,
      4, 2, expected);
}

#define AXES(mesh, axes)                                                                                               \
  REDUCE("replica_groups = #stablehlo.replica_group_mesh_axes<mesh = " mesh ", axes = [" axes "]>" CHANNEL             \
         ", use_global_device_ids")
#define AXIS(name) "#stablehlo.axis_ref<name = \"" name "\">"

/* Devices that differ in the named coordinates only; x is slowest, so device = 4 x + y. */
static void test_mesh_axes(void **state) {
  (void)state;
  static const int32_t by_y[] = {0, 1, 2, 3, 4, 5, 6, 7}, by_x[] = {0, 4, 1, 5, 2, 6, 3, 7};
  check_groups(GRID(1, 8) AXES("@mesh", AXIS("y")) END, 2, 4, by_y);
  check_groups(GRID(1, 8) AXES("@mesh", AXIS("x")) END, 4, 2, by_x);
  static const int32_t y_slowest[] = {0, 4, 1, 5, 2, 6, 3, 7};
  check_groups(GRID(1, 8) AXES("@mesh", AXIS("y") ", " AXIS("x")) END, 1, 8, y_slowest);
  static const int32_t turned[] = {7, 6, 5, 4, 3, 2, 1, 0};
  check_groups(GRID(1, 8) AXES("@turned", AXIS("y")) END, 2, 4, turned);
  static const int32_t major[] = {0, 2, 1, 3, 4, 6, 5, 7}; /* y = 2 x 2: its slow half has steps of 2 */
  check_groups(GRID(1, 8) AXES("@mesh", "#stablehlo.axis_ref<name = \"y\", sub_axis_info = (1)2>") END, 4, 2, major);
  static const int32_t minor[] = {0, 1, 2, 3, 4, 5, 6, 7};
  check_groups(GRID(1, 8) AXES("@mesh", "#stablehlo.axis_ref<name = \"y\", sub_axis_info = (2)2>") END, 4, 2, minor);
  check_groups(GRID(1, 8) AXES("#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 2>, "
                               "#stablehlo.mesh_axis<name = \"y\", size = 4>]>",
                               AXIS("x")) END,
               4, 2, by_x);
}

static void test_sdy_collectives(void **state) {
  (void)state;
  static const int32_t by_y[] = {0, 1, 2, 3, 4, 5, 6, 7}, by_x[] = {0, 4, 1, 5, 2, 6, 3, 7};
  check_groups(GRID(1, 8) "%r = sdy.all_reduce {\"y\"} %a out_sharding=<@mesh, [{}]> : tensor<8xf32>" END, 2, 4, by_y);
  check_groups(GRID(1, 8) "%r = sdy.all_gather [{\"x\"}] %a out_sharding=<@mesh, [{}]> : tensor<8xf32>" END, 4, 2,
               by_x);
}

/* Pairs of source and target: replicas within each partition, with a channel partitions within each replica. */
static void test_permute(void **state) {
  (void)state;
#define PERMUTE(more)                                                                                                  \
  "%r = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>" more   \
  "}> : (tensor<8xf32>) -> tensor<8xf32>"
  static const int32_t replicas[] = {0, 2, 1, 3, 2, 0, 3, 1}, partitions[] = {0, 1, 2, 3, 1, 0, 3, 2};
  check_groups(GRID(2, 2) PERMUTE("") END, 4, 2, replicas);
  check_groups(GRID(2, 2) PERMUTE(CHANNEL) END, 4, 2, partitions);
}

/* A grid that is not stated is as large as the ids need. */
static void test_without_a_grid(void **state) {
  (void)state;
  static const int32_t expected[] = {0, 1, 2, 3};
  check_groups("func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n" REDUCE(
                   "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>") "\n return %r : tensor<8xf32> }",
               2, 2, expected);
}

static void test_sizes(void **state) {
  (void)state;
  struct lowered l;
  lowered_from(
      &l, "module attributes {mhlo.num_partitions = 4 : i32} {\n"
          "func.func @main(%a: tensor<8xf32>, %b: tensor<4xbf16>) -> (tensor<32xf32>, tensor<16xbf16>) {\n"
          "%r:2 = \"stablehlo.all_gather\"(%a, %b) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]>"
          " : tensor<1x4xi64>" CHANNEL ", use_global_device_ids}> : (tensor<8xf32>, tensor<4xbf16>) -> "
          "(tensor<32xf32>, tensor<16xbf16>)\n return %r#0, %r#1 : tensor<32xf32>, tensor<16xbf16> }\n}");
  const struct work_collective *c = &l.graph->collectives.data[0];
  assert_int_equal(c->input_bytes, 8 * 4 + 4 * 2);
  assert_int_equal(c->output_bytes, 4 * (8 * 4 + 4 * 2));
  assert_int_equal(c->bytes_per_rank, c->output_bytes);
  assert_int_equal(c->channel, 5);
  assert_int_equal(c->flags, 0);
  lowered_release(&l);
}

/* ---- started and awaited ---- */

static void test_async(void **state) {
  (void)state;
  struct lowered l;
  lowered_from(
      &l,
      GRID(4, 1) "%f = \"stablehlo.async_start\"(%a) ({\n^bb0(%in: tensor<8xf32>):\n" REDUCE(
          "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>") "\n"
                                                                      " stablehlo.return %r : tensor<8xf32> }) : "
                                                                      "(tensor<8xf32>) -> "
                                                                      "!stablehlo.future<tensor<8xf32>>\n"
                                                                      "%other = stablehlo.tanh %a : tensor<8xf32>\n"
                                                                      "%d = \"stablehlo.async_done\"(%f) : "
                                                                      "(!stablehlo.future<tensor<8xf32>>) -> "
                                                                      "tensor<8xf32>\n"
                                                                      "%q = stablehlo.add %d, %other : tensor<8xf32>\n "
                                                                      "return %q : tensor<8xf32> }\n}");
  assert_int_equal(l.graph->tasks.count, 4);
  const struct work_task *tasks = l.graph->tasks.data;
  assert_int_equal(tasks[0].kind, WORK_COLLECTIVE);
  assert_int_equal(l.graph->collectives.data[0].flags, WORK_COLLECTIVE_ASYNC);
  assert_int_equal(tasks[1].dependency_count, 0); /* tanh runs beside it */
  assert_int_equal(tasks[2].kind, WORK_COLLECTIVE_DONE);
  assert_int_equal(tasks[2].dependency_count, 1);
  assert_int_equal(l.graph->dependencies.data[tasks[2].dependency_first], 0);
  assert_int_equal(tasks[2].read_bytes + tasks[2].write_bytes, 0);
  assert_int_equal(tasks[3].dependency_count, 2); /* the sum waits for the done task, not for the start */
  assert_int_equal(l.graph->dependencies.data[tasks[3].dependency_first], 1);
  assert_int_equal(l.graph->dependencies.data[tasks[3].dependency_first + 1], 2);
  assert_int_equal(l.total.collectives, 1);
  lowered_release(&l);
}

/* ---- messages ---- */

static void check_message(const char *text, enum diag_id id, uint32_t line, const char *part) {
  struct lowered l;
  enum status status = lowered_try(&l, text, strlen(text));
  assert_int_equal(status, id == DIAG_E0408_GROUPS ? STATUS_INPUT : STATUS_OK);
  const struct diag *found = NULL;
  for (size_t i = 0; i < l.diags.entries.count && found == NULL; i++) {
    found = l.diags.entries.data[i].id == id ? &l.diags.entries.data[i] : NULL;
  }
  assert_non_null(found);
  if (strstr(found->message, part) == NULL) {
    fail_msg("'%s' does not say '%s'", found->message, part);
  }
  assert_int_equal(found->line, line);
  lowered_release(&l);
}

static void test_messages(void **state) {
  (void)state;
  check_message(GRID(1, 8) REDUCE("replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>" CHANNEL
                                  ", use_global_device_ids") END,
                DIAG_E0408_GROUPS, 5, "'all_reduce': its groups leave out devices 4 to 7");
  check_message(GRID(2, 2) REDUCE("replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>") END, DIAG_E0408_GROUPS,
                5, "name replica 2, which there is not; the program is for 4 devices (2 replicas x 2 partitions)");
  check_message(GRID(1, 4) "%r = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 9]]> : "
                           "tensor<1x2xi64>" CHANNEL "}> : (tensor<8xf32>) -> tensor<8xf32>" END,
                DIAG_E0408_GROUPS, 5, "'collective_permute': its groups name partition 9, which there is not");
  check_message(GRID(1, 6) AXES("@mesh", AXIS("y")) END, DIAG_E0408_GROUPS, 5, "name device 6, which there is not");
  check_message(GRID(1, 4) REDUCE("replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>") END,
                DIAG_W0409_GROUPS_LOOSE, 5, "taken to name partitions");
  check_message("sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\nfunc.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n" REDUCE(
                    "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>" CHANNEL
                    ", use_global_device_ids") "\n return %r : tensor<8xf32> }",
                DIAG_E0408_GROUPS, 3, "its groups leave out devices 4 to 7; the program is for 8 devices");
  check_message(GRID(4, 1) "%r = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = dense<[[0, 2]]> : "
                           "tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>" END,
                DIAG_W0409_GROUPS_LOOSE, 5, "leave out replicas 1, 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cross_replica), cmocka_unit_test(test_cross_replica_and_partition),
      cmocka_unit_test(test_flattened_ids), cmocka_unit_test(test_cross_partition),
      cmocka_unit_test(test_mesh_axes),     cmocka_unit_test(test_sdy_collectives),
      cmocka_unit_test(test_permute),       cmocka_unit_test(test_without_a_grid),
      cmocka_unit_test(test_sizes),         cmocka_unit_test(test_async),
      cmocka_unit_test(test_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
