/* Devices in a mesh: which process is where, and which part of a tensor it has. Meshes come from sdy.mesh operations, from
 * #stablehlo.mesh attributes and from the tile assignments of GSPMD ("{devices=[2,1]0,1}"). */
#ifndef RIDGELINE_INTERP_INTERP_MESH_H
#define RIDGELINE_INTERP_INTERP_MESH_H

#include "analyze/sharding_text.h"
#include "interp/interp_grid.h"

/* Places are counted in row-major order of the axes. */
struct interp_mesh {
  uint32_t axis_count;
  int64_t sizes[SHARDING_MAX_AXES];
  struct sharding_name names[SHARDING_MAX_AXES];
  uint32_t device_count; /* places */
  int64_t *ids; /* device_count of them, the device at each place; owned */
};

/* A part of an axis: an axis of size n is pre x size x the rest, in this order. */
struct interp_axis {
  uint32_t axis;
  int64_t pre, size;
};

struct interp_axes {
  uint32_t count;
  struct interp_axis axes[SHARDING_MAX_AXES];
};

/* How a tensor lies on a mesh: by which axes each dimension is cut, the first one coarsest. */
struct interp_sharding {
  uint32_t rank;
  struct interp_axes dims[SHARDING_MAX_DIMS];
};

/* All return false after a message. What they fill is to be released even then. */
bool interp_mesh_of_symbol(const struct interp_call *call, struct sharding_name name, struct interp_mesh *mesh);
bool interp_mesh_of_attr(const struct interp_call *call, struct ir_attr attr, struct interp_mesh *mesh);
/* "{devices=...}", a mesh with an axis per dimension of the assignment; "{replicated}" and the like: no axis, no device. */
bool interp_mesh_of_tiles(const struct interp_call *call, const char *text, struct interp_mesh *mesh);
void interp_mesh_release(struct interp_mesh *mesh);

/* The axis of that name and part (pre, size; size 0: the whole). */
bool interp_mesh_axis(const struct interp_call *call, const struct interp_mesh *mesh, struct sharding_name name,
                      int64_t pre, int64_t size, struct interp_axis *axis);
/* Product of the sizes. */
int64_t interp_axes_size(const struct interp_axes *axes);
/* Coordinate of a place along the axes, the first one coarsest; and the place with that coordinate instead of its own. */
int64_t interp_axes_coordinate(const struct interp_mesh *mesh, const struct interp_axes *axes, uint32_t place);
uint32_t interp_axes_move(const struct interp_mesh *mesh, const struct interp_axes *axes, uint32_t place,
                          int64_t coordinate);
/* Place of this process; the mesh must have the processes of the grid as its devices. */
bool interp_mesh_own_place(const struct interp_call *call, const struct interp_mesh *mesh, uint32_t *place);

#endif
