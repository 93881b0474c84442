/* Mapping files and CSV into profiles and back, and profiles as kernel shapes. Every expected number is written beside the
 * cell that it comes from. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "profile/measured_kernels.h"

/* A directory with tables and a mapping file, and a profile in memory. */
struct fixture {
  char directory[64];
  struct diag_list diags;
  struct store *store;
  uint64_t added, absent;
  struct strbuf text; /* rows or messages as text */
};

static void path_in(const struct fixture *f, const char *name, char path[128]) {
  snprintf(path, 128, "%s/%s", f->directory, name);
}

static void write_file(const struct fixture *f, const char *name, const char *text, size_t length) {
  char path[128];
  path_in(f, name, path);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  fclose(file);
}

static int open_fixture(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  strcpy(f->directory, "/tmp/rdg_profile_XXXXXX");
  if (mkdtemp(f->directory) == NULL) {
    return -1;
  }
  diag_init(&f->diags);
  f->diags.error_limit = 100;
  *state = f;
  return store_open(":memory:", false, &f->diags, &f->store) == STATUS_OK ? 0 : -1;
}

static int close_fixture(void **state) {
  struct fixture *f = *state;
  char command[128];
  store_close(f->store);
  diag_release(&f->diags);
  strbuf_release(&f->text);
  snprintf(command, sizeof command, "rm -r %s", f->directory);
  int status = system(command);
  free(f);
  return status;
}

static enum status import_text(struct fixture *f, const char *yaml, size_t length) {
  char path[128];
  write_file(f, "m.yaml", yaml, length);
  path_in(f, "m.yaml", path);
  diag_release(&f->diags);
  diag_init(&f->diags);
  f->diags.error_limit = 100;
  f->added = f->absent = 0;
  return profile_import_mapping(f->store, path, f->directory, &f->added, &f->absent, &f->diags);
}

static const char *messages(struct fixture *f) {
  strbuf_clear(&f->text);
  for (size_t i = 0; i < f->diags.entries.count; i++) {
    diag_format(&f->diags.entries.data[i], &f->text);
  }
  return strbuf_text(&f->text);
}

static void assert_said(struct fixture *f, const char *text) {
  if (strstr(messages(f), text) == NULL) {
    fail_msg("messages lack '%s':\n%s", text, messages(f));
  }
}

static bool see_operator(void *user, const struct store_operator *r) {
  strbuf_printf(user, "%s|%s|%s|%s|%s|%s|%s|%g|%g\n", r->device, r->software, r->op, r->format, r->shape, r->variant,
                store_split_name(r->split), r->latency_s, isnan(r->spread_s) ? -1 : r->spread_s);
  return true;
}

static const char *rows(struct fixture *f) {
  strbuf_clear(&f->text);
  assert_int_equal(store_each_operator(f->store, NULL, see_operator, &f->text, &f->diags), STATUS_OK);
  return strbuf_text(&f->text);
}

#define WRITE(f, name, text) write_file(f, name, text, strlen(text))
#define HEAD "source: s\ntitle: T\nurl: u\nlicence: MIT\nuse: fit\nfolder: .\n"

static void every_feature_of_a_mapping(void **state) {
  struct fixture *f = *state;
  /* padded heading and cells, a quoted cell, a device not wanted, one not listed, a row outside the conditions, a cell
   * that is no number, a latency of zero */
  WRITE(f, "a.csv",
        "dev,dt ,M,extra,t,sd,label\n"
        "A1,half, 2 ,0.5,5,0.25,mm_3x4\n"
        "A1,quarter,2,0,5,,\"mm, 5x6\"\n"
        "B1,half,2,0,5,,mm_3x4\n"
        "C1,half,2,0,5,,mm_3x4\n"
        "A1,half,99,0,5,,mm_3x4\n"
        "A1,half,x,0,5,,mm_3x4\n"
        "A1,half,2,0,0,,mm_3x4\n"
        "A1,half,2,0,5,,none\n"
        "A1,third,2,0,5,,mm_3x4\n");
  const char yaml[] = HEAD "note: anything\n"
                           "defaults:\n"
                           "  device: {column: dev, map: {A1: chip_a, B1: ~}}\n"
                           "  latency: {column: t, unit: us}\n"
                           "tables:\n"
                           "  - files: {train: a.csv, test: [a.csv]}\n"
                           "    op: gemm\n"
                           "    format: {column: dt, map: {half: bf16, quarter: fp8}, default: f32}\n"
                           "    software: lib 1.0\n"
                           "    variant: {column: label}\n"
                           "    spread: {column: sd, unit: ns}\n"
                           "    where: [{column: M, at_most: 50}, {column: dt, is_not: [third, fourth]}]\n"
                           "    shape:\n"
                           "      m: {sum: [M, extra, 1.5]}\n"
                           "      n: {column: label, number: 1}\n"
                           "      k: {quotient: [{product: [{column: label, number: 2}, M]}, 4]}\n"
                           "      quantises: {column: dt, map: {quarter: 1}, default: 0}\n"
                           "      warm: 1\n";
  assert_int_equal(import_text(f, yaml, strlen(yaml)), STATUS_OK);
  /* m = 2 + 0.5 + 1.5 = 4, n = 3, k = 4 * 2 / 4 = 2; spread 0.25 ns; and m = 2 + 0 + 1.5, n = 5, k = 6 * 2 / 4 = 3 */
#define ROWS(split)                                                                                                    \
  "chip_a|lib 1.0|gemm|bf16|{\"k\":2,\"m\":4,\"n\":3,\"quantises\":0,\"warm\":1}|mm_3x4|" split "|5e-06|2.5e-10\n"     \
  "chip_a|lib 1.0|gemm|fp8|{\"k\":3,\"m\":3.5,\"n\":5,\"quantises\":1,\"warm\":1}|mm, 5x6|" split "|5e-06|-1\n"
  assert_string_equal(rows(f), ROWS("train") ROWS("test"));
  assert_int_equal(f->added, 4);
  assert_int_equal(f->diags.warning_count, 6); /* three reasons, twice */
  assert_said(f, "m.yaml:9:11: warning: 1 rows of 'a.csv' are left out: 'C1' is not in the map");
  assert_said(f, "1 rows of 'a.csv' are left out: their shape");
  assert_said(f, "1 rows of 'a.csv' are left out: no positive time");
  assert_int_equal(import_text(f, yaml, strlen(yaml)), STATUS_OK); /* again: replaced, not doubled */
  assert_string_equal(rows(f), ROWS("train") ROWS("test"));
}

