/* Exhausted memory in the reader and writer of bytecode: each allocation of reading and printing an artifact fails once, for
 * the artifacts of tests/fuzz/corpus (good and damaged ones) and the small ones of the data folder; and each of writing one. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exhausted_memory.h"
#include "mlir/bytecode.h"

/* Larger ones have the same kinds of allocations, only more of them. */
enum { SIZE_MAX_BYTES = 24 << 10 };

static enum status read_and_print(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct mlir_parse_options options = {.keep_locations = true};
  struct mlir_print_options generic = {.form = MLIR_GENERIC, .locations = true};
  struct ir_module *module = NULL;
  enum status status = mlir_bytecode_read(input, &options, diags, &module);
  if (status == STATUS_OK) {
    mlir_print(module, module->root, NULL, text);
    mlir_print(module, module->root, &generic, text);
  }
  ir_module_free(module);
  return status;
}

/* Text → module → artifact → module → text. */
static enum status write_and_read(const void *input, struct diag_list *diags, struct strbuf *text) {
  struct mlir_parse_options options = {.keep_locations = true};
  struct mlir_bytecode_options newest = {.locations = true};
  struct mlir_print_options generic = {.form = MLIR_GENERIC, .locations = true};
  struct ir_module *module = NULL, *again = NULL;
  struct strbuf artifact = {0};
  enum status status = mlir_parse(input, &options, diags, &module);
  status = status == STATUS_OK ? mlir_bytecode_write(module, &newest, diags, &artifact) : status;
  const struct source source = {"written", strbuf_text(&artifact), artifact.length};
  status = status == STATUS_OK ? mlir_bytecode_read(&source, &options, diags, &again) : status;
  if (status == STATUS_OK) {
    mlir_print(again, again->root, &generic, text);
  }
  ir_module_free(again);
  ir_module_free(module);
  strbuf_release(&artifact);
  return status;
}

/* Whether the file is an artifact and small. */
static bool check_file(const char *path) {
  static char data[SIZE_MAX_BYTES + 1];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  if (size > SIZE_MAX_BYTES || !mlir_is_bytecode(data, size)) {
    return false;
  }
  struct source source = {path, data, size};
  exhausted_check(path, read_and_print, &source, 3);
  return true;
}

/* All artifacts of one folder, or every `stride`-th; returns how many were read. */
static int check_folder(const char *folder, int stride) {
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort), read = 0, seen = 0;
  for (int i = 0; i < count; i++) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (length > 3 && (size_t)length < sizeof path && strcmp(path + length - 3, ".bc") == 0 && seen++ % stride == 0) {
      read += check_file(path);
    }
    free(entries[i]);
  }
  free(entries);
  return read;
}

static void written_artifacts(void **state) {
  (void)state;
  static const char program[] =
      "func.func @main(%a: tensor<4xf32> {x.y = true}, %p: tensor<i1>) -> tensor<4xf32> {\n"
      "  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> loc(callsite(\"a\" at \"b.py\":1:2))\n"
      "  %0 = \"stablehlo.if\"(%p) ({\n"
      "    %s = stablehlo.slice %a [0:4:1] : (tensor<4xf32>) -> tensor<4xf32>\n"
      "    stablehlo.return %s : tensor<4xf32>\n"
      "  }, {\n"
      "    stablehlo.return %c : tensor<4xf32>\n"
      "  }) : (tensor<i1>) -> tensor<4xf32>\n"
      "  %1 = stablehlo.custom_call @f(%0) {backend_config = \"x\"} : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  return %1 : tensor<4xf32>\n}\n";
  const struct source source = {"program", program, strlen(program)};
  struct strbuf text = {0};
  assert_int_equal(exhausted_run_once(write_and_read, &source, &text), STATUS_OK);
  assert_true(text.length > 100);
  strbuf_release(&text);
  exhausted_check("program", write_and_read, &source, 20);
  /* no artifact can hold it */
  const char *foreign = "\"foo.x\"() {a = #foo.bar<1>} : () -> ()\n";
  const struct source refused = {"foreign", foreign, strlen(foreign)};
  exhausted_check("foreign", write_and_read, &refused, 3);
}

static void small_artifacts(void **state) {
  (void)state;
  assert_true(check_folder(RDG_SOURCE_DIR "/tests/fuzz/corpus/bytecode", 1) >= 10);
}

/* Real ones: the oldest and newest versions of VHLO, every kind of attribute. */
static void artifacts_of_the_data_folder(void **state) {
  (void)state;
  const char *data = getenv("RIDGELINE_DATA");
  static const struct {
    const char *folder;
    int stride;
  } parts[] = {{"corpus/stablehlo/tests/vhlo", 4}, {"corpus/jax_export", 12}};
  int read = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/%s", data != NULL ? data : RDG_SOURCE_DIR "/../shared/data", parts[i].folder);
    read += check_folder(folder, parts[i].stride);
  }
  if (read == 0) {
    print_message("skipped: no data\n");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_artifacts),
      cmocka_unit_test(written_artifacts),
      cmocka_unit_test(artifacts_of_the_data_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
