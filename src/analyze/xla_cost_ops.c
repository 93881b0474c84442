/* Rules of HloCostAnalysis, one row per opcode that differs from the default (no operations; operands and results
 * once). Source: xla/service/hlo_cost_analysis.cc of openxla/xla (March 2026). Operations of StableHLO that are not
 * HLO are counted as what the conversion to HLO makes of them. */
#include <string.h>

#include "analyze/xla_cost_int.h"

/* ---- elementwise ---- */

static void rule_flop(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  props->cost.flops = xla_result_elements(xla, op, 0);
}

static void rule_transcendental(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  props->cost.transcendentals = xla_result_elements(xla, op, 0);
}

/* ---- broadcasts ---- */

static struct ir_type result_type(const struct xla *xla, struct ir_op op) {
  return ir_value_type(xla->module, ir_op_result(xla->module, op, 0));
}

/* Bytes of the intermediate array when an operand dimension of size 1 is stretched: XLA broadcasts first to a result
 * that keeps those dimensions at 1, drops them by a reshape, and broadcasts again. 0 when nothing is stretched. */
static int64_t stretched_bytes(struct xla *xla, const struct shape *from, const struct shape *to,
                               const struct ints *dims) {
  struct shape kept = *to;
  bool is_stretched = false;
  for (uint32_t i = 0; i < from->rank && i < dims->count; i++) {
    int64_t target = dims->v[i];
    if (target < 0 || target >= (int64_t)to->rank) {
      return 0;
    }
    is_stretched |= from->dims[i] == 1 && to->dims[target] != 1;
    kept.dims[target] = from->dims[i];
  }
  int64_t elements = is_stretched ? shape_elements(&kept) : 0;
  unsigned bits = dtype_bits((enum dtype)ir_type_get(xla->module, to->element)->dtype);
  return elements > 0 ? xla_mul(elements, (bits + 7) / 8) : 0;
}

static void count_broadcast(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t in = xla_operand_bytes(xla, op, 0), out = xla_result_bytes(xla, op);
  xla_nothing(xla, op, props);
  props->is_timed = true;
  props->cost.bytes_accessed = xla_add(in, out);
  props->cost.output_bytes = out;
  xla_set_operand(props, 0, in);
  int64_t elements = xla_operand_elements(xla, op, 0);
  if (xla->options.count_multiple_input_accesses && elements > 0) {
    xla_set_operand(props, 0, xla_mul(xla_result_elements(xla, op, 0), in / elements));
  }
}

static void rule_broadcast(struct xla *xla, struct ir_op op, struct xla_props *props) {
  count_broadcast(xla, op, props);
}

static void rule_broadcast_in_dim(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape from, to;
  struct ints dims;
  count_broadcast(xla, op, props);
  if (shape_of(xla->module, ir_op_operand(xla->module, op, 0), &from)
      && shape_from_type(xla->module, result_type(xla, op), &to)
      && ints_of(xla->module, op, "broadcast_dimensions", &dims)) {
    int64_t middle = stretched_bytes(xla, &from, &to, &dims);
    props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, xla_mul(4, middle));
  }
}

/* chlo.broadcast_*: operands that are smaller than the result are broadcast first. */
static void count_broadcasting(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t elements = xla_result_elements(xla, op, 0);
  uint32_t operands = ir_op_get(xla->module, op)->operand_count;
  xla_default(xla, op, props);
  for (uint32_t i = 0; i < operands; i++) {
    int64_t have = xla_operand_elements(xla, op, i);
    if (have > 0 && have != elements) {
      int64_t grown = xla_mul(elements, xla_operand_bytes(xla, op, i) / have);
      props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, xla_mul(2, grown)); /* written, then read */
    }
  }
}

static void rule_broadcasting_flop(struct xla *xla, struct ir_op op, struct xla_props *props) {
  count_broadcasting(xla, op, props);
  props->cost.flops = xla_result_elements(xla, op, 0);
}

static void rule_broadcasting_transcendental(struct xla *xla, struct ir_op op, struct xla_props *props) {
  count_broadcasting(xla, op, props);
  props->cost.transcendentals = xla_result_elements(xla, op, 0);
}

/* ---- data movement ---- */

static void rule_nothing(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_nothing(xla, op, props);
}

/* Reads operand 0 and writes the result; further operands are static parameters in HLO. */
static void rule_first_operand(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t in = xla_operand_bytes(xla, op, 0), out = xla_result_bytes(xla, op);
  xla_nothing(xla, op, props);
  props->is_timed = true;
  props->cost.bytes_accessed = xla_add(in, out);
  props->cost.output_bytes = out;
  xla_set_operand(props, 0, in);
}

static void rule_result_only(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_nothing(xla, op, props);
  props->is_timed = true;
  props->cost.output_bytes = props->cost.bytes_accessed = xla_result_bytes(xla, op);
}

/* Operand and padding value. */
static void rule_dynamic_pad(struct xla *xla, struct ir_op op, struct xla_props *props) {
  rule_first_operand(xla, op, props);
  int64_t value = xla_operand_bytes(xla, op, 1);
  xla_set_operand(props, 1, value);
  props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, value);
}

