/* What aliases may stand for, and small promises of the reader and printer: independence of the locale, alias lines that
 * are not, default options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "locale_fixture.h"
#include "mlir/mlir.h"

/* Parses; on success *printed receives the module (when not NULL). Returns the status; `id` the first message. */
static enum status parse(const char *text, struct strbuf *printed, enum diag_id *id) {
  struct source source = {"limits.mlir", text, strlen(text)};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  enum status status = mlir_parse(&source, NULL, &diags, &module);
  *id = diags.entries.count > 0 ? diags.entries.data[0].id : DIAG_COUNT;
  if (status == STATUS_OK && printed != NULL) {
    mlir_print(module, module->root, NULL, printed);
  }
  ir_module_free(module);
  diag_release(&diags);
  return status;
}

static void expect(struct strbuf *text, enum status status, enum diag_id id) {
  enum diag_id got;
  assert_int_equal(parse(strbuf_text(text), NULL, &got), status);
  assert_int_equal(got, id);
  strbuf_release(text);
}

/* !t0 is a pair of tensors and !tn a pair of !t(n-1): 2^(n+1) leaves. */
static void put_doubling(struct strbuf *text, unsigned levels) {
  strbuf_puts(text, "!t0 = tuple<tensor<f32>, tensor<f32>>\n");
  for (unsigned i = 1; i <= levels; i++) {
    strbuf_printf(text, "!t%u = tuple<!t%u, !t%u>\n", i, i - 1, i - 1);
  }
}

/* 131,072 leaves, about 2.5 MB of text, used 2,000 times: 5 GB. The limit is 64 MiB and 64 bytes per byte. */
static void uses_of_large_aliases_are_counted(void **state) {
  (void)state;
  static const char *const uses[] = {"\"foo.x\"() {a = #foo.bar<!t16, %u>} : () -> ()\n",
                                     "%%%u = \"foo.x\"() : () -> !t16\n", "%%%u = \"foo.x\"() : () -> tensor<4x!t16>\n",
                                     "\"foo.x\"() {a = %u : i32, b = !t16} : () -> ()\n"};
  for (size_t k = 0; k < sizeof uses / sizeof uses[0]; k++) {
    struct strbuf text = {0};
    put_doubling(&text, 16);
    for (unsigned i = 0; i < 2000; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      strbuf_printf(&text, uses[k], i);
#pragma GCC diagnostic pop
    }
    enum diag_id got;
    enum status status = parse(strbuf_text(&text), NULL, &got);
    assert_true(status == STATUS_LIMIT
                || status == STATUS_MEMORY); /* texts of attributes also use up the budget of memory */
    assert_int_equal(got, DIAG_E0005_LIMIT);
    strbuf_release(&text);
  }
}

/* A type of 2^17 leaves used a few times stays within it, and its leaves and bytes are known without a walk. */
static void a_few_uses_are_read(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct diag_list diags;
  struct ir_module *module;
  put_doubling(&text, 16);
  strbuf_puts(&text, "%0 = \"foo.x\"() : () -> !t16\n");
  struct source source = {"limits.mlir", strbuf_text(&text), text.length};
  diag_init(&diags);
  assert_int_equal(mlir_parse(&source, NULL, &diags, &module), STATUS_OK);
  struct ir_type type = ir_value_type(module, (struct ir_value){1});
  assert_int_equal(ir_type_leaf_count(module, type), 1 << 17);
  assert_int_equal(ir_type_size_bytes(module, type), 4 << 17);
  ir_module_free(module);
  diag_release(&diags);
  strbuf_release(&text);
}

/* Each alias one level deeper than the one before: 1,000 levels of types or attributes, where 256 may be. */
static void nesting_counts_through_aliases(void **state) {
  (void)state;
  static const char *const chains[][2] = {{"!t0 = tensor<f32>\n", "!t%u = tuple<!t%u>\n"},
                                          {"#t0 = 1 : i32\n", "#t%u = [#t%u]\n"},
                                          {"#t0 = 1 : i32\n", "#t%u = {a = #t%u}\n"},
                                          {"!t0 = tuple<tensor<f32>>\n", "!t%u = tuple<tensor<1x!t%u>>\n"}};
  for (size_t k = 0; k < sizeof chains / sizeof chains[0]; k++) {
    for (unsigned levels = 100; levels <= 1000; levels += 900) {
      struct strbuf text = {0};
      strbuf_puts(&text, chains[k][0]);
      for (unsigned i = 1; i <= levels; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        strbuf_printf(&text, chains[k][1], i, i - 1);
#pragma GCC diagnostic pop
      }
      strbuf_puts(&text, "module {}\n");
      expect(&text, levels == 100 ? STATUS_OK : STATUS_LIMIT, levels == 100 ? DIAG_COUNT : DIAG_E0005_LIMIT);
    }
  }
}