/* 2 x 2 x 3 x 4 = 48 operations at 2 GFLOP/s take 24 ns; 10 x 20 elements at 4 Gelement/s take 50 ns. */
static void rates_become_times(void **state) {
  struct fixture *f = *state;
  WRITE(f, "r.csv", "2,3,4,2\n");
  WRITE(f, "e.csv", "10,20,4 G,exp\n");
  const char yaml[] =
      HEAD "tables:\n"
           "  - files: {folds: r.csv}\n"
           "    headings: [M, N, K, rate]\n"
           "    op: gemm\n"
           "    device: chip\n"
           "    format: f16\n"
           "    latency: {column: rate, unit: GFLOP/s}\n"
           "    shape: {m: M, n: N, k: K}\n"
           "  - files: {folds: e.csv}\n"
           "    headings: [rows, columns, rate, fn]\n"
           "    op: softmax\n"
           "    device: chip\n"
           "    format: f16\n"
           "    latency: {column: rate, number: 1, unit: Gelement/s}\n"
           "    shape: {rows: rows, columns: columns, function: {column: fn, map: {exp: exp}, default: none}}\n";
  assert_int_equal(import_text(f, yaml, strlen(yaml)), STATUS_OK);
  assert_string_equal(rows(f), "chip||gemm|f16|{\"k\":4,\"m\":2,\"n\":3}||folds|2.4e-08|-1\n"
                               "chip||softmax|f16|{\"columns\":20,\"function\":\"exp\",\"rows\":10}||folds|5e-08|-1\n");
}

static const char *const template_lines[] = {
    "source: s",
    "title: T",
    "url: u",
    "licence: MIT",
    "use: fit",
    "folder: .",
    "tables:",
    "  - files: {train: a.csv}",
    "    op: gemm",
    "    device: {column: dev, map: {a: chip_a}}",
    "    format: bf16",
    "    latency: {column: t, unit: us}",
    "    shape: {m: M, n: N, k: K}",
    "",
};
enum { TEMPLATE_LINES = sizeof template_lines / sizeof template_lines[0] };

/* The template with one line (counted from 1) in place of its own. */
static void make_yaml(struct strbuf *out, int line, const char *replacement) {
  strbuf_clear(out);
  for (int i = 0; i < TEMPLATE_LINES; i++) {
    strbuf_puts(out, i + 1 == line ? replacement : template_lines[i]);
    strbuf_putc(out, '\n');
  }
}

