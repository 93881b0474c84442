/* Numbers and layouts of the public header against the rows of public_layout.def. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ridgeline/ridgeline.h"

#define ENUM(enumerator, number) _Static_assert((int)enumerator == (number), #enumerator " keeps its number");
#include "public_layout.def"

_Static_assert(sizeof(rdg_status) == 4 && sizeof(rdg_dtype) == 4 && sizeof(rdg_fill) == 4, "enumerations are int");

struct row {
  const char *what;
  size_t promised, found;
};

static const struct row rows[] = {
#define STRUCT(type, size) {"the size of " #type, size, sizeof(type)},
#define MEMBER(type, member, offset) {"the offset of " #type "." #member, offset, offsetof(type, member)},
#include "public_layout.def"
};

int main(void) {
  int broken = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].promised != rows[i].found) {
      printf("%s is %zu, promised were %zu\n", rows[i].what, rows[i].found, rows[i].promised);
      broken++;
    }
  }
  printf("%zu rows of public_layout.def, %d broken%s\n", sizeof rows / sizeof rows[0], broken,
         broken ? ": docs/c-api.md says what a change of the binary interface needs" : "");
  return broken > 0;
}
