/* The ONNX importer on models of one node: bound dimensions, messages, data in other files, damaged bytes. What operators
 * compute is compared with onnxruntime in tests/onnx. */
#include <stdio.h>
#include <stdlib.h>

#include "onnx_fixture.h"

static void model_of(struct strbuf *model, const char *type, const char *x, const char *y, int64_t version) {
  struct strbuf graph = {0};
  pb_node(&graph, type, "x", "y", "z");
  pb_value(&graph, 11, "x", x);
  pb_value(&graph, 11, "y", y);
  pb_value(&graph, 12, "z", "");
  pb_model(model, &graph, version);
}

/* Dimensions of the only result of @main. */
static void expect_result(const struct onnx_imported *result, const int64_t *dims, uint32_t rank) {
  assert_int_equal(result->status, STATUS_OK);
  struct ir_op main_function = ir_function_find(result->module, "main");
  const struct ir_type_data *type = ir_type_get(result->module, ir_function_type(result->module, main_function));
  struct ir_type last = {result->module->lists.data[type->first + type->count - 1]};
  assert_int_equal(ir_type_get(result->module, last)->rank, rank);
  for (uint32_t i = 0; i < rank; i++) {
    assert_int_equal(ir_type_dims(result->module, last)[i], dims[i]);
  }
}

static void recognised_by_content(void **state) {
  (void)state;
  struct strbuf model = {0};
  model_of(&model, "Add", "2 3", "3", 17);
  assert_true(import_is_onnx(model.data, model.length));
  assert_false(import_is_onnx("module {}", 9));
  assert_false(import_is_onnx("HloModule m", 11));
  assert_false(import_is_onnx("ML\xefR\x06", 5));
  assert_false(import_is_onnx("\b", 1));
  assert_false(import_is_onnx("\b\b\b", 3)); /* twice a version */
  strbuf_release(&model);
}

static void numpy_broadcasting(void **state) {
  (void)state;
  struct strbuf model = {0};
  model_of(&model, "Add", "2 1 4", "3 1", 17);
  struct onnx_imported result = onnx_open(&model, NULL);
  expect_result(&result, (int64_t[]){2, 3, 4}, 3);
  onnx_close(&result);
  strbuf_release(&model);
  model_of(&model, "Add", "2 3", "4", 17);
  onnx_expect_refused(&model, NULL, DIAG_E0206_ATTRIBUTE_VALUE, "node 'here' (Add)");
  strbuf_release(&model);
}

static void bound_dimensions(void **state) {
  (void)state;
  struct strbuf model = {0};
  model_of(&model, "MatMul", "batch 3", "3 width", 17);
  onnx_expect_refused(&model, NULL, DIAG_E0401_DYNAMIC, "'batch', 'width'");
  static const struct {
    const char *binds[2];
    size_t count;
  } right[] = {{{"batch=8", "width=5"}, 2},
               {{"x=8x3", "y=?x5"}, 2},
               {{"arg0=8x?", "width=5"}, 2},
               {{"%arg1=3x5", "batch=8"}, 2}};
  for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
    struct import_options options = {.binds = right[i].binds, .bind_count = right[i].count};
    struct onnx_imported result = onnx_open(&model, &options);
    expect_result(&result, (int64_t[]){8, 5}, 2);
    onnx_close(&result);
  }
  static const struct {
    const char *bind, *words;
  } wrong[] = {{"batch", "expected dimension=size"},
               {"batch=", "no such dimension"},
               {"batch=x", "expected"},
               {"height=3", "no such"},
               {"x=8x4", "dimension 1 is 3"},
               {"x=8", "2 dimensions"},
               {"batch=99999999999999999999", "expected"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct import_options options = {.binds = &wrong[i].bind, .bind_count = 1};
    onnx_expect_refused(&model, &options, DIAG_E0112_BIND, wrong[i].words);
  }
  const char *twice[] = {"batch=8", "x=9x3"};
  struct import_options options = {.binds = twice, .bind_count = 2};
  onnx_expect_refused(&model, &options, DIAG_E0112_BIND, "8 and to 9");
  strbuf_release(&model);
}