static const struct {
  int line;
  const char *text, *place, *said;
} bad_lines[] = {
    {4, "licnce: MIT", ":4:1: error:", "'licnce' is not a key of a mapping file; did you mean 'licence'?"},
    {4, "licnce: MIT", ":1:1: error:", "'licence' is missing"},
    {4, "licence: [MIT]", ":4:10: error:", "'licence' must be a word or text"},
    {5, "use: fitt", ":5:6: error:", "'fitt' is not a use (fit, score); did you mean 'fit'?"},
    {6, "folder: ../x", ":6:9: error:", "'folder' is below the data directory"},
    {6, "folder: /etc", ":6:9: error:", "'folder' is below the data directory"},
    {7, "tabels:", ":7:1: error:", "'tabels' is not a key of a mapping file; did you mean 'tables'?"},
    {8, "  - files: {trian: a.csv}", ":8:13: error:", "'trian' is not a split; did you mean 'train'?"},
    {8, "  - files: {train: ../a.csv}", ":8:20: error:", "a file is named relative to 'folder'"},
    {8, "  - files: a.csv", ":8:12: error:", "'files' must be a map"},
    {8, "  - files: {train: a.csv}\n    hedings: [a]",
     ":9:5: error:", "'hedings' is not a key of a table; did you mean"},
    {8, "  - files: {train: a.csv}\n    headings: [a]", ":8:5: error:", "has 6 columns, 'headings' names 1"},
    {9, "    op: gem", ":9:9: error:", "'gem' is not a kind of kernel; did you mean 'gemm'?"},
    {10, "", ":8:5: error:", "the table lacks 'device'"},
    {10, "    device: {colum: dev}", ":10:14: error:", "'colum' is not a key of a value; did you mean 'column'?"},
    {10, "    device: {column: dev, default: x}", ":10:27: error:", "there is no 'map'"},
    {10, "    device: {column: dve}", ":10:13: error:", "has no column 'dve'; did you mean 'dev'?"},
    {10, "    device: {column: dev, map: {}}", ":10:32: error:", "'map' must be a map"},
    {10, "    device: {sum: [M, N]}", ":10:19: error:", "where a number is wanted"},
    {11, "    format: bf61", ":11:13: error:", "'bf61' is not a format; did you mean 'bf16'?"},
    {11, "    format: {column: dt, map: {h: bf61}}", ":11:35: error:", "'bf61' is not a format"},
    {12, "    latency: {column: t, unit: sec}", ":12:32: error:", "'sec' is not a unit (s, ms, us, ns,"},
    {12, "    latency: {column: t}", ":12:14: error:", "'unit' is missing"},
    {12, "    latency: t", ":12:14: error:", "'latency' is {column: NAME, unit: ms}"},
    {12, "    latency: {column: t, number: 0, unit: us}", ":12:34: error:", "which number in the cell"},
    {12, "    latency: {column: t, unit: us}\n    spread: {column: t, unit: FLOP/s}",
     ":13:31: error:", "'spread' must be a time"},
    {13, "", ":8:5: error:", "'shape' must be a map"},
    {13, "    shape: {m: M, n: N}", ":13:12: error:", "the shape of 'gemm' needs 'k'"},
    {13, "    shape: {m: M, n: N, k: K, j: 1}", ":13:31: error:", "'j' is not an extent of these kernels"},
    {13, "    shape: {m: M, n: N, k: {sum: [K]}}", ":13:34: error:", "'sum' takes a list of 2 to 8"},
    {13, "    shape: {m: M, n: N, k: [K]}", ":13:28: error:", "a value is a word, a number, or a map"},
    {13, "    shape: {m: M, n: N, k: {column: K, map: {a: x}}}", ":13:49: error:", "'x' must be a number"},
    {13, "    shape: {m: M, n: N, k: {column: K, unit: us}}", ":13:40: error:", "'unit' is not a key of a value"},
    {13, "    shape: {m: M, n: N, k: inf}", ":13:28: error:", "'inf' must be a number"},
    {14, "    where: {column: t}", ":14:12: error:", "'where' is a list of at most 32 conditions"},
    {14, "    where: [{column: t}]", ":14:13: error:", "a condition has one of"},
    {14, "    where: [{column: t, is: a, is_not: b}]", ":14:13: error:", "a condition has one of"},
    {14, "    where: [{column: t, at_least: x}]", ":14:35: error:", "'x' must be a number"},
    {14, "    where: [{column: tt, is: x}]", ":14:13: error:", "has no column 'tt'"},
    {14, "    where: [{column: t, iss: x}]", ":14:25: error:", "'iss' is not a key of a condition; did you mean 'is'?"},
    {13, "    shape: {m: M", "error:", "[E0301]"},
    {13, "    shape: {m: M, m: N}", ":13:19: error:", "'m' is given twice"},
};

static void errors_have_their_place(void **state) {
  struct fixture *f = *state;
  struct strbuf yaml = {0};
  WRITE(f, "a.csv", "dev,dt,M,N,K,t\na,h,2,3,4,5\n");
  make_yaml(&yaml, 0, "");
  assert_int_equal(import_text(f, yaml.data, yaml.length), STATUS_OK); /* the template itself is good */
  assert_int_equal(f->added, 1);
  for (size_t i = 0; i < sizeof bad_lines / sizeof bad_lines[0]; i++) {
    make_yaml(&yaml, bad_lines[i].line, bad_lines[i].text);
    assert_int_equal(import_text(f, yaml.data, yaml.length), STATUS_INPUT);
    assert_int_equal(f->added, 0);
    /* place and text in one line */
    const char *all = messages(f), *line = strstr(all, bad_lines[i].said);
    while (line != NULL && line > all && line[-1] != '\n') {
      line--;
    }
    const char *place = line != NULL ? strstr(line, bad_lines[i].place) : NULL;
    if (place == NULL || place > strchr(line, '\n')) {
      fail_msg("line %d '%s': no '%s' with '%s' in\n%s", bad_lines[i].line, bad_lines[i].text, bad_lines[i].place,
               bad_lines[i].said, all);
    }
    assert_string_equal(rows(f), "chip_a||gemm|bf16|{\"k\":4,\"m\":2,\"n\":3}||train|5e-06|-1\n"); /* kept */
  }
  strbuf_release(&yaml);
}

