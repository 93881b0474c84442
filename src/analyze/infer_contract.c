/* Inference of contractions (dot, dot_general, einsum, convolution) and of other library kernels (fft, factorisations,
 * batch normalisation, random bits). Constraint numbers of the StableHLO specification. */
#include <string.h>

#include "analyze/verify_int.h"

static bool operand_shape(const struct infer *infer, struct ir_op op, uint32_t i, struct shape *out) {
  return shape_of(infer->module, ir_op_operand(infer->module, op, i), out);
}

/* ---- dot ---- */

void infer_op_dot(struct infer *infer, struct ir_op op) {
  struct shape lhs, rhs, out;
  if (!operand_shape(infer, op, 0, &lhs) || !operand_shape(infer, op, 1, &rhs)) {
    return;
  }
  if (lhs.rank < 1 || lhs.rank > 2 || rhs.rank < 1 || rhs.rank > 2) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "operands must have rank 1 or 2, found %u and %u", lhs.rank,
                rhs.rank);
    return;
  }
  if (!dims_agree(lhs.dims[lhs.rank - 1], rhs.dims[0])) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "contracted dimensions differ: %lld and %lld",
                (long long)lhs.dims[lhs.rank - 1], (long long)rhs.dims[0]);
    return;
  }
  shape_init(&out, lhs.rank + rhs.rank - 2, (struct ir_type){0});
  if (lhs.rank == 2) {
    out.dims[0] = lhs.dims[0];
  }
  if (rhs.rank == 2) {
    out.dims[out.rank - 1] = rhs.dims[1];
  }
  infer_result(infer, op, 0, &out);
}

/* Pairs of dimensions that must agree in size; marks them as used. */
static bool pair_dims(struct infer *infer, struct ir_op op, const char *what, const struct shape *lhs,
                      const struct shape *rhs, const struct ints *l, const struct ints *r, bool *lhs_used,
                      bool *rhs_used) {
  bool is_batch = what[0] == 'b';
  if (l->count != r->count) {
    infer_error_rule(infer, op, is_batch ? RULE_BATCH_COUNT : RULE_CONTRACT_COUNT, DIAG_E0206_ATTRIBUTE_VALUE,
                     "%u and %u %s dimensions", l->count, r->count, what);
    return false;
  }
  if (!infer_check_dims_rule(infer, op, what, l, lhs->rank, is_batch ? RULE_LHS_BATCH : RULE_LHS_CONTRACT,
                             RULE_LHS_UNIQUE)
      || !infer_check_dims_rule(infer, op, what, r, rhs->rank, is_batch ? RULE_RHS_BATCH : RULE_RHS_CONTRACT,
                                RULE_RHS_UNIQUE)) {
    return false;
  }
  for (uint32_t i = 0; i < l->count; i++) {
    if (lhs_used[l->v[i]] || rhs_used[r->v[i]]) {
      infer_error_rule(infer, op, lhs_used[l->v[i]] ? RULE_LHS_UNIQUE : RULE_RHS_UNIQUE, DIAG_E0206_ATTRIBUTE_VALUE,
                       "a dimension is both batching and contracting");
      return false;
    }
    lhs_used[l->v[i]] = rhs_used[r->v[i]] = true;
    if (!dims_agree(lhs->dims[l->v[i]], rhs->dims[r->v[i]])) {
      infer_error_rule(infer, op, is_batch ? RULE_BATCH_SIZE : RULE_CONTRACT_SIZE, DIAG_E0204_OPERAND_TYPE,
                       "%s dimensions %lld and %lld have sizes %lld and %lld", what, (long long)l->v[i],
                       (long long)r->v[i], (long long)lhs->dims[l->v[i]], (long long)rhs->dims[r->v[i]]);
      return false;
    }
  }
  return true;
}

