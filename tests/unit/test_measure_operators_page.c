/* The page and the JSON document of the suite "operators": well-formed, bounded, self-contained. */
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
#include <jansson.h>

#include "measure/measure_operators.h"

static const char *const no_lineage[] = {NULL};
/* A name that would end the script, or the table, if it were not escaped. */
static const struct hw_chip odd_chip = {.id = "</script><b>\"&", .lineage = no_lineage};
static const struct hw_chip other_chip = {.id = "other", .lineage = no_lineage};

enum { ROWS = 9000, FEW = 30 };

struct fixture {
  char charts[64];
  struct measured_kernel *kernels;
  struct operator_set set;
  operator_goal_list goals;
  struct diag_list diags;
};

static void write_library(const char *directory, const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* The first ROWS rows are those of one chip, FEW more those of another; the time doubles what was measured. */
static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  strcpy(f->charts, "/tmp/rdg_charts_XXXXXX");
  assert_non_null(mkdtemp(f->charts));
  write_library(f->charts, "vega.min.js", "var vega = '</script>';");
  write_library(f->charts, "vega-lite.min.js", "var vegaLite = 1;");
  write_library(f->charts, "vega-embed.min.js", "function vegaEmbed() {}");
  diag_init(&f->diags);
  f->kernels = calloc(ROWS + FEW, sizeof *f->kernels);
  assert_non_null(f->kernels);
  assert_true(vec_push(&f->set.kernels.sources, "a \"source\""));
  for (size_t i = 0; i < ROWS + FEW; i++) {
    struct measured_kernel *k = &f->kernels[i];
    k->chip = i < ROWS ? &odd_chip : &other_chip;
    k->latency_s = 1e-6 * (double)(i + 1);
    k->shape.format = KERNEL_FORMAT_BF16;
    k->shape.gemm = (struct kernel_gemm){1, (double)(i + 1), 64, 64};
    struct operator_row row = {.row = k, .low_s = (double)NAN, .high_s = (double)NAN};
    for (int p = 0; p < OPERATOR_PREDICTOR_COUNT; p++) {
      row.time_s[p] = p == OPERATOR_MODEL ? 2 * k->latency_s : (double)NAN;
    }
    assert_true(vec_push(&f->set.rows, row));
  }
  const struct operator_group groups[] = {
      {.chip = &odd_chip, .format = KERNEL_FORMAT_BF16, .scored_count = ROWS, .constants = "own"},
      {.chip = &other_chip,
       .format = KERNEL_FORMAT_BF16,
       .scored_first = ROWS,
       .scored_count = FEW,
       .constants = "own"}};
  assert_true(vec_push(&f->set.groups, groups[0]) && vec_push(&f->set.groups, groups[1]));
  assert_int_equal(operator_goals(&f->set, &f->goals), STATUS_OK);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  static const char *const names[] = {"vega.min.js", "vega-lite.min.js", "vega-embed.min.js"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->charts, names[i]);
    remove(path);
  }
  remove(f->charts);
  vec_release(&f->set.rows);
  vec_release(&f->set.groups);
  vec_release(&f->set.kernels.sources);
  vec_release(&f->goals);
  diag_release(&f->diags);
  free(f->kernels);
  free(f);
  return 0;
}

/* The document between the marks of the specification; its points are checked against the rows. */
static json_t *specification(const char *page) {
  const char *start = strstr(page, "<script type=\"application/json\" id=\"specification\">");
  assert_non_null(start);
  start = strchr(start, '>') + 1;
  const char *end = strstr(start, "</script>");
  assert_non_null(end);
  json_error_t error;
  json_t *root = json_loadb(start, (size_t)(end - start), 0, &error);
  if (!root) {
    fail_msg("line %d: %s", error.line, error.text);
  }
  return root;
}

