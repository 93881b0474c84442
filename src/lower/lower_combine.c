/* Collectives of one kind, element type and group of devices become one exchange of several operands, so that the latency of
 * starting one is paid once. As XLA's combiners go about it: in execution order, the first one that is not yet looked at
 * opens a set; the next ones of its sort join until the set's results would exceed the threshold or one depends on the set
 * already. The combined one stands where the last of the set stood, and what depends on the set moves behind it. Source:
 * xla/service/collective_combiner_utils.h and the passes that use it. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower_collectives.h"

enum { NONE = UINT32_MAX, MAX_OPERANDS = 256 };

struct combine {
  struct lower_rewrite *rewrite;
  const struct work_graph *from;
  uint32_t *order, *moved; /* tasks; members of combined ones other than their first have left */
  uint32_t count; /* in order */
  uint32_t *first; /* per task: first member of what it was combined into; itself */
  uint32_t *next; /* per task: next member; NONE */
  uint32_t *set; /* per task: number of the set that it is in or behind */
  uint32_t *sort, *sort_left; /* per task: number of its sort, NONE; per sort: not looked at */
  uint32_t serial;
  uint32_t sort_count;
};

static bool combine_init(struct combine *c, struct lower_rewrite *rewrite) {
  const struct work_graph *from = rewrite->from;
  size_t tasks = from->tasks.count;
  uint32_t *words = calloc(7 * tasks + 1, sizeof *words);
  *c = (struct combine){.rewrite = rewrite, .from = from, .order = words, .count = (uint32_t)tasks};
  if (words == NULL) {
    return false;
  }
  c->moved = words + tasks;
  c->first = words + 2 * tasks;
  c->next = words + 3 * tasks;
  c->set = words + 4 * tasks;
  c->sort = words + 5 * tasks;
  c->sort_left = words + 6 * tasks;
  for (uint32_t i = 0; i < tasks; i++) {
    c->order[i] = c->first[i] = i;
    c->next[i] = c->sort[i] = NONE;
  }
  return true;
}

/* ---- sorts ---- */

static const struct work_collective *collective_of(const struct combine *c, uint32_t task) {
  return &c->from->collectives.data[c->from->tasks.data[task].collective - 1];
}

static uint64_t threshold_of(const struct combine *c, enum work_collective_kind kind) {
  const struct lower_collective_options *options = c->rewrite->options;
  uint64_t bytes = kind == WORK_ALL_REDUCE   ? options->all_reduce_bytes
                   : kind == WORK_ALL_GATHER ? options->all_gather_bytes
                                             : options->reduce_scatter_bytes;
  return bytes != 0 ? bytes : LOWER_COMBINE_BYTES;
}

static bool may_combine(const struct combine *c, const struct work_task *task) {
  if (!lower_collective_is_plain(c->from, task)) {
    return false;
  }
  const struct work_collective *d = &c->from->collectives.data[task->collective - 1];
  bool is_kind = d->kind == WORK_ALL_REDUCE || d->kind == WORK_ALL_GATHER || d->kind == WORK_REDUCE_SCATTER;
  return is_kind && d->reduction != WORK_REDUCTION_OTHER
         && d->output_bytes <= threshold_of(c, (enum work_collective_kind)d->kind);
}

static bool is_same_sort(const struct combine *c, uint32_t a, uint32_t b) {
  const struct work_graph *graph = c->from;
  const struct work_collective *x = collective_of(c, a), *y = collective_of(c, b);
  const struct work_task *p = &graph->tasks.data[a], *q = &graph->tasks.data[b];
  return x->kind == y->kind && x->reduction == y->reduction && x->groups == y->groups
         && x->group_count == y->group_count && x->group_size == y->group_size
         && graph->tensors.data[graph->accesses.data[p->access_first].tensor].dtype
                == graph->tensors.data[graph->accesses.data[q->access_first].tensor].dtype;
}

/* Programs have a handful of sorts. */
static bool find_sorts(struct combine *c) {
  VEC(uint32_t) examples = {0};
  bool ok = true;
  for (uint32_t i = 0; i < c->count && ok; i++) {
    if (!may_combine(c, &c->from->tasks.data[i])) {
      continue;
    }
    uint32_t sort = 0;
    while (sort < examples.count && !is_same_sort(c, examples.data[sort], i)) {
      sort++;
    }
    ok = sort < examples.count || vec_push(&examples, i);
    c->sort[i] = sort;
    c->sort_left[sort]++;
  }
  vec_release(&examples);
  return ok;
}

/* ---- sets ---- */

/* Does a task, with what was combined into it, depend on the open set or on what is behind it? */
static bool is_behind(const struct combine *c, uint32_t task) {
  for (uint32_t member = task; member != NONE; member = c->next[member]) {
    const struct work_task *info = &c->from->tasks.data[member];
    for (uint32_t k = 0; k < info->dependency_count; k++) {
      uint32_t on = c->from->dependencies.data[info->dependency_first + k];
      if (c->set[c->first[on]] == c->serial) {
        return true;
      }
    }
  }
  return false;
}

/* The set that opens at a place of the order. Members are chained and lie in `order` still; returns the place of the last
 * one, and how many they are. */
