/* Device numbers of a collective's groups, from every way in which a program can name them: see lower_groups.h.
 * Source of the modes: StableHLO specification, sections cross_replica to flattened_ids and each operation's. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "lower/lower_groups.h"

/* What the ids in a row mean. */
enum mode { CROSS_REPLICA, CROSS_PARTITION, CROSS_REPLICA_AND_PARTITION, FLATTENED_IDS };
static const char *const id_names[] = {[CROSS_REPLICA] = "replica",
                                       [CROSS_PARTITION] = "partition",
                                       [CROSS_REPLICA_AND_PARTITION] = "replica",
                                       [FLATTENED_IDS] = "device"};

/* Must every id be in a group? A member of none has no result of all_gather, reduce_scatter and all_to_all, and the
 * specification says so of all_reduce too; broadcasts leave it with zeros. */
enum coverage { COVERS_ALL, COVERS_SOME, COVERS_PAIRS };
static const uint8_t coverage_of[] = {
    [WORK_ALL_REDUCE] = COVERS_ALL,         [WORK_ALL_GATHER] = COVERS_ALL,  [WORK_REDUCE_SCATTER] = COVERS_ALL,
    [WORK_ALL_TO_ALL] = COVERS_ALL,         [WORK_PERMUTE] = COVERS_PAIRS,   [WORK_COLLECTIVE_BROADCAST] = COVERS_SOME,
    [WORK_COLLECTIVE_REDUCE] = COVERS_SOME, [WORK_SEND_RECV] = COVERS_PAIRS,
};

struct request {
  struct lower *lower;
  struct ir_op op;
  enum work_collective_kind kind;
  enum mode mode;
  uint64_t replicas, partitions; /* of the program; 1 where only the other one is stated */
  bool is_stated; /* else the counts follow from the ids */
};

/* ---- attributes ---- */

/* An attribute of the operation; of a custom call that stands for a collective, a field of its configuration. */
static struct ir_attr attribute_of(const struct lower *lower, struct ir_op op, const char *name) {
  if (ir_op_code(lower->module, op) != IR_OP_CUSTOM_CALL) {
    return ir_op_attr(lower->module, op, name);
  }
  struct ir_attr config = ir_op_attr(lower->module, op, "backend_config");
  bool is_dict = config.id != 0 && ir_attr_get(lower->module, config)->kind == IR_ATTR_DICT;
  return is_dict ? ir_attr_field(lower->module, config, name) : (struct ir_attr){0};
}

static uint64_t channel_of(const struct lower *lower, struct ir_op op) {
  struct ir_attr channel = attribute_of(lower, op, "channel_handle");
  if (channel.id != 0) {
    channel = ir_attr_field(lower->module, channel, "handle");
  } else {
    channel = attribute_of(lower, op, "channel_id");
  }
  const struct ir_attr_data *data = channel.id != 0 ? ir_attr_get(lower->module, channel) : NULL;
  return data != NULL && data->kind == IR_ATTR_INTEGER && data->integer > 0 ? (uint64_t)data->integer : 0;
}

static bool has_global_ids(const struct lower *lower, struct ir_op op) {
  struct ir_attr attr = attribute_of(lower, op, "use_global_device_ids");
  const struct ir_attr_data *data = attr.id != 0 ? ir_attr_get(lower->module, attr) : NULL;
  return data != NULL && (data->kind == IR_ATTR_UNIT || data->integer != 0);
}

static enum mode mode_of(const struct lower *lower, struct ir_op op, enum work_collective_kind kind, uint64_t channel) {
  if (has_global_ids(lower, op)) {
    return FLATTENED_IDS;
  }
  const bool is_among_partitions =
      kind == WORK_ALL_TO_ALL || kind == WORK_COLLECTIVE_BROADCAST || kind == WORK_PERMUTE || kind == WORK_SEND_RECV;
  return channel == 0 ? CROSS_REPLICA : is_among_partitions ? CROSS_PARTITION : CROSS_REPLICA_AND_PARTITION;
}

/* mhlo.num_replicas and mhlo.num_partitions of the innermost module around the operation that has one of them. Where ids
 * are devices and nothing is stated, the devices of the module's mesh. */
