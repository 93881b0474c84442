/* Windows that move over a tensor, for reduce_window and select_and_scatter and their fast path. */
#ifndef RIDGELINE_INTERP_INTERP_WINDOW_H
#define RIDGELINE_INTERP_INTERP_WINDOW_H

#include "interp/interp_int.h"

/* Attributes of reduce_window and select_and_scatter; absent ones have their defaults. */
struct interp_window {
  uint32_t rank;
  int64_t size[INTERP_MAX_RANK], stride[INTERP_MAX_RANK], base_dilation[INTERP_MAX_RANK];
  int64_t dilation[INTERP_MAX_RANK], low[INTERP_MAX_RANK];
  int64_t positions[INTERP_MAX_RANK]; /* of the window: dims of the result */
};

#endif
