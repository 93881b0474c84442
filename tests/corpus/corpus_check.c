/* One file of the corpus: see corpus.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "mlir/mlir.h"

/* Dialects whose pretty forms are read; an error about another one is `foreign`. */
static const char *const known_dialects[] = {"stablehlo", "func",  "builtin", "chlo", "sdy",   "arith",
                                             "tensor",    "shape", "mhlo",    "vhlo", "check", "interpreter"};

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

/* True when only comments and blanks are between the two places. */
static bool is_blank(const char *text, size_t start, size_t end) {
  for (size_t i = start; i < end; i++) {
    char c = text[i];
    if (c == '/' && i + 1 < end && text[i + 1] == '/') {
      while (i < end && text[i] != '\n') {
        i++;
      }
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      return false;
    }
  }
  return true;
}

bool corpus_pieces_read(struct corpus_pieces *pieces, const char *path, char *reason, size_t reason_size) {
  struct diag_list diags;
  diag_init(&diags);
  *pieces = (struct corpus_pieces){0};
  bool ok = input_file_read(&pieces->file, path, 0, &diags) == STATUS_OK;
  if (ok) {
    pieces->source = (struct source){path, pieces->file.text, pieces->file.length};
    size_t capacity = mlir_split(&pieces->source, NULL, NULL, 0);
    pieces->starts = calloc(capacity + 1, sizeof *pieces->starts);
    pieces->ends = calloc(capacity + 1, sizeof *pieces->ends);
    ok = pieces->starts && pieces->ends;
    size_t count = ok ? mlir_split(&pieces->source, pieces->starts, pieces->ends, capacity) : 0;
    for (size_t i = 0; i < count; i++) {
      if (!is_blank(pieces->source.text, pieces->starts[i], pieces->ends[i])) {
        pieces->starts[pieces->count] = pieces->starts[i];
        pieces->ends[pieces->count++] = pieces->ends[i];
      }
    }
  } else {
    snprintf(reason, reason_size, "%s", diags.entries.count ? diags.entries.data[0].message : "not readable");
  }
  diag_release(&diags);
  return ok;
}

void corpus_pieces_release(struct corpus_pieces *pieces) {
  free(pieces->starts);
  free(pieces->ends);
  input_file_release(&pieces->file);
}

/* ---- errors that a file expects --------------------------------------------------------------------------------- */

/* Whether the piece has an "expected-error" comment at all (*has_any), and one for a line with a diagnostic. */
static bool is_expected(const struct source *source, size_t start, size_t end, const struct diag_list *diags,
                        bool *has_any) {
  static const char word[] = "expected-error";
  uint32_t line, column;
  *has_any = false;
  for (const char *at = source->text + start; (at = strstr(at, word)) != NULL && at < source->text + end; at++) {
    *has_any = true;
    source_locate(source, (size_t)(at - source->text), &line, &column);
    long wanted = corpus_expected_line(at, source->text + end, (long)line);
    for (size_t i = 0; i < diags->entries.count; i++) {
      if ((long)diags->entries.data[i].line == wanted) {
        return true;
      }
    }
  }
  return false;
}

/* True for E0108 about a dialect that is not supported: its name is the last quoted word of the message. */
static bool is_foreign(const struct diag *diag) {
  if (diag->id != DIAG_E0108_FOREIGN) {
    return false;
  }
  const char *open = strchr(diag->message, '\'');
  if (!open) {
    return false;
  }
  size_t length = strcspn(open + 1, ".'");
  for (size_t i = 0; i < sizeof known_dialects / sizeof known_dialects[0]; i++) {
    if (strlen(known_dialects[i]) == length && memcmp(known_dialects[i], open + 1, length) == 0) {
      return false;
    }
  }
  return true;
}

static bool all_foreign(const struct diag_list *diags) {
  size_t errors = 0;
  for (size_t i = 0; i < diags->entries.count; i++) {
    const struct diag *diag = &diags->entries.data[i];
    if (diag->severity == DIAG_ERROR) {
      errors++;
      if (!is_foreign(diag)) {
        return false;
      }
    }
  }
  return errors > 0;
}

/* ---- fixed point ------------------------------------------------------------------------------------------------ */

static struct ir_module *parse_text(const struct strbuf *text, const char *name, bool locations, struct source *source,
                                    char *reason, size_t reason_size) {
  struct diag_list diags;
  diag_init(&diags);
  *source = (struct source){name, strbuf_text(text), text->length};
  struct ir_module *module = NULL;
  struct mlir_parse_options options = {.keep_locations = locations};
  if (mlir_parse(source, &options, &diags, &module) != STATUS_OK) {
    const struct diag *d = diags.entries.count ? &diags.entries.data[0] : NULL;
    snprintf(reason, reason_size, "%s form is not read: %u:%u: %s | %.80s", name, d ? d->line : 0, d ? d->column : 0,
             d ? d->message : "no message", d && d->excerpt ? d->excerpt + strspn(d->excerpt, " ") : "");
    module = NULL;
  }
  diag_release(&diags);
  return module;
}

