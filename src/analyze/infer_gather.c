/* Inference of gather and scatter with their dimension numbers. Constraint numbers of the StableHLO specification. */
#include <string.h>

#include "analyze/analyze_int.h"

struct gather_dims {
  bool is_scatter;
  struct ints offset, collapsed, operand_batching, indices_batching, start_map;
  int64_t index_vector_dim;
};

/* What gather and scatter both demand of their dimension numbers, under different constraint numbers. */
enum gather_rule {
  RULE_COVER, /* offset, collapsed and batching dimensions are as many as the operand has */
  RULE_VECTOR_RANGE,
  RULE_MAP_COUNT,
  RULE_OFFSET_ORDER,
  RULE_OFFSET_RANGE,
  RULE_DROPPED_UNIQUE, /* collapsed and batching dimensions together */
  RULE_COLLAPSED_ORDER,
  RULE_COLLAPSED_RANGE,
  RULE_BATCHING_ORDER,
  RULE_BATCHING_RANGE,
  RULE_INDICES_BATCHING_UNIQUE,
  RULE_INDICES_BATCHING_RANGE,
  RULE_VECTOR_APART, /* the index vector dimension is no batching dimension */
  RULE_BATCHING_COUNT,
  RULE_BATCHING_SIZE,
  RULE_MAP_UNIQUE, /* index map and batching dimensions together */
  RULE_MAP_RANGE
};

/* Constraint numbers of gather and of scatter. dynamic_gather counts like gather: upstream's tests do, since the
 * specification added batching dimensions to one of the two sections only. */
static const uint8_t rule_numbers[][2] = {
    [RULE_COVER] = {1, 2},
    [RULE_VECTOR_RANGE] = {2, 22},
    [RULE_MAP_COUNT] = {3, 19},
    [RULE_OFFSET_ORDER] = {4, 7},
    [RULE_OFFSET_RANGE] = {5, 8},
    [RULE_DROPPED_UNIQUE] = {6, 9},
    [RULE_COLLAPSED_ORDER] = {7, 10},
    [RULE_COLLAPSED_RANGE] = {8, 11},
    [RULE_BATCHING_ORDER] = {10, 12},
    [RULE_BATCHING_RANGE] = {11, 13},
    [RULE_INDICES_BATCHING_UNIQUE] = {13, 14},
    [RULE_INDICES_BATCHING_RANGE] = {14, 15},
    [RULE_VECTOR_APART] = {15, 16},
    [RULE_BATCHING_COUNT] = {16, 17},
    [RULE_BATCHING_SIZE] = {17, 18},
    [RULE_MAP_UNIQUE] = {18, 20},
    [RULE_MAP_RANGE] = {19, 21},
};

enum gather_list { LIST_OFFSET, LIST_COLLAPSED, LIST_BATCHING, LIST_INDICES_BATCHING, LIST_MAP, LIST_COUNT };
static const char *const list_names[LIST_COUNT][2] = {
    [LIST_OFFSET] = {"offset_dims", "update_window_dims"},
    [LIST_COLLAPSED] = {"collapsed_slice_dims", "inserted_window_dims"},
    [LIST_BATCHING] = {"operand_batching_dims", "input_batching_dims"},
    [LIST_INDICES_BATCHING] = {"start_indices_batching_dims", "scatter_indices_batching_dims"},
    [LIST_MAP] = {"start_index_map", "scatter_dims_to_operand_dims"},
};

static unsigned number_of(const struct gather_dims *dims, enum gather_rule rule) {
  return rule_numbers[rule][dims->is_scatter];
}

/* A list of a STRUCT attribute, empty when absent; false when malformed. */
static bool field(const struct ir_module *module, struct ir_attr attr, const char *name, struct ints *out) {
  struct ir_attr item = ir_attr_field(module, attr, name);
  out->count = 0;
  out->is_present = item.id != 0;
  return item.id == 0 || ints_from_attr(module, item, out);
}

