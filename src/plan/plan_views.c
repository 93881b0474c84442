/* Views of values: reshapes, broadcasts, transpositions, slices as lists of (extent, stride) atoms.
 * Path: plan_read.c binds every tensor to a view → plan_read_nodes.c takes the axes and strides of operands from it. */
#include "base/checked.h"
#include "plan/plan_read.h"

static uint64_t extent_of(int64_t dim) {
  return dim > 0 ? (uint64_t)dim : 0;
}

static void push_atom(struct reader *reader, uint64_t extent, uint64_t stride, uint32_t dim) {
  if (extent > 1 && !vec_push(&reader->atoms, ((struct read_atom){extent, stride, dim}))) {
    reader->out_of_memory = true;
  }
}

/* True when the atoms that are not repeated run through the value in row-major order. */
static bool is_dense(const struct reader *reader, const struct read_view *view) {
  uint64_t next = 1;
  for (uint32_t i = view->atom_count; i-- > 0;) {
    const struct read_atom *atom = &reader->atoms.data[view->atom_first + i];
    if (atom->stride == 0) {
      continue;
    }
    if (atom->stride != next) {
      return false;
    }
    next = sat_mul_u64(next, atom->extent);
  }
  return next == reader->values.data[view->value].elements;
}

/* Closes a view whose atoms were pushed since `first`. */
static uint32_t view_end(struct reader *reader, uint32_t value, size_t first, uint8_t flags) {
  struct read_view view = {.value = value,
                           .atom_first = (uint32_t)first,
                           .atom_count = (uint32_t)(reader->atoms.count - first),
                           .flags = (uint8_t)(flags & ~READ_MOVED)};
  if (reader->out_of_memory) {
    return 0;
  }
  if ((flags & (READ_PARTIAL | READ_OPAQUE)) != 0 || !is_dense(reader, &view)) {
    view.flags |= READ_MOVED;
  }
  if (!vec_push(&reader->views, view)) {
    reader->out_of_memory = true;
    return 0;
  }
  return (uint32_t)(reader->views.count - 1);
}

uint32_t read_view_dense(struct reader *reader, uint32_t value, const int64_t *dims, uint32_t rank) {
  size_t first = reader->atoms.count;
  uint64_t stride = 1;
  for (uint32_t d = 0; d < rank; d++) {
    stride = sat_mul_u64(stride, extent_of(dims[d]));
  }
  for (uint32_t d = 0; d < rank; d++) {
    uint64_t extent = extent_of(dims[d]);
    stride = extent > 0 ? stride / extent : 0;
    push_atom(reader, extent, stride, d);
  }
  return view_end(reader, value, first, 0);
}

/* Cuts the atoms anew at the borders of the new dimensions, from the innermost on; false where one does not divide the
 * other. Atoms are pushed inner first. */
static bool reshape_atoms(struct reader *reader, const struct read_view *from, const int64_t *dims, uint32_t rank) {
  uint32_t left = from->atom_count;
  struct read_atom atom = {1, 0, 0};
  for (uint32_t d = rank; d-- > 0;) {
    uint64_t need = extent_of(dims[d]);
    while (need > 1) {
      if (atom.extent == 1) {
        if (left == 0) {
          return false;
        }
        atom = reader->atoms.data[from->atom_first + --left];
      }
      uint64_t part = atom.extent < need ? atom.extent : need;
      if (atom.extent % part != 0 || need % part != 0) {
        return false;
      }
      push_atom(reader, part, atom.stride, d);
      atom.extent /= part;
      atom.stride = sat_mul_u64(atom.stride, part);
      need /= part;
    }
  }
  return left == 0 && atom.extent == 1;
}

uint32_t read_view_reshape(struct reader *reader, uint32_t view, const int64_t *dims, uint32_t rank) {
  struct read_view from = reader->views.data[view];
  size_t first = reader->atoms.count;
  uint8_t flags = from.flags;
  if (from.value == 0) {
    return view;
  }
  if (reshape_atoms(reader, &from, dims, rank)) {
    struct read_atom *atoms = reader->atoms.data + first;
    for (size_t i = 0, j = reader->atoms.count - first; i + 1 < j; i++) {
      struct read_atom swap = atoms[i];
      atoms[i] = atoms[--j];
      atoms[j] = swap;
    }
    return view_end(reader, from.value, first, flags);
  }
  reader->atoms.count = first;
  uint64_t repeated = 1;
  for (uint32_t i = 0; i < from.atom_count; i++) {
    repeated &= reader->atoms.data[from.atom_first + i].stride == 0;
  }
  for (uint32_t d = 0; d < rank; d++) {
    push_atom(reader, extent_of(dims[d]), repeated ? 0 : 1, d);
  }
  return view_end(reader, from.value, first, flags | READ_OPAQUE);
}

