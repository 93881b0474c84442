/* The table of plans: every policy on the published operator graph and machine, and joint with everything on, over models,
 * batches and lengths of the KV cache; the goals of the planner below it. Every plan is put before the validator of
 * partitions and the checker of plan files.
 *
 * Points run in processes of their own, so that each one's peak memory is its own.
 * Usage: bench_plan_table [--on CHIP] [--jobs N] [--only MODEL]; prints Markdown (docs/plan-table.md). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "generate/generate.h"
#include "hw/hw.h"
#include "plan/plan_check.h"
#include "plan/plan_result.h"

#include "program/program.h"

struct point {
  const char *model, *title;
  uint32_t batch, kv; /* kv 0: one evaluation of a diffusion model */
};

#define DECODER(model, title)                                                                                          \
  {model, title, 16, 2048}, {model, title, 16, 4096}, {model, title, 32, 2048}, {model, title, 32, 4096},              \
      {model, title, 64, 2048}, {                                                                                      \
    model, title, 64, 4096                                                                                             \
  }

static const struct point points[] = {DECODER("llama2-13b", "Llama-2-13B"),    DECODER("llama2-70b", "Llama-2-70B"),
                                      DECODER("gemma2-27b", "Gemma-2-27B"),    DECODER("opt-30b", "OPT-30B"),
                                      DECODER("mixtral-8x7b", "Mixtral-8x7B"), {"dit-xl2", "DiT-XL/2", 2, 0},
                                      {"dit-xl2", "DiT-XL/2", 8, 0},           {"dit-xl2", "DiT-XL/2", 32, 0}};
enum { POINT_COUNT = sizeof points / sizeof *points, JOBS_MAX = 16 };

/* The goals of the table. */
static const double goal_of_ideal = 0.97, goal_speed_up = 1.2, speed_up_from = 1.32, goal_of_bound = 1.10,
                    goal_space_gap = 0.05, goal_compile_s = 2, goal_memory_bytes = 200e6;

/* Columns of the published graph and machine. */
enum column { BASIC, STATIC, DYN, FULL, IDEAL, JOINT, COLUMN_COUNT };
static const struct plan_policy *const column_policies[COLUMN_COUNT] = {&plan_policy_basic, &plan_policy_static,
                                                                        &plan_policy_dyn,   &plan_policy_full,
                                                                        &plan_policy_ideal, &plan_policy_joint};

/* What a child tells of its point; plain data. */
struct outcome {
  bool is_done;
  double time_s[COLUMN_COUNT]; /* NaN: no schedule */
  double published_space_s;
  double free_ideal_s, free_joint_s; /* the published graph, partitions that may leave cores idle */
  double best_s, best_space_s, best_resource_s;
  double memory_use, link_use, matrix_use;
  double compile_s; /* CPU time of reading, sets and joint, everything on */
  uint64_t published_operators, best_operators;
  uint64_t compile_bytes; /* resident, peak until the compilation of joint is done */
  uint64_t plans_checked, plans_refused;
  uint64_t partitions_validated;
};

static double clock_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss * 1024;
}

static void print_diags(const struct diag_list *diags) {
  struct strbuf text = {0};
  for (size_t i = 0; i < diags->entries.count; i++) {
    diag_format(&diags->entries.data[i], &text);
  }
  fputs(strbuf_text(&text), stderr);
  strbuf_release(&text);
}

/* ---- one point, in a child ---- */

static struct program *make_program(const struct point *point, struct diag_list *diags) {
  const struct generate_model *model = generate_model_find(point->model, diags);
  struct generate_request request = {.phase = point->kv ? GENERATE_DECODE : GENERATE_FORWARD,
                                     .batch = point->batch,
                                     .sequence = point->kv ? point->kv : 1,
                                     .more_positions = true,
                                     .activations = DTYPE_BF16,
                                     .weights = DTYPE_BF16};
  struct ir_module *module = NULL;
  struct program *program = NULL;
  if (model && generate_module(model, &request, diags, &module) == STATUS_OK) {
    (void)program_adopt(point->model, module, diags, &program);
  }
  return program;
}