/* The layout of a transposed shape is the transposed layout (ShapeInference::InferTransposeShape), so that no element
 * moves: XLA counts a bitcast. One that moves dimensions of size 1 only becomes a reshape in the conversion. */
static void rule_transpose(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape from;
  struct ints permutation;
  int64_t last = -1;
  bool is_reshape = shape_of(xla->module, ir_op_operand(xla->module, op, 0), &from)
                    && ints_of(xla->module, op, "permutation", &permutation) && permutation.count == from.rank;
  for (uint32_t i = 0; is_reshape && i < permutation.count; i++) {
    int64_t dim = permutation.v[i];
    bool is_valid = dim >= 0 && dim < (int64_t)from.rank;
    if (!is_valid || from.dims[dim] != 1) {
      is_reshape = is_valid && dim > last;
      last = dim;
    }
  }
  /* HLO: to the usual layout elements do move, unless only dimensions of size 1 do */
  bool is_copy = xla->is_hlo ? !is_reshape && ir_op_attr(xla->module, op, "xla_shape").id == 0 : is_reshape;
  if (is_copy) {
    xla_default(xla, op, props);
  } else {
    xla_nothing(xla, op, props);
    props->is_timed = true;
  }
}

/* Of several dimensions: along the counted one, then broadcast. */
static void rule_iota(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape to;
  int64_t dim = int_of(xla->module, op, "iota_dimension", 0);
  xla_default(xla, op, props);
  int64_t elements = xla_result_elements(xla, op, 0);
  if (!xla->is_hlo && shape_from_type(xla->module, result_type(xla, op), &to) && to.rank > 1 && dim >= 0
      && dim < (int64_t)to.rank && elements > 0) {
    int64_t line = xla_mul(to.dims[dim], props->cost.output_bytes / elements);
    props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, xla_mul(2, line));
  }
}

/* The slice is read and written. */
static void count_slice(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t out = xla_result_bytes(xla, op);
  xla_nothing(xla, op, props);
  props->is_timed = true;
  props->cost.output_bytes = out;
  props->cost.bytes_accessed = xla_mul(2, out);
  xla_set_operand(props, 0, out);
}

static void rule_slice(struct xla *xla, struct ir_op op, struct xla_props *props) {
  count_slice(xla, op, props);
}

/* Only the first start index is counted; the others keep their default entry. */
static void rule_dynamic_slice(struct xla *xla, struct ir_op op, struct xla_props *props) {
  count_slice(xla, op, props);
  for (uint32_t i = 1; i < props->cost.operand_count; i++) {
    xla_set_operand(props, i, xla_operand_bytes(xla, op, i));
  }
  props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, xla_operand_bytes(xla, op, 1));
}

/* Operand 0 is updated in place. */
static void rule_dynamic_update_slice(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t update = xla_operand_bytes(xla, op, 1);
  xla_nothing(xla, op, props);
  props->is_timed = true;
  props->cost.output_bytes = update;
  props->cost.bytes_accessed = xla_add(xla_mul(2, update), xla_operand_bytes(xla, op, 2));
  for (uint32_t i = 1; i < props->cost.operand_count; i++) {
    xla_set_operand(props, i, xla_operand_bytes(xla, op, i));
  }
}

static void rule_gather(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t indices = xla_operand_bytes(xla, op, 1);
  count_slice(xla, op, props);
  xla_set_operand(props, 1, indices);
  props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, indices);
}

static void rule_tuple(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t pointers = xla_mul(XLA_POINTER_BYTES, ir_op_get(xla->module, op)->operand_count);
  xla_nothing(xla, op, props);
  props->is_timed = true;
  props->cost.output_bytes = props->cost.bytes_accessed = pointers;
}

/* Several operands go through a tuple. */
static void rule_optimization_barrier(struct xla *xla, struct ir_op op, struct xla_props *props) {
  uint32_t count = ir_op_get(xla->module, op)->operand_count;
  xla_default(xla, op, props);
  if (count > 1) {
    int64_t pointers = xla_mul(XLA_POINTER_BYTES, count);
    props->cost.bytes_accessed = xla_add(props->cost.output_bytes, xla_mul(2, pointers));
  }
}

static void rule_infeed(struct xla *xla, struct ir_op op, struct xla_props *props) {
  rule_result_only(xla, op, props);
}

static void rule_outfeed(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_nothing(xla, op, props);
  props->is_timed = true;
  for (uint32_t i = 0; i < props->cost.operand_count; i++) {
    int64_t bytes = xla_leaf_bytes(xla, ir_value_type(xla->module, ir_op_operand(xla->module, op, i)));
    xla_set_operand(props, i, bytes);
    props->cost.bytes_accessed = xla_add(props->cost.bytes_accessed, bytes);
  }
}

/* ---- contractions ---- */

static void rule_dot(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape lhs;
  int64_t width = 1;
  xla_default(xla, op, props);
  if (shape_of(xla->module, ir_op_operand(xla->module, op, 0), &lhs) && lhs.rank > 0) {
    width = lhs.dims[lhs.rank - 1] > 0 ? lhs.dims[lhs.rank - 1] : 0;
  }
  props->cost.flops = xla_mul(XLA_FMA_FLOPS, xla_mul(xla_result_elements(xla, op, 0), width));
}

