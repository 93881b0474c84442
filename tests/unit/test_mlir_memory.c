/* Exhausted memory: each allocation of parsing and printing a small program fails once. It must end with STATUS_MEMORY (or,
 * where a smaller buffer does as well, with the same text as without the failure), and leave nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exhausted_memory.h"
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

static enum status parse_and_print(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct mlir_parse_options options = {.keep_locations = true};
  struct mlir_print_options generic = {.form = MLIR_GENERIC, .locations = true};
  struct ir_module *module;
  enum status status = mlir_parse(input, &options, diags, &module);
  if (status == STATUS_OK) {
    mlir_print(module, module->root, NULL, text);
    mlir_print(module, module->root, &generic, text);
  }
  ir_module_free(module);
  return status;
}

/* Binding changes types in place: a module of its own each time. */
static enum status parse_and_bind(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct ir_module *module;
  enum status status = mlir_parse(input, NULL, diags, &module);
  status = status == STATUS_OK ? mlir_bind(module, "n=32x?", diags) : status;
  if (status == STATUS_OK) {
    mlir_print(module, module->root, NULL, text);
  }
  ir_module_free(module);
  return status;
}

static void parser_and_printers(void **state) {
  (void)state;
  const struct source source = {"memory.mlir", program, strlen(program)};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(parse_and_print, &source, &text), STATUS_OK);
  strbuf_release(&text);
  exhausted_check("program", parse_and_print, &source, 100);
}

static void binding(void **state) {
  (void)state;
  static const char dynamic[] = "func.func @main(%a: tensor<?x?xf32> {jax.arg_info = \"n\"}) -> tensor<?x?xf32> {\n"
                                "  return %a : tensor<?x?xf32>\n}\n";
  const struct source source = {"dynamic.mlir", dynamic, strlen(dynamic)};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(parse_and_bind, &source, &text), STATUS_OK);
  assert_non_null(strstr(strbuf_text(&text), "%arg0: tensor<32x?xf32>"));
  strbuf_release(&text);
  exhausted_check("dynamic", parse_and_bind, &source, 10);
}

/* Errors need memory as well; what they say need not be complete. */
static void errors(void **state) {
  (void)state;
  static const char wrong[] = "func.func @f() {\n  %0 = \"foo.x\"(%1, %2) : (i1, i1) -> tensor<4x>\n  %0 = foo.bar\n"
                              "  %c = stablehlo.constant dense<\"0x0\"> : tensor<1xf32>\n}\n#a = #b\n#b = #a\n";
  const struct source source = {"wrong.mlir", wrong, strlen(wrong)};
  exhausted_check("wrong", parse_and_print, &source, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parser_and_printers),
      cmocka_unit_test(binding),
      cmocka_unit_test(errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
