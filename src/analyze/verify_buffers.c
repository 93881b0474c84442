/* Buffers (memref) and element types without a size: only custom calls, loops and what passes values on take buffers, and
 * a custom call names for each buffer of its results the operand that it is. Path: check of one op in analyze_infer.c. */
#include <string.h>

#include "analyze/verify_int.h"
#include "base/strbuf.h"

#define BUFFER_MAX_PATH 16

static bool is_kind(const struct ir_module *module, struct ir_type type, enum ir_type_kind kind) {
  return ir_type_get(module, type)->kind == (uint8_t)kind;
}

static struct ir_type operand_type(const struct infer *infer, struct ir_op op, uint32_t i) {
  return ir_value_type(infer->module, ir_op_operand(infer->module, op, i));
}

static struct ir_type result_type(const struct infer *infer, struct ir_op op, uint32_t i) {
  return ir_value_type(infer->module, ir_op_result(infer->module, op, i));
}

/* ---- operands and results of any operation ---- */

/* Operations of StableHLO that may have a buffer as operand or result. */
static bool takes_buffers(enum ir_opcode opcode) {
  static const uint8_t allowed[IR_OP_COUNT] = {
      [IR_OP_CUSTOM_CALL] = 1,       [IR_OP_WHILE] = 1,  [IR_OP_TUPLE] = 1,
      [IR_OP_GET_TUPLE_ELEMENT] = 1, [IR_OP_RETURN] = 1, [IR_OP_OPTIMIZATION_BARRIER] = 1,
  };
  return allowed[opcode] != 0;
}

/* Integers such as i10 and quantized types with a signed or unsigned storage type spelled out: MLIR has them, StableHLO
 * has not. */
static bool is_foreign_element(const struct ir_module *module, struct ir_type element) {
  static const char quantized[] = "!quant.uniform<si";
  const struct ir_type_data *data = ir_type_get(module, element);
  if (data->kind != IR_TYPE_OPAQUE) {
    return false;
  }
  const char *text = ir_text(module, data->text);
  return (*text == 'i' && text[1] >= '0' && text[1] <= '9') || strncmp(text, quantized, sizeof quantized - 1) == 0;
}

static bool check_type(struct infer *infer, struct ir_op op, struct ir_type type, const char *what, uint32_t i,
                       enum diag_id id) {
  const struct ir_type_data *data = ir_type_get(infer->module, type);
  bool is_tensor = data->kind == IR_TYPE_TENSOR || data->kind == IR_TYPE_UNRANKED;
  bool is_buffer = data->kind == IR_TYPE_MEMREF && !takes_buffers(ir_op_code(infer->module, op));
  if (!is_buffer && !(is_tensor && is_foreign_element(infer->module, data->element))) {
    return true;
  }
  struct strbuf text = {0};
  type_text(infer->module, type, &text);
  infer_error(infer, op, id, "%s %u has type '%s', %s", what, i, strbuf_text(&text),
              is_buffer ? "a buffer, which this operation does not take" : "whose elements StableHLO does not have");
  strbuf_release(&text);
  return false;
}

