/* Communication between devices, and what is started and awaited: -start, -update and -done. A collective that is started
 * stands in the region of an async_start; other operations are made where they start. See hlo_build.h. */
#include "import/hlo_build.h"

static const char *place(const struct hlo_builder *b, const struct hlo_instruction *in) {
  return b->hlo->source->text + in->offset;
}

static const struct hlo_shape *result_of(const struct hlo_builder *b, const struct hlo_instruction *in) {
  return b->result_shape != NULL ? b->result_shape : in->shape;
}

/* First array of a shape. */
static const struct hlo_shape *first_array(const struct hlo_shape *shape) {
  while (shape->kind == HLO_SHAPE_TUPLE && shape->count > 0) {
    shape = shape->parts[0];
  }
  return shape;
}

/* Devices of one group where the groups are not listed: how often the shape grows or shrinks, else all of the module. */
static int64_t devices_of(const struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in) {
  const struct hlo_shape *from = hlo_operand(b, f, in, 0)->shape, *to = first_array(result_of(b, in));
  for (uint32_t i = 0; from->kind == HLO_SHAPE_ARRAY && i < from->rank && from->rank == to->rank; i++) {
    if (from->dims[i] > 0 && to->dims[i] > from->dims[i] && to->dims[i] % from->dims[i] == 0) {
      return to->dims[i] / from->dims[i];
    }
    if (to->dims[i] > 0 && from->dims[i] > to->dims[i] && from->dims[i] % to->dims[i] == 0) {
      return from->dims[i] / to->dims[i];
    }
  }
  return b->devices;
}

static bool push_groups(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                        int64_t *size) {
  int64_t rows, columns;
  if (!hlo_read_groups(b, hlo_attr_find(b->hlo, in, "replica_groups"), &rows, &columns)) {
    return false;
  }
  if (rows == 0) {
    rows = 1;
    columns = devices_of(b, f, in);
    for (int64_t i = 0; i < columns && i < (1 << 20); i++) {
      if (!vec_push(&b->ints, i)) {
        return hlo_ok(b, false);
      }
    }
    columns = (int64_t)b->ints.count;
  }
  *size = columns;
  return hlo_push_attr(b, "replica_groups", hlo_i64_table(b, rows, columns));
}

/* #stablehlo.channel_handle<handle = N, type = 1>, and that ids count all devices, which needs a channel. */
static bool push_channel(struct hlo_builder *b, const struct hlo_instruction *in, bool has_flag) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "channel_id");
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t channel;
  if (text.text == NULL || !hlo_integer(&c, &channel) || channel <= 0) {
    return true;
  }
  struct intern *strings = &b->m->strings;
  uint32_t pairs[4] = {intern_add_cstr(strings, "handle"), hlo_i64(b, channel).id, intern_add_cstr(strings, "type"),
                       hlo_i64(b, 1).id};
  return hlo_ok(b, pairs[0] != UINT32_MAX && pairs[2] != UINT32_MAX)
         && hlo_push_attr(b, "channel_handle", ir_attr_struct(b->m, "stablehlo.channel_handle", pairs, 2))
         && (!has_flag || !hlo_is_true(b->hlo, in, "use_global_device_ids")
             || hlo_push_attr(b, "use_global_device_ids", b->m->unit_attr));
}

bool build_collective(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_region region;
  enum ir_opcode opcode = b->row->opcode;
  bool has_body = opcode == IR_OP_ALL_REDUCE || opcode == IR_OP_REDUCE_SCATTER;
  int64_t size;
  return (!has_body || hlo_region(b, f, hlo_computation_of(b, in, "to_apply"), NULL, NULL, &region))
         && push_groups(b, f, in, &size) && push_channel(b, in, opcode != IR_OP_COLLECTIVE_BROADCAST)
         && hlo_push_row_attrs(b, in) && hlo_push_operands(b, f, in)
         && hlo_emit(b, f, in, opcode, has_body ? &region : NULL, has_body);
}