/* Stride of a dimension that is cut: of its innermost atom that is not repeated. */
static uint64_t cut_stride(const struct reader *reader, const struct read_view *view, uint32_t dim) {
  uint64_t stride = 0;
  for (uint32_t i = 0; i < view->atom_count; i++) {
    const struct read_atom *atom = &reader->atoms.data[view->atom_first + i];
    stride = atom->dim == dim && atom->stride != 0 ? atom->stride : stride;
  }
  return stride;
}

/* Dimension of the operand behind dimension `out` of the result, or in_rank. */
static uint32_t source_dim(const int64_t *in_dims, const int16_t *read_map, uint32_t in_rank, const int64_t *out_dims,
                           const int16_t *write_map, uint32_t out_rank, uint32_t out, bool *is_cut) {
  *is_cut = false;
  for (uint32_t d = 0; d < in_rank; d++) {
    if (read_map[d] >= 0 && read_map[d] == write_map[out]) {
      *is_cut = in_dims[d] != out_dims[out];
      return d;
    }
  }
  if (in_rank == out_rank && read_map[out] < 0 && in_dims[out] != 1) {
    *is_cut = true;
    return out;
  }
  return in_rank;
}

uint32_t read_view_through(struct reader *reader, uint32_t view, const int64_t *in_dims, const int16_t *read_map,
                           uint32_t in_rank, const int64_t *out_dims, const int16_t *write_map, uint32_t out_rank) {
  struct read_view from = reader->views.data[view];
  if (from.value == 0) {
    return view;
  }
  size_t first = reader->atoms.count;
  uint8_t flags = from.flags;
  for (uint32_t j = 0; j < out_rank; j++) {
    bool is_cut;
    uint32_t d = source_dim(in_dims, read_map, in_rank, out_dims, write_map, out_rank, j, &is_cut);
    if (d == in_rank) {
      push_atom(reader, extent_of(out_dims[j]), 0, j);
    } else if (is_cut) {
      flags |= READ_PARTIAL;
      push_atom(reader, extent_of(out_dims[j]), cut_stride(reader, &from, d), j);
    } else {
      for (uint32_t i = 0; i < from.atom_count; i++) {
        struct read_atom atom = reader->atoms.data[from.atom_first + i];
        if (atom.dim == d) {
          push_atom(reader, atom.extent, atom.stride, j);
        }
      }
    }
  }
  return view_end(reader, from.value, first, flags);
}

uint64_t read_view_elements(const struct reader *reader, uint32_t view) {
  const struct read_view *from = &reader->views.data[view];
  uint64_t elements = 1, all = reader->values.data[from->value].elements;
  for (uint32_t i = 0; i < from->atom_count; i++) {
    const struct read_atom *atom = &reader->atoms.data[from->atom_first + i];
    elements = atom->stride != 0 ? sat_mul_u64(elements, atom->extent) : elements;
  }
  return elements < all ? elements : all;
}

uint32_t read_view_dim(const struct reader *reader, uint32_t view, uint32_t dim, struct read_atom *atoms,
                       uint32_t room) {
  const struct read_view *from = &reader->views.data[view];
  uint32_t count = 0;
  for (uint32_t i = 0; i < from->atom_count; i++) {
    struct read_atom atom = reader->atoms.data[from->atom_first + i];
    if (atom.dim != dim) {
      continue;
    }
    struct read_atom *last = count > 0 ? &atoms[count - 1] : NULL;
    if (last != NULL && last->stride == sat_mul_u64(atom.stride, atom.extent)) {
      last->extent *= atom.extent;
      last->stride = atom.stride;
    } else if (count < room) {
      atoms[count++] = atom;
    } else {
      return room + 1;
    }
  }
  return count;
}
