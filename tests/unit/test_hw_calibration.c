/* Files of fitted constants: what a good one gives, every kind of error with its place, and whose fit a chip uses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hw/hw_calibration.h"

static const char good[] = "device: %s\n"
                           "date: 2026-11-30\n"
                           "fits:\n"
                           "  - class: gemm\n"
                           "    format: bf16\n"
                           "    model: %s\n"
                           "    sources: [first, second]\n"
                           "    chips: [chip_a, chip_b]\n"
                           "    rows: 11350\n"
                           "    error: {mape: 0.071, median: 0.052, p90: 0.15, bias: -0.004}\n"
                           "    flops: [2.1e6, 2.2e12]\n"
                           "    bytes: [2.6e5, 1.1e9]\n"
                           "    constants: {matrix_efficiency: 0.81, launch: 2.1e-6, rate_Bps: 3e12}\n"
                           "    intervals:\n"
                           "      - {below: 1e-5, rows: 3000, low: 0.86, high: 1.19}\n"
                           "      - {rows: 8350, low: 0.9, high: 1.12}\n";

struct fixture {
  struct hw_database db;
  struct diag_list diags;
};

static int setup(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  arena_init(&f->db.arena, 0);
  diag_init(&f->diags);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  hw_database_release(&f->db);
  diag_release(&f->diags);
  free(f);
  return 0;
}

/* Chips without any file: what the reader knows of a chip is its id and lineage. */
static void add_chip(struct fixture *f, const char *id, const char *const *lineage) {
  struct hw_chip chip = {.id = id, .name = id, .lineage = lineage};
  assert_true(vec_push(&f->db.chips, chip));
}

static enum status parse(struct fixture *f, const char *text) {
  char *copy = strdup(text); /* nothing of the text may be kept: it is freed at once */
  enum status status = hw_calibration_parse(
      &f->db, &(struct source){.name = "fits.yaml", .text = copy, .length = strlen(copy)}, &f->diags);
  memset(copy, '?', strlen(copy));
  free(copy);
  return status;
}

static enum status parse_good(struct fixture *f, const char *device, const char *model) {
  char text[2048];
  (void)snprintf(text, sizeof text, good, device, model);
  return parse(f, text);
}

static void a_good_file_is_read_whole(void **state) {
  struct fixture *f = *state;
  static const char *const lineage[] = {NULL};
  add_chip(f, "chip_a", lineage);
  assert_int_equal(parse_good(f, "chip_a", "gemm_tiled"), STATUS_OK);
  assert_int_equal(f->diags.entries.count, 0);
  const struct hw_fit *fit = hw_chip_fit(&f->db.chips.data[0], "gemm", "bf16");
  assert_non_null(fit);
  assert_string_equal(fit->device, "chip_a");
  assert_false(fit->is_family);
  assert_string_equal(fit->class_name, "gemm");
  assert_string_equal(fit->format, "bf16");
  assert_string_equal(fit->model, "gemm_tiled");
  assert_string_equal(fit->sources, "first, second");
  assert_string_equal(fit->chips, "chip_a, chip_b");
  assert_int_equal(fit->chip_count, 2);
  assert_string_equal(fit->date, "2026-11-30");
  assert_int_equal(fit->rows, 11350);
  assert_true(fit->mape == 0.071 && fit->median == 0.052 && fit->p90 == 0.15 && fit->bias == -0.004);
  assert_true(fit->flops_min == 2.1e6 && fit->flops_max == 2.2e12 && fit->bytes_min == 2.6e5
              && fit->bytes_max == 1.1e9);
  assert_int_equal(fit->constant_count, 3);
  assert_string_equal(fit->names[1], "launch");
  assert_true(fit->values[0] == 0.81 && fit->values[1] == 2.1e-6);
  assert_int_equal(fit->interval_count, 2);
  assert_true(fit->intervals[0].below_s == 1e-5 && fit->intervals[0].low == 0.86 && fit->intervals[0].high == 1.19);
  assert_true(isinf(fit->intervals[1].below_s) && fit->intervals[1].rows == 8350);
  assert_null(hw_chip_fit(&f->db.chips.data[0], "gemm", "fp8"));
  assert_null(hw_chip_fit(&f->db.chips.data[0], "attention_decode", "bf16"));
}