static void absent_tables_are_counted(void **state) {
  struct fixture *f = *state;
  struct strbuf yaml = {0};
  make_yaml(&yaml, 8, "  - files: {train: [gone.csv, away.csv]}");
  assert_int_equal(import_text(f, yaml.data, yaml.length), STATUS_OK);
  assert_int_equal(f->absent, 2);
  assert_int_equal(f->added, 0);
  assert_said(f, ":8:21: warning: no data: ");
  assert_said(f, "away.csv' does not exist [W0604]");
  WRITE(f, "a.csv", "");
  make_yaml(&yaml, 0, "");
  assert_int_equal(import_text(f, yaml.data, yaml.length), STATUS_INPUT);
  assert_said(f, "a.csv' is empty [E0002]");
  WRITE(f, "a.csv", "dev,M,N,K,t\na,2,3\n");
  assert_int_equal(import_text(f, yaml.data, yaml.length), STATUS_INPUT);
  assert_said(f, "a.csv:2:1: error: this row has 3 cells, the heading has 5");
  strbuf_release(&yaml);
}

/* Truncated and changed mapping files: a status, and an error exactly when it is not OK. */
static void hostile_mappings(void **state) {
  struct fixture *f = *state;
  struct strbuf yaml = {0};
  WRITE(f, "a.csv", "dev,dt,M,N,K,t\na,h,2,3,4,5\nb,h,2,x3,4,\n");
  make_yaml(&yaml, 14,
            "    where: [{column: M, at_least: 1, number: 1}, {column: dt, is: [h, g]}]\n"
            "    variant: {column: dt, map: {h: x, g: ~}, default: z}\n"
            "  - {files: {test: a.csv}, op: normalisation, device: d, format: f32, latency: {column: t, unit: FLOP/s},"
            " shape: {columns: {product: [M, {quotient: [N, 2]}]}, function: rsqrt}}");
  for (size_t length = 0; length < yaml.length; length++) {
    enum status status = import_text(f, yaml.data, length);
    assert_int_equal(status != STATUS_OK, f->diags.error_count > 0);
  }
  uint64_t random = 7;
  static const char words[][12] = {"{", "}", "[",  "]", ":",      "~",   ",",     "\n", "  ",
                                   "-", "'", "\"", "#", "column", "map", "1e999", "&a", "*a"};
  size_t bad = 0;
  for (int round = 0; round < 3000; round++) {
    struct strbuf copy = {0};
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t at = (random >> 33) % yaml.length, skip = (random >> 20) % 4;
    const char *word = words[(random >> 40) % (sizeof words / sizeof words[0])];
    strbuf_add(&copy, yaml.data, at);
    strbuf_puts(&copy, word);
    strbuf_puts(&copy, yaml.data + (at + skip < yaml.length ? at + skip : yaml.length));
    enum status status = import_text(f, copy.data, copy.length);
    assert_int_equal(status != STATUS_OK, f->diags.error_count > 0);
    bad += status != STATUS_OK;
    strbuf_release(&copy);
  }
  assert_in_range(bad, 1000, 2999);
  strbuf_release(&yaml);
}

/* ---- shapes ---- */

static void shapes_from_json(void **state) {
  (void)state;
  struct kernel_shape s;
  assert_true(
      measured_shape_parse(KERNEL_GEMM, KERNEL_FORMAT_FP8, " { \"k\" : 4096 , \"m\":1e2,\"n\":0.5e3, \"warm\":1}", &s));
  assert_true(s.gemm.k == 4096 && s.gemm.m == 100 && s.gemm.n == 500 && s.gemm.batch == 1);
  assert_int_equal(s.flags, KERNEL_WARM);
  assert_int_equal(s.format, KERNEL_FORMAT_FP8);
  assert_true(measured_shape_parse(KERNEL_ATTENTION_PREFILL, KERNEL_FORMAT_BF16,
                                   "{\"batch\":2,\"causal\":1,\"context\":300,\"head_dim\":128,\"heads\":32,"
                                   "\"kv_heads\":8,\"queries\":100,\"window\":64}",
                                   &s));
  assert_true(s.attention.batch == 2 && s.attention.queries == 100 && s.attention.context == 300
              && s.attention.heads == 32 && s.attention.kv_heads == 8 && s.attention.head_dim == 128
              && s.attention.window == 64 && s.attention.is_causal && s.flags == 0);
  assert_true(measured_shape_parse(KERNEL_GROUPED_GEMM, KERNEL_FORMAT_BF16,
                                   "{\"experts\":8,\"hidden\":7,\"inter\":6,\"skew\":1.01,\"tokens\":5,\"top_k\":2,"
                                   "\"quantises\":1,\"bias\":1}",
                                   &s));
  assert_true(s.grouped.experts == 8 && s.grouped.hidden == 7 && s.grouped.inter == 6 && s.grouped.skew == 1.01
              && s.grouped.tokens == 5 && s.grouped.top_k == 2 && s.grouped.tensor_parallel == 1
              && s.grouped.expert_parallel == 1);
  assert_int_equal(s.flags, KERNEL_QUANTISES | KERNEL_BIAS);
  assert_true(measured_shape_parse(KERNEL_ELEMENTWISE, KERNEL_FORMAT_F32,
                                   "{\"columns\":9,\"function\":\"tanh\",\"reads\":2,\"vector_flops\":3}", &s));
  assert_true(s.pass.rows == 1 && s.pass.columns == 9 && s.pass.reads == 2 && s.pass.writes == 1
              && s.pass.vector_flops == 3);
  assert_int_equal(s.pass.function, HW_FUNCTION_TANH);
  assert_true(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, "{\"columns\":9,\"function\":0}", &s));
  assert_int_equal(s.pass.function, HW_FUNCTION_EXP);
  assert_true(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, "{\"columns\":9,\"function\":\"none\"}", &s));
  assert_int_equal(s.pass.function, HW_FUNCTION_COUNT);
  assert_true(measured_shape_parse(KERNEL_NORMALISATION, KERNEL_FORMAT_F32, "{\"columns\":9}", &s));
  assert_int_equal(s.pass.function, HW_FUNCTION_COUNT);
  assert_int_equal(measured_function_find("power"), HW_FUNCTION_POWER);
  assert_int_equal(measured_function_find("cosine"), HW_FUNCTION_COUNT);
}

