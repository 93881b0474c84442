/* The only place that reads the user's input files: bytes come in through a source, are decompressed when their magic
 * says so, and end in one NUL-terminated buffer that the parser borrows. */
#include "io/input_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { INPUT_BYTES = 1 << 17, MIN_OUTPUT_BYTES = 1 << 16 };

/* One read in progress: raw bytes in `input`, the growing result in `output`. */
struct reader {
  const char *name;
  struct diag_list *diags;
  int fd;
  unsigned char *input; /* INPUT_BYTES */
  size_t input_begin;
  size_t input_end;
  bool is_at_end; /* the descriptor has no more bytes */
  char *output;
  size_t length;
  size_t capacity;
  size_t limit;
};

static enum status fail_memory(struct reader *reader) {
  diag_file(reader->diags, DIAG_E0007_MEMORY, reader->name, 0, 0, "out of memory while reading '%s'", reader->name);
  return STATUS_MEMORY;
}

static enum status fail_read(struct reader *reader, int error) {
  diag_file(reader->diags, DIAG_E0001_OPEN, reader->name, 0, 0, "cannot read '%s': %s", reader->name, strerror(error));
  return STATUS_IO;
}

static enum status fail_compressed(struct reader *reader, const char *kind, const char *problem) {
  diag_file(reader->diags, DIAG_E0004_COMPRESSED, reader->name, 0, 0, "%s data of '%s' is %s", kind, reader->name,
            problem);
  return STATUS_INPUT;
}

static enum status check_limit(struct reader *reader) {
  if (reader->length <= reader->limit) {
    return STATUS_OK;
  }
  diag_file(reader->diags, DIAG_E0005_LIMIT, reader->name, 0, 0, "'%s' holds more than the limit of %zu bytes",
            reader->name, reader->limit);
  return STATUS_LIMIT;
}

static enum status read_some(struct reader *reader, void *buffer, size_t size, size_t *count) {
  for (;;) {
    ssize_t got = read(reader->fd, buffer, size);
    if (got >= 0) {
      *count = (size_t)got;
      reader->is_at_end = got == 0;
      return STATUS_OK;
    }
    if (errno != EINTR) {
      return fail_read(reader, errno);
    }
  }
}

/* Makes input non-empty unless the end is reached. */
static enum status refill(struct reader *reader) {
  if (reader->input_begin < reader->input_end || reader->is_at_end) {
    return STATUS_OK;
  }
  reader->input_begin = reader->input_end = 0;
  return read_some(reader, reader->input, INPUT_BYTES, &reader->input_end);
}

/* Room for at least one byte past the limit and the NUL, so that going over is noticed without holding much more. */
static enum status reserve_output(struct reader *reader, size_t wanted) {
  size_t most = reader->limit + 2;
  if (reader->capacity - reader->length > wanted || reader->capacity == most) {
    return STATUS_OK;
  }
  size_t capacity = reader->capacity + reader->capacity / 2;
  if (capacity < reader->length + wanted + 1) {
    capacity = reader->length + wanted + 1;
  }
  if (capacity > most) {
    capacity = most;
  }
  assert(capacity > reader->length);
  char *output = realloc(reader->output, capacity);
  if (output == NULL) {
    return fail_memory(reader);
  }
  reader->output = output;
  reader->capacity = capacity;
  return STATUS_OK;
}

static size_t output_room(const struct reader *reader) {
  return reader->capacity - reader->length - 1;
}

static enum status copy_plain(struct reader *reader) {
  size_t buffered = reader->input_end - reader->input_begin;
  struct stat info;
  size_t expected = MIN_OUTPUT_BYTES;
  if (fstat(reader->fd, &info) == 0 && S_ISREG(info.st_mode) && (uintmax_t)info.st_size < reader->limit) {
    expected = (size_t)info.st_size + 1; /* one more, so that the end shows without another growth */
  }
  STATUS_TRY(reserve_output(reader, expected > buffered ? expected : buffered));
  size_t taken = buffered < output_room(reader) ? buffered : output_room(reader);
  memcpy(reader->output, reader->input + reader->input_begin, taken);
  reader->length = taken;
  while (!reader->is_at_end && reader->length <= reader->limit) {
    if (output_room(reader) == 0) {
      STATUS_TRY(reserve_output(reader, MIN_OUTPUT_BYTES));
    }
    size_t count;
    STATUS_TRY(read_some(reader, reader->output + reader->length, output_room(reader), &count));
    reader->length += count;
  }
  return check_limit(reader);
}

/* Skips the zero bytes that some writers pad a gzip file with. */
static enum status skip_zeros(struct reader *reader) {
  for (;;) {
    STATUS_TRY(refill(reader));
    if (reader->input_begin == reader->input_end) {
      return STATUS_OK;
    }
    while (reader->input_begin < reader->input_end && reader->input[reader->input_begin] == 0) {
      reader->input_begin++;
    }
    if (reader->input_begin < reader->input_end) {
      return STATUS_OK;
    }
  }
}

static enum status inflate_members(struct reader *reader, z_stream *stream) {
  for (;;) {
    STATUS_TRY(refill(reader));
    if (reader->input_begin == reader->input_end) {
      return fail_compressed(reader, "gzip", "truncated");
    }
    STATUS_TRY(reserve_output(reader, MIN_OUTPUT_BYTES));
    size_t room = output_room(reader) < UINT32_MAX ? output_room(reader) : UINT32_MAX;
    stream->next_in = reader->input + reader->input_begin;
    stream->avail_in = (uInt)(reader->input_end - reader->input_begin);
    stream->next_out = (unsigned char *)reader->output + reader->length;
    stream->avail_out = (uInt)room;
    int result = inflate(stream, Z_NO_FLUSH);
    reader->input_begin = reader->input_end - stream->avail_in;
    reader->length += room - stream->avail_out;
    STATUS_TRY(check_limit(reader));
    if (result == Z_MEM_ERROR) {
      return fail_memory(reader);
    }
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return fail_compressed(reader, "gzip", "damaged");
    }
    if (result == Z_STREAM_END) {
      STATUS_TRY(skip_zeros(reader));
      if (reader->input_begin == reader->input_end) {
        return STATUS_OK;
      }
      if (inflateReset(stream) != Z_OK) {
        return fail_compressed(reader, "gzip", "damaged");
      }
    }
  }
}

