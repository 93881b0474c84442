/* Training steps as programs: against the published fixtures, against closed forms of FLOPs and exchanged bytes, and every
 * strategy of a grid reads back, is right by the rules of StableHLO and lowers. */
#include <time.h>

#include "lower/lower.h"
#include "training_fixture.h"

/* ---- what a program holds ---- */

enum { PRODUCTS = 4096 };

struct census {
  uint32_t ops[IR_OP_COUNT];
  uint64_t gathered_bytes, reduced_bytes, scattered_bytes, swapped_bytes; /* results; of reduce-scatter operands */
  double flops; /* of products */
  uint64_t products[PRODUCTS]; /* a number for each product's shapes, sorted */
  uint32_t product_count;
};

static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 1099511628211U;
}

static uint64_t hash_type(const struct ir_module *m, struct ir_type type, uint64_t hash) {
  for (uint32_t i = 0; i < ir_type_get(m, type)->rank; i++) {
    hash = mix(hash, (uint64_t)ir_type_dims(m, type)[i]);
  }
  return mix(hash, ir_type_get(m, type)->dtype);
}

static void count_product(const struct ir_module *m, struct ir_op op, struct census *c) {
  struct ir_type x = ir_value_type(m, ir_op_operand(m, op, 0)), y = ir_value_type(m, ir_op_operand(m, op, 1));
  struct ir_type z = ir_value_type(m, ir_op_result(m, op, 0));
  struct ir_attr numbers = ir_op_attr(m, op, "dot_dimension_numbers");
  struct ir_attr axes = ir_attr_field(m, numbers, "lhs_contracting_dimensions");
  double flops = 2.0 * (double)ir_type_element_count(m, z);
  for (uint64_t i = 0; i < ir_attr_length(m, axes); i++) {
    flops *= (double)ir_type_dims(m, x)[ir_attr_int_at(m, axes, i)];
  }
  c->flops += flops;
  assert_true(c->product_count < PRODUCTS);
  c->products[c->product_count++] = hash_type(m, z, hash_type(m, y, hash_type(m, x, 1469598103934665603U)));
}

static uint64_t operand_bytes(const struct ir_module *m, struct ir_op op) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < ir_op_get(m, op)->operand_count; i++) {
    bytes += ir_type_size_bytes(m, ir_value_type(m, ir_op_operand(m, op, i)));
  }
  return bytes;
}

static uint64_t result_bytes(const struct ir_module *m, struct ir_op op) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < ir_op_get(m, op)->result_count; i++) {
    bytes += ir_type_size_bytes(m, ir_value_type(m, ir_op_result(m, op, i)));
  }
  return bytes;
}