void infer_op_dot_general(struct infer *infer, struct ir_op op) {
  struct shape lhs, rhs, out;
  struct dot_dims dims;
  bool lhs_used[SHAPE_MAX_RANK] = {false}, rhs_used[SHAPE_MAX_RANK] = {false};
  if (!dot_dims_of(infer->module, op, &dims)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'dot_dimension_numbers' is malformed");
    return;
  }
  if (!operand_shape(infer, op, 0, &lhs) || !operand_shape(infer, op, 1, &rhs)
      || !pair_dims(infer, op, "batching", &lhs, &rhs, &dims.lhs_batch, &dims.rhs_batch, lhs_used, rhs_used)
      || !pair_dims(infer, op, "contracting", &lhs, &rhs, &dims.lhs_contract, &dims.rhs_contract, lhs_used, rhs_used)) {
    return;
  }
  uint32_t batch = dims.lhs_batch.count, contract = dims.lhs_contract.count;
  uint32_t rank = lhs.rank + rhs.rank - batch - 2 * contract;
  if (rank > SHAPE_MAX_RANK) {
    return;
  }
  shape_init(&out, rank, (struct ir_type){0});
  uint32_t n = 0;
  for (uint32_t i = 0; i < batch; i++) {
    out.dims[n++] = dims_meet(lhs.dims[dims.lhs_batch.v[i]], rhs.dims[dims.rhs_batch.v[i]]);
  }
  for (uint32_t i = 0; i < lhs.rank; i++) {
    if (!lhs_used[i]) {
      out.dims[n++] = lhs.dims[i];
    }
  }
  for (uint32_t i = 0; i < rhs.rank; i++) {
    if (!rhs_used[i]) {
      out.dims[n++] = rhs.dims[i];
    }
  }
  infer_result(infer, op, 0, &out);
}

/* ---- einsum ---- */

/* Sizes of the letters of one operand's term; returns the text behind it, NULL for forms that are passed over
 * ("..."). */
static const char *read_term(const char *text, const struct shape *shape, int64_t *sizes, bool *is_valid) {
  uint32_t i = 0;
  for (; *text != '\0' && *text != ',' && *text != '-'; text++) {
    if (*text == ' ') {
      continue;
    }
    unsigned letter = (unsigned char)*text;
    if (letter == '.' || letter >= 128) {
      return NULL;
    }
    if (i >= shape->rank || !dims_agree(sizes[letter], shape->dims[i])) {
      *is_valid = false;
      return text;
    }
    sizes[letter] = dims_meet(sizes[letter], shape->dims[i++]);
  }
  *is_valid = i == shape->rank;
  return text;
}

void infer_op_einsum(struct infer *infer, struct ir_op op) {
  struct shape shape, out;
  int64_t sizes[128];
  const char *text = enum_of(infer->module, op, "einsum_config");
  uint32_t count = ir_op_get(infer->module, op)->operand_count;
  for (unsigned i = 0; i < 128; i++) {
    sizes[i] = IR_DYNAMIC;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool is_valid = true;
    if (!operand_shape(infer, op, i, &shape)) {
      return;
    }
    text = read_term(text, &shape, sizes, &is_valid);
    if (text == NULL) {
      return;
    }
    bool has_next = i + 1 < count ? *text == ',' : *text == '-' && text[1] == '>';
    if (!is_valid || !has_next) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'einsum_config' does not fit operand %u", i);
      return;
    }
    text += i + 1 < count ? 1 : 2;
  }
  shape_init(&out, 0, (struct ir_type){0});
  for (; *text != '\0'; text++) {
    if ((unsigned char)*text >= 128 || *text == '.' || out.rank >= SHAPE_MAX_RANK) {
      return;
    }
    if (*text != ' ') {
      out.dims[out.rank++] = sizes[(unsigned char)*text];
    }
  }
  infer_result(infer, op, 0, &out);
}

/* ---- convolution ---- */

static bool is_dimension(int64_t value, uint32_t rank) {
  return value >= 0 && value < (int64_t)rank;
}

/* Every dimension of a rank-`rank` shape is named once. */
static bool is_cover(uint32_t rank, int64_t a, int64_t b, const struct ints *spatial) {
  bool is_used[SHAPE_MAX_RANK] = {false};
  if (!is_dimension(a, rank) || !is_dimension(b, rank) || a == b) {
    return false;
  }
  is_used[a] = is_used[b] = true;
  for (uint32_t i = 0; i < spatial->count; i++) {
    if (!is_dimension(spatial->v[i], rank) || is_used[spatial->v[i]]) {
      return false;
    }
    is_used[spatial->v[i]] = true;
  }
  return true;
}

