/* The designs that the artifact compares, as rows: how each was run, with its own constants or with everyone's the same
 * (elk.md sections 4.6, 4.7, 7.4). Path: tables and schedules in, rows of plan_compat_result out. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "plan/compat_int.h"

enum { KIB = 1024, SWEEP_KIB_OWN = 10, SWEEP_KIB_EQUAL = 50 };

/* When a run is made, and whether it counts for its design's best. */
enum run_set {
  RUN_OWN = 1, /* as published */
  RUN_EXTRA = 2, /* with the published constants, but not among what the artifact takes the best of */
  RUN_EQUAL = 4 /* with equal constants */
};

struct run {
  uint8_t sets; /* of enum run_set */
  uint8_t design; /* enum plan_compat_design */
  bool largest_cold;
  bool moves_loads;
  bool truncated_link; /* reads 5.5 GB/s as 5 */
  double threshold;
};

static const struct run runs[] = {
    {RUN_OWN, PLAN_COMPAT_BASIC, false, false, true, 0.7},
    {RUN_OWN, PLAN_COMPAT_BASIC, true, false, true, 0.7},
    {RUN_OWN, PLAN_COMPAT_STATIC, false, false, true, 0.7},
    {RUN_OWN, PLAN_COMPAT_STATIC, true, false, true, 0.7},
    {RUN_EXTRA, PLAN_COMPAT_STATIC, true, true, true, 0.7},
    {RUN_OWN, PLAN_COMPAT_DYN, false, false, true, 0.9},
    {RUN_OWN, PLAN_COMPAT_DYN, false, false, true, 0.7},
    {RUN_OWN, PLAN_COMPAT_DYN, false, false, true, 0.5},
    {RUN_EXTRA, PLAN_COMPAT_DYN, false, true, false, 0.99},
    {RUN_OWN, PLAN_COMPAT_FULL, false, false, false, 0.99},
    {RUN_OWN, PLAN_COMPAT_FULL, false, true, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_BASIC, true, false, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_BASIC, true, true, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_STATIC, true, false, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_STATIC, true, true, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, false, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, true, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, false, false, 0.9},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, true, false, 0.9},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, false, false, 0.7},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, true, false, 0.7},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, false, false, 0.5},
    {RUN_EQUAL, PLAN_COMPAT_DYN, false, true, false, 0.5},
    {RUN_EQUAL, PLAN_COMPAT_FULL, false, false, false, 0.99},
    {RUN_EQUAL, PLAN_COMPAT_FULL, false, true, false, 0.99},
    {RUN_OWN | RUN_EQUAL, PLAN_COMPAT_IDEAL, false, false, false, 0.0},
};

const char *plan_compat_design_name(enum plan_compat_design design) {
  static const char *const names[PLAN_COMPAT_DESIGN_COUNT] = {
      [PLAN_COMPAT_BASIC] = "Basic",         [PLAN_COMPAT_STATIC] = "Static", [PLAN_COMPAT_DYN] = "Dyn",
      [PLAN_COMPAT_FULL] = "Full, in order", [PLAN_COMPAT_IDEAL] = "Ideal",
  };
  return names[design];
}

/* ---- Tables ---- */

static void report_unfit(const struct plan_compat_program *program, uint32_t id, uint64_t smallest_hot,
                         struct diag_list *diags) {
  const struct plan_compat_operator *op = &program->operators.data[id];
  struct strbuf extents = {0};
  for (uint32_t axis = 0; axis < op->axis_count; axis++) {
    strbuf_printf(&extents, "%s%" PRIu64, axis > 0 ? "x" : "", op->extents[axis]);
  }
  if (smallest_hot == UINT64_MAX) {
    diag_at(diags, DIAG_E0804_PLAN_SRAM, &program->list, op->offset,
            "operator %" PRIu32 " (%s) has no partition over %" PRIu32 " cores that the published rules allow", id,
            strbuf_text(&extents), compat_elk.cores);
  } else {
    diag_at(diags, DIAG_E0804_PLAN_SRAM, &program->list, op->offset,
            "operator %" PRIu32 " (%s) fits in no partition: it needs %" PRIu64 " bytes per core, there are %" PRIu64,
            id, strbuf_text(&extents), smallest_hot, compat_elk.sram_bytes);
  }
  strbuf_release(&extents);
}

static enum status build_tables(const struct plan_compat_program *program, bool legal, struct compat_table *tables,
                                struct diag_list *diags, uint64_t *plans) {
  bool fits = true;
  for (uint32_t id = 0; id < program->operators.count; id++) {
    enum status status = compat_table_build(&program->operators.data[id], legal, &tables[id], plans);
    if (status == STATUS_LIMIT) {
      diag_at(diags, DIAG_E0808_PLAN_LIMIT, &program->list, program->operators.data[id].offset,
              "operator %" PRIu32 ": the list has more than %" PRIu64 " partition plans, or this one too many states",
              id, COMPAT_PLANS_MAX);
    }
    STATUS_TRY(status);
    if (tables[id].choices.count == 0) {
      report_unfit(program, id, tables[id].smallest_hot, diags);
      fits = false;
    }
  }
  return fits ? STATUS_OK : STATUS_INPUT;
}

/* ---- Runs ---- */

static struct compat_rules rules_of(const struct run *run, const struct plan_compat_options *options) {
  const bool replaced = run->design == PLAN_COMPAT_DYN && options->threshold > 0.0;
  return (struct compat_rules){
      .design = run->design,
      .largest_cold = run->largest_cold,
      .moves_loads = run->moves_loads,
      .link_GBps = run->truncated_link ? compat_elk.link_truncated_GBps : compat_elk.link_GBps,
      .threshold = replaced ? options->threshold : run->threshold,
  };
}

