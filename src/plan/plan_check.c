/* The checker of plan files (plan_check.h). Each check goes over all steps and reports all that is wrong; one that builds on
 * another is left out where that has failed. */
#include "plan/plan_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/plan_validate.h"

/* Times are doubles rounded up to whole picoseconds: another machine may round the last digits of a product otherwise. */
static const double rounding_share = 1e-9;

struct check {
  const struct plan_file *file;
  const struct plan_program *program;
  const char *name;
  struct diag_list *diags;
  uint32_t *order; /* step of each load */
  uint64_t *kept_bytes; /* per step: of its tensors from memory, in their preload state */
  bool failed;
};

static void violation(struct check *check, uint32_t step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void violation(struct check *check, uint32_t step, const char *format, ...) {
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  if (step < check->file->step_count) {
    diag_file(check->diags, DIAG_E0806_PLAN_FILE, check->name, 0, 0, "steps[%u]: %s", step, strbuf_text(&text));
  } else {
    diag_file(check->diags, DIAG_E0806_PLAN_FILE, check->name, 0, 0, "%s", strbuf_text(&text));
  }
  strbuf_release(&text);
  check->failed = true;
}

static const struct plan_operator *operator_of(const struct check *check, uint32_t step) {
  return &check->program->operators.data[step];
}

static const struct plan_tensor *tensors_of(const struct check *check, uint32_t step) {
  return &check->program->tensors.data[operator_of(check, step)->tensor_first];
}

static void compare_ps(struct check *check, uint32_t step, const char *what, int64_t claimed, int64_t found) {
  double rounding = 1 + fabs((double)found) * rounding_share;
  if (fabs((double)claimed - (double)found) > rounding) {
    violation(check, step, "%s %" PRId64 " ps, but it is %" PRId64, what, claimed, found);
  }
}

static void compare_bytes(struct check *check, uint32_t step, const char *what, uint64_t claimed, uint64_t found) {
  if (claimed != found) {
    violation(check, step, "%s %" PRIu64 " bytes, but it is %" PRIu64, what, claimed, found);
  }
}

static bool is_loaded(const struct plan_file_step *step) {
  return step->load_order != PLAN_NO_LOAD;
}

/* ---- partitions ---- */

static void check_partitions(struct check *check) {
  struct core_fault fault;
  struct strbuf text = {0};
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_file_step *step = &check->file->steps[i];
    const struct plan_operator *op = operator_of(check, i);
    const char *state = NULL;
    if (!plan_validate(check->program, op, &step->execute, check->file->chip.cores, NULL, &fault)) {
      state = "execute state";
    } else if (!plan_validate_preload(check->program, op, &step->preload, &step->execute, &fault)) {
      state = "preload state";
    }
    if (state != NULL) {
      strbuf_clear(&text);
      core_fault_print(&fault, &text);
      violation(check, i, "%s: %s", state, strbuf_text(&text));
    }
  }
  strbuf_release(&text);
}

/* ---- sizes ---- */

static uint64_t bytes_of(uint64_t elements, uint32_t bits) {
  return ceil_div_u64(sat_mul_u64(elements, bits), 8);
}

static uint64_t piece_bytes(const struct core_grid *grid, const struct plan_tensor *tensors, uint32_t tensor) {
  return bytes_of(core_grid_piece_elements(grid, tensor), tensors[tensor].element_bits);
}

/* All tensors, twice what rotates: a piece arrives while one is used. */
static uint64_t tensor_bytes(const struct core_grid *grid, const struct plan_tensor *tensors) {
  uint64_t sum = 0;
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    uint64_t bytes = piece_bytes(grid, tensors, t);
    sum = sat_add_u64(sum, core_grid_pieces(grid, t) > 1 ? sat_mul_u64(bytes, 2) : bytes);
  }
  return sum;
}

static uint64_t cold_bytes(const struct core_grid *grid, const struct plan_tensor *tensors) {
  uint64_t sum = 0;
  for (uint32_t t = 0; t + 1u < grid->tensor_count; t++) {
    sum = tensors[t].source == PLAN_SOURCE_MEMORY ? sat_add_u64(sum, piece_bytes(grid, tensors, t)) : sum;
  }
  return sum;
}

