/* Values of small known tensors. Exporters compute shapes in the graph (Shape → Gather → Concat → Reshape); folded, they
 * leave static shapes and no operations. Each function sets the cells of `result` and gives true, or false when the operands
 * are not known, too many, or the operation is not one that shapes need. Arithmetic is that of the interpreter: integers
 * wrap, floats round once to their format. */
#ifndef RIDGELINE_IMPORT_ONNX_FOLD_H
#define RIDGELINE_IMPORT_ONNX_FOLD_H

#include "import/onnx_build.h"

enum { ONNX_FOLD_MAX = 4096 }; /* elements; splats of any size are folded */

static inline union onnx_cell onnx_cell(const struct onnx_value *v, int64_t i) {
  return v->cells[v->is_splat ? 0 : i];
}
bool onnx_is_float(enum dtype dtype);
/* The cell that a conversion to `dtype` of a cell of type `from` gives. */
union onnx_cell onnx_cell_convert(union onnx_cell cell, enum dtype from, enum dtype dtype);
/* Elements in the layout of DENSE attributes. */
void onnx_cell_store(union onnx_cell cell, enum dtype dtype, uint8_t *to);
union onnx_cell onnx_cell_load(enum dtype dtype, const uint8_t *from);
/* Room for the cells of a value; NULL after a failure. */
union onnx_cell *onnx_new_cells(struct onnx_builder *b, struct onnx_val v, bool is_splat);

bool onnx_fold_unary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, struct onnx_val result);
/* Operands of the result's shape, or splats. */
bool onnx_fold_binary(struct onnx_builder *b, enum ir_opcode opcode, struct onnx_val x, struct onnx_val y,
                      struct onnx_val result);
bool onnx_fold_compare(struct onnx_builder *b, int direction, struct onnx_val x, struct onnx_val y,
                       struct onnx_val result);
bool onnx_fold_select(struct onnx_builder *b, struct onnx_val p, struct onnx_val x, struct onnx_val y,
                      struct onnx_val result);
bool onnx_fold_convert(struct onnx_builder *b, struct onnx_val x, struct onnx_val result);
/* result[i] = x[offset + sum of i[d] * strides[d]] */
bool onnx_fold_view(struct onnx_builder *b, struct onnx_val x, int64_t offset, const int64_t *strides,
                    struct onnx_val result);
bool onnx_fold_concat(struct onnx_builder *b, const struct onnx_val *parts, uint32_t count, uint32_t axis,
                      struct onnx_val result);
bool onnx_fold_take(struct onnx_builder *b, struct onnx_val x, struct onnx_val indices, uint32_t axis,
                    struct onnx_val result);
bool onnx_fold_iota(struct onnx_builder *b, uint32_t axis, struct onnx_val result);
/* Over all axes of a vector. */
bool onnx_fold_reduce(struct onnx_builder *b, enum ir_opcode body, struct onnx_val x, struct onnx_val result);

#endif
