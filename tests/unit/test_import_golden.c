/* HLO text written by hand (tests/golden/import) and the modules that it becomes, exactly. */
#include <stdio.h>
#include <stdlib.h>

#include "import_fixture.h"

static const char *const names[] = {"constructs", "bounded"};

static char *read_golden(const char *name, const char *suffix) {
  enum { CAPACITY = 1 << 16 };
  char path[512];
  snprintf(path, sizeof path, "%s/tests/golden/import/%s%s", RDG_SOURCE_DIR, name, suffix);
  FILE *file = fopen(path, "rb");
  if (!file) {
    fail_msg("cannot open %s", path);
  }
  char *text = calloc(1, CAPACITY);
  assert_non_null(text);
  assert_true(fread(text, 1, CAPACITY - 1, file) > 0);
  fclose(file);
  return text;
}

static void golden_modules(void **state) {
  const char *name = *state;
  char *hlo = read_golden(name, ".hlo"), *mlir = read_golden(name, ".mlir");
  struct imported program;
  imported_open(&program, name, hlo);
  assert_string_equal(strbuf_text(&program.text), mlir);
  assert_int_equal(program.diags.warning_count, 0);
  imported_close(&program);
  free(hlo);
  free(mlir);
}

/* What XLA's own analysis says of the programs that its compiler left. */
static const struct counted {
  const char *name;
  int64_t flops, bytes;
} counted[] = {{"xla_grad", 8470528, 590848}, {"xla_scan", 2105345, 360621}, {"xla_softmax", 32704, 164864}};

static void counts_are_those_of_xla(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
    char *hlo = read_golden(counted[i].name, ".hlo");
    struct imported program;
    struct analyze_xla_cost cost;
    imported_open(&program, counted[i].name, hlo);
    struct ir_op entry = ir_function_entry(program.module);
    assert_int_equal(analyze_xla_function(program.module, entry, NULL, &cost), STATUS_OK);
    assert_int_equal(cost.flops, counted[i].flops);
    assert_int_equal(cost.bytes_accessed, counted[i].bytes);
    assert_true(imported_count(&program, IR_OP_MHLO_FUSION) > 0);
    imported_close(&program);
    free(hlo);
  }
}

int main(void) {
  enum { COUNT = sizeof names / sizeof names[0] };
  struct CMUnitTest tests[COUNT + 1] = {[COUNT] = cmocka_unit_test(counts_are_those_of_xla)};
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] = (struct CMUnitTest){.name = names[i], .test_func = golden_modules, .initial_state = (void *)names[i]};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
