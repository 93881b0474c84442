/* Contractions: products of matrices and convolutions. A multiply-add counts as two operations; a complex one as eight
 * (4 multiplications, 2 additions inside the product, 2 for the sum). */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_ops.h"

/* How the two operands and the result of a contraction see its axes. */
struct contraction_maps {
  int16_t lhs[LOWER_MAX_RANK], rhs[LOWER_MAX_RANK], result[LOWER_MAX_RANK];
};

static const char *attr_word(const struct lower *lower, struct ir_attr attr) {
  const struct ir_attr_data *data = ir_attr_get(lower->module, attr);
  return ir_text(lower->module, data->kind == IR_ATTR_ENUM ? data->text2 : data->text);
}

/* The stricter of the operands' precisions. */
static enum work_precision contraction_precision(const struct lower *lower, struct ir_op op) {
  struct ir_attr config = ir_op_attr(lower->module, op, "precision_config");
  enum work_precision precision = WORK_PRECISION_DEFAULT;
  if (config.id == 0 || ir_attr_get(lower->module, config)->kind != IR_ATTR_ARRAY) {
    return precision;
  }
  const struct ir_attr_data *list = ir_attr_get(lower->module, config);
  for (uint32_t i = 0; i < list->list_count; i++) {
    const char *word = attr_word(lower, (struct ir_attr){lower->module->lists.data[list->list_first + i]});
    if (strcmp(word, "HIGHEST") == 0) {
      precision = WORK_PRECISION_HIGHEST;
    } else if (strcmp(word, "HIGH") == 0 && precision == WORK_PRECISION_DEFAULT) {
      precision = WORK_PRECISION_HIGH;
    }
  }
  return precision;
}

/* The type that products are computed in: that of the operands; of mixed ones the floating, then the wider. */
static enum dtype contraction_dtype(enum dtype lhs, enum dtype rhs) {
  if (dtype_is_floating(lhs) != dtype_is_floating(rhs)) {
    return dtype_is_floating(lhs) ? lhs : rhs;
  }
  return dtype_bits(rhs) > dtype_bits(lhs) ? rhs : lhs;
}

/* What an explicit dot algorithm says: the type of the products, and how many of them stand for one (the parts into which
 * operands are split, BF16_BF16_F32_X3). It takes the place of a precision: f32 means f32, not what DEFAULT makes of it. */
static void contraction_algorithm(struct lower *lower, struct ir_attr algorithm, enum dtype *dtype, uint32_t *count) {
  struct ir_attr type = ir_attr_field(lower->module, algorithm, "lhs_precision_type");
  if (type.id != 0 && ir_attr_get(lower->module, type)->kind == IR_ATTR_TYPE) {
    enum dtype stated = lower_shape_of_type(lower, ir_attr_get(lower->module, type)->type).dtype;
    *dtype = stated != DTYPE_NONE ? lower_real_type(stated) : *dtype;
  }
  struct ir_attr products = ir_attr_field(lower->module, algorithm, "num_primitive_operations");
  int64_t n = products.id != 0 ? ir_attr_get(lower->module, products)->integer : 1;
  *count *= n >= 1 && n <= 64 ? (uint32_t)n : 1;
  lower->stage.precision = *dtype == DTYPE_F32 ? WORK_PRECISION_HIGHEST : WORK_PRECISION_DEFAULT;
}

/* 2 operations per multiply-add, in the type of an explicit dot algorithm where there is one; an algorithm that adds up
 * several products of a narrower type performs them all. */
static void contraction_work(struct lower *lower, struct ir_op op, enum dtype lhs, enum dtype rhs) {
  enum dtype dtype = contraction_dtype(lhs, rhs);
  uint32_t count = dtype_class_of(dtype) == DTYPE_CLASS_COMPLEX ? 8 : 2;
  dtype = lower_real_type(dtype);
  lower->stage.precision = (uint8_t)contraction_precision(lower, op);
  struct ir_attr algorithm = ir_op_attr(lower->module, op, "algorithm");
  if (algorithm.id != 0 && ir_attr_get(lower->module, algorithm)->kind == IR_ATTR_STRUCT) {
    contraction_algorithm(lower, algorithm, &dtype, &count);
  }
  lower_work(lower, WORK_ENGINE_MATRIX, dtype, count);
}

