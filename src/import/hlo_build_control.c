/* Operations with computations: bodies, loops, branches, calls and fusions. See hlo_build.h. */
#include "import/hlo_build.h"

static const char *place(const struct hlo_builder *b, const struct hlo_instruction *in) {
  return b->hlo->source->text + in->offset;
}

static bool emit_with(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                      const struct ir_region *regions, uint32_t count) {
  return hlo_push_operands(b, f, in) && hlo_push_row_attrs(b, in) && hlo_emit(b, f, in, b->row->opcode, regions, count);
}

/* reduce, sort: one body and the attributes of the row */
bool build_body(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region region;
  return hlo_region(b, f, hlo_computation_of(b, in, "to_apply"), NULL, NULL, &region)
         && emit_with(b, f, in, &region, 1);
}

static bool push_list(struct hlo_builder *b, const char *name, const int64_t *values, uint32_t count) {
  return hlo_push_attr(b, name, ir_attr_i64s(b->m, values, count));
}

/* Window of a reduction. A window without fields is that of rank 0. */
static bool push_window(struct hlo_builder *b, const struct hlo_instruction *in, bool has_dilations) {
  struct hlo_window window;
  if (!hlo_read_window(b, hlo_attr_find(b->hlo, in, "window"), &window)) {
    return false;
  }
  b->ints.count = 0;
  for (uint32_t i = 0; i < window.rank; i++) {
    if (!vec_push(&b->ints, window.low[i]) || !vec_push(&b->ints, window.high[i])) {
      return hlo_ok(b, false);
    }
  }
  return hlo_push_attr(b, "padding", hlo_i64_table(b, window.rank, 2))
         && push_list(b, "window_dimensions", window.size, window.rank)
         && push_list(b, "window_strides", window.stride, window.rank)
         && (!has_dilations
             || (push_list(b, "base_dilations", window.lhs_dilate, window.rank)
                 && push_list(b, "window_dilations", window.rhs_dilate, window.rank)));
}

bool build_reduce_window(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region region;
  return hlo_region(b, f, hlo_computation_of(b, in, "to_apply"), NULL, NULL, &region) && push_window(b, in, true)
         && emit_with(b, f, in, &region, 1);
}

bool build_select_and_scatter(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region regions[2];
  return hlo_region(b, f, hlo_computation_of(b, in, "select"), NULL, NULL, &regions[0])
         && hlo_region(b, f, hlo_computation_of(b, in, "scatter"), NULL, NULL, &regions[1]) && push_window(b, in, false)
         && emit_with(b, f, in, regions, 2);
}

/* Without stated dimensions a map is over all of them. */
bool build_map(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region region;
  if (!hlo_region(b, f, hlo_computation_of(b, in, "to_apply"), NULL, NULL, &region)) {
    return false;
  }
  struct hlo_span text = hlo_attr_find(b->hlo, in, "dimensions");
  b->ints.count = 0;
  for (uint32_t i = 0; text.text == NULL && i < in->shape->rank; i++) {
    if (!vec_push(&b->ints, i)) {
      return hlo_ok(b, false);
    }
  }
  return (text.text == NULL || hlo_ints(b, text)) && hlo_push_attr(b, "dimensions", hlo_i64s(b))
         && emit_with(b, f, in, &region, 1);
}

/* ---- loops and branches ---- */

static const char *find(struct hlo_span text, const char *word) {
  size_t length = strlen(word);
  for (size_t i = 0; text.text != NULL && i + length <= text.length; i++) {
    if (memcmp(text.text + i, word, length) == 0) {
      return text.text + i + length;
    }
  }
  return NULL;
}

/* XLA writes the trip count that it found as {"known_trip_count":{"n":"5"}}, quoted or not. */
static bool push_trip_count(struct hlo_builder *b, const struct hlo_instruction *in) {
  struct hlo_span config = hlo_attr_find(b->hlo, in, "backend_config");
  const char *at = find(config, "known_trip_count"), *end = config.text + config.length;
  int64_t count;
  if (at == NULL) {
    return true;
  }
  while (at < end && (*at < '0' || *at > '9') && *at != '}') {
    at++;
  }
  struct hlo_cursor c = {at, end};
  return !hlo_integer(&c, &count) || count < 0 || hlo_push_attr(b, "mhlo.known_trip_count", hlo_i64(b, count));
}

