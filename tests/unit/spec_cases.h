/* Reads the files of tests/errors/constraints: valid programs and, per constraint, changes that break it.
 *
 *   == abs negate           operations; $op in the text below stands for each of them
 *   !x = tensor<2xf32>      the program, up to the first case
 *   ...
 *   -- C1: !r = tensor<3xf32>        the line that defines the alias !r becomes this
 *   -- C2: old text => new text      every occurrence is replaced; nothing behind => takes it away
 *   -- I3: without region 1          the region is taken away
 *   several edits of one case are joined by ` ;; ` */
#ifndef RIDGELINE_TESTS_SPEC_CASES_H
#define RIDGELINE_TESTS_SPEC_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

enum { SPEC_OPS_MAX = 64, SPEC_CASES_MAX = 128 };

struct spec_case {
  char label[8]; /* "C1" */
  char *edits;
  unsigned line;
};

/* One valid program with its cases. Texts point into `text` of the file. */
struct spec_block {
  char *ops[SPEC_OPS_MAX];
  size_t op_count;
  struct strbuf program;
  struct spec_case cases[SPEC_CASES_MAX];
  size_t case_count;
  unsigned line;
};

typedef void (*spec_block_fn)(const struct spec_block *block, const char *file, void *context);

static inline void spec_replace(struct strbuf *text, const char *from, const char *to) {
  struct strbuf out = {0};
  const char *rest = strbuf_text(text);
  const char *hit = strstr(rest, from);
  if (hit == NULL) {
    fail_msg("'%s' does not stand in the program", from);
  }
  for (; hit != NULL; hit = strstr(rest, from)) {
    strbuf_printf(&out, "%.*s%s", (int)(hit - rest), rest, to);
    rest = hit + strlen(from);
  }
  strbuf_puts(&out, rest);
  strbuf_release(text);
  *text = out;
}

/* The line that begins with "!name = " becomes `line`. */
static inline void spec_replace_alias(struct strbuf *text, const char *line) {
  size_t length = (size_t)(strchr(line, '=') - line) + 2;
  const char *all = strbuf_text(text), *at = all;
  while (at != NULL && strncmp(at, line, length) != 0) {
    at = strchr(at, '\n');
    at = at != NULL ? at + 1 : NULL;
  }
  if (at == NULL) {
    fail_msg("no alias for '%s'", line);
    return;
  }
  struct strbuf out = {0};
  strbuf_printf(&out, "%.*s%s%s", (int)(at - all), all, line, strchr(at, '\n'));
  strbuf_release(text);
  *text = out;
}

/* Regions stand as ({ ... }, { ... }). */
static inline void spec_remove_region(struct strbuf *text, unsigned region) {
  struct strbuf out = {0};
  const char *all = strbuf_text(text), *begin = strstr(all, "({"), *end = strstr(all, "})"), *part = begin + 2;
  strbuf_printf(&out, "%.*s", (int)(begin - all), all);
  unsigned kept = 0;
  for (unsigned i = 0; part < end; i++) {
    const char *next = strstr(part, "}, {");
    const char *stop = next != NULL && next < end ? next : end;
    if (i != region) {
      strbuf_printf(&out, "%s%.*s", kept++ == 0 ? "({" : "}, {", (int)(stop - part), part);
    }
    part = stop == end ? end : stop + 4;
  }
  strbuf_puts(&out, kept > 0 ? end : end + 2);
  strbuf_release(text);
  *text = out;
}

static inline void spec_edit(struct strbuf *text, const char *edits) {
  struct strbuf copy = {0};
  strbuf_puts(&copy, edits);
  char *edit = copy.data;
  while (edit != NULL) {
    char *next = strstr(edit, " ;; ");
    if (next != NULL) {
      *next = '\0';
      next += 4;
    }
    char *arrow = strstr(edit, " =>");
    if (strncmp(edit, "without region ", 15) == 0) {
      spec_remove_region(text, (unsigned)atoi(edit + 15));
    } else if (arrow == NULL) {
      spec_replace_alias(text, edit);
    } else {
      *arrow = '\0';
      spec_replace(text, edit, arrow[3] == ' ' ? arrow + 4 : arrow + 3);
    }
    edit = next;
  }
  strbuf_release(&copy);
}

/* Program of one operation of a block, with the edits of a case (NULL: valid). */
static inline void spec_program(const struct spec_block *block, const char *op, const char *edits, struct strbuf *out) {
  strbuf_puts(out, strbuf_text(&block->program));
  if (strstr(strbuf_text(out), "$op") != NULL) {
    spec_replace(out, "$op", op);
  }
  if (edits != NULL) {
    spec_edit(out, edits);
  }
}

static inline void spec_add_ops(struct spec_block *block, char *names) {
  for (char *name = strtok(names, " "); name != NULL; name = strtok(NULL, " ")) {
    assert_true(block->op_count < SPEC_OPS_MAX);
    block->ops[block->op_count++] = name;
  }
}

static inline void spec_add_case(struct spec_block *block, char *text, unsigned line) {
  assert_true(block->case_count < SPEC_CASES_MAX);
  struct spec_case *entry = &block->cases[block->case_count++];
  char *colon = strstr(text, ": ");
  assert_non_null(colon);
  *colon = '\0';
  snprintf(entry->label, sizeof entry->label, "%s", text);
  entry->edits = colon + 2;
  entry->line = line;
}

/* Calls `visit` for every block of a file below the source folder. */
static inline void spec_read(const char *file, spec_block_fn visit, void *context) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/errors/constraints/%s", RDG_SOURCE_DIR, file);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  struct strbuf text = {0};
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, stream)) > 0;) {
    strbuf_printf(&text, "%.*s", (int)n, buffer);
  }
  fclose(stream);
  struct spec_block *block = calloc(1, sizeof *block);
  assert_non_null(block);
  bool is_heading = false;
  unsigned line = 0;
  for (char *at = text.data, *next; at != NULL; at = next) {
    next = strchr(at, '\n');
    if (next != NULL) {
      *next++ = '\0';
    }
    line++;
    bool starts = strncmp(at, "== ", 3) == 0;
    if (starts && !is_heading && block->op_count > 0) {
      visit(block, file, context);
      strbuf_release(&block->program);
      memset(block, 0, sizeof *block);
    }
    if (starts) {
      block->line = block->op_count == 0 ? line : block->line;
      spec_add_ops(block, at + 3);
    } else if (strncmp(at, "-- ", 3) == 0) {
      spec_add_case(block, at + 3, line);
    } else if (block->op_count > 0 && *at != '\0' && *at != '#') {
      strbuf_printf(&block->program, "%s\n", at);
    }
    is_heading = starts;
  }
  visit(block, file, context);
  strbuf_release(&block->program);
  free(block);
  strbuf_release(&text);
}

#endif