/* With what starts hold and what composites call; bodies of reductions are not counted. */
static void count_block(const struct ir_module *m, struct ir_block block, struct census *c) {
  for (struct ir_op op = ir_block_first(m, block); op.id != 0; op = ir_op_next(m, op)) {
    enum ir_opcode opcode = ir_op_code(m, op);
    c->ops[opcode]++;
    switch ((int)opcode) {
    case IR_OP_DOT_GENERAL:
      count_product(m, op, c);
      break;
    case IR_OP_ALL_GATHER:
      c->gathered_bytes += result_bytes(m, op);
      break;
    case IR_OP_ALL_REDUCE:
      c->reduced_bytes += result_bytes(m, op);
      break;
    case IR_OP_REDUCE_SCATTER:
      c->scattered_bytes += operand_bytes(m, op);
      break;
    case IR_OP_ALL_TO_ALL:
      c->swapped_bytes += result_bytes(m, op);
      break;
    case IR_OP_ASYNC_START:
      count_block(m, ir_region_entry(m, ir_op_region(m, op, 0)), c);
      break;
    case IR_OP_COMPOSITE: {
      struct ir_attr symbol = ir_op_attr(m, op, "decomposition");
      struct ir_op function = ir_function_find(m, ir_text(m, ir_attr_get(m, symbol)->text));
      assert_true(function.id != 0);
      count_block(m, ir_function_body(m, function), c);
      break;
    }
    default:
      break;
    }
  }
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void count_function(const struct ir_module *m, const char *name, struct census *c) {
  struct ir_op function = ir_function_find(m, name);
  if (function.id == 0) {
    fail_msg("there is no function %s", name);
  }
  memset(c, 0, sizeof *c);
  count_block(m, ir_function_body(m, function), c);
  qsort(c->products, c->product_count, sizeof *c->products, ascending);
}

/* ---- the published Llama-style steps ---- */

/* Numbers of the originals on four devices: imec-int/hespas_workloads, the copy of 2025. */
static const struct published {
  const char *name;
  uint32_t layers, hidden, heads, ffn;
  double product_flops;
  uint32_t gathers;
  uint64_t gathered_bytes;
  uint32_t reductions;
  uint64_t reduced_bytes;
} published[] = {
    {"100m", 7, 576, 9, 2016, 6246509838336, 100, 467361792, 272, 381449912},
    {"200m", 10, 832, 13, 2912, 11984804249600, 142, 939081728, 383, 682994952},
    {"500m", 16, 1280, 20, 4480, 29637958696960, 226, 2596536320, 605, 1626689832},
    {"1b", 22, 1792, 28, 6272, 62700080070656, 310, 6147276800, 827, 3533471688},
    {"2b", 28, 2240, 35, 7840, 109315977379840, 394, 11545640960, 1049, 6347665896},
    {"3b", 32, 2624, 41, 9184, 159040088834048, 450, 17650745344, 1197, 9498804904},
};

static struct ir_module *read_fixture(const char *name, struct source *source, char **text) {
  const char *root = getenv("RIDGELINE_DATA");
  char path[512];
  snprintf(path, sizeof path, "%s/workloads/gen_llama3-%s_4dev.mlir", root ? root : RDG_SOURCE_DIR "/../shared/data",
           name);
  FILE *file = fopen(path, "rb");
  if (!file) {
    return NULL;
  }
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  size_t size = (size_t)ftell(file);
  rewind(file);
  *text = malloc(size + 1);
  assert_non_null(*text);
  assert_int_equal(fread(*text, 1, size, file), size);
  fclose(file);
  struct ir_module *module = NULL;
  struct diag_list diags;
  diag_init(&diags);
  *source = (struct source){name, *text, size};
  assert_int_equal(mlir_parse(source, NULL, &diags, &module), STATUS_OK);
  diag_release(&diags);
  return module;
}

static void compare_census(const char *name, const struct census *made, const struct census *fixture) {
  for (int i = 0; i < IR_OP_COUNT; i++) {
    if (made->ops[i] != fixture->ops[i]) {
      fail_msg("%s: %u operations %s, not %u", name, made->ops[i], ir_opcode_info((enum ir_opcode)i)->name,
               fixture->ops[i]);
    }
  }
  assert_int_equal(made->product_count, fixture->product_count);
  assert_memory_equal(made->products, fixture->products, made->product_count * sizeof *made->products);
  assert_true(made->flops == fixture->flops);
  assert_true(made->gathered_bytes == fixture->gathered_bytes && made->reduced_bytes == fixture->reduced_bytes);
}

static void test_published_llama_steps(void **state) {
  (void)state;
  static struct census made, fixture;
  bool has_data = true;
  for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
    const struct published *row = &published[i];
    struct generate_model model = {.name = row->name,
                                   .layers = row->layers,
                                   .hidden = row->hidden,
                                   .heads = row->heads,
                                   .kv_heads = row->heads,
                                   .head_size = 128,
                                   .ffn = row->ffn,
                                   .vocabulary = 128256,
                                   .norm = GENERATE_RMS_NORM,
                                   .activation = GENERATE_SILU,
                                   .gated_ffn = true,
                                   .norm_epsilon = 1e-5,
                                   .rope_theta = 5e5};
    struct generate_training p = {.framework = GENERATE_XLA,
                                  .sequence = 4096,
                                  .global_batch = 4,
                                  .micro_batch = 1,
                                  .data = 4,
                                  .sharded = GENERATE_SHARD_PARAMETERS,
                                  .recompute = GENERATE_RECOMPUTE_CONTRACTIONS,
                                  .compute = DTYPE_BF16};
    struct generated g;
    open_training(&g, &model, &p);
    count_function(g.module, "main", &made);
    assert_true(made.flops == row->product_flops);
    assert_int_equal(made.ops[IR_OP_ALL_GATHER], row->gathers);
    assert_int_equal(made.ops[IR_OP_ALL_REDUCE], row->reductions);
    assert_true(made.gathered_bytes == row->gathered_bytes && made.reduced_bytes == row->reduced_bytes);
    struct source source;
    char *text = NULL;
    struct ir_module *module = read_fixture(row->name, &source, &text);
    has_data = has_data && module;
    if (module) {
      count_function(module, "main", &fixture);
      compare_census(row->name, &made, &fixture);
      ir_module_free(module);
    }
    free(text);
    generated_close(&g);
  }
  if (!has_data) {
    print_message("skipped: no data\n");
  }
}

