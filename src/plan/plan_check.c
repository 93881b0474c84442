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
  uint32_t *last_reader; /* per step: of its result; 0 = none */
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

/* Budget for the replay of all partitions, parts looked at times tensors, so that a hostile file ends in seconds; 0.1 us
 * each. Plans of real models take up to 330,000. What does not depend on factors is linear in the file. */
enum { REPLAY_MAX = 1 << 24 };

/* Upper bound of what plan_validate and plan_validate_preload do for a step. */
static uint64_t replay_work(const struct check *check, uint32_t step) {
  const struct plan_file_step *claimed = &check->file->steps[step];
  uint32_t tensors = operator_of(check, step)->tensor_count;
  uint64_t parts = 0;
  for (uint32_t a = 0; a < PLAN_AXES_MAX; a++) {
    for (uint32_t s = 0; s < PLAN_ROTATED_MAX; s++) {
      uint32_t hot = claimed->execute.temporal[s][a], cold = claimed->preload.temporal[s][a];
      parts += (hot > 1 ? hot : 0) + (cold > 1 ? cold : 0);
    }
  }
  return parts * 3 * (tensors + 1u); /* a full, a last and an empty part of the grid */
}

static enum status check_work(struct check *check) {
  uint64_t work = 0;
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    work += replay_work(check, i);
    if (work > REPLAY_MAX) {
      diag_file(check->diags, DIAG_E0808_PLAN_LIMIT, check->name, 0, 0,
                "steps[%u]: the partitions up to this step take more than %d parts to check", i, REPLAY_MAX);
      return STATUS_LIMIT;
    }
  }
  return STATUS_OK;
}

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

/* In SRAM everything begins at a word. */
static uint64_t words_of(uint64_t bytes) {
  const uint64_t word_bytes = 4;
  return sat_mul_u64(ceil_div_u64(bytes, word_bytes), word_bytes);
}

/* Twice what rotates: a piece arrives while one is used. */
static uint64_t place_bytes(const struct core_grid *grid, const struct plan_tensor *tensors, uint32_t tensor) {
  uint64_t bytes = words_of(piece_bytes(grid, tensors, tensor));
  return core_grid_pieces(grid, tensor) > 1 ? sat_mul_u64(bytes, 2) : bytes;
}

static uint64_t tensor_bytes(const struct core_grid *grid, const struct plan_tensor *tensors) {
  uint64_t sum = 0;
  for (uint32_t t = 0; t < grid->tensor_count; t++) {
    sum = sat_add_u64(sum, place_bytes(grid, tensors, t));
  }
  return sum;
}

