/* Which function of a program is taken, what is said about that, and sizes that do not fit the program's own arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"

struct loaded {
  struct diag_list diags;
  struct program *program;
  enum status status;
};

static void load(struct loaded *loaded, const char *text, const char *entry, const char *bind) {
  struct program_options options = {.entry = entry, .binds = &bind, .bind_count = bind ? 1 : 0};
  diag_init(&loaded->diags);
  loaded->program = NULL;
  loaded->status = program_parse("test.mlir", text, strlen(text), &options, &loaded->diags, &loaded->program);
}

static void release(struct loaded *loaded) {
  program_free(loaded->program);
  diag_release(&loaded->diags);
}

static const char *message_of(const struct loaded *loaded, enum diag_id id) {
  for (size_t i = 0; i < loaded->diags.entries.count; i++) {
    if (loaded->diags.entries.data[i].id == id) {
      return loaded->diags.entries.data[i].message;
    }
  }
  return NULL;
}

#define FUNCTION(head) "func.func " head "(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }\n"

static void check_note(const char *text, const char *entry, const char *note) {
  struct loaded loaded;
  load(&loaded, text, entry, NULL);
  assert_int_equal(loaded.status, STATUS_OK);
  const char *message = message_of(&loaded, DIAG_W0212_ENTRY);
  if (note) {
    assert_non_null(message);
    assert_string_equal(message, note);
  } else {
    assert_null(message);
  }
  release(&loaded);
}

static void test_a_choice_is_told(void **state) {
  (void)state;
  check_note(FUNCTION("@f") FUNCTION("@g"), NULL, "entry is '@f', the first of 2 functions; --entry NAME chooses");
  check_note(FUNCTION("@f") FUNCTION("@g"), "g", NULL);
  check_note(FUNCTION("@f") FUNCTION("@main"), NULL, NULL);
  check_note(FUNCTION("private @f") FUNCTION("@g"), NULL, NULL);
  check_note(FUNCTION("@f"), NULL, NULL);
  check_note("module @a {\n" FUNCTION("@main") "}\nmodule @b {\n" FUNCTION("@main") "}\n", NULL,
             "entry is '@main' of the first of 2 modules that have one");
}

static void test_vhlo_is_named(void **state) {
  (void)state;
  struct loaded loaded;
  load(&loaded,
       "module {\n \"foo.header\"() : () -> ()\n module @inner {\n"
       "  \"vhlo.func_v1\"() ({\n  }) : () -> ()\n }\n}\n",
       NULL, NULL);
  assert_int_equal(loaded.status, STATUS_INPUT);
  assert_non_null(strstr(message_of(&loaded, DIAG_E0210_NO_ENTRY), "VHLO"));
  release(&loaded);
}

#define POLYMORPHIC                                                                                                    \
  "func.func @main(%a: tensor<?x8xf32>) -> tensor<?xf32> {\n"                                                          \
  " %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>\n"                                \
  " %c = stablehlo.constant dense<8> : tensor<i32>\n %0 = stablehlo.multiply %n, %c : tensor<i32>\n"                   \
  " %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>\n"                                                      \
  " %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"                                      \
  " return %2 : tensor<?xf32> }\n"

/* 2^31 - 1 is the largest i32: 10^10 rows do not fit, 3 x 10^8 rows do but their eightfold does not. */
static void test_bound_sizes_must_fit_the_arithmetic(void **state) {
  (void)state;
  static const struct {
    const char *bind, *part;
    enum status status;
  } cases[] = {
      {"arg0=32x?", NULL, STATUS_OK},
      {"arg0=268435455x?", NULL, STATUS_OK}, /* times 8: 2^31 - 8 */
      {"arg0=268435456x?", "shape arithmetic", STATUS_INPUT}, /* times 8: 2^31 */
      {"arg0=9999999999999x?", "9999999999999 elements, which does not fit the 32-bit size", STATUS_INPUT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct loaded loaded;
    load(&loaded, POLYMORPHIC, NULL, cases[i].bind);
    assert_int_equal(loaded.status, cases[i].status);
    if (cases[i].part) {
      assert_non_null(message_of(&loaded, DIAG_E0404_OVERFLOW));
      assert_non_null(strstr(message_of(&loaded, DIAG_E0404_OVERFLOW), cases[i].part));
      assert_null(message_of(&loaded, DIAG_E0401_DYNAMIC));
    }
    release(&loaded);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_choice_is_told),
      cmocka_unit_test(test_vhlo_is_named),
      cmocka_unit_test(test_bound_sizes_must_fit_the_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
