/* Operations without computations that need more than a row of hlo_ops.def. See hlo_build.h. */
#include "import/hlo_build.h"

static const char *place(const struct hlo_builder *b, const struct hlo_instruction *in) {
  return b->hlo->source->text + in->offset;
}

static uint32_t rank_of(const struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                        uint32_t i) {
  return hlo_operand(b, f, in, i)->shape->rank;
}

bool build_plain(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  return hlo_push_operands(b, f, in) && hlo_push_row_attrs(b, in) && hlo_emit(b, f, in, b->row->opcode, NULL, 0);
}

/* Its slot was set when the block began. */
bool build_parameter(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  (void)b;
  (void)f;
  (void)in;
  return true;
}

/* ---- tuples ---- */

bool build_tuple(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_slot slot = {(uint32_t)b->leaves.count, 0, HLO_SLOT_VALUES};
  for (uint32_t i = 0; i < in->operand_count; i++) {
    struct hlo_slot part = hlo_slot_of(b, f, in, i);
    if (!vec_reserve(&b->leaves, b->leaves.count + part.count)) {
      return hlo_ok(b, false);
    }
    for (uint32_t k = 0; k < part.count; k++) {
      b->leaves.data[b->leaves.count++] = b->leaves.data[part.first + k];
    }
    slot.count += part.count;
  }
  if (slot.count != in->shape->leaf_count) {
    return hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "this tuple has %u values, but its shape has %u",
                    slot.count, in->shape->leaf_count);
  }
  return hlo_set_slot(b, f, in, slot);
}

bool build_get_tuple_element(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  const struct hlo_shape *shape = hlo_operand(b, f, in, 0)->shape;
  struct hlo_slot whole = hlo_slot_of(b, f, in, 0);
  struct hlo_span text = hlo_attr_find(b->hlo, in, "index");
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t index;
  if (text.text == NULL || !hlo_integer(&c, &index) || index < 0 || index >= (int64_t)shape->count
      || whole.count != shape->leaf_count) {
    return hlo_fail(b, DIAG_E0206_ATTRIBUTE_VALUE, text.text != NULL ? text.text : place(b, in),
                    "'index' must name one of the %u elements of the operand", shape->count);
  }
  struct hlo_slot slot = {whole.first + shape->first_leaf[index], shape->parts[index]->leaf_count, HLO_SLOT_VALUES};
  if (slot.count != in->shape->leaf_count) {
    return hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "element %u of the operand has another shape",
                    (unsigned)index);
  }
  return hlo_set_slot(b, f, in, slot);
}

bool build_forward(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  return hlo_set_slot(b, f, in, hlo_slot_of(b, f, in, 0));
}

static bool emit_constant(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                          const struct hlo_shape *shape, struct hlo_span text) {
  struct ir_attr value = {0};
  b->result_shape = shape;
  bool ok = hlo_literal(b, shape, text, &value) && hlo_push_attr(b, "value", value)
            && hlo_emit(b, f, in, IR_OP_CONSTANT, NULL, 0);
  b->result_shape = NULL;
  return ok;
}

/* (literal, literal, ...): a constant per leaf. Shapes are not deeper than hlo->max_depth. */
static bool constant_leaves(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in,
                            const struct hlo_shape *shape, struct hlo_cursor *c) {
  bool is_elided = hlo_literal_is_elided(in->inside);
  if (shape->kind != HLO_SHAPE_TUPLE) {
    return emit_constant(b, f, in, shape, is_elided ? in->inside : hlo_literal_span(c, shape));
  }
  bool ok = is_elided || hlo_try(c, '(');
  for (uint32_t i = 0; i < shape->count && ok; i++) {
    ok = is_elided || i == 0 || hlo_try(c, ',');
    if (ok && !constant_leaves(b, f, in, shape->parts[i], c)) {
      return false;
    }
  }
  return (ok && (is_elided || hlo_try(c, ')')))
         || hlo_fail(b, DIAG_E0111_DENSE, c->at, "expected a literal for each part of the tuple, (a, b)");
}

bool build_constant(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  if (in->shape->kind != HLO_SHAPE_TUPLE) {
    return emit_constant(b, f, in, in->shape, in->inside);
  }
  struct hlo_cursor c = hlo_cursor_of(in->inside);
  struct hlo_slot slot = {(uint32_t)b->leaves.count, in->shape->leaf_count, HLO_SLOT_VALUES};
  return constant_leaves(b, f, in, in->shape, &c) && hlo_set_slot(b, f, in, slot);
}

