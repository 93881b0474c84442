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
      || task->kind == WORK_COLLECTIVE_DONE || (task->flags & WORK_TASK_PREFUSED)) {
    return false; /* waiting for a collective has a place in the order */
  }
  const struct work_access *border = graph->accesses.data + task->access_first;
  return graph->tensors.data[border[1].tensor].alias_of == border[0].tensor + 1;
}

static void tensors_init(struct fuse_level *level) {
  const struct work_graph *graph = level->graph;
  for (uint32_t t = 0; t < graph->tensors.count; t++) {
    level->tensors[t].canonical = t;
    level->tensors[t].size_bytes = (double)graph->tensors.data[t].size_bytes;
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

/* Touched bytes of a tensor, at most its size. */
static double up_to_size(const struct fuse_level *level, uint32_t tensor, double bytes) {
  double size = level->tensors[tensor].size_bytes;
  return bytes < size ? bytes : size;
}

/* Inserts into an ascending list with room; a tensor that is there already gets the bytes added, up to its size. Returns
 * whether it is new. */
static bool use_insert(const struct fuse_level *level, struct fuse_use *uses, uint32_t *count, uint32_t tensor,
                       double bytes) {
  uint32_t at = *count;
  while (at > 0 && uses[at - 1].tensor > tensor) {
    at--;
  }
  if (at > 0 && uses[at - 1].tensor == tensor) {
    uses[at - 1].bytes = up_to_size(level, tensor, uses[at - 1].bytes + bytes);
    return false;
  }
  for (uint32_t i = *count; i > at; i--) {
    uses[i] = uses[i - 1];
  }
  uses[at] = (struct fuse_use){tensor, up_to_size(level, tensor, bytes)};
  (*count)++;
  return true;
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

/* `uses` has room for the task's border. */
static void node_border(struct fuse_level *level, uint32_t index, struct fuse_use *uses) {
  const struct work_graph *graph = level->graph;
  const struct work_task *task = &graph->tasks.data[index];
  const struct work_access *border = graph->accesses.data + task->access_first;
  struct fuse_node *node = &level->nodes[index];
  node->reads = uses;
  node->writes = uses + task->read_count;
  double widest_read = 0;
  bool is_free = work_kind_info((enum work_kind)task->kind)->is_free;
  for (uint32_t k = 0; k < task->access_count; k++) {
    uint32_t tensor = level->tensors[border[k].tensor].canonical;
    double bytes = access_bytes(graph, &border[k]);
    double elements = (double)border[k].touched_elements;
    if (k < task->read_count) {
      widest_read = elements > widest_read ? elements : widest_read;
      if (use_insert(level, node->reads, &node->read_count, tensor, bytes)) {
        node->read_mask |= (uint64_t)1 << (tensor % 64);
        add_user(level, tensor, index);
      }
    } else {
      node->output_elements = elements > node->output_elements ? elements : node->output_elements;
      (void)use_insert(level, node->writes, &node->write_count, border[k].tensor, bytes);
      node->is_needed |= level->tensors[border[k].tensor].is_output;
      node->writes_in_place |=
          !is_free && graph->tensors.data[border[k].tensor].alias_of != 0 && !fuse_is_loose_alias(task, &border[k]);
    }
  }
  node->loop_elements = node->role == FUSE_REDUCE ? widest_read : node->output_elements;
  node->reduced_elements = node->role == FUSE_REDUCE ? node->output_elements : 0;
}

/* What follows from the uses and the work of a node. */
static void node_sum(const struct fuse_level *level, struct fuse_node *node) {
  node->read_bytes = node->write_bytes = 0;
  for (uint32_t i = 0; i < node->read_count; i++) {
    node->read_bytes += node->reads[i].bytes;
  }
  for (uint32_t i = 0; i < node->write_count; i++) {
    node->write_bytes += node->writes[i].bytes;
  }
  node->time_s = fuse_kernel_s(level->rules, node->read_bytes + node->write_bytes, node->work_s);
}

static void node_init(struct fuse_level *level, uint32_t index, struct fuse_use *uses) {
  const double trivial_bytes = 64; /* a few scalars */
  const struct work_task *task = &level->graph->tasks.data[index];
  struct fuse_node *node = &level->nodes[index];
  level->is_alive[index] = true;
  node->members = &level->numbers[index];
  node->member_count = 1;
  bool is_fixed = (task->flags & (WORK_TASK_PREFUSED | WORK_TASK_OPAQUE)) != 0 || task->stage_count == 0;
  node->role = is_fixed ? FUSE_OPAQUE : level->rules->roles[task->kind];
  node->work_s = node_work_s(level, task);
  node_border(level, index, uses);
  node_sum(level, node);
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

static bool nodes_init(struct fuse_level *level) {
  const struct work_graph *graph = level->graph;
  size_t use_count = 0;
  bool has_in_place = false;
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    level->numbers[i] = i;
    use_count += graph->tasks.data[i].access_count;
  }
  struct fuse_use *uses = level_alloc(level, use_count, sizeof *uses);
  for (uint32_t i = 0; i < graph->tasks.count && uses != NULL; i++) {
    if (!level->is_alias_task[i]) {
      node_init(level, i, uses);
      uses += graph->tasks.data[i].access_count;
      has_in_place |= level->nodes[i].writes_in_place;
    }
  }
  return !level->out_of_memory && (!has_in_place || pin_in_place(level));
}

enum status fuse_level_init(struct fuse_level *level, const struct work_graph *graph, const struct fuse_rules *rules,
                            struct fuse_operand_range *operand_range) {
  memset(level, 0, sizeof *level);
  arena_init(&level->arena, 0);
  level->graph = graph;
  level->rules = rules;
  level->operand_range = operand_range;
  level->nodes = calloc(graph->tasks.count + 1, sizeof *level->nodes);
  level->tensors = calloc(graph->tensors.count + 1, sizeof *level->tensors);
  level->is_alias_task = calloc(graph->tasks.count + 1, sizeof *level->is_alias_task);
  level->is_alive = calloc(graph->tasks.count + 1, sizeof *level->is_alive);
  level->numbers = malloc((graph->tasks.count + 1) * sizeof *level->numbers);
  if (level->nodes == NULL || level->tensors == NULL || level->is_alias_task == NULL || level->is_alive == NULL
      || level->numbers == NULL || !vec_reserve(&level->users, graph->accesses.count)) {
    return STATUS_MEMORY;
  }
  level->label_convert = intern_find(graph->strings, "convert", 7);
  level->label_add = intern_find(graph->strings, "add", 3);
  level->label_maximum = intern_find(graph->strings, "maximum", 7);
  tensors_init(level);
  return nodes_init(level) ? STATUS_OK : STATUS_MEMORY;
}

void fuse_level_release(struct fuse_level *level) {
  free(level->nodes);
  free(level->tensors);
  free(level->is_alias_task);
  free(level->is_alive);
  free(level->numbers);
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
    uint32_t earlier = count; /* readers of other outputs, which may come up again */
    uint32_t *link = &level->tensors[node->writes[w].tensor].first_user;
    while (*link != 0) {
      struct fuse_user *user = &level->users.data[*link - 1];
      if (!fuse_user_is_live(level, user)) {
        *link = user->next;
        continue;
      }
      uint32_t k = 0;
      while (k < earlier && found[k] != user->node) {
        k++;
      }
      if (k == earlier) {
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

/* The union of two ascending lists, made in the array of `into` from its end: what comes before the first member of `from`
 * stays where it is. */
static void merge_members(struct fuse_level *level, struct fuse_node *into, const struct fuse_node *from) {
  uint32_t total = into->member_count + from->member_count;
  if (total > into->member_capacity) {
    uint32_t *grown = level_alloc(level, 2 * (size_t)total, sizeof *grown);
    if (grown == NULL) {
      return;
    }
    memcpy(grown, into->members, into->member_count * sizeof *grown);
    into->members = grown;
    into->member_capacity = 2 * total;
  }
  uint32_t *members = into->members, left = into->member_count, right = from->member_count, at = total;
  while (right > 0) {
    uint32_t member = from->members[right - 1];
    if (left > 0 && members[left - 1] > member) {
      members[--at] = members[--left];
      continue;
    }
    left -= left > 0 && members[left - 1] == member;
    members[--at] = member;
    right--;
  }
  if (at > left) { /* members of both */
    memmove(members + left, members + at, (total - at) * sizeof *members);
  }
  into->member_count = left + total - at;
}

/* Reads of `into` that do not come out of `from` any more, and the reads of `from` scaled by `share`. */
static void merge_reads(struct fuse_level *level, uint32_t node, const struct fuse_node *from, double share) {
  struct fuse_node *into = &level->nodes[node];
  struct fuse_use *merged = level_alloc(level, into->read_count + from->read_count, sizeof *merged);
  if (merged == NULL) {
    return;
  }
  const struct fuse_use *kept = into->reads, *kept_end = kept + into->read_count;
  const struct fuse_use *added = from->reads, *added_end = added + from->read_count;
  struct fuse_use *next = merged;
  uint64_t mask = 0;
  while (kept < kept_end || added < added_end) {
    bool is_kept = added == added_end || (kept < kept_end && kept->tensor <= added->tensor);
    struct fuse_use use = is_kept ? *kept++ : (struct fuse_use){added->tensor, added->bytes * share};
    bool is_both = is_kept && added < added_end && added->tensor == use.tensor;
    if (is_both) {
      use.bytes = up_to_size(level, use.tensor, use.bytes + added->bytes * share);
    }
    added += !is_kept || is_both;
    if (fuse_node_writes(is_kept ? from : into, use.tensor)) {
      continue; /* stays inside */
    }
    if (!is_kept) {
      add_user(level, use.tensor, node);
    }
    mask |= (uint64_t)1 << (use.tensor % 64);
    *next++ = use;
  }
  uint32_t count = (uint32_t)(next - merged);
  into->reads = merged;
  into->read_count = count;
  into->read_mask = mask;
}

/* The part of the producer's largest output that the consumer wants. */
static double used_share(const struct fuse_level *level, const struct fuse_node *producer,
                         const struct fuse_node *consumer) {
  double share = 0;
  for (uint32_t w = 0; w < producer->write_count; w++) {
    const struct fuse_use *use = fuse_node_read(consumer, producer->writes[w].tensor);
    double used = use != NULL ? fuse_share(use->bytes, level->tensors[producer->writes[w].tensor].size_bytes) : 0;
    share = used > share ? used : share;
  }
  return share;
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
    into->reduced_elements = from->reduced_elements;
  }
  node_sum(level, into);
}

void fuse_retire(struct fuse_level *level, uint32_t producer) {
  level->is_alive[producer] = false;
}

static bool is_read_outside(const struct fuse_level *level, uint32_t tensor, uint32_t node) {
  for (uint32_t link = level->tensors[tensor].first_user; link != 0; link = level->users.data[link - 1].next) {
    const struct fuse_user *user = &level->users.data[link - 1];
    if (user->node != node && fuse_user_is_live(level, user)) {
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
  level->is_alive[other] = false;
  uint32_t count = 0;
  const struct fuse_node *sides[] = {into, from};
  for (unsigned s = 0; s < 2; s++) {
    for (uint32_t w = 0; w < sides[s]->write_count; w++) {
      uint32_t tensor = sides[s]->writes[w].tensor;
      const struct fuse_node *reader = sides[1 - s];
      bool was_read = fuse_node_read(reader, tensor) != NULL;
      bool is_internal =
          s == 0 && was_read && !level->tensors[tensor].is_output && !is_read_outside(level, tensor, node);
      if (!is_internal) {
        (void)use_insert(level, writes, &count, tensor, sides[s]->writes[w].bytes);
        level->tensors[tensor].owner = node;
      }
    }
  }
  into->writes = writes;
  into->write_count = count;
  into->work_s += from->work_s;
  into->is_expensive |= from->is_expensive;
  into->is_pinned |= from->is_pinned;
  into->is_needed |= from->is_needed;
  into->writes_in_place |= from->writes_in_place;
  into->is_trivial = false;
  if (into->role == FUSE_LOOP || from->role == FUSE_MATRIX) {
    into->role = from->role != FUSE_LOOP ? from->role : into->role;
    into->loop_elements = from->loop_elements > into->loop_elements ? from->loop_elements : into->loop_elements;
  }
  into->output_elements = from->output_elements > into->output_elements ? from->output_elements : into->output_elements;
  into->reduced_elements =
      from->reduced_elements > into->reduced_elements ? from->reduced_elements : into->reduced_elements;
  node_sum(level, into);
}