static void check_sizes(struct check *check) {
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_file_step *step = &check->file->steps[i];
    const struct plan_tensor *tensors = tensors_of(check, i);
    struct core_grid hot, cold;
    plan_partition_grid(check->program, operator_of(check, i), &step->execute, &hot);
    plan_partition_grid(check->program, operator_of(check, i), &step->preload, &cold);
    uint64_t least = tensor_bytes(&hot, tensors);
    if (step->cost.hot_bytes < least) {
      violation(check, i, "hot_bytes %" PRIu64 ", but its tensors alone take %" PRIu64, step->cost.hot_bytes, least);
    }
    check->kept_bytes[i] = cold_bytes(&cold, tensors);
    if (is_loaded(step)) {
      compare_bytes(check, i, "cold_bytes", step->load.cold_bytes, check->kept_bytes[i]);
    }
    if (check->kept_bytes[i] > step->cost.hot_bytes) {
      violation(check, i, "its preload state takes %" PRIu64 " bytes, its execute state %" PRIu64, check->kept_bytes[i],
                step->cost.hot_bytes);
    }
  }
}

/* ---- costs ---- */

static void check_load_cost(struct check *check, uint32_t index, const struct plan_preload *found) {
  const struct plan_file_step *step = &check->file->steps[index];
  bool needs_load =
      check->file->chip.has_memory && (found->cold_bytes != 0 || found->memory_ps != 0 || found->link_ps != 0);
  if (needs_load != is_loaded(step)) {
    violation(check, index, needs_load ? "reads from memory without a load" : "a load without anything to read");
    return;
  }
  if (needs_load) {
    compare_bytes(check, index, "cold_bytes", step->load.cold_bytes, found->cold_bytes);
    compare_ps(check, index, "memory_ps", step->load.memory_ps, found->memory_ps);
    compare_ps(check, index, "link_ps", step->load.link_ps, found->link_ps);
  }
}

static void check_costs(struct check *check) {
  const struct plan_file *file = check->file;
  const struct plan_cost_model *model = &plan_cost_closed_form;
  for (uint32_t i = 0; i < file->step_count; i++) {
    const struct plan_file_step *step = &file->steps[i];
    const struct plan_operator *op = operator_of(check, i);
    struct plan_tile_cost cost = {0};
    struct plan_preload load = {0};
    (void)model->tile(&file->chip, &file->features, check->program, op, &step->execute, &cost);
    compare_bytes(check, i, "hot_bytes", step->cost.hot_bytes, cost.hot_bytes);
    compare_ps(check, i, "compute_ps", step->cost.compute_ps, cost.compute_ps);
    compare_ps(check, i, "shift_ps", step->cost.shift_ps, cost.shift_ps);
    compare_ps(check, i, "serial_ps", step->cost.serial_ps, cost.serial_ps);
    model->load(&file->chip, check->program, op, &step->preload, &load);
    check_load_cost(check, i, &load);
    int64_t distribute_ps = model->distribute_ps(&file->chip, check->program, op, &step->preload, &step->execute);
    if (distribute_ps < 0) {
      violation(check, i, "its execute state cannot be made from its preload state");
    } else {
      compare_ps(check, i, "distribute_ps", step->distribute_ps, distribute_ps);
    }
  }
}

/* ---- dependencies ---- */

static void check_producers(struct check *check) {
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_operator *op = operator_of(check, i);
    const struct plan_tensor *tensors = tensors_of(check, i);
    for (uint32_t t = 0; t + 1u < op->tensor_count; t++) {
      if (tensors[t].producer > i) {
        violation(check, i, "tensor %u is made by steps[%u], which comes no earlier", t, tensors[t].producer - 1);
      } else if (tensors[t].producer == 0 && tensors[t].source == PLAN_SOURCE_CHIP) {
        violation(check, i, "tensor %u is on the chip, but nobody made it", t);
      }
    }
  }
}

/* Fills `order`; false when the loads are no permutation. */
static bool check_order(struct check *check) {
  const struct plan_file *file = check->file;
  for (uint32_t k = 0; k < file->load_count; k++) {
    check->order[k] = UINT32_MAX;
  }
  for (uint32_t i = 0; i < file->step_count; i++) {
    const struct plan_file_step *step = &file->steps[i];
    if (!is_loaded(step)) {
      continue;
    }
    if (step->load_order >= file->load_count || check->order[step->load_order] != UINT32_MAX) {
      violation(check, i, "place %u among the loads is taken or beyond the last of %u", step->load_order,
                file->load_count);
      return false;
    }
    check->order[step->load_order] = i;
  }
  return true;
}

