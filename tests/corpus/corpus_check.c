/* One file of the corpus: see corpus.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "corpus.h"
#include "import/import.h"
#include "mlir/mlir.h"

/* Dialects whose pretty forms are read: an error about another one makes a piece `foreign`. Of the last three only the few
 * operations that JAX emits are read; others of them may stand beside a foreign one. */
static const char *const read_dialects[] = {"stablehlo", "func",  "builtin",     "chlo",  "sdy",    "mhlo",
                                            "vhlo",      "check", "interpreter", "arith", "tensor", "shape"};
enum { READ_COUNT = sizeof read_dialects / sizeof read_dialects[0], WHOLLY_READ_COUNT = READ_COUNT - 3 };

/* ---- foreign dialects --------------------------------------------------------------------------------------------- */

/* Index of the dialect in read_dialects, READ_COUNT when it is not there. */
static int find_dialect(const char *name, size_t length) {
  int i = 0;
  while (i < READ_COUNT && (strlen(read_dialects[i]) != length || memcmp(read_dialects[i], name, length) != 0)) {
    i++;
  }
  return i;
}

/* Adds a word to a list of words parted by blanks. */
static void add_word(char *list, size_t size, const char *word, size_t length) {
  size_t used = strlen(list);
  for (const char *at = list; *at;) {
    size_t n = strcspn(at, " ");
    if (n == length && memcmp(at, word, n) == 0) {
      return;
    }
    at += n + strspn(at + n, " ");
  }
  snprintf(list + used, size - used, "%s%.*s", used ? " " : "", (int)length, word);
}

/* All errors are E0108 (form of an operation that is not known), at least one of them about a dialect that is not read at
 * all. Adds the dialects to `names`. The dialect is the first quoted word of the message up to its dot. */
static bool all_foreign(const struct diag_list *diags, char *names, size_t size) {
  bool has_foreign = false;
  char found[96] = "";
  for (size_t i = 0; i < diags->entries.count; i++) {
    const struct diag *diag = &diags->entries.data[i];
    const char *open = strchr(diag->message, '\'');
    if (diag->severity != DIAG_ERROR) {
      continue;
    }
    if (diag->id != DIAG_E0108_FOREIGN || open == NULL) {
      return false;
    }
    size_t length = strcspn(open + 1, ".'");
    int index = find_dialect(open + 1, length);
    if (index < WHOLLY_READ_COUNT) {
      return false;
    }
    has_foreign |= index == READ_COUNT;
    add_word(found, sizeof found, open + 1, length);
  }
  for (const char *at = found; has_foreign && *at;) {
    size_t n = strcspn(at, " ");
    add_word(names, size, at, n);
    at += n + strspn(at + n, " ");
  }
  return has_foreign;
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
  bool is_verifier_test;
  bool is_unread, is_unstable, is_as_printed;
};

/* Keeps the reason of the first failure of a file. */
static void note(struct corpus_result *result, const char *reason) {
  if (result->reason[0] == '\0') {
    snprintf(result->reason, sizeof result->reason, "%s", reason);
  }
}

static const struct diag *first_error(const struct diag_list *diags) {
  size_t i = 0;
  while (i < diags->entries.count && diags->entries.data[i].severity != DIAG_ERROR) {
    i++;
  }
  return i < diags->entries.count ? &diags->entries.data[i] : NULL;
}

/* Fixed point, and whether the text is as printed. */
static void check_read_piece(struct file_state *s, size_t start, size_t end, const struct ir_module *module) {
  struct strbuf pretty = {0}, generic = {0};
  char reason[sizeof s->result->reason];
  const char *text = s->pieces->source.text + start;
  if (!corpus_check_module(module, &pretty, &generic, reason, sizeof reason)
      || !check_locations(&s->pieces->source, start, end, reason, sizeof reason)) {
    note(s->result, reason);
    s->is_unstable = true;
  }
  s->is_as_printed = s->is_as_printed
                     && is_as_printed(text, end - start, starts_generic(text, end - start) ? &generic : &pretty,
                                      s->result->first_line, sizeof s->result->first_line);
  strbuf_release(&pretty);
  strbuf_release(&generic);
}