static void grid_of(struct request *request) {
  const struct lower *lower = request->lower;
  const struct ir_module *module = lower->module;
  for (struct ir_op op = request->op; op.id != 0;) {
    int64_t replicas = lower_int_attr(lower, op, "mhlo.num_replicas", 0);
    int64_t partitions = lower_int_attr(lower, op, "mhlo.num_partitions", 0);
    if (replicas > 0 || partitions > 0) {
      request->replicas = replicas > 0 ? (uint64_t)replicas : 1;
      request->partitions = partitions > 0 ? (uint64_t)partitions : 1;
      request->is_stated = sat_mul_u64(request->replicas, request->partitions) <= LOWER_MAX_DEVICES;
      return;
    }
    struct ir_block block = ir_op_get(module, op)->parent;
    op = block.id != 0 ? ir_region_get(module, ir_block_get(module, block)->parent)->parent : (struct ir_op){0};
  }
  uint32_t devices = request->mode == FLATTENED_IDS ? lower_mesh_only_size(request->lower) : 0;
  if (devices > 0) {
    request->partitions = devices;
    request->is_stated = true;
  }
}

/* How many ids there are. */
static uint64_t id_count(const struct request *request) {
  uint64_t devices = request->replicas * request->partitions;
  return request->mode == CROSS_PARTITION ? request->partitions
         : request->mode == FLATTENED_IDS ? devices
                                          : request->replicas;
}

/* ---- rows ---- */

/* dense<[[0, 1], [2, 3]]>: rows are groups. */
static bool rows_of_list(struct lower *lower, struct ir_attr attr, struct lower_rows *rows) {
  const struct ir_attr_data *data = ir_attr_get(lower->module, attr);
  struct lower_shape shape = lower_shape_of_type(lower, data->type);
  uint64_t length = ir_attr_length(lower->module, attr);
  if (length > 2 * (uint64_t)LOWER_MAX_DEVICES) {
    return false;
  }
  rows->size = data->kind == IR_ATTR_DENSE && shape.rank == 2 ? lower_dim(&shape, 1) : length;
  rows->count = rows->size > 0 ? length / rows->size : 0;
  if (!vec_reserve(&rows->ids, length)) {
    lower_memory(lower);
    return false;
  }
  for (uint64_t i = 0; i < rows->count * rows->size; i++) {
    rows->ids.data[rows->ids.count++] = ir_attr_int_at(lower->module, attr, i);
  }
  return true;
}

/* One row with everything; none when it is not known how much that is. */
static bool rows_of_all(struct request *request, struct lower_rows *rows) {
  uint64_t count = request->is_stated ? id_count(request) : 0;
  if (count == 0 || !vec_reserve(&rows->ids, count)) {
    return false;
  }
  for (uint64_t i = 0; i < count; i++) {
    rows->ids.data[rows->ids.count++] = (int64_t)i;
  }
  rows->count = 1;
  rows->size = count;
  return true;
}

/* {{0,1},{1,2}}: pairs of HLO's frontend attributes. */
static bool rows_of_text(struct lower *lower, const char *text, struct lower_rows *rows) {
  for (const char *at = text; *at != '\0';) {
    if (*at < '0' || *at > '9') {
      at++;
      continue;
    }
    int64_t id = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
      id = id > LOWER_MAX_DEVICES ? id : id * 10 + (*at - '0');
    }
    if (!vec_push(&rows->ids, id)) {
      lower_memory(lower);
      return false;
    }
  }
  rows->size = 2;
  rows->count = rows->ids.count / 2;
  return rows->ids.count % 2 == 0 && rows->count > 0;
}

static bool read_pairs(struct request *request, struct lower_rows *rows) {
  struct lower *lower = request->lower;
  struct ir_attr attr = attribute_of(lower, request->op, "source_target_pairs");
  if (attr.id != 0) {
    return ir_attr_get(lower->module, attr)->kind == IR_ATTR_DENSE && rows_of_list(lower, attr, rows)
           && (rows->size == 2 || rows->count == 0);
  }
  struct ir_attr frontend = ir_op_attr(lower->module, request->op, "mhlo.frontend_attributes");
  struct ir_attr pairs = frontend.id != 0 ? ir_attr_field(lower->module, frontend, "_xla_send_recv_source_target_pairs")
                                          : (struct ir_attr){0};
  return pairs.id != 0 && rows_of_text(lower, ir_text(lower->module, ir_attr_get(lower->module, pairs)->text), rows);
}

