/* From a work graph to the nodes that fusion works on, and the elementary moves: fuse, retire, join. */
#include <string.h>

#include "lower/lower_fuse.h"

static void *level_alloc(struct fuse_level *level, size_t count, size_t size) {
  void *memory = arena_alloc(&level->arena, count * size);
  level->out_of_memory |= memory == NULL;
  return memory;
}

static bool task_is_alias(const struct work_graph *graph, const struct work_task *task) {
  if (!work_kind_info((enum work_kind)task->kind)->is_free || task->access_count != 2 || task->read_count != 1
      || (task->flags & WORK_TASK_PREFUSED)) {
    return false;
  }
  const struct work_access *border = graph->accesses.data + task->access_first;
  return graph->tensors.data[border[1].tensor].alias_of == border[0].tensor + 1;
}

static void tensors_init(struct fuse_level *level) {
  const struct work_graph *graph = level->graph;
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    level->tensors[t].canonical = t;
    level->tensors[t].owner = FUSE_NONE;
  }
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    level->is_alias_task[i] = task_is_alias(graph, task);
    const struct work_access *border = graph->accesses.data + task->access_first;
    if (level->is_alias_task[i]) {
      level->tensors[border[1].tensor].canonical = level->tensors[border[0].tensor].canonical;
      continue;
    }
    for (uint32_t k = task->read_count; k < task->access_count; k++) {
      level->tensors[border[k].tensor].owner = i;
    }
  }
  for (size_t i = 0; i < graph->outputs.count; i++) {
    level->tensors[level->tensors[graph->outputs.data[i]].canonical].is_output = true;
  }
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    if (graph->tensors.data[t].is_output) {
      level->tensors[level->tensors[t].canonical].is_output = true;
    }
  }
}

const struct fuse_use *fuse_use_find(const struct fuse_use *uses, uint32_t count, uint32_t tensor) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (uses[middle].tensor < tensor) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && uses[low].tensor == tensor ? &uses[low] : NULL;
}

/* Inserts into an ascending list with room; a tensor that is there already gets the bytes added, up to its size. */
static void use_insert(const struct work_graph *graph, struct fuse_use *uses, uint32_t *count, uint32_t tensor,
                       double bytes) {
  double size = (double)graph->tensors.data[tensor].size_bytes;
  uint32_t at = *count;
  while (at > 0 && uses[at - 1].tensor > tensor) {
    at--;
  }
  if (at > 0 && uses[at - 1].tensor == tensor) {
    double sum = uses[at - 1].bytes + bytes;
    uses[at - 1].bytes = sum < size ? sum : size;
    return;
  }
  memmove(uses + at + 1, uses + at, (*count - at) * sizeof *uses);
  uses[at] = (struct fuse_use){tensor, bytes < size ? bytes : size};
  (*count)++;
}

static double access_bytes(const struct work_graph *graph, const struct work_access *access) {
  return (double)dtype_size_bytes((enum dtype)graph->tensors.data[access->tensor].dtype, access->touched_elements);
}

static void add_user(struct fuse_level *level, uint32_t tensor, uint32_t node) {
  struct fuse_user user = {node, level->tensors[tensor].first_user};
  if (!vec_push(&level->users, user)) {
    level->out_of_memory = true;
    return;
  }
  level->tensors[tensor].first_user = (uint32_t)level->users.count;
}

static double node_work_s(const struct fuse_level *level, const struct work_task *task) {
  const struct fuse_rules *rules = level->rules;
  double seconds = 0;
  for (uint32_t i = 0; i < task->demand_count; i++) {
    const struct work_demand_entry *entry = &level->graph->demands.data[task->demand_first + i];
    double ops = (double)entry->ops;
    switch (entry->engine) {
    case WORK_ENGINE_VECTOR:
      seconds += ops / rules->vector_ops;
      break;
    case WORK_ENGINE_FUNCTION:
      seconds += ops / rules->function_adds_ops;
      break;
    case WORK_ENGINE_INTEGER:
      seconds += ops / rules->integer_ops;
      break;
    default:
      break;
    }
  }
  return seconds;
}

bool fuse_is_loose_alias(const struct work_task *task, const struct work_access *write) {
  return task->kind != WORK_DYNAMIC_UPDATE_SLICE && task->kind != WORK_SCATTER && task->subgraph_count == 0
         && (write->flags & WORK_ACCESS_PARTIAL) == 0;
}