/* The operation once per operand, as StableHLO's takes only one. `build_one` makes it of b->only. */
static bool build_each(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                       hlo_build_fn *build_one) {
  const struct hlo_shape *shape = result_of(b, in);
  const bool is_async = b->is_async; /* then each is started on its own */
  struct hlo_slot whole = {(uint32_t)b->leaves.count, in->operand_count, is_async ? HLO_SLOT_FUTURE : HLO_SLOT_VALUES};
  bool ok = true;
  if (in->operand_count == 1) {
    return build_one(b, f, in);
  }
  if (shape->kind != HLO_SHAPE_TUPLE || shape->count != in->operand_count || shape->leaf_count != shape->count) {
    return hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "the result of '%s' must be a tuple of %u arrays",
                    b->row->name, in->operand_count);
  }
  for (uint32_t i = 0; i < in->operand_count && ok; i++) {
    if (hlo_slot_of(b, f, in, i).count != 1) {
      return hlo_fail(b, DIAG_E0204_OPERAND_TYPE, place(b, in), "an operand of '%s' must be an array", b->row->name);
    }
    b->result_shape = shape->parts[i];
    b->only = i;
    b->is_async = is_async;
    ok = build_one(b, f, in);
  }
  b->result_shape = NULL;
  b->only = HLO_NONE;
  return ok && hlo_set_slot(b, f, in, whole);
}

bool build_reduce_scatter(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  return build_each(b, f, in, build_collective);
}

static hlo_build_fn permute;
bool build_collective_permute(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  return build_each(b, f, in, permute);
}

static bool permute(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  int64_t rows, columns;
  struct hlo_span text = hlo_attr_find(b->hlo, in, "source_target_pairs");
  if (!hlo_read_groups(b, text, &rows, &columns)) {
    return false;
  }
  if (rows > 0 && columns != 2) {
    return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected pairs of devices, {{0,1},{1,2}}");
  }
  return hlo_push_attr(b, "source_target_pairs", hlo_i64_table(b, rows, 2)) && push_channel(b, in, false)
         && hlo_push_operands(b, f, in) && hlo_emit(b, f, in, IR_OP_COLLECTIVE_PERMUTE, NULL, 0);
}

/* A collective that StableHLO has not, as the custom call that XLA makes of it: groups and channel in its configuration. */
static bool emit_exchange(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                          const char *target) {
  struct ir_module *m = b->m;
  struct hlo_span text = hlo_attr_find(b->hlo, in, "channel_id");
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t size, channel;
  uint32_t fields[4], count = 0;
  if (!push_groups(b, f, in, &size)) {
    return false;
  }
  if (text.text != NULL && hlo_integer(&c, &channel)) {
    fields[count++] = intern_add_cstr(&m->strings, "channel_id");
    fields[count++] = hlo_i64(b, channel).id;
  }
  fields[count++] = b->pairs.data[0];
  fields[count++] = b->pairs.data[1];
  b->pairs.count = 0;
  b->is_async = false;
  return hlo_ok(b, fields[0] != UINT32_MAX)
         && hlo_push_attr(b, "call_target_name", ir_attr_string(m, target, strlen(target), (struct ir_type){0}))
         && hlo_push_attr(b, "api_version", ir_attr_integer(m, 4, ir_type_scalar(m, DTYPE_I32)))
         && hlo_push_attr(b, "backend_config", ir_attr_dict(m, fields, count / 2)) && hlo_push_operands(b, f, in)
         && hlo_emit(b, f, in, IR_OP_CUSTOM_CALL, NULL, 0);
}

