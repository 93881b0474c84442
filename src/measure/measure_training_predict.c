/* Step times of configurations: generated module → program → parts of a step, timed → step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "measure/measure_distributed.h"
#include "program/program_step.h"

struct job {
  struct training_row *row;
  struct hw_chip chip; /* the system's variant */
  const struct hw_cluster *cluster;
  struct diag_list diags;
  enum status status;
};

/* The host starts kernels one after the other, `host_s` each, ahead of the device; where the device is faster it waits, and
 * the wait counts with the task that it ends in. */
static void wait_for_host(const struct work_graph *graph, struct work_graph_result *times, double host_s) {
  double host = 0, device = 0;
  for (size_t i = 0; i < graph->tasks.count && host_s > 0; i++) {
    double time_s = times->tasks[i].time_s;
    host += time_s > 0 || graph->tasks.data[i].collective != 0 ? host_s : 0;
    if (device < host && time_s > 0) {
      times->tasks[i].time_s += host - device;
      device = host;
    }
    device += time_s;
  }
}

/* Fused attention takes as long as the framework's kernels of its time do. */
static void limit_attention(const struct work_graph *graph, const struct job *job, struct work_graph_result *times) {
  const struct training_source *source = job->row->source;
  double share = hw_chip_is_a(&job->chip, "nvidia_hopper") ? source->attention_share_hopper : source->attention_share;
  double rate = 0, most = job->row->hardware->attention_flops;
  enum dtype runs_as;
  if (share > 0 && hw_chip_matrix_rate(&job->chip, job->row->training.compute, &rate, &runs_as)) {
    most = share * rate;
  }
  if (!(most > 0)) {
    return;
  }
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    double ops = 0;
    for (uint32_t d = 0; d < task->demand_count && task->kind == WORK_ATTENTION; d++) {
      const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + d];
      ops += entry->engine == WORK_ENGINE_MATRIX ? (double)entry->ops : 0;
    }
    times->tasks[i].time_s = fmax(times->tasks[i].time_s, ops / most);
  }
}

/* Copies of a token that travel, over those that experts get: of k experts spread evenly over n nodes (over n ranks within
 * one node) n (1 - (1 - 1/n)^k) different ones get it. */
static double sent_share(const struct job *job) {
  const struct generate_training *t = &job->row->training;
  double copies = job->row->architecture.experts_per_token, node = job->cluster->dimensions[0].size;
  double places = node > 0 ? ceil((double)t->expert * t->tensor / node) : 1;
  places = places > 1 ? places : t->expert;
  return places > 1 && copies > 1 ? places * (1 - pow(1 - 1 / places, copies)) / copies : 1;
}

static void send_once(const struct job *job, struct work_graph *graph) {
  double share = job->row->source->sends_once ? sent_share(job) : 1;
  for (size_t i = 0; i < graph->collectives.count && share < 1; i++) {
    struct work_collective *collective = &graph->collectives.data[i];
    if (collective->kind == WORK_ALL_TO_ALL) {
      collective->bytes_per_rank = (uint64_t)((double)collective->bytes_per_rank * share);
      collective->input_bytes = (uint64_t)((double)collective->input_bytes * share);
      collective->output_bytes = (uint64_t)((double)collective->output_bytes * share);
    }
  }
}

/* What the framework's host and attention kernels of their time cost beside the kernel models. */
static void change_times(const struct job *job, struct program_step *step) {
  for (size_t i = 0; i < step->part_count; i++) {
    send_once(job, step->parts[i].graph);
    limit_attention(step->parts[i].graph, job, &step->parts[i].result.root);
    wait_for_host(step->parts[i].graph, &step->parts[i].result.root, job->row->source->host_s);
  }
}

static enum status run_step(struct job *job, struct program_step *step) {
  struct training_row *row = job->row;
  struct hw_slice slice;
  struct step_options options = {0};
  struct step_result result;
  if (step->refusal) {
    diag_file(&job->diags, DIAG_E0805_GENERATE, NULL, 0, 0, "%s: %s", row->model, step->refusal);
    return STATUS_INPUT;
  }
  STATUS_TRY(hw_slice_of(job->cluster, row->devices, NULL, &job->diags, &slice));
  change_times(job, step);
  step_result_init(&result);
  enum status status = step_run(&step->step, job->cluster, &slice, &job->chip, &options, &job->diags, &result);
  if (status == STATUS_OK) {
    row->predicted_s = result.time_s;
    row->compute_s = result.compute_s;
    row->exposed_s = result.exposed_s;
    row->bubble_s = result.bubble_s;
    row->other_s = result.dispatch_s + result.straggler_s;
  }
  step_result_release(&result);
  return status;
}

