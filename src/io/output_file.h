/* Output files that appear whole or not at all. */
#ifndef RIDGELINE_IO_OUTPUT_FILE_H
#define RIDGELINE_IO_OUTPUT_FILE_H

#include <stddef.h>

#include "base/diag.h"
#include "base/status.h"

/* Writes beside the path and renames. E0006 and STATUS_IO when the file cannot be written; nothing is left behind. */
enum status output_file_write(const char *path, const void *bytes, size_t length, struct diag_list *diags);
/* Creates a directory and those above it that are missing. E0006 and STATUS_IO when it cannot be made. */
enum status output_directory_make(const char *path, struct diag_list *diags);

#endif
