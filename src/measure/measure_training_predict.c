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

/* The host starts kernels one after the other, ahead of the device; where the device is faster it waits, and
 * the wait counts with the task that it ends in. */
static void wait_for_host(const struct training_row *row, const struct work_graph *graph,
                          struct work_graph_result *times) {
  double host = 0, device = 0;
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    double time_s = times->tasks[i].time_s;
    host += time_s > 0 || task->collective != 0 ? training_host_s(row, graph, task) : 0;
    if (device < host && time_s > 0) {
      times->tasks[i].time_s += host - device;
      device = host;
    }
    device += time_s;
  }
}

/* Seconds of a task's matrix operations at a share of the chip's rate. */
static double matrix_s(const struct work_graph *graph, const struct work_task *task, const struct hw_chip *chip,
                       double share) {
  double time_s = 0, rate;
  enum dtype runs_as;
  for (uint32_t d = 0; d < task->demand_count && share > 0; d++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + d];
    if (entry->engine == WORK_ENGINE_MATRIX && hw_chip_matrix_rate(chip, (enum dtype)entry->dtype, &rate, &runs_as)) {
      time_s += (double)entry->ops / (share * rate);
    }
  }
  return time_s;
}

/* Of the forward pass's rate in the backward pass of attention: FlashAttention-2 reaches 63 % and 73 % of an A100 (Dao 2023, arXiv
 * 2307.08691). */
static const double BACKWARD_SHARE = 0.63 / 0.73;
enum { MANY_EXPERTS = 32 }; /* between the 8 and 56 that were measured, see MEGABLOX */

/* A product of each of many experts: one of its axes is their number. */
static bool is_grouped(const struct work_graph *graph, const struct work_task *task, const struct training_row *row) {
  uint32_t ranks = row->training.expert > 1 ? row->training.expert : 1, experts = row->architecture.experts / ranks;
  bool is_found = false;
  for (uint32_t s = 0; s < task->stage_count && row->architecture.experts >= MANY_EXPERTS; s++) {
    const struct work_stage *stage = &graph->stages.data[task->stage_first + s];
    for (uint32_t a = 0; a < stage->axis_count && stage->kind == WORK_MATMUL; a++) {
      const struct work_axis *axis = &graph->axes.data[stage->axis_first + a];
      is_found |= axis->role == WORK_AXIS_BATCH && axis->extent == (int64_t)experts;
    }
  }
  return is_found;
}

/* Seconds of a task's matrix operations at a share of the chip's rate in the type that the program computes in. */
static double grouped_s(const struct work_graph *graph, const struct work_task *task, const struct job *job) {
  double ops = 0, share = job->row->source->grouped_share, rate;
  enum dtype runs_as;
  for (uint32_t d = 0; d < task->demand_count; d++) {
    const struct work_demand_entry *entry = &graph->demands.data[task->demand_first + d];
    ops += entry->engine == WORK_ENGINE_MATRIX ? (double)entry->ops : 0;
  }
  bool is_limited = share > 0 && hw_chip_matrix_rate(&job->chip, job->row->training.compute, &rate, &runs_as);
  return is_limited ? ops / (share * rate) : 0;
}

/* Five products of the shape of the scores, where the forward pass has two. */
static bool is_attention_backward(const struct work_graph *graph, const struct work_task *task) {
  const struct work_stage *stage = task->stage_count > 0 ? &graph->stages.data[task->stage_first] : NULL;
  return stage && stage->op_count > 0 && graph->ops.data[stage->op_first].count > 2;
}

/* Of cuDNN's kernels; 0 = as fast as the kernel model. */
static double attention_share(const struct job *job, bool is_backward) {
  const struct training_source *source = job->row->source;
  if (hw_chip_is_a(&job->chip, "nvidia_hopper")) {
    return is_backward ? source->backward_share_hopper : 0;
  }
  bool is_blackwell = hw_chip_is_a(&job->chip, "nvidia_blackwell");
  return is_blackwell ? source->attention_share_blackwell * (is_backward ? BACKWARD_SHARE : 1) : 0;
}

