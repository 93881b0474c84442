/* Bytecode beside the texts that were listed: X.mlir.bc must read as the module that X.mlir is, up to what VHLO does not hold
 * (mlir_bytecode_drop_defaults); one without a text must read, verify, and read again from its own text. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "corpus.h"
#include "mlir/bytecode.h"

/* Artifacts that must be refused, with what the message must say. */
static const struct {
  const char *name, *message;
} refused[] = {{"invalid_vhlo_future.mlir.bc", "artifact of version 2.0.0"}};

struct check {
  struct diag_list diags;
  struct input_file file, twin_file;
  struct ir_module *module, *twin;
  char *reason;
  size_t size;
};

static bool fail(struct check *c, const char *what) {
  const struct diag *diag = c->diags.entries.count ? &c->diags.entries.data[0] : NULL;
  snprintf(c->reason, c->size, "%s%s%s", what, diag ? ": " : "", diag ? diag->message : "");
  return false;
}

static bool is_equal(struct check *c, const char *what) {
  char where[200];
  if (ir_equal(c->module, c->module->root, c->twin, c->twin->root, where, sizeof where)) {
    return true;
  }
  snprintf(c->reason, c->size, "%s: %s", what, where);
  return false;
}

static bool check_twin(struct check *c, const char *path) {
  if (input_file_read(&c->twin_file, path, 0, &c->diags) != STATUS_OK) {
    return fail(c, "the text cannot be read");
  }
  struct source source = {c->twin_file.name, c->twin_file.text, c->twin_file.length};
  if (mlir_parse(&source, NULL, &c->diags, &c->twin) != STATUS_OK) {
    return fail(c, "the text is refused");
  }
  return mlir_bytecode_drop_defaults(c->twin) ? is_equal(c, "differs from the text") : fail(c, "out of memory");
}

/* Printed text instead of a twin; then the checks of the analysis. */
static bool check_alone(struct check *c) {
  struct strbuf text = {0};
  mlir_print(c->module, c->module->root, NULL, &text);
  struct source source = {"printed", strbuf_text(&text), text.length};
  bool ok = mlir_parse(&source, NULL, &c->diags, &c->twin) == STATUS_OK ? is_equal(c, "differs from its own text")
                                                                        : fail(c, "its own text is refused");
  strbuf_release(&text);
  return ok && (analyze_infer(c->module, &c->diags) == STATUS_OK || fail(c, "does not verify"));
}

static bool is_artifact_good(struct check *c, const char *path, const char *name) {
  if (input_file_read(&c->file, path, 0, &c->diags) != STATUS_OK) {
    return fail(c, "cannot be read");
  }
  struct source source = {c->file.name, c->file.text, c->file.length};
  enum status status = mlir_bytecode_read(&source, NULL, &c->diags, &c->module);
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (strcmp(name, refused[i].name) == 0) {
      bool is_named = status == STATUS_INPUT && strstr(c->diags.entries.data[0].message, refused[i].message);
      return is_named || fail(c, "is not refused as it should");
    }
  }
  if (status != STATUS_OK) {
    return fail(c, "refused");
  }
  char twin[4096];
  snprintf(twin, sizeof twin, "%.*s", (int)(strlen(path) - strlen(".bc")), path);
  return access(twin, R_OK) == 0 ? check_twin(c, twin) : check_alone(c);
}

static bool check_artifact(const char *folder, const char *name) {
  char path[4096], reason[400] = "";
  struct check c = {.reason = reason, .size = sizeof reason};
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  diag_init(&c.diags);
  bool ok = length < (int)sizeof path && is_artifact_good(&c, path, name);
  if (!ok) {
    printf("bytecode: %s: %s\n", path, reason);
  }
  ir_module_free(c.module);
  ir_module_free(c.twin);
  input_file_release(&c.file);
  input_file_release(&c.twin_file);
  diag_release(&c.diags);
  return ok;
}

static void check_folder(const char *folder, size_t *good, size_t *count) {
  struct dirent **entries = NULL;
  int n = scandir(folder, &entries, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    size_t length = strlen(entries[i]->d_name);
    if (length > 3 && strcmp(entries[i]->d_name + length - 3, ".bc") == 0) {
      *good += check_artifact(folder, entries[i]->d_name);
      ++*count;
    }
    free(entries[i]);
  }
  free(entries);
}

/* Files of a folder follow each other in the list, apart from those of the folders within: each folder is taken once. */
static bool is_first_of_folder(const struct corpus *corpus, size_t index, size_t length) {
  for (size_t i = index; i-- > 0;) {
    const char *path = corpus->files[i].path, *slash = strrchr(path, '/');
    if (slash && (size_t)(slash - path) == length && strncmp(path, corpus->files[index].path, length) == 0) {
      return false;
    }
    if (strncmp(path, corpus->files[index].path, length) != 0) {
      return true;
    }
  }
  return true;
}

size_t corpus_report_bytecode(const struct corpus *corpus) {
  size_t good = 0, count = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    const char *path = corpus->files[i].path, *slash = strrchr(path, '/');
    char folder[4096];
    if (slash && is_first_of_folder(corpus, i, (size_t)(slash - path))) {
      snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
      check_folder(folder, &good, &count);
    }
  }
  if (count) {
    printf("bytecode: %zu of %zu\n", good, count);
  }
  return count - good;
}