/* The layout of an array as attributes state it, the fastest dimension first; empty for other leaves. 0 after an error. */
static struct ir_attr layout_attr(struct hlo_builder *b, const struct hlo_shape *leaf) {
  int64_t rank = leaf->rank;
  b->ints.count = 0;
  for (int64_t i = 0; i < rank; i++) {
    if (!vec_push(&b->ints, leaf->layout != NULL ? leaf->layout[i] : rank - 1 - i)) {
      (void)hlo_ok(b, false);
      return (struct ir_attr){0};
    }
  }
  struct ir_type type = ir_type_tensor(b->m, ir_type_scalar(b->m, DTYPE_INDEX), &rank, 1, (struct ir_attr){0});
  return ir_attr_dense(b->m, type, b->ints.data, b->ints.count * sizeof *b->ints.data, false);
}

/* A bitcast keeps the bytes as they lie: which elements these are depends on both layouts. */
static bool push_bitcast_layouts(struct hlo_builder *b, const struct hlo_shape *from, const struct hlo_shape *to) {
  return hlo_push_attr(b, "source_layout", layout_attr(b, from))
         && hlo_push_attr(b, "result_layout", layout_attr(b, to));
}

/* One operation per leaf. A layout other than row-major is what a copy or bitcast is about: the shape is kept as text. */
bool build_relayout(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_slot from = hlo_slot_of(b, f, in, 0);
  const struct hlo_shape *shape = b->result_shape != NULL ? b->result_shape : in->shape;
  if (shape->kind == HLO_SHAPE_ARRAY) {
    const struct hlo_shape *operand = hlo_operand(b, f, in, 0)->shape;
    bool is_unusual = shape->layout != NULL || operand->layout != NULL;
    bool is_bitcast = b->row->opcode == IR_OP_MHLO_BITCAST;
    return (!is_unusual || hlo_push_attr(b, "xla_shape", hlo_string(b, shape->text)))
           && (!is_unusual || !is_bitcast || push_bitcast_layouts(b, operand, shape)) && hlo_push_operands(b, f, in)
           && hlo_emit(b, f, in, b->row->opcode, NULL, 0);
  }
  if (from.count != shape->leaf_count) {
    return hlo_fail(b, DIAG_E0205_RESULT_TYPE, place(b, in), "the result has %u values, the operand %u",
                    shape->leaf_count, from.count);
  }
  uint32_t first = (uint32_t)b->leaves.count;
  for (uint32_t i = 0; i < from.count; i++) {
    struct ir_value value = b->leaves.data[from.first + i];
    struct ir_type type = ir_value_type(b->m, value);
    if (ir_type_is_tensor(b->m, type)) {
      struct ir_op_spec spec = {.opcode = b->row->opcode,
                                .operands = &value,
                                .operand_count = 1,
                                .result_types = &type,
                                .result_count = 1,
                                .offset = in->offset};
      struct ir_op op = ir_op_create(b->m, f->block, &spec);
      if (op.id == 0) {
        return hlo_ok(b, false);
      }
      value = ir_op_result(b->m, op, 0);
    }
    if (!vec_push(&b->leaves, value)) {
      return hlo_ok(b, false);
    }
  }
  return hlo_set_slot(b, f, in, (struct hlo_slot){first, from.count, HLO_SLOT_VALUES});
}

/* The layout of the result says whether elements move at all. */
bool build_transpose(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  bool is_unusual = in->shape->layout != NULL || hlo_operand(b, f, in, 0)->shape->layout != NULL;
  return (!is_unusual || hlo_push_attr(b, "xla_shape", hlo_string(b, in->shape->text))) && build_plain(b, f, in);
}

/* ---- structs of dimensions ---- */

struct struct_fields {
  uint32_t pairs[32];
  uint32_t count;
};

static bool add_field(struct hlo_builder *b, struct struct_fields *fields, const char *name, struct ir_attr attr) {
  uint32_t id = intern_add_cstr(&b->m->strings, name);
  if (!hlo_ok(b, id != UINT32_MAX && attr.id != 0)) {
    return false;
  }
  fields->pairs[2 * fields->count] = id;
  fields->pairs[2 * fields->count++ + 1] = attr.id;
  return true;
}

