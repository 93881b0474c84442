/* Tests of reading input files: plain, gzip and zstd, damage, truncation, limits, standard input. The compressed bytes
 * are made by zlib and libzstd here, so that every cut and every flip can be tried. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "io/input_file.h"

struct fixture {
  char dir[32];
  char path[48];
  struct diag_list diags;
};

static int make_dir(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  snprintf(f->dir, sizeof f->dir, "/tmp/rdg_io_XXXXXX");
  if (mkdtemp(f->dir) == NULL) {
    return -1;
  }
  snprintf(f->path, sizeof f->path, "%s/input", f->dir);
  diag_init(&f->diags);
  *state = f;
  return 0;
}

static int remove_dir(void **state) {
  struct fixture *f = *state;
  unlink(f->path);
  rmdir(f->dir);
  diag_release(&f->diags);
  free(f);
  return 0;
}

struct bytes {
  char *data;
  size_t size;
};

/* Text with little repetition, so that its compressed form has many blocks. */
static struct bytes make_text(size_t size) {
  struct bytes text = {malloc(size + 1), size};
  assert_non_null(text.data);
  uint64_t seed = 0x2545F4914F6CDD1Dull;
  for (size_t i = 0; i < size; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    text.data[i] = (char)(' ' + seed % 90);
  }
  text.data[size] = '\0';
  return text;
}

static struct bytes gzip(const char *text, size_t size) {
  z_stream stream = {0};
  assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  struct bytes out = {NULL, deflateBound(&stream, size)};
  out.data = malloc(out.size);
  assert_non_null(out.data);
  stream.next_in = (unsigned char *)(uintptr_t)text;
  stream.avail_in = (uInt)size;
  stream.next_out = (unsigned char *)out.data;
  stream.avail_out = (uInt)out.size;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.size -= stream.avail_out;
  deflateEnd(&stream);
  return out;
}

static struct bytes zstd(const char *text, size_t size) {
  struct bytes out = {malloc(ZSTD_compressBound(size)), 0};
  assert_non_null(out.data);
  ZSTD_CCtx *context = ZSTD_createCCtx();
  assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)));
  out.size = ZSTD_compress2(context, out.data, ZSTD_compressBound(size), text, size);
  assert_false(ZSTD_isError(out.size));
  ZSTD_freeCCtx(context);
  return out;
}

static struct bytes join(struct bytes a, struct bytes b) {
  struct bytes out = {malloc(a.size + b.size), a.size + b.size};
  assert_non_null(out.data);
  memcpy(out.data, a.data, a.size);
  memcpy(out.data + a.size, b.data, b.size);
  return out;
}