/* The three lists of dimension numbers: as many spatial dimensions as the rank asks for, and each dimension once. */
static bool check_conv_dims(struct infer *infer, struct ir_op op, const struct conv_dims *dims, uint32_t rank) {
  const struct {
    const char *name;
    int64_t a, b;
    const struct ints *spatial;
    int count_number, cover_number;
  } lists[] = {{"input", dims->input_batch, dims->input_feature, &dims->input_spatial, 12, 13},
               {"kernel", dims->kernel_input, dims->kernel_output, &dims->kernel_spatial, 17, 18},
               {"output", dims->output_batch, dims->output_feature, &dims->output_spatial, 19, 20}};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    bool has_count = lists[i].spatial->count + 2 == rank;
    if (!has_count && rank >= 2) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                  "'dimension_numbers' names %u spatial %s dimensions of operands of rank %u (C%d)",
                  lists[i].spatial->count, lists[i].name, rank, lists[i].count_number);
      return false;
    }
    if (!has_count || !is_cover(rank, lists[i].a, lists[i].b, lists[i].spatial)) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                  "'dimension_numbers' does not name each %s dimension of operands of rank %u once (C%d)",
                  lists[i].name, rank, lists[i].cover_number);
      return false;
    }
  }
  return true;
}

static bool check_groups(struct infer *infer, struct ir_op op, const struct conv_dims *dims, const struct shape *lhs,
                         const struct shape *rhs, int64_t feature_groups, int64_t batch_groups) {
  if (feature_groups <= 0 || batch_groups <= 0) {
    infer_error_at_braces(infer, op, feature_groups <= 0 ? "feature_group_count" : "batch_group_count",
                          DIAG_E0206_ATTRIBUTE_VALUE,
                          feature_groups <= 0 ? "'feature_group_count' must be positive (C21)"
                                              : "'batch_group_count' must be positive (C22)");
    return false;
  }
  if (feature_groups > 1 && batch_groups > 1) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "feature and batch group counts are %lld and %lld (C23)",
                (long long)feature_groups, (long long)batch_groups);
    return false;
  }
  int64_t input_feature = lhs->dims[dims->input_feature], kernel_input = rhs->dims[dims->kernel_input];
  int64_t kernel_output = rhs->dims[dims->kernel_output], batch = lhs->dims[dims->input_batch];
  bool has_features = dim_is_static(input_feature) && dim_is_static(kernel_input);
  bool has_rest = dim_is_static(input_feature) && input_feature % feature_groups != 0;
  if (has_rest || (has_features && input_feature / feature_groups != kernel_input)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE,
                "%lld input features in %lld groups do not fit %lld kernel input features (C%d)",
                (long long)input_feature, (long long)feature_groups, (long long)kernel_input, has_rest ? 11 : 14);
    return false;
  }
  bool has_outputs = dim_is_static(kernel_output);
  if (has_outputs && (kernel_output % feature_groups != 0 || kernel_output % batch_groups != 0)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "%lld kernel output features do not divide into the groups (C%d)",
                (long long)kernel_output, kernel_output % batch_groups != 0 ? 15 : 16);
    return false;
  }
  if (dim_is_static(batch) && batch % batch_groups != 0) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "a batch of %lld does not divide into %lld groups (C10)",
                (long long)batch, (long long)batch_groups);
    return false;
  }
  return true;
}

static void infer_convolution(struct infer *infer, struct ir_op op, const int64_t *padding) {
  struct shape lhs, rhs, out;
  struct conv_dims dims;
  struct window_dim windows[SHAPE_MAX_RANK];
  int64_t feature_groups = int_of(infer->module, op, "feature_group_count", 1);
  int64_t batch_groups = int_of(infer->module, op, "batch_group_count", 1);
  if (!operand_shape(infer, op, 0, &lhs) || !operand_shape(infer, op, 1, &rhs)) {
    return;
  }
  if (!conv_dims_of(infer->module, op, &dims)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'dimension_numbers' is malformed");
    return;
  }
  uint32_t spatial = dims.input_spatial.count;
  if (lhs.rank != rhs.rank) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the operands have rank %u and %u (C1)", lhs.rank, rhs.rank);
    return;
  }
  if (!check_conv_dims(infer, op, &dims, lhs.rank)) {
    return;
  }
  for (uint32_t i = 0; i < spatial; i++) {
    windows[i].size = rhs.dims[dims.kernel_spatial.v[i]];
  }
  if (!infer_windows(infer, op, &window_names_conv, spatial, windows)
      || !check_groups(infer, op, &dims, &lhs, &rhs, feature_groups, batch_groups)) {
    return;
  }
  shape_init(&out, lhs.rank, (struct ir_type){0});
  int64_t batch = lhs.dims[dims.input_batch];
  out.dims[dims.output_batch] = dim_is_static(batch) ? batch / batch_groups : IR_DYNAMIC;
  out.dims[dims.output_feature] = rhs.dims[dims.kernel_output];
  for (uint32_t i = 0; i < spatial; i++) {
    if (padding != NULL) {
      windows[i].pad_low = padding[2 * i];
      windows[i].pad_high = padding[2 * i + 1];
    }
    bool is_known = ir_op_code(infer->module, op) == IR_OP_CONVOLUTION || padding != NULL;
    out.dims[dims.output_spatial.v[i]] =
        is_known ? window_output(lhs.dims[dims.input_spatial.v[i]], &windows[i]) : IR_DYNAMIC;
  }
  struct shape stated;
  bool is_ranked = shape_of(infer->module, ir_op_result(infer->module, op, 0), &stated);
  if (is_ranked && stated.rank != out.rank) {
    infer_error(infer, op, DIAG_E0205_RESULT_TYPE, "the result has rank %u, the operands have %u (C26)", stated.rank,
                out.rank);
    return;
  }
  infer_result(infer, op, 0, &out);
}