struct field_row {
  const char *from, *to;
};

/* Lists of dimensions in the order of `rows`; empty ones are left out. */
static bool add_lists(struct hlo_builder *b, const struct hlo_instruction *in, const struct field_row *rows,
                      size_t count, struct struct_fields *fields) {
  for (size_t i = 0; i < count; i++) {
    struct hlo_span text = hlo_attr_find(b->hlo, in, rows[i].from);
    if (text.text == NULL) {
      continue;
    }
    if (!hlo_ints(b, text) || (b->ints.count > 0 && !add_field(b, fields, rows[i].to, hlo_i64s(b)))) {
      return false;
    }
  }
  return true;
}

static bool push_struct(struct hlo_builder *b, const char *name, const char *mnemonic,
                        const struct struct_fields *fields) {
  return hlo_push_attr(b, name, ir_attr_struct(b->m, mnemonic, fields->pairs, fields->count));
}

static bool push_indexed(struct hlo_builder *b, const struct hlo_instruction *in, const char *name,
                         const char *mnemonic, const struct field_row *rows, size_t count) {
  struct struct_fields fields = {.count = 0};
  struct hlo_span text = hlo_attr_find(b->hlo, in, "index_vector_dim");
  if (!add_lists(b, in, rows, count, &fields)) {
    return false;
  }
  if (text.text != NULL
      && (!hlo_ints(b, text) || b->ints.count != 1
          || (b->ints.data[0] != 0 && !add_field(b, &fields, "index_vector_dim", hlo_i64(b, b->ints.data[0]))))) {
    return false;
  }
  return push_struct(b, name, mnemonic, &fields);
}

bool build_gather(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  static const struct field_row rows[] = {{"offset_dims", "offset_dims"},
                                          {"collapsed_slice_dims", "collapsed_slice_dims"},
                                          {"operand_batching_dims", "operand_batching_dims"},
                                          {"start_indices_batching_dims", "start_indices_batching_dims"},
                                          {"start_index_map", "start_index_map"}};
  return push_indexed(b, in, "dimension_numbers", "stablehlo.gather", rows, sizeof rows / sizeof rows[0])
         && build_plain(b, f, in);
}

bool build_scatter(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  static const struct field_row rows[] = {{"update_window_dims", "update_window_dims"},
                                          {"inserted_window_dims", "inserted_window_dims"},
                                          {"input_batching_dims", "input_batching_dims"},
                                          {"scatter_indices_batching_dims", "scatter_indices_batching_dims"},
                                          {"scatter_dims_to_operand_dims", "scatter_dims_to_operand_dims"}};
  struct ir_region region;
  return hlo_region(b, f, hlo_computation_of(b, in, "to_apply"), NULL, NULL, &region)
         && push_indexed(b, in, "scatter_dimension_numbers", "stablehlo.scatter", rows, sizeof rows / sizeof rows[0])
         && hlo_push_operands(b, f, in) && hlo_push_row_attrs(b, in) && hlo_emit(b, f, in, IR_OP_SCATTER, &region, 1);
}

/* ---- products ---- */

/* operand_precision={highest,default} */
static bool push_precision(struct hlo_builder *b, const struct hlo_instruction *in) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "operand_precision");
  struct hlo_cursor c = hlo_cursor_of(text);
  struct ir_attr items[4];
  uint32_t count = 0;
  static const struct hlo_attr_row row = {HLO_ENUM, "operand_precision", "precision_config", "stablehlo.precision",
                                          NULL};
  if (text.text == NULL) {
    return true;
  }
  (void)hlo_try(&c, '{');
  while (c.at < c.end && hlo_peek(&c) != '}' && count < 4) {
    struct hlo_span word = hlo_name(&c);
    if (word.length == 0 || !hlo_attr_value(b, &row, word, &items[count])) {
      return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected precisions, {highest,default}");
    }
    count++;
    (void)hlo_try(&c, ',');
  }
  return hlo_push_attr(b, "precision_config", ir_attr_array(b->m, items, count));
}

/* Algorithms of dot: element types of operands and accumulator, number of products. Source: xla_data.proto
 * (PrecisionConfig.Algorithm) and StableHLO's specification of dot_algorithm. */