/* Bytes to show of a line of `length` from `start` on. */
static int shown(size_t length, size_t start) {
  enum { MAX_SHOWN = 55 };
  size_t rest = length > start ? length - start : 0;
  return rest > MAX_SHOWN ? MAX_SHOWN : (int)rest;
}

/* Copies the first line in which the texts differ. */
static void first_difference(const char *a, const char *b, char *out, size_t size) {
  size_t i = 0, line = 0, number = 1;
  for (; a[i] && a[i] == b[i]; i++) {
    if (a[i] == '\n') {
      line = i + 1;
      number++;
    }
  }
  size_t from = i - line > 60 ? i - 30 : line;
  snprintf(out, size, "line %zu: '%.*s' against '%.*s'", number, shown(strcspn(a + from, "\n"), 0), a + from,
           shown(strcspn(b + from, "\n"), 0), b + from);
}

/* Prints `module` with `options`, reads that, prints again: the texts must agree. Leaves the second module in *again and
 * the first text in `text`. */
static bool is_stable(const struct ir_module *module, const struct mlir_print_options *options, struct strbuf *text,
                      struct ir_module **again, struct source *source, char *reason, size_t reason_size) {
  const char *name = options->locations ? "located" : options->form == MLIR_PRETTY ? "pretty" : "generic";
  mlir_print(module, module->root, options, text);
  *again = parse_text(text, name, options->locations, source, reason, reason_size);
  if (!*again) {
    return false;
  }
  struct strbuf second = {0};
  mlir_print(*again, (*again)->root, options, &second);
  bool same = !text->failed && !second.failed && strcmp(strbuf_text(text), strbuf_text(&second)) == 0;
  if (!same) {
    int n = snprintf(reason, reason_size, "%s form changes: ", name);
    first_difference(strbuf_text(text), strbuf_text(&second), reason + n, reason_size - (size_t)n);
  }
  strbuf_release(&second);
  return same;
}

static const struct mlir_print_options pretty_form = {.form = MLIR_PRETTY}, generic_form = {.form = MLIR_GENERIC},
                                       located_form = {.form = MLIR_PRETTY, .locations = true};

bool corpus_check_module(const struct ir_module *module, struct strbuf *pretty, struct strbuf *generic, char *reason,
                         size_t reason_size) {
  struct ir_module *from_pretty = NULL, *from_generic = NULL;
  struct source pretty_source, generic_source;
  char where[160];
  bool ok = is_stable(module, &pretty_form, pretty, &from_pretty, &pretty_source, reason, reason_size)
            && is_stable(module, &generic_form, generic, &from_generic, &generic_source, reason, reason_size);
  if (ok && !ir_equal(from_pretty, from_pretty->root, from_generic, from_generic->root, where, sizeof where)) {
    snprintf(reason, reason_size, "the forms read differently: %s", where);
    ok = false;
  }
  if (ok && !ir_equal(module, module->root, from_pretty, from_pretty->root, where, sizeof where)) {
    snprintf(reason, reason_size, "printing loses something: %s", where);
    ok = false;
  }
  ir_module_free(from_pretty);
  ir_module_free(from_generic);
  return ok;
}

/* The same fixed point with loc(...) kept. */
static bool check_locations(const struct source *source, size_t start, size_t end, char *reason, size_t reason_size) {
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL, *again = NULL;
  struct mlir_parse_options options = {.keep_locations = true};
  struct strbuf text = {0};
  struct source text_source;
  bool ok = mlir_parse_piece(source, start, end, &options, &diags, &module) == STATUS_OK;
  if (!ok) {
    snprintf(reason, reason_size, "not read with locations");
  }
  ok = ok && is_stable(module, &located_form, &text, &again, &text_source, reason, reason_size);
  ir_module_free(again);
  ir_module_free(module);
  strbuf_release(&text);
  diag_release(&diags);
  return ok;
}

/* ---- is the text what the printer writes ------------------------------------------------------------------------ */

/* Next line without trailing blanks, skipping blank and comment lines; false at the end. */
static bool next_line(const char **at, const char *end, const char **line, size_t *length) {
  while (*at < end) {
    const char *start = *at;
    const char *stop = memchr(start, '\n', (size_t)(end - start));
    stop = stop ? stop : end;
    *at = stop < end ? stop + 1 : end;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\r')) {
      stop--;
    }
    const char *first = start + strspn(start, " ");
    if (first < stop && !(first[0] == '/' && first + 1 < stop && first[1] == '/')) {
      *line = start;
      *length = (size_t)(stop - start);
      return true;
    }
  }
  return false;
}