static void shapes_that_are_none(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      "{}",
      "[]",
      "{\"m\":1,\"n\":2}",
      "{\"m\":1,\"n\":2,\"k\":0}",
      "{\"m\":1,\"n\":2,\"k\":0.99}",
      "{\"m\":1,\"n\":2,\"k\":-3}",
      "{\"m\":1,\"n\":2,\"k\":1e999}",
      "{\"m\":1,\"n\":2,\"k\":1.001e15}", /* products of extents stay finite */
      "{\"m\":1,\"n\":2,\"k\":nan}",
      "{\"m\":1,\"n\":2,\"k\":\"3\"}",
      "{\"m\":1,\"n\":2,\"k\":null}",
      "{\"m\":1,\"n\":2,\"k\":3,}",
      "{\"m\":1,\"n\":2,\"k\":3",
      "{\"m\":1,\"n\":2,\"k\":3}x",
      "{\"m\":1,\"n\":2,\"k\":3,\"k\":3}",
      "{\"m\":1,\"n\":2,\"k\":3,\"heads\":3}",
      "{\"m\":1,\"n\":2,\"k\":3,\"warm\":2}",
      "{\"m\":1,\"n\":2,\"k\":[3]}",
      "{\"m\":1,\"n\":2,\"k\":3,\"\":1}",
      "{\"m\":1,\"n\":2,\"k\":1-1}",
      "{\"m\" 1}",
      "{m:1}",
      "{\"m",
  };
  struct kernel_shape s;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    if (measured_shape_parse(KERNEL_GEMM, KERNEL_FORMAT_BF16, bad[i], &s)) {
      fail_msg("'%s' passed", bad[i]);
    }
  }
  assert_false(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, "{\"columns\":9,\"function\":\"exp2\"}", &s));
  assert_false(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, "{\"columns\":9,\"reads\":1e16}", &s));
  assert_false(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, "{\"columns\":9,\"function\":0.5}", &s));
  assert_false(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32, "{\"columns\":9,\"function\":99}", &s));
  assert_false(measured_shape_parse(KERNEL_SOFTMAX, KERNEL_FORMAT_F32,
                                    "{\"columns\":9,\"function\":\"a very long name of a function\"}", &s));
}

/* ---- kernels ---- */

static void add_row(struct fixture *f, const char *source, const char *device, const char *op, const char *format,
                    const char *shape, double latency_s) {
  const struct store_operator row = {source, device, "", op, format, shape, "", STORE_TRAIN, latency_s, (double)NAN};
  assert_int_equal(store_add_operator(f->store, &row, &f->diags), STATUS_OK);
}

static void profiles_become_kernels(void **state) {
  struct fixture *f = *state;
  const struct store_source fit = {"a", "", "", "", true}, score = {"b", "", "", "", false};
  assert_int_equal(store_add_source(f->store, &fit, &f->diags), STATUS_OK);
  assert_int_equal(store_add_source(f->store, &score, &f->diags), STATUS_OK);
  const char *gemm = "{\"k\":1,\"m\":1,\"n\":1}", *softmax = "{\"columns\":8}";
  add_row(f, "a", "nvidia_h100_sxm", "gemm", "fp8", gemm, 1);
  add_row(f, "a", "nvidia_h100_sxm", "softmax", "bf16", softmax, 2);
  add_row(f, "b", "nvidia_h100_sxm", "gemm", "bf16", gemm, 3);
  add_row(f, "a", "amd_mi300x", "gemm", "bf16", gemm, 4);
  add_row(f, "a", "nvidia_h100_sxm", "gemm", "bf16", gemm, 5);
  add_row(f, "a", "h100", "gemm", "bf16", gemm, 6); /* an alias */
  add_row(f, "a", "no_chip", "gemm", "bf16", gemm, 7);
  add_row(f, "a", "no_chip", "gemm", "bf16", gemm, 7);
  add_row(f, "a", "nvidia_h100_sxm", "convolution", "bf16", "{}", 7);
  add_row(f, "a", "nvidia_h100_sxm", "gemm", "bf17", gemm, 7);
  add_row(f, "a", "nvidia_h100_sxm", "gemm", "bf16", "{\"k\":1,\"m\":1}", 7);
  struct hw_database chips;
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &f->diags), STATUS_OK);
  struct measured_kernels kernels;
  assert_int_equal(measured_kernels_load(&kernels, f->store, &chips, &f->diags), STATUS_OK);
  assert_int_equal(kernels.rows.count, 6);
  assert_int_equal(kernels.skipped, 5);
  /* by chip id, class, format (f32 tf32 f16 bf16 fp8 ...); equal ones as they were added */
  static const double order[] = {4, 3, 5, 6, 1, 2};
  for (size_t i = 0; i < 6; i++) {
    const struct measured_kernel *row = &kernels.rows.data[i];
    assert_true(row->latency_s == order[i]);
    assert_string_equal(row->chip->id, i == 0 ? "amd_mi300x" : "nvidia_h100_sxm");
    assert_string_equal(kernels.sources.data[row->source], order[i] == 3 ? "b" : "a");
    assert_int_equal(row->may_fit, order[i] != 3);
    assert_int_equal(row->fold, store_fold(order[i] == 2 ? softmax : gemm));
    assert_int_equal(row->shape.class_of, order[i] == 2 ? KERNEL_SOFTMAX : KERNEL_GEMM);
  }
  assert_said(f, "2 measured rows of device 'no_chip' are left out: no chip has that name [W0603]");
  assert_said(f, "1 measured rows of operator 'convolution'");
  assert_said(f, "1 measured rows of format 'bf17'");
  assert_said(f, "1 measured rows are left out: their shape lacks an extent");
  assert_int_equal(f->diags.warning_count, 4);
  measured_kernels_release(&kernels);
  hw_database_release(&chips);
}

