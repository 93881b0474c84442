/* Which devices a collective is among. The text of a program names replicas, partitions, devices or axes of a mesh
 * (StableHLO specification, "Grouping and partitioning"); the work graph has device numbers, replica x partitions +
 * partition. Path: attributes of the operation → rows of ids (lower_mesh.c for axes) → groups of the work graph
 * (lower_groups.c) → work_collective. */
#ifndef RIDGELINE_LOWER_LOWER_GROUPS_H
#define RIDGELINE_LOWER_LOWER_GROUPS_H

#include "analyze/sharding_text.h"
#include "lower/lower_ops.h"

enum { LOWER_MAX_DEVICES = 1 << 20 };

/* Ids as the program lists them: `count` rows of `size`, short rows filled up with -1. */
struct lower_rows {
  uint64_t count, size;
  VEC(int64_t) ids;
  bool are_devices; /* device numbers whatever the operation says: axes of a mesh of all devices */
};

/* Fills groups, group_count, group_size and channel of the collective from the attributes of the operation (or from
 * the configuration of a custom call that stands for one). Groups that cannot be are reported (E0408, W0409). */
void lower_groups_of(struct lower *lower, struct ir_op op, struct work_collective *collective);

/* ---- meshes ---- */

/* A mesh of named axes; places are counted in row-major order. */
struct lower_mesh {
  uint32_t axis_count;
  int64_t sizes[SHARDING_MAX_AXES];
  struct sharding_name names[SHARDING_MAX_AXES];
  uint32_t place_count;
  VEC(int64_t) ids; /* device at each place; empty: place i has device i */
};
/* #stablehlo.replica_group_mesh_axes as rows: devices that differ in their coordinates along the axes only are a row, in
 * the order of these coordinates, the first axis slowest. False when the mesh or an axis cannot be read. */
bool lower_mesh_rows_of_attr(struct lower *lower, struct ir_attr attr, struct lower_rows *rows);
/* The same for a collective of the sdy dialect, which names its axes in an attribute of its own. */
bool lower_mesh_rows_of_sdy(struct lower *lower, struct ir_op op, struct lower_rows *rows);
/* Devices of the module's only sdy.mesh of several devices; 0 when there is none or there are several. */
uint32_t lower_mesh_only_size(struct lower *lower);

#endif