/* Product of the sizes of the named dimensions. */
static int64_t product_of(const struct shape *shape, const struct ints *dims) {
  int64_t product = 1;
  for (uint32_t i = 0; i < dims->count; i++) {
    bool is_valid = dims->v[i] >= 0 && dims->v[i] < (int64_t)shape->rank && dim_is_static(shape->dims[dims->v[i]]);
    product = is_valid ? xla_mul(product, shape->dims[dims->v[i]]) : 0;
  }
  return product;
}

static void rule_dot_general(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape lhs;
  struct dot_dims dims;
  xla_default(xla, op, props);
  if (shape_of(xla->module, ir_op_operand(xla->module, op, 0), &lhs) && dot_dims_of(xla->module, op, &dims)) {
    int64_t width = product_of(&lhs, &dims.lhs_contract);
    props->cost.flops = xla_mul(XLA_FMA_FLOPS, xla_mul(xla_result_elements(xla, op, 0), width));
  }
}

/* XLA leaves the dimensions of the result out whose numbers are those of the groups in the second operand, although the
 * result has no such dimensions (measured: hlo_module_cost_analysis of jaxlib 0.10.2). */
static void rule_ragged_dot(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape lhs, out;
  struct ints contract = {0}, groups = {0};
  struct ir_attr numbers = ir_op_attr(xla->module, op, "ragged_dot_dimension_numbers");
  xla_default(xla, op, props);
  bool is_known =
      numbers.id != 0 && shape_of(xla->module, ir_op_operand(xla->module, op, 0), &lhs)
      && shape_from_type(xla->module, result_type(xla, op), &out)
      && ints_from_attr(xla->module, ir_attr_field(xla->module, numbers, "lhs_contracting_dimensions"), &contract);
  if (!is_known) {
    return;
  }
  ints_from_attr(xla->module, ir_attr_field(xla->module, numbers, "rhs_group_dimensions"), &groups);
  int64_t elements = xla_result_elements(xla, op, 0);
  for (uint32_t i = 0; i < groups.count; i++) {
    bool is_there = groups.v[i] >= 0 && groups.v[i] < (int64_t)out.rank && out.dims[groups.v[i]] > 0;
    elements /= is_there ? out.dims[groups.v[i]] : 1;
  }
  props->cost.flops = xla_mul(XLA_FMA_FLOPS, xla_mul(elements, product_of(&lhs, &contract)));
}

/* Letters of both terms, each once. */
static void rule_einsum(struct xla *xla, struct ir_op op, struct xla_props *props) {
  bool is_seen[128] = {false};
  const char *text = enum_of(xla->module, op, "einsum_config");
  int64_t product = XLA_FMA_FLOPS;
  uint32_t operands = ir_op_get(xla->module, op)->operand_count;
  xla_default(xla, op, props);
  for (uint32_t i = 0; i < operands; i++) {
    struct shape shape;
    uint32_t dim = 0;
    if (!shape_of(xla->module, ir_op_operand(xla->module, op, i), &shape)) {
      return;
    }
    for (; *text != '\0' && *text != ',' && *text != '-'; text++) {
      unsigned letter = (unsigned char)*text;
      if (*text == ' ') {
        continue;
      }
      if (*text == '.' || letter >= 128 || dim >= shape.rank) {
        return;
      }
      product = is_seen[letter] ? product : xla_mul(product, dim_is_static(shape.dims[dim]) ? shape.dims[dim] : 0);
      is_seen[letter] = true;
      dim++;
    }
    text += *text == ',';
  }
  props->cost.flops = operands == 2 ? product : 0;
}

/* Padding of a dynamic_conv is its third operand. */
static bool conv_windows(struct xla *xla, struct ir_op op, uint32_t spatial, struct window_dim *windows) {
  if (!windows_of(xla->module, op, &window_names_conv, spatial, windows)) {
    return false;
  }
  if (ir_op_code(xla->module, op) != IR_OP_DYNAMIC_CONV) {
    return true;
  }
  struct fold fold = {.module = xla->module, .symbols = xla->symbols, .budget = 4096};
  struct fold_const padding;
  if (!fold_value(&fold, ir_op_operand(xla->module, op, 2), NULL, &padding) || padding.count != 2 * spatial) {
    return false;
  }
  for (uint32_t i = 0; i < spatial; i++) {
    windows[i].pad_low = padding.v[2 * i];
    windows[i].pad_high = padding.v[2 * i + 1];
  }
  return true;
}

static bool is_dim(const struct shape *shape, int64_t dim) {
  return dim >= 0 && dim < (int64_t)shape->rank;
}

