/* .npz: a zip archive of .npy files, stored or deflated, read and written with libzip. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "io/npy.h"

/* Deflate cannot make more than this of one byte (zlib, "Maximum Compression Factor"): an entry that claims more lies. */
enum { MAX_DEFLATE_RATIO = 1032 };
/* Added to a small entry, whose few bytes of overhead the ratio does not cover. */
enum { DEFLATE_SLACK_BYTES = 4096 };

struct archive {
  const char *file;
  struct diag_list *diags;
  zip_t *zip;
  uint64_t left_bytes; /* of the budget */
};

static enum status damaged(const struct archive *a, const char *entry, const char *why) {
  diag_file(a->diags, DIAG_E0004_COMPRESSED, a->file, 0, 0, "'%s'%s%s%s: %s", a->file, entry ? ", entry '" : "",
            entry ? entry : "", entry ? "'" : "", why);
  return STATUS_INPUT;
}

static enum status fail_memory(const struct archive *a) {
  diag_file(a->diags, DIAG_E0007_MEMORY, a->file, 0, 0, "out of memory while reading '%s'", a->file);
  return STATUS_MEMORY;
}

/* All bytes of an entry, in memory of malloc. */
static enum status read_entry(struct archive *a, const zip_stat_t *info, uint8_t **bytes) {
  uint8_t *buffer = malloc((size_t)info->size + 1);
  zip_file_t *entry = zip_fopen_index(a->zip, info->index, 0);
  enum status status = buffer ? STATUS_OK : fail_memory(a);
  if (!entry && buffer) {
    status = damaged(a, info->name, zip_error_strerror(zip_get_error(a->zip)));
  }
  uint64_t got = 0;
  /* one byte more than promised is asked for, so that the end is reached, where the checksum is compared */
  while (status == STATUS_OK && got <= info->size) {
    zip_int64_t n = zip_fread(entry, buffer + got, info->size + 1 - got);
    if (n <= 0) {
      if (n < 0 || got != info->size) {
        status = damaged(a, info->name, n < 0 ? zip_error_strerror(zip_file_get_error(entry)) : "it is truncated");
      }
      break;
    }
    got += (uint64_t)n;
  }
  if (status == STATUS_OK && got != info->size) {
    status = damaged(a, info->name, "it holds more than it says");
  }
  if (entry) {
    zip_fclose(entry);
  }
  if (status != STATUS_OK) {
    free(buffer);
    return status;
  }
  *bytes = buffer;
  return STATUS_OK;
}

/* What the directory says about an entry must be possible before memory is given to it. */
static enum status check_entry(struct archive *a, const zip_stat_t *info) {
  const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((info->valid & needed) != needed) {
    return damaged(a, NULL, "an entry without name or size");
  }
  if (info->comp_method != ZIP_CM_STORE && info->comp_method != ZIP_CM_DEFLATE) {
    return damaged(a, info->name, "it is neither stored nor deflated");
  }
  if (info->size > SIZE_MAX / 2 || info->comp_size > UINT64_MAX / MAX_DEFLATE_RATIO / 2
      || info->size > info->comp_size * MAX_DEFLATE_RATIO + DEFLATE_SLACK_BYTES) {
    return damaged(a, info->name, "it says that it is larger than its bytes can be");
  }
  if (info->size > a->left_bytes) {
    diag_file(a->diags, DIAG_E0005_LIMIT, a->file, 0, 0,
              "'%s', entry '%s' takes %" PRIu64 " bytes, more than the %" PRIu64 " that are left of the memory budget",
              a->file, info->name, info->size, a->left_bytes);
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

static enum status parse_entry(struct archive *a, zip_uint64_t index, struct npy_arrays *arrays) {
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat_index(a->zip, index, 0, &info) != 0) {
    return damaged(a, NULL, zip_error_strerror(zip_get_error(a->zip)));
  }
  STATUS_TRY(check_entry(a, &info));
  uint8_t *bytes = NULL;
  STATUS_TRY(read_entry(a, &info, &bytes));
  a->left_bytes -= info.size;
  size_t length = strlen(info.name);
  bool has_ending = length > 4 && strcmp(info.name + length - 4, ".npy") == 0;
  struct strbuf name = {0};
  strbuf_add(&name, info.name, has_ending ? length - 4 : length);
  enum status status = STATUS_MEMORY;
  if (name.failed) {
    free(bytes);
    fail_memory(a);
  } else {
    status = npy_parse_one(a->file, strbuf_text(&name), bytes, (size_t)info.size, a->left_bytes, a->diags, arrays);
  }
  strbuf_release(&name);
  return status;
}

enum status npy_parse_zip(const char *file, const void *bytes, size_t length, uint64_t budget_bytes,
                          struct diag_list *diags, struct npy_arrays *arrays) {
  struct archive a = {.file = file, .diags = diags, .left_bytes = budget_bytes};
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *source = zip_source_buffer_create(bytes, length, 0, &error);
  a.zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
  enum status status = STATUS_OK;
  if (!a.zip) {
    status = damaged(&a, NULL, zip_error_strerror(&error));
    zip_source_free(source);
  }
  zip_int64_t count = a.zip ? zip_get_num_entries(a.zip, 0) : 0;
  for (zip_int64_t i = 0; status == STATUS_OK && i < count; i++) {
    status = parse_entry(&a, (zip_uint64_t)i, arrays);
  }
  if (a.zip) {
    zip_discard(a.zip);
  }
  zip_error_fini(&error);
  return status;
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

/* Header and elements as one entry. `header` must live until the archive is closed. */
static bool add_entry(zip_t *zip, const struct npy_source *source, const struct strbuf *header) {
  zip_error_t error;
  zip_error_init(&error);
  zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)(uintptr_t)strbuf_text(header), header->length},
                                    {(zip_uint8_t *)(uintptr_t)source->data, source->size_bytes}};
  zip_source_t *bytes = zip_source_buffer_fragment_create(parts, source->size_bytes ? 2 : 1, 0, &error);
  zip_error_fini(&error);
  struct strbuf name = {0};
  strbuf_printf(&name, "%s.npy", source->name);
  zip_int64_t index = bytes && !name.failed ? zip_file_add(zip, strbuf_text(&name), bytes, ZIP_FL_ENC_UTF_8) : -1;
  strbuf_release(&name);
  if (index < 0) {
    zip_source_free(bytes);
    return false;
  }
  /* stored, as numpy.savez does; dated 1980-01-01, zip's first day, so that equal arrays give equal bytes */
  return zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0) == 0
         && zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 1 << 5 | 1, 0) == 0;
}

enum status npy_write_zip(const char *path, const struct npy_source *sources, size_t count, struct diag_list *diags) {
  int code = 0;
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  struct strbuf *headers = calloc(count + 1, sizeof *headers);
  bool ok = zip && headers;
  for (size_t i = 0; ok && i < count; i++) {
    npy_header(&sources[i], &headers[i]);
    ok = !headers[i].failed && add_entry(zip, &sources[i], &headers[i]);
  }
  ok = ok && zip_close(zip) == 0; /* writes beside the path and renames */
  if (!ok) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    diag_file(diags, DIAG_E0006_WRITE, path, 0, 0, "cannot write '%s': %s", path,
              zip ? zip_error_strerror(zip_get_error(zip)) : zip_error_strerror(&error));
    zip_error_fini(&error);
    if (zip) {
      zip_discard(zip);
    }
  }
  for (size_t i = 0; headers && i < count; i++) {
    strbuf_release(&headers[i]);
  }
  free(headers);
  return ok ? STATUS_OK : STATUS_IO;
}
