/* Plans for inter-core connected chips: options by name, the run, its rows, and all that is written of it. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_context.h"
#include "io/input_file.h"
#include "plan/plan_check.h"
#include "plan/plan_core_program.h"
#include "plan/plan_file.h"
#include "plan/plan_result.h"
#include "report/report.h"
#include "report/report_plan.h"

struct rdg_plan {
  struct plan_result result;
  bool has_run; /* `result` is to be released */
  struct plan_options options;
  struct arena arena; /* of the policies, the ablation and the program's name */
  const char *program;
  struct plan_ablation_row *ablation;
  uint32_t ablation_count;
  struct plan_what_if what_if; /* latency_ps 0 = not asked */
  uint32_t operators;
};

static const char default_chip[] = "ipu";
static const double ps_per_s = 1e12;
/* What-if questions reach from a microsecond to a quarter of an hour: picoseconds fit 64 bits, and no plan is outside. */
static const double what_if_least_s = 1e-6, what_if_most_s = 1e3;

/* ---- options ---- */

/* Ingredients that options leave out by name. */
static const struct {
  const char *name;
  size_t offset; /* of the flag in struct plan_options */
} ingredients[] = {{"views", offsetof(struct plan_options, read.views)},
                   {"fusion", offsetof(struct plan_options, read.fuse)},
                   {"split", offsetof(struct plan_options, split)},
                   {"tree", offsetof(struct plan_options, features.tree_reduction)},
                   {"overlap", offsetof(struct plan_options, features.overlap)},
                   {"idle-cores", offsetof(struct plan_options, features.idle_cores)},
                   {"reorder", offsetof(struct plan_options, reorder)}};
enum { INGREDIENT_COUNT = sizeof ingredients / sizeof *ingredients };

static void list_names(struct strbuf *out, size_t i, const char *name) {
  strbuf_printf(out, "%s%s", i ? ", " : "", name);
}

static rdg_status leave_out(rdg_context *ctx, const char *name, struct plan_options *options) {
  struct strbuf names = {0};
  for (size_t i = 0; i < INGREDIENT_COUNT; i++) {
    list_names(&names, i, ingredients[i].name);
    if (strcmp(ingredients[i].name, name) == 0) {
      *(bool *)((char *)options + ingredients[i].offset) = false;
      strbuf_release(&names);
      return RDG_OK;
    }
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no ingredient '%s' to leave out; there are: %s", name,
            strbuf_text(&names));
  strbuf_release(&names);
  return RDG_ERROR_INPUT;
}

static void unknown_policy(rdg_context *ctx, const char *name) {
  struct strbuf names = {0};
  for (size_t i = 0; plan_policies[i]; i++) {
    list_names(&names, i, plan_policies[i]->name);
  }
  diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no policy '%s'; there are: %s, all", name,
            strbuf_text(&names));
  strbuf_release(&names);
}

static bool asks_for_all(const rdg_plan_options *options) {
  for (size_t i = 0; i < options->policy_count; i++) {
    if (strcmp(options->policies[i], "all") == 0) {
      return true;
    }
  }
  return false;
}

static bool is_asked(const rdg_plan_options *options, const char *policy) {
  for (size_t i = 0; i < options->policy_count; i++) {
    if (strcmp(options->policies[i], policy) == 0) {
      return true;
    }
  }
  return options->policy_count == 0 && strcmp(policy, plan_policy_joint.name) == 0;
}

