/* Arrays in numpy's files. The expected bytes follow the format's description (numpy.lib.format, NEP 1): magic, version,
 * length of the header, a Python dictionary, the elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include <cmocka.h>

#include "io/input_file.h"
#include "io/npy.h"

enum { BUDGET = 1 << 20 };

/* A file of a version with this dictionary and these elements. */
struct bytes {
  uint8_t data[4096];
  size_t length;
};

static struct bytes make_file(unsigned major, const char *dictionary, const void *elements, size_t size) {
  struct bytes b = {0};
  size_t header = strlen(dictionary) + 1;
  memcpy(b.data, "\x93NUMPY", 6);
  b.data[6] = (uint8_t)major;
  b.data[8] = (uint8_t)header;
  b.data[9] = (uint8_t)(header >> 8);
  b.length = major == 1 ? 10 : 12;
  memcpy(b.data + b.length, dictionary, header - 1);
  b.length += header;
  b.data[b.length - 1] = '\n';
  if (size > 0) {
    memcpy(b.data + b.length, elements, size);
  }
  b.length += size;
  return b;
}

static enum status parse(struct npy_arrays *arrays, const struct bytes *b, struct diag_list *diags) {
  diag_init(diags);
  return npy_parse(arrays, "a.npy", b->data, b->length, BUDGET, diags);
}

/* The file is refused with words in its only message. */
static void expect_refused(const struct bytes *b, const char *words) {
  struct npy_arrays arrays;
  struct diag_list diags;
  assert_int_not_equal(parse(&arrays, b, &diags), STATUS_OK);
  assert_int_equal(diags.entries.count, 1);
  if (!strstr(diags.entries.data[0].message, words)) {
    fail_msg("'%s' is not in '%s'", words, diags.entries.data[0].message);
  }
  assert_int_equal(arrays.items.count, 0);
  npy_release(&arrays);
  diag_release(&diags);
}

/* The file holds one array of this type and shape with these bytes. */
static void expect_array(const struct bytes *b, enum dtype dtype, uint32_t rank, const int64_t *dims, const void *data,
                         size_t size) {
  struct npy_arrays arrays;
  struct diag_list diags;
  assert_int_equal(parse(&arrays, b, &diags), STATUS_OK);
  assert_int_equal(arrays.items.count, 1);
  const struct npy_array *a = &arrays.items.data[0];
  assert_int_equal(a->dtype, dtype);
  assert_int_equal(a->rank, rank);
  for (uint32_t d = 0; d < rank; d++) {
    assert_int_equal(a->dims[d], dims[d]);
  }
  assert_int_equal(a->size_bytes, size);
  assert_memory_equal(a->data, data, size);
  npy_release(&arrays);
  diag_release(&diags);
}

static void test_versions_and_layout(void **state) {
  (void)state;
  const float values[] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3};
  for (unsigned major = 1; major <= 3; major++) {
    struct bytes b =
        make_file(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", values, sizeof values);
    expect_array(&b, DTYPE_F32, 2, dims, values, sizeof values);
  }
  /* other orders of keys, quotes and spaces are Python, too; numbers of Python 2 end in L */
  struct bytes b =
      make_file(1, "{\"shape\":(2L,3L),\"fortran_order\":False , 'descr':\"<f4\"}  ", values, sizeof values);
  expect_array(&b, DTYPE_F32, 2, dims, values, sizeof values);
}

static void test_scalars_and_empty_arrays(void **state) {
  (void)state;
  const double pi = 3.14159;
  const int64_t empty[] = {3, 0, INT64_MAX}, one[] = {1};
  struct bytes b = make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &pi, sizeof pi);
  expect_array(&b, DTYPE_F64, 0, NULL, &pi, sizeof pi);
  b = make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", &pi, sizeof pi);
  expect_array(&b, DTYPE_F64, 1, one, &pi, sizeof pi);
  b = make_file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0, 9223372036854775807)}", NULL, 0);
  expect_array(&b, DTYPE_F64, 3, empty, "", 0);
}

/* Column-major [2,3,2]: element (i,j,k) at i + 2 j + 6 k holds 100 i + 10 j + k; row-major it is counted up by k first. */
static void test_fortran_order(void **state) {
  (void)state;
  const int64_t dims[] = {2, 3, 2};
  int16_t columns[12], rows[12];
  for (int16_t i = 0; i < 2; i++) {
    for (int16_t j = 0; j < 3; j++) {
      for (int16_t k = 0; k < 2; k++) {
        columns[i + 2 * j + 6 * k] = rows[(i * 3 + j) * 2 + k] = (int16_t)(100 * i + 10 * j + k);
      }
    }
  }
  struct bytes b = make_file(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 2)}", columns, sizeof columns);
  expect_array(&b, DTYPE_I16, 3, dims, rows, sizeof rows);
}