/* Fused attention and large products take as long as the framework's kernels of its time do. */
static void limit_matrices(const struct work_graph *graph, const struct job *job, struct work_graph_result *times) {
  const struct training_source *source = job->row->source;
  bool is_hopper = hw_chip_is_a(&job->chip, "nvidia_hopper");
  double attention = is_hopper ? source->attention_share_hopper : source->attention_share, rate = 0;
  double product = is_hopper ? source->product_share_hopper : source->product_share;
  enum dtype runs_as;
  if (job->row->hardware->attention_flops > 0
      && hw_chip_matrix_rate(&job->chip, job->row->training.compute, &rate, &runs_as)) {
    attention = job->row->hardware->attention_flops / rate;
  }
  for (size_t i = 0; i < graph->tasks.count; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    double share = task->kind == WORK_ATTENTION ? attention : task->kind == WORK_MATMUL ? product : 0;
    if (task->kind == WORK_ATTENTION && share <= 0) {
      share = attention_share(job, is_attention_backward(graph, task));
    }
    times->tasks[i].time_s = fmax(times->tasks[i].time_s, matrix_s(graph, task, &job->chip, share));
    if (is_grouped(graph, task, job->row)) {
      times->tasks[i].time_s = fmax(times->tasks[i].time_s, grouped_s(graph, task, job));
    }
  }
}

/* Passes over memory take at least as long as the framework's kernels need for their bytes. */
static void limit_passes(const struct work_graph *graph, const struct job *job, struct work_graph_result *times) {
  const struct training_source *source = job->row->source;
  bool is_measured = hw_chip_is_a(&job->chip, "nvidia_ampere") && job->chip.memory_Bps > 0;
  for (size_t i = 0; i < graph->tasks.count && is_measured; i++) {
    const struct work_task *task = &graph->tasks.data[i];
    enum work_class class_of = work_kind_info((enum work_kind)task->kind)->class_of;
    double share = class_of == WORK_CLASS_ELEMENTWISE ? source->pass_share
                   : class_of == WORK_CLASS_REDUCTION ? source->row_share
                                                      : 0;
    if (share > 0 && times->tasks[i].time_s > 0) {
      double bytes = (double)task->read_bytes + (double)task->write_bytes;
      times->tasks[i].time_s = fmax(times->tasks[i].time_s, bytes / (share * job->chip.memory_Bps));
    }
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

/* Metrics of the trainer follow the forward pass; their time counts with the last task of it or, where a step is one part, of
 * that. */
static void add_metrics(const struct job *job, struct program_step *step) {
  const struct generate_training *t = &job->row->training;
  struct work_graph_result *times = &step->parts[0].result.root;
  size_t last = step->parts[0].graph->tasks.count;
  while (last > 0 && !(times->tasks[last - 1].time_s > 0)) {
    last--;
  }
  if (last > 0 && job->chip.memory_Bps > 0) {
    double logits = (double)t->micro_batch * t->sequence / t->context * job->row->architecture.vocabulary / t->tensor;
    times->tasks[last - 1].time_s += logits * job->row->source->logit_bytes / job->chip.memory_Bps;
  }
}

/* What the framework's host and kernels of their time cost beside the kernel models. */
static void change_times(const struct job *job, struct program_step *step) {
  if (step->part_count > 0) {
    add_metrics(job, step);
  }
  for (size_t i = 0; i < step->part_count; i++) {
    send_once(job, step->parts[i].graph);
    limit_matrices(step->parts[i].graph, job, &step->parts[i].result.root);
    limit_passes(step->parts[i].graph, job, &step->parts[i].result.root);
    training_engine(job->row, &job->chip, step->parts[i].graph, &step->parts[i].result.root);
    wait_for_host(job->row, step->parts[i].graph, &step->parts[i].result.root);
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

/* f16 and bf16 have the same bytes and, on chips with both, the same rate. The kernel constants of f16 on A100 come from the
 * layers of one serving framework: products of the sizes of training that were measured in f16 (measured/llmcompass) come out
 * a fifth too slow with them, scores of attention three quarters; with those of bf16, 3 and 10 %. */
static void use_constants_of_bf16(struct generate_training *training, const struct hw_chip *chip) {
  if (training->compute == DTYPE_F16 && chip->matrix_flops[DTYPE_F16] > 0
      && chip->matrix_flops[DTYPE_F16] == chip->matrix_flops[DTYPE_BF16]) {
    training->compute = DTYPE_BF16;
    training->gradients = training->gradients == DTYPE_F16 ? DTYPE_BF16 : training->gradients;
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
  use_constants_of_bf16(&job->row->training, chip);
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
