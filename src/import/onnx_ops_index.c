/* Operators of ONNX with indices: gathers, scatters, orders. See onnx_build.h; meanings: onnx/docs/Operators.md. */
#include "import/onnx_emit.h"
#include "import/onnx_fold.h"
#include "import/onnx_ops.h"

void onnx_build_gather(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), indices = onnx_input(b, n, 1);
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", 0), onnx_rank(b, x));
  onnx_output(b, n, 0, onnx_take(b, x, indices, axis));
}

/* x with its indices as a trailing vector of one: [d...] → [d..., 1] */
static struct onnx_val as_vectors(struct onnx_builder *b, struct onnx_val indices) {
  int64_t dims[ONNX_RANK_MAX + 1];
  uint32_t rank = onnx_dims(b, indices, dims);
  dims[rank] = 1;
  return onnx_reshape(b, indices, dims, rank + 1);
}

/* Dimension numbers of reading or writing single elements along `axis`: all other dimensions are batches. Indices may be
 * shorter than the data along these: the data is cut to their size by the caller. */
static struct onnx_gather element_numbers(const struct onnx_builder *b, struct onnx_val x, uint32_t axis) {
  struct onnx_gather g = {.collapsed_count = 1, .map_count = 1, .collapsed = {axis}, .map = {axis}};
  for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
    g.sizes[i] = 1;
    if (i != axis) {
      g.operand_batching[g.batching_count] = i;
      g.indices_batching[g.batching_count++] = i;
    }
  }
  return g;
}

/* Whether `indices` are of the data's rank and no longer than it beside the axis. */
static bool check_elements(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis) {
  bool ok = !b->is_failed && onnx_rank(b, x) == onnx_rank(b, indices) && onnx_rank(b, x) < ONNX_RANK_MAX;
  for (uint32_t i = 0; ok && i < onnx_rank(b, x); i++) {
    ok = i == axis || onnx_dim(b, indices, i) <= onnx_dim(b, x, i);
  }
  return onnx_check(b, ok, "indices have another rank than the data or are longer");
}

static struct onnx_val cut_to(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis) {
  for (uint32_t i = 0; i < onnx_rank(b, x) && !b->is_failed; i++) {
    x = i == axis ? x : onnx_slice_axis(b, x, i, 0, onnx_dim(b, indices, i));
  }
  return x;
}

void onnx_build_gather_elements(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_RANK_MAX];
  struct onnx_val x = onnx_input(b, n, 0), indices = onnx_input(b, n, 1);
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", 0), onnx_rank(b, x));
  if (!check_elements(b, x, indices, axis)) {
    return;
  }
  uint32_t rank = onnx_dims(b, indices, dims);
  indices = onnx_wrap_indices(b, indices, onnx_dim(b, x, axis));
  x = cut_to(b, x, indices, axis);
  struct onnx_gather g = element_numbers(b, x, axis);
  onnx_output(b, n, 0, onnx_gather(b, x, as_vectors(b, indices), &g, dims, rank));
}

/* What an operator's `reduction` does with an element and an update. */
static enum ir_opcode reduction_of(struct onnx_builder *b, const struct onnx_node *n) {
  static const struct {
    const char *name;
    enum ir_opcode body;
  } reductions[] = {{"none", IR_OP_UNKNOWN},
                    {"add", IR_OP_ADD},
                    {"mul", IR_OP_MULTIPLY},
                    {"max", IR_OP_MAXIMUM},
                    {"min", IR_OP_MINIMUM}};
  for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
    if (onnx_string_is(b, n, "reduction", reductions[i].name, "none")) {
      return reductions[i].body;
    }
  }
  (void)onnx_check(b, false, "unknown reduction");
  return IR_OP_UNKNOWN;
}

/* Where indices are shorter than the data, the part that they cover is cut out, written, and put back. */
void onnx_build_scatter_elements(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), indices = onnx_input(b, n, 1), updates = onnx_input(b, n, 2);
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", 0), onnx_rank(b, x));
  enum ir_opcode body = reduction_of(b, n);
  if (!check_elements(b, x, indices, axis)
      || !onnx_check(b, onnx_same_dims(b, indices, updates), "indices and updates are of different shapes")) {
    return;
  }
  indices = onnx_wrap_indices(b, indices, onnx_dim(b, x, axis));
  struct onnx_val part = cut_to(b, x, indices, axis);
  struct onnx_gather g = element_numbers(b, x, axis);
  struct onnx_val written = onnx_scatter(b, part, as_vectors(b, indices), updates, &g, body);
  if (!b->is_failed && !onnx_same_dims(b, part, x)) {
    struct onnx_val starts[ONNX_RANK_MAX];
    for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
      starts[i] = onnx_const_int(b, DTYPE_I64, 0);
    }
    written = onnx_dynamic_update(b, x, written, starts);
  }
  onnx_output(b, n, 0, written);
}

