/* HLO text of the corpus: imported, checked, and the module's text at a fixed point in both forms. */
#include <stdio.h>
#include <string.h>

#include "analyze/analyze.h"
#include "corpus.h"
#include "import/import.h"

bool corpus_is_hlo(const char *path) {
  static const char *const suffixes[] = {".hlo", ".hlo.gz", ".txt", ".txt.gz"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0] && strstr(path, "/hlo_text/") != NULL; i++) {
    size_t tail = strlen(suffixes[i]);
    if (length > tail && strcmp(path + length - tail, suffixes[i]) == 0) {
      return true;
    }
  }
  return false;
}

static void note(struct corpus_result *result, const struct diag_list *diags) {
  const struct diag *d = diags->entries.count > 0 ? &diags->entries.data[0] : NULL;
  snprintf(result->reason, sizeof result->reason, "%u:%u: %s | %.80s", d ? d->line : 0, d ? d->column : 0,
           d ? d->message : "no message", d && d->excerpt ? d->excerpt : "");
}

void corpus_check_hlo(const struct corpus_file *file, struct corpus_result *result) {
  struct input_file input = {0};
  struct diag_list diags;
  struct ir_module *module = NULL;
  struct strbuf pretty = {0}, generic = {0};
  diag_init(&diags);
  result->status = CORPUS_UNREAD;
  result->has_locations = true; /* not a text that could be as printed */
  result->pieces = 1;
  bool is_read = input_file_read(&input, file->path, 0, &diags) == STATUS_OK;
  struct source source = {file->relative, input.text, input.length};
  result->bytes = input.length;
  is_read = is_read && import_is_hlo_text(input.text, input.length)
            && import_hlo_text(&source, NULL, &diags, &module) == STATUS_OK
            && analyze_infer(module, &diags) == STATUS_OK && analyze_calls(module, &diags) == STATUS_OK;
  if (is_read) {
    result->pieces_read = 1;
    bool is_stable = corpus_check_module(module, &pretty, &generic, result->reason, sizeof result->reason);
    result->status = is_stable ? CORPUS_OK : CORPUS_UNSTABLE;
  } else {
    note(result, &diags);
  }
  strbuf_release(&pretty);
  strbuf_release(&generic);
  ir_module_free(module);
  diag_release(&diags);
  input_file_release(&input);
}

size_t corpus_report_hlo(const struct corpus *corpus) {
  size_t count = 0, passed = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    if (corpus_is_hlo(corpus->files[i].path)) {
      count++;
      passed += corpus->results[i].status == CORPUS_OK;
    }
  }
  if (count > 0) {
    printf("hlo: %zu of %zu\n", passed, count);
  }
  return count - passed;
}
