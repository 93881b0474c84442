/* Residual networks under construction; used by generate_resnet*.c only.
 *
 * The network is first planned: its convolutions, each with the normalisation behind it, in blocks, and its parameters. Then
 * it is walked forward, keeping what the backward pass reads, and backward.
 *
 * Operations are those that JAX writes, one by one, with those that nobody reads (which compilers drop): equal counts of
 * operations are the check against the published program. */
#ifndef RIDGELINE_GENERATE_GENERATE_RESNET_INT_H
#define RIDGELINE_GENERATE_GENERATE_RESNET_INT_H

#include "base/vec.h"
#include "generate/generate_build.h"
#include "generate/generate_resnet.h"

/* Numbers that are made once and used everywhere. */
enum resnet_number {
  RESNET_ZERO,
  RESNET_ONE,
  RESNET_TWO,
  RESNET_COMPUTE_ZERO, /* of the type of products */
  RESNET_EPSILON,
  RESNET_MINUS_HALF,
  RESNET_KEEP, /* of momenta and of running statistics */
  RESNET_TAKE, /* of new statistics */
  RESNET_PLAIN_ZERO, /* of the learning rate and of labels: Python's own numbers */
  RESNET_PLAIN_ONE,
  RESNET_HALF,
  RESNET_PI,
  RESNET_WARMUP, /* steps */
  RESNET_DECAY, /* steps */
  RESNET_RATE,
  RESNET_MINUS_RATE,
  RESNET_COUNT_ZERO, /* i32 */
  RESNET_NUMBERS
};

struct resnet_parameter {
  char name[64]; /* "BottleneckResNetBlock_3.Conv_0.kernel" */
  struct generate_shape shape;
  uint32_t weight, momentum; /* arguments */
  struct ir_value decay; /* gradient of the penalty on its square; 0 = it has none */
  struct ir_value gradient; /* of this device, then of all, then the change of the weight */
  struct ir_value next, next_momentum;
};

struct resnet_statistic {
  char name[64]; /* "BottleneckResNetBlock_3.BatchNorm_0.mean" */
  uint32_t channels, argument;
  struct ir_value updated; /* of this device, then the mean of all */
};

/* A batch normalisation. */
struct resnet_norm {
  uint32_t scale, bias; /* parameters */
  uint32_t mean, variance; /* statistics */
  uint32_t channels;
  /* for the backward pass; the last three are [1, 1, 1, channels] but `gate` and `twice_mean`, which are [channels] */
  struct ir_value centred, twice_input;
  struct ir_value root, slope, scale_row, scaled_root; /* 1 / deviation, its derivative by the variance, ... */
  struct ir_value gate, twice_mean;
};

/* A convolution and the normalisation behind it. */
struct resnet_unit {
  uint32_t kernel; /* parameter */
  uint32_t size, stride;
  uint32_t in_channels, out_channels;
  uint32_t in_side, out_side;
  int64_t low, high; /* padding of each spatial axis */
  struct resnet_norm norm;
  struct ir_value input, weight; /* as convolved */
};

enum { RESNET_BLOCK_UNITS = 3 };

struct resnet_block {
  uint32_t units[RESNET_BLOCK_UNITS], unit_count; /* numbers */
  uint32_t projection; /* unit + 1; 0 = the input itself is added */
  struct ir_value masks[RESNET_BLOCK_UNITS]; /* where the output of unit i was positive; the last one's after the sum */
};

struct resnet_named {
  const char *name;
  uint32_t number;
};

struct resnet {
  struct generate_builder b;
  struct generate_resnet model;
  struct generate_resnet_training p; /* data is not 0 */
  int64_t batch; /* images of one device */
  VEC(struct resnet_parameter) parameters;
  VEC(struct resnet_statistic) statistics;
  VEC(struct resnet_unit) units; /* the first is the stem's */
  VEC(struct resnet_block) blocks;
  VEC(struct resnet_named) parameter_order, statistic_order; /* by name: as arguments and results stand */
  uint32_t dense_kernel, dense_bias; /* parameters */
  uint32_t step, count, images, labels; /* arguments */
  struct ir_attr groups; /* all devices in one group */
  struct ir_value numbers[RESNET_NUMBERS];
  struct resnet_whole {
    double value;
    struct ir_value made;
  } wholes[16]; /* counts of elements that are divided by */
  uint32_t whole_count;
  /* for the backward pass */
  struct ir_value label_values, stem_output, stem_mask, logits;
  struct ir_value pooled, dense_weight; /* as multiplied */
  /* results */
  struct ir_value next_count, accuracy, learning_rate, loss;
};