/* "#x = " inside a string or comment is text, not a definition: it must not shadow the real one. A string ends in its
 * line, as in MLIR. */
static void strings_define_nothing(void **state) {
  (void)state;
  enum diag_id id;
  struct strbuf printed = {0};
  assert_int_equal(
      parse("module attributes {a = #x, s = \" #x = 2 : i32 \"} {} // \" no string #x = 3 : i32\n#x = 1 : i32\n",
            &printed, &id),
      STATUS_OK);
  assert_non_null(strstr(strbuf_text(&printed), "a = 1 : i32"));
  strbuf_release(&printed);
  assert_int_equal(parse("module attributes {s = \"begin\nend\"} {}\n", NULL, &id), STATUS_INPUT);
  assert_int_equal(id, DIAG_E0103_EOF);
}

/* A definition whose text ends in a lone 'l' is no location. */
static void a_lone_letter_is_no_location(void **state) {
  (void)state;
  enum diag_id id;
  assert_int_equal(parse("module {}\n#x = l", NULL, &id), STATUS_INPUT);
  assert_true(id == DIAG_E0102_EXPECTED || id == DIAG_E0103_EOF);
}

static void no_options_are_the_default_ones(void **state) {
  (void)state;
  static const char text[] = "%0 = stablehlo.constant dense<1> : tensor<i32>";
  struct source source = {"limits.mlir", text, strlen(text)};
  struct mlir_print_options options = {0};
  struct diag_list diags;
  struct ir_module *module;
  struct strbuf expected = {0}, found = {0};
  diag_init(&diags);
  assert_int_equal(mlir_parse(&source, NULL, &diags, &module), STATUS_OK);
  mlir_print(module, module->root, &options, &expected);
  mlir_print(module, module->root, NULL, &found);
  assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
  strbuf_release(&expected);
  strbuf_release(&found);
  ir_module_free(module);
  diag_release(&diags);
}

/* 0.12345678901234567890123 rounds to the double that prints as 0.12345678901234568 (17 digits); 0.1 in scales. */
static void the_locale_does_not_matter(void **state) {
  (void)state;
  enum diag_id id;
  struct strbuf printed = {0};
  if (!comma_locale_enter()) {
    skip();
  }
  enum status status = parse("%0 = stablehlo.constant dense<0.12345678901234567890123> : tensor<f64>\n"
                             "%1 = \"foo.x\"() : () -> tensor<2x!quant.uniform<i8:f32, 0.15625>>\n",
                             &printed, &id);
  comma_locale_leave();
  assert_int_equal(status, STATUS_OK);
  assert_non_null(strstr(strbuf_text(&printed), "dense<0.12345678901234568>"));
  assert_non_null(strstr(strbuf_text(&printed), "!quant.uniform<i8:f32, 1.562500e-01>"));
  strbuf_release(&printed);
}

/* A bound belongs to a dimension that is dynamic: it goes when the dimension is fixed, the others stay. */
static void binding_takes_the_bound_away(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"a=2x?", "tensor<2x?xf32, #stablehlo.bounds<?, 4>>"},
                                        {"a=?x3", "tensor<?x3xf32, #stablehlo.bounds<8, ?>>"},
                                        {"a=2x3", "tensor<2x3xf32>"}};
  static const char text[] =
      "func.func @main(%arg0: tensor<?x?xf32, #stablehlo.bounds<8, 4>> {jax.arg_info = \"a\"}) {\n"
      "  return\n}\n";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct source source = {"limits.mlir", text, strlen(text)};
    struct diag_list diags;
    struct ir_module *module;
    struct strbuf printed = {0};
    diag_init(&diags);
    assert_int_equal(mlir_parse(&source, NULL, &diags, &module), STATUS_OK);
    assert_int_equal(mlir_bind(module, rows[i][0], &diags), STATUS_OK);
    mlir_print(module, module->root, NULL, &printed);
    assert_non_null(strstr(strbuf_text(&printed), rows[i][1]));
    strbuf_release(&printed);
    ir_module_free(module);
    diag_release(&diags);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uses_of_large_aliases_are_counted), cmocka_unit_test(a_few_uses_are_read),
      cmocka_unit_test(nesting_counts_through_aliases),    cmocka_unit_test(strings_define_nothing),
      cmocka_unit_test(a_lone_letter_is_no_location),      cmocka_unit_test(no_options_are_the_default_ones),
      cmocka_unit_test(the_locale_does_not_matter),        cmocka_unit_test(binding_takes_the_bound_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
