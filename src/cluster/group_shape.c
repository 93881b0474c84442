/* How the groups of a collective lie in a slice: from lists of members, and from a stride. Path: work graph → here →
 * collective_time, collective_schedule. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "cluster/collective.h"

/* ---- from members ---- */

/* Coordinates of one group along one dimension. */
struct axis {
  uint32_t least, greatest, distinct, gap; /* gap: between neighbours, 0 = not even */
};

struct scan {
  const struct hw_cluster *cluster;
  const struct hw_slice *slice;
  const struct work_groups *groups;
  const uint32_t *members;
  const char *label;
  struct diag_list *diags;
  uint32_t *stamps[HW_DIMENSIONS_MAX]; /* by coordinate: the last group that has it, + 1 */
  uint8_t *seen; /* by device: 1 = as a source or member, 2 = as a target */
  uint32_t *loads; /* by device, ring dimension and direction: messages of pairs */
};

static const uint32_t *group_at(const struct scan *scan, uint32_t group, uint32_t *size) {
  const uint32_t *members = scan->members + (size_t)group * scan->groups->size;
  for (*size = 0; *size < scan->groups->size && members[*size] != UINT32_MAX; ++*size) {
  }
  return members;
}

static uint32_t dimension_count(const struct scan *scan) {
  return scan->cluster->dimension_count;
}

/* Members are in the slice, none twice. Pairs: no source twice, no target twice. */
static enum status check_members(const struct scan *scan, bool are_pairs) {
  uint64_t devices = scan->slice->devices, highest = 0, count = 0;
  for (uint32_t i = 0; i < scan->groups->member_count; i++) {
    uint32_t member = scan->members[i];
    if (member == UINT32_MAX) {
      continue;
    }
    if (member >= devices) {
      diag_at(scan->diags, DIAG_E0408_GROUPS, NULL, 0,
              "'%s' names device %u, but the slice of %s has %llu devices (0 to %llu)", scan->label, member,
              scan->cluster->id, (unsigned long long)devices, (unsigned long long)devices - 1);
      return STATUS_INPUT;
    }
    uint8_t mark = are_pairs && i % 2 == 1 ? 2 : 1;
    if (scan->seen[member] & mark) {
      diag_at(scan->diags, DIAG_E0408_GROUPS, NULL, 0, "device %u is twice in the groups of '%s'%s", member,
              scan->label,
              !are_pairs  ? ""
              : mark == 2 ? " as a target"
                          : " as a source");
      return STATUS_INPUT;
    }
    scan->seen[member] |= mark;
    highest = member > highest ? member : highest;
    count++;
  }
  for (uint64_t device = 0; device < highest && !are_pairs && count <= highest; device++) {
    if (scan->seen[device] == 0) {
      diag_at(scan->diags, DIAG_E0408_GROUPS, NULL, 0,
              "the groups of '%s' do not cover the devices: %llu is in none of them, %llu is", scan->label,
              (unsigned long long)device, (unsigned long long)highest);
      return STATUS_INPUT;
    }
  }
  return STATUS_OK;
}

static void look_at(const struct scan *scan, uint32_t group, struct axis axes[HW_DIMENSIONS_MAX]) {
  uint32_t size, at[HW_DIMENSIONS_MAX];
  const uint32_t *members = group_at(scan, group, &size);
  for (uint32_t d = 0; d < dimension_count(scan); d++) {
    axes[d] = (struct axis){.least = UINT32_MAX};
  }
  for (uint32_t i = 0; i < size; i++) {
    hw_slice_coordinates(scan->slice, members[i], at);
    for (uint32_t d = 0; d < dimension_count(scan); d++) {
      axes[d].least = at[d] < axes[d].least ? at[d] : axes[d].least;
      axes[d].greatest = at[d] > axes[d].greatest ? at[d] : axes[d].greatest;
      axes[d].distinct += scan->stamps[d][at[d]] != group + 1;
      scan->stamps[d][at[d]] = group + 1;
    }
  }
  for (uint32_t d = 0; d < dimension_count(scan); d++) {
    uint32_t span = axes[d].greatest - axes[d].least, gaps = axes[d].distinct - 1;
    axes[d].gap = axes[d].distinct <= 1 ? 1 : span % gaps == 0 ? span / gaps : 0;
  }
  for (uint32_t i = 0; i < size; i++) {
    hw_slice_coordinates(scan->slice, members[i], at);
    for (uint32_t d = 0; d < dimension_count(scan); d++) {
      bool is_even = axes[d].gap > 0 && (at[d] - axes[d].least) % axes[d].gap == 0;
      axes[d].gap = is_even ? axes[d].gap : 0;
    }
  }
}