/* ---- closed forms ---- */

static const struct generate_model llama3_8b_like = {.name = "llama-8b",
                                                     .layers = 4,
                                                     .hidden = 4096,
                                                     .heads = 32,
                                                     .kv_heads = 8,
                                                     .head_size = 128,
                                                     .ffn = 14336,
                                                     .vocabulary = 128256,
                                                     .norm = GENERATE_RMS_NORM,
                                                     .activation = GENERATE_SILU,
                                                     .gated_ffn = true,
                                                     .norm_epsilon = 1e-5,
                                                     .rope_theta = 5e5};
static const struct generate_model gpt_22b = {.name = "gpt-22b",
                                              .layers = 4,
                                              .hidden = 6144,
                                              .heads = 64,
                                              .kv_heads = 64,
                                              .head_size = 96,
                                              .ffn = 24576,
                                              .vocabulary = 51200,
                                              .positions = 2048,
                                              .norm = GENERATE_LAYER_NORM,
                                              .activation = GENERATE_GELU_TANH,
                                              .biases = true,
                                              .tied_embedding = true,
                                              .norm_epsilon = 1e-5};
static const struct generate_model mixture = {.name = "mixture",
                                              .layers = 2,
                                              .hidden = 1024,
                                              .heads = 16,
                                              .kv_heads = 8,
                                              .head_size = 64,
                                              .ffn = 2048,
                                              .experts = 8,
                                              .experts_per_token = 2,
                                              .vocabulary = 32000,
                                              .norm = GENERATE_RMS_NORM,
                                              .activation = GENERATE_SILU,
                                              .gated_ffn = true,
                                              .norm_epsilon = 1e-5,
                                              .rope_theta = 1e6};

/* Products of one device's step are 3 x forward; Korthikanti et al. 2022, equation 2 of appendix A: a GPT step of B sequences
 * takes 72 B L s h^2 (1 + s / 6h + V / 12 L h). */
static void test_flops_are_korthikantis(void **state) {
  (void)state;
  static struct census c;
  double b = 4, l = 4, s = 2048, h = 6144, v = 51200;
  double expected = 72 * b * l * s * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  struct generate_training p = {.framework = GENERATE_MEGATRON,
                                .sequence = 2048,
                                .global_batch = 4,
                                .micro_batch = 4,
                                .tensor = 8,
                                .sequence_parallel = true,
                                .compute = DTYPE_F16,
                                .attention = GENERATE_ATTENTION_FUSED_SOFTMAX};
  struct generated g;
  assert_true(fabs(generate_training_flops(&gpt_22b, &p) / expected - 1) < 1e-12);
  open_training(&g, &gpt_22b, &p);
  count_function(g.module, "main", &c);
  assert_true(fabs(8 * c.flops / expected - 1) < 1e-12);
  generated_close(&g);
  /* full recomputation: every layer forward once more, 24 B L s h^2 (1 + s / 6h) */
  p.recompute = GENERATE_RECOMPUTE_FULL;
  open_training(&g, &gpt_22b, &p);
  count_function(g.module, "main", &c);
  assert_true(fabs(8 * c.flops / (expected + 24 * b * l * s * h * h * (1 + s / (6 * h))) - 1) < 1e-12);
  generated_close(&g);
  /* selective: scores and contexts, 4 B s^2 h per layer */
  p.recompute = GENERATE_RECOMPUTE_SELECTIVE;
  open_training(&g, &gpt_22b, &p);
  count_function(g.module, "main", &c);
  assert_true(fabs(8 * c.flops / (expected + 4 * b * s * s * h * l) - 1) < 1e-12);
  generated_close(&g);
}

/* 6 N per token for N weights in products, and 12 L s (heads x size) of attention: PaLM, appendix B. Flash attention makes
 * the scores once more backward. */