/* A time that the table's CHECK would have refused, written by a program that asked not to check. */
static void times_that_are_none_are_left_out(void **state) {
  struct fixture *f = *state;
  char path[128];
  path_in(f, "foreign.db", path);
  struct store *store = NULL;
  assert_int_equal(store_open(path, false, &f->diags, &store), STATUS_OK);
  assert_int_equal(store_add_source(store, &(struct store_source){"a", "", "", "", true}, &f->diags), STATUS_OK);
  store_close(store);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  static const char rows[] =
      "PRAGMA ignore_check_constraints = 1; INSERT INTO operator (source, device, software, op, format, shape, variant,"
      " split, latency_s) VALUES (1, 'nvidia_h100_sxm', '', 'softmax', 'bf16', '{\"columns\":8}', '', 'train', %s)";
  static const char *const times[] = {"0.0", "-1.0", "1e9", "9e999", "1e-5"};
  for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
    char sql[512];
    snprintf(sql, sizeof sql, rows, times[i]);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  }
  sqlite3_close(db);
  struct hw_database chips;
  struct measured_kernels kernels;
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &f->diags), STATUS_OK);
  assert_int_equal(store_open(path, true, &f->diags, &store), STATUS_OK);
  assert_int_equal(measured_kernels_load(&kernels, store, &chips, &f->diags), STATUS_OK);
  assert_int_equal(kernels.rows.count, 1);
  assert_true(kernels.rows.data[0].latency_s == 1e-5);
  assert_int_equal(kernels.skipped, 4);
  assert_said(f, "4 measured rows are left out");
  measured_kernels_release(&kernels);
  store_close(store);
  hw_database_release(&chips);
}

/* ---- CSV ---- */

static enum status import_csv(struct fixture *f, const char *text) {
  char path[128];
  WRITE(f, "p.csv", text);
  path_in(f, "p.csv", path);
  diag_release(&f->diags);
  diag_init(&f->diags);
  f->added = 0;
  return profile_import_csv(f->store, path, &f->added, &f->diags);
}

static bool see_program(void *user, const struct store_program *r) {
  strbuf_printf(user, "%s|%s|%s|%s|%s|%s|%s|%u|%s|%.17g|%g\n", r->source, r->device, r->software, r->program, r->format,
                r->shape, r->variant, r->devices, store_split_name(r->split), r->latency_s, r->spread_s);
  return true;
}

