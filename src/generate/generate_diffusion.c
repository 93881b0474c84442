/* Diffusion transformers with adaLN-zero: one evaluation of the network. x is [batch, patches, hidden]. */
#include <math.h>

#include "generate/generate_layers.h"

struct diffusion {
  struct generate_linear patches, time_in, time_out, final_modulation, output;
  struct generate_weight positions, labels;
  struct generate_block *blocks;
  uint32_t latents, times, classes;
};

static bool declare(struct generate_step *s, struct diffusion *d) {
  struct generate_builder *b = &s->b;
  const struct generate_model *model = &s->model;
  int64_t hidden = model->hidden, area = (int64_t)model->patch * model->patch;
  d->blocks = arena_calloc(&b->m->arena, model->layers, sizeof *d->blocks);
  if (d->blocks == NULL) {
    b->m->out_of_memory = true;
    return false;
  }
  d->patches = generate_declare_linear(b, area * model->channels, hidden, true, "patches", 0);
  d->positions = generate_declare_plain(b, SHAPE(s->length, hidden), "positions", 0);
  d->time_in = generate_declare_linear(b, model->frequencies, hidden, true, "time_in", 0);
  d->time_out = generate_declare_linear(b, hidden, hidden, true, "time_out", 0);
  d->labels = generate_declare_plain(b, SHAPE(model->classes + 1, hidden), "labels", 0); /* the last: no class */
  for (uint32_t i = 0; i < model->layers; i++) {
    generate_declare_block(s, i, &d->blocks[i]);
  }
  d->final_modulation = generate_declare_linear(b, hidden, 2 * hidden, true, "final_modulation", 0);
  d->output = generate_declare_linear(b, hidden, area * 2 * model->channels, true, "output", 0);
  d->latents =
      generate_declare(b, b->activations, SHAPE(s->batch, model->side, model->side, model->channels), -1, "latents", 0);
  d->times = generate_declare(b, DTYPE_F32, SHAPE(s->batch), -1, "times", 0);
  d->classes = generate_declare(b, DTYPE_I32, SHAPE(s->batch), -1, "classes", 0);
  return true;
}

/* Cosines, then sines, of the times at frequencies 10000^(-i / half), [batch, frequencies] in f32. */
static struct ir_value time_features(struct generate_step *s, struct ir_value times) {
  struct generate_builder *b = &s->b;
  int64_t half = s->model.frequencies / 2;
  struct ir_value powers = generate_binary_scalar(b, IR_OP_MULTIPLY, generate_iota(b, DTYPE_F32, SHAPE(half), 0),
                                                  -log(10000) / (double)half);
  struct ir_value frequencies = generate_unary(b, IR_OP_EXPONENTIAL, powers);
  struct ir_value angles = generate_broadcast(b, times, SHAPE(s->batch, half), AXES(0));
  angles = generate_binary_along(b, IR_OP_MULTIPLY, angles, frequencies, AXES(1));
  struct ir_value cosines = generate_unary(b, IR_OP_COSINE, angles);
  return generate_concatenate(b, cosines, generate_unary(b, IR_OP_SINE, angles), 1);
}

/* silu(time + class), [batch, hidden]: what every layer's modulation starts from. */
static struct ir_value condition(struct generate_step *s, const struct diffusion *d) {
  struct generate_builder *b = &s->b;
  struct ir_value time = time_features(s, generate_argument_value(b, d->times));
  time = generate_dense(b, generate_convert(b, time, b->activations), d->time_in);
  time = generate_dense(b, generate_activation(b, GENERATE_SILU, time), d->time_out);
  struct ir_value label =
      generate_rows(b, generate_weight_value(b, d->labels, 0), generate_argument_value(b, d->classes));
  return generate_activation(b, GENERATE_SILU, generate_binary(b, IR_OP_ADD, time, label));
}