static const struct {
  const char *name;
  enum dtype operand, accumulator;
  int64_t products;
  bool is_imprecise;
} algorithms[] = {
    {"dot_any_f8_any_f8_f32", DTYPE_F8E5M2, DTYPE_F32, 1, false},
    {"dot_any_f8_any_f8_f32_fast_accum", DTYPE_F8E5M2, DTYPE_F32, 1, true},
    {"dot_f16_f16_f16", DTYPE_F16, DTYPE_F16, 1, false},
    {"dot_f16_f16_f32", DTYPE_F16, DTYPE_F32, 1, false},
    {"dot_bf16_bf16_bf16", DTYPE_BF16, DTYPE_BF16, 1, false},
    {"dot_bf16_bf16_f32", DTYPE_BF16, DTYPE_F32, 1, false},
    {"dot_bf16_bf16_f32_x3", DTYPE_BF16, DTYPE_F32, 3, false},
    {"dot_bf16_bf16_f32_x6", DTYPE_BF16, DTYPE_F32, 6, false},
    {"dot_bf16_bf16_f32_x9", DTYPE_BF16, DTYPE_F32, 9, false},
    {"dot_tf32_tf32_f32", DTYPE_TF32, DTYPE_F32, 1, false},
    {"dot_tf32_tf32_f32_x3", DTYPE_TF32, DTYPE_F32, 3, false},
    {"dot_f32_f32_f32", DTYPE_F32, DTYPE_F32, 1, false},
    {"dot_f64_f64_f64", DTYPE_F64, DTYPE_F64, 1, false},
};

/* An algorithm takes the place of the precisions. Unknown ones are left out: the product keeps its element types. */
static bool push_algorithm(struct hlo_builder *b, const struct hlo_instruction *in) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "algorithm");
  for (size_t i = 0; text.text != NULL && i < sizeof algorithms / sizeof algorithms[0]; i++) {
    if (!hlo_span_is(text, algorithms[i].name)) {
      continue;
    }
    struct ir_module *m = b->m;
    struct ir_attr operand = ir_attr_type(m, ir_type_scalar(m, algorithms[i].operand));
    struct ir_attr accumulator = ir_attr_type(m, ir_type_scalar(m, algorithms[i].accumulator));
    struct struct_fields fields = {.count = 0};
    return add_field(b, &fields, "lhs_precision_type", operand) && add_field(b, &fields, "rhs_precision_type", operand)
           && add_field(b, &fields, "accumulation_type", accumulator)
           && add_field(b, &fields, "lhs_component_count", hlo_i64(b, 1))
           && add_field(b, &fields, "rhs_component_count", hlo_i64(b, 1))
           && add_field(b, &fields, "num_primitive_operations", hlo_i64(b, algorithms[i].products))
           && add_field(b, &fields, "allow_imprecise_accumulation", ir_attr_bool(m, algorithms[i].is_imprecise))
           && push_struct(b, "algorithm", "stablehlo.dot_algorithm", &fields);
  }
  return push_precision(b, in);
}

static const struct field_row dot_rows[] = {{"lhs_batch_dims", "lhs_batching_dimensions"},
                                            {"rhs_batch_dims", "rhs_batching_dimensions"},
                                            {"lhs_contracting_dims", "lhs_contracting_dimensions"},
                                            {"rhs_contracting_dims", "rhs_contracting_dimensions"}};

bool build_dot(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct struct_fields fields = {.count = 0};
  return add_lists(b, in, dot_rows, 4, &fields) && push_struct(b, "dot_dimension_numbers", "stablehlo.dot", &fields)
         && push_algorithm(b, in) && build_plain(b, f, in);
}

bool build_ragged_dot(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  static const struct field_row ragged[] = {{"lhs_ragged_dims", "lhs_ragged_dimensions"},
                                            {"rhs_group_dims", "rhs_group_dimensions"}};
  struct struct_fields fields = {.count = 0};
  return add_lists(b, in, dot_rows, 4, &fields) && add_lists(b, in, ragged, 2, &fields)
         && push_struct(b, "ragged_dot_dimension_numbers", "chlo.ragged_dot", &fields) && push_precision(b, in)
         && build_plain(b, f, in);
}

/* ---- convolution ---- */

