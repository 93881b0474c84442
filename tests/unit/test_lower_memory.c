/* Exhausted memory in programs for several devices: groups of every kind, kernels, and the rewrites of collectives. Each
 * allocation fails once. */
#include "lower_fixture.h"

#include "exhausted_memory.h"

#define CHANNEL "channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>, use_global_device_ids"
#define GATHER(result, operand, groups)                                                                                \
  result " = \"stablehlo.all_gather\"(" operand ") <{all_gather_dim = 0 : i64, replica_groups = " groups ", " CHANNEL  \
         "}> : (tensor<8xf32>) -> tensor<32xf32>\n"

static const char program[] =
    "module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 8 : i32} {\n"
    "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>\n"
    "func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
    " %a = stablehlo.tanh %x : tensor<8xf32>\n %b = stablehlo.tanh %a : tensor<8xf32>\n return %b : tensor<8xf32> }\n"
    "func.func private @flash(%q: tensor<2x4x8xf16>) -> tensor<2x4x8xf16> {\n"
    " %s = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [2] x [2] : "
    "(tensor<2x4x8xf16>, tensor<2x4x8xf16>) -> tensor<2x4x4xf16>\n"
    " %o = stablehlo.dot_general %s, %q, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
    "(tensor<2x4x4xf16>, tensor<2x4x8xf16>) -> tensor<2x4x8xf16>\n return %o : tensor<2x4x8xf16> }\n"
    "func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<16x4xf32>, %q: tensor<2x4x8xf16>) -> "
    "(tensor<32xf32>, tensor<32xf32>, tensor<2x4xf32>, tensor<2x4x8xf16>, tensor<8xf32>) {\n"
    " %k = stablehlo.composite \"kernel.twice\" %a {decomposition = @twice} : (tensor<8xf32>) -> tensor<8xf32>\n"
    " %f = stablehlo.composite \"kernel.flash_attention\" %q {decomposition = @flash} : (tensor<2x4x8xf16>) -> "
    "tensor<2x4x8xf16>\n" GATHER(
        "%g", "%k", "#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = \"y\">]>")
        GATHER(
            "%h", "%b",
            "dense<[[7, 6, 5, 4], [3, 2, 1, 0]]> : tensor<2x4xi64>") " %zero = stablehlo.constant dense<0> : "
                                                                     "tensor<i32>\n %two = stablehlo.constant dense<2> "
                                                                     ": tensor<i32>\n"
                                                                     " %id = stablehlo.partition_id : tensor<ui32>\n "
                                                                     "%n = stablehlo.convert %id : (tensor<ui32>) -> "
                                                                     "tensor<i32>\n"
                                                                     " %at = stablehlo.multiply %n, %two : "
                                                                     "tensor<i32>\n"
                                                                     " %r = \"stablehlo.all_reduce\"(%c) "
                                                                     "<{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, "
                                                                     "7]]> : tensor<1x8xi64>, " CHANNEL
                                                                     "}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n "
                                                                     "%s = stablehlo.add %x, %y : tensor<f32>\n"
                                                                     " stablehlo.return %s : tensor<f32> }) : "
                                                                     "(tensor<16x4xf32>) -> tensor<16x4xf32>\n"
                                                                     " %p = stablehlo.dynamic_slice %r, %at, %zero, "
                                                                     "sizes = [2, 4] : (tensor<16x4xf32>, tensor<i32>, "
                                                                     "tensor<i32>) -> "
                                                                     "tensor<2x4xf32>\n"
                                                                     " %m = \"stablehlo.collective_permute\"(%a) "
                                                                     "<{source_target_pairs = dense<[[0, 1], [1, 0]]> "
                                                                     ": tensor<2x2xi64>, "
                                                                     "channel_handle = "
                                                                     "#stablehlo.channel_handle<handle = 5, type = "
                                                                     "0>}> : (tensor<8xf32>) -> tensor<8xf32>\n"
                                                                     " return %g, %h, %p, %f, %m : tensor<32xf32>, "
                                                                     "tensor<32xf32>, tensor<2x4xf32>, "
                                                                     "tensor<2x4x8xf16>, tensor<8xf32> }\n}";

static enum status rewrite(const void *input, struct diag_list *diags, struct strbuf *text) {
  const struct source *source = input;
  const struct lower_collective_options options = {true, true, true, 0, 0, 0, 0};
  struct mlir_parse_options parse = {0};
  struct lower_collective_report report;
  struct ir_module *module = NULL;
  struct work_graph *graph = NULL, *rewritten = NULL;
  enum status status = mlir_parse(source, &parse, diags, &module);
  status = status == STATUS_OK ? analyze_infer(module, diags) : status;
  status = status == STATUS_OK ? analyze_calls(module, diags) : status;
  status = status == STATUS_OK ? lower_module(module, NULL, diags, &graph) : status;
  status = status == STATUS_OK ? lower_collectives(graph, &options, &report, &rewritten) : status;
  if (status == STATUS_OK) {
    work_graph_print(rewritten, text);
  }
  work_graph_free(rewritten);
  work_graph_free(graph);
  ir_module_free(module);
  return status;
}

static void test_collectives(void **state) {
  (void)state;
  const struct source source = {"memory.mlir", program, strlen(program)};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(rewrite, &source, &text), STATUS_OK);
  assert_non_null(strstr(strbuf_text(&text), "collective reduce_scatter")); /* and the two gathers are one */
  assert_non_null(strstr(strbuf_text(&text), "collective all_gather groups 2 of 4 devices 0 bytes 256"));
  strbuf_release(&text);
  exhausted_check(source.name, rewrite, &source, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_collectives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