static void check_loads(struct check *check) {
  const struct plan_file_step *steps = check->file->steps;
  for (uint32_t k = 0; k < check->file->load_count; k++) {
    uint32_t i = check->order[k];
    const struct plan_file_step *step = &steps[i];
    if (step->release > i) {
      violation(check, i, "its load is released with step %u", step->release);
      continue;
    }
    int64_t released_ps = step->release > 0 ? steps[step->release - 1].at.end_ps : 0;
    if (step->at.load_start_ps < released_ps) {
      violation(check, i, "its load starts at %" PRId64 " ps, released at %" PRId64, step->at.load_start_ps,
                released_ps);
    }
    int64_t least_ps = step->load.memory_ps > step->load.link_ps ? step->load.memory_ps : step->load.link_ps;
    if (step->at.load_end_ps - step->at.load_start_ps < least_ps) {
      violation(check, i, "its load takes %" PRId64 " ps, at least %" PRId64 " are needed",
                step->at.load_end_ps - step->at.load_start_ps, least_ps);
    }
    const struct plan_file_step *before = k > 0 ? &steps[check->order[k - 1]] : NULL;
    if (before != NULL && step->at.load_start_ps < before->at.load_end_ps) {
      violation(check, i, "its load starts at %" PRId64 " ps, while that of steps[%u] lasts to %" PRId64,
                step->at.load_start_ps, check->order[k - 1], before->at.load_end_ps);
    }
    if (before != NULL && step->release < before->release) {
      violation(check, i, "its load is released with step %u, the one before it with step %u", step->release,
                before->release);
    }
  }
}

static int64_t least_duration(const struct check *check, const struct plan_file_step *step) {
  const struct plan_execute *cost = &step->cost;
  int64_t longer = cost->compute_ps > cost->shift_ps ? cost->compute_ps : cost->shift_ps;
  int64_t both = check->file->features.overlap ? longer : cost->compute_ps + cost->shift_ps;
  return both + cost->serial_ps + step->distribute_ps;
}

static void check_steps(struct check *check) {
  int64_t before_ps = 0;
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_file_step *step = &check->file->steps[i];
    if (step->at.start_ps < before_ps) {
      violation(check, i, "starts at %" PRId64 " ps, before the step before ends at %" PRId64, step->at.start_ps,
                before_ps);
    }
    if (is_loaded(step) && step->at.start_ps < step->at.load_end_ps) {
      violation(check, i, "starts at %" PRId64 " ps, before its load ends at %" PRId64, step->at.start_ps,
                step->at.load_end_ps);
    }
    int64_t least_ps = least_duration(check, step);
    if (step->at.end_ps - step->at.start_ps < least_ps) {
      violation(check, i, "takes %" PRId64 " ps, at least %" PRId64 " are needed", step->at.end_ps - step->at.start_ps,
                least_ps);
    }
    before_ps = step->at.end_ps;
  }
  compare_ps(check, UINT32_MAX, "makespan_ps", check->file->totals.makespan_ps, before_ps);
}

/* ---- SRAM ---- */

/* Bytes of the whole output of an operator. */
static uint64_t output_bytes(const struct check *check, uint32_t step) {
  const struct plan_operator *op = operator_of(check, step);
  const struct plan_tensor *output = &tensors_of(check, step)[op->tensor_count - 1];
  uint64_t elements = 1;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    elements = sat_mul_u64(elements, (output->axes >> a & 1) != 0 ? op->extents[a] : 1);
  }
  return bytes_of(elements, output->element_bits);
}

/* Bytes on the whole chip that each step keeps for later ones and does not read: of values made before it and read after
 * it. */
static bool find_live(const struct check *check, uint64_t *live) {
  uint32_t count = check->file->step_count;
  uint32_t *last = calloc(count, sizeof *last);
  if (last == NULL) {
    return false;
  }
  for (uint32_t pass = 0; pass < 2; pass++) { /* the last readers; then what is kept over readers before them */
    for (uint32_t i = 0; i < count; i++) {
      const struct plan_tensor *tensors = tensors_of(check, i);
      for (uint32_t t = 0; t + 1u < operator_of(check, i)->tensor_count; t++) {
        uint32_t producer = tensors[t].producer;
        bool is_first = producer > 0 && producer <= i;
        for (uint32_t u = 0; u < t; u++) {
          is_first &= tensors[u].producer != producer;
        }
        if (is_first && pass == 0) {
          last[producer - 1] = i;
        } else if (is_first && last[producer - 1] > i) {
          live[i] -= output_bytes(check, producer - 1); /* modulo 2^64 until all are added */
        }
      }
    }
  }
  uint64_t sum = 0;
  uint64_t *ended = calloc(count + 1u, sizeof *ended);
  for (uint32_t i = 0; i < count && ended != NULL; i++) {
    sum -= ended[i];
    live[i] += sum;
    if (last[i] > i + 1) { /* from the next step on, until its last reader */
      sum += output_bytes(check, i);
      ended[last[i]] += output_bytes(check, i);
    }
  }
  bool is_good = ended != NULL;
  free(ended);
  free(last);
  return is_good;
}

