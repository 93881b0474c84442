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
  size_t offset = (size_t)(at - hlo->source->text);
  diag_at(hlo->diags, id, hlo->source, offset > hlo->source->length ? hlo->source->length : offset, "%s", message);
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

/* ", name=value" as often as it stands there. */
static bool read_attrs(struct hlo_module *hlo, struct hlo_cursor *c, uint32_t *first, uint32_t *count) {
  *first = (uint32_t)hlo->attrs.count;
  while (hlo_try(c, ',')) {
    hlo_skip(c);
    struct hlo_attr attr = {.name = hlo_name(c)};
    if (attr.name.length == 0 || !hlo_try(c, '=')) {
      return hlo_error(hlo, DIAG_E0102_EXPECTED, c->at, "expected an attribute, name=value");
    }
    attr.value = hlo_value(c);
    if (attr.value.length == 0) {
      return hlo_error(hlo, DIAG_E0105_ATTRIBUTE, attr.value.text,
                       "attribute '%.*s' has no value or one that never ends",
                       (int)(attr.name.length < 64 ? attr.name.length : 64), attr.name.text);
    }
    if (!vec_push(&hlo->attrs, attr)) {
      return hlo_memory(hlo);
    }
  }
  *count = (uint32_t)hlo->attrs.count - *first;
  return true;
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
  instruction->shape = hlo_parse_shape(hlo, &r->c);
  if (instruction->shape == NULL) {
    return false;
  }
  instruction->opcode = hlo_name(&r->c);
  if (instruction->opcode.length == 0 || hlo_peek(&r->c) != '(') {
    return hlo_error(hlo, DIAG_E0102_EXPECTED, r->c.at, "expected an opcode and '('");
  }
  return read_operands(r, instruction) && read_attrs(hlo, &r->c, &instruction->attr_first, &instruction->attr_count)
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
  uint32_t id = intern_add(&hlo->strings, name.text, name.length), other;
  if (id == UINT32_MAX) {
    return hlo_memory(hlo);
  }
  r->computation = (struct hlo_computation){.name = id,
                                            .first = (uint32_t)hlo->instructions.count,
                                            .root = HLO_NONE,
                                            .parameter_first = (uint32_t)hlo->parameters.count,
                                            .offset = (uint32_t)(at - hlo->source->text),
                                            .is_entry = is_entry};
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
  if (ok && map_get(&hlo->computation_index, id, &other)) {
    ok = hlo_error(hlo, DIAG_E0107_REDEFINED, at, "computation '%.*s' is defined twice",
                   (int)(name.length < 100 ? name.length : 100), name.text);
  }
  if (!map_set(&hlo->computation_index, id, (uint32_t)hlo->computations.count)
      || !vec_push(&hlo->computations, *computation)) {
    return hlo_memory(hlo);
  }
  uint32_t first, count;
  return ok && read_attrs(hlo, &r->c, &first, &count);
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
  return read_attrs(hlo, c, &hlo->attr_first, &hlo->attr_count);
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
  map_release(&names);
}

void hlo_release(struct hlo_module *hlo) {
  vec_release(&hlo->computations);
  vec_release(&hlo->instructions);
  vec_release(&hlo->attrs);
  vec_release(&hlo->operands);
  vec_release(&hlo->parameters);
  map_release(&hlo->computation_index);
  intern_release(&hlo->strings);
  arena_release(&hlo->arena);
}
