/* Reads what planning needs of a chip: the rows of plan_chip.def, the network's shape and the types' rates. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "plan/plan_chip.h"

/* Value of a constant from other facts; false = the chip does not say. `chip` members that rows above fill are set. */
typedef bool derive_function(const struct hw_chip *hw, const struct plan_chip *chip, double *value);

static bool required(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)hw;
  (void)chip;
  (void)value;
  return false;
}

static bool none(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)hw;
  (void)chip;
  *value = 0;
  return true;
}

static bool one(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)hw;
  (void)chip;
  *value = 1;
  return true;
}

static bool all_cores(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)hw;
  *value = chip->cores;
  return true;
}

static bool sram_share(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  if (hw_chip_number(hw, "l1.size_per_core", value)) {
    return true;
  }
  double total;
  if (!hw_chip_number(hw, "smem_total", &total)) {
    return false;
  }
  *value = floor(total / chip->cores);
  return true;
}

static bool default_reserve(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)hw;
  *value = floor((double)chip->sram_bytes / 64);
  return true;
}

static bool link_of_network(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  double bytes_per_clock, total;
  if (hw_chip_number(hw, "noc.injection_rate_worker", &bytes_per_clock)) {
    *value = bytes_per_clock * chip->clock_Hz;
    return true;
  }
  if (!hw_chip_number(hw, "noc.bw_total", &total)) {
    return false;
  }
  *value = total / chip->cores;
  return true;
}

static bool sync_of_latency(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  double hop;
  *value = hw_chip_number(hw, "noc.latency_router_hop", &hop) ? 2 * hop * 2 * sqrt(chip->cores) : 100;
  return true;
}

static bool stream_efficiency(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)chip;
  *value = hw->memory_efficiency > 0 ? hw->memory_efficiency : 1;
  return true;
}

static bool block_depth(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)chip;
  *value = hw->matrix_rows > 0 ? hw->matrix_rows : 1;
  return true;
}

static bool block_columns(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)chip;
  *value = hw->matrix_columns > 0 ? hw->matrix_columns : 1;
  return true;
}

static bool block_at_peak(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  double flops;
  enum dtype runs_as;
  if (!hw_chip_matrix_rate(hw, DTYPE_F16, &flops, &runs_as) || flops <= 0) {
    return false;
  }
  double per_clock = flops / (2 * (double)chip->cores * chip->clock_Hz);
  *value = chip->matrix_rows * chip->matrix_depth * chip->matrix_columns / per_clock;
  return true;
}

static bool call_of_sync(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  (void)hw;
  *value = chip->sync_cycles;
  return true;
}

static bool element_at_peak(const struct hw_chip *hw, const struct plan_chip *chip, double *value) {
  double flops;
  enum dtype runs_as;
  if (!hw_chip_vector_rate(hw, DTYPE_F16, &flops, &runs_as) || flops <= 0) {
    return false;
  }
  /* lanes = FLOP/s / (2 cores clock) as peaks count multiply-adds */
  *value = 2 * (2 * (double)chip->cores * chip->clock_Hz) / flops;
  return true;
}

enum member_type { TYPE_DOUBLE, TYPE_U32, TYPE_U64 };