static void rule_convolution(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape lhs, rhs, out;
  struct conv_dims dims;
  struct window_dim windows[SHAPE_MAX_RANK];
  const struct ir_module *module = xla->module;
  int64_t feature_groups = int_of(module, op, "feature_group_count", 1);
  int64_t batch_groups = int_of(module, op, "batch_group_count", 1);
  xla_default(xla, op, props);
  bool is_known = shape_of(module, ir_op_operand(module, op, 0), &lhs)
                  && shape_of(module, ir_op_operand(module, op, 1), &rhs)
                  && shape_from_type(module, result_type(xla, op), &out) && conv_dims_of(module, op, &dims)
                  && dims.input_spatial.count <= SHAPE_MAX_RANK && dims.kernel_spatial.count == dims.input_spatial.count
                  && dims.output_spatial.count == dims.input_spatial.count && is_dim(&lhs, dims.input_batch)
                  && is_dim(&lhs, dims.input_feature) && is_dim(&out, dims.output_feature) && feature_groups > 0
                  && batch_groups > 0 && conv_windows(xla, op, dims.input_spatial.count, windows);
  if (!is_known || shape_elements(&lhs) < 0 || shape_elements(&rhs) < 0 || shape_elements(&out) < 0) {
    xla->status = xla->status == STATUS_OK ? STATUS_UNSUPPORTED : xla->status;
    return;
  }
  int64_t fma = xla_mul(lhs.dims[dims.input_feature] / feature_groups, out.dims[dims.output_feature]);
  fma = xla_mul(fma, lhs.dims[dims.input_batch] / batch_groups);
  for (uint32_t i = 0; i < dims.input_spatial.count; i++) {
    bool is_valid = is_dim(&lhs, dims.input_spatial.v[i]) && is_dim(&rhs, dims.kernel_spatial.v[i])
                    && is_dim(&out, dims.output_spatial.v[i]);
    uint64_t hits = !is_valid
                        ? 0
                        : analyze_window_hits(lhs.dims[dims.input_spatial.v[i]], rhs.dims[dims.kernel_spatial.v[i]],
                                              out.dims[dims.output_spatial.v[i]], windows[i].stride, windows[i].pad_low,
                                              windows[i].base_dilation, windows[i].window_dilation);
    fma = xla_mul(fma, hits > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)hits);
  }
  props->cost.flops = xla_mul(XLA_FMA_FLOPS, fma);
}

/* ---- kernels ---- */

static int64_t log2_floor(int64_t value) {
  return value > 0 ? 63 - __builtin_clzll((uint64_t)value) : 0;
}
static int64_t log2_ceil(int64_t value) {
  return value > 1 ? log2_floor(value - 1) + 1 : 0;
}

static void rule_sort(struct xla *xla, struct ir_op op, struct xla_props *props) {
  int64_t elements = xla_operand_elements(xla, op, 0);
  xla_default(xla, op, props);
  props->cost.flops = xla_mul(elements, log2_ceil(elements));
}

static void rule_fft(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct ints length;
  int64_t factors = XLA_FMA_FLOPS * 4; /* a complex multiplication is four of them */
  xla_default(xla, op, props);
  if (ints_of(xla->module, op, "fft_length", &length)) {
    for (uint32_t i = 0; i < length.count; i++) {
      factors = xla_mul(factors, log2_floor(length.v[i]));
    }
    props->cost.flops = xla_mul(factors, xla_operand_elements(xla, op, 0));
  }
}

/* Size of the last dimension of operand 0. */
static int64_t last_dim(struct xla *xla, struct ir_op op) {
  struct shape shape;
  bool is_ranked = shape_of(xla->module, ir_op_operand(xla->module, op, 0), &shape) && shape.rank > 0;
  return is_ranked && dim_is_static(shape.dims[shape.rank - 1]) ? shape.dims[shape.rank - 1] : 0;
}

/* Half of the matrix is read. XLA then overwrites the entry of operand 0 with the size of operand 1; so does this. */
static void rule_triangular_solve(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  int64_t a = xla_operand_bytes(xla, op, 0), b = xla_operand_bytes(xla, op, 1);
  props->cost.bytes_accessed = xla_add(xla_add(props->cost.output_bytes, a / 2), b);
  xla_set_operand(props, 0, b);
  props->cost.flops = xla_mul(XLA_FMA_FLOPS, xla_mul(last_dim(xla, op), xla_operand_elements(xla, op, 1)));
}

/* Half of the matrix is read, half is written. */
static void rule_cholesky(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  int64_t half = xla_operand_bytes(xla, op, 0) / 2;
  props->cost.bytes_accessed = xla_operand_bytes(xla, op, 0);
  props->cost.output_bytes = half;
  xla_set_operand(props, 0, half);
  props->cost.flops = xla_mul(last_dim(xla, op), xla_operand_elements(xla, op, 0)) / 3;
}

/* Bounds and result; the shape is no operand in HLO. */
static void rule_rng(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  props->cost.bytes_accessed -= xla_operand_bytes(xla, op, 2);
  xla_set_operand(props, 2, 0);
  props->cost.transcendentals = xla_result_elements(xla, op, 0);
}

static void rule_rng_bit_generator(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  props->cost.transcendentals = xla_add(xla_result_elements(xla, op, 0), xla_result_elements(xla, op, 1));
}

/* ---- bodies per element ---- */

/* Adds the operations of a body, applied `count` times; its bytes do not count. */
static void add_body(struct xla *xla, struct ir_op op, uint32_t region, int64_t count, struct xla_props *props) {
  struct analyze_xla_cost body;
  xla_region(xla, op, region, &body);
  props->cost.flops = xla_add(props->cost.flops, xla_mul(body.flops, count));
  props->cost.transcendentals = xla_add(props->cost.transcendentals, xla_mul(body.transcendentals, count));
}