/* The policies asked for in the order of tables, each once. */
static rdg_status choose_policies(rdg_context *ctx, const rdg_plan_options *asked, rdg_plan *plan) {
  bool is_all = asks_for_all(asked);
  size_t known = 0;
  while (plan_policies[known]) {
    known++;
  }
  for (size_t i = 0; i < asked->policy_count; i++) {
    if (strcmp(asked->policies[i], "all") != 0 && !plan_policy_find(asked->policies[i])) {
      unknown_policy(ctx, asked->policies[i]);
      return RDG_ERROR_INPUT;
    }
  }
  const struct plan_policy **chosen = arena_calloc(&plan->arena, known, sizeof *chosen);
  if (!chosen) {
    return RDG_ERROR_MEMORY;
  }
  for (size_t i = 0; i < known; i++) {
    if (is_all || is_asked(asked, plan_policies[i]->name)) {
      chosen[plan->options.policy_count++] = plan_policies[i];
    }
  }
  plan->options.policies = chosen;
  return RDG_OK;
}

static rdg_status resolve_options(rdg_context *ctx, const rdg_plan_options *asked, rdg_plan *plan) {
  plan->options = asked->published ? plan_options_published : plan_options_best;
  plan->options.policy_count = 0;
  plan->options.budget = asked->budget;
  plan->options.threads = asked->threads;
  plan->operators = asked->operators;
  for (size_t i = 0; i < asked->without_count; i++) {
    rdg_status status = leave_out(ctx, asked->without[i], &plan->options);
    if (status != RDG_OK) {
      return status;
    }
  }
  if (asked->what_if_s != 0 && !(asked->what_if_s >= what_if_least_s && asked->what_if_s <= what_if_most_s)) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "--what-if takes a time from 1us to 1000s");
    return RDG_ERROR_INPUT;
  }
  plan->what_if.latency_ps = llround(asked->what_if_s * ps_per_s);
  return choose_policies(ctx, asked, plan);
}

/* ---- the run ---- */

/* Of "all", rows of policies that are only for small programs are no news. */
static void drop_limited_rows(struct plan_result *result) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < result->row_count; i++) {
    if (result->rows[i].status != STATUS_LIMIT && result->rows[i].status != STATUS_UNSUPPORTED) {
      result->rows[kept++] = result->rows[i];
    }
  }
  result->row_count = kept;
}

static enum status run_all(rdg_context *ctx, const struct program *program, const struct hw_chip *chip,
                           const rdg_plan_options *asked, rdg_plan *plan) {
  plan->has_run = true;
  STATUS_TRY(plan_run(program->unfused, chip, &plan->options, &ctx->diags, &plan->result));
  if (asks_for_all(asked)) {
    drop_limited_rows(&plan->result);
  }
  if (asked->ablation) {
    STATUS_TRY(
        plan_ablation(program->unfused, chip, &ctx->diags, &plan->arena, &plan->ablation, &plan->ablation_count));
  }
  if (plan->what_if.latency_ps) {
    STATUS_TRY(plan_what_if_run(program->unfused, chip, &plan->options, &ctx->diags, &plan->what_if));
  }
  return STATUS_OK;
}

static bool has_schedule(const rdg_plan *plan) {
  return report_plan_chosen(&plan->result) != NULL;
}

rdg_status rdg_plan_run(rdg_context *ctx, const rdg_program *program, const char *chip_name,
                        const rdg_plan_options *options, rdg_plan **out) {
  static const rdg_plan_options defaults = {0};
  options = options ? options : &defaults;
  api_begin(ctx);
  *out = NULL;
  if (!api_has_counts(ctx, program)) {
    return RDG_ERROR_UNSUPPORTED;
  }
  const struct hw_chip *chip = NULL;
  rdg_status status = api_find_chip(ctx, chip_name ? chip_name : default_chip, &chip);
  if (status != RDG_OK) {
    return status;
  }
  rdg_plan *plan = calloc(1, sizeof *plan);
  if (!plan) {
    return api_result(ctx, RDG_ERROR_MEMORY);
  }
  arena_init(&plan->arena, 0);
  const char *name = program->program->source.name;
  plan->program = arena_strndup(&plan->arena, name, strlen(name));
  status = plan->program ? resolve_options(ctx, options, plan) : RDG_ERROR_MEMORY;
  if (status == RDG_OK) {
    status = api_status(run_all(ctx, program->program, chip, options, plan));
  }
  if (status == RDG_OK && !has_schedule(plan)) {
    diag_file(&ctx->diags, DIAG_E0808_PLAN_LIMIT, NULL, 0, 0, "none of the policies asked for has a schedule of '%s'",
              plan->program);
    status = RDG_ERROR_UNSUPPORTED;
  }
  if (status != RDG_OK) {
    rdg_plan_free(plan);
    return api_result(ctx, status);
  }
  *out = plan;
  return RDG_OK;
}

