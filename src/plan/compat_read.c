/* Operator lists and sequences of --compat elk: two small texts, read with the place of every error.
 * Path: files in, plan_compat_program out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_compat.h"

enum { OPERATORS_MAX = 4096, SEQUENCE_MAX = 50000, EXTENT_MAX = INT32_MAX, PERIOD_MAX = 4096 };

enum column { COLUMN_ID, COLUMN_KIND, COLUMN_EXTENTS, COLUMN_AXES, COLUMN_RESIDENT, COLUMN_COUNT, COLUMNS };

static const char *const column_names[COLUMNS] = {"id",   "kind", "dims", "tensor_axes", "inputs_already_on_chip",
                                                  "count"};

static const struct {
  const char *name;
  uint8_t inputs_min, inputs_max;
} kinds[PLAN_COMPAT_KIND_COUNT] = {
    [PLAN_COMPAT_REDUCE] = {"reduce", 1, 1},
    [PLAN_COMPAT_UNARY] = {"unary", 1, 1},
    [PLAN_COMPAT_ELEMENTWISE] = {"elementwise", 1, 2},
    [PLAN_COMPAT_MATMUL] = {"matmul", 2, 2},
    [PLAN_COMPAT_SLICE] = {"slice", 1, 1},
};

/* A part of the text. */
struct span {
  const struct source *source;
  size_t start, end;
};

static int length_of(struct span span) {
  const size_t length = span.end - span.start;
  return length < 60 ? (int)length : 60; /* of a quotation */
}

static const char *text_of(struct span span) {
  return span.source->text + span.start;
}

static bool span_is(struct span span, const char *text) {
  return span.end - span.start == strlen(text) && memcmp(text_of(span), text, span.end - span.start) == 0;
}

/* Cuts what precedes the next `separator`, or all of it, off the front. False when there was no separator. */
static bool cut(struct span *rest, char separator, struct span *part) {
  const size_t length = rest->end - rest->start;
  const char *found = length > 0 ? memchr(text_of(*rest), separator, length) : NULL;
  *part = *rest;
  if (found == NULL) {
    rest->start = rest->end;
    return false;
  }
  part->end = (size_t)(found - rest->source->text);
  rest->start = part->end + 1;
  return true;
}

static bool fail(struct diag_list *diags, struct span at, const char *what) {
  diag_at(diags, DIAG_E0807_OPERATOR_LIST, at.source, at.start, "%s, found '%.*s'", what, length_of(at), text_of(at));
  return false;
}

/* Decimal digits alone. */
static bool read_number(struct span span, uint64_t most, uint64_t *number) {
  *number = 0;
  for (size_t i = span.start; i < span.end; i++) {
    const char c = span.source->text[i];
    if (c < '0' || c > '9') {
      return false;
    }
    *number = *number * 10 + (uint64_t)(c - '0');
    if (*number > most) {
      return false;
    }
  }
  return span.end > span.start;
}

/* ---- Columns ---- */

static bool read_kind(struct span span, struct diag_list *diags, struct plan_compat_operator *op) {
  const char *names[PLAN_COMPAT_KIND_COUNT];
  for (uint8_t kind = 0; kind < PLAN_COMPAT_KIND_COUNT; kind++) {
    names[kind] = kinds[kind].name;
    if (span_is(span, kinds[kind].name)) {
      op->kind = kind;
      return true;
    }
  }
  char text[64];
  const int length = length_of(span);
  memcpy(text, text_of(span), (size_t)length);
  text[length] = '\0';
  const char *near = nearest_name(text, names, PLAN_COMPAT_KIND_COUNT);
  diag_at(diags, DIAG_E0807_OPERATOR_LIST, span.source, span.start,
          "no operator kind '%s'; %s '%s' (reduce, unary, elementwise, matmul, slice)", text,
          near != NULL ? "did you mean" : "kinds are like", near != NULL ? near : "matmul");
  return false;
}

static bool read_extents(struct span span, struct diag_list *diags, struct plan_compat_operator *op) {
  for (bool more = true; more;) {
    struct span part;
    uint64_t extent;
    more = cut(&span, 'x', &part);
    if (op->axis_count == PLAN_AXES_MAX) {
      return fail(diags, part, "an operator has at most 8 axes");
    }
    if (!read_number(part, EXTENT_MAX, &extent) || extent == 0) {
      return fail(diags, part, "expected an extent from 1 to 2147483647");
    }
    op->extents[op->axis_count++] = extent;
  }
  return true;
}

