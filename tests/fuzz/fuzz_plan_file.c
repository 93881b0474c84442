/* Fuzz target: plan files. What is read is written as the same text again; the checker answers; what it accepts becomes a core
 * program that keeps the invariants. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "plan/plan_check.h"
#include "plan/plan_core_program.h"

static bool comes_back(const struct plan_file *file, struct strbuf *why) {
  struct strbuf text = {0}, again = {0};
  struct diag_list diags;
  struct plan_file other;
  diag_init(&diags);
  bool is_good = plan_file_write(file, &text) == STATUS_OK
                 && plan_file_read("again.json", text.data, text.length, &diags, &other) == STATUS_OK;
  if (is_good) {
    is_good = plan_file_write(&other, &again) == STATUS_OK && strcmp(strbuf_text(&text), strbuf_text(&again)) == 0;
    plan_file_release(&other);
  }
  if (!is_good) {
    strbuf_puts(why, "a plan file that was read and written is another one");
  }
  diag_release(&diags);
  strbuf_release(&text);
  strbuf_release(&again);
  return is_good;
}

static bool becomes_program(const struct plan_file *file, struct strbuf *why) {
  struct diag_list diags;
  struct core_program program;
  diag_init(&diags);
  enum status status = plan_core_program(file, &diags, &program);
  bool is_good = fuzz_check_status(status, &diags, why);
  if (is_good && status == STATUS_INPUT) {
    strbuf_puts(why, "a plan that the checker accepts has no core program");
    is_good = false;
  }
  if (is_good && status == STATUS_OK && core_program_verify(&program, &diags) != STATUS_OK) {
    strbuf_puts(why, diags.entries.data[0].message);
    is_good = false;
  }
  core_program_release(&program);
  diag_release(&diags);
  return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct diag_list diags;
  struct plan_file file;
  struct strbuf why = {0};
  diag_init(&diags);
  enum status status = plan_file_read("plan.json", (const char *)data, size, &diags, &file);
  bool is_good = fuzz_check_status(status, &diags, &why);
  if (is_good && status == STATUS_OK) {
    is_good = comes_back(&file, &why);
    status = plan_check(&file, "plan.json", &diags);
    is_good = is_good && fuzz_check_status(status, &diags, &why);
    is_good = is_good && (status != STATUS_OK || becomes_program(&file, &why));
  }
  plan_file_release(&file);
  diag_release(&diags);
  fuzz_require(is_good ? FUZZ_ACCEPTED : FUZZ_BROKEN, &why);
  strbuf_release(&why);
  return 0;
}
