/* Operations with indices. See onnx_emit.h. */
#include <string.h>

#include "import/onnx_emit.h"
#include "import/onnx_fold.h"

static const struct onnx_val none = {0};

struct named_list {
  const char *name;
  const int64_t *values;
  uint32_t count;
};

/* #stablehlo.gather<...> and #stablehlo.scatter<...>; empty lists are left out. */
static struct ir_attr numbers_attr(struct onnx_builder *b, const char *mnemonic, const struct named_list *lists,
                                   size_t count, int64_t index_vector_dim) {
  uint32_t pairs[12], used = 0;
  for (size_t i = 0; i < count; i++) {
    if (lists[i].count > 0) {
      pairs[used++] = intern_add_cstr(&b->m->strings, lists[i].name);
      pairs[used++] = ir_attr_i64s(b->m, lists[i].values, lists[i].count).id;
    }
  }
  if (index_vector_dim != 0) {
    pairs[used++] = intern_add_cstr(&b->m->strings, "index_vector_dim");
    pairs[used++] = ir_attr_integer(b->m, index_vector_dim, ir_type_scalar(b->m, DTYPE_I64)).id;
  }
  for (uint32_t i = 0; i < used; i++) {
    if (pairs[i] == UINT32_MAX || pairs[i] == 0) {
      return (struct ir_attr){0};
    }
  }
  return ir_attr_struct(b->m, mnemonic, pairs, used / 2);
}

struct onnx_val onnx_gather(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices,
                            const struct onnx_gather *g, const int64_t *dims, uint32_t rank) {
  if (b->is_failed || !onnx_check(b, onnx_rank(b, indices) > 0, "indices have no dimensions")) {
    return none;
  }
  const struct named_list lists[] = {{"offset_dims", g->offset_dims, g->offset_count},
                                     {"collapsed_slice_dims", g->collapsed, g->collapsed_count},
                                     {"operand_batching_dims", g->operand_batching, g->batching_count},
                                     {"start_indices_batching_dims", g->indices_batching, g->batching_count},
                                     {"start_index_map", g->map, g->map_count}};
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  (void)onnx_push_attr(b, "dimension_numbers",
                       numbers_attr(b, "stablehlo.gather", lists, 5, (int64_t)onnx_rank(b, indices) - 1));
  (void)onnx_push_i64s(b, "slice_sizes", g->sizes, onnx_rank(b, x));
  (void)onnx_push_attr(b, "indices_are_sorted", ir_attr_bool(b->m, false));
  return onnx_emit(b, IR_OP_GATHER, (struct onnx_val[]){x, indices}, 2, NULL, v);
}

struct onnx_val onnx_scatter(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices,
                             struct onnx_val updates, const struct onnx_gather *g, enum ir_opcode body) {
  if (b->is_failed || !onnx_check(b, onnx_rank(b, indices) > 0, "indices have no dimensions")
      || !onnx_check(b, onnx_dtype(b, x) == onnx_dtype(b, updates), "updates are of another type than the data")) {
    return none;
  }
  const struct named_list lists[] = {{"update_window_dims", g->offset_dims, g->offset_count},
                                     {"inserted_window_dims", g->collapsed, g->collapsed_count},
                                     {"input_batching_dims", g->operand_batching, g->batching_count},
                                     {"scatter_indices_batching_dims", g->indices_batching, g->batching_count},
                                     {"scatter_dims_to_operand_dims", g->map, g->map_count}};
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), onnx_get(b, x)->dims, onnx_rank(b, x));
  (void)onnx_push_attr(b, "scatter_dimension_numbers",
                       numbers_attr(b, "stablehlo.scatter", lists, 5, (int64_t)onnx_rank(b, indices) - 1));
  (void)onnx_push_attr(b, "indices_are_sorted", ir_attr_bool(b->m, false));
  (void)onnx_push_attr(b, "unique_indices", ir_attr_bool(b->m, false));
  struct ir_region region = onnx_scalar_body(b, onnx_dtype(b, x), body);
  return onnx_emit(b, IR_OP_SCATTER, (struct onnx_val[]){x, indices, updates}, 3, &region, v);
}

/* Indices from -size … size-1 as 0 … size-1. */
struct onnx_val onnx_wrap_indices(struct onnx_builder *b, struct onnx_val indices, int64_t size) {
  if (b->is_failed
      || !onnx_check(b, dtype_is_integral(onnx_dtype(b, indices)) && onnx_dtype(b, indices) != DTYPE_I1,
                     "indices must be integers")) {
    return none;
  }
  enum dtype dtype = onnx_dtype(b, indices);
  if (dtype_class_of(dtype) == DTYPE_CLASS_UINT) {
    return indices;
  }
  struct onnx_val is_negative = onnx_compare(b, ONNX_LT, indices, onnx_const_int(b, dtype, 0));
  return onnx_select(b, is_negative, onnx_add(b, indices, onnx_const_int(b, dtype, size)), indices);
}