bool verify_plain_types(struct infer *infer, struct ir_op op) {
  if (ir_op_code(infer->module, op) > IR_OP_XOR) {
    return true; /* other dialects have types of their own */
  }
  for (uint32_t i = 0; i < ir_op_get(infer->module, op)->operand_count; i++) {
    if (!check_type(infer, op, operand_type(infer, op, i), "operand", i, DIAG_E0204_OPERAND_TYPE)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < ir_op_get(infer->module, op)->result_count; i++) {
    if (!check_type(infer, op, result_type(infer, op, i), "result", i, DIAG_E0205_RESULT_TYPE)) {
      return false;
    }
  }
  return true;
}

/* ---- the buffers of a custom call ---- */

/* Where a buffer is: operand or result number, then indices into tuples. */
struct buffer_place {
  bool is_result;
  uint32_t number;
  uint32_t depth;
  int64_t path[BUFFER_MAX_PATH];
};

struct buffer_walk {
  struct infer *infer;
  struct ir_op op;
  struct ir_attr aliases; /* ARRAY of output_operand_alias, or 0 */
};

static bool is_path(const struct ints *list, uint32_t from, const struct buffer_place *place) {
  return list->count == from + place->depth
         && (place->depth == 0 || memcmp(list->v + from, place->path, place->depth * sizeof place->path[0]) == 0);
}

/* Aliases that name the buffer. */
static unsigned count_uses(const struct buffer_walk *walk, const struct buffer_place *place) {
  const struct ir_module *module = walk->infer->module;
  const struct ir_attr_data *list = ir_attr_get(module, walk->aliases);
  bool is_numbered = place->is_result && ir_op_get(module, walk->op)->result_count != 1;
  unsigned uses = 0;
  for (uint32_t i = 0; list->kind == IR_ATTR_ARRAY && i < list->list_count; i++) {
    struct ir_attr alias = {module->lists.data[list->list_first + i]};
    struct ints path = {0}, number = {0};
    ints_from_attr(module,
                   ir_attr_field(module, alias, place->is_result ? "output_tuple_indices" : "operand_tuple_indices"),
                   &path);
    if (place->is_result) {
      bool is_here = !is_numbered || (path.count > 0 && path.v[0] == place->number);
      uses += is_here && is_path(&path, is_numbered, place);
    } else {
      ints_from_attr(module, ir_attr_field(module, alias, "operand_index"), &number);
      uses += number.count == 1 && number.v[0] == place->number && is_path(&path, 0, place);
    }
  }
  return uses;
}

/* A buffer of an operand is at most once the buffer of a result, one of a result exactly once that of an operand. */
static bool check_buffers(const struct buffer_walk *walk, struct ir_type type, struct buffer_place *place) {
  const struct ir_module *module = walk->infer->module;
  const struct ir_type_data data = *ir_type_get(module, type);
  if (data.kind == IR_TYPE_TUPLE && place->depth < BUFFER_MAX_PATH) {
    for (uint32_t i = 0; i < data.count; i++) {
      place->path[place->depth++] = i;
      bool is_sound = check_buffers(walk, (struct ir_type){module->lists.data[data.first + i]}, place);
      place->depth--;
      if (!is_sound) {
        return false;
      }
    }
  }
  if (data.kind != IR_TYPE_MEMREF) {
    return true;
  }
  unsigned uses = count_uses(walk, place);
  if (uses > 1 || (uses == 0 && place->is_result)) {
    infer_error(walk->infer, walk->op, DIAG_E0206_ATTRIBUTE_VALUE,
                "a buffer of %s %u is %s of 'output_operand_aliases'", place->is_result ? "result" : "operand",
                place->number, uses > 1 ? "in more than one entry" : "in no entry");
    return false;
  }
  return true;
}

/* The three targets that make buffers and end them: no operand, a tensor, a buffer; a buffer, a buffer, a tensor. */
static bool check_target(struct infer *infer, struct ir_op op, bool has_operand, enum ir_type_kind from,
                         enum ir_type_kind to) {
  struct ir_module *module = infer->module;
  const char *target = enum_of(module, op, "call_target_name");
  if (ir_op_get(module, op)->operand_count != (uint32_t)has_operand || ir_op_get(module, op)->result_count != 1) {
    infer_error(infer, op, DIAG_E0201_OPERAND_COUNT, "target '%s' has %s operand and one result", target,
                has_operand ? "one" : "no");
    return false;
  }
  if ((has_operand && !is_kind(module, operand_type(infer, op, 0), from))
      || !is_kind(module, result_type(infer, op, 0), to)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "target '%s' makes a %s%s", target,
                to == IR_TYPE_MEMREF ? "buffer" : "tensor",
                !has_operand             ? ""
                : from == IR_TYPE_MEMREF ? " of a buffer"
                                         : " of a tensor");
    return false;
  }
  if (!has_operand) {
    return true;
  }
  const struct ir_type_data *a = ir_type_get(module, operand_type(infer, op, 0));
  const struct ir_type_data *b = ir_type_get(module, result_type(infer, op, 0));
  bool is_same = a->rank == b->rank && elements_agree(module, a->element, b->element);
  for (uint32_t i = 0; is_same && i < a->rank; i++) {
    is_same = dims_agree(module->dims.data[a->first + i], module->dims.data[b->first + i]);
  }
  if (!is_same) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "operand and result of target '%s' differ in shape or elements",
                target);
  }
  return is_same;
}

bool verify_buffers(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  const char *target = enum_of(module, op, "call_target_name");
  if (strcmp(target, "CreateBuffer") == 0) {
    return check_target(infer, op, false, IR_TYPE_NONE, IR_TYPE_MEMREF);
  }
  if (strcmp(target, "Pin") == 0) {
    return check_target(infer, op, true, IR_TYPE_TENSOR, IR_TYPE_MEMREF);
  }
  if (strcmp(target, "Unpin") == 0) {
    return check_target(infer, op, true, IR_TYPE_MEMREF, IR_TYPE_TENSOR);
  }
  struct buffer_walk walk = {infer, op, ir_op_attr(module, op, "output_operand_aliases")};
  struct buffer_place place = {0};
  for (; place.number < ir_op_get(module, op)->operand_count; place.number++) {
    if (!check_buffers(&walk, operand_type(infer, op, place.number), &place)) {
      return false;
    }
  }
  place = (struct buffer_place){.is_result = true};
  for (; place.number < ir_op_get(module, op)->result_count; place.number++) {
    if (!check_buffers(&walk, result_type(infer, op, place.number), &place)) {
      return false;
    }
  }
  return true;
}
