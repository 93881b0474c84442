/* mhlo.scan and sdy.sharded_to_unreduced have rows of their own: read from the pretty form, printed in it or in the generic
 * one, and the same when read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ir.h"
#include "mlir/mlir.h"

static struct ir_module *parse(const char *text) {
  struct source source = {"test.mlir", text, strlen(text)};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  if (mlir_parse(&source, NULL, &diags, &module) != STATUS_OK) {
    fail_msg("%s", diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
  }
  diag_release(&diags);
  return module;
}

static unsigned count_of(const struct ir_module *module, enum ir_opcode opcode) {
  unsigned count = 0;
  for (uint32_t id = 1; id < module->ops.count; id++) {
    count += ir_op_code(module, (struct ir_op){id}) == opcode;
  }
  return count;
}

/* Both printed forms hold the op and read back as the same module; `part` stands in the pretty one. */
static void check_forms(const char *text, enum ir_opcode opcode, const char *part) {
  struct ir_module *module = parse(text);
  assert_int_equal(count_of(module, opcode), 1);
  for (int form = 0; form < 2; form++) {
    struct mlir_print_options options = {.form = form == 0 ? MLIR_PRETTY : MLIR_GENERIC};
    struct strbuf printed = {0};
    char where[160];
    mlir_print(module, module->root, &options, &printed);
    if (form == 0 && strstr(strbuf_text(&printed), part) == NULL) {
      fail_msg("'%s' is not in:\n%s", part, strbuf_text(&printed));
    }
    struct ir_module *again = parse(strbuf_text(&printed));
    assert_int_equal(count_of(again, opcode), 1);
    assert_true(ir_equal(module, module->root, again, again->root, where, sizeof where));
    ir_module_free(again);
    strbuf_release(&printed);
  }
  ir_module_free(module);
}

static void test_sharded_to_unreduced(void **state) {
  (void)state;
  check_forms(
      "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n"
      "func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
      "  %0 = sdy.sharded_to_unreduced [{\"y\"}, {}] %a out_sharding=<@mesh, [{\"x\"}, {}], unreduced={\"y\"}> : "
      "tensor<8x8xf32>\n"
      "  return %0 : tensor<8x8xf32>\n}\n",
      IR_OP_SDY_SHARDED_TO_UNREDUCED,
      "sdy.sharded_to_unreduced [{\"y\"}, {}] %arg0 out_sharding=<@mesh, [{\"x\"}, {}], unreduced={\"y\"}> : "
      "tensor<8x8xf32>");
}

static void test_scan(void **state) {
  (void)state;
  check_forms("func.func @main(%a: tensor<5x7xf32>, %b: tensor<7xf32>) -> tensor<5x7xf32> {\n"
              "  %0:2 = mhlo.scan (%a) inits (%b) dimension=0 attributes {is_associative = false} {\n"
              "  ^bb0(%x: tensor<7xf32>, %y: tensor<7xf32>):\n"
              "    %1 = mhlo.maximum %x, %y : tensor<7xf32>\n"
              "    mhlo.return %1, %1 : tensor<7xf32>, tensor<7xf32>\n"
              "  } : (tensor<5x7xf32>, tensor<7xf32>) -> (tensor<5x7xf32>, tensor<7xf32>)\n"
              "  return %0#0 : tensor<5x7xf32>\n}\n",
              IR_OP_MHLO_SCAN, "mhlo.scan");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sharded_to_unreduced), cmocka_unit_test(test_scan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
