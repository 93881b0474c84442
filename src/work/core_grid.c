/* Operators on a grid of cores (core_grid.h): sizes, places, ranges. core_rings.c finds the offsets. */
#include "work/core_grid.h"

#include <assert.h>
#include <inttypes.h>

#include "base/checked.h"

static const char *const fault_texts[] = {
#define CORE_FAULT(id, text) [CORE_FAULT_##id] = text,
#include "work/core_faults.def"
#undef CORE_FAULT
};

void core_fault_print(const struct core_fault *fault, struct strbuf *out) {
  assert(fault->kind < CORE_FAULT_COUNT);
  for (const char *c = fault_texts[fault->kind]; *c != '\0'; c++) {
    if (*c != '%') {
      strbuf_putc(out, *c);
      continue;
    }
    c++;
    uint64_t value = *c == 'T' ? fault->tensor : *c == 'A' ? fault->axis : *c == 'H' ? fault->have : fault->want;
    strbuf_printf(out, "%" PRIu64, value);
  }
}

uint64_t core_grid_cores(const struct core_grid *grid) {
  uint64_t cores = 1;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    cores = sat_mul_u64(cores, grid->spatial[a]);
  }
  return cores;
}

static bool has_axis(const struct core_cut *cut, uint32_t axis) {
  return (cut->axes >> axis & 1) != 0;
}

uint64_t core_grid_replicas(const struct core_grid *grid, uint32_t tensor) {
  uint64_t replicas = 1;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    replicas = has_axis(&grid->tensors[tensor], a) ? replicas : sat_mul_u64(replicas, grid->spatial[a]);
  }
  return replicas;
}

uint64_t core_grid_pieces(const struct core_grid *grid, uint32_t tensor) {
  uint64_t pieces = 1;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    pieces = sat_mul_u64(pieces, grid->tensors[tensor].pieces[a]);
  }
  return pieces;
}

uint64_t core_grid_piece_elements(const struct core_grid *grid, uint32_t tensor) {
  uint64_t elements = 1;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    if (has_axis(&grid->tensors[tensor], a)) {
      uint64_t length = ceil_div_u64(grid->extents[a], grid->spatial[a]);
      elements = sat_mul_u64(elements, ceil_div_u64(length, grid->tensors[tensor].pieces[a]));
    }
  }
  return elements;
}

uint32_t core_grid_finest(const struct core_grid *grid, uint32_t axis) {
  uint32_t finest = 1;
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    finest = grid->tensors[t].pieces[axis] > finest ? grid->tensors[t].pieces[axis] : finest;
  }
  return finest;
}

void core_grid_coordinates(const struct core_grid *grid, uint64_t core, uint32_t *coordinates) {
  for (uint32_t a = grid->axis_count; a-- > 0;) {
    coordinates[a] = (uint32_t)(core % grid->spatial[a]);
    core /= grid->spatial[a];
  }
}

uint64_t core_grid_core(const struct core_grid *grid, const uint32_t *coordinates) {
  uint64_t core = 0;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    core = core * grid->spatial[a] + coordinates[a];
  }
  return core;
}

uint32_t core_rings_offset(const struct core_rings *rings, uint32_t loop, const uint32_t *coordinates) {
  uint32_t radix = rings->loops[loop].radix;
  uint64_t offset = 0;
  for (uint32_t d = 0; d < rings->digit_count; d++) {
    const struct core_digit *digit = &rings->digits[d];
    if (rings->weights[loop][d] != 0) {
      offset += (uint64_t)rings->weights[loop][d] * (coordinates[digit->axis] / digit->stride % digit->radix);
    }
  }
  return (uint32_t)(offset % radix);
}

static uint64_t at_most(uint64_t value, uint64_t limit) {
  return value < limit ? value : limit;
}

void core_rings_range(const struct core_grid *grid, const struct core_rings *rings, const uint32_t *coordinates,
                      const uint32_t *counts, uint32_t tensor, uint32_t axis, uint64_t *low, uint64_t *high) {
  uint64_t length = ceil_div_u64(grid->extents[axis], grid->spatial[axis]);
  uint64_t from = at_most(coordinates[axis] * length, grid->extents[axis]);
  uint64_t to = at_most(from + length, grid->extents[axis]);
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    const struct core_loop *loop = &rings->loops[l];
    if (loop->axis != axis || (tensor < CORE_TENSORS_MAX && (loop->moved >> tensor & 1) == 0)) {
      continue;
    }
    uint32_t part = (core_rings_offset(rings, l, coordinates) + counts[l]) % loop->radix;
    length = ceil_div_u64(length, loop->radix);
    from = at_most(from + part * length, to);
    to = at_most(from + length, to);
  }
  *low = from;
  *high = to;
}
