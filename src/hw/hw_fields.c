/* The tables of units and typed fields, and the step from facts to struct hw_chip: numbers through hw_fields.def, words
 * and maps through the readers here, then what follows from them. */
#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "hw/hw_internal.h"

static const struct hw_unit units[] = {
#define RDG_UNIT(name, unit_class, min, max) {name, HW_UNIT_##unit_class, min, max},
#include "hw/hw_units.def"
#undef RDG_UNIT
};
static const char *const unit_name_list[] = {
#define RDG_UNIT(name, unit_class, min, max) name,
#include "hw/hw_units.def"
#undef RDG_UNIT
};

static const struct hw_field_row field_rows[] = {
#define RDG_NUMBER(key, unit_class, member, min, max, meaning)                                                         \
  {key, NULL, HW_UNIT_##unit_class, offsetof(struct hw_chip, member), min, max},
#define RDG_TEXT(key, reader, meaning) {key, reader, HW_UNIT_TEXT, 0, 0, 0},
#include "hw/hw_fields.def"
#undef RDG_NUMBER
#undef RDG_TEXT
};

const struct hw_unit *hw_unit_find(const char *name) {
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (strcmp(units[i].name, name) == 0) {
      return &units[i];
    }
  }
  return NULL;
}

const char *const *hw_unit_names(size_t *count) {
  *count = sizeof unit_name_list / sizeof unit_name_list[0];
  return unit_name_list;
}

const char *hw_unit_class_example(enum hw_unit_class unit_class) {
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (units[i].unit_class == unit_class) {
      return units[i].name;
    }
  }
  return "-";
}

const struct hw_field_row *hw_field_rows(size_t *count) {
  *count = sizeof field_rows / sizeof field_rows[0];
  return field_rows;
}

const struct hw_field_row *hw_field_row_find(const char *key) {
  for (size_t i = 0; i < sizeof field_rows / sizeof field_rows[0]; i++) {
    if (strcmp(field_rows[i].key, key) == 0) {
      return &field_rows[i];
    }
  }
  return NULL;
}

static void suggest(const struct hw_text_context *c, size_t offset, const char *what, const char *text,
                    const char *const *names, size_t name_count) {
  const char *near = nearest_name(text, names, name_count);
  if (near != NULL) {
    diag_at(c->diags, DIAG_E0303_VALUE, c->source, offset, "'%s' is not %s; did you mean '%s'?", text, what, near);
  } else {
    diag_at(c->diags, DIAG_E0303_VALUE, c->source, offset, "'%s' is not %s", text, what);
  }
}

/* A map of engine type to engine type, "vector" (matrix products only) or "refused". */
static bool read_runs_as(struct hw_text_context *c, uint8_t *runs_as, bool is_matrix) {
  if (c->node->kind != HW_NODE_MAP) {
    diag_at(c->diags, DIAG_E0303_VALUE, c->source, c->node->offset, "a map of types is expected, like {fp8: bf16}");
    return false;
  }
  size_t name_count;
  const char *const *names = hw_engine_type_names(&name_count);
  bool is_good = true;
  for (const struct hw_node *n = c->node->first; n != NULL; n = n->next) {
    enum dtype from = hw_engine_type_parse(n->key);
    if (from == DTYPE_NONE) {
      suggest(c, n->key_offset, "a type", n->key, names, name_count);
      is_good = false;
      continue;
    }
    const char *text = n->kind == HW_NODE_SCALAR ? n->text : "";
    uint8_t to = (uint8_t)hw_engine_type_parse(text);
    if (is_matrix && strcmp(text, "vector") == 0) {
      to = HW_RUNS_VECTOR;
    } else if (to == DTYPE_NONE && strcmp(text, "refused") != 0) {
      suggest(c, n->offset, is_matrix ? "a type, vector or refused" : "a type or refused", text, names, name_count);
      is_good = false;
      continue;
    }
    if (runs_as != NULL) {
      runs_as[from] = to;
    }
  }
  return is_good;
}

bool hw_read_matrix_runs_as(struct hw_text_context *c) {
  return read_runs_as(c, c->chip != NULL ? c->chip->matrix_runs_as : NULL, true);
}

bool hw_read_vector_runs_as(struct hw_text_context *c) {
  return read_runs_as(c, c->chip != NULL ? c->chip->vector_runs_as : NULL, false);
}