/* Vector `index` of those side by side in a modulation. */
static struct ir_value part(struct generate_step *s, struct ir_value modulation, int64_t index) {
  int64_t hidden = s->model.hidden;
  return generate_slice(&s->b, modulation, 1, index * hidden, (index + 1) * hidden);
}

/* norm(x) (1 + scale) + shift */
static struct ir_value modulated(struct generate_step *s, struct ir_value x, struct ir_value shift,
                                 struct ir_value scale) {
  struct generate_builder *b = &s->b;
  x = generate_norm(s, x, (struct generate_linear){.weight = {0, 0}});
  x = generate_binary_along(b, IR_OP_MULTIPLY, x, generate_binary_scalar(b, IR_OP_ADD, scale, 1), AXES(0, 2));
  return generate_binary_along(b, IR_OP_ADD, x, shift, AXES(0, 2));
}

/* x + gate y */
static struct ir_value gated(struct generate_step *s, struct ir_value x, struct ir_value gate, struct ir_value y) {
  return generate_binary(&s->b, IR_OP_ADD, x, generate_binary_along(&s->b, IR_OP_MULTIPLY, y, gate, AXES(0, 2)));
}

static struct ir_value add_layer(struct generate_step *s, const struct generate_block *block, struct ir_value x,
                                 struct ir_value condition) {
  struct generate_builder *b = &s->b;
  struct ir_value queries, keys, values, parts[6]; /* shift, scale, gate of attention, then of the feed-forward part */
  struct ir_value modulation = generate_dense(b, condition, block->modulation);
  for (int64_t i = 0; i < 6; i++) {
    parts[i] = part(s, modulation, i);
  }
  struct ir_value y = generate_dense(b, modulated(s, x, parts[0], parts[1]), block->qkv);
  generate_split_heads(s, y, &queries, &keys, &values);
  y = generate_merge_heads(s, generate_attend(s, queries, keys, values, (struct ir_value){0}));
  y = generate_reshape(b, y, SHAPE(s->batch, s->length, generate_dim(b, y, 1)));
  x = gated(s, x, parts[2], generate_dense(b, y, block->out));
  return gated(s, x, parts[5], generate_ffn(s, modulated(s, x, parts[3], parts[4]), block));
}

/* [batch, patches, values of a patch] as [batch, side, side, 2 channels]: noise, then variance. */
static struct ir_value assemble(struct generate_step *s, struct ir_value x) {
  struct generate_builder *b = &s->b;
  int64_t patch = s->model.patch, side = s->model.side / s->model.patch, channels = 2 * (int64_t)s->model.channels;
  x = generate_reshape(b, x, SHAPE(s->batch, side, side, patch, patch, channels));
  x = generate_transpose(b, x, AXES(0, 1, 3, 2, 4, 5));
  return generate_reshape(b, x, SHAPE(s->batch, side * patch, side * patch, channels));
}

void generate_diffusion(struct generate_step *s) {
  struct generate_builder *b = &s->b;
  struct diffusion d = {0};
  if (!declare(s, &d)) {
    return;
  }
  generate_begin(b);
  struct ir_value x = generate_dense(b, generate_patches(s, generate_argument_value(b, d.latents)), d.patches);
  x = generate_reshape(b, x, SHAPE(s->batch, s->length, s->model.hidden));
  x = generate_binary_along(b, IR_OP_ADD, x, generate_weight_value(b, d.positions, 0), AXES(1, 2));
  struct ir_value c = condition(s, &d);
  for (uint32_t i = 0; i < s->model.layers; i++) {
    x = add_layer(s, &d.blocks[i], x, c);
  }
  struct ir_value modulation = generate_dense(b, c, d.final_modulation);
  struct ir_value shift = part(s, modulation, 0), scale = part(s, modulation, 1);
  x = generate_dense(b, modulated(s, x, shift, scale), d.output);
  generate_result(b, assemble(s, x), "output", 0);
  generate_end(b);
}