static void unknown_operators(void **state) {
  (void)state;
  struct strbuf model = {0};
  model_of(&model, "Addd", "2", "2", 17);
  onnx_expect_refused(&model, NULL, DIAG_E0109_UNKNOWN_OP, "did you mean 'Add'");
  strbuf_release(&model);
  model_of(&model, "Gelu", "2", "2", 17); /* known since version 20 */
  onnx_expect_refused(&model, NULL, DIAG_E0109_UNKNOWN_OP, "from 20");
  strbuf_release(&model);
  model_of(&model, "Add", "2", "2", 99);
  onnx_expect_refused(&model, NULL, DIAG_E0109_UNKNOWN_OP, "operator set 99");
  strbuf_release(&model);
  model_of(&model, "NonZero", "2", "2", 17);
  onnx_expect_refused(&model, NULL, DIAG_E0109_UNKNOWN_OP, "depends on data");
  strbuf_release(&model);
}

/* ---- data in other files ---- */

static void external_model(struct strbuf *model, const char *location, const char *length) {
  static const char *const keys[] = {"location", "offset", "length"};
  const char *values[] = {location, "4", length};
  struct strbuf graph = {0}, tensor = {0};
  pb_int(&tensor, 1, 2);
  pb_int(&tensor, 2, 1);
  pb_text(&tensor, 8, "w");
  for (int i = 0; i < 3; i++) {
    struct strbuf entry = {0};
    pb_text(&entry, 1, keys[i]);
    pb_text(&entry, 2, values[i]);
    pb_message(&tensor, 13, &entry);
  }
  pb_int(&tensor, 14, 1);
  pb_node(&graph, "Add", "x", "w", "z");
  pb_message(&graph, 5, &tensor);
  pb_value(&graph, 11, "x", "2");
  pb_value(&graph, 12, "z", "2");
  pb_model(model, &graph, 17);
}

static bool read_numbers(void *user, const char *location, uint64_t offset, uint64_t length, void *to) {
  static const float numbers[] = {1.5f, -2.5f};
  assert_string_equal(location, "dir/w.bin");
  assert_int_equal(offset, 4);
  assert_int_equal(length, 8);
  memcpy(to, numbers, sizeof numbers);
  return *(bool *)user;
}

static struct ir_attr constant_value(const struct ir_module *m) {
  for (uint32_t id = 1; id < m->ops.count; id++) {
    if (m->ops.data[id].opcode == IR_OP_CONSTANT) {
      return ir_op_attr(m, (struct ir_op){id}, "value");
    }
  }
  fail_msg("no constant");
  return (struct ir_attr){0};
}

static void external_data(void **state) {
  (void)state;
  struct strbuf model = {0};
  bool is_there = true;
  struct import_options options = {.read_external = read_numbers, .external_user = &is_there};
  external_model(&model, "dir/w.bin", "8");
  struct onnx_imported result = onnx_open(&model, &options);
  assert_int_equal(result.status, STATUS_OK);
  float numbers[2];
  memcpy(numbers, ir_attr_get(result.module, constant_value(result.module))->data, sizeof numbers);
  assert_true(numbers[0] == 1.5f && numbers[1] == -2.5f);
  onnx_close(&result);
  result = onnx_open(&model, NULL); /* nothing is read: a reference */
  assert_int_equal(ir_attr_get(result.module, constant_value(result.module))->kind, IR_ATTR_RESOURCE);
  onnx_close(&result);
  is_there = false;
  onnx_expect_refused(&model, &options, DIAG_E0001_OPEN, "'dir/w.bin'");
  strbuf_release(&model);
  static const char *const outside[] = {"/etc/passwd", "../w.bin", "a/../../w.bin", "..", "", "a\\..\\b"};
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    external_model(&model, outside[i], "8");
    onnx_expect_refused(&model, &options, DIAG_E0206_ATTRIBUTE_VALUE, "refused");
    strbuf_release(&model);
  }
  external_model(&model, "dir/w.bin", "12");
  onnx_expect_refused(&model, &options, DIAG_E0206_ATTRIBUTE_VALUE, "8 bytes");
  strbuf_release(&model);
}

/* ---- damage ---- */

/* Cut anywhere, or with any byte changed, a model is imported or refused with a message. Bytes are in memory of their very
 * length, so that a sanitizer sees any read behind the end. */
