/* Multi-output fusion: two kernels with loops of equal size become one when one reads what the other writes, or both read
 * the same tensor. It runs after priority fusion, on an explicit execution order.
 *
 * A join is legal when no path leads from the earlier kernel to the later one through a third. Such a path stays between
 * them in the order, so the search from the earlier one's readers on ends there; the stretch is then rearranged: first
 * what does not depend on the earlier kernel, then the joined kernel, then what does. The stretch is bounded, as compilers
 * bound the distance too. */
#include <string.h>

#include "lower/lower_fuse.h"

enum { MAX_STRETCH = 1024, MAX_READERS = 64, MAX_MEMBERS = 512 };

struct joiner {
  struct fuse_level *level;
  /* The cone: what waits for the node `cone_first` and stands before the place `cone_end`. */
  uint32_t cone_first, cone_end;
  uint32_t epoch; /* of the cone */
  uint32_t *mark; /* per node: epoch in which it was reached */
  uint32_t *through; /* per node: epoch in which it was reached through another node, also behind cone_end */
  uint32_t *moved; /* scratch of a stretch */
  /* Per node, nodes that write a storage in place once it is done, index + 1 in waiters; NULL when nobody does. Such nodes
   * are pinned and so never joined: the lists hold from start to end. */
  uint32_t *first_waiter;
  VEC(struct fuse_user) waiters;
};

static bool is_reached(const struct joiner *joiner, uint32_t node) {
  return joiner->mark[node] == joiner->epoch;
}

/* Marks a node that waits for `from`, which is `first` or waits for it; what stands behind the cone does not matter. */
static void cone_reach(struct joiner *joiner, uint32_t node, uint32_t from, uint32_t *count) {
  if (from != joiner->cone_first) {
    joiner->through[node] = joiner->epoch;
  }
  if (!is_reached(joiner, node) && joiner->level->nodes[node].position < joiner->cone_end) {
    joiner->mark[node] = joiner->epoch;
    joiner->moved[(*count)++] = node;
  }
}

/* Marks all that waits for `first` before the place `end`. */
static void cone_grow(struct joiner *joiner, uint32_t first, uint32_t end) {
  struct fuse_level *level = joiner->level;
  uint32_t count = 1; /* nodes on the stack, which is joiner.moved: marked, and their readers not yet */
  joiner->cone_first = first;
  joiner->cone_end = end;
  joiner->epoch++;
  joiner->mark[first] = joiner->epoch;
  joiner->moved[0] = first;
  while (count > 0) {
    uint32_t index = joiner->moved[--count];
    const struct fuse_node *node = &level->nodes[index];
    for (uint32_t w = 0; w < node->write_count; w++) {
      for (uint32_t *link = &level->tensors[node->writes[w].tensor].first_user; *link != 0;) {
        struct fuse_user *user = &level->users.data[*link - 1];
        if (fuse_user_is_live(level, user)) {
          cone_reach(joiner, user->node, index, &count);
          link = &user->next;
        } else {
          *link = user->next;
        }
      }
    }
    for (uint32_t link = joiner->first_waiter != NULL ? joiner->first_waiter[index] : 0; link != 0;) {
      const struct fuse_user *waiter = &joiner->waiters.data[link - 1];
      cone_reach(joiner, waiter->node, index, &count);
      link = waiter->next;
    }
  }
}

/* True when `second` does not wait for `first` through a third node; all that does up to there is marked then. The cone of
 * one `first` serves several questions; it is made larger than the one at hand needs from the second question on. */
static bool is_independent(struct joiner *joiner, uint32_t first, uint32_t second) {
  enum { GROWTH = 2 };
  const struct fuse_level *level = joiner->level;
  uint32_t from = level->nodes[first].position, to = level->nodes[second].position, end = to + 1;
  if (joiner->cone_first != first || to >= joiner->cone_end) {
    if (joiner->cone_first == first) {
      uint32_t reach = GROWTH * (to - from);
      end = from + (reach < MAX_STRETCH ? reach : MAX_STRETCH) + 1;
    }
    cone_grow(joiner, first, end);
  }
  return joiner->through[second] != joiner->epoch;
}

