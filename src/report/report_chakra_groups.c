/* Process groups of Chakra traces. Groups of a program are device numbers within a stage; every stage has its own, and a name
 * each: numbers from 1, since ASTRA-sim takes "0" and no name for all ranks. */
#include <inttypes.h>
#include <string.h>

#include "report/report_chakra_int.h"

static uint32_t *positions_of(struct chakra_groups *groups) {
  uint32_t *positions = arena_alloc(&groups->arena, groups->devices_per_stage * sizeof *positions);
  for (uint64_t i = 0; positions && i < groups->devices_per_stage; i++) {
    positions[i] = UINT32_MAX;
  }
  return positions;
}

static bool is_pairs(enum work_collective_kind kind) {
  return kind == WORK_PERMUTE || kind == WORK_SEND_RECV;
}

/* Consecutive devices, where the program says no more than how many. */
static void spread_evenly(const struct chakra_groups *groups, struct chakra_pattern *pattern) {
  for (uint64_t i = 0; i < groups->devices_per_stage; i++) {
    pattern->group_of[i] = (uint32_t)(i / pattern->size);
  }
  pattern->count = (uint32_t)((groups->devices_per_stage + pattern->size - 1) / pattern->size);
}

static void spread_pairs(const struct chakra_groups *groups, struct chakra_pattern *pattern, const uint32_t *members,
                         uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t from = members[2 * i], to = members[2 * i + 1];
    if (from < groups->devices_per_stage && to < groups->devices_per_stage) {
      pattern->to[from] = to;
      pattern->from[to] = from;
    }
  }
}

static void spread_groups(const struct chakra_groups *groups, struct chakra_pattern *pattern, const uint32_t *members,
                          uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t member = members[i];
    if (member < groups->devices_per_stage) {
      pattern->group_of[member] = i / pattern->size;
    }
  }
}

static bool fill_pattern(struct chakra_groups *groups, const struct work_graph *graph,
                         const struct work_collective *collective, struct chakra_pattern *pattern) {
  pattern->is_pairs = is_pairs((enum work_collective_kind)collective->kind);
  pattern->group_of = positions_of(groups);
  pattern->to = positions_of(groups);
  pattern->from = positions_of(groups);
  if (!pattern->group_of || !pattern->to || !pattern->from) {
    return false;
  }
  const struct work_groups *listed = collective->groups ? &graph->groups.data[collective->groups - 1] : NULL;
  if (listed && listed->size > 0) {
    const uint32_t *members = graph->members.data + listed->member_first;
    pattern->size = listed->size;
    pattern->count = listed->count;
    if (pattern->is_pairs) {
      spread_pairs(groups, pattern, members, listed->member_count / 2);
    } else {
      spread_groups(groups, pattern, members, listed->member_count);
    }
  } else if (!pattern->is_pairs) {
    uint64_t all = groups->devices_per_stage;
    pattern->size = collective->group_size && collective->group_size < all ? collective->group_size : (uint32_t)all;
    spread_evenly(groups, pattern);
  }
  return true;
}

static bool is_same(const struct chakra_groups *groups, const struct chakra_pattern *a,
                    const struct chakra_pattern *b) {
  size_t size = groups->devices_per_stage * sizeof(uint32_t);
  return a->is_pairs == b->is_pairs && a->count == b->count && a->size == b->size
         && memcmp(a->group_of, b->group_of, size) == 0 && memcmp(a->to, b->to, size) == 0;
}

static bool add_pattern(struct chakra_groups *groups, const struct work_graph *graph,
                        const struct work_collective *collective) {
  struct chakra_pattern pattern = {0};
  if (!fill_pattern(groups, graph, collective, &pattern)) {
    return false;
  }
  uint32_t at = 0;
  while (at < groups->patterns.count && !is_same(groups, &groups->patterns.data[at], &pattern)) {
    at++;
  }
  struct chakra_place place = {graph, collective->groups, collective->group_size, at};
  return (at < groups->patterns.count || vec_push(&groups->patterns, pattern)) && vec_push(&groups->places, place);
}

const struct chakra_pattern *chakra_pattern_of(const struct chakra_groups *groups, const struct work_graph *graph,
                                               const struct work_collective *collective) {
  bool pairs = is_pairs((enum work_collective_kind)collective->kind);
  for (size_t i = 0; i < groups->places.count; i++) {
    const struct chakra_place *place = &groups->places.data[i];
    const struct chakra_pattern *pattern = &groups->patterns.data[place->pattern];
    if (place->graph == graph && place->groups == collective->groups && pattern->is_pairs == pairs
        && (place->groups > 0 || place->size == collective->group_size)) {
      return pattern;
    }
  }
  return NULL;
}

static bool collect_graph(struct chakra_groups *groups, const struct work_graph *graph) {
  for (size_t i = 0; i < graph->collectives.count; i++) {
    const struct work_collective *collective = &graph->collectives.data[i];
    if (!chakra_pattern_of(groups, graph, collective) && !add_pattern(groups, graph, collective)) {
      return false;
    }
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    if (!collect_graph(groups, graph->subgraphs.data[i])) {
      return false;
    }
  }
  return true;
}

enum status chakra_groups_collect(struct chakra_groups *groups, const struct step_program *program, uint64_t devices) {
  groups->devices_per_stage = program->devices_per_stage;
  groups->stages = program->stages;
  for (int place = 0; place < STEP_PLACE_COUNT; place++) {
    for (int role = 0; role < STEP_ROLE_COUNT; role++) {
      const struct work_graph *graph = program->parts[place][role].graph;
      if (graph && !collect_graph(groups, graph)) {
        return STATUS_MEMORY;
      }
    }
  }
  uint64_t next = 1;
  for (size_t i = 0; i < groups->patterns.count; i++) {
    struct chakra_pattern *pattern = &groups->patterns.data[i];
    if (!pattern->is_pairs && pattern->size < devices) {
      pattern->first_group = (uint32_t)next;
      next += (uint64_t)pattern->count * groups->stages;
    }
  }
  return next > UINT32_MAX ? STATUS_LIMIT : STATUS_OK;
}

void chakra_groups_release(struct chakra_groups *groups) {
  vec_release(&groups->patterns);
  vec_release(&groups->places);
  arena_release(&groups->arena);
}

static void put_members(const struct chakra_groups *groups, const struct chakra_pattern *pattern, uint32_t stage,
                        uint32_t group, struct strbuf *out) {
  uint64_t first = stage * groups->devices_per_stage;
  bool has_any = false;
  for (uint64_t i = 0; i < groups->devices_per_stage; i++) {
    if (pattern->group_of[i] == group) {
      strbuf_printf(out, "%s%" PRIu64, has_any ? ", " : "", first + i);
      has_any = true;
    }
  }
}

void chakra_groups_print(const struct chakra_groups *groups, struct strbuf *out) {
  bool has_any = false;
  strbuf_putc(out, '{');
  for (size_t i = 0; i < groups->patterns.count; i++) {
    const struct chakra_pattern *pattern = &groups->patterns.data[i];
    for (uint32_t g = 0; pattern->first_group > 0 && g < pattern->count * groups->stages; g++) {
      strbuf_printf(out, "%s\n  \"%" PRIu32 "\": [", has_any ? "," : "", pattern->first_group + g);
      put_members(groups, pattern, g / pattern->count, g % pattern->count, out);
      strbuf_putc(out, ']');
      has_any = true;
    }
  }
  strbuf_puts(out, has_any ? "\n}\n" : "}\n");
}
