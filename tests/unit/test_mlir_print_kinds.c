/* An attribute of the wrong kind, on every operation of the programs in tests/golden/mlir and in every attribute of it: the
 * pretty form must say the same as the generic one, which can say everything. MLIR's verifier refuses such programs; here
 * they are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlir/mlir.h"

static const char *const names[] = {"elementwise", "constants", "shapes",   "regions", "matrix",
                                    "functions",   "calls",     "sharding", "unknown", "tests",
                                    "layers",      "blocks",    "dialects", "vhlo",    "attributes"};

/* One attribute of each kind, and of each type that some pretty form writes without its type. */
static const char kinds_text[] =
    "\n\"t.kinds\"() {k00 = unit, k01 = true, k02 = 1 : i64, k03 = 1 : i32, k04 = -1 : i64, k05 = 1 : ui64,\n"
    "  k06 = 1.0 : f64, k07 = 1.0 : f32, k08 = \"s\", k09 = \"s\" : i32, k10 = @s, k11 = @s::@t, k12 = i32, k13 = "
    "[1],\n"
    "  k14 = [], k15 = {}, k16 = {a = 1}, k17 = array<i64: 1, 2>, k18 = array<i32: 1, 1>, k19 = array<i1: true>,\n"
    "  k20 = dense<1> : tensor<2xi64>, k21 = dense<1> : tensor<1x2xi64>, k22 = dense<1.0> : tensor<2xf32>,\n"
    "  k23 = #stablehlo<precision HIGH>, k24 = #stablehlo.dot<>, k25 = #t.x<1>, k26 = #sdy.sharding<@m, [{}]>,\n"
    "  k27 = #sdy<axis_ref_list{\"x\"}>, k28 = (i32) -> i32, k29 = #mhlo<comparison_direction EQ>, k30 = -1 : i32,\n"
    "  k31 = array<i64>, k32 = \"\", k33 = [{}], k34 = #mhlo.dot<>, k35 = [#mhlo<precision HIGH>],\n"
    "  k36 = dense_resource<r> : tensor<2xf32>, k37 = 7 : i8} : () -> ()\n";

static char *read_golden(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/golden/mlir/%s.mlir", RDG_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  if (!file) {
    fail_msg("cannot open %s", path);
  }
  char *text = calloc(1, (1 << 16) + sizeof kinds_text);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
  fclose(file);
  strcat(text, kinds_text);
  return text;
}

static struct ir_module *parse(const char *name, const char *text, size_t length) {
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  struct source source = {name, text, length};
  if (mlir_parse(&source, NULL, &diags, &module) != STATUS_OK) {
    struct strbuf message = {0};
    diag_format(&diags.entries.data[0], &message);
    print_error("%s", strbuf_text(&message));
    strbuf_release(&message);
    fail_msg("%s is not read", name);
  }
  diag_release(&diags);
  return module;
}

/* What is read from one printed form of a module. The text must outlive what is read. */
static struct ir_module *read_printed(const struct ir_module *module, enum mlir_form form, struct strbuf *text) {
  mlir_print(module, module->root, &(struct mlir_print_options){.form = form}, text);
  assert_false(text->failed);
  return parse(form == MLIR_GENERIC ? "the generic form" : "the pretty form", strbuf_text(text), text->length);
}

static void expect_forms_agree(const struct ir_module *module, struct ir_op op, const char *attribute) {
  struct strbuf generic = {0}, pretty = {0};
  struct ir_module *from_generic = read_printed(module, MLIR_GENERIC, &generic);
  struct ir_module *from_pretty = read_printed(module, MLIR_PRETTY, &pretty);
  char where[200];
  if (!ir_equal(from_generic, from_generic->root, from_pretty, from_pretty->root, where, sizeof where)) {
    struct strbuf text = {0};
    mlir_print(module, op, NULL, &text);
    print_error("%s", strbuf_text(&text));
    strbuf_release(&text);
    fail_msg("'%s' with another attribute '%s': %s", ir_text(module, ir_op_get(module, op)->name), attribute, where);
  }
  ir_module_free(from_generic);
  ir_module_free(from_pretty);
  strbuf_release(&generic);
  strbuf_release(&pretty);
}

/* Handles of all ops are 1 ... count; the last one made is the root, the one before it "t.kinds". */
static void wrong_kinds_print_what_they_are(void **state) {
  char *text = read_golden(*state);
  struct ir_module *module = parse(*state, text, strlen(text));
  struct ir_op kinds = {0};
  size_t count = module->ops.count;
  for (uint32_t i = 1; i < count; i++) {
    kinds.id = strcmp(ir_text(module, ir_op_get(module, (struct ir_op){i})->name), "t.kinds") == 0 ? i : kinds.id;
  }
  assert_true(kinds.id != 0);
  uint32_t kind_count = ir_op_get(module, kinds)->attr_count;
  assert_int_equal(kind_count, 38);
  for (uint32_t i = 1; i < kinds.id; i++) {
    struct ir_op op = {i};
    for (uint32_t a = 0; a < ir_op_get(module, op)->attr_count; a++) {
      const uint32_t *pair = module->lists.data + ir_op_get(module, op)->attr_first + 2 * a;
      const char *name = ir_text(module, pair[0]);
      struct ir_attr kept = {pair[1]};
      for (uint32_t k = 0; k < kind_count; k++) {
        struct ir_attr other = {module->lists.data[ir_op_get(module, kinds)->attr_first + 2 * k + 1]};
        assert_true(ir_op_set_attr(module, op, name, other));
        expect_forms_agree(module, op, name);
      }
      assert_true(ir_op_set_attr(module, op, name, kept));
    }
  }
  ir_module_free(module);
  free(text);
}

int main(void) {
  enum { COUNT = sizeof names / sizeof names[0] };
  struct CMUnitTest tests[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] = (struct CMUnitTest){names[i], wrong_kinds_print_what_they_are, NULL, NULL, (void *)(uintptr_t)names[i]};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