static void run_once(struct compat_schedule *schedule, const struct compat_rules *rules, struct plan_compat_row *row) {
  double latency_ms = 0.0;
  double busy_ms = 0.0;
  if (compat_schedule_run(schedule, rules, &latency_ms, &busy_ms)
      && (row->latency_ms <= 0.0 || latency_ms < row->latency_ms)) {
    row->latency_ms = latency_ms;
    row->busy_ms = busy_ms;
    row->execution_kib = (uint32_t)(rules->execution_bytes / KIB);
  }
}

/* Static: the execution space from what every operator needs at least, in steps, to the whole SRAM. */
static void run_sweep(struct compat_schedule *schedule, const struct plan_compat_options *options,
                      struct compat_rules *rules, struct plan_compat_row *row) {
  if (options->execution_kib > 0) {
    rules->execution_bytes = (uint64_t)options->execution_kib * KIB;
    run_once(schedule, rules, row);
    return;
  }
  uint64_t needed = 0;
  for (size_t id = 0; id < schedule->program->operators.count; id++) {
    const uint64_t hot = schedule->tables[id].smallest_hot;
    needed = hot > needed ? hot : needed;
  }
  uint32_t step = options->equal_constants ? SWEEP_KIB_EQUAL : SWEEP_KIB_OWN;
  step = options->sweep_kib > 0 ? options->sweep_kib : step;
  for (uint64_t kib = ceil_div_u64(needed, KIB); kib * KIB <= compat_elk.sram_bytes; kib += step) {
    rules->execution_bytes = kib * KIB;
    run_once(schedule, rules, row);
  }
}

static bool same_run(const struct plan_compat_row *a, const struct plan_compat_row *b) {
  return a->design == b->design && a->largest_cold == b->largest_cold && a->moves_loads == b->moves_loads
         && !(a->threshold < b->threshold) && !(b->threshold < a->threshold);
}

/* False: it is a row already, because options.threshold made several runs alike. */
static bool add_row(struct plan_compat_result *result, const struct plan_compat_row *row) {
  for (uint32_t i = 0; i < result->row_count; i++) {
    if (same_run(&result->rows[i], row)) {
      return false;
    }
  }
  result->rows[result->row_count++] = *row;
  return true;
}

static void run_designs(struct compat_schedule *schedule, const struct plan_compat_options *options,
                        struct plan_compat_result *result) {
  const uint32_t best_of = options->equal_constants ? RUN_EQUAL : RUN_OWN;
  const uint32_t wanted = options->equal_constants ? RUN_EQUAL : RUN_OWN | RUN_EXTRA;
  uint32_t best[PLAN_COMPAT_DESIGN_COUNT] = {0}; /* row + 1 */
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    if ((runs[i].sets & wanted) == 0) {
      continue;
    }
    struct compat_rules rules = rules_of(&runs[i], options);
    struct plan_compat_row row = {.design = rules.design,
                                  .largest_cold = rules.largest_cold,
                                  .moves_loads = rules.moves_loads,
                                  .threshold = rules.threshold};
    if (rules.design == PLAN_COMPAT_STATIC) {
      run_sweep(schedule, options, &rules, &row);
    } else {
      run_once(schedule, &rules, &row);
    }
    if (!add_row(result, &row)) {
      continue;
    }
    uint32_t *slot = &best[rules.design];
    if ((runs[i].sets & best_of) != 0 && row.latency_ms > 0.0
        && (*slot == 0 || row.latency_ms < result->rows[*slot - 1].latency_ms)) {
      *slot = result->row_count;
    }
  }
  for (uint32_t design = 0; design < PLAN_COMPAT_DESIGN_COUNT; design++) {
    if (best[design] > 0) {
      result->rows[best[design] - 1].is_best = true;
    }
  }
}

static enum status run_all(const struct plan_compat_program *program, const struct plan_compat_options *options,
                           const struct compat_table *tables, struct diag_list *diags,
                           struct plan_compat_result *result) {
  for (size_t i = 0; i < program->sequence.count; i++) {
    const struct compat_table *table = &tables[program->sequence.data[i]];
    result->memory_bytes = sat_add_u64(result->memory_bytes, sat_mul_u64(table->smallest_cold, compat_elk.cores));
    result->memory_ms += table->load_ms;
  }
  struct compat_schedule schedule;
  STATUS_TRY(compat_schedule_init(&schedule, program, tables, result->layers));
  run_designs(&schedule, options, result);
  compat_schedule_release(&schedule);
  if (schedule.candidates > COMPAT_CANDIDATES_MAX) {
    diag_file(diags, DIAG_E0808_PLAN_LIMIT, NULL, 0, 0, "the schedules take more than %" PRIu64 " steps",
              COMPAT_CANDIDATES_MAX);
    return STATUS_LIMIT;
  }
  return STATUS_OK;
}

enum status plan_compat_run(const struct plan_compat_program *program, const struct plan_compat_options *options,
                            struct diag_list *diags, struct plan_compat_result *result) {
  *result = (struct plan_compat_result){
      .operators = (uint32_t)program->sequence.count,
      .sorts = (uint32_t)program->operators.count,
      .layers = options->layers > 0 ? options->layers : program->layers,
  };
  struct compat_table *tables = calloc(program->operators.count, sizeof *tables);
  if (tables == NULL) {
    return STATUS_MEMORY;
  }
  enum status status = build_tables(program, options->legal, tables, diags, &result->plans);
  if (status == STATUS_OK) {
    status = run_all(program, options, tables, diags, result);
  }
  for (size_t id = 0; id < program->operators.count; id++) {
    compat_table_release(&tables[id]);
  }
  free(tables);
  return status;
}
