/* Tests of string interning and of the byte hash under it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/intern.h"

static void equal_strings_get_equal_ids(void **state) {
  (void)state;
  struct arena arena;
  struct intern table;
  arena_init(&arena, 0);
  assert_true(intern_init(&table, &arena));
  char text[] = "stablehlo.add";
  uint32_t add = intern_add(&table, text, 13);
  assert_int_not_equal(add, 0);
  assert_int_not_equal(add, UINT32_MAX);
  text[0] = '#'; /* the table has its own copy */
  assert_string_equal(intern_text(&table, add), "stablehlo.add");
  assert_int_equal(intern_length(&table, add), 13);
  assert_int_equal(intern_add_cstr(&table, "stablehlo.add"), add);
  uint32_t dialect = intern_add(&table, "stablehlo.add", 9);
  assert_int_not_equal(dialect, add);
  assert_string_equal(intern_text(&table, dialect), "stablehlo");
  intern_release(&table);
  arena_release(&arena);
}

static void empty_string_is_id_zero(void **state) {
  (void)state;
  struct arena arena;
  struct intern table;
  arena_init(&arena, 0);
  assert_true(intern_init(&table, &arena));
  assert_int_equal(intern_add_cstr(&table, ""), 0);
  assert_int_equal(intern_add(&table, NULL, 0), 0);
  assert_string_equal(intern_text(&table, 0), "");
  assert_int_equal(intern_length(&table, 0), 0);
  assert_int_equal(table.entries.count, 1);
  intern_release(&table);
  arena_release(&arena);
}

static void find_does_not_add(void **state) {
  (void)state;
  struct arena arena;
  struct intern table;
  arena_init(&arena, 0);
  assert_true(intern_init(&table, &arena));
  assert_int_equal(intern_find(&table, "x", 1), 0);
  assert_int_equal(table.entries.count, 1);
  uint32_t id = intern_add_cstr(&table, "x");
  assert_int_equal(intern_find(&table, "xy", 1), id);
  assert_int_equal(intern_find(&table, "xy", 2), 0);
  intern_release(&table);
  arena_release(&arena);
}

static void strings_with_nul_bytes_differ(void **state) {
  (void)state;
  struct arena arena;
  struct intern table;
  arena_init(&arena, 0);
  assert_true(intern_init(&table, &arena));
  uint32_t one = intern_add(&table, "a\0b", 3);
  uint32_t two = intern_add(&table, "a\0c", 3);
  uint32_t three = intern_add(&table, "a", 1);
  uint32_t four = intern_add(&table, "a\0", 2);
  assert_true(one != two && two != three && three != four && one != four && one != three && two != four);
  intern_release(&table);
  arena_release(&arena);
}

static void many_strings_keep_their_ids_over_growth(void **state) {
  (void)state;
  enum { N = 50000 };
  struct arena arena;
  struct intern table;
  arena_init(&arena, 0);
  assert_true(intern_init(&table, &arena));
  char text[32];
  for (uint32_t i = 0; i < N; i++) {
    int length = snprintf(text, sizeof text, "%%arg%u", i);
    assert_int_equal(intern_add(&table, text, (size_t)length), i + 1); /* dense, in order of first use */
  }
  for (uint32_t i = 0; i < N; i++) {
    snprintf(text, sizeof text, "%%arg%u", i);
    assert_int_equal(intern_add_cstr(&table, text), i + 1);
    assert_string_equal(intern_text(&table, i + 1), text);
  }
  assert_int_equal(table.entries.count, N + 1);
  intern_release(&table);
  arena_release(&arena);
}

static void exhausted_arena_is_reported_and_survived(void **state) {
  (void)state;
  struct arena arena;
  struct intern table;
  arena_init(&arena, 4096);
  assert_true(intern_init(&table, &arena));
  uint32_t last = 0;
  uint32_t count = 0;
  char text[32];
  for (; count < 1000; count++) {
    snprintf(text, sizeof text, "name_%u", count);
    uint32_t id = intern_add_cstr(&table, text);
    if (id == UINT32_MAX) {
      break;
    }
    last = id;
  }
  assert_in_range(count, 50, 999);
  assert_int_equal(table.entries.count, last + 1);
  assert_int_equal(intern_add_cstr(&table, text), UINT32_MAX);
  assert_int_equal(intern_find(&table, text, strlen(text)), 0);
  assert_int_equal(intern_add_cstr(&table, "name_0"), 1);
  intern_release(&table);
  arena_release(&arena);
}

static void hash_depends_on_every_byte_and_the_length(void **state) {
  (void)state;
  unsigned char bytes[40];
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = (unsigned char)(i * 11 + 3);
  }
  for (size_t size = 0; size <= sizeof bytes; size++) {
    uint64_t h = hash_bytes(bytes, size);
    assert_true(h == hash_bytes(bytes, size));
    for (size_t i = 0; i < size; i++) {
      bytes[i] ^= 0x10;
      assert_true(h != hash_bytes(bytes, size));
      bytes[i] ^= 0x10;
    }
  }
  const unsigned char zeros[40] = {0};
  for (size_t a = 0; a < sizeof zeros; a++) {
    for (size_t b = a + 1; b < sizeof zeros; b++) {
      assert_true(hash_bytes(zeros, a) != hash_bytes(zeros, b));
    }
  }
}

static void hash_does_not_depend_on_alignment(void **state) {
  (void)state;
  char buffer[64];
  const char *text = "stablehlo.dynamic_broadcast_in_dim";
  uint64_t expected = hash_bytes(text, strlen(text));
  for (size_t shift = 0; shift < 9; shift++) {
    memset(buffer, '?', sizeof buffer);
    memcpy(buffer + shift, text, strlen(text));
    assert_true(hash_bytes(buffer + shift, strlen(text)) == expected);
  }
}

static int compare_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* 100000 names into 32 bits collide 1.2 times on average when the hash is good; the low 16 bits fill evenly. */
static void hash_of_names_looks_random(void **state) {
  (void)state;
  enum { N = 100000 };
  uint32_t *hashes = malloc(N * sizeof *hashes);
  uint32_t *buckets = calloc(1 << 10, sizeof *buckets);
  assert_non_null(hashes);
  assert_non_null(buckets);
  char text[32];
  for (uint32_t i = 0; i < N; i++) {
    int length = snprintf(text, sizeof text, "%u", i);
    hashes[i] = (uint32_t)hash_bytes(text, (size_t)length);
    buckets[hashes[i] & 1023]++;
  }
  for (size_t i = 0; i < 1024; i++) {
    assert_in_range(buckets[i], 45, 160); /* mean 97.7, standard deviation 9.9 */
  }
  qsort(hashes, N, sizeof *hashes, compare_u32);
  size_t collisions = 0;
  for (size_t i = 1; i < N; i++) {
    collisions += hashes[i] == hashes[i - 1];
  }
  assert_in_range(collisions, 0, 8);
  free(hashes);
  free(buckets);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_strings_get_equal_ids),
      cmocka_unit_test(empty_string_is_id_zero),
      cmocka_unit_test(find_does_not_add),
      cmocka_unit_test(strings_with_nul_bytes_differ),
      cmocka_unit_test(many_strings_keep_their_ids_over_growth),
      cmocka_unit_test(exhausted_arena_is_reported_and_survived),
      cmocka_unit_test(hash_depends_on_every_byte_and_the_length),
      cmocka_unit_test(hash_does_not_depend_on_alignment),
      cmocka_unit_test(hash_of_names_looks_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