static void test_flops_are_palms(void **state) {
  (void)state;
  static struct census c;
  double h = 4096, f = 14336, l = 4, s = 8192;
  double weights = l * (h * (h + 2 * 1024) + h * h + 3 * h * f) + h * 128256, attention = 12 * l * s * h;
  struct generate_training p = {
      .framework = GENERATE_MEGATRON, .sequence = 8192, .global_batch = 1, .attention = GENERATE_ATTENTION_FLASH};
  struct generated g;
  assert_true(fabs(generate_training_flops(&llama3_8b_like, &p) / ((6 * weights + attention) * s) - 1) < 1e-12);
  open_training(&g, &llama3_8b_like, &p);
  count_function(g.module, "main", &c);
  assert_true(fabs(c.flops / ((6 * weights + attention * 7 / 6) * s) - 1) < 1e-12);
  generated_close(&g);
  p.is_causal_half = true;
  assert_true(fabs(generate_training_flops(&llama3_8b_like, &p) / ((6 * weights + attention / 2) * s) - 1) < 1e-12);
  /* of experts those count that a token meets, and the router */
  weights = 2 * (1024.0 * (1024 + 2 * 512) + 1024 * 1024 + 1024 * 8 + 2 * 3 * 1024.0 * 2048) + 1024.0 * 32000;
  p = (struct generate_training){.framework = GENERATE_MEGATRON,
                                 .sequence = 1024,
                                 .global_batch = 2,
                                 .micro_batch = 1,
                                 .data = 2,
                                 .expert = 2,
                                 .attention = GENERATE_ATTENTION_FLASH};
  attention = 12.0 * 2 * 1024 * 1024;
  open_training(&g, &mixture, &p);
  count_function(g.module, "main", &c);
  assert_true(fabs(c.flops / ((6 * weights + attention * 7 / 6) * 1024) - 1) < 1e-12);
  generated_close(&g);
}

/* Bytes of one device in bf16: tokens of a micro-batch x hidden x 2. */
static void test_tensor_parallel_bytes(void **state) {
  (void)state;
  static struct census c;
  const uint64_t row = (uint64_t)2048 * 4 * 6144 * 2, scalars = 2048 * 4 * 4;
  struct generate_training p = {.framework = GENERATE_MEGATRON,
                                .sequence = 2048,
                                .global_batch = 8,
                                .micro_batch = 4,
                                .tensor = 8,
                                .attention = GENERATE_ATTENTION_FLASH};
  struct generated g;
  open_training(&g, &gpt_22b, &p);
  /* forward: attention and feed-forward of each layer, the embedding; three numbers per token of the loss */
  count_function(g.module, "only_forward", &c);
  assert_true(c.reduced_bytes == (2 * 4 + 1) * row + 3 * scalars);
  assert_int_equal(c.gathered_bytes, 0);
  /* backward: the inputs of both, and of the head */
  count_function(g.module, "only_backward", &c);
  assert_true(c.reduced_bytes == (2 * 4 + 1) * row);
  generated_close(&g);
  p.sequence_parallel = true;
  open_training(&g, &gpt_22b, &p);
  count_function(g.module, "only_forward", &c);
  assert_true(c.gathered_bytes == (2 * 4 + 1) * row && c.scattered_bytes == (2 * 4 + 1) * row);
  /* backward: gradients of both, and the inputs once more (Korthikanti et al. 2022, section 4.2.2) */
  count_function(g.module, "only_backward", &c);
  assert_true(c.gathered_bytes == (2 * 4 + 1 + 2 * 4 + 1) * row && c.scattered_bytes == (2 * 4 + 1) * row);
  generated_close(&g);
}

static uint64_t weights_of(const struct generate_model *m) {
  uint64_t h = m->hidden, q = (uint64_t)m->heads * m->head_size, k = (uint64_t)m->kv_heads * m->head_size;
  return m->layers * (h * (q + 2 * k) + q * h + 3 * h * m->ffn + 2 * h) + h + 2 * h * m->vocabulary;
}

