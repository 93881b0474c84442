/* One planning run: work graph, program, chip, sets, chain, and a row for each policy. */
#include <inttypes.h>
#include <time.h>

#include "base/checked.h"
#include "base/intern.h"
#include "plan/plan_result.h"

const struct plan_options plan_options_best = {
    .read = {.views = true, .fuse = true},
    .features = {.tree_reduction = true, .overlap = true, .idle_cores = true},
    .reorder = true,
    .split = true,
};

const struct plan_options plan_options_published = {.reorder = true, .split = true};

/* One operator may load this part of the SRAM at most, so that the next one has room beside it. Of 2, 3, 4, 6 and 8 the
 * best over the decoders of the table of plans (docs/plan-program.md). */
enum { SPLIT_SRAM_PART = 3 };

struct plan_read_options plan_read_options_for(const struct plan_options *options, const struct plan_chip *chip) {
  struct plan_read_options read = options->read;
  if (options->split && chip->has_memory) {
    read.split_bytes = sat_mul_u64(chip->cores, chip->sram_bytes) / SPLIT_SRAM_PART;
  }
  return read;
}

static double wall_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void refuse_step(const struct plan_program *program, const struct plan_chain *chain, uint32_t step,
                        uint64_t need_bytes, struct diag_list *diags) {
  const struct plan_operator *op = &program->operators.data[step];
  diag_file(diags, DIAG_E0804_PLAN_SRAM, NULL, 0, 0,
            "operator %" PRIu32 " '%s' needs %" PRIu64 " B of SRAM per core, %" PRIu64
            " B of it for values that later operators read; the chip has %" PRIu64 " B; %" PRIu64 " B would do",
            step, op->name != 0 ? intern_text(program->strings, op->name) : "?", need_bytes,
            chain->steps[step].live_bytes, chain->sram_bytes, need_bytes);
}

static void measure_row(const struct plan_result *result, struct plan_row *row) {
  const struct plan_timeline *timeline = &row->result.timeline;
  double makespan_ps = timeline->makespan_ps > 0 ? (double)timeline->makespan_ps : 1.0;
  if (result->bounds.chain_ps > 0) {
    row->gap_space = makespan_ps / (double)result->bounds.chain_ps - 1.0;
  }
  if (result->resource.bound_ps > 0) {
    row->gap_resource = makespan_ps / (double)result->resource.bound_ps - 1.0;
  }
  row->memory_utilisation = (double)timeline->memory_busy_ps / makespan_ps;
  row->link_utilisation = (double)timeline->link_busy_ps / makespan_ps;
  row->compute_utilisation = (double)result->resource.matrix_ps / makespan_ps;
}

static enum status run_policies(const struct plan_options *options, struct diag_list *diags,
                                struct plan_result *result) {
  static const struct plan_policy *const joint_alone[] = {&plan_policy_joint};
  const struct plan_policy *const *policies = options->policies != NULL ? options->policies : joint_alone;
  result->row_count = options->policies != NULL ? options->policy_count : 1;
  result->rows = arena_calloc(&result->arena, result->row_count, sizeof *result->rows);
  if (result->rows == NULL) {
    return STATUS_MEMORY;
  }
  struct plan_policy_options policy_options = {
      .contention = true, .reorder = options->reorder, .budget = options->budget};
  /* Searches improve on the induction's schedule, whatever other rows the table has. */
  struct plan_policy_result induced;
  uint32_t misfit = 0;
  enum status status = plan_policy_dyn.run(&result->sets.chain, &policy_options, &result->arena, &induced, &misfit);
  if (status != STATUS_OK) {
    return status;
  }
  policy_options.start = &induced.schedule;
  for (uint32_t k = 0; k < result->row_count; k++) {
    struct plan_row *row = &result->rows[k];
    uint32_t step = 0;
    double start_s = wall_s();
    row->policy = policies[k];
    row->status = policies[k]->run(&result->sets.chain, &policy_options, &result->arena, &row->result, &step);
    row->search_s = wall_s() - start_s;
    if (row->status == STATUS_OK) {
      measure_row(result, row);
    } else if (row->status == STATUS_LIMIT && result->row_count == 1) {
      diag_file(diags, DIAG_E0808_PLAN_LIMIT, NULL, 0, 0, "policy '%s' cannot plan a program of %" PRIu32 " steps",
                row->policy->name, result->sets.chain.step_count);
      return STATUS_LIMIT;
    } else if (row->status == STATUS_MEMORY) {
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

static enum status run(const struct work_graph *graph, const struct hw_chip *chip, const struct plan_options *options,
                       struct diag_list *diags, struct plan_result *result) {
  double start_s = wall_s();
  STATUS_TRY(plan_chip_read(chip, diags, &result->chip));
  const struct plan_read_options read = plan_read_options_for(options, &result->chip);
  STATUS_TRY(plan_program_read(graph, &read, diags, &result->program));
  result->read_s = wall_s() - start_s;
  start_s = wall_s();
  const struct plan_set_options set_options = {.features = options->features, .threads = options->threads};
  STATUS_TRY(plan_sets_build(&result->program, &result->chip, &set_options, diags, &result->sets));
  result->sets_s = wall_s() - start_s;
  const struct plan_chain *chain = &result->sets.chain;
  uint32_t step;
  uint64_t need_bytes = plan_chain_smallest_sram(chain, &step);
  if (need_bytes > chain->sram_bytes) {
    refuse_step(&result->program, chain, step, need_bytes, diags);
    return STATUS_INPUT;
  }
  plan_bounds_of(chain, &result->bounds);
  plan_resource_bound_of(&result->program, &result->chip, &result->resource);
  return run_policies(options, diags, result);
}

enum status plan_run(const struct work_graph *graph, const struct hw_chip *chip, const struct plan_options *options,
                     struct diag_list *diags, struct plan_result *result) {
  *result = (struct plan_result){0};
  arena_init(&result->arena, 0);
  double start_s = wall_s();
  enum status status = run(graph, chip, options, diags, result);
  result->total_s = wall_s() - start_s;
  return status;
}

void plan_result_release(struct plan_result *result) {
  plan_sets_release(&result->sets);
  plan_program_release(&result->program);
  arena_release(&result->arena);
}