struct onnx_val onnx_take(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis) {
  int64_t dims[ONNX_RANK_MAX], vectors[ONNX_RANK_MAX], only;
  struct onnx_gather g = {.collapsed_count = 1, .map_count = 1, .collapsed = {axis}, .map = {axis}};
  uint32_t rank = 0;
  if (b->is_failed
      || !onnx_check(b, axis < onnx_rank(b, x) && onnx_rank(b, x) + onnx_rank(b, indices) < ONNX_RANK_MAX,
                     "data and indices have too many or too few dimensions")) {
    return none;
  }
  indices = onnx_wrap_indices(b, indices, onnx_dim(b, x, axis));
  if (b->is_failed) {
    return none;
  }
  uint32_t index_rank = onnx_rank(b, indices);
  for (uint32_t i = 0; i < onnx_rank(b, x); i++) {
    g.sizes[i] = i == axis ? 1 : onnx_dim(b, x, i);
    if (i == axis) {
      rank += onnx_dims(b, indices, dims + rank);
    } else {
      g.offset_dims[g.offset_count++] = rank;
      dims[rank++] = onnx_dim(b, x, i);
    }
  }
  if (onnx_get(b, indices)->count == 1 && onnx_known_int(b, indices, &only)) {
    return onnx_reshape(b, onnx_slice_axis(b, x, axis, only, only < INT64_MAX ? only + 1 : only), dims, rank);
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), dims, rank);
  if (v.id == 0 || onnx_fold_take(b, x, indices, axis, v)) {
    return v;
  }
  (void)onnx_dims(b, indices, vectors);
  vectors[index_rank] = 1;
  return onnx_gather(b, x, onnx_reshape(b, indices, vectors, index_rank + 1), &g, dims, rank);
}

/* (x0, y0, x1, y1) → x0 > y0, or < */
static struct ir_region sort_body(struct onnx_builder *b, enum dtype key, enum dtype rest, bool is_descending) {
  struct ir_region region = ir_region_create(b->m);
  struct ir_block block = ir_block_create(b->m, region), outer = b->block;
  struct ir_type scalars[4];
  for (int i = 0; i < 4; i++) {
    scalars[i] = ir_type_tensor(b->m, ir_type_scalar(b->m, i < 2 ? key : rest), NULL, 0, (struct ir_attr){0});
  }
  struct onnx_val x = onnx_new_value(b, key, NULL, 0), y = onnx_new_value(b, key, NULL, 0);
  if (block.id == 0 || y.id == 0 || !ir_block_set_arguments(b->m, block, scalars, 4)) {
    onnx_fail_memory(b);
    return region;
  }
  b->values.data[x.id].value = ir_block_argument(b->m, block, 0);
  b->values.data[y.id].value = ir_block_argument(b->m, block, 1);
  b->block = block;
  struct ir_value value = onnx_ir(b, onnx_compare(b, is_descending ? ONNX_GT : ONNX_LT, x, y));
  b->block = outer;
  struct ir_op_spec end = {.opcode = IR_OP_RETURN, .operands = &value, .operand_count = 1};
  if (!b->is_failed && ir_op_create(b->m, block, &end).id == 0) {
    onnx_fail_memory(b);
  }
  return region;
}

void onnx_sort(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis, bool is_descending,
               struct onnx_val *sorted, struct onnx_val *permuted) {
  if (b->is_failed) {
    return;
  }
  struct onnx_val results[2] = {onnx_new_value(b, onnx_dtype(b, x), onnx_get(b, x)->dims, onnx_rank(b, x)),
                                onnx_new_value(b, onnx_dtype(b, indices), onnx_get(b, x)->dims, onnx_rank(b, x))};
  struct ir_region region = sort_body(b, onnx_dtype(b, x), onnx_dtype(b, indices), is_descending);
  (void)onnx_push_i64(b, "dimension", axis);
  (void)onnx_push_attr(b, "is_stable", ir_attr_bool(b->m, true));
  if (onnx_emit_many(b, IR_OP_SORT, (struct onnx_val[]){x, indices}, 2, &region, 1, results, 2)) {
    *sorted = results[0];
    *permuted = results[1];
  }
}

struct onnx_val onnx_dynamic_slice(struct onnx_builder *b, struct onnx_val x, const struct onnx_val *starts,
                                   const int64_t *sizes) {
  struct onnx_val operands[1 + ONNX_RANK_MAX] = {x};
  if (b->is_failed) {
    return none;
  }
  uint32_t rank = onnx_rank(b, x);
  if (rank > 0) {
    memcpy(operands + 1, starts, rank * sizeof *starts);
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), sizes, rank);
  (void)onnx_push_i64s(b, "slice_sizes", sizes, rank);
  return onnx_emit(b, IR_OP_DYNAMIC_SLICE, operands, 1 + rank, NULL, v);
}

struct onnx_val onnx_dynamic_update(struct onnx_builder *b, struct onnx_val x, struct onnx_val update,
                                    const struct onnx_val *starts) {
  struct onnx_val operands[2 + ONNX_RANK_MAX] = {x, update};
  if (b->is_failed) {
    return none;
  }
  uint32_t rank = onnx_rank(b, x);
  if (rank > 0) {
    memcpy(operands + 2, starts, rank * sizeof *starts);
  }
  struct onnx_val v = onnx_new_value(b, onnx_dtype(b, x), onnx_get(b, x)->dims, rank);
  return onnx_emit(b, IR_OP_DYNAMIC_UPDATE_SLICE, operands, 2 + rank, NULL, v);
}
