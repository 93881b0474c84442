/* Copies between tensors where both sides are walked with strides: what slices, transposes, broadcasts, pads, concatenations
 * and gathers are made of. */
#ifndef RIDGELINE_INTERP_INTERP_VIEW_H
#define RIDGELINE_INTERP_INTERP_VIEW_H

#include "interp/interp_int.h"

/* Element (i0, i1, …) of a view is element base + sum of i * stride of the tensor. */
struct interp_view {
  int64_t base;
  int64_t strides[INTERP_MAX_RANK];
};

/* The whole tensor. */
struct interp_view interp_view_of(const struct interp_value *v);
/* to[i] = from[i] for every index i below dims. The two are of one element size; every index must lie inside of both. */
void interp_view_copy(struct interp_value *to, const struct interp_view *to_view, const struct interp_value *from,
                      const struct interp_view *from_view, const int64_t *dims, uint32_t rank);
/* Every element of `to` = element 0 of `from`. */
void interp_fill(struct interp_value *to, const struct interp_value *from);

#endif
