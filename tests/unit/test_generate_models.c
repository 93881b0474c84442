/* Generated modules at true size: parameters as published, verified after printing and reading, FLOPs and bytes in closed form,
 * and what is refused. */
#include "generate_fixture.h"
#include "lower/lower.h"

/* ---- parameters ---- */

static uint64_t matrix(uint64_t rows, uint64_t columns) {
  return rows * columns;
}

/* Query, key, value and output matrices of one layer. */
static uint64_t attention(uint64_t hidden, uint64_t heads, uint64_t kv_heads, uint64_t size) {
  return matrix(hidden, heads * size) + 2 * matrix(hidden, kv_heads * size) + matrix(heads * size, hidden);
}

/* Llama: three matrices, two norms, an embedding and a head. */
static uint64_t llama(uint64_t layers, uint64_t hidden, uint64_t heads, uint64_t kv_heads, uint64_t ffn,
                      uint64_t vocabulary) {
  return 2 * matrix(vocabulary, hidden) + hidden
         + layers * (attention(hidden, heads, kv_heads, 128) + 3 * matrix(hidden, ffn) + 2 * hidden);
}

/* A layer of matrices with biases and two norms: GPT-2, OPT, ViT. */
static uint64_t biased_layer(uint64_t hidden, uint64_t ffn) {
  return 4 * (matrix(hidden, hidden) + hidden) + 2 * matrix(hidden, ffn) + ffn + hidden + 4 * hidden;
}

static void test_parameters(void **state) {
  (void)state;
  /* from the configurations; the totals of checkpoints that are published are repeated beside them */
  const struct {
    const char *name;
    uint64_t expected, checkpoint;
  } rows[] = {
      {"llama2-7b", llama(32, 4096, 32, 32, 11008, 32000), 6738415616},
      {"llama2-13b", llama(40, 5120, 40, 40, 13824, 32000), 13015864320},
      {"llama2-70b", llama(80, 8192, 64, 8, 28672, 32000), 68976648192},
      {"llama3-8b", llama(32, 4096, 32, 8, 14336, 128256), 8030261248},
      {"llama3-70b", llama(80, 8192, 64, 8, 28672, 128256), 70553706496},
      /* table 2 of the paper, embedding and the rest */
      {"gemma2-27b",
       matrix(256128, 4608) + 46 * (attention(4608, 32, 16, 128) + 3 * matrix(4608, 36864) + 4 * 4608) + 4608,
       1180237824 + 26047480320},
      {"opt-30b", matrix(50272 + 2050, 7168) + 48 * biased_layer(7168, 28672) + 2 * 7168, 0},
      {"gpt2-xl", matrix(50257 + 1024, 1600) + 48 * biased_layer(1600, 6400) + 2 * 1600, 1557611200},
      {"mixtral-8x7b",
       2 * matrix(32000, 4096) + 4096
           + 32 * (attention(4096, 32, 8, 128) + 8 * 3 * matrix(4096, 14336) + matrix(4096, 8) + 2 * 4096),
       46702792704},
      {"dit-xl2",
       matrix(16 + 1, 1152) + matrix(256, 1152) + matrix(256 + 1, 1152) + matrix(1152 + 1, 1152) + matrix(1001, 1152)
           + 28 * (4 * matrix(1153, 1152) + matrix(1153, 4608) + matrix(4609, 1152) + matrix(1153, 6 * 1152))
           + matrix(1153, 2 * 1152) + matrix(1153, 32),
       675129632},
      {"vit-h",
       matrix(588 + 1, 1280) + 1280 + matrix(257, 1280) + 32 * biased_layer(1280, 5120) + 2 * 1280 + matrix(1281, 1000),
       632045800},
  };
  size_t models = 0;
  for (; generate_models[models] != NULL; models++) {
    const struct generate_model *model = generate_models[models];
    struct generate_request request = {.phase = model->family == GENERATE_DECODER ? GENERATE_DECODE : GENERATE_FORWARD,
                                       .batch = 1,
                                       .sequence = 1,
                                       .activations = DTYPE_BF16,
                                       .weights = DTYPE_BF16};
    struct generated g;
    generated_open(&g, model, &request);
    assert_string_equal(rows[models].name, model->name);
    assert_int_equal(g.parameters, rows[models].expected);
    if (rows[models].checkpoint > 0) {
      assert_int_equal(g.parameters, rows[models].checkpoint);
    }
    double published = (double)model->published_parameters;
    assert_true((double)g.parameters > 0.99 * published && (double)g.parameters < 1.01 * published);
    generated_close(&g);
  }
  assert_int_equal(models, sizeof rows / sizeof rows[0]);
}

