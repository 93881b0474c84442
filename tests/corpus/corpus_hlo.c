/* HLO text of the corpus: imported, checked, and the module's text at a fixed point in both forms. */
#include <stdio.h>
#include <stdlib.h>
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

enum corpus_status corpus_check_hlo(const struct corpus_pieces *pieces, size_t start, size_t end, char *reason,
                                    size_t reason_size) {
  enum corpus_status status = CORPUS_UNREAD;
  struct diag_list diags;
  struct ir_module *module = NULL;
  struct strbuf pretty = {0}, generic = {0};
  diag_init(&diags);
  char *text = strndup(pieces->source.text + start, end - start); /* a source ends with a NUL byte */
  struct source source = {pieces->source.name, text, text ? end - start : 0};
  if (text && import_hlo_text(&source, NULL, &diags, &module) == STATUS_OK && analyze_infer(module, &diags) == STATUS_OK
      && analyze_calls(module, &diags) == STATUS_OK) {
    bool is_stable = corpus_check_module(module, &pretty, &generic, reason, reason_size);
    status = is_stable ? CORPUS_OK : CORPUS_UNSTABLE;
  } else {
    const struct diag *d = diags.entries.count > 0 ? &diags.entries.data[0] : NULL;
    snprintf(reason, reason_size, "%u:%u: %s | %.80s", d ? d->line : 0, d ? d->column : 0,
             d ? d->message : "no message", d && d->excerpt ? d->excerpt : "");
  }
  strbuf_release(&pretty);
  strbuf_release(&generic);
  ir_module_free(module);
  diag_release(&diags);
  free(text);
  return status;
}
