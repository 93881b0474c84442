/* Multi-output fusion: two kernels with loops of equal size become one when one reads what the other writes, or both read
 * the same tensor. It runs after priority fusion, on an explicit execution order.
 *
 * A join is legal when no path leads from the earlier kernel to the later one through a third. Such a path stays between
 * them in the order, so only that stretch is searched; it is then rearranged: first what does not depend on the earlier
 * kernel, then the joined kernel, then what does. The stretch is bounded, as compilers bound the distance too. */
#include <string.h>

#include "lower/lower_fuse.h"

enum { MAX_STRETCH = 1024, MAX_READERS = 64, MAX_MEMBERS = 512 };

struct joiner {
  struct fuse_level *level;
  uint32_t *mark; /* per node: epoch in which it was reached */
  uint32_t *moved; /* scratch of a stretch */
  uint32_t epoch;
};

static bool is_reached(const struct joiner *joiner, uint32_t node) {
  return joiner->mark[node] == joiner->epoch;
}

/* True when the node waits for one that is marked; `except` is not looked at. */
static bool waits_for_marked(const struct joiner *joiner, uint32_t index, uint32_t except) {
  const struct fuse_level *level = joiner->level;
  const struct fuse_node *node = &level->nodes[index];
  for (uint32_t r = 0; r < node->read_count; r++) {
    uint32_t owner = level->tensors[node->reads[r].tensor].owner;
    if (owner != FUSE_NONE && owner != except && is_reached(joiner, owner)) {
      return true;
    }
  }
  if (!node->writes_in_place) {
    return false;
  }
  for (uint32_t m = 0; m < node->member_count; m++) { /* who still has to read the storage */
    const struct work_task *task = &level->graph->tasks.data[node->members[m]];
    for (uint32_t d = 0; d < task->dependency_count; d++) {
      uint32_t before = level->graph->dependencies.data[task->dependency_first + d];
      if (before != except && level->nodes[before].is_alive && is_reached(joiner, before)) {
        return true;
      }
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
      || a->read_count + a->write_count + b->read_count + b->write_count > level->rules->max_operands
      || !level->rules->can_join(a, b)) {
    return false;
  }
  joiner->epoch++;
  joiner->mark[first] = joiner->epoch;
  uint32_t from = a->position, to = b->position, kept = from, moved = 0;
  for (uint32_t at = from + 1; at < to; at++) {
    uint32_t node = level->order[at];
    if (node != FUSE_NONE && waits_for_marked(joiner, node, FUSE_NONE)) {
      joiner->mark[node] = joiner->epoch;
    }
  }
  if (waits_for_marked(joiner, second, first)) {
    return false;
  }
  fuse_join(level, first, second);
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
    uint32_t user = level->users.data[link - 1].node;
    const struct fuse_node *node = &level->nodes[user];
    if (!node->is_alive || node->role == FUSE_OPAQUE || node->loop_elements > (double)info->element_count) {
      continue;
    }
    const struct fuse_use *use = fuse_use_find(node->reads, node->read_count, tensor);
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
    for (uint32_t k = i + 1; k < count && level->nodes[readers[i]].is_alive; k++) {
      if (level->nodes[readers[k]].is_alive && level->nodes[readers[i]].position < level->nodes[readers[k]].position) {
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
      .mark = calloc(tasks + 1, sizeof *joiner.mark),
      .moved = malloc((MAX_STRETCH + 1) * sizeof *joiner.moved),
  };
  if (level->order == NULL || joiner.mark == NULL || joiner.moved == NULL) {
    level->out_of_memory = true;
  } else {
    for (uint32_t i = 0; i < tasks; i++) {
      /* a node is numbered by its last member, and reads only what earlier last members leave */
      if (level->nodes[i].is_alive) {
        level->nodes[i].position = level->order_count;
        level->order[level->order_count++] = i;
      }
    }
    if (level->rules->can_join != NULL) {
      for (uint32_t i = 0; i < tasks && !level->out_of_memory; i++) {
        if (level->nodes[i].is_alive && level->nodes[i].role != FUSE_OPAQUE) {
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
}