/* One of the three groups of b01f_01io->b01f: places of the two letters and of the digits. */
static bool conv_group(struct hlo_builder *b, struct hlo_cursor *c, const char *letters, const char *const *names,
                       struct struct_fields *fields) {
  int64_t places[2] = {-1, -1}, spatial[HLO_WINDOW_MAX];
  uint32_t count = 0, width = 0, digits = 0;
  for (; c->at < c->end && (*c->at == letters[0] || *c->at == letters[1] || (*c->at >= '0' && *c->at <= '9'));
       c->at++, width++) {
    uint32_t digit = (uint32_t)(*c->at - '0');
    if (*c->at == letters[0] || *c->at == letters[1]) {
      places[*c->at == letters[1]] = width;
    } else {
      spatial[digit] = width;
      digits |= 1u << digit;
      count++;
    }
  }
  b->ints.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!vec_push(&b->ints, spatial[i])) {
      return hlo_ok(b, false);
    }
  }
  return places[0] >= 0 && places[1] >= 0 && digits == (1u << count) - 1
         && add_field(b, fields, names[0], hlo_i64(b, places[0]))
         && add_field(b, fields, names[1], hlo_i64(b, places[1])) && add_field(b, fields, names[2], hlo_i64s(b));
}

static bool push_conv_dimensions(struct hlo_builder *b, const struct hlo_instruction *in) {
  static const char *const names[3][3] = {
      {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
      {"kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"},
      {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
  struct hlo_span text = hlo_attr_find(b->hlo, in, "dim_labels");
  struct hlo_cursor c = hlo_cursor_of(text);
  struct struct_fields fields = {.count = 0};
  bool ok = text.text != NULL && conv_group(b, &c, "bf", names[0], &fields) && hlo_try(&c, '_')
            && conv_group(b, &c, "io", names[1], &fields) && hlo_try(&c, '-') && hlo_try(&c, '>')
            && conv_group(b, &c, "bf", names[2], &fields);
  return ok ? push_struct(b, "dimension_numbers", "stablehlo.conv", &fields)
            : hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text != NULL ? text.text : place(b, in),
                       "expected dim_labels, like b01f_01io->b01f");
}

static bool push_list(struct hlo_builder *b, const char *name, const int64_t *values, uint32_t count) {
  return hlo_push_attr(b, name, ir_attr_i64s(b->m, values, count));
}

static bool push_convolution_window(struct hlo_builder *b, const struct hlo_window *window) {
  uint8_t reversal[HLO_WINDOW_MAX];
  bool has_reversal = false;
  b->ints.count = 0;
  for (uint32_t i = 0; i < window->rank; i++) {
    reversal[i] = window->reversal[i] != 0;
    has_reversal = has_reversal || reversal[i] != 0;
    if (!vec_push(&b->ints, window->low[i]) || !vec_push(&b->ints, window->high[i])) {
      return hlo_ok(b, false);
    }
  }
  return hlo_push_attr(b, "padding", hlo_i64_table(b, window->rank, 2))
         && push_list(b, "window_strides", window->stride, window->rank)
         && push_list(b, "lhs_dilation", window->lhs_dilate, window->rank)
         && push_list(b, "rhs_dilation", window->rhs_dilate, window->rank)
         && (!has_reversal
             || hlo_push_attr(b, "window_reversal",
                              ir_attr_dense_array(b->m, ir_type_scalar(b->m, DTYPE_I1), reversal, window->rank)));
}

bool build_convolution(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_window window;
  return hlo_read_window(b, hlo_attr_find(b->hlo, in, "window"), &window)
         && (window.rank == 0 || push_convolution_window(b, &window)) && push_conv_dimensions(b, in)
         && push_precision(b, in) && build_plain(b, f, in);
}

/* ---- slices and padding ---- */

/* slice={[0:8:2], [1:4]} */
bool build_slice(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "slice");
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t start[HLO_WINDOW_MAX], limit[HLO_WINDOW_MAX], stride[HLO_WINDOW_MAX];
  uint32_t count = 0;
  bool ok = text.text != NULL && hlo_try(&c, '{');
  while (ok && hlo_peek(&c) != '}') {
    stride[count] = 1;
    ok = hlo_try(&c, '[') && hlo_integer(&c, &start[count]) && hlo_try(&c, ':') && hlo_integer(&c, &limit[count])
         && (!hlo_try(&c, ':') || hlo_integer(&c, &stride[count])) && hlo_try(&c, ']')
         && (hlo_try(&c, ',') || hlo_peek(&c) == '}') && ++count < HLO_WINDOW_MAX;
  }
  if (!ok) {
    return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text != NULL ? text.text : place(b, in),
                    "expected slice={[start:limit:stride], ...}");
  }
  return push_list(b, "start_indices", start, count) && push_list(b, "limit_indices", limit, count)
         && push_list(b, "strides", stride, count) && build_plain(b, f, in);
}

