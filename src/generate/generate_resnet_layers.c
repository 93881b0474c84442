/* Convolutions and residual blocks, forward and backward. */
#include "generate/generate_resnet_int.h"

/* ---- parts of a block ---- */

static struct ir_value unit_forward(struct resnet *r, uint32_t number, struct ir_value x) {
  struct resnet_unit *u = &r->units.data[number];
  struct ir_value kernel = generate_argument_value(&r->b, r->parameters.data[u->kernel].weight);
  u->input = x;
  u->weight = generate_convert(&r->b, kernel, r->p.compute);
  return resnet_norm_forward(r, &u->norm, resnet_convolution(r, u, u->input, u->weight));
}

/* The gradient of the unit's input; 0 for the stem, whose input are the images. */
static struct ir_value unit_backward(struct resnet *r, uint32_t number, struct ir_value dy) {
  struct generate_builder *b = &r->b;
  const struct resnet_unit *u = &r->units.data[number];
  struct resnet_parameter *kernel = &r->parameters.data[u->kernel];
  dy = resnet_norm_backward(r, &u->norm, dy);
  struct ir_value gradient = resnet_kernel_gradient(r, u, u->input, dy);
  gradient = generate_convert(b, gradient, DTYPE_F32);
  kernel->gradient = generate_binary(b, IR_OP_ADD, kernel->decay, gradient);
  if (number == 0) {
    return (struct ir_value){0};
  }
  return resnet_input_gradient(r, u, dy, resnet_reverse_kernel(r, u->weight));
}

static struct ir_value rectify(struct resnet *r, struct ir_value x, struct ir_value *mask) {
  struct generate_builder *b = &r->b;
  struct ir_value own_zero = generate_constant(b, r->p.compute, 0); /* of a function of its own in the export */
  struct ir_value y = generate_binary(b, IR_OP_MAXIMUM, x, resnet_splat(r, own_zero, x));
  struct ir_value zero = resnet_number(r, RESNET_COMPUTE_ZERO);
  *mask = generate_compare(b, "GT", x, resnet_splat(r, zero, x));
  (void)resnet_splat(r, zero, x); /* read by nobody: see generate_resnet_int.h */
  return y;
}

static struct ir_value rectify_backward(struct resnet *r, struct ir_value mask, struct ir_value dy) {
  return resnet_select(r, mask, dy, resnet_splat(r, resnet_number(r, RESNET_COMPUTE_ZERO), dy));
}

/* ---- blocks ---- */

static struct ir_value block_forward(struct resnet *r, struct resnet_block *block, struct ir_value x) {
  struct ir_value y = x;
  for (uint32_t i = 0; i < block->unit_count; i++) {
    y = unit_forward(r, block->units[i], y);
    if (i + 1 < block->unit_count) {
      y = rectify(r, y, &block->masks[i]);
    }
  }
  struct ir_value residual = block->projection > 0 ? unit_forward(r, block->projection - 1, x) : x;
  y = generate_binary(&r->b, IR_OP_ADD, residual, y);
  return rectify(r, y, &block->masks[block->unit_count - 1]);
}

static struct ir_value block_backward(struct resnet *r, const struct resnet_block *block, struct ir_value dy) {
  struct ir_value sum = rectify_backward(r, block->masks[block->unit_count - 1], dy), dx = sum;
  for (uint32_t i = block->unit_count; i-- > 0;) {
    dx = unit_backward(r, block->units[i], dx);
    if (i > 0) {
      dx = rectify_backward(r, block->masks[i - 1], dx);
    }
  }
  if (block->projection == 0) {
    return generate_binary(&r->b, IR_OP_ADD, sum, dx);
  }
  struct ir_value residual = unit_backward(r, block->projection - 1, sum);
  return generate_binary(&r->b, IR_OP_ADD, dx, residual);
}

/* ---- the network ---- */

struct ir_value resnet_layers_forward(struct resnet *r, struct ir_value images) {
  struct ir_value x = unit_forward(r, 0, images);
  r->stem_output = rectify(r, x, &r->stem_mask);
  x = resnet_max_pool(r, r->stem_output);
  for (size_t i = 0; i < r->blocks.count; i++) {
    x = block_forward(r, &r->blocks.data[i], x);
  }
  return x;
}

void resnet_layers_backward(struct resnet *r, struct ir_value gradient) {
  for (size_t i = r->blocks.count; i-- > 0;) {
    gradient = block_backward(r, &r->blocks.data[i], gradient);
  }
  gradient = resnet_max_pool_gradient(r, r->stem_output, gradient);
  (void)unit_backward(r, 0, rectify_backward(r, r->stem_mask, gradient));
}
