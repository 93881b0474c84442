/* From nodes to the fused graph: one task per live node, its members' stages in their old order, and the border that is
 * left. A task that became a member of several nodes is written once with its own tensors and otherwise with copies of
 * them, so that every tensor has one producer. Tasks that only rename storage follow what they rename.
 *
 * The new graph begins as a copy of the old one's arrays, and a stage that is taken over as it was goes on using its axes,
 * operations, accesses and maps there, also when it is taken over several times. Only accesses that change are appended. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "lower/lower_fuse.h"

struct emit_item {
  uint32_t task;
  bool is_original; /* keeps its tensors */
  double share; /* of its result that is wanted */
};

struct emitter {
  struct fuse_level *level;
  const struct work_graph *graph;
  struct work_graph *out;
  uint32_t serial; /* number of the node being written, from 1 */
  bool has_clones; /* that node has copies of tensors */
  bool are_items_sorted;
  bool *is_written; /* per task */
  uint32_t *stored_by; /* per tensor: node that leaves it in memory, or FUSE_NONE */
  uint32_t *alias_first; /* per canonical tensor: task + 1 that renames it (or an alias of it) */
  uint32_t *alias_next; /* per task: the next such task + 1 */
  uint32_t *inside; /* per canonical tensor: serial of the node whose members write it */
  uint32_t *clone, *clone_of; /* per tensor: its copy, and the serial for which that holds */
  uint32_t *listed, *slot; /* per canonical tensor: serial and index of its border read */
  uint32_t *task_seen; /* per task: serial of the node it is an item of */
  double *wanted; /* per canonical tensor: elements that members read, under `inside` */
  VEC(struct emit_item) items;
  VEC(struct work_access) reads, writes; /* border */
};

static uint32_t canonical_of(const struct emitter *emitter, uint32_t tensor) {
  return emitter->level->tensors[tensor].canonical;
}

static bool emitter_init(struct emitter *emitter, struct fuse_level *level, struct work_graph *out) {
  size_t tensors = level->graph->tensors.count + 1, tasks = level->graph->tasks.count + 1;
  memset(emitter, 0, sizeof *emitter);
  emitter->level = level;
  emitter->graph = level->graph;
  emitter->out = out;
  uint32_t *words = calloc(7 * tensors + 2 * tasks, sizeof *words);
  emitter->stored_by = words;
  emitter->is_written = calloc(tasks, sizeof *emitter->is_written);
  emitter->wanted = calloc(tensors, sizeof *emitter->wanted);
  if (words == NULL || emitter->is_written == NULL || emitter->wanted == NULL) {
    return false;
  }
  emitter->alias_first = words + tensors;
  emitter->inside = words + 2 * tensors;
  emitter->clone = words + 3 * tensors;
  emitter->clone_of = words + 4 * tensors;
  emitter->listed = words + 5 * tensors;
  emitter->slot = words + 6 * tensors;
  emitter->alias_next = words + 7 * tensors;
  emitter->task_seen = words + 7 * tensors + tasks;
  for (size_t t = 0; t < tensors; t++) {
    emitter->stored_by[t] = FUSE_NONE;
  }
  for (uint32_t k = 0; k < level->order_count; k++) {
    const struct fuse_node *node = &level->nodes[level->order[k]];
    for (uint32_t w = 0; w < node->write_count; w++) {
      emitter->stored_by[node->writes[w].tensor] = level->order[k];
    }
  }
  for (uint32_t i = (uint32_t)level->graph->tasks.count; i-- > 0;) {
    if (level->is_alias_task[i]) {
      const struct work_task *task = &level->graph->tasks.data[i];
      uint32_t tensor = canonical_of(emitter, level->graph->accesses.data[task->access_first].tensor);
      emitter->alias_next[i] = emitter->alias_first[tensor];
      emitter->alias_first[tensor] = i + 1;
    }
  }
  return true;
}

static void emitter_release(struct emitter *emitter) {
  free(emitter->stored_by);
  free(emitter->is_written);
  free(emitter->wanted);
  vec_release(&emitter->items);
  vec_release(&emitter->reads);
  vec_release(&emitter->writes);
}