void infer_op_convolution(struct infer *infer, struct ir_op op) {
  infer_convolution(infer, op, NULL);
}

void infer_op_dynamic_conv(struct infer *infer, struct ir_op op) {
  struct fold_const padding;
  struct shape lhs;
  bool is_known = operand_shape(infer, op, 0, &lhs) && lhs.rank >= 2
                  && infer_constant(infer, ir_op_operand(infer->module, op, 2), &padding)
                  && padding.count == 2 * (lhs.rank - 2);
  infer_convolution(infer, op, is_known ? padding.v : NULL);
}

/* ---- kernels ---- */

void infer_op_fft(struct infer *infer, struct ir_op op) {
  struct shape shape;
  struct ints length;
  const char *type = enum_of(infer->module, op, "fft_type");
  if (!operand_shape(infer, op, 0, &shape) || !ints_of(infer->module, op, "fft_length", &length)) {
    return;
  }
  bool is_many = length.count >= 1 && length.count <= 3;
  if (!is_many || length.count > shape.rank) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'fft_length' has %u entries for an operand of rank %u (C%d)",
                length.count, shape.rank, is_many ? 1 : 3);
    return;
  }
  bool is_real = strcmp(type, "RFFT") == 0, is_inverse_real = strcmp(type, "IRFFT") == 0;
  for (uint32_t i = 0; i < length.count; i++) {
    uint32_t dim = shape.rank - length.count + i;
    bool is_last = i + 1 == length.count;
    int64_t expected = is_inverse_real && is_last ? length.v[i] / 2 + 1 : length.v[i];
    if (is_inverse_real && is_last && length.v[i] == 0) {
      expected = 0;
    }
    if (length.v[i] < 0 || !dims_agree(shape.dims[dim], expected)) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                  "a transform of length %lld does not fit operand dimension %u of size %lld (C%d)",
                  (long long)length.v[i], dim, (long long)shape.dims[dim], is_inverse_real && is_last ? 5 : 4);
      return;
    }
    shape.dims[dim] = dims_meet(shape.dims[dim], expected);
  }
  if (is_real) {
    int64_t *last = &shape.dims[shape.rank - 1];
    *last = dim_is_static(*last) ? (*last == 0 ? 0 : *last / 2 + 1) : IR_DYNAMIC;
  } else if (is_inverse_real) {
    shape.dims[shape.rank - 1] = length.v[length.count - 1];
  }
  shape.element = (struct ir_type){0};
  infer_result(infer, op, 0, &shape);
}

void infer_op_cholesky(struct infer *infer, struct ir_op op) {
  struct shape shape;
  if (!operand_shape(infer, op, 0, &shape)) {
    return;
  }
  if (shape.rank < 2 || !dims_agree(shape.dims[shape.rank - 1], shape.dims[shape.rank - 2])) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the operand is not a batch of square matrices (C%d)",
                shape.rank < 2 ? 2 : 3);
    return;
  }
  infer_result(infer, op, 0, &shape);
}

