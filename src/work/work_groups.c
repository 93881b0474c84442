/* Groups of devices in the text form of a work graph, and what must hold of them. Regular lists are written as lattices, so
 * that a program for thousands of devices stays readable:
 *
 *   from 0 steps(128 by 1, 16 by 128)    member 16 i + k is 0 + 1 i + 128 k; the last step runs fastest
 *   from 0 steps(7 by 1, 2 by 1) from 7 steps(1 by 0, 2 by -7)    one list after the other: a ring of 8 as pairs
 *   (0, 1, 2 | 3, 4)                     anything else: groups, short ones not filled up
 */
#include <inttypes.h>
#include <string.h>

#include "work/work_int.h"

enum { MAX_LEVELS = 16 };

struct lattice {
  uint32_t levels; /* fastest first here */
  uint64_t extent[MAX_LEVELS];
  int64_t step[MAX_LEVELS];
};

/* ---- printing ---- */

static int64_t step_at(const uint32_t *members, uint64_t i, uint64_t distance) {
  return (int64_t)members[i + distance] - (int64_t)members[i];
}

/* The lattice that a list is; false when it is none. The longest arithmetic run is the fastest level, and every block of
 * that length must repeat it; then the first members of the blocks are looked at alike. */
static bool find_lattice(const uint32_t *members, uint64_t count, struct lattice *lattice) {
  uint64_t block = 1;
  *lattice = (struct lattice){0};
  while (block < count) {
    if (lattice->levels == MAX_LEVELS) {
      return false;
    }
    uint64_t extent = 2;
    int64_t step = step_at(members, 0, block);
    while (extent * block < count && step_at(members, (extent - 1) * block, block) == step) {
      extent++;
    }
    if (count % (extent * block) != 0) {
      return false;
    }
    for (uint64_t i = 0; i < count; i++) {
      if (i % block == 0 && i / block % extent + 1 < extent && step_at(members, i, block) != step) {
        return false;
      }
    }
    lattice->extent[lattice->levels] = extent;
    lattice->step[lattice->levels++] = step;
    block *= extent;
  }
  return true;
}

static void print_lattice(uint32_t first, const struct lattice *lattice, struct strbuf *out) {
  strbuf_printf(out, " from %u steps(", first);
  for (uint32_t i = lattice->levels; i-- > 0;) {
    strbuf_printf(out, "%" PRIu64 " by %" PRId64 "%s", lattice->extent[i], lattice->step[i], i > 0 ? ", " : "");
  }
  strbuf_putc(out, ')');
}

/* Groups from `first` on that are the same arithmetic list, each as far from the one before. */
static uint32_t count_alike(const struct work_groups *groups, const uint32_t *members, uint32_t first,
                            struct lattice *lattice) {
  const uint32_t *group = members + (uint64_t)first * groups->size;
  int64_t step = groups->size > 1 ? step_at(group, 0, 1) : 0, distance = 0;
  uint32_t count = 0;
  for (uint32_t g = first; g < groups->count; g++, count++) {
    const uint32_t *next = members + (uint64_t)g * groups->size;
    int64_t from_last = g > first ? (int64_t)next[0] - (int64_t)next[-(int64_t)groups->size] : 0;
    bool is_alike = g <= first + 1 || from_last == distance;
    for (uint32_t i = 0; i + 1 < groups->size && is_alike; i++) {
      is_alike = step_at(next, i, 1) == step;
    }
    if (!is_alike) {
      break;
    }
    distance = from_last;
  }
  *lattice = (struct lattice){.levels = 2, .extent = {groups->size, count}, .step = {step, distance}};
  return count;
}

/* Pieces of the list that are lattices of two levels; false when there are too many to be shorter than the list itself. */
static bool print_pieces(const struct work_groups *groups, const uint32_t *members, struct strbuf *out) {
  struct lattice lattice;
  uint32_t pieces = 0;
  for (uint32_t g = 0; g < groups->count; pieces++) {
    uint32_t count = count_alike(groups, members, g, &lattice);
    if (count == 0) {
      return false;
    }
    g += count;
  }
  if ((uint64_t)pieces * 4 > groups->count) {
    return false;
  }
  for (uint32_t g = 0; g < groups->count;) {
    uint32_t count = count_alike(groups, members, g, &lattice);
    print_lattice(members[(uint64_t)g * groups->size], &lattice, out);
    g += count;
  }
  return true;
}

