/* Arrays in numpy's files: .npy (one array, format 1.0 to 3.0) and .npz (a zip archive of them). The bytes of a file are not
 * trusted: sizes are what the file can hold, and nothing is allocated that goes over the budget.
 * Format: numpy.lib.format. Path: file → arrays → inputs of a run, and results → file. */
#ifndef RIDGELINE_IO_NPY_H
#define RIDGELINE_IO_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { NPY_MAX_RANK = 64 }; /* numpy's own limit */

/* Row-major, little-endian; i1 is 0 or 1. */
struct npy_array {
  char *name; /* of an archive: without ".npy"; else "" */
  enum dtype dtype; /* DTYPE_NONE: opaque elements, as the types of ml_dtypes are saved */
  uint32_t element_bytes;
  uint32_t rank;
  uint64_t count; /* elements */
  int64_t *dims;
  uint8_t *data;
  size_t size_bytes;
  void *memory; /* that `data` lies in */
};

struct npy_arrays {
  VEC(struct npy_array) items;
};

/* Reads a .npy or .npz file (also .gz, .zst; "-"), recognised by content. `budget_bytes` bounds the file and each array.
 * E0001, E0003, E0004, E0005. Release in any case. */
enum status npy_read(struct npy_arrays *arrays, const char *path, uint64_t budget_bytes, struct diag_list *diags);
/* The same from bytes. `name` stands for the file in messages. */
enum status npy_parse(struct npy_arrays *arrays, const char *name, const void *bytes, size_t length,
                      uint64_t budget_bytes, struct diag_list *diags);
void npy_release(struct npy_arrays *arrays);

/* An array to be written; `dtype` and layout as in memory: types narrower than a byte have one byte per element. */
struct npy_source {
  const char *name; /* in an archive */
  enum dtype dtype;
  uint32_t rank;
  const int64_t *dims;
  const void *data;
  size_t size_bytes;
};
/* Appends what stands before the data in a .npy file (format 1.0). */
void npy_header(const struct npy_source *source, struct strbuf *out);
/* Writes a .npz archive (entries stored) when the path ends in ".npz", else a .npy file of the only source. The file appears
 * whole or not at all; equal arrays give equal bytes. E0006. */
enum status npy_write(const char *path, const struct npy_source *sources, size_t count, struct diag_list *diags);

/* ---- shared by the files of this format ---------------------------------------------------------------------------- */
/* One .npy file; takes over `memory` (of malloc), of which bytes [0, length) are the file, on success and on failure. */
enum status npy_parse_one(const char *file, const char *name, void *memory, size_t length, uint64_t budget_bytes,
                          struct diag_list *diags, struct npy_arrays *arrays);
enum status npy_parse_zip(const char *file, const void *bytes, size_t length, uint64_t budget_bytes,
                          struct diag_list *diags, struct npy_arrays *arrays);
enum status npy_write_zip(const char *path, const struct npy_source *sources, size_t count, struct diag_list *diags);
bool npy_is_zip(const void *bytes, size_t length);

#endif
