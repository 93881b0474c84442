/* Vision transformers: one forward step over a batch of images. */
#include "generate/generate_layers.h"

struct vision {
  struct generate_linear patches, final_norm, head;
  struct generate_weight class_token, positions;
  struct generate_block *blocks;
  uint32_t images;
};

static bool declare(struct generate_step *s, struct vision *v) {
  struct generate_builder *b = &s->b;
  const struct generate_model *model = &s->model;
  int64_t hidden = model->hidden, values = (int64_t)model->patch * model->patch * model->channels;
  v->blocks = arena_calloc(&b->m->arena, model->layers, sizeof *v->blocks);
  if (v->blocks == NULL) {
    b->m->out_of_memory = true;
    return false;
  }
  v->patches = generate_declare_linear(b, values, hidden, true, "patches", 0);
  v->class_token = generate_declare_plain(b, SHAPE(hidden), "class_token", 0);
  v->positions = generate_declare_plain(b, SHAPE(s->length, hidden), "positions", 0);
  for (uint32_t i = 0; i < model->layers; i++) {
    generate_declare_block(s, i, &v->blocks[i]);
  }
  v->final_norm = generate_declare_norm(s, "final_norm", 0);
  v->head = generate_declare_linear(b, hidden, model->classes, true, "head", 0);
  v->images =
      generate_declare(b, b->activations, SHAPE(s->batch, model->side, model->side, model->channels), -1, "images", 0);
  return true;
}

/* [batch length, hidden]: the class token, then the patches, each with its position. */
static struct ir_value embed(struct generate_step *s, const struct vision *v) {
  struct generate_builder *b = &s->b;
  int64_t hidden = s->model.hidden;
  struct ir_value x = generate_dense(b, generate_patches(s, generate_argument_value(b, v->images)), v->patches);
  x = generate_reshape(b, x, SHAPE(s->batch, s->length - 1, hidden));
  struct ir_value token = generate_weight_value(b, v->class_token, 0);
  x = generate_concatenate(b, generate_broadcast(b, token, SHAPE(s->batch, 1, hidden), AXES(2)), x, 1);
  x = generate_binary_along(b, IR_OP_ADD, x, generate_weight_value(b, v->positions, 0), AXES(1, 2));
  return generate_reshape(b, x, SHAPE(s->batch * s->length, hidden));
}

static struct ir_value add_layer(struct generate_step *s, const struct generate_block *block, struct ir_value x) {
  struct generate_builder *b = &s->b;
  struct ir_value queries, keys, values;
  struct ir_value y = generate_dense(b, generate_norm(s, x, block->attention_norm), block->qkv);
  generate_split_heads(s, y, &queries, &keys, &values);
  y = generate_merge_heads(s, generate_attend(s, queries, keys, values, (struct ir_value){0}));
  x = generate_binary(b, IR_OP_ADD, x, generate_dense(b, y, block->out));
  return generate_binary(b, IR_OP_ADD, x, generate_ffn(s, generate_norm(s, x, block->ffn_norm), block));
}

void generate_vision(struct generate_step *s) {
  struct generate_builder *b = &s->b;
  struct vision v = {0};
  if (!declare(s, &v)) {
    return;
  }
  generate_begin(b);
  struct ir_value x = embed(s, &v);
  for (uint32_t i = 0; i < s->model.layers; i++) {
    x = add_layer(s, &v.blocks[i], x);
  }
  x = generate_reshape(b, x, SHAPE(s->batch, s->length, s->model.hidden));
  x = generate_reshape(b, generate_slice(b, x, 1, 0, 1), SHAPE(s->batch, s->model.hidden));
  x = generate_dense(b, generate_norm(s, x, v.final_norm), v.head);
  generate_result(b, generate_convert(b, x, DTYPE_F32), "logits", 0);
  generate_end(b);
}
