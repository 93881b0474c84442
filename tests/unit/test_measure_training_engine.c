/* What Transformer Engine and cuDNN add to published runs on NVIDIA: facts by container and precision, casts, attention's
 * rates, experts started one by one, exchanges inside products, and the columns of NeMo's long sequences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/measure_distributed.h"
#include "measure/measure_training.h"

static const char heading[] =
    "model,params_B,layers,hidden,ffn,heads,kv_heads,seq,vocab,global_batch,micro_batch,TP,PP,DP,CP,EP,VP,FSDP,"
    "recompute,precision,hardware,n_devices,metric,value,unit,verified,source,note\n";

#define LLAMA8(layers) "LLAMA3-8B,8.03," layers ",4096,14336,32,8,8192,128256"
#define BRIDGE(container)                                                                                              \
  "x,yes,\"NVIDIA-NeMo/Megatron-Bridge docs @0, section \"\"" container " NeMo Container\"\"\",\n"
#define NEMO "x,yes,NVIDIA/NeMo docs/performance_summary.md,\n"
#define LONG "x,yes,NVIDIA/NeMo docs/performance_long_sequence.md,\n"

struct fixture {
  struct training_rows rows;
  struct diag_list diags;
  struct hw_database chips;
  struct hw_clusters clusters;
};

static int set_up(void **state) {
  struct fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  diag_init(&fixture->diags);
  training_rows_init(&fixture->rows);
  assert_int_equal(hw_database_load(&fixture->chips, RDG_SOURCE_DIR "/hardware", &fixture->diags), STATUS_OK);
  assert_int_equal(hw_clusters_load(&fixture->clusters, RDG_SOURCE_DIR "/hardware", &fixture->chips, &fixture->diags),
                   STATUS_OK);
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *fixture = *state;
  hw_clusters_release(&fixture->clusters);
  hw_database_release(&fixture->chips);
  training_rows_release(&fixture->rows);
  diag_release(&fixture->diags);
  free(fixture);
  return 0;
}

static struct training_row *map_lines(struct fixture *fixture, const char *lines) {
  char path[] = "/tmp/rdg_engine_XXXXXX";
  int number = mkstemp(path);
  assert_true(number >= 0);
  FILE *file = fdopen(number, "wb");
  assert_non_null(file);
  assert_true(fputs(heading, file) >= 0 && fputs(lines, file) >= 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(training_read_tables(&fixture->rows, path, &fixture->diags), STATUS_OK);
  unlink(path);
  assert_true(fixture->rows.list.count > 0);
  for (size_t i = 0; i < fixture->rows.list.count; i++) {
    training_map(&fixture->rows.list.data[i]);
    assert_int_equal(fixture->rows.list.data[i].skip, TRAINING_TAKEN);
  }
  return fixture->rows.list.data;
}

static struct training_row *predict_lines(struct fixture *fixture, const char *lines) {
  struct training_row *rows = map_lines(fixture, lines);
  assert_int_equal(training_predict(&fixture->rows, &fixture->chips, &fixture->clusters, &fixture->diags), STATUS_OK);
  for (size_t i = 0; i < fixture->rows.list.count; i++) {
    assert_int_equal(rows[i].skip, TRAINING_TAKEN);
  }
  return rows;
}

/* The newest containers run a step as one CUDA graph; NeMo's scales are delayed, "MX" are of blocks. */
static void test_facts(void **state) {
  struct fixture *fixture = *state;
  struct training_row *rows =
      map_lines(fixture, LLAMA8("2") ",16,1,1,1,,1,,,,,MXFP8,DGX-GB200,8,step_time,1," BRIDGE("26.08")
                             LLAMA8("4") ",16,1,1,1,,1,,,,,FP8,DGX-GB200,8,step_time,1," BRIDGE("25.11")
                                 LLAMA8("6") ",16,1,1,1,,1,,,,,fp8,H100,8,step_time,1," NEMO);
  assert_true(rows[0].source->expert_host_s <= 0);
  assert_true(rows[1].source->expert_host_s > 1e-5);
  assert_string_equal(rows[0].source->label, rows[1].source->label);
  assert_int_equal(rows[0].scaling, TRAINING_BLOCK_SCALING);
  assert_int_equal(rows[1].scaling, TRAINING_CURRENT_SCALING);
  assert_int_equal(rows[2].scaling, TRAINING_DELAYED_SCALING);
}

/* Latent attention of DeepSeek-V3 has 187 M weights a layer (arXiv 2412.19437 and its config.json); 37 B of all weights are
 * active with the table of embeddings, which is not counted here. */