/* Who writes in place waits for all that its members depended on: they still have to read the storage. */
static bool find_waiters(struct joiner *joiner) {
  const struct fuse_level *level = joiner->level;
  const struct work_graph *graph = level->graph;
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    const struct fuse_node *node = &level->nodes[i];
    if (!level->is_alive[i] || !node->writes_in_place) {
      continue;
    }
    if (joiner->first_waiter == NULL) {
      joiner->first_waiter = calloc(graph->tasks.count, sizeof *joiner->first_waiter);
      if (joiner->first_waiter == NULL) {
        return false;
      }
    }
    for (uint32_t m = 0; m < node->member_count; m++) {
      const struct work_task *task = &graph->tasks.data[node->members[m]];
      for (uint32_t d = 0; d < task->dependency_count; d++) {
        uint32_t before = graph->dependencies.data[task->dependency_first + d];
        struct fuse_user waiter = {i, joiner->first_waiter[before]};
        if (!level->is_alive[before]) {
          continue; /* it became part of another node, which then passes on what it reads */
        }
        if (!vec_push(&joiner->waiters, waiter)) {
          return false;
        }
        joiner->first_waiter[before] = (uint32_t)joiner->waiters.count;
      }
    }
  }
  return true;
}

/* True when a reduction runs over the last dimensions of its operand and a row of it is small enough to stay with whoever
 * works on it: registers and shared memory of a thread block, a tile in VMEM. */
static bool is_held_row(const struct fuse_level *level, const struct work_task *task) {
  const struct work_graph *graph = level->graph;
  const struct work_stage *stage = &graph->stages.data[task->stage_first];
  const struct work_access *read = &graph->accesses.data[stage->access_first];
  if (task->kind != WORK_REDUCE || stage->access_count == 0 || read->map_count == 0) {
    return false;
  }
  double row = 1;
  bool is_inner = true;
  for (uint32_t d = read->map_count; d-- > 0;) {
    int16_t number = graph->maps.data[read->map_first + d];
    const struct work_axis *axis = number < 0 ? NULL : graph->axes.data + stage->axis_first + number;
    bool is_reduced = axis != NULL && axis->role == WORK_AXIS_REDUCTION;
    if (is_reduced && !is_inner) {
      return false;
    }
    row *= is_reduced ? (double)axis->extent : 1;
    is_inner &= is_reduced;
  }
  return row <= level->rules->max_row_elements;
}

/* Does `b` read something that `a` has only at the end of its loop, the result of a reduction? Then one kernel needs a
 * second pass over the data, which only a held row allows (softmax, normalisation); behind a product there is none. */
static bool needs_second_pass(const struct fuse_level *level, const struct fuse_node *a, const struct fuse_node *b) {
  bool waits = false;
  for (uint32_t w = 0; w < a->write_count && !waits; w++) {
    uint32_t tensor = a->writes[w].tensor;
    waits = fuse_node_read(b, tensor) != NULL
            && (double)level->graph->tensors.data[tensor].element_count < a->loop_elements;
  }
  for (uint32_t m = 0; m < a->member_count && waits; m++) {
    const struct work_task *task = &level->graph->tasks.data[a->members[m]];
    enum work_class class_of = work_kind_info((enum work_kind)task->kind)->class_of;
    if (a->role == FUSE_MATRIX || (class_of == WORK_CLASS_REDUCTION && !is_held_row(level, task))) {
      return true;
    }
  }
  return false;
}

/* Joins the nodes at two places of the order, the first before the second, when nothing forbids it. */
static bool try_join(struct joiner *joiner, uint32_t first, uint32_t second) {
  struct fuse_level *level = joiner->level;
  struct fuse_node *a = &level->nodes[first], *b = &level->nodes[second];
  if (b->position - a->position > MAX_STRETCH || a->is_pinned || b->is_pinned
      || a->member_count + b->member_count > MAX_MEMBERS
      || !fuse_has_room(level, a->read_count + a->write_count + b->read_count + b->write_count)
      || !level->rules->can_join(a, b) || needs_second_pass(level, a, b) || !is_independent(joiner, first, second)) {
    return false;
  }
  uint32_t from = a->position, to = b->position, kept = from, moved = 0;
  fuse_join(level, first, second);
  joiner->cone_first = FUSE_NONE;
  for (uint32_t at = from; at < to; at++) {
    uint32_t node = level->order[at];
    if (node == FUSE_NONE) {
      continue;
    }
    if (is_reached(joiner, node)) {
      joiner->moved[moved++] = node; /* `first` comes first of these */
    } else {
      level->order[kept++] = node;
    }
  }
  memcpy(level->order + kept, joiner->moved, moved * sizeof *joiner->moved);
  for (uint32_t at = from; at <= to; at++) {
    if (at < kept + moved) {
      level->nodes[level->order[at]].position = at;
    } else {
      level->order[at] = FUSE_NONE; /* the place of `second`, closed up at the end */
    }
  }
  return true;
}

