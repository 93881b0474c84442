/* Shardings of the sdy dialect, read from the canonical text that modules keep (#sdy.sharding<@mesh, [{"x"}, {?}]>). */
#ifndef RIDGELINE_ANALYZE_SHARDING_TEXT_H
#define RIDGELINE_ANALYZE_SHARDING_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARDING_MAX_AXES = 64, SHARDING_MAX_DIMS = 32, SHARDING_MAX_VALUES = 256 };

/* A name as it stands in the text, without quotes. */
struct sharding_name {
  const char *text;
  uint32_t length;
};

struct sharding_mesh {
  uint32_t count;
  struct sharding_name names[SHARDING_MAX_AXES];
  int64_t sizes[SHARDING_MAX_AXES];
  bool has_ids;
  bool is_iota; /* device_ids hold 0 ... n - 1, in some order */
};

struct sharding_axis {
  struct sharding_name name;
  bool is_part;
  int64_t pre, size; /* "name":(pre)size */
};

struct sharding_list {
  uint32_t first, count; /* in axes */
  bool is_open, has_priority;
};

struct sharding {
  struct sharding_name mesh; /* name of a symbol; empty: `inlined` */
  struct sharding_mesh inlined;
  uint32_t axis_count, dim_count;
  struct sharding_axis axes[SHARDING_MAX_AXES];
  struct sharding_list dims[SHARDING_MAX_DIMS], replicated, unreduced;
};

bool sharding_name_is(struct sharding_name a, struct sharding_name b);
/* Each returns what stands behind, NULL for a text of another form (or too long a one). */
const char *sharding_read_mesh(const char *at, struct sharding_mesh *out); /* at "<[" */
const char *sharding_read(const char *at, struct sharding *out); /* at "<@" or "<mesh<" */
const char *sharding_read_names(const char *at, struct sharding_list *list, struct sharding_axis *axes,
                                uint32_t *axis_count); /* at "{" */

#endif