/* A good file in which the only occurrence of `from` is `to`. */
static const struct bad_file {
  const char *from, *to;
  enum diag_id id;
  uint32_t line, column;
  const char *part; /* of the message */
} bad_files[] = {
    {"device: chip_a", "devise: chip_a", DIAG_E0302_FIELD, 1, 1, "did you mean 'device'?"},
    {"device: chip_a\n", "", DIAG_E0302_FIELD, 1, 1, "'device' is missing"},
    {"device: chip_a", "device: Chip A", DIAG_E0303_VALUE, 1, 9, "lower-case"},
    {"date: 2026-11-30", "date: yesterday", DIAG_E0303_VALUE, 2, 7, "like 2026-11-30"},
    {"fits:\n", "fits: 3\nfit:\n", DIAG_E0302_FIELD, 4, 1, "did you mean 'fits'?"},
    {"- class: gemm", "- clas: gemm", DIAG_E0302_FIELD, 4, 5, "did you mean 'class'?"},
    {"    format: bf16\n", "", DIAG_E0302_FIELD, 4, 5, "'format' is missing"},
    {"model: m", "model: [m]", DIAG_E0303_VALUE, 6, 12, "'model' must be a word"},
    {"[first, second]", "first", DIAG_E0303_VALUE, 7, 14, "must be a list"},
    {"[first, second]", "[]", DIAG_E0303_VALUE, 7, 14, "at least one"},
    {"[first, second]", "[first, Second]", DIAG_E0303_VALUE, 7, 22, "lower-case"},
    {"rows: 11350", "rows: 0", DIAG_E0303_VALUE, 9, 11, "between 1 and"},
    {"rows: 11350", "rows: 1.5", DIAG_E0303_VALUE, 9, 11, "whole number"},
    {"mape: 0.071", "mape: .nan", DIAG_E0303_VALUE, 10, 19, "must be a number"},
    {"mape: 0.071", "mape: nan", DIAG_E0303_VALUE, 10, 19, "'mape' is nan"},
    {"mape: 0.071", "mape: -0.071", DIAG_E0303_VALUE, 10, 19, "between 0 and"},
    {"mape: 0.071", "mean: 0.071", DIAG_E0302_FIELD, 10, 13, "'mean' is not a key of 'error'"},
    {"bias: -0.004", "bias: -1.5", DIAG_E0303_VALUE, 10, 58, "between -1 and"},
    {"[2.1e6, 2.2e12]", "[2.2e12, 2.1e6]", DIAG_E0303_VALUE, 11, 12, "begins above its end"},
    {"[2.1e6, 2.2e12]", "[2.1e6]", DIAG_E0303_VALUE, 11, 12, "must be a range"},
    {"[2.6e5, 1.1e9]", "[2.6e5, 1e999]", DIAG_E0303_VALUE, 12, 20, "'bytes' is 1e999"},
    {"launch: 2.1e-6", "launch: \"2.1e-6\"", DIAG_E0303_VALUE, 13, 50, "'launch' must be a number"},
    {"launch: 2.1e-6", "launch: inf", DIAG_E0303_VALUE, 13, 50, "'launch' is inf"},
    {"launch: 2.1e-6", "4launch: 2.1e-6", DIAG_E0303_VALUE, 13, 42, "a constant is named"},
    {"{matrix_efficiency: 0.81, launch: 2.1e-6, rate_Bps: 3e12}", "{}", DIAG_E0303_VALUE, 13, 16, "from 1 to 64"},
    {"high: 1.19", "high: 0.86", DIAG_E0303_VALUE, 15, 52, "must be above 'low'"},
    {"low: 0.86", "low: 0", DIAG_E0303_VALUE, 15, 40, "'low' is 0"},
    {"low: 0.86", "lo: 0.86", DIAG_E0302_FIELD, 15, 35, "did you mean 'low'?"},
    {"- {rows: 8350", "- {below: 1e-4, rows: 8350", DIAG_E0303_VALUE, 16, 17, "has no 'below'"},
    {"- {rows: 8350", "- {below: 1e-6, rows: 1, low: 0.9, high: 1.2}\n      - {rows: 8350", DIAG_E0303_VALUE, 16, 17,
     "must ascend"},
    {"{below: 1e-5, rows", "{rows", DIAG_E0302_FIELD, 15, 9, "'below' is missing"},
    {"fits:\n", "fits:\n  - 3\n", DIAG_E0303_VALUE, 4, 5, "a fit is a map"},
    {"device: chip_a", "device: &x chip_a", DIAG_E0301_YAML, 1, 9, "anchors"},
};

