/* Programs with bounded dynamic dimensions: counted as large as the bounds, said once; without a bound they are refused. */
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

static void load(struct loaded *loaded, const char *text, const char *bind) {
  struct program_options options = {.binds = &bind, .bind_count = bind ? 1 : 0};
  diag_init(&loaded->diags);
  loaded->program = NULL;
  loaded->status = program_parse("test.mlir", text, strlen(text), &options, &loaded->diags, &loaded->program);
}

static void release(struct loaded *loaded) {
  program_free(loaded->program);
  diag_release(&loaded->diags);
}

static unsigned count_of(const struct loaded *loaded, enum diag_id id) {
  unsigned count = 0;
  for (size_t i = 0; i < loaded->diags.entries.count; i++) {
    count += loaded->diags.entries.data[i].id == id;
  }
  return count;
}

static uint64_t operations_of(const struct loaded *loaded) {
  uint64_t sum = 0;
  for (size_t i = 0; i < WORK_ENGINE_COUNT; i++) {
    sum += loaded->program->total.ops[i];
  }
  return sum;
}

/* The program counts as many FLOP and bytes as its static twin. */
static void expect_twin(const char *text, const char *twin, const char *bind, unsigned warnings) {
  struct loaded bounded, fixed;
  load(&bounded, text, bind);
  load(&fixed, twin, NULL);
  if (bounded.status != STATUS_OK || fixed.status != STATUS_OK) {
    const struct loaded *bad = bounded.status != STATUS_OK ? &bounded : &fixed;
    fail_msg("%s", bad->diags.entries.count > 0 ? bad->diags.entries.data[0].message : "no message");
  }
  assert_int_equal(count_of(&bounded, DIAG_W0407_BOUND), warnings);
  assert_int_equal(count_of(&fixed, DIAG_W0407_BOUND), 0);
  assert_true(operations_of(&fixed) > 0);
  assert_true(operations_of(&bounded) == operations_of(&fixed));
  assert_true(bounded.program->total.read_bytes == fixed.program->total.read_bytes);
  assert_true(bounded.program->total.write_bytes == fixed.program->total.write_bytes);
  release(&bounded);
  release(&fixed);
}

#define PRODUCT(in, out)                                                                                               \
  "func.func @main(%x: " in ", %w: tensor<16x8xf32>) -> " out " {\n"                                                   \
  "  %0 = stablehlo.multiply %x, %x : " in "\n"                                                                        \
  "  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (" in ", tensor<16x8xf32>) -> " out "\n"        \
  "  return %1 : " out "\n}\n"

static void test_sizes_are_the_bounds(void **state) {
  (void)state;
  static const char bounded[] =
      PRODUCT("tensor<?x16xf32, #stablehlo.bounds<32, ?>>", "tensor<?x8xf32, #stablehlo.bounds<32, ?>>");
  expect_twin(bounded, PRODUCT("tensor<32x16xf32>", "tensor<32x8xf32>"), NULL, 1);
  /* a bound size is better than a bound, and then nothing is left to say */
  expect_twin(bounded, PRODUCT("tensor<20x16xf32>", "tensor<20x8xf32>"), "arg0=20x16", 0);
}

/* The size of a dimension that the program computes with is the bound too. */
static void test_sizes_that_follow(void **state) {
  (void)state;
#define FOLLOWS(in, one, out)                                                                                          \
  "func.func @main(%x: " in ") -> " out " {\n"                                                                         \
  "  %n = stablehlo.get_dimension_size %x, dim = 0 : (" in ") -> tensor<i32>\n"                                        \
  "  %v = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"                                                     \
  "  %y = stablehlo.dynamic_broadcast_in_dim %x, %v, dims = [0] : (" in ", tensor<1xi32>) -> " one "\n"                \
  "  %z = stablehlo.add %y, %y : " one "\n"                                                                            \
  "  return %z : " out "\n}\n"
  expect_twin(FOLLOWS("tensor<?xf32, #stablehlo.bounds<24>>", "tensor<?xf32>", "tensor<?xf32>"),
              FOLLOWS("tensor<24xf32>", "tensor<24xf32>", "tensor<24xf32>"), NULL, 1);
#undef FOLLOWS
}

