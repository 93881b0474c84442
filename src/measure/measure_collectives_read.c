/* The published tables of measured collectives as rows of one form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "io/csv.h"
#include "measure/measure_collectives.h"

static const struct collective_table_info tables[COLLECTIVE_TABLE_COUNT] = {
#define COLLECTIVE_TABLE(id, name, file, licence, may_fit, how) {name, file, licence, may_fit, how},
#include "measure/measure_collectives.def"
};

const struct collective_table_info *collective_table_info(enum collective_table table) {
  return &tables[table];
}

const struct collective_machine collective_machines[] = {
#define COLLECTIVE_MACHINE(table, device, cluster, family, flags)                                                      \
  {COLLECTIVE_TABLE_##table, device, cluster, family, flags},
#include "measure/measure_collectives.def"
};
const size_t collective_machine_count = sizeof collective_machines / sizeof collective_machines[0];

const char *const collective_left_out_texts[COLLECTIVE_LEFT_OUT_COUNT] = {
    "no throughput, or one below 0.1 GB/s in a table that rounds to 0.01",
    "faster than the links",
    "the same numbers under the names of two machines",
    "hardware without a cluster file",
    "between nodes, by a network that is not described and below half of the cluster's cards",
    "a bandwidth whose definition is not stated",
};

struct reader {
  struct measured_collectives *all;
  const struct hw_clusters *clusters;
  const struct hw_database *chips;
  struct diag_list *diags;
};

/* A row as a table has it. */
struct entry {
  enum collective_table table;
  const char *device, *dtype;
  enum work_collective_kind kind;
  double ranks, nodes, devices; /* of one group; that its members lie in; of the program, at least ranks */
  double bytes, time_s;
  double copied_bytes, one_shot_max, two_shot_max;
  bool no_sums;
};

static const struct {
  const char *name;
  enum work_collective_kind kind;
} kind_names[] = {
    {"all_reduce", WORK_ALL_REDUCE},         {"all-reduce", WORK_ALL_REDUCE}, {"all_gather", WORK_ALL_GATHER},
    {"all-gather", WORK_ALL_GATHER},         {"alltoall", WORK_ALL_TO_ALL},   {"all-to-all", WORK_ALL_TO_ALL},
    {"reduce_scatter", WORK_REDUCE_SCATTER}, {"send_recv", WORK_SEND_RECV},   {"reduce-scatter", WORK_REDUCE_SCATTER},
    {"collective-permute", WORK_PERMUTE},
};

static bool kind_of(const char *name, enum work_collective_kind *kind) {
  for (size_t i = 0; i < sizeof kind_names / sizeof kind_names[0]; i++) {
    if (strcmp(kind_names[i].name, name) == 0) {
      *kind = kind_names[i].kind;
      return true;
    }
  }
  return false;
}

static uint64_t hash_text(uint64_t hash, const char *text) {
  for (; *text != '\0'; text++) {
    hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211); /* FNV-1a */
  }
  return hash;
}

/* Half of the sizes, by operation, size and type: what is tested was seen on no system. */
static bool is_test(const struct entry *entry) {
  char size[32];
  uint64_t hash = hash_text(UINT64_C(14695981039346656037), work_collective_name(entry->kind));
  decimal_format(size, sizeof size, "|%.0f|", entry->bytes);
  hash = hash_text(hash_text(hash, size), entry->dtype);
  return (hash >> 32 ^ hash >> 7) & 1;
}

static const struct collective_machine *machine_of(const struct entry *entry) {
  for (size_t i = 0; i < collective_machine_count; i++) {
    if (collective_machines[i].table == entry->table && strcmp(collective_machines[i].device, entry->device) == 0) {
      return &collective_machines[i];
    }
  }
  return NULL;
}