/* padding=0_1x2_3_1: low, high and optionally interior of every dimension */
bool build_pad(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "padding");
  struct hlo_cursor c = hlo_cursor_of(text);
  int64_t low[HLO_WINDOW_MAX], high[HLO_WINDOW_MAX], interior[HLO_WINDOW_MAX];
  uint32_t count = 0;
  bool ok = text.text != NULL || rank_of(b, f, in, 0) == 0;
  while (ok && c.at < c.end) {
    interior[count] = 0;
    ok = hlo_integer(&c, &low[count]) && hlo_try(&c, '_') && hlo_integer(&c, &high[count])
         && (!hlo_try(&c, '_') || hlo_integer(&c, &interior[count])) && (hlo_try(&c, 'x') || c.at == c.end)
         && ++count < HLO_WINDOW_MAX;
  }
  if (!ok) {
    return hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text != NULL ? text.text : place(b, in),
                    "expected padding=low_high[_interior]x...");
  }
  return push_list(b, "edge_padding_low", low, count) && push_list(b, "edge_padding_high", high, count)
         && push_list(b, "interior_padding", interior, count) && build_plain(b, f, in);
}

/* dynamic-reshape(data, size, size, ...): StableHLO takes the sizes as one tensor. */
bool build_dynamic_reshape(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_module *m = b->m;
  if (hlo_slot_of(b, f, in, 0).count != 1) {
    return hlo_fail(b, DIAG_E0204_OPERAND_TYPE, place(b, in), "a tuple cannot be reshaped");
  }
  int64_t one = 1, rank = (int64_t)in->operand_count - 1;
  enum dtype dtype = in->operand_count > 1 ? (enum dtype)hlo_operand(b, f, in, 1)->shape->dtype : DTYPE_I32;
  struct ir_type element = ir_type_scalar(m, dtype);
  struct ir_type single = ir_type_tensor(m, element, &one, 1, (struct ir_attr){0});
  struct ir_type sizes = ir_type_tensor(m, element, &rank, 1, (struct ir_attr){0});
  for (uint32_t i = 1; i < in->operand_count; i++) {
    struct hlo_slot slot = hlo_slot_of(b, f, in, i);
    if (slot.count != 1 || hlo_operand(b, f, in, i)->shape->dtype != dtype) {
      return hlo_fail(b, DIAG_E0204_OPERAND_TYPE, place(b, in), "sizes must be scalars of one type");
    }
    struct ir_op_spec spec = {.opcode = IR_OP_RESHAPE,
                              .operands = &b->leaves.data[slot.first],
                              .operand_count = 1,
                              .result_types = &single,
                              .result_count = 1,
                              .offset = in->offset};
    struct ir_op op = ir_op_create(m, f->block, &spec);
    if (op.id == 0 || !vec_push(&b->operands, ir_op_result(m, op, 0))) {
      return hlo_ok(b, false);
    }
  }
  if (rank == 0) {
    return hlo_push_operands(b, f, in) && hlo_emit(b, f, in, IR_OP_RESHAPE, NULL, 0);
  }
  if (!hlo_push_attr(b, "dimension", hlo_i64(b, 0))) {
    return false;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_CONCATENATE,
                            .operands = b->operands.data,
                            .operand_count = (uint32_t)rank,
                            .result_types = &sizes,
                            .result_count = 1,
                            .attrs = b->pairs.data,
                            .attr_count = 1,
                            .offset = in->offset};
  struct ir_op op = ir_op_create(m, f->block, &spec);
  b->operands.count = b->pairs.count = 0;
  return hlo_ok(b, op.id != 0 && vec_push(&b->operands, b->leaves.data[hlo_slot_of(b, f, in, 0).first])
                       && vec_push(&b->operands, ir_op_result(m, op, 0)))
         && hlo_emit(b, f, in, IR_OP_DYNAMIC_RESHAPE, NULL, 0);
}

/* Operands with scales per block of elements: the custom call that JAX makes of such a product. */
bool build_scaled_dot(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  static const char target[] = "__op$block_scaled_dot";
  return hlo_emit_opaque(b, f, in, target, sizeof target - 1);
}

