/* The text form: reading back what is written, messages with places, and hostile text. */
#include "work_fixture.h"

static char *read_file(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", RDG_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static char text[1 << 16];
  size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  return text;
}

/* The example of docs/work-graph.md: written by hand, comments and all as the printer makes them from the sealed graph. */
static void test_example_is_canonical(void **state) {
  (void)state;
  char *text = read_file("tests/golden/work/example.work");
  struct work_graph *graph = sealed_from(text);
  struct strbuf printed = {0};
  work_graph_print(graph, &printed);
  assert_string_equal(strbuf_text(&printed), text);
  strbuf_release(&printed);
  work_graph_free(graph);
}

static void test_names_are_escaped(void **state) {
  (void)state;
  struct work_graph *graph = graph_from("graph\ntensor %0 : f32[] input \"a\\22b\\0A\\5C\"\ninputs %0\noutputs\nend\n");
  assert_string_equal(intern_text(graph->strings, graph->tensors.data[0].name), "a\"b\n\\");
  struct strbuf printed = {0};
  work_graph_print(graph, &printed);
  assert_non_null(strstr(strbuf_text(&printed), "\"a\\22b\\0A\\5C\""));
  strbuf_release(&printed);
  work_graph_free(graph);
}

static void expect_message(const char *text, uint32_t line, const char *part) {
  struct source source = {"test.work", text, strlen(text)};
  struct diag_list diags;
  struct work_graph *graph = NULL;
  diag_init(&diags);
  assert_int_equal(work_graph_parse(&source, &diags, &graph), STATUS_INPUT);
  assert_null(graph);
  assert_int_equal(diags.entries.count, 1);
  assert_int_equal(diags.entries.data[0].line, line);
  if (strstr(diags.entries.data[0].message, part) == NULL) {
    fail_msg("'%s' lacks '%s'", diags.entries.data[0].message, part);
  }
  diag_release(&diags);
}

static void test_messages(void **state) {
  (void)state;
  expect_message("", 1, "graph");
  expect_message("graph\ntensor %1 : f32[] input\nend\n", 2, "next tensor number");
  expect_message("graph\ntensor %0 : f33[] input\nend\n", 2, "element type");
  expect_message("graph\ntensor %0 : f32[99999999999999999999] input\nend\n", 2, "in range");
  expect_message("graph\ntensor %0 : f32[2] input alias %7\nend\n", 3, "aliases");
  expect_message("graph\ninputs %0\nend\n", 2, "declared above");
  expect_message("graph\ntensor %0 : f32[2,3] input\ntask 0 copy reads(%0) writes()\n"
                 "stage copy f32 axes(parallel 2) ops() reads(%0[0]) writes()\nend\n",
                 4, "one axis per dimension");
  expect_message("graph\ntask 0 dance reads() writes()\nend\n", 2, "kind of a task");
  expect_message("graph\nend\nmore\n", 3, "end of the text");
  expect_message("graph\ntensor %0 : f32[] input \"abc\nend\n", 2, "closing quote");
}

/* Every prefix of a text with all constructs is refused or read, and never more than that. */
static void test_truncation(void **state) {
  (void)state;
  char *text = read_file("tests/golden/work/example.work");
  size_t length = strlen(text);
  for (size_t n = 0; n < length; n++) {
    char saved = text[n];
    text[n] = '\0';
    struct source source = {"test.work", text, n};
    struct diag_list diags;
    struct work_graph *graph = NULL;
    diag_init(&diags);
    enum status status = work_graph_parse(&source, &diags, &graph);
    assert_true(status == STATUS_OK || (status == STATUS_INPUT && diags.entries.count == 1));
    if (status == STATUS_OK) {
      work_graph_free(graph);
    }
    diag_release(&diags);
    text[n] = saved;
  }
}

static void test_deep_nesting(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_puts(&text, "graph\n");
  for (int i = 0; i < 10000; i++) {
    strbuf_puts(&text, "task 0 loop trips 1 reads() writes()\ngraph\n");
  }
  struct source source = {"test.work", strbuf_text(&text), text.length};
  struct diag_list diags;
  struct work_graph *graph = NULL;
  diag_init(&diags);
  assert_int_equal(work_graph_parse(&source, &diags, &graph), STATUS_INPUT);
  assert_non_null(strstr(diags.entries.data[0].message, "nested"));
  diag_release(&diags);
  strbuf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_example_is_canonical),
      cmocka_unit_test(test_names_are_escaped),
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_truncation),
      cmocka_unit_test(test_deep_nesting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