/* "0;2": no text is a tensor along no axis. */
static bool read_mask(struct span span, uint32_t axis_count, struct diag_list *diags, plan_axis_mask *mask) {
  *mask = 0;
  for (bool more = span.end > span.start; more;) {
    struct span part;
    uint64_t axis;
    more = cut(&span, ';', &part);
    if (!read_number(part, UINT32_MAX, &axis) || axis >= axis_count) {
      return fail(diags, part, "expected the number of an axis of the operator");
    }
    if ((*mask >> axis & 1) != 0) {
      return fail(diags, part, "a tensor names an axis twice");
    }
    *mask = (plan_axis_mask)(*mask | 1u << axis);
  }
  return true;
}

static bool read_tensors(struct span span, struct diag_list *diags, struct plan_compat_operator *op) {
  const struct span whole = span;
  plan_axis_mask masks[PLAN_ROTATED_MAX];
  uint8_t count = 0;
  for (bool more = true; more; count++) {
    struct span part;
    more = cut(&span, '|', &part);
    if (count == PLAN_ROTATED_MAX) {
      return fail(diags, part, "an operator has an output and at most two inputs");
    }
    if (!read_mask(part, op->axis_count, diags, &masks[count])) {
      return false;
    }
  }
  if (count < kinds[op->kind].inputs_min + 1 || count > kinds[op->kind].inputs_max + 1) {
    return fail(diags, whole, "the number of tensors does not fit the kind");
  }
  plan_axis_mask inputs = 0;
  for (uint8_t i = 1; i < count; i++) { /* the file has the output first, plan_space last */
    op->tensors[i - 1] = masks[i];
    inputs |= masks[i];
  }
  op->tensors[count - 1] = masks[0];
  op->tensor_count = count;
  return (masks[0] & ~inputs) == 0 ? true : fail(diags, whole, "the output has an axis that no input has");
}

static bool read_resident(struct span span, struct diag_list *diags, struct plan_compat_operator *op) {
  bool fits = span.end - span.start == op->tensor_count - 1u;
  for (size_t i = 0; fits && i + 1u < op->tensor_count; i++) {
    const char flag = text_of(span)[i];
    fits = flag == '0' || flag == '1';
    op->resident[i] = flag == '1';
  }
  return fits || fail(diags, span, "expected one flag, 0 or 1, per input");
}

/* ---- Rows ---- */

/* Lines of a text, without their ends. */
static bool next_line(struct span *rest, struct span *line) {
  while (rest->start < rest->end) {
    cut(rest, '\n', line);
    if (line->end > line->start && line->source->text[line->end - 1] == '\r') {
      line->end--;
    }
    if (line->end > line->start) {
      return true;
    }
  }
  return false;
}

static bool cut_columns(struct span line, struct diag_list *diags, struct span columns[COLUMNS]) {
  struct span rest = line;
  for (uint32_t i = 0; i < COLUMNS; i++) {
    if (cut(&rest, ',', &columns[i]) != (i + 1 < COLUMNS)) {
      return fail(diags, line, "expected six columns: id,kind,dims,tensor_axes,inputs_already_on_chip,count");
    }
  }
  return true;
}

static bool read_header(struct span line, struct diag_list *diags) {
  struct span columns[COLUMNS];
  if (!cut_columns(line, diags, columns)) {
    return false;
  }
  for (uint32_t i = 0; i < COLUMNS; i++) {
    if (!span_is(columns[i], column_names[i])) {
      diag_at(diags, DIAG_E0807_OPERATOR_LIST, line.source, columns[i].start, "expected the column '%s', found '%.*s'",
              column_names[i], length_of(columns[i]), text_of(columns[i]));
      return false;
    }
  }
  return true;
}

/* How often the sequence has to name the operator, and where that was said. */
struct use {
  uint64_t wanted, found;
  struct span at;
};
typedef VEC(struct use) uses;

static enum status read_row(struct span line, struct diag_list *diags, struct plan_compat_program *program,
                            uses *counts) {
  struct span columns[COLUMNS];
  struct plan_compat_operator op = {.offset = line.start};
  struct use use = {0};
  uint64_t id = 0;
  bool good = cut_columns(line, diags, columns);
  if (good) {
    good = (read_number(columns[COLUMN_ID], UINT32_MAX, &id) && id == program->operators.count)
           || fail(diags, columns[COLUMN_ID], "expected the ids 0, 1, 2 ... one per row");
    good = read_kind(columns[COLUMN_KIND], diags, &op) && good;
    if (read_extents(columns[COLUMN_EXTENTS], diags, &op) && good) {
      good = read_tensors(columns[COLUMN_AXES], diags, &op) && read_resident(columns[COLUMN_RESIDENT], diags, &op);
    } else {
      good = false;
    }
    use.at = columns[COLUMN_COUNT];
    good = (read_number(use.at, UINT32_MAX, &use.wanted) || fail(diags, use.at, "expected the number of uses")) && good;
  }
  /* A bad row keeps its place, so that the ids after it are still right. */
  return vec_push(&program->operators, op) && vec_push(counts, use) ? good ? STATUS_OK : STATUS_INPUT : STATUS_MEMORY;
}

