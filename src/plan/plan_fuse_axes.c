/* Common axes of nodes that are to become one operator: two accesses of one value must run through it alike. Their
 * strides say which axis of one is which of the other; axes are split where one covers several of the other.
 * Path: plan_fuse.c asks for every value that two members share → clusters whose members agree on their axes. */
#include <string.h>

#include "base/checked.h"
#include "plan/plan_fuse.h"

enum { PIECES_MAX = CLUSTER_AXES_MAX, STEPS_MAX = 128 };

struct piece {
  uint64_t extent, stride;
  uint32_t axis; /* of the cluster */
};

/* The axes along which a member's access runs, ascending strides. Returns their number. */
static uint32_t pieces_of(const struct reader *reader, const struct read_cluster *cluster,
                          const struct read_member *member, const struct read_access *access, struct piece *pieces) {
  uint32_t count = 0;
  const struct read_node *node = &reader->nodes.data[member->node];
  for (uint32_t a = 0; a < node->axis_count; a++) {
    uint64_t stride = reader->strides.data[access->stride_first + a];
    for (uint32_t i = member->piece_count[a]; stride != 0 && i-- > 0;) {
      struct piece piece = {cluster->extents[member->pieces[a][i]], stride, member->pieces[a][i]};
      uint32_t at = count < PIECES_MAX ? count++ : PIECES_MAX - 1;
      while (at > 0 && pieces[at - 1].stride > piece.stride) {
        pieces[at] = pieces[at - 1];
        at--;
      }
      pieces[at] = piece;
      stride = sat_mul_u64(stride, piece.extent);
    }
  }
  return count;
}

/* Axis `axis` becomes an outer axis of its own and keeps the inner `extent`. */
static bool split_axis(struct read_cluster *cluster, uint32_t axis, uint64_t extent) {
  uint32_t outer = cluster->axis_count;
  if (outer == CLUSTER_AXES_MAX || cluster->extents[axis] % extent != 0) {
    return false;
  }
  cluster->extents[outer] = cluster->extents[axis] / extent;
  cluster->extents[axis] = extent;
  cluster->axis_count++;
  for (uint32_t m = 0; m < cluster->member_count; m++) {
    struct read_member *member = &cluster->members[m];
    for (uint32_t a = 0; a < READ_AXES_MAX; a++) {
      uint8_t *pieces = member->pieces[a];
      uint32_t at = 0;
      while (at < member->piece_count[a] && pieces[at] != axis) {
        at++;
      }
      if (at == member->piece_count[a]) {
        continue;
      }
      if (member->piece_count[a] == CLUSTER_PIECES_MAX) {
        return false;
      }
      memmove(pieces + at + 1, pieces + at, member->piece_count[a] - at);
      pieces[at] = (uint8_t)outer;
      member->piece_count[a]++;
    }
  }
  return true;
}

/* Axis `from` is axis `to`; false when a member runs along both, which makes them different. */
static bool join_axes(struct read_cluster *cluster, uint32_t to, uint32_t from) {
  for (uint32_t m = 0; m < cluster->member_count; m++) {
    struct read_member *member = &cluster->members[m];
    bool has_to = false, has_from = false;
    for (uint32_t a = 0; a < READ_AXES_MAX; a++) {
      for (uint32_t i = 0; i < member->piece_count[a]; i++) {
        has_to |= member->pieces[a][i] == to;
        has_from |= member->pieces[a][i] == from;
        member->pieces[a][i] = member->pieces[a][i] == from ? (uint8_t)to : member->pieces[a][i];
      }
    }
    if (has_to && has_from) {
      return false;
    }
  }
  cluster->extents[from] = 0;
  return true;
}

bool read_cluster_unify(const struct reader *reader, struct read_cluster *cluster, uint32_t member_a,
                        const struct read_access *access_a, uint32_t member_b, const struct read_access *access_b) {
  if (((access_a->flags | access_b->flags) & (READ_PARTIAL | READ_OPAQUE)) != 0) {
    return false;
  }
  struct piece a[PIECES_MAX], b[PIECES_MAX];
  for (uint32_t step = 0; step < STEPS_MAX; step++) {
    uint32_t a_count = pieces_of(reader, cluster, &cluster->members[member_a], access_a, a);
    uint32_t b_count = pieces_of(reader, cluster, &cluster->members[member_b], access_b, b);
    uint32_t i = 0;
    while (i < a_count && i < b_count && a[i].axis == b[i].axis && a[i].stride == b[i].stride) {
      i++;
    }
    if (i == a_count && i == b_count) {
      return true;
    }
    if (i == a_count || i == b_count || a[i].stride != b[i].stride) {
      return false;
    }
    bool ok = a[i].extent == b[i].extent  ? join_axes(cluster, a[i].axis, b[i].axis)
              : a[i].extent > b[i].extent ? split_axis(cluster, a[i].axis, b[i].extent)
                                          : split_axis(cluster, b[i].axis, a[i].extent);
    if (!ok) {
      return false;
    }
  }
  return false;
}

static void append_member(struct read_cluster *to, const struct read_member *member, uint32_t axis_offset) {
  struct read_member *added = &to->members[to->member_count++];
  *added = *member;
  for (uint32_t a = 0; a < READ_AXES_MAX; a++) {
    for (uint32_t i = 0; i < added->piece_count[a]; i++) {
      added->pieces[a][i] = (uint8_t)(added->pieces[a][i] + axis_offset);
    }
  }
}

/* Numbers the axes that are in use anew, so that there is room for more. */
static void compact(const struct read_cluster *from, struct read_cluster *to, const bool *is_used) {
  uint8_t number[CLUSTER_AXES_MAX] = {0};
  to->axis_count = 0;
  for (uint32_t a = 0; a < from->axis_count; a++) {
    if (is_used[a]) {
      number[a] = (uint8_t)to->axis_count;
      to->extents[to->axis_count++] = from->extents[a];
    }
  }
  to->member_count = from->member_count;
  for (uint32_t m = 0; m < from->member_count; m++) {
    to->members[m] = from->members[m];
    for (uint32_t a = 0; a < READ_AXES_MAX; a++) {
      for (uint32_t i = 0; i < to->members[m].piece_count[a]; i++) {
        to->members[m].pieces[a][i] = number[from->members[m].pieces[a][i]];
      }
    }
  }
}

void read_cluster_compact(struct read_cluster *cluster, struct read_cluster *scratch) {
  bool is_used[CLUSTER_AXES_MAX];
  for (uint32_t a = 0; a < cluster->axis_count; a++) {
    is_used[a] = cluster->extents[a] > 1;
  }
  compact(cluster, scratch, is_used);
  *cluster = *scratch;
}

bool read_cluster_join(const struct read_cluster *a, const struct read_cluster *b, struct read_cluster *joined) {
  if (a->member_count + b->member_count > PLAN_STAGES_MAX || a->axis_count + b->axis_count > CLUSTER_AXES_MAX) {
    return false;
  }
  joined->axis_count = a->axis_count + b->axis_count;
  memcpy(joined->extents, a->extents, a->axis_count * sizeof *a->extents);
  memcpy(joined->extents + a->axis_count, b->extents, b->axis_count * sizeof *b->extents);
  joined->member_count = 0;
  uint32_t i = 0, j = 0;
  while (i < a->member_count || j < b->member_count) {
    bool takes_a = j == b->member_count || (i < a->member_count && a->members[i].node < b->members[j].node);
    append_member(joined, takes_a ? &a->members[i++] : &b->members[j++], takes_a ? 0 : a->axis_count);
  }
  return true;
}