void rdg_plan_free(rdg_plan *plan) {
  if (plan) {
    if (plan->has_run) {
      plan_result_release(&plan->result);
    }
    arena_release(&plan->arena);
    free(plan);
  }
}

/* ---- what came out ---- */

size_t rdg_plan_row_count(const rdg_plan *plan) {
  return plan->result.row_count;
}

bool rdg_plan_row_get(const rdg_plan *plan, size_t i, rdg_plan_row *row) {
  if (i >= plan->result.row_count) {
    return false;
  }
  const struct plan_row *from = &plan->result.rows[i];
  const struct plan_timeline *timeline = &from->result.timeline;
  const double none = (double)NAN;
  *row = (rdg_plan_row){.policy = from->policy->name,
                        .time_s = none,
                        .gap_plan_space = none,
                        .gap_resources = none,
                        .search_s = from->search_s,
                        .reference = from->policy->is_reference,
                        .refused = from->status != STATUS_OK,
                        .reason = report_plan_refusal(from)};
  if (row->refused) {
    return true;
  }
  row->time_s = (double)timeline->makespan_ps / ps_per_s;
  row->gap_plan_space = from->gap_space;
  row->gap_resources = from->gap_resource;
  row->memory_utilisation = from->memory_utilisation;
  row->link_utilisation = from->link_utilisation;
  row->matrix_utilisation = from->compute_utilisation;
  row->wait_load_s = (double)timeline->stall_load_ps / ps_per_s;
  row->wait_links_s = (double)timeline->stall_link_ps / ps_per_s;
  row->peak_sram_bytes = timeline->peak_bytes;
  row->complete = from->result.stats.complete;
  return true;
}

void rdg_plan_summarize(const rdg_plan *plan, rdg_plan_summary *summary) {
  const struct plan_result *result = &plan->result;
  *summary = (rdg_plan_summary){.chip_id = result->chip.id,
                                .chosen = report_plan_chosen(result)->policy->name,
                                .cores = result->chip.cores,
                                .sram_bytes = result->chip.sram_bytes,
                                .operators = result->program.operators.count,
                                .layers = result->program.layer_count,
                                .memory_bytes = result->program.memory_bytes,
                                .matrix_flops = result->program.matrix_flop,
                                .vector_flops = result->program.vector_flop,
                                .plan_space_bound_s = (double)result->bounds.chain_ps / ps_per_s,
                                .resource_bound_s = (double)result->resource.bound_ps / ps_per_s,
                                .compile_s = result->total_s};
}

/* ---- what is written ---- */

static struct report_plan report_of(const rdg_plan *plan) {
  return (struct report_plan){.program = plan->program,
                              .version = rdg_version(),
                              .result = &plan->result,
                              .ablation = plan->ablation,
                              .ablation_count = plan->ablation_count,
                              .what_if = plan->what_if.latency_ps ? &plan->what_if : NULL,
                              .operators = plan->operators};
}

static enum status write_text(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) {
  (void)ctx;
  struct report_plan report = report_of(plan);
  report_plan_text(&report, out);
  return STATUS_OK;
}

static enum status write_json(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) {
  (void)ctx;
  struct report_plan report = report_of(plan);
  return report_plan_json(&report, out);
}

static enum status write_trace(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) {
  (void)ctx;
  struct report_plan report = report_of(plan);
  return report_plan_trace(&report, out);
}