static void rule_map(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  add_body(xla, op, 0, xla_result_elements(xla, op, 0), props);
}

static void rule_reduce(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  add_body(xla, op, 0, xla_operand_elements(xla, op, 0) - xla_result_elements(xla, op, 0), props);
}

/* As often as the first initial value has elements, not as the scan has steps (measured as above). */
static void rule_scan(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct ints segments;
  bool is_split = ints_of(xla->module, op, "operandSegmentSizes", &segments) && segments.count == 2
                  && segments.v[0] >= 0 && segments.v[0] < (int64_t)ir_op_get(xla->module, op)->operand_count;
  xla_default(xla, op, props);
  add_body(xla, op, 0, xla_operand_elements(xla, op, is_split ? (uint32_t)segments.v[0] : 0), props);
}

/* A window over 2n - 1 positions of the only reduced dimension, padded by n - 1 on both sides, is a reduction whose
 * result is broadcast; XLA counts it as such. Returns the dimension or -1. */
static int64_t broadcast_reduction(const struct window_dim *windows, const struct shape *out, uint32_t results) {
  uint32_t reduced = 0, padded = 0;
  int64_t dimension = -1;
  for (uint32_t i = 0; i < out->rank; i++) {
    const struct window_dim *w = &windows[i];
    reduced += w->size != 1;
    padded += w->pad_low != 0 || w->pad_high != 0;
    bool spans_all = w->size != 1 && w->pad_low != 0 && w->pad_low == w->pad_high && w->size == 2 * w->pad_low + 1
                     && w->pad_low == out->dims[i] - 1;
    dimension = spans_all ? (int64_t)i : dimension;
  }
  return reduced == 1 && padded == 1 && results == 1 ? dimension : -1;
}

static void rule_reduce_window(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct shape out;
  struct window_dim windows[SHAPE_MAX_RANK];
  int64_t window = 1;
  xla_default(xla, op, props);
  if (!shape_from_type(xla->module, result_type(xla, op), &out)
      || !windows_of(xla->module, op, &window_names_reduce, out.rank, windows)) {
    return;
  }
  for (uint32_t i = 0; i < out.rank; i++) {
    window = xla_mul(window, windows[i].size);
  }
  int64_t elements = xla_result_elements(xla, op, 0), input = xla_operand_elements(xla, op, 0);
  int64_t count = xla_mul(window - 1, elements);
  int64_t dimension = broadcast_reduction(windows, &out, ir_op_get(xla->module, op)->result_count);
  if (dimension >= 0 && out.dims[dimension] > 0) {
    window = out.dims[dimension];
    count = xla_add(elements / window, window - 1);
  }
  if (xla->options.count_multiple_input_accesses && input > 0) {
    xla_set_operand(props, 0, xla_mul(xla_mul(elements, window), xla_operand_bytes(xla, op, 0) / input));
  }
  add_body(xla, op, 0, count, props);
}

static void rule_select_and_scatter(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct ints sizes;
  int64_t window = 1, source = xla_operand_elements(xla, op, 1);
  xla_default(xla, op, props);
  if (ints_of(xla->module, op, "window_dimensions", &sizes)) {
    for (uint32_t i = 0; i < sizes.count; i++) {
      window = xla_mul(window, sizes.v[i]);
    }
  }
  add_body(xla, op, 0, xla_mul(source, window - 1), props);
  add_body(xla, op, 1, source, props);
}

static void rule_scatter(struct xla *xla, struct ir_op op, struct xla_props *props) {
  uint32_t count = ir_op_get(xla->module, op)->operand_count / 2;
  int64_t updates = 0, indices = xla_operand_bytes(xla, op, count);
  xla_nothing(xla, op, props);
  props->is_timed = true;
  for (uint32_t i = 0; i < count; i++) {
    int64_t bytes = xla_operand_bytes(xla, op, count + 1 + i);
    xla_set_operand(props, i, bytes);
    xla_set_operand(props, count + 1 + i, bytes);
    updates = xla_add(updates, bytes);
  }
  xla_set_operand(props, count, indices);
  props->cost.output_bytes = updates;
  props->cost.bytes_accessed = xla_add(xla_mul(3, updates), indices);
  add_body(xla, op, 0, xla_operand_elements(xla, op, count + 1), props);
}

/* ---- communication ---- */

/* Two replicas are assumed: one operation per element. */
static void rule_all_reduce(struct xla *xla, struct ir_op op, struct xla_props *props) {
  xla_default(xla, op, props);
  for (uint32_t i = 0; i < ir_op_get(xla->module, op)->result_count; i++) {
    props->cost.flops = xla_add(props->cost.flops, xla_result_elements(xla, op, i));
  }
}

/* ---- control ---- */

/* The sum of a computation is the cost of the op; its time is the computation's. */
static void set_sum(struct xla *xla, struct ir_op op, const struct analyze_xla_cost *sum, struct xla_props *props) {
  xla_nothing(xla, op, props);
  xla_accumulate(&props->cost, sum);
}