/* With `dimensions` the array is split along it; the form with one operand per device has none. */
bool build_all_to_all(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "dimensions");
  int64_t size;
  if (text.text == NULL) {
    return emit_exchange(b, f, in, "all_to_all");
  }
  if (!push_groups(b, f, in, &size)) {
    return false;
  }
  if (!hlo_ints(b, text) || b->ints.count != 1) {
    return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected one dimension");
  }
  int64_t dimension = b->ints.data[0];
  return hlo_push_attr(b, "split_dimension", hlo_i64(b, dimension))
         && hlo_push_attr(b, "concat_dimension", hlo_i64(b, dimension))
         && hlo_push_attr(b, "split_count", hlo_i64(b, size)) && push_channel(b, in, false)
         && hlo_push_operands(b, f, in) && hlo_emit(b, f, in, IR_OP_ALL_TO_ALL, NULL, 0);
}

bool build_ragged_all_to_all(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  return emit_exchange(b, f, in, "ragged_all_to_all");
}

/* ---- started and awaited ---- */

static bool is_asynchronous(enum ir_opcode opcode) {
  return ir_opcode_has(opcode, IR_TRAIT_COLLECTIVE) || opcode == IR_OP_SLICE || opcode == IR_OP_DYNAMIC_SLICE
         || opcode == IR_OP_DYNAMIC_UPDATE_SLICE;
}

/* What the -done gives, from the shape of the -start: (operands, results, ...), but (destination, source, ...) for copies
 * and the results alone for all-reduce. */
static const struct hlo_shape *done_shape(const struct hlo_shape *shape, enum ir_opcode opcode) {
  if (shape->kind != HLO_SHAPE_TUPLE || opcode == IR_OP_ALL_REDUCE) {
    return shape;
  }
  uint32_t part = opcode == IR_OP_MHLO_COPY ? 0 : 1;
  return part < shape->count ? shape->parts[part] : shape;
}

/* <name>-start */
bool build_start(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  const struct hlo_op_row *row = hlo_op_find((struct hlo_span){in->opcode.text, in->opcode.length - strlen("-start")});
  if (row == NULL || row->build == build_tuple || row->build == build_get_tuple_element
      || row->build == build_parameter) {
    return hlo_emit_unknown(b, f, in);
  }
  if ((int64_t)in->operand_count < row->operands_min) {
    return hlo_fail(b, DIAG_E0201_OPERAND_COUNT, place(b, in), "'%s-start' has %u operands, expected %d", row->name,
                    in->operand_count, row->operands_min);
  }
  b->row = row;
  b->result_shape = done_shape(in->shape, row->opcode);
  b->is_async = is_asynchronous(row->opcode);
  bool ok = row->build(b, f, in) && hlo_mark_started(b, f, in);
  b->result_shape = NULL;
  return ok;
}