/* Index vectors with negative entries counted from the end of their dimensions `first`... */
static struct onnx_val wrap_vectors(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices,
                                    uint32_t first) {
  int64_t sizes[ONNX_RANK_MAX];
  uint32_t last = onnx_rank(b, indices) - 1, depth = (uint32_t)onnx_dim(b, indices, last);
  for (uint32_t i = 0; i < depth; i++) {
    sizes[i] = onnx_dim(b, x, first + i);
  }
  enum dtype dtype = onnx_dtype(b, indices);
  struct onnx_val extent = onnx_convert(b, onnx_const_i64s(b, sizes, depth), dtype);
  struct onnx_val is_negative = onnx_compare(b, ONNX_LT, indices, onnx_const_int(b, dtype, 0));
  return onnx_select(b, is_negative, onnx_add(b, indices, extent), indices);
}

/* Length of the index vectors of `indices`, checked; 0 after a failure. */
static uint32_t vector_length(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t batch) {
  uint32_t rank = onnx_rank(b, indices);
  bool ok = !b->is_failed && rank > batch && onnx_rank(b, x) >= batch && dtype_is_integral(onnx_dtype(b, indices))
            && onnx_dim(b, indices, rank - 1) > 0
            && onnx_dim(b, indices, rank - 1) <= (int64_t)(onnx_rank(b, x) - batch);
  for (uint32_t i = 0; ok && i < batch; i++) {
    ok = onnx_dim(b, indices, i) == onnx_dim(b, x, i);
  }
  return onnx_check(b, ok, "index vectors do not fit the data") ? (uint32_t)onnx_dim(b, indices, rank - 1) : 0;
}

/* Dimension numbers of slices at index vectors of `depth` behind `batch` common dimensions; `outer` dimensions of indices
 * come first in the result (or in the updates). */
static struct onnx_gather slice_numbers(const struct onnx_builder *b, struct onnx_val x, uint32_t batch, uint32_t depth,
                                        uint32_t outer) {
  struct onnx_gather g = {.batching_count = batch};
  for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
    bool is_indexed = i >= batch && i < batch + depth;
    g.sizes[i] = i < batch || is_indexed ? 1 : onnx_dim(b, x, i);
    if (i < batch) {
      g.operand_batching[i] = g.indices_batching[i] = i;
    } else if (is_indexed) {
      g.collapsed[g.collapsed_count++] = i;
      g.map[g.map_count++] = i;
    } else {
      g.offset_dims[g.offset_count] = outer + g.offset_count;
      g.offset_count++;
    }
  }
  return g;
}

void onnx_build_gather_nd(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[2 * ONNX_RANK_MAX];
  struct onnx_val x = onnx_input(b, n, 0), indices = onnx_input(b, n, 1);
  int64_t batch = onnx_int(b, n, "batch_dims", 0);
  if (!onnx_check(b, batch >= 0 && batch < ONNX_RANK_MAX, "%lld batch dimensions", (long long)batch)) {
    return;
  }
  uint32_t depth = vector_length(b, x, indices, (uint32_t)batch);
  if (b->is_failed) {
    return;
  }
  uint32_t outer = onnx_dims(b, indices, dims) - 1, rank = outer;
  for (uint32_t i = (uint32_t)batch + depth; i < onnx_rank(b, x); i++) {
    dims[rank++] = onnx_dim(b, x, i);
  }
  struct onnx_gather g = slice_numbers(b, x, (uint32_t)batch, depth, outer);
  onnx_output(b, n, 0, onnx_gather(b, x, wrap_vectors(b, x, indices, (uint32_t)batch), &g, dims, rank));
}

void onnx_build_scatter_nd(struct onnx_builder *b, const struct onnx_node *n) {
  struct onnx_val x = onnx_input(b, n, 0), indices = onnx_input(b, n, 1), updates = onnx_input(b, n, 2);
  uint32_t depth = vector_length(b, x, indices, 0);
  enum ir_opcode body = reduction_of(b, n);
  if (b->is_failed) {
    return;
  }
  uint32_t outer = onnx_rank(b, indices) - 1;
  bool fits = onnx_rank(b, updates) == outer + onnx_rank(b, x) - depth;
  for (uint32_t i = 0; fits && i < onnx_rank(b, updates); i++) {
    fits = onnx_dim(b, updates, i) == (i < outer ? onnx_dim(b, indices, i) : onnx_dim(b, x, i - outer + depth));
  }
  if (onnx_check(b, fits, "the shape of the updates fits neither indices nor data")) {
    struct onnx_gather g = slice_numbers(b, x, 0, depth, outer);
    onnx_output(b, n, 0, onnx_scatter(b, x, wrap_vectors(b, x, indices, 0), updates, &g, body));
  }
}