/* Need of every step: its own tensors, what is live across it, and what is loaded or being loaded for later steps. Without
 * a memory all tensors lie on the chip from the start. */
static void check_sram(struct check *check, const uint64_t *live, uint64_t *ahead) {
  const struct plan_file *file = check->file;
  uint64_t kept = 0, sum = 0, peak = 0;
  for (uint32_t i = 0; i < file->step_count; i++) {
    const struct plan_file_step *step = &file->steps[i];
    if (is_loaded(step) && step->release < i) { /* of no account when it is released with its own step */
      ahead[step->release] += step->load.cold_bytes;
      ahead[i] -= step->load.cold_bytes;
    }
    kept = file->chip.has_memory ? 0 : sat_add_u64(kept, check->kept_bytes[i]);
  }
  for (uint32_t i = 0; i < file->step_count; i++) {
    const struct plan_file_step *step = &file->steps[i];
    sum += ahead[i];
    compare_bytes(check, i, "its operator keeps live_bytes", operator_of(check, i)->live_bytes, live[i]);
    uint64_t share = ceil_div_u64(live[i], file->chip.cores);
    share = sat_add_u64(share, file->chip.has_memory ? 0 : kept - check->kept_bytes[i]);
    compare_bytes(check, i, "live_bytes", step->live_bytes, share);
    uint64_t need = sat_add_u64(sat_add_u64(step->cost.hot_bytes, share), sum);
    compare_bytes(check, i, "resident_bytes", step->at.resident_bytes, need);
    if (need > file->chip.sram_bytes) {
      violation(check, i, "needs %" PRIu64 " bytes of SRAM per core, %" PRIu64 " more than there are", need,
                need - file->chip.sram_bytes);
    }
    peak = need > peak ? need : peak;
  }
  compare_bytes(check, UINT32_MAX, "peak_bytes", file->totals.peak_bytes, peak);
}

/* ---- times ---- */

/* A chain of one option per step. */
struct replay {
  struct plan_chain chain;
  struct plan_schedule schedule;
  struct plan_timeline timeline;
};

static bool replay_build(struct check *check, struct arena *arena, struct replay *replay) {
  const struct plan_file *file = check->file;
  uint32_t count = file->step_count;
  struct plan_step *steps = arena_calloc(arena, count, sizeof *steps);
  struct plan_choice_set *sets = arena_calloc(arena, count, sizeof *sets);
  replay->schedule.decisions = arena_calloc(arena, count, sizeof *replay->schedule.decisions);
  replay->timeline.steps = arena_calloc(arena, count, sizeof *replay->timeline.steps);
  if (steps == NULL || sets == NULL || replay->schedule.decisions == NULL || replay->timeline.steps == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct plan_file_step *step = &file->steps[i];
    steps[i] = (struct plan_step){.set = i, .live_bytes = step->live_bytes, .layer = UINT32_MAX};
    sets[i] = (struct plan_choice_set){.execute_count = 1,
                                       .preload_count = 1,
                                       .executes = &step->cost,
                                       .preloads = &step->load,
                                       .distribute_ps = &step->distribute_ps};
    replay->schedule.decisions[i] = (struct plan_decision){.release = step->release, .priority = step->priority};
  }
  replay->schedule.order = check->order;
  replay->schedule.load_count = file->load_count;
  replay->chain = (struct plan_chain){.step_count = count,
                                      .set_count = count,
                                      .steps = steps,
                                      .sets = sets,
                                      .sram_bytes = file->chip.sram_bytes,
                                      .overlaps = file->features.overlap};
  return true;
}

static void compare_times(struct check *check, const struct plan_timeline *found) {
  const struct plan_timeline *claimed = &check->file->totals;
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_file_step *step = &check->file->steps[i];
    const struct plan_interval *at = &found->steps[i];
    compare_ps(check, i, "start_ps", step->at.start_ps, at->start_ps);
    compare_ps(check, i, "end_ps", step->at.end_ps, at->end_ps);
    if (is_loaded(step)) {
      compare_ps(check, i, "load.start_ps", step->at.load_start_ps, at->load_start_ps);
      compare_ps(check, i, "load.end_ps", step->at.load_end_ps, at->load_end_ps);
    }
  }
  compare_ps(check, UINT32_MAX, "makespan_ps", claimed->makespan_ps, found->makespan_ps);
  compare_ps(check, UINT32_MAX, "memory_busy_ps", claimed->memory_busy_ps, found->memory_busy_ps);
  compare_ps(check, UINT32_MAX, "link_busy_ps", claimed->link_busy_ps, found->link_busy_ps);
  compare_ps(check, UINT32_MAX, "compute_ps", claimed->compute_ps, found->compute_ps);
  compare_ps(check, UINT32_MAX, "stall_load_ps", claimed->stall_load_ps, found->stall_load_ps);
  compare_ps(check, UINT32_MAX, "stall_link_ps", claimed->stall_link_ps, found->stall_link_ps);
}