/* async-start of a computation: one operation that may be asynchronous stands in a region, others are called. */
bool build_async_start(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  const struct hlo_module *hlo = b->hlo;
  uint32_t index = hlo_computation_of(b, in, "calls");
  if (index == HLO_NONE) {
    return false;
  }
  const struct hlo_computation *computation = &hlo->computations.data[index];
  if (computation->is_broken) {
    return false; /* said already */
  }
  const struct hlo_instruction *root = &hlo->instructions.data[computation->first + computation->root];
  const struct hlo_op_row *row = hlo_op_find(root->opcode);
  if (computation->count != computation->parameter_count + 1 || row == NULL || !is_asynchronous(row->opcode)) {
    b->result_shape = done_shape(in->shape, IR_OP_ASYNC_START);
    bool ok = hlo_push_attr(b, "callee", hlo_function(b, index)) && hlo_push_operands(b, f, in)
              && hlo_emit(b, f, in, IR_OP_FUNC_CALL, NULL, 0);
    b->result_shape = NULL;
    return ok && hlo_mark_started(b, f, in);
  }
  /* several operands become several operations, which a region of async_start may not hold: mhlo's form names a function */
  const bool is_named =
      root->operand_count > 1 && (row->build == build_reduce_scatter || row->build == build_collective_permute);
  struct ir_region region;
  uint32_t name = is_named ? intern_add_cstr(&b->m->strings, "mhlo.async_start") : 0;
  bool is_ready = is_named ? hlo_push_attr(b, "called_computation", hlo_function(b, index))
                           : hlo_region(b, f, index, NULL, NULL, &region);
  if (!is_ready || !hlo_ok(b, name != UINT32_MAX) || !hlo_push_operands(b, f, in)) {
    return false;
  }
  b->types.count = 0;
  if (!hlo_push_types(b, root->shape)) {
    return false;
  }
  struct ir_type future = ir_type_list(b->m, IR_TYPE_FUTURE, b->types.data, (uint32_t)b->types.count, 0);
  struct ir_op_spec spec = {.opcode = IR_OP_ASYNC_START,
                            .name = name,
                            .operands = b->operands.data,
                            .operand_count = (uint32_t)b->operands.count,
                            .result_types = &future,
                            .result_count = 1,
                            .attrs = b->pairs.data,
                            .attr_count = (uint32_t)b->pairs.count / 2,
                            .regions = is_named ? NULL : &region,
                            .region_count = !is_named,
                            .offset = in->offset};
  struct ir_op op = ir_op_create(b->m, f->block, &spec);
  b->operands.count = b->pairs.count = 0;
  struct hlo_slot slot = {(uint32_t)b->leaves.count, 1, HLO_SLOT_FUTURE};
  return hlo_ok(b, op.id != 0 && vec_push(&b->leaves, ir_op_result(b->m, op, 0))) && hlo_set_slot(b, f, in, slot);
}

/* The slot that a -update or -done awaits; false after a message. */
static bool awaited(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                    struct hlo_slot *slot) {
  if (in->operand_count == 1) {
    *slot = hlo_slot_of(b, f, in, 0);
  }
  return (in->operand_count == 1 && slot->state != HLO_SLOT_VALUES)
         || hlo_fail(b, DIAG_E0204_OPERAND_TYPE, place(b, in), "'%.*s' needs one operand that was started",
                     (int)(in->opcode.length < 60 ? in->opcode.length : 60), in->opcode.text);
}

/* What was started is still under way. */
bool build_update(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_slot slot;
  return awaited(b, f, in, &slot) && hlo_set_slot(b, f, in, slot);
}

/* One async_done per future, each gives a part of the result. */
static bool await_each(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                       struct hlo_slot futures) {
  struct hlo_slot whole = {(uint32_t)b->leaves.count, futures.count, HLO_SLOT_VALUES};
  bool ok = in->shape->kind == HLO_SHAPE_TUPLE && in->shape->count == futures.count;
  if (!ok) {
    return hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "what was started gives %u values", futures.count);
  }
  for (uint32_t i = 0; i < futures.count && ok; i++) {
    b->result_shape = in->shape->parts[i];
    ok = hlo_ok(b, vec_push(&b->operands, b->leaves.data[futures.first + i]))
         && hlo_emit(b, f, in, IR_OP_ASYNC_DONE, NULL, 0);
  }
  b->result_shape = NULL;
  return ok && hlo_set_slot(b, f, in, whole);
}

bool build_done(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_slot slot;
  if (!awaited(b, f, in, &slot)) {
    return false;
  }
  if (slot.state == HLO_SLOT_FUTURE && slot.count > 1) {
    return await_each(b, f, in, slot);
  }
  if (slot.state == HLO_SLOT_FUTURE) {
    return hlo_push_operands(b, f, in) && hlo_emit(b, f, in, IR_OP_ASYNC_DONE, NULL, 0);
  }
  slot.state = HLO_SLOT_VALUES;
  if (slot.count != in->shape->leaf_count) {
    return hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "what was started gives %u values, the shape has %u",
                    slot.count, in->shape->leaf_count);
  }
  return hlo_set_slot(b, f, in, slot);
}
