/* Whole input files in memory, decompressed by content (gzip, zstd), with a limit. Path "-" reads standard input. */
#ifndef RIDGELINE_IO_INPUT_FILE_H
#define RIDGELINE_IO_INPUT_FILE_H

#include <stddef.h>

#include "base/diag.h"
#include "base/status.h"

struct input_file {
  char *text; /* NUL-terminated at text[length], owned */
  size_t length;
  char *name; /* the path as given, owned; "<stdin>" for "-" */
};

enum { INPUT_FILE_DEFAULT_LIMIT_MB = 2048 };

/* Reads and, when the first bytes say gzip or zstd, decompresses. `limit_bytes` (0 = default) bounds the decompressed
 * size. Fails with E0001, E0004 or E0005 on `diags`. */
enum status input_file_read(struct input_file *file, const char *path, size_t limit_bytes, struct diag_list *diags);
void input_file_release(struct input_file *file);

#endif