static bool gather_dims_of(const struct ir_module *module, struct ir_attr attr, bool is_scatter,
                           struct gather_dims *out) {
  struct ints *const lists[LIST_COUNT] = {&out->offset, &out->collapsed, &out->operand_batching, &out->indices_batching,
                                          &out->start_map};
  struct ints vector;
  bool ok = attr.id != 0;
  for (unsigned i = 0; ok && i < LIST_COUNT; i++) {
    ok = field(module, attr, list_names[i][is_scatter], lists[i]);
  }
  ok = ok && field(module, attr, "index_vector_dim", &vector);
  out->is_scatter = is_scatter;
  out->index_vector_dim = ok && vector.count == 1 ? vector.v[0] : 0;
  return ok && vector.count <= 1;
}

static bool contains(const struct ints *list, int64_t value) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->v[i] == value) {
      return true;
    }
  }
  return false;
}

/* Entries in [0, rank), none twice, and ascending when `order` is the rule of an ordered list. */
static bool check_list(struct infer *infer, struct ir_op op, const struct gather_dims *dims, enum gather_list which,
                       const struct ints *list, uint32_t rank, enum gather_rule range, enum gather_rule order) {
  const char *name = list_names[which][dims->is_scatter];
  bool is_ordered = which == LIST_OFFSET || which == LIST_COLLAPSED || which == LIST_BATCHING;
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->v[i] < 0 || list->v[i] >= (int64_t)rank) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' names dimension %lld, but the rank is %u (C%u)", name,
                  (long long)list->v[i], rank, number_of(dims, range));
      return false;
    }
  }
  for (uint32_t i = 0; i < list->count; i++) {
    for (uint32_t j = i + 1; j < list->count; j++) {
      if (list->v[i] == list->v[j]) {
        bool is_dropped = which == LIST_COLLAPSED || which == LIST_BATCHING;
        infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' names dimension %lld twice (C%u)", name,
                    (long long)list->v[i], number_of(dims, is_dropped ? RULE_DROPPED_UNIQUE : order));
        return false;
      }
    }
    if (is_ordered && i > 0 && list->v[i - 1] > list->v[i]) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                  "'%s' is not in ascending order: %lld stands before %lld (C%u)", name, (long long)list->v[i - 1],
                  (long long)list->v[i], number_of(dims, order));
      return false;
    }
  }
  return true;
}

/* No entry of `list` is an operand batching dimension. */
static bool check_apart(struct infer *infer, struct ir_op op, const struct gather_dims *dims, enum gather_list which,
                        const struct ints *list, enum gather_rule rule) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (contains(&dims->operand_batching, list->v[i])) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "dimension %lld is in '%s' and in '%s' (C%u)",
                  (long long)list->v[i], list_names[which][dims->is_scatter],
                  list_names[LIST_BATCHING][dims->is_scatter], number_of(dims, rule));
      return false;
    }
  }
  return true;
}

/* The batching dimensions of operand and indices belong together. */
static bool check_batching(struct infer *infer, struct ir_op op, const struct gather_dims *dims,
                           const struct shape *operand, const struct shape *indices) {
  if (contains(&dims->indices_batching, dims->index_vector_dim)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' has the dimension of the index vectors, %lld (C%u)",
                list_names[LIST_INDICES_BATCHING][dims->is_scatter], (long long)dims->index_vector_dim,
                number_of(dims, RULE_VECTOR_APART));
    return false;
  }
  if (dims->operand_batching.count != dims->indices_batching.count) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "operand and indices have %u and %u batching dimensions (C%u)",
                dims->operand_batching.count, dims->indices_batching.count, number_of(dims, RULE_BATCHING_COUNT));
    return false;
  }
  for (uint32_t i = 0; i < dims->operand_batching.count; i++) {
    if (!dims_agree(operand->dims[dims->operand_batching.v[i]], indices->dims[dims->indices_batching.v[i]])) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "batching dimension %u differs between operand and indices (C%u)",
                  i, number_of(dims, RULE_BATCHING_SIZE));
      return false;
    }
  }
  return true;
}

