/* `// -----` separators of test files. MLIR's tools split wherever the mark stands, so a line "// // -----" separates, too. */
#include <string.h>

#include "mlir/mlir.h"

static bool has_mark(const char *line, const char *end) {
  static const char mark[] = "// -----";
  const size_t length = sizeof mark - 1;
  for (; (size_t)(end - line) >= length; line++) {
    line = memchr(line, '/', (size_t)(end - line) - length + 1);
    if (!line) {
      return false;
    }
    if (memcmp(line, mark, length) == 0) {
      return true;
    }
  }
  return false;
}

size_t mlir_split(const struct source *source, size_t *starts, size_t *ends, size_t capacity) {
  const char *text = source->text, *end = text + source->length;
  size_t count = 0, start = 0;
  const char *line = text;
  while (line < end) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline ? newline + 1 : end;
    if (has_mark(line, next)) {
      if (count < capacity) {
        starts[count] = start;
        ends[count] = (size_t)(line - text);
      }
      count++;
      start = (size_t)(next - text);
    }
    line = next;
  }
  if (count < capacity) {
    starts[count] = start;
    ends[count] = source->length;
  }
  return count + 1;
}
