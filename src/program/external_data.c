/* Reads a range of a file in the directory of a model. See external_data.h. */
#include "program/external_data.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/* The directory of a path without links, with a '/' at its end; false when it does not exist. */
static bool real_directory(const char *path, char real[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  struct strbuf directory = {0};
  if (slash != NULL) {
    strbuf_add(&directory, path, (size_t)(slash - path) + 1);
  } else {
    strbuf_puts(&directory, "./");
  }
  bool ok = !directory.failed && realpath(strbuf_text(&directory), real) != NULL && strlen(real) + 2 < PATH_MAX;
  if (ok && real[strlen(real) - 1] != '/') {
    strcat(real, "/");
  }
  strbuf_release(&directory);
  return ok;
}

static bool read_range(const char *path, uint64_t offset, uint64_t length, void *to) {
  FILE *file = offset <= INT64_MAX ? fopen(path, "rb") : NULL;
  bool ok = file != NULL && fseeko(file, (off_t)offset, SEEK_SET) == 0 && fread(to, 1, length, file) == length;
  if (file != NULL) {
    (void)fclose(file);
  }
  return ok;
}

bool external_data_read(void *model_path, const char *location, uint64_t offset, uint64_t length, void *to) {
  char directory[PATH_MAX], real[PATH_MAX];
  struct strbuf joined = {0};
  if (!real_directory(model_path, directory)) {
    return false;
  }
  strbuf_puts(&joined, directory);
  strbuf_puts(&joined, location);
  bool ok = !joined.failed && realpath(strbuf_text(&joined), real) != NULL
            && strncmp(real, directory, strlen(directory)) == 0 && read_range(real, offset, length, to);
  strbuf_release(&joined);
  return ok;
}
