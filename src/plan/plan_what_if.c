/* What-if: the smallest SRAM and the smallest memory bandwidth with which joint reaches a latency, each by bisection with
 * all else unchanged. Joint starts from the induction's schedule, as in plan_run. It is a search, so that its makespan need
 * not fall steadily; what is returned does reach the latency. */
#include <math.h>

#include "plan/plan_result.h"

#define LARGEST_FACTOR 64 /* of what the chip has; beyond that the answer is "not by this alone" */
#define SRAM_STEP_BYTES 1024u
#define MEMORY_STEP 1.01

struct question {
  const struct plan_program *program;
  const struct plan_options *options;
  int64_t latency_ps;
};

/* Cheap answers first: a bound above the latency, or the induction's schedule within it. */
static enum status plan_within(const struct question *question, const struct plan_sets *sets, struct arena *arena,
                               bool *is_reached) {
  struct plan_policy_options options = {
      .contention = true, .reorder = question->options->reorder, .budget = question->options->budget};
  struct plan_bounds bounds;
  plan_bounds_of(&sets->chain, &bounds);
  if (bounds.chain_ps > question->latency_ps) {
    return STATUS_OK;
  }
  uint32_t step;
  struct plan_policy_result induced, result;
  STATUS_TRY(plan_policy_dyn.run(&sets->chain, &options, arena, &induced, &step));
  *is_reached = induced.timeline.makespan_ps <= question->latency_ps;
  if (!*is_reached) {
    options.start = &induced.schedule;
    STATUS_TRY(plan_policy_joint.run(&sets->chain, &options, arena, &result, &step));
    *is_reached = result.timeline.makespan_ps <= question->latency_ps;
  }
  return STATUS_OK;
}

/* False also when the program does not fit; other failures are in `status`. */
static bool reaches(const struct question *question, const struct plan_chip *chip, enum status *status) {
  struct plan_resource_bound resource;
  plan_resource_bound_of(question->program, chip, &resource);
  if (resource.bound_ps > question->latency_ps) {
    return false;
  }
  struct diag_list unheard; /* that it does not fit is an answer here, no error */
  diag_init(&unheard);
  struct arena arena;
  arena_init(&arena, 0);
  struct plan_sets sets = {0};
  const struct plan_set_options set_options = {.features = question->options->features,
                                               .threads = question->options->threads};
  bool is_reached = false;
  enum status run = plan_sets_build(question->program, chip, &set_options, &unheard, &sets);
  if (run == STATUS_OK) {
    run = plan_within(question, &sets, &arena, &is_reached);
  }
  if (run != STATUS_OK && run != STATUS_INPUT) {
    *status = run;
  }
  plan_sets_release(&sets);
  arena_release(&arena);
  diag_release(&unheard);
  return run == STATUS_OK && is_reached;
}

/* A constant of the chip as a number of steps. */
struct dial {
  void (*turn)(struct plan_chip *chip, uint32_t steps);
  uint32_t present; /* what the chip has, rounded up */
  uint32_t most;
};

static void turn_sram(struct plan_chip *chip, uint32_t steps) {
  chip->sram_bytes = (uint64_t)steps * SRAM_STEP_BYTES;
}

/* From 1 / LARGEST_FACTOR of what the chip has. */
static void turn_memory(struct plan_chip *chip, uint32_t steps) {
  chip->memory_Bps = chip->memory_Bps / LARGEST_FACTOR * pow(MEMORY_STEP, steps);
}

/* Fewest steps that reach the latency; 0 when even the most do not. */
static uint32_t fewest(const struct question *question, const struct plan_chip *chip, const struct dial *dial,
                       enum status *status) {
  uint32_t low = 0, high = dial->present; /* low does not reach it */
  for (;;) {
    struct plan_chip turned = *chip;
    dial->turn(&turned, high);
    if (reaches(question, &turned, status)) {
      break;
    }
    if (*status != STATUS_OK || high >= dial->most) {
      return 0;
    }
    low = high;
    high = high > dial->most / 2 ? dial->most : high * 2;
  }
  while (high - low > 1 && *status == STATUS_OK) {
    uint32_t middle = low + (high - low) / 2;
    struct plan_chip turned = *chip;
    dial->turn(&turned, middle);
    *(reaches(question, &turned, status) ? &high : &low) = middle;
  }
  return high;
}

static enum status answer(const struct plan_chip *chip, const struct question *question, struct plan_what_if *what_if) {
  enum status status = STATUS_OK;
  uint64_t sram_steps = (chip->sram_bytes + SRAM_STEP_BYTES - 1) / SRAM_STEP_BYTES;
  uint32_t present = sram_steps < UINT32_MAX / LARGEST_FACTOR ? (uint32_t)sram_steps : UINT32_MAX / LARGEST_FACTOR;
  const struct dial sram = {turn_sram, present, present * LARGEST_FACTOR};
  what_if->sram_bytes = (uint64_t)fewest(question, chip, &sram, &status) * SRAM_STEP_BYTES;
  if (status == STATUS_OK && chip->has_memory) {
    uint32_t unchanged = (uint32_t)ceil(log(LARGEST_FACTOR) / log(MEMORY_STEP));
    const struct dial memory = {turn_memory, unchanged, 2 * unchanged};
    uint32_t steps = fewest(question, chip, &memory, &status);
    struct plan_chip turned = *chip;
    turn_memory(&turned, steps);
    what_if->memory_Bps = steps == 0 ? 0 : turned.memory_Bps;
  }
  return status;
}

enum status plan_what_if_run(const struct work_graph *graph, const struct hw_chip *chip,
                             const struct plan_options *options, struct diag_list *diags,
                             struct plan_what_if *what_if) {
  what_if->sram_bytes = 0;
  what_if->memory_Bps = 0;
  struct plan_chip constants;
  STATUS_TRY(plan_chip_read(chip, diags, &constants));
  struct plan_program program;
  const struct plan_read_options read = plan_read_options_for(options, &constants); /* split as for the chip as it is */
  enum status status = plan_program_read(graph, &read, diags, &program);
  if (status == STATUS_OK) {
    const struct question question = {&program, options, what_if->latency_ps};
    status = answer(&constants, &question, what_if);
  }
  plan_program_release(&program);
  return status;
}
