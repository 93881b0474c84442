/* Portable artifacts of whatever was read (fuzz_written.h). An artifact may say less than the module (attributes that VHLO
 * cannot tell from absent ones, symbols that become strings), so what it reads as is written and read a second time: from
 * there on nothing may change. */
#include "fuzz_written.h"

#include <string.h>

#include "mlir/bytecode.h"

enum { READ_BUDGET_BYTES = 256 << 20 };

static struct ir_module *read_artifact(const struct strbuf *artifact, struct strbuf *why) {
  struct source source = {"written", artifact->data, artifact->length};
  struct mlir_parse_options options = {.memory_budget_bytes = READ_BUDGET_BYTES, .max_depth = 600};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  if (mlir_bytecode_read(&source, &options, &diags, &module) != STATUS_OK) {
    strbuf_puts(why, "an artifact is not read again: ");
    diag_format(&diags.entries.data[0], why);
  }
  diag_release(&diags);
  return module;
}

/* False when it is refused, with a diagnostic. */
static bool write_artifact(const struct ir_module *module, const unsigned version[3], struct strbuf *artifact,
                           struct strbuf *why) {
  struct mlir_bytecode_options options = {.version = {version[0], version[1], version[2]}};
  struct diag_list diags;
  diag_init(&diags);
  enum status status = mlir_bytecode_write(module, &options, &diags, artifact);
  (void)fuzz_check_status(status, &diags, why);
  diag_release(&diags);
  return status == STATUS_OK;
}

static enum fuzz_outcome check_version(const struct ir_module *module, const unsigned version[3], struct strbuf *why) {
  struct strbuf first = {0}, second = {0};
  struct ir_module *once = NULL, *twice = NULL;
  char where[256] = "";
  enum fuzz_outcome outcome = FUZZ_REFUSED;
  if (write_artifact(module, version, &first, why)) {
    outcome = FUZZ_BROKEN;
    once = read_artifact(&first, why);
    if (once && !write_artifact(once, version, &second, why)) {
      strbuf_puts(why, "an artifact was written, read, and is refused then");
    } else if (once && (twice = read_artifact(&second, why)) != NULL) {
      bool is_equal = ir_equal(once, once->root, twice, twice->root, where, sizeof where);
      outcome = is_equal ? FUZZ_ACCEPTED : FUZZ_BROKEN;
      strbuf_puts(why, is_equal ? "" : "an artifact reads as another module: ");
      strbuf_puts(why, where);
    }
  }
  ir_module_free(once);
  ir_module_free(twice);
  strbuf_release(&first);
  strbuf_release(&second);
  return outcome;
}

enum fuzz_outcome fuzz_check_written(const struct ir_module *module, struct strbuf *why) {
  static const unsigned newest[3] = {0}, old[3] = {0, 9, 0};
  enum fuzz_outcome outcome = check_version(module, newest, why);
  return outcome == FUZZ_ACCEPTED && check_version(module, old, why) == FUZZ_BROKEN ? FUZZ_BROKEN : outcome;
}