static uint64_t cold_bytes(const struct core_grid *grid, const struct plan_tensor *tensors) {
  uint64_t sum = 0;
  for (uint32_t t = 0; t + 1u < grid->tensor_count; t++) {
    sum = tensors[t].source == PLAN_SOURCE_MEMORY ? sat_add_u64(sum, words_of(piece_bytes(grid, tensors, t))) : sum;
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

static const struct plan_tensor *output_of(const struct check *check, uint32_t step) {
  return &tensors_of(check, step)[operator_of(check, step)->tensor_count - 1];
}

static uint64_t output_elements(const struct check *check, uint32_t step) {
  const struct plan_operator *op = operator_of(check, step);
  uint64_t elements = 1;
  for (uint32_t a = 0; a < op->axis_count; a++) {
    elements = sat_mul_u64(elements, (output_of(check, step)->axes >> a & 1) != 0 ? op->extents[a] : 1);
  }
  return elements;
}

/* Bytes per core of the result of a step, cut evenly over the cores of the chip. */
static uint64_t share_bytes(const struct check *check, uint32_t step) {
  uint64_t elements = ceil_div_u64(output_elements(check, step), check->file->chip.cores);
  return words_of(bytes_of(elements, output_of(check, step)->element_bits));
}

/* ---- dependencies ---- */

/* Parts of a value have one size: those of the last of the operators that made them. */
static void check_parts(struct check *check, uint32_t step, uint32_t index) {
  const struct plan_tensor *tensor = &tensors_of(check, step)[index];
  uint32_t last = tensor->producer - 1;
  for (uint32_t p = plan_first_producer(tensor); p < last; p++) {
    if (output_elements(check, p) != output_elements(check, last)
        || output_of(check, p)->element_bits != output_of(check, last)->element_bits) {
      violation(check, step, "tensor %u is made in parts, and that of steps[%u] is not as large as that of steps[%u]",
                index, p, last);
    }
  }
  if (tensor->producer_parts > 1 && tensor->source == PLAN_SOURCE_CHIP && !tensor->is_view) {
    violation(check, step, "tensor %u is made in parts, but is no view", index);
  }
}

static void check_producers(struct check *check) {
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_operator *op = operator_of(check, i);
    const struct plan_tensor *tensors = tensors_of(check, i);
    for (uint32_t t = 0; t + 1u < op->tensor_count; t++) {
      if (tensors[t].producer > i) {
        violation(check, i, "tensor %u is made by steps[%u], which comes no earlier", t, tensors[t].producer - 1);
      } else if (tensors[t].producer == 0 && tensors[t].source == PLAN_SOURCE_CHIP) {
        violation(check, i, "tensor %u is on the chip, but nobody made it", t);
      } else if (tensors[t].producer > 0) {
        check_parts(check, i, t);
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

/* The last step that reads the result of each; 0: none. */
static void find_last_readers(struct check *check) {
  for (uint32_t i = 0; i < check->file->step_count; i++) {
    const struct plan_tensor *tensors = tensors_of(check, i);
    for (uint32_t t = 0; t + 1u < operator_of(check, i)->tensor_count; t++) {
      bool is_chip = tensors[t].source == PLAN_SOURCE_CHIP;
      for (uint32_t p = is_chip ? plan_first_producer(&tensors[t]) : i; p < i && p < tensors[t].producer; p++) {
        check->last_reader[p] = i;
      }
    }
  }
}

/* Shares that end with a step: of the values that it is the last to read. */
static uint64_t ended_bytes(const struct check *check, uint32_t step) {
  const struct plan_tensor *tensors = tensors_of(check, step);
  uint64_t sum = 0;
  for (uint32_t t = 0; t + 1u < operator_of(check, step)->tensor_count; t++) {
    bool is_chip = tensors[t].source == PLAN_SOURCE_CHIP;
    for (uint32_t p = is_chip ? plan_first_producer(&tensors[t]) : step; p < step && p < tensors[t].producer; p++) {
      bool is_last = check->last_reader[p] == step;
      for (uint32_t u = 0; u < t; u++) {
        is_last &= !plan_is_made_by(&tensors[u], p);
      }
      sum += is_last ? share_bytes(check, p) : 0; /* each of them was in a sum below the SRAM */
    }
  }
  return sum;
}

/* What lies in the SRAM of a core as the steps go by; bytes. */
struct walk {
  uint64_t shares; /* of values made and still to be read */
  uint64_t loads; /* of loads released and not yet used; without a memory of all tensors, all the time */
  uint32_t next; /* load to be released */
};

/* Of the step itself among `walk.loads`. */
static uint64_t own_bytes(const struct check *check, uint32_t step) {
  bool has_own = is_loaded(&check->file->steps[step]) || !check->file->chip.has_memory;
  return has_own ? check->kept_bytes[step] : 0;
}

/* The largest need of a step, from the buffers that its parts have at the same time. They need not lie in one piece
 * (core_program.h), so that they have a place when their sum is within the SRAM. */
static uint64_t need_over_time(const struct check *check, uint32_t step, const struct walk *walk, uint64_t ended,
                               uint64_t result) {
  const struct plan_tensor *tensors = tensors_of(check, step);
  uint32_t output = operator_of(check, step)->tensor_count - 1u;
  uint64_t gathered = 0, inputs = 0, hot = check->file->steps[step].cost.hot_bytes;
  struct core_grid grid;
  plan_partition_grid(check->program, operator_of(check, step), &check->file->steps[step].execute, &grid);
  for (uint32_t t = 0; t < output; t++) {
    uint64_t bytes = place_bytes(&grid, tensors, t);
    inputs += bytes; /* check_sizes: not above hot */
    gathered += tensors[t].source == PLAN_SOURCE_CHIP ? bytes : 0;
  }
  const uint64_t moments[] = {
      gathered + walk->shares + walk->loads, /* shares were read into buffers, loads wait */
      hot + walk->shares - ended + walk->loads - own_bytes(check, step), /* it computes; loads became its tensors */
      hot - inputs + walk->shares - ended + result + walk->loads - own_bytes(check, step), /* the result into shares */
  };
  uint64_t need = 0;
  for (size_t m = 0; m < sizeof moments / sizeof moments[0]; m++) {
    need = moments[m] > need ? moments[m] : need;
  }
  return need;
}

static void release_loads(const struct check *check, uint32_t step, struct walk *walk) {
  const struct plan_file *file = check->file;
  while (walk->next < file->load_count && file->steps[check->order[walk->next]].release <= step) {
    walk->loads = sat_add_u64(walk->loads, check->kept_bytes[check->order[walk->next++]]);
  }
}

/* The claims of one step, against their definitions and against the need over time. False when it does not fit: the sums of
 * later steps may be beyond 64 bits then. */
static bool check_step_sram(struct check *check, uint32_t i, struct walk *walk, uint64_t *peak) {
  const struct plan_file *file = check->file;
  const struct plan_file_step *step = &file->steps[i];
  uint64_t sram = file->chip.sram_bytes, ended = ended_bytes(check, i), share = share_bytes(check, i);
  bool is_read = check->last_reader[i] > 0,
       is_written = tensors_of(check, i)[operator_of(check, i)->tensor_count - 1].memory_bytes > 0;
  uint64_t result = is_read || is_written ? share : 0;
  release_loads(check, i, walk);
  uint64_t at_end = sat_add_u64(walk->shares - ended, result);
  uint64_t live = walk->shares > at_end ? walk->shares : at_end;
  uint64_t others = walk->loads - own_bytes(check, i);
  uint64_t need = sat_add_u64(sat_add_u64(step->cost.hot_bytes, live), others);
  compare_bytes(check, i, "live_bytes", step->live_bytes, sat_add_u64(live, file->chip.has_memory ? 0 : others));
  compare_bytes(check, i, "resident_bytes", step->at.resident_bytes, need);
  *peak = need > *peak ? need : *peak;
  if (need > sram || walk->loads > sram) {
    violation(check, i, "needs %" PRIu64 " bytes of SRAM per core, there are %" PRIu64,
              need > sram ? need : walk->loads, sram);
    return false;
  }
  uint64_t placed = need_over_time(check, i, walk, ended, result);
  if (placed > need) {
    violation(check, i, "its buffers take %" PRIu64 " bytes at once, resident_bytes are %" PRIu64, placed, need);
  }
  walk->loads = file->chip.has_memory ? others : walk->loads;
  walk->shares = is_read ? at_end : walk->shares - ended;
  return true;
}

/* Releases not after their steps, and not decreasing along the loads. */
static bool are_released(const struct check *check) {
  const struct plan_file_step *steps = check->file->steps;
  for (uint32_t k = 0; k < check->file->load_count; k++) {
    uint32_t i = check->order[k];
    if (steps[i].release > i || (k > 0 && steps[i].release < steps[check->order[k - 1]].release)) {
      return false;
    }
  }
  return true;
}

/* Only where sizes, loads and releases are sound. */
static void check_sram(struct check *check) {
  const struct plan_file *file = check->file;
  struct walk walk = {0};
  uint64_t peak = 0;
  bool fits = true;
  find_last_readers(check);
  for (uint32_t i = 0; i < file->step_count && !file->chip.has_memory; i++) {
    walk.loads = sat_add_u64(walk.loads, check->kept_bytes[i]);
  }
  for (uint32_t i = 0; i < file->step_count && fits; i++) {
    fits = check_step_sram(check, i, &walk, &peak);
  }
  if (fits) {
    compare_bytes(check, UINT32_MAX, "peak_bytes", file->totals.peak_bytes, peak);
  }
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

static enum status run_checks(struct check *check) {
  STATUS_TRY(check_work(check));
  check_partitions(check);
  check_producers(check);
  if (check->failed) { /* sizes and costs of such operators mean nothing */
    return STATUS_INPUT;
  }
  check_sizes(check);
  bool is_sized = !check->failed;
  check_costs(check);
  bool is_ordered = check_order(check);
  if (is_ordered) {
    check_loads(check);
  }
  check_steps(check);
  if (is_sized && is_ordered && are_released(check)) {
    check_sram(check);
  }
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
                        .kept_bytes = calloc(count + 1, sizeof *check.kept_bytes),
                        .last_reader = calloc(count + 1, sizeof *check.last_reader)};
  enum status status = STATUS_MEMORY;
  if (check.order != NULL && check.kept_bytes != NULL && check.last_reader != NULL) {
    status = run_checks(&check);
  }
  free(check.order);
  free(check.kept_bytes);
  free(check.last_reader);
  return status;
}
