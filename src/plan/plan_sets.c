/* Pareto sets of all sorts of operators of a program, and the abstract chain made from them. */
#include "plan/plan_sets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "base/parallel.h"
#include "plan/plan_sets_int.h"

enum { DEFAULT_PRELOADS = 12, DEFAULT_EXECUTES = 32 };

struct job {
  const struct plan_program *program;
  struct sets_search *searches; /* one per sort */
  enum status *status;
};

static void search_sort(void *user, size_t sort) {
  struct job *job = user;
  job->status[sort] = job->searches[sort].op != NULL ? sets_search_run(&job->searches[sort]) : STATUS_OK;
}

static void report_misfit(const struct plan_program *program, const struct plan_chip *chip,
                          const struct sets_search *search, struct diag_list *diags) {
  uint32_t index = (uint32_t)(search->op - program->operators.data), alike = 0;
  for (size_t i = 0; i < program->operators.count; i++) {
    alike += program->operators.data[i].sort == search->op->sort;
  }
  const char *name = program->strings != NULL ? intern_text(program->strings, search->op->name) : "";
  diag_file(diags, DIAG_E0804_PLAN_SRAM, NULL, 0, 0,
            "operator %" PRIu32 " '%s' (and %" PRIu32 " like it) needs %" PRIu64
            " B of SRAM per core in its smallest partition, and chip '%s' has %" PRIu64
            " B for plans; the smallest SRAM that would do is %" PRIu64 " B per core",
            index, name, alike - 1, search->smallest_hot_bytes, chip->id != NULL ? chip->id : "?", chip->sram_bytes,
            sat_add_u64(search->smallest_hot_bytes, chip->reserve_bytes));
}

/* Without off-chip memory all tensors of the program stay in SRAM, in their smallest state: nothing is loaded, and every step
 * has the others' bytes beside it. Returns the bytes per core of all of them. */
static uint64_t keep_resident(const struct plan_program *program, struct plan_choice_set *sets, uint64_t *of_sort) {
  uint64_t total = 0;
  for (uint32_t s = 0; s < program->sort_count; s++) {
    of_sort[s] = sets[s].preload_count > 0 ? sets[s].preloads[0].cold_bytes : 0;
  }
  for (size_t i = 0; i < program->operators.count; i++) {
    total = sat_add_u64(total, of_sort[program->operators.data[i].sort]);
  }
  return total;
}

/* The smallest preload state and what it reaches are the only choice then, and nothing of it is loaded. */
static void use_smallest_state(struct plan_choice_set *choices, struct plan_set *set) {
  struct plan_execute *executes = (struct plan_execute *)choices->executes;
  struct plan_preload *preloads = (struct plan_preload *)choices->preloads;
  struct plan_partition *partitions = (struct plan_partition *)set->executes;
  int64_t *distribute = (int64_t *)choices->distribute_ps;
  uint32_t kept = 0;
  for (uint32_t e = 0; e < choices->execute_count; e++) {
    if (distribute[e] != PLAN_UNREACHABLE) {
      executes[kept] = executes[e];
      partitions[kept] = partitions[e];
      distribute[kept++] = distribute[e];
    }
  }
  choices->execute_count = kept;
  choices->preload_count = 1;
  preloads[0] = (struct plan_preload){0};
}

