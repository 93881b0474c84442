/* What generated models compute, at small size: properties that need no other implementation. The models against their
 * definitions: tests/jax/compare_models.py. */
#include "generate_fixture.h"

/* Two orders of the same f32 sums of up to some hundred terms: 2^-24 each, and two layers. */
static const double tolerance = 1e-5;

static const struct generate_request decode = {
    .phase = GENERATE_DECODE, .batch = 2, .sequence = 7, .activations = DTYPE_F32, .weights = DTYPE_F32};

static const char *const decoders[] = {"llama2-13b", "llama2-70b", "gemma2-27b", "opt-30b", "gpt2-xl", "mixtral-8x7b"};
enum { DECODER_COUNT = sizeof decoders / sizeof decoders[0] };

/* ---- decode goes on where prefill ended ---- */

/* Copies [batch, heads, n, size] into the first n entries of [batch, heads, m, size]; what is behind stays. */
static void copy_cache(const struct interp_value *from, struct interp_value *to) {
  uint64_t rows = (uint64_t)(from->dims[0] * from->dims[1]), size = (uint64_t)from->dims[3] * sizeof(float);
  uint64_t taken = (uint64_t)from->dims[2] * size, stride = (uint64_t)to->dims[2] * size;
  for (uint64_t i = 0; i < rows; i++) {
    memcpy(to->data + i * stride, from->data + i * taken, taken);
  }
}

/* Tokens of the prompt are the first columns of `tokens` [batch, length]. */
static void set_tokens(struct generated *g, const struct interp_value *tokens, int64_t start) {
  struct interp_value *mine = generated_argument(g, "tokens");
  int64_t batch = tokens->dims[0], length = mine->rank == 2 ? mine->dims[1] : 1;
  for (int64_t b = 0; b < batch; b++) {
    for (int64_t i = 0; i < length; i++) {
      ((int32_t *)mine->data)[b * length + i] = ((const int32_t *)tokens->data)[b * tokens->dims[1] + start + i];
    }
  }
}

static void check_decode_after_prefill(const struct generate_model *model, uint32_t entries) {
  struct generate_request prompt = decode, whole = decode, step = decode;
  struct generated first, second, all;
  prompt.phase = whole.phase = GENERATE_PREFILL;
  prompt.sequence = 6;
  whole.sequence = 7;
  step.sequence = entries;
  generated_open(&all, model, &whole);
  generated_fill(&all);
  generated_run(&all);
  generated_open(&first, model, &prompt);
  generated_fill(&first);
  set_tokens(&first, generated_argument(&all, "tokens"), 0);
  generated_run(&first);
  generated_open(&second, model, &step); /* its caches start full of other numbers */
  generated_fill(&second);
  set_tokens(&second, generated_argument(&all, "tokens"), 6);
  *(int32_t *)generated_argument(&second, "position")->data = 6;
  for (uint32_t i = 1; i < first.result_count; i++) {
    copy_cache(first.results[i], generated_argument(&second, generated_name(&first, false, i)));
  }
  generated_run(&second);
  assert_true(generated_distance(second.results[0], all.results[0]) <= tolerance);
  for (uint32_t i = 1; i < all.result_count && entries == 7; i++) {
    assert_true(generated_distance(second.results[i], all.results[i]) <= tolerance);
  }
  generated_close(&first);
  generated_close(&second);
  generated_close(&all);
}

static void test_decode_after_prefill(void **state) {
  (void)state;
  for (size_t i = 0; i < DECODER_COUNT; i++) {
    struct generate_model model = generated_small(decoders[i]);
    check_decode_after_prefill(&model, 7);
    check_decode_after_prefill(&model, 12); /* entries that are not written yet are not seen */
    model.window = model.window > 0 ? 3 : 0;
    check_decode_after_prefill(&model, 9);
  }
}

/* ---- what a token sees ---- */

/* Distance of the logits after another first token. */
static double effect_of_first_token(const struct generate_model *model) {
  struct generate_request request = decode;
  struct generated g, h;
  request.phase = GENERATE_PREFILL;
  generated_open(&g, model, &request);
  generated_open(&h, model, &request);
  generated_fill(&g);
  generated_fill(&h);
  struct interp_value *tokens = generated_argument(&h, "tokens");
  for (int64_t b = 0; b < tokens->dims[0]; b++) {
    ((int32_t *)tokens->data)[b * tokens->dims[1]] ^= 1;
  }
  generated_run(&g);
  generated_run(&h);
  double distance = generated_distance(h.results[0], g.results[0]);
  generated_close(&g);
  generated_close(&h);
  return distance;
}