/* The plan as a file, read again and checked from the file alone; the checker puts every partition before the validator. */
static void check_plan(const struct point *point, const struct plan_result *result, const struct plan_row *row,
                       const struct plan_options *options, struct outcome *outcome) {
  struct plan_file written = {0}, file = {0};
  struct strbuf text = {0};
  struct diag_list diags;
  diag_init(&diags);
  bool is_sound = plan_file_of(result, row, &options->features, true, &written) == STATUS_OK
                  && plan_file_write(&written, &text) == STATUS_OK
                  && plan_file_read(point->model, strbuf_text(&text), text.length, &diags, &file) == STATUS_OK
                  && plan_check(&file, point->model, &diags) == STATUS_OK;
  outcome->plans_checked++;
  outcome->plans_refused += !is_sound;
  outcome->partitions_validated += is_sound ? file.step_count + file.load_count : 0;
  if (!is_sound) {
    fprintf(stderr, "%s, batch %u, %u: the plan of %s is refused\n", point->model, point->batch, point->kv,
            row->policy->name);
    print_diags(&diags);
  }
  plan_file_release(&file);
  plan_file_release(&written);
  strbuf_release(&text);
  diag_release(&diags);
}

static bool run_best(const struct point *point, const struct program *program, const struct hw_chip *chip,
                     struct diag_list *diags, struct outcome *outcome) {
  struct plan_result result = {0};
  double start_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  bool is_done = plan_run(program->unfused, chip, &plan_options_best, diags, &result) == STATUS_OK
                 && result.rows[0].status == STATUS_OK;
  outcome->compile_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start_s;
  if (is_done) {
    const struct plan_row *row = &result.rows[0];
    outcome->best_s = (double)row->result.timeline.makespan_ps * 1e-12;
    outcome->best_space_s = (double)result.bounds.chain_ps * 1e-12;
    outcome->best_resource_s = (double)result.resource.bound_ps * 1e-12;
    outcome->memory_use = row->memory_utilisation;
    outcome->link_use = row->link_utilisation;
    outcome->matrix_use = row->compute_utilisation;
    outcome->compile_bytes = peak_bytes();
    outcome->best_operators = result.program.operators.count;
    check_plan(point, &result, row, &plan_options_best, outcome);
  }
  plan_result_release(&result);
  return is_done;
}

static bool run_published(const struct point *point, const struct program *program, const struct hw_chip *chip,
                          struct diag_list *diags, struct outcome *outcome) {
  struct plan_options options = plan_options_published;
  struct plan_result result = {0};
  options.policies = column_policies;
  options.policy_count = COLUMN_COUNT;
  bool is_done = plan_run(program->unfused, chip, &options, diags, &result) == STATUS_OK;
  for (uint32_t i = 0; is_done && i < result.row_count; i++) {
    const struct plan_row *row = &result.rows[i];
    outcome->time_s[i] = row->status == STATUS_OK ? (double)row->result.timeline.makespan_ps * 1e-12 : (double)NAN;
    if (row->status == STATUS_OK && !row->policy->is_reference) {
      check_plan(point, &result, row, &options, outcome);
    }
  }
  outcome->published_space_s = (double)result.bounds.chain_ps * 1e-12;
  outcome->published_operators = result.program.operators.count;
  plan_result_release(&result);
  return is_done;
}

/* Ideal and joint on the published graph with our plan space: what the published rules for partitions cost the published planner. */
static bool run_free(const struct program *program, const struct hw_chip *chip, struct diag_list *diags,
                     struct outcome *outcome) {
  static const struct plan_policy *const policies[] = {&plan_policy_ideal, &plan_policy_joint};
  struct plan_options options = plan_options_published;
  struct plan_result result = {0};
  options.policies = policies;
  options.policy_count = 2;
  options.features.idle_cores = true;
  bool is_done = plan_run(program->unfused, chip, &options, diags, &result) == STATUS_OK
                 && result.rows[0].status == STATUS_OK && result.rows[1].status == STATUS_OK;
  if (is_done) {
    outcome->free_ideal_s = (double)result.rows[0].result.timeline.makespan_ps * 1e-12;
    outcome->free_joint_s = (double)result.rows[1].result.timeline.makespan_ps * 1e-12;
  }
  plan_result_release(&result);
  return is_done;
}

