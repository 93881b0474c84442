/* Tests of the growable array, the integer map and checked arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/vec.h"

static void vec_grows_and_keeps_its_contents(void **state) {
  (void)state;
  VEC(uint32_t) v = {0};
  size_t growths = 0;
  for (uint32_t i = 0; i < 100000; i++) {
    size_t before = v.capacity;
    assert_true(vec_push(&v, i * 7));
    growths += v.capacity != before;
  }
  assert_int_equal(v.count, 100000);
  for (uint32_t i = 0; i < 100000; i++) {
    assert_int_equal(v.data[i], i * 7);
  }
  assert_in_range(growths, 10, 40); /* geometric growth */
  vec_clear(&v);
  assert_int_equal(v.count, 0);
  assert_true(v.capacity >= 100000);
  vec_release(&v);
  assert_null(v.data);
  assert_int_equal(v.capacity, 0);
}

static void vec_reserve_gives_what_was_asked(void **state) {
  (void)state;
  VEC(uint64_t) v = {0};
  assert_true(vec_reserve(&v, 1000));
  assert_true(v.capacity >= 1000);
  const uint64_t *data = v.data;
  for (uint64_t i = 0; i < 1000; i++) {
    assert_true(vec_push(&v, i));
  }
  assert_ptr_equal(v.data, data);
  vec_release(&v);
}

static void vec_failure_leaves_the_contents(void **state) {
  (void)state;
  VEC(uint64_t) v = {0};
  assert_true(vec_push(&v, 42));
  assert_false(vec_reserve(&v, SIZE_MAX));
  assert_false(vec_reserve(&v, SIZE_MAX / 8 + 1));
  assert_int_equal(v.count, 1);
  assert_int_equal(v.data[0], 42);
  assert_true(vec_push(&v, 43));
  vec_release(&v);
}

static uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

static void map_of_nothing_has_nothing(void **state) {
  (void)state;
  struct map map = {0};
  uint32_t value = 5;
  assert_false(map_get(&map, 0, &value));
  assert_int_equal(value, 5);
  map_clear(&map);
  map_release(&map);
}

static void map_takes_extreme_keys_and_overwrites(void **state) {
  (void)state;
  struct map map = {0};
  uint32_t value;
  assert_true(map_set(&map, 0, 10));
  assert_true(map_set(&map, UINT64_MAX, UINT32_MAX));
  assert_false(map_get(&map, 1, &value));
  assert_true(map_set(&map, 0, 0));
  assert_int_equal(map.count, 2);
  assert_true(map_get(&map, 0, &value));
  assert_int_equal(value, 0);
  assert_true(map_get(&map, UINT64_MAX, &value));
  assert_int_equal(value, UINT32_MAX);
  map_clear(&map);
  assert_int_equal(map.count, 0);
  assert_false(map_get(&map, 0, &value));
  assert_true(map_set(&map, 3, 4));
  assert_true(map_get(&map, 3, &value));
  map_release(&map);
  assert_int_equal(map.slot_count, 0);
}

/* Keys in arithmetic progressions are the usual ones (ids, pointers); a linear reference list checks the rest. */
static void map_agrees_with_a_plain_array(void **state) {
  (void)state;
  const uint64_t strides[] = {1, 8, 4096, 1ull << 32, 0x9E3779B97F4A7C15ull};
  for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
    enum { N = 20000 };
    struct map map = {0};
    for (uint32_t i = 0; i < N; i++) {
      assert_true(map_set(&map, i * strides[s], i ^ 0x5555));
    }
    assert_int_equal(map.count, N);
    assert_true(map.count < map.slot_count);
    assert_int_equal(map.slot_count & (map.slot_count - 1), 0);
    for (uint32_t i = 0; i < N; i++) {
      uint32_t value = 0;
      assert_true(map_get(&map, i * strides[s], &value));
      assert_int_equal(value, i ^ 0x5555);
    }
    uint32_t value;
    assert_false(map_get(&map, N * strides[s], &value));
    map_release(&map);
  }
}

/* Room that was reserved holds its keys without growing; what was there stays, and an absurd number is refused. */
static void map_reserves_room(void **state) {
  (void)state;
  for (size_t count = 0; count < 3000; count = count * 3 + 1) {
    struct map map = {0};
    uint32_t value = 0;
    assert_true(map_set(&map, 7, 70));
    assert_true(map_reserve(&map, count + 1));
    size_t slots = map.slot_count;
    for (uint32_t i = 0; i < count; i++) {
      assert_true(map_set(&map, 1000 + i, i));
    }
    assert_int_equal(map.slot_count, slots);
    assert_true(map_get(&map, 7, &value));
    assert_int_equal(value, 70);
    assert_true(map_reserve(&map, 1));
    assert_int_equal(map.slot_count, slots);
    assert_false(map_reserve(&map, SIZE_MAX));
    map_release(&map);
  }
}

static void map_agrees_under_random_overwrites(void **state) {
  (void)state;
  enum { KEYS = 1000 };
  struct map map = {0};
  uint32_t expected[KEYS] = {0};
  bool present[KEYS] = {0};
  uint64_t seed = 88172645463325252ull;
  for (size_t step = 0; step < 20000; step++) {
    size_t k = next_random(&seed) % KEYS;
    uint32_t value = (uint32_t)next_random(&seed);
    uint32_t found;
    assert_int_equal(map_get(&map, k << 20, &found), present[k]);
    if (present[k]) {
      assert_int_equal(found, expected[k]);
    }
    assert_true(map_set(&map, k << 20, value));
    expected[k] = value;
    present[k] = true;
  }
  map_release(&map);
}

static void checked_arithmetic_notices_overflow(void **state) {
  (void)state;
  int64_t out;
  assert_true(checked_mul_i64(INT64_C(3037000499), INT64_C(3037000499), &out));
  assert_true(out == INT64_C(9223372030926249001));
  assert_false(checked_mul_i64(INT64_C(3037000500), INT64_C(3037000500), &out));
  assert_false(checked_mul_i64(INT64_MIN, -1, &out));
  assert_false(checked_add_i64(INT64_MAX, 1, &out));
  assert_true(checked_add_i64(INT64_MAX, INT64_MIN, &out));
  assert_true(out == -1);
  assert_true(sat_mul_u64(1ull << 32, 1ull << 32) == UINT64_MAX);
  assert_true(sat_mul_u64(1ull << 32, (1ull << 32) - 1) == 0xFFFFFFFF00000000ull);
  assert_true(sat_add_u64(UINT64_MAX, 1) == UINT64_MAX);
  assert_true(ceil_div_u64(UINT64_MAX, 2) == 1ull << 63);
  assert_true(ceil_div_u64(0, 7) == 0);
  assert_true(ceil_div_u64(14, 7) == 2);
  assert_true(ceil_div_u64(15, 7) == 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vec_grows_and_keeps_its_contents),
      cmocka_unit_test(vec_reserve_gives_what_was_asked),
      cmocka_unit_test(vec_failure_leaves_the_contents),
      cmocka_unit_test(map_of_nothing_has_nothing),
      cmocka_unit_test(map_takes_extreme_keys_and_overwrites),
      cmocka_unit_test(map_agrees_with_a_plain_array),
      cmocka_unit_test(map_reserves_room),
      cmocka_unit_test(map_agrees_under_random_overwrites),
      cmocka_unit_test(checked_arithmetic_notices_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