/* Gemma's first layer sees the last `window` tokens: of seven the first is seen by the last token from 7 on. The second
 * layer sees all. */
static void test_window(void **state) {
  (void)state;
  struct generate_model model = generated_small("gemma2-27b");
  model.layers = 1;
  model.window = 6;
  assert_true(effect_of_first_token(&model) == 0);
  model.window = 7;
  assert_true(effect_of_first_token(&model) > 1e-4);
  model.window = 6;
  model.layers = 2;
  assert_true(effect_of_first_token(&model) > 1e-4);
}

/* ---- grouped queries ---- */

/* [in, (heads + 2 kv) size] → [in, 3 heads size]: each KV head once per head of its group. */
static void repeat_heads(const struct interp_value *from, struct interp_value *to, int64_t heads, int64_t kv,
                         int64_t size) {
  for (int64_t row = 0; row < from->dims[0]; row++) {
    const float *x = (const float *)from->data + row * from->dims[1];
    float *y = (float *)to->data + row * to->dims[1];
    for (int64_t i = 0; i < 3 * heads * size; i++) {
      int64_t part = i / (heads * size), head = i / size % heads;
      int64_t source = part == 0 ? head : heads + (part - 1) * kv + head / (heads / kv);
      y[i] = x[source * size + i % size];
    }
  }
}

static void check_groups(enum generate_phase phase) {
  struct generate_model grouped = generated_small("llama2-70b"), full = grouped;
  struct generate_request request = decode;
  struct generated g, f;
  full.kv_heads = full.heads;
  request.phase = phase;
  generated_open(&g, &grouped, &request);
  generated_open(&f, &full, &request);
  generated_fill(&g);
  generated_fill(&f);
  for (uint32_t i = 0; i < f.argument_count; i++) {
    const char *name = generated_name(&f, true, i);
    const struct interp_value *from = generated_argument(&g, name);
    struct interp_value *to = f.arguments[i];
    if (strstr(name, "qkv") != NULL) {
      repeat_heads(from, to, 4, 2, 8);
    } else if (strncmp(name, "cache.", 6) == 0) {
      uint64_t head = (uint64_t)(from->dims[2] * from->dims[3]) * sizeof(float);
      for (uint64_t k = 0; k < (uint64_t)(to->dims[0] * to->dims[1]); k++) { /* batch 2, heads 4 of 2 */
        memcpy(to->data + k * head, from->data + k / 2 * head, head);
      }
    } else {
      assert_memory_equal(to->data, from->data, to->size_bytes);
    }
  }
  generated_run(&g);
  generated_run(&f);
  assert_true(generated_distance(g.results[0], f.results[0]) <= tolerance);
  generated_close(&g);
  generated_close(&f);
}

static void test_groups_are_repeated_heads(void **state) {
  (void)state;
  check_groups(GENERATE_DECODE);
  check_groups(GENERATE_PREFILL);
}

/* ---- quantised weights ---- */

/* to[..., k, n] = from[..., k, n] scale[..., n]; of the table [v, k] times scale[v]. */
static void dequantise(const struct interp_value *from, const struct interp_value *scale, bool is_table,
                       struct interp_value *to) {
  uint64_t columns = (uint64_t)from->dims[from->rank - 1], rows = (uint64_t)from->dims[from->rank - 2];
  for (uint64_t i = 0; i < from->count; i++) {
    uint64_t k = is_table ? i / columns : i / (rows * columns) * columns + i % columns;
    assert_true(k < scale->count);
    ((float *)to->data)[i] = (float)((const int8_t *)from->data)[i] * ((const float *)scale->data)[k];
  }
}

static void check_quantised(const char *name, enum generate_phase phase, enum dtype weights) {
  struct generate_model model = generated_small(name);
  struct generate_request plain = decode, request = decode;
  struct generated q, f;
  plain.phase = request.phase = phase;
  request.weights = weights;
  generated_open(&q, &model, &request);
  generated_open(&f, &model, &plain);
  assert_int_equal(q.parameters, f.parameters);
  generated_fill(&q);
  generated_fill(&f);
  uint32_t quantised = 0;
  for (uint32_t i = 0; i < f.argument_count; i++) {
    const char *argument = generated_name(&f, true, i);
    const struct interp_value *from = generated_argument(&q, argument);
    if (from->dtype == (uint8_t)weights) {
      char scales[96];
      snprintf(scales, sizeof scales, "scales.%s", argument + strlen("weights."));
      dequantise(from, generated_argument(&q, scales), strstr(argument, "embedding") != NULL, f.arguments[i]);
      quantised++;
    } else {
      assert_memory_equal(f.arguments[i]->data, from->data, from->size_bytes);
    }
  }
  assert_int_equal(quantised, 2 * 4 + 1); /* four matrices per layer, and the head or the tied table */
  generated_run(&q);
  generated_run(&f);
  for (uint32_t i = 0; i < f.result_count; i++) { /* the same f32 operations: equal bits */
    assert_memory_equal(q.results[i]->data, f.results[i]->data, f.results[i]->size_bytes);
  }
  generated_close(&q);
  generated_close(&f);
}