/* Constraints that gather and scatter share; false after a message. */
static bool check_dims(struct infer *infer, struct ir_op op, const struct gather_dims *dims,
                       const struct shape *operand, const struct shape *indices) {
  if (dims->index_vector_dim < 0 || dims->index_vector_dim > (int64_t)indices->rank) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'index_vector_dim' is %lld, but the indices have rank %u (C%u)",
                (long long)dims->index_vector_dim, indices->rank, number_of(dims, RULE_VECTOR_RANGE));
    return false;
  }
  if (!check_list(infer, op, dims, LIST_COLLAPSED, &dims->collapsed, operand->rank, RULE_COLLAPSED_RANGE,
                  RULE_COLLAPSED_ORDER)
      || !check_list(infer, op, dims, LIST_BATCHING, &dims->operand_batching, operand->rank, RULE_BATCHING_RANGE,
                     RULE_BATCHING_ORDER)
      || !check_apart(infer, op, dims, LIST_COLLAPSED, &dims->collapsed, RULE_DROPPED_UNIQUE)
      || !check_list(infer, op, dims, LIST_INDICES_BATCHING, &dims->indices_batching, indices->rank,
                     RULE_INDICES_BATCHING_RANGE, RULE_INDICES_BATCHING_UNIQUE)
      || !check_batching(infer, op, dims, operand, indices)
      || !check_list(infer, op, dims, LIST_MAP, &dims->start_map, operand->rank, RULE_MAP_RANGE, RULE_MAP_UNIQUE)
      || !check_apart(infer, op, dims, LIST_MAP, &dims->start_map, RULE_MAP_UNIQUE)) {
    return false;
  }
  int64_t vector = dims->index_vector_dim < (int64_t)indices->rank ? indices->dims[dims->index_vector_dim] : 1;
  if (!dims_agree(vector, dims->start_map.count)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'%s' has %u entries, the index vectors have %lld (C%u)",
                list_names[LIST_MAP][dims->is_scatter], dims->start_map.count, (long long)vector,
                number_of(dims, RULE_MAP_COUNT));
    return false;
  }
  return true;
}

/* Result of a gather: batch dimensions of the indices, and offset dimensions of the slice that are not collapsed. */
static bool gather_shape(struct infer *infer, struct ir_op op, const struct gather_dims *dims,
                         const struct shape *operand, const struct shape *indices, const int64_t *sizes,
                         struct shape *out) {
  uint32_t batch = indices->rank - (dims->index_vector_dim < (int64_t)indices->rank);
  uint32_t kept = operand->rank - dims->collapsed.count - dims->operand_batching.count;
  if (dims->collapsed.count + dims->operand_batching.count > operand->rank || kept != dims->offset.count) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE,
                "%u offset dimensions, but the slice has %u dimensions that are neither collapsed nor batching (C%u)",
                dims->offset.count, dims->collapsed.count + dims->operand_batching.count > operand->rank ? 0 : kept,
                number_of(dims, RULE_COVER));
    return false;
  }
  uint32_t rank = batch + dims->offset.count;
  if (rank > SHAPE_MAX_RANK
      || !check_list(infer, op, dims, LIST_OFFSET, &dims->offset, rank, RULE_OFFSET_RANGE, RULE_OFFSET_ORDER)) {
    return false;
  }
  shape_init(out, rank, operand->element);
  uint32_t from_indices = 0, from_slice = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (contains(&dims->offset, i)) {
      while (contains(&dims->collapsed, from_slice) || contains(&dims->operand_batching, from_slice)) {
        from_slice++;
      }
      out->dims[i] = from_slice < operand->rank ? sizes[from_slice] : IR_DYNAMIC;
      from_slice++;
    } else {
      from_indices += from_indices == dims->index_vector_dim;
      out->dims[i] = from_indices < indices->rank ? indices->dims[from_indices] : IR_DYNAMIC;
      from_indices++;
    }
  }
  return true;
}

static void infer_gather(struct infer *infer, struct ir_op op, const int64_t *sizes, uint32_t size_count) {
  struct gather_dims dims;
  struct shape operand, indices, out;
  int64_t unknown[SHAPE_MAX_RANK];
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand)
      || !shape_of(infer->module, ir_op_operand(infer->module, op, 1), &indices)) {
    return;
  }
  if (!gather_dims_of(infer->module, ir_op_attr(infer->module, op, "dimension_numbers"), false, &dims)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'dimension_numbers' is malformed");
    return;
  }
  if (!check_dims(infer, op, &dims, &operand, &indices)) {
    return;
  }
  for (uint32_t i = 0; i < operand.rank; i++) {
    unknown[i] = IR_DYNAMIC;
    bool is_known = i < size_count;
    if (is_known && (sizes[i] < 0 || (dim_is_static(operand.dims[i]) && sizes[i] > operand.dims[i]))) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "slice size %lld of dimension %u is not in [0, %lld] (C21)",
                  (long long)sizes[i], i, (long long)operand.dims[i]);
      return;
    }
    bool is_dropped = contains(&dims.collapsed, i) || contains(&dims.operand_batching, i);
    if (is_known && is_dropped && sizes[i] > 1) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "slice size %lld of the dropped dimension %u exceeds 1 (C%u)",
                  (long long)sizes[i], i, contains(&dims.collapsed, i) ? 9 : 12);
      return;
    }
  }
  if (gather_shape(infer, op, &dims, &operand, &indices, size_count > 0 || operand.rank == 0 ? sizes : unknown, &out)) {
    infer_result(infer, op, 0, &out);
  }
}

