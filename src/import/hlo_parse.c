/* Parser of HLO text: the head, the tables of source places (skipped), computations and their instructions. What stands in
 * attributes and literals stays text until the builder needs it. Path: hlo_lexer.c → here → hlo_build.c. */
#include <stdarg.h>
#include <stdio.h>

#include "import/hlo.h"

bool hlo_error(struct hlo_module *hlo, enum diag_id id, const char *at, const char *format, ...) {
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  /* texts that stand for absent ones or for names are not of the source */
  uintptr_t start = (uintptr_t)hlo->source->text, place = (uintptr_t)at;
  bool is_inside = place >= start && place - start <= hlo->source->length;
  diag_at(hlo->diags, id, hlo->source, is_inside ? (size_t)(place - start) : hlo->offset, "%s", message);
  hlo->is_failed = true;
  return false;
}

bool hlo_memory(struct hlo_module *hlo) {
  hlo->is_out_of_memory = hlo->is_failed = true;
  return false;
}

struct hlo_span hlo_attr_in(const struct hlo_module *hlo, uint32_t first, uint32_t count, const char *name) {
  for (uint32_t i = first; i < first + count; i++) {
    if (hlo_span_is(hlo->attrs.data[i].name, name)) {
      return hlo->attrs.data[i].value;
    }
  }
  return (struct hlo_span){NULL, 0};
}

struct hlo_span hlo_attr_find(const struct hlo_module *hlo, const struct hlo_instruction *instruction,
                              const char *name) {
  return hlo_attr_in(hlo, instruction->attr_first, instruction->attr_count, name);
}

/* ---- instructions ---- */

struct reading {
  struct hlo_module *hlo;
  struct hlo_cursor c;
  struct hlo_computation computation;
  struct map *names; /* of the current computation: name → index */
};

/* `[shape] %name` */
static bool read_operand(struct reading *r, uint32_t *index) {
  struct hlo_module *hlo = r->hlo;
  struct hlo_cursor probe = r->c;
  hlo_skip(&probe);
  bool has_shape = hlo_peek(&probe) == '(';
  if (!has_shape && *probe.at != '%') {
    (void)hlo_name(&probe);
    has_shape = probe.at < probe.end && *probe.at == '[';
  }
  if (has_shape && hlo_parse_shape(hlo, &r->c) == NULL) {
    return false;
  }
  hlo_skip(&r->c);
  const char *at = r->c.at;
  struct hlo_span name = hlo_name(&r->c);
  if (name.length == 0) {
    return hlo_error(hlo, DIAG_E0102_EXPECTED, at, "expected an operand");
  }
  uint32_t id = intern_find(&hlo->strings, name.text, name.length);
  if (id == 0 || !map_get(r->names, id, index)) {
    return hlo_error(hlo, DIAG_E0106_UNDEFINED, at, "'%.*s' is not an instruction above in this computation",
                     (int)(name.length < 100 ? name.length : 100), name.text);
  }
  return true;
}

static bool read_operands(struct reading *r, struct hlo_instruction *instruction) {
  struct hlo_cursor whole = r->c;
  hlo_skip(&whole);
  struct hlo_span inside = hlo_balanced(&whole);
  if (inside.length == 0) {
    return hlo_error(r->hlo, DIAG_E0103_EOF, r->c.at, "the operands never end");
  }
  instruction->inside = (struct hlo_span){inside.text + 1, inside.length - 2};
  instruction->operand_first = (uint32_t)r->hlo->operands.count;
  if (hlo_span_is(instruction->opcode, "constant") || hlo_span_is(instruction->opcode, "parameter")) {
    r->c = whole;
    return true;
  }
  (void)hlo_try(&r->c, '(');
  while (hlo_peek(&r->c) != ')') {
    uint32_t index;
    if (instruction->operand_count > 0 && !hlo_try(&r->c, ',')) {
      return hlo_error(r->hlo, DIAG_E0102_EXPECTED, r->c.at, "expected ',' or ')' after an operand");
    }
    if (!read_operand(r, &index)) {
      return false;
    }
    if (!vec_push(&r->hlo->operands, index)) {
      return hlo_memory(r->hlo);
    }
    instruction->operand_count++;
  }
  r->c.at++;
  return true;
}