static void test_quantised_is_dequantised(void **state) {
  (void)state;
  for (size_t i = 0; i < DECODER_COUNT; i++) {
    check_quantised(decoders[i], GENERATE_DECODE, DTYPE_I8);
    check_quantised(decoders[i], GENERATE_PREFILL, DTYPE_I4);
  }
}

/* ---- experts ---- */

/* Experts that are all alike are the feed-forward part of a model without experts: the router's weights add up to 1. */
static void test_equal_experts(void **state) {
  (void)state;
  struct generate_model mixed = generated_small("mixtral-8x7b"), plain = mixed;
  struct generated m, p;
  plain.experts = plain.experts_per_token = 0;
  generated_open(&m, &mixed, &decode);
  generated_open(&p, &plain, &decode);
  generated_fill(&m);
  generated_fill(&p);
  for (uint32_t i = 0; i < m.argument_count; i++) {
    const char *name = generated_name(&m, true, i);
    if (strstr(name, "gate_up") != NULL || strstr(name, "down") != NULL) {
      const struct interp_value *one = generated_argument(&p, name);
      for (uint64_t e = 0; e < 8; e++) {
        memcpy(m.arguments[i]->data + e * one->size_bytes, one->data, one->size_bytes);
      }
    }
  }
  generated_run(&m);
  generated_run(&p);
  assert_true(generated_distance(m.results[0], p.results[0]) <= tolerance);
  generated_close(&m);
  generated_close(&p);
}

/* ---- sequences and images of a batch do not meet ---- */

/* Changes the last item of argument `name`; the first item of the first result stays, the last one moves. */
static void check_batch(const struct generate_model *model, const struct generate_request *request, const char *name) {
  struct generated g, h;
  generated_open(&g, model, request);
  generated_open(&h, model, request);
  generated_fill(&g);
  generated_fill(&h);
  struct interp_value *input = generated_argument(&h, name);
  uint64_t item = input->size_bytes / request->batch;
  for (uint64_t i = (request->batch - 1) * item; i < input->size_bytes; i += 4) {
    if (input->dtype == DTYPE_I32) {
      *(int32_t *)(input->data + i) ^= 1;
    } else {
      *(float *)(input->data + i) *= -1;
    }
  }
  generated_run(&g);
  generated_run(&h);
  uint64_t size = g.results[0]->size_bytes / request->batch;
  assert_memory_equal(g.results[0]->data, h.results[0]->data, size);
  assert_memory_not_equal(g.results[0]->data + size, h.results[0]->data + size, size);
  generated_close(&g);
  generated_close(&h);
}

static void test_items_of_a_batch_are_apart(void **state) {
  (void)state;
  struct generate_request forward = {
      .phase = GENERATE_FORWARD, .batch = 2, .activations = DTYPE_F32, .weights = DTYPE_F32};
  struct generate_request prefill = decode;
  prefill.phase = GENERATE_PREFILL;
  struct generate_model vision = generated_small("vit-h"), diffusion = generated_small("dit-xl2");
  vision.side = 28;
  diffusion.side = 4;
  diffusion.hidden = 32; /* heads x size: the family's sizes are tied so */
  vision.hidden = 32;
  check_batch(&vision, &forward, "images");
  check_batch(&diffusion, &forward, "latents");
  check_batch(&diffusion, &forward, "times");
  check_batch(&diffusion, &forward, "classes");
  for (size_t i = 0; i < DECODER_COUNT; i++) {
    struct generate_model model = generated_small(decoders[i]);
    check_batch(&model, &decode, "tokens");
    check_batch(&model, &prefill, "tokens");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decode_after_prefill),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_groups_are_repeated_heads),
      cmocka_unit_test(test_quantised_is_dequantised),
      cmocka_unit_test(test_equal_experts),
      cmocka_unit_test(test_items_of_a_batch_are_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