bool fuse_copy_arrays(const struct work_graph *from, struct work_graph *to) {
#define COPY(member)                                                                                                   \
  (vec_reserve(&to->member, from->member.count)                                                                        \
   && (from->member.count == 0                                                                                         \
       || memcpy(to->member.data, from->member.data, from->member.count * sizeof *from->member.data) != NULL)          \
   && ((to->member.count = from->member.count), true))
  bool ok = COPY(tensors) && COPY(dims) && COPY(collectives) && COPY(groups) && COPY(members) && COPY(inputs)
            && COPY(outputs) && COPY(carried) && COPY(axes) && COPY(ops) && COPY(accesses) && COPY(maps)
            && vec_reserve(&to->tasks, from->tasks.count) && vec_reserve(&to->stages, from->stages.count);
#undef COPY
  for (size_t t = 0; t < to->tensors.count && ok; t++) {
    to->tensors.data[t].producer = 0;
    to->tensors.data[t].is_materialised = false;
  }
  return ok;
}

/* Position of the last node that reads a canonical tensor; 0 when nobody does. */
static uint32_t last_reader(const struct fuse_level *level, uint32_t tensor) {
  uint32_t last = 0;
  for (uint32_t link = level->tensors[tensor].first_user; link != 0; link = level->users.data[link - 1].next) {
    const struct fuse_user *user = &level->users.data[link - 1];
    if (fuse_user_is_live(level, user) && level->nodes[user->node].position > last) {
      last = level->nodes[user->node].position;
    }
  }
  return last;
}

/* May `tensor`, written whole by `writer`, stay in the storage of what it takes the place of? Everybody must have read
 * that before, and in the same kernel only element by element. */
static bool may_keep_alias(const struct emitter *emitter, uint32_t tensor, const struct fuse_node *writer) {
  enum { MAX_VERSIONS = 8 };
  const struct fuse_level *level = emitter->level;
  for (unsigned step = 0; step < MAX_VERSIONS; step++) {
    uint32_t alias = emitter->graph->tensors.data[tensor].alias_of;
    if (alias == 0) {
      return true;
    }
    tensor = canonical_of(emitter, alias - 1);
    uint32_t last = last_reader(level, tensor);
    uint32_t owner = emitter->stored_by[tensor];
    if (last > writer->position || (last == writer->position && writer->role != FUSE_LOOP && writer->member_count > 1)
        || (owner != FUSE_NONE && level->nodes[owner].position >= writer->position)) {
      return false;
    }
  }
  return false;
}

/* An access of the new graph is in place only where the tensor still shares its storage. */
static void settle_in_place(struct work_graph *out, uint32_t access_first, uint32_t access_count) {
  for (uint32_t i = 0; i < access_count; i++) {
    struct work_access *access = &out->accesses.data[access_first + i];
    if (out->tensors.data[access->tensor].alias_of == 0) {
      access->flags &= (uint8_t)~WORK_ACCESS_IN_PLACE;
    }
  }
}

static void settle_task(struct emitter *emitter, const struct work_task *task) {
  settle_in_place(emitter->out, task->access_first, task->access_count);
  for (uint32_t s = 0; s < task->stage_count; s++) {
    const struct work_stage *stage = &emitter->graph->stages.data[task->stage_first + s];
    settle_in_place(emitter->out, stage->access_first, stage->access_count);
  }
}

static void drop_broken_aliases(struct emitter *emitter) {
  const struct work_graph *graph = emitter->graph;
  for (uint32_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    if (work_kind_info((enum work_kind)task->kind)->is_free) {
      continue;
    }
    for (uint32_t k = task->read_count; k < task->access_count; k++) {
      const struct work_access *write = &graph->accesses.data[task->access_first + k];
      uint32_t node = emitter->stored_by[write->tensor];
      if (graph->tensors.data[write->tensor].alias_of != 0 && fuse_is_loose_alias(task, write)
          && (node == FUSE_NONE || !may_keep_alias(emitter, write->tensor, &emitter->level->nodes[node]))) {
        emitter->out->tensors.data[write->tensor].alias_of = 0;
        settle_task(emitter, task);
      }
    }
  }
}

/* ---- what a node consists of ---- */

static void add_item(struct emitter *emitter, uint32_t task, bool is_original) {
  size_t count = emitter->items.count;
  emitter->are_items_sorted &= count == 0 || emitter->items.data[count - 1].task < task;
  emitter->task_seen[task] = emitter->serial;
  if (!vec_push(&emitter->items, ((struct emit_item){task, is_original, 1}))) {
    emitter->out->out_of_memory = true;
  }
}

/* The alias tasks between what a member reads and a tensor that another member writes. */
static void add_aliases_read(struct emitter *emitter, uint32_t tensor) {
  uint32_t canonical = canonical_of(emitter, tensor);
  while (tensor != canonical) {
    uint32_t task = emitter->graph->tensors.data[tensor].producer - 1;
    if (emitter->task_seen[task] == emitter->serial) {
      return;
    }
    bool is_original = emitter->stored_by[canonical] == FUSE_NONE && !emitter->is_written[task];
    add_item(emitter, task, is_original);
    tensor = emitter->graph->tensors.data[tensor].alias_of - 1;
  }
}