bool build_while(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region regions[2];
  return hlo_region(b, f, hlo_computation_of(b, in, "condition"), NULL, NULL, &regions[0])
         && hlo_region(b, f, hlo_computation_of(b, in, "body"), NULL, NULL, &regions[1]) && push_trip_count(b, in)
         && emit_with(b, f, in, regions, 2);
}

enum { BRANCHES_MAX = 4096 };

/* The computation of branch `i`: branch_computations={...}, or true_computation and false_computation. */
static uint32_t branch_of(struct hlo_builder *b, const struct hlo_instruction *in, uint32_t i) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "branch_computations");
  if (text.text == NULL) {
    return hlo_computation_of(b, in, i == 0 ? "true_computation" : "false_computation");
  }
  struct hlo_cursor c = hlo_cursor_of(text);
  struct hlo_span name = {text.text, 0};
  bool ok = hlo_try(&c, '{');
  for (uint32_t k = 0; ok && k <= i; k++) {
    name = hlo_name(&c);
    ok = name.length > 0 && (hlo_try(&c, ',') || k == i);
  }
  return ok ? hlo_computation_named(b, name)
            : (hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected one computation per branch"), HLO_NONE);
}

/* Branches take their operand by capture: in StableHLO they have no arguments. */
bool build_conditional(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  uint32_t count = in->operand_count - 1;
  bool is_predicate = hlo_operand(b, f, in, 0)->shape->dtype == DTYPE_I1;
  if (count > BRANCHES_MAX || (is_predicate && count != 2)) {
    return hlo_fail(b, DIAG_E0201_OPERAND_COUNT, place(b, in), "'conditional' has %u branches", count);
  }
  struct ir_region *regions = malloc(count * sizeof *regions);
  bool ok = hlo_ok(b, regions != NULL);
  for (uint32_t i = 0; i < count && ok; i++) {
    struct hlo_slot captured = hlo_slot_of(b, f, in, i + 1);
    ok = hlo_region(b, f, branch_of(b, in, i), &captured, NULL, &regions[i]);
  }
  if (ok) {
    struct hlo_slot selector = hlo_slot_of(b, f, in, 0);
    ok = selector.count == 1 ? hlo_ok(b, vec_push(&b->operands, b->leaves.data[selector.first]))
                             : hlo_fail(b, DIAG_E0204_OPERAND_TYPE, place(b, in), "a branch is selected by one value");
    ok = ok && hlo_emit(b, f, in, is_predicate ? IR_OP_IF : IR_OP_CASE, regions, count);
  }
  free(regions);
  return ok;
}

/* ---- calls and fusions ---- */

/* Value of `name` in {name="value",name={...}}; {NULL, 0} when it is absent. */
static struct hlo_span entry_of(struct hlo_span text, const char *name) {
  struct hlo_cursor c = hlo_cursor_of(text);
  bool ok = hlo_try(&c, '{');
  while (ok && hlo_peek(&c) != '}') {
    struct hlo_span key = hlo_name(&c);
    struct hlo_span value = key.length > 0 && hlo_try(&c, '=') ? hlo_value(&c) : (struct hlo_span){NULL, 0};
    if (hlo_span_is(key, name)) {
      return value;
    }
    ok = value.length > 0 && hlo_try(&c, ',');
  }
  return (struct hlo_span){NULL, 0};
}

/* A call marked is_composite=true: what it computes has a name, a version and attributes, in frontend_attributes. */
static bool push_composite(struct hlo_builder *b, const struct hlo_instruction *in, struct ir_attr callee) {
  struct hlo_span frontend = hlo_attr_find(b->hlo, in, "frontend_attributes");
  struct hlo_span name = entry_of(frontend, "composite.name"), version = entry_of(frontend, "composite.version");
  struct hlo_span attributes = entry_of(frontend, "composite.attributes");
  int64_t number = 0;
  if (version.text != NULL && hlo_unquote(b, version)) {
    struct hlo_cursor digits = {strbuf_text(&b->text), strbuf_text(&b->text) + b->text.length};
    (void)hlo_integer(&digits, &number);
  }
  struct ir_attr typed = {0};
  if (attributes.text != NULL) {
    typed = hlo_typed_config(b, attributes);
  }
  return hlo_push_attr(b, "decomposition", callee) && hlo_push_attr(b, "name", hlo_string(b, name))
         && (number == 0 || hlo_push_attr(b, "version", ir_attr_integer(b->m, number, ir_type_scalar(b->m, DTYPE_I32))))
         && (typed.id == 0 || typed.id == ir_attr_dict(b->m, NULL, 0).id
             || hlo_push_attr(b, "composite_attributes", typed));
}

