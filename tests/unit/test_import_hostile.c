/* Hostile HLO text: cut at every byte, bytes exchanged, deep, long, cyclic, huge. It must be imported or refused with a
 * place, in bounded memory and time, and what is imported must pass the checks of analyze/ or be refused by them. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "import_fixture.h"

enum { CAPACITY = 1 << 16 };

/* Every text may be wrong; what matters is that it ends well. */
static enum status import_any(const char *text, size_t length) {
  struct source source = {"hostile.hlo", text, length};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  enum status status = import_hlo_text(&source, NULL, &diags, &module);
  if (status == STATUS_OK) {
    assert_non_null(module);
    assert_int_equal(diags.error_count, 0);
    if (analyze_infer(module, &diags) == STATUS_OK) {
      (void)analyze_calls(module, &diags);
    }
  } else {
    assert_null(module);
    assert_true(diags.error_count > 0);
    assert_true(diags.entries.data[0].line >= 1);
  }
  ir_module_free(module);
  diag_release(&diags);
  return status;
}

static size_t read_golden(const char *name, char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/golden/import/%s.hlo", RDG_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t length = fread(text, 1, CAPACITY - 1, file);
  fclose(file);
  text[length] = '\0';
  assert_true(length > 0);
  return length;
}

/* The text is copied to memory of its very length, so that a sanitizer sees any read behind its end. */
static void every_truncation_ends_well(void **state) {
  (void)state;
  static const char *const names[] = {"constructs", "xla_scan", "xla_grad"};
  static char text[CAPACITY];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    size_t length = read_golden(names[i], text), imported = 0;
    for (size_t cut = 0; cut < length; cut++) {
      char *part = malloc(cut + (cut == 0));
      assert_non_null(part);
      memcpy(part, text, cut);
      imported += import_any(part, cut) == STATUS_OK;
      free(part);
    }
    /* only blanks behind the last computation may be missing */
    assert_true(imported <= 2);
  }
}

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 33;
}

static void exchanged_bytes_end_well(void **state) {
  (void)state;
  static char text[CAPACITY], broken[CAPACITY];
  static const char bytes[] = "(){}[]<>=,:%\"\\/*-. 0129axT\n\0\377";
  size_t length = read_golden("constructs", text);
  uint64_t seed = 1;
  for (int round = 0; round < 3000; round++) {
    memcpy(broken, text, length);
    for (uint64_t i = 0, count = 1 + next_random(&seed) % 3; i < count; i++) {
      broken[next_random(&seed) % length] = bytes[next_random(&seed) % (sizeof bytes - 1)];
    }
    (void)import_any(broken, length);
  }
}

/* ---- made ---- */

