/* What Transformer Engine's kernels cost beside those that a generated step is written with: operands quantised for the
 * forward and the backward product, experts one by one, exchanges between tensor ranks inside products. Path: step with
 * times of the kernel models → here → measure_training_predict. */
#include <math.h>

#include "measure/measure_training.h"

/* Bytes that casts of a bf16 value move over the 3 of one cast (2 read, 1 written). Hopper's f8 products take one layout
 * only, so that the gradient's product needs a transposed copy: 2 + 1 + 1 with yesterday's scale (delayed), 2 + 2 + 1 + 1
 * when the greatest value is looked for first (current). Blackwell's take either layout: 2 + 2 + 1. Blocks have a scale
 * along each direction, so that two copies are made: 52.3 us, where one copy of 8,192 x 8,192 takes 34.8 on a B200 (Transformer
 * Engine's kernels, ROCm/TransformerEngine pull request 598). f4 has a scale of the whole beside those of blocks and is turned
 * (Hadamard) along each direction: 2 + 2 + 0.5 + 0.5 over 2.5. */
static double cast_share(const struct training_row *row, const struct hw_chip *chip) {
  bool is_hopper = hw_chip_is_a(chip, "nvidia_hopper"), is_blocks = row->scaling == TRAINING_BLOCK_SCALING;
  if (row->training.products == DTYPE_F4E2M1FN) {
    return 5 / 2.5;
  }
  if (is_blocks && !is_hopper) {
    return 52.3 / 34.8;
  }
  return is_hopper ? (row->scaling == TRAINING_DELAYED_SCALING ? 4.0 / 3 : 6.0 / 3) : 5.0 / 3;
}

static enum dtype dtype_of(const struct work_graph *graph, uint32_t access) {
  return (enum dtype)graph->tensors.data[graph->accesses.data[access].tensor].dtype;
}

/* A pass that writes the type of products. */
static bool is_cast(const struct work_graph *graph, const struct work_task *task, enum dtype products) {
  bool writes = false;
  for (uint32_t a = task->read_count; a < task->access_count; a++) {
    writes |= dtype_of(graph, task->access_first + a) == products;
  }
  return writes && task->kind != WORK_MATMUL && task->collective == 0 && task->read_count > 0
         && dtype_of(graph, task->access_first) != products;
}

static uint32_t experts_of(const struct training_row *row) {
  return row->architecture.experts / (row->training.expert > 1 ? row->training.expert : 1);
}

/* The task is of each expert: its outermost axis counts them. */
static bool is_of_experts(const struct work_graph *graph, const struct work_task *task,
                          const struct training_row *row) {
  const struct work_stage *stage = task->stage_count > 0 ? &graph->stages.data[task->stage_first] : NULL;
  return row->architecture.experts > 0 && stage && stage->axis_count >= 3
         && graph->axes.data[stage->axis_first].extent == (int64_t)experts_of(row);
}

double training_host_s(const struct training_row *row, const struct work_graph *graph, const struct work_task *task) {
  const struct training_source *source = row->source;
  if (row->architecture.experts == 0 || !(source->expert_host_s > 0)) {
    return source->host_s;
  }
  bool is_theirs = is_of_experts(graph, task, row);
  if (is_theirs && task->kind == WORK_MATMUL) {
    return experts_of(row) * source->expert_host_s;
  }
  bool is_theirs_cast =
      is_theirs && row->training.products != DTYPE_NONE && is_cast(graph, task, row->training.products);
  return (is_theirs_cast ? experts_of(row) : 1) * source->layer_host_s;
}

static void cast_twice(const struct training_row *row, const struct hw_chip *chip, const struct work_graph *graph,
                       struct work_graph_result *times) {
  enum dtype products = row->training.products;
  bool is_engine = row->source->casts_twice && (products == DTYPE_F8E4M3FN || products == DTYPE_F4E2M1FN);
  for (size_t i = 0; is_engine && i < graph->tasks.count; i++) {
    if (is_cast(graph, &graph->tasks.data[i], products)) {
      times->tasks[i].time_s *= cast_share(row, chip);
    }
  }
}

/* Tensor ranks are neighbours, context ranks are as far apart as a tensor group is large. */
static bool is_between(const struct work_graph *graph, const struct work_collective *collective, uint32_t ranks,
                       uint32_t distance) {
  if (collective->groups == 0 || collective->group_size != ranks || ranks < 2) {
    return false;
  }
  const struct work_groups *groups = &graph->groups.data[collective->groups - 1];
  const uint32_t *members = &graph->members.data[groups->member_first];
  return groups->member_count >= 2 && members[1] == members[0] + distance
         && (collective->kind == WORK_ALL_GATHER || collective->kind == WORK_REDUCE_SCATTER);
}

/* A ring in as many parts as ranks, each beside the work on the part before: products between tensor ranks (userbuffers),
 * attention between context ranks (Megatron's context parallelism, cp_comm_type "p2p"). What is left is one part. */
static void exchange_inside_kernels(const struct training_row *row, struct work_graph *graph) {
  const struct generate_training *t = &row->training;
  bool in_products = t->overlap_tensor && row->architecture.experts == 0;
  for (size_t i = 0; row->source->exchanges_inside && i < graph->collectives.count; i++) {
    struct work_collective *collective = &graph->collectives.data[i];
    uint32_t parts = in_products && is_between(graph, collective, t->tensor, 1) ? t->tensor
                     : is_between(graph, collective, t->context, t->tensor)     ? t->context
                                                                                : 1;
    collective->bytes_per_rank /= parts;
    collective->input_bytes /= parts;
    collective->output_bytes /= parts;
  }
}

void training_engine(const struct training_row *row, const struct hw_chip *chip, struct work_graph *graph,
                     struct work_graph_result *times) {
  cast_twice(row, chip, graph, times);
  exchange_inside_kernels(row, graph);
}