/* ---- every step is verified, and the same every time ---- */

static void test_steps_are_verified(void **state) {
  (void)state;
  static const enum dtype weights[] = {DTYPE_F16, DTYPE_I8, DTYPE_I4};
  for (size_t i = 0; generate_models[i] != NULL; i++) {
    bool is_decoder = generate_models[i]->family == GENERATE_DECODER;
    for (unsigned k = 0; k < 6; k++) {
      struct generate_request request = {.phase = k % 2 == 0 ? GENERATE_DECODE : GENERATE_PREFILL,
                                         .batch = 3,
                                         .sequence = 640,
                                         .activations = DTYPE_F16,
                                         .weights = weights[k / 2],
                                         .layers = 2};
      struct generated first, second;
      request.phase = is_decoder ? request.phase : GENERATE_FORWARD;
      generated_open(&first, generate_models[i], &request);
      generated_open(&second, generate_models[i], &request);
      assert_string_equal(strbuf_text(&first.text), strbuf_text(&second.text));
      assert_int_equal(first.parameters, second.parameters);
      generated_close(&first);
      generated_close(&second);
    }
  }
}

/* Cache i of the arguments takes result i + 1, by position and by name. */
static void test_caches_are_donated(void **state) {
  (void)state;
  struct generate_request request = {
      .phase = GENERATE_DECODE, .batch = 2, .sequence = 32, .activations = DTYPE_BF16, .weights = DTYPE_BF16};
  struct generated g;
  generated_open(&g, generate_model_find("opt-30b", NULL), &request);
  const struct ir_module *m = g.module;
  struct ir_attr all = ir_op_attr(m, ir_function_entry(m), "arg_attrs");
  uint32_t found = 0;
  for (uint32_t i = 0; i < ir_attr_get(m, all)->list_count; i++) {
    struct ir_attr attrs = {m->lists.data[ir_attr_get(m, all)->list_first + i]};
    struct ir_attr alias = ir_attr_field(m, attrs, "tf.aliasing_output");
    assert_int_equal(alias.id != 0, strncmp(generated_name(&g, true, i), "cache.", 6) == 0);
    if (alias.id != 0) {
      uint32_t result = (uint32_t)ir_attr_get(m, alias)->integer;
      assert_int_equal(result, ++found);
      assert_string_equal(generated_name(&g, true, i), generated_name(&g, false, result));
    }
  }
  assert_int_equal(found, 2 * 48);
  assert_string_equal(generated_name(&g, false, 0), "logits");
  generated_close(&g);
}

/* ---- work ---- */

/* Lowers and keeps matrix FLOPs and argument bytes. */
static void measure(const char *name, const struct generate_request *request, uint64_t *flops,
                    struct work_memory *memory) {
  struct generated g;
  struct work_graph *graph = NULL;
  struct work_total total;
  generated_open(&g, generate_model_find(name, NULL), request);
  assert_int_equal(lower_module(g.module, NULL, &g.diags, &graph), STATUS_OK);
  assert_int_equal(work_graph_verify(graph, &g.diags), STATUS_OK);
  work_graph_total(graph, &total);
  assert_int_equal(total.opaque_tasks, 0);
  *flops = total.ops[WORK_ENGINE_MATRIX];
  *memory = graph->memory;
  work_graph_free(graph);
  generated_close(&g);
}

