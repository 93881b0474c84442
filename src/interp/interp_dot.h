/* Contractions as dot_general defines them, for the operations that are made of them. */
#ifndef RIDGELINE_INTERP_INTERP_DOT_H
#define RIDGELINE_INTERP_INTERP_DOT_H

#include "interp/interp_int.h"

/* Dimensions of one side by their role, in order. */
struct interp_side {
  int64_t batch[INTERP_MAX_RANK], free[INTERP_MAX_RANK], contracted[INTERP_MAX_RANK];
  uint32_t batch_count, free_count, contracted_count; /* free: found by interp_product_dims */
};

/* Batching and contracting dimensions from an attribute with the fields of dot_dimension_numbers. */
void interp_read_sides(const struct interp_call *call, struct ir_attr numbers, struct interp_side *left,
                       struct interp_side *right);
/* Dimensions of the product: batch, free left, free right. Also fills in the free dimensions of the sides. */
bool interp_product_dims(struct interp_call *call, const struct interp_value *lhs, const struct interp_value *rhs,
                         struct interp_side *left, struct interp_side *right, int64_t *dims, uint32_t *rank);
/* Writes the product into a tensor of those dimensions. */
bool interp_contract(struct interp_call *call, const struct interp_value *lhs, const struct interp_value *rhs,
                     const struct interp_side *left, const struct interp_side *right, struct interp_value *to);
/* The product of the first two operands as result 0. */
bool interp_dot_operands(struct interp_call *call, struct interp_side *left, struct interp_side *right);

#endif
