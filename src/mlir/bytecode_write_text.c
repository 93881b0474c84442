/* Texts that the module keeps for attributes with a syntax of their own, read from left to right for bytecode that is
 * written. Path: bytecode_write_sdy.c, bytecode_write_location.c → here. */
#include <stdlib.h>

#include "mlir/bytecode_write_int.h"

bool bw_skip(struct bw_text *t, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(t->end - t->at) < length || memcmp(t->at, word, length) != 0) {
    return false;
  }
  t->at += length;
  return true;
}

bool bw_expect(struct bw_writer *w, struct bw_text *t, const char *word) {
  return bw_skip(t, word) || bw_refuse(w, "the text at '%.40s', where '%s' is expected", t->at, word);
}

bool bw_integer(struct bw_writer *w, struct bw_text *t, int64_t *value) {
  char *end;
  *value = strtoll(t->at, &end, 10);
  if (end == t->at || end > t->end) {
    return bw_refuse(w, "the text at '%.40s', where a number is expected", t->at);
  }
  t->at = end;
  return true;
}

static int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

bool bw_quoted(struct bw_writer *w, struct bw_text *t, const char **text, size_t *length) {
  if (!bw_expect(w, t, "\"")) {
    return false;
  }
  const char *close = t->at;
  while (close < t->end && *close != '"') {
    close += *close == '\\' && t->end - close > 1 ? 2 : 1;
  }
  char *out = arena_alloc(&w->scratch, (size_t)(close - t->at) + 1);
  if (out == NULL) {
    w->out_of_memory = true;
    return false;
  }
  *text = out;
  while (t->at < close) {
    bool is_hex = *t->at == '\\' && close - t->at > 2 && hex(t->at[1]) >= 0 && hex(t->at[2]) >= 0;
    if (is_hex) {
      *out++ = (char)(hex(t->at[1]) << 4 | hex(t->at[2]));
      t->at += 3;
    } else {
      t->at += *t->at == '\\' && close - t->at > 1;
      *out++ = *t->at++;
    }
  }
  *length = (size_t)(out - *text);
  return bw_expect(w, t, "\"");
}
