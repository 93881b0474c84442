/* Groups of devices in work graphs: the text form (docs/work-graph.md), what the verifier asks of them, and that unrolling
 * and sorting tasks keep them apart. */
#include "work_fixture.h"

static const char head[] = "graph\n  tensor %0 : f32[8] input\n  tensor %1 : f32[8] intermediate output\n"
                           "  inputs %0\n  outputs %1\n";

#define TASK(words)                                                                                                    \
  "  task 0 collective collective " words " bytes 32 reads(%0) writes(%1)\n"                                           \
  "    stage collective f32 axes() ops() reads(%0) writes(%1)\nend\n"

static void graph_text(char *text, size_t size, const char *groups, const char *task) {
  snprintf(text, size, "%s%s%s", head, groups, task);
}

/* Text → graph → text: `canonical` NULL = the same. */
static void check_text(const char *groups, const char *canonical, uint32_t count, uint32_t size,
                       const uint32_t *members) {
  char text[4096];
  graph_text(text, sizeof text, groups, "end\n");
  struct work_graph *graph = graph_from(text);
  assert_int_equal(graph->groups.count, 1);
  assert_int_equal(graph->groups.data[0].count, count);
  assert_int_equal(graph->groups.data[0].size, size);
  assert_int_equal(graph->groups.data[0].member_count, count * size);
  for (uint32_t i = 0; members != NULL && i < count * size; i++) {
    assert_int_equal(graph->members.data[i], members[i]);
  }
  struct strbuf out = {0};
  work_graph_print(graph, &out);
  graph_text(text, sizeof text, canonical != NULL ? canonical : groups, "end\n");
  assert_string_equal(strbuf_text(&out), text);
  strbuf_release(&out);
  work_graph_free(graph);
}

static void test_text(void **state) {
  (void)state;
  static const uint32_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7}, columns[] = {0, 4, 1, 5, 2, 6, 3, 7};
  static const uint32_t ragged[] = {0, 1, 2, 3, UINT32_MAX, UINT32_MAX};
  static const uint32_t odd[] = {0, 1, 2, 5};
  static const uint32_t ring[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 0};
  static const uint32_t pair[] = {3, 1};
  check_text("  groups 0 : 2 of 4 from 0 steps(8 by 1)\n", NULL, 2, 4, rows);
  check_text("  groups 0 : 2 of 4 from 0 steps(2 by 4, 4 by 1)\n", "  groups 0 : 2 of 4 from 0 steps(8 by 1)\n", 2, 4,
             rows);
  check_text("  groups 0 : 4 of 2 from 0 steps(4 by 1, 2 by 4)\n", NULL, 4, 2, columns);
  check_text("  groups 0 : 4 of 2 (0, 4 | 1, 5 | 2, 6 | 3, 7)\n", "  groups 0 : 4 of 2 from 0 steps(4 by 1, 2 by 4)\n",
             4, 2, columns);
  check_text("  groups 0 : 2 of 3 (0, 1, 2 | 3)\n", NULL, 2, 3, ragged);
  check_text("  groups 0 : 2 of 2 (0, 1 | 2, 5)\n", NULL, 2, 2, odd);
  check_text("  groups 0 : 8 of 2 from 0 steps(7 by 1, 2 by 1) from 7 steps(1 by 0, 2 by -7)\n", NULL, 8, 2, ring);
  check_text("  groups 0 : 1 of 2 from 3 steps(2 by -2)\n", NULL, 1, 2, pair);
  check_text("  groups 0 : 1 of 1 from 9 steps()\n", NULL, 1, 1, (const uint32_t[]){9});
  /* a mesh of 128 x 8 x 16, groups along the slow and the fast axis */
  check_text("  groups 0 : 8 of 2048 from 0 steps(8 by 16, 128 by 128, 16 by 1)\n", NULL, 8, 2048, NULL);
}

static void check_refused(const char *groups, const char *task, const char *part) {
  char text[2048];
  graph_text(text, sizeof text, groups, task);
  struct source source = {"test.work", text, strlen(text)};
  struct diag_list diags;
  struct work_graph *graph = NULL;
  diag_init(&diags);
  enum status status = work_graph_parse(&source, &diags, &graph);
  if (status == STATUS_OK) {
    status = work_graph_verify(graph, &diags);
  }
  assert_int_equal(status, STATUS_INPUT);
  if (strstr(diags.entries.data[0].message, part) == NULL) {
    fail_msg("'%s' does not say '%s'", diags.entries.data[0].message, part);
  }
  work_graph_free(graph);
  diag_release(&diags);
}