static void replace(const char *text, const char *from, const char *to, char *out, size_t size) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  (void)snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void every_error_has_its_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
    const struct bad_file *bad = &bad_files[i];
    struct fixture *f;
    char text[2048], changed[2048];
    (void)setup((void **)&f);
    (void)snprintf(text, sizeof text, good, "chip_a", "m");
    replace(text, bad->from, bad->to, changed, sizeof changed);
    enum status status = parse(f, changed);
    const struct diag *d = f->diags.entries.data;
    if (status != STATUS_INPUT || f->db.fits.count != 0 || f->diags.entries.count == 0 || d->id != bad->id
        || d->line != bad->line || d->column != bad->column || strstr(d->message, bad->part) == NULL) {
      fail_msg("%s: status %d, %s %u:%u '%s'", bad->to, (int)status,
               f->diags.entries.count > 0 ? diag_code(d->id) : "no message", f->diags.entries.count > 0 ? d->line : 0,
               f->diags.entries.count > 0 ? d->column : 0, f->diags.entries.count > 0 ? d->message : "");
    }
    (void)teardown((void **)&f);
  }
}

static void two_fits_for_the_same_kernels_are_refused(void **state) {
  struct fixture *f = *state;
  char text[2048], twice[4096];
  (void)snprintf(text, sizeof text, good, "chip_a", "m");
  (void)snprintf(twice, sizeof twice, "%s%s", text, strstr(text, "  - class"));
  assert_int_equal(parse(f, twice), STATUS_INPUT);
  assert_non_null(strstr(f->diags.entries.data[0].message, "has a fit for gemm in bf16 already"));
  assert_int_equal(f->diags.entries.data[0].line, 17);
}

/* chip_a inherits near and far; a fit of its own comes first, then the nearest family's. */
static void own_fits_come_before_the_nearest_family(void **state) {
  struct fixture *f = *state;
  static const char *const lineage[] = {"near", "far", NULL}, *const other[] = {"far", NULL}, *const none[] = {NULL};
  add_chip(f, "chip_a", lineage);
  add_chip(f, "chip_b", other);
  add_chip(f, "chip_c", none);
  assert_int_equal(parse_good(f, "far", "m_far"), STATUS_OK);
  assert_string_equal(hw_chip_fit(&f->db.chips.data[0], "gemm", "bf16")->model, "m_far");
  assert_int_equal(parse_good(f, "near", "m_near"), STATUS_OK);
  assert_string_equal(hw_chip_fit(&f->db.chips.data[0], "gemm", "bf16")->model, "m_near");
  assert_true(hw_chip_fit(&f->db.chips.data[0], "gemm", "bf16")->is_family);
  assert_int_equal(parse_good(f, "chip_a", "m_own"), STATUS_OK);
  assert_string_equal(hw_chip_fit(&f->db.chips.data[0], "gemm", "bf16")->model, "m_own");
  assert_int_equal(f->db.chips.data[0].fit_count, 3);
  assert_string_equal(f->db.chips.data[0].fits[1]->device, "near");
  assert_string_equal(f->db.chips.data[0].fits[2]->device, "far");
  assert_string_equal(hw_chip_fit(&f->db.chips.data[1], "gemm", "bf16")->model, "m_far");
  assert_null(hw_chip_fit(&f->db.chips.data[2], "gemm", "bf16"));
  /* the same device, class and format again: the new one replaces the old one */
  assert_int_equal(parse_good(f, "near", "m_newer"), STATUS_OK);
  assert_int_equal(f->db.fits.count, 3);
  assert_string_equal(f->db.chips.data[0].fits[1]->model, "m_newer");
}

