/* Mutations that keep an input a sequence of plausible tokens, so that the fuzzer gets behind the lexer: tokens, lines and
 * bracketed groups are deleted, repeated, exchanged and replaced by words of the target's vocabulary (fuzz_words) or by
 * numbers at the edges of their ranges. One call in four goes to libFuzzer's own byte mutations. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_random.h"

enum { TOKENS_MAX = 20000 };

struct span {
  size_t first, length;
};

static const char *const edge_numbers[] = {"0",
                                           "1",
                                           "-1",
                                           "2",
                                           "7",
                                           "8",
                                           "255",
                                           "256",
                                           "65535",
                                           "65536",
                                           "2147483647",
                                           "2147483648",
                                           "4294967295",
                                           "4294967296",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "1.0",
                                           "-0.0",
                                           "1e400",
                                           "0x7FC00000",
                                           "0xFFFFFFFFFFFFFFFFF"};

struct mutation {
  const uint8_t *text;
  size_t size;
  uint8_t *out;
  size_t out_size, out_max;
  struct span *tokens;
  size_t token_count;
  struct fuzz_random random;
};

static size_t below(struct mutation *m, size_t limit) {
  return fuzz_below(&m->random, limit);
}

static bool is_word(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '%'
         || c == '@' || c == '#' || c == '!' || c == '^' || c == '$';
}

static bool is_blank(uint8_t c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static size_t token_end(const struct mutation *m, size_t at) {
  size_t end = at + 1;
  uint8_t c = m->text[at];
  if (c == '"') {
    while (end < m->size && m->text[end] != '"' && m->text[end] != '\n') {
      end += m->text[end] == '\\' ? 2 : 1;
    }
    return end < m->size ? end + 1 : m->size;
  }
  bool (*same)(uint8_t) = is_word(c) ? is_word : is_blank(c) ? is_blank : NULL;
  while (same != NULL && end < m->size && same(m->text[end])) {
    end++;
  }
  return end;
}

static void split_tokens(struct mutation *m) {
  for (size_t at = 0; at < m->size && m->token_count < TOKENS_MAX;) {
    size_t end = token_end(m, at);
    m->tokens[m->token_count++] = (struct span){at, end - at};
    at = end;
  }
}

static void put(struct mutation *m, const void *text, size_t length) {
  size_t room = m->out_max - m->out_size;
  length = length < room ? length : room;
  memcpy(m->out + m->out_size, text, length);
  m->out_size += length;
}

/* Tokens [first, last) as one span of the text; `last` may be the number of tokens. */
static struct span span_of(const struct mutation *m, size_t first, size_t last) {
  size_t begin = first < m->token_count ? m->tokens[first].first : m->size;
  size_t end = last < m->token_count ? m->tokens[last].first : m->size;
  return (struct span){begin, end - begin};
}

static void put_span(struct mutation *m, struct span span) {
  put(m, m->text + span.first, span.length);
}

/* Everything up to `span`, then `middle`, then everything behind it. */
static void put_replaced(struct mutation *m, struct span span, const void *middle, size_t length) {
  put(m, m->text, span.first);
  put(m, middle, length);
  put(m, m->text + span.first + span.length, m->size - span.first - span.length);
}

static struct span line_at(const struct mutation *m, size_t at) {
  size_t begin = at, end = at;
  while (begin > 0 && m->text[begin - 1] != '\n') {
    begin--;
  }
  while (end < m->size && m->text[end] != '\n') {
    end++;
  }
  return (struct span){begin, end - begin + (end < m->size)};
}

/* The bracketed group that begins at or behind a random token, brackets included; the whole rest when none closes. */
static struct span random_group(struct mutation *m) {
  size_t first = below(m, m->token_count);
  while (first < m->token_count && strchr("([{<", m->text[m->tokens[first].first]) == NULL) {
    first++;
  }
  size_t depth = 0;
  for (size_t i = first; i < m->token_count; i++) {
    uint8_t c = m->text[m->tokens[i].first];
    depth += c == '(' || c == '[' || c == '{' || c == '<';
    depth -= depth > 0 && (c == ')' || c == ']' || c == '}' || c == '>');
    if (depth == 0) {
      return span_of(m, first, i + 1);
    }
  }
  return span_of(m, first, m->token_count);
}