void infer_op_gather(struct infer *infer, struct ir_op op) {
  struct ints sizes;
  struct shape operand;
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand)) {
    return;
  }
  if (!ints_of(infer->module, op, "slice_sizes", &sizes)
      || !infer_check_count(infer, op, "slice_sizes", &sizes, operand.rank)) {
    return;
  }
  infer_gather(infer, op, sizes.v, sizes.count);
}

void infer_op_dynamic_gather(struct infer *infer, struct ir_op op) {
  struct shape operand;
  int64_t sizes[SHAPE_MAX_RANK] = {0};
  if (!shape_of(infer->module, ir_op_operand(infer->module, op, 0), &operand)) {
    return;
  }
  bool is_known = infer_constant_dims(infer, ir_op_operand(infer->module, op, 2), operand.rank, sizes);
  infer_gather(infer, op, sizes, is_known ? operand.rank : 0);
}

/* Updates: batch dimensions of the indices and window dimensions not larger than the operand's. */
static bool check_updates(struct infer *infer, struct ir_op op, const struct gather_dims *dims,
                          const struct shape *operand, const struct shape *indices, const struct shape *update,
                          uint32_t number) {
  struct shape expected;
  int64_t unknown[SHAPE_MAX_RANK];
  for (uint32_t i = 0; i < operand->rank; i++) {
    unknown[i] = IR_DYNAMIC;
  }
  if (!gather_shape(infer, op, dims, operand, indices, unknown, &expected)) {
    return false;
  }
  if (!shapes_agree(&expected, update)) {
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "update %u does not have the batch dimensions of the indices (C4)",
                number);
    return false;
  }
  uint32_t window = 0;
  for (uint32_t i = 0; i < operand->rank; i++) {
    if (contains(&dims->collapsed, i) || contains(&dims->operand_batching, i)) {
      continue;
    }
    int64_t size = update->dims[dims->offset.v[window++]];
    if (dim_is_static(size) && dim_is_static(operand->dims[i]) && size > operand->dims[i]) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "update %u exceeds the operand in dimension %u (C4)", number, i);
      return false;
    }
  }
  return true;
}

void infer_op_scatter(struct infer *infer, struct ir_op op) {
  struct ir_module *module = infer->module;
  struct gather_dims dims;
  struct shape operand, indices, update;
  uint32_t operands = ir_op_get(module, op)->operand_count, results = ir_op_get(module, op)->result_count;
  if (operands % 2 == 0 || results != operands / 2) {
    infer_error_rule(infer, op, RULE_OPERAND_COUNT, DIAG_E0201_OPERAND_COUNT,
                     "expected n inputs, indices, n updates and n results, found %u operands and %u results", operands,
                     results);
    return;
  }
  if (!gather_dims_of(module, ir_op_attr(module, op, "scatter_dimension_numbers"), true, &dims)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'scatter_dimension_numbers' is malformed");
    return;
  }
  for (uint32_t i = 0; i < results; i++) {
    bool is_ranked = shape_of(module, ir_op_operand(module, op, i), &operand)
                     && shape_of(module, ir_op_operand(module, op, results), &indices)
                     && shape_of(module, ir_op_operand(module, op, results + 1 + i), &update);
    if (is_ranked
        && (!check_dims(infer, op, &dims, &operand, &indices)
            || !check_updates(infer, op, &dims, &operand, &indices, &update, i))) {
      return;
    }
    operand.element = returned_element(module, op, 0, i); /* the body may promote it */
    infer_result(infer, op, i, &operand);
  }
}