static void count_captured_operands(struct xla *xla, struct ir_op op, struct map *inside, struct map *seen) {
  for (uint32_t i = 0; i < ir_op_get(xla->module, op)->operand_count; i++) {
    uint32_t unused;
    struct ir_value value = ir_op_operand(xla->module, op, i);
    struct ir_op definition = ir_value_get(xla->module, value)->op;
    bool is_constant =
        definition.id != 0 && (ir_op_code(xla->module, definition) == IR_OP_CONSTANT || xla_is_splat(xla, definition));
    if (!is_constant && !map_get(inside, value.id, &unused) && !map_set(seen, value.id, 1)) {
      xla->status = STATUS_MEMORY;
    }
  }
}

static void note_inside(struct xla *xla, struct map *inside, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (!map_set(inside, first + i, 1)) {
      xla->status = STATUS_MEMORY;
    }
  }
}

/* Walks a region in order; values defined in it are `inside`. */
static void walk_captures(struct xla *xla, struct ir_region region, struct map *inside, struct map *seen) {
  if (xla->depth >= ANALYZE_MAX_DEPTH) {
    return;
  }
  xla->depth++;
  struct ir_block block = ir_region_entry(xla->module, region);
  for (; block.id != 0; block = ir_block_get(xla->module, block)->next) {
    const struct ir_block_data *data = ir_block_get(xla->module, block);
    note_inside(xla, inside, data->argument_first, data->argument_count);
    for (struct ir_op op = ir_block_first(xla->module, block); op.id != 0; op = ir_op_next(xla->module, op)) {
      const struct ir_op_data *inner = ir_op_get(xla->module, op);
      count_captured_operands(xla, op, inside, seen);
      note_inside(xla, inside, inner->result_first, inner->result_count);
      for (uint32_t r = 0; r < inner->region_count; r++) {
        walk_captures(xla, ir_op_region(xla->module, op, r), inside, seen);
      }
    }
  }
  xla->depth--;
}

/* Adds the values from outside that a region uses to `seen`, constants apart (they are copied into the computation).
 * Returns the number of entries of `seen`. */
static uint32_t count_captures(struct xla *xla, struct ir_region region, struct map *seen) {
  struct map inside = {0};
  walk_captures(xla, region, &inside, seen);
  map_release(&inside);
  return (uint32_t)seen->count;
}

/* Body and condition once; several carried values (captured ones are carried too) enter as a tuple. */
static void rule_while(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct analyze_xla_cost sum, condition;
  struct map captured = {0};
  uint32_t carried = ir_op_get(xla->module, op)->operand_count;
  xla_region(xla, op, 1, &sum);
  xla_region(xla, op, 0, &condition);
  xla_accumulate(&sum, &condition);
  for (uint32_t r = 0; r < ir_op_get(xla->module, op)->region_count; r++) {
    count_captures(xla, ir_op_region(xla->module, op, r), &captured);
  }
  uint32_t extra = (uint32_t)captured.count;
  map_release(&captured);
  if (carried + extra > 1) {
    xla_add_tuple(xla, carried + extra, &sum);
  }
  if (extra > 0) { /* the body's tuple hands them on */
    bool was_tuple = carried > 1;
    xla_add_tuple(xla, was_tuple ? extra : carried + extra, &sum);
  }
  set_sum(xla, op, &sum, props);
}

/* Property by property the most expensive branch. */
static void rule_branches(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct analyze_xla_cost worst = {0};
  uint32_t regions = ir_op_get(xla->module, op)->region_count;
  struct analyze_xla_cost tuples = {0};
  for (uint32_t r = 0; r < regions; r++) {
    struct analyze_xla_cost branch;
    struct map captured = {0};
    xla_region(xla, op, r, &branch);
    uint32_t arguments = count_captures(xla, ir_op_region(xla->module, op, r), &captured);
    map_release(&captured);
    if (arguments > 1) {
      xla_add_tuple(xla, arguments, &tuples);
    }
    worst.flops = r == 0 || branch.flops > worst.flops ? branch.flops : worst.flops;
    worst.transcendentals =
        r == 0 || branch.transcendentals > worst.transcendentals ? branch.transcendentals : worst.transcendentals;
    worst.bytes_accessed =
        r == 0 || branch.bytes_accessed > worst.bytes_accessed ? branch.bytes_accessed : worst.bytes_accessed;
    worst.optimal_seconds =
        r == 0 || branch.optimal_seconds > worst.optimal_seconds ? branch.optimal_seconds : worst.optimal_seconds;
  }
  xla_accumulate(&worst, &tuples);
  set_sum(xla, op, &worst, props);
}

static void rule_region(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct analyze_xla_cost sum;
  xla_region(xla, op, 0, &sum);
  set_sum(xla, op, &sum, props);
}

/* Properties of the wrapped computation, timed as one operation. */
static void rule_async_start(struct xla *xla, struct ir_op op, struct xla_props *props) {
  rule_region(xla, op, props);
  props->is_timed = true;
}

