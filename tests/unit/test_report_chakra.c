/* Chakra traces of a pipeline by hand: what the schema asks for, sizes by ASTRA-sim's conventions, matching messages. The files
 * are read back with a few lines of protobuf here; tests/chakra reads those of whole programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "step_fixture.h"

enum { NODES_MAX = 64, DEPS_MAX = 16 };

struct seen {
  uint64_t id, type, duration_us, comm_type, size, source, target, tag;
  uint64_t deps[DEPS_MAX];
  size_t dep_count;
  char name[64], group[16];
  bool has_cpu_flag;
};
struct file {
  struct seen nodes[NODES_MAX];
  size_t count;
};

static uint64_t varint(const unsigned char **at) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    value |= (uint64_t)(**at & 0x7f) << shift;
    if (!(*(*at)++ & 0x80)) {
      return value;
    }
  }
}

static void copy_text(char *to, size_t size, const unsigned char *from, uint64_t length) {
  assert_true(length < size);
  memcpy(to, from, length);
  to[length] = '\0';
}

static void read_attribute(struct seen *node, const unsigned char *at, const unsigned char *end) {
  char name[32] = "", text[32] = "";
  uint64_t value = 0;
  while (at < end) {
    uint64_t key = varint(&at);
    if ((key & 7) == 2) {
      uint64_t length = varint(&at);
      copy_text(key >> 3 == 1 ? name : text, 32, at, length);
      at += length;
    } else {
      assert_int_equal(key & 7, 0);
      value = varint(&at);
    }
  }
  assert_ptr_equal(at, end);
  node->has_cpu_flag |= strcmp(name, "is_cpu_op") == 0 && value == 0;
  node->comm_type = strcmp(name, "comm_type") == 0 ? value : node->comm_type;
  node->size = strcmp(name, "comm_size") == 0 ? value : node->size;
  node->source = strcmp(name, "comm_src") == 0 ? value : node->source;
  node->target = strcmp(name, "comm_dst") == 0 ? value : node->target;
  node->tag = strcmp(name, "comm_tag") == 0 ? value : node->tag;
  if (strcmp(name, "pg_name") == 0) {
    snprintf(node->group, sizeof node->group, "%s", text);
  }
}

static void read_node(struct seen *node, const unsigned char *at, const unsigned char *end) {
  while (at < end) {
    uint64_t key = varint(&at), field = key >> 3;
    if ((key & 7) == 0) {
      uint64_t value = varint(&at);
      node->id = field == 1 ? value : node->id;
      node->type = field == 3 ? value : node->type;
      node->duration_us = field == 7 ? value : node->duration_us;
      continue;
    }
    uint64_t length = varint(&at);
    const unsigned char *next = at + length;
    if (field == 2) {
      copy_text(node->name, sizeof node->name, at, length);
    } else if (field == 10) {
      read_attribute(node, at, next);
    }
    while ((field == 4 || field == 5) && at < next) {
      assert_true(node->dep_count < DEPS_MAX);
      node->deps[node->dep_count++] = varint(&at);
    }
    at = next;
  }
  assert_ptr_equal(at, end);
}

static void read_file(const struct strbuf *text, struct file *file) {
  const unsigned char *at = (const unsigned char *)text->data, *end = at + text->length;
  memset(file, 0, sizeof *file);
  at += varint(&at); /* the metadata */
  while (at < end) {
    uint64_t length = varint(&at);
    assert_true(file->count < NODES_MAX && length <= (uint64_t)(end - at));
    read_node(&file->nodes[file->count++], at, at + length);
    at += length;
  }
}

struct ranks {
  struct step_fixture f;
  struct file files[4];
  char *groups;
};

static void setup(struct ranks *r) {
  struct diag_list diags;
  diag_init(&diags);
  step_fixture_init(&r->f);
  struct report_chakra_options options = {"tiny.mlir", "0.1.0", 4};
  struct report_chakra *chakra = NULL;
  assert_int_equal(report_chakra_new(&options, &r->f.program, &r->f.result, &diags, &chakra), STATUS_OK);
  struct strbuf text = {0};
  for (uint64_t rank = 0; rank < 4; rank++) {
    assert_int_equal(report_chakra_rank(chakra, rank, &diags, &text), STATUS_OK);
    read_file(&text, &r->files[rank]);
    strbuf_clear(&text);
  }
  report_chakra_groups(chakra, &text);
  r->groups = strdup(strbuf_text(&text));
  strbuf_release(&text);
  report_chakra_free(chakra);
  diag_release(&diags);
}