/* Index of the scalar in `names`, or -1 after a message. */
static int read_choice(struct hw_text_context *c, const char *what, const char *const *names, size_t count) {
  const char *text = c->node->kind == HW_NODE_SCALAR ? c->node->text : "";
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], text) == 0) {
      return (int)i;
    }
  }
  suggest(c, c->node->offset, what, text, names, count);
  return -1;
}

bool hw_read_f32_default(struct hw_text_context *c) {
  static const char *const names[] = {"f32", "tf32", "bf16"};
  static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_TF32, DTYPE_BF16};
  int choice = read_choice(c, "f32, tf32 or bf16", names, 3);
  if (choice >= 0 && c->chip != NULL) {
    c->chip->f32_default_as = dtypes[choice];
  }
  return choice >= 0;
}

bool hw_read_fusion(struct hw_text_context *c) {
  static const char *const names[] = {"none", "gpu", "tpu"};
  static const enum hw_fusion fusions[] = {HW_FUSION_NONE, HW_FUSION_GPU, HW_FUSION_TPU};
  int choice = read_choice(c, "none, gpu or tpu", names, 3);
  if (choice >= 0 && c->chip != NULL) {
    c->chip->fusion = fusions[choice];
  }
  return choice >= 0;
}

static const struct hw_fact_row *row_by_key(const struct hw_fact_row *rows, size_t row_count, const char *key) {
  size_t low = 0, high = row_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(rows[middle].field.key, key);
    if (order == 0) {
      return &rows[middle];
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

static double number_of(const struct hw_fact_row *rows, size_t row_count, const char *key) {
  const struct hw_fact_row *row = row_by_key(rows, row_count, key);
  return row != NULL && row->field.fact.value.kind == HW_VALUE_NUMBER ? row->field.fact.value.number : 0;
}

static void set_default(double *member, double value) {
  if (!(*member > 0)) {
    *member = value;
  }
}

/* How far from the chip a fact is stated; UINT32_MAX when it is not. */
static uint32_t distance_of(const struct hw_fact_row *rows, size_t row_count, const char *key) {
  const struct hw_fact_row *row = row_by_key(rows, row_count, key);
  return row != NULL ? row->distance : UINT32_MAX;
}

/* Numbers that a file may state as a multiple of mem.bw. A multiple stated nearer to the chip than the number wins. */
static void derive_memory(struct hw_chip *chip, const struct hw_fact_row *rows, size_t row_count) {
  if (!chip->has_off_chip) { /* no level between the cores and their only memory */
    chip->cache_size_bytes = chip->cache_Bps = chip->memory_ramp_bytes = 0;
    return;
  }
  static const char *const cache_keys[] = {"model.cache_bw", "l3.bw", "l2.bw_measured"};
  uint32_t cache_distance = UINT32_MAX;
  for (size_t i = 0; i < sizeof cache_keys / sizeof cache_keys[0]; i++) {
    uint32_t distance = distance_of(rows, row_count, cache_keys[i]);
    cache_distance = distance < cache_distance ? distance : cache_distance;
  }
  if (chip->cache_size_bytes > 0 && distance_of(rows, row_count, "model.cache_bw_factor") < cache_distance) {
    chip->cache_Bps = chip->cache_bw_factor * chip->memory_Bps;
  }
  if (distance_of(rows, row_count, "model.memory_latency") < distance_of(rows, row_count, "model.memory_ramp")) {
    chip->memory_ramp_bytes = chip->memory_latency_s * chip->memory_Bps;
  }
}

/* What follows from the stated fields; see hw_fields.def for each rule's wording. */
static void derive(struct hw_chip *chip, const struct hw_fact_row *rows, size_t row_count) {
  set_default(&chip->clock_Hz, chip->vector_clock_Hz > 0 ? chip->vector_clock_Hz : chip->matrix_clock_Hz);
  set_default(&chip->matrix_clock_Hz, chip->clock_Hz);
  set_default(&chip->vector_clock_Hz, chip->clock_Hz);
  if (chip->cores > 0) {
    set_default(&chip->matrix_units_per_core, number_of(rows, row_count, "matrix.units_total") / chip->cores);
    set_default(&chip->scratch_size_bytes, number_of(rows, row_count, "smem_per_core") * chip->cores);
  }
  set_default(&chip->sustained_clock_fraction, 1);
  /* only a chip whose SRAM bandwidth is stated can do without off-chip memory; others lack the number */
  chip->has_off_chip = chip->memory_Bps > 0 || !(number_of(rows, row_count, "smem_bw_total") > 0);
  if (!chip->has_off_chip) {
    chip->memory_size_bytes = chip->scratch_size_bytes;
    chip->memory_Bps = chip->scratch_Bps;
  }
  derive_memory(chip, rows, row_count);
  hw_rates_resolve(chip);
  double as_rate = chip->matrix_flops[chip->f32_default_as];
  double exact_rate = chip->matrix_flops[DTYPE_F32];
  set_default(&chip->f32_high_passes, 1);
  set_default(&chip->f32_highest_passes, as_rate > exact_rate && exact_rate > 0 ? as_rate / exact_rate : 1);
}

enum { FIELD_ROW_COUNT = sizeof field_rows / sizeof field_rows[0] };

/* A chip that states model.launch does not want the measured overhead of the chip that it inherits. */
static bool is_nearest(const struct hw_fact_row *const found[FIELD_ROW_COUNT], size_t index) {
  for (size_t i = 0; i < FIELD_ROW_COUNT; i++) {
    bool is_same = field_rows[i].reader == NULL && field_rows[i].offset == field_rows[index].offset;
    if (is_same && found[i] != NULL && found[i]->distance < found[index]->distance) {
      return false;
    }
  }
  return true;
}

void hw_chip_fill(struct hw_chip *chip, const struct hw_fact_row *rows, size_t row_count) {
  memset(chip->matrix_runs_as, HW_RUNS_DEFAULT, sizeof chip->matrix_runs_as);
  memset(chip->vector_runs_as, HW_RUNS_DEFAULT, sizeof chip->vector_runs_as);
  chip->f32_default_as = DTYPE_F32;
  const struct hw_fact_row *found[FIELD_ROW_COUNT];
  for (size_t i = 0; i < FIELD_ROW_COUNT; i++) {
    found[i] = row_by_key(rows, row_count, field_rows[i].key);
  }
  for (size_t i = 0; i < FIELD_ROW_COUNT; i++) {
    const struct hw_field_row *typed = &field_rows[i];
    if (found[i] == NULL) {
      continue;
    }
    if (typed->reader != NULL) {
      struct hw_text_context context = {.node = found[i]->value, .source = found[i]->source, .chip = chip};
      typed->reader(&context);
    } else if (is_nearest(found, i)) {
      set_default((double *)((char *)chip + typed->offset), found[i]->field.fact.value.number);
    }
  }
  derive(chip, rows, row_count);
}

/* One row per thing prediction cannot do without: the key named in `missing` and whether the chip has it. */
bool hw_chip_find_missing(struct hw_chip *chip, struct arena *arena) {
  bool has_matrix = false;
  for (size_t i = 0; i < DTYPE_COUNT; i++) {
    has_matrix = has_matrix || chip->matrix_flops[i] > 0;
  }
  const struct {
    const char *key;
    bool is_there;
  } needs[] = {
      {"peak", has_matrix},
      {"peak.f32_vector", !has_matrix || chip->vector_flops[DTYPE_F32] > 0},
      {"mem.bw", chip->memory_Bps > 0},
      {"smem_total", chip->has_off_chip || chip->memory_size_bytes > 0},
  };
  struct strbuf text = {0};
  for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
    if (!needs[i].is_there) {
      strbuf_puts(&text, text.length > 0 ? ", " : "");
      strbuf_puts(&text, needs[i].key);
    }
  }
  chip->missing = text.length > 0 ? arena_strndup(arena, text.data, text.length) : NULL;
  bool is_good = !text.failed && (text.length == 0 || chip->missing != NULL);
  strbuf_release(&text);
  return is_good;
}

static const char *const kind_names[HW_KIND_COUNT] = {"gpu", "tpu", "npu", "icca", "dataflow", "cpu", "soc"};
static const char *const fact_kind_names[] = {"datasheet", "measured", "inferred"};

const char *hw_kind_name(enum hw_kind kind) {
  return kind_names[kind];
}

const char *hw_fact_kind_name(enum hw_fact_kind kind) {
  return fact_kind_names[kind];
}