/* The slice of the program and how one group lies in it; false when the cluster has no such slice. */
static bool place(const struct hw_cluster *cluster, const struct entry *entry, struct measured_collective *row) {
  struct hw_slice *slice = &row->slice;
  uint32_t inside = (uint32_t)(entry->devices / entry->nodes), rest = inside, last = cluster->dimension_count - 1;
  *slice = (struct hw_slice){.devices = (uint64_t)entry->devices};
  for (uint32_t d = 0; d < HW_DIMENSIONS_MAX; d++) {
    slice->size[d] = 1;
    if (d > last || cluster->dimensions[d].fabric == HW_FABRIC_FAT_TREE) {
      continue;
    }
    uint32_t most = cluster->dimensions[d].size > 0 ? cluster->dimensions[d].size : rest;
    slice->size[d] = rest < most ? rest : most;
    slice->wraps[d] = cluster->dimensions[d].fabric == HW_FABRIC_RING && slice->size[d] == most;
    rest /= slice->size[d];
  }
  if (entry->nodes > 1) {
    slice->size[last] = (uint32_t)entry->nodes;
  }
  bool has_network = cluster->dimensions[last].fabric == HW_FABRIC_FAT_TREE;
  group_shape_strided(cluster, slice, (uint64_t)entry->ranks, 1, &row->request.shape);
  return rest == 1 && (entry->nodes == 1 || has_network) && inside >= 1;
}

/* Bytes that must leave a rank at least, over the rate of its links: no library is faster. */
static double least_time_s(const struct measured_collective *row) {
  const struct hw_dimension *inner = &row->cluster->dimensions[0];
  double p = row->request.shape.size, links_Bps = inner->link_Bps * (inner->fabric == HW_FABRIC_RING ? 6 : 1);
  bool is_message = row->request.kind == WORK_PERMUTE || row->request.kind == WORK_SEND_RECV;
  return row->request.bytes * (is_message ? 1 : (p - 1) / p) / links_Bps;
}

/* Between nodes; vidur does not say by which network. */
static bool is_undescribed(const struct measured_collective *row, const struct entry *entry) {
  const struct hw_dimension *network = &row->cluster->dimensions[row->cluster->dimension_count - 1];
  double cards = entry->ranks / entry->nodes, moved = entry->bytes * (entry->kind == WORK_ALL_REDUCE ? 2 : 1);
  return entry->table == COLLECTIVE_TABLE_VIDUR && entry->bytes >= 16e6
         && moved / entry->time_s < 0.5 * cards * network->link_Bps;
}

static enum status add(struct reader *reader, const struct entry *entry) {
  struct measured_collectives *all = reader->all;
  const struct collective_machine *machine = machine_of(entry);
  const struct hw_cluster *cluster =
      machine ? hw_clusters_find(reader->clusters, machine->cluster, reader->diags) : NULL;
  struct measured_collective row = {.measured_s = entry->time_s, .cluster = cluster};
  if (cluster == NULL || !place(cluster, entry, &row)) {
    all->left_out[COLLECTIVE_NO_CLUSTER]++;
    return STATUS_OK;
  }
  row.machine = (uint16_t)(machine - collective_machines);
  row.dtype = (uint16_t)hash_text(7, entry->dtype);
  row.is_test = is_test(entry);
  row.is_network = entry->nodes > 1;
  row.may_fit = tables[entry->table].may_fit;
  row.copied_bytes = entry->copied_bytes;
  row.chip = hw_database_find(reader->chips, cluster->chip, NULL);
  row.request.kind = entry->kind;
  row.request.bytes = entry->bytes;
  row.request.no_switch_sums = entry->no_sums || (machine->flags & COLLECTIVE_NO_SUMS) != 0;
  row.one_shot_max = entry->one_shot_max;
  row.two_shot_max = entry->two_shot_max;
  row.predicted_s = row.unseen_s = row.two_constants_s = (double)NAN;
  if (entry->time_s < least_time_s(&row)) {
    all->left_out[COLLECTIVE_IMPOSSIBLE]++;
    return STATUS_OK;
  }
  return vec_push(&all->rows, row) ? STATUS_OK : STATUS_MEMORY;
}

/* ---- tables ---- */

struct columns {
  const struct csv_table *table;
  size_t row;
};

static const char *text_of(const struct columns *at, const char *heading) {
  return csv_cell(at->table, at->row, csv_column(at->table, heading));
}

static double number_of(const struct columns *at, const char *heading) {
  double value;
  return csv_number(at->table, at->row, csv_column(at->table, heading), &value) ? value : 0;
}

