/* Artifacts that are written: every text beside which an artifact lies is written for eleven versions of StableHLO and read
 * again, which must give the module of the text, up to what VHLO does not hold (mlir_bytecode_drop_defaults). Only what a
 * version does not have yet may be refused, and nothing for the version of the artifact itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "mlir/bytecode.h"

static const char *const versions[] = {"0.9.0", "0.12.0", "0.17.0", "0.20.0", "1.0.0", "1.4.0",
                                       "1.8.0", "1.12.0", "1.16.0", "1.20.0", "(own)"};
enum { VERSION_COUNT = sizeof versions / sizeof *versions, OWN = VERSION_COUNT - 1 };

struct tally {
  size_t written, good, refused;
};

/* Version of an artifact by its producer, "StableHLO_v1.2.3"; false when it has none that can be written. */
static bool own_version(const char *path, unsigned version[3]) {
  static const char prefix[] = "StableHLO_v";
  char header[64] = "";
  FILE *file = fopen(path, "rb");
  size_t size = file ? fread(header, 1, sizeof header - 1, file) : 0;
  if (file) {
    fclose(file);
  }
  const size_t producer = 5; /* behind the magic number and the version of the container */
  return size > producer + sizeof prefix && memcmp(header + producer, prefix, sizeof prefix - 1) == 0
         && mlir_bytecode_parse_version(header + producer + sizeof prefix - 1, version);
}

/* True for an artifact, or a refusal of what the version does not have. */
static bool write_version(const struct ir_module *module, const unsigned version[3], bool is_own, struct strbuf *out,
                          char *reason, size_t size) {
  struct mlir_bytecode_options options = {.version = {version[0], version[1], version[2]}};
  struct diag_list diags;
  diag_init(&diags);
  bool ok = mlir_bytecode_write(module, &options, &diags, out) == STATUS_OK;
  const struct diag *first = diags.entries.count ? &diags.entries.data[0] : NULL;
  if (!ok && (is_own || first == NULL || first->id != DIAG_E0115_NEEDS_VERSION)) {
    snprintf(reason, size, "refused: %s", first ? first->message : "without a message");
  }
  diag_release(&diags);
  return reason[0] == '\0';
}

static bool reads_as(const struct strbuf *artifact, const struct ir_module *expected, char *reason, size_t size) {
  struct source source = {"written", artifact->data, artifact->length};
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  bool ok = mlir_bytecode_read(&source, NULL, &diags, &module) == STATUS_OK;
  if (!ok) {
    snprintf(reason, size, "not read again: %s", diags.entries.count ? diags.entries.data[0].message : "");
  }
  ok = ok && ir_equal(expected, expected->root, module, module->root, reason, size);
  ir_module_free(module);
  diag_release(&diags);
  return ok;
}

static void check_module(const char *path, const char *artifact_path, struct ir_module *module, struct tally *tally) {
  struct strbuf artifacts[VERSION_COUNT] = {{0}};
  unsigned version[3];
  char reason[300];
  for (int i = 0; i < VERSION_COUNT; i++) {
    bool is_there = i == OWN ? own_version(artifact_path, version) : mlir_bytecode_parse_version(versions[i], version);
    reason[0] = '\0';
    if (is_there && !write_version(module, version, i == OWN, &artifacts[i], reason, sizeof reason)) {
      printf("written: %s for %s: %s\n", path, versions[i], reason);
      tally->written++;
    } else if (is_there) {
      tally->refused += artifacts[i].length == 0;
      tally->written++;
      tally->good += artifacts[i].length == 0;
    }
  }
  bool ok = mlir_bytecode_drop_defaults(module);
  for (int i = 0; i < VERSION_COUNT; i++) {
    reason[0] = '\0';
    if (artifacts[i].length && ok && reads_as(&artifacts[i], module, reason, sizeof reason)) {
      tally->good++;
    } else if (artifacts[i].length) {
      printf("written: %s for %s: %s\n", path, versions[i], reason);
    }
    strbuf_release(&artifacts[i]);
  }
}

static void check_file(const char *path, const char *artifact_path, struct tally *tally) {
  struct input_file file = {0};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  if (input_file_read(&file, path, 0, &diags) == STATUS_OK) {
    struct source source = {file.name, file.text, file.length};
    if (mlir_parse(&source, NULL, &diags, &module) == STATUS_OK) { /* others are counted as unread elsewhere */
      check_module(path, artifact_path, module, tally);
    }
  }
  ir_module_free(module);
  input_file_release(&file);
  diag_release(&diags);
}

size_t corpus_report_written(const struct corpus *corpus) {
  /* an operation of a version to come, for which there is no row */
  static const char unknown[] = "invalid_vhlo_future.mlir";
  struct tally tally = {0};
  for (size_t i = 0; i < corpus->count; i++) {
    const char *path = corpus->files[i].path;
    char artifact[4096];
    int length = snprintf(artifact, sizeof artifact, "%s.bc", path);
    FILE *file = length < (int)sizeof artifact && strstr(path, unknown) == NULL ? fopen(artifact, "rb") : NULL;
    if (file) {
      fclose(file);
      check_file(path, artifact, &tally);
    }
  }
  if (tally.written) {
    printf("written artifacts: %zu of %zu (%zu of them refused by version)\n", tally.good, tally.written,
           tally.refused);
  }
  return tally.written - tally.good;
}