static void close_up(struct fuse_level *level) {
  uint32_t count = 0;
  for (uint32_t at = 0; at < level->order_count; at++) {
    if (level->order[at] != FUSE_NONE) {
      level->nodes[level->order[at]].position = count;
      level->order[count++] = level->order[at];
    }
  }
  level->order_count = count;
}

static int compare_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts nodes by their place in the order. */
static void sort_by_position(const struct fuse_level *level, uint32_t *nodes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    nodes[i] = level->nodes[nodes[i]].position;
  }
  qsort(nodes, count, sizeof *nodes, compare_u32);
  for (uint32_t i = 0; i < count; i++) {
    nodes[i] = level->order[nodes[i]];
  }
}

static void join_readers_of_own(struct joiner *joiner, uint32_t producer) {
  struct fuse_level *level = joiner->level;
  uint32_t users[MAX_READERS];
  bool is_changed = true;
  while (is_changed && !level->out_of_memory) {
    is_changed = false;
    uint32_t count = fuse_node_users(level, &level->nodes[producer], users, MAX_READERS);
    if (count == 0 || count > MAX_READERS) {
      return;
    }
    sort_by_position(level, users, count);
    for (uint32_t i = 0; i < count && !is_changed; i++) {
      is_changed = try_join(joiner, producer, users[i]);
    }
  }
}

/* Live readers of a tensor that stream all of it and whose loop is no larger than it. */
static uint32_t streaming_readers(const struct fuse_level *level, uint32_t tensor, uint32_t *found) {
  const struct work_tensor *info = &level->graph->tensors.data[tensor];
  uint32_t count = 0;
  for (uint32_t link = level->tensors[tensor].first_user; link != 0; link = level->users.data[link - 1].next) {
    if (!fuse_user_is_live(level, &level->users.data[link - 1])) {
      continue;
    }
    uint32_t user = level->users.data[link - 1].node;
    const struct fuse_node *node = &level->nodes[user];
    if (node->role == FUSE_OPAQUE || node->loop_elements > (double)info->element_count) {
      continue;
    }
    const struct fuse_use *use = fuse_node_read(node, tensor);
    if (use == NULL || use->bytes < (double)info->size_bytes) {
      continue;
    }
    bool is_new = true;
    for (uint32_t k = 0; k < count; k++) {
      is_new &= found[k] != user;
    }
    if (is_new) {
      if (count == MAX_READERS) {
        return 0;
      }
      found[count++] = user;
    }
  }
  return count;
}

static void join_siblings(struct joiner *joiner, uint32_t tensor) {
  struct fuse_level *level = joiner->level;
  uint32_t readers[MAX_READERS];
  uint32_t count = streaming_readers(level, tensor, readers);
  if (count < 2) {
    return;
  }
  sort_by_position(level, readers, count);
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = i + 1; k < count && level->is_alive[readers[i]]; k++) {
      if (level->is_alive[readers[k]] && level->nodes[readers[i]].position < level->nodes[readers[k]].position) {
        try_join(joiner, readers[i], readers[k]);
      }
    }
  }
}

void fuse_multi_output(struct fuse_level *level) {
  size_t tasks = level->graph->tasks.count;
  level->order = malloc((tasks + 1) * sizeof *level->order);
  struct joiner joiner = {
      .level = level,
      .cone_first = FUSE_NONE,
      .mark = calloc(2 * tasks + 1, sizeof *joiner.mark),
      .moved = malloc((MAX_STRETCH + 1) * sizeof *joiner.moved),
  };
  if (level->order == NULL || joiner.mark == NULL || joiner.moved == NULL || !find_waiters(&joiner)) {
    level->out_of_memory = true;
  } else {
    joiner.through = joiner.mark + tasks;
    for (uint32_t i = 0; i < tasks; i++) {
      /* a node is numbered by its last member, and reads only what earlier last members leave */
      if (level->is_alive[i]) {
        level->nodes[i].position = level->order_count;
        level->order[level->order_count++] = i;
      }
    }
    if (level->rules->can_join != NULL) {
      for (uint32_t i = 0; i < tasks && !level->out_of_memory; i++) {
        if (level->is_alive[i] && level->nodes[i].role != FUSE_OPAQUE) {
          join_readers_of_own(&joiner, i);
        }
      }
      for (uint32_t t = 0; t < level->graph->tensors.count && !level->out_of_memory; t++) {
        join_siblings(&joiner, t);
      }
    }
    close_up(level);
  }
  free(joiner.mark);
  free(joiner.moved);
  free(joiner.first_waiter);
  vec_release(&joiner.waiters);
}