static bool add_parameter(struct reading *r, const struct hlo_instruction *instruction) {
  struct hlo_cursor c = hlo_cursor_of(instruction->inside);
  int64_t number;
  enum { PARAMETERS_MAX = 1 << 20 };
  if (!hlo_integer(&c, &number) || number < 0 || number >= PARAMETERS_MAX) {
    return hlo_error(r->hlo, DIAG_E0102_EXPECTED, instruction->inside.text, "expected the number of the parameter");
  }
  struct hlo_computation *computation = &r->computation;
  while (computation->parameter_count <= (uint32_t)number) {
    if (!vec_push(&r->hlo->parameters, HLO_NONE)) {
      return hlo_memory(r->hlo);
    }
    computation->parameter_count++;
  }
  uint32_t *place = &r->hlo->parameters.data[computation->parameter_first + (uint32_t)number];
  if (*place != HLO_NONE) {
    return hlo_error(r->hlo, DIAG_E0107_REDEFINED, instruction->inside.text, "parameter %u is defined twice",
                     (unsigned)number);
  }
  *place = computation->count;
  return true;
}

/* `shape opcode(operands), attributes` */
static bool read_call(struct reading *r, struct hlo_instruction *instruction) {
  struct hlo_module *hlo = r->hlo;
  struct hlo_cursor probe = r->c;
  hlo_skip(&probe);
  const char *at = probe.at;
  if (hlo_name(&probe).length > 0 && hlo_peek(&probe) == '(') {
    return hlo_error(hlo, DIAG_E0104_TYPE, at, "the shape of the result is left out; print the module with its shapes");
  }
  instruction->shape = hlo_parse_shape(hlo, &r->c);
  if (instruction->shape == NULL) {
    return false;
  }
  instruction->opcode = hlo_name(&r->c);
  if (instruction->opcode.length == 0 || hlo_peek(&r->c) != '(') {
    return hlo_error(hlo, DIAG_E0102_EXPECTED, r->c.at, "expected an opcode and '('");
  }
  return read_operands(r, instruction)
         && hlo_parse_attrs(hlo, &r->c, &instruction->attr_first, &instruction->attr_count)
         && (!hlo_span_is(instruction->opcode, "parameter") || add_parameter(r, instruction));
}

/* `[ROOT] %name = shape opcode(operands), attributes` */
static bool read_instruction(struct reading *r) {
  struct hlo_module *hlo = r->hlo;
  bool is_root = hlo_try_word(&r->c, "ROOT");
  hlo_skip(&r->c);
  struct hlo_instruction instruction = {.offset = (uint32_t)(r->c.at - hlo->source->text)};
  struct hlo_span name = hlo_name(&r->c);
  if (name.length == 0 || !hlo_try(&r->c, '=')) {
    return hlo_error(hlo, DIAG_E0102_EXPECTED, r->c.at, "expected an instruction, name = shape opcode(operands)");
  }
  instruction.name = intern_add(&hlo->strings, name.text, name.length);
  if (instruction.name == UINT32_MAX) {
    return hlo_memory(hlo);
  }
  bool ok = read_call(r, &instruction);
  uint32_t other;
  if (ok && map_get(r->names, instruction.name, &other)) {
    ok = hlo_error(hlo, DIAG_E0107_REDEFINED, name.text, "'%.*s' is defined twice",
                   (int)(name.length < 100 ? name.length : 100), name.text);
  }
  /* after an error the name still counts as defined, so that its uses are no errors of their own */
  if (!map_set(r->names, instruction.name, r->computation.count) || !vec_push(&hlo->instructions, instruction)) {
    return hlo_memory(hlo);
  }
  r->computation.root = is_root ? r->computation.count : r->computation.root;
  r->computation.count++;
  return ok;
}

/* ---- computations ---- */

