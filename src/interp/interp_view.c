/* Strided copies between tensors: see interp_view.h. */
#include <string.h>

#include "interp/interp_view.h"

struct interp_view interp_view_of(const struct interp_value *v) {
  struct interp_view view = {0};
  interp_strides(v->dims, v->rank, view.strides);
  return view;
}

/* One row; strides in bytes. */
static void copy_row(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride, int64_t count,
                     unsigned bytes) {
  if (to_stride == bytes && from_stride == bytes) {
    memcpy(to, from, (size_t)count * bytes);
    return;
  }
  switch (bytes) { /* a constant size lets each loop be a move */
  case 1:
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride) {
      *to = *from;
    }
    break;
  case 4:
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride) {
      memcpy(to, from, 4);
    }
    break;
  case 8:
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride) {
      memcpy(to, from, 8);
    }
    break;
  default:
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride) {
      memcpy(to, from, bytes);
    }
  }
}

void interp_view_copy(struct interp_value *to, const struct interp_view *to_view, const struct interp_value *from,
                      const struct interp_view *from_view, const int64_t *dims, uint32_t rank) {
  int64_t index[INTERP_MAX_RANK] = {0};
  int64_t bytes = interp_element_bytes(to);
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] <= 0) {
      return;
    }
  }
  int64_t last = rank > 0 ? dims[rank - 1] : 1;
  int64_t to_last = rank > 0 ? to_view->strides[rank - 1] : 1, from_last = rank > 0 ? from_view->strides[rank - 1] : 1;
  do {
    int64_t to_at = to_view->base, from_at = from_view->base;
    for (uint32_t i = 0; i + 1 < rank; i++) {
      to_at += index[i] * to_view->strides[i];
      from_at += index[i] * from_view->strides[i];
    }
    copy_row(to->data + to_at * bytes, to_last * bytes, from->data + from_at * bytes, from_last * bytes, last,
             (unsigned)bytes);
  } while (rank > 1 && interp_next_index(dims, rank - 1, index));
}

void interp_fill(struct interp_value *to, const struct interp_value *from) {
  struct interp_view row = {.strides = {1}}, point = {0};
  int64_t count = (int64_t)to->count;
  interp_view_copy(to, &row, from, &point, &count, 1);
}
