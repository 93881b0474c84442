/* Exhausted memory: each allocation of an import fails once. It must end with STATUS_MEMORY (or with the same module), and
 * leave nothing behind. The text is the golden program with every construct. */
#include <stdio.h>
#include <stdlib.h>

#include "import_fixture.h"
/* after cmocka.h, which import_fixture.h includes */
#include "exhausted_memory.h"

enum { CAPACITY = 1 << 16 };
static char program[CAPACITY];

static enum status import_and_print(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct ir_module *module = NULL;
  enum status status = import_hlo_text(input, NULL, diags, &module);
  if (status == STATUS_OK) {
    mlir_print(module, module->root, NULL, text);
  }
  ir_module_free(module);
  return status;
}

static void each_allocation_fails(void **state) {
  (void)state;
  const struct source source = {"memory.hlo", program, strlen(program)};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(import_and_print, &source, &text), STATUS_OK);
  strbuf_release(&text);
  exhausted_check("constructs.hlo", import_and_print, &source, 100);
}

int main(void) {
  FILE *file = fopen(RDG_SOURCE_DIR "/tests/golden/import/constructs.hlo", "rb");
  if (!file) {
    return 1;
  }
  size_t length = fread(program, 1, sizeof program - 1, file);
  fclose(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_allocation_fails),
  };
  return length == 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