static void csv_round_trip(void **state) {
  struct fixture *f = *state;
  const struct store_source a = {"a", "Title, with comma", "https://u", "MIT \"X11\"", true};
  const struct store_source b = {"b", "", "", "none stated", false};
  assert_int_equal(store_add_source(f->store, &a, &f->diags), STATUS_OK);
  assert_int_equal(store_add_source(f->store, &b, &f->diags), STATUS_OK);
  struct store_operator row = {"a",          "chip",     "x, \"y\"", "gemm", "bf16", "{\"k\":1,\"m\":1,\"n\":1}",
                               "two\nlines", STORE_TEST, 0.1 + 0.2,  1e-300};
  assert_int_equal(store_add_operator(f->store, &row, &f->diags), STATUS_OK);
  row.source = "b";
  row.spread_s = (double)NAN;
  row.variant = "";
  row.split = STORE_FOLDS;
  assert_int_equal(store_add_operator(f->store, &row, &f->diags), STATUS_OK);
  row.source = "a";
  assert_int_equal(store_add_operator(f->store, &row, &f->diags), STATUS_OK);
  const struct store_program program = {"b", "chip", "jax", "step, 1", "", "{}", "", 8, STORE_TRAIN, 1.0 / 3, 0.5};
  assert_int_equal(store_add_program(f->store, &program, &f->diags), STATUS_OK);

  struct strbuf operators = {0}, programs = {0}, again = {0}, seen = {0};
  assert_int_equal(profile_export_csv(f->store, false, &operators, &f->diags), STATUS_OK);
  assert_string_equal(
      strbuf_text(&operators),
      "source,device,software,op,format,shape,variant,split,latency_s,spread_s,title,url,licence,use\n"
      "a,chip,\"x, \"\"y\"\"\",gemm,bf16,\"{\"\"k\"\":1,\"\"m\"\":1,\"\"n\"\":1}\",\"two\nlines\",test,"
      "0.30000000000000004,1e-300,\"Title, with comma\",https://u,\"MIT \"\"X11\"\"\",fit\n"
      "b,chip,\"x, \"\"y\"\"\",gemm,bf16,\"{\"\"k\"\":1,\"\"m\"\":1,\"\"n\"\":1}\",,folds,0.30000000000000004,,,,none "
      "stated,score\n"
      "a,chip,\"x, \"\"y\"\"\",gemm,bf16,\"{\"\"k\"\":1,\"\"m\"\":1,\"\"n\"\":1}\",,folds,0.30000000000000004,,,,,\n");
  assert_int_equal(profile_export_csv(f->store, true, &programs, &f->diags), STATUS_OK);
  store_close(f->store);
  assert_int_equal(store_open(":memory:", false, &f->diags, &f->store), STATUS_OK);
  for (int round = 0; round < 2; round++) { /* the second time replaces */
    assert_int_equal(import_csv(f, strbuf_text(&operators)), STATUS_OK);
    assert_int_equal(f->added, 3);
    assert_int_equal(import_csv(f, strbuf_text(&programs)), STATUS_OK);
    assert_int_equal(f->added, 1);
  }
  assert_int_equal(profile_export_csv(f->store, false, &again, &f->diags), STATUS_OK);
  assert_string_equal(strbuf_text(&again), strbuf_text(&operators));
  assert_string_equal(store_find_source(f->store, "a")->title, "Title, with comma");
  assert_true(store_find_source(f->store, "a")->may_fit);
  assert_int_equal(store_each_program(f->store, NULL, see_program, &seen, &f->diags), STATUS_OK);
  assert_string_equal(strbuf_text(&seen), "b|chip|jax|step, 1||{}||8|train|0.33333333333333331|0.5\n");
  strbuf_release(&operators);
  strbuf_release(&programs);
  strbuf_release(&again);
  strbuf_release(&seen);
}

#define SHORT "source,device,op,format,shape,split,latency_s\n"
#define CELLS "\"{\"\"k\"\":1,\"\"m\"\":1,\"\"n\"\":1}\""

