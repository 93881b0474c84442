/* Lifecycle of results and their remarks. */
#include <stdarg.h>
#include <string.h>

#include "base/checked.h"
#include "work/work_result.h"

void work_result_init(struct work_result *result) {
  memset(result, 0, sizeof *result);
  arena_init(&result->arena, 0);
}

void work_result_release(struct work_result *result) {
  vec_release(&result->notes);
  arena_release(&result->arena);
  memset(result, 0, sizeof *result);
}

void work_result_note(struct work_result *result, enum diag_id id, uint64_t count, const char *format, ...) {
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  for (size_t i = 0; i < result->notes.count; i++) {
    struct work_note *note = &result->notes.data[i];
    if (note->id == id && strcmp(note->text, strbuf_text(&text)) == 0) {
      note->count = sat_add_u64(note->count, count);
      strbuf_release(&text);
      return;
    }
  }
  const char *kept = arena_strndup(&result->arena, strbuf_text(&text), text.length);
  if (kept != NULL) {
    (void)vec_push(&result->notes, ((struct work_note){id, kept, count}));
  }
  strbuf_release(&text);
}