static void test_byte_order(void **state) {
  (void)state;
  const uint8_t big[] = {0, 0, 0, 1, 0, 0, 1, 0}, little[] = {1, 0, 0, 0, 0, 1, 0, 0};
  const int64_t two[] = {2}, one[] = {1};
  struct bytes b = make_file(1, "{'descr': '>u4', 'fortran_order': False, 'shape': (2,)}", big, sizeof big);
  expect_array(&b, DTYPE_UI32, 1, two, little, sizeof little);
  /* of a complex number each part is swapped, not the whole */
  b = make_file(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}", big, sizeof big);
  expect_array(&b, DTYPE_C64, 1, one, little, sizeof little);
}

static void test_types(void **state) {
  (void)state;
  static const struct {
    const char *descr;
    enum dtype dtype;
    size_t bytes;
  } rows[] = {{"|b1", DTYPE_I1, 1},   {"|i1", DTYPE_I8, 1},     {"<i2", DTYPE_I16, 2},  {"<i4", DTYPE_I32, 4},
              {"<i8", DTYPE_I64, 8},  {"|u1", DTYPE_UI8, 1},    {"<u2", DTYPE_UI16, 2}, {"<u4", DTYPE_UI32, 4},
              {"<u8", DTYPE_UI64, 8}, {"<f2", DTYPE_F16, 2},    {"<f4", DTYPE_F32, 4},  {"=f8", DTYPE_F64, 8},
              {"<c8", DTYPE_C64, 8},  {"<c16", DTYPE_C128, 16}, {"<V2", DTYPE_NONE, 2}, {"|V1", DTYPE_NONE, 1},
              {"<f1", DTYPE_NONE, 1}};
  const uint8_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char dictionary[128];
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': ()}", rows[i].descr);
    struct bytes b = make_file(1, dictionary, ones, rows[i].bytes);
    expect_array(&b, rows[i].dtype, 0, NULL, ones, rows[i].bytes);
  }
}

static void test_refused_elements(void **state) {
  (void)state;
  static const struct {
    const char *descr, *words;
  } rows[] = {{"'|O'", "Python objects"},   {"'<U5'", "text"},          {"'|S3'", "text"},
              {"'<M8[ns]'", "dates"},       {"'<f16'", "another kind"}, {"'<i3'", "another kind"},
              {"'|V7'", "records"},         {"''", "another kind"},     {"'f4'", "another kind"},
              {"[('x', '<f4')]", "records"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char dictionary[128];
    snprintf(dictionary, sizeof dictionary, "{'descr': %s, 'fortran_order': False, 'shape': ()}", rows[i].descr);
    struct bytes b = make_file(1, dictionary, NULL, 0);
    expect_refused(&b, rows[i].words);
  }
}

static void test_damaged_headers(void **state) {
  (void)state;
  static const char *const dictionaries[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': ()}",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
      "{'descr': '<f4",
      "{'color': 1}",
  };
  for (size_t i = 0; i < sizeof dictionaries / sizeof dictionaries[0]; i++) {
    struct bytes b = make_file(1, dictionaries[i], NULL, 0);
    expect_refused(&b, "damaged");
  }
}

/* Sizes whose product overflows, or that the file cannot hold, cost no memory. */
static void test_promises_that_files_do_not_keep(void **state) {
  (void)state;
  const uint8_t data[16] = {0};
  struct bytes b =
      make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", data, 16);
  expect_refused(&b, "truncated");
  b = make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", data, 16);
  expect_refused(&b, "truncated");
  b = make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", data, 16);
  expect_refused(&b, "truncated");
  b = make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", data, 16);
  expect_refused(&b, "8 bytes behind");
  char many[512] = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; i++) {
    strcat(many, "1, ");
  }
  strcat(many, ")}");
  b = make_file(1, many, data, 8);
  expect_refused(&b, "64 dimensions");
}