static bool is_as_printed(const char *text, size_t length, const struct strbuf *printed, char *line_out, size_t size) {
  const char *a = text, *b = strbuf_text(printed);
  const char *a_end = text + length, *b_end = b + printed->length;
  for (;;) {
    const char *x = "", *y = "";
    size_t nx = 0, ny = 0;
    bool more_x = next_line(&a, a_end, &x, &nx), more_y = next_line(&b, b_end, &y, &ny);
    if (!more_x && !more_y) {
      return true;
    }
    if (nx != ny || memcmp(x, y, nx) != 0) {
      size_t i = 0;
      for (; i < nx && i < ny && x[i] == y[i]; i++) {
      }
      i = i > 24 ? i - 24 : 0;
      snprintf(line_out, size, "%.*s  <>  %.*s", shown(nx, i), x + i, shown(ny, i), y + i);
      return false;
    }
  }
}

/* The text of a generic print begins with the quoted module. */
static bool starts_generic(const char *text, size_t length) {
  static const char word[] = "\"builtin.module\"";
  const char *at = text, *line;
  size_t n;
  return next_line(&at, text + length, &line, &n) && n >= sizeof word - 1 && memcmp(line, word, sizeof word - 1) == 0;
}

/* ---- a file ----------------------------------------------------------------------------------------------------- */

struct file_state {
  const struct corpus_pieces *pieces;
  struct corpus_result *result;
  bool is_unread, is_foreign, is_unstable, is_as_printed;
};

static void note(struct corpus_result *result, const struct diag_list *diags) {
  if (result->reason[0] == '\0') {
    const struct diag *d = diags->entries.count ? &diags->entries.data[0] : NULL;
    snprintf(result->reason, sizeof result->reason, "%u:%u: %s | %.80s", d ? d->line : 0, d ? d->column : 0,
             d ? d->message : "no message", d && d->excerpt ? d->excerpt + strspn(d->excerpt, " ") : "");
  }
}

static void check_piece(struct file_state *s, size_t i) {
  const struct corpus_pieces *pieces = s->pieces;
  size_t start = pieces->starts[i], end = pieces->ends[i];
  struct diag_list diags;
  diag_init(&diags);
  struct ir_module *module = NULL;
  enum status status = mlir_parse_piece(&pieces->source, start, end, NULL, &diags, &module);
  if (status == STATUS_OK) {
    struct strbuf pretty = {0}, generic = {0};
    char reason[sizeof s->result->reason];
    s->result->pieces_read++;
    if (!corpus_check_module(module, &pretty, &generic, reason, sizeof reason)
        || !check_locations(&pieces->source, start, end, reason, sizeof reason)) {
      if (!s->is_unstable) {
        memcpy(s->result->reason, reason, sizeof reason);
      }
      s->is_unstable = true;
    }
    s->is_as_printed = s->is_as_printed
                       && is_as_printed(pieces->source.text + start, end - start,
                                        starts_generic(pieces->source.text + start, end - start) ? &generic : &pretty,
                                        s->result->first_line, sizeof s->result->first_line);
    strbuf_release(&pretty);
    strbuf_release(&generic);
    ir_module_free(module);
  } else {
    bool expects = false;
    bool is_right_place = is_expected(&pieces->source, start, end, &diags, &expects);
    s->is_as_printed = false;
    if (is_right_place) {
      s->result->pieces_read++;
    } else if (all_foreign(&diags)) {
      s->is_foreign = true;
      note(s->result, &diags);
    } else {
      s->is_unread = true;
      note(s->result, &diags);
    }
  }
  diag_release(&diags);
}

void corpus_check_file(const struct corpus *corpus, const struct corpus_file *file, struct corpus_result *result) {
  if (corpus_is_hlo(file->path)) {
    corpus_check_hlo(file, result);
    return;
  }
  struct corpus_pieces pieces;
  if (!corpus_pieces_read(&pieces, file->path, result->reason, sizeof result->reason)) {
    result->status = CORPUS_UNREAD;
    return;
  }
  struct file_state s = {.pieces = &pieces, .result = result, .is_as_printed = true};
  result->pieces = (uint32_t)pieces.count;
  result->bytes = pieces.source.length;
  for (size_t i = 0; i < pieces.count; i++) {
    check_piece(&s, i);
  }
  if (corpus_expects_errors(file->relative)) {
    corpus_count_errors(&pieces, result);
  }
  result->is_as_printed = s.is_as_printed;
  result->has_locations = strstr(pieces.source.text, "loc(") != NULL;
  result->twin = (uint8_t)corpus_check_twin(corpus, file, result->twin_reason, sizeof result->twin_reason);
  result->status = s.is_unread     ? CORPUS_UNREAD
                   : s.is_unstable ? CORPUS_UNSTABLE
                   : s.is_foreign  ? CORPUS_FOREIGN
                                   : CORPUS_OK;
  corpus_pieces_release(&pieces);
}