static const struct repeated {
  const char *before, *open, *middle, *close, *after;
  size_t count;
  bool is_good;
} repeated[] = {
    /* nesting */
    {"HloModule m\ne {\n a = ", "(", "f32[]", ")", " parameter(0)\n}", 10000, false},
    {"HloModule m\ne {\n a = ", "(", "", "", "", 1000000, false},
    {"HloModule m\ne {\n x = f32[] parameter(0)\n b = f32[] ", "map(x), to_apply={ x = f32[] parameter(0)\n y = f32[] ",
     "negate(x)", " }", "\n}", 10000, false},
    {"HloModule m\ne {\n a = f32[] parameter(0)\n b = f32[] map(a), to_apply={ x = f32[] ", "{", "", "", "", 1000000,
     false},
    {"HloModule m\ne {\n a = f32[] parameter(0)\n b = f32[] negate(a), metadata=", "{", "", "}", "\n}", 100000, true},
    {"HloModule m\ne {\n a = f32[] constant(", "{", "1", "}", ")\n}", 100000, true},
    {"HloModule m\ne {\n a = (f32[]) constant(", "(", "1", ")", ")\n}", 100000, false},
    {"HloModule m, input_output_alias=", "{", "", "}", "\ne {\n a = f32[] parameter(0)\n}", 100000, true},
    /* long tokens */
    {"HloModule ", "m", "", "", "\ne {\n a = f32[] parameter(0)\n}", 1 << 20, true},
    {"HloModule m\ne {\n ", "a", "", "", " = f32[] parameter(0)\n}", 1 << 20, true},
    {"HloModule m\ne {\n a = f32[] ", "n", "", "", "()\n}", 1 << 20, true},
    {"HloModule m\ne {\n a = ", "f", "", "", "[] parameter(0)\n}", 1 << 20, false},
    {"HloModule m\ne {\n a = f32[", "9", "", "", "] parameter(0)\n}", 1 << 20, false},
    {"HloModule m\ne {\n a = f32[", "1,", "1", "", "] parameter(0)\n}", 100000, false},
    {"HloModule m\ne {\n a = f32[] constant(", "9", "", "", ")\n}", 1 << 20, true},
    {"HloModule m\ne {\n a = f32[] constant(1e", "9", "", "", ")\n}", 1 << 20, true},
    {"HloModule m\ne {\n a = f32[] constant(nan(0x", "f", "", "", "))\n}", 1 << 20, true},
    {"HloModule m\ne {\n a = f32[] parameter(0), metadata={op_name=\"", "\\\"", "", "", "\"}\n}", 1 << 19, true},
    {"HloModule m\ne {\n a = f32[] parameter(0), metadata={op_name=\"", "x", "", "", "}\n}", 1 << 20, false},
    {"/*", "*", "", "", "/ HloModule m\ne {\n a = f32[] parameter(0)\n}", 1 << 20, true},
    {"HloModule m\ne {\n a = f32[] parameter(0)\n /*", "/*", "", "", "\n}", 1 << 19, false},
    /* many */
    {"HloModule m\ne {\n a = f32[] parameter(0)\n b = ((", "f32[],", "f32[]", "", ")) tuple(a)\n}", 200000, false},
    {"HloModule m\ne {\n a = f32[] parameter(0)\n b = f32[] negate(a)", ", x=1", "", "", "\n}", 200000, true},
    {"HloModule m\ne {\n a = f32[] parameter(0)\n b = f32[] negate(", "a,", "a", "", ")\n}", 200000, false},
    {"HloModule m\n", "e {\n a = f32[] parameter(0)\n}\n", "", "", "", 50000, false},
    {"HloModule m\ne {\n", " a = f32[] parameter(0)\n", "", "", "}", 50000, false},
    {"HloModule m\ne {\n", " a = ?\n", "", "", "}", 200000, false},
    {"HloModule m\ne {\n a = f32[] parameter(", "1", "", "", ")\n}", 30, false},
    {"HloModule m\ne {\n a = f32[] parameter(1048575)\n", "", "", "", "}", 1, false},
    {"", "}", "", "", "", 1 << 20, false},
    {"HloModule m\nadd { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n e {\n a = "
     "f32[] "
     "parameter(0)\n b = f32[] all-reduce(a), to_apply=add, replica_groups={",
     "{0},", "{1}", "", "}\n}", 100000, true},
    {"HloModule m\nadd { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n e {\n a = "
     "f32[] "
     "parameter(0)\n b = f32[] all-reduce(a), to_apply=add, replica_groups=mesh[",
     "'x'=1,", "'y'=2", "", "] {'y'}\n}", 100000, false},
    {"HloModule m\ne {\n a = f32[] parameter(0)\n b = f32[] conditional(a", ", a", "), branch_computations={", "e,",
     "e}\n}", 100000, false},
};

static char *write_repeated(const struct repeated *r, size_t *length) {
  struct strbuf text = {0};
  strbuf_puts(&text, r->before);
  for (size_t i = 0; i < r->count; i++) {
    strbuf_puts(&text, r->open);
  }
  strbuf_puts(&text, r->middle);
  for (size_t i = 0; i < r->count; i++) {
    strbuf_puts(&text, r->close);
  }
  strbuf_puts(&text, r->after);
  assert_false(text.failed);
  *length = text.length;
  char *copy = malloc(text.length + 1);
  assert_non_null(copy);
  memcpy(copy, strbuf_text(&text), text.length + 1);
  strbuf_release(&text);
  return copy;
}