static const char *random_word(struct mutation *m) {
  size_t count = 0;
  while (fuzz_words[count] != NULL) {
    count++;
  }
  size_t edges = sizeof edge_numbers / sizeof edge_numbers[0];
  return below(m, 4) == 0 ? edge_numbers[below(m, edges)] : fuzz_words[below(m, count)];
}

static struct span random_token(struct mutation *m) {
  size_t i = below(m, m->token_count);
  for (size_t tries = 0; tries < 8 && is_blank(m->text[m->tokens[i].first]); tries++) {
    i = below(m, m->token_count);
  }
  return m->tokens[i];
}

static bool has_digit_first(const struct mutation *m, struct span span) {
  return m->text[span.first] >= '0' && m->text[span.first] <= '9';
}

static void replace_number(struct mutation *m) {
  struct span span = random_token(m);
  for (size_t tries = 0; tries < 64 && !has_digit_first(m, span); tries++) {
    span = random_token(m);
  }
  const char *number = edge_numbers[below(m, sizeof edge_numbers / sizeof edge_numbers[0])];
  put_replaced(m, span, number, strlen(number));
}

static void replace_word(struct mutation *m) {
  const char *word = random_word(m);
  struct span span = random_token(m);
  put_replaced(m, span, word, strlen(word));
}

static void insert_word(struct mutation *m) {
  const char *word = random_word(m);
  put_replaced(m, (struct span){random_token(m).first, 0}, word, strlen(word));
}

/* A token by another token of the same text: names stay names that exist. */
static void replace_by_token(struct mutation *m) {
  struct span from = random_token(m), to = random_token(m);
  put_replaced(m, to, m->text + from.first, from.length);
}

static void delete_range(struct mutation *m) {
  size_t first = below(m, m->token_count);
  put_replaced(m, span_of(m, first, first + 1 + below(m, 6)), "", 0);
}

static void delete_group(struct mutation *m) {
  put_replaced(m, random_group(m), "", 0);
}

static void repeat_group(struct mutation *m) {
  struct span group = random_group(m);
  put(m, m->text, group.first + group.length);
  for (size_t n = 1 + below(m, 3); n > 0; n--) {
    put_span(m, group);
  }
  size_t end = group.first + group.length;
  put(m, m->text + end, m->size - end);
}

/* A group in the place of another one, possibly of one that it contains or is part of. */
static void move_group(struct mutation *m) {
  struct span from = random_group(m), to = random_group(m);
  put_replaced(m, to, m->text + from.first, from.length);
}

static void delete_line(struct mutation *m) {
  put_replaced(m, line_at(m, below(m, m->size)), "", 0);
}

static void copy_line(struct mutation *m) {
  struct span from = line_at(m, below(m, m->size)), to = line_at(m, below(m, m->size));
  put_replaced(m, (struct span){to.first, 0}, m->text + from.first, from.length);
}

static void cut(struct mutation *m) {
  put(m, m->text, random_token(m).first);
}

typedef void mutate_fn(struct mutation *m);
static mutate_fn *const mutations[] = {replace_number,   replace_word, insert_word,  replace_by_token,
                                       replace_by_token, delete_range, delete_group, repeat_group,
                                       move_group,       delete_line,  copy_line,    cut};

static void mutate_tokens(struct mutation *m) {
  split_tokens(m);
  if (m->token_count > 0) {
    mutations[below(m, sizeof mutations / sizeof mutations[0])](m);
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  struct mutation m = {.size = size, .out_max = max_size, .random = fuzz_random_of(seed)};
  uint8_t *copy = malloc(size + 1);
  m.tokens = malloc(TOKENS_MAX * sizeof *m.tokens);
  m.out = data;
  if (size == 0 || copy == NULL || m.tokens == NULL || below(&m, 4) == 0) {
    m.out_size = LLVMFuzzerMutate(data, size, max_size);
  } else {
    memcpy(copy, data, size);
    m.text = copy;
    mutate_tokens(&m);
  }
  free(copy);
  free(m.tokens);
  return m.out_size > 0 ? m.out_size : LLVMFuzzerMutate(data, size, max_size);
}