/* Every beginning of a file is refused, with one message, and none is read past its end. */
static void test_every_truncation(void **state) {
  (void)state;
  const float values[] = {1, 2};
  for (unsigned major = 1; major <= 3; major++) {
    struct bytes b = make_file(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", values, 8);
    for (size_t length = 0; length < b.length; length++) {
      uint8_t *exact = malloc(length + 1); /* at the end of a block, where sanitizers see the byte behind */
      struct npy_arrays arrays;
      struct diag_list diags;
      assert_non_null(exact);
      memcpy(exact, b.data, length);
      diag_init(&diags);
      assert_int_not_equal(npy_parse(&arrays, "a.npy", exact, length, BUDGET, &diags), STATUS_OK);
      assert_int_equal(diags.entries.count, 1);
      npy_release(&arrays);
      diag_release(&diags);
      free(exact);
    }
  }
  struct bytes b = make_file(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", values, 8);
  expect_refused(&b, "1.0 to 3.0");
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static void test_header_is_aligned(void **state) {
  (void)state;
  const int64_t dims[] = {2, 3};
  struct npy_source source = {.name = "x", .dtype = DTYPE_BF16, .rank = 2, .dims = dims};
  struct strbuf out = {0};
  npy_header(&source, &out);
  const char *text = strbuf_text(&out);
  assert_int_equal(out.length % 64, 0);
  assert_memory_equal(text, "\x93NUMPY\1\0", 8);
  assert_int_equal((uint8_t)text[8] + 256 * (uint8_t)text[9], out.length - 10);
  assert_non_null(strstr(text + 10, "{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), }"));
  assert_int_equal(text[out.length - 1], '\n');
  strbuf_release(&out);
}

static void write_and_read(const char *ending, const struct npy_source *sources, size_t count,
                           struct npy_arrays *arrays) {
  char path[] = "/tmp/ridgeline_npy_XXXXXX.npz";
  struct diag_list diags;
  int fd = mkstemps(path, 4);
  assert_true(fd >= 0);
  close(fd);
  memcpy(path + strlen(path) - 4, ending, 4);
  diag_init(&diags);
  assert_int_equal(npy_write(path, sources, count, &diags), STATUS_OK);
  assert_int_equal(npy_read(arrays, path, BUDGET, &diags), STATUS_OK);
  remove(path);
  diag_release(&diags);
}

static void test_write_and_read(void **state) {
  (void)state;
  const float values[] = {1, 2, 3, 4, 5, 6};
  const uint8_t flags[] = {0, 1, 1};
  const int64_t dims[] = {2, 3}, three[] = {3}, none[] = {0};
  struct npy_source sources[] = {
      {.name = "arr_0", .dtype = DTYPE_F32, .rank = 2, .dims = dims, .data = values, .size_bytes = sizeof values},
      {.name = "a b/c", .dtype = DTYPE_I1, .rank = 1, .dims = three, .data = flags, .size_bytes = 3},
      {.name = "empty", .dtype = DTYPE_F8E4M3FN, .rank = 1, .dims = none}};
  struct npy_arrays arrays;
  write_and_read(".npz", sources, 3, &arrays);
  assert_int_equal(arrays.items.count, 3);
  assert_string_equal(arrays.items.data[0].name, "arr_0");
  assert_int_equal(arrays.items.data[0].dtype, DTYPE_F32);
  assert_memory_equal(arrays.items.data[0].data, values, sizeof values);
  assert_string_equal(arrays.items.data[1].name, "a b/c");
  assert_int_equal(arrays.items.data[1].dtype, DTYPE_I1);
  assert_memory_equal(arrays.items.data[1].data, flags, 3);
  assert_int_equal(arrays.items.data[2].dtype, DTYPE_NONE);
  assert_int_equal(arrays.items.data[2].size_bytes, 0);
  npy_release(&arrays);
  write_and_read(".npy", sources, 1, &arrays);
  assert_int_equal(arrays.items.count, 1);
  assert_memory_equal(arrays.items.data[0].data, values, sizeof values);
  npy_release(&arrays);
}

static void test_what_cannot_be_written(void **state) {
  (void)state;
  const struct npy_source sources[2] = {{.name = "x", .dtype = DTYPE_F32}, {.name = "x", .dtype = DTYPE_F32}};
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(npy_write("/nonexistent/x.npy", sources, 1, &diags), STATUS_IO);
  assert_int_equal(npy_write("/nonexistent/x.npz", sources, 1, &diags), STATUS_IO);
  assert_int_equal(npy_write("/tmp/x.npy", sources, 2, &diags), STATUS_INPUT);
  assert_int_equal(npy_write("/tmp/x.npz", sources, 2, &diags), STATUS_IO); /* one name twice */
  assert_int_equal(diags.entries.count, 4);
  diag_release(&diags);
}

/* ---- archives -------------------------------------------------------------------------------------------------------- */

/* An archive in memory with one deflated entry. */
static struct input_file make_archive(const char *entry, const void *bytes, size_t length) {
  char path[] = "/tmp/ridgeline_zip_XXXXXX";
  struct input_file file;
  struct diag_list diags;
  int fd = mkstemp(path), code;
  assert_true(fd >= 0);
  close(fd);
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(zip);
  zip_source_t *source = zip_source_buffer(zip, bytes, length, 0);
  zip_int64_t index = zip_file_add(zip, entry, source, 0);
  assert_true(index >= 0);
  assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, 9), 0);
  assert_int_equal(zip_close(zip), 0);
  diag_init(&diags);
  assert_int_equal(input_file_read(&file, path, 0, &diags), STATUS_OK);
  remove(path);
  diag_release(&diags);
  return file;
}

static void test_deflated_entry(void **state) {
  (void)state;
  static const int32_t zeros[500];
  struct bytes b = make_file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (500,)}", zeros, sizeof zeros);
  struct input_file file = make_archive("w.npy", b.data, b.length);
  assert_true(file.length < sizeof zeros);
  struct npy_arrays arrays;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(npy_parse(&arrays, "a.npz", file.text, file.length, BUDGET, &diags), STATUS_OK);
  assert_int_equal(arrays.items.count, 1);
  assert_string_equal(arrays.items.data[0].name, "w");
  assert_memory_equal(arrays.items.data[0].data, zeros, sizeof zeros);
  npy_release(&arrays);
  input_file_release(&file);
  diag_release(&diags);
}

