/* Exhausted memory in work/: each allocation of reading, printing, checking, sealing, planning the memory of and unrolling a
 * graph fails once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "work/work.h"

static enum status read_and_unroll(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct work_graph *graph = NULL, *unrolled = NULL;
  struct work_memory memory;
  enum status status = work_graph_parse(input, diags, &graph);
  status = status == STATUS_OK ? work_graph_verify(graph, diags) : status;
  status = status == STATUS_OK ? work_graph_seal(graph) : status;
  status = status == STATUS_OK ? work_graph_memory(graph, &memory) : status;
  status = status == STATUS_OK ? work_unroll(graph, 4, &unrolled) : status;
  if (status == STATUS_OK) {
    work_graph_print(graph, text);
    work_graph_print(unrolled, text);
  }
  work_graph_free(unrolled);
  work_graph_free(graph);
  return status;
}

static void check_file(const char *name, enum status expected) {
  static char data[1 << 16];
  char path[1024];
  snprintf(path, sizeof path, RDG_SOURCE_DIR "/tests/fuzz/corpus/work_graph/%s", name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t length = fread(data, 1, sizeof data - 1, file);
  fclose(file);
  data[length] = '\0';
  const struct source source = {name, data, length};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(read_and_unroll, &source, &text), expected);
  strbuf_release(&text);
  exhausted_check(name, read_and_unroll, &source, 3);
}

static void graphs(void **state) {
  (void)state;
  check_file("generated_58_plain", STATUS_OK);
  check_file("generated_58_fused", STATUS_OK);
  check_file("loop", STATUS_OK);
  check_file("collective", STATUS_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
