/* Writing .npy, format 1.0: the header padded so that the elements begin at a multiple of 64 bytes, as numpy does it. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "io/npy.h"

enum { ALIGNMENT = 64, PREFIX_BYTES = 10 };

/* How the elements of a type are named in a file. Types without a row have no name in numpy and are opaque, as ml_dtypes
 * saves them. Integers narrower than a byte are integers of a byte in memory already. */
static const char *const descriptions[DTYPE_COUNT] = {
    [DTYPE_I1] = "|b1",   [DTYPE_I2] = "|i1",   [DTYPE_I4] = "|i1",   [DTYPE_I8] = "|i1",  [DTYPE_I16] = "<i2",
    [DTYPE_I32] = "<i4",  [DTYPE_I64] = "<i8",  [DTYPE_UI2] = "|u1",  [DTYPE_UI4] = "|u1", [DTYPE_UI8] = "|u1",
    [DTYPE_UI16] = "<u2", [DTYPE_UI32] = "<u4", [DTYPE_UI64] = "<u8", [DTYPE_F16] = "<f2", [DTYPE_BF16] = "<V2",
    [DTYPE_TF32] = "<f4", [DTYPE_F32] = "<f4",  [DTYPE_F64] = "<f8",  [DTYPE_C64] = "<c8", [DTYPE_C128] = "<c16",
    [DTYPE_INDEX] = "<i8"};

/* Of a type without a name: what its data say, a byte when there are none. */
static size_t element_bytes(const struct npy_source *source) {
  size_t bytes = source->size_bytes;
  for (uint32_t d = 0; d < source->rank && bytes > 0; d++) {
    bytes /= source->dims[d] > 0 ? (size_t)source->dims[d] : 1;
  }
  return bytes > 0 ? bytes : 1;
}

void npy_header(const struct npy_source *source, struct strbuf *out) {
  struct strbuf text = {0};
  strbuf_puts(&text, "{'descr': '");
  if (descriptions[source->dtype]) {
    strbuf_puts(&text, descriptions[source->dtype]);
  } else {
    strbuf_printf(&text, "|V%zu", element_bytes(source));
  }
  strbuf_puts(&text, "', 'fortran_order': False, 'shape': (");
  for (uint32_t d = 0; d < source->rank; d++) {
    strbuf_printf(&text, "%s%" PRId64, d ? ", " : "", source->dims[d]);
  }
  strbuf_puts(&text, source->rank == 1 ? ",), }" : "), }");
  size_t used = PREFIX_BYTES + text.length + 1, padding = (ALIGNMENT - used % ALIGNMENT) % ALIGNMENT;
  strbuf_fill(&text, ' ', padding);
  strbuf_putc(&text, '\n');
  assert(text.failed || text.length <= UINT16_MAX); /* 64 dimensions take less than 1,500 bytes */
  strbuf_add(out, "\x93NUMPY\1\0", 8);
  strbuf_putc(out, (char)(text.length & 0xff));
  strbuf_putc(out, (char)(text.length >> 8));
  strbuf_add(out, strbuf_text(&text), text.length);
  out->failed |= text.failed;
  strbuf_release(&text);
}

static bool write_stream(FILE *stream, const struct npy_source *source) {
  struct strbuf header = {0};
  npy_header(source, &header);
  bool ok = !header.failed && fwrite(strbuf_text(&header), 1, header.length, stream) == header.length
            && (source->size_bytes == 0 || fwrite(source->data, 1, source->size_bytes, stream) == source->size_bytes);
  strbuf_release(&header);
  return ok;
}

static enum status write_one(const char *path, const struct npy_source *source, struct diag_list *diags) {
  struct strbuf temporary = {0};
  strbuf_printf(&temporary, "%s.part%ld", path, (long)getpid());
  FILE *stream = temporary.failed ? NULL : fopen(strbuf_text(&temporary), "wb");
  bool ok = stream && write_stream(stream, source);
  if (stream) {
    ok &= fclose(stream) == 0;
    ok = ok && rename(strbuf_text(&temporary), path) == 0;
  }
  if (!ok) {
    int reason = errno;
    diag_file(diags, DIAG_E0006_WRITE, path, 0, 0, "cannot write '%s': %s", path, strerror(reason));
    if (stream) {
      remove(strbuf_text(&temporary));
    }
  }
  strbuf_release(&temporary);
  return ok ? STATUS_OK : STATUS_IO;
}

enum status npy_write(const char *path, const struct npy_source *sources, size_t count, struct diag_list *diags) {
  size_t length = strlen(path);
  for (size_t i = 0; i < count; i++) {
    if (sources[i].rank > NPY_MAX_RANK) {
      diag_file(diags, DIAG_E0006_WRITE, path, 0, 0, "an array of %u dimensions: numpy has at most %d", sources[i].rank,
                NPY_MAX_RANK);
      return STATUS_INPUT;
    }
  }
  if (length > 4 && strcasecmp(path + length - 4, ".npz") == 0) {
    return npy_write_zip(path, sources, count, diags);
  }
  if (count != 1) {
    diag_file(diags, DIAG_E0006_WRITE, path, 0, 0, "'%s' takes one array, not %zu; a .npz file takes any number", path,
              count);
    return STATUS_INPUT;
  }
  return write_one(path, sources, diags);
}
