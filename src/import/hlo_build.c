/* Builder: computations of HLO → functions and regions. Values of tuple types are kept as the list of their leaves, so
 * tuples and their elements cost nothing. Path: hlo_parse.c → here (and hlo_build_*.c) → ir_op_create. */
#include <stdarg.h>
#include <stdio.h>

#include "import/hlo_build.h"

bool hlo_fail(struct hlo_builder *b, enum diag_id id, const char *at, const char *format, ...) {
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return hlo_error(b->hlo, id, at, "%s", message);
}

bool hlo_ok(struct hlo_builder *b, bool ok) {
  return ok || hlo_memory(b->hlo);
}

/* ---- rows ---- */

#define A(kind, from, to, mnemonic, fallback) {HLO_##kind, from, to, mnemonic, fallback},
#define HLO_OP(name, opcode, builder, min, max, attrs)                                                                 \
  {name, IR_OP_##opcode, build_##builder, min, max, (const struct hlo_attr_row[]){attrs{0, NULL, NULL, NULL, NULL}}},
static const struct hlo_op_row rows[] = {
#include "import/hlo_ops.def"
};
#undef HLO_OP
#undef A
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* The rows are sorted by name. */
const struct hlo_op_row *hlo_op_find(struct hlo_span name) {
  size_t low = 0, high = ROW_COUNT;
  while (low < high) {
    size_t middle = (low + high) / 2, length = strlen(rows[middle].name);
    int order = memcmp(name.text, rows[middle].name, name.length < length ? name.length : length);
    order = order != 0 ? order : (name.length > length) - (name.length < length);
    if (order == 0) {
      return &rows[middle];
    }
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return NULL;
}

/* ---- values ---- */

const struct hlo_instruction *hlo_operand(const struct hlo_builder *b, const struct hlo_frame *f,
                                          const struct hlo_instruction *in, uint32_t i) {
  const struct hlo_module *hlo = b->hlo;
  uint32_t index = hlo->operands.data[in->operand_first + i];
  return &hlo->instructions.data[hlo->computations.data[f->computation].first + index];
}

struct hlo_slot hlo_slot_of(const struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                            uint32_t i) {
  return b->slots.data[f->slot_base + b->hlo->operands.data[in->operand_first + i]];
}

bool hlo_set_slot(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                  struct hlo_slot slot) {
  const struct hlo_module *hlo = b->hlo;
  size_t index = (size_t)(in - hlo->instructions.data) - hlo->computations.data[f->computation].first;
  b->slots.data[f->slot_base + index] = slot;
  return true;
}

bool hlo_mark_started(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in) {
  const struct hlo_module *hlo = b->hlo;
  size_t index = (size_t)(in - hlo->instructions.data) - hlo->computations.data[f->computation].first;
  struct hlo_slot *slot = &b->slots.data[f->slot_base + index];
  slot->state = slot->state == HLO_SLOT_VALUES ? HLO_SLOT_STARTED : slot->state;
  return true;
}

/* tensor<?x3xf32, #stablehlo.bounds<5, ?>> */
static struct ir_type bounded_type(struct hlo_builder *b, const struct hlo_shape *leaf, struct ir_type element) {
  int64_t dims[HLO_WINDOW_MAX];
  struct strbuf text = {0};
  strbuf_puts(&text, "#stablehlo.bounds<");
  for (uint32_t i = 0; i < leaf->rank; i++) {
    bool is_bounded = (leaf->bounded >> i & 1) != 0;
    dims[i] = is_bounded ? IR_DYNAMIC : leaf->dims[i];
    strbuf_puts(&text, i > 0 ? ", " : "");
    if (is_bounded) {
      strbuf_put_i64(&text, leaf->dims[i]);
    } else {
      strbuf_putc(&text, '?');
    }
  }
  strbuf_putc(&text, '>');
  struct ir_attr bounds = {0};
  if (!text.failed) {
    bounds = ir_attr_text(b->m, IR_ATTR_OPAQUE, strbuf_text(&text), text.length, (struct ir_type){0});
  }
  strbuf_release(&text);
  return bounds.id != 0 ? ir_type_tensor(b->m, element, dims, leaf->rank, bounds) : (struct ir_type){0};
}

struct ir_type hlo_type_of(struct hlo_builder *b, const struct hlo_shape *leaf) {
  if (leaf->kind == HLO_SHAPE_TOKEN) {
    return b->m->token_type;
  }
  if (leaf->kind == HLO_SHAPE_OPAQUE) {
    static const char opaque[] = "!mhlo.opaque";
    return ir_type_opaque(b->m, opaque, sizeof opaque - 1);
  }
  struct ir_type element = ir_type_scalar(b->m, (enum dtype)leaf->dtype);
  return leaf->bounded != 0 ? bounded_type(b, leaf, element)
                            : ir_type_tensor(b->m, element, leaf->dims, leaf->rank, (struct ir_attr){0});
}

bool hlo_push_types(struct hlo_builder *b, const struct hlo_shape *shape) {
  if (shape->kind != HLO_SHAPE_TUPLE) {
    struct ir_type type = hlo_type_of(b, shape);
    return hlo_ok(b, type.id != 0 && vec_push(&b->types, type));
  }
  for (uint32_t i = 0; i < shape->count; i++) {
    if (!hlo_push_types(b, shape->parts[i])) {
      return false;
    }
  }
  return true;
}

bool hlo_push_attr(struct hlo_builder *b, const char *name, struct ir_attr attr) {
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  return hlo_ok(b, attr.id != 0 && id != UINT32_MAX && vec_push(&b->pairs, id) && vec_push(&b->pairs, attr.id));
}

static bool push_slot(struct hlo_builder *b, struct hlo_slot slot) {
  for (uint32_t i = 0; i < slot.count; i++) {
    if (!vec_push(&b->operands, b->leaves.data[slot.first + i])) {
      return hlo_ok(b, false);
    }
  }
  return true;
}

bool hlo_push_operands(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in) {
  for (uint32_t i = 0; i < in->operand_count; i++) {
    if ((b->only == HLO_NONE || b->only == i) && !push_slot(b, hlo_slot_of(b, f, in, i))) {
      return false;
    }
  }
  return true;
}

bool hlo_push_row_attrs(struct hlo_builder *b, const struct hlo_instruction *in) {
  for (const struct hlo_attr_row *row = b->row->attrs; row->from != NULL; row++) {
    struct hlo_span text = hlo_attr_find(b->hlo, in, row->from);
    if (row->kind == HLO_OMIT) {
      text = hlo_span_is(text, row->fallback) ? (struct hlo_span){NULL, 0} : text;
    } else if (text.text == NULL && row->fallback != NULL) {
      text = (struct hlo_span){row->fallback, strlen(row->fallback)};
    }
    struct ir_attr attr = {0};
    if (text.text != NULL && (!hlo_attr_value(b, row, text, &attr) || !hlo_push_attr(b, row->to, attr))) {
      return false;
    }
  }
  return true;
}

/* ---- operations ---- */

bool hlo_push_annotations(struct hlo_builder *b, const struct hlo_instruction *in) {
  struct hlo_span sharding = hlo_attr_find(b->hlo, in, "sharding");
  struct hlo_span frontend = hlo_attr_find(b->hlo, in, "frontend_attributes");
  return (sharding.text == NULL || hlo_push_attr(b, "mhlo.sharding", hlo_string(b, sharding)))
         && (frontend.text == NULL || hlo_push_attr(b, "mhlo.frontend_attributes", hlo_dictionary(b, frontend)));
}

static struct ir_op create(struct hlo_builder *b, struct ir_block block, struct ir_op_spec *spec, const char *name) {
  if (name != NULL) {
    spec->name = intern_add_cstr(&b->m->strings, name);
  }
  struct ir_op op = {0};
  if (spec->name != UINT32_MAX) {
    op = ir_op_create(b->m, block, spec);
  }
  (void)hlo_ok(b, op.id != 0);
  return op;
}

/* The results of `op` as the instruction's slot. */
static bool take_results(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                         struct ir_op op, uint8_t state) {
  struct hlo_slot slot = {(uint32_t)b->leaves.count, ir_op_get(b->m, op)->result_count, state};
  for (uint32_t i = 0; i < slot.count; i++) {
    if (!vec_push(&b->leaves, ir_op_result(b->m, op, i))) {
      return hlo_ok(b, false);
    }
  }
  return hlo_set_slot(b, f, in, slot);
}

/* async_start around the operation of `spec`: its operands are the arguments of the region. */
static struct ir_op create_async(struct hlo_builder *b, struct ir_block block, struct ir_op_spec *spec) {
  struct ir_module *m = b->m;
  struct ir_region region = ir_region_create(m);
  struct ir_block body = ir_block_create(m, region);
  size_t first = b->types.count;
  for (uint32_t i = 0; i < spec->operand_count; i++) {
    if (!vec_push(&b->types, ir_value_type(m, spec->operands[i]))) {
      (void)hlo_ok(b, false);
      return (struct ir_op){0};
    }
  }
  struct ir_type future = ir_type_list(m, IR_TYPE_FUTURE, spec->result_types, spec->result_count, 0);
  if (body.id == 0 || future.id == 0 || !ir_block_set_arguments(m, body, b->types.data + first, spec->operand_count)) {
    (void)hlo_ok(b, false);
    return (struct ir_op){0};
  }
  struct ir_op_spec outer = {.opcode = IR_OP_ASYNC_START,
                             .operands = spec->operands,
                             .operand_count = spec->operand_count,
                             .result_types = &future,
                             .result_count = 1,
                             .regions = &region,
                             .region_count = 1,
                             .offset = spec->offset};
  size_t inner_first = b->operands.count;
  bool ok = vec_reserve(&b->operands, b->operands.count + spec->operand_count);
  outer.operands = b->operands.data; /* as reserving moves them */
  for (uint32_t i = 0; i < spec->operand_count && ok; i++) {
    b->operands.data[b->operands.count++] = ir_block_argument(m, body, i);
  }
  spec->operands = b->operands.data + inner_first;
  struct ir_op inner = ok ? create(b, body, spec, NULL) : (struct ir_op){0};
  b->operands.count = inner_first;
  if (inner.id == 0) {
    (void)hlo_ok(b, false);
    return inner;
  }
  VEC(struct ir_value) results = {0};
  for (uint32_t i = 0; i < spec->result_count && ok; i++) {
    ok = vec_push(&results, ir_op_result(m, inner, i));
  }
  struct ir_op_spec end = {
      .opcode = IR_OP_RETURN, .operands = results.data, .operand_count = spec->result_count, .offset = spec->offset};
  ok = ok && create(b, body, &end, NULL).id != 0;
  vec_release(&results);
  return hlo_ok(b, ok) ? create(b, block, &outer, NULL) : (struct ir_op){0};
}

bool hlo_emit(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in, enum ir_opcode opcode,
              const struct ir_region *regions, uint32_t region_count) {
  bool is_async = b->is_async;
  b->is_async = false;
  b->types.count = 0;
  bool ok = hlo_push_types(b, b->result_shape != NULL ? b->result_shape : in->shape) && hlo_push_annotations(b, in);
  if (ok) {
    struct ir_op_spec spec = {.opcode = opcode,
                              .operands = b->operands.data,
                              .operand_count = (uint32_t)b->operands.count,
                              .result_count = (uint32_t)b->types.count,
                              .attrs = b->pairs.data,
                              .attr_count = (uint32_t)b->pairs.count / 2,
                              .regions = regions,
                              .region_count = region_count,
                              .offset = in->offset};
    ok = hlo_ok(b, vec_reserve(&b->types, b->types.count + b->operands.count + 1));
    spec.result_types = b->types.data;
    struct ir_op op = {0};
    if (ok) {
      op = is_async ? create_async(b, f->block, &spec) : create(b, f->block, &spec, NULL);
    }
    ok = op.id != 0 && take_results(b, f, in, op, is_async ? HLO_SLOT_FUTURE : HLO_SLOT_VALUES);
  }
  b->operands.count = b->pairs.count = 0;
  return ok;
}

bool hlo_emit_opaque(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in, const char *target,
                     size_t length) {
  b->is_async = false;
  b->operands.count = b->pairs.count = 0;
  return hlo_push_operands(b, f, in)
         && hlo_push_attr(b, "call_target_name", ir_attr_string(b->m, target, length, (struct ir_type){0}))
         && hlo_emit(b, f, in, IR_OP_CUSTOM_CALL, NULL, 0);
}

/* ---- computations ---- */

uint32_t hlo_computation_named(struct hlo_builder *b, struct hlo_span name) {
  struct hlo_cursor c = hlo_cursor_of(name);
  struct hlo_span text = hlo_name(&c);
  uint32_t id = intern_find(&b->hlo->strings, text.text, text.length), index;
  if (id != 0 && map_get(&b->hlo->computation_index, id, &index)) {
    return index;
  }
  (void)hlo_fail(b, DIAG_E0106_UNDEFINED, name.text, "there is no computation '%.*s'",
                 (int)(text.length < 100 ? text.length : 100), text.text);
  return HLO_NONE;
}

uint32_t hlo_computation_of(struct hlo_builder *b, const struct hlo_instruction *in, const char *attr) {
  struct hlo_span name = hlo_attr_find(b->hlo, in, attr);
  if (name.text == NULL) {
    (void)hlo_fail(b, DIAG_E0105_ATTRIBUTE, b->hlo->source->text + in->offset, "'%.*s' needs the attribute '%s'",
                   (int)(in->opcode.length < 60 ? in->opcode.length : 60), in->opcode.text, attr);
    return HLO_NONE;
  }
  return hlo_computation_named(b, name);
}

bool hlo_emit_unknown(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  const char *names[ROW_COUNT];
  char text[64];
  int length = in->opcode.length < sizeof text ? (int)in->opcode.length : (int)sizeof text - 1;
  memcpy(text, in->opcode.text, (size_t)length);
  text[length] = '\0';
  for (size_t i = 0; i < ROW_COUNT; i++) {
    names[i] = rows[i].name;
  }
  /* further warnings are only counted */
  bool is_shown = b->hlo->diags->warning_count < b->hlo->diags->error_limit;
  const char *near = is_shown ? nearest_name(text, names, ROW_COUNT) : NULL;
  diag_at(b->hlo->diags, DIAG_W0113_UNKNOWN_OPCODE, b->hlo->source, (size_t)(in->opcode.text - b->hlo->source->text),
          "opcode '%s' is not known and is kept as an opaque call%s%s%s", text, near ? "; did you mean '" : "",
          near ? near : "", near ? "'?" : "");
  return hlo_emit_opaque(b, f, in, in->opcode.text, in->opcode.length);
}

static bool has_suffix(struct hlo_span text, const char *suffix) {
  size_t length = strlen(suffix);
  return text.length > length && memcmp(text.text + text.length - length, suffix, length) == 0;
}

static bool check_operands(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in) {
  const struct hlo_op_row *row = b->row;
  if ((int64_t)in->operand_count < row->operands_min
      || (row->operands_max >= 0 && (int64_t)in->operand_count > row->operands_max)) {
    return hlo_fail(b, DIAG_E0201_OPERAND_COUNT, b->hlo->source->text + in->offset, "'%s' has %u operands, expected %d",
                    row->name, in->operand_count,
                    (int64_t)in->operand_count < row->operands_min ? row->operands_min : row->operands_max);
  }
  for (uint32_t i = 0; i < in->operand_count; i++) {
    if (hlo_slot_of(b, f, in, i).state != HLO_SLOT_VALUES) {
      return hlo_fail(b, DIAG_E0204_OPERAND_TYPE, b->hlo->source->text + in->offset,
                      "operand %u of '%s' was started and is not done", i, row->name);
    }
  }
  return true;
}

static bool build_instruction(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  b->operands.count = b->pairs.count = 0;
  b->hlo->offset = in->offset;
  b->row = hlo_op_find(in->opcode);
  b->result_shape = NULL;
  b->only = HLO_NONE;
  b->is_async = false;
  if (b->row != NULL) {
    return check_operands(b, f, in) && b->row->build(b, f, in);
  }
  return has_suffix(in->opcode, "-start")    ? build_start(b, f, in)
         : has_suffix(in->opcode, "-done")   ? build_done(b, f, in)
         : has_suffix(in->opcode, "-update") ? build_update(b, f, in)
                                             : hlo_emit_unknown(b, f, in);
}

/* After an error: results of the right types, so that the users of the instruction can be checked too. */
static bool replace_failed(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  if (b->hlo->is_out_of_memory || b->m->out_of_memory || diag_full(b->hlo->diags)) {
    return false;
  }
  b->result_shape = NULL;
  b->only = HLO_NONE;
  b->is_async = false;
  b->operands.count = b->pairs.count = 0;
  return hlo_emit(b, f, in, IR_OP_CUSTOM_CALL, NULL, 0);
}

/* Parameters take the leaves from `first_leaf` on, in the order of their numbers. */
static bool place_parameters(struct hlo_builder *b, const struct hlo_frame *f, uint32_t first_leaf,
                             uint32_t leaf_count) {
  const struct hlo_module *hlo = b->hlo;
  const struct hlo_computation *computation = &hlo->computations.data[f->computation];
  uint64_t leaf = 0;
  for (uint32_t i = 0; i < computation->parameter_count; i++) {
    uint32_t index = hlo->parameters.data[computation->parameter_first + i];
    uint32_t count = hlo->instructions.data[computation->first + index].shape->leaf_count;
    b->slots.data[f->slot_base + index] = (struct hlo_slot){first_leaf + (uint32_t)leaf, count, HLO_SLOT_VALUES};
    leaf += count;
  }
  return leaf == leaf_count
         || hlo_fail(b, DIAG_E0208_CALL_TYPE, hlo->source->text + computation->offset,
                     "this computation has %llu values as parameters and is used with %u", (unsigned long long)leaf,
                     leaf_count);
}

/* Computations are built once per use, so a short text can ask for a long program. */
static bool within_budget(struct hlo_builder *b) {
  const struct ir_module *m = b->m;
  size_t bytes = m->arena.allocated_bytes + m->ops.count * sizeof *m->ops.data
                 + m->values.count * sizeof *m->values.data + m->blocks.count * sizeof *m->blocks.data
                 + m->regions.count * sizeof *m->regions.data + m->lists.count * sizeof *m->lists.data
                 + b->leaves.count * sizeof *b->leaves.data;
  return hlo_ok(b, !m->out_of_memory && bytes <= b->budget_bytes);
}

/* Instructions of a computation into a block, with a terminator that returns the root. The parameters' leaves are
 * b->leaves[first_leaf ...]. */
static bool build_block(struct hlo_builder *b, struct hlo_frame *f, uint32_t first_leaf, uint32_t leaf_count,
                        const char *terminator, enum ir_opcode opcode) {
  const struct hlo_computation computation = b->hlo->computations.data[f->computation];
  f->slot_base = (uint32_t)b->slots.count;
  if (!vec_reserve(&b->slots, b->slots.count + computation.count)) {
    return hlo_ok(b, false);
  }
  memset(b->slots.data + f->slot_base, 0, computation.count * sizeof *b->slots.data);
  b->slots.count += computation.count;
  bool ok = place_parameters(b, f, first_leaf, leaf_count);
  for (uint32_t i = 0; i < computation.count && ok; i++) {
    const struct hlo_instruction *in = &b->hlo->instructions.data[computation.first + i];
    ok = build_instruction(b, f, in) || replace_failed(b, f, in);
    ok = ok && within_budget(b);
  }
  if (ok) {
    b->operands.count = 0;
    struct hlo_slot root = b->slots.data[f->slot_base + computation.root];
    ok = push_slot(b, root);
    struct ir_op_spec end = {.opcode = opcode,
                             .operands = b->operands.data,
                             .operand_count = (uint32_t)b->operands.count,
                             .offset = b->hlo->instructions.data[computation.first + computation.root].offset};
    ok = ok && create(b, f->block, &end, terminator).id != 0;
  }
  b->slots.count = f->slot_base;
  return ok;
}

/* Block arguments for the parameters, their values onto b->leaves. */
static bool add_arguments(struct hlo_builder *b, uint32_t index, struct ir_block block, uint32_t *count) {
  const struct hlo_module *hlo = b->hlo;
  const struct hlo_computation *computation = &hlo->computations.data[index];
  b->types.count = 0;
  for (uint32_t i = 0; i < computation->parameter_count; i++) {
    uint32_t at = computation->first + hlo->parameters.data[computation->parameter_first + i];
    if (!hlo_push_types(b, hlo->instructions.data[at].shape)) {
      return false;
    }
  }
  *count = (uint32_t)b->types.count;
  if (!ir_block_set_arguments(b->m, block, b->types.data, *count)) {
    return hlo_ok(b, false);
  }
  for (uint32_t i = 0; i < *count; i++) {
    if (!vec_push(&b->leaves, ir_block_argument(b->m, block, i))) {
      return hlo_ok(b, false);
    }
  }
  return true;
}

/* Marks the computation as being built; false after a message when it is already, or too many are. */
static bool open_computation(struct hlo_builder *b, uint32_t computation, unsigned depth) {
  if (b->hlo->computations.data[computation].is_broken) {
    return false; /* said already */
  }
  const char *at = b->hlo->source->text + b->hlo->computations.data[computation].offset;
  if ((b->marks[computation] & HLO_MARK_OPEN) != 0) {
    return hlo_fail(b, DIAG_E0209_RECURSION, at, "this computation is used within itself");
  }
  if (depth > b->hlo->max_depth) {
    return hlo_fail(b, DIAG_E0005_LIMIT, at, "computations are nested deeper than %u", b->hlo->max_depth);
  }
  b->marks[computation] |= HLO_MARK_OPEN | HLO_MARK_BUILT;
  return true;
}

bool hlo_region(struct hlo_builder *b, struct hlo_frame *f, uint32_t computation, const struct hlo_slot *captured,
                const char *terminator, struct ir_region *region) {
  if (computation == HLO_NONE || !open_computation(b, computation, f->depth + 1)) {
    return false;
  }
  const struct hlo_op_row *row = b->row;
  const struct hlo_shape *result_shape = b->result_shape;
  bool is_async = b->is_async;
  uint32_t only = b->only;
  size_t leaves = b->leaves.count;
  uint32_t first = captured != NULL ? captured->first : (uint32_t)leaves,
           count = captured != NULL ? captured->count : 0;
  *region = ir_region_create(b->m);
  struct hlo_frame inner = {.computation = computation, .block = ir_block_create(b->m, *region), .depth = f->depth + 1};
  bool ok = hlo_ok(b, inner.block.id != 0) && (captured != NULL || add_arguments(b, computation, inner.block, &count))
            && build_block(b, &inner, first, count, terminator, IR_OP_RETURN);
  b->leaves.count = leaves;
  b->marks[computation] &= (uint8_t)~HLO_MARK_OPEN;
  b->row = row;
  b->result_shape = result_shape;
  b->is_async = is_async;
  b->only = only;
  b->operands.count = b->pairs.count = 0;
  return ok;
}

/* ---- functions ---- */

/* Names of computations are unique; only "main" is taken by the entry. */
static struct ir_attr function_name(struct hlo_builder *b, uint32_t computation, bool is_symbol) {
  const struct hlo_module *hlo = b->hlo;
  strbuf_clear(&b->text);
  strbuf_puts(&b->text, intern_text(&hlo->strings, hlo->computations.data[computation].name));
  for (uint32_t id = 0; strcmp(strbuf_text(&b->text), "main") == 0 || id != 0;) {
    strbuf_putc(&b->text, '_');
    id = intern_find(&hlo->strings, strbuf_text(&b->text), b->text.length);
    uint32_t other;
    id = id != 0 && map_get(&hlo->computation_index, id, &other) ? id : 0;
  }
  if (b->text.failed) {
    (void)hlo_ok(b, false);
    return (struct ir_attr){0};
  }
  return ir_attr_text(b->m, is_symbol ? IR_ATTR_SYMBOL : IR_ATTR_STRING, strbuf_text(&b->text), b->text.length,
                      (struct ir_type){0});
}

struct ir_attr hlo_function(struct hlo_builder *b, uint32_t computation) {
  if ((b->marks[computation] & HLO_MARK_FUNCTION) == 0) {
    b->marks[computation] |= HLO_MARK_FUNCTION;
    if (!vec_push(&b->functions, computation)) {
      (void)hlo_ok(b, false);
    }
  }
  return function_name(b, computation, true);
}

static bool build_function(struct hlo_builder *b, struct ir_block top, uint32_t computation, bool is_main) {
  struct ir_module *m = b->m;
  const struct hlo_module *hlo = b->hlo;
  const struct hlo_computation *data = &hlo->computations.data[computation];
  struct ir_region region = ir_region_create(m);
  struct hlo_frame frame = {.computation = computation, .block = ir_block_create(m, region)};
  uint32_t arguments = 0;
  b->leaves.count = 0;
  if (!hlo_ok(b, frame.block.id != 0) || !open_computation(b, computation, 0)
      || !add_arguments(b, computation, frame.block, &arguments)
      || !build_block(b, &frame, 0, arguments, NULL, IR_OP_FUNC_RETURN)) {
    return false;
  }
  b->marks[computation] &= (uint8_t)~HLO_MARK_OPEN;
  b->types.count = b->pairs.count = b->operands.count = 0;
  for (uint32_t i = 0; i < arguments; i++) {
    if (!vec_push(&b->types, ir_value_type(m, ir_block_argument(m, frame.block, i)))) {
      return hlo_ok(b, false);
    }
  }
  if (!hlo_push_types(b, hlo->instructions.data[data->first + data->root].shape)) {
    return false;
  }
  struct ir_type type = ir_type_list(m, IR_TYPE_FUNCTION, b->types.data, (uint32_t)b->types.count, arguments);
  struct ir_attr attrs = is_main ? hlo_argument_attrs(b, computation) : (struct ir_attr){0};
  const char *visibility = is_main ? "public" : "private";
  struct ir_attr name =
      is_main ? ir_attr_string(m, "main", 4, (struct ir_type){0}) : function_name(b, computation, false);
  bool ok =
      hlo_ok(b, type.id != 0) && hlo_push_attr(b, "sym_name", name)
      && hlo_push_attr(b, "function_type", ir_attr_type(m, type))
      && hlo_push_attr(b, "sym_visibility", ir_attr_string(m, visibility, strlen(visibility), (struct ir_type){0}))
      && (attrs.id == 0 || hlo_push_attr(b, "arg_attrs", attrs));
  struct ir_op_spec spec = {.opcode = IR_OP_FUNC_FUNC,
                            .attrs = b->pairs.data,
                            .attr_count = (uint32_t)b->pairs.count / 2,
                            .regions = &region,
                            .region_count = 1,
                            .offset = data->offset};
  return ok && create(b, top, &spec, NULL).id != 0;
}

/* ---- the module ---- */

static int64_t head_number(const struct hlo_module *hlo, const char *name) {
  struct hlo_cursor c = hlo_cursor_of(hlo_attr_in(hlo, hlo->attr_first, hlo->attr_count, name));
  int64_t value;
  return c.at != NULL && hlo_integer(&c, &value) && value > 0 && value <= INT32_MAX ? value : 0;
}

static bool push_head(struct hlo_builder *b) {
  struct hlo_module *hlo = b->hlo;
  struct ir_type i32 = ir_type_scalar(b->m, DTYPE_I32);
  int64_t partitions = head_number(hlo, "num_partitions"), replicas = head_number(hlo, "replica_count");
  struct hlo_span frontend = hlo_attr_in(hlo, hlo->attr_first, hlo->attr_count, "frontend_attributes");
  b->pairs.count = 0;
  /* what XLA's converter says too, and what tells that a module was HLO (analyze/xla_cost.c) */
  bool ok = hlo_push_attr(b, "mhlo.is_dynamic", ir_attr_bool(b->m, false));
  struct hlo_span scheduled = hlo_attr_in(hlo, hlo->attr_first, hlo->attr_count, "is_scheduled");
  ok = ok && (!hlo_span_is(scheduled, "true") || hlo_push_attr(b, "mhlo.is_scheduled", ir_attr_bool(b->m, true)));
  ok = ok && (hlo->name.length == 0 || hlo_push_attr(b, "sym_name", hlo_string(b, hlo->name)));
  ok = ok && (partitions == 0 || hlo_push_attr(b, "mhlo.num_partitions", ir_attr_integer(b->m, partitions, i32)));
  ok = ok && (replicas == 0 || hlo_push_attr(b, "mhlo.num_replicas", ir_attr_integer(b->m, replicas, i32)));
  b->devices = (partitions > 0 ? partitions : 1) * (replicas > 0 ? replicas : 1);
  return ok && (frontend.text == NULL || hlo_push_attr(b, "mhlo.frontend_attributes", hlo_dictionary(b, frontend)));
}

/* The computation marked ENTRY, else the last. */
static uint32_t entry_of(const struct hlo_module *hlo) {
  for (uint32_t i = 0; i < hlo->computations.count; i++) {
    if (hlo->computations.data[i].is_entry) {
      return i;
    }
  }
  uint32_t last = (uint32_t)hlo->computations.count - 1;
  while (last > 0 && hlo->computations.data[last].is_inline) {
    last--;
  }
  return last;
}

/* After errors of the parser: what is whole is built for its messages, callers (which come later) before what they use. */
static void check_rest(struct hlo_builder *b, struct ir_block block) {
  for (uint32_t i = (uint32_t)b->hlo->computations.count; i-- > 0;) {
    if (b->hlo->is_out_of_memory || diag_full(b->hlo->diags)) {
      return;
    }
    if ((b->marks[i] & HLO_MARK_BUILT) == 0) {
      (void)build_function(b, block, i, false);
    }
  }
}

static bool build_module(struct hlo_builder *b) {
  struct ir_module *m = b->m;
  struct ir_region region = ir_region_create(m);
  struct ir_block block = ir_block_create(m, region);
  if (!hlo_ok(b, block.id != 0) || !push_head(b)) {
    return false;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_BUILTIN_MODULE,
                            .attrs = b->pairs.data,
                            .attr_count = (uint32_t)b->pairs.count / 2,
                            .regions = &region,
                            .region_count = 1};
  m->root = create(b, (struct ir_block){0}, &spec, NULL);
  if (m->root.id != 0 && b->hlo->is_failed) {
    check_rest(b, block);
    return false;
  }
  if (m->root.id == 0 || !build_function(b, block, entry_of(b->hlo), true)) {
    return false;
  }
  for (size_t i = 0; i < b->functions.count; i++) {
    if (!build_function(b, block, b->functions.data[i], false)) {
      return false;
    }
  }
  return true;
}

enum status hlo_build(struct hlo_module *hlo, size_t budget_bytes, struct ir_module **module) {
  struct hlo_builder b = {.hlo = hlo, .m = ir_module_new(budget_bytes), .budget_bytes = budget_bytes, .only = HLO_NONE};
  b.marks = calloc(hlo->computations.count + 1, 1);
  bool ok = hlo_ok(&b, b.m != NULL && b.marks != NULL);
  if (ok) {
    b.m->source = *hlo->source;
    ok = build_module(&b) && !hlo->is_failed;
  }
  if (b.m != NULL && (b.m->out_of_memory || hlo->is_out_of_memory)) {
    diag_at(hlo->diags, DIAG_E0005_LIMIT, hlo->source, 0, "the program needs more memory than its budget of %zu bytes",
            budget_bytes);
    hlo->is_out_of_memory = true;
  }
  vec_release(&b.slots);
  vec_release(&b.leaves);
  vec_release(&b.pairs);
  vec_release(&b.operands);
  vec_release(&b.types);
  vec_release(&b.ints);
  vec_release(&b.bytes);
  vec_release(&b.functions);
  strbuf_release(&b.text);
  free(b.marks);
  if (ok && !hlo->is_out_of_memory) {
    *module = b.m;
    return STATUS_OK;
  }
  ir_module_free(b.m);
  return hlo->is_out_of_memory ? STATUS_MEMORY : STATUS_INPUT;
}
