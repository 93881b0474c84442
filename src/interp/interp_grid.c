/* Processes on threads, and where they wait for each other: see interp_grid.h. One lock and one condition guard everything;
 * a process that would wait while all others wait already has found a deadlock, which ends the run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp_custom.h"
#include "interp/interp_grid.h"
#include "interp/interp_mesh.h"

/* Members of a group on their way into one collective. */
struct meeting {
  int64_t channel;
  uint32_t *members;
  uint32_t member_count, value_count;
  struct interp_value **values; /* of member i from i * value_count on */
  uint32_t arrived, left;
  bool is_complete;
  struct meeting *next;
};

/* Values on their way from a send to a recv. */
struct parcel {
  int64_t channel;
  struct interp_value **values;
  uint32_t count;
  struct parcel *next;
};

struct interp_grid {
  uint32_t replicas, partitions;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t live;
  uint32_t waiting; /* processes that have looked since the last change and found nothing */
  uint64_t changes;
  bool is_stuck;
  struct meeting *meetings;
  struct parcel *parcels; /* oldest first */
  const struct ir_op *infeed;
  uint32_t infeed_count, infeed_next;
};

uint32_t interp_replicas(const struct interp_process *process) {
  return process->grid ? process->grid->replicas : 1;
}

uint32_t interp_partitions(const struct interp_process *process) {
  return process->grid ? process->grid->partitions : 1;
}

