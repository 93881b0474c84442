/* Exhausted memory: runs a function again and again, each time with another of its allocations failing (allocation_fixture.h).
 * It must end with STATUS_MEMORY or, where it can do without, with what it gives when nothing fails; and leave no block
 * behind. Include cmocka.h first. */
#ifndef RIDGELINE_TESTS_EXHAUSTED_MEMORY_H
#define RIDGELINE_TESTS_EXHAUSTED_MEMORY_H

#include <string.h>

#include "allocation_fixture.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"

/* One run from begin to end: frees all that it makes but the text, which holds its result. */
typedef enum status exhausted_run(const void *input, struct diag_list *diags, struct strbuf *text);

/* `text` receives the first message of a failure. */
static enum status exhausted_run_once(exhausted_run *run, const void *input, struct strbuf *text) {
  struct diag_list diags;
  diag_init(&diags);
  enum status status = run(input, &diags, text);
  if (status != STATUS_OK && diags.entries.count > 0) {
    diag_format(&diags.entries.data[0], text);
  }
  diag_release(&diags);
  return status;
}

/* Length of what two texts begin with. */
static size_t exhausted_same_length(const char *a, const char *b) {
  size_t n = 0;
  while (a[n] != '\0' && a[n] == b[n]) {
    n++;
  }
  return n;
}

/* Fails allocation 1, 2, … (and all behind it when `stays`) until none is left to fail. `name` is for messages. Returns how
 * many there were. */
static unsigned long exhausted_fail_each(const char *name, exhausted_run *run, const void *input, bool stays) {
  struct strbuf expected = {0};
  enum status without = exhausted_run_once(run, input, &expected);
  assert_false(expected.failed);
  unsigned long n = 0;
  for (bool has_failed = true; has_failed; n++) {
    struct strbuf text = {0};
    long live = allocation.live;
    allocation_arm(n, stays);
    enum status status = exhausted_run_once(run, input, &text);
    has_failed = allocation_disarm();
    if (status != without && status != STATUS_MEMORY) {
      fail_msg("%s, allocation %lu: status %d, without a failure %d: %s", name, n, (int)status, (int)without,
               strbuf_text(&text));
    }
    if (!has_failed && status != without) {
      fail_msg("%s: status %d, before %d", name, (int)status, (int)without);
    }
    size_t same = exhausted_same_length(strbuf_text(&text), strbuf_text(&expected));
    if (status == STATUS_OK && !text.failed && same < expected.length + (text.length > expected.length)) {
      fail_msg("%s, allocation %lu: another result from byte %zu on\n%.200s\nrather than\n%.200s", name, n, same,
               strbuf_text(&text) + same, strbuf_text(&expected) + same);
    }
    strbuf_release(&text);
    if (allocation.live != live) {
      fail_msg("%s, allocation %lu: %ld blocks left", name, n, allocation.live - live);
    }
  }
  strbuf_release(&expected);
  return n - 1;
}

/* Both: one allocation fails; memory stays exhausted. At least `at_least` allocations, else the wrapping does not work. */
static void exhausted_check(const char *name, exhausted_run *run, const void *input, unsigned long at_least) {
  assert_true(exhausted_fail_each(name, run, input, false) >= at_least);
  assert_true(exhausted_fail_each(name, run, input, true) >= at_least);
}

#endif
