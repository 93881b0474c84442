/* The corpus test's result as JSON: gate, rows per folder, files that failed. Path: corpus_report.c → here. */
#include "corpus.h"

static void print_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      fprintf(out, "\\%c", c);
    } else if (c < 0x20 || c >= 0x7F) {
      fprintf(out, "\\u%04x", c);
    } else {
      fputc(c, out);
    }
  }
  fputc('"', out);
}

static void write_rows(FILE *out, const struct corpus_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    fprintf(out, "%s\n    {\"folder\": ", i ? "," : "");
    print_text(out, rows[i].folder);
    fprintf(out,
            ", \"files\": %zu, \"read\": %zu, \"fixed_point\": %zu, \"twins\": %zu, \"twins_equal\": %zu, "
            "\"foreign\": %zu, \"listed\": %zu, \"failed\": %zu, \"as_printed\": %zu, \"without_locations\": %zu}",
            rows[i].files, rows[i].read, rows[i].fixed, rows[i].twins, rows[i].twins_equal, rows[i].foreign,
            rows[i].listed, rows[i].failed, rows[i].as_printed, rows[i].without_locations);
  }
}

bool corpus_write_json(const struct corpus *corpus, const char *path, const struct corpus_row *rows, size_t count,
                       size_t passed, size_t total, double seconds) {
  FILE *out = fopen(path, "w");
  if (!out) {
    return false;
  }
  fprintf(out, "{\n  \"gate\": {\"passed\": %zu, \"of\": %zu},\n  \"seconds\": %.2f,\n  \"folders\": [", passed, total,
          seconds);
  write_rows(out, rows, count);
  fprintf(out, "\n  ],\n  \"failures\": [");
  const char *separator = "";
  for (size_t i = 0; i < corpus->count; i++) {
    const struct corpus_result *r = &corpus->results[i];
    if (r->status == CORPUS_OK) {
      continue;
    }
    fprintf(out, "%s\n    {\"path\": ", separator);
    separator = ",";
    print_text(out, corpus->files[i].relative);
    fprintf(out, ", \"is_foreign\": %s, \"reason\": ", r->status == CORPUS_FOREIGN ? "true" : "false");
    print_text(out, r->status == CORPUS_FOREIGN ? r->foreign : r->reason);
    fputc('}', out);
  }
  fprintf(out, "\n  ]\n}\n");
  return fclose(out) == 0;
}
