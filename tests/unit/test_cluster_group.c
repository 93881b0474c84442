/* How groups lie in a slice: boxes, strides, closed rings, pairs, and what users get told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/collective.h"

/* 2 cores below a 4 x 4 torus below any number of nodes. */
static const struct hw_cluster pod = {
    .id = "pod",
    .library = "xla_tpu",
    .dimensions = {{.name = "core", .fabric = HW_FABRIC_SWITCH, .size = 2, .link_Bps = 200e9},
                   {.name = "x", .fabric = HW_FABRIC_RING, .size = 4, .link_Bps = 50e9, .wrap = HW_WRAP_ALWAYS},
                   {.name = "y", .fabric = HW_FABRIC_RING, .size = 4, .link_Bps = 50e9, .wrap = HW_WRAP_NEVER},
                   {.name = "dcn", .fabric = HW_FABRIC_FAT_TREE, .link_Bps = 5e9}},
    .dimension_count = 4};
static const struct hw_slice slice = {.size = {2, 4, 4, 2}, .wraps = {false, true, false, false}, .devices = 64};

static struct diag_list diags;

static enum status shape_of(const uint32_t *members, uint32_t count, uint32_t size, struct group_shape *shape) {
  const struct work_groups groups = {.count = count, .size = size, .member_count = count * size};
  diag_release(&diags);
  diag_init(&diags);
  return group_shape_of(&pod, &slice, &groups, members, "all_reduce", &diags, shape);
}

static void assert_extents(const struct group_shape *shape, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t wanted[] = {a, b, c, d};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(shape->extent[i], wanted[i]);
  }
}

/* Groups of every s-th of 64 devices: `size` members, each block of s x size devices has s groups. */
static void fill_strided(uint32_t *members, uint32_t size, uint32_t stride) {
  for (uint32_t i = 0; i < 64; i++) {
    uint32_t block = i / (size * stride), group = i / size % stride, member = i % size;
    members[i] = block * size * stride + group + member * stride;
  }
}

