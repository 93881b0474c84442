/* Programs written by hand in both forms (tests/golden/mlir): each form is read and printed as each form, exactly. */
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

static char *read_golden(const char *name, const char *suffix) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/golden/mlir/%s%s", RDG_SOURCE_DIR, name, suffix);
  FILE *file = fopen(path, "rb");
  if (!file) {
    fail_msg("cannot open %s", path);
  }
  char *text = calloc(1, 1 << 16);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
  fclose(file);
  return text;
}

static struct ir_module *parse(const struct source *source) {
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  if (mlir_parse(source, NULL, &diags, &module) != STATUS_OK) {
    struct strbuf text = {0};
    for (size_t i = 0; i < diags.entries.count; i++) {
      diag_format(&diags.entries.data[i], &text);
    }
    print_error("%s", strbuf_text(&text));
    strbuf_release(&text);
    fail_msg("%s is not read", source->name);
  }
  diag_release(&diags);
  return module;
}

static void expect_print(const struct ir_module *module, enum mlir_form form, const char *text) {
  struct strbuf out = {0};
  mlir_print(module, module->root, &(struct mlir_print_options){.form = form}, &out);
  assert_false(out.failed);
  assert_string_equal(strbuf_text(&out), text);
  strbuf_release(&out);
}

static void both_forms_print_exactly(void **state) {
  const char *name = *state;
  char *pretty = read_golden(name, ".mlir"), *generic = read_golden(name, ".generic.mlir");
  struct source sources[2] = {{name, pretty, strlen(pretty)}, {name, generic, strlen(generic)}};
  struct ir_module *modules[2];
  for (int i = 0; i < 2; i++) {
    modules[i] = parse(&sources[i]);
    expect_print(modules[i], MLIR_PRETTY, pretty);
    expect_print(modules[i], MLIR_GENERIC, generic);
  }
  char where[200];
  if (!ir_equal(modules[0], modules[0]->root, modules[1], modules[1]->root, where, sizeof where)) {
    fail_msg("the forms of %s differ: %s", name, where);
  }
  ir_module_free(modules[0]);
  ir_module_free(modules[1]);
  free(pretty);
  free(generic);
}

int main(void) {
  enum { COUNT = sizeof names / sizeof names[0] };
  struct CMUnitTest tests[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    tests[i] = (struct CMUnitTest){names[i], both_forms_print_exactly, NULL, NULL, (void *)(uintptr_t)names[i]};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