static void write_input(const struct fixture *f, const void *data, size_t size) {
  FILE *file = fopen(f->path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void expect_text(struct fixture *f, size_t limit, const char *text, size_t size) {
  struct input_file file;
  assert_int_equal(input_file_read(&file, f->path, limit, &f->diags), STATUS_OK);
  assert_int_equal(file.length, size);
  assert_memory_equal(file.text, text, size);
  assert_int_equal(file.text[size], '\0');
  assert_string_equal(file.name, f->path);
  assert_int_equal(f->diags.entries.count, 0);
  input_file_release(&file);
  assert_null(file.text);
}

static void expect_failure(struct fixture *f, size_t limit, enum status status, enum diag_id id) {
  struct input_file file;
  assert_int_equal(input_file_read(&file, f->path, limit, &f->diags), status);
  assert_int_equal(f->diags.entries.count, 1);
  assert_int_equal(f->diags.entries.data[0].id, id);
  assert_string_equal(f->diags.entries.data[0].file, f->path);
  assert_non_null(strstr(f->diags.entries.data[0].message, f->path));
  assert_null(file.text);
  assert_null(file.name);
  input_file_release(&file);
  diag_release(&f->diags);
  diag_init(&f->diags);
}

static void plain_files_of_every_small_size(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(300000);
  const size_t sizes[] = {0, 1, 2, 3, 4, 5, 65535, 65536, 131071, 131072, 131073, 300000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    write_input(f, text.data, sizes[i]);
    expect_text(f, 0, text.data, sizes[i]);
  }
  write_input(f, "a\0b", 3);
  expect_text(f, 0, "a\0b", 3);
  free(text.data);
}

static void compressed_files_of_every_small_size(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(300000);
  const size_t sizes[] = {0, 1, 5, 65535, 65536, 65537, 131072, 300000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct bytes forms[] = {gzip(text.data, sizes[i]), zstd(text.data, sizes[i])};
    for (size_t k = 0; k < 2; k++) {
      write_input(f, forms[k].data, forms[k].size);
      expect_text(f, 0, text.data, sizes[i]);
      free(forms[k].data);
    }
  }
  free(text.data);
}

static void highly_compressible_text(void **state) {
  struct fixture *f = *state;
  enum { SIZE = 5 << 20 };
  char *zeros = calloc(SIZE, 1);
  assert_non_null(zeros);
  struct bytes forms[] = {gzip(zeros, SIZE), zstd(zeros, SIZE)};
  for (size_t k = 0; k < 2; k++) {
    assert_true(forms[k].size < 10000);
    write_input(f, forms[k].data, forms[k].size);
    expect_text(f, 0, zeros, SIZE);
    free(forms[k].data);
  }
  free(zeros);
}

static void several_members_are_joined(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(200000);
  struct bytes (*const compressors[])(const char *, size_t) = {gzip, zstd};
  for (size_t k = 0; k < 2; k++) {
    struct bytes first = compressors[k](text.data, 70000);
    struct bytes empty = compressors[k](text.data, 0);
    struct bytes second = compressors[k](text.data + 70000, 130000);
    struct bytes head = join(first, empty);
    struct bytes all = join(head, second);
    write_input(f, all.data, all.size);
    expect_text(f, 0, text.data, text.size);
    write_input(f, all.data, all.size - 1); /* the last member is cut */
    expect_failure(f, 0, STATUS_INPUT, DIAG_E0004_COMPRESSED);
    free(first.data);
    free(empty.data);
    free(second.data);
    free(head.data);
    free(all.data);
  }
  free(text.data);
}

static void truncation_is_noticed_at_every_byte(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(300);
  struct bytes forms[] = {gzip(text.data, text.size), zstd(text.data, text.size)};
  for (size_t k = 0; k < 2; k++) {
    size_t magic_bytes = k == 0 ? 2 : 4; /* shorter files are plain text */
    for (size_t size = magic_bytes; size < forms[k].size; size++) {
      write_input(f, forms[k].data, size);
      expect_failure(f, 0, STATUS_INPUT, DIAG_E0004_COMPRESSED);
    }
    free(forms[k].data);
  }
  free(text.data);
}

/* Flipping a bit after the magic either fails or, in header fields without meaning (time, name), changes nothing. */
static void damage_never_gives_a_wrong_text(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(300);
  struct bytes forms[] = {gzip(text.data, text.size), zstd(text.data, text.size)};
  for (size_t k = 0; k < 2; k++) {
    size_t failures = 0;
    for (size_t i = 4; i < forms[k].size; i++) {
      for (int bit = 0; bit < 8; bit++) {
        forms[k].data[i] = (char)(forms[k].data[i] ^ (1 << bit));
        write_input(f, forms[k].data, forms[k].size);
        struct input_file file;
        if (input_file_read(&file, f->path, 1 << 20, &f->diags) == STATUS_OK) {
          assert_int_equal(file.length, text.size);
          assert_memory_equal(file.text, text.data, text.size);
        } else {
          failures++;
        }
        input_file_release(&file);
        diag_release(&f->diags);
        diag_init(&f->diags);
        forms[k].data[i] = (char)(forms[k].data[i] ^ (1 << bit));
      }
    }
    assert_in_range(failures, 8 * 250, 8 * forms[k].size);
    free(forms[k].data);
  }
  free(text.data);
}

static void garbage_after_the_end_is_damage_but_zeros_pad_gzip(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(1000);
  struct bytes forms[] = {gzip(text.data, text.size), zstd(text.data, text.size)};
  for (size_t k = 0; k < 2; k++) {
    struct bytes bad = join(forms[k], (struct bytes){(char *)(uintptr_t) "garbage!", 8});
    write_input(f, bad.data, bad.size);
    expect_failure(f, 0, STATUS_INPUT, DIAG_E0004_COMPRESSED);
    free(bad.data);
  }
  char *zeros = calloc(200000, 1);
  assert_non_null(zeros);
  struct bytes padded = join(forms[0], (struct bytes){zeros, 200000});
  write_input(f, padded.data, padded.size);
  expect_text(f, 0, text.data, text.size);
  free(padded.data);
  free(zeros);
  free(forms[0].data);
  free(forms[1].data);
  free(text.data);
}

static void skippable_frames_are_skipped(void **state) {
  struct fixture *f = *state;
  struct bytes frame = zstd("text", 4);
  struct bytes all = join((struct bytes){(char *)(uintptr_t) "\x51\x2A\x4D\x18\x03\x00\x00\x00xyz", 11}, frame);
  write_input(f, all.data, all.size);
  expect_text(f, 0, "text", 4);
  free(frame.data);
  free(all.data);
}

static void limit_holds_for_every_form(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(200000);
  struct bytes forms[] = {{text.data, text.size}, gzip(text.data, text.size), zstd(text.data, text.size)};
  const size_t too_small[] = {1, 1000, 65535, 65536, 131072, 199999};
  for (size_t k = 0; k < 3; k++) {
    write_input(f, forms[k].data, forms[k].size);
    for (size_t i = 0; i < sizeof too_small / sizeof *too_small; i++) {
      expect_failure(f, too_small[i], STATUS_LIMIT, DIAG_E0005_LIMIT);
    }
    expect_text(f, 200000, text.data, text.size);
    expect_text(f, 200001, text.data, text.size);
    expect_text(f, SIZE_MAX, text.data, text.size);
  }
  free(forms[1].data);
  free(forms[2].data);
  free(text.data);
}

/* A few KB that stand for 1 GiB, in 1024 members, must stop at the limit. */
static void bombs_stop_at_the_limit(void **state) {
  struct fixture *f = *state;
  enum { SIZE = 1 << 20 };
  char *zeros = calloc(SIZE, 1);
  assert_non_null(zeros);
  struct bytes forms[] = {gzip(zeros, SIZE), zstd(zeros, SIZE)};
  for (size_t k = 0; k < 2; k++) {
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 1024; i++) {
      fwrite(forms[k].data, 1, forms[k].size, file);
    }
    assert_int_equal(fclose(file), 0);
    expect_failure(f, 3 * SIZE, STATUS_LIMIT, DIAG_E0005_LIMIT);
    free(forms[k].data);
  }
  free(zeros);
}

static void missing_file_and_directory(void **state) {
  struct fixture *f = *state;
  expect_failure(f, 0, STATUS_IO, DIAG_E0001_OPEN);
  char kept[sizeof f->path];
  memcpy(kept, f->path, sizeof kept);
  snprintf(f->path, sizeof f->path, "%s", f->dir);
  expect_failure(f, 0, STATUS_IO, DIAG_E0001_OPEN);
  memcpy(f->path, kept, sizeof kept);
}

/* Runs input_file_read("-") with standard input replaced by a pipe that delivers the bytes in small pieces. */
static void expect_from_pipe(struct fixture *f, struct bytes input, const struct bytes *expected) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (size_t i = 0; i < input.size; i += 1) {
      if (i < 8) {
        usleep(1000);
      }
      size_t piece = i < 8 ? 1 : input.size - i;
      if (write(ends[1], input.data + i, piece) != (ssize_t)piece || piece > 1) {
        break;
      }
    }
    _exit(0);
  }
  close(ends[1]);
  int saved = dup(STDIN_FILENO);
  assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  close(ends[0]);
  struct input_file file;
  enum status status = input_file_read(&file, "-", 0, &f->diags);
  assert_int_equal(fcntl(STDIN_FILENO, F_GETFD) >= 0, true); /* not closed */
  dup2(saved, STDIN_FILENO);
  close(saved);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(status, STATUS_OK);
  assert_string_equal(file.name, "<stdin>");
  assert_int_equal(file.length, expected->size);
  assert_memory_equal(file.text, expected->data, expected->size);
  input_file_release(&file);
}

static void standard_input_in_pieces(void **state) {
  struct fixture *f = *state;
  struct bytes text = make_text(400000);
  struct bytes forms[] = {{text.data, text.size}, gzip(text.data, text.size), zstd(text.data, text.size)};
  for (size_t k = 0; k < 3; k++) {
    expect_from_pipe(f, forms[k], &text);
  }
  struct bytes tiny = {text.data, 2};
  expect_from_pipe(f, tiny, &tiny);
  struct bytes nothing = {text.data, 0};
  expect_from_pipe(f, nothing, &nothing);
  free(forms[1].data);
  free(forms[2].data);
  free(text.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(plain_files_of_every_small_size, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(compressed_files_of_every_small_size, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(highly_compressible_text, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(several_members_are_joined, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(truncation_is_noticed_at_every_byte, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(damage_never_gives_a_wrong_text, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(garbage_after_the_end_is_damage_but_zeros_pad_gzip, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(skippable_frames_are_skipped, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(limit_holds_for_every_form, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(bombs_stop_at_the_limit, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(missing_file_and_directory, make_dir, remove_dir),
      cmocka_unit_test_setup_teardown(standard_input_in_pieces, make_dir, remove_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