static enum status read_operators(const struct source *source, struct diag_list *diags,
                                  struct plan_compat_program *program, uses *counts) {
  struct span rest = {source, 0, source->length};
  struct span line = rest;
  if (!next_line(&rest, &line)) {
    diag_at(diags, DIAG_E0807_OPERATOR_LIST, source, 0, "an operator list is empty");
    return STATUS_INPUT;
  }
  enum status result = read_header(line, diags) ? STATUS_OK : STATUS_INPUT;
  while (!diag_full(diags) && next_line(&rest, &line)) {
    if (program->operators.count == OPERATORS_MAX) {
      fail(diags, line, "an operator list has at most 4096 rows");
      return STATUS_INPUT;
    }
    const enum status status = read_row(line, diags, program, counts);
    if (status == STATUS_MEMORY) {
      return status;
    }
    result = status == STATUS_OK ? result : status;
  }
  if (program->operators.count == 0 && result == STATUS_OK) {
    fail(diags, line, "an operator list has no rows but its names");
    return STATUS_INPUT;
  }
  return result;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static enum status read_sequence(const struct source *source, struct diag_list *diags,
                                 struct plan_compat_program *program, uses *counts) {
  enum status result = STATUS_OK;
  for (size_t i = 0; i < source->length && !diag_full(diags);) {
    if (is_blank(source->text[i])) {
      i++;
      continue;
    }
    struct span word = {source, i, i};
    while (word.end < source->length && !is_blank(source->text[word.end])) {
      word.end++;
    }
    i = word.end;
    uint64_t id;
    if (program->sequence.count == SEQUENCE_MAX) {
      fail(diags, word, "a sequence has at most 50000 operators");
      return STATUS_INPUT;
    }
    if (!read_number(word, UINT32_MAX, &id) || id >= program->operators.count) {
      fail(diags, word, "expected the id of an operator of the list");
      result = STATUS_INPUT;
      continue;
    }
    counts->data[id].found++;
    if (!vec_push(&program->sequence, (uint32_t)id)) {
      return STATUS_MEMORY;
    }
  }
  if (program->sequence.count == 0 && result == STATUS_OK) {
    diag_at(diags, DIAG_E0807_OPERATOR_LIST, source, 0, "a sequence names no operator");
    return STATUS_INPUT;
  }
  return result;
}

static enum status check_uses(struct diag_list *diags, const uses *counts) {
  enum status status = STATUS_OK;
  for (size_t id = 0; id < counts->count; id++) {
    const struct use *use = &counts->data[id];
    if (use->wanted != use->found) {
      diag_at(diags, DIAG_E0807_OPERATOR_LIST, use->at.source, use->at.start,
              "operator %zu is used %" PRIu64 " times, but the sequence has it %" PRIu64 " times", id, use->wanted,
              use->found);
      status = STATUS_INPUT;
    }
  }
  return status;
}

/* ---- Layers ---- */

/* How often the longest stretch of the sequence that repeats itself at distance `period` holds that period. */
static uint32_t repetitions_at(const uint32_t *ids, size_t count, size_t period) {
  size_t run = 0;
  size_t longest = 0;
  for (size_t i = 0; i + period < count; i++) {
    run = ids[i] == ids[i + period] ? run + 1 : 0;
    longest = run > longest ? run : longest;
  }
  return (uint32_t)((longest + period) / period);
}

/* The period whose repetitions cover most of the sequence, the shortest of several; 1 layer when less than half repeats. */
static uint32_t find_layers(const uint32_t *ids, size_t count) {
  size_t covered = 0;
  uint32_t layers = 1;
  for (size_t period = 1; period <= PERIOD_MAX && period * 2 <= count; period++) {
    const uint32_t repetitions = repetitions_at(ids, count, period);
    if (repetitions > 1 && repetitions * period > covered) {
      covered = repetitions * period;
      layers = repetitions;
    }
  }
  return covered * 2 >= count ? layers : 1;
}

enum status plan_compat_read(const struct source *operators, const struct source *sequence, struct diag_list *diags,
                             struct plan_compat_program *program) {
  *program = (struct plan_compat_program){.layers = 1, .list = *operators};
  uses counts = {0};
  enum status status = read_operators(operators, diags, program, &counts);
  if (status == STATUS_OK) {
    status = read_sequence(sequence, diags, program, &counts);
  }
  if (status == STATUS_OK) {
    status = check_uses(diags, &counts);
  }
  if (status == STATUS_OK) {
    program->layers = find_layers(program->sequence.data, program->sequence.count);
  }
  vec_release(&counts);
  return status;
}

void plan_compat_program_release(struct plan_compat_program *program) {
  vec_release(&program->operators);
  vec_release(&program->sequence);
}
