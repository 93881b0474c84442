/* `chips check`: keys. Facts may have any key, so a misspelt one is kept and never read; here are the warnings for that,
 * and for a file that cannot predict. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "hw/hw_internal.h"

/* What `missing` of a chip names, and what to state. */
static const struct {
  const char *key, *what;
} needs[] = {
    {"peak", "the rate of matrix products, peak.bf16 or another peak.<type>, in FLOP/s"},
    {"peak.f32_vector", "the rate of element-wise arithmetic, peak.f32_vector, in FLOP/s"},
    {"mem.bw", "the bandwidth of off-chip memory, mem.bw, in B/s"},
    {"smem_total", "the on-chip memory, smem_total, in B"},
};

/* Words of other people's keys for words of ours. */
static const struct {
  const char *other, *ours;
} synonyms[] = {
    {"bandwidth", "bw"},    {"capacity", "size"}, {"memory", "mem"},  {"dram", "mem"},    {"hbm", "mem"},
    {"vram", "mem"},        {"flops", "peak"},    {"tflops", "peak"}, {"fp64", "f64"},    {"fp32", "f32"},
    {"fp16", "f16"},        {"float64", "f64"},   {"float32", "f32"}, {"float16", "f16"}, {"bfloat16", "bf16"},
    {"f8", "fp8"},          {"f4", "fp4"},        {"i8", "int8"},     {"i4", "int4"},     {"s8", "int8"},
    {"frequency", "clock"}, {"freq", "clock"},    {"power", "tdp"},   {"sms", "cores"},   {"cus", "cores"},
    {"core", "cores"},      {"shared", "smem"},   {"sram", "smem"},   {"cache", "l2"},    {"llc", "l2"},
};

enum { MAX_WORDS = 6, WORD_LENGTH = 16, MAX_TYPED = 128 };

/* A key as its words, ours in place of others', in alphabetic order. */
struct key_words {
  char words[MAX_WORDS][WORD_LENGTH];
  size_t count; /* 0 = too long to compare */
};

static int compare_words(const void *a, const void *b) {
  return strcmp(a, b);
}

static void add_word(struct key_words *out, const char *text, size_t length) {
  char *word = out->words[out->count++];
  for (size_t i = 0; i < length; i++) {
    word[i] = (char)tolower((unsigned char)text[i]);
  }
  word[length] = '\0';
  for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
    if (strcmp(word, synonyms[i].other) == 0) {
      memcpy(word, synonyms[i].ours, strlen(synonyms[i].ours) + 1);
      return;
    }
  }
}

static void split(const char *key, struct key_words *out) {
  *out = (struct key_words){.count = 0};
  while (*key != '\0') {
    size_t length = strcspn(key, "._-");
    if (length >= WORD_LENGTH || (length > 0 && out->count == MAX_WORDS)) {
      out->count = 0;
      return;
    }
    if (length > 0) {
      add_word(out, key, length);
    }
    key += length + (key[length] != '\0');
  }
  qsort(out->words, out->count, sizeof out->words[0], compare_words);
}

static bool means_the_same(const struct key_words *a, const struct key_words *b) {
  bool is_same = a->count == b->count && a->count > 0;
  for (size_t i = 0; i < a->count && is_same; i++) {
    is_same = strcmp(a->words[i], b->words[i]) == 0;
  }
  return is_same;
}

/* The typed key that was probably meant, or NULL. */
static const char *resembling(const char *key) {
  size_t count;
  const struct hw_field_row *rows = hw_field_rows(&count);
  const char *names[MAX_TYPED];
  struct key_words words, typed;
  split(key, &words);
  for (size_t i = 0; i < count && i < MAX_TYPED; i++) {
    names[i] = rows[i].key;
    split(rows[i].key, &typed);
    if (means_the_same(&words, &typed)) {
      return rows[i].key;
    }
  }
  return nearest_name(key, names, count < MAX_TYPED ? count : MAX_TYPED);
}

static bool is_in_use(const struct hw_database *known, const char *key) {
  for (size_t i = 0; known != NULL && i < known->chips.count; i++) {
    if (hw_chip_field(&known->chips.data[i], key) != NULL) {
      return true;
    }
  }
  return false;
}

static void warn_missing(const struct hw_chip *chip, struct diag_list *diags) {
  struct strbuf text = {0};
  const char *at = chip->missing;
  while (*at != '\0') {
    size_t length = strcspn(at, ",");
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
      if (strlen(needs[i].key) == length && strncmp(needs[i].key, at, length) == 0) {
        strbuf_printf(&text, "%s%s", text.length > 0 ? "; " : "", needs[i].what);
      }
    }
    at += length;
    at += strspn(at, ", ");
  }
  diag_file(diags, DIAG_W0310_CANNOT_PREDICT, chip->file, 0, 0, "'%s' cannot be predicted; it lacks %s", chip->id,
            strbuf_text(&text));
  strbuf_release(&text);
}

void hw_chip_check_keys(const struct hw_chip *chip, const struct hw_database *known, struct diag_list *diags) {
  if (chip->missing != NULL) {
    warn_missing(chip, diags);
  }
  for (size_t i = 0; i < chip->field_count; i++) {
    const struct hw_field *field = &chip->fields[i];
    if (field->inherited_from != NULL || hw_field_row_find(field->key) != NULL || is_in_use(known, field->key)) {
      continue;
    }
    const char *meant = resembling(field->key);
    if (meant != NULL) {
      diag_file(diags, DIAG_W0311_UNREAD_FIELD, field->file, field->line, field->column,
                "'%s' is kept but never read; did you mean '%s'?", field->key, meant);
    }
  }
}