/* 16 MiB of zeros deflate to some 16 kB: more than the budget is not unpacked. */
static void test_bomb_is_refused(void **state) {
  (void)state;
  size_t length = (size_t)16 << 20;
  void *zeros = calloc(1, length);
  struct input_file file = make_archive("w.npy", zeros, length);
  struct npy_arrays arrays;
  struct diag_list diags;
  diag_init(&diags);
  assert_true(file.length < BUDGET / 16);
  assert_int_equal(npy_parse(&arrays, "a.npz", file.text, file.length, BUDGET, &diags), STATUS_LIMIT);
  assert_non_null(strstr(diags.entries.data[0].message, "16777216 bytes"));
  npy_release(&arrays);
  input_file_release(&file);
  diag_release(&diags);
  free(zeros);
}

/* No byte of an archive that is changed, and no end of it that is missing, leads to more than a message. */
static void test_damaged_archives(void **state) {
  (void)state;
  const float values[] = {1, 2};
  struct bytes b = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", values, 8);
  struct input_file file = make_archive("w.npy", b.data, b.length);
  for (size_t i = 0; i < 3 * file.length; i++) {
    struct npy_arrays arrays;
    struct diag_list diags;
    uint8_t *bytes = malloc(file.length);
    assert_non_null(bytes);
    memcpy(bytes, file.text, file.length);
    size_t at = i / 3, length = i % 3 == 2 ? at : file.length;
    bytes[at] = i % 3 == 0 ? (uint8_t)~bytes[at] : i % 3 == 1 ? 0xff : bytes[at];
    diag_init(&diags);
    enum status status = npy_parse(&arrays, "a.npz", bytes, length, BUDGET, &diags);
    assert_true(status == STATUS_OK || diags.entries.count > 0);
    npy_release(&arrays);
    diag_release(&diags);
    free(bytes);
  }
  input_file_release(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions_and_layout),
      cmocka_unit_test(test_scalars_and_empty_arrays),
      cmocka_unit_test(test_fortran_order),
      cmocka_unit_test(test_byte_order),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_refused_elements),
      cmocka_unit_test(test_damaged_headers),
      cmocka_unit_test(test_promises_that_files_do_not_keep),
      cmocka_unit_test(test_every_truncation),
      cmocka_unit_test(test_header_is_aligned),
      cmocka_unit_test(test_write_and_read),
      cmocka_unit_test(test_what_cannot_be_written),
      cmocka_unit_test(test_deflated_entry),
      cmocka_unit_test(test_bomb_is_refused),
      cmocka_unit_test(test_damaged_archives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