static void rule_call(struct xla *xla, struct ir_op op, struct xla_props *props) {
  struct analyze_xla_cost sum = {0};
  struct ir_op callee = callee_of(xla->module, xla->symbols, op);
  if (callee.id != 0) {
    xla_function(xla, callee, &sum);
  }
  set_sum(xla, op, &sum, props);
}

/* HLO operations that StableHLO holds as custom calls. */
static bool is_hlo_collective(const struct ir_module *module, struct ir_op op) {
  static const char *const targets[] = {"ragged_all_to_all", "all_to_all"};
  struct ir_attr attr = ir_op_attr(module, op, "call_target_name");
  const char *target = attr.id != 0 ? ir_text(module, ir_attr_get(module, attr)->text) : "";
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    if (strcmp(target, targets[i]) == 0) {
      return true;
    }
  }
  return false;
}

/* Everything is unknown. */
static void rule_unknown(struct xla *xla, struct ir_op op, struct xla_props *props) {
  if (is_hlo_collective(xla->module, op)) {
    xla_default(xla, op, props);
    return;
  }
  xla_nothing(xla, op, props);
  props->cost.flops = props->cost.bytes_accessed = props->cost.output_bytes = -1;
  props->cost.optimal_seconds = -1.0;
  for (uint32_t i = 0; i < props->cost.operand_count; i++) {
    xla_set_operand(props, i, -1);
  }
}

/* ---- table ---- */

#define R(id, rule) [IR_OP_##id] = rule_##rule,
#define T(id) R(id, transcendental)
#define F(id) R(id, flop)

