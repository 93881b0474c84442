/* The fast YAML reader against libyaml: on every file of hardware/, on small forms, and on many damaged copies. Whenever the
 * fast one accepts a text, the general one must accept it too and give the same tree. */
#define _GNU_SOURCE /* nftw */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hw/hw_yaml.h"

static bool same_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_tree(const struct hw_node *a, const struct hw_node *b) {
  for (; a != NULL && b != NULL; a = a->next, b = b->next) {
    bool is_same = a->kind == b->kind && a->is_plain == b->is_plain && a->offset == b->offset
                   && a->key_offset == b->key_offset && same_text(a->text, b->text) && same_text(a->key, b->key)
                   && same_tree(a->first, b->first);
    if (!is_same) {
      return false;
    }
  }
  return a == NULL && b == NULL;
}

/* True when the fast reader took the text. */
static bool compare(const char *name, const char *text, size_t length) {
  struct source source = {.name = name, .text = text, .length = length};
  struct arena arena;
  struct diag_list diags;
  const struct hw_node *fast, *general;
  arena_init(&arena, 0);
  diag_init(&diags);
  bool is_taken = hw_yaml_read_plain(&arena, &source, &fast);
  if (is_taken) {
    enum status status = hw_yaml_read_general(&arena, &source, &diags, &general);
    if (status != STATUS_OK || !same_tree(fast, general)) {
      fail_msg("%s: accepted, but libyaml %s:\n%.*s", name,
               status == STATUS_OK ? "reads something else" : diags.entries.data[0].message, (int)length, text);
    }
  } else {
    assert_null(fast);
  }
  diag_release(&diags);
  arena_release(&arena);
  return is_taken;
}

static void forms_that_are_taken(void **state) {
  (void)state;
  static const char *const texts[] = {
      "a: 1\n",
      "- a\n- {b: c}\n",
      "a: 1",
      "# head\n\na: b c  # comment\n\n# another\nb: \"x: y # z\"\nc: 'it is'\n",
      "a:\n  b: {c: -1.5e-3, d: [1, x y, \"q\"], e: {}}\n  f:\n    g: []\n",
      "a:\n  - b: 1\n    c: 2\n  - {d: 3}\n  - e\n  - -5\nf: 2026-11-30\n",
      "a: {b: 1,\n    c: 2,\n    d: [1,\n  2]}\nb: x:y\n",
      "a:   # nested\n    b: 1\nc: https://example.org/x-y_z?a=b\n",
      "peak.bf16: {value: 9.89e14, unit: FLOP/s}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (!compare("form", texts[i], strlen(texts[i]))) {
      fail_msg("not taken: %s", texts[i]);
    }
  }
}

static void forms_that_are_left_to_libyaml(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "# only\n",
      "a\n",

      "a:\n",
      "a: |\n  x\n",
      "a: x\n  y\n",
      "a: &x 1\n",
      "a: *x\n",
      "a: !t 1\n",
      "a: \"x\\n\"\n",
      "a: 'it''s'\n",
      "a: \"x\n  y\"\n",
      "a: 1\na: 2\n",
      "a: {b}\n",
      "a: [b: 1]\n",
      "a: [1, ]\n",
      "a: {b: 1,}\n",
      "a: [1\n",
      "a: [x\n  y]\n",
      "\ta: 1\n",
      "a: 1\r\n",
      "a: \xC3\xA9\n",
      "---\na: 1\n",
      "a: 1\n...\n",
      "a: 1\n---\nb: 2\n",
      "a: 1\n b: 2\n",
      " a: 1\n",
      "a:\n- b\n",
      "a: b: c\n",
      "a: b:\n",
      "a: {b: c:}\n",
      "a: %x\n",
      "a: x#y\n",
      "a: [1,\n2]\n",
      "? a\n: b\n",
      "a: - b\n",
      "a:\n  - - b\n",
      "a: 1\n  # c\n  d\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (compare("form", texts[i], strlen(texts[i]))) {
      fail_msg("taken: %s", texts[i]);
    }
  }
}

static char *read_file(const char *path, size_t *length) {
  enum { LIMIT = 1 << 20 };
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(LIMIT + 1, 1);
  assert_non_null(text);
  *length = fread(text, 1, LIMIT, file);
  assert_int_equal(fclose(file), 0);
  return text;
}

/* Damages: one character or stretch of the text replaced, removed, doubled or moved, by a fixed sequence of numbers. */
static uint64_t next_number(uint64_t *seed) {
  uint64_t x = *seed += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

static size_t damage(char *text, size_t length, uint64_t *seed) {
  static const char specials[] = "\n\n   ::--##,,[]{}\"'&*!|>?%@`~.a1\\";
  for (uint64_t count = 1 + next_number(seed) % 3; count > 0 && length > 4; count--) {
    size_t at = next_number(seed) % (length - 2);
    char c = specials[next_number(seed) % (sizeof specials - 1)];
    switch (next_number(seed) % 4) {
    case 0:
      text[at] = c;
      break;
    case 1: /* remove */
      memmove(text + at, text + at + 1, length - at - 1);
      length--;
      break;
    case 2: /* insert */
      memmove(text + at + 1, text + at, length - at);
      text[at] = c;
      length++;
      break;
    default: /* cut off */
      length = next_number(seed) % 16 == 0 ? at : length;
      break;
    }
  }
  text[length] = '\0';
  return length;
}

static size_t files, taken, damaged_taken;

static int visit(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info;
  (void)place;
  size_t name = strlen(path);
  if (kind != FTW_F || name < 5 || strcmp(path + name - 5, ".yaml") != 0) {
    return 0;
  }
  size_t length;
  char *text = read_file(path, &length), *copy = calloc(length + 64, 1);
  assert_non_null(copy);
  files++;
  taken += compare(path, text, length);
  uint64_t seed = files;
  size_t part = length < 1500 ? length : 1500; /* the head is enough to damage, and quick to read */
  while (part < length && text[part - 1] != '\n') {
    part++;
  }
  for (int i = 0; i < 150; i++) {
    memcpy(copy, text, part);
    damaged_taken += compare(path, copy, damage(copy, part, &seed));
  }
  free(copy);
  free(text);
  return 0;
}

static void files_and_damaged_copies_give_the_same_tree(void **state) {
  (void)state;
  assert_int_equal(nftw(RDG_SOURCE_DIR "/hardware", visit, 16, FTW_PHYS), 0);
  assert_int_equal(nftw(RDG_SOURCE_DIR "/tests/errors/hw", visit, 16, FTW_PHYS), 0);
  assert_true(files > 100 && taken > files / 4 && damaged_taken > 1000); /* the comparison compared something */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_that_are_taken),
      cmocka_unit_test(forms_that_are_left_to_libyaml),
      cmocka_unit_test(files_and_damaged_copies_give_the_same_tree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