/* A piece that was not read must be foreign, or be refused where its marks say; anything else is a finding. */
static void judge_refusal(struct file_state *s, bool is_as_marked, const struct diag_list *diags) {
  struct corpus_result *result = s->result;
  const struct diag *d = first_error(diags);
  s->is_as_printed = false;
  if (is_as_marked) {
    result->pieces_read++;
  } else if (d == NULL) {
    s->is_unread = true;
    note(result, "refused without an error");
  } else if (!all_foreign(diags, result->foreign, sizeof result->foreign)) {
    char reason[sizeof result->reason];
    snprintf(reason, sizeof reason, "%u:%u: %s | %.80s", d->line, d->column, d->message,
             d->excerpt ? d->excerpt + strspn(d->excerpt, " ") : "");
    note(result, reason);
    corpus_add_finding(result, FINDING_REFUSED, d);
  }
}

static void check_hlo_piece(struct file_state *s, size_t start, size_t end) {
  char reason[sizeof s->result->reason];
  enum corpus_status status = corpus_check_hlo(s->pieces, start, end, reason, sizeof reason);
  s->result->is_hlo = true;
  s->result->has_locations = true; /* not a text that could be as printed */
  s->result->pieces_read += status != CORPUS_UNREAD;
  s->is_unread |= status == CORPUS_UNREAD;
  s->is_unstable |= status == CORPUS_UNSTABLE;
  if (status != CORPUS_OK) {
    note(s->result, reason);
  }
}

static void check_piece(struct file_state *s, size_t index) {
  enum { ALL_ERRORS = 1000 };
  const struct corpus_pieces *pieces = s->pieces;
  size_t start = pieces->starts[index], end = pieces->ends[index];
  if (import_is_hlo_text(pieces->source.text + start, end - start)) {
    check_hlo_piece(s, start, end);
    return;
  }
  struct diag_list diags;
  diag_init(&diags);
  diags.error_limit = ALL_ERRORS;
  struct ir_module *module = NULL;
  bool is_read = mlir_parse_piece(&pieces->source, start, end, NULL, &diags, &module) == STATUS_OK;
  if (is_read) {
    s->result->pieces_read++;
    check_read_piece(s, start, end, module);
    (void)analyze_infer(module, &diags); /* these refine the module: last */
    (void)analyze_calls(module, &diags);
    ir_module_free(module);
  }
  bool is_as_marked = corpus_judge_errors(pieces, index, &diags, is_read, s->is_verifier_test, s->result);
  if (!is_read) {
    judge_refusal(s, is_as_marked, &diags);
  }
  diag_release(&diags);
}

static enum corpus_status status_of(const struct file_state *s, const char *relative) {
  char reason[sizeof s->result->reason];
  if (s->is_unread) {
    return CORPUS_UNREAD;
  }
  if (s->is_unstable) {
    return CORPUS_UNSTABLE;
  }
  if (!corpus_findings_listed(relative, s->result, reason, sizeof reason)) {
    note(s->result, reason);
    bool is_refused = s->result->finding_count > 0 && s->result->findings[0].kind == FINDING_REFUSED;
    return is_refused ? CORPUS_UNREAD : CORPUS_UNEXPECTED;
  }
  return s->result->foreign[0] ? CORPUS_FOREIGN : CORPUS_OK;
}

void corpus_check_file(const struct corpus *corpus, const struct corpus_file *file, struct corpus_result *result) {
  struct corpus_pieces pieces;
  if (!corpus_pieces_read(&pieces, file->path, result->reason, sizeof result->reason)) {
    result->status = CORPUS_UNREAD;
    return;
  }
  struct file_state s = {.pieces = &pieces,
                         .result = result,
                         .is_verifier_test = corpus_expects_errors(file->relative),
                         .is_as_printed = true};
  result->pieces = (uint32_t)pieces.count;
  result->bytes = pieces.source.length;
  result->has_locations = strstr(pieces.source.text, "loc(") != NULL;
  for (size_t i = 0; i < pieces.count; i++) {
    check_piece(&s, i);
  }
  result->is_as_printed = s.is_as_printed;
  result->twin = (uint8_t)corpus_check_twin(corpus, file, result->twin_reason, sizeof result->twin_reason);
  result->status = (uint8_t)status_of(&s, file->relative);
  corpus_pieces_release(&pieces);
}
