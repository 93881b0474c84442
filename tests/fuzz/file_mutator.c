/* Mutations of compressed files: what is inside changes and is packed again, with right checksums, as gzip or zstd, in one piece
 * or two, with what may stand around. Otherwise no change of the content would get behind a checksum. Half of the calls go
 * to libFuzzer's own byte mutations, which make lengths and checksums lie. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "fuzz.h"
#include "fuzz_random.h"

enum { CONTENT_MAX = 1 << 16, GZIP_WINDOW = 16 + 15 };

/* Unpacks as far as it goes; plain data is its own content. */
static size_t unpack(const uint8_t *data, size_t size, uint8_t *content) {
  if (size >= 2 && data[0] == 0x1F && data[1] == 0x8B) {
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = content, .avail_out = CONTENT_MAX};
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK) {
      return 0;
    }
    (void)inflate(&stream, Z_SYNC_FLUSH);
    (void)inflateEnd(&stream);
    return CONTENT_MAX - stream.avail_out;
  }
  size_t got = ZSTD_decompress(content, CONTENT_MAX, data, size);
  if (!ZSTD_isError(got)) {
    return got;
  }
  size = size < CONTENT_MAX ? size : CONTENT_MAX;
  memcpy(content, data, size);
  return size;
}

static size_t pack_gzip(const uint8_t *content, size_t size, int level, uint8_t *out, size_t max_size) {
  z_stream stream = {
      .next_in = (Bytef *)(uintptr_t)content, .avail_in = (uInt)size, .next_out = out, .avail_out = (uInt)max_size};
  if (deflateInit2(&stream, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return 0;
  }
  int result = deflate(&stream, Z_FINISH);
  (void)deflateEnd(&stream);
  return result == Z_STREAM_END ? max_size - stream.avail_out : 0;
}

static size_t pack_zstd(const uint8_t *content, size_t size, int level, bool has_checksum, uint8_t *out,
                        size_t max_size) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, has_checksum);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  size_t packed = ZSTD_compress2(context, out, max_size, content, size);
  (void)ZSTD_freeCCtx(context);
  return ZSTD_isError(packed) ? 0 : packed;
}

static size_t pack(struct fuzz_random *random, const uint8_t *content, size_t size, uint8_t *out, size_t max_size) {
  int level = (int)fuzz_below(random, 10);
  switch (fuzz_below(random, 5)) {
  case 0:
    size = size < max_size ? size : max_size;
    memcpy(out, content, size);
    return size;
  case 1:
  case 2:
    return pack_gzip(content, size, level, out, max_size);
  default:
    return pack_zstd(content, size, level, level % 2 == 0, out, max_size);
  }
}

/* A skippable frame of zstd, an empty one, zeros as some writers of gzip leave them, or nothing. */
static size_t put_around(struct fuzz_random *random, uint8_t *out, size_t max_size) {
  static const struct {
    const char *bytes;
    size_t size;
  } pieces[] = {{"\x50\x2A\x4D\x18\x02\x00\x00\x00xy", 10}, {"\x28\xB5\x2F\xFD\x20\x00\x01\x00\x00", 9}, {"\0\0\0", 3}};
  size_t i = fuzz_below(random, 8);
  if (i >= sizeof pieces / sizeof pieces[0] || pieces[i].size > max_size) {
    return 0;
  }
  memcpy(out, pieces[i].bytes, pieces[i].size);
  return pieces[i].size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  struct fuzz_random random = fuzz_random_of(seed);
  uint8_t *content = fuzz_below(&random, 2) == 0 ? malloc(CONTENT_MAX) : NULL;
  if (content == NULL) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  size_t content_size = LLVMFuzzerMutate(content, unpack(data, size, content), CONTENT_MAX);
  size_t first = fuzz_below(&random, 4) == 0 ? fuzz_below(&random, content_size) : content_size;
  size_t written = put_around(&random, data, max_size);
  written += pack(&random, content, first, data + written, max_size - written);
  if (first < content_size) {
    written += pack(&random, content + first, content_size - first, data + written, max_size - written);
  }
  written += put_around(&random, data + written, max_size - written);
  free(content);
  return written > 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}