/* Adds a group to the shape: extents and strides are the largest that occur. */
static void take_group(const struct scan *scan, uint32_t group, struct group_shape *shape) {
  struct axis axes[HW_DIMENSIONS_MAX];
  uint32_t size;
  uint64_t product = 1;
  group_at(scan, group, &size);
  if (size == 0) {
    return;
  }
  look_at(scan, group, axes);
  for (uint32_t d = 0; d < dimension_count(scan); d++) {
    const struct axis *axis = &axes[d];
    bool is_alike = shape->size == 0 || (shape->extent[d] == axis->distinct && shape->stride[d] == axis->gap);
    uint32_t apart = axis->gap > 0 ? axis->gap : 1;
    shape->is_regular = shape->is_regular && axis->gap > 0 && is_alike;
    shape->extent[d] = axis->distinct > shape->extent[d] ? axis->distinct : shape->extent[d];
    shape->stride[d] = apart > shape->stride[d] ? apart : shape->stride[d];
    product = sat_mul_u64(product, axis->distinct);
  }
  shape->is_regular = shape->is_regular && product == size && (shape->size == 0 || shape->size == size);
  shape->size = size > shape->size ? size : shape->size;
}

/* What follows from extents and strides. */
static void finish(const struct hw_cluster *cluster, const struct hw_slice *slice, struct group_shape *shape) {
  uint32_t inner = 1;
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    bool is_ring = d < cluster->dimension_count && cluster->dimensions[d].fabric == HW_FABRIC_RING;
    shape->extent[d] = shape->extent[d] > 0 ? shape->extent[d] : 1;
    shape->stride[d] = shape->stride[d] > 0 ? shape->stride[d] : 1;
    shape->siblings[d] = inner;
    shape->is_closed[d] = is_ring && slice->wraps[d] && shape->extent[d] > 1
                          && (uint64_t)shape->extent[d] * shape->stride[d] == slice->size[d];
    inner = sat_mul_u64(inner, shape->extent[d]) < UINT32_MAX ? inner * shape->extent[d] : UINT32_MAX;
  }
}

/* ---- pairs ---- */

/* Goes from a to b, dimension by dimension, the shorter way round rings; counts messages on ring links. */
static void walk_pair(const struct scan *scan, uint32_t source, uint32_t target, struct group_shape *shape) {
  uint32_t at[HW_DIMENSIONS_MAX], to[HW_DIMENSIONS_MAX];
  uint64_t device = source, inner = 1;
  hw_slice_coordinates(scan->slice, source, at);
  hw_slice_coordinates(scan->slice, target, to);
  for (uint32_t d = 0; d < dimension_count(scan); d++) {
    uint32_t size = scan->slice->size[d], up = (to[d] + size - at[d]) % size;
    bool is_ring = scan->cluster->dimensions[d].fabric == HW_FABRIC_RING;
    bool goes_down = scan->slice->wraps[d] ? size - up < up : to[d] < at[d];
    uint32_t hops = up == 0 ? 0 : !is_ring ? 1 : goes_down ? size - up : up;
    shape->stride[d] = hops > shape->stride[d] ? hops : shape->stride[d];
    shape->extent[d] = hops > 0 ? 2 : shape->extent[d];
    for (uint32_t i = 0; i < hops && is_ring; i++) {
      uint32_t *load = &scan->loads[(device * HW_DIMENSIONS_MAX + d) * 2 + goes_down];
      shape->sharing[d] = ++*load > shape->sharing[d] ? *load : shape->sharing[d];
      uint64_t next = goes_down ? (at[d] + size - 1) % size : (at[d] + 1) % size;
      device = device - at[d] * inner + next * inner;
      at[d] = (uint32_t)next;
    }
    if (!is_ring) {
      device = device - at[d] * inner + to[d] * inner;
      shape->sharing[d] = hops > 0 && shape->sharing[d] == 0 ? 1 : shape->sharing[d];
    }
    inner *= size;
  }
}

static void take_pairs(const struct scan *scan, struct group_shape *shape) {
  shape->size = 1; /* pairs of a device with itself move nothing */
  for (uint32_t i = 0; i + 1 < scan->groups->member_count; i += 2) {
    uint32_t source = scan->members[i], target = scan->members[i + 1];
    if (source != UINT32_MAX && target != UINT32_MAX && source != target) {
      shape->size = 2;
      walk_pair(scan, source, target, shape);
    }
  }
}