static void teardown(struct ranks *r) {
  free(r->groups);
  step_fixture_release(&r->f);
}

static size_t count_of(const struct file *file, uint64_t type) {
  size_t count = 0;
  for (size_t i = 0; i < file->count; i++) {
    count += file->nodes[i].type == type;
  }
  return count;
}

/* Per rank: 2 forward passes of 2 operations, 2 backward passes and an update of 1; an all-gather, a reduce-scatter and a
 * permute for each micro-batch, an all-reduce; a message out and one in per micro-batch at the only boundary. */
static void test_counts(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  for (int rank = 0; rank < 4; rank++) {
    assert_int_equal(count_of(&r.files[rank], 4), 2 * 2 + 2 + 1);
    assert_int_equal(count_of(&r.files[rank], 7), 2 + 2 + 1);
    assert_int_equal(count_of(&r.files[rank], 5), 2 + 2);
    assert_int_equal(count_of(&r.files[rank], 6), 2 + 2);
  }
  teardown(&r);
}

static void test_sizes_follow_the_kind(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  for (size_t i = 0; i < r.files[3].count; i++) {
    const struct seen *node = &r.files[3].nodes[i];
    if (node->type != 7) {
      continue;
    }
    /* all-gather: what a rank contributes; reduce-scatter: the operand; all-reduce: the buffer */
    assert_true(node->comm_type == 2 || node->comm_type == 7 || node->comm_type == 0);
    assert_int_equal(node->size, node->comm_type == 7 ? STEP_BUFFER : STEP_SHARD);
  }
  teardown(&r);
}

static void test_dependencies_point_back(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  for (int rank = 0; rank < 4; rank++) {
    for (size_t i = 0; i < r.files[rank].count; i++) {
      const struct seen *node = &r.files[rank].nodes[i];
      assert_int_equal(node->id, i + 1);
      assert_true(node->has_cpu_flag);
      assert_true(i == 0 || node->dep_count > 0);
      for (size_t d = 0; d < node->dep_count; d++) {
        assert_true(node->deps[d] >= 1 && node->deps[d] < node->id);
      }
    }
  }
  teardown(&r);
}

static bool is_partner(const struct seen *a, const struct seen *b) {
  return b->type == 6 && b->source == a->source && b->target == a->target && b->tag == a->tag && b->size == a->size;
}

static void test_every_message_is_received_once(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  for (uint64_t rank = 0; rank < 4; rank++) {
    for (size_t i = 0; i < r.files[rank].count; i++) {
      const struct seen *node = &r.files[rank].nodes[i];
      if (node->type != 5) {
        continue;
      }
      assert_int_equal(node->source, rank);
      assert_true(node->target < 4 && node->target != rank);
      size_t found = 0;
      for (size_t k = 0; k < r.files[node->target].count; k++) {
        found += is_partner(node, &r.files[node->target].nodes[k]);
      }
      assert_int_equal(found, 1);
    }
  }
  teardown(&r);
}

static void test_boundary_joins_equal_positions(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  size_t between = 0;
  for (size_t i = 0; i < r.files[1].count; i++) {
    const struct seen *node = &r.files[1].nodes[i];
    if (node->type == 5 && node->size == STEP_BOUNDARY) {
      assert_int_equal(node->target, 3); /* position 1 of the next stage */
      between++;
    }
  }
  assert_int_equal(between, 2);
  teardown(&r);
}

/* Messages in the order of 1F1B: the first stage sends both activations before it waits for a gradient. */
static void test_order_is_that_of_the_step(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  char order[NODES_MAX] = "";
  for (size_t i = 0; i < r.files[0].count; i++) {
    const struct seen *node = &r.files[0].nodes[i];
    if (node->size == STEP_BOUNDARY) {
      strcat(order, node->type == 5 ? "s" : "r");
    }
  }
  assert_string_equal(order, "ssrr");
  order[0] = '\0';
  for (size_t i = 0; i < r.files[2].count; i++) {
    const struct seen *node = &r.files[2].nodes[i];
    if (node->size == STEP_BOUNDARY) {
      strcat(order, node->type == 5 ? "s" : "r");
    }
  }
  assert_string_equal(order, "rsrs");
  teardown(&r);
}