/* Decode: every matrix meets every token once; scores and contexts are 2 heads size entries multiply-adds per token. */
static void test_decode_counts(void **state) {
  (void)state;
  enum { BATCH = 32, ENTRIES = 2048 };
  const struct {
    const char *name;
    uint64_t layers, heads, kv_heads, matrices, table; /* parameters multiplied by; those only looked up */
  } rows[] = {
      {"llama2-13b", 40, 40, 40, 40 * (attention(5120, 40, 40, 128) + 3 * matrix(5120, 13824)) + matrix(32000, 5120),
       matrix(32000, 5120)},
      {"llama2-70b", 80, 64, 8, 80 * (attention(8192, 64, 8, 128) + 3 * matrix(8192, 28672)) + matrix(32000, 8192),
       matrix(32000, 8192)},
      {"gemma2-27b", 46, 32, 16, 46 * (attention(4608, 32, 16, 128) + 3 * matrix(4608, 36864)) + matrix(256128, 4608),
       0},
      {"opt-30b", 48, 56, 56, 48 * (attention(7168, 56, 56, 128) + 2 * matrix(7168, 28672)) + matrix(50272, 7168),
       matrix(2050, 7168)},
      {"mixtral-8x7b", 32, 32, 8,
       32 * (attention(4096, 32, 8, 128) + 24 * matrix(4096, 14336) + matrix(4096, 8)) + matrix(32000, 4096),
       matrix(32000, 4096)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct generate_request request = {
        .phase = GENERATE_DECODE, .batch = BATCH, .sequence = ENTRIES, .activations = DTYPE_F16, .weights = DTYPE_F16};
    uint64_t flops;
    struct work_memory memory;
    measure(rows[i].name, &request, &flops, &memory);
    uint64_t scores = rows[i].layers * BATCH * rows[i].heads * ENTRIES * 128;
    assert_int_equal(flops, 2 * BATCH * rows[i].matrices + 4 * scores);
    /* weights and caches, and less than 1 % of norms, biases and inputs */
    uint64_t caches = 2 * rows[i].layers * BATCH * rows[i].kv_heads * ENTRIES * 128;
    uint64_t bytes = 2 * (rows[i].matrices + rows[i].table + caches);
    assert_in_range(memory.argument_bytes, bytes, bytes + bytes / 100);
    /* caches are written in place: what else lives is activations */
    assert_in_range(memory.peak_bytes, bytes, bytes + bytes / 50);
  }
}

/* Causal attention computes all scores; the head sees the last token of each prompt only. */
static void test_prefill_counts(void **state) {
  (void)state;
  struct generate_request request = {
      .phase = GENERATE_PREFILL, .batch = 2, .sequence = 512, .activations = DTYPE_BF16, .weights = DTYPE_BF16};
  uint64_t flops, layer = attention(8192, 64, 8, 128) + 3 * matrix(8192, 28672);
  struct work_memory memory;
  measure("llama2-70b", &request, &flops, &memory);
  assert_int_equal(flops,
                   2 * (2 * 512 * 80 * layer + 2 * matrix(32000, 8192)) + 4 * (uint64_t)80 * 2 * 64 * 512 * 512 * 128);
}

static void test_forward_counts(void **state) {
  (void)state;
  struct generate_request request = {
      .phase = GENERATE_FORWARD, .batch = 2, .activations = DTYPE_BF16, .weights = DTYPE_BF16};
  uint64_t flops;
  struct work_memory memory;
  measure("vit-h", &request, &flops, &memory);
  uint64_t layer = attention(1280, 16, 16, 80) + 2 * matrix(1280, 5120);
  assert_int_equal(flops, 2 * 2 * (256 * matrix(588, 1280) + 257 * 32 * layer + matrix(1280, 1000))
                              + 4 * (uint64_t)2 * 32 * 1280 * 257 * 257);
  measure("dit-xl2", &request, &flops, &memory);
  layer = attention(1152, 16, 16, 72) + 2 * matrix(1152, 4608);
  uint64_t condition = matrix(256, 1152) + matrix(1152, 1152) + 28 * matrix(1152, 6 * 1152) + matrix(1152, 2304);
  assert_int_equal(flops, 2 * 2 * (256 * (matrix(16, 1152) + 28 * layer + matrix(1152, 32)) + condition)
                              + 4 * (uint64_t)2 * 28 * 1152 * 256 * 256);
}

/* Quantised: one byte, or half a byte, per element of a matrix, and a scale of two bytes per output column. */
static void test_quantised_bytes(void **state) {
  (void)state;
  const struct {
    enum dtype weights;
    uint64_t bits;
  } rows[] = {{DTYPE_I8, 8}, {DTYPE_I4, 4}};
  uint64_t layer = attention(5120, 40, 40, 128) + 3 * matrix(5120, 13824);
  uint64_t columns = 40 * (3 * 5120 + 5120 + 2 * 13824 + 5120) + 32000;
  uint64_t rest = 2 * (matrix(32000, 5120) + (2 * 40 + 1) * 5120) + 2 * 40 * 2 * 1 * 40 * 16 * 128;
  for (size_t i = 0; i < 2; i++) {
    struct generate_request request = {
        .phase = GENERATE_DECODE, .batch = 1, .sequence = 16, .activations = DTYPE_F16, .weights = rows[i].weights};
    uint64_t flops;
    struct work_memory memory;
    measure("llama2-13b", &request, &flops, &memory);
    uint64_t bytes = (40 * layer + matrix(32000, 5120)) * rows[i].bits / 8 + 2 * columns + rest;
    assert_int_equal(memory.argument_bytes, bytes + 4 + 4); /* one token and the position */
  }
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
  (void)state;
  const struct generate_request good = {
      .phase = GENERATE_DECODE, .batch = 2, .sequence = 16, .activations = DTYPE_F16, .weights = DTYPE_NONE};
  const struct {
    const char *model;
    struct generate_request request;
    const char *message;
  } rows[] = {
      {"llama2-13b",
       {GENERATE_FORWARD, 1, 16, DTYPE_F16, DTYPE_F16, 0, 0, false},
       "no forward step, only decode and prefill"},
      {"vit-h", {GENERATE_DECODE, 1, 16, DTYPE_F16, DTYPE_F16, 0, 0, false}, "no decode step, only forward"},
      {"llama2-13b", {GENERATE_DECODE, 0, 16, DTYPE_F16, DTYPE_F16, 0, 0, false}, "batch"},
      {"llama2-13b", {GENERATE_DECODE, UINT32_MAX, 16, DTYPE_F16, DTYPE_F16, 0, 0, false}, "batch"},
      {"llama2-13b", {GENERATE_PREFILL, 1, 0, DTYPE_F16, DTYPE_F16, 0, 0, false}, "sequence"},
      {"llama2-13b", {GENERATE_PREFILL, 1 << 24, 1 << 24, DTYPE_F16, DTYPE_F16, 0, 0, false}, "too large"},
      {"llama2-13b", {GENERATE_DECODE, 1 << 24, 1 << 24, DTYPE_F16, DTYPE_F16, 0, 0, false}, "too large"},
      {"llama2-13b", {GENERATE_DECODE, 1, 16, DTYPE_F64, DTYPE_F64, 0, 0, false}, "activations"},
      {"llama2-13b", {GENERATE_DECODE, 1, 16, DTYPE_NONE, DTYPE_I8, 0, 0, false}, "activations"},
      {"llama2-13b", {GENERATE_DECODE, 1, 16, DTYPE_F16, DTYPE_F32, 0, 0, false}, "weights"},
      {"llama2-13b", {GENERATE_DECODE, 1, 16, DTYPE_F16, DTYPE_F16, 41, 0, false}, "40 layers, not 41"},
      {"llama2-13b", {GENERATE_DECODE, 1, 16, DTYPE_F16, DTYPE_F16, 0, 3, false}, "heads 40 cannot be divided by 3"},
      {"gpt2-xl", {GENERATE_DECODE, 1, 1025, DTYPE_F16, DTYPE_F16, 0, 0, false}, "1024 positions, not 1025"},
      {"opt-30b", {GENERATE_PREFILL, 1, 2049, DTYPE_F16, DTYPE_F16, 0, 0, false}, "2048 positions, not 2049"},
  };
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  assert_int_equal(generate_module(generate_model_find("Llama2-13B", NULL), &good, &diags, &module), STATUS_OK);
  ir_module_free(module);
  assert_null(generate_model_find("llama2", &diags));
  assert_int_equal(diags.entries.data[0].id, DIAG_E0805_GENERATE);
  assert_non_null(strstr(diags.entries.data[0].message, "mixtral-8x7b"));
  diag_release(&diags);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    diag_init(&diags);
    const struct generate_model *model = generate_model_find(rows[i].model, NULL);
    assert_int_equal(generate_module(model, &rows[i].request, &diags, &module), STATUS_INPUT);
    assert_null(module);
    assert_int_equal(diags.entries.data[0].id, DIAG_E0805_GENERATE);
    assert_non_null(strstr(diags.entries.data[0].message, rows[i].message));
    diag_release(&diags);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters),         cmocka_unit_test(test_steps_are_verified),
      cmocka_unit_test(test_caches_are_donated), cmocka_unit_test(test_decode_counts),
      cmocka_unit_test(test_prefill_counts),     cmocka_unit_test(test_forward_counts),
      cmocka_unit_test(test_quantised_bytes),    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
