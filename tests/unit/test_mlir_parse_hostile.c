/* Inputs made to hurt: deep nesting, long tokens, many names, text that doubles itself. Each must end with a diagnostic or a
 * module, soon. The sizes are such that quadratic work would take minutes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "mlir/mlir.h"

static void repeat(struct strbuf *out, const char *text, size_t count) {
  for (size_t i = 0; i < count; i++) {
    strbuf_puts(out, text);
  }
}

/* Parses and releases the text; returns the status and the first diagnostic's id (DIAG_COUNT when there is none). */
static enum status parse(struct strbuf *text, size_t budget, enum diag_id *id) {
  struct source source = {"hostile", strbuf_text(text), text->length};
  struct mlir_parse_options options = {.memory_budget_bytes = budget};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  clock_t start = clock();
  enum status status = mlir_parse(&source, &options, &diags, &module);
  assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20.0);
  *id = diags.entries.count ? diags.entries.data[0].id : DIAG_COUNT;
  assert_true((status == STATUS_OK) == (module != NULL));
  assert_true(status == STATUS_OK || diags.error_count > 0);
  ir_module_free(module);
  diag_release(&diags);
  strbuf_release(text);
  return status;
}

static void expect(struct strbuf *text, enum status status, enum diag_id id) {
  enum diag_id got;
  assert_int_equal(parse(text, 0, &got), status);
  assert_int_equal(got, id);
}

static void ten_thousand_levels(void **state) {
  (void)state;
  static const char *const parts[][3] = {{"module attributes {a = ", "[", "} {}"},
                                         {"module attributes {a = ", "{b = ", "} {}"},
                                         {"module attributes {a = #x.y<", "(", ">} {}"},
                                         {"func.func @f(%a: ", "tuple<", ") {return}"},
                                         {"func.func @f(%a: ", "!x.y<[", ") {return}"},
                                         {"module {} loc(", "callsite(", ")"},
                                         {"", "\"a.b\"() ({", ""}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    struct strbuf text = {0};
    strbuf_puts(&text, parts[i][0]);
    repeat(&text, parts[i][1], 10000);
    strbuf_puts(&text, parts[i][2]);
    expect(&text, STATUS_LIMIT, DIAG_E0005_LIMIT);
  }
}

static void long_tokens(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "func.func @");
  strbuf_fill(&text, 'a', 1000000);
  strbuf_puts(&text, "() {return}");
  expect(&text, STATUS_OK, DIAG_COUNT);
  strbuf_puts(&text, "module attributes {a = ");
  strbuf_fill(&text, '9', 1000000);
  strbuf_puts(&text, "} {}");
  expect(&text, STATUS_INPUT, DIAG_E0111_DENSE);
  strbuf_puts(&text, "module attributes {a = ");
  repeat(&text, "\"\\", 500000);
  expect(&text, STATUS_INPUT, DIAG_E0103_EOF);
  strbuf_puts(&text, "%");
  strbuf_fill(&text, '1', 1000000);
  strbuf_puts(&text, " = \"a.b\"() : () -> i32");
  expect(&text, STATUS_OK, DIAG_COUNT);
}

/* Each alias names the one before twice: 2^60 leaves from 60 lines. */
static void doubling_aliases(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "#a0 = [\"x\"]\n");
  for (int i = 1; i < 60; i++) {
    strbuf_printf(&text, "#a%d = [#a%d, #a%d]\n", i, i - 1, i - 1);
  }
  strbuf_puts(&text, "module attributes {x = #u.v<#a59>} {}");
  expect(&text, STATUS_LIMIT, DIAG_E0005_LIMIT);
}