/* In tuples, loops and called functions. */
static void test_bounds_inside(void **state) {
  (void)state;
#define INSIDE(type)                                                                                                   \
  "func.func @main(%x: " type ") -> tuple<" type "> {\n"                                                               \
  "  %c = stablehlo.constant dense<0> : tensor<i32>\n"                                                                 \
  "  %n = stablehlo.constant dense<3> : tensor<i32>\n"                                                                 \
  "  %s = stablehlo.constant dense<1> : tensor<i32>\n"                                                                 \
  "  %0:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, " type "\n"                                               \
  "    cond {\n"                                                                                                       \
  "      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"                               \
  "      stablehlo.return %p : tensor<i1>\n"                                                                           \
  "    } do {\n"                                                                                                       \
  "      %j = stablehlo.add %i, %s : tensor<i32>\n"                                                                    \
  "      %z = func.call @twice(%y) : (" type ") -> " type "\n"                                                         \
  "      stablehlo.return %j, %z : tensor<i32>, " type "\n"                                                            \
  "    }\n"                                                                                                            \
  "  %t = stablehlo.tuple %0#1 : tuple<" type ">\n"                                                                    \
  "  return %t : tuple<" type ">\n}\n"                                                                                 \
  "func.func private @twice(%a: " type ") -> " type " {\n"                                                             \
  "  %b = stablehlo.add %a, %a : " type "\n"                                                                           \
  "  return %b : " type "\n}\n"
  expect_twin(INSIDE("tensor<?xf32, #stablehlo.bounds<64>>"), INSIDE("tensor<64xf32>"), NULL, 1);
#undef INSIDE
}

/* What set_dimension_size makes dynamic is as long as before, whether the result type says so or not. */
static void test_set_sizes(void **state) {
  (void)state;
#define SET(type)                                                                                                      \
  "func.func @main(%x: tensor<12x4xf32>, %n: tensor<i32>) -> " type " {\n"                                             \
  "  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<12x4xf32>, tensor<i32>) -> " type "\n"                \
  "  %1 = stablehlo.add %0, %0 : " type "\n"                                                                           \
  "  return %1 : " type "\n}\n"
  struct loaded stated, inferred;
  load(&stated, SET("tensor<?x4xf32, #stablehlo.bounds<12, ?>>"), NULL);
  load(&inferred, SET("tensor<?x4xf32>"), NULL);
  assert_int_equal(stated.status, STATUS_OK);
  assert_int_equal(inferred.status, STATUS_OK);
  assert_int_equal(count_of(&stated, DIAG_W0407_BOUND), 1);
  assert_int_equal(count_of(&inferred, DIAG_W0407_BOUND), 1);
  assert_true(operations_of(&stated) == 48);
  assert_true(operations_of(&inferred) == 48);
  release(&stated);
  release(&inferred);
#undef SET
}

/* The lower of two bounds is a valid result; the sizes that count then differ and nothing breaks. */
static void test_different_bounds(void **state) {
  (void)state;
  struct loaded loaded;
  load(&loaded,
       "func.func @main(%x: tensor<?xf32, #stablehlo.bounds<9>>, %y: tensor<?xf32, #stablehlo.bounds<5>>) -> "
       "tensor<?xf32, #stablehlo.bounds<5>> {\n"
       "  %0 = stablehlo.add %x, %y : (tensor<?xf32, #stablehlo.bounds<9>>, tensor<?xf32, #stablehlo.bounds<5>>) -> "
       "tensor<?xf32, #stablehlo.bounds<5>>\n"
       "  return %0 : tensor<?xf32, #stablehlo.bounds<5>>\n}\n",
       NULL);
  assert_int_equal(loaded.status, STATUS_OK);
  assert_int_equal(count_of(&loaded, DIAG_W0407_BOUND), 1);
  assert_true(operations_of(&loaded) == 5);
  release(&loaded);
}

/* One dimension has a bound, the other none: the second is still the user's to give. */
static void test_without_a_bound(void **state) {
  (void)state;
  struct loaded loaded;
  load(&loaded,
       "func.func @main(%x: tensor<?x?xf32, #stablehlo.bounds<9, ?>>) -> tensor<?x?xf32, #stablehlo.bounds<9, ?>> {\n"
       "  %0 = stablehlo.negate %x : tensor<?x?xf32, #stablehlo.bounds<9, ?>>\n"
       "  return %0 : tensor<?x?xf32, #stablehlo.bounds<9, ?>>\n}\n",
       NULL);
  assert_int_equal(loaded.status, STATUS_INPUT);
  assert_true(count_of(&loaded, DIAG_E0401_DYNAMIC) > 0);
  release(&loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_are_the_bounds),
      cmocka_unit_test(test_sizes_that_follow),
      cmocka_unit_test(test_bounds_inside),
      cmocka_unit_test(test_different_bounds),
      cmocka_unit_test(test_set_sizes),
      cmocka_unit_test(test_without_a_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
