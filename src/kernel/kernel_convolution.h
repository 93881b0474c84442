/* Convolutions on the matrix units of GPUs: implicit matrix products. What a convolution adds to the model of plain products
 * (kernel_gemm_tiled.c) stands here: taps on padding, features padded to whole vectors, and how far below plain products
 * its kernels run. cost/ times convolutions of programs with it. docs/kernels-convolution.md has formula and errors. */
#ifndef RIDGELINE_KERNEL_KERNEL_CONVOLUTION_H
#define RIDGELINE_KERNEL_KERNEL_CONVOLUTION_H

#include "kernel/kernel.h"

/* As StableHLO states it. A weight gradient is a convolution as well: its batch is the input features, its reduced features
 * are the images, and its window is what the forward pass calls the output. All extents >= 1. */
struct kernel_convolution {
  bool is_weight_gradient;
  double groups;
  double batch, columns, reduced; /* batch and features of the result, features summed over; of one group */
  double outputs, window; /* positions of the result and of the window, all spatial dimensions together */
  double dilation; /* of the input, product over its dimensions: 4 for the data gradient of stride 2 */
};

/* Data gradients without stride cannot be told from forward passes in a program, and share their constant. */
bool kernel_convolution_is_pointwise(const struct kernel_convolution *convolution);
/* The product that the kernel computes, zeros of padding included. */
struct kernel_gemm kernel_convolution_gemm(const struct kernel_convolution *convolution, enum kernel_format format);
/* Times `shape`, a KERNEL_GEMM with the product above, with constants of kernel_gemm_tiled fitted to plain products. */
void kernel_convolution_time(const struct hw_chip *chip, const struct kernel_convolution *convolution,
                             const struct kernel_shape *shape, const double *values, struct kernel_time *out);

#endif