void infer_op_triangular_solve(struct infer *infer, struct ir_op op) {
  struct shape a, b;
  if (!operand_shape(infer, op, 0, &a) || !operand_shape(infer, op, 1, &b)) {
    return;
  }
  if (!elements_agree(infer->module, a.element, b.element)) {
    infer_error_rule(infer, op, RULE_OPERANDS_ELEMENT, DIAG_E0204_OPERAND_TYPE,
                     "the operands have different element types");
    return;
  }
  if (a.rank < 2 || a.rank != b.rank || !dims_agree(a.dims[a.rank - 1], a.dims[a.rank - 2])) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE,
                "operands are not square matrices and right sides of one rank (C%d)",
                a.rank < 2 || a.rank != b.rank ? 2 : 3);
    return;
  }
  uint32_t side = int_of(infer->module, op, "left_side", 1) != 0 ? b.rank - 2 : b.rank - 1;
  if (!dims_agree(a.dims[a.rank - 1], b.dims[side])) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "a matrix of size %lld does not fit dimension %u of size %lld (C3)",
                (long long)a.dims[a.rank - 1], side, (long long)b.dims[side]);
    return;
  }
  for (uint32_t i = 0; i + 2 < a.rank; i++) {
    if (!dims_agree(a.dims[i], b.dims[i])) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "batch dimension %u differs (C3)", i);
      return;
    }
  }
  infer_result(infer, op, 0, &b);
}

void infer_op_batch_norm(struct infer *infer, struct ir_op op) {
  struct shape shape, feature;
  int64_t index = int_of(infer->module, op, "feature_index", -1);
  enum ir_opcode opcode = ir_op_code(infer->module, op);
  if (!operand_shape(infer, op, 0, &shape)) {
    return;
  }
  if (!is_dimension(index, shape.rank)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'feature_index' is %lld, but the rank is %u (C1)",
                (long long)index, shape.rank);
    return;
  }
  for (uint32_t i = 1; i < ir_op_get(infer->module, op)->operand_count; i++) {
    if (operand_shape(infer, op, i, &feature) && !elements_agree(infer->module, feature.element, shape.element)) {
      infer_error_rule(infer, op, RULE_OPERANDS_ELEMENT, DIAG_E0204_OPERAND_TYPE,
                       "operand %u has another element type than operand 0", i);
      return;
    }
  }
  struct shape scale;
  for (uint32_t i = 2; opcode == IR_OP_BATCH_NORM_GRAD && i < 4; i++) {
    if (operand_shape(infer, op, 1, &scale) && operand_shape(infer, op, i, &feature)
        && !shapes_agree(&scale, &feature)) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "operands 1 and %u have different shapes (C4)", i);
      return;
    }
  }
  uint32_t features = opcode == IR_OP_BATCH_NORM_GRAD ? 4 : ir_op_get(infer->module, op)->operand_count;
  for (uint32_t i = 1; i < features; i++) {
    bool is_ranked = operand_shape(infer, op, i, &feature);
    if (is_ranked && (feature.rank != 1 || !dims_agree(feature.dims[0], shape.dims[index]))) {
      infer_error_rule(infer, op, (enum constraint_rule)(RULE_FEATURES_1 + (i - 1)), DIAG_E0204_OPERAND_TYPE,
                       "operand %u is not a vector of %lld features", i, (long long)shape.dims[index]);
      return;
    }
  }
  infer_result(infer, op, 0, &shape);
  shape_init(&feature, 1, shape.element);
  feature.dims[0] = shape.dims[index];
  infer_result(infer, op, 1, &feature);
  infer_result(infer, op, 2, &feature);
}

void infer_op_rng_bit_generator(struct infer *infer, struct ir_op op) {
  struct shape state;
  const char *algorithm = enum_of(infer->module, op, "rng_algorithm");
  bool is_philox = strcmp(algorithm, "PHILOX") == 0, is_threefry = strcmp(algorithm, "THREE_FRY") == 0;
  bool is_list = operand_shape(infer, op, 0, &state) && state.rank == 1 && dim_is_static(state.dims[0])
                 && state.element.id == ir_type_scalar(infer->module, DTYPE_UI64).id;
  if (is_list && (is_philox || is_threefry) && state.dims[0] != 2 && !(is_philox && state.dims[0] == 3)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "the state of %s has %s numbers, found %lld (C2)", algorithm,
                is_philox ? "2 or 3" : "2", (long long)state.dims[0]);
    return;
  }
  infer_result_type(infer, op, 0, ir_value_type(infer->module, ir_op_operand(infer->module, op, 0)));
}