/* Unread aliases of a tensor that is nowhere in memory have to stand somewhere: with its first producer. */
static void add_aliases_left(struct emitter *emitter, uint32_t tensor) {
  for (uint32_t link = emitter->alias_first[tensor]; link != 0; link = emitter->alias_next[link - 1]) {
    if (emitter->task_seen[link - 1] != emitter->serial && !emitter->is_written[link - 1]) {
      add_item(emitter, link - 1, true);
    }
  }
}

static bool member_is_original(const struct emitter *emitter, uint32_t index, const struct work_task *task) {
  const struct work_access *border = emitter->graph->accesses.data + task->access_first;
  for (uint32_t k = task->read_count; k < task->access_count; k++) {
    uint32_t stored_by = emitter->stored_by[border[k].tensor];
    if (stored_by != FUSE_NONE) {
      return stored_by == index;
    }
  }
  return true;
}

static int compare_items(const void *a, const void *b) {
  uint32_t x = ((const struct emit_item *)a)->task, y = ((const struct emit_item *)b)->task;
  return (x > y) - (x < y);
}

static void collect_items(struct emitter *emitter, uint32_t index) {
  const struct fuse_node *node = &emitter->level->nodes[index];
  const struct work_graph *graph = emitter->graph;
  vec_clear(&emitter->items);
  emitter->are_items_sorted = true;
  for (uint32_t m = 0; m < node->member_count; m++) {
    const struct work_task *task = &graph->tasks.data[node->members[m]];
    bool is_original = member_is_original(emitter, index, task) && !emitter->is_written[node->members[m]];
    add_item(emitter, node->members[m], is_original);
    const struct work_access *border = graph->accesses.data + task->access_first;
    for (uint32_t k = 0; k < task->access_count; k++) {
      uint32_t canonical = canonical_of(emitter, border[k].tensor);
      if (k >= task->read_count) {
        emitter->inside[canonical] = emitter->serial;
        emitter->wanted[canonical] = 0;
        if (is_original && emitter->stored_by[canonical] == FUSE_NONE) {
          add_aliases_left(emitter, canonical);
        }
      } else if (emitter->inside[canonical] == emitter->serial) {
        add_aliases_read(emitter, border[k].tensor);
      }
    }
  }
  if (!emitter->are_items_sorted) {
    qsort(emitter->items.data, emitter->items.count, sizeof *emitter->items.data, compare_items);
  }
}

/* From the last item to the first: which share of each member's result the others want. Slices make it less than one. */
static void find_shares(struct emitter *emitter, uint32_t index) {
  const struct work_graph *graph = emitter->graph;
  for (size_t i = emitter->items.count; i-- > 0;) {
    struct emit_item *item = &emitter->items.data[i];
    const struct work_task *task = &graph->tasks.data[item->task];
    if (emitter->level->is_alias_task[item->task]) {
      continue;
    }
    const struct work_access *border = graph->accesses.data + task->access_first;
    bool is_whole = emitter->level->rules->roles[task->kind] != FUSE_LOOP;
    double share = 0;
    for (uint32_t k = task->read_count; k < task->access_count; k++) {
      double count = (double)graph->tensors.data[border[k].tensor].element_count;
      double wanted = emitter->wanted[border[k].tensor];
      is_whole |= emitter->stored_by[border[k].tensor] == index || wanted <= 0 || wanted >= count;
      share = count > 0 ? fmax(share, wanted / count) : 1;
    }
    item->share = is_whole ? 1 : share;
    for (uint32_t k = 0; k < task->read_count; k++) {
      uint32_t canonical = canonical_of(emitter, border[k].tensor);
      if (emitter->inside[canonical] == emitter->serial) {
        emitter->wanted[canonical] += (double)border[k].touched_elements * item->share;
      }
    }
  }
}

/* ---- writing ---- */

static void scale_access(const struct work_graph *graph, struct work_access *access, double share) {
  uint64_t count = graph->tensors.data[access->tensor].element_count;
  if (share < 1) {
    access->touched_elements = (uint64_t)ceil((double)access->touched_elements * share);
  }
  if (access->touched_elements >= count) {
    access->touched_elements = count;
    access->flags &= (uint8_t)~WORK_ACCESS_PARTIAL;
  } else {
    access->flags |= WORK_ACCESS_PARTIAL;
  }
}

static uint32_t mapped(const struct emitter *emitter, uint32_t tensor) {
  return emitter->clone_of[tensor] == emitter->serial ? emitter->clone[tensor] : tensor;
}