static const struct constant {
  size_t offset;
  enum member_type type;
  const char *key, *unit;
  derive_function *derive;
  const char *derivation;
} constants[] = {
#define PLAN_CONSTANT(member, type, key, unit, derive, derivation)                                                     \
  {offsetof(struct plan_chip, member), TYPE_##type, key, unit, derive, derivation},
#include "plan/plan_chip.def"
#undef PLAN_CONSTANT
};
enum { CONSTANT_COUNT = sizeof constants / sizeof constants[0] };

static void store(struct plan_chip *chip, const struct constant *row, double value) {
  char *member = (char *)chip + row->offset;
  if (row->type == TYPE_DOUBLE) {
    memcpy(member, &value, sizeof value);
  } else if (row->type == TYPE_U32) {
    uint32_t number = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    memcpy(member, &number, sizeof number);
  } else {
    uint64_t number = value < 9e18 ? (uint64_t)value : UINT64_MAX;
    memcpy(member, &number, sizeof number);
  }
}

static double load(const struct plan_chip *chip, const struct constant *row) {
  const char *member = (const char *)chip + row->offset;
  if (row->type == TYPE_DOUBLE) {
    double value;
    memcpy(&value, member, sizeof value);
    return value;
  }
  if (row->type == TYPE_U32) {
    uint32_t number;
    memcpy(&number, member, sizeof number);
    return number;
  }
  uint64_t number;
  memcpy(&number, member, sizeof number);
  return (double)number;
}

static const char *const topology_names[PLAN_TOPOLOGY_COUNT] = {
    [PLAN_ALL_TO_ALL] = "all-to-all",
    [PLAN_MESH_2D] = "mesh-2d",
    [PLAN_TORUS_2D] = "torus-2d",
    [PLAN_RING] = "ring",
};

const char *plan_topology_name(enum plan_topology topology) {
  return topology < PLAN_TOPOLOGY_COUNT ? topology_names[topology] : "?";
}

/* Mean hops along one dimension of n places between two places drawn at random (with repetition). */
static double mean_hops_line(double n) {
  return (n * n - 1) / (3 * n);
}

static double mean_hops_ring(double n) {
  return floor(n * n / 4) / n;
}

/* Mean distance to the nearer of the two outer columns, entering its router included. */
static double mean_hops_from_edges(uint32_t columns) {
  uint32_t near = columns / 2, middle = columns % 2;
  double sum = (double)near * ((double)near + 1) + (middle ? (double)near + 1 : 0);
  return sum / columns;
}

void plan_chip_set_topology(struct plan_chip *chip, enum plan_topology topology, uint32_t rows, uint32_t columns) {
  chip->topology = (uint8_t)topology;
  if (rows == 0 || columns == 0) {
    rows = (uint32_t)floor(sqrt((double)chip->cores));
    rows = rows > 0 ? rows : 1;
    columns = (uint32_t)ceil_div_u64(chip->cores, rows);
  }
  chip->mesh_rows = topology == PLAN_MESH_2D || topology == PLAN_TORUS_2D ? rows : 0;
  chip->mesh_columns = topology == PLAN_MESH_2D || topology == PLAN_TORUS_2D ? columns : 0;
  double r = rows, c = columns, n = chip->cores, links_per_core = 1, hops = 1, preload_hops = 1;
  switch (topology) {
  case PLAN_MESH_2D:
    links_per_core = 2 * (2 * r * c - r - c) / (r * c);
    hops = mean_hops_line(r) + mean_hops_line(c);
    preload_hops = mean_hops_from_edges(columns);
    break;
  case PLAN_TORUS_2D:
    links_per_core = 4;
    hops = mean_hops_ring(r) + mean_hops_ring(c);
    preload_hops = mean_hops_from_edges(columns);
    break;
  case PLAN_RING:
    links_per_core = 2;
    hops = mean_hops_ring(n);
    preload_hops = hops; /* one place of entry */
    break;
  case PLAN_ALL_TO_ALL:
  default:
    break;
  }
  links_per_core = links_per_core > 0 ? links_per_core : 1;
  chip->exchange_factor = fmax(1, hops / links_per_core);
  chip->preload_factor = fmax(1, preload_hops / links_per_core);
}

static enum plan_topology topology_of(const struct hw_chip *hw) {
  const struct hw_field *field = hw_chip_field(hw, "plan.topology");
  for (size_t i = 0; field != NULL && field->fact.value.text != NULL && i < PLAN_TOPOLOGY_COUNT; i++) {
    if (strcmp(field->fact.value.text, topology_names[i]) == 0) {
      return (enum plan_topology)i;
    }
  }
  return PLAN_ALL_TO_ALL;
}

static void read_rates(const struct hw_chip *hw, struct plan_chip *out) {
  double reference, rate;
  enum dtype runs_as;
  bool has_reference = hw_chip_matrix_rate(hw, DTYPE_F16, &reference, &runs_as) && reference > 0;
  for (int t = 0; t < DTYPE_COUNT; t++) {
    bool taken = has_reference && hw_chip_matrix_rate(hw, (enum dtype)t, &rate, &runs_as);
    out->matrix_rate_factor[t] = taken ? rate / reference : 0;
  }
  if (!has_reference) { /* only tile formulas are known: of 2-byte elements */
    out->matrix_rate_factor[DTYPE_F16] = 1;
    out->matrix_rate_factor[DTYPE_F32] = 0.25;
  }
}

enum status plan_chip_read(const struct hw_chip *chip, struct diag_list *diags, struct plan_chip *out) {
  *out = (struct plan_chip){.chip = chip, .id = chip->id};
  if (chip->kind != HW_KIND_ICCA) {
    diag_file(diags, DIAG_E0803_PLAN_CHIP, chip->file, 0, 0,
              "chip '%s' is no array of cores with private memories and a network between them", chip->id);
    return STATUS_INPUT;
  }
  for (size_t i = 0; i < CONSTANT_COUNT; i++) {
    double value;
    if (!hw_chip_number(chip, constants[i].key, &value) && !constants[i].derive(chip, out, &value)) {
      diag_file(diags, DIAG_E0803_PLAN_CHIP, chip->file, 0, 0, "chip '%s' has no field '%s', which planning needs",
                chip->id, constants[i].key);
      return STATUS_INPUT;
    }
    store(out, &constants[i], value);
  }
  out->sram_bytes = out->sram_bytes > out->reserve_bytes ? out->sram_bytes - out->reserve_bytes : 0;
  out->has_memory = chip->has_off_chip && out->memory_Bps > 0;
  if (out->cores <= out->cores_per_chip) {
    out->cross_chip_factor = 1;
  }
  double rows = 0, columns = 0;
  (void)hw_chip_number(chip, "plan.mesh_rows", &rows);
  (void)hw_chip_number(chip, "plan.mesh_columns", &columns);
  plan_chip_set_topology(out, topology_of(chip), (uint32_t)rows, (uint32_t)columns);
  const struct hw_field *overlap = hw_chip_field(chip, "plan.overlap");
  out->can_overlap =
      overlap != NULL && overlap->fact.value.text != NULL && strcmp(overlap->fact.value.text, "yes") == 0;
  read_rates(chip, out);
  return STATUS_OK;
}

void plan_chip_explain(const struct plan_chip *chip, struct strbuf *out) {
  for (size_t i = 0; i < CONSTANT_COUNT; i++) {
    const struct constant *row = &constants[i];
    const struct hw_field *field = chip->chip != NULL ? hw_chip_field(chip->chip, row->key) : NULL;
    double value = load(chip, row);
    value += row->offset == offsetof(struct plan_chip, sram_bytes) ? (double)chip->reserve_bytes : 0; /* as stated */
    strbuf_printf(out, "%-28s %14.8g %-9s ", row->key, value, row->unit);
    if (field != NULL) {
      strbuf_printf(out, "stated (%s)\n", hw_fact_kind_name(field->fact.kind));
    } else {
      strbuf_printf(out, "derived: %s\n", row->derivation);
    }
  }
  strbuf_printf(out, "%-28s %14s %-9s exchange x %.4g, preload x %.4g, %s overlap\n", "plan.topology",
                plan_topology_name((enum plan_topology)chip->topology), "-", chip->exchange_factor,
                chip->preload_factor, chip->can_overlap ? "with" : "without");
}