/* ---- operations (generate_resnet_ops.c) ---- */

struct ir_value resnet_number(struct resnet *r, enum resnet_number which);
/* A count of elements as f32, made once. */
struct ir_value resnet_whole(struct resnet *r, double value);
/* The scalar everywhere in a tensor shaped as `like`. */
struct ir_value resnet_splat(struct resnet *r, struct ir_value scalar, struct ir_value like);
struct ir_value resnet_times(struct resnet *r, struct ir_value scalar, struct ir_value x);
struct ir_value resnet_over(struct resnet *r, struct ir_value x, struct ir_value scalar);
/* A conversion also where the type stays, as JAX writes it. */
struct ir_value resnet_same_convert(struct resnet *r, struct ir_value x);
struct ir_value resnet_select(struct resnet *r, struct ir_value predicate, struct ir_value x, struct ir_value y);
struct ir_value resnet_reverse_kernel(struct resnet *r, struct ir_value kernel);
/* Rank 2: rows of `value` before and after x's. */
struct ir_value resnet_pad_rows(struct resnet *r, struct ir_value x, struct ir_value value, int64_t before,
                                int64_t after);
/* Sum over all devices; x itself when there is one. */
struct ir_value resnet_all_reduce(struct resnet *r, struct ir_value x);
/* x over the number of devices; x itself when there is one. */
struct ir_value resnet_share(struct resnet *r, struct ir_value x);
/* Index of the largest along the last of two axes. */
struct ir_value resnet_argmax(struct resnet *r, struct ir_value x);

/* [b, 0, 1, f] x [0, 1, i, o]; the gradient of its kernel, from input and output's gradient; the gradient of its input,
 * from the output's and the reversed kernel. */
struct ir_value resnet_convolution(struct resnet *r, const struct resnet_unit *u, struct ir_value x,
                                   struct ir_value kernel);
struct ir_value resnet_kernel_gradient(struct resnet *r, const struct resnet_unit *u, struct ir_value x,
                                       struct ir_value dy);
struct ir_value resnet_input_gradient(struct resnet *r, const struct resnet_unit *u, struct ir_value dy,
                                      struct ir_value reversed);
/* Largest of 3x3 with stride 2, and its gradient. */
struct ir_value resnet_max_pool(struct resnet *r, struct ir_value x);
struct ir_value resnet_max_pool_gradient(struct resnet *r, struct ir_value x, struct ir_value dy);
/* "SAME": outputs = inputs / stride rounded up, the odd element of padding behind. */
void resnet_same_padding(int64_t in, int64_t size, int64_t stride, int64_t *low, int64_t *high);

/* ---- parts ---- */

/* f32 scale and shift of a convolution's output by the batch's statistics, in the type of products again. */
struct ir_value resnet_norm_forward(struct resnet *r, struct resnet_norm *norm, struct ir_value x);
/* The gradient of the convolution's output; those of scale and bias go to their parameters. */
struct ir_value resnet_norm_backward(struct resnet *r, const struct resnet_norm *norm, struct ir_value dy);

/* Images to the last block's output, and the gradient of that to the gradients of all kernels. */
struct ir_value resnet_layers_forward(struct resnet *r, struct ir_value images);
void resnet_layers_backward(struct resnet *r, struct ir_value gradient);

/* Pooling, classes, loss and its gradient up to the last block's output. */
struct ir_value resnet_loss(struct resnet *r, struct ir_value features);
void resnet_metrics(struct resnet *r);

/* Of an i32 step; `first` is 0, the step that the warm-up starts at. */
struct ir_value resnet_learning_rate(struct resnet *r, struct ir_value step, struct ir_value first);
/* The penalty on the squares of matrices and kernels, which the loss is told with, and its gradients. */
void resnet_decay(struct resnet *r, struct ir_value loss);
/* Means over all devices. */
void resnet_exchange_gradients(struct resnet *r);
void resnet_exchange_statistics(struct resnet *r);
/* New weights and momenta. */
void resnet_update(struct resnet *r);

#endif