/* Exchanged per step and rank: all gradients in f32, all parameters in bf16. */
static void test_data_parallel_bytes(void **state) {
  (void)state;
  static struct census c;
  const struct generate_model *m = &llama3_8b_like;
  uint64_t all = weights_of(m), vectors = (2 * 4 + 1) * 4096;
  struct generate_training p = {.framework = GENERATE_MEGATRON,
                                .sequence = 512,
                                .global_batch = 8,
                                .micro_batch = 1,
                                .data = 8,
                                .attention = GENERATE_ATTENTION_FLASH};
  struct generated g;
  open_training(&g, m, &p);
  count_function(g.module, "main", &c);
  assert_true(c.reduced_bytes == 4 * all && c.ops[IR_OP_ALL_REDUCE] == 4 + 2); /* one of each unit */
  generated_close(&g);
  p.sharded = GENERATE_SHARD_OPTIMIZER;
  open_training(&g, m, &p);
  count_function(g.module, "main", &c); /* vectors stay whole */
  assert_true(c.scattered_bytes == 4 * (all - vectors) && c.reduced_bytes == 4 * vectors);
  assert_true(c.gathered_bytes == 2 * (all - vectors));
  generated_close(&g);
  p.sharded = GENERATE_SHARD_PARAMETERS;
  p.overlap_parameters = p.overlap_gradients = true;
  open_training(&g, m, &p);
  count_function(g.module, "main", &c); /* the last unit is still there when the backward pass begins */
  uint64_t last = 4096 + (uint64_t)4096 * 128256;
  assert_true(c.scattered_bytes == 4 * all && c.reduced_bytes == 0 && c.gathered_bytes == 2 * (2 * all - last));
  assert_int_equal(c.ops[IR_OP_ASYNC_START], c.ops[IR_OP_ASYNC_DONE]);
  assert_true(c.ops[IR_OP_ASYNC_START] > 20);
  generated_close(&g);
}

/* Each token goes to k experts and back, forward and backward. */
static void test_expert_parallel_bytes(void **state) {
  (void)state;
  static struct census c;
  struct generate_training p = {.framework = GENERATE_MEGATRON,
                                .sequence = 1024,
                                .global_batch = 4,
                                .micro_batch = 1,
                                .data = 4,
                                .expert = 4,
                                .attention = GENERATE_ATTENTION_FLASH};
  struct generated g;
  open_training(&g, &mixture, &p);
  count_function(g.module, "main", &c);
  assert_true(c.swapped_bytes == (uint64_t)2 * 4 * 1024 * 2 * 1024 * 2);
  assert_int_equal(c.ops[IR_OP_ALL_TO_ALL], 2 * 4);
  generated_close(&g);
}

/* ---- every strategy ---- */

static void check_functions(const struct generated *g, const char *name) {
  const struct ir_module *m = g->module;
  struct ir_block body = ir_region_entry(m, ir_op_region(m, m->root, 0));
  struct diag_list diags;
  uint32_t functions = 0;
  diag_init(&diags);
  for (struct ir_op op = ir_block_first(m, body); op.id != 0; op = ir_op_next(m, op)) {
    struct ir_attr visibility = ir_op_attr(m, op, "sym_visibility");
    if (ir_op_code(m, op) != IR_OP_FUNC_FUNC || strcmp(ir_text(m, ir_attr_get(m, visibility)->text), "public") != 0) {
      continue;
    }
    struct work_graph *graph = NULL;
    struct lower_options options = {.entry = ir_symbol_name(m, op)};
    if (lower_module(m, &options, &diags, &graph) != STATUS_OK) {
      fail_msg("%s: %s is not lowered: %s", name, options.entry,
               diags.entries.count > 0 ? diags.entries.data[0].message : "no message");
    }
    assert_true(graph->tasks.count > 0);
    work_graph_free(graph);
    functions++;
  }
  assert_true(functions > 0);
  diag_release(&diags);
}

/* Products of each of three frameworks, ways to keep state, recomputation, attention, and two meshes. */
static void test_every_strategy_lowers(void **state) {
  (void)state;
  static const struct generate_model *const models[] = {&llama3_8b_like, &gpt_22b, &mixture};
  uint32_t number = 0;
  for (uint32_t i = 0; i < 3 * 3 * 4 * 4 * 3 * 2; i++) {
    uint32_t k = i;
    struct generate_model model = *models[k % 3];
    model.vocabulary = 512;
    struct generate_training p = {.sequence = 256, .micro_batch = 1, .data = 4, .is_causal_half = true};
    p.framework = (enum generate_framework)((k /= 3) % 3);
    p.sharded = (enum generate_sharded)((k /= 3) % 4);
    p.recompute = (enum generate_recompute)((k /= 4) % 4);
    p.attention = (enum generate_attention)((k /= 4) % 3);
    bool is_large = (k /= 3) % 2 != 0;
    p.global_batch = is_large ? 16 : 4;
    p.tensor = is_large ? 4 : 1;
    p.sequence_parallel = p.overlap_tensor = p.overlap_gradients = p.clip_gradients = is_large;
    p.context = is_large ? 2 : 1;
    p.pipeline = is_large ? 2 : 1;
    model.layers = p.pipeline;
    p.expert = is_large && model.experts > 0 ? 4 : 1;
    p.overlap_parameters = i % 2 == 0;
    p.products = i % 5 == 0 ? DTYPE_F8E4M3FN : i % 7 == 0 ? DTYPE_F4E2M1FN : DTYPE_NONE;
    struct generated g;
    open_training(&g, &model, &p);
    check_functions(&g, model.name);
    generated_close(&g);
    number++;
  }
  assert_int_equal(number, 864);
}

