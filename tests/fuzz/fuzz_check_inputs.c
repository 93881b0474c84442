/* Properties of inputs that are no text: bytecode and files (fuzz_check.h). */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "fuzz_written.h"
#include "io/input_file.h"
#include "mlir/bytecode.h"

enum { BUDGET_BYTES = 64 << 20 };

/* Whatever is read can be printed. Not all that bytecode can say is valid, so its text may be refused; a generic text that is
 * read prints as itself. */
static enum fuzz_outcome check_printed(const struct ir_module *module, bool locations, struct strbuf *why) {
  struct mlir_print_options options = {.form = MLIR_PRETTY, .locations = locations};
  struct mlir_parse_options parse_options = {.memory_budget_bytes = BUDGET_BYTES, .keep_locations = locations};
  struct strbuf text = {0}, again_text = {0};
  mlir_print(module, module->root, &options, &text);
  strbuf_clear(&text);
  options.form = MLIR_GENERIC;
  mlir_print(module, module->root, &options, &text);
  struct source source = {.name = "generic", .text = strbuf_text(&text), .length = text.length};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *again = NULL;
  bool is_same = true;
  if (mlir_parse(&source, &parse_options, &diags, &again) == STATUS_OK) {
    mlir_print(again, again->root, &options, &again_text);
    is_same =
        again_text.length == text.length && memcmp(strbuf_text(&again_text), strbuf_text(&text), text.length) == 0;
    if (!is_same) {
      strbuf_printf(why, "the generic text is no fixed point:\n%s\n--- then\n%s", strbuf_text(&text),
                    strbuf_text(&again_text));
    }
  }
  ir_module_free(again);
  diag_release(&diags);
  strbuf_release(&text);
  strbuf_release(&again_text);
  return is_same ? FUZZ_ACCEPTED : FUZZ_BROKEN;
}

enum fuzz_outcome fuzz_check_bytecode(const char *data, size_t size, bool keep_locations, struct strbuf *why) {
  struct source source = {.name = "input", .text = data, .length = size};
  struct mlir_parse_options options = {.memory_budget_bytes = BUDGET_BYTES, .keep_locations = keep_locations};
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  enum status status = mlir_bytecode_read(&source, &options, &diags, &module);
  enum fuzz_outcome outcome = status == STATUS_OK ? FUZZ_ACCEPTED : FUZZ_REFUSED;
  if (!fuzz_check_status(status, &diags, why)) {
    outcome = FUZZ_BROKEN;
  } else if (outcome == FUZZ_ACCEPTED) {
    outcome = check_printed(module, keep_locations, why);
    if (outcome == FUZZ_ACCEPTED && fuzz_check_written(module, why) == FUZZ_BROKEN) {
      outcome = FUZZ_BROKEN;
    }
  } else if (diags.entries.count > 0) {
    diag_format(&diags.entries.data[0], why);
  }
  ir_module_free(module);
  diag_release(&diags);
  return outcome;
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

/* A file in memory with these bytes, and the path that opens it; -1 when there is none. */
static int make_file(const char *data, size_t size, char *path, size_t capacity) {
  int fd = memfd_create("input", MFD_CLOEXEC);
  for (size_t done = 0; fd >= 0 && done < size;) {
    ssize_t count = write(fd, data + done, size - done);
    if (count <= 0) {
      (void)close(fd);
      return -1;
    }
    done += (size_t)count;
  }
  (void)snprintf(path, capacity, "/proc/self/fd/%d", fd);
  return fd;
}

static bool is_sound(const struct input_file *file, enum status status, size_t limit_bytes, struct strbuf *why) {
  if (status == STATUS_OK && (file->length > limit_bytes || file->text[file->length] != '\0')) {
    strbuf_printf(why, "%zu bytes where %zu are allowed, or no 0 behind them", file->length, limit_bytes);
    return false;
  }
  if (status != STATUS_OK && (file->text != NULL || file->name != NULL)) {
    strbuf_puts(why, "a file that cannot be read has a text");
    return false;
  }
  return true;
}

enum fuzz_outcome fuzz_check_file(const struct fuzz_chips *chips, const char *data, size_t size, size_t limit_bytes,
                                  struct strbuf *why) {
  char path[64];
  int fd = make_file(data, size, path, sizeof path);
  if (fd < 0) {
    strbuf_puts(why, "no file in memory");
    return FUZZ_BROKEN;
  }
  struct input_file file;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = input_file_read(&file, path, limit_bytes, &diags);
  (void)close(fd);
  enum fuzz_outcome outcome = FUZZ_BROKEN;
  if (fuzz_check_status(status, &diags, why) && is_sound(&file, status, limit_bytes, why)) {
    outcome = FUZZ_REFUSED;
    uint64_t matrix_flops = 0;
    if (status == STATUS_OK) {
      outcome = fuzz_check_program(chips, file.text, file.length, &matrix_flops, why);
    } else if (diags.entries.count > 0) {
      diag_format(&diags.entries.data[0], why);
    }
  }
  input_file_release(&file);
  diag_release(&diags);
  return outcome;
}