static void node_border(struct fuse_level *level, uint32_t index) {
  const struct work_graph *graph = level->graph;
  const struct work_task *task = &graph->tasks.data[index];
  const struct work_access *border = graph->accesses.data + task->access_first;
  struct fuse_node *node = &level->nodes[index];
  node->reads = level_alloc(level, task->read_count, sizeof *node->reads);
  node->writes = level_alloc(level, task->access_count - task->read_count, sizeof *node->writes);
  if (level->out_of_memory) {
    return;
  }
  double widest_read = 0;
  bool is_free = work_kind_info((enum work_kind)task->kind)->is_free;
  for (uint32_t k = 0; k < task->access_count; k++) {
    uint32_t tensor = level->tensors[border[k].tensor].canonical;
    double bytes = access_bytes(graph, &border[k]);
    double elements = (double)border[k].touched_elements;
    if (k < task->read_count) {
      widest_read = elements > widest_read ? elements : widest_read;
      uint32_t before = node->read_count;
      use_insert(graph, node->reads, &node->read_count, tensor, bytes);
      if (node->read_count > before) {
        add_user(level, tensor, index);
      }
    } else {
      node->output_elements = elements > node->output_elements ? elements : node->output_elements;
      use_insert(graph, node->writes, &node->write_count, border[k].tensor, bytes);
      node->writes_in_place |=
          !is_free && graph->tensors.data[border[k].tensor].alias_of != 0 && !fuse_is_loose_alias(task, &border[k]);
    }
  }
  node->loop_elements = node->role == FUSE_REDUCE ? widest_read : node->output_elements;
}

static void node_sum(struct fuse_node *node) {
  node->read_bytes = node->write_bytes = 0;
  for (uint32_t i = 0; i < node->read_count; i++) {
    node->read_bytes += node->reads[i].bytes;
  }
  for (uint32_t i = 0; i < node->write_count; i++) {
    node->write_bytes += node->writes[i].bytes;
  }
}

static void node_init(struct fuse_level *level, uint32_t index) {
  const double trivial_bytes = 64; /* a few scalars */
  const struct work_task *task = &level->graph->tasks.data[index];
  struct fuse_node *node = &level->nodes[index];
  node->is_alive = true;
  node->members = level_alloc(level, 1, sizeof *node->members);
  if (node->members == NULL) {
    return;
  }
  node->members[0] = index;
  node->member_count = 1;
  bool is_fixed = (task->flags & (WORK_TASK_PREFUSED | WORK_TASK_OPAQUE)) != 0 || task->stage_count == 0;
  node->role = is_fixed ? FUSE_OPAQUE : level->rules->roles[task->kind];
  node->work_s = node_work_s(level, task);
  node_border(level, index);
  node_sum(node);
  bool makes = task->kind == WORK_IOTA || task->kind == WORK_BROADCAST || task->kind == WORK_CONSTANT;
  node->is_trivial = makes && node->role == FUSE_LOOP && node->read_bytes <= trivial_bytes;
  node->is_expensive = task->kind == WORK_REDUCE_WINDOW || task->kind == WORK_GATHER;
}

/* Storage that is written in place: whoever reads it before must run before, and what is behind it must stay in memory. */
static bool pin_in_place(struct fuse_level *level) {
  const struct work_graph *graph = level->graph;
  uint32_t *last_writer = calloc(2 * graph->tensors.count + 1, sizeof *last_writer);
  if (last_writer == NULL) {
    return false;
  }
  uint32_t *roots = last_writer + graph->tensors.count;
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    uint32_t alias = graph->tensors.data[t].alias_of;
    roots[t] = alias == 0 ? t : alias - 1 < t ? roots[alias - 1] : work_tensor_root(graph, t);
  }
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    const struct fuse_node *node = &level->nodes[i];
    for (uint32_t k = 0; k < node->write_count && node->writes_in_place; k++) {
      last_writer[roots[node->writes[k].tensor]] = i;
    }
  }
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    struct fuse_node *node = &level->nodes[i];
    node->is_pinned |= node->writes_in_place;
    for (uint32_t k = 0; k < node->read_count; k++) {
      node->is_pinned |= last_writer[roots[node->reads[k].tensor]] > i;
    }
    for (uint32_t k = 0; k < node->write_count; k++) {
      node->is_pinned |= last_writer[roots[node->writes[k].tensor]] > i;
    }
  }
  free(last_writer);
  return true;
}

