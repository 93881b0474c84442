/* Exhausted memory: each allocation of an import fails once. It must end with STATUS_MEMORY (or with the same module), and
 * leave nothing behind. The text is the golden program with every construct. */
#include <stdio.h>
#include <stdlib.h>

#include "allocation_fixture.h"
#include "import_fixture.h"

enum { CAPACITY = 1 << 16 };
static char program[CAPACITY];

static enum status run(struct strbuf *text) {
  struct source source = {"memory.hlo", program, strlen(program)};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  enum status status = import_hlo_text(&source, NULL, &diags, &module);
  if (status == STATUS_OK) {
    mlir_print(module, module->root, NULL, text);
  }
  ir_module_free(module);
  diag_release(&diags);
  return status;
}

/* Fails allocation n = 1, 2, ... until none is left to fail. */
static void fail_each(bool stays) {
  struct strbuf text = {0};
  assert_int_equal(run(&text), STATUS_OK);
  unsigned long n = 0;
  bool has_failed = true;
  for (; has_failed; n++) {
    struct strbuf got = {0};
    long live = allocation.live;
    allocation_arm(n, stays);
    enum status status = run(&got);
    has_failed = allocation_disarm();
    if (status != STATUS_MEMORY && status != STATUS_OK) {
      fail_msg("allocation %lu: status %d", n, (int)status);
    }
    if (status == STATUS_OK && !got.failed && strcmp(strbuf_text(&got), strbuf_text(&text)) != 0) {
      fail_msg("allocation %lu: another text\n%s", n, strbuf_text(&got));
    }
    strbuf_release(&got);
    if (allocation.live != live) {
      fail_msg("allocation %lu: %ld blocks left", n, allocation.live - live);
    }
  }
  assert_true(n > 100); /* else the wrapping does not work */
  strbuf_release(&text);
}

static void one_allocation_fails(void **state) {
  (void)state;
  fail_each(false);
}

static void memory_stays_exhausted(void **state) {
  (void)state;
  fail_each(true);
}

int main(void) {
  FILE *file = fopen(RDG_SOURCE_DIR "/tests/golden/import/constructs.hlo", "rb");
  if (!file) {
    return 1;
  }
  size_t length = fread(program, 1, sizeof program - 1, file);
  fclose(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_allocation_fails),
      cmocka_unit_test(memory_stays_exhausted),
  };
  return length == 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
