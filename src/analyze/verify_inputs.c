/* Operands and attributes against the input lists of the specification: kinds of values, element types, ranks, types of
 * attributes. Path: first check of an op in analyze_infer.c, driven by the rows of spec.def. */
#include <stdio.h>
#include <string.h>

#include "analyze/spec_table.h"
#include "analyze/verify_int.h"
#include "base/strbuf.h"

/* " (I2)" or nothing. */
static const char *label_text(unsigned label, char *out, size_t size) {
  if (label == 0) {
    return "";
  }
  snprintf(out, size, " (I%u)", label);
  return out;
}

static bool fail_type(struct infer *infer, struct ir_op op, const struct spec_input *input, const char *what,
                      uint32_t index, struct ir_type type, const char *trouble) {
  struct strbuf text = {0};
  char label[16];
  type_text(infer->module, type, &text);
  infer_error(infer, op, input->what == SPEC_RESULT ? DIAG_E0205_RESULT_TYPE : DIAG_E0204_OPERAND_TYPE,
              "%s %u has type '%s', %s%s", what, index, strbuf_text(&text), trouble,
              label_text(input->label, label, sizeof label));
  strbuf_release(&text);
  return false;
}

/* ---- values ---- */

/* INFER_... bit of an element type; 0 when it is something else. */
static unsigned class_of(const struct ir_module *module, struct ir_type element) {
  static const uint16_t classes[] = {
      [DTYPE_CLASS_BOOL] = INFER_BOOL, [DTYPE_CLASS_SINT] = INFER_SINT,   [DTYPE_CLASS_INDEX] = INFER_INDEX,
      [DTYPE_CLASS_UINT] = INFER_UINT, [DTYPE_CLASS_FLOAT] = INFER_FLOAT, [DTYPE_CLASS_COMPLEX] = INFER_COMPLEX,
      [DTYPE_CLASS_NONE] = 0};
  const struct ir_type_data *data = ir_type_get(module, element);
  if (data->kind == IR_TYPE_QUANTIZED) {
    return module->quants.data[data->quant].axis >= 0 ? INFER_AXIS : INFER_QUANT;
  }
  return data->kind == IR_TYPE_SCALAR ? classes[dtype_class_of((enum dtype)data->dtype)] : 0;
}

static bool has_rank(const struct ir_type_data *type, const struct spec_input *input, uint32_t count) {
  if (input->rank == SPEC_ANY_RANK || type->kind != IR_TYPE_TENSOR) {
    return true;
  }
  switch (input->rank) {
  case SPEC_INDEX_RANK:
    return type->rank == 0 || (type->rank == 1 && count == 1);
  case SPEC_STATIC_VECTOR:
    return type->rank == 1;
  case SPEC_STATIC:
    return true;
  default:
    return type->rank == input->rank;
  }
}

/* `count`: values that the row is about. */
static bool check_tensor(struct infer *infer, struct ir_op op, const struct spec_input *input, struct ir_type type,
                         uint32_t index, uint32_t count) {
  const char *what = input->what == SPEC_RESULT ? "result" : "operand";
  const struct ir_type_data *data = ir_type_get(infer->module, type);
  if (data->kind == IR_TYPE_OPAQUE || data->kind == IR_TYPE_MEMREF) {
    return true; /* types of other dialects pass; buffers have messages of their own */
  }
  if ((data->kind == IR_TYPE_TOKEN && (input->classes & INFER_TOKEN) != 0)
      || (data->kind == IR_TYPE_TUPLE && (input->classes & INFER_TUPLE) != 0)) {
    return true;
  }
  if (data->kind != IR_TYPE_TENSOR && data->kind != IR_TYPE_UNRANKED) {
    return fail_type(infer, op, input, what, index, type, "which is no tensor");
  }
  unsigned bits = class_of(infer->module, data->element);
  if (bits != 0 && (bits & input->classes) == 0) {
    return fail_type(infer, op, input, what, index, type, "whose elements this operation does not take");
  }
  if (!has_rank(data, input, count)) {
    return fail_type(infer, op, input, what, index, type,
                     input->rank == 1 || input->rank == SPEC_STATIC_VECTOR ? "which is no vector"
                     : input->rank == 2                                    ? "which is no matrix"
                                                                           : "which is no scalar");
  }
  bool is_known = input->rank == SPEC_STATIC || input->rank == SPEC_STATIC_VECTOR;
  if (is_known && !ir_type_is_static(infer->module, type)) {
    return fail_type(infer, op, input, what, index, type, "whose sizes must be known here");
  }
  return true;
}