static void contraction_end(struct lower *lower, struct ir_op op, const struct contraction_maps *maps, uint32_t lhs,
                            uint32_t rhs) {
  uint32_t result = lower_result(lower, op, 0);
  lower_read(lower, lhs, maps->lhs, UINT64_MAX, 0);
  lower_read(lower, rhs, maps->rhs, UINT64_MAX, 0);
  lower_write(lower, result, maps->result, UINT64_MAX, 0);
  lower_end(lower);
}

struct dot_dims {
  struct ir_attr lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

/* Batch axes, then rows, then columns (the order of the result), then the summed axes. */
static void dot_axes(struct lower *lower, const struct dot_dims *dims, const struct lower_shape *lhs,
                     const struct lower_shape *rhs, struct contraction_maps *maps) {
  memset(maps, 0xFF, sizeof *maps); /* -1 */
  uint32_t out = 0;
  uint64_t batches = dims->lhs_batch.id != 0 ? ir_attr_length(lower->module, dims->lhs_batch) : 0;
  for (uint64_t i = 0; i < batches && i < LOWER_MAX_RANK; i++) {
    int64_t l = lower_int_at(lower, dims->lhs_batch, i, 0), r = lower_int_at(lower, dims->rhs_batch, i, 0);
    uint32_t axis = lower_axis(lower, WORK_AXIS_BATCH, lower_dim(lhs, (uint64_t)l));
    if (l >= 0 && l < LOWER_MAX_RANK && r >= 0 && r < LOWER_MAX_RANK && out < LOWER_MAX_RANK) {
      maps->lhs[l] = maps->rhs[r] = maps->result[out++] = (int16_t)axis;
    }
  }
  for (int side = 0; side < 2; side++) {
    const struct lower_shape *shape = side == 0 ? lhs : rhs;
    int16_t *map = side == 0 ? maps->lhs : maps->rhs;
    struct ir_attr contract = side == 0 ? dims->lhs_contract : dims->rhs_contract;
    for (uint32_t d = 0; d < shape->rank && d < LOWER_MAX_RANK; d++) {
      if (map[d] < 0 && !lower_list_has(lower, contract, d)) {
        map[d] = (int16_t)lower_axis(lower, side == 0 ? WORK_AXIS_ROW : WORK_AXIS_COLUMN, lower_dim(shape, d));
        if (out < LOWER_MAX_RANK) {
          maps->result[out++] = map[d];
        }
      }
    }
  }
  uint64_t sums = dims->lhs_contract.id != 0 ? ir_attr_length(lower->module, dims->lhs_contract) : 0;
  for (uint64_t i = 0; i < sums && i < LOWER_MAX_RANK; i++) {
    int64_t l = lower_int_at(lower, dims->lhs_contract, i, 0), r = lower_int_at(lower, dims->rhs_contract, i, 0);
    uint32_t axis = lower_axis(lower, WORK_AXIS_REDUCTION, lower_dim(lhs, (uint64_t)l));
    if (l >= 0 && l < LOWER_MAX_RANK && r >= 0 && r < LOWER_MAX_RANK) {
      maps->lhs[l] = maps->rhs[r] = (int16_t)axis;
    }
  }
}

void lower_dot_general(struct lower *lower, struct ir_op op) {
  struct ir_attr numbers = ir_op_attr(lower->module, op, "dot_dimension_numbers");
  struct dot_dims dims = {{0}, {0}, {0}, {0}};
  if (numbers.id != 0) {
    dims.lhs_batch = ir_attr_field(lower->module, numbers, "lhs_batching_dimensions");
    dims.rhs_batch = ir_attr_field(lower->module, numbers, "rhs_batching_dimensions");
    dims.lhs_contract = ir_attr_field(lower->module, numbers, "lhs_contracting_dimensions");
    dims.rhs_contract = ir_attr_field(lower->module, numbers, "rhs_contracting_dimensions");
  }
  uint32_t lhs = lower_operand(lower, op, 0), rhs = lower_operand(lower, op, 1);
  struct lower_shape a = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape b = lower_shape_of(lower, lower_in(lower, op, 1));
  struct contraction_maps maps;
  lower_begin(lower, op, WORK_MATMUL);
  dot_axes(lower, &dims, &a, &b, &maps);
  contraction_work(lower, op, a.dtype, b.dtype);
  contraction_end(lower, op, &maps, lhs, rhs);
}

/* Vectors and matrices: the last dimension of the left operand against the first of the right one. */
void lower_dot(struct lower *lower, struct ir_op op) {
  uint32_t lhs = lower_operand(lower, op, 0), rhs = lower_operand(lower, op, 1);
  struct lower_shape a = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape b = lower_shape_of(lower, lower_in(lower, op, 1));
  struct contraction_maps maps;
  memset(&maps, 0xFF, sizeof maps);
  lower_begin(lower, op, WORK_MATMUL);
  uint32_t out = 0;
  for (uint32_t d = 0; d + 1 < a.rank && d < LOWER_MAX_RANK; d++) {
    maps.lhs[d] = maps.result[out++] = (int16_t)lower_axis(lower, WORK_AXIS_ROW, lower_dim(&a, d));
  }
  for (uint32_t d = 1; d < b.rank && d < LOWER_MAX_RANK && out < LOWER_MAX_RANK; d++) {
    maps.rhs[d] = maps.result[out++] = (int16_t)lower_axis(lower, WORK_AXIS_COLUMN, lower_dim(&b, d));
  }
  if (a.rank > 0 && a.rank <= LOWER_MAX_RANK && b.rank > 0) {
    uint32_t axis = lower_axis(lower, WORK_AXIS_REDUCTION, lower_dim(&a, a.rank - 1));
    maps.lhs[a.rank - 1] = maps.rhs[0] = (int16_t)axis;
  }
  contraction_work(lower, op, a.dtype, b.dtype);
  contraction_end(lower, op, &maps, lhs, rhs);
}

/* "ab,bc->ac": one letter per dimension. */
struct einsum_config {
  const char *parts[3];
  uint32_t lengths[3];
};

static bool einsum_parse(const char *text, bool is_unary, struct einsum_config *config) {
  memset(config, 0, sizeof *config);
  const char *arrow = strstr(text, "->"), *comma = strchr(text, ',');
  if (arrow == NULL || (!is_unary && (comma == NULL || comma > arrow)) || strchr(text, '.') != NULL) {
    return false; /* ellipses are not resolved here */
  }
  const char *first_end = is_unary ? arrow : comma;
  config->parts[0] = text;
  config->lengths[0] = (uint32_t)(first_end - text);
  config->parts[1] = is_unary ? arrow : comma + 1;
  config->lengths[1] = (uint32_t)(arrow - config->parts[1]);
  config->parts[2] = arrow + 2;
  config->lengths[2] = (uint32_t)strlen(arrow + 2);
  return true;
}

static bool einsum_has(const struct einsum_config *config, int part, char letter) {
  return memchr(config->parts[part], letter, config->lengths[part]) != NULL;
}

/* One axis per letter, in order of appearance; fills the map of each operand. */
static void einsum_axes(struct lower *lower, const struct einsum_config *config, const struct lower_shape *shapes,
                        struct contraction_maps *maps) {
  int16_t axis_of[128];
  memset(axis_of, 0xFF, sizeof axis_of);
  int16_t *targets[3] = {maps->lhs, maps->rhs, maps->result};
  for (int part = 0; part < 3; part++) {
    for (uint32_t d = 0; d < config->lengths[part] && d < LOWER_MAX_RANK; d++) {
      char letter = (char)(config->parts[part][d] & 0x7F);
      int16_t *axis = &axis_of[(unsigned char)letter];
      if (*axis < 0 && part < 2) {
        bool left = einsum_has(config, 0, letter), right = einsum_has(config, 1, letter);
        enum work_axis_role role = WORK_AXIS_REDUCTION;
        if (einsum_has(config, 2, letter)) {
          role = left && right ? WORK_AXIS_BATCH : left ? WORK_AXIS_ROW : WORK_AXIS_COLUMN;
        }
        *axis = (int16_t)lower_axis(lower, role, lower_dim(&shapes[part], d));
      }
      targets[part][d] = *axis;
    }
  }
}

static const char *einsum_text(const struct lower *lower, struct ir_op op) {
  struct ir_attr config = ir_op_attr(lower->module, op, "einsum_config");
  return config.id != 0 ? ir_text(lower->module, ir_attr_get(lower->module, config)->text) : "";
}

void lower_einsum(struct lower *lower, struct ir_op op) {
  struct einsum_config config;
  if (!einsum_parse(einsum_text(lower, op), false, &config)) {
    lower_opaque_op(lower, op);
    return;
  }
  uint32_t lhs = lower_operand(lower, op, 0), rhs = lower_operand(lower, op, 1);
  struct lower_shape shapes[2] = {lower_shape_of(lower, lower_in(lower, op, 0)),
                                  lower_shape_of(lower, lower_in(lower, op, 1))};
  struct contraction_maps maps;
  memset(&maps, 0xFF, sizeof maps);
  lower_begin(lower, op, WORK_MATMUL);
  einsum_axes(lower, &config, shapes, &maps);
  contraction_work(lower, op, shapes[0].dtype, shapes[1].dtype);
  contraction_end(lower, op, &maps, lhs, rhs);
}

/* A sum over the letters that the result lacks, or a transposition. */
void lower_unary_einsum(struct lower *lower, struct ir_op op) {
  struct einsum_config config;
  if (!einsum_parse(einsum_text(lower, op), true, &config)) {
    lower_opaque_op(lower, op);
    return;
  }
  uint32_t operand = lower_operand(lower, op, 0), result = lower_result(lower, op, 0);
  struct lower_shape shape = lower_shape_of(lower, lower_in(lower, op, 0));
  struct contraction_maps maps;
  memset(&maps, 0xFF, sizeof maps);
  lower_begin(lower, op, WORK_REDUCE);
  einsum_axes(lower, &config, &shape, &maps);
  for (size_t i = 0; i < lower->axes.count; i++) {
    if (lower->axes.data[i].role != WORK_AXIS_REDUCTION) {
      lower->axes.data[i].role = WORK_AXIS_PARALLEL;
    }
  }
  lower_work(lower, dtype_is_floating(shape.dtype) ? WORK_ENGINE_VECTOR : WORK_ENGINE_INTEGER,
             lower_real_type(shape.dtype), 1);
  lower_read(lower, operand, maps.lhs, UINT64_MAX, 0);
  lower_write(lower, result, maps.result, UINT64_MAX, 0);
  lower_end(lower);
}

/* Rows of the left operand are spread over groups, each with its own right operand: every row meets one group's matrix, so
 * the group dimension of the right operand counts once (XLA deletes it in the same way). */
void lower_ragged_dot(struct lower *lower, struct ir_op op) {
  const struct ir_module *module = lower->module;
  struct ir_attr numbers = ir_op_attr(module, op, "ragged_dot_dimension_numbers");
  struct ir_attr groups = {0};
  struct dot_dims dims = {{0}, {0}, {0}, {0}};
  if (numbers.id != 0) {
    struct ir_attr dot = ir_attr_field(module, numbers, "dot_dimension_numbers");
    struct ir_attr from = dot.id != 0 ? dot : numbers;
    dims.lhs_batch = ir_attr_field(module, from, "lhs_batching_dimensions");
    dims.rhs_batch = ir_attr_field(module, from, "rhs_batching_dimensions");
    dims.lhs_contract = ir_attr_field(module, from, "lhs_contracting_dimensions");
    dims.rhs_contract = ir_attr_field(module, from, "rhs_contracting_dimensions");
    groups = ir_attr_field(module, numbers, "rhs_group_dimensions");
  }
  uint32_t lhs = lower_operand(lower, op, 0), rhs = lower_operand(lower, op, 1), sizes = lower_operand(lower, op, 2);
  struct lower_shape a = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape b = lower_shape_of(lower, lower_in(lower, op, 1));
  struct contraction_maps maps;
  lower_begin(lower, op, WORK_MATMUL);
  dot_axes(lower, &dims, &a, &b, &maps);
  uint64_t group_count = groups.id != 0 ? ir_attr_length(module, groups) : 0;
  for (uint64_t i = 0; i < group_count && i < LOWER_MAX_RANK; i++) {
    int64_t d = lower_int_at(lower, groups, i, -1);
    if (d >= 0 && d < LOWER_MAX_RANK && maps.rhs[d] >= 0) {
      lower->axes.data[maps.rhs[d]].extent = 1;
    }
  }
  /* a ragged contracting or batch dimension gives one more result dimension; no map then */
  uint32_t result = lower_result(lower, op, 0);
  contraction_work(lower, op, a.dtype, b.dtype);
  lower_read(lower, lhs, maps.lhs, UINT64_MAX, 0);
  lower_read(lower, rhs, maps.rhs, UINT64_MAX, 0);
  lower_read(lower, sizes, NULL, UINT64_MAX, 0);
  lower_write(lower, result, NULL, UINT64_MAX, 0);
  lower_end(lower);
}

/* Structured sparsity: the compressed operand states its own extent of the contracted dimension, so the work follows from
 * result x the shorter contracted extent. */
void lower_sparse_dot(struct lower *lower, struct ir_op op) {
  struct ir_attr numbers = ir_op_attr(lower->module, op, "dot_dimension_numbers");
  struct ir_attr contract =
      numbers.id != 0 ? ir_attr_field(lower->module, numbers, "lhs_contracting_dimensions") : (struct ir_attr){0};
  struct ir_attr contract_r =
      numbers.id != 0 ? ir_attr_field(lower->module, numbers, "rhs_contracting_dimensions") : (struct ir_attr){0};
  struct lower_shape a = lower_shape_of(lower, lower_in(lower, op, 0));
  struct lower_shape b = lower_shape_of(lower, lower_in(lower, op, 1));
  struct lower_shape out = lower_shape_of(lower, lower_out(lower, op, 0));
  uint64_t k = 1, k_r = 1;
  for (uint64_t i = 0; contract.id != 0 && i < ir_attr_length(lower->module, contract) && i < LOWER_MAX_RANK; i++) {
    k = sat_mul_u64(k, lower_dim(&a, (uint64_t)lower_int_at(lower, contract, i, 0)));
    k_r = sat_mul_u64(k_r, lower_dim(&b, (uint64_t)lower_int_at(lower, contract_r, i, 0)));
  }
  size_t base = lower->scratch.count;
  for (uint32_t i = 0; i < lower_in_count(lower, op); i++) {
    lower_push_leaves(lower, lower_in(lower, op, i));
  }
  uint32_t result = lower_result(lower, op, 0);
  lower_begin(lower, op, WORK_MATMUL);
  lower_axis(lower, WORK_AXIS_ROW, out.elements);
  lower_axis(lower, WORK_AXIS_REDUCTION, k < k_r ? k : k_r);
  contraction_work(lower, op, a.dtype, b.dtype);
  for (size_t i = base; i < lower->scratch.count; i++) {
    lower_read(lower, lower->scratch.data[i], NULL, UINT64_MAX, 0);
  }
  lower->scratch.count = base;
  lower_write(lower, result, NULL, UINT64_MAX, 0);
  lower_end(lower);
}

/* ---- convolution ---- */

struct convolution_dims {
  uint64_t lhs_batch, lhs_feature, rhs_in, rhs_out, result_batch, result_feature;
  struct ir_attr lhs_spatial, rhs_spatial, result_spatial;
};

static bool convolution_dims(const struct lower *lower, struct ir_op op, struct convolution_dims *dims) {
  struct ir_attr numbers = ir_op_attr(lower->module, op, "dimension_numbers");
  if (numbers.id == 0 || ir_attr_get(lower->module, numbers)->kind != IR_ATTR_STRUCT) {
    return false;
  }
  const struct {
    const char *name;
    uint64_t *to;
  } scalars[] = {
      {"input_batch_dimension", &dims->lhs_batch},       {"input_feature_dimension", &dims->lhs_feature},
      {"kernel_input_feature_dimension", &dims->rhs_in}, {"kernel_output_feature_dimension", &dims->rhs_out},
      {"output_batch_dimension", &dims->result_batch},   {"output_feature_dimension", &dims->result_feature}};
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
    struct ir_attr field = ir_attr_field(lower->module, numbers, scalars[i].name);
    int64_t value = field.id != 0 ? ir_attr_get(lower->module, field)->integer : 0;
    if (value < 0 || value >= LOWER_MAX_RANK) {
      return false;
    }
    *scalars[i].to = (uint64_t)value;
  }
  dims->lhs_spatial = ir_attr_field(lower->module, numbers, "input_spatial_dimensions");
  dims->rhs_spatial = ir_attr_field(lower->module, numbers, "kernel_spatial_dimensions");
  dims->result_spatial = ir_attr_field(lower->module, numbers, "output_spatial_dimensions");
  return true;
}