/* Only for a plan whose decisions are sound: the timeline relies on them. */
static enum status check_times(struct check *check) {
  struct replay replay = {0};
  struct arena arena;
  arena_init(&arena, 0);
  bool is_built = replay_build(check, &arena, &replay);
  if (is_built) {
    plan_timeline_run(&replay.chain, &replay.schedule, check->file->contention, &replay.timeline);
    compare_times(check, &replay.timeline);
  }
  arena_release(&arena);
  return is_built ? STATUS_OK : STATUS_MEMORY;
}

/* ---- bounds ---- */

/* The plan-space bounds need options that the file does not hold; they must agree with each other and with the plan. The
 * resource bound follows from the operators. */
static void check_bounds(struct check *check) {
  const struct plan_file *file = check->file;
  const struct plan_bounds *bounds = &file->bounds;
  const struct plan_resource_bound *claimed = &file->resource;
  struct plan_resource_bound found;
  plan_resource_bound_of(check->program, &file->chip, &found);
  int64_t larger_ps = bounds->flow_shop_ps > bounds->link_ps ? bounds->flow_shop_ps : bounds->link_ps;
  bool shares_links = file->contention; /* without contention these bounds say nothing */
  const struct {
    const char *name;
    int64_t claimed_ps, found_ps;
    bool holds;
  } rows[] = {
      {"bounds.flow_shop_ps", bounds->flow_shop_ps, bounds->flow_shop_ps, true},
      {"bounds.link_ps", bounds->link_ps, bounds->link_ps, shares_links},
      {"bounds.chain_ps", bounds->chain_ps, larger_ps > bounds->chain_ps ? larger_ps : bounds->chain_ps, shares_links},
      {"resource_bound.memory_ps", claimed->memory_ps, found.memory_ps, true},
      {"resource_bound.matrix_ps", claimed->matrix_ps, found.matrix_ps, true},
      {"resource_bound.vector_ps", claimed->vector_ps, found.vector_ps, true},
      {"resource_bound.link_ps", claimed->link_ps, found.link_ps, true},
      {"resource_bound.first_load_ps", claimed->first_load_ps, found.first_load_ps, true},
      {"resource_bound.bound_ps", claimed->bound_ps, found.bound_ps, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    compare_ps(check, UINT32_MAX, rows[i].name, rows[i].claimed_ps, rows[i].found_ps);
    if (rows[i].holds && rows[i].claimed_ps > file->totals.makespan_ps) {
      violation(check, UINT32_MAX, "%s %" PRId64 " ps is above the makespan of %" PRId64, rows[i].name,
                rows[i].claimed_ps, file->totals.makespan_ps);
    }
  }
}

static enum status run_checks(struct check *check, uint64_t *live, uint64_t *ahead) {
  check_partitions(check);
  check_producers(check);
  if (check->failed) { /* sizes and costs of such operators mean nothing */
    return STATUS_INPUT;
  }
  check_sizes(check);
  check_costs(check);
  if (!find_live(check, live)) {
    return STATUS_MEMORY;
  }
  bool is_ordered = check_order(check);
  if (is_ordered) {
    check_loads(check);
  }
  check_steps(check);
  check_sram(check, live, ahead);
  if (is_ordered && !check->failed) {
    STATUS_TRY(check_times(check));
  }
  check_bounds(check);
  return check->failed ? STATUS_INPUT : STATUS_OK;
}

enum status plan_check(const struct plan_file *file, const char *name, struct diag_list *diags) {
  size_t count = file->step_count;
  struct check check = {.file = file,
                        .program = file->program,
                        .name = name,
                        .diags = diags,
                        .order = calloc(count + 1, sizeof *check.order),
                        .kept_bytes = calloc(count + 1, sizeof *check.kept_bytes)};
  uint64_t *live = calloc(count + 1, sizeof *live), *ahead = calloc(count + 1, sizeof *ahead);
  enum status status = STATUS_MEMORY;
  if (check.order != NULL && check.kept_bytes != NULL && live != NULL && ahead != NULL) {
    status = run_checks(&check, live, ahead);
  }
  free(check.order);
  free(check.kept_bytes);
  free(live);
  free(ahead);
  return status;
}
