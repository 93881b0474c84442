/* The table of meanings is complete: every operation of stablehlo and chlo has one, and what of other dialects has none is
 * listed with the reason. Targets of custom calls are named once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "interp/interp_int.h"

static const struct {
  const char *name, *why;
} without_meaning[] = {
    {"stablehlo.return", "a terminator: its operands are the results of the region"},
    {"builtin.module", "holds functions"},
    {"func.func", "is called"},
    {"func.return", "a terminator"},
    {"func.constant", "functions are no values"},
    {"sdy.mesh", "a symbol"},
    {"sdy.return", "a terminator"},
    {"mhlo.minimum_broadcast_shapes", "no exporter emits it: it is made within mhlo's own lowering"},
    {"mhlo.sparse_dot", "no definition of its sparsity that is public"},
};

static const char *reason_of(const char *name) {
  for (size_t i = 0; i < sizeof without_meaning / sizeof *without_meaning; i++) {
    if (strcmp(without_meaning[i].name, name) == 0) {
      return without_meaning[i].why;
    }
  }
  return NULL;
}

static void test_every_operation_has_a_meaning(void **state) {
  (void)state;
  unsigned missing = 0;
  for (int opcode = IR_OP_UNKNOWN + 1; opcode < IR_OP_COUNT; opcode++) {
    const char *name = ir_opcode_info((enum ir_opcode)opcode)->name;
    bool has_meaning = interp_function_of((enum ir_opcode)opcode) != NULL, is_listed = reason_of(name) != NULL;
    if (has_meaning == is_listed) {
      print_error("%s %s\n", name, has_meaning ? "has a meaning, though it is listed" : "has no meaning");
      missing++;
    }
  }
  assert_int_equal(missing, 0);
}

/* Only terminators of stablehlo and chlo are on the list. */
static void test_specification_is_covered(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof without_meaning / sizeof *without_meaning; i++) {
    bool is_specified =
        strncmp(without_meaning[i].name, "stablehlo.", 10) == 0 || strncmp(without_meaning[i].name, "chlo.", 5) == 0;
    assert_true(!is_specified || strcmp(without_meaning[i].name, "stablehlo.return") == 0);
  }
}

static void test_targets_are_named_once(void **state) {
  (void)state;
  static const char *const names[] = {
#define INTERP_TARGET(name, function, operands) name,
#include "interp/interp_lapack.def"
#include "interp/interp_targets.def"
#undef INTERP_TARGET
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(names[i], names[k]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_operation_has_a_meaning),
      cmocka_unit_test(test_specification_is_covered),
      cmocka_unit_test(test_targets_are_named_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
