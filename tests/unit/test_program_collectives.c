/* Collectives of HLO text that are started and awaited: each is under way from its start to its done task, and its devices
 * are those of the text (groups [2,2]<=[2,2]T(1,0) are {0,2},{1,3}: HLO's iota form, transposed). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"

#define HEAD                                                                                                           \
  "HloModule m, num_partitions=4, replica_count=1\n"                                                                   \
  "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n"

static struct program *program_of(const char *text) {
  struct program *p = NULL;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = program_parse("test.hlo", text, strlen(text), NULL, &diags, &p);
  if (status != STATUS_OK) {
    fail_msg("%s", diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  diag_release(&diags);
  return p;
}

/* One letter per task: S starts an exchange, D waits for it, C does both, T is anything else that takes time. */
static void check_tasks(const struct work_graph *graph, const char *expected) {
  char found[64] = "";
  size_t n = 0;
  for (size_t i = 0; i < graph->tasks.count && n + 1 < sizeof found; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    bool is_async =
        task->collective != 0 && (graph->collectives.data[task->collective - 1].flags & WORK_COLLECTIVE_ASYNC) != 0;
    bool is_free = work_kind_info((enum work_kind)task->kind)->is_free;
    if (task->kind != WORK_COLLECTIVE_DONE && is_free) {
      continue;
    }
    found[n++] = task->kind == WORK_COLLECTIVE_DONE ? 'D' : is_async ? 'S' : task->collective != 0 ? 'C' : 'T';
  }
  found[n] = '\0';
  assert_string_equal(found, expected);
}

static void test_started(void **state) {
  (void)state;
  struct program *p = program_of(
      HEAD
      "ENTRY main {\n a = f32[8] parameter(0)\n"
      " s = (f32[8], f32[16]) all-gather-start(a), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), "
      "use_global_device_ids=true, dimensions={0}\n"
      " t = f32[8] tanh(a)\n"
      " p = (f32[8], f32[8]) collective-permute-start(t), channel_id=2, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n"
      " d = f32[16] all-gather-done(s)\n q = f32[8] collective-permute-done(p)\n"
      " r = f32[8] all-reduce(a), channel_id=3, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add\n"
      " ROOT out = (f32[16], f32[8], f32[8]) tuple(d, q, r)\n}\n");
  const struct work_graph *graph = p->unfused;
  check_tasks(graph, "STSDDC");
  static const uint32_t columns[] = {0, 2, 1, 3}, ring[] = {0, 1, 1, 2, 2, 3, 3, 0};
  const struct work_groups *groups = graph->groups.data;
  assert_memory_equal(graph->members.data + groups[0].member_first, columns, sizeof columns);
  assert_memory_equal(graph->members.data + groups[1].member_first, ring, sizeof ring);
  program_free(p);
}

/* XLA combines reduce-scatters and starts them as a computation; StableHLO's have one operand. */
static void test_several_operands(void **state) {
  (void)state;
  struct program *p = program_of(
      HEAD "%wrapped (p: f32[32], q: f32[64]) -> (f32[8], f32[16]) {\n %p = f32[32] parameter(0)\n %q = f32[64] "
           "parameter(1)\n"
           " ROOT %r = (f32[8], f32[16]) reduce-scatter(%p, %q), channel_id=3, replica_groups=[1,4]<=[4], "
           "use_global_device_ids=true, dimensions={0}, to_apply=add\n}\n"
           "ENTRY main {\n a = f32[32] parameter(0)\n b = f32[64] parameter(1)\n"
           " s = ((f32[32], f32[64]), (f32[8], f32[16])) async-start(a, b), calls=%wrapped\n t = f32[32] tanh(a)\n"
           " d = (f32[8], f32[16]) async-done(s)\n x = f32[8] get-tuple-element(d), index=0\n"
           " y = f32[16] get-tuple-element(d), index=1\n ROOT out = (f32[8], f32[16], f32[32]) tuple(x, y, t)\n}\n");
  check_tasks(p->unfused, "SSTD");
  program_free(p);
  p = program_of(HEAD
                 "ENTRY main {\n a = f32[8] parameter(0)\n b = f32[4] parameter(1)\n"
                 " s = ((f32[8], f32[4]), (f32[8], f32[4])) collective-permute-start(a, b), channel_id=2, "
                 "source_target_pairs={{0,1},{1,0}}\n t = f32[8] tanh(a)\n"
                 " d = (f32[8], f32[4]) collective-permute-done(s)\n x = f32[8] get-tuple-element(d), index=0\n"
                 " y = f32[4] get-tuple-element(d), index=1\n ROOT out = (f32[8], f32[4], f32[8]) tuple(x, y, t)\n}\n");
  check_tasks(p->unfused, "SSTDD");
  program_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_started),
      cmocka_unit_test(test_several_operands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