static void test_latent_parameters(void **state) {
  struct fixture *fixture = *state;
#define DEEPSEEK(name)                                                                                                 \
  name ",671,61,7168,,128,128,4096,129280,64,1,1,1,,1,8,,,,BF16,DGX-GB200,64,step_time,1," BRIDGE("25.11")
  struct training_row *rows = map_lines(fixture, DEEPSEEK("DeepSeekV3 (w/o MTP)") DEEPSEEK("DeepSeekV3"));
#undef DEEPSEEK
  double active = training_active_parameters(&rows[0].architecture);
  assert_true(fabs(active + 7168.0 * 129280 - 37.5e9) < 0.5e9);
  struct generate_model one = rows[0].architecture;
  one.layers = one.dense_layers = 1;
  one.dense_ffn = one.vocabulary = 0;
  assert_true(fabs(training_active_parameters(&one) - 187.1e6) < 0.1e6);
  assert_int_equal(rows[1].architecture.layers, 62);
}

/* Casts are slower with scales that are looked for first, on the chip that needs transposed copies. */
static void test_casts(void **state) {
  struct fixture *fixture = *state;
#define ON_H100(precision, source) LLAMA8("2") ",8,1,1,1,,1,,,,," precision ",H100,8,step_time,1," source
  /* the same precision, spelt so that the rows are two */
  struct training_row *rows = predict_lines(fixture, ON_H100("fp8", NEMO) ON_H100("FP8", BRIDGE("25.11")));
#undef ON_H100
  assert_int_equal(fixture->rows.list.count, 2);
  double casts = rows[1].compute_s - rows[0].compute_s;
  /* 6 of 3 bytes instead of 4: 2 more of each of 8,192 rows of inputs and gradients of four products, two layers, once:
   * (4096 + 4096 + 4096 + 14336) + (6144 + 4096 + 28672 + 4096) columns at 3.35 TB/s; NeMo's host may hide none of it. */
  double least = 2.0 * 8192 * (26624 + 43008) * 2 / 3.35e12;
  assert_true(casts > 0.8 * least && casts < 3 * least);
}

/* Attention dominates a long sequence: no faster than cuDNN on an H100, 518 TFLOP/s backward. */
static void test_attention(void **state) {
  struct fixture *fixture = *state;
  struct training_row *rows = predict_lines(
      fixture, "Llama2-7B,6.74,2,4096,11008,32,32,65536,32000,4,,1,1,4,1,,,,,fp8,H100,4,step_time,1," LONG);
  double backward =
      2 * 10.0 * 4096 * 65536.0 * 65536 / 2; /* five products of half the scores, two layers, one sequence */
  assert_true(rows[0].compute_s > backward / 518e12);
  assert_true(rows[0].compute_s < 3 * backward / 518e12);
}

/* Many experts on one rank wait for the host; one CUDA graph does not. */
static void test_experts(void **state) {
  struct fixture *fixture = *state;
#define EXPERTS(precision, container)                                                                                  \
  "Qwen3_30B_a3B,30.5,2,2048,,32,4,4096,151936,8,1,1,1,,1,8,,,," precision ",DGX-H100,8,step_time,1," BRIDGE(container)
  struct training_row *rows = predict_lines(fixture, EXPERTS("BF16", "26.08") EXPERTS("bf16", "25.11"));
#undef EXPERTS
  /* 16 experts a rank, two layers, two products forward and four backward, 33 us each: 6.4 ms */
  assert_true(rows[1].predicted_s > 6.4e-3);
  assert_true(rows[1].predicted_s >= rows[0].predicted_s);
}

/* A ring of as many parts as ranks inside products leaves a part of the exchange. */
static void test_exchanges(void **state) {
  struct fixture *fixture = *state;
#define TENSOR(precision, source)                                                                                      \
  "LLAMA3-70B,70.6,2,8192,28672,64,8,8192,128256,4,1,8,1,,1,,,,," precision ",H100,8,step_time,1," source
  struct training_row *rows =
      predict_lines(fixture, TENSOR("bf16", NEMO) TENSOR("BF16", "x,yes,NVIDIA/Megatron-LM README,\n"));
#undef TENSOR
  assert_int_equal(fixture->rows.list.count, 2);
  assert_true(rows[0].exposed_s < 0.6 * rows[1].exposed_s);
}

/* NeMo's long sequences on B200 state four times as many GPUs as their degrees have: rates of one GPU hold for either. */
static void test_devices(void **state) {
  struct fixture *fixture = *state;
  struct training_row *rows =
      map_lines(fixture, LLAMA8("32") ",4,,4,1,4,16,,,,,fp8,B200 (DGX-B200),1024,tokens_per_s_per_GPU,1000," LONG);
  assert_int_equal(rows[0].devices, 256);
  assert_int_equal(rows[0].training.context, 16);
  assert_true(fabs(rows[0].measured_s - 4.0 * 8192 / (1000 * 256)) < 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_facts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_latent_parameters, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_casts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_attention, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_experts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_exchanges, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_devices, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