struct convolution {
  struct lower_shape lhs, rhs, result;
  struct convolution_dims dims;
  uint64_t feature_groups, batch_groups;
  struct contraction_maps maps;
};

/* Output positions are rows, kernel positions windows that slide along them; only pairs that meet an input element that is
 * there count (no padding, no holes of a dilated input). */
static void convolution_spatial(struct lower *lower, struct ir_op op, struct convolution *conv) {
  struct ir_attr strides = ir_op_attr(lower->module, op, "window_strides");
  struct ir_attr padding = ir_op_attr(lower->module, op, "padding");
  struct ir_attr lhs_dilation = ir_op_attr(lower->module, op, "lhs_dilation");
  struct ir_attr rhs_dilation = ir_op_attr(lower->module, op, "rhs_dilation");
  uint64_t count = conv->dims.lhs_spatial.id != 0 ? ir_attr_length(lower->module, conv->dims.lhs_spatial) : 0;
  uint32_t rows[LOWER_MAX_RANK];
  for (uint64_t i = 0; i < count && i < LOWER_MAX_RANK; i++) {
    int64_t d = lower_int_at(lower, conv->dims.result_spatial, i, 0);
    rows[i] = lower_axis(lower, WORK_AXIS_ROW, lower_dim(&conv->result, (uint64_t)d));
    if (d >= 0 && d < LOWER_MAX_RANK) {
      conv->maps.result[d] = (int16_t)rows[i];
    }
  }
  for (uint64_t i = 0; i < count && i < LOWER_MAX_RANK; i++) {
    int64_t l = lower_int_at(lower, conv->dims.lhs_spatial, i, 0),
            r = lower_int_at(lower, conv->dims.rhs_spatial, i, 0);
    int64_t o = lower_int_at(lower, conv->dims.result_spatial, i, 0);
    uint64_t input = lower_dim(&conv->lhs, (uint64_t)l), kernel = lower_dim(&conv->rhs, (uint64_t)r);
    uint64_t output = lower_dim(&conv->result, (uint64_t)o);
    uint64_t hits =
        analyze_window_hits((int64_t)input, (int64_t)kernel, (int64_t)output, lower_int_at(lower, strides, i, 1),
                            lower_int_at(lower, padding, 2 * i, 0), lower_int_at(lower, lhs_dilation, i, 1),
                            lower_int_at(lower, rhs_dilation, i, 1));
    if (r >= 0 && r < LOWER_MAX_RANK) {
      conv->maps.rhs[r] = (int16_t)lower->axes.count;
    }
    lower_window(lower, kernel, rows[i], hits);
    if (kernel == 1 && input == output && l >= 0 && l < LOWER_MAX_RANK) {
      conv->maps.lhs[l] = (int16_t)rows[i];
    }
  }
}