static bool check_parameters(struct hlo_module *hlo, const struct hlo_computation *computation) {
  for (uint32_t i = 0; i < computation->parameter_count; i++) {
    if (hlo->parameters.data[computation->parameter_first + i] == HLO_NONE) {
      return hlo_error(hlo, DIAG_E0106_UNDEFINED, hlo->source->text + computation->offset,
                       "parameter %u of this computation is not defined", i);
    }
  }
  return true;
}

/* Up to and behind the '}' of the computation. */
static bool read_body(struct reading *r) {
  struct hlo_module *hlo = r->hlo;
  bool ok = true;
  for (;;) {
    char next = hlo_peek(&r->c);
    if (next == '}') {
      r->c.at++;
      return ok;
    }
    if (r->c.at >= r->c.end) {
      return hlo_error(hlo, DIAG_E0103_EOF, r->c.at, "the text ends inside a computation");
    }
    const char *start = r->c.at;
    if (!read_instruction(r)) {
      ok = false;
      if (hlo->is_out_of_memory || diag_full(hlo->diags)) {
        return false;
      }
      /* the rest of the line belongs to what was wrong; an error on the next line has reached it already */
      r->c.at = r->c.at > start ? r->c.at : start;
      if (memchr(start, '\n', (size_t)(r->c.at - start)) == NULL) {
        hlo_skip_line(&r->c);
      }
    }
  }
}

/* `{ instructions }` as the computation of that name. */
static bool read_block(struct reading *r, struct hlo_computation head, struct hlo_span name) {
  struct hlo_module *hlo = r->hlo;
  const char *at = hlo->source->text + head.offset;
  uint32_t other;
  head.first = (uint32_t)hlo->instructions.count;
  head.parameter_first = (uint32_t)hlo->parameters.count;
  head.root = HLO_NONE;
  r->computation = head;
  map_clear(r->names);
  bool ok = read_body(r);
  struct hlo_computation *computation = &r->computation;
  ok = ok && check_parameters(hlo, computation);
  if (ok && computation->count == 0) {
    ok = hlo_error(hlo, DIAG_E0102_EXPECTED, at, "a computation without instructions");
  }
  if (computation->root == HLO_NONE) {
    computation->root = computation->count > 0 ? computation->count - 1 : 0;
  }
  if (ok && map_get(&hlo->computation_index, head.name, &other)) {
    ok = hlo_error(hlo, DIAG_E0107_REDEFINED, at, "computation '%.*s' is defined twice",
                   (int)(name.length < 100 ? name.length : 100), name.text);
  }
  computation->is_broken = !ok;
  if (!map_set(&hlo->computation_index, head.name, (uint32_t)hlo->computations.count)
      || !vec_push(&hlo->computations, *computation)) {
    return hlo_memory(hlo);
  }
  return ok;
}

/* Computations that stood in the one just read, and those in them. */
static bool read_inlines(struct reading *r) {
  struct hlo_module *hlo = r->hlo;
  struct hlo_cursor after = r->c;
  bool ok = true;
  while (hlo->inlines.count > 0 && !hlo->is_out_of_memory && !diag_full(hlo->diags)) {
    struct hlo_inline next = hlo->inlines.data[--hlo->inlines.count];
    struct hlo_computation head = {
        .name = next.name, .offset = (uint32_t)(next.text.text - hlo->source->text), .is_inline = true};
    hlo->inline_depth = next.depth;
    r->c = (struct hlo_cursor){next.text.text + 1, next.text.text + next.text.length};
    ok = read_block(r, head, next.text) && ok;
  }
  hlo->inline_depth = 0;
  hlo->inlines.count = 0;
  r->c = after;
  return ok;
}