static void test_refused(void **state) {
  (void)state;
  check_refused("  groups 1 : 1 of 2 (0, 1)\n", "end\n", "the next number of groups");
  check_refused("  groups 0 : 2 of 2 (0, 1)\n", "end\n", "as many devices");
  check_refused("  groups 0 : 1 of 2 (0, 1, 2)\n", "end\n", "groups of the stated size");
  check_refused("  groups 0 : 1 of 2 from 0 steps(2 by -1)\n", "end\n", "devices below");
  check_refused("  groups 0 : 4 of 4 from 0 steps(16777216 by 1, 16777216 by 1)\n", "end\n", "at most 16777216");
  check_refused("", TASK("all_reduce groups 1 of 2 devices 0"), "groups declared above");
  check_refused("  groups 0 : 1 of 3 (0, 1, 0)\n", TASK("all_reduce groups 1 of 3 devices 0"), "device 0 twice");
  check_refused("  groups 0 : 2 of 2 (0, 1 | 1, 2)\n", TASK("all_reduce groups 2 of 2 devices 0"), "device 1 twice");
  check_refused("  groups 0 : 2 of 2 (0, 1 | 0, 2)\n", TASK("permute groups 2 of 2 devices 0"), "device 0 twice");
  check_refused("  groups 0 : 2 of 2 (0, 1 | 2, 1)\n", TASK("permute groups 2 of 2 devices 0"), "device 1 twice");
  check_refused("  groups 0 : 2 of 2 (0, 1 | 2, 3)\n", TASK("all_reduce groups 1 of 2 devices 0"), "another number");
  check_refused("  groups 0 : 1 of 3 (0, 1, 2)\n", TASK("permute groups 1 of 3 devices 0"), "another number");
}

/* Devices may send and receive; the words of a collective come back as they were. */
static void test_collective_words(void **state) {
  (void)state;
  char text[2048];
  graph_text(
      text, sizeof text, "  groups 0 : 4 of 2 (0, 1 | 1, 3 | 3, 2 | 2, 0)\n",
      "  task 0 collective collective permute async sends groups 4 of 2 devices 0 bytes 32 in 32 out 16 channel 7 "
      "reads(%0) writes(%1)\n    stage collective f32 axes() ops() reads(%0) writes(%1)\nend\n");
  struct work_graph *graph = graph_from(text);
  const struct work_collective *c = &graph->collectives.data[0];
  assert_int_equal(c->flags, WORK_COLLECTIVE_ASYNC | WORK_COLLECTIVE_SENDS);
  assert_int_equal(c->groups, 1);
  assert_int_equal(c->input_bytes, 32);
  assert_int_equal(c->output_bytes, 16);
  assert_int_equal(c->channel, 7);
  struct strbuf out = {0};
  work_graph_print(graph, &out);
  assert_string_equal(strbuf_text(&out), text);
  strbuf_release(&out);
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(work_graph_verify(graph, &diags), STATUS_OK);
  diag_release(&diags);
  work_graph_free(graph);
}

/* A loop of two collectives among different devices: two sorts of tasks, and the unrolled graph knows the same groups. */
static void test_unrolled(void **state) {
  (void)state;
  struct work_graph *graph =
      sealed_from("graph\n tensor %0 : f32[8] input\n tensor %1 : f32[8] intermediate output\n inputs %0\n outputs %1\n"
                  " groups 0 : 1 of 2 (8, 9)\n"
                  " task 0 loop trips 3 reads(%0) writes(%1)\n"
                  "  graph\n  tensor %0 : f32[8] input\n  tensor %1 : f32[8] intermediate\n"
                  "  tensor %2 : f32[8] intermediate output\n"
                  "  inputs %0\n  outputs %2\n  groups 0 : 2 of 2 (0, 1 | 2, 3)\n  groups 1 : 2 of 2 (0, 2 | 1, 3)\n"
                  "  carried %0 -> %2\n"
                  "  task 0 collective collective all_reduce groups 2 of 2 devices 0 bytes 32 reads(%0) writes(%1)\n"
                  "   stage collective f32 axes() ops() reads(%0) writes(%1)\n"
                  "  task 1 collective collective all_reduce groups 2 of 2 devices 1 bytes 32 reads(%1) writes(%2)\n"
                  "   stage collective f32 axes() ops() reads(%1) writes(%2)\n"
                  "  end\nend\n");
  const struct work_graph *body = graph->subgraphs.data[0];
  assert_int_not_equal(body->tasks.data[0].alike, body->tasks.data[1].alike);
  struct work_graph *unrolled = NULL;
  assert_int_equal(work_unroll(graph, 3, &unrolled), STATUS_OK);
  assert_int_equal(unrolled->tasks.count, 6);
  assert_int_equal(unrolled->groups.count, 2);
  for (uint32_t t = 0; t < 6; t++) {
    const struct work_collective *c = &unrolled->collectives.data[unrolled->tasks.data[t].collective - 1];
    const struct work_groups *groups = &unrolled->groups.data[c->groups - 1];
    assert_int_equal(unrolled->members.data[groups->member_first + 1], t % 2 == 0 ? 1 : 2);
  }
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(work_graph_verify(unrolled, &diags), STATUS_OK);
  diag_release(&diags);
  work_graph_free(unrolled);
  work_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_collective_words),
      cmocka_unit_test(test_unrolled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