static void many_names(void **state) {
  (void)state;
  enum { N = 100000 };
  struct strbuf text = {0};
  strbuf_puts(&text, "module attributes {");
  for (unsigned i = 0; i < N; i++) {
    strbuf_printf(&text, "k%u = %u,", i * 7919u % N, i);
  }
  strbuf_puts(&text, "last} {}");
  expect(&text, STATUS_OK, DIAG_COUNT);

  strbuf_puts(&text, "\"a.graph\"() ({\n");
  for (unsigned i = 0; i < N; i++) {
    strbuf_printf(&text, "\"a.b\"(%%x%u) : (i32) -> ()\n", i);
  }
  for (unsigned i = 0; i < N; i++) {
    strbuf_printf(&text, "%%x%u = \"a.c\"() : () -> i32\n", i);
  }
  strbuf_puts(&text, "}) : () -> ()");
  expect(&text, STATUS_OK, DIAG_COUNT);

  strbuf_puts(&text, "\"a.b\"() ({\n");
  for (unsigned i = 0; i < N; i++) {
    strbuf_printf(&text, "^b%u:\n\"a.br\"()[^b%u] : () -> ()\n", i, (N - 1 - i) > 0 ? N - 1 - i : 1);
  }
  strbuf_puts(&text, "}) : () -> ()");
  expect(&text, STATUS_OK, DIAG_COUNT);
}

static void errors_are_bounded(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "func.func @f() {\n");
  repeat(&text, "%0 = stablehlo.nothing\n", 100000);
  strbuf_puts(&text, "}");
  expect(&text, STATUS_INPUT, DIAG_E0109_UNKNOWN_OP);
  strbuf_fill(&text, '{', 1000000);
  expect(&text, STATUS_INPUT, DIAG_E0003_FORMAT);
  strbuf_puts(&text, "module {");
  strbuf_fill(&text, '(', 1000000);
  expect(&text, STATUS_INPUT, DIAG_E0102_EXPECTED);
}

static void huge_shapes(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "%0 = stablehlo.constant dense<1> : tensor<9000000000x9000000000x9000000000xi32>");
  expect(&text, STATUS_OK, DIAG_COUNT); /* a splat needs no room */
  strbuf_puts(&text, "%0 = stablehlo.constant dense<\"0x00\"> : tensor<9000000000x9000000000xi32>");
  expect(&text, STATUS_INPUT, DIAG_E0111_DENSE);
  strbuf_puts(&text, "func.func @f(%a: tensor<");
  repeat(&text, "1x", 100000);
  strbuf_puts(&text, "f32>) {return}");
  expect(&text, STATUS_INPUT, DIAG_E0104_TYPE);
}

static void memory_budget(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "module attributes {a = \"");
  strbuf_fill(&text, 'x', 1000000);
  strbuf_puts(&text, "\"} {}");
  enum diag_id id;
  assert_int_equal(parse(&text, 100000, &id), STATUS_MEMORY);
  assert_int_equal(id, DIAG_E0005_LIMIT);
}

/* Every prefix of a program ends with a diagnostic or is a program. */
static void every_prefix(void **state) {
  (void)state;
  static const char program[] =
      "#l = loc(\"f\":1:2)\n!t = tensor<2xf32>\nmodule @m attributes {a = [1, \"x\\22\"], b = #d.e<{1}>} {\n"
      "  func.func public @f(%a: !t {x.y = 1 : i32}, %b: tensor<2x?xcomplex<f32>>) -> (!t {r}) {\n"
      "    %0 = stablehlo.constant dense<[1.5, 0x7F800000]> : !t loc(#l)\n"
      "    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (!t, tensor<f32>) -> "
      "tensor<f32>\n"
      "    %c = stablehlo.constant dense<\"0x00000000\"> : tensor<f32>\n"
      "    \"a.b\"(%0)[^bb1] <{p}> ({^bb0(%q: i32): \"a.c\"() : () -> ()}) {d} : (!t) -> ()\n"
      "  ^bb1:\n    return %0 : !t\n  }\n}\n{-# dialect_resources: {builtin: {x: \"0x00\"}} #-}\n";
  for (size_t n = 0; n < sizeof program; n++) {
    struct strbuf text = {0};
    enum diag_id id;
    strbuf_add(&text, program, n);
    strbuf_puts(&text, "");
    (void)parse(&text, 0, &id);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ten_thousand_levels), cmocka_unit_test(long_tokens),        cmocka_unit_test(doubling_aliases),
      cmocka_unit_test(many_names),          cmocka_unit_test(errors_are_bounded), cmocka_unit_test(huge_shapes),
      cmocka_unit_test(memory_budget),       cmocka_unit_test(every_prefix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