static enum status write_chart(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) {
  (void)ctx;
  struct report_plan report = report_of(plan);
  return report_plan_chart(&report, out);
}

static enum status file_of(const rdg_plan *plan, struct plan_file *file) {
  *file = (struct plan_file){0};
  return plan_file_of(&plan->result, report_plan_chosen(&plan->result), &plan->options.features, true, file);
}

static enum status write_file(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) {
  struct plan_file file;
  (void)ctx;
  enum status status = file_of(plan, &file);
  if (status == STATUS_OK) {
    status = plan_file_write(&file, out);
  }
  plan_file_release(&file);
  return status;
}

static enum status write_cores(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) {
  struct plan_file file;
  enum status status = file_of(plan, &file);
  if (status == STATUS_OK) {
    struct core_program program = {0};
    status = plan_core_program(&file, &ctx->diags, &program);
    if (status == STATUS_OK) {
      core_program_print(&program, out);
    }
    core_program_release(&program);
  }
  plan_file_release(&file);
  return status;
}

/* By rdg_format. */
static enum status (*const writers[])(rdg_context *ctx, const rdg_plan *plan, struct strbuf *out) = {
    [RDG_FORMAT_TEXT] = write_text, [RDG_FORMAT_JSON] = write_json,   [RDG_FORMAT_TRACE] = write_trace,
    [RDG_FORMAT_PLAN] = write_file, [RDG_FORMAT_CHART] = write_chart, [RDG_FORMAT_CORES] = write_cores};

rdg_status rdg_plan_write(rdg_context *ctx, const rdg_plan *plan, rdg_format format, rdg_sink sink) {
  api_begin(ctx);
  struct strbuf out = {0};
  enum status status = writers[format](ctx, plan, &out);
  if (status == STATUS_UNSUPPORTED) {
    diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0,
              "'%s' is a yardstick, no plan that could be written; ask for joint or another policy as well",
              report_plan_chosen(&plan->result)->policy->name);
  }
  if (status != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(status));
  }
  return api_flush(ctx, &out, sink);
}

/* One line about a plan that was found sound. */
static void describe_sound(const struct plan_file *file, const char *path, struct strbuf *out) {
  strbuf_printf(out, "%s: sound. %s, %u operators, %u loads, ", path, file->policy, file->step_count, file->load_count);
  report_time(out, (double)file->totals.makespan_ps / ps_per_s);
  strbuf_puts(out, ", SRAM peak ");
  report_integer(out, file->totals.peak_bytes);
  strbuf_puts(out, " of ");
  report_integer(out, file->chip.sram_bytes);
  strbuf_puts(out, " B\n");
}

rdg_status rdg_plan_check_file(rdg_context *ctx, const char *path, rdg_sink sink) {
  api_begin(ctx);
  struct input_file input;
  rdg_status status = api_status(input_file_read(&input, path, 0, &ctx->diags));
  if (status != RDG_OK) {
    return api_result(ctx, status);
  }
  struct plan_file file = {0};
  struct strbuf out = {0};
  enum status checked = plan_file_read(input.name, input.text, input.length, &ctx->diags, &file);
  if (checked == STATUS_OK) {
    checked = plan_check(&file, input.name, &ctx->diags);
  }
  if (checked == STATUS_OK) {
    describe_sound(&file, input.name, &out);
  }
  plan_file_release(&file);
  input_file_release(&input);
  if (checked != STATUS_OK) {
    strbuf_release(&out);
    return api_result(ctx, api_status(checked));
  }
  return api_flush(ctx, &out, sink);
}

bool rdg_plan_policy(size_t i, const char **name, const char **summary) {
  size_t count = 0;
  while (plan_policies[count]) {
    count++;
  }
  if (i >= count) {
    return false;
  }
  *name = plan_policies[i]->name;
  *summary = plan_policies[i]->summary;
  return true;
}