bool build_call(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  uint32_t computation = hlo_computation_of(b, in, "to_apply");
  struct hlo_span frontend = hlo_attr_find(b->hlo, in, "frontend_attributes");
  if (computation != HLO_NONE && hlo_is_true(b->hlo, in, "is_composite")
      && entry_of(frontend, "composite.name").text != NULL) {
    return push_composite(b, in, hlo_function(b, computation)) && hlo_push_operands(b, f, in)
           && hlo_emit(b, f, in, IR_OP_COMPOSITE, NULL, 0);
  }
  return computation != HLO_NONE && hlo_push_attr(b, "callee", hlo_function(b, computation))
         && hlo_push_operands(b, f, in) && hlo_emit(b, f, in, IR_OP_FUNC_CALL, NULL, 0);
}

/* The types that a region takes and returns are those of the operands and the result. analyze/ knows the rules of loops and
 * bodies; a fusion is not an operation of StableHLO. */
static bool check_fusion(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                         struct ir_region region) {
  struct ir_module *m = b->m;
  struct ir_block body = ir_region_entry(m, region);
  struct ir_op end = ir_block_terminator(m, body);
  uint32_t at = 0, arguments = ir_block_get(m, body)->argument_count;
  bool ok = true;
  for (uint32_t i = 0; i < in->operand_count && ok; i++) {
    struct hlo_slot slot = hlo_slot_of(b, f, in, i);
    for (uint32_t k = 0; k < slot.count && ok; k++, at++) {
      ok =
          at < arguments
          && ir_value_type(m, ir_block_argument(m, body, at)).id == ir_value_type(m, b->leaves.data[slot.first + k]).id;
    }
  }
  if (!ok || at != arguments) {
    return hlo_fail(b, DIAG_E0208_CALL_TYPE, place(b, in), "the operands are not what the fused computation takes");
  }
  b->types.count = 0;
  if (!hlo_push_types(b, in->shape)) {
    return false;
  }
  ok = b->types.count == ir_op_get(m, end)->operand_count;
  for (uint32_t i = 0; i < b->types.count && ok; i++) {
    ok = b->types.data[i].id == ir_value_type(m, ir_op_operand(m, end, i)).id;
  }
  return ok
         || hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "the result is not what the fused computation returns");
}

/* kind=kLoop is kept; so the fusion is taken as it is instead of being fused anew. */
bool build_fusion(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_span kind = hlo_attr_find(b->hlo, in, "kind");
  struct ir_attr attr;
  struct ir_region region;
  return hlo_region(b, f, hlo_computation_of(b, in, "calls"), NULL, "mhlo.return", &region)
         && check_fusion(b, f, in, region)
         && (kind.text == NULL
             || (hlo_enum(b, "mhlo.fusion_kind", kind, false, &attr) && hlo_push_attr(b, "fusion_kind", attr)))
         && emit_with(b, f, in, &region, 1);
}

/* scan(inputs..., initial values...), num_carries=n: the last n operands and results are carried. */
bool build_scan(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region region;
  struct hlo_span text = hlo_attr_find(b->hlo, in, "num_carries");
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t carries = 0;
  int64_t operands = in->operand_count, results = in->shape->leaf_count;
  if (text.text == NULL || !hlo_integer(&c, &carries) || carries < 0 || carries > operands || carries > results) {
    return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text != NULL ? text.text : place(b, in),
                    "'scan' needs num_carries, at most as many as it has operands and results");
  }
  int32_t in_sizes[2] = {(int32_t)(operands - carries), (int32_t)carries};
  int32_t out_sizes[2] = {(int32_t)(results - carries), (int32_t)carries};
  struct ir_type i32 = ir_type_scalar(b->m, DTYPE_I32);
  return hlo_region(b, f, hlo_computation_of(b, in, "to_apply"), NULL, "mhlo.return", &region)
         && hlo_push_attr(b, "operandSegmentSizes", ir_attr_dense_array(b->m, i32, in_sizes, 2))
         && hlo_push_attr(b, "resultSegmentSizes", ir_attr_dense_array(b->m, i32, out_sizes, 2))
         && emit_with(b, f, in, &region, 1);
}
