/* Writing of portable artifacts with an allocation that fails: every one in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "mlir/bytecode.h"

static const char program[] =
    "sdy.mesh @m = <[\"x\"=2, \"y\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>\n"
    "func.func @f(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\", ?}p1, {}], replicated={\"y\"}>}, %b: "
    "tensor<?x!quant.uniform<u8:f32:0, {1.0,2.0}>, #stablehlo.bounds<3>>) -> tensor<8x8xf32> attributes {x.y = [1, "
    "unit, "
    "@f::@g, {a = \"b\"}]} {\n"
    "  %0 = sdy.sharding_constraint %a <@m, [{\"x\"}, {\"y\":(1)2}]> : tensor<8x8xf32>\n"
    "  %1 = stablehlo.add %0, %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}], unreduced={\"x\"}>]>} : "
    "tensor<8x8xf32> loc(callsite(\"n\"(\"f\":1:2) at fused[\"x\", unknown]))\n"
    "  %2 = stablehlo.custom_call @c(%1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, jk]) {i=8, j=2, "
    "k=4} "
    "reduction={j}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  %c = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>\n"
    "  %d = stablehlo.constant dense<[1, -1]> : tensor<2xi4>\n"
    "  %r = stablehlo.constant dense_resource<b> : tensor<2xf32>\n"
    "  %3 = stablehlo.exponential %2 {result_accuracy = #stablehlo.result_accuracy<ulps = 1, mode = "
    "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<8x8xf32>\n"
    "  return %3 : tensor<8x8xf32>\n}\n"
    "{-#\n  dialect_resources: {\n    builtin: {\n      b: \"0x400000000000803F00000040\"\n    }\n  }\n#-}\n";

struct input {
  const struct ir_module *module;
  const char *version;
};

/* The artifact as digits, so that its bytes may be 0. */
static enum status write_module(const void *user, struct diag_list *diags, struct strbuf *text) {
  static const char digits[] = "0123456789abcdef";
  const struct input *input = user;
  struct mlir_bytecode_options options = {.locations = true};
  struct strbuf artifact = {0};
  (void)mlir_bytecode_parse_version(input->version, options.version);
  enum status status = mlir_bytecode_write(input->module, &options, diags, &artifact);
  for (size_t i = 0; i < artifact.length; i++) {
    strbuf_putc(text, digits[(unsigned char)artifact.data[i] >> 4]);
    strbuf_putc(text, digits[(unsigned char)artifact.data[i] & 15]);
  }
  strbuf_release(&artifact);
  return status;
}

static struct ir_module *parse(struct diag_list *diags) {
  struct mlir_parse_options options = {.keep_locations = true};
  struct source source = {"test.mlir", program, sizeof program - 1};
  struct ir_module *module = NULL;
  diag_init(diags);
  if (mlir_parse(&source, &options, diags, &module) != STATUS_OK) {
    fail_msg("%s", diags->entries.data[0].message);
  }
  return module;
}

static void fail_all(const char *version, bool is_written) {
  struct diag_list diags;
  struct ir_module *module = parse(&diags);
  struct input input = {module, version};
  struct strbuf text = {0};
  assert_int_equal(write_module(&input, &diags, &text), is_written ? STATUS_OK : STATUS_INPUT);
  strbuf_release(&text);
  exhausted_check(version, write_module, &input, 10);
  ir_module_free(module);
  diag_release(&diags);
}

static void test_written(void **state) {
  (void)state;
  fail_all("1.20.0", true);
}

static void test_refused(void **state) {
  (void)state;
  fail_all("0.9.0", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_written), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
