/* Bytecode that MLIR wrote for programs of StableHLO, CHLO and Shardy, in memory and as portable artifacts: each must equal
 * the text that MLIR printed beside it, and damage to any byte must be refused or harmless. The files are made by
 * tests/jax/write_bytecode_cases.py from tests/golden/bytecode/plain_cases.mlir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlir/bytecode.h"

static const char *const cases[] = {"attributes.plain", "attributes.vhlo", "regions.plain",
                                    "types.plain",      "mesh.plain",      "mesh.vhlo",
                                    "regions.v5",       "sharding.plain",  "sharding.vhlo"};

enum { CASE_COUNT = sizeof cases / sizeof *cases, FILE_MAX = 1 << 16 };

struct data {
  char bytes[FILE_MAX];
  size_t size;
};

static void read_file(const char *name, const char *suffix, struct data *data) {
  char path[4096];
  snprintf(path, sizeof path, "%s/tests/golden/bytecode/%s%s", RDG_SOURCE_DIR, name, suffix);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fail_msg("cannot open %s", path);
    return;
  }
  data->size = fread(data->bytes, 1, FILE_MAX - 1, file);
  data->bytes[data->size] = 0;
  fclose(file);
}

static enum status read_bytecode(const struct data *data, struct diag_list *diags, struct ir_module **module) {
  /* exactly this size, so that a sanitizer sees any read behind it */
  char *copy = malloc(data->size ? data->size : 1);
  assert_non_null(copy);
  memcpy(copy, data->bytes, data->size);
  struct source source = {"case.bc", copy, data->size};
  enum status status = mlir_bytecode_read(&source, NULL, diags, module);
  free(copy);
  return status;
}

/* Both ways through: the module of the bytes is that of MLIR's text. */
static void bytes_equal_the_text_of_mlir(void **state) {
  (void)state;
  static struct data bytes, text;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    read_file(cases[i], ".mlir.bc", &bytes);
    read_file(cases[i], ".mlir", &text);
    struct diag_list diags;
    struct ir_module *ours = NULL, *twin = NULL;
    diag_init(&diags);
    struct source source = {cases[i], text.bytes, text.size};
    if (read_bytecode(&bytes, &diags, &ours) != STATUS_OK || mlir_parse(&source, NULL, &diags, &twin) != STATUS_OK) {
      fail_msg("%s: %s", cases[i], diags.entries.data[0].message);
    }
    char where[200];
    if (!ir_equal(ours, ours->root, twin, twin->root, where, sizeof where)) {
      fail_msg("%s: %s", cases[i], where);
    }
    ir_module_free(ours);
    ir_module_free(twin);
    diag_release(&diags);
  }
}

static void damage_is_refused_with_a_message(void **state) {
  (void)state;
  static struct data bytes;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    read_file(cases[i], ".mlir.bc", &bytes);
    size_t refused = 0, whole = bytes.size;
    for (size_t step = 0; step < 2 * whole; step++) {
      size_t at = step / 2;
      char old = bytes.bytes[at];
      bytes.size = step % 2 ? at : whole; /* cut off there, or one byte changed */
      bytes.bytes[at] = (char)(step % 2 ? old : old ^ (1 << (at % 8)));
      struct diag_list diags;
      struct ir_module *module = NULL;
      diag_init(&diags);
      enum status status = read_bytecode(&bytes, &diags, &module);
      assert_true((status == STATUS_OK) == (module != NULL));
      assert_true((status == STATUS_OK) == (diags.error_count == 0));
      refused += status != STATUS_OK;
      ir_module_free(module);
      diag_release(&diags);
      bytes.bytes[at] = old;
    }
    assert_true(refused > whole); /* every cut, and some of the changes */
  }
}

/* The text of an attribute that has no code: what is no attribute is refused at its place, the rest is read. */
static void text_of_an_attribute_is_parsed(void **state) {
  (void)state;
  static struct data bytes;
  read_file("regions.plain", ".mlir.bc", &bytes);
  char *text = NULL;
  static const char wanted[] = "#chlo<precision HIGHEST>";
  for (size_t i = 0; i + sizeof wanted <= bytes.size && text == NULL; i++) {
    text = memcmp(bytes.bytes + i, wanted, sizeof wanted) == 0 ? bytes.bytes + i : NULL;
  }
  assert_non_null(text);
  text[5] = '('; /* the bracket no longer closes */
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  assert_int_equal(read_bytecode(&bytes, &diags, &module), STATUS_INPUT);
  char place[32];
  snprintf(place, sizeof place, "byte %zu: ", (size_t)(text - bytes.bytes));
  assert_true(strncmp(diags.entries.data[0].message, place, strlen(place)) == 0);
  assert_int_equal(diags.entries.count, 1);
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_equal_the_text_of_mlir),
      cmocka_unit_test(damage_is_refused_with_a_message),
      cmocka_unit_test(text_of_an_attribute_is_parsed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