static enum status build_chain(const struct plan_program *program, const struct plan_chip *chip,
                               struct plan_choice_set *choices, struct diag_list *diags, struct plan_sets *sets) {
  size_t count = program->operators.count;
  struct plan_step *steps = arena_calloc(&sets->arena, count, sizeof *steps);
  uint64_t *resident = arena_calloc(&sets->arena, program->sort_count, sizeof *resident);
  uint64_t *live = arena_calloc(&sets->arena, count, sizeof *live);
  if (steps == NULL || resident == NULL || live == NULL) {
    return STATUS_MEMORY;
  }
  STATUS_TRY(plan_program_live(program, chip->cores, live));
  uint64_t total = chip->has_memory ? 0 : keep_resident(program, choices, resident);
  if (total > chip->sram_bytes) {
    diag_file(diags, DIAG_E0804_PLAN_SRAM, NULL, 0, 0,
              "chip '%s' has no off-chip memory, and the program's tensors take %" PRIu64 " B per core of its %" PRIu64,
              chip->id != NULL ? chip->id : "?", total, chip->sram_bytes);
    return STATUS_INPUT;
  }
  for (size_t i = 0; i < count; i++) {
    const struct plan_operator *op = &program->operators.data[i];
    steps[i] = (struct plan_step){op->sort, sat_add_u64(live[i], total - resident[op->sort]), op->layer};
  }
  for (uint32_t s = 0; s < program->sort_count && !chip->has_memory; s++) {
    use_smallest_state(&choices[s], &sets->sets.data[s]);
  }
  sets->chain.step_count = (uint32_t)count;
  sets->chain.set_count = program->sort_count;
  sets->chain.steps = steps;
  sets->chain.sets = choices;
  sets->chain.sram_bytes = chip->sram_bytes;
  return STATUS_OK;
}

static enum status collect(const struct plan_program *program, const struct plan_chip *chip,
                           const struct plan_set_options *options, struct job *job, struct diag_list *diags,
                           struct plan_sets *sets) {
  struct sets_limits limits = {options->max_preloads > 0 ? options->max_preloads : DEFAULT_PRELOADS,
                               options->max_executes > 0 ? options->max_executes : DEFAULT_EXECUTES};
  struct plan_choice_set *choices = arena_calloc(&sets->arena, program->sort_count, sizeof *choices);
  enum status status = choices != NULL && vec_reserve(&sets->sets, program->sort_count) ? STATUS_OK : STATUS_MEMORY;
  bool all_fit = true;
  for (uint32_t s = 0; s < program->sort_count && status == STATUS_OK; s++) {
    struct plan_set set = {0};
    status = job->status[s];
    if (status == STATUS_OK && job->searches[s].front.count == 0) {
      all_fit = false;
      if (job->searches[s].op != NULL) {
        report_misfit(program, chip, &job->searches[s], diags);
      }
    } else if (status == STATUS_OK) {
      status = sets_thin(&job->searches[s], &limits, &sets->arena, &choices[s], &set);
    }
    (void)vec_push(&sets->sets, set); /* reserved above */
  }
  if (status == STATUS_OK && !all_fit) {
    return STATUS_INPUT;
  }
  return status == STATUS_OK ? build_chain(program, chip, choices, diags, sets) : status;
}

enum status plan_sets_build(const struct plan_program *program, const struct plan_chip *chip,
                            const struct plan_set_options *options, struct diag_list *diags, struct plan_sets *sets) {
  memset(sets, 0, sizeof *sets);
  arena_init(&sets->arena, 0);
  size_t count = program->sort_count;
  struct job job = {.program = program};
  job.searches = calloc(count > 0 ? count : 1, sizeof *job.searches);
  job.status = calloc(count > 0 ? count : 1, sizeof *job.status);
  enum status status = STATUS_MEMORY;
  if (job.searches != NULL && job.status != NULL) {
    sets->chain.overlaps = options->features.overlap && chip->can_overlap;
    for (size_t i = program->operators.count; i-- > 0;) {
      const struct plan_operator *op = &program->operators.data[i];
      job.searches[op->sort] = (struct sets_search){
          .program = program,
          .op = op,
          .chip = chip,
          .model = options->model != NULL ? options->model : &plan_cost_closed_form,
          .features = options->features,
          .overlaps = sets->chain.overlaps,
      };
    }
    parallel_for(count, options->threads > 0 ? options->threads : 1, search_sort, &job);
    status = collect(program, chip, options, &job, diags, sets);
  }
  for (size_t s = 0; s < count && job.searches != NULL; s++) {
    sets_search_release(&job.searches[s]);
  }
  free(job.searches);
  free(job.status);
  return status;
}

void plan_sets_release(struct plan_sets *sets) {
  vec_release(&sets->sets);
  arena_release(&sets->arena);
}