static uint32_t collect_set(struct combine *c, uint32_t place, uint32_t *members) {
  const uint32_t opener = c->order[place], sort = c->sort[opener];
  const uint32_t max_operands =
      c->rewrite->options->max_operands != 0 ? c->rewrite->options->max_operands : MAX_OPERANDS;
  const uint64_t threshold = threshold_of(c, (enum work_collective_kind)collective_of(c, opener)->kind);
  uint64_t bytes = collective_of(c, opener)->output_bytes;
  uint32_t last = place, tail = opener;
  *members = 1;
  c->serial++;
  c->set[opener] = c->serial;
  c->sort[opener] = NONE;
  c->sort_left[sort]--;
  for (uint32_t at = place + 1; at < c->count && c->sort_left[sort] > 0 && *members < max_operands; at++) {
    uint32_t task = c->order[at];
    bool is_dependent = is_behind(c, task);
    if (c->sort[task] == sort) {
      uint64_t sum = sat_add_u64(bytes, collective_of(c, task)->output_bytes);
      if (sum > threshold || is_dependent) {
        break;
      }
      bytes = sum;
      c->next[tail] = task;
      c->first[task] = opener;
      c->sort[task] = NONE;
      c->sort_left[sort]--;
      tail = task;
      last = at;
      (*members)++;
    }
    if (is_dependent || c->first[task] == opener) {
      c->set[task] = c->serial;
    }
  }
  return last;
}

/* The stretch of a set: first what does not depend on it, then the combined task, then the rest. */
static void close_set(struct combine *c, uint32_t place, uint32_t last, uint32_t members) {
  const uint32_t opener = c->order[place];
  uint32_t kept = place, moved = 0;
  for (uint32_t at = place; at <= last; at++) {
    uint32_t task = c->order[at];
    if (c->first[task] == opener) {
      continue;
    }
    if (c->set[task] == c->serial) {
      c->moved[moved++] = task;
    } else {
      c->order[kept++] = task;
    }
  }
  c->order[kept++] = opener;
  memcpy(c->order + kept, c->moved, moved * sizeof *c->moved);
  kept += moved;
  memmove(c->order + kept, c->order + last + 1, (c->count - last - 1) * sizeof *c->order);
  c->count -= members - 1;
  c->rewrite->report->combined += members;
  c->rewrite->report->combinations++;
}

/* ---- the new graph ---- */

static void write_combined(struct combine *c, uint32_t opener) {
  struct work_graph *to = c->rewrite->to;
  struct work_task task = c->from->tasks.data[opener];
  struct work_collective sum = *collective_of(c, opener);
  sum.bytes_per_rank = sum.input_bytes = sum.output_bytes = 0;
  const uint32_t first = (uint32_t)to->accesses.count;
  uint32_t reads = 0;
  bool ok = true;
  for (int side = 0; side < 2; side++) {
    for (uint32_t member = opener; member != NONE && ok; member = c->next[member]) {
      struct work_access access = c->from->accesses.data[c->from->tasks.data[member].access_first + (uint32_t)side];
      bool is_listed = false; /* operands may be the same */
      for (uint32_t k = first; k < to->accesses.count && side == 0 && !is_listed; k++) {
        is_listed = to->accesses.data[k].tensor == access.tensor;
      }
      ok = is_listed || vec_push(&to->accesses, access);
    }
    reads = side == 0 ? (uint32_t)to->accesses.count - first : reads;
  }
  for (uint32_t member = opener; member != NONE && ok; member = c->next[member]) {
    const struct work_collective *part = collective_of(c, member);
    sum.bytes_per_rank = sat_add_u64(sum.bytes_per_rank, part->bytes_per_rank);
    sum.input_bytes = sat_add_u64(sum.input_bytes, part->input_bytes);
    sum.output_bytes = sat_add_u64(sum.output_bytes, part->output_bytes);
    ok = vec_push(&to->stages, c->from->stages.data[c->from->tasks.data[member].stage_first]);
  }
  ok = ok && vec_push(&to->collectives, sum);
  task.collective = (uint32_t)to->collectives.count;
  task.access_first = first;
  task.access_count = (uint32_t)to->accesses.count - first;
  task.read_count = (uint16_t)reads;
  task.stage_first = to->stages_in_tasks;
  task.stage_count = (uint32_t)to->stages.count - task.stage_first;
  to->stages_in_tasks = (uint32_t)to->stages.count;
  to->out_of_memory |= !(ok && vec_push(&to->tasks, task));
}

enum status lower_rewrite_combine(struct lower_rewrite *rewrite) {
  struct combine c;
  bool ok = combine_init(&c, rewrite) && find_sorts(&c);
  for (uint32_t place = 0; place < c.count && ok;) {
    if (c.sort[c.order[place]] == NONE) {
      place++;
      continue;
    }
    uint32_t members, last = collect_set(&c, place, &members);
    if (members > 1) {
      close_set(&c, place, last, members); /* what moved before the place holds no collective of this sort */
    } else {
      place++;
    }
  }
  for (uint32_t i = 0; i < c.count && ok && !rewrite->to->out_of_memory; i++) {
    if (c.next[c.order[i]] != NONE) {
      write_combined(&c, c.order[i]);
    } else {
      lower_rewrite_task(rewrite, c.order[i]);
    }
  }
  free(c.order);
  return ok && !rewrite->to->out_of_memory ? STATUS_OK : STATUS_MEMORY;
}