static void damaged_bytes(void **state) {
  (void)state;
  struct strbuf model = {0};
  external_model(&model, "w.bin", "8");
  for (size_t i = 0; i < model.length; i++) {
    for (int change = 0; change < 4; change++) {
      size_t length = change == 0 ? i : model.length;
      char *bytes = malloc(length + (length == 0));
      assert_non_null(bytes);
      memcpy(bytes, model.data, length);
      if (change > 0) {
        bytes[i] = (char)(change == 1 ? 0xff : change == 2 ? bytes[i] ^ 1 : 0);
      }
      struct source source = {"m.onnx", bytes, length};
      struct diag_list diags;
      struct ir_module *module = NULL;
      diag_init(&diags);
      enum status status = import_onnx(&source, NULL, &diags, &module);
      assert_true((status == STATUS_OK) == (diags.error_count == 0));
      assert_true((status == STATUS_OK) == (module != NULL));
      ir_module_free(module);
      diag_release(&diags);
      free(bytes);
    }
  }
  model.length -= 3;
  onnx_expect_refused(&model, NULL, DIAG_E0003_FORMAT, "at byte");
  strbuf_release(&model);
}

/* Whatever the budget, the import ends with a module or with a message that says the limit. */
static void small_budgets(void **state) {
  (void)state;
  struct strbuf model = {0};
  size_t imported = 0;
  model_of(&model, "MatMul", "2 3", "4 3 5", 17);
  for (size_t budget = 1; budget < 300000; budget += 1 + budget / 16) {
    struct import_options options = {.memory_budget_bytes = budget};
    struct source source = {"m.onnx", model.data, model.length};
    struct diag_list diags;
    struct ir_module *module = NULL;
    diag_init(&diags);
    enum status status = import_onnx(&source, &options, &diags, &module);
    assert_true(status == STATUS_OK || status == STATUS_MEMORY);
    assert_true((status == STATUS_OK) == (diags.error_count == 0));
    imported += status == STATUS_OK;
    ir_module_free(module);
    diag_release(&diags);
  }
  assert_true(imported > 0);
  strbuf_release(&model);
}

/* Graphs within attributes within nodes: deeper than the limit is refused, not run through the stack. */
static void deep_nesting(void **state) {
  (void)state;
  struct strbuf graph = {0}, model = {0};
  pb_node(&graph, "Identity", "x", NULL, "y");
  for (int i = 0; i < 2000; i++) {
    struct strbuf attribute = {0}, node = {0};
    pb_message(&attribute, 6, &graph);
    pb_text(&node, 4, "If");
    pb_message(&node, 5, &attribute);
    pb_message(&graph, 1, &node);
  }
  pb_model(&model, &graph, 17);
  onnx_expect_refused(&model, NULL, DIAG_E0005_LIMIT, "nested too deeply");
  strbuf_release(&model);
}

/* 2^40 calls of functions that each call the next one twice. */
static void exploding_functions(void **state) {
  (void)state;
  struct strbuf graph = {0}, model = {0};
  char name[16], next[16];
  struct strbuf functions = {0};
  for (int i = 0; i < 40; i++) {
    struct strbuf function = {0}, node[2] = {{0}, {0}};
    snprintf(name, sizeof name, "f%d", i);
    snprintf(next, sizeof next, "f%d", i + 1);
    pb_text(&function, 1, name);
    pb_text(&function, 4, "a");
    pb_text(&function, 5, "c");
    for (int k = 0; k < 2; k++) {
      pb_text(&node[k], 1, k == 0 ? "a" : "b");
      pb_text(&node[k], 2, k == 0 ? "b" : "c");
      pb_text(&node[k], 4, i < 39 ? next : "Neg");
      pb_text(&node[k], 7, i < 39 ? "d" : "");
      pb_message(&function, 7, &node[k]);
    }
    pb_text(&function, 10, "d");
    pb_message(&functions, 25, &function);
  }
  struct strbuf call = {0};
  pb_text(&call, 1, "x");
  pb_text(&call, 2, "y");
  pb_text(&call, 4, "f0");
  pb_text(&call, 7, "d");
  pb_message(&graph, 1, &call);
  pb_value(&graph, 11, "x", "2");
  pb_value(&graph, 12, "y", "2");
  pb_model(&model, &graph, 17);
  strbuf_add(&model, functions.data, functions.length);
  strbuf_release(&functions);
  struct onnx_imported result = onnx_open(&model, NULL);
  assert_true(result.status == STATUS_LIMIT || result.status == STATUS_MEMORY);
  onnx_close(&result);
  strbuf_release(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recognised_by_content), cmocka_unit_test(numpy_broadcasting),
      cmocka_unit_test(bound_dimensions),      cmocka_unit_test(unknown_operators),
      cmocka_unit_test(external_data),         cmocka_unit_test(damaged_bytes),
      cmocka_unit_test(deep_nesting),          cmocka_unit_test(small_budgets),
      cmocka_unit_test(exploding_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
