/* Unrolling: a copy of a graph in which short loops stand as plain task sequences, for schedulers that want to overlap
 * iterations. Constants of a body are shared by all iterations; everything else is made anew. */
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "work/work_int.h"

enum { UNROLL_NONE = UINT32_MAX, UNROLL_MAX_TASKS = 20000000 };

struct unroll {
  struct work_graph *to;
  uint64_t max_trip_count;
  uint64_t *task_budget;
  VEC(struct work_access) accesses;
  VEC(const int16_t *) maps;
};

static enum status unroll_tasks(struct unroll *unroll, const struct work_graph *from, uint32_t *map, unsigned depth);

static uint32_t unroll_name(struct unroll *unroll, const struct work_graph *from, uint32_t id) {
  if (id == 0) {
    return 0;
  }
  uint32_t added = intern_add(unroll->to->strings, intern_text(from->strings, id), intern_length(from->strings, id));
  if (added == UINT32_MAX) {
    unroll->to->out_of_memory = true;
    return 0;
  }
  return added;
}

/* The copy of a tensor, made when first asked for. */
static uint32_t unroll_tensor(struct unroll *unroll, const struct work_graph *from, uint32_t *map, uint32_t tensor) {
  if (map[tensor] != UNROLL_NONE) {
    return map[tensor];
  }
  const struct work_tensor *old = &from->tensors.data[tensor];
  uint32_t added = work_tensor_add(unroll->to, (enum dtype)old->dtype, from->dims.data + old->dims_first, old->rank,
                                   (enum work_tensor_role)old->role);
  if (unroll->to->out_of_memory) {
    return 0;
  }
  uint32_t name = unroll_name(unroll, from, old->name);
  struct work_tensor *new = &unroll->to->tensors.data[added];
  new->is_donated = old->is_donated;
  new->name = name;
  map[tensor] = added;
  return added;
}

/* Shared storage among tensors that have a copy. */
static void unroll_aliases(struct unroll *unroll, const struct work_graph *from, const uint32_t *map) {
  for (uint32_t i = 0; i < from->tensors.count; i++) {
    uint32_t alias = from->tensors.data[i].alias_of;
    if (alias == 0 || map[i] == UNROLL_NONE || map[alias - 1] == UNROLL_NONE || map[i] == map[alias - 1]) {
      continue;
    }
    struct work_tensor *new = &unroll->to->tensors.data[map[i]];
    if (new->alias_of == 0 && work_tensor_root(unroll->to, map[alias - 1]) != map[i]) {
      new->alias_of = map[alias - 1] + 1;
    }
  }
}

static bool unroll_accesses(struct unroll *unroll, const struct work_graph *from, uint32_t first, uint32_t count,
                            uint32_t *map) {
  vec_clear(&unroll->accesses);
  vec_clear(&unroll->maps);
  bool ok = true;
  for (uint32_t i = 0; i < count && ok; i++) {
    struct work_access access = from->accesses.data[first + i];
    const int16_t *axes = access.map_count > 0 ? from->maps.data + access.map_first : NULL;
    access.tensor = unroll_tensor(unroll, from, map, access.tensor);
    access.reuse_bytes = 0;
    ok = vec_push(&unroll->accesses, access) && vec_push(&unroll->maps, axes);
  }
  unroll->to->out_of_memory |= !ok;
  return ok && !unroll->to->out_of_memory;
}

/* Two tensors of a body may be one outside (a carried tensor in its first iteration and an invariant): their accesses in a
 * border become one. Returns the number of accesses left; `read_count` follows. */
static uint32_t unroll_merge(struct unroll *unroll, uint16_t *read_count) {
  struct map seen = {0};
  uint32_t kept = 0, reads = *read_count;
  for (uint32_t i = 0; i < unroll->accesses.count; i++) {
    struct work_access access = unroll->accesses.data[i];
    uint32_t at;
    if (i < reads && map_get(&seen, access.tensor, &at)) {
      struct work_access *first = &unroll->accesses.data[at];
      uint64_t all = unroll->to->tensors.data[access.tensor].element_count;
      uint64_t sum = sat_add_u64(first->touched_elements, access.touched_elements);
      first->touched_elements = sum < all ? sum : all;
      first->flags = (uint8_t)((first->flags | access.flags) & ~WORK_ACCESS_PARTIAL);
      first->flags |= (uint8_t)(sum < all ? WORK_ACCESS_PARTIAL : 0);
      (*read_count)--;
      continue;
    }
    if (i < reads && !map_set(&seen, access.tensor, kept)) {
      unroll->to->out_of_memory = true;
    }
    unroll->accesses.data[kept++] = access;
  }
  map_release(&seen);
  return kept;
}