static void run_point(const struct point *point, const struct hw_chip *chip, int out) {
  struct outcome outcome = {0};
  struct diag_list diags;
  diag_init(&diags);
  struct program *program = make_program(point, &diags);
  outcome.is_done = program && run_best(point, program, chip, &diags, &outcome)
                    && run_published(point, program, chip, &diags, &outcome)
                    && run_free(program, chip, &diags, &outcome);
  if (!outcome.is_done) {
    fprintf(stderr, "%s, batch %u, %u: no plan\n", point->model, point->batch, point->kv);
    print_diags(&diags);
  }
  ssize_t written = write(out, &outcome, sizeof outcome);
  _exit(written == (ssize_t)sizeof outcome ? 0 : 1);
}

/* ---- all points ---- */

struct job {
  pid_t pid;
  int in;
  size_t point;
};

static bool start_job(struct job *job, size_t point, const struct hw_chip *chip) {
  int ends[2];
  fflush(NULL);
  if (pipe(ends) != 0) {
    return false;
  }
  job->point = point;
  job->in = ends[0];
  job->pid = fork();
  if (job->pid == 0) {
    close(ends[0]);
    run_point(&points[point], chip, ends[1]);
  }
  close(ends[1]);
  return job->pid > 0;
}

static void end_job(struct job *job, struct outcome *outcomes) {
  struct outcome outcome;
  if (read(job->in, &outcome, sizeof outcome) == (ssize_t)sizeof outcome) {
    outcomes[job->point] = outcome;
  }
  close(job->in);
}

static void run_points(const struct hw_chip *chip, const char *only, int jobs, struct outcome *outcomes) {
  struct job running[JOBS_MAX];
  int count = 0;
  for (size_t next = 0; next < POINT_COUNT || count > 0;) {
    while (next < POINT_COUNT && only && strcmp(points[next].model, only) != 0) {
      next++;
    }
    if (next < POINT_COUNT && count < jobs && start_job(&running[count], next, chip)) {
      next++;
      count++;
      continue;
    }
    if (count == 0) {
      break;
    }
    pid_t done = waitpid(-1, NULL, 0);
    for (int i = 0; i < count; i++) {
      if (running[i].pid == done) {
        end_job(&running[i], outcomes);
        running[i] = running[--count];
        break;
      }
    }
  }
}

/* ---- the table ---- */

static void print_rows(const struct outcome *outcomes) {
  printf("| model | batch | KV | Basic | Static | Dyn | Full | Ideal | joint, same graph | of Ideal | Ideal, free | "
         "joint, free | joint, all on | faster than Ideal | plans' bound | over it | resource bound | over it | memory "
         "| links | matrix | operators | "
         "compile | peak "
         "|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  for (size_t i = 0; i < POINT_COUNT; i++) {
    const struct outcome *o = &outcomes[i];
    if (!o->is_done) {
      continue;
    }
    printf("| %s | %u | ", points[i].title, points[i].batch);
    printf(points[i].kv ? "%u |" : "- |", points[i].kv);
    for (int c = 0; c < COLUMN_COUNT; c++) {
      printf(isnan(o->time_s[c]) ? " refused |" : " %.3f |", o->time_s[c] * 1e3);
    }
    printf(" %.1f %% | %.3f | %.3f | %.3f | %.2f× | %.3f | %.1f %% | %.3f | %.1f %% | %.0f %% | %.0f %% | %.0f %% | "
           "%llu → %llu | "
           "%.2f s "
           "| %.0f MB |\n",
           100 * o->time_s[IDEAL] / o->time_s[JOINT], o->free_ideal_s * 1e3, o->free_joint_s * 1e3, o->best_s * 1e3,
           o->time_s[IDEAL] / o->best_s, o->best_space_s * 1e3, 100 * (o->best_s / o->best_space_s - 1),
           o->best_resource_s * 1e3, 100 * (o->best_s / o->best_resource_s - 1), 100 * o->memory_use, 100 * o->link_use,
           100 * o->matrix_use, (unsigned long long)o->published_operators, (unsigned long long)o->best_operators,
           o->compile_s, (double)o->compile_bytes / 1e6);
  }
}