static void clone_tensor(struct emitter *emitter, uint32_t tensor) {
  if (emitter->clone_of[tensor] == emitter->serial) {
    return;
  }
  struct work_tensor copy = emitter->out->tensors.data[tensor];
  copy.is_output = false;
  if (copy.alias_of != 0) {
    copy.alias_of = mapped(emitter, copy.alias_of - 1) + 1;
  }
  emitter->clone[tensor] = (uint32_t)emitter->out->tensors.count;
  emitter->clone_of[tensor] = emitter->serial;
  emitter->has_clones = true;
  if (!vec_push(&emitter->out->tensors, copy)) {
    emitter->out->out_of_memory = true;
    emitter->clone[tensor] = tensor;
  }
}

/* Does the item's stage need accesses of its own in the new graph? */
static bool is_stage_changed(const struct emitter *emitter, const struct work_stage *stage,
                             const struct emit_item *item) {
  bool is_changed = !item->is_original || item->share < 1;
  for (uint32_t i = 0; i < stage->access_count && emitter->has_clones && !is_changed; i++) {
    uint32_t tensor = emitter->graph->accesses.data[stage->access_first + i].tensor;
    is_changed = mapped(emitter, tensor) != tensor;
  }
  return is_changed;
}

static void change_stage(struct emitter *emitter, struct work_stage *stage, const struct emit_item *item) {
  struct work_graph *out = emitter->out;
  uint32_t old_first = stage->access_first;
  stage->access_first = (uint32_t)out->accesses.count;
  if (!vec_reserve(&out->accesses, out->accesses.count + stage->access_count)) {
    out->out_of_memory = true;
    return;
  }
  for (uint32_t i = 0; i < stage->access_count; i++) {
    struct work_access access = out->accesses.data[old_first + i]; /* settled, and with the same map */
    if (i >= stage->read_count && !item->is_original) {
      clone_tensor(emitter, access.tensor);
    }
    access.tensor = mapped(emitter, access.tensor);
    if (item->share < 1) {
      scale_access(out, &access, item->share);
    }
    out->accesses.data[out->accesses.count++] = access;
  }
  if (item->share < 1) {
    stage->applications = (uint64_t)ceil((double)work_stage_applications(emitter->graph, stage) * item->share);
  }
}

static void write_stages(struct emitter *emitter, const struct emit_item *item) {
  const struct work_task *task = &emitter->graph->tasks.data[item->task];
  for (uint32_t s = 0; s < task->stage_count; s++) {
    struct work_stage stage = emitter->graph->stages.data[task->stage_first + s];
    if (is_stage_changed(emitter, &stage, item)) {
      change_stage(emitter, &stage, item);
    }
    if (!vec_push(&emitter->out->stages, stage)) {
      emitter->out->out_of_memory = true;
      return;
    }
  }
  emitter->is_written[item->task] |= item->is_original;
}

/* Appends a task made of the stages written since the last one. */
static void write_task(struct emitter *emitter, struct work_task task, uint32_t access_first, uint32_t access_count) {
  struct work_graph *out = emitter->out;
  task.stage_first = out->stages_in_tasks;
  task.stage_count = (uint32_t)out->stages.count - task.stage_first;
  task.access_first = access_first;
  task.access_count = access_count;
  out->stages_in_tasks = (uint32_t)out->stages.count;
  out->out_of_memory |= !vec_push(&out->tasks, task);
}

/* A task that is a node of its own, or an alias beside what it renames: as it was. */
static void write_alone(struct emitter *emitter, uint32_t index) {
  const struct work_task *task = &emitter->graph->tasks.data[index];
  struct emit_item item = {index, true, 1};
  write_stages(emitter, &item);
  write_task(emitter, *task, task->access_first, task->access_count);
}

static void border_read(struct emitter *emitter, struct work_access access) {
  const struct work_graph *out = emitter->out;
  uint32_t canonical = canonical_of(emitter, access.tensor);
  if (emitter->listed[canonical] != emitter->serial) {
    emitter->listed[canonical] = emitter->serial;
    emitter->slot[canonical] = (uint32_t)emitter->reads.count;
  } else {
    struct work_access *first = &emitter->reads.data[emitter->slot[canonical]];
    first->touched_elements = sat_add_u64(first->touched_elements, access.touched_elements);
    first->flags |= access.flags;
    scale_access(out, first, 1);
    for (size_t i = emitter->slot[canonical]; i < emitter->reads.count; i++) {
      if (emitter->reads.data[i].tensor == access.tensor) {
        return;
      }
    }
    access.touched_elements = 0; /* the same bytes under another shape */
  }
  scale_access(out, &access, 1);
  if (!vec_push(&emitter->reads, access)) {
    emitter->out->out_of_memory = true;
  }
}