static bool unroll_stage(struct unroll *unroll, const struct work_graph *from, const struct work_stage *stage,
                         uint32_t *map) {
  if (!unroll_accesses(unroll, from, stage->access_first, stage->access_count, map)) {
    return false;
  }
  struct work_stage copy = *stage;
  copy.label = unroll_name(unroll, from, stage->label);
  work_stage_add(unroll->to, &copy, from->axes.data + stage->axis_first, stage->axis_count,
                 from->ops.data + stage->op_first, stage->op_count, unroll->accesses.data, unroll->maps.data,
                 stage->access_count);
  return !unroll->to->out_of_memory;
}

static uint32_t *unroll_new_map(const struct work_graph *from) {
  uint32_t *map = malloc((from->tensors.count + 1) * sizeof *map);
  for (size_t i = 0; map != NULL && i < from->tensors.count; i++) {
    map[i] = UNROLL_NONE;
  }
  return map;
}

/* A whole graph into an empty one: the outermost graph, or the body of a loop that stays. */
static enum status unroll_graph(const struct work_graph *from, struct work_graph *to, uint64_t max_trip_count,
                                uint64_t *task_budget, unsigned depth) {
  struct unroll unroll = {.to = to, .max_trip_count = max_trip_count, .task_budget = task_budget};
  uint32_t *map = unroll_new_map(from);
  enum status status = map != NULL ? STATUS_OK : STATUS_MEMORY;
  for (size_t i = 0; i < from->inputs.count && status == STATUS_OK; i++) {
    uint32_t input = unroll_tensor(&unroll, from, map, from->inputs.data[i]);
    to->out_of_memory |= !vec_push(&to->inputs, input);
    status = to->out_of_memory ? STATUS_MEMORY : STATUS_OK;
  }
  if (status == STATUS_OK) {
    status = unroll_tasks(&unroll, from, map, depth);
  }
  for (size_t i = 0; i < from->outputs.count && status == STATUS_OK; i++) {
    uint32_t output = unroll_tensor(&unroll, from, map, from->outputs.data[i]);
    to->out_of_memory |= !vec_push(&to->outputs, output);
    status = to->out_of_memory ? STATUS_MEMORY : STATUS_OK;
    if (status == STATUS_OK) {
      to->tensors.data[output].is_output = true;
    }
  }
  for (size_t i = 0; i < from->carried.count && status == STATUS_OK; i++) {
    struct work_carried pair = {unroll_tensor(&unroll, from, map, from->carried.data[i].in),
                                unroll_tensor(&unroll, from, map, from->carried.data[i].out)};
    to->out_of_memory |= !vec_push(&to->carried, pair);
    status = to->out_of_memory ? STATUS_MEMORY : STATUS_OK;
  }
  if (status == STATUS_OK) {
    unroll_aliases(&unroll, from, map);
  }
  free(map);
  vec_release(&unroll.accesses);
  vec_release(&unroll.maps);
  return status;
}

/* Ends one iteration: carried tensors move on, all others of the body are forgotten, constants and inputs stay. */
static void unroll_next(const struct work_graph *body, uint32_t *map, uint32_t *carried) {
  for (size_t i = 0; i < body->carried.count; i++) {
    carried[i] = map[body->carried.data[i].out];
  }
  for (size_t i = 0; i < body->tensors.count; i++) {
    if (body->tensors.data[i].role == WORK_TENSOR_INTERMEDIATE) {
      map[i] = UNROLL_NONE;
    }
  }
  for (size_t i = 0; i < body->carried.count; i++) {
    map[body->carried.data[i].in] = carried[i];
  }
}

static uint32_t unroll_initial(const struct work_graph *body, const uint32_t *map, uint32_t output) {
  for (size_t i = 0; i < body->carried.count; i++) {
    if (body->carried.data[i].out == output) {
      return map[body->carried.data[i].in];
    }
  }
  return map[output];
}

/* What a loop without iterations leaves is what its carried tensors started as; one that leaves anything else has nothing to
 * stand for it and stays a loop. */
static bool has_initial_values(const struct work_graph *body) {
  for (size_t i = 0; i < body->outputs.count; i++) {
    bool is_carried = false;
    for (size_t c = 0; c < body->carried.count && !is_carried; c++) {
      is_carried = body->carried.data[c].out == body->outputs.data[i];
    }
    if (!is_carried) {
      return false;
    }
  }
  return true;
}

