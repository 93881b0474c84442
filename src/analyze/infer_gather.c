/* Inference of gather and scatter with their dimension numbers. Constraint numbers of the StableHLO specification. */
#include <string.h>

#include "analyze/analyze_int.h"

struct gather_dims {
  struct ints offset, collapsed, operand_batching, indices_batching, start_map;
  int64_t index_vector_dim;
};

/* A list of a STRUCT attribute, empty when absent; false when malformed. */
static bool field(const struct ir_module *module, struct ir_attr attr, const char *name, struct ints *out) {
  struct ir_attr item = ir_attr_field(module, attr, name);
  out->count = 0;
  out->is_present = item.id != 0;
  return item.id == 0 || ints_from_attr(module, item, out);
}

static bool gather_dims_of(const struct ir_module *module, struct ir_attr attr, bool is_scatter,
                           struct gather_dims *out) {
  struct ints vector;
  bool ok = attr.id != 0 && field(module, attr, is_scatter ? "update_window_dims" : "offset_dims", &out->offset)
            && field(module, attr, is_scatter ? "inserted_window_dims" : "collapsed_slice_dims", &out->collapsed)
            && field(module, attr, is_scatter ? "input_batching_dims" : "operand_batching_dims", &out->operand_batching)
            && field(module, attr, is_scatter ? "scatter_indices_batching_dims" : "start_indices_batching_dims",
                     &out->indices_batching)
            && field(module, attr, is_scatter ? "scatter_dims_to_operand_dims" : "start_index_map", &out->start_map)
            && field(module, attr, "index_vector_dim", &vector);
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

/* Constraints that gather and scatter share; false after a message. */
static bool check_dims(struct infer *infer, struct ir_op op, const struct gather_dims *dims,
                       const struct shape *operand, const struct shape *indices) {
  if (dims->index_vector_dim < 0 || dims->index_vector_dim > (int64_t)indices->rank) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "'index_vector_dim' is %lld, but the indices have rank %u",
                (long long)dims->index_vector_dim, indices->rank);
    return false;
  }
  if (dims->operand_batching.count != dims->indices_batching.count) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "operand and indices have %u and %u batching dimensions",
                dims->operand_batching.count, dims->indices_batching.count);
    return false;
  }
  if (!infer_check_dims(infer, op, "collapsed or inserted dimensions", &dims->collapsed, operand->rank)
      || !infer_check_dims(infer, op, "operand batching dimensions", &dims->operand_batching, operand->rank)
      || !infer_check_dims(infer, op, "indices batching dimensions", &dims->indices_batching, indices->rank)
      || !infer_check_dims(infer, op, "index map", &dims->start_map, operand->rank)) {
    return false;
  }
  int64_t vector = dims->index_vector_dim < (int64_t)indices->rank ? indices->dims[dims->index_vector_dim] : 1;
  if (!dims_agree(vector, dims->start_map.count)) {
    infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "the index map has %u entries, the index vectors have %lld",
                dims->start_map.count, (long long)vector);
    return false;
  }
  for (uint32_t i = 0; i < dims->operand_batching.count; i++) {
    if (!dims_agree(operand->dims[dims->operand_batching.v[i]], indices->dims[dims->indices_batching.v[i]])) {
      infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "batching dimension %u differs between operand and indices", i);
      return false;
    }
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
                "%u offset dimensions, but the slice has %u dimensions that are neither collapsed nor batching (C1)",
                dims->offset.count, dims->collapsed.count + dims->operand_batching.count > operand->rank ? 0 : kept);
    return false;
  }
  uint32_t rank = batch + dims->offset.count;
  if (rank > SHAPE_MAX_RANK || !infer_check_dims(infer, op, "offset_dims", &dims->offset, rank)) {
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
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "slice size %lld of dimension %u is not in [0, %lld] (C8)",
                  (long long)sizes[i], i, (long long)operand.dims[i]);
      return;
    }
    bool is_dropped = contains(&dims.collapsed, i) || contains(&dims.operand_batching, i);
    if (is_known && is_dropped && sizes[i] > 1) {
      infer_error(infer, op, DIAG_E0206_ATTRIBUTE_VALUE, "slice size %lld of the dropped dimension %u exceeds 1 (C12)",
                  (long long)sizes[i], i);
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
    infer_error(infer, op, DIAG_E0204_OPERAND_TYPE, "update %u does not have the batch dimensions of the indices",
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
    infer_error(infer, op, DIAG_E0201_OPERAND_COUNT,
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
    operand.element = (struct ir_type){0}; /* the body may promote it */
    infer_result(infer, op, i, &operand);
  }
}