static bool read_rows(struct request *request, struct lower_rows *rows) {
  struct lower *lower = request->lower;
  if (coverage_of[request->kind] == COVERS_PAIRS) {
    return read_pairs(request, rows);
  }
  struct ir_attr attr = attribute_of(lower, request->op, "replica_groups");
  if (attr.id == 0) {
    bool is_sdy = lower_mesh_rows_of_sdy(lower, request->op, rows);
    rows->are_devices = is_sdy;
    return is_sdy || rows_of_all(request, rows);
  }
  switch (ir_attr_get(lower->module, attr)->kind) {
  case IR_ATTR_DENSE:
  case IR_ATTR_DENSE_ARRAY:
    return rows_of_list(lower, attr, rows) && (rows->count > 0 || rows_of_all(request, rows));
  case IR_ATTR_STRUCT:
    if (!lower_mesh_rows_of_attr(lower, attr, rows)) {
      return false;
    }
    rows->are_devices = !request->is_stated || rows->ids.count == request->replicas * request->partitions;
    return true;
  default:
    return false;
  }
}

/* ---- checks ---- */

static const char *label_of(const struct request *request) {
  const char *name = ir_text(request->lower->module, ir_op_get(request->lower->module, request->op)->name);
  const char *dot = strrchr(name, '.');
  return dot != NULL ? dot + 1 : name;
}

static void report(const struct request *request, enum diag_id id, const char *what) {
  struct lower *lower = request->lower;
  uint64_t devices = request->replicas * request->partitions;
  lower->has_errors |= id == DIAG_E0408_GROUPS;
  diag_at(lower->diags, id, &lower->module->source, ir_op_get(lower->module, request->op)->offset,
          "'%s': %s; the program is for %" PRIu64 " device%s (%" PRIu64 " replica%s x %" PRIu64 " partition%s)",
          label_of(request), what, devices, devices == 1 ? "" : "s", request->replicas,
          request->replicas == 1 ? "" : "s", request->partitions, request->partitions == 1 ? "" : "s");
}

/* "4", "4 to 7, 9": the ids that are not seen; long lists are cut. */
static void append_missing(const uint8_t *is_seen, uint64_t count, struct strbuf *text) {
  enum { MAX_RANGES = 8 };
  unsigned ranges = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (is_seen[i] != 0) {
      continue;
    }
    uint64_t end = i;
    while (end + 1 < count && is_seen[end + 1] == 0) {
      end++;
    }
    if (++ranges > MAX_RANGES) {
      strbuf_puts(text, ", ...");
      return;
    }
    strbuf_printf(text,
                  end > i + 1 ? "%s%" PRIu64 " to %" PRIu64
                  : end > i   ? "%s%" PRIu64 ", %" PRIu64
                              : "%s%" PRIu64,
                  ranges > 1 ? ", " : " ", i, end);
    i = end;
  }
}

/* Ids below `count`, each at most once (pairs: once on either side), and all of them where the operation needs that. */
static bool check_rows(const struct request *request, const struct lower_rows *rows, uint64_t count) {
  const enum coverage coverage = (enum coverage)coverage_of[request->kind];
  const char *name = rows->are_devices ? "device" : id_names[request->mode];
  uint8_t *is_seen = calloc(count + 1, 1);
  struct strbuf text = {0};
  uint64_t seen = 0;
  bool ok = true;
  if (is_seen == NULL) {
    lower_memory(request->lower);
    return false;
  }
  for (size_t i = 0; i < rows->ids.count && ok; i++) {
    int64_t id = rows->ids.data[i];
    uint8_t bit = coverage == COVERS_PAIRS && i % 2 == 1 ? 2 : 1;
    if (id < 0) {
      continue;
    }
    if ((uint64_t)id >= count) {
      strbuf_printf(&text, "its groups name %s %" PRId64 ", which there is not", name, id);
      ok = false;
    } else if ((is_seen[id] & bit) != 0) {
      strbuf_printf(&text, "its groups name %s %" PRId64 " twice", name, id);
      ok = false;
    } else {
      seen += is_seen[id] == 0;
      is_seen[id] |= bit;
    }
  }
  if (!ok) {
    report(request, DIAG_E0408_GROUPS, strbuf_text(&text));
  } else if (coverage != COVERS_PAIRS && seen < count) {
    ok = coverage != COVERS_ALL;
    strbuf_printf(&text, "its groups leave out %s%s", name, count - seen == 1 ? "" : "s");
    append_missing(is_seen, count, &text);
    report(request, ok ? DIAG_W0409_GROUPS_LOOSE : DIAG_E0408_GROUPS, strbuf_text(&text));
  }
  strbuf_release(&text);
  free(is_seen);
  return ok;
}