struct ir_op interp_next_infeed(struct interp_call *call) {
  struct interp_grid *grid = call->frame->process->grid;
  struct ir_op function = {0};
  if (grid) {
    pthread_mutex_lock(&grid->lock);
    function = grid->infeed_next < grid->infeed_count ? grid->infeed[grid->infeed_next++] : function;
    pthread_mutex_unlock(&grid->lock);
  }
  return function;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------- */

/* Waits, with the lock held, until is_done(what). Every waiter looks again after every change; when all processes have looked
 * since the last one in vain, nothing can change any more. */
static bool wait_until(struct interp_call *call, bool (*is_done)(struct interp_grid *grid, void *what), void *what) {
  struct interp_grid *grid = call->frame->process->grid;
  struct interp_run *run = call->frame->process->run;
  uint64_t seen = UINT64_MAX;
  while (!is_done(grid, what) && !grid->is_stuck && !atomic_load(&run->has_failed)) {
    grid->waiting += seen != grid->changes; /* once per change, however often it wakes up */
    seen = grid->changes;
    if (grid->waiting == grid->live) {
      grid->is_stuck = true;
      pthread_cond_broadcast(&grid->changed);
      break;
    }
    pthread_cond_wait(&grid->changed, &grid->lock);
  }
  return is_done(grid, what);
}

/* Something that a waiter may wait for has happened: all look again. */
static void announce(struct interp_grid *grid) {
  grid->waiting = 0;
  grid->changes++;
  pthread_cond_broadcast(&grid->changed);
}

static bool report_stuck(struct interp_call *call, const char *what) {
  const struct interp_process *self = call->frame->process;
  if (atomic_exchange(&self->run->has_failed, true)) {
    return false; /* another process has said why */
  }
  return interp_report(call, DIAG_E0705_DEADLOCK, "waits for ever for %s (replica %u, partition %u)", what,
                       self->replica, self->partition);
}

/* ---- meetings -------------------------------------------------------------------------------------------------------------- */

static struct meeting *find_meeting(struct interp_grid *grid, const struct interp_group *group, int64_t channel,
                                    uint32_t count) {
  for (struct meeting *m = grid->meetings; m; m = m->next) {
    if (!m->is_complete && m->channel == channel && m->member_count == group->count && m->value_count == count
        && memcmp(m->members, group->members, group->count * sizeof *m->members) == 0) {
      return m;
    }
  }
  return NULL;
}

static struct meeting *open_meeting(struct interp_grid *grid, const struct interp_group *group, int64_t channel,
                                    uint32_t count) {
  struct meeting *m = calloc(1, sizeof *m);
  uint32_t *members = malloc((group->count + 1) * sizeof *members);
  struct interp_value **values = calloc((size_t)group->count * count + 1, sizeof *values);
  if (!m || !members || !values) {
    free(m);
    free(members);
    free(values);
    return NULL;
  }
  memcpy(members, group->members, group->count * sizeof *members);
  *m = (struct meeting){.channel = channel,
                        .members = members,
                        .member_count = group->count,
                        .value_count = count,
                        .values = values,
                        .next = grid->meetings};
  grid->meetings = m;
  return m;
}

static void close_meeting(struct interp_grid *grid, struct meeting *m) {
  for (struct meeting **at = &grid->meetings; *at; at = &(*at)->next) {
    if (*at == m) {
      *at = m->next;
      break;
    }
  }
  for (uint64_t i = 0; i < (uint64_t)m->member_count * m->value_count; i++) {
    interp_release(m->values[i]);
  }
  free(m->members);
  free(m->values);
  free(m);
}

static bool is_complete(struct interp_grid *grid, void *what) {
  (void)grid;
  return ((struct meeting *)what)->is_complete;
}

bool interp_meet(struct interp_call *call, const struct interp_group *group, int64_t channel,
                 struct interp_value *const *values, uint32_t count, struct interp_value **all) {
  struct interp_grid *grid = call->frame->process->grid;
  if (!grid) { /* alone: interp_group_of gave a group of one */
    for (uint32_t k = 0; k < count; k++) {
      interp_retain(values[k]);
      all[k] = values[k];
    }
    return true;
  }
  pthread_mutex_lock(&grid->lock);
  struct meeting *m = find_meeting(grid, group, channel, count);
  m = m ? m : open_meeting(grid, group, channel, count);
  if (!m) {
    pthread_mutex_unlock(&grid->lock);
    return interp_out_of_memory(call);
  }
  for (uint32_t k = 0; k < count; k++) {
    interp_retain(values[k]);
    m->values[(size_t)group->own * count + k] = values[k];
  }
  if (++m->arrived == m->member_count) {
    m->is_complete = true;
    announce(grid);
  }
  bool ok = wait_until(call, is_complete, m);
  char missing[80];
  (void)snprintf(missing, sizeof missing, "the other members of its group: %u of %u came", m->arrived, m->member_count);
  for (uint64_t i = 0; ok && i < (uint64_t)m->member_count * count; i++) {
    interp_retain(m->values[i]);
    all[i] = m->values[i];
  }
  if (++m->left == m->arrived) {
    close_meeting(grid, m);
  }
  pthread_mutex_unlock(&grid->lock);
  return ok || report_stuck(call, missing);
}

/* ---- channels ---------------------------------------------------------------------------------------------------------------- */

static struct parcel **find_parcel(struct interp_grid *grid, int64_t channel) {
  struct parcel **at = &grid->parcels;
  while (*at && (*at)->channel != channel) {
    at = &(*at)->next;
  }
  return at;
}

static bool has_parcel(struct interp_grid *grid, void *what) {
  return *find_parcel(grid, *(const int64_t *)what) != NULL;
}

static void free_parcel(struct parcel *parcel) {
  for (uint32_t i = 0; i < parcel->count; i++) {
    interp_release(parcel->values[i]);
  }
  free(parcel->values);
  free(parcel);
}

bool interp_channel_put(struct interp_call *call, int64_t channel, struct interp_value *const *values, uint32_t count) {
  struct interp_grid *grid = call->frame->process->grid;
  if (!grid) {
    return interp_unsupported(call, "a process that runs alone has nobody to send to");
  }
  struct parcel *parcel = calloc(1, sizeof *parcel);
  struct interp_value **copy = calloc((size_t)count + 1, sizeof *copy);
  if (!parcel || !copy) {
    free(parcel);
    free(copy);
    return interp_out_of_memory(call);
  }
  for (uint32_t i = 0; i < count; i++) {
    interp_retain(values[i]);
    copy[i] = values[i];
  }
  *parcel = (struct parcel){.channel = channel, .values = copy, .count = count};
  pthread_mutex_lock(&grid->lock);
  struct parcel **end = &grid->parcels;
  while (*end) {
    end = &(*end)->next;
  }
  *end = parcel;
  announce(grid);
  pthread_mutex_unlock(&grid->lock);
  return true;
}

bool interp_channel_take(struct interp_call *call, int64_t channel, struct interp_value **values, uint32_t count) {
  struct interp_grid *grid = call->frame->process->grid;
  if (!grid) {
    return interp_unsupported(call, "a process that runs alone has nobody to receive from");
  }
  pthread_mutex_lock(&grid->lock);
  bool ok = wait_until(call, has_parcel, &channel);
  struct parcel *parcel = NULL;
  if (ok) {
    struct parcel **at = find_parcel(grid, channel);
    parcel = *at;
    *at = parcel->next;
  }
  pthread_mutex_unlock(&grid->lock);
  if (!ok) {
    return report_stuck(call, "what nobody sends");
  }
  ok = parcel->count == count;
  for (uint32_t i = 0; ok && i < count; i++) {
    values[i] = parcel->values[i];
    parcel->values[i] = NULL;
  }
  uint32_t sent = parcel->count;
  free_parcel(parcel);
  return ok || interp_wrong(call, "%u values were sent, %u are received", sent, count);
}

/* ---- groups --------------------------------------------------------------------------------------------------------------- */

/* An attribute of the operation; of a custom call, a field of its configuration. */
static struct ir_attr attribute_of(const struct interp_call *call, const char *name) {
  if (ir_op_code(call->module, call->op) != IR_OP_CUSTOM_CALL) {
    return ir_op_attr(call->module, call->op, name);
  }
  struct ir_attr config = interp_config(call);
  bool is_dict = config.id && ir_attr_get(call->module, config)->kind == IR_ATTR_DICT;
  return is_dict ? ir_attr_field(call->module, config, name) : (struct ir_attr){0};
}

int64_t interp_channel_of(const struct interp_call *call) {
  struct ir_attr handle = ir_op_attr(call->module, call->op, "channel_handle");
  if (ir_op_code(call->module, call->op) == IR_OP_CUSTOM_CALL) {
    return interp_config_int(call, "channel_id", 0);
  }
  return handle.id ? interp_field_int(call, handle, "handle", 0) : 0;
}

/* What the ids of a group mean (spec, Grouping and partitioning). */
enum grouping { CROSS_REPLICA, CROSS_PARTITION, CROSS_REPLICA_AND_PARTITION, FLATTENED_IDS };

static enum grouping grouping_of(const struct interp_call *call) {
  bool has_channel = interp_channel_of(call) > 0;
  if (ir_op_attr(call->module, call->op, "use_global_device_ids").id) {
    return FLATTENED_IDS;
  }
  switch ((int)ir_op_code(call->module, call->op)) {
  case IR_OP_ALL_TO_ALL:
  case IR_OP_CUSTOM_CALL: /* ragged_all_to_all */
  case IR_OP_COLLECTIVE_BROADCAST:
  case IR_OP_COLLECTIVE_PERMUTE:
    return has_channel ? CROSS_PARTITION : CROSS_REPLICA;
  default:
    return has_channel ? CROSS_REPLICA_AND_PARTITION : CROSS_REPLICA;
  }
}

static const char *plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

static bool wrong_id(struct interp_call *call, enum grouping grouping, int64_t id, bool is_repeated) {
  static const char *const names[] = {[CROSS_REPLICA] = "replica",
                                      [CROSS_PARTITION] = "partition",
                                      [CROSS_REPLICA_AND_PARTITION] = "replica",
                                      [FLATTENED_IDS] = "device"};
  uint32_t replicas = interp_replicas(call->frame->process), partitions = interp_partitions(call->frame->process);
  if (is_repeated) {
    return interp_wrong(call, "a group names %s %" PRId64 " once too often", names[grouping], id);
  }
  return interp_wrong(call,
                      "a group names %s %" PRId64 ", but the run has %u replica%s and %u partition%s: run it on more",
                      names[grouping], id, replicas, plural(replicas), partitions, plural(partitions));
}

/* Processes that one row of ids names, seen from this process; members has room for every process. */
static bool members_of_row(struct interp_call *call, enum grouping grouping, const int64_t *ids, uint32_t count,
                           struct interp_group *group) {
  const struct interp_process *self = call->frame->process;
  uint32_t replicas = interp_replicas(self), partitions = interp_partitions(self), n = 0;
  uint32_t outer = grouping == CROSS_REPLICA_AND_PARTITION ? partitions : 1;
  uint32_t most = replicas * partitions;
  for (uint32_t p = 0; p < outer; p++) {
    for (uint32_t i = 0; i < count; i++) {
      uint64_t id = (uint64_t)ids[i], limit = grouping == CROSS_PARTITION ? partitions
                                              : grouping == FLATTENED_IDS ? most
                                                                          : replicas;
      if (ids[i] < 0) {
        continue; /* -1 fills up shorter groups */
      }
      if (id >= limit || n == most) {
        return wrong_id(call, grouping, ids[i], id < limit);
      }
      uint64_t member = grouping == FLATTENED_IDS     ? id
                        : grouping == CROSS_PARTITION ? (uint64_t)self->replica * partitions + id
                        : grouping == CROSS_REPLICA   ? id * partitions + self->partition
                                                      : id * partitions + p;
      group->members[n++] = (uint32_t)member;
    }
  }
  group->count = n;
  return true;
}

static bool find_own(const struct interp_call *call, struct interp_group *group) {
  const struct interp_process *self = call->frame->process;
  uint32_t own = self->replica * interp_partitions(self) + self->partition;
  group->own = 0;
  while (group->own < group->count && group->members[group->own] != own) {
    group->own++;
  }
  return group->own < group->count;
}

/* Rows of ids: the attribute's, or one row with everything when it is empty. */
static bool search_rows(struct interp_call *call, const int64_t *ids, uint64_t rows, uint64_t columns,
                        struct interp_group *group) {
  enum grouping grouping = grouping_of(call);
  for (uint64_t r = 0; r < rows; r++) {
    if (!members_of_row(call, grouping, ids + r * columns, (uint32_t)columns, group)) {
      return false;
    }
    if (find_own(call, group)) {
      return true;
    }
  }
  group->count = 0;
  return true;
}

static bool search_everything(struct interp_call *call, int64_t *ids, struct interp_group *group) {
  const struct interp_process *self = call->frame->process;
  enum grouping grouping = grouping_of(call);
  uint32_t count = grouping == CROSS_PARTITION ? interp_partitions(self)
                   : grouping == FLATTENED_IDS ? interp_replicas(self) * interp_partitions(self)
                                               : interp_replicas(self);
  for (uint32_t i = 0; i < count; i++) {
    ids[i] = i;
  }
  return search_rows(call, ids, 1, count, group);
}

/* Axes of a mesh as rows of ids: devices that differ along the axes only are in one row, in the order of their coordinates. */
static bool rows_of_axes(const struct interp_mesh *mesh, const struct interp_axes *axes, int64_t *rows) {
  uint32_t columns = (uint32_t)interp_axes_size(axes), row = 0;
  for (uint32_t place = 0; place < mesh->device_count; place++) {
    if (interp_axes_coordinate(mesh, axes, place) != 0) {
      continue; /* in the row of the place at 0 */
    }
    if ((row + 1) * columns > mesh->device_count) {
      return false;
    }
    for (uint32_t i = 0; i < columns; i++) {
      rows[row * columns + i] = mesh->ids[interp_axes_move(mesh, axes, place, i)];
    }
    row++;
  }
  return row * columns == mesh->device_count;
}

/* "(2)4": the text of sub_axis_info. */
static bool read_axis(struct interp_call *call, const struct interp_mesh *mesh, struct ir_attr attr,
                      struct interp_axis *axis) {
  const struct ir_module *m = call->module;
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  if (data->kind != IR_ATTR_STRUCT) {
    return interp_unsupported(call, "an axis without a name");
  }
  struct ir_attr name = ir_attr_field(m, attr, "name"), part = ir_attr_field(m, attr, "sub_axis_info");
  const char *text = name.id ? ir_text(m, ir_attr_get(m, name)->text) : "";
  const char *of = part.id ? ir_text(m, ir_attr_get(m, part)->text) : "";
  long long pre = 1, size = 0;
  if (part.id && sscanf(of, "(%lld)%lld", &pre, &size) != 2) {
    return interp_unsupported(call, "the part '%s' of an axis", of);
  }
  if (part.id && size < 1) {
    return interp_wrong(call, "the part '%s' of an axis", of);
  }
  return interp_mesh_axis(call, mesh, (struct sharding_name){text, (uint32_t)strlen(text)}, pre, size, axis);
}

/* #stablehlo.replica_group_mesh_axes: the same as the rows of ids that it stands for. */
static bool mesh_group(struct interp_call *call, struct ir_attr attr, struct interp_group *group) {
  const struct ir_module *m = call->module;
  const struct ir_attr_data *data = ir_attr_get(m, attr);
  struct ir_attr mesh_attr = data->kind == IR_ATTR_STRUCT ? ir_attr_field(m, attr, "mesh") : (struct ir_attr){0};
  struct ir_attr list = mesh_attr.id ? ir_attr_field(m, attr, "axes") : mesh_attr;
  const struct ir_attr_data *names = list.id ? ir_attr_get(m, list) : NULL;
  struct interp_mesh mesh = {0};
  struct interp_axes axes = {0};
  if (!names || names->kind != IR_ATTR_ARRAY || names->list_count > SHARDING_MAX_AXES) {
    return interp_unsupported(call, "groups of this form");
  }
  bool ok = interp_mesh_of_attr(call, mesh_attr, &mesh);
  for (uint32_t i = 0; ok && i < names->list_count; i++) {
    ok = read_axis(call, &mesh, (struct ir_attr){m->lists.data[names->list_first + i]}, &axes.axes[axes.count++]);
  }
  int64_t *rows = ok ? calloc((size_t)mesh.device_count + 1, sizeof *rows) : NULL;
  ok = ok && (rows ? true : interp_out_of_memory(call));
  if (ok) {
    uint64_t columns = (uint64_t)interp_axes_size(&axes);
    ok = columns <= mesh.device_count && rows_of_axes(&mesh, &axes, rows)
             ? search_rows(call, rows, mesh.device_count / columns, columns, group)
             : interp_wrong(call, "its axes overlap");
  }
  free(rows);
  interp_mesh_release(&mesh);
  return ok;
}

bool interp_group_of(struct interp_call *call, struct interp_group *group) {
  const struct interp_process *self = call->frame->process;
  struct ir_attr attr = attribute_of(call, "replica_groups");
  const struct ir_attr_data *data = attr.id ? ir_attr_get(call->module, attr) : NULL;
  uint64_t length = data && data->kind == IR_ATTR_DENSE ? ir_attr_length(call->module, attr) : 0;
  uint32_t processes = interp_replicas(self) * interp_partitions(self);
  *group = (struct interp_group){0};
  group->members = calloc((size_t)processes + 1, sizeof *group->members);
  int64_t *ids = calloc((size_t)length + processes + 1, sizeof *ids);
  bool ok = group->members && ids ? true : interp_out_of_memory(call);
  if (ok && data && data->kind != IR_ATTR_DENSE) {
    ok = mesh_group(call, attr, group);
  } else if (ok && length == 0) {
    ok = search_everything(call, ids, group);
  } else if (ok) {
    const struct ir_type_data *type = ir_type_get(call->module, data->type);
    uint64_t columns = type->rank == 2 ? (uint64_t)ir_type_dims(call->module, data->type)[1] : length;
    for (uint64_t i = 0; i < length; i++) {
      ids[i] = ir_attr_int_at(call->module, attr, i);
    }
    ok = search_rows(call, ids, length / columns, columns, group);
  }
  free(ids);
  if (!ok) {
    free(group->members);
    group->members = NULL;
  }
  return ok;
}

/* ---- threads ----------------------------------------------------------------------------------------------------------------- */

struct worker {
  struct interp_process process;
  struct interp_call *call;
  const struct interp_programs *programs;
  uint32_t index;
  bool ok;
};

static void *run_worker(void *user) {
  struct worker *w = user;
  const struct interp_programs *p = w->programs;
  struct interp_grid *grid = w->process.grid;
  w->ok = interp_function(&w->process, w->call, p->functions[w->index], p->arguments[w->index],
                          p->argument_counts[w->index], p->results[w->index], p->result_counts[w->index]);
  pthread_mutex_lock(&grid->lock);
  grid->live--;
  if (!w->ok) {
    atomic_store(&w->process.run->has_failed, true);
  }
  announce(grid); /* who waits finds out that one less can come */
  pthread_mutex_unlock(&grid->lock);
  return NULL;
}

static void release_grid(struct interp_grid *grid) {
  while (grid->meetings) {
    close_meeting(grid, grid->meetings);
  }
  while (grid->parcels) {
    struct parcel *next = grid->parcels->next;
    free_parcel(grid->parcels);
    grid->parcels = next;
  }
  pthread_mutex_destroy(&grid->lock);
  pthread_cond_destroy(&grid->changed);
}

/* One result set of a process that failed holds nothing; those of the others go with it. */
static void drop_results(const struct interp_programs *p, const struct worker *workers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; workers[i].ok && k < p->result_counts[i]; k++) {
      interp_release(p->results[i][k]);
      p->results[i][k] = NULL;
    }
  }
}