void onnx_build_one_hot(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_RANK_MAX], kept[ONNX_RANK_MAX], depth;
  struct onnx_val indices = onnx_input(b, n, 0), size = onnx_input(b, n, 1), values = onnx_input(b, n, 2);
  double real_depth;
  bool is_known = onnx_known_int(b, size, &depth);
  if (!is_known && onnx_known_float(b, size, &real_depth) && real_depth >= 0 && real_depth < 0x1p53) {
    depth = (int64_t)real_depth;
    is_known = true;
  }
  uint32_t rank = onnx_rank(b, indices) + 1;
  if (!onnx_check(b, is_known && depth >= 0 && rank <= ONNX_RANK_MAX, "'depth' must be known when the model is read")
      || !onnx_check(b, onnx_rank(b, values) == 1 && onnx_dim(b, values, 0) == 2, "'values' must be [off, on]")) {
    return;
  }
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", -1), rank);
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = i == axis ? depth : onnx_dim(b, indices, i - (i > axis));
    kept[i] = i == axis ? 1 : dims[i];
  }
  if (onnx_is_float(onnx_dtype(b, indices))) {
    indices = onnx_convert(b, indices, DTYPE_I64);
  }
  struct onnx_val place = onnx_reshape(b, onnx_wrap_indices(b, indices, depth), kept, rank);
  struct onnx_val hot = onnx_compare(b, ONNX_EQ, onnx_iota(b, onnx_dtype(b, place), dims, rank, axis), place);
  struct onnx_val off = onnx_reshape(b, onnx_slice_axis(b, values, 0, 0, 1), NULL, 0);
  struct onnx_val on = onnx_reshape(b, onnx_slice_axis(b, values, 0, 1, 2), NULL, 0);
  onnx_output(b, n, 0, onnx_select(b, hot, on, off));
}

/* Sorted stably, the first k: equal elements come in the order of their indices, as in ONNX. */
void onnx_build_top_k(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t counts[ONNX_INTS_MAX];
  uint32_t count;
  struct onnx_val x = onnx_input(b, n, 0), sorted = {0}, indices = {0};
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", -1), onnx_rank(b, x));
  if (!onnx_ints_of(b, n, 1, "k", counts, &count)) {
    counts[0] = onnx_int(b, n, "k", -1);
    count = 1;
  }
  if (!onnx_check(b, count == 1 && counts[0] >= 0 && counts[0] <= onnx_dim(b, x, axis),
                  "k must be known and at most %lld", (long long)onnx_dim(b, x, axis))) {
    return;
  }
  int64_t dims[ONNX_RANK_MAX];
  uint32_t rank = onnx_dims(b, x, dims);
  bool is_largest = onnx_int(b, n, "largest", 1) != 0;
  onnx_sort(b, x, onnx_iota(b, DTYPE_I64, dims, rank, axis), axis, is_largest, &sorted, &indices);
  onnx_output(b, n, 0, onnx_slice_axis(b, sorted, axis, 0, counts[0]));
  onnx_output(b, n, 1, onnx_slice_axis(b, indices, axis, 0, counts[0]));
}

/* The least index whose element equals the extremum, or the greatest. argument: IR_OP_MAXIMUM or IR_OP_MINIMUM. */
void onnx_build_arg(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_RANK_MAX];
  bool axes[ONNX_RANK_MAX] = {false};
  struct onnx_val x = onnx_input(b, n, 0);
  uint32_t axis = onnx_axis(b, onnx_int(b, n, "axis", 0), onnx_rank(b, x)), rank = onnx_dims(b, x, dims);
  bool keep = onnx_int(b, n, "keepdims", 1) != 0, is_last = onnx_int(b, n, "select_last_index", 0) != 0;
  if (!onnx_check(b, rank > 0 && onnx_dim(b, x, axis) > 0, "the axis is empty")) {
    return;
  }
  axes[axis] = true;
  struct onnx_val extremum = onnx_reduce(b, (enum ir_opcode)b->row->argument, x, axes, true);
  struct onnx_val index = onnx_iota(b, DTYPE_I64, dims, rank, axis);
  struct onnx_val never = onnx_const_int(b, DTYPE_I64, is_last ? -1 : INT64_MAX);
  struct onnx_val candidates = onnx_select(b, onnx_compare(b, ONNX_EQ, x, extremum), index, never);
  onnx_output(b, n, 0, onnx_reduce(b, is_last ? IR_OP_MAXIMUM : IR_OP_MINIMUM, candidates, axes, keep));
}