/* ---- random numbers, streams, custom calls ---- */

/* StableHLO's rng takes the shape of the result as a third operand. */
bool build_rng(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct ir_module *m = b->m;
  const struct hlo_shape *shape = in->shape;
  int64_t rank = shape->rank;
  struct ir_type type = ir_type_tensor(m, ir_type_scalar(m, DTYPE_I64), &rank, 1, (struct ir_attr){0});
  struct ir_attr dims = ir_attr_dense(m, type, shape->dims, shape->rank * sizeof *shape->dims, false);
  if (!hlo_push_attr(b, "value", dims)) {
    return false;
  }
  struct ir_op_spec spec = {.opcode = IR_OP_CONSTANT,
                            .result_types = &type,
                            .result_count = 1,
                            .attrs = b->pairs.data,
                            .attr_count = 1,
                            .offset = in->offset};
  struct ir_op constant = ir_op_create(m, f->block, &spec);
  b->pairs.count = 0;
  return hlo_ok(b, constant.id != 0) && hlo_push_operands(b, f, in)
         && hlo_ok(b, vec_push(&b->operands, ir_op_result(m, constant, 0))) && hlo_push_row_attrs(b, in)
         && hlo_emit(b, f, in, IR_OP_RNG, NULL, 0);
}

static bool push_stream_channel(struct hlo_builder *b, const struct hlo_instruction *in, bool is_send) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "channel_id");
  struct hlo_cursor c = hlo_cursor_of(text);
  bool is_host = hlo_is_true(b->hlo, in, "is_host_transfer");
  struct struct_fields fields = {.count = 0};
  int64_t channel = 0;
  if (text.text != NULL) {
    (void)hlo_integer(&c, &channel);
  }
  return add_field(b, &fields, "handle", hlo_i64(b, channel))
         && add_field(b, &fields, "type",
                      hlo_i64(b, !is_host  ? 1
                                 : is_send ? 2
                                           : 3))
         && push_struct(b, "channel_handle", "stablehlo.channel_handle", &fields)
         && hlo_push_attr(b, "is_host_transfer", ir_attr_bool(b->m, is_host));
}

/* The leaves of send and recv as they are when done: without the number between data and token. */
bool build_stream(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  bool is_send = b->row->opcode == IR_OP_SEND;
  const struct hlo_shape *shape = in->shape;
  if (shape->kind == HLO_SHAPE_TUPLE && shape->count == 3) {
    const struct hlo_shape *kept[2] = {shape->parts[0], shape->parts[2]};
    uint32_t first[2] = {0, kept[0]->leaf_count};
    struct hlo_shape pair = {
        .kind = HLO_SHAPE_TUPLE, .count = 2, .parts = kept, .first_leaf = first, .leaf_count = first[1] + 1};
    b->result_shape = is_send ? kept[1] : &pair;
    bool ok = push_stream_channel(b, in, is_send) && build_plain(b, f, in);
    b->result_shape = NULL;
    return ok && hlo_mark_started(b, f, in);
  }
  return push_stream_channel(b, in, is_send) && build_plain(b, f, in);
}