/* `[ENTRY] %name [(parameters) -> shape] { ... }[, attributes]` */
static bool read_computation(struct reading *r) {
  struct hlo_module *hlo = r->hlo;
  bool is_entry = hlo_try_word(&r->c, "ENTRY");
  hlo_skip(&r->c);
  const char *at = r->c.at;
  struct hlo_span name = hlo_name(&r->c);
  if (name.length == 0) {
    return hlo_error(hlo, DIAG_E0102_EXPECTED, at, "expected a computation");
  }
  if (hlo_peek(&r->c) == '(' && hlo_balanced(&r->c).length == 0) {
    return hlo_error(hlo, DIAG_E0103_EOF, r->c.at, "the parameters never end");
  }
  if (hlo_try_word(&r->c, "->") && hlo_parse_shape(hlo, &r->c) == NULL) {
    return false;
  }
  if (!hlo_try(&r->c, '{')) {
    return hlo_error(hlo, DIAG_E0102_EXPECTED, r->c.at, "expected '{' and the instructions of the computation");
  }
  struct hlo_computation head = {.name = intern_add(&hlo->strings, name.text, name.length),
                                 .offset = (uint32_t)(at - hlo->source->text),
                                 .is_entry = is_entry};
  if (head.name == UINT32_MAX) {
    return hlo_memory(hlo);
  }
  bool ok = read_block(r, head, name);
  uint32_t first, count;
  ok = read_inlines(r) && ok;
  return ok && hlo_parse_attrs(hlo, &r->c, &first, &count);
}

/* A table of source places: its rows begin with numbers. */
static bool skip_table(struct hlo_cursor *c) {
  static const char *const tables[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    if (hlo_try_word(c, tables[i])) {
      for (char next = hlo_peek(c); next >= '0' && next <= '9'; next = hlo_peek(c)) {
        hlo_skip_line(c);
      }
      return true;
    }
  }
  return false;
}

/* After a head that is not one: the next line that closes a computation, as far as lines tell. */
static void skip_computation(struct hlo_cursor *c) {
  do {
    hlo_skip_line(c);
  } while (c->at < c->end && *c->at != '}');
  hlo_skip_line(c);
}

static bool read_head(struct hlo_module *hlo, struct hlo_cursor *c) {
  if (!hlo_try_word(c, "HloModule")) {
    return true;
  }
  hlo->name = hlo_name(c);
  return hlo_parse_attrs(hlo, c, &hlo->attr_first, &hlo->attr_count);
}

/* XLA marks the entry of every module whose head describes it: without the mark the text was cut. Other texts may leave it
 * out, the last computation is meant then. */
static void check_entry(struct hlo_module *hlo, const char *end) {
  bool is_described = hlo_attr_in(hlo, hlo->attr_first, hlo->attr_count, "entry_computation_layout").text != NULL;
  for (size_t i = 0; i < hlo->computations.count; i++) {
    is_described = is_described && !hlo->computations.data[i].is_entry;
  }
  if (is_described && !hlo->is_failed) {
    (void)hlo_error(hlo, DIAG_E0210_NO_ENTRY, end,
                    "no computation is marked ENTRY, though the head of the module describes one");
  }
}

void hlo_parse(struct hlo_module *hlo, size_t budget_bytes) {
  struct map names = {0};
  struct reading r = {.hlo = hlo, .c = {hlo->source->text, hlo->source->text + hlo->source->length}, .names = &names};
  arena_init(&hlo->arena, budget_bytes);
  if (!intern_init(&hlo->strings, &hlo->arena)) {
    (void)hlo_memory(hlo);
    return;
  }
  if (!read_head(hlo, &r.c)) {
    hlo_skip_line(&r.c);
  }
  while (!hlo->is_out_of_memory && !diag_full(hlo->diags)) {
    hlo_skip(&r.c);
    if (r.c.at >= r.c.end) {
      break;
    }
    if (skip_table(&r.c)) {
      continue;
    }
    size_t before = hlo->computations.count;
    if (!read_computation(&r) && hlo->computations.count == before) {
      skip_computation(&r.c);
    }
  }
  if (hlo->computations.count == 0 && !hlo->is_failed) {
    (void)hlo_error(hlo, DIAG_E0102_EXPECTED, r.c.at, "the module has no computation");
  }
  check_entry(hlo, r.c.at);
  map_release(&names);
}

void hlo_release(struct hlo_module *hlo) {
  vec_release(&hlo->computations);
  vec_release(&hlo->instructions);
  vec_release(&hlo->attrs);
  vec_release(&hlo->operands);
  vec_release(&hlo->parameters);
  vec_release(&hlo->inlines);
  map_release(&hlo->computation_index);
  intern_release(&hlo->strings);
  arena_release(&hlo->arena);
}