static void csv_of_ones_own(void **state) {
  struct fixture *f = *state;
  assert_int_equal(import_csv(f, SHORT "me,chip,gemm,bf16," CELLS ",train,1e-6\r\nme,chip,mine,any,{},folds,2\r\n"),
                   STATUS_OK);
  assert_string_equal(rows(f),
                      "chip||gemm|bf16|{\"k\":1,\"m\":1,\"n\":1}||train|1e-06|-1\nchip||mine|any|{}||folds|2|-1\n");
  assert_false(store_find_source(f->store, "me")->may_fit); /* nobody said so */
  static const struct {
    const char *text, *said;
  } bad[] = {
      {"source,device,op,format,shape,split\n", "p.csv:1: error: the heading lacks 'latency_s'"},
      {"source,devise,device,op,format,shape,split,latency_s\n",
       "'devise' is not a column of a profile; did you mean 'device'?"},
      {SHORT "me,chip,gemm,bf16," CELLS ",train,1\nme,chip,gemm,bf16," CELLS ",train,0\n",
       "p.csv:3: error: 'latency_s' is '0': it must be a positive number of seconds"},
      {SHORT "me,chip,gemm,bf16," CELLS ",trian,1\n", "p.csv:2: error: 'split' is 'trian'"},
      {SHORT "me,chip,gemm,bf16,\"{\"\"k\"\":1}\",train,1\n", "p.csv:2: error: 'shape' is"},
      {SHORT "me,chip,mine,bf16,{x},train,1\n", "p.csv:2: error: 'shape' is '{x}': the profile refuses the row"},
      {SHORT ",chip,gemm,bf16," CELLS ",train,1\n", "every row needs a source"},
      {SHORT "me,,gemm,bf16," CELLS ",train,1\n", "'device' is '': it must not be empty"},
      {"use," SHORT "maybe,other,chip,gemm,bf16," CELLS ",train,1\n", "'use' is 'maybe': it must be fit or score"},
      {"spread_s," SHORT "-1,me,chip,gemm,bf16," CELLS ",train,1\n", "'spread_s' is '-1'"},
      {"source,device,program,format,devices,shape,split,latency_s\nme,chip,p,,1.5,{},train,1\n", "'devices' is '1.5'"},
      {"", "is empty"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(import_csv(f, bad[i].text), STATUS_INPUT);
    assert_int_equal(f->added, 0);
    assert_said(f, bad[i].said);
    assert_non_null(strstr(rows(f), "chip||mine|any|{}||folds|2|-1\n")); /* what was there stays */
  }
}

/* ---- what is shipped ---- */

/* Data rows of the files (lines less the heading), less what the mapping files say they leave out. */
static const struct {
  const char *source;
  uint64_t rows;
} shipped[] = {
    /* gemm, prefill, decode, MoE; train and test */
    {"aiconfigurator", 78905 + 15823 + 52114 + 10375 + 52118 + 10424 + 36227 + 7263},
    {"cocossim_tpuv6e", 78 + 15 + 42},
    {"deepbench", 5 * 160}, /* two sheets each of V100 and T4, one of P100 */
    {"llmcompass", 20 + 22 + 4 * 22 + 2 * 20},
    {"maxtext_tpu_recipes", 8 + 2},
    /* bmm, linear without 6423 rows of the P4, AMD, passes */
    {"neusight", 87623 + 13461 + 32224 - 6423 + 8254 + 4671 + 2080 + 112000 + 44800 + 5624},
    {"tpu_v4_scalesim", 512 + 343 + 343 + 194 + 256 + 256 + 194 + 194 + 208 + 384},
    {"vidur", 7 * (20091 - 5481) + 14658}, /* 5481 rows of the A40 */
    {"xla_gpu_tables", 3000 - 87},
    {"xla_gpu_tables_tf32", 750},
};

static void shipped_mappings_are_well_formed(void **state) {
  struct fixture *f = *state;
  f->added = f->absent = 0;
  enum status status =
      profile_import_all(f->store, RDG_SOURCE_DIR "/measurements", "/nonexistent", &f->added, &f->absent, &f->diags);
  if (status != STATUS_OK) {
    fail_msg("%s", messages(f));
  }
  assert_int_equal(f->added, 0);
  assert_true(f->absent >= 40);
  assert_int_equal(f->diags.warning_count, sizeof shipped / sizeof shipped[0]); /* one per source */
  assert_said(f, "aiconfigurator.yaml:8:9: warning: no data: '/nonexistent/measured/aiconfigurator' does not exist");
  assert_int_equal(profile_import_all(f->store, "/nonexistent", "/nonexistent", &f->added, &f->absent, &f->diags),
                   STATUS_IO);
  assert_said(f, "no mapping files in '/nonexistent'");
}

struct source_counts {
  uint64_t rows[sizeof shipped / sizeof shipped[0]];
  uint64_t fitted_on_unseen_chips;
};

static bool add_count(void *user, const struct store_count *row) {
  struct source_counts *counts = user;
  for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
    counts->rows[i] += strcmp(shipped[i].source, row->source->name) == 0 ? row->rows : 0;
  }
  static const char *const unseen[] = {"nvidia_h100_sxm", "nvidia_l4", "nvidia_a100_pcie_80", "amd_mi250"};
  for (size_t i = 0; i < 4; i++) {
    counts->fitted_on_unseen_chips +=
        strcmp(row->source->name, "neusight") == 0 && strcmp(row->device, unseen[i]) == 0 && row->split != STORE_TEST
            ? row->rows
            : 0;
  }
  return true;
}

static void published_tables_are_read_whole(void **state) {
  struct fixture *f = *state;
  const char *data = getenv("RIDGELINE_DATA");
  char probe[512];
  data = data != NULL && *data != '\0' ? data : RDG_SOURCE_DIR "/../shared/data";
  snprintf(probe, sizeof probe, "%s/measured/aiconfigurator", data);
  if (access(probe, R_OK) != 0) {
    print_message("skipped: no data\n");
    return;
  }
  f->added = f->absent = 0;
  assert_int_equal(profile_import_all(f->store, RDG_SOURCE_DIR "/measurements", data, &f->added, &f->absent, &f->diags),
                   STATUS_OK);
  if (f->diags.entries.count != 0) { /* nothing unlisted, nothing absent */
    fail_msg("%s", messages(f));
  }
  struct source_counts counts = {0};
  assert_int_equal(store_each_count(f->store, false, add_count, &counts, &f->diags), STATUS_OK);
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
    if (counts.rows[i] != shipped[i].rows) {
      fail_msg("%s: %llu rows, not %llu", shipped[i].source, (unsigned long long)counts.rows[i],
               (unsigned long long)shipped[i].rows);
    }
    sum += shipped[i].rows;
  }
  assert_int_equal(f->added, sum);
  assert_int_equal(counts.fitted_on_unseen_chips, 0);
  /* every row is a kernel of a chip that predicts */
  struct hw_database chips;
  struct measured_kernels kernels;
  assert_int_equal(hw_database_load(&chips, RDG_SOURCE_DIR "/hardware", &f->diags), STATUS_OK);
  assert_int_equal(measured_kernels_load(&kernels, f->store, &chips, &f->diags), STATUS_OK);
  assert_int_equal(kernels.skipped, 0);
  assert_int_equal(kernels.rows.count, sum);
  measured_kernels_release(&kernels);
  hw_database_release(&chips);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(every_feature_of_a_mapping),
      TEST(rates_become_times),
      TEST(errors_have_their_place),
      TEST(absent_tables_are_counted),
      TEST(hostile_mappings),
      TEST(times_that_are_none_are_left_out),
      cmocka_unit_test(shapes_from_json),
      cmocka_unit_test(shapes_that_are_none),
      TEST(profiles_become_kernels),
      TEST(csv_round_trip),
      TEST(csv_of_ones_own),
      TEST(shipped_mappings_are_well_formed),
      TEST(published_tables_are_read_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