static int64_t api_version(struct hlo_span text) {
  static const char *const names[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  for (size_t i = 0; text.text != NULL && i < sizeof names / sizeof names[0]; i++) {
    if (hlo_span_is(text, names[i])) {
      return (int64_t)i + 1;
    }
  }
  return 0;
}

/* Layouts of leaves in their order. */
struct leaf_layouts {
  VEC(struct ir_attr) items;
  bool is_unusual; /* one of them is not row-major */
};

/* Shapes are not deeper than hlo->max_depth. */
static bool add_layouts(struct hlo_builder *b, const struct hlo_shape *shape, struct leaf_layouts *layouts) {
  if (shape->kind != HLO_SHAPE_TUPLE) {
    struct ir_attr layout = layout_attr(b, shape);
    layouts->is_unusual = layouts->is_unusual || shape->layout != NULL;
    return hlo_ok(b, layout.id != 0 && vec_push(&layouts->items, layout));
  }
  for (uint32_t i = 0; i < shape->count; i++) {
    if (!add_layouts(b, shape->parts[i], layouts)) {
      return false;
    }
  }
  return true;
}

/* Those that the call asks for, {f32[2,2]{0,1}, ...} with a shape per operand, or the operands' own when `text` is absent. */
static bool add_operand_layouts(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in,
                                struct hlo_span text, struct leaf_layouts *layouts) {
  struct hlo_cursor c = hlo_cursor_of(text);
  bool is_stated = text.text != NULL, ok = !is_stated || hlo_try(&c, '{');
  for (uint32_t i = 0; i < in->operand_count && ok; i++) {
    const struct hlo_shape *shape = hlo_operand(b, f, in, i)->shape, *wanted = shape;
    ok = !is_stated || i == 0 || hlo_try(&c, ',');
    if (ok && is_stated && (wanted = hlo_parse_shape(b->hlo, &c)) == NULL) {
      return false;
    }
    ok = ok && wanted->leaf_count == shape->leaf_count;
    if (ok && !add_layouts(b, wanted, layouts)) {
      return false;
    }
  }
  return (ok && (!is_stated || hlo_try(&c, '}')))
         || hlo_fail(b, DIAG_E0105_ATTRIBUTE, text.text, "expected {shape, ...}, a shape and layout per operand");
}

/* Layouts tell a kernel from which side it sees a matrix. Operands of a call that asks for none, and whose results are
 * row-major, become row-major when XLA assigns layouts: theirs say nothing before that, which is in text without a schedule. */
static bool push_call_layouts(struct hlo_builder *b, const struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_span text = hlo_attr_find(b->hlo, in, "operand_layout_constraints");
  struct leaf_layouts operands = {0}, results = {0};
  bool ok = add_operand_layouts(b, f, in, text, &operands)
            && add_layouts(b, b->result_shape != NULL ? b->result_shape : in->shape, &results);
  struct hlo_span scheduled = hlo_attr_in(b->hlo, b->hlo->attr_first, b->hlo->attr_count, "is_scheduled");
  bool is_wanted = text.text != NULL || results.is_unusual || (operands.is_unusual && hlo_span_is(scheduled, "true"));
  if (ok && is_wanted && operands.items.count == b->operands.count) {
    ok = hlo_push_attr(b, "operand_layouts", ir_attr_array(b->m, operands.items.data, (uint32_t)operands.items.count))
         && hlo_push_attr(b, "result_layouts", ir_attr_array(b->m, results.items.data, (uint32_t)results.items.count));
  }
  vec_release(&operands.items);
  vec_release(&results.items);
  return ok;
}

/* The configuration is kept as text. A typed call (version 4) has a dictionary; what is not read as one goes beside it.
 * Called computations are those of the implementation (comparators and the like) and are left out. */
bool build_custom_call(struct hlo_builder *b, struct hlo_frame *f, const struct hlo_instruction *in) {
  struct hlo_span target = hlo_attr_find(b->hlo, in, "custom_call_target");
  struct hlo_span config = hlo_attr_find(b->hlo, in, "backend_config");
  int64_t version = api_version(hlo_attr_find(b->hlo, in, "api_version"));
  struct ir_module *m = b->m;
  if (target.text == NULL) {
    return hlo_fail(b, DIAG_E0105_ATTRIBUTE, place(b, in), "'custom-call' needs the attribute 'custom_call_target'");
  }
  bool ok = hlo_push_attr(b, "call_target_name", hlo_string(b, target));
  struct ir_attr typed = version == 4 && config.text != NULL ? hlo_typed_config(b, config) : (struct ir_attr){0};
  if (ok && config.text != NULL && typed.id == 0) {
    ok = hlo_push_attr(b, version == 4 ? "mhlo.backend_config" : "backend_config", hlo_string(b, config));
  }
  if (ok && version == 4) {
    ok = hlo_push_attr(b, "backend_config", typed.id != 0 ? typed : ir_attr_dict(m, NULL, 0));
  }
  if (ok && version > 1) {
    ok = hlo_push_attr(b, "api_version", ir_attr_integer(m, version, ir_type_scalar(m, DTYPE_I32)));
  }
  if (ok && hlo_is_true(b->hlo, in, "custom_call_has_side_effect")) {
    ok = hlo_push_attr(b, "has_side_effect", ir_attr_bool(m, true));
  }
  return ok && hlo_push_operands(b, f, in) && push_call_layouts(b, f, in)
         && hlo_emit(b, f, in, IR_OP_CUSTOM_CALL, NULL, 0);
}