static bool check_kind(struct infer *infer, struct ir_op op, const struct spec_input *input, uint32_t index) {
  struct ir_type type = ir_value_type(infer->module, ir_op_operand(infer->module, op, index));
  switch ((int)ir_type_get(infer->module, type)->kind) {
  case IR_TYPE_TOKEN:
    return (input->classes & (KIND_TOKEN | KIND_ANY)) != 0
           || fail_type(infer, op, input, "operand", index, type, "a token is not expected here");
  case IR_TYPE_OPAQUE:
    return true;
  case IR_TYPE_TUPLE:
    return (input->classes & (KIND_TUPLE | KIND_ANY)) != 0
           || fail_type(infer, op, input, "operand", index, type, "a tuple is not expected here");
  case IR_TYPE_FUTURE:
    return (input->classes & (KIND_FUTURE | KIND_ANY)) != 0
           || fail_type(infer, op, input, "operand", index, type, "a future is not expected here");
  default:
    return (input->classes & KIND_ANY) != 0
           || fail_type(infer, op, input, "operand", index, type,
                        (input->classes & KIND_TOKEN) != 0   ? "expected a token"
                        : (input->classes & KIND_TUPLE) != 0 ? "expected a tuple"
                                                             : "expected a future");
  }
}

/* Operands that a row is about: [*first, *end). */
static void place_range(const struct spec_input *input, uint32_t total, uint32_t *first, uint32_t *end) {
  uint32_t half = total / 2;
  *first = input->first;
  *end = total;
  switch ((enum spec_place)input->place) {
  case PLACE_NONE:
    *end = *first;
    break;
  case PLACE_AT:
    *end = input->first < total ? input->first + 1u : input->first;
    break;
  case PLACE_REST:
    break;
  case PLACE_BUT_LAST:
    *end = total > 0 ? total - 1 : 0;
    break;
  case PLACE_LAST:
    *first = total > 0 ? total - 1 : 0;
    break;
  case PLACE_FIRST_HALF:
  case PLACE_SCATTER_INPUTS:
    *end = half;
    break;
  case PLACE_SECOND_HALF:
    *first = half;
    break;
  case PLACE_SCATTER_INDICES:
    *first = half;
    *end = half < total ? half + 1 : half;
    break;
  case PLACE_SCATTER_UPDATES:
    *first = half + 1;
    break;
  }
}

static struct known_type *known_slot(struct infer *infer, uint32_t type, uint16_t classes) {
  return &infer->known_types[(type * 5 + classes) % KNOWN_TYPES];
}

static bool check_value(struct infer *infer, struct ir_op op, const struct spec_input *input, uint32_t index,
                        uint32_t count) {
  struct ir_value value =
      input->what == SPEC_RESULT ? ir_op_result(infer->module, op, index) : ir_op_operand(infer->module, op, index);
  struct ir_type type = ir_value_type(infer->module, value);
  if (input->what != SPEC_TENSOR || input->rank != SPEC_ANY_RANK) {
    return input->what == SPEC_KIND ? check_kind(infer, op, input, index)
                                    : check_tensor(infer, op, input, type, index, count);
  }
  struct known_type *known = known_slot(infer, type.id, input->classes);
  if (known->type == type.id && known->classes == input->classes) {
    return true;
  }
  if (!check_tensor(infer, op, input, type, index, count)) {
    return false;
  }
  *known = (struct known_type){type.id, input->classes};
  return true;
}

static bool check_values(struct infer *infer, struct ir_op op, const struct spec_input *input) {
  const struct ir_op_data *data = ir_op_get(infer->module, op);
  uint32_t first = input->first, end = first + 1, total = data->operand_count;
  if (input->place != PLACE_AT || input->what == SPEC_RESULT || first >= total) {
    place_range(input, input->what == SPEC_RESULT ? data->result_count : total, &first, &end);
  }
  for (uint32_t i = first; i < end; i++) {
    if (!check_value(infer, op, input, i, end - first)) {
      return false;
    }
  }
  return true;
}

/* ---- attributes ---- */

/* Elements of type `dtype` in `rank` dimensions; an array<T: ...> has one. */
static bool is_table(const struct ir_module *module, const struct ir_attr_data *data, enum dtype dtype, uint32_t rank) {
  struct ir_type scalar = ir_type_scalar(module, dtype);
  struct shape shape;
  if (data->kind == IR_ATTR_DENSE_ARRAY) {
    return rank == 1 && data->type.id == scalar.id;
  }
  return data->kind == IR_ATTR_DENSE && shape_from_type(module, data->type, &shape) && shape.element.id == scalar.id
         && (shape.rank == rank || shape_elements(&shape) == 0);
}

static bool is_word_of(const char *words, const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; (at = strstr(at, word)) != NULL; at += length) {
    bool starts = at == words || at[-1] == ' ', ends = at[length] == ' ' || at[length] == '\0';
    if (length > 0 && starts && ends) {
      return true;
    }
  }
  return false;
}