bool interp_grid_run(struct interp_call *call, const struct interp_programs *programs) {
  uint32_t count = programs->replicas * programs->partitions, started = 0;
  struct interp_grid grid = {.replicas = programs->replicas,
                             .partitions = programs->partitions,
                             .live = count,
                             .infeed = programs->infeed,
                             .infeed_count = programs->infeed_count};
  struct worker *workers = calloc((size_t)count + 1, sizeof *workers);
  pthread_t *threads = calloc((size_t)count + 1, sizeof *threads);
  bool ok = workers && threads ? true : interp_out_of_memory(call);
  pthread_mutex_init(&grid.lock, NULL);
  pthread_cond_init(&grid.changed, NULL);
  for (uint32_t i = 0; ok && i < count; i++) {
    workers[i] = (struct worker){.call = call, .programs = programs, .index = i};
    workers[i].process = (struct interp_process){.run = call->frame->process->run,
                                                 .grid = &grid,
                                                 .replica = i / programs->partitions,
                                                 .partition = i % programs->partitions,
                                                 .depth = call->frame->process->depth};
    ok = pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0;
    started += ok;
    if (!ok) {
      atomic_store(&call->frame->process->run->has_failed, true);
      interp_report(call, DIAG_E0704_RUN_BUDGET, "process %u of %u cannot be started", i, count);
    }
  }
  pthread_mutex_lock(&grid.lock);
  announce(&grid);
  pthread_mutex_unlock(&grid.lock);
  for (uint32_t i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
    ok &= workers[i].ok;
  }
  if (!ok && workers) {
    drop_results(programs, workers, started);
  }
  release_grid(&grid);
  free(workers);
  free(threads);
  return ok;
}