static void convolution_axes(struct lower *lower, struct ir_op op, struct convolution *conv) {
  const struct convolution_dims *dims = &conv->dims;
  uint64_t groups = conv->feature_groups > 1 ? conv->feature_groups : conv->batch_groups;
  bool is_grouped = groups > 1;
  if (is_grouped) {
    lower_axis(lower, WORK_AXIS_BATCH, groups);
  }
  uint32_t batch = lower_axis(lower, WORK_AXIS_ROW, lower_dim(&conv->result, dims->result_batch));
  uint32_t out = lower_axis(lower, WORK_AXIS_COLUMN, lower_dim(&conv->rhs, dims->rhs_out) / (groups > 0 ? groups : 1));
  uint32_t in = lower_axis(lower, WORK_AXIS_REDUCTION, lower_dim(&conv->rhs, dims->rhs_in));
  conv->maps.result[dims->result_batch] = (int16_t)batch;
  conv->maps.rhs[dims->rhs_in] = (int16_t)in;
  if (conv->batch_groups <= 1) {
    conv->maps.lhs[dims->lhs_batch] = (int16_t)batch;
  }
  if (conv->feature_groups <= 1) {
    conv->maps.lhs[dims->lhs_feature] = (int16_t)in;
  }
  if (!is_grouped) {
    conv->maps.rhs[dims->rhs_out] = conv->maps.result[dims->result_feature] = (int16_t)out;
  }
  convolution_spatial(lower, op, conv);
}

void lower_convolution(struct lower *lower, struct ir_op op) {
  struct convolution conv;
  memset(&conv.maps, 0xFF, sizeof conv.maps);
  if (!convolution_dims(lower, op, &conv.dims)) {
    lower_opaque_op(lower, op);
    return;
  }
  uint32_t lhs = lower_operand(lower, op, 0), rhs = lower_operand(lower, op, 1);
  conv.lhs = lower_shape_of(lower, lower_in(lower, op, 0));
  conv.rhs = lower_shape_of(lower, lower_in(lower, op, 1));
  conv.result = lower_shape_of(lower, lower_out(lower, op, 0));
  int64_t feature_groups = lower_int_attr(lower, op, "feature_group_count", 1);
  int64_t batch_groups = lower_int_attr(lower, op, "batch_group_count", 1);
  conv.feature_groups = feature_groups > 0 ? (uint64_t)feature_groups : 1;
  conv.batch_groups = batch_groups > 0 ? (uint64_t)batch_groups : 1;
  lower_begin(lower, op, WORK_CONVOLUTION);
  convolution_axes(lower, op, &conv);
  contraction_work(lower, op, conv.lhs.dtype, conv.rhs.dtype);
  contraction_end(lower, op, &conv.maps, lhs, rhs);
}
