/* A file of the corpus cut into its pieces. Path: io/ → here → corpus_check.c, corpus_twin.c, corpus_run.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "mlir/mlir.h"

/* True when only comments and blanks are between the two places. */
static bool is_blank(const char *text, size_t start, size_t end) {
  for (size_t i = start; i < end; i++) {
    char c = text[i];
    if (c == '/' && i + 1 < end && text[i + 1] == '/') {
      while (i < end && text[i] != '\n') {
        i++;
      }
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      return false;
    }
  }
  return true;
}

/* A test whose tool is not told to split has such lines as mere comments. */
static bool is_one_piece(const char *text) {
  return strstr(text, "RUN:") != NULL && strstr(text, "split-input-file") == NULL;
}

bool corpus_pieces_read(struct corpus_pieces *pieces, const char *path, char *reason, size_t reason_size) {
  struct diag_list diags;
  diag_init(&diags);
  *pieces = (struct corpus_pieces){0};
  bool ok = input_file_read(&pieces->file, path, 0, &diags) == STATUS_OK;
  if (ok) {
    pieces->source = (struct source){path, pieces->file.text, pieces->file.length};
    size_t capacity = mlir_split(&pieces->source, NULL, NULL, 0);
    pieces->starts = calloc(capacity + 1, sizeof *pieces->starts);
    pieces->ends = calloc(capacity + 1, sizeof *pieces->ends);
    ok = pieces->starts && pieces->ends;
    size_t count = ok ? mlir_split(&pieces->source, pieces->starts, pieces->ends, capacity) : 0;
    if (count > 1 && is_one_piece(pieces->source.text)) {
      pieces->ends[0] = pieces->source.length;
      count = 1;
    }
    for (size_t i = 0; i < count; i++) {
      if (!is_blank(pieces->source.text, pieces->starts[i], pieces->ends[i])) {
        pieces->starts[pieces->count] = pieces->starts[i];
        pieces->ends[pieces->count++] = pieces->ends[i];
      }
    }
  } else {
    snprintf(reason, reason_size, "%s", diags.entries.count ? diags.entries.data[0].message : "not readable");
  }
  diag_release(&diags);
  return ok;
}

void corpus_pieces_release(struct corpus_pieces *pieces) {
  free(pieces->starts);
  free(pieces->ends);
  input_file_release(&pieces->file);
}
