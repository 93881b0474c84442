/* Whole files and the directories they are in. */
#include "io/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status say_failed(const char *path, int reason, struct diag_list *diags) {
  diag_file(diags, DIAG_E0006_WRITE, path, 0, 0, "cannot write '%s': %s", path, strerror(reason));
  return STATUS_IO;
}

enum status output_file_write(const char *path, const void *bytes, size_t length, struct diag_list *diags) {
  struct strbuf temporary = {0};
  strbuf_printf(&temporary, "%s.part%ld", path, (long)getpid());
  FILE *stream = temporary.failed ? NULL : fopen(strbuf_text(&temporary), "wb");
  bool ok = stream && (length == 0 || fwrite(bytes, 1, length, stream) == length);
  int reason = errno;
  if (stream && fclose(stream) != 0) {
    reason = ok ? errno : reason;
    ok = false;
  }
  if (ok && rename(strbuf_text(&temporary), path) != 0) {
    reason = errno;
    ok = false;
  }
  if (stream && !ok) {
    remove(strbuf_text(&temporary));
  }
  enum status status = ok ? STATUS_OK : temporary.failed ? STATUS_MEMORY : say_failed(path, reason, diags);
  strbuf_release(&temporary);
  return status;
}

static bool is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

enum status output_directory_make(const char *path, struct diag_list *diags) {
  struct strbuf parent = {0};
  strbuf_puts(&parent, path);
  bool is_made = !parent.failed;
  for (size_t i = 1; is_made && i <= parent.length; i++) {
    if (parent.data[i] != '/' && i < parent.length) {
      continue;
    }
    char end = parent.data[i];
    parent.data[i] = '\0';
    is_made = mkdir(parent.data, 0777) == 0 || errno == EEXIST || is_directory(parent.data);
    parent.data[i] = end;
  }
  int reason = errno;
  if (is_made && !is_directory(path)) {
    reason = ENOTDIR;
    is_made = false;
  }
  strbuf_release(&parent);
  return is_made ? STATUS_OK : say_failed(path, reason, diags);
}