static void an_unknown_device_is_a_warning(void **state) {
  struct fixture *f = *state;
  static const char *const lineage[] = {"family_x", NULL};
  add_chip(f, "chip_a", lineage);
  assert_int_equal(parse_good(f, "family_y", "m"), STATUS_OK);
  assert_int_equal(f->diags.entries.count, 1);
  assert_int_equal(f->diags.entries.data[0].id, DIAG_W0312_CALIBRATION);
  assert_int_equal(f->diags.entries.data[0].line, 1);
  assert_non_null(strstr(f->diags.entries.data[0].message, "did you mean 'family_x'?"));
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* A folder of one family, one chip and calibrations of both: the chips below calibrated/ are not read as chips; a bad file
 * does not take the good one with it. */
static void a_folder_is_read_with_its_chips(void **state) {
  (void)state;
  static const char chip[] = "id: chip_a\nname: A\nvendor: V\nkind: gpu\ninherit: near\n"
                             "sources:\n  s: {title: \"T\", url: \"https://example.org\"}\nfields: {}\n";
  char root[] = "/tmp/rdg_calibration_XXXXXX", path[256], text[2048];
  assert_non_null(mkdtemp(root));
  static const char *const folders[] = {"families", "v", "calibrated"};
  for (size_t i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", root, folders[i]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  (void)snprintf(path, sizeof path, "%s/families/near.yaml", root);
  write_file(path, "id: near\nkind: gpu\nfields: {}\n");
  (void)snprintf(path, sizeof path, "%s/v/chip_a.yaml", root);
  write_file(path, chip);
  struct fixture f = {0};
  diag_init(&f.diags);
  assert_int_equal(hw_database_load(&f.db, root, &f.diags), STATUS_OK);
  assert_int_equal(f.db.fits.count, 0);
  hw_database_release(&f.db);

  (void)snprintf(text, sizeof text, good, "near", "m");
  (void)snprintf(path, sizeof path, "%s/calibrated/near.yaml", root);
  write_file(path, text);
  (void)snprintf(path, sizeof path, "%s/calibrated/a_bad.yaml", root);
  write_file(path, "device: near\n");
  assert_int_equal(hw_database_load(&f.db, root, &f.diags), STATUS_INPUT);
  assert_int_equal(f.diags.error_count, 2); /* 'date' and 'fits' are missing */
  assert_non_null(strstr(f.diags.entries.data[0].file, "calibrated/a_bad.yaml"));
  assert_int_equal(f.db.chips.count, 1);
  assert_string_equal(hw_chip_fit(&f.db.chips.data[0], "gemm", "bf16")->device, "near");

  hw_database_release(&f.db);
  diag_release(&f.diags);
  diag_init(&f.diags);
  (void)snprintf(path, sizeof path, "%s/calibrated/a_bad.yaml", root);
  write_file(path, text); /* a second file of the same family: the first in order is used */
  assert_int_equal(hw_database_load(&f.db, root, &f.diags), STATUS_INPUT);
  assert_int_equal(f.diags.entries.count, 1);
  assert_non_null(strstr(f.diags.entries.data[0].file, "calibrated/near.yaml"));
  assert_non_null(strstr(f.diags.entries.data[0].message, "another file has fits of 'near'"));
  assert_int_equal(f.db.fits.count, 1);

  /* a chip from a file of its own has the fits of what it inherits */
  const struct hw_chip *what_if = NULL;
  const char what_if_text[] = "id: what_if\nname: W\ninherit: chip_a\nfields: {}\n";
  struct source source = {.name = "what_if.yaml", .text = what_if_text, .length = sizeof what_if_text - 1};
  assert_int_equal(hw_chip_parse(&f.db, &source, root, &f.diags, &what_if), STATUS_OK);
  assert_string_equal(hw_chip_fit(what_if, "gemm", "bf16")->device, "near");
  hw_database_release(&f.db);
  diag_release(&f.diags);
  static const char *const all[] = {"families/near.yaml",
                                    "v/chip_a.yaml",
                                    "calibrated/near.yaml",
                                    "calibrated/a_bad.yaml",
                                    "families",
                                    "v",
                                    "calibrated",
                                    "."};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", root, all[i]);
    (void)remove(i + 1 < sizeof all / sizeof *all ? path : root);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_good_file_is_read_whole, setup, teardown),
      cmocka_unit_test(every_error_has_its_place),
      cmocka_unit_test_setup_teardown(two_fits_for_the_same_kernels_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(own_fits_come_before_the_nearest_family, setup, teardown),
      cmocka_unit_test_setup_teardown(an_unknown_device_is_a_warning, setup, teardown),
      cmocka_unit_test(a_folder_is_read_with_its_chips),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