/* Sums over the points for the goals. */
struct sums {
  size_t count, above, elsewhere, free_above;
  double free_of_ideal, free_speed_up;
  double of_ideal, speed_up, space_gap, published_gap, resource_worst, compile_most, memory_most;
  double full_over_dyn, joint_over_dyn;
  uint64_t checked, refused, partitions;
};

static struct sums add_up(const struct outcome *outcomes) {
  struct sums s = {0};
  for (size_t i = 0; i < POINT_COUNT; i++) {
    const struct outcome *o = &outcomes[i];
    if (!o->is_done) {
      continue;
    }
    double over = o->best_s / o->best_resource_s;
    s.count++;
    s.of_ideal += log(o->time_s[IDEAL] / o->time_s[JOINT]);
    s.free_of_ideal += log(o->free_ideal_s / o->free_joint_s);
    if (o->free_ideal_s >= speed_up_from * o->best_resource_s) {
      s.free_above++;
      s.free_speed_up += log(o->free_ideal_s / o->best_s);
    }
    s.space_gap += o->best_s / o->best_space_s - 1;
    s.published_gap += o->time_s[JOINT] / o->published_space_s - 1;
    s.full_over_dyn += log(o->time_s[DYN] / o->time_s[FULL]);
    s.joint_over_dyn += log(o->time_s[DYN] / o->time_s[JOINT]);
    if (o->time_s[IDEAL] >= speed_up_from * o->best_resource_s) {
      s.above++;
      s.speed_up += log(o->time_s[IDEAL] / o->best_s);
    } else {
      s.elsewhere++;
      s.resource_worst = over > s.resource_worst ? over : s.resource_worst;
    }
    s.compile_most = fmax(s.compile_most, o->compile_s);
    s.memory_most = fmax(s.memory_most, (double)o->compile_bytes);
    s.checked += o->plans_checked;
    s.refused += o->plans_refused;
    s.partitions += o->partitions_validated;
  }
  return s;
}

static double mean(double sum, size_t count) {
  return count ? sum / (double)count : (double)NAN;
}

static void goal(bool is_met, const char *text) {
  printf("| %s | %s |\n", text, is_met ? "met" : "**not met**");
}

/* A goal about some of the points when there are none of them. */
static void goal_of(size_t count, bool is_met, const char *text) {
  if (count) {
    goal(is_met, text);
  } else {
    printf("| %s | no such point |\n", text);
  }
}

/* The same two goals against a stronger Ideal than the published one: it may use every partition that joint may. */
static void print_free_goals(const struct sums *s) {
  char text[256];
  double of_ideal = exp(mean(s->free_of_ideal, s->count)), speed_up = exp(mean(s->free_speed_up, s->free_above));
  snprintf(text, sizeof text, "the same with free partitions for both: %.2f %%", 100 * of_ideal);
  goal(of_ideal >= goal_of_ideal, text);
  snprintf(text, sizeof text, "all on beside Ideal with free partitions, geometric mean of %zu points: %.3f×",
           s->free_above, speed_up);
  goal_of(s->free_above, speed_up >= goal_speed_up, text);
}