static void collect_border(struct emitter *emitter, uint32_t index) {
  const struct work_graph *graph = emitter->graph;
  vec_clear(&emitter->reads);
  vec_clear(&emitter->writes);
  for (size_t i = 0; i < emitter->items.count; i++) {
    const struct emit_item *item = &emitter->items.data[i];
    if (emitter->level->is_alias_task[item->task]) {
      continue;
    }
    const struct work_task *task = &graph->tasks.data[item->task];
    for (uint32_t k = 0; k < task->access_count && !emitter->out->out_of_memory; k++) {
      struct work_access access = emitter->out->accesses.data[task->access_first + k];
      if (k < task->read_count) {
        if (emitter->inside[canonical_of(emitter, access.tensor)] != emitter->serial) {
          scale_access(emitter->out, &access, item->share);
          border_read(emitter, access);
        }
      } else if (emitter->stored_by[access.tensor] == index) {
        if (!vec_push(&emitter->writes, access)) {
          emitter->out->out_of_memory = true;
        }
      }
    }
  }
}

/* Which member gives the task its kind: the hero of its role, else arithmetic before movement, else the last. */
static uint32_t find_hero(const struct emitter *emitter, uint32_t index) {
  const struct fuse_node *node = &emitter->level->nodes[index];
  uint32_t hero = node->members[node->member_count - 1];
  bool has_arithmetic = false;
  for (uint32_t m = node->member_count; m-- > 0;) {
    const struct work_task *task = &emitter->graph->tasks.data[node->members[m]];
    if (node->role != FUSE_LOOP && emitter->level->rules->roles[task->kind] == node->role) {
      return node->members[m];
    }
    if (!has_arithmetic && task->kind == WORK_ELEMENTWISE) {
      has_arithmetic = true;
      hero = node->members[m];
    }
  }
  return hero;
}

static void write_node(struct emitter *emitter, uint32_t index) {
  const struct fuse_node *node = &emitter->level->nodes[index];
  struct work_graph *out = emitter->out;
  emitter->serial++;
  emitter->has_clones = false;
  if (node->member_count == 1) {
    write_alone(emitter, node->members[0]);
    return;
  }
  collect_items(emitter, index);
  find_shares(emitter, index);
  for (size_t i = 0; i < emitter->items.count && !out->out_of_memory; i++) {
    write_stages(emitter, &emitter->items.data[i]);
  }
  collect_border(emitter, index);
  struct work_task task = emitter->graph->tasks.data[find_hero(emitter, index)];
  size_t reads = emitter->reads.count, writes = emitter->writes.count, first = out->accesses.count;
  if (!vec_reserve(&out->accesses, first + reads + writes)) {
    out->out_of_memory = true;
    return;
  }
  for (size_t i = 0; i < reads + writes; i++) {
    struct work_access access = i < reads ? emitter->reads.data[i] : emitter->writes.data[i - reads];
    access.map_count = 0; /* borders have none */
    out->accesses.data[out->accesses.count++] = access;
  }
  task.read_count = (uint16_t)reads;
  write_task(emitter, task, (uint32_t)first, (uint32_t)(reads + writes));
}

static void write_aliases(struct emitter *emitter, uint32_t tensor) {
  emitter->serial++; /* copies made for the inside of the node before do not count here */
  emitter->has_clones = false;
  for (uint32_t link = emitter->alias_first[tensor]; link != 0; link = emitter->alias_next[link - 1]) {
    write_alone(emitter, link - 1);
  }
}

enum status fuse_emit(struct fuse_level *level, struct work_graph *out) {
  struct emitter emitter;
  bool ok = emitter_init(&emitter, level, out) && fuse_copy_arrays(level->graph, out);
  if (ok) {
    drop_broken_aliases(&emitter);
    for (uint32_t t = 0; t < level->graph->tensors.count; t++) {
      if (level->tensors[t].owner == FUSE_NONE) {
        write_aliases(&emitter, t);
      }
    }
    for (uint32_t k = 0; k < level->order_count && !out->out_of_memory; k++) {
      const struct fuse_node *node = &level->nodes[level->order[k]];
      write_node(&emitter, level->order[k]);
      for (uint32_t w = 0; w < node->write_count; w++) {
        write_aliases(&emitter, node->writes[w].tensor);
      }
    }
  }
  emitter_release(&emitter);
  return ok && !out->out_of_memory ? STATUS_OK : STATUS_MEMORY;
}
