/* Priority fusion: again and again the producer whose disappearance into all of its consumers saves most time.
 *
 * The saving is what XLA's GPU backend estimates (landscape of its priority_fusion): the producer's kernel and its traffic
 * vanish, its inputs are read and its arithmetic is done once per consumer. A heap holds the producers; an entry is
 * evaluated again when it comes up, because its surroundings may have changed, so one fusion costs O(operands + users)
 * updates instead of a sweep. */
#include <string.h>

#include "lower/lower_fuse.h"

/* Producers with more readers stay: recomputing in so many places is never what a compiler does, except for trivial ones. */
enum { MAX_USERS = 32 };
/* Members of one kernel; a bound on code size and on our own work. */
enum { MAX_MEMBERS = 512 };
/* Traffic that is counted as nothing when the rule "fusion never moves more bytes" is applied: scalars. */
static const double negligible_bytes = 1024;

struct heap_entry {
  double saving_s;
  uint32_t node, stamp;
};

struct heap {
  VEC(struct heap_entry) entries;
};

/* Larger saving first, then the earlier node, so that the result does not depend on history. */
static bool entry_before(const struct heap_entry *a, const struct heap_entry *b) {
  return a->saving_s > b->saving_s || (a->saving_s == b->saving_s && a->node < b->node);
}