/* ---- models ---- */

/* Weights of every row against the published figure, which its source rounds to three digits at most. */
static void test_models_have_their_parameters(void **state) {
  (void)state;
  /* checkpoints whose number of weights is published in full */
  static const struct {
    const char *name;
    uint64_t parameters;
  } exact[] = {{"gpt2", 124439808},
               {"gpt2-large", 774030080},
               {"llama3-405b", 405853388800},
               {"mpt-7b", 6649286656},
               {"qwen3-30b-a3b", 30532122624}};
  size_t found = 0;
  for (size_t i = 0; generate_training_models[i] != NULL; i++) {
    const struct generate_model *model = generate_training_models[i];
    struct generate_training p = {
        .framework = GENERATE_MEGATRON, .sequence = 128, .global_batch = 1, .attention = GENERATE_ATTENTION_FLASH};
    struct diag_list diags;
    struct ir_module *module = NULL;
    diag_init(&diags);
    p.sequence = model->experts > 128 ? model->experts : 128;
    assert_int_equal(generate_training_module(model, &p, &diags, &module), STATUS_OK);
    double share = (double)generate_parameters(module) / (double)model->published_parameters;
    if (share < 0.99 || share > 1.01) {
      fail_msg("%s has %g of the published weights", model->name, share);
    }
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
      if (strcmp(exact[k].name, model->name) == 0) {
        assert_true(generate_parameters(module) == exact[k].parameters);
        found++;
      }
    }
    ir_module_free(module);
    diag_release(&diags);
  }
  assert_int_equal(found, sizeof exact / sizeof *exact);
}

/* ---- the step's attribute, refusals, speed ---- */

static int64_t step_number(const struct ir_module *m, const char *name) {
  struct ir_attr step = ir_op_attr(m, m->root, "ridgeline.step");
  assert_true(step.id != 0);
  struct ir_attr field = ir_attr_field(m, step, name);
  assert_true(field.id != 0);
  return ir_attr_get(m, field)->integer;
}

static void test_step_says_how_it_is_run(void **state) {
  (void)state;
  struct generate_model model = llama3_8b_like;
  model.layers = 16;
  struct generate_training p = {.framework = GENERATE_MEGATRON,
                                .sequence = 1024,
                                .global_batch = 64,
                                .micro_batch = 2,
                                .data = 4,
                                .tensor = 2,
                                .pipeline = 4,
                                .virtual_stages = 2,
                                .overlap_gradients = true,
                                .sequence_parallel = true,
                                .attention = GENERATE_ATTENTION_FLASH};
  static const char *const functions[] = {"first_forward",  "first_backward",  "first_backward_last",  "first_update",
                                          "middle_forward", "middle_backward", "middle_backward_last", "middle_update",
                                          "last_forward",   "last_backward",   "last_backward_last",   "last_update"};
  struct generated g;
  open_training(&g, &model, &p);
  assert_int_equal(step_number(g.module, "stages"), 4);
  assert_int_equal(step_number(g.module, "chunks"), 2);
  assert_int_equal(step_number(g.module, "microbatches"), 8);
  assert_int_equal(step_number(g.module, "boundary_bytes"), 1024 * 2 / 2 * 4096 * 2);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    assert_true(ir_function_find(g.module, functions[i]).id != 0);
  }
  assert_true(ir_function_find(g.module, "main").id == 0);
  generated_close(&g);
}