enum status fuse_level_init(struct fuse_level *level, const struct work_graph *graph, const struct fuse_rules *rules) {
  memset(level, 0, sizeof *level);
  arena_init(&level->arena, 0);
  level->graph = graph;
  level->rules = rules;
  level->nodes = calloc(graph->tasks.count + 1, sizeof *level->nodes);
  level->tensors = calloc(graph->tensors.count + 1, sizeof *level->tensors);
  level->is_alias_task = calloc(graph->tasks.count + 1, sizeof *level->is_alias_task);
  if (level->nodes == NULL || level->tensors == NULL || level->is_alias_task == NULL
      || !vec_reserve(&level->users, graph->accesses.count)) {
    return STATUS_MEMORY;
  }
  level->label_convert = intern_find(graph->strings, "convert", 7);
  level->label_add = intern_find(graph->strings, "add", 3);
  level->label_maximum = intern_find(graph->strings, "maximum", 7);
  tensors_init(level);
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    if (!level->is_alias_task[i]) {
      node_init(level, i);
    }
  }
  return level->out_of_memory || !pin_in_place(level) ? STATUS_MEMORY : STATUS_OK;
}

void fuse_level_release(struct fuse_level *level) {
  free(level->nodes);
  free(level->tensors);
  free(level->is_alias_task);
  free(level->order);
  vec_release(&level->users);
  arena_release(&level->arena);
}

const struct work_task *fuse_node_task(const struct fuse_level *level, const struct fuse_node *node) {
  return &level->graph->tasks.data[node - level->nodes];
}

uint32_t fuse_node_users(struct fuse_level *level, const struct fuse_node *node, uint32_t *found, uint32_t limit) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < node->write_count; w++) {
    uint32_t tensor = node->writes[w].tensor;
    uint32_t *link = &level->tensors[tensor].first_user;
    while (*link != 0) {
      struct fuse_user *user = &level->users.data[*link - 1];
      const struct fuse_node *reader = &level->nodes[user->node];
      if (!reader->is_alive || fuse_use_find(reader->reads, reader->read_count, tensor) == NULL) {
        *link = user->next; /* stale: fused away */
        continue;
      }
      bool is_new = true;
      for (uint32_t k = 0; k < count && w > 0; k++) {
        is_new &= found[k] != user->node;
      }
      if (is_new) {
        if (count == limit) {
          return limit + 1;
        }
        found[count++] = user->node;
      }
      link = &user->next;
    }
  }
  return count;
}

bool fuse_node_is_needed(const struct fuse_level *level, const struct fuse_node *node) {
  for (uint32_t w = 0; w < node->write_count; w++) {
    if (level->tensors[node->writes[w].tensor].is_output) {
      return true;
    }
  }
  return false;
}

static void merge_members(struct fuse_level *level, struct fuse_node *into, const struct fuse_node *from) {
  uint32_t *merged = level_alloc(level, into->member_count + from->member_count, sizeof *merged);
  if (merged == NULL) {
    return;
  }
  uint32_t a = 0, b = 0, count = 0;
  while (a < into->member_count || b < from->member_count) {
    uint32_t left = a < into->member_count ? into->members[a] : FUSE_NONE;
    uint32_t right = b < from->member_count ? from->members[b] : FUSE_NONE;
    merged[count++] = left < right ? left : right;
    a += left <= right;
    b += right <= left;
  }
  into->members = merged;
  into->member_count = count;
}

/* Reads of `into` that do not come out of `from` any more, and the reads of `from` scaled by `share`. */
static void merge_reads(struct fuse_level *level, uint32_t node, const struct fuse_node *from, double share) {
  struct fuse_node *into = &level->nodes[node];
  struct fuse_use *merged = level_alloc(level, into->read_count + from->read_count, sizeof *merged);
  if (merged == NULL) {
    return;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < into->read_count; i++) {
    if (fuse_use_find(from->writes, from->write_count, into->reads[i].tensor) == NULL) {
      merged[count++] = into->reads[i];
    }
  }
  for (uint32_t i = 0; i < from->read_count; i++) {
    if (fuse_use_find(into->writes, into->write_count, from->reads[i].tensor) != NULL) {
      continue;
    }
    uint32_t before = count;
    use_insert(level->graph, merged, &count, from->reads[i].tensor, from->reads[i].bytes * share);
    if (count > before) {
      add_user(level, from->reads[i].tensor, node);
    }
  }
  into->reads = merged;
  into->read_count = count;
}