/* ---- both ---- */

/* One allocation for all tables of the scan. */
static void *scan_alloc(struct scan *scan, bool are_pairs) {
  size_t devices = scan->slice->devices, coordinates = 0;
  for (uint32_t d = 0; d < dimension_count(scan); d++) {
    coordinates += scan->slice->size[d];
  }
  size_t loads = are_pairs ? devices * HW_DIMENSIONS_MAX * 2 : 0;
  uint32_t *memory = calloc(1, (coordinates + loads + 1) * sizeof *memory + devices);
  if (memory != NULL) {
    uint32_t *next = memory;
    for (uint32_t d = 0; d < dimension_count(scan); d++) {
      scan->stamps[d] = next;
      next += scan->slice->size[d];
    }
    scan->loads = next;
    scan->seen = (uint8_t *)(next + loads + 1);
  }
  return memory;
}

/* Pairs of a permute rather than groups of two: some device is in more than one of them, or in none. */
static bool is_chain(const struct scan *scan) {
  bool is_one = false;
  for (uint32_t i = 0; i < scan->groups->member_count && !is_one; i++) {
    uint32_t member = scan->members[i];
    if (member < scan->slice->devices) {
      is_one = scan->seen[member] != 0;
      scan->seen[member] = 1;
    }
  }
  memset(scan->seen, 0, scan->slice->devices);
  return is_one;
}

enum status group_shape_of(const struct hw_cluster *cluster, const struct hw_slice *slice,
                           const struct work_groups *groups, const uint32_t *members, const char *label,
                           struct diag_list *diags, struct group_shape *shape) {
  struct scan scan = {cluster, slice, groups, members, label, diags, {0}, NULL, NULL};
  *shape = (struct group_shape){.count = groups->count, .is_regular = true};
  if (groups->size == 0 || groups->member_count == 0) {
    group_shape_strided(cluster, slice, groups->size > 0 ? groups->size : slice->devices, 1, shape);
    return STATUS_OK;
  }
  bool may_be_pairs = groups->size == 2;
  void *memory = scan_alloc(&scan, may_be_pairs);
  if (memory == NULL) {
    return STATUS_MEMORY;
  }
  bool are_pairs = may_be_pairs && is_chain(&scan);
  enum status status = check_members(&scan, may_be_pairs);
  if (status == STATUS_OK && !are_pairs) {
    for (uint32_t group = 0; group < groups->count; group++) {
      take_group(&scan, group, shape);
    }
  }
  if (status == STATUS_OK && may_be_pairs) { /* groups of two may be an exchange of pairs all the same */
    struct group_shape pairs = {.count = groups->count, .is_regular = true};
    take_pairs(&scan, &pairs);
    memcpy(shape->sharing, pairs.sharing, sizeof shape->sharing);
    *shape = are_pairs ? pairs : *shape;
  }
  free(memory);
  finish(cluster, slice, shape);
  return status;
}

/* ---- from a stride ---- */

void group_shape_strided(const struct hw_cluster *cluster, const struct hw_slice *slice, uint64_t size, uint64_t stride,
                         struct group_shape *shape) {
  uint64_t rest = size > slice->devices ? slice->devices : size > 0 ? size : 1, step = stride > 0 ? stride : 1;
  *shape = (struct group_shape){.size = (uint32_t)rest, .is_regular = true};
  shape->count = (uint32_t)(slice->devices / rest > 0 ? slice->devices / rest : 1);
  for (uint32_t d = 0; d < cluster->dimension_count && rest > 1; d++) {
    uint64_t extent = slice->size[d];
    if (step >= extent) {
      shape->is_regular = shape->is_regular && step % extent == 0;
      step = step / extent > 0 ? step / extent : 1;
      continue;
    }
    uint64_t places = extent / step, taken = rest < places ? rest : places;
    bool goes_on = taken < rest;
    shape->extent[d] = (uint32_t)taken;
    shape->stride[d] = (uint32_t)step;
    shape->sharing[d] = (uint32_t)(cluster->dimensions[d].fabric == HW_FABRIC_RING ? step : 1);
    shape->is_regular = shape->is_regular && rest % taken == 0 && (!goes_on || extent % step == 0);
    rest = ceil_div_u64(rest, taken);
    step = 1;
  }
  finish(cluster, slice, shape);
}