static const xla_rule rules[IR_OP_COUNT] = {
    /* clang-format off */
    R(UNKNOWN, unknown)
    T(ATAN2) T(CBRT) T(COSINE) T(EXPONENTIAL) T(EXPONENTIAL_MINUS_ONE) T(LOG) T(LOG_PLUS_ONE) T(LOGISTIC) T(POWER)
    T(RSQRT) T(SINE) T(SQRT) T(TAN) T(TANH) T(MHLO_ERF) T(MHLO_ACOS) T(MHLO_ACOSH) T(MHLO_ASIN) T(MHLO_ASINH)
    T(MHLO_ATAN) T(MHLO_ATANH) T(MHLO_COSH) T(MHLO_SINH)
    T(CHLO_ACOS) T(CHLO_ACOSH) T(CHLO_ASIN) T(CHLO_ASINH) T(CHLO_ATAN) T(CHLO_ATANH) T(CHLO_BESSEL_I1E) T(CHLO_COSH)
    T(CHLO_DIGAMMA) T(CHLO_ERF) T(CHLO_ERF_INV) T(CHLO_ERFC) T(CHLO_LGAMMA) T(CHLO_SINH) T(CHLO_TAN) T(CHLO_POLYGAMMA)
    T(CHLO_ZETA)
    F(ABS) F(ADD) F(AND) F(BITCAST_CONVERT) F(CEIL) F(CLAMP) F(COMPARE) F(COMPLEX) F(CONVERT) F(COUNT_LEADING_ZEROS)
    F(DIVIDE) F(FLOOR) F(IMAG) F(IS_FINITE) F(MAXIMUM) F(MINIMUM) F(MULTIPLY) F(NEGATE) F(NOT) F(OR) F(POPCNT) F(REAL)
    F(REDUCE_PRECISION) F(REMAINDER) F(ROUND_NEAREST_AFZ) F(ROUND_NEAREST_EVEN) F(SELECT) F(SHIFT_LEFT)
    F(SHIFT_RIGHT_ARITHMETIC) F(SHIFT_RIGHT_LOGICAL) F(SIGN) F(SUBTRACT) F(UNIFORM_DEQUANTIZE) F(UNIFORM_QUANTIZE) F(XOR)
    F(CHLO_SQUARE) F(CHLO_IS_INF) F(CHLO_IS_NEG_INF) F(CHLO_IS_POS_INF) F(CHLO_MULHI) F(CHLO_NEXT_AFTER)
    F(MHLO_STOCHASTIC_CONVERT)
    R(CHLO_BROADCAST_ADD, broadcasting_flop) R(CHLO_BROADCAST_AND, broadcasting_flop)
    R(CHLO_BROADCAST_ATAN2, broadcasting_transcendental) R(CHLO_BROADCAST_COMPARE, broadcasting_flop)
    R(CHLO_BROADCAST_COMPLEX, broadcasting_flop) R(CHLO_BROADCAST_DIVIDE, broadcasting_flop)
    R(CHLO_BROADCAST_MAXIMUM, broadcasting_flop) R(CHLO_BROADCAST_MINIMUM, broadcasting_flop)
    R(CHLO_BROADCAST_MULTIPLY, broadcasting_flop) R(CHLO_BROADCAST_NEXT_AFTER, broadcasting_flop)
    R(CHLO_BROADCAST_OR, broadcasting_flop) R(CHLO_BROADCAST_POLYGAMMA, broadcasting_transcendental)
    R(CHLO_BROADCAST_POWER, broadcasting_transcendental) R(CHLO_BROADCAST_REMAINDER, broadcasting_flop)
    R(CHLO_BROADCAST_SHIFT_LEFT, broadcasting_flop) R(CHLO_BROADCAST_SHIFT_RIGHT_ARITHMETIC, broadcasting_flop)
    R(CHLO_BROADCAST_SHIFT_RIGHT_LOGICAL, broadcasting_flop) R(CHLO_BROADCAST_SUBTRACT, broadcasting_flop)
    R(CHLO_BROADCAST_XOR, broadcasting_flop) R(CHLO_BROADCAST_ZETA, broadcasting_transcendental)
    R(CHLO_BROADCAST_SELECT, broadcasting_flop)
    /* nothing is touched: names, constants, pointers, annotations */
    R(CONSTANT, nothing) R(CHLO_CONSTANT, nothing) R(CHLO_CONSTANT_LIKE, nothing) R(SDY_CONSTANT, nothing)
    R(FUNC_CONSTANT, nothing) R(GET_TUPLE_ELEMENT, nothing) R(AFTER_ALL, nothing) R(CREATE_TOKEN, nothing)
    R(MHLO_DOMAIN, nothing) R(MHLO_BITCAST, nothing) R(MHLO_ADD_DEPENDENCY, nothing) R(MHLO_TRACE, nothing)
    R(BUILTIN_UNREALIZED_CONVERSION_CAST, nothing) R(FUNC_FUNC, nothing) R(BUILTIN_MODULE, nothing)
    R(SDY_MESH, nothing) R(SDY_RESHARD, nothing) R(SDY_SHARDING_CONSTRAINT, nothing) R(SDY_PROPAGATION_BARRIER, nothing)
    R(SDY_DATA_FLOW_EDGE, nothing) R(SDY_FUNC_DATA_FLOW_EDGE, nothing) R(SDY_REPLICATED_TO_UNREDUCED, nothing)
    R(SDY_SHARDING_GROUP, nothing) R(SDY_SHARDED_TO_UNREDUCED, nothing)
    R(RETURN, nothing) R(FUNC_RETURN, nothing) R(SDY_RETURN, nothing)
    R(CHECK_EXPECT_EQ, nothing) R(CHECK_EXPECT_ALMOST_EQ, nothing) R(CHECK_EXPECT_CLOSE, nothing)
    R(CHECK_EXPECT_SERIALIZED_EQ, nothing) R(CHECK_EXPECT_EQ_CONST, nothing) R(CHECK_EXPECT_ALMOST_EQ_CONST, nothing)
    R(INTERPRETER_PRINT, nothing) R(INTERPRETER_PROBE, nothing) R(INTERPRETER_RUN_PARALLEL, unknown)
    /* data movement */
    R(BROADCAST, broadcast) R(BROADCAST_IN_DIM, broadcast_in_dim) R(DYNAMIC_BROADCAST_IN_DIM, broadcast_in_dim)
    R(DYNAMIC_RESHAPE, first_operand) R(CHLO_DYNAMIC_RESHAPE, first_operand) R(DYNAMIC_IOTA, result_only)
    R(DYNAMIC_PAD, dynamic_pad) R(IOTA, iota) R(TRANSPOSE, transpose) R(SLICE, slice) R(REAL_DYNAMIC_SLICE, slice)
    R(DYNAMIC_SLICE, dynamic_slice) R(DYNAMIC_UPDATE_SLICE, dynamic_update_slice) R(GATHER, gather)
    R(DYNAMIC_GATHER, gather) R(TORCH_INDEX_SELECT, gather) R(TUPLE, tuple)
    R(OPTIMIZATION_BARRIER, optimization_barrier) R(INFEED, infeed) R(OUTFEED, outfeed)
    /* contractions and kernels */
    R(DOT, dot) R(DOT_GENERAL, dot_general) R(MHLO_SPARSE_DOT, dot_general) R(CHLO_RAGGED_DOT, ragged_dot)
    R(EINSUM, einsum) R(CONVOLUTION, convolution) R(DYNAMIC_CONV, convolution) R(SORT, sort) R(FFT, fft)
    R(TRIANGULAR_SOLVE, triangular_solve) R(CHOLESKY, cholesky) R(RNG, rng) R(RNG_BIT_GENERATOR, rng_bit_generator)
    /* bodies */
    R(MAP, map) R(REDUCE, reduce) R(REDUCE_WINDOW, reduce_window) R(SELECT_AND_SCATTER, select_and_scatter)
    R(SCATTER, scatter) R(CHLO_SCAN, scan) R(MHLO_SCAN, scan)
    /* communication, control */
    R(ALL_REDUCE, all_reduce) R(CROSS_REPLICA_SUM, all_reduce) R(SDY_ALL_REDUCE, all_reduce)
    R(WHILE, while) R(IF, branches) R(CASE, branches) R(FUNC_CALL, call) R(COMPOSITE, call)
    R(SDY_MANUAL_COMPUTATION, region) R(SDY_NAMED_COMPUTATION, region) R(ASYNC_START, async_start)
    R(CUSTOM_CALL, unknown)
    [IR_OP_MHLO_FUSION] = xla_rule_fusion,
    /* clang-format on */
};

xla_rule xla_rule_find(enum ir_opcode opcode) {
  return (unsigned)opcode < IR_OP_COUNT ? rules[opcode] : NULL;
}