static enum status copy_gzip(struct reader *reader) {
  enum { GZIP_WITH_LARGEST_WINDOW = 16 + 15 };
  z_stream stream = {0};
  if (inflateInit2(&stream, GZIP_WITH_LARGEST_WINDOW) != Z_OK) {
    return fail_memory(reader);
  }
  enum status status = inflate_members(reader, &stream);
  inflateEnd(&stream);
  return status;
}

static enum status decompress_frames(struct reader *reader, ZSTD_DStream *stream) {
  bool is_inside_frame = false;
  for (;;) {
    STATUS_TRY(refill(reader));
    if (reader->input_begin == reader->input_end) {
      return is_inside_frame ? fail_compressed(reader, "zstd", "truncated") : STATUS_OK;
    }
    ZSTD_inBuffer in = {reader->input, reader->input_end, reader->input_begin};
    for (bool is_output_full = true; in.pos < in.size || is_output_full;) {
      STATUS_TRY(reserve_output(reader, MIN_OUTPUT_BYTES));
      ZSTD_outBuffer out = {reader->output + reader->length, output_room(reader), 0};
      size_t result = ZSTD_decompressStream(stream, &out, &in);
      reader->length += out.pos;
      STATUS_TRY(check_limit(reader));
      if (ZSTD_isError(result)) {
        return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? fail_memory(reader)
                                                                         : fail_compressed(reader, "zstd", "damaged");
      }
      is_inside_frame = result != 0;
      is_output_full = is_inside_frame && out.pos == out.size;
    }
    reader->input_begin = in.pos;
  }
}

static enum status copy_zstd(struct reader *reader) {
  ZSTD_DStream *stream = ZSTD_createDStream();
  if (stream == NULL) {
    return fail_memory(reader);
  }
  enum status status = decompress_frames(reader, stream);
  ZSTD_freeDStream(stream);
  return status;
}

/* Reads the first bytes and picks the decoder; a magic number may arrive in pieces on a pipe. */
static enum status copy_by_magic(struct reader *reader) {
  enum { MAGIC_BYTES = 4 };
  while (reader->input_end < MAGIC_BYTES && !reader->is_at_end) {
    size_t count;
    STATUS_TRY(read_some(reader, reader->input + reader->input_end, INPUT_BYTES - reader->input_end, &count));
    reader->input_end += count;
  }
  const unsigned char *magic = reader->input;
  if (reader->input_end >= 2 && magic[0] == 0x1F && magic[1] == 0x8B) {
    return copy_gzip(reader);
  }
  if (reader->input_end >= MAGIC_BYTES) {
    bool is_zstd = memcmp(magic, "\x28\xB5\x2F\xFD", MAGIC_BYTES) == 0;
    bool is_zstd_skippable = (magic[0] & 0xF0) == 0x50 && memcmp(magic + 1, "\x2A\x4D\x18", MAGIC_BYTES - 1) == 0;
    if (is_zstd || is_zstd_skippable) {
      return copy_zstd(reader);
    }
  }
  return copy_plain(reader);
}

static enum status read_all(struct reader *reader) {
  reader->input = malloc(INPUT_BYTES);
  if (reader->input == NULL) {
    return fail_memory(reader);
  }
  enum status status = copy_by_magic(reader);
  free(reader->input);
  if (status == STATUS_OK) {
    status = reserve_output(reader, 0);
  }
  if (status != STATUS_OK) {
    free(reader->output);
    return status;
  }
  reader->output[reader->length] = '\0';
  char *exact = realloc(reader->output, reader->length + 1);
  reader->output = exact == NULL ? reader->output : exact;
  return STATUS_OK;
}

enum status input_file_read(struct input_file *file, const char *path, size_t limit_bytes, struct diag_list *diags) {
  bool is_stdin = strcmp(path, "-") == 0;
  *file = (struct input_file){.name = strdup(is_stdin ? "<stdin>" : path)};
  struct reader reader = {.name = file->name == NULL ? path : file->name, .diags = diags, .fd = STDIN_FILENO};
  reader.limit = limit_bytes == 0 ? (size_t)INPUT_FILE_DEFAULT_LIMIT_MB << 20 : limit_bytes;
  if (reader.limit > SIZE_MAX / 4) {
    reader.limit = SIZE_MAX / 4;
  }
  enum status status = file->name == NULL ? fail_memory(&reader) : STATUS_OK;
  if (status == STATUS_OK && !is_stdin) {
    reader.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader.fd < 0) {
      diag_file(diags, DIAG_E0001_OPEN, path, 0, 0, "cannot open '%s': %s", path, strerror(errno));
      status = STATUS_IO;
    }
  }
  if (status == STATUS_OK) {
    status = read_all(&reader);
    if (!is_stdin) {
      close(reader.fd);
    }
  }
  if (status != STATUS_OK) {
    input_file_release(file);
    return status;
  }
  file->text = reader.output;
  file->length = reader.length;
  return STATUS_OK;
}

void input_file_release(struct input_file *file) {
  free(file->text);
  free(file->name);
  *file = (struct input_file){0};
}
