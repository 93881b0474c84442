/* Checks many small programs at once: every file is cut at its "// -----" lines and each piece is parsed and checked.
 * Path: compare_verifier.py writes the pieces and reads the answers.
 *
 * Usage: check_pieces [--types] FILE...
 * One line per piece, separated by tabs: "ok", or "error", the id, the line and the message of each error (fields are
 * repeated). With --types, "ok" is followed by the types of all results of StableHLO operations after inference. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "io/input_file.h"
#include "mlir/mlir.h"

static void print_line(const char *text) {
  for (; *text != '\0'; text++) {
    putchar(*text == '\n' || *text == '\t' ? ' ' : *text);
  }
}

static void print_types(const struct ir_module *module) {
  for (uint32_t id = 1; id < module->ops.count; id++) {
    struct ir_op op = {id};
    const struct ir_op_data *data = ir_op_get(module, op);
    bool is_listed = (data->flags & IR_OP_ERASED) == 0 && strncmp(ir_text(module, data->name), "stablehlo.", 10) == 0;
    for (uint32_t i = 0; is_listed && i < data->result_count; i++) {
      struct strbuf text = {0};
      mlir_print_type(module, ir_value_type(module, ir_op_result(module, op, i)), &text);
      putchar('\t');
      print_line(strbuf_text(&text));
      strbuf_release(&text);
    }
  }
}

static void check_piece(const struct source *source, size_t start, size_t end, bool has_types) {
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = mlir_parse_piece(source, start, end, NULL, &diags, &module);
  if (status == STATUS_OK) {
    enum status inferred = analyze_infer(module, &diags);
    enum status called = analyze_calls(module, &diags);
    status = inferred != STATUS_OK ? inferred : called;
  }
  if (status == STATUS_OK) {
    fputs("ok", stdout);
    if (has_types) {
      print_types(module);
    }
  } else {
    printf("error");
    for (size_t i = 0; i < diags.entries.count; i++) {
      const struct diag *d = &diags.entries.data[i];
      if (d->severity == DIAG_ERROR) {
        printf("\t%s\t%u\t", diag_code(d->id), d->line);
        print_line(d->message);
      }
    }
  }
  putchar('\n');
  ir_module_free(module);
  diag_release(&diags);
}

static bool check_file(const char *path, bool has_types) {
  struct input_file file;
  struct diag_list diags;
  diag_init(&diags);
  bool is_read = input_file_read(&file, path, 0, &diags) == STATUS_OK;
  diag_release(&diags);
  if (!is_read) {
    fprintf(stderr, "check_pieces: cannot read '%s'\n", path);
    return false;
  }
  struct source source = {path, file.text, file.length};
  size_t count = mlir_split(&source, NULL, NULL, 0);
  size_t *starts = calloc(count + 1, sizeof *starts), *ends = calloc(count + 1, sizeof *ends);
  bool has_memory = starts != NULL && ends != NULL;
  if (has_memory) {
    mlir_split(&source, starts, ends, count);
  }
  for (size_t i = 0; has_memory && i < count; i++) {
    check_piece(&source, starts[i], ends[i], has_types);
  }
  free(starts);
  free(ends);
  input_file_release(&file);
  return has_memory;
}

int main(int argc, char **argv) {
  bool has_types = false;
  bool is_sound = true;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--types") == 0) {
      has_types = true;
    } else {
      is_sound &= check_file(argv[i], has_types);
    }
  }
  return is_sound ? 0 : 2;
}