/* Sizes are in elements; vLLM's kernels take over from NCCL up to 64 MB there, one-shot below half of that stated (vLLM
 * custom_all_reduce.cuh: 512 KB to 4 ranks, 256 KB to 8, always with 2). */
static bool read_aiconfigurator(const struct columns *at, struct entry *entry) {
  const char *source = text_of(at, "kernel_source");
  bool is_byte = strcmp(entry->dtype, "int8") == 0;
  bool is_eager = strcmp(source, "vLLM_custom_eager") == 0, is_graph = strcmp(source, "vLLM_custom_graph") == 0;
  if (!kind_of(text_of(at, "op"), &entry->kind)) {
    return false;
  }
  entry->ranks = number_of(at, "num_gpus");
  entry->bytes = number_of(at, "message_size") * (is_byte ? 1 : 2);
  entry->time_s = number_of(at, "latency_ms") * 1e-3;
  entry->no_sums = is_byte;
  /* oneCCL takes the size of the input: only so are its gathers and reductions equally fast */
  if (strcmp(source, "oneCCL") == 0 && entry->kind == WORK_ALL_GATHER) {
    entry->bytes *= entry->ranks;
  }
  if (is_eager || is_graph) {
    bool is_pcie = strcmp(entry->device, "l40s") == 0; /* vLLM: no more than two ranks then */
    bool has_kernels = strcmp(entry->device, "b60") != 0 && (!is_pcie || entry->ranks <= 2);
    entry->table = is_eager ? COLLECTIVE_TABLE_AIC_EAGER : COLLECTIVE_TABLE_AIC_KERNEL;
    entry->copied_bytes = is_eager ? entry->bytes : 0;
    entry->one_shot_max = !has_kernels ? 0 : entry->ranks <= 2 ? 67108864 : entry->ranks <= 4 ? 524288 : 262144;
    entry->two_shot_max = has_kernels ? 67108864 : 0;
  }
  return true;
}

static bool read_xla(const struct columns *at, struct entry *entry) {
  double groups = number_of(at, "num_groups"), pairs = 0;
  if (!kind_of(text_of(at, "opcode"), &entry->kind)) {
    return false;
  }
  for (const char *c = text_of(at, "permute_pairs"); *c != '\0'; c++) {
    pairs += *c == '>';
  }
  bool is_permute = entry->kind == WORK_PERMUTE;
  entry->ranks = is_permute ? 2 : number_of(at, "devices_per_group");
  entry->devices = is_permute ? fmax(2, pairs + fmod(pairs, 2)) : entry->ranks * groups;
  entry->bytes = number_of(at, "tensor_bytes");
  entry->time_s = number_of(at, "derived_time_us") * 1e-6;
  return true;
}

static bool read_vidur(const struct columns *at, struct entry *entry) {
  entry->ranks = number_of(at, "num_workers");
  entry->nodes = entry->ranks / fmax(1, number_of(at, "devices_per_node"));
  entry->bytes = number_of(at, "size");
  entry->time_s = number_of(at, "median_ms") * 1e-3;
  return kind_of(text_of(at, "collective"), &entry->kind);
}

static bool read_vtrain(const struct columns *at, struct entry *entry) {
  entry->kind = WORK_ALL_REDUCE;
  entry->ranks = number_of(at, "n_gpus");
  entry->bytes = number_of(at, "bytes");
  entry->time_s = number_of(at, "time_us_out_of_place") * 1e-6;
  return true;
}

static bool read_llmcompass(const struct columns *at, struct entry *entry) {
  entry->kind = WORK_ALL_REDUCE;
  entry->device = "4x A100";
  entry->ranks = 4;
  entry->bytes = number_of(at, "size_listed");
  entry->time_s = number_of(at, "latency_us") * 1e-6;
  return true;
}