static bool is_integer(const struct ir_module *module, const struct ir_attr_data *data, enum dtype dtype) {
  return data->kind == IR_ATTR_INTEGER && data->type.id == ir_type_scalar(module, dtype).id;
}

/* What an attribute of this kind should have been; NULL when it is. */
static const char *attribute_trouble(const struct ir_module *module, const struct spec_input *input,
                                     const struct ir_attr_data *data) {
  switch ((enum spec_attribute)input->classes) {
  case SPEC_S64:
    return is_integer(module, data, DTYPE_I64) ? NULL : "an integer of type i64";
  case SPEC_S32:
    return is_integer(module, data, DTYPE_I32) ? NULL : "an integer of type i32";
  case SPEC_F32:
    return data->kind == IR_ATTR_FLOAT && data->type.id == ir_type_scalar(module, DTYPE_F32).id
               ? NULL
               : "a number of type f32";
  case SPEC_BOOLEAN:
    return data->kind == IR_ATTR_BOOL ? NULL : "true or false";
  case SPEC_FLAG:
    return data->kind == IR_ATTR_BOOL || data->kind == IR_ATTR_UNIT ? NULL : "a flag";
  case SPEC_STRING:
    return data->kind == IR_ATTR_STRING ? NULL : "a string";
  case SPEC_SYMBOL:
    return data->kind == IR_ATTR_SYMBOL ? NULL : "the name of a function";
  case SPEC_ARRAY:
    return data->kind == IR_ATTR_ARRAY ? NULL : "a list";
  case SPEC_DICTIONARY:
    return data->kind == IR_ATTR_DICT ? NULL : "a dictionary";
  case SPEC_CONFIG:
    return data->kind == IR_ATTR_DICT || data->kind == IR_ATTR_STRING ? NULL : "a string or a dictionary";
  case SPEC_ELEMENTS:
    return data->kind == IR_ATTR_DENSE || data->kind == IR_ATTR_RESOURCE || data->kind == IR_ATTR_OPAQUE
               ? NULL
               : "a constant tensor";
  case SPEC_ENUM: {
    const char *words = spec_enum_words(input->name);
    const char *word = ir_text(module, data->kind == IR_ATTR_ENUM ? data->text2 : data->text);
    return data->kind == IR_ATTR_ENUM && is_word_of(words, word) ? NULL : words;
  }
  case SPEC_S64_LIST:
    return is_table(module, data, DTYPE_I64, 1) ? NULL : "a list of integers of type i64";
  case SPEC_BOOLEAN_LIST:
    return is_table(module, data, DTYPE_I1, 1) ? NULL : "a list of true and false";
  case SPEC_S64_TABLE:
    return is_table(module, data, DTYPE_I64, 2) ? NULL : "a table of integers of type i64 with two dimensions";
  case SPEC_GROUPS:
    return is_table(module, data, DTYPE_I64, 2) || data->kind == IR_ATTR_STRUCT || data->kind == IR_ATTR_OPAQUE
               ? NULL
               : "a table of integers of type i64 with two dimensions, or axes of a mesh";
  }
  return NULL;
}

static bool check_attribute(struct infer *infer, struct ir_op op, const struct spec_input *input, struct ir_attr attr) {
  const char *trouble = attribute_trouble(infer->module, input, ir_attr_get(infer->module, attr));
  if (trouble == NULL) {
    return true;
  }
  char label[16];
  infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' is not %s%s%s", input->name,
              input->classes == SPEC_ENUM ? "one of " : "", trouble, label_text(input->label, label, sizeof label));
  return false;
}

bool verify_inputs(struct infer *infer, struct ir_op op) {
  uint32_t count;
  const struct spec_input *inputs = spec_inputs(ir_op_code(infer->module, op), &count);
  for (uint32_t i = 0; i < count; i++) {
    bool is_value = inputs[i].what == SPEC_TENSOR || inputs[i].what == SPEC_KIND || inputs[i].what == SPEC_RESULT;
    if (is_value && !check_values(infer, op, &inputs[i])) {
      return false;
    }
  }
  const struct ir_op_data *data = ir_op_get(infer->module, op);
  for (uint32_t a = 0; a < data->attr_count; a++) {
    const uint32_t *pair = infer->module->lists.data + data->attr_first + 2 * a;
    const char *name = ir_text(infer->module, pair[0]);
    if (name[0] == 's' && strcmp(name, "sdy.sharding") == 0
        && !verify_value_sharding(infer, op, (struct ir_attr){pair[1]})) {
      return false;
    }
    for (uint32_t i = 0; i < count; i++) {
      bool is_it =
          inputs[i].what == SPEC_ATTRIBUTE && inputs[i].name[0] == name[0] && strcmp(inputs[i].name, name) == 0;
      if (is_it && !check_attribute(infer, op, &inputs[i], (struct ir_attr){pair[1]})) {
        return false;
      }
    }
  }
  return true;
}