/* The part of the producer's largest output that the consumer wants. */
static double used_share(const struct fuse_level *level, const struct fuse_node *producer,
                         const struct fuse_node *consumer) {
  double share = 0;
  for (uint32_t w = 0; w < producer->write_count; w++) {
    const struct fuse_use *use = fuse_use_find(consumer->reads, consumer->read_count, producer->writes[w].tensor);
    double size = (double)level->graph->tensors.data[producer->writes[w].tensor].size_bytes;
    if (use != NULL && size > 0 && use->bytes / size > share) {
      share = use->bytes / size;
    }
  }
  return share < 1 ? share : 1;
}

void fuse_into(struct fuse_level *level, uint32_t producer, uint32_t consumer) {
  const struct fuse_node *from = &level->nodes[producer];
  struct fuse_node *into = &level->nodes[consumer];
  double share = used_share(level, from, into);
  merge_members(level, into, from);
  merge_reads(level, consumer, from, share);
  into->work_s += from->work_s * share;
  into->is_expensive |= from->is_expensive;
  into->is_pinned |= from->is_pinned;
  into->is_trivial &= from->is_trivial;
  if (into->role == FUSE_LOOP && from->role != FUSE_LOOP) {
    into->role = from->role;
    into->loop_elements = from->loop_elements;
  }
  node_sum(into);
}

void fuse_retire(struct fuse_level *level, uint32_t producer) {
  level->nodes[producer].is_alive = false;
}

static bool is_read_outside(const struct fuse_level *level, uint32_t tensor, uint32_t node) {
  for (uint32_t link = level->tensors[tensor].first_user; link != 0; link = level->users.data[link - 1].next) {
    uint32_t user = level->users.data[link - 1].node;
    const struct fuse_node *reader = &level->nodes[user];
    if (user != node && reader->is_alive && fuse_use_find(reader->reads, reader->read_count, tensor) != NULL) {
      return true;
    }
  }
  return false;
}

void fuse_join(struct fuse_level *level, uint32_t node, uint32_t other) {
  struct fuse_node *into = &level->nodes[node], *from = &level->nodes[other];
  struct fuse_use *writes = level_alloc(level, into->write_count + from->write_count, sizeof *writes);
  if (writes == NULL) {
    return;
  }
  merge_members(level, into, from);
  merge_reads(level, node, from, 1);
  from->is_alive = false;
  uint32_t count = 0;
  const struct fuse_node *sides[] = {into, from};
  for (unsigned s = 0; s < 2; s++) {
    for (uint32_t w = 0; w < sides[s]->write_count; w++) {
      uint32_t tensor = sides[s]->writes[w].tensor;
      const struct fuse_node *reader = sides[1 - s];
      bool was_read = fuse_use_find(reader->reads, reader->read_count, tensor) != NULL;
      bool is_internal =
          s == 0 && was_read && !level->tensors[tensor].is_output && !is_read_outside(level, tensor, node);
      if (!is_internal) {
        use_insert(level->graph, writes, &count, tensor, sides[s]->writes[w].bytes);
        level->tensors[tensor].owner = node;
      }
    }
  }
  into->writes = writes;
  into->write_count = count;
  into->work_s += from->work_s;
  into->is_expensive |= from->is_expensive;
  into->is_pinned |= from->is_pinned;
  into->writes_in_place |= from->writes_in_place;
  into->is_trivial = false;
  if (into->role == FUSE_LOOP || from->role == FUSE_MATRIX) {
    into->role = from->role != FUSE_LOOP ? from->role : into->role;
    into->loop_elements = from->loop_elements > into->loop_elements ? from->loop_elements : into->loop_elements;
  }
  into->output_elements = from->output_elements > into->output_elements ? from->output_elements : into->output_elements;
  node_sum(into);
}
