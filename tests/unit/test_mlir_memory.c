/* Exhausted memory: each allocation of parsing and printing a small program fails once. It must end with STATUS_MEMORY (or,
 * where a smaller buffer does as well, with the same text as without the failure), and leave nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "allocation_fixture.h"
#include "mlir/mlir.h"

/* Every kind of thing that the parser keeps: both forms of operations, regions, aliases, locations, resources, opaque
 * texts, strings, dense elements, quantized types, forward uses, successors. */
static const char program[] =
    "#map = #foo.bar<[1, 2], !pair>\n"
    "#loc1 = loc(\"a.py\":1:2)\n"
    "!pair = tuple<tensor<2x!quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>>, tensor<?xf32, #stablehlo.bounds<4>>>\n"
    "module @m attributes {a = [1 : i32, \"x\\41y\", @f::@g, unit, 0.5 : f64], \"b c\" = {d = #map}} {\n"
    "  func.func public @main(%arg0: tensor<4x3xf32> {x.y = true}, %arg1: tensor<3x2xf32>) -> tensor<4x2xf32> {\n"
    "    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST]\n"
    "      : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> loc(callsite(#loc1 at fused<\"m\">[#loc1, "
    "unknown]))\n"
    "    %cst = stablehlo.constant dense<[[1.5, -2.0], [3.0e-3, 4.0]]> : tensor<2x2xf32>\n"
    "    %s = \"foo.strings\"() {v = dense<[\"a\", \"b\"]> : tensor<2x!foo.string>, r = dense_resource<blob> : "
    "tensor<1xi8>}\n"
    "      : () -> complex<bf16>\n"
    "    %s0 = \"foo.forward\"() ({\n"
    "      \"foo.br\"()[^bb2] : () -> ()\n"
    "    ^bb1(%x: i32):\n"
    "      \"foo.end\"(%x, %later) : (i32, f32) -> ()\n"
    "    ^bb2:\n"
    "      %later = \"foo.def\"() : () -> f32\n"
    "      \"foo.br\"(%later)[^bb1] : (f32) -> ()\n"
    "    }) : () -> tensor<4x1xi32>\n"
    "    %1 = \"stablehlo.gather\"(%0, %s0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],\n"
    "      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}>\n"
    "      : (tensor<4x2xf32>, tensor<4x1xi32>) -> tensor<4x2xf32>\n"
    "    %2:2 = stablehlo.while(%i = %s0, %j = %1) : tensor<4x1xi32>, tensor<4x2xf32>\n"
    "    cond {\n"
    "      %p = stablehlo.constant dense<true> : tensor<i1>\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do {\n"
    "      stablehlo.return %i, %j : tensor<4x1xi32>, tensor<4x2xf32>\n"
    "    }\n"
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %3 = stablehlo.reduce(%2#1 init: %z) applies stablehlo.add across dimensions = [0]\n"
    "      : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "    %4 = stablehlo.custom_call @target(%3) {backend_config = \"{}\", mhlo.z = #map}\n"
    "      : (tensor<2xf32>) -> tensor<4x2xf32>\n"
    "    return %4 : tensor<4x2xf32>\n"
    "  }\n"
    "}\n"
    "{-#\n"
    "  dialect_resources: { builtin: { blob: \"0x0400000001\" } }\n"
    "#-}\n";

static enum status run(struct strbuf *pretty, struct strbuf *generic) {
  struct source source = {"memory.mlir", program, strlen(program)};
  struct mlir_parse_options options = {.keep_locations = true};
  struct mlir_print_options as_generic = {.form = MLIR_GENERIC, .locations = true};
  struct diag_list diags;
  struct ir_module *module;
  diag_init(&diags);
  enum status status = mlir_parse(&source, &options, &diags, &module);
  if (status == STATUS_OK) {
    mlir_print(module, module->root, NULL, pretty);
    mlir_print(module, module->root, &as_generic, generic);
  } else if (!allocation.has_failed) {
    print_error("%s\n", diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  ir_module_free(module);
  diag_release(&diags);
  return status;
}

/* Fails allocation n = 1, 2, ... until none is left to fail. */
static void fail_each(bool stays) {
  struct strbuf pretty = {0}, generic = {0};
  assert_int_equal(run(&pretty, &generic), STATUS_OK);
  assert_false(pretty.failed || generic.failed);
  unsigned long n = 0;
  bool has_failed = true;
  for (; has_failed; n++) {
    struct strbuf got_pretty = {0}, got_generic = {0};
    long live = allocation.live;
    allocation_arm(n, stays);
    enum status status = run(&got_pretty, &got_generic);
    has_failed = allocation_disarm();
    bool is_complete = status == STATUS_OK && !got_pretty.failed && !got_generic.failed;
    if (status != STATUS_MEMORY && status != STATUS_OK) {
      fail_msg("allocation %lu: status %d", n, (int)status);
    }
    if (is_complete
        && (strcmp(strbuf_text(&got_pretty), strbuf_text(&pretty)) != 0
            || strcmp(strbuf_text(&got_generic), strbuf_text(&generic)) != 0)) {
      fail_msg("allocation %lu: another text\n%s%s", n, strbuf_text(&got_pretty), strbuf_text(&got_generic));
    }
    strbuf_release(&got_pretty);
    strbuf_release(&got_generic);
    if (allocation.live != live) {
      fail_msg("allocation %lu: %ld blocks left", n, allocation.live - live);
    }
  }
  assert_true(n > 100); /* else the wrapping does not work */
  strbuf_release(&pretty);
  strbuf_release(&generic);
}

static void one_allocation_fails(void **state) {
  (void)state;
  fail_each(false);
}

static void memory_stays_exhausted(void **state) {
  (void)state;
  fail_each(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_allocation_fails),
      cmocka_unit_test(memory_stays_exhausted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