static enum status run_module(struct job *job, struct ir_module *module) {
  /* PyTorch runs one kernel per operation or composite: no compiler joins them */
  struct program_step_options options = {.without_fusion = job->row->training.framework != GENERATE_XLA};
  struct program *program = NULL;
  struct program_step *step = NULL;
  struct hw_chip device;
  STATUS_TRY(program_adopt(job->row->model, module, &job->diags, &program));
  step_device_of(job->cluster, &job->chip, &device);
  enum status status = program_step_read(program, &device, &options, &job->diags, &step);
  if (status == STATUS_OK) {
    status = run_step(job, step);
  }
  program_step_free(step);
  program_free(program);
  return status;
}

/* Virtual stages that the layers do not fill are halved: the published number counts unequal ones. */
static enum status generate(struct job *job, struct ir_module **module) {
  struct training_row *row = job->row;
  enum status status = STATUS_INPUT;
  for (;;) {
    struct diag_list refusals;
    diag_init(&refusals);
    bool may_halve = row->training.virtual_stages > 1 && row->training.virtual_stages % 2 == 0;
    status = generate_training_module(&row->architecture, &row->training, may_halve ? &refusals : &job->diags, module);
    diag_release(&refusals);
    if (status != STATUS_INPUT || !may_halve) {
      return status;
    }
    row->training.virtual_stages /= 2;
    row->note = "virtual stages halved until the layers fill them";
  }
}

static void run_job(void *user, size_t i) {
  struct job *job = (struct job *)user + i;
  struct ir_module *module = NULL;
  job->status = generate(job, &module);
  if (job->status == STATUS_OK) {
    job->status = run_module(job, module);
  }
}

/* Fraction of the clock that a chip keeps at a part of the power that it draws at full clock: power is the clock times the
 * square of the voltage, which falls to half as the clock falls to nothing (kernel_board.h). */
static double clock_under_power(double share) {
  double low = 0, high = 1;
  for (int step = 0; step < 40; step++) {
    double x = (low + high) / 2, voltage = 0.5 + 0.5 * x;
    *(x * voltage * voltage > share ? &high : &low) = x;
  }
  return low;
}

static void scale_rates(struct hw_chip *chip, double factor) {
  for (int d = 0; d < DTYPE_COUNT; d++) {
    chip->matrix_flops[d] *= factor;
    chip->vector_flops[d] *= factor;
  }
}

static void vary_chip(struct job *job) {
  const struct training_hardware *system = job->row->hardware;
  struct hw_chip *chip = &job->chip;
  chip->memory_Bps = system->memory_Bps > 0 ? system->memory_Bps : chip->memory_Bps;
  chip->memory_size_bytes = system->memory_size_bytes > 0 ? system->memory_size_bytes : chip->memory_size_bytes;
  if (system->power_share > 0) {
    chip->tdp_W *= system->power_share;
    scale_rates(chip, clock_under_power(system->power_share));
  }
  if (job->row->training.products == DTYPE_I8) { /* bytes either way: the generators have them as f8 */
    chip->matrix_flops[DTYPE_F8E4M3FN] = chip->matrix_flops[DTYPE_I8];
    job->row->training.products = DTYPE_F8E4M3FN;
  }
}

static void imply_mfu(struct job *job) {
  const struct generate_training *t = &job->row->training;
  double flops;
  enum dtype runs_as;
  if (hw_chip_matrix_rate(&job->chip, t->products != DTYPE_NONE ? t->products : t->compute, &flops, &runs_as)) {
    job->row->implied_mfu = job->row->model_flops / ((double)job->row->devices * flops * job->row->measured_s);
  }
}

static void refuse(struct training_rows *rows, struct job *job) {
  const char *why = job->diags.entries.count > 0 ? job->diags.entries.data[0].message : "no message";
  job->row->skip = TRAINING_REFUSED;
  job->row->note = arena_strndup(&rows->arena, why, strlen(why));
}

enum status training_predict(struct training_rows *rows, const struct hw_database *chips,
                             const struct hw_clusters *clusters, struct diag_list *diags) {
  size_t count = 0;
  struct job *jobs = calloc(rows->list.count + 1, sizeof *jobs);
  if (!jobs) {
    return STATUS_MEMORY;
  }
  for (size_t i = 0; i < rows->list.count; i++) {
    struct training_row *row = &rows->list.data[i];
    const struct hw_chip *chip =
        row->skip == TRAINING_TAKEN ? hw_database_find(chips, row->hardware->chip, diags) : NULL;
    const struct hw_cluster *cluster = chip ? hw_clusters_find(clusters, row->hardware->cluster, diags) : NULL;
    if (cluster) {
      jobs[count] = (struct job){.row = row, .chip = *chip, .cluster = cluster};
      diag_init(&jobs[count].diags);
      vary_chip(&jobs[count]);
      imply_mfu(&jobs[count++]);
    }
  }
  parallel_for(count, 0, run_job, jobs);
  enum status status = STATUS_OK;
  for (size_t i = 0; i < count; i++) {
    if (jobs[i].status == STATUS_MEMORY) {
      status = STATUS_MEMORY;
    } else if (jobs[i].status != STATUS_OK) {
      refuse(rows, &jobs[i]);
    }
    diag_release(&jobs[i].diags);
  }
  free(jobs);
  return status;
}