/* Ten seconds are a hundred times what the slowest takes: they tell a square of the length from the length. */
static void made_texts_end_well(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++) {
    size_t length;
    char *text = write_repeated(&repeated[i], &length);
    clock_t start = clock();
    enum status status = import_any(text, length);
    double time_s = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status == STATUS_MEMORY || (status == STATUS_OK) != repeated[i].is_good || time_s > 10) {
      fail_msg("case %zu (%.60s): status %d after %.2f s", i, repeated[i].before, (int)status, time_s);
    }
    free(text);
  }
}

/* ---- sizes and cycles ---- */

static const char *const refused[] = {
    /* each computation uses the other */
    "HloModule m\nf {\n x = f32[] parameter(0)\n ROOT y = f32[] call(x), to_apply=g\n}\ng {\n x = f32[] parameter(0)\n "
    "ROOT "
    "y = f32[] map(x), to_apply=g\n}\nENTRY e {\n a = f32[] parameter(0)\n ROOT b = f32[] map(a), to_apply=f\n}",
    "HloModule m\nENTRY e {\n a = f32[] parameter(0)\n ROOT b = f32[] map(a), to_apply={ x = f32[] parameter(0)\n ROOT "
    "y = "
    "f32[] map(x), to_apply=inline..0 }\n}",
    "HloModule m\ninline..0 {\n ROOT a = f32[] parameter(0)\n}\nENTRY e {\n a = f32[] parameter(0)\n ROOT b = f32[] "
    "map(a), "
    "to_apply={ ROOT x = f32[] parameter(0) }\n}",
    "HloModule m\nENTRY e {\n a = f32[] parameter(0)\n ROOT b = f32[] negate(b)\n}",
    "HloModule m\nENTRY e {\n a = f32[9223372036854775808] parameter(0)\n}",
    "HloModule m\nENTRY e {\n a = f32[-1] parameter(0)\n}",
    "HloModule m\nENTRY e {\n a = f32[4294967296,4294967296,4294967296] constant({1})\n}",
    "HloModule m\nENTRY e {\n a = f32[] parameter(4294967296)\n}",
    "HloModule m\nENTRY e {\n a = f32[2] parameter(0)\n ROOT b = f32[] get-tuple-element(a), index=4294967296\n}",
};

static void cycles_and_sizes_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (import_any(refused[i], strlen(refused[i])) != STATUS_INPUT) {
      fail_msg("%s is not refused", refused[i]);
    }
  }
}

/* Functions that call each other in a circle are for analyze_calls to refuse. */
static void a_circle_of_calls_is_found(void **state) {
  (void)state;
  static const char text[] = "HloModule m\nf {\n x = f32[] parameter(0)\n ROOT y = f32[] call(x), to_apply=f\n}\n"
                             "ENTRY e {\n a = f32[] parameter(0)\n ROOT b = f32[] call(a), to_apply=f\n}";
  struct source source = {"circle.hlo", text, sizeof text - 1};
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(import_hlo_text(&source, NULL, &diags, &module), STATUS_OK);
  assert_int_equal(analyze_calls(module, &diags), STATUS_INPUT);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0209_RECURSION);
  ir_module_free(module);
  diag_release(&diags);
}

/* Shapes past 64 bits are types like others; nothing is allocated for them. */
static void huge_shapes_are_types(void **state) {
  (void)state;
  static const char text[] =
      "HloModule m\nENTRY e {\n a = f32[9223372036854775806,9223372036854775806] parameter(0)\n ROOT b "
      "= f32[9223372036854775806,9223372036854775806] constant({...})\n}";
  assert_int_equal(import_any(text, sizeof text - 1), STATUS_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_truncation_ends_well), cmocka_unit_test(exchanged_bytes_end_well),
      cmocka_unit_test(made_texts_end_well),        cmocka_unit_test(cycles_and_sizes_are_refused),
      cmocka_unit_test(a_circle_of_calls_is_found), cmocka_unit_test(huge_shapes_are_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
