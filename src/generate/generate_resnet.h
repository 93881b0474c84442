/* Training steps of residual networks (ResNet-18 to ResNet-200) on images, data parallel over devices, as a StableHLO module
 * of one device with explicit collectives: what JAX exports for the ImageNet example of Flax under pmap, which
 * data/workloads/resnet_50_train_step_4_devices_1024_batch.mlir holds for ResNet-50.
 *
 * Path: generate_resnet (rows, checks, @main) → _layers (convolutions and blocks, forward and backward) → _norm (batch
 * normalisation) → _loss, _update → _ops (operations) → generate_build. What a module contains: docs/generate.md. */
#ifndef RIDGELINE_GENERATE_GENERATE_RESNET_H
#define RIDGELINE_GENERATE_GENERATE_RESNET_H

#include "generate/generate.h"

enum { GENERATE_RESNET_STAGES = 4 };

struct generate_resnet {
  const char *name; /* "resnet50" */
  const char *summary, *source; /* title and address of the configuration's publication */
  uint32_t depth;
  bool is_bottleneck; /* blocks of 1x1, 3x3 and 1x1 with four times the channels, else of two 3x3 */
  uint32_t stages[GENERATE_RESNET_STAGES]; /* blocks of each; 0 = there is none */
  uint32_t width; /* channels of the first stage, before a bottleneck's factor; each stage doubles them */
  uint32_t side, classes; /* images of side x side x 3 */
  uint64_t published_parameters; /* of weights, as published, for the check */
};
/* NULL-terminated. */
extern const struct generate_resnet *const generate_resnets[];
/* By name, case ignored; NULL when there is none of it. */
const struct generate_resnet *generate_resnet_find(const char *name);
/* By depth: 18, 34, 50, 101, 152, 200; NULL for others. */
const struct generate_resnet *generate_resnet_of_depth(uint32_t depth);

struct generate_resnet_training {
  uint32_t data; /* devices; 0 = 1 */
  uint32_t global_batch; /* images per step, all devices */
  enum dtype compute; /* F16, BF16 or F32: activations and weights in products; weights and updates are F32 */
  bool has_local_statistics; /* batch statistics of each device's images, else of all */
};

/* A new module with one function @main on mhlo.num_replicas = data devices. Arguments: "step", "weights.NAME",
 * "optimizer.first.NAME" (momenta), "count", "statistics.NAME" (running), "images" and "labels", named as Flax names them
 * and in its order; results the same without inputs, then "accuracy", "learning_rate", "loss". E0805 for a batch that the
 * devices do not divide, and for types that products do not take. */
enum status generate_resnet_training(const struct generate_resnet *model,
                                     const struct generate_resnet_training *training, struct diag_list *diags,
                                     struct ir_module **module);
/* Elements of all weights; 0 when memory is exhausted. */
uint64_t generate_resnet_parameters(const struct generate_resnet *model);
/* FLOPs of one step of all devices, the number that MFU is defined with: products forward and twice backward, padding
 * counted as data. */
double generate_resnet_training_flops(const struct generate_resnet *model,
                                      const struct generate_resnet_training *training);

#endif
