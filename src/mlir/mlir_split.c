/* `// -----` separators of test files. */
#include <string.h>

#include "mlir/mlir.h"

size_t mlir_split(const struct source *source, size_t *starts, size_t *ends, size_t capacity) {
  static const char mark[] = "// -----";
  const char *text = source->text, *end = text + source->length;
  size_t count = 0, start = 0;
  const char *line = text;
  while (line < end) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline ? newline + 1 : end;
    if ((size_t)(end - line) >= sizeof mark - 1 && memcmp(line, mark, sizeof mark - 1) == 0) {
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
