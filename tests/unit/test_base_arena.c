/* Tests of the arena: alignment, disjointness, budgets, overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

static void allocations_are_aligned_disjoint_and_stable(void **state) {
  (void)state;
  enum { N = 3000 };
  struct arena arena;
  arena_init(&arena, 0);
  unsigned char **blocks = calloc(N, sizeof *blocks);
  assert_non_null(blocks);
  for (size_t i = 0; i < N; i++) {
    size_t size = 1 + i * 37 % 501;
    blocks[i] = arena_alloc(&arena, size);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % 16, 0);
    memset(blocks[i], (int)(i % 251), size);
  }
  for (size_t i = 0; i < N; i++) {
    size_t size = 1 + i * 37 % 501;
    for (size_t k = 0; k < size; k++) {
      assert_int_equal(blocks[i][k], i % 251);
    }
  }
  free(blocks);
  arena_release(&arena);
}

static void size_zero_gives_a_pointer(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  assert_non_null(arena_alloc(&arena, 0));
  assert_non_null(arena_calloc(&arena, 0, 8));
  assert_non_null(arena_calloc(&arena, 8, 0));
  arena_release(&arena);
}

static void calloc_zeroes_reused_and_large_memory(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  const size_t sizes[] = {1, 100, 5000, 10 << 20};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    unsigned char *bytes = arena_calloc(&arena, sizes[s], 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizes[s]; i++) {
      assert_int_equal(bytes[i], 0);
    }
    memset(bytes, 0xFF, sizes[s]);
  }
  arena_release(&arena);
}

static void overflow_gives_null(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  assert_null(arena_calloc(&arena, SIZE_MAX / 2 + 1, 2));
  assert_null(arena_alloc(&arena, SIZE_MAX));
  assert_null(arena_alloc(&arena, SIZE_MAX - 16));
  assert_null(arena_strndup(&arena, "", SIZE_MAX));
  assert_int_equal(arena.allocated_bytes, 0);
  assert_non_null(arena_alloc(&arena, 8));
  arena_release(&arena);
}

static void budget_bounds_the_blocks(void **state) {
  (void)state;
  enum { BUDGET = 100000 };
  struct arena arena;
  arena_init(&arena, BUDGET);
  assert_null(arena_alloc(&arena, BUDGET + 1));
  size_t got = 0;
  while (arena_alloc(&arena, 1000) != NULL) {
    got += 1000;
    assert_true(arena.allocated_bytes <= BUDGET);
  }
  assert_true(got <= BUDGET);
  assert_true(got >= BUDGET * 8 / 10); /* the last block shrinks to what the budget leaves */
  arena_release(&arena);
  assert_int_equal(arena.allocated_bytes, 0);
  assert_int_equal(arena.budget_bytes, BUDGET);
  assert_non_null(arena_alloc(&arena, BUDGET / 2));
  arena_release(&arena);
}

static void large_requests_do_not_waste_the_current_block(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  char *first = arena_alloc(&arena, 16);
  assert_non_null(arena_alloc(&arena, 1 << 20));
  char *second = arena_alloc(&arena, 16);
  assert_ptr_equal(second, first + 16);
  arena_release(&arena);
}

static void strndup_copies_and_terminates(void **state) {
  (void)state;
  struct arena arena;
  arena_init(&arena, 0);
  char text[] = "stablehlo.add";
  char *copy = arena_strndup(&arena, text, 9);
  text[0] = 'X';
  assert_string_equal(copy, "stablehlo");
  assert_string_equal(arena_strndup(&arena, NULL, 0), "");
  assert_memory_equal(arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
  arena_release(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_are_aligned_disjoint_and_stable),
      cmocka_unit_test(size_zero_gives_a_pointer),
      cmocka_unit_test(calloc_zeroes_reused_and_large_memory),
      cmocka_unit_test(overflow_gives_null),
      cmocka_unit_test(budget_bounds_the_blocks),
      cmocka_unit_test(large_requests_do_not_waste_the_current_block),
      cmocka_unit_test(strndup_copies_and_terminates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