static void test_boxes(void **state) {
  (void)state;
  static const struct {
    uint32_t size, stride, extent[4];
    bool is_closed_x;
  } cases[] = {
      {2, 1, {2, 1, 1, 1}, false},  {8, 1, {2, 4, 1, 1}, true},  {4, 2, {1, 4, 1, 1}, true},
      {2, 2, {1, 2, 1, 1}, false},  {4, 8, {1, 1, 4, 1}, false}, {64, 1, {2, 4, 4, 2}, true},
      {2, 32, {1, 1, 1, 2}, false}, {16, 2, {1, 4, 4, 1}, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint32_t members[64];
    struct group_shape shape, strided;
    fill_strided(members, cases[i].size, cases[i].stride);
    assert_int_equal(shape_of(members, 64 / cases[i].size, cases[i].size, &shape), STATUS_OK);
    group_shape_strided(&pod, &slice, cases[i].size, cases[i].stride, &strided);
    assert_int_equal(shape.size, cases[i].size);
    assert_int_equal(shape.count, 64 / cases[i].size);
    assert_int_equal(strided.count, shape.count);
    assert_true(shape.is_regular && strided.is_regular);
    for (int d = 0; d < 4; d++) {
      assert_int_equal(shape.extent[d], cases[i].extent[d]);
      assert_int_equal(strided.extent[d], cases[i].extent[d]);
      assert_int_equal(strided.stride[d], shape.stride[d]);
      assert_int_equal(strided.siblings[d], shape.siblings[d]);
    }
    assert_int_equal(shape.is_closed[1], cases[i].is_closed_x);
    assert_int_equal(strided.is_closed[1], cases[i].is_closed_x);
    assert_false(shape.is_closed[2]); /* y never wraps */
  }
}

static void test_strides_share_links(void **state) {
  (void)state;
  /* x coordinates 0 and 2: every other one, and they go round the ring of 4 */
  uint32_t members[] = {0, 4, 1, 5, 2, 6, 3, 7};
  struct group_shape shape;
  assert_int_equal(shape_of(members, 4, 2, &shape), STATUS_OK);
  assert_extents(&shape, 1, 2, 1, 1);
  assert_int_equal(shape.stride[1], 2);
  assert_true(shape.is_closed[1]);
  struct group_shape whole;
  group_shape_strided(&pod, &slice, 64, 1, &whole);
  assert_int_equal(whole.siblings[0], 1);
  assert_int_equal(whole.siblings[1], 2);
  assert_int_equal(whole.siblings[2], 8);
  assert_int_equal(whole.siblings[3], 32);
}

static void test_irregular(void **state) {
  (void)state;
  struct group_shape shape;
  uint32_t corner[] = {0, 1, 2, UINT32_MAX, 3, 4, 5, 6}; /* 3 and 4 members, neither a box */
  assert_int_equal(shape_of(corner, 2, 4, &shape), STATUS_OK);
  assert_false(shape.is_regular);
  assert_int_equal(shape.size, 4);
  uint32_t unlike[] = {0, 1, 2, 4, 3, 5, 6, 7}; /* boxes of different kinds */
  assert_int_equal(shape_of(unlike, 4, 2, &shape), STATUS_OK);
  assert_false(shape.is_regular);
}

static void test_pairs(void **state) {
  (void)state;
  struct group_shape shape;
  struct collective_request request;
  const struct work_collective permute = {.kind = WORK_PERMUTE, .bytes_per_rank = 1000};
  /* round the ring x of cores 0: one hop each, no link twice */
  uint32_t round[] = {0, 2, 2, 4, 4, 6, 6, 0};
  assert_int_equal(shape_of(round, 4, 2, &shape), STATUS_OK);
  collective_request_of(&permute, &shape, &request);
  assert_int_equal(request.hops[0], 0);
  assert_int_equal(request.hops[1], 1);
  assert_int_equal(request.sharing[1], 1);
  /* along the open line y from one end to the other and back: 3 hops */
  uint32_t line[] = {0, 24, 24, 0};
  assert_int_equal(shape_of(line, 2, 2, &shape), STATUS_OK);
  collective_request_of(&permute, &shape, &request);
  assert_int_equal(request.hops[2], 3);
  assert_int_equal(request.sharing[2], 1); /* one link has two directions */
  /* shift by 2 along the line of 4: 0 -> 2 and 1 -> 3 meet between 1 and 2 */
  uint32_t shift[] = {0, 16, 8, 24, 16, 0, 24, 8};
  assert_int_equal(shape_of(shift, 4, 2, &shape), STATUS_OK);
  collective_request_of(&permute, &shape, &request);
  assert_int_equal(request.hops[2], 2);
  assert_int_equal(request.sharing[2], 2);
  /* a device to itself moves nothing */
  uint32_t self[] = {0, 0, 1, 1};
  assert_int_equal(shape_of(self, 2, 2, &shape), STATUS_OK);
  assert_int_equal(shape.size, 1);
}

static bool says(const char *text) {
  return diags.entries.count == 1 && strstr(diags.entries.data[0].message, text) != NULL;
}

static void test_errors(void **state) {
  (void)state;
  struct group_shape shape;
  uint32_t beyond[] = {0, 1, 2, 64};
  assert_int_equal(shape_of(beyond, 1, 4, &shape), STATUS_INPUT);
  assert_true(says("'all_reduce' names device 64, but the slice of pod has 64 devices (0 to 63)"));
  uint32_t twice[] = {0, 1, 2, 3, 3, 4};
  assert_int_equal(shape_of(twice, 2, 3, &shape), STATUS_INPUT);
  assert_true(says("device 3 is twice in the groups of 'all_reduce'"));
  uint32_t hole[] = {0, 1, 2, 4, 5, 6};
  assert_int_equal(shape_of(hole, 2, 3, &shape), STATUS_INPUT);
  assert_true(says("do not cover the devices: 3 is in none of them, 6 is"));
  uint32_t sources[] = {0, 1, 0, 2};
  assert_int_equal(shape_of(sources, 2, 2, &shape), STATUS_INPUT);
  assert_true(says("device 0 is twice in the groups of 'all_reduce' as a source"));
}

/* Time must not grow with the square of the members: 16,384 in one group and in 16,384 groups. */
static void test_many(void **state) {
  (void)state;
  enum { DEVICES = 16384 };
  const struct hw_cluster tree = {
      .id = "tree",
      .dimensions = {{.name = "node", .fabric = HW_FABRIC_SWITCH, .size = 8, .link_Bps = 1e9},
                     {.name = "net", .fabric = HW_FABRIC_FAT_TREE, .link_Bps = 1e9}},
      .dimension_count = 2};
  const struct hw_slice all = {.size = {8, DEVICES / 8, 1, 1}, .devices = DEVICES};
  uint32_t *members = malloc(DEVICES * sizeof *members);
  assert_non_null(members);
  for (uint32_t size = 1; size <= DEVICES; size *= 4) {
    const struct work_groups groups = {.count = DEVICES / size, .size = size, .member_count = DEVICES};
    for (uint32_t i = 0; i < DEVICES; i++) {
      members[i] = i;
    }
    struct group_shape shape, strided;
    assert_int_equal(group_shape_of(&tree, &all, &groups, members, "x", &diags, &shape), STATUS_OK);
    group_shape_strided(&tree, &all, size, 1, &strided);
    assert_int_equal(shape.size, size);
    assert_int_equal(shape.extent[0], size < 8 ? size : 8);
    assert_int_equal(shape.extent[1], size < 8 ? 1 : size / 8);
    assert_int_equal(strided.extent[1], shape.extent[1]);
  }
  free(members);
}

int main(void) {
  diag_init(&diags);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boxes),     cmocka_unit_test(test_strides_share_links),
      cmocka_unit_test(test_irregular), cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_errors),    cmocka_unit_test(test_many),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  diag_release(&diags);
  return failed;
}