/* The first words of a system name the machine: "8x H200 (1 node ...)", "B200 all-reduce NVLS off". */
static bool read_ml_engineering(const struct columns *at, struct entry *entry) {
  const char *system = entry->device;
  entry->kind = strstr(system, "all-gather")       ? WORK_ALL_GATHER
                : strstr(system, "reduce-scatter") ? WORK_REDUCE_SCATTER
                                                   : WORK_ALL_REDUCE;
  entry->no_sums = strstr(system, "off") != NULL || strstr(system, "ring") != NULL;
  for (size_t i = 0; i < collective_machine_count; i++) {
    const struct collective_machine *machine = &collective_machines[i];
    size_t length = strlen(machine->device);
    if (machine->table == entry->table && strncmp(system, machine->device, length) == 0 && system[length] == ' ') {
      entry->device = machine->device;
    }
  }
  entry->ranks = number_of(at, "n_gpus");
  entry->nodes = entry->ranks > 8 ? entry->ranks / 8 : 1;
  entry->bytes = number_of(at, "payload_bytes");
  entry->time_s = number_of(at, "derived_time_us") * 1e-6;
  if (entry->time_s <= 0 && entry->ranks > 1) {
    double sent = entry->bytes * (entry->ranks - 1) / entry->ranks * (entry->kind == WORK_ALL_REDUCE ? 2 : 1);
    entry->time_s = sent / (number_of(at, "busbw_GBps") * 1e9);
  }
  return true;
}

/* One row says how its bandwidth is meant: bytes x 2 (p - 1) / p / time. */
static bool read_tpu(const struct columns *at, struct entry *entry) {
  entry->device = text_of(at, "chip");
  entry->kind = WORK_ALL_REDUCE;
  if (strstr(text_of(at, "what"), "psum over ICI") == NULL) {
    return false;
  }
  entry->ranks = 256;
  entry->bytes = number_of(at, "shape_or_size");
  entry->time_s = entry->bytes * 2 * 255 / 256 / (number_of(at, "value") * 1e9);
  return true;
}

static const struct {
  enum collective_table table;
  const char *device;
  const char *dtype; /* columns; NULL = one type */
  bool (*read)(const struct columns *at, struct entry *entry);
} readers[] = {
    {COLLECTIVE_TABLE_AICONFIGURATOR, "device", "dtype", read_aiconfigurator},
    {COLLECTIVE_TABLE_XLA, "device", "element_type", read_xla},
    {COLLECTIVE_TABLE_VIDUR, "system", NULL, read_vidur},
    {COLLECTIVE_TABLE_VTRAIN, "gpu", NULL, read_vtrain},
    {COLLECTIVE_TABLE_LLMCOMPASS, NULL, NULL, read_llmcompass},
    {COLLECTIVE_TABLE_ML_ENGINEERING, "system", NULL, read_ml_engineering},
    {COLLECTIVE_TABLE_TPU_RECIPES, NULL, NULL, read_tpu},
};

/* GB200 and GB300 rows state 0.01 GB/s steps. */
static bool is_rounded(const struct entry *entry) {
  bool is_coarse = strcmp(entry->device, "sm_100_GB200") == 0 || strcmp(entry->device, "sm_103") == 0;
  return entry->time_s <= 0 || (is_coarse && entry->bytes / entry->time_s < 0.1e9);
}

static enum status take(struct reader *reader, const struct columns *at, size_t r) {
  struct entry entry = {.table = readers[r].table, .nodes = 1};
  entry.device = readers[r].device ? text_of(at, readers[r].device) : "";
  entry.dtype = readers[r].dtype ? text_of(at, readers[r].dtype) : "";
  if (!readers[r].read(at, &entry)) {
    bool is_bandwidth = strstr(text_of(at, "what"), "all-gather") || strstr(text_of(at, "what"), "psum");
    reader->all->left_out[COLLECTIVE_UNCLEAR] += is_bandwidth;
    return STATUS_OK;
  }
  /* vidur's send_recv.csv of both pairwise machines are one file */
  if (entry.table == COLLECTIVE_TABLE_VIDUR && entry.kind == WORK_SEND_RECV && strstr(entry.device, "pairwise")) {
    reader->all->left_out[COLLECTIVE_TWICE]++;
    return STATUS_OK;
  }
  if (is_rounded(&entry)) {
    reader->all->left_out[COLLECTIVE_ROUNDED]++;
    return STATUS_OK;
  }
  entry.devices = fmax(entry.devices, entry.ranks);
  bool is_sane = entry.ranks >= 2 && entry.devices < 1e6 && entry.nodes >= 1 && entry.bytes > 0 && entry.bytes < 1e15
                 && entry.time_s > 0 && entry.time_s < 1e6;
  return is_sane ? add(reader, &entry) : STATUS_OK;
}