static void print_list(const struct work_groups *groups, const uint32_t *members, struct strbuf *out) {
  strbuf_puts(out, " (");
  for (uint32_t g = 0; g < groups->count; g++) {
    strbuf_puts(out, g > 0 ? " | " : "");
    const uint32_t *group = members + (uint64_t)g * groups->size;
    for (uint32_t i = 0; i < groups->size && group[i] != UINT32_MAX; i++) {
      strbuf_printf(out, "%s%u", i > 0 ? ", " : "", group[i]);
    }
  }
  strbuf_putc(out, ')');
}

void work_groups_print(const struct work_graph *graph, uint32_t index, struct strbuf *out) {
  const struct work_groups *groups = &graph->groups.data[index];
  strbuf_printf(out, "groups %u : %u of %u", index, groups->count, groups->size);
  bool is_there = groups->member_count > 0 && groups->member_count == (uint64_t)groups->count * groups->size
                  && groups->member_first <= graph->members.count
                  && groups->member_count <= graph->members.count - groups->member_first;
  const uint32_t *members = is_there ? graph->members.data + groups->member_first : NULL;
  bool has_holes = false;
  for (uint32_t i = 0; i < groups->member_count && is_there && !has_holes; i++) {
    has_holes = members[i] == UINT32_MAX;
  }
  struct lattice lattice;
  if (!is_there) {
    strbuf_putc(out, '\n');
    return;
  }
  if (!has_holes && find_lattice(members, groups->member_count, &lattice)) {
    print_lattice(members[0], &lattice, out);
  } else if (has_holes || !print_pieces(groups, members, out)) {
    print_list(groups, members, out);
  }
  strbuf_putc(out, '\n');
}

/* ---- what must hold ---- */

static int compare_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The first device that stands twice among every `stride`-th member from `first` on; UINT32_MAX = none. */
static uint32_t find_twice(const uint32_t *members, uint32_t count, uint32_t first, uint32_t stride,
                           uint32_t *scratch) {
  uint32_t n = 0;
  for (uint32_t i = first; i < count; i += stride) {
    scratch[n++] = members[i];
  }
  qsort(scratch, n, sizeof *scratch, compare_u32);
  for (uint32_t i = 1; i < n && scratch[i] != UINT32_MAX; i++) {
    if (scratch[i] == scratch[i - 1]) {
      return scratch[i];
    }
  }
  return UINT32_MAX;
}

bool work_groups_check(const struct work_graph *graph, const struct work_groups *groups,
                       struct work_groups_fault *fault) {
  *fault = (struct work_groups_fault){UINT32_MAX, UINT32_MAX, UINT32_MAX, NULL};
  bool fits = groups->member_first <= graph->members.count
              && groups->member_count <= graph->members.count - groups->member_first
              && groups->member_count == (uint64_t)groups->count * groups->size;
  if (!fits || groups->member_count == 0) {
    bool is_unknown = groups->member_count == 0 && (groups->size == 0 || groups->count == 0);
    fault->what = is_unknown ? NULL : "do not have count x size members";
    return true;
  }
  const uint32_t *members = graph->members.data + groups->member_first;
  for (uint32_t i = 0; i < groups->member_count; i++) {
    bool is_hole = members[i] == UINT32_MAX;
    if (members[i] >= WORK_MAX_DEVICES && !is_hole) {
      fault->what = "name a device beyond all that are possible";
    } else if (is_hole && i % groups->size + 1 < groups->size && members[i + 1] != UINT32_MAX) {
      fault->what = "have a hole within a group";
    }
  }
  uint32_t *scratch = malloc((groups->member_count + 1) * sizeof *scratch);
  if (scratch == NULL) {
    return false;
  }
  fault->twice = find_twice(members, groups->member_count, 0, 1, scratch);
  if (groups->size == 2) {
    fault->twice_source = find_twice(members, groups->member_count, 0, 2, scratch);
    fault->twice_target = find_twice(members, groups->member_count, 1, 2, scratch);
  }
  free(scratch);
  return true;
}