static enum status unroll_loop(struct unroll *unroll, const struct work_graph *from, const struct work_task *task,
                               uint32_t *map, unsigned depth) {
  const struct work_graph *body = from->subgraphs.data[task->subgraph_first];
  uint32_t *inner = unroll_new_map(body), *carried = malloc((body->carried.count + 1) * sizeof *carried);
  enum status status = inner != NULL && carried != NULL ? STATUS_OK : STATUS_MEMORY;
  for (uint32_t i = 0; i < task->read_count && i < body->inputs.count && status == STATUS_OK; i++) {
    inner[body->inputs.data[i]] = unroll_tensor(unroll, from, map, from->accesses.data[task->access_first + i].tensor);
  }
  for (uint64_t i = 0; i < task->trip_count && status == STATUS_OK; i++) {
    if (i > 0) {
      unroll_next(body, inner, carried);
    }
    status = unroll_tasks(unroll, body, inner, depth + 1);
    if (status == STATUS_OK) {
      unroll_aliases(unroll, body, inner);
    }
  }
  for (uint32_t i = task->read_count; i < task->access_count && status == STATUS_OK; i++) {
    uint32_t output = i - task->read_count;
    if (output >= body->outputs.count) {
      break;
    }
    uint32_t last = body->outputs.data[output];
    map[from->accesses.data[task->access_first + i].tensor] =
        task->trip_count == 0 ? unroll_initial(body, inner, last) : inner[last];
  }
  free(inner);
  free(carried);
  return unroll->to->out_of_memory ? STATUS_MEMORY : status;
}

/* The same collective among the same devices, whose list the new graph may have already. */
static uint32_t unroll_collective(struct unroll *unroll, const struct work_graph *from,
                                  struct work_collective collective) {
  if (collective.groups != 0) {
    const struct work_groups *groups = &from->groups.data[collective.groups - 1];
    const uint32_t *members = groups->member_count > 0 ? from->members.data + groups->member_first : NULL;
    collective.groups = work_groups_add(unroll->to, groups->count, groups->size, members, groups->member_count);
  }
  unroll->to->out_of_memory |= !vec_push(&unroll->to->collectives, collective);
  return (uint32_t)unroll->to->collectives.count;
}

static enum status unroll_task(struct unroll *unroll, const struct work_graph *from, const struct work_task *task,
                               uint32_t *map, unsigned depth) {
  if ((*unroll->task_budget)-- == 0) {
    return STATUS_LIMIT;
  }
  struct work_task copy = *task;
  for (uint32_t i = 0; i < task->stage_count; i++) {
    if (!unroll_stage(unroll, from, &from->stages.data[task->stage_first + i], map)) {
      return STATUS_MEMORY;
    }
  }
  copy.subgraph_first = (uint32_t)unroll->to->subgraphs.count;
  for (uint32_t i = 0; i < task->subgraph_count; i++) {
    struct work_graph *inside = work_graph_new_inside(unroll->to);
    if (inside == NULL) {
      return STATUS_MEMORY;
    }
    work_subgraph_attach(unroll->to, inside);
    if (unroll->to->out_of_memory) {
      return STATUS_MEMORY;
    }
    STATUS_TRY(unroll_graph(from->subgraphs.data[task->subgraph_first + i], inside, unroll->max_trip_count,
                            unroll->task_budget, depth + 1));
  }
  if (task->collective != 0) {
    copy.collective = unroll_collective(unroll, from, from->collectives.data[task->collective - 1]);
  }
  copy.label = unroll_name(unroll, from, task->label);
  if (!unroll_accesses(unroll, from, task->access_first, task->access_count, map)) {
    return STATUS_MEMORY;
  }
  uint32_t border = task->access_count;
  if (!work_task_is_control(task)) {
    border = unroll_merge(unroll, &copy.read_count);
  }
  work_task_add(unroll->to, &copy, unroll->accesses.data, border);
  return unroll->to->out_of_memory ? STATUS_MEMORY : STATUS_OK;
}

static enum status unroll_tasks(struct unroll *unroll, const struct work_graph *from, uint32_t *map, unsigned depth) {
  if (depth > WORK_MAX_NESTING) {
    return STATUS_LIMIT;
  }
  for (size_t t = 0; t < from->tasks.count; t++) {
    const struct work_task *task = &from->tasks.data[t];
    bool is_short = task->kind == WORK_LOOP && task->trip_count <= unroll->max_trip_count
                    && (task->flags & WORK_TASK_TRIP_UNKNOWN) == 0
                    && (task->trip_count > 0 || has_initial_values(from->subgraphs.data[task->subgraph_first]));
    STATUS_TRY(is_short ? unroll_loop(unroll, from, task, map, depth) : unroll_task(unroll, from, task, map, depth));
  }
  return STATUS_OK;
}

enum status work_unroll(const struct work_graph *graph, uint64_t max_trip_count, struct work_graph **unrolled) {
  *unrolled = NULL;
  struct work_graph *copy = work_graph_new();
  if (copy == NULL) {
    return STATUS_MEMORY;
  }
  copy->partitions = graph->partitions;
  copy->is_partitioned = graph->is_partitioned;
  uint64_t task_budget = UNROLL_MAX_TASKS;
  enum status status = unroll_graph(graph, copy, max_trip_count, &task_budget, 0);
  if (status == STATUS_OK) {
    status = work_graph_seal(copy);
  }
  if (status != STATUS_OK) {
    work_graph_free(copy);
    return status;
  }
  *unrolled = copy;
  return STATUS_OK;
}