/* Ranks of one measurement have a row each: the median of them is one row. Rows of one measurement need not stand together. */
static int by_measurement(const void *a, const void *b) {
  const struct measured_collective *x = a, *y = b;
  const double keys[][2] = {{x->machine, y->machine},
                            {(double)x->request.kind, (double)y->request.kind},
                            {x->request.shape.size, y->request.shape.size},
                            {x->is_network, y->is_network},
                            {x->request.bytes, y->request.bytes},
                            {x->measured_s, y->measured_s}};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (keys[i][0] < keys[i][1] || keys[i][0] > keys[i][1]) {
      return keys[i][0] < keys[i][1] ? -1 : 1;
    }
  }
  return 0;
}

static bool is_same_measurement(const struct measured_collective *x, const struct measured_collective *y) {
  struct measured_collective z = *y;
  z.measured_s = x->measured_s;
  return by_measurement(x, &z) == 0;
}

static void join_ranks(struct measured_collectives *all, size_t first) {
  struct measured_collective *rows = all->rows.data;
  size_t kept = first;
  qsort(rows + first, all->rows.count - first, sizeof *rows, by_measurement);
  for (size_t i = first, end; i < all->rows.count; i = end) {
    for (end = i + 1; end < all->rows.count && is_same_measurement(&rows[i], &rows[end]); end++) {
    }
    struct measured_collective row = rows[i];
    row.measured_s = (rows[i + (end - i - 1) / 2].measured_s + rows[i + (end - i) / 2].measured_s) / 2;
    rows[kept++] = row;
  }
  all->rows.count = kept;
}

/* Groups of rows between nodes whose largest sizes say that the network is not that of the cluster. */
static void drop_undescribed(struct measured_collectives *all) {
  struct measured_collective *rows = all->rows.data;
  size_t kept = 0;
  for (size_t i = 0, end; i < all->rows.count; i = end) {
    const struct measured_collective *first = &rows[i];
    bool is_slow = false;
    for (end = i;
         end < all->rows.count && rows[end].machine == first->machine && rows[end].request.kind == first->request.kind
         && rows[end].is_network == first->is_network && rows[end].request.shape.size == first->request.shape.size;
         end++) {
      struct entry entry = {.table = collective_machines[first->machine].table,
                            .kind = first->request.kind,
                            .ranks = first->request.shape.size,
                            .nodes = first->slice.size[first->cluster->dimension_count - 1],
                            .bytes = rows[end].request.bytes,
                            .time_s = rows[end].measured_s};
      is_slow = is_slow || (rows[end].is_network && is_undescribed(&rows[end], &entry));
    }
    if (is_slow) {
      all->left_out[COLLECTIVE_UNDESCRIBED] += end - i;
      continue;
    }
    memmove(&rows[kept], &rows[i], (end - i) * sizeof *rows);
    kept += end - i;
  }
  all->rows.count = kept;
}

enum status measured_collectives_read(struct measured_collectives *all, const char *data,
                                      const struct hw_clusters *clusters, const struct hw_database *chips,
                                      struct diag_list *diags) {
  struct reader reader = {all, clusters, chips, diags};
  enum status status = STATUS_OK;
  for (size_t r = 0; r < sizeof readers / sizeof readers[0] && status == STATUS_OK; r++) {
    struct csv_table table = {0};
    struct strbuf path = {0};
    size_t first = all->rows.count;
    strbuf_printf(&path, "%s/measured/%s", data, tables[readers[r].table].file);
    status = path.failed ? STATUS_MEMORY : csv_read(&table, strbuf_text(&path), diags);
    for (size_t i = 0; i < csv_rows(&table) && status == STATUS_OK; i++) {
      struct columns at = {&table, i};
      status = take(&reader, &at, r);
    }
    if (status == STATUS_OK && readers[r].table == COLLECTIVE_TABLE_VIDUR) {
      join_ranks(all, first);
    }
    csv_release(&table);
    strbuf_release(&path);
  }
  if (status == STATUS_OK) {
    drop_undescribed(all);
  }
  return status;
}

void measured_collectives_release(struct measured_collectives *all) {
  vec_release(&all->rows);
}