/* A window as long as the axis, which padding makes end (or begin) at each element. */
void onnx_build_cum_sum(struct onnx_builder *b, const struct onnx_node *n) {
  int64_t dims[ONNX_RANK_MAX], axis_number;
  struct onnx_val x = onnx_input(b, n, 0), which = onnx_input(b, n, 1);
  if (!onnx_check(b, onnx_known_int(b, which, &axis_number), "the axis must be known when the model is read")) {
    return;
  }
  uint32_t axis = onnx_axis(b, axis_number, onnx_rank(b, x)), rank = onnx_dims(b, x, dims);
  int64_t size = onnx_dim(b, x, axis), outer = 1, inner = 1;
  bool is_reverse = onnx_int(b, n, "reverse", 0) != 0, is_exclusive = onnx_int(b, n, "exclusive", 0) != 0;
  if (b->is_failed || onnx_get(b, x)->count == 0) {
    onnx_output(b, n, 0, x);
    return;
  }
  for (uint32_t i = 0; i < rank; i++) {
    outer *= i < axis ? dims[i] : 1;
    inner *= i > axis ? dims[i] : 1;
  }
  struct onnx_window w = {.rank = 1, .size = {size}, .stride = {1}, .base_dilation = {1}, .dilation = {1}};
  /* [outer * inner, 1, size] has the axis as its only window; exclusive sums shift by one */
  int64_t before = is_exclusive ? size : size - 1, after = is_exclusive ? -1 : 0;
  w.low[0] = is_reverse ? after : before;
  w.high[0] = is_reverse ? before : after;
  struct onnx_val flat = onnx_reshape(b, x, (int64_t[]){outer, size, inner}, 3);
  flat = onnx_transpose(b, flat, (int64_t[]){0, 2, 1});
  flat = onnx_reduce_window(b, IR_OP_ADD, flat, onnx_const_float(b, onnx_dtype(b, x), 0), &w);
  flat = onnx_transpose(b, flat, (int64_t[]){0, 2, 1});
  onnx_output(b, n, 0, onnx_reshape(b, flat, dims, rank));
}

/* Operators whose result's shape depends on data. */
void onnx_build_refused(struct onnx_builder *b, const struct onnx_node *n) {
  const struct onnx_val x = b->row->argument != 0 ? onnx_input(b, n, 0) : (struct onnx_val){0};
  const struct onnx_value *v = onnx_get(b, x);
  if (v->cells != NULL && v->count <= ONNX_FOLD_MAX && b->row->argument == 1) { /* NonZero of known elements */
    int64_t found[2] = {v->rank, 0}, index[ONNX_RANK_MAX] = {0};
    for (int64_t i = 0; i < v->count; i++) {
      found[1] += onnx_is_float(v->dtype) ? onnx_cell(v, i).f != 0 : onnx_cell(v, i).i != 0;
    }
    struct onnx_val result = onnx_new_value(b, DTYPE_I64, found, 2);
    union onnx_cell *cells = result.id != 0 ? onnx_new_cells(b, result, false) : NULL;
    v = onnx_get(b, x);
    for (int64_t i = 0, k = 0; cells != NULL && i < v->count; i++) {
      bool is_hit = onnx_is_float(v->dtype) ? onnx_cell(v, i).f != 0 : onnx_cell(v, i).i != 0;
      for (uint32_t d = 0; is_hit && d < v->rank; d++) {
        cells[d * found[1] + k] = (union onnx_cell){.i = index[d]};
      }
      k += is_hit;
      for (uint32_t d = v->rank; d-- > 0;) {
        if (++index[d] < v->dims[d]) {
          break;
        }
        index[d] = 0;
      }
    }
    if (cells != NULL) {
      onnx_output(b, n, 0, result);
      return;
    }
  }
  onnx_fail(b, DIAG_E0109_UNKNOWN_OP, "%s",
            b->row->argument >= 0 ? "the shape of its result depends on data, which StableHLO cannot express"
                                  : "random numbers of ONNX's generators are not defined, and so have no meaning here");
}