/* ---- groups ---- */

/* Copies of a row: one per value of the other coordinate, which all of them do at the same time. */
static uint64_t copies_of(const struct request *request, enum mode mode) {
  return mode == CROSS_REPLICA ? request->partitions : mode == CROSS_PARTITION ? request->replicas : 1;
}

static uint32_t device_of(const struct request *request, enum mode mode, int64_t id, uint64_t other) {
  uint64_t number = (uint64_t)id;
  switch (mode) {
  case CROSS_REPLICA:
  case CROSS_REPLICA_AND_PARTITION:
    number = number * request->partitions + other;
    break;
  case CROSS_PARTITION:
    number = other * request->partitions + number;
    break;
  case FLATTENED_IDS:
    break;
  }
  return (uint32_t)number;
}

/* Partitions that one id of a row stands for. */
static uint64_t inside_of(const struct request *request, enum mode mode) {
  return mode == CROSS_REPLICA_AND_PARTITION ? request->partitions : 1;
}

/* Members of the rows as device numbers, `size` per group. A row across replicas and partitions takes in every partition of
 * its replicas. */
static void fill_members(const struct request *request, const struct lower_rows *rows, enum mode mode, uint64_t size,
                         uint32_t *members) {
  uint64_t copies = copies_of(request, mode), inside = inside_of(request, mode), at = 0;
  for (uint64_t r = 0; r < rows->count; r++) {
    for (uint64_t copy = 0; copy < copies; copy++) {
      uint64_t end = at + size;
      for (uint64_t k = 0; k < inside; k++) {
        for (uint64_t i = 0; i < rows->size; i++) {
          int64_t id = rows->ids.data[r * rows->size + i];
          if (id >= 0) {
            members[at++] = device_of(request, mode, id, inside > 1 ? k : copy);
          }
        }
      }
      while (at < end) {
        members[at++] = UINT32_MAX;
      }
    }
  }
}

/* Counts that nobody stated follow from the ids: as many as the largest one needs, one of the other sort. */
static void derive_grid(struct request *request, const struct lower_rows *rows) {
  uint64_t ids = 1;
  for (size_t i = 0; i < rows->ids.count; i++) {
    int64_t id = rows->ids.data[i];
    ids = id >= 0 && (uint64_t)id + 1 > ids ? (uint64_t)id + 1 : ids;
  }
  request->replicas = request->mode == CROSS_PARTITION || request->mode == FLATTENED_IDS ? 1 : ids;
  request->partitions = request->mode == CROSS_PARTITION || request->mode == FLATTENED_IDS ? ids : 1;
}

/* Members of the widest row. */
static uint64_t widest_row(const struct lower_rows *rows) {
  uint64_t widest = 0;
  for (uint64_t r = 0; r < rows->count && widest < rows->size; r++) {
    uint64_t members = 0;
    for (uint64_t i = 0; i < rows->size; i++) {
      members += rows->ids.data[r * rows->size + i] >= 0;
    }
    widest = members > widest ? members : widest;
  }
  return widest;
}

/* Programs are written, against the specification, whose ids are replicas by their form although there is one replica and
 * several partitions: they can only mean the partitions. And importers list all devices where a program lists none: then
 * the row is everything there is of what the form says. */