static void the_page_is_self_contained(void **state) {
  struct fixture *f = *state;
  struct strbuf page = {0};
  assert_int_equal(operators_write_page(&f->set, &f->goals, f->charts, &page, &f->diags), STATUS_OK);
  const char *text = strbuf_text(&page);
  static const char *const loads[] = {"http:", "https:", "src=", "href=", "@import", "url(", "<link", "<img"};
  for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
    assert_null(strstr(text, loads[i]));
  }
  /* the libraries are in it, and the end of a script inside one does not end it */
  assert_non_null(strstr(text, "<script>var vega = '<\\/script>';</script>"));
  assert_non_null(strstr(text, "function vegaEmbed() {}"));
  assert_null(strstr(text, "</script><b>"));
  assert_non_null(strstr(text, "&lt;/script&gt;&lt;b&gt;&quot;&amp;"));
  strbuf_release(&page);
}

static void points_are_thinned_alike_for_all_groups(void **state) {
  struct fixture *f = *state;
  struct strbuf page = {0};
  assert_int_equal(operators_write_page(&f->set, &f->goals, f->charts, &page, &f->diags), STATUS_OK);
  json_t *root = specification(strbuf_text(&page));
  json_t *points = json_object_get(json_object_get(root, "data"), "values"), *point;
  size_t i, of_other = 0;
  /* 30 of the small group, the rest of the 4000 are left to the other */
  assert_int_equal(json_array_size(points), 4000);
  json_array_foreach(points, i, point) {
    double measured = json_number_value(json_object_get(point, "measured"));
    double predicted = json_number_value(json_object_get(point, "predicted"));
    assert_true(fabs(predicted / measured - 2) < 1e-3);
    assert_true(fabs(json_number_value(json_object_get(point, "error")) - 100) < 1e-3);
    of_other += strcmp(json_string_value(json_object_get(point, "chip")), "other") == 0 ? 1 : 0;
  }
  assert_int_equal(of_other, FEW);
  assert_non_null(strstr(strbuf_text(&page), "4000 of 9030 points are drawn: at most 3970 of each"));
  json_decref(root);
  strbuf_release(&page);
}

static void missing_libraries_are_named_with_the_way_out(void **state) {
  struct fixture *f = *state;
  struct strbuf page = {0};
  assert_int_equal(operators_check_page("/nonexistent", &f->diags), STATUS_IO);
  assert_int_equal(operators_write_page(&f->set, &f->goals, "/nonexistent", &page, &f->diags), STATUS_IO);
  assert_int_equal(f->diags.entries.count, 2);
  assert_non_null(strstr(f->diags.entries.data[0].message, "./dev charts"));
  assert_string_equal(f->diags.entries.data[0].file, "/nonexistent/vega.min.js");
  strbuf_release(&page);
}

static void json_holds_every_row(void **state) {
  struct fixture *f = *state;
  struct strbuf out = {0};
  assert_int_equal(operators_write_json(&f->set, &f->goals, &out), STATUS_OK);
  json_t *root = json_loadb(strbuf_text(&out), out.length, 0, NULL);
  assert_non_null(root);
  json_t *rows = json_object_get(root, "rows"), *columns = json_object_get(root, "row_columns");
  assert_int_equal(json_array_size(rows), ROWS + FEW);
  json_t *last = json_array_get(rows, ROWS + FEW - 1);
  assert_int_equal(json_array_size(last), json_array_size(columns));
  assert_string_equal(json_string_value(json_array_get(last, 0)), "other");
  assert_string_equal(json_string_value(json_array_get(last, 3)), "a \"source\"");
  assert_true(json_is_null(json_array_get(last, json_array_size(last) - 1))); /* no interval */
  json_t *scores = json_object_get(root, "scores");
  assert_int_equal(json_array_size(scores), 2);
  assert_true(fabs(json_number_value(json_object_get(json_array_get(scores, 0), "mape")) - 1) < 1e-9);
  assert_int_equal(json_array_size(json_object_get(root, "goals")), f->goals.count);
  json_decref(root);
  strbuf_release(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_page_is_self_contained, set_up, tear_down),
      cmocka_unit_test_setup_teardown(points_are_thinned_alike_for_all_groups, set_up, tear_down),
      cmocka_unit_test_setup_teardown(missing_libraries_are_named_with_the_way_out, set_up, tear_down),
      cmocka_unit_test_setup_teardown(json_holds_every_row, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("measure operators, page", tests, NULL, NULL);
}