static void print_goals(const struct sums *s, double took_s) {
  char text[256];
  printf("\n%zu points. Geometric means on the published graph: Full is %.2f %% faster than Dyn, joint %.2f %%.\n\n"
         "| goal | |\n|---|---|\n",
         s->count, 100 * (exp(mean(s->full_over_dyn, s->count)) - 1),
         100 * (exp(mean(s->joint_over_dyn, s->count)) - 1));
  double of_ideal = exp(mean(s->of_ideal, s->count));
  snprintf(text, sizeof text, "joint at least %.0f %% of Ideal on the same graph, geometric mean: %.2f %%",
           100 * goal_of_ideal, 100 * of_ideal);
  goal(of_ideal >= goal_of_ideal, text);
  double speed_up = exp(mean(s->speed_up, s->above));
  snprintf(
      text, sizeof text,
      "all on, at least %.1f× faster than that Ideal where it is %.2f× the resource bound or more, geometric mean of "
      "%zu points: %.3f×",
      goal_speed_up, speed_up_from, s->above, speed_up);
  goal_of(s->above, speed_up >= goal_speed_up, text);
  print_free_goals(s);
  snprintf(text, sizeof text, "within %.0f %% of the resource bound elsewhere, worst of %zu points: %.1f %%",
           100 * (goal_of_bound - 1), s->elsewhere, s->elsewhere ? 100 * (s->resource_worst - 1) : (double)NAN);
  goal_of(s->elsewhere, s->resource_worst <= goal_of_bound, text);
  snprintf(text, sizeof text, "mean gap to the plan-space bound at most %.0f %%: %.2f %% (published graph %.2f %%)",
           100 * goal_space_gap, 100 * mean(s->space_gap, s->count), 100 * mean(s->published_gap, s->count));
  goal(mean(s->space_gap, s->count) <= goal_space_gap, text);
  snprintf(text, sizeof text, "compiled in less than %.0f s of one core and %.0f MB, worst: %.2f s, %.0f MB",
           goal_compile_s, goal_memory_bytes / 1e6, s->compile_most, s->memory_most / 1e6);
  goal(s->compile_most < goal_compile_s && s->memory_most < goal_memory_bytes, text);
  snprintf(text, sizeof text,
           "every plan passes the checker and the validator: %llu plans, %llu partitions, %llu refused",
           (unsigned long long)s->checked, (unsigned long long)s->partitions, (unsigned long long)s->refused);
  goal(s->refused == 0, text);
  snprintf(text, sizeof text, "the whole table in less than 10 minutes: %.0f s", took_s);
  goal(took_s < 600, text);
}

int main(int argc, char **argv) {
  const char *chip_name = "ipu", *only = NULL;
  int jobs = 2;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--on") == 0) {
      chip_name = argv[i + 1];
    } else if (strcmp(argv[i], "--only") == 0) {
      only = argv[i + 1];
    } else if (strcmp(argv[i], "--jobs") == 0) {
      jobs = (int)strtol(argv[i + 1], NULL, 10);
    }
  }
  struct hw_database chips;
  struct diag_list diags;
  diag_init(&diags);
  const char *directory = getenv("RIDGELINE_HARDWARE");
  (void)hw_database_load(&chips, directory ? directory : RDG_SOURCE_DIR "/hardware", &diags);
  const struct hw_chip *chip = hw_database_find(&chips, chip_name, &diags);
  struct outcome *outcomes = calloc(POINT_COUNT, sizeof *outcomes);
  if (!chip || !outcomes) {
    print_diags(&diags);
    return 1;
  }
  double start = clock_s(CLOCK_MONOTONIC);
  run_points(chip, only, jobs < 1 ? 1 : jobs > JOBS_MAX ? JOBS_MAX : jobs, outcomes);
  double took_s = clock_s(CLOCK_MONOTONIC) - start;
  print_rows(outcomes);
  struct sums sums = add_up(outcomes);
  print_goals(&sums, took_s);
  free(outcomes);
  hw_database_release(&chips);
  diag_release(&diags);
  return sums.count > 0 && sums.refused == 0 ? 0 : 1;
}