/* Puts an entry at or above the free place `at`. */
static void heap_rise(struct heap_entry *entries, size_t at, struct heap_entry entry) {
  while (at > 0 && entry_before(&entry, &entries[(at - 1) / 2])) {
    entries[at] = entries[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  entries[at] = entry;
}

static bool heap_push(struct heap *heap, struct heap_entry entry) {
  if (!vec_push(&heap->entries, entry)) {
    return false;
  }
  heap_rise(heap->entries.data, heap->entries.count - 1, entry);
  return true;
}

/* The hole that the top leaves sinks to the bottom, and the last entry rises from there: it belongs near the bottom, so
 * this needs half the comparisons of letting it sink. */
static struct heap_entry heap_pop(struct heap *heap) {
  struct heap_entry *entries = heap->entries.data, top = entries[0];
  struct heap_entry last = entries[--heap->entries.count];
  size_t at = 0, count = heap->entries.count, child = 1;
  for (; child + 1 < count; child = 2 * at + 1) {
    child += entry_before(&entries[child + 1], &entries[child]);
    entries[at] = entries[child];
    at = child;
  }
  if (child < count) {
    entries[at] = entries[child];
    at = child;
  }
  heap_rise(entries, at, last);
  return top;
}

struct fused_size {
  double bytes, work_s;
  uint32_t operands;
};

/* What the consumer would be with the producer inside. */
static struct fused_size size_fused(const struct fuse_level *level, const struct fuse_node *producer,
                                    const struct fuse_node *consumer) {
  struct fused_size size = {consumer->read_bytes + consumer->write_bytes, 0,
                            consumer->read_count + consumer->write_count};
  double share = 0;
  for (uint32_t w = 0; w < producer->write_count; w++) {
    uint32_t tensor = producer->writes[w].tensor;
    const struct fuse_use *use = fuse_node_read(consumer, tensor);
    if (use != NULL) {
      size.bytes -= use->bytes;
      size.operands--;
      double used = fuse_share(use->bytes, level->tensors[tensor].size_bytes);
      share = used > share ? used : share;
    }
  }
  for (uint32_t r = 0; r < producer->read_count; r++) {
    uint32_t tensor = producer->reads[r].tensor;
    double added = producer->reads[r].bytes * share;
    const struct fuse_use *use = fuse_node_read(consumer, tensor);
    if (use == NULL) {
      size.operands++;
    } else {
      double whole = level->tensors[tensor].size_bytes;
      added = use->bytes + added > whole ? whole - use->bytes : added;
    }
    size.bytes += added;
  }
  double repeats = 1;
  if (level->rules->repeats_broadcasts && producer->output_elements > 0) {
    double ratio = consumer->loop_elements / (producer->output_elements * (share > 0 ? share : 1));
    repeats = ratio > 1 ? ratio : 1;
  }
  size.work_s = consumer->work_s + producer->work_s * share * repeats;
  return size;
}

static bool may_fuse(const struct fuse_level *level, const struct fuse_node *producer,
                     const struct fuse_node *consumer) {
  return consumer->role != FUSE_OPAQUE && producer->member_count + consumer->member_count <= MAX_MEMBERS
         && level->rules->can_fuse(level, producer, consumer);
}

/* Seconds saved by fusing the node into all of its users; not positive = leave it. */
static double saving_s(struct fuse_level *level, const struct fuse_node *producer, const uint32_t *users,
                       uint32_t user_count) {
  const struct fuse_rules *rules = level->rules;
  double bytes_before = producer->read_bytes + producer->write_bytes, before = producer->time_s;
  double after = 0, bytes_after = 0;
  for (uint32_t i = 0; i < user_count; i++) {
    const struct fuse_node *consumer = &level->nodes[users[i]];
    if (!may_fuse(level, producer, consumer)) {
      return -1;
    }
    struct fused_size fused = size_fused(level, producer, consumer);
    if (!fuse_has_room(level, fused.operands)) {
      return -1;
    }
    bytes_before += consumer->read_bytes + consumer->write_bytes;
    bytes_after += fused.bytes;
    before += consumer->time_s;
    after += fuse_kernel_s(rules, fused.bytes, fused.work_s);
  }
  return bytes_after > bytes_before + negligible_bytes ? -1 : before - after;
}

static bool is_candidate(const struct fuse_node *node) {
  return node->role != FUSE_OPAQUE && !node->is_pinned && !node->is_needed;
}

static double evaluate(struct fuse_level *level, uint32_t index, uint32_t *users, uint32_t *user_count) {
  const struct fuse_node *node = &level->nodes[index];
  if (!level->is_alive[index] || !is_candidate(node)) {
    return -1;
  }
  bool may_repeat = node->role == FUSE_LOOP && !node->is_expensive;
  uint32_t limit = may_repeat ? MAX_USERS : 1;
  *user_count = fuse_node_users(level, node, users, limit);
  if (*user_count == 0 || *user_count > limit) {
    return -1;
  }
  return saving_s(level, node, users, *user_count);
}

static void consider(struct fuse_level *level, struct heap *heap, uint32_t index) {
  uint32_t users[MAX_USERS], user_count;
  double saving = evaluate(level, index, users, &user_count);
  if (saving > 0 && !heap_push(heap, (struct heap_entry){saving, index, ++level->nodes[index].stamp})) {
    level->out_of_memory = true;
  }
}

/* Iotas, constants and broadcast scalars go into every reader that can take them; they stay for the others. */
static void copy_trivial(struct fuse_level *level) {
  for (uint32_t i = 0; i < level->graph->tasks.count && !level->out_of_memory; i++) {
    struct fuse_node *node = &level->nodes[i];
    if (!level->is_alive[i] || !node->is_trivial || node->is_pinned || node->write_count != 1) {
      continue;
    }
    uint32_t tensor = node->writes[0].tensor;
    bool is_left = level->tensors[tensor].is_output, is_taken = false;
    for (uint32_t link = level->tensors[tensor].first_user; link != 0; link = level->users.data[link - 1].next) {
      struct fuse_user *user = &level->users.data[link - 1];
      if (!fuse_user_is_live(level, user)) {
        continue;
      }
      const struct fuse_node *consumer = &level->nodes[user->node];
      if (may_fuse(level, node, consumer)
          && fuse_has_room(level, consumer->read_count + consumer->write_count + node->read_count)) {
        uint32_t taker = user->node;
        user->node = FUSE_NONE;
        fuse_into(level, i, taker);
        is_taken = true;
      } else {
        is_left = true;
      }
    }
    if (is_taken && !is_left) {
      fuse_retire(level, i);
    }
  }
}

void fuse_by_priority(struct fuse_level *level) {
  struct heap heap = {{0}};
  copy_trivial(level);
  for (uint32_t i = 0; i < level->graph->tasks.count; i++) {
    consider(level, &heap, i);
  }
  uint32_t users[MAX_USERS], user_count;
  while (heap.entries.count > 0 && !level->out_of_memory) {
    struct heap_entry top = heap_pop(&heap);
    if (top.stamp != level->nodes[top.node].stamp) {
      continue;
    }
    double saving = evaluate(level, top.node, users, &user_count);
    if (!(saving > 0)) {
      continue;
    }
    if (saving < top.saving_s && heap.entries.count > 0 && saving < heap.entries.data[0].saving_s) {
      level->out_of_memory |= !heap_push(&heap, (struct heap_entry){saving, top.node, top.stamp});
      continue;
    }
    for (uint32_t i = 0; i < user_count; i++) {
      fuse_into(level, top.node, users[i]);
    }
    fuse_retire(level, top.node);
    const struct fuse_node *node = &level->nodes[top.node];
    for (uint32_t r = 0; r < node->read_count; r++) {
      uint32_t owner = level->tensors[node->reads[r].tensor].owner;
      if (owner != FUSE_NONE) {
        consider(level, &heap, owner);
      }
    }
    for (uint32_t i = 0; i < user_count; i++) {
      consider(level, &heap, users[i]);
    }
  }
  vec_release(&heap.entries);
}