/* Seven operations of 0.3 us are 2.1 us, though each of them rounds to nothing. */
static void test_rounding_loses_no_time(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  uint64_t sum_us = 0;
  for (size_t i = 0; i < r.files[0].count; i++) {
    sum_us += r.files[0].nodes[i].duration_us;
  }
  assert_int_equal(sum_us, 2);
  teardown(&r);
}

static void test_groups_per_stage(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  assert_string_equal(r.groups, "{\n  \"1\": [0, 1],\n  \"2\": [2, 3]\n}\n");
  for (int rank = 0; rank < 4; rank++) {
    for (size_t i = 0; i < r.files[rank].count; i++) {
      if (r.files[rank].nodes[i].type == 7) {
        assert_string_equal(r.files[rank].nodes[i].group, rank < 2 ? "1" : "2");
      }
    }
  }
  teardown(&r);
}

/* The update waits for the exchanges of both backward passes. */
static void test_update_waits_for_gradients(void **state) {
  (void)state;
  struct ranks r;
  setup(&r);
  const struct file *file = &r.files[0];
  size_t permutes = 0;
  for (size_t i = 0; i < file->count; i++) {
    if (file->nodes[i].type != 7 || file->nodes[i].comm_type != 0) {
      continue;
    }
    for (size_t d = 0; d < file->nodes[i].dep_count; d++) {
      const struct seen *before = &file->nodes[file->nodes[i].deps[d] - 1];
      permutes += before->type == 6 && before->size == STEP_SHARD;
    }
  }
  assert_int_equal(permutes, 2);
  teardown(&r);
}

static void test_order_must_be_known(void **state) {
  (void)state;
  struct step_fixture f;
  struct diag_list diags;
  diag_init(&diags);
  step_fixture_init(&f);
  vec_clear(&f.result.spans);
  struct report_chakra_options options = {"tiny.mlir", "0.1.0", 4};
  struct report_chakra *chakra = NULL;
  assert_int_equal(report_chakra_new(&options, &f.program, &f.result, &diags, &chakra), STATUS_INPUT);
  assert_int_equal(diags.error_count, 1);
  assert_null(chakra);
  step_fixture_release(&f);
  diag_release(&diags);
}

/* One pass, all devices in one group: no order is needed, and no name of a group. */
static void test_all_ranks_need_no_group(void **state) {
  (void)state;
  struct step_fixture f;
  struct diag_list diags;
  diag_init(&diags);
  step_fixture_init(&f);
  struct step_program whole = {.stages = 1, .chunks = 1, .microbatches = 1, .devices_per_stage = 2};
  whole.parts[STEP_ONLY][STEP_WHOLE] = f.program.parts[STEP_FIRST][STEP_FORWARD];
  struct report_chakra_options options = {"tiny.mlir", "0.1.0", 2};
  struct report_chakra *chakra = NULL;
  assert_int_equal(report_chakra_new(&options, &whole, NULL, &diags, &chakra), STATUS_OK);
  struct strbuf text = {0};
  struct file file;
  assert_int_equal(report_chakra_rank(chakra, 1, &diags, &text), STATUS_OK);
  read_file(&text, &file);
  assert_int_equal(file.count, 3);
  assert_string_equal(file.nodes[1].group, "");
  assert_string_equal(file.nodes[1].name, "all_gather");
  strbuf_clear(&text);
  report_chakra_groups(chakra, &text);
  assert_string_equal(strbuf_text(&text), "{}\n");
  strbuf_release(&text);
  report_chakra_free(chakra);
  step_fixture_release(&f);
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_sizes_follow_the_kind),
      cmocka_unit_test(test_dependencies_point_back),
      cmocka_unit_test(test_every_message_is_received_once),
      cmocka_unit_test(test_boundary_joins_equal_positions),
      cmocka_unit_test(test_order_is_that_of_the_step),
      cmocka_unit_test(test_rounding_loses_no_time),
      cmocka_unit_test(test_groups_per_stage),
      cmocka_unit_test(test_update_waits_for_gradients),
      cmocka_unit_test(test_order_must_be_known),
      cmocka_unit_test(test_all_ranks_need_no_group),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