static void expect_refusal(const struct generate_model *model, struct generate_training p, const char *text) {
  struct diag_list diags;
  struct ir_module *module = NULL;
  diag_init(&diags);
  p.sequence = p.sequence > 0 ? p.sequence : 1024;
  p.global_batch = p.global_batch > 0 ? p.global_batch : 64;
  assert_int_equal(generate_training_module(model, &p, &diags, &module), STATUS_INPUT);
  assert_null(module);
  assert_int_equal(diags.entries.count, 1);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0805_GENERATE);
  if (strstr(diags.entries.data[0].message, text) == NULL) {
    fail_msg("'%s' does not say '%s'", diags.entries.data[0].message, text);
  }
  diag_release(&diags);
}

static void test_refusals(void **state) {
  (void)state;
  struct generate_model deep = gpt_22b;
  deep.layers = 48;
  expect_refusal(&gpt_22b, (struct generate_training){.tensor = 48},
                 "64 heads cannot be divided by tensor = 48; 32 and 64");
  expect_refusal(&llama3_8b_like, (struct generate_training){.tensor = 16},
                 "8 KV heads cannot be divided by tensor = 16; 8 can");
  expect_refusal(&deep, (struct generate_training){.pipeline = 40},
                 "48 layers cannot be divided by pipeline = 40; 24 and 48");
  expect_refusal(&mixture, (struct generate_training){.data = 3, .expert = 3, .global_batch = 3},
                 "8 experts cannot be divided by expert = 3; 2 and 4");
  expect_refusal(&mixture, (struct generate_training){.data = 2, .expert = 4},
                 "2 data ranks with one copy cannot be divided by expert = 4; 2 can");
  expect_refusal(&gpt_22b, (struct generate_training){.expert = 2}, "no experts");
  expect_refusal(&gpt_22b, (struct generate_training){.data = 5, .micro_batch = 4, .global_batch = 64},
                 "5 x 4; 60 and 80");
  expect_refusal(&gpt_22b, (struct generate_training){.context = 3},
                 "1024 positions cannot be divided by context = 3; 2 and 4");
  expect_refusal(&gpt_22b, (struct generate_training){.data = 6, .global_batch = 12, .shard_ranks = 4},
                 "6 data ranks cannot be divided by shard ranks = 4; 3 and 6");
  expect_refusal(&deep, (struct generate_training){.pipeline = 4, .virtual_stages = 2, .global_batch = 6},
                 "multiple of 4 micro-batches, not 6");
  expect_refusal(&gpt_22b, (struct generate_training){.compute = DTYPE_I8}, "bf16, f16 or f32");
  expect_refusal(&gpt_22b, (struct generate_training){.products = DTYPE_I8}, "f8E4M3FN");
  expect_refusal(&gpt_22b, (struct generate_training){.sequence = UINT32_MAX}, "2^24");
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Llama 3 405B on 16 stages (Grattafiori et al. 2024, table 4): generation alone is about 10 ms. */
static void test_a_large_step_is_quick(void **state) {
  (void)state;
  struct generate_model model = llama3_8b_like;
  model.layers = 126;
  model.hidden = 16384;
  model.heads = 128;
  model.ffn = 53248;
  struct generate_training p = {.framework = GENERATE_MEGATRON,
                                .sequence = 8192,
                                .global_batch = 2048,
                                .data = 128,
                                .tensor = 8,
                                .pipeline = 16,
                                .sequence_parallel = true,
                                .overlap_gradients = true,
                                .sharded = GENERATE_SHARD_OPTIMIZER,
                                .attention = GENERATE_ATTENTION_FLASH};
  struct diag_list diags;
  struct ir_module *module = NULL;
  double best = 1;
  diag_init(&diags);
  for (int i = 0; i < 3; i++) {
    double start = seconds();
    assert_int_equal(generate_training_module(&model, &p, &diags, &module), STATUS_OK);
    double time = seconds() - start;
    best = time < best ? time : best;
    ir_module_free(module);
  }
  print_message("a 405B step: %.1f ms\n", best * 1e3);
  assert_true(best < 0.1);
  diag_release(&diags);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published_llama_steps),
      cmocka_unit_test(test_flops_are_korthikantis),
      cmocka_unit_test(test_flops_are_palms),
      cmocka_unit_test(test_tensor_parallel_bytes),
      cmocka_unit_test(test_data_parallel_bytes),
      cmocka_unit_test(test_expert_parallel_bytes),
      cmocka_unit_test(test_every_strategy_lowers),
      cmocka_unit_test(test_step_says_how_it_is_run),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_models_have_their_parameters),
      cmocka_unit_test(test_a_large_step_is_quick),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
