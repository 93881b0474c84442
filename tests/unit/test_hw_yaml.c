/* The YAML reader: structure, places, and the subset it accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw_yaml.h"

struct fixture {
  struct arena arena;
  struct diag_list diags;
  struct source source;
};

static const struct hw_node *read(struct fixture *f, const char *text) {
  arena_init(&f->arena, 0);
  diag_init(&f->diags);
  f->source = (struct source){.name = "t.yaml", .text = text, .length = strlen(text)};
  const struct hw_node *root;
  enum status status = hw_yaml_read(&f->arena, &f->source, &f->diags, &root);
  assert_true((status == STATUS_OK) == (root != NULL));
  return root;
}

static void release(struct fixture *f) {
  arena_release(&f->arena);
  diag_release(&f->diags);
}

static void test_structure(void **state) {
  (void)state;
  struct fixture f;
  const char *text = "a: 1\nb: [x, \"y\", {c: 2}]\nd:\n  e: 'f'\n  g:\n    - 3\n";
  const struct hw_node *root = read(&f, text);
  assert_non_null(root);
  assert_int_equal(root->kind, HW_NODE_MAP);
  const struct hw_node *b = hw_node_child(root, "b");
  assert_int_equal(b->kind, HW_NODE_LIST);
  assert_true(b->first->is_plain);
  assert_false(b->first->next->is_plain);
  assert_string_equal(b->first->next->text, "y");
  assert_string_equal(hw_node_child(b->first->next->next, "c")->text, "2");
  const struct hw_node *e = hw_node_child(hw_node_child(root, "d"), "e");
  assert_string_equal(e->text, "f");
  assert_int_equal(e->offset, strstr(text, "'f'") - text);
  assert_int_equal(e->key_offset, strstr(text, "e: 'f'") - text);
  assert_null(hw_node_child(root, "z"));
  release(&f);
}

static void test_offsets_are_bytes(void **state) {
  (void)state;
  struct fixture f;
  const char *text = "a: \"\xE2\x82\xAC\"\nb: {\xC3\xA9: 1, c: 2}\n";
  const struct hw_node *root = read(&f, text);
  const struct hw_node *c = hw_node_child(hw_node_child(root, "b"), "c");
  assert_int_equal(c->offset, strstr(text, "2}") - text);
  release(&f);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum diag_id id;
    uint32_t line, column;
  } cases[] = {
      {"", DIAG_E0002_EMPTY, 1, 1},
      {"a: &x 1\n", DIAG_E0301_YAML, 1, 4},
      {"a: &x [1]\n", DIAG_E0301_YAML, 1, 4},
      {"a: &x {b: 1}\n", DIAG_E0301_YAML, 1, 4},
      {"a: !t [1]\n", DIAG_E0301_YAML, 1, 4},
      {"a: !t {b: 1}\n", DIAG_E0301_YAML, 1, 4},
      {"&x a: 1\n", DIAG_E0301_YAML, 1, 1},
      {"[a]: 1\n", DIAG_E0301_YAML, 1, 1},
      {"a: 1\nb: 2\na: 3\n", DIAG_E0302_FIELD, 3, 1},
      {"a: {b: 1, b: 2}\n", DIAG_E0302_FIELD, 1, 11},
      {"a: [1, 2\n", DIAG_E0301_YAML, 2, 1},
      {"a: 1\n---\nb: 2\n", DIAG_E0301_YAML, 2, 1},
      {"a: \"\xFF\"\n", DIAG_E0301_YAML, 1, 5},
      {"a: \x01\n", DIAG_E0301_YAML, 1, 4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture f;
    const struct hw_node *root = read(&f, cases[i].text);
    if (root != NULL || f.diags.entries.count != 1 || f.diags.entries.data[0].id != cases[i].id
        || f.diags.entries.data[0].line != cases[i].line || f.diags.entries.data[0].column != cases[i].column) {
      fail_msg("case %zu: %s %u:%u %s", i, f.diags.entries.count > 0 ? diag_code(f.diags.entries.data[0].id) : "none",
               f.diags.entries.count > 0 ? f.diags.entries.data[0].line : 0,
               f.diags.entries.count > 0 ? f.diags.entries.data[0].column : 0,
               f.diags.entries.count > 0 ? f.diags.entries.data[0].message : "");
    }
    release(&f);
  }
}

/* Every truncation of a good file either reads or gives a message; run under the sanitizers. */
static void test_truncations(void **state) {
  (void)state;
  static const char text[] =
      "id: x\nsources:\n  s: {title: \"t\", url: 'u'}\nfields:\n  a: {value: [1, {b: 2}], unit: s,\n    note: \"n\"}\n";
  for (size_t length = 0; length < sizeof text; length++) {
    char copy[sizeof text];
    memcpy(copy, text, length);
    copy[length] = '\0';
    struct fixture f;
    const struct hw_node *root = read(&f, copy);
    assert_true(root != NULL || f.diags.entries.count == 1);
    release(&f);
  }
}

static void test_memory_budget(void **state) {
  (void)state;
  struct fixture f;
  arena_init(&f.arena, 64);
  diag_init(&f.diags);
  f.source = (struct source){.name = "t.yaml", .text = "a: {b: [1, 2, 3]}\n", .length = 18};
  const struct hw_node *root;
  assert_int_equal(hw_yaml_read(&f.arena, &f.source, &f.diags, &root), STATUS_MEMORY);
  assert_null(root);
  release(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_structure),   cmocka_unit_test(test_offsets_are_bytes), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_truncations), cmocka_unit_test(test_memory_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