static void read_loosely(struct request *request, struct lower_rows *rows) {
  uint64_t devices = request->replicas * request->partitions;
  if (rows->are_devices || !request->is_stated || id_count(request) == devices) {
    return;
  }
  int64_t largest = -1;
  bool is_everything = rows->count == 1 && rows->size == devices;
  for (size_t i = 0; i < rows->ids.count; i++) {
    largest = rows->ids.data[i] > largest ? rows->ids.data[i] : largest;
    is_everything = is_everything && rows->ids.data[i] == (int64_t)i;
  }
  if (request->replicas == 1 && largest >= 1 && (uint64_t)largest < devices) {
    rows->are_devices = true;
    report(request, DIAG_W0409_GROUPS_LOOSE, "its groups should name replicas and are taken to name partitions");
  } else if (is_everything) {
    rows->size = rows->ids.count = id_count(request);
  }
}

/* Index + 1 of the groups in the graph; 0 when they are unknown or cannot be. */
static uint32_t add_groups(struct request *request, struct lower_rows *rows) {
  struct lower *lower = request->lower;
  if (!request->is_stated) {
    derive_grid(request, rows);
  }
  read_loosely(request, rows);
  uint64_t devices = sat_mul_u64(request->replicas, request->partitions);
  enum mode mode = rows->are_devices ? FLATTENED_IDS : request->mode;
  uint64_t ids = rows->are_devices ? devices : id_count(request);
  if (devices > LOWER_MAX_DEVICES || !check_rows(request, rows, ids)) {
    return 0;
  }
  uint64_t size = sat_mul_u64(inside_of(request, mode), widest_row(rows));
  uint64_t count = sat_mul_u64(rows->count, copies_of(request, mode)), total = sat_mul_u64(size, count);
  if (total == 0 || total > 4 * (uint64_t)LOWER_MAX_DEVICES) {
    return 0;
  }
  uint32_t *members = malloc(total * sizeof *members);
  uint32_t groups = 0;
  if (members != NULL) {
    fill_members(request, rows, mode, size, members);
    groups = work_groups_add(lower->graph, (uint32_t)count, (uint32_t)size, members, (uint32_t)total);
  }
  if (members == NULL || lower->graph->out_of_memory) {
    lower_memory(lower);
  }
  free(members);
  return groups;
}

/* The same attribute in the same mode gives the same groups: long lists are read once per graph. */
static uint64_t cache_key(const struct request *request) {
  const char *name = coverage_of[request->kind] == COVERS_PAIRS ? "source_target_pairs" : "replica_groups";
  struct ir_attr attr = attribute_of(request->lower, request->op, name);
  return attr.id != 0 ? (uint64_t)attr.id << 8 | (uint64_t)request->kind << 4 | request->mode : 0;
}

static uint32_t find_groups(struct request *request) {
  struct lower *lower = request->lower;
  struct lower_rows rows = {0};
  uint64_t key = cache_key(request);
  uint32_t groups = 0;
  if (key != 0 && map_get(&lower->scope->groups, key, &groups)) {
    return groups;
  }
  if (read_rows(request, &rows) && rows.ids.count > 0 && !lower_stopped(lower)) {
    groups = add_groups(request, &rows);
  }
  vec_release(&rows.ids);
  if (key != 0 && !map_set(&lower->scope->groups, key, groups)) {
    lower_memory(lower);
  }
  return groups;
}

void lower_groups_of(struct lower *lower, struct ir_op op, struct work_collective *collective) {
  struct request request = {
      .lower = lower, .op = op, .kind = (enum work_collective_kind)collective->kind, .replicas = 1, .partitions = 1};
  collective->channel = channel_of(lower, op);
  request.mode = mode_of(lower, op, request.kind, collective->channel);
  grid_of(&request);
  collective->groups = find_groups(&request);
  if (collective->groups != 0) {
    const struct work_groups *groups = &lower->graph->groups.data[collective->groups - 1];
    collective->group_count = groups->count;
    collective->group_size = groups->size;
  } else {
    bool is_pairs = coverage_of[request.kind] == COVERS_PAIRS;
    collective->group_count = 1;
    collective->group_size = is_pairs ? 2 : (uint32_t)(request.is_stated ? request.replicas * request.partitions : 0);
  }
}
